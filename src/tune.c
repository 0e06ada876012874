/*
 * tune.c - (spec, architecture) to tile geometry
 * SPDX-License-Identifier: MIT
 */
#include "tune.h"

#include "types.h"

static int64_t power_of_two(int64_t n, int64_t least, int64_t most) {
  int64_t power = least;
  while (power < n && power < most)
    power *= 2;
  return power;
}

static int larger(int a, int b) {
  return a > b ? a : b;
}

/* Shared memory that a block may have, and blocks of a multiprocessor share. Source: CUDA C++ Programming Guide, 16. */
static int shared_bytes_of(int arch) {
  if (arch < 90)
    return 0; /* no bulk copies, no ring */
  return arch >= 120 ? 99 * 1024 : 227 * 1024;
}

static bool wide(const rowscan_spec *spec) {
  return rowscan_type_bytes(spec->acc) == 8;
}

/*
 * Elements that a thread moves at once: 16 bytes of the wider of input and output, but 4 to 8 elements. Measured on an
 * H200, ratio to memcpy: bool to i64, 16384 rows of 32768: 0.70 with 2, 0.91 with 4, 0.90 with 8; f64, 32768 rows of
 * 16384: 0.961 with 2, 0.986 with 4 (a vector's levels of the order need no shuffles). With 16 of i8 the prefixes of a
 * vector spill.
 */
static int vector_of(const rowscan_spec *spec) {
  int most = 16 / larger((int)rowscan_type_bytes(spec->in), (int)rowscan_type_bytes(spec->out));
  if (most < 4 || wide(spec))
    most = 4;
  return (int)power_of_two(spec->length, 1, most < 8 ? most : 8);
}

/* ---- groups of threads that load their tiles themselves ---------------------------------------------------------- */

/* No more than 512 threads a block: 1024 have 64 registers each, and spill (f16 rows of 32768 on sm_75: 88 bytes). */
enum { MOST_WARPS = 16 };

/*
 * Chunks a thread holds. A chunk takes vector * held / 4 registers for its elements and 6 accumulators for the way
 * down; with vectors of 8 the prefixes of one more are in registers at once (i8 rows of 16384 on sm_75: 304 bytes
 * spilled with 4).
 */
static int chunks_of(const rowscan_spec *spec, int vector) {
  int acc = wide(spec) ? 2 : 1;
  int held = spec->mask_mode == ROWSCAN_MASK_MULTIPLY ? 4 * acc : (int)rowscan_type_bytes(spec->in);
  int registers = (vector * held + 3) / 4 + 6 * acc;
  return registers <= 16 && vector < 8 ? 4 : registers <= 24 ? 2 : 1;
}

static rs_geometry group_geometry(const rowscan_spec *spec, int most_warps) {
  int vector = vector_of(spec), chunks = chunks_of(spec, vector);
  rs_geometry g = {.vector = vector, .min_blocks = 1};
  g.lanes = (int)power_of_two((spec->length + vector - 1) / vector, 1, 32);
  int64_t span = (int64_t)g.lanes * vector;
  g.chunks = (int)power_of_two((spec->length + span - 1) / span, 1, chunks);
  span *= g.chunks;
  g.warps = (int)power_of_two((spec->length + span - 1) / span, 1, most_warps);
  g.threads = g.warps > 1 ? 32 * g.warps : 256;
  g.regime = g.warps > 1 ? ROWSCAN_REGIME_ROW : ROWSCAN_REGIME_SHORT;
  return g;
}

static rs_geometry short_geometry(const rowscan_spec *spec) {
  return group_geometry(spec, 1);
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

/*
 * Warps, chunks and blocks a multiprocessor for a row of up to 2^i pieces of 32 vectors. Measured on an H200, rows of
 * f32 and about 10^9 bytes each way (2^i * 128 elements; ratio to memcpy, and of the next best tried). Long rows want
 * all of the shared memory for one block; the shorter they are, the more blocks must share it, for the memory to stay
 * busy between the end of one row and the start of the next.
 */
typedef struct ring_shape {
  int warps, chunks, blocks;
} ring_shape;
static const ring_shape narrow_rings[] = {
    {2, 1, 16}, /* i = 0 */
    {2, 1, 16}, /* i = 1 */
    {2, 2, 16}, /* i = 2 */
    {4, 2, 8},  /* 1024: 1.00; {2, 4, 16} 1.00 */
    {8, 2, 4},  /* 2048: 0.994; {4, 4, 8} 0.976 */
    {8, 4, 3},  /* 4096: 0.986; {8, 4, 4} 0.985, {16, 2, 2} 0.936 */
    {8, 4, 3},  /* 8192: 0.978; {16, 4, 2} with the row as one tile 0.963 */
    {16, 2, 2}, /* 16384: 0.977; {8, 4, 3} 0.956, {16, 4, 1} 0.885. bf16, 32768: 0.978 */
    {16, 4, 1}, /* 32768: 0.981; {32, 2, 1} 0.972, {16, 2, 2} 0.957. bf16, 65536: 0.986 */
};

/* 64-bit accumulators have 128 registers a thread and more. */
static const ring_shape wide_rings[] = {
    {2, 1, 8}, /* i = 0 */
    {2, 1, 8}, /* i = 1 */
    {2, 2, 8}, /* i = 2 */
    {4, 2, 4}, /* i = 3 */
    {8, 2, 2}, /* i = 4 */
    {8, 2, 2}, /* i = 5 */
    {8, 2, 2}, /* i = 6 */
    {8, 4, 1}, /* f64, 16384: 0.986 (i64 0.980); {16, 2, 1} 0.978, {8, 2, 2} 0.958 */
    {8, 4, 1}, /* i = 8 */
};

static ring_shape ring_shape_of(const rowscan_spec *spec, int i) {
  ring_shape shape = wide(spec) ? wide_rings[i] : narrow_rings[i];
  int64_t in = (int64_t)rowscan_type_bytes(spec->in), out = (int64_t)rowscan_type_bytes(spec->out);
  /* where a row has few bytes to bring, two blocks share a multiprocessor: i8 to i32, rows of 32768: 0.929, one block
     0.810; f32 in f64: 0.956, one block 0.923 */
  if (shape.blocks == 1 && (in < out || (wide(spec) && in < 8)))
    shape.blocks = 2;
  return shape;
}

static int stage_bytes(const rowscan_spec *spec, const rs_geometry *g) {
  size_t mask = spec->mask_mode ? rowscan_type_bytes(spec->mask_type) : 0;
  return (int)(rs_tile(g) * (int64_t)(rowscan_type_bytes(spec->in) + mask));
}

static int buffer_bytes(const rowscan_spec *spec, const rs_geometry *g) {
  return (int)(rs_tile(g) * (int64_t)rowscan_type_bytes(spec->out));
}

int rs_shared_bytes(const rowscan_spec *spec, const rs_geometry *g) {
  return g->stages * stage_bytes(spec, g) + g->buffers * buffer_bytes(spec, g);
}

/* As many stages as fit, up to 8 and the row's tiles. */
static bool fit_ring(const rowscan_spec *spec, rs_geometry *g, int shared) {
  int64_t tiles = (spec->length + rs_tile(g) - 1) / rs_tile(g);
  int most = tiles < 8 ? (int)tiles : 8;
  int system = 1024 + 512; /* a block's share of the system, its arrivals and totals of warps */
  g->buffers = tiles > 1 ? 2 : 1;
  int room = shared / g->min_blocks - system - g->buffers * buffer_bytes(spec, g);
  g->stages = room / stage_bytes(spec, g);
  if (g->stages > most)
    g->stages = most;
  return g->stages >= (most < 2 ? most : 2);
}

static rs_geometry ring_geometry(const rowscan_spec *spec, int arch) {
  rs_geometry g = {.regime = ROWSCAN_REGIME_ROW, .lanes = 32, .vector = vector_of(spec)};
  int i = 0;
  while (i < 8 && (int64_t)32 * g.vector << i < spec->length)
    i++;
  /* where the ring does not fit, fewer blocks share a multiprocessor; then that of shorter rows */
  for (; i >= 0; i--) {
    ring_shape shape = ring_shape_of(spec, i);
    g.warps = shape.warps;
    g.chunks = shape.chunks;
    g.threads = 32 * g.warps;
    for (g.min_blocks = shape.blocks; g.min_blocks > 0; g.min_blocks /= 2)
      if (fit_ring(spec, &g, shared_bytes_of(arch)))
        return g;
  }
  return group_geometry(spec, MOST_WARPS);
}

static rs_geometry row_geometry(const rowscan_spec *spec, int arch) {
  if (arch >= 90 && spec->length > 32)
    return ring_geometry(spec, arch);
  rs_geometry g = group_geometry(spec, MOST_WARPS);
  if (g.regime == ROWSCAN_REGIME_SHORT) { /* forced */
    g.lanes = g.threads = 32;
    g.regime = ROWSCAN_REGIME_ROW;
  }
  return g;
}

/* ---- the other regimes ------------------------------------------------------------------------------------------- */

static rs_geometry long_geometry(const rowscan_spec *spec) {
  rs_geometry g = group_geometry(spec, 8);
  g.regime = ROWSCAN_REGIME_LONG;
  g.lanes = 32;
  g.warps = 8;
  g.threads = 256;
  return g;
}

static rs_geometry column_geometry(const rowscan_spec *spec) {
  return (rs_geometry){.regime = ROWSCAN_REGIME_COLUMN,
                       .threads = 128,
                       .min_blocks = 1,
                       .steps = rowscan_type_bytes(spec->acc) == 8 ? 8 : 16};
}

/* Rows shorter than this are never cut over several blocks. */
static const int64_t LONG_LENGTH = 32768;

int rs_tune(const rowscan_spec *spec, int arch, rs_geometry geometry[RS_MAX_MODULES]) {
  switch (spec->regime) {
  case ROWSCAN_REGIME_ROW:
    geometry[0] = row_geometry(spec, arch);
    return 1;
  case ROWSCAN_REGIME_SHORT:
    geometry[0] = short_geometry(spec);
    return 1;
  case ROWSCAN_REGIME_LONG:
    geometry[0] = spec->length ? long_geometry(spec) : short_geometry(spec);
    return 1;
  case ROWSCAN_REGIME_COLUMN:
    geometry[0] = column_geometry(spec);
    return 1;
  case ROWSCAN_REGIME_AUTO:
    break;
  }
  if (spec->layout == ROWSCAN_LAYOUT_COLUMNS && spec->length) {
    geometry[0] = column_geometry(spec);
    return 1;
  }
  geometry[0] = short_geometry(spec);
  if (rs_tile(&geometry[0]) < spec->length)
    geometry[0] = row_geometry(spec, arch);
  if (spec->length < LONG_LENGTH)
    return 1;
  geometry[1] = long_geometry(spec);
  return 2;
}

bool rs_tune_long(const rowscan_spec *spec, int64_t rows, int multiprocessors) {
  return spec->length >= LONG_LENGTH && rows < multiprocessors;
}

void rs_geometry_text(const rs_geometry *g, char separator, rs_text *text) {
  const struct {
    const char *name;
    int value;
  } fields[] = {{"threads", g->threads}, {"min_blocks", g->min_blocks}, {"warps", g->warps},
                {"chunks", g->chunks},   {"lanes", g->lanes},           {"vector", g->vector},
                {"stages", g->stages},   {"buffers", g->buffers},       {"steps", g->steps}};
  rs_text_add(text, "regime=%s", rowscan_regime_name(g->regime));
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (fields[i].value)
      rs_text_add(text, "%c%s=%d", separator, fields[i].name, fields[i].value);
}
