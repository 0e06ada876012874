/*
 * workspace.c - scratch memory of a plan's runs
 * SPDX-License-Identifier: MIT
 */
#include "workspace.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static size_t align(size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

void rs_workspaces_open(rs_workspaces *all, const rs_device_memory *source, size_t bytes, const rs_log *log) {
  if (!bytes)
    return;
  all->bytes = align(bytes);
  all->captured_left = RS_CAPTURE_WORKSPACES * all->bytes;
  all->source = source;
  all->log = log;
  all->cuda = source->cuda;
  pthread_mutex_init(&all->mutex, NULL); /* which cannot fail with no attributes */
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Memory that is 0. */
static rowscan_status furnish(const rs_workspaces *all, size_t bytes, CUdeviceptr *memory) {
  double start = rs_now_ms();
  rowscan_status status = rs_device_memory_take(all->source, bytes, "a plan's workspace", memory);
  if (!status)
    rs_log_write(all->log, ROWSCAN_LOG_DEBUG, "scratch memory allocated and cleared in %.2f ms: %zu bytes",
                 rs_now_ms() - start, bytes);
  return status;
}

/* Bytes of piece i. */
static size_t piece_bytes(const rs_workspaces *all, int i) {
  size_t size = (size_t)RS_LEAST_MEMORY << i;
  return size < all->bytes && i < RS_MEMORY_PIECES - 1 ? size : all->bytes;
}

static void release(const rs_workspaces *all, rs_memory *memory) {
  for (int i = 0; i < RS_MEMORY_PIECES; i++)
    if (memory->piece[i])
      rs_device_memory_give(all->source, memory->piece[i], piece_bytes(all, i));
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
  CUdeviceptr made;
  rowscan_status status = furnish(all, piece_bytes(all, i), &made);
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
static rowscan_status enter_stream(const rs_workspaces *all, rs_workspace *slot, CUstream stream,
                                   unsigned long long name) {
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
    status = enter_stream(all, slot, stream, name);
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

/* ---- captures ------------------------------------------------------------------------------------------------------
 *
 * A graph holds what its runs have by a user object of the driver's, whose destructor is called when the graph, all
 * that was made of it and all launches are gone. It may call nothing of the driver, comes in a thread of the driver's
 * own, and may come after the plan is gone. So it does no more than change the state of a piece, and whoever of the two
 * comes last, it or the plan, frees what the host knows of that; memory of the GPU goes with the plan, after which no
 * graph may be launched, or where room for others is wanted.
 */

enum { HELD, LEFT /* by its graph */, ORPHANED /* by the plan */ };

static void leave_captured(void *captured) {
  rs_captured *piece = captured;
  if (atomic_exchange(&piece->state, LEFT) == ORPHANED)
    free(piece);
}

/*
 * What this stream had in this capture, if it is enough, else NULL. No two captures have the same number; within one,
 * handles tell streams apart, as rowscan.h wants none of them destroyed before it ends.
 */
static const rs_captured *had_in_capture(const rs_workspaces *all, unsigned long long handle,
                                         unsigned long long capture, size_t bytes) {
  for (const rs_captured *piece = all->captured; piece; piece = piece->next)
    if (piece->capture == capture && piece->stream == handle && piece->bytes >= bytes)
      return piece;
  return NULL;
}

/* The smallest that a graph has left and that is enough, else NULL. */
static rs_captured *left_by_graph(const rs_workspaces *all, size_t bytes) {
  rs_captured *best = NULL;
  for (rs_captured *piece = all->captured; piece; piece = piece->next)
    if (piece->bytes >= bytes && (!best || piece->bytes < best->bytes) && atomic_load(&piece->state) == LEFT)
      best = piece;
  return best;
}

static bool has_room(const rs_workspaces *all, size_t bytes) {
  return bytes <= all->captured_left && all->captured_count < RS_MOST_CAPTURED;
}

/* Gives back what graphs have left, of which nothing is enough, until there is room for so much. */
static bool make_room(rs_workspaces *all, size_t bytes) {
  rs_captured **at = &all->captured;
  while (*at && !has_room(all, bytes)) {
    rs_captured *piece = *at;
    if (atomic_load(&piece->state) != LEFT) {
      at = &piece->next;
      continue;
    }
    *at = piece->next;
    rs_device_memory_give(all->source, piece->memory, piece->bytes);
    all->captured_left += piece->bytes;
    all->captured_count--;
    free(piece);
  }
  return has_room(all, bytes);
}

/* Whether the driver will tell of some graph that it is gone. */
static bool any_counted(const rs_workspaces *all) {
  for (const rs_captured *piece = all->captured; piece; piece = piece->next)
    if (piece->counted && atomic_load(&piece->state) == HELD)
      return true;
  return false;
}

/*
 * What a graph has left, or else room for as much. The driver's thread may be a moment late with a graph that is gone,
 * so it is waited for before a run fails for want of room; for how long is a guess, on the long side.
 */
static void find_room(rs_workspaces *all, size_t bytes, rs_captured **found) {
  enum { LOOKS = 100 };
  const struct timespec pause = {.tv_nsec = 1000000};
  for (int looks = 0;; looks++) {
    *found = left_by_graph(all, bytes);
    if (*found || make_room(all, align(bytes)) || looks == LOOKS || !any_counted(all))
      return;
    nanosleep(&pause, NULL);
  }
}

static rowscan_status new_captured(rs_workspaces *all, size_t bytes, rs_captured **made) {
  size_t room = align(bytes);
  if (!has_room(all, room))
    return rs_fail(ROWSCAN_OUT_OF_MEMORY,
                   "args: field 'workspace': NULL, but this run requires %zu bytes: the plan has %zu bytes left for "
                   "captured graphs, for at most %d of their streams at a time; pass a workspace",
                   bytes, all->captured_left, RS_MOST_CAPTURED);
  rs_captured *piece = calloc(1, sizeof *piece);
  if (!piece)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the workspace of a captured graph");
  rowscan_status status = furnish(all, room, &piece->memory);
  if (status) {
    free(piece);
    return status;
  }
  piece->bytes = room;
  piece->next = all->captured;
  all->captured = piece;
  all->captured_left -= room;
  all->captured_count++;
  *made = piece;
  return ROWSCAN_OK;
}

/* The graph that is captured on the stream holds the piece from now on. */
static rowscan_status tie(const rs_cuda *cuda, CUstream stream, rs_captured *piece) {
  int status;
  CUgraph graph = NULL;
  CUuserObject object;
  CUresult result = cuda->cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, NULL);
  if (!result)
    result = cuda->cuUserObjectCreate(&object, piece, leave_captured, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  if (result) {
    atomic_store(&piece->state, LEFT);
    return rs_cuda_failed(cuda, result, "attaching a workspace to a captured graph");
  }
  result = cuda->cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (!result)
    return ROWSCAN_OK;
  rowscan_status failed = rs_cuda_failed(cuda, result, "attaching a workspace to a captured graph");
  cuda->cuUserObjectRelease(object, 1); /* whose destructor leaves the piece */
  return failed;
}

/* From CUDA 11.3 on; before, what a graph has is its own for as long as the plan lives. */
static bool can_tie(const rs_cuda *cuda) {
  return cuda->cuStreamGetCaptureInfo_v2 && cuda->cuUserObjectCreate && cuda->cuUserObjectRelease &&
         cuda->cuGraphRetainUserObject;
}

static rowscan_status hand_over(rs_workspaces *all, CUstream stream, unsigned long long capture, size_t bytes,
                                rs_captured **piece) {
  rs_captured *found;
  find_room(all, bytes, &found);
  rowscan_status status = found ? ROWSCAN_OK : new_captured(all, bytes, &found);
  if (status)
    return status;
  atomic_store(&found->state, HELD);
  found->counted = can_tie(all->cuda);
  if (found->counted)
    status = tie(all->cuda, stream, found);
  found->capture = status ? 0 : capture;
  found->stream = handle_of(stream);
  *piece = found;
  return status;
}

static rowscan_status take_captured(rs_workspaces *all, CUstream stream, unsigned long long capture, size_t bytes,
                                    rs_scratch *taken) {
  pthread_mutex_lock(&all->mutex);
  const rs_captured *had = had_in_capture(all, handle_of(stream), capture, bytes);
  rs_captured *piece = NULL;
  rowscan_status status = had ? ROWSCAN_OK : hand_over(all, stream, capture, bytes, &piece);
  if (!status)
    *taken = (rs_scratch){(had ? had : piece)->memory, NULL};
  pthread_mutex_unlock(&all->mutex);
  return status;
}

static void close_captured(rs_workspaces *all) {
  rs_captured *next;
  for (rs_captured *piece = all->captured; piece; piece = next) {
    next = piece->next;
    rs_device_memory_give(all->source, piece->memory, piece->bytes);
    bool counted = piece->counted; /* an orphan may be gone at once */
    if (atomic_exchange(&piece->state, ORPHANED) == LEFT || !counted)
      free(piece);
  }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

rowscan_status rs_workspace_take(rs_workspaces *all, CUstream stream, size_t bytes, rs_scratch *taken) {
  int status = CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned long long capture = 0;
  CUresult result = all->cuda->cuStreamGetCaptureInfo(stream, &status, &capture);
  if (result)
    return rs_cuda_failed(all->cuda, result, "cuStreamGetCaptureInfo");
  if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return take_captured(all, stream, capture, bytes, taken);
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

void rs_workspaces_close(rs_workspaces *all) {
  const rs_cuda *cuda = all->cuda;
  if (!cuda)
    return;
  for (int i = 0; i < RS_HOME_WORKSPACES; i++)
    release(all, &all->home[i].memory);
  for (int i = 0; i < RS_RUN_WORKSPACES; i++) {
    release(all, &all->slot[i].memory);
    if (all->slot[i].done)
      cuda->cuEventDestroy_v2(all->slot[i].done);
  }
  close_captured(all);
  pthread_mutex_destroy(&all->mutex);
  memset(all, 0, sizeof *all);
}
