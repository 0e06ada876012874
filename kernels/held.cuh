// held.cuh - what a thread holds of neighbours until they are combined, and what it makes of them
// SPDX-License-Identifier: MIT
//
// Sums of bytes in integers are exact in any order. So they stay four to a word, as they came, and one instruction adds
// up to four of them to a number: a fourth of one for each element of a total, one for each prefix. Where sums take 64
// bits, those inside of a tile take 32, and only what comes before the tile has 64.
#pragma once
#include "order.cuh"
#include "tuple.cuh"

// Whether elements of a problem are summed so; or tuples of them (tuple.cuh).
template <class P> struct Fours {
  RS_TYPES_OF(P);
  static constexpr bool BYTES = sizeof(typename Columns<In>::One) == 1;
  static constexpr bool SERVE = BYTES && sums_integers<Op> && (P::mask == NO_MASK || P::mask == SELECT);
};

// What is combined inside of a tile: Inner, whose total is Part. SPLIT: without what comes before the tile.
template <class P, bool BYTES = Fours<P>::SERVE> struct Inside {
  using Acc = typename P::Acc;
  using Inner = typename P::Op;
  using Part = Acc;
  static constexpr bool SPLIT = false;

  // Where a tile's parts are folded from, given the prefix before the tile.
  RS_METHOD static Part inner(Acc carry) {
    return carry;
  }
  // What the total of parts is outside, and a prefix of them.
  RS_METHOD static Acc outer(Part total) {
    return total;
  }
  RS_METHOD static Acc prefix(Acc, Part part) {
    return part;
  }
};
template <class P> struct Inside<P, true> {
  using Acc = typename P::Acc;
  using One = typename Columns<typename P::In>::One;
  using Whole = typename Columns<Acc>::One;
  static constexpr int K = Columns<typename P::In>::COUNT; // columns
  using Inner = typename BySide<K>::template Op<Sum<u32>>;
  using Part = typename Inner::Total;
  static constexpr bool SIGNED = same_type<One, i8>, SPLIT = sizeof(Acc) > sizeof(Part);

  template <class F> RS_METHOD static void each(const F &f) {
#pragma unroll
    for (int c = 0; c < K; c++)
      f(c);
  }
  // A column's own.
  template <class A> RS_METHOD static auto &of(A &total, int c) {
    if constexpr (K > 1)
      return total.at[c];
    else
      return total;
  }
  RS_METHOD static Part inner(const Acc &carry) {
    Part part{};
    if constexpr (!SPLIT)
      each([&](int c) { of(part, c) = (u32)of(carry, c); });
    return part;
  }
  RS_METHOD static Whole outer_one(u32 total) {
    return SIGNED ? (Whole)(i64)(i32)total : (Whole)total;
  }
  RS_METHOD static Acc outer(const Part &total) {
    Acc all;
    each([&](int c) { of(all, c) = outer_one(of(total, c)); });
    return all;
  }
  RS_METHOD static Acc prefix(const Acc &carry, const Part &part) {
    Acc all;
    each([&](int c) { of(all, c) = (SPLIT ? of(carry, c) : 0) + outer_one(of(part, c)); });
    return all;
  }
};

// N elements.
template <class P, int N, bool FOURS = (Fours<P>::SERVE && N * sizeof(typename P::In) % 4 == 0)>
struct HeldVector : Inside<P, false> {
  RS_TYPES_OF(P);
  using Part = Acc;
  static constexpr int COUNT = N;
  static constexpr bool FINDS_END = false; // prefixes() finds the last one out

  typename R::Held at[N]; // in the order of the scan

  RS_METHOD const HeldVector &elements() const {
    return *this;
  }
  RS_METHOD void clear() {
#pragma unroll
    for (int j = 0; j < N; j++)
      at[j] = {};
  }
  // After clear().
  RS_METHOD void set(int j, typename R::Held x) {
    at[j] = x;
  }
  // As they lie in memory.
  RS_METHOD void hold(const Vector<In, N> &x, const Vector<Mask, N> &m) {
    R::template hold_vector<N>(at, x, m);
  }
  // The same, of which the compiler forgets what it has worked out.
  RS_METHOD HeldVector forgotten() const {
    constexpr int WORDS = N * (int)sizeof(typename R::Held) / 4;
    if constexpr (WORDS > 0) {
      union {
        u32 word[WORDS];
        Vector<typename R::Held, N> elements;
      } copy;
#pragma unroll
      for (int j = 0; j < N; j++)
        copy.elements.at[j] = at[j];
#pragma unroll
      for (int i = 0; i < WORDS; i++)
        forget(copy.word[i]);
      HeldVector again;
#pragma unroll
      for (int j = 0; j < N; j++)
        again.at[j] = copy.elements.at[j];
      return again;
    } else {
      return *this;
    }
  }

  RS_METHOD Part total(typename R::Params params = {}) const {
    Acc x[N];
    R::template values<N>(at, x, params);
    return ::total<Op, N>(x);
  }
  // prefix[j]: of all elements before element j; before, after: of the parts of the tile before them and through them.
  RS_METHOD void prefixes(Acc, Part before, Part after, Acc *prefix, typename R::Params params) const {
    Acc x[N];
    R::template values<N>(at, x, params);
    carries<Op, N>(before, x, prefix);
    prefix[N] = after;
  }
};

template <class P, int N> struct HeldVector<P, N, true> : Inside<P, true> {
  RS_TYPES_OF(P);
  using Base = Inside<P, true>;
  using Part = typename Base::Part;
  using One = typename Base::One;
  static constexpr int COUNT = N, K = Base::K, WORDS = N * K / 4, EACH = 4 / K; // elements of a word
  static constexpr bool FINDS_END = true;

  u32 word[WORDS]; // as they lie in memory; what counts as none is 0

  RS_METHOD void clear() {
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      word[w] = 0;
  }
  RS_METHOD void set(int j, typename R::Held x) {
    int at = (P::reverse ? N - 1 - j : j) * K;
    Base::each([&](int c) { word[(at + c) / 4] |= (widen<u32>(Base::of(x, c)) & 0xff) << 8 * ((at + c) % 4); });
  }
  RS_METHOD void hold(const Vector<In, N> &x, const Vector<Mask, N> &m) {
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      word[w] = same_type<One, boolean> ? true_bytes(x.part[w]) : x.part[w];
      if constexpr (MASKED)
        word[w] &= chosen_bytes(m, w);
    }
  }
  RS_METHOD HeldVector forgotten() const {
    HeldVector again = *this;
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      forget(again.word[w]);
    return again;
  }

  // Adds the first `count` elements of a word, in the order of the scan.
  RS_METHOD static void add(Part &sum, u32 bytes, int count) {
    constexpr u32 ALL = K == 1 ? 0x01010101 : K == 2 ? 0x00010001 : 1; // of one column
    u32 of_column = P::reverse ? ALL & ~0u << 8 * K * (EACH - count) : ALL & ~0u >> 8 * K * (EACH - count);
    Base::each([&](int c) {
      u32 &to = Base::of(sum, c), which = of_column << 8 * c;
      to = Base::SIGNED ? add_signed_bytes(bytes, which, to) : add_bytes(bytes, which, to);
    });
  }
  RS_METHOD Part total(typename R::Params = {}) const {
    Part sum{};
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      add(sum, word[w], EACH);
    return sum;
  }
  RS_METHOD void prefixes(const Acc &carry, Part before, const Part &, Acc *prefix, typename R::Params) const {
    prefix[0] = Base::prefix(carry, before);
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      Part sum;
#pragma unroll
      for (int k = 1; k <= EACH; k++) {
        sum = before;
        add(sum, word[P::reverse ? WORDS - 1 - w : w], k);
        prefix[EACH * w + k] = Base::prefix(carry, sum);
      }
      before = sum;
    }
  }
};

// Of rows with further arrays: elements in shared memory, from fetch_stretch() on (further.cuh), and none of them here.
template <class P, class Stretch> struct FetchedVector : Inside<P, false> {
  RS_TYPES_OF(P);
  using Part = Acc;
  static constexpr int N = Stretch::N;
  static constexpr bool FINDS_END = false;
  Stretch stretch;

  struct Elements {
    Gathered<P> at[N];
  };
  RS_METHOD Elements elements() const {
    Elements held{};
    FurtherArrays<P>::take(stretch, held.at);
    return held;
  }
  RS_METHOD FetchedVector forgotten() const {
    return *this;
  }
  RS_METHOD Part total(typename R::Params params) const {
    Acc x[N];
    R::template values<N>(elements().at, x, params);
    return ::total<Op, N>(x);
  }
  RS_METHOD void prefixes(Acc, Part before, Part after, Acc *prefix, typename R::Params params) const {
    Acc x[N];
    R::template values<N>(elements().at, x, params);
    carries<Op, N>(before, x, prefix);
    prefix[N] = after;
  }
};
template <class P, int N, class Stretch, bool FETCHED> struct VectorFor { using type = HeldVector<P, N>; };
template <class P, int N, class Stretch> struct VectorFor<P, N, Stretch, true> {
  using type = FetchedVector<P, Stretch>;
};
