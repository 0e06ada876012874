/*
 * workspace.c - scratch memory of a plan's runs
 * SPDX-License-Identifier: MIT
 */
#include "workspace.h"

#include <string.h>

#include "clock.h"

static size_t align(size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

void rs_workspaces_open(rs_workspaces *all, const rs_cuda *cuda, size_t bytes, CUstream clearing, const rs_log *log) {
  if (!bytes)
    return;
  all->bytes = align(bytes);
  all->captured_left = RS_CAPTURE_WORKSPACES * all->bytes;
  all->clearing = clearing;
  all->log = log;
  all->cuda = cuda;
  pthread_mutex_init(&all->mutex, NULL); /* which cannot fail with no attributes */
}

static void release(const rs_cuda *cuda, rs_memory *memory) {
  for (int i = 0; i < RS_MEMORY_PIECES; i++)
    if (memory->piece[i])
      cuda->cuMemFree_v2(memory->piece[i]);
}

void rs_workspaces_close(rs_workspaces *all) {
  const rs_cuda *cuda = all->cuda;
  if (!cuda)
    return;
  for (int i = 0; i < RS_HOME_WORKSPACES; i++)
    release(cuda, &all->home[i].memory);
  for (int i = 0; i < RS_RUN_WORKSPACES; i++) {
    release(cuda, &all->slot[i].memory);
    if (all->slot[i].done)
      cuda->cuEventDestroy_v2(all->slot[i].done);
  }
  for (int i = 0; i < all->captured_count; i++)
    cuda->cuMemFree_v2(all->captured[i].memory);
  pthread_mutex_destroy(&all->mutex);
  memset(all, 0, sizeof *all);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Nobody frees it before it is cleared, whatever fails. */
static rowscan_status clear(const rs_workspaces *all, CUdeviceptr memory, size_t bytes) {
  CUresult result = all->cuda->cuMemsetD8Async(memory, 0, bytes, all->clearing);
  CUresult waited = all->cuda->cuStreamSynchronize(all->clearing);
  result = result ? result : waited;
  return result ? rs_cuda_failed(all->cuda, result, "clearing a plan's workspace") : ROWSCAN_OK;
}

static rowscan_status allocate(const rs_workspaces *all, size_t bytes, CUdeviceptr *memory) {
  CUresult result = all->cuda->cuMemAlloc_v2(memory, bytes);
  if (result) {
    *memory = 0;
    return rs_cuda_failed(all->cuda, result, "cuMemAlloc of a plan's workspace");
  }
  rowscan_status status = clear(all, *memory, bytes);
  if (status) {
    all->cuda->cuMemFree_v2(*memory);
    *memory = 0;
  }
  return status;
}

/* Memory that is 0. */
static rowscan_status furnish(const rs_workspaces *all, size_t bytes, CUdeviceptr *memory) {
  double start = rs_now_ms();
  int mode = rs_cuda_relax(all->cuda);
  rowscan_status status = allocate(all, bytes, memory);
  rs_cuda_restore(all->cuda, mode);
  if (!status)
    rs_log_write(all->log, ROWSCAN_LOG_DEBUG, "scratch memory made ready in %.2f ms: %zu bytes", rs_now_ms() - start,
                 bytes);
  return status;
}

/* The smallest piece of so many bytes. */
static int piece_of(size_t bytes) {
  int i = 0;
  while (i < RS_MEMORY_PIECES - 1 && (size_t)RS_LEAST_MEMORY << i < bytes)
    i++;
  return i;
}

/* One of so many bytes; 0: there is none yet. */
static CUdeviceptr memory_of(const rs_memory *memory, size_t bytes) {
  CUdeviceptr found = 0;
  for (int i = piece_of(bytes); i < RS_MEMORY_PIECES && !found; i++)
    found = atomic_load_explicit(&memory->piece[i], memory_order_acquire);
  return found;
}

/* So that memory_of() gives some. Smaller pieces stay: runs may have them, and freeing would wait for those. */
static rowscan_status enlarge(const rs_workspaces *all, rs_memory *memory, size_t bytes) {
  if (memory_of(memory, bytes))
    return ROWSCAN_OK;
  int i = piece_of(bytes);
  size_t size = (size_t)RS_LEAST_MEMORY << i;
  CUdeviceptr made;
  rowscan_status status = furnish(all, size < all->bytes && i < RS_MEMORY_PIECES - 1 ? size : all->bytes, &made);
  if (!status)
    atomic_store_explicit(&memory->piece[i], made, memory_order_release);
  return status;
}

static void move(rs_memory *to, const rs_memory *from) {
  for (int i = 0; i < RS_MEMORY_PIECES; i++)
    atomic_store_explicit(&to->piece[i], atomic_load_explicit(&from->piece[i], memory_order_relaxed),
                          memory_order_relaxed);
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

unsigned long long rs_stream_name(const rs_cuda *cuda, CUstream stream) {
  unsigned long long id;
  if (cuda->cuStreamGetId && !cuda->cuStreamGetId(stream, &id) && id < GUESS)
    return id + 1;
  return GUESS | handle_of(stream);
}

bool rs_stream_guessed(unsigned long long name) {
  return name & GUESS;
}

/* ---- streams that stay ------------------------------------------------------------------------------------------- */

/* name 0: one that no stream has. */
static rs_home *home_of(rs_workspaces *all, unsigned long long name) {
  for (int i = 0; i < RS_HOME_WORKSPACES; i++)
    if (atomic_load_explicit(&all->home[i].stream, memory_order_acquire) == name)
      return &all->home[i];
  return NULL;
}

/* Whether a stream stays from now on; it takes what it shared along. */
static bool settles(rs_workspaces *all, rs_workspace *slot) {
  bool stays = slot->runs >= RS_SETTLED_RUNS && !rs_stream_guessed(slot->stream);
  rs_home *home = stays ? home_of(all, 0) : NULL;
  if (!home)
    return false;
  rs_memory other;
  move(&other, &home->memory);
  move(&home->memory, &slot->memory);
  move(&slot->memory, &other);
  atomic_store_explicit(&home->stream, slot->stream, memory_order_release);
  slot->stream = slot->turn = 0;
  slot->runs = 0;
  return true;
}

static rowscan_status take_home(rs_workspaces *all, rs_home *home, size_t bytes, rs_scratch *taken) {
  rowscan_status status = ROWSCAN_OK;
  if (!memory_of(&home->memory, bytes)) {
    pthread_mutex_lock(&all->mutex);
    status = enlarge(all, &home->memory, bytes);
    pthread_mutex_unlock(&all->mutex);
  }
  *taken = (rs_scratch){memory_of(&home->memory, bytes), NULL};
  return status;
}

/* ---- all others -------------------------------------------------------------------------------------------------- */

static bool has_any(const rs_memory *memory) {
  return memory_of(memory, 0) != 0;
}

/* Whether a stream that had neither has `a` rather: what nobody has used, ready at best, else long ago. */
static bool better(const rs_workspace *a, const rs_workspace *b) {
  return a->turn == b->turn ? has_any(&a->memory) && !has_any(&b->memory) : a->turn < b->turn;
}

static rs_workspace *best_slot(rs_workspaces *all) {
  rs_workspace *best = &all->slot[0];
  for (int i = 1; i < RS_RUN_WORKSPACES; i++)
    if (better(&all->slot[i], best))
      best = &all->slot[i];
  return best;
}

/* The one this stream had, else the best. */
static rs_workspace *for_run(rs_workspaces *all, unsigned long long name) {
  for (int i = 0; i < RS_RUN_WORKSPACES; i++)
    if (all->slot[i].stream == name)
      return &all->slot[i];
  return best_slot(all);
}

static rowscan_status create_event(const rs_workspaces *all, CUevent *event) {
  if (*event)
    return ROWSCAN_OK;
  int mode = rs_cuda_relax(all->cuda);
  CUresult result = all->cuda->cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
  rs_cuda_restore(all->cuda, mode);
  if (!result)
    return ROWSCAN_OK;
  *event = NULL;
  return rs_cuda_failed(all->cuda, result, "cuEventCreate");
}

static rowscan_status furnish_slot(const rs_workspaces *all, rs_workspace *slot, size_t bytes) {
  rowscan_status status = create_event(all, &slot->done);
  return status ? status : enlarge(all, &slot->memory, bytes);
}

/* Who is only guessed to have had it waits as well: for its own run that is nothing. */
static rowscan_status enter(const rs_workspaces *all, rs_workspace *slot, CUstream stream, unsigned long long name) {
  bool same = slot->stream == name;
  if (slot->turn && (!same || rs_stream_guessed(name))) {
    CUresult result = all->cuda->cuStreamWaitEvent(stream, slot->done, 0);
    if (result)
      return rs_cuda_failed(all->cuda, result, "waiting for a plan's workspace");
  }
  if (!same) {
    slot->stream = name;
    slot->runs = 0;
  }
  return ROWSCAN_OK;
}

/* Leaves the mutex locked if it succeeds with a shared one. */
static rowscan_status take_shared(rs_workspaces *all, CUstream stream, unsigned long long name, size_t bytes,
                                  rs_scratch *taken) {
  pthread_mutex_lock(&all->mutex);
  rs_workspace *slot = for_run(all, name);
  rowscan_status status = furnish_slot(all, slot, bytes);
  if (!status)
    status = enter(all, slot, stream, name);
  *taken = (rs_scratch){memory_of(&slot->memory, bytes), NULL};
  if (status || settles(all, slot)) {
    pthread_mutex_unlock(&all->mutex);
    return status;
  }
  slot->turn = ++all->turn;
  slot->runs++;
  taken->shared = slot;
  return ROWSCAN_OK;
}

rowscan_status rs_workspaces_prepare(rs_workspaces *all, size_t bytes) {
  pthread_mutex_lock(&all->mutex);
  rowscan_status status = furnish_slot(all, best_slot(all), bytes);
  pthread_mutex_unlock(&all->mutex);
  return status;
}

/* Homes that have no stream yet trade their memory for that of the stream which comes to stay. */
rowscan_status rs_workspaces_prepare_all(rs_workspaces *all) {
  pthread_mutex_lock(&all->mutex);
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < RS_RUN_WORKSPACES && !status; i++)
    status = furnish_slot(all, &all->slot[i], all->bytes);
  for (int i = 0; i < RS_HOME_WORKSPACES && !status; i++)
    status = enlarge(all, &all->home[i].memory, all->bytes);
  pthread_mutex_unlock(&all->mutex);
  return status;
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

/*
 * What this stream had in this capture, if it is enough, else NULL. No two captures have the same number; within one,
 * handles tell streams apart, as rowscan.h wants none of them destroyed before it ends.
 */
static const rs_captured *had_in_capture(const rs_workspaces *all, unsigned long long handle,
                                         unsigned long long capture, size_t bytes) {
  for (int i = all->captured_count - 1; i >= 0; i--) {
    const rs_captured *piece = &all->captured[i];
    if (piece->capture == capture && piece->stream == handle && piece->bytes >= bytes)
      return piece;
  }
  return NULL;
}

/* What no other graph has; this one keeps it. */
static rowscan_status new_captured(rs_workspaces *all, unsigned long long handle, unsigned long long capture,
                                   size_t bytes, const rs_captured **piece) {
  rs_captured next = {.bytes = align(bytes), .capture = capture, .stream = handle};
  if (next.bytes > all->captured_left || all->captured_count == RS_MOST_CAPTURED)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY,
                   "args: field 'workspace': NULL, and of what the plan has for captured graphs %zu bytes are left, "
                   "for at most %d of their streams; this run needs %zu",
                   all->captured_left, RS_MOST_CAPTURED, bytes);
  rowscan_status status = furnish(all, next.bytes, &next.memory);
  if (status)
    return status;
  all->captured_left -= next.bytes;
  *piece = &all->captured[all->captured_count++];
  all->captured[all->captured_count - 1] = next;
  return ROWSCAN_OK;
}

static rowscan_status take_captured(rs_workspaces *all, unsigned long long handle, unsigned long long capture,
                                    size_t bytes, rs_scratch *taken) {
  pthread_mutex_lock(&all->mutex);
  const rs_captured *piece = had_in_capture(all, handle, capture, bytes);
  rowscan_status status = piece ? ROWSCAN_OK : new_captured(all, handle, capture, bytes, &piece);
  if (!status)
    *taken = (rs_scratch){piece->memory, NULL};
  pthread_mutex_unlock(&all->mutex);
  return status;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

rowscan_status rs_workspace_take(rs_workspaces *all, CUstream stream, size_t bytes, rs_scratch *taken) {
  int status = CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned long long capture = 0;
  CUresult result = all->cuda->cuStreamGetCaptureInfo(stream, &status, &capture);
  if (result)
    return rs_cuda_failed(all->cuda, result, "cuStreamGetCaptureInfo");
  if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return take_captured(all, handle_of(stream), capture, bytes, taken);
  unsigned long long name = rs_stream_name(all->cuda, stream);
  rs_home *home = home_of(all, name);
  return home ? take_home(all, home, bytes, taken) : take_shared(all, stream, name, bytes, taken);
}

rowscan_status rs_workspace_give(rs_workspaces *all, const rs_scratch *taken, CUstream stream) {
  if (!taken->shared)
    return ROWSCAN_OK;
  CUresult result = all->cuda->cuEventRecord(taken->shared->done, stream);
  pthread_mutex_unlock(&all->mutex);
  return result ? rs_cuda_failed(all->cuda, result, "cuEventRecord") : ROWSCAN_OK;
}
