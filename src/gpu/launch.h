/*
 * launch.h - a run on the GPU: the arguments packed, the launches queued
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_LAUNCH_H
#define RS_LAUNCH_H

#include "program.h"

/* Queues the rows on a stream. workspace NULL: one of the program's. */
rowscan_status rs_launch(rs_program *program, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                         CUstream stream);

#endif
