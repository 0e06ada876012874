// tile.cuh - a tile: an aligned block of a row that a group of threads holds in registers
// SPDX-License-Identifier: MIT
//
// Elements of a tile, from the slowest: warp, chunk, lane, element of a vector. All four are powers of two, so that
// each level is an aligned block of the order. Groups of fewer than 32 lanes share a warp, each with a row of its own.
#pragma once
#include "held.cuh"
#include "order.cuh"

// KEEPS: what the lanes told one another on the way up stays in registers; else they tell it again on the way down.
template <int WARPS_, int CHUNKS_, int LANES_, int VECTOR_, bool KEEPS_ = true> struct Shape {
  static constexpr int WARPS = WARPS_, CHUNKS = CHUNKS_, LANES = LANES_, VECTOR = VECTOR_;
  static constexpr bool KEEPS = KEEPS_;
  static constexpr int ELEMENTS = WARPS * CHUNKS * LANES * VECTOR;
  static_assert(WARPS == 1 || LANES == 32, "only whole warps make up a larger group");
};

// THREADS: of a block; those of a tile's last warps may be missing, where no row has elements for them. FETCHED:
// threads fetch tiles of rows with further arrays to shared memory themselves; else they are held in registers as
// others are.
template <class P, class S, bool VECTORED, int THREADS = 32 * S::WARPS, bool FETCHED = VECTORED> struct Tile {
  RS_TYPES_OF(P);
  using Index = typename R::Index;
  static constexpr Index LENGTH = (Index)Length<P>::most();                         // of a row, at most
  static constexpr Index COUNT = (Index)((LENGTH + S::ELEMENTS - 1) / S::ELEMENTS); // its tiles
  static constexpr bool WHOLE = Length<P>::multiple_of(S::ELEMENTS);                // no tile is cut short
  static constexpr bool WHOLE_VECTORS = Length<P>::multiple_of(S::VECTOR);

  static constexpr bool FETCHES = FurtherOf<P>::ANY && FETCHED;
  static constexpr bool KEEPS = S::KEEPS && (!FETCHES || S::CHUNKS == 1);
  static constexpr int LIVE = S::WARPS > 1 ? THREADS / 32 : 1; // warps that there are
  using Reach = Stretch<S::VECTOR, S::LANES, THREADS, S::CHUNKS, P::reverse, VECTORED, Index>;
  using V = typename VectorFor<P, S::VECTOR, Reach, FETCHES>::type;
  using Inner = typename V::Inner;
  using Part = typename V::Part;
  static_assert(!V::SPLIT || (i64)S::ELEMENTS << 8 <= 1ll << 31, "sums inside of a tile fit 32 bits");

  V held[S::CHUNKS];
  Part chunk[S::CHUNKS]; // total of each of the thread's chunks
  using AllLanes = Lanes<Inner, S::LANES, Part>;
  AllLanes lanes[KEEPS ? S::CHUNKS : 1];
  Lanes<Op, S::WARPS, Acc> warps;
  typename R::Params params;

  // Tiles of a row.
  RS_METHOD static Index count(const Rows<P::rank> &rows) {
    return ((Index)Length<P>::of(rows) + S::ELEMENTS - 1) / S::ELEMENTS;
  }
  RS_METHOD static u32 lane() {
    return lane_index() % S::LANES;
  }
  RS_METHOD static u32 warp() {
    return S::WARPS == 1 ? 0 : thread_index() / 32;
  }
  // First element, inside the tile, of this thread's vector in a chunk.
  RS_METHOD static Index place(int u) {
    return ((Index)(warp() * S::CHUNKS + u) * S::LANES + lane()) * S::VECTOR;
  }

  // wanted: else nothing is left for any lane.
  RS_METHOD static Reach reach(const R &row, int u, Index i, bool wanted = true) {
    constexpr int N = S::VECTOR, MOST = S::LANES * N; // of a group's elements in a warp
    Index left = !wanted ? -MOST : WHOLE ? MOST : row.length() - i;
    return {i, left, WHOLE_VECTORS || left + (Index)lane() * N >= MOST, u, 0};
  }

  // Loads the tile that starts at element `first`. What lies past the row is never part of a prefix that is stored.
  RS_METHOD void load(const R &row, Index first) {
    params = row.params();
    if (FETCHES)
      warp_barrier(); // all lanes have used what came before
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      Index i = first + place(u);
      if constexpr (FETCHES) {
        held[u].stretch = reach(row, u, i);
        row.fetch_stretch(held[u].stretch);
      } else if (VECTORED && (WHOLE || i + S::VECTOR <= row.length())) {
        row.load_vectored(held[u], i);
      } else {
        R from = row;
        from.move(i);
        held[u].clear();
#pragma unroll
        for (int j = 0; j < S::VECTOR; j++, from.move(1))
          if ((!VECTORED || !WHOLE_VECTORS) && (WHOLE || i + j < row.length()))
            held[u].set(j, from.load_one(0, i + j == 0));
      }
    }
  }

  struct Nothing {
    RS_METHOD void operator()() const {
    }
  };

  // Totals of the thread's chunks; returns that of its warp's part.
  RS_METHOD Acc up_chunks() {
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      AllLanes told;
      chunk[u] = told.up(held[u].total(params), lane());
      if (KEEPS)
        lanes[u] = told;
    }
    return V::outer(total<Inner, S::CHUNKS>(chunk));
  }
  // A chunk on the way down.
  RS_METHOD V again(int u) const {
    if constexpr (KEEPS)
      return held[u];
    else
      return held[u].forgotten();
  }
  RS_METHOD AllLanes lanes_of(int u, const V &x) const {
    if constexpr (KEEPS)
      return lanes[u];
    AllLanes told;
    told.up(x.total(params), lane());
    return told;
  }
  // The total of the tile, known to all threads. between: shared memory, one element a warp; the next call of the block
  // must be given another. loaded() is called when all threads of the block have what they loaded. some: whether the
  // warp has elements of the row.
  template <class F = Nothing> RS_METHOD Acc up(Acc *between, const F &loaded = F(), bool some = true) {
    if constexpr (FETCHES) {
      fetch_wait();
      warp_barrier();
#pragma unroll
      for (int u = 0; u < S::CHUNKS; u++)
        FurtherArrays<P>::settle(held[u].stretch);
      warp_barrier();
    }
    Acc mine = some ? up_chunks() : Op::neutral();
    if constexpr (S::WARPS > 1) {
      if (lane() == 0)
        between[warp()] = mine;
      block_barrier();
      loaded();
      u32 whose = lane() % S::WARPS;
      mine = shuffle_from(warps.up(LIVE < S::WARPS && whose >= LIVE ? Op::neutral() : between[whose], lane()), 0);
    }
    return mine;
  }

  // Turns the tile that starts at `first` into its prefixes, given the prefix before it (carry) and through it (end),
  // and gives them vector by vector to put(chunk, element of the row, VECTOR values). Every thread must call it.
  template <class F> RS_METHOD void down(const R &row, Index first, Acc carry, Acc end, const F &put) const {
    if constexpr (S::WARPS > 1) {
      Acc before = warps.down(carry, lane());
      Acc next = shuffle_from(before, (warp() + 1) % 32);
      carry = shuffle_from(before, warp());
      end = warp() == S::WARPS - 1 ? end : next;
    }
    Part start[S::CHUNKS + 1];
    carries<Inner, S::CHUNKS>(V::inner(carry), chunk, start);
    start[S::CHUNKS] = V::inner(end); // if it matters
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      if (!KEEPS || FETCHES)
        warp_barrier();
      V x = again(u);
      Part before = lanes_of(u, x).down(start[u], lane()), after = before;
      if constexpr (!V::FINDS_END) {
        Part next = shuffle_down(before);
        after = lane() == S::LANES - 1 ? start[u + 1] : next;
      }
      Acc prefix[S::VECTOR + 1]; // prefix[j]: of all elements before element j
      x.prefixes(carry, before, after, prefix, params);

      Index i = first + place(u);
      const Acc *shown = results<P, S::VECTOR>(row.rows, prefix, i, row.rows.has(RS_TOTALS), row);
      if constexpr (TOLD<P>)
        show_beginnings<P, S::VECTOR>(row.rows, prefix, x.elements().at);
      put(u, i, shown);
    }
  }

  // A put() that stores to global memory.
  RS_METHOD static void store(const R &row, Index i, const Acc *value) {
    if (VECTORED && (WHOLE || i + S::VECTOR <= row.length())) {
      row.template store_vectored<S::VECTOR>(i, value);
    } else if (!VECTORED || !WHOLE_VECTORS) {
#pragma unroll
      for (int j = 0; j < S::VECTOR; j++)
        if (WHOLE || i + j < row.length())
          row.store_one(i + j, value[j]);
    }
  }
  // The same, and results of a chunk in a second output, where there is one; of a group that is not wanted, none. All
  // lanes of the warp come here.
  RS_METHOD void store_all(const R &row, int u, Index i, const Acc *value, bool wanted = true) const {
    Reach to = reach(row, u, i, wanted);
    if constexpr (FETCHES || WEIGHS<P>)
      row.store_first(to, held[u].elements().at, value, params);
    else if (wanted)
      store(row, i, value);
    if constexpr (HAS_SECOND<P>)
      row.further.store(to, held[u].elements().at, value, params);
  }
};
// One whose elements others bring, whatever arrays there are: each thread holds its own.
template <class P, class S> using TileInRegisters = Tile<P, S, true, 32 * S::WARPS, false>;
