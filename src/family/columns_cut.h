/*
 * columns_cut.h - how a run of regime column is cut into tiles for kernels/columns.cuh
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_COLUMNS_CUT_H
#define RS_COLUMNS_CUT_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cuts.h"
#include "spec/rows.h"

/* What is known before the rows are. */
typedef struct rs_column_shape {
  int64_t length;
  int in, out, mask, acc;    /* bytes of an element; mask 0: none */
  int threads, steps, lanes; /* of the kernel, powers of two */
  int min_blocks;            /* that a multiprocessor must hold: caps the registers */
  int tile_bytes;            /* of a tile's copies, about, where it has all steps */
  int strip_bytes;           /* of a step of a strip, about, where a tile is not as wide as the tensor */
  int shared;                /* bytes of shared memory of a multiprocessor */
  int multiprocessors;       /* of the device, which small tensors should keep busy; 0: not known */
} rs_column_shape;

/* What a launch takes. */
typedef struct rs_column_need {
  int64_t blocks;
  size_t workspace; /* bytes; 0: none */
  int shared;       /* bytes of dynamic shared memory */
} rs_column_need;

/* Bytes of the nodes of `count` columns of so many tiles, as kernels/abreast.cuh lays them out. */
size_t rs_columns_nodes(int64_t tiles, int lanes, int64_t count, int acc);

/* By what divide() of kernels/divide.cuh divides by d. */
uint32_t rs_divisor(int64_t d);

/* rows->count > 0, shape->length > 0. */
void rs_columns_cut(ColumnCut *cut, rs_column_need *need, const rs_column_shape *shape, const rs_rows *rows);

/* The most that `need->shared` can be: two blocks share a multiprocessor. */
int rs_columns_shared(const rs_column_shape *shape);

/* The most that `need->workspace` can be for rows->count == count. */
size_t rs_columns_workspace(const rs_column_shape *shape, int64_t count);

/* Exactly what rows->count == 1 takes. */
size_t rs_columns_workspace_of_one(const rs_column_shape *shape);

#endif
