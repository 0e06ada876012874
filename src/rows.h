/*
 * rows.h - where the rows of one run lie in memory; what every engine is given
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_ROWS_H
#define RS_ROWS_H

#include "spec.h"

/*
 * Row number r has the C-order index (i0, i1, ...) over shape[0 .. rank). Element e of it lies at in + sum(i *
 * in_stride) + e * in_step, in elements; likewise out and mask. Its initial value and total are element sum(i *
 * row_stride). Only the first `rank` elements of the arrays are set.
 */
typedef struct rs_rows {
  const void *in;
  void *out;
  const void *mask; /* NULL without a mask mode */
  const void *init; /* NULL: none */
  void *totals;     /* NULL: not wanted */
  int64_t count;    /* product of shape */
  int64_t in_step, out_step, mask_step;
  int rank; /* 1 to RS_MAX_ROW_RANK */
  int64_t shape[RS_MAX_ROW_RANK];
  int64_t in_stride[RS_MAX_ROW_RANK];
  int64_t out_stride[RS_MAX_ROW_RANK];
  int64_t mask_stride[RS_MAX_ROW_RANK];
  int64_t row_stride[RS_MAX_ROW_RANK];
} rs_rows;

/* Whether there is anything to write: rows of no elements have their totals alone. */
static inline bool rs_rows_any(const rs_rows *rows, int64_t length) {
  return rows->count > 0 && (length > 0 || rows->totals);
}

/* The rows that the arguments of a run describe, checked. */
rowscan_status rs_rows_from_args(rs_rows *rows, const rowscan_spec *spec, const rowscan_args *args);

/*
 * A problem as rows and the spec that fits them: the scanned dimension taken out, dimensions of size 1 dropped, the
 * others sorted by stride of the output, largest first, and joined where all arrays allow it; layout chosen from the
 * strides.
 */
rowscan_status rs_rows_from_problem(rs_rows *rows, rowscan_spec *spec, const rowscan_problem *problem);

/* Whether steps, outers and columns of all arrays (mask: of that too) follow one another without a gap. */
bool rs_rows_one_run(const rs_rows *rows, int64_t length, bool mask);

#endif
