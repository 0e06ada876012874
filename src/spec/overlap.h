/*
 * overlap.h - whether arrays of a run overlap that must not
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_OVERLAP_H
#define RS_OVERLAP_H

#include "rows.h"

/*
 * BAD_ARGUMENT, with the names of both, if an array that is written shares a byte with another or with itself; the
 * output may be the input, with equal strides and element sizes. Strides decide, and not ranges: arrays that interleave
 * are two. What takes more than RS_OVERLAP_WORK steps to decide, and what reaches beyond any memory, passes. Most calls
 * end with a comparison of ranges, after some 10 ns. workspace: NULL if there is none.
 */
rowscan_status rs_overlap_check(const rs_rows *rows, const rowscan_spec *spec, const void *workspace,
                                size_t workspace_bytes);

enum { RS_OVERLAP_WORK = 2000 };

#endif
