// further.cuh - further arrays of elements: inputs beside the first, a second output, flags or keys beside a mask
// SPDX-License-Identifier: MIT
//
// A problem P that has some has a struct Further:
//   Inputs        Pack<...>: element types of the further inputs
//   Params        Pack<...>: as many numbers as the operator has parameters
//   Second        element type of the second output, or Nothing
//   Segment       element type of the flags or keys beside a mask, or Nothing
//   told          how these tell where a segment begins
// Elements go straight from global memory to registers, where a thread holds all inputs of an element.
#pragma once
#include "arrays.h"
#include "ops.cuh"
#include "types.cuh"

enum MaskMode { NO_MASK, SELECT, MULTIPLY, COEFFICIENT, SEGMENTS };

// In the order of the scan, a segment begins with an element that is marked, that follows one that is, or whose key is
// not that of the one before.
enum Told { NOT_TOLD, MARKED_ITSELF, MARKED_BEFORE, KEY_CHANGES };

struct Nothing {};

template <class... T> struct Pack {};
template <class T, class... Rest> struct Pack<T, Rest...> {
  T first;
  Pack<Rest...> rest;
};
// f of `before`, and then of all that a pack has, as numbers of type A. No lambdas of any types: NVRTC takes these for
// functions of the host.
template <class A, class F, class... N> RS_DEVICE auto unpacked(const Pack<> &, const F &f, N... before) {
  return f(before...);
}
template <class A, class T, class... Rest, class F, class... N>
RS_DEVICE auto unpacked(const Pack<T, Rest...> &pack, const F &f, N... before) {
  return unpacked<A>(pack.rest, f, before..., widen<A>(pack.first));
}
template <class A, class Next, class F> struct AndUnpacked {
  const Next &next;
  const F &f;
  template <class... N> RS_METHOD auto operator()(N... before) const {
    return unpacked<A>(next, f, before...);
  }
};

template <class P, class = void> struct FurtherOf {
  static constexpr bool ANY = false;
  using Second = Nothing;
  static constexpr Told told = NOT_TOLD;
};
template <class P> struct FurtherOf<P, Void<typename P::Further>> : P::Further { static constexpr bool ANY = true; };
template <class P> constexpr bool HAS_SECOND = !same_type<typename FurtherOf<P>::Second, Nothing>;
template <class P> constexpr bool TOLD = FurtherOf<P>::told != NOT_TOLD;

template <class P, bool ANY = FurtherOf<P>::ANY> struct ParamsOf { using type = Nothing; };
template <class P> struct ParamsOf<P, true> { using type = typename P::Further::Params; };
RS_DEVICE void fill(Pack<> &, const f64 *) {
}
template <class T, class... Rest> RS_DEVICE void fill(Pack<T, Rest...> &pack, const f64 *from) {
  pack.first = (T)*from;
  fill(pack.rest, from + 1);
}
template <class Params> RS_DEVICE Params params_from(const f64 *from) {
  Params params;
  fill(params, from);
  return params;
}

// Where a row begins in an array, and the way from one element to the next in the scan's order.
template <class T> struct Place {
  T *at;
  i64 step;
};

// ---- what is held of an element -------------------------------------------------------------------------------------

template <class T, bool YES> struct IfAny { using type = T; };
template <class T> struct IfAny<T, false> { using type = Nothing; };

template <class P> struct Gathered {
  using Op = typename P::Op;
  using Number = typename Op::Number;
  using Further = FurtherOf<P>;
  using Params = typename ParamsOf<P>::type;
  typename P::In x;
  typename IfAny<typename P::Mask, P::mask != NO_MASK>::type m;
  typename Further::Inputs more;
  typename IfAny<bool, TOLD<P>>::type begins; // a segment does with it

  // f(x, ...) of all that load() of an operator has, but for flags.
  template <class F> RS_METHOD auto numbers(const Params &params, const F &f) const {
    AndUnpacked<Number, Params, F> all{params, f};
    Number number = widen<Number>(x);
    if constexpr (P::mask == MULTIPLY)
      number = number * widen<Number>(m);
    if constexpr (P::mask == COEFFICIENT)
      return unpacked<Number>(more, all, number, widen<Number>(m));
    else
      return unpacked<Number>(more, all, number);
  }
  struct Loading {
    const Gathered &held;
    template <class... N> RS_METHOD typename P::Acc operator()(Number number, N... other) const {
      if constexpr (TOLD<P>)
        return Op::load(number, held.begins, other...);
      else if constexpr (P::mask == SEGMENTS)
        return Op::load(number, held.m, other...);
      else
        return Op::load(number, other...);
    }
  };
  RS_METHOD typename P::Acc masked() const {
    if constexpr (TOLD<P>)
      return Op::masked(begins);
    else
      return Op::identity();
  }
  RS_METHOD typename P::Acc value(const Params &params) const {
    if constexpr (P::mask == SELECT)
      return is_true(m) ? numbers(params, Loading{*this}) : masked();
    else
      return numbers(params, Loading{*this});
  }
  // Of a prefix, what the second output has.
  struct Seconding {
    typename P::Acc prefix;
    template <class... N> RS_METHOD auto operator()(N... all) const {
      return Op::second(prefix, all...);
    }
  };
  RS_METHOD auto second(typename P::Acc prefix, const Params &params) const {
    return numbers(params, Seconding{prefix});
  }
};

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Of the arrays from WHICH on.
template <int WHICH, class Types> struct MoreInputs;
template <int WHICH> struct MoreInputs<WHICH, Pack<>> {
  template <class Places> RS_METHOD explicit MoreInputs(const Places &) {
  }
  RS_METHOD void load_one(Pack<> &, i64) const {
  }
  template <int N, bool REVERSE, class F> RS_METHOD void load_vectored(i64, const F &) const {
  }
};
template <int WHICH, class T, class... Rest> struct MoreInputs<WHICH, Pack<T, Rest...>> {
  Place<const T> place;
  MoreInputs<WHICH + 1, Pack<Rest...>> others;

  template <class Places>
  RS_METHOD explicit MoreInputs(const Places &places) : place(places.template of<const T>(WHICH)), others(places) {
  }
  RS_METHOD void load_one(Pack<T, Rest...> &to, i64 i) const {
    to.first = load_element(place.at + i * place.step);
    others.load_one(to.rest, i);
  }
  // N neighbours in memory, the lowest one's distance from the pointer; to(j): where element j of them goes.
  template <int N, bool REVERSE, class F> RS_METHOD void load_vectored(i64 lowest, const F &to) const {
    Vector<T, N> x = load_vector<T, N>(place.at + lowest);
#pragma unroll
    for (int j = 0; j < N; j++)
      to(j).first = x.at[REVERSE ? N - 1 - j : j];
    others.template load_vectored<N, REVERSE>(lowest, [&](int j) -> Pack<Rest...> & { return to(j).rest; });
  }
};

// ---- segments -------------------------------------------------------------------------------------------------------

template <class T, Told told> struct Beginnings {
  Place<const T> place;

  template <class Places>
  RS_METHOD explicit Beginnings(const Places &places) : place(places.template of<const T>(RS_SEGMENTS)) {
  }
  RS_METHOD static bool between(bool first, T before, T own) {
    return told == MARKED_ITSELF   ? is_true(own)
           : told == MARKED_BEFORE ? !first && is_true(before)
                                   : !first && widen<u64>(before) != widen<u64>(own);
  }
  RS_METHOD T load(i64 i) const {
    return load_element(place.at + i * place.step);
  }
  RS_METHOD T before(i64 i) const {
    if constexpr (told == MARKED_ITSELF)
      return {};
    else
      return load(i > 0 ? i - 1 : 0);
  }
  template <class Held> RS_METHOD void load_one(Held &held, i64 i) const {
    held.begins = between(i == 0, before(i), told == MARKED_BEFORE ? T{} : load(i));
  }
  template <int N, bool REVERSE, class Held> RS_METHOD void load_vectored(Held *held, i64 i, i64 lowest) const {
    Vector<T, N> own = load_vector<T, N>(place.at + lowest);
    T last = before(i);
#pragma unroll
    for (int j = 0; j < N; j++) {
      T mine = own.at[REVERSE ? N - 1 - j : j];
      held[j].begins = between(i + j == 0, last, mine);
      last = mine;
    }
  }
};
template <class T> struct Beginnings<T, NOT_TOLD> {
  template <class Places> RS_METHOD explicit Beginnings(const Places &) {
  }
  template <class Held> RS_METHOD void load_one(Held &, i64) const {
  }
  template <int N, bool REVERSE, class Held> RS_METHOD void load_vectored(Held *, i64, i64) const {
  }
};

// ---- a row's further arrays -----------------------------------------------------------------------------------------

template <class P, bool ANY = FurtherOf<P>::ANY> struct FurtherArrays {
  template <class Places> RS_METHOD explicit FurtherArrays(const Places &) {
  }
};
template <class P> struct FurtherArrays<P, true> {
  using In = typename P::In;
  using Mask = typename P::Mask;
  using Acc = typename P::Acc;
  using Held = Gathered<P>;
  using Params = typename Held::Params;
  using Further = FurtherOf<P>;
  using Second = typename Further::Second;

  MoreInputs<RS_MORE_IN, typename Further::Inputs> inputs;
  Beginnings<typename Further::Segment, Further::told> beginnings;
  Place<Second> second;

  template <class Places>
  RS_METHOD explicit FurtherArrays(const Places &places)
      : inputs(places), beginnings(places), second(places.template of<Second>(RS_SECOND)) {
  }
  RS_METHOD Held load_one(In x, Mask m, i64 i) const {
    Held held{};
    held.x = x;
    if constexpr (P::mask != NO_MASK)
      held.m = m;
    inputs.load_one(held.more, i);
    beginnings.load_one(held, i);
    return held;
  }
  template <int N>
  RS_METHOD void load_vectored(Held *held, const Vector<In, N> &x, const Vector<Mask, N> &m, i64 i, i64 lowest) const {
#pragma unroll
    for (int j = 0; j < N; j++) {
      held[j].x = x.at[P::reverse ? N - 1 - j : j];
      if constexpr (P::mask != NO_MASK)
        held[j].m = m.at[P::reverse ? N - 1 - j : j];
    }
    inputs.template load_vectored<N, P::reverse>(lowest,
                                                 [&](int j) -> typename Further::Inputs & { return held[j].more; });
    beginnings.template load_vectored<N, P::reverse>(held, i, lowest);
  }
  // The second output of N elements from i on, of a row of so many, given what the first one shows.
  template <int N, bool VECTORED>
  RS_METHOD void store(i64 i, i64 lowest, i64 length, const Held *held, const Acc *prefix, const Params &params) const {
    if (VECTORED && i + N <= length) {
      Vector<Second, N> y;
#pragma unroll
      for (int j = 0; j < N; j++)
        y.at[P::reverse ? N - 1 - j : j] = Narrow<Second>::from(held[j].second(prefix[j], params));
      store_vector<Second, N>(second.at + lowest, y);
    } else {
#pragma unroll
      for (int j = 0; j < N; j++)
        if (i + j < length)
          store_element(second.at + (i + j) * second.step, Narrow<Second>::from(held[j].second(prefix[j], params)));
    }
  }
};
