/*
 * stage.h - arrays in host memory through either engine
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_STAGE_H
#define RS_STAGE_H

#include "context.h"

/*
 * Scans rows in host memory and returns when done. On a GPU the rows travel in pieces through pinned memory: some rows
 * each, or, where a row is larger than a piece, some of its aligned blocks, whose totals are combined as the order
 * demands. Calls the context's progress callback.
 */
rowscan_status rs_stage(rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows);

#endif
