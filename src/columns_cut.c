/*
 * columns_cut.c - how a run of regime column is cut into tiles
 * SPDX-License-Identifier: MIT
 */
#include "columns_cut.h"

#include <stdbool.h>
#include <string.h>

static int64_t up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

static int64_t parts(int64_t n, int64_t of) {
  return (n + of - 1) / of;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t power_below(int64_t n) { /* the largest power of two up to n >= 1 */
  int64_t p = 1;
  while (p <= n / 2)
    p *= 2;
  return p;
}

/* One array, as the cut sees it. */
typedef struct array {
  int bytes; /* of an element; 0: there is none */
  int64_t step;
  const int64_t *stride;
} array;

static bool neighbours(const array *a, const rs_rows *rows) {
  return a->stride[rows->rank - 1] == 1 || rows->shape[rows->rank - 1] == 1;
}

/* All columns of all steps are one run; and those of all outers. */
static bool one_run(const array *a, const rs_rows *rows, int64_t length) {
  return neighbours(a, rows) && (a->step == rows->shape[rows->rank - 1] || length == 1);
}
static bool stacked(const array *a, const rs_rows *rows, int64_t length) {
  int last = rows->rank - 1;
  return one_run(a, rows, length) && (rows->rank == 1 || a->stride[last - 1] == length * rows->shape[last]);
}

/* ---- how large --------------------------------------------------------------------------------------------------- */

/* Of an element; a segment's total counts where it is not small beside that. */
static int copies_bytes(const rs_column_shape *shape) {
  return shape->in + shape->mask + (shape->in == shape->out ? 0 : shape->out) + shape->acc / shape->steps;
}

static int64_t most_elements(const rs_column_shape *shape) {
  int64_t elements = shape->tile_bytes / copies_bytes(shape);
  return elements + elements / 4;
}

static void cut_size(rs_column_cut *cut, const rs_column_shape *shape, const rs_rows *rows) {
  int64_t inner = rows->shape[rows->rank - 1], length = shape->length;
  int64_t elements = shape->tile_bytes / copies_bytes(shape), most = most_elements(shape);
  int64_t columns = inner;
  if (columns * least(length, RS_COLUMN_STEPS) > most) {
    columns = least(shape->strip_bytes / shape->in, elements / RS_COLUMN_STEPS);
    if (columns * length < elements)
      columns = elements / length;
    columns = columns < 32 ? 32 : columns / 32 * 32;
    columns = least(inner, up(parts(inner, parts(inner, columns)), 32));
  }
  cut->columns = (int32_t)columns;
  cut->strips = (int32_t)parts(inner, columns);
  int64_t steps = length;
  if (columns * length > most) {
    steps = power_below(most / columns);
    if (steps < RS_COLUMN_STEPS)
      steps = RS_COLUMN_STEPS;
    if (steps > length)
      steps = length;
  }
  cut->steps = (int32_t)steps;
  cut->tiles = (int32_t)parts(length, steps);
  cut->segments = (int32_t)parts(steps, shape->steps);
  cut->top = cut->segments > 1 ? (int32_t)power_below(cut->segments - 1) : 0;

  cut->outers = cut->groups = 1;
  if (rows->rank > 1) {
    int64_t there = rows->shape[rows->rank - 2], outers = 1;
    if (cut->strips == 1 && cut->tiles == 1) {
      outers = least(there, elements / (columns * up(length, shape->steps)));
      if (outers < 1)
        outers = 1;
    }
    cut->outers = (int32_t)parts(there, parts(there, outers));
    cut->groups = (int32_t)parts(there, cut->outers);
  }
}

/* ---- how it travels ---------------------------------------------------------------------------------------------- */

static int mode_of(const rs_column_cut *cut, const rs_column_shape *shape, const rs_rows *rows, const array *a) {
  if (cut->outers > 1)
    return stacked(a, rows, shape->length) ? RS_AS_A_RUN : RS_ONE_BY_ONE;
  if (cut->strips == 1 && one_run(a, rows, shape->length))
    return RS_AS_A_RUN;
  return neighbours(a, rows) && cut->columns * a->bytes >= 64 ? RS_BY_STEPS : RS_ONE_BY_ONE;
}

/* Every step of the copy lies as far from a multiple of 16 bytes as the original. */
static int pitch_of(const rs_column_cut *cut, const array *a, int mode) {
  if (mode != RS_BY_STEPS)
    return cut->columns;
  int64_t unit = 16 / a->bytes;
  return (int)(cut->columns + (((a->step - cut->columns) % unit) + unit) % unit);
}

static int room_of(const rs_column_cut *cut, const rs_column_shape *shape, const array *a, int pitch) {
  int64_t elements =
      (int64_t)(cut->outers - 1) * shape->length * pitch + (int64_t)(cut->steps - 1) * pitch + cut->columns;
  return (int)up(elements * a->bytes + 16, 128);
}

static uint32_t divisor(int32_t d) {
  return d == 1 ? 0 : (uint32_t)(((UINT64_C(1) << 32) + (uint32_t)d - 1) / (uint32_t)d);
}

/*
 * Lanes of a warp read segments of neighbouring columns; where those are few, several segments, whose first steps lie
 * in few banks of shared memory.
 */
static void cut_turns(rs_column_cut *cut, const rs_column_shape *shape) {
  int lanes = shape->in == 8 ? 16 : 32, banks = 128 / shape->in;
  int apart = shape->steps * cut->in_pitch % banks, period = 1;
  while (apart * period % banks)
    period *= 2;
  int rows = (lanes + cut->columns - 1) / cut->columns; /* segments that a warp reads at once */
  int turns = 1;
  while (turns < shape->steps && turns * period < rows)
    turns *= 2;
  for (cut->turn_shift = 0; 1 << cut->turn_shift < period;)
    cut->turn_shift++;
  cut->turn_mask = turns - 1;
}

static size_t nodes_bytes(const rs_column_shape *shape, int64_t steps, int64_t count) {
  int64_t nodes = 0;
  for (int64_t tiles = parts(shape->length, steps); tiles > 1;
       tiles = tiles <= shape->lanes ? 1 : parts(tiles, shape->lanes))
    nodes += tiles;
  return nodes ? 8 + (size_t)(nodes * count) * 2 * (size_t)shape->acc : 0;
}

void rs_columns_cut(rs_column_cut *cut, rs_column_need *need, const rs_column_shape *shape, const rs_rows *rows) {
  const array in = {shape->in, rows->in_step, rows->in_stride};
  const array out = {shape->out, rows->out_step, rows->out_stride};
  const array mask = {shape->mask, rows->mask_step, rows->mask_stride};
  memset(cut, 0, sizeof *cut);
  cut_size(cut, shape, rows);

  cut->in_mode = mode_of(cut, shape, rows, &in);
  cut->out_mode = mode_of(cut, shape, rows, &out);
  if (shape->in == shape->out && cut->in_mode == RS_BY_STEPS && cut->out_mode == RS_AS_A_RUN)
    cut->out_mode = RS_BY_STEPS; /* as the copy lies */
  cut->in_pitch = pitch_of(cut, &in, cut->in_mode);
  cut->out_pitch = pitch_of(cut, &out, cut->out_mode);
  int at = room_of(cut, shape, &in, cut->in_pitch);
  if (shape->mask) {
    cut->mask_mode = mode_of(cut, shape, rows, &mask);
    cut->mask_pitch = pitch_of(cut, &mask, cut->mask_mode);
    cut->mask_at = at;
    at += room_of(cut, shape, &mask, cut->mask_pitch);
  }
  if (shape->in != shape->out) {
    cut->out_at = at;
    at += room_of(cut, shape, &out, cut->out_pitch);
  } else {
    int room = room_of(cut, shape, &out, cut->out_pitch), first = room_of(cut, shape, &in, cut->in_pitch);
    if (room > first) { /* whichever of the two says how the copy lies */
      at += room - first;
      if (shape->mask)
        cut->mask_at += room - first;
    }
  }
  cut->totals_at = at;
  if (shape->length > shape->steps)
    at += (int)up((int64_t)cut->outers * cut->segments * cut->columns * shape->acc, 128);
  cut->carries_at = at;
  if (cut->tiles > 1)
    at += 2 * cut->columns * shape->acc;
  cut->by_columns = divisor(cut->columns);
  cut->by_segments = divisor(cut->segments);
  cut_turns(cut, shape);

  int64_t outers = cut->groups;
  for (int d = 0; d < rows->rank - 2; d++)
    outers *= rows->shape[d];
  need->blocks = outers * cut->tiles * cut->strips;
  need->shared = at;
  need->workspace = 0;
  if (cut->tiles > 1) {
    need->workspace = nodes_bytes(shape, cut->steps, outers * rows->shape[rows->rank - 1]);
  }
}

size_t rs_columns_workspace(const rs_column_shape *shape, int64_t count) {
  return nodes_bytes(shape, RS_COLUMN_STEPS, count);
}

size_t rs_columns_workspace_of_one(const rs_column_shape *shape) {
  return nodes_bytes(shape, power_below(most_elements(shape)), 1);
}
