/*
 * ring_cut.c - how a run of layout COLUMNS is cut, where a block has neighbouring columns with all of their steps
 * SPDX-License-Identifier: MIT
 */
#include "column_cuts.h"

#include <string.h>

/* Elements of a sector that no two strips write, of the narrower output; RingSheet::SECTOR. */
static int sector_columns(const rs_shape *shape) {
  return 32 / (int)(shape->second ? rs_smaller(shape->out, shape->second) : shape->out);
}

/* Whether results take the place of elements. */
static bool in_place(const rs_rows *rows) {
  bool any = false;
  for (int in = 0; in < rs_arrays(rows); in++)
    for (int out = 0; out < rs_arrays(rows); out++)
      any = any || (rs_has_elements(rows, in) && rs_has_elements(rows, out) && !rs_is_output(in) && rs_is_output(out) &&
                    rows->array[in].data == rows->array[out].data);
  return any;
}

/* Of a block, of all its outers: two warps have none. */
static int most_columns(const rs_shape *shape) {
  return shape->threads - 32 * RS_RING_MOVERS;
}

/*
 * What so many blocks of so many columns take: the columns of the multiprocessor that has most blocks. The movers of a
 * block, and what strips share, take as long as some more.
 */
static int64_t cost_of_ring(const rs_shape *shape, int64_t blocks, int64_t columns) {
  enum { OTHER_COLUMNS = 48 };
  return rs_ceiling(blocks, rs_larger(shape->multiprocessors, 1)) * (columns + OTHER_COLUMNS);
}

/* Strips of about as many columns each. */
static void cut_strips(RingCut *cut, const rs_shape *shape, const rs_rows *rows) {
  enum { TRIED = 12 };
  int columns = (int)rs_columns_of(rows), sector = sector_columns(shape), most = most_columns(shape);
  int64_t cheapest = INT64_MAX, outers = rs_outers_of(rows);
  int least = columns <= most ? 1 : (int)rs_ceiling(columns, (most - sector + 1) / sector * sector);
  cut->columns = columns;
  for (int strips = least; strips < least + TRIED; strips++) {
    int apart = strips == 1 ? columns : (int)rs_up(rs_ceiling(columns, strips), sector);
    int width = strips == 1 ? columns : apart + sector - 1;
    int64_t cost = cost_of_ring(shape, outers * rs_ceiling(columns, apart), width);
    if (width <= most && cost < cheapest) {
      cheapest = cost;
      cut->apart = apart;
      cut->most = width;
    }
  }
  cut->strips = (int)rs_ceiling(columns, cut->apart);
  /* in place nobody may read what another strip has written */
  if (cut->strips > 1 && in_place(rows))
    cut->most = cut->apart;
}

/* An array's part of a stage, from byte `at` on; returns where it ends. */
static int64_t cut_part(RingCut *cut, const rs_shape *shape, const rs_rows *rows, int which, int64_t at) {
  const rs_operand *a = &rows->array[which];
  RingPart *part = &cut->part[which];
  int bytes = (int)a->bytes, unit = rs_word_unit(bytes);
  part->at = (int)at;
  part->is_run = cut->strips == 1 && a->step == cut->columns;
  part->pitch = part->is_run ? cut->columns : rs_word_pitch(cut->most + unit - 1, bytes, a->step);
  part->outer = (int)rs_up((int64_t)shape->steps * part->pitch + 2 * unit, unit);
  return rs_up(at + (int64_t)cut->outers * part->outer * bytes, 128);
}

static int64_t cut_shared(RingCut *cut, const rs_shape *shape, const rs_rows *rows) {
  int64_t stage = 0, buffer = 0;
  for (int a = 0; a < rs_arrays(rows); a++)
    if (rs_has_elements(rows, a)) {
      int64_t *end = rs_is_output(a) ? &buffer : &stage;
      *end = cut_part(cut, shape, rows, a, *end);
    }
  cut->stage_bytes = (int)stage;
  cut->buffer_bytes = (int)buffer;
  return shape->stages * stage + RS_RING_BUFFERS * buffer;
}

static bool are_runs(const RingCut *cut, const rs_rows *rows) {
  bool all = cut->strips == 1;
  for (int a = 0; a < rs_arrays(rows); a++)
    all = all && (!rs_has_elements(rows, a) || rows->array[a].step == cut->columns);
  return all;
}

/* Outers of a block, a lane each. */
static int outers_of(const RingCut *cut, const rs_shape *shape, const rs_rows *rows) {
  enum { LANES = 32 };
  if (!are_runs(cut, rows))
    return 1;
  int64_t most = rs_smaller(rs_smaller(most_columns(shape) / cut->most, LANES), rows->shape[rows->rank - 2]);
  int64_t cheapest = INT64_MAX;
  int best = 1;
  for (int outers = 1; outers <= most; outers++) {
    int64_t cost = cost_of_ring(shape, rs_ceiling(rs_outers_of(rows), outers), (int64_t)outers * cut->most);
    if (cost < cheapest) {
      cheapest = cost;
      best = outers;
    }
  }
  return best;
}

static int64_t cut_all(RingCut *cut, const rs_shape *shape, const rs_rows *rows) {
  memset(cut, 0, sizeof *cut);
  cut_strips(cut, shape, rows);
  cut->by_most = rs_divisor(cut->most);
  cut->outers = cut->groups = 1;
  if (rows->rank > 1) {
    cut->outers = outers_of(cut, shape, rows);
    cut->groups = (int)rs_ceiling(rows->shape[rows->rank - 2], cut->outers);
  }
  cut->warps = (cut->outers * cut->most + 31) / 32;
  return cut_shared(cut, shape, rows);
}

static bool are_neighbours(const rs_rows *rows) {
  bool all = true;
  for (int a = 0; a < rs_arrays(rows); a++)
    all = all && (!rs_has_elements(rows, a) || rows->array[a].stride[rows->rank - 1] == 1);
  return all;
}

bool rs_ring_fits(const rs_shape *shape, const rs_rows *rows) {
  enum { MOST_COLUMNS = 1 << 28 };
  RingCut cut;
  return shape->made_of && rs_columns_of(rows) <= MOST_COLUMNS && are_neighbours(rows) &&
         cut_all(&cut, shape, rows) <= shape->shared_bytes;
}

void rs_ring_cut(rs_cut *to, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  RingCut *cut = &to->ring;
  need->shared = (int)cut_all(cut, shape, rows);
  need->blocks = (int64_t)cut->groups * cut->strips;
  for (int d = 0; d < rows->rank - 2; d++)
    need->blocks *= rows->shape[d];
  need->threads = 32 * (cut->warps + RS_RING_MOVERS);
  need->workspace = 0;
}
