// abreast.cuh - blocks that share columns hand one another the totals of their tiles
// SPDX-License-Identifier: MIT
//
// As Ahead, for rows that lie side by side: each column of a tile has its own node, and those of one level lie by
// outer, tile or group, column. LANES lanes look for a column, each for EACH tiles that follow one another, so that a
// warp reads neighbouring nodes, and what a tile needs of those that run beside it is two hops away: 32 tiles make a
// group, 32 groups the next. (With 8 lanes for one tile each, and groups of 8, it was up to four; and yet 1048576 x 32
// f32 on an H200 was at 0.69 of memcpy so, at 0.65 to 0.70 now.)
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

// AHEAD: levels that are asked for before the first answer, which takes registers. EARLY: long before, so that tiles of
// the same group have told nothing yet.
template <class Op, int LANES, i64 MOST, class A, int AHEAD, bool EARLY> struct ColumnsAhead {
  static constexpr int EACH = RS_COLUMN_EACH, GROUP = LANES * EACH, DIGITS = log2_floor(GROUP);
  RS_METHOD static constexpr int levels_of(i64 count) {
    return count <= GROUP ? 1 : 1 + levels_of((count + GROUP - 1) / GROUP);
  }
  static constexpr int LEVELS = levels_of(MOST);

  Node<A> *nodes;
  u32 run;
  u32 outers, outer; // there are, and this one
  u32 columns;       // there are
  u32 tiles;

  // Node of a column for tile t.
  RS_METHOD void tell(u32 t, u32 column, A mine) const {
    nodes[(outer * tiles + t) * columns + column].tell(mine, run);
  }

  // Of a level's nodes, those that a lane reads.
  struct Part {
    const Node<A> *first;
    int count; // those before the tile; the others are nobody's business
    Node<A> seen[EACH];
    RS_METHOD bool missing(int j, u32 run) const {
      return j < count && !seen[j].told(run);
    }
  };
  // The aligned blocks that make up the first `count` of a level's values: block[d] has 2^d, if the count has.
  struct Blocks {
    A block[DIGITS];
    RS_METHOD A after(A before, int count) const {
#pragma unroll
      for (int d = DIGITS - 1; d >= 0; d--)
        if (count >> d & 1)
          before = Op::combine(before, block[d]);
      return before;
    }
  };
  // Totals of aligned blocks of a level's values, of which each lane has EACH.
  struct Tree {
    A one[EACH], two[EACH / 2], four[2];
    A more[DIGITS - 2]; // of 8, 16, ... values, known to all lanes that have them
    RS_METHOD Tree(const A *value, int lane) {
#pragma unroll
      for (int j = 0; j < EACH; j++)
        one[j] = value[j];
#pragma unroll
      for (int j = 0; j < EACH / 2; j++)
        two[j] = Op::combine(one[2 * j], one[2 * j + 1]);
      four[0] = Op::combine(two[0], two[1]);
      four[1] = Op::combine(two[2], two[3]);
      more[0] = Op::combine(four[0], four[1]);
#pragma unroll
      for (int d = 0; d < DIGITS - 3; d++) {
        A other = shuffle_xor(more[d], 1 << d);
        more[d + 1] = lane >> d & 1 ? Op::combine(other, more[d]) : Op::combine(more[d], other);
      }
    }
    RS_METHOD A all() const {
      return more[DIGITS - 3];
    }
    RS_METHOD static A either(int which, A yes, A no) { // values: a choice of addresses would keep arrays in memory
      return which ? yes : no;
    }
    // zero: the column's first lane in the warp.
    RS_METHOD Blocks first(int count, int zero) const {
      int part = zero + count / EACH; // the lane that has the last of them
      A single = either(count & 2, either(count & 4, one[6], one[2]), either(count & 4, one[4], one[0]));
      A pair = either(count & 4, two[2], two[0]);
      Blocks blocks;
      blocks.block[0] = shuffle_from(single, part);
      blocks.block[1] = shuffle_from(pair, part);
      blocks.block[2] = shuffle_from(four[0], part);
#pragma unroll
      for (int d = 3; d < DIGITS; d++)
        blocks.block[d] = shuffle_from(more[d - 3], zero + (count >> (d + 1) << (d - 2)));
      return blocks;
    }
  };

  // What a lane knows of the tiles before its own, level by level.
  struct Asked {
    int index[LEVELS]; // how many of its group are before the tile's
    Part part[LEVELS];
  };
  RS_METHOD void read(Part &part) const {
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      part.seen[j] = Node<A>{};
      part.seen[j].look_again(part.first + j * columns, j < part.count);
    }
  }
  // LANES lanes call it for a column of tile t, before they look().
  RS_METHOD void ask(Asked &asked, u32 t, u32 column) const {
    u32 at = 0, count = tiles;
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
      int lane = (int)lane_index() % LANES, index = asked.index[l] = (int)(t % GROUP);
      asked.part[l].first = nodes + (at + (outer * count + (t - index + lane * EACH)) * columns + column);
      asked.part[l].count = index - lane * EACH;
      if (l >= EARLY && l < AHEAD)
        read(asked.part[l]);
      at += outers * count * columns;
      count = (count + GROUP - 1) / GROUP;
      t /= GROUP;
    }
  }

  // They call it for the same tile, which has told its total, `mine`: the prefixes after `start` before the tile
  // (carry) and through it (end). `tells`: whether to tell the totals of the groups that it ends. t is the same in all
  // lanes of the warp.
  RS_METHOD void look(Asked &asked, u32 t, u32 column, bool tells, A mine, A start, A &carry, A &end) const {
    int lane = (int)lane_index() % LANES, zero = (int)lane_index() - lane;
    Blocks blocks[LEVELS], through;
    int through_level = -1; // the lowest at which the tile does not end a group
    bool whole = true;      // tile t ends the groups of all levels below
    A total = mine;         // of the largest group that it ends
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
      Part &part = asked.part[l];
      int index = asked.index[l];
      if (l < EARLY || l >= AHEAD)
        read(part);
      for (;;) {
        bool missing = false;
#pragma unroll
        for (int j = 0; j < EACH; j++)
          missing = missing || part.missing(j, run);
        if (!any_lane(missing))
          break;
          // higher levels too: what comes meanwhile need not be waited for again
#pragma unroll
        for (int k = l; k < LEVELS; k++)
          if (k == l || k < AHEAD)
#pragma unroll
            for (int j = 0; j < EACH; j++)
              asked.part[k].seen[j].look_again(asked.part[k].first + j * columns, asked.part[k].missing(j, run));
      }
      A value[EACH];
#pragma unroll
      for (int j = 0; j < EACH; j++)
        value[j] = whole && j == part.count ? total : part.seen[j].value();
      Tree tree(value, lane);
      blocks[l] = tree.first(index, zero);
      if (whole && index < GROUP - 1) {
        through = tree.first(index + 1, zero);
        through_level = l;
      }
      whole = whole && index == GROUP - 1;
      if (whole) {
        total = tree.all();
        if (l + 1 < LEVELS && lane == 0 && tells)
          group_node(l + 1, t, column).tell(total, run);
      }
    }

    carry = start;
    end = Op::combine(start, total); // if it ends the groups of all levels
#pragma unroll
    for (int l = LEVELS - 1; l >= 0; l--) {
      if (l == through_level)
        end = through.after(carry, asked.index[l] + 1);
      carry = blocks[l].after(carry, asked.index[l]);
    }
  }
  // Node of a column for the group of `level` that tile t ends; the last of a row is nobody's.
  RS_METHOD Node<A> &group_node(int level, u32 t, u32 column) const {
    u32 count = tiles, at = 0;
#pragma unroll
    for (int l = 0; l < level; l++) {
      at += outers * count * columns;
      count = (count + GROUP - 1) / GROUP;
      t /= GROUP;
    }
    return nodes[at + (outer * count + t) * columns + column];
  }
};
