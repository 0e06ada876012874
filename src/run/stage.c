/*
 * stage.c - arrays in host memory through either engine
 * SPDX-License-Identifier: MIT
 *
 * The host engine works on the caller's arrays where they are. If somebody wants to hear of the progress it is given
 * them box by box: as many rows as it scans in half of PATIENCE, so that boxes are as large as can be on any machine.
 */
#include "stage.h"

#include <string.h>

#include "base/clock.h"

static const double PATIENCE = 0.1; /* seconds between two calls of the callback */

enum {
  FIRST_BOX_BYTES = 32 << 20, /* for each thread: done within PATIENCE at a third of a GB/s */
  LEAST_COLUMNS = 1024,       /* of a box: fewer would read every cache line several times */
  GROWTH = 8,
};

/* ---- some rows at a time ----------------------------------------------------------------------------------------- */

/* `from` without the dimensions before d, from row number `first` on, whose inner indices are 0; `size` of dimension d.
 */
static rs_rows box_of(const rs_rows *from, int64_t first, int d, int64_t size) {
  rs_rows box = *from;
  int64_t left = first;
  for (int i = from->rank - 1; i >= 0; left /= from->shape[i--])
    rs_rows_move(&box, i, i ? left % from->shape[i] : left);
  box.rank = from->rank - d;
  size_t bytes = (size_t)box.rank * sizeof *box.shape;
  memcpy(box.shape, from->shape + d, bytes);
  for (int a = 0; a < rs_arrays(from); a++)
    memcpy(box.array[a].stride, from->array[a].stride + d, bytes);
  box.shape[0] = size;
  box.count = size;
  for (int i = 1; i < box.rank; i++)
    box.count *= box.shape[i];
  return box;
}

rs_rows rs_next_box(const rs_rows *rows, int64_t first, int64_t most) {
  int d = rows->rank - 1;
  int64_t inner = 1; /* rows that one index of dimension d stands for */
  while (d > 0 && inner * rows->shape[d] <= most && first % (inner * rows->shape[d]) == 0)
    inner *= rows->shape[d--];
  int64_t index = d ? first / inner % rows->shape[d] : first / inner;
  int64_t size = most / inner, left = rows->shape[d] - index;
  return box_of(rows, first, d, size < left ? size : left);
}

/* ---- the host engine, box by box --------------------------------------------------------------------------------- */

/* How many rows come next: what fits in half of PATIENCE, as far as one box can tell. */
static int64_t next_size(int64_t most, int64_t rows, double seconds) {
  double fits = (double)rows * PATIENCE / 2 / (seconds > 1e-9 ? seconds : 1e-9);
  return fits > (double)most * GROWTH ? most * GROWTH : fits < (double)most / 2 ? most / 2 : (int64_t)fits;
}

/* The engine is at its best if each thread has as many rows. */
static int64_t rounded(int64_t most, int64_t least, int64_t threads) {
  if (most > threads)
    most -= most % threads;
  return most < least ? least : most;
}

static void run_boxes(rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows, rs_progress *progress) {
  int64_t row_bytes = spec->length * progress->element_bytes, threads = rs_host_threads(context->host);
  int64_t least = spec->layout == ROWSCAN_LAYOUT_COLUMNS ? LEAST_COLUMNS : 1;
  int64_t most = FIRST_BOX_BYTES * threads / row_bytes;
  for (int64_t first = 0; first < rows->count;) {
    most = rounded(most, least, threads);
    rs_rows box = rs_next_box(rows, first, most);
    double start = rs_now_ms();
    rs_host_run(context->host, spec, &box);
    most = next_size(most, box.count, 1e-3 * (rs_now_ms() - start));
    first += box.count;
    rs_progress_add(progress, box.count * spec->length);
  }
}

/* ---- either engine ----------------------------------------------------------------------------------------------- */

rowscan_status rs_stage(rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows) {
  rs_progress progress = {.context = context, .element_bytes = rs_spec_element_bytes(spec)};
  progress.total = rows->count * spec->length * progress.element_bytes;
  if (progress.total && context->engine == ROWSCAN_ENGINE_CUDA)
    return rs_stage_gpu(context, spec, rows, &progress);
  bool nothing = context->engine == ROWSCAN_ENGINE_CUDA && !rs_rows_any(rows, spec->length);
  rowscan_status status = nothing ? ROWSCAN_OK : rs_spec_check_host(spec);
  if (status || nothing)
    return status;
  if (progress.total && context->progress)
    run_boxes(context, spec, rows, &progress);
  else
    rs_host_run(context->host, spec, rows); /* on a GPU, too, if there is nothing but totals of empty rows */
  return ROWSCAN_OK;
}
