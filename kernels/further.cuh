// further.cuh - further arrays of elements: inputs beside the first, a second output, flags or keys beside a mask
// SPDX-License-Identifier: MIT
//
// A problem P that has some has a struct Further:
//   Inputs        Pack<...>: element types of the further inputs
//   Params        Pack<...>: as many numbers as the operator has parameters
//   Second        element type of the second output, or Nothing
//   weighs        whether the first output shows Op::second(), and the second one Op::store()
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
  using Inputs = Pack<>;
  using Second = Nothing;
  using Segment = Nothing;
  static constexpr Told told = NOT_TOLD;
  static constexpr bool weighs = false;
};
template <class P> struct FurtherOf<P, Void<typename P::Further>> : P::Further { static constexpr bool ANY = true; };
template <class P> constexpr bool HAS_SECOND = !same_type<typename FurtherOf<P>::Second, Nothing>;
template <class P> constexpr bool WEIGHS = FurtherOf<P>::weighs;
template <class P> constexpr bool SHOWS_OWN = HAS_SECOND<P> || WEIGHS<P>; // outputs want their elements once more
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
// of THREADS, in each of CHUNKS chunks. VECTORS: arrays may have vectors of them, else their elements are apart. full:
// none of the lanes has fewer than N, but for those that have none.
template <int COUNT, int LANES_, int THREADS_, int CHUNKS, bool REVERSED, bool VECTORED, class I> struct Stretch {
  static constexpr int N = COUNT, LANES = LANES_, THREADS = THREADS_;
  static constexpr int GROUP = LANES * N, ALL = CHUNKS * THREADS; // elements of a group, stretches of a block
  static constexpr bool REVERSE = REVERSED, VECTORS = VECTORED;
  using Index = I;
  Index i, left;
  bool full;
  int chunk;
  u32 offsets; // of those arrays whose copies do not begin on a word (Incoming), 2 bits each

  // Its number among those of the block, groups in the order of memory; or that of a lane so many further on.
  RS_METHOD u32 number(int lanes = 0) const {
    int lane = (int)(lane_index() % LANES), own = lane + lanes;
    return (u32)(chunk * THREADS + (int)thread_index() - lane + (REVERSE ? LANES - 1 - own : own));
  }
  RS_METHOD static int in_memory(int j) {
    return REVERSE ? N - 1 - j : j;
  }
  // That of a lane so many further on, of the same group.
  RS_METHOD Stretch beside(int lanes) const {
    return {i + lanes * N, left - lanes * N, full, chunk, offsets};
  }
};

// A word for each thread of a block, in shared memory.
template <class Word, int THREADS> RS_DEVICE Word *words_between() {
  RS_SHARED Word word[THREADS];
  return word;
}

template <class T> struct NotConst { using type = T; };
template <class T> struct NotConst<const T> { using type = T; };

// Where a row begins in an array, and the way from one element to the next in the scan's order. Each array tells by
// itself whether stretches of it are vectors: where its elements are neighbours in memory, on a multiple of their size.
// So are all of a row then, or none. Vectors: as they lie in memory.
template <class T> struct Place {
  using Own = typename NotConst<T>::type;
  T *at;
  i64 step;

  RS_METHOD void move(i64 steps) {
    at += steps * step;
  }
  template <class S> RS_METHOD T *lowest(S s) const {
    return at + (S::REVERSE ? -s.i - (S::N - 1) : s.i);
  }
  template <class S> RS_METHOD bool has_vectors(S s) const {
    return S::VECTORS && step == (S::REVERSE ? -1 : 1) &&
           reinterpret_cast<u64>(lowest(s)) % word_bytes(S::N * (int)sizeof(T)) == 0;
  }
  // All lanes of the warp come here, and to what it calls.
  template <class S> RS_METHOD void store(S s, const Vector<Own, S::N> &y) const {
    constexpr int WORDS = Words<Own, S::N>::COUNT;
    const bool vectors = has_vectors(s);
    if constexpr (S::VECTORS && S::LANES > 1 && S::LANES >= WORDS) {
      if (any_lane(!vectors || (s.left > 0 && s.left < S::N)))
        store_side_by_side(s, y);
      else if constexpr (WORDS > 1)
        store_by_two(s, y);
      else if (s.left > 0)
        store_vector<T, S::N>(lowest(s), y);
    } else if (vectors && s.left >= S::N) {
      store_vector<T, S::N>(lowest(s), y);
    } else {
#pragma unroll
      for (int j = 0; j < S::N; j++)
        if (j < s.left)
          store_element(at + (s.i + j) * step, y.at[s.in_memory(j)]);
    }
  }
  // The lanes of a group store one another's elements, neighbours at a time: a word of each lane has room in between,
  // so that those of a few lanes go at once.
  template <class S> RS_METHOD void store_side_by_side(S s, const Vector<Own, S::N> &y) const {
    using Of = Words<Own, S::N>;
    constexpr int LANES = S::LANES / Of::COUNT, PART = LANES * S::N; // at once
    const int lane = (int)(lane_index() % S::LANES);
    const typename S::Index left = s.left + lane * S::N; // of the group
    T *to = at + (s.i - lane * S::N + lane) * step;
    Of own;
    own.vector = y;
    typename Of::type *words = words_between<typename Of::type, S::THREADS>() + (thread_index() - (u32)lane);
    const Own *elements = reinterpret_cast<const Own *>(words);
#pragma unroll
    for (int first = 0; first < S::LANES; first += LANES) {
      warp_barrier(); // all lanes have stored what was there
      if (lane >= first && lane < first + LANES)
#pragma unroll
        for (int w = 0; w < Of::COUNT; w++)
          words[(lane - first) * Of::COUNT + w] = own.word[w];
      warp_barrier();
#pragma unroll
      for (int part = 0; part < PART; part += S::LANES) {
        int k = part + lane;
        if (first * S::N + k < left)
          store_element(to, elements[k / S::N * S::N + s.in_memory(k % S::N)]);
        to += S::LANES * step;
      }
    }
  }
  // Vectors of several words of 16 bytes: lanes 2k and 2k + 1 store those of both, neighbours at a time, so that each
  // store of the warp has whole sectors.
  template <class S> RS_METHOD void store_by_two(S s, const Vector<Own, S::N> &y) const {
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
      if (whose.left > 0)
        store_word(reinterpret_cast<u128 *>(lowest(whose)) + (2 * k + odd), lanes == 0 ? kept[k] : got[k]);
    }
  }
};

// Room of an array in shared memory, for N elements of each of COUNT stretches: words of up to 16 bytes, of all of them
// side by side. WHICH: each array has its own.
template <class T, int WHICH, int N, int COUNT> struct Room {
  using Of = Words<T, N>;
  using Word = typename Of::type;
  static constexpr int PER_WORD = N / Of::COUNT;

  RS_METHOD static Word *words() {
    RS_SHARED Word word[Of::COUNT * COUNT];
    return word;
  }
  RS_METHOD static Word *word(u32 stretch, int w) {
    return words() + (w * COUNT + stretch);
  }
  RS_METHOD static T *element(u32 stretch, int j) {
    return reinterpret_cast<T *>(word(stretch, j / PER_WORD)) + j % PER_WORD;
  }
  RS_METHOD static void put(u32 stretch, const Vector<T, N> &x) {
    Of all;
    all.vector = x;
#pragma unroll
    for (int w = 0; w < Of::COUNT; w++)
      *word(stretch, w) = all.word[w];
  }
  RS_METHOD static Vector<T, N> vector(u32 stretch) {
    Of all;
#pragma unroll
    for (int w = 0; w < Of::COUNT; w++)
      all.word[w] = *word(stretch, w);
    return all.vector;
  }
};

template <class T> RS_DEVICE void fetch_element(T *to, const T *from) {
  using W = typename Word<sizeof(T)>::type;
  fetch(reinterpret_cast<W *>(to), reinterpret_cast<const W *>(from));
}

// An array of inputs. Where its stretches are vectors, each thread fetches its own; else the lanes of a group fetch one
// another's elements, neighbours at a time. Of less than 4 bytes, which do not go past registers, they fetch the words
// of 4 bytes that have these; the group's copy then begins up to 3 bytes off a word, and ends in a word of its own,
// until each lane has put its elements where vectors are.
template <class T, int WHICH> struct Incoming {
  Place<const T> place;
  template <class S> using RoomFor = Room<T, WHICH, S::N, S::ALL>;
  static constexpr int SIZE = (int)sizeof(T);
  template <class S> RS_METHOD static constexpr bool in_words() {
    return S::VECTORS && SIZE < 4 && S::GROUP * SIZE % 4 == 0;
  }

  // The words that a group's elements take, in the order of memory, and one more.
  template <class S> struct Copy {
    static_assert(RoomFor<S>::Of::COUNT == 1, "side by side as in memory");
    static constexpr int WORDS = S::GROUP * SIZE / 4;
    u32 *words, *last;

    RS_METHOD explicit Copy(S s) {
      RS_SHARED u32 after[S::ALL / S::LANES];
      int group = (int)s.number() / S::LANES;
      words = reinterpret_cast<u32 *>(RoomFor<S>::words()) + group * WORDS;
      last = after + group;
    }
    RS_METHOD u32 *word(int k) const {
      return k < WORDS ? words + k : last;
    }
  };

  // Begins to fetch a stretch, of a row of so many elements; returns its offset, as Stretch has it.
  template <class S> RS_METHOD u32 fetch_stretch(S s, typename S::Index length) const {
    using To = RoomFor<S>;
    if (s.full && place.has_vectors(s)) {
      if (s.left > 0) {
#pragma unroll
        for (int w = 0; w < To::Of::COUNT; w++)
          fetch(To::word(s.number(), w), reinterpret_cast<const typename To::Word *>(place.lowest(s)) + w);
      }
      return 0;
    }
    if constexpr (in_words<S>())
      if (place.step == (S::REVERSE ? -1 : 1))
        return fetch_words(s, length) << 2 * WHICH;
    constexpr int AT_A_TIME = SIZE < 4 ? S::N : 1; // fetch() waits for less than 4 bytes
    const int lane = (int)(lane_index() % S::LANES), before = lane * S::N;
#pragma unroll AT_A_TIME
    for (int k = 0; k < S::N; k++) {
      int e = k * S::LANES + lane; // of the group's elements
      if (e < s.left + before)
        fetch_element(To::element(s.number(e / S::N - lane), s.in_memory(e % S::N)),
                      place.at + (s.i - before + e) * place.step);
    }
    return 0;
  }
  // The words that have elements of the row, and where one ends beyond it in memory its elements alone: what comes
  // there may be no memory, but what comes before, up to a word, is. Returns the offset in bytes.
  template <class S> RS_METHOD u32 fetch_words(S s, typename S::Index length) const {
    using C = Copy<S>;
    using Index = typename S::Index;
    constexpr int ALL = S::GROUP, UNIT = 4 / SIZE;
    const int lane = (int)(lane_index() % S::LANES);
    const Index first = s.i - lane * S::N, left = length - first; // of the group
    const T *low = place.at + (S::REVERSE ? -first - (ALL - 1) : first);
    const u32 offset = (u32)(reinterpret_cast<u64>(low) % 4);
    // of the elements from `low` on those that the row has, the last one up to a word further on
    const int before = (int)(first < UNIT ? first : UNIT), there = (int)(left < ALL + UNIT ? left : ALL + UNIT);
    const int begin = S::REVERSE && there < ALL ? ALL - there : 0, end = S::REVERSE ? ALL + before : there;
    C copy(s);
#pragma unroll
    for (int part = 0; part <= C::WORDS / S::LANES; part++) {
      int k = part * S::LANES + lane, e = k * UNIT - (int)offset / SIZE;
      if (e + UNIT <= end) {
        if (e + UNIT > begin && e < ALL)
          fetch(copy.word(k), reinterpret_cast<const u32 *>(low + e));
      } else if (e < end && e < ALL) {
#pragma unroll 1
        for (int j = 0; j < UNIT; j++)
          if (e + j >= begin && e + j < end && e + j < ALL)
            reinterpret_cast<T *>(copy.word(k))[j] = load_element(low + (e + j));
      }
    }
    return offset;
  }
  // When all lanes of the warp have waited for what they fetched, before any of them takes it.
  template <class S> RS_METHOD static void settle(S s) {
    if constexpr (in_words<S>()) {
      u32 offset = s.offsets >> 2 * WHICH & 3;
      if (any_lane(offset != 0)) {
        Vector<T, S::N> own = from_words(s, offset);
        warp_barrier();
        RoomFor<S>::put(s.number(), own);
      }
    }
  }
  template <class S> RS_METHOD static Vector<T, S::N> from_words(S s, u32 offset) {
    constexpr int COUNT = (S::N * SIZE + 3) / 4;
    union Own {
      u32 word[COUNT];
      Vector<T, S::N> vector;
      RS_METHOD Own() {
      }
    } own;
    u32 at = offset + s.number() % S::LANES * (S::N * SIZE);
    Copy<S> copy(s);
    u32 word = *copy.word((int)at / 4);
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      u32 next = *copy.word((int)at / 4 + k + 1);
      own.word[k] = funnel_right(word, next, at % 4 * 8);
      word = next;
    }
    return own.vector;
  }
  template <class S> RS_METHOD static Vector<T, S::N> fetched(S s) {
    return RoomFor<S>::vector(s.number());
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
  // Of a prefix, what an output has.
  struct Seconding {
    typename P::Acc prefix;
    template <class... N> RS_METHOD auto operator()(N... all) const {
      return Op::second(prefix, all...);
    }
  };
  template <bool SECOND> RS_METHOD auto shown(typename P::Acc prefix, const Params &params) const {
    if constexpr (SECOND != WEIGHS<P>)
      return numbers(params, Seconding{prefix});
    else
      return Op::store(prefix);
  }
};

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Of the arrays from WHICH on.
template <int WHICH, class Types> struct MoreInputs;
template <int WHICH> struct MoreInputs<WHICH, Pack<>> {
  template <class Places> RS_METHOD explicit MoreInputs(const Places &) {
  }
  template <class S> RS_METHOD u32 fetch_stretch(S, typename S::Index) const {
    return 0;
  }
  template <class S> RS_METHOD static void settle(S) {
  }
  template <class S, class F> RS_METHOD static void take(S, const F &) {
  }
  template <bool AGAIN> RS_METHOD void load_one(Pack<> &, i64) const {
  }
  RS_METHOD void move(i64) {
  }
};
template <int WHICH, class T, class... Rest> struct MoreInputs<WHICH, Pack<T, Rest...>> {
  using Others = MoreInputs<WHICH + 1, Pack<Rest...>>;
  Incoming<T, WHICH> own;
  Others others;

  template <class Places>
  RS_METHOD explicit MoreInputs(const Places &places) : own{places.template of<const T>(WHICH)}, others(places) {
  }
  template <class S> RS_METHOD u32 fetch_stretch(S s, typename S::Index length) const {
    u32 offset = own.fetch_stretch(s, length);
    return offset | others.fetch_stretch(s, length);
  }
  template <class S> RS_METHOD static void settle(S s) {
    Incoming<T, WHICH>::settle(s);
    Others::settle(s);
  }
  // to(j): where element j of a stretch goes.
  template <class S, class F> RS_METHOD static void take(S s, const F &to) {
    Vector<T, S::N> x = Incoming<T, WHICH>::fetched(s);
#pragma unroll
    for (int j = 0; j < S::N; j++)
      to(j).first = x.at[s.in_memory(j)];
    Others::take(s, [&](int j) -> Pack<Rest...> & { return to(j).rest; });
  }
  // Where a row begins in one of them.
  template <int OF> RS_METHOD auto *first() const {
    if constexpr (OF == WHICH)
      return own.place.at;
    else
      return others.template first<OF>();
  }
  template <bool AGAIN> RS_METHOD void load_one(Pack<T, Rest...> &to, i64 i) const {
    to.first = load_element<AGAIN>(own.place.at + i * own.place.step);
    others.template load_one<AGAIN>(to.rest, i);
  }
  RS_METHOD void move(i64 steps) {
    own.place.move(steps);
    others.move(steps);
  }
};

// ---- segments -------------------------------------------------------------------------------------------------------

template <class T, Told told> struct Beginnings {
  using Own = Incoming<T, RS_SEGMENTS>;
  template <class S> using Before = Room<T, RS_ALL_ARRAYS, 1, S::ALL>;
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
  template <class S> RS_METHOD u32 fetch_stretch(S s, typename S::Index length) const {
    u32 offset = own.fetch_stretch(s, length);
    if (told != MARKED_ITSELF && s.i > 0 && s.left > 0)
      fetch_element(Before<S>::element(s.number(), 0), own.place.at + (s.i - 1) * own.place.step);
    return offset;
  }
  template <class S> RS_METHOD static void settle(S s) {
    Own::settle(s);
  }
  template <class S, class Held> RS_METHOD static void take(S s, Held *held) {
    Vector<T, S::N> all = Own::fetched(s);
    T last{};
    if (told != MARKED_ITSELF)
      last = *Before<S>::element(s.number(), 0);
#pragma unroll
    for (int j = 0; j < S::N; j++) {
      T mine = all.at[s.in_memory(j)];
      held[j].begins = between(s.i + j == 0, last, mine);
      last = mine;
    }
  }
  template <bool AGAIN, class Held> RS_METHOD void load_one(Held &held, i64 i, bool first) const {
    auto at = [&](i64 step) { return load_element<AGAIN>(own.place.at + step * own.place.step); };
    held.begins = between(first, told == MARKED_ITSELF || first ? T{} : at(i - 1), told == MARKED_BEFORE ? T{} : at(i));
  }
  RS_METHOD void move(i64 steps) {
    own.place.move(steps);
  }
};
template <class T> struct Beginnings<T, NOT_TOLD> {
  template <class Places> RS_METHOD explicit Beginnings(const Places &) {
  }
  template <class S> RS_METHOD u32 fetch_stretch(S, typename S::Index) const {
    return 0;
  }
  template <class S> RS_METHOD static void settle(S) {
  }
  template <class S, class Held> RS_METHOD static void take(S, Held *) {
  }
  template <bool AGAIN, class Held> RS_METHOD void load_one(Held &, i64, bool) const {
  }
  RS_METHOD void move(i64) {
  }
};

// ---- a row's further arrays -----------------------------------------------------------------------------------------

template <class P, bool ANY = FurtherOf<P>::ANY> struct FurtherArrays {
  template <class Places> RS_METHOD explicit FurtherArrays(const Places &) {
  }
  RS_METHOD void move(i64) {
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
  // Of a row of so many elements; returns the stretch's offsets.
  template <class S>
  RS_METHOD u32 fetch_stretch(S s, typename S::Index length, Place<const In> in, Place<const Mask> mask) const {
    u32 offsets = Incoming<In, RS_IN>{in}.fetch_stretch(s, length);
    if constexpr (P::mask != NO_MASK) {
      Incoming<Mask, RS_MASK> beside{mask}; // NVRTC 11.8 takes no other expression of it here
      offsets |= beside.fetch_stretch(s, length);
    }
    offsets |= inputs.fetch_stretch(s, length);
    return offsets | segments.fetch_stretch(s, length);
  }
  template <class S> RS_METHOD static void settle(S s) {
    Incoming<In, RS_IN>::settle(s);
    if constexpr (P::mask != NO_MASK)
      Incoming<Mask, RS_MASK>::settle(s);
    Inputs::settle(s);
    Segments::settle(s);
  }
  // What was fetched of a stretch, when all lanes have waited for it and settled it; past the row anything, which is
  // part of no prefix that is stored.
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
  // All of an element, into registers. is_first: of its row.
  template <bool AGAIN> RS_METHOD Held load_one(In x, Mask m, i64 i, bool is_first) const {
    Held held{};
    held.x = x;
    if constexpr (P::mask != NO_MASK)
      held.m = m;
    inputs.template load_one<AGAIN>(held.more, i);
    segments.template load_one<AGAIN>(held, i, is_first);
    return held;
  }
  RS_METHOD void move(i64 steps) {
    inputs.move(steps);
    segments.move(steps);
    second.move(steps);
  }
  // Where a row begins in a further input.
  template <int WHICH> RS_METHOD auto *first() const {
    if constexpr (WHICH == RS_SEGMENTS)
      return segments.own.place.at;
    else
      return inputs.template first<WHICH>();
  }
  // Of N elements and their prefixes an output of type T, the SECOND or the first; as they lie in memory.
  template <class T, bool SECOND, int N>
  RS_METHOD static Vector<T, N> output(const Held *held, const Acc *prefix, const Params &params) {
    Vector<T, N> y;
#pragma unroll
    for (int j = 0; j < N; j++)
      y.at[P::reverse ? N - 1 - j : j] = Narrow<T>::from(held[j].template shown<SECOND>(prefix[j], params));
    return y;
  }
  template <class S> RS_METHOD void store(S s, const Held *held, const Acc *prefix, const Params &params) const {
    second.store(s, output<Second, true, S::N>(held, prefix, params));
  }
};
