// transpose.cuh - elements of a warp between memory, word by word, and lanes that have some one after another
// SPDX-License-Identifier: MIT
#pragma once
#include "tile.cuh"

// V elements of each lane, through shared memory. Words of 16 bytes lie there so that neither lanes side by side nor
// lanes V elements apart meet in a bank.
template <class T, int V> struct WarpTranspose {
  static constexpr int UNIT = 16 / (int)sizeof(T), WORDS = V / UNIT, ALL = 32 * WORDS;
  static_assert(V % UNIT == 0, "whole words");

  u128 *memory; // of the warp, ALL words

  RS_METHOD static int place(int word) {
    return word ^ (word >> 3 & 7);
  }
  // f(element in memory, its copy, whole): of the elements from `low` to below `high` of the warp's 32 V in memory, the
  // words that are there whole, and of the others element by element.
  template <class F> RS_METHOD void each(int low, int high, const F &f) const {
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
      int word = k * 32 + (int)lane_index(), first = word * UNIT;
      T *copy = reinterpret_cast<T *>(memory + place(word));
      if (first >= low && first + UNIT <= high)
        f(first, copy, true);
      else
#pragma unroll
        for (int j = 0; j < UNIT; j++)
          if (first + j >= low && first + j < high)
            f(first + j, copy + j, false);
    }
  }
  RS_METHOD void load(const T *from, int low, int high) const {
    each(low, high, [&](int at, T *copy, bool whole) {
      if (whole)
        fetch(reinterpret_cast<u128 *>(copy), reinterpret_cast<const u128 *>(from + at));
      else
        *copy = load_element(from + at);
    });
    fetch_wait();
    warp_barrier();
  }
  RS_METHOD void store(T *to, int low, int high) const {
    warp_barrier();
    each(low, high, [&](int at, T *copy, bool whole) {
      if (whole)
        store_word(reinterpret_cast<u128 *>(to + at), *reinterpret_cast<u128 *>(copy));
      else
        store_element(to + at, *copy);
    });
  }
  // Of the lane that has the `lane`-th V in memory.
  RS_METHOD Vector<T, V> read(int lane) const {
    Words<T, V> w;
#pragma unroll
    for (int k = 0; k < WORDS; k++)
      w.word[k] = memory[place(lane * WORDS + k)];
    return w.vector;
  }
  RS_METHOD void write(int lane, const Vector<T, V> &vector) const {
    Words<T, V> w;
    w.vector = vector;
#pragma unroll
    for (int k = 0; k < WORDS; k++)
      share_word(memory + place(lane * WORDS + k), w.word[k]);
  }
};
