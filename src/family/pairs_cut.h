/*
 * pairs_cut.h - two columns of so few elements that all tiles are in work at once, in pairs: kernels/pairs.cuh
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PAIRS_CUT_H
#define RS_PAIRS_CUT_H

#include <stdbool.h>

#include "columns_cut.h"

/* What is known before the rows are. No masks. */
typedef struct rs_pairs_shape {
  int64_t length;
  int in, out, acc;    /* bytes of an element */
  bool reverse;        /* tiles count from the end of the columns */
  int warps, vector;   /* of a block, and pairs of a lane; vector 0: there is none */
  int min_blocks;      /* that a multiprocessor holds at a time */
  int multiprocessors; /* of the device */
} rs_pairs_shape;

/* Whether the kernel takes these rows. */
bool rs_pairs_fits(const rs_pairs_shape *shape, const rs_rows *rows);

/* What a launch needs; they fit. */
void rs_pairs_cut_rows(rs_column_need *need, const rs_pairs_shape *shape, const rs_rows *rows);

/* Pairs of a tile, tiles of two columns, and bytes of dynamic shared memory of a block. */
int64_t rs_pairs_tile(const rs_pairs_shape *shape);
int64_t rs_pairs_tiles(const rs_pairs_shape *shape);
int rs_pairs_shared(const rs_pairs_shape *shape);

#endif
