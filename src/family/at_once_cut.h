/*
 * at_once_cut.h - columns of so few elements that all tiles are in work at once: kernels/columns_at_once.cuh
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_AT_ONCE_CUT_H
#define RS_AT_ONCE_CUT_H

#include <stdbool.h>

#include "columns_cut.h"

/* AtOnceSheet and AtOnceCut in kernels/columns_at_once.cuh, which says what the fields mean. */
typedef struct rs_at_once_sheet {
  int32_t at, pad, one_by_one;
  uint32_t by_step, by_segment;
} rs_at_once_sheet;
typedef struct rs_at_once_cut {
  int32_t columns, strips;
  int32_t segments, tiles;
  int32_t pitch, totals_at;
  uint32_t by_columns, by_strips, by_tiles;
  rs_at_once_sheet in, mask, out;
} rs_at_once_cut;

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

/* Segments of a tile, at most: EACH of a lane in kernels/columns_at_once.cuh. */
enum { RS_AT_ONCE_SEGMENTS = 256 };

/* Steps of a tile, at least: a warp adds up another block's tile, a step a lane. */
enum { RS_AT_ONCE_STEPS = 32 };

/* Whether rows are so few that all may be in work at once; no more than that. */
bool rs_at_once_small(const rs_at_once_shape *shape, const rs_rows *rows);

/* Steps of a tile; 0: the kernel does not take these rows. */
int64_t rs_at_once_steps(const rs_at_once_shape *shape, const rs_rows *rows);

/* rs_at_once_steps is not 0. */
void rs_at_once_cut_rows(rs_at_once_cut *cut, rs_column_need *need, const rs_at_once_shape *shape, const rs_rows *rows);

#endif
