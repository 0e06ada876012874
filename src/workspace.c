/*
 * workspace.c - scratch memory of a plan's runs
 * SPDX-License-Identifier: MIT
 */
#include "workspace.h"

#include "status.h"

/* On a stream of its own, so that it waits for nobody's work and is done on return. */
static CUresult clear(const rs_cuda *cuda, CUdeviceptr memory, size_t bytes) {
  CUstream stream;
  CUresult result = cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  if (result)
    return result;
  result = cuda->cuMemsetD8Async(memory, 0, bytes, stream);
  CUresult waited = cuda->cuStreamSynchronize(stream);
  CUresult destroyed = cuda->cuStreamDestroy_v2(stream);
  return result ? result : waited ? waited : destroyed;
}

rowscan_status rs_workspaces_open(rs_workspaces *all, const rs_cuda *cuda, size_t bytes) {
  if (!bytes)
    return ROWSCAN_OK;
  bytes = (bytes + 255) / 256 * 256;
  CUresult result = cuda->cuMemAlloc_v2(&all->memory, RS_WORKSPACES * bytes);
  if (result)
    return rs_cuda_failed(cuda, result, "cuMemAlloc of a plan's workspaces");
  pthread_mutex_init(&all->mutex, NULL);
  all->cuda = cuda;
  result = clear(cuda, all->memory, RS_WORKSPACES * bytes);
  if (result)
    return rs_cuda_failed(cuda, result, "clearing a plan's workspaces");
  for (int i = 0; i < RS_WORKSPACES; i++) {
    rs_workspace *slot = &all->slot[i];
    slot->memory = all->memory + (size_t)i * bytes;
    result = cuda->cuEventCreate(&slot->done, CU_EVENT_DISABLE_TIMING);
    if (result) {
      slot->done = NULL;
      return rs_cuda_failed(cuda, result, "cuEventCreate");
    }
  }
  return ROWSCAN_OK;
}

void rs_workspaces_close(rs_workspaces *all) {
  if (!all->cuda)
    return;
  for (int i = 0; i < RS_WORKSPACES; i++)
    if (all->slot[i].done)
      all->cuda->cuEventDestroy_v2(all->slot[i].done);
  all->cuda->cuMemFree_v2(all->memory);
  pthread_mutex_destroy(&all->mutex);
  all->cuda = NULL;
}

/* The one this stream had, else the one whose last run is the longest ago. */
static rs_workspace *for_run(rs_workspaces *all, CUstream stream) {
  rs_workspace *oldest = &all->slot[0];
  for (int i = 0; i < RS_RUN_WORKSPACES; i++) {
    rs_workspace *slot = &all->slot[i];
    if (slot->turn && slot->stream == stream)
      return slot;
    if (slot->turn < oldest->turn)
      oldest = slot;
  }
  return oldest;
}

/*
 * The one this stream had in this capture, else one that no graph has. A graph may be launched at any time: it keeps
 * it.
 */
static rs_workspace *for_capture(rs_workspaces *all, CUstream stream, unsigned long long capture) {
  rs_workspace *unused = NULL;
  for (int i = RS_RUN_WORKSPACES; i < RS_WORKSPACES; i++) {
    rs_workspace *slot = &all->slot[i];
    if (slot->capture == capture && slot->stream == stream)
      return slot;
    if (!slot->capture && !unused)
      unused = slot;
  }
  if (unused) {
    unused->capture = capture;
    unused->stream = stream;
  }
  return unused;
}

static CUresult take(rs_workspaces *all, CUstream stream, rs_workspace **taken) {
  int status = CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned long long capture = 0;
  CUresult result = all->cuda->cuStreamGetCaptureInfo(stream, &status, &capture);
  if (result)
    return result;
  if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    *taken = for_capture(all, stream, capture);
    return CUDA_SUCCESS;
  }
  rs_workspace *slot = *taken = for_run(all, stream);
  if (slot->turn && slot->stream != stream)
    result = all->cuda->cuStreamWaitEvent(stream, slot->done, 0);
  slot->turn = ++all->turn;
  return result;
}

rowscan_status rs_workspace_take(rs_workspaces *all, CUstream stream, rs_workspace **taken) {
  pthread_mutex_lock(&all->mutex);
  CUresult result = take(all, stream, taken);
  if (!result && *taken)
    return ROWSCAN_OK;
  pthread_mutex_unlock(&all->mutex);
  if (result)
    return rs_cuda_failed(all->cuda, result, "taking a workspace for a stream");
  return rs_fail(ROWSCAN_OUT_OF_MEMORY,
                 "args: field 'workspace': NULL, and the plan's %d for captured graphs are taken",
                 RS_CAPTURE_WORKSPACES);
}

rowscan_status rs_workspace_give(rs_workspaces *all, rs_workspace *taken, CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  if (!taken->capture) {
    result = all->cuda->cuEventRecord(taken->done, stream);
    taken->stream = stream;
  }
  pthread_mutex_unlock(&all->mutex);
  return result ? rs_cuda_failed(all->cuda, result, "cuEventRecord") : ROWSCAN_OK;
}
