// row_stream.cuh - regime long, from sm_90 on: blocks that stay, each with a ring of tiles in work and warps with roles
// SPDX-License-Identifier: MIT
//
// A tile waits in shared memory for the totals of all tiles of its row before it, most of which other multiprocessors
// have at the time, so that what counts is how many bytes a multiprocessor can have under way, and how soon each total
// is told. Hence the roles: one warp loads, REDUCERS reduce and tell (nothing else may delay a total), one walks over
// the totals of all, WARPS scan. Tiles are taken in turns, in the order of memory.
#pragma once
#include "ahead.cuh"
#include "neighbours.cuh"
#include "offset.cuh"

// How tiles come to shared memory and results leave it, where rows begin on words of 16 bytes: a tile's copy does, too,
// and results go to memory from the registers.
template <class P, class S> struct StreamInWords {
  RS_TYPES_OF(P);
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  static constexpr int TILE = S::ELEMENTS;
  static constexpr int SLACK = 0;       // bytes that each copy has more than its tile
  static constexpr bool PLACED = false; // where copies lie depends on the row
  // Flags or keys that come with a tile's own, of elements before it.
  static constexpr int BEFORE = TOLD_BY_NEIGHBOURS<P> == NOT_TOLD ? 0 : 16 / (int)sizeof(Mask);

  RS_METHOD static int count_of(Index number) {
    Index left = T::LENGTH - number * TILE;
    return left >= TILE ? TILE : (int)left;
  }
  // One array's part of a tile: `low` is its first element in memory, `to` its copy. What is no whole word the lanes
  // load; returns the bytes that are left for a bulk copy, and moves both pointers to it.
  template <class E> RS_METHOD static u32 load_ends(E *&to, const E *&low, int count) {
    if constexpr (P::length % UNIT_OF<E> != 0) {
      int left = count % UNIT_OF<E>; // at the row's end, which comes first in memory in a reverse scan
      int skip = P::reverse ? left : 0;
      if ((int)lane_index() < left) {
        int i = (P::reverse ? 0 : count - left) + (int)lane_index();
        to[i] = load_element(low + i);
      }
      to += skip;
      low += skip;
      count -= left;
    }
    return (u32)count * (u32)sizeof(E);
  }

  // The loading warp: starts to bring a tile of a row, and signals, each lane for what it wrote itself.
  RS_METHOD static void bring(const R &row, Index number, In *in_to, Mask *mask_to, Filling stage) {
    int count = count_of(number);
    i64 low = P::reverse ? -((i64)number * TILE + count - 1) : (i64)number * TILE;
    const In *in_low = row.in + low;
    int before = number > 0 ? BEFORE : 0;
    const Mask *mask_low = row.mask + (MASKED ? low - (P::reverse ? 0 : before) : 0);
    in_to += P::reverse ? TILE - count : 0;
    mask_to += P::reverse ? TILE - count : -before;
    u32 in_bytes = load_ends(in_to, in_low, count);
    u32 mask_bytes = MASKED ? load_ends(mask_to, mask_low, count + before) : 0;
    if (lane_index() == 0) {
      stage.expect(in_bytes + mask_bytes);
      stage.load(in_to, in_low, in_bytes);
      stage.load(mask_to, mask_low, mask_bytes);
    } else {
      stage.signal();
    }
  }
  RS_METHOD static u32 places(const R &) {
    return 0;
  }
  // A vector of a tile, `at` elements from its lowest in memory. ORDERED: else in any order that leaves its total.
  template <bool ORDERED> RS_METHOD static void read(typename T::V &held, const In *in, const Mask *mask, u32, int at) {
    R::load_copied(held, in, mask, at);
  }
  // A scanning warp: its part of the prefixes of the tile that starts at element `first`.
  RS_METHOD static void store(const T &tile, const R &row, Index first, Acc carry, Acc end, unsigned char *) {
    Acc tail[S::VECTOR]; // the row's last vector, if it is not whole, one thread stores element by element
    Index tail_at = -1;
    tile.down(row, first, carry, end, [&](int, Index i, const Acc *value) {
      if (T::WHOLE || i + S::VECTOR <= T::LENGTH) {
        row.template store_vectored<S::VECTOR>(i, value);
      } else if (!T::WHOLE_VECTORS && i < T::LENGTH) {
        tail_at = i;
#pragma unroll
        for (int j = 0; j < S::VECTOR; j++)
          tail[j] = value[j];
      }
    });
    if (!T::WHOLE_VECTORS && tail_at >= 0)
#pragma unroll
      for (int j = 0; j < S::VECTOR; j++)
        if (tail_at + j < T::LENGTH)
          row.store_one(tail_at + j, tail[j]);
  }
  RS_METHOD static void finish() {
  }
};

// The same where rows begin anywhere: copies keep the offset from a word that the row has, and so do results, in room of
// each warp.
template <class P, class S> struct StreamAnywhere {
  RS_TYPES_OF(P);
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  using Part = PartOut<P, S>;
  template <class E> using Copies = RowCopies<P, S::ELEMENTS, E>;
  static constexpr int SLACK = PLACE;
  static constexpr bool PLACED = true;

  template <class E> using Unit = typename Units<E>::Unit;

  // Brings those of a row's units in no whole word that a tile has; says whether the lane had one.
  template <class C> RS_METHOD static bool bring_rest(const C &copies, typename C::One *copy, Index number) {
    Index at = copies.rest_at();
    int to = copies.place(number, at);
    if (to >= 0)
      copy[copies.shift + to] = load_element(copies.low + at);
    return to >= 0;
  }
  RS_METHOD static void bring(const R &row, Index number, In *in_copy, Mask *mask_copy, Filling stage) {
    Copies<In> in(row.in);
    Copies<Mask> mask(row.mask);
    auto *in_to = reinterpret_cast<Unit<In> *>(in_copy);
    auto *mask_to = reinterpret_cast<Unit<Mask> *>(mask_copy);
    bool rest = bring_rest(in, in_to, number);
    if (MASKED)
      rest = bring_rest(mask, mask_to, number) || rest;
    if (any_lane(rest))
      bulk_fence(); // a bulk copy will write over it
    if (lane_index() == 0) {
      auto in_span = in.span(number);
      auto mask_span = mask.span(number);
      stage.expect(in_span.count * (u32)in.SIZE + (MASKED ? mask_span.count * (u32)mask.SIZE : 0));
      in.load(in_to, number, in_span, stage);
      if (MASKED)
        mask.load(mask_to, number, mask_span, stage);
    } else {
      stage.signal();
    }
  }
  RS_METHOD static u32 places(const R &row) {
    u32 in = (u32)Copies<In>(row.in).shift;
    return MASKED ? in | (u32)Copies<Mask>(row.mask).shift << 16 : in;
  }
  template <bool ORDERED>
  RS_METHOD static void read(typename T::V &held, const In *in, const Mask *mask, u32 places, int at) {
    constexpr bool KEEP = ORDERED || MASKED || !P::Op::commutative || Units<In>::COUNT > 1;
    Vector<Unit<Mask>, S::VECTOR * Units<Mask>::COUNT> m{};
    if constexpr (MASKED)
      m = read_placed<Mask, S::VECTOR>(mask, (int)(places >> 16), at);
    held.hold(read_placed<In, S::VECTOR, KEEP>(in, (int)(places & 0xffff), at), m);
  }
  // Each warp has room of its own: another may be at a tile of a row with another offset.
  RS_METHOD static void store(const T &tile, const R &row, Index first, Acc carry, Acc end, unsigned char *memory) {
    constexpr int BYTES = Part::WARP * (int)sizeof(Unit<Out>);
    static_assert(BYTES % PLACE == 0, "all parts have the tile's offset");
    auto *copy = reinterpret_cast<Unit<Out> *>(memory + T::warp() * (BYTES + SLACK)) + Part::shift(row);
    Part(first).template store<0>(tile, row, first, carry, end, copy);
  }
  RS_METHOD static void finish() {
    bulk_wait<0>();
  }
};

template <class P, class S, class Way, int REDUCERS, int STAGES> struct Stream {
  RS_TYPES_OF(P);
  using T = Tile<P, S, true>;
  using V = typename T::V;
  using Index = typename T::Index;
  static constexpr int TILE = S::ELEMENTS, WARP = TILE / S::WARPS;
  static constexpr int IN_BYTES = TILE * (int)sizeof(In) + Way::SLACK;
  static constexpr bool ASKS_NEIGHBOURS = TOLD_BY_NEIGHBOURS<P> != NOT_TOLD;
  static constexpr int BYTES_BEFORE = ASKS_NEIGHBOURS ? 16 : 0; // of flags or keys of elements before a tile
  static constexpr int STAGE_BYTES = IN_BYTES + (MASKED ? TILE * (int)sizeof(Mask) + Way::SLACK + BYTES_BEFORE : 0);
  // A slot holds what is known of a tile; it outlives the tile's stage.
  static constexpr int SLOTS = 2 * STAGES;
  static constexpr u32 NONE = ~0u;

  struct Shared {
    Gate<STAGES> full, empty;
    Gate<SLOTS> taken, reduced, looked;
    Acc part[SLOTS][S::WARPS]; // totals of the parts of a tile's warps
    Acc carry[SLOTS], end[SLOTS];
    u32 tile[SLOTS];
    u32 places[Way::PLACED ? SLOTS : 1];
    u32 run;
  };

  const Rows<P::rank> &rows;
  Shared &shared;
  unsigned char *memory;

  // One tile after another, of those that the block takes.
  struct Place {
    RingPlace stage{STAGES}, slot{SLOTS};
    RS_METHOD void next() {
      stage.next();
      slot.next();
    }
    // What is known of its tile.
    template <class T> RS_METHOD T &of(T *known) const {
      return known[slot.stage];
    }
  };

  RS_METHOD In *in(const Place &at) const {
    return reinterpret_cast<In *>(memory + at.stage.stage * STAGE_BYTES);
  }
  RS_METHOD Mask *mask(const Place &at) const {
    return reinterpret_cast<Mask *>(memory + at.stage.stage * STAGE_BYTES + IN_BYTES + (P::reverse ? 0 : BYTES_BEFORE));
  }
  RS_METHOD static i64 row_of(u32 tile) {
    return tile / (u32)T::COUNT;
  }
  RS_METHOD static Index number_of(u32 tile) { // in its row
    return (Index)(tile % (u32)T::COUNT);
  }

  RS_METHOD void load() const {
    TurnState *state = static_cast<TurnState *>(rows.workspace);
    u32 tiles = (u32)(rows.count * T::COUNT), all = tiles + block_count(); // each block takes one turn too many
    bool first_lane = lane_index() == 0;
    u32 taken = first_lane ? take_turn(state, all).number : 0;
    Place at;
    for (int k = 0;; k++, at.next()) {
      u32 next = shuffle_from(taken, 0);
      if (first_lane) {
        at.of(shared.tile) = next < tiles ? next : NONE;
        shared.taken.signal(at.slot);
      }
      if (k >= STAGES)
        shared.empty.wait_for_last(at.stage);
      if (next >= tiles) {
        shared.full.signal(at.stage);
        return;
      }
      Row<P> row(rows, rows.first + row_of(next));
      if (Way::PLACED && first_lane)
        at.of(shared.places) = Way::places(row);
      Way::bring(row, number_of(next), in(at), mask(at), shared.full.fill(at.stage));
      if (first_lane)
        taken = take_turn(state, all).number;
    }
  }

  RS_METHOD u32 places_of(const Place &at) const {
    return Way::PLACED ? at.of(shared.places) : 0;
  }
  // A vector of a tile, `at` elements from its start; of what lies past the row, anything. first: the row's first tile.
  template <bool ORDERED>
  RS_METHOD void copy_of(V &held, const Place &tile, u32 places, int at, bool first) const {
    int low = P::reverse ? TILE - at - S::VECTOR : at;
    Way::template read<ORDERED>(held, in(tile), mask(tile), places, low);
    if constexpr (ASKS_NEIGHBOURS)
      tell_beginnings<P>(held, first && at == 0, mask(tile)[P::reverse ? low + S::VECTOR : low - 1]);
  }

  // The total of a scanning warp's part of a tile.
  RS_METHOD Acc total_of_part(const Place &tile, u32 places, int part, bool first) const {
    typename V::Part chunk[S::CHUNKS];
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      V held;
      copy_of<false>(held, tile, places, part * WARP + (u * 32 + (int)lane_index()) * S::VECTOR, first);
      chunk[u] = held.total();
    }
    return V::outer(total_of_blocks<typename V::Inner, S::CHUNKS>(chunk));
  }

  RS_METHOD Node<Acc> *nodes(u32 tile) const {
    return reinterpret_cast<Node<Acc> *>(static_cast<TurnState *>(rows.workspace) + 1) + row_of(tile) * T::COUNT;
  }
  RS_METHOD Acc total_of(const Place &at) const {
    Lanes<Op, S::WARPS, Acc> warps;
    return shuffle_from(warps.up(at.of(shared.part)[lane_index() % S::WARPS], lane_index()), 0);
  }

  RS_METHOD void reduce(int reducer) const {
    for (Place at;; at.next()) {
      shared.full.wait(at.stage);
      u32 tile = at.of(shared.tile);
      if (tile == NONE)
        return;
#pragma unroll 1
      for (int part = reducer; part < S::WARPS; part += REDUCERS) {
        Acc mine = total_of_part(at, places_of(at), part, number_of(tile) == 0);
        if (lane_index() == 0)
          at.of(shared.part)[part] = mine;
      }
      warp_barrier();
      if (lane_index() == 0)
        shared.reduced.signal(at.slot);
      if (reducer == 0) {
        shared.reduced.wait(at.slot);
        Acc mine = total_of(at);
        if (lane_index() == 0)
          nodes(tile)[number_of(tile)].tell(mine, shared.run);
      }
      shared.empty.signal_behind(at.stage);
    }
  }

  RS_METHOD void walk() const {
    Walk<Op, T::COUNT, Acc> walk(shared.run);
    i64 row_number = -1;
    for (Place at;; at.next()) {
      shared.taken.wait(at.slot);
      u32 tile = at.of(shared.tile);
      if (tile == NONE)
        return;
      if (row_of(tile) != row_number) {
        row_number = row_of(tile);
        walk.begin(nodes(tile), Row<P>(rows, rows.first + row_number).start());
      }
      walk.gather(number_of(tile));
      shared.reduced.wait(at.slot);
      Acc carry, end;
      walk.pass(number_of(tile), total_of(at), carry, end);
      if (lane_index() == 0) {
        at.of(shared.carry) = carry;
        at.of(shared.end) = end;
        shared.looked.signal(at.slot);
      }
    }
  }

  RS_METHOD void scan() const {
    for (Place at;; at.next()) {
      shared.full.wait(at.stage);
      u32 turn = at.of(shared.tile);
      if (turn == NONE)
        break;
      Index number = number_of(turn), first = number * TILE;
      Row<P> row(rows, rows.first + row_of(turn));
      T tile;
#pragma unroll
      for (int u = 0; u < S::CHUNKS; u++)
        copy_of<true>(tile.held[u], at, places_of(at), (int)T::place(u), number == 0);
      tile.up_chunks();
      shared.empty.signal_behind(at.stage);
      shared.looked.wait(at.slot);
      delay();
      tile.warps.up(at.of(shared.part)[lane_index() % S::WARPS], lane_index());
      Way::store(tile, row, first, at.of(shared.carry), at.of(shared.end), memory + STAGES * STAGE_BYTES);
    }
    Way::finish();
  }
};

// Of f64 that come from narrower elements, registers have no room for what lanes tell one another. Integers spill none:
// 1 x 2^28 i32 to i64 on an H200 0.877 of memcpy so, 0.800 if lanes tell it again.
template <class P, class S>
using StreamShape =
    Shape<S::WARPS, S::CHUNKS, S::LANES, S::VECTOR,
          sizeof(typename P::Acc) <= 16 &&
              (sizeof(typename P::Acc) == 4 || sizeof(typename P::In) == 8 || is_integer<typename P::Op::Number>)>;

template <class P, class S, class Way, int REDUCERS, int STAGES> RS_DEVICE void run_stream(const Rows<P::rank> &rows) {
  using M = Stream<P, S, Way, REDUCERS, STAGES>;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED typename M::Shared shared;
  M stream{rows, shared, memory};
  if (thread_index() == 0) {
    shared.full.init(32);
    shared.empty.init(S::WARPS + REDUCERS);
    shared.taken.init();
    shared.reduced.init(REDUCERS);
    shared.looked.init();
    shared.run = current_run(static_cast<const TurnState *>(rows.workspace));
  }
  block_barrier();
  int warp = shuffle_from((u32)thread_index() / 32, 0);
  if (warp < S::WARPS)
    stream.scan();
  else if (warp < S::WARPS + REDUCERS)
    stream.reduce(warp - S::WARPS);
  else if (warp == S::WARPS + REDUCERS)
    stream.walk();
  else
    stream.load();
}

template <bool WORDS, class P, class S> struct WayFor { using type = StreamInWords<P, S>; };
template <class P, class S> struct WayFor<false, P, S> { using type = StreamAnywhere<P, S>; };

// WORDS: rows begin on words of 16 bytes.
template <class P, class S, int REDUCERS, int STAGES, bool WORDS>
RS_DEVICE void scan_row_stream(const Rows<P::rank> &rows) {
  using Lean = StreamShape<P, S>;
  run_stream<P, Lean, typename WayFor<WORDS, P, Lean>::type, REDUCERS, STAGES>(rows);
}

// Regime column, few long columns: each row of tuples has COLUMNS of them.
template <class P, int COLUMNS, class S, int REDUCERS, int STAGES>
RS_DEVICE void scan_stream_of_tuples(const Rows<P::rank> &rows) {
  using T = Tuples<P, COLUMNS>;
  scan_row_stream<T, S, REDUCERS, STAGES, false>(T::rows(rows));
}
