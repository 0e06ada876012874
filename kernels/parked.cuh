// parked.cuh - what a thread has brought to shared memory for itself
// SPDX-License-Identifier: MIT
//
// Registers for elements that are under way, and again while totals are exchanged, would leave a multiprocessor few
// threads. Each thread reads only what it has brought, so that nobody waits for anyone.
#pragma once
#include "inputs.cuh"

// STEPS vectors of each of THREADS threads.
template <class T, int VECTOR, int STEPS, int THREADS> struct Parked {
  static constexpr int WORD = word_bytes(VECTOR * (int)sizeof(T)), COUNT = VECTOR * (int)sizeof(T) / WORD;
  static constexpr int BYTES = STEPS * COUNT * THREADS * WORD;
  using W = typename Word<WORD>::type;

  W *memory; // of this thread's first word; a step's words of all threads are neighbours

  RS_METHOD explicit Parked(unsigned char *all) : memory(reinterpret_cast<W *>(all) + thread_index()) {
  }
  RS_METHOD void bring(int step, const T *at) const {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      fetch(memory + (step * COUNT + i) * THREADS, reinterpret_cast<const W *>(at) + i);
  }
  RS_METHOD Vector<T, VECTOR> get(int step) const {
    Words<T, VECTOR> x;
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      x.word[i] = memory[(step * COUNT + i) * THREADS];
    return x.vector;
  }
};

// The same of each input of a list; of one that lags the vector before the first one, too.
template <int VECTOR, int STEPS, int THREADS, class L> struct ParkedInputs;
template <int VECTOR, int STEPS, int THREADS> struct ParkedInputs<VECTOR, STEPS, THREADS, List<>> {
  static constexpr int BYTES = 0;
  struct Sources {
    template <class Tile> RS_METHOD explicit Sources(const Tile &) {
    }
    RS_METHOD void next() {
    }
  };
  RS_METHOD explicit ParkedInputs(unsigned char *) {
  }
  RS_METHOD void bring(int, const Sources &) const {
  }
  RS_METHOD void bring_before(const Sources &) const {
  }
  RS_METHOD NoVectors get(int) const {
    return {};
  }
};
template <int VECTOR, int STEPS, int THREADS, class I, class... Rest>
struct ParkedInputs<VECTOR, STEPS, THREADS, List<I, Rest...>> {
  using E = typename I::Type;
  using Own = Parked<E, VECTOR, STEPS + I::LAGS, THREADS>;
  using Others = ParkedInputs<VECTOR, STEPS, THREADS, List<Rest...>>;
  static constexpr int BYTES = Own::BYTES + Others::BYTES;
  Own own;
  Others others;

  // Where the thread's first vector is in memory, and from one step to the next.
  struct Sources {
    const E *at;
    i64 step;
    typename Others::Sources others;
    template <class Tile>
    RS_METHOD explicit Sources(const Tile &tile)
        : at(tile.template own<const E>(I::WHICH)), step(tile.step(I::WHICH)), others(tile) {
    }
    RS_METHOD void next() {
      at += step;
      others.next();
    }
  };
  RS_METHOD explicit ParkedInputs(unsigned char *memory) : own(memory), others(memory + Own::BYTES) {
  }
  // One step of all arrays, then the next one: 64 x 4096 x 1024 masked on an H200 is at 0.905 of memcpy so, at 0.872
  // one array after the other.
  RS_METHOD void bring(int step, const Sources &from) const {
    own.bring(step + I::LAGS, from.at);
    others.bring(step, from.others);
  }
  RS_METHOD void bring_before(const Sources &from) const {
    if constexpr (I::LAGS)
      own.bring(0, from.at - from.step);
    others.bring_before(from.others);
  }
  RS_METHOD auto get(int step) const {
    auto x = own.get(step + I::LAGS);
    auto more = others.get(step);
    if constexpr (I::LAGS)
      return vectors<I::WHICH>(x, own.get(step), more);
    else
      return vectors<I::WHICH>(x, Nothing{}, more);
  }
};
