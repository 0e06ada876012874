/*
 * tune_rows.c - (spec, architecture) to the kernels of rows that have a block each, or are cut over blocks
 * SPDX-License-Identifier: MIT
 */
#include "candidates.h"
#include "spec/arch.h"
#include "spec/types.h"
#include "tune.h"

/*
 * Elements that a thread moves at once: 16 bytes of the wider of input and output, but 4 elements at least, since a
 * vector's levels of the order need no shuffles, and 8 at most where totals take two registers; as many as make 128
 * bytes of totals where instructions count.
 */
static int vector_of(const rowscan_spec *spec) {
  if (rs_computes(spec))
    return rs_power(spec->length, 1, 128 / rs_spec_register_bytes(spec));
  int most = 16 / (int)rs_larger(rs_bytes_of(spec->in_type), rs_bytes_of(spec->out_type));
  if (rs_is_wide(spec))
    most = (int)rs_smaller(most, 8);
  return rs_power(spec->length, 1, most < 4 ? 4 : most);
}

/*
 * Narrow elements with wide totals, as of recurrences of bytes, or of halves in f64: an element costs more instructions
 * than bytes, most of them to exchange totals, and to convert.
 */
static bool is_heavy(const rowscan_spec *spec) {
  return rs_is_wide(spec) && rs_larger(rs_bytes_of(spec->in_type), rs_bytes_of(spec->out_type)) <= 2;
}

/* Whether elements are converted to 64 bits, which takes as long as eight other instructions. */
static bool converts(const rowscan_spec *spec) {
  return rs_in_doubles(spec) && rs_bytes_of(spec->in_type) < 4;
}

static int pieces_of(const rowscan_spec *spec, int64_t elements, int most) {
  return rs_power(rs_ceiling(spec->length, elements), 1, most);
}

/* ---- registers --------------------------------------------------------------------------------------------------- */

/* Registers of a thread for a chunk: its elements (kernels/held.cuh), and accumulators for the way down. */
static int chunk_registers(const rowscan_spec *spec, int vector) {
  int acc = rs_spec_register_bytes(spec) / 4, in = rs_bytes_of(spec->in_type);
  if (rs_sums_bytes(spec) && vector % 4 == 0) /* four to a register, and sums of 32 bits */
    return vector / 4 + 6;
  int held = rs_spec_has_further(spec)                  ? 4 * rs_inputs(spec)
             : spec->mask_mode == ROWSCAN_MASK_MULTIPLY ? 4 * acc
             : spec->mask_mode > ROWSCAN_MASK_MULTIPLY  ? in + rs_spec_mask_bytes(spec)
             : in == 1 && acc == 1                      ? 4
                                                        : in;
  return (vector * held + 3) / 4 + 6 * acc;
}

/* Of its chunks, and of a vector on its way down. */
static int tile_registers(const rowscan_spec *spec, int vector, int chunks) {
  return chunks * chunk_registers(spec, vector) + 2 * vector * rs_spec_register_bytes(spec) / 4;
}

/* ---- groups of threads that load their tiles themselves ---------------------------------------------------------- */

/* No more than 512 threads a block: 1024 have 64 registers each, and spill. */
enum { MOST_WARPS = 16 };

/*
 * Chunks that a thread holds. With vectors of 8 the prefixes of one more are in registers at once; so are places in a
 * row that are numbers of 64 bits (Index in kernels/rows.cuh), and the count of tiles.
 */
static int chunks_of(const rowscan_spec *spec, int vector) {
  int registers = chunk_registers(spec, vector);
  bool counts = rs_is_wide(spec) && spec->length >= 1 << 15, far = spec->length >= 1 << 30;
  if (far)
    return 1;
  return registers <= 16 && vector < 8 && !counts ? 4 : registers <= 24 && vector < 16 ? 2 : 1;
}

static rs_shape group_shape(const rowscan_spec *spec, int most_warps) {
  int vector = vector_of(spec);
  rs_shape s = {.made_of = RS_TEMPLATE_ROWS, .vector = vector, .min_blocks = 1};
  s.lanes = pieces_of(spec, vector, 32);
  s.chunks = pieces_of(spec, (int64_t)s.lanes * vector, chunks_of(spec, vector));
  s.warps = pieces_of(spec, (int64_t)s.lanes * vector * s.chunks, most_warps);
  s.threads = s.warps > 1 ? 32 * s.warps : 256;
  return s;
}

static void add_groups(rs_shape kernels[], rs_shape shape) {
  kernels[RS_KERNEL_ANY] = shape;
  if (shape.vector > 1)
    kernels[RS_KERNEL_ALIGNED] = shape;
}

/*
 * Few rows, all of them in registers at once: a tile a row, which a block loads and stores without a detour through
 * shared memory, and few chunks a thread, so that little waits in line. Made of nothing: rows do not fit.
 */
static rs_shape few_rows_shape(const rowscan_spec *spec) {
  rs_shape s = {.made_of = RS_TEMPLATE_ROWS, .vector = vector_of(spec)};
  s.lanes = pieces_of(spec, s.vector, 32);
  int64_t pieces = rs_ceiling(spec->length, (int64_t)s.lanes * s.vector);
  s.chunks = rs_power(pieces, 1, 32 / chunk_registers(spec, s.vector) > 1 ? 2 : 1);
  s.warps = rs_power(rs_ceiling(pieces, s.chunks), 1, MOST_WARPS);
  while (s.chunks * s.warps < pieces && tile_registers(spec, s.vector, 2 * s.chunks) <= 90)
    s.chunks *= 2;
  s.threads = s.warps > 1 ? 32 * s.warps : 256;
  bool two = s.chunks == 2 && spec->flags & ROWSCAN_EXCLUSIVE;
  bool widened = spec->mask_mode && rs_bytes_of(spec->in_type) < 8;
  bool roomy = s.chunks > 2 || s.chunks * s.vector > 16 || (rs_is_wide(spec) && (two || widened));
  s.min_blocks = rs_blocks_with(roomy ? 128 : 64, s.threads);
  bool follow = spec->length >= 4 && spec->length % s.vector == 0; /* rows that follow one another are on 16 bytes */
  return follow && s.chunks * s.warps >= pieces ? s : (rs_shape){0};
}

/*
 * Rows of so few elements that all tiles are in work at once, a tile a block. All blocks of a row read the totals of
 * all tiles before: MOST_TOTALS bytes of them are read in one batch, beside a tile, without spilling.
 */
static bool legal_at_once(const rowscan_spec *spec, int arch, rs_shape *s) {
  enum { MOST_TOTALS = 1024 };
  (void)arch;
  int64_t tiles = rs_ceiling(spec->length, rs_tile(s));
  return tiles > 1 && tiles * rs_spec_register_bytes(spec) <= MOST_TOTALS;
}

static rs_shape rows_at_once_shape(const rowscan_spec *spec, int arch) {
  rs_shape s = {.made_of = RS_TEMPLATE_AT_ONCE, .warps = 16, .lanes = 32, .vector = vector_of(spec)};
  if (rs_computes(spec)) /* with 16 some spill */
    s.vector = (int)rs_smaller(s.vector, 8);
  s.chunks = tile_registers(spec, s.vector, 2) > 32 ? 1 : 2;
  s.threads = 32 * s.warps;
  bool much = spec->mask_mode || spec->op == ROWSCAN_PROD || spec->length > 1 << 17; /* totals of over 64 tiles */
  bool widened = rs_is_wide(spec) && rs_bytes_of(spec->in_type) < 8 && much;
  bool roomy = tile_registers(spec, s.vector, s.chunks) > 32 || widened || !rs_arch_measured(arch);
  s.min_blocks = rs_blocks_with(roomy ? 128 : 64, s.threads);
  bool spills = rs_computes_wide(spec);
  return !spills && legal_at_once(spec, arch, &s) ? s : (rs_shape){0};
}

int64_t rs_tune_few_blocks(const rs_shape *shape, int multiprocessors) {
  return (int64_t)shape->min_blocks * multiprocessors;
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

/*
 * For a row of up to 2^i pieces of 32 vectors. Long rows want all of the shared memory for one block; the shorter they
 * are, the more blocks must share it, for the memory to stay busy between the end of one row and the start of the next.
 */
enum { RINGS = 9 };
static const rs_candidate narrow_rings[RINGS] = {{2, 1, 16, 0}, {2, 1, 16, 0}, {2, 2, 16, 0},
                                                 {4, 2, 8, 0},  {8, 2, 4, 0},  {8, 4, 3, 0},
                                                 {8, 4, 3, 0},  {16, 2, 2, 0}, {16, 4, 1, 0}};
/* Of bytes, in and out, with vectors of 16. */
static const rs_candidate byte_rings[RINGS] = {{2, 1, 16, 0}, {2, 1, 16, 0}, {2, 2, 16, 0}, {4, 2, 8, 0}, {4, 2, 8, 0},
                                               {4, 2, 8, 0},  {8, 2, 4, 0},  {8, 4, 2, 0},  {8, 4, 2, 0}};
/* 64-bit accumulators have 128 registers a thread and more. */
static const rs_candidate wide_rings[RINGS] = {{2, 1, 8, 0}, {2, 1, 8, 0}, {2, 2, 8, 0}, {4, 2, 4, 0}, {8, 2, 2, 0},
                                               {8, 2, 2, 0}, {8, 2, 2, 0}, {8, 4, 1, 0}, {8, 4, 1, 0}};

/* Of heavy elements, with vectors of 8: few warps, so that few totals are exchanged. */
static const rs_candidate heavy_rings[RINGS] = {{2, 1, 12, 0}, {2, 1, 12, 0}, {2, 1, 12, 0}, {2, 2, 8, 0}, {4, 1, 6, 0},
                                                {4, 2, 4, 0},  {4, 2, 4, 0},  {4, 2, 4, 0},  {8, 4, 1, 0}};

/*
 * Where instructions count, memory waits: few warps, that is few levels between them, and many blocks. Of 8192 f32 on
 * an H100 logsumexp has 0.86 of memcpy so, and 0.54 with vectors of 4 and {8, 2, 2}.
 */
static const rs_candidate computing_ring = {4, 1, 6, 0}, brief_computing_ring = {2, 1, 12, 0};

/*
 * A row that has far fewer bytes to bring than to take away. One block is the best for an H100, whose memory has 0.7 of
 * the speed, and starves an H200's. So there are two, and of 64-bit accumulators rs_tune_device keeps one away where
 * memory is slow; others have another kernel there.
 */
static bool widens(const rowscan_spec *spec) {
  return 4 * rs_bytes_of(spec->in_type) <= rs_bytes_of(spec->out_type);
}
static const rs_candidate widening_ring = {16, 2, 2, 0}, tight_widening_ring = {16, 2, 1, 0},
                          slow_widening_ring = {16, 4, 1, 0};
enum { BUFFERS = 2, SLOW_BUFFERS = 4 };

/* Bytes, in and out. */
static bool bytes_alone(const rowscan_spec *spec) {
  return rs_bytes_of(spec->in_type) == 1 && rs_bytes_of(spec->out_type) == 1;
}

static rs_candidate ring_of(const rowscan_spec *spec, int arch, int i) {
  if (rs_computes(spec))
    return i > 1 ? computing_ring : brief_computing_ring;
  rs_candidate ring = is_heavy(spec)      ? heavy_rings[i]
                      : rs_is_wide(spec)  ? wide_rings[i]
                      : bytes_alone(spec) ? byte_rings[i]
                                          : narrow_rings[i];
  int in = rs_bytes_of(spec->in_type);
  if (ring.blocks > 1 || !rs_arch_measured(arch))
    return ring;
  bool spills = rs_is_wide(spec) && (spec->mask_mode || rs_in_doubles(spec)); /* in 64 registers */
  if (widens(spec))
    return spills ? tight_widening_ring : widening_ring;
  if (in < rs_bytes_of(spec->out_type) || (rs_is_wide(spec) && in < 8)) /* a row has few bytes to bring */
    ring.blocks = 2;
  return ring;
}

static int64_t stage_bytes(const rowscan_spec *spec, const rs_shape *s) {
  return rs_tile(s) * rs_side_by_side(s) * rs_read_bytes(spec);
}

static int64_t buffer_bytes(const rowscan_spec *spec, const rs_shape *s) {
  return rs_tile(s) * rs_side_by_side(s) * rs_written_bytes(spec);
}

/* kernels/row_copies.cuh: bytes that copies in shared memory have more, each array of a stage and each room for
 * results, where rows begin anywhere; and where an array tells by its neighbours where segments begin. */
enum { ANY_SLACK = 128, BEFORE = 16 };

static int before_bytes(const rowscan_spec *spec, const rs_shape *s) {
  if (spec->segment_mode)
    return s->words ? BEFORE : ANY_SLACK;
  return s->made_of != RS_TEMPLATE_ROW_RING && rs_spec_has_segments(spec) ? BEFORE : 0;
}

enum { ARRIVALS = 1024 + 512 }; /* bytes of a block: the system's share, its arrivals and totals of warps */

/* slack: bytes that each array of a stage and of a buffer has more. */
static bool fits_ring(const rowscan_spec *spec, int arch, rs_shape *s, int most, int slack) {
  int64_t tiles = rs_ceiling(spec->length, rs_tile(s));
  int64_t stage = stage_bytes(spec, s) + slack * rs_inputs(spec) + before_bytes(spec, s);
  s->buffers = tiles > 1 ? s->buffers : 1;
  int64_t buffers = s->buffers * (buffer_bytes(spec, s) + slack * rs_outputs(spec));
  bool fits = rs_fit_stages(s, arch, stage, ARRIVALS + buffers, (int)rs_smaller(tiles, most));
  s->shared_bytes += (int)buffers;
  return fits && s->warps > 1; /* whose barrier keeps a stage's loads from the next tile's copies */
}

bool rs_ring_fits_rows(const rowscan_spec *spec, int arch, rs_shape *s) {
  return s->words ? fits_ring(spec, arch, s, 8, 0) : fits_ring(spec, arch, s, 5, ANY_SLACK);
}

/* Where the ring of this length does not fit, fewer blocks share a multiprocessor; then that of shorter rows. */
static bool rows_ring_shape(const rowscan_spec *spec, int arch, rs_shape *s) {
  *s = (rs_shape){
      .made_of = RS_TEMPLATE_ROW_RING, .words = 1, .lanes = 32, .vector = vector_of(spec), .buffers = BUFFERS};
  rs_candidate rings[RINGS];
  int i = 0, count = 0;
  while (i < RINGS - 1 && (int64_t)32 * s->vector << i < spec->length)
    i++;
  while (i >= 0)
    rings[count++] = ring_of(spec, arch, i--);
  return rs_search(spec, arch, rings, count, RS_HALF_THE_BLOCKS, rs_ring_fits_rows, s);
}

static bool is_widening_ring(const rs_shape *s) {
  return s->made_of == RS_TEMPLATE_ROW_RING && s->words && s->warps == widening_ring.warps &&
         s->chunks == widening_ring.chunks && s->min_blocks == widening_ring.blocks;
}

/* Where the ring is a widening_ring, and rows have tiles enough. */
static bool slow_ring_shape(const rowscan_spec *spec, const rs_shape *ring, int arch, rs_shape *s) {
  if (!rs_arch_measured(arch) || !widens(spec) || rs_is_wide(spec) || !is_widening_ring(ring))
    return false;
  *s = *ring;
  s->buffers = SLOW_BUFFERS;
  int64_t tile = slow_widening_ring.chunks * rs_tile(ring) / ring->chunks;
  return spec->length / tile >= (spec->length % tile == 0 ? 4 : 5) &&
         rs_search(spec, arch, &slow_widening_ring, 1, RS_HALF_THE_BLOCKS, rs_ring_fits_rows, s);
}

/* For rows at any offset from 16 bytes: large parts of a tile for each warp. */
enum { ANY_RINGS = 3 };
typedef rs_candidate any_rings[ANY_RINGS];
static const any_rings usual_any_rings = {{8, 4, 3, 100}, {4, 4, 5, 108}, {2, 4, 10, 131}},
                       long_any_rings = {{8, 8, 1, 85}, {8, 4, 3, 100}, {4, 4, 5, 108}},
                       half_any_rings = {{8, 4, 2, 100}, {4, 4, 4, 103}, {2, 4, 8, 115}},
                       byte_any_rings = {{4, 4, 4, 100}, {4, 2, 4, 135}, {2, 2, 8, 137}},
                       bytes_any_rings = {{2, 4, 6, 100}, {2, 2, 8, 117}, {4, 4, 3, 125}},
                       long_bytes_any_rings = {{4, 4, 3, 100}, {2, 4, 6, 108}, {2, 2, 8, 145}},
                       widening_any_rings = {{8, 4, 3, 100}, {4, 4, 5, 108}, {2, 4, 10, 120}},
                       wide_any_rings = {{4, 4, 2, 100}, {4, 2, 4, 112}, {2, 2, 8, 130}},
                       heavy_any_rings = {{4, 2, 4, 100}, {2, 2, 8, 114}, {2, 1, 12, 150}},
                       computing_any_rings = {{4, 1, 5, 100}, {2, 1, 10, 112}, {2, 1, 6, 125}};

/* With vectors of 8, fewer blocks have registers enough; where one side is of bytes, fewer chunks too. */
static const rs_candidate *any_rings_of(const rowscan_spec *spec, int vector) {
  bool is_long = spec->length >= 24576, byte = rs_bytes_of(spec->in_type) == 1 || rs_bytes_of(spec->out_type) == 1;
  if (rs_computes(spec))
    return computing_any_rings;
  if (rs_is_wide(spec))
    return is_heavy(spec) ? heavy_any_rings : wide_any_rings;
  if (bytes_alone(spec))
    return is_long ? long_bytes_any_rings : bytes_any_rings;
  if (vector > 4)
    return byte ? byte_any_rings : half_any_rings;
  return widens(spec) ? widening_any_rings : is_long ? long_any_rings : usual_any_rings;
}

static bool any_ring_shape(const rowscan_spec *spec, int arch, rs_shape *s) {
  *s = (rs_shape){.made_of = RS_TEMPLATE_ROW_RING, .lanes = 32, .vector = vector_of(spec), .buffers = BUFFERS};
  if (rs_bytes_of(spec->in_type) < 4) /* longer ones are put together in memory */
    s->vector = (int)rs_smaller(s->vector, bytes_alone(spec) ? 16 : 8);
  return rs_search(spec, arch, any_rings_of(spec, s->vector), ANY_RINGS, RS_ONE_BLOCK_LESS, rs_ring_fits_rows, s);
}

/* ---- any strides ------------------------------------------------------------------------------------------------- */

/*
 * Beside a ring for neighbours, where elements can't be gathered. Lanes of single elements: with vectors of elements 8
 * bytes apart each load reaches for four times the sectors that it needs.
 */
static rs_shape rows_any_shape(const rowscan_spec *spec) {
  enum { WARPS = 8 };
  rs_shape s = {.made_of = RS_TEMPLATE_ROWS, .min_blocks = 2, .lanes = 32, .vector = 1};
  s.chunks = pieces_of(spec, 32 * WARPS, rs_is_wide(spec) ? 4 : 8); /* with more they spill */
  s.warps = pieces_of(spec, (int64_t)32 * s.chunks, WARPS);
  s.threads = 32 * s.warps;
  return s;
}

static bool legal_gather(const rowscan_spec *spec, int arch, rs_shape *s) {
  s->shared_bytes = (int)(2 * stage_bytes(spec, s) + buffer_bytes(spec, s));
  return s->min_blocks * (s->shared_bytes + 1024) <= rs_arch_shared_bytes(arch);
}

/* The same where they can, which memory has a word for: no masks. */
static bool gather_shape(const rowscan_spec *spec, int arch, rs_shape *s) {
  enum { LEAST_LENGTH = 1024, LEAST_BYTES = 4, LONG = 1 << 16 };
  if (spec->length < LEAST_LENGTH || spec->mask_mode || rs_bytes_of(spec->in_type) < LEAST_BYTES)
    return false;
  rs_shape common = {.made_of = RS_TEMPLATE_GATHER, .lanes = 32, .vector = vector_of(spec)};
  rs_candidate tile = {MOST_WARPS, rs_is_wide(spec) ? 1 : 2, 2, 0};
  while ((int64_t)tile.warps * tile.chunks * 32 * common.vector > spec->length) {
    tile.warps /= 2;
    tile.blocks *= 2;
  }
  if ((rs_is_wide(spec) || spec->row_rank > 1) && spec->length >= LONG) {
    /* the same tiles, of threads that have twice the registers: none spills */
    tile.warps /= 2;
    tile.chunks *= 2;
  }
  if (!rs_search(spec, arch, &tile, 1, RS_ONE_BLOCK_LESS, legal_gather, &common))
    return false;
  *s = common;
  return true;
}

void rs_tune_row(const rowscan_spec *spec, int arch, rs_shape kernels[]) {
  rs_shape group = group_shape(spec, MOST_WARPS), ring;
  if (group.warps == 1) /* forced */
    group.lanes = group.threads = 32;
  if (arch < 90 || spec->length <= 32 || !rows_ring_shape(spec, arch, &ring)) {
    add_groups(kernels, group);
    return;
  }
  if (!gather_shape(spec, arch, &kernels[RS_KERNEL_ANY]))
    kernels[RS_KERNEL_ANY] = rows_any_shape(spec);
  kernels[RS_KERNEL_ALIGNED] = ring;
  if (slow_ring_shape(spec, &kernels[RS_KERNEL_ALIGNED], arch, &ring))
    kernels[RS_KERNEL_ALIGNED_SLOW] = ring;
  if (any_ring_shape(spec, arch, &ring))
    kernels[RS_KERNEL_DENSE] = ring;
  kernels[RS_KERNEL_FEW] = few_rows_shape(spec);
}

/*
 * Few rows of which not all begin on words: a block each, by a ring with no more room than a row takes. Of random small
 * ones on an H200 in microseconds, beside a slab or groups of threads: 300 x 1001 f32 3.2, 1.9; 131 x 333 bool to i64
 * 2.7, 1.5; 22 x 149 i32 to i64 1.9, 1.4; 59 x 97 f64 1.7, 1.5; of 720 and 1000 rows sometimes the slab was faster
 * (tests/results/h200_7dc5235_tune.csv). Shorter ones were not measured.
 */
static rs_shape few_off_words(const rowscan_spec *spec, int arch) {
  enum { LEAST = 96, BLOCKS = 4 };
  rs_shape ring;
  if (arch < 90 || spec->length <= LEAST || !any_ring_shape(spec, arch, &ring))
    return (rs_shape){0};
  while (ring.chunks > 1 && rs_tile(&ring) >= 2 * spec->length)
    ring.chunks /= 2;
  ring.min_blocks = (int)rs_smaller(ring.min_blocks, BLOCKS);
  return rs_ring_fits_rows(spec, arch, &ring) ? ring : (rs_shape){0};
}

void rs_tune_short(const rowscan_spec *spec, int arch, rs_shape kernels[]) {
  add_groups(kernels, group_shape(spec, 1));
  rs_shape dense;
  if (!rs_slab_serves(spec) || !rs_tune_slab(spec, arch, false, &dense))
    return;
  kernels[RS_KERNEL_DENSE] = dense;
  kernels[RS_KERNEL_ALIGNED] = rs_tune_slab(spec, arch, true, &dense) ? dense : (rs_shape){0};
  kernels[RS_KERNEL_FEW] = few_rows_shape(spec);
  if (!kernels[RS_KERNEL_FEW].made_of)
    kernels[RS_KERNEL_FEW] = few_off_words(spec, arch);
}

/*
 * Of two kernels for the same rows one goes. And shared memory that nobody uses leaves room for one block of a
 * widening_ring.
 */
void rs_tune_device(rs_geometry *geometry, const rowscan_spec *spec, int arch, double peak_gbs) {
  enum { FAST_GBS = 4000 };
  bool slow = peak_gbs > 0 && peak_gbs < FAST_GBS && rs_arch_measured(arch);
  if (geometry->shape[RS_KERNEL_ALIGNED_SLOW].made_of)
    geometry->shape[slow ? RS_KERNEL_ALIGNED : RS_KERNEL_ALIGNED_SLOW] = (rs_shape){0};
  bool starves = slow && widens(spec) && rs_is_wide(spec) && !rs_spec_has_further(spec);
  for (int kernel = 0; kernel < RS_KERNELS && starves; kernel++) {
    rs_shape *s = &geometry->shape[kernel];
    if (s->made_of == RS_TEMPLATE_ROW_RING && s->words && s->min_blocks == widening_ring.blocks)
      s->shared_bytes = (int)rs_larger(s->shared_bytes, rs_arch_shared_bytes(arch) / 2);
  }
}

/* ---- rows cut over blocks ---------------------------------------------------------------------------------------- */

/*
 * Blocks of a multiprocessor that have registers for what other tiles told, and for the row's offsets of several
 * dimensions: three of those that were seen to spill with four on sm_90.
 */
static int tiles_blocks(const rowscan_spec *spec, int vector) {
  bool wide = rs_is_wide(spec), bytes = wide && rs_bytes_of(spec->in_type) == 1;
  bool most = spec->in_type == ROWSCAN_F64 || (bytes && spec->mask_mode == ROWSCAN_MASK_MULTIPLY);
  int64_t from = most ? 1 << 15 : vector >= 8 ? 1 << 17 : wide ? 1 << 24 : INT64_MAX;
  int64_t several = spec->mask_mode ? 1 << 17 : spec->row_rank > 3 ? 1 << 20 : 1 << 24;
  bool deep = wide && spec->row_rank > 2 && spec->length >= several;
  return deep || (spec->mask_mode && spec->length >= from) ? 3 : 4;
}

/* Whether tiles store results from registers, and have no room for them: SharedTile::STRAIGHT of kernels/tiles.cuh. */
static bool stores_straight(const rowscan_spec *spec) {
  return rs_bytes_of(spec->out_type) == 8 && rs_bytes_of(spec->in_type) < 8;
}

static bool legal_tiles(const rowscan_spec *spec, int arch, rs_shape *s) {
  int in = rs_bytes_of(spec->in_type), out = rs_bytes_of(spec->out_type);
  bool in_place = in == out || stores_straight(spec);
  int piece = rs_piece_bytes(rs_smaller(rs_tile(s), spec->length), in, rs_spec_mask_bytes(spec), out, in_place);
  bool fits = rs_fit_stages(s, arch, piece, 1024, 1);
  s->stages = 0; /* it has none */
  return fits;
}

/*
 * A block a tile: 8 warps share what shared memory lets several blocks of a multiprocessor have. Where results take no
 * room, tiles are larger if a row has many: argmax of 1 x 2^26 on an H100, f32 0.68 of memcpy with results in shared
 * memory, 0.86 straight, and 0.90 in tiles of 16384; bf16 0.64, 0.80 and 0.85. Of few tiles larger ones are slower, 1 x
 * 300000 0.46 and 0.26.
 */
static rs_shape tiles_shape(const rowscan_spec *spec, int arch) {
  enum { MANY = 1 << 21, SOME = 1 << 19, SIZES = 4 }; /* elements of a row */
  rs_shape s = {.made_of = RS_TEMPLATE_TILES, .lanes = 32, .vector = (int)rs_larger(vector_of(spec), 4)};
  bool computes = rs_computes(spec), straight = computes && stores_straight(spec);
  if (computes) /* 256 bytes of totals a thread */
    s.vector = (int)rs_smaller(s.vector, 8);
  else if (converts(spec))
    s.vector = 16;
  int blocks = straight ? 4 : tiles_blocks(spec, s.vector), skipped = computes;
  if (straight) {
    int64_t length = spec->length == RS_MAX_LENGTH ? 0 : spec->length; /* of any length most have less */
    skipped = (length < MANY) + (length < SOME);
  }
  const rs_candidate tiles[SIZES] = {
      {8, 8, straight ? 3 : blocks, 0}, {8, 4, blocks, 0}, {8, 2, blocks, 0}, {8, 1, blocks, 0}};
  rs_search(spec, arch, tiles + skipped, SIZES - skipped, RS_NEXT_CANDIDATE, legal_tiles, &s);
  return s;
}

/* Whether totals are what a stream waits for, and four warps that reduce leave registers enough. */
static bool reduces_long(const rowscan_spec *spec, bool off, int vector) {
  enum { FAR = 1 << 30 }; /* numbers are of 64 bits, and some spill */
  if (bytes_alone(spec))
    return !is_heavy(spec) && (off || spec->length % vector == 0);
  bool paired = spec->mask_mode == ROWSCAN_MASK_COEFFICIENT && spec->length < FAR;
  bool plain = !spec->mask_mode || paired;
  return off && vector > 4 && plain && spec->row_rank == 1 && rs_type_kind(spec->in_type) == RS_FLOAT;
}

/*
 * Of tuples: their numbers and masks as they came, a total of each chunk and what comes before it, what lanes told one
 * another of each chunk, or tell anew of one if totals are large, and a vector on its way down, but for bytes whose
 * sums go out one after another.
 */
static int tuples_registers(const rowscan_spec *spec, const rs_shape *s) {
  enum { LARGE = 16, LEVELS = 5, OUT_OF_WORDS = 2 }; /* bytes; of 32 lanes; bytes that a byte takes besides */
  bool bytes = rs_bytes_of(spec->in_type) == 1, fours = rs_sums_bytes(spec);
  int columns = rs_side_by_side(s), total = columns * rs_spec_register_bytes(spec), part = fours ? columns : total / 4;
  int number = rs_bytes_of(spec->in_type);
  if (!fours)
    number += rs_spec_mask_bytes(spec) + (bytes ? OUT_OF_WORDS : 0);
  int held = (columns * s->vector * number + 3) / 4, told = LEVELS * part, down = fours ? 0 : (s->vector + 1) * part;
  if (total > LARGE)
    return s->chunks * (held + 2 * part) + told + down;
  return s->chunks * (held + part + told) + down;
}

/*
 * Up to 8 warps have 255 registers a thread, up to 12 168; about 60 and 40 of them are not for chunks. Of tuples more
 * is counted, so that of kernels drawn at random none spills (kernels/NOTES.md).
 */
static bool has_registers(const rowscan_spec *spec, int arch, const rs_shape *s) {
  int registers = s->warps == 4 ? 190 : 128, in = rs_bytes_of(spec->in_type);
  if (s->chunks == 1)
    return true;
  if (rs_side_by_side(s) > 1)
    return tuples_registers(spec, s) <= (rs_arch_measured(arch) ? 160 : 144);
  bool widened = rs_is_wide(spec) && in < 8 && !rs_arch_measured(arch);
  if (rs_in_doubles(spec) ? converts(spec) : widened)
    registers /= 2;
  return s->chunks * chunk_registers(spec, s->vector) <= registers;
}

/* Whether a warp's results of a tile are whole lines, where rows begin anywhere: PartOut in kernels/row_copies.cuh. */
static bool has_lines(const rowscan_spec *spec, const rs_shape *s) {
  int64_t units = rs_tile(s) / s->warps * rs_side_by_side(s);
  return s->words || (units * rs_bytes_of(spec->out_type) % ANY_SLACK == 0 &&
                      units * rs_bytes_of(spec->second_type) % ANY_SLACK == 0);
}

static bool legal_stream(const rowscan_spec *spec, int arch, rs_shape *s) {
  /* a block's share of the system, and what it knows of its tiles, with totals of 16 bytes; what larger ones take more;
   * with fewer stages nothing is under way meanwhile */
  enum { OF_TILES = 4 * 1024, TOTAL = 16, TOTALS = 32, LEAST_STAGES = 3 };
  bool any = !s->words, straight = !any && !spec->second_type;
  int64_t other = OF_TILES + TOTALS * rs_larger(rs_spec_register_bytes(spec) - TOTAL, 0);
  int slack = any ? ANY_SLACK : 0;
  int64_t stage = stage_bytes(spec, s) + slack * rs_inputs(spec) + before_bytes(spec, s);
  /* each warp has results at their offset */
  int64_t room = straight ? 0 : buffer_bytes(spec, s) + slack * s->warps * rs_outputs(spec);
  s->threads = 32 * (s->warps + s->reducers + 2);
  bool fits = has_registers(spec, arch, s) && rs_fit_stages(s, arch, stage, other + room, 6) &&
              (s->stages >= LEAST_STAGES || s->chunks == 1) && has_lines(spec, s);
  s->shared_bytes += (int)room;
  return fits;
}

/*
 * A block a multiprocessor, tiles of 32 KB where registers allow: telling a total and waiting for it takes about 1.8 us
 * a tile, and a multiprocessor of an H200 copies 32 KB in 2 us. In words it wants rows on 16 bytes.
 */
bool rs_tune_stream(const rowscan_spec *spec, int arch, rs_shape *s) {
  bool any = !s->words;
  int columns = rs_side_by_side(s), in = rs_bytes_of(spec->in_type);
  int largest = columns * (int)rs_larger(in, rs_bytes_of(spec->out_type));
  int total = columns > 1 ? columns * rs_spec_register_bytes(spec) : 0; /* the larger, the fewer chunks */
  int bytes = total > 16 && (in > 1 || rs_sums_bytes(spec)) ? 64 : total > 8 ? 32 : 16;
  s->lanes = 32;
  s->vector = any && in < 4 ? 4 / in : 1;
  while (2 * s->vector * largest <= bytes)
    s->vector *= 2;
  s->reducers = rs_arch_measured(arch) && columns == 1 && reduces_long(spec, any, s->vector) ? 4 : 2;
  static const rs_candidate streams[] = {{4, 16, 1, 0}, {4, 8, 1, 0}, {4, 4, 1, 0}, {4, 2, 1, 0}, {4, 1, 1, 0},
                                         {8, 8, 1, 0},  {8, 4, 1, 0}, {8, 2, 1, 0}, {8, 1, 1, 0}};
  bool four = s->vector == 4 && !rs_is_wide(spec) && columns == 1;
  return arch >= 90 &&
         rs_search(spec, arch, streams + (four ? 0 : 5), four ? 5 : 4, RS_ONE_BLOCK_LESS, legal_stream, s);
}

/*
 * Streams reduce each element twice, so not where that takes long. Of segments they do if no result shows where one
 * begins, and neighbours need not be asked, or rows are words. 1 x 2^26 f32 on an H100, of memcpy: heads 0.80 in a
 * stream, 0.75 in tiles. Nor where elements are converted, and rows are words: recurrences of bf16 0.48 in a stream,
 * 0.62 in tiles.
 */
static bool streams(const rowscan_spec *spec, bool words) {
  if (words && converts(spec))
    return false;
  if (!rs_spec_has_segments(spec) || rs_op_computes(rs_op_of(spec->op)))
    return !rs_computes(spec);
  return !(spec->flags & ROWSCAN_EXCLUSIVE) && (words || !rs_spec_asks_neighbours(spec));
}

/* Of words, where totals are as if each element were marked by itself. */
static bool tune_stream_of_words(const rowscan_spec *spec, int arch, rs_shape *s) {
  rowscan_spec told = *spec;
  if (rs_spec_has_segments(spec))
    told.mask_mode = spec->flags & ROWSCAN_REVERSE ? ROWSCAN_MASK_TAILS : ROWSCAN_MASK_HEADS;
  return streams(spec, true) && rs_tune_stream(&told, arch, s);
}

void rs_tune_long_rows(const rowscan_spec *spec, int arch, rs_shape kernels[]) {
  rs_shape tiles = tiles_shape(spec, arch);
  rs_shape aligned = {.made_of = RS_TEMPLATE_ROW_STREAM, .words = 1}, any = {.made_of = RS_TEMPLATE_ROW_STREAM};
  bool one = rs_spec_keeps_totals(spec), widens_to_64 = rs_is_wide(spec) && rs_bytes_of(spec->in_type) < 8;
  kernels[RS_KERNEL_LONG_ANY] = tiles;
  kernels[RS_KERNEL_LONG_ALIGNED] = tune_stream_of_words(spec, arch, &aligned) ? aligned : tiles;
  if (streams(spec, false) && rs_tune_stream(spec, arch, &any)) {
    kernels[RS_KERNEL_LONG_DENSE] = any;
    /* rows on 16 bytes too: 1 x 37181716 i32 to i64 0.71 of memcpy, 0.97 so; of two numbers f32 0.77, 0.70 so */
    if (spec->flags & ROWSCAN_REVERSE && widens_to_64 && one)
      kernels[RS_KERNEL_LONG_ALIGNED] = (rs_shape){0};
  }
  kernels[RS_KERNEL_LONG_FEW] = rows_at_once_shape(spec, arch);
}

/* ---- other shapes of a template ---------------------------------------------------------------------------------- */

/* A group of several warps has a block, which holds a whole row where rows are few. Tiles of further arrays lie in
 * shared memory that a block has without asking, beside results on their way. */
static bool legal_group(const rowscan_spec *spec, int arch, rs_shape *s) {
  enum { MOST = 46 * 1024, WORD = 16 };
  (void)arch;
  int64_t fetched =
      rs_spec_has_further(spec) ? s->threads * ((int64_t)s->chunks * s->vector * rs_read_bytes(spec) + WORD) : 0;
  return (s->warps == 1 || s->threads == 32 * s->warps) && fetched <= MOST;
}

bool rs_rows_fit(const rowscan_spec *spec, int arch, rs_shape *shape) {
  static rs_legal *const legal[RS_TEMPLATES] = {
      [RS_TEMPLATE_ROWS] = legal_group,    [RS_TEMPLATE_ROW_RING] = rs_ring_fits_rows,
      [RS_TEMPLATE_TILES] = legal_tiles,   [RS_TEMPLATE_ROW_STREAM] = legal_stream,
      [RS_TEMPLATE_GATHER] = legal_gather, [RS_TEMPLATE_AT_ONCE] = legal_at_once};
  rs_legal *is_legal = legal[shape->made_of];
  return is_legal && is_legal(spec, arch, shape);
}

/* ---- rows of any length ------------------------------------------------------------------------------------------ */

/* A warp a row of no more tiles than a counter in registers has; in elements one by one, rows begin anywhere. */
static rs_shape warp_shape(const rowscan_spec *spec, int vector) {
  enum { TILES = 255, ONE_BY_ONE = 8 };
  rs_shape s = {
      .made_of = RS_TEMPLATE_ROWS, .warps = 1, .lanes = 32, .vector = vector, .threads = 256, .min_blocks = 1};
  s.chunks = vector == 1 ? (rs_is_wide(spec) ? ONE_BY_ONE / 2 : ONE_BY_ONE) : chunks_of(spec, vector);
  s.tiles = TILES;
  return s;
}

/* Dense rows of no more than eight tiles of a warp; as many as 16 KB of each array. */
static rs_shape slab_shape(const rowscan_spec *spec, int arch) {
  enum { TILES = 8, BYTES = 16 * 1024, MOST = 8192 };
  int in = rs_bytes_of(spec->in_type), out = rs_bytes_of(spec->out_type);
  rs_shape s = {.made_of = RS_TEMPLATE_SLAB, .lanes = 32, .vector = 4, .word = 1, .threads = 256, .tiles = TILES};
  s.warps = s.chunks = 1; /* of a tile */
  s.rows = (int)rs_smaller((arch < 80 ? BYTES / 2 : BYTES) / rs_larger(in, out), MOST);
  s.min_blocks = rs_blocks_with(64, s.threads);
  s.shared_bytes = rs_piece_bytes(s.rows, in, rs_spec_mask_bytes(spec), out, false);
  return s;
}

/* Five levels of kernels/ahead.cuh. */
void rs_tune_any_length(const rowscan_spec *spec, int arch, rs_shape kernels[]) {
  enum { TILES = 1 << 25 };
  rowscan_spec as_long = *spec;
  as_long.length = RS_MAX_LENGTH;
  rs_shape tiles = tiles_shape(&as_long, arch);
  tiles.tiles = TILES;
  kernels[RS_KERNEL_ANY] = warp_shape(spec, 1);
  kernels[RS_KERNEL_DENSE] = slab_shape(spec, arch);
  kernels[RS_KERNEL_ALIGNED] = warp_shape(spec, vector_of(&as_long));
  kernels[RS_KERNEL_LONG_ANY] = kernels[RS_KERNEL_LONG_ALIGNED] = tiles;
}
