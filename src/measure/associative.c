/*
 * associative.c - whether an operator of the caller's is associative, tried on random triples
 * SPDX-License-Identifier: MIT
 *
 * By two scans, on whichever engine. The order of combination makes (x o y) o z of a row x, y, z. Of a row e, x, y, z
 * it makes (e o x) o (y o z), which is x o (y o z) if a mask takes e away.
 */
#include "measure.h"

#include <stdint.h>
#include <string.h>

#include "base/ints.h"
#include "base/text.h"
#include "spec/types.h"

enum { TRIPLES = 1000, SHORT = 3, LONG = SHORT + 1 };

/* What is computed in, and the share of a number that the roundings of a few operations may come to. */
typedef struct wide {
  rowscan_type type;
  double share; /* of integers: 0 */
} wide;

static const wide wides[] = {{ROWSCAN_F32, 0x1p-12}, {ROWSCAN_F64, 0x1p-40}, {ROWSCAN_I32, 0},
                             {ROWSCAN_U32, 0},       {ROWSCAN_I64, 0},       {ROWSCAN_U64, 0}};

typedef union number {
  float f32;
  double f64;
  int32_t i32;
  uint32_t u32;
  int64_t i64;
  uint64_t u64;
} number;

/* Rows of triples, and of the same with an element before them; elements of 4 bytes lie in halves of the arrays. */
typedef struct trial {
  const wide *in;
  size_t bytes;
  uint64_t x[TRIPLES * SHORT], before[TRIPLES * LONG], left[TRIPLES * SHORT], right[TRIPLES * LONG];
  uint8_t mask[TRIPLES * LONG];
} trial;

static number read_number(const trial *t, const uint64_t *array, int64_t i) {
  number n = {.u64 = 0};
  memcpy(&n, (const char *)array + (size_t)i * t->bytes, t->bytes);
  return n;
}

static double value(const trial *t, number n) {
  return t->in->type == ROWSCAN_F64 ? n.f64 : (double)n.f32;
}

static double size_of(double x) {
  return x < 0 ? -x : x;
}

/* Floats between -2 and 2; all bits of integers. */
static number draw_number(const trial *t, uint64_t *random) {
  number n = {.u64 = rs_random(random)};
  double real = ((double)(n.u64 >> 11) * 0x1p-53 - 0.5) * 4;
  if (t->in->type == ROWSCAN_F64)
    n.f64 = real;
  else if (t->in->type == ROWSCAN_F32)
    n.f32 = (float)real;
  return n;
}

static void fill(trial *t) {
  uint64_t random = 1;
  for (int64_t i = 0; i < TRIPLES * LONG; i++) {
    number n = draw_number(t, &random);
    int64_t row = i / LONG, at = i % LONG;
    t->mask[i] = at > 0;
    memcpy((char *)t->before + (size_t)i * t->bytes, &n, t->bytes);
    if (at > 0)
      memcpy((char *)t->x + (size_t)(row * SHORT + at - 1) * t->bytes, &n, t->bytes);
  }
}

static rowscan_status scan(rowscan_context *context, const trial *t, rowscan_op op, int64_t length, const void *in,
                           void *out, const void *mask) {
  const int64_t shape[] = {TRIPLES, length};
  return rowscan_scan_host(
      context, ROWSCAN_PROBLEM(.op = op, .rank = 2, .dim = 1, .shape = shape,
                               .input = {.data = in, .type = t->in->type}, .output = {.data = out, .type = t->in->type},
                               .mask = {.data = mask, .type = mask ? ROWSCAN_U8 : ROWSCAN_TYPE_DEFAULT},
                               .mask_mode = mask ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE, .acc_type = t->in->type));
}

/* Both are NaN, or differ by no more than roundings of the larger one, or of an element of the row. */
static bool agree(const trial *t, int64_t row, number left, number right) {
  if (t->in->share == 0)
    return !memcmp(&left, &right, t->bytes);
  double l = value(t, left), r = value(t, right), most = size_of(l) > size_of(r) ? size_of(l) : size_of(r);
  if (l == r || (l != l && r != r))
    return true;
  for (int64_t i = row * SHORT; i < (row + 1) * SHORT; i++) {
    double x = size_of(value(t, read_number(t, t->x, i)));
    most = x > most ? x : most;
  }
  return size_of(l - r) <= most * t->in->share;
}

static void add_number(const trial *t, number n, rs_text *text) {
  if (t->in->share > 0)
    rs_text_add(text, "%.9g", value(t, n));
  else if (t->in->type == ROWSCAN_I32 || t->in->type == ROWSCAN_I64)
    rs_text_add(text, "%lld", (long long)(t->in->type == ROWSCAN_I32 ? n.i32 : n.i64));
  else
    rs_text_add(text, "%llu", (unsigned long long)n.u64);
}

/* "Average of f32 is not associative: for x = 1, y = 2, z = 3, (x o y) o z is 2.25, but x o (y o z) is 1.75". */
static void tell(const trial *t, int64_t row, const char *name, bool neutral, rs_text *text) {
  static const char *const names[] = {"x = ", ", y = ", ", z = "};
  int64_t last = neutral ? SHORT - 1 : 0;
  rs_text_add(text, "%s of %s %s: for ", name, rowscan_type_name(t->in->type),
              neutral ? "is not associative" : "has a neutral element e that changes x");
  for (int64_t i = 0; i <= last; i++) {
    rs_text_add(text, "%s", names[i]);
    add_number(t, read_number(t, t->x, row * SHORT + i), text);
  }
  rs_text_add(text, neutral ? ", (x o y) o z is " : ", e o x is ");
  add_number(t, neutral ? read_number(t, t->left, row * SHORT + last) : read_number(t, t->right, row * LONG + 1), text);
  rs_text_add(text, neutral ? ", but x o (y o z) is " : ", not ");
  add_number(t, neutral ? read_number(t, t->right, row * LONG + last + 1) : read_number(t, t->left, row * SHORT), text);
}

/* The first row that tells something. */
static void compare_orders(const trial *t, const char *name, rs_text *doubt) {
  for (int64_t row = 0; row < TRIPLES; row++) {
    bool neutral = agree(t, row, read_number(t, t->left, row * SHORT), read_number(t, t->right, row * LONG + 1));
    number left = read_number(t, t->left, row * SHORT + 2), right = read_number(t, t->right, row * LONG + 3);
    if (!neutral || !agree(t, row, left, right)) {
      tell(t, row, name, neutral, doubt);
      return;
    }
  }
}

rowscan_status rs_associative(rowscan_context *context, rowscan_op op, rowscan_type acc, rs_text *doubt) {
  static const int COUNT = sizeof wides / sizeof *wides;
  int i = 0;
  while (i < COUNT && wides[i].type != acc)
    i++;
  const rs_op *row = rs_op_of(op);
  if (i == COUNT || !row->source || row->coefficient || row->more || row->params)
    return ROWSCAN_OK;
  trial t = {.in = &wides[i], .bytes = rowscan_type_bytes(acc)};
  fill(&t);
  rowscan_status status = scan(context, &t, op, SHORT, t.x, t.left, NULL);
  if (!status)
    status = scan(context, &t, op, LONG, t.before, t.right, t.mask);
  if (!status)
    compare_orders(&t, rowscan_op_name(op), doubt);
  return status;
}
