/*
 * family.c - kernel families: one row for each template of kernels/ that emitted source instantiates
 * SPDX-License-Identifier: MIT
 */
#include "family.h"

#include <string.h>

/* ---- which arrays ------------------------------------------------------------------------------------------------ */

/* Rows are neighbours element by element and begin on multiples of 16 bytes. */
static bool aligned_rows(const rs_shape *shape, const rs_operand *a, const rs_rows *rows, const rowscan_spec *spec) {
  (void)shape;
  int64_t all = (int64_t)(uintptr_t)a->data;
  if (spec->flags & ROWSCAN_REVERSE) /* tiles count from the end of the row */
    all += rs_length(spec, rows) * a->bytes;
  return a->step == 1 && (all | rs_stride_bits(a, rows, 0, rows->rank)) % 16 == 0;
}

/* The same, or anywhere. */
static bool rows_by_words(const rs_shape *shape, const rs_operand *a, const rs_rows *rows, const rowscan_spec *spec) {
  return shape->words ? aligned_rows(shape, a, rows, spec) : a->step == 1;
}

/* Elements of a row are neighbours, and so are rows; words of shared memory begin on 16 bytes. */
static bool dense_rows(const rs_shape *shape, const rs_operand *a, const rs_rows *rows, const rowscan_spec *spec) {
  int64_t next = rs_length(spec, rows);
  for (int d = rows->rank - 1; d >= 0; next *= rows->shape[d--])
    if (rows->shape[d] > 1 && a->stride[d] != next)
      return false;
  return a->step == 1 && (shape->word == 1 || (uintptr_t)a->data % 16 == 0);
}

/* Elements of a row are neighbours, and fill tiles. */
static bool whole_tiles(const rs_shape *shape, const rs_operand *a, const rs_rows *rows, const rowscan_spec *spec) {
  return a->step == 1 && rs_length(spec, rows) % rs_tile(shape) == 0;
}

/* ---- the families ------------------------------------------------------------------------------------------------ */

#define TILE "Shape<{warps}, {chunks}, {lanes}, {vector}>"

const rs_family rs_families[RS_TEMPLATES] = {
    [RS_TEMPLATE_NONE] = {"none", NULL, NULL, NULL, RS_BY_GROUPS, NULL},
    [RS_TEMPLATE_ROWS] = {"rows", "row.cuh", "scan_rows<P, " TILE ", {threads}, {aligned}>", NULL, RS_BY_GROUPS,
                          aligned_rows},
    [RS_TEMPLATE_SLAB] = {"slab", "short.cuh", "scan_slab<P, SlabShape<{rows}, {threads}, {lanes}, {vector}, {word}>>",
                          NULL, RS_BY_BLOCKS, dense_rows},
    [RS_TEMPLATE_ROW_RING] = {"row_ring", "row_ring.cuh", "scan_row_ring<P, " TILE ", {stages}, {buffers}, {words}>",
                              NULL, RS_BY_BLOCKS, rows_by_words},
    [RS_TEMPLATE_GATHER] = {"gather", "gather.cuh", "scan_gather<P, " TILE ">", NULL, RS_BY_BLOCKS, aligned_rows},
    [RS_TEMPLATE_TILES] = {"tiles", "tiles.cuh", "scan_tiles<P, TileShape<{warps}, {chunks}, {vector}>, {aligned}>",
                           NULL, RS_BY_TILES, aligned_rows},
    [RS_TEMPLATE_AT_ONCE] = {"at_once", "at_once.cuh", "scan_at_once<P, " TILE ">", NULL, RS_BY_TILES, aligned_rows},
    [RS_TEMPLATE_DIRECT] = {"direct", "direct.cuh", "scan_direct<P, " TILE ", {aligned}>", NULL, RS_BY_TILES,
                            aligned_rows},
    [RS_TEMPLATE_TOTALS] = {"totals", "totals.cuh", "total_rows<P, " TILE ", {threads}>", NULL, RS_BY_GROUPS,
                            whole_tiles},
    [RS_TEMPLATE_TOTALS_EACH] = {"totals_each", "totals.cuh", "total_each<P, {threads}, {vector}>", NULL, RS_BY_GROUPS,
                                 NULL},
    [RS_TEMPLATE_UNIVERSAL] = {"universal", "universal.cuh", "scan_universal<P, {vector}, {threads}>", NULL,
                               RS_BY_GROUPS, NULL},
    [RS_TEMPLATE_ROW_STREAM] = {"row_stream", "row_stream.cuh",
                                "scan_row_stream<P, " TILE ", {reducers}, {stages}, {words}>", NULL, RS_PERSISTENT,
                                rows_by_words},
    [RS_TEMPLATE_COLUMNS] = {"columns", "columns.cuh", "scan_column_tiles<P, {threads}, {steps}>", "ColumnCut",
                             RS_BY_CUT, NULL},
    [RS_TEMPLATE_STREAM_COLUMNS] = {"stream_columns", "stream_columns.cuh", "scan_stream_columns<P, {steps}>",
                                    "StreamCut", RS_BY_CUT, NULL},
    [RS_TEMPLATE_SHORT_COLUMNS] = {"short_columns", "short_columns.cuh", "scan_short_columns<P, {threads}, {steps}>",
                                   "ShortCut", RS_BY_CUT, NULL},
    [RS_TEMPLATE_WIDE] = {"wide", "wide.cuh", "scan_wide_tiles<P, {threads}, {vector}, {steps}, {width}, {packed}>",
                          "WideCut", RS_BY_CUT, NULL},
    [RS_TEMPLATE_ASKEW] = {"askew", "askew.cuh", "scan_askew_tiles<P, {threads}, {vector}, {steps}, {packed}>",
                           "WideCut", RS_BY_CUT, NULL},
    [RS_TEMPLATE_FURTHER_COLUMNS] = {"further_columns", "further_columns.cuh",
                                     "scan_further_columns<P, {threads}, {steps}, {width}>", "WideCut", RS_BY_CUT,
                                     NULL},
    [RS_TEMPLATE_FURTHER_WALK] = {"rows", "row.cuh", "scan_rows<P, " TILE ", {threads}, {aligned}>", NULL, RS_BY_CUT,
                                  NULL},
    [RS_TEMPLATE_COLUMNS_AT_ONCE] = {"columns_at_once", "columns_at_once.cuh",
                                     "scan_columns_at_once<P, {threads}, {steps}, {rows}>", "AtOnceCut", RS_BY_CUT,
                                     NULL},
    [RS_TEMPLATE_STREAM_TUPLES] = {"stream_tuples", "row_stream.cuh",
                                   "scan_stream_of_tuples<P, {columns}, " TILE ", {reducers}, {stages}>", NULL,
                                   RS_BY_CUT, NULL},
    [RS_TEMPLATE_RING_COLUMNS] = {"ring_columns", "ring_columns.cuh", "scan_ring_columns<P, {steps}, {stages}>",
                                  "RingCut", RS_BY_CUT, NULL},
    [RS_TEMPLATE_PAIRS] = {"pairs", "pairs.cuh", "scan_pairs<P, " TILE ">", NULL, RS_BY_CUT, NULL},
};

/* ---- shapes as text ---------------------------------------------------------------------------------------------- */

/* Those that a key has, in its order. */
static const struct {
  const char *name;
  size_t at;
} fields[] = {{"threads", offsetof(rs_shape, threads)},   {"min_blocks", offsetof(rs_shape, min_blocks)},
              {"warps", offsetof(rs_shape, warps)},       {"chunks", offsetof(rs_shape, chunks)},
              {"lanes", offsetof(rs_shape, lanes)},       {"vector", offsetof(rs_shape, vector)},
              {"reducers", offsetof(rs_shape, reducers)}, {"stages", offsetof(rs_shape, stages)},
              {"buffers", offsetof(rs_shape, buffers)},   {"steps", offsetof(rs_shape, steps)},
              {"width", offsetof(rs_shape, width)},       {"rows", offsetof(rs_shape, rows)},
              {"word", offsetof(rs_shape, word)},         {"prefetch", offsetof(rs_shape, prefetch)},
              {"tiles", offsetof(rs_shape, tiles)},       {"packed", offsetof(rs_shape, packed)},
              {"columns", offsetof(rs_shape, columns)},   {"words", offsetof(rs_shape, words)}};
enum { FIELDS = sizeof fields / sizeof *fields };

static int value_of(const rs_shape *shape, size_t field) {
  return *(const int *)((const char *)shape + fields[field].at);
}

void rs_shape_text(const rs_shape *shape, rs_text *text) {
  rs_text_add(text, "%s", rs_family_of(shape)->name);
  for (size_t i = 0; i < FIELDS; i++)
    if (value_of(shape, i))
      rs_text_add(text, " %s=%d", fields[i].name, value_of(shape, i));
}

/* A name between braces: a number, or `aligned` or `words`, which are true or false. */
static void add_value(const rs_shape *shape, bool aligned, const char *name, size_t length, rs_text *source) {
  bool truth = length == strlen("words") && !memcmp(name, "words", length) ? shape->words : aligned;
  for (size_t i = 0; i < FIELDS; i++)
    if (strlen(fields[i].name) == length && !memcmp(fields[i].name, name, length) &&
        fields[i].at != offsetof(rs_shape, words)) {
      rs_text_add(source, "%d", value_of(shape, i));
      return;
    }
  rs_text_add(source, "%s", truth ? "true" : "false");
}

void rs_family_call(const rs_shape *shape, bool aligned, rs_text *source) {
  for (const char *at = rs_family_of(shape)->call; *at;) {
    size_t plain = strcspn(at, "{");
    rs_text_append(source, at, plain);
    at += plain;
    if (!*at)
      break;
    size_t name = strcspn(++at, "}");
    add_value(shape, aligned, at, name, source);
    at += name + 1;
  }
}
