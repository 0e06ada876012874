/*
 * array.h - an .npy file as an array in memory, mapped, so that it may be larger than memory
 * SPDX-License-Identifier: MIT
 *
 * "-" is standard input: what comes through a pipe is read to its end, into memory.
 */
#ifndef ARRAY_H
#define ARRAY_H

#include "npy.h"

/* Starts as {0}. */
typedef struct cli_array {
  const char *name; /* as messages have it */
  npy_header header;
  int64_t strides[NPY_RANK_MAX]; /* in elements */
  const void *data;              /* aligned to its type */
  void *map, *copy;
  size_t map_bytes, copy_bytes;
} cli_array;

/* Returns EXIT_OK, or EXIT_FAILED having said why. */
int array_open(cli_array *array, const char *name, bool allow_bf16);

/* Lets go of the memory; {0} is nothing. */
void array_close(cli_array *array);

#endif
