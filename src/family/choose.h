/*
 * choose.h - which of a spec's kernels serves which rows, and what its launches need
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_CHOOSE_H
#define RS_CHOOSE_H

#include "columns_memo.h"
#include "contenders.h"
#include "tune.h"

/* The kernels of a spec on a device. */
typedef struct rs_kernels {
  const rowscan_spec *spec; /* complete; it stays where it is */
  rs_geometry geometry;
  int multiprocessors;
  rs_columns_memo cuts; /* regime column */
  size_t scratch;       /* bytes that a run may need at most */
  rs_kernel only;       /* serves all runs where the geometry has a forced template */
} rs_kernels;

/* tuned: the architecture whose geometries they have. */
void rs_kernels_open(rs_kernels *all, const rowscan_spec *spec, int tuned, int multiprocessors, double peak_gbs);

/* Lets one contender serve all runs from now on. Call it before any of them. */
void rs_kernels_force(rs_kernels *all, const rs_contender *contender);

/* Whether the kernel that is forced takes these rows; and whether it can serve them, for which columns are cut.
 * rows->count > 0, length > 0. */
bool rs_kernels_forced_takes(const rs_kernels *all, const rs_rows *rows);
bool rs_kernels_forced_serves(const rs_kernels *all, const rs_rows *rows);

/* The kernel that serves these rows. */
rs_kernel rs_kernels_choose(const rs_kernels *all, const rs_rows *rows);

/* Scratch bytes that a run of these rows needs; 0: it takes none. */
size_t rs_kernels_scratch(const rs_kernels *all, const rs_rows *rows);

/* A launch of a kernel of layout ROWS. */
typedef struct rs_rows_launch {
  int64_t rows; /* that it takes, of those that are left */
  int64_t blocks;
  size_t workspace; /* bytes; 0: none */
} rs_rows_launch;

/* The next launch where so many rows of so many elements are left. */
rs_rows_launch rs_kernels_launch(const rs_kernels *all, rs_kernel kernel, int64_t length, int64_t left);

#endif
