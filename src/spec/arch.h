/*
 * arch.h - what is known of an architecture
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_ARCH_H
#define RS_ARCH_H

#include "base/status.h"

enum {
  RS_MOST_ARCHS = 128, /* more than a compiler knows */
  RS_OLDEST_ARCH = ROWSCAN_OLDEST_ARCH
};

/* "sm_90" to 90. BAD_ARGUMENT: it is nothing of the kind. */
rowscan_status rs_arch_read(const char *arch, int *number);

/*
 * The architecture that kernels for any length are compiled for, so that a few of them serve all GPUs: its own where it
 * has none in common with others, and the newest one for GPUs that are newer, whose drivers compile its PTX.
 */
int rs_arch_generation(int arch);

/* Shared memory that the blocks of a multiprocessor have together; each takes 1 KB of it for the system. */
int rs_arch_shared_bytes(int arch);

/* Threads that a multiprocessor holds at a time. */
int rs_arch_threads(int arch);

#endif
