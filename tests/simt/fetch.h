/*
 * fetch.h - words on their way from global to shared memory, one thread's at a time
 * SPDX-License-Identifier: MIT
 *
 * They arrive when the thread waits for them, and not before: until then the place that they will fill holds poison, so
 * that a wait that is missing shows as a wrong result.
 */
#ifndef SIMT_FETCH_H
#define SIMT_FETCH_H

#include "runtime.h"

typedef struct simt_fetched {
  void *to;
  const void *from;
  unsigned bytes;
} simt_fetched;

/* Of one thread. */
typedef struct simt_fetches {
  simt_fetched *word; /* oldest first */
  unsigned count, room;
  unsigned last, open; /* words before the last group, and before those that are in none yet */
} simt_fetches;

/* What kernels call, for the list of simt_grid_fetches(). */
void simt_fetch(void *to, const void *from, unsigned bytes);
void simt_fetch_wait(void);
void simt_fetch_group(void);
void simt_fetch_wait_but_last(void);

#endif
