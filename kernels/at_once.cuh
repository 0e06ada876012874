// at_once.cuh - regime long, few rows: all tiles are in work at once, each in the registers of a block
// SPDX-License-Identifier: MIT
//
// The shortest way through: plain loads, and one hop to the totals of the tiles before. A block has the tile of its own
// number, so that its loads begin at once; a turn would come an atomic's way there and back later, 0.7 us on an H200,
// and blocks do not get theirs in the order of their numbers, so that loading on suspicion is of no use. Blocks have
// been started in that order by all hardware so far, but nobody promises it. So nobody waits without end: a block that
// waits for long works out the totals that it misses, which are the same whoever does so, and tells them.
#pragma once
#include "ahead.cuh"
#include "cuts.h"
#include "tile.cuh"

// The total of a whole tile that another block has, by one warp, PART elements of a lane at a time.
template <class P, class S, int PART = S::VECTOR>
RS_DEVICE typename P::Acc total_of_tile(const Row<P> &row, i64 first) {
  using Acc = typename P::Acc;
  using Op = typename P::Op;
  constexpr int CHUNKS = S::WARPS * S::CHUNKS, PARTS = S::VECTOR / PART;
  Counter<Op, CHUNKS, Acc> all;
#pragma unroll 1
  for (int u = 0; u < CHUNKS; u++) {
    Counter<Op, PARTS, Acc> vector;
#pragma unroll 1
    for (int k = 0; k < PARTS; k++) {
      HeldVector<P, PART> held;
      row.load_vectored(held, (typename Row<P>::Index)first + (u * 32 + (int)lane_index()) * S::VECTOR + k * PART);
      vector.add(k, held.outer(held.total()));
    }
    Lanes<Op, 32, Acc> lanes;
    all.add(u, lanes.up(vector.digit[vector.LEVELS - 1], lane_index()));
  }
  return all.digit[all.LEVELS - 1];
}

// The first warp looks for totals, the second tells, so that neither waits for the other.
template <class P, class S> RS_DEVICE void scan_at_once(const Rows<P::rank> &rows) {
  using T = Tile<P, S, true>;
  using Acc = typename P::Acc;
  using Ahead = OneHop<typename P::Op, T::COUNT, Acc>;
  static_assert(S::WARPS > 1, "one looks, one tells");
  RS_SHARED Acc between[S::WARPS];
  RS_SHARED Acc ends[2];
  RS_SHARED u32 run;

  TurnState *state = static_cast<TurnState *>(rows.workspace);
  u32 number = block_index() / (u32)T::COUNT, t = block_index() % (u32)T::COUNT;
  u64 run_word = 0;
  if (thread_index() == 0)
    run_word = ask_run(state); // before the elements, and what comes of it after them
  Row<P> row(rows, rows.first + number);
  Acc start = row.start();
  typename T::Index first = (typename T::Index)t * S::ELEMENTS;
  T tile;
  tile.load(row, first);
  delay();
  if (thread_index() == 0)
    run = answered_run(run_word);
  Acc mine = tile.up(between);

  u64 asked = 0; // a turn, only to count blocks: the last one ends the run, and none waits for it
  Ahead ahead{reinterpret_cast<Node<Acc> *>(state + RS_AT_ONCE_STATE) + number * (u32)T::COUNT, run};
  if (thread_index() == 32) {
    ahead.nodes[t].tell(mine, run);
    asked = ask_turn(state);
    if (rows.at[RS_IN] == rows.at[RS_OUT])
      word_fence(); // whoever finds results instead of elements finds the total too
  } else if (thread_index() < 32) {
    typename Ahead::Totals before = ahead.look(t, [&](u32 late) {
      Acc total = total_of_tile<P, S>(row, (i64)late * S::ELEMENTS);
      word_fence();
      warp_barrier();
      if (lane_index() == 0 && !ahead.nodes[late].look().told(run)) // else it may have found results
        ahead.nodes[late].tell(total, run);
    });
    if (lane_index() == t % 32) {
      ends[0] = before.prefix(t, start);
      ends[1] = before.push(t, mine, start);
    }
  }
  block_barrier();
  delay();
  tile.down(row, first, ends[0], ends[1], [&](int, typename T::Index i, const Acc *value) { T::store(row, i, value); });
  if (thread_index() == 32)
    answered_turn(state, asked, block_count());
}
