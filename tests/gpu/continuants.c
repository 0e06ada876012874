/*
 * continuants.c - an example of an operator of one's own: continued fractions; continuants.cuh is its text for GPUs
 * SPDX-License-Identifier: MIT
 */
#include "host/target.h" /* no contraction */

#include <math.h>
#include <stdbool.h>

#include "example.h"

typedef struct total {
  float a, b, c, d; /* {a, b; c, d} */
} total;

static bool is_none(total t) {
  return t.a == 0 && t.b == 0 && t.c == 0 && t.d == 0;
}

static void load(void *to, const void *x, const void *coefficient) {
  (void)coefficient;
  *(total *)to = (total){*(const float *)x, 1, 1, 0};
}

static void neutral(void *to) {
  *(total *)to = (total){0, 0, 0, 0};
}

static void combine(void *to, const void *left, const void *right) {
  total l = *(const total *)left, r = *(const total *)right;
  total product = {fmaf(l.a, r.a, l.b * r.c), fmaf(l.a, r.b, l.b * r.d), fmaf(l.c, r.a, l.d * r.c),
                   fmaf(l.c, r.b, l.d * r.d)};
  *(total *)to = is_none(r) ? l : is_none(l) ? r : product;
}

static void store(void *y, const void *of) {
  const total *t = of;
  *(float *)y = t->a / t->c;
}

__attribute__((constructor)) static void create(void) {
  static const rowscan_op_functions f32 = {.load = load, .combine = combine, .store = store, .neutral = neutral};
  example_create("continuants.cuh", &f32);
}
