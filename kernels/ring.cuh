// ring.cuh - regime row, from sm_90 on: bulk copies bring tiles to a ring in shared memory and take results away
// SPDX-License-Identifier: MIT
//
// A block scans a row and ends. It must not go on to another row by itself: blocks that do so drift apart, and memory
// that is not swept in order is slower (32768 x 32768 f32 on an H200: 0.92 of memcpy with blocks that stay, whatever
// the ring; 0.98 with a block a row, which the hardware starts in order). A stage is free again as soon as all threads
// hold its tile in registers, so that the barrier between a tile's warps is the only one there is. Each warp stores its
// part of a tile on its own.
#pragma once
#include "tile.cuh"

// Shared memory: STAGES times a tile of the input, and of the mask if there is one; then BUFFERS times a tile of the
// output. SLACK: bytes that each has more.
template <class P, class S, int STAGES, int BUFFERS, int SLACK> struct RingMemory {
  RS_TYPES_OF(P);
  static constexpr int MASK_SIZE = MASKED ? (int)sizeof(Mask) : 0;
  static constexpr int IN_BYTES = S::ELEMENTS * (int)sizeof(In) + SLACK;
  static constexpr int STAGE_BYTES = IN_BYTES + (MASKED ? S::ELEMENTS * MASK_SIZE + SLACK : 0);
  static constexpr int BUFFER_BYTES = S::ELEMENTS * (int)sizeof(Out) + SLACK;

  unsigned char *memory;
  Arrival *arrival; // one a stage

  RS_METHOD In *in(int stage) const {
    return reinterpret_cast<In *>(memory + stage * STAGE_BYTES);
  }
  RS_METHOD Mask *mask(int stage) const {
    return reinterpret_cast<Mask *>(memory + stage * STAGE_BYTES + IN_BYTES);
  }
  RS_METHOD Out *out(int buffer) const {
    return reinterpret_cast<Out *>(memory + STAGES * STAGE_BYTES + buffer * BUFFER_BYTES);
  }
};

template <class P, class S, int STAGES, int BUFFERS> struct Ring {
  RS_TYPES_OF(P);
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  using Memory = RingMemory<P, S, STAGES, BUFFERS, 0>;
  static constexpr int TILE = S::ELEMENTS, WARP = TILE / S::WARPS, MASK_SIZE = Memory::MASK_SIZE;
  // A copy takes a multiple of 16 bytes of each array; the few elements left of a last tile are loaded without it.
  static constexpr int UNIT = 16 / (MASKED && MASK_SIZE < (int)sizeof(In) ? MASK_SIZE : (int)sizeof(In));

  Memory memory;

  RS_METHOD static int copied(Index tile) {
    Index left = T::LENGTH - tile * TILE;
    return left >= TILE ? TILE : (int)left / UNIT * UNIT;
  }
  // Starts the copies of a tile, if there is one.
  RS_METHOD void fetch(const Row<P> &row, Index tile) const {
    if (tile >= T::COUNT || thread_index() != 0)
      return;
    int stage = (int)(tile % STAGES), count = copied(tile);
    i64 at = P::reverse ? -((i64)tile * TILE + count - 1) : (i64)tile * TILE;
    Arrival *arrival = memory.arrival + stage;
    arrival_expect(arrival, count * ((u32)sizeof(In) + MASK_SIZE));
    if (count == 0)
      return;
    bulk_load(memory.in(stage), row.in + at, count * (u32)sizeof(In), arrival);
    if (MASKED)
      bulk_load(memory.mask(stage), row.mask + at, count * MASK_SIZE, arrival);
  }
  // Waits for a tile, and says whether the warp has elements of it.
  RS_METHOD bool load(T &tile, const Row<P> &row, Index t) const {
    int stage = (int)(t % STAGES);
    arrival_wait(memory.arrival + stage, (u32)(t / STAGES));
    tile.load_copy(row, t * TILE, memory.in(stage), memory.mask(stage), copied(t));
    return true;
  }

  // Stores the prefixes of tile t: a warp's part through its part of a buffer if it is whole, else straight.
  RS_METHOD void store(const T &tile, const Row<P> &row, Index t, Acc carry, Acc end) const {
    Index part = t * TILE + (Index)T::warp() * WARP;
    bool whole = T::WHOLE || part + WARP <= T::LENGTH;
    Out *buffer = memory.out((int)(t % BUFFERS)) + T::warp() * WARP;
    bulk_wait<BUFFERS - 1>();
    tile.down(row, t * TILE, carry, end, [&](int, Index i, const Acc *value) {
      int at = P::reverse ? WARP - (int)(i - part) - S::VECTOR : (int)(i - part);
      if (whole)
        share_vector<Out, S::VECTOR>(buffer + at, Row<P>::template narrow<S::VECTOR>(value));
      else
        T::store(row, i, value);
    });
    bulk_fence();
    if (whole && T::lane() == 0)
      bulk_store(row.out + (P::reverse ? -(i64)(part + WARP - 1) : (i64)part), buffer, WARP * (u32)sizeof(Out));
  }
};

// A row through a ring whose first STAGES tiles are on their way.
template <int STAGES, class R, class P> RS_DEVICE void run_ring(const R &ring, const Row<P> &row) {
  using T = typename R::T;
  using Acc = typename P::Acc;
  using Index = typename T::Index;
  RS_SHARED Acc between[2][R::TILE / R::WARP];
  Counter<typename P::Op, T::COUNT, Acc> counter;
  Acc start = row.start(), carry = start;
#pragma unroll 1
  for (Index t = 0; t < T::COUNT; t++) {
    T tile;
    bool some = ring.load(tile, row, t);
    Acc mine = tile.up(
        between[t & 1], [&] { ring.fetch(row, t + STAGES); }, some);
    Acc end = counter.push(t, mine, start);
    ring.store(tile, row, t, carry, end);
    carry = end;
  }
  bulk_wait<0>();
}

template <class P, class S, int STAGES, int BUFFERS> RS_DEVICE void scan_ring(const Rows<P::rank> &rows) {
  using R = Ring<P, S, STAGES, BUFFERS>;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Arrival arrival[STAGES];
  R ring{{memory, arrival}};
  Row<P> row(rows, rows.first + block_index());

  if (thread_index() == 0)
    arrivals_init(arrival, STAGES);
  block_barrier();
  for (int t = 0; t < STAGES; t++)
    ring.fetch(row, t);
  run_ring<STAGES>(ring, row);
}
