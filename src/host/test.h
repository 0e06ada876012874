/*
 * test.h - a way into the host engine for its tests and measurements
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_HOST_TEST_H
#define RS_HOST_TEST_H

#include "host.h"
#include "isa.h"

/*
 * Makes the host engine use one instruction set's loops, and believe in a last-level cache of so many bytes: problems
 * larger than that are written past it.
 */
void rs_host_force(rs_host *host, const rs_isa *isa, int64_t cache_bytes);

#endif
