// totals.cuh - totals of rows of 2^k elements, without results: what parts of longer rows tell one another
// SPDX-License-Identifier: MIT
//
// Folds start from no value at all, so that a total is that of an aligned block, bit for bit.
#pragma once
#include "tile.cuh"

// The total of so many blocks, a power of two, that a counter has.
template <class C, class Index> RS_DEVICE auto whole_of(const C &counter, Index blocks) {
  auto all = counter.digit[0];
#pragma unroll
  for (int d = 1; d < C::LEVELS; d++)
    all = blocks >> d & 1 ? counter.digit[d] : all;
  return all;
}

// The same problem, whose rows are whole units.
template <class P, i64 UNIT> struct InUnits : P {};
template <class P, i64 UNIT> struct Length<InUnits<P, UNIT>> : Length<P> {
  RS_METHOD static constexpr bool multiple_of(i64 unit) {
    return UNIT % unit == 0;
  }
};

// A block a row, of which each warp has a part of its own, tile by tile. A warp's tiles are combined as blocks that lie
// across its lanes (total_of_blocks), which takes an exchange a chunk.
template <class P, class S, int THREADS, bool VECTORED> RS_DEVICE void total_of_row(const Row<P> &row) {
  using OfWarp = Shape<1, S::CHUNKS, 32, S::VECTOR>;
  using T = Tile<P, OfWarp, VECTORED, THREADS>;
  using Acc = typename P::Acc;
  using Op = typename P::Op;
  using Index = typename T::Index;
  static_assert(!T::FETCHES, "no further arrays");
  static_assert(T::WHOLE && S::WARPS * 32 == THREADS, "each warp has whole tiles");
  RS_SHARED Acc between[S::WARPS];
  Counter<Op, T::COUNT / S::WARPS, Acc> counter;
  const Index tiles = T::count(row.rows) / S::WARPS, first = thread_index() / 32 * tiles;
#pragma unroll 1
  for (Index t = 0; t < tiles; t++) {
    T tile;
    tile.load(row, (first + t) * OfWarp::ELEMENTS);
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++)
      tile.chunk[u] = tile.held[u].total(tile.params);
    counter.add(t, T::V::outer(total_of_blocks<typename T::Inner, S::CHUNKS>(tile.chunk)));
  }
  if (T::lane() == 0)
    between[thread_index() / 32] = whole_of(counter, tiles);
  block_barrier();
  if (thread_index() < 32) {
    Acc all = Lanes<Op, S::WARPS, Acc>().up(between[T::lane() % S::WARPS], T::lane());
    if (T::lane() == 0)
      row.keep(all);
  }
}

// Whether vectors of its elements are neighbours in memory, on multiples of their size.
template <int VECTOR, class T> RS_DEVICE bool has_vectors(const T *first, i64 step, bool reverse) {
  const T *low = reverse ? first - (VECTOR - 1) : first;
  return step == (reverse ? -1 : 1) && reinterpret_cast<u64>(low) % word_bytes(VECTOR * (int)sizeof(T)) == 0;
}

template <class Of, class S, int THREADS> RS_DEVICE void total_rows(const Rows<Of::rank> &rows) {
  using P = InUnits<Of, S::ELEMENTS>;
  for (i64 number = block_index(); number < rows.count; number += block_count()) {
    Row<P> row(rows, number);
    bool vectors = has_vectors<S::VECTOR>(row.in, row.step[RS_IN], P::reverse) &&
                   (P::mask == NO_MASK || has_vectors<S::VECTOR>(row.mask, row.step[RS_MASK], P::reverse));
    if (alike(vectors))
      total_of_row<P, S, THREADS, true>(row);
    else
      total_of_row<P, S, THREADS, false>(row);
    block_barrier();
  }
}

// A thread a row, BATCH elements at a time: rows that lie anyhow, or are short.
template <class P, int THREADS, int BATCH> RS_DEVICE void total_each(const Rows<P::rank> &rows) {
  using Acc = typename P::Acc;
  using Op = typename P::Op;
  const i64 length = Length<P>::of(rows);
  for (i64 number = (i64)block_index() * THREADS + thread_index(); number < rows.count;
       number += (i64)block_count() * THREADS) {
    Row<P> row(rows, number);
    Counter<Op, (Length<P>::most() + BATCH - 1) / BATCH, Acc> counter;
#pragma unroll 1
    for (i64 i = 0; i < length; i += BATCH) {
      Acc x[BATCH];
#pragma unroll
      for (int j = 0; j < BATCH; j++)
        x[j] = i + j < length ? row.value(row.load_one((typename Row<P>::Index)(i + j))) : Op::neutral();
      counter.add((u32)(i / BATCH), total<Op, BATCH>(x));
    }
    row.keep(whole_of(counter, (u32)((length + BATCH - 1) / BATCH)));
  }
}
