/*
 * developer.h - what the library offers to its own command and tests alone
 * SPDX-License-Identifier: MIT
 *
 * It is exported like rowscan.h, and not installed: programs have no use for it, and it may change with any version.
 */
#ifndef ROWSCAN_DEVELOPER_H
#define ROWSCAN_DEVELOPER_H

#include "rowscan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A flag of a spec: blocks of the GPU that hand one another values pause at random places. */
#define ROWSCAN_DELAYS 4u

/* ---- measuring --------------------------------------------------------------------------------------------------- */

typedef struct rowscan_timing {
  size_t size;
  double scan_ms;   /* this and the next two: of one scan or copy, medians over interleaved repetitions */
  double copy_ms;   /* the engine's own copy (cuMemcpyDtoDAsync, memcpy) of as many bytes as the scan reads and writes,
                       half each */
  double kernel_ms; /* a plain copy kernel of the same access: from the input's strides to the output's; of dense
                       arrays, of as many bytes as copy_ms. 0 where there is none: on the host, and where strides come
                       with a mask, or with elements of two sizes */
  int64_t bytes;    /* that the scan must read and write */
  int64_t wrong;    /* elements whose bits differ from the host engine's; checked on a sample of rows */
  int64_t checked;  /* elements compared */
  int replayed;     /* not 0: scans were replayed from a CUDA graph, so that no launch of the host is in their time */
  rowscan_regime regime;
  char geometry[160];
} rowscan_timing;

/*
 * Times a spec on random numbers in memory of its own, against copies of the same bytes, and checks what it timed.
 * args says how many rows there are and how they lie, as for rowscan_plan_run (rows, row_shape and strides); its
 * pointers are not used. Buffers rotate when they would fit in the GPU's L2 cache. repeat: repetitions, 0 for a
 * sensible number. Errors: those of plan_create and plan_run; BAD_ARGUMENT without rows.
 */
ROWSCAN_API rowscan_status rowscan_measure(rowscan_context *context, const rowscan_spec *spec, const rowscan_args *args,
                                           int repeat, rowscan_timing *timing) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 3, 5);

#ifdef __cplusplus
}
#endif
#endif
