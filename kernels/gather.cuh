// gather.cuh - regime row, elements at any distance from one another: a block gathers one tile while it scans another
// SPDX-License-Identifier: MIT
//
// Neighbouring threads ask for neighbouring elements, so that no sector is asked for twice, one by one and past the
// registers, so that a whole tile is on its way. In shared memory elements are neighbours in the order of the scan, and
// a thread has a vector of them. Results leave as vectors where they are neighbours too, else as elements came.
#pragma once
#include "tile.cuh"

template <class P, class S> struct Gather {
  using T = Tile<P, S, true>;
  RS_TYPES_OF(P);
  using Index = typename T::Index;
  static constexpr int TILE = S::ELEMENTS, THREADS = 32 * S::WARPS;
  static constexpr int OUT_BYTES = word_bytes(S::VECTOR * (int)sizeof(Out));
  static_assert(!MASKED && sizeof(In) >= 4, "what can be asked for one by one");

  const Row<P> &row;
  In *copies; // of tiles by turns
  Out *results;
  bool vectors; // results leave so

  RS_METHOD Gather(const Row<P> &row, unsigned char *memory) : row(row) {
    copies = reinterpret_cast<In *>(memory);
    results = reinterpret_cast<Out *>(copies + 2 * TILE);
    Out *edge = P::reverse ? row.out + 1 : row.out;
    vectors = row.step[RS_OUT] == (P::reverse ? -1 : 1) && reinterpret_cast<u64>(edge) % OUT_BYTES == 0;
  }
  RS_METHOD In *copy(Index t) const {
    return copies + (int)(t & 1) * TILE;
  }
  // f(place in a tile), for the elements that there are of tile t, one a thread.
  template <class F> RS_METHOD static void each(Index t, const F &f) {
#pragma unroll
    for (int u = 0; u < TILE / THREADS; u++) {
      int at = u * THREADS + (int)thread_index();
      if (T::WHOLE || t * TILE + at < T::LENGTH)
        f(at);
    }
  }
  // Until fetch_wait() and a barrier.
  RS_METHOD void bring(Index t) const {
    const In *from = row.in + (i64)t * TILE * row.step[RS_IN];
    In *to = copy(t);
    each(t, [&](int at) { fetch(to + at, from + at * row.step[RS_IN]); });
  }
  // What lies past the row is never part of a prefix that is stored.
  RS_METHOD void load(T &tile, Index t) const {
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      int at = (int)T::place(u);
      Vector<In, S::VECTOR> x{};
      if (T::WHOLE || t * TILE + at < T::LENGTH)
        x = *reinterpret_cast<const Vector<In, S::VECTOR> *>(copy(t) + at);
      tile.held[u].clear();
#pragma unroll
      for (int j = 0; j < S::VECTOR; j++)
        tile.held[u].set(j, Row<P>::hold(x.at[j], {}));
    }
  }
  RS_METHOD void store(const T &tile, Index t, Acc carry, Acc end) const {
    Index first = t * TILE;
    tile.down(row, first, carry, end, [&](int, Index i, const Acc *value) {
      if (vectors)
        T::store(row, i, value);
      else
        share_vector<Out, S::VECTOR>(results + (i - first), Row<P>::template narrow<S::VECTOR, false>(value));
    });
    if (vectors)
      return;
    block_barrier();
    Out *to = row.out + (i64)first * row.step[RS_OUT];
    each(t, [&](int at) { store_element(to + at * row.step[RS_OUT], results[at]); });
  }
};

template <class P, class S> RS_DEVICE void scan_gather(const Rows<P::rank> &rows) {
  using G = Gather<P, S>;
  using T = typename G::T;
  using Acc = typename P::Acc;
  using Index = typename G::Index;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Acc between[2][S::WARPS];
  Row<P> row(rows, rows.first + block_index());
  G gather(row, memory);
  gather.bring(0);
  TileCounter<typename P::Op, T::COUNT, Acc, S::WARPS, S::LANES> counter;
  Acc start = row.start(), carry = start;
#pragma unroll 1
  for (Index t = 0; t < T::COUNT; t++) {
    fetch_wait();
    block_barrier();
    if (t + 1 < T::COUNT)
      gather.bring(t + 1);
    T tile;
    gather.load(tile, t);
    Acc end = counter.push(t, tile.up(between[t & 1]), start);
    gather.store(tile, t, carry, end);
    carry = end;
  }
}
