/*
 * measure_check.h - whether what was timed is right
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_MEASURE_CHECK_H
#define RS_MEASURE_CHECK_H

#include "copier.h"
#include "host/host.h"
#include "measure_sets.h"
#include "spec/developer.h"

/*
 * Compares a sample of rows with the host engine's, bit for bit: the first, the last and some between, from the first
 * `written` sets in turn; of a row that is very long, the elements that the scan takes first. Fills timing's `wrong`
 * and `checked`.
 */
rowscan_status rs_check_scan(const rs_sets *sets, int64_t written, rs_host *host, rowscan_timing *timing);

/* Has the kernel copy set 0 anew, and compares pieces of it. CUDA_FAILED, with a story, if it is no copy. */
rowscan_status rs_check_copy(const rs_sets *sets, const rs_copier *copier);

#endif
