/*
 * ops.h - what the loops of the host engine know of an operator: one group of lines each
 * SPDX-License-Identifier: MIT
 *
 * rs_combine_X(a, b) works on scalars and on vectors; all operators here commute. rs_any_order_X: whether integers have
 * the same bits in any order, and it pays. rs_neutral_X is where folds start: the value for which neutral o x is x, bit
 * for bit: -0.0 for a sum, since +0.0 + -0.0 is +0.0. rs_identity_X is what a caller sees: P(0) of a row without an
 * initial value, and an element that a mask takes away.
 *
 * Arithmetic works on f32, f64, u32 and u64. Integers narrower than the accumulator are held in 32 bits, modulo 2^32.
 *
 * An operator of bits works on u32 and u64, and its neutral and identity are bits.
 *
 * An operator of an order works on keys, u32 or u64, which are in the order of the values: so that -0.0 comes before
 * +0.0, and all NaNs are rs_nan_X, which wins. RS_PICK(condition, a, b) chooses. rs_lowest_X: whether the identity is
 * the lowest value of a type, -inf if it has one; else the highest.
 */
#ifndef RS_HOST_OPS_H
#define RS_HOST_OPS_H

#define rs_combine_sum(a, b) ((a) + (b))
#define rs_any_order_sum 1
#define rs_neutral_sum (-0.0)
#define rs_identity_sum 0

#define rs_combine_prod(a, b) ((a) * (b))
#define rs_any_order_prod 0
#define rs_neutral_prod 1
#define rs_identity_prod 1

#define rs_combine_max(a, b) RS_PICK((a) > (b), a, b)
#define rs_any_order_max 1
#define rs_neutral_max 0
#define rs_nan_max UINT64_MAX
#define rs_lowest_max true

#define rs_combine_min(a, b) RS_PICK((a) < (b), a, b)
#define rs_any_order_min 1
#define rs_neutral_min UINT64_MAX
#define rs_nan_min 0
#define rs_lowest_min false

#define rs_combine_and(a, b) ((a) & (b))
#define rs_any_order_and 1
#define rs_neutral_and UINT64_MAX
#define rs_identity_and UINT64_MAX

#define rs_combine_or(a, b) ((a) | (b))
#define rs_any_order_or 1
#define rs_neutral_or 0
#define rs_identity_or 0

#define rs_combine_xor(a, b) ((a) ^ (b))
#define rs_any_order_xor 1
#define rs_neutral_xor 0
#define rs_identity_xor 0

#endif
