// askew.cuh - regime column, neighbouring columns wherever each step begins: each warp brings its part of a tile
// SPDX-License-Identifier: MIT
//
// A warp has the whole width of a strip, a thread every 32nd column of it; elements come and results go in words, in
// common (strip.cuh). Results take the place of their elements where they are as large.
//
// A sector of 32 bytes that two blocks write, each a part, costs L2 a third of its time (a copy in strips of 64 columns
// of 43664 x 1537 f32 on an H200: 0.705 of memcpy, with whole sectors 0.960). So a strip overlaps the next one by a
// sector less an element: it stores the sectors that begin in its own columns, and leaves out the one before.
#pragma once
#include "strip.cuh"
#include "wide_tile.cuh"

template <class P, int THREADS, int VECTOR, int STEPS, bool PACKED>
struct AskewTile : WideTile<P, THREADS, VECTOR, STEPS, 32, true, PACKED, AskewTile<P, THREADS, VECTOR, STEPS, PACKED>> {
  using Base = WideTile<P, THREADS, VECTOR, STEPS, 32, true, PACKED, AskewTile>;
  using Base::Base;
  RS_TYPES_OF(P);
  using Each = typename Base::Each;
  using Values = typename Base::Values;
  static constexpr int BATCH = Base::BATCH, BATCHES = Base::BATCHES, TAIL = Base::TAIL;
  template <class E> using Copy = Strip<E, 32 * VECTOR, PACKED>;
  static constexpr bool IN_PLACE = sizeof(In) == sizeof(Out); // results of a batch take its elements' place
  static_assert(!IN_PLACE || BATCHES == 1 || BATCH * sizeof(In) >= 16, "words of its own for each batch");

  struct Brought {
    Copy<In> in;
    Copy<Mask> mask;
    RS_METHOD auto get(int j) const {
      if constexpr (MASKED)
        return vectors<RS_IN>(in.get(j), Nothing{}, vectors<RS_MASK>(mask.get(j), Nothing{}, NoVectors{}));
      else
        return vectors<RS_IN>(in.get(j), Nothing{}, NoVectors{});
    }
  };
  RS_METHOD unsigned char *room() const { // the warp's
    return this->memory + (int)thread_index() / 32 * this->cut.room;
  }
  template <class E> RS_METHOD Copy<E> copy(int which, int at, int pitch) const {
    return Copy<E>(room() + at, pitch, this->template first<E>(which), this->step(which));
  }
  RS_METHOD Brought brought() const {
    return {copy<In>(RS_IN, 0, this->cut.in_pitch), copy<Mask>(RS_MASK, this->cut.mask_at, this->cut.mask_pitch)};
  }
  RS_METHOD void bring() const {
    if (!this->there())
      return;
    Brought to = brought();
    int count = this->steps(), columns = this->columns(), before = this->shared.place.strip * this->cut.apart;
    int right = this->cut.columns - before;
    to.in.template bring<STEPS>(count, columns, before > 0, right);
    if constexpr (MASKED)
      to.mask.template bring<STEPS>(count, columns, before > 0, right);
  }

  // Batch by batch in shared memory.
  RS_METHOD void give(const Values &before, const Values &end) const {
    i64 step = this->step(RS_OUT);
    Out *at = this->template first<Out>(RS_OUT);
    int count = this->steps(), strip = this->shared.place.strip;
    bool is_first = this->is_first(), last = this->keeps(), overlap = this->cut.apart < this->cut.most;
    typename Copy<Out>::Part part{strip < this->cut.strips - 1 ? this->cut.apart : this->cut.most, this->columns(),
                                  !overlap || strip == 0};
    const Copy<In> from = brought().in;
    Counter<Each, BATCHES, Values> all;
    this->each_batch([&](int k, const Values *x) {
      Values prefix[BATCH];
      Each::template prefixes<BATCH>(all.prefix(k, before), x, prefix);
      all.add(k, total<Each, BATCH>(x));
      Values after = !Base::SINGLE && k == BATCHES - 1 ? end : all.prefix(k + 1, before);
      if (last && k == (TAIL - 1) / BATCH)
        this->keep(TAIL % BATCH ? prefix[TAIL % BATCH] : after);
      this->show_exclusive(prefix, x, k == 0 && is_first);
      Copy<Out> results(IN_PLACE ? word_of(from.memory + k * BATCH * this->cut.in_pitch) : room() + this->cut.out_at,
                        this->cut.out_pitch, at, step);
      warp_barrier(); // nobody reads what was there
#pragma unroll
      for (int j = 0; j < BATCH; j++) {
        const Values &result = P::exclusive ? prefix[j] : j < BATCH - 1 ? prefix[j + 1] : after;
        results.put(j, Each::leave(result));
      }
      warp_barrier();
      results.template store<BATCH>(at, this->least(count - k * BATCH, BATCH), part);
      at += BATCH * step;
    });
  }
  RS_METHOD static unsigned char *word_of(In *at) {
    return reinterpret_cast<unsigned char *>(at - offset_of(at));
  }
};

template <class P, int THREADS, int VECTOR, int STEPS, bool PACKED>
RS_DEVICE void scan_askew_tiles(const Rows<P::rank> &rows, const WideCut &cut) {
  scan_wide_tile<AskewTile<P, THREADS, VECTOR, STEPS, PACKED>>(rows, cut);
}
