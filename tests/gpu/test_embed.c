/*
 * test_embed.c - what a program that embeds the library hands it, and when: on the simulated GPU
 * SPDX-License-Identifier: MIT
 *
 * A CUDA context of the program's, an allocator, a workspace; contexts that are opened while streams are captured; and
 * captured graphs that come and go. The program calls the driver by itself, as one does, and counts what it was asked
 * for. Exits with 77 where the driver is not the simulated one.
 */
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../simt/simt.h"
#include "../support/lot.h"
#include "../support/run_tests.h"
#include "rowscan.h"

/* ---- the driver -------------------------------------------------------------------------------------------------- */

typedef struct CUstream_st *stream_t;
typedef struct CUctx_st *context_t;
typedef void *graph_t;

static struct {
  int (*cuInit)(unsigned);
  int (*cuDevicePrimaryCtxRetain)(context_t *, int);
  int (*cuDevicePrimaryCtxRelease_v2)(int);
  int (*cuCtxCreate_v2)(context_t *, unsigned, int);
  int (*cuCtxDestroy_v2)(context_t);
  int (*cuCtxPushCurrent_v2)(context_t);
  int (*cuCtxPopCurrent_v2)(context_t *);
  int (*cuMemAlloc_v2)(unsigned long long *, size_t);
  int (*cuMemFree_v2)(unsigned long long);
  int (*cuMemHostAlloc)(void **, size_t, unsigned);
  int (*cuMemFreeHost)(void *);
  int (*cuStreamCreate)(stream_t *, unsigned);
  int (*cuStreamDestroy_v2)(stream_t);
  int (*cuStreamSynchronize)(stream_t);
  int (*cuStreamBeginCapture_v2)(stream_t, int);
  int (*cuStreamIsCapturing)(stream_t, int *);
  int (*cuStreamEndCapture)(stream_t, graph_t *);
  int (*cuGraphInstantiateWithFlags)(graph_t *, graph_t, unsigned long long);
  int (*cuGraphLaunch)(graph_t, stream_t);
  int (*cuGraphExecDestroy)(graph_t);
  int (*cuGraphDestroy)(graph_t);
  long (*simt_leaks)(void);
  const char *(*simt_leaks_text)(void);
  long (*simt_calls)(const char *);
  unsigned long long (*simt_memory_in_use)(void);
} cu;

static bool find_driver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
#define GET(name)                                                                                                      \
  *(void **)&cu.name = library ? dlsym(library, #name) : NULL;                                                         \
  if (!cu.name)                                                                                                        \
    return false;
  GET(cuInit)
  GET(cuDevicePrimaryCtxRetain)
  GET(cuDevicePrimaryCtxRelease_v2)
  GET(cuCtxCreate_v2)
  GET(cuCtxDestroy_v2)
  GET(cuCtxPushCurrent_v2)
  GET(cuCtxPopCurrent_v2)
  GET(cuMemAlloc_v2)
  GET(cuMemFree_v2)
  GET(cuMemHostAlloc)
  GET(cuMemFreeHost)
  GET(cuStreamCreate)
  GET(cuStreamDestroy_v2)
  GET(cuStreamSynchronize)
  GET(cuStreamBeginCapture_v2)
  GET(cuStreamIsCapturing)
  GET(cuStreamEndCapture)
  GET(cuGraphInstantiateWithFlags)
  GET(cuGraphLaunch)
  GET(cuGraphExecDestroy)
  GET(cuGraphDestroy)
  GET(simt_leaks)
  GET(simt_leaks_text)
  GET(simt_calls)
  GET(simt_memory_in_use)
#undef GET
  return true;
}

#define CU(call) ck_assert_int_eq(cu.call, 0)
#define OK(call) ck_assert_msg(!(call), "%s", rowscan_last_error())

enum { NON_BLOCKING = 1, CAPTURE_GLOBAL = 0, CAPTURE_RELAXED = 2 };

/* ---- what is scanned --------------------------------------------------------------------------------------------- */

/* Rows that are cut over blocks, so that their runs need scratch memory. */
enum { LENGTH = 70001, ROWS = 2, ELEMENTS = ROWS * LENGTH };
static const int64_t shape[] = {ROWS, LENGTH};

static context_t current;
static stream_t stream;
static unsigned long long in, out; /* memory of a simulated GPU is the host's */

static void open_in(context_t context) {
  current = context;
  CU(cuMemAlloc_v2(&in, ELEMENTS * sizeof(float)));
  CU(cuMemAlloc_v2(&out, ELEMENTS * sizeof(float)));
  CU(cuStreamCreate(&stream, NON_BLOCKING));
  for (int i = 0; i < ELEMENTS; i++)
    ((float *)(uintptr_t)in)[i] = (float)(i % 3);
}

static void open_driver(void) {
  context_t primary;
  CU(cuInit(0));
  CU(cuDevicePrimaryCtxRetain(&primary, 0));
  CU(cuCtxPushCurrent_v2(primary));
  open_in(primary);
}

static void close_memory(void) {
  CU(cuMemFree_v2(in));
  CU(cuMemFree_v2(out));
  CU(cuStreamDestroy_v2(stream));
}

static void is_clean(void) {
  ck_assert_msg(cu.simt_leaks() == 0, "left behind: %s", cu.simt_leaks_text());
}

static void close_driver(void) {
  close_memory();
  CU(cuCtxPopCurrent_v2(&current));
  CU(cuDevicePrimaryCtxRelease_v2(0));
  is_clean();
}

static void clear_output(void) {
  memset((void *)(uintptr_t)out, 0xff, ELEMENTS * sizeof(float));
}

/* Sums of small integers are exact. */
static void check_output(const char *what) {
  CU(cuStreamSynchronize(stream));
  const float *is = (const float *)(uintptr_t)out;
  for (int row = 0; row < ROWS; row++)
    for (int i = 0, sum = 0; i < LENGTH; i++) {
      sum += (row * LENGTH + i) % 3;
      ck_assert_msg(is[row * LENGTH + i] == (float)sum, "%s: row %d, element %d", what, row, i);
    }
  clear_output();
}

static rowscan_status scan_with(rowscan_context *context, void *workspace, size_t bytes) {
  return rowscan_scan(context,
                      ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = shape,
                                      .input = {(void *)(uintptr_t)in, ROWSCAN_F32},
                                      .output = {(void *)(uintptr_t)out, ROWSCAN_F32}, .workspace = workspace,
                                      .workspace_bytes = bytes),
                      stream);
}

static rowscan_status scan(rowscan_context *context) {
  return scan_with(context, NULL, 0);
}

static rowscan_context *open_context(context_t given) {
  rowscan_context *context = NULL;
  OK(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .threads = 1, .cuda_context = given)));
  return context;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static graph_t capture_scan(rowscan_context *context) {
  graph_t graph;
  CU(cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
  rowscan_status status = scan(context);
  CU(cuStreamEndCapture(stream, &graph));
  OK(status);
  return graph;
}

/* More than a plan has memory for at a time, and than it counts; each is launched and destroyed at once. */
START_TEST(graphs_come_and_go) {
  enum { GRAPHS = 600 };
  if (_i)
    setenv("SIMT_ASYNC", "1", 1);
  open_driver();
  rowscan_context *context = open_context(NULL);
  graph_t exec;
  unsigned long long used = 0;
  for (int i = 0; i < GRAPHS; i++) {
    graph_t graph = capture_scan(context);
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    if (i % 200 == 0) {
      CU(cuGraphLaunch(exec, stream));
      CU(cuGraphExecDestroy(exec)); /* which the launch outlives */
      check_output("a graph");
    } else {
      CU(cuGraphExecDestroy(exec));
    }
    if (i == 10)
      used = cu.simt_memory_in_use();
    ck_assert(i < 10 || cu.simt_memory_in_use() == used);
  }
  rowscan_close(context);
  close_driver();
}
END_TEST

START_TEST(a_graph_outlives_its_plan) {
  open_driver();
  rowscan_context *context = open_context(NULL);
  graph_t graph = capture_scan(context);
  rowscan_close(context);
  CU(cuGraphDestroy(graph));
  close_driver();
}
END_TEST

/* ---- a workspace of the caller's --------------------------------------------------------------------------------- */

START_TEST(a_scan_has_a_workspace_of_its_own) {
  open_driver();
  rowscan_context *context = open_context(NULL);
  size_t bytes = 0, none = 1;
  unsigned long long memory;
  const int64_t little[] = {5, 7};
  const rowscan_problem *problem =
      ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = shape, .input = {(void *)(uintptr_t)in, ROWSCAN_F32},
                      .output = {(void *)(uintptr_t)out, ROWSCAN_F32});
  OK(rowscan_workspace_bytes(context, problem, &bytes));
  ck_assert_uint_gt(bytes, 0);
  OK(rowscan_workspace_bytes(context,
                             ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = little,
                                             .input = {(void *)(uintptr_t)in, ROWSCAN_F32},
                                             .output = {(void *)(uintptr_t)out, ROWSCAN_F32}),
                             &none));
  ck_assert_uint_eq(none, 0);
  ck_assert_int_eq(rowscan_workspace_bytes(context, ROWSCAN_PROBLEM(.rank = 2, .shape = shape), &none),
                   ROWSCAN_BAD_ARGUMENT);
  CU(cuMemAlloc_v2(&memory, bytes));
  unsigned long long before = cu.simt_memory_in_use();
  for (int i = 0; i < 3; i++) {
    OK(scan_with(context, (void *)(uintptr_t)memory, bytes));
    check_output("with a workspace");
  }
  ck_assert_int_eq(scan_with(context, (void *)(uintptr_t)memory, bytes - 1), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'workspace_bytes'"));
  ck_assert_uint_eq(cu.simt_memory_in_use(), before); /* the plan has none */
  OK(scan(context));
  check_output("without one");
  ck_assert_uint_gt(cu.simt_memory_in_use(), before);
  CU(cuMemFree_v2(memory));
  rowscan_close(context);
  close_driver();
}
END_TEST

/* ---- a CUDA context of the caller's ------------------------------------------------------------------------------ */

/* Not the primary one, on the second GPU; none is retained, and all that the library has is in it. */
START_TEST(a_context_of_the_programs) {
  setenv("SIMT_DEVICES", "2", 1);
  context_t own, popped;
  CU(cuInit(0));
  CU(cuCtxCreate_v2(&own, 0, 1));
  open_in(own);
  long retained = cu.simt_calls("cuDevicePrimaryCtxRetain");
  CU(cuCtxPopCurrent_v2(&popped));
  rowscan_context *context = open_context(own);
  CU(cuCtxPushCurrent_v2(own));
  OK(scan(context));
  check_output("in a context of the program's");
  ck_assert_int_eq(cu.simt_calls("cuDevicePrimaryCtxRetain"), retained);
  float host_in[] = {1, 2, 3, 4}, host_out[4];
  OK(rowscan_scan_host(context, ROWSCAN_PROBLEM(.rank = 1, .shape = ((int64_t[]){4}), .input = {host_in, ROWSCAN_F32},
                                                .output = {host_out, ROWSCAN_F32})));
  ck_assert(host_out[3] == 10);
  int device = -1;
  OK(rowscan_device_of((void *)(uintptr_t)out, &device));
  ck_assert_int_eq(device, 1);
  rowscan_close(context);
  close_memory();
  CU(cuCtxDestroy_v2(own));
  is_clean();
}
END_TEST

/* ---- several GPUs ------------------------------------------------------------------------------------------------ */

/* Sums of tenths, whose bits tell the order, by pieces of a row and of rows. */
START_TEST(pieces_go_to_all_gpus) {
  static float x[ELEMENTS], y[ELEMENTS], should[ELEMENTS];
  rowscan_context *gpus = NULL, *host = NULL;
  for (int i = 0; i < ELEMENTS; i++)
    x[i] = 0.1f * (float)(i % 77);
  rowscan_problem problem = {.size = sizeof problem, .rank = 2, .dim = -1, .shape = shape};
  problem.input = (rowscan_input){.data = x, .type = ROWSCAN_F32};
  problem.output = (rowscan_output){.data = should, .type = ROWSCAN_F32};
  OK(rowscan_open(&host, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST)));
  OK(rowscan_scan_host(host, &problem));
  rowscan_close(host);
  problem.output.data = y;
  setenv("SIMT_DEVICES", "3", 1);
  for (size_t staging = 20000; staging < 3000000; staging *= 12) {
    OK(rowscan_open(&gpus, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .staging_bytes = staging,
                                           .devices = (const int[]){2, 0, 1}, .device_count = 3)));
    rowscan_context_info info = {.size = sizeof info};
    OK(rowscan_context_info_get(gpus, &info));
    ck_assert_int_eq(info.device, 2);
    memset(y, 0xff, sizeof y);
    OK(rowscan_scan_host(gpus, &problem));
    ck_assert(!memcmp(y, should, sizeof y));
    rowscan_close(gpus);
  }
  is_clean();
}
END_TEST

START_TEST(pinned_arrays_go_as_they_are) {
  void *x, *y;
  open_driver();
  CU(cuMemHostAlloc(&x, sizeof(float) * ELEMENTS, 0));
  CU(cuMemHostAlloc(&y, sizeof(float) * ELEMENTS, 0));
  for (size_t staging = 20000; staging < 3000000; staging *= 12) {
    rowscan_context *context = NULL;
    OK(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .threads = 1, .staging_bytes = staging)));
    rowscan_problem problem = {.size = sizeof problem, .rank = 2, .dim = -1, .shape = shape};
    problem.input = (rowscan_input){.data = x, .type = ROWSCAN_F32};
    problem.output = (rowscan_output){.data = y, .type = ROWSCAN_F32};
    memcpy(x, (void *)(uintptr_t)in, sizeof(float) * ELEMENTS);
    memset(y, 0xff, sizeof(float) * ELEMENTS);
    OK(rowscan_scan_host(context, &problem));
    memcpy((void *)(uintptr_t)out, y, sizeof(float) * ELEMENTS);
    check_output("from pinned memory to pinned memory");
    rowscan_close(context);
  }
  CU(cuMemFreeHost(x));
  CU(cuMemFreeHost(y));
  close_driver();
}
END_TEST

START_TEST(lists_that_name_no_gpus_are_refused) {
  rowscan_context *context = NULL;
  char word[sizeof(void *)];
  setenv("SIMT_DEVICES", "2", 1);
#define NO(status, words, ...)                                                                                         \
  ck_assert_int_eq(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, __VA_ARGS__)), status);       \
  ck_assert_msg(strstr(rowscan_last_error(), words), "%s", rowscan_last_error())
  static const int twice[] = {1, 0, 1}, missing[] = {0, 2}, good[] = {1, 0}, negative[] = {0, -1};
  NO(ROWSCAN_BAD_ARGUMENT, "'device_count': -1 is not between 0 and 16", .devices = good, .device_count = -1);
  NO(ROWSCAN_BAD_ARGUMENT, "'device_count': 17 is not between 0 and 16", .devices = good, .device_count = 17);
  NO(ROWSCAN_BAD_ARGUMENT, "'devices': NULL, but 'device_count' is 2", .device_count = 2);
  NO(ROWSCAN_BAD_ARGUMENT, "'devices': -1 is negative", .devices = negative, .device_count = 2);
  NO(ROWSCAN_BAD_ARGUMENT, "'devices': names GPU 1 twice", .devices = twice, .device_count = 3);
  NO(ROWSCAN_BAD_ARGUMENT, "'device': 3, but 'devices' begins with 1", .device = 3, .devices = good, .device_count = 2);
  NO(ROWSCAN_BAD_ARGUMENT, "'devices': is set, but so is 'cuda_context'", .cuda_context = (void *)word, .devices = good,
     .device_count = 2);
  NO(ROWSCAN_NO_DEVICE, "'device': 2 is not the number of a GPU", .devices = missing, .device_count = 2);
#undef NO
  is_clean();
}
END_TEST

/* As a green context has them. */
START_TEST(rows_are_cut_for_the_contexts_multiprocessors) {
  setenv("SIMT_SMS", "8", 1);
  setenv("SIMT_CONTEXT_SMS", "2", 1);
  context_t own;
  CU(cuInit(0));
  CU(cuCtxCreate_v2(&own, 0, 0));
  open_in(own);
  rowscan_context *context = open_context(own);
  OK(scan(context));
  check_output("with some of the multiprocessors");
  ck_assert_int_gt(cu.simt_calls("cuCtxGetDevResource"), 0);
  rowscan_close(context);
  close_memory();
  CU(cuCtxDestroy_v2(own));
  is_clean();
}
END_TEST

START_TEST(a_context_that_is_gone) {
  setenv("SIMT_STRICT", "0", 1);
  context_t own;
  rowscan_context *context;
  CU(cuInit(0));
  CU(cuCtxCreate_v2(&own, 0, 0));
  CU(cuCtxDestroy_v2(own));
  ck_assert_int_eq(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .cuda_context = own)),
                   ROWSCAN_CUDA_FAILED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'cuda_context'"));
  is_clean();
}
END_TEST

/* ---- an allocator ------------------------------------------------------------------------------------------------ */

/* A pool that gives out what it got back, with whatever was left in it. */
enum { BLOCKS = 64 };
static struct pool {
  struct block {
    unsigned long long at;
    size_t bytes;
    stream_t stream;
    bool taken;
  } block[BLOCKS];
  int count, taken, released, refuses;
  size_t askew;
} pool;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static struct block *free_block(size_t bytes) {
  for (int i = 0; i < pool.count; i++)
    if (!pool.block[i].taken && pool.block[i].bytes == bytes)
      return &pool.block[i];
  return NULL;
}

static void *allocate(void *user, size_t bytes, stream_t on) {
  ck_assert_ptr_eq(user, &pool);
  pthread_mutex_lock(&pool_lock);
  struct block *block = free_block(bytes);
  bool refused = pool.refuses && !--pool.refuses;
  if (!block && !refused) {
    block = &pool.block[pool.count++];
    ck_assert_int_lt(pool.count, BLOCKS);
    CU(cuMemAlloc_v2(&block->at, bytes + 256)); /* needs the context, and a relaxed capture mode */
    block->bytes = bytes;
    block->stream = on;
  }
  if (!refused) {
    ck_assert_ptr_eq(block->stream, on);
    memset((void *)(uintptr_t)block->at, 0xee, bytes);
    block->taken = true;
    pool.taken++;
  }
  pthread_mutex_unlock(&pool_lock);
  return refused ? NULL : (void *)(uintptr_t)(block->at + pool.askew);
}

static void release(void *user, void *memory, size_t bytes, stream_t on) {
  ck_assert_ptr_eq(user, &pool);
  pthread_mutex_lock(&pool_lock);
  int i = 0;
  while (i < pool.count && pool.block[i].at + pool.askew != (uintptr_t)memory)
    i++;
  ck_assert(i < pool.count && pool.block[i].taken && pool.block[i].bytes == bytes && pool.block[i].stream == on);
  pool.block[i].taken = false;
  pool.released++;
  pthread_mutex_unlock(&pool_lock);
}

static void empty_pool(void) {
  ck_assert_int_eq(pool.taken, pool.released);
  for (int i = 0; i < pool.count; i++)
    CU(cuMemFree_v2(pool.block[i].at));
  pool = (struct pool){0};
}

static rowscan_context *open_with_pool(void) {
  rowscan_context *context = NULL;
  OK(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .threads = 1, .user = &pool,
                                            .allocate = allocate, .release = release)));
  return context;
}

static float host_in[ELEMENTS], host_out[ELEMENTS];

static rowscan_status scan_host(rowscan_context *context) {
  return rowscan_scan_host(context,
                           ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = shape, .input = {host_in, ROWSCAN_F32},
                                           .output = {host_out, ROWSCAN_F32}));
}

/* All scratch memory, of runs, of captured graphs and of pieces that travel, comes from there and goes back. */
START_TEST(scratch_is_the_allocators) {
  open_driver();
  for (int i = 0; i < ELEMENTS; i++)
    host_in[i] = (float)(i % 3);
  for (int i = 0; i < 2; i++) {
    rowscan_context *context = open_with_pool();
    long before = cu.simt_calls("cuMemAlloc_v2") - pool.count;
    OK(scan(context));
    check_output("in a pool's memory");
    ck_assert_int_eq(pool.taken - pool.released, 1);
    graph_t graph = capture_scan(context), exec;
    ck_assert_int_eq(pool.taken - pool.released, 2);
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphLaunch(exec, stream));
    check_output("a graph in a pool's memory");
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    OK(scan_host(context));
    ck_assert(host_out[LENGTH - 1] == (float)(LENGTH - 1)); /* 0 1 2 0 1 2 ... 0 1 */
    rowscan_close(context);
    ck_assert_int_eq(cu.simt_calls("cuMemAlloc_v2") - pool.count, before);
    ck_assert_int_eq(pool.taken, pool.released);
  }
  empty_pool();
  close_driver();
}
END_TEST

START_TEST(an_allocator_may_have_none) {
  open_driver();
  rowscan_context *context = open_with_pool();
  pool.refuses = 1;
  ck_assert_int_eq(scan(context), ROWSCAN_OUT_OF_MEMORY);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'allocate'"));
  pool.askew = 128;
  ck_assert_int_eq(scan(context), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "multiple of 256"));
  pool.askew = 0;
  for (int nth = 1; nth <= 2; nth++) {
    pool.refuses = nth;
    ck_assert_int_eq(scan_host(context), ROWSCAN_OUT_OF_MEMORY);
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'allocate'"));
    pool.refuses = 0;
  }
  OK(scan(context));
  check_output("after all");
  rowscan_close(context);
  empty_pool();
  close_driver();
}
END_TEST

START_TEST(an_allocator_is_two_functions) {
  rowscan_context *context;
  ck_assert_int_eq(rowscan_open(&context, ROWSCAN_OPTIONS(.allocate = allocate)), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'release'"));
  ck_assert_int_eq(rowscan_open(&context, ROWSCAN_OPTIONS(.release = release)), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'allocate'"));
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static int lent, lent_parts;

static void count_parts(void *user, int64_t count, void (*body)(void *data, int64_t index), void *data) {
  ck_assert_ptr_eq(user, &lent);
  lent++;
  lent_parts = count > lent_parts ? (int)count : lent_parts;
  for (int64_t i = count - 1; i >= 0; i--)
    body(data, i);
}

/* On the host, and where pieces are copied to and from a GPU: as many parts as there may be threads. _i: the engine. */
START_TEST(the_program_has_the_threads) {
  enum { WIDE = 300000, COPIES = 5 };
  const int64_t wide[] = {COPIES, WIDE};
  rowscan_context *context;
  float *from = calloc(COPIES * WIDE, sizeof *from), *to = calloc(COPIES * WIDE, sizeof *to);
  ck_assert(from && to);
  for (int i = 0; i < COPIES * WIDE; i++)
    from[i] = 1;
  OK(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = _i ? ROWSCAN_ENGINE_CUDA : ROWSCAN_ENGINE_HOST, .threads = 3,
                                            .user = &lent, .parallel_for = count_parts)));
  for (int threads = 3; threads > 0; threads--) {
    OK(rowscan_set_threads(context, threads));
    lent = lent_parts = 0;
    memset(to, 0xff, COPIES * WIDE * sizeof *to);
    OK(rowscan_scan_host(context, ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = wide, .input = {from, ROWSCAN_F32},
                                                  .output = {to, ROWSCAN_F32})));
    ck_assert(lent_parts == (threads > 1 ? _i && threads > 2 ? 2 : threads : 0)); /* 12 MB are worth two that copy */
    for (int i = 0; i < COPIES * WIDE; i++)
      ck_assert(to[i] == (float)(i % WIDE + 1));
  }
  ck_assert_int_eq(rowscan_set_threads(context, -1), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'threads'"));
  rowscan_close(context);
  free(from);
  free(to);
  is_clean();
}
END_TEST

/* ---- whose a pointer is ------------------------------------------------------------------------------------------ */

START_TEST(memory_is_a_devices_or_the_hosts) {
  open_driver();
  int device = 7;
  void *pinned;
  CU(cuMemHostAlloc(&pinned, 100, 0));
  OK(rowscan_device_of((void *)(uintptr_t)(out + 5), &device));
  ck_assert_int_eq(device, 0);
  const void *const hosts[] = {pinned, &device, NULL, shape};
  for (int i = 0; i < 4; i++) {
    device = 7;
    OK(rowscan_device_of(hosts[i], &device));
    ck_assert_int_eq(device, -1);
  }
  CU(cuMemFreeHost(pinned));
  close_driver();
}
END_TEST

START_TEST(without_a_device_memory_is_the_hosts) {
  setenv("SIMT_DEVICES", "0", 1);
  int device = 7;
  OK(rowscan_device_of(&device, &device));
  ck_assert_int_eq(device, -1);
}
END_TEST

/* ---- opening while streams are captured -------------------------------------------------------------------------- */

static void *open_and_scan(void *unused) {
  (void)unused;
  stream_t mine = stream;
  CU(cuCtxPushCurrent_v2(current));
  rowscan_context *context = open_context(NULL);
  OK(scan_host(context));
  context_t popped;
  CU(cuCtxPopCurrent_v2(&popped));
  ck_assert_ptr_eq(mine, stream);
  return context;
}

/* By the thread that captures, or by another, in each mode; the graph is whole, and the context serves. */
START_TEST(a_context_opens_while_a_stream_is_captured) {
  open_driver();
  rowscan_context *before = open_context(NULL), *context = NULL;
  pthread_t other;
  graph_t graph, exec;
  clear_output();
  CU(cuStreamBeginCapture_v2(stream, _i / 2));
  OK(scan(before));
  if (_i % 2) {
    void *opened;
    ck_assert_int_eq(pthread_create(&other, NULL, open_and_scan, NULL), 0);
    ck_assert_int_eq(pthread_join(other, &opened), 0);
    context = opened;
  } else {
    context = open_context(NULL);
  }
  CU(cuStreamEndCapture(stream, &graph));
  CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU(cuGraphLaunch(exec, stream));
  check_output("a graph that was captured while a context opened");
  OK(scan(context));
  check_output("in the context");
  CU(cuGraphExecDestroy(exec));
  CU(cuGraphDestroy(graph));
  rowscan_close(context);
  rowscan_close(before);
  close_driver();
}
END_TEST

int main(void) {
  if (!find_driver()) {
    printf("skipped: needs the simulated GPU (LD_LIBRARY_PATH and ROWSCAN_NVRTC)\n");
    return 77;
  }
  lot_tell();
  Suite *suite = suite_create("embed");
  TCase *cases = tcase_create("all");
  tcase_set_timeout(cases, 600); /* a simulated GPU under sanitizers takes its time */
  tcase_add_loop_test(cases, graphs_come_and_go, 0, 2);
  lot_add_test(cases, a_graph_outlives_its_plan);
  lot_add_test(cases, a_scan_has_a_workspace_of_its_own);
  lot_add_test(cases, a_context_of_the_programs);
  lot_add_test(cases, pieces_go_to_all_gpus);
  lot_add_test(cases, pinned_arrays_go_as_they_are);
  lot_add_test(cases, lists_that_name_no_gpus_are_refused);
  lot_add_test(cases, rows_are_cut_for_the_contexts_multiprocessors);
  lot_add_test(cases, a_context_that_is_gone);
  lot_add_test(cases, scratch_is_the_allocators);
  lot_add_test(cases, an_allocator_may_have_none);
  lot_add_test(cases, an_allocator_is_two_functions);
  lot_add_loop_test(cases, the_program_has_the_threads, 0, 2);
  lot_add_test(cases, memory_is_a_devices_or_the_hosts);
  lot_add_test(cases, without_a_device_memory_is_the_hosts);
  lot_add_loop_test(cases, a_context_opens_while_a_stream_is_captured, 0, 6);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
