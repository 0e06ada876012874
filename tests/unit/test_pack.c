/*
 * test_pack.c - packs: many entries in one file
 * SPDX-License-Identifier: MIT
 *
 * A pack travels between machines, and is loaded by those that did not make it. Every byte of a small one is flipped,
 * every length tried, and what has a right digest but lies is refused as well.
 */
#include "../support/cache_help.h"
#include "../support/lot.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/whole.h"
#include "entry.h"
#include "file.h"
#include "pack.h"

/* ---- packs ------------------------------------------------------------------------------------------------------- */

enum { SMALL = 4 };

static const char *key_of(int number) {
  return path_of("op=sum\nlength=%d\nnvrtc=%d\n", number / 2, number % 2);
}

static int by_name(const void *left, const void *right) {
  char a[RS_ENTRY_NAME], b[RS_ENTRY_NAME];
  rs_entry_name(*(const char *const *)left, a);
  rs_entry_name(*(const char *const *)right, b);
  return strcmp(a, b);
}

static unsigned char *encode(const char *key, const char *text, size_t *bytes) {
  unsigned char *entry = rs_entry_encode(key, (rs_part[RS_STORE_PARTS]){{text, strlen(text)}, {"x", 1}}, bytes);
  ck_assert_ptr_nonnull(entry);
  return entry;
}

/* The keys of numbers 0 to count - 1; an entry's text is its key but for what is put in front. */
static unsigned char *make_pack(int count, size_t *bytes) {
  const char **keys = calloc((size_t)count + 1, sizeof *keys);
  rs_pack_writer writer = {0};
  for (int i = 0; i < count; i++)
    keys[i] = key_of(i);
  qsort(keys, (size_t)count, sizeof *keys, by_name);
  for (int i = 0; i < count; i++) {
    size_t entry_bytes;
    unsigned char *entry = encode(keys[i], path_of("of %s", keys[i]), &entry_bytes);
    rs_pack_add(&writer, keys[i], entry, entry_bytes);
    free(entry);
  }
  free(keys);
  unsigned char *pack = rs_pack_finish(&writer, bytes);
  ck_assert_ptr_nonnull(pack);
  return pack;
}

static bool serves(const rs_pack *pack, const char *key) {
  rs_loaded loaded;
  const char *damage = "unset";
  bool found = rs_pack_get(pack, key, &loaded, &damage);
  if (!found)
    return false;
  ck_assert_ptr_null(damage);
  ck_assert_str_eq(loaded.texts.key, key);
  ck_assert_str_eq(loaded.texts.part[0].data, path_of("of %s", key));
  ck_assert_uint_eq((uintptr_t)loaded.texts.part[0].data % 16, 0);
  ck_assert_str_eq(loaded.texts.part[1].data, "x");
  free(loaded.memory);
  return true;
}

static const char *damage_of(const rs_pack *pack, const char *key) {
  rs_loaded loaded;
  const char *damage = NULL;
  ck_assert(!rs_pack_get(pack, key, &loaded, &damage));
  return damage ? damage : "";
}

static const char *spill_and_open(const char *path, const void *bytes, size_t count, rs_pack *pack) {
  struct stat status;
  const char *wrong;
  spill(path, bytes, count);
  int fd = rs_shared_file_open(AT_FDCWD, path, &status, &wrong);
  ck_assert_int_ge(fd, 0);
  return rs_pack_open(pack, fd, (uint64_t)status.st_size);
}

START_TEST(all_that_was_added_is_found) {
  static const int counts[] = {0, 1, 2, 3, 1000};
  for (int which = 0; which < 5; which++) {
    size_t bytes;
    unsigned char *made = make_pack(counts[which], &bytes);
    rs_pack pack, file;
    ck_assert_ptr_null(rs_pack_view(&pack, made, bytes));
    ck_assert_ptr_null(spill_and_open(fresh(), made, bytes, &file));
    ck_assert_uint_eq(pack.count, (unsigned)counts[which]);
    for (int i = 0; i < counts[which]; i++)
      ck_assert(serves(&pack, key_of(i)) && serves(&file, key_of(i)));
    ck_assert_str_eq(damage_of(&pack, key_of(counts[which])), "");
    ck_assert_str_eq(damage_of(&file, "another"), "");
    rs_pack_close(&pack);
    rs_pack_close(&file);
    free(made);
  }
}
END_TEST

static bool get_stem(const rs_pack *pack, const char *stem, rs_loaded *loaded, const char **damage) {
  return rs_pack_get_stem(pack, stem, strlen(stem), loaded, damage);
}

START_TEST(the_format_is_as_written_down) {
  static const unsigned char head[] = {0x89, 'r', 's', 'p', '\r', '\n', 0x1a, '\n', 1, 0, 0, 0, 1, 0, 0, 0};
  rs_pack_writer writer = {0};
  size_t entry_bytes, bytes;
  unsigned char *entry = rs_entry_encode("a=1\nb=2\n", (rs_part[RS_STORE_PARTS]){{"ptx", 3}}, &entry_bytes);
  rs_pack_add(&writer, "a=1\nb=2\n", entry, entry_bytes);
  unsigned char *pack = rs_pack_finish(&writer, &bytes);
  ck_assert_uint_eq(bytes, 16 + entry_bytes + 48 + 16);
  ck_assert_mem_eq(pack, head, sizeof head);
  ck_assert_mem_eq(pack + 16, entry, entry_bytes);
  unsigned char item[48], digest[16], digested[64];
  rs_entry_id("a=1\nb=2\n", 8, item);
  rs_entry_id("a=1\n", 4, item + 16);
  rs_put_number(item + 32, 16, 8);
  rs_put_number(item + 40, entry_bytes, 8);
  ck_assert_mem_eq(pack + 16 + entry_bytes, item, 48);
  memcpy(digested, head, 16);
  memcpy(digested + 16, item, 48);
  rs_entry_digest(digested, sizeof digested, digest);
  ck_assert_mem_eq(pack + bytes - 16, digest, 16);
  free(pack);
  free(entry);
}
END_TEST

START_TEST(a_stem_finds_whatever_the_last_line_says) {
  size_t bytes;
  unsigned char *made = make_pack(10, &bytes);
  rs_pack pack;
  rs_loaded loaded;
  const char *damage;
  ck_assert_ptr_null(rs_pack_view(&pack, made, bytes));
  for (int i = 0; i < 5; i++) {
    const char *stem = path_of("op=sum\nlength=%d\n", i);
    ck_assert(get_stem(&pack, stem, &loaded, &damage));
    ck_assert_ptr_null(damage);
    ck_assert_int_eq(strncmp(loaded.texts.key, stem, strlen(stem)), 0);
    free(loaded.memory);
  }
  static const char *const none[] = {"", "op=sum\n", "op=sum\nlength=1", "op=sum\nlength=5\n",
                                     "op=sum\nlength=1\nnvrtc=1\n"};
  for (int i = 0; i < 5; i++)
    ck_assert(!get_stem(&pack, none[i], &loaded, &damage) && !damage);
  rs_pack_close(&pack);
  free(made);
}
END_TEST

/* A stem is served by a sound entry even if another one of that stem is damaged. */
START_TEST(a_damaged_entry_hides_no_other_of_its_stem) {
  size_t bytes;
  unsigned char *made = make_pack(2, &bytes);
  rs_pack pack;
  rs_loaded loaded;
  const char *damage;
  for (int place = 0; place < 2; place++) {
    ck_assert_ptr_null(rs_pack_view(&pack, made, bytes));
    uint64_t at = rs_get_number(pack.head + RS_PACK_HEADER + (size_t)place * RS_PACK_ITEM + 32, 8);
    made[at + 40] ^= 1;
    ck_assert(get_stem(&pack, "op=sum\nlength=0\n", &loaded, &damage) && !damage);
    free(loaded.memory);
    made[at + 40] ^= 1;
    rs_pack_close(&pack);
  }
  made[RS_PACK_HEADER + 40] ^= 1;
  made[bytes - 16 - 2 * RS_PACK_ITEM - 20] ^= 1;
  ck_assert_ptr_null(rs_pack_view(&pack, made, bytes));
  ck_assert(!get_stem(&pack, "op=sum\nlength=0\n", &loaded, &damage) && damage);
  rs_pack_close(&pack);
  free(made);
}
END_TEST

/* ---- damage ------------------------------------------------------------------------------------------------------ */

/* Opens what may be damaged; how many of the keys it serves, each right. In memory of its very size, for ASan. */
static int served(const unsigned char *bytes, size_t count) {
  unsigned char *exact = malloc(count ? count : 1);
  rs_pack pack;
  int hits = 0;
  memcpy(exact, bytes, count);
  if (!rs_pack_view(&pack, exact, count)) {
    for (int i = 0; i < SMALL; i++)
      hits += serves(&pack, key_of(i));
    rs_pack_close(&pack);
  }
  free(exact);
  return hits;
}

START_TEST(every_flipped_byte_is_a_miss) {
  size_t bytes;
  unsigned char *made = make_pack(SMALL, &bytes);
  size_t index = bytes - 16 - SMALL * RS_PACK_ITEM;
  ck_assert_int_eq(served(made, bytes), SMALL);
  int flips = 0, served_others = 0;
  for (size_t at = 0; at < bytes; at++) {
    int expected = at >= RS_PACK_HEADER && at < index ? SMALL - 1 : 0;
    for (int bit = 0; bit<8; bit++, flips++, served_others += expected> 0) {
      made[at] ^= (unsigned char)(1 << bit);
      int hits = served(made, bytes);
      ck_assert_msg(hits == expected, "byte %zu, bit %d: %d hits, not %d", at, bit, hits, expected);
      made[at] ^= (unsigned char)(1 << bit);
    }
  }
  printf("a pack of %d entries: each bit of %zu bytes flipped, %d misses, of which %d left the other entries\n", SMALL,
         bytes, flips, served_others);
  free(made);
}
END_TEST

START_TEST(every_other_length_is_a_miss) {
  size_t bytes;
  unsigned char *made = make_pack(SMALL, &bytes);
  int misses = 0;
  for (size_t count = 0; count < bytes; count++, misses++)
    ck_assert_int_eq(served(made, count), 0);
  made = realloc(made, bytes + 64);
  memset(made + bytes, 0, 64);
  for (size_t more = 1; more <= 64; more++, misses++)
    ck_assert_int_eq(served(made, bytes + more), 0);
  printf("a pack of %zu bytes: each other length up to %zu, %d misses\n", bytes, bytes + 64, misses);
  free(made);
}
END_TEST

/* By another process, which should have made a new one and renamed it. */
START_TEST(a_file_cut_short_while_it_is_open_is_a_miss) {
  size_t bytes;
  unsigned char *made = make_pack(SMALL, &bytes);
  char *path = fresh();
  rs_pack pack;
  ck_assert_ptr_null(spill_and_open(path, made, bytes, &pack));
  ck_assert_int_eq(truncate(path, RS_PACK_HEADER), 0);
  for (int i = 0; i < SMALL; i++)
    ck_assert_str_eq(damage_of(&pack, key_of(i)), "cannot be read");
  rs_pack_close(&pack);
  free(made);
}
END_TEST

/* Gives a changed pack a right digest. */
static const char *lie(unsigned char *made, size_t bytes, uint32_t count, rs_pack *pack) {
  size_t index_bytes = (size_t)count * RS_PACK_ITEM, index = bytes - 16 - index_bytes;
  unsigned char *head = malloc(RS_PACK_HEADER + index_bytes);
  memcpy(head, made, RS_PACK_HEADER);
  memcpy(head + RS_PACK_HEADER, made + index, index_bytes);
  rs_entry_digest(head, RS_PACK_HEADER + index_bytes, made + bytes - 16);
  free(head);
  return rs_pack_view(pack, made, bytes);
}

START_TEST(a_right_digest_excuses_nothing) {
  size_t bytes;
  unsigned char *made = make_pack(SMALL, &bytes), *copy = malloc(bytes);
  unsigned char *item = copy + bytes - 16 - SMALL * RS_PACK_ITEM;
  rs_pack pack;
  const struct {
    int at, field_bytes;
    uint64_t value;
    const char *damage;
  } lies[] = {
      {32, 8, 0, "points outside the pack"},          {32, 8, UINT64_MAX, "points outside the pack"},
      {32, 8, bytes, "points outside the pack"},      {40, 8, bytes, "points outside the pack"},
      {40, 8, UINT64_MAX, "points outside the pack"}, {40, 8, 0, "leaves out part of the pack"},
      {40, 8, 16, "leaves out part of the pack"},     {0, 1, 255, "not sorted"},
  };
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    memcpy(copy, made, bytes);
    rs_put_number(item + lies[i].at, lies[i].value, lies[i].field_bytes);
    const char *damage = lie(copy, bytes, SMALL, &pack);
    ck_assert_msg(damage && strstr(damage, lies[i].damage), "lie %zu: %s", i, damage ? damage : "believed");
  }
  /* Two names that lead to each other's entries: neither is served. */
  memcpy(copy, made, bytes);
  memcpy(item + 32, made + (item - copy) + RS_PACK_ITEM + 32, 16);
  memcpy(item + RS_PACK_ITEM + 32, made + (item - copy) + 32, 16);
  ck_assert_ptr_null(lie(copy, bytes, SMALL, &pack));
  int hits = 0;
  for (int i = 0; i < SMALL; i++)
    hits += serves(&pack, key_of(i));
  ck_assert_int_eq(hits, SMALL - 2);
  rs_pack_close(&pack);
  /* A stem that is another's. */
  memcpy(copy, made, bytes);
  for (int i = 0; i < SMALL; i++)
    rs_entry_id("op=prod\n", 8, item + (size_t)i * RS_PACK_ITEM + 16);
  ck_assert_ptr_null(lie(copy, bytes, SMALL, &pack));
  rs_loaded loaded;
  const char *damage;
  ck_assert(!get_stem(&pack, "op=prod\n", &loaded, &damage));
  ck_assert_str_eq(damage, "it holds another key");
  rs_pack_close(&pack);
  /* More entries than the file has room for. */
  memcpy(copy, made, bytes);
  rs_put_number(copy + 12, UINT32_MAX, 4);
  ck_assert_str_eq(rs_pack_view(&pack, copy, bytes), "truncated");
  memcpy(copy, made, bytes);
  copy[8]++;
  ck_assert_str_eq(lie(copy, bytes, SMALL, &pack), "its format version is not supported");
  free(copy);
  free(made);
}
END_TEST

START_TEST(what_is_no_pack_is_refused) {
  rs_pack pack;
  size_t bytes;
  unsigned char *entry = encode("key", "text", &bytes);
  ck_assert_str_eq(rs_pack_view(&pack, NULL, 0), "truncated");
  ck_assert_str_eq(rs_pack_view(&pack, entry, bytes), "not a pack of rowscan");
  memset(entry, 0, bytes);
  ck_assert_str_eq(rs_pack_view(&pack, entry, bytes), "not a pack of rowscan");
  memset(entry, 0xff, bytes);
  ck_assert_str_eq(rs_pack_view(&pack, entry, bytes), "not a pack of rowscan");
  free(entry);
}
END_TEST

/* ---- export and import ------------------------------------------------------------------------------------------- */

static rs_store *filled(int count) {
  rs_store *store = open_at(fresh());
  for (int i = 0; i < count; i++)
    ck_assert(put(store, key_of(i), path_of("of %s", key_of(i))));
  return store;
}

static void *export_all(rs_store *store, int64_t entries, size_t *bytes) {
  rs_store_exported sum;
  const char *wrong = "unset";
  void *pack = rs_store_export(store, NULL, NULL, bytes, &sum, &wrong);
  ck_assert_ptr_nonnull(pack);
  ck_assert_ptr_null(wrong);
  ck_assert_int_eq(sum.entries, entries);
  return pack;
}

static void expect_import(rs_store *store, const void *pack, size_t bytes, rs_store_imported expected) {
  rs_store_imported sum;
  ck_assert_ptr_null(rs_store_import(store, pack, bytes, &sum));
  ck_assert_int_eq(sum.entries, expected.entries);
  ck_assert_int_eq(sum.added, expected.added);
  ck_assert_int_eq(sum.present, expected.present);
  ck_assert_int_eq(sum.damaged, expected.damaged);
  ck_assert_int_eq(sum.failed, expected.failed);
}

START_TEST(what_was_exported_is_imported) {
  static const int counts[] = {0, 1, 300};
  for (int which = 0; which < 3; which++) {
    int count = counts[which];
    size_t bytes, again_bytes;
    rs_store *from = filled(count), *to = open_at(fresh());
    void *pack = export_all(from, count, &bytes);
    expect_import(to, pack, bytes, (rs_store_imported){.entries = count, .added = count});
    for (int i = 0; i < count; i++)
      ck_assert(has(to, key_of(i), path_of("of %s", key_of(i))));
    expect_import(to, pack, bytes, (rs_store_imported){.entries = count, .present = count});
    void *again = export_all(to, count, &again_bytes);
    ck_assert_uint_eq(bytes, again_bytes);
    ck_assert_mem_eq(pack, again, bytes);
    free(again);
    free(pack);
    rs_store_close(from);
    rs_store_close(to);
  }
}
END_TEST

/* A little more than a power of two: the worst size for what grows by doubling. */
enum { LARGE = 5, LARGE_BYTES = 900000 };

static rs_store *filled_with_large(void) {
  rs_store *store = open_at(fresh());
  for (int i = 0; i < LARGE; i++)
    ck_assert(put_bytes(store, key_of(i), LARGE_BYTES));
  return store;
}

/* What it has room for beyond its bytes is lost to whoever keeps it. */
START_TEST(a_pack_in_memory_takes_its_bytes) {
  size_t bytes;
  rs_store *from = filled_with_large();
  void *pack = export_all(from, LARGE, &bytes);
  ck_assert_uint_gt(bytes, LARGE * LARGE_BYTES);
  ck_assert_uint_lt(malloc_usable_size(pack), bytes + bytes / 16);
  free(pack);
  rs_store_close(from);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HAVE_LIMITED_MEMORY
static size_t address_space(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  ck_assert(file && fscanf(file, "%lu", &pages) == 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* In a process with room for so many times the pack, and a little for all else. */
static bool exports_within(const char *dir, double times) {
  pid_t child = fork();
  if (child == 0) {
    rs_store *store = open_at(dir);
    rs_store_exported sum;
    const char *wrong;
    size_t bytes, room = address_space() + (size_t)(times * LARGE * LARGE_BYTES) + (1 << 20);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){room, room}) != 0)
      _exit(3);
    void *pack = rs_store_export(store, NULL, NULL, &bytes, &sum, &wrong);
    _exit(!pack ? 2 : sum.entries != LARGE ? 1 : 0);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2));
  return WEXITSTATUS(status) == 0;
}

START_TEST(making_a_pack_takes_twice_its_bytes) {
  rs_store *from = filled_with_large();
  ck_assert(exports_within(rs_store_path(from), 2));
  ck_assert(!exports_within(rs_store_path(from), 0.7)); /* the limit is one */
  rs_store_close(from);
}
END_TEST
#endif

static bool is_even(void *user, const char *key, rs_part parts[RS_STORE_PARTS]) {
  (void)parts;
  ++*(int *)user;
  return strstr(key, "nvrtc=0") != NULL;
}

START_TEST(only_what_is_taken_and_sound_is_exported) {
  rs_store *from = filled(20), *to = open_at(fresh());
  int asked = 0;
  size_t bytes, count;
  rs_store_exported sum;
  const char *wrong;
  char *path = entry_path(rs_store_path(from), key_of(4));
  unsigned char *entry = slurp(path, &count);
  entry[count / 2] ^= 1;
  spill(path, entry, count);
  free(entry);
  spill(path_of("%s/tmp-1-1-1", parent_of(path)), "x", 1);
  char *other = entry_path(rs_store_path(from), key_of(6)), *wrong_name = path_of("%s/%030d", parent_of(other), 0);
  ck_assert_int_eq(rename(other, wrong_name), 0);
  void *pack = rs_store_export(from, is_even, &asked, &bytes, &sum, &wrong);
  ck_assert_int_eq(sum.entries, 8);
  ck_assert_int_eq(sum.damaged, 2);
  ck_assert_int_eq(asked, 18);
  expect_import(to, pack, bytes, (rs_store_imported){.entries = 8, .added = 8});
  ck_assert(hits(to, key_of(2)) && !hits(to, key_of(3)) && !hits(to, key_of(4)) && !hits(to, key_of(6)));
  free(pack);
  rs_store_close(from);
  rs_store_close(to);
}
END_TEST

START_TEST(an_import_heals_what_is_damaged) {
  rs_store *from = filled(3), *to = filled(3);
  size_t bytes;
  void *pack = export_all(from, 3, &bytes);
  spill(entry_path(rs_store_path(to), key_of(1)), "garbage", 7);
  expect_import(to, pack, bytes, (rs_store_imported){.entries = 3, .present = 2, .added = 1});
  ck_assert(has(to, key_of(1), path_of("of %s", key_of(1))));
  free(pack);
  rs_store_close(from);
  rs_store_close(to);
}
END_TEST

/* Whatever is flipped: never an entry that is not what was exported. */
START_TEST(of_a_damaged_pack_the_sound_entries_are_imported) {
  rs_store *from = filled(SMALL);
  size_t bytes;
  unsigned char *pack = export_all(from, SMALL, &bytes);
  size_t index = bytes - 16 - SMALL * RS_PACK_ITEM;
  for (size_t at = 0; at < bytes; at += 13) {
    rs_store *to = open_at(fresh());
    rs_store_imported sum;
    pack[at] ^= 0x10;
    const char *wrong = rs_store_import(to, pack, bytes, &sum);
    bool entry = at >= RS_PACK_HEADER && at < index;
    ck_assert_msg((wrong == NULL) == entry, "byte %zu: %s", at, wrong ? wrong : "not seen");
    ck_assert_int_eq(sum.added, entry ? SMALL - 1 : 0);
    ck_assert_int_eq(sum.damaged, entry ? 1 : 0);
    for (int i = 0; i < SMALL; i++)
      ck_assert(!hits(to, key_of(i)) || has(to, key_of(i), path_of("of %s", key_of(i))));
    pack[at] ^= 0x10;
    rs_store_close(to);
  }
  free(pack);
  rs_store_close(from);
}
END_TEST

START_TEST(without_a_directory_nothing_is_kept) {
  rs_store *from = filled(2), *none = rs_store_open(&(rs_store_options){.off_by = "the program"});
  size_t bytes;
  void *pack = export_all(from, 2, &bytes), *empty = export_all(none, 0, &(size_t){0});
  expect_import(none, pack, bytes, (rs_store_imported){.entries = 2, .failed = 2});
  free(empty);
  free(pack);
  rs_store_close(none);
  rs_store_close(from);
}
END_TEST

START_TEST(an_import_keeps_the_limit) {
  rs_store *from = open_at(fresh()), *to = open_logged(fresh(), 64 << 10, NULL);
  for (int i = 0; i < 100; i++)
    ck_assert(put_bytes(from, key_of(i), 4096));
  size_t bytes;
  void *pack = export_all(from, 100, &bytes);
  rs_store_imported sum;
  ck_assert_ptr_null(rs_store_import(to, pack, bytes, &sum));
  ck_assert_int_le(bytes_in(to), 64 << 10);
  ck_assert_int_gt(sum.added, 8);
  ck_assert(sum.added == entries_in(to) && sum.failed == 100 - sum.added && !sum.present && !sum.damaged);
  free(pack);
  rs_store_close(from);
  rs_store_close(to);
}
END_TEST

/* ---- holes ------------------------------------------------------------------------------------------------------- */

/* A file that has a size, and no more blocks than its ends take. */
typedef struct holes {
  uint64_t entry_bytes; /* of the only one; 0: `count` items of nothing */
  uint32_t count;
  bool header, digest;   /* the entry's, which are right */
  const char *pack_says; /* of all of it */
  const char *says;      /* of the entry; NULL: nothing, for it is sound */
  bool large;            /* more than the cache keeps, which is no damage to an import */
} holes;

static const uint64_t huge = UINT64_C(6) << 30;
static const holes hollow[] = {
    {0, UINT32_C(1) << 27, false, false, "its index points outside the pack", NULL, false},
    {huge, 1, false, false, NULL, "not an entry of rowscan", false},
    {huge, 1, true, false, NULL, "too large for the cache's limit", true},
    {UINT64_C(200) << 20, 1, true, false, NULL, "its digest differs", false},
    {UINT64_C(300) << 20, 1, true, true, NULL, "too large for the cache's limit", true},
    {UINT64_C(1200) << 10, 1, true, true, NULL, NULL, false},
};
enum { HOLLOW = sizeof hollow / sizeof *hollow };

static const char hollow_key[] = "op=sum\nby=holes\n";

static void put_at(int fd, const void *bytes, size_t count, uint64_t at) {
  ck_assert_int_eq(pwrite(fd, bytes, count, (off_t)at), (ssize_t)count);
}

/* The digest of an entry that is in the file, all of it. */
static void add_digest(int fd, uint64_t bytes) {
  unsigned char *entry = malloc(bytes), digest[RS_ENTRY_DIGEST];
  ck_assert_int_eq(pread(fd, entry, bytes, RS_PACK_HEADER), (ssize_t)bytes);
  rs_entry_digest(entry, bytes - sizeof digest, digest);
  put_at(fd, digest, sizeof digest, RS_PACK_HEADER + bytes - sizeof digest);
  free(entry);
}

/* As the smallest entry of the key has it, but with parts that make it so large. */
static void add_header(int fd, uint64_t bytes) {
  size_t least;
  unsigned char *entry = rs_entry_encode(hollow_key, (rs_part[RS_STORE_PARTS]){{NULL, 0}}, &least);
  uint64_t more = bytes - least, half = more / 32 * 16;
  rs_put_number(entry + 16, half, 4);
  rs_put_number(entry + 20, more - half, 4);
  put_at(fd, entry, least - RS_ENTRY_DIGEST, RS_PACK_HEADER);
  free(entry);
}

/* False: the file system has no files of that size. */
static bool make_hollow(const char *path, const holes *what) {
  unsigned char head[RS_PACK_HEADER + RS_PACK_ITEM], digest[RS_ENTRY_DIGEST];
  size_t bytes;
  unsigned char *empty = make_pack(0, &bytes);
  uint64_t index = RS_PACK_HEADER + what->entry_bytes, end = index + (uint64_t)what->count * RS_PACK_ITEM;
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  bool made = ftruncate(fd, (off_t)(end + sizeof digest)) == 0;
  memset(head, 0, sizeof head);
  memcpy(head, empty, RS_PACK_HEADER);
  rs_put_number(head + 12, what->count, 4);
  if (what->entry_bytes) {
    unsigned char *item = head + RS_PACK_HEADER;
    rs_entry_id(hollow_key, strlen(hollow_key), item);
    rs_entry_id(hollow_key, rs_entry_stem(hollow_key), item + RS_ENTRY_ID);
    rs_put_number(item + 2 * RS_ENTRY_ID, RS_PACK_HEADER, 8);
    rs_put_number(item + 2 * RS_ENTRY_ID + 8, what->entry_bytes, 8);
    rs_entry_digest(head, sizeof head, digest);
  }
  if (made) {
    put_at(fd, head, RS_PACK_HEADER, 0);
    if (what->entry_bytes) {
      put_at(fd, head + RS_PACK_HEADER, RS_PACK_ITEM, index);
      put_at(fd, digest, sizeof digest, end);
    }
    if (what->header)
      add_header(fd, what->entry_bytes);
    if (what->digest)
      add_digest(fd, what->entry_bytes);
  }
  free(empty);
  close(fd);
  return made;
}

static rs_store *open_with(const char *packs, const char *installed, log_book *book);

/* What a child does with a file; it ends with 0 if all was as expected. */
static int nothing(const char *path, const holes *what) {
  (void)path, (void)what;
  return 0;
}

static int import_hollow(const char *path, const holes *what) {
  rs_store *store = open_at(fresh());
  rs_store_imported sum;
  const char *wrong = rs_store_import_file(store, path, &sum);
  rs_store_close(store);
  if (what->pack_says)
    return !wrong || strcmp(wrong, what->pack_says) != 0;
  return wrong || sum.damaged != (what->says && !what->large) || sum.failed != what->large || sum.added != !what->says;
}

static int import_mapped(const char *path, const holes *what) {
  int fd = open(path, O_RDONLY);
  struct stat status;
  rs_store *store = open_at(fresh());
  rs_store_imported sum = {0};
  if (fstat(fd, &status) != 0)
    return 1;
  void *pack = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (pack == MAP_FAILED)
    return 0;
  const char *wrong = rs_store_import(store, pack, (size_t)status.st_size, &sum);
  rs_store_close(store);
  return what->pack_says ? !wrong || strcmp(wrong, what->pack_says) != 0 : wrong || sum.added != !what->says;
}

static int visit_hollow(const char *path, const holes *what) {
  rs_store *store = open_with(path, NULL, NULL);
  visit_book book = {0};
  rs_entry entry;
  bool hit = rs_store_get(store, hollow_key, RS_STORE_PARTS, &entry),
       visited = rs_store_visit_packs(store, keep_visit, &book);
  rs_entry_free(&entry);
  rs_store_close(store);
  if (!visited || hit != (!what->says && !what->pack_says) || book.entries != !what->pack_says)
    return 1;
  return strcmp(book.damage, what->says ? what->says : "") != 0;
}

/* The most memory that it took, in bytes. */
static int64_t memory_of(int (*work)(const char *path, const holes *what), const char *path, const holes *what) {
  struct rusage usage;
  int status;
  pid_t child = fork();
  if (!child)
    _exit(work(path, what));
  ck_assert_int_eq(wait4(child, &status, 0, &usage), child);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "pack %d: status %d", (int)(what - hollow), status);
  return (int64_t)usage.ru_maxrss << 10;
}

/* _i: which. What a file's head says is no reason to take memory: it has to be there. */
START_TEST(a_pack_of_holes_takes_no_memory) {
  enum { SLACK = 24 << 20 };
  static int (*const works[])(const char *path, const holes *what) = {import_hollow, import_mapped, visit_hollow};
  const holes *what = &hollow[_i];
  char *path = fresh();
  if (!make_hollow(path, what))
    return;
  double start = monotonic_ms();
  int64_t most[3], before = memory_of(nothing, path, what);
  for (int i = 0; i < 3; i++) {
    most[i] = memory_of(works[i], path, what) - before;
    if (i != 1) /* of what is mapped the file's pages count */
      ck_assert_msg(most[i] < SLACK, "pack %d, work %d: %lld bytes", _i, i, (long long)most[i]);
  }
  printf("a pack of %.0f MB of holes: %.1f MB to import, %.1f to read, %.0f ms\n",
         1e-6 * (double)(what->entry_bytes + (uint64_t)what->count * RS_PACK_ITEM), 1e-6 * (double)most[0],
         1e-6 * (double)most[2], monotonic_ms() - start);
}
END_TEST

/* The same for an entry in the directory. */
START_TEST(an_entry_of_holes_takes_no_memory) {
  char *dir = fresh(), *path = entry_path(dir, hollow_key);
  rs_store *store = open_at(dir);
  ck_assert(put(store, hollow_key, "text"));
  int fd = open(path, O_RDWR);
  uint64_t bytes = UINT64_C(512) << 20;
  size_t least;
  unsigned char *entry = rs_entry_encode(hollow_key, (rs_part[RS_STORE_PARTS]){{NULL, 0}}, &least);
  rs_put_number(entry + 16, bytes - least, 4);
  bool made = ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)bytes) == 0;
  ck_assert_int_eq(pwrite(fd, entry, least - RS_ENTRY_DIGEST, 0), (ssize_t)(least - RS_ENTRY_DIGEST));
  free(entry);
  close(fd);
  if (made) {
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    ck_assert(!hits(store, hollow_key));
    ck_assert_str_eq(damage_of_only(store), "its digest differs");
    getrusage(RUSAGE_SELF, &after);
    ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 24 << 10);
  }
  rs_store_close(store);
}
END_TEST

/* An index of more than is read at once. */
START_TEST(a_large_index_is_checked_in_pieces) {
  enum { MANY = RS_ENTRY_AT_ONCE / RS_PACK_ITEM + 1500 };
  size_t bytes, text = 0;
  unsigned char *entry = encode("key", "text", &text);
  rs_pack pack;
  uint64_t index = RS_PACK_HEADER + (uint64_t)MANY * text;
  unsigned char *made = make_pack(0, &bytes);
  bytes = index + (size_t)MANY * RS_PACK_ITEM + RS_ENTRY_DIGEST;
  made = realloc(made, bytes);
  memset(made + RS_PACK_HEADER, 0, bytes - RS_PACK_HEADER);
  rs_put_number(made + 12, MANY, 4);
  for (uint32_t i = 0; i < MANY; i++) {
    unsigned char *item = made + index + (size_t)i * RS_PACK_ITEM;
    for (int k = 0; k < 4; k++)
      item[k] = (unsigned char)(i >> (24 - 8 * k));
    rs_put_number(item + 32, RS_PACK_HEADER + i * text, 8);
    rs_put_number(item + 40, text, 8);
  }
  free(entry);
  ck_assert_ptr_null(lie(made, bytes, MANY, &pack));
  ck_assert_uint_eq(pack.count, MANY);
  rs_pack_close(&pack);
  made[bytes - 1] ^= 1;
  ck_assert_str_eq(rs_pack_view(&pack, made, bytes), "its digest differs, or it is truncated");
  for (uint32_t i = 1; i < MANY; i += 997) {
    unsigned char *item = made + index + (size_t)i * RS_PACK_ITEM;
    item[0] ^= 0x80;
    ck_assert_str_eq(lie(made, bytes, MANY, &pack), "its index is not sorted");
    item[0] ^= 0x80;
  }
  free(made);
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------------------- */

START_TEST(a_file_of_a_pack_appears_as_a_whole) {
  size_t bytes, found;
  unsigned char *pack = make_pack(3, &bytes);
  char *path = fresh(), *dir = parent_of(path);
  umask(0);
  ck_assert(rs_store_write_pack(path, pack, bytes, NULL));
  ck_assert_int_eq(mode_of(path), 0644);
  int before = descriptors();
  ck_assert(rs_store_write_pack(path, pack, bytes, NULL));
  unsigned char *read_back = slurp(path, &found);
  ck_assert(found == bytes && memcmp(pack, read_back, bytes) == 0);
  free(read_back);
  ck_assert_int_eq(mkdir(path_of("%s/directory", dir), 0700), 0);
  ck_assert(!rs_store_write_pack(path_of("%s/directory", dir), pack, bytes, NULL) && errno == EISDIR);
  ck_assert(!rs_store_write_pack(path_of("%s/", dir), pack, bytes, NULL) && errno == EISDIR);
  ck_assert(!rs_store_write_pack(path_of("%s/none/pack", dir), pack, bytes, NULL) && errno == ENOENT);
  ck_assert_int_eq(chdir(dir), 0);
  ck_assert(rs_store_write_pack("relative", pack, bytes, NULL) && exists(path_of("%s/relative", dir)));
  limit_files(100);
  bool too_large = !rs_store_write_pack(path, pack, bytes, NULL) && errno == EFBIG;
  limit_files(RLIM_INFINITY);
  ck_assert(too_large);
  read_back = slurp(path, &found);
  ck_assert(found == bytes && memcmp(pack, read_back, bytes) == 0);
  free(read_back);
  ck_assert_int_eq(names_in(dir, ""), 3);
  ck_assert_int_eq(descriptors(), before);
  free(pack);
}
END_TEST

/* A file beside a pack, two hours old. */
static char *leave(const char *dir, const char *name) {
  char *path = path_of("%s/%s", dir, name);
  spill(path, "half", 4);
  age(path, 2 * HOUR);
  return path;
}

/* An export removes what exports that were killed left beside its file, and nothing of its user's. */
START_TEST(what_is_left_beside_a_pack_is_swept) {
  static const char *const others[] = {
      "tmp-1-2-3",         ".rowscan-1-2-3.tmp~", ".rowscan-1-2.tmp",  ".rowscan-1-2-3-4.tmp", ".rowscan-x-2-3.tmp",
      ".rowscan--2-3.tmp", ".rowscan-1-2-3",      "rowscan-1-2-3.tmp", ".rowscan-0-2-3.tmp"};
  enum { OTHERS = sizeof others / sizeof *others };
  char *path = fresh(), *dir = parent_of(path), *kept[OTHERS + 6];
  int count = 0, before = descriptors();
  for (int i = 0; i < OTHERS; i++)
    kept[count++] = leave(dir, others[i]);
  char *left[] = {leave(dir, ".rowscan-1-2-3.tmp"), leave(dir, ".rowscan-99999-1700000000-999999999.tmp")};
  age(left[1], -2 * HOUR);
  age(kept[count++] = leave(dir, ".rowscan-1-2-4.tmp"), HOUR / 2);
  char *target = leave(dir, "target"), *link = path_of("%s/.rowscan-1-2-5.tmp", dir);
  ck_assert_int_eq(symlink(target, link), 0);
  char *first = leave(dir, ".rowscan-1-2-6.tmp"), *second = path_of("%s/second", dir);
  ck_assert_int_eq(linkat(AT_FDCWD, first, AT_FDCWD, second, 0), 0);
  ck_assert_int_eq(mkfifo(kept[count++] = path_of("%s/.rowscan-1-2-7.tmp", dir), 0600), 0);
  char *held = leave(dir, ".rowscan-1-2-8.tmp");
  int fd = open(held, O_WRONLY);
  ck_assert(rs_beside_hold(fd));
  char *foreign = geteuid() == 0 ? leave(dir, ".rowscan-1-2-9.tmp") : NULL;
  ck_assert(!foreign || chown(foreign, 65534, 65534) == 0);
  ck_assert(rs_store_write_pack(path, "pack", 4, NULL));
  for (int i = 0; i < 2; i++)
    ck_assert_msg(!exists(left[i]), "%s", left[i]);
  for (int i = 0; i < count; i++)
    ck_assert_msg(exists(kept[i]), "%s", kept[i]);
  ck_assert(exists(target) && exists(link) && exists(first) && exists(second) && exists(held));
  ck_assert(!foreign || exists(foreign));
  close(fd);
  ck_assert(rs_store_write_pack(path, "pack", 4, NULL));
  ck_assert(!exists(held));
  ck_assert_int_eq(descriptors(), before);
}
END_TEST

static int refused;

static void expect_refused(const char *path, const char *why) {
  rs_store *store = open_at(fresh());
  rs_store_imported sum;
  int before = descriptors();
  const char *wrong = rs_store_import_file(store, path, &sum);
  ck_assert_msg(wrong && strstr(wrong, why), "%s: %s, not %s", path, wrong ? wrong : "used", why);
  ck_assert_int_eq(sum.entries, 0);
  ck_assert_int_eq(descriptors(), before);
  ck_assert_int_eq(entries_in(store), 0);
  rs_store_close(store);
  refused++;
}

START_TEST(what_is_not_to_be_trusted_is_not_imported) {
  size_t bytes;
  unsigned char *pack = make_pack(3, &bytes);
  char *path = fresh(), *fifo = fresh();
  rs_store_imported sum;
  ck_assert(rs_store_write_pack(path, pack, bytes, NULL));
  rs_store *store = open_at(fresh());
  ck_assert_ptr_null(rs_store_import_file(store, path, &sum));
  ck_assert_int_eq(sum.added, 3);
  rs_store_close(store);
  ck_assert_int_eq(mkfifo(fifo, 0600), 0);
  expect_refused(fifo, "not a regular file");
  expect_refused("/dev/zero", "not a regular file");
  expect_refused(parent_of(path), "not a regular file");
  expect_refused(fresh(), "no such file");
  expect_refused("", "no such file");
  ck_assert_int_eq(chmod(path, 0620), 0);
  expect_refused(path, "writable by others");
  ck_assert_int_eq(chmod(path, 0602), 0);
  expect_refused(path, "writable by others");
  ck_assert_int_eq(chmod(path, 0600), 0);
  spill(path, pack, bytes - 1);
  expect_refused(path, "truncated");
  if (geteuid() == 0) {
    spill(path, pack, bytes);
    ck_assert_int_eq(chown(path, 65534, 65534), 0);
    expect_refused(path, "owned by another user");
  }
  printf("%d files that are not to be trusted, none imported\n", refused);
  free(pack);
}
END_TEST

/* ---- packs beside a store ---------------------------------------------------------------------------------------- */

/* A file with the keys from `first` to `end` - 1. */
static char *pack_file(const char *path, int first, int end) {
  rs_store *store = open_at(fresh());
  size_t bytes;
  for (int i = first; i < end; i++)
    ck_assert(put(store, key_of(i), path_of("of %s", key_of(i))));
  void *pack = export_all(store, end - first, &bytes);
  ck_assert(rs_store_write_pack(path, pack, bytes, NULL));
  free(pack);
  rs_store_close(store);
  return path_of("%s", path);
}

static rs_store *open_with(const char *packs, const char *installed, log_book *book) {
  rs_store *store = rs_store_open(&(rs_store_options){
      .dir = fresh(), .packs = packs, .installed_packs = installed, .log = {book ? note : NULL, book}});
  ck_assert_ptr_nonnull(store);
  return store;
}

static void expect_keys(rs_store *store, int first, int end) {
  for (int i = first - 2; i < end + 2; i++)
    ck_assert_int_eq(has(store, key_of(i), path_of("of %s", key_of(i))), i >= first && i < end);
}

static int keep_packed_key(void *user, const char *key) {
  char **keys = user;
  int count = 0;
  while (keys[count])
    count++;
  keys[count] = path_of("%s", key);
  return 0;
}

/* By turns, that the first of each pack come first. Damage beyond a key leaves it, damage of the key does not. */
START_TEST(keys_of_packs_are_visited_by_turns) {
  char *files[] = {fresh(), fresh()}, *keys[8] = {NULL};
  size_t count;
  pack_file(files[0], 0, 2);
  pack_file(files[1], 2, 6);
  unsigned char *bytes = slurp(files[1], &count);
  rs_pack pack;
  ck_assert_ptr_null(rs_pack_view(&pack, bytes, count));
  size_t beyond = (size_t)rs_get_number(pack.head + RS_PACK_HEADER + 32, 8) + 80;
  size_t within = (size_t)rs_get_number(pack.head + RS_PACK_HEADER + RS_PACK_ITEM + 32, 8) + 40;
  rs_pack_close(&pack);
  bytes[beyond] ^= 1;
  bytes[within] ^= 1;
  spill(files[1], bytes, count);
  free(bytes);
  rs_store *store = open_with(path_of("%s:%s", files[0], files[1]), NULL, NULL);
  rs_store_visit_packed_keys(store, keep_packed_key, keys);
  int of_first = 0, all = 0;
  for (; keys[all]; all++)
    of_first += (!strcmp(keys[all], key_of(0)) || !strcmp(keys[all], key_of(1))) && (all == 0 || all == 2);
  ck_assert_int_eq(all, 2 + 3);
  ck_assert_int_eq(of_first, 2);
  rs_store_close(store);
}
END_TEST

START_TEST(a_store_reads_its_packs) {
  char *one = pack_file(fresh(), 10, 20), *two = pack_file(fresh(), 20, 30), *dir = parent_of(fresh());
  pack_file(path_of("%s/a.pack", dir), 30, 33);
  pack_file(path_of("%s/b.pack", dir), 33, 36);
  pack_file(path_of("%s/c.packs", dir), 36, 40);
  pack_file(path_of("%s/.d.pack", dir), 36, 40);
  int before = descriptors();
  log_book book = {0};
  rs_store *store = open_with(path_of(":%s::%s:", one, two), dir, &book);
  int64_t entries;
  ck_assert_int_eq(rs_store_packs(store, &entries), 4);
  ck_assert_int_eq(entries, 26);
  expect_keys(store, 10, 36);
  ck_assert_str_eq(rs_store_pack_of(store, key_of(12)), one);
  ck_assert_str_eq(rs_store_pack_of(store, key_of(34)), path_of("%s/b.pack", dir));
  ck_assert_ptr_null(rs_store_pack_of(store, key_of(36)));
  ck_assert_int_eq(book.messages[0], 0);
  ck_assert_int_eq(entries_in(store), 0); /* nothing is copied */
  rs_store_close(store);
  ck_assert_int_eq(descriptors(), before);
  store = open_with(NULL, dir, NULL);
  ck_assert_int_eq(rs_store_packs(store, NULL), 0); /* the environment says off */
  rs_store_close(store);
  setenv("ROWSCAN_CACHE_PACKS", path_of("%s:%s", two, dir), 1);
  store = open_with(NULL, fresh(), &book);
  expect_keys(store, 20, 36);
  rs_store_close(store);
  ck_assert_int_eq(book.messages[0], 0);
}
END_TEST

/* Nothing is kept on disk, but what is there is read. */
START_TEST(a_store_that_is_off_reads_its_packs) {
  char *file = pack_file(fresh(), 10, 12), *dir = fresh();
  for (int later = 0; later < 2; later++) {
    log_book book = {0};
    rs_store *store = rs_store_open(
        &(rs_store_options){.dir = dir, .packs = file, .off_by = "me", .later = later, .log = {note, &book}});
    rs_store_need(store);
    expect_keys(store, 10, 12);
    ck_assert(!put(store, "key", "text") && !exists(dir));
    ck_assert_str_eq(rs_store_why(store), "turned off by me");
    ck_assert_int_eq(book.messages[0], 0);
    rs_store_close(store);
  }
}
END_TEST

/* A pack that is linked in. */
typedef struct linked {
  unsigned char *pack; /* NULL: there is none */
  size_t bytes;
  int asked;
} linked;

static bool read_linked(void *user, void *to, uint64_t offset, size_t bytes) {
  linked *own = user;
  ck_assert(offset <= own->bytes && bytes <= own->bytes - offset);
  memcpy(to, own->pack + offset, bytes);
  return true;
}

static bool give_linked(void *user, rs_source *pack) {
  linked *own = user;
  own->asked++;
  *pack = (rs_source){read_linked, own, own->bytes};
  return own->pack;
}

static rs_store *open_linked(linked *own, const char *packs, log_book *book) {
  rs_store *store = rs_store_open(&(rs_store_options){
      .dir = fresh(), .packs = packs, .built_in = give_linked, .built_in_user = own, .log = {note, book}});
  ck_assert_ptr_nonnull(store);
  return store;
}

/* It is asked for once, with the first miss, and comes after the directory and the packs, of which "off" is said. */
START_TEST(a_pack_is_linked_in) {
  static const char *const packs[] = {"off", NULL};
  char *file = pack_file(fresh(), 2, 3);
  for (size_t i = 0; i < 2; i++) {
    linked own = {.pack = make_pack(SMALL, &own.bytes)};
    log_book book = {0};
    rs_store *store = open_linked(&own, i ? file : packs[i], &book);
    ck_assert(put(store, "mine", "text") && has(store, "mine", "text"));
    ck_assert_int_eq(own.asked, 0);
    for (int key = 0; key < SMALL + 2; key++)
      ck_assert_int_eq(has(store, key_of(key), path_of("of %s", key_of(key))), key < SMALL);
    ck_assert_int_eq(own.asked, 1);
    ck_assert_str_eq(rs_store_pack_of(store, key_of(2)), i ? file : "inside of the library");
    ck_assert_str_eq(rs_store_pack_of(store, key_of(1)), "inside of the library");
    ck_assert_int_eq(book.messages[0], 0);
    rs_store_close(store);
    free(own.pack);
  }
}
END_TEST

START_TEST(a_pack_that_is_linked_in_is_not_trusted) {
  linked own = {.pack = make_pack(SMALL, &own.bytes)}, none = {0};
  log_book book = {0};
  rs_store *store = open_linked(&none, "off", &book);
  ck_assert(!has(store, key_of(0), "") && !has(store, key_of(1), ""));
  ck_assert_int_eq(none.asked, 1);
  ck_assert_int_eq(book.messages[0], 0);
  rs_store_close(store);
  own.pack[own.bytes - 1] ^= 1;
  store = open_linked(&own, "off", &book);
  ck_assert(!has(store, key_of(0), "") && !has(store, key_of(1), ""));
  ck_assert_ptr_nonnull(strstr(book.last, "the kernels inside of the library are not used: its digest differs"));
  rs_store_close(store);
  free(own.pack);
}
END_TEST

/* Wherever the entries are, they make the same pack. The directory's goes first, unless it is damaged. */
START_TEST(an_export_has_what_packs_have) {
  char *one = pack_file(fresh(), 2, 6), *two = pack_file(fresh(), 4, 9);
  rs_store *all = filled(9), *own = open_with(path_of("%s:%s", one, two), NULL, NULL);
  for (int i = 0; i < 3; i++)
    ck_assert(put(own, key_of(i), path_of("of %s", key_of(i))));
  size_t bytes[2];
  void *packs[] = {export_all(all, 9, &bytes[0]), export_all(own, 9, &bytes[1])};
  ck_assert(bytes[0] == bytes[1] && !memcmp(packs[0], packs[1], bytes[0]));
  free(packs[1]);
  spill(entry_path(rs_store_path(own), key_of(2)), "garbage", 7);
  packs[1] = export_all(own, 9, &bytes[1]);
  ck_assert(bytes[0] == bytes[1] && !memcmp(packs[0], packs[1], bytes[0]));
  free(packs[1]);
  spill(entry_path(rs_store_path(own), key_of(1)), "garbage", 7);
  free(export_all(own, 8, &bytes[1]));
  rs_store_close(own);
  rs_store *none = rs_store_open(&(rs_store_options){.packs = two, .off_by = "me"});
  free(export_all(none, 5, &bytes[1]));
  rs_store_close(none);
  free(packs[0]);
  rs_store_close(all);
}
END_TEST

START_TEST(a_directory_goes_before_its_packs) {
  char *file = pack_file(fresh(), 10, 12);
  rs_store *store = open_with(file, NULL, NULL);
  ck_assert(put(store, key_of(10), "newer") && has(store, key_of(10), "newer"));
  spill(entry_path(rs_store_path(store), key_of(10)), "garbage", 7);
  expect_keys(store, 10, 12);
  rs_store_remove(store, key_of(10));
  int64_t removed;
  ck_assert(rs_store_clear(store, &removed, NULL));
  expect_keys(store, 10, 12);
  rs_store_close(store);
  char *nowhere = fresh();
  spill(nowhere, "", 0);
  store = rs_store_open(&(rs_store_options){.dir = nowhere, .packs = file});
  ck_assert_str_eq(rs_store_path(store), "");
  expect_keys(store, 10, 12);
  rs_entry entry;
  ck_assert(rs_store_get_stem(store, "op=sum\nlength=5\n", NULL, &entry));
  rs_entry_free(&entry);
  ck_assert(!rs_store_get_stem(store, "op=sum\nlength=6\n", NULL, &entry) && !entry.memory);
  rs_store_close(store);
}
END_TEST

static int unused;

static void expect_unused(const char *packs, const char *why) {
  log_book book = {0};
  int before = descriptors();
  rs_store *store = open_with(packs, NULL, &book);
  ck_assert_int_eq(rs_store_packs(store, NULL), 0);
  ck_assert_msg(book.messages[0] == 1 && strstr(book.last, why), "%s: %s, not %s", packs ? packs : "", book.last, why);
  ck_assert_str_eq(rs_store_unused(store), path_of(" (%s)", book.last));
  expect_keys(store, 1, 1);
  ck_assert(put(store, "key", "text") && has(store, "key", "text"));
  rs_store_close(store);
  ck_assert_int_eq(descriptors(), before);
  unused++;
}

START_TEST(packs_that_are_not_to_be_trusted_are_not_read) {
  char *file = pack_file(fresh(), 1, 5), *fifo = fresh(), *dir = fresh();
  ck_assert_int_eq(mkfifo(fifo, 0600), 0);
  ck_assert_int_eq(mkdir(dir, 0700), 0);
  expect_unused(fifo, "not a regular file");
  expect_unused("/dev/zero", "not a regular file");
  expect_unused(fresh(), "there is no such file");
  setenv("ROWSCAN_CACHE_PACKS", "relative.pack", 1);
  expect_unused(NULL, "ROWSCAN_CACHE_PACKS: relative.pack: not an absolute path");
  setenv("ROWSCAN_CACHE_PACKS", path_of("%s/../pack", file), 1);
  expect_unused(NULL, "not an absolute path without \"..\"");
  pack_file(path_of("%s/a.pack", dir), 1, 5);
  ck_assert_int_eq(chmod(dir, 0770), 0);
  expect_unused(dir, "writable by others");
  ck_assert_int_eq(chmod(dir, 0700), 0);
  ck_assert_int_eq(chmod(path_of("%s/a.pack", dir), 0660), 0);
  expect_unused(dir, "a.pack is not used: writable by others");
  ck_assert_int_eq(chmod(file, 0666), 0);
  expect_unused(file, "writable by others");
  ck_assert_int_eq(chmod(file, 0400), 0);
  rs_store *store = open_with(file, NULL, NULL);
  expect_keys(store, 1, 5);
  rs_store_close(store);
  if (geteuid() == 0) {
    ck_assert_int_eq(chown(file, 65534, 65534), 0);
    expect_unused(file, "owned by another user");
  }
  printf("%d packs that are not to be trusted, none read\n", unused);
}
END_TEST

START_TEST(of_packs_that_are_not_used_a_few_are_named) {
  char *packs = path_of("/no/1.pack:/no/2.pack:/no/3.pack:/no/4.pack:%s", pack_file(fresh(), 1, 5));
  rs_store *store = open_with(packs, NULL, NULL);
  ck_assert_int_eq(rs_store_packs(store, NULL), 1);
  ck_assert_str_eq(rs_store_unused(store), " (pack /no/1.pack is not used: there is no such file; pack /no/2.pack is "
                                           "not used: there is no such file; pack /no/3.pack is not used: there is no "
                                           "such file)");
  rs_store_close(store);
  store = open_with("off", NULL, NULL);
  ck_assert_str_eq(rs_store_unused(store), "");
  rs_store_close(store);
}
END_TEST

/* ---- packs behind links ------------------------------------------------------------------------------------------ */

/*
 * Relative names from here on: all above would be looked at, whoever's it is. The working directory is one that has
 * `volume`, as Kubernetes mounts one: a date has the pack, ..data is a link to that, x.pack one to ..data/x.pack.
 */
static void make_volume(void) {
  ck_assert_int_eq(chdir(parent_of(fresh())), 0);
  ck_assert(mkdir("volume", 0755) == 0 && mkdir("volume/..2024", 0755) == 0);
  pack_file("volume/..2024/x.pack", 1, 5);
  ck_assert(chmod("volume/..2024/x.pack", 0644) == 0 && symlink("..2024", "volume/..data") == 0);
  ck_assert_int_eq(symlink("..data/x.pack", "volume/x.pack"), 0);
}

static void expect_used(const char *packs, int first, int end) {
  log_book book = {0};
  int before = descriptors();
  rs_store *store = open_with(packs, NULL, &book);
  ck_assert_msg(!book.messages[0], "%s", book.last);
  expect_keys(store, first, end);
  rs_store_close(store);
  ck_assert_int_eq(descriptors(), before);
}

START_TEST(links_are_followed_to_what_is_trusted) {
  make_volume();
  expect_used("volume", 1, 5);
  expect_used("volume/x.pack", 1, 5);
  expect_used("volume/../volume/./x.pack", 1, 5);
  ck_assert_int_eq(symlink("../volume//..data/../x.pack", "volume/..2024/back.pack"), 0); /* ..data is followed */
  expect_unused("volume/..2024/back.pack", "there is no such file");
  ck_assert(unlink("volume/..2024/back.pack") == 0 && symlink("volume/x.pack", "link.pack") == 0);
  expect_used("link.pack", 1, 5);
  rs_store *store = open_at(fresh());
  rs_store_imported sum;
  ck_assert_ptr_null(rs_store_import_file(store, "link.pack", &sum));
  ck_assert_int_eq(sum.added, 4);
  rs_store_close(store);
  /* What the volume has next is there at once, or not yet. */
  ck_assert_int_eq(mkdir("volume/..2025", 0755), 0);
  pack_file("volume/..2025/x.pack", 5, 8);
  store = open_with("volume", NULL, NULL);
  ck_assert(symlink("..2025", "volume/..new") == 0 && rename("volume/..new", "volume/..data") == 0);
  remove_tree("volume/..2024");
  expect_keys(store, 1, 5);
  rs_store_close(store);
  expect_used("volume", 5, 8);
}
END_TEST

START_TEST(links_are_not_followed_to_what_is_not_trusted) {
  static const char others_may_write[] = "a symbolic link through a directory that is writable by others";
  static const char *const folders[] = {".", "volume", "volume/..2024"};
  make_volume();
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(chmod(folders[i], 0777), 0);
    expect_unused("volume/x.pack", others_may_write);
    ck_assert_int_eq(chmod(folders[i], 01777), 0);
    expect_used("volume/x.pack", 1, 5);
    ck_assert_int_eq(chmod(folders[i], 0755), 0);
  }
  ck_assert_int_eq(chmod("volume/..2024/x.pack", 0664), 0);
  expect_unused("volume/x.pack", "x.pack is not used: writable by others");
  ck_assert(rename("volume/..2024/x.pack", "volume/..2024/y") == 0);
  expect_unused("volume/x.pack", "there is no such file");
  ck_assert(symlink("x.pack", "volume/..2024/x.pack") == 0);
  expect_unused("volume/x.pack", "a symbolic link that cannot be followed");
  static const char *const no_files[] = {"/", "volume", "/dev/null", "fifo"};
  ck_assert_int_eq(mkfifo("fifo", 0600), 0);
  for (int i = 0; i < 4; i++) {
    ck_assert_int_eq(symlink(no_files[i], "link.pack"), 0);
    expect_refused("link.pack", i ? "not a regular file" : "there is no such file");
    ck_assert_int_eq(unlink("link.pack"), 0);
  }
}
END_TEST

START_TEST(links_of_others_are_not_followed) {
  static const char *const links[] = {"volume/x.pack", "volume/..data"};
  static const char *const folders[] = {"volume", "volume/..2024"};
  if (geteuid() != 0)
    return;
  make_volume();
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(lchown(links[i], 65534, 65534), 0);
    expect_unused("volume/x.pack", "a symbolic link of another user");
    ck_assert_int_eq(lchown(links[i], 0, 0), 0);
    ck_assert_int_eq(chown(folders[i], 65534, 65534), 0);
    expect_unused("volume/x.pack", "a symbolic link through a directory of another user");
    ck_assert_int_eq(chown(folders[i], 0, 0), 0);
  }
  ck_assert_int_eq(chown("volume/..2024/x.pack", 65534, 65534), 0);
  expect_unused("volume/x.pack", "owned by another user");
}
END_TEST

static bool map_user(const char *file, unsigned id) {
  char line[64];
  int length = snprintf(line, sizeof line, "%u %u 1", id, id), fd = open(file, O_WRONLY);
  bool written = fd >= 0 && write(fd, line, (size_t)length) == length;
  if (fd >= 0)
    close(fd);
  return written;
}

/* A volume of Kubernetes is writable by all, and mounted to be read. 2: a mount is more than this machine allows. */
static int reads_a_mount(void) {
  uid_t user = geteuid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !map_user("/proc/self/uid_map", user) ||
      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("volume", "volume", NULL, MS_BIND, NULL) != 0)
    return 2;
  rs_store *store = rs_store_open(&(rs_store_options){.packs = "volume", .off_by = "me"});
  int before = rs_store_packs(store, NULL);
  rs_store_close(store);
  if (mount(NULL, "volume", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
    return 2;
  store = rs_store_open(&(rs_store_options){.packs = "volume", .off_by = "me"});
  int after = rs_store_packs(store, NULL);
  rs_store_close(store);
  return before != 0 || after != 1;
}

START_TEST(a_volume_that_all_may_write_is_read_where_it_is_mounted_to_be_read) {
  make_volume();
  ck_assert_int_eq(chmod("volume", 0777), 0);
  pid_t child = fork();
  if (child == 0)
    _exit(reads_a_mount());
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != 1);
  if (WEXITSTATUS(status) == 2)
    printf("no mounts here: packs of one were not tried\n");
}
END_TEST

/* ---- packs of others --------------------------------------------------------------------------------------------- */

/* What is installed is root's. */
static int read_as_nobody(const char *file) {
  if (setgid(65534) != 0 || setuid(65534) != 0)
    return 1;
  rs_store *store = rs_store_open(&(rs_store_options){.dir = "/nowhere", .packs = file});
  int status = rs_store_packs(store, NULL) == 1 && hits(store, key_of(2)) ? 0 : 2;
  rs_store_close(store);
  return status;
}

START_TEST(packs_of_root_are_read_by_all) {
  char *file = pack_file(fresh(), 1, 5);
  if (geteuid() != 0)
    return;
  char *open_to_all = path_of("/tmp/test_pack.%ld.pack", (long)getpid());
  pack_file(open_to_all, 1, 5);
  ck_assert_int_eq(chmod(open_to_all, 0644), 0);
  pid_t child = fork();
  if (child == 0)
    _exit(read_as_nobody(open_to_all));
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  unlink(open_to_all);
  unlink(file);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(damage_in_a_pack_is_told_and_counted) {
  char *file = pack_file(fresh(), 1, 5);
  size_t count;
  unsigned char *bytes = slurp(file, &count);
  bytes[RS_PACK_HEADER + 40] ^= 1;
  spill(file, bytes, count);
  log_book book = {0};
  rs_store *store = open_with(file, NULL, &book);
  ck_assert_int_eq(book.messages[0], 0);
  int served_keys = 0;
  for (int i = 1; i < 5; i++)
    served_keys += has(store, key_of(i), path_of("of %s", key_of(i)));
  ck_assert_int_eq(served_keys, 3);
  ck_assert_int_eq(book.messages[0], 1);
  ck_assert_ptr_nonnull(strstr(book.last, path_of("an entry of pack %s is not used: its digest differs", file)));
  rs_store_counts mine;
  rs_store_counted(store, &mine, NULL);
  ck_assert_int_eq(mine.of[RS_COUNT_damaged], 1);
  rs_store_close(store);
  /* Another pack has it. */
  store = open_with(path_of("%s:%s", file, pack_file(fresh(), 1, 5)), NULL, NULL);
  expect_keys(store, 1, 5);
  rs_store_close(store);
  bytes[count - 1] ^= 1;
  spill(file, bytes, count);
  expect_unused(file, "its digest differs, or it is truncated");
  spill(file, bytes, 0);
  expect_unused(file, "truncated");
  free(bytes);
}
END_TEST

/* In the order of the packs, each with its file and, damaged or not, its name. */
typedef struct packs_book {
  const char *const *files;
  int entries, damaged, stop_after;
  const char *damaged_key;
} packs_book;

static int note_packed(void *user, const rs_store_item *item) {
  packs_book *book = user;
  ck_assert_str_eq(item->pack, book->files[book->entries / 4]);
  ck_assert_int_eq(item->used, 0);
  ck_assert_int_gt(item->bytes, 0);
  ck_assert((item->key == NULL) == (item->damage != NULL));
  char name[RS_ENTRY_NAME], stem[RS_ENTRY_NAME];
  const char *key = item->key ? item->key : book->damaged_key;
  rs_entry_name(key, name);
  rs_entry_name(path_of("%.*s", (int)rs_entry_stem(key), key), stem);
  ck_assert_str_eq(item->name, name);
  ck_assert_str_eq(item->stem, stem);
  if (item->damage) {
    ck_assert_str_eq(item->damage, "its digest differs");
    book->damaged++;
  }
  return ++book->entries == book->stop_after;
}

START_TEST(a_visit_reads_all_entries_of_packs) {
  const char *files[] = {pack_file(fresh(), 1, 5), pack_file(fresh(), 5, 9)};
  size_t count;
  rs_pack pack;
  rs_loaded first;
  const char *damage;
  unsigned char *bytes = slurp(files[1], &count);
  ck_assert_ptr_null(rs_pack_view(&pack, bytes, count));
  ck_assert(rs_pack_load(&pack, 0, &first, &damage));
  packs_book book = {.files = files, .damaged_key = path_of("%s", first.texts.key)};
  size_t at = (size_t)rs_get_number(pack.head + RS_PACK_HEADER + 32, 8);
  free(first.memory);
  rs_pack_close(&pack);
  bytes[at + 40] ^= 1;
  spill(files[1], bytes, count);
  free(bytes);
  log_book log = {0};
  rs_store *store = open_with(path_of("%s:%s", files[0], files[1]), NULL, &log);
  rs_store_visit_packs(store, note_packed, &book);
  ck_assert_int_eq(book.entries, 8);
  ck_assert_int_eq(book.damaged, 1);
  book.entries = 0;
  book.stop_after = 3;
  rs_store_visit_packs(store, note_packed, &book);
  ck_assert_int_eq(book.entries, 3);
  /* Looking is not using, and a directory is no pack. */
  rs_store_counts mine;
  rs_store_counted(store, &mine, NULL);
  ck_assert_int_eq(mine.of[RS_COUNT_damaged], 0);
  ck_assert_int_eq(log.messages[0], 0);
  visit_book own = {0};
  ck_assert(rs_store_visit(store, keep_visit, &own));
  ck_assert_int_eq(own.entries, 0);
  rs_store_close(store);
}
END_TEST

typedef struct reader {
  rs_store *store;
  const char *keys[100], *texts[100];
  int wrong;
} reader;

static void *read_all(void *user) {
  reader *one = user;
  for (int round = 0; round < 20; round++)
    for (int i = 0; i < 100; i++)
      one->wrong += !has(one->store, one->keys[i], one->texts[i]);
  return NULL;
}

START_TEST(threads_read_a_pack_together) {
  enum { THREADS = 4 };
  rs_store *store = open_with(pack_file(fresh(), 0, 100), NULL, NULL);
  static reader readers[THREADS];
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++) {
    readers[t].store = store;
    for (int i = 0; i < 100; i++) {
      readers[t].keys[i] = key_of((i + 25 * t) % 100);
      readers[t].texts[i] = path_of("of %s", readers[t].keys[i]);
    }
  }
  for (int t = 0; t < THREADS; t++)
    ck_assert_int_eq(pthread_create(&threads[t], NULL, read_all, &readers[t]), 0);
  for (int t = 0; t < THREADS; t++) {
    pthread_join(threads[t], NULL);
    ck_assert_int_eq(readers[t].wrong, 0);
  }
  rs_store_close(store);
}
END_TEST

int main(void) {
  lot_tell();
  Suite *suite = suite_create("pack");
  TCase *packs = add_case(suite, "packs");
  tcase_set_tags(packs, "alone");
  tcase_add_test(packs, all_that_was_added_is_found);
  tcase_add_test(packs, the_format_is_as_written_down);
  tcase_add_test(packs, a_stem_finds_whatever_the_last_line_says);
  tcase_add_test(packs, a_damaged_entry_hides_no_other_of_its_stem);

  TCase *damage = add_case(suite, "damage");
  tcase_set_tags(damage, "alone");
  tcase_add_test(damage, every_flipped_byte_is_a_miss);
  tcase_add_test(damage, every_other_length_is_a_miss);
  tcase_add_test(damage, a_file_cut_short_while_it_is_open_is_a_miss);
  tcase_add_test(damage, a_right_digest_excuses_nothing);
  tcase_add_test(damage, what_is_no_pack_is_refused);

  TCase *moves = add_case(suite, "export and import");
  tcase_set_tags(moves, "alone");
  lot_add_loop_test(moves, what_was_exported_is_imported, 0, 1);
  tcase_add_test(moves, a_pack_in_memory_takes_its_bytes);
#ifdef HAVE_LIMITED_MEMORY
  tcase_add_test(moves, making_a_pack_takes_twice_its_bytes);
#endif
  tcase_add_test(moves, only_what_is_taken_and_sound_is_exported);
  tcase_add_test(moves, an_import_heals_what_is_damaged);
  tcase_add_test(moves, of_a_damaged_pack_the_sound_entries_are_imported);
  tcase_add_test(moves, without_a_directory_nothing_is_kept);
  lot_add_loop_test(moves, an_import_keeps_the_limit, 0, 1);

  TCase *sparse = add_case(suite, "holes");
  tcase_set_tags(sparse, "alone");
  lot_add_loop_test(sparse, a_pack_of_holes_takes_no_memory, 0, HOLLOW);
  lot_add_loop_test(sparse, an_entry_of_holes_takes_no_memory, 0, 1);
  tcase_add_test(sparse, a_large_index_is_checked_in_pieces);

  TCase *files = add_case(suite, "files");
  tcase_set_tags(files, "alone");
  tcase_add_test(files, a_file_of_a_pack_appears_as_a_whole);
  tcase_add_test(files, what_is_left_beside_a_pack_is_swept);
  tcase_add_test(files, what_is_not_to_be_trusted_is_not_imported);

  TCase *tier = add_case(suite, "packs beside a store");
  tcase_add_test(tier, a_store_reads_its_packs);
  tcase_add_test(tier, keys_of_packs_are_visited_by_turns);
  tcase_add_test(tier, a_directory_goes_before_its_packs);
  tcase_add_test(tier, a_store_that_is_off_reads_its_packs);
  tcase_add_test(tier, a_pack_is_linked_in);
  tcase_add_test(tier, a_pack_that_is_linked_in_is_not_trusted);
  tcase_add_test(tier, an_export_has_what_packs_have);
  tcase_add_test(tier, packs_that_are_not_to_be_trusted_are_not_read);
  tcase_add_test(tier, of_packs_that_are_not_used_a_few_are_named);
  tcase_add_test(tier, links_are_followed_to_what_is_trusted);
  tcase_add_test(tier, links_are_not_followed_to_what_is_not_trusted);
  tcase_add_test(tier, links_of_others_are_not_followed);
  tcase_add_test(tier, a_volume_that_all_may_write_is_read_where_it_is_mounted_to_be_read);
  tcase_add_test(tier, packs_of_root_are_read_by_all);
  tcase_add_test(tier, damage_in_a_pack_is_told_and_counted);
  tcase_add_test(tier, a_visit_reads_all_entries_of_packs);
  tcase_add_test(tier, threads_read_a_pack_together);
  return run_suite(suite);
}
