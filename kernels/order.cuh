// order.cuh - the order of combination, level by level: elements of a thread, lanes of a warp, steps in time
// SPDX-License-Identifier: MIT
//
// On the way up each level gives the total of an aligned block; on the way down it turns the prefix before the block
// (its carry) into the prefixes before its parts, by a left fold over the aligned blocks between. N, LANES: powers of
// two.
#pragma once
#include "ops.cuh"

RS_DEVICE constexpr int log2_floor(i64 n) {
  return n <= 1 ? 0 : 1 + log2_floor(n / 2);
}

// Elements of one thread.
template <class Op, int N, class A> RS_DEVICE A total(const A *x) {
  if constexpr (N == 1)
    return x[0];
  else
    return Op::combine(total<Op, N / 2>(x), total<Op, N / 2>(x + N / 2));
}
template <class Op, int N, class A> RS_DEVICE void carries(A carry, const A *x, A *before) {
  if constexpr (N == 1) {
    before[0] = carry;
  } else if constexpr (is_exact<Op>) {
    before[0] = carry;
#pragma unroll
    for (int j = 1; j < N; j++)
      before[j] = Op::combine(before[j - 1], x[j - 1]);
  } else {
    carries<Op, N / 2>(carry, x, before);
    carries<Op, N / 2>(Op::combine(carry, total<Op, N / 2>(x)), x + N / 2, before + N / 2);
  }
}

// One value a lane. up() leaves in sibling[d] the total of the other half of the lane's block of 2^(d+1) lanes, so that
// down() needs no exchange; `index` is the lane's number inside the LANES.
template <class Op, int LANES, class A> struct Lanes {
  static constexpr int LEVELS = log2_floor(LANES);
  A sibling[LEVELS > 0 ? LEVELS : 1];

  RS_METHOD A up(A mine, u32 index) {
#pragma unroll
    for (int d = 0; d < LEVELS; d++) {
      A other = sibling[d] = shuffle_xor(mine, 1 << d);
      if constexpr (HasJoined<Op>::value)
        mine = Op::joined(mine, other, index >> d & 1);
      else
        mine = Op::commutative || !(index >> d & 1) ? Op::combine(mine, other) : Op::combine(other, mine);
    }
    return mine;
  }
  RS_METHOD A down(A carry, u32 index) const {
#pragma unroll
    for (int d = LEVELS - 1; d >= 0; d--)
      if (index >> d & 1)
        carry = Op::combine(carry, sibling[d]);
    return carry;
  }
};

// N blocks one after another, of each of which every lane of a warp has one value, x[block]: the total of all, known to
// all lanes. Two lanes that join their values of N blocks each go on with half of the blocks, so that a block takes one
// exchange and not five. x is used up. N: at most 32.
template <class Op, int N, int LEVEL = 0, class A> RS_DEVICE A total_of_blocks(A *x) {
  bool upper = lane_index() >> LEVEL & 1;
  if constexpr (N == 1) {
    A mine = x[0];
#pragma unroll
    for (int d = 0; d < 5; d++) { // lanes that are left; then blocks, of which lane bit LEVEL - 1 is the lowest
      int level = d < 5 - LEVEL ? LEVEL + d : 4 - d;
      A other = shuffle_xor(mine, 1 << level);
      mine = Op::commutative || !(lane_index() >> level & 1) ? Op::combine(mine, other) : Op::combine(other, mine);
    }
    return mine;
  } else {
#pragma unroll
    for (int u = 0; u < N / 2; u++) {
      A mine = upper ? x[u + N / 2] : x[u], other = shuffle_xor(upper ? x[u] : x[u + N / 2], 1 << LEVEL);
      x[u] = Op::commutative || !upper ? Op::combine(mine, other) : Op::combine(other, mine);
    }
    return total_of_blocks<Op, N / 2, LEVEL + 1>(x);
  }
}

// Blocks of one size that come one after another, at most COUNT of them: a binary counter whose digit d holds the total
// of 2^d blocks.
template <class Op, i64 COUNT, class A> struct Counter {
  static constexpr int LEVELS = log2_floor(COUNT) + 1;
  A digit[LEVELS];

  RS_METHOD Counter() {
#pragma unroll
    for (int d = 0; d < LEVELS; d++)
      digit[d] = Op::neutral();
  }
  // Adds block number k, whose total is `mine`.
  template <class Index> RS_METHOD void add(Index k, A mine) {
    bool open = true; // all digits below were ones
#pragma unroll
    for (int d = 0; d < LEVELS; d++) {
      A other = digit[d];
      if (open) {
        digit[d] = mine;
        mine = Op::combine(other, mine);
      }
      open = open && (k >> d & 1);
    }
  }
  // The prefix of the k blocks added so far, after `start`.
  template <class Index> RS_METHOD A prefix(Index k, A start) const {
#pragma unroll
    for (int d = LEVELS - 1; d >= 0; d--)
      if (k >> d & 1)
        start = Op::combine(start, digit[d]);
    return start;
  }
  template <class Index> RS_METHOD A push(Index k, A mine, A start) {
    add(k, mine);
    return prefix(k + 1, start);
  }
};

// The same with its digits in shared memory, of each of GROUPS groups of LANES lanes, all of which count the same.
template <class Op, i64 COUNT, class A, int GROUPS, int LANES = 32> struct SharedCounter {
  static constexpr int LEVELS = log2_floor(COUNT) + 1;

  RS_METHOD static A *digits() {
    RS_SHARED A digit[GROUPS][LEVELS];
    return digit[GROUPS > 1 ? thread_index() / LANES : 0];
  }
  template <class Index> RS_METHOD A push(Index k, A mine, A start) {
    A *digit = digits();
    int d = 0;
#pragma unroll 1
    for (; k >> d & 1; d++)
      mine = Op::combine(digit[d], mine);
    warp_barrier(); // all lanes have read
    if (lane_index() % LANES == 0)
      digit[d] = mine;
    warp_barrier();
#pragma unroll 1
    for (d = LEVELS - 1; d >= 0; d--)
      if ((k + 1) >> d & 1)
        start = Op::combine(start, digit[d]);
    return start;
  }
};

// The same of so many blocks that all digits would not fit into registers: those which seldom change lie in shared
// memory, for each of WARPS warps.
template <class Op, i64 COUNT, class A, int WARPS> struct LongCounter {
  static constexpr int LOW = 8, BLOCK = 1 << LOW;
  Counter<Op, BLOCK - 1, A> low;
  SharedCounter<Op, (COUNT >> LOW), A, WARPS> upper;
  A before; // the prefix of all blocks of BLOCK

  template <class Index> RS_METHOD A push(Index k, A mine, A start) {
    Index i = k % BLOCK;
    if (k == 0)
      before = start;
    if (i < BLOCK - 1) {
      low.add(i, mine);
      return low.prefix(i + 1, before);
    }
#pragma unroll
    for (int d = 0; d < LOW; d++)
      mine = Op::combine(low.digit[d], mine);
    before = upper.push(k / BLOCK, mine, start);
    return before;
  }
};

// What counts a row's tiles in a group of threads. SHARES: registers are for something else.
template <bool LONG, bool SHARES, class Op, i64 COUNT, class A, int WARPS, int LANES> struct CounterFor {
  using type = Counter<Op, COUNT, A>;
};
template <class Op, i64 COUNT, class A, int WARPS, int LANES>
struct CounterFor<true, false, Op, COUNT, A, WARPS, LANES> {
  using type = LongCounter<Op, COUNT, A, WARPS>;
};
template <bool LONG, class Op, i64 COUNT, class A, int WARPS, int LANES>
struct CounterFor<LONG, true, Op, COUNT, A, WARPS, LANES> {
  using type = SharedCounter<Op, COUNT, A, WARPS * 32 / LANES, LANES>;
};
template <class Op, i64 COUNT, class A, int WARPS, int LANES, bool SHARES = false>
using TileCounter =
    typename CounterFor<(COUNT > 256 && LANES == 32), (SHARES && COUNT > 1), Op, COUNT, A, WARPS, LANES>::type;
