/*
 * carry.h - one scan in chunks, each by a call of its own, with the bits of a single call
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_CARRY_H
#define RS_CARRY_H

#include "context.h"

/* rowscan_carry_create and so on; see rowscan.h. */
rowscan_status rs_carry_create(rowscan_carry **carry, rowscan_context *context);
rowscan_status rs_carry_scan(rowscan_carry *carry, const rowscan_problem *chunk, struct CUstream_st *stream);
void rs_carry_reset(rowscan_carry *carry);
void rs_carry_destroy(rowscan_carry *carry);

#endif
