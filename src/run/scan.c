/*
 * scan.c - a problem in one call: its rows, its plan, and P(0) where that is wanted
 * SPDX-License-Identifier: MIT
 */
#include "base/cancel.h"
#include "calls.h"
#include "context.h"
#include "plan.h"
#include "stage.h"

/* Rows that are to be scanned. */
typedef struct task {
  rs_call *call;
  void *workspace; /* the caller's; NULL: none, as on the host */
  size_t workspace_bytes;
} task;

/* A caller's problem of another size is copied. */
static rowscan_status read_problem(const rowscan_problem **problem, rowscan_problem *copy) {
  if ((*problem)->size == sizeof *copy)
    return ROWSCAN_OK;
  rowscan_status status = rs_problem_read(copy, *problem);
  *problem = copy;
  return status;
}

/* engine: whose memory the arrays are in. Whatever becomes of it, rs_call_end follows. */
static rowscan_status read_task(task *scan, rs_call *own, rowscan_context *context, const rowscan_problem *problem,
                                rowscan_engine engine, struct CUstream_st *stream) {
  bool takes = context->engine == ROWSCAN_ENGINE_CUDA;
  rowscan_status status = rs_call_problem(&context->calls, &scan->call, own, problem);
  if (!status && engine == ROWSCAN_ENGINE_HOST)
    status = rs_context_check_host(context, &scan->call->spec, &scan->call->rows, stream);
  if (status)
    return status;
  scan->workspace = takes ? problem->workspace : NULL;
  scan->workspace_bytes = takes ? problem->workspace_bytes : 0;
  return rs_call_check(scan->call, scan->workspace, scan->workspace_bytes);
}

static rowscan_status run_host(const rowscan_context *context, rs_call *call) {
  rowscan_status status = rs_spec_check_host(&call->spec);
  if (!status)
    rs_call_host(call, context->host);
  return status;
}

static rowscan_status run_task(rowscan_context *context, const task *one, struct CUstream_st *stream) {
  return context->engine == ROWSCAN_ENGINE_CUDA
             ? rs_table_run(&context->programs, &context->gpu, &one->call->spec, &one->call->rows, one->workspace,
                            one->workspace_bytes, stream)
             : run_host(context, one->call);
}

static rowscan_status prepare(rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows) {
  bool pushed;
  if (context->engine != ROWSCAN_ENGINE_CUDA)
    return rs_spec_check_host(spec);
  rowscan_status status = rs_device_enter(&context->gpu.device, &pushed);
  if (status)
    return status;
  status = rs_table_ready(&context->programs, &context->gpu, spec, rows);
  rs_device_leave(&context->gpu.device, pushed);
  return status;
}

/* What the scan needs is made before P(0) is queued: a failure leaves the output as it was. */
static rowscan_status run_with_initial(rowscan_context *context, const task *scan, struct CUstream_st *stream) {
  rs_call own;
  task initial = {.call = &own};
  own.known = own.described = false;
  rs_initial_rows(&own.rows, &own.spec, &scan->call->rows, &scan->call->spec);
  rowscan_status status = prepare(context, &scan->call->spec, &scan->call->rows);
  if (!status)
    status = run_task(context, &initial, stream);
  return status ? status : run_task(context, scan, stream);
}

rowscan_status rowscan_scan(rowscan_context *context, const rowscan_problem *problem, struct CUstream_st *stream) {
  RS_UNCANCELLED;
  rowscan_problem copy;
  rs_call own;
  task scan;
  rowscan_status status = read_problem(&problem, &copy);
  if (status)
    return status;
  status = read_task(&scan, &own, context, problem, context->engine, stream);
  if (!status)
    status = scan.call->rows.initial ? run_with_initial(context, &scan, stream) : run_task(context, &scan, stream);
  rs_call_end(scan.call);
  return status;
}

/* Who wants to hear of the progress has it from rs_stage. */
static rowscan_status stage_task(rowscan_context *context, rs_call *scan) {
  return context->engine == ROWSCAN_ENGINE_HOST && !context->progress ? run_host(context, scan)
                                                                      : rs_stage(context, &scan->spec, &scan->rows);
}

/* P(0) is written where the output is, on the host. */
static rowscan_status stage_with_initial(rowscan_context *context, rs_call *scan) {
  rowscan_spec spec;
  rs_rows rows;
  rowscan_status status = rs_spec_check_host(&scan->spec);
  if (!status)
    status = stage_task(context, scan);
  if (status)
    return status;
  rs_initial_rows(&rows, &spec, &scan->rows, &scan->spec);
  rs_host_run(context->host, &spec, &rows);
  return ROWSCAN_OK;
}

rowscan_status rowscan_scan_host(rowscan_context *context, const rowscan_problem *problem) {
  RS_UNCANCELLED;
  rowscan_problem copy;
  rs_call own;
  task scan;
  rowscan_status status = read_problem(&problem, &copy);
  if (status)
    return status;
  status = read_task(&scan, &own, context, problem, ROWSCAN_ENGINE_HOST, NULL);
  if (!status)
    status = scan.call->rows.initial ? stage_with_initial(context, scan.call) : stage_task(context, scan.call);
  rs_call_end(scan.call);
  return status;
}

rowscan_status rowscan_prepare(rowscan_context *context, const rowscan_problem *problem) {
  RS_UNCANCELLED;
  rowscan_spec spec, initial_spec;
  rs_rows rows, initial;
  rowscan_status status = rs_rows_from_problem(&rows, &spec, problem);
  if (!status)
    status = prepare(context, &spec, &rows);
  if (status || !rows.initial)
    return status;
  rs_initial_rows(&initial, &initial_spec, &rows, &spec);
  return prepare(context, &initial_spec, &initial);
}
