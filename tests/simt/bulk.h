/*
 * bulk.h - bulk copies between global and shared memory, and the arrivals that tell of them
 * SPDX-License-Identifier: MIT
 *
 * A copy is done some time after it was started, when its block has its turn. Until then the place that it will fill
 * holds poison, and what it will take away is still read; so a wait that is missing shows as a wrong result.
 */
#ifndef SIMT_BULK_H
#define SIMT_BULK_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime.h"

typedef struct simt_copy {
  void *to;
  const void *from;
  unsigned bytes, thread, time; /* of the thread's clock, in races.h */
  void *arrival;                /* of a load; NULL: a store */
  struct simt_copy *next;
} simt_copy;

/* The bulk copies of one block. */
typedef struct simt_bulk {
  simt_copy *first; /* oldest first */
  bool fenced[SIMT_MAX_THREADS];
} simt_bulk;

/* What kernels call; the thread that runs belongs to the block of simt_grid_bulk(). */
void simt_bulk_init(void *arrivals, int count, unsigned parties);
void simt_bulk_expect(void *arrival, unsigned bytes);
void simt_bulk_await(void *arrival, unsigned phase);
void simt_bulk_load(void *to, const void *from, unsigned bytes, void *arrival);
void simt_bulk_prefetch(const void *from, unsigned bytes);
void simt_bulk_fence(void);
void simt_bulk_store(void *to, const void *from, unsigned bytes);
void simt_bulk_drain(int pending);

/*
 * Does one of the copies, as `random` picks; of the loads only, if threads wait, since a thread that waits for its
 * stores has them done at once. False: there is none.
 */
bool simt_bulk_advance(simt_bulk *bulk, bool loads_only, unsigned random);

/* Shared memory is used: wrong where a load is to fill it, or, for a write, a store to read it. */
void simt_bulk_used(const simt_bulk *bulk, const void *at, size_t bytes, bool write);

/* Copies that a thread has not waited for: of the stores, or of anyone's loads. */
int simt_bulk_stores(const simt_bulk *bulk, unsigned thread);
int simt_bulk_loads(const simt_bulk *bulk);

#endif
