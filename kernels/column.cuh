// column.cuh - regime column: a thread scans a row; neighbouring threads have neighbouring rows
// SPDX-License-Identifier: MIT
#pragma once
#include "order.cuh"
#include "rows.cuh"

// STEPS elements, a power of two, are loaded before the first is used.
template <class P, int THREADS, int STEPS> RS_DEVICE void scan_columns(const Rows<P::rank> &rows) {
  using R = Row<P>;
  using Op = typename P::Op;
  using Acc = typename P::Acc;
  using Index = typename R::Index;
  constexpr Index LENGTH = (Index)P::length;
  constexpr Index COUNT = (Index)((P::length + STEPS - 1) / STEPS);
  constexpr bool WHOLE = P::length % STEPS == 0;

  for (i64 number = (i64)block_index() * THREADS + thread_index(); number < rows.count;
       number += (i64)block_count() * THREADS) {
    R row(rows, number);
    Counter<Op, (COUNT > 0 ? COUNT : 1), Acc> counter;
    Acc start = row.start(), carry = start, last = row.empty();
#pragma unroll 1
    for (Index t = 0; t < COUNT; t++) {
      Index first = t * STEPS;
      typename R::Held held[STEPS];
#pragma unroll
      for (int j = 0; j < STEPS; j++) {
        held[j] = {};
        if (WHOLE || first + j < LENGTH)
          held[j] = row.load_one(first + j);
      }
      Acc x[STEPS], prefix[STEPS + 1];
#pragma unroll
      for (int j = 0; j < STEPS; j++)
        x[j] = widen<Acc>(held[j]);
      carries<Op, STEPS>(carry, x, prefix);
      carry = prefix[STEPS] = counter.push(t, total<Op, STEPS>(x), start);
      if (P::exclusive && t == 0)
        prefix[0] = row.empty();
#pragma unroll
      for (int j = 0; j < STEPS; j++)
        if (WHOLE || first + j < LENGTH) {
          row.store_one(first + j, prefix[P::exclusive ? j : j + 1]);
          last = prefix[j + 1];
        }
    }
    row.keep_total(last);
  }
}
