/*
 * plan.c - a plan: spec -> tune -> emit -> build -> load, each kernel when it is first needed
 * SPDX-License-Identifier: MIT
 */
#include "plan.h"

#include <stdlib.h>

#include "gpu/launch.h"

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static void open_modules(rowscan_plan *plan) {
  const rs_device *device = &plan->context->device;
  rs_modules_open(&plan->modules, plan->context, &plan->spec, plan->arch, plan->runnable);
  if (plan->modules.geometry.regime != ROWSCAN_REGIME_COLUMN)
    return;
  rs_tune_column_cuts(&plan->spec, plan->modules.tuned, &plan->columns);
  plan->columns.any.multiprocessors = device->multiprocessors;
  plan->columns.stream.multiprocessors = device->multiprocessors;
  plan->columns.brief.multiprocessors = device->multiprocessors;
  plan->columns.at_once.multiprocessors = device->multiprocessors;
  plan->columns.pairs.multiprocessors = device->multiprocessors;
}

/* ---- made ready -------------------------------------------------------------------------------------------------- */

/* NULL: all that any rows need. */
static rowscan_status make_for(rowscan_plan *plan, const rs_rows *rows) {
  rs_modules *modules = &plan->modules;
  if (rows && !rs_rows_any(rows, plan->spec.length))
    return ROWSCAN_OK;
  rowscan_status status = rows ? rs_modules_make(modules, rs_launch_kernel(plan, rows))
                               : rs_modules_make_all(modules, rs_host_threads(plan->context->host));
  if (status || !plan->scratch)
    return status;
  if (!rows)
    return rs_workspaces_prepare_all(&plan->workspaces);
  size_t bytes = rs_launch_scratch(plan, rows);
  return bytes ? rs_workspaces_prepare(&plan->workspaces, bytes) : ROWSCAN_OK;
}

rowscan_status rs_plan_prepare(rowscan_plan *plan, const rs_rows *rows) {
  if (!plan->arch)
    return ROWSCAN_OK;
  bool pushed;
  rowscan_status status = rs_device_enter(&plan->context->device, &pushed);
  if (status)
    return status;
  status = make_for(plan, rows);
  rs_device_leave(&plan->context->device, pushed);
  return status;
}

rowscan_status rs_plan_binary(rowscan_plan *plan, rs_kernel kernel, const rs_binary **binary) {
  bool pushed = false;
  rowscan_status status = plan->runnable ? rs_device_enter(&plan->context->device, &pushed) : ROWSCAN_OK;
  if (status)
    return status;
  status = rs_modules_make(&plan->modules, kernel);
  if (plan->runnable)
    rs_device_leave(&plan->context->device, pushed);
  return status ? status : rs_modules_binary(&plan->modules, kernel, binary);
}

/* The kernel that most runs need, or the one that these rows do. */
static rowscan_status make_ready(rowscan_plan *plan, const rs_rows *rows) {
  const rs_device *device = &plan->context->device;
  bool pushed;
  rowscan_status status = rs_device_enter(device, &pushed);
  if (status)
    return status;
  if (!rows)
    status = rs_modules_make(&plan->modules, rs_geometry_kernel(&plan->modules.geometry, 0));
  else if (rs_rows_any(rows, plan->spec.length))
    status = rs_modules_make(&plan->modules, rs_launch_kernel(plan, rows));
  rs_device_leave(device, pushed);
  return status;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* arch 0: the host engine. */
static rowscan_plan *open_plan(rowscan_context *context, const rowscan_spec *spec, int arch, bool runnable) {
  rowscan_plan *plan = calloc(1, sizeof *plan);
  if (!plan) {
    rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a plan");
    return NULL;
  }
  plan->context = context;
  plan->spec = *spec;
  plan->runnable = runnable;
  plan->arch = arch;
  if (arch) {
    open_modules(plan);
    plan->scratch = rs_launch_workspace(plan);
  }
  if (runnable)
    rs_workspaces_open(&plan->workspaces, &context->device.memory, plan->scratch, &context->log);
  return plan;
}

/* Hands it over if it is ready, else destroys it. */
static rowscan_status give(rowscan_plan *plan, rowscan_status status, rowscan_plan **out) {
  if (status)
    rs_plan_destroy(plan);
  else
    *out = plan;
  return status;
}

rowscan_status rs_plan_create(rowscan_plan **out, rowscan_context *context, const rowscan_spec *spec,
                              const rs_rows *rows) {
  rowscan_plan *plan = open_plan(context, spec, context->device.arch, true);
  if (!plan)
    return ROWSCAN_OUT_OF_MEMORY;
  return give(plan, plan->arch ? make_ready(plan, rows) : ROWSCAN_OK, out);
}

rowscan_status rs_plan_look(rowscan_plan **out, rowscan_context *context, const rowscan_spec *spec, int arch,
                            int threads) {
  rowscan_plan *plan = open_plan(context, spec, arch, false);
  if (!plan)
    return ROWSCAN_OUT_OF_MEMORY;
  return give(plan, rs_modules_make_all(&plan->modules, threads), out);
}

rowscan_status rs_plan_scratch(rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows, size_t *bytes) {
  rowscan_plan *plan = open_plan(context, spec, context->device.arch, true);
  if (!plan)
    return ROWSCAN_OUT_OF_MEMORY;
  *bytes = plan->scratch && rs_rows_any(rows, spec->length) ? rs_launch_scratch(plan, rows) : 0;
  rs_plan_destroy(plan);
  return ROWSCAN_OK;
}

static void unload(rowscan_plan *plan) {
  const rs_device *device = &plan->context->device;
  bool pushed;
  if (rs_device_enter(device, &pushed))
    return;
  int mode = rs_cuda_relax(device->cuda);
  rs_workspaces_close(&plan->workspaces);
  rs_modules_unload(&plan->modules);
  rs_cuda_restore(device->cuda, mode);
  rs_device_leave(device, pushed);
}

void rs_plan_destroy(rowscan_plan *plan) {
  if (!plan || rs_context_inherited(plan->context))
    return;
  if (plan->runnable && plan->arch)
    unload(plan);
  if (plan->arch)
    rs_modules_close(&plan->modules);
  free(plan);
}

rowscan_status rs_plan_run(rowscan_plan *plan, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                           CUstream stream) {
  if (plan->arch)
    return rs_launch(plan, rows, workspace, workspace_bytes, stream);
  rs_host_run(plan->context->host, &plan->spec, rows);
  return ROWSCAN_OK;
}
