/*
 * welford.c - an example of an operator of one's own: the variance so far; welford.cuh is its text for GPUs
 * SPDX-License-Identifier: MIT
 */
#include "host/target.h" /* no contraction */

#include "example.h"

#define FUNCTIONS(name, c)                                                                                             \
  typedef struct total_##name {                                                                                        \
    c count, mean, squares;                                                                                            \
  } total_##name;                                                                                                      \
  static void load_##name(void *to, const void *x, const void *coefficient) {                                          \
    (void)coefficient;                                                                                                 \
    *(total_##name *)to = (total_##name){1, *(const c *)x, 0};                                                         \
  }                                                                                                                    \
  static void neutral_##name(void *to) {                                                                               \
    *(total_##name *)to = (total_##name){0, 0, 0};                                                                     \
  }                                                                                                                    \
  static void combine_##name(void *to, const void *left, const void *right) {                                          \
    total_##name l = *(const total_##name *)left, r = *(const total_##name *)right;                                    \
    c count = l.count + r.count, delta = r.mean - l.mean, part = r.count / count;                                      \
    total_##name both = {count, l.mean + delta * part, l.squares + r.squares + delta * delta * (l.count * part)};      \
    *(total_##name *)to = r.count == 0 ? l : l.count == 0 ? r : both;                                                  \
  }                                                                                                                    \
  static void store_##name(void *y, const void *of) {                                                                  \
    const total_##name *t = of;                                                                                        \
    *(c *)y = t->squares / t->count;                                                                                   \
  }
EXAMPLE("welford.cuh")
