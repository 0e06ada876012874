/*
 * totals.h - the operators whose totals are several numbers, for one instruction set; the twins of kernels/ops.cuh
 * SPDX-License-Identifier: MIT
 *
 * Included by loops.h. An operator on numbers of one type is a name N, and of it:
 *   total_N         a struct of fields that are as wide as a number; RS_FIELDS(X, p): X(p, field) for each
 *   of_N(x, by)     the total of one element, `by` being its coefficient
 *   begin_N(y)      where a fold from an initial value starts
 *   neutral_N()     where other folds start
 *   identity_N()    the total of an element that a mask takes away
 *   omitted_N(x)    whether a number is a NaN
 *   join_N(a, b)    the total of two blocks, the left one first
 *   after_N(a, b)   the same where a segment begins in b, which drops all of a but that it has been there
 *   show_N(t)       what users see of a prefix
 * These are written once, of selections and without branches, which compilers vectorise; blocks.h makes loops of them,
 * and of all but recurrences others in segments.
 *
 * fma() and fmaf() round once wherever they run: on processors without such an instruction libm computes the same bits,
 * but for a product that vanishes beside a zero, of which musl's fma() loses the sign.
 */
#include <float.h>
#include <math.h>

#include "spec/spec.h"

#if defined(__FMA__) || defined(__aarch64__)
#define RS_FMA fma
#else
RS_INLINE double signed_fma(double a, double b, double c) {
  return c == 0 && a != 0 && b != 0 ? a * b : fma(a, b, c);
}
#define RS_FMA signed_fma
#endif
#define RS_FUSED(a, b, c) _Generic((a), float : fmaf, double : RS_FMA)(a, b, c)
#define RS_MAGNITUDE(a) _Generic((a), float : fabsf, double : fabs)(a)
#define RS_EXP_LOG RS_INLINE
typedef float f32;
typedef double f64;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;
#include "kernels/exp_log.h"

/* The iterations of the next loop are independent, whatever its pointers look like. Some stay scalar nevertheless. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#define RS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RS_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* What blocks.h makes of N, as a rs_totals. */
#define TOTALS(N, ...)                                                                                                 \
  {                                                                                                                    \
    .bytes = sizeof(total_##N), .load = load1_##N, .begin = begin1_##N, .neutral = neutral1_##N,                       \
    .identity = identity1_##N, .combine = combine1_##N, .store = store1_##N, .load_block = load_##N,                   \
    .push_line = push_##N, .scan_block = scan_##N, __VA_ARGS__                                                         \
  }

/* What operators have in common for which a NaN is one, and what starts a fold is a number. */
#define OF_NUMBERS(op, wide, start, none)                                                                              \
  RS_INLINE total_##op##_##wide after_##op##_##wide(total_##op##_##wide unused, total_##op##_##wide b) {               \
    (void)unused;                                                                                                      \
    return b;                                                                                                          \
  }                                                                                                                    \
  RS_INLINE total_##op##_##wide begin_##op##_##wide(wide y) {                                                          \
    return of_##op##_##wide(y, 1);                                                                                     \
  }                                                                                                                    \
  RS_INLINE total_##op##_##wide neutral_##op##_##wide(void) {                                                          \
    return of_##op##_##wide(start, 1);                                                                                 \
  }                                                                                                                    \
  RS_INLINE total_##op##_##wide identity_##op##_##wide(void) {                                                         \
    return of_##op##_##wide(none, 1);                                                                                  \
  }                                                                                                                    \
  RS_INLINE int omitted_##op##_##wide(wide x) {                                                                        \
    return x != x;                                                                                                     \
  }

/* ---- linear recurrences ------------------------------------------------------------------------------------------ */

#define FUSED_f32 RS_FUSED
#define FUSED_f64 RS_FUSED
#define FUSED_u32(a, b, c) ((a) * (b) + (c))
#define FUSED_u64 FUSED_u32

#define RECURRENCE(wide, c)                                                                                            \
  typedef struct total_recurrence_##wide {                                                                             \
    wide factor, term;                                                                                                 \
  } total_recurrence_##wide;                                                                                           \
  RS_INLINE total_recurrence_##wide of_recurrence_##wide(wide x, wide by) {                                            \
    return (total_recurrence_##wide){by, x};                                                                           \
  }                                                                                                                    \
  RS_INLINE total_recurrence_##wide join_recurrence_##wide(total_recurrence_##wide a, total_recurrence_##wide b) {     \
    return (total_recurrence_##wide){a.factor * b.factor, FUSED_##wide(b.factor, a.term, b.term)};                     \
  }                                                                                                                    \
  RS_INLINE wide show_recurrence_##wide(total_recurrence_##wide t) {                                                   \
    return t.term;                                                                                                     \
  }                                                                                                                    \
  OF_NUMBERS(recurrence, wide, -(wide)0, 0)
RS_WIDES(RECURRENCE)

#define RS_FIELDS(X, p, in) X(p, factor, in factor) X(p, term, in term)
#define RS_N recurrence_f32
#define RS_W f32
#include "blocks.h"
#define RS_N recurrence_f64
#define RS_W f64
#include "blocks.h"
#define RS_N recurrence_u32
#define RS_W u32
#include "blocks.h"
#define RS_N recurrence_u64
#define RS_W u64
#include "blocks.h"
#undef RS_FIELDS

/* ---- advantages -------------------------------------------------------------------------------------------------- */

/* One element after another: what came before is dropped where an episode ends. */
#define GAE(wide)                                                                                                      \
  typedef struct total_gae_##wide {                                                                                    \
    total_recurrence_##wide map;                                                                                       \
    wide drops;                                                                                                        \
  } total_gae_##wide;                                                                                                  \
  static void load_gae_##wide(void *total, const void *number, const void *others) {                                   \
    const wide *other = others, reward = *(const wide *)number, value = other[0], next = other[1];                     \
    wide ahead = other[2] != 0 ? reward : RS_FUSED(other[4], next, reward);                                            \
    *(total_gae_##wide *)total = (total_gae_##wide){{other[4] * other[5], ahead - value}, other[3] != 0};              \
  }                                                                                                                    \
  static void begin_gae_##wide(void *total, const void *number) {                                                      \
    *(total_gae_##wide *)total = (total_gae_##wide){begin_recurrence_##wide(*(const wide *)number), 0};                \
  }                                                                                                                    \
  static void neutral_gae_##wide(void *total) {                                                                        \
    *(total_gae_##wide *)total = (total_gae_##wide){neutral_recurrence_##wide(), 0};                                   \
  }                                                                                                                    \
  static void identity_gae_##wide(void *total) {                                                                       \
    *(total_gae_##wide *)total = (total_gae_##wide){identity_recurrence_##wide(), 0};                                  \
  }                                                                                                                    \
  static void combine_gae_##wide(void *to, const void *left, const void *right) {                                      \
    total_gae_##wide a = *(const total_gae_##wide *)left, b = *(const total_gae_##wide *)right;                        \
    total_recurrence_##wide both = join_recurrence_##wide(a.map, b.map);                                               \
    *(total_gae_##wide *)to = (total_gae_##wide){b.drops != 0 ? b.map : both, a.drops != 0 || b.drops != 0};           \
  }                                                                                                                    \
  static void store_gae_##wide(void *number, const void *total) {                                                      \
    *(wide *)number = ((const total_gae_##wide *)total)->map.term;                                                     \
  }                                                                                                                    \
  static void second_gae_##wide(void *y, const void *total, const void *number, const void *others) {                  \
    (void)number;                                                                                                      \
    *(wide *)y = ((const total_gae_##wide *)total)->map.term + *(const wide *)others;                                  \
  }
GAE(f32)
GAE(f64)

/* ---- recurrences with weights, or with one coefficient for all --------------------------------------------------- */

#define WEIGHTED(wide)                                                                                                 \
  static void load_weighted_##wide(void *total, const void *number, const void *others) {                              \
    *(total_recurrence_##wide *)total = (total_recurrence_##wide){*(const wide *)others, *(const wide *)number};       \
  }                                                                                                                    \
  static void second_weighted_##wide(void *y, const void *total, const void *number, const void *others) {             \
    (void)number;                                                                                                      \
    *(wide *)y = ((const total_recurrence_##wide *)total)->term * ((const wide *)others)[1];                           \
  }
WEIGHTED(f32)
WEIGHTED(f64)

/* ---- gradients of maxima and minima ------------------------------------------------------------------------------ */

/* to[i] = f(x[i], y[i]) */
#define OF_TWO(name, wide, f)                                                                                          \
  static void name##_##wide(void *to, const void *x, const void *y, rs_grid g) {                                       \
    for (int64_t l = 0; l < g.lines; l++) {                                                                            \
      wide *restrict t = (wide *)to + l * g.to;                                                                        \
      const wide *a = (const wide *)x + l * g.from, *b = (const wide *)y + l * g.mask;                                 \
      for (int64_t i = 0; i < g.n; i++)                                                                                \
        t[i] = (wide)f(a[i], b[i]);                                                                                    \
    }                                                                                                                  \
  }

/* Their sums begin anew behind a result that is its element: those in segments. */
#define EXTREMUM(wide)                                                                                                 \
  RS_INLINE int is_one_##wide(wide x, wide y) {                                                                        \
    return (x == y) | ((x != x) & (y != y));                                                                           \
  }                                                                                                                    \
  OF_TWO(same, wide, is_one_##wide)
EXTREMUM(f32)
EXTREMUM(f64)

/* ---- logarithms of sums ------------------------------------------------------------------------------------------ */

#define LOGSUMEXP(wide)                                                                                                \
  typedef struct total_logsumexp_##wide {                                                                              \
    wide highest, sum;                                                                                                 \
  } total_logsumexp_##wide;                                                                                            \
  RS_INLINE total_logsumexp_##wide of_logsumexp_##wide(wide x, wide unused) {                                          \
    (void)unused;                                                                                                      \
    return (total_logsumexp_##wide){x, 1};                                                                             \
  }                                                                                                                    \
  RS_INLINE total_logsumexp_##wide join_logsumexp_##wide(total_logsumexp_##wide a, total_logsumexp_##wide b) {         \
    wide d = a.highest - b.highest;                                                                                    \
    int higher = d > 0, nan = a.highest != a.highest;                                                                  \
    d = higher ? d : -d;                                                                                               \
    wide e = exp_##wide(d < RS_MOST_##wide ? d : RS_MOST_##wide);                                                      \
    return (total_logsumexp_##wide){higher | nan ? a.highest : b.highest,                                              \
                                    RS_FUSED(higher ? b.sum : a.sum, e, higher ? a.sum : b.sum)};                      \
  }                                                                                                                    \
  RS_INLINE wide show_logsumexp_##wide(total_logsumexp_##wide t) {                                                     \
    wide sum = log_##wide(t.sum, t.highest);                                                                           \
    return t.sum == 1 ? t.highest : sum;                                                                               \
  }                                                                                                                    \
  OF_NUMBERS(logsumexp, wide, -(wide)INFINITY, -(wide)INFINITY)
LOGSUMEXP(f32)
LOGSUMEXP(f64)

#define RS_ALSO_CUT
#define RS_FIELDS(X, p, in) X(p, highest, in highest) X(p, sum, in sum)
#define RS_N logsumexp_f32
#define RS_W f32
#include "blocks.h"
#define RS_N logsumexp_f64
#define RS_W f64
#include "blocks.h"
#undef RS_FIELDS

/* ---- gradients of logarithms of sums ----------------------------------------------------------------------------- */

#define LOGSUMEXP_GRADIENT(wide, most)                                                                                 \
  RS_INLINE wide part1_##wide(wide x, wide y) {                                                                        \
    wide d = y - x, e = exp_##wide(d > 0 && d <= RS_MOST_##wide ? d : 0);                                              \
    return d > RS_MOST_##wide || x < -(most) ? 0 : e;                                                                  \
  }                                                                                                                    \
  static void second_scaled_##wide(void *number, const void *total, const void *g, const void *others) {               \
    const wide *other = others;                                                                                        \
    (void)g;                                                                                                           \
    *(wide *)number = ((const total_logsumexp_##wide *)total)->sum * part1_##wide(other[0], other[1]);                 \
  }                                                                                                                    \
  OF_TWO(part, wide, part1_##wide)                                                                                     \
  typedef total_logsumexp_##wide total_scaled_##wide;                                                                  \
  RS_INLINE total_scaled_##wide of_scaled_##wide(wide x, wide y) {                                                     \
    return (total_scaled_##wide){-y < -(most) ? -(most) : -y, y == y ? x : y};                                         \
  }                                                                                                                    \
  RS_INLINE total_scaled_##wide join_scaled_##wide(total_scaled_##wide a, total_scaled_##wide b) {                     \
    return join_logsumexp_##wide(a, b);                                                                                \
  }                                                                                                                    \
  RS_INLINE wide show_scaled_##wide(total_scaled_##wide t) {                                                           \
    return t.sum;                                                                                                      \
  }                                                                                                                    \
  RS_INLINE total_scaled_##wide begin_scaled_##wide(wide y) {                                                          \
    return (total_scaled_##wide){-(most), y};                                                                          \
  }                                                                                                                    \
  RS_INLINE total_scaled_##wide neutral_scaled_##wide(void) {                                                          \
    return (total_scaled_##wide){-(wide)INFINITY, -(wide)0};                                                           \
  }                                                                                                                    \
  RS_INLINE total_scaled_##wide identity_scaled_##wide(void) {                                                         \
    return (total_scaled_##wide){-(wide)INFINITY, 0};                                                                  \
  }                                                                                                                    \
  static void load_gradient_##wide(void *total, const void *number, const void *others) {                              \
    *(total_scaled_##wide *)total = of_scaled_##wide(*(const wide *)number, ((const wide *)others)[1]);                \
  }                                                                                                                    \
  RS_INLINE int omitted_scaled_##wide(wide unused) {                                                                   \
    (void)unused;                                                                                                      \
    return 0;                                                                                                          \
  }
LOGSUMEXP_GRADIENT(f32, FLT_MAX)
LOGSUMEXP_GRADIENT(f64, DBL_MAX)

#undef RS_ALSO_CUT
#define RS_LOADS_ONE
#define RS_FIELDS(X, p, in) X(p, highest, in highest) X(p, sum, in sum)
#define RS_N scaled_f32
#define RS_W f32
#include "blocks.h"
#define RS_N scaled_f64
#define RS_W f64
#include "blocks.h"
#undef RS_FIELDS
#undef RS_LOADS_ONE
#define RS_ALSO_CUT

/* ---- products with exponents of their own ------------------------------------------------------------------------ */

#define EXTENDED_PROD(wide, u, i, digits, bias)                                                                        \
  typedef struct total_product_##wide {                                                                                \
    wide fraction;                                                                                                     \
    i exponent;                                                                                                        \
  } total_product_##wide;                                                                                              \
  RS_INLINE wide power_##wide(u biased) {                                                                              \
    u word = biased << digits;                                                                                         \
    wide value;                                                                                                        \
    memcpy(&value, &word, sizeof value);                                                                               \
    return value;                                                                                                      \
  }                                                                                                                    \
  RS_INLINE total_product_##wide of_product_##wide(wide x, wide unused) {                                              \
    (void)unused;                                                                                                      \
    const u one = (u)bias << digits, field = ((u)2 * bias + 1) << digits;                                              \
    u word;                                                                                                            \
    memcpy(&word, &x, sizeof word);                                                                                    \
    u lift = word & field ? 0 : digits + 1;                                                                            \
    wide fraction = x * power_##wide(bias + lift);                                                                     \
    memcpy(&word, &fraction, sizeof word);                                                                             \
    u exponent = word & field;                                                                                         \
    int none = (exponent == 0) | (exponent == field);                                                                  \
    i e = (i)((exponent >> digits) - bias - lift);                                                                     \
    word = (word & ~field) | one;                                                                                      \
    memcpy(&fraction, &word, sizeof word);                                                                             \
    return (total_product_##wide){none ? x : fraction, none ? 0 : e};                                                  \
  }                                                                                                                    \
  RS_INLINE total_product_##wide join_product_##wide(total_product_##wide a, total_product_##wide b) {                 \
    wide fraction = a.fraction * b.fraction;                                                                           \
    int carries = RS_MAGNITUDE(fraction) >= 2;                                                                         \
    return (total_product_##wide){fraction * (carries ? (wide)0.5 : 1),                                                \
                                  (i)((u)a.exponent + (u)b.exponent + (u)carries)};                                    \
  }                                                                                                                    \
  RS_INLINE wide show_product_##wide(total_product_##wide t) {                                                         \
    const i least = 2 - 2 * bias, most = 2 * bias;                                                                     \
    i e = t.exponent < least ? least : t.exponent;                                                                     \
    u biased = (u)((e > most ? most : e) + 2 * bias), half = biased >> 1;                                              \
    return t.fraction * power_##wide(half) * power_##wide(biased - half);                                              \
  }                                                                                                                    \
  OF_NUMBERS(product, wide, 1, 1)
EXTENDED_PROD(f32, u32, i32, 23, 127)
EXTENDED_PROD(f64, u64, i64, 52, 1023)

#define RS_FIELDS(X, p, in) X(p, fraction, in fraction) X(p, exponent, in exponent)
#define RS_N product_f32
#define RS_W f32
#include "blocks.h"
#define RS_N product_f64
#define RS_W f64
#include "blocks.h"
#undef RS_FIELDS

/* ---- indices ----------------------------------------------------------------------------------------------------- */

/*
 * Of keys, which are in the order of the values, whatever those are; for the lowest one turned. Indices count from the
 * first element that is scanned, or in reverse scans from -1 - length, so that an index in memory is -2 - index.
 */
#define INDEX(name, turned, first)                                                                                     \
  typedef struct total_##name {                                                                                        \
    u64 key;                                                                                                           \
    i64 index, count; /* -1: there is none */                                                                          \
  } total_##name;                                                                                                      \
  RS_INLINE total_##name of_##name(u64 key, u64 unused) {                                                              \
    (void)unused;                                                                                                      \
    return (total_##name){turned ? ~key : key, 0, 1};                                                                  \
  }                                                                                                                    \
  RS_INLINE total_##name begin_##name(u64 unused) {                                                                    \
    (void)unused;                                                                                                      \
    return (total_##name){0, -1, 0};                                                                                   \
  }                                                                                                                    \
  RS_INLINE total_##name neutral_##name(void) {                                                                        \
    return (total_##name){0, -1, 0};                                                                                   \
  }                                                                                                                    \
  RS_INLINE total_##name identity_##name(void) {                                                                       \
    return (total_##name){0, -1, 1};                                                                                   \
  }                                                                                                                    \
  RS_INLINE int omitted_##name(u64 key) {                                                                              \
    return key == (turned ? 0 : UINT64_MAX);                                                                           \
  }                                                                                                                    \
  RS_INLINE total_##name join_##name(total_##name a, total_##name b) {                                                 \
    int later = first ? (b.key > a.key) | (a.index == -1) : (b.key >= a.key) & (b.index != -1);                        \
    i64 moved = b.index == -1 ? -1 : b.index + a.count;                                                                \
    return (total_##name){later ? b.key : a.key, later ? moved : a.index, a.count + b.count};                          \
  }                                                                                                                    \
  RS_INLINE total_##name after_##name(total_##name a, total_##name b) {                                                \
    return (total_##name){b.key, b.index == -1 ? -1 : b.index + a.count, a.count + b.count};                           \
  }                                                                                                                    \
  RS_INLINE u64 show_##name(total_##name t) {                                                                          \
    return (u64)(t.index < -1 ? -2 - t.index : t.index);                                                               \
  }
INDEX(last_highest, 0, 0)
INDEX(first_highest, 0, 1)
INDEX(last_lowest, 1, 0)
INDEX(first_lowest, 1, 1)

#define RS_FIELDS(X, p, in) X(p, key, in key) X(p, index, in index) X(p, count, in count)
#define RS_W u64
#define RS_N last_highest
#include "blocks.h"
#define RS_W u64
#define RS_N first_highest
#include "blocks.h"
#define RS_W u64
#define RS_N last_lowest
#include "blocks.h"
#define RS_W u64
#define RS_N first_lowest
#include "blocks.h"
#undef RS_FIELDS
#undef RS_ALSO_CUT

/* Where folds start: indices count. */
static void start_index(void *total, const rowscan_spec *spec) {
  *(total_last_highest *)total = (total_last_highest){0, -1, spec->flags & ROWSCAN_REVERSE ? -1 - spec->length : 0};
}

/* Keys of what the indices are of, which stand first in a total, in segments too. */
static void second_of_highest(void *y, const void *total, const void *x, const void *more) {
  const total_last_highest *t = total;
  (void)x, (void)more;
  if (t->index != -1)
    memcpy(y, &t->key, sizeof t->key);
}

static void second_of_lowest(void *y, const void *total, const void *x, const void *more) {
  const total_last_lowest *t = total;
  u64 key = ~t->key;
  (void)x, (void)more;
  if (t->index != -1)
    memcpy(y, &key, sizeof key);
}

/* ---- numbers, of operators that have loops without segments ------------------------------------------------------ */

/* Integers go as u64, of which the lowest bits are those of u32; an order's numbers as keys of 64 bits. */
#define RS_PICK(condition, a, b) ((condition) ? (a) : (b))
#define NUMBER(name, wide)                                                                                             \
  typedef struct total_##name##_##wide {                                                                               \
    wide number;                                                                                                       \
  } total_##name##_##wide;                                                                                             \
  RS_INLINE total_##name##_##wide of_##name##_##wide(wide x, wide unused) {                                            \
    (void)unused;                                                                                                      \
    return (total_##name##_##wide){x};                                                                                 \
  }                                                                                                                    \
  RS_INLINE total_##name##_##wide join_##name##_##wide(total_##name##_##wide a, total_##name##_##wide b) {             \
    return (total_##name##_##wide){rs_combine_##name(a.number, b.number)};                                             \
  }                                                                                                                    \
  RS_INLINE wide show_##name##_##wide(total_##name##_##wide t) {                                                       \
    return t.number;                                                                                                   \
  }                                                                                                                    \
  OF_NUMBERS(name, wide, (wide)rs_neutral_##name, (wide)rs_neutral_##name)
#define X(enumerator, name, kernel) NUMBER(name, f32) NUMBER(name, f64) NUMBER(name, u64)
RS_ARITHMETIC_OPS(X)
#undef X
#define X(enumerator, name, kernel) NUMBER(name, u64)
RS_ORDER_OPS(X)
RS_BIT_OPS(X)
#undef X

#define RS_CUT
#define RS_FIELDS(X, p, in) X(p, number, in number)
#define RS_N sum_f32
#define RS_W f32
#include "blocks.h"
#define RS_N sum_f64
#define RS_W f64
#include "blocks.h"
#define RS_N sum_u64
#define RS_W u64
#include "blocks.h"
#define RS_N prod_f32
#define RS_W f32
#include "blocks.h"
#define RS_N prod_f64
#define RS_W f64
#include "blocks.h"
#define RS_N prod_u64
#define RS_W u64
#include "blocks.h"
#define RS_N max_u64
#define RS_W u64
#include "blocks.h"
#define RS_N min_u64
#define RS_W u64
#include "blocks.h"
#define RS_N and_u64
#define RS_W u64
#include "blocks.h"
#define RS_N or_u64
#define RS_W u64
#include "blocks.h"
#define RS_N xor_u64
#define RS_W u64
#include "blocks.h"
#undef RS_FIELDS
#undef RS_CUT
#undef RS_PICK

/* ---- the tables -------------------------------------------------------------------------------------------------- */

static const rs_totals recurrence[RS_WIDE_COUNT] = {
#define X(wide, c) [RS_WIDE_##wide] = TOTALS(recurrence_##wide),
    RS_WIDES(X)
#undef X
};
#define OF_GAE(wide)                                                                                                   \
  [RS_WIDE_##wide] = {.bytes = (sizeof(total_gae_##wide) + 7) / 8 * 8,                                                 \
                      .load = load_gae_##wide,                                                                         \
                      .begin = begin_gae_##wide,                                                                       \
                      .neutral = neutral_gae_##wide,                                                                   \
                      .identity = identity_gae_##wide,                                                                 \
                      .combine = combine_gae_##wide,                                                                   \
                      .store = store_gae_##wide,                                                                       \
                      .second = second_gae_##wide}
static const rs_totals gae[] = {OF_GAE(f32), OF_GAE(f64)};
#define OF_WEIGHTED(wide)                                                                                              \
  [RS_WIDE_##wide] = {.bytes = sizeof(total_recurrence_##wide),                                                        \
                      .load = load_weighted_##wide,                                                                    \
                      .begin = begin1_recurrence_##wide,                                                               \
                      .neutral = neutral1_recurrence_##wide,                                                           \
                      .identity = identity1_recurrence_##wide,                                                         \
                      .combine = combine1_recurrence_##wide,                                                           \
                      .store = store1_recurrence_##wide,                                                               \
                      .load_block = load_recurrence_##wide,                                                            \
                      .push_line = push_recurrence_##wide,                                                             \
                      .scan_block = scan_recurrence_##wide,                                                            \
                      .second = second_weighted_##wide}
static const rs_totals weighted[] = {OF_WEIGHTED(f32), OF_WEIGHTED(f64)};
/* Sums in segments beside a mask, where the mask of a gradient is true. */
#define SECOND_SUM(wide)                                                                                               \
  static void second_sum_##wide(void *y, const void *total, const void *number, const void *others) {                  \
    (void)number;                                                                                                      \
    *(wide *)y = *(const wide *)others != 0 ? ((const total_cut_sum_##wide *)total)->in.number : 0;                    \
  }
SECOND_SUM(f32)
SECOND_SUM(f64)
#define OF_SCALED(wide)                                                                                                \
  [RS_WIDE_##wide] = {.bytes = sizeof(total_scaled_##wide),                                                            \
                      .load = load_gradient_##wide,                                                                    \
                      .begin = begin1_scaled_##wide,                                                                   \
                      .neutral = neutral1_scaled_##wide,                                                               \
                      .identity = identity1_scaled_##wide,                                                             \
                      .combine = combine1_scaled_##wide,                                                               \
                      .store = store1_scaled_##wide,                                                                   \
                      .load_block = load_scaled_##wide,                                                                \
                      .push_line = push_scaled_##wide,                                                                 \
                      .scan_block = scan_scaled_##wide,                                                                \
                      .second = second_scaled_##wide}
static const rs_totals logsumexp_gradient[] = {OF_SCALED(f32), OF_SCALED(f64)};
static const rs_totals logsumexp[] = {[RS_WIDE_f32] = TOTALS(logsumexp_f32), [RS_WIDE_f64] = TOTALS(logsumexp_f64)};
static const rs_totals extended_prod[] = {[RS_WIDE_f32] = TOTALS(product_f32), [RS_WIDE_f64] = TOTALS(product_f64)};

/* By whether the lowest is wanted, and the first of equal ones. */
#define COUNTED(name, which) TOTALS(name, .start = start_index, .second = second_of_##which)
static const rs_totals indices[2][2] = {{COUNTED(last_highest, highest), COUNTED(first_highest, highest)},
                                        {COUNTED(last_lowest, lowest), COUNTED(first_lowest, lowest)}};

/* The same in segments, and what has loops otherwise: of floats in an order keys of 64 bits. */
#define CUT_COUNTED(name, which)                                                                                       \
  TOTALS(cut_##name, .without = without1_cut_##name, .start = start_index, .second = second_of_##which)
static const rs_totals cut_indices[2][2] = {{CUT_COUNTED(last_highest, highest), CUT_COUNTED(first_highest, highest)},
                                            {CUT_COUNTED(last_lowest, lowest), CUT_COUNTED(first_lowest, lowest)}};
#define CUT_AS(name) TOTALS(cut_##name, .without = without1_cut_##name)
static const rs_totals cut[RS_OP_COUNT][RS_WIDE_COUNT] = {
    [ROWSCAN_LOGSUMEXP] = {[RS_WIDE_f32] = CUT_AS(logsumexp_f32), [RS_WIDE_f64] = CUT_AS(logsumexp_f64)},
    [ROWSCAN_EXTENDED_PROD] = {[RS_WIDE_f32] = CUT_AS(product_f32), [RS_WIDE_f64] = CUT_AS(product_f64)},
#define CUT_GRADIENT(wide) TOTALS(cut_sum_##wide, .without = without1_cut_sum_##wide, .second = second_sum_##wide)
    [ROWSCAN_SUM_GRADIENT] = {[RS_WIDE_f32] = CUT_GRADIENT(f32), [RS_WIDE_f64] = CUT_GRADIENT(f64)},
#define CUT(name, wide) [RS_WIDE_##wide] = CUT_AS(name##_##wide)
#define X(enumerator, name, kernel) [enumerator] = {CUT(name, f32), CUT(name, f64), CUT(name, u64)},
    RS_ARITHMETIC_OPS(X)
#undef X
#define X(enumerator, name, kernel) [enumerator] = {[RS_WIDE_f64] = CUT_AS(name##_u64), CUT(name, u64)},
        RS_ORDER_OPS(X)
#undef X
#define X(enumerator, name, kernel) [enumerator] = {CUT(name, u64)},
            RS_BIT_OPS(X)
#undef X
};

static const rs_totals *totals_of(const rowscan_spec *spec, rs_wide wide) {
  bool lowest = spec->op == ROWSCAN_ARGMIN, first = spec->flags & ROWSCAN_TIES_FIRST;
  bool cuts = (int)spec->op < RS_OP_COUNT && (cut[spec->op][wide].load || rs_op_of(spec->op)->kind == RS_INDEX);
  if (spec->op == ROWSCAN_EXTREMUM_GRADIENT)
    return &cut[ROWSCAN_SUM][wide];
  if (rs_spec_segments(spec) && cuts)
    return rs_op_of(spec->op)->kind == RS_INDEX ? &cut_indices[lowest][first] : &cut[spec->op][wide];
  switch ((int)spec->op) {
  case ROWSCAN_LINEAR_RECURRENCE:
    return &recurrence[wide];
  case ROWSCAN_GAE:
    return &gae[wide];
  case ROWSCAN_WEIGHTED_RECURRENCE:
  case ROWSCAN_DECAYED_SUM:
    return &weighted[wide];
  case ROWSCAN_LOGSUMEXP_GRADIENT:
    return &logsumexp_gradient[wide];
  case ROWSCAN_LOGSUMEXP:
    return &logsumexp[wide];
  case ROWSCAN_EXTENDED_PROD:
    return &extended_prod[wide];
  case ROWSCAN_ARGMAX:
  case ROWSCAN_ARGMIN:
    return &indices[lowest][first];
  default:
    return NULL;
  }
}
