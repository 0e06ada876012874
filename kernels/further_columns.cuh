// further_columns.cuh - regime column with further arrays: a thread loads all inputs of its own steps of a column
// SPDX-License-Identifier: MIT
//
// Threads side by side have neighbouring columns, so that whatever strides an array has, a warp asks for a step of all
// of them together. On the way down it does so again, while L2 has them: tiles take no registers then, nor shared
// memory, and may be as long as the look for the totals before them needs.
#pragma once
#include "wide_tile.cuh"

template <class P, int THREADS, int STEPS, int WIDTH>
struct FurtherTile : WideTile<P, THREADS, 1, STEPS, WIDTH, false, false, FurtherTile<P, THREADS, STEPS, WIDTH>> {
  using Base = WideTile<P, THREADS, 1, STEPS, WIDTH, false, false, FurtherTile>;
  using Base::Base;
  RS_TYPES_OF(P);
  using Values = typename Base::Values;
  using Held = typename R::Held;
  using Index = typename R::Index;
  static constexpr bool ALL_LOOK = true;
  static constexpr int BATCH = Base::least(Base::BATCH, 8), BATCHES = STEPS / BATCH;

  // Any strides.
  RS_METHOD static Offsets<P> start(const Rows<P::rank> &rows, i64 step, i64 column) {
    Offsets<P> at = Offsets<P>::of_step(rows, P::reverse ? P::length - 1 - step : step);
    at.move(rows, at.LAST, column);
    return at;
  }

  // The thread's column, batch by batch of its segment. AGAIN: what is loaded is so once more.
  template <bool AGAIN> struct Walk {
    R row;     // from the next step on
    int count; // of steps; 0: there is no such column
    bool is_first;
    typename R::Params params;

    RS_METHOD void load(int k, Held *held) {
#pragma unroll
      for (int j = 0; j < BATCH; j++) {
        held[j] = {};
        if (Base::WHOLE || k * BATCH + j < count)
          held[j] = row.template load_one<AGAIN>(0, count == 0 || (is_first && k + j == 0));
        row.move(1);
      }
    }
  };
  // A thread that has none walks along a column that there is, where loads have no condition.
  template <bool AGAIN> RS_METHOD Walk<AGAIN> walk() const {
    bool there = this->there();
    Offsets<P> at = this->shared.place.at;
    if (P::rank > 1)
      at.move(this->rows, at.OUTER, there ? this->outer : 0);
    at.move(this->rows, at.LAST, there ? this->column : 0);
    R row(this->rows, at);
    row.move(there ? this->segment * STEPS : 0);
    return {row, there ? this->steps() : 0, this->is_first(), row.params()};
  }
  template <class F> RS_METHOD void each_batch(const F &f) const {
    auto all = walk<true>();
#pragma unroll 1
    for (int k = 0; k < BATCHES; k++) {
      Held held[BATCH];
      Values x[BATCH];
      all.load(k, held);
#pragma unroll
      for (int j = 0; j < BATCH; j++)
        x[j].at[0] = R::value(held[j], all.params);
      f(k, x);
    }
  }

  RS_METHOD void bring() const { // each element is loaded where it is used
  }
  RS_METHOD void give(const Values &before, const Values &end) const {
    auto all = walk<false>();
    Index left = (Index)this->left(), i = (Index)P::length - left;
    Counter<Op, BATCHES, Acc> batches;
#pragma unroll 1
    for (int k = 0; k < BATCHES; k++) {
      const R row = all.row;
      Held held[BATCH];
      Acc x[BATCH], prefix[BATCH + 1];
      all.load(k, held);
      R::template values<BATCH>(held, x, all.params);
      carries<Op, BATCH>(batches.prefix(k, before.at[0]), x, prefix);
      batches.add(k, total<Op, BATCH>(x));
      prefix[BATCH] = !Base::SINGLE && k == BATCHES - 1 ? end.at[0] : batches.prefix(k + 1, before.at[0]);
      const Acc *shown = results<P, BATCH>(this->rows, prefix, i, row.keeps, row);
      if constexpr (TOLD<P>)
        show_beginnings<P, BATCH>(this->rows, prefix, held);
      Stretch<BATCH, 1, THREADS, 1, P::reverse, false, Index> to{0, left, false, 0, 0};
      row.store_first(to, held, shown, all.params);
      if constexpr (HAS_SECOND<P>)
        row.further.store(to, held, shown, all.params);
      i += BATCH;
      left -= BATCH;
    }
  }
};

template <class P, int THREADS, int STEPS, int WIDTH>
RS_DEVICE void scan_further_columns(const Rows<P::rank> &rows, const WideCut &cut) {
  scan_wide_tile<FurtherTile<P, THREADS, STEPS, WIDTH>>(rows, cut);
}
