/*
 * any_op.h - any operator, for specs that tests make at random
 * SPDX-License-Identifier: MIT
 */
#ifndef ANY_OP_H
#define ANY_OP_H

#include "spec/spec.h"

/* The library's operators, and then those that the program has created. */
static inline rowscan_op op_at(int index) {
  int own = 0;
  while (rs_op_of((rowscan_op)own))
    own++;
  return (rowscan_op)(index < own ? index : ROWSCAN_FIRST_CREATED + index - own);
}

static inline int op_count(void) {
  int count = 0;
  while (rs_op_of(op_at(count)))
    count++;
  return count;
}

/* Whether an operator goes with a spec's types, or else with its input's. */
static inline bool op_fits(rowscan_spec *spec, bool all) {
  rowscan_spec types = {.size = sizeof types,
                        .op = spec->op,
                        .in_type = spec->in_type,
                        .out_type = all ? spec->out_type : ROWSCAN_TYPE_DEFAULT,
                        .acc_type = all ? spec->acc_type : ROWSCAN_TYPE_DEFAULT};
  if (rowscan_spec_complete(&types) != ROWSCAN_OK)
    return false;
  if (!all) {
    spec->out_type = types.out_type;
    spec->acc_type = types.acc_type;
  }
  return true;
}

/* Coefficients and flags, which another operator had, become a mask again. */
static inline void mask_of_another(rowscan_spec *spec) {
  if (spec->mask_mode == ROWSCAN_MASK_KEYS)
    spec->mask_type = ROWSCAN_BOOL;
  if (spec->mask_mode > ROWSCAN_MASK_MULTIPLY)
    spec->mask_mode = ROWSCAN_MASK_SELECT;
}

/* What a mask was becomes flags or keys of segments; these are no floats. */
static inline void mask_take_segments(rowscan_spec *spec, uint64_t number) {
  spec->mask_mode = (rowscan_mask_mode)(ROWSCAN_MASK_HEADS + number % 3);
  if (spec->mask_mode == ROWSCAN_MASK_KEYS && (rs_type_kind(spec->mask_type) == RS_FLOAT || !spec->mask_type))
    spec->mask_type = number / 3 % 2 ? ROWSCAN_I64 : ROWSCAN_I32;
}

/* Some sums of floats go in fixed point, of few points, since each is a kernel of its own. */
static inline void sum_take_point(rowscan_spec *spec, uint64_t number) {
  static const int points[] = {0, 12, 31, 62};
  if (spec->op == ROWSCAN_SUM && rs_type_kind(spec->in_type) == RS_FLOAT && number % 3 == 1)
    spec->acc_type = ROWSCAN_FIXED(points[number / 3 % 4]);
}

/*
 * Gives a spec the operator of a number, sums more often than others. Where that refuses the spec's types or its mask's
 * mode, these become some that go with it, and a mask may become what tells segments; an operator that has no use for
 * the input's type becomes a sum.
 */
static inline void op_take(rowscan_spec *spec, uint64_t number) {
  mask_of_another(spec);
  int count = op_count(), op = (int)(number % (uint64_t)(count + 1));
  spec->op = op < count ? op_at(op) : ROWSCAN_SUM;
  rowscan_spec types = *spec;
  if (!op_fits(&types, false) || rs_op_of(spec->op)->more || rs_op_of(spec->op)->params) /* further_take() draws it */
    spec->op = ROWSCAN_SUM;
  bool floats = rs_type_kind(spec->in_type) == RS_FLOAT, omits = floats && number / (uint64_t)(count + 1) % 3 == 1;
  spec->flags = (spec->flags & ~(ROWSCAN_OMIT_NAN | ROWSCAN_TIES_FIRST)) | (omits ? ROWSCAN_OMIT_NAN : 0);
  if (rs_op_has_coefficient(spec->op)) { /* of the mask's type, if there was a mask, and one of the kind */
    spec->mask_mode = ROWSCAN_MASK_COEFFICIENT;
    bool fits = spec->mask_type && (floats || rs_type_kind(spec->mask_type) != RS_FLOAT);
    spec->mask_type = fits ? spec->mask_type : spec->in_type;
  } else if (spec->mask_mode && number / (uint64_t)(count + 1) / 3 % 2) {
    mask_take_segments(spec, number / (uint64_t)(count + 1) / 6);
  }
  rs_op_kind kind = rs_op_of(spec->op)->kind;
  bool multiplies = kind == RS_ARITHMETIC || kind == RS_EXTENDED;
  if (spec->mask_mode == ROWSCAN_MASK_MULTIPLY && !multiplies)
    spec->mask_mode = ROWSCAN_MASK_SELECT;
  if (kind == RS_INDEX) {
    spec->out_type = spec->acc_type = number & 1 ? ROWSCAN_I32 : ROWSCAN_I64;
    spec->flags |= number & 2 ? ROWSCAN_TIES_FIRST : 0;
  }
  if (!op_fits(spec, true))
    op_fits(spec, false);
  sum_take_point(spec, number / (uint64_t)(count + 1) / 2);
  types = *spec;
  types.size = sizeof types;
  types.length = 0;
  if (rs_spec_has_segments(spec) && rowscan_spec_complete(&types) == ROWSCAN_UNSUPPORTED)
    mask_of_another(spec); /* its totals have no room for them */
}

static inline rowscan_type any_beside(const rowscan_spec *spec, uint64_t number) {
  return number % 3 == 0 ? ROWSCAN_BOOL : number % 3 == 1 ? ROWSCAN_U8 : spec->in_type;
}

/* The operators with coefficients in turn, every other one the library's. */
static inline rowscan_op recurrence_at(uint64_t number) {
  rowscan_op found = ROWSCAN_LINEAR_RECURRENCE;
  uint64_t wanted = number / 2;
  for (int i = 0; i < op_count() && number % 2; i++)
    if (op_at(i) >= ROWSCAN_FIRST_CREATED && rs_op_has_coefficient(op_at(i)) && wanted-- % 2 == 0)
      found = op_at(i);
  return found;
}

/* Whether a spec is one; its defaults are set. */
static inline bool spec_fits(rowscan_spec *spec) {
  rowscan_spec complete = *spec;
  complete.size = sizeof complete;
  if (rowscan_spec_complete(&complete) != ROWSCAN_OK)
    return false;
  *spec = complete;
  return true;
}

/*
 * Gives a spec that op_take() has made further arrays: the operator of several inputs, or an index with its value, or
 * segments beside what it has; where they fit, two outputs and segments. False: no such thing goes with its types.
 */
static inline bool further_take(rowscan_spec *spec, uint64_t number) {
  rowscan_spec further = *spec;
  int count = op_count(), several = 0;
  rowscan_op ops[16];
  for (int i = 0; i < count && several < 16; i++)
    if (rs_op_of(op_at(i))->more || rs_op_of(op_at(i))->params)
      ops[several++] = op_at(i);
  if (further.regime == ROWSCAN_REGIME_COLUMN)
    further.regime = ROWSCAN_REGIME_AUTO;
  if (several && number % 4 < 2) {
    mask_of_another(&further);
    further.op = ops[number / 4 % (uint64_t)several];
    further.acc_type = further.out_type = ROWSCAN_TYPE_DEFAULT;
    further.flags &= ~ROWSCAN_TIES_FIRST;
    further.mask_mode = number / 64 % 2 ? further.mask_mode : ROWSCAN_MASK_NONE;
    further.mask_type = further.mask_mode ? further.mask_type : ROWSCAN_TYPE_DEFAULT;
    for (int i = 0; i < rs_op_of(further.op)->more; i++)
      further.more_types[i] = any_beside(&further, number >> (8 + 2 * i));
  } else if (number % 4 == 2) {
    mask_of_another(&further);
    further.op = number / 4 % 2 ? ROWSCAN_ARGMAX : ROWSCAN_ARGMIN;
    further.acc_type = further.out_type = number / 8 % 2 ? ROWSCAN_I32 : ROWSCAN_I64;
    if (further.mask_mode == ROWSCAN_MASK_MULTIPLY)
      further.mask_mode = ROWSCAN_MASK_SELECT;
  } else if (further.mask_mode >= ROWSCAN_MASK_HEADS || number / 4 % 2) {
    mask_of_another(&further);
    further.op = recurrence_at(number / 32);
    further.mask_mode = ROWSCAN_MASK_COEFFICIENT;
    further.mask_type = further.in_type;
    if (number / 8 % 2) { /* coefficients beside a mask */
      further.mask_mode = ROWSCAN_MASK_SELECT;
      further.mask_type = any_beside(&further, number / 256);
      further.more_types[0] = number / 1024 % 2 ? further.in_type : any_beside(&further, number / 2048);
    }
    further.flags &= ~ROWSCAN_TIES_FIRST;
    further.acc_type = further.in_type == ROWSCAN_F32 && number / 16 % 2 ? ROWSCAN_F32 : ROWSCAN_TYPE_DEFAULT;
    further.out_type = ROWSCAN_TYPE_DEFAULT;
  }
  if (rs_op_of(further.op)->second && (number % 4 == 2 || number / 128 % 4))
    further.second_type = further.in_type;
  if (!spec_fits(&further)) { /* an integer's result is another type */
    further.second_type = further.second_type ? further.out_type : ROWSCAN_TYPE_DEFAULT;
    if (!spec_fits(&further))
      return false;
  }
  rowscan_spec cut = further;
  cut.segment_mode = (rowscan_mask_mode)(ROWSCAN_MASK_HEADS + number / 512 % 3);
  cut.segment_type = cut.segment_mode == ROWSCAN_MASK_KEYS ? (number / 2048 % 2 ? ROWSCAN_I64 : ROWSCAN_U8)
                                                           : any_beside(&cut, number / 2048);
  if ((number % 4 == 3 || number / 8192 % 2) && spec_fits(&cut))
    further = cut;
  *spec = further;
  return rs_spec_has_further(spec);
}

/* Whether rows may have initial values. */
static inline bool op_begins(const rowscan_spec *spec) {
  return rs_op_of(spec->op)->kind != RS_INDEX;
}

#endif
