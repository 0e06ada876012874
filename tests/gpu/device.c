/*
 * device.c - the GPU as a user of the library has it
 * SPDX-License-Identifier: MIT
 */
#include "device.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long pointer;
typedef struct CUctx_st *context;
typedef struct CUreadyst *graph;
typedef struct CUmod_st *module;
typedef struct CUfunc_st *function;

enum { MULTIPROCESSOR_COUNT = 16, MAJOR = 75, MINOR = 76, MOST_SHARED_BYTES = 97 };
enum { NON_BLOCKING = 1, DISABLE_TIMING = 2, CAPTURE_GLOBAL = 0, FUNCTION_DYNAMIC_SHARED_BYTES = 8, NOT_READY = 600 };

/* X(symbol, parameters) of the CUDA Driver API; each returns 0 or an error. */
#define CALLS(X)                                                                                                       \
  X(cuInit, (unsigned flags))                                                                                          \
  X(cuGetErrorName, (int error, const char **name))                                                                    \
  X(cuDeviceGetCount, (int *count))                                                                                    \
  X(cuDeviceGet, (int *device, int ordinal))                                                                           \
  X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                     \
  X(cuDevicePrimaryCtxRetain, (context * current, int device))                                                         \
  X(cuDevicePrimaryCtxRelease_v2, (int device))                                                                        \
  X(cuCtxPushCurrent_v2, (context current))                                                                            \
  X(cuMemGetInfo_v2, (size_t * left, size_t * total))                                                                  \
  X(cuMemAlloc_v2, (pointer * memory, size_t bytes))                                                                   \
  X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                                                     \
  X(cuMemFreeHost, (void *memory))                                                                                     \
  X(cuMemFree_v2, (pointer memory))                                                                                    \
  X(cuMemcpyHtoDAsync_v2, (pointer to, const void *from, size_t bytes, device_stream stream))                          \
  X(cuMemcpyDtoHAsync_v2, (void *to, pointer from, size_t bytes, device_stream stream))                                \
  X(cuMemsetD8Async, (pointer to, unsigned char value, size_t bytes, device_stream stream))                            \
  X(cuStreamCreate, (device_stream * stream, unsigned flags))                                                          \
  X(cuStreamDestroy_v2, (device_stream stream))                                                                        \
  X(cuStreamSynchronize, (device_stream stream))                                                                       \
  X(cuStreamWaitEvent, (device_stream stream, device_event event, unsigned flags))                                     \
  X(cuCtxSynchronize, (void))                                                                                          \
  X(cuEventCreate, (device_event * event, unsigned flags))                                                             \
  X(cuEventDestroy_v2, (device_event event))                                                                           \
  X(cuEventRecord, (device_event event, device_stream stream))                                                         \
  X(cuStreamBeginCapture_v2, (device_stream stream, int mode))                                                         \
  X(cuStreamEndCapture, (device_stream stream, graph * captured))                                                      \
  X(cuGraphInstantiateWithFlags, (device_graph * *ready, graph captured, unsigned long long flags))                    \
  X(cuGraphLaunch, (device_graph * ready, device_stream stream))                                                       \
  X(cuGraphExecDestroy, (device_graph * ready))                                                                        \
  X(cuGraphDestroy, (graph captured))                                                                                  \
  X(cuStreamQuery, (device_stream stream))                                                                             \
  X(cuModuleLoadData, (module * made, const void *image))                                                              \
  X(cuModuleUnload, (module made))                                                                                     \
  X(cuModuleGetFunction, (function * found, module made, const char *name))                                            \
  X(cuFuncSetAttribute, (function of, int attribute, int value))                                                       \
  X(cuLaunchKernel,                                                                                                    \
    (function of, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,               \
     unsigned block_z, unsigned shared_bytes, device_stream stream, void **parameters, void **extra))

static struct {
  void *library;
#define X(symbol, parameters) int(*symbol) parameters;
  CALLS(X)
#undef X
  int device;
  context primary;
} cuda;

static _Thread_local const char *doing = "nothing";

void device_doing(const char *what) {
  doing = what;
}

static const char *error_name(int error) {
  const char *name = NULL;
  return cuda.cuGetErrorName(error, &name) || !name ? "an unknown error" : name;
}

/* Without running exit handlers: they would wait for a device that does not answer any more. */
static void must(int error, const char *call) {
  if (!error)
    return;
  printf("FAIL %s: %s\n  in: %s\n", call, error_name(error), doing);
  fflush(stdout);
  _Exit(1);
}
#define MUST(call, ...) must(cuda.call(__VA_ARGS__), #call)

static const char *load(void) {
  cuda.library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!cuda.library)
    return dlerror();
#define X(symbol, parameters)                                                                                          \
  *(void **)&cuda.symbol = dlsym(cuda.library, #symbol);                                                               \
  if (!cuda.symbol)                                                                                                    \
    return "libcuda.so.1 lacks " #symbol;
  CALLS(X)
#undef X
  return NULL;
}

const char *device_open(void) {
  const char *why = load();
  int count = 0;
  if (why)
    return why;
  if (cuda.cuInit(0) || cuda.cuDeviceGetCount(&count) || count < 1)
    return "there is no GPU";
  MUST(cuDeviceGet, &cuda.device, 0);
  MUST(cuDevicePrimaryCtxRetain, &cuda.primary, cuda.device);
  device_use();
  return NULL;
}

bool device_there(void) {
  int told = 0;
  pid_t child = fork();
  if (child == 0)
    _exit(device_open() ? 1 : 0);
  return child > 0 && waitpid(child, &told, 0) == child && WIFEXITED(told) && !WEXITSTATUS(told);
}

void device_close(void) {
  cuda.cuDevicePrimaryCtxRelease_v2(cuda.device);
}

void device_use(void) {
  MUST(cuCtxPushCurrent_v2, cuda.primary);
}

bool device_simulated(void) {
  return dlsym(cuda.library, "simt_calls") != NULL;
}

bool device_sanitized(void) {
  return dlopen("libsanitizer-collection.so", RTLD_LAZY | RTLD_NOLOAD) != NULL;
}

long device_calls(const char *symbol) {
  long (*calls)(const char *symbol);
  *(void **)&calls = dlsym(cuda.library, "simt_calls");
  return calls ? calls(symbol) : -1;
}

static int attribute(int which) {
  int value = 0;
  MUST(cuDeviceGetAttribute, &value, which, cuda.device);
  return value;
}

int device_multiprocessors(void) {
  return attribute(MULTIPROCESSOR_COUNT);
}

int device_arch(void) {
  return 10 * attribute(MAJOR) + attribute(MINOR);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

size_t device_free_bytes(void) {
  size_t left = 0, total = 0;
  MUST(cuMemGetInfo_v2, &left, &total);
  return left;
}

void *device_alloc(size_t bytes) {
  pointer memory = 0;
  MUST(cuMemAlloc_v2, &memory, bytes);
  return (void *)(uintptr_t)memory;
}

void device_free(void *memory) {
  if (memory)
    MUST(cuMemFree_v2, (pointer)(uintptr_t)memory);
}

void *device_pinned(size_t bytes) {
  void *memory = NULL;
  MUST(cuMemHostAlloc, &memory, bytes, 0);
  return memory;
}

void device_pinned_free(void *memory) {
  MUST(cuMemFreeHost, memory);
}

void device_upload(void *to, const void *from, size_t bytes, device_stream stream) {
  MUST(cuMemcpyHtoDAsync_v2, (pointer)(uintptr_t)to, from, bytes, stream);
}

void device_download(void *to, const void *from, size_t bytes, device_stream stream) {
  MUST(cuMemcpyDtoHAsync_v2, to, (pointer)(uintptr_t)from, bytes, stream);
}

void device_fill(void *to, unsigned char value, size_t bytes, device_stream stream) {
  MUST(cuMemsetD8Async, (pointer)(uintptr_t)to, value, bytes, stream);
}

/* ---- streams and graphs ------------------------------------------------------------------------------------------ */

device_stream device_stream_new(void) {
  device_stream stream = NULL;
  MUST(cuStreamCreate, &stream, NON_BLOCKING);
  return stream;
}

void device_stream_free(device_stream stream) {
  MUST(cuStreamDestroy_v2, stream);
}

void device_wait(device_stream stream) {
  MUST(cuStreamSynchronize, stream);
}

void device_wait_all(void) {
  MUST(cuCtxSynchronize);
}

device_event device_mark(device_stream stream) {
  device_event event = NULL;
  MUST(cuEventCreate, &event, DISABLE_TIMING);
  MUST(cuEventRecord, event, stream);
  return event;
}

void device_after(device_stream stream, device_event event) {
  MUST(cuStreamWaitEvent, stream, event, 0);
}

void device_event_free(device_event event) {
  MUST(cuEventDestroy_v2, event);
}

void device_capture(device_stream stream) {
  MUST(cuStreamBeginCapture_v2, stream, CAPTURE_GLOBAL);
}

device_graph *device_captured(device_stream stream) {
  graph captured = NULL;
  device_graph *ready = NULL;
  MUST(cuStreamEndCapture, stream, &captured);
  MUST(cuGraphInstantiateWithFlags, &ready, captured, 0);
  MUST(cuGraphDestroy, captured);
  return ready;
}

void device_launch(device_graph *ready, device_stream stream) {
  MUST(cuGraphLaunch, ready, stream);
}

void device_graph_free(device_graph *ready) {
  MUST(cuGraphExecDestroy, ready);
}

/* ---- multiprocessors that others have ---------------------------------------------------------------------------- */

/* Each block says that it is there, and stays until it is let go, or for 30 seconds. */
static const char holder[] = ".version 6.4\n"
                             ".target sm_75\n"
                             ".address_size 64\n"
                             ".visible .entry hold(.param .u64 words) {\n"
                             "  .reg .pred stays;\n"
                             "  .reg .b32 let_go;\n"
                             "  .reg .b64 at, start, now;\n"
                             "  ld.param.u64 at, [words];\n"
                             "  red.global.add.u32 [at], 1;\n"
                             "  mov.u64 start, %globaltimer;\n"
                             "AGAIN:\n"
                             "  ld.volatile.global.u32 let_go, [at + 4];\n"
                             "  mov.u64 now, %globaltimer;\n"
                             "  sub.u64 now, now, start;\n"
                             "  setp.lt.u64 stays, now, 30000000000;\n"
                             "  setp.eq.and.u32 stays, let_go, 0, stays;\n"
                             "  @stays bra AGAIN;\n"
                             "  ret;\n"
                             "}\n";

struct device_hold {
  module code;
  unsigned *words; /* on the device: blocks that are there; whether they are let go */
  device_stream stream, copies;
};

/* A block takes all shared memory of a multiprocessor, so that no other has room beside it. */
static void start_holding(device_hold *hold, unsigned blocks) {
  function hold_one;
  int bytes = attribute(MOST_SHARED_BYTES);
  void *parameters[] = {&hold->words};
  MUST(cuModuleGetFunction, &hold_one, hold->code, "hold");
  MUST(cuFuncSetAttribute, hold_one, FUNCTION_DYNAMIC_SHARED_BYTES, bytes);
  MUST(cuLaunchKernel, hold_one, blocks, 1, 1, 1, 1, 1, (unsigned)bytes, hold->stream, parameters, NULL);
}

device_hold *device_hold_all_but(int left) {
  static const unsigned none[2];
  device_hold *hold = malloc(sizeof *hold);
  unsigned blocks = (unsigned)(device_multiprocessors() - left), there = 0;
  if (!hold)
    abort();
  hold->stream = device_stream_new();
  hold->copies = device_stream_new();
  hold->words = device_alloc(sizeof none);
  MUST(cuModuleLoadData, &hold->code, holder);
  device_upload(hold->words, none, sizeof none, hold->stream);
  start_holding(hold, blocks);
  while (there < blocks && device_holds(hold)) {
    device_download(&there, hold->words, sizeof there, hold->copies);
    device_wait(hold->copies);
  }
  return hold;
}

bool device_holds(const device_hold *hold) {
  int status = cuda.cuStreamQuery(hold->stream);
  if (status != NOT_READY)
    must(status, "cuStreamQuery");
  return status == NOT_READY;
}

void device_let_go(device_hold *hold) {
  static const unsigned one = 1;
  device_upload(hold->words + 1, &one, sizeof one, hold->copies);
  device_wait(hold->stream);
  device_free(hold->words);
  MUST(cuModuleUnload, hold->code);
  device_stream_free(hold->copies);
  device_stream_free(hold->stream);
  free(hold);
}
