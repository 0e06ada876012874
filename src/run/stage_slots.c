/*
 * stage_slots.c - streams and memory for pieces, which a context keeps from one scan of host memory to the next
 * SPDX-License-Identifier: MIT
 */
#include "stage_slots.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"

enum { MOST_KEPT = 4 /* sets: of usual ones 96 MB on the GPU each, and as much that is pinned */ };

/* ---- sets -------------------------------------------------------------------------------------------------------- */

void rs_slots_init(rs_slots_kept *kept) {
  *kept = (rs_slots_kept){.idle = NULL};
  pthread_mutex_init(&kept->lock, NULL);
}

static void free_set(const rs_device_memory *memory, rs_slots *slots) {
  const rs_cuda *cuda = memory->cuda;
  for (int i = 0; i < RS_SLOTS; i++)
    if (slots->slot[i].stream)
      cuda->cuStreamSynchronize(slots->slot[i].stream);
  for (int i = 0; i < RS_SLOTS; i++) {
    rs_slot *s = &slots->slot[i];
    if (s->pinned)
      cuda->cuMemFreeHost(s->pinned);
    if (s->device)
      rs_device_memory_give(memory, s->device, (size_t)s->device_bytes);
    if (s->stream)
      cuda->cuStreamDestroy_v2(s->stream);
  }
  free(slots);
}

/* NULL: there is none. */
static rs_slots *take_idle(rs_slots_kept *kept) {
  pthread_mutex_lock(&kept->lock);
  rs_slots *slots = kept->idle;
  if (slots) {
    kept->idle = slots->next;
    kept->count--;
  }
  pthread_mutex_unlock(&kept->lock);
  return slots;
}

static bool free_idle(rs_slots_kept *kept, const rs_device_memory *memory) {
  rs_slots *slots;
  bool any = false;
  for (; (slots = take_idle(kept)) != NULL; any = true)
    free_set(memory, slots);
  return any;
}

void rs_slots_close(rs_slots_kept *kept, const rs_device_memory *memory) {
  free_idle(kept, memory);
  pthread_mutex_destroy(&kept->lock);
}

rs_slots *rs_slots_take(rs_slots_kept *kept) {
  rs_slots *slots = take_idle(kept);
  return slots ? slots : calloc(1, sizeof *slots);
}

void rs_slots_give(rs_slots_kept *kept, const rs_device_memory *memory, rs_slots *slots, bool whole) {
  pthread_mutex_lock(&kept->lock);
  bool keep = whole && kept->count < MOST_KEPT;
  if (keep) {
    slots->next = kept->idle;
    kept->idle = slots;
    kept->count++;
  }
  pthread_mutex_unlock(&kept->lock);
  if (!keep)
    free_set(memory, slots);
}

int64_t rs_slots_bytes(const rs_slots *slots) {
  int64_t bytes = 0;
  for (int i = 0; i < RS_SLOTS; i++)
    bytes += slots->slot[i].device_bytes;
  return bytes;
}

/* ---- a slot ------------------------------------------------------------------------------------------------------ */

/* The next power of two. */
static int64_t generous(int64_t bytes, int64_t most) {
  int64_t room = 1;
  while (room < bytes)
    room *= 2;
  return room <= most ? room : bytes > most ? bytes : most;
}

/* It is clear: with the results comes what lies between them. */
static rowscan_status grow_device(rs_slots_kept *kept, const rs_device_memory *memory, rs_slot *s, int64_t bytes) {
  static const char what[] = "a piece of an array";
  if (s->device)
    rs_device_memory_give(memory, s->device, (size_t)s->device_bytes);
  s->device = 0;
  s->device_bytes = 0;
  rowscan_status status = rs_device_memory_take(memory, (size_t)bytes, what, &s->device);
  if (status == ROWSCAN_OUT_OF_MEMORY && free_idle(kept, memory))
    status = rs_device_memory_take(memory, (size_t)bytes, what, &s->device);
  if (status)
    return rs_fail_more(status, ": %lld bytes", (long long)bytes);
  s->device_bytes = bytes;
  return ROWSCAN_OK;
}

static rowscan_status grow_pinned(const rs_cuda *cuda, rs_slot *s, int64_t bytes) {
  void *pinned;
  if (s->pinned)
    cuda->cuMemFreeHost(s->pinned);
  s->pinned = NULL;
  s->pinned_bytes = 0;
  CUresult result = cuda->cuMemHostAlloc(&pinned, (size_t)bytes, 0);
  if (result) {
    char call[96];
    snprintf(call, sizeof call, "cuMemHostAlloc of %lld bytes for a piece of an array", (long long)bytes);
    return rs_cuda_failed(cuda, result, call);
  }
  s->pinned = pinned;
  s->pinned_bytes = bytes;
  return ROWSCAN_OK;
}

rowscan_status rs_slot_ready(rs_slots_kept *kept, const rs_device_memory *memory, rs_slot *s, int64_t device_bytes,
                             int64_t pinned_bytes, int64_t most) {
  const rs_cuda *cuda = memory->cuda;
  rowscan_status status = ROWSCAN_OK;
  if (!s->stream) {
    CUresult result = cuda->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING);
    if (result) {
      s->stream = NULL;
      return rs_cuda_failed(cuda, result, "cuStreamCreate");
    }
  }
  if (s->device_bytes < device_bytes)
    status = grow_device(kept, memory, s, generous(device_bytes, most));
  if (!status && s->pinned_bytes < pinned_bytes)
    status = grow_pinned(cuda, s, generous(pinned_bytes, most));
  return status;
}
