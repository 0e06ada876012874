// row_ring.cuh - regime row, from sm_90 on: bulk copies bring tiles to a ring in shared memory and take results away
// SPDX-License-Identifier: MIT
//
// A block scans a row and ends. It must not go on to another row by itself: blocks that do so drift apart, and memory
// that is not swept in order is slower (32768 x 32768 f32 on an H200: 0.92 of memcpy with blocks that stay, whatever
// the ring; 0.98 with a block a row, which the hardware starts in order). A stage is free again as soon as all threads
// hold its tile in registers, so that the barrier between a tile's warps is the only one there is. Each warp stores its
// part of a tile on its own.
#pragma once
#include "row_copies.cuh"

// Shared memory: STAGES times a tile of all inputs, then BUFFERS times a tile of the outputs.
template <class P, class S, int STAGES, int BUFFERS, bool WORDS> struct RowRing {
  RS_TYPES_OF(P);
  using T = TileInRegisters<P, S>;
  using Index = typename T::Index;
  using Inputs = RowInputs<P, S::ELEMENTS, WORDS, true>;
  using Outputs = RowOutputs<P, S, WORDS, false>;
  static constexpr int TILE = S::ELEMENTS;
  // Two signals make a tile complete: that of its bulk copies, which one thread starts, and that of the first warp,
  // which has the elements outside of words.
  static constexpr u32 PARTIES = Inputs::ALL_IN_WORDS ? 1 : 2;
  static_assert(S::WARPS > 1 || T::COUNT <= STAGES, "a barrier between loads and the next fetch");

  const R &row;
  unsigned char *memory;
  Gate<STAGES> &full;
  Inputs inputs;

  RS_METHOD RowRing(const R &row, unsigned char *memory, Gate<STAGES> &full)
      : row(row), memory(memory), full(full), inputs(row) {
  }
  RS_METHOD unsigned char *stage(const RingPlace &at) const {
    return memory + at.stage * Inputs::BYTES;
  }
  // Starts the copies of a tile, if there is one.
  RS_METHOD void fetch_words(Index t) const {
    if (t >= T::COUNT || thread_index() != 0)
      return;
    RingPlace at(STAGES, t);
    auto spans = inputs.spans(t);
    full.fill(at).expect(spans.bytes());
    inputs.load(stage(at), t, spans, full.fill(at));
  }
  RS_METHOD void fetch_rest(Index t) const {
    if (PARTIES == 1 || t >= T::COUNT || alike(thread_index() >= 32))
      return;
    RingPlace at(STAGES, t);
    inputs.put_rest(stage(at), t);
    if (t == 0)
      bulk_fence(); // a bulk copy will write over it
    else
      warp_barrier();
    if (thread_index() == 0)
      full.signal(at);
  }
  // Waits for a tile, and says whether the warp has elements of it.
  RS_METHOD bool load(T &tile, Index t) const {
    RingPlace at(STAGES, t);
    Index first = t * TILE;
    full.wait(at);
    tile.params = row.params();
    if (!T::WHOLE && alike(first + T::place(0) - (Index)T::lane() * S::VECTOR >= T::LENGTH))
      return false;
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      int place = (int)T::place(u), low = P::reverse ? TILE - place - S::VECTOR : place;
      hold_inputs<P>(tile.held[u], Inputs::template read<S::VECTOR>(stage(at), inputs.shifts(), low),
                     first + place == 0);
    }
    if constexpr (FurtherOf<P>::ANY)
      bulk_fence(); // what no total depends on may be on its way still when others are past the barrier
    return true;
  }
  // Stores the prefixes of tile t.
  RS_METHOD void store(const T &tile, Index t, Acc carry, Acc end) const {
    unsigned char *buffer = memory + STAGES * Inputs::BYTES + (int)(t % BUFFERS) * Outputs::BYTES;
    Outputs{row}.template store<BUFFERS - 1>(tile, t * TILE, carry, end, buffer);
  }
};

// WORDS: rows begin on words of 16 bytes.
template <class P, class S, int STAGES, int BUFFERS, bool WORDS>
RS_DEVICE void scan_row_ring(const Rows<P::rank> &rows) {
  using Ring = RowRing<P, S, STAGES, BUFFERS, WORDS>;
  using T = typename Ring::T;
  using Acc = typename P::Acc;
  using Index = typename T::Index;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Gate<STAGES> full;
  RS_SHARED Acc between[2][S::WARPS];
  Row<P> row(rows, rows.first + block_index());
  Ring ring(row, memory, full);
  if (thread_index() == 0)
    full.init(Ring::PARTIES);
  warp_barrier(); // racecheck takes what one thread does next for another's
#pragma unroll 1
  for (int t = 0; t < STAGES; t++)
    ring.fetch_words(t);
#pragma unroll 1
  for (int t = 0; t < STAGES; t++)
    ring.fetch_rest(t);
  block_barrier();

  Counter<typename P::Op, T::COUNT, Acc> counter;
  Acc start = row.start(), carry = start;
#pragma unroll 1
  for (Index t = 0; t < T::COUNT; t++) {
    T tile;
    bool some = ring.load(tile, t);
    auto loaded = [&] {
      ring.fetch_words(t + STAGES);
      ring.fetch_rest(t + STAGES);
    };
    Acc end = counter.push(t, tile.up(between[t & 1], loaded, some), start);
    ring.store(tile, t, carry, end);
    carry = end;
  }
  bulk_wait<0>();
}
