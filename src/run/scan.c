/*
 * scan.c - a problem in one call: its rows, its plan, and P(0) where that is wanted
 * SPDX-License-Identifier: MIT
 */
#include "base/cancel.h"
#include "context.h"
#include "plan.h"
#include "stage.h"

/* Rows that are to be scanned. */
typedef struct task {
  rowscan_spec spec;
  rs_rows rows;
  void *workspace; /* the caller's; NULL: none, as on the host */
  size_t workspace_bytes;
} task;

static void take_workspace(task *scan, const rowscan_context *context, const rowscan_problem *problem) {
  bool has_fields = problem->size >= offsetof(rowscan_problem, workspace_bytes) + sizeof problem->workspace_bytes;
  bool takes = has_fields && context->engine == ROWSCAN_ENGINE_CUDA;
  scan->workspace = takes ? problem->workspace : NULL;
  scan->workspace_bytes = takes ? problem->workspace_bytes : 0;
}

/* engine: whose memory the arrays are in. */
static rowscan_status read_task(task *scan, const rowscan_context *context, const rowscan_problem *problem,
                                rowscan_engine engine, struct CUstream_st *stream) {
  rowscan_status status = rs_rows_from_problem(&scan->rows, &scan->spec, problem);
  if (!status && engine == ROWSCAN_ENGINE_HOST)
    status = rs_context_check_host(context, &scan->spec, &scan->rows, stream);
  if (status)
    return status;
  take_workspace(scan, context, problem);
  return rs_overlap_check(&scan->rows, &scan->spec, scan->workspace, scan->workspace_bytes);
}

static rowscan_status run_task(rowscan_context *context, const task *one, struct CUstream_st *stream) {
  if (context->engine == ROWSCAN_ENGINE_CUDA)
    return rs_table_run(&context->programs, &context->gpu, &one->spec, &one->rows, one->workspace, one->workspace_bytes,
                        stream);
  rowscan_status status = rs_spec_check_host(&one->spec);
  if (!status)
    rs_host_run(context->host, &one->spec, &one->rows);
  return status;
}

static rowscan_status prepare_plan(rowscan_context *context, const task *one) {
  rs_table_node *taken;
  rowscan_status status = rs_table_take(&context->programs, &context->gpu, &one->spec, &one->rows, &taken);
  if (status)
    return status;
  status = rs_program_prepare(rs_table_program(taken), &one->rows, 1);
  rs_table_give(&context->programs, taken);
  return status;
}

static rowscan_status prepare(rowscan_context *context, const task *one) {
  bool pushed;
  if (context->engine != ROWSCAN_ENGINE_CUDA)
    return rs_spec_check_host(&one->spec);
  rowscan_status status = rs_device_enter(&context->gpu.device, &pushed);
  if (status)
    return status;
  status = prepare_plan(context, one);
  rs_device_leave(&context->gpu.device, pushed);
  return status;
}

/* What the scan needs is made before P(0) is queued: a failure leaves the output as it was. */
static rowscan_status run_with_initial(rowscan_context *context, const task *scan, struct CUstream_st *stream) {
  task initial = {.workspace = NULL};
  rs_initial_rows(&initial.rows, &initial.spec, &scan->rows, &scan->spec);
  rowscan_status status = prepare(context, scan);
  if (!status)
    status = run_task(context, &initial, stream);
  return status ? status : run_task(context, scan, stream);
}

rowscan_status rowscan_scan(rowscan_context *context, const rowscan_problem *problem, struct CUstream_st *stream) {
  RS_UNCANCELLED;
  task scan;
  rowscan_status status = read_task(&scan, context, problem, context->engine, stream);
  if (status)
    return status;
  return scan.rows.initial ? run_with_initial(context, &scan, stream) : run_task(context, &scan, stream);
}

/* P(0) is written where the output is, on the host. */
rowscan_status rowscan_scan_host(rowscan_context *context, const rowscan_problem *problem) {
  RS_UNCANCELLED;
  task scan, initial;
  rowscan_status status = read_task(&scan, context, problem, ROWSCAN_ENGINE_HOST, NULL);
  if (!status && scan.rows.initial)
    status = rs_spec_check_host(&scan.spec);
  if (!status)
    status = rs_stage(context, &scan.spec, &scan.rows);
  if (status || !scan.rows.initial)
    return status;
  rs_initial_rows(&initial.rows, &initial.spec, &scan.rows, &scan.spec);
  rs_host_run(context->host, &initial.spec, &initial.rows);
  return ROWSCAN_OK;
}

rowscan_status rowscan_prepare(rowscan_context *context, const rowscan_problem *problem) {
  RS_UNCANCELLED;
  task scan, initial;
  rowscan_status status = rs_rows_from_problem(&scan.rows, &scan.spec, problem);
  if (!status)
    status = prepare(context, &scan);
  if (status || !scan.rows.initial)
    return status;
  rs_initial_rows(&initial.rows, &initial.spec, &scan.rows, &scan.spec);
  return prepare(context, &initial);
}
