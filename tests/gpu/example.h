/*
 * example.h - creates an operator of a text in a file of this folder
 * SPDX-License-Identifier: MIT
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include "rowscan.h"

/* What FUNCTIONS(name, c) of the including file has made, for numbers of C's type c, as functions_name. */
#define EXAMPLE_OF(name, c)                                                                                            \
  FUNCTIONS(name, c)                                                                                                   \
  static const rowscan_op_functions functions_##name = {                                                               \
      .load = load_##name, .combine = combine_##name, .store = store_##name, .neutral = neutral_##name};

/* The operator of a file, with FUNCTIONS of floats, from before main() on. */
#define EXAMPLE(file)                                                                                                  \
  EXAMPLE_OF(f32, float)                                                                                               \
  EXAMPLE_OF(f64, double)                                                                                              \
  __attribute__((constructor)) static void create(void) {                                                              \
    example_create(file, &functions_f32, &functions_f64);                                                              \
  }

/* Ends the program, having said why, if it can't. */
static inline void example_create(const char *file, const rowscan_op_functions *f32, const rowscan_op_functions *f64) {
  const char *srcdir = getenv("srcdir");
  char path[4096], text[8192];
  rowscan_op op;
  snprintf(path, sizeof path, "%s/tests/gpu/%s", srcdir ? srcdir : ".", file);
  FILE *from = fopen(path, "r");
  size_t bytes = from ? fread(text, 1, sizeof text - 1, from) : 0;
  text[bytes] = 0;
  if (from)
    fclose(from);
  else
    perror(path);
  if (rowscan_op_create(&op, ROWSCAN_OPERATOR(.source = text, .f32 = f32, .f64 = f64)) == ROWSCAN_OK)
    return;
  fprintf(stderr, "%s: %s\n", path, rowscan_last_error());
  abort();
}

#endif
