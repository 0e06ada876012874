/*
 * group_once.c - hundreds of scans, each of another spec and each once: what first calls take, and none waits
 * SPDX-License-Identifier: MIT
 *
 * In a context of its own, whose cache begins empty. With universal kernels inside of the program, in a pack or in the
 * memory of the process no call compiles anything; without them all do, and the group only tells how long that takes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "any_op.h"
#include "base/clock.h"
#include "check.h"
#include "gpu/builtin.h"
#include "run/plan.h"
#include "spec/arch.h"
#include "universal.h"

typedef struct first_calls {
  rowscan_context *gpu;
  double *ms; /* of each */
  int64_t count, waited;
} first_calls;

static int64_t compiles_of(rowscan_context *gpu) {
  rowscan_cache_info info = ROWSCAN_INFO(rowscan_cache_info);
  return suite_ok(rowscan_cache_info_get(gpu, &info), "the cache's counts") ? info.counts.compiles : 0;
}

/* Of the library's operators: others are compiled in any case. */
static bool draw_spec(rowscan_spec *spec, random_source *random) {
  case_random_spec(spec, random, suite.longest);
  if (random_one_in(random, 4))
    further_take(spec, random_bits(random) >> 8);
  spec->regime = ROWSCAN_REGIME_AUTO;
  return rowscan_spec_complete(spec) == ROWSCAN_OK && !rs_op_of(spec->op)->source && universal_serves(spec);
}

static void call_once(first_calls *all, const test_case *test, rowscan_plan *host) {
  check_run run;
  device_stream stream = device_stream_new();
  rowscan_plan *plan = NULL;
  if (check_prepare(&run, test, host)) {
    check_reset(&run, stream);
    device_wait(stream);
    int64_t compiles = compiles_of(all->gpu);
    double start = rs_now_ms();
    bool queued =
        suite_ok(rowscan_plan_create(&plan, all->gpu, &test->spec), "a plan") && check_queue(&run, plan, stream);
    all->ms[all->count++] = rs_now_ms() - start;
    all->waited += compiles_of(all->gpu) > compiles;
    if (queued)
      check_verify(&run, stream);
  }
  rowscan_plan_destroy(plan);
  device_stream_free(stream);
  check_free(&run);
}

static void call_spec(first_calls *all, uint64_t number) {
  random_source random = random_for(suite.seed, 43, number);
  rowscan_spec spec;
  rowscan_plan *host;
  test_case test;
  while (!draw_spec(&spec, &random)) {
  }
  case_random(&test, &spec, &random, suite.elements);
  if (suite_ok(rowscan_plan_create(&host, suite.host, &spec), "a plan on the host"))
    call_once(all, &test, host);
  rowscan_plan_destroy(host);
}

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void tell_calls(first_calls *all) {
  rowscan_context_info info = ROWSCAN_INFO(rowscan_context_info);
  double sum = 0;
  for (int64_t i = 0; i < all->count; i++)
    sum += all->ms[i];
  qsort(all->ms, (size_t)all->count, sizeof *all->ms, by_value);
  if (all->count && suite_ok(rowscan_context_info_get(all->gpu, &info), "the context's counts"))
    printf("%lld first calls, %lld by universal kernels, %lld waited for a compiler; ms: median %.3f, 90%% %.3f, "
           "most %.3f, all %.1f\n",
           (long long)all->count, (long long)info.universal_runs, (long long)all->waited, all->ms[all->count / 2],
           all->ms[all->count * 9 / 10], all->ms[all->count - 1], sum);
}

void group_once(void) {
  int64_t specs = suite.quick ? suite.cases : 500;
  first_calls all = {.ms = calloc((size_t)specs + 1, sizeof *all.ms)};
  if (!all.ms || !suite_ok(rowscan_open(&all.gpu, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .cache_off = 1,
                                                                  .compile = ROWSCAN_COMPILE_BACKGROUND)),
                           "a context"))
    return;
  bool there = rs_builtin_has(rs_arch_generation(all.gpu->gpu.device.arch));
  for (int64_t i = 0; i < specs; i++)
    call_spec(&all, (uint64_t)i);
  tell_calls(&all);
  if (there && all.waited)
    suite_fail("%lld of %lld first calls waited for a compiler", (long long)all.waited, (long long)all.count);
  rowscan_close(all.gpu);
  free(all.ms);
}
