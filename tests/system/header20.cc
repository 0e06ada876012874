/*
 * header20.cc - the public header in C++20: structs by its macros, as in C
 * SPDX-License-Identifier: MIT
 */
#include "rowscan.h"

#include <cstdio>

int main() {
  rowscan_context *context = nullptr;
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .cache_off = 1)) != ROWSCAN_OK) {
    std::fprintf(stderr, "rowscan_open: %s\n", rowscan_last_error());
    return 1;
  }
  const float x[6] = {1, 2, 3, 4, 5, 6};
  float y[6] = {};
  const int64_t shape[] = {2, 3};
  rowscan_status status = rowscan_scan(context,
                                       ROWSCAN_PROBLEM(.op = ROWSCAN_SUM, .rank = 2, .dim = 1, .shape = shape,
                                                       .input = {x, ROWSCAN_F32}, .output = {y, ROWSCAN_F32}),
                                       nullptr);
  if (status != ROWSCAN_OK)
    std::fprintf(stderr, "rowscan_scan: %s: %s\n", rowscan_status_name(status), rowscan_last_error());
  const float half = 0.5f; /* one coefficient for all elements */
  const int64_t stay[] = {0, 0};
  float z[6] = {};
  if (!status)
    status = rowscan_scan(context,
                          ROWSCAN_PROBLEM(.op = ROWSCAN_LINEAR_RECURRENCE, .rank = 2, .dim = 1, .shape = shape,
                                          .input = {.data = x, .type = ROWSCAN_F32},
                                          .output = {.data = z, .type = ROWSCAN_F32},
                                          .coefficient = {.data = &half, .type = ROWSCAN_F32, .strides = stay}),
                          nullptr);
  rowscan_cache_info info = ROWSCAN_INFO(info);
  if (rowscan_cache_info_get(context, &info) != ROWSCAN_OK)
    status = ROWSCAN_CACHE_FAILED;
  rowscan_close(context);
  std::printf("rowscan %d, header %d: %g %g %g\n", rowscan_version_number(), ROWSCAN_VERSION, y[2], y[3], y[5]);
  return !(status == ROWSCAN_OK && y[2] == 6 && y[3] == 4 && y[5] == 15 && z[1] == 2.5f && z[5] == 9.5f &&
           rowscan_version_number() == ROWSCAN_VERSION);
}
