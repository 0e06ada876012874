/*
 * header.cc - the public header by itself, in C++
 * SPDX-License-Identifier: MIT
 *
 * As header.c; before C++20 a caller sets the fields of a struct one by one.
 */
#include "rowscan.h"
/* Twice does no harm. */
#include "rowscan.h"

#include <cstdio>

int main() {
  rowscan_options options = {};
  options.size = sizeof options;
  options.engine = ROWSCAN_ENGINE_HOST;
  options.cache_off = 1;
  rowscan_context *context = nullptr;
  if (rowscan_open(&context, &options) != ROWSCAN_OK) {
    std::fprintf(stderr, "rowscan_open: %s\n", rowscan_last_error());
    return 1;
  }
  float x[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {2, 3};
  rowscan_problem problem = {};
  problem.size = sizeof problem;
  problem.rank = 2;
  problem.dim = 0;
  problem.shape = shape;
  problem.input.data = x;
  problem.output.data = x;
  problem.input.type = problem.output.type = ROWSCAN_F32;
  rowscan_status status = rowscan_scan(context, &problem, nullptr);
  if (status != ROWSCAN_OK)
    std::fprintf(stderr, "rowscan_scan: %s: %s\n", rowscan_status_name(status), rowscan_last_error());
  rowscan_close(context);
  std::printf("rowscan %s: %g %g %g, %g %g %g\n", rowscan_version(), x[0], x[1], x[2], x[3], x[4], x[5]);
  return !(status == ROWSCAN_OK && x[0] == 1 && x[3] == 5 && x[4] == 7 && x[5] == 9);
}
