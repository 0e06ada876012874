/*
 * developer.h - what the library has for its own tests alone
 * SPDX-License-Identifier: MIT
 *
 * It is not installed: programs have no use for it, and it may change with any version.
 */
#ifndef ROWSCAN_DEVELOPER_H
#define ROWSCAN_DEVELOPER_H

#include <stdbool.h>

/* A flag of a spec: blocks of the GPU that hand one another values pause at random places. */
#define ROWSCAN_DELAYS 4u

/* Whether this process is a test that may use it: else it is refused as an unknown flag. */
extern bool rs_developer;

#endif
