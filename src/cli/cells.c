/*
 * cells.c - the shapes that rowscan bench times
 * SPDX-License-Identifier: MIT
 */
#include "cells.h"

#include <stdio.h>
#include <string.h>

#include "growth.h"

#define CELL(group, outer, length, inner, columns, view, in, out, acc, variants)                                       \
  { CELL_##group, outer, length, inner, columns, view, in, out, acc, variants }
#define ROWS(group, outer, length, type, variants)                                                                     \
  CELL(group, outer, length, 1, false, CELL_DENSE, type, type, ROWSCAN_TYPE_DEFAULT, variants)
#define MIXED(outer, length, in, out, acc)                                                                             \
  CELL(TYPES, outer, length, 1, false, CELL_DENSE, in, out, acc, CELL_INCLUSIVE)
#define VIEW(view, outer, length, type)                                                                                \
  CELL(STRIDED, outer, length, 1, false, view, type, type, ROWSCAN_TYPE_DEFAULT, CELL_INCLUSIVE)
#define COLUMNS(outer, length, inner, type, variants)                                                                  \
  CELL(COLUMN, outer, length, inner, true, CELL_DENSE, type, type, ROWSCAN_TYPE_DEFAULT, variants)

static const bench_cell quick[] = {
    ROWS(ROW, 32768, 32768, ROWSCAN_F32, CELL_ALL),         ROWS(TYPES, 32768, 65536, ROWSCAN_BF16, CELL_INCLUSIVE),
    ROWS(TYPES, 32768, 65536, ROWSCAN_F16, CELL_INCLUSIVE), ROWS(TYPES, 32768, 16384, ROWSCAN_F64, CELL_INCLUSIVE),
    ROWS(TYPES, 32768, 16384, ROWSCAN_I64, CELL_INCLUSIVE), ROWS(TYPES, 32768, 32768, ROWSCAN_I32, CELL_INCLUSIVE),
    ROWS(SHORT, 65536, 512, ROWSCAN_F32, CELL_INCLUSIVE),   ROWS(SHORT, 1048576, 64, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SHORT, 4194304, 7, ROWSCAN_F32, CELL_INCLUSIVE),   ROWS(LONG, 8, 16777216, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(LONG, 1, 268435456, ROWSCAN_F32, CELL_INCLUSIVE),  COLUMNS(1, 16384, 4096, ROWSCAN_F32, CELL_INCLUSIVE),
};

static const bench_cell full[] = {
    /* long enough rows, and enough of them */
    ROWS(ROW, 32768, 32768, ROWSCAN_F32, CELL_ALL),
    ROWS(ROW, 16384, 16384, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(ROW, 65536, 4096, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(ROW, 1024, 128256, ROWSCAN_F32, CELL_ALL),
    ROWS(ROW, 256, 151936, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(ROW, 40, 152000, ROWSCAN_F32, CELL_INCLUSIVE),
    /* rows that start off 16 bytes */
    ROWS(OFF, 16384, 4097, ROWSCAN_F32, CELL_ALL),
    ROWS(OFF, 8192, 50257, ROWSCAN_F32, CELL_ALL),
    ROWS(OFF, 4096, 65535, ROWSCAN_F32, CELL_INCLUSIVE),
    /* types */
    ROWS(TYPES, 32768, 32768, ROWSCAN_F16, CELL_INCLUSIVE),
    ROWS(TYPES, 32768, 32768, ROWSCAN_BF16, CELL_ALL),
    ROWS(TYPES, 16384, 32768, ROWSCAN_F64, CELL_INCLUSIVE),
    ROWS(TYPES, 16384, 32768, ROWSCAN_I64, CELL_INCLUSIVE),
    ROWS(TYPES, 32768, 32768, ROWSCAN_I32, CELL_INCLUSIVE),
    MIXED(32768, 32768, ROWSCAN_I8, ROWSCAN_I32, ROWSCAN_TYPE_DEFAULT),
    MIXED(32768, 32768, ROWSCAN_BOOL, ROWSCAN_I64, ROWSCAN_TYPE_DEFAULT),
    MIXED(32768, 32768, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F64),
    /* short rows */
    ROWS(SHORT, 65536, 512, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SHORT, 131072, 300, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SHORT, 1048576, 64, ROWSCAN_F32, CELL_ALL),
    ROWS(SHORT, 1048576, 100, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SHORT, 4194304, 7, ROWSCAN_F32, CELL_ALL),
    ROWS(SHORT, 8388608, 16, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SHORT, 16777216, 3, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SHORT, 134217728, 1, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SHORT, 1048576, 64, ROWSCAN_BF16, CELL_INCLUSIVE),
    ROWS(SHORT, 1048576, 65, ROWSCAN_BF16, CELL_INCLUSIVE),
    /* few and long rows */
    ROWS(LONG, 1, 1073741824, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(LONG, 1, 268435456, ROWSCAN_F32, CELL_ALL),
    ROWS(LONG, 3, 50000000, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(LONG, 8, 16777216, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(LONG, 100, 1000000, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(LONG, 1, 100000007, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(LONG, 1, 268435456, ROWSCAN_BF16, CELL_INCLUSIVE),
    ROWS(LONG, 1, 268435456, ROWSCAN_F64, CELL_INCLUSIVE),
    ROWS(LONG, 1, 268435456, ROWSCAN_I32, CELL_INCLUSIVE),
    /* along a dimension that is not the last */
    COLUMNS(1, 16384, 4096, ROWSCAN_F32, CELL_ALL),
    COLUMNS(64, 4096, 1024, ROWSCAN_F32, CELL_ALL),
    COLUMNS(1, 1048576, 2, ROWSCAN_F32, CELL_INCLUSIVE),
    COLUMNS(1, 1048576, 32, ROWSCAN_F32, CELL_INCLUSIVE),
    COLUMNS(262144, 64, 16, ROWSCAN_F32, CELL_INCLUSIVE),
    COLUMNS(8, 1048576, 7, ROWSCAN_F32, CELL_INCLUSIVE),
    COLUMNS(1, 32768, 129, ROWSCAN_F32, CELL_INCLUSIVE),
    COLUMNS(1, 16384, 4096, ROWSCAN_BF16, CELL_INCLUSIVE),
    /* views; see cell_view */
    VIEW(CELL_SECOND, 8192, 8192, ROWSCAN_F32),
    VIEW(CELL_TRANSPOSED, 16384, 8192, ROWSCAN_F32),
    VIEW(CELL_PADDED, 32768, 32768, ROWSCAN_F32),
    /* small */
    ROWS(SMALL, 1, 1024, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SMALL, 64, 1024, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SMALL, 1, 65536, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SMALL, 1, 1048576, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SMALL, 1024, 1024, ROWSCAN_F32, CELL_INCLUSIVE),
    ROWS(SMALL, 8192, 64, ROWSCAN_F32, CELL_INCLUSIVE),
};

const bench_cell *cells_of(const char *suite, int *count) {
  if (!strcmp(suite, "growth"))
    return growth_cells(count);
  bool is_quick = !strcmp(suite, "quick");
  *count = (int)(is_quick ? sizeof quick / sizeof *quick : sizeof full / sizeof *full);
  return is_quick ? quick : strcmp(suite, "full") ? NULL : full;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *cell_view_text(cell_view view) {
  static const char *const texts[CELL_VIEWS] = {"", "of every 2nd", "transposed", "padded"};
  return texts[view];
}

void cell_shape(char text[CELL_TEXT_MAX], const bench_cell *cell) {
  if (!cell->columns)
    snprintf(text, CELL_TEXT_MAX, "%lld x %lld%s%s", (long long)cell->outer, (long long)cell->length,
             cell->view ? " " : "", cell_view_text(cell->view));
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

const char *cell_view_name(cell_view view) {
  static const char *const names[CELL_VIEWS] = {"dense", "second", "transposed", "padded"};
  return names[view];
}

/* ---- targets ----------------------------------------------------------------------------------------------------- */

/* What memory speed means, by group; of rows it depends on the bytes, see below. */
static const struct {
  const char *name;
  cell_target target;
} groups[] = {
    [CELL_ROW] = {"row", {0.90, false}},         [CELL_OFF] = {"off", {0.93, false}},
    [CELL_TYPES] = {"types", {0.95, false}},     [CELL_SHORT] = {"short", {0.93, false}},
    [CELL_LONG] = {"long", {0.93, false}},       [CELL_COLUMN] = {"column", {0.90, false}},
    [CELL_STRIDED] = {"strided", {0.90, true}},  [CELL_SMALL] = {"small", {1 / 1.25, true}},
    [CELL_BY_LENGTH] = {"length", {0, false}},   [CELL_BY_BYTES] = {"bytes", {0, false}},
    [CELL_BY_COLUMNS] = {"columns", {0, false}}, [CELL_GIVEN] = {"given", {0, false}},
};

const char *cell_group_name(cell_group group) {
  return groups[group].name;
}

cell_target cell_target_of(const bench_cell *cell, unsigned variant) {
  cell_target target = groups[cell->group].target;
  size_t element = rowscan_type_bytes(cell->in) + rowscan_type_bytes(cell->out) + (variant == CELL_MASKED);
  double bytes = (double)element * (double)cell->outer * (double)cell->length * (double)cell->inner;
  if (cell->group == CELL_ROW && bytes > 256e6)
    target.ratio = bytes > 1e9 ? 0.97 : 0.95;
  return target;
}

/* ---- as the library has them ------------------------------------------------------------------------------------- */

/* Of a view, the layout is the one that rowscan_scan chooses. */
rowscan_spec cell_spec(const bench_cell *cell, unsigned variant) {
  bool columns = cell->columns || cell->view == CELL_TRANSPOSED;
  return (rowscan_spec){
      .size = sizeof(rowscan_spec),
      .in_type = cell->in,
      .out_type = cell->out,
      .acc_type = cell->acc,
      .mask_mode = variant == CELL_MASKED ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE,
      .flags = variant == CELL_EXCLUSIVE ? ROWSCAN_EXCLUSIVE
               : variant == CELL_REVERSE ? ROWSCAN_REVERSE
                                         : 0,
      .length = cell->length,
      .layout = columns ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS,
      .row_rank = cell->columns ? 2 : 1,
  };
}

void cell_rows_of(cell_rows *rows, const bench_cell *cell) {
  const int64_t in_strides[][2] = {[CELL_DENSE] = {cell->length, 1},
                                   [CELL_SECOND] = {2 * cell->length, 2},
                                   [CELL_TRANSPOSED] = {1, cell->outer},
                                   [CELL_PADDED] = {cell->length + 4, 1}};
  *rows = (cell_rows){.shape = {cell->outer, cell->inner},
                      .in_strides = {in_strides[cell->view][0], in_strides[cell->view][1]},
                      .out_strides = {cell->length, 1},
                      .args = {.size = sizeof(rowscan_args)}};
  rows->args.row_shape = rows->shape; /* without inner where there is none: the spec's row_rank is 1 */
  if (cell->view != CELL_DENSE) {
    rows->args.input_strides = rows->in_strides;
    rows->args.output_strides = rows->out_strides;
  }
}

void cell_shrink(bench_cell *cell, int64_t limit) {
  while (cell->outer * cell->length * cell->inner > (limit > 1 ? limit : 1)) {
    bool rows = cell->outer > 1 && (cell->view == CELL_DENSE || cell->outer >= cell->length);
    int64_t *smaller = rows ? &cell->outer : cell->length > 1 ? &cell->length : &cell->inner;
    *smaller = (*smaller + 1) / 2;
  }
}
