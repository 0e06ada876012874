// direct.cuh - regime long: rows cut over blocks, a tile each, which its threads load themselves
// SPDX-License-Identifier: MIT
//
// All rows go on at the same time, tile by tile: so few blocks wait for one another, and of columns that are neighbours
// those which share a word of memory ask for it together.
#pragma once
#include "ahead.cuh"
#include "tile.cuh"

template <class P, class S, bool VECTORED> RS_DEVICE void scan_direct(const Rows<P::rank> &rows) {
  using T = Tile<P, S, VECTORED>;
  using Acc = typename P::Acc;
  using Index = typename T::Index;
  RS_SHARED Acc between[S::WARPS];
  RS_SHARED TileEnds<Acc> ends;

  const u32 count = (u32)T::count(rows);
  const u32 at = take_tile(rows.workspace, count, ends).number, t = at / (u32)rows.count, number = at % (u32)rows.count;
  Row<P> row(rows, rows.first + number);
  Index first = (Index)t * S::ELEMENTS;
  T tile;
  tile.load(row, first);
  Acc mine = tile.up(between), start = row.start(), carry = start, end = P::Op::combine(start, mine);
  if (count > 1)
    find_ends<typename P::Op, (u32)T::COUNT>(rows.workspace, number, t, count, mine, start, ends, carry, end);
  delay();
  tile.down(row, first, carry, end, [&](int u, Index i, const Acc *value) { tile.store_all(row, u, i, value); });
}
