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

// N elements, of which the compiler forgets what it has worked out.
template <int N, class T> RS_DEVICE void forgotten(const T *from, T *to) {
  constexpr int WORDS = N * (int)sizeof(T) / 4;
  union Copy {
    u32 word[WORDS > 0 ? WORDS : 1];
    Vector<T, N> elements;
    RS_METHOD Copy() {
    }
  } copy;
#pragma unroll
  for (int j = 0; j < N; j++)
    copy.elements.at[j] = from[j];
#pragma unroll
  for (int i = 0; i < WORDS; i++)
    forget(copy.word[i]);
#pragma unroll
  for (int j = 0; j < N; j++)
    to[j] = copy.elements.at[j];
}

// How N elements are held: as they are, numbers of tuples as they came, or bytes four to a word.
enum Holding { AS_ELEMENTS, AS_NUMBERS, AS_FOURS };
template <class P, int N>
constexpr Holding holding_of = Fours<P>::SERVE && (N * sizeof(typename P::In) % 4 == 0) ? AS_FOURS
                               : Columns<typename P::In>::COUNT > 1                     ? AS_NUMBERS
                                                                                        : AS_ELEMENTS;
template <class P, int N, Holding = holding_of<P, N>> struct HeldVector : Inside<P, false> {
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
    HeldVector again;
    ::forgotten<N>(at, again.at);
    return again;
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

template <class P, int N> struct HeldVector<P, N, AS_NUMBERS> : Inside<P, false> {
  RS_TYPES_OF(P);
  using Part = Acc;
  using One = typename P::OfOne;
  static constexpr int COUNT = N, K = Columns<In>::COUNT;
  static constexpr bool FINDS_END = false;

  Vector<typename One::In, N * K> in; // as they lie in memory
  Vector<typename One::Mask, MASKED ? N * K : 1> mask;

  template <class V, class M> RS_METHOD void hold(const V &x, const M &m) {
    in = same_bytes<typename One::In, N * K>(x);
    if constexpr (MASKED)
      mask = same_bytes<typename One::Mask, N * K>(m);
  }
  RS_METHOD HeldVector forgotten() const {
    HeldVector again = *this;
    ::forgotten<N * K>(in.at, again.in.at);
    if constexpr (MASKED)
      ::forgotten<N * K>(mask.at, again.mask.at);
    return again;
  }
  RS_METHOD void values(Acc *x) const {
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
      for (int c = 0; c < K; c++) {
        int i = (P::reverse ? N - 1 - j : j) * K + c;
        x[j].at[c] = Row<One>::enter(in.at[i], mask.at[MASKED ? i : 0]);
      }
  }
  RS_METHOD Part total(typename R::Params = {}) const {
    Acc x[N];
    values(x);
    return ::total<Op, N>(x);
  }
  RS_METHOD void prefixes(Acc, Part before, Part after, Acc *prefix, typename R::Params) const {
    Acc x[N];
    values(x);
    carries<Op, N>(before, x, prefix);
    prefix[N] = after;
  }
};

template <class P, int N> struct HeldVector<P, N, AS_FOURS> : Inside<P, true> {
  RS_TYPES_OF(P);
  using Base = Inside<P, true>;
  using Part = typename Base::Part;
  using One = typename Base::One;
  static constexpr int COUNT = N, K = Base::K, WORDS = N * K / 4;
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
  template <class V, class M> RS_METHOD void hold(const V &x, const M &m) {
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      word[w] = same_type<One, boolean> ? true_bytes(x.part[w]) : x.part[w];
      if constexpr (MASKED)
        word[w] &= chosen_bytes(same_bytes<typename Columns<Mask>::One, N * K>(m), w);
    }
  }
  RS_METHOD HeldVector forgotten() const {
    HeldVector again = *this;
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      forget(again.word[w]);
    return again;
  }

  // Where column c of element j is, in the order of memory.
  RS_METHOD static constexpr int place(int j, int c) {
    return (P::reverse ? N - 1 - j : j) * K + c;
  }
  // Of the elements up to the j-th, the first one whose column c is in the same word.
  RS_METHOD static constexpr int first_of_word(int j, int c) {
    int byte = place(j, c) % 4;
    return j - (P::reverse ? 3 - byte : byte) / K;
  }
  // Adds column c of elements `first` to `last`, which are in one word.
  RS_METHOD void add(u32 &sum, int first, int last, int c) const {
    u32 bytes = 0;
#pragma unroll
    for (int j = first; j <= last; j++)
      bytes |= 1u << 8 * (place(j, c) % 4);
    u32 from = word[place(last, c) / 4];
    sum = Base::SIGNED ? add_signed_bytes(from, bytes, sum) : add_bytes(from, bytes, sum);
  }
  RS_METHOD Part total(typename R::Params = {}) const {
    Part sum{};
#pragma unroll
    for (int j = 0; j < N; j++)
      Base::each([&](int c) {
        if (j == N - 1 || first_of_word(j + 1, c) == j + 1) // the last one of its word
          add(Base::of(sum, c), first_of_word(j, c), j, c);
      });
    return sum;
  }
  RS_METHOD void prefixes(const Acc &carry, Part before, const Part &, Acc *prefix, typename R::Params) const {
    Part sum[N + 1]; // sum[j]: with the elements before element j
    sum[0] = before;
    prefix[0] = Base::prefix(carry, before);
#pragma unroll
    for (int j = 0; j < N; j++) {
      Base::each([&](int c) {
        int first = first_of_word(j, c);
        Base::of(sum[j + 1], c) = Base::of(sum[first], c);
        add(Base::of(sum[j + 1], c), first, j, c);
      });
      prefix[j + 1] = Base::prefix(carry, sum[j + 1]);
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
