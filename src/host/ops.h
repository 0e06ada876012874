/*
 * ops.h - what the host engine knows of an operator: one group of three lines each
 * SPDX-License-Identifier: MIT
 *
 * rs_combine_X(a, b) works on scalars and on vectors of f32, f64, u32 and u64. Integers narrower than the accumulator
 * are held in 32 bits, modulo 2^32, which serves every operator that is a ring operation. All operators here commute.
 * rs_neutral_X is where folds start: the value for which neutral o x is x, bit for bit: -0.0 for a sum, since +0.0 +
 * -0.0 is +0.0. rs_identity_X is what a caller sees: P(0) of a row without an initial value, and an element that a mask
 * takes away.
 */
#ifndef RS_HOST_OPS_H
#define RS_HOST_OPS_H

#define rs_combine_sum(a, b) ((a) + (b))
#define rs_neutral_sum (-0.0)
#define rs_identity_sum 0

#define rs_combine_prod(a, b) ((a) * (b))
#define rs_neutral_prod 1
#define rs_identity_prod 1

#endif
