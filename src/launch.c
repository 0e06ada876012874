/*
 * launch.c - a run on the GPU
 * SPDX-License-Identifier: MIT
 */
#include "launch.h"

#include <string.h>

#include "types.h"

/* The header of Rows<RANK> in kernels/rows.cuh, and its five arrays of RANK numbers. */
typedef struct packed {
  const void *in;
  void *out;
  const void *mask;
  const void *init;
  void *totals;
  void *workspace;
  int64_t first, count;
  int64_t in_step, out_step, mask_step;
  int64_t dims[5 * RS_MAX_ROW_RANK];
} packed;

static void pack(packed *to, const rs_rows *rows) {
  to->in = rows->in;
  to->out = rows->out;
  to->mask = rows->mask;
  to->init = rows->init;
  to->totals = rows->totals;
  to->workspace = NULL;
  to->first = 0;
  to->count = rows->count;
  to->in_step = rows->in_step;
  to->out_step = rows->out_step;
  to->mask_step = rows->mask_step;
  const int64_t *const arrays[] = {rows->shape, rows->in_stride, rows->out_stride, rows->mask_stride, rows->row_stride};
  for (int i = 0; i < 5; i++)
    memcpy(to->dims + i * rows->rank, arrays[i], (size_t)rows->rank * sizeof *to->dims);
}

/* ---- which kernel ------------------------------------------------------------------------------------------------ */

/*
 * Whether the rows of one array are neighbours element by element and begin on multiples of `unit` bytes, a power of
 * two.
 */
static bool array_aligned(const rs_rows *rows, const rowscan_spec *spec, const void *data, int64_t step,
                          const int64_t *stride, rowscan_type type, int64_t unit) {
  int64_t bytes = (int64_t)rowscan_type_bytes(type);
  int64_t all = (int64_t)(uintptr_t)data;
  if (spec->flags & ROWSCAN_REVERSE) /* tiles count from the end of the row */
    all += spec->length * bytes;
  for (int d = 0; d < rows->rank; d++)
    if (rows->shape[d] > 1)
      all |= stride[d] * bytes;
  return step == 1 && (all & (unit - 1)) == 0;
}

static int64_t word(rowscan_type type, int vector) {
  int64_t bytes = (int64_t)rowscan_type_bytes(type) * vector;
  return bytes < 16 ? bytes : 16;
}

/* vector 0: all rows on multiples of 16 bytes. */
static bool aligned(const rs_rows *rows, const rowscan_spec *spec, int vector) {
  int64_t in = vector ? word(spec->in, vector) : 16, out = vector ? word(spec->out, vector) : 16;
  if (!array_aligned(rows, spec, rows->in, rows->in_step, rows->in_stride, spec->in, in) ||
      !array_aligned(rows, spec, rows->out, rows->out_step, rows->out_stride, spec->out, out))
    return false;
  return !rows->mask || array_aligned(rows, spec, rows->mask, rows->mask_step, rows->mask_stride, spec->mask_type,
                                      vector ? word(spec->mask_type, vector) : 16);
}

static rs_kernel choose_kernel(const rs_module *module, const rs_rows *rows, const rowscan_spec *spec) {
  if (module->function[RS_KERNEL_RING] && aligned(rows, spec, 0))
    return RS_KERNEL_RING;
  if (module->function[RS_KERNEL_VECTORED] && aligned(rows, spec, module->geometry.vector))
    return RS_KERNEL_VECTORED;
  return RS_KERNEL_ANY;
}

const rs_module *rs_launch_module(const rowscan_plan *plan, int64_t rows) {
  bool second = plan->count > 1 && rs_tune_long(&plan->spec, rows, plan->context->device.multiprocessors);
  return &plan->module[second];
}

/* ---- queueing ---------------------------------------------------------------------------------------------------- */

static int64_t ceiling(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

static rowscan_status queue(const rowscan_plan *plan, const rs_module *module, rs_kernel kernel, int64_t blocks,
                            packed *arguments, CUstream stream) {
  const rs_cuda *cuda = plan->context->device.cuda;
  void *parameters[] = {arguments};
  unsigned grid = blocks < INT32_MAX ? (unsigned)blocks : INT32_MAX; /* all but the ring go round for the rest */
  CUresult result =
      cuda->cuLaunchKernel(module->function[kernel], grid, 1, 1, (unsigned)module->geometry.threads, 1, 1,
                           kernel == RS_KERNEL_RING ? (unsigned)module->shared_bytes : 0, stream, parameters, NULL);
  return result ? rs_cuda_failed(cuda, result, rs_kernel_names[kernel]) : ROWSCAN_OK;
}

static int64_t tiles(const rowscan_plan *plan, const rs_geometry *geometry) {
  return ceiling(plan->spec.length, rs_tile(geometry));
}

/* As LongRow in kernels/long.cuh lays it out. */
static int64_t long_row_bytes(const rowscan_plan *plan, const rs_geometry *geometry) {
  int64_t acc = (int64_t)rowscan_type_bytes(plan->spec.acc);
  return (2 * tiles(plan, geometry) + 1) * (acc < 4 ? 4 : acc);
}

/* Rows that one launch takes: enough to fill a GPU, few enough that the workspace stays small. */
static int64_t long_rows(const rowscan_plan *plan, const rs_geometry *geometry) {
  const int64_t most_tiles = 16384;
  int64_t rows = most_tiles / tiles(plan, geometry);
  return rows > 1 ? rows : 1;
}

size_t rs_launch_workspace(const rowscan_plan *plan) {
  for (int i = 0; i < plan->count; i++)
    if (plan->module[i].geometry.regime == ROWSCAN_REGIME_LONG)
      return (size_t)(long_rows(plan, &plan->module[i].geometry) * long_row_bytes(plan, &plan->module[i].geometry));
  return 0;
}

static rowscan_status launch_long(const rowscan_plan *plan, const rs_module *module, const rs_rows *rows,
                                  packed *arguments, CUstream stream) {
  bool fast = choose_kernel(module, rows, &plan->spec) == RS_KERNEL_VECTORED;
  int64_t at_once = long_rows(plan, &module->geometry), row_tiles = tiles(plan, &module->geometry);
  rowscan_status status = ROWSCAN_OK;
  for (int64_t first = 0; first < rows->count && !status; first += at_once) {
    int64_t count = rows->count - first < at_once ? rows->count - first : at_once;
    arguments->first = first;
    arguments->count = count;
    status =
        queue(plan, module, fast ? RS_KERNEL_TOTALS_VECTORED : RS_KERNEL_TOTALS, count * row_tiles, arguments, stream);
    if (!status)
      status = queue(plan, module, RS_KERNEL_PREFIXES, count, arguments, stream);
    if (!status)
      status = queue(plan, module, fast ? RS_KERNEL_VECTORED : RS_KERNEL_ANY, count * row_tiles, arguments, stream);
  }
  return status;
}

static rowscan_status long_with_workspace(rowscan_plan *plan, const rs_module *module, const rs_rows *rows,
                                          packed *arguments, void *workspace, size_t bytes, CUstream stream) {
  size_t needed = rs_launch_workspace(plan);
  if (workspace) {
    if (bytes < needed)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'workspace_bytes': %zu; this plan needs %zu", bytes, needed);
    if ((uintptr_t)workspace % 8)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'workspace': %p is not a multiple of 8", workspace);
    arguments->workspace = workspace;
    return launch_long(plan, module, rows, arguments, stream);
  }
  rs_workspace *own;
  rowscan_status status = rs_workspace_take(&plan->workspaces, stream, &own);
  if (status)
    return status;
  arguments->workspace = (void *)(uintptr_t)own->memory;
  status = launch_long(plan, module, rows, arguments, stream);
  rowscan_status given = rs_workspace_give(&plan->workspaces, own, stream);
  return status ? status : given;
}

/* A block a row, see kernels/ring.cuh. */
static rowscan_status launch_ring(const rowscan_plan *plan, const rs_module *module, packed *arguments,
                                  CUstream stream) {
  int64_t all = arguments->count;
  rowscan_status status = ROWSCAN_OK;
  for (int64_t first = 0; first < all && !status; first += INT32_MAX) {
    arguments->first = first;
    arguments->count = all - first < INT32_MAX ? all - first : INT32_MAX;
    status = queue(plan, module, RS_KERNEL_RING, arguments->count, arguments, stream);
  }
  return status;
}

static rowscan_status launch(rowscan_plan *plan, const rs_rows *rows, void *workspace, size_t bytes, CUstream stream) {
  const rs_module *module = rs_launch_module(plan, rows->count);
  const rs_geometry *g = &module->geometry;
  packed arguments;
  pack(&arguments, rows);
  if (g->regime == ROWSCAN_REGIME_LONG)
    return long_with_workspace(plan, module, rows, &arguments, workspace, bytes, stream);
  rs_kernel kernel = choose_kernel(module, rows, &plan->spec);
  if (kernel == RS_KERNEL_RING)
    return launch_ring(plan, module, &arguments, stream);
  int64_t rows_a_block = g->regime == ROWSCAN_REGIME_COLUMN ? g->threads : g->threads / (g->warps * g->lanes);
  return queue(plan, module, kernel, ceiling(rows->count, rows_a_block), &arguments, stream);
}

rowscan_status rs_launch(rowscan_plan *plan, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                         CUstream stream) {
  if (rows->count == 0)
    return ROWSCAN_OK;
  bool pushed;
  rowscan_status status = rs_device_enter(&plan->context->device, &pushed);
  if (status)
    return status;
  status = launch(plan, rows, workspace, workspace_bytes, stream);
  rs_device_leave(&plan->context->device, pushed);
  return status;
}
