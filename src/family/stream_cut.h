/*
 * stream_cut.h - how a run of regime column is cut, where columns lie one run in memory; stream_columns.cuh is given it
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_STREAM_CUT_H
#define RS_STREAM_CUT_H

#include <stdbool.h>

#include "columns_cut.h"

/* What is known before the rows are. */
typedef struct rs_stream_shape {
  int64_t length;
  int in, mask, acc;   /* bytes of an element; mask 0: none; those of out are those of in */
  int steps;           /* of the kernel, a power of two, at least 16; 0: there is none */
  int warps;           /* of the kernel; how many have which role the number of columns says */
  int shared;          /* bytes of dynamic shared memory that a block may have */
  int tile_bytes;      /* of a tile, at most, where the tensor is large: of several bands of columns, */
  int band_bytes;      /* of one band, */
  int pieced_bytes;    /* and of so few columns that lanes share them in pieces */
  int least_tiles;     /* for each multiprocessor, while they are larger than they must be */
  int multiprocessors; /* of the device, each with a block; which small tensors should keep busy */
} rs_stream_shape;

/* Columns that it takes at most; 0: it takes none. */
int64_t rs_stream_columns(const rs_stream_shape *shape);

/* Whether the kernel takes these rows. */
bool rs_stream_fits(const rs_stream_shape *shape, const rs_rows *rows);

/* rows->count > 0, shape->length > 0, and they fit. */
void rs_stream_cut_rows(StreamCut *cut, rs_column_need *need, const rs_stream_shape *shape, const rs_rows *rows);

#endif
