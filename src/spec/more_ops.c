/*
 * more_ops.c - operators beyond the library's own: none; programs that test operators have another file in its place
 * SPDX-License-Identifier: MIT
 */
#include "types.h"

const rs_op *const rs_more_ops = NULL;
const int rs_more_op_count = 0;
