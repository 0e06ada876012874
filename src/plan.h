/*
 * plan.h - a plan: spec -> tune -> emit -> build -> load
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PLAN_H
#define RS_PLAN_H

#include "columns_memo.h"
#include "context.h"
#include "emit.h"
#include "workspace.h"

/* The source of all kernels of a plan, built and loaded. */
typedef struct rs_module {
  rs_geometry geometry;
  rs_text canonical; /* lines of its key, see key.h */
  rs_text source;
  rs_text words;              /* the shape of its main kernel, for people */
  rs_binary binary;           /* ptx: NULL if it is on disk, and nobody needed it */
  _Atomic(rs_binary *) whole; /* with it, once it was asked for */
  CUmodule module;
  CUfunction function[RS_KERNELS]; /* NULL for those the source lacks */
  rs_columns columns;              /* regime column */
} rs_module;

struct rowscan_plan {
  rowscan_context *context;
  rowscan_spec spec;
  int arch;         /* 0: host engine */
  bool runnable;    /* made for this context's device or host, not to look at */
  rs_module module; /* empty on the host */
  size_t scratch;   /* rs_launch_workspace of a runnable plan */
  rs_workspaces workspaces;
  rs_columns_memo cuts; /* regime column */
};

/* arch: 0 for the context's own engine and device. The spec is complete. */
rowscan_status rs_plan_create(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec, int arch);
void rs_plan_destroy(rowscan_plan *plan);

/* The binary of a plan that has a module, as a whole: read again, or compiled again if it is not there any more. */
rowscan_status rs_plan_binary(rowscan_plan *plan, const rs_binary **binary);

/* Runs a runnable plan with the engine of its context. workspace: may be NULL, see launch.h. */
rowscan_status rs_plan_run(rowscan_plan *plan, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                           CUstream stream);

#endif
