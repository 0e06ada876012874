/*
 * tuples_cut.c - how a run of layout COLUMNS is cut that has as many columns as a tuple
 * SPDX-License-Identifier: MIT
 */
#include "column_cuts.h"

enum { WORD = 16 };

int64_t rs_tuples_tiles(const rs_shape *shape) {
  return rs_ceiling(shape->length, rs_tile(shape));
}

/* Of all columns. */
static int64_t tiles_of(const rs_shape *shape, const rs_rows *rows) {
  return rows->count / rs_side_by_side(shape) * rs_tuples_tiles(shape);
}

static int64_t nodes_words(const rs_shape *shape, const rs_rows *rows) {
  return tiles_of(shape, rows) * rs_side_by_side(shape) * shape->acc / 4;
}

/* Whether an array and its outers begin on multiples of a size. */
static bool begins_on(const rs_operand *a, const rs_rows *rows, int64_t size) {
  return ((int64_t)(uintptr_t)a->data | rs_stride_bits(a, rows, 0, rows->rank - 1)) % size == 0;
}

/*
 * Whether the columns of an array's tuples are neighbours, outers are whole tuples apart, and all begin on multiples of
 * a unit (Units in kernels/types.cuh).
 */
static bool has_tuples(const rs_operand *a, const rs_rows *rows, int columns) {
  int bytes = columns * a->bytes, word = bytes & -bytes;
  if (a->stride[rows->rank - 1] != 1 || !begins_on(a, rows, rs_smaller(word, WORD)))
    return false;
  for (int d = 0; d < rows->rank - 1; d++)
    if (rows->shape[d] > 1 && a->stride[d] % columns != 0)
      return false;
  return true;
}

/* Initial values and totals are tuples, too. */
static bool of_tuples(const rs_shape *shape, const rs_rows *rows) {
  int columns = rs_side_by_side(shape);
  if (!shape->made_of || rs_columns_of(rows) != columns)
    return false;
  for (int a = 0; a < RS_ARRAYS; a++)
    if (rows->array[a].data &&
        (!has_tuples(&rows->array[a], rows, columns) || (a < RS_ELEMENTS && rows->array[a].step != columns)))
      return false;
  return true;
}

/* ---- pairs.cuh --------------------------------------------------------------------------------------------------- */

/* TransposedTile in kernels/pairs.cuh: as much as a warp's elements take on their way in, or out. */
int rs_pairs_shared(const rs_shape *shape) {
  return (int)(rs_tile(shape) * 2 * rs_larger(shape->in, shape->out));
}

/* Whether pairs are whole words of 16 bytes wherever a tile begins. */
static bool tuples_in_words(const rs_shape *shape, const rs_operand *a, const rs_rows *rows) {
  return begins_on(a, rows, WORD) && (!shape->reverse || shape->length * 2 * a->bytes % WORD == 0);
}

bool rs_pairs_fits(const rs_shape *shape, const rs_rows *rows) {
  return of_tuples(shape, rows) && tuples_in_words(shape, &rows->array[RS_IN], rows) &&
         tuples_in_words(shape, &rows->array[RS_OUT], rows) &&
         rows->count / 2 <= shape->min_blocks * (int64_t)shape->multiprocessors / rs_tuples_tiles(shape);
}

void rs_pairs_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  (void)cut;
  need->blocks = tiles_of(shape, rows);
  need->shared = rs_pairs_shared(shape);
  need->workspace = (size_t)(RS_AT_ONCE_STATE + nodes_words(shape, rows)) * 8;
}

/* ---- row_stream.cuh ---------------------------------------------------------------------------------------------- */

bool rs_stream_tuples_fits(const rs_shape *shape, const rs_rows *rows) {
  return of_tuples(shape, rows);
}

void rs_stream_tuples_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  (void)cut;
  need->blocks = rs_smaller(tiles_of(shape, rows), shape->multiprocessors);
  need->shared = shape->shared_bytes;
  need->workspace = (size_t)(1 + nodes_words(shape, rows)) * 8;
}
