// ring_any.cuh - regime row, from sm_90 on: the ring of ring.cuh for rows that begin anywhere
// SPDX-License-Identifier: MIT
#pragma once
#include "offset.cuh"
#include "ring.cuh"

// One input of a row, and of its elements in no whole word those that the lanes of the first warp bring: read once, and
// put where they belong as their tile comes.
template <class P, int TILE, class E> struct RowSource : RowCopies<P, TILE, E> {
  using Base = RowCopies<P, TILE, E>;
  using Index = typename Base::Index;

  Index rest_at; // the element that this lane brings, if not negative
  E rest;

  RS_METHOD RowSource(const E *first, bool there) : Base(first), rest() {
    rest_at = there ? Base::rest_at() : -1;
    if (thread_index() < 32 && rest_at >= 0)
      rest = load_element(this->low + rest_at);
  }
  RS_METHOD void put_rest(E *copy, Index tile) const {
    int at = Base::place(tile, rest_at);
    if (at >= 0)
      copy[this->shift + at] = rest;
  }
};

template <class P, class S, int STAGES, int BUFFERS> struct AnyRing {
  RS_TYPES_OF(P);
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  using Part = PartOut<P, S>;
  using Memory = RingMemory<P, S, STAGES, BUFFERS, PLACE>;
  static constexpr int TILE = S::ELEMENTS, WARP = TILE / S::WARPS;

  Memory memory;
  RowSource<P, TILE, In> in;
  RowSource<P, TILE, Mask> mask;
  int out_shift;

  RS_METHOD AnyRing(const Row<P> &row, const Memory &memory)
      : memory(memory), in(row.in, true), mask(row.mask, MASKED) {
    out_shift = Part::shift(row);
  }

  // Two signals make a tile complete: that of its bulk copies, which one thread starts ...
  RS_METHOD void fetch_words(Index t) const {
    if (t >= T::COUNT || thread_index() != 0)
      return;
    int stage = (int)(t % STAGES);
    Arrival *arrival = memory.arrival + stage;
    auto in_span = in.span(t);
    auto mask_span = mask.span(t);
    arrival_expect(arrival, in_span.count * (u32)sizeof(In) + mask_span.count * Memory::MASK_SIZE);
    in.load(memory.in(stage), t, in_span, arrival);
    if (MASKED)
      mask.load(memory.mask(stage), t, mask_span, arrival);
  }
  // ... and that of the first warp, which has the elements outside of words.
  RS_METHOD void fetch_rest(Index t) const {
    if (t >= T::COUNT || alike(thread_index() >= 32))
      return;
    int stage = (int)(t % STAGES);
    in.put_rest(memory.in(stage), t);
    if (MASKED)
      mask.put_rest(memory.mask(stage), t);
    if (t == 0)
      bulk_fence(); // a bulk copy will write over it
    else
      warp_barrier();
    if (thread_index() == 0)
      arrival_signal(memory.arrival + stage);
  }
  RS_METHOD void fetch(const Row<P> &, Index t) const {
    fetch_words(t);
    fetch_rest(t);
  }

  RS_METHOD bool load(T &tile, const Row<P> &, Index t) const {
    int stage = (int)(t % STAGES);
    arrival_wait(memory.arrival + stage, (u32)(t / STAGES));
    if (alike(!Part(t * TILE).count))
      return false;
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      int at = (int)T::place(u), low = P::reverse ? TILE - at - S::VECTOR : at;
      Vector<Mask, S::VECTOR> m{};
      if constexpr (MASKED)
        m = read_placed<Mask, S::VECTOR>(memory.mask(stage), mask.shift, low);
      tile.held[u].hold(read_placed<In, S::VECTOR>(memory.in(stage), in.shift, low), m);
    }
    return true;
  }
  // Stores the prefixes of tile t.
  RS_METHOD void store(const T &tile, const Row<P> &row, Index t, Acc carry, Acc end) const {
    Out *copy = memory.out((int)(t % BUFFERS)) + out_shift + Part::place();
    Part(t * TILE).template store<BUFFERS - 1>(tile, row, t * TILE, carry, end, copy);
  }
};

template <class P, class S, int STAGES, int BUFFERS> RS_DEVICE void scan_ring_any(const Rows<P::rank> &rows) {
  using R = AnyRing<P, S, STAGES, BUFFERS>;
  static_assert(S::WARPS > 1, "a barrier between loads and the next fetch");
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Arrival arrival[STAGES];
  Row<P> row(rows, rows.first + block_index());
  R ring(row, {memory, arrival});

  if (thread_index() == 0)
    arrivals_init(arrival, STAGES, 2);
  warp_barrier(); // racecheck takes what one thread does next for another's
#pragma unroll 1
  for (int t = 0; t < STAGES; t++)
    ring.fetch_words(t);
#pragma unroll 1
  for (int t = 0; t < STAGES; t++)
    ring.fetch_rest(t);
  block_barrier();
  run_ring<STAGES>(ring, row);
}
