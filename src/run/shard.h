/*
 * shard.h - the part of a row's elements that one call has, on the host engine
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SHARD_H
#define RS_SHARD_H

#include "fold.h"
#include "host/host.h"

/* The elements that a problem has of each row: the next ones in the order of the scan. */
typedef struct rs_shard {
  rs_host *host;
  const rowscan_problem *problem; /* of this library's size */
  rowscan_spec spec;              /* of rows of these elements alone */
  rs_rows rows;                   /* without initial values; totals are where states of rows in C order go */
  int64_t elements;               /* of each row */
} rs_shard;

/*
 * Reads and checks a problem: its arrays are memory of the host that the engine can serve. silent: outputs are not
 * looked at.
 */
rowscan_status rs_shard_read(rs_shard *part, const rowscan_context *context, const rowscan_problem *problem,
                             bool silent);

/* Adds the part's elements to a fold, of which they are the next. Errors: OUT_OF_MEMORY. */
rowscan_status rs_shard_total(const rs_shard *part, rs_fold *fold);

/*
 * Scans the part, whose elements `own` has, and appends that to a fold of all before it, with prefixes. Errors:
 * OUT_OF_MEMORY: some results are written.
 */
rowscan_status rs_shard_scan(const rs_shard *part, rs_fold *before, const rs_fold *own);

/* Writes what a fold's prefixes show where the problem wants totals. */
void rs_shard_totals(const rs_shard *part, const rs_fold *fold);

/* The initial values of a problem, by row in C order; NULL: none, or no memory, which is an error. Free them. */
rowscan_status rs_shard_inits(const rs_shard *part, void **inits);

#endif
