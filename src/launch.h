/*
 * launch.h - a run on the GPU: the regime for its rows, the arguments packed, the kernels queued
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_LAUNCH_H
#define RS_LAUNCH_H

#include "plan.h"

/* Scratch bytes that a run of the plan may need at most. */
size_t rs_launch_workspace(const rowscan_plan *plan);

/* Queues the rows on a stream. workspace NULL: one of the plan's. */
rowscan_status rs_launch(rowscan_plan *plan, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                         CUstream stream);

/* The module that serves these rows. */
const rs_module *rs_launch_module(const rowscan_plan *plan, const rs_rows *rows);

/* And which of its kernels, if one launch takes all of the rows. */
rs_kernel rs_launch_kernel(const rowscan_plan *plan, const rs_module *module, const rs_rows *rows);

#endif
