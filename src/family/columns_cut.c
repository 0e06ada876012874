/*
 * columns_cut.c - how a run of layout COLUMNS is cut into tiles
 * SPDX-License-Identifier: MIT
 */
#include "column_cuts.h"

#include <string.h>

/* All columns of all steps of two outers that follow one another are one run. */
static bool stacked(const rs_operand *a, const rs_rows *rows, int64_t length) {
  int last = rows->rank - 1;
  return rs_steps_in_a_run(a, rows, length) && (rows->rank == 1 || a->stride[last - 1] == length * rows->shape[last]);
}

/* Steps lie nearer to one another than columns: a transposed array. */
static bool along_steps(const rs_operand *a, const rs_rows *rows) {
  int64_t column = a->stride[rows->rank - 1];
  return !rs_neighbours(a, rows) && (a->step < 0 ? -a->step : a->step) < (column < 0 ? -column : column);
}

/* ---- how large --------------------------------------------------------------------------------------------------- */

static int copies_bytes(const rs_shape *shape) {
  return shape->in + shape->mask + (shape->in == shape->out || shape->straight ? 0 : shape->out);
}

/* Of a tile that has all steps; a segment's total counts where it is not small beside its elements. */
static int64_t whole_elements(const rs_shape *shape) {
  return shape->tile_bytes / (copies_bytes(shape) + shape->part / shape->steps);
}
static int64_t most_elements(const rs_shape *shape) {
  return whole_elements(shape) + whole_elements(shape) / 4;
}

/* Of a tile of few columns that has all steps, if it can: three blocks share a multiprocessor. */
static int64_t few_columns_elements(const rs_shape *shape) {
  return shape->shared / 7 * 2 / copies_bytes(shape);
}

/* Whether a thread has a whole column, and room for no more steps than it has. A kernel for any length does not know.
 */
static bool single(const rs_shape *shape) {
  return shape->length <= shape->steps && !shape->tiles;
}

/* Whether segments lie apart: lanes of a warp have other segments; smaller ones are less than what lies between them.
 */
static bool apart(const rs_shape *shape, int64_t columns) {
  return columns < 32 && columns * shape->steps * shape->in >= 16;
}

/*
 * Bytes between segments, so that each can lie as far from a word of 16 bytes as in memory, with all of its first word
 * and its last; and so many words from one segment to the next that lanes which have other segments meet in few banks:
 * of the 8 words that banks have, a step takes some, and those of the next segment are to be others.
 */
static int64_t tile_pad(const rs_shape *shape, int64_t columns, int bytes) {
  enum { WORD = 16, BANKS = 8 };
  if (!bytes || !apart(shape, columns))
    return 0;
  bool lone = single(shape); /* in reverse it begins anywhere in its room */
  int64_t size = (lone ? shape->length : shape->steps) * columns * bytes,
          taken = rs_ceiling(columns * bytes, WORD) % BANKS;
  int64_t words = rs_ceiling(size + (lone && shape->reverse ? 3 : 1) * WORD - bytes, WORD);
  while (taken == 1 ? words % 2 == 0 : words % BANKS != taken && words % BANKS != BANKS - taken)
    words++;
  return words * WORD - size;
}
static int64_t pads_of(const rs_shape *shape, int64_t columns) {
  return tile_pad(shape, columns, shape->in) + tile_pad(shape, columns, shape->mask) +
         (shape->in == shape->out || shape->straight ? 0 : tile_pad(shape, columns, shape->out));
}

/* Of a tile that has not all steps, about. */
static int64_t tile_bytes(const rs_shape *shape, int64_t columns, int64_t steps) {
  int64_t segments = rs_ceiling(steps, shape->steps);
  int64_t totals = (segments + 1) * shape->part + 3 * shape->acc; /* and what comes from other tiles */
  return columns * (steps * copies_bytes(shape) + totals) + segments * pads_of(shape, columns) + 512;
}

/*
 * Elements that a multiprocessor holds in tiles of so many columns and steps; 0: too few have room. Tiles of few to a
 * column hardly wait for one another; totals of several words then want threads, more than three quarters of those that
 * registers allow, before elements: logsumexp of 8192 x 4096 f32 transposed on an H200 0.26 of memcpy with three
 * blocks, 0.35 with four.
 */
static int64_t held(const rs_shape *shape, int64_t columns, int64_t steps) {
  int64_t blocks = shape->shared / (tile_bytes(shape, columns, steps) + 1024 + 512);
  bool threads_first = shape->part > 4 && shape->length <= RS_FEW_TILES_LENGTH;
  int64_t least = threads_first ? rs_larger(2, 3 * shape->min_blocks / 4 + 1) : 2;
  return blocks < least ? 0 : rs_smaller(blocks, shape->min_blocks) * columns * steps;
}

static int64_t most_steps(const rs_shape *shape) {
  return 32 * RS_COLUMN_LANE_SEGMENTS * RS_COLUMN_CHUNKS * shape->steps;
}

/*
 * Steps of a tile that has not all, where a step has so many strips of so many columns: those with which a
 * multiprocessor holds the most, since that hides the time a tile takes; of nearly equals the fewest, since more blocks
 * then share a multiprocessor. Small tensors are cut into tiles for all multiprocessors.
 */
static int64_t tile_steps(const rs_shape *shape, int64_t columns, int64_t strips) {
  int64_t best = RS_COLUMN_STEPS, most = rs_smaller(shape->length - 1, most_steps(shape));
  for (int64_t steps = 2 * RS_COLUMN_STEPS; steps <= most && held(shape, columns, steps) > 0; steps *= 2)
    if (15 * held(shape, columns, steps) >= 16 * held(shape, columns, best))
      best = steps;
  int64_t blocks = (int64_t)shape->multiprocessors * shape->min_blocks;
  while (best > RS_COLUMN_STEPS && rs_ceiling(shape->length, best) * strips < blocks)
    best /= 2;
  return rs_smaller(best, shape->length);
}

/* many: outers, for large tiles. */
static bool whole(const rs_shape *shape, int64_t columns, bool many) {
  enum { FEW = 32 };
  int64_t most = many && columns <= FEW ? few_columns_elements(shape) : most_elements(shape);
  return columns * shape->length <= most && shape->length <= most_steps(shape);
}

bool rs_columns_one_strip(const rs_shape *shape, const rs_rows *rows) {
  enum { MOST_BYTES = 900, MOST_BYTES_LONG = 600, MOST_OF_BYTES = 300 }; /* of a step; and columns */
  int64_t columns = rs_columns_of(rows), bytes = columns * (shape->in + shape->mask + shape->out);
  bool few = shape->bytes ? columns <= MOST_OF_BYTES
                          : bytes <= (shape->length <= RS_FEW_TILES_LENGTH ? MOST_BYTES : MOST_BYTES_LONG);
  return few && rs_rows_one_run(rows, shape->length, shape->mask != 0);
}

static void cut_tiles(ColumnCut *cut, const rs_shape *shape, const rs_rows *rows, bool many) {
  int64_t inner = rs_columns_of(rows), length = shape->length;
  int64_t elements = whole_elements(shape);
  int64_t columns = inner, strip = shape->strip_bytes / shape->in;
  if (strip < 32)
    strip = 32;
  if (rs_columns_one_strip(shape, rows))
    strip = inner;
  while (strip > 1 && tile_bytes(shape, strip, RS_COLUMN_STEPS) > shape->shared / 2)
    strip /= 2;
  if (!whole(shape, columns, many) && columns > strip) {
    if (strip * length < elements)
      strip = elements / length;
    columns = rs_ceiling(inner, rs_ceiling(inner, strip));
    columns = rs_smaller(inner, rs_up(columns, inner % 8 ? 1 : 8));
  }
  cut->columns = (int32_t)columns;
  cut->strips = (int32_t)rs_ceiling(inner, columns);
  int64_t steps = whole(shape, columns, many) ? length : tile_steps(shape, columns, cut->strips * rs_outers_of(rows));
  cut->steps = (int32_t)steps;
  cut->tiles = (int32_t)rs_ceiling(length, steps);
  cut->segments = (int32_t)rs_ceiling(steps, shape->steps);
  cut->outers = cut->groups = 1;
  if (rows->rank > 1) {
    int64_t there = rows->shape[rows->rank - 2], outers = 1;
    if (cut->strips == 1 && cut->tiles == 1) {
      outers = rs_smaller(there, elements / (columns * rs_up(length, shape->steps)));
      if (outers < 1)
        outers = 1;
    }
    cut->outers = (int32_t)rs_ceiling(there, rs_ceiling(there, outers));
    cut->groups = (int32_t)rs_ceiling(there, cut->outers);
  }
}

/* ---- how it travels ---------------------------------------------------------------------------------------------- */

/* Whether the kernel has outers without a gap between them in shared memory: a last segment has room for all steps. */
static bool follow(const ColumnCut *cut, const rs_shape *shape) {
  return cut->outers == 1 || single(shape) || shape->length % shape->steps == 0;
}

static int mode_of(const ColumnCut *cut, const rs_shape *shape, const rs_rows *rows, const rs_operand *a) {
  enum { LEAST_STEP_BYTES = 32 };
  if (cut->outers > 1 ? stacked(a, rows, shape->length)
                      : cut->strips == 1 && rs_steps_in_a_run(a, rows, shape->length)) {
    if (apart(shape, cut->columns))
      return BY_SEGMENTS;
    return follow(cut, shape) ? AS_A_RUN : ONE_BY_ONE;
  }
  bool words = rs_neighbours(a, rows) && cut->outers == 1 && cut->columns * a->bytes >= LEAST_STEP_BYTES;
  return words ? BY_STEPS : ONE_BY_ONE;
}

uint32_t rs_divisor(int64_t d) {
  return d <= 1 ? 0 : (uint32_t)(((UINT64_C(1) << 32) + (uint64_t)d - 1) / (uint64_t)d);
}

/*
 * Elements between steps: in words as far as in memory, but for whole words, and there is room for all of the first
 * word and the last. Where 8 lanes take 8 steps of a column, these must not meet in few banks.
 */
static int pitch_of(const ColumnCut *cut, const rs_operand *a, int mode, bool steps_side_by_side) {
  int64_t unit = 16 / a->bytes, pitch = cut->columns;
  if (mode == BY_STEPS) {
    pitch += pitch % unit == 0 && a->step % unit == 0 ? unit : 2 * (unit - 1);
    while ((pitch - a->step) % unit)
      pitch++;
  } else if (steps_side_by_side && mode < BY_SEGMENTS) {
    pitch = rs_up(pitch, unit);
    if (pitch / unit % 2 == 0)
      pitch += unit;
  }
  return (int)pitch;
}

/* For the words of a step, wherever it begins. */
static uint32_t word_divisor(const ColumnCut *cut, const rs_operand *a, int mode) {
  int unit = 16 / a->bytes;
  return mode == BY_STEPS ? rs_divisor((cut->columns + 2 * unit - 2) / unit) : 0;
}

/* Elements between segments. Steps in words keep off them by their pitch. */
static int pad_elements(const ColumnCut *cut, const rs_shape *shape, const rs_operand *a, int mode) {
  return mode == BY_STEPS ? 0 : (int)(tile_pad(shape, cut->columns, a->bytes) / a->bytes);
}

static int room_of(const ColumnCut *cut, const rs_shape *shape, const rs_operand *a, int pitch, int pad) {
  int64_t room = (int64_t)cut->segments * shape->steps, next = single(shape) ? shape->length : room;
  int64_t elements = ((cut->outers - 1) * next + room) * pitch; /* in reverse a single segment lies at its room's end */
  int64_t pads = (int64_t)cut->outers * cut->segments * pad;
  enum { ENDS = 32 }; /* of the words that it begins and ends in */
  return (int)rs_up((elements + pads) * a->bytes + ENDS, 128);
}

size_t rs_columns_nodes(int64_t tiles, int64_t count, int acc) {
  int64_t nodes = 0, group = 1 << RS_COLUMN_GROUP_LOG;
  for (; tiles > 1; tiles = tiles <= group ? 1 : rs_ceiling(tiles, group))
    nodes += tiles;
  return nodes ? 8 + (size_t)(nodes * count) * 2 * (size_t)acc : 0;
}

/* Where a tile's copies, totals and carries lie in shared memory, of which all of them take so many bytes. */
static int place_tile(ColumnCut *cut, const rs_shape *shape, const rs_rows *rows) {
  const rs_operand *in = &rows->array[RS_IN], *out = &rows->array[RS_OUT], *mask = &rows->array[RS_MASK];
  bool in_place = shape->in == shape->out, in_turned = along_steps(in, rows), out_turned = along_steps(out, rows);
  cut->in_mode = mode_of(cut, shape, rows, in);
  cut->out_mode = shape->straight ? STRAIGHT : mode_of(cut, shape, rows, out);
  cut->in_pitch = pitch_of(cut, in, cut->in_mode, in_turned || (in_place && out_turned));
  cut->out_pitch = pitch_of(cut, out, cut->out_mode, out_turned || (in_place && in_turned));
  cut->in_pad = pad_elements(cut, shape, in, cut->in_mode);
  cut->out_pad = pad_elements(cut, shape, out, cut->out_mode);
  int at = room_of(cut, shape, in, cut->in_pitch, cut->in_pad);
  if (in_place) /* whichever of the two says how the copy lies */
    at = (int)rs_larger(at, room_of(cut, shape, out, cut->out_pitch, cut->out_pad));
  if (shape->mask) {
    cut->mask_mode = mode_of(cut, shape, rows, mask);
    cut->mask_pitch = pitch_of(cut, mask, cut->mask_mode, along_steps(mask, rows));
    cut->mask_pad = pad_elements(cut, shape, mask, cut->mask_mode);
    cut->mask_at = at;
    at += room_of(cut, shape, mask, cut->mask_pitch, cut->mask_pad);
  }
  if (!in_place && !shape->straight) {
    cut->out_at = at;
    at += room_of(cut, shape, out, cut->out_pitch, cut->out_pad);
  }
  cut->totals_at = at;
  if (!single(shape))
    at += (int)rs_up((int64_t)cut->outers * (cut->segments + 1) * cut->columns * shape->part, 128);
  cut->carries_at = at;
  if (cut->tiles > 1)
    at += 3 * cut->columns * shape->acc;
  return at;
}

static void set_divisors(ColumnCut *cut, const rs_shape *shape, const rs_rows *rows) {
  cut->by_in = word_divisor(cut, &rows->array[RS_IN], cut->in_mode);
  cut->by_out = word_divisor(cut, &rows->array[RS_OUT], cut->out_mode);
  if (shape->mask)
    cut->by_mask = word_divisor(cut, &rows->array[RS_MASK], cut->mask_mode);
  if (apart(shape, cut->columns))
    cut->by_segment = rs_divisor((int64_t)shape->steps * cut->columns);
  if (cut->outers > 1)
    cut->by_outer = rs_divisor(shape->length * cut->columns);
  cut->by_columns = rs_divisor(cut->columns);
  cut->by_segments = rs_divisor(cut->segments);
}

static void cut_rows(ColumnCut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  memset(cut, 0, sizeof *cut);
  /* few are better cut into tiles for all multiprocessors; large tiles were measured of neighbours only */
  bool many = rs_neighbours(&rows->array[RS_IN], rows) && rs_neighbours(&rows->array[RS_OUT], rows) &&
              rs_outers_of(rows) >= shape->multiprocessors;
  cut_tiles(cut, shape, rows, many);
  while (cut->lanes_log < 5 && RS_COLUMN_LANE_SEGMENTS << cut->lanes_log < cut->segments)
    cut->lanes_log++;
  need->shared = place_tile(cut, shape, rows);
  set_divisors(cut, shape, rows);
  int64_t outers = cut->groups;
  for (int d = 0; d < rows->rank - 2; d++)
    outers *= rows->shape[d];
  need->blocks = outers * cut->tiles * cut->strips;
  need->workspace = 0;
  if (cut->tiles > 1)
    need->workspace = rs_columns_nodes(cut->tiles, outers * rs_columns_of(rows), shape->acc);
}

/* Results of another size than elements, whose place they can't take: neighbours that fill sectors of memory. */
static bool straight(const rs_shape *shape, const rs_rows *rows) {
  enum { LEAST_BYTES = 64 };
  return shape->in != shape->out && rs_neighbours(&rows->array[RS_OUT], rows) &&
         rs_columns_of(rows) * shape->out >= LEAST_BYTES;
}

/* What lies between steps and segments, and steps that a last one lacks, comes on top of a tile's elements. */
void rs_columns_cut(rs_cut *to, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  ColumnCut *cut = &to->any;
  rs_shape smaller = *shape;
  smaller.straight = straight(shape, rows);
  cut_rows(cut, need, &smaller, rows);
  while (need->shared > rs_columns_shared(shape) && smaller.tile_bytes > 1024) {
    smaller.tile_bytes -= smaller.tile_bytes / 4;
    smaller.shared -= smaller.shared / 4;
    cut_rows(cut, need, &smaller, rows);
  }
}

int rs_columns_shared(const rs_shape *shape) {
  return shape->shared / 2;
}

size_t rs_columns_workspace(const rs_shape *shape, int64_t count) {
  return rs_columns_nodes(rs_ceiling(shape->length, RS_COLUMN_STEPS), count, shape->acc);
}

size_t rs_columns_workspace_of_one(const rs_shape *shape) {
  int64_t steps = whole(shape, 1, false) ? shape->length : tile_steps(shape, 1, 1);
  return rs_columns_nodes(rs_ceiling(shape->length, steps), 1, shape->acc);
}
