/*
 * group_big.c - more than 2^31 elements: in all, in one row, between two rows
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Elements are of one byte, so that this is the room that an array needs. */
static const int64_t ROOM = (INT64_C(1) << 31) + (INT64_C(1) << 26);

typedef struct big_arrays {
  unsigned char *in, *expected, *now; /* of the host */
  void *device_in, *device_out;
  device_stream stream;
} big_arrays;

/* Memory that is only promised until it is touched is not enough; nobody wants to see it swapped. */
static bool make_arrays(big_arrays *arrays) {
  random_source random = random_for(suite.seed, 13, 0);
  arrays->in = malloc((size_t)ROOM);
  arrays->expected = malloc((size_t)ROOM);
  arrays->now = malloc((size_t)ROOM);
  if (!arrays->in || !arrays->expected || !arrays->now)
    return false;
  for (int64_t i = 0; i + 8 <= ROOM; i += 8) {
    uint64_t bits = random_bits(&random);
    memcpy(arrays->in + i, &bits, 8);
  }
  arrays->device_in = device_alloc((size_t)ROOM);
  arrays->device_out = device_alloc((size_t)ROOM);
  arrays->stream = device_stream_new();
  device_upload(arrays->device_in, arrays->in, (size_t)ROOM, arrays->stream);
  return true;
}

static void free_arrays(big_arrays *arrays) {
  if (arrays->stream)
    device_stream_free(arrays->stream);
  device_free(arrays->device_in);
  device_free(arrays->device_out);
  free(arrays->in);
  free(arrays->expected);
  free(arrays->now);
}

static void compare(const big_arrays *arrays, const char *what) {
  if (!memcmp(arrays->now, arrays->expected, (size_t)ROOM)) {
    suite_pass();
    return;
  }
  int64_t at = 0;
  while (arrays->now[at] == arrays->expected[at])
    at++;
  suite_fail("%s: byte %lld: 0x%x instead of 0x%x", what, (long long)at, arrays->now[at], arrays->expected[at]);
}

/* Rows of bytes from the start of the arrays; strides in elements, NULL for dense. */
static void check_big(big_arrays *arrays, const rowscan_spec *spec, const int64_t *shape, const int64_t *strides,
                      const char *what) {
  suite_plans plans;
  rowscan_args args = {.size = sizeof args, .row_shape = shape, .input_strides = strides, .output_strides = strides};
  rowscan_args host = args;
  device_doing(what);
  if (suite_plan(&plans, spec)) {
    memset(arrays->expected, 0xc7, (size_t)ROOM);
    device_fill(arrays->device_out, 0xc7, (size_t)ROOM, arrays->stream);
    host.input = arrays->in;
    host.output = arrays->expected;
    args.input = arrays->device_in;
    args.output = arrays->device_out;
    if (suite_ok(rowscan_plan_run(plans.gpu, &args, arrays->stream), what) &&
        suite_ok(rowscan_plan_run(plans.host, &host, NULL), what)) {
      device_download(arrays->now, arrays->device_out, (size_t)ROOM, arrays->stream);
      device_wait(arrays->stream);
      compare(arrays, what);
    }
  }
  suite_plan_free(&plans);
  device_doing("nothing");
}

static rowscan_spec bytes_of(int64_t length, rowscan_layout layout, unsigned flags) {
  return (rowscan_spec){.size = sizeof(rowscan_spec),
                        .in_type = ROWSCAN_I8,
                        .out_type = ROWSCAN_I8,
                        .length = length,
                        .layout = layout,
                        .flags = flags};
}

static void check_all(big_arrays *arrays) {
  const int64_t many = ROOM / 2100, one = 1, two = 2, wide[] = {1, ROOM / 40000};
  const int64_t apart[] = {(INT64_C(1) << 31) + 8, 1};
  rowscan_spec spec = bytes_of(2100, ROWSCAN_LAYOUT_ROWS, 0);
  check_big(arrays, &spec, &many, NULL, "rows of 2100, more than 2^31 elements in all");
  spec = bytes_of((INT64_C(1) << 31) + 12345, ROWSCAN_LAYOUT_ROWS, 0);
  check_big(arrays, &spec, &one, NULL, "one row of more than 2^31 elements");
  spec = bytes_of((INT64_C(1) << 31) + 12345, ROWSCAN_LAYOUT_ROWS, ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE);
  check_big(arrays, &spec, &one, NULL, "one row of more than 2^31 elements, reverse exclusive");
  spec = bytes_of(40000, ROWSCAN_LAYOUT_COLUMNS, 0);
  check_big(arrays, &spec, wide, NULL, "columns of 40000, more than 2^31 elements in all");
  spec = bytes_of(3, ROWSCAN_LAYOUT_ROWS, 0);
  const int64_t short_rows = ROOM / 3;
  check_big(arrays, &spec, &short_rows, NULL, "rows of 3, more than 2^31 elements in all");
  spec = bytes_of(1000, ROWSCAN_LAYOUT_ROWS, 0);
  check_big(arrays, &spec, &two, apart, "two rows more than 2^31 elements apart");
}

void group_big(void) {
  big_arrays arrays = {0};
  if (suite.quick || device_simulated() || device_free_bytes() < (size_t)(3 * ROOM)) {
    suite_skip("needs a GPU with 7 GB of free memory, and no RS_QUICK");
    return;
  }
  if (make_arrays(&arrays))
    check_all(&arrays);
  else
    suite_skip("needs 7 GB of host memory");
  free_arrays(&arrays);
}
