// strip.cuh - steps of neighbouring columns at any offset from 16 bytes, in shared memory
// SPDX-License-Identifier: MIT
//
// All threads of a block bring them for all. A step's part of the strip keeps the offset that it has in memory, so that
// its whole words of 16 bytes travel as such; what is around them travels by elements, and nothing else is touched.
#pragma once
#include "types.cuh"

// STEPS elements of each of THREADS threads: outers (ONE: no more than one), steps of each, and
// 2^width columns, at least 64.
template <class T, int STEPS, int THREADS, bool ONE> struct Strip {
  static constexpr int SIZE = (int)sizeof(T), UNIT = 16 / SIZE, ALL = STEPS * THREADS;
  static constexpr int WORDS = (STEPS + UNIT - 1) / UNIT; // whole ones, of a thread
  static constexpr int EDGES = (STEPS * UNIT + 63) / 64;  // single elements of a thread
  static constexpr int AT_ONCE = EDGES < 8 ? EDGES : 8;
  // as in src/wide_cut.c; pads for each part, and between outers
  static constexpr int BYTES = (ALL * SIZE + ALL / 64 * 2 * (16 - SIZE) + 31) / 16 * 16;

  T *memory;
  int width, outer_log;   // log2 of columns, and of the steps of an outer
  i64 step, outer;        // elements to the next one in memory ...
  int pitch, outer_pitch; // ... and here: the same but for multiples of a word
  T *mine;                // the thread's first

  RS_METHOD Strip(unsigned char *all, int width, int outer_log, i64 step, i64 outer)
      : memory(reinterpret_cast<T *>(all)), width(width), outer_log(outer_log), step(step), outer(outer) {
    pitch = (1 << width) + (int)(step & (UNIT - 1));
    outer_pitch = (pitch << outer_log) + (int)((outer - ((i64)pitch << outer_log)) & (UNIT - 1));
  }
  // Of those at `at`, the elements before the first whole word.
  RS_METHOD static int head_of(const T *at) {
    return (int)((0 - (u32) reinterpret_cast<u64>(at)) % 16) / SIZE;
  }
  // One step after another of those that a thread takes: every BY-th, a power of two, outer by outer.
  struct Steps {
    const T *at;
    int to, row, by, every, count, rows;
    i64 near, far; // to the next one, of the same outer and of another
    int near_here, far_here;
    RS_METHOD Steps(const Strip &strip, const T *first, int row, int by, int count, int outers)
        : row(row), by(by), every(1 << strip.outer_log), count(count), rows(outers << strip.outer_log) {
      int o = ONE ? 0 : row >> strip.outer_log, s = row & (every - 1), past = by < every ? 1 : by >> strip.outer_log;
      int back = by < every ? by - every : 0;
      at = first + (o * strip.outer + s * strip.step);
      to = strip.place(row) + (UNIT - head_of(first)) % UNIT;
      near = by * strip.step;
      far = past * strip.outer + back * strip.step;
      near_here = by * strip.pitch;
      far_here = past * strip.outer_pitch + back * strip.pitch;
    }
    RS_METHOD bool there() const {
      return ONE ? row < count : row < rows && (row & (every - 1)) < count;
    }
    RS_METHOD void next() {
      bool same = ONE || (row & (every - 1)) + by < every;
      row += by;
      at += same ? near : far;
      to += same ? near_here : far_here;
    }
  };

  // All threads call it, with a tile's first element, and how many of each there are. The elements are there after
  // fetch_wait() and a block_barrier(). column, row: of the calling thread's first element, outers in rows one after
  // another.
  RS_METHOD void bring(const T *first, int columns, i64 steps, int outers, int column, int row) {
    mine = memory + (UNIT - head_of(first)) % UNIT + place(row) + column;
    int thread = (int)thread_index(), count = steps >> outer_log ? 1 << outer_log : (int)steps;

    int words = width - log2_floor(UNIT), word = (thread & ((1 << words) - 1)) * UNIT;
    Steps step(*this, first, thread >> words, THREADS >> words, count, outers);
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
      int c = head_of(step.at) + word;
      if (step.there() && c + UNIT <= columns)
        fetch(reinterpret_cast<u128 *>(memory + step.to + c), reinterpret_cast<const u128 *>(step.at + c));
      step.next();
    }
    bring_edges(first, columns, count, outers);
  }
  // Those in no whole word, less than UNIT on each side; UNIT in all, or none, where columns are a multiple of it.
  RS_METHOD void bring_edges(const T *first, int columns, int count, int outers) {
    int edge = (int)thread_index() % UNIT, most = columns % UNIT ? 2 * UNIT : UNIT;
#pragma unroll 1
    for (; edge < most; edge += UNIT) {
      Steps step(*this, first, (int)thread_index() / UNIT, THREADS / UNIT, count, outers);
#pragma unroll 1
      while (step.row < step.rows) {
        T x[AT_ONCE];
        int where[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
          int head = head_of(step.at), tail = (columns - head) % UNIT;
          int c = edge < head ? edge : columns - tail - head + edge;
          where[i] = step.there() && c < columns ? step.to + c : -1;
          if (where[i] >= 0)
            x[i] = load_element(step.at + c);
          step.next();
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
          if (where[i] >= 0)
            memory[where[i]] = x[i];
      }
    }
  }
  RS_METHOD int place(int row) const {
    int o = ONE ? 0 : row >> outer_log;
    return o * outer_pitch + (row - (o << outer_log)) * pitch;
  }
  RS_METHOD Vector<T, 1> get(int j) const {
    return {{mine[j * pitch]}};
  }
};
