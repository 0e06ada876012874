/*
 * tables.c - makes the tuning table of a GPU
 * SPDX-License-Identifier: MIT
 */
#include "base/status.h"
#include "measure.h"
#include "run/plan.h"
#include "spec/spec.h"

/* As one-call scans make it: a dimension of one is none. */
static rowscan_status complete(rs_sized_scan *scan) {
  rowscan_spec *spec = &scan->spec;
  bool columns = spec->layout == ROWSCAN_LAYOUT_COLUMNS;
  if (scan->rows < 1 || scan->columns < 1)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field '%s': %lld is not 1 or more", scan->rows < 1 ? "rows" : "columns",
                   (long long)(scan->rows < 1 ? scan->rows : scan->columns));
  if (!columns && scan->columns != 1)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'columns': %lld, but the layout is rows", (long long)scan->columns);
  spec->row_rank = columns && scan->rows > 1 ? 2 : 1;
  return rowscan_spec_complete(spec);
}

rowscan_status rs_tune_scan(rowscan_context *context, rs_sized_scan *scan, rs_fastest *fastest) {
  rowscan_status status = complete(scan);
  const int64_t both[] = {scan->rows, scan->columns};
  const int64_t *shape = scan->spec.row_rank == 1 && scan->spec.layout == ROWSCAN_LAYOUT_COLUMNS ? &both[1] : both;
  return status ? status : rs_measure_fastest(context, &scan->spec, ROWSCAN_ARGS(.row_shape = shape), fastest);
}

/* ---- noted ------------------------------------------------------------------------------------------------------- */

typedef struct noting {
  const rs_sized_scan *scan; /* NULL: none */
  const rs_fastest *fastest;
} noting;

/* The last one measured comes first: of many sizes of one spec the oldest are not looked at. */
static rowscan_status note(void *user, const char *before, rs_text *table) {
  const noting *one = user;
  const rs_sized_scan *scan = one->scan;
  if (scan && one->fastest->better)
    rs_tuning_line(table, &scan->spec, &(rs_tuned){scan->rows, scan->columns, one->fastest->kernel}, one->fastest->ms,
                   one->fastest->before_ms);
  rs_tuning_others(table, before, scan ? &scan->spec : NULL, scan ? scan->rows : 0, scan ? scan->columns : 0);
  return table->failed ? rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the tuning table") : ROWSCAN_OK;
}

static rowscan_status check_gpu(const rowscan_context *context) {
  return context->gpu.device.arch
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_NO_DEVICE, "tuning requires a GPU, but this context runs on the CPU");
}

rowscan_status rs_tune_keep(rowscan_context *context, const rs_sized_scan *scan, const rs_fastest *fastest,
                            rs_text *path) {
  rowscan_status status = check_gpu(context);
  return status ? status : rs_tuning_save(&context->gpu, note, &(noting){scan, fastest}, path);
}

rowscan_status rs_tune_note(const rowscan_context *context, const rs_sized_scan *scan, const rs_fastest *fastest,
                            rs_text *table) {
  rs_text after = {0};
  rowscan_status status = check_gpu(context);
  if (!status)
    status = rs_tuning_begin(&context->gpu, &after);
  if (!status)
    status = note(&(noting){scan, fastest}, table->data ? table->data : "", &after);
  rs_text_free(status ? &after : table);
  if (!status)
    *table = after;
  return status;
}
