// ahead.cuh - blocks that share a row hand one another the totals of its tiles
// SPDX-License-Identifier: MIT
//
// Tiles are aligned blocks of the order, so that what a tile needs of those before it is totals of larger aligned
// blocks: of single tiles in its own group of 32, of whole groups of 32 in its own group of 1024, and so on. Each is a
// fixed number, whoever comes first, and 5 bits of the tile's number are one hop. A block takes its tile by a turn, so
// that all tiles before it are in work or done: it may wait for them however few blocks run at a time.
//
// The workspace is a TurnState and then nodes, all 0 before the first run. A node is a value with the number of the
// run, so that nothing need be cleared, in a replayed graph neither. Numbers return after 2^32 - 1 runs.
#pragma once
#include "index.cuh"
#include "order.cuh"

struct Turn {
  u32 number; // among the blocks of this run
  u32 run;    // never 0
};
struct TurnState {
  u64 word; // run in the upper half, next number in the lower
};

// One thread a block; `blocks` take turns in this run. In two steps, for one who need not wait for the answer between
// them.
RS_DEVICE u64 ask_turn(TurnState *state) {
  return word_add(&state->word, 1);
}
RS_DEVICE Turn answered_turn(TurnState *state, u64 word, u32 blocks) {
  Turn turn{(u32)word, (u32)(word >> 32) + 1};
  if (turn.number == blocks - 1)
    word_tell(&state->word, (u64)(turn.run == ~0u ? 0 : turn.run) << 32); // all have theirs: the next run's start
  return turn;
}

RS_DEVICE Turn take_turn(TurnState *state, u32 blocks) {
  u64 word = ask_turn(state);
  delay();
  return answered_turn(state, word, blocks);
}

// The same run number, before the block has taken its last turn; in two steps, between which it loads.
RS_DEVICE u64 ask_run(const TurnState *state) {
  return word_peek(&state->word);
}
RS_DEVICE u32 answered_run(u64 word) {
  return (u32)(word_answer(word) >> 32) + 1;
}

RS_DEVICE u32 current_run(const TurnState *state) {
  return answered_run(ask_run(state));
}

// A value that arrives whole: each word carries 32 bits of it, and the run.
template <class A> struct Node {
  static constexpr int WORDS = WORDS_OF<A>;
  u64 word[sizeof(A) / 4];

  union Bits {
    A value;
    u32 part[sizeof(A) / 4];
  };
  RS_METHOD void tell(A value, u32 run) {
    Bits bits;
    bits.value = value;
    delay();
#pragma unroll
    for (int i = 0; i < WORDS; i++)
      word_tell(word + i, (u64)run << 32 | bits.part[i]);
  }
  // What is there now, told in this run or not.
  RS_METHOD Node look() const {
    Node seen;
#pragma unroll
    for (int i = 0; i < WORDS; i++)
      seen.word[i] = word_peek(word + i);
    return seen;
  }
  RS_METHOD void look_again(const Node *at, bool now) {
#pragma unroll
    for (int i = 0; i < WORDS; i++)
      word_peek_if(word[i], at->word + i, now);
  }
  RS_METHOD bool told(u32 run) const {
    bool all = true;
#pragma unroll
    for (int i = 0; i < WORDS; i++)
      all = all && (u32)(word[i] >> 32) == run;
    return all;
  }
  RS_METHOD A value() const {
    Bits bits;
#pragma unroll
    for (int i = 0; i < WORDS; i++)
      bits.part[i] = (u32)word[i];
    return bits.value;
  }
};

// The tiles of one row, MOST of them at most. The lowest level's nodes come first.
template <class Op, i64 MOST, class A> struct Ahead {
  RS_METHOD static constexpr int levels_of(i64 count) {
    return count <= 32 ? 1 : 1 + levels_of((count + 31) / 32);
  }
  RS_METHOD static constexpr i64 nodes_of(i64 count) {
    i64 nodes = count;
    while (count > 32)
      nodes += count = (count + 31) / 32;
    return nodes;
  }
  static constexpr int LEVELS = levels_of(MOST);
  using Place = typename IndexFor<(nodes_of(MOST) < 1 << 30)>::type;

  Node<A> *nodes; // of the row
  u32 run;
  i64 count; // of tiles

  // A lane of a warp looks for those of the `before` that come before.
  RS_METHOD bool waits_for(const Node<A> &seen, int before) const {
    return (int)lane_index() < before && !seen.told(run);
  }
  // A warp calls it for tile t, whose total is `mine`: tells it, and returns the prefixes after `start` before the tile
  // (carry) and through it (end).
  RS_METHOD void look(i64 t, A mine, A start, A &carry, A &end) const {
    Place level[LEVELS]; // the first node of its group
    int index[LEVELS];
    Node<A> seen[LEVELS] = {}; // of no run
    {
      i64 there = count, group = t, at = 0;
#pragma unroll
      for (int l = 0; l < LEVELS; l++) {
        level[l] = (Place)(at + (group & ~(i64)31));
        index[l] = (int)(group & 31);
        at += there;
        there = (there + 31) / 32;
        group >>= 5;
      }
    }
    if (lane_index() == 0)
      nodes[level[0] + index[0]].tell(mine, run);
    auto wait = [&](int first, int last) { // for levels `first` to `last`
      bool missing;
      do {
        missing = false;
#pragma unroll
        for (int k = 0; k < LEVELS; k++)
          if (k >= first) { // all at once
            seen[k].look_again(nodes + level[k] + lane_index(), waits_for(seen[k], index[k]));
            missing = missing || (k <= last && waits_for(seen[k], index[k]));
          }
      } while (any_lane(missing));
    };

    A total = mine;    // of the largest group that tile t ends
    A own[LEVELS];     // at its place in each level: what it has of a node there
    bool whole = true; // it ends the groups of all levels so far
    auto value = [&](int l) {
      bool before = (int)lane_index() < index[l];
      return (int)lane_index() == index[l] ? own[l] : before ? seen[l].value() : Op::neutral();
    };
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
      own[l] = whole ? total : Op::neutral();
      whole = whole && index[l] == 31;
      if (alike(whole)) { // others wait for it
        wait(l, l);
        Lanes<Op, 32, A> lanes;
        total = lanes.up(value(l), lane_index());
        if (l + 1 < LEVELS && count > (i64)1 << 5 * (l + 1) && lane_index() == 0)
          nodes[level[l + 1] + index[l + 1]].tell(total, run);
      }
    }
    wait(0, LEVELS - 1);

    // The lower half of the lanes finds the prefix of t tiles, the upper half that of t + 1. Of what a level's lanes
    // tell one another a half needs what one lane is told in the five steps, of which its lane d keeps that of step d.
    const i64 tiles = t + lane_index() / 16;
    A kept[LEVELS];
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
      Lanes<Op, 32, A> lanes;
      lanes.up(value(l), lane_index());
#pragma unroll
      for (int d = 0; d < 5; d++) {
        A told = shuffle_from(lanes.sibling[d], (int)(tiles >> 5 * l & 31));
        if (d == 0 || (int)lane_index() % 16 == d)
          kept[l] = told;
      }
    }
    A prefix = start;
#pragma unroll
    for (int l = LEVELS - 1; l >= 0; l--)
#pragma unroll
      for (int d = 4; d >= 0; d--) {
        A told = shuffle_from(kept[l], (int)(lane_index() & 16) + d);
        if (tiles >> (5 * l + d) & 1)
          prefix = Op::combine(prefix, told);
      }
    carry = shuffle_from(prefix, 0);
    end = whole ? Op::combine(start, total) : shuffle_from(prefix, 16);
  }
};

// A block that takes a tile by a turn, and ends: what its threads tell one another of it.
template <class A> struct TileEnds {
  Turn turn;
  A carry, end;
};
// All threads call these two, of rows of `count` tiles; without a turn, in whose place is the block's number, where a
// row is one.
template <class A> RS_DEVICE Turn take_tile(void *workspace, u32 count, TileEnds<A> &shared) {
  if (count <= 1)
    return {block_index(), 0};
  if (thread_index() == 0)
    shared.turn = take_turn(static_cast<TurnState *>(workspace), block_count());
  block_barrier();
  return shared.turn;
}
// The prefixes before a tile and through it, given its total, which a warp knows.
template <class Op, u32 MOST, class A>
RS_DEVICE void find_ends(void *workspace, u32 row, u32 tile, u32 count, A mine, A start, TileEnds<A> &shared, A &carry,
                         A &end) {
  using Tiles = Ahead<Op, MOST, A>;
  if (alike(thread_index() < 32)) {
    Node<A> *nodes = reinterpret_cast<Node<A> *>(static_cast<TurnState *>(workspace) + 1);
    Tiles ahead{nodes + row * Tiles::nodes_of(count), shared.turn.run, count};
    ahead.look(tile, mine, start, carry, end);
    if (thread_index() == 0) {
      shared.carry = carry;
      shared.end = end;
    }
  }
  block_barrier();
  carry = shared.carry;
  end = shared.end;
}

// The same for blocks that stay and take one tile after another: the totals of all tiles of a row, whoever has them,
// are read in their order, 256 at a time, a tile a lane and 32 of them a group; four groups that are known make a
// block, and whole blocks go into a counter. Nobody waits for more than the slowest tile before its own.
template <class Op, i64 COUNT, class A> struct Walk {
  static constexpr int GROUPS = 4, TILES = 32 * GROUPS; // of a block
  static constexpr i64 BLOCKS = (COUNT + TILES - 1) / TILES;
  static constexpr bool LARGE = sizeof(A) > 16;               // registers are few
  static constexpr int AT_ONCE = BLOCKS < 2 || LARGE ? 1 : 2; // blocks asked for before the first answer

  const Node<A> *nodes;
  u32 run;
  u32 block;       // blocks in the counter
  A start, before; // before: the prefix of all blocks in the counter
  A group[GROUPS]; // totals of the groups after these
  A value;         // of the lane's tile in the tile's own group
  typename CounterFor<false, LARGE, Op, BLOCKS, A, 1, 32>::type counter;

  RS_METHOD explicit Walk(u32 run) : run(run) {
  }
  RS_METHOD void begin(const Node<A> *of_row, A start_of_row) {
    nodes = of_row;
    block = 0;
    before = start = start_of_row;
  }
  // Until the totals of all tiles before tile t are known. t never falls.
  RS_METHOD void gather(i64 t) {
    delay();
    u32 last = (u32)(t / TILES);
    if (block == last && t % TILES == 0)
      return;
    for (;;) {
      i64 first = (i64)block * TILES + lane_index();
      Node<A> seen[AT_ONCE][GROUPS];
      bool missing;
      do {
        missing = false;
#pragma unroll
        for (int b = 0; b < AT_ONCE; b++)
#pragma unroll
          for (int g = 0; g < GROUPS; g++) { // all at once; lanes that wait for nothing take any node
            i64 tile = first + b * TILES + g * 32;
            seen[b][g] = nodes[tile < t ? tile : t - 1].look();
          }
#pragma unroll
        for (int b = 0; b < AT_ONCE; b++)
#pragma unroll
          for (int g = 0; g < GROUPS; g++)
            missing = missing || (first + b * TILES + g * 32 < t && !seen[b][g].told(run));
      } while (any_lane(missing));
      u32 from = block;
#pragma unroll
      for (int b = 0; b < AT_ONCE; b++)
        if (block == from + b) { // else the tile's own was the one before
#pragma unroll
          for (int g = 0; g < GROUPS; g++) {
            Lanes<Op, 32, A> lanes;
            group[g] = lanes.up(seen[b][g].value(), lane_index());
          }
          if (block < last) {
            add(total<Op, GROUPS>(group));
          } else {
            int own = (int)(t % TILES / 32);
#pragma unroll
            for (int g = 0; g < GROUPS; g++)
              value = either(g == own, seen[b][g].value(), value);
            return;
          }
        }
      if (block == last && t % TILES == 0)
        return;
    }
  }
  RS_METHOD void add(A all) {
    before = counter.push(block, all, start);
    block++;
  }
  RS_METHOD static A either(int which, A yes, A no) { // values: a choice of addresses would keep arrays in memory
    if constexpr (!LARGE)
      return which ? yes : no;
    typename Node<A>::Bits a, b;
    a.value = yes;
    b.value = no;
#pragma unroll
    for (int i = 0; i < Node<A>::WORDS; i++)
      a.part[i] = which ? a.part[i] : b.part[i];
    return a.value;
  }
  // The prefix of the block's first `count` groups.
  RS_METHOD A through(int count) const {
    A pair = Op::combine(group[0], group[1]), prefix = count >= 2 ? Op::combine(before, pair) : before;
    A odd = Op::combine(prefix, either(count & 2, group[2], group[0]));
    return count & 1 ? odd : prefix;
  }
  // The prefixes before tile t (carry) and through it (end), given its total, after gather(t).
  RS_METHOD void pass(i64 t, A mine, A &carry, A &end) {
    int index = (int)(t % 32), own = (int)(t % TILES / 32);
    Lanes<Op, 32, A> lanes;
    A all = lanes.up((int)lane_index() == index ? mine : value, lane_index());
    A prefix = lanes.down(through(own), lane_index());
    carry = shuffle_from(prefix, index);
    end = shuffle_from(prefix, (index + 1) % 32);
    if (index == 31) {
#pragma unroll
      for (int g = 0; g < GROUPS; g++)
        group[g] = either(g == own, all, group[g]);
      if (own == GROUPS - 1) {
        add(total<Op, GROUPS>(group));
        end = before;
      } else {
        end = through(own + 1);
      }
    }
  }
};

// The same for rows whose tiles are all in work at once: a block reads the totals of all tiles before its own in one
// batch, so that each is one hop away.
template <class Op, i64 COUNT, class A> struct OneHop {
  static constexpr int GROUPS = (int)((COUNT + 31) / 32);
  static constexpr int PATIENCE = 64; // readings, of about 0.7 us on an H200
  using Totals = Counter<Op, COUNT, A>;

  Node<A> *nodes; // of the row
  u32 run;

  // A lane has one tile of each group.
  RS_METHOD static u32 tile(int group) {
    return group * 32 + lane_index();
  }
  RS_METHOD bool waits_for(const Node<A> &seen, int group, u32 t) const {
    return tile(group) < t && !seen.told(run);
  }
  // A warp calls it for tile t; returns the totals of the t tiles before, in lane t % 32 alone. late(tile) sees to one
  // that has not come after PATIENCE readings. FORGETS: then all are read again, so that late() has their registers.
  template <bool FORGETS = false, class F> RS_METHOD Totals look(u32 t, const F &late) const {
    Node<A> seen[GROUPS] = {}; // of no run
#pragma unroll 1
    for (int readings = 1;; readings++) {
#pragma unroll
      for (int j = 0; j < GROUPS; j++)
        seen[j].look_again(nodes + lane_index() + j * 32, waits_for(seen[j], j, t));
      u32 first = t;
#pragma unroll
      for (int j = GROUPS - 1; j >= 0; j--)
        first = waits_for(seen[j], j, t) ? tile(j) : first;
      if (!any_lane(first < t))
        break;
      if (readings >= PATIENCE) {
#pragma unroll
        for (int d = 0; d < 5; d++) {
          u32 other = shuffle_xor(first, 1 << d);
          first = other < first ? other : first;
        }
        late(first);
        if constexpr (FORGETS)
#pragma unroll
          for (int j = 0; j < GROUPS; j++)
            seen[j] = Node<A>{};
      }
    }

    Totals all;
    Counter<Op, GROUPS, A> groups;
#pragma unroll
    for (int j = 0; j < GROUPS; j++) {
      Lanes<Op, 32, A> lanes;
      A total = lanes.up(tile(j) < t ? seen[j].value() : Op::neutral(), lane_index());
      if (j < (int)(t / 32))
        groups.add(j, total);
      if (j == (int)(t / 32))
#pragma unroll
        for (int d = 0; d < 5; d++)
          if (d < Totals::LEVELS)
            all.digit[d] = lanes.sibling[d];
    }
#pragma unroll
    for (int d = 5; d < Totals::LEVELS; d++)
      all.digit[d] = groups.digit[d - 5];
    return all;
  }
};
