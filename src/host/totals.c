/*
 * totals.c - the operators whose totals are two numbers, one element at a time; the twins of kernels/ops.cuh
 * SPDX-License-Identifier: MIT
 *
 * fma() and fmaf() round once wherever they run: on processors without such an instruction libm computes the same bits.
 */
#include "target.h" /* no contraction */

#include <math.h>
#include <string.h>

#include "isa.h"

#define RS_FUSED(a, b, c) _Generic((a), float : fmaf, double : fma)(a, b, c)
#define RS_EXP_LOG static inline
typedef float f32;
typedef double f64;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;
#include "kernels/exp_log.h"

/*
 * The functions of an operator on numbers of a wide type `c`, for which there are total_<op>_<wide> and of_<op>_<wide>,
 * join_<op>_<wide> and show_<op>_<wide>: of an element, of two totals, and to a number.
 */
#define TOTALS(op, wide, c, start, none)                                                                               \
  static void load_##op##_##wide(void *total, const void *number, const void *coefficient) {                           \
    c x = *(const c *)number, by = coefficient ? *(const c *)coefficient : 0;                                          \
    *(total_##op##_##wide *)total = of_##op##_##wide(x, by);                                                           \
  }                                                                                                                    \
  static void begin_##op##_##wide(void *total, const void *number) {                                                   \
    *(total_##op##_##wide *)total = of_##op##_##wide(*(const c *)number, 1);                                           \
  }                                                                                                                    \
  static void neutral_##op##_##wide(void *total) {                                                                     \
    *(total_##op##_##wide *)total = of_##op##_##wide(start, 1);                                                        \
  }                                                                                                                    \
  static void identity_##op##_##wide(void *total) {                                                                    \
    *(total_##op##_##wide *)total = of_##op##_##wide(none, 1);                                                         \
  }                                                                                                                    \
  static void combine_##op##_##wide(void *to, const void *left, const void *right) {                                   \
    *(total_##op##_##wide *)to =                                                                                       \
        join_##op##_##wide(*(const total_##op##_##wide *)left, *(const total_##op##_##wide *)right);                   \
  }                                                                                                                    \
  static void store_##op##_##wide(void *number, const void *total) {                                                   \
    *(c *)number = show_##op##_##wide(*(const total_##op##_##wide *)total);                                            \
  }
#define ROW(op, wide)                                                                                                  \
  [RS_WIDE_##wide] = {sizeof(total_##op##_##wide), load_##op##_##wide,    begin_##op##_##wide, neutral_##op##_##wide,  \
                      identity_##op##_##wide,      combine_##op##_##wide, store_##op##_##wide}

/* ---- linear recurrences ------------------------------------------------------------------------------------------ */

#define FUSED_f32 RS_FUSED
#define FUSED_f64 RS_FUSED
#define FUSED_u32(a, b, c) ((a) * (b) + (c))
#define FUSED_u64 FUSED_u32

#define RECURRENCE(wide, c)                                                                                            \
  typedef struct total_recurrence_##wide {                                                                             \
    c factor, term;                                                                                                    \
  } total_recurrence_##wide;                                                                                           \
  static inline total_recurrence_##wide of_recurrence_##wide(c x, c coefficient) {                                     \
    return (total_recurrence_##wide){coefficient, x};                                                                  \
  }                                                                                                                    \
  static inline total_recurrence_##wide join_recurrence_##wide(total_recurrence_##wide a, total_recurrence_##wide b) { \
    return (total_recurrence_##wide){a.factor * b.factor, FUSED_##wide(b.factor, a.term, b.term)};                     \
  }                                                                                                                    \
  static inline c show_recurrence_##wide(total_recurrence_##wide t) {                                                  \
    return t.term;                                                                                                     \
  }                                                                                                                    \
  TOTALS(recurrence, wide, c, -(c)0, 0)
RS_WIDES(RECURRENCE)

static const rs_totals recurrence[RS_WIDE_COUNT] = {
#define X(wide, c) ROW(recurrence, wide),
    RS_WIDES(X)
#undef X
};

/* ---- logarithms of sums ------------------------------------------------------------------------------------------ */

#define LOGSUMEXP(wide, c)                                                                                             \
  typedef struct total_logsumexp_##wide {                                                                              \
    c highest, sum;                                                                                                    \
  } total_logsumexp_##wide;                                                                                            \
  static inline total_logsumexp_##wide of_logsumexp_##wide(c x, c unused) {                                            \
    (void)unused;                                                                                                      \
    return (total_logsumexp_##wide){x, 1};                                                                             \
  }                                                                                                                    \
  static inline total_logsumexp_##wide join_logsumexp_##wide(total_logsumexp_##wide a, total_logsumexp_##wide b) {     \
    c d = a.highest - b.highest;                                                                                       \
    int higher = d > 0, nan = a.highest != a.highest;                                                                  \
    d = higher ? d : -d;                                                                                               \
    c e = exp_##wide(d < RS_MOST_##wide ? d : RS_MOST_##wide);                                                         \
    return (total_logsumexp_##wide){higher || nan ? a.highest : b.highest,                                             \
                                    RS_FUSED(higher ? b.sum : a.sum, e, higher ? a.sum : b.sum)};                      \
  }                                                                                                                    \
  static inline c show_logsumexp_##wide(total_logsumexp_##wide t) {                                                    \
    return t.sum == 1 ? t.highest : log_##wide(t.sum, t.highest);                                                      \
  }                                                                                                                    \
  TOTALS(logsumexp, wide, c, -(c)INFINITY, -(c)INFINITY)
LOGSUMEXP(f32, float)
LOGSUMEXP(f64, double)

static const rs_totals logsumexp[RS_WIDE_COUNT] = {ROW(logsumexp, f32), ROW(logsumexp, f64)};

/* ---- products with exponents of their own ------------------------------------------------------------------------ */

#define EXTENDED_PROD(wide, c, u, i, digits, bias)                                                                     \
  typedef struct total_product_##wide {                                                                                \
    c fraction;                                                                                                        \
    i exponent;                                                                                                        \
  } total_product_##wide;                                                                                              \
  static inline c power_##wide(int e) {                                                                                \
    u word = (u)(e + bias) << digits;                                                                                  \
    c value;                                                                                                           \
    memcpy(&value, &word, sizeof value);                                                                               \
    return value;                                                                                                      \
  }                                                                                                                    \
  static inline total_product_##wide of_product_##wide(c x, c unused) {                                                \
    (void)unused;                                                                                                      \
    const u one = (u)bias << digits, field = ((u)2 * bias + 1) << digits;                                              \
    u word;                                                                                                            \
    c fraction = x;                                                                                                    \
    memcpy(&word, &x, sizeof word);                                                                                    \
    int small = (word & field) == 0;                                                                                   \
    if (small)                                                                                                         \
      fraction = x * power_##wide(digits + 1);                                                                         \
    memcpy(&word, &fraction, sizeof word);                                                                             \
    u exponent = word & field;                                                                                         \
    if (exponent == 0 || exponent == field)                                                                            \
      return (total_product_##wide){x, 0};                                                                             \
    word = (word & ~field) | one;                                                                                      \
    memcpy(&fraction, &word, sizeof word);                                                                             \
    return (total_product_##wide){fraction, (i)(exponent >> digits) - bias - (small ? digits + 1 : 0)};                \
  }                                                                                                                    \
  static inline total_product_##wide join_product_##wide(total_product_##wide a, total_product_##wide b) {             \
    c fraction = a.fraction * b.fraction;                                                                              \
    int carries = fraction >= 2 || fraction <= -2;                                                                     \
    return (total_product_##wide){carries ? fraction / 2 : fraction, (i)((u)a.exponent + (u)b.exponent + (u)carries)}; \
  }                                                                                                                    \
  static inline c show_product_##wide(total_product_##wide t) {                                                        \
    const int least = 2 - 2 * bias, most = 2 * bias;                                                                   \
    int e = t.exponent < least ? least : t.exponent > most ? most : (int)t.exponent;                                   \
    return t.fraction * power_##wide(e >> 1) * power_##wide(e - (e >> 1));                                             \
  }                                                                                                                    \
  TOTALS(product, wide, c, 1, 1)
EXTENDED_PROD(f32, float, uint32_t, int32_t, 23, 127)
EXTENDED_PROD(f64, double, uint64_t, int64_t, 52, 1023)

static const rs_totals extended_prod[RS_WIDE_COUNT] = {ROW(product, f32), ROW(product, f64)};

/* ---- indices ----------------------------------------------------------------------------------------------------- */

/*
 * Of keys, which are in the order of the values, whatever those are; for the lowest one turned. Indices count from the
 * first element that is scanned, or in reverse scans from -1 - length, so that an index in memory is -2 - index.
 */
typedef struct total_index {
  uint64_t key;
  int64_t index, count; /* -1: there is none */
} total_index;

static void neutral_index(void *total) {
  *(total_index *)total = (total_index){0, -1, 0};
}

static void identity_index(void *total) {
  *(total_index *)total = (total_index){0, -1, 1};
}

static void start_index(void *total, const rowscan_spec *spec) {
  *(total_index *)total = (total_index){0, -1, spec->flags & ROWSCAN_REVERSE ? -1 - spec->length : 0};
}

static void load_highest(void *total, const void *key, const void *coefficient) {
  (void)coefficient;
  *(total_index *)total = (total_index){*(const uint64_t *)key, 0, 1};
}

static void load_lowest(void *total, const void *key, const void *coefficient) {
  (void)coefficient;
  *(total_index *)total = (total_index){~*(const uint64_t *)key, 0, 1};
}

static void join_index(void *to, const void *left, const void *right, bool first) {
  total_index a = *(const total_index *)left, b = *(const total_index *)right;
  bool later = first ? b.key > a.key || a.index == -1 : b.key >= a.key && b.index != -1;
  int64_t moved = b.index == -1 ? -1 : b.index + a.count;
  *(total_index *)to = (total_index){later ? b.key : a.key, later ? moved : a.index, a.count + b.count};
}

static void combine_last(void *to, const void *left, const void *right) {
  join_index(to, left, right, false);
}

static void combine_first(void *to, const void *left, const void *right) {
  join_index(to, left, right, true);
}

static void store_index(void *number, const void *total) {
  int64_t index = ((const total_index *)total)->index;
  *(int64_t *)number = index < -1 ? -2 - index : index;
}

/* By whether the lowest is wanted, and the first of equal ones. Numbers are keys. */
#define INDEX(load, combine)                                                                                           \
  { sizeof(total_index), load, NULL, neutral_index, identity_index, combine, store_index, start_index }
static const rs_totals indices[2][2] = {{INDEX(load_highest, combine_last), INDEX(load_highest, combine_first)},
                                        {INDEX(load_lowest, combine_last), INDEX(load_lowest, combine_first)}};

const rs_totals *rs_totals_of(const rowscan_spec *spec, rs_wide wide) {
  switch ((int)spec->op) {
  case ROWSCAN_LINEAR_RECURRENCE:
    return &recurrence[wide];
  case ROWSCAN_LOGSUMEXP:
    return &logsumexp[wide];
  case ROWSCAN_EXTENDED_PROD:
    return &extended_prod[wide];
  case ROWSCAN_ARGMAX:
  case ROWSCAN_ARGMIN:
    return &indices[spec->op == ROWSCAN_ARGMIN][(spec->flags & ROWSCAN_TIES_FIRST) != 0];
  default:
    return rs_op_of(spec->op)->totals ? &rs_op_of(spec->op)->totals[wide] : NULL;
  }
}
