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
  using type =
      typename With<More, Input<typename Further::Segment, RS_SEGMENTS, Further::told != MARKED_ITSELF>, TOLD<P>>::type;
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

template <int WHICH, int N, bool REVERSE, class X, class F> RS_DEVICE void take_more(const X &, const F &, Pack<> *) {
}
template <int WHICH, int N, bool REVERSE, class X, class F, class T, class... Rest>
RS_DEVICE void take_more(const X &x, const F &to, Pack<T, Rest...> *) {
#pragma unroll
  for (int j = 0; j < N; j++)
    to(j).first = x.template of<WHICH>().own.at[REVERSE ? N - 1 - j : j];
  auto rest = [&](int j) -> Pack<Rest...> & { return to(j).rest; };
  take_more<WHICH + 1, N, REVERSE>(x, rest, (Pack<Rest...> *)nullptr);
}

// Holds them, H::COUNT of each input. first: they are the first ones of their row.
template <class P, class H, class X> RS_DEVICE void hold_inputs(H &held, const X &x, bool first) {
  constexpr int N = H::COUNT;
  using Mask = typename P::Mask;
  if constexpr (FurtherOf<P>::ANY) {
    using More = typename FurtherOf<P>::Inputs;
#pragma unroll
    for (int j = 0; j < N; j++) {
      held.at[j] = {};
      held.at[j].x = x.own.at[P::reverse ? N - 1 - j : j];
    }
    if constexpr (P::mask != NO_MASK)
#pragma unroll
      for (int j = 0; j < N; j++)
        held.at[j].m = x.template of<RS_MASK>().own.at[P::reverse ? N - 1 - j : j];
    take_more<RS_MORE_IN, N, P::reverse>(
        x, [&](int j) -> More & { return held.at[j].more; }, (More *)nullptr);
    if constexpr (TOLD<P>) {
      using Segment = typename FurtherOf<P>::Segment;
      Segment last{};
      if constexpr (FurtherOf<P>::told != MARKED_ITSELF)
        last = x.template of<RS_SEGMENTS>().last;
#pragma unroll
      for (int j = 0; j < N; j++) {
        Segment own = x.template of<RS_SEGMENTS>().own.at[P::reverse ? N - 1 - j : j];
        held.at[j].begins = Beginnings<Segment, FurtherOf<P>::told>::between(first && j == 0, last, own);
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
