/*
 * tune.c - (spec, architecture) to kernels and their shapes
 * SPDX-License-Identifier: MIT
 */
#include "tune.h"

#include "family.h"
#include <string.h>

#include "spec/arch.h"
#include "spec/types.h"
#include "tune_columns.h"
#include "tune_long.h"
#include "tune_short.h"

static int64_t power_of_two(int64_t n, int64_t least, int64_t most) {
  int64_t power = least;
  while (power < n && power < most)
    power *= 2;
  return power;
}

static int larger(int a, int b) {
  return a > b ? a : b;
}

/* Shared memory that one block may have, and all blocks of a multiprocessor but for 1 KB of each other one. */
static int shared_bytes_of(int arch) {
  return rs_arch_shared_bytes(arch) - 1024;
}

static bool wide(const rowscan_spec *spec) {
  return rs_spec_register_bytes(spec) > 4;
}

/*
 * Elements that a thread moves at once: 16 bytes of the wider of input and output, but 4 elements at least. Measured on
 * an H200, ratio to memcpy: bool to i64, 16384 rows of 32768: 0.70 with 2, 0.91 with 4, 0.90 with 8; f64, 32768 rows of
 * 16384: 0.961 with 2, 0.986 with 4 (a vector's levels of the order need no shuffles). On an H100, i8 to i8, with 8 and
 * 16: 8192 x 8192 0.906, 1.016; 2048 x 32768 0.984, 0.993; 1024 x 65536 0.916, 0.981.
 */
static int vector_of(const rowscan_spec *spec) {
  int most = 16 / larger((int)rowscan_type_bytes(spec->in_type), (int)rowscan_type_bytes(spec->out_type));
  if (most < 4 || wide(spec))
    most = 4;
  return (int)power_of_two(spec->length, 1, most);
}

/* Whether places in a row are numbers of 64 bits: Index in kernels/rows.cuh. They take registers. */
static bool is_far(const rowscan_spec *spec) {
  return spec->length >= 1 << 30;
}

/* ---- groups of threads that load their tiles themselves ---------------------------------------------------------- */

/* No more than 512 threads a block: 1024 have 64 registers each, and spill (f16 rows of 32768 on sm_75: 88 bytes). */
enum { MOST_WARPS = 16 };

/* Registers of a thread for a chunk: its elements (Held in kernels/rows.cuh), and accumulators for the way down. */
static int chunk_registers(const rowscan_spec *spec, int vector) {
  int acc = wide(spec) ? 2 : 1, in = (int)rowscan_type_bytes(spec->in_type);
  int held = spec->mask_mode == ROWSCAN_MASK_MULTIPLY ? 4 * acc : in == 1 && acc == 1 ? 4 : in;
  return (vector * held + 3) / 4 + 6 * acc;
}

/*
 * Chunks a thread holds. With vectors of 8 the prefixes of one more are in registers at once (i8 rows of 16384 on
 * sm_75: 304 bytes spilled with 4).
 */
static int chunks_of(const rowscan_spec *spec, int vector) {
  int registers = chunk_registers(spec, vector);
  bool counts = wide(spec) && spec->length >= 1 << 15; /* tiles in its own registers */
  if (is_far(spec))
    return 1;
  return registers <= 16 && vector < 8 && !counts ? 4 : registers <= 24 && vector < 16 ? 2 : 1;
}

static rs_shape group_shape(const rowscan_spec *spec, int most_warps) {
  int vector = vector_of(spec), chunks = chunks_of(spec, vector);
  rs_shape s = {.made_of = RS_TEMPLATE_ROWS, .vector = vector, .min_blocks = 1};
  s.lanes = (int)power_of_two((spec->length + vector - 1) / vector, 1, 32);
  int64_t span = (int64_t)s.lanes * vector;
  s.chunks = (int)power_of_two((spec->length + span - 1) / span, 1, chunks);
  span *= s.chunks;
  s.warps = (int)power_of_two((spec->length + span - 1) / span, 1, most_warps);
  s.threads = s.warps > 1 ? 32 * s.warps : 256;
  return s;
}

static rs_geometry group_geometry(rowscan_regime regime, rs_shape shape) {
  rs_geometry g = {.regime = regime, .shape = {[RS_KERNEL_ANY] = shape}};
  if (shape.vector > 1)
    g.shape[RS_KERNEL_ALIGNED] = shape;
  return g;
}

/* ---- few rows, all of them in registers at once ----------------------------------------------------------------- */

/*
 * Threads that a multiprocessor holds at a time with 64 registers each, and how many times all multiprocessors may be
 * filled by what is few.
 */
enum { FEW_THREADS = 1024, FEW_TIMES = 1 };

/* Registers of a thread for its chunks, and for a vector on its way down: of 128, the rest is for other things. */
static int tile_registers(const rowscan_spec *spec, int vector, int chunks) {
  return chunks * chunk_registers(spec, vector) + 2 * vector * rs_spec_register_bytes(spec) / 4;
}

/*
 * A tile a row, which a block loads and stores without a detour through shared memory: bulk copies and their arrivals
 * take 0.3 to 0.5 us more. Few chunks a thread, so that little waits in line. Measured on an H200, f32, ratio to a copy
 * kernel, 1, 64 and 1024 rows of 1024; warps, chunks: 4, 2 0.845 0.879 0.996; 8, 1 0.843 0.878; 2, 4 0.823 0.869 0.985;
 * 1, 8 0.740 0.807 0.964; slabs 0.584 0.626 0.798. 8192 x 64: 0.953, slabs 0.808.
 */
static bool few_rows_shape(const rowscan_spec *spec, int arch, rs_shape *s) {
  *s = (rs_shape){.made_of = RS_TEMPLATE_ROWS, .vector = vector_of(spec)};
  s->lanes = (int)power_of_two((spec->length + s->vector - 1) / s->vector, 1, 32);
  int64_t pieces = (spec->length + s->lanes * s->vector - 1) / (s->lanes * s->vector);
  s->chunks = (int)power_of_two(pieces, 1, 32 / chunk_registers(spec, s->vector) > 1 ? 2 : 1);
  s->warps = (int)power_of_two((pieces + s->chunks - 1) / s->chunks, 1, MOST_WARPS);
  while (s->chunks * s->warps < pieces && tile_registers(spec, s->vector, 2 * s->chunks) <= 90)
    s->chunks *= 2;
  s->threads = s->warps > 1 ? 32 * s->warps : 256;
  bool two = s->chunks == 2 && (arch / 10 != 9 || spec->flags & ROWSCAN_EXCLUSIVE);
  bool widened = spec->mask_mode && rowscan_type_bytes(spec->in_type) < 8;
  bool roomy = s->chunks > 2 || s->chunks * s->vector > 16 || (wide(spec) && (two || widened)); /* 64 registers spill */
  s->min_blocks = (roomy ? FEW_THREADS / 2 : FEW_THREADS) / s->threads;
  bool follow = spec->length >= 4 && spec->length % s->vector == 0; /* rows that follow one another are on 16 bytes */
  return follow && s->chunks * s->warps >= pieces;
}

/*
 * A tile a block. Measured on an H200, f32, ratio to a copy kernel, 1 x 65536 and 1 x 2^20; warps, chunks: 16, 2 0.590
 * 0.674; 8, 4 (one of two blocks a multiprocessor) 0.593 0.619; 8, 2 0.595; 4, 4 0.583; 16, 4 0.521 0.653; 32, 2 0.523
 * 0.631; cut for a stream 0.387 0.500. All blocks of a row read the totals of all tiles before: bytes of them that are
 * read in one batch, beside a tile, without spilling. With two blocks a multiprocessor, where these spill, and one, on
 * an H100, us, masked: 1 x 65536 bool to i64 3.0, 2.8; 1 x 100000 f32 in f64 3.2, 2.9.
 */
enum { MOST_TOTALS = 1024 };

static bool at_once_shape(const rowscan_spec *spec, int arch, rs_shape *s) {
  *s = (rs_shape){.made_of = RS_TEMPLATE_AT_ONCE, .warps = 16, .lanes = 32, .vector = vector_of(spec)};
  s->chunks = 2;
  if (tile_registers(spec, s->vector, s->chunks) > 32)
    s->chunks = 1;
  s->threads = 32 * s->warps;
  bool much = spec->mask_mode || spec->op == ROWSCAN_PROD || spec->length > 1 << 17; /* totals of over 64 tiles */
  bool widened = wide(spec) && rowscan_type_bytes(spec->in_type) < 8 && much;
  bool roomy = tile_registers(spec, s->vector, s->chunks) > 32 || widened || arch / 10 != 9; /* 64 registers spill */
  s->min_blocks = (roomy ? FEW_THREADS / 2 : FEW_THREADS) / s->threads;
  int64_t tiles = (spec->length + rs_tile(s) - 1) / rs_tile(s);
  return tiles > 1 && tiles * rs_spec_register_bytes(spec) <= MOST_TOTALS;
}

int64_t rs_tune_few_blocks(const rs_shape *shape, int multiprocessors) {
  return FEW_TIMES * (int64_t)shape->min_blocks * multiprocessors;
}

/* ---- slabs ------------------------------------------------------------------------------------------------------- */

static bool slab_shape(const rowscan_spec *spec, int arch, bool words, rs_shape *s) {
  rs_slab_shape slab;
  if (!rs_tune_short(spec, arch, words, &slab))
    return false;
  *s = (rs_shape){.made_of = RS_TEMPLATE_SLAB,
                  .threads = slab.threads,
                  .min_blocks = slab.min_blocks,
                  .shared_bytes = slab.shared_bytes,
                  .lanes = slab.lanes,
                  .vector = slab.vector,
                  .rows = slab.rows,
                  .word = slab.word};
  return true;
}

static rs_geometry short_geometry(const rowscan_spec *spec, int arch) {
  rs_geometry g = group_geometry(ROWSCAN_REGIME_SHORT, group_shape(spec, 1));
  rs_shape dense, aligned, few;
  if (!rs_slab_serves(spec) || !slab_shape(spec, arch, false, &dense))
    return g;
  g.shape[RS_KERNEL_DENSE] = dense;
  g.shape[RS_KERNEL_ALIGNED] = slab_shape(spec, arch, true, &aligned) ? aligned : (rs_shape){0};
  if (few_rows_shape(spec, arch, &few))
    g.shape[RS_KERNEL_FEW] = few;
  return g;
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

/* Of bytes, in and out, with vectors of 16. Measured on an H100, i8, 2^26 elements. */
static const ring_shape byte_rings[] = {
    {2, 1, 16}, /* i = 0 */
    {2, 1, 16}, /* i = 1 */
    {2, 2, 16}, /* i = 2 */
    {4, 2, 8},  /* 4096: 0.995 */
    {4, 2, 8},  /* 8192: 1.016; {4, 4, 4} 0.940, {8, 2, 4} 0.923 */
    {4, 2, 8},  /* 16384: 1.002; {4, 4, 4} and {8, 2, 4} 0.985, {8, 4, 2} 0.841 */
    {8, 2, 4},  /* 32768: 0.993; {4, 4, 4} 0.993, {8, 4, 2} 0.973, {16, 1, 2} 0.949, {4, 2, 8} 0.935 */
    {8, 4, 2},  /* 65536: 0.981; {16, 2, 2} 0.982, {4, 4, 4} 0.936, {8, 2, 4} 0.923 */
    {8, 4, 2},  /* 131072: 0.942; {16, 2, 1} 0.909, {16, 1, 2} 0.888, {4, 4, 4} 0.875 */
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

/*
 * A row that has far fewer bytes to bring than to take away. Measured on an H200 and an H100, rows of 32768, ratio to
 * memcpy:
 *   warps, chunks, blocks of a multiprocessor, stages, buffers    bool to i64     i8 to i32
 *   16, 2, 2, 8, 2                                               0.896  0.936    0.925  0.956
 *   8, 4, 2, 4, 3                                                0.888  0.930    0.919  0.953
 *   8, 4, 2, 8, 2                                                0.889  0.933    0.905  0.946
 *   8, 2, 3, 8, 3                                                0.877  0.921    0.895  0.934
 *   8, 2, 4, 8, 2                                                0.870  0.918    0.892  0.932
 *   16, 1, 2, 8, 4                                                      0.932           0.945
 *   32, 2, 1, 8, 3                                               0.814  0.949    0.731  0.923
 *   16, 4, 1, 8, 4                                                               0.813  0.975 (slow_widening_ring)
 *   16, 2, 1, 8, 4                                               0.756  0.952    0.926
 * One block is the best for an H100, whose memory has 0.7 of the speed, and starves an H200's. So there are two, and of
 * 64-bit accumulators rs_tune_device keeps one away where memory is slow; others have another kernel there.
 */
static bool widens(const rowscan_spec *spec) {
  return 4 * rowscan_type_bytes(spec->in_type) <= rowscan_type_bytes(spec->out_type);
}
static const ring_shape widening_ring = {16, 2, 2}, tight_widening_ring = {16, 2, 1}, slow_widening_ring = {16, 4, 1};
enum { BUFFERS = 2, SLOW_BUFFERS = 4 };

/* Bytes, in and out. */
static bool bytes_alone(const rowscan_spec *spec) {
  return rowscan_type_bytes(spec->in_type) == 1 && rowscan_type_bytes(spec->out_type) == 1;
}

static ring_shape ring_shape_of(const rowscan_spec *spec, int arch, int i) {
  ring_shape shape = wide(spec) ? wide_rings[i] : bytes_alone(spec) ? byte_rings[i] : narrow_rings[i];
  int64_t in = (int64_t)rowscan_type_bytes(spec->in_type), out = (int64_t)rowscan_type_bytes(spec->out_type);
  bool spills = wide(spec) && (spec->mask_mode || spec->acc_type == ROWSCAN_F64); /* in 64 registers */
  if (shape.blocks == 1 && arch / 10 == 9 && widens(spec))
    return spills ? tight_widening_ring : widening_ring;
  /* where a row has few bytes to bring, two blocks share a multiprocessor: f32 in f64, rows of 32768: 0.956, one block
     0.923. Elsewhere 128 registers spill */
  if (shape.blocks == 1 && arch / 10 == 9 && (in < out || (wide(spec) && in < 8)))
    shape.blocks = 2;
  return shape;
}

static int64_t stage_bytes(const rowscan_spec *spec, const rs_shape *s) {
  return rs_tile(s) * ((int64_t)rowscan_type_bytes(spec->in_type) + rs_spec_mask_bytes(spec));
}

static int64_t buffer_bytes(const rowscan_spec *spec, const rs_shape *s) {
  return rs_tile(s) * (int64_t)rowscan_type_bytes(spec->out_type);
}

/* As many stages as fit, up to 8 and the row's tiles. */
static bool fit_stages(const rowscan_spec *spec, rs_shape *s, int shared, int buffers) {
  int64_t tiles = (spec->length + rs_tile(s) - 1) / rs_tile(s);
  int most = tiles < 8 ? (int)tiles : 8;
  int system = 1024 + 512; /* a block's share of the system, its arrivals and totals of warps */
  s->buffers = tiles > 1 ? buffers : 1;
  int64_t room = shared / s->min_blocks - system - s->buffers * buffer_bytes(spec, s);
  s->stages = room < 0 ? 0 : (int)(room / stage_bytes(spec, s));
  if (s->stages > most)
    s->stages = most;
  s->shared_bytes = (int)(s->stages * stage_bytes(spec, s) + s->buffers * buffer_bytes(spec, s));
  return s->stages >= (most < 2 ? most : 2);
}

/* The next number of blocks that is tried: half of them, and of three two. */
static int next_blocks(int blocks) {
  return blocks == 3 ? 2 : blocks / 2;
}

static bool ring_shape_for(const rowscan_spec *spec, int arch, rs_shape *s) {
  *s = (rs_shape){.made_of = RS_TEMPLATE_RING, .lanes = 32, .vector = vector_of(spec)};
  int i = 0;
  while (i < 8 && (int64_t)32 * s->vector << i < spec->length)
    i++;
  /* where the ring does not fit, fewer blocks share a multiprocessor; then that of shorter rows */
  for (; i >= 0; i--) {
    ring_shape shape = ring_shape_of(spec, arch, i);
    s->warps = shape.warps;
    s->chunks = shape.chunks;
    s->threads = 32 * s->warps;
    for (s->min_blocks = shape.blocks; s->min_blocks > 0; s->min_blocks = next_blocks(s->min_blocks))
      if (fit_stages(spec, s, shared_bytes_of(arch), BUFFERS))
        return true;
  }
  return false;
}

/*
 * Where the ring is a widening_ring, and rows have tiles enough. Measured on an H100, i8 to i32, 10^9 elements, ms with
 * the widening_ring and so, tiles of 8192: 17408 1.77, 2.41; 24576 1.72, 1.78; 30720 1.73, 1.90; 32752 1.71, 1.82;
 * 32768 1.86, 1.82; 36864 1.76, 1.87; 40960 1.76, 1.71; 45056 1.77, 1.77; 49152 1.78, 1.72; 61440 1.78, 1.73;
 * 65536 1.78, 1.73.
 */
static bool slow_ring_shape(const rowscan_spec *spec, const rs_shape *ring, int arch, rs_shape *s) {
  if (arch / 10 != 9 || !widens(spec) || wide(spec) || ring->warps != widening_ring.warps ||
      ring->chunks != widening_ring.chunks || ring->min_blocks != widening_ring.blocks)
    return false;
  *s = *ring;
  s->chunks = slow_widening_ring.chunks;
  s->min_blocks = slow_widening_ring.blocks;
  int64_t least = spec->length % rs_tile(s) == 0 ? 4 : 5;
  return spec->length / rs_tile(s) >= least && fit_stages(spec, s, shared_bytes_of(arch), SLOW_BUFFERS);
}

/*
 * The same for rows at any offset from 16 bytes, with large parts of a tile for each warp: that whose tiles take the
 * fewest elements, the empty ones of the last included, each weighed in percent. Measured on an H200, ratio to memcpy,
 * of 10^9 elements and (rows of 1501 to 20001, and all of bytes) 2^24 to 2^26; a star: what was not that row's before
 * the weights.
 *   f32           {8, 4, 3}  {4, 4, 5}  {2, 4, 10}     bf16          {8, 4, 2}  {4, 4, 4}  {2, 4, 8}
 *      1001                                0.978          2049                    0.677 *    0.619
 *      1501         0.679      1.016       0.959          3001                    0.785      0.847
 *      2049         0.770      0.805       0.997          5001                    0.808      0.931
 *      3001         0.939      0.956       1.011 *        9999                    0.952      0.977 *
 *      4097         0.812      1.000       0.987         20001         0.822      0.959 *    0.910
 *      5001         0.898      1.003       0.984         50257         0.884      0.880      0.767
 *     50257         0.897   {8, 8, 1} 0.947              65535         0.902      0.883      0.843
 *   f64           {8, 2, 2}  {4, 2, 4}  {2, 2, 8}      i8 to i32     {8, 4, 3}  {4, 4, 5}  {2, 4, 10}  {8, 2, 2} ...
 *      1501         0.924      0.943                      1501         0.519      0.767 *    0.690       0.598
 *      3001         0.781      0.981 *     0.973          3001         0.710      0.737      0.901 *     0.575
 *      5001         0.899      0.970 *     0.940          5001         0.675      0.813      0.905 *     0.622
 *      8193         0.955      0.937                      9999         0.856      0.917 *                0.660
 *     20001         0.919      0.888                     20001         0.907 *    0.890                  0.716
 *     50257         0.824      0.710                     50257         0.771 *    0.733                  0.607
 *   bool to i64   {4, 4, 2}  {4, 2, 4}  {8, 2, 2}: 3001 0.785, 0.883 *, 0.595; 5001 0.893, 0.892 *, 0.683; 20001
 *   0.846 *, 0.717, 0.689
 * f64 with {8, 2, 2} and {4, 4, 2}, on an H200 and an H100: 8193 0.956 0.996, 0.968 0.999; 20001 0.921 0.952, 0.927
 * 0.958; 50257 0.822 0.885, 0.855 0.914.
 * i8 to i8, with vectors of 16, on an H100:
 *          {2, 2, 8}  {4, 2, 4}  {2, 4, 6}  {4, 4, 3}         {2, 2, 8}  {4, 2, 4}  {2, 4, 6}  {4, 4, 3}
 *   2001     0.898      0.685      0.603      0.413    14001    0.930      0.905      0.975      0.907
 *   3001     0.741      0.835      0.807      0.501    20001    0.919      0.966      1.020      0.937
 *   4097     0.645      0.557      0.553      0.554    30001    0.869      0.910      0.935      0.991
 *   5001     0.828      0.721      0.728      0.709    50257    0.733      0.857      0.882      0.938
 *   7001     0.892      0.881      0.920      0.812    65535    0.716      0.882      0.833      0.963
 *   9999     0.952      0.867      0.928      0.755   100001    0.594      0.750      0.813      0.884
 * {8, 4, 1} and {8, 2, 2} are behind in all, {2, 2, 10} and {4, 2, 5} within 2% of {2, 2, 8} and {4, 2, 4}.
 */
enum { ANY_RINGS = 3 };
typedef struct any_ring {
  ring_shape shape;
  int weight;
} any_ring;
static const any_ring any_rings[ANY_RINGS] = {{{8, 4, 3}, 100}, {{4, 4, 5}, 108}, {{2, 4, 10}, 131}};
/* From LONG elements on. */
static const any_ring long_any_rings[ANY_RINGS] = {{{8, 8, 1}, 85}, {{8, 4, 3}, 100}, {{4, 4, 5}, 108}};
/* With vectors of 8, fewer blocks have registers enough; where one side is of bytes, fewer chunks too. */
static const any_ring half_any_rings[ANY_RINGS] = {{{8, 4, 2}, 100}, {{4, 4, 4}, 103}, {{2, 4, 8}, 115}};
static const any_ring byte_any_rings[ANY_RINGS] = {{{4, 4, 4}, 100}, {{4, 2, 4}, 135}, {{2, 2, 8}, 137}};
/* Bytes alone, with vectors of 16; and from LONG elements on. */
static const any_ring bytes_any_rings[ANY_RINGS] = {{{2, 4, 6}, 100}, {{2, 2, 8}, 117}, {{4, 4, 3}, 125}};
static const any_ring long_bytes_any_rings[ANY_RINGS] = {{{4, 4, 3}, 100}, {{2, 4, 6}, 108}, {{2, 2, 8}, 145}};
static const any_ring widening_any_rings[ANY_RINGS] = {{{8, 4, 3}, 100}, {{4, 4, 5}, 108}, {{2, 4, 10}, 120}};
/* Of less than 4 bytes from CROWDED on, but on sm_90: three blocks spill (bool to f32 of 41897, masked, 48 bytes; NVRTC
 * 12.9, i16 to i32 of 19195, masked, 16). Not measured. */
static const any_ring roomy_any_rings[ANY_RINGS] = {{{8, 4, 2}, 100}, {{4, 4, 4}, 108}, {{2, 4, 8}, 120}};
/* Of 64-bit accumulators. */
static const any_ring wide_any_rings[ANY_RINGS] = {{{4, 4, 2}, 100}, {{4, 2, 4}, 112}, {{2, 2, 8}, 130}};

static const any_ring *any_rings_of(const rowscan_spec *spec, int arch, int vector) {
  enum { LONG = 24576, CROWDED = 8192 };
  if (wide(spec))
    return wide_any_rings;
  if (bytes_alone(spec))
    return spec->length >= LONG ? long_bytes_any_rings : bytes_any_rings;
  if (vector > 4)
    return rowscan_type_bytes(spec->in_type) == 1 || rowscan_type_bytes(spec->out_type) == 1 ? byte_any_rings
                                                                                             : half_any_rings;
  if (rowscan_type_bytes(spec->in_type) < 4 && spec->length >= CROWDED && arch / 10 != 9)
    return roomy_any_rings;
  return widens(spec) ? widening_any_rings : spec->length >= LONG ? long_any_rings : any_rings;
}

/* kernels/offset.cuh: bytes that copies in shared memory have more, each array of a stage and each room for results. */
enum { ANY_SLACK = 128 };

static int64_t any_stage_bytes(const rowscan_spec *spec, const rs_shape *s) {
  return stage_bytes(spec, s) + ANY_SLACK * (spec->mask_mode ? 2 : 1);
}

static int64_t any_buffer_bytes(const rowscan_spec *spec, const rs_shape *s, int rooms) {
  return buffer_bytes(spec, s) + ANY_SLACK * rooms;
}

static bool fit_any_ring(const rowscan_spec *spec, rs_shape *s, int shared) {
  const int system = 1024 + 512; /* of a block */
  int64_t tiles = (spec->length + rs_tile(s) - 1) / rs_tile(s);
  int64_t stage = any_stage_bytes(spec, s), buffer = any_buffer_bytes(spec, s, 1);
  int most = tiles < 5 ? (int)tiles : 5;
  s->buffers = tiles > 1 ? 2 : 1;
  int64_t room = shared / s->min_blocks - system - s->buffers * buffer;
  s->stages = room < 0 ? 0 : (int)(room / stage);
  if (s->stages > most)
    s->stages = most;
  s->shared_bytes = (int)(s->stages * stage + s->buffers * buffer);
  return s->stages >= (most < 2 ? most : 2);
}

/* As many blocks as fit, up to the shape's. */
static bool fit_any_blocks(const rowscan_spec *spec, const ring_shape *shape, int arch, rs_shape *s) {
  s->warps = shape->warps;
  s->chunks = shape->chunks;
  s->threads = 32 * s->warps;
  for (s->min_blocks = shape->blocks; s->min_blocks > 0; s->min_blocks--)
    if (fit_any_ring(spec, s, shared_bytes_of(arch)))
      return true;
  return false;
}

static bool any_ring_shape(const rowscan_spec *spec, int arch, rs_shape *s) {
  const any_ring *rings = any_rings_of(spec, arch, vector_of(spec));
  double least = 0; /* elements times percent */
  for (int i = 0; i < ANY_RINGS; i++) {
    rs_shape tried = {.made_of = RS_TEMPLATE_RING_ANY, .lanes = 32, .vector = vector_of(spec)};
    if (!fit_any_blocks(spec, &rings[i].shape, arch, &tried))
      continue;
    int64_t tiles = (spec->length + rs_tile(&tried) - 1) / rs_tile(&tried);
    double cost = (double)tiles * (double)rs_tile(&tried) * rings[i].weight;
    if (least == 0 || cost < least) {
      least = cost;
      *s = tried;
    }
  }
  return least > 0;
}

/*
 * For any strides, beside a ring for neighbours, where elements can't be gathered. Lanes of single elements: with
 * vectors of elements 8 bytes apart each load reaches for four times the sectors that it needs. Measured on an H100,
 * 8192 x 8192 f32 of every 2nd, ratio to a copy kernel; warps, chunks, vector, blocks a multiprocessor: 16, 1, 4, 1
 * 0.951; 8, 8, 1, 2 0.977, and on another 0.955; 8, 4, 1, 4 0.922; 16, 4, 1, 2 0.887.
 */
static rs_shape any_shape(const rowscan_spec *spec, int arch) {
  bool counts = spec->length >= 1 << 15 && arch / 10 != 9; /* tiles in its own registers, of which ptxas takes more */
  bool masks = spec->mask_mode && arch / 10 != 9;
  int chunks = wide(spec) ? (counts ? 2 : 4) : masks ? 4 : 8, warps = 8; /* with more they spill */
  rs_shape s = {.made_of = RS_TEMPLATE_ROWS, .min_blocks = 2, .lanes = 32, .vector = 1};
  s.chunks = (int)power_of_two((spec->length + 32 * warps - 1) / (32 * warps), 1, chunks);
  s.warps = (int)power_of_two((spec->length + 32 * s.chunks - 1) / (32 * s.chunks), 1, warps);
  s.threads = 32 * s.warps;
  return s;
}

/*
 * The same where they can, which memory has a word for: no masks. Measured on an H200 and an H100 as above; warps,
 * chunks, blocks a multiprocessor: 16, 2, 2 1.087 1.025; 16, 4, 2 1.091 1.023; 16, 4, 1 (a whole row at once) 1.089
 * 1.023; 8, 4, 3 1.079 1.016; 8, 2, 4 1.073 1.009; 4, 4, 6 0.997 on the H100.
 */
static bool gather_shape(const rowscan_spec *spec, int arch, rs_shape *s) {
  enum { LEAST_LENGTH = 1024, LEAST_BYTES = 4, LONG = 1 << 16 };
  if (spec->length < LEAST_LENGTH || spec->mask_mode || rowscan_type_bytes(spec->in_type) < LEAST_BYTES)
    return false;
  *s = (rs_shape){.made_of = RS_TEMPLATE_GATHER, .warps = MOST_WARPS, .lanes = 32, .vector = vector_of(spec)};
  s->chunks = wide(spec) ? 1 : 2;
  while (rs_tile(s) > spec->length)
    s->warps /= 2;
  s->threads = 32 * s->warps;
  s->shared_bytes = (int)(2 * stage_bytes(spec, s) + buffer_bytes(spec, s));
  s->min_blocks = 2 * MOST_WARPS / s->warps;
  if ((wide(spec) || spec->row_rank > 1) && spec->length >= LONG) {
    /* the same tiles, of threads that have twice the registers: none spills */
    s->warps /= 2;
    s->chunks *= 2;
    s->threads /= 2;
  }
  while (s->min_blocks * (s->shared_bytes + 1024) > rs_arch_shared_bytes(arch))
    s->min_blocks--;
  return true;
}

static rs_geometry row_geometry(const rowscan_spec *spec, int arch) {
  rs_shape group = group_shape(spec, MOST_WARPS), ring, slow, few;
  if (group.warps == 1) /* forced */
    group.lanes = group.threads = 32;
  if (arch < 90 || spec->length <= 32 || !ring_shape_for(spec, arch, &ring))
    return group_geometry(ROWSCAN_REGIME_ROW, group);
  if (!gather_shape(spec, arch, &group))
    group = any_shape(spec, arch);
  rs_geometry g = {ROWSCAN_REGIME_ROW, {[RS_KERNEL_ANY] = group, [RS_KERNEL_ALIGNED] = ring}};
  if (slow_ring_shape(spec, &ring, arch, &slow))
    g.shape[RS_KERNEL_ALIGNED_SLOW] = slow;
  if (any_ring_shape(spec, arch, &ring))
    g.shape[RS_KERNEL_DENSE] = ring;
  if (few_rows_shape(spec, arch, &few))
    g.shape[RS_KERNEL_FEW] = few;
  return g;
}

/* ---- rows cut over blocks ---------------------------------------------------------------------------------------- */

/* Shared memory that kernels/slab.cuh takes for elements, whatever their offset from 16 bytes. */
static int slab_room(int64_t elements, rowscan_type type) {
  return (int)((elements * (int64_t)rowscan_type_bytes(type) + 15) / 128 + 1) * 128;
}

/*
 * Whether tiles have fewer blocks than four: what other tiles told takes registers, and ptxas more of them for other
 * architectures than sm_90. Measured on an H100, ratio to memcpy, every second element of rows, masked, with four
 * blocks and three: 512 x 131072 i64 0.607, 0.555; 64 x 1048577 f32 in f64 0.482, 0.415; 64 x 2^20 f64 0.552, 0.530;
 * 4 x 2^24 f64 0.516, 0.525; 8 x 2^24 f32 0.526, 0.520.
 */
static bool crowded(const rowscan_spec *spec, int arch, int vector) {
  if (arch / 10 != 9)
    return spec->length >= 1 << (wide(spec) ? 15 : spec->mask_mode ? 16 : 17);
  bool bytes = wide(spec) && rowscan_type_bytes(spec->in_type) == 1;
  bool most = spec->in_type == ROWSCAN_F64 || (bytes && spec->mask_mode == ROWSCAN_MASK_MULTIPLY);
  int64_t from = most ? 1 << 15 : vector >= 8 ? 1 << 17 : wide(spec) ? 1 << 24 : INT64_MAX;
  /* with the row's offsets, of several dimensions; of three few spill. Not measured */
  int64_t several = spec->mask_mode ? 1 << 17 : spec->row_rank > 3 ? 1 << 20 : 1 << 24;
  bool deep = wide(spec) && spec->row_rank > 2 && spec->length >= several;
  return deep || (spec->mask_mode && spec->length >= from);
}

/* A block a tile: 8 warps share what shared memory lets several blocks of a multiprocessor have. */
static rs_shape tiles_shape(const rowscan_spec *spec, int arch) {
  rs_shape s = {.made_of = RS_TEMPLATE_TILES, .threads = 256, .min_blocks = 4, .lanes = 32, .warps = 8};
  s.vector = larger(vector_of(spec), 4);
  if (crowded(spec, arch, s.vector) || (s.vector >= 8 && arch / 10 == 10))
    s.min_blocks = 3; /* i8 on sm_100, NVRTC 12.9: 16 bytes spilled with 4 */
  bool masks = wide(spec) && spec->mask_mode;
  if ((masks || spec->length >= 1 << (wide(spec) ? 24 : s.vector > 8 ? 26 : 30)) && arch / 10 != 9)
    s.min_blocks = 2; /* bool on sm_100, NVRTC 12.9: 16 bytes with 3; i8, masked, on sm_80: 8 bytes */
  bool in_place = rowscan_type_bytes(spec->in_type) == rowscan_type_bytes(spec->out_type);
  int most = shared_bytes_of(arch) / s.min_blocks - 1024;
  for (s.chunks = 8; s.chunks > 0; s.chunks /= 2) {
    int64_t elements = rs_tile(&s) < spec->length ? rs_tile(&s) : spec->length;
    s.shared_bytes = slab_room(elements, spec->in_type) + (spec->mask_mode ? slab_room(elements, spec->mask_type) : 0) +
                     (in_place ? 0 : slab_room(elements, spec->out_type));
    if (s.shared_bytes <= most)
      return s;
    if (s.chunks == 1)
      break;
  }
  s.min_blocks = shared_bytes_of(arch) / (s.shared_bytes + 1024);
  return s;
}

static bool fit_stream(rs_shape *s, int64_t stage, int64_t buffer, int arch) {
  const int64_t system = 4 * 1024; /* a block's share of the system, and what it knows of its tiles */
  s->stages = (int)((shared_bytes_of(arch) - system - buffer) / stage);
  if (s->stages > 6)
    s->stages = 6;
  s->shared_bytes = (int)(s->stages * stage + buffer);
  return arch >= 90 && s->stages >= 2;
}

/*
 * Whether totals are what a stream waits for. On an H100, ratio to memcpy with 2, 4 and 6 warps that reduce:
 *   bf16 off 16 bytes, 3 x 50000001 0.962, 0.976, 0.973; 264 x 98305 0.854, 0.961, 0.956
 *   i8 to i8, 3 x 50000000, vectors of 8, 8 warps of 8 chunks 0.834, 0.939; masked 0.845, 1.000; vectors of 16, 8 of 4
 *   0.949 (4) and 0.951 (6), masked 1.007 and 1.004; off 16 bytes 0.604, 0.823; 0.844 and 0.848, masked 0.835 and 0.796
 * Those left out spill with four, which leave 128 registers (masked bf16 0.818, 0.860), and so do some elsewhere.
 */
static bool reduces_long(const rowscan_spec *spec, bool off, int vector) {
  if (bytes_alone(spec))
    return off || spec->length % vector == 0;
  bool plain = !spec->mask_mode && spec->row_rank == 1 && rs_type_kind(spec->in_type) == RS_FLOAT;
  return off && vector > 4 && plain;
}

/*
 * A block a multiprocessor, tiles of 32 KB where registers allow: telling a total and waiting for it takes about 1.8 us
 * a tile, and a multiprocessor of an H200 copies 32 KB in 2 us. Measured on an H200, rows of 2^28, ratio to memcpy:
 *   f32, 4 warps of 16 chunks and 6 stages 0.953, reverse 0.960; 8 of 8 0.962, reverse 0.769; tiles of 16 KB and 12
 *   stages 0.657; 4 warps that reduce 0.956, 1 0.948
 *   bf16, vectors of 8, 8 warps of 8 chunks 0.940, reverse 0.960; 4 of 16 0.935, 0.951
 *   f64, vectors of 2, 8 of 8 0.815, 4 of 16 0.793; vectors of 4 (32 bytes a lane, so that a store fills half a sector)
 *   0.739
 * Up to 8 warps have 255 registers a thread, up to 12 168; about 60 and 40 of them are not for chunks.
 */
static bool stream_shape(const rowscan_spec *spec, int arch, bool off, rs_shape *s) {
  *s = (rs_shape){.made_of = RS_TEMPLATE_STREAM, .min_blocks = 1, .lanes = 32};
  int widest = larger((int)rowscan_type_bytes(spec->in_type), (int)rowscan_type_bytes(spec->out_type));
  s->vector = 16 / widest;
  s->reducers = arch / 10 == 9 && reduces_long(spec, off, s->vector) ? 4 : 2;
  s->warps = s->vector == 4 && !wide(spec) ? 4 : 8;
  s->threads = 32 * (s->warps + s->reducers + 2);
  int registers = s->warps == 4 ? 190 : 128, most = 64 / s->warps;
  /*
   * Others spill: 1 x 2^28 bf16 in f64 on an H200 0.446 of memcpy so, 0.449 with 652 bytes. From 2^30 elements on those
   * of 8 bytes spill 8 to 96 bytes, and keep their chunks: 1 x 2^30 f64 on an H100 6.59 ms exclusive with half of them,
   * 5.68 with all; reverse 6.92, 5.71.
   */
  int in = (int)rowscan_type_bytes(spec->in_type);
  if (spec->acc_type == ROWSCAN_F64 ? in < 4 : wide(spec) && in < 8 && arch / 10 != 9)
    registers /= 2;
  s->chunks = most;
  while (s->chunks > 1 && s->chunks * chunk_registers(spec, s->vector) > registers)
    s->chunks /= 2;
  return fit_stream(s, stage_bytes(spec, s), 0, arch);
}

/* The same for rows at any offset from 16 bytes: each warp has room in shared memory for its results at theirs. */
static bool any_stream_shape(const rowscan_spec *spec, int arch, rs_shape *s) {
  if (!stream_shape(spec, arch, true, s))
    return false;
  s->made_of = RS_TEMPLATE_STREAM_ANY;
  return fit_stream(s, any_stage_bytes(spec, s), any_buffer_bytes(spec, s, s->warps), arch);
}

static rs_geometry long_geometry(const rowscan_spec *spec, int arch) {
  rs_shape tiles = tiles_shape(spec, arch), stream, at_once;
  rs_geometry g = {ROWSCAN_REGIME_LONG, {[RS_KERNEL_LONG_ANY] = tiles}};
  g.shape[RS_KERNEL_LONG_ALIGNED] = stream_shape(spec, arch, false, &stream) ? stream : tiles;
  if (any_stream_shape(spec, arch, &stream))
    g.shape[RS_KERNEL_LONG_DENSE] = stream;
  if (at_once_shape(spec, arch, &at_once))
    g.shape[RS_KERNEL_LONG_FEW] = at_once;
  return g;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

void rs_tune_column_cuts(const rowscan_spec *spec, int arch, rs_columns *columns) {
  columns->kept = rowscan_type_bytes(spec->acc_type);
  columns->scratch = rs_columns_scratch(spec->length);
  rs_tune_columns(spec, arch, &columns->any);
  rs_tune_stream_columns(spec, arch, &columns->stream);
  rs_tune_wide(spec, arch, &columns->wide);
  rs_tune_askew(spec, arch, &columns->askew);
  rs_tune_short_columns(spec, arch, &columns->brief);
  rs_tune_at_once(spec, arch, &columns->at_once);
  rs_tune_pairs(spec, arch, &columns->pairs);
}

static rs_shape wide_geometry(const rs_wide_shape *wide) {
  return (rs_shape){.made_of = wide->askew ? RS_TEMPLATE_ASKEW : RS_TEMPLATE_WIDE,
                    .threads = wide->threads,
                    .min_blocks = wide->min_blocks,
                    .shared_bytes = rs_wide_most_shared(wide), /* at most */
                    .lanes = wide->lanes,
                    .vector = wide->vector,
                    .steps = wide->steps,
                    .width = wide->width};
}

static rs_geometry column_geometry(const rowscan_spec *spec, int arch) {
  rs_columns cuts;
  rs_tune_column_cuts(spec, arch, &cuts);
  rs_shape any = {.made_of = RS_TEMPLATE_COLUMNS,
                  .threads = cuts.any.threads,
                  .min_blocks = cuts.any.min_blocks,
                  .shared_bytes = rs_columns_shared(&cuts.any), /* at most */
                  .lanes = cuts.any.lanes,
                  .steps = cuts.any.steps};
  rs_geometry g = {ROWSCAN_REGIME_COLUMN,
                   {[RS_KERNEL_ANY] = any,
                    [RS_KERNEL_NEIGHBOURS] = wide_geometry(&cuts.askew),
                    [RS_KERNEL_ALIGNED] = wide_geometry(&cuts.wide)}};
  if (cuts.stream.steps)
    g.shape[RS_KERNEL_DENSE] = (rs_shape){.made_of = RS_TEMPLATE_STREAM_COLUMNS,
                                          .threads = 32 * cuts.stream.warps,
                                          .min_blocks = 1,
                                          .shared_bytes = cuts.stream.shared, /* at most */
                                          .steps = cuts.stream.steps,
                                          .warps = cuts.stream.warps};
  if (cuts.brief.steps) /* then there is no stream */
    g.shape[RS_KERNEL_DENSE] = (rs_shape){.made_of = RS_TEMPLATE_SHORT_COLUMNS,
                                          .threads = cuts.brief.threads,
                                          .min_blocks = cuts.brief.min_blocks,
                                          .shared_bytes = rs_short_shared(&cuts.brief), /* at most */
                                          .steps = cuts.brief.steps};
  if (cuts.at_once.steps)
    g.shape[RS_KERNEL_AT_ONCE] = (rs_shape){.made_of = RS_TEMPLATE_COLUMNS_AT_ONCE,
                                            .threads = cuts.at_once.threads,
                                            .min_blocks = cuts.at_once.min_blocks,
                                            .shared_bytes = cuts.at_once.shared, /* at most */
                                            .steps = cuts.at_once.steps,
                                            .rows = cuts.at_once.tiles};
  if (cuts.pairs.vector)
    g.shape[RS_KERNEL_FEW] = (rs_shape){.made_of = RS_TEMPLATE_PAIRS,
                                        .threads = 32 * cuts.pairs.warps,
                                        .min_blocks = cuts.pairs.min_blocks,
                                        .shared_bytes = rs_pairs_shared(&cuts.pairs),
                                        .warps = cuts.pairs.warps,
                                        .chunks = 1,
                                        .lanes = 32,
                                        .vector = cuts.pairs.vector};
  return g;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static bool always_cut(const rowscan_spec *spec, const rs_shape *cut, const rs_shape *off) {
  return cut->made_of && !rs_whole_rows_of(spec, cut, off).tenths;
}

/* No kernel for rows that have a block each, if none ever has. */
static void leave_out_whole(const rowscan_spec *spec, const rs_geometry *cut, rs_geometry *g) {
  const rs_shape off = g->shape[RS_KERNEL_DENSE];
  if (always_cut(spec, &cut->shape[RS_KERNEL_LONG_ALIGNED], &off))
    g->shape[RS_KERNEL_ALIGNED] = g->shape[RS_KERNEL_ALIGNED_SLOW] = g->shape[RS_KERNEL_FEW] = (rs_shape){0};
  if (always_cut(spec, &cut->shape[RS_KERNEL_LONG_DENSE], &off))
    g->shape[RS_KERNEL_DENSE] = (rs_shape){0};
}

/* Both regimes, or row if rows of this length are never cut. */
static rs_geometry row_and_long_geometry(const rowscan_spec *spec, int arch) {
  rs_geometry g = row_geometry(spec, arch), cut = long_geometry(spec, arch);
  leave_out_whole(spec, &cut, &g);
  for (int kernel = RS_KERNEL_LONG_ANY; kernel < RS_KERNELS; kernel++) {
    if (!rs_may_be_cut(spec->length, &cut.shape[kernel]))
      continue;
    g.regime = ROWSCAN_REGIME_AUTO;
    g.shape[kernel] = cut.shape[kernel];
  }
  return g;
}

static rs_geometry choose(const rowscan_spec *spec, int arch) {
  switch (spec->regime) {
  case ROWSCAN_REGIME_ROW:
    return row_geometry(spec, arch);
  case ROWSCAN_REGIME_SHORT:
    return short_geometry(spec, arch);
  case ROWSCAN_REGIME_LONG:
    return spec->length ? long_geometry(spec, arch) : short_geometry(spec, arch);
  case ROWSCAN_REGIME_COLUMN:
    return spec->length ? column_geometry(spec, arch) : short_geometry(spec, arch);
  case ROWSCAN_REGIME_AUTO:
    break;
  }
  if (spec->layout == ROWSCAN_LAYOUT_COLUMNS && spec->length)
    return column_geometry(spec, arch);
  bool fits = rs_slab_serves(spec) || rs_tile(&short_geometry(spec, arch).shape[RS_KERNEL_ANY]) >= spec->length;
  return fits ? short_geometry(spec, arch) : row_and_long_geometry(spec, arch);
}

/*
 * Elements that a block asks L2 for before it may read them: its own, where the whole scan is in work at once, else a
 * share of what a multiprocessor asks for. Measured on an H100, one after another in a graph, ratio to memcpy without
 * and with: 1 x 1024 1.063, 1.279; 1 x 65536 0.723, 0.882; 1 x 2^20 0.764, 0.883; 40 x 152000 0.973, 1.144; 8192 x 64
 * 1.097, 1.438; 65536 x 512 1.009, 1.013; 256 x 151936 0.971, 0.979; 32768 x 129 along 32768 0.504, 0.562; 2^20 x 32
 * 0.910, 0.926. 32 KB instead of 64: 32768 x 129 0.555.
 */
static int prefetch_of(const rowscan_spec *spec, const rs_shape *s, rs_kernel kernel) {
  enum { SHARE = 64 * 1024 };
  switch (s->made_of) {
  case RS_TEMPLATE_AT_ONCE:
    return (int)rs_tile(s);
  case RS_TEMPLATE_PAIRS:
    return 2 * (int)rs_tile(s);
  case RS_TEMPLATE_ROWS:
    return kernel == RS_KERNEL_ANY ? 0 : s->threads * s->chunks * s->vector;
  case RS_TEMPLATE_SLAB:
    return s->rows * (int)spec->length;
  case RS_TEMPLATE_TILES:
  case RS_TEMPLATE_GATHER:
  case RS_TEMPLATE_NONE:
    return 0;
  default:
    return SHARE / s->min_blocks / (int)rowscan_type_bytes(spec->in_type);
  }
}

/* No multiprocessor holds more blocks than it has threads for, whatever registers would allow. */
static void keep_to_threads(rs_shape *s, int arch) {
  if (s->made_of && s->min_blocks * s->threads > rs_arch_threads(arch))
    s->min_blocks = rs_arch_threads(arch) / s->threads;
}

rs_geometry rs_tune(const rowscan_spec *spec, int arch) {
  rs_geometry g = choose(spec, arch);
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    keep_to_threads(&g.shape[kernel], arch);
  for (int kernel = 0; kernel < RS_KERNELS && arch >= 90 && spec->length; kernel++)
    g.shape[kernel].prefetch = prefetch_of(spec, &g.shape[kernel], (rs_kernel)kernel);
  return g;
}

/*
 * Of two kernels for the same rows one goes. And shared memory that nobody uses leaves room for one block of a
 * widening_ring. Measured on an H100, of 3352 GB/s, ratio to memcpy with two and with one: bool to i64 0.935, 0.952; i8
 * to i32 0.957, 0.909. On an H200, of 4916: 0.894, 0.780.
 */
void rs_tune_device(rs_geometry *geometry, const rowscan_spec *spec, int arch, double peak_gbs) {
  enum { FAST_GBS = 4000 };
  bool slow = peak_gbs > 0 && peak_gbs < FAST_GBS && arch / 10 == 9;
  if (geometry->shape[RS_KERNEL_ALIGNED_SLOW].made_of)
    geometry->shape[slow ? RS_KERNEL_ALIGNED : RS_KERNEL_ALIGNED_SLOW] = (rs_shape){0};
  for (int kernel = 0; kernel < RS_KERNELS && slow && widens(spec) && wide(spec); kernel++) {
    rs_shape *s = &geometry->shape[kernel];
    if (s->made_of == RS_TEMPLATE_RING && s->min_blocks == widening_ring.blocks)
      s->shared_bytes = larger(s->shared_bytes, rs_arch_shared_bytes(arch) / 2);
  }
}

rowscan_regime rs_kernel_regime(const rs_geometry *geometry, rs_kernel kernel) {
  if (geometry->regime != ROWSCAN_REGIME_AUTO)
    return geometry->regime;
  return kernel < RS_KERNEL_LONG_ANY ? ROWSCAN_REGIME_ROW : ROWSCAN_REGIME_LONG;
}

bool rs_tune_long(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, int64_t rows,
                  int multiprocessors) {
  const rs_shape *cut = &geometry->shape[kernel];
  rs_whole_rows whole = rs_whole_rows_of(spec, cut, &geometry->shape[RS_KERNEL_DENSE]);
  return cut->made_of && !rs_are_whole(whole, rows, multiprocessors);
}

int rs_geometry_kernels(const rs_geometry *geometry) {
  int count = 0;
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    count += geometry->shape[kernel].made_of != RS_TEMPLATE_NONE;
  return count;
}

static rs_kernel main_kernel(const rs_geometry *geometry) {
  static const rs_kernel order[] = {RS_KERNEL_ALIGNED, RS_KERNEL_ALIGNED_SLOW, RS_KERNEL_LONG_ALIGNED,
                                    RS_KERNEL_DENSE,   RS_KERNEL_NEIGHBOURS,   RS_KERNEL_ANY};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (geometry->shape[order[i]].made_of)
      return order[i];
  return RS_KERNEL_LONG_ANY;
}

rs_kernel rs_geometry_kernel(const rs_geometry *geometry, int i) {
  rs_kernel first = main_kernel(geometry);
  if (i == 0)
    return first;
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    if (geometry->shape[kernel].made_of && kernel != (int)first && --i == 0)
      return (rs_kernel)kernel;
  return first; /* i is rs_geometry_kernels or more */
}

const char *rs_kernel_symbol(rs_kernel kernel) {
  static const char *const symbols[RS_KERNELS] = {
      [RS_KERNEL_ANY] = "rowscan_any",
      [RS_KERNEL_NEIGHBOURS] = "rowscan_neighbours",
      [RS_KERNEL_DENSE] = "rowscan_dense",
      [RS_KERNEL_ALIGNED] = "rowscan_aligned",
      [RS_KERNEL_ALIGNED_SLOW] = "rowscan_aligned_slow",
      [RS_KERNEL_FEW] = "rowscan_few",
      [RS_KERNEL_AT_ONCE] = "rowscan_at_once",
      [RS_KERNEL_LONG_ANY] = "rowscan_long_any",
      [RS_KERNEL_LONG_DENSE] = "rowscan_long_dense",
      [RS_KERNEL_LONG_ALIGNED] = "rowscan_long_aligned",
      [RS_KERNEL_LONG_FEW] = "rowscan_long_few",
  };
  return symbols[kernel];
}

const char *rs_kernel_name(rs_kernel kernel) {
  return rs_kernel_symbol(kernel) + sizeof "rowscan_" - 1;
}

void rs_kernel_text(const rs_geometry *geometry, rs_kernel kernel, rs_text *text) {
  rs_text_add(text, "regime=%s\nkernel=%s\nshape=", rowscan_regime_name(rs_kernel_regime(geometry, kernel)),
              rs_kernel_name(kernel));
  rs_shape_text(&geometry->shape[kernel], text);
  rs_text_add(text, "\n");
}
