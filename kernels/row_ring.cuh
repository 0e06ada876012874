// row_ring.cuh - regime row, from sm_90 on: bulk copies bring tiles to a ring in shared memory and take results away
// SPDX-License-Identifier: MIT
//
// A block scans a row and ends. It must not go on to another row by itself: blocks that do so drift apart, and memory
// that is not swept in order is slower (32768 x 32768 f32 on an H200: 0.92 of memcpy with blocks that stay, whatever
// the ring; 0.98 with a block a row, which the hardware starts in order). A stage is free again as soon as all threads
// hold its tile in registers, so that the barrier between a tile's warps is the only one there is. Each warp stores its
// part of a tile on its own.
#pragma once
#include "offset.cuh"

// Shared memory: STAGES times a tile of the input, and of the mask if there is one; then BUFFERS times a tile of the
// output. SLACK: bytes that each has more.
template <class P, class S, int STAGES, int BUFFERS, int SLACK> struct RingMemory {
  RS_TYPES_OF(P);
  static constexpr int MASK_SIZE = MASKED ? (int)sizeof(Mask) : 0;
  static constexpr int IN_BYTES = S::ELEMENTS * (int)sizeof(In) + SLACK;
  static constexpr int STAGE_BYTES = IN_BYTES + (MASKED ? S::ELEMENTS * MASK_SIZE + SLACK : 0);
  static constexpr int BUFFER_BYTES = S::ELEMENTS * (int)sizeof(Out) + SLACK;

  unsigned char *memory;
  Gate<STAGES> &full;

  template <class Index> RS_METHOD static RingPlace place(Index tile) {
    return RingPlace(STAGES, tile);
  }
  RS_METHOD In *in(const RingPlace &at) const {
    return reinterpret_cast<In *>(memory + at.stage * STAGE_BYTES);
  }
  RS_METHOD Mask *mask(const RingPlace &at) const {
    return reinterpret_cast<Mask *>(memory + at.stage * STAGE_BYTES + IN_BYTES);
  }
  template <class Index> RS_METHOD Out *out(Index tile) const {
    return reinterpret_cast<Out *>(memory + STAGES * STAGE_BYTES + (int)(tile % BUFFERS) * BUFFER_BYTES);
  }
};

// Of a row that begins on a word of 16 bytes.
template <class P, class S, int STAGES, int BUFFERS> struct RingInWords {
  RS_TYPES_OF(P);
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  using Memory = RingMemory<P, S, STAGES, BUFFERS, 0>;
  static constexpr int TILE = S::ELEMENTS, WARP = TILE / S::WARPS, MASK_SIZE = Memory::MASK_SIZE;
  static constexpr u32 PARTIES = 1;
  // A copy takes a multiple of 16 bytes of each array; the few elements left of a last tile are loaded without it.
  static constexpr int UNIT = MASKED && MASK_SIZE < (int)sizeof(In) ? UNIT_OF<Mask> : UNIT_OF<In>;

  const Row<P> &row;
  Memory memory;

  RS_METHOD RingInWords(const Row<P> &row, const Memory &memory) : row(row), memory(memory) {
  }
  RS_METHOD static int copied(Index tile) {
    Index left = T::LENGTH - tile * TILE;
    return left >= TILE ? TILE : (int)left / UNIT * UNIT;
  }
  // Starts the copies of a tile, if there is one.
  RS_METHOD void fetch_words(Index tile) const {
    if (tile >= T::COUNT || thread_index() != 0)
      return;
    RingPlace place = memory.place(tile);
    int count = copied(tile);
    i64 at = P::reverse ? -((i64)tile * TILE + count - 1) : (i64)tile * TILE;
    Filling stage = memory.full.fill(place);
    stage.expect(count * ((u32)sizeof(In) + MASK_SIZE));
    stage.load(memory.in(place), row.in + at, count * (u32)sizeof(In));
    if (MASKED)
      stage.load(memory.mask(place), row.mask + at, count * MASK_SIZE);
  }
  RS_METHOD void fetch_rest(Index) const {
  }
  // Waits for a tile, and says whether the warp has elements of it.
  RS_METHOD bool load(T &tile, Index t) const {
    RingPlace place = memory.place(t);
    memory.full.wait(place);
    tile.load_copy(row, t * TILE, memory.in(place), memory.mask(place), copied(t));
    return true;
  }

  // Stores the prefixes of tile t: a warp's part through its part of a buffer if it is whole, else straight.
  RS_METHOD void store(const T &tile, Index t, Acc carry, Acc end) const {
    Index part = t * TILE + (Index)T::warp() * WARP;
    bool whole = T::WHOLE || part + WARP <= T::LENGTH;
    Out *buffer = memory.out(t) + T::warp() * WARP;
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

// One input of a row that begins anywhere, and of its elements in no whole word those that the lanes of the first warp
// bring: read once, and put where they belong as their tile comes.
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

template <class P, class S, int STAGES, int BUFFERS> struct RingAnywhere {
  RS_TYPES_OF(P);
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  using Part = PartOut<P, S>;
  using Memory = RingMemory<P, S, STAGES, BUFFERS, PLACE>;
  static constexpr int TILE = S::ELEMENTS;
  static constexpr u32 PARTIES = 2;

  const Row<P> &row;
  Memory memory;
  RowSource<P, TILE, In> in;
  RowSource<P, TILE, Mask> mask;
  int out_shift;

  RS_METHOD RingAnywhere(const Row<P> &row, const Memory &memory)
      : row(row), memory(memory), in(row.in, true), mask(row.mask, MASKED) {
    out_shift = Part::shift(row);
  }

  // Two signals make a tile complete: that of its bulk copies, which one thread starts ...
  RS_METHOD void fetch_words(Index t) const {
    if (t >= T::COUNT || thread_index() != 0)
      return;
    RingPlace place = memory.place(t);
    Filling stage = memory.full.fill(place);
    auto in_span = in.span(t);
    auto mask_span = mask.span(t);
    stage.expect(in_span.count * (u32)sizeof(In) + mask_span.count * Memory::MASK_SIZE);
    in.load(memory.in(place), t, in_span, stage);
    if (MASKED)
      mask.load(memory.mask(place), t, mask_span, stage);
  }
  // ... and that of the first warp, which has the elements outside of words.
  RS_METHOD void fetch_rest(Index t) const {
    if (t >= T::COUNT || alike(thread_index() >= 32))
      return;
    RingPlace place = memory.place(t);
    in.put_rest(memory.in(place), t);
    if (MASKED)
      mask.put_rest(memory.mask(place), t);
    if (t == 0)
      bulk_fence(); // a bulk copy will write over it
    else
      warp_barrier();
    if (thread_index() == 0)
      memory.full.signal(place);
  }

  RS_METHOD bool load(T &tile, Index t) const {
    RingPlace place = memory.place(t);
    memory.full.wait(place);
    if (alike(!Part(t * TILE).count))
      return false;
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      int at = (int)T::place(u), low = P::reverse ? TILE - at - S::VECTOR : at;
      Vector<Mask, S::VECTOR> m{};
      if constexpr (MASKED)
        m = read_placed<Mask, S::VECTOR>(memory.mask(place), mask.shift, low);
      tile.held[u].hold(read_placed<In, S::VECTOR>(memory.in(place), in.shift, low), m);
    }
    return true;
  }
  // Stores the prefixes of tile t.
  RS_METHOD void store(const T &tile, Index t, Acc carry, Acc end) const {
    Out *copy = memory.out(t) + out_shift + Part::place();
    Part(t * TILE).template store<BUFFERS - 1>(tile, row, t * TILE, carry, end, copy);
  }
};

template <bool WORDS, class P, class S, int STAGES, int BUFFERS> struct RingFor {
  using type = RingInWords<P, S, STAGES, BUFFERS>;
};
template <class P, class S, int STAGES, int BUFFERS> struct RingFor<false, P, S, STAGES, BUFFERS> {
  using type = RingAnywhere<P, S, STAGES, BUFFERS>;
};

// WORDS: rows begin on words of 16 bytes.
template <class P, class S, int STAGES, int BUFFERS, bool WORDS>
RS_DEVICE void scan_row_ring(const Rows<P::rank> &rows) {
  using R = typename RingFor<WORDS, P, S, STAGES, BUFFERS>::type;
  using T = typename R::T;
  using Acc = typename P::Acc;
  using Index = typename T::Index;
  static_assert(WORDS || S::WARPS > 1, "a barrier between loads and the next fetch");
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Gate<STAGES> full;
  RS_SHARED Acc between[2][S::WARPS];
  Row<P> row(rows, rows.first + block_index());
  R ring(row, {memory, full});
  if (thread_index() == 0)
    full.init(R::PARTIES);
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
