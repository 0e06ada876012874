/*
 * continuants.c - an example of an operator of one's own: continued fractions; continuants.cuh is its text for GPUs
 * SPDX-License-Identifier: MIT
 */
#include "host/target.h" /* no contraction */

#include <stdbool.h>

#include "example.h"

#define fused_f32 __builtin_fmaf
#define fused_f64 __builtin_fma

#define FUNCTIONS(name, c)                                                                                             \
  typedef struct total_##name {                                                                                        \
    c a, b, lower, d; /* {a, b; c, d} */                                                                               \
  } total_##name;                                                                                                      \
  static bool is_none_##name(total_##name t) {                                                                         \
    return t.a == 0 && t.b == 0 && t.lower == 0 && t.d == 0;                                                           \
  }                                                                                                                    \
  static void load_##name(void *to, const void *x, const void *coefficient) {                                          \
    (void)coefficient;                                                                                                 \
    *(total_##name *)to = (total_##name){*(const c *)x, 1, 1, 0};                                                      \
  }                                                                                                                    \
  static void neutral_##name(void *to) {                                                                               \
    *(total_##name *)to = (total_##name){0, 0, 0, 0};                                                                  \
  }                                                                                                                    \
  static void combine_##name(void *to, const void *left, const void *right) {                                          \
    total_##name l = *(const total_##name *)left, r = *(const total_##name *)right;                                    \
    total_##name product = {fused_##name(l.a, r.a, l.b * r.lower), fused_##name(l.a, r.b, l.b * r.d),                  \
                            fused_##name(l.lower, r.a, l.d * r.lower), fused_##name(l.lower, r.b, l.d * r.d)};         \
    *(total_##name *)to = is_none_##name(r) ? l : is_none_##name(l) ? r : product;                                     \
  }                                                                                                                    \
  static void store_##name(void *y, const void *of) {                                                                  \
    const total_##name *t = of;                                                                                        \
    *(c *)y = t->a / t->lower;                                                                                         \
  }
EXAMPLE("continuants.cuh")
