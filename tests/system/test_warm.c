/*
 * test_warm.c - kernels that are ready before they are needed: never compiling, filling the cache, why it lacks one,
 * packs, the log
 * SPDX-License-Identifier: MIT
 *
 * Contexts of the API, but with a compiler of our own making: neither a GPU nor NVRTC is needed.
 */
#include <sys/wait.h>

#include "../support/cache_help.h"

#include "../support/fake_nvrtc.h"
#include "../support/lot.h"
#include "base/status.h"
#include "family/tune.h"
#include "run/context.h"

/* dir: of the cache; NULL: the environment's. */
static rowscan_context *open_threads(const char *dir, bool only, int threads) {
  rowscan_context *context = NULL;
  const rowscan_options *options =
      ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = threads, .cache_dir = dir, .cache_only = only);
  ck_assert_int_eq(rs_context_open(&context, options, make_compiler(13000)), ROWSCAN_OK);
  return context;
}

static rowscan_context *open_context(const char *dir, bool only) {
  return open_threads(dir, only, 1);
}

static rowscan_status compile(rowscan_context *context, const rowscan_spec *spec, const char *arch) {
  rowscan_plan *plan = NULL;
  rowscan_status status = rowscan_plan_compile(&plan, context, spec, arch);
  rowscan_plan_destroy(plan);
  return status;
}

/* Each is an entry. */
static int kernels_of(const rowscan_spec *spec, const char *arch) {
  rowscan_spec complete = *spec;
  ck_assert_int_eq(rowscan_spec_complete(&complete), ROWSCAN_OK);
  rs_geometry geometry = rs_tune(&complete, atoi(arch + 3));
  return rs_geometry_kernels(&geometry);
}

/* ---- whoever filled it --------------------------------------------------------------------------------------------
 */

static int count_hits(void *user, const rowscan_cache_reason *reason) {
  *(int *)user += reason->hit;
  return 0;
}

static rowscan_context *open_with(const char *dir, int version, bool only) {
  rowscan_context *context = NULL;
  char *id = path_of("nvrtc-%d", version);
  const rowscan_options *options = ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_dir = dir,
                                                   .cache_only = only, .nvrtc = "/no/such/libnvrtc.so");
  told->archs = version < 12000 ? 3 : 0;
  ck_assert_int_eq(rs_context_open(&context, options, version ? make_compiler_of(version, id) : NULL), ROWSCAN_OK);
  return context;
}

/*
 * What one NVRTC compiled serves where another may not, or cannot: also that of before CUDA 12, whose kernels for sm_90
 * are others, and which knows nothing newer. _i: which.
 */
static const struct {
  int filled_by;
  const char *arch;
  int at_hand; /* 0: none */
  bool only, serves;
} fillings[] = {{13000, "sm_90", 11080, true, true},   {13000, "sm_90", 0, false, true},
                {11080, "sm_90", 13000, true, true},   {11080, "sm_90", 0, false, true},
                {11080, "sm_90", 11080, true, true},   {13000, "sm_90", 13000, true, true},
                {13000, "sm_120", 11080, false, true}, {13000, "sm_120", 11080, true, true},
                {13000, "sm_80", 11080, true, true},   {13000, "sm_90", 12000, true, true},
                {13000, "sm_90", 11080, false, false}, {11080, "sm_90", 13000, false, false}};

START_TEST(whoever_filled_it) {
  char *dir = fresh();
  const rowscan_spec *spec = ROWSCAN_SPEC(.length = 33000);
  rowscan_context *context = open_with(dir, fillings[_i].filled_by, false);
  ck_assert_int_eq(compile(context, spec, fillings[_i].arch), ROWSCAN_OK);
  rowscan_close(context);
  told->compiles = 0;
  context = open_with(dir, fillings[_i].at_hand, fillings[_i].only);
  int hits = 0;
  ck_assert_int_eq(rowscan_cache_why(context, spec, fillings[_i].arch, count_hits, &hits), ROWSCAN_OK);
  ck_assert_msg(compile(context, spec, fillings[_i].arch) == ROWSCAN_OK, "%s", rowscan_last_error());
  ck_assert_int_eq(told->compiles == 0, fillings[_i].serves);
  ck_assert_int_eq(hits > 0, fillings[_i].serves);
  rowscan_close(context);
}
END_TEST

/* ---- never compiling --------------------------------------------------------------------------------------------- */

/* _i: by the option, or by the environment. */
START_TEST(what_is_missing_is_told) {
  char *dir = fresh();
  const rowscan_spec *spec = ROWSCAN_SPEC(.length = 33000, .in_type = ROWSCAN_BF16, .flags = ROWSCAN_REVERSE);
  if (_i)
    setenv("ROWSCAN_CACHE", "ONLY", 1);
  rowscan_context *context = open_context(dir, !_i);
  static const char missing[] =
      "disables compilation: sm_90, kernel aligned: op=sum in=bf16 out=bf16 acc=f32 mask=none reverse=1 "
      "exclusive=0 length=33000 layout=rows row_rank=1";
  ck_assert_int_eq(compile(context, spec, "sm_90"), ROWSCAN_NOT_CACHED);
  ck_assert_str_eq(rowscan_last_error(), path_of("the kernel is not in the cache (%s), and %s %s", dir,
                                                 _i ? "ROWSCAN_CACHE=only" : "the program (cache_only)", missing));
  ck_assert_str_eq(rowscan_status_name(ROWSCAN_NOT_CACHED), "ROWSCAN_NOT_CACHED");
  ck_assert_int_eq(told->compiles, 0);
  /* What the message names can be asked for as it stands. */
  rowscan_spec named = {.size = sizeof named};
  ck_assert_int_eq(rowscan_spec_parse(&named, strstr(rowscan_last_error(), "op=")), ROWSCAN_OK);
  rowscan_close(context);
  unsetenv("ROWSCAN_CACHE");
  context = open_context(dir, false);
  ck_assert_int_eq(compile(context, &named, "sm_90"), ROWSCAN_OK);
  rowscan_close(context);
  int compiles = told->compiles;
  ck_assert_int_eq(compiles, kernels_of(spec, "sm_90"));
  context = open_context(dir, true);
  ck_assert_int_eq(compile(context, spec, "sm_90"), ROWSCAN_OK);
  ck_assert_int_eq(compile(context, spec, "sm_80"), ROWSCAN_NOT_CACHED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "sm_80, kernel "));
  ck_assert_int_eq(told->compiles, compiles);
  rowscan_close(context);
}
END_TEST

static void check_blocks(const rowscan_plan *plan, int most) {
  rowscan_plan_info all = ROWSCAN_INFO(rowscan_plan_info);
  ck_assert_int_eq(rowscan_plan_info_get(plan, &all), ROWSCAN_OK);
  for (int i = 0; i < all.modules; i++) {
    rowscan_module_info info = ROWSCAN_INFO(rowscan_module_info);
    ck_assert_int_eq(rowscan_plan_module(plan, i, &info), ROWSCAN_OK);
    const char *blocks = strstr(info.geometry, " min_blocks=");
    ck_assert_ptr_nonnull(blocks);
    ck_assert_msg(atoi(blocks + strlen(" min_blocks=")) <= most, "%s", info.geometry);
    ck_assert_int_eq(info.spill_bytes, 0);
  }
}

/* Each by itself, under the key of what was to be made, whoever asks: and then told with the blocks that it has. */
START_TEST(what_spilled_is_found_with_its_blocks) {
  char *dir = fresh();
  const rowscan_spec *spec = ROWSCAN_SPEC(.length = 4096);
  told->roomy = 2;
  int compiles = 0;
  for (int i = 0; i < 3; i++) { /* made; found; found where it must be */
    rowscan_context *context = open_context(dir, i == 2);
    rowscan_plan *plan;
    ck_assert_msg(rowscan_plan_compile(&plan, context, spec, "sm_90") == ROWSCAN_OK, "%s", rowscan_last_error());
    check_blocks(plan, told->roomy);
    rowscan_plan_destroy(plan);
    ck_assert_int_eq(entries_in(rs_builder_store(context->gpu.builder)), kernels_of(spec, "sm_90"));
    rowscan_close(context);
    ck_assert(i == 0 || told->compiles == compiles);
    compiles = told->compiles;
  }
  ck_assert_int_gt(compiles, kernels_of(spec, "sm_90"));
}
END_TEST

START_TEST(the_host_compiles_nothing) {
  rowscan_context *context = open_context(fresh(), true);
  float x[3] = {1, 2, 3};
  int64_t shape[] = {3};
  ck_assert_int_eq(
      rowscan_scan(context, ROWSCAN_PROBLEM(.rank = 1, .shape = shape, .input.data = x, .output.data = x), NULL),
      ROWSCAN_OK);
  ck_assert(x[2] == 6);
  rowscan_close(context);
}
END_TEST

/* ---- filling the cache ------------------------------------------------------------------------------------------- */

enum { SPECS = 3, PAIRS = 64 };

static const rowscan_spec list[SPECS] = {{.size = sizeof *list, .length = 100},
                                         {.size = sizeof *list, .length = 33000, .in_type = ROWSCAN_F16},
                                         {.size = sizeof *list, .length = 50, .layout = ROWSCAN_LAYOUT_COLUMNS}};
static const char *const three[] = {"sm_75", "sm_80", "sm_90"}, *const known[] = {"sm_75", "sm_80", "sm_90", "sm_120"};

/* Entries of some of the list for some architectures. */
static int entries_of(const rowscan_spec *specs, int spec_count, const char *const *archs, int arch_count) {
  int sum = 0;
  for (int i = 0; i < spec_count * arch_count; i++)
    sum += kernels_of(&specs[i / arch_count], archs[i % arch_count]);
  return sum;
}

typedef struct visits {
  int seen[PAIRS]; /* of a spec and an architecture */
  int count, stop_after, modules, compiled, failed;
  bool inside;
  char message[512];
} visits;

static int note_warmed(void *user, const rowscan_warmed *one) {
  visits *book = user;
  ck_assert(!book->inside);
  book->inside = true;
  book->count++;
  ck_assert_int_eq(one->done, book->count);
  ck_assert_int_le(one->done, one->total);
  ck_assert_int_eq(strncmp(one->arch, "sm_", 3), 0);
  book->seen[one->spec * 8 + atoi(one->arch + 3) / 10 % 8]++;
  book->modules += one->modules;
  book->compiled += one->compiled;
  book->failed += one->status != ROWSCAN_OK;
  ck_assert_int_eq(!*one->message, one->status == ROWSCAN_OK);
  if (*one->message)
    snprintf(book->message, sizeof book->message, "%s", one->message);
  ck_assert(one->ms >= 0 && one->ms < 100000);
  book->inside = false;
  return book->count == book->stop_after;
}

static rowscan_status warm(rowscan_context *context, int archs, int threads, visits *book) {
  return rowscan_warm(context,
                      ROWSCAN_WARMING(.specs = list, .spec_count = SPECS, .archs = archs ? three : NULL,
                                      .arch_count = archs, .threads = threads, .visit = note_warmed, .user = book));
}

START_TEST(all_pairs_are_made_once) {
  char *dir = fresh();
  visits book = {0}, again = {0};
  int all = entries_of(list, SPECS, three, 3);
  ck_assert_int_gt(all, 9);
  rowscan_context *context = open_context(dir, false);
  ck_assert_int_eq(warm(context, 3, 4, &book), ROWSCAN_OK);
  ck_assert_int_eq(book.count, 9);
  for (int i = 0; i < SPECS; i++)
    for (int arch = 7; arch <= 9; arch++)
      ck_assert_int_eq(book.seen[8 * i + arch % 8], 1);
  ck_assert_int_eq(book.modules, all);
  ck_assert_int_eq(book.compiled, all);
  ck_assert_int_eq(told->compiles, all);
  rowscan_close(context);
  context = open_context(dir, true);
  ck_assert_int_eq(warm(context, 3, 4, &again), ROWSCAN_OK);
  ck_assert_int_eq(again.modules, all);
  ck_assert_int_eq(again.compiled, 0);
  for (int i = 0; i < SPECS; i++)
    ck_assert_int_eq(compile(context, &list[i], "sm_80"), ROWSCAN_OK);
  ck_assert_int_eq(told->compiles, all);
  ck_assert_int_eq(told->programs, 0);
  rowscan_close(context);
}
END_TEST

START_TEST(no_list_of_archs_is_all_there_are) {
  visits book = {0};
  rowscan_context *context = open_context(fresh(), false);
  ck_assert_int_eq(warm(context, 0, 2, &book), ROWSCAN_OK);
  ck_assert_int_eq(book.count, SPECS * 4);
  ck_assert_int_eq(book.compiled, entries_of(list, SPECS, known, 4));
  ck_assert_int_eq(rowscan_warm(context, ROWSCAN_WARMING(.archs = three, .arch_count = 3)), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_warm(context, ROWSCAN_WARMING(.specs = list, .spec_count = 1, .archs = three)), ROWSCAN_OK);
  rowscan_close(context);
}
END_TEST

static rowscan_context *open_limited(int64_t limit) {
  rowscan_context *context = NULL;
  const rowscan_options *options = ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 2, .cache_dir = fresh(),
                                                   .cache_packs = "off", .cache_limit = limit);
  ck_assert_int_eq(rs_context_open(&context, options, make_compiler(12000)), ROWSCAN_OK);
  return context;
}

static int64_t bytes_kept(rowscan_context *context) {
  rowscan_cache_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(rowscan_cache_info_get(context, &info), ROWSCAN_OK);
  return info.bytes;
}

/* What the last ones evicted is not ready. Lines that are equal have the same entries. */
START_TEST(a_list_too_long_for_the_limit_is_told) {
  rowscan_context *context = open_limited(0);
  visits book = {0};
  ck_assert_int_eq(warm(context, 3, 2, &book), ROWSCAN_OK);
  int64_t bytes = bytes_kept(context);
  rowscan_close(context);
  for (int half = 0; half < 2; half++) {
    rowscan_spec twice[2 * SPECS];
    memcpy(twice, list, sizeof list);
    memcpy(twice + SPECS, list, sizeof list);
    int64_t limit = half ? bytes / 2 : 2 * bytes;
    book = (visits){0};
    context = open_limited(limit);
    rowscan_status status =
        rowscan_warm(context, ROWSCAN_WARMING(.specs = twice, .spec_count = 2 * SPECS, .archs = three, .arch_count = 3,
                                              .threads = 1, .visit = note_warmed, .user = &book));
    ck_assert_int_eq(status, half ? ROWSCAN_CACHE_FAILED : ROWSCAN_OK);
    ck_assert_int_eq(book.failed, 0);
    const char *told_of = path_of("of %d entries were evicted again: the cache (", entries_of(list, SPECS, three, 3)),
               *limit_told = path_of(") keeps at most %lld bytes", (long long)limit);
    ck_assert_msg(!half || (strstr(rowscan_last_error(), told_of) && strstr(rowscan_last_error(), limit_told)), "%s",
                  rowscan_last_error());
    rowscan_close(context);
  }
}
END_TEST

/* _i: threads; 0: the context's, which is 1. */
START_TEST(many_compile_at_a_time) {
  rowscan_context *context = open_context(fresh(), false);
  visits book = {0};
  told->compile_ms = 40;
  ck_assert_int_eq(warm(context, 3, _i, &book), ROWSCAN_OK);
  ck_assert_int_eq(told->busiest, _i > 1 ? _i : 1);
  rowscan_close(context);
}
END_TEST

/* The kernels of one scan are made at the same time too. */
START_TEST(a_short_list_uses_all_threads) {
  rowscan_context *context = open_context(fresh(), false);
  visits book = {0};
  told->compile_ms = 40;
  ck_assert_int_gt(kernels_of(&list[1], three[0]), 1);
  ck_assert_int_eq(
      rowscan_warm(context, ROWSCAN_WARMING(.specs = &list[1], .spec_count = 1, .archs = three, .arch_count = 1,
                                            .threads = 2, .visit = note_warmed, .user = &book)),
      ROWSCAN_OK);
  ck_assert_int_eq(told->busiest, 2);
  rowscan_close(context);
}
END_TEST

/* _i: threads of the context. What fails is told of the first kernel, whichever thread had it. */
START_TEST(a_plan_is_built_on_all_threads) {
  char *dir = fresh();
  rowscan_context *context = open_threads(dir, true, _i);
  for (int again = 0; again < 20; again++) {
    ck_assert_int_eq(compile(context, &list[1], "sm_90"), ROWSCAN_NOT_CACHED);
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "sm_90, kernel aligned: op=sum in=f16"));
  }
  rowscan_close(context);
  context = open_threads(dir, false, _i);
  told->compile_ms = 40;
  ck_assert_int_eq(compile(context, &list[1], "sm_90"), ROWSCAN_OK);
  ck_assert_int_eq(told->compiles, kernels_of(&list[1], "sm_90"));
  ck_assert_int_eq(told->busiest, _i);
  rowscan_close(context);
}
END_TEST

START_TEST(a_visit_may_end_it) {
  rowscan_context *context = open_context(fresh(), false);
  visits book = {.stop_after = 2};
  ck_assert_int_eq(warm(context, 3, 1, &book), ROWSCAN_OK);
  ck_assert_int_eq(book.count, 2);
  ck_assert_int_eq(told->compiles, entries_of(list, 1, three, 2));
  told->compile_ms = 20;
  book = (visits){.stop_after = 1};
  ck_assert_int_eq(warm(context, 3, 4, &book), ROWSCAN_OK);
  ck_assert_int_eq(book.count, 1); /* none is told of those that were under way */
  rowscan_close(context);
}
END_TEST

START_TEST(one_failure_is_not_all) {
  static const char *const archs[] = {"sm_91", "sm_90"};
  rowscan_context *context = open_context(fresh(), false);
  visits book = {0};
  rowscan_status status = rowscan_warm(context, ROWSCAN_WARMING(.specs = list, .spec_count = SPECS, .archs = archs,
                                                                .arch_count = 2, .visit = note_warmed, .user = &book));
  ck_assert_int_eq(status, ROWSCAN_NO_COMPILER);
  ck_assert_str_eq(rowscan_last_error(), path_of("3 of 6 pairs of a spec and an architecture failed; the first: sm_91: "
                                                 "NVRTC 13.0 ((a table)) does not support sm_91; it "
                                                 "supports sm_75 sm_80 sm_90 sm_120"));
  ck_assert_int_eq(book.count, 6);
  ck_assert_int_eq(book.failed, 3);
  ck_assert_int_eq(book.compiled, entries_of(list, SPECS, archs + 1, 1));
  rowscan_close(context);
}
END_TEST

START_TEST(what_is_missing_is_told_of_all) {
  rowscan_context *context = open_context(fresh(), true);
  visits book = {0};
  ck_assert_int_eq(warm(context, 3, 2, &book), ROWSCAN_NOT_CACHED);
  ck_assert_int_eq(book.failed, 9);
  ck_assert_ptr_nonnull(strstr(book.message, "disables compilation: sm_"));
  ck_assert_int_eq(told->compiles, 0);
  rowscan_close(context);
}
END_TEST

START_TEST(what_is_not_kept_is_told) {
  rowscan_context *context = NULL;
  char *dir = fresh();
  visits book = {0};
  ck_assert_int_eq(rs_context_open(&context,
                                   ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_dir = dir,
                                                   .cache_limit = 100),
                                   make_compiler(13000)),
                   ROWSCAN_OK);
  for (int turn = 0; turn < 2; turn++) { /* the second time they are in memory, but not on disk */
    book = (visits){0};
    ck_assert_int_eq(warm(context, 1, 1, &book), ROWSCAN_CACHE_FAILED);
    ck_assert_ptr_nonnull(
        strstr(rowscan_last_error(), "3 of 3 pairs of a spec and an architecture failed; the first: sm_75: kernel "));
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), path_of("the cache (%s) did not keep it", dir)));
  }
  rowscan_close(context);
  setenv("ROWSCAN_CACHE", "off", 1);
  context = open_context(dir, false);
  int compiles = told->compiles;
  book = (visits){0};
  ck_assert_int_eq(warm(context, 1, 1, &book), ROWSCAN_CACHE_FAILED);
  ck_assert_ptr_nonnull(
      strstr(rowscan_last_error(),
             "the first: sm_75: the kernel is not in the cache (turned off by ROWSCAN_CACHE=off): sm_75, "
             "kernel aligned: op=sum in=f32 "));
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), ", and there is no cache on disk to fill"));
  ck_assert_int_eq(told->compiles, compiles); /* in vain */
  rowscan_close(context);
}
END_TEST

static void refuse(rowscan_context *context, rowscan_warming asked, const char *words) {
  if (!asked.size)
    asked.size = sizeof asked;
  ck_assert_int_eq(rowscan_warm(context, &asked), ROWSCAN_BAD_ARGUMENT);
  ck_assert_msg(strstr(rowscan_last_error(), words), "%s", rowscan_last_error());
  ck_assert_int_eq(told->compiles, 0);
}

START_TEST(bad_lists_are_refused) {
  static const char *const bad_arch[] = {"sm_90", "90"};
  rowscan_context *context = open_context(fresh(), false);
  rowscan_spec specs[2] = {list[0], list[1]};
  rowscan_warming asked = {.specs = specs, .spec_count = 2, .archs = three, .arch_count = 3};
  refuse(context, (rowscan_warming){.size = 4}, "warming: field 'size': 4");
  refuse(context, (rowscan_warming){.spec_count = 1}, "'spec_count': 1, but 'specs' is NULL");
  refuse(context, (rowscan_warming){.specs = specs, .spec_count = -1}, "'spec_count': -1 is negative");
  refuse(context, (rowscan_warming){.arch_count = 1}, "'arch_count': 1, but 'archs' is NULL");
  refuse(context, (rowscan_warming){.archs = three, .arch_count = -1}, "'arch_count': -1 is negative");
  refuse(context, (rowscan_warming){.archs = three, .arch_count = 129}, "'arch_count': 129 exceeds 128");
  refuse(context, (rowscan_warming){.archs = bad_arch, .arch_count = 2}, "'arch': '90' is not an architecture");
  refuse(context, (rowscan_warming){.threads = -1}, "'threads': -1 is negative");
  specs[1].length = -7;
  refuse(context, asked, "spec: field 'length': -7 is not a whole number, 0 to 2^56, or any (warming: specs[1])");
  specs[1].size = 16;
  refuse(context, asked, "specs[1]: field 'size': 16, but the first spec's is ");
  rowscan_close(context);
}
END_TEST

/* Programs built before `regime` was in the struct. */
START_TEST(older_specs_are_read) {
  enum { OLD = offsetof(rowscan_spec, regime) };
  _Static_assert(OLD % _Alignof(rowscan_spec) == 0, "such a struct would have had this size");
  _Alignas(rowscan_spec) char old[SPECS * OLD];
  rowscan_context *context = open_context(fresh(), false);
  for (int i = 0; i < SPECS; i++) {
    rowscan_spec spec = list[i];
    spec.size = OLD;
    memcpy(old + i * OLD, &spec, OLD);
  }
  visits book = {0};
  ck_assert_int_eq(
      rowscan_warm(context, ROWSCAN_WARMING(.specs = (const rowscan_spec *)(void *)old, .spec_count = SPECS,
                                            .archs = three, .arch_count = 1, .visit = note_warmed, .user = &book)),
      ROWSCAN_OK);
  ck_assert_int_eq(book.compiled, entries_of(list, SPECS, three, 1));
  rowscan_close(context);
}
END_TEST

/* ---- why --------------------------------------------------------------------------------------------------------- */

enum { MOST = 9 }; /* kernels */

typedef struct explained {
  int count, stop_after;
  bool hit[MOST];
  char kernel[MOST][32], damage[MOST][64], name[MOST][64], nearest[MOST][64], text[MOST][1024], pack[MOST][512];
} explained;

/* Keeps the differences as "field: asked -> found; ...", without those that follow from others. */
static int explain(void *user, const rowscan_cache_reason *reason) {
  explained *book = user;
  int i = book->count++;
  ck_assert_int_lt(i, MOST);
  book->hit[i] = reason->hit;
  snprintf(book->kernel[i], sizeof book->kernel[i], "%s", reason->kernel);
  snprintf(book->damage[i], sizeof book->damage[i], "%s", reason->damage ? reason->damage : "");
  snprintf(book->name[i], sizeof book->name[i], "%s", reason->name);
  snprintf(book->nearest[i], sizeof book->nearest[i], "%s", reason->nearest ? reason->nearest : "");
  snprintf(book->pack[i], sizeof book->pack[i], "%s", reason->pack ? reason->pack : "");
  *book->text[i] = 0;
  for (int k = 0; k < reason->difference_count; k++) {
    const rowscan_cache_difference *one = &reason->differences[k];
    size_t length = strlen(book->text[i]);
    if (strcmp(one->field, "source") && strcmp(one->field, "shape"))
      snprintf(book->text[i] + length, sizeof book->text[i] - length, "%s: %s -> %s; ", one->field,
               one->asked ? one->asked : "none", one->found ? one->found : "none");
  }
  return book->count == book->stop_after;
}

static explained ask(rowscan_context *context, const rowscan_spec *spec, const char *arch) {
  explained book = {0};
  rowscan_status status = rowscan_cache_why(context, spec, arch, explain, &book);
  ck_assert_msg(status == ROWSCAN_OK, "%s", rowscan_last_error());
  return book;
}

START_TEST(misses_are_explained) {
  char *dir = fresh();
  rowscan_context *context = open_context(dir, false);
  const rowscan_spec *reverse = ROWSCAN_SPEC(.length = 33001, .in_type = ROWSCAN_F16, .flags = ROWSCAN_REVERSE);
  explained told_of = ask(context, &list[1], "sm_90");
  ck_assert_int_eq(told_of.count, kernels_of(&list[1], "sm_90"));
  for (int i = 0; i < told_of.count; i++)
    ck_assert(!told_of.hit[i] && !*told_of.nearest[i] && *told_of.kernel[i]);
  ck_assert_int_eq(compile(context, &list[1], "sm_90"), ROWSCAN_OK);
  told_of = ask(context, &list[1], "sm_90");
  for (int i = 0; i < told_of.count; i++) {
    ck_assert(told_of.hit[i] && !*told_of.text[i]);
    ck_assert(exists(path_of("%s/%s", dir, told_of.name[i])));
  }
  /* the same kernel of another spec is nearer than another of the same */
  explained other = ask(context, reverse, "sm_90");
  ck_assert_int_eq(other.count, told_of.count);
  for (int i = 0; i < other.count; i++) {
    ck_assert_str_eq(other.kernel[i], told_of.kernel[i]);
    ck_assert_str_eq(other.text[i], "reverse: 1 -> 0; length: 33001 -> 33000; ");
    ck_assert_str_eq(other.nearest[i], told_of.name[i]);
    ck_assert_str_ne(other.name[i], told_of.name[i]);
  }
  /* the kernels of one regime are those of both */
  int compiles = told->compiles;
  ck_assert_int_eq(
      compile(context, ROWSCAN_SPEC(.length = 33000, .in_type = ROWSCAN_F16, .regime = ROWSCAN_REGIME_ROW), "sm_90"),
      ROWSCAN_OK);
  ck_assert_int_eq(told->compiles, compiles);
  /* a nearer one comes */
  ck_assert_int_eq(compile(context, ROWSCAN_SPEC(.length = 33001, .in_type = ROWSCAN_F16), "sm_90"), ROWSCAN_OK);
  other = ask(context, reverse, "sm_90");
  ck_assert_str_eq(other.text[0], "reverse: 1 -> 0; ");
  other = ask(context, &list[1], "sm_120");
  ck_assert_str_eq(other.text[0], "arch: sm_120 -> sm_90; ");
  /* asking is not using */
  rowscan_cache_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(rowscan_cache_info_get(context, &info), ROWSCAN_OK);
  ck_assert_int_eq(
      info.counts.hits,
      kernels_of(ROWSCAN_SPEC(.length = 33000, .in_type = ROWSCAN_F16, .regime = ROWSCAN_REGIME_ROW), "sm_90"));
  ck_assert(info.counts.misses == told->compiles && info.counts.compiles == told->compiles);
  explained first = {.stop_after = 1};
  ck_assert_int_eq(rowscan_cache_why(context, &list[1], "sm_90", explain, &first), ROWSCAN_OK);
  ck_assert_int_eq(first.count, 1);
  rowscan_close(context);
}
END_TEST

START_TEST(damage_is_told_and_the_last_used_is_nearest) {
  static const unsigned flags[] = {0, ROWSCAN_REVERSE, ROWSCAN_EXCLUSIVE};
  static const char *const missing[] = {"", "exclusive: 1 -> 0; ", "reverse: 1 -> 0; "};
  char *dir = fresh();
  rowscan_context *context = open_context(dir, false);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(compile(context, ROWSCAN_SPEC(.length = 100, .flags = flags[i]), "sm_90"), ROWSCAN_OK);
  for (int newest = 0; newest < 3; newest++) {
    for (int i = 0; i < 3; i++) {
      explained one = ask(context, ROWSCAN_SPEC(.length = 100, .flags = flags[i]), "sm_90");
      ck_assert(one.hit[0]);
      age(path_of("%s/%s", dir, one.name[0]), i == newest ? 1000 : 2000);
    }
    explained miss = ask(context, ROWSCAN_SPEC(.length = 100, .flags = ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE), "sm_90");
    if (newest > 0) /* but one that differs in two fields is not near for being new */
      ck_assert_str_eq(miss.text[0], missing[newest]);
    else
      ck_assert(!strcmp(miss.text[0], missing[1]) || !strcmp(miss.text[0], missing[2]));
  }
  explained one = ask(context, ROWSCAN_SPEC(.length = 100), "sm_90");
  spill(path_of("%s/%s", dir, one.name[0]), "nonsense", 8);
  one = ask(context, ROWSCAN_SPEC(.length = 100), "sm_90");
  ck_assert(!one.hit[0] && !*one.nearest[0] && !*one.text[0]);
  ck_assert_str_eq(one.damage[0], "truncated");
  rowscan_close(context);
}
END_TEST

START_TEST(what_can_not_be_explained_is_told) {
  explained book = {0};
  rowscan_context *context = open_context(fresh(), false);
  ck_assert_int_eq(rowscan_cache_why(context, &list[0], "90", explain, &book), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'arch': '90' is not an architecture"));
  ck_assert_int_eq(rowscan_cache_why(context, ROWSCAN_SPEC(.length = -2), "sm_90", explain, &book),
                   ROWSCAN_BAD_ARGUMENT);
  rowscan_close(context);
  setenv("ROWSCAN_CACHE", "off", 1);
  context = open_context(NULL, false);
  ck_assert_int_eq(rowscan_cache_why(context, &list[0], "sm_90", explain, &book), ROWSCAN_CACHE_FAILED);
  ck_assert_str_eq(rowscan_last_error(), "there is no cache on disk: turned off by ROWSCAN_CACHE=off");
  rowscan_close(context);
  ck_assert_int_eq(book.count, 0);
}
END_TEST

/* In a directory that another compiler filled. id: of the one that is there now; NULL: none is. */
static rowscan_context *open_without(const char *dir, const char *packs, bool only, const char *id) {
  rowscan_context *context = NULL;
  const rowscan_options *options =
      ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_dir = dir, .cache_packs = packs,
                      .cache_only = only, .nvrtc = id ? NULL : "/no/such/libnvrtc.so");
  ck_assert_int_eq(rs_context_open(&context, options, id ? make_compiler_of(12000, id) : NULL), ROWSCAN_OK);
  return context;
}

static const char another_id[] = "fedcba9876543210";

/* _i: 0 without NVRTC, 1 with another one that must not be used, 2 with another one. */
START_TEST(another_compiler_is_a_field_like_others) {
  static const char *const ids[] = {NULL, another_id, another_id};
  char *dir = fresh(), *field = path_of("nvrtc: %s -> %s; ", _i ? another_id : "none", compiler_id);
  rowscan_context *context = open_context(dir, false);
  ck_assert_int_eq(compile(context, &list[0], "sm_90"), ROWSCAN_OK);
  explained before = ask(context, &list[0], "sm_90");
  rowscan_close(context);
  context = open_without(dir, "off", _i == 1, ids[_i]);
  explained same = ask(context, &list[0], "sm_90"),
            other = ask(context, ROWSCAN_SPEC(.length = list[0].length, .flags = ROWSCAN_REVERSE), "sm_90");
  ck_assert_int_eq(same.hit[0], _i < 2); /* as a build would have it */
  ck_assert_str_eq(_i < 2 ? same.name[0] : same.nearest[0], before.name[0]);
  ck_assert_str_eq(same.text[0], field);
  ck_assert(!other.hit[0]);
  ck_assert_str_eq(other.nearest[0], before.name[0]);
  ck_assert_str_eq(other.text[0], path_of("reverse: 1 -> 0; %s", field));
  ck_assert_int_eq(strlen(other.name[0]) == 0, _i == 0);
  rowscan_cache_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(rowscan_cache_info_get(context, &info), ROWSCAN_OK);
  ck_assert(!info.counts.hits && !info.counts.misses && !info.counts.damaged);
  ck_assert_int_eq(compile(context, &list[0], "sm_90"), ROWSCAN_OK);
  ck_assert_int_eq(told->compiles, (_i < 2 ? 1 : 2) * kernels_of(&list[0], "sm_90"));
  rowscan_close(context);
}
END_TEST

/* ---- packs ------------------------------------------------------------------------------------------------------- */

/* Of what a cache has: a pack with what is asked for. */
static char *pack_of(rowscan_context *from, const char *fields) {
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  char *file = fresh();
  ck_assert_int_eq(rowscan_cache_export(from, file, ROWSCAN_CACHE_FILTER(.spec = fields), &exported), ROWSCAN_OK);
  ck_assert_int_gt(exported.entries, 0);
  return file;
}

/* The first entry of a pack with one wrong bit. */
static void damage_pack(const char *file) {
  size_t count;
  unsigned char *bytes = slurp(file, &count);
  bytes[100] ^= 1;
  spill(file, bytes, count);
  free(bytes);
}

/* A context whose cache has all of `list` for three architectures. */
static rowscan_context *warmed(void) {
  rowscan_context *context = open_context(fresh(), false);
  ck_assert_int_eq(
      rowscan_warm(context, ROWSCAN_WARMING(.specs = list, .spec_count = SPECS, .archs = three, .arch_count = 3)),
      ROWSCAN_OK);
  return context;
}

/* 0: there are none, which is told. */
static int64_t count_exported(rowscan_context *context, const rowscan_cache_filter *filter) {
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  void *pack = NULL;
  size_t bytes = 0;
  rowscan_status status = rowscan_cache_export_memory(context, filter, &pack, &bytes, &exported);
  if (status == ROWSCAN_CACHE_FAILED && !strncmp(rowscan_last_error(), "no entry ", 9)) {
    ck_assert(!pack && !bytes && !exported.entries);
    return 0;
  }
  ck_assert_msg(status == ROWSCAN_OK, "%s", rowscan_last_error());
  ck_assert_int_eq(exported.bytes, (int64_t)bytes);
  ck_assert_int_eq(exported.damaged, 0);
  rowscan_free(pack);
  return exported.entries;
}

START_TEST(a_pack_makes_another_cache_complete) {
  rowscan_context *from = warmed(), *to;
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  rowscan_cache_imported imported = ROWSCAN_INFO(imported);
  void *pack;
  size_t bytes;
  char *file = fresh();
  int all = entries_of(list, SPECS, three, 3);
  ck_assert_int_eq(rowscan_cache_export_memory(from, NULL, &pack, &bytes, &exported), ROWSCAN_OK);
  ck_assert_int_eq(exported.entries, all);
  ck_assert_int_eq(rowscan_cache_export(from, file, NULL, &exported), ROWSCAN_OK);
  ck_assert_int_eq(exported.entries, all);
  rowscan_close(from);
  for (int by_file = 0; by_file < 2; by_file++) {
    to = open_context(fresh(), true);
    ck_assert_int_eq(by_file ? rowscan_cache_import(to, file, &imported)
                             : rowscan_cache_import_memory(to, pack, bytes, &imported),
                     ROWSCAN_OK);
    ck_assert(imported.entries == all && imported.added == all && !imported.failed && !imported.damaged);
    for (int i = 0; i < SPECS * 3; i++)
      ck_assert_int_eq(compile(to, &list[i / 3], three[i % 3]), ROWSCAN_OK);
    rowscan_close(to);
  }
  free(pack);
}
END_TEST

/* What the last ones evicted is not kept, though it was put; nor what was there before. */
START_TEST(a_pack_too_large_for_the_limit_is_told) {
  rowscan_context *from = warmed();
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  void *pack;
  size_t bytes;
  ck_assert_int_eq(rowscan_cache_export_memory(from, NULL, &pack, &bytes, &exported), ROWSCAN_OK);
  int64_t kept = bytes_kept(from);
  rowscan_close(from);
  for (int half = 0; half < 2; half++) {
    rowscan_context *to = open_limited(half ? kept / 2 : 2 * kept);
    for (int again = 0; again < 2; again++) {
      rowscan_cache_imported imported = ROWSCAN_INFO(imported);
      rowscan_cache_info info = ROWSCAN_INFO(info);
      ck_assert_int_eq(rowscan_cache_import_memory(to, pack, bytes, &imported), ROWSCAN_OK);
      ck_assert_int_eq(rowscan_cache_info_get(to, &info), ROWSCAN_OK);
      ck_assert_int_eq(imported.added + imported.present, info.entries);
      ck_assert_int_eq(imported.failed, exported.entries - info.entries);
      ck_assert(half ? imported.failed > 0 : imported.failed == 0);
    }
    rowscan_close(to);
  }
  rowscan_free(pack);
}
END_TEST

START_TEST(filters_choose_by_arch_and_field) {
  static const char *const newer[] = {"sm_90", "sm_120"}, *const none[] = {"sm_70"};
  rowscan_context *context = warmed();
  int all = entries_of(list, SPECS, three, 3), on_sm_90 = entries_of(list, SPECS, newer, 1);
  ck_assert_int_eq(count_exported(context, NULL), all);
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.spec = " \n")), all);
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.archs = newer, .arch_count = 1)), on_sm_90);
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.archs = newer, .arch_count = 2)), 0);
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.archs = none, .arch_count = 1)), 0);
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.spec = "in=f16")), entries_of(&list[1], 1, three, 3));
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.spec = "length=3300")), 0);
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.spec = "nvrtc=0")), 0);
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.spec = path_of("nvrtc=%s", compiler_id))), all);
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.spec = "layout=columns\tlength=50")),
                   entries_of(&list[2], 1, three, 3));
  ck_assert_int_eq(
      count_exported(context, ROWSCAN_CACHE_FILTER(.spec = "length=33000", .archs = newer, .arch_count = 1)),
      kernels_of(&list[1], "sm_90"));
  rowscan_close(context);
}
END_TEST

/* All that was asked for, or what of it is missing. */
START_TEST(what_is_not_exported_is_told) {
  static const char *const archs[] = {"sm_90", "sm_120", "sm_70"};
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  char *file = fresh(), *pack;
  rowscan_context *context = warmed(), *empty;
  rowscan_cache_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(rowscan_cache_info_get(context, &info), ROWSCAN_OK);
  char *where = path_of("is in the cache (%s)", info.path);
  const struct {
    rowscan_cache_filter filter;
    const char *message;
  } cases[] = {{{.archs = archs, .arch_count = 3}, "no entry for sm_120, sm_70"},
               {{.archs = archs, .arch_count = 3, .spec = "in=f16"}, "no entry for sm_120, sm_70 with 'in=f16'"},
               {{.archs = archs, .arch_count = 1, .spec = "in=f64"}, "no entry for sm_90 with 'in=f64'"},
               {{.spec = "in=f64 length=5"}, "no entry with 'in=f64 length=5'"}};
  for (int i = 0; i < 4; i++) {
    rowscan_cache_filter filter = cases[i].filter;
    filter.size = sizeof filter;
    ck_assert_int_eq(rowscan_cache_export(context, file, &filter, &exported), ROWSCAN_CACHE_FAILED);
    ck_assert_str_eq(rowscan_last_error(), path_of("%s %s", cases[i].message, where));
  }
  pack = pack_of(context, NULL);
  rowscan_close(context);
  char *dir = fresh();
  empty = open_without(dir, "/no/such.pack", false, compiler_id);
  ck_assert_int_eq(rowscan_cache_export(empty, file, NULL, &exported), ROWSCAN_CACHE_FAILED);
  ck_assert_str_eq(rowscan_last_error(), path_of("no entry is in the cache (%s) nor in any pack (pack /no/such.pack is "
                                                 "not used: there is no such file)",
                                                 dir));
  rowscan_close(empty);
  ck_assert(!exists(file));
  ck_assert_int_eq(chmod(pack, 0660), 0);
  empty = open_without(dir, pack, true, compiler_id);
  ck_assert_int_eq(compile(empty, &list[0], "sm_90"), ROWSCAN_NOT_CACHED);
  ck_assert_ptr_nonnull(
      strstr(rowscan_last_error(), path_of("the kernel is not in the cache (%s) nor in any pack (pack %s is not "
                                           "used: writable by others), and the program (cache_only) "
                                           "disables compilation: sm_90, kernel ",
                                           dir, pack)));
  rowscan_close(empty);
  empty = open_without(dir, pack, false, NULL);
  ck_assert_int_eq(compile(empty, &list[0], "sm_90"), ROWSCAN_NO_COMPILER);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), path_of(" (pack %s is not used: writable by others)", pack)));
  rowscan_close(empty);
}
END_TEST

/* What warming found in a pack is exported, as what it compiled is; and the same kernels make the same bytes. */
START_TEST(what_was_warmed_is_exported) {
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  rowscan_context *all = warmed();
  int64_t entries = entries_of(list, SPECS, three, 3);
  size_t bytes[2];
  void *packs[2];
  char *installed = pack_of(all, "arch=sm_80");
  ck_assert_int_eq(rowscan_cache_export_memory(all, NULL, &packs[0], &bytes[0], &exported), ROWSCAN_OK);
  ck_assert_int_eq(exported.entries, entries);
  rowscan_close(all);
  int compiles = told->compiles;
  visits book = {0};
  setenv("ROWSCAN_CACHE_PACKS", installed, 1);
  rowscan_context *context = open_context(fresh(), false);
  ck_assert_int_eq(warm(context, 3, 1, &book), ROWSCAN_OK);
  ck_assert_int_eq(book.compiled, entries - entries_of(list, SPECS, &three[1], 1));
  ck_assert_int_eq(told->compiles, compiles + book.compiled);
  ck_assert_int_eq(rowscan_cache_export_memory(context, NULL, &packs[1], &bytes[1], &exported), ROWSCAN_OK);
  ck_assert_int_eq(exported.entries, entries);
  ck_assert(bytes[0] == bytes[1] && !memcmp(packs[0], packs[1], bytes[0]));
  rowscan_close(context);
  for (int i = 0; i < 2; i++)
    rowscan_free(packs[i]);
}
END_TEST

/* Kernels for any length are made for a generation, and found by each of its architectures. */
START_TEST(kernels_for_any_length_are_exported_for_a_generation) {
  static const char *const archs[] = {"sm_89", "sm_86", "sm_80", "sm_90"};
  const rowscan_spec *any_length = ROWSCAN_SPEC(.length = ROWSCAN_ANY_LENGTH);
  rowscan_context *context = open_context(fresh(), false);
  ck_assert_int_eq(
      rowscan_warm(context, ROWSCAN_WARMING(.specs = any_length, .spec_count = 1, .archs = archs, .arch_count = 1)),
      ROWSCAN_OK);
  ck_assert_int_eq(compile(context, &list[0], "sm_80"), ROWSCAN_OK);
  int any = kernels_of(any_length, "sm_80"), one = kernels_of(&list[0], "sm_80");
  ck_assert_int_eq(count_exported(context, NULL), any + one);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.archs = &archs[i], .arch_count = 1)),
                     any + (i == 2 ? one : 0));
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.archs = archs, .arch_count = 3)), any + one);
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.archs = archs, .arch_count = 4)), 0);
  ck_assert_int_eq(count_exported(context, ROWSCAN_CACHE_FILTER(.archs = archs, .arch_count = 1, .spec = "length=100")),
                   0);
  rowscan_close(context);
}
END_TEST

/* ---- packs alone ------------------------------------------------------------------------------------------------- */

static const struct {
  const char *variable; /* $ROWSCAN_CACHE */
  bool off, only;       /* of the program */
  bool nvrtc;
  bool compiles; /* what packs lack */
  rowscan_status lacks;
  const char *why;
} lone[] = {{"off", false, false, true, true, ROWSCAN_OK, "turned off by ROWSCAN_CACHE=off"},
            {NULL, true, false, true, true, ROWSCAN_OK, "turned off by the program"},
            {"Off", false, false, false, false, ROWSCAN_NO_COMPILER, "turned off by ROWSCAN_CACHE=off"},
            {"off,only", false, false, true, false, ROWSCAN_NOT_CACHED, "turned off by ROWSCAN_CACHE=off"},
            {" ONLY, OFF", false, false, false, false, ROWSCAN_NOT_CACHED, "turned off by ROWSCAN_CACHE=off"},
            {"only", true, false, false, false, ROWSCAN_NOT_CACHED, "turned off by the program"},
            {"off", false, true, true, false, ROWSCAN_NOT_CACHED, "turned off by ROWSCAN_CACHE=off"},
            {"only", false, false, false, false, ROWSCAN_NOT_CACHED, ": Not a directory"},
            {NULL, false, true, false, false, ROWSCAN_NOT_CACHED, ": Not a directory"}};

/* Where nothing can be written: what packs have is served, warming tells what they lack, and nobody is warned. */
START_TEST(packs_serve_alone) {
  rowscan_context *context = warmed();
  char *file = pack_of(context, "length=100"), *nowhere = fresh();
  int compiles = told->compiles;
  log_book log = {0};
  rowscan_close(context);
  spill(nowhere, "", 0);
  if (lone[_i].variable)
    setenv("ROWSCAN_CACHE", lone[_i].variable, 1);
  const rowscan_options *options =
      ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_dir = path_of("%s/below", nowhere),
                      .cache_packs = file, .cache_off = lone[_i].off, .cache_only = lone[_i].only,
                      .nvrtc = lone[_i].nvrtc ? NULL : "/no/such/libnvrtc.so", .log = note, .user = &log);
  ck_assert_int_eq(rs_context_open(&context, options, lone[_i].nvrtc ? make_compiler(13000) : NULL), ROWSCAN_OK);
  rowscan_warming one = {.size = sizeof one, .specs = list, .spec_count = 1, .archs = three, .arch_count = 3};
  ck_assert_msg(rowscan_warm(context, &one) == ROWSCAN_OK, "%s", rowscan_last_error());
  ck_assert_int_eq(compile(context, &list[0], "sm_90"), ROWSCAN_OK);
  ck_assert_int_eq(log.messages[0], 0);
  ck_assert_int_eq(told->compiles, compiles);
  rowscan_cache_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(rowscan_cache_info_get(context, &info), ROWSCAN_OK);
  ck_assert_str_eq(info.path, "");
  ck_assert_msg(strstr(info.why, lone[_i].why) && info.packs == 1, "%s", info.why);
  ck_assert_int_eq(compile(context, &list[1], "sm_90"), lone[_i].lacks);
  ck_assert_int_eq(told->compiles > compiles, lone[_i].compiles);
  compiles = told->compiles;
  one.spec_count = 2;
  ck_assert_int_eq(rowscan_warm(context, &one), lone[_i].compiles ? ROWSCAN_CACHE_FAILED : lone[_i].lacks);
  ck_assert_ptr_nonnull(
      strstr(rowscan_last_error(), "3 of 6 pairs of a spec and an architecture failed; the first: sm_75: "));
  ck_assert(lone[_i].lacks == ROWSCAN_NO_COMPILER || strstr(rowscan_last_error(), " nor in 1 pack"));
  ck_assert_int_eq(told->compiles, compiles);
  ck_assert_int_eq(count_exported(context, NULL), entries_of(list, 1, three, 3));
  rowscan_close(context);
}
END_TEST

/* Each line of the first entry's key; that of a kernel's shape has blanks, which pairs of a filter have not. */
static int find_by_each_field(void *user, const rowscan_cache_entry *entry) {
  rowscan_context *context = user;
  for (const char *line = entry->key; *line; line += strcspn(line, "\n") + 1) {
    int length = (int)strcspn(line, "\n");
    char *pair = path_of("%.*s", length, line);
    if (!strncmp(pair, "shape=", 6))
      *strchrnul(pair, ' ') = 0;
    else
      ck_assert_msg(count_exported(context, ROWSCAN_CACHE_FILTER(.spec = pair)) > 0, "%s", pair);
    ck_assert_int_ge(count_exported(context, ROWSCAN_CACHE_FILTER(.spec = pair)), 0);
  }
  return 1;
}

START_TEST(filters_know_each_field_of_a_key) {
  rowscan_context *context = warmed();
  ck_assert_int_eq(rowscan_cache_visit(context, find_by_each_field, context), ROWSCAN_OK);
  rowscan_close(context);
}
END_TEST

/* _i: 0 without NVRTC, 1 with another one that must not be used, 2 with another one; 3 to 5: and imported. */
START_TEST(entries_serve_without_the_compiler_that_made_them) {
  static const char *const ids[] = {NULL, another_id, another_id};
  bool imported = _i >= 3;
  int how = _i % 3, all = entries_of(list, SPECS, three, 2), one = kernels_of(&list[0], "sm_90");
  int made = how < 2 ? 0 : imported ? all + one : one; /* a pack's serve whichever compiler made them */
  rowscan_context *from = warmed(), *context = NULL;
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  char *file = fresh(), *dir = fresh();
  ck_assert_int_eq(rowscan_cache_export(from, file, ROWSCAN_CACHE_FILTER(.archs = three, .arch_count = 2), &exported),
                   ROWSCAN_OK);
  rowscan_close(from);
  int compiles = told->compiles;
  if (imported) {
    rowscan_cache_imported sum = ROWSCAN_INFO(sum);
    context = open_without(dir, "off", false, NULL);
    ck_assert_int_eq(rowscan_cache_import(context, file, &sum), ROWSCAN_OK);
    rowscan_close(context);
  }
  context = open_without(dir, imported ? "off" : file, how == 1, ids[how]);
  for (int i = 0; i < SPECS * 2; i++)
    ck_assert_int_eq(compile(context, &list[i / 2], three[i % 2]), ROWSCAN_OK);
  static const rowscan_status absent[] = {ROWSCAN_NO_COMPILER, ROWSCAN_NOT_CACHED, ROWSCAN_OK};
  ck_assert_int_eq(compile(context, &list[0], "sm_90"), absent[how]);
  if (_i == 1)
    ck_assert_ptr_nonnull(
        strstr(rowscan_last_error(), ") nor in 1 pack, and the program (cache_only) disables compilation"));
  rowscan_cache_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(rowscan_cache_info_get(context, &info), ROWSCAN_OK);
  ck_assert(info.packs == !imported && info.pack_entries == (imported ? 0 : all));
  ck_assert_int_eq(info.entries, (imported ? all : 0) + made);
  ck_assert_int_eq(info.counts.hits, how == 2 && imported ? 0 : all);
  ck_assert_int_eq(told->compiles, compiles + made);
  rowscan_close(context);
}
END_TEST

START_TEST(what_a_pack_has_is_not_compiled) {
  rowscan_context *from = warmed(), *context = NULL;
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  char *file = fresh();
  ck_assert_int_eq(rowscan_cache_export(from, file, ROWSCAN_CACHE_FILTER(.spec = "length=33000"), &exported),
                   ROWSCAN_OK);
  rowscan_close(from);
  int compiles = told->compiles;
  ck_assert_int_eq(rs_context_open(&context,
                                   ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_dir = fresh(),
                                                   .cache_packs = file),
                                   make_compiler(13000)),
                   ROWSCAN_OK);
  ck_assert_int_eq(compile(context, &list[1], "sm_90"), ROWSCAN_OK);
  ck_assert_int_eq(told->compiles, compiles);
  explained hit = ask(context, &list[1], "sm_90"), miss = ask(context, &list[0], "sm_90");
  for (int i = 0; i < hit.count; i++)
    ck_assert(hit.hit[i]);
  ck_assert(hit.count == kernels_of(&list[1], "sm_90") && !miss.hit[0]);
  ck_assert_int_eq(compile(context, &list[0], "sm_90"), ROWSCAN_OK);
  ck_assert_int_eq(told->compiles, compiles + kernels_of(&list[0], "sm_90"));
  rowscan_close(context);
}
END_TEST

/* Of as near ones the directory's. */
START_TEST(the_nearest_may_be_in_a_pack) {
  const rowscan_spec *plain = ROWSCAN_SPEC(.length = 100),
                     *reverse = ROWSCAN_SPEC(.length = 100, .flags = ROWSCAN_REVERSE),
                     *exclusive = ROWSCAN_SPEC(.length = 100, .flags = ROWSCAN_EXCLUSIVE),
                     *both = ROWSCAN_SPEC(.length = 100, .flags = ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE);
  rowscan_context *context = open_context(fresh(), false);
  ck_assert_int_eq(compile(context, plain, "sm_90"), ROWSCAN_OK);
  ck_assert_int_eq(compile(context, reverse, "sm_90"), ROWSCAN_OK);
  explained there = ask(context, reverse, "sm_90");
  char *far = pack_of(context, "reverse=0"), *near = pack_of(context, "reverse=1");
  rowscan_close(context);
  for (int swapped = 0; swapped < 2; swapped++) {
    context = open_without(fresh(), path_of("%s:%s", swapped ? near : far, swapped ? far : near), false, compiler_id);
    explained told_of = ask(context, both, "sm_90");
    ck_assert_int_eq(told_of.count, there.count);
    for (int i = 0; i < told_of.count; i++) {
      ck_assert_str_eq(told_of.text[i], "exclusive: 1 -> 0; ");
      ck_assert_str_eq(told_of.nearest[i], there.name[i]);
      ck_assert_str_eq(told_of.pack[i], near);
    }
    ck_assert_int_eq(compile(context, exclusive, "sm_90"), ROWSCAN_OK);
    told_of = ask(context, both, "sm_90");
    ck_assert_str_eq(told_of.text[0], "reverse: 1 -> 0; ");
    ck_assert_str_eq(told_of.pack[0], "");
    rowscan_close(context);
  }
}
END_TEST

/* _i: 0 with the compiler that made it, 1 without any, 2 with another one: its stem is what is asked for. */
START_TEST(damage_in_a_pack_is_told) {
  static const char *const ids[] = {compiler_id, NULL, another_id};
  static const char *const one_kernel = "length=33000 kernel=aligned";
  rowscan_context *context = warmed();
  explained there = ask(context, &list[1], "sm_75");
  char *file = pack_of(context, path_of("%s arch=sm_75", one_kernel)), *sound = pack_of(context, one_kernel);
  rowscan_close(context);
  damage_pack(file);
  context = open_without(fresh(), file, false, ids[_i]);
  explained told_of = ask(context, &list[1], "sm_75");
  int damaged = 0;
  for (int i = 0; i < told_of.count; i++) {
    bool here = !strcmp(told_of.kernel[i], "aligned");
    ck_assert(!told_of.hit[i] && !*told_of.nearest[i] && !*told_of.text[i]);
    ck_assert_str_eq(told_of.damage[i], here ? "its digest differs" : "");
    ck_assert_str_eq(told_of.pack[i], here ? file : "");
    ck_assert_int_eq(!strcmp(told_of.name[i], there.name[i]), here || _i == 0);
    damaged += here;
  }
  ck_assert_int_eq(damaged, 1);
  explained other = ask(context, &list[1], "sm_80"); /* for which it is nothing */
  ck_assert(!*other.damage[0] && !*other.nearest[0]);
  rowscan_close(context);
  /* Another pack has it. */
  context = open_without(fresh(), path_of("%s:%s", file, sound), false, ids[_i]);
  told_of = ask(context, &list[1], "sm_75");
  for (int i = 0; i < told_of.count; i++)
    if (!strcmp(told_of.kernel[i], "aligned")) {
      ck_assert(told_of.hit[i] && !*told_of.damage[i]);
      ck_assert_str_eq(told_of.pack[i], sound);
    }
  rowscan_close(context);
}
END_TEST

START_TEST(damage_in_the_directory_is_told_first) {
  char *dir = fresh();
  rowscan_context *context = open_context(dir, false);
  ck_assert_int_eq(compile(context, &list[0], "sm_90"), ROWSCAN_OK);
  char *file = pack_of(context, "kernel=aligned");
  explained there = ask(context, &list[0], "sm_90");
  rowscan_close(context);
  ck_assert_str_eq(there.kernel[0], "aligned");
  damage_pack(file);
  context = open_without(dir, file, false, compiler_id);
  explained told_of = ask(context, &list[0], "sm_90");
  ck_assert(told_of.hit[0] && !*told_of.damage[0] && !*told_of.pack[0]);
  spill(path_of("%s/%s", dir, there.name[0]), "nonsense", 8);
  told_of = ask(context, &list[0], "sm_90");
  ck_assert(!told_of.hit[0] && !*told_of.pack[0]);
  ck_assert_str_eq(told_of.damage[0], "truncated");
  rowscan_close(context);
}
END_TEST

typedef struct packed {
  const char *file;
  int entries, damaged, stop_after;
} packed;

static int note_entry(void *user, const rowscan_cache_entry *entry) {
  packed *book = user;
  ck_assert_uint_eq(entry->size, sizeof *entry);
  ck_assert((entry->key == NULL) == (entry->damage != NULL));
  ck_assert(book->file ? !strcmp(entry->pack, book->file) : !entry->pack);
  book->damaged += entry->damage != NULL;
  return ++book->entries == book->stop_after;
}

START_TEST(entries_of_packs_are_visited) {
  rowscan_context *context = warmed();
  packed own = {0}, none = {0};
  ck_assert_int_eq(rowscan_cache_visit(context, note_entry, &own), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_cache_visit_packs(context, note_entry, &none), ROWSCAN_OK);
  ck_assert(own.entries == entries_of(list, SPECS, three, 3) && !own.damaged && !none.entries);
  packed all = {.file = pack_of(context, NULL)}, one = {.file = all.file, .stop_after = 1};
  rowscan_close(context);
  damage_pack(all.file);
  context = open_without(fresh(), all.file, false, compiler_id);
  ck_assert_int_eq(rowscan_cache_visit(context, note_entry, &none), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_cache_visit_packs(context, note_entry, &all), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_cache_visit_packs(context, note_entry, &one), ROWSCAN_OK);
  ck_assert(none.entries == 0 && one.entries == 1);
  ck_assert_int_eq(all.entries, own.entries);
  ck_assert_int_eq(all.damaged, 1);
  rowscan_close(context);
}
END_TEST

START_TEST(what_makes_no_pack_is_told) {
  static const char *const bad[] = {"sm_90", "90"};
  rowscan_context *context = warmed(), *off;
  rowscan_cache_exported exported = ROWSCAN_INFO(exported), wrong_size = {0};
  rowscan_cache_imported imported = ROWSCAN_INFO(imported);
  const struct {
    rowscan_cache_filter filter;
    const char *message;
  } cases[] = {
      {{.size = 1}, "'size': 1"},
      /* what is longer than the library's is refused for the address that follows here, a byte of which may be 0 */
      {{.size = sizeof(rowscan_cache_filter) + sizeof(char *), .spec = "in=f32 reverse"}, "'size'"},
      {{.size = sizeof(rowscan_cache_filter), .spec = "in=f32 reverse"},
       "'reverse' is not field=value (filter: field 'spec')"},
      {{.size = sizeof(rowscan_cache_filter), .spec = "in=f32 kernel"}, "'kernel' is not field=value"},
      {{.size = sizeof(rowscan_cache_filter), .spec = "lenght=5"}, "field 'lenght': unknown; the fields are"},
      {{.size = sizeof(rowscan_cache_filter), .spec = "in=float"}, "field 'in': 'float' is not one of f16,"},
      {{.size = sizeof(rowscan_cache_filter), .spec = "=f32"}, "field ''"},
      {{.size = sizeof(rowscan_cache_filter), .arch_count = 1}, "'arch_count': 1, but 'archs' is NULL"},
      {{.size = sizeof(rowscan_cache_filter), .archs = bad, .arch_count = -1}, "'arch_count': -1"},
      {{.size = sizeof(rowscan_cache_filter), .archs = bad, .arch_count = 2}, "'arch': '90' is not an architecture"}};
  char *file = fresh();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_int_eq(rowscan_cache_export(context, file, &cases[i].filter, &exported), ROWSCAN_BAD_ARGUMENT);
    ck_assert_msg(strstr(rowscan_last_error(), cases[i].message) != NULL, "%s", rowscan_last_error());
  }
  ck_assert_int_eq(rowscan_cache_export(context, file, NULL, &wrong_size), ROWSCAN_BAD_ARGUMENT);
  ck_assert_int_eq(rowscan_cache_import_memory(context, "x", 1, &(rowscan_cache_imported){0}), ROWSCAN_BAD_ARGUMENT);
  ck_assert_int_eq(rowscan_cache_export(context, "", NULL, &exported), ROWSCAN_BAD_ARGUMENT);
  ck_assert_str_eq(rowscan_last_error(), "field 'file': '' is not the name of a file");
  ck_assert_int_eq(rowscan_cache_import(context, "", &imported), ROWSCAN_BAD_ARGUMENT);
  ck_assert_str_eq(rowscan_last_error(), "field 'file': '' is not the name of a file");
  ck_assert(!exists(file));
  ck_assert_int_eq(rowscan_cache_export(context, path_of("%s/below", file), NULL, &exported), ROWSCAN_CACHE_FAILED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "/below cannot be written: No such file"));
  ck_assert_int_eq(mkfifo(path_of("%s-fifo", file), 0600), 0);
  const char *no_files[] = {"/dev/null", path_of("%s-fifo", file)};
  for (int i = 0; i < 2; i++) {
    struct stat before, after;
    ck_assert_int_eq(lstat(no_files[i], &before), 0);
    ck_assert_int_eq(rowscan_cache_export(context, no_files[i], NULL, &exported), ROWSCAN_CACHE_FAILED);
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), " cannot be written: it is not a regular file"));
    ck_assert_int_eq(lstat(no_files[i], &after), 0);
    ck_assert(after.st_mode == before.st_mode && after.st_ino == before.st_ino);
  }
  char *target = path_of("%s-target", file), *link = path_of("%s-link", file);
  spill(target, "", 0);
  ck_assert_int_eq(symlink(target, link), 0);
  ck_assert_int_eq(rowscan_cache_export(context, link, NULL, &exported), ROWSCAN_OK);
  size_t bytes;
  free(slurp(target, &bytes));
  ck_assert_int_eq(bytes, exported.bytes);
  ck_assert_int_eq(rowscan_cache_import(context, file, &imported), ROWSCAN_CACHE_FAILED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "is not used: there is no such file"));
  ck_assert_int_eq(rowscan_cache_import(context, path_of("%s\x1b[m\n", file), &imported), ROWSCAN_CACHE_FAILED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "\\x1b[m\\x0a is not used: there is no such file"));
  ck_assert_int_eq(rowscan_cache_import_memory(context, NULL, 0, &imported), ROWSCAN_CACHE_FAILED);
  ck_assert_str_eq(rowscan_last_error(), "the pack in memory is not used: truncated");
  rowscan_close(context);
  setenv("ROWSCAN_CACHE", "off", 1);
  off = open_context(NULL, false);
  ck_assert_int_eq(rowscan_cache_export(off, file, NULL, &exported), ROWSCAN_CACHE_FAILED);
  ck_assert_str_eq(rowscan_last_error(), "there is no cache on disk: turned off by ROWSCAN_CACHE=off");
  ck_assert_int_eq(rowscan_cache_import(off, file, &imported), ROWSCAN_CACHE_FAILED);
  rowscan_close(off);
}
END_TEST

/* ---- the log ----------------------------------------------------------------------------------------------------- */

static void count_message(void *user, rowscan_log_level level, const char *message) {
  (void)level, (void)message;
  ++*(int *)user;
}

/* What opening a context, compiling with it and closing it write to standard error. */
static const char *written(const char *level, int *messages) {
  static char text[65536];
  char *path = path_of("%s/stderr", parent_of(fresh()));
  if (level)
    setenv("ROWSCAN_LOG", level, 1);
  int real = dup(STDERR_FILENO), file = open(path, O_RDWR | O_CREAT, 0600);
  ck_assert_int_ge(dup2(file, STDERR_FILENO), 0);
  rowscan_context *context = NULL;
  rowscan_status opened =
      rs_context_open(&context,
                      ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_dir = fresh(),
                                      .user = messages, .log = messages ? count_message : NULL),
                      make_compiler(13000));
  rowscan_status compiled = opened ? opened : compile(context, &list[0], "sm_90");
  rowscan_close(context);
  dup2(real, STDERR_FILENO);
  ck_assert_int_eq(compiled, ROWSCAN_OK);
  ssize_t length = pread(file, text, sizeof text - 1, 0);
  text[length < 0 ? 0 : length] = 0;
  close(real);
  close(file);
  unsetenv("ROWSCAN_LOG");
  return text;
}

START_TEST(the_environment_asks_for_a_log) {
  int messages = 0;
  ck_assert_str_eq(written(NULL, NULL), "");
  ck_assert_str_eq(written("", NULL), "");
  ck_assert_str_eq(written("warning", NULL), "");
  ck_assert_str_eq(written("info", NULL), "");
  const char *text = written("debug", NULL);
  ck_assert_int_eq(strncmp(text, "rowscan: debug: the cache is /", 30), 0);
  ck_assert_ptr_nonnull(strstr(text, "\nrowscan: debug: sm_90: compiled in "));
  ck_assert_int_eq(strncmp(written("DebUG", NULL), "rowscan: debug: the cache is /", 30), 0);
  ck_assert_str_eq(written("loud", NULL), "rowscan: warning: ROWSCAN_LOG: 'loud' is not one of warning, info, debug\n");
  ck_assert_str_eq(written("debug", &messages), "");
  ck_assert_int_ge(messages, 4);
}
END_TEST

/* With a log there, without one on standard error; and what it says means that. */
START_TEST(unknown_words_are_told) {
  static const char told_of[] = "rowscan: warning: ROWSCAN_CACHE: 'onyl' is not one of on, off, only\n";
  int messages = 0;
  setenv("ROWSCAN_CACHE", "onyl", 1);
  ck_assert_str_eq(written(NULL, NULL), told_of);
  ck_assert_str_eq(written("WARNING", NULL), told_of);
  ck_assert_str_eq(written("loud", NULL),
                   path_of("rowscan: warning: ROWSCAN_LOG: 'loud' is not one of warning, info, debug\n%s", told_of));
  ck_assert_str_eq(written(NULL, &messages), "");
  ck_assert_int_ge(messages, 1);
  setenv("ROWSCAN_CACHE", "On", 1);
  setenv("ROWSCAN_TUNE", "hopper", 1);
  ck_assert_str_eq(written(NULL, NULL),
                   "rowscan: warning: ROWSCAN_TUNE: 'hopper' is not an architecture of sm_75 or later\n");
  unsetenv("ROWSCAN_TUNE");
  ck_assert_str_eq(written(NULL, NULL), "");
}
END_TEST

START_TEST(words_have_any_case) {
  static const char *const words[] = {"on", "off", "only", NULL};
  static const struct {
    const char *value;
    int place;
  } cases[] = {{"", RS_WORD_UNSET}, {"on", 0},   {"ON", 0},   {"off", 1},    {"oFF", 1},         {"ONLY", 2},
               {"Only", 2},         {"only", 2}, {"onl", -2}, {"only ", -2}, {"\303\226nly", -2}};
  rs_log log = rs_log_open(count_message, &(int){0});
  unsetenv("ROWSCAN_SOMETHING");
  ck_assert_int_eq(rs_log_word(&log, "ROWSCAN_SOMETHING", words), RS_WORD_UNSET);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    setenv("ROWSCAN_SOMETHING", cases[i].value, 1);
    ck_assert_msg(rs_log_word(&log, "ROWSCAN_SOMETHING", words) == cases[i].place, "%s", cases[i].value);
  }
}
END_TEST

/* ---- the host ---------------------------------------------------------------------------------------------------- */

/* It compiles nothing, and so it has no use for a cache until someone asks for kernels. */
START_TEST(a_scan_on_the_host_makes_no_directory) {
  float numbers[5] = {1, 2, 3, 4, 5};
  int64_t shape[1] = {5};
  char *dir = fresh(), *file = fresh();
  spill(file, "", 0);
  for (int i = 0; i < 2; i++) {
    int messages = 0;
    rowscan_context *context;
    rowscan_options options = {
        .size = sizeof options, .engine = ROWSCAN_ENGINE_HOST, .threads = 1, .user = &messages, .log = count_message};
    options.cache_dir = i ? file : dir;
    ck_assert_int_eq(rowscan_open(&context, &options), ROWSCAN_OK);
    ck_assert_int_eq(rowscan_scan(context,
                                  ROWSCAN_PROBLEM(.rank = 1, .dim = 0, .shape = shape, .input = {.data = numbers},
                                                  .output = {.data = numbers}),
                                  NULL),
                     ROWSCAN_OK);
    rowscan_plan *plan = NULL;
    ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 100)), ROWSCAN_OK);
    ck_assert_int_eq(rowscan_plan_prepare(plan, NULL), ROWSCAN_OK);
    rowscan_plan_destroy(plan);
    rowscan_close(context);
    ck_assert(!exists(dir));
    ck_assert_int_eq(messages, 0);
    ck_assert_int_eq(rowscan_open(&context, &options), ROWSCAN_OK);
    rowscan_cache_info info = ROWSCAN_INFO(info);
    ck_assert_int_eq(rowscan_cache_info_get(context, &info), ROWSCAN_OK);
    ck_assert_str_eq(info.path, i ? "" : dir);
    ck_assert_int_eq(strstr(info.why, file) != NULL, i);
    ck_assert_int_ge(messages, 1); /* where it is, or why there is none */
    rowscan_close(context);
    ck_assert_int_eq(exists(dir), !i);
    remove_tree(dir);
  }
}
END_TEST

/* ---- a child ----------------------------------------------------------------------------------------------------- */

/* Which has none of its parent's threads, and whose locks may be held by one of those: nothing is waited for. */
START_TEST(a_child_leaves_alone_what_its_parent_opened) {
  rowscan_context *context = open_threads(fresh(), false, 4);
  rowscan_plan *made = NULL, *compiled = NULL;
  ck_assert_int_eq(rowscan_plan_create(&made, context, ROWSCAN_SPEC(.length = 100)), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_plan_compile(&compiled, context, ROWSCAN_SPEC(.length = 100), "sm_90"), ROWSCAN_OK);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    rowscan_plan_destroy(compiled);
    rowscan_plan_destroy(made);
    rowscan_close(context);
    _exit(told->programs);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  rowscan_plan_destroy(compiled);
  rowscan_plan_destroy(made);
  rowscan_close(context);
}
END_TEST

int main(void) {
  lot_tell();
  Suite *suite = suite_create("warm");
  TCase *cases = add_case(suite, "never compiling");
  tcase_add_loop_test(cases, whoever_filled_it, 0, sizeof fillings / sizeof *fillings);
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  tcase_add_loop_test(cases, what_is_missing_is_told, 0, 2);
  lot_add_test(cases, what_spilled_is_found_with_its_blocks);
  lot_add_test(cases, the_host_compiles_nothing);
  cases = add_case(suite, "filling the cache");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  lot_add_test(cases, all_pairs_are_made_once);
  lot_add_test(cases, no_list_of_archs_is_all_there_are);
  lot_add_test(cases, a_list_too_long_for_the_limit_is_told);
  tcase_add_loop_test(cases, many_compile_at_a_time, 0, 4);
  lot_add_test(cases, a_short_list_uses_all_threads);
  tcase_add_loop_test(cases, a_plan_is_built_on_all_threads, 1, 5);
  lot_add_test(cases, a_visit_may_end_it);
  lot_add_test(cases, one_failure_is_not_all);
  lot_add_test(cases, what_is_missing_is_told_of_all);
  lot_add_test(cases, what_is_not_kept_is_told);
  lot_add_test(cases, bad_lists_are_refused);
  lot_add_test(cases, older_specs_are_read);
  cases = add_case(suite, "why");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  lot_add_test(cases, misses_are_explained);
  lot_add_test(cases, damage_is_told_and_the_last_used_is_nearest);
  lot_add_test(cases, what_can_not_be_explained_is_told);
  tcase_add_loop_test(cases, another_compiler_is_a_field_like_others, 0, 3);
  cases = add_case(suite, "packs");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  lot_add_test(cases, a_pack_makes_another_cache_complete);
  lot_add_test(cases, a_pack_too_large_for_the_limit_is_told);
  lot_add_test(cases, filters_choose_by_arch_and_field);
  lot_add_test(cases, filters_know_each_field_of_a_key);
  lot_add_test(cases, what_is_not_exported_is_told);
  lot_add_test(cases, what_was_warmed_is_exported);
  lot_add_test(cases, kernels_for_any_length_are_exported_for_a_generation);
  tcase_add_loop_test(cases, packs_serve_alone, 0, sizeof lone / sizeof *lone);
  tcase_add_loop_test(cases, entries_serve_without_the_compiler_that_made_them, 0, 6);
  lot_add_test(cases, what_a_pack_has_is_not_compiled);
  lot_add_test(cases, the_nearest_may_be_in_a_pack);
  tcase_add_loop_test(cases, damage_in_a_pack_is_told, 0, 3);
  lot_add_test(cases, damage_in_the_directory_is_told_first);
  lot_add_test(cases, entries_of_packs_are_visited);
  lot_add_test(cases, what_makes_no_pack_is_told);
  cases = add_case(suite, "the log");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  lot_add_test(cases, the_environment_asks_for_a_log);
  lot_add_test(cases, unknown_words_are_told);
  lot_add_test(cases, words_have_any_case);

  cases = add_case(suite, "the host");
  lot_add_test(cases, a_scan_on_the_host_makes_no_directory);

  cases = add_case(suite, "a child");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  lot_add_test(cases, a_child_leaves_alone_what_its_parent_opened);
  return run_suite(suite);
}
