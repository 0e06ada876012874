/*
 * replay.c - work that is recorded once in a CUDA graph
 * SPDX-License-Identifier: MIT
 *
 * Nothing but measuring wants graphs, so that their calls are no part of rs_cuda, which a driver must have whole.
 */
#include "replay.h"

#include "base/library.h"
#include "base/status.h"

typedef struct CUgraph_st *CUgraph;

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
static bool load(graph_calls *calls) {
  rs_text tried = {0};
  void *library = rs_library_load("libcuda.so.1", symbols, sizeof symbols / sizeof *symbols, calls, &tried);
  rs_text_free(&tried);
  return library != NULL;
}

static rowscan_status failed(const rs_meter *meter, CUresult result, const char *call) {
  return result ? rs_cuda_failed(meter->device->cuda, result, call) : ROWSCAN_OK;
}

/* A capture that began must end, whatever was queued in it. */
static rowscan_status capture(const graph_calls *calls, rs_meter *meter,
                              rowscan_status (*queue)(void *user, int64_t number), void *user, int64_t count,
                              CUgraph *graph) {
  CUresult result = calls->cuStreamBeginCapture_v2(meter->stream, CAPTURE_THREAD_LOCAL);
  if (result)
    return failed(meter, result, "cuStreamBeginCapture");
  rowscan_status status = ROWSCAN_OK;
  for (int64_t i = 0; i < count && !status; i++)
    status = queue(user, i);
  result = calls->cuStreamEndCapture(meter->stream, graph);
  if (result)
    *graph = NULL;
  return status ? status : failed(meter, result, "cuStreamEndCapture");
}

rowscan_status rs_replay_record(rs_replay *replay, rs_meter *meter, rowscan_status (*queue)(void *user, int64_t number),
                                void *user, int64_t count) {
  graph_calls calls;
  CUgraph graph = NULL;
  *replay = (rs_replay){0};
  if (!meter->device || !load(&calls))
    return ROWSCAN_OK;
  rowscan_status status = capture(&calls, meter, queue, user, count, &graph);
  if (!status) {
    CUgraphExec ready;
    CUresult result = calls.cuGraphInstantiateWithFlags(&ready, graph, 0);
    if (!result)
      *replay = (rs_replay){ready, calls.cuGraphLaunch, calls.cuGraphExecDestroy};
    status = failed(meter, result, "cuGraphInstantiateWithFlags");
  }
  if (graph)
    calls.cuGraphDestroy(graph);
  return status;
}

rowscan_status rs_replay_run(const rs_replay *replay, rs_meter *meter) {
  return failed(meter, replay->launch(replay->graph, meter->stream), "cuGraphLaunch");
}

void rs_replay_free(rs_replay *replay) {
  if (replay->graph)
    replay->destroy(replay->graph);
  replay->graph = NULL;
}
