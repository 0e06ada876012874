/*
 * test_build.c - source to PTX and CUBIN, with a compiler of our own making
 * SPDX-License-Identifier: MIT
 */
#include "../support/cache_help.h"

#include <pthread.h>
#include <sys/wait.h>

#include "../support/fake_nvrtc.h"
#include "compile/bounds.h"
#include "compile/build.h"
#include "compile/compile.h"
#include "compile/digest.h"
#include "compile/facts.h"
#include "compile/key.h"

/* ---- what the tests share ---------------------------------------------------------------------------------------- */

static const char canonical[] = "op=sum\nlength=7\n";
static const char source[] = "// a sum\n#include \"row.cuh\"\nint x;\n";
static const char mistaken[] = "// a sum\nmistake\n";

/* NULL: with no directory. */
static rs_builder *open_builder(const char *dir) {
  rs_store *store = rs_store_open(&(rs_store_options){.dir = dir, .off_by = dir ? NULL : "the program"});
  rs_builder *builder = rs_builder_open(store, make_compiler(13000), NULL);
  ck_assert_ptr_nonnull(builder);
  return builder;
}

static void check_binary(const rs_binary *binary, const char *text, int arch) {
  ck_assert_msg(is_made_from(binary, text, arch), "%s", binary->ptx);
  ck_assert_int_eq(((const char *)binary->cubin)[binary->cubin_bytes], 0);
  ck_assert_uint_eq((uintptr_t)binary->cubin % 16, 0);
  ck_assert_uint_eq((uintptr_t)binary->ptx % 16, 0);
  ck_assert(binary->milliseconds >= 0 && binary->milliseconds < 100000);
}

/* Builds, checks and frees; returns whether it was cached. */
static bool build_text(rs_builder *builder, const char *text, int arch, bool anew) {
  rs_binary binary;
  rowscan_status status = rs_build(builder, &binary, canonical, text, arch, anew);
  ck_assert_msg(status == ROWSCAN_OK, "%s", rowscan_last_error());
  check_binary(&binary, text, arch);
  bool cached = binary.cached;
  rs_binary_free(&binary);
  ck_assert_ptr_null(binary.ptx);
  return cached;
}

static void check_counts(rs_builder *builder, int64_t hit, int64_t missed, int64_t compiled) {
  rs_store_counts counts;
  rs_store_counted(rs_builder_store(builder), &counts, NULL);
  ck_assert_int_eq(counts.of[RS_COUNT_hits], hit);
  ck_assert_int_eq(counts.of[RS_COUNT_misses], missed);
  ck_assert_int_eq(counts.of[RS_COUNT_compiles], compiled);
}

static char *key_text(const char *text, int arch) {
  rs_text key = {0};
  rs_key_print(&(rs_key){canonical, text, arch, rs_compile_options, compiler_id}, &key);
  char *copy = path_of("%s", key.data);
  rs_text_free(&key);
  return copy;
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

START_TEST(facts_are_read_from_logs) {
  rs_text rest = {0};
  /* of NVRTC 13.0 */
  rs_facts facts =
      rs_facts_from_log("ptxas info    : 0 bytes gmem\n"
                        "rowscan.cu(3): warning #177-D: variable \"v\" was declared but never referenced\n"
                        "ptxas info    : Compiling entry function 'k2' for 'sm_90'\n"
                        "ptxas info    : Function properties for k2\n"
                        "ptxas         .     256 bytes stack frame, 232 bytes spill stores, 456 bytes spill loads\n"
                        "ptxas info    : Used 32 registers, used 1 barriers, 264 bytes cumulative stack size\n"
                        "ptxas info    : Compile time = 129.163 ms\n"
                        "ptxas info    : Compiling entry function 'k1' for 'sm_90'\n"
                        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 8 bytes spill loads\n"
                        "ptxas info    : Used 112 registers, used 1 barriers, 1024 bytes smem\n"
                        "ptxas info    : Used 12 registers, used 1 barriers, 16 bytes smem",
                        &rest);
  ck_assert_int_eq(facts.registers, 112);
  ck_assert_int_eq(facts.shared_bytes, 1024);
  ck_assert_int_eq(facts.local_bytes, 264);
  ck_assert_int_eq(facts.spill_bytes, 688);
  ck_assert_str_eq(rest.data, "rowscan.cu(3): warning #177-D: variable \"v\" was declared but never referenced\n");
  rs_text_free(&rest);
  /* of NVRTC 11.8 */
  facts = rs_facts_from_log("ptxas info    : Used 30 registers\n", &rest);
  ck_assert_int_eq(facts.registers, 30);
  ck_assert_ptr_null(rest.data);
  /* what is not the assembler's is not believed */
  facts = rs_facts_from_log(
      "rowscan.cu(1): error: 99 registers, 99 bytes smem\n\nptxas info    : Used 99999999999 registers\n", &rest);
  ck_assert_int_eq(facts.shared_bytes, 0);
  ck_assert_str_eq(rest.data, "rowscan.cu(1): error: 99 registers, 99 bytes smem\n");
  rs_text_free(&rest);
}
END_TEST

static const char good_facts[] =
    "registers=255\nshared_bytes=232448\nlocal_bytes=0\nspill_bytes=2147483647\nfewer_blocks=2\ncompile_us=34567\n";

START_TEST(facts_are_text) {
  rs_facts facts = {255, 232448, 0, 2147483647, 2, 34567}, read = {0};
  rs_text text = {0};
  rs_facts_print(&facts, &text);
  ck_assert_str_eq(text.data, good_facts);
  ck_assert(rs_facts_parse(&read, text.data));
  ck_assert_mem_eq(&facts, &read, sizeof facts);
  rs_text_free(&text);
}
END_TEST

START_TEST(no_other_text_is_facts) {
  static const char *const bad[] = {
      "",
      "registers=1\nshared_bytes=1\nlocal_bytes=1\nspill_bytes=1\ncompile_us=1\n",
      "registers=1\nshared_bytes=1\nlocal_bytes=1\nspill_bytes=1\n",
      "registers=1\nshared_bytes=1\nlocal_bytes=1\nspill_bytes=1\nfewer_blocks=0\ncompile_us=1",
      "registers=1\nshared_bytes=1\nlocal_bytes=1\nspill_bytes=1\nfewer_blocks=0\ncompile_us=1\n\n",
      "registers=1\nshared_bytes=1\nspill_bytes=1\nlocal_bytes=1\nfewer_blocks=0\ncompile_us=1\n",
      "registers=01\nshared_bytes=1\nlocal_bytes=1\nspill_bytes=1\nfewer_blocks=0\ncompile_us=1\n",
      "registers= 1\nshared_bytes=1\nlocal_bytes=1\nspill_bytes=1\nfewer_blocks=0\ncompile_us=1\n",
      "registers=+1\nshared_bytes=1\nlocal_bytes=1\nspill_bytes=1\nfewer_blocks=0\ncompile_us=1\n",
      "registers=-1\nshared_bytes=1\nlocal_bytes=1\nspill_bytes=1\nfewer_blocks=0\ncompile_us=1\n",
      "registers=\nshared_bytes=1\nlocal_bytes=1\nspill_bytes=1\nfewer_blocks=0\ncompile_us=1\n",
      "registers=1\nshared_bytes=2147483648\nlocal_bytes=1\nspill_bytes=1\nfewer_blocks=0\ncompile_us=1\n",
      "registers=1\nshared_bytes=1\nlocal_bytes=99999999999999999999\nspill_bytes=1\nfewer_blocks=0\ncompile_us=1\n"};
  rs_facts facts = {1, 2, 3, 4, 5, 6};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    ck_assert_msg(!rs_facts_parse(&facts, bad[i]), "%s", bad[i]);
  ck_assert_int_eq(facts.registers, 1);
  char text[sizeof good_facts];
  for (size_t i = 0; i + 1 < sizeof good_facts; i++) {
    memcpy(text, good_facts, sizeof text);
    text[i] = 0;
    ck_assert(!rs_facts_parse(&facts, text));
    text[i] = (char)(good_facts[i] ^ 0x40);
    ck_assert(!rs_facts_parse(&facts, text));
  }
}
END_TEST

/* ---- keys -------------------------------------------------------------------------------------------------------- */

START_TEST(a_key_is_golden) {
  ck_assert_str_eq(key_text("int x;\n", 90), path_of("op=sum\n"
                                                     "length=7\n"
                                                     "format=4\n"
                                                     "version=%s\n"
                                                     "kernels=%s\n"
                                                     "source=32bba88a794f0032b574aa6a6b7d6a5b\n"
                                                     "arch=sm_90\n"
                                                     "option=--std=c++17\n"
                                                     "option=--fmad=false\n"
                                                     "nvrtc=0123456789abcdef\n",
                                                     ROWSCAN_VERSION_STRING, rs_kernels_digest));
}
END_TEST

START_TEST(every_part_of_a_key_counts) {
  static const char *const options[] = {"-a", "-b", NULL}, *const swapped[] = {"-b", "-a", NULL},
                           *const fewer[] = {"-a", NULL};
  const rs_key keys[] = {{"a=1\n", "s", 90, options, "id"}, {"a=2\n", "s", 90, options, "id"},
                         {"a=1\n", "t", 90, options, "id"}, {"a=1\n", "s", 91, options, "id"},
                         {"a=1\n", "s", 90, swapped, "id"}, {"a=1\n", "s", 90, fewer, "id"},
                         {"a=1\n", "s", 90, options, "ie"}, {"", "s", 90, options, "id"}};
  enum { KEYS = sizeof keys / sizeof *keys };
  rs_text text[KEYS] = {0};
  for (int i = 0; i < KEYS; i++) {
    rs_key_print(&keys[i], &text[i]);
    for (int j = 0; j < i; j++)
      ck_assert_str_ne(text[i].data, text[j].data);
  }
  rs_text same = {0};
  rs_key_print(&(rs_key){"a=1", "s", 90, options, "id"}, &same);
  ck_assert_str_eq(same.data, text[0].data);
  rs_text_free(&same);
  for (int i = 0; i < KEYS; i++)
    rs_text_free(&text[i]);
}
END_TEST

/* The differences as text: "field: asked -> found; ...". */
static const char *differences_of(const char *asked, const char *found) {
  rs_key_fields a, b;
  rowscan_cache_difference list[2 * RS_KEY_FIELDS];
  char *text = path_of("%s", "");
  ck_assert(rs_key_cut(&a, asked) && rs_key_cut(&b, found));
  int count = rs_key_differences(&a, &b, list);
  ck_assert_int_eq(rs_key_differences(&a, &b, NULL), count);
  for (int i = 0; i < count; i++)
    text = path_of("%s%s: %s -> %s; ", text, list[i].field, list[i].asked ? list[i].asked : "none",
                   list[i].found ? list[i].found : "none");
  rs_key_fields_free(&a);
  rs_key_fields_free(&b);
  return text;
}

START_TEST(differences_of_keys) {
  ck_assert_str_eq(differences_of("a=1\nb=2\n", "a=1\nb=2\n"), "");
  ck_assert_str_eq(differences_of("a=1\nb=2\n", "a=1\nb=3\n"), "b: 2 -> 3; ");
  ck_assert_str_eq(differences_of("a=1\nb=2\n", "b=2\na=1"), "");
  ck_assert_str_eq(differences_of("a=1\nc=\n", "b=2\nc=1=2\n"), "a: 1 -> none; c:  -> 1=2; b: none -> 2; ");
  ck_assert_str_eq(differences_of("o=x\no=y\nz=1\n", "o=x\nz=1\n"), "o: y -> none; ");
  ck_assert_str_eq(differences_of("o=x\n", "o=y\no=x\n"), "o: x -> y; o: none -> x; ");
  ck_assert_str_eq(differences_of("", "word\n\n"), "word: none -> ; : none -> ; ");
  char many[RS_KEY_FIELDS * 8 * 2] = "", *at = many;
  for (int i = 0; i < 2 * RS_KEY_FIELDS; i++)
    at += sprintf(at, "f%d=1\n", i);
  ck_assert_str_eq(differences_of(many, many), "");
  rs_key_fields a, b;
  rowscan_cache_difference list[2 * RS_KEY_FIELDS];
  ck_assert(rs_key_cut(&a, many) && rs_key_cut(&b, many + 3 * 5 * RS_KEY_FIELDS));
  ck_assert_int_le(rs_key_differences(&a, &b, list), 2 * RS_KEY_FIELDS);
  rs_key_fields_free(&a);
  rs_key_fields_free(&b);
}
END_TEST

/* ---- the cache --------------------------------------------------------------------------------------------------- */

START_TEST(the_second_build_is_a_hit) {
  char *dir = fresh();
  rs_builder *builder = open_builder(dir);
  ck_assert(!build_text(builder, source, 90, false));
  check_counts(builder, 0, 1, 1);
  ck_assert(build_text(builder, source, 90, false));
  check_counts(builder, 1, 1, 1);
  ck_assert(!build_text(builder, source, 80, false));
  ck_assert(!build_text(builder, "int y;\n", 90, false));
  check_counts(builder, 1, 3, 3);
  ck_assert_int_eq(entries_in(rs_builder_store(builder)), 3);
  ck_assert_int_eq(told->wrong, 0);
  rs_builder_close(builder);
}
END_TEST

START_TEST(a_hit_asks_nothing_of_the_compiler) {
  char *dir = fresh();
  rs_builder *builder = open_builder(dir);
  build_text(builder, source, 90, false);
  rs_builder_close(builder);
  told->calls = 0;
  builder = open_builder(dir);
  ck_assert(build_text(builder, source, 90, false));
  check_counts(builder, 1, 0, 0);
  rs_builder_close(builder);
  ck_assert_int_eq(told->calls, 0);
}
END_TEST

START_TEST(without_a_store_the_builder_keeps_some) {
  enum { KEPT = 64 };
  rs_builder *builder = open_builder(NULL);
  for (int i = 0; i <= KEPT; i++)
    ck_assert(!build_text(builder, path_of("int x%d;\n", i), 90, false));
  for (int i = KEPT; i > 0; i--)
    ck_assert(build_text(builder, path_of("int x%d;\n", i), 90, false));
  check_counts(builder, KEPT, KEPT + 1, KEPT + 1);
  ck_assert(!build_text(builder, "int x0;\n", 90, false));
  ck_assert(!build_text(builder, source, 90, true));
  ck_assert(build_text(builder, source, 90, false));
  rs_builder_close(builder);
}
END_TEST

/* With no directory that could keep what replaces an entry that the driver rejected. */
START_TEST(what_replaces_an_entry_of_a_pack_is_made_once) {
  char *file = fresh();
  rs_store_exported sum;
  size_t bytes;
  const char *wrong;
  rs_binary binary;
  rs_builder *builder = open_builder(fresh());
  build_text(builder, source, 90, false);
  void *pack = rs_store_export(rs_builder_store(builder), NULL, NULL, &bytes, &sum, &wrong);
  ck_assert(rs_store_write_pack(file, pack, bytes, NULL));
  free(pack);
  rs_builder_close(builder);
  setenv("ROWSCAN_CACHE_PACKS", file, 1);
  char *nowhere = fresh();
  spill(nowhere, "", 0);
  builder = open_builder(nowhere);
  ck_assert_int_eq(rs_store_packs(rs_builder_store(builder), NULL), 1);
  ck_assert(build_text(builder, source, 90, false));
  check_counts(builder, 1, 0, 0);
  ck_assert(!build_text(builder, source, 90, true));
  check_counts(builder, 1, 0, 1);
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 90, false), ROWSCAN_OK);
  ck_assert(binary.cached && !binary.stored); /* the replacement, not the entry */
  rs_binary_free(&binary);
  check_counts(builder, 2, 0, 1);
  rs_builder_close(builder);
}
END_TEST

/* How long a compile took is another time each time, and no word of it is in a pack. */
START_TEST(a_pack_has_no_times) {
  static const char timeless[] =
      "registers=255\nshared_bytes=232448\nlocal_bytes=0\nspill_bytes=2147483647\nfewer_blocks=2\ncompile_us=0\n";
  rs_text text = {0};
  for (int without = 0; without < 2; without++) {
    rs_part parts[RS_STORE_PARTS] = {{"ptx", 3}, {"cubin", 5}, {good_facts, sizeof good_facts - 1}};
    ck_assert(rs_binary_pack(parts, without, &text));
    ck_assert_str_eq(parts[2].data, timeless);
    ck_assert_uint_eq(parts[2].bytes, sizeof timeless - 1);
    ck_assert_uint_eq(parts[0].bytes, without ? 0 : 3);
    ck_assert_uint_eq(parts[1].bytes, 5);
  }
  rs_part other[RS_STORE_PARTS] = {{"text", 4}, {NULL, 0}, {"no facts", 8}}; /* is left alone */
  ck_assert(rs_binary_pack(other, false, &text));
  ck_assert_str_eq(other[2].data, "no facts");
  rs_text_free(&text);
}
END_TEST

static bool leave_ptx_out(void *user, const char *key, rs_part parts[RS_STORE_PARTS]) {
  (void)key;
  return rs_binary_pack(parts, true, user);
}

/* A builder with a directory of its own, and a pack of an entry whose key has this last line. */
static rs_builder *open_beside_pack(const char *last_line, bool without_ptx, char **dir) {
  static const rs_part parts[RS_STORE_PARTS] = {{"ptx", 3}, {"packed", 6}, {good_facts, sizeof good_facts - 1}};
  char *file = fresh(), *key = key_text(source, 90);
  rs_store_exported sum;
  size_t bytes;
  const char *wrong;
  rs_text facts = {0};
  *strstr(key, "nvrtc=") = 0;
  rs_builder *builder = open_builder(fresh());
  ck_assert(rs_store_put(rs_builder_store(builder), path_of("%s%s\n", key, last_line), parts));
  void *pack =
      rs_store_export(rs_builder_store(builder), without_ptx ? leave_ptx_out : NULL, &facts, &bytes, &sum, &wrong);
  rs_text_free(&facts);
  ck_assert_int_eq(sum.entries, 1);
  ck_assert(rs_store_write_pack(file, pack, bytes, NULL));
  free(pack);
  rs_builder_close(builder);
  setenv("ROWSCAN_CACHE_PACKS", file, 1);
  *dir = fresh();
  return open_builder(*dir);
}

START_TEST(a_pack_serves_whichever_compiler_made_it) {
  char *dir;
  rs_binary binary;
  rs_builder *builder = open_beside_pack("nvrtc=another", false, &dir);
  ck_assert(rs_build_if_cached(builder, &binary, canonical, source, 90));
  ck_assert_str_eq(binary.cubin, "packed");
  rs_binary_free(&binary);
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 90, false), ROWSCAN_OK);
  ck_assert(binary.cached && !strcmp(binary.cubin, "packed") && !strcmp(binary.ptx, "ptx"));
  rs_binary_free(&binary);
  ck_assert(!build_text(builder, "int other;\n", 90, false));
  check_counts(builder, 2, 1, 1);
  ck_assert(!build_text(builder, source, 90, true)); /* what the driver rejected is compiled, and goes before */
  ck_assert(build_text(builder, source, 90, false));
  rs_builder_close(builder);
}
END_TEST

/* Who only loads it has it, who asks for PTX has it compiled, once. */
START_TEST(a_pack_may_have_no_ptx) {
  char *dir;
  rs_binary binary;
  rs_builder *builder = open_beside_pack("nvrtc=another", true, &dir);
  ck_assert_int_eq(rs_build_to_load(builder, &binary, canonical, source, 90), ROWSCAN_OK);
  ck_assert(binary.cached && !strcmp(binary.cubin, "packed") && !binary.ptx && !binary.ptx_bytes);
  rs_binary_free(&binary);
  check_counts(builder, 1, 0, 0);
  ck_assert(!build_text(builder, source, 90, false));
  ck_assert(build_text(builder, source, 90, false));
  check_counts(builder, 2, 1, 1);
  rs_builder_close(builder);
}
END_TEST

START_TEST(a_damaged_entry_is_made_anew) {
  char *dir = fresh(), *path = entry_path(dir, key_text(source, 90));
  rs_builder *builder = open_builder(dir);
  build_text(builder, source, 90, false);
  size_t count;
  unsigned char *bytes = slurp(path, &count);
  bytes[count / 2] ^= 1;
  spill(path, bytes, count);
  ck_assert(!build_text(builder, source, 90, false));
  ck_assert(build_text(builder, source, 90, false));
  spill(path, bytes, count / 3);
  ck_assert(!build_text(builder, source, 90, false));
  ck_assert(build_text(builder, source, 90, false));
  check_counts(builder, 2, 3, 3);
  free(bytes);
  rs_builder_close(builder);
}
END_TEST

START_TEST(an_entry_of_something_else_is_made_anew) {
  static const rs_part others[][RS_STORE_PARTS] = {
      {{"ptx", 3}, {"cubin", 5}, {"registers=many\n", 15}},
      {{"ptx", 3}, {"cubin", 5}, {NULL, 0}},
      {{"ptx", 3}, {NULL, 0}, {good_facts, sizeof good_facts - 1}},
      {{NULL, 0}, {NULL, 0}, {good_facts, sizeof good_facts - 1}},
      {{"ptx", 3}, {"cubin", 5}, {good_facts, sizeof good_facts}},
  };
  rs_builder *builder = open_builder(fresh());
  for (int i = 0; i < 4; i++) {
    ck_assert(rs_store_put(rs_builder_store(builder), key_text(source, 90), others[i]));
    ck_assert(!build_text(builder, source, 90, false));
    ck_assert(build_text(builder, source, 90, false));
  }
  check_counts(builder, 4, 4, 4);
  rs_builder_close(builder);
}
END_TEST

START_TEST(a_fresh_build_replaces_the_entry) {
  const rs_part rejected[RS_STORE_PARTS] = {{"ptx", 3}, {"cubin", 5}, {good_facts, sizeof good_facts - 1}};
  rs_builder *builder = open_builder(fresh());
  rs_binary binary;
  ck_assert(rs_store_put(rs_builder_store(builder), key_text(source, 90), rejected));
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 90, false), ROWSCAN_OK);
  ck_assert_str_eq(binary.ptx, "ptx");
  ck_assert_int_eq(binary.facts.registers, 255);
  ck_assert(binary.cached);
  rs_binary_free(&binary);
  ck_assert(!build_text(builder, source, 90, true));
  ck_assert(build_text(builder, source, 90, false));
  check_counts(builder, 2, 0, 1);
  rs_builder_close(builder);
}
END_TEST

START_TEST(what_may_not_be_compiled_is_told) {
  char *dir = fresh();
  rs_builder *builder = open_builder(dir);
  build_text(builder, source, 90, false);
  rs_builder_forbid(builder, "the boss");
  ck_assert(build_text(builder, source, 90, false));
  told->calls = 0;
  rs_binary binary = {.facts.registers = 77};
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 80, false), ROWSCAN_NOT_CACHED);
  ck_assert_str_eq(rowscan_last_error(),
                   path_of("the kernel is not in the cache (%s), and the boss disables compilation: sm_80", dir));
  check_counts(builder, 1, 2, 1);
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 90, true), ROWSCAN_NOT_CACHED);
  ck_assert_str_eq(rowscan_last_error(),
                   path_of("the driver rejected an entry of the cache (%s), and the boss disables "
                           "compilation: sm_90",
                           dir));
  check_counts(builder, 1, 2, 1);
  ck_assert_int_eq(binary.facts.registers, 77);
  ck_assert_int_eq(told->calls, 0);
  ck_assert_int_eq(entries_in(rs_builder_store(builder)), 1);
  rs_builder_close(builder);
  builder = open_builder(NULL);
  rs_builder_forbid(builder, "the boss");
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 90, false), ROWSCAN_NOT_CACHED);
  ck_assert_str_eq(
      rowscan_last_error(),
      "the kernel is not in the cache (turned off by the program), and the boss disables compilation: sm_90");
  rs_builder_close(builder);
}
END_TEST

START_TEST(what_entries_did_is_counted) {
  char *dir = fresh();
  rs_builder *builder = open_builder(dir);
  rs_store_counts counts;
  told->compile_ms = 20;
  build_text(builder, source, 90, false);
  rs_store_counted(rs_builder_store(builder), &counts, NULL);
  ck_assert_int_eq(counts.of[RS_COUNT_saved_us], 0);
  rs_builder_close(builder);
  builder = open_builder(dir);
  for (int i = 1; i <= 3; i++) {
    ck_assert(build_text(builder, source, 90, false));
    rs_store_counted(rs_builder_store(builder), &counts, NULL);
    ck_assert_int_eq(counts.of[RS_COUNT_hits], i);
    ck_assert_int_ge(counts.of[RS_COUNT_saved_us], i * 20000);
    ck_assert_int_eq(counts.of[RS_COUNT_saved_us] % i, 0); /* that of the entry, each time */
    ck_assert_int_lt(counts.of[RS_COUNT_saved_us], i * 10000000);
  }
  build_text(builder, source, 90, true);
  ck_assert(rs_store_put(rs_builder_store(builder), key_text(source, 90), (rs_part[RS_STORE_PARTS]){{"ptx", 3}}));
  build_text(builder, source, 90, false);
  rs_store_counts all;
  rs_store_counted(rs_builder_store(builder), &counts, &all);
  ck_assert_int_eq(counts.of[RS_COUNT_rejected], 1);
  ck_assert_int_eq(counts.of[RS_COUNT_damaged], 1);
  ck_assert_int_eq(counts.of[RS_COUNT_misses], 1);
  ck_assert_int_eq(counts.of[RS_COUNT_compiles], 2);
  ck_assert_int_eq(all.of[RS_COUNT_misses], 2);
  ck_assert_int_eq(all.of[RS_COUNT_compiles], 3);
  ck_assert_int_eq(all.of[RS_COUNT_hits], 3);
  rs_builder_close(builder);
}
END_TEST

typedef struct diary {
  int lines;
  char line[16][400];
} diary;

static void keep_line(void *user, rowscan_log_level level, const char *message) {
  diary *book = user;
  ck_assert_int_lt(book->lines, 16);
  if (level == ROWSCAN_LOG_DEBUG)
    snprintf(book->line[book->lines++], sizeof book->line[0], "%s", message);
}

/* The next lines are these decisions, each with its time and what it was about. */
static void expect_decisions(diary *book, const char *const *decisions) {
  int at = 0;
  for (; decisions[at]; at++) {
    double milliseconds = -1;
    char *begin = path_of("sm_90: %s in ", decisions[at]);
    ck_assert_msg(at < book->lines && strncmp(book->line[at], begin, strlen(begin)) == 0, "%s, not %s", book->line[at],
                  begin);
    ck_assert_int_eq(sscanf(book->line[at] + strlen(begin), "%lf", &milliseconds), 1);
    ck_assert(milliseconds >= (strcmp(decisions[at], "compiled") ? 0 : 20) && milliseconds < 10000);
    ck_assert_ptr_nonnull(strstr(book->line[at], " ms: op=sum length=7"));
  }
  ck_assert_int_eq(book->lines, at);
  book->lines = 0;
}

START_TEST(each_decision_is_told) {
  char *dir = fresh();
  diary book = {0};
  rs_log log = {keep_line, &book};
  told->compile_ms = 20;
  rs_builder *builder = rs_builder_open(rs_store_open(&(rs_store_options){.dir = dir}), make_compiler(13000), &log);
  build_text(builder, source, 90, false);
  expect_decisions(&book, (const char *[]){"not found in the cache", "compiled", "kept on disk", NULL});
  build_text(builder, source, 90, false);
  expect_decisions(&book, (const char *[]){"read from the cache", NULL});
  build_text(builder, source, 90, true);
  expect_decisions(&book, (const char *[]){"compiled", "kept on disk", NULL});
  rs_binary binary;
  ck_assert_int_eq(rs_build(builder, &binary, canonical, mistaken, 90, false), ROWSCAN_COMPILE_FAILED);
  expect_decisions(&book, (const char *[]){"not found in the cache", "failed to compile", NULL});
  rs_builder_close(builder);
  builder = rs_builder_open(rs_store_open(&(rs_store_options){.off_by = "the program"}), make_compiler(13000), &log);
  build_text(builder, source, 90, false);
  expect_decisions(&book, (const char *[]){"not found in the cache", "compiled", "not kept on disk", NULL});
  build_text(builder, source, 90, false);
  expect_decisions(&book, (const char *[]){"not found in the cache", "compiled by another thread", NULL});
  rs_builder_close(builder);
}
END_TEST

/* ---- kernels that the assembler is in trouble with --------------------------------------------------------------- */

START_TEST(launch_bounds_are_read) {
  static const char five[] = ".visible .entry rowscan_any(\n)\n.maxntid 128, 1, 1\n.minnctapersm 5\n{\n";
  rs_bounds bounds = rs_bounds_read(five);
  ck_assert_int_eq(bounds.threads, 128);
  ck_assert_int_eq(bounds.blocks, 5);
  static const char *const none[] = {"", ".maxntid 128\n", ".minnctapersm 5\n", ".maxntid 0\n.minnctapersm 5\n"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    bounds = rs_bounds_read(none[i]);
    ck_assert_int_eq(rs_bounds_lower(&bounds, 0), 0);
  }
}
END_TEST

/* A number of blocks that leaves a thread no more registers is left out. */
START_TEST(fewer_blocks_leave_more_registers) {
  static const struct {
    int threads, blocks, lower[8];
  } given[] = {
      {128, 5, {1, 2, 3, 0}},              /* 96, 128, 168, 255 registers, and with one block no more */
      {64, 16, {2, 4, 5, 6, 7, 8, 9, 10}}, /* 64; with 15 blocks 64, with 14 and 13 72, with 12 80 */
      {256, 3, {1, 2, 0}},
      {512, 2, {1, 0}},
      {1024, 1, {0}},
      {32, 1, {0}},
      {32, 20, {0}}, /* blocks of a warp keep their number */
  };
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    rs_bounds bounds = {given[i].threads, given[i].blocks};
    int fewer = 0;
    for (int k = 0; k < 8 && (k == 0 || fewer); k++) {
      fewer = rs_bounds_lower(&bounds, fewer);
      ck_assert_msg(fewer == given[i].lower[k], "%d threads, %d blocks: %d, not %d, as number %d", given[i].threads,
                    given[i].blocks, fewer, given[i].lower[k], k);
    }
  }
}
END_TEST

/* The entry is under the key of the source, and says with how many blocks it was compiled. */
START_TEST(what_spills_is_compiled_with_fewer_blocks) {
  static const char five[] = "RS_KERNEL(128, 5) k() {}\n";
  char *dir = fresh();
  told->roomy = 3;
  for (int i = 0; i < 2; i++) {
    rs_builder *builder = open_builder(dir);
    rs_binary binary;
    ck_assert_int_eq(rs_build(builder, &binary, canonical, five, 90, false), ROWSCAN_OK);
    ck_assert_int_eq(binary.cached, i);
    ck_assert_int_eq(binary.facts.fewer_blocks, 2);
    ck_assert_int_eq(binary.facts.spill_bytes, 0);
    ck_assert_ptr_nonnull(strstr(binary.ptx, " -DRS_FEWER_BLOCKS=2 "));
    ck_assert_int_eq(told->compiles, 3); /* with five, four, three */
    ck_assert_int_eq(told->programs, 0);
    rs_store_counts counts;
    rs_store_counted(rs_builder_store(builder), &counts, NULL);
    ck_assert_int_eq(counts.of[RS_COUNT_compiles], 1 - i);
    char name[RS_STORE_NAME];
    rs_store_name(key_text(five, 90), name);
    ck_assert(rs_store_has(rs_builder_store(builder), name));
    ck_assert_int_eq(entries_in(rs_builder_store(builder)), 1);
    rs_binary_free(&binary);
    rs_builder_close(builder);
  }
}
END_TEST

/* No fewer blocks than the source asks for, if they do not help. */
START_TEST(what_spills_in_any_case_has_its_blocks) {
  rs_builder *builder = open_builder(NULL);
  rs_binary binary;
  told->roomy = -1;
  ck_assert_int_eq(rs_build(builder, &binary, canonical, "RS_KERNEL(128, 5) k() {}\n", 90, false), ROWSCAN_OK);
  ck_assert_int_eq(told->compiles, 4); /* one block leaves no more registers than two */
  ck_assert_int_eq(binary.facts.fewer_blocks, 0);
  ck_assert_int_eq(binary.facts.spill_bytes, 36);
  ck_assert_ptr_null(strstr(binary.ptx, "RS_FEWER_BLOCKS"));
  rs_binary_free(&binary);
  rs_builder_close(builder);
}
END_TEST

START_TEST(what_the_assembler_fails_on_is_optimized_less) {
  static const char text[] = "late mistake, overoptimized: RS_KERNEL(128, 1) k() {}\n";
  rs_builder *builder = open_builder(NULL);
  rs_binary binary;
  told->roomy = 1;
  ck_assert_int_eq(rs_build(builder, &binary, canonical, text, 90, false), ROWSCAN_OK);
  ck_assert_int_eq(told->compiles, 2);
  ck_assert_int_eq(told->programs, 0);
  ck_assert_ptr_nonnull(strstr(binary.ptx, " --ptxas-options=-O1 --ptxas-options=-v"));
  ck_assert_int_eq(binary.facts.registers, 24);
  rs_binary_free(&binary);
  rs_builder_close(builder);
}
END_TEST

/* ---- many at once ------------------------------------------------------------------------------------------------ */

enum { THREADS = 8 };

typedef struct crowd {
  rs_builder *builder;
  pthread_barrier_t start;
  const char *text;
  bool anew, differ;
  atomic_int cached, failed;
} crowd;

typedef struct member {
  crowd *all;
  int number;
  pthread_t thread;
} member;

static void *build_once(void *argument) {
  member *one = argument;
  crowd *all = one->all;
  rs_binary binary;
  const char *text = all->text;
  char own[64];
  if (all->differ) {
    snprintf(own, sizeof own, "int y%d;\n", one->number % 4);
    text = own;
  }
  pthread_barrier_wait(&all->start);
  rowscan_status status = rs_build(all->builder, &binary, canonical, text, 90, all->anew);
  if (status != ROWSCAN_OK) {
    all->failed += status == ROWSCAN_COMPILE_FAILED && strstr(rowscan_last_error(), "there is a mistake") != NULL;
    return NULL;
  }
  all->cached += binary.cached;
  ck_assert_ptr_nonnull(strstr(binary.ptx, text));
  ck_assert_int_eq(binary.facts.registers, 24);
  rs_binary_free(&binary);
  return NULL;
}

static void gather(crowd *all) {
  member members[THREADS];
  pthread_barrier_init(&all->start, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    members[i] = (member){.all = all, .number = i};
    ck_assert_int_eq(pthread_create(&members[i].thread, NULL, build_once, &members[i]), 0);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(members[i].thread, NULL);
  pthread_barrier_destroy(&all->start);
}

/* _i: with no store, and with one. */
START_TEST(one_thread_compiles_for_all) {
  told->compile_ms = 50;
  crowd all = {.builder = open_builder(_i ? fresh() : NULL), .text = source};
  gather(&all);
  ck_assert_int_eq(all.cached, THREADS - 1);
  check_counts(all.builder, THREADS - 1, 1, 1);
  ck_assert_int_eq(told->compiles, 1);
  all.differ = true;
  gather(&all);
  ck_assert_int_eq(told->compiles, 5);
  rs_builder_close(all.builder);
  ck_assert_int_eq(told->programs, 0);
}
END_TEST

START_TEST(a_failure_is_told_to_all) {
  told->compile_ms = 50;
  crowd all = {.builder = open_builder(_i ? fresh() : NULL), .text = mistaken};
  gather(&all);
  ck_assert_int_eq(all.failed, THREADS);
  rs_builder_close(all.builder);
  ck_assert_int_eq(told->programs, 0);
}
END_TEST

START_TEST(fresh_builds_are_never_old) {
  told->compile_ms = 50;
  crowd all = {.builder = open_builder(_i ? fresh() : NULL), .text = source};
  build_text(all.builder, source, 90, false);
  all.anew = true;
  gather(&all);
  ck_assert_int_eq(all.cached, 0);
  ck_assert(told->compiles >= 2 && told->compiles <= 1 + THREADS);
  rs_builder_close(all.builder);
}
END_TEST

/* Half of them to load it. */
START_TEST(one_process_compiles_for_all) {
  enum { PROCESSES = 4 };
  char *dir = fresh();
  told->compile_ms = 100;
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; i++)
    if ((children[i] = fork()) == 0) {
      rs_builder *builder = open_builder(dir);
      rs_binary binary;
      rowscan_status status = i % 2 ? rs_build_to_load(builder, &binary, canonical, source, 90)
                                    : rs_build(builder, &binary, canonical, source, 90, false);
      bool good = status == ROWSCAN_OK && binary.facts.registers == 24 && binary.cubin_bytes;
      good = good && (binary.ptx ? strstr(binary.ptx, source) != NULL : i % 2 == 1);
      rs_binary_free(&binary);
      rs_builder_close(builder);
      _exit(good ? 0 : 1);
    }
  for (int i = 0; i < PROCESSES; i++) {
    int status;
    ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
    ck_assert_int_eq(status, 0);
  }
  ck_assert_int_eq(told->compiles, 1);
}
END_TEST

static void *build_slowly(void *builder) {
  build_text(builder, source, 90, false);
  return NULL;
}

/* NVRTC's locks are held then, for ever in a child: it is told, and does not try. */
START_TEST(forked_while_a_thread_compiles) {
  pthread_t thread;
  rs_builder *builder = open_builder(NULL);
  told->compile_ms = 500;
  ck_assert_int_eq(pthread_create(&thread, NULL, build_slowly, builder), 0);
  while (!told->busy)
    usleep(100);
  pid_t child = fork();
  if (child == 0) {
    rs_binary binary;
    rs_builder *own = open_builder(NULL);
    bool good = rs_build(own, &binary, canonical, source, 80, false) == ROWSCAN_NO_COMPILER &&
                strstr(rowscan_last_error(), "this process was forked while its parent compiled a kernel");
    rs_builder_close(own);
    _exit(good ? 0 : 1);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  pthread_join(thread, NULL);
  ck_assert_int_eq(told->compiles, 1);
  build_text(builder, source, 80, false); /* the parent goes on */
  rs_builder_close(builder);
}
END_TEST

/* ---- failures ---------------------------------------------------------------------------------------------------- */

START_TEST(a_rejected_source_is_shown) {
  char *dir = fresh();
  rs_builder *builder = open_builder(dir);
  rs_binary binary = {.facts.registers = 77};
  ck_assert_int_eq(rs_build(builder, &binary, canonical, mistaken, 90, false), ROWSCAN_COMPILE_FAILED);
  ck_assert_int_eq(binary.facts.registers, 77);
  ck_assert_str_eq(rowscan_last_error(),
                   "NVRTC 13.0 ((a table)) does not compile for sm_90: NVRTC_ERROR_COMPILATION (6)\n"
                   "rowscan.cu(2): error: there is a mistake\n"
                   "\n"
                   "   1  // a sum\n"
                   "   2  mistake");
  check_counts(builder, 0, 1, 1);
  ck_assert_int_eq(entries_in(rs_builder_store(builder)), 0);
  ck_assert_int_eq(told->programs, 0);
  ck_assert_int_eq(rs_build(builder, &binary, canonical, "late mistake", 90, false), ROWSCAN_COMPILE_FAILED);
  ck_assert_ptr_nonnull(
      strstr(rowscan_last_error(), "(6)\nrowscan.cu(2): error: there is a mistake\n\n   1  late mistake"));
  check_counts(builder, 0, 2, 2);
  ck_assert_int_eq(told->programs, 0);
  rs_builder_close(builder);
}
END_TEST

START_TEST(an_unknown_architecture_is_told) {
  rs_builder *builder = open_builder(NULL);
  rs_binary binary;
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 91, false), ROWSCAN_NO_COMPILER);
  ck_assert_str_eq(rowscan_last_error(),
                   "NVRTC 13.0 ((a table)) does not support sm_91; it supports sm_75 sm_80 sm_90 sm_120");
  ck_assert_int_eq(told->compiles, 0);
  check_counts(builder, 0, 1, 0);
  int archs[4], count = 3;
  ck_assert_int_eq(rs_nvrtc_archs(rs_builder_nvrtc(builder), archs, &count), ROWSCAN_BAD_ARGUMENT);
  ck_assert_int_eq(count, 3);
  count = 4;
  ck_assert_int_eq(rs_nvrtc_archs(rs_builder_nvrtc(builder), archs, &count), ROWSCAN_OK);
  ck_assert_int_eq(count, 4);
  ck_assert_mem_eq(archs, known_archs, sizeof archs);
  rs_builder_close(builder);
}
END_TEST

/* A compiler that does not know it is as good as none: what another one made serves. */
START_TEST(an_unknown_architecture_is_served_from_the_cache) {
  static const rs_part made[RS_STORE_PARTS] = {{"ptx", 3}, {"cubin", 5}, {good_facts, sizeof good_facts - 1}};
  rs_builder *builder = open_builder(fresh());
  rs_binary binary;
  rs_text key = {0};
  rs_key_print(&(rs_key){canonical, source, 91, rs_compile_options, "another"}, &key);
  ck_assert(rs_store_put(rs_builder_store(builder), key.data, made));
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 91, false), ROWSCAN_OK);
  ck_assert(binary.cached && binary.stored);
  ck_assert_str_eq(binary.ptx, "ptx");
  rs_binary_free(&binary);
  check_counts(builder, 1, 0, 0);
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 91, true), ROWSCAN_NO_COMPILER);
  check_counts(builder, 1, 0, 0);
  ck_assert_int_eq(told->compiles, 0);
  rs_text_free(&key);
  rs_builder_close(builder);
}
END_TEST

START_TEST(no_compiler_is_told) {
  rs_builder *builder = rs_builder_open(rs_store_open(&(rs_store_options){.off_by = "the program"}),
                                        rs_nvrtc_open("/no/such/libnvrtc.so.13", NULL), NULL);
  rs_binary binary;
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 90, false), ROWSCAN_NO_COMPILER);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "/no/such/libnvrtc.so.13"));
  check_counts(builder, 0, 1, 0);
  rs_builder_close(builder);
}
END_TEST

/* Where none may compile it does not matter that there is none. */
START_TEST(who_forbids_is_told_before_what_is_missing) {
  char *dir = fresh();
  rs_builder *builder = rs_builder_open(rs_store_open(&(rs_store_options){.dir = dir}),
                                        rs_nvrtc_open("/no/such/libnvrtc.so.13", NULL), NULL);
  rs_builder_forbid(builder, "the boss");
  rs_binary binary;
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 90, false), ROWSCAN_NOT_CACHED);
  ck_assert_str_eq(rowscan_last_error(),
                   path_of("the kernel is not in the cache (%s), and the boss disables compilation: sm_90", dir));
  check_counts(builder, 0, 1, 0);
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 90, true), ROWSCAN_NOT_CACHED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "the driver rejected an entry"));
  check_counts(builder, 0, 1, 0);
  rs_builder_close(builder);
}
END_TEST

START_TEST(older_compilers_are_not_told_of_their_cache) {
  rs_compiled compiled;
  rs_nvrtc *nvrtc = make_compiler(12080);
  ck_assert_int_eq(rs_compile(nvrtc, source, 90, &compiled), ROWSCAN_OK);
  ck_assert_ptr_null(strstr(compiled.ptx, "--no-cache"));
  rs_compiled_free(&compiled);
  rs_nvrtc_close(nvrtc);
}
END_TEST

static bool is_in_story(const char *call) {
  /* nvrtcGetPTXSize and nvrtcGetPTX are told as one */
  char name[64];
  snprintf(name, sizeof name, "%s", call);
  size_t length = strlen(name);
  if (length > 4 && strcmp(name + length - 4, "Size") == 0)
    name[length - 4] = 0;
  return strstr(rowscan_last_error(), name) != NULL || strstr(rowscan_last_error(), "does not compile") != NULL;
}

/* Each call of the compiler fails in turn, until there are no more calls. _i: with which error. */
START_TEST(each_call_may_fail) {
  static const nvrtcResult errors[] = {INTERNAL_ERROR, NVRTC_ERROR_OUT_OF_MEMORY,
                                       NVRTC_ERROR_BUILTIN_OPERATION_FAILURE};
  int failed = 0;
  for (int call = 1;; call++) {
    rs_builder *builder = open_builder(NULL);
    rs_binary binary = {.facts.registers = 77};
    told->calls = 0;
    told->fail_at = call;
    told->fail_with = errors[_i];
    *told->failed = 0;
    rowscan_status status = rs_build(builder, &binary, canonical, source, 90, false);
    told->fail_at = 0;
    ck_assert_int_eq(told->programs, 0);
    bool needless = strstr(told->failed, "Log") || strstr(told->failed, "Destroy") || !*told->failed;
    ck_assert_msg((status == ROWSCAN_OK) == needless, "%s", told->failed);
    if (status == ROWSCAN_OK) {
      rs_binary_free(&binary);
    } else {
      failed++;
      ck_assert_msg(is_in_story(told->failed), "%s: %s", told->failed, rowscan_last_error());
      ck_assert_int_eq(binary.facts.registers, 77);
      if (errors[_i] == NVRTC_ERROR_OUT_OF_MEMORY)
        ck_assert_int_eq(status, ROWSCAN_OUT_OF_MEMORY);
      else if (errors[_i] == INTERNAL_ERROR && strcmp(told->failed, "nvrtcCompileProgram") == 0)
        ck_assert_int_eq(status, ROWSCAN_COMPILE_FAILED);
      else
        ck_assert_int_eq(status, ROWSCAN_NO_COMPILER);
    }
    ck_assert(!build_text(builder, source, 90, true));
    rs_builder_close(builder);
    if (!*told->failed)
      break;
  }
  ck_assert_int_eq(failed, 8);
}
END_TEST

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HAVE_FAILING_MALLOC
/* Memory that runs out: these stand before the C library's, for the library's own strdup and the like too. */
#pragma GCC visibility push(default)
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *memory, size_t bytes);
void free(void *memory);
#pragma GCC visibility pop
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void __libc_free(void *memory);
static _Thread_local int allocations_left = -1; /* -1: no limit */
static _Thread_local bool only_one;             /* fails, and there is memory again */
static _Thread_local int64_t live;

static bool exhausted(void) {
  if (allocations_left < 0)
    return false;
  if (allocations_left)
    return --allocations_left, false;
  if (only_one)
    allocations_left = -1;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t bytes) {
  void *memory = exhausted() ? NULL : __libc_malloc(bytes);
  live += memory != NULL;
  return memory;
}

void *calloc(size_t count, size_t bytes) {
  void *memory = exhausted() ? NULL : __libc_calloc(count, bytes);
  live += memory != NULL;
  return memory;
}

void *realloc(void *memory, size_t bytes) {
  void *moved = exhausted() ? NULL : __libc_realloc(memory, bytes);
  live += !memory && moved;
  return moved;
}

void free(void *memory) {
  live -= memory != NULL;
  __libc_free(memory);
}

/* Each allocation fails in turn, and all after it; _i: with no store, and with one. */
START_TEST(each_allocation_may_fail) {
  char *dir = _i ? fresh() : NULL;
  rs_fail(ROWSCAN_OK, "%s", "the thread keeps the memory of its first message");
  rs_builder *warm = open_builder(dir);
  build_text(warm, source, 90, false);
  rs_builder_close(warm);
  int failed = 0;
  for (int left = 0; left < 1000; left++) {
    int64_t before = live;
    rs_builder *builder = open_builder(dir);
    rs_binary binary = {0};
    if (dir)
      rs_store_remove(rs_builder_store(builder), key_text(source, 90));
    allocations_left = left;
    rowscan_status status = rs_build(builder, &binary, canonical, source, 90, false);
    bool enough = allocations_left > 0;
    allocations_left = -1;
    ck_assert_int_eq(told->programs, 0);
    ck_assert_msg(status == ROWSCAN_OK || status == ROWSCAN_OUT_OF_MEMORY, "%s", rowscan_last_error());
    if (status != ROWSCAN_OK)
      failed++;
    rs_binary_free(&binary);
    rs_builder_close(builder);
    ck_assert_int_eq(live, before);
    if (enough)
      break;
  }
  ck_assert_int_ge(failed, 10);
  int64_t before = live;
  for (int left = 0; left < 8; left++) {
    rs_store *store = rs_store_open(&(rs_store_options){.off_by = "the program"});
    rs_nvrtc *nvrtc = make_compiler(13000);
    allocations_left = left;
    rs_builder_close(rs_builder_open(store, nvrtc, NULL));
    nvrtc = make_compiler(13000);
    rs_nvrtc_close(nvrtc);
    nvrtc = rs_nvrtc_open("/name", NULL);
    allocations_left = -1;
    rs_nvrtc_close(nvrtc);
  }
  ck_assert_int_eq(live, before);
}
END_TEST

/* One allocation fails: what is said of the store is true all the same. */
START_TEST(what_is_not_kept_is_not_said_to_be) {
  char *dir = fresh(), *path = entry_path(dir, key_text(source, 90));
  int failed = 0, lost = 0;
  only_one = true;
  for (int left = 0; left < 1000; left++) {
    rs_builder *builder = open_builder(dir);
    rs_binary binary = {0};
    rs_store_remove(rs_builder_store(builder), key_text(source, 90));
    allocations_left = left;
    rowscan_status status = rs_build(builder, &binary, canonical, source, 90, false);
    bool enough = allocations_left >= 0;
    allocations_left = -1;
    ck_assert(status == ROWSCAN_OK || status == ROWSCAN_OUT_OF_MEMORY);
    failed += status != ROWSCAN_OK;
    lost += status == ROWSCAN_OK && !binary.stored;
    if (status == ROWSCAN_OK)
      ck_assert_int_eq(binary.stored, exists(path));
    rs_binary_free(&binary);
    rs_builder_close(builder);
    if (enough)
      break;
  }
  only_one = false;
  ck_assert(failed > 10 && lost > 1);
}
END_TEST

/* A search that ran out of memory goes on when it is asked for again, and comes to the same end. */
START_TEST(finding_may_run_out_of_memory) {
  setenv("LD_LIBRARY_PATH", "/usr/lib:/", 1);
  rs_nvrtc *whole = rs_nvrtc_open("libno_such_nvrtc.so.1", NULL);
  const char *unused;
  ck_assert_int_eq(rs_nvrtc_id(whole, &unused), ROWSCAN_NO_COMPILER);
  char *message = path_of("%s", rowscan_last_error());
  rs_nvrtc_close(whole);
  int64_t before = live;
  for (int left = 0; left < 10000; left++) {
    rs_nvrtc *nvrtc = rs_nvrtc_open("libno_such_nvrtc.so.1", NULL);
    const char *id = NULL;
    allocations_left = left;
    rowscan_status status = rs_nvrtc_id(nvrtc, &id);
    bool enough = allocations_left > 0;
    allocations_left = -1;
    ck_assert(status == ROWSCAN_OUT_OF_MEMORY || status == ROWSCAN_NO_COMPILER);
    ck_assert_int_eq(rs_nvrtc_id(nvrtc, &id), ROWSCAN_NO_COMPILER);
    ck_assert_str_eq(rowscan_last_error(), message);
    rs_nvrtc_close(nvrtc);
    if (enough)
      break;
    ck_assert_int_lt(left, 9999);
  }
  ck_assert_int_le(live - before, 2); /* what dlerror keeps for the thread */
}
END_TEST
#endif

int main(void) {
  Suite *suite = suite_create("build");
  TCase *cases = add_case(suite, "facts");
  tcase_add_test(cases, facts_are_read_from_logs);
  tcase_add_test(cases, facts_are_text);
  tcase_add_test(cases, no_other_text_is_facts);
  cases = add_case(suite, "keys");
  tcase_add_test(cases, a_key_is_golden);
  tcase_add_test(cases, every_part_of_a_key_counts);
  tcase_add_test(cases, differences_of_keys);
  cases = add_case(suite, "cache");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  tcase_add_test(cases, the_second_build_is_a_hit);
  tcase_add_test(cases, a_hit_asks_nothing_of_the_compiler);
  tcase_add_test(cases, without_a_store_the_builder_keeps_some);
  tcase_add_test(cases, what_replaces_an_entry_of_a_pack_is_made_once);
  tcase_add_test(cases, a_damaged_entry_is_made_anew);
  tcase_add_test(cases, an_entry_of_something_else_is_made_anew);
  tcase_add_test(cases, a_pack_serves_whichever_compiler_made_it);
  tcase_add_test(cases, a_pack_may_have_no_ptx);
  tcase_add_test(cases, a_pack_has_no_times);
  tcase_add_test(cases, a_fresh_build_replaces_the_entry);
  tcase_add_test(cases, what_may_not_be_compiled_is_told);
  tcase_add_test(cases, what_entries_did_is_counted);
  tcase_add_test(cases, each_decision_is_told);
  cases = add_case(suite, "trouble");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  tcase_add_test(cases, launch_bounds_are_read);
  tcase_add_test(cases, fewer_blocks_leave_more_registers);
  tcase_add_test(cases, what_spills_is_compiled_with_fewer_blocks);
  tcase_add_test(cases, what_spills_in_any_case_has_its_blocks);
  tcase_add_test(cases, what_the_assembler_fails_on_is_optimized_less);
  cases = add_case(suite, "many at once");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  tcase_add_loop_test(cases, one_thread_compiles_for_all, 0, 2);
  tcase_add_loop_test(cases, a_failure_is_told_to_all, 0, 2);
  tcase_add_loop_test(cases, fresh_builds_are_never_old, 0, 2);
  tcase_add_test(cases, one_process_compiles_for_all);
  tcase_add_test(cases, forked_while_a_thread_compiles);
  cases = add_case(suite, "failures");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  tcase_add_test(cases, a_rejected_source_is_shown);
  tcase_add_test(cases, an_unknown_architecture_is_told);
  tcase_add_test(cases, an_unknown_architecture_is_served_from_the_cache);
  tcase_add_test(cases, no_compiler_is_told);
  tcase_add_test(cases, who_forbids_is_told_before_what_is_missing);
  tcase_add_test(cases, older_compilers_are_not_told_of_their_cache);
  tcase_add_loop_test(cases, each_call_may_fail, 0, 3);
#ifdef HAVE_FAILING_MALLOC
  tcase_add_loop_test(cases, each_allocation_may_fail, 0, 2);
  tcase_add_test(cases, what_is_not_kept_is_not_said_to_be);
  tcase_add_test(cases, finding_may_run_out_of_memory);
#endif
  return run_suite(suite);
}
