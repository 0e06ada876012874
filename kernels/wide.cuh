// wide.cuh - regime column, neighbouring columns in whole words: each thread brings its own part of a tile
// SPDX-License-Identifier: MIT
//
// The columns of a thread are neighbours; it asks for all its words at once, and stores each result when it is known.
#pragma once
#include "parked.cuh"
#include "wide_tile.cuh"

template <class P, int THREADS, int VECTOR, int STEPS, int WIDTH, bool PACKED>
struct WordsTile
    : WideTile<P, THREADS, VECTOR, STEPS, WIDTH, false, PACKED, WordsTile<P, THREADS, VECTOR, STEPS, WIDTH, PACKED>> {
  using Base = WideTile<P, THREADS, VECTOR, STEPS, WIDTH, false, PACKED, WordsTile>;
  using Base::Base;
  RS_TYPES_OF(P);
  using Each = typename Base::Each;
  using Values = typename Base::Values;
  static constexpr int BATCH = Base::BATCH, BATCHES = Base::BATCHES, TAIL = Base::TAIL;
  template <class E> using Copy = Parked<E, VECTOR, STEPS, THREADS>;

  struct Brought {
    Copy<In> in;
    Copy<Mask> mask;
  };
  RS_METHOD Brought brought() const {
    return {Copy<In>(this->memory), Copy<Mask>(this->memory + (MASKED ? Copy<In>::BYTES : 0))};
  }
  // The first of the segment's elements of the thread.
  template <class E> RS_METHOD E *own(int which) const {
    return this->template first<E>(which) + this->column;
  }
  // Elements and masks by turns: 64 x 4096 x 1024 masked on an H200 is at 0.905 of memcpy so, at 0.872 one after the
  // other.
  RS_METHOD void bring() const {
    if (!this->there())
      return;
    Brought to = brought();
    int count = this->steps();
    i64 step = this->step(RS_IN), mask_step = this->step(RS_MASK);
    const In *at = own<In>(RS_IN);
    const Mask *mask_at = MASKED ? own<Mask>(RS_MASK) : nullptr;
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      if (Base::WHOLE || j < count) {
        to.in.bring(j, at + j * step);
        if constexpr (MASKED)
          to.mask.bring(j, mask_at + j * mask_step);
      }
  }

  RS_METHOD void give(const Values &before, Values end) const {
    constexpr int BEHIND = P::exclusive ? 0 : 1; // steps that a prefix is stored behind its element
    i64 step = this->step(RS_OUT);
    Out *at = own<Out>(RS_OUT) - BEHIND * step;
    int count = this->steps();
    bool is_first = this->is_first(), last = this->keeps();
    Counter<Each, BATCHES, Values> all;
    this->each_batch([&](int k, const Values *x) {
      Values prefix[BATCH];
      int rest = count - k * BATCH;
      Each::template prefixes<BATCH>(all.prefix(k, before), x, prefix);
      if (TAIL < STEPS && k == TAIL / BATCH && last)
        this->keep(prefix[TAIL % BATCH]);
      this->show_exclusive(prefix, x, k == 0 && is_first);
#pragma unroll
      for (int j = 0; j < BATCH; j++) {
        if (j >= BEHIND ? Base::WHOLE || j - BEHIND < rest : k > 0 && (Base::WHOLE || rest >= 0))
          store(at, prefix[j]);
        at += step;
      }
      all.add(k, total<Each, BATCH>(x));
    });
    if (Base::SINGLE)
      end = Each::combine(before, all.digit[all.LEVELS - 1]);
    if (TAIL == STEPS && last)
      this->keep(end);
    if (!P::exclusive && count == STEPS)
      store(at, end);
  }
  RS_METHOD static void store(Out *at, const Values &prefix) {
    store_vector<Out, VECTOR>(at, Each::leave(prefix));
  }
};

template <class P, int THREADS, int VECTOR, int STEPS, int WIDTH, bool PACKED>
RS_DEVICE void scan_wide_tiles(const Rows<P::rank> &rows, const WideCut &cut) {
  scan_wide_tile<WordsTile<P, THREADS, VECTOR, STEPS, WIDTH, PACKED>>(rows, cut);
}
