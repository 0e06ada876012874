/*
 * packed.h - the rows of a launch as kernels are given them
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PACKED_H
#define RS_PACKED_H

#include <string.h>

#include "spec/developer.h"
#include "spec/rows.h"

/*
 * AnyRows<RANK> in kernels/rows.cuh: its head, then the shape and the strides of each array, RANK numbers each, then
 * what Rows<RANK> has not: the length, and whether the scan is exclusive; and FurtherRows<RANK>, and UniversalRows.
 */
enum { RS_TERMS_WORDS = sizeof(rs_terms) / 8 };
typedef struct rs_packed {
  RowsHead head;
  int64_t dims[(1 + RS_ALL_ARRAYS) * RS_MAX_ROW_RANK + 2 + 2 * RS_FURTHER + RS_MOST_PARAMS + RS_TERMS_WORDS];
} rs_packed;

/* FurtherRows<RANK>: what it has beyond AnyRows<RANK>. */
static inline void rs_pack_further(int64_t *to, const rs_rows *rows) {
  int64_t *steps = to + RS_FURTHER, *strides = steps + RS_FURTHER;
  for (int a = 0; a < RS_FURTHER; a++, strides += rows->rank) {
    const rs_operand *array = &rows->array[RS_ARRAYS + a];
    to[a] = (int64_t)(intptr_t)array->data;
    steps[a] = array->step;
    memcpy(strides, array->stride, (size_t)rows->rank * sizeof *strides);
  }
  memcpy(strides, rows->params, sizeof rows->params);
}

/* UniversalRows: what it has beyond FurtherRows<RANK>, after all else. */
static inline void rs_pack_terms(rs_packed *to, const rs_rows *rows, const rs_terms *terms) {
  int64_t *exclusive = to->dims + (1 + RS_ARRAYS) * rows->rank + 1;
  *exclusive = terms->exclusive;
  memcpy(exclusive + 1 + (2 + rows->rank) * RS_FURTHER + RS_MOST_PARAMS, terms, sizeof *terms);
}

/* All of them, for a scan with these flags; leaves the workspace as it is. */
static inline void rs_pack(rs_packed *to, const rs_rows *rows, unsigned flags) {
  size_t bytes = (size_t)rows->rank * sizeof *to->dims;
  int64_t *dims = to->dims;
  to->head.first = 0;
  to->head.count = rows->count;
  memcpy(dims, rows->shape, bytes);
  for (int a = 0; a < RS_ARRAYS; a++) {
    to->head.at[a] = rows->array[a].data;
    if (a < RS_ELEMENTS)
      to->head.step[a] = rows->array[a].step;
    memcpy(dims += rows->rank, rows->array[a].stride, bytes);
  }
  dims[rows->rank] = rows->length;
  dims[rows->rank + 1] = (flags & ROWSCAN_EXCLUSIVE) != 0;
  if (rows->further)
    rs_pack_further(dims + rows->rank + 2, rows);
}

#endif
