/*
 * welford.c - an example of an operator of one's own: the variance so far; welford.cuh is its text for GPUs
 * SPDX-License-Identifier: MIT
 */
#include "host/target.h" /* no contraction */

#include "example.h"

typedef struct total {
  float count, mean, squares;
} total;

static void load(void *to, const void *x, const void *coefficient) {
  (void)coefficient;
  *(total *)to = (total){1, *(const float *)x, 0};
}

static void neutral(void *to) {
  *(total *)to = (total){0, 0, 0};
}

static void combine(void *to, const void *left, const void *right) {
  total l = *(const total *)left, r = *(const total *)right;
  float count = l.count + r.count, delta = r.mean - l.mean, part = r.count / count;
  total both = {count, l.mean + delta * part, l.squares + r.squares + delta * delta * (l.count * part)};
  *(total *)to = r.count == 0 ? l : l.count == 0 ? r : both;
}

static void store(void *y, const void *of) {
  const total *t = of;
  *(float *)y = t->squares / t->count;
}

__attribute__((constructor)) static void create(void) {
  static const rowscan_op_functions f32 = {.load = load, .combine = combine, .store = store, .neutral = neutral};
  example_create("welford.cuh", &f32);
}
