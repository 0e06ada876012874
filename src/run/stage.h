/*
 * stage.h - arrays in host memory through either engine
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_STAGE_H
#define RS_STAGE_H

#include "context.h"
#include "spec/rows.h"

/*
 * Scans rows in host memory and returns when done. On a GPU the rows travel in pieces through pinned memory: some rows
 * each, or, where a row is larger than a piece, some of its aligned blocks, whose totals are combined as the order
 * demands. Calls the context's progress callback.
 */
rowscan_status rs_stage(rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows);

/*
 * Consecutive rows, as many as one rs_rows can describe, but at most so many (1 or more), from row number `first` on.
 * They are at least half of `most` unless less than that is left or they end at the end of a dimension.
 */
rs_rows rs_next_box(const rs_rows *rows, int64_t first, int64_t most);

/* What the progress callback is told. */
typedef struct rs_progress {
  const rowscan_context *context;
  int64_t element_bytes; /* of all arrays together */
  int64_t done, total;
} rs_progress;

static inline void rs_progress_add(rs_progress *progress, int64_t elements) {
  const rowscan_context *context = progress->context;
  progress->done += elements * progress->element_bytes;
  if (context->progress)
    context->progress(context->user, progress->done, progress->total);
}

/* rs_stage with the engine cuda. There are rows, and they have elements. */
rowscan_status rs_stage_gpu(rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows,
                            rs_progress *progress);

#endif
