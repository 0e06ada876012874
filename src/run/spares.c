/*
 * spares.c - memory on the GPU that a context keeps from one call about parts to the next
 * SPDX-License-Identifier: MIT
 */
#include "spares.h"

#include "base/status.h"

enum { LEAST = 1 << 12, MOST_KEPT_BYTES = 4 << 20 }; /* of a block */

void rs_spares_init(rs_spares *spares) {
  *spares = (rs_spares){.idle = {{0}}};
  pthread_mutex_init(&spares->lock, NULL);
}

static void drop_idle(rs_spares *spares, const rs_device_memory *memory) {
  rs_spare dropped[RS_SPARES_KEPT];
  pthread_mutex_lock(&spares->lock);
  for (int i = 0; i < RS_SPARES_KEPT; i++) {
    dropped[i] = spares->idle[i];
    spares->idle[i].at = 0;
  }
  pthread_mutex_unlock(&spares->lock);
  for (int i = 0; i < RS_SPARES_KEPT; i++)
    if (dropped[i].at)
      rs_device_memory_give(memory, dropped[i].at, dropped[i].bytes);
}

void rs_spares_close(rs_spares *spares, const rs_device_memory *memory) {
  drop_idle(spares, memory);
  pthread_mutex_destroy(&spares->lock);
}

/* The smallest that will do. */
static bool take_kept(rs_spares *spares, size_t bytes, rs_spare *block) {
  rs_spare *best = NULL;
  pthread_mutex_lock(&spares->lock);
  for (rs_spare *one = spares->idle; one < spares->idle + RS_SPARES_KEPT; one++)
    if (one->at && one->bytes >= bytes && (!best || one->bytes < best->bytes))
      best = one;
  if (best) {
    *block = *best;
    best->at = 0;
  }
  pthread_mutex_unlock(&spares->lock);
  return best;
}

/* The next power of two, so that blocks serve again, unless it is too large to be kept. */
static size_t with_room(int64_t bytes) {
  int64_t room = LEAST;
  while (room < bytes && room < MOST_KEPT_BYTES)
    room *= 2;
  return (size_t)(room < bytes ? bytes : room);
}

rowscan_status rs_spares_take(rs_spares *spares, const rs_device_memory *memory, int64_t bytes, const char *what,
                              rs_spare *block) {
  block->bytes = with_room(bytes);
  if (take_kept(spares, block->bytes, block))
    return ROWSCAN_OK;
  rowscan_status status = rs_device_memory_take(memory, block->bytes, what, &block->at);
  if (status == ROWSCAN_OUT_OF_MEMORY) {
    drop_idle(spares, memory);
    status = rs_device_memory_take(memory, block->bytes, what, &block->at);
  }
  if (status)
    block->at = 0;
  return status;
}

static bool keep_spare(rs_spares *spares, rs_spare block) {
  bool kept = false;
  pthread_mutex_lock(&spares->lock);
  for (int i = 0; i < RS_SPARES_KEPT && block.bytes <= MOST_KEPT_BYTES && !kept; i++)
    if (!spares->idle[i].at) {
      spares->idle[i] = block;
      kept = true;
    }
  pthread_mutex_unlock(&spares->lock);
  return kept;
}

void rs_spares_give(rs_spares *spares, const rs_device_memory *memory, rs_spare block) {
  if (!keep_spare(spares, block))
    rs_device_memory_give(memory, block.at, block.bytes);
}
