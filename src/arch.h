/*
 * arch.h - what tuning knows of an architecture
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_ARCH_H
#define RS_ARCH_H

/* Shared memory that the blocks of a multiprocessor have together; each takes 1 KB of it for the system. */
int rs_arch_shared_bytes(int arch);

#endif
