/*
 * warm.h - kernels compiled before they are needed: a list of specs for a list of architectures, on all cores
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_WARM_H
#define RS_WARM_H

#include "run/context.h"

/* rowscan_warm, its fields checked but for what the lists hold. */
rowscan_status rs_warm(rowscan_context *context, const rowscan_warming *list);

#endif
