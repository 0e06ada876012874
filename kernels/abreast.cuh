// abreast.cuh - blocks that share columns hand one another the totals of their tiles
// SPDX-License-Identifier: MIT
//
// As Ahead, for rows that lie side by side: each column of a tile has its own node, and those of one level lie by
// outer, group, column. Groups are of LANES tiles, so that a warp looks for 32 / LANES columns at a time.
#pragma once
#include "ahead.cuh"

template <class Op, int LANES, i64 MOST, class A> struct ColumnsAhead {
  static constexpr int SHIFT = log2_floor(LANES);
  RS_METHOD static constexpr int levels_of(i64 count) {
    return count <= LANES ? 1 : 1 + levels_of((count + LANES - 1) / LANES);
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
  // LANES lanes call it for a column of tile t, which has told its total, `mine`: the prefixes after `start` before the
  // tile (carry) and through it (end). `tells`: whether to tell the totals of the groups that it ends.
  RS_METHOD void look(u32 t, u32 column, bool tells, A mine, A start, A &carry, A &end) const {
    const Node<A> *node[LEVELS]; // this lane's
    int index[LEVELS];
    bool known[LEVELS];
    Node<A> seen[LEVELS];
    int lane = (int)lane_index() % LANES, zero = (int)lane_index() - lane;
    {
      u32 count = tiles, group = t;
      u32 at = 0;
#pragma unroll
      for (int l = 0; l < LEVELS; l++) {
        index[l] = (int)group & (LANES - 1);
        known[l] = lane >= index[l];
        int to = lane < index[l] ? lane : index[l] - (index[l] > 0); // those who wait for nothing read what others read
        node[l] = nodes + (at + (outer * count + (group - index[l] + to)) * columns + column);
        if (count > 1) { // all at once
          at += outers * count * columns;
          count = (count + LANES - 1) / LANES;
          group >>= SHIFT;
        } else {
          node[l] = node[0];
        }
      }
    }
#pragma unroll
    for (int l = 0; l < LEVELS; l++)
      seen[l] = node[l]->look();

    Lanes<Op, LANES, A> lanes[LEVELS];
    bool whole = true; // tile t ends the groups of all levels below
    A total = mine;    // of the largest group that it ends
    u32 count = tiles;
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
      for (;;) {
#pragma unroll
        for (int k = l; k < LEVELS; k++)
          known[k] = known[k] || seen[k].told(run);
        if (!any_lane(!known[l]))
          break;
#pragma unroll
        for (int k = l; k < LEVELS; k++)
          seen[k].look_again(node[k], !known[k]);
      }
      A value = lane < index[l] ? seen[l].value() : Op::neutral();
      A up = lanes[l].up(whole && lane == index[l] ? total : value, lane);
      whole = whole && index[l] == LANES - 1;
      if (whole) {
        total = up;
        if (l + 1 < LEVELS && count > LANES && lane == index[l + 1 < LEVELS ? l + 1 : 0] && tells)
          next_level(l, t, column).tell(total, run);
      }
      count = (count + LANES - 1) / LANES;
    }

    A before = start, group_before[LEVELS];
#pragma unroll
    for (int l = LEVELS - 1; l >= 0; l--) {
      group_before[l] = before;
      before = shuffle_from(lanes[l].down(before, lane), zero + index[l]);
    }
    carry = before;
    end = Op::combine(start, total); // if it ends the groups of all levels
    bool found = false;
#pragma unroll
    for (int l = 0; l < LEVELS; l++)
      if (!found && index[l] < LANES - 1) {
        end = shuffle_from(lanes[l].down(group_before[l], lane), zero + index[l] + 1);
        found = true;
      }
  }
  // Node of a column for the group that tile t ends, one level above l.
  RS_METHOD Node<A> &next_level(int l, u32 t, u32 column) const {
    u32 count = tiles, at = 0;
#pragma unroll
    for (int k = 0; k <= l; k++) {
      at += outers * count * columns;
      count = (count + LANES - 1) / LANES;
      t >>= SHIFT;
    }
    return nodes[at + (outer * count + t) * columns + column];
  }
};
