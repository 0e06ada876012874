/*
 * batch.h - whole rows of up to a panel's elements, many at a time
 * SPDX-License-Identifier: MIT
 *
 * Rows that lie at even distances are read as they are, one after another, into a panel of rows, where no element is
 * moved to another place than its own: converted, masked, scanned by loops->lines, rounded, and written. Where there is
 * nothing to convert, gather or mask, the scan reads the input itself.
 */
#ifndef RS_HOST_BATCH_H
#define RS_HOST_BATCH_H

#include "work.h"

/* Whether rows of this run may go so. */
bool rs_batch_serves(const rs_run *run);

/* Whether the run is small enough to go at once, without a seat, however its rows lie. */
bool rs_small_serves(const rs_run *run);

/* Chunk number `chunk` of the run, of `chunk_tiles` whole tiles. */
void rs_run_batch(void *run, int64_t chunk, void *seat);

/* All of a small run, of which nothing is known but what describe() in host.c says. */
void rs_run_small(const rs_run *run);

#endif
