/*
 * emit.h - (spec, geometry) to a source of about 15 lines that names templates of kernels/; a pure function
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_EMIT_H
#define RS_EMIT_H

#include "tune.h"

/* The source of one kernel, which the geometry has. */
void rs_emit(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, rs_text *source);

/* The lines of the key of its binary that name the spec and the kernel, one field=value each. */
void rs_kernel_canonical(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, rs_text *text);

#endif
