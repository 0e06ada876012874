// ops.cuh - the operators; a further one is one more struct here and one more row in src/spec/types.h
// SPDX-License-Identifier: MIT
#pragma once
#include "device.cuh"

// A: f32, f64, u32 or u64. combine(neutral(), x) is x bit for bit; identity() is what users see: P(0) and masked
// elements.
template <class A> struct Sum {
  static constexpr bool commutative = true;
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
template <class A> struct Prod {
  static constexpr bool commutative = true;
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
