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
  using Copies = ParkedInputs<VECTOR, STEPS, THREADS, typename InputsOf<P>::type>;

  RS_METHOD Copies brought() const {
    return Copies(this->memory);
  }
  // The first of the segment's elements of the thread.
  template <class E> RS_METHOD E *own(int which) const {
    return this->template first<E>(which) + this->column;
  }
  RS_METHOD void bring() const {
    if (!this->there())
      return;
    Copies to = brought();
    typename Copies::Sources from(*this);
    int count = this->steps();
    if (!this->is_first())
      to.bring_before(from);
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
      if (Base::WHOLE || j < count)
        to.bring(j, from);
      from.next();
    }
  }

  RS_METHOD void give(const Values &before, Values end) const {
    constexpr int BEHIND = P::exclusive ? 0 : 1; // steps that a prefix is stored behind its element
    i64 step = this->step(RS_OUT);
    Out *at = own<Out>(RS_OUT) - BEHIND * step;
    const Results results{*this, brought(), R::params_of(this->rows)};
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
          results.store(at, k * BATCH + j - BEHIND, prefix[j]);
        at += step;
      }
      all.add(k, total<Each, BATCH>(x));
    });
    if (Base::SINGLE)
      end = Each::combine(before, all.digit[all.LEVELS - 1]);
    if (TAIL == STEPS && last)
      this->keep(end);
    if (!P::exclusive && count == STEPS)
      results.store(at, STEPS - 1, end);
  }
  // Results of a step, and what second outputs and segments beside a mask want of its elements.
  struct Results {
    const WordsTile &tile;
    Copies copies;
    typename R::Params params;

    RS_METHOD void store(Out *at, int step, Values shown) const {
      if constexpr (TOLD<P> && P::exclusive) {
        auto x = copies.get(step);
        bool first = step == 0 && tile.is_first();
        shown =
            Each::each([&](int v) { return Each::held(x, v, first).begins ? Op::identity() : Each::one(shown, v); });
      }
      if constexpr (WEIGHS<P>)
        store_vector<Out, VECTOR>(at, Each::template output<Out, false>(copies.get(step), shown, params));
      else
        store_vector<Out, VECTOR>(at, Each::leave(shown));
      if constexpr (HAS_SECOND<P>) {
        using Second = typename FurtherOf<P>::Second;
        Second *second = tile.template own<Second>(RS_SECOND) + step * tile.step(RS_SECOND);
        store_vector<Second, VECTOR>(second, Each::template output<Second, true>(copies.get(step), shown, params));
      }
    }
  };
};

template <class P, int THREADS, int VECTOR, int STEPS, int WIDTH, bool PACKED>
RS_DEVICE void scan_wide_tiles(const Rows<P::rank> &rows, const WideCut &cut) {
  scan_wide_tile<WordsTile<P, THREADS, VECTOR, STEPS, WIDTH, PACKED>>(rows, cut);
}
