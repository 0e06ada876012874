/*
 * measure.h - times a spec against copies of the same bytes, and checks what it times
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_MEASURE_H
#define RS_MEASURE_H

#include <stdbool.h>

#include "base/text.h"
#include "rowscan.h"

typedef struct rs_timing {
  double scan_ms;   /* this and the next two: of one scan or copy, medians over interleaved repetitions */
  double copy_ms;   /* the engine's own copy (cuMemcpyDtoDAsync, memcpy) of as many bytes as the scan reads and writes,
                       half each */
  double kernel_ms; /* a plain copy kernel of the same access: from the input's strides to the output's; of dense
                       arrays, of as many bytes as copy_ms. 0 where there is none: on the host, and where strides come
                       with a third array, or with elements of two sizes */
  int64_t bytes;    /* that the scan must read and write */
  int64_t wrong;    /* elements whose bits differ from the host engine's; checked on a sample of rows */
  int64_t checked;  /* elements compared, of a second output too */
  bool replayed;    /* scans were replayed from a CUDA graph, so that no launch of the host is in their time */
  rowscan_regime regime;
  char geometry[160];
  bool chosen; /* by the kernel that would serve these rows anyway: of contenders one has it */
} rs_timing;

/*
 * Times a spec on random numbers in memory of its own. args says how many rows there are and how they lie, as for
 * rowscan_plan_run (rows, row_shape and strides); its pointers are not used, and params are drawn, too, but for those
 * of the library's operators, which are usual ones. Buffers rotate when they would fit in the GPU's L2 cache. repeat:
 * repetitions, 0 for a sensible number. Errors: those of plan_create and plan_run; BAD_ARGUMENT without rows.
 */
rowscan_status rs_measure(rowscan_context *context, const rowscan_spec *spec, const rowscan_args *args, int repeat,
                          rs_timing *timing);

/*
 * Times every kernel that could serve these rows, preferred or not, one after another on the same numbers, and passes
 * each figure to `each`, which may end it by a status of its own. All are compiled first, on all processors; `failed`
 * counts those that the compiler refuses, and the first one's message is the last error. Errors also: NO_DEVICE on the
 * host engine, BAD_ARGUMENT for rows of any length.
 */
typedef rowscan_status rs_each_timing(void *user, const rs_timing *timing);
rowscan_status rs_measure_contenders(rowscan_context *context, const rowscan_spec *spec, const rowscan_args *args,
                                     int repeat, rs_each_timing *each, void *user, int *failed);

/*
 * Tries an operator of the caller's, in an accumulator of 4 or 8 bytes, on random triples: whether (x o y) o z is
 * x o (y o z), and a masked element nothing. Floats may differ by roundings. Adds to `doubt` what is not so of the
 * first triple of which it is not, in a line of plain words; nothing proves neither. Operators of the library's, and
 * those whose elements are made of more than one number, are not tried. Errors: those of rowscan_scan_host.
 */
rowscan_status rs_associative(rowscan_context *context, rowscan_op op, rowscan_type acc, rs_text *doubt);

#endif
