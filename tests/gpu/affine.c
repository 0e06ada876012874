/*
 * affine.c - an operator that tests add, in the place of src/spec/more_ops.c: see affine.h
 * SPDX-License-Identifier: MIT
 */
#include "host/target.h" /* no contraction */

#include "affine.h"

#include <stddef.h>

#include "host/isa.h"

#define FACTOR_f32(x) ((x) < -1 ? -1 : (x) > 1 ? 1 : (x))
#define FACTOR_f64(x) FACTOR_f32(x)
#define FACTOR_u32(x) ((x) | 1)
#define FACTOR_u64(x) ((x) | 1)

#define TOTALS(wide, c)                                                                                                \
  typedef struct total_##wide {                                                                                        \
    c factor, term;                                                                                                    \
  } total_##wide;                                                                                                      \
  static void load_##wide(void *total, const void *number, const void *coefficient) {                                  \
    (void)coefficient;                                                                                                 \
    c x = *(const c *)number;                                                                                          \
    *(total_##wide *)total = (total_##wide){FACTOR_##wide(x), x};                                                      \
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
  }
RS_WIDES(TOTALS)

static const rs_totals totals[RS_WIDE_COUNT] = {
#define X(wide, c)                                                                                                     \
  [RS_WIDE_##wide] = {.bytes = sizeof(total_##wide),                                                                   \
                      .load = load_##wide,                                                                             \
                      .begin = begin_##wide,                                                                           \
                      .neutral = neutral_##wide,                                                                       \
                      .identity = identity_##wide,                                                                     \
                      .combine = combine_##wide,                                                                       \
                      .store = store_##wide},
    RS_WIDES(X)
#undef X
};

static const char source[] = "#ifndef AFFINE\n" /* a source may have several kernels */
                             "#define AFFINE\n"
                             "template <class A, class K> struct Affine {\n"
                             "  struct alignas(2 * sizeof(A)) Total {\n"
                             "    A factor, term;\n"
                             "  };\n"
                             "  using Number = A;\n"
                             "  static constexpr bool commutative = false, PLAIN = false;\n"
                             "  RS_METHOD static Total load(A x) {\n"
                             "    if constexpr ((A)0.5 == 0)\n"
                             "      return {x | 1, x};\n"
                             "    else\n"
                             "      return {x < -1 ? (A)-1 : x > 1 ? (A)1 : x, x};\n"
                             "  }\n"
                             "  RS_METHOD static Total begin(A y) {\n"
                             "    return {1, y};\n"
                             "  }\n"
                             "  RS_METHOD static A store(Total t) {\n"
                             "    return t.term;\n"
                             "  }\n"
                             "  RS_METHOD static Total combine(Total a, Total b) {\n"
                             "    return {a.factor * b.factor, b.factor * a.term + b.term};\n"
                             "  }\n"
                             "  RS_METHOD static Total neutral() {\n"
                             "    return {1, -(A)0};\n"
                             "  }\n"
                             "  RS_METHOD static Total identity() {\n"
                             "    return {1, 0};\n"
                             "  }\n"
                             "};\n"
                             "#endif\n";

static const rs_op affine = {.name = "affine", .kernel = "Affine", .numbers = 2, .source = source, .totals = totals};

const rs_op *const rs_more_ops = &affine;
const int rs_more_op_count = 1;
