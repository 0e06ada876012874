/*
 * test_warm.c - kernels that are ready before they are needed: never compiling
 * SPDX-License-Identifier: MIT
 *
 * Contexts of the API, but with a compiler of our own making: neither a GPU nor NVRTC is needed.
 */
#include "cache_help.h"

#include "context.h"
#include "fake_nvrtc.h"

/* dir: of the cache; NULL: the environment's. */
static rowscan_context *open_context(const char *dir, bool only) {
  rowscan_context *context = NULL;
  const rowscan_options *options =
      ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_dir = dir, .cache_only = only);
  ck_assert_int_eq(rs_context_open(&context, options, make_compiler(13000)), ROWSCAN_OK);
  return context;
}

static rowscan_status compile(rowscan_context *context, const rowscan_spec *spec, const char *arch) {
  rowscan_plan *plan = NULL;
  rowscan_status status = rowscan_plan_compile(&plan, context, spec, arch);
  rowscan_plan_destroy(plan);
  return status;
}

/* ---- never compiling --------------------------------------------------------------------------------------------- */

/* _i: by the option, or by the environment. */
START_TEST(what_is_missing_is_told) {
  char *dir = fresh();
  const rowscan_spec *spec = ROWSCAN_SPEC(.length = 33000, .in = ROWSCAN_BF16, .flags = ROWSCAN_REVERSE);
  if (_i)
    setenv("ROWSCAN_CACHE", "only", 1);
  rowscan_context *context = open_context(dir, !_i);
  static const char missing[] = "forbids compiling: sm_90: op=sum in=bf16 out=bf16 acc=f32 mask=none reverse=1 "
                                "exclusive=0 length=33000 layout=rows row_rank=1 regime=row";
  ck_assert_int_eq(compile(context, spec, "sm_90"), ROWSCAN_NOT_CACHED);
  ck_assert_str_eq(rowscan_last_error(), path_of("not in the cache (%s), and %s %s", dir,
                                                 _i ? "ROWSCAN_CACHE=only" : "the program (cache_only)", missing));
  ck_assert_str_eq(rowscan_status_name(ROWSCAN_NOT_CACHED), "ROWSCAN_NOT_CACHED");
  ck_assert_int_eq(told->compiles, 0);
  rowscan_close(context);
  unsetenv("ROWSCAN_CACHE");
  context = open_context(dir, false);
  ck_assert_int_eq(compile(context, spec, "sm_90"), ROWSCAN_OK);
  rowscan_close(context);
  int compiles = told->compiles;
  ck_assert_int_eq(compiles, 2);
  context = open_context(dir, true);
  ck_assert_int_eq(compile(context, spec, "sm_90"), ROWSCAN_OK);
  ck_assert_int_eq(compile(context, spec, "sm_80"), ROWSCAN_NOT_CACHED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "sm_80: "));
  ck_assert_int_eq(told->compiles, compiles);
  rowscan_close(context);
}
END_TEST

START_TEST(the_host_compiles_nothing) {
  rowscan_context *context = open_context(fresh(), true);
  float x[3] = {1, 2, 3};
  int64_t shape[] = {3};
  rowscan_tensor tensor = {.data = x, .type = ROWSCAN_F32};
  ck_assert_int_eq(rowscan_scan(context, ROWSCAN_PROBLEM(.rank = 1, .shape = shape, .in = tensor, .out = tensor), NULL),
                   ROWSCAN_OK);
  ck_assert(x[2] == 6);
  rowscan_close(context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("warm");
  TCase *cases = add_case(suite, "never compiling");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  tcase_add_loop_test(cases, what_is_missing_is_told, 0, 2);
  tcase_add_test(cases, the_host_compiles_nothing);
  return run_suite(suite);
}
