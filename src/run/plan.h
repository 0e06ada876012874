/*
 * plan.h - a plan: spec -> tune -> emit -> build -> load, each kernel when it is first needed
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PLAN_H
#define RS_PLAN_H

#include "context.h"
#include "family/columns_memo.h"
#include "gpu/modules.h"
#include "gpu/workspace.h"

struct rowscan_plan {
  rowscan_context *context;
  rowscan_spec spec;
  int arch;           /* 90 for sm_90; 0: host engine */
  bool runnable;      /* made for this context's device or host, not to look at */
  rs_modules modules; /* not opened on the host */
  size_t scratch;     /* rs_launch_workspace */
  rs_workspaces workspaces;
  rs_columns columns;   /* regime column */
  rs_columns_memo cuts; /* the same */
};

/*
 * One to run. The spec is complete. The kernel for `rows` is made ready, or if that is NULL the first of
 * rs_geometry_kernel.
 */
rowscan_status rs_plan_create(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec,
                              const rs_rows *rows);

/* One to look at, with all kernels, built on so many threads. */
rowscan_status rs_plan_look(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec, int arch,
                            int threads);
void rs_plan_destroy(rowscan_plan *plan);

/* Bytes of scratch memory that a run of these rows needs; 0: it takes none. Makes nothing ready. */
rowscan_status rs_plan_scratch(rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows, size_t *bytes);

/* Makes ready what a run of these rows needs, kernel and scratch memory; NULL: what any do. */
rowscan_status rs_plan_prepare(rowscan_plan *plan, const rs_rows *rows);

/* A kernel, made ready, with its binary as a whole. The plan is not the host's. */
rowscan_status rs_plan_binary(rowscan_plan *plan, rs_kernel kernel, const rs_binary **binary);

/* Runs a runnable plan with the engine of its context. workspace: may be NULL, see launch.h. */
rowscan_status rs_plan_run(rowscan_plan *plan, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                           CUstream stream);

#endif
