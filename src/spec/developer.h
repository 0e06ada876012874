/*
 * developer.h - what the library has for itself and its own tests alone
 * SPDX-License-Identifier: MIT
 *
 * It is not installed: programs have no use for it, and it may change with any version.
 */
#ifndef ROWSCAN_DEVELOPER_H
#define ROWSCAN_DEVELOPER_H

#include <stdbool.h>

/* A flag of a spec: blocks of the GPU that hand one another values pause at random places. */
#define ROWSCAN_DELAYS 4u

/*
 * Flags of specs that the library makes for parts of longer rows, and takes from nobody. STATES: initial values and
 * totals are totals of the operator in place of numbers. TOTALS: of rows of 2^k elements only totals are wanted.
 */
#define ROWSCAN_PART_STATES (1u << 30)
#define ROWSCAN_PART_TOTALS (1u << 31)

/* Of a spec that many share: its kernels are told by each launch what else they would be compiled for
 * (family/universal.h). */
#define ROWSCAN_UNIVERSAL (1u << 29)

/* Whether this process is a test that may use it: else it is refused as an unknown flag. */
extern bool rs_developer;

#endif
