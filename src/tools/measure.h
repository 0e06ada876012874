/*
 * measure.h - times a spec against copies of the same bytes, and checks what it times
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_MEASURE_H
#define RS_MEASURE_H

#include "run/context.h"
#include "spec/developer.h"

/* rowscan_measure, its arguments checked but for args, and the spec complete. */
rowscan_status rs_measure(rowscan_context *context, const rowscan_spec *spec, const rowscan_args *args, int repeat,
                          rowscan_timing *timing);

#endif
