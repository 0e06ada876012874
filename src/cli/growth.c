/*
 * growth.c - the cells that show how a scan's time grows
 * SPDX-License-Identifier: MIT
 */
#include "growth.h"

enum { BY_LENGTH_LOG = 26, BY_BYTES_LOG = 28, MOST = 160 };

static struct {
  bench_cell cell[MOST];
  int count;
} growth;

static void add(cell_group group, int64_t rows, int64_t length) {
  growth.cell[growth.count++] = (bench_cell){.group = group,
                                             .outer = rows,
                                             .length = length,
                                             .inner = 1,
                                             .in = ROWSCAN_F32,
                                             .out = ROWSCAN_F32,
                                             .variants = CELL_INCLUSIVE};
}

static void add_length(int64_t length) {
  const int64_t elements = (int64_t)1 << BY_LENGTH_LOG;
  add(CELL_BY_LENGTH, (elements + length - 1) / length, length);
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
      add(CELL_BY_BYTES, rows, lengths[i]);
}

const bench_cell *growth_cells(int *count) {
  if (!growth.count) {
    add_lengths();
    add_bytes();
  }
  *count = growth.count;
  return growth.cell;
}
