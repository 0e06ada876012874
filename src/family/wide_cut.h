/*
 * wide_cut.h - how a run of regime column is cut, where columns are neighbours, in whole words or askew; what
 * kernels/wide_tile.cuh is given
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_WIDE_CUT_H
#define RS_WIDE_CUT_H

#include <stdbool.h>

#include "columns_cut.h"

/* What is known before the rows are. */
typedef struct rs_wide_shape {
  int64_t length;
  int in, out, mask, acc;                   /* bytes of an element; mask 0: none */
  int threads, vector, steps, width, lanes; /* of the kernel, powers of two */
  int min_blocks;                           /* that a multiprocessor must hold: caps the registers */
  bool askew, reverse;                      /* askew: width is 32 */
  int ahead;                                /* tiles from one to the one whose elements it asks L2 for; 0: none */
  int ahead_strips;                         /* where there are no more strips, and many tiles of one outer; 0: always */
} rs_wide_shape;

/* Whether these rows can be read and written so. */
bool rs_wide_fits(const rs_wide_shape *shape, const rs_rows *rows);

/* Bytes of dynamic shared memory that a block has, at least and at most: askew it depends on the steps in memory. */
int rs_wide_shared(const rs_wide_shape *shape);
int rs_wide_most_shared(const rs_wide_shape *shape);

/* rows->count > 0, shape->length > 0, and they fit. */
void rs_wide_cut_rows(WideCut *cut, rs_column_need *need, const rs_wide_shape *shape, const rs_rows *rows);

/* The most that `need->workspace` can be for rows->count == count. */
size_t rs_wide_workspace(const rs_wide_shape *shape, int64_t count);

#endif
