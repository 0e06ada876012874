/*
 * tune_short.h - (spec, architecture) to the slabs of kernels/short.cuh: a pure function
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TUNE_SHORT_H
#define RS_TUNE_SHORT_H

#include <stdbool.h>

#include "spec/spec.h"

/* Of a block; the first five are SlabShape's in kernels/short.cuh. */
typedef struct rs_slab_shape {
  int rows, threads, lanes, vector, word;
  int min_blocks;   /* that a multiprocessor must hold: caps the registers */
  int shared_bytes; /* dynamic shared memory */
} rs_slab_shape;

/* Whether rows are short enough for slabs. */
bool rs_slab_serves(const rowscan_spec *spec);

/*
 * words: the kernel for input, output and mask that begin on multiples of 16 bytes; false where it would be that for
 * any place, since the length is odd. Rows that slabs do not serve have shapes too, up to 8 KB.
 */
bool rs_tune_short(const rowscan_spec *spec, int arch, bool words, rs_slab_shape *shape);

#endif
