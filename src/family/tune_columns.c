/*
 * tune_columns.c - (spec, architecture) to the kernels of regime column
 * SPDX-License-Identifier: MIT
 */
#include "tune_columns.h"

#include "spec/arch.h"
#include "spec/types.h"

static int least(int a, int b) {
  return a < b ? a : b;
}

/* The power of two, at most `most`, that has all steps of a short column. */
static int up_to(int64_t length, int most) {
  int steps = 1;
  while (steps < most && steps < length)
    steps *= 2;
  return steps;
}

/*
 * Steps of a segment, at most `most`: those for which a column takes the least, with the steps that the last one lacks
 * and 1.5 for each total. Measured on an H100, f32, ratio to memcpy, with 32 steps and 16: 1024 x 8 0.986, 0.980; 1024
 * x 10 0.972, 0.967; 500 x 4 0.981, 0.976; 64 x 4 0.995, 0.992. The choice itself was not measured beside another.
 */
static int segment_steps(int64_t length, int most) {
  int steps = up_to(length, most);
  int64_t cheapest = INT64_MAX;
  if (length <= steps)
    return steps;
  for (int tried = steps; tried >= 4; tried /= 2) {
    int64_t cost = (length + tried - 1) / tried * (2 * tried + 3);
    if (cost < cheapest) {
      cheapest = cost;
      steps = tried;
    }
  }
  return steps;
}

/* Columns that are shorter have few tiles. */
enum { LEAST_STREAM_LENGTH = 4096 };

/* From so many steps on one more level of other tiles' totals takes registers: such kernels have fewer blocks than
 * would spill. None of them was measured. */
enum { LONG_LENGTH = 1 << 23, LONGER_LENGTH = 1 << 25, LONGEST_LENGTH = 1 << 30 };

static int bytes_of(rowscan_type type) {
  return (int)rowscan_type_bytes(type);
}

/*
 * Segments of 32 steps: their totals take time beside their elements. Measured on an H200, f32: 8 x 2^20 x 7, 2^20 x 2
 * and 32768 x 129 against memcpy, 16384 x 8192 transposed against a copy kernel.
 *   threads, steps, blocks a multiprocessor     x 7     x 2   x 129   transposed
 *   128, 32, 5 (4 from 2^20 steps on, spills) 0.620   0.281   0.367   1.005
 *   256, 32, 3 (spills)                       0.641   0.317   0.349   1.064
 *   256, 16, 3                                0.624   0.322   0.349   0.832
 *   256, 16, 4                                0.619   0.253   0.295   0.833
 *   128, 16, 6                                0.601   0.242   0.329   0.928
 *   256, 8, 3                                 0.601   0.280   0.337   0.699
 *   512, 16, 1                                0.496   0.302   0.282   0.694
 * tile_bytes: 4096 x 64 x 64 x 16 along 64, 24 KB 0.927; half of it where a multiprocessor has 64 KB for all blocks.
 */
void rs_tune_columns(const rowscan_spec *spec, int arch, rs_column_shape *shape) {
  enum { GROUP = 32 }; /* tiles, and groups of them, that are one level */
  int acc = rs_spec_register_bytes(spec);
  /* registers that none spills: ptxas takes more of them for other architectures than sm_90 */
  bool roomy = acc > 4 || bytes_of(spec->in_type) != 4 || spec->in_type != spec->out_type || spec->mask_mode ||
               spec->flags & ROWSCAN_REVERSE || arch / 10 != 9;
  /* likewise: totals of groups of groups of tiles (a third level of kernels/abreast.cuh) spill 8 to 52 bytes with four
     or five blocks, of any length that has them; 32768 steps, which have two levels, spill none with five */
  bool deep = spec->length > RS_COLUMN_STEPS * GROUP * GROUP;
  /* i16 in reverse: 8 to 100 bytes with three on sm_80, from 2^30 steps on 20 on sm_90 */
  bool old = arch < 90, reverse = spec->flags & ROWSCAN_REVERSE;
  bool longer = (old || reverse) && spec->length >= (old && reverse ? LONGER_LENGTH : LONGEST_LENGTH);
  int steps = segment_steps(spec->length, acc > 4 ? 8 : 32);
  *shape = (rs_column_shape){.length = spec->length,
                             .in = bytes_of(spec->in_type),
                             .out = bytes_of(spec->out_type),
                             .mask = rs_spec_mask_bytes(spec),
                             .acc = acc,
                             .threads = 128,
                             .steps = steps,
                             .lanes = 4,
                             .min_blocks = longer || (acc > 4 && spec->length >= LONGER_LENGTH) ? 2
                                           : roomy || deep                                      ? 3
                                                                                                : 5,
                             .tile_bytes = arch < 80 ? 12 * 1024 : 24 * 1024,
                             .strip_bytes = 128,
                             .shared = rs_arch_shared_bytes(arch)};
}

/*
 * Measured on an H200, f32, ratio to memcpy, of 2^26 elements, while one warp loaded and one stored:
 *                                      x 13    x 32    x 97
 *   16 warps, 32 steps                0.826   0.816   0.692
 *   20 warps, 16 steps, 96 registers  0.797   0.741   0.685
 *   24 warps, 16 steps (they spill)   0.788   0.732   0.632
 * With two movers 20 warps are as fast as 16. Tiles to 38 KB, then 70 KB: 8 x 2^20 x 7 0.847, 0.795; 2^20 x 32 0.821,
 * 0.800. Before the movers, 4 warps that scan and 2 that reduce, to 20 KB: x 13 0.598 (0.811), x 32 0.686 (0.804).
 * Tiles to 38 KB and to 52 KB, of which four are in work, on an H200 and an H100:
 *                      to 38 KB        to 52 KB                         to 38 KB        to 52 KB
 *   806592 x 83      0.672  0.784   0.788  0.890   806592 x 41 f64    0.344  0.430   0.652  0.805
 *   1597830 x 42     0.722  0.844   0.791  0.909   1613184 x 83 bf16  0.523  0.736   0.679  0.859
 *   3195660 x 21     0.768  0.900   0.843  0.953   6391320 x 10              0.938          0.926
 *   100000 x 42      0.703  0.789   0.726  0.831   13421772 x 5              0.982          0.963
 * Three of 128 steps of 691848 x 97: 0.665 on an H200, eight of 64 0.703. Where a tile takes longer, of 64-bit
 * accumulators (4.1 us instead of 2.5) or masks, to 52 KB and to 72 KB on an H200, 262144 steps: f64 x 17 0.449, 0.449;
 * x 23 0.360, 0.581; x 53 0.434, 0.695; x 61 0.489, 0.716; x 79 0.585, 0.588; i64 x 53 0.475, 0.717; to 38 KB and to 72
 * KB f64 x 6 0.516, 0.557; x 11 0.468, 0.596; x 13 0.524, 0.567; to 52 KB and to 72 KB f32 masked x 21 0.544, 0.505; x
 * 41 0.456, 0.499; x 83 0.464, 0.557; x 97 0.466, 0.522.
 * bf16 with 16 and 20 warps: x 83 0.678, 0.721; x 33 0.443, 0.479; x 17 0.501, 0.453; x 13 0.725, 0.672.
 */
void rs_tune_stream_columns(const rowscan_spec *spec, int arch, rs_stream_shape *shape) {
  int acc = rs_spec_register_bytes(spec);
  *shape = (rs_stream_shape){.length = spec->length};
  if (arch < 90 || bytes_of(spec->in_type) != bytes_of(spec->out_type) || spec->length < LEAST_STREAM_LENGTH)
    return;
  shape->in = bytes_of(spec->in_type);
  shape->mask = rs_spec_mask_bytes(spec);
  shape->acc = acc;
  bool crowded = shape->mask && arch >= 120; /* with 32 steps f32 spills 340 bytes, NVRTC 12.9 */
  shape->steps = acc > 4 || crowded ? 16 : 32;
  shape->warps = 16;                                      /* of 128 registers: none spills */
  shape->shared = rs_arch_shared_bytes(arch) - 10 * 1024; /* less what it has besides, and the system */
  shape->tile_bytes = (acc > 4 || shape->mask ? 72 : 52) * 1024;
  shape->band_bytes = (acc > 4 ? 72 : 52) * 1024;
  shape->pieced_bytes = (acc > 4 ? 72 : 38) * 1024;
  shape->least_tiles = 1;
}

/*
 * Slabs as short rows have them (tune_short.c), and larger ones for an outer that takes more. Measured on an H200 and
 * an H100, f32, 2^26 elements, ratio to memcpy, blocks a multiprocessor and KB of a slab; and by the kernels for longer
 * columns (wide.cuh or columns.cuh):
 *   steps x columns   five of 20 KB   six of 16 KB   four of 24 KB   eight of 12 KB   else
 *   64 x 16            0.990 1.001     0.981 1.000    0.983 1.005     0.824 0.844     0.948 0.987
 *   16 x 64            0.980 1.004     0.947 0.991    0.972 1.001     0.691 0.711     0.969 0.994
 *   16 x 63            1.005 1.014     0.971 1.010    0.990 1.015     0.653 0.665     0.882 0.938
 *   31 x 31            0.977 1.008     0.799 0.890    0.976 1.009     0.519 0.532     0.968 1.006
 *   64 x 65            0.996 1.016     1.005 1.014    0.932 1.012     0.816 0.820     0.828 0.899
 *   100 x 10           1.009 1.019     1.005 1.016    1.009 1.012     1.005 1.007     0.837 1.002
 *   256 x 16           0.971 1.000     0.984 1.002    0.898 1.003     0.796 0.812     0.952 0.988
 *   2 x 7              0.962 1.000     1.011 1.016    0.953 0.997     0.979 1.015     0.416 0.582
 *   3 x 1000           0.998 1.021     1.013 1.020    1.001 1.006     1.021 1.021     1.000 1.011
 *   30 x 250           0.970 1.001     0.794 0.875    0.978 1.006                     0.932 0.977
 * With four of 16 KB and 8 and 32 steps of a thread instead of 16, on an H200: 64 x 16 0.865, 0.927 (0.938); 100 x 10
 * 0.762, 0.911 (0.857); 32 x 128 0.913, 0.812 (0.981).
 */
void rs_tune_short_columns(const rowscan_spec *spec, int arch, rs_short_shape *shape) {
  int acc = rs_spec_register_bytes(spec), room = rs_arch_shared_bytes(arch);
  bool lacks_one = spec->length > 256 && spec->length % 16 == 15; /* the last segment, of its steps */
  bool five_spill = acc > 4 || spec->mask_mode || arch < 80 || (spec->flags & ROWSCAN_REVERSE && lacks_one) ||
                    (spec->row_rank > 2 && arch >= 120); /* f16 in reverse: 16 bytes with NVRTC 12.9 */
  *shape = (rs_short_shape){.length = spec->length,
                            .in = bytes_of(spec->in_type),
                            .out = bytes_of(spec->out_type),
                            .mask = rs_spec_mask_bytes(spec),
                            .acc = acc,
                            .threads = 256,
                            .min_blocks = five_spill ? 4 : 5,
                            .slab_bytes = room / 11,
                            .most_bytes = room / 11 * 2};
  bool two = spec->length * 2 * shape->in <= shape->most_bytes; /* columns at least */
  if (two && spec->length < LEAST_STREAM_LENGTH)
    shape->steps = up_to(spec->length, acc > 4 ? 8 : 16);
}

/* Of a block, what WideTile has besides included, and the system's share. */
static int block_bytes(const rs_wide_shape *shape) {
  int totals = shape->threads * shape->vector * shape->acc, columns = shape->width * shape->vector * shape->acc;
  int rows = shape->askew ? shape->threads / 32 : 32 * shape->vector;
  return rs_wide_shared(shape) + totals + rows * 16 + 2 * columns + 256 + 1024;
}

typedef struct wide_size {
  int threads, steps;
} wide_size;

static void take_first_that_fits(rs_wide_shape *shape, const wide_size *sizes, int count, int room) {
  for (int i = 0; i < count; i++) {
    shape->threads = sizes[i].threads;
    shape->steps = sizes[i].steps;
    if (block_bytes(shape) <= room)
      return;
  }
}

/* As many blocks as have room, and registers for so many threads. */
static void share_out(rs_wide_shape *shape, int shared, int threads) {
  shape->min_blocks = least(shared / block_bytes(shape), threads / shape->threads);
}

/*
 * Columns so short that a thread has all steps: no more steps than there are, and as many threads as take a few
 * registers an element. Measured on an H200, f32, ratio to memcpy, with 128 threads of 32 steps and so: 32768 x 2 x
 * 1024 0.268, 0.963; 16384 x 4 x 1024 0.510, 0.960; 8192 x 8 x 1024 0.839, 0.952. Where ptxas takes more registers,
 * fewer threads, so that none spills. Measured on an H100, us, with as many and with fewer: bf16 1024 x 1 x 65536 90.1,
 * 94.5, exclusive 93.1, 95.0; f16 1024 x 2 x 32768 exclusive 104.6, 90.4; bf16 2048 x 4 x 8192, 1024 x 8 x 8192 and
 * all that are masked, f32 too, the same within 0.5%.
 */
static void many_threads(const rowscan_spec *spec, int arch, int most_steps, rs_wide_shape *shape) {
  bool more = spec->mask_mode || arch / 10 != 9 || (shape->acc > 4 && least(shape->in, shape->out) < 8);
  bool brief = shape->length <= 2 && !(spec->flags & ROWSCAN_EXCLUSIVE);
  bool crowded = more || (shape->vector == 8 && !brief);
  shape->threads = 256;
  shape->steps = up_to(shape->length, most_steps);
  if (block_bytes(shape) > rs_arch_shared_bytes(arch)) /* f16, masked by f16, on sm_75 */
    shape->threads = 128;
  int values = shape->steps * shape->vector * (shape->acc / 4); /* words of a thread's elements */
  int threads = values > 32 ? 768 : values > 16 ? 1024 : values > 8 ? 1536 : 2048;
  if (crowded)
    threads = values > 32 ? 512 : values > 16 ? 768 : values > 8 ? 1280 : 1536;
  share_out(shape, rs_arch_shared_bytes(arch), threads);
}

static rs_wide_shape wide_of(const rowscan_spec *spec, int vector, int width) {
  return (rs_wide_shape){.length = spec->length,
                         .in = bytes_of(spec->in_type),
                         .out = bytes_of(spec->out_type),
                         .mask = rs_spec_mask_bytes(spec),
                         .acc = rs_spec_register_bytes(spec),
                         .vector = vector,
                         .width = width,
                         .lanes = 4};
}

/*
 * Vectors of 16 bytes of the input; of at most 32 of accumulators. As many threads as two or three blocks have room
 * for. Measured on an H200, ratio to memcpy, 16384 x 4096 along 16384 and 64 x 4096 x 1024 along 4096; 2^20 x 32 f32 is
 * at 0.697 with 128 threads of 32 steps, at 0.645 with 256 of 16.
 *   threads, steps, width   f32            f32, reverse   f32, bool mask   bf16
 *   256, 16, 8              0.928  0.910   0.929  0.908   0.858  0.901     0.811
 *   256, 16, 16                                           0.915  0.865     0.725 (vectors of 4)
 *   256, 16, 32                                           0.743  0.740
 *   256, 8, 8                              0.746  0.799   0.811  0.826
 *   256, 32, 8              0.800                                          0.735 (vectors of 4, width 16)
 *   128, 16, 8              0.904          0.905  0.855   0.838  0.800     0.713
 *   128, 16, 16                            0.750  0.761   0.748  0.753
 *   128, 32, 8              0.937  0.924   0.930  0.918                    0.761
 *   512, 16, 8              0.776                                          0.709
 * With tiles that ask L2 for the elements of the 40th tile after them, on an H200 and an H100: bf16 16384 x 4096 0.751
 * 0.939, 0.818 0.957 (20: 0.823 0.959; 132: 0.810); 64 x 4096 x 1024 0.847 0.936, 0.879 0.958. On an H200 16384 x 4096
 * of f32 0.944, 0.942; f64 0.942, 0.915; i64 0.934, 0.923.
 *
 * Where results are wider than elements a thread has as many columns as 16 bytes of results: lanes that stored more had
 * half of each sector. Measured on an H200; threads, steps, width, columns of a thread (256, 16, 8, and 4, 8, 4, 8):
 *                     before   256, 32, 16, n   256, 64, 16, n   128, 32, 16, n   256, 16, 32, n   256, 32, 32, n
 *   bool to i64, n = 2
 *     2097152 x 64     0.455       0.687            0.778            0.655            0.431            0.644
 *     65536 x 256      0.396       0.634            0.686            0.636            0.483            0.621
 *     16384 x 4096     0.490       0.830            0.765            0.807            0.600            0.782
 *   i8 to i32, n = 4
 *     2097152 x 64     0.477       0.688            0.779            0.639            0.533            0.689
 *     65536 x 256      0.421       0.668            0.734            0.607            0.513            0.635
 *     16384 x 4096     0.563       0.814            0.734            0.775            0.601            0.739
 *   i32 to i64, n = 2
 *     2097152 x 64     0.582       0.771            0.697            0.753            0.521            0.741
 *     65536 x 256      0.496       0.780            0.721            0.767            0.603            0.759
 *     16384 x 4096     0.610       0.831            0.749            0.901            0.745            0.854
 *   bf16 to f32, n = 4
 *     2097152 x 64     0.553       0.763            0.769            0.717            0.619            0.763
 *     65536 x 256      0.482       0.759            0.764            0.668            0.557            0.691
 *     16384 x 4096     0.705       0.861            0.776            0.861            0.733            0.835
 */
void rs_tune_wide(const rowscan_spec *spec, int arch, rs_wide_shape *shape) {
  enum { MOST_SHORT = 8, AHEAD = 40, FEW_LENGTH = 1 << 16 }; /* FEW: columns that so long tensors have, mostly */
  static const wide_size sizes[] = {{128, 32}, {256, 16}, {128, 16}, {128, 8}, {128, 4}};
  static const wide_size widening_sizes[] = {{256, 64}, {256, 32}, {256, 16}, {128, 16}, {128, 8}};
  int in = bytes_of(spec->in_type), out = bytes_of(spec->out_type), acc = rs_spec_register_bytes(spec);
  int shared = rs_arch_shared_bytes(arch);
  bool widens = out > in;
  *shape = wide_of(spec, least(16 / (widens ? out : in), 32 / acc), spec->mask_mode || widens ? 16 : 8);
  shape->ahead = arch >= 90 && in == 2 ? AHEAD : 0;
  if (spec->length <= MOST_SHORT) {
    many_threads(spec, arch, MOST_SHORT, shape);
    return;
  }
  bool small = acc == 4 && shape->vector == 4 && !shape->mask; /* measured to be better with more steps */
  int room = shared / (shape->mask || shape->vector == 8 || widens ? 2 : 3);
  if (widens)
    take_first_that_fits(shape, widening_sizes + (in > 1 || spec->length < FEW_LENGTH), 4, room);
  else
    take_first_that_fits(shape, small ? sizes : sizes + 1, small ? 5 : 4, room);
  /* registers that none spills: 85 a thread, or 128, or 168; ptxas takes more of them for other architectures */
  bool roomy = acc > 4 || shape->vector == 8 || widens || arch / 10 != 9;
  bool longest = acc > 4 && spec->length >= LONGEST_LENGTH;
  /* u8 to u8, masked: 32 bytes with 512 threads, where a segment lacks steps; products by numbers on sm_90 24 */
  bool times = spec->op == ROWSCAN_PROD && spec->mask_mode == ROWSCAN_MASK_MULTIPLY;
  bool rest = shape->length % shape->steps && (times || arch / 10 == 10 || arch / 10 == 11);
  bool bytes = in + out == 2 && shape->mask && rest;
  share_out(shape, shared, !roomy ? 768 : shape->threads == 128 || longest || bytes ? 384 : 512);
}

/*
 * Columns that begin anywhere (kernels/askew.cuh), mostly 256 steps of 256 bytes in a tile. Measured on an H100 and an
 * H200, ratio to memcpy, by threads, columns of a thread, steps, and blocks a multiprocessor whose registers there are:
 *   f32                    256, 2, 32, 3   128, 2, 64, 3   128, 2, 32, 6   256, 1, 64, 3   256, 2, 16, 5    (H100)
 *   43664 x 1537               0.839           0.832           0.785           0.798           0.746
 *   347720 x 193               0.708           0.679           0.659           0.688           0.578
 *   32768 x 129                0.621           0.632           0.584           0.525           0.482
 *   691848 x 97                0.661           0.619           0.628           0.613           0.551
 *   f32, lanes of a column         2               4               1                                        (H200)
 *   43664 x 1537               0.775           0.764           0.773
 *   347720 x 193               0.624           0.602           0.628
 *   bf16                   256, 4, 32, 3   256, 2, 64, 3   256, 4, 32, 2   256, 2, 32, 3                    (H100)
 *   16384 x 4097               0.759           0.665           0.722           0.660
 *   64 x 4096 x 1021           0.693           0.734           0.707           0.675
 *   330 x 200 x 1021           0.856           0.717           0.796           0.799
 *   the same               256, 4, 32, 3   256, 2, 64, 3   128, 2, 128, 3  256, 1, 64, 3                    (H200)
 *   16384 x 4097               0.635           0.508           0.560           0.343
 *   64 x 4096 x 1021           0.567           0.550           0.512           0.370
 *   f64                    128, 1, 64, 2   256, 1, 32, 2                                                    (H200)
 *   16384 x 4099               0.776           0.727
 *   64 x 2048 x 1021           0.855           0.805
 *   bool -> i64            256, 2, 64, 2   128, 2, 64, 4   128, 1, 128, 4  128, 2, 128, 2  with 4 lanes     (H200)
 *   16384 x 4097               0.752           0.729           0.707           0.617
 *   f32 in f64             128, 2, 64, 3   128, 1, 64, 4   256, 2, 32, 2   256, 1, 32, 2                    (H200)
 *   16384 x 4097               0.616           0.592           0.586           0.428
 *   i8 -> i32              256, 2, 32, 3   256, 2, 64, 3   256, 4, 64, 3   128, 4, 64, 4                    (H200)
 *   330 x 200 x 1021           0.718           0.672           0.606           0.693
 *   f32, masked by bool    256, 2, 32, 3   256, 2, 32, 2                                                    (H200)
 *   64 x 4096 x 1021           0.723           0.712
 * With tiles that ask L2 for the elements of the 132nd tile after them, f32, on an H200 and an H100: 520192 x 129 0.566
 * 0.679, 0.586 0.718; 347720 x 193 0.620 0.732, 0.636 0.764 (66: 0.763, 264: 0.737); 261120 x 257 0.638 0.744, 0.640
 * 0.766; but 174312 x 385, with 7 strips, 0.695 0.778, 0.684 0.796; 43664 x 1537 0.781, 0.767.
 * Four warps where they have all steps: bf16 2048 x 32 x 1021 0.785 -> 0.850, f32 512 x 32 x 3073 0.894 -> 0.903.
 */
void rs_tune_askew(const rowscan_spec *spec, int arch, rs_wide_shape *shape) {
  enum { AHEAD = 132, AHEAD_STRIPS = 5 };
  static const wide_size sizes[] = {{256, 32}, {256, 16}, {256, 8}, {128, 8}};
  static const wide_size byte_sizes[] = {{256, 64}, {256, 32}, {256, 16}, {128, 16}}; /* of 64-bit accumulators */
  static const wide_size double_sizes[] = {{128, 64}, {128, 32}, {128, 16}, {128, 8}};
  int shared = rs_arch_shared_bytes(arch), in = bytes_of(spec->in_type), out = bytes_of(spec->out_type);
  bool wide = rs_spec_register_bytes(spec) > 4;
  int columns = !wide ? (in == 2 && out == 2 ? 4 : 2) : in == 4 || in == 1 ? 2 : 1;
  *shape = wide_of(spec, columns, 32);
  shape->askew = true;
  shape->reverse = (spec->flags & ROWSCAN_REVERSE) != 0;
  bool bytes = wide && in == 1;
  const wide_size *tried = !wide ? sizes : bytes ? byte_sizes : double_sizes;
  shape->lanes = bytes ? 4 : 2;
  shape->ahead = arch >= 90 ? AHEAD : 0;
  shape->ahead_strips = AHEAD_STRIPS;
  take_first_that_fits(shape, tried, 4, shared / (shape->mask || bytes ? 2 : 3));
  if (spec->length <= 4 * shape->steps)
    shape->threads = 128;
  if (spec->length < shape->steps)
    shape->steps = up_to(spec->length, shape->steps);
  /* registers that none spills: ptxas takes more of them for other architectures than sm_90 */
  bool both = spec->flags & ROWSCAN_EXCLUSIVE && spec->flags & ROWSCAN_REVERSE;
  bool longest = spec->length >= LONGEST_LENGTH, halves = columns == 4;
  bool roomy =
      wide || arch / 10 != 9 || longest || (halves && (both || spec->mask_mode || spec->length >= LONG_LENGTH));
  shape->min_blocks = (wide && longest ? 384 : roomy ? 512 : 768) / shape->threads;
}

/*
 * Two columns at once: 8 pairs of a lane, or 4 of 64-bit accumulators; of f32 two blocks a multiprocessor. Measured on
 * an H100, 2^20 x 2 f32, us: warps, pairs of a lane 16, 8 8.68; 16, 16 and 32, 4 more (see kernels/NOTES.md).
 */
void rs_tune_pairs(const rowscan_spec *spec, int arch, rs_pairs_shape *shape) {
  enum {
    WORD = 16,
    WARPS = 16,
    OTHER_BYTES = 2048,
    MOST_GROUPS = WARPS - 1
  }; /* each a warp that looks for 32 tiles; one more tells */
  int acc = rs_spec_register_bytes(spec);
  *shape = (rs_pairs_shape){.length = spec->length,
                            .in = bytes_of(spec->in_type),
                            .out = bytes_of(spec->out_type),
                            .acc = acc,
                            .reverse = (spec->flags & ROWSCAN_REVERSE) != 0,
                            .warps = WARPS,
                            .vector = acc > 4 ? 4 : 8};
  bool room = 2 * (rs_pairs_shared(shape) + OTHER_BYTES) <= rs_arch_shared_bytes(arch);
  bool few = spec->acc_type == ROWSCAN_F32 && arch >= 90 && arch < 120; /* others spill in 64 registers */
  shape->min_blocks = room && few ? 2 : 1;
  bool loop = rs_spec_loops(spec); /* which would look for the pairs' strides in local memory */
  int words_in = shape->vector * 2 * shape->in % WORD, words_out = shape->vector * 2 * shape->out % WORD;
  int64_t tiles = rs_pairs_tiles(shape);
  if (loop || spec->mask_mode || words_in || words_out || tiles < 2 || tiles > 32 * MOST_GROUPS)
    shape->vector = 0;
}

/*
 * Small tensors. Two blocks a multiprocessor where registers do not spill, so that a launch may begin while another
 * ends. Measured on an H100, f32, us, without this kernel and with: 1024 x 3 3.20, 2.80; 4096 x 8 6.38, 3.27; 4096 x 64
 * 5.43, 4.31; 16384 x 16 7.93, 4.78; 65536 x 8 8.31, 5.39; 128 x 1024 x 8 9.28, 5.52. Beyond 32 KB a multiprocessor:
 * 16384 x 64 7.10, 6.97; 16384 x 128 9.44, 10.0; 65536 x 32 10.0, 10.1; 262144 x 4 9.49, 6.94, x 8 10.7, 11.3. Elements
 * of a byte take as long as others: i8 to i32 on an H200 with 32, 16 and 8 KB, ratio to memcpy, 262144 x 3 0.293 all, x
 * 7 0.273, 0.273, 0.333, x 13 0.243, 0.356, 0.359; but bf16 with 32 and 16 KB x 5 0.422, 0.299, x 7 0.483, 0.383.
 */
void rs_tune_at_once(const rowscan_spec *spec, int arch, rs_at_once_shape *shape) {
  enum { THREADS = 512, STEPS = 8, TILES = 128, TILE_BYTES = 32 << 10, OF_BYTES = 8 << 10, OTHER_BYTES = 2048 };
  const int64_t least = 2 * RS_AT_ONCE_STEPS, most = (int64_t)TILES * RS_AT_ONCE_SEGMENTS * STEPS;
  bool several = spec->row_rank > 2; /* dimensions of an outer, of which most spill */
  int blocks = spec->acc_type == ROWSCAN_F32 && !spec->mask_mode && !several ? 2 : 1;
  *shape = (rs_at_once_shape){.length = spec->length,
                              .in = bytes_of(spec->in_type),
                              .out = bytes_of(spec->out_type),
                              .mask = spec->mask_mode ? bytes_of(spec->mask_type) : 0,
                              .acc = rs_spec_register_bytes(spec),
                              .reverse = (spec->flags & ROWSCAN_REVERSE) != 0,
                              .threads = THREADS,
                              .steps = spec->length < least || spec->length > most ? 0 : STEPS,
                              .tiles = TILES,
                              .tile_bytes = bytes_of(spec->in_type) == 1 ? OF_BYTES : TILE_BYTES,
                              .min_blocks = blocks,
                              .shared = rs_arch_shared_bytes(arch) / blocks - OTHER_BYTES};
}
