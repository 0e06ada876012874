/*
 * scan.c - a problem in one call: its rows, its plan, and P(0) where that is wanted
 * SPDX-License-Identifier: MIT
 */
#include "scan.h"

#include "plan.h"
#include "stage.h"

/* Rows, and the plan that the context keeps for them. */
typedef struct task {
  rowscan_spec spec;
  rs_rows rows;
  rowscan_plan *plan;
} task;

static rowscan_status find_plan(rowscan_context *context, task *one) {
  return rs_table_plan(&context->plans, context, &one->spec, &one->rows, &one->plan);
}

static rowscan_status run(const task *one, struct CUstream_st *stream) {
  return rs_plan_run(one->plan, &one->rows, NULL, 0, stream);
}

/* Both plans are made before anything is queued: a failure leaves the output as it was. */
static rowscan_status run_with_initial(rowscan_context *context, task *scan, struct CUstream_st *stream) {
  task initial;
  rs_initial_rows(&initial.rows, &initial.spec, &scan->rows, &scan->spec);
  rowscan_status status = find_plan(context, &initial);
  if (!status)
    status = find_plan(context, scan);
  if (!status)
    status = run(&initial, stream);
  return status ? status : run(scan, stream);
}

rowscan_status rs_scan(rowscan_context *context, const rowscan_problem *problem, struct CUstream_st *stream) {
  task scan;
  rowscan_status status = rs_rows_from_problem(&scan.rows, &scan.spec, problem);
  if (status)
    return status;
  if (scan.rows.initial)
    return run_with_initial(context, &scan, stream);
  status = find_plan(context, &scan);
  return status ? status : run(&scan, stream);
}

/* P(0) is written where the output is, on the host. */
rowscan_status rs_scan_host(rowscan_context *context, const rowscan_problem *problem) {
  task scan, initial;
  rowscan_status status = rs_rows_from_problem(&scan.rows, &scan.spec, problem);
  if (!status)
    status = rs_stage(context, &scan.spec, &scan.rows);
  if (status || !scan.rows.initial)
    return status;
  rs_initial_rows(&initial.rows, &initial.spec, &scan.rows, &scan.spec);
  rs_host_run(context->host, &initial.spec, &initial.rows);
  return ROWSCAN_OK;
}

static rowscan_status prepare(rowscan_context *context, task *one) {
  rowscan_status status = find_plan(context, one);
  return status ? status : rs_plan_prepare(one->plan, &one->rows);
}

rowscan_status rs_scan_prepare(rowscan_context *context, const rowscan_problem *problem) {
  task scan, initial;
  rowscan_status status = rs_rows_from_problem(&scan.rows, &scan.spec, problem);
  if (!status)
    status = prepare(context, &scan);
  if (status || !scan.rows.initial)
    return status;
  rs_initial_rows(&initial.rows, &initial.spec, &scan.rows, &scan.spec);
  return prepare(context, &initial);
}
