/*
 * shard.h - the part of a row's elements that one call has
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SHARD_H
#define RS_SHARD_H

#include "shard_part.h"

/*
 * Reads and checks a problem: its arrays are memory that the context's engine can serve. silent: outputs are not looked
 * at.
 */
rowscan_status rs_shard_read(rs_shard *part, rowscan_context *context, const rowscan_problem *problem, bool silent,
                             struct CUstream_st *stream);

/* Adds the part's elements to a fold, of which they are the next. Errors: OUT_OF_MEMORY. */
rowscan_status rs_shard_total(const rs_shard *part, rs_fold *fold);

/*
 * Makes ready what rs_shard_scan and rs_shard_totals need, so that these do not fail for want of a kernel after they
 * have written results. Errors: those of rowscan_prepare.
 */
rowscan_status rs_shard_ready(const rs_shard *part, const rs_fold *own);

/*
 * Scans the part, whose elements `own` has, and appends that to a fold of all before it, with prefixes. Errors:
 * OUT_OF_MEMORY: some results are written.
 */
rowscan_status rs_shard_scan(const rs_shard *part, rs_fold *before, const rs_fold *own);

/* Writes what a fold's prefixes show where the problem wants totals. Errors: OUT_OF_MEMORY. */
rowscan_status rs_shard_totals(const rs_shard *part, const rs_fold *fold);

/* The initial values of a problem, by row in C order; NULL: none, or no memory, which is an error. Free them. */
rowscan_status rs_shard_inits(const rs_shard *part, void **inits);

#endif
