// long.cuh - regime long: many blocks of threads a row, in three launches
// SPDX-License-Identifier: MIT
//
// Totals of all tiles, prefixes of the totals, scans of the tiles. A tile is an aligned block of the order, so that the
// prefix of k totals is the prefix of the row before tile k. The workspace holds, for each row, the totals of its tiles
// and then one prefix more than it has tiles.
#pragma once
#include "row.cuh"

template <class P, class S> struct LongRow {
  using Acc = typename P::Acc;
  static constexpr i64 TILES = (P::length + S::ELEMENTS - 1) / S::ELEMENTS;
  RS_METHOD static Acc *totals(const Rows<P::rank> &rows, i64 number) {
    return static_cast<Acc *>(rows.workspace) + number * (2 * TILES + 1);
  }
  RS_METHOD static Acc *prefixes(const Rows<P::rank> &rows, i64 number) {
    return totals(rows, number) + TILES;
  }
};

template <class P, class S, bool VECTORED> RS_DEVICE void long_totals(const Rows<P::rank> &rows) {
  using T = Tile<P, S, VECTORED>;
  using L = LongRow<P, S>;
  RS_SHARED typename P::Acc between[2][S::WARPS];
  u32 turn = 0;
  for (i64 at = block_index(); at < rows.count * L::TILES; at += block_count()) {
    i64 number = at / L::TILES, t = at % L::TILES;
    T tile;
    tile.load(Row<P>(rows, rows.first + number), (typename T::Index)t * S::ELEMENTS);
    typename P::Acc mine = tile.up(between[turn++ & 1]);
    if (thread_index() == 0)
      L::totals(rows, number)[t] = mine;
  }
}

// The totals of a row's tiles are a row themselves: an exclusive scan with a total.
template <class P, class S> struct TotalsProblem {
  using Op = typename P::Op;
  using Acc = typename P::Acc;
  using In = Acc;
  using Out = Acc;
  using Mask = Acc;
  using Kept = Acc;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = true;
  static constexpr i64 length = LongRow<P, S>::TILES;
  static constexpr int rank = 1;
};
template <class P, class S> RS_DEVICE void long_prefixes(const Rows<P::rank> &rows) {
  using Q = TotalsProblem<P, S>;
  using T = Tile<Q, Shape<S::WARPS, 1, 32, 1>, false>;
  using Acc = typename P::Acc;
  RS_SHARED Acc between[2][S::WARPS];
  u32 turn = 0;
  for (i64 number = block_index(); number < rows.count; number += block_count()) {
    Acc *totals = LongRow<P, S>::totals(rows, number);
    Rows<1> inner{};
    inner.in = totals;
    inner.out = totals + Q::length;
    inner.totals = totals + 2 * Q::length;
    inner.count = inner.in_step = inner.out_step = 1;
    Row<Q> row(inner, 0);
    Counter<typename P::Op, T::COUNT, Acc> counter;
    Acc start = Row<P>(rows, rows.first + number).start(), carry = start;
#pragma unroll 1
    for (typename T::Index t = 0; t < T::COUNT; t++) {
      T tile;
      tile.load(row, t * (S::WARPS * 32));
      Acc end = counter.push(t, tile.up(between[turn++ & 1]), start);
      tile.down(row, t * (S::WARPS * 32), carry, end,
                [&](int, typename T::Index i, const Acc *value) { T::store(row, i, value); });
      carry = end;
    }
    block_barrier();
    if (thread_index() == 0)
      totals[Q::length] = start; // Row<Q> knows nothing of the initial value, and of no identity but the outward one
  }
}

template <class P, class S, bool VECTORED> RS_DEVICE void long_scan(const Rows<P::rank> &rows) {
  using T = Tile<P, S, VECTORED>;
  using L = LongRow<P, S>;
  using Acc = typename P::Acc;
  RS_SHARED Acc between[2][S::WARPS];
  u32 turn = 0;
  for (i64 at = block_index(); at < rows.count * L::TILES; at += block_count()) {
    i64 number = at / L::TILES, t = at % L::TILES;
    Row<P> row(rows, rows.first + number);
    const Acc *prefix = L::prefixes(rows, number) + t;
    Acc carry = prefix[0], end = prefix[1];
    T tile;
    tile.load(row, (typename T::Index)t * S::ELEMENTS);
    tile.up(between[turn++ & 1]);
    tile.down(row, (typename T::Index)t * S::ELEMENTS, carry, end,
              [&](int, typename T::Index i, const Acc *value) { T::store(row, i, value); });
  }
}
