/*
 * tune_columns.c - (spec, architecture) to the kernels of layout COLUMNS
 * SPDX-License-Identifier: MIT
 */
#include "candidates.h"
#include "column_cuts.h"
#include "spec/arch.h"
#include "spec/types.h"

/* Shorter columns have few tiles. */
enum { LEAST_STREAM_LENGTH = 4096 };

/*
 * Steps of a segment, at most `most`: those for which a column takes the least, with the steps that the last one lacks
 * and 1.5 for each total.
 */
static int segment_steps(int64_t length, int most) {
  int steps = rs_power(length, 1, most);
  int64_t cheapest = INT64_MAX;
  if (length <= steps)
    return steps;
  for (int tried = steps; tried >= 4; tried /= 2) {
    int64_t cost = rs_ceiling(length, tried) * (2 * tried + 3);
    if (cost < cheapest) {
      cheapest = cost;
      steps = tried;
    }
  }
  return steps;
}

int rs_part_bytes(const rowscan_spec *spec) {
  return rs_sums_bytes(spec) ? 4 : rs_spec_register_bytes(spec);
}

static rs_shape shape_of(const rowscan_spec *spec, rs_template made_of) {
  return (rs_shape){.made_of = made_of,
                    .length = spec->length,
                    .in = rs_bytes_of(spec->in_type),
                    .out = rs_bytes_of(spec->out_type),
                    .mask = rs_spec_mask_bytes(spec),
                    .second = rs_bytes_of(spec->second_type),
                    .beside = rs_read_bytes(spec) - rs_bytes_of(spec->in_type) - rs_spec_mask_bytes(spec),
                    .acc = rs_spec_register_bytes(spec),
                    .part = rs_part_bytes(spec),
                    .reverse = (spec->flags & ROWSCAN_REVERSE) != 0};
}

/*
 * Any strides. With more steps to a segment there are fewer totals, but a thread has more registers, and fewer threads
 * wait for memory: elements of 4 bytes that their results replace take few. Bytes wait for instructions, and so do
 * totals of several words in long columns: logsumexp of three columns of f32 on an H200 0.29 of memcpy with 8 steps,
 * 0.39 with 32.
 */
static rs_shape columns_any_shape(const rowscan_spec *spec, int arch) {
  rs_shape s = shape_of(spec, RS_TEMPLATE_COLUMNS);
  bool plain = s.in == 4 && s.out == 4 && !s.mask, large = s.part > 4;
  s.bytes = rs_sums_bytes(spec) && s.acc == 4;
  bool more = large ? spec->length > RS_FEW_TILES_LENGTH : plain || s.bytes;
  s.threads = 128;
  s.steps = segment_steps(spec->length, more ? 32 : 16);
  s.min_blocks = rs_blocks_with(large ? 128 : 80, s.threads);
  s.tile_bytes = arch < 80 ? 12 * 1024 : 24 * 1024;
  s.strip_bytes = 128;
  s.shared = rs_arch_shared_bytes(arch);
  s.shared_bytes = rs_columns_shared(&s);
  return s;
}

/*
 * Few long columns. Warps have 128 registers, so that none spills; with more warps or smaller tiles each is slower.
 * Where a tile takes longer, of 64-bit accumulators or masks, it may be larger. Made of nothing: the spec or the
 * architecture has none, or another is faster, as of bytes, of operators that compute and of totals of 16 bytes.
 */
static rs_shape stream_shape(const rowscan_spec *spec, int arch) {
  enum { WARPS = 16, OTHER_BYTES = 10 * 1024, SMALL = 38 * 1024, LARGE = 52 * 1024, LARGEST = 72 * 1024 };
  rs_shape s = shape_of(spec, RS_TEMPLATE_STREAM_COLUMNS);
  bool wide = rs_is_wide(spec);
  if (rs_computes(spec) || s.acc >= 16 || arch < 90 || s.in != s.out || s.in == 1 || spec->length < LEAST_STREAM_LENGTH)
    return (rs_shape){0};
  s.steps = wide || (s.mask && arch >= 120) ? 16 : 32; /* with 32 masked f32 spills there */
  s.warps = WARPS;
  s.threads = 32 * WARPS;
  s.min_blocks = 1;
  s.shared_bytes = rs_arch_shared_bytes(arch) - OTHER_BYTES;
  s.tile_bytes = wide || s.mask ? LARGEST : LARGE;
  s.band_bytes = wide ? LARGEST : LARGE;
  s.pieced_bytes = wide ? LARGEST : SMALL;
  s.least_tiles = 1;
  return s;
}

/* Slabs as short rows have them (tune_short.c), and larger ones for an outer that takes more. Made of nothing: columns
   are too long. */
static rs_shape short_shape(const rowscan_spec *spec, int arch) {
  rs_shape s = shape_of(spec, RS_TEMPLATE_SHORT_COLUMNS);
  int room = rs_arch_shared_bytes(arch);
  bool wide = rs_is_wide(spec);
  bool lacks_one = spec->length > 256 && spec->length % 16 == 15; /* the last segment, of its steps */
  s.threads = 256;
  s.tile_bytes = room / 11;
  s.most_bytes = room / 11 * 2;
  if (spec->length * 2 * s.in > s.most_bytes || spec->length >= LEAST_STREAM_LENGTH) /* two columns at least */
    return (rs_shape){0};
  /* all of a column in a thread, where registers allow: 1200000 x 20 x 5 bf16 on an H200 0.65 of memcpy in segments of
   * 16 steps, 0.98 so, 2403846 x 26 x 4 u8 0.54 and 0.87 (tests/results/HISTORY.md: h200_d98823f_contenders) */
  bool single = !wide && !spec->mask_mode && spec->length <= 32;
  bool all = single && spec->length > 24;
  bool more = wide || spec->mask_mode || (s.reverse && lacks_one) || (single && spec->length > 20);
  s.min_blocks = rs_blocks_with(all ? 80 : more ? 64 : 51, s.threads);
  s.steps = rs_power(spec->length, 1, single ? 32 : wide ? 8 : 16);
  s.shared_bytes = rs_short_shared(&s);
  return s;
}

bool rs_wide_packs(const rowscan_spec *spec) {
  return spec->op == ROWSCAN_SUM && spec->in_type != ROWSCAN_BOOL && rs_bytes_of(spec->in_type) == 1 &&
         rs_bytes_of(spec->out_type) == 1 && rs_bytes_of(spec->acc_type) == 1 && spec->mask_mode <= ROWSCAN_MASK_SELECT;
}

/* ---- wide and askew ---------------------------------------------------------------------------------------------- */

/* Of a block, what WideTile has besides included, and the system's share. */
static int block_bytes(const rs_shape *s) {
  int held = rs_wide_held(s), totals = s->threads * s->vector * held, columns = s->width * s->vector * held;
  return rs_wide_shared(s) + totals + rs_wide_rows(s) * 16 + 2 * columns + 256 + 1024;
}

static bool legal_wide(const rowscan_spec *spec, int arch, rs_shape *s) {
  (void)spec;
  s->steps = s->chunks;
  return block_bytes(s) <= rs_arch_shared_bytes(arch) / s->min_blocks;
}

/* The first size of which so many blocks have room; then as many as have, and registers. */
static void take_size(const rowscan_spec *spec, int arch, const rs_candidate *sizes, int count, int blocks,
                      rs_shape *s) {
  rs_candidate tried[8];
  for (int i = 0; i < count; i++) {
    tried[i] = sizes[i];
    tried[i].blocks = blocks;
  }
  rs_search(spec, arch, tried, count, RS_NEXT_CANDIDATE, legal_wide, s);
  s->warps = s->chunks = 0; /* threads and steps say it */
}

static void share_out(rs_shape *s, int arch, int registers) {
  s->min_blocks = (int)rs_smaller(rs_arch_shared_bytes(arch) / block_bytes(s), rs_blocks_with(registers, s->threads));
  s->shared_bytes = rs_wide_most_shared(s);
}

/*
 * Columns so short that a thread has all steps: no more steps than there are, and as many threads as take a few
 * registers an element.
 */
static void many_threads(const rowscan_spec *spec, int arch, int most_steps, rs_shape *s) {
  bool more = spec->mask_mode || (s->acc > 4 && rs_smaller(s->in, s->out) < 8);
  bool brief = s->length <= 2 && !(spec->flags & ROWSCAN_EXCLUSIVE);
  bool crowded = more || (s->vector == 8 && !brief);
  int steps = rs_power(s->length, 1, most_steps);
  take_size(spec, arch, (const rs_candidate[]){{8, steps, 0, 0}, {4, steps, 0, 0}}, 2, 1, s);
  int values = s->steps * s->vector * (s->acc / 4); /* words of a thread's elements */
  int size = (values > 8) + (values > 16) + (values > 32);
  static const int registers[2][4] = {{32, 42, 64, 85}, {42, 51, 85, 128}};
  share_out(s, arch, registers[crowded][size]);
}

/* Registers of a thread that lacks some of its columns' steps. large: totals of four words beside a second array. */
static int wide_registers(const rowscan_spec *spec, const rs_shape *s, bool computes, bool large) {
  bool roomy = s->acc > 4 || s->vector == 8 || s->out > s->in;
  /* products of bytes by numbers, where a segment lacks steps, spill with 512 threads */
  bool times = spec->op == ROWSCAN_PROD && spec->mask_mode == ROWSCAN_MASK_MULTIPLY;
  bool bytes = s->in + s->out == 2 && times && s->length % s->steps;
  if (computes)
    return 64;
  if (large)
    return 102;
  if (!roomy)
    return 85;
  return s->threads == 128 || bytes ? 168 : 128;
}

/*
 * Vectors of 16 bytes of the input; of at most 32 of accumulators. As many threads as two or three blocks have room
 * for. Where results are wider than elements a thread has as many columns as 16 bytes of results: lanes that stored
 * more had half of each sector. Where instructions count, more warps hide them, of half the columns a thread: logsumexp
 * of 4096 x 16384 f32 along dimension 0 on an H100 0.58 of memcpy with two blocks, 0.69 with four. Totals of four words
 * beside a second array: smaller tiles, recurrences of the same 0.81, 0.88; of halves four warps with all their steps,
 * 64 x 2048 x 512 bf16 along dimension 1 0.59, 0.70.
 */
static rs_shape wide_shape(const rowscan_spec *spec, int arch) {
  enum { AHEAD = 40, FEW_LENGTH = 1 << 16 }; /* FEW: columns that so long tensors have, mostly */
  enum { SIZES = 5, TRIED_WIDENING = 4 };    /* of `widening` four are tried, from the first or the second on */
  static const rs_candidate sizes[SIZES] = {{4, 32, 0, 0}, {8, 16, 0, 0}, {4, 16, 0, 0}, {4, 8, 0, 0}, {4, 4, 0, 0}};
  static const rs_candidate widening[] = {{8, 64, 0, 0}, {8, 32, 0, 0}, {8, 16, 0, 0}, {4, 16, 0, 0}, {4, 8, 0, 0}};
  rs_shape s = shape_of(spec, RS_TEMPLATE_WIDE);
  s.packed = rs_wide_packs(spec);
  bool widens = s.out > s.in, computes = s.acc == 8 && rs_op_computes(rs_op_of(spec->op));
  s.vector = (int)rs_smaller(16 / (widens ? s.out : s.in), (computes ? 16 : 32) / s.acc);
  s.width = spec->mask_mode || widens ? 16 : 8;
  s.ahead = arch >= 90 && s.in == 2 ? AHEAD : 0;
  if (spec->length <= RS_WIDE_BRIEF) {
    many_threads(spec, arch, RS_WIDE_BRIEF, &s);
    return s;
  }
  /* Others are faster (tests/results/HISTORY.md: h100_92d1966_without_a_template), not with totals of two numbers. */
  if (s.acc == 8 && rs_spec_keeps_totals(spec) && (widens || s.mask))
    return (rs_shape){0};
  bool small = s.acc == 4 && s.vector == 4 && !s.mask; /* measured to be better with more steps */
  bool large = s.acc == 16 && s.mask && !widens, halves = large && s.in == 2;
  bool first = widens ? s.in == 1 && spec->length >= FEW_LENGTH : small || halves;
  int skipped = !first + (large && !halves), tried = widens ? TRIED_WIDENING : SIZES - skipped;
  int blocks = s.mask || s.vector == 8 || widens ? 2 : 3;
  take_size(spec, arch, (widens ? widening : sizes) + skipped, tried, blocks, &s);
  share_out(&s, arch, wide_registers(spec, &s, computes, large));
  return s;
}

/* Beside further arrays, each in whole words: a thread has so many bytes of all of them. */
static rs_shape wide_shape_of_several(const rowscan_spec *spec, int arch) {
  enum { SIZES = 4, WARPS = 4, BYTES = 320, BLOCKS = 4, WIDTH = 8, REGISTERS = 128 };
  rs_shape s = shape_of(spec, RS_TEMPLATE_WIDE);
  rs_candidate sizes[SIZES];
  if (spec->op == ROWSCAN_LOGSUMEXP_GRADIENT) /* computes, and wants threads: 0.55 of memcpy on an H200, 0.61 without */
    return (rs_shape){0};
  int widest = (int)rs_larger(rs_larger(s.in, s.out), rs_bytes_of(spec->second_type));
  for (int i = 0; i < RS_MOST_MORE; i++)
    widest = (int)rs_larger(widest, rs_bytes_of(spec->more_types[i]));
  s.vector = (int)rs_larger(rs_smaller(16 / widest, 32 / s.acc), 1);
  s.width = WIDTH;
  int64_t most = BYTES / (s.vector * rs_read_bytes(spec)),
          steps = most / 2 + 1; /* of which rs_power() takes the next power */
  for (int i = 0; i < SIZES; i++)
    sizes[i] = (rs_candidate){WARPS, (int)rs_larger(rs_power(spec->length, 1, steps) >> i, 1), 0, 0};
  take_size(spec, arch, sizes, SIZES, BLOCKS, &s);
  share_out(&s, arch, REGISTERS);
  return s;
}

/*
 * Columns that begin anywhere, mostly 256 steps of 256 bytes in a tile; of four warps where these have all steps. Tiles
 * ask L2 for the elements of others where columns are few.
 */
static rs_shape askew_shape(const rowscan_spec *spec, int arch) {
  enum { AHEAD = 132, AHEAD_STRIPS = 5, SIZES = 4 };
  static const rs_candidate sizes[] = {{8, 32, 0, 0}, {8, 16, 0, 0}, {8, 8, 0, 0}, {4, 8, 0, 0}};
  static const rs_candidate of_bytes[] = {{8, 64, 0, 0}, {8, 32, 0, 0}, {8, 16, 0, 0}, {4, 16, 0, 0}}; /* wide */
  static const rs_candidate of_doubles[] = {{4, 64, 0, 0}, {4, 32, 0, 0}, {4, 16, 0, 0}, {4, 8, 0, 0}};
  rs_shape s = shape_of(spec, RS_TEMPLATE_ASKEW);
  s.packed = rs_wide_packs(spec);
  bool wide = rs_is_wide(spec), bytes = wide && s.in == 1, small = s.in <= 2 && s.out <= 2;
  s.vector = !wide ? (small ? 4 : 2) : s.in == 4 || s.in == 1 ? 2 : 1;
  s.width = 32;
  s.ahead = arch >= 90 ? AHEAD : 0;
  s.ahead_strips = AHEAD_STRIPS;
  take_size(spec, arch, !wide ? sizes : bytes ? of_bytes : of_doubles, SIZES, s.mask || bytes ? 2 : 3, &s);
  if (spec->length <= 4 * s.steps)
    s.threads = 128;
  s.steps = rs_power(spec->length, 1, s.steps);
  bool both = spec->flags & ROWSCAN_EXCLUSIVE && s.reverse;
  bool roomy = small && (s.in == 1 || both || spec->mask_mode);
  bool few = s.packed && !s.mask; /* registers */
  s.min_blocks = rs_blocks_with(few ? 64 : wide || roomy ? 128 : 85, s.threads);
  s.shared_bytes = rs_wide_most_shared(&s);
  return s;
}

/* ---- all steps in one block -------------------------------------------------------------------------------------- */

/*
 * As many steps as registers allow, and so many columns that two blocks have 72 of them a thread, of bytes 56: as
 * measured on an H200 (tests/results/h200_7e85287_columns_in_rings.csv).
 */
static bool legal_ring_columns(const rowscan_spec *spec, int arch, rs_shape *s) {
  enum { STAGES = 4, LANES = 32, OTHER_BYTES = 4096 };
  (void)spec;
  s->shared_bytes = rs_arch_shared_bytes(arch) - OTHER_BYTES;
  /* elements of a tile, and what lies around its runs */
  int step = s->steps * (s->threads - 32 * RS_RING_MOVERS + 32);
  int read = step * (s->in + s->mask + s->beside), written = step * (s->out + s->second);
  s->stages = (int)rs_smaller(STAGES, (s->shared_bytes - RS_RING_BUFFERS * written) / read);
  return s->stages >= 2 && s->steps <= LANES;
}

static rs_shape columns_ring_shape(const rowscan_spec *spec, int arch) {
  enum { COLUMNS = 384, OF_BYTES = 512, BLOCKS = 2, LEAST_LENGTH = 96, FAR = 1 << 30, SEVERAL_BYTES = 8 };
  rs_shape s = shape_of(spec, RS_TEMPLATE_RING_COLUMNS);
  bool several = s.beside || s.second;
  bool wide = s.acc > 4 || s.in == 8 || s.out == 8, bytes = s.in == 1 && s.out == 1 && !s.mask && !several;
  int columns = bytes ? OF_BYTES : COLUMNS;
  s.threads = columns + 32 * RS_RING_MOVERS;
  s.min_blocks = s.acc > 8 || several ? 1 : BLOCKS;
  /* with 16 steps totals of two numbers in segments spill 412 to 756 bytes */
  bool marked = s.acc > 8 && rs_spec_segments(spec);
  bool large = rs_read_bytes(spec) > SEVERAL_BYTES || marked;
  s.steps = several ? (large ? 8 : 16) : wide ? 8 : bytes ? 32 : 16;
  bool fits = arch >= 90 && spec->length >= LEAST_LENGTH && spec->length < FAR && legal_ring_columns(spec, arch, &s);
  return fits && !rs_computes_wide(spec) ? s : (rs_shape){0};
}

/* ---- all tiles in work at once ----------------------------------------------------------------------------------- */

/* Two columns: 8 pairs of a lane, or 4 of 64-bit accumulators; of f32 two blocks a multiprocessor. */
static rs_shape pairs_shape(const rowscan_spec *spec, int arch) {
  enum { WORD = 16, WARPS = 16, OTHER_BYTES = 2048, MOST_GROUPS = WARPS - 1 };
  /* MOST_GROUPS: each a warp that looks for 32 tiles; one more tells */
  rs_shape s = shape_of(spec, RS_TEMPLATE_PAIRS);
  s.columns = 2;
  s.warps = WARPS;
  s.threads = 32 * WARPS;
  s.chunks = 1;
  s.lanes = 32;
  s.vector = rs_is_wide(spec) ? 4 : 8;
  s.shared_bytes = rs_pairs_shared(&s);
  bool room = 2 * (s.shared_bytes + OTHER_BYTES) <= rs_arch_shared_bytes(arch);
  bool few = spec->acc_type == ROWSCAN_F32 && arch >= 90 && arch < 120; /* others spill in 64 registers */
  s.min_blocks = room && few ? 2 : 1;
  bool words = s.vector * 2 * s.in % WORD == 0 && s.vector * 2 * s.out % WORD == 0;
  bool loop = rs_spec_loops(spec); /* which would look for the pairs' strides in local memory */
  int64_t tiles = rs_tuples_tiles(&s);
  return words && !loop && !spec->mask_mode && !rs_computes_wide(spec) && tiles >= 2 && tiles <= 32 * MOST_GROUPS
             ? s
             : (rs_shape){0};
}

/*
 * Few long columns, whose totals are of up to 32 bytes, with coefficients 24, or 16 where a stream of columns serves as
 * well, which is slow with masked halves: the walk over larger ones takes longer than a tile
 * (tests/results/HISTORY.md: h200_ba696e6_tuples). Narrower elements in f64 are as well or better one by one: two
 * columns of f32 on an H100 0.88 of memcpy, 0.89 so with spills, of f16 0.65 and 0.38.
 */
static rs_shape stream_tuples_shape(const rowscan_spec *spec, int arch, int columns, bool apart) {
  enum { MOST_BYTES = 32, MOST_PAIRED = 24, MOST_BESIDE = 16 };
  enum { FAR = 1 << 30 }; /* numbers are of 64 bits, and some spill */
  rs_shape s = shape_of(spec, rs_stream_of_tuples(columns));
  s.columns = columns;
  bool loop = rs_spec_loops(spec); /* as in pairs_shape */
  bool paired = spec->mask_mode == ROWSCAN_MASK_COEFFICIENT;
  int most = apart && !(s.mask && s.in == 2) ? MOST_BESIDE : paired ? MOST_PAIRED : MOST_BYTES;
  bool fits = spec->mask_mode <= ROWSCAN_MASK_COEFFICIENT && !loop && !rs_computes(spec) &&
              spec->length >= LEAST_STREAM_LENGTH && spec->length < FAR / columns && columns * s.acc <= most &&
              !(rs_in_doubles(spec) && s.in < 8);
  return fits && rs_tune_stream(spec, arch, &s) ? s : (rs_shape){0};
}

/*
 * Small tensors. Two blocks a multiprocessor where registers do not spill, so that a launch may begin while another
 * ends. Elements of a byte take as long as others, and so may have fewer bytes.
 */
static rs_shape columns_at_once_shape(const rowscan_spec *spec, int arch) {
  enum { THREADS = 512, STEPS = 8, TILES = 128, TILE_BYTES = 32 << 10, OF_BYTES = 8 << 10, OTHER_BYTES = 2048 };
  const int64_t least = 2 * RS_AT_ONCE_STEPS, most = (int64_t)TILES * RS_AT_ONCE_SEGMENTS * STEPS;
  rs_shape s = shape_of(spec, RS_TEMPLATE_COLUMNS_AT_ONCE);
  bool several = spec->row_rank > 2;             /* dimensions of an outer, of which most spill */
  s.threads = s.acc > 8 ? THREADS / 2 : THREADS; /* totals of two numbers */
  s.steps = STEPS;
  s.rows = TILES;
  s.tile_bytes = s.in == 1 ? OF_BYTES : TILE_BYTES;
  s.min_blocks = spec->acc_type == ROWSCAN_F32 && !spec->mask_mode && !several ? 2 : 1;
  s.shared_bytes = rs_arch_shared_bytes(arch) / s.min_blocks - OTHER_BYTES;
  bool fits = spec->length >= least && spec->length <= most;
  return fits ? s : (rs_shape){0};
}

/* Of any length: segments as long columns have them. */
static rs_shape any_length_shape(const rowscan_spec *spec, int arch) {
  enum { TILES = 1 << 25 };
  rowscan_spec as_long = *spec;
  as_long.length = TILES;
  rs_shape s = columns_any_shape(&as_long, arch);
  s.tiles = TILES;
  return s;
}

void rs_tune_columns(const rowscan_spec *spec, int arch, rs_shape of[RS_TEMPLATES]) {
  for (int made_of = 0; made_of < RS_TEMPLATES; made_of++)
    of[made_of] = (rs_shape){0};
  if (rs_spec_has_further(spec)) {
    of[RS_TEMPLATE_FURTHER_COLUMNS] = shape_of(spec, RS_TEMPLATE_FURTHER_COLUMNS);
    rs_tune_further_columns(spec, of);
    of[RS_TEMPLATE_WIDE] = wide_shape_of_several(spec, arch);
    of[RS_TEMPLATE_RING_COLUMNS] = columns_ring_shape(spec, arch);
    return;
  }
  if (spec->length == RS_ANY_LENGTH) {
    of[RS_TEMPLATE_COLUMNS] = any_length_shape(spec, arch);
    return;
  }
  of[RS_TEMPLATE_COLUMNS] = columns_any_shape(spec, arch);
  of[RS_TEMPLATE_STREAM_COLUMNS] = stream_shape(spec, arch);
  of[RS_TEMPLATE_SHORT_COLUMNS] = short_shape(spec, arch);
  of[RS_TEMPLATE_WIDE] = wide_shape(spec, arch);
  of[RS_TEMPLATE_ASKEW] = askew_shape(spec, arch);
  of[RS_TEMPLATE_COLUMNS_AT_ONCE] = columns_at_once_shape(spec, arch);
  bool apart = of[RS_TEMPLATE_STREAM_COLUMNS].threads > 0;
  for (int columns = 2; columns <= RS_MOST_TUPLE; columns++)
    of[rs_stream_of_tuples(columns)] = stream_tuples_shape(spec, arch, columns, apart);
  of[RS_TEMPLATE_PAIRS] = pairs_shape(spec, arch);
  of[RS_TEMPLATE_RING_COLUMNS] = columns_ring_shape(spec, arch);
}

/* ---- other shapes of a template ---------------------------------------------------------------------------------- */

/* A tile has RS_COLUMN_STEPS steps at least, and whole segments. */
static bool legal_any(const rowscan_spec *spec, int arch, rs_shape *s) {
  (void)spec, (void)arch;
  s->shared_bytes = rs_columns_shared(s);
  return s->steps <= RS_COLUMN_STEPS;
}

static bool legal_short(const rowscan_spec *spec, int arch, rs_shape *s) {
  (void)spec;
  s->shared_bytes = rs_short_shared(s);
  return s->shared_bytes < rs_arch_shared_bytes(arch);
}

/* As take_size() and share_out() leave them. */
static bool legal_strips(const rowscan_spec *spec, int arch, rs_shape *s) {
  enum { SYSTEM = 1024 }; /* of shared memory, for each block */
  s->chunks = s->steps;
  bool fits = legal_wide(spec, arch, s);
  s->chunks = 0;
  s->shared_bytes = rs_wide_most_shared(s);
  return fits && s->shared_bytes + SYSTEM <= rs_arch_shared_bytes(arch);
}

bool rs_columns_fit(const rowscan_spec *spec, int arch, rs_shape *shape) {
  static rs_legal *const legal[RS_TEMPLATES] = {[RS_TEMPLATE_COLUMNS] = legal_any,
                                                [RS_TEMPLATE_SHORT_COLUMNS] = legal_short,
                                                [RS_TEMPLATE_WIDE] = legal_strips,
                                                [RS_TEMPLATE_ASKEW] = legal_strips,
                                                [RS_TEMPLATE_RING_COLUMNS] = legal_ring_columns};
  rs_legal *is_legal = legal[shape->made_of];
  return is_legal && is_legal(spec, arch, shape);
}
