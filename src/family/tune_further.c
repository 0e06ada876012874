/*
 * tune_further.c - (spec, architecture) to the kernels of rows and columns with further arrays of elements
 * SPDX-License-Identifier: MIT
 *
 * Groups of threads load their tiles themselves, from as many arrays as there are (kernels/row.cuh), and so do blocks
 * that share a row (kernels/direct.cuh). No geometry of these was measured.
 */
#include "candidates.h"
#include "tune.h"

/* What a thread holds of an element: Gathered in kernels/further.cuh. */
static int held_bytes(const rowscan_spec *spec) {
  int bytes = rs_bytes_of(spec->in_type) + rs_spec_mask_bytes(spec) + (spec->segment_mode ? 1 : 0);
  for (int i = 0; i < RS_MOST_MORE; i++)
    bytes += rs_bytes_of(spec->more_types[i]);
  return bytes;
}

/* The same, and its total, in registers. */
static int element_registers(const rowscan_spec *spec) {
  return (held_bytes(spec) + rs_spec_register_bytes(spec) + 3) / 4;
}

/* Elements of a thread one after another: 16 bytes of the widest array, where they are neighbours. */
static int vector_of(const rowscan_spec *spec) {
  int widest = (int)rs_larger(rs_bytes_of(spec->in_type), rs_bytes_of(spec->out_type));
  return element_registers(spec) > 10 || widest == 8 ? 2 : 4;
}

/* Vectors of a thread, in about as many registers as leave room for the way down. */
static int chunks_of(const rowscan_spec *spec, int vector) {
  enum { REGISTERS = 48 };
  int fits = REGISTERS / (element_registers(spec) * vector);
  return fits >= 4 ? 4 : fits >= 2 ? 2 : 1;
}

static int pieces_of(int64_t length, int64_t elements, int most) {
  return length == RS_ANY_LENGTH ? most : rs_power(rs_ceiling(length, elements), 1, most);
}

/* A group of threads for each row. */
static rs_shape group_shape(const rowscan_spec *spec, int most_lanes, int vector, int most_warps) {
  rs_shape s = {.made_of = RS_TEMPLATE_ROWS, .vector = vector, .min_blocks = 2};
  s.lanes = pieces_of(spec->length, vector, most_lanes);
  s.chunks = pieces_of(spec->length, (int64_t)s.lanes * vector, chunks_of(spec, vector));
  s.warps = pieces_of(spec->length, (int64_t)s.lanes * vector * s.chunks, most_warps);
  s.threads = s.warps > 1 ? 32 * s.warps : 256;
  return s;
}

static rs_shape direct_shape(const rowscan_spec *spec, int vector) {
  enum { WARPS = 8 };
  return (rs_shape){.made_of = RS_TEMPLATE_DIRECT,
                    .vector = vector,
                    .lanes = 32,
                    .chunks = chunks_of(spec, vector),
                    .warps = WARPS,
                    .threads = 32 * WARPS,
                    .min_blocks = 2};
}

/*
 * Columns have four lanes each, so that eight columns of a warp are 32 bytes of f32 at each step, and rows a warp each
 * where they may have any length, else as many as they have elements for. One kernel serves all rows: each array tells
 * by itself whether vectors of it go whole.
 */
void rs_tune_further(const rowscan_spec *spec, rs_shape kernels[]) {
  enum { COLUMN_LANES = 4, MOST_WARPS = 8, ROW_TILES = 255, COLUMN_TILES = 1023, DIRECT_TILES = 1 << 25 };
  bool columns = spec->layout == ROWSCAN_LAYOUT_COLUMNS, any = spec->length == RS_ANY_LENGTH;
  bool few_warps = any || columns || spec->regime == ROWSCAN_REGIME_SHORT;
  int vector = vector_of(spec), lanes = columns ? COLUMN_LANES : 32, warps = few_warps ? 1 : MOST_WARPS;
  rs_shape group = group_shape(spec, lanes, vector, warps), cut = direct_shape(spec, vector);
  group.tiles = !any ? 0 : columns ? COLUMN_TILES : ROW_TILES;
  cut.tiles = any ? DIRECT_TILES : 0;
  if (spec->regime != ROWSCAN_REGIME_LONG || !spec->length || any)
    kernels[RS_KERNEL_ANY] = group;
  if (spec->length && spec->regime != ROWSCAN_REGIME_ROW && spec->regime != ROWSCAN_REGIME_SHORT)
    kernels[RS_KERNEL_LONG_ANY] = cut;
}

/* Where rows are too few for all multiprocessors, or longer than a group counts tiles. */
bool rs_tune_further_long(const rowscan_spec *spec, const rs_shape *group, int64_t length, int64_t rows,
                          int multiprocessors) {
  enum { LEAST = 4096, ROWS = 2, COLUMNS = 32 }; /* rows of a multiprocessor that keep it busy, columns likewise */
  int64_t enough = (int64_t)(spec->layout == ROWSCAN_LAYOUT_COLUMNS ? COLUMNS : ROWS) * multiprocessors;
  return (group->tiles && length > rs_most(group)) || (length >= LEAST && rows < enough);
}
