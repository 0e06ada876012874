/*
 * driver_streams.c - a simulated libcuda.so.1: streams, events, captures and graphs
 * SPDX-License-Identifier: MIT
 */
#include "driver.h"

#include <limits.h>

#include "graph.h"

typedef simt_graph *CUgraphExec;

#define X(symbol, parameters) SIMT_EXPORT CUresult symbol parameters;
RS_CUDA_CALLS(X)
RS_CUDA_LATER_CALLS(X)
#undef X

SIMT_EXPORT CUresult cuStreamQuery(CUstream handle);
SIMT_EXPORT CUresult cuEventQuery(CUevent event);
SIMT_EXPORT CUresult cuStreamIsCapturing(CUstream handle, int *status);
SIMT_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, int mode);
SIMT_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph);
SIMT_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags);
SIMT_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle);
SIMT_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec);
SIMT_EXPORT CUresult cuGraphDestroy(CUgraph graph);
SIMT_EXPORT CUresult cuGraphGetNodes(CUgraph graph, void **nodes, size_t *count);

enum { CAPTURE_STATUS_INVALIDATED = 2 };

static int check_event(CUevent event, const char *symbol) {
  return simt_event_known(event)
             ? CUDA_SUCCESS
             : simt_misuse(SIMT_ERROR_INVALID_HANDLE, "%s of event %p, which does not exist", symbol, (void *)event);
}

/* ---- streams -------------------------------------------------------------------------------------------------------
 */

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  BEGIN(SIMT_CONTEXT);
  if (entered || flags > CU_STREAM_NON_BLOCKING)
    return entered ? entered : SIMT_ERROR_INVALID_VALUE;
  int forbidden = simt_capture_forbids();
  if (forbidden)
    return forbidden;
  CUstream made = simt_stream_make(flags);
  if (!made)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *stream = made;
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream = simt_stream_find(handle);
  if (!stream || stream != handle)
    return simt_misuse(SIMT_ERROR_INVALID_HANDLE, "cuStreamDestroy_v2 of %p, which is no stream", (void *)handle);
  if (stream->capture)
    return simt_misuse(SIMT_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cuStreamDestroy_v2 of a stream that captures");
  simt_stream_free(stream);
  return entered;
}

/* A stream that the host may wait for. */
static int waitable(CUstream handle, CUstream *stream, const char *symbol) {
  int result = simt_driver_stream(handle, stream, symbol);
  if (!result && (*stream)->capture) {
    (*stream)->capture->invalid = true;
    result = SIMT_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result ? result : simt_capture_forbids();
}

CUresult cuStreamSynchronize(CUstream handle) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = entered ? entered : waitable(handle, &stream, __func__);
  if (!result)
    simt_wait_stream(stream);
  return result;
}

CUresult cuStreamQuery(CUstream handle) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = entered ? entered : waitable(handle, &stream, __func__);
  return result ? result : simt_stream_done(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

/* A driver older than CUDA 12.0 has no such call. Asking for a captured stream's spoils the capture. */
CUresult cuStreamGetId(CUstream handle, unsigned long long *id) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = entered ? entered : waitable(handle, &stream, __func__);
  if (!result && simt_setting("SIMT_DRIVER_VERSION", 13000) < 12000)
    result = SIMT_ERROR_NOT_SUPPORTED;
  if (!result)
    *id = simt_stream_id(stream);
  return result;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = entered ? entered : simt_driver_stream(handle, &stream, __func__);
  if (!result)
    result = flags ? SIMT_ERROR_INVALID_VALUE : check_event(event, __func__);
  if (result)
    return result;
  if (stream->capture || event->capture) {
    if (simt_stream_is_default(stream))
      return SIMT_ERROR_STREAM_CAPTURE_IMPLICIT;
    return simt_capture_wait(stream, event);
  }
  simt_queue_wait(stream, event);
  return CUDA_SUCCESS;
}

/* ---- events --------------------------------------------------------------------------------------------------------
 */

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  BEGIN(SIMT_CONTEXT);
  if (entered)
    return entered;
  CUevent made = simt_event_make(flags);
  if (!made)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *event = made;
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  BEGIN(SIMT_CONTEXT);
  int wrong = check_event(event, __func__);
  if (wrong)
    return wrong;
  simt_event_free(event);
  return entered;
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = entered ? entered : simt_driver_stream(handle, &stream, __func__);
  if (!result)
    result = check_event(event, __func__);
  if (result)
    return result;
  if (stream->capture)
    return simt_capture_record(stream, event);
  event->capture = 0;
  simt_queue_record(stream, event);
  return CUDA_SUCCESS;
}

/* An event that the host may wait for. */
static int check_waitable(CUevent event, const char *symbol) {
  int result = check_event(event, symbol);
  return result || !event->capture ? result : SIMT_ERROR_CAPTURED_EVENT;
}

static int check_awaited(CUevent event, const char *symbol) {
  int result = check_waitable(event, symbol);
  return result ? result : simt_capture_forbids();
}

CUresult cuEventSynchronize(CUevent event) {
  BEGIN(SIMT_CONTEXT);
  int result = entered ? entered : check_awaited(event, __func__);
  if (!result)
    simt_wait_event(event);
  return result;
}

CUresult cuEventQuery(CUevent event) {
  BEGIN(SIMT_CONTEXT);
  int result = entered ? entered : check_awaited(event, __func__);
  return result ? result : simt_event_done(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  BEGIN(SIMT_CONTEXT);
  int result = entered ? entered : check_waitable(start, __func__);
  if (!result)
    result = check_waitable(end, __func__);
  if (result)
    return result;
  if (!start->records || !end->records || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
    return simt_misuse(SIMT_ERROR_INVALID_HANDLE, "cuEventElapsedTime of events without a time");
  if (start->done < start->records || end->done < end->records)
    return CUDA_ERROR_NOT_READY;
  *milliseconds = (float)(end->milliseconds - start->milliseconds);
  return CUDA_SUCCESS;
}

/* ---- captures and graphs -------------------------------------------------------------------------------------------
 */

static int capture_status(CUstream stream) {
  return !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
         : stream->capture->invalid ? CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamGetCaptureInfo(CUstream handle, int *status, unsigned long long *id) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = entered ? entered : simt_driver_stream(handle, &stream, __func__);
  if (result)
    return result;
  *status = capture_status(stream);
  if (id && stream->capture)
    *id = stream->capture->id;
  return CUDA_SUCCESS;
}

/* Which nodes come last, nobody asks. */
CUresult cuStreamGetCaptureInfo_v2(CUstream handle, int *status, unsigned long long *id, CUgraph *graph,
                                   const void **dependencies, size_t *dependency_count) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = entered ? entered : simt_driver_stream(handle, &stream, __func__);
  if (!result && (dependencies || dependency_count))
    result = SIMT_ERROR_INVALID_VALUE;
  if (result)
    return result;
  *status = capture_status(stream);
  if (id && stream->capture)
    *id = stream->capture->id;
  if (graph)
    *graph = stream->capture ? stream->capture->graph : NULL;
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, int *status) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = entered ? entered : simt_driver_stream(handle, &stream, __func__);
  if (!result)
    *status = capture_status(stream);
  return result;
}

CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = entered ? entered : simt_driver_stream(handle, &stream, __func__);
  if (result)
    return result;
  if (simt_stream_is_default(stream) || mode < SIMT_CAPTURE_GLOBAL || mode > SIMT_CAPTURE_RELAXED)
    return SIMT_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture)
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "cuStreamBeginCapture_v2 of a stream that captures");
  return simt_capture_begin(stream, mode) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  BEGIN(SIMT_INIT);
  if (entered)
    return entered;
  if (*mode < SIMT_CAPTURE_GLOBAL || *mode > SIMT_CAPTURE_RELAXED)
    return SIMT_ERROR_INVALID_VALUE;
  *mode = simt_capture_exchange(*mode);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = simt_driver_stream(handle, &stream, __func__);
  simt_graph *made = NULL;
  if (!result)
    result = simt_capture_end(stream, &made);
  if (made && entered)
    simt_graph_free(made);
  else if (made)
    simt_graph_hand_out(made, 'g');
  *graph = entered ? NULL : made;
  return entered ? entered : result;
}

static int check_graph(CUgraph graph, char kind, const char *symbol) {
  return simt_graph_known(graph, kind)
             ? CUDA_SUCCESS
             : simt_misuse(SIMT_ERROR_INVALID_VALUE, "%s of %p, which is no such graph", symbol, (void *)graph);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  BEGIN(SIMT_CONTEXT);
  (void)flags;
  int result = entered ? entered : check_graph(graph, 'g', __func__);
  if (result)
    return result;
  simt_graph *made = simt_graph_copy(graph);
  if (!made)
    return CUDA_ERROR_OUT_OF_MEMORY;
  simt_graph_hand_out(made, 'x');
  *exec = made;
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  BEGIN(SIMT_CONTEXT);
  CUstream stream;
  int result = entered ? entered : simt_driver_stream(handle, &stream, __func__);
  if (!result)
    result = check_graph(exec, 'x', __func__);
  if (!result && stream->capture)
    result = SIMT_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  simt_graph *copy = result ? NULL : simt_graph_copy(exec);
  if (copy)
    simt_queue_graph(stream, copy);
  return result || copy ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  BEGIN(SIMT_CONTEXT);
  int wrong = check_graph(exec, 'x', __func__);
  if (!wrong)
    simt_graph_free(exec);
  return wrong ? wrong : entered;
}

CUresult cuGraphDestroy(CUgraph graph) {
  BEGIN(SIMT_CONTEXT);
  int wrong = check_graph(graph, 'g', __func__);
  if (!wrong)
    simt_graph_free(graph);
  return wrong ? wrong : entered;
}

/* Only how many. */
CUresult cuGraphGetNodes(CUgraph graph, void **nodes, size_t *count) {
  BEGIN(SIMT_CONTEXT);
  int result = entered ? entered : check_graph(graph, 'g', __func__);
  if (!result && nodes)
    return SIMT_ERROR_INVALID_VALUE;
  if (!result)
    *count = (size_t)simt_graph_nodes(graph);
  return result;
}

/* ---- objects that graphs keep alive --------------------------------------------------------------------------------
 */

CUresult cuUserObjectCreate(CUuserObject *object, void *user, CUhostFn destroy, unsigned references, unsigned flags) {
  BEGIN(SIMT_INIT);
  if (entered || !destroy || !references || references > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return entered ? entered : SIMT_ERROR_INVALID_VALUE;
  CUuserObject made = simt_object_make(user, destroy, references);
  if (!made)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *object = made;
  return CUDA_SUCCESS;
}

static int check_object(CUuserObject object, unsigned count, const char *symbol) {
  return count && simt_object_known(object, count)
             ? CUDA_SUCCESS
             : simt_misuse(SIMT_ERROR_INVALID_VALUE, "%s of %u references to %p, which the program has not", symbol,
                           count, (void *)object);
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  BEGIN(SIMT_INIT);
  int wrong = check_object(object, count, __func__);
  if (!wrong)
    simt_object_release(object, count);
  return wrong ? wrong : entered;
}

/* The graph may be one that is being captured. */
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags) {
  BEGIN(SIMT_INIT);
  bool move = flags & CU_GRAPH_USER_OBJECT_MOVE;
  int result = entered ? entered : check_object(object, move || !count ? count : 1, __func__);
  if (!result && (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE))
    result = SIMT_ERROR_INVALID_VALUE;
  if (!result && !simt_graph_captured(graph))
    result = check_graph(graph, 'g', __func__);
  if (!result)
    simt_graph_retain(graph, object, count, move);
  return result;
}
