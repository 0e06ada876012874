/*
 * tune_columns.h - (spec, architecture) to the kernels of regime column: a pure function
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TUNE_COLUMNS_H
#define RS_TUNE_COLUMNS_H

#include "at_once_cut.h"
#include "pairs_cut.h"
#include "short_cut.h"
#include "spec/spec.h"
#include "stream_cut.h"
#include "wide_cut.h"

/* kernels/columns.cuh, for any strides. The spec is complete; length > 0 in both. */
void rs_tune_columns(const rowscan_spec *spec, int arch, rs_column_shape *shape);

/* kernels/stream_columns.cuh, for rows that rs_stream_fits; steps 0: the spec or the architecture has none. */
void rs_tune_stream_columns(const rowscan_spec *spec, int arch, rs_stream_shape *shape);

/* kernels/short_columns.cuh, for rows that rs_short_fits; steps 0: columns of this length are too long. */
void rs_tune_short_columns(const rowscan_spec *spec, int arch, rs_short_shape *shape);

/* kernels/wide.cuh and kernels/askew.cuh, for rows that rs_wide_fits. */
void rs_tune_wide(const rowscan_spec *spec, int arch, rs_wide_shape *shape);
void rs_tune_askew(const rowscan_spec *spec, int arch, rs_wide_shape *shape);

/* kernels/columns_at_once.cuh, for rows that rs_at_once_steps takes; steps 0: the spec has none. */
void rs_tune_at_once(const rowscan_spec *spec, int arch, rs_at_once_shape *shape);

/* kernels/pairs.cuh, for rows that rs_pairs_fits; vector 0: the spec has none. */
void rs_tune_pairs(const rowscan_spec *spec, int arch, rs_pairs_shape *shape);

#endif
