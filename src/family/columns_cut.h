/*
 * columns_cut.h - how a run of regime column is cut into tiles; what kernels/columns.cuh is given beside the rows
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_COLUMNS_CUT_H
#define RS_COLUMNS_CUT_H

#include <stddef.h>
#include <stdint.h>

#include "spec/rows.h"

/* Words from the state of the turns to the nodes, where all tiles are in work at once; AT_ONCE_STATE in at_once.cuh. */
enum { RS_AT_ONCE_STATE = 32 };

/* Steps of a tile, at least, if a column has several; COLUMN_STEPS in columns.cuh. */
enum { RS_COLUMN_STEPS = 32 };

/* Tiles that a lane looks for; ColumnsAhead::EACH in abreast.cuh. */
enum { RS_COLUMN_EACH = 8 };

/* Segments of a lane, and chunks of 32 lanes in a tile at most; EACH and MOST_CHUNKS in columns.cuh. */
enum { RS_COLUMN_LANE_SEGMENTS = 4, RS_COLUMN_CHUNKS = 4 };

/* ColumnMode in columns.cuh. */
enum { RS_ONE_BY_ONE, RS_BY_STEPS, RS_BY_SEGMENTS, RS_AS_A_RUN };

/* ColumnCut in columns.cuh, which says what the fields mean. */
typedef struct rs_column_cut {
  int32_t columns, strips;
  int32_t steps, tiles;
  int32_t outers, groups;
  int32_t segments, lanes_log;
  int32_t padded;
  int32_t in_mode, mask_mode, out_mode;
  int32_t in_pitch, mask_pitch, out_pitch;
  int32_t mask_at, out_at, totals_at, carries_at;
  uint32_t by_columns, by_segments;
  uint32_t by_in, by_mask, by_out;
  uint32_t by_in_outer, by_mask_outer, by_out_outer;
} rs_column_cut;

/* What is known before the rows are. */
typedef struct rs_column_shape {
  int64_t length;
  int in, out, mask, acc;    /* bytes of an element; mask 0: none */
  int threads, steps, lanes; /* of the kernel, powers of two */
  int min_blocks;            /* that a multiprocessor must hold: caps the registers */
  int tile_bytes;            /* of a tile's copies, about, where it has all steps */
  int strip_bytes;           /* of a step of a strip, about, where a tile is not as wide as the tensor */
  int shared;                /* bytes of shared memory of a multiprocessor */
  int multiprocessors;       /* of the device, which small tensors should keep busy; 0: not known */
} rs_column_shape;

/* What a launch takes. */
typedef struct rs_column_need {
  int64_t blocks;
  size_t workspace; /* bytes; 0: none */
  int shared;       /* bytes of dynamic shared memory */
} rs_column_need;

/* Bytes of the nodes of `count` columns of so many tiles, as kernels/abreast.cuh lays them out. */
size_t rs_columns_nodes(int64_t tiles, int lanes, int64_t count, int acc);

/* By what divide() of kernels/divide.cuh divides by d. */
uint32_t rs_divisor(int64_t d);

/* rows->count > 0, shape->length > 0. */
void rs_columns_cut(rs_column_cut *cut, rs_column_need *need, const rs_column_shape *shape, const rs_rows *rows);

/* The most that `need->shared` can be: two blocks share a multiprocessor. */
int rs_columns_shared(const rs_column_shape *shape);

/* The most that `need->workspace` can be for rows->count == count. */
size_t rs_columns_workspace(const rs_column_shape *shape, int64_t count);

/* Exactly what rows->count == 1 takes. */
size_t rs_columns_workspace_of_one(const rs_column_shape *shape);

#endif
