/*
 * cells.h - the shapes that rowscan bench times, and what they are to reach
 * SPDX-License-Identifier: MIT
 */
#ifndef CELLS_H
#define CELLS_H

#include <stddef.h>

#include "cell.h"

/* The cells of a suite, "quick", "full" or "growth"; NULL for any other name. */
const bench_cell *cells_of(const char *suite, int *count);

enum { CELL_TEXT_MAX = 80 };

void cell_shape(char text[CELL_TEXT_MAX], const bench_cell *cell); /* "65536 x 512", "64 x 4096 x 1024 dim 1" */
void cell_type(char text[CELL_TEXT_MAX], const bench_cell *cell);  /* "f32", "i8 -> i32", "f32 in f64" */
const char *cell_variant(unsigned variant);                        /* "inclusive", ... */
const char *cell_group_name(cell_group group);                     /* "short", ... */
const char *cell_view_name(cell_view view);                        /* "dense", ... */
const char *cell_view_text(cell_view view);                        /* in a shape: "", "of every 2nd", ... */

/* The least ratio of the time of a copy to that of the scan that is good enough on a large GPU; 0: there is none. */
typedef struct cell_target {
  double ratio;
  bool kernel; /* the copy is a kernel's, of the same access; else it is memcpy of as many bytes */
} cell_target;
cell_target cell_target_of(const bench_cell *cell, unsigned variant);

/* The spec of one variant of it. */
rowscan_spec cell_spec(const bench_cell *cell, unsigned variant);

/* Its rows as rowscan_args has them; args points into this very struct. */
typedef struct cell_rows {
  int64_t shape[2], in_strides[3], out_strides[3];
  rowscan_args args;
} cell_rows;
void cell_rows_of(cell_rows *rows, const bench_cell *cell);

/* Makes it smaller until it has at most `limit` elements: outer first, then the length, then inner; of a view the
 * larger of outer and length, so that it stays one. */
void cell_shrink(bench_cell *cell, int64_t limit);

#endif
