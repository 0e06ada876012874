/*
 * bulk.c - bulk copies between global and shared memory, and the arrivals that tell of them
 * SPDX-License-Identifier: MIT
 */
#include "bulk.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fibre.h"
#include "grid.h"
#include "memory.h"
#include "report.h"

enum { MADE = 0x5a, UNIT = 16, MOST_PARTIES = 4095 };

/* What is in an Arrival of device.cuh. A phase ends when all parties have signalled and all bytes have come. */
typedef struct arrival {
  int64_t bytes : 24; /* still to come */
  uint64_t phase : 8;
  uint64_t parties : 12, missing : 12; /* in each phase; still to signal in this one */
  uint64_t made : 8;
} arrival;
_Static_assert(sizeof(arrival) == 8, "as large as on a GPU");

SIMT_UNSEEN static arrival get(const void *at) {
  arrival state;
  memcpy(&state, at, sizeof state);
  if (state.made != MADE)
    simt_grid_wrong("the arrival at %p was never prepared", at);
  return state;
}

/* For a thread that uses it, which must know that it was prepared. */
SIMT_UNSEEN static arrival get_ready(const void *at) {
  simt_grid_used(simt_grid_state.thread, at, sizeof(arrival), SIMT_READ);
  return get(at);
}

SIMT_UNSEEN static void put(void *at, arrival state) {
  if (state.missing == 0 && state.bytes == 0) {
    state.phase++;
    state.missing = state.parties;
    simt_races_phase(simt_grid_races(), at);
    simt_grid_state.progress++;
  }
  memcpy(at, &state, sizeof state);
}

void simt_bulk_init(void *arrivals, int count, unsigned parties) {
  if (parties < 1 || parties > MOST_PARTIES)
    simt_grid_wrong("prepares the arrivals at %p for %u parties", arrivals, parties);
  simt_grid_used(simt_grid_state.thread, arrivals, (size_t)count * sizeof(arrival), SIMT_WRITE);
  for (int i = 0; i < count; i++) {
    simt_races_prepared(simt_grid_races(), (arrival *)arrivals + i);
    put((arrival *)arrivals + i, (arrival){.made = MADE, .parties = parties, .missing = parties});
  }
}

void simt_bulk_expect(void *at, unsigned bytes) {
  arrival state = get_ready(at);
  if (!state.missing)
    simt_grid_wrong("signals the arrival at %p once more than it has parties, before the phase has ended", at);
  simt_races_signalled(simt_grid_races(), at, simt_grid_state.thread);
  state.missing--;
  state.bytes += (int32_t)bytes;
  put(at, state);
}

/* As the hardware does, looks at the last bit only. */
SIMT_UNSEEN void simt_bulk_await(void *at, unsigned phase) {
  while ((get_ready(at).phase & 1) == (phase & 1))
    simt_grid_state.spin();
  simt_races_awaited(simt_grid_races(), at, simt_grid_state.thread);
}

/* ---- copies --------------------------------------------------------------------------------------------------------
 */

static void check(const char *what, const void *shared, const void *global, unsigned bytes, int write) {
  uintptr_t all = (uintptr_t)shared | (uintptr_t)global | bytes;
  if (all % UNIT || !bytes)
    simt_grid_wrong("%s of %u bytes between shared memory at %p and global memory at %p: not multiples of %d", what,
                    bytes, shared, global, UNIT);
  if (!simt_grid_in_shared(shared, bytes))
    simt_grid_wrong("%s of %u bytes: %p is not shared memory of the block", what, bytes, shared);
  simt_grid_state.access(global, bytes, write);
}

static void start(simt_copy copy) {
  simt_copy *made = malloc(sizeof *made), **end = &simt_grid_bulk()->first;
  if (!made)
    simt_die("no memory");
  *made = copy;
  while (*end)
    end = &(*end)->next;
  *end = made;
  simt_grid_state.progress++;
}

void simt_bulk_load(void *to, const void *from, unsigned bytes, void *at) {
  check("bulk load", to, from, bytes, 0);
  get_ready(at);
  simt_grid_used(simt_grid_state.thread, to, bytes, SIMT_BULK_WRITE);
  memset(to, SIMT_POISON, bytes);
  start((simt_copy){.to = to,
                    .from = from,
                    .bytes = bytes,
                    .thread = simt_grid_state.thread,
                    .time = simt_races_copy(simt_grid_races(), simt_grid_state.thread),
                    .arrival = at});
}

/* Changes nothing but what is in L2; and yet a GPU takes no other addresses. */
void simt_bulk_prefetch(const void *from, unsigned bytes) {
  if (((uintptr_t)from | bytes) % UNIT || !bytes)
    simt_grid_wrong("bulk prefetch of %u bytes at %p: not multiples of %d", bytes, from, UNIT);
  if (!simt_memory_around(from, bytes)) /* a GPU would not mind, and bring something else */
    simt_grid_wrong("bulk prefetch of %u bytes at %p, which is no memory of the GPU", bytes, from);
}

SIMT_UNSEEN void simt_bulk_fence(void) {
  simt_grid_bulk()->fenced[simt_grid_state.thread] = true;
  simt_races_fenced(simt_grid_races(), simt_grid_state.thread);
  simt_grid_state.meet(SIMT_WARP_BARRIER, 0, 0, 0);
}

void simt_bulk_store(void *to, const void *from, unsigned bytes) {
  check("bulk store", from, to, bytes, 1);
  if (!simt_grid_bulk()->fenced[simt_grid_state.thread])
    simt_grid_wrong("starts a bulk store with no fence since the last one");
  simt_grid_used(simt_grid_state.thread, from, bytes, SIMT_BULK_READ);
  start((simt_copy){.to = to, .from = from, .bytes = bytes, .thread = simt_grid_state.thread});
}

static void finish(simt_copy **at) {
  simt_copy *copy = *at;
  memcpy(copy->to, copy->from, copy->bytes);
  if (copy->arrival) {
    simt_races_copied(simt_grid_races(), copy->arrival, copy->thread, copy->time);
    arrival state = get(copy->arrival);
    state.bytes -= (int32_t)copy->bytes;
    put(copy->arrival, state);
  } else {
    simt_grid_used(copy->thread, copy->from, copy->bytes, SIMT_BULK_READ); /* until now */
  }
  *at = copy->next;
  free(copy);
  simt_grid_state.progress++;
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return x < y + b_bytes && y < x + a_bytes;
}

void simt_bulk_used(const simt_bulk *bulk, const void *at, size_t bytes, bool write) {
  for (const simt_copy *copy = bulk->first; copy; copy = copy->next)
    if (copy->arrival ? overlap(at, bytes, copy->to, copy->bytes)
                      : write && overlap(at, bytes, copy->from, copy->bytes))
      simt_grid_wrong("%s shared memory that a bulk %s of thread %u still %s; nothing orders the two",
                      write ? "writes" : "reads", copy->arrival ? "load" : "store", copy->thread,
                      copy->arrival ? "fills" : "reads");
}

static bool is_store(const simt_copy *copy, unsigned thread) {
  return !copy->arrival && copy->thread == thread;
}

int simt_bulk_stores(const simt_bulk *bulk, unsigned thread) {
  int count = 0;
  for (const simt_copy *copy = bulk->first; copy; copy = copy->next)
    count += is_store(copy, thread);
  return count;
}

int simt_bulk_loads(const simt_bulk *bulk) {
  int count = 0;
  for (const simt_copy *copy = bulk->first; copy; copy = copy->next)
    count += copy->arrival != NULL;
  return count;
}

/* The oldest store of a thread, which has one. */
SIMT_UNSEEN static simt_copy **oldest_store(simt_bulk *bulk, unsigned thread) {
  simt_copy **at = &bulk->first;
  while (!is_store(*at, thread))
    at = &(*at)->next;
  return at;
}

/*
 * Stores that a thread has started are its own to wait for; the warp waits for its first lane, or, with -1 - pending,
 * each for its own.
 */
SIMT_UNSEEN void simt_bulk_drain(int pending) {
  simt_bulk *bulk = simt_grid_bulk();
  unsigned thread = simt_grid_state.thread;
  bool waits = pending < 0 || thread % SIMT_WARP == 0;
  int most = pending < 0 ? -1 - pending : pending;
  bulk->fenced[thread] = false;
  for (int left = waits ? simt_bulk_stores(bulk, thread) : 0; left > most; left--)
    finish(oldest_store(bulk, thread));
  simt_grid_state.meet(SIMT_WARP_BARRIER, 0, 0, 1);
}

bool simt_bulk_advance(simt_bulk *bulk, bool loads_only, unsigned random) {
  unsigned count = 0;
  simt_copy **chosen = NULL;
  for (simt_copy **at = &bulk->first; *at; at = &(*at)->next)
    count += (*at)->arrival || !loads_only;
  if (!count)
    return false;
  unsigned skip = random % count;
  for (simt_copy **at = &bulk->first; !chosen; at = &(*at)->next)
    if (((*at)->arrival || !loads_only) && skip-- == 0)
      chosen = at;
  /* A thread's stores end in order: to wait for all but the last is to wait for the first. */
  finish((*chosen)->arrival ? chosen : oldest_store(bulk, (*chosen)->thread));
  return true;
}
