/*
 * at_once_cut.h - columns of so few elements that all tiles are in work at once: kernels/columns_at_once.cuh
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_AT_ONCE_CUT_H
#define RS_AT_ONCE_CUT_H

#include <stdbool.h>

#include "columns_cut.h"

/* What is known before the rows are. */
typedef struct rs_at_once_shape {
  int64_t length;
  int in, out, mask, acc; /* bytes of an element; mask 0: none */
  bool reverse;           /* tiles count from the end of the columns */
  int threads, steps;     /* of a block, and of a segment; steps 0: there is none */
  int tiles;              /* of a column, at most */
  int tile_bytes;         /* of a tile's elements, at most */
  int min_blocks;         /* that a multiprocessor must hold: caps the registers */
  int shared;             /* bytes of dynamic shared memory of a block, at most */
  int multiprocessors;    /* of the device */
} rs_at_once_shape;

/* Segments of a tile, at most: those of a warp's lanes. */
enum { RS_AT_ONCE_SEGMENTS = 32 * RS_AT_ONCE_EACH };

/* Steps of a tile, at least: a warp adds up another block's tile, a step a lane. */
enum { RS_AT_ONCE_STEPS = 32 };

/* Whether rows are so few that all may be in work at once; no more than that. */
bool rs_at_once_small(const rs_at_once_shape *shape, const rs_rows *rows);

/* Steps of a tile; 0: the kernel does not take these rows. */
int64_t rs_at_once_steps(const rs_at_once_shape *shape, const rs_rows *rows);

/* rs_at_once_steps is not 0. */
void rs_at_once_cut_rows(AtOnceCut *cut, rs_column_need *need, const rs_at_once_shape *shape, const rs_rows *rows);

#endif
