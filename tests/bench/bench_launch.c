/*
 * bench_launch.c - what a run costs the host, beside a bare launch of the very kernel that it launches
 * SPDX-License-Identifier: MIT
 *
 * bench_launch [bursts [calls of each]]. Not a test: make tests/bench/bench_launch, and run it where there is a GPU
 * (exit status 77 where there is none). Prints nanoseconds a call: the median of many bursts of calls that are not
 * waited for, the kinds of call in turn.
 *
 * The context is given a table of the driver's calls whose launches, when asked, first time a burst of the launch that
 * they were called for: so the bare launch has the same kernel, grid and arguments, whatever the library does around
 * it. Bare is cuLaunchKernel; overlapped cuLaunchKernelEx with the library's attributes, 0 if it is not used; uncurrent
 * rowscan_plan_run in a thread that never made the GPU's context current.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/plan.h"

enum { BURSTS = 300, MOST_BURSTS = 10000, CALLS = 100, MOST_CALLS = 500 }; /* a GPU's queue holds about 1000 launches */

typedef struct shape {
  const char *what;
  int64_t rows, length, inner;
} shape;

/* column: tiles of all steps; tiles: several, which need a workspace; narrow: several, of kernels/columns.cuh. */
static const shape shapes[] = {{"row", 132, 4096, 0},   {"short", 1024, 64, 0},  {"long", 1, 65536, 0},
                               {"column", 0, 256, 512}, {"tiles", 0, 4096, 512}, {"narrow", 0, 4096, 7}};

static struct {
  rowscan_context *context;
  rs_cuda table;
  const rs_cuda *driver;
  CUstream stream;
  CUevent event;
  CUdeviceptr in, out;
  float *ones, *back;
  int calls;                     /* of a burst */
  bool bare;                     /* a bare launch is to be timed */
  double bare_ns, overlapped_ns; /* of all launches of one run; overlapped: programmatic dependent ones */
  int launches;
} bench;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void must(int error, const char *what) {
  if (!error)
    return;
  printf("%s: %d: %s\n", what, error, rowscan_last_error());
  exit(1);
}
#define CUDA(call, ...) must(bench.driver->call(__VA_ARGS__), #call)

static CUresult launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters,
                       void **extra) {
  if (bench.bare) {
    double start = now();
    for (int i = 0; i < bench.calls; i++)
      must(bench.driver->cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                        stream, parameters, extra),
           "cuLaunchKernel");
    bench.bare_ns += (now() - start) / bench.calls;
    CUDA(cuStreamSynchronize, stream);
    bench.launches++;
  }
  return bench.driver->cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
                                      parameters, extra);
}

static CUresult launch_overlapped(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
  if (bench.bare) {
    double start = now();
    for (int i = 0; i < bench.calls; i++)
      must(bench.driver->cuLaunchKernelEx(config, function, parameters, extra), "cuLaunchKernelEx");
    bench.overlapped_ns += (now() - start) / bench.calls;
    CUDA(cuStreamSynchronize, config->hStream);
    return launch(function, config->gridDimX, 1, 1, config->blockDimX, 1, 1, config->sharedMemBytes, config->hStream,
                  parameters, extra);
  }
  return bench.driver->cuLaunchKernelEx(config, function, parameters, extra);
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

typedef struct job {
  const shape *of;
  rowscan_plan *plan;
  int64_t rows_shape[2], tensor_shape[2];
  rowscan_args args;
  rowscan_problem problem;
} job;

static void run_plan(const job *it) {
  must(rowscan_plan_run(it->plan, &it->args, bench.stream), "rowscan_plan_run");
}

static void run_scan(const job *it) {
  must(rowscan_scan(bench.context, &it->problem, bench.stream), "rowscan_scan");
}

static double time_calls(const job *it, void (*call)(const job *)) {
  double start = now();
  for (int i = 0; i < bench.calls; i++)
    call(it);
  double time = (now() - start) / bench.calls;
  CUDA(cuStreamSynchronize, bench.stream);
  return time;
}

static double time_bare(const job *it) {
  bench.bare = true;
  bench.bare_ns = bench.overlapped_ns = 0;
  bench.launches = 0;
  run_plan(it);
  bench.bare = false;
  CUDA(cuStreamSynchronize, bench.stream);
  return bench.bare_ns;
}

/* As in a program that never makes the GPU's context current. */
static double time_uncurrent(const job *it) {
  CUcontext context;
  CUDA(cuCtxPopCurrent_v2, &context);
  double start = now();
  for (int i = 0; i < bench.calls; i++)
    run_plan(it);
  double time = (now() - start) / bench.calls;
  CUDA(cuCtxPushCurrent_v2, context);
  CUDA(cuStreamSynchronize, bench.stream);
  return time;
}

/* ---- a shape ----------------------------------------------------------------------------------------------------- */

static int64_t elements_of(const shape *of) {
  return of->length * (of->inner ? of->inner : of->rows);
}

static void make_job(job *it, const shape *of) {
  rowscan_spec spec = {.size = sizeof spec, .length = of->length};
  void *in = (void *)(uintptr_t)bench.in, *out = (void *)(uintptr_t)bench.out;
  bool columns = of->inner > 0;
  *it = (job){.of = of, .rows_shape = {1, of->inner}, .tensor_shape = {columns ? of->length : of->rows}};
  it->tensor_shape[1] = columns ? of->inner : of->length;
  spec.layout = columns ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
  it->args = (rowscan_args){.size = sizeof it->args, .input = in, .output = out, .rows = of->rows};
  if (columns)
    it->args.row_shape = it->rows_shape;
  it->problem = (rowscan_problem){.size = sizeof it->problem, .rank = 2, .dim = columns ? 0 : 1};
  it->problem.shape = it->tensor_shape;
  it->problem.input = (rowscan_input){.data = in, .type = ROWSCAN_F32};
  it->problem.output = (rowscan_output){.data = out, .type = ROWSCAN_F32};
  must(rowscan_plan_create(&it->plan, bench.context, &spec), "rowscan_plan_create");
}

/* The scan of ones counts them. */
static void check(const job *it) {
  size_t bytes = (size_t)elements_of(it->of) * sizeof(float);
  CUDA(cuMemcpyDtoHAsync_v2, bench.back, bench.out, bytes, bench.stream);
  CUDA(cuStreamSynchronize, bench.stream);
  int64_t inner = it->of->inner ? it->of->inner : 1;
  for (int64_t i = 0; i < elements_of(it->of); i++)
    if (bench.back[i] != (float)(i / inner % it->of->length + 1)) {
      printf("%s: element %lld is wrong\n", it->of->what, (long long)i);
      exit(1);
    }
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

enum { BARE, OVERLAPPED, PLAN, SCAN, UNCURRENT, KINDS };

static void measure(const shape *of, int bursts) {
  static double times[KINDS][MOST_BURSTS];
  job it;
  make_job(&it, of);
  for (int i = -1; i < bursts; i++) { /* once to warm up */
    int at = i < 0 ? 0 : i;
    times[BARE][at] = time_bare(&it);
    times[OVERLAPPED][at] = bench.overlapped_ns;
    times[PLAN][at] = time_calls(&it, run_plan);
    times[SCAN][at] = time_calls(&it, run_scan);
    times[UNCURRENT][at] = time_uncurrent(&it);
  }
  check(&it);
  must(!bench.launches, "the kernel is launched by another call than cuLaunchKernel or cuLaunchKernelEx");
  double bare = median(times[BARE], bursts);
  printf("%-8s %8d %8.0f", of->what, bench.launches, bare);
  for (int kind = OVERLAPPED; kind < KINDS; kind++) {
    double time = median(times[kind], bursts);
    printf(" %13.0f %+6.0f", time, time - bare);
  }
  printf("\n");
  fflush(stdout);
  rowscan_plan_destroy(it.plan);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool open_bench(void) {
  if (rowscan_open(&bench.context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .compile = ROWSCAN_COMPILE_NOW))) {
    printf("SKIP: %s\n", rowscan_last_error());
    return false;
  }
  bench.driver = bench.context->gpu.device.cuda;
  bench.table = *bench.driver;
  bench.table.cuLaunchKernel = launch;
  bench.table.cuLaunchKernelEx = launch_overlapped;
  bench.context->gpu.device.cuda = &bench.table;
  CUDA(cuCtxPushCurrent_v2, bench.context->gpu.device.context);
  CUDA(cuStreamCreate, &bench.stream, CU_STREAM_NON_BLOCKING);
  CUDA(cuEventCreate, &bench.event, CU_EVENT_DISABLE_TIMING);
  return true;
}

static void make_arrays(void) {
  int64_t most = 0;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    most = elements_of(&shapes[i]) > most ? elements_of(&shapes[i]) : most;
  size_t bytes = (size_t)most * sizeof(float);
  bench.ones = malloc(bytes);
  bench.back = malloc(bytes);
  must(!bench.ones || !bench.back, "memory");
  for (int64_t i = 0; i < most; i++)
    bench.ones[i] = 1;
  CUDA(cuMemAlloc_v2, &bench.in, bytes);
  CUDA(cuMemAlloc_v2, &bench.out, bytes);
  CUDA(cuMemcpyHtoDAsync_v2, bench.in, bench.ones, bytes, bench.stream);
  CUDA(cuStreamSynchronize, bench.stream);
}

static void read_context(void) {
  CUcontext context;
  CUDA(cuCtxGetCurrent, &context);
}

static void read_capture(void) {
  int status;
  unsigned long long id;
  CUDA(cuStreamGetCaptureInfo, bench.stream, &status, &id);
}

/* Before CUDA 12.0 there is no such call: nothing is measured. */
static void read_id(void) {
  unsigned long long id;
  if (bench.driver->cuStreamGetId)
    CUDA(cuStreamGetId, bench.stream, &id);
}

static void record_event(void) {
  CUDA(cuEventRecord, bench.event, bench.stream);
}

/* What the calls cost that a run makes, or would make if it shared its workspace. */
static void measure_calls(int bursts) {
  static const struct {
    const char *what;
    void (*call)(void);
  } calls[] = {{"cuCtxGetCurrent", read_context},
               {"cuStreamGetCaptureInfo", read_capture},
               {"cuStreamGetId", read_id},
               {"cuEventRecord", record_event}};
  static double times[MOST_BURSTS];
  for (int c = 0; c < (int)(sizeof calls / sizeof *calls); c++) {
    for (int i = -1; i < bursts; i++) {
      double start = now();
      for (int n = 0; n < bench.calls; n++)
        calls[c].call();
      times[i < 0 ? 0 : i] = (now() - start) / bench.calls;
      CUDA(cuStreamSynchronize, bench.stream);
    }
    printf("%s%s %.0f", c ? ", " : "", calls[c].what, median(times, bursts));
  }
  printf("\n");
}

static void close_bench(void) {
  CUcontext context;
  CUDA(cuMemFree_v2, bench.in);
  CUDA(cuMemFree_v2, bench.out);
  CUDA(cuEventDestroy_v2, bench.event);
  CUDA(cuStreamDestroy_v2, bench.stream);
  CUDA(cuCtxPopCurrent_v2, &context);
  rowscan_close(bench.context);
  free(bench.ones);
  free(bench.back);
}

int main(int argc, char **argv) {
  int bursts = argc > 1 ? atoi(argv[1]) : BURSTS;
  bench.calls = argc > 2 ? atoi(argv[2]) : CALLS;
  if (argc > 3 || bursts < 1 || bursts > MOST_BURSTS || bench.calls < 1 || bench.calls > MOST_CALLS) {
    printf("usage: bench_launch [bursts, 1 to %d [calls of each, 1 to %d]]\n", MOST_BURSTS, MOST_CALLS);
    return 2;
  }
  if (!open_bench())
    return 77;
  make_arrays();
  printf("nanoseconds a call, medians of %d bursts of %d; after each its distance from the bare launches\n", bursts,
         bench.calls);
  printf("%-8s %8s %8s %13s %6s %13s %6s %13s %6s %13s\n", "regime", "launches", "bare", "overlapped", "", "plan_run",
         "", "one-call scan", "", "uncurrent");
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    measure(&shapes[i], bursts);
  measure_calls(bursts);
  close_bench();
  return 0;
}
