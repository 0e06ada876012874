/*
 * tune_long.c - which rows are cut over blocks, and which have a block each
 * SPDX-License-Identifier: MIT
 *
 * A block a row leaves multiprocessors idle when rows are few, or when the last of several waves is; one row's blocks
 * that hand each other totals wait for one another, until a row is so long that they run ahead. All was measured with
 * either forced, on an H100 and an H200 of 132 multiprocessors (tests/RESULTS.md, "Rows cut over blocks or not").
 */
#include "tune_long.h"

#include "spec/types.h"

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/*
 * H200, f32, us, one row and 33 rows with a block each and cut: 8192 1.83, 1.72 and 2.05, 2.24; 16384 2.73, 1.77 and
 * 3.05, 2.79. In tiles, H100, every second element, one row: 16384 7.0, 9.6; 32768 12.8, 9.7.
 */
bool rs_may_be_cut(int64_t length, const rs_shape *cut) {
  enum { LEAST = 16384, LEAST_TILES = 32768 };
  return cut->made_of && length >= (cut->made_of == RS_TEMPLATE_TILES ? LEAST_TILES : LEAST);
}

/*
 * Rows of any strides, and before sm_90. H100, every second element, us with a block each and cut: f32 33 x 32768 14.1,
 * 15.6; 33 x 65536 26.9, 24.6; 48 x 65536 32.2, 36.8; 528 x 65536 288, 289; 66 x 131072 75.7, 85.8; 264 x 131072 289,
 * 292; 528 x 131072 598, 562. bf16 66 x 65536 34.9, 27.8; 132 x 65536 44.0, 50.0; 66 x 131072 67.6, 50.2; 264 x 131072
 * 147, 184. Geometries of sm_86 on an H200, f32, neighbours, ratio to memcpy: 33 x 65536 0.55, 0.69; 66 x 65536 0.77,
 * 0.75; 528 x 131072 0.90, 0.78. Rows of 2^18 and more were not measured.
 */
static rs_whole_rows whole_strided(const rowscan_spec *spec, bool narrow) {
  if (spec->length >= 1 << 18)
    return (rs_whole_rows){10, 0};
  return narrow ? (rs_whole_rows){6, 0} : (rs_whole_rows){3, 0};
}

/*
 * Neighbours off 16 bytes that are short, or narrow: of less than 4 bytes a stream of them has 0.6 of memcpy on an H200
 * however long they are. From 384 KB on, which was not measured, they are cut. Ratio to memcpy there, bf16, a block
 * each and cut: 66 x 32769 0.45, 0.52; 132 x 32769 0.70, 0.56; 96 x 65537 0.56, 0.63; 132 x 65537 0.67, 0.60; 528
 * x 131073 0.82, 0.67. H100: 66 x 65535, of 256 threads a block, 0.64, 0.75; 528 x 98305 0.90, 0.88. A block of 128
 * threads is slow by itself: f32, H100, 128 x 16385 0.80, 0.93, where 128 x 32769, of 256, has 1.31, 1.03; f64, H200,
 * 66 x 16385 0.67, 0.75; 132 x 16385 1.08, 0.81. Streams of bf16 have four warps that reduce since: H100, 132 x 65537
 * 0.79, 0.87; 264 x 65537 0.97, 0.90; 264 x 98305 0.89, 0.95; an H200 may choose otherwise, and was not at hand.
 */
static int tenths_off(int64_t bytes, int64_t width, const rs_shape *off) {
  if (off->threads <= 128 && bytes >= 64 * 1024)
    return width == 4 ? 10 : 8;
  return width < 4 ? 6 : 4;
}

/*
 * By bytes of a row, of the wider of input and output: ratio to memcpy, or time, with a block each and cut, of
 * neighbours on 16 bytes. Off them they are alike. Of less than 4 bytes bf16 and i8 were measured, i8 as of 2 bytes;
 * those that become wider or narrower are cut past LONG_NARROW, where some kernels that have a block each spill (bool
 * to i16 of 79616 on sm_90, 8 bytes).
 *
 *   32 KB   H200, bf16: 16 rows 0.88, 0.90; 33 1.08, 0.88
 *   128 KB  H200, f32: 33 rows 0.59, 0.94; 66 0.83, 0.81; 132 1.03, 0.87; 264 0.94, 0.78; 1056 0.95, 0.93
 *           H100, us: 64 rows 7.5, 8.2; 72 9.1, 8.2; 96 9.1, 10.0; 132 11.7, 13.3; 144 15.3, 14.3; 198 19.0, 21.7
 *   192 KB  H200, f32: 80 rows 0.73, 0.84; 112 0.96, 0.89; 132 1.00, 0.81; 264 0.90, 0.87; 1056 0.93, 0.93
 *           H100, us: 96 rows 15.9, 14.5; 112 15.8, 17.1; 144 23.7, 23.6; 264 35.6, 38.1; 290 42.2, 41.8
 *   256 KB  H200, f32: 96 rows 0.79, 0.84; 132 1.00, 0.81; 198 0.86, 0.87; 264 0.93, 0.91; 1056 0.93, 0.94
 *           H100, us: 112 rows 22.0, 24.3; 144 30.8, 29.0; 240 44.9, 46.3; 290 58.2, 54.5; 396 73.5, 72.8; 600 113, 110
 *           H200, f64: 132 rows 0.99, 0.78; 264 0.92, 0.85; 528 0.92, 0.90. bf16: 0.98, 0.77; 0.91, 0.85; 0.92, 0.89
 *           H100, i8: 66 rows 0.75, 0.84; 132 0.94, 0.90; 264 1.03, 0.91. Off 16: 0.43, 0.68; 0.74, 0.74; 0.85, 0.81
 *   384 KB  H200, f32: 112 rows 0.80, 0.86; 132 0.92, 0.88; 264 0.88, 0.94; 1056 0.89, 0.94
 *           H200, f64: 96 rows 0.76, 0.77; 132 0.90, 0.81; 264 0.90, 0.89; 1056 0.89, 0.92. bf16: 132 0.90, 0.81
 *   512 KB  H200, f64: 96 rows 0.80, 0.79; 132 0.93, 0.83; 264 0.92, 0.89; 528 0.90, 0.93. bf16: 132 0.92, 0.85
 *           H100, f64, us: 112 rows 46.3, 42.4; 132 50.6, 51.1; 144 62.7, 55.0
 *   768 KB  H200, f64: 96 rows 0.76, 0.84; 132 0.87, 0.88; 528 0.89, 0.92
 */
rs_whole_rows rs_whole_rows_of(const rowscan_spec *spec, const rs_shape *cut, const rs_shape *off) {
  enum { KB = 1024, LONG_NARROW = 65536 };
  int64_t in = (int64_t)rowscan_type_bytes(spec->in_type), out = (int64_t)rowscan_type_bytes(spec->out_type);
  bool narrow = in < 4 || out < 4;
  int64_t width = narrow ? 2 : larger(in, out), bytes = spec->length * width;
  if (cut->made_of == RS_TEMPLATE_TILES)
    return whole_strided(spec, narrow);
  if (narrow && in != out && spec->length > LONG_NARROW)
    return (rs_whole_rows){0};
  bool is_off = cut->made_of == RS_TEMPLATE_STREAM_ANY;
  if (is_off && bytes < (narrow ? 384 : 192) * KB)
    return (rs_whole_rows){tenths_off(bytes, width, off), 0};
  if (bytes < 192 * KB)
    return (rs_whole_rows){bytes < 64 * KB ? 1 : 4, 0};
  if (bytes < 256 * KB)
    return (rs_whole_rows){8, 0};
  if (bytes < 384 * KB)
    return (rs_whole_rows){8, 4};
  if (bytes <= 512 * KB && width != 4 && !(is_off && narrow))
    return (rs_whole_rows){8, 1};
  return (rs_whole_rows){0};
}

bool rs_are_whole(rs_whole_rows whole, int64_t rows, int multiprocessors) {
  int64_t least = (int64_t)whole.tenths * multiprocessors;
  if (!whole.tenths || 10 * rows < least)
    return false;
  if (!whole.waves)
    return true;
  int64_t last = (rows - 1) % multiprocessors + 1;
  return rows <= (int64_t)whole.waves * multiprocessors && 10 * last >= least;
}
