/*
 * tune_further.c - (spec, architecture) to the kernels of rows and columns with further arrays of elements
 * SPDX-License-Identifier: MIT
 *
 * Groups of threads fetch their tiles themselves, from as many arrays as there are (kernels/row.cuh), and so do blocks
 * that share a row (kernels/direct.cuh) or columns (kernels/further_columns.cuh). Of rows a tile on its way lies in
 * shared memory, and takes no registers: what counts are threads that a multiprocessor holds, each with its vector on
 * its way. A walk along columns holds them in registers, the next tile while one is combined: 128 x 16384 along
 * dimension 0 takes 18.8 us so on an H200, and 26.4 the other way.
 */
#include "candidates.h"
#include "spec/arch.h"
#include "tune.h"

/* Of a thread, with its total. */
static int element_registers(const rowscan_spec *spec) {
  return (rs_read_bytes(spec) + rs_spec_register_bytes(spec) + 3) / 4;
}

static bool are_columns(const rowscan_spec *spec) {
  return spec->layout == ROWSCAN_LAYOUT_COLUMNS;
}

/* Elements of a thread, one after another: the more, the fewer exchanges between lanes each of them takes. Of 256
 * threads they fit into what a block may have of shared memory without asking, and their totals into registers. */
static int further_vector(const rowscan_spec *spec) {
  enum { MOST = 8, LEAST = 2, BYTES = 128, REGISTERS = 10 };
  if (are_columns(spec))
    return element_registers(spec) > REGISTERS ? LEAST : MOST / 2;
  int bytes = (int)rs_larger(rs_read_bytes(spec), rs_spec_register_bytes(spec)), vector = MOST;
  while (vector > LEAST && vector * bytes > BYTES)
    vector /= 2;
  return vector;
}

enum { COLUMN_LANES = 4 };

/* Of columns: in about as many registers as leave room for the way down. */
static int further_chunks(const rowscan_spec *spec, int vector) {
  enum { REGISTERS = 48 };
  int fits = REGISTERS / (element_registers(spec) * vector);
  return !are_columns(spec) ? 1 : fits >= 4 ? 4 : fits >= 2 ? 2 : 1;
}

/* Of so many threads a block. A total of 16 bytes leaves each of 768 threads 80 registers. */
static int blocks_of(const rowscan_spec *spec, int threads) {
  if (are_columns(spec))
    return 512 / threads;
  return (rs_spec_register_bytes(spec) > 8 ? 768 : 1024) / threads;
}

static int further_pieces(int64_t length, int64_t elements, int most) {
  return length == RS_ANY_LENGTH ? most : rs_power(rs_ceiling(length, elements), 1, most);
}

/* A group of threads for each row. Where a warp has several, or one, blocks are small, so that few short rows have many
 * multiprocessors; columns as many as are neighbours in memory. Warps for which a row has no elements are left out. */
static rs_shape further_group_shape(const rowscan_spec *spec, int most_lanes, int vector, int most_warps) {
  enum { SMALL = 64, LARGE = 256 };
  rs_shape s = {.made_of = RS_TEMPLATE_ROWS, .vector = vector};
  s.lanes = further_pieces(spec->length, vector, most_lanes);
  s.chunks = further_pieces(spec->length, (int64_t)s.lanes * vector, further_chunks(spec, vector));
  s.warps = further_pieces(spec->length, (int64_t)s.lanes * vector * s.chunks, most_warps);
  int64_t live = rs_smaller(rs_ceiling(spec->length, (int64_t)s.lanes * vector * s.chunks), s.warps);
  s.threads = s.warps > 1 ? 32 * (int)live : are_columns(spec) ? LARGE : SMALL;
  s.min_blocks = blocks_of(spec, s.threads);
  return s;
}

/*
 * Of rows that have enough of them, tiles as large as a block has room for without asking, beside results on their way.
 * Of totals of 16 bytes a thread has less at a time: 1 x 2^26 f32 on an H100, linear recurrences with a mask 0.37 of
 * memcpy with one vector of 8 elements a thread, 0.49 with two, 0.56 with four of 4; maxima with indices 0.53 with one,
 * 0.68 with two, 0.79 with four.
 */
static rs_shape direct_shape(const rowscan_spec *spec, int arch, int vector) {
  enum { WARPS = 8, TILES = 128, MOST = 4, ROOM = 40 * 1024 };
  rs_shape s = {.made_of = RS_TEMPLATE_DIRECT, .vector = vector, .lanes = 32, .chunks = further_chunks(spec, vector)};
  s.warps = WARPS;
  s.threads = 32 * WARPS;
  s.min_blocks = blocks_of(spec, s.threads);
  if (are_columns(spec) || spec->length == RS_ANY_LENGTH)
    return s;
  int64_t room = rs_smaller(ROOM, rs_arch_shared_bytes(arch) / s.min_blocks) / s.threads;
  int64_t most = rs_smaller(room / rs_read_bytes(spec), spec->length / (s.threads * TILES)); /* elements of a thread */
  if (rs_spec_register_bytes(spec) >= 16 && most < MOST * vector && most >= MOST * vector / 2)
    s.vector = (int)rs_smaller(vector, 4);
  while (s.chunks < MOST && 2 * s.chunks * s.vector <= most &&
         2 * s.chunks * (s.vector * rs_read_bytes(spec) + rs_bytes_of(spec->segment_type)) <= room)
    s.chunks *= 2;
  return s;
}

/* Of a thread of a ring that has so many elements: about, by what NVRTC made for sm_90. */
static int ring_registers(const rowscan_spec *spec, int elements) {
  enum { OTHERS = 32, SMALL = 1, MIDDLE = 3, LARGE = 5 };
  int bytes = rs_spec_register_bytes(spec), of_total = bytes <= 4 ? SMALL : bytes <= 8 ? MIDDLE : LARGE;
  return OTHERS + elements * rs_read_bytes(spec) / 4 + elements * of_total;
}

/*
 * By bulk copies a row has a block. Elements of many bytes take so many registers that a thread has one chunk, and a
 * tile is half a row, so that one is on its way while another is scanned: 8192 x 2048 f32 on an H200, gae 0.80 of
 * memcpy by tiles of a row, 0.94 by halves. Else threads have two chunks, and few warps share a tile.
 */
static bool tune_ring(const rowscan_spec *spec, int arch, bool words, rs_shape *ring) {
  enum { SIZES = 3, BUFFERS = 2, LEAST_WARPS = 2, MOST_WARPS = 8, ALL_WARPS = 16, LARGE_BYTES = 12 };
  rs_candidate sizes[SIZES] = {{4, 2, 6, 100}, {2, 2, 12, 105}, {2, 1, 12, 120}};
  int count = SIZES, vector = further_vector(spec);
  *ring =
      (rs_shape){.made_of = RS_TEMPLATE_ROW_RING, .words = words, .lanes = 32, .vector = vector, .buffers = BUFFERS};
  if (4 * spec->length < 3 * LEAST_WARPS * ring->lanes * vector) /* too many threads would have nothing */
    return false;
  if (rs_read_bytes(spec) > LARGE_BYTES) {
    int warps = rs_power(rs_ceiling(spec->length, 2 * ring->lanes * vector), LEAST_WARPS, MOST_WARPS);
    sizes[0] = (rs_candidate){warps, 1, ALL_WARPS / warps, 0};
    count = 1;
  }
  for (int i = 0; i < count; i++) {
    int registers = ring_registers(spec, sizes[i].chunks * vector);
    sizes[i].blocks = (int)rs_smaller(sizes[i].blocks, rs_blocks_with(registers, 32 * sizes[i].warps));
  }
  return rs_search(spec, arch, sizes, count, RS_ONE_BLOCK_LESS, rs_ring_fits_rows, ring);
}

/*
 * Columns have four lanes each, so that eight columns of a warp are 32 bytes of f32 at each step, and rows a warp each
 * where they may have any length, else as many as they have elements for. One kernel serves all rows: each array tells
 * by itself whether vectors of it go whole. From sm_90 on rows that are neighbours element by element have rings.
 */
void rs_tune_further(const rowscan_spec *spec, int arch, rs_shape kernels[]) {
  enum { MOST_WARPS = 8, ROW_TILES = 255, COLUMN_TILES = 1023, DIRECT_TILES = 1 << 25 };
  bool columns = are_columns(spec), any = spec->length == RS_ANY_LENGTH;
  bool few_warps = any || columns || spec->regime == ROWSCAN_REGIME_SHORT;
  int vector = further_vector(spec), lanes = columns ? COLUMN_LANES : 32, warps = few_warps ? 1 : MOST_WARPS;
  rs_shape group = further_group_shape(spec, lanes, vector, warps), cut = direct_shape(spec, arch, vector);
  group.tiles = !any ? 0 : columns ? COLUMN_TILES : ROW_TILES;
  cut.tiles = any ? DIRECT_TILES : 0;
  if (spec->regime != ROWSCAN_REGIME_LONG || !spec->length || any)
    kernels[RS_KERNEL_ANY] = group;
  if (spec->length && spec->regime != ROWSCAN_REGIME_ROW && spec->regime != ROWSCAN_REGIME_SHORT)
    kernels[RS_KERNEL_LONG_ANY] = cut;
  bool has_blocks = spec->regime == ROWSCAN_REGIME_AUTO || spec->regime == ROWSCAN_REGIME_ROW;
  rs_shape words, dense;
  if (arch >= 90 && has_blocks && !columns && tune_ring(spec, arch, true, &words))
    kernels[RS_KERNEL_ALIGNED] = words;
  if (arch >= 90 && has_blocks && !columns && tune_ring(spec, arch, false, &dense))
    kernels[RS_KERNEL_DENSE] = dense;
}

/*
 * Columns of a length that is known: cut into tiles, or, where there are enough of them, walked along by a group of
 * lanes each. Each step of a tile is loaded twice; so a tile is as large as those of all blocks may be to be in L2 the
 * second time, and as long as it can be then, since looking for the totals before it takes as long for any.
 */
void rs_tune_further_columns(const rowscan_spec *spec, rs_shape of[RS_TEMPLATES]) {
  enum { THREADS = 256, WIDTH = 32, STEPS = 64, TILE_BYTES = 112 * 1024, BLOCKS = 4, BLOCKS_OF_SECOND = 2 };
  rs_shape *cut = &of[RS_TEMPLATE_FURTHER_COLUMNS], *walk = &of[RS_TEMPLATE_FURTHER_WALK];
  int most = STEPS;
  while (THREADS * most * rs_read_bytes(spec) > TILE_BYTES)
    most /= 2;
  cut->vector = 1;
  cut->width = WIDTH;
  cut->threads = THREADS;
  cut->steps = rs_power(spec->length, 1, most);
  cut->min_blocks = spec->second_type && cut->acc >= 16 ? BLOCKS_OF_SECOND : BLOCKS;
  *walk = further_group_shape(spec, COLUMN_LANES, further_vector(spec), 1);
  walk->made_of = RS_TEMPLATE_FURTHER_WALK;
}

/*
 * Where rows are too few for all multiprocessors, or longer than a group counts tiles. A ring keeps a multiprocessor
 * busy with one row: 256 x 65536 f32 on an H200, gae 0.60 of memcpy cut over blocks, 0.89 with a block each.
 */
bool rs_tune_further_long(const rowscan_spec *spec, const rs_shape kernels[], int64_t length, int64_t rows,
                          int multiprocessors) {
  enum { LEAST = 4096, ROWS = 2, COLUMNS = 32 }; /* rows of a multiprocessor that keep it busy, columns likewise */
  const rs_shape *group = &kernels[RS_KERNEL_ANY];
  bool rings = kernels[RS_KERNEL_DENSE].made_of != RS_TEMPLATE_NONE;
  int64_t enough = (int64_t)(are_columns(spec) ? COLUMNS : rings ? 1 : ROWS) * multiprocessors;
  return (group->tiles && length > rs_most(group)) || (length >= LEAST && rows < enough);
}
