/*
 * plan.c - a plan: a spec made ready on the engine of its context
 * SPDX-License-Identifier: MIT
 */
#include "plan.h"

#include <stdlib.h>

#include "base/status.h"

/* arch 0: the host engine. */
static rowscan_plan *open_plan(rowscan_context *context, const rowscan_spec *spec, int arch, bool runnable) {
  rowscan_plan *plan = calloc(1, sizeof *plan);
  if (!plan) {
    rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a plan");
    return NULL;
  }
  plan->context = context;
  plan->spec = *spec;
  if (arch)
    rs_program_open(&plan->program, &context->gpu, spec, arch, runnable);
  return plan;
}

/* Hands it over if it is ready, else destroys it. */
static rowscan_status give_plan(rowscan_plan *plan, rowscan_status status, rowscan_plan **out) {
  if (status)
    rs_plan_destroy(plan);
  else
    *out = plan;
  return status;
}

rowscan_status rs_plan_create(rowscan_plan **out, rowscan_context *context, const rowscan_spec *spec,
                              const rs_rows *rows) {
  rowscan_status status = context->gpu.device.arch ? ROWSCAN_OK : rs_spec_check_host(spec);
  if (status)
    return status;
  rowscan_plan *plan = open_plan(context, spec, context->gpu.device.arch, true);
  if (!plan)
    return ROWSCAN_OUT_OF_MEMORY;
  return give_plan(plan, plan->program.arch ? rs_tiers_ready(&plan->program, rows) : ROWSCAN_OK, out);
}

rowscan_status rs_plan_create_forced(rowscan_plan **out, rowscan_context *context, const rowscan_spec *spec,
                                     const rs_contender *contender) {
  *out = open_plan(context, spec, context->gpu.device.arch, true);
  if (!*out)
    return ROWSCAN_OUT_OF_MEMORY;
  rs_program_force(&(*out)->program, contender);
  return ROWSCAN_OK;
}

rowscan_status rs_plan_look(rowscan_plan **out, rowscan_context *context, const rowscan_spec *spec, int arch,
                            int threads) {
  rowscan_plan *plan = open_plan(context, spec, arch, false);
  if (!plan)
    return ROWSCAN_OUT_OF_MEMORY;
  return give_plan(plan, rs_modules_make_all(&plan->program.modules, threads), out);
}

rowscan_status rs_plan_find(rowscan_plan **out, rowscan_context *context, const rowscan_spec *spec, int arch) {
  rowscan_plan *plan = open_plan(context, spec, arch, false);
  if (!plan)
    return ROWSCAN_OUT_OF_MEMORY;
  return give_plan(plan, rs_modules_find_all(&plan->program.modules), out);
}

void rs_plan_destroy(rowscan_plan *plan) {
  if (!plan || rs_context_inherited(plan->context))
    return;
  if (plan->program.arch)
    rs_tiers_close_program(&plan->program);
  rs_calls_free(&plan->calls);
  free(plan);
}

rowscan_status rs_plan_prepare(rowscan_plan *plan, const rs_rows *rows) {
  return plan->program.arch ? rs_tiers_prepare(&plan->program, rows, rs_host_threads(plan->context->host)) : ROWSCAN_OK;
}

rowscan_status rs_plan_run(rowscan_plan *plan, const rowscan_spec *spec, const rs_rows *rows, void *workspace,
                           size_t workspace_bytes, CUstream stream) {
  rowscan_context *context = plan->context;
  if (plan->program.arch && plan->spec.length == RS_ANY_LENGTH && spec->length == 0) /* columns have no kernel for it */
    return rs_table_run(&context->programs, &context->gpu, spec, rows, workspace, workspace_bytes, stream);
  if (plan->program.arch)
    return rs_launch(&plan->program, rows, workspace, workspace_bytes, stream);
  rowscan_status status = rs_context_check_host(context, spec, rows, stream);
  if (!status)
    rs_host_run(context->host, spec, rows);
  return status;
}
