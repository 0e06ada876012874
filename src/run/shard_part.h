/*
 * shard_part.h - what both engines ask of a part, and what each of them does with it
 * SPDX-License-Identifier: MIT
 *
 * A row is cut into parts, one for each call. A part, or shard, is taken in blocks: of 2^k elements, as large as can
 * be, each at a multiple of its size in the whole row. On a GPU a block is a piece of work, cut further into rows of
 * 2^k elements.
 */
#ifndef RS_SHARD_PART_H
#define RS_SHARD_PART_H

#include "fold.h"
#include "host/host.h"

/* The elements that a problem has of each row: the next ones in the order of the scan. */
typedef struct rs_shard {
  rowscan_context *context;
  struct CUstream_st *stream;
  const rowscan_problem *problem; /* of this library's size */
  rowscan_spec spec;              /* of rows of these elements alone */
  rs_rows rows;                   /* without initial values; totals are where states of rows in C order go */
  int64_t elements;               /* of each row */
} rs_shard;

/* The rows of some of the part's elements, from `at` on in the order of the scan. */
void rs_shard_block(const rs_shard *part, int64_t at, int64_t elements, rowscan_spec *spec, rs_rows *rows);

/* The same totals, of a scan without further arrays: of a weighted recurrence those of a recurrence. */
rs_shard rs_shard_plain(const rs_shard *part);

/* The rows whose result is the last one before element `at`: an exclusive scan of that element from these numbers. */
void rs_shard_last_rows(const rs_shard *part, int64_t at, void *numbers, rowscan_spec *spec, rs_rows *rows);

/* Appends block i of the part, of which `own` has all. */
rowscan_status rs_shard_append(rs_fold *before, const rs_fold *own, int i);

/* The numbers that a fold's prefixes show, of each row in C order, as accumulators are kept. */
void rs_shard_show(const rs_shard *part, const rs_fold *fold, void *numbers);

/* The rows that write such numbers, where the result before element `at` is; none: there is no prefix. */
void rs_shard_prefix_rows(const rs_shard *part, int64_t at, bool none, void *numbers, rowscan_spec *spec,
                          rs_rows *rows);

/* Bytes of such a number. */
int64_t rs_shard_number_bytes(const rs_shard *part);

/* ---- each engine ------------------------------------------------------------------------------------------------- */

/* What shard.h says of them; numbers of all rows are in memory of the host. */
rowscan_status rs_shard_host_total(const rs_shard *part, rs_fold *fold);
rowscan_status rs_shard_host_scan(const rs_shard *part, rs_fold *before, const rs_fold *own);
rowscan_status rs_shard_gpu_total(const rs_shard *part, rs_fold *fold);
rowscan_status rs_shard_gpu_scan(const rs_shard *part, rs_fold *before, const rs_fold *own);
rowscan_status rs_shard_gpu_inits(const rs_shard *part, void *inits);
rowscan_status rs_shard_gpu_totals(const rs_shard *part, const void *numbers);

rowscan_status rs_shard_gpu_ready(const rs_shard *part, const rs_fold *own);

/* Whether it serves the part, and may wait for the stream. Errors: UNSUPPORTED. */
rowscan_status rs_shard_gpu_check(const rs_shard *part);

#endif
