// abreast.cuh - blocks that share columns hand one another the totals of their tiles
// SPDX-License-Identifier: MIT
//
// As Ahead, for rows that lie side by side: each column of a tile has its own node, and those of one level lie by
// outer, tile or group, column: eight tiles make a group, eight groups the next. One thread looks for a column, so that
// a warp reads neighbouring nodes, or of few columns eight lanes, which take a node each. It reads those alone that
// make up the prefix: of a group the aligned blocks of four, two and one tiles before its own.
#pragma once
#include "ahead.cuh"
#include "cuts.h"

// A tile's place among the others: strips fastest, so that memory is swept in order, then tiles along the length. In
// reverse memory is swept from its end. CUTS: there may be several tiles along the length.
struct ColumnPlace {
  i32 strip, tile;
  u32 outer; // number of the tile's outers

  template <bool REVERSE, bool CUTS, class C> RS_METHOD static ColumnPlace of(const C &cut, u32 number) {
    u32 strips = (u32)cut.strips, tiles = CUTS ? (u32)cut.tiles : 1, q = number / strips, outer = q / tiles;
    i32 strip = (i32)(number - q * strips), tile = (i32)(q - outer * tiles);
    if (REVERSE)
      return {cut.strips - 1 - strip, tile, block_count() / (tiles * strips) - 1 - outer};
    return {strip, tile, outer};
  }
};

template <class Op, class A> struct ColumnsAhead {
  static constexpr int LOG = RS_COLUMN_GROUP_LOG, GROUP = 1 << LOG;
  static_assert(LOG == 3, "Group has blocks of four, two and one");

  Node<A> *nodes;
  u32 run;
  u32 outers, outer; // there are, and this one
  u32 columns;       // there are
  u32 tiles;

  // Of a launch that is cut so, the tile of turn `run` whose outers are number `outer`.
  template <class C>
  RS_METHOD static ColumnsAhead of(void *workspace, const C &cut, u32 columns, const ColumnPlace &place, u32 run) {
    return {reinterpret_cast<Node<A> *>(static_cast<TurnState *>(workspace) + 1),
            run,
            block_count() / ((u32)cut.tiles * (u32)cut.strips),
            place.outer,
            columns,
            (u32)cut.tiles};
  }
  // LANES: that look for a column, one or as many as a group has tiles. All lanes of a warp come to each f(column,
  // whether to use what it finds), for the columns of a tile of a block of THREADS.
  template <int LANES, int THREADS, class F> RS_METHOD static void each_column(int columns, const F &f) {
    constexpr int OF_WARP = 32 / LANES;
#pragma unroll 1
    for (int from = (int)thread_index() / 32 * OF_WARP; alike(from < columns); from += THREADS / LANES) {
      int c = from + (int)lane_index() / LANES;
      f(c < columns ? c : from, c < columns && lane_index() % LANES == 0);
    }
  }

  RS_METHOD u32 count(int level) const { // of a level's groups
    return ((tiles - 1) >> LOG * level) + 1;
  }
  // A column's node of group `number` of a level; of level 0 of a tile.
  RS_METHOD Node<A> *node(int level, u32 number, u32 column) const {
    u32 below = 0;
#pragma unroll 1
    for (int l = 0; l < level; l++)
      below += outers * count(l);
    return nodes + (u32)((below + outer * count(level) + number) * columns + column);
  }
  RS_METHOD void tell(u32 t, u32 column, A mine) const {
    node(0, t, column)->tell(mine, run);
  }

  // Of a level the tiles or groups before the tile's own in their group: so many, and the aligned blocks that they
  // make.
  struct Group {
    u32 index;
    A four, two, one;

    // The total of the group, if the tile is its last one and `mine` is that of the blocks that it ends below.
    RS_METHOD A with(A mine) const {
      return Op::combine(four, Op::combine(two, Op::combine(one, mine)));
    }
    // The prefixes after them, and after that block too, which does not end the group; carry: the one before the group.
    RS_METHOD A before(A carry) const {
      carry = index & 4 ? Op::combine(carry, four) : carry;
      carry = index & 2 ? Op::combine(carry, two) : carry;
      return index & 1 ? Op::combine(carry, one) : carry;
    }
    RS_METHOD A through(A carry, A mine) const {
      carry = index & 4 ? Op::combine(carry, four) : carry;
      carry = (index & 3) == 2 ? Op::combine(carry, two) : carry;
      mine = index & 1 ? Op::combine(one, mine) : mine;
      return Op::combine(carry, (index & 3) == 3 ? Op::combine(two, mine) : mine);
    }
  };
  // Of this lane and the one whose number differs in a bit.
  RS_METHOD static A pair(A mine, int bit) {
    A other = shuffle_xor(mine, 1 << bit);
    return lane_index() >> bit & 1 ? Op::combine(other, mine) : Op::combine(mine, other);
  }
  // Waits for them.
  template <int LANES> RS_METHOD Group blocks(int level, u32 t, u32 column) const {
    static_assert(LANES == 1 || LANES == GROUP, "a lane has all nodes of a group, or one");
    u32 number = t >> LOG * level, index = number % GROUP;
    const Node<A> *first = node(level, number - index, column), *two = first + (index & 4) * columns,
                  *one = first + (index & 6) * columns;
    auto at = [&](int j) { return j < 4 ? first + j * columns : j < 6 ? two + (j - 4) * columns : one; };
    auto wanted = [&](int j) { return (index & (j < 4 ? 4u : j < 6 ? 2u : 1u)) != 0; };
    if constexpr (LANES == GROUP) {
      int j = (int)lane_index() % GROUP, own = (int)lane_index() - j;
      bool mine = j < GROUP - 1 && wanted(j);
      const Node<A> *there = at(j);
      Node<A> seen = {}; // of no run
      do
        seen.look_again(there, mine && !seen.told(run));
      while (any_lane(mine && !seen.told(run)));
      A one = seen.value(), two = pair(one, 0), four = pair(two, 1);
      return {index, shuffle_from(four, own), shuffle_from(two, own + 4), shuffle_from(one, own + 6)};
    } else {
      Node<A> seen[GROUP - 1] = {}; // of no run
      for (bool all = false; !all;) {
        all = true;
#pragma unroll
        for (int j = 0; j < GROUP - 1; j++)
          seen[j].look_again(at(j), wanted(j) && !seen[j].told(run));
#pragma unroll
        for (int j = 0; j < GROUP - 1; j++)
          all = all && (!wanted(j) || seen[j].told(run));
      }
      return {index,
              Op::combine(Op::combine(seen[0].value(), seen[1].value()), Op::combine(seen[2].value(), seen[3].value())),
              Op::combine(seen[4].value(), seen[5].value()), seen[6].value()};
    }
  }

  // For tile t, which has told its total, `mine`: the prefixes after `start` before the tile (carry) and through it
  // (end). `tells`: whether to tell the totals of the groups that it ends. t is the same in all threads of the block.
  template <int LANES> RS_METHOD void look(u32 t, u32 column, bool tells, A mine, A start, A &carry, A &end) const {
    int top = 0, ended = 0; // levels; how many groups, one of another, the tile is the last one of
    while (count(top) > GROUP)
      top++;
#pragma unroll 1
    for (; ended <= top && (t >> LOG * ended) % GROUP == GROUP - 1; ended++) {
      mine = blocks<LANES>(ended, t, column).with(mine);
      if (ended < top && tells)
        node(ended + 1, t >> LOG * (ended + 1), column)->tell(mine, run);
    }
    carry = start;
    end = Op::combine(start, mine); // if it ends the groups of all levels
#pragma unroll 1
    for (int level = top; level >= 0; level--) {
      Group own = blocks<LANES>(level, t, column);
      if (level == ended)
        end = own.through(carry, mine);
      carry = own.before(carry);
    }
  }
};
