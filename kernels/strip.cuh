// strip.cuh - steps of neighbouring columns at any offset from 16 bytes, a warp's part of them in shared memory
// SPDX-License-Identifier: MIT
//
// A warp brings and sends COLUMNS columns of its own steps in words of 16 bytes, wherever each step begins: here, too,
// elements keep the offset from a word that they have in memory, since from one step to the next is as far as there but
// for whole words. A word is read with all that is in it, if that is the row's; what else is in a row's first and last
// word stays untouched.
#pragma once
#include "run.cuh"
#include "types.cuh"

// BESIDE: a lane has neighbouring columns, and else each 32nd.
template <class T, int COLUMNS, bool BESIDE> struct Strip {
  static constexpr int SIZE = (int)sizeof(T), UNIT = UNIT_OF<T>, WORDS = COLUMNS / UNIT;
  static constexpr int AT_ONCE = 32 / WORDS; // steps, a lane a word
  static_assert(WORDS <= 32, "a step is at most a word for each lane");

  T *memory;    // element c of step j lies at j * pitch + c
  int pitch;    // as the step in memory, but for whole words
  const T *row; // of the first step: the strip's first column
  i64 step;     // to the next one in memory

  // room: a multiple of 16 bytes.
  RS_METHOD Strip(unsigned char *room, int pitch, const T *row, i64 step)
      : memory(reinterpret_cast<T *>(room) + offset_of(row)), pitch(pitch), row(row), step(step) {
  }
  // The word, and of the steps that the lanes move at once the one, that the calling lane moves.
  RS_METHOD static int word() {
    return (int)lane_index() % WORDS * UNIT;
  }
  RS_METHOD static int among() {
    return (int)lane_index() / WORDS;
  }

  // Asks for `columns` of each of `count` steps. left: whether the row has columns before them; right: it has from the
  // first of them on. They are there after fetch_wait() and a warp_barrier().
  template <int STEPS> RS_METHOD void bring(int count, int columns, bool left, int right) const {
    int most = right - UNIT < columns ? right - UNIT : columns - 1, least = left ? -UNIT : 0; // of a whole word's first
    bring_words<STEPS, AT_ONCE>(among(), word(), count, least, most);
    bring_words<STEPS, 32>((int)lane_index(), COLUMNS, count, least, most); // after those, a step a lane
    if (!left || most < columns - 1)
#pragma unroll
      for (int i = 0; i < STEPS; i += 32) {
        int j = i + (int)lane_index();
        bring_ends(row + j * step, memory + j * pitch, j < count ? columns : 0, !left, right);
      }
  }
  // Every BY-th step's word at `place`, from step `first` on. Each UNIT-th begins as far from a word.
  template <int STEPS, int BY> RS_METHOD void bring_words(int first, int place, int count, int least, int most) const {
    constexpr int SAME = BY < UNIT ? UNIT : BY;
#pragma unroll
    for (int i = 0; i < STEPS && i < SAME; i += BY) {
      int j = i + first, column = place - offset_of(row + j * step);
      const T *at = row + (j * step + column);
      T *to = memory + (j * pitch + column);
      bool real = column >= least && column <= most;
#pragma unroll
      for (int k = i; k < STEPS; k += SAME) {
        if (real && k + first < count)
          fetch(reinterpret_cast<u128 *>(to), reinterpret_cast<const u128 *>(at));
        at += SAME * step;
        to += SAME * pitch;
      }
    }
  }
  // Of the columns from `first` to `end` of a step, those in no whole word: `heads` from the first on, and from `last`.
  struct Ends {
    int heads, last;
    RS_METHOD Ends(const T *at, int first, int end) {
      int before = (offset_of(at) + first) % UNIT, past = (offset_of(at) + end) % UNIT;
      heads = before ? UNIT - before : 0;
      last = end - past > first ? end - past : first;
    }
  };
  // Of a step's columns those that are in no whole word of its row, which begins here or does not, and ends at column
  // `end`.
  RS_METHOD static void bring_ends(const T *at, T *to, int columns, bool begins, int end) {
    T head[UNIT], tail[UNIT];
    Ends ends(at, 0, end);
    int heads = !begins ? 0 : ends.heads < columns ? ends.heads : columns, tails = columns - ends.last;
#pragma unroll
    for (int e = 0; e < UNIT - 1; e++) {
      if (e < heads)
        head[e] = load_element(at + e);
      if (e < tails)
        tail[e] = load_element(at + ends.last + e);
    }
#pragma unroll
    for (int e = 0; e < UNIT - 1; e++) {
      if (e < heads)
        to[e] = head[e];
      if (e < tails)
        to[ends.last + e] = tail[e];
    }
  }

  static constexpr int EACH = COLUMNS / 32; // columns of a lane
  static constexpr bool FOURS = BESIDE && SIZE == 1 && EACH == 4;
  // The calling lane's element v of step j.
  RS_METHOD T *mine(int j, int v) const {
    return memory + (j * pitch + (BESIDE ? EACH * (int)lane_index() + v : (int)lane_index() + 32 * v));
  }
  // The word in which its four bytes of step j begin, and how many bits before them.
  RS_METHOD u32 *word_of_four(int j, u32 &bits) const {
    int offset = offset_of(row), at = offset + j * pitch + 4 * (int)lane_index();
    bits = 8 * (u32)at;
    return reinterpret_cast<u32 *>(memory - offset + (at & ~3));
  }
  RS_METHOD Vector<T, EACH> get(int j) const {
    Vector<T, EACH> x;
    if constexpr (FOURS) {
      u32 bits;
      const u32 *at = word_of_four(j, bits);
      x.part[0] = funnel_right(at[0], at[1], bits);
    } else
#pragma unroll
      for (int v = 0; v < EACH; v++)
        x.at[v] = *mine(j, v);
    return x;
  }
  // Of FOURS, bytes past the lanes' words are left out: no Part has such columns.
  RS_METHOD void put(int j, const Vector<T, EACH> &x) const {
    if constexpr (FOURS) {
      u32 bits, *at = word_of_four(j, bits), before = shuffle_from(x.part[0], ((int)lane_index() + 31) % 32);
      share_word(at, funnel_left(before, x.part[0], bits));
    } else
#pragma unroll
      for (int v = 0; v < EACH; v++)
        *mine(j, v) = x.at[v];
  }

  static constexpr int SECTOR = (SIZE == 1 ? 16 : 32) / SIZE;
  // Columns of a step that a strip stores: before `end`, and before the first sector that begins at `apart` or later;
  // unless it is the first one, after the sector that began before it.
  struct Part {
    int apart, end;
    bool first;
    // From a step's first column to a sector's.
    RS_METHOD static int sector(const T *at) {
      return -(int)((u32) reinterpret_cast<u64>(at) / SIZE) & (SECTOR - 1);
    }
    RS_METHOD int first_of(const T *at) const {
      return first ? 0 : sector(at);
    }
    RS_METHOD int end_of(const T *at) const {
      return apart + sector(at) < end ? apart + sector(at) : end;
    }
  };

  // Stores `count` steps of what was put, at most STEPS. All lanes have passed a warp_barrier() since.
  template <int STEPS> RS_METHOD void store(T *out, int count, const Part &part) const {
#pragma unroll
    for (int i = 0; i < STEPS && i < SECTOR; i += AT_ONCE) { // each SECTOR-th begins as far from a sector
      int j = i + among();
      T *at = out + j * step;
      int column = word() - offset_of(at);
      const T *from = memory + (j * pitch + column);
      bool real = column >= part.first_of(at) && column + UNIT <= part.end_of(at);
      at += column;
#pragma unroll
      for (int k = i; k < STEPS; k += SECTOR) {
        if (real && k + among() < count)
          send(reinterpret_cast<u128 *>(at), reinterpret_cast<const u128 *>(from));
        at += SECTOR * step;
        from += SECTOR * pitch;
      }
    }
    if (part.first || part.end < part.apart + SECTOR - 1) // else both ends are sectors'
#pragma unroll
      for (int i = 0; i < STEPS; i += 32) {
        int j = i + (int)lane_index();
        if (j < count)
          store_ends(out + j * step, memory + j * pitch, part);
      }
  }
  RS_METHOD static void store_ends(T *at, const T *from, const Part &part) {
    int first = part.first_of(at), end = part.end_of(at);
    Ends ends(at, first, end);
#pragma unroll
    for (int e = 0; e < UNIT - 1; e++) {
      if (e < ends.heads && first + e < end)
        store_element(at + first + e, from[first + e]);
      if (ends.last + e < end && ends.last + e >= first + ends.heads)
        store_element(at + ends.last + e, from[ends.last + e]);
    }
  }
};
