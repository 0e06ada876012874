/*
 * test_workspace.c - no two runs that may overlap have the same scratch memory
 * SPDX-License-Identifier: MIT
 *
 * The driver is a table of the test's own that only writes down what it is asked.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "workspace.h"

enum { MEMORY = 4096, WANTED = 1000, GIVEN = 1024 }; /* address of the memory; bytes asked for, and rounded up */

static int waits, records, freed;
static size_t cleared;
static char clearing; /* the stream that clears */
static CUevent waited;
static unsigned long long capturing;

static CUresult alloc(CUdeviceptr *to, size_t bytes) {
  (void)bytes;
  *to = MEMORY;
  return CUDA_SUCCESS;
}
static CUresult free_memory(CUdeviceptr from) {
  freed += from == MEMORY;
  return CUDA_SUCCESS;
}
static CUresult create(CUevent *event, unsigned flags) {
  static char events[RS_WORKSPACES];
  static int next;
  (void)flags;
  *event = (CUevent)(void *)&events[next++ % RS_WORKSPACES];
  return CUDA_SUCCESS;
}
static CUresult destroy(CUevent event) {
  (void)event;
  return CUDA_SUCCESS;
}
static CUresult record(CUevent event, CUstream stream) {
  (void)event;
  (void)stream;
  records++;
  return CUDA_SUCCESS;
}
static CUresult wait_for(CUstream stream, CUevent event, unsigned flags) {
  (void)stream;
  (void)flags;
  waits++;
  waited = event;
  return CUDA_SUCCESS;
}
static CUresult capture_info(CUstream stream, int *status, unsigned long long *id) {
  (void)stream;
  *status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  *id = capturing;
  return CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *stream, unsigned flags) {
  ck_assert_uint_eq(flags, CU_STREAM_NON_BLOCKING);
  *stream = (CUstream)(void *)&clearing;
  return CUDA_SUCCESS;
}
static CUresult clear(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  ck_assert_uint_eq(to, MEMORY);
  ck_assert_int_eq(value, 0);
  ck_assert_ptr_eq(stream, (CUstream)(void *)&clearing);
  cleared += bytes;
  return CUDA_SUCCESS;
}
static CUresult synchronize(CUstream stream) {
  ck_assert_ptr_eq(stream, (CUstream)(void *)&clearing);
  ck_assert_uint_gt(cleared, 0);
  return CUDA_SUCCESS;
}
static CUresult stream_destroy(CUstream stream) {
  (void)stream;
  return CUDA_SUCCESS;
}

static const rs_cuda cuda = {.cuStreamCreate = stream_create,
                             .cuMemsetD8Async = clear,
                             .cuStreamSynchronize = synchronize,
                             .cuStreamDestroy_v2 = stream_destroy,
                             .cuMemAlloc_v2 = alloc,
                             .cuMemFree_v2 = free_memory,
                             .cuEventCreate = create,
                             .cuEventDestroy_v2 = destroy,
                             .cuEventRecord = record,
                             .cuStreamWaitEvent = wait_for,
                             .cuStreamGetCaptureInfo = capture_info};
static rs_workspaces all;

static void open_all(void) {
  memset(&all, 0, sizeof all);
  waits = records = freed = 0;
  capturing = 0;
  cleared = 0;
  ck_assert_int_eq(rs_workspaces_open(&all, &cuda, WANTED), ROWSCAN_OK);
  ck_assert_uint_eq(cleared, (size_t)RS_WORKSPACES * GIVEN);
}

/* A run on a stream of this number; where its scratch memory lies. */
static CUdeviceptr run(int number) {
  CUstream stream = (CUstream)(void *)((char *)NULL + number);
  rs_workspace *taken;
  ck_assert_int_eq(rs_workspace_take(&all, stream, &taken), ROWSCAN_OK);
  CUdeviceptr memory = taken->memory;
  ck_assert_int_eq(rs_workspace_give(&all, taken, stream), ROWSCAN_OK);
  return memory;
}

START_TEST(a_stream_keeps_its_own) {
  open_all();
  CUdeviceptr first[RS_RUN_WORKSPACES];
  for (int i = 0; i < RS_RUN_WORKSPACES; i++) {
    first[i] = run(i + 1);
    for (int j = 0; j < i; j++)
      ck_assert_msg(first[i] >= first[j] + 1000 || first[j] >= first[i] + 1000, "streams %d and %d overlap", i, j);
  }
  for (int i = RS_RUN_WORKSPACES - 1; i >= 0; i--)
    ck_assert_uint_eq(run(i + 1), first[i]);
  ck_assert_int_eq(waits, 0);
  ck_assert_int_eq(records, 2 * RS_RUN_WORKSPACES);
  rs_workspaces_close(&all);
  ck_assert_int_eq(freed, 1);
}
END_TEST

START_TEST(one_stream_more_waits_for_the_oldest) {
  open_all();
  CUdeviceptr first = run(1);
  CUevent done = all.slot[0].done;
  for (int i = 2; i <= RS_RUN_WORKSPACES; i++)
    run(i);
  ck_assert_int_eq(waits, 0);
  ck_assert_uint_eq(run(77), first);
  ck_assert_int_eq(waits, 1);
  ck_assert_ptr_eq(waited, done);
  ck_assert_uint_ne(run(1), first); /* its own is another's now */
  ck_assert_int_eq(waits, 2);
  rs_workspaces_close(&all);
}
END_TEST

START_TEST(a_graph_keeps_its_own_for_good) {
  open_all();
  CUdeviceptr plain = run(1);
  capturing = 5;
  CUdeviceptr captured = run(1);
  ck_assert_uint_ne(captured, plain);
  ck_assert_uint_eq(run(1), captured); /* the same stream in the same capture: one after another */
  ck_assert_uint_ne(run(2), captured); /* another branch of the graph */
  capturing = 6;
  ck_assert_uint_ne(run(1), captured); /* another graph */
  ck_assert_int_eq(records, 1);
  ck_assert_int_eq(waits, 0);
  for (int i = 3; i < RS_CAPTURE_WORKSPACES; i++)
    run(10 + i);
  rs_workspace *none;
  ck_assert_int_eq(rs_workspace_take(&all, NULL, &none), ROWSCAN_OUT_OF_MEMORY);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'workspace'"));
  capturing = 0;
  ck_assert_uint_eq(run(1), plain); /* what is not captured goes on, and nothing stayed locked */
  rs_workspaces_close(&all);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("workspace");
  TCase *cases = tcase_create("all");
  tcase_add_test(cases, a_stream_keeps_its_own);
  tcase_add_test(cases, one_stream_more_waits_for_the_oldest);
  tcase_add_test(cases, a_graph_keeps_its_own_for_good);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
