/*
 * at_once_cut.c - how a run of regime column is cut, where all tiles are in work at once
 * SPDX-License-Identifier: MIT
 */
#include "at_once_cut.h"

#include <string.h>

enum { WORD = 16, BANKS = 32 };

static int64_t parts(int64_t n, int64_t of) {
  return (n + of - 1) / of;
}

static int64_t up(int64_t n, int64_t unit) {
  return parts(n, unit) * unit;
}

static int64_t columns_of(const rs_rows *rows) {
  return rows->shape[rows->rank - 1];
}

/*
 * Of a strip: all, or so many that strips are nearly equal and share no sector of 32 bytes. A warp has one of them at a
 * time, and takes 1.5 us for it. Measured on an H100, f32, us, with at most 32 and 16: 1024 x 32 5.3, 3.9; 4096 x 64
 * 5.9, 4.5; 16384 x 64 9.9, 6.9.
 */
static int64_t strip_columns(const rs_at_once_shape *shape, const rs_rows *rows) {
  enum { MOST = 16, SECTOR = 32 };
  int64_t columns = columns_of(rows), strips = parts(columns, MOST);
  return strips == 1 ? columns : up(parts(columns, strips), SECTOR / shape->out);
}

/* One array, as the cut sees it. */
typedef struct array {
  const void *at;
  int bytes; /* of an element */
  int64_t step;
  const int64_t *stride;
} array;

static bool one_run(const array *a, const rs_rows *rows, int64_t strip) {
  return a->step == strip && strip == columns_of(rows);
}

static bool neighbours(const array *a, const rs_rows *rows) {
  return a->stride[rows->rank - 1] == 1;
}

/* Whether it travels in words of 16 bytes. In a run each segment is a whole number of them, wherever it begins. */
static bool in_words(const rs_at_once_shape *shape, const array *a, const rs_rows *rows, int64_t strip) {
  int last = rows->rank - 1;
  int64_t columns = columns_of(rows), all = (int64_t)(uintptr_t)a->at;
  if (!one_run(a, rows, strip) && columns * a->bytes % WORD != 0)
    return false;
  all |= strip * shape->steps * a->bytes;
  if (!one_run(a, rows, strip))
    all |= a->step * a->bytes | strip * a->bytes;
  if (shape->reverse)
    all |= shape->length * a->step * a->bytes;
  for (int d = 0; d < last; d++)
    if (rows->shape[d] > 1)
      all |= a->stride[d] * a->bytes;
  return all % WORD == 0;
}

/* Words of 4 bytes between segments, so that lanes of one that follow those of another find other banks. */
static int32_t pad_of(const rs_at_once_shape *shape, int bytes, int64_t strip) {
  int64_t line = up(strip * bytes, WORD) / 4, segment = strip * bytes * shape->steps / 4;
  int64_t pad = strip * bytes / 4 < BANKS ? ((line - segment) % BANKS + BANKS) % BANKS : 0;
  return (int32_t)(up(pad, WORD / 4) * 4 / bytes);
}

static int64_t place(AtOnceSheet *sheet, const rs_at_once_shape *shape, const array *a, const rs_rows *rows,
                     int64_t strip, int64_t segments, int64_t at) {
  sheet->at = (int32_t)at;
  sheet->pad = pad_of(shape, a->bytes, strip);
  sheet->one_by_one = !in_words(shape, a, rows, strip);
  sheet->by_step = one_run(a, rows, strip) ? 0 : rs_divisor(strip * a->bytes / WORD);
  sheet->by_segment = rs_divisor(strip * a->bytes * shape->steps / WORD);
  return at + up(segments * (strip * shape->steps + sheet->pad) * a->bytes, 128);
}

/* Of tiles of so many steps; returns the bytes of shared memory. */
static int64_t cut_steps(AtOnceCut *cut, const rs_at_once_shape *shape, const rs_rows *rows, int64_t steps) {
  const array in = {rows->array[RS_IN].data, shape->in, rows->array[RS_IN].step, rows->array[RS_IN].stride};
  const array out = {rows->array[RS_OUT].data, shape->out, rows->array[RS_OUT].step, rows->array[RS_OUT].stride};
  const array mask = {rows->array[RS_MASK].data, shape->mask, rows->array[RS_MASK].step, rows->array[RS_MASK].stride};
  int64_t strip = strip_columns(shape, rows), segments = steps / shape->steps, at = 0;
  memset(cut, 0, sizeof *cut);
  cut->columns = (int32_t)strip;
  cut->strips = (int32_t)parts(columns_of(rows), strip);
  cut->segments = (int32_t)segments;
  cut->tiles = (int32_t)parts(shape->length, steps);
  cut->by_columns = rs_divisor(strip);
  cut->by_strips = rs_divisor(cut->strips);
  cut->by_tiles = rs_divisor(cut->tiles);
  at = place(&cut->in, shape, &in, rows, strip, segments, at);
  if (shape->mask)
    at = place(&cut->mask, shape, &mask, rows, strip, segments, at);
  int64_t end = place(&cut->out, shape, &out, rows, strip, segments, shape->in == shape->out ? 0 : at);
  at = shape->in == shape->out ? at : end;
  cut->pitch = (int32_t)(strip | 1); /* lanes of one column, in segments that follow one another */
  cut->totals_at = (int32_t)at;
  return at + (segments + 1) * cut->pitch * shape->acc;
}

bool rs_at_once_small(const rs_at_once_shape *shape, const rs_rows *rows) {
  return shape->steps &&
         rows->count <= (int64_t)shape->multiprocessors * shape->tile_bytes / (shape->length * shape->in);
}

/*
 * Tiles of 1536 elements and more, a block each; larger ones where there would be more blocks than multiprocessors.
 * Measured on an H100, f32, us, with tiles of at least 1024, 1536 and 2048 elements: 1024 x 3 2.80, 2.80, 3.00; 16384 x
 * 3 3.42, 3.42, 3.61; 4096 x 16 4.14, 3.62, 3.64; 1024 x 256 5.43, 4.09, 4.10. Segments of 4 steps are 1 to 5% slower.
 */
int64_t rs_at_once_steps(const rs_at_once_shape *shape, const rs_rows *rows) {
  enum { LEAST_ELEMENTS = 1536 };
  int64_t blocks = shape->multiprocessors, columns = columns_of(rows), steps = RS_AT_ONCE_STEPS;
  if (columns < 2 || !rs_at_once_small(shape, rows))
    return 0;
  const array in = {rows->array[RS_IN].data, shape->in, rows->array[RS_IN].step, rows->array[RS_IN].stride};
  const array out = {rows->array[RS_OUT].data, shape->out, rows->array[RS_OUT].step, rows->array[RS_OUT].stride};
  const array mask = {rows->array[RS_MASK].data, shape->mask, rows->array[RS_MASK].step, rows->array[RS_MASK].stride};
  int64_t strip = strip_columns(shape, rows), of_step = rows->count / columns * parts(columns, strip);
  if (of_step > blocks || !neighbours(&in, rows) || !neighbours(&out, rows) ||
      (shape->mask && !neighbours(&mask, rows)))
    return 0;
  while (steps * strip < LEAST_ELEMENTS || parts(shape->length, steps) > shape->tiles ||
         parts(shape->length, steps) * of_step > blocks)
    steps *= 2;
  AtOnceCut cut;
  bool fits = steps <= (int64_t)RS_AT_ONCE_SEGMENTS * shape->steps && steps * strip * shape->in <= shape->tile_bytes;
  return fits && cut_steps(&cut, shape, rows, steps) <= shape->shared ? steps : 0;
}

void rs_at_once_cut_rows(AtOnceCut *cut, rs_column_need *need, const rs_at_once_shape *shape, const rs_rows *rows) {
  need->shared = (int)cut_steps(cut, shape, rows, rs_at_once_steps(shape, rows));
  need->blocks = rows->count / columns_of(rows) * cut->strips * cut->tiles;
  need->workspace = 0;
  if (cut->tiles > 1)
    need->workspace = (size_t)(RS_AT_ONCE_STATE + rows->count * cut->tiles * (shape->acc / 4)) * 8;
}
