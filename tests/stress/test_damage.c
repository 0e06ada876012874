/*
 * test_damage.c - large packs and entries with random bytes wrong, as who builds kernels sees them
 * SPDX-License-Identifier: MIT
 *
 * Every position of small ones is tried elsewhere (test_cache.c, test_pack.c); of large ones a sample: DAMAGE_COUNT of
 * each kind (by default 200, with RS_QUICK=1 50), at places that DAMAGE_SEED says. What is damaged is made anew, all
 * else is served, and whoever asks has what was asked for.
 */
#include "../support/cache_help.h"

#include "../support/fake_nvrtc.h"
#include "pack.h"

enum { SPECS = 300 };

static unsigned seed;

static int below(int64_t end) {
  return (int)((((int64_t)rand_r(&seed) << 20) ^ rand_r(&seed)) % end);
}

static void begin_at_random(const char *what) {
  int asked = asked_for("DAMAGE_SEED", (int)getpid());
  seed = (unsigned)asked;
  printf("DAMAGE_SEED=%d: %s: ", asked, what);
}

static int count_of_damages(void) {
  return asked_for("DAMAGE_COUNT", is_quick() ? 50 : 200);
}

/* ---- builds ------------------------------------------------------------------------------------------------------ */

/* packs: NULL: none. */
static rs_builder *open_builder(const char *dir, const char *packs) {
  rs_store *store = rs_store_open(&(rs_store_options){.dir = dir, .packs = packs ? packs : "off"});
  rs_builder *builder = rs_builder_open(store, make_compiler(13000), NULL);
  ck_assert_ptr_nonnull(builder);
  return builder;
}

static bool to_load; /* as for who loads it */

/* A source of so many bytes; whether it had to be compiled. */
static bool compiles(rs_builder *builder, int spec, int bytes) {
  rs_text canonical = {0}, source = {0};
  rs_binary binary;
  rs_text_add(&canonical, "op=sum\nlength=%d\n", spec);
  rs_text_add(&source, "int x%0*d;\n", bytes, spec);
  int before = told->compiles;
  rowscan_status status = to_load ? rs_build_to_load(builder, &binary, canonical.data, source.data, 90)
                                  : rs_build(builder, &binary, canonical.data, source.data, 90, false);
  ck_assert_msg(status == ROWSCAN_OK, "spec %d: %s", spec, rowscan_last_error());
  ck_assert_int_eq(!binary.ptx, to_load && binary.cached);
  if (!binary.ptx) {
    rs_binary part = binary;
    ck_assert(rs_builder_whole(builder, &binary, canonical.data, source.data, 90));
    ck_assert(part.cubin_bytes == binary.cubin_bytes && !memcmp(part.cubin, binary.cubin, part.cubin_bytes));
    rs_binary_free(&part);
  }
  ck_assert_msg(is_made_from(&binary, source.data, 90), "spec %d: %.200s", spec, binary.ptx);
  ck_assert_int_eq(binary.cached, told->compiles == before);
  rs_binary_free(&binary);
  rs_text_free(&canonical);
  rs_text_free(&source);
  return told->compiles != before;
}

/* ---- packs ------------------------------------------------------------------------------------------------------- */

enum { PACKED_SOURCE = 1500 };

typedef struct packed {
  char *file, *nowhere; /* the latter can be no directory: what is made anew is kept in memory */
  size_t bytes, index;  /* of the file; where its index begins */
  uint64_t entry[SPECS], entry_bytes[SPECS];
} packed;

/* Where the entries of specs lie, by their keys. */
static void find_entries(packed *all) {
  rs_pack pack;
  ck_assert_ptr_null(rs_pack_open_path(&pack, AT_FDCWD, all->file));
  all->bytes = pack.bytes;
  all->index = pack.bytes - RS_ENTRY_DIGEST - (size_t)SPECS * RS_PACK_ITEM;
  ck_assert_uint_eq(pack.count, SPECS);
  uint64_t at = RS_PACK_HEADER;
  for (uint32_t i = 0; i < SPECS; i++) {
    rs_loaded loaded;
    const char *damage;
    int spec;
    ck_assert(rs_pack_load(&pack, i, &loaded, &damage));
    ck_assert_int_eq(sscanf(loaded.texts.key, "op=sum length=%d", &spec), 1);
    all->entry[spec] = at; /* they follow one another in the order of the index */
    all->entry_bytes[spec] = (uint64_t)loaded.status.st_size;
    at += all->entry_bytes[spec];
    free(loaded.memory);
  }
  ck_assert_uint_eq(at, all->index);
  rs_pack_close(&pack);
}

static packed make_pack(void) {
  static packed all;
  rs_store_exported sum;
  const char *wrong;
  all = (packed){.file = fresh(), .nowhere = fresh()};
  rs_builder *builder = open_builder(fresh(), NULL);
  for (int i = 0; i < SPECS; i++)
    ck_assert(compiles(builder, i, PACKED_SOURCE));
  void *pack = rs_store_export(rs_builder_store(builder), NULL, NULL, &all.bytes, &sum, &wrong);
  ck_assert(rs_store_write_pack(all.file, pack, all.bytes, NULL));
  free(pack);
  rs_builder_close(builder);
  spill(all.nowhere, "", 0);
  find_entries(&all);
  return all;
}

/* -1: the byte is of no entry. */
static int spec_at(const packed *all, uint64_t at) {
  for (int i = 0; i < SPECS; i++)
    if (at >= all->entry[i] && at < all->entry[i] + all->entry_bytes[i])
      return i;
  return -1;
}

static void flip(const char *file, off_t at, unsigned char bits) {
  unsigned char byte;
  int fd = open(file, O_RDWR);
  ck_assert(fd >= 0 && pread(fd, &byte, 1, at) == 1);
  byte ^= bits;
  ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
  close(fd);
}

/* Compiled once if need be, and then no more. */
static void expect_compiled(rs_builder *builder, int spec, bool compiled) {
  ck_assert_int_eq(compiles(builder, spec, PACKED_SOURCE), compiled);
  ck_assert(!compiles(builder, spec, PACKED_SOURCE));
}

/* The damaged one (-1: none) is compiled, and others are served; of a pack that can't be used none is. */
static void expect_served(const packed *all, int damaged, bool usable) {
  rs_builder *builder = open_builder(all->nowhere, all->file);
  int first = below(SPECS);
  ck_assert_int_eq(rs_store_packs(rs_builder_store(builder), NULL), usable);
  if (damaged >= 0)
    expect_compiled(builder, damaged, true);
  for (int i = 0; i < 2; i++)
    if ((first + i) % SPECS != damaged)
      expect_compiled(builder, (first + i) % SPECS, !usable);
  rs_builder_close(builder);
}

START_TEST(flips_in_a_large_pack) {
  packed all = make_pack();
  int count = count_of_damages(), in_entries = 0;
  begin_at_random("flips in a pack");
  expect_served(&all, -1, true);
  for (int i = 0; i < count; i++) {
    /* one in four outside of the entries, which are most of it */
    off_t at = i % 4 ? below((int64_t)all.bytes) : (off_t)all.index + below((int64_t)(all.bytes - all.index));
    unsigned char bits = (unsigned char)(1 + below(255));
    int spec = spec_at(&all, (uint64_t)at);
    flip(all.file, at, bits);
    expect_served(&all, spec, spec >= 0);
    flip(all.file, at, bits);
    in_entries += spec >= 0;
  }
  expect_served(&all, -1, true);
  printf("%d of %d bytes, %d of them in entries; %d compiles, none failed, none wrong\n", count, (int)all.bytes,
         in_entries, told->compiles - SPECS);
  ck_assert(in_entries > 0 && in_entries < count);
}
END_TEST

START_TEST(truncations_of_a_large_pack) {
  packed all = make_pack();
  size_t bytes;
  unsigned char *whole = slurp(all.file, &bytes);
  int count = count_of_damages();
  begin_at_random("lengths of a pack");
  for (int i = 0; i < count; i++) {
    size_t length = i % 8 ? (size_t)below((int64_t)bytes) : bytes + 1 + (size_t)below(100);
    int fd = open(all.file, O_RDWR);
    ck_assert_int_eq(ftruncate(fd, (off_t)length), 0);
    expect_served(&all, -1, false);
    size_t begin = length < bytes ? length : bytes;
    ck_assert_int_eq(ftruncate(fd, (off_t)begin), 0);
    ck_assert_int_eq(pwrite(fd, whole + begin, bytes - begin, (off_t)begin), (ssize_t)(bytes - begin));
    close(fd);
  }
  expect_served(&all, -1, true);
  printf("%d, of %d bytes; %d compiles, none failed, none wrong\n", count, (int)bytes, told->compiles - SPECS);
  free(whole);
}
END_TEST

/* ---- entries ----------------------------------------------------------------------------------------------------- */

enum { LARGE_SOURCE = 200000 };

/* _i: read to load it. */
START_TEST(a_large_entry) {
  char *dir = fresh();
  to_load = _i;
  rs_builder *builder = open_builder(dir, NULL);
  ck_assert(compiles(builder, 1, LARGE_SOURCE));
  visit_book book = {0};
  ck_assert(rs_store_visit(rs_builder_store(builder), keep_visit, &book));
  char *file = path_of("%s/%s", dir, book.name);
  int count = count_of_damages();
  begin_at_random(to_load ? "a large entry, to load it" : "a large entry");
  for (int i = 0; i < count; i++) {
    int at = below(book.bytes);
    if (i % 2)
      flip(file, at, (unsigned char)(1 + below(255)));
    else
      ck_assert_int_eq(truncate(file, i % 16 ? at : book.bytes + at + 1), 0);
    ck_assert(compiles(builder, 1, LARGE_SOURCE));
    ck_assert(!compiles(builder, 1, LARGE_SOURCE)); /* healed */
  }
  printf("%d flips and lengths of %d bytes; %d compiles, none failed, none wrong\n", count, (int)book.bytes,
         told->compiles - 1);
  rs_builder_close(builder);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("damage");
  TCase *cases = add_case(suite, "large");
  tcase_set_timeout(cases, 600);
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  tcase_add_test(cases, flips_in_a_large_pack);
  tcase_add_test(cases, truncations_of_a_large_pack);
  tcase_add_loop_test(cases, a_large_entry, 0, 2);
  return run_suite(suite);
}
