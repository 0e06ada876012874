/*
 * op_file.h - --op-file: an operator whose text is in a file
 * SPDX-License-Identifier: MIT
 */
#ifndef OP_FILE_H
#define OP_FILE_H

#include "rowscan.h"

/* The line of an option table for a name that op_file_read is to read. */
#define OP_FILE_OPTION(target)                                                                                         \
  { "op-file", 0, &kind_file, &(target), "an operator of your own, in CUDA C++, for GPUs: see rowscan(1)" }

/*
 * Creates the operator of a file, and puts it in the place of --op; NULL: --op-file was not given. Returns
 * OPTIONS_READ, or EXIT_FAILED or EXIT_USAGE having said why.
 */
int op_file_read(rowscan_op *op, const char *name);

#endif
