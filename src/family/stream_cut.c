/*
 * stream_cut.c - how a run of regime column is cut, where columns lie one run in memory
 * SPDX-License-Identifier: MIT
 */
#include "stream_cut.h"

#include <string.h>

static int64_t up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

static int64_t parts(int64_t n, int64_t of) {
  return (n + of - 1) / of;
}

/* ---- which rows -------------------------------------------------------------------------------------------------- */

/* Whether all steps of all columns are one run, for each outer. */
static bool one_run(const rs_rows *rows, int64_t step, const int64_t *stride) {
  int last = rows->rank - 1;
  return (stride[last] == 1 || rows->shape[last] == 1) && step == rows->shape[last];
}

/* Whether results lie as far from a word of 16 bytes as elements, whose place they take. */
static bool in_place(const rs_stream_shape *shape, const rs_rows *rows) {
  bool same = (((uintptr_t)rows->array[RS_IN].data ^ (uintptr_t)rows->array[RS_OUT].data) & 15) == 0;
  for (int d = 0; d < rows->rank - 1; d++)
    same = same && (((rows->array[RS_IN].stride[d] - rows->array[RS_OUT].stride[d]) * shape->in & 15) == 0 ||
                    rows->shape[d] == 1);
  return same;
}

/* ---- how large --------------------------------------------------------------------------------------------------- */

/* Pieces: as many as a warp has lanes for. Each begins as many banks after the one before as there are columns. */
static int64_t pitch(const StreamCut *cut, int64_t piece_steps, int bytes) {
  int64_t pad = cut->pieces_log ? up((int64_t)cut->columns * bytes, 16) : 0;
  return (piece_steps * cut->columns * bytes + pad) / bytes;
}

/* log2 of the tiles of which one tells the total: as many as the lanes of a column read. */
static int group_log(const StreamCut *cut, const rs_stream_shape *shape) {
  int slots_log = cut->pieces_log < RS_STREAM_SLOTS_LOG ? cut->pieces_log : RS_STREAM_SLOTS_LOG, each_log = 0;
  while (shape->acc << (each_log + 1) <= RS_STREAM_EACH_BYTES)
    each_log++;
  return slots_log + each_log;
}

/* A tile with so many parts in each of its pieces. */
static void cut_stage(StreamCut *cut, const rs_stream_shape *shape, int parts_log) {
  int64_t piece_steps = (int64_t)shape->steps << parts_log, pieces = (int64_t)1 << cut->pieces_log;
  cut->parts_log = parts_log;
  cut->steps = (int32_t)(piece_steps * pieces);
  cut->in_pitch = (int32_t)pitch(cut, piece_steps, shape->in);
  enum { ENDS = 32, ENDS_OF_TILE = 3 }; /* of words that a copy begins and ends in; BEFORE, THROUGH, TOTAL */
  int64_t at = up(pieces * cut->in_pitch * shape->in + ENDS, 128);
  cut->mask_at = (int32_t)at;
  if (shape->mask) {
    cut->mask_pitch = (int32_t)pitch(cut, piece_steps, shape->mask);
    at += up(pieces * cut->mask_pitch * shape->mask + ENDS, 128);
  }
  cut->parts_at = (int32_t)at;
  at += cut->bands * (((int64_t)2 << parts_log) + cut->pieces_log) * 32 * shape->acc;
  cut->ends_at = (int32_t)at;
  at += (ENDS_OF_TILE + group_log(cut, shape)) * (int64_t)cut->columns * shape->acc;
  cut->stage_bytes = (int32_t)up(at, 128);
  cut->stages = shape->shared / cut->stage_bytes;
  if (cut->stages > RS_STREAM_STAGES)
    cut->stages = RS_STREAM_STAGES;
}

/* LEAST_WORKERS: warps that scan and reduce. */
enum { LEAST_STAGES = 3, LEAST_WORKERS = 6 };

static int most_bytes(const StreamCut *cut, const rs_stream_shape *shape) {
  return cut->bands > 1 ? shape->tile_bytes : cut->pieces_log ? shape->pieced_bytes : shape->band_bytes;
}

static void cut_size(StreamCut *cut, const rs_stream_shape *shape, int64_t columns, int64_t outers) {
  memset(cut, 0, sizeof *cut);
  cut->columns = (int32_t)columns;
  cut->bands = (int32_t)parts(columns, RS_STREAM_BAND);
  while (columns << (cut->pieces_log + 1) <= RS_STREAM_BAND)
    cut->pieces_log++;
  cut->lanes = cut->columns << cut->pieces_log;
  cut->by_lanes = rs_divisor(cut->lanes);
  cut->by_columns = rs_divisor(cut->columns);
  cut_stage(cut, shape, 0);
  for (int log = 1; log <= RS_STREAM_PARTS_LOG; log++) {
    StreamCut larger = *cut;
    cut_stage(&larger, shape, log);
    int64_t tiles = outers * parts(shape->length, larger.steps);
    if (larger.stage_bytes > most_bytes(cut, shape) || larger.stages < LEAST_STAGES ||
        tiles < shape->least_tiles * (int64_t)shape->multiprocessors)
      break;
    *cut = larger;
  }
  cut->tiles = (int32_t)parts(shape->length, cut->steps);
  cut->ahead = shape->multiprocessors; /* measured: 2097152 x 32 f32 0.847 without, 0.855 so, 0.851 twice as far */
  int left = shape->warps - RS_STREAM_MOVERS - 2 * cut->bands;
  cut->reducers = left / 3;
  cut->scanners = left - cut->reducers;
}

static int64_t outers_of(const rs_rows *rows) {
  return rows->count / rows->shape[rows->rank - 1];
}

int64_t rs_stream_columns(const rs_stream_shape *shape) {
  return shape->steps ? (int64_t)(shape->warps - RS_STREAM_MOVERS - LEAST_WORKERS) / 2 * RS_STREAM_BAND : 0;
}

bool rs_stream_fits(const rs_stream_shape *shape, const rs_rows *rows) {
  int64_t columns = rows->shape[rows->rank - 1];
  if (columns > rs_stream_columns(shape) || !in_place(shape, rows) ||
      !one_run(rows, rows->array[RS_IN].step, rows->array[RS_IN].stride) ||
      !one_run(rows, rows->array[RS_OUT].step, rows->array[RS_OUT].stride) ||
      (shape->mask && !one_run(rows, rows->array[RS_MASK].step, rows->array[RS_MASK].stride)))
    return false;
  StreamCut cut;
  cut_size(&cut, shape, columns, outers_of(rows));
  return cut.stages >= LEAST_STAGES && cut.tiles > 1 && parts(shape->length, cut.steps) <= RS_STREAM_TILES;
}

void rs_stream_cut_rows(StreamCut *cut, rs_column_need *need, const rs_stream_shape *shape, const rs_rows *rows) {
  int64_t columns = rows->shape[rows->rank - 1], outers = outers_of(rows);
  cut_size(cut, shape, columns, outers);
  int64_t tiles = outers * cut->tiles;
  need->blocks = tiles < shape->multiprocessors ? tiles : shape->multiprocessors;
  need->shared = cut->stages * cut->stage_bytes;
  int64_t groups = parts(cut->tiles, (int64_t)1 << group_log(cut, shape));
  need->workspace = 8 + (size_t)(rows->count * (cut->tiles + groups)) * 2 * (size_t)shape->acc;
}
