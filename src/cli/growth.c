/*
 * growth.c - the cells that show how a scan's time grows
 * SPDX-License-Identifier: MIT
 */
#include "growth.h"

enum { BY_LENGTH_LOG = 26, BY_BYTES_LOG = 28, SMALL_LOG = 22, MOST = 240 };

static struct {
  bench_cell cell[MOST];
  int count;
} growth;

static void add(cell_group group, int64_t rows, int64_t length, int64_t columns) {
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
  add(CELL_BY_LENGTH, (elements + length - 1) / length, length, 1);
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
      add(CELL_BY_BYTES, rows, lengths[i], 1);
}

/* One array, along its first dimension. A multiple of 8 steps, so that few columns end on a word too. */
static void add_width(int64_t columns, int elements_log) {
  add(CELL_BY_COLUMNS, 1, (((int64_t)1 << elements_log) / columns + 7) / 8 * 8, columns);
}

static void add_columns(int elements_log) {
  for (int k = 0; k <= 12; k++) {
    add_width((int64_t)1 << k, elements_log);
    if (k > 0 && k < 12)
      add_width(((int64_t)3 << (k - 1)) | 1, elements_log);
  }
}

const bench_cell *growth_cells(int *count) {
  if (!growth.count) {
    add_lengths();
    add_bytes();
    add_columns(BY_LENGTH_LOG);
    add_columns(SMALL_LOG);
  }
  *count = growth.count;
  return growth.cell;
}
