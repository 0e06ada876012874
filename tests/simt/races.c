/*
 * races.c - accesses to shared memory that nothing keeps apart
 * SPDX-License-Identifier: MIT
 *
 * A thread's clock ticks whenever it lets others know what it did. An access is ordered before what a thread does now
 * if the thread knows of that time of the other's clock. Of reads it may know more than of writes, so a vector has two
 * times for each thread. What all know after a barrier of the whole block is kept once: a thread has a vector of its
 * own from when it knows more.
 */
#include "races.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "report.h"

enum { CELL = 8, SLOTS = 8, MOST_ARRIVALS = 256 };

/* One access to a cell; all zero: none. Times begin at 1. */
typedef struct mark {
  uint32_t time;
  uint16_t thread;
  uint8_t bytes; /* of the cell, as bits */
  uint8_t how;   /* a simt_access */
} mark;

/* Its last accesses, if they are the present block's. */
typedef struct cell {
  unsigned long long block;
  mark slot[SLOTS];
} cell;

typedef struct arrival {
  const void *at;
  uint32_t *pending, *ended; /* what those who signal know: in any phase; up to the last one that ended */
} arrival;

struct simt_races {
  unsigned threads;
  unsigned long long block; /* that began last; the first is 1 */
  cell *cells;
  uint32_t *time;     /* of each thread's clock */
  uint32_t *shuffled; /* when its warp exchanged values last */
  uint32_t *fenced;   /* when it was last at a fence for bulk copies, or a barrier of the block */
  uint32_t *told;     /* when it signalled last */
  uint32_t *common;   /* what threads know that have no vector of their own */
  uint32_t **known;   /* by thread; NULL: `common` */
  uint32_t **spare;   /* vectors that nobody has now */
  unsigned spares;
  arrival arrivals[MOST_ARRIVALS];
  unsigned arrival_count;
  unsigned long long random;
};

/* A vector: the times up to which all accesses of each thread are known, then those up to which its reads are. */
static size_t entries(const simt_races *races) {
  return 2 * (size_t)races->threads;
}

static size_t vector_bytes(const simt_races *races) {
  return entries(races) * sizeof(uint32_t);
}

static void *zeros(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory)
    simt_die("no memory to look for races");
  return memory;
}

simt_races *simt_races_make(unsigned threads, size_t bytes) {
  simt_races *races = zeros(1, sizeof *races);
  races->threads = threads;
  races->cells = zeros((bytes + CELL - 1) / CELL, sizeof *races->cells);
  races->time = zeros(threads, sizeof *races->time);
  races->shuffled = zeros(threads, sizeof *races->shuffled);
  races->fenced = zeros(threads, sizeof *races->fenced);
  races->told = zeros(threads, sizeof *races->told);
  races->common = zeros(entries(races), sizeof *races->common);
  races->known = zeros(threads, sizeof *races->known);
  races->spare = zeros(threads + 2 * MOST_ARRIVALS, sizeof *races->spare);
  return races;
}

static uint32_t *take(simt_races *races) {
  return races->spares ? races->spare[--races->spares] : zeros(entries(races), sizeof(uint32_t));
}

static void give(simt_races *races, uint32_t **vector) {
  if (*vector)
    races->spare[races->spares++] = *vector;
  *vector = NULL;
}

static void give_all(simt_races *races) {
  for (unsigned t = 0; t < races->threads; t++)
    give(races, &races->known[t]);
}

static void forget(simt_races *races) {
  give_all(races);
  for (unsigned i = 0; i < races->arrival_count; i++) {
    give(races, &races->arrivals[i].pending);
    give(races, &races->arrivals[i].ended);
  }
  races->arrival_count = 0;
}

void simt_races_free(simt_races *races) {
  if (!races)
    return;
  forget(races);
  while (races->spares)
    free(races->spare[--races->spares]);
  free(races->cells);
  free(races->time);
  free(races->shuffled);
  free(races->fenced);
  free(races->told);
  free(races->common);
  free(races->known);
  free(races->spare);
  free(races);
}

void simt_races_begin(simt_races *races) {
  if (!races)
    return;
  forget(races);
  races->block++;
  memset(races->shuffled, 0, races->threads * sizeof *races->shuffled);
  memset(races->fenced, 0, races->threads * sizeof *races->fenced);
  memset(races->told, 0, races->threads * sizeof *races->told);
  memset(races->common, 0, vector_bytes(races));
  for (unsigned t = 0; t < races->threads; t++)
    races->time[t] = 1;
}

/* ---- who knows what ------------------------------------------------------------------------------------------------
 */

static uint32_t later(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

static void learn(const simt_races *races, uint32_t *vector, const uint32_t *more) {
  for (size_t i = 0; i < entries(races); i++)
    vector[i] = later(vector[i], more[i]);
}

static const uint32_t *known_to(const simt_races *races, unsigned thread) {
  return races->known[thread] ? races->known[thread] : races->common;
}

static uint32_t *own_vector(simt_races *races, unsigned thread) {
  if (!races->known[thread]) {
    races->known[thread] = take(races);
    memcpy(races->known[thread], races->common, vector_bytes(races));
  }
  return races->known[thread];
}

static void note(const simt_races *races, uint32_t *vector, unsigned thread, uint32_t time) {
  vector[thread] = later(vector[thread], time);
  vector[races->threads + thread] = later(vector[races->threads + thread], time);
}

/* Whoever knows the vector knows all that the thread did and knew until now, and that its warp had read what it then
 * exchanged. */
static void tell(simt_races *races, unsigned thread, uint32_t *vector) {
  learn(races, vector, known_to(races, thread));
  uint32_t *reads = vector + races->threads;
  for (unsigned t = thread / SIMT_WARP * SIMT_WARP; t < thread / SIMT_WARP * SIMT_WARP + SIMT_WARP; t++)
    reads[t] = later(reads[t], races->shuffled[t]);
  note(races, vector, thread, races->time[thread]++);
}

void simt_races_shuffled(simt_races *races, unsigned first) {
  for (unsigned t = first; races && t < first + SIMT_WARP; t++)
    races->shuffled[t] = races->time[t]++;
}

void simt_races_fenced(simt_races *races, unsigned thread) {
  if (races)
    races->fenced[thread] = races->time[thread]++;
}

void simt_races_met(simt_races *races, const unsigned short *thread, unsigned count) {
  if (!races)
    return;
  uint32_t *all = count == races->threads ? races->common : take(races);
  if (count == races->threads)
    give_all(races);
  else
    memcpy(all, races->common, vector_bytes(races)); /* of which nobody knows less */
  for (unsigned i = 0; i < count; i++)
    if (races->known[thread[i]])
      learn(races, all, races->known[thread[i]]);
  for (unsigned i = 0; i < count; i++)
    note(races, all, thread[i], races->time[thread[i]]++); /* nobody knows more of it */
  for (unsigned i = 0; i < count && count == races->threads; i++)
    races->fenced[thread[i]] = races->time[thread[i]] - 1;
  if (all == races->common)
    return;
  for (unsigned i = 0; i < count; i++)
    memcpy(own_vector(races, thread[i]), all, vector_bytes(races));
  give(races, &all);
}

/* ---- arrivals ------------------------------------------------------------------------------------------------------
 */

static arrival *find(simt_races *races, const void *at) {
  unsigned i = 0;
  while (i < races->arrival_count && races->arrivals[i].at != at)
    i++;
  if (i == MOST_ARRIVALS)
    simt_die("more than %d arrivals", MOST_ARRIVALS);
  arrival *one = &races->arrivals[i];
  if (i == races->arrival_count) {
    *one = (arrival){at, take(races), take(races)};
    memset(one->pending, 0, vector_bytes(races));
    memset(one->ended, 0, vector_bytes(races));
    races->arrival_count++;
  }
  return one;
}

void simt_races_prepared(simt_races *races, const void *at) {
  if (!races)
    return;
  arrival *one = find(races, at);
  memset(one->pending, 0, vector_bytes(races));
  memset(one->ended, 0, vector_bytes(races));
}

void simt_races_signalled(simt_races *races, const void *at, unsigned thread) {
  if (!races)
    return;
  races->told[thread] = races->time[thread];
  tell(races, thread, find(races, at)->pending);
}

unsigned simt_races_copy(simt_races *races, unsigned thread) {
  return races ? races->time[thread]++ : 0;
}

void simt_races_copied(simt_races *races, const void *at, unsigned thread, unsigned time) {
  if (races)
    note(races, find(races, at)->pending, thread, time);
}

void simt_races_phase(simt_races *races, const void *at) {
  if (!races)
    return;
  arrival *one = find(races, at);
  learn(races, one->ended, one->pending);
}

void simt_races_awaited(simt_races *races, const void *at, unsigned thread) {
  if (races)
    learn(races, own_vector(races, thread), find(races, at)->ended);
}

/* ---- accesses ------------------------------------------------------------------------------------------------------
 */

static bool same_warp(unsigned a, unsigned b) {
  return a / SIMT_WARP == b / SIMT_WARP;
}

static bool writes(const mark *access) {
  return access->how == SIMT_WRITE || access->how == SIMT_BULK_WRITE;
}

static bool of_thread(const mark *access) { /* no bulk copy's */
  return access->how == SIMT_READ || access->how == SIMT_WRITE;
}

static bool ordered(const simt_races *races, const mark *before, unsigned thread) {
  bool read = !writes(before) && !same_warp(before->thread, thread);
  const uint32_t *times = known_to(races, thread) + (read ? races->threads : 0);
  return before->thread == thread || before->time <= times[before->thread];
}

static void wrong(const mark *before, const mark *now, size_t at) {
  simt_grid_wrong("%s byte %zu of shared memory, which thread %u %s; nothing orders the two%s",
                  writes(now) ? "writes" : "reads", at, before->thread, writes(before) ? "wrote" : "read",
                  same_warp(before->thread, now->thread) ? " (lanes of a warp need a barrier, too)" : "");
}

/* A bulk load in the place of what a thread has accessed, if that may still be on the way: a write that others were
 * told of is not, but a read may be. */
static bool overtakes(const simt_races *races, const mark *before, const mark *now) {
  uint32_t done = races->fenced[before->thread];
  if (before->how == SIMT_WRITE)
    done = later(done, races->told[before->thread]);
  return now->how == SIMT_BULK_WRITE && of_thread(before) && before->time > done;
}

static void mark_cell(simt_races *races, size_t index, mark now) {
  cell *here = &races->cells[index];
  mark *place = NULL;
  if (here->block != races->block)
    *here = (cell){.block = races->block};
  for (int i = 0; i < SLOTS; i++) {
    mark *before = &here->slot[i];
    if (!before->time) {
      place = place ? place : before;
      continue;
    }
    bool apart = ordered(races, before, now.thread);
    uint8_t both = before->bytes & now.bytes;
    if (both && !apart && (writes(before) || writes(&now)))
      wrong(before, &now, index * CELL + (size_t)__builtin_ctz(both));
    if (both && overtakes(races, before, &now))
      simt_grid_wrong("starts a bulk load to byte %zu of shared memory, which thread %u %s, with no fence since",
                      index * CELL + (size_t)__builtin_ctz(both), before->thread, writes(before) ? "wrote" : "read");
    if (apart && (before->bytes & ~now.bytes) == 0 && (writes(&now) || !writes(before))) {
      *before = (mark){0}; /* whatever races with it races with this one */
      place = before;
    }
  }
  if (!place)
    place = &here->slot[simt_random(&races->random) % SLOTS];
  *place = now;
}

void simt_races_access(simt_races *races, unsigned thread, size_t at, size_t bytes, simt_access how) {
  if (!races)
    return;
  for (size_t end = at + bytes; at < end;) {
    size_t first = at % CELL, count = CELL - first < end - at ? CELL - first : end - at;
    uint8_t bits = (uint8_t)(((1u << count) - 1) << first);
    mark_cell(races, at / CELL, (mark){races->time[thread], (uint16_t)thread, bits, (uint8_t)how});
    at += count;
  }
}
