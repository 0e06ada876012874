/*
 * affine.c - operators that tests create: they do not commute, their totals are two numbers, and all types have them
 * SPDX-License-Identifier: MIT
 *
 * An element x is the map y -> f * y + x. Affine has f = x, but in -1 .. 1, of floats and f = x | 1 of integers; of
 * Damped f is the element's coefficient. A block's total is the map of all its elements, one after another; a prefix
 * is what such a map makes of an initial value, or of 0. Damped shows it negated, and its identity is 7 of integers: so
 * no P(0) of it is that of a sum, but -0 of floats. Programs that are linked with this file have both.
 */
#include "host/target.h" /* no contraction */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rowscan.h"

#define FACTOR_f32(x) ((x) < -1 ? -1 : (x) > 1 ? 1 : (x))
#define FACTOR_f64(x) FACTOR_f32(x)
#define FACTOR_u32(x) ((x) | 1)
#define FACTOR_u64(x) ((x) | 1)

#define FUNCTIONS(wide, c)                                                                                             \
  typedef struct total_##wide {                                                                                        \
    c factor, term;                                                                                                    \
  } total_##wide;                                                                                                      \
  static void load_##wide(void *total, const void *number, const void *coefficient) {                                  \
    c x = *(const c *)number;                                                                                          \
    *(total_##wide *)total = (total_##wide){coefficient ? *(const c *)coefficient : FACTOR_##wide(x), x};              \
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
    *(total_##wide *)to = (total_##wide){a.factor * b.factor, b.factor * a.term + b.term};                             \
  }                                                                                                                    \
  static void store_##wide(void *number, const void *total) {                                                          \
    *(c *)number = ((const total_##wide *)total)->term;                                                                \
  }                                                                                                                    \
  static void damped_identity_##wide(void *total) {                                                                    \
    *(total_##wide *)total = (total_##wide){1, (c)0.5 == 0 ? 7 : 0};                                                   \
  }                                                                                                                    \
  static void damped_store_##wide(void *number, const void *total) {                                                   \
    *(c *)number = -((const total_##wide *)total)->term;                                                               \
  }                                                                                                                    \
  static const rowscan_op_functions affine_##wide = {.load = load_##wide,                                              \
                                                     .combine = combine_##wide,                                        \
                                                     .store = store_##wide,                                            \
                                                     .neutral = neutral_##wide,                                        \
                                                     .identity = identity_##wide,                                      \
                                                     .begin = begin_##wide};                                           \
  static const rowscan_op_functions damped_##wide = {.load = load_##wide,                                              \
                                                     .combine = combine_##wide,                                        \
                                                     .store = damped_store_##wide,                                     \
                                                     .neutral = neutral_##wide,                                        \
                                                     .identity = damped_identity_##wide,                               \
                                                     .begin = begin_##wide};
FUNCTIONS(f32, float)
FUNCTIONS(f64, double)
FUNCTIONS(u32, uint32_t)
FUNCTIONS(u64, uint64_t)

#define SOURCE(line, name, own)                                                                                        \
  line "template <class A, class K> struct " name " {\n"                                                               \
       "  struct Total {\n"                                                                                            \
       "    A factor, term;\n"                                                                                         \
       "  };\n" own "  RS_METHOD static Total begin(A y) {\n"                                                          \
       "    return {1, y};\n"                                                                                          \
       "  }\n"                                                                                                         \
       "  RS_METHOD static Total combine(Total a, Total b) {\n"                                                        \
       "    return {a.factor * b.factor, b.factor * a.term + b.term};\n"                                               \
       "  }\n"                                                                                                         \
       "  RS_METHOD static Total neutral() {\n"                                                                        \
       "    return {1, -(A)0};\n"                                                                                      \
       "  }\n"                                                                                                         \
       "};\n"

static const char affine[] = SOURCE("// rowscan: op=Affine numbers=2\n", "Affine",
                                    "  RS_METHOD static Total load(A x) {\n"
                                    "    if constexpr ((A)0.5 == 0)\n"
                                    "      return {x | 1, x};\n"
                                    "    else\n"
                                    "      return {x < -1 ? (A)-1 : x > 1 ? (A)1 : x, x};\n"
                                    "  }\n"
                                    "  RS_METHOD static A store(Total t) {\n"
                                    "    return t.term;\n"
                                    "  }\n"
                                    "  RS_METHOD static Total identity() {\n"
                                    "    return {1, 0};\n"
                                    "  }\n");
static const char damped[] = SOURCE("// rowscan: op=Damped numbers=2 coefficient=1\n", "Damped",
                                    "  RS_METHOD static Total load(A x, A coefficient) {\n"
                                    "    return {coefficient, x};\n"
                                    "  }\n"
                                    "  RS_METHOD static A store(Total t) {\n"
                                    "    return -t.term;\n"
                                    "  }\n"
                                    "  RS_METHOD static Total identity() {\n"
                                    "    return {1, (A)0.5 == 0 ? 7 : 0};\n"
                                    "  }\n");

static void make(const rowscan_operator *given) {
  rowscan_op op;
  if (rowscan_op_create(&op, given) != ROWSCAN_OK) {
    fprintf(stderr, "affine.c: %s\n", rowscan_last_error());
    abort();
  }
}

__attribute__((constructor)) static void create(void) {
  make(ROWSCAN_OPERATOR(.source = affine, .f32 = &affine_f32, .f64 = &affine_f64, .u32 = &affine_u32,
                        .u64 = &affine_u64));
  make(ROWSCAN_OPERATOR(.source = damped, .f32 = &damped_f32, .f64 = &damped_f64, .u32 = &damped_u32,
                        .u64 = &damped_u64));
}
