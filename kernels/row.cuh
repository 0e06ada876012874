// row.cuh - regimes row and short: a group of threads scans a row tile by tile, the carry in registers
// SPDX-License-Identifier: MIT
#pragma once
#include "tile.cuh"

// A block of THREADS holds THREADS / (32 * WARPS) groups, or as many as have LANES lanes each when a group is part of a
// warp.
template <class P, class S, int THREADS, bool VECTORED> RS_DEVICE void scan_rows(const Rows<P::rank> &rows) {
  using T = Tile<P, S, VECTORED, THREADS>;
  using Acc = typename P::Acc;
  using Index = typename T::Index;
  constexpr int GROUP = S::WARPS > 1 ? THREADS : S::LANES, GROUPS = THREADS / GROUP;
  static_assert(THREADS <= 32 * S::WARPS || S::WARPS == 1, "groups of several warps have the block for themselves");
  RS_SHARED Acc between[2][S::WARPS];
  u32 turn = 0;
  const Index tiles = T::count(rows);

  for (i64 base = (i64)block_index() * GROUPS; base < rows.count; base += (i64)block_count() * GROUPS) {
    i64 number = base + thread_index() / GROUP;
    bool wanted = number < rows.count;
    Row<P> row(rows, wanted ? number : rows.count - 1);
    if (!wanted)
      row.keeps = false;
    if (tiles == 0) {
      if (T::lane() == 0 && T::warp() == 0)
        row.keep(row.empty());
      continue;
    }
    TileCounter<typename P::Op, (T::COUNT > 0 ? T::COUNT : 1), Acc, THREADS / 32, S::LANES, T::FETCHES> counter;
    Acc start = row.start(), carry = start;
    T tile;
    tile.load(row, 0);
#pragma unroll 1
    for (Index t = 0; t < tiles; t++) {
      T next; // on its way while this one is combined
      if (!T::FETCHES && t + 1 < tiles)
        next.load(row, (t + 1) * S::ELEMENTS);
      Acc end = counter.push(t, tile.up(between[turn++ & 1]), start);
      tile.down(row, t * S::ELEMENTS, carry, end,
                [&](int u, Index i, const Acc *value) { tile.store_all(row, u, i, value, wanted); });
      if (!T::FETCHES)
        tile = next;
      else if (t + 1 < tiles)
        tile.load(row, (t + 1) * S::ELEMENTS);
      carry = end;
    }
  }
}
