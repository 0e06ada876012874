// tiles.cuh - regimes row and long: a block of threads scans one tile of a row, in shared memory, and ends
// SPDX-License-Identifier: MIT
#pragma once
#include "ahead.cuh"
#include "neighbours.cuh"
#include "piece.cuh"

// Elements of a tile, from the slowest: warp, chunk, lane, element of a vector. Each is an aligned block of the order.
template <int WARPS_, int CHUNKS_, int VECTOR_> struct TileShape {
  static constexpr int WARPS = WARPS_, CHUNKS = CHUNKS_, VECTOR = VECTOR_;
  static constexpr int THREADS = 32 * WARPS, CHUNK = 32 * VECTOR, WARP = CHUNKS * CHUNK, ELEMENTS = WARPS * WARP;
  static_assert(CHUNKS <= 32 && WARPS <= 32, "a lane holds the total of one");
};

template <class P, class S, bool VECTORED> struct SharedTile {
  RS_TYPES_OF(P);
  static constexpr Told TOLD_BY = TOLD_BY_NEIGHBOURS<P>;
  using Index = typename R::Index;
  static constexpr i64 LENGTH = Length<P>::most();                              // of a row, at most
  static constexpr int MOST = LENGTH > S::ELEMENTS ? S::ELEMENTS : (int)LENGTH; // elements there are of a tile
  using Memory = Piece<P, VECTORED, sizeof(In) == sizeof(Out)>;

  // Wide results go from registers to global memory, and a tile has no room for them, as src/family/tune_rows.c says.
  static constexpr bool STRAIGHT = sizeof(Out) == 8 && sizeof(In) < 8;
  using Reach = Stretch<S::VECTOR, 32, S::THREADS, 1, P::reverse, true, Index>;

  const R &row;
  Index first;
  int count;
  Memory memory;
  Acc chunks_mine; // lane u: total of the warp's chunk u
  Lanes<Op, S::CHUNKS, Acc> chunks;
  Lanes<Op, S::WARPS, Acc> warps;
  Mask before{}; // of the element before the tile, if that tells

  RS_METHOD static int count_of(const R &row, Index first) {
    return row.length() - first < S::ELEMENTS ? (int)(row.length() - first) : S::ELEMENTS;
  }
  // The element that comes first in memory.
  RS_METHOD static Index lowest(const R &row, Index first) {
    return P::reverse ? first + count_of(row, first) - 1 : first;
  }
  RS_METHOD SharedTile(const Rows<P::rank> &rows, const R &row, Index first, unsigned char *shared)
      : SharedTile(rows, row, first, lowest(row, first), shared) {
  }
  RS_METHOD SharedTile(const Rows<P::rank> &rows, const R &row, Index first, Index low, unsigned char *shared)
      : row(row), first(first), count(count_of(row, first)),
        memory(row.in + low * row.step[RS_IN], row.mask + (MASKED ? low * row.step[RS_MASK] : 0),
               row.out + low * row.step[RS_OUT], VECTORED ? nullptr : rows.step, count, MOST, shared) {
    if (TOLD_BY != NOT_TOLD && first > 0)
      before = load_element(row.mask + (first - 1) * row.step[RS_MASK]);
  }

  // First element, inside the tile, of this thread's vector in a chunk of its warp.
  RS_METHOD static int place(int chunk) {
    return (int)(thread_index() / 32) * S::WARP + chunk * S::CHUNK + (int)lane_index() * S::VECTOR;
  }
  RS_METHOD bool has_chunk(int chunk) const {
    return (int)(thread_index() / 32) * S::WARP + chunk * S::CHUNK < count;
  }

  // The elements from `at` on, in the order of the scan; what lies past the row is never part of a prefix that counts.
  RS_METHOD void read(int at, Acc *x) const {
    if (VECTORED && at + S::VECTOR <= count) {
      read_some<S::VECTOR>(at, x);
    } else {
#pragma unroll
      for (int j = 0; j < S::VECTOR; j++) {
        x[j] = Op::neutral();
        if (at + j < count)
          read_some<1>(at + j, x + j);
      }
    }
  }
  // N elements that there are.
  template <int N> RS_METHOD void read_some(int at, Acc *x) const {
    int low = P::reverse ? count - at - N : at;
    if constexpr (TOLD_BY == NOT_TOLD) {
      memory.template read<N>(low, x);
    } else {
      HeldVector<P, N, AS_ELEMENTS> held;
      R::load_copied(held, memory.in.shared, memory.mask.shared, low);
      tell_beginnings<P>(held, at == 0 && first == 0,
                         at > 0 ? memory.mask.shared[P::reverse ? count - at : at - 1] : before);
      R::template values<N>(held.at, x);
    }
  }
  // All lanes of a warp come here.
  RS_METHOD void write(int at, const Acc *value) const {
    if constexpr (STRAIGHT) {
      row.store_stretch(Reach{first + at, (Index)(count - at), true, 0, 0}, value);
    } else if (VECTORED && at + S::VECTOR <= count) {
      memory.template write<S::VECTOR>(P::reverse ? count - at - S::VECTOR : at, value);
    } else {
#pragma unroll
      for (int j = 0; j < S::VECTOR; j++)
        if (at + j < count)
          memory.template write<1>(P::reverse ? count - 1 - (at + j) : at + j, value + j);
    }
  }

  // The total of the tile, known to the threads of warp 0. between: one a warp.
  RS_METHOD Acc up(Acc *between) {
    chunks_mine = Op::neutral();
#pragma unroll(S::CHUNKS < 4 ? S::CHUNKS : 4)
    for (int u = 0; u < S::CHUNKS; u++) {
      if (alike(!has_chunk(u)))
        break;
      Acc x[S::VECTOR];
      read(place(u), x);
      Lanes<Op, 32, Acc> lanes;
      Acc mine = lanes.up(total<Op, S::VECTOR>(x), lane_index());
      if ((int)lane_index() % S::CHUNKS == u)
        chunks_mine = mine;
    }
    Acc mine = chunks.up(chunks_mine, lane_index());
    if constexpr (S::WARPS > 1) {
      if (lane_index() == 0)
        between[thread_index() / 32] = mine;
      block_barrier();
      mine = shuffle_from(warps.up(between[lane_index() % S::WARPS], lane_index()), 0);
    }
    return mine;
  }

  // Writes the prefixes, given the one before the tile (carry) and through it (end).
  RS_METHOD void down(const Acc *between, Acc carry, Acc end) const {
    if constexpr (S::WARPS > 1) {
      int warp = (int)thread_index() / 32;
      Lanes<Op, S::WARPS, Acc> told = warps;
      if constexpr (sizeof(Acc) > 4) // again, since two registers each are too many
        told.up(between[lane_index() % S::WARPS], lane_index());
      Acc before = told.down(carry, lane_index());
      Acc next = shuffle_from(before, (warp + 1) % 32);
      carry = shuffle_from(before, warp);
      end = warp == S::WARPS - 1 ? end : next;
    }
    Acc starts = chunks.down(carry, lane_index()); // lane u: before chunk u
#pragma unroll(S::CHUNKS < 2 ? S::CHUNKS : 2)
    for (int u = 0; u < S::CHUNKS; u++) {
      if (alike(!has_chunk(u)))
        break;
      Acc x[S::VECTOR], prefix[S::VECTOR + 1]; // prefix[j]: of all elements before element j
      int at = place(u);
      read(at, x);
      Lanes<Op, 32, Acc> lanes;
      lanes.up(total<Op, S::VECTOR>(x), lane_index());
      Acc before = lanes.down(shuffle_from(starts, u), lane_index());
      carries<Op, S::VECTOR>(before, x, prefix);
      Acc after = u == S::CHUNKS - 1 ? end : shuffle_from(starts, (u + 1) % S::CHUNKS);
      Acc next = shuffle_down(before);
      prefix[S::VECTOR] = lane_index() == 31 ? after : next;

      Index i = first + at;
      write(at, results<P, S::VECTOR>(row.rows, prefix, i, row.keeps, row));
    }
  }
};

template <class P, class S, bool VECTORED> RS_DEVICE void scan_tiles(const Rows<P::rank> &rows) {
  using T = SharedTile<P, S, VECTORED>;
  using Acc = typename P::Acc;
  using Index = typename T::Index;
  constexpr u32 MOST = (u32)((T::LENGTH + S::ELEMENTS - 1) / S::ELEMENTS); // tiles of a row
  RS_DYNAMIC_SHARED(shared);
  RS_SHARED Gate<1> there;
  RS_SHARED Acc between[S::WARPS];
  RS_SHARED TileEnds<Acc> ends;

  const u32 count = (u32)((Length<P>::of(rows) + S::ELEMENTS - 1) / S::ELEMENTS);
  const u32 at = take_tile(rows.workspace, count, ends).number, number = at / count, t = at % count;
  Row<P> row(rows, rows.first + number);
  T tile(rows, row, (Index)t * S::ELEMENTS, shared);
  tile.memory.template load<S::THREADS>(there).wait();
  Acc mine = tile.up(between), carry = row.start(), end = P::Op::combine(carry, mine);
  if (count > 1)
    find_ends<typename P::Op, MOST>(rows.workspace, number, t, count, mine, carry, ends, carry, end);
  delay();
  tile.down(between, carry, end);
  if constexpr (!T::STRAIGHT)
    tile.memory.template store<S::THREADS>();
}
