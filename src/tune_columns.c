/*
 * tune_columns.c - (spec, architecture) to the two kernels of regime column
 * SPDX-License-Identifier: MIT
 */
#include "tune_columns.h"

#include "arch.h"
#include "types.h"

static int least(int a, int b) {
  return a < b ? a : b;
}

static int bytes_of(rowscan_type type) {
  return (int)rowscan_type_bytes(type);
}

/*
 * Items of 16 steps: they are read from shared memory twice, and each has a total to be kept there. Measured on an
 * H200, f32, ratio to memcpy: 4096 x 64 x 64 x 16 along 64, 128 threads and tiles of 24 KB, 8 blocks a multiprocessor:
 * 0.927. Half of it where a multiprocessor has 64 KB of shared memory for all of its blocks.
 */
void rs_tune_columns(const rowscan_spec *spec, int arch, rs_column_shape *shape) {
  int acc = rs_spec_register_bytes(spec);
  bool roomy = acc == 8 || spec->length >= 1 << 20 || spec->in != spec->out; /* these spill with 80 registers */
  *shape = (rs_column_shape){.length = spec->length,
                             .in = bytes_of(spec->in),
                             .out = bytes_of(spec->out),
                             .mask = rs_spec_mask_bytes(spec),
                             .acc = acc,
                             .threads = 128,
                             .steps = acc == 8 ? 8 : 16,
                             .lanes = 8,
                             .min_blocks = roomy ? 4 : 6,
                             .tile_bytes = arch < 80 ? 12 * 1024 : 24 * 1024,
                             .strip_bytes = least(128 * bytes_of(spec->in), 512)};
}

/* Of a block, what WideTile has besides included, and the system's share. */
static int block_bytes(const rs_wide_shape *shape) {
  int totals = shape->threads * shape->vector * shape->acc, columns = shape->width * shape->vector * shape->acc;
  return rs_wide_shared(shape) + totals + 32 * shape->vector * 16 + 2 * columns + 256 + 1024;
}

/*
 * Vectors of 16 bytes of the input; of at most 32 of accumulators. Measured on an H200 when a thread kept its elements
 * in registers, ratio to memcpy, 8 lanes and 8 vectors wide; f32 16384 x 4096 along 16384, 64 x 4096 x 1024 along 4096:
 *                                        inclusive     exclusive     reverse       masked by bool
 *   256 threads, 16 steps, 2 blocks      0.855 0.870   0.854 0.871   0.707 0.733   0.833 0.837
 *   128 threads, 16 steps, 5 (4) blocks  0.851 0.836   0.843 0.836   0.812 0.790   0.821 0.801
 *   256 threads, 8 steps, 4 (3) blocks   0.849 0.809   0.843 0.806   0.775 0.727   0.825 0.783
 * bf16, 16384 x 4096: 256 threads, 8 x 16 0.751, 8 x 8 0.734. Strips of 16 vectors 0.818 0.827, 4 (128 threads) 0.751
 * 0.759; 16 lanes 0.781 0.834.
 */
void rs_tune_wide(const rowscan_spec *spec, int arch, rs_wide_shape *shape) {
  static const int sizes[][2] = {{256, 16}, {128, 16}, {128, 8}, {128, 4}}; /* threads, steps */
  int acc = rs_spec_register_bytes(spec), shared = rs_arch_shared_bytes(arch);
  *shape = (rs_wide_shape){.length = spec->length,
                           .in = bytes_of(spec->in),
                           .out = bytes_of(spec->out),
                           .mask = rs_spec_mask_bytes(spec),
                           .acc = acc,
                           .vector = least(16 / bytes_of(spec->in), 32 / acc),
                           .width = 8,
                           .lanes = 8};
  bool small = spec->flags & ROWSCAN_REVERSE || shape->vector == 8; /* its totals take too much beside 256 threads */
  for (int i = small; i < 4; i++) {
    shape->threads = sizes[i][0];
    shape->steps = sizes[i][1];
    if (block_bytes(shape) <= shared / 3)
      break;
  }
  /* registers that none spills: 128 a thread, or 85 */
  int blocks = shared / block_bytes(shape), most = (acc == 8 || shape->vector == 8 ? 512 : 768) / shape->threads;
  shape->min_blocks = blocks < most ? blocks : most;
}
