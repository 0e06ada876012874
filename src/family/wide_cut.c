/*
 * wide_cut.c - how a run of layout COLUMNS is cut, where columns are neighbours, in whole words or askew
 * SPDX-License-Identifier: MIT
 */
#include "column_cuts.h"

#include <string.h>

static int log2_up(int64_t n) {
  int log = 0;
  while (((int64_t)1 << log) < n)
    log++;
  return log;
}

static bool is_askew(const rs_shape *shape) {
  return shape->made_of == RS_TEMPLATE_ASKEW;
}

/* Whether each vector of columns lies on a multiple of the words it travels in. */
static bool lines_in_words(const rs_shape *shape, const rs_rows *rows, const rs_operand *a) {
  int last = rows->rank - 1;
  int64_t word = rs_smaller((is_askew(shape) ? 1 : shape->vector) * a->bytes, 16);
  int64_t all = (int64_t)(uintptr_t)a->data | rs_stride_bits(a, rows, 0, last);
  if (shape->length > 1)
    all |= a->step * a->bytes;
  return a->stride[last] == 1 && (all & (word - 1)) == 0; /* a division would take as long as all the rest */
}

bool rs_wide_fits(const rs_shape *shape, const rs_rows *rows) {
  bool all = shape->made_of && (is_askew(shape) || (rs_columns_of(rows) & (shape->vector - 1)) == 0);
  for (int a = 0; a < rs_arrays(rows) && all; a++)
    all = !rs_has_elements(rows, a) || lines_in_words(shape, rows, &rows->array[a]);
  return all;
}

int rs_wide_held(const rs_shape *shape) {
  return shape->packed ? 1 : shape->acc;
}

int rs_wide_rows(const rs_shape *shape) {
  return is_askew(shape) ? shape->threads / 32 : shape->vector == 1 ? shape->threads : 32 * shape->vector;
}

/* ---- askew ------------------------------------------------------------------------------------------------------- */

/* Columns of a strip, with those that it shares with its neighbours. */
static int strip_columns(const rs_shape *shape) {
  return 32 * shape->vector;
}

/* Elements of a sector that no two strips write; Askew::SECTOR. */
static int overlap_columns(int bytes) {
  return (bytes == 1 ? 16 : 32) / bytes;
}

static bool equal_bytes(const rs_shape *shape) {
  return shape->in == shape->out;
}

/* Askew: steps that a thread has in registers at a time; WideTile::BATCH. */
static int batch_of(const rs_shape *shape) {
  int64_t few = equal_bytes(shape) ? rs_word_unit(shape->in) : 1;
  return (int)rs_smaller(rs_larger(128 / (shape->vector * rs_wide_held(shape)), few), shape->steps);
}

/* Of `steps` steps at any offset. */
static int copy_bytes(int steps, int pitch, int bytes) {
  return (int)rs_up((steps * pitch + 2 * rs_word_unit(bytes)) * bytes, 16);
}

/* Where a warp has what, of the pitches in the cut. */
static void place_arrays(WideCut *cut, const rs_shape *shape) {
  cut->mask_at = copy_bytes(shape->steps, cut->in_pitch, shape->in);
  cut->out_at = cut->mask_at + (shape->mask ? copy_bytes(shape->steps, cut->mask_pitch, shape->mask) : 0);
  cut->room = cut->out_at + (equal_bytes(shape) ? 0 : copy_bytes(batch_of(shape), cut->out_pitch, shape->out));
}

/* More than results have where they take the elements' place at another offset: words are left over for the ends. */
static int more_pitch(const rs_shape *shape) {
  int batch = batch_of(shape);
  return (2 * rs_word_unit(shape->in) - 2 + batch - 1) / batch;
}

static void cut_askew(WideCut *cut, const rs_shape *shape, const rs_rows *rows) {
  int columns = strip_columns(shape), sign = shape->reverse ? -1 : 1;
  cut->in_pitch = rs_word_pitch(columns + rs_word_unit(shape->in) - 1, shape->in, sign * rows->array[RS_IN].step);
  cut->out_pitch = rs_word_pitch(columns + rs_word_unit(shape->out) - 1, shape->out, sign * rows->array[RS_OUT].step);
  if (equal_bytes(shape) && cut->in_pitch != cut->out_pitch)
    cut->in_pitch = rs_word_pitch(cut->out_pitch + more_pitch(shape), shape->in, sign * rows->array[RS_IN].step);
  cut->mask_pitch = shape->mask ? rs_word_pitch(columns + rs_word_unit(shape->mask) - 1, shape->mask,
                                                sign * rows->array[RS_MASK].step)
                                : 0;
  place_arrays(cut, shape);

  /* results of a step are as many words as lanes have, for the last strip too, wherever it begins */
  int last = columns - rs_word_unit(shape->out) + 1;
  cut->apart = columns - overlap_columns(shape->out);
  cut->most = columns - 1;
  if (rows->array[RS_IN].data == rows->array[RS_OUT].data) /* nobody may read what another strip has written */
    cut->most = last = cut->apart;
  cut->strips = cut->columns <= last ? 1 : 1 + (int32_t)rs_ceiling(cut->columns - last, cut->apart);
}

/* Of a block with these pitches. */
static int askew_bytes(const rs_shape *shape, int in_pitch, int mask_pitch, int out_pitch) {
  WideCut cut = {.in_pitch = in_pitch, .mask_pitch = mask_pitch, .out_pitch = out_pitch};
  place_arrays(&cut, shape);
  return shape->threads / 32 * cut.room;
}

int rs_wide_shared(const rs_shape *shape) {
  if (shape->made_of == RS_TEMPLATE_FURTHER_COLUMNS)
    return 0;
  if (!is_askew(shape))
    return shape->threads * shape->vector * (shape->steps * (shape->in + shape->mask + shape->beside) + shape->beside);
  int columns = strip_columns(shape);
  return askew_bytes(shape, columns + rs_word_unit(shape->in) - 1,
                     shape->mask ? columns + rs_word_unit(shape->mask) - 1 : 0, columns + rs_word_unit(shape->out) - 1);
}

int rs_wide_most_shared(const rs_shape *shape) {
  if (!is_askew(shape))
    return rs_wide_shared(shape);
  int columns = strip_columns(shape), in = rs_word_unit(shape->in), out = rs_word_unit(shape->out);
  return askew_bytes(shape, columns + 2 * in - 2 + (equal_bytes(shape) ? more_pitch(shape) + in - 1 : 0),
                     shape->mask ? columns + 2 * rs_word_unit(shape->mask) - 2 : 0, columns + 2 * out - 2);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

/* log2 of the vectors side by side, where there are more. Masks are a byte an element: in wide tensors, strips of 64
   columns bring 64 of them at a time, but fewer would bring less than a line of narrow elements. */
static int widest_strip(const rs_shape *shape, int64_t vectors) {
  enum { LINE = 128 };
  bool narrow = shape->mask && vectors < 1024 && shape->width / 2 * shape->vector * shape->in >= LINE;
  return log2_up(shape->width) - narrow;
}

/* A narrower strip, down to a sector of f32, where it takes a ninth fewer lanes for all columns. */
static int without_idle_lanes(int widest, int64_t columns) {
  enum { NARROWEST = 3 };
  int best = widest;
  for (int width = widest - 1; width >= NARROWEST; width--)
    if (8 * rs_up(columns, 1 << best) >= 9 * rs_up(columns, 1 << width))
      best = width;
  return best;
}

/* Threads side by side, log2. */
static int width_in_words(const rs_shape *shape, int64_t vectors, int threads) {
  int most = log2_up(rs_wide_rows(shape));
  int width = log2_up(vectors), widest = widest_strip(shape, vectors);
  if (width > widest)
    width = widest;
  if (shape->made_of == RS_TEMPLATE_FURTHER_COLUMNS)
    width = without_idle_lanes(width, vectors);
  return width < threads - most ? threads - most : width;
}

/* Whether each strip has far more tiles than are in work at a time. */
static bool deep(const WideCut *cut, int64_t blocks, const rs_shape *shape, const rs_rows *rows) {
  enum { LEAST_ROUNDS = 8 }; /* of as many tiles as lie between one and what it asks for */
  return rows->count == cut->columns && cut->strips <= shape->ahead_strips && blocks >= LEAST_ROUNDS * shape->ahead;
}

/* blocks: less than 1 where no int counts the tiles, of rows that no GPU has memory for. */
static void look_ahead(WideCut *cut, int64_t blocks, const rs_shape *shape, const rs_rows *rows) {
  if (!shape->ahead || blocks < 1 || !rs_rows_one_run(rows, shape->length, shape->mask != 0) ||
      (shape->ahead_strips && !deep(cut, blocks, shape, rows)))
    return;
  cut->ahead = shape->ahead;
  cut->share = (int32_t)rs_ceiling(rows->count * shape->length, blocks);
}

void rs_wide_cut(rs_cut *to, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  WideCut *cut = &to->wide;
  int threads = log2_up(shape->threads), last = rows->rank - 1;
  int64_t vectors = rows->shape[last] / shape->vector, segments = rs_ceiling(shape->length, shape->steps);
  int width = is_askew(shape) ? log2_up(shape->width) : width_in_words(shape, vectors, threads);
  memset(cut, 0, sizeof *cut);
  cut->segments = log2_up(segments);
  int rest = threads - width - cut->segments; /* threads that the length leaves */
  if (rest < 0)
    cut->segments = threads - width;
  while (rest > 0 && !is_askew(shape) && width < log2_up(vectors)) {
    width++;
    rest--;
  }
  cut->width = width;
  cut->columns = (int32_t)rows->shape[last];
  if (is_askew(shape)) {
    cut_askew(cut, shape, rows);
  } else {
    cut->apart = cut->most = shape->vector << width;
    cut->strips = (int32_t)rs_ceiling(vectors, (int64_t)1 << width);
  }
  cut->tiles = (int32_t)rs_ceiling(segments, (int64_t)1 << cut->segments);
  cut->outers = cut->groups = 1;
  if (rows->rank > 1) {
    bool cuts =
        shape->length > (int64_t)shape->threads / shape->width * shape->steps; /* a kernel for one outer a tile */
    int64_t there = rows->shape[last - 1], outers = rest > 0 && !cuts ? (int64_t)1 << rest : 1;
    cut->outers = (int32_t)(outers < there ? outers : there);
    cut->groups = (int32_t)rs_ceiling(there, cut->outers);
  }
  int64_t outers = cut->groups;
  for (int d = 0; d < last - 1; d++)
    outers *= rows->shape[d];
  need->blocks = outers * cut->tiles * cut->strips;
  look_ahead(cut, need->blocks, shape, rows);
  need->shared = is_askew(shape) ? shape->threads / 32 * cut->room : rs_wide_shared(shape);
  need->workspace = rs_columns_nodes(cut->tiles, outers * rows->shape[last], shape->acc);
}

size_t rs_wide_workspace(const rs_shape *shape, int64_t count) {
  int64_t tiles = rs_ceiling(shape->length, (int64_t)shape->threads / shape->width * shape->steps);
  return rs_columns_nodes(tiles, count, shape->acc);
}
