/*
 * meter.c - what measuring asks of an engine
 * SPDX-License-Identifier: MIT
 */
#include "meter.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/library.h"
#include "base/processors.h"
#include "base/status.h"

static const rs_cuda *cuda_of(const rs_meter *meter) {
  return meter->device->cuda;
}

static CUdeviceptr address(const void *pointer) {
  return (CUdeviceptr)(uintptr_t)pointer;
}

static rowscan_status check_call(const rs_meter *meter, CUresult result, const char *call) {
  return result ? rs_cuda_failed(cuda_of(meter), result, call) : ROWSCAN_OK;
}

static rowscan_status make_event(rs_meter *meter, CUevent *event) {
  CUresult result = cuda_of(meter)->cuEventCreate(event, CU_EVENT_DEFAULT);
  if (result)
    *event = NULL;
  return check_call(meter, result, "cuEventCreate");
}

rowscan_status rs_meter_open(rs_meter *meter, const rowscan_context *context) {
  *meter = (rs_meter){0};
  if (context->engine == ROWSCAN_ENGINE_HOST)
    return ROWSCAN_OK;
  rowscan_status status = rs_device_enter(&context->gpu.device, &meter->pushed);
  if (status)
    return status;
  meter->device = &context->gpu.device;
  meter->mode = rs_cuda_relax(cuda_of(meter));
  CUresult result = cuda_of(meter)->cuStreamCreate(&meter->stream, CU_STREAM_NON_BLOCKING);
  if (result)
    meter->stream = NULL;
  status = check_call(meter, result, "cuStreamCreate");
  if (!status)
    status = make_event(meter, &meter->begin);
  return status ? status : make_event(meter, &meter->end);
}

void rs_meter_close(rs_meter *meter) {
  if (!meter->device)
    return;
  const rs_cuda *cuda = cuda_of(meter);
  if (meter->begin)
    cuda->cuEventDestroy_v2(meter->begin);
  if (meter->end)
    cuda->cuEventDestroy_v2(meter->end);
  if (meter->stream) {
    cuda->cuStreamSynchronize(meter->stream);
    cuda->cuStreamDestroy_v2(meter->stream);
  }
  rs_cuda_restore(cuda, meter->mode);
  rs_device_leave(meter->device, meter->pushed);
  *meter = (rs_meter){0};
}

int64_t rs_meter_cache_bytes(const rs_meter *meter) {
  const int64_t usual = INT64_C(32) << 20; /* where nobody knows */
  if (meter->device)
    return meter->device->l2_bytes;
  int64_t bytes = rs_last_cache_bytes();
  return bytes > 0 && bytes < 4 * usual ? bytes : usual;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* In huge pages where the system has them to give, as NumPy's large arrays are. */
static rowscan_status alloc_on_host(void **memory, size_t bytes) {
  enum { HUGE_PAGE = 2 << 20, LINE = 256 };
  if (posix_memalign(memory, bytes < HUGE_PAGE ? LINE : HUGE_PAGE, bytes))
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the %zu bytes of a measurement", bytes);
  if (bytes >= HUGE_PAGE)
    madvise(*memory, bytes, MADV_HUGEPAGE); /* advice: what it returns tells nothing that could be done */
  return ROWSCAN_OK;
}

rowscan_status rs_meter_alloc(rs_meter *meter, void **memory, size_t bytes) {
  if (!meter->device)
    return alloc_on_host(memory, bytes);
  CUdeviceptr pointer;
  CUresult result = cuda_of(meter)->cuMemAlloc_v2(&pointer, bytes);
  if (!result)
    *memory = (void *)(uintptr_t)pointer;
  return check_call(meter, result, "cuMemAlloc for a measurement");
}

void rs_meter_free(rs_meter *meter, void *memory) {
  if (!meter->device)
    free(memory);
  else if (memory)
    cuda_of(meter)->cuMemFree_v2(address(memory));
}

rowscan_status rs_meter_write(rs_meter *meter, void *to, const void *from, size_t bytes) {
  if (!meter->device)
    return rs_meter_copy(meter, to, from, bytes);
  CUresult result = cuda_of(meter)->cuMemcpyHtoDAsync_v2(address(to), from, bytes, meter->stream);
  return result ? check_call(meter, result, "cuMemcpyHtoDAsync") : rs_meter_wait(meter);
}

rowscan_status rs_meter_read(rs_meter *meter, void *to, const void *from, size_t bytes) {
  if (!meter->device)
    return rs_meter_copy(meter, to, from, bytes);
  CUresult result = cuda_of(meter)->cuMemcpyDtoHAsync_v2(to, address(from), bytes, meter->stream);
  return result ? check_call(meter, result, "cuMemcpyDtoHAsync") : rs_meter_wait(meter);
}

rowscan_status rs_meter_copy(rs_meter *meter, void *to, const void *from, size_t bytes) {
  if (!bytes)
    return ROWSCAN_OK;
  if (meter->device)
    return check_call(meter, cuda_of(meter)->cuMemcpyDtoDAsync_v2(address(to), address(from), bytes, meter->stream),
                      "cuMemcpyDtoDAsync");
  memcpy(to, from, bytes);
  return ROWSCAN_OK;
}

rowscan_status rs_meter_fill(rs_meter *meter, void *to, unsigned char value, size_t bytes) {
  if (meter->device)
    return check_call(meter, cuda_of(meter)->cuMemsetD8Async(address(to), value, bytes, meter->stream),
                      "cuMemsetD8Async");
  memset(to, value, bytes);
  return ROWSCAN_OK;
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

rowscan_status rs_meter_wait(rs_meter *meter) {
  if (!meter->device)
    return ROWSCAN_OK;
  return check_call(meter, cuda_of(meter)->cuStreamSynchronize(meter->stream), "cuStreamSynchronize while measuring");
}

rowscan_status rs_meter_start(rs_meter *meter) {
  if (meter->device)
    return check_call(meter, cuda_of(meter)->cuEventRecord(meter->begin, meter->stream), "cuEventRecord");
  meter->started_ms = rs_now_ms();
  return ROWSCAN_OK;
}

static rowscan_status stop_device(rs_meter *meter, double *milliseconds) {
  const rs_cuda *cuda = cuda_of(meter);
  float elapsed = 0;
  CUresult result = cuda->cuEventRecord(meter->end, meter->stream);
  if (!result)
    result = cuda->cuEventSynchronize(meter->end);
  if (!result)
    result = cuda->cuEventElapsedTime(&elapsed, meter->begin, meter->end);
  *milliseconds = (double)elapsed;
  return check_call(meter, result, "timing with events");
}

rowscan_status rs_meter_stop(rs_meter *meter, double *milliseconds) {
  if (meter->device)
    return stop_device(meter, milliseconds);
  *milliseconds = rs_now_ms() - meter->started_ms;
  return ROWSCAN_OK;
}

/* ---- replays ----------------------------------------------------------------------------------------------------- */

/* Nothing but measuring wants graphs, so that their calls are no part of rs_cuda, which a driver must have whole. */
enum { CAPTURE_THREAD_LOCAL = 1 };

/* X(symbol, parameters); each returns CUresult. */
#define GRAPH_CALLS(X)                                                                                                 \
  X(cuStreamBeginCapture_v2, (CUstream stream, int mode))                                                              \
  X(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                                            \
  X(cuGraphInstantiateWithFlags, (CUgraphExec * ready, CUgraph graph, unsigned long long flags))                       \
  X(cuGraphLaunch, (CUgraphExec graph, CUstream stream))                                                               \
  X(cuGraphExecDestroy, (CUgraphExec graph))                                                                           \
  X(cuGraphDestroy, (CUgraph graph))

typedef struct graph_calls {
#define X(symbol, parameters) CUresult(*symbol) parameters;
  GRAPH_CALLS(X)
#undef X
} graph_calls;

static const rs_symbol symbols[] = {
#define X(symbol, parameters) {#symbol, offsetof(graph_calls, symbol)},
    GRAPH_CALLS(X)
#undef X
};

/* The driver is loaded already, and stays so. */
static bool load_graph_calls(graph_calls *calls) {
  rs_text tried = {0};
  void *library = rs_library_load("libcuda.so.1", symbols, sizeof symbols / sizeof *symbols, calls, &tried);
  rs_text_free(&tried);
  return library != NULL;
}

/* A capture that began must end, whatever was queued in it. */
static rowscan_status capture(const graph_calls *calls, rs_meter *meter,
                              rowscan_status (*queue)(void *user, int64_t number), void *user, int64_t count,
                              CUgraph *graph) {
  CUresult result = calls->cuStreamBeginCapture_v2(meter->stream, CAPTURE_THREAD_LOCAL);
  if (result)
    return check_call(meter, result, "cuStreamBeginCapture");
  rowscan_status status = ROWSCAN_OK;
  for (int64_t i = 0; i < count && !status; i++)
    status = queue(user, i);
  result = calls->cuStreamEndCapture(meter->stream, graph);
  if (result)
    *graph = NULL;
  return status ? status : check_call(meter, result, "cuStreamEndCapture");
}

rowscan_status rs_replay_record(rs_replay *replay, rs_meter *meter, rowscan_status (*queue)(void *user, int64_t number),
                                void *user, int64_t count) {
  graph_calls calls;
  CUgraph graph = NULL;
  *replay = (rs_replay){0};
  if (!meter->device || !load_graph_calls(&calls))
    return ROWSCAN_OK;
  rowscan_status status = capture(&calls, meter, queue, user, count, &graph);
  if (!status) {
    CUgraphExec ready;
    CUresult result = calls.cuGraphInstantiateWithFlags(&ready, graph, 0);
    if (!result)
      *replay = (rs_replay){ready, calls.cuGraphLaunch, calls.cuGraphExecDestroy};
    status = check_call(meter, result, "cuGraphInstantiateWithFlags");
  }
  if (graph)
    calls.cuGraphDestroy(graph);
  return status;
}

rowscan_status rs_replay_run(const rs_replay *replay, rs_meter *meter) {
  return check_call(meter, replay->launch(replay->graph, meter->stream), "cuGraphLaunch");
}

void rs_replay_free(rs_replay *replay) {
  if (replay->graph)
    replay->destroy(replay->graph);
  replay->graph = NULL;
}
