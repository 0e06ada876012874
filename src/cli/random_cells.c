/*
 * random_cells.c - cells that nobody chose: shapes, types and variants that a seed draws
 * SPDX-License-Identifier: MIT
 */
#include "random_cells.h"

#include <stdlib.h>

#include "base/ints.h"

enum { MOST_LENGTH_LOG = 28, MOST_COLUMNS = 4096, LARGE_BYTES = 500000000, LEAST_BYTES = 10000, MOST_BYTES = 20000000 };

static int64_t below(uint64_t *state, int64_t n) {
  return (int64_t)(rs_random(state) % (uint64_t)n);
}

static int log2_of(int64_t n) {
  int log = 0;
  while (n >> (log + 1))
    log++;
  return log;
}

/* From least (at least 1) to most, as many from each power of two to the next. */
static int64_t number(uint64_t *state, int64_t least, int64_t most) {
  int first = log2_of(least), powers = log2_of(most) - first + 1;
  int64_t n;
  do {
    int64_t power = (int64_t)1 << (first + below(state, powers));
    n = power + below(state, power);
  } while (n < least || n > most);
  return n;
}

/* The same, half of them odd. */
static int64_t size(uint64_t *state, int64_t least, int64_t most) {
  int64_t n = number(state, least, most), other = below(state, 2) ? n | 1 : n & -2;
  return other < least || other > most ? n : other;
}

static void draw_types(uint64_t *state, bench_cell *cell) {
  static const struct {
    rowscan_type in, out, acc;
  } types[] = {
      {ROWSCAN_F32, ROWSCAN_F32, 0},  {ROWSCAN_BF16, ROWSCAN_BF16, 0}, {ROWSCAN_F16, ROWSCAN_F16, 0},
      {ROWSCAN_F64, ROWSCAN_F64, 0},  {ROWSCAN_I32, ROWSCAN_I32, 0},   {ROWSCAN_I64, ROWSCAN_I64, 0},
      {ROWSCAN_I8, ROWSCAN_I8, 0},    {ROWSCAN_U8, ROWSCAN_U8, 0},     {ROWSCAN_BOOL, ROWSCAN_I64, 0},
      {ROWSCAN_BF16, ROWSCAN_F32, 0}, {ROWSCAN_I8, ROWSCAN_I32, 0},    {ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F64},
      {ROWSCAN_I32, ROWSCAN_I64, 0},
  };
  int i = (int)below(state, sizeof types / sizeof *types);
  cell->in = types[i].in;
  cell->out = types[i].out;
  cell->acc = types[i].acc;
}

static bench_cell draw(const random_suite *suite, int which) {
  uint64_t state = suite->seed + ((uint64_t)which << 32);
  bench_cell cell = {.group = suite->small ? CELL_RANDOM_SMALL : CELL_RANDOM, .inner = 1};
  draw_types(&state, &cell);
  cell.variants = 1u << below(&state, CELL_VARIANTS);
  cell.columns = below(&state, 2) == 1;
  int64_t element =
      (int64_t)(rowscan_type_bytes(cell.in) + rowscan_type_bytes(cell.out)) + (cell.variants == CELL_MASKED);
  int64_t bytes = suite->small ? number(&state, LEAST_BYTES, MOST_BYTES) : LARGE_BYTES, elements = bytes / element;
  if (cell.columns)
    cell.inner = size(&state, 2, elements < MOST_COLUMNS ? elements : MOST_COLUMNS);
  int64_t rows = elements / cell.inner, most = (int64_t)1 << MOST_LENGTH_LOG;
  cell.length = size(&state, 1, rows < most ? rows : most);
  cell.outer = rows / cell.length;
  return cell;
}

bench_cell *random_cells(const random_suite *suite) {
  bench_cell *cells = calloc((size_t)suite->cells + 1, sizeof *cells);
  for (int i = 0; cells && i < suite->cells; i++)
    cells[i] = draw(suite, i);
  return cells;
}
