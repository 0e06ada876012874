// slab.cuh - a run of neighbours in global memory, and its copy in shared memory
// SPDX-License-Identifier: MIT
//
// The copy lies on the same offset from a multiple of 16 bytes as the original, so that all but a few elements at the
// ends (less than 16 bytes each) travel as whole words, by bulk copies where the hardware has them. Nothing outside the
// run is read or written. A run of elements `step` apart is gathered and scattered one by one.
#pragma once
#include "run.cuh"
#include "stages.cuh"
#include "types.cuh"

template <class T> struct Slab {
  static constexpr int UNIT = UNIT_OF<T>;

  T *global, *shared; // of element 0, in both
  i64 step;           // between neighbours in global memory
  int count;
  WholeWords<int> words;

  // Shared memory of `count` elements, whatever the offset.
  RS_METHOD static constexpr int room(int count) {
    return ((count * (int)sizeof(T) + 15) / 128 + 1) * 128;
  }

  RS_METHOD Slab(const T *at, i64 step, int count, unsigned char *memory)
      : global(const_cast<T *>(at)), step(step), count(count) {
    int offset = step == 1 ? offset_of(at) : 0;
    shared = reinterpret_cast<T *>(memory) + offset;
    words = WholeWords<int>::template behind<T>(offset, count);
  }
  // What travels in words.
  RS_METHOD u32 body_bytes() const {
    return step == 1 ? words.body * (u32)sizeof(T) : 0;
  }
  // The elements outside the body, one a thread.
  template <class F> RS_METHOD void each_end(const F &f) const {
    int i = (int)thread_index();
    if (i < count - words.body)
      f(i < words.head ? i : words.body + i);
  }
  template <int THREADS, class F> RS_METHOD void each_word(const F &f) const {
#pragma unroll 4
    for (int i = words.head + (int)thread_index() * UNIT; i < words.end(); i += THREADS * UNIT)
      f(reinterpret_cast<u128 *>(global + i), reinterpret_cast<u128 *>(shared + i));
  }
  template <int THREADS> RS_METHOD void gather() const {
#pragma unroll 8
    for (int i = (int)thread_index(); i < count; i += THREADS)
      shared[i] = load_element(global + i * step);
  }
  template <int THREADS> RS_METHOD void scatter() const {
#pragma unroll 8
    for (int i = (int)thread_index(); i < count; i += THREADS)
      store_element(global + i * step, shared[i]);
  }
};

// Brings slabs into shared memory: all threads of the block call load() for each and then wait() once.
template <int THREADS> struct SlabLoads {
  Gate<1> &there; // in shared memory

  // bytes: of the bodies of all slabs that will be loaded, with step 1
  RS_METHOD SlabLoads(Gate<1> &there, u32 bytes) : there(there) {
#if RS_BULK
    if (thread_index() == 0)
      there.init();
    warp_barrier(); // racecheck takes the two for accesses of different threads
    if (thread_index() == 0)
      there.fill(RingPlace(1)).expect(bytes);
#endif
  }
  template <class T> RS_METHOD void load(const Slab<T> &slab) const {
    if (slab.step != 1) {
      slab.template gather<THREADS>();
      return;
    }
#if RS_BULK
    if (thread_index() == 0)
      there.fill(RingPlace(1)).load(slab.shared + slab.words.head, slab.global + slab.words.head, slab.body_bytes());
#else
    slab.template each_word<THREADS>([](u128 *global, u128 *shared) { *shared = load_stream(global); });
#endif
    slab.each_end([&](int i) { slab.shared[i] = load_element(slab.global + i); });
  }
  RS_METHOD void wait() const {
    block_barrier();
#if RS_BULK
    there.wait(RingPlace(1));
#endif
  }
};

// Takes a slab back to where `to` lies, when all threads of the block have written their parts; the last use that a
// block makes of bulk stores.
template <int THREADS, class T> RS_DEVICE void store_slab(const Slab<T> &slab) {
#if RS_BULK
  if (slab.step == 1)
    bulk_fence();
#endif
  block_barrier();
  if (slab.step != 1) {
    slab.template scatter<THREADS>();
    return;
  }
#if RS_BULK
  if (thread_index() == 0 && slab.words.body)
    bulk_store(slab.global + slab.words.head, slab.shared + slab.words.head, slab.body_bytes());
#else
  slab.template each_word<THREADS>([](u128 *global, u128 *shared) { store_word(global, *shared); });
#endif
  slab.each_end([&](int i) { store_element(slab.global + i, slab.shared[i]); });
#if RS_BULK
  bulk_wait<0>();
#endif
}
