/*
 * stage_boxes.c - the rows of a run, some at a time
 * SPDX-License-Identifier: MIT
 */
#include "stage_boxes.h"

#include <string.h>

/* `from` without the dimensions before d, from row number `first` on, whose inner indices are 0; `size` of dimension d.
 */
static rs_rows box_of(const rs_rows *from, int64_t first, int d, int64_t size) {
  rs_rows box = *from;
  int64_t left = first;
  for (int i = from->rank - 1; i >= 0; left /= from->shape[i--])
    rs_rows_move(&box, i, i ? left % from->shape[i] : left);
  box.rank = from->rank - d;
  size_t bytes = (size_t)box.rank * sizeof *box.shape;
  memcpy(box.shape, from->shape + d, bytes);
  for (int a = 0; a < RS_ARRAYS; a++)
    memcpy(box.array[a].stride, from->array[a].stride + d, bytes);
  box.shape[0] = size;
  box.count = size;
  for (int i = 1; i < box.rank; i++)
    box.count *= box.shape[i];
  return box;
}

rs_rows rs_next_box(const rs_rows *rows, int64_t first, int64_t most) {
  int d = rows->rank - 1;
  int64_t inner = 1; /* rows that one index of dimension d stands for */
  while (d > 0 && inner * rows->shape[d] <= most && first % (inner * rows->shape[d]) == 0)
    inner *= rows->shape[d--];
  int64_t index = d ? first / inner % rows->shape[d] : first / inner;
  int64_t size = most / inner, left = rows->shape[d] - index;
  return box_of(rows, first, d, size < left ? size : left);
}
