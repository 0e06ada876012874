// further.cuh - further arrays of elements: inputs beside the first, a second output, flags or keys beside a mask
// SPDX-License-Identifier: MIT
//
// A problem P that has some has a struct Further:
//   Inputs        Pack<...>: element types of the further inputs
//   Params        Pack<...>: as many numbers as the operator has parameters
//   Second        element type of the second output, or Nothing
//   Segment       element type of the flags or keys beside a mask, or Nothing
//   told          how these tell where a segment begins
// Elements go from global memory to shared memory, each array by itself, and there a thread finds all inputs of its
// own: on the way up, again on the way down, and for the second output. So none take registers while they come, or
// between.
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

// N neighbours in the scan's order that a thread has, from element i of a row on, of which the row still has `left`: N
// or more, or fewer, or none if `left` is not above 0. So has each of the LANES lanes of its group in a warp of a block
// of THREADS. VECTORS: arrays may have vectors of them, else their elements are apart. full: none of the lanes has
// fewer than N, but for those that have none.
template <int COUNT, int LANES_, int THREADS_, bool REVERSED, bool VECTORED, class I> struct Stretch {
  static constexpr int N = COUNT, LANES = LANES_, THREADS = THREADS_;
  static constexpr bool REVERSE = REVERSED, VECTORS = VECTORED;
  using Index = I;
  Index i, left;
  bool full;

  RS_METHOD static int in_memory(int j) {
    return REVERSE ? N - 1 - j : j;
  }
  // That of a lane so many further on, of the same group.
  RS_METHOD Stretch beside(int lanes) const {
    return {i + lanes * N, left - lanes * N, full};
  }
};

template <class T> struct NotConst { using type = T; };
template <class T> struct NotConst<const T> { using type = T; };

// Where a row begins in an array, and the way from one element to the next in the scan's order. Each array tells by
// itself whether stretches of it are vectors: where its elements are neighbours in memory, on a multiple of their size.
// So are all of a row then, or none. Vectors: as they lie in memory.
template <class T> struct Place {
  using Own = typename NotConst<T>::type;
  T *at;
  i64 step;

  template <class S> RS_METHOD T *lowest(S s) const {
    return at + (S::REVERSE ? -s.i - (S::N - 1) : s.i);
  }
  template <class S> RS_METHOD bool has_vectors(S s) const {
    return S::VECTORS && step == (S::REVERSE ? -1 : 1) &&
           reinterpret_cast<u64>(lowest(s)) % word_bytes(S::N * (int)sizeof(T)) == 0;
  }
  // All lanes of the warp come here.
  template <class S> RS_METHOD void store(S s, const Vector<Own, S::N> &y) const {
    constexpr bool BY_TWO = S::VECTORS && S::LANES > 1 && Words<Own, S::N>::COUNT > 1;
    bool vectors = has_vectors(s);
    if constexpr (BY_TWO)
      store_by_two(s, y, vectors);
    if (vectors && s.left >= S::N) {
      if constexpr (!BY_TWO)
        store_vector<T, S::N>(lowest(s), y);
    } else {
#pragma unroll
      for (int j = 0; j < S::N; j++)
        if (j < s.left)
          store_element(at + (s.i + j) * step, y.at[s.in_memory(j)]);
    }
  }
  // Vectors of several words of 16 bytes: lanes 2k and 2k + 1 store those of both, neighbours at a time, so that each
  // store of the warp has whole sectors.
  template <class S> RS_METHOD void store_by_two(S s, const Vector<Own, S::N> &y, bool vectors) const {
    constexpr int COUNT = Words<Own, S::N>::COUNT, HALF = COUNT / 2;
    int odd = (int)(lane_index() & 1);
    Words<Own, S::N> own;
    own.vector = y;
    u128 kept[HALF], got[HALF]; // words odd, 2 + odd ... of the lane's own vector, and of the other one's
#pragma unroll
    for (int k = 0; k < HALF; k++) {
      u128 even_word = own.word[2 * k], odd_word = own.word[2 * k + 1];
      kept[k] = odd ? odd_word : even_word;
      got[k] = shuffle_xor(odd ? even_word : odd_word, 1);
    }
#pragma unroll
    for (int w = 0; w < COUNT; w++) {
      int lanes = w / HALF - odd, k = w % HALF; // to the one whose word it is
      S whose = s.beside(lanes);
      if (vectors && whose.left >= S::N)
        store_word(reinterpret_cast<u128 *>(lowest(whose)) + (2 * k + odd), lanes == 0 ? kept[k] : got[k]);
    }
  }
};

// Room of an array in shared memory, for N elements of each thread: words of up to 16 bytes, of all threads side by
// side. WHICH: each array has its own.
template <class T, int WHICH, int N, int THREADS> struct Room {
  using Of = Words<T, N>;
  using Word = typename Of::type;
  static constexpr int PER_WORD = N / Of::COUNT;

  RS_METHOD static Word *words() {
    RS_SHARED Word word[Of::COUNT * THREADS];
    return word;
  }
  RS_METHOD static Word *word(u32 thread, int w) {
    return words() + (w * THREADS + thread);
  }
  RS_METHOD static T *element(u32 thread, int j) {
    return reinterpret_cast<T *>(word(thread, j / PER_WORD)) + j % PER_WORD;
  }
  RS_METHOD static Vector<T, N> vector() {
    Of all;
#pragma unroll
    for (int w = 0; w < Of::COUNT; w++)
      all.word[w] = *word(thread_index(), w);
    return all.vector;
  }
};

template <class T> RS_DEVICE void fetch_element(T *to, const T *from) {
  using W = typename Word<sizeof(T)>::type;
  fetch(reinterpret_cast<W *>(to), reinterpret_cast<const W *>(from));
}

// An array of inputs.
template <class T, int WHICH> struct Incoming {
  Place<const T> place;
  template <class S> using RoomFor = Room<T, WHICH, S::N, S::THREADS>;

  // Begins to fetch a stretch. Vectors a thread fetches for itself; else the lanes of a group fetch one another's
  // elements, neighbours at a time.
  template <class S> RS_METHOD void fetch_stretch(S s) const {
    using To = RoomFor<S>;
    if (s.full && place.has_vectors(s)) {
      if (s.left > 0) {
#pragma unroll
        for (int w = 0; w < To::Of::COUNT; w++)
          fetch(To::word(thread_index(), w), reinterpret_cast<const typename To::Word *>(place.lowest(s)) + w);
      }
    } else {
      constexpr int AT_A_TIME = sizeof(T) < 4 ? S::N : 1; // fetch() waits for less than 4 bytes
      const int lane = (int)(lane_index() % S::LANES), before = lane * S::N;
#pragma unroll AT_A_TIME
      for (int k = 0; k < S::N; k++) {
        int e = k * S::LANES + lane; // of the group's elements
        if (e < s.left + before)
          fetch_element(To::element(thread_index() - (u32)lane + (u32)(e / S::N), s.in_memory(e % S::N)),
                        place.at + (s.i - before + e) * place.step);
      }
    }
  }
  template <class S> RS_METHOD static Vector<T, S::N> fetched(S) {
    return RoomFor<S>::vector();
  }
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
  template <class S> RS_METHOD void fetch_stretch(S) const {
  }
  template <class S, class F> RS_METHOD static void take(S, const F &) {
  }
  RS_METHOD void load_one(Pack<> &, i64) const {
  }
};
template <int WHICH, class T, class... Rest> struct MoreInputs<WHICH, Pack<T, Rest...>> {
  using Others = MoreInputs<WHICH + 1, Pack<Rest...>>;
  Incoming<T, WHICH> own;
  Others others;

  template <class Places>
  RS_METHOD explicit MoreInputs(const Places &places) : own{places.template of<const T>(WHICH)}, others(places) {
  }
  template <class S> RS_METHOD void fetch_stretch(S s) const {
    own.fetch_stretch(s);
    others.fetch_stretch(s);
  }
  // to(j): where element j of a stretch goes.
  template <class S, class F> RS_METHOD static void take(S s, const F &to) {
    Vector<T, S::N> x = Incoming<T, WHICH>::fetched(s);
#pragma unroll
    for (int j = 0; j < S::N; j++)
      to(j).first = x.at[s.in_memory(j)];
    Others::take(s, [&](int j) -> Pack<Rest...> & { return to(j).rest; });
  }
  RS_METHOD void load_one(Pack<T, Rest...> &to, i64 i) const {
    to.first = load_element(own.place.at + i * own.place.step);
    others.load_one(to.rest, i);
  }
};

// ---- segments -------------------------------------------------------------------------------------------------------

template <class T, Told told> struct Beginnings {
  using Own = Incoming<T, RS_SEGMENTS>;
  template <class S> using Before = Room<T, RS_ALL_ARRAYS, 1, S::THREADS>;
  Own own;

  template <class Places>
  RS_METHOD explicit Beginnings(const Places &places) : own{places.template of<const T>(RS_SEGMENTS)} {
  }
  RS_METHOD static bool between(bool first, T before, T own) {
    return told == MARKED_ITSELF   ? is_true(own)
           : told == MARKED_BEFORE ? !first && is_true(before)
                                   : !first && widen<u64>(before) != widen<u64>(own);
  }
  // And the element before a stretch, which is another thread's.
  template <class S> RS_METHOD void fetch_stretch(S s) const {
    own.fetch_stretch(s);
    if (told != MARKED_ITSELF && s.i > 0 && s.left > 0)
      fetch_element(Before<S>::element(thread_index(), 0), own.place.at + (s.i - 1) * own.place.step);
  }
  template <class S, class Held> RS_METHOD static void take(S s, Held *held) {
    Vector<T, S::N> all = Own::fetched(s);
    T last{};
    if (told != MARKED_ITSELF)
      last = *Before<S>::element(thread_index(), 0);
#pragma unroll
    for (int j = 0; j < S::N; j++) {
      T mine = all.at[s.in_memory(j)];
      held[j].begins = between(s.i + j == 0, last, mine);
      last = mine;
    }
  }
  template <class Held> RS_METHOD void load_one(Held &held, i64 i) const {
    auto at = [&](i64 step) { return load_element(own.place.at + step * own.place.step); };
    held.begins =
        between(i == 0, told == MARKED_ITSELF || i == 0 ? T{} : at(i - 1), told == MARKED_BEFORE ? T{} : at(i));
  }
};
template <class T> struct Beginnings<T, NOT_TOLD> {
  template <class Places> RS_METHOD explicit Beginnings(const Places &) {
  }
  template <class S> RS_METHOD void fetch_stretch(S) const {
  }
  template <class S, class Held> RS_METHOD static void take(S, Held *) {
  }
  template <class Held> RS_METHOD void load_one(Held &, i64) const {
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
  using Inputs = MoreInputs<RS_MORE_IN, typename Further::Inputs>;
  using Segments = Beginnings<typename Further::Segment, Further::told>;

  Inputs inputs;
  Segments segments;
  Place<Second> second;

  template <class Places>
  RS_METHOD explicit FurtherArrays(const Places &places)
      : inputs(places), segments(places), second(places.template of<Second>(RS_SECOND)) {
  }
  template <class S> RS_METHOD void fetch_stretch(S s, Place<const In> in, Place<const Mask> mask) const {
    Incoming<In, RS_IN>{in}.fetch_stretch(s);
    if constexpr (P::mask != NO_MASK) {
      Incoming<Mask, RS_MASK> beside{mask}; // NVRTC 11.8 takes no other expression of it here
      beside.fetch_stretch(s);
    }
    inputs.fetch_stretch(s);
    segments.fetch_stretch(s);
  }
  // What was fetched of a stretch, when all lanes have waited for it; past the row anything, which is part of no prefix
  // that is stored.
  template <class S> RS_METHOD static void take(S s, Held *held) {
    Vector<In, S::N> x = Incoming<In, RS_IN>::fetched(s);
#pragma unroll
    for (int j = 0; j < S::N; j++)
      held[j].x = x.at[s.in_memory(j)];
    if constexpr (P::mask != NO_MASK) {
      Vector<Mask, S::N> m = Incoming<Mask, RS_MASK>::fetched(s);
#pragma unroll
      for (int j = 0; j < S::N; j++)
        held[j].m = m.at[s.in_memory(j)];
    }
    Inputs::take(s, [&](int j) -> typename Further::Inputs & { return held[j].more; });
    Segments::take(s, held);
  }
  // All of an element, into registers.
  RS_METHOD Held load_one(In x, Mask m, i64 i) const {
    Held held{};
    held.x = x;
    if constexpr (P::mask != NO_MASK)
      held.m = m;
    inputs.load_one(held.more, i);
    segments.load_one(held, i);
    return held;
  }
  // The second output of a stretch, given what the first one shows.
  template <class S> RS_METHOD void store(S s, const Held *held, const Acc *prefix, const Params &params) const {
    Vector<Second, S::N> y;
#pragma unroll
    for (int j = 0; j < S::N; j++)
      y.at[s.in_memory(j)] = Narrow<Second>::from(held[j].second(prefix[j], params));
    second.store(s, y);
  }
};
