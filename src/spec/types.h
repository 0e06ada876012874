/*
 * types.h - the tables of element types, of operators and of other words; a further one is one more row
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TYPES_H
#define RS_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/machine.h"
#include "rowscan.h"

/* X(enumerator, name, bytes, kind). The name is also the type's name in kernels/types.cuh. */
#define RS_TYPES(X)                                                                                                    \
  X(ROWSCAN_F16, f16, 2, RS_FLOAT)                                                                                     \
  X(ROWSCAN_BF16, bf16, 2, RS_FLOAT)                                                                                   \
  X(ROWSCAN_F32, f32, 4, RS_FLOAT)                                                                                     \
  X(ROWSCAN_F64, f64, 8, RS_FLOAT)                                                                                     \
  X(ROWSCAN_I8, i8, 1, RS_SIGNED)                                                                                      \
  X(ROWSCAN_U8, u8, 1, RS_UNSIGNED)                                                                                    \
  X(ROWSCAN_I16, i16, 2, RS_SIGNED)                                                                                    \
  X(ROWSCAN_U16, u16, 2, RS_UNSIGNED)                                                                                  \
  X(ROWSCAN_I32, i32, 4, RS_SIGNED)                                                                                    \
  X(ROWSCAN_U32, u32, 4, RS_UNSIGNED)                                                                                  \
  X(ROWSCAN_I64, i64, 8, RS_SIGNED)                                                                                    \
  X(ROWSCAN_U64, u64, 8, RS_UNSIGNED)                                                                                  \
  X(ROWSCAN_BOOL, bool, 1, RS_BOOL)

/* Accumulators: those types, and fixed point, by the bits after the point, which no elements have. */
/* clang-format off */
#define RS_FIXED_ROW(X, k) X(ROWSCAN_FIXED(k), fixed:k, 8, RS_FIXED)
#define RS_FIXED_ROWS(X, F)                                                                                            \
  F(X, 0) F(X, 1) F(X, 2) F(X, 3) F(X, 4) F(X, 5) F(X, 6) F(X, 7) F(X, 8)                                              \
  F(X, 9) F(X, 10) F(X, 11) F(X, 12) F(X, 13) F(X, 14) F(X, 15) F(X, 16) F(X, 17)                                      \
  F(X, 18) F(X, 19) F(X, 20) F(X, 21) F(X, 22) F(X, 23) F(X, 24) F(X, 25) F(X, 26)                                     \
  F(X, 27) F(X, 28) F(X, 29) F(X, 30) F(X, 31) F(X, 32) F(X, 33) F(X, 34) F(X, 35)                                     \
  F(X, 36) F(X, 37) F(X, 38) F(X, 39) F(X, 40) F(X, 41) F(X, 42) F(X, 43) F(X, 44)                                     \
  F(X, 45) F(X, 46) F(X, 47) F(X, 48) F(X, 49) F(X, 50) F(X, 51) F(X, 52) F(X, 53)                                     \
  F(X, 54) F(X, 55) F(X, 56) F(X, 57) F(X, 58) F(X, 59) F(X, 60) F(X, 61) F(X, 62)
/* clang-format on */
#define RS_ACCUMULATORS(X) RS_TYPES(X) RS_FIXED_ROWS(X, RS_FIXED_ROW)

/*
 * X(enumerator, name, kernel): `kernel` is the operator's struct in kernels/ops.cuh; src/host/ops.h has its twin.
 * Arithmetic wraps, and results of integers are wider unless told otherwise. Operators of an order select one of their
 * elements, and those of bits combine the bits of integers and of bool: results have the elements' type or one with all
 * of its values, and masks can't multiply. Recurrences are arithmetic with a second array, of coefficients. Logarithms
 * and extended arithmetic are of floats; masks can't multiply the former. Indices say where the highest
 * element was, or the lowest. Advantages are recurrences of several inputs. Gradients are sums of floats that take
 * further inputs, and are shown with them. From recurrences on all have totals of several numbers, but for the
 * gradients of sums.
 */
#define RS_ARITHMETIC_OPS(X)                                                                                           \
  X(ROWSCAN_SUM, sum, Sum)                                                                                             \
  X(ROWSCAN_PROD, prod, Prod)
#define RS_ORDER_OPS(X)                                                                                                \
  X(ROWSCAN_MAX, max, Max)                                                                                             \
  X(ROWSCAN_MIN, min, Min)
#define RS_BIT_OPS(X)                                                                                                  \
  X(ROWSCAN_AND, and, And)                                                                                             \
  X(ROWSCAN_OR, or, Or)                                                                                                \
  X(ROWSCAN_XOR, xor, Xor)
#define RS_RECURRENCE_OPS(X) X(ROWSCAN_LINEAR_RECURRENCE, linear_recurrence, LinearRecurrence)
#define RS_LOGARITHM_OPS(X) X(ROWSCAN_LOGSUMEXP, logsumexp, LogSumExp)
#define RS_EXTENDED_OPS(X) X(ROWSCAN_EXTENDED_PROD, extended_prod, ExtendedProd)
#define RS_INDEX_OPS(X)                                                                                                \
  X(ROWSCAN_ARGMAX, argmax, ArgMax)                                                                                    \
  X(ROWSCAN_ARGMIN, argmin, ArgMin)
#define RS_ADVANTAGE_OPS(X) X(ROWSCAN_GAE, gae, Gae)
#define RS_GRADIENT_OPS(X) /* and the rest of the row */                                                               \
  X(ROWSCAN_WEIGHTED_RECURRENCE, weighted_recurrence, WeightedRecurrence, .kind = RS_WEIGHTED, .numbers = 2,           \
    .more = 2, .second = true, .weighs = true)                                                                         \
  X(ROWSCAN_DECAYED_SUM, decayed_sum, DecayedSum, .kind = RS_WEIGHTED, .numbers = 2, .params = 1)                      \
  X(ROWSCAN_SUM_GRADIENT, sum_gradient, SumGradient, .kind = RS_GRADIENT, .numbers = 1, .more = 1, .flags = 1,         \
    .second = true, .weighs = true)                                                                                    \
  X(ROWSCAN_EXTREMUM_GRADIENT, extremum_gradient, ExtremumGradient, .kind = RS_GRADIENT, .numbers = 2, .more = 2,      \
    .second = true, .weighs = true)                                                                                    \
  X(ROWSCAN_LOGSUMEXP_GRADIENT, logsumexp_gradient, LogSumExpGradient, .kind = RS_GRADIENT, .numbers = 2, .more = 2,   \
    .second = true, .weighs = true, .ordered = true)
#define RS_LOOP_OPS(X) RS_ARITHMETIC_OPS(X) RS_ORDER_OPS(X) RS_BIT_OPS(X) /* with loops of their own on the host */
#define RS_TOTALS_OPS(X)                                                                                               \
  RS_RECURRENCE_OPS(X)                                                                                                 \
  RS_LOGARITHM_OPS(X) RS_EXTENDED_OPS(X) RS_INDEX_OPS(X) RS_ADVANTAGE_OPS(X) RS_GRADIENT_OPS(X)
#define RS_OPS(X) RS_LOOP_OPS(X) RS_TOTALS_OPS(X)

/* X(enumerator, name). Mask modes but for "none", which is 0; layouts; regimes. */
#define RS_SEGMENT_MODES(X)                                                                                            \
  X(ROWSCAN_MASK_HEADS, heads)                                                                                         \
  X(ROWSCAN_MASK_TAILS, tails)                                                                                         \
  X(ROWSCAN_MASK_KEYS, keys)
#define RS_MASK_MODES(X)                                                                                               \
  X(ROWSCAN_MASK_SELECT, select)                                                                                       \
  X(ROWSCAN_MASK_MULTIPLY, multiply)                                                                                   \
  X(ROWSCAN_MASK_COEFFICIENT, coefficient)                                                                             \
  RS_SEGMENT_MODES(X)

#define RS_LAYOUTS(X)                                                                                                  \
  X(ROWSCAN_LAYOUT_ROWS, rows)                                                                                         \
  X(ROWSCAN_LAYOUT_COLUMNS, columns)

#define RS_REGIMES(X)                                                                                                  \
  X(ROWSCAN_REGIME_AUTO, auto)                                                                                         \
  X(ROWSCAN_REGIME_ROW, row)                                                                                           \
  X(ROWSCAN_REGIME_SHORT, short)                                                                                       \
  X(ROWSCAN_REGIME_LONG, long)                                                                                         \
  X(ROWSCAN_REGIME_COLUMN, column)

/* The names of such a table by enumerator, as the initialiser of an array; and as text: "sum, prod", "sum|prod". */
#define RS_NAMED(enumerator, name, ...) [enumerator] = #name,
#define RS_NAMES(table)                                                                                                \
  { table(RS_NAMED) }
#define RS_AFTER_COMMA(enumerator, name, ...) ", " #name
#define RS_LISTED_AND(table, more) (&(table(RS_AFTER_COMMA) more)[2])
#define RS_LISTED(table) RS_LISTED_AND(table, "")
#define RS_AFTER_BAR(enumerator, name, ...) "|" #name
#define RS_BARRED(table) (&(table(RS_AFTER_BAR))[1])

typedef enum rs_kind { RS_NO_KIND = 0, RS_FLOAT, RS_SIGNED, RS_UNSIGNED, RS_BOOL, RS_FIXED } rs_kind;

typedef enum rs_op_kind {
  RS_ARITHMETIC = 0,
  RS_ORDER,
  RS_BITS,
  RS_RECURRENCE,
  RS_LOGARITHM,
  RS_EXTENDED,
  RS_INDEX,
  RS_ADVANTAGE,
  RS_WEIGHTED,
  RS_GRADIENT
} rs_op_kind;

/* The accumulators that an operator of rowscan_op_create serves. */
typedef enum rs_op_types { RS_ANY_TYPES = 0, RS_FLOATS, RS_INTEGERS } rs_op_types;

/* What such an operator has on the host, for one type of numbers; NULL: it has none. */
typedef struct rs_op_on_host {
  rowscan_op_functions functions;
  rowscan_op_second *second;
} rs_op_on_host;

/* An operator; from `types` on: of rowscan_op_create. */
typedef struct rs_op {
  const char *name, *kernel;
  rs_op_kind kind;
  int numbers; /* that a total takes */
  bool coefficient;
  int more, params; /* further inputs; numbers of a run */
  unsigned flags;   /* which of the further inputs are flags, a bit each; of created operators nobody knows */
  bool second;      /* it has a second output */
  bool ordered;     /* combine(a, b) is combine(b, a) but for NaNs and infinities, although ops.cuh says that it is */
  bool weighs;      /* the first output shows a prefix with its element, and the second one the prefix itself */
  rs_op_types types;
  const char *source;     /* of the kernel's struct; NULL: kernels/ops.cuh has it */
  rs_op_on_host given[4]; /* by rs_op_functions and rs_op_second; without `load`: there are none */
} rs_op;

/*
 * Adds a row to the table of operators and returns its number; -1: the table has RS_MOST_CREATED rows of callers. Rows
 * stay. Whoever adds one holds a lock; rs_op_of, which each call asks, takes none.
 */
enum { RS_MOST_CREATED = 64 };
int rs_op_add(const rs_op *op);

rs_kind rs_type_kind(rowscan_type type); /* RS_NO_KIND for a value that is no type */
const rs_op *rs_op_of(rowscan_op op);    /* NULL for a value that is no operator */

/* The functions for an accumulator, which has a type; NULL: there are none, or the operator is the library's. */
const rowscan_op_functions *rs_op_functions(const rs_op *op, rowscan_type acc);
rowscan_op_second *rs_op_second(const rs_op *op, rowscan_type acc);

/* Whether an operator, be it one or not, has coefficients: asked by each call, so for the library's without another. */
static inline bool rs_op_has_coefficient(rowscan_op op) {
  const rs_op *created = op >= ROWSCAN_FIRST_CREATED ? rs_op_of(op) : NULL;
  return op == ROWSCAN_LINEAR_RECURRENCE || (created && created->coefficient);
}

/* Whether totals are numbers as elements are, so that one may be taken for the other. */
static inline bool rs_op_is_of_numbers(const rs_op *op) {
  return op->numbers == 1 && !op->source;
}

static inline bool rs_is_fixed(rowscan_type acc) {
  return acc >= ROWSCAN_FIXED_0;
}

/* Of what is in fixed point, the bits after the point. */
static inline int rs_point_of(rowscan_type acc) {
  return (int)acc - ROWSCAN_FIXED_0;
}

/* The type of initial values and totals, of which fixed point has whole numbers: times 2^k. */
static inline rowscan_type rs_kept_type(rowscan_type acc) {
  return rs_is_fixed(acc) ? ROWSCAN_I64 : acc;
}

/* Whether a factor of its totals tells where a segment begins beside a mask (Resetting in kernels/ops.cuh), so that
 * totals are no larger then. */
static inline bool rs_op_resets(const rs_op *op) {
  return op->kind == RS_RECURRENCE || op->kind == RS_WEIGHTED;
}

/* Whether an operator takes so many instructions that these, and not memory, are what a scan waits for. */
static inline bool rs_op_computes(const rs_op *op) {
  return op->kind == RS_LOGARITHM || op->kind == RS_EXTENDED || op->kind == RS_INDEX;
}

#endif
