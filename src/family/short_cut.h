/*
 * short_cut.h - how a run of regime column is cut, where short columns lie one run in memory
 * SPDX-License-Identifier: MIT
 *
 * kernels/short_columns.cuh is given it.
 */
#ifndef RS_SHORT_CUT_H
#define RS_SHORT_CUT_H

#include <stdbool.h>

#include "columns_cut.h"

/* What is known before the rows are. */
typedef struct rs_short_shape {
  int64_t length;
  int in, out, mask, acc; /* bytes of an element; mask 0: none */
  int threads, steps;     /* of the kernel, powers of two; steps 0: there is none */
  int min_blocks;         /* that a multiprocessor must hold: caps the registers */
  int slab_bytes;         /* of a slab each way, about, and ... */
  int most_bytes;         /* ... at most, if one outer takes more */
  int multiprocessors;    /* of the device, which small tensors should keep busy; 0: not known */
} rs_short_shape;

/* Whether the kernel takes these rows, and is the best for them. */
bool rs_short_fits(const rs_short_shape *shape, const rs_rows *rows);

/* rows->count > 0, shape->length > 0, and they fit. */
void rs_short_cut_rows(ShortCut *cut, rs_column_need *need, const rs_short_shape *shape, const rs_rows *rows);

/* The most that `need->shared` can be. */
int rs_short_shared(const rs_short_shape *shape);

#endif
