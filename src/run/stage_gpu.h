/*
 * stage_gpu.h - arrays in host memory through the GPU, in pieces
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_STAGE_GPU_H
#define RS_STAGE_GPU_H

#include "context.h"

/* What the progress callback is told. */
typedef struct rs_progress {
  const rowscan_context *context;
  int64_t element_bytes; /* of the input, the mask and the output together */
  int64_t done, total;
} rs_progress;

void rs_progress_add(rs_progress *progress, int64_t elements);

/* rs_stage with the engine cuda. There are rows, and they have elements. */
rowscan_status rs_stage_gpu(rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows,
                            rs_progress *progress);

#endif
