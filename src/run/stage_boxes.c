/*
 * stage_boxes.c - the rows of a run, some at a time
 * SPDX-License-Identifier: MIT
 */
#include "stage_boxes.h"

#include <string.h>

/* `from` without the dimensions before d, from row number `first` on, whose inner indices are 0; `size` of dimension d.
 */
static rs_rows box_of(const rs_rows *from, const rowscan_spec *spec, int64_t first, int d, int64_t size) {
  rs_rows box = *from;
  int64_t in = 0, out = 0, mask = 0, own = 0, left = first;
  for (int i = from->rank - 1; i >= 0; i--) {
    int64_t index = i ? left % from->shape[i] : left;
    left /= from->shape[i];
    in += index * from->in_stride[i];
    out += index * from->out_stride[i];
    mask += index * from->mask_stride[i];
    own += index * from->row_stride[i];
  }
  int64_t acc = (int64_t)rowscan_type_bytes(spec->acc_type);
  box.in = (const char *)from->in + in * (int64_t)rowscan_type_bytes(spec->in_type);
  box.out = (char *)from->out + out * (int64_t)rowscan_type_bytes(spec->out_type);
  box.mask = from->mask ? (const char *)from->mask + mask * (int64_t)rowscan_type_bytes(spec->mask_type) : NULL;
  box.init = from->init ? (const char *)from->init + own * acc : NULL;
  box.totals = from->totals ? (char *)from->totals + own * acc : NULL;
  box.rank = from->rank - d;
  size_t bytes = (size_t)box.rank * sizeof *box.shape;
  memcpy(box.shape, from->shape + d, bytes);
  memcpy(box.in_stride, from->in_stride + d, bytes);
  memcpy(box.out_stride, from->out_stride + d, bytes);
  memcpy(box.mask_stride, from->mask_stride + d, bytes);
  memcpy(box.row_stride, from->row_stride + d, bytes);
  box.shape[0] = size;
  box.count = size;
  for (int i = 1; i < box.rank; i++)
    box.count *= box.shape[i];
  return box;
}

rs_rows rs_next_box(const rs_rows *rows, const rowscan_spec *spec, int64_t first, int64_t most) {
  int d = rows->rank - 1;
  int64_t inner = 1; /* rows that one index of dimension d stands for */
  while (d > 0 && inner * rows->shape[d] <= most && first % (inner * rows->shape[d]) == 0)
    inner *= rows->shape[d--];
  int64_t index = d ? first / inner % rows->shape[d] : first / inner;
  int64_t size = most / inner, left = rows->shape[d] - index;
  return box_of(rows, spec, first, d, size < left ? size : left);
}
