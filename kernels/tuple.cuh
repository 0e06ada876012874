// tuple.cuh - a few neighbouring columns as one row, whose elements are tuples
// SPDX-License-Identifier: MIT
#pragma once
#include "rows.cuh"

// T{f(0), f(1), ...}.
template <class T, class F> RS_DEVICE T tuple_of(const F &f) {
  T t;
#pragma unroll
  for (int c = 0; c < Columns<T>::COUNT; c++)
    t.at[c] = f(c);
  return t;
}
// In units, on whose multiples tuples are.
template <class T, int K> RS_DEVICE Tuple<T, K> load_element(const Tuple<T, K> *at) {
  using U = Units<Tuple<T, K>>;
  Vector<typename U::Unit, U::COUNT> x;
#pragma unroll
  for (int i = 0; i < U::COUNT; i++)
    x.at[i] = load_vector<typename U::Unit, 1>(reinterpret_cast<const typename U::Unit *>(at) + i).at[0];
  return same_bytes<Tuple<T, K>, 1>(x).at[0];
}
template <class T, int K> RS_DEVICE void store_element(Tuple<T, K> *at, const Tuple<T, K> &x) {
  using U = Units<Tuple<T, K>>;
  auto y = same_bytes<typename U::Unit, U::COUNT>(x);
#pragma unroll
  for (int i = 0; i < U::COUNT; i++)
    store_vector<typename U::Unit, 1>(reinterpret_cast<typename U::Unit *>(at) + i, {{y.at[i]}});
}
template <class A, class T, int K> RS_DEVICE A widen(const Tuple<T, K> &x) {
  return tuple_of<A>([&](int c) { return widen<typename Columns<A>::One>(x.at[c]); });
}
template <class T, int K> struct Narrow<Tuple<T, K>> {
  template <class A> RS_METHOD static Tuple<T, K> from(const Tuple<A, K> &x) {
    return tuple_of<Tuple<T, K>>([&](int c) { return Narrow<T>::from(x.at[c]); });
  }
};

template <class Op, int K> struct TupleOp {
  using Number = Tuple<typename Op::Number, K>;
  using Total = Tuple<typename Op::Total, K>;
  using KeptNumber = Tuple<typename Keeping<Op>::Number, K>;
  static constexpr bool commutative = Op::commutative, PLAIN = Op::PLAIN;

  RS_METHOD static Total begin(const KeptNumber &y) {
    return tuple_of<Total>([&](int c) { return Op::begin(y.at[c]); });
  }
  RS_METHOD static auto keep(const Total &t) {
    return tuple_of<Tuple<decltype(Keeping<Op>::of(t.at[0])), K>>([&](int c) { return Keeping<Op>::of(t.at[c]); });
  }
  RS_METHOD static Total combine(const Total &left, const Total &right) {
    return tuple_of<Total>([&](int c) { return Op::combine(left.at[c], right.at[c]); });
  }
  RS_METHOD static Total neutral() {
    return tuple_of<Total>([](int) { return Op::neutral(); });
  }
  RS_METHOD static Total identity() {
    return tuple_of<Total>([](int) { return Op::identity(); });
  }
  RS_METHOD static Total start(i64 length) {
    return tuple_of<Total>([&](int) { return Op::start(length); });
  }
};
template <class A, int K> constexpr bool is_integer<Tuple<A, K>> = is_integer<A>;
template <class Op, int K> constexpr bool counts_elements<TupleOp<Op, K>> = counts_elements<Op>;
template <class Op, int K> constexpr bool loads_once<TupleOp<Op, K>> = loads_once<Op>;
template <class Op, int K> constexpr bool is_exact<TupleOp<Op, K>> = is_exact<Op>;
template <class Op, int K> constexpr bool sums_integers<TupleOp<Op, K>> = sums_integers<Op>;

// What K columns side by side have of what one has.
template <int K> struct BySide { template <class O> using Op = TupleOp<O, K>; };
template <> struct BySide<1> { template <class O> using Op = O; };

// The problem of rows of tuples. The columns' own dimension, the last one, is gone.
template <class P, int K> struct Tuples {
  using OfOne = P; // a column's
  using Acc = Tuple<typename P::Acc, K>;
  using Op = TupleOp<typename P::Op, K>;
  using In = Tuple<typename P::In, K>;
  using Out = Tuple<typename P::Out, K>;
  using Mask = Tuple<typename P::Mask, K>;
  using Kept = Tuple<typename P::Kept, K>;
  static constexpr MaskMode mask = P::mask;
  static constexpr bool reverse = P::reverse, exclusive = P::exclusive;
  static constexpr i64 length = P::length;
  static constexpr int rank = P::rank > 1 ? P::rank - 1 : 1;

  RS_METHOD static Rows<rank> rows(const Rows<P::rank> &columns) {
    Rows<rank> tuples;
    tuples.workspace = columns.workspace;
    tuples.first = columns.first;
    tuples.count = columns.count / K;
#pragma unroll
    for (int d = 0; d < rank; d++)
      tuples.shape[d] = P::rank > 1 ? columns.shape[d] : 1;
#pragma unroll
    for (int a = 0; a < RS_ARRAYS; a++) {
      tuples.at[a] = columns.at[a];
      if (a < RS_ELEMENTS)
        tuples.step[a] = 1;
#pragma unroll
      for (int d = 0; d < rank; d++)
        tuples.stride[a][d] = P::rank > 1 ? columns.stride[a][d] / K : 0;
    }
    return tuples;
  }
};

// N results in units, in the order of memory.
template <class P, int N> RS_DEVICE auto narrow_units(const typename P::Acc *value) {
  using Out = typename P::Out;
  constexpr int K = Columns<Out>::COUNT;
  if constexpr (K == 1) {
    return Row<P>::template narrow<N>(value);
  } else {
    typename P::OfOne::Acc number[N * K];
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
      for (int c = 0; c < K; c++)
        number[(P::reverse ? N - 1 - j : j) * K + c] = value[j].at[c];
    return same_bytes<typename Units<Out>::Unit, N * Units<Out>::COUNT>(
        Row<typename P::OfOne>::template narrow<N * K, false>(number));
  }
}
