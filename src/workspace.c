/*
 * workspace.c - scratch memory of a plan's runs
 * SPDX-License-Identifier: MIT
 */
#include "workspace.h"

#include <string.h>

#include "status.h"

static size_t align(size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

rowscan_status rs_workspaces_open(rs_workspaces *all, const rs_cuda *cuda, size_t bytes, CUstream clearing) {
  if (!bytes)
    return ROWSCAN_OK;
  bytes = align(bytes);
  CUresult result = cuda->cuMemAlloc_v2(&all->memory, RS_WORKSPACES * bytes);
  if (result)
    return rs_cuda_failed(cuda, result, "cuMemAlloc of a plan's workspaces");
  pthread_mutex_init(&all->mutex, NULL);
  all->cuda = cuda;
  result = cuda->cuMemsetD8Async(all->memory, 0, RS_WORKSPACES * bytes, clearing);
  if (result)
    return rs_cuda_failed(cuda, result, "clearing a plan's workspaces");
  CUdeviceptr next = all->memory;
  for (int i = 0; i < RS_HOME_WORKSPACES; i++, next += bytes)
    all->home[i].memory = next;
  all->free_at = next;
  all->free_bytes = RS_CAPTURE_WORKSPACES * bytes;
  next += all->free_bytes;
  for (int i = 0; i < RS_RUN_WORKSPACES; i++, next += bytes) {
    rs_workspace *slot = &all->slot[i];
    slot->memory = next;
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
  for (int i = 0; i < RS_RUN_WORKSPACES; i++)
    if (all->slot[i].done)
      all->cuda->cuEventDestroy_v2(all->slot[i].done);
  all->cuda->cuMemFree_v2(all->memory);
  pthread_mutex_destroy(&all->mutex);
  memset(all, 0, sizeof *all);
}

/* ---- names of streams --------------------------------------------------------------------------------------------
 *
 * A stream that was destroyed may have work left, and its handle is the next one's at once. So it is the driver's
 * number for it, which no other stream ever has, that tells whose run was the last. Drivers that have no such numbers
 * leave the handle: a guess, good for finding the workspace that this stream is likely to have had, and not for more.
 */

#define GUESS (1ull << 63)

/*
 * CU_STREAM_PER_THREAD means another stream in each thread. Streams lie on even addresses, and these numbers, which no
 * later thread has again, are odd.
 */
static unsigned long long handle_of(CUstream stream) {
  static atomic_uintptr_t threads;
  static _Thread_local uintptr_t own;
  if (stream != CU_STREAM_PER_THREAD)
    return (uintptr_t)(stream ? stream : CU_STREAM_LEGACY);
  if (!own)
    own = 2 * atomic_fetch_add(&threads, 1) + 3;
  return own;
}

/* Never 0. Not to be asked while the stream is captured: that is an error, which would spoil the capture. */
static unsigned long long name_of(const rs_cuda *cuda, CUstream stream) {
  unsigned long long id;
  if (cuda->cuStreamGetId && !cuda->cuStreamGetId(stream, &id) && id < GUESS)
    return id + 1;
  return GUESS | handle_of(stream);
}

static bool guessed(unsigned long long name) {
  return name & GUESS;
}

/* ---- streams that stay ------------------------------------------------------------------------------------------- */

/* name 0: one that no stream has. */
static rs_home *home_of(rs_workspaces *all, unsigned long long name) {
  for (int i = 0; i < RS_HOME_WORKSPACES; i++)
    if (atomic_load_explicit(&all->home[i].stream, memory_order_relaxed) == name)
      return &all->home[i];
  return NULL;
}

/* Whether a stream stays from now on; it leaves the one it shared, whose event tells when it is free. */
static bool settles(rs_workspaces *all, rs_workspace *slot, rs_scratch *taken) {
  bool stays = slot->runs >= RS_SETTLED_RUNS && !guessed(slot->stream);
  rs_home *home = stays ? home_of(all, 0) : NULL;
  if (!home)
    return false;
  atomic_store_explicit(&home->stream, slot->stream, memory_order_relaxed);
  slot->stream = 0;
  *taken = (rs_scratch){home->memory, NULL};
  return true;
}

/* ---- all others -------------------------------------------------------------------------------------------------- */

/* The one this stream had, else the one whose last run is the longest ago. */
static rs_workspace *for_run(rs_workspaces *all, unsigned long long name) {
  rs_workspace *oldest = &all->slot[0];
  for (int i = 0; i < RS_RUN_WORKSPACES; i++) {
    rs_workspace *slot = &all->slot[i];
    if (slot->stream == name)
      return slot;
    if (slot->turn < oldest->turn)
      oldest = slot;
  }
  return oldest;
}

/*
 * Leaves the mutex locked if it succeeds with a shared one. Who is only guessed to have had it waits as well: for its
 * own run that is nothing.
 */
static CUresult take_shared(rs_workspaces *all, CUstream stream, unsigned long long name, rs_scratch *taken) {
  CUresult result = CUDA_SUCCESS;
  pthread_mutex_lock(&all->mutex);
  rs_workspace *slot = for_run(all, name);
  bool same = slot->stream == name;
  if (slot->turn && (!same || guessed(name)))
    result = all->cuda->cuStreamWaitEvent(stream, slot->done, 0);
  if (!same && !result) {
    slot->stream = name;
    slot->runs = 0;
  }
  if (result || settles(all, slot, taken)) {
    pthread_mutex_unlock(&all->mutex);
    return result;
  }
  slot->turn = ++all->turn;
  slot->runs++;
  *taken = (rs_scratch){slot->memory, slot};
  return CUDA_SUCCESS;
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

/* What no graph has; NULL: not so much is left. */
static rs_captured *new_captured(rs_workspaces *all, size_t bytes) {
  bytes = align(bytes);
  if (bytes > all->free_bytes || all->captured_count == RS_MOST_CAPTURED)
    return NULL;
  rs_captured *piece = &all->captured[all->captured_count++];
  *piece = (rs_captured){.memory = all->free_at, .bytes = bytes};
  all->free_at += bytes;
  all->free_bytes -= bytes;
  return piece;
}

/*
 * What this stream had in this capture, if it is enough, else what no graph has. A graph keeps it. No two captures have
 * the same number; within one, handles tell streams apart, as rowscan.h wants none of them destroyed before it ends.
 */
static const rs_captured *for_capture(rs_workspaces *all, unsigned long long handle, unsigned long long capture,
                                      size_t bytes) {
  for (int i = all->captured_count - 1; i >= 0; i--) {
    const rs_captured *piece = &all->captured[i];
    if (piece->capture == capture && piece->stream == handle && piece->bytes >= bytes)
      return piece;
  }
  rs_captured *piece = new_captured(all, bytes);
  if (piece) {
    piece->capture = capture;
    piece->stream = handle;
  }
  return piece;
}

static rowscan_status take_captured(rs_workspaces *all, unsigned long long handle, unsigned long long capture,
                                    size_t bytes, rs_scratch *taken) {
  pthread_mutex_lock(&all->mutex);
  const rs_captured *piece = for_capture(all, handle, capture, bytes);
  size_t left = all->free_bytes;
  if (piece)
    *taken = (rs_scratch){piece->memory, NULL};
  pthread_mutex_unlock(&all->mutex);
  return piece ? ROWSCAN_OK
               : rs_fail(ROWSCAN_OUT_OF_MEMORY,
                         "args: field 'workspace': NULL, and of what the plan has for captured graphs %zu bytes are "
                         "left, for at most %d of their streams; this run needs %zu",
                         left, RS_MOST_CAPTURED, bytes);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

rowscan_status rs_workspace_take(rs_workspaces *all, CUstream stream, rs_workspace_need *need, const void *user,
                                 rs_scratch *taken) {
  int status = CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned long long capture = 0;
  CUresult result = all->cuda->cuStreamGetCaptureInfo(stream, &status, &capture);
  if (!result) {
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
      return take_captured(all, handle_of(stream), capture, need(user), taken);
    unsigned long long name = name_of(all->cuda, stream);
    const rs_home *home = home_of(all, name);
    if (home) {
      *taken = (rs_scratch){home->memory, NULL};
      return ROWSCAN_OK;
    }
    result = take_shared(all, stream, name, taken);
  }
  return result ? rs_cuda_failed(all->cuda, result, "taking a workspace for a stream") : ROWSCAN_OK;
}

rowscan_status rs_workspace_give(rs_workspaces *all, const rs_scratch *taken, CUstream stream) {
  if (!taken->shared)
    return ROWSCAN_OK;
  CUresult result = all->cuda->cuEventRecord(taken->shared->done, stream);
  pthread_mutex_unlock(&all->mutex);
  return result ? rs_cuda_failed(all->cuda, result, "cuEventRecord") : ROWSCAN_OK;
}
