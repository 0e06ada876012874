/*
 * random_cells.h - cells that nobody chose: shapes, types and variants that a seed draws
 * SPDX-License-Identifier: MIT
 */
#ifndef RANDOM_CELLS_H
#define RANDOM_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "cells.h"

typedef struct random_suite {
  uint64_t seed;
  int cells;
  bool small; /* 10 KB to 20 MB are read and written; else 0.5 GB */
} random_suite;

/*
 * The cells, to be freed; NULL: out of memory. Half of them are scanned along their last dimension, half along another.
 * Row lengths are from 1 to 2^28, as many from one power of two to the next as to that after it, and half of them are
 * odd; so are numbers of columns, from 2 to 4096. Each cell has one variant, and the number of a cell and the seed say
 * all of it: suites of one seed begin alike.
 */
bench_cell *random_cells(const random_suite *suite);

#endif
