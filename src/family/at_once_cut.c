/*
 * at_once_cut.c - how a run of layout COLUMNS is cut, where all tiles are in work at once
 * SPDX-License-Identifier: MIT
 */
#include "column_cuts.h"

#include <string.h>

enum { WORD = 16, BANKS = 32 };

/* ---- columns_at_once.cuh ----------------------------------------------------------------------------------------- */

/*
 * Of a strip: all, or so many that strips are nearly equal and share no sector of 32 bytes. A warp has one of them at a
 * time.
 */
static int64_t at_once_strip(const rs_shape *shape, const rs_rows *rows) {
  enum { MOST = 16, SECTOR = 32 };
  int64_t columns = rs_columns_of(rows), strips = rs_ceiling(columns, MOST);
  return strips == 1 ? columns : rs_up(rs_ceiling(columns, strips), SECTOR / shape->out);
}

static bool one_run(const rs_operand *a, const rs_rows *rows, int64_t strip) {
  return a->step == strip && strip == rs_columns_of(rows);
}

/* Whether it travels in words of 16 bytes. In a run each segment is a whole number of them, wherever it begins. */
static bool sheet_in_words(const rs_shape *shape, const rs_operand *a, const rs_rows *rows, int64_t strip) {
  int64_t all = (int64_t)(uintptr_t)a->data | rs_stride_bits(a, rows, 0, rows->rank - 1);
  if (!one_run(a, rows, strip) && rs_columns_of(rows) * a->bytes % WORD != 0)
    return false;
  all |= strip * shape->steps * a->bytes;
  if (!one_run(a, rows, strip))
    all |= a->step * a->bytes | strip * a->bytes;
  if (shape->reverse)
    all |= shape->length * a->step * a->bytes;
  return all % WORD == 0;
}

/* Words of 4 bytes between segments, so that lanes of one that follow those of another find other banks. */
static int32_t segment_pad(const rs_shape *shape, int64_t bytes, int64_t strip) {
  int64_t line = rs_up(strip * bytes, WORD) / 4, segment = strip * bytes * shape->steps / 4;
  int64_t pad = strip * bytes / 4 < BANKS ? ((line - segment) % BANKS + BANKS) % BANKS : 0;
  return (int32_t)(rs_up(pad, WORD / 4) * 4 / bytes);
}

static int64_t place_sheet(AtOnceSheet *sheet, const rs_shape *shape, const rs_operand *a, const rs_rows *rows,
                           int64_t strip, int64_t segments, int64_t at) {
  sheet->at = (int32_t)at;
  sheet->pad = segment_pad(shape, a->bytes, strip);
  sheet->one_by_one = !sheet_in_words(shape, a, rows, strip);
  sheet->by_step = one_run(a, rows, strip) ? 0 : rs_divisor(strip * a->bytes / WORD);
  sheet->by_segment = rs_divisor(strip * a->bytes * shape->steps / WORD);
  return at + rs_up(segments * (strip * shape->steps + sheet->pad) * a->bytes, 128);
}

/* Of tiles of so many steps; returns the bytes of shared memory. */
static int64_t cut_steps(AtOnceCut *cut, const rs_shape *shape, const rs_rows *rows, int64_t steps) {
  int64_t strip = at_once_strip(shape, rows), segments = steps / shape->steps, at = 0;
  memset(cut, 0, sizeof *cut);
  cut->columns = (int32_t)strip;
  cut->strips = (int32_t)rs_ceiling(rs_columns_of(rows), strip);
  cut->segments = (int32_t)segments;
  cut->tiles = (int32_t)rs_ceiling(shape->length, steps);
  cut->by_columns = rs_divisor(strip);
  cut->by_strips = rs_divisor(cut->strips);
  cut->by_tiles = rs_divisor(cut->tiles);
  at = place_sheet(&cut->in, shape, &rows->array[RS_IN], rows, strip, segments, at);
  if (shape->mask)
    at = place_sheet(&cut->mask, shape, &rows->array[RS_MASK], rows, strip, segments, at);
  bool in_place = shape->in == shape->out;
  int64_t end = place_sheet(&cut->out, shape, &rows->array[RS_OUT], rows, strip, segments, in_place ? 0 : at);
  at = in_place ? at : end;
  cut->pitch = (int32_t)(strip | 1); /* lanes of one column, in segments that follow one another */
  cut->totals_at = (int32_t)at;
  return at + (segments + 1) * cut->pitch * shape->acc;
}

bool rs_at_once_small(const rs_shape *shape, const rs_rows *rows) {
  return shape->made_of &&
         rows->count <= (int64_t)shape->multiprocessors * shape->tile_bytes / (shape->length * shape->in);
}

static bool neighbours(const rs_shape *shape, const rs_rows *rows) {
  bool all = true;
  for (int a = RS_IN; a <= (shape->mask ? RS_MASK : RS_OUT); a++)
    all = all && rows->array[a].stride[rows->rank - 1] == 1;
  return all;
}

/*
 * Steps of a tile; 0: the kernel does not take these rows. Tiles have 1536 elements and more, a block each; they are
 * larger where there would be more blocks than multiprocessors.
 */
static int64_t at_once_steps(const rs_shape *shape, const rs_rows *rows) {
  enum { LEAST_ELEMENTS = 1536 };
  int64_t blocks = shape->multiprocessors, columns = rs_columns_of(rows), steps = RS_AT_ONCE_STEPS;
  if (columns < 2 || !rs_at_once_small(shape, rows))
    return 0;
  int64_t strip = at_once_strip(shape, rows), of_step = rs_outers_of(rows) * rs_ceiling(columns, strip);
  if (of_step > blocks || !neighbours(shape, rows))
    return 0;
  while (steps * strip < LEAST_ELEMENTS || rs_ceiling(shape->length, steps) > shape->rows ||
         rs_ceiling(shape->length, steps) * of_step > blocks)
    steps *= 2;
  AtOnceCut cut;
  bool fits = steps <= (int64_t)RS_AT_ONCE_SEGMENTS * shape->steps && steps * strip * shape->in <= shape->tile_bytes;
  return fits && cut_steps(&cut, shape, rows, steps) <= shape->shared_bytes ? steps : 0;
}

bool rs_at_once_fits(const rs_shape *shape, const rs_rows *rows) {
  return at_once_steps(shape, rows) != 0;
}

void rs_at_once_cut(rs_cut *to, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  AtOnceCut *cut = &to->at_once;
  need->shared = (int)cut_steps(cut, shape, rows, at_once_steps(shape, rows));
  need->blocks = rs_outers_of(rows) * cut->strips * cut->tiles;
  need->workspace = 0;
  if (cut->tiles > 1)
    need->workspace = (size_t)(RS_AT_ONCE_STATE + rows->count * cut->tiles * (shape->acc / 4)) * 8;
}
