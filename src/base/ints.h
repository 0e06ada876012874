/*
 * ints.h - arithmetic of whole numbers that the language lacks
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

static inline int64_t rs_distance(int64_t stride) {
  return stride < 0 ? -stride : stride;
}

#endif
