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

// The same of ByFlags<O>: what it has of O, a number of type K or else a total of O; and whether a segment begins.
template <class T> struct alignas(sizeof(T) <= 4 ? 8 : 16) Beginning {
  T of;
  u32 begins;
};
template <class Flags, class O, class K> struct StatedSegments : Flags {
  using Total = typename Flags::Total;
  using KeptNumber = Beginning<K>;
  RS_METHOD static Total begin(KeptNumber y) {
    return Flags::begin(widen<typename Flags::KeptNumber>(y.of));
  }
  RS_METHOD static KeptNumber keep(Total t) {
    return {Narrow<K>::from(Flags::keep(t)), t.state & INSIDE};
  }
};
template <class Flags, class O> struct StatedSegments<Flags, O, void> : Flags {
  using Total = typename Flags::Total;
  using KeptNumber = Beginning<typename BareOf<O>::type>;
  RS_METHOD static Total begin(KeptNumber y) {
    return Flags::of(BareOf<O>::whole(y.of), 0);
  }
  RS_METHOD static KeptNumber keep(Total t) {
    return {BareOf<O>::of(Flags::whole(t)), t.state & INSIDE};
  }
};
template <class Flags, class O, class K> constexpr bool has_segments<StatedSegments<Flags, O, K>> = true;
template <class Flags, class O, class K>
constexpr bool counts_elements<StatedSegments<Flags, O, K>> = counts_elements<O>;
