/*
 * several.c - operators that tests create: of several inputs, with two outputs, and with a parameter
 * SPDX-License-Identifier: MIT
 *
 * Blend makes of an element x and two others the map y -> f * y + (x - b), f being a as affine.c has it; its second
 * output adds the element's b again. Decay has one other input, which ends what came before where it is not 0, whatever
 * that was, and a parameter, the factor of all maps; its second output is the prefix less the element itself. Programs
 * that are linked with this file have both.
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
  static void blend_##wide(void *total, const void *number, const void *others) {                                      \
    const c *other = others;                                                                                           \
    *(total_##wide *)total = (total_##wide){FACTOR_##wide(other[0]), *(const c *)number - other[1]};                   \
  }                                                                                                                    \
  static void blend_second_##wide(void *y, const void *total, const void *number, const void *others) {                \
    (void)number;                                                                                                      \
    *(c *)y = ((const total_##wide *)total)->term + ((const c *)others)[1];                                            \
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
    c term = b.factor * a.term + b.term;                                                                               \
    *(total_##wide *)to = (total_##wide){a.factor * b.factor, b.factor == 0 ? b.term : term};                          \
  }                                                                                                                    \
  static void store_##wide(void *number, const void *total) {                                                          \
    *(c *)number = ((const total_##wide *)total)->term;                                                                \
  }                                                                                                                    \
  static const rowscan_op_functions of_blend_##wide = {.load = blend_##wide,                                           \
                                                       .combine = combine_##wide,                                      \
                                                       .store = store_##wide,                                          \
                                                       .neutral = neutral_##wide,                                      \
                                                       .identity = identity_##wide,                                    \
                                                       .begin = begin_##wide};
FUNCTIONS(f32, float)
FUNCTIONS(f64, double)
FUNCTIONS(u32, uint32_t)
FUNCTIONS(u64, uint64_t)

#define DECAY(wide, c)                                                                                                 \
  static void decay_##wide(void *total, const void *number, const void *others) {                                      \
    const c *other = others;                                                                                           \
    *(total_##wide *)total = (total_##wide){other[0] != 0 ? 0 : other[1], *(const c *)number};                         \
  }                                                                                                                    \
  static void decay_second_##wide(void *y, const void *total, const void *number, const void *others) {                \
    (void)others;                                                                                                      \
    *(c *)y = ((const total_##wide *)total)->term - *(const c *)number;                                                \
  }                                                                                                                    \
  static const rowscan_op_functions of_decay_##wide = {.load = decay_##wide,                                           \
                                                       .combine = combine_##wide,                                      \
                                                       .store = store_##wide,                                          \
                                                       .neutral = neutral_##wide,                                      \
                                                       .identity = identity_##wide,                                    \
                                                       .begin = begin_##wide};
DECAY(f32, float)
DECAY(f64, double)

#define SOURCE(line, name, own)                                                                                        \
  line "template <class A, class K> struct " name " {\n"                                                               \
       "  struct Total {\n"                                                                                            \
       "    A factor, term;\n"                                                                                         \
       "  };\n" own "  RS_METHOD static Total begin(A y) {\n"                                                          \
       "    return {1, y};\n"                                                                                          \
       "  }\n"                                                                                                         \
       "  RS_METHOD static A store(Total t) {\n"                                                                       \
       "    return t.term;\n"                                                                                          \
       "  }\n"                                                                                                         \
       "  RS_METHOD static Total combine(Total a, Total b) {\n"                                                        \
       "    return {a.factor * b.factor, b.factor == 0 ? b.term : b.factor * a.term + b.term};\n"                      \
       "  }\n"                                                                                                         \
       "  RS_METHOD static Total neutral() {\n"                                                                        \
       "    return {1, -(A)0};\n"                                                                                      \
       "  }\n"                                                                                                         \
       "  RS_METHOD static Total identity() {\n"                                                                       \
       "    return {1, 0};\n"                                                                                          \
       "  }\n"                                                                                                         \
       "};\n"

static const char blend[] = SOURCE("// rowscan: op=Blend numbers=2 inputs=3 outputs=2\n", "Blend",
                                   "  RS_METHOD static Total load(A x, A a, A b) {\n"
                                   "    if constexpr ((A)0.5 == 0)\n"
                                   "      return {a | 1, x - b};\n"
                                   "    else\n"
                                   "      return {a < -1 ? (A)-1 : a > 1 ? (A)1 : a, x - b};\n"
                                   "  }\n"
                                   "  RS_METHOD static A second(Total t, A, A, A b) {\n"
                                   "    return t.term + b;\n"
                                   "  }\n");
static const char decay[] = SOURCE("// rowscan: op=Decay numbers=2 inputs=2 params=1 outputs=2 types=floats\n", "Decay",
                                   "  RS_METHOD static Total load(A x, A ends, A factor) {\n"
                                   "    return {ends != 0 ? 0 : factor, x};\n"
                                   "  }\n"
                                   "  RS_METHOD static A second(Total t, A x, A, A) {\n"
                                   "    return t.term - x;\n"
                                   "  }\n");

static void make(const rowscan_operator *given) {
  rowscan_op op;
  if (rowscan_op_create(&op, given) != ROWSCAN_OK) {
    fprintf(stderr, "several.c: %s\n", rowscan_last_error());
    abort();
  }
}

__attribute__((constructor)) static void create(void) {
  make(ROWSCAN_OPERATOR(.source = blend, .f32 = &of_blend_f32, .f64 = &of_blend_f64, .u32 = &of_blend_u32,
                        .u64 = &of_blend_u64, .second_f32 = blend_second_f32, .second_f64 = blend_second_f64,
                        .second_u32 = blend_second_u32, .second_u64 = blend_second_u64));
  make(ROWSCAN_OPERATOR(.source = decay, .f32 = &of_decay_f32, .f64 = &of_decay_f64, .second_f32 = decay_second_f32,
                        .second_f64 = decay_second_f64));
}
