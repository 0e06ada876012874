/*
 * verify.h - whether what is timed is right: scans against the host engine, copies against what they copy
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_VERIFY_H
#define RS_VERIFY_H

#include "copier.h"
#include "host/host.h"
#include "sets.h"

typedef struct rs_verdict {
  int64_t wrong, checked; /* elements */
} rs_verdict;

/*
 * Compares a sample of rows with the host engine's, bit for bit: the first, the last and some between, from the first
 * `written` sets in turn; of a row that is very long, the elements that the scan takes first. Both numbers of the
 * verdict stay 0 for an operator that the host has no functions of.
 */
rowscan_status rs_verify_scan(const rs_sets *sets, int64_t written, rs_host *host, rs_verdict *verdict);

/* Has the kernel copy set 0 anew, and compares pieces of it. CUDA_FAILED, with a message, if it is no copy. */
rowscan_status rs_verify_copy(const rs_sets *sets, const rs_copier *copier);

#endif
