/*
 * scan.h - a problem in one call: its rows, its plan, and P(0) where that is wanted
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SCAN_H
#define RS_SCAN_H

#include "context.h"

/* rowscan_scan, rowscan_scan_host and rowscan_prepare. */
rowscan_status rs_scan(rowscan_context *context, const rowscan_problem *problem, struct CUstream_st *stream);
rowscan_status rs_scan_host(rowscan_context *context, const rowscan_problem *problem);
rowscan_status rs_scan_prepare(rowscan_context *context, const rowscan_problem *problem);

#endif
