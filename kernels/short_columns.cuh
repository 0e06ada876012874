// short_columns.cuh - regime column, short columns that lie one run in memory: a block scans a slab of outers and ends
// SPDX-License-Identifier: MIT
//
// Steps follow one another without a gap, and so do outers, in input, output and mask: whatever the number of columns,
// a slab is one run, which bulk copies bring to shared memory and take away. A thread has a segment of a column, STEPS
// consecutive steps of it. Threads stand side by side along a step, then from outer to outer, then along the length;
// the segments of a column join their totals in shared memory. src/family/short_cut.c says how many outers make a slab.
#pragma once
#include "cuts.h"
#include "order.cuh"
#include "piece.cuh"

template <class P, int THREADS, int STEPS> struct ShortColumns {
  RS_TYPES_OF(P);
  static constexpr int LENGTH = (int)P::length, SEGMENTS = (LENGTH + STEPS - 1) / STEPS;
  static constexpr int LEVELS = log2_floor(SEGMENTS) + 1;
  static constexpr int TAIL = (LENGTH - 1) % STEPS + 1; // steps of the last segment
  static constexpr bool WHOLE = TAIL == STEPS;
  using Memory = Piece<P, false, sizeof(In) == sizeof(Out)>;

  const Rows<P::rank> &all;
  int columns;
  i64 first; // column, of all outers
  int count; // columns, of all outers of this slab
  Memory memory;
  Acc *totals; // by segment, then column; after up() of the largest aligned block of segments that ends there

  RS_METHOD static int count_of(const Rows<P::rank> &all, const ShortCut &cut, i64 first) {
    i64 left = all.count - first;
    int most = cut.columns * cut.outers;
    return left < most ? (int)left : most;
  }
  RS_METHOD ShortColumns(const Rows<P::rank> &all, const ShortCut &cut, unsigned char *shared)
      : all(all), columns(cut.columns), first((i64)block_index() * cut.columns * cut.outers),
        count(count_of(all, cut, first)),
        memory(all, first * LENGTH, count * LENGTH, cut.columns * cut.outers * LENGTH, shared),
        totals(reinterpret_cast<Acc *>(shared + Memory::bytes(cut.columns * cut.outers * LENGTH))) {
  }

  // f(segment, column), for those that the thread has, of `segments` of each column.
  template <class F> RS_METHOD void each_unit(int segments, const F &f) const {
    u32 wide = (u32)count;
#pragma unroll 1
    for (u32 u = thread_index(); u < wide * (u32)segments; u += THREADS) {
      u32 segment = SEGMENTS > 1 ? u / wide : 0;
      f((int)segment, (int)(u - segment * wide));
    }
  }
  // Of a segment's steps, those that there are; in the order of the scan.
  RS_METHOD static bool has(int segment, int j) {
    return WHOLE || j < TAIL || (SEGMENTS > 1 && segment < SEGMENTS - 1);
  }
  // Where a segment's first step lies in the slab, and from one step to the next.
  RS_METHOD int place(int segment, int column) const {
    int i = segment * STEPS, outer = column / columns;
    return column + (outer * (LENGTH - 1) + (P::reverse ? LENGTH - 1 - i : i)) * columns;
  }
  RS_METHOD int pitch() const {
    return P::reverse ? -columns : columns;
  }
  RS_METHOD void read(int segment, int low, Acc *x) const {
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
      x[j] = Op::neutral(); // what lies past the column is never part of a prefix that counts
      if (has(segment, j))
        memory.template read<1>(low + j * pitch(), x + j);
    }
  }

  RS_METHOD void up() const {
    each_unit(SEGMENTS, [&](int segment, int column) {
      Acc x[STEPS];
      read(segment, place(segment, column), x);
      totals[segment * count + column] = total<Op, STEPS>(x);
    });
#pragma unroll 1
    for (int d = 0; 2 << d <= SEGMENTS; d++) {
      block_barrier();
      each_unit(SEGMENTS >> (d + 1), [&](int pair, int column) {
        int end = (((pair + 1) << (d + 1)) - 1) * count + column;
        totals[end] = Op::combine(totals[end - (count << d)], totals[end]);
      });
    }
    block_barrier();
  }
  // The prefix of a column's first segments.
  RS_METHOD Acc fold(Acc start, int segments, int column) const {
#pragma unroll
    for (int d = LEVELS - 1; d >= 0; d--)
      if (segments >> d & 1)
        start = Op::combine(start, totals[((segments >> d << d) - 1) * count + column]);
    return start;
  }

  RS_METHOD void down() const {
    each_unit(SEGMENTS, [&](int segment, int column) {
      Extras<P> extras = Extras<P>::of(all, first + column);
      int low = place(segment, column);
      Acc before = extras.start, after = Op::neutral();
      if constexpr (SEGMENTS > 1) {
        before = fold(extras.start, segment, column);
        if (has(segment, STEPS - 1))
          after = fold(extras.start, segment + 1, column);
      }
      Acc x[STEPS], prefix[STEPS + 1]; // prefix[j]: of all steps before step j
      read(segment, low, x);
      carries<Op, STEPS>(before, x, prefix);
      prefix[STEPS] = SEGMENTS > 1 ? after : Op::combine(before, total<Op, STEPS>(x));
      const Acc *result = results<P, STEPS>(all, prefix, segment * STEPS, all.has(RS_TOTALS), extras);
#pragma unroll
      for (int j = 0; j < STEPS; j++)
        if (has(segment, j))
          memory.template write<1>(low + j * pitch(), result + j);
    });
  }
};

template <class P, int THREADS, int STEPS>
RS_DEVICE void scan_short_columns(const Rows<P::rank> &rows, const ShortCut &cut) {
  using Slab = ShortColumns<P, THREADS, STEPS>;
  RS_DYNAMIC_SHARED(shared);
  RS_SHARED Gate<1> there;
  Slab slab(rows, cut, shared);
  slab.memory.template load<THREADS>(there).wait();
  if constexpr (Slab::SEGMENTS > 1)
    slab.up();
  slab.down();
  slab.memory.template store<THREADS>();
}
