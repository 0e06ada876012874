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
  bool initial;     /* P(0) is wanted too, in the element of the output before the first of the scan */
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

/* The rows that the arguments of a run describe, checked. args is of this library's size. */
rowscan_status rs_rows_from_args(rs_rows *rows, const rowscan_spec *spec, const rowscan_args *args);

/*
 * A problem as rows and the spec that fits them: the scanned dimension taken out, dimensions of size 1 dropped, the
 * others sorted by stride of the output, largest first, and joined where all arrays allow it; layout chosen from the
 * strides.
 */
rowscan_status rs_rows_from_problem(rs_rows *rows, rowscan_spec *spec, const rowscan_problem *problem);

/* A caller's problem, of whatever size, as one of this library's. */
rowscan_status rs_problem_read(rowscan_problem *to, const rowscan_problem *given);

/* The strides of an array that has `length` elements along the scanned dimension: those given, else dense ones. */
void rs_problem_strides(int64_t *strides, const int64_t *given, const rowscan_problem *problem, int64_t length);

/*
 * Of rows with `initial`: those whose scan writes P(0), an exclusive one of one element. It reads an element of the
 * output, which takes no part in the result.
 */
void rs_initial_rows(rs_rows *to, rowscan_spec *to_spec, const rs_rows *rows, const rowscan_spec *spec);

/* Whether steps, outers and columns of all arrays (mask: of that too) follow one another without a gap. */
bool rs_rows_one_run(const rs_rows *rows, int64_t length, bool mask);

#endif
