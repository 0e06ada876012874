/*
 * wide_cut.c - how a run of regime column is cut, where columns come in whole words or one by one
 * SPDX-License-Identifier: MIT
 */
#include "wide_cut.h"

#include <string.h>

static int64_t parts(int64_t n, int64_t of) {
  return (n + of - 1) / of;
}

static int log2_up(int64_t n) {
  int log = 0;
  while (((int64_t)1 << log) < n)
    log++;
  return log;
}

/* Whether each vector of columns lies on a multiple of the words it travels in. */
static bool in_words(const rs_wide_shape *shape, const rs_rows *rows, const void *at, int bytes, int64_t step,
                     const int64_t *stride) {
  int vector = shape->vector, word = vector * bytes < 16 ? vector * bytes : 16, last = rows->rank - 1;
  int64_t rest = word - 1; /* a power of two less one: each run asks, and a division takes as long as all the others */
  bool fits =
      ((uintptr_t)at & (uintptr_t)rest) == 0 && stride[last] == 1 && ((step * bytes & rest) == 0 || shape->length == 1);
  for (int d = 0; d < last; d++)
    fits = fits && ((stride[d] * bytes & rest) == 0 || rows->shape[d] == 1);
  return fits;
}

bool rs_wide_fits(const rs_wide_shape *shape, const rs_rows *rows) {
  return shape->vector && (rows->shape[rows->rank - 1] & (shape->vector - 1)) == 0 &&
         in_words(shape, rows, rows->in, shape->in, rows->in_step, rows->in_stride) &&
         in_words(shape, rows, rows->out, shape->out, rows->out_step, rows->out_stride) &&
         (!shape->mask || in_words(shape, rows, rows->mask, shape->mask, rows->mask_step, rows->mask_stride));
}

/* One by one: where it is a Strip (BY_ALL in wide.cuh), room for parts of 64 columns and more at any offset. */
static int narrow_bytes(const rs_wide_shape *shape) {
  int all = shape->threads * shape->steps;
  bool strip = !shape->mask && shape->in >= 2;
  return strip ? (all * shape->in + all / 64 * 2 * (16 - shape->in) + 31) / 16 * 16 : all * (shape->in + shape->mask);
}

int rs_wide_shared(const rs_wide_shape *shape) {
  if (shape->vector == 1)
    return narrow_bytes(shape);
  return shape->threads * shape->vector * shape->steps * (shape->in + shape->mask);
}

/*
 * log2 of the vectors side by side, where there are more. Masks are a byte an element: in wide tensors, strips of 64
 * columns bring 64 of them at a time. Measured on an H200, f32 masked by bool, 8 and 16 vectors,
 * ratio to memcpy: 16384 x 4096 0.858, 0.915; 64 x 4096 x 1024 0.901, 0.865.
 */
static int widest_strip(const rs_wide_shape *shape, int64_t vectors) {
  return log2_up(shape->width) - (shape->mask && shape->width > 1 && vectors < 1024);
}

enum { LEAST_STRIP = 6 }; /* columns one by one, log2: narrow_bytes has room for no narrower ones */

void rs_wide_cut_rows(rs_wide_cut *cut, rs_column_need *need, const rs_wide_shape *shape, const rs_rows *rows) {
  int vector = shape->vector, threads = log2_up(shape->threads), last = rows->rank - 1;
  int64_t vectors = rows->shape[last] / vector, segments = parts(shape->length, shape->steps);
  int most = log2_up(32 * vector); /* ROWS in wide.cuh */
  int width = log2_up(vectors), widest = widest_strip(shape, vectors), rest;
  if (width > widest)
    width = widest;
  if (width < threads - most)
    width = threads - most;
  if (vector == 1 && width < LEAST_STRIP)
    width = LEAST_STRIP;
  cut->segments = log2_up(segments);
  rest = threads - width - cut->segments; /* threads that the length leaves */
  if (rest < 0)
    cut->segments = threads - width;
  while (rest > 0 && width < log2_up(vectors)) {
    width++;
    rest--;
  }
  cut->width = width;
  cut->vectors = (int32_t)vectors;
  cut->strips = (int32_t)parts(vectors, (int64_t)1 << width);
  cut->tiles = (int32_t)parts(segments, (int64_t)1 << cut->segments);
  cut->outers = cut->groups = 1;
  if (rows->rank > 1) {
    bool cuts =
        shape->length > (int64_t)shape->threads / shape->width * shape->steps; /* a kernel for one outer a tile */
    int64_t there = rows->shape[last - 1], outers = rest > 0 && !cuts ? (int64_t)1 << rest : 1;
    cut->outers = (int32_t)(outers < there ? outers : there);
    cut->groups = (int32_t)parts(there, cut->outers);
  }
  int64_t outers = cut->groups;
  for (int d = 0; d < last - 1; d++)
    outers *= rows->shape[d];
  need->blocks = outers * cut->tiles * cut->strips;
  need->shared = rs_wide_shared(shape);
  need->workspace = rs_columns_nodes(cut->tiles, shape->lanes, outers * rows->shape[last], shape->acc);
}

size_t rs_wide_workspace(const rs_wide_shape *shape, int64_t count) {
  int64_t tiles = parts(shape->length, (int64_t)shape->threads / shape->width * shape->steps);
  return rs_columns_nodes(tiles, shape->lanes, count, shape->acc);
}
