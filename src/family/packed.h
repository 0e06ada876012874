/*
 * packed.h - the rows of a launch as kernels are given them
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PACKED_H
#define RS_PACKED_H

#include <string.h>

#include "spec/rows.h"

/* The header of Rows<RANK> in kernels/rows.cuh, and its five arrays of RANK numbers. */
typedef struct rs_packed {
  const void *in;
  void *out;
  const void *mask;
  const void *init;
  void *totals;
  void *workspace;
  int64_t first, count;
  int64_t in_step, out_step, mask_step;
  int64_t dims[5 * RS_MAX_ROW_RANK];
} rs_packed;

/* All of them; leaves the workspace as it is. */
static inline void rs_pack(rs_packed *to, const rs_rows *rows) {
  const rs_operand *in = &rows->array[RS_IN], *out = &rows->array[RS_OUT], *mask = &rows->array[RS_MASK];
  const int64_t *const dims[] = {rows->shape, in->stride, out->stride, mask->stride, rows->array[RS_TOTALS].stride};
  to->in = in->data;
  to->out = out->data;
  to->mask = mask->data;
  to->init = rows->array[RS_INIT].data;
  to->totals = rows->array[RS_TOTALS].data;
  to->first = 0;
  to->count = rows->count;
  to->in_step = in->step;
  to->out_step = out->step;
  to->mask_step = mask->step;
  for (int i = 0; i < 5; i++)
    memcpy(to->dims + i * rows->rank, dims[i], (size_t)rows->rank * sizeof *to->dims);
}

#endif
