/*
 * sample.h - random elements to scan, and the comparison of results
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SAMPLE_H
#define RS_SAMPLE_H

#include <stdbool.h>

#include "rowscan.h"
#include "spec/rows.h"

/*
 * Fills `data` with random elements whose scans stay far from overflow where the type allows: for a sum floats in
 * [-0.25, 0.75) and any integers, for a product floats around 1 and odd integers.
 */
void rs_sample_elements(void *data, rowscan_type type, rowscan_op op, int64_t count, uint64_t seed);

/* Fills `data` with random coefficients of a linear recurrence: floats in [0.5, 1), any integers. */
void rs_sample_coefficients(void *data, rowscan_type type, int64_t count, uint64_t seed);

/* Fills `data` with flags, or keys that grow, of segments of 64 elements in the mean. */
void rs_sample_segments(void *data, rowscan_type type, bool keys, int64_t count, uint64_t seed);

/* The numbers that each run tells an operator: usual ones, of the caller's operators any from 0 to 1; 0 beyond them. */
void rs_sample_params(double params[RS_MOST_PARAMS], rowscan_op op, uint64_t seed);

/* Fills `data` with random zeros and ones. */
void rs_sample_mask(void *data, rowscan_type type, int64_t count, uint64_t seed);

/* Elements that differ: by their bits, unless both are NaN. */
int64_t rs_sample_differ(rowscan_type type, const void *a, const void *b, int64_t count);

#endif
