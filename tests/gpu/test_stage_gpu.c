/*
 * test_stage_gpu.c - rowscan_scan_host through the driver, a real one or the simulated one, against the host engine
 * SPDX-License-Identifier: MIT
 *
 * tests/unit/test_stage.c has every type and stride; this suite has what a stand-in cannot have: streams that run when
 * they like, kernels that were compiled, memory that ends, and a driver that counts what is left behind. Lengths are
 * few, since each is a kernel to compile. Exits with 77 where there is no GPU.
 */
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../simt/simt.h"
#include "../support/lot.h"
#include "../support/quick.h"
#include "../support/run_tests.h"
#include "../support/stage_case.h"
#include "measure/meter.h"
#include "run/context.h"

static uint64_t seed = 1;

static const rowscan_spec specs[] = {
    {.in_type = ROWSCAN_F32},
    {.in_type = ROWSCAN_F32, .flags = ROWSCAN_EXCLUSIVE | ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_SELECT},
    {.in_type = ROWSCAN_F16, .flags = ROWSCAN_REVERSE},
    {.in_type = ROWSCAN_I32, .flags = ROWSCAN_EXCLUSIVE},
    {.op = ROWSCAN_PROD, .in_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_MULTIPLY, .mask_type = ROWSCAN_U8},
};
enum { SPECS = sizeof specs / sizeof *specs };

/* ---- the simulated driver, if it is one -------------------------------------------------------------------------- */

static struct {
  void (*fail_call)(const char *symbol, long nth, int error);
  int (*fired)(void);
  long (*leaks)(void);
  const char *(*leaks_text)(void);
  unsigned long long (*peak)(void);
  void (*reset_peak)(void);
} simt;

static void *symbol(void *library, const char *name) {
  return library ? dlsym(library, name) : NULL;
}

static void find_simt(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  *(void **)&simt.fail_call = symbol(library, "simt_fail");
  *(void **)&simt.fired = symbol(library, "simt_fired");
  *(void **)&simt.leaks = symbol(library, "simt_leaks");
  *(void **)&simt.leaks_text = symbol(library, "simt_leaks_text");
  *(void **)&simt.peak = symbol(library, "simt_memory_peak");
  *(void **)&simt.reset_peak = symbol(library, "simt_memory_reset_peak");
}

static void is_clean(void) {
  if (simt.leaks)
    ck_assert_msg(simt.leaks() == 0, "left behind: %s", simt.leaks_text());
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static rowscan_context *gpu, *host;

static void open_contexts(size_t staging_bytes) {
  ck_assert_msg(!rowscan_open(&gpu, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .staging_bytes = staging_bytes)),
                "%s", rowscan_last_error());
  ck_assert(!rowscan_open(&host, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST)));
}

static void close_contexts(void) {
  rowscan_close(gpu);
  rowscan_close(host);
  is_clean();
}

static void check(const stage_case *c) {
  stage_result is, should;
  ck_assert_msg(!stage_case_run(c, gpu, &is), "%s", rowscan_last_error());
  ck_assert(!stage_case_run(c, host, &should));
  stage_case_compare(c, &is, &should, "gpu");
  stage_result_free(&is);
  stage_result_free(&should);
}

static void check_form(uint64_t *random, int spec, const stage_form *form) {
  stage_case c;
  stage_case_make(&c, random, &specs[spec], form);
  check(&c);
  stage_case_free(&c);
}

/* 16 elements a block where rows are cut: whole blocks, and a last one of 5. */
static void check_many(int spec, uint64_t random, int times) {
  open_contexts(1);
  for (int i = 0; i < times; i++) {
    stage_form form = stage_any_form(&random, 16 * stage_below(&random, 12) + (stage_below(&random, 3) ? 5 : 0), 6);
    check_form(&random, spec, &form);
  }
  close_contexts();
  open_contexts(20000);
  for (int i = 0; i < times; i++) {
    stage_form form = stage_any_form(&random, 37, 200);
    check_form(&random, spec, &form);
  }
  close_contexts();
}

START_TEST(small_pieces) {
  check_many(_i, seed + (uint64_t)_i, is_quick() ? 10 : 30);
}
END_TEST

/* A simulated GPU that does things as late as it may, in an order of its own. */
START_TEST(as_late_as_may_be) {
  char text[32];
  snprintf(text, sizeof text, "%d", _i + 1);
  setenv("SIMT_ASYNC", "1", 1);
  setenv("SIMT_SEED", text, 1);
  check_many(_i % SPECS, seed + 100 + (uint64_t)_i, is_quick() ? 5 : 15);
}
END_TEST

/* Blocks that are long rows themselves, with workspaces on several streams. */
START_TEST(long_blocks) {
  static const stage_form forms[] = {{1, 0, {5 * 32768}, true}, {2, 0, {5 * 32768 + 16384, 2}, true}};
  uint64_t random = seed + 200;
  open_contexts(1000000);
  check_form(&random, 0, &forms[0]);
  check_form(&random, 0, &forms[1]);
  close_contexts();
}
END_TEST

/* Arrays larger than the GPU's memory, of which a quarter may be used. */
START_TEST(larger_than_memory) {
  static const stage_form forms[] = {{2, 1, {8000, 37}, true}, {2, 0, {37, 8000}, true}, {1, 0, {32 * 8192}, true}};
  uint64_t random = seed + 300;
  setenv("SIMT_MEMORY", "800k", 1);
  open_contexts(0);
  simt.reset_peak();
  check_form(&random, 0, &forms[_i]);
  ck_assert_uint_gt(simt.peak(), 50000);
  ck_assert_uint_le(simt.peak(), 200 << 10);
  close_contexts();
}
END_TEST

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* Each call that the driver gets from a first run, its plan included, fails in turn; also while others are under way.
 */
START_TEST(every_call_fails) {
  static const stage_form forms[] = {{2, 1, {600, 37}, true}, {2, 1, {2, 16 * 5 + 5}, true}};
  uint64_t random = seed + 400;
  stage_case c;
  stage_result is, should;
  stage_case_make(&c, &random, &specs[1], &forms[_i % 2]);
  setenv("SIMT_ASYNC", _i / 2 ? "1" : "0", 1);
  open_contexts(0);
  ck_assert(!stage_case_run(&c, host, &should));
  close_contexts();
  for (long nth = 1, fired = 1; fired; nth++) {
    open_contexts(_i % 2 ? 1 : 20000);
    simt.fail_call(NULL, nth, nth % 2 ? 999 : 2);
    rowscan_status status = stage_case_run(&c, gpu, &is);
    fired = simt.fired();
    simt.fail_call(NULL, 0, 0);
    if (status == ROWSCAN_OK)
      stage_case_compare(&c, &is, &should, "after a failed call");
    else
      ck_assert_msg(status == ROWSCAN_CUDA_FAILED || status == ROWSCAN_OUT_OF_MEMORY, "call %ld: %s", nth,
                    rowscan_status_name(status));
    ck_assert_msg(status == ROWSCAN_OK || strstr(rowscan_last_error(), "failed: CUDA"), "%s", rowscan_last_error());
    stage_result_free(&is);
    close_contexts();
  }
  stage_result_free(&should);
  stage_case_free(&c);
}
END_TEST

/* ---- progress, and many callers ---------------------------------------------------------------------------------- */

static int64_t told_calls, told_done, told_total;

static void listen(void *user, int64_t done, int64_t total) {
  ck_assert_ptr_eq(user, &told_calls);
  ck_assert_int_gt(done, told_done);
  ck_assert_int_le(done, total);
  told_done = done;
  told_total = total;
  told_calls++;
}

START_TEST(progress) {
  static const stage_form form = {2, 1, {2000, 37}, true};
  uint64_t random = seed + 500;
  ck_assert(!rowscan_open(&gpu, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .staging_bytes = 60000,
                                                .user = &told_calls, .progress = listen)));
  ck_assert(!rowscan_open(&host, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST)));
  check_form(&random, 1, &form);
  ck_assert_int_gt(told_calls, 10);
  ck_assert_int_eq(told_done, told_total);
  ck_assert_int_eq(told_total, 2000 * 37 * (4 + 4 + 1));
  close_contexts();
}
END_TEST

static void *one_of_a_crowd(void *argument) {
  uint64_t random = seed + 600 + (uint64_t)(uintptr_t)argument;
  for (int i = 0; i < 10; i++) {
    stage_form form = stage_any_form(&random, 16 * 3 + 5, 4);
    check_form(&random, 0, &form);
  }
  return NULL;
}

START_TEST(many_callers) {
  pthread_t threads[4];
  open_contexts(1);
  for (uintptr_t i = 0; i < 4; i++)
    ck_assert(!pthread_create(&threads[i], NULL, one_of_a_crowd, (void *)i));
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  close_contexts();
}
END_TEST

/* ---- plans of rowscan_scan -----------------------------------------------------------------------------------------
 */

enum { LENGTHS = 7, SHORTEST = 30, ROOM = 64 }; /* elements of a length's output */

static CUdeviceptr ones, outputs;
static rs_meter streams[2];

static void must(CUresult result) {
  ck_assert_int_eq(result, CUDA_SUCCESS);
}

static rowscan_status scan_ones(int64_t length, int64_t place, CUstream stream) {
  rowscan_problem problem = {.size = sizeof problem, .rank = 1, .shape = &length};
  problem.input = (rowscan_input){.data = (void *)(uintptr_t)ones, .type = ROWSCAN_F32};
  problem.output = (rowscan_output){.data = (float *)(uintptr_t)outputs + place * ROOM, .type = ROWSCAN_F32};
  return rowscan_scan(gpu, &problem, stream);
}

static rowscan_status scan_captured(void *user, int64_t number) {
  (void)user;
  return scan_ones(SHORTEST + LENGTHS, LENGTHS + number, streams[0].stream);
}

static void open_arrays(void) {
  const rs_cuda *cuda = gpu->gpu.device.cuda;
  float numbers[ROOM];
  for (int i = 0; i < ROOM; i++)
    numbers[i] = 1;
  for (int i = 0; i < 2; i++) {
    streams[i] = (rs_meter){.device = &gpu->gpu.device};
    must(cuda->cuStreamCreate(&streams[i].stream, CU_STREAM_NON_BLOCKING));
  }
  must(cuda->cuMemAlloc_v2(&ones, sizeof numbers));
  must(cuda->cuMemAlloc_v2(&outputs, (LENGTHS + 1) * sizeof numbers));
  must(cuda->cuMemcpyHtoDAsync_v2(ones, numbers, sizeof numbers, streams[0].stream));
  must(cuda->cuStreamSynchronize(streams[0].stream));
}

static void close_arrays(void) {
  for (int i = 0; i < 2; i++)
    must(gpu->gpu.device.cuda->cuStreamDestroy_v2(streams[i].stream));
  must(gpu->gpu.device.cuda->cuMemFree_v2(ones));
  must(gpu->gpu.device.cuda->cuMemFree_v2(outputs));
}

/* Waits for all, and clears what was right. */
static void expect_counts(int places) {
  const rs_cuda *cuda = gpu->gpu.device.cuda;
  float back[(LENGTHS + 1) * ROOM];
  for (int i = 0; i < 2; i++)
    must(cuda->cuStreamSynchronize(streams[i].stream));
  must(cuda->cuMemcpyDtoHAsync_v2(back, outputs, sizeof back, streams[0].stream));
  must(cuda->cuMemsetD8Async(outputs, 0, sizeof back, streams[0].stream));
  must(cuda->cuStreamSynchronize(streams[0].stream));
  for (int place = 0; place < places; place++)
    for (int i = 0; i < SHORTEST + place; i++)
      ck_assert_float_eq(back[place * ROOM + i], (float)(i + 1));
}

/* More lengths than plans that are kept, on two streams that work late: those that are queued stay until they ran, and
 * that of a graph for good. */
START_TEST(plans_go_when_they_are_done) {
  bool pushed;
  rs_replay replay;
  setenv("SIMT_ASYNC", "1", 1);
  open_contexts(0);
  gpu->programs.most = 4;
  gpu->programs.most_staying = 1;
  ck_assert(!rs_device_enter(&gpu->gpu.device, &pushed));
  open_arrays();
  ck_assert_msg(!rs_replay_record(&replay, &streams[0], scan_captured, NULL, 1), "%s", rowscan_last_error());
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < LENGTHS; i++)
      ck_assert_msg(!scan_ones(SHORTEST + i, i, streams[(i + round) % 2].stream), "%s", rowscan_last_error());
    expect_counts(LENGTHS);
    ck_assert_int_le(gpu->programs.guests, LENGTHS);
  }
  ck_assert(!scan_ones(SHORTEST + LENGTHS - 1, LENGTHS - 1, streams[0].stream));
  ck_assert(!scan_ones(SHORTEST, 0, streams[0].stream));
  ck_assert_int_eq(gpu->programs.guests, 3);
  ck_assert_int_eq(gpu->programs.stayed, 1);
  for (int i = 1; i < LENGTHS; i++)
    ck_assert(!scan_ones(SHORTEST + i, i, streams[1].stream));
  if (replay.graph)
    ck_assert(!rs_replay_run(&replay, &streams[0]));
  expect_counts(replay.graph ? LENGTHS + 1 : LENGTHS);
  rs_replay_free(&replay);
  close_arrays();
  rs_device_leave(&gpu->gpu.device, pushed);
  close_contexts();
}
END_TEST

/* ---- main -------------------------------------------------------------------------------------------------------- */

/* Whether there is a GPU is asked in a child: a driver that was started does not survive the forks of the tests. */
static bool there_is_a_gpu(void) {
  int told = 0;
  pid_t child = fork();
  if (child == 0) {
    rowscan_status status = rowscan_open(&gpu, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA));
    bool absent = status == ROWSCAN_NO_DRIVER || status == ROWSCAN_NO_DEVICE;
    if (absent)
      printf("SKIP: %s\n", rowscan_last_error());
    fflush(stdout);
    _exit(absent ? 77 : 0);
  }
  return child < 0 || waitpid(child, &told, 0) < 0 || !WIFEXITED(told) || WEXITSTATUS(told) != 77;
}

int main(void) {
  if (getenv("ROWSCAN_TEST_SEED"))
    seed = strtoull(getenv("ROWSCAN_TEST_SEED"), NULL, 0);
  if (!there_is_a_gpu())
    return 77;
  find_simt();
  lot_tell();
  Suite *suite = suite_create("stage_gpu");
  TCase *cases = tcase_create("stage_gpu");
  tcase_set_timeout(cases, 1200); /* a simulated GPU under sanitizers takes its time */
  lot_add_loop_test(cases, small_pieces, 0, SPECS);
  tcase_add_test(cases, long_blocks);
  tcase_add_test(cases, progress);
  tcase_add_test(cases, many_callers);
  tcase_add_test(cases, plans_go_when_they_are_done);
  if (simt.leaks) {
    lot_add_loop_test(cases, as_late_as_may_be, 0, 2 * SPECS);
    lot_add_loop_test(cases, larger_than_memory, 0, 3);
    lot_add_loop_test(cases, every_call_fails, 0, 4);
  }
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
