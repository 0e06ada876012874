/*
 * stream_cut.c - how a run of layout COLUMNS is cut, where columns lie one run in memory
 * SPDX-License-Identifier: MIT
 */
#include "column_cuts.h"

#include <string.h>

/* ---- which rows -------------------------------------------------------------------------------------------------- */

/* Whether results lie as far from a word of 16 bytes as elements, whose place they take. */
static bool aligned_alike(const rs_shape *shape, const rs_rows *rows) {
  bool same = (((uintptr_t)rows->array[RS_IN].data ^ (uintptr_t)rows->array[RS_OUT].data) & 15) == 0;
  for (int d = 0; d < rows->rank - 1; d++)
    same = same && (((rows->array[RS_IN].stride[d] - rows->array[RS_OUT].stride[d]) * shape->in & 15) == 0 ||
                    rows->shape[d] == 1);
  return same;
}

/* ---- how large --------------------------------------------------------------------------------------------------- */

/* Pieces: as many as a warp has lanes for. Each begins as many banks after the one before as there are columns. */
static int64_t pitch(const StreamCut *cut, int64_t piece_steps, int bytes) {
  int64_t pad = cut->pieces_log ? rs_up((int64_t)cut->columns * bytes, 16) : 0;
  return (piece_steps * cut->columns * bytes + pad) / bytes;
}

/* log2 of the tiles of which one tells the total: as many as the lanes of a column read. */
static int group_log(const StreamCut *cut, const rs_shape *shape) {
  int slots_log = cut->pieces_log < RS_STREAM_SLOTS_LOG ? cut->pieces_log : RS_STREAM_SLOTS_LOG, each_log = 0;
  while (shape->acc << (each_log + 1) <= RS_STREAM_EACH_BYTES)
    each_log++;
  return slots_log + each_log;
}

/* A tile with so many parts in each of its pieces. */
static void cut_stage(StreamCut *cut, const rs_shape *shape, int parts_log) {
  int64_t piece_steps = (int64_t)shape->steps << parts_log, pieces = (int64_t)1 << cut->pieces_log;
  cut->parts_log = parts_log;
  cut->steps = (int32_t)(piece_steps * pieces);
  cut->in_pitch = (int32_t)pitch(cut, piece_steps, shape->in);
  enum { ENDS = 32, ENDS_OF_TILE = 3 }; /* of words that a copy begins and ends in; BEFORE, THROUGH, TOTAL */
  int64_t at = rs_up(pieces * cut->in_pitch * shape->in + ENDS, 128);
  cut->mask_at = (int32_t)at;
  if (shape->mask) {
    cut->mask_pitch = (int32_t)pitch(cut, piece_steps, shape->mask);
    at += rs_up(pieces * cut->mask_pitch * shape->mask + ENDS, 128);
  }
  cut->parts_at = (int32_t)at;
  at += cut->bands * (((int64_t)2 << parts_log) + cut->pieces_log) * 32 * shape->acc;
  cut->ends_at = (int32_t)at;
  at += (ENDS_OF_TILE + group_log(cut, shape)) * (int64_t)cut->columns * shape->acc;
  cut->stage_bytes = (int32_t)rs_up(at, 128);
  cut->stages = shape->shared_bytes / cut->stage_bytes;
  if (cut->stages > RS_STREAM_STAGES)
    cut->stages = RS_STREAM_STAGES;
}

/* LEAST_WORKERS: warps that scan and reduce. */
enum { LEAST_STAGES = 3, LEAST_WORKERS = 6 };

static int most_stage_bytes(const StreamCut *cut, const rs_shape *shape) {
  return cut->bands > 1 ? shape->tile_bytes : cut->pieces_log ? shape->pieced_bytes : shape->band_bytes;
}

static void cut_bands(StreamCut *cut, const rs_shape *shape, int64_t columns, int64_t outers) {
  memset(cut, 0, sizeof *cut);
  cut->columns = (int32_t)columns;
  cut->bands = (int32_t)rs_ceiling(columns, RS_STREAM_BAND);
  while (columns << (cut->pieces_log + 1) <= RS_STREAM_BAND)
    cut->pieces_log++;
  cut->lanes = cut->columns << cut->pieces_log;
  cut->by_lanes = rs_divisor(cut->lanes);
  cut->by_columns = rs_divisor(cut->columns);
  cut_stage(cut, shape, 0);
  for (int log = 1; log <= RS_STREAM_PARTS_LOG; log++) {
    StreamCut larger = *cut;
    cut_stage(&larger, shape, log);
    int64_t tiles = outers * rs_ceiling(shape->length, larger.steps);
    if (larger.stage_bytes > most_stage_bytes(cut, shape) || larger.stages < LEAST_STAGES ||
        tiles < shape->least_tiles * (int64_t)shape->multiprocessors)
      break;
    *cut = larger;
  }
  cut->tiles = (int32_t)rs_ceiling(shape->length, cut->steps);
  cut->ahead = shape->multiprocessors;
  int left = shape->warps - RS_STREAM_MOVERS - 2 * cut->bands;
  cut->reducers = left / 3;
  cut->scanners = left - cut->reducers;
}

int64_t rs_stream_columns(const rs_shape *shape) {
  return shape->made_of ? (int64_t)(shape->warps - RS_STREAM_MOVERS - LEAST_WORKERS) / 2 * RS_STREAM_BAND : 0;
}

bool rs_stream_fits(const rs_shape *shape, const rs_rows *rows) {
  int64_t columns = rs_columns_of(rows);
  if (columns > rs_stream_columns(shape) || !aligned_alike(shape, rows))
    return false;
  for (int a = RS_IN; a <= (shape->mask ? RS_MASK : RS_OUT); a++)
    if (!rs_steps_in_a_run(&rows->array[a], rows, shape->length))
      return false;
  StreamCut cut;
  cut_bands(&cut, shape, columns, rs_outers_of(rows));
  return cut.stages >= LEAST_STAGES && cut.tiles > 1 && rs_ceiling(shape->length, cut.steps) <= RS_STREAM_TILES;
}

void rs_stream_cut(rs_cut *to, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  StreamCut *cut = &to->stream;
  int64_t columns = rs_columns_of(rows), outers = rs_outers_of(rows);
  cut_bands(cut, shape, columns, outers);
  int64_t tiles = outers * cut->tiles;
  need->blocks = tiles < shape->multiprocessors ? tiles : shape->multiprocessors;
  need->shared = cut->stages * cut->stage_bytes;
  int64_t groups = rs_ceiling(cut->tiles, (int64_t)1 << group_log(cut, shape));
  need->workspace = 8 + (size_t)(rows->count * (cut->tiles + groups)) * 2 * (size_t)shape->acc;
}
