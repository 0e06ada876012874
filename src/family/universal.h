/*
 * universal.h - the spec of the universal kernels that serve a spec, and rows as they are told them
 * SPDX-License-Identifier: MIT
 *
 * A universal kernel is compiled for an operator and its accumulator, and for segments or none. All else that a spec
 * has, a launch tells (kernels/terms.h). So four dozen kernels serve every spec of the library's own operators.
 */
#ifndef RS_UNIVERSAL_H
#define RS_UNIVERSAL_H

#include "spec/rows.h"
#include "tune.h"

/* The spec that the kernels for a complete spec have: with ROWSCAN_UNIVERSAL. False: there are none. */
bool rs_universal_spec(const rowscan_spec *spec, rowscan_spec *universal);

/* All such specs; returns how many, at most RS_MOST_UNIVERSAL. */
enum { RS_MOST_UNIVERSAL = 128 };
int rs_universal_all(rowscan_spec specs[RS_MOST_UNIVERSAL]);

/*
 * Rows of a spec as rows of its universal one, and what their launches tell, which `to` points to. Returns how many
 * launches there are, for kernels have strides for RS_UNIVERSAL_RANK dimensions: this is number `part` of them, from 0
 * on, each with the same number of rows.
 */
int64_t rs_universal_rows(rs_rows *to, rs_terms *terms, const rs_rows *rows, const rowscan_spec *spec, int64_t part);

/* What a launch of such rows takes. */
typedef struct rs_universal_cut {
  int64_t blocks, shared; /* shared: bytes of a block */
  size_t workspace;       /* 0: one launch; else two, RS_TOTALS_OF_PIECES and RS_PREFIXES */
} rs_universal_cut;

/*
 * How the warps of a kernel share rows that rs_universal_rows() gave, as it is told in the terms. spec: the kernel's;
 * rows have elements. A bound of what any rows need of workspace.
 */
rs_universal_cut rs_universal_share(rs_terms *terms, const rs_rows *rows, const rs_shape *shape,
                                    const rowscan_spec *spec);
size_t rs_universal_bound(const rs_shape *shape, const rowscan_spec *spec);

#endif
