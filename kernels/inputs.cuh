// inputs.cuh - the arrays of elements that a scan reads, as a list, and a thread's elements of each
// SPDX-License-Identifier: MIT
//
// Elements come first, then a mask or what is in its place, further inputs, and what tells segments beside a mask.
#pragma once
#include "held.cuh"
#include "neighbours.cuh"

// One of them. LAGS: of each element the one before it is asked for, too, in the order of the scan.
template <class T, int WHICH_, bool LAGS_ = false> struct Input {
  using Type = T;
  static constexpr int WHICH = WHICH_;
  static constexpr bool LAGS = LAGS_;
};
template <class... I> struct List {};

template <class L, int WHICH, class More> struct WithMore;
template <class... I, int WHICH> struct WithMore<List<I...>, WHICH, Pack<>> { using type = List<I...>; };
template <class... I, int WHICH, class T, class... Rest>
struct WithMore<List<I...>, WHICH, Pack<T, Rest...>> : WithMore<List<I..., Input<T, WHICH>>, WHICH + 1, Pack<Rest...>> {
};
template <class L, class I, bool YES> struct With { using type = L; };
template <class... Before, class I> struct With<List<Before...>, I, true> { using type = List<Before..., I>; };

template <class P> struct InputsOf {
  using Further = FurtherOf<P>;
  static constexpr bool MASK_LAGS = TOLD_BY_NEIGHBOURS<P> == MARKED_BEFORE || TOLD_BY_NEIGHBOURS<P> == KEY_CHANGES;
  using Masked = typename With<List<Input<typename P::In, RS_IN>>, Input<typename P::Mask, RS_MASK, MASK_LAGS>,
                               P::mask != NO_MASK>::type;
  using More = typename WithMore<Masked, RS_MORE_IN, typename Further::Inputs>::type;
  static constexpr bool SEGMENTS_LAG = TOLD<P> && Further::told != MARKED_ITSELF;
  using type = typename With<More, Input<typename Further::Segment, RS_SEGMENTS, SEGMENTS_LAG>, TOLD<P>>::type;
};

// A thread's neighbours of each input of a list, as they lie in memory. last: of one that lags, the element before
// them.
struct NoVectors {};
template <int WHICH_, class V, class Last, class Others> struct Vectors {
  V own;
  Last last;
  Others others;

  template <int WHICH> RS_METHOD const auto &of() const {
    if constexpr (WHICH == WHICH_)
      return *this;
    else
      return others.template of<WHICH>();
  }
};
template <int WHICH, class V, class Last, class Others>
RS_DEVICE Vectors<WHICH, V, Last, Others> vectors(const V &own, const Last &last, const Others &others) {
  return {own, last, others};
}

template <int WHICH, class X> RS_DEVICE void take_more(const X &, int, Pack<> &) {
}
template <int WHICH, class X, class T, class... Rest>
RS_DEVICE void take_more(const X &x, int i, Pack<T, Rest...> &to) {
  to.first = x.template of<WHICH>().own.at[i];
  take_more<WHICH + 1>(x, i, to.rest);
}
// Where there are further arrays: what is held of the i-th of them, as they lie in memory, but for `begins`.
template <class P, class X> RS_DEVICE Gathered<P> gathered(const X &x, int i) {
  Gathered<P> held = {};
  held.x = x.own.at[i];
  if constexpr (P::mask != NO_MASK)
    held.m = x.template of<RS_MASK>().own.at[i];
  take_more<RS_MORE_IN>(x, i, held.more);
  return held;
}
// Whether a segment begins with an element, that of a row's first one, the one before it, and its own.
template <class P, class T> RS_DEVICE bool begins_segment(bool first, T last, T own) {
  return Beginnings<T, FurtherOf<P>::told>::between(first, last, own);
}

// Holds them, H::COUNT neighbours in a row. first: they are the first ones of it.
template <class P, class H, class X> RS_DEVICE void hold_inputs(H &held, const X &x, bool first) {
  constexpr int N = H::COUNT;
  using Mask = typename P::Mask;
  if constexpr (FurtherOf<P>::ANY) {
#pragma unroll
    for (int j = 0; j < N; j++)
      held.at[j] = gathered<P>(x, P::reverse ? N - 1 - j : j);
    if constexpr (TOLD<P>) {
      const auto &segments = x.template of<RS_SEGMENTS>();
      typename FurtherOf<P>::Segment last{};
      if constexpr (InputsOf<P>::SEGMENTS_LAG)
        last = segments.last;
#pragma unroll
      for (int j = 0; j < N; j++) {
        auto own = segments.own.at[P::reverse ? N - 1 - j : j];
        held.at[j].begins = begins_segment<P>(first && j == 0, last, own);
        last = own;
      }
    }
  } else if constexpr (P::mask != NO_MASK) {
    const auto &mask = x.template of<RS_MASK>();
    held.hold(x.own, mask.own);
    if constexpr (InputsOf<P>::MASK_LAGS)
      tell_beginnings<P>(held, first, mask.last);
    else if constexpr (TOLD_BY_NEIGHBOURS<P> != NOT_TOLD)
      tell_beginnings<P>(held, first, Mask{});
  } else {
    held.hold(x.own, Vector<typename Units<Mask>::Unit, N * Units<Mask>::COUNT>{});
  }
}
