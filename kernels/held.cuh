// held.cuh - what a thread holds of neighbours until they are combined, and what it makes of them
// SPDX-License-Identifier: MIT
//
// Sums of bytes in integers are exact in any order. So they stay four to a word, as they came, and one instruction adds
// up to four of them to a number: a fourth of one for each element of a total, one for each prefix. Where sums take 64
// bits, those inside of a tile take 32, and only what comes before the tile has 64.
#pragma once
#include "order.cuh"
#include "rows.cuh"

template <class P> struct Fours {
  RS_TYPES_OF(P);
  static constexpr bool SUMS = same_type<Op, Sum<u32, Kept>> || same_type<Op, Sum<u64, Kept>>;
  static constexpr bool SERVE = sizeof(In) == 1 && SUMS && (P::mask == NO_MASK || P::mask == SELECT);
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
  using Inner = Sum<u32>;
  using Part = u32;
  static constexpr bool SIGNED = same_type<typename P::In, i8>, SPLIT = sizeof(Acc) > 4;

  RS_METHOD static Part inner(Acc carry) {
    return SPLIT ? 0 : (u32)carry;
  }
  RS_METHOD static Acc outer(Part total) {
    return SIGNED ? (Acc)(i64)(i32)total : (Acc)total;
  }
  RS_METHOD static Acc prefix(Acc carry, Part part) {
    return SPLIT ? carry + outer(part) : (Acc)part;
  }
};

// N elements.
template <class P, int N, bool FOURS = (Fours<P>::SERVE && N % 4 == 0)> struct HeldVector : Inside<P, false> {
  RS_TYPES_OF(P);
  using Part = Acc;
  static constexpr int COUNT = N;
  static constexpr bool FINDS_END = false; // prefixes() finds the last one out

  typename R::Held at[N]; // in the order of the scan

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

  RS_METHOD Part total() const {
    Acc x[N];
    R::template values<N>(at, x);
    return ::total<Op, N>(x);
  }
  // prefix[j]: of all elements before element j; before, after: of the parts of the tile before them and through them.
  RS_METHOD void prefixes(Acc, Part before, Part after, Acc *prefix) const {
    Acc x[N];
    R::template values<N>(at, x);
    carries<Op, N>(before, x, prefix);
    prefix[N] = after;
  }
};

template <class P, int N> struct HeldVector<P, N, true> : Inside<P, true> {
  RS_TYPES_OF(P);
  using Base = Inside<P, true>;
  using Part = u32;
  static constexpr int COUNT = N, WORDS = N / 4;
  static constexpr bool FINDS_END = true;
  static constexpr u32 ONES = 0x01010101;

  u32 word[WORDS]; // as they lie in memory; what counts as none is 0

  RS_METHOD void clear() {
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      word[w] = 0;
  }
  RS_METHOD void set(int j, typename R::Held x) {
    int at = P::reverse ? N - 1 - j : j;
    word[at / 4] |= (widen<u32>(x) & 0xff) << 8 * (at % 4);
  }
  RS_METHOD void hold(const Vector<In, N> &x, const Vector<Mask, N> &m) {
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      word[w] = same_type<In, boolean> ? true_bytes(x.part[w]) : x.part[w];
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

  RS_METHOD static u32 added(u32 bytes, u32 which, u32 to) {
    return Base::SIGNED ? add_signed_bytes(bytes, which, to) : add_bytes(bytes, which, to);
  }
  RS_METHOD Part total() const {
    u32 sum = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      sum = added(word[w], ONES, sum);
    return sum;
  }
  RS_METHOD void prefixes(Acc carry, Part before, Part, Acc *prefix) const {
    prefix[0] = Base::prefix(carry, before);
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      u32 bytes = word[P::reverse ? WORDS - 1 - w : w], sum = before;
#pragma unroll
      for (int k = 0; k < 4; k++) {
        sum = added(bytes, P::reverse ? ONES << 8 * (3 - k) : ONES >> 8 * (3 - k), before);
        prefix[4 * w + k + 1] = Base::prefix(carry, sum);
      }
      before = sum;
    }
  }
};
