/*
 * measure.h - times a spec against a copy of the same bytes, and checks what it times
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_MEASURE_H
#define RS_MEASURE_H

#include "context.h"

/* rowscan_measure, its arguments checked and the spec complete. */
rowscan_status rs_measure(rowscan_context *context, const rowscan_spec *spec, int64_t outer, int64_t inner, int repeat,
                          rowscan_timing *timing);

#endif
