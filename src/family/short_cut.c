/*
 * short_cut.c - how a run of layout COLUMNS is cut, where short columns lie one run in memory
 * SPDX-License-Identifier: MIT
 */
#include "column_cuts.h"

/* Of an outer, the way in or the way out, whichever is more. */
static int64_t outer_bytes(const rs_shape *shape, int64_t inner) {
  return shape->length * inner * rs_larger(shape->in + shape->mask, shape->out);
}

/*
 * How many lanes of a warp meet in one bank of shared memory, or the most that are allowed: lanes stand side by side
 * along a step, then a stride apart, from outer to outer or, where an outer is a slab, from segment to segment.
 */
enum { BANK_BYTES = 128, LANES = 32, MOST_WAYS = 3 };

static int ways(const rs_shape *shape, int bytes, int64_t inner) {
  bool single = 2 * outer_bytes(shape, inner) > shape->tile_bytes;
  int64_t stride = (single ? shape->steps : shape->length) * inner * bytes;
  int together = BANK_BYTES / bytes < LANES ? BANK_BYTES / bytes : LANES, meet = 1;
  int wide = (int)inner * bytes, bank = 0;
  for (int first = (int)inner; first < together && meet <= MOST_WAYS; first += (int)inner) {
    bank = (int)((bank + stride) & (BANK_BYTES - 1));
    meet += bank < wide || bank > BANK_BYTES - wide;
  }
  return meet;
}

/* Where more lanes meet, kernels/columns.cuh, which keeps them apart, is faster, as a rule. */
static bool few_ways(const rs_shape *shape, int64_t inner) {
  return ways(shape, shape->in, inner) <= MOST_WAYS &&
         (shape->in == shape->out || ways(shape, shape->out, inner) <= MOST_WAYS);
}

bool rs_short_fits(const rs_shape *shape, const rs_rows *rows) {
  int64_t inner = rs_columns_of(rows);
  return shape->made_of && inner <= shape->most_bytes && outer_bytes(shape, inner) <= shape->most_bytes &&
         rs_rows_one_run(rows, shape->length, shape->mask != 0) && few_ways(shape, inner);
}

/* Of so many columns of a slab: their elements, and the totals of their segments. */
static int shared_of(const rs_shape *shape, int columns) {
  int segments = (int)rs_ceiling(shape->length, shape->steps), count = columns * (int)shape->length;
  return rs_piece_bytes(count, shape->in, shape->mask, shape->out, shape->in == shape->out) +
         (segments > 1 ? segments * columns * shape->acc : 0);
}

void rs_short_cut(rs_cut *to, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  ShortCut *cut = &to->brief;
  int64_t inner = rs_columns_of(rows), all = rs_outers_of(rows), outers = shape->tile_bytes / outer_bytes(shape, inner);
  outers = rs_larger(1, rs_smaller(outers, rs_ceiling(all, rs_larger(shape->multiprocessors, 1))));
  cut->columns = (int32_t)inner;
  cut->outers = (int32_t)outers;
  need->blocks = rs_ceiling(all, outers);
  need->shared = shared_of(shape, (int)(outers * inner));
  need->workspace = 0;
}

int rs_short_shared(const rs_shape *shape) {
  return shared_of(shape, (int)(rs_larger(shape->tile_bytes, shape->most_bytes) / outer_bytes(shape, 1)));
}
