// stream.cuh - regime long, from sm_90 on: blocks that stay, each with a ring of tiles in work and warps with roles
// SPDX-License-Identifier: MIT
//
// A tile waits in shared memory for the totals of all tiles of its row before it, most of which other multiprocessors
// have at the time, so that what counts is how many bytes a multiprocessor can have under way, and how soon each total
// is told. Hence the roles: one warp loads, REDUCERS reduce and tell (nothing else may delay a total), one walks over
// the totals of all, WARPS scan. Tiles are taken in turns, in the order of memory.
#pragma once
#include "ahead.cuh"
#include "neighbours.cuh"
#include "tile.cuh"

// How tiles come to shared memory and results leave it, where rows begin on 16 bytes: a tile's copy lies on the same
// multiple of 16 bytes, and results go to memory from the registers. kernels/stream_any.cuh has the other way.
template <class P, class S> struct StreamAligned {
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
    constexpr int UNIT = 16 / (int)sizeof(E);
    if constexpr (P::length % UNIT != 0) {
      int left = count % UNIT; // at the row's end, which comes first in memory in a reverse scan
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
  RS_METHOD static void bring(const R &row, Index number, In *in_to, Mask *mask_to, Arrival *full) {
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
      arrival_expect(full, in_bytes + mask_bytes);
      if (in_bytes)
        bulk_load(in_to, in_low, in_bytes, full);
      if (mask_bytes)
        bulk_load(mask_to, mask_low, mask_bytes, full);
    } else {
      arrival_signal(full);
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
    Arrival full[STAGES], empty[STAGES], taken[SLOTS], reduced[SLOTS], looked[SLOTS];
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
    int stage = 0, slot = 0;
    u32 stage_phase = 0, slot_phase = 0;
    RS_METHOD void next() {
      if (++stage == STAGES) {
        stage = 0;
        stage_phase ^= 1;
      }
      if (++slot == SLOTS) {
        slot = 0;
        slot_phase ^= 1;
      }
    }
  };

  RS_METHOD In *in(int stage) const {
    return reinterpret_cast<In *>(memory + stage * STAGE_BYTES);
  }
  RS_METHOD Mask *mask(int stage) const {
    return reinterpret_cast<Mask *>(memory + stage * STAGE_BYTES + IN_BYTES + (P::reverse ? 0 : BYTES_BEFORE));
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
      Arrival *full = shared.full + at.stage;
      if (first_lane) {
        shared.tile[at.slot] = next < tiles ? next : NONE;
        arrival_signal(shared.taken + at.slot);
      }
      if (k >= STAGES)
        arrival_wait(shared.empty + at.stage, at.stage_phase ^ 1);
      if (next >= tiles) {
        arrival_signal(full);
        return;
      }
      Row<P> row(rows, rows.first + row_of(next));
      if (Way::PLACED && first_lane)
        shared.places[at.slot] = Way::places(row);
      Way::bring(row, number_of(next), in(at.stage), mask(at.stage), full);
      if (first_lane)
        taken = take_turn(state, all).number;
    }
  }

  RS_METHOD u32 places_of(int slot) const {
    return Way::PLACED ? shared.places[slot] : 0;
  }
  // A warp has read a tile's copy, in whose place another may come.
  RS_METHOD void give_back(int stage) const {
    bulk_fence();
    if (lane_index() == 0)
      arrival_signal(shared.empty + stage);
  }
  // A vector of a tile, `at` elements from its start; of what lies past the row, anything. first: the row's first tile.
  template <bool ORDERED> RS_METHOD void copy_of(V &held, int stage, u32 places, int at, bool first) const {
    int low = P::reverse ? TILE - at - S::VECTOR : at;
    Way::template read<ORDERED>(held, in(stage), mask(stage), places, low);
    if constexpr (ASKS_NEIGHBOURS)
      tell_beginnings<P>(held, first && at == 0, mask(stage)[P::reverse ? low + S::VECTOR : low - 1]);
  }

  // The total of a scanning warp's part of a tile.
  RS_METHOD Acc total_of_part(int stage, u32 places, int part, bool first) const {
    typename V::Part chunk[S::CHUNKS];
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      V held;
      copy_of<false>(held, stage, places, part * WARP + (u * 32 + (int)lane_index()) * S::VECTOR, first);
      chunk[u] = held.total();
    }
    return V::outer(total_of_blocks<typename V::Inner, S::CHUNKS>(chunk));
  }

  RS_METHOD Node<Acc> *nodes(u32 tile) const {
    return reinterpret_cast<Node<Acc> *>(static_cast<TurnState *>(rows.workspace) + 1) + row_of(tile) * T::COUNT;
  }
  RS_METHOD Acc total_of(int slot) const {
    Lanes<Op, S::WARPS, Acc> warps;
    return shuffle_from(warps.up(shared.part[slot][lane_index() % S::WARPS], lane_index()), 0);
  }

  RS_METHOD void reduce(int reducer) const {
    for (Place at;; at.next()) {
      arrival_wait(shared.full + at.stage, at.stage_phase);
      u32 tile = shared.tile[at.slot];
      if (tile == NONE)
        return;
#pragma unroll 1
      for (int part = reducer; part < S::WARPS; part += REDUCERS) {
        Acc mine = total_of_part(at.stage, places_of(at.slot), part, number_of(tile) == 0);
        if (lane_index() == 0)
          shared.part[at.slot][part] = mine;
      }
      warp_barrier();
      if (lane_index() == 0)
        arrival_signal(shared.reduced + at.slot);
      if (reducer == 0) {
        arrival_wait(shared.reduced + at.slot, at.slot_phase);
        Acc mine = total_of(at.slot);
        if (lane_index() == 0)
          nodes(tile)[number_of(tile)].tell(mine, shared.run);
      }
      give_back(at.stage);
    }
  }

  RS_METHOD void walk() const {
    Walk<Op, T::COUNT, Acc> walk(shared.run);
    i64 row_number = -1;
    for (Place at;; at.next()) {
      arrival_wait(shared.taken + at.slot, at.slot_phase);
      u32 tile = shared.tile[at.slot];
      if (tile == NONE)
        return;
      if (row_of(tile) != row_number) {
        row_number = row_of(tile);
        walk.begin(nodes(tile), Row<P>(rows, rows.first + row_number).start());
      }
      walk.gather(number_of(tile));
      arrival_wait(shared.reduced + at.slot, at.slot_phase);
      Acc carry, end;
      walk.pass(number_of(tile), total_of(at.slot), carry, end);
      if (lane_index() == 0) {
        shared.carry[at.slot] = carry;
        shared.end[at.slot] = end;
        arrival_signal(shared.looked + at.slot);
      }
    }
  }

  RS_METHOD void scan() const {
    for (Place at;; at.next()) {
      arrival_wait(shared.full + at.stage, at.stage_phase);
      u32 turn = shared.tile[at.slot];
      if (turn == NONE)
        break;
      Index number = number_of(turn), first = number * TILE;
      Row<P> row(rows, rows.first + row_of(turn));
      T tile;
#pragma unroll
      for (int u = 0; u < S::CHUNKS; u++)
        copy_of<true>(tile.held[u], at.stage, places_of(at.slot), (int)T::place(u), number == 0);
      tile.up_chunks();
      give_back(at.stage);
      arrival_wait(shared.looked + at.slot, at.slot_phase);
      delay();
      tile.warps.up(shared.part[at.slot][lane_index() % S::WARPS], lane_index());
      Way::store(tile, row, first, shared.carry[at.slot], shared.end[at.slot], memory + STAGES * STAGE_BYTES);
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
    arrivals_init(shared.full, STAGES, 32);
    arrivals_init(shared.empty, STAGES, S::WARPS + REDUCERS);
    arrivals_init(shared.taken, M::SLOTS);
    arrivals_init(shared.reduced, M::SLOTS, REDUCERS);
    arrivals_init(shared.looked, M::SLOTS);
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

template <class P, class S, int REDUCERS, int STAGES> RS_DEVICE void scan_stream(const Rows<P::rank> &rows) {
  using Lean = StreamShape<P, S>;
  run_stream<P, Lean, StreamAligned<P, Lean>, REDUCERS, STAGES>(rows);
}
