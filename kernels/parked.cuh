// parked.cuh - what a thread has brought to shared memory for itself
// SPDX-License-Identifier: MIT
//
// Registers for elements that are under way, and again while totals are exchanged, would leave a multiprocessor few
// threads. Each thread reads only what it has brought, so that nobody waits for anyone.
#pragma once
#include "types.cuh"

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
