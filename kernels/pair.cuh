// pair.cuh - two neighbouring columns as one row, whose elements are pairs
// SPDX-License-Identifier: MIT
#pragma once
#include "rows.cuh"

template <class T> struct alignas(2 * sizeof(T)) Pair { T a, b; };
template <class T> constexpr bool is_integer<Pair<T>> = is_integer<T>;
template <class A, class T> RS_DEVICE A widen(Pair<T> x) {
  return {widen<decltype(A::a)>(x.a), widen<decltype(A::b)>(x.b)};
}
template <class T> struct Narrow<Pair<T>> {
  template <class A> RS_METHOD static Pair<T> from(Pair<A> x) {
    return {Narrow<T>::from(x.a), Narrow<T>::from(x.b)};
  }
};

template <class Op> struct PairOp {
  using Number = Pair<typename Op::Number>;
  using Total = Pair<typename Op::Total>;
  using KeptNumber = Pair<typename Keeping<Op>::Number>;
  static constexpr bool commutative = Op::commutative, PLAIN = Op::PLAIN;
  RS_METHOD static Total load(Number x) {
    return {Op::load(x.a), Op::load(x.b)};
  }
  RS_METHOD static Total begin(KeptNumber y) {
    return {Op::begin(y.a), Op::begin(y.b)};
  }
  RS_METHOD static auto keep(Total t) {
    return Pair<decltype(Keeping<Op>::of(t.a))>{Keeping<Op>::of(t.a), Keeping<Op>::of(t.b)};
  }
  RS_METHOD static auto store(Total t) {
    return Pair<decltype(Op::store(t.a))>{Op::store(t.a), Op::store(t.b)};
  }
  RS_METHOD static Total combine(Total left, Total right) {
    return {Op::combine(left.a, right.a), Op::combine(left.b, right.b)};
  }
  RS_METHOD static Total neutral() {
    return {Op::neutral(), Op::neutral()};
  }
  RS_METHOD static Total identity() {
    return {Op::identity(), Op::identity()};
  }
  RS_METHOD static Total start(i64 length) {
    return {Op::start(length), Op::start(length)};
  }
};
template <class Op> constexpr bool counts_elements<PairOp<Op>> = counts_elements<Op>;
template <class Op> constexpr bool loads_once<PairOp<Op>> = loads_once<Op>;
template <class Op> constexpr bool is_exact<PairOp<Op>> = is_exact<Op>;

// The problem of rows of pairs. The columns' own dimension, the last one, is gone.
template <class P> struct Pairs {
  using Acc = Pair<typename P::Acc>;
  using Op = PairOp<typename P::Op>;
  using In = Pair<typename P::In>;
  using Out = Pair<typename P::Out>;
  using Mask = In;
  using Kept = Pair<typename P::Kept>;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = P::reverse, exclusive = P::exclusive;
  static constexpr i64 length = P::length;
  static constexpr int rank = P::rank > 1 ? P::rank - 1 : 1;
  static_assert(P::mask == NO_MASK, "no masks");

  RS_METHOD static Rows<rank> rows(const Rows<P::rank> &columns) {
    Rows<rank> pairs;
    pairs.workspace = columns.workspace;
    pairs.first = columns.first;
    pairs.count = columns.count / 2;
#pragma unroll
    for (int d = 0; d < rank; d++)
      pairs.shape[d] = P::rank > 1 ? columns.shape[d] : 1;
#pragma unroll
    for (int a = 0; a < RS_ARRAYS; a++) {
      pairs.at[a] = columns.at[a];
      if (a < RS_ELEMENTS)
        pairs.step[a] = 1;
#pragma unroll
      for (int d = 0; d < rank; d++)
        pairs.stride[a][d] = P::rank > 1 ? columns.stride[a][d] / 2 : 0;
    }
    return pairs;
  }
};
