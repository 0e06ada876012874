/*
 * bench_cells.h - the host engine beside a plain loop, on shapes that users have
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_CELLS_H
#define BENCH_CELLS_H

#include <stdbool.h>

typedef struct bench_options {
  bool csv;
  int only;       /* one cell; -1: all */
  double seconds; /* for each cell */
} bench_options;

/* Each returns 0, or 1 if a result was wrong or a call failed. */
int bench_cells(const bench_options *options);
int bench_offsets(const bench_options *options);
int bench_threads(const bench_options *options);

#endif
