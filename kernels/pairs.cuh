// pairs.cuh - regime column, two columns of so few elements that all tiles are in work at once
// SPDX-License-Identifier: MIT
//
// As at_once.cuh has rows, with pairs as elements, twice as many totals to read, and more elements of a lane one after
// another, which take fewer exchanges: through shared memory, so that lanes still read neighbouring words.
#pragma once
#include "at_once.cuh"
#include "transpose.cuh"
#include "tuple.cuh"

// A tile that stays in shared memory, as it came, while the block waits: registers are few.
template <class P, class S> struct TransposedTile : Tile<P, S, true> {
  using Base = Tile<P, S, true>;
  using Index = typename Base::Index;
  using Acc = typename P::Acc;
  static constexpr int V = S::VECTOR, WARP = 32 * V;
  static_assert(S::CHUNKS == 1, "one vector a lane");
  using Ins = WarpTranspose<typename P::In, V>;
  using Outs = WarpTranspose<typename P::Out, V>;
  static constexpr int WORDS = Ins::ALL > Outs::ALL ? Ins::ALL : Outs::ALL;

  u128 *memory; // of the warp

  RS_METHOD explicit TransposedTile(unsigned char *shared)
      : memory(reinterpret_cast<u128 *>(shared) + thread_index() / 32 * WORDS) {
  }
  // The warp's part, in the order of memory: elements that there are, and where it begins from the row's first.
  struct Part {
    int low, high;
    i64 at;
  };
  RS_METHOD static Part part(Index first) {
    Index from = first + (Index)(thread_index() / 32) * WARP, left = Base::LENGTH - from;
    int count = Base::WHOLE || left >= WARP ? WARP : left > 0 ? (int)left : 0;
    if (P::reverse)
      return {WARP - count, WARP, -(i64)from - (WARP - 1)};
    return {0, count, (i64)from};
  }
  RS_METHOD static int lane() {
    return P::reverse ? 31 - (int)lane_index() : (int)lane_index();
  }
  RS_METHOD void load(const Row<P> &row, Index first) {
    Part p = part(first);
    Ins{memory}.load(row.in + p.at, p.low, p.high);
    read();
  }
  RS_METHOD void read() {
    this->held[0].hold(Ins{memory}.read(lane()), Vector<typename P::Mask, V>{});
  }
  RS_METHOD void store(const Row<P> &row, Index first, Acc carry, Acc end) {
    read();
    warp_barrier();
    Part p = part(first);
    Outs words{memory};
    Base::down(row, first, carry, end,
               [&](int, Index, const Acc *value) { words.write(lane(), narrow_units<P, V>(value)); });
    words.store(row.out + p.at, p.low, p.high);
  }
};

// The totals of all tiles before a block's own, each one hop away: a warp for each 32 of them.
template <class Op, i64 COUNT, class A> struct HopOfWarps {
  static constexpr int GROUPS = (int)((COUNT + 31) / 32);
  static constexpr int LANES = 2 << log2_floor(GROUPS); // so that there is one after the last group
  static_assert(LANES <= 32, "groups of one warp");

  // What the warps tell the block, in shared memory.
  struct Found {
    A group[GROUPS];         // totals of those before the tile's own, and of that if the tile ends it
    A before[5], through[5]; // of its own group, aligned blocks of 2^d tiles before the tile, and with it
  };

  Node<A> *nodes; // of the row
  u32 run;

  // A warp calls it for tile t and a group of 32 tiles, the tile's own at most, with the tile's total. late(tile) sees
  // to one that has not come after OneHop's PATIENCE.
  template <class F> RS_METHOD void look(u32 t, u32 group, A mine, Found &found, const F &late) const {
    u32 tile = group * 32 + lane_index();
    Node<A> seen = {}; // of no run
#pragma unroll 1
    for (int readings = 1;; readings++) {
      seen.look_again(nodes + tile, tile < t && !seen.told(run));
      u32 first = tile < t && !seen.told(run) ? tile : t;
      if (!any_lane(first < t))
        break;
      if (readings >= OneHop<Op, COUNT, A>::PATIENCE) {
#pragma unroll
        for (int d = 0; d < 5; d++) {
          u32 other = shuffle_xor(first, 1 << d);
          first = other < first ? other : first;
        }
        late(first);
      }
    }
    Lanes<Op, 32, A> lanes;
    A total = lanes.up(tile == t ? mine : seen.value(), lane_index());
    if (lane_index() == 0)
      found.group[group] = total;
#pragma unroll
    for (int d = 0; d < 5; d++) {
      if (tile == t)
        found.before[d] = lanes.sibling[d];
      if (tile == t + 1)
        found.through[d] = lanes.sibling[d];
    }
  }
  RS_METHOD static A fold(A start, const A *block, u32 count) {
#pragma unroll
    for (int d = 4; d >= 0; d--)
      if (count >> d & 1)
        start = Op::combine(start, block[d]);
    return start;
  }
  // Every thread calls it: the prefixes after `start` before tile t (carry) and through it (end).
  RS_METHOD static void prefixes(const Found &found, u32 t, A start, A &carry, A &end) {
    u32 group = t / 32, index = t % 32, lane = lane_index() % LANES;
    Lanes<Op, LANES, A> lanes;
    lanes.up(found.group[lane < GROUPS ? lane : 0], lane);
    A before = lanes.down(start, lane);
    A ended = shuffle_from(before, (int)group + 1), begun = shuffle_from(before, (int)group);
    carry = fold(begun, found.before, index);
    end = index == 31 ? ended : fold(begun, found.through, index + 1);
  }
};

// The last warp tells, so that it waits for nobody. What sees to a late tile is written here and in at_once.cuh: as a
// function of its own it cost 1 x 2^20 f32 on an H100 1.5%.
template <class P, class S> RS_DEVICE void scan_rows_of_pairs(const Rows<P::rank> &rows) {
  using T = TransposedTile<P, S>;
  using Acc = typename P::Acc;
  using Ahead = HopOfWarps<typename P::Op, T::COUNT, Acc>;
  constexpr int PART = 16 / (int)sizeof(typename P::In) < 4 ? 2 : 4; // elements that a late total is made of at a time
  constexpr u32 TELLS = 32 * (S::WARPS - 1);
  static_assert(S::WARPS > Ahead::GROUPS, "one tells");
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Acc between[S::WARPS];
  RS_SHARED typename Ahead::Found found;
  RS_SHARED u32 run;

  TurnState *state = static_cast<TurnState *>(rows.workspace);
  u32 number = block_index() / (u32)T::COUNT, t = block_index() % (u32)T::COUNT;
  u32 run_now = 0;
  if (thread_index() == 0)
    run_now = current_run(state); // asked for before the elements
  Row<P> row(rows, rows.first + number);
  Acc start = row.start();
  typename T::Index first = (typename T::Index)t * S::ELEMENTS;
  T tile(memory);
  tile.load(row, first);
  delay();
  if (thread_index() == 0)
    run = run_now;
  Acc mine = tile.up(between);

  u64 asked = 0; // a turn, only to count blocks
  Ahead ahead{reinterpret_cast<Node<Acc> *>(state + RS_AT_ONCE_STATE) + number * (u32)T::COUNT, run};
  u32 warp = thread_index() / 32;
  bool looks = alike(warp <= t / 32);
  if (thread_index() == TELLS) {
    ahead.nodes[t].tell(mine, run);
    asked = ask_turn(state);
    if (rows.at[RS_IN] == rows.at[RS_OUT])
      word_fence(); // whoever finds results instead of elements finds the total too
  } else if (looks) {
    ahead.look(t, warp, mine, found, [&](u32 late) {
      Acc total = total_of_tile<P, S, PART>(row, (i64)late * S::ELEMENTS);
      word_fence();
      warp_barrier();
      if (lane_index() == 0 && !ahead.nodes[late].look().told(run)) // else it may have found results
        ahead.nodes[late].tell(total, run);
    });
  }
  block_barrier();
  delay();
  Acc carry, end;
  Ahead::prefixes(found, t, start, carry, end);
  tile.store(row, first, carry, end);
  if (thread_index() == TELLS)
    answered_turn(state, asked, block_count());
}

template <class P, class S> RS_DEVICE void scan_pairs(const Rows<P::rank> &rows) {
  scan_rows_of_pairs<Tuples<P, 2>, S>(Tuples<P, 2>::rows(rows));
}
