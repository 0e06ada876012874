/*
 * cells.h - the shapes that rowscan bench times
 * SPDX-License-Identifier: MIT
 */
#ifndef CELLS_H
#define CELLS_H

#include <stdbool.h>
#include <stddef.h>

#include "rowscan.h"

/* Variants of a cell, or-ed. */
enum { CELL_INCLUSIVE = 1, CELL_EXCLUSIVE = 2, CELL_REVERSE = 4, CELL_MASKED = 8, CELL_VARIANTS = 4, CELL_ALL = 15 };

/* A dense array [outer, length, inner], scanned along its middle. */
typedef struct bench_cell {
  int64_t outer, length, inner;
  bool columns; /* inner is a dimension, be it of size 1 */
  rowscan_type in, out, acc;
  unsigned variants;
} bench_cell;

/* The cells of a suite, "quick" or "full"; NULL for any other name. */
const bench_cell *cells_of(const char *suite, int *count);

enum { CELL_TEXT_MAX = 80 };

void cell_shape(char text[CELL_TEXT_MAX], const bench_cell *cell); /* "65536 x 512", "64 x 4096 x 1024 dim 1" */
void cell_type(char text[CELL_TEXT_MAX], const bench_cell *cell);  /* "f32", "i8 -> i32", "f32 in f64" */
const char *cell_variant(unsigned variant);                        /* "inclusive", ... */

/* The spec of one variant of it. */
rowscan_spec cell_spec(const bench_cell *cell, unsigned variant);

/* Makes it smaller until it has at most `limit` elements: rows first, then the length. */
void cell_shrink(bench_cell *cell, int64_t limit);

#endif
