/*
 * launch.h - a run on the GPU: the kernel for its rows, the arguments packed, the launches queued
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_LAUNCH_H
#define RS_LAUNCH_H

#include "program.h"

/* Scratch bytes that a run of the program may need at most. */
size_t rs_launch_workspace(const rs_program *program);

/* Those of so many rows that are cut over blocks, by one of its kernels for that. */
size_t rs_launch_needs(const rs_program *program, rs_kernel kernel, int64_t rows);

/* Queues the rows on a stream. workspace NULL: one of the program's. */
rowscan_status rs_launch(rs_program *program, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                         CUstream stream);

/* The kernel that serves these rows. */
rs_kernel rs_launch_kernel(const rs_program *program, const rs_rows *rows);

/* Scratch bytes that a run of these rows needs; 0: it takes no workspace. */
size_t rs_launch_scratch(const rs_program *program, const rs_rows *rows);

#endif
