/*
 * test_tiers.c - no run waits for its own kernel: one for any length serves, and a thread makes what comes back
 * SPDX-License-Identifier: MIT
 *
 * On a GPU, or the simulated one under tests/system/simulated.sh. What is right is what the host engine says.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../gpu/device.h"
#include "../support/cache_help.h"
#include "../support/lot.h"
#include "../support/resident.h"
#include "base/ints.h"
#include "family/universal.h"
#include "run/plan.h"

enum { MOST = 4096, ROWS = 3, OFTEN = 8, LENGTHS = 12 };

static rowscan_context *host;
static struct arrays *own; /* of the test's own thread */
static char *program;

/* With no cache on disk, which might have what is to be compiled. */
static rowscan_context *open_gpu(rowscan_compile compile, bool cache_only) {
  rowscan_context *context;
  ck_assert_msg(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .compile = compile,
                                                        .cache_only = cache_only, .cache_off = 1)),
                "%s", rowscan_last_error());
  return context;
}

static rowscan_context_info info_of(const rowscan_context *context) {
  rowscan_context_info info = ROWSCAN_INFO(rowscan_context_info);
  ck_assert(!rowscan_context_info_get(context, &info));
  return info;
}

static int64_t compiles_of(rowscan_context *context) {
  rowscan_cache_info info = ROWSCAN_INFO(rowscan_cache_info);
  ck_assert(!rowscan_cache_info_get(context, &info));
  return info.counts.compiles;
}

/* ---- a scan ------------------------------------------------------------------------------------------------------ */

typedef struct arrays {
  float in[ROWS * MOST], right[ROWS * MOST], out[ROWS * MOST];
  void *device_in, *device_out;
} arrays;

static arrays *new_arrays(void) {
  arrays *a = calloc(1, sizeof *a);
  ck_assert_ptr_nonnull(a);
  for (int i = 0; i < ROWS * MOST; i++)
    a->in[i] = (float)((i * 2654435761u >> 9) & 4095) / 1024 - 2;
  a->device_in = device_alloc(sizeof a->in);
  a->device_out = device_alloc(sizeof a->out);
  device_upload(a->device_in, a->in, sizeof a->in, NULL);
  device_wait(NULL);
  return a;
}

static void free_arrays(arrays *a) {
  device_free(a->device_in);
  device_free(a->device_out);
  free(a);
}

static void set_up(void) {
  ck_assert_msg(!device_open(), "no GPU in this process");
  ck_assert(!rowscan_open(&host, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1)));
  own = new_arrays();
}

static void tear_down(void) {
  free_arrays(own);
  rowscan_close(host);
  device_close();
}

static rowscan_problem problem_of(const void *in, void *out, const int64_t *shape, int dim) {
  return (rowscan_problem){.size = sizeof(rowscan_problem),
                           .rank = 2,
                           .shape = shape,
                           .dim = dim,
                           .input = {(void *)in, ROWSCAN_F32},
                           .output = {out, ROWSCAN_F32}};
}

/* A directory for a cache, whatever the environment says of it. */
static char *new_cache(void) {
  setenv("ROWSCAN_CACHE", "on", 1);
  return fresh();
}

/* Returns what the call did. */
static rowscan_status scan_shape(rowscan_context *context, arrays *a, const int64_t shape[2], int dim,
                                 device_stream stream) {
  rowscan_problem p = problem_of(a->in, a->right, shape, dim);
  ck_assert(!rowscan_scan(host, &p, NULL));
  device_fill(a->device_out, 0xff, sizeof a->out, stream);
  p = problem_of(a->device_in, a->device_out, shape, dim);
  return rowscan_scan(context, &p, stream);
}

/* Of ROWS rows of so many elements, or as many columns. */
static rowscan_status scan(rowscan_context *context, arrays *a, int64_t length, bool columns, device_stream stream) {
  return scan_shape(context, a, (int64_t[]){columns ? length : ROWS, columns ? ROWS : length}, !columns, stream);
}

static void compare_rows(arrays *a, int64_t rows, int64_t length, device_stream stream) {
  device_download(a->out, a->device_out, sizeof a->out, stream);
  device_wait(stream);
  ck_assert_msg(!memcmp(a->out, a->right, (size_t)(rows * length) * sizeof *a->out), "%lld elements",
                (long long)length);
}

static void compare(arrays *a, int64_t length, device_stream stream) {
  compare_rows(a, ROWS, length, stream);
}

static void scan_right(rowscan_context *context, arrays *a, int64_t length, bool columns) {
  ck_assert_msg(!scan(context, a, length, columns, NULL), "%s", rowscan_last_error());
  compare(a, length, NULL);
}

/* Until the thread has made so many kernels. */
static void wait_for(const rowscan_context *context, int64_t kernels) {
  enum { SECONDS = 240, A_SECOND = 100 };
  for (int i = 0; i < SECONDS * A_SECOND && info_of(context).background_kernels < kernels; i++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000000 / A_SECOND}, NULL);
  ck_assert_int_eq(info_of(context).background_kernels, kernels);
}

static void run_plan(rowscan_plan *plan, arrays *a, int64_t length, int64_t told) {
  const int64_t shape[] = {ROWS, length};
  rowscan_problem p = problem_of(a->in, a->right, shape, 1);
  ck_assert(!rowscan_scan(host, &p, NULL));
  ck_assert_msg(
      !rowscan_plan_run(
          plan, ROWSCAN_ARGS(.input = a->device_in, .output = a->device_out, .rows = ROWS, .length = told), NULL),
      "%s", rowscan_last_error());
  compare(a, length, NULL);
}

/* ---- universal kernels --------------------------------------------------------------------------------------------
 */

/* A cache that has them for sums of f32 alone. */
static char *universal_cache(void) {
  rowscan_context *context;
  rowscan_spec spec = {.size = sizeof spec, .length = 1}, universal;
  rs_program all;
  char *dir = new_cache();
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .cache_dir = dir)));
  ck_assert(!rowscan_spec_complete(&spec) && rs_universal_spec(&spec, &universal));
  rs_program_open(&all, &context->gpu, &universal, context->gpu.device.arch, true);
  ck_assert_msg(!rs_program_prepare(&all, NULL, 1), "%s", rowscan_last_error());
  rs_program_close(&all);
  rowscan_close(context);
  return dir;
}

static atomic_int warnings;

static void count_warnings(void *user, rowscan_log_level level, const char *message) {
  (void)user;
  warnings += level == ROWSCAN_LOG_WARNING && strstr(message, "scans run by universal kernels") != NULL;
}

static rowscan_context *open_with(const char *dir, rowscan_compile compile) {
  rowscan_context *context;
  warnings = 0;
  ck_assert_msg(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .compile = compile,
                                                        .cache_dir = dir, .log = count_warnings)),
                "%s", rowscan_last_error());
  return context;
}

/* Nobody waits for a compiler, rows or columns, whatever their length; what comes back gets a kernel of its own. */
START_TEST(universal_kernels_serve_at_once) {
  char *dir = universal_cache();
  rowscan_context *context = open_with(dir, ROWSCAN_COMPILE_BACKGROUND);
  int64_t runs = 0;
  for (int64_t length = 1; length <= MOST; length += 3 * length, runs += 2) { /* 7 of them */
    scan_right(context, own, length, false);
    scan_right(context, own, length, true);
  }
  ck_assert_int_eq(compiles_of(context), 0);
  ck_assert_int_eq(info_of(context).universal_runs, runs);
  ck_assert_int_eq(info_of(context).any_length_runs, runs);
  rowscan_close(context);
  context = open_with(dir, ROWSCAN_COMPILE_BACKGROUND);
  for (int i = 0; i < OFTEN; i++)
    scan_right(context, own, 999, _i);
  wait_for(context, 1);
  scan_right(context, own, 999, _i);
  ck_assert_int_eq(info_of(context).universal_runs, OFTEN);
  ck_assert_int_eq(warnings, 0);
  ck_assert_int_eq(compiles_of(context), 1);
  rowscan_close(context);
}
END_TEST

/* What comes back is the kernel for any length, where lengths never do. */
START_TEST(lengths_that_change_get_a_kernel_for_any) {
  rowscan_context *context = open_with(universal_cache(), ROWSCAN_COMPILE_BACKGROUND);
  for (int64_t length = 101; length < 101 + 2 * OFTEN; length += 2) /* which one kernel serves */
    scan_right(context, own, length, _i);
  wait_for(context, 1);
  ck_assert_int_eq(info_of(context).universal_runs, OFTEN);
  scan_right(context, own, 121, _i);
  ck_assert_int_eq(info_of(context).universal_runs, OFTEN);
  ck_assert_int_eq(info_of(context).any_length_runs, OFTEN + 1);
  rowscan_close(context);
}
END_TEST

typedef struct first_caller {
  pthread_t thread;
  pthread_barrier_t *barrier;
  rowscan_context *context;
  int number;
} first_caller;

static void *call_first(void *user) {
  first_caller *c = user;
  device_use();
  arrays *a = new_arrays();
  device_stream stream = device_stream_new();
  pthread_barrier_wait(c->barrier);
  ck_assert_msg(!scan(c->context, a, 300 + c->number, false, stream), "%s", rowscan_last_error());
  compare(a, 300 + c->number, stream);
  device_stream_free(stream);
  free_arrays(a);
  return NULL;
}

/* Each the first of its length, all at once: none finds that the kernel which another one loads is not there. */
START_TEST(universal_kernels_serve_all_that_call_at_once) {
  enum { THREADS = 8 };
  first_caller callers[THREADS];
  pthread_barrier_t barrier;
  rowscan_context *context;
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .cache_dir = universal_cache(),
                                                    .cache_only = 1, .compile = ROWSCAN_COMPILE_BACKGROUND)));
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    callers[i] = (first_caller){.barrier = &barrier, .context = context, .number = i};
    ck_assert(!pthread_create(&callers[i].thread, NULL, call_first, &callers[i]));
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(callers[i].thread, NULL);
  ck_assert_int_eq(info_of(context).universal_runs, THREADS);
  pthread_barrier_destroy(&barrier);
  rowscan_close(context);
}
END_TEST

/* Without a compiler they serve for good, plans and calls, and what they do not serve is an error. */
START_TEST(universal_kernels_serve_without_a_compiler) {
  char *dir = universal_cache();
  char *nvrtc = getenv("ROWSCAN_NVRTC");
  char *before = nvrtc ? strdup(nvrtc) : NULL;
  setenv("ROWSCAN_NVRTC", "/nowhere/libnvrtc.so.13", 1);
  rowscan_context *context = open_with(dir, _i ? ROWSCAN_COMPILE_NEVER : ROWSCAN_COMPILE_BACKGROUND);
  for (int i = 0; i < 2 * OFTEN; i++)
    scan_right(context, own, 700, i % 2);
  ck_assert_int_eq(info_of(context).universal_runs, 2 * OFTEN);
  ck_assert_int_eq(warnings, 1);
  rowscan_plan *plan;
  ck_assert_msg(!rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = ROWSCAN_ANY_LENGTH)), "%s",
                rowscan_last_error());
  ck_assert_msg(!rowscan_plan_prepare(plan, NULL), "%s", rowscan_last_error());
  run_plan(plan, own, 300, 300);
  run_plan(plan, own, 1, 1);
  rowscan_plan_destroy(plan);
  const int64_t shape[] = {ROWS, 70};
  rowscan_problem problem = problem_of(own->device_in, own->device_out, shape, 1);
  ck_assert_msg(!rowscan_prepare(context, &problem), "%s", rowscan_last_error());
  problem.op = ROWSCAN_PROD; /* which has no kernel here */
  ck_assert_int_eq(rowscan_prepare(context, &problem), ROWSCAN_NO_COMPILER);
  ck_assert_msg(!rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 0)), "%s", rowscan_last_error());
  rowscan_plan_destroy(plan);
  ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.op = ROWSCAN_PROD, .length = 5)),
                   ROWSCAN_NO_COMPILER);
  rowscan_close(context);
  if (before)
    setenv("ROWSCAN_NVRTC", before, 1);
  else
    unsetenv("ROWSCAN_NVRTC");
  free(before);
}
END_TEST

/* ---- lengths that change ----------------------------------------------------------------------------------------- */

/* Rows need no more than the kernels there are for any length, whatever lengths come, and the thread has nothing to do.
 */
START_TEST(new_lengths_compile_nothing) {
  enum { KERNELS = 5 };
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_BACKGROUND, false);
  for (int64_t length = 1; length <= MOST; length += length / 3 + 1)
    scan_right(context, own, length, _i);
  int64_t runs = info_of(context).any_length_runs;
  for (int64_t length = 2; length <= MOST; length += length / 2 + 1)
    scan_right(context, own, length, _i);
  ck_assert_int_le(compiles_of(context), KERNELS);
  ck_assert_int_gt(info_of(context).any_length_runs, runs);
  ck_assert_int_eq(info_of(context).background_kernels, 0);
  rowscan_close(context);
}
END_TEST

/* What comes back has a kernel of its own after a while, with the same bits before and after. */
START_TEST(what_comes_back_is_compiled) {
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_BACKGROUND, false);
  for (int i = 0; i < OFTEN - 1; i++)
    scan_right(context, own, 1000, _i);
  int64_t before = compiles_of(context);
  scan_right(context, own, 1000, _i);
  wait_for(context, 1);
  int64_t runs = info_of(context).any_length_runs;
  ck_assert_int_eq(runs, OFTEN);
  ck_assert_int_eq(compiles_of(context), before + 1);
  for (int i = 0; i < OFTEN; i++)
    scan_right(context, own, 1000, _i);
  ck_assert_int_eq(info_of(context).any_length_runs, runs);
  ck_assert_int_eq(info_of(context).background_failed, 0);
  ck_assert(info_of(context).background_ms > 0);
  rowscan_close(context);
}
END_TEST

/* Neither the option nor the variable says what is to be done. */
START_TEST(background_is_the_default) {
  unsetenv("ROWSCAN_COMPILE");
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_DEFAULT, false);
  for (int i = 0; i < OFTEN; i++)
    scan_right(context, own, 1300, false);
  ck_assert_int_eq(info_of(context).any_length_runs, OFTEN);
  wait_for(context, 1);
  rowscan_close(context);
  setenv("ROWSCAN_COMPILE", "never", 1);
  context = open_gpu(ROWSCAN_COMPILE_DEFAULT, false);
  for (int i = 0; i <= OFTEN; i++)
    scan_right(context, own, 1300, false);
  ck_assert_int_eq(info_of(context).any_length_runs, OFTEN + 1);
  rowscan_close(context);
}
END_TEST

START_TEST(never_leaves_it_at_that) {
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_NEVER, false);
  for (int i = 0; i < 3 * OFTEN; i++)
    scan_right(context, own, 1000, false);
  ck_assert_int_ge(info_of(context).any_length_runs, 3 * OFTEN);
  ck_assert_int_eq(info_of(context).background_kernels, 0);
  rowscan_close(context);
}
END_TEST

START_TEST(now_waits) {
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_NOW, false);
  scan_right(context, own, 1000, false);
  scan_right(context, own, 1001, false);
  ck_assert_int_eq(compiles_of(context), 2);
  ck_assert_int_eq(info_of(context).any_length_runs, 0);
  rowscan_close(context);
}
END_TEST

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* A plan is there before its kernels are, unless it is prepared. */
START_TEST(preparing_waits) {
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_BACKGROUND, false);
  rowscan_plan *plan;
  ck_assert(!rowscan_plan_create(&plan, context, &(rowscan_spec){.size = sizeof(rowscan_spec), .length = 1000}));
  run_plan(plan, own, 1000, 0);
  ck_assert_int_eq(info_of(context).any_length_runs, 1);
  ck_assert(
      !rowscan_plan_prepare(plan, ROWSCAN_ARGS(.input = own->device_in, .output = own->device_out, .rows = ROWS)));
  run_plan(plan, own, 1000, 1000);
  ck_assert_int_eq(info_of(context).any_length_runs, 1);
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

/* A plan for any length, and what it is told wrongly. */
START_TEST(a_plan_for_any_length) {
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_NOW, false);
  rowscan_plan *plan;
  ck_assert(!rowscan_plan_create(&plan, context,
                                 &(rowscan_spec){.size = sizeof(rowscan_spec), .length = ROWSCAN_ANY_LENGTH}));
  for (int64_t length = 1; length <= MOST; length += length / 2 + 1)
    run_plan(plan, own, length, length);
  ck_assert_int_eq(
      rowscan_plan_run(
          plan, ROWSCAN_ARGS(.input = own->device_in, .output = own->device_out, .rows = ROWS, .length = -5), NULL),
      ROWSCAN_BAD_ARGUMENT);
  ck_assert_str_eq(rowscan_last_error(), "args: field 'length': -5 is not a whole number, 0 to 2^56");
  rowscan_plan_destroy(plan);
  ck_assert(!rowscan_plan_create(&plan, context, &(rowscan_spec){.size = sizeof(rowscan_spec), .length = 7}));
  ck_assert_int_eq(
      rowscan_plan_run(
          plan, ROWSCAN_ARGS(.input = own->device_in, .output = own->device_out, .rows = ROWS, .length = 8), NULL),
      ROWSCAN_BAD_ARGUMENT);
  ck_assert_str_eq(rowscan_last_error(), "args: field 'length': 8, but the spec's is 7");
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

/* Rows and columns of no elements have their totals, which are initial values here. */
START_TEST(a_plan_for_any_length_of_nothing) {
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_NOW, false);
  rowscan_plan *plan;
  ck_assert(!rowscan_plan_create(
      &plan, context,
      &(rowscan_spec){.size = sizeof(rowscan_spec), .length = ROWSCAN_ANY_LENGTH, .layout = (rowscan_layout)_i}));
  device_fill(own->device_out, 0xff, sizeof own->out, NULL);
  ck_assert_msg(!rowscan_plan_run(plan,
                                  ROWSCAN_ARGS(.row_shape = (int64_t[]){_i ? 1 : ROWS, ROWS}, .rows = ROWS, .length = 0,
                                               .init = own->device_in, .totals = own->device_out),
                                  NULL),
                "%s", rowscan_last_error());
  device_download(own->out, own->device_out, sizeof own->out, NULL);
  device_wait(NULL);
  ck_assert_mem_eq(own->out, own->in, ROWS * sizeof *own->out);
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

/* ---- what goes on meanwhile -------------------------------------------------------------------------------------- */

/* A plan that goes while its kernel is wanted, or made; and the context after it. */
START_TEST(closed_meanwhile) {
  for (int i = 0; i < 4; i++) {
    rowscan_context *context = open_gpu(ROWSCAN_COMPILE_BACKGROUND, false);
    rowscan_plan *plan[2];
    for (int p = 0; p < 2; p++) {
      rowscan_spec spec = {.size = sizeof spec, .length = 1000 + 10 * i + p};
      ck_assert(!rowscan_plan_create(&plan[p], context, &spec));
      for (int run = 0; run <= OFTEN; run++)
        run_plan(plan[p], own, spec.length, 0);
    }
    if (i % 2)
      nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    rowscan_plan_destroy(plan[1]);
    rowscan_plan_destroy(plan[0]);
    rowscan_close(context);
  }
}
END_TEST

/* A graph keeps the kernel that was captured, and runs beside the other. */
START_TEST(captured) {
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_BACKGROUND, false);
  device_stream stream = device_stream_new();
  scan_right(context, own, 1000, false);
  device_capture(stream);
  ck_assert_msg(!scan(context, own, 1000, false, stream), "%s", rowscan_last_error());
  device_graph *graph = device_captured(stream);
  for (int i = 0; i < OFTEN; i++)
    scan_right(context, own, 1000, false);
  wait_for(context, 1);
  device_launch(graph, stream);
  compare(own, 1000, stream);
  device_graph_free(graph);
  device_stream_free(stream);
  rowscan_close(context);
}
END_TEST

typedef struct caller {
  pthread_t thread;
  rowscan_context *context;
  int number;
} caller;

static void *call_often(void *user) {
  caller *c = user;
  device_use();
  arrays *a = new_arrays();
  device_stream stream = device_stream_new();
  for (int i = 0; i < 3 * OFTEN; i++)
    for (int64_t length = 700; length < 704; length++) {
      ck_assert(!scan(c->context, a, length + c->number % 2, false, stream));
      compare(a, length + c->number % 2, stream);
    }
  device_stream_free(stream);
  free_arrays(a);
  return NULL;
}

START_TEST(from_many_threads) {
  enum { THREADS = 4 };
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_BACKGROUND, false);
  caller callers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    callers[i] = (caller){.context = context, .number = i};
    ck_assert(!pthread_create(&callers[i].thread, NULL, call_often, &callers[i]));
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(callers[i].thread, NULL);
  rowscan_close(context);
}
END_TEST

/* ---- what is missing --------------------------------------------------------------------------------------------- */

/* The error is that of the kernel for the length, as without kernels for any. */
START_TEST(nothing_may_be_compiled) {
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_BACKGROUND, true);
  ck_assert_int_eq(scan(context, own, 1000, false, NULL), ROWSCAN_NOT_CACHED);
  ck_assert_msg(strstr(rowscan_last_error(), "length=1000"), "%s", rowscan_last_error());
  device_wait(NULL);
  rowscan_close(context);
}
END_TEST

START_TEST(a_bad_option) {
  rowscan_context *context;
  ck_assert_int_eq(rowscan_open(&context, ROWSCAN_OPTIONS(.compile = (rowscan_compile)4)), ROWSCAN_BAD_ARGUMENT);
  ck_assert_str_eq(rowscan_last_error(), "options: field 'compile': 4 is not between 0 and 3");
}
END_TEST

/* _i: 0 no NVRTC, 1 a file that is none. Kernels of a compiler that was there before serve on. */
START_TEST(the_compiler_is_gone) {
  char *dir = new_cache(), *nvrtc = fresh();
  rowscan_options options = {.size = sizeof options, .engine = ROWSCAN_ENGINE_CUDA, .cache_dir = dir};
  options.compile = ROWSCAN_COMPILE_NEVER;
  rowscan_context *context;
  ck_assert(!rowscan_open(&context, &options));
  for (int64_t length = 1000; length < 1000 + OFTEN; length++)
    scan_right(context, own, length, false);
  rowscan_close(context);
  if (_i)
    spill(nvrtc, "no library", 10);
  options.compile = ROWSCAN_COMPILE_BACKGROUND;
  options.nvrtc = nvrtc;
  ck_assert(!rowscan_open(&context, &options));
  for (int i = 0; i < 2 * OFTEN; i++)
    scan_right(context, own, 1000, false);
  for (int64_t length = 1001; length < 1000 + OFTEN; length++)
    scan_right(context, own, length, false);
  ck_assert_int_eq(compiles_of(context), 0);
  ck_assert_int_eq(info_of(context).background_kernels, 0);
  ck_assert(_i || !info_of(context).background_failed); /* where there is no file, nothing is tried */
  rowscan_close(context);
}
END_TEST

/* ---- a long life ---------------------------------------------------------------------------------------------------
 */

/*
 * The memory of a program that has had more lengths than a context keeps plans does not grow, nor does its cache. With
 * RS_LOT=n one length in n, but 1000 at least: n seeds that follow one another have each.
 */
START_TEST(ten_thousand_lengths) {
  enum { ALL = 10000, WARM_UP = 500, KERNELS = 5 };
  const int64_t most_growth = device_simulated() ? 1 << 20 : 4 << 20;
  const int64_t parts = (int64_t)lot_drawn()->parts, lot = (int64_t)(lot_drawn()->seed % lot_drawn()->parts);
  const int64_t first = ALL * lot / parts, count = rs_larger(ALL * (lot + 1) / parts - first, 2 * WARM_UP);
  rowscan_context *context;
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .cache_dir = new_cache(),
                                                    .compile = ROWSCAN_COMPILE_BACKGROUND)));
  rowscan_cache_info cache = ROWSCAN_INFO(cache);
  int64_t before = 0;
  struct timespec start, end;
  for (int64_t i = 0; i < count; i++) {
    if (i == WARM_UP) {
      before = resident_bytes();
      clock_gettime(CLOCK_MONOTONIC, &start);
    }
    int64_t length = 1 + (first + i) * 7919 % ALL; /* each once, in no order */
    ck_assert_msg(!scan_shape(context, own, (int64_t[]){1, length}, 1, NULL), "%s", rowscan_last_error());
    compare_rows(own, 1, length, NULL);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  int64_t grown = resident_bytes() - before;
  double ms = 1e3 * (double)(end.tv_sec - start.tv_sec) + 1e-6 * (double)(end.tv_nsec - start.tv_nsec);
  ck_assert(!rowscan_cache_info_get(context, &cache));
  printf("%lld lengths: %.3f ms each with the host's scan, %lld KB more memory after the first %d; the cache has %lld "
         "entries, %lld KB\n",
         (long long)count, ms / (double)(count - WARM_UP), (long long)grown / 1024, WARM_UP, (long long)cache.entries,
         (long long)cache.bytes / 1024);
  ck_assert_int_le(cache.entries, KERNELS);
  ck_assert_int_eq(info_of(context).background_kernels, 0);
  ck_assert(WATCHED || grown < most_growth);
  rowscan_close(context);
}
END_TEST

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* The end of main while the thread has work, with the context open. Check's own calls are for its tests alone. */
static int end_meanwhile(void) {
  rowscan_context *context;
  if (device_open() || rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA,
                                                              .compile = ROWSCAN_COMPILE_BACKGROUND, .cache_off = 1)))
    return EXIT_FAILURE;
  void *elements = device_alloc(MOST * sizeof(float));
  for (int i = 0; i < OFTEN; i++)
    for (int64_t length = 900; length < 904; length++) {
      const int64_t shape[] = {ROWS, length};
      rowscan_problem p = problem_of(elements, elements, shape, 1);
      if (rowscan_scan(context, &p, NULL))
        return EXIT_FAILURE;
    }
  return EXIT_SUCCESS;
}

/* This program once more, for what main does with these words. */
static pid_t begin_program(const char *what, const char *dir) {
  pid_t child = fork();
  if (child == 0) {
    setenv("CK_FORK", "no", 1);
    execl(program, program, what, dir, (char *)NULL);
    _exit(127);
  }
  return child;
}

static void await(pid_t child) {
  int told;
  ck_assert(child > 0 && waitpid(child, &told, 0) == child);
  ck_assert_msg(WIFEXITED(told) && WEXITSTATUS(told) == EXIT_SUCCESS, "status %x", told);
}

START_TEST(ended_meanwhile) {
  await(begin_program("end", NULL));
}
END_TEST

/* Scans of lengths that come back, of each process in another order, with a cache that all share. */
static int share_cache(const char *dir) {
  enum { ELEMENTS = 600 };
  static float in[ELEMENTS], out[ELEMENTS];
  rowscan_context *context;
  if (device_open() || rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .cache_dir = dir,
                                                              .compile = ROWSCAN_COMPILE_BACKGROUND)))
    return EXIT_FAILURE;
  for (int i = 0; i < ELEMENTS; i++)
    in[i] = 1;
  void *elements = device_alloc(sizeof in);
  for (int i = 0; i < 3 * OFTEN; i++) {
    int64_t length = 2 * (ELEMENTS / 2 - (getpid() + i) % 3), shape[] = {1, length};
    device_upload(elements, in, sizeof in, NULL);
    rowscan_problem p = problem_of(elements, elements, shape, 1);
    if (rowscan_scan(context, &p, NULL))
      return EXIT_FAILURE;
    device_download(out, elements, sizeof out, NULL);
    device_wait(NULL);
    for (int64_t k = 0; k < length; k++)
      if (out[k] != (float)(k + 1))
        return EXIT_FAILURE;
  }
  rowscan_close(context);
  return EXIT_SUCCESS;
}

/* With RS_LOT=n all of them in one lot, and 8 in others. */
START_TEST(sixty_four_processes) {
  enum { PROCESSES = 64, LEAST = 8 };
  const int count = lot_drawn()->seed % lot_drawn()->parts ? LEAST : PROCESSES;
  char *dir = new_cache();
  pid_t child[PROCESSES];
  for (int i = 0; i < count; i++)
    child[i] = begin_program("share", dir);
  for (int i = 0; i < count; i++)
    await(child[i]);
}
END_TEST

/* LeakSanitizer asks when a process ends. A forked one lacks the thread that held what it would call a leak. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
static bool is_forked;
int __lsan_is_turned_off(void) {
  return is_forked;
}

/* A child that was forked while the thread works, which it has not. */
START_TEST(forked_meanwhile) {
  rowscan_context *context = open_gpu(ROWSCAN_COMPILE_BACKGROUND, false);
  for (int i = 0; i < OFTEN; i++)
    scan_right(context, own, 1100, false);
  pid_t child = fork();
  if (child == 0) {
    is_forked = true;
    rowscan_close(context);
    exit(EXIT_SUCCESS);
  }
  await(child);
  wait_for(context, 1);
  scan_right(context, own, 1100, false);
  rowscan_close(context);
}
END_TEST

/* Stops the thread, at work, until it is told to go on. */
static atomic_bool at_work, go_on;

static void stop_at_work(void *user, rowscan_log_level level, const char *message) {
  (void)user, (void)level;
  if (!strstr(message, "prepared in the background"))
    return;
  at_work = true;
  while (!go_on)
    usleep(1000);
}

/* fork() waits for no kernel; the child may scan, and has no GPU. */
START_TEST(a_fork_does_not_wait) {
  rowscan_context *context;
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .log = stop_at_work,
                                                    .compile = ROWSCAN_COMPILE_BACKGROUND, .cache_off = 1)));
  for (int i = 0; i < OFTEN; i++)
    scan_right(context, own, 1300, false);
  while (!at_work)
    usleep(1000);
  pid_t child = fork();
  if (child == 0) {
    float x[] = {1, 2}, y[2];
    rowscan_context *gpu, *host;
    bool right =
        rowscan_open(&gpu, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA)) == ROWSCAN_NO_DRIVER &&
        strstr(rowscan_last_error(), "fork") && !rowscan_open(&host, NULL) &&
        !rowscan_scan(host,
                      ROWSCAN_PROBLEM(.rank = 1, .shape = (int64_t[]){2}, .input = {.data = x}, .output = {.data = y}),
                      NULL) &&
        y[1] == 3;
    _exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  go_on = true;
  await(child);
  wait_for(context, 1);
  rowscan_close(context);
}
END_TEST

/* A callback for the log may fork, in the thread that has just made a kernel. */
static void fork_when_made(void *user, rowscan_log_level level, const char *message) {
  (void)user, (void)level;
  if (!strstr(message, "prepared in the background"))
    return;
  pid_t child = fork();
  if (child == 0)
    _exit(EXIT_SUCCESS);
  waitpid(child, NULL, 0);
}

START_TEST(forked_by_the_log) {
  rowscan_context *context;
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .log = fork_when_made,
                                                    .compile = ROWSCAN_COMPILE_BACKGROUND, .cache_off = 1)));
  for (int i = 0; i < OFTEN; i++)
    scan_right(context, own, 1200, false);
  wait_for(context, 1);
  rowscan_close(context);
}
END_TEST

/* ---- main -------------------------------------------------------------------------------------------------------- */

int main(int argc, char **argv) {
  program = argv[0];
  if (argc > 1)
    return argc > 2 ? share_cache(argv[2]) : end_meanwhile();
  if (!device_there()) {
    printf("SKIP: no GPU\n");
    return 77;
  }
  lot_tell();
  Suite *suite = suite_create("tiers");
  TCase *cases = tcase_create("tiers");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_set_timeout(cases, 1200);
  tcase_add_loop_test(cases, new_lengths_compile_nothing, 0, 2);
  tcase_add_loop_test(cases, what_comes_back_is_compiled, 0, 2);
  tcase_add_loop_test(cases, universal_kernels_serve_at_once, 0, 2);
  tcase_add_loop_test(cases, universal_kernels_serve_without_a_compiler, 0, 2);
  tcase_add_loop_test(cases, lengths_that_change_get_a_kernel_for_any, 0, 2);
  tcase_add_loop_test(cases, universal_kernels_serve_all_that_call_at_once, 0, 4);
  lot_add_test(cases, background_is_the_default);
  lot_add_test(cases, never_leaves_it_at_that);
  lot_add_test(cases, now_waits);
  lot_add_test(cases, preparing_waits);
  lot_add_test(cases, a_plan_for_any_length);
  tcase_add_loop_test(cases, a_plan_for_any_length_of_nothing, 0, 2);
  lot_add_test(cases, closed_meanwhile);
  lot_add_test(cases, captured);
  lot_add_test(cases, from_many_threads);
  lot_add_test(cases, nothing_may_be_compiled);
  lot_add_test(cases, a_bad_option);
  tcase_add_loop_test(cases, the_compiler_is_gone, 0, 2);
  lot_add_test(cases, ten_thousand_lengths);
  lot_add_test(cases, ended_meanwhile);
  lot_add_test(cases, sixty_four_processes);
  lot_add_test(cases, forked_meanwhile);
  lot_add_test(cases, a_fork_does_not_wait);
  lot_add_test(cases, forked_by_the_log);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
