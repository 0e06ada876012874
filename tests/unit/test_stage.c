/*
 * test_stage.c - rowscan_scan_host: pieces, blocks of rows, copies to and fro, on a stand-in for the GPU
 * SPDX-License-Identifier: MIT
 *
 * What travels through pinned memory must give the bits of the definition, however small the pieces are and however the
 * arrays lie. The driver is a table of functions, so here it is one of this file, whose device memory is malloc's; and
 * programs run on the host engine, which scans "device" memory as well as any. So every
 * type, flag and stride is seen in seconds. tests/gpu/test_stage_gpu.c has the real calls, in their real order.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../gpu/any_op.h"
#include "../support/judge.h"
#include "../support/lot.h"
#include "../support/quick.h"
#include "../support/run_tests.h"
#include "../support/stage_case.h"
#include "run/context.h"
#include "run/stage.h"

static uint64_t seed = 1;

/* ---- the stand-in ------------------------------------------------------------------------------------------------ */

enum { DEVICE_MEMORY = 1 << 30 };

/* Contexts of GPUs: their addresses, of which a thread has one. */
static char gpus[3];
static _Thread_local CUcontext current, outer;

/* What is alive, and which call is to fail. */
static atomic_long streams, blocks, pinned, entered, calls, fail_at;
static atomic_long made; /* of the first three, so far */
static atomic_size_t used, peak;
static size_t device_free = DEVICE_MEMORY;
static CUresult fail_with;

static CUresult counted(void) {
  return atomic_fetch_add(&calls, 1) + 1 == fail_at ? fail_with : CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context) {
  *context = current;
  return CUDA_SUCCESS;
}

static CUresult push_current(CUcontext context) {
  CUresult result = counted();
  ck_assert((char *)context >= gpus && (char *)context < gpus + sizeof gpus && !outer);
  if (!result) {
    outer = current;
    current = context;
    entered++;
  }
  return result;
}

static CUresult pop_current(CUcontext *context) {
  *context = current;
  current = outer;
  outer = NULL;
  entered--;
  return CUDA_SUCCESS;
}

static CUresult memory_info(size_t *free_bytes, size_t *total_bytes) {
  CUresult result = counted();
  *free_bytes = result ? 0 : device_free - used;
  *total_bytes = DEVICE_MEMORY;
  return result;
}

/* The size stands before each block, and whose it is. */
static void *take(size_t bytes, atomic_long *kind) {
  char *memory = aligned_alloc(256, (bytes + 511) / 256 * 256);
  ck_assert_ptr_nonnull(memory);
  ck_assert_ptr_nonnull(current);
  memcpy(memory, &bytes, sizeof bytes);
  memcpy(memory + sizeof bytes, &current, sizeof current);
  memset(memory + 256, 0xf7, bytes);
  ++*kind;
  ++made;
  return memory + 256;
}

static size_t give(void *at, atomic_long *kind) {
  size_t bytes;
  memcpy(&bytes, (char *)at - 256, sizeof bytes);
  free((char *)at - 256);
  --*kind;
  return bytes;
}

/* Of the context that is current. */
static void is_own(const void *at) {
  CUcontext owner;
  memcpy(&owner, (const char *)at - 256 + sizeof(size_t), sizeof owner);
  ck_assert_ptr_eq(owner, current);
}

static CUresult memory_take(CUdeviceptr *memory, size_t bytes) {
  CUresult result = counted();
  if (!result && used + bytes > device_free)
    result = CUDA_ERROR_OUT_OF_MEMORY;
  if (result)
    return result;
  *memory = (CUdeviceptr)(uintptr_t)take(bytes, &blocks);
  size_t now = used += bytes, most = peak;
  while (now > most && !atomic_compare_exchange_weak(&peak, &most, now))
    ;
  return CUDA_SUCCESS;
}

static CUresult memory_give(CUdeviceptr memory) {
  used -= give((void *)(uintptr_t)memory, &blocks);
  return counted();
}

static CUresult pinned_take(void **memory, size_t bytes, unsigned flags) {
  CUresult result = counted();
  ck_assert_uint_eq(flags, 0);
  if (!result)
    *memory = take(bytes, &pinned);
  return result;
}

static CUresult pinned_give(void *memory) {
  give(memory, &pinned);
  return counted();
}

static CUresult to_device(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  CUresult result = counted();
  is_own(stream);
  if (!result)
    memcpy((void *)(uintptr_t)to, from, bytes);
  return result;
}

static CUresult from_device(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CUresult result = counted();
  is_own(stream);
  if (!result)
    memcpy(to, (void *)(uintptr_t)from, bytes);
  return result;
}

static CUresult stream_make(CUstream *stream, unsigned flags) {
  CUresult result = counted();
  ck_assert_uint_eq(flags, CU_STREAM_NON_BLOCKING);
  if (!result)
    *stream = (CUstream)take(1, &streams);
  return result;
}

static CUresult stream_give(CUstream stream) {
  give(stream, &streams);
  return counted();
}

static CUresult stream_wait(CUstream stream) {
  ck_assert_ptr_nonnull(stream);
  return counted();
}

static CUresult fill(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  CUresult result = counted();
  ck_assert_ptr_nonnull(stream);
  if (!result)
    memset((void *)(uintptr_t)to, value, bytes);
  return result;
}

static CUresult exchange_mode(int *mode) {
  static _Thread_local int own;
  int before = own;
  own = *mode;
  *mode = before;
  return CUDA_SUCCESS;
}

static CUresult error_name(CUresult error, const char **name) {
  *name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}

/* All memory is the host's, as far as it knows, or pinned. */
static bool all_is_pinned;

static CUresult look_up(void *value, int attribute, CUdeviceptr at) {
  (void)at;
  if (!all_is_pinned)
    return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *(unsigned *)value = CU_MEMORYTYPE_HOST;
  else if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
    *(CUdeviceptr *)value = 0;
  else
    *(size_t *)value = SIZE_MAX;
  return CUDA_SUCCESS;
}

static const rs_cuda cuda = {.cuPointerGetAttribute = look_up,
                             .cuCtxGetCurrent = get_current,
                             .cuCtxPushCurrent_v2 = push_current,
                             .cuCtxPopCurrent_v2 = pop_current,
                             .cuMemGetInfo_v2 = memory_info,
                             .cuMemAlloc_v2 = memory_take,
                             .cuMemFree_v2 = memory_give,
                             .cuMemHostAlloc = pinned_take,
                             .cuMemFreeHost = pinned_give,
                             .cuMemcpyHtoDAsync_v2 = to_device,
                             .cuMemcpyDtoHAsync_v2 = from_device,
                             .cuMemsetD8Async = fill,
                             .cuThreadExchangeStreamCaptureMode = exchange_mode,
                             .cuStreamCreate = stream_make,
                             .cuStreamDestroy_v2 = stream_give,
                             .cuStreamSynchronize = stream_wait,
                             .cuGetErrorName = error_name,
                             .cuGetErrorString = error_name};

/* What a context keeps for its next run: a set of slots for each run at a time. */
static void is_idle(int sets) {
  ck_assert_int_le(streams, 3 * sets);
  ck_assert_int_le(blocks, 3 * sets);
  ck_assert_int_le(pinned, 3 * sets);
  ck_assert_int_eq(entered, 0);
}

static void is_clean(void) {
  ck_assert_int_eq(streams, 0);
  ck_assert_int_eq(blocks, 0);
  ck_assert_int_eq(pinned, 0);
  ck_assert_int_eq(entered, 0);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static rowscan_context gpu, second, third, host;

/* Programs run on the host, in place of those of gpu/program.h: what is tested needs no kernel. */
void __wrap_rs_program_open(rs_program *program, rs_gpu *on, const rowscan_spec *spec, int arch, bool runnable);
void __wrap_rs_program_close(rs_program *program);
rowscan_status __wrap_rs_tiers_ready(rs_program *program, const rs_rows *rows);
rowscan_status __wrap_rs_program_prepare(rs_program *program, const rs_rows *rows, int threads);
rowscan_status __wrap_rs_launch(rs_program *program, const rs_rows *rows, void *workspace, size_t bytes,
                                CUstream stream);

void __wrap_rs_program_open(rs_program *program, rs_gpu *on, const rowscan_spec *spec, int arch, bool runnable) {
  *program = (rs_program){.gpu = on, .spec = *spec, .arch = arch, .runnable = runnable};
}

rowscan_status __wrap_rs_tiers_ready(rs_program *program, const rs_rows *rows) {
  (void)program, (void)rows;
  return ROWSCAN_OK;
}

rowscan_status __wrap_rs_program_prepare(rs_program *program, const rs_rows *rows, int threads) {
  (void)program, (void)rows, (void)threads;
  return ROWSCAN_OK;
}

void __wrap_rs_program_close(rs_program *program) {
  (void)program;
}

rowscan_status __wrap_rs_launch(rs_program *program, const rs_rows *rows, void *workspace, size_t bytes,
                                CUstream stream) {
  (void)workspace, (void)bytes;
  is_own(stream);
  ck_assert_ptr_eq(program->gpu->device.context, current);
  rs_host_run(gpu.host, &program->spec, rows);
  return ROWSCAN_OK;
}

static void open_gpu(rowscan_context *context, int number) {
  *context = (rowscan_context){.engine = ROWSCAN_ENGINE_CUDA,
                               .gpu.device = {.cuda = &cuda, .context = (CUcontext)&gpus[number]},
                               .process = getpid()};
  context->gpu.device.memory = (rs_device_memory){.cuda = &cuda, .stream = (CUstream)(void *)&used};
  rs_slots_init(&context->slots);
  rs_table_init(&context->programs);
}

static void close_gpu(rowscan_context *context) {
  bool pushed;
  rs_table_free(&context->programs);
  ck_assert(!rs_device_enter(&context->gpu.device, &pushed));
  rs_slots_close(&context->slots, &context->gpu.device.memory);
  rs_device_leave(&context->gpu.device, pushed);
}

static void open_contexts(void) {
  open_gpu(&gpu, 0);
  open_gpu(&second, 1);
  open_gpu(&third, 2);
  gpu.further[0] = &second;
  gpu.further[1] = &third;
  host = (rowscan_context){.engine = ROWSCAN_ENGINE_HOST, .process = getpid()};
  rs_table_init(&host.programs);
  ck_assert(!rs_host_open(&gpu.host, 3));
  ck_assert(!rs_host_open(&host.host, 2));
}

static void close_contexts(void) {
  rs_table_free(&host.programs);
  rs_host_close(gpu.host);
  rs_host_close(host.host);
  close_gpu(&gpu);
  close_gpu(&second);
  close_gpu(&third);
  is_clean();
}

/* ---- problems ---------------------------------------------------------------------------------------------------- */

static const rowscan_type floats[] = {ROWSCAN_F16, ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F64};

static rowscan_spec any_spec(uint64_t *random) {
  rowscan_spec spec = {0};
  spec.in_type = (rowscan_type)(ROWSCAN_F16 + stage_below(random, ROWSCAN_BOOL));
  bool floating = spec.in_type <= ROWSCAN_F64 || stage_below(random, 3) == 0;
  spec.out_type = floating ? floats[stage_below(random, 4)]
                           : (rowscan_type)(ROWSCAN_I8 + stage_below(random, ROWSCAN_BOOL - ROWSCAN_I8));
  if (floating && stage_below(random, 4) == 0)
    spec.acc_type = ROWSCAN_F64;
  spec.flags = (unsigned)stage_below(random, 4);
  spec.mask_mode = (rowscan_mask_mode)stage_below(random, 3);
  if (spec.mask_mode)
    spec.mask_type = (const rowscan_type[]){ROWSCAN_BOOL, ROWSCAN_U8, spec.in_type}[stage_below(random, 3)];
  do
    op_take(&spec, (uint64_t)stage_below(random, 1 << 20));
  while (!rs_spec_keeps_totals(&spec)); /* whose rows can't be cut */
  return spec;
}

static void check(const stage_case *c, rowscan_context *context, const char *what) {
  stage_result is, should;
  rowscan_status status = stage_case_run(c, context, &is);
  ck_assert_msg(status == ROWSCAN_OK, "%s: %s", what, rowscan_last_error());
  is_idle(1 + gpu.further_count);
  stage_case_judge(c, &should);
  stage_case_compare(c, &is, &should, what);
  stage_result_free(&is);
  stage_result_free(&should);
}

static int64_t any_length(uint64_t *random) {
  switch (stage_below(random, 4)) {
  case 0:
    return stage_below(random, 4);
  case 1:
    return 16 * stage_below(random, 40); /* whole blocks */
  default:
    return stage_below(random, 700);
  }
}

/* Staging from one byte, where blocks have 16 elements, to a few rows. */
START_TEST(anything_in_small_pieces) {
  uint64_t random = seed + (uint64_t)_i;
  for (int i = 0; i < 100; i++) {
    stage_case c;
    stage_form form = stage_any_form(&random, any_length(&random), 1 + stage_below(&random, 40));
    rowscan_spec spec = any_spec(&random);
    stage_case_make(&c, &random, &spec, &form);
    gpu.staging_bytes = (size_t)(1 + stage_below(&random, stage_below(&random, 2) ? 6000 : 40000));
    gpu.further_count = _i % 3;
    all_is_pinned = _i / 3 % 2;
    check(&c, &gpu, "gpu");
    check(&c, &host, "host");
    stage_case_free(&c);
  }
}
END_TEST

/* Every number of blocks of one row: the binary counter, and rows that end with a block. */
START_TEST(every_number_of_blocks) {
  static const rowscan_type types[] = {ROWSCAN_F32, ROWSCAN_F16, ROWSCAN_I8};
  uint64_t random = seed + 1000;
  gpu.staging_bytes = 1;
  for (int64_t length = 1; length <= 16 * 20; length++)
    for (unsigned flags = 0; flags < 4; flags++) {
      stage_case c;
      stage_form form = stage_any_form(&random, length, 2);
      rowscan_spec spec = {.in_type = types[_i], .out_type = types[_i], .flags = flags};
      stage_case_make(&c, &random, &spec, &form);
      check(&c, &gpu, "gpu");
      stage_case_free(&c);
    }
}
END_TEST

/* Rows go whole, or not at all: what a block of one comes to is more than a number. */
static void whole_or_refused(const rowscan_spec *spec, int number, uint64_t *random, const char *words) {
  static const stage_form rows = {2, 1, {300, 700}, true}, columns = {3, 1, {5, 60, 40}, false};
  stage_case c;
  stage_case_make(&c, random, spec, number % 3 ? &rows : &columns);
  gpu.staging_bytes = 0;
  check(&c, &gpu, "gpu");
  stage_result is = {0};
  gpu.staging_bytes = 1;
  ck_assert_int_eq(stage_case_run(&c, &gpu, &is), ROWSCAN_UNSUPPORTED);
  ck_assert_msg(strstr(rowscan_last_error(), words) != NULL, "%s", rowscan_last_error());
  stage_result_free(&is);
  stage_case_free(&c);
  gpu.staging_bytes = 0;
}

START_TEST(recurrences) {
  uint64_t random = seed + 5000;
  for (int i = 0; i < 8; i++) {
    rowscan_type type = i % 2 ? ROWSCAN_F32 : ROWSCAN_I32;
    rowscan_spec spec = {.op = ROWSCAN_LINEAR_RECURRENCE,
                         .in_type = type,
                         .mask_mode = ROWSCAN_MASK_COEFFICIENT,
                         .mask_type = type,
                         .flags = (unsigned)i / 2};
    whole_or_refused(&spec, i, &random, "are too long for linear_recurrence on a GPU");
  }
}
END_TEST

START_TEST(segments) {
  static const rowscan_mask_mode modes[] = {ROWSCAN_MASK_HEADS, ROWSCAN_MASK_TAILS, ROWSCAN_MASK_KEYS};
  uint64_t random = seed + 6000;
  for (int i = 0; i < 12; i++) {
    rowscan_spec spec = {.in_type = i % 2 ? ROWSCAN_F32 : ROWSCAN_U8,
                         .op = i % 4 > 1 ? ROWSCAN_MAX : ROWSCAN_SUM,
                         .mask_mode = modes[i % 3],
                         .mask_type = ROWSCAN_U8,
                         .flags = (unsigned)i / 3};
    whole_or_refused(&spec, i, &random, i % 4 > 1 ? "for max in segments on a GPU" : "for sum in segments on a GPU");
  }
}
END_TEST

/* Arrays that several threads copy, in pieces as large as they usually are. */
START_TEST(large_pieces) {
  static const stage_form forms[] = {
      {2, 0, {700, 900}, true},      {2, 1, {700, 1100}, true},     {3, 1, {5, 500, 301}, true},
      {2, 1, {90000, 7}, true},      {3, 2, {64, 100, 130}, false}, {1, 0, {1000000}, true},
      {3, 0, {130, 64, 100}, false}, {2, 1, {3, 300001}, true},     {4, 1, {7, 300, 11, 20}, false}};
  static const rowscan_type types[] = {ROWSCAN_U8, ROWSCAN_F16, ROWSCAN_F32, ROWSCAN_F64};
  uint64_t random = seed + 2000 + (uint64_t)_i;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    rowscan_spec spec = {.in_type = types[_i], .flags = (unsigned)stage_below(&random, 4)};
    spec.mask_mode = i % 2 ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE;
    stage_case c;
    stage_case_make(&c, &random, &spec, &forms[i]);
    stage_result is, should;
    gpu.staging_bytes = i % 3 ? 0 : 3000000;
    ck_assert(!stage_case_run(&c, &gpu, &is));
    ck_assert(!stage_case_run(&c, &host, &should));
    stage_case_compare(&c, &is, &should, "gpu");
    stage_result_free(&is);
    stage_result_free(&should);
    stage_case_free(&c);
  }
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* An array larger than the GPU's memory: what is used stays within a quarter of what is free, or what the caller
 * allows. */
START_TEST(memory_is_bounded) {
  static const stage_form forms[] = {{2, 1, {2000, 300}, true}, {1, 0, {600000}, true}, {2, 0, {300, 2000}, true}};
  uint64_t random = seed + 3000;
  for (int i = 0; i < 6; i++) {
    stage_case c;
    rowscan_spec spec = {.in_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_SELECT};
    stage_case_make(&c, &random, &spec, &forms[i % 3]);
    close_contexts();
    open_contexts();
    device_free = i < 3 ? 1000000 : DEVICE_MEMORY;
    gpu.staging_bytes = i < 3 ? 0 : 200000;
    peak = 0;
    check(&c, &gpu, "gpu");
    ck_assert_uint_gt(peak, 50000);
    ck_assert_uint_le(peak, i < 3 ? 250000 : 200000);
    stage_case_free(&c);
  }
}
END_TEST

START_TEST(memory_that_is_not_there) {
  stage_form form = {2, 1, {100, 300}, true};
  rowscan_spec spec = {.in_type = ROWSCAN_F32};
  uint64_t random = seed;
  stage_case c;
  stage_result is;
  stage_case_make(&c, &random, &spec, &form);
  device_free = 5000;
  gpu.staging_bytes = 30000;
  ck_assert_int_eq(stage_case_run(&c, &gpu, &is), ROWSCAN_OUT_OF_MEMORY);
  ck_assert_msg(strstr(rowscan_last_error(), "cuMemAlloc of a piece of an array failed") != NULL, "%s",
                rowscan_last_error());
  is_clean();
  stage_case_untouched(&c, &is, "no memory");
  stage_result_free(&is);
  stage_case_free(&c);
}
END_TEST

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* Each call of the driver fails in turn: that is told, and nothing is left behind. */
START_TEST(every_call_fails) {
  static const stage_form forms[] = {{2, 1, {40, 30}, true}, {2, 1, {2, 100}, true}};
  static const CUresult errors[] = {999, CUDA_ERROR_OUT_OF_MEMORY};
  uint64_t random = seed + 4000;
  stage_case c;
  stage_result is, should;
  rowscan_spec spec = {.in_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_SELECT};
  stage_case_make(&c, &random, &spec, &forms[_i / 2 % 2]);
  gpu.further_count = _i / 4;
  gpu.staging_bytes = 1;
  fail_with = errors[_i % 2];
  stage_case_judge(&c, &should);
  for (long nth = 1;; nth++) {
    calls = 0;
    fail_at = nth;
    rowscan_status status = stage_case_run(&c, &gpu, &is);
    bool done = calls < nth;
    if (status == ROWSCAN_OK) {
      is_idle(1 + gpu.further_count);
      stage_case_compare(&c, &is, &should, "after a failed call");
    } else {
      is_idle(1 + gpu.further_count);
      if (nth > 1 && !gpu.further_count) /* the first enters the CUDA context, before the run takes its slots */
        is_clean();
      ck_assert_int_eq(status, fail_with == CUDA_ERROR_OUT_OF_MEMORY ? ROWSCAN_OUT_OF_MEMORY : ROWSCAN_CUDA_FAILED);
    }
    ck_assert_msg(status == ROWSCAN_OK || strstr(rowscan_last_error(), "failed: CUDA_ERROR"), "%s",
                  rowscan_last_error());
    stage_result_free(&is);
    if (done)
      break;
    ck_assert_msg(status != ROWSCAN_OK, "call %ld of %ld failed", nth, (long)calls);
  }
  fail_at = 0;
  stage_result_free(&should);
  stage_case_free(&c);
}
END_TEST

/* ---- progress ---------------------------------------------------------------------------------------------------- */

typedef struct told {
  int64_t calls, done, total;
} told;

static void listen(void *user, int64_t done, int64_t total) {
  told *t = user;
  ck_assert_int_gt(done, t->done);
  ck_assert_int_le(done, total);
  ck_assert(!t->calls || total == t->total);
  *t = (told){t->calls + 1, done, total};
}

/* What a run with a callback says; the result must not depend on there being one. */
static told told_by(rowscan_context *context, const stage_case *c) {
  told t = {0};
  stage_result is, should;
  ck_assert(!stage_case_run(c, context, &should));
  context->user = &t;
  context->progress = listen;
  ck_assert(!stage_case_run(c, context, &is));
  context->progress = NULL;
  stage_case_compare(c, &is, &should, "with a progress callback");
  stage_result_free(&is);
  stage_result_free(&should);
  ck_assert_int_eq(t.done, t.total);
  return t;
}

START_TEST(progress_of_the_gpu) {
  static const stage_form forms[] = {{2, 1, {100, 30}, true}, {1, 0, {3000}, true}};
  uint64_t random = seed + 5000;
  for (int i = 0; i < 2; i++) {
    rowscan_spec spec = {.in_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_SELECT};
    stage_case c;
    stage_case_make(&c, &random, &spec, &forms[i]);
    gpu.staging_bytes = 6000;
    told t = told_by(&gpu, &c);
    ck_assert_int_eq(t.total, 3000 * (4 + 1 + 4));
    ck_assert_int_gt(t.calls, 20);
    stage_case_free(&c);
  }
}
END_TEST

/* Large enough for several boxes: rows, columns, and both. */
START_TEST(progress_of_the_host) {
  static const stage_form forms[] = {
      {2, 1, {7001, 15001}, true}, {2, 0, {9001, 11001}, true}, {3, 1, {31, 1501, 2003}, true}};
  uint64_t random = seed + 6000;
  rowscan_spec spec = {.in_type = ROWSCAN_U8, .out_type = ROWSCAN_U8};
  stage_case c;
  stage_case_make(&c, &random, &spec, &forms[_i]);
  told t = told_by(&host, &c);
  ck_assert_int_eq(t.total,
                   2 * forms[_i].shape[0] * forms[_i].shape[1] * (forms[_i].rank > 2 ? forms[_i].shape[2] : 1));
  ck_assert_int_gt(t.calls, 1);
  stage_case_free(&c);
}
END_TEST

/* All arrays count: an input, two more of its type, two of flags, and two outputs. */
START_TEST(progress_counts_further_arrays) {
  enum { ROWS = 300, LENGTH = 7 };
  static float x[ROWS * LENGTH], y[ROWS * LENGTH], z[ROWS * LENGTH];
  static const uint8_t flags[ROWS * LENGTH];
  rowscan_context *contexts[] = {&host, &gpu};
  for (int i = 0; i < 2; i++) {
    told t = {0};
    contexts[i]->user = &t;
    contexts[i]->progress = listen;
    ck_assert(!rowscan_scan_host(contexts[i], ROWSCAN_PROBLEM(.op = ROWSCAN_GAE, .flags = ROWSCAN_REVERSE, .rank = 2,
                                                              .dim = 1, .shape = ((int64_t[]){ROWS, LENGTH}),
                                                              .input = {.data = x, .type = ROWSCAN_F32},
                                                              .output = {.data = y, .type = ROWSCAN_F32},
                                                              .more = {{.data = x},
                                                                       {.data = x},
                                                                       {.data = flags, .type = ROWSCAN_BOOL},
                                                                       {.data = flags, .type = ROWSCAN_BOOL}},
                                                              .second = {.data = z}, .params = {0.99, 0.95})));
    contexts[i]->progress = NULL;
    ck_assert_int_eq(t.total, ROWS * LENGTH * (4 + 2 * 4 + 2 * 1 + 2 * 4));
    ck_assert_int_eq(t.done, t.total);
  }
}
END_TEST

/* Rows in boxes of any size come once each, in their order. */
START_TEST(boxes) {
  uint64_t random = seed + 7000;
  for (int i = 0; i < 3000; i++) {
    stage_form form = stage_any_form(&random, 1 + stage_below(&random, 3), 1 + stage_below(&random, 200));
    rowscan_spec spec = {.in_type = ROWSCAN_I32, .out_type = ROWSCAN_I32}, complete;
    stage_case c;
    stage_case_make(&c, &random, &spec, &form);
    rowscan_problem problem = {.size = sizeof problem,
                               .rank = form.rank,
                               .dim = form.dim,
                               .shape = form.shape,
                               .input = {c.out.memory + c.out.origin, ROWSCAN_I32, c.out.strides},
                               .output = {c.out.memory + c.out.origin, ROWSCAN_I32, c.out.strides}};
    rs_rows rows;
    ck_assert(!rs_rows_from_problem(&rows, &complete, &problem));
    char *should = malloc(c.out.bytes);
    memcpy(should, c.out.memory, c.out.bytes);
    rs_rows whole = rows;
    whole.array[RS_IN].data = whole.array[RS_OUT].data = should + c.out.origin;
    judge_scan(&complete, &whole);
    int64_t first = 0;
    while (first < rows.count) {
      int64_t most = 1 + stage_below(&random, stage_below(&random, 2) ? 8 : rows.count);
      rs_rows box = rs_next_box(&rows, first, most);
      ck_assert_int_ge(box.count, 1);
      ck_assert_int_le(box.count, most);
      judge_scan(&complete, &box);
      first += box.count;
    }
    ck_assert_int_eq(first, rows.count);
    ck_assert_mem_eq(c.out.memory, should, c.out.bytes);
    free(should);
    stage_case_free(&c);
  }
}
END_TEST

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* No elements: nothing but totals is written, and the GPU is not asked. */
START_TEST(nothing_to_do) {
  static const stage_form forms[] = {{2, 1, {3, 0}, true}, {2, 1, {0, 5}, true}, {1, 0, {0}, true}};
  uint64_t random = seed + 8000;
  calls = 0;
  for (int i = 0; i < 60; i++) {
    rowscan_spec spec = any_spec(&random);
    stage_case c;
    stage_case_make(&c, &random, &spec, &forms[i % 3]);
    check(&c, &gpu, "gpu");
    check(&c, &host, "host");
    stage_case_free(&c);
  }
  ck_assert_int_eq(calls, 0);
}
END_TEST

static void *one_of_a_crowd(void *argument) {
  uint64_t random = seed + 9000 + (uint64_t)(uintptr_t)argument;
  for (int i = 0; i < 60; i++) {
    stage_form form = stage_any_form(&random, any_length(&random), 30);
    rowscan_spec spec = any_spec(&random);
    stage_case c;
    stage_case_make(&c, &random, &spec, &form);
    stage_result is, should;
    ck_assert(!stage_case_run(&c, &gpu, &is));
    stage_case_judge(&c, &should);
    stage_case_compare(&c, &is, &should, "gpu");
    stage_result_free(&is);
    stage_result_free(&should);
    stage_case_free(&c);
  }
  return NULL;
}

START_TEST(many_callers) {
  pthread_t threads[4];
  gpu.staging_bytes = 5000;
  for (uintptr_t i = 0; i < 4; i++)
    ck_assert(!pthread_create(&threads[i], NULL, one_of_a_crowd, (void *)i));
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  is_idle(4);
}
END_TEST

/* Streams, memory and threads are made once, and more of them only for more. */
START_TEST(what_a_run_made_serves_the_next) {
  static const stage_form small = {2, 1, {1400, 300}, true}, large = {2, 1, {8000, 300}, true};
  rowscan_spec spec = {.in_type = ROWSCAN_F32};
  uint64_t random = seed + 9500;
  stage_case c;
  stage_case_make(&c, &random, &spec, &small);
  check(&c, &gpu, "the first");
  long before = made;
  size_t used_before = used;
  for (int i = 0; i < 5; i++)
    check(&c, &gpu, "the next");
  ck_assert_int_eq(made, before);
  stage_case_free(&c);
  stage_case_make(&c, &random, &spec, &large);
  check(&c, &gpu, "a larger one");
  ck_assert_int_eq(made, before + 6);
  ck_assert_uint_gt(used, used_before);
  stage_case_free(&c);
}
END_TEST

/* Idle sets make room where the GPU has none. */
START_TEST(idle_memory_is_given_up) {
  static const stage_form form = {2, 1, {700, 300}, true};
  rowscan_spec spec = {.in_type = ROWSCAN_F32};
  uint64_t random = seed + 9600;
  stage_case c;
  bool pushed;
  gpu.staging_bytes = 300000;
  ck_assert(!rs_device_enter(&gpu.gpu.device, &pushed));
  rs_slots *one = rs_slots_take(&gpu.slots), *other = rs_slots_take(&gpu.slots);
  ck_assert(!rs_slot_ready(&gpu.slots, &gpu.gpu.device.memory, &one->slot[0], 100000, 1, 100000));
  ck_assert(!rs_slot_ready(&gpu.slots, &gpu.gpu.device.memory, &other->slot[0], 1, 1, 1));
  rs_slots_give(&gpu.slots, &gpu.gpu.device.memory, one, true);
  rs_slots_give(&gpu.slots, &gpu.gpu.device.memory, other, true);
  rs_device_leave(&gpu.gpu.device, pushed);
  device_free = 320000;
  stage_case_make(&c, &random, &spec, &form);
  check(&c, &gpu, "beside an idle set");
  ck_assert_int_eq(blocks, 3);
  stage_case_free(&c);
}
END_TEST

int main(void) {
  if (getenv("ROWSCAN_TEST_SEED"))
    seed = strtoull(getenv("ROWSCAN_TEST_SEED"), NULL, 0);
  lot_tell();
  Suite *suite = suite_create("stage");
  TCase *cases = tcase_create("stage");
  tcase_add_checked_fixture(cases, open_contexts, close_contexts);
  tcase_set_timeout(cases, 600);
  lot_add_loop_test(cases, anything_in_small_pieces, 0, is_quick() ? 10 : 60);
  lot_add_loop_test(cases, every_number_of_blocks, 0, 3);
  lot_add_loop_test(cases, large_pieces, 0, 4);
  lot_add_test(cases, recurrences);
  lot_add_test(cases, segments);
  lot_add_test(cases, memory_is_bounded);
  lot_add_test(cases, memory_that_is_not_there);
  lot_add_loop_test(cases, every_call_fails, 0, 12);
  lot_add_test(cases, progress_of_the_gpu);
  lot_add_test(cases, progress_counts_further_arrays);
  lot_add_loop_test(cases, progress_of_the_host, is_quick() ? 2 : 0, 3);
  lot_add_test(cases, boxes);
  lot_add_test(cases, nothing_to_do);
  lot_add_test(cases, many_callers);
  lot_add_test(cases, what_a_run_made_serves_the_next);
  lot_add_test(cases, idle_memory_is_given_up);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
