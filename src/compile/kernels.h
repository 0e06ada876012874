/*
 * kernels.h - the files of kernels/, embedded by kernels/embed.sh when the library is built
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_KERNELS_H
#define RS_KERNELS_H

typedef struct rs_kernel_file {
  const char *name; /* "order.cuh": as another file includes it */
  const char *text;
} rs_kernel_file;

/* Sorted by name. */
extern const rs_kernel_file rs_kernel_files[];
extern const int rs_kernel_count;

/* Hex digits over all names and texts: changes when any of them does. For cache keys. */
extern const char rs_kernels_digest[];

#endif
