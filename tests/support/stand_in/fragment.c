/*
 * fragment.c - what surrounds a block of C of the documentation that is no whole program
 * SPDX-License-Identifier: MIT
 *
 * FRAGMENT is the file with the block. It finds a context of the host engine, a stream of it, and arrays of 2 rows of 8
 * elements; what it leaves in `status` must be ROWSCAN_OK. The first row of y is printed.
 */
#include <rowscan.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  enum { ROWS = 2, LENGTH = 8 };
  float x[ROWS][LENGTH] = {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 1, 1, 1, 1, 1, 1}}, y[ROWS][LENGTH] = {{0}};
  float values[ROWS][LENGTH] = {{0}}, next_values[ROWS][LENGTH] = {{0}}, returns[ROWS][LENGTH] = {{0}};
  bool mask[ROWS][LENGTH] = {{1, 0, 1, 0, 1, 0, 1, 0}}, terminated[ROWS][LENGTH] = {{0, 0, 0, 1}};
  bool done[ROWS][LENGTH] = {{0, 0, 0, 1}};
  int32_t documents[ROWS][LENGTH] = {{0, 0, 0, 1, 1, 2, 2, 2}};
  int64_t indices[ROWS][LENGTH] = {{0}};
  const int64_t shape[] = {ROWS, LENGTH};
  struct CUstream_st *stream = NULL;
  rowscan_context *context;
  rowscan_status status = rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST));
  if (status)
    return fprintf(stderr, "rowscan_open: %s\n", rowscan_last_error());
  (void)values, (void)next_values, (void)returns, (void)mask, (void)terminated, (void)done, (void)documents;
  (void)indices, (void)shape, (void)stream, (void)x;
#include FRAGMENT
  if (status)
    return fprintf(stderr, "%s: %s\n", rowscan_status_name(status), rowscan_last_error());
  for (int i = 0; i < LENGTH; ++i)
    printf("%g%c", y[0][i], i + 1 < LENGTH ? ' ' : '\n');
  rowscan_close(context);
}
