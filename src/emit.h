/*
 * emit.h - (spec, geometry) to a source of about 15 lines that names templates of kernels/; a pure function
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_EMIT_H
#define RS_EMIT_H

#include "tune.h"

/* Kernels of an emitted source. Each regime has those it needs. */
typedef enum rs_kernel {
  RS_KERNEL_ANY,      /* any strides */
  RS_KERNEL_VECTORED, /* elements of a row are neighbours, vectors begin on multiples of their size */
  RS_KERNEL_RING,     /* row: elements of a row are neighbours, rows begin on multiples of 16 bytes */
  RS_KERNEL_TOTALS,   /* long: first launch; the scan is the third */
  RS_KERNEL_TOTALS_VECTORED,
  RS_KERNEL_PREFIXES, /* long: second launch */
  RS_KERNELS
} rs_kernel;

extern const char *const rs_kernel_names[RS_KERNELS];

/* Does the source of this spec and geometry have the kernel? */
bool rs_emits(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel);

void rs_emit(const rowscan_spec *spec, const rs_geometry *geometry, rs_text *source);

#endif
