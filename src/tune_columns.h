/*
 * tune_columns.h - (spec, architecture) to the two kernels of regime column: a pure function
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TUNE_COLUMNS_H
#define RS_TUNE_COLUMNS_H

#include "spec.h"
#include "wide_cut.h"

/* kernels/columns.cuh, for any strides. The spec is complete; length > 0 in both. */
void rs_tune_columns(const rowscan_spec *spec, int arch, rs_column_shape *shape);

/* kernels/wide.cuh, for rows that rs_wide_fits. */
void rs_tune_wide(const rowscan_spec *spec, int arch, rs_wide_shape *shape);

#endif
