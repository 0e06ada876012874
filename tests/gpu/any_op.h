/*
 * any_op.h - any operator, for specs that tests make at random
 * SPDX-License-Identifier: MIT
 */
#ifndef ANY_OP_H
#define ANY_OP_H

#include "spec/spec.h"

static inline int op_count(void) {
  int count = 0;
  while (rs_op_of((rowscan_op)count))
    count++;
  return count;
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
 * mode, these become some that go with it, and a mask may become what tells segments; of floating elements an operator
 * of bits becomes a sum, and of others one that wants floats.
 */
static inline void op_take(rowscan_spec *spec, uint64_t number) {
  mask_of_another(spec);
  int count = op_count(), op = (int)(number % (uint64_t)(count + 1));
  spec->op = op < count ? (rowscan_op)op : ROWSCAN_SUM;
  rs_op_kind kind = rs_op_of(spec->op)->kind;
  bool floats = rs_type_kind(spec->in_type) == RS_FLOAT;
  if (floats ? kind == RS_BITS : kind == RS_LOGARITHM || kind == RS_EXTENDED)
    spec->op = ROWSCAN_SUM;
  bool omits = floats && number / (uint64_t)(count + 1) % 3 == 1;
  spec->flags = (spec->flags & ~(ROWSCAN_OMIT_NAN | ROWSCAN_TIES_FIRST)) | (omits ? ROWSCAN_OMIT_NAN : 0);
  if (rs_op_has_coefficient(spec->op)) { /* of the mask's type, if there was a mask, and one of the kind */
    spec->mask_mode = ROWSCAN_MASK_COEFFICIENT;
    bool fits = spec->mask_type && (floats || rs_type_kind(spec->mask_type) != RS_FLOAT);
    spec->mask_type = fits ? spec->mask_type : spec->in_type;
  } else if (spec->mask_mode && !rs_op_of(spec->op)->source && number / (uint64_t)(count + 1) / 3 % 2) {
    mask_take_segments(spec, number / (uint64_t)(count + 1) / 6);
  }
  kind = rs_op_of(spec->op)->kind;
  bool multiplies = kind == RS_ARITHMETIC || kind == RS_EXTENDED;
  if (spec->mask_mode == ROWSCAN_MASK_MULTIPLY && !multiplies)
    spec->mask_mode = ROWSCAN_MASK_SELECT;
  if (kind == RS_INDEX) {
    spec->out_type = spec->acc_type = number & 1 ? ROWSCAN_I32 : ROWSCAN_I64;
    spec->flags |= number & 2 ? ROWSCAN_TIES_FIRST : 0;
  }
  rowscan_spec types = {.size = sizeof types,
                        .op = spec->op,
                        .in_type = spec->in_type,
                        .out_type = spec->out_type,
                        .acc_type = spec->acc_type};
  if (rowscan_spec_complete(&types) != ROWSCAN_OK) {
    types.out_type = types.acc_type = ROWSCAN_TYPE_DEFAULT;
    if (rowscan_spec_complete(&types) == ROWSCAN_OK) {
      spec->out_type = types.out_type;
      spec->acc_type = types.acc_type;
    }
  }
  sum_take_point(spec, number / (uint64_t)(count + 1) / 2);
  types.acc_type = spec->acc_type;
  types.mask_mode = spec->mask_mode;
  types.mask_type = spec->mask_type;
  if (rs_spec_has_segments(spec) && rowscan_spec_complete(&types) == ROWSCAN_UNSUPPORTED)
    mask_of_another(spec); /* its totals have no room for them */
}

/* Whether rows may have initial values. */
static inline bool op_begins(const rowscan_spec *spec) {
  return rs_op_of(spec->op)->kind != RS_INDEX;
}

#endif
