/*
 * cells.c - the shapes that rowscan bench times
 * SPDX-License-Identifier: MIT
 */
#include "cells.h"

#include <stdio.h>
#include <string.h>

#define ROWS(outer, length, type, variants)                                                                            \
  { outer, length, 1, false, type, type, ROWSCAN_TYPE_DEFAULT, variants }
#define COLUMNS(outer, length, inner, type, variants)                                                                  \
  { outer, length, inner, true, type, type, ROWSCAN_TYPE_DEFAULT, variants }

static const bench_cell quick[] = {
    ROWS(32768, 32768, ROWSCAN_F32, CELL_ALL),       ROWS(32768, 65536, ROWSCAN_BF16, CELL_INCLUSIVE),
    ROWS(32768, 65536, ROWSCAN_F16, CELL_INCLUSIVE), ROWS(32768, 16384, ROWSCAN_F64, CELL_INCLUSIVE),
    ROWS(32768, 16384, ROWSCAN_I64, CELL_INCLUSIVE), ROWS(32768, 32768, ROWSCAN_I32, CELL_INCLUSIVE),
    ROWS(65536, 512, ROWSCAN_F32, CELL_INCLUSIVE),   ROWS(1048576, 64, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(4194304, 7, ROWSCAN_F32, CELL_INCLUSIVE),   ROWS(8, 16777216, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(1, 268435456, ROWSCAN_F32, CELL_INCLUSIVE), COLUMNS(1, 16384, 4096, ROWSCAN_F32, CELL_INCLUSIVE),
};

static const bench_cell full[] = {
    /* long enough rows, and enough of them */
    ROWS(32768, 32768, ROWSCAN_F32, CELL_ALL),
    ROWS(16384, 16384, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(65536, 4096, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(1024, 128256, ROWSCAN_F32, CELL_ALL),
    ROWS(256, 151936, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(40, 152000, ROWSCAN_F32, CELL_INCLUSIVE),
    /* rows that start off 16 bytes */
    ROWS(16384, 4097, ROWSCAN_F32, CELL_ALL),
    ROWS(8192, 50257, ROWSCAN_F32, CELL_ALL),
    ROWS(4096, 65535, ROWSCAN_F32, CELL_INCLUSIVE),
    /* types */
    ROWS(32768, 32768, ROWSCAN_F16, CELL_INCLUSIVE),
    ROWS(32768, 32768, ROWSCAN_BF16, CELL_ALL),
    ROWS(16384, 32768, ROWSCAN_F64, CELL_INCLUSIVE),
    ROWS(16384, 32768, ROWSCAN_I64, CELL_INCLUSIVE),
    ROWS(32768, 32768, ROWSCAN_I32, CELL_INCLUSIVE),
    {32768, 32768, 1, false, ROWSCAN_I8, ROWSCAN_I32, ROWSCAN_TYPE_DEFAULT, CELL_INCLUSIVE},
    {32768, 32768, 1, false, ROWSCAN_BOOL, ROWSCAN_I64, ROWSCAN_TYPE_DEFAULT, CELL_INCLUSIVE},
    {32768, 32768, 1, false, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F64, CELL_INCLUSIVE},
    /* short rows */
    ROWS(65536, 512, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(131072, 300, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(1048576, 64, ROWSCAN_F32, CELL_ALL),
    ROWS(1048576, 100, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(4194304, 7, ROWSCAN_F32, CELL_ALL),
    ROWS(8388608, 16, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(16777216, 3, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(134217728, 1, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(1048576, 64, ROWSCAN_BF16, CELL_INCLUSIVE),
    ROWS(1048576, 65, ROWSCAN_BF16, CELL_INCLUSIVE),
    /* few and long rows */
    ROWS(1, 1073741824, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(1, 268435456, ROWSCAN_F32, CELL_ALL),
    ROWS(3, 50000000, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(8, 16777216, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(100, 1000000, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(1, 100000007, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(1, 268435456, ROWSCAN_BF16, CELL_INCLUSIVE),
    ROWS(1, 268435456, ROWSCAN_F64, CELL_INCLUSIVE),
    ROWS(1, 268435456, ROWSCAN_I32, CELL_INCLUSIVE),
    /* along a dimension that is not the last */
    COLUMNS(1, 16384, 4096, ROWSCAN_F32, CELL_ALL),
    COLUMNS(64, 4096, 1024, ROWSCAN_F32, CELL_ALL),
    COLUMNS(1, 1048576, 2, ROWSCAN_F32, CELL_INCLUSIVE),
    COLUMNS(1, 1048576, 32, ROWSCAN_F32, CELL_INCLUSIVE),
    COLUMNS(262144, 64, 16, ROWSCAN_F32, CELL_INCLUSIVE),
    COLUMNS(8, 1048576, 7, ROWSCAN_F32, CELL_INCLUSIVE),
    COLUMNS(1, 32768, 129, ROWSCAN_F32, CELL_INCLUSIVE),
    COLUMNS(1, 16384, 4096, ROWSCAN_BF16, CELL_INCLUSIVE),
    /* small */
    ROWS(1, 1024, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(64, 1024, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(1, 65536, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(1, 1048576, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(1024, 1024, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(8192, 64, ROWSCAN_F32, CELL_INCLUSIVE),
};

const bench_cell *cells_of(const char *suite, int *count) {
  bool is_quick = !strcmp(suite, "quick");
  *count = (int)(is_quick ? sizeof quick / sizeof *quick : sizeof full / sizeof *full);
  return is_quick ? quick : strcmp(suite, "full") ? NULL : full;
}

void cell_shape(char text[CELL_TEXT_MAX], const bench_cell *cell) {
  if (!cell->columns)
    snprintf(text, CELL_TEXT_MAX, "%lld x %lld", (long long)cell->outer, (long long)cell->length);
  else if (cell->outer == 1)
    snprintf(text, CELL_TEXT_MAX, "%lld x %lld dim 0", (long long)cell->length, (long long)cell->inner);
  else
    snprintf(text, CELL_TEXT_MAX, "%lld x %lld x %lld dim 1", (long long)cell->outer, (long long)cell->length,
             (long long)cell->inner);
}

void cell_type(char text[CELL_TEXT_MAX], const bench_cell *cell) {
  snprintf(text, CELL_TEXT_MAX, "%s%s%s%s%s", rowscan_type_name(cell->in), cell->out != cell->in ? " -> " : "",
           cell->out != cell->in ? rowscan_type_name(cell->out) : "", cell->acc ? " in " : "",
           cell->acc ? rowscan_type_name(cell->acc) : "");
}

const char *cell_variant(unsigned variant) {
  return variant == CELL_INCLUSIVE   ? "inclusive"
         : variant == CELL_EXCLUSIVE ? "exclusive"
         : variant == CELL_REVERSE   ? "reverse"
                                     : "masked";
}

rowscan_spec cell_spec(const bench_cell *cell, unsigned variant) {
  return (rowscan_spec){
      .size = sizeof(rowscan_spec),
      .in = cell->in,
      .out = cell->out,
      .acc = cell->acc,
      .mask_mode = variant == CELL_MASKED ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE,
      .flags = variant == CELL_EXCLUSIVE ? ROWSCAN_EXCLUSIVE
               : variant == CELL_REVERSE ? ROWSCAN_REVERSE
                                         : 0,
      .length = cell->length,
      .layout = cell->columns ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS,
  };
}

void cell_shrink(bench_cell *cell, int64_t limit) {
  while (cell->outer * cell->length * cell->inner > limit) {
    int64_t *larger = cell->outer > 1 ? &cell->outer : &cell->length;
    *larger = (*larger + 1) / 2;
  }
}
