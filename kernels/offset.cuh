// offset.cuh - a lane's vector in shared memory where it lies on no word of its own
// SPDX-License-Identifier: MIT
//
// So it is in copies of rows that begin anywhere (row_copies.cuh). 8192 x 50257 on an H200, ratio to memcpy:
//   reads    writes     f32    bf16 (both 16 warps of 4 chunks)
//   plain    plain      0.807  0.509
//   shifted  plain      0.850
//   plain    turned     0.858
//   turned   turned     0.912  0.684
//   shifted  turned     0.904  0.691, and 0.922 with 8 warps of 4 chunks
// Shifted reads of f64 cost half of the speed (8192 x 8193: 0.931 turned, 0.414 shifted). So elements of 2 bytes, and
// of 1, are read shifted, all others turned.
#pragma once
#include "types.cuh"

// A lane's vector in shared memory, from any element on. Lanes side by side have neighbouring vectors; element by
// element, those whose vectors lie a multiple of 128 bytes apart would meet in a bank. So each takes its elements in an
// order of its own: word k of a vector in turn k ^ turn(), of as many words at a time as are a power of two.
template <class T, int N> struct Turned {
  static constexpr int SIZE = (int)sizeof(T), BYTES = N * SIZE & -(N * SIZE);
  static constexpr int WORD = SIZE > 4 ? SIZE : BYTES < 4 ? BYTES : 4, PER_WORD = WORD / SIZE, WORDS = N / PER_WORD;
  static constexpr int TURNS = BYTES / WORD;
  static constexpr bool SMALL = SIZE > 4 && sizeof(typename Columns<T>::One) < 4; // else numbers come one by one
  using W = typename Word<WORD>::type;
  union Both {
    Vector<T, N> vector;
    W word[WORDS];
    RS_METHOD Both() {
    }
  };

  RS_METHOD static u32 turn() {
    return lane_index() * BYTES / 128 % TURNS;
  }
  // Words k and k ^ turn change places.
  RS_METHOD static void swap(Both &x, u32 turn) {
#pragma unroll
    for (int bit = 1; bit < TURNS; bit *= 2)
#pragma unroll
      for (int k = 0; k < WORDS; k++)
        if (!(k & bit)) {
          auto low = x.word[k], high = x.word[k | bit];
          x.word[k] = turn & bit ? high : low;
          x.word[k | bit] = turn & bit ? low : high;
        }
  }
  // ORDERED: else words stay in the lane's own order.
  template <bool ORDERED> RS_METHOD static Vector<T, N> read(const T *at) {
    Both x;
#pragma unroll
    for (int i = 0; i < N; i++)
      if constexpr (SMALL)
        x.word[i] = reinterpret_cast<const W *>(at)[i ^ turn()];
      else
        x.vector.at[i] = at[((i / PER_WORD) ^ turn()) * PER_WORD + i % PER_WORD];
    if (ORDERED)
      swap(x, turn());
    return x.vector;
  }
  RS_METHOD static void write(T *at, const Vector<T, N> &vector) {
    Both x;
    x.vector = vector;
    swap(x, turn());
#pragma unroll
    for (int i = 0; i < N; i++)
      if constexpr (SMALL)
        share_word(reinterpret_cast<W *>(at) + (i ^ turn()), x.word[i]);
      else
        at[((i / PER_WORD) ^ turn()) * PER_WORD + i % PER_WORD] = x.vector.at[i];
  }
};

// Moves parts down by `by` < 2 * BIT, so that the first COUNT are right.
template <int COUNT, int ALL, int BIT> RS_DEVICE void shift_parts(u32 *part, u32 by) {
  constexpr int MOVED = COUNT + BIT < ALL - BIT ? COUNT + BIT : ALL - BIT;
#pragma unroll
  for (int i = 0; i < MOVED; i++)
    part[i] = by & BIT ? part[i + BIT] : part[i];
  if constexpr (BIT > 1)
    shift_parts<COUNT, ALL, BIT / 2>(part, by);
}

// The same for elements of 1 or 2 bytes, 4 bytes of them and more, from the whole words that hold the vector: from
// `at`, a multiple of a word, and `shift` elements on.
template <class T, int N> RS_DEVICE Vector<T, N> read_shifted(const T *at, u32 shift) {
  constexpr int BYTES = N * (int)sizeof(T), WORD = word_bytes(BYTES), COUNT = BYTES / 4, ALL = (BYTES + WORD) / 4;
  constexpr u32 PER_PART = 4 / sizeof(T);
  static_assert(PER_PART > 1 && COUNT > 0, "several to a part");
  using W = typename Word<WORD>::type;
  union Parts {
    W word[BYTES / WORD + 1];
    u32 part[ALL];
    RS_METHOD Parts() {
    }
  } x;
#pragma unroll
  for (int i = 0; i <= BYTES / WORD; i++)
    x.word[i] = reinterpret_cast<const W *>(at)[i];
  if constexpr (WORD > 4)
    shift_parts<COUNT, ALL, WORD / 8>(x.part, shift / PER_PART);
  Vector<T, N> y;
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    y.part[i] = funnel_right(x.part[i], x.part[i + 1], shift % PER_PART * (8 * (u32)sizeof(T)));
  return y;
}

// A lane's N elements of a tile, in units, from the tile's element `at` on, a multiple of N. shift: of the tile's first
// unit. ORDERED: else in any order that an exclusive or with a number makes of its elements'; their total is the same
// where the operator commutes.
template <class E, int N, bool ORDERED = true> RS_DEVICE auto read_placed(const E *copy, int shift, int at) {
  using One = typename Units<E>::Unit;
  constexpr int COUNT = N * Units<E>::COUNT;
  const One *from = reinterpret_cast<const One *>(copy);
  at *= Units<E>::COUNT;
  if constexpr (sizeof(One) <= 2 && COUNT * sizeof(One) % 4 == 0) {
    constexpr int WORD = word_bytes(COUNT * (int)sizeof(One)) / (int)sizeof(One);
    return read_shifted<One, COUNT>(from + shift / WORD * WORD + at, shift % WORD);
  } else {
    return Turned<One, COUNT>::template read<ORDERED>(from + shift + at);
  }
}
