/*
 * bounds.h - the launch bounds of a kernel, as its PTX has them, and what registers they leave a thread
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_BOUNDS_H
#define RS_BOUNDS_H

typedef struct rs_bounds {
  int threads; /* of a block; 0: the PTX does not say */
  int blocks;  /* that a multiprocessor must hold; 0: the PTX does not say */
} rs_bounds;

/* Of the first kernel of a PTX. */
rs_bounds rs_bounds_read(const char *ptx);

/*
 * By how many blocks the bounds must be lowered, more than by `fewer`, for a thread to have more registers than with
 * `fewer`. 0: no number of blocks gives it more; or blocks are warps, of which many are worth more than a few bytes of
 * local memory (src/NOTES.md, "Universal kernels").
 */
int rs_bounds_lower(const rs_bounds *bounds, int fewer);

#endif
