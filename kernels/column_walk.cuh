// column_walk.cuh - blocks that stay hand one another the totals of columns that lie side by side
// SPDX-License-Identifier: MIT
//
// What Walk of ahead.cuh does for one row: who takes one tile after another knows the prefix before each. Tiles make
// groups, aligned blocks of the order, whose total is told by who has the last tile; a tile waits for those of its own
// group before it, and for the groups before that. Two warps of a block share this, one near and one far, so that
// either asks for all it needs at once and has one answer to wait for.
#pragma once
#include "ahead.cuh"
#include "cuts.h"

// Nodes of tiles, by outer, tile, column; then those of groups, by outer, group, column.
template <class A> struct ColumnNodes {
  static constexpr int EACH = RS_STREAM_EACH_BYTES / (int)sizeof(A); // tiles that a lane reads
  // Of a column's lanes so many read. More of them ask for more than the answer is worth: H200, f32, 2^26 elements x 7
  // with one 0.865 of memcpy, with 4 0.882; x 3 with 8 0.819 (0.805); x 1 with 32 0.527 (0.734).
  static constexpr int MOST_SLOTS_LOG = RS_STREAM_SLOTS_LOG;
  static constexpr int EACH_LOG = log2_floor(EACH), MOST_LOG = EACH_LOG + MOST_SLOTS_LOG;
  Node<A> *nodes;
  u32 run, outers, tiles, columns; // tiles: of a row
  int slots_log;                   // log2 of the lanes of a column that read

  RS_METHOD int group_log() const { // log2 of a group's tiles
    return EACH_LOG + slots_log;
  }
  RS_METHOD Node<A> *tile(u32 outer, u32 number, u32 column) const {
    return nodes + ((outer * tiles + number) * columns + column);
  }
  RS_METHOD Node<A> *group(u32 outer, u32 number, u32 column) const {
    u32 groups = ((tiles - 1) >> group_log()) + 1;
    return nodes + ((outers * tiles + outer * groups + number) * columns + column);
  }
  RS_METHOD u32 group_of(u32 tile) const {
    return tile >> group_log();
  }
  RS_METHOD int index_of(u32 tile) const { // in its group
    return (int)(tile & ((1u << group_log()) - 1));
  }
  RS_METHOD bool ends_group(u32 tile) const {
    return index_of(tile + 1) == 0;
  }
};

// Readings of COUNT nodes that follow one another, `pitch` apart.
template <class A, int COUNT> struct Readings {
  Node<A> seen[COUNT] = {}; // of no run

  // Until the first `count` of them are told, each lane's own. What is not waited for is not asked for either: all that
  // blocks ask for makes them wait for one another's answers.
  RS_METHOD void wait(const Node<A> *first, u32 pitch, int count, u32 run) {
    bool missing;
    do {
#pragma unroll
      for (int j = 0; j < COUNT; j++) // all at once
        seen[j].look_again(first + j * pitch, j < count && !seen[j].told(run));
      missing = false;
#pragma unroll
      for (int j = 0; j < COUNT; j++)
        missing = missing || (j < count && !seen[j].told(run));
    } while (any_lane(missing));
  }
  // The total of the first N.
  template <class Op, int N> RS_METHOD A total_of() const {
    A value[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      value[j] = seen[j].value();
    return total<Op, N>(value);
  }
};

// The first of N blocks that make up a larger one, not all: digit d has 2^d of them, if their number has.
template <class Op, int N, class A> struct First : Counter<Op, N - 1, A> {
  RS_METHOD static First of(const Node<A> *seen, int count) {
    First first;
#pragma unroll
    for (int j = 0; j < N - 1; j++)
      if (j < count)
        first.add(j, seen[j].value());
    return first;
  }
  // The prefix of all that there are, `count`, and one more.
  RS_METHOD A through(int count, A one, A start) const {
    First more = *this;
    more.add(count, one);
    return more.prefix(count + 1, start);
  }
  // The total of 2^log, where there are all but the last.
  RS_METHOD A with(A last, int log) const {
#pragma unroll
    for (int d = 0; d < First::LEVELS; d++)
      if (d < log)
        last = Op::combine(this->digit[d], last);
    return last;
  }
};
template <class Op, class A> using NearTiles = First<Op, 1 << ColumnNodes<A>::MOST_LOG, A>;

// The tiles of tile t's group before it, all of which are told when it returns. A column has a lane or, where there are
// few, several, of which 2^slots_log read EACH tiles; lane_of(slot) is one of the lane's own column.
template <class Op, class A, class F>
RS_DEVICE NearTiles<Op, A> near_tiles(const ColumnNodes<A> &nodes, u32 outer, u32 t, u32 column, int slot,
                                      const F &lane_of) {
  constexpr int EACH = ColumnNodes<A>::EACH, EACH_LOG = ColumnNodes<A>::EACH_LOG;
  delay();
  int index = nodes.index_of(t), count = index - slot * EACH, last = index >> EACH_LOG; // last: slot, which is not full
  count = count < 0 ? 0 : count < EACH ? count : EACH;
  Readings<A, EACH> readings;
  readings.wait(nodes.tile(outer, t - index + slot * EACH, column), nodes.columns, count, nodes.run);

  NearTiles<Op, A> near;
  First<Op, EACH, A> few = First<Op, EACH, A>::of(readings.seen, count);
#pragma unroll
  for (int d = 0; d < EACH_LOG; d++)
    near.digit[d] = nodes.slots_log ? shuffle_from(few.digit[d], lane_of(last)) : few.digit[d];
  A mine = readings.template total_of<Op, EACH>();
#pragma unroll
  for (int d = 0; d < ColumnNodes<A>::MOST_SLOTS_LOG; d++)
    if (d < nodes.slots_log) {
      near.digit[EACH_LOG + d] = shuffle_from(mine, lane_of(last >> (d + 1) << (d + 1)));
      A other = shuffle_from(mine, lane_of(slot ^ 1 << d));
      mine = slot >> d & 1 ? Op::combine(other, mine) : Op::combine(mine, other);
    }
  return near;
}

// The groups before it. BLOCK of them, an aligned block, are counted at once: one by one they would take longer than
// the answer. COUNT: tiles of a row, at most.
template <class Op, i64 COUNT, class A> struct FarWalk {
  using Nodes = ColumnNodes<A>;
  static constexpr int BLOCK = sizeof(A) == 4 ? 8 : 4, TILES = BLOCK * Nodes::EACH; // of a block, at least

  A start, before; // before: the prefix of all blocks in the counter
  u32 known;       // blocks there
  Counter<Op, (COUNT + TILES - 1) / TILES, A> counter;
  Readings<A, 2 * BLOCK> readings; // of the groups after those
  First<Op, BLOCK, A> groups;      // as many of them as are before the tile's

  RS_METHOD void begin(A start_of_row) {
    before = start = start_of_row;
    known = 0;
    readings = Readings<A, 2 * BLOCK>();
  }
  RS_METHOD void add(A block) {
    counter.add(known++, block);
    before = counter.prefix(known, start);
#pragma unroll
    for (int j = 0; j < BLOCK; j++) {
      readings.seen[j] = readings.seen[BLOCK + j];
      readings.seen[BLOCK + j] = Node<A>{};
    }
  }
  // Until all groups before tile t's are known. t never falls.
  RS_METHOD void gather(const Nodes &nodes, u32 outer, u32 t, u32 column) {
    delay();
    u32 own = nodes.group_of(t);
#pragma unroll 1
    for (;;) {
      int left = (int)(own - known * BLOCK), most = 2 * BLOCK, count = left < most ? left : most;
      readings.wait(nodes.group(outer, known * BLOCK, column), nodes.columns, count, nodes.run);
      if (known == own / BLOCK)
        break;
      add(readings.template total_of<Op, BLOCK>());
    }
    groups = First<Op, BLOCK, A>::of(readings.seen, (int)(own % BLOCK));
  }
  // The prefixes before tile t (carry) and through it (end), given its total, after gather().
  RS_METHOD void pass(const Nodes &nodes, u32 t, const NearTiles<Op, A> &near, A mine, A &carry, A &end) {
    int index = nodes.index_of(t), group = (int)(nodes.group_of(t) % BLOCK);
    A before_group = groups.prefix(group, before);
    carry = near.prefix(index, before_group);
    if (!nodes.ends_group(t)) {
      end = near.through(index, mine, before_group);
    } else if (group < BLOCK - 1) {
      end = groups.through(group, near.with(mine, nodes.group_log()), before);
    } else {
      add(groups.with(near.with(mine, nodes.group_log()), log2_floor(BLOCK)));
      end = before;
    }
  }
};
