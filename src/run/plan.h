/*
 * plan.h - a plan: a spec made ready on the engine of its context
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PLAN_H
#define RS_PLAN_H

#include "calls.h"
#include "context.h"
#include "gpu/program.h"

struct rowscan_plan {
  rowscan_context *context;
  rowscan_spec spec;
  rs_program program; /* of a GPU, or of an architecture to look at; arch 0: the host engine, and it is not opened */
  rs_calls calls;     /* runs, as they were read */
};

/* One to run. The spec is complete. Made ready is the kernel that these rows need; NULL: that most do. */
rowscan_status rs_plan_create(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec,
                              const rs_rows *rows);

/* One to run, of which a contender serves all runs, on a GPU. The spec is complete; nothing is made ready. */
rowscan_status rs_plan_create_forced(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec,
                                     const rs_contender *contender);

/* One to look at, with all kernels, built on so many threads. */
rowscan_status rs_plan_look(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec, int arch,
                            int threads);

/* The same of kernels that the cache or a pack has: compiles nothing. NOT_CACHED: one is missing. */
rowscan_status rs_plan_find(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec, int arch);
void rs_plan_destroy(rowscan_plan *plan);

/* Not made to look at. */
static inline bool rs_plan_runs(const rowscan_plan *plan) {
  return !plan->program.arch || plan->program.runnable;
}

/* Makes ready what a run of these rows needs, kernel and scratch memory; NULL: what any do. */
rowscan_status rs_plan_prepare(rowscan_plan *plan, const rs_rows *rows);

/* Runs a plan with the engine of its context. spec: of the run, see rs_spec_of_run; workspace: may be NULL, as of
 * rs_launch. */
rowscan_status rs_plan_run(rowscan_plan *plan, const rowscan_spec *spec, const rs_rows *rows, void *workspace,
                           size_t workspace_bytes, CUstream stream);

/* The same of a run that is read and checked. */
static inline rowscan_status rs_plan_call(rowscan_plan *plan, rs_call *call, void *workspace, size_t workspace_bytes,
                                          CUstream stream) {
  if (plan->program.arch)
    return rs_plan_run(plan, &call->spec, &call->rows, workspace, workspace_bytes, stream);
  rowscan_status status = rs_context_check_host(plan->context, &call->spec, &call->rows, stream);
  if (!status)
    rs_call_host(call, plan->context->host);
  return status;
}

#endif
