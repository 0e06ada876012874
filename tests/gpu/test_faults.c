/*
 * test_faults.c - each call of the driver, of NVRTC and of the allocator fails in turn, and nothing crashes or leaks
 * SPDX-License-Identifier: MIT
 *
 * The scenario is a user's: open, plan, run in both regimes of the plan, one-call scan, measure, tidy up. It runs on
 * the simulated GPU (LD_LIBRARY_PATH names it; else 77) once for each call it makes, and that call fails. Whatever then
 * fails must say so with a status and a message; what succeeds must have succeeded; at the end everything is freed.
 * RS_LOT=n with RS_SEED: one call in n.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../simt/simt.h"
#include "../support/lot.h"
#include "measure/measure.h"
#include "rowscan.h"
#include "run/plan.h"

/* ---- the allocator ------------------------------------------------------------------------------------------------
 * The nth allocation of this process fails. A sanitizer has an allocator of its own, which stays. */

static atomic_long allocations_left = -1; /* < 0: none fails */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define FAILS_ALLOCATIONS 1
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);

extern char __executable_start, etext;

static _Thread_local int armed;

/* Only what this program itself allocates, with the library in it: not what the simulated driver does. */
static int exhausted(const char *caller) {
  return armed && caller >= &__executable_start && caller < &etext && atomic_load(&allocations_left) > 0 &&
         atomic_fetch_sub(&allocations_left, 1) == 1;
}
void *malloc(size_t bytes) {
  return exhausted(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  return exhausted(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}
#else
#define FAILS_ALLOCATIONS 0
static int armed;
#endif

/* ---- the simulated GPU ------------------------------------------------------------------------------------------- */

static struct {
  void (*fail)(const char *, long, int);
  const char *(*fired)(void);
  long (*calls)(const char *);
  long (*leaks)(void);
  const char *(*leaks_text)(void);
  void (*nvrtc_fail)(const char *, long, int);
  const char *(*nvrtc_fired)(void);
  long (*nvrtc_calls)(const char *);
  long (*nvrtc_leaks)(void);
  int (*alloc)(unsigned long long *, size_t);
  int (*free)(unsigned long long);
  int (*copy_to)(unsigned long long, const void *, size_t, struct CUstream_st *);
  int (*retain)(void **, int);
  int (*push)(void *);
  int (*pop)(void **);
  int (*release)(int);
} simt;

static void *symbol(void *library, const char *name) {
  return dlsym(library, name);
}

static int find_simt(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *compiler = NULL;
  const char *nvrtc = getenv("ROWSCAN_NVRTC");
  if (nvrtc)
    compiler = dlopen(nvrtc, RTLD_NOW);
  if (!driver || !compiler || !symbol(driver, "simt_fail") || !symbol(compiler, "simt_nvrtc_fail"))
    return 0;
#define GET(library, field, name) *(void **)&simt.field = symbol(library, name)
  GET(driver, fail, "simt_fail");
  GET(driver, fired, "simt_fired");
  GET(driver, calls, "simt_calls");
  GET(driver, leaks, "simt_leaks");
  GET(driver, leaks_text, "simt_leaks_text");
  GET(driver, alloc, "cuMemAlloc_v2");
  GET(driver, free, "cuMemFree_v2");
  GET(driver, retain, "cuDevicePrimaryCtxRetain");
  GET(driver, push, "cuCtxPushCurrent_v2");
  GET(driver, pop, "cuCtxPopCurrent_v2");
  GET(driver, release, "cuDevicePrimaryCtxRelease_v2");
  GET(compiler, nvrtc_fail, "simt_nvrtc_fail");
  GET(compiler, nvrtc_fired, "simt_nvrtc_fired");
  GET(compiler, nvrtc_calls, "simt_nvrtc_calls");
  GET(compiler, nvrtc_leaks, "simt_nvrtc_leaks");
  return 1;
}

/* ---- the scenario ------------------------------------------------------------------------------------------------ */

enum { LENGTH = 33000 }; /* long enough for both regimes */

static unsigned long long buffer; /* device memory, of the test's own */
static int failures;              /* calls of rowscan that failed */
static int silent;                /* of these, without a message */

/* Counts a call; true if it succeeded. */
static int went(rowscan_status status) {
  armed = 0;
  if (status != ROWSCAN_OK) {
    failures++;
    silent += !*rowscan_last_error() || status < ROWSCAN_BAD_ARGUMENT || status > ROWSCAN_CACHE_FAILED;
  }
  return status == ROWSCAN_OK;
}
#define CALL(call) (armed = 1, went(call))

static void complain(const char *what) {
  printf("%s\n", what);
  silent++;
}

/* Scans ones; device memory is the host's on a simulated GPU, and what is queued is done. */
static int run_once(rowscan_plan *plan, int rows) {
  float *memory = (float *)(size_t)buffer;
  for (int i = 0; i < rows * LENGTH; i++)
    memory[i] = 1;
  if (!CALL(rowscan_plan_run(plan, ROWSCAN_ARGS(.input = memory, .output = memory, .rows = rows), NULL)))
    return 0;
  for (int i = 0; i < rows * LENGTH; i++)
    if (memory[i] != (float)(i % LENGTH + 1)) {
      complain("a run said OK and was wrong");
      break;
    }
  return 1;
}

/* Of all calls one fails: whichever run that is, the plan serves the next. */
static void run_plan(rowscan_plan *plan) {
  static const int rows[] = {1, 3, 1}; /* fewer than the 2 multiprocessors, and more */
  rowscan_plan_info info = ROWSCAN_INFO(rowscan_plan_info);
  (void)CALL(rowscan_plan_info_get(plan, &info));
  int failed_runs = 0;
  for (int i = 0; i < 3; i++)
    failed_runs += !run_once(plan, rows[i]);
  if (failed_runs > 1)
    complain("a run failed after the one whose call did");
}

static void scan_hosts(rowscan_context *context) {
  static float in[6] = {1, 2, 3, 4, 5, 6}, out[6];
  memset(out, 0xff, sizeof out);
  int ok = CALL(rowscan_scan_host(context, ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = ((int64_t[]){2, 3}),
                                                           .input = {in, ROWSCAN_F32, NULL},
                                                           .output = {out, ROWSCAN_F32, NULL})));
  static const float expected[6] = {1, 3, 6, 4, 9, 15};
  if (ok && memcmp(out, expected, sizeof out))
    complain("a scan said OK and was wrong");
}

/* Device memory is the host's. */
static void scan_device(rowscan_context *context) {
  float *memory = (float *)(size_t)buffer;
  for (int i = 0; i < 6; i++)
    memory[i] = (float)(i + 1);
  int ok =
      CALL(rowscan_scan(context,
                        ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = ((int64_t[]){2, 3}),
                                        .input = {memory, ROWSCAN_F32, NULL}, .output = {memory, ROWSCAN_F32, NULL}),
                        NULL));
  static const float expected[6] = {1, 3, 6, 4, 9, 15};
  if (ok && memcmp(memory, expected, sizeof expected))
    complain("a one-call scan said OK and was wrong");
}

static int other_way; /* the call that failed was one for which the library has another way */

static int has_fired(void) {
  return simt.fired() || simt.nvrtc_fired();
}

static char *table; /* of the GPU: rows of the plan go by another kernel than the plan would choose */

/* Of a context in which nothing fails. NULL: none is made. */
static char *make_table(void) {
  rowscan_context *context;
  rowscan_spec spec = {.size = sizeof spec, .length = LENGTH};
  rs_contender *list = calloc(RS_MOST_CONTENDERS, sizeof *list);
  rs_text text = {0};
  if (!list || rowscan_spec_complete(&spec) ||
      rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .cache_off = 1, .threads = 1)))
    return NULL;
  int arch = rs_tuned_arch(context->gpu.builder, &spec, context->gpu.device.arch), lines = 0;
  int count = rs_contenders(&spec, arch, list);
  if (!rs_tuning_begin(&context->gpu, &text))
    for (int i = 0; i < count && !lines; i++)
      if (list[i].kernel == RS_KERNEL_LONG_DENSE && list[i].shape.made_of == RS_TEMPLATE_ROW_STREAM) {
        rs_tuning_line(&text, &spec, &(rs_tuned){3, 1, list[i]}, 1, 2);
        lines++;
      }
  rowscan_close(context);
  free(list);
  return lines && !text.failed ? text.data : NULL;
}

/* Whose runs of three rows the table's kernel serves, in place: a failure after it has begun is no reason to begin
 * again. */
static void run_tuned(rowscan_context *context) {
  rowscan_plan *plan;
  free(context->gpu.tuning);
  context->gpu.tuning = strdup(table);
  if (!CALL(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = LENGTH))))
    return;
  int before = has_fired();
  run_once(plan, 3); /* where its kernel can't be made, another serves */
  other_way = other_way || (!before && has_fired());
  run_once(plan, 3);
  rowscan_plan_destroy(plan);
}

static void scenario(void) {
  rowscan_context *context = NULL;
  rowscan_plan *plan = NULL;
  int count;
  rowscan_device_info device = ROWSCAN_INFO(rowscan_device_info);
  (void)CALL(rowscan_device_count(&count));
  (void)CALL(rowscan_device_get(0, &device));
  if (!CALL(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .cache_off = 1, .threads = 1))))
    return;
  if (CALL(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = LENGTH)))) {
    run_plan(plan);
    rowscan_plan_destroy(plan);
  }
  scan_hosts(context);
  scan_device(context);
  run_tuned(context);
  rs_timing timing;
  if (CALL(rs_measure(context, ROWSCAN_SPEC(.length = 3), ROWSCAN_ARGS(.rows = 4), 2, &timing)) && timing.wrong)
    complain("a measurement said OK and was wrong");
  armed = 1; /* freeing may need no memory */
  rowscan_close(context);
  armed = 0;
}

/* ---- one fault after another ------------------------------------------------------------------------------------- */

static int passed, failed;
static long first = 1, apart = 1; /* faults: which the lot took */

static void judge(const char *what, long nth, const char *call, int may_go_unseen) {
  long driver = simt.leaks() - 1 /* buffer */ - 1 /* its context */ - 1 /* pushed */, programs = simt.nvrtc_leaks();
  const char *wrong = driver                                   ? "leaks"
                      : programs                               ? "leaks programs"
                      : silent                                 ? "fails without a message"
                      : failures || may_go_unseen || other_way ? NULL
                                                               : "is not told";
  if (!wrong) {
    passed++;
    return;
  }
  failed++;
  printf("%s call %ld (%s): %s; %d calls failed, last: %s; alive: %s\n", what, nth, call, wrong, failures,
         rowscan_last_error(), driver ? simt.leaks_text() : "-");
}

/* Calls whose failure the library may pass over: they free things, have another way, or fail for any memory that the
 * driver does not know (cuPointerGetAttribute). */
static int dispensable(const char *call) {
  static const char *const names[] = {"cuCtxPopCurrent_v2",
                                      "cuMemFree_v2",
                                      "cuMemFreeHost",
                                      "cuEventDestroy_v2",
                                      "cuStreamDestroy_v2",
                                      "cuModuleUnload",
                                      "cuDevicePrimaryCtxRelease_v2",
                                      "cuCtxGetCurrent",
                                      "cuCtxSynchronize",
                                      "cuDeviceGetAttribute",
                                      "cuDriverGetVersion",
                                      "cuModuleGetFunction",
                                      "cuModuleLoadData",
                                      "cuGetErrorName",
                                      "cuGetErrorString",
                                      "cuMemGetInfo_v2",
                                      "cuPointerGetAttribute",
                                      "cuGraphDestroy",
                                      "cuGraphExecDestroy",
                                      "cuStreamGetId",
                                      "cuStreamSynchronize",
                                      "cuThreadExchangeStreamCaptureMode",
                                      "nvrtcDestroyProgram",
                                      "nvrtcGetProgramLog",
                                      "nvrtcGetProgramLogSize"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], call))
      return 1;
  return 0;
}

static void begin(void) {
  failures = silent = other_way = 0;
}

/* A measurement makes hundreds of equal calls in a row: of those, the first eight, every sixteenth, and the last. */
static void driver_faults(void) {
  enum { STEP = 16 };
  char last[64] = "", call[64];
  int equal = 0;
  for (long nth = first, step = 1;; nth += step * apart) {
    begin();
    simt.fail(NULL, nth, 999);
    scenario();
    const char *fired = simt.fired();
    snprintf(call, sizeof call, "%s", fired ? fired : "");
    simt.fail(NULL, 0, 0);
    if (strcmp(call, last) != 0 && step > 1) { /* beyond the end of a row: one by one after the last that was equal */
      nth -= step * apart;
      step = 1;
      equal = -STEP;
      continue;
    }
    if (!fired)
      break;
    judge("driver", nth, call, dispensable(call));
    equal = strcmp(call, last) == 0 ? equal + 1 : 0;
    step = equal >= 8 ? STEP : 1;
    strcpy(last, call);
  }
}

static void nvrtc_faults(void) {
  for (long nth = first;; nth += apart) {
    begin();
    simt.nvrtc_fail(NULL, nth, 5);
    scenario();
    const char *fired = simt.nvrtc_fired();
    char call[64];
    snprintf(call, sizeof call, "%s", fired ? fired : "");
    simt.nvrtc_fail(NULL, 0, 0);
    if (!fired)
      break;
    judge("NVRTC", nth, call, dispensable(call));
  }
}

static void allocation_faults(void) {
  for (long nth = first; FAILS_ALLOCATIONS; nth += apart) {
    begin();
    atomic_store(&allocations_left, nth);
    scenario();
    int fired = atomic_load(&allocations_left) <= 0;
    atomic_store(&allocations_left, -1);
    if (!fired)
      break;
    judge("allocation", nth, "malloc", 1);
  }
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  lot_tell();
  apart = (long)lot_drawn()->parts;
  first += (long)(lot_drawn()->seed % lot_drawn()->parts);
  setenv("SIMT_L2", "4k", 1); /* or a measurement would go round thousands of arrays */
  setenv("SIMT_SMS", "2", 1);
  if (!find_simt()) {
    printf("skipped: needs the simulated GPU (LD_LIBRARY_PATH and ROWSCAN_NVRTC)\n");
    return 77;
  }
  void *own;
  int count;
  if (rowscan_device_count(&count) /* opens the driver for good */ || simt.retain(&own, 0) || simt.push(own) ||
      simt.alloc(&buffer, 3 * LENGTH * sizeof(float)))
    return 1;
  table = make_table();
  if (!table) {
    printf("no table of kernels: %s\n", rowscan_last_error());
    return 1;
  }
  scenario(); /* fills the simulated compiler's own cache */
  if (failures) {
    printf("without a fault: %s\n", rowscan_last_error());
    return 1;
  }
  driver_faults();
  nvrtc_faults();
  allocation_faults();
  begin();
  scenario();
  judge("no", 0, "none", 1);
  if (failures) {
    printf("after all faults: %s\n", rowscan_last_error());
    failed++;
  }
  free(table);
  simt.free(buffer);
  simt.pop(&own);
  simt.release(0);
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
