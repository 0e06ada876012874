/*
 * group_tuned.c - kernels that a tuning table names: each contender in turn serves the rows, with the same bits
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "run/plan.h"

typedef struct size {
  const char *spec;
  int64_t rows, columns;
} size;

/* A spec as a user writes it, of rows and of columns, and sizes of which several kernels take all. */
static const size sizes[] = {
    {"in=f32 length=700", 30, 1},
    {"in=bf16 out=f32 mask=select length=4100 reverse=1", 9, 1},
    {"in=u8 length=26 layout=columns row_rank=2", 20, 4},
    {"op=linear_recurrence in=f32 length=300 layout=columns", 1, 130},
    {"in=f64 length=20000 exclusive=1", 2, 1},
    {"op=argmax in=f32 length=150 layout=columns row_rank=2", 3, 70},
};

/* One line of a table, of a spec and a contender, in place of what the context has. */
static bool set_table(rowscan_context *gpu, const rowscan_spec *spec, const size *size, const rs_contender *kernel) {
  rs_text table = {0};
  const rs_tuned tuned = {size->rows, size->columns, *kernel};
  bool begun = suite_ok(rs_tuning_begin(&gpu->gpu, &table), "rs_tuning_begin");
  rs_tuning_line(&table, spec, &tuned, 1, 2);
  free(gpu->gpu.tuning);
  gpu->gpu.tuning = table.data;
  return begun;
}

/* What a plan has made of its line: 0: it is not served by it, -1: not yet, 1: it is. */
static int served(const rowscan_plan *plan) {
  const rs_preferred *preferred = plan->program.preferred;
  rs_program *one = preferred ? atomic_load(&preferred->program[0]) : NULL;
  if (!one || atomic_load(&one->given_up))
    return 0;
  return atomic_load(&one->modules.of[one->kernels.only].function) ? 1 : -1;
}

static bool run_case(const test_case *test, suite_plans *plans, int times) {
  check_run run;
  device_stream stream = device_stream_new();
  bool good = check_prepare(&run, test, plans->host);
  for (int i = 0; i < times && good; i++) {
    check_reset(&run, stream);
    good = check_queue(&run, plans->gpu, stream) && check_verify(&run, stream);
  }
  check_free(&run);
  device_stream_free(stream);
  return good;
}

/* The table's kernel serves at once; and rows of twice as many it does not. */
static int check_contender(rowscan_context *gpu, suite_plans *plans, const size *size, const rs_contender *kernel,
                           random_source *random) {
  test_case test, more;
  if (!set_table(gpu, &plans->spec, size, kernel) ||
      !suite_ok(rowscan_plan_create(&plans->gpu, gpu, &plans->spec), "a plan"))
    return 0;
  case_dense(&more, &plans->spec, 2 * size->rows, size->columns, random);
  case_dense(&test, &plans->spec, size->rows, size->columns, random);
  bool good = run_case(&more, plans, 1);
  if (served(plans->gpu))
    suite_fail("%s: a table's line serves twice as many rows as it names", size->spec);
  good = run_case(&test, plans, 1) && good;
  int is = served(plans->gpu);
  rowscan_plan_destroy(plans->gpu);
  plans->gpu = NULL;
  return good && is == 1;
}

/* Until it is made another serves; then it does. */
static void check_background(const size *size, const rs_contender *kernel, suite_plans *plans, random_source *random) {
  rowscan_context *gpu;
  test_case test;
  const struct timespec pause = {.tv_nsec = 20000000};
  if (!suite_ok(rowscan_open(&gpu, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .cache_off = 1,
                                                   .compile = ROWSCAN_COMPILE_BACKGROUND)),
                "a context"))
    return;
  case_dense(&test, &plans->spec, size->rows, size->columns, random);
  if (set_table(gpu, &plans->spec, size, kernel) &&
      suite_ok(rowscan_plan_create(&plans->gpu, gpu, &plans->spec), "a plan") && run_case(&test, plans, 1)) {
    if (served(plans->gpu) == 1)
      suite_fail("%s: a call has waited for a table's kernel", size->spec);
    run_case(&test, plans, RS_TIERS_RUNS);
    for (int i = 0; i < 6000 && served(plans->gpu) < 0; i++)
      nanosleep(&pause, NULL);
    if (served(plans->gpu) == 1)
      run_case(&test, plans, 2);
    else
      suite_fail("%s: a table's kernel was not made in the background", size->spec);
  }
  rowscan_plan_destroy(plans->gpu);
  plans->gpu = NULL;
  rowscan_close(gpu);
}

static void check_size(rowscan_context *gpu, const size *size, random_source *random) {
  suite_plans plans = {.spec = {.size = sizeof plans.spec}};
  rs_contender *list = calloc(RS_MOST_CONTENDERS, sizeof *list);
  int times = 0, last = 0;
  if (list && suite_ok(rowscan_spec_parse(&plans.spec, size->spec), size->spec) &&
      suite_ok(rowscan_plan_create(&plans.host, suite.host, &plans.spec), size->spec)) {
    int arch = rs_tuned_arch(gpu->gpu.builder, &plans.spec, gpu->gpu.device.arch);
    int count = rs_contenders(&plans.spec, arch, list), step = suite.quick ? 1 + count / 4 : 1;
    for (int i = 0; i < count; i += step)
      if (check_contender(gpu, &plans, size, &list[i], random)) {
        times++;
        last = i;
      }
    if (times < 2)
      suite_fail("%s: %d kernels serve by a table, of %d", size->spec, times, count);
    if (times)
      check_background(size, &list[last], &plans, random);
  }
  rowscan_plan_destroy(plans.host);
  free(list);
}

void group_tuned(void) {
  enum { SIZES = sizeof sizes / sizeof *sizes };
  rowscan_context *gpu;
  if (!suite_ok(rowscan_open(&gpu, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .compile = ROWSCAN_COMPILE_NOW)),
                "a context"))
    return;
  for (int i = 0; i < SIZES; i++) {
    random_source random = random_for(suite.seed, 41, (uint64_t)i);
    if (!suite.quick || i % 3 == (int)(suite.seed % 3))
      check_size(gpu, &sizes[i], &random);
  }
  rowscan_close(gpu);
}
