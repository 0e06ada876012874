/*
 * sample.c - random elements to scan, and the comparison of results
 * SPDX-License-Identifier: MIT
 */
#include "sample.h"

#include <string.h>

#include "base/ints.h"
#include "spec/half.h"
#include "spec/types.h"

/* Integers are little-endian, as the GPU's are. */
static void put_integer(void *to, rowscan_type type, uint64_t x) {
  memcpy(to, &x, rowscan_type_bytes(type));
}

void rs_sample_elements(void *data, rowscan_type type, rowscan_op op, int64_t count, uint64_t seed) {
  size_t bytes = rowscan_type_bytes(type);
  rs_kind kind = rs_type_kind(type);
  for (int64_t i = 0; i < count; i++) {
    char *to = (char *)data + (size_t)i * bytes;
    uint64_t bits = rs_random(&seed);
    double unit = (double)(bits >> 11) * 0x1p-53;
    if (kind == RS_FLOAT)
      rs_put_float(to, type, op == ROWSCAN_PROD ? 0.75 + 0.52 * unit : unit - 0.25); /* mean of the logarithm: 0 */
    else
      put_integer(to, type, op == ROWSCAN_PROD ? bits | 1 : kind == RS_BOOL ? bits & 1 : bits);
  }
}

/* What came long before fades. */
void rs_sample_coefficients(void *data, rowscan_type type, int64_t count, uint64_t seed) {
  size_t bytes = rowscan_type_bytes(type);
  for (int64_t i = 0; i < count; i++) {
    char *to = (char *)data + (size_t)i * bytes;
    uint64_t bits = rs_random(&seed);
    if (rs_type_kind(type) == RS_FLOAT)
      rs_put_float(to, type, 0.5 + (double)(bits >> 12) * 0x1p-53);
    else
      put_integer(to, type, bits);
  }
}

void rs_sample_segments(void *data, rowscan_type type, bool keys, int64_t count, uint64_t seed) {
  enum { LONG = 64 };
  size_t bytes = rowscan_type_bytes(type);
  uint64_t key = 0;
  for (int64_t i = 0; i < count; i++) {
    char *to = (char *)data + (size_t)i * bytes;
    uint64_t begins = rs_random(&seed) % LONG == 0, value = keys ? key += begins : begins;
    if (rs_type_kind(type) == RS_FLOAT)
      rs_put_float(to, type, (double)value);
    else
      put_integer(to, type, value);
  }
}

/* Usual numbers of a run, by operator. */
static const struct {
  rowscan_op op;
  double params[RS_MOST_PARAMS];
} usual[] = {{ROWSCAN_GAE, {0.99, 0.95}}};

void rs_sample_params(double params[RS_MOST_PARAMS], rowscan_op op, uint64_t seed) {
  for (int i = 0; i < RS_MOST_PARAMS; i++)
    params[i] = i < rs_op_of(op)->params ? (double)(rs_random(&seed) >> 11) * 0x1p-53 : 0;
  for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
    if (usual[k].op == op)
      memcpy(params, usual[k].params, sizeof usual[k].params);
}

void rs_sample_mask(void *data, rowscan_type type, int64_t count, uint64_t seed) {
  size_t bytes = rowscan_type_bytes(type);
  for (int64_t i = 0; i < count; i++) {
    char *to = (char *)data + (size_t)i * bytes;
    uint64_t bit = rs_random(&seed) & 1;
    if (rs_type_kind(type) == RS_FLOAT)
      rs_put_float(to, type, (double)bit);
    else
      put_integer(to, type, bit);
  }
}

static bool is_nan(rowscan_type type, const void *at) {
  uint64_t bits = 0;
  memcpy(&bits, at, rowscan_type_bytes(type));
  switch (type) {
  case ROWSCAN_F16:
    return (bits & 0x7fff) > 0x7c00;
  case ROWSCAN_BF16:
    return (bits & 0x7fff) > 0x7f80;
  case ROWSCAN_F32:
    return (bits & 0x7fffffff) > 0x7f800000;
  case ROWSCAN_F64:
    return (bits & INT64_MAX) > 0x7ff0000000000000;
  default:
    return false;
  }
}

int64_t rs_sample_differ(rowscan_type type, const void *a, const void *b, int64_t count) {
  size_t bytes = rowscan_type_bytes(type);
  if (!memcmp(a, b, (size_t)count * bytes))
    return 0;
  int64_t different = 0;
  for (int64_t i = 0; i < count; i++) {
    const char *x = (const char *)a + (size_t)i * bytes, *y = (const char *)b + (size_t)i * bytes;
    different += memcmp(x, y, bytes) && !(is_nan(type, x) && is_nan(type, y));
  }
  return different;
}
