/*
 * pairs_cut.c - how a run of layout COLUMNS is cut that has two columns, whose elements are taken in pairs
 * SPDX-License-Identifier: MIT
 */
#include "column_cuts.h"

enum { WORD = 16 };

/* ---- pairs.cuh --------------------------------------------------------------------------------------------------- */

int64_t rs_pairs_tiles(const rs_shape *shape) {
  return rs_ceiling(shape->length, rs_tile(shape));
}

/* TransposedTile in kernels/pairs.cuh: as much as a warp's elements take on their way in, or out. */
int rs_pairs_shared(const rs_shape *shape) {
  return (int)(rs_tile(shape) * 2 * rs_larger(shape->in, shape->out));
}

/* Whether pairs are neighbours, and whole words of 16 bytes wherever a tile begins. */
static bool pairs_in_words(const rs_shape *shape, const rs_operand *a, const rs_rows *rows) {
  int last = rows->rank - 1;
  int64_t all = (int64_t)(uintptr_t)a->data | rs_stride_bits(a, rows, 0, last);
  if (shape->reverse)
    all |= shape->length * 2 * a->bytes;
  return a->stride[last] == 1 && a->step == 2 && all % WORD == 0;
}

/* Whether the two of each pair are neighbours, and pairs are on multiples of their size. */
static bool has_pairs(const rs_operand *a, const rs_rows *rows) {
  int last = rows->rank - 1;
  int64_t all = (int64_t)(uintptr_t)a->data | rs_stride_bits(a, rows, 0, last);
  return !a->data || (a->stride[last] == 1 && all % (2 * a->bytes) == 0);
}

static bool two(const rs_shape *shape, const rs_rows *rows) {
  return shape->made_of && rs_columns_of(rows) == 2 && has_pairs(&rows->array[RS_INIT], rows) &&
         has_pairs(&rows->array[RS_TOTALS], rows);
}

bool rs_pairs_fits(const rs_shape *shape, const rs_rows *rows) {
  if (!two(shape, rows))
    return false;
  return rows->count / 2 <= shape->min_blocks * (int64_t)shape->multiprocessors / rs_pairs_tiles(shape) &&
         pairs_in_words(shape, &rows->array[RS_IN], rows) && pairs_in_words(shape, &rows->array[RS_OUT], rows);
}

void rs_pairs_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  (void)cut;
  int64_t tiles = rows->count / 2 * rs_pairs_tiles(shape), words = 2 * shape->acc / 4;
  need->blocks = tiles;
  need->shared = rs_pairs_shared(shape);
  need->workspace = (size_t)(RS_AT_ONCE_STATE + tiles * words) * 8;
}

/* ---- stream_pairs.cuh -------------------------------------------------------------------------------------------- */

bool rs_stream_pairs_fits(const rs_shape *shape, const rs_rows *rows) {
  const rs_operand *in = &rows->array[RS_IN], *out = &rows->array[RS_OUT];
  return two(shape, rows) && in->step == 2 && out->step == 2 && has_pairs(in, rows) && has_pairs(out, rows);
}

void rs_stream_pairs_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  (void)cut;
  int64_t tiles = rows->count / 2 * rs_pairs_tiles(shape), words = 2 * shape->acc / 4;
  need->blocks = rs_smaller(tiles, shape->multiprocessors);
  need->shared = shape->shared_bytes;
  need->workspace = (size_t)(1 + tiles * words) * 8;
}
