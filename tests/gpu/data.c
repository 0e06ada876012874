/*
 * data.c - elements to scan
 * SPDX-License-Identifier: MIT
 *
 * Floating numbers are put together from sign, exponent and fraction, so that no conversion is needed to make them.
 */
#include "data.h"

#include <string.h>

const char *const data_kind_names[DATA_KINDS] = {"gentle", "wide", "special", "exact", "sparse", "raw"};

/* Bits of the fraction and of the exponent; none for integers. */
typedef struct format {
  int fraction, exponent;
} format;

static format format_of(rowscan_type type) {
  switch (type) {
  case ROWSCAN_F16:
    return (format){10, 5};
  case ROWSCAN_BF16:
    return (format){7, 8};
  case ROWSCAN_F32:
    return (format){23, 8};
  case ROWSCAN_F64:
    return (format){52, 11};
  default:
    return (format){0, 0};
  }
}

static uint64_t ones(int count) {
  return ((uint64_t)1 << count) - 1;
}

static int64_t bias(format f) {
  return (int64_t)ones(f.exponent - 1);
}

static uint64_t compose(format f, bool negative, int64_t exponent, uint64_t fraction) {
  return (uint64_t)negative << (f.exponent + f.fraction) | (uint64_t)exponent << f.fraction |
         (fraction & ones(f.fraction));
}

/* Any number whose exponent is in low .. high around that of 1. */
static uint64_t float_near(format f, random_source *random, int64_t low, int64_t high) {
  int64_t exponent = bias(f) + low + random_below(random, high - low + 1);
  return compose(f, random_one_in(random, 3), exponent, random_bits(random));
}

static uint64_t float_gentle(format f, rowscan_op op, random_source *random) {
  return op == ROWSCAN_PROD ? float_near(f, random, -1, 0) : float_near(f, random, -4, -1);
}

static uint64_t float_special(format f, rowscan_op op, int64_t length, random_source *random) {
  bool negative = random_one_in(random, 2), rare = random_one_in(random, length > 1 ? 2 * length : 2);
  uint64_t bits = random_bits(random);
  if (rare)
    switch (bits >> 60 & 3) {
    case 0:
      return compose(f, negative, (int64_t)ones(f.exponent), bits | 1); /* NaN */
    case 1:
      return compose(f, negative, (int64_t)ones(f.exponent), 0); /* infinity */
    default:
      return compose(f, negative, (int64_t)ones(f.exponent) - 1, bits); /* the largest */
    }
  switch (bits >> 60) {
  case 0:
  case 1:
  case 2:
    return compose(f, negative, 0, 0);
  case 3:
  case 4:
  case 5:
  case 6:
    return compose(f, negative, 0, bits); /* subnormal */
  case 7:
    return compose(f, negative, 1, 0); /* the smallest normal */
  default:
    return float_gentle(f, op, random);
  }
}

static uint64_t float_exact(format f, random_source *random) {
  bool negative = random_one_in(random, 2);
  switch (random_below(random, 4)) {
  case 0:
    return compose(f, negative, 0, 0);
  case 1:
    return compose(f, negative, bias(f), 0); /* 1 */
  case 2:
    return compose(f, negative, bias(f) + 1, 0); /* 2 */
  default:
    return compose(f, negative, bias(f) + 1, (uint64_t)1 << (f.fraction - 1)); /* 3 */
  }
}

static uint64_t float_bits(format f, rowscan_op op, data_kind kind, int64_t length, random_source *random) {
  int64_t wide = op == ROWSCAN_PROD ? 3 : bias(f) * 3 / 4;
  switch (kind) {
  case DATA_WIDE:
    return float_near(f, random, -wide, wide);
  case DATA_SPECIAL:
    return float_special(f, op, length, random);
  case DATA_EXACT:
    return float_exact(f, random);
  case DATA_RAW:
    return random_bits(random);
  default:
    return float_gentle(f, op, random);
  }
}

/* Products of odd numbers don't end in zero. */
static uint64_t integer_bits(rowscan_type type, rowscan_op op, data_kind kind, random_source *random) {
  static const uint8_t truths[] = {0, 1, 1, 2, 255};
  uint64_t bits = random_bits(random), top = (uint64_t)1 << (8 * rowscan_type_bytes(type) - 1);
  uint64_t limits[] = {0, 1, ~(uint64_t)0, top, top - 1};
  if (type == ROWSCAN_BOOL)
    return op == ROWSCAN_PROD && bits >> 58 ? 1 : truths[bits % 5];
  if (kind == DATA_GENTLE || kind == DATA_EXACT)
    bits = bits % 16 - 4;
  else if (kind == DATA_SPECIAL)
    bits = limits[bits % 5];
  return op == ROWSCAN_PROD && kind != DATA_RAW ? bits | 1 : bits;
}

void data_elements(void *to, rowscan_type type, rowscan_op op, data_kind kind, int64_t count, int64_t length,
                   random_source *random) {
  format f = format_of(type);
  size_t bytes = rowscan_type_bytes(type);
  int64_t stretch = kind == DATA_SPARSE ? 1 + random_below(random, length < 8 ? 8 : length) : 0;
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = f.exponent ? float_bits(f, op, kind, length, random) : integer_bits(type, op, kind, random);
    if (stretch && i / stretch % 3 != 1)
      bits = f.exponent && i / stretch % 2 ? (uint64_t)1 << (8 * bytes - 1) : 0;
    memcpy((char *)to + (size_t)i * bytes, &bits, bytes); /* little-endian */
  }
}

void data_mask(void *to, rowscan_type type, int64_t count, random_source *random) {
  format f = format_of(type);
  size_t bytes = rowscan_type_bytes(type);
  enum { HALF, FEW, RUNS, KINDS, SELDOM = 100 }; /* of them are true; or as its neighbour is each */
  int64_t kind = random_below(random, KINDS);
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = random_bits(random);
    bool seldom = random_one_in(random, SELDOM), zero = kind == FEW ? !seldom : bits >> 63;
    if (kind == RUNS && i > 0 && !seldom) {
      memcpy((char *)to + (size_t)i * bytes, (char *)to + (size_t)(i - 1) * bytes, bytes);
      continue;
    }
    bits = !f.exponent ? bits * !zero : zero ? compose(f, bits & 1, 0, 0) : float_near(f, random, -1, 0);
    if (f.exponent && random_one_in(random, 1000))
      bits = compose(f, false, (int64_t)ones(f.exponent), 1); /* NaN, which is true */
    memcpy((char *)to + (size_t)i * bytes, &bits, bytes);
  }
}

bool data_is_nan(rowscan_type type, const void *element) {
  format f = format_of(type);
  uint64_t bits = 0;
  memcpy(&bits, element, rowscan_type_bytes(type));
  return f.exponent && (bits & ones(f.exponent + f.fraction)) > ones(f.exponent) << f.fraction;
}
