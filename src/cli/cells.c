/*
 * cells.c - the shapes that rowscan bench times
 * SPDX-License-Identifier: MIT
 */
#include "cells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

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

/* ---- the suite growth -------------------------------------------------------------------------------------------- */

enum { BY_LENGTH_LOG = 26, BY_BYTES_LOG = 28, SMALL_LOG = 22, MOST = 240 };

static struct {
  bench_cell cell[MOST];
  int count;
} growth;

static void add_growth_cell(cell_group group, int64_t rows, int64_t length, int64_t columns) {
  growth.cell[growth.count++] = (bench_cell){.group = group,
                                             .outer = rows,
                                             .length = length,
                                             .inner = columns,
                                             .columns = group == CELL_BY_COLUMNS,
                                             .in = ROWSCAN_F32,
                                             .out = ROWSCAN_F32,
                                             .variants = CELL_INCLUSIVE};
}

static void add_length(int64_t length) {
  const int64_t elements = (int64_t)1 << BY_LENGTH_LOG;
  add_growth_cell(CELL_BY_LENGTH, (elements + length - 1) / length, length, 1);
}

static void add_lengths(void) {
  for (int k = 0; k <= BY_LENGTH_LOG; k++) {
    add_length((int64_t)1 << k);
    if (k > 0 && k < BY_LENGTH_LOG)
      add_length(((int64_t)3 << (k - 1)) | 1);
  }
}

static void add_bytes(void) {
  static const int64_t lengths[] = {1000, 4096, 32768, 1 << 20};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (int64_t rows = 1; rows * lengths[i] <= (int64_t)1 << BY_BYTES_LOG; rows *= 2)
      add_growth_cell(CELL_BY_BYTES, rows, lengths[i], 1);
}

/* One array, along its first dimension. A multiple of 8 steps, so that few columns end on a word too. */
static void add_width(int64_t columns, int elements_log) {
  add_growth_cell(CELL_BY_COLUMNS, 1, (((int64_t)1 << elements_log) / columns + 7) / 8 * 8, columns);
}

static void add_columns(int elements_log) {
  for (int k = 0; k <= 12; k++) {
    add_width((int64_t)1 << k, elements_log);
    if (k > 0 && k < 12)
      add_width(((int64_t)3 << (k - 1)) | 1, elements_log);
  }
}

/*
 * First 2^26 elements of f32 in rows of every length from 1 to 2^26, in steps of x2 and at an odd length between each
 * two (the last row may make it a few more); then rows of a few lengths, from one to 2^28 elements, in steps of x2.
 * Last arrays of about 2^26 elements, then of about 2^22, along their columns: 1 to 4096 of these, in steps as lengths.
 * Not to be called by two threads at a time.
 */
static const bench_cell *growth_cells(int *count) {
  if (!growth.count) {
    add_lengths();
    add_bytes();
    add_columns(BY_LENGTH_LOG);
    add_columns(SMALL_LOG);
  }
  *count = growth.count;
  return growth.cell;
}

/* ---- suites ------------------------------------------------------------------------------------------------------ */

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
    [CELL_BY_COLUMNS] = {"columns", {0, false}}, [CELL_RANDOM] = {"random", {0, false}},
    [CELL_RANDOM_SMALL] = {"random", {0, true}}, [CELL_GIVEN] = {"given", {0, false}},
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
rowscan_spec cell_spec(const bench_cell *cell, rowscan_op op, unsigned variant) {
  bool columns = cell->columns || cell->view == CELL_TRANSPOSED;
  bool index = rs_op_of(op)->kind == RS_INDEX && cell->out != ROWSCAN_I32; /* whatever a sum would be written as */
  rowscan_spec spec = {
      .size = sizeof(rowscan_spec),
      .op = op,
      .in_type = cell->in,
      .out_type = index ? ROWSCAN_I64 : cell->out,
      .acc_type = rs_op_of(op)->kind == RS_INDEX ? ROWSCAN_TYPE_DEFAULT : cell->acc,
      .mask_mode = variant == CELL_MASKED ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE,
      .flags = variant == CELL_EXCLUSIVE ? ROWSCAN_EXCLUSIVE
               : variant == CELL_REVERSE ? ROWSCAN_REVERSE
                                         : 0,
      .length = cell->length,
      .layout = columns ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS,
      .row_rank = cell->columns ? 2 : 1,
  };
  for (int i = 0; i < RS_MOST_MORE; i++)
    spec.more_types[i] = rs_op_of(op)->flags >> i & 1 ? ROWSCAN_BOOL : ROWSCAN_TYPE_DEFAULT;
  return spec;
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
    rows->args.output_strides = rows->args.second_strides = rows->out_strides;
  }
}

void cell_shrink(bench_cell *cell, int64_t limit) {
  while (cell->outer * cell->length * cell->inner > (limit > 1 ? limit : 1)) {
    bool rows = cell->outer > 1 && (cell->view == CELL_DENSE || cell->outer >= cell->length);
    int64_t *smaller = rows ? &cell->outer : cell->length > 1 ? &cell->length : &cell->inner;
    *smaller = (*smaller + 1) / 2;
  }
}

/* ---- cells that the caller gives --------------------------------------------------------------------------------- */

enum { MOST_DIMS = 8 };

static const char *after_blanks(const char *at) {
  return at + strspn(at, " ");
}

static bool next_number(const char **at, int64_t *number) {
  char *end;
  *at = after_blanks(*at);
  if (**at < '0' || **at > '9')
    return false;
  errno = 0;
  *number = strtoll(*at, &end, 10);
  *at = end;
  return !errno;
}

/* A word, or several with a blank between each two. */
static bool next_word(const char **at, const char *word) {
  const char *from = after_blanks(*at);
  size_t length = strlen(word);
  if (strncmp(from, word, length) != 0 || (from[length] && from[length] != ' '))
    return false;
  *at = from + length;
  return true;
}

static bool read_type(const char **at, const cli_kind *kind, rowscan_type *type) {
  const char *from = after_blanks(*at);
  char name[16] = "";
  size_t length = strcspn(from, " ");
  if (length >= sizeof name)
    return false;
  memcpy(name, from, length);
  *at = from + length;
  return kind->read(kind, name, type);
}

/* Sizes, with a x between each two; returns how many, 0 if one is none or there are too many. */
static int read_sizes(const char **at, int64_t *sizes) {
  int rank = 0;
  do {
    if (rank == MOST_DIMS || !next_number(at, &sizes[rank]) || sizes[rank] < 1)
      return 0;
    rank++;
    *at = after_blanks(*at);
  } while (**at == 'x' && (*at)++);
  return rank;
}

/* Of dimensions one after another; false: more elements than bytes can be counted of. */
static bool product(const int64_t *sizes, int count, int64_t *all) {
  const int64_t most = INT64_C(1) << 56;
  *all = 1;
  for (int i = 0; i < count; i++) {
    if (sizes[i] > most / *all)
      return false;
    *all *= sizes[i];
  }
  return true;
}

static bool read_types(const char **at, bench_cell *cell) {
  cell->in = cell->out = ROWSCAN_F32;
  if (!*after_blanks(*at))
    return true;
  if (!read_type(at, &kind_type, &cell->in))
    return false;
  cell->out = cell->in;
  if (next_word(at, "->"))
    return read_type(at, &kind_type, &cell->out);
  return !next_word(at, "in") || read_type(at, &kind_acc, &cell->acc);
}

/* Of a shape that has rows and their length, and none else. */
static cell_view read_view(const char **at) {
  for (int view = CELL_DENSE + 1; view < CELL_VIEWS; view++)
    if (next_word(at, cell_view_text((cell_view)view)))
      return (cell_view)view;
  return CELL_DENSE;
}

bool given_cell(const char *text, bench_cell *cell) {
  int64_t sizes[MOST_DIMS], all;
  int rank = read_sizes(&text, sizes);
  int64_t dim = rank - 1;
  *cell = (bench_cell){.group = CELL_GIVEN, .variants = CELL_ALL};
  if (!rank || !product(sizes, rank, &all))
    return false;
  if (next_word(&text, "dim") && (!next_number(&text, &dim) || dim >= rank))
    return false;
  if (rank == 2 && dim == 1)
    cell->view = read_view(&text);
  product(sizes, (int)dim, &cell->outer);
  product(sizes + dim + 1, rank - 1 - (int)dim, &cell->inner);
  cell->length = sizes[dim];
  cell->columns = dim < rank - 1;
  return read_types(&text, cell) && !*after_blanks(text);
}
