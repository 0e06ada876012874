/*
 * short_cut.c - how a run of regime column is cut, where short columns lie one run in memory
 * SPDX-License-Identifier: MIT
 */
#include "short_cut.h"

#include "piece.h"

static int64_t parts(int64_t n, int64_t of) {
  return (n + of - 1) / of;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Of an outer, the way in or the way out, whichever is more. */
static int64_t outer_bytes(const rs_short_shape *shape, int64_t inner) {
  return shape->length * inner * larger(shape->in + shape->mask, shape->out);
}

/*
 * How many lanes of a warp meet in one bank of shared memory, or the most that are allowed: lanes stand side by side
 * along a step, then a stride apart, from outer to outer or, where an outer is a slab, from segment to segment.
 */
enum { BANK_BYTES = 128, LANES = 32, MOST_WAYS = 3 };

static int ways(const rs_short_shape *shape, int bytes, int64_t inner) {
  bool single = 2 * outer_bytes(shape, inner) > shape->slab_bytes;
  int64_t stride = (single ? shape->steps : shape->length) * inner * bytes;
  int together = BANK_BYTES / bytes < LANES ? BANK_BYTES / bytes : LANES, meet = 1;
  int wide = (int)inner * bytes, bank = 0;
  for (int first = (int)inner; first < together && meet <= MOST_WAYS; first += (int)inner) {
    bank = (int)((bank + stride) & (BANK_BYTES - 1));
    meet += bank < wide || bank > BANK_BYTES - wide;
  }
  return meet;
}

/*
 * Where more lanes meet, kernels/columns.cuh is faster, as a rule. Measured on an H200 and an H100, f32, 2^26 elements,
 * ratio to memcpy, steps x columns, so and with it: two lanes in a bank, 64 x 16 0.991 1.000, 0.961 0.991; 2 x 4 0.968
 * 0.992, 0.829 0.853; three, 64 x 12 0.960 1.016, 0.952 1.003; 1000 x 7 1.021 1.014, 0.951 0.989; four, 64 x 8 0.903
 * 1.000, 0.953 0.991; 256 x 8 0.817 1.000, 0.962 0.989, but 8 x 8 0.979 0.997, 0.957 0.984; five, 64 x 7 0.846 1.010,
 * 0.975 1.008; eight, 64 x 4 0.570 0.795, 0.960 0.991.
 */
static bool few_ways(const rs_short_shape *shape, int64_t inner) {
  return ways(shape, shape->in, inner) <= MOST_WAYS &&
         (shape->in == shape->out || ways(shape, shape->out, inner) <= MOST_WAYS);
}

/* Whole words of 16 bytes, between which kernels/columns.cuh has room for what keeps lanes apart. */
static bool in_words(const rs_short_shape *shape, int64_t inner) {
  int64_t elements = shape->length * inner;
  return elements * shape->in % 16 == 0 && elements * shape->out % 16 == 0 && elements * shape->mask % 16 == 0;
}

bool rs_short_fits(const rs_short_shape *shape, const rs_rows *rows) {
  int64_t inner = rows->shape[rows->rank - 1];
  return shape->steps && inner <= shape->most_bytes && outer_bytes(shape, inner) <= shape->most_bytes &&
         rs_rows_one_run(rows, shape->length, shape->mask != 0) && (few_ways(shape, inner) || !in_words(shape, inner));
}

/* Of so many columns of a slab: their elements, and the totals of their segments. */
static int shared_of(const rs_short_shape *shape, int columns) {
  int segments = (int)parts(shape->length, shape->steps), count = columns * (int)shape->length;
  return rs_piece_bytes(count, shape->in, shape->mask, shape->out, shape->in == shape->out) +
         (segments > 1 ? segments * columns * shape->acc : 0);
}

void rs_short_cut_rows(ShortCut *cut, rs_column_need *need, const rs_short_shape *shape, const rs_rows *rows) {
  int64_t inner = rows->shape[rows->rank - 1], all = 1, outers = shape->slab_bytes / outer_bytes(shape, inner);
  for (int d = 0; d < rows->rank - 1; d++)
    all *= rows->shape[d];
  if (outers > parts(all, larger(shape->multiprocessors, 1)))
    outers = parts(all, larger(shape->multiprocessors, 1));
  if (outers < 1)
    outers = 1;
  cut->columns = (int32_t)inner;
  cut->outers = (int32_t)outers;
  need->blocks = parts(all, outers);
  need->shared = shared_of(shape, (int)(outers * inner));
  need->workspace = 0;
}

int rs_short_shared(const rs_short_shape *shape) {
  return shared_of(shape, (int)(larger(shape->slab_bytes, shape->most_bytes) / outer_bytes(shape, 1)));
}
