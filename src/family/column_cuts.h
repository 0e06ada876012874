/*
 * column_cuts.h - how a run of layout COLUMNS is cut into tiles, for each of its templates
 * SPDX-License-Identifier: MIT
 *
 * TEMPLATE_fits says whether a kernel can take these rows, and TEMPLATE_cut what it is given then. rows->count > 0,
 * shape->length > 0; a shape that is made of nothing is of a kernel that the spec lacks.
 */
#ifndef RS_COLUMN_CUTS_H
#define RS_COLUMN_CUTS_H

#include <stddef.h>

#include "kernels/cuts.h"
#include "shape.h"
#include "spec/rows.h"

/* A kernel's second parameter. */
typedef union rs_cut {
  ColumnCut any;
  StreamCut stream;
  WideCut wide; /* askew too */
  ShortCut brief;
  AtOnceCut at_once;
  RingCut ring;
} rs_cut;

/* What a launch takes. */
typedef struct rs_column_need {
  int64_t blocks;
  size_t workspace; /* bytes; 0: none */
  int shared;       /* bytes of dynamic shared memory */
  int threads;      /* of a block: the shape's, unless they depend on the rows */
} rs_column_need;

/* Elements of a word of 16 bytes. */
static inline int rs_word_unit(int bytes) {
  return 16 / bytes;
}

/* From a step to the next one in shared memory: the least that is as far from a multiple of the word as the step is in
   memory, so that steps which take `least` elements with the words around them share no word. */
static inline int rs_word_pitch(int least, int bytes, int64_t step) {
  return least + (int)((step - least) & (rs_word_unit(bytes) - 1));
}

/* By what divide() of kernels/divide.cuh divides by d. */
uint32_t rs_divisor(int64_t d);

static inline int64_t rs_columns_of(const rs_rows *rows) {
  return rows->shape[rows->rank - 1];
}

/* Rows of other dimensions than the last: how many times these columns lie somewhere. */
static inline int64_t rs_outers_of(const rs_rows *rows) {
  return rows->count / rs_columns_of(rows);
}

/* columns.cuh, which takes any rows. */
void rs_columns_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows);

/* Steps of columns, at most, that have few tiles: what these hand on to one another takes little of their time. */
enum { RS_FEW_TILES_LENGTH = 4096 };

/* Whether its tiles have all columns, which are one run of memory then: so few that other kernels are slower. */
bool rs_columns_one_strip(const rs_shape *shape, const rs_rows *rows);

/* The most that `need->shared` can be: two blocks share a multiprocessor. */
int rs_columns_shared(const rs_shape *shape);

/* Bytes of the nodes of `count` columns of so many tiles, as kernels/abreast.cuh lays them out. */
size_t rs_columns_nodes(int64_t tiles, int64_t count, int acc);

/* The most that `need->workspace` can be for rows->count == count, and exactly what rows->count == 1 takes. */
size_t rs_columns_workspace(const rs_shape *shape, int64_t count);
size_t rs_columns_workspace_of_one(const rs_shape *shape);

/* wide.cuh and askew.cuh: columns are neighbours, in whole words or anywhere. further_columns.cuh, which takes any
   rows, is cut like wide.cuh. */
bool rs_wide_fits(const rs_shape *shape, const rs_rows *rows);
void rs_wide_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows);

/* row.cuh with further arrays: a group of lanes for each column. It has no cut. */
void rs_walk_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows);

/* Steps that a thread of wide.cuh has all of. */
enum { RS_WIDE_BRIEF = 8 };

/* Bytes of a total inside of a tile: Part of kernels/held.cuh. */
int rs_part_bytes(const rowscan_spec *spec);

/* Whether kernels/beside.cuh can sum its bytes four to a word: no more than a byte is kept of each. */
bool rs_wide_packs(const rowscan_spec *spec);

/* Bytes of a column's total in a thread's registers and in shared memory. */
int rs_wide_held(const rs_shape *shape);

/* Segments side by side in shared memory, at most: ROWS of kernels/wide_tile.cuh. */
int rs_wide_rows(const rs_shape *shape);

/* Bytes of dynamic shared memory that a block has, at least and at most: askew it depends on the steps in memory. */
int rs_wide_shared(const rs_shape *shape);
int rs_wide_most_shared(const rs_shape *shape);

/* The most that `need->workspace` can be for rows->count == count. */
size_t rs_wide_workspace(const rs_shape *shape, int64_t count);

/* stream_columns.cuh: few long columns that lie one run in memory; at most so many, 0: it takes none. */
bool rs_stream_fits(const rs_shape *shape, const rs_rows *rows);
void rs_stream_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows);
int64_t rs_stream_columns(const rs_shape *shape);

/* ring_columns.cuh: columns are neighbours, wherever they begin. */
bool rs_ring_fits(const rs_shape *shape, const rs_rows *rows);
void rs_ring_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows);

/* short_columns.cuh: short columns that lie one run in memory, for which it is the best. */
bool rs_short_fits(const rs_shape *shape, const rs_rows *rows);
void rs_short_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows);
int rs_short_shared(const rs_shape *shape);

/* columns_at_once.cuh: so few steps that all tiles are in work at once. */
bool rs_at_once_fits(const rs_shape *shape, const rs_rows *rows);
void rs_at_once_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows);

/* Segments of a tile, at most: those of a warp's lanes; steps of one, at least: a warp adds up another block's tile, a
   step a lane. */
enum { RS_AT_ONCE_SEGMENTS = 32 * RS_AT_ONCE_EACH, RS_AT_ONCE_STEPS = 32 };

/* Whether rows are so few that all may be in work at once; no more than that. */
bool rs_at_once_small(const rs_shape *shape, const rs_rows *rows);

/* pairs.cuh: two columns of so few elements that all tiles are in work at once. It has no cut. */
bool rs_pairs_fits(const rs_shape *shape, const rs_rows *rows);
void rs_pairs_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows);

/* row_stream.cuh: few long columns, as many as its tuples have. It has no cut either. */
bool rs_stream_tuples_fits(const rs_shape *shape, const rs_rows *rows);
void rs_stream_tuples_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows);

/* Tiles of the columns that a tuple has, and bytes of dynamic shared memory of a block of pairs.cuh. */
int64_t rs_tuples_tiles(const rs_shape *shape);
int rs_pairs_shared(const rs_shape *shape);

#endif
