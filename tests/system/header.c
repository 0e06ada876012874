/*
 * header.c - the public header by itself, in C
 * SPDX-License-Identifier: MIT
 *
 * Nothing is included before it, no CUDA toolkit is in reach, and all that is asked of the library goes through it, the
 * macros that fill structs included. tests/system/install.sh builds this file too, against an installed rowscan.
 */
#include "rowscan.h"
/* Twice does no harm. */
#include "rowscan.h"

#include <stdio.h>

int main(void) {
  rowscan_context *context = NULL;
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .cache_off = 1)) != ROWSCAN_OK) {
    fprintf(stderr, "rowscan_open: %s\n", rowscan_last_error());
    return 1;
  }
  float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
  rowscan_status status =
      rowscan_scan(context,
                   ROWSCAN_PROBLEM(.op = ROWSCAN_SUM, .rank = 2, .dim = -1, .shape = (int64_t[]){2, 3},
                                   .input = {x, ROWSCAN_F32}, .output = {x, ROWSCAN_F32}),
                   NULL);
  const float half = 0.5f; /* one coefficient for all elements */
  float y[2][3] = {{0}};
  if (status == ROWSCAN_OK)
    status = rowscan_scan(
        context,
        ROWSCAN_PROBLEM(.op = ROWSCAN_LINEAR_RECURRENCE, .rank = 2, .dim = -1, .shape = (int64_t[]){2, 3},
                        .input = {.data = x, .type = ROWSCAN_F32}, .output = {.data = y, .type = ROWSCAN_F32},
                        .coefficient = {.data = &half, .type = ROWSCAN_F32, .strides = (int64_t[]){0, 0}}),
        NULL);
  rowscan_cache_info info = ROWSCAN_INFO(info);
  if (status == ROWSCAN_OK) /* which opens packs: install.sh asks where they were looked for */
    status = rowscan_cache_info_get(context, &info);
  if (status != ROWSCAN_OK)
    fprintf(stderr, "rowscan_scan: %s: %s\n", rowscan_status_name(status), rowscan_last_error());
  rowscan_close(context);
  printf("rowscan %s: %g %g %g, %g %g %g\n", rowscan_version(), x[0][0], x[0][1], x[0][2], x[1][0], x[1][1], x[1][2]);
  return !(status == ROWSCAN_OK && x[0][1] == 3 && x[0][2] == 6 && x[1][1] == 9 && x[1][2] == 15 && y[0][2] == 7.75f &&
           y[1][0] == 4);
}
