/*
 * judge.c - the order of combination, slowly and obviously: what every engine is compared with
 * SPDX-License-Identifier: MIT
 *
 * Written from the definition in rowscan.h, one element at a time, and shares no code with the engines: a number is a
 * double or a 64-bit integer, and halves are rounded by looking for the nearest in the list of all of them.
 */
#include "judge.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "spec/spec.h"

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/*
 * An element: `real` if its type is floating, else `whole`, modulo 2^64. Of an affine map the term, and its factor; of
 * a logarithm the highest element, and the sum as a factor; of an extended product the fraction, and the exponent as
 * one; of an operator that a test has created the total that its functions know.
 */
typedef struct number {
  double real;
  uint64_t whole;
  union {
    struct {
      double real_factor;
      uint64_t whole_factor;
    };
    uint64_t created[4];
  };
  bool begins; /* of a total: one of its elements drops all that came before */
} number;

static bool floating(rowscan_type type) {
  return type == ROWSCAN_F16 || type == ROWSCAN_BF16 || type == ROWSCAN_F32 || type == ROWSCAN_F64;
}

static bool with_sign(rowscan_type type) {
  return type == ROWSCAN_I8 || type == ROWSCAN_I16 || type == ROWSCAN_I32 || type == ROWSCAN_I64;
}

static double value_of_half(rowscan_type type, uint16_t bits) {
  int fraction_bits = type == ROWSCAN_F16 ? 10 : 7, bias = type == ROWSCAN_F16 ? 15 : 127;
  int fraction = bits & ((1 << fraction_bits) - 1), exponent = (bits & 0x7fff) >> fraction_bits;
  double value;
  if (exponent == 2 * bias + 1)
    value = fraction ? (double)NAN : (double)INFINITY;
  else if (exponent == 0)
    value = ldexp(fraction, 1 - bias - fraction_bits);
  else
    value = ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  return bits & 0x8000 ? -value : value;
}

enum { HALVES = 1 << 16 };
static double halves[2][HALVES]; /* of bf16, of f16 */

static void list_halves(void) {
  for (int i = 0; i < HALVES; i++) {
    halves[0][i] = value_of_half(ROWSCAN_BF16, (uint16_t)i);
    halves[1][i] = value_of_half(ROWSCAN_F16, (uint16_t)i);
  }
}

/* The list is made once, for each value in it is looked up millions of times. */
static const double *all_halves(rowscan_type type) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, list_halves);
  return halves[type == ROWSCAN_F16];
}

double judge_value(rowscan_type type, uint16_t bits) {
  return all_halves(type)[bits];
}

uint16_t judge_round(rowscan_type type, double x) {
  const double *value = all_halves(type);
  uint16_t infinity = type == ROWSCAN_F16 ? 0x7c00 : 0x7f80, sign = signbit(x) ? 0x8000 : 0;
  if (isnan(x))
    return infinity | 1;
  x = fabs(x);
  uint16_t low = 0, high = infinity; /* the neighbours of x, once they are neighbours */
  while (high - low > 1) {
    uint16_t middle = (uint16_t)((low + high) / 2);
    if (value[middle] <= x)
      low = middle;
    else
      high = middle;
  }
  double step = high == infinity ? value[low] - value[low - 1] : value[high] - value[low];
  double tie = value[low] + step / 2;
  return sign | (x < tie || (x == tie && low % 2 == 0) ? low : high);
}

/*
 * An element's bytes as a number, little-endian, and back. Of sizes that the compiler knows, so that it calls no
 * memcpy: sanitizers watch each call, which was most of a suite's time.
 */
static uint64_t read_bytes(rowscan_type type, const void *p) {
  uint64_t bytes = 0;
  switch (rowscan_type_bytes(type)) {
  case 1:
    memcpy(&bytes, p, 1);
    break;
  case 2:
    memcpy(&bytes, p, 2);
    break;
  case 4:
    memcpy(&bytes, p, 4);
    break;
  default:
    memcpy(&bytes, p, 8);
    break;
  }
  return bytes;
}

void judge_write(rowscan_type type, void *p, uint64_t bits) {
  switch (rowscan_type_bytes(type)) {
  case 1:
    memcpy(p, &bits, 1);
    break;
  case 2:
    memcpy(p, &bits, 2);
    break;
  case 4:
    memcpy(p, &bits, 4);
    break;
  default:
    memcpy(p, &bits, 8);
    break;
  }
}

static number read_number(rowscan_type type, const void *p) {
  number n = {.whole = read_bytes(type, p)};
  uint16_t half;
  float single;
  switch (type) {
  case ROWSCAN_F16:
  case ROWSCAN_BF16:
    memcpy(&half, p, 2);
    n.real = judge_value(type, half);
    break;
  case ROWSCAN_F32:
    memcpy(&single, p, 4);
    n.real = (double)single;
    break;
  case ROWSCAN_F64:
    memcpy(&n.real, p, 8);
    break;
  case ROWSCAN_BOOL:
    n.whole = n.whole != 0;
    break;
  default:
    break;
  }
  if (with_sign(type)) {
    unsigned unused = 64 - 8 * (unsigned)rowscan_type_bytes(type);
    n.whole = (uint64_t)((int64_t)(n.whole << unused) >> unused);
  }
  return n;
}

static void write_number(rowscan_type type, void *p, number n) {
  float single = (float)n.real;
  switch (type) {
  case ROWSCAN_F16:
  case ROWSCAN_BF16:
    judge_write(type, p, judge_round(type, n.real));
    break;
  case ROWSCAN_F32:
    memcpy(p, &single, 4);
    break;
  case ROWSCAN_F64:
    memcpy(p, &n.real, 8);
    break;
  default:
    judge_write(type, p, n.whole);
  }
}

/* A result in the accumulator type, which each step of a computation rounds or wraps to. */
static number fit(rowscan_type acc, number n) {
  if (acc == ROWSCAN_F32)
    n.real = (double)(float)n.real;
  return n;
}

static number convert(rowscan_type acc, rowscan_type from, number n) {
  if (floating(acc) && !floating(from)) {
    if (acc == ROWSCAN_F32)
      n.real = with_sign(from) ? (double)(float)(int64_t)n.whole : (double)(float)n.whole;
    else
      n.real = with_sign(from) ? (double)(int64_t)n.whole : (double)n.whole;
  }
  return fit(acc, n);
}

/* a < b in the accumulator type, where -0 < +0; neither is a NaN. */
static bool less(rowscan_type acc, number a, number b) {
  if (floating(acc))
    return a.real < b.real || (a.real == b.real && signbit(a.real) > signbit(b.real));
  return with_sign(acc) ? (int64_t)a.whole < (int64_t)b.whole : a.whole < b.whole;
}

/* The later one of two elements, or the earlier one. Only elements have indices. */
static number select_index(const rowscan_spec *spec, number a, number b) {
  int64_t none = -1;
  if ((int64_t)a.whole_factor == none || (int64_t)b.whole_factor == none)
    return (int64_t)a.whole_factor == none ? b : a;
  bool real = floating(spec->in_type), a_nan = real && isnan(a.real), b_nan = real && isnan(b.real);
  bool less_b = !a_nan && (b_nan || less(spec->in_type, a, b)), less_a = !b_nan && (a_nan || less(spec->in_type, b, a));
  bool highest = spec->op == ROWSCAN_ARGMAX;
  if (a_nan != b_nan)
    return a_nan ? a : b;
  if (a_nan || (!less_a && !less_b))
    return spec->flags & ROWSCAN_TIES_FIRST ? a : b;
  return less_b == highest ? b : a;
}

static number select_one(const rowscan_spec *spec, number a, number b) {
  if (floating(spec->acc_type) && (isnan(a.real) || isnan(b.real)))
    return isnan(a.real) ? a : b;
  return less(spec->acc_type, a, b) == (spec->op == ROWSCAN_MAX) ? b : a;
}

/*
 * A double holds the sum and the product of two floats well enough to be rounded to float once more: 53 >= 2 * 24 + 2.
 */
static number sum(rowscan_type acc, number a, number b) {
  return fit(acc, (number){.real = a.real + b.real, .whole = a.whole + b.whole});
}

static number product(rowscan_type acc, number a, number b) {
  volatile double real = a.real * b.real; /* rounded, whatever the compiler would make of a sum that follows */
  return fit(acc, (number){.real = real, .whole = a.whole * b.whole});
}

static number factor_of(number a) {
  return (number){.real = a.real_factor, .whole = a.whole_factor};
}

/* y -> term + factor * y */
static number affine(number factor, number term) {
  term.real_factor = factor.real;
  term.whole_factor = factor.whole;
  return term;
}

/* a * b + c, rounded once. A product that vanishes beside a zero keeps its sign, which musl's fma() loses. */
static double fma_of(double a, double b, double c) {
  return c == 0 && a != 0 && b != 0 ? a * b : fma(a, b, c);
}

/* factor * y + term, rounded once. */
static number fused(rowscan_type acc, number factor, number y, number term) {
  double real = acc == ROWSCAN_F32 ? (double)fmaf((float)factor.real, (float)y.real, (float)term.real)
                                   : fma_of(factor.real, y.real, term.real);
  return (number){.real = real, .whole = factor.whole * y.whole + term.whole};
}

/* ---- fixed point ------------------------------------------------------------------------------------------------- */

/* The whole number nearest to x * 2^point, of two the even one, as far as 64 bits go; of a NaN the lowest. */
static uint64_t to_fixed(double x, int point) {
  double y = ldexp(x, point), below = floor(y), rest = y - below;
  if (isnan(y) || y <= -0x1p63)
    return UINT64_C(1) << 63;
  if (y >= 0x1p63)
    return INT64_MAX;
  uint64_t whole = (uint64_t)(int64_t)below;
  return whole + (rest > 0.5 || (rest == 0.5 && whole % 2 == 1));
}

/* whole * 2^-point, exactly but for what no narrower type tells: lost bits leave the last one set. */
static double from_fixed(uint64_t whole, int point, bool nearest) {
  bool negative = whole >> 63;
  uint64_t size = negative ? 0 - whole : whole;
  if (nearest)
    return ldexp(negative ? -(double)size : (double)size, -point);
  for (; size >> 53; point--)
    size = size >> 1 | (size & 1);
  return ldexp(negative ? -(double)size : (double)size, -point);
}

/* ---- logarithms and extended products ---------------------------------------------------------------------------- */

static double fused_in(rowscan_type acc, double a, double b, double c) {
  return acc == ROWSCAN_F32 ? (double)fmaf((float)a, (float)b, (float)c) : fma_of(a, b, c);
}

/* Coefficients from the highest on. */
static double polynomial(rowscan_type acc, const double *of, int count, double x) {
  double y = of[0];
  for (int i = 1; i < count; i++)
    y = fused_in(acc, y, x, of[i]);
  return y;
}

enum { EXP_SINGLE = 7, EXP_DOUBLE = 12, LOG_SINGLE = 8, LOG_DOUBLE = 21 };

/* exp(-d), of which no more than `most` counts; a NaN is most. */
static double exponential(rowscan_type acc, double d) {
  static const double single[EXP_SINGLE] = {
      0x1.6a2416p-10, 0x1.1239f2p-7, 0x1.5558f2p-5, 0x1.555492p-3, 0x1.fffffcp-2, 1, 1};
  static const double real[EXP_DOUBLE] = {0x1.af38b4925be09p-26,
                                          0x1.28918e390a71ep-22,
                                          0x1.71de0da9d06acp-19,
                                          0x1.a019b905bafb1p-16,
                                          0x1.a01a01a7c54aep-13,
                                          0x1.6c16c1788dc33p-10,
                                          0x1.11111111109b2p-7,
                                          0x1.5555555553d5ep-5,
                                          0x1.5555555555556p-3,
                                          0x1.0000000000001p-1,
                                          1,
                                          1};
  bool is_single = acc == ROWSCAN_F32;
  double most = is_single ? 87 : 708, low = is_single ? 0 : 0x1.abc9e3b39803fp-56;
  if (!(d < most))
    d = most;
  double turns = nearbyint(fma(d, is_single ? -0x1.715476p+0 : -0x1.71547652b82fep+0, 0));
  double rest = fused_in(acc, turns, is_single ? -0x1.62e430p-1 : -0x1.62e42fefa39efp-1, -d);
  if (!is_single)
    rest = fma(turns, -low, rest);
  double y = is_single ? polynomial(acc, single, EXP_SINGLE, rest) : polynomial(acc, real, EXP_DOUBLE, rest);
  return ldexp(y, (int)turns);
}

/* to + log(s), s >= 1 */
static double logarithm(rowscan_type acc, double s, double to) {
  static const double single[LOG_SINGLE] = {0x1.2ab0f8p-3, -0x1.401548p-3, 0x1.1bffc2p-3, -0x1.4f2942p-3,
                                            0x1.9a04c4p-3, -0x1.001ce0p-2, 0x1.555472p-2, -0x1.ffffb0p-2};
  static const double real[LOG_DOUBLE] = {
      -0x1.4530c364ba9d7p-4, 0x1.53ee84f37149cp-4,  -0x1.4cc52776f1283p-5, 0x1.5f1b05a15a198p-5,  -0x1.d266833cd7aa3p-5,
      0x1.eda4b7d8fa704p-5,  -0x1.ff00d91d7037dp-5, 0x1.108c2bddfe376p-4,  -0x1.2499533783f78p-4, 0x1.3b1b06564f0b4p-4,
      -0x1.555517628b5bap-4, 0x1.745cd6bf5a870p-4,  -0x1.99999ae001f2fp-4, 0x1.c71c731b165e1p-4,  -0x1.fffffffc51563p-4,
      0x1.24924922a75eap-3,  -0x1.5555555557c42p-3, 0x1.999999999c224p-3,  -0x1.ffffffffffff1p-3, 0x1.555555555554dp-2,
      -0x1.0000000000000p-1};
  bool is_single = acc == ROWSCAN_F32;
  double least = is_single ? 0x1.555556p-1 : 0x1.5555555555555p-1, f = s;
  int n = 0;
  for (; f >= 2 * least; f /= 2)
    n++;
  f -= 1;
  double q = is_single ? polynomial(acc, single, LOG_SINGLE, f) : polynomial(acc, real, LOG_DOUBLE, f);
  double square = is_single ? (double)((float)f * (float)f) : f * f;
  double small = fused_in(acc, n, is_single ? 0x1.7f7d1cp-20 : 0x1.ef35793c76730p-45, fused_in(acc, q, square, f));
  double large = fused_in(acc, n, is_single ? 0x1.62e400p-1 : 0x1.62e42fefa3800p-1, to);
  return is_single ? (double)((float)large + (float)small) : large + small;
}

static number add_exponentials(rowscan_type acc, number a, number b) {
  if (isnan(a.real) || isnan(b.real))
    return (number){.real = (double)NAN, .real_factor = 1};
  number high = a.real > b.real ? a : b, low = a.real > b.real ? b : a;
  double d = acc == ROWSCAN_F32 ? (double)((float)high.real - (float)low.real) : high.real - low.real;
  high.real_factor = fused_in(acc, low.real_factor, exponential(acc, d), high.real_factor);
  return high;
}

/* Sums that are to be multiplied by exp(-y), of which `real` is the lowest y. */
static number add_scaled(rowscan_type acc, number a, number b) {
  number low = a.real < b.real ? a : b, high = a.real < b.real ? b : a;
  double d = acc == ROWSCAN_F32 ? (double)((float)high.real - (float)low.real) : high.real - low.real;
  low.real_factor = fused_in(acc, high.real_factor, exponential(acc, d), low.real_factor);
  return low;
}

/* x = fraction * 2^exponent */
static number split(double x) {
  if (x == 0 || !isfinite(x))
    return (number){.real = x};
  int exponent;
  double fraction = frexp(x, &exponent);
  return (number){.real = 2 * fraction, .whole_factor = (uint64_t)(int64_t)(exponent - 1)};
}

static number extended_product(rowscan_type acc, number a, number b) {
  number y = split(product(acc, a, b).real);
  y.whole_factor += a.whole_factor + b.whole_factor;
  if (acc == ROWSCAN_F32)
    y.whole_factor = (uint64_t)(int64_t)(int32_t)(uint32_t)y.whole_factor;
  return y;
}

static bool is_index(const rowscan_spec *spec) {
  return spec->op == ROWSCAN_ARGMAX || spec->op == ROWSCAN_ARGMIN;
}

/* ---- operators that tests create --------------------------------------------------------------------------------- */

static const rowscan_op_functions *functions_of(const rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  return op->source ? rs_op_functions(op, spec->acc_type) : NULL;
}

/* The type that such an operator computes in. */
static rowscan_type computed_in(rowscan_type acc) {
  bool wide = rowscan_type_bytes(acc) == 8;
  return floating(acc) ? (wide ? ROWSCAN_F64 : ROWSCAN_F32) : wide ? ROWSCAN_U64 : ROWSCAN_U32;
}

/* What an element has beside x: a coefficient, further inputs, and the parameters of the run. */
enum { MOST_NUMBERS = 1 + RS_MOST_MORE + RS_MOST_PARAMS };
typedef struct numbers {
  int count;
  number of[MOST_NUMBERS];
} numbers;

static void write_numbers(const rowscan_spec *spec, char *to, const numbers *beside) {
  rowscan_type type = computed_in(spec->acc_type);
  for (int i = 0; i < beside->count; i++)
    write_number(type, to + i * (int)rowscan_type_bytes(type), beside->of[i]);
}

static number load_created(const rowscan_spec *spec, number x, const numbers *beside) {
  char at[8], others[8 * MOST_NUMBERS];
  number total = {.real = 0};
  write_number(computed_in(spec->acc_type), at, x);
  write_numbers(spec, others, beside);
  functions_of(spec)->load(total.created, at, beside->count ? others : NULL);
  return total;
}

static number second_created(const rowscan_spec *spec, number total, number x, const numbers *beside) {
  char at[8], others[8 * MOST_NUMBERS], y[8];
  write_number(computed_in(spec->acc_type), at, x);
  write_numbers(spec, others, beside);
  rs_op_second(rs_op_of(spec->op), spec->acc_type)(y, total.created, at, others);
  return read_number(computed_in(spec->acc_type), y);
}

static number begin_created(const rowscan_spec *spec, number y) {
  char at[8];
  number total = {.real = 0};
  if (!functions_of(spec)->begin)
    return load_created(spec, y, &(numbers){0});
  write_number(computed_in(spec->acc_type), at, y);
  functions_of(spec)->begin(total.created, at);
  return total;
}

static number combine_created(const rowscan_spec *spec, number a, number b) {
  number both = {.real = 0};
  functions_of(spec)->combine(both.created, a.created, b.created);
  return both;
}

static number fill_created(void (*fill)(void *total)) {
  number total = {.real = 0};
  fill(total.created);
  return total;
}

static number shown_created(const rowscan_spec *spec, number n) {
  char at[8];
  functions_of(spec)->store(at, n.created);
  return read_number(computed_in(spec->acc_type), at);
}

/* ---- any operator ------------------------------------------------------------------------------------------------ */

/* What users see of a prefix. */
static number shown(const rowscan_spec *spec, number n) {
  if (functions_of(spec))
    return shown_created(spec, n);
  int64_t exponent = (int64_t)n.whole_factor;
  if (spec->op == ROWSCAN_LOGSUMEXP && n.real_factor != 1)
    n.real = logarithm(spec->acc_type, n.real_factor, n.real);
  if (spec->op == ROWSCAN_EXTENDED_PROD)
    n.real = ldexp(n.real, exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : (int)exponent);
  if (is_index(spec))
    n.whole = n.whole_factor;
  if (spec->op == ROWSCAN_LOGSUMEXP_GRADIENT)
    n.real = n.real_factor;
  if (rs_is_fixed(spec->acc_type))
    n.real = from_fixed(n.whole, rs_point_of(spec->acc_type), spec->out_type == ROWSCAN_F64);
  return fit(spec->acc_type, n);
}

static number combine_whole(const rowscan_spec *spec, number a, number b) {
  rowscan_type acc = spec->acc_type;
  if (functions_of(spec))
    return combine_created(spec, a, b);
  switch ((int)spec->op) {
  case ROWSCAN_SUM:
  case ROWSCAN_SUM_GRADIENT:
  case ROWSCAN_EXTREMUM_GRADIENT:
    return sum(acc, a, b);
  case ROWSCAN_PROD:
    return product(acc, a, b);
  case ROWSCAN_AND:
    return (number){.whole = a.whole & b.whole};
  case ROWSCAN_OR:
    return (number){.whole = a.whole | b.whole};
  case ROWSCAN_XOR:
    return (number){.whole = a.whole ^ b.whole};
  case ROWSCAN_LINEAR_RECURRENCE:
  case ROWSCAN_GAE:
  case ROWSCAN_WEIGHTED_RECURRENCE:
  case ROWSCAN_DECAYED_SUM:
    return affine(product(acc, factor_of(a), factor_of(b)), fused(acc, factor_of(b), a, b));
  case ROWSCAN_ARGMAX:
  case ROWSCAN_ARGMIN:
    return select_index(spec, a, b);
  case ROWSCAN_LOGSUMEXP:
    return add_exponentials(acc, a, b);
  case ROWSCAN_LOGSUMEXP_GRADIENT:
    return add_scaled(acc, a, b);
  case ROWSCAN_EXTENDED_PROD:
    return extended_product(acc, a, b);
  default:
    return select_one(spec, a, b);
  }
}

/* Where an element begins anew, all before is gone. */
static number combine(const rowscan_spec *spec, number a, number b) {
  number both = b.begins ? b : combine_whole(spec, a, b);
  both.begins = a.begins || b.begins;
  return both;
}

/* The total of one element. */
static number load(const rowscan_spec *spec, number x) {
  if (rs_is_fixed(spec->acc_type))
    return (number){.whole = to_fixed(x.real, rs_point_of(spec->acc_type))};
  if (spec->op == ROWSCAN_EXTENDED_PROD)
    return split(x.real);
  if (spec->op == ROWSCAN_LOGSUMEXP)
    return (number){.real = x.real, .real_factor = 1};
  return functions_of(spec) ? load_created(spec, x, &(numbers){0}) : x;
}

/* Of a gradient, and the result that it is of. */
static number load_scaled(const rowscan_spec *spec, number gradient, number y) {
  double most = spec->acc_type == ROWSCAN_F32 ? (double)FLT_MAX : DBL_MAX;
  if (isnan(y.real))
    return (number){.real = y.real, .real_factor = y.real};
  return (number){.real = y.real > most ? most : y.real, .real_factor = gradient.real};
}

/* Where a fold starts. */
static number begin(const rowscan_spec *spec, number y) {
  if (spec->op == ROWSCAN_LOGSUMEXP_GRADIENT)
    return load_scaled(spec, y, (number){.real = (double)INFINITY});
  if (spec->op == ROWSCAN_EXTENDED_PROD || spec->op == ROWSCAN_LOGSUMEXP)
    return load(spec, y);
  if (functions_of(spec))
    return begin_created(spec, y);
  return affine((number){.real = 1, .whole = 1}, y);
}

/* The lowest value of a type, or the highest. */
static number extreme(rowscan_type type, bool lowest) {
  unsigned bits = 8 * (unsigned)rowscan_type_bytes(type);
  number n = {.real = lowest ? -(double)INFINITY : (double)INFINITY};
  if (type == ROWSCAN_BOOL)
    n.whole = !lowest;
  else if (with_sign(type))
    n.whole = lowest ? -(UINT64_C(1) << (bits - 1)) : (UINT64_C(1) << (bits - 1)) - 1;
  else
    n.whole = lowest ? 0 : UINT64_MAX >> (64 - bits);
  return n;
}

static number identity(const rowscan_spec *spec) {
  if (rs_is_fixed(spec->acc_type))
    return (number){0};
  if (functions_of(spec))
    return fill_created(functions_of(spec)->identity);
  switch ((int)spec->op) {
  case ROWSCAN_SUM:
  case ROWSCAN_LINEAR_RECURRENCE:
  case ROWSCAN_GAE:
  case ROWSCAN_WEIGHTED_RECURRENCE:
  case ROWSCAN_DECAYED_SUM:
  case ROWSCAN_SUM_GRADIENT:
  case ROWSCAN_EXTREMUM_GRADIENT:
    return begin(spec, (number){0});
  case ROWSCAN_LOGSUMEXP_GRADIENT:
    return (number){.real = (double)INFINITY};
  case ROWSCAN_ARGMAX:
  case ROWSCAN_ARGMIN:
    return (number){.whole_factor = UINT64_MAX};
  case ROWSCAN_EXTENDED_PROD:
    return split(1);
  case ROWSCAN_LOGSUMEXP:
    return load(spec, (number){.real = -(double)INFINITY});
  case ROWSCAN_PROD:
    return (number){.real = 1.0, .whole = 1};
  case ROWSCAN_AND:
    return (number){.whole = with_sign(spec->acc_type) ? UINT64_MAX : extreme(spec->acc_type, false).whole};
  case ROWSCAN_OR:
  case ROWSCAN_XOR:
    return (number){0};
  default:
    return extreme(spec->acc_type, spec->op == ROWSCAN_MAX);
  }
}

bool judge_equal(rowscan_type type, const void *a, const void *b) {
  if (read_bytes(type, a) == read_bytes(type, b))
    return true;
  return floating(type) && isnan(read_number(type, a).real) && isnan(read_number(type, b).real);
}

/* ---- the order --------------------------------------------------------------------------------------------------- */

/* totals[b][j] is the total of block j of size 2^b, for the blocks that lie within the row. */
static void block_totals(const rowscan_spec *spec, number *totals[], int64_t n) {
  for (int b = 1; n >> b; b++)
    for (int64_t j = 0; j < n >> b; j++)
      totals[b][j] = combine(spec, totals[b - 1][2 * j], totals[b - 1][2 * j + 1]);
}

/* prefixes[k] is P(k), a left fold over the blocks that make up [0, k), largest first: the smallest one comes last. */
static void fold(const rowscan_spec *spec, number *const totals[], int64_t n, const number *init, number *prefixes) {
  prefixes[0] = init ? *init : identity(spec);
  for (int64_t k = 1; k <= n; k++) {
    int b = __builtin_ctzll((uint64_t)k);
    int64_t start = k - ((int64_t)1 << b);
    number last = totals[b][start >> b];
    if (start > 0 || init)
      prefixes[k] = combine(spec, prefixes[start], last);
    else if (functions_of(spec))
      prefixes[k] = combine(spec, fill_created(functions_of(spec)->neutral), last);
    else if (spec->op == ROWSCAN_LINEAR_RECURRENCE || spec->op == ROWSCAN_GAE ||
             spec->op == ROWSCAN_WEIGHTED_RECURRENCE ||
             spec->op == ROWSCAN_DECAYED_SUM) /* a map is no result: that is made of 0, as small as can be */
      prefixes[k] = combine(spec, begin(spec, (number){.real = -0.0}), last);
    else
      prefixes[k] = last;
  }
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static const char *at(const void *base, rowscan_type type, int64_t index) {
  return (const char *)base + index * (int64_t)rowscan_type_bytes(type);
}

/* What a mask multiplies in. */
static rowscan_type numbers_of(const rowscan_spec *spec) {
  return rs_is_fixed(spec->acc_type) ? ROWSCAN_F64 : spec->acc_type;
}

/* Where a row begins in each array. */
typedef struct places {
  int64_t at[RS_ALL_ARRAYS];
} places;

static number read_at(const rs_rows *rows, const places *row, int which, rowscan_type type, int64_t e) {
  return read_number(type, at(rows->array[which].data, type, row->at[which] + e * rows->array[which].step));
}

static bool is_true(rowscan_type type, number n) {
  return floating(type) ? n.real != 0 : n.whole != 0;
}

/* An element as a number, multiplied by its mask if that is to be. */
static number own(const rowscan_spec *spec, const rs_rows *rows, const places *row, int64_t e) {
  number x = read_at(rows, row, RS_IN, spec->in_type, e);
  if (!is_index(spec))
    x = convert(numbers_of(spec), spec->in_type, x);
  if (spec->mask_mode != ROWSCAN_MASK_MULTIPLY)
    return x;
  return product(numbers_of(spec), x,
                 convert(numbers_of(spec), spec->mask_type, read_at(rows, row, RS_MASK, spec->mask_type, e)));
}

static numbers beside(const rowscan_spec *spec, const rs_rows *rows, const places *row, int64_t e) {
  numbers all = {0};
  if (spec->mask_mode == ROWSCAN_MASK_COEFFICIENT)
    all.of[all.count++] = convert(spec->acc_type, spec->mask_type, read_at(rows, row, RS_MASK, spec->mask_type, e));
  for (int i = 0; i < RS_MOST_MORE && spec->more_types[i]; i++)
    all.of[all.count++] =
        convert(spec->acc_type, spec->more_types[i], read_at(rows, row, RS_MORE_IN + i, spec->more_types[i], e));
  for (int i = 0; i < rs_op_of(spec->op)->params; i++)
    all.of[all.count++] = fit(spec->acc_type, (number){.real = rows->params[i]});
  return all;
}

/* Of a reward and what is beside it. */
static number load_step(const rowscan_spec *spec, number reward, const numbers *beside) {
  number value = beside->of[0], gamma = beside->of[4], delta = reward;
  if (beside->of[2].real == 0)
    delta = fused(spec->acc_type, gamma, beside->of[1], reward);
  delta = fit(spec->acc_type, (number){.real = delta.real - value.real});
  delta = affine(product(spec->acc_type, gamma, beside->of[5]), delta);
  delta.begins = beside->of[3].real != 0;
  return delta;
}

static number element(const rowscan_spec *spec, const rs_rows *rows, const places *row, int64_t e) {
  number x = own(spec, rows, row, e);
  bool omitted = spec->flags & ROWSCAN_OMIT_NAN && floating(spec->in_type) && isnan(x.real);
  if (spec->mask_mode == ROWSCAN_MASK_SELECT &&
      !is_true(spec->mask_type, read_at(rows, row, RS_MASK, spec->mask_type, e)))
    return identity(spec);
  numbers more = beside(spec, rows, row, e);
  if (omitted)
    return identity(spec);
  if (functions_of(spec) && more.count)
    return load_created(spec, x, &more);
  switch ((int)spec->op) {
  case ROWSCAN_GAE:
    return load_step(spec, x, &more);
  case ROWSCAN_SUM_GRADIENT:
  case ROWSCAN_EXTREMUM_GRADIENT:
    return affine((number){.real = 1}, x);
  case ROWSCAN_LOGSUMEXP_GRADIENT:
    return load_scaled(spec, x, more.of[1]);
  default:
    return more.count ? affine(more.of[0], x) : load(spec, x);
  }
}

/* Whether the result of a maximum or minimum is its element. */
static bool is_its_element(const rowscan_spec *spec, const rs_rows *rows, const places *row, int64_t e) {
  numbers more = beside(spec, rows, row, e);
  double x = more.of[0].real, y = more.of[1].real;
  return x == y || (isnan(x) && isnan(y));
}

/* Whether a boundary lies before element e in memory, or, of a row of n, behind the last one. */
static bool boundary_before(const rowscan_spec *spec, const rs_rows *rows, const places *row, int64_t n, int64_t e) {
  int which = spec->segment_mode ? RS_SEGMENTS : RS_MASK;
  rowscan_type type = spec->segment_mode ? spec->segment_type : spec->mask_type;
  switch (spec->segment_mode ? spec->segment_mode : spec->mask_mode) {
  case ROWSCAN_MASK_HEADS:
    return e < n && is_true(type, read_at(rows, row, which, type, e));
  case ROWSCAN_MASK_TAILS:
    return e > 0 && is_true(type, read_at(rows, row, which, type, e - 1));
  case ROWSCAN_MASK_KEYS:
    return e > 0 && e < n && read_at(rows, row, which, type, e - 1).whole != read_at(rows, row, which, type, e).whole;
  default:
    return false;
  }
}

/* exp(x - y) */
static number part_of(const rowscan_spec *spec, double x, double y) {
  bool is_single = spec->acc_type == ROWSCAN_F32;
  double d = is_single ? (double)((float)y - (float)x) : y - x, most = is_single ? 87 : 708;
  if (d > most || (!(d > 0) && x == -(double)INFINITY))
    return (number){0};
  return (number){.real = d > 0 ? exponential(spec->acc_type, d) : 1};
}

/* Of a prefix and its element, what the output shows that shows both, the second one if another shows prefixes. Of an
 * index that is the element that it is of. */
static number second(const rowscan_spec *spec, const rs_rows *rows, const places *row, int64_t e, number prefix) {
  if (is_index(spec))
    return prefix.whole_factor == UINT64_MAX ? extreme(spec->in_type, spec->op == ROWSCAN_ARGMAX) : prefix;
  numbers more = beside(spec, rows, row, e);
  if (spec->op == ROWSCAN_GAE)
    return sum(spec->acc_type, prefix, more.of[0]);
  if (spec->op == ROWSCAN_WEIGHTED_RECURRENCE)
    return product(spec->acc_type, prefix, more.of[1]);
  if (spec->op == ROWSCAN_SUM_GRADIENT)
    return more.of[0].real != 0 ? prefix : (number){0};
  if (spec->op == ROWSCAN_EXTREMUM_GRADIENT)
    return is_its_element(spec, rows, row, e) ? prefix : (number){0};
  if (spec->op == ROWSCAN_LOGSUMEXP_GRADIENT)
    return product(spec->acc_type, shown(spec, prefix), part_of(spec, more.of[0].real, more.of[1].real));
  return second_created(spec, prefix, own(spec, rows, row, e), &more);
}

static void write_at(const rs_rows *rows, const places *row, int which, rowscan_type type, int64_t e, number n) {
  write_number(type, (char *)at(rows->array[which].data, type, row->at[which] + e * rows->array[which].step), n);
}

static void scan_row(const rowscan_spec *spec, const rs_rows *rows, number *totals[], number *prefixes, int64_t index) {
  places row = {{0}};
  int64_t n = spec->length;
  for (int d = rows->rank - 1; d >= 0; index /= rows->shape[d--])
    for (int a = 0; a < rs_arrays(rows); a++)
      row.at[a] += index % rows->shape[d] * rows->array[a].stride[d];
  rowscan_type kept = rs_kept_type(spec->acc_type);
  number init;
  if (rows->array[RS_INIT].data)
    init = begin(spec, fit(spec->acc_type, read_at(rows, &row, RS_INIT, kept, 0)));
  const number *start = rows->array[RS_INIT].data ? &init : NULL;
  bool reverse = spec->flags & ROWSCAN_REVERSE, exclusive = spec->flags & ROWSCAN_EXCLUSIVE;
  for (int64_t i = 0; i < n; i++) {
    int64_t e = reverse ? n - 1 - i : i;
    totals[0][i] = element(spec, rows, &row, e);
    if (is_index(spec) && totals[0][i].whole_factor != UINT64_MAX)
      totals[0][i].whole_factor = (uint64_t)e;
    totals[0][i].begins |= boundary_before(spec, rows, &row, n, reverse ? e + 1 : e);
    if (spec->op == ROWSCAN_EXTREMUM_GRADIENT && i > 0)
      totals[0][i].begins |= is_its_element(spec, rows, &row, reverse ? e + 1 : e - 1);
  }
  block_totals(spec, totals, n);
  fold(spec, totals, n, start, prefixes);
  for (int64_t i = 0; i < n; i++) {
    int64_t e = reverse ? n - 1 - i : i;
    number prefix = prefixes[exclusive ? i : i + 1];
    if (exclusive && boundary_before(spec, rows, &row, n, reverse ? e + 1 : e))
      prefix = identity(spec);
    bool weighs = rs_op_of(spec->op)->weighs;
    if (spec->second_type)
      write_at(rows, &row, RS_SECOND, spec->second_type, e,
               weighs ? shown(spec, prefix) : second(spec, rows, &row, e, prefix));
    write_at(rows, &row, RS_OUT, spec->out_type, e, weighs ? second(spec, rows, &row, e, prefix) : shown(spec, prefix));
  }
  if (rows->initial)
    write_at(rows, &row, RS_OUT, spec->out_type, reverse ? n : -1, shown(spec, prefixes[0]));
  if (rows->array[RS_TOTALS].data)
    write_at(rows, &row, RS_TOTALS, kept, 0, shown(spec, prefixes[n]));
}

void judge_scan(const rowscan_spec *spec, const rs_rows *rows) {
  number *totals[64] = {NULL};
  for (int b = 0; b == 0 || spec->length >> b; b++) {
    totals[b] = malloc(((size_t)(spec->length >> b) + 1) * sizeof **totals);
    assert(totals[b]);
  }
  number *prefixes = malloc(((size_t)spec->length + 1) * sizeof *prefixes);
  assert(prefixes);
  for (int64_t row = 0; row < rows->count; row++)
    scan_row(spec, rows, totals, prefixes, row);
  free(prefixes);
  for (int b = 0; b < 64; b++)
    free(totals[b]);
}
