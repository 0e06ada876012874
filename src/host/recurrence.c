/*
 * recurrence.c - linear recurrences: y = coefficient * y + x, one element at a time
 * SPDX-License-Identifier: MIT
 *
 * fma() and fmaf() round once wherever they run: on processors without such an instruction libm computes the same bits.
 */
#include "target.h" /* no contraction */

#include <math.h>

#include "isa.h"

#define fused_f32(a, b, c) fmaf(a, b, c)
#define fused_f64(a, b, c) fma(a, b, c)
#define fused_u32(a, b, c) ((a) * (b) + (c))
#define fused_u64(a, b, c) ((a) * (b) + (c))

/* The map of a block of elements, factor * y + term, as in kernels/ops.cuh. */
#define TOTALS(wide, c)                                                                                                \
  typedef struct total_##wide {                                                                                        \
    c factor, term;                                                                                                    \
  } total_##wide;                                                                                                      \
  static void load_##wide(void *total, const void *number, const void *coefficient) {                                  \
    *(total_##wide *)total = (total_##wide){*(const c *)coefficient, *(const c *)number};                              \
  }                                                                                                                    \
  static void begin_##wide(void *total, const void *number) {                                                          \
    *(total_##wide *)total = (total_##wide){1, *(const c *)number};                                                    \
  }                                                                                                                    \
  static void neutral_##wide(void *total) {                                                                            \
    *(total_##wide *)total = (total_##wide){1, -(c)0};                                                                 \
  }                                                                                                                    \
  static void identity_##wide(void *total) {                                                                           \
    *(total_##wide *)total = (total_##wide){1, 0};                                                                     \
  }                                                                                                                    \
  static void combine_##wide(void *to, const void *left, const void *right) {                                          \
    total_##wide a = *(const total_##wide *)left, b = *(const total_##wide *)right;                                    \
    *(total_##wide *)to = (total_##wide){a.factor * b.factor, fused_##wide(b.factor, a.term, b.term)};                 \
  }                                                                                                                    \
  static void store_##wide(void *number, const void *total) {                                                          \
    *(c *)number = ((const total_##wide *)total)->term;                                                                \
  }
RS_WIDES(TOTALS)

const rs_totals rs_recurrence_totals[RS_WIDE_COUNT] = {
#define X(wide, c)                                                                                                     \
  [RS_WIDE_##wide] = {sizeof(total_##wide), load_##wide,    begin_##wide, neutral_##wide,                              \
                      identity_##wide,      combine_##wide, store_##wide},
    RS_WIDES(X)
#undef X
};
