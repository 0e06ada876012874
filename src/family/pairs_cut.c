/*
 * pairs_cut.c - two columns of so few elements that all tiles are in work at once, in pairs
 * SPDX-License-Identifier: MIT
 */
#include "pairs_cut.h"

int64_t rs_pairs_tile(const rs_pairs_shape *shape) {
  return (int64_t)shape->warps * 32 * shape->vector;
}

int64_t rs_pairs_tiles(const rs_pairs_shape *shape) {
  int64_t tile = rs_pairs_tile(shape);
  return (shape->length + tile - 1) / tile;
}

/* TransposedTile in kernels/pairs.cuh: as much as a warp's elements take on their way in, or out. */
int rs_pairs_shared(const rs_pairs_shape *shape) {
  return (int)rs_pairs_tile(shape) * 2 * (shape->in > shape->out ? shape->in : shape->out);
}

/* Whether pairs are neighbours, and whole words of 16 bytes wherever a tile begins. */
static bool in_words(const rs_pairs_shape *shape, const rs_rows *rows, const void *array, int64_t step,
                     const int64_t *stride, int bytes) {
  int last = rows->rank - 1;
  int64_t all = (int64_t)(uintptr_t)array;
  if (shape->reverse)
    all |= shape->length * 2 * bytes;
  for (int d = 0; d < last; d++)
    if (rows->shape[d] > 1)
      all |= stride[d] * bytes;
  return stride[last] == 1 && step == 2 && all % 16 == 0;
}

/* The two initial values, or totals, of two columns are neighbours too. */
static bool has_pairs(const rs_pairs_shape *shape, const rs_rows *rows, const void *array) {
  int last = rows->rank - 1;
  bool even = true;
  for (int d = 0; d < last; d++)
    even = even && (rows->shape[d] == 1 || rows->array[RS_INIT].stride[d] % 2 == 0);
  return !array || (even && rows->array[RS_INIT].stride[last] == 1 && (uintptr_t)array % (2 * (size_t)shape->acc) == 0);
}

bool rs_pairs_fits(const rs_pairs_shape *shape, const rs_rows *rows) {
  if (!shape->vector || rows->shape[rows->rank - 1] != 2)
    return false;
  return rows->count / 2 <= shape->min_blocks * (int64_t)shape->multiprocessors / rs_pairs_tiles(shape) &&
         in_words(shape, rows, rows->array[RS_IN].data, rows->array[RS_IN].step, rows->array[RS_IN].stride,
                  shape->in) &&
         in_words(shape, rows, rows->array[RS_OUT].data, rows->array[RS_OUT].step, rows->array[RS_OUT].stride,
                  shape->out) &&
         has_pairs(shape, rows, rows->array[RS_INIT].data) && has_pairs(shape, rows, rows->array[RS_TOTALS].data);
}

void rs_pairs_cut_rows(rs_column_need *need, const rs_pairs_shape *shape, const rs_rows *rows) {
  int64_t tiles = rows->count / 2 * rs_pairs_tiles(shape), words = 2 * shape->acc / 4;
  need->blocks = tiles;
  need->shared = rs_pairs_shared(shape);
  need->workspace = (size_t)(RS_AT_ONCE_STATE + tiles * words) * 8;
}
