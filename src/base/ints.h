/*
 * ints.h - arithmetic of whole numbers that the language lacks, and random ones
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_INTS_H
#define RS_INTS_H

#include <stdint.h>

static inline int64_t rs_smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t rs_larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* a / b, rounded up; a is not negative. */
static inline int64_t rs_ceiling(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

/* a * b, of numbers that are not negative; INT64_MAX where it is beyond, which is more bytes than any memory has. */
static inline int64_t rs_product(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* INT64_MAX of INT64_MIN too. */
static inline int64_t rs_distance(int64_t stride) {
  return stride < 0 ? -(stride + (stride == INT64_MIN)) : stride;
}

/* SplitMix64: advances *state, which starts anywhere (Steele, Lea and Flood, 2014). */
static inline uint64_t rs_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

#endif
