/*
 * measure.h - times a spec against copies of the same bytes, and checks what it times
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_MEASURE_H
#define RS_MEASURE_H

#include <stdbool.h>

#include "base/text.h"
#include "family/tuning.h"
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
 * each figure to `each`, with a number of its own, which may end it by a status. All are compiled first, on all
 * processors; `failed` counts those that the compiler refuses, and the first one's message is the last error. Errors
 * also: NO_DEVICE on the host engine, BAD_ARGUMENT for rows of any length.
 */
typedef rowscan_status rs_each_timing(void *user, const rs_timing *timing, int number);
rowscan_status rs_measure_contenders(rowscan_context *context, const rowscan_spec *spec, const rowscan_args *args,
                                     int repeat, rs_each_timing *each, void *user, int *failed);

/*
 * The fastest of them. All are timed once; those that may be it are timed again, in turn with the kernel that serves
 * these rows without a tuning table, which is told as the fastest where no other takes a thirtieth of its time less.
 * The context serves nobody else meanwhile. Errors: those of rs_measure_contenders.
 */
typedef struct rs_fastest {
  rs_contender kernel;
  double ms, before_ms;     /* by this kernel, and by the one that serves now */
  bool better;              /* and it is another one */
  int timed, failed, wrong; /* kernels; of those that were timed, which had wrong bits and were left out */
} rs_fastest;
rowscan_status rs_measure_fastest(rowscan_context *context, const rowscan_spec *spec, const rowscan_args *args,
                                  rs_fastest *fastest);

/* ---- the tuning table of a GPU ------------------------------------------------------------------------------- */

/* A scan of dense arrays: rows, along layout COLUMNS of so many columns each; 1 in layout ROWS. */
typedef struct rs_sized_scan {
  rowscan_spec spec;
  int64_t rows, columns;
} rs_sized_scan;

/*
 * Measures a scan. The spec is one that rowscan_scan would have for such arrays, and complete afterwards. Errors: those
 * of rs_measure_fastest; BAD_ARGUMENT for sizes below 1.
 */
rowscan_status rs_tune_scan(rowscan_context *context, rs_sized_scan *scan, rs_fastest *fastest);

/*
 * Notes what was measured where contexts that are opened from now on find it, in place of what was noted of that scan;
 * a scan whose choice is the fastest is taken out. scan NULL: nothing is noted, but the file is written. Adds the name
 * of the file to *path. Errors: NO_DEVICE on the host engine, CACHE_FAILED.
 */
rowscan_status rs_tune_keep(rowscan_context *context, const rs_sized_scan *scan, const rs_fastest *fastest,
                            rs_text *path);

/* The same in a table of the caller's, which begins empty. */
rowscan_status rs_tune_note(const rowscan_context *context, const rs_sized_scan *scan, const rs_fastest *fastest,
                            rs_text *table);

/* ---- operators of the caller's ----------------------------------------------------------------------------- */

/*
 * Tries an operator of the caller's, in an accumulator of 4 or 8 bytes, on random triples: whether (x o y) o z is
 * x o (y o z), and a masked element nothing. Floats may differ by roundings. Adds to `doubt` what is not so of the
 * first triple of which it is not, in a line of plain words; nothing proves neither. Operators of the library's, and
 * those whose elements are made of more than one number, are not tried. Errors: those of rowscan_scan_host.
 */
rowscan_status rs_associative(rowscan_context *context, rowscan_op op, rowscan_type acc, rs_text *doubt);

#endif
