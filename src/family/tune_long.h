/*
 * tune_long.h - which rows are cut over blocks, and which have a block each
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TUNE_LONG_H
#define RS_TUNE_LONG_H

#include "shape.h"
#include "spec/spec.h"

/* Numbers of rows of which each has a block of its own; others are cut. */
typedef struct rs_whole_rows {
  int tenths; /* at least so many tenths of the multiprocessors; 0: no number */
  int waves;  /* at most so many rows a multiprocessor, the last of which also falls to so many tenths; 0: any number */
} rs_whole_rows;

/* Whether rows of this length may be cut at all by a kernel for them. */
bool rs_may_be_cut(int64_t length, const rs_shape *cut);

/* Of rows that `cut` serves if they are cut. off: the kernel for neighbours off 16 bytes that have a block each. */
rs_whole_rows rs_whole_rows_of(const rowscan_spec *spec, const rs_shape *cut, const rs_shape *off);

bool rs_are_whole(rs_whole_rows whole, int64_t rows, int multiprocessors);

#endif
