// states.cuh - rows that are parts of longer ones, of operators whose totals are no numbers
// SPDX-License-Identifier: MIT
#pragma once
#include "ops.cuh"

// An operator whose initial values and totals are its own totals, as they are. src/run/shard_states.c reads them.
template <class O> struct Stated : O {
  using Total = typename O::Total;
  using KeptNumber = Total;
  RS_METHOD static Total begin(KeptNumber t) {
    return t;
  }
  RS_METHOD static KeptNumber keep(Total t) {
    return t;
  }
};
template <class O> constexpr bool counts_elements<Stated<O>> = counts_elements<O>;
template <class O> constexpr bool loads_once<Stated<O>> = loads_once<O>;
template <class O> constexpr bool leaves_out_zeros<Stated<O>> = leaves_out_zeros<O>;

// The same of an operator in segments: what it has of O, a number of type K or else a total; its last element's key,
// where keys tell segments; and its state.
template <class T, class Key> struct alignas(sizeof(T) + sizeof(Key) <= 4 ? 8 : 16) Segmented {
  T of;
  Key key;
  u32 state;
};
template <class T> struct alignas(sizeof(T) <= 4 ? 8 : 16) Segmented<T, void> {
  T of;
  u32 state;
};
template <class S, class O, class K> struct PartOfSegments : S { // of numbers
  using Of = K;
  using Total = typename S::Total;
  RS_METHOD static Total whole_of(K y) {
    return S::begin(widen<typename S::KeptNumber>(y));
  }
  RS_METHOD static K part_of(Total t) {
    return Narrow<K>::from(S::keep(t));
  }
};
template <class S, class O> struct PartOfSegments<S, O, void> : S {
  using Of = typename BareOf<O>::type;
  using Total = typename S::Total;
  RS_METHOD static Total whole_of(Of y) {
    return S::of(BareOf<O>::whole(y), 0);
  }
  RS_METHOD static Of part_of(Total t) {
    return BareOf<O>::of(S::whole(t));
  }
};
template <class S, class O, class K, class Key = void> struct StatedSegments : PartOfSegments<S, O, K> {
  using Base = PartOfSegments<S, O, K>;
  using Total = typename S::Total;
  using KeptNumber = Segmented<typename Base::Of, Key>;
  RS_METHOD static Total begin(KeptNumber y) {
    Total t = Base::whole_of(y.of);
    t.state = y.state;
    if constexpr (!same_type<Key, void>)
      t.key = y.key;
    return t;
  }
  RS_METHOD static KeptNumber keep(Total t) {
    KeptNumber y{};
    y.of = Base::part_of(t);
    y.state = t.state;
    if constexpr (!same_type<Key, void>)
      y.key = t.key;
    return y;
  }
};
template <class S, class O, class K, class Key> constexpr bool has_segments<StatedSegments<S, O, K, Key>> = true;
template <class S, class O, class K, class Key>
constexpr bool counts_elements<StatedSegments<S, O, K, Key>> = counts_elements<O>;
