/*
 * why.h - why a kernel is, or is not, in the cache
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_WHY_H
#define RS_WHY_H

#include "run/context.h"

/* rowscan_cache_why, with a complete spec and an architecture as a number. */
rowscan_status rs_why(rowscan_context *context, const rowscan_spec *spec, int arch,
                      int (*visit)(void *user, const rowscan_cache_reason *reason), void *user);

#endif
