/*
 * cells.h - the shapes that rowscan bench times, and what they are to reach
 * SPDX-License-Identifier: MIT
 */
#ifndef CELLS_H
#define CELLS_H

#include <stdbool.h>
#include <stddef.h>

#include "rowscan.h"

/* Variants of a cell, or-ed. */
enum { CELL_INCLUSIVE = 1, CELL_EXCLUSIVE = 2, CELL_REVERSE = 4, CELL_MASKED = 8, CELL_VARIANTS = 4, CELL_ALL = 15 };

/* What the cell is there for; the target goes with it. */
typedef enum cell_group {
  CELL_ROW,
  CELL_OFF, /* rows that start off 16 bytes */
  CELL_TYPES,
  CELL_SHORT,
  CELL_LONG,
  CELL_COLUMN,
  CELL_STRIDED,
  CELL_SMALL,
  CELL_BY_LENGTH, /* of the suite growth */
  CELL_BY_BYTES,
  CELL_BY_COLUMNS,
  CELL_RANDOM, /* drawn */
  CELL_RANDOM_SMALL,
  CELL_GIVEN /* by the caller */
} cell_group;

/* How the input lies. The output of a view is dense: what the user of a framework gets that makes outputs by itself. */
typedef enum cell_view {
  CELL_DENSE,
  CELL_SECOND,     /* every second column of an array with twice as many */
  CELL_TRANSPOSED, /* rows that are the columns of an array [length, outer] */
  CELL_PADDED,     /* 4 elements between one row and the next */
  CELL_VIEWS
} cell_view;

/* An array [outer, length, inner], scanned along its middle. */
typedef struct bench_cell {
  cell_group group;
  int64_t outer, length, inner;
  bool columns; /* inner is a dimension, be it of size 1 */
  cell_view view;
  rowscan_type in, out, acc;
  unsigned variants;
} bench_cell;

/* The cells of a suite, "quick", "full" or "growth"; NULL for any other name. */
const bench_cell *cells_of(const char *suite, int *count);

/*
 * Reads one shape as bench prints them, and its type: "65536 x 512", "64 x 4096 x 1024 dim 1 bf16", "8 x 100 i8 ->
 * i32", "8 x 100 f32 in f64", "8 x 100 of every 2nd f32" (or transposed, padded). Any number of dimensions up to 8;
 * without dim the last one is scanned, without a type it is f32. Whether the library can scan it is left to the
 * library. False: text is no shape; *cell is then of no use.
 */
bool given_cell(const char *text, bench_cell *cell);

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
rowscan_spec cell_spec(const bench_cell *cell, rowscan_op op, unsigned variant);

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
