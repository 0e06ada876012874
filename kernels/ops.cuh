// ops.cuh - the operators; a further one is a struct here, its twin in src/host/ops.h and a row in src/spec/types.h
// SPDX-License-Identifier: MIT
//
// An operator Op<A, K> scans numbers of type A (f32, f64, u32 or u64: integers wrap), to which elements are widened and
// from which results are narrowed; K is the element type that initial values and totals are kept in.
//   Number, Total    A; and what a block of elements comes to: plain data, whole words of 4 bytes, a power of two
//   load(x)          the total of one element            begin(y)   the total that a fold from an initial value starts
//   with store(t)         what users see of a prefix          combine    the total of two blocks, the left one first
//   neutral()        where other folds start. combine(x, neutral()) is x, bit for bit
//   identity()       what users see as P(0), and what masked elements are
//   commutative      whether combine(a, b) is combine(b, a)
//   PLAIN            whether totals are numbers as they come and go, and identity() is one that every element type has
#pragma once
#include "device.cuh"

// Operators whose totals are numbers.
template <class A> struct OfNumbers {
  using Number = A;
  using Total = A;
  static constexpr bool commutative = true, PLAIN = true;
  RS_METHOD static A load(A x) {
    return x;
  }
  RS_METHOD static A begin(A y) {
    return y;
  }
  RS_METHOD static A store(A t) {
    return t;
  }
};
template <class A, class K = A> struct Sum : OfNumbers<A> {
  RS_METHOD static A combine(A left, A right) {
    return left + right;
  }
  RS_METHOD static A neutral() {
    return -(A)0; // -0.0: +0.0 would turn a -0.0 into +0.0
  }
  RS_METHOD static A identity() {
    return 0;
  }
};
template <class A, class K = A> struct Prod : OfNumbers<A> {
  RS_METHOD static A combine(A left, A right) {
    return left * right;
  }
  RS_METHOD static A neutral() {
    return 1;
  }
  RS_METHOD static A identity() {
    return 1;
  }
};
