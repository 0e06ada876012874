/*
 * cell.h - one of the shapes that rowscan bench times
 * SPDX-License-Identifier: MIT
 */
#ifndef CELL_H
#define CELL_H

#include <stdbool.h>

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

#endif
