// row_stream.cuh - regime long, from sm_90 on: blocks that stay, each with a ring of tiles in work and warps with roles
// SPDX-License-Identifier: MIT
//
// A tile waits in shared memory for the totals of all tiles of its row before it, most of which other multiprocessors
// have at the time, so that what counts is how many bytes a multiprocessor can have under way, and how soon each total
// is told. Hence the roles: one warp loads, REDUCERS reduce and tell (nothing else may delay a total), one walks over
// the totals of all, WARPS scan. Tiles are taken in turns, in the order of memory.
#pragma once
#include "ahead.cuh"
#include "row_copies.cuh"

// WORDS: rows begin on words of 16 bytes. A single output then goes to memory from the registers; else by bulk stores,
// from room that each warp has: another may be at a tile of a row with another offset.
template <class P, class S, int REDUCERS, int STAGES, bool WORDS> struct Stream {
  RS_TYPES_OF(P);
  using T = TileInRegisters<P, S>;
  using V = typename T::V;
  using Index = typename T::Index;
  using Inputs = RowInputs<P, S::ELEMENTS, WORDS, false>;
  using Outputs = RowOutputs<P, S, WORDS, true>;
  using Shifts = typename Inputs::Shifts;
  static constexpr int TILE = S::ELEMENTS, WARP = TILE / S::WARPS;
  static constexpr bool STRAIGHT = WORDS && !SHOWS_OWN<P>; // results
  // A slot holds what is known of a tile; it outlives the tile's stage.
  static constexpr int SLOTS = 2 * STAGES;
  static constexpr u32 NONE = ~0u;

  struct Shared {
    Gate<STAGES> full, empty;
    Gate<SLOTS> taken, reduced, looked;
    Acc part[SLOTS][S::WARPS]; // totals of the parts of a tile's warps
    Acc carry[SLOTS], end[SLOTS];
    u32 tile[SLOTS];
    u64 shifts[WORDS ? 1 : SLOTS];
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

  RS_METHOD unsigned char *stage(const Place &at) const {
    return memory + at.stage.stage * Inputs::BYTES;
  }
  RS_METHOD static i64 row_of(u32 tile) {
    return tile / (u32)T::COUNT;
  }
  RS_METHOD static Index number_of(u32 tile) { // in its row
    return (Index)(tile % (u32)T::COUNT);
  }

  // The loading warp: starts to bring a tile of a row, and signals, each lane for what it wrote itself.
  RS_METHOD void bring(const Place &at, const R &row, Index number) const {
    Inputs inputs(row);
    Filling to = shared.full.fill(at.stage);
    if (!WORDS && lane_index() == 0)
      at.of(shared.shifts) = inputs.shifts().packed();
    if constexpr (!Inputs::ALL_IN_WORDS)
      if (any_lane(inputs.put_rest(stage(at), number)))
        bulk_fence(); // a bulk copy will write over it
    if (lane_index() == 0) {
      auto spans = inputs.spans(number);
      to.expect(spans.bytes());
      inputs.load(stage(at), number, spans, to);
    } else {
      to.signal();
    }
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
      bring(at, Row<P>(rows, rows.first + row_of(next)), number_of(next));
      if (first_lane)
        taken = take_turn(state, all).number;
    }
  }

  RS_METHOD Shifts shifts_of(const Place &at) const {
    return Shifts::unpacked(WORDS ? 0 : at.of(shared.shifts));
  }
  // A vector of a tile, `at` elements from its start; of what lies past the row, anything. first: the row's first tile.
  // ORDERED: else in any order that leaves its total.
  template <bool ORDERED>
  RS_METHOD void copy_of(V &held, const Place &tile, const Shifts &shifts, int at, bool first) const {
    constexpr bool KEEP = ORDERED || !P::Op::commutative || Units<In>::COUNT > 1;
    int low = P::reverse ? TILE - at - S::VECTOR : at;
    hold_inputs<P>(held, Inputs::template read<S::VECTOR, KEEP>(stage(tile), shifts, low), first && at == 0);
  }

  // The total of a scanning warp's part of a tile.
  RS_METHOD Acc total_of_part(const Place &tile, const typename R::Params &params, int part, bool first) const {
    const Shifts shifts = shifts_of(tile);
    typename V::Part chunk[S::CHUNKS];
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      V held;
      copy_of<false>(held, tile, shifts, part * WARP + (u * 32 + (int)lane_index()) * S::VECTOR, first);
      chunk[u] = held.total(params);
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
    const typename R::Params params = Row<P>::params_of(rows);
    for (Place at;; at.next()) {
      shared.full.wait(at.stage);
      u32 tile = at.of(shared.tile);
      if (tile == NONE)
        return;
#pragma unroll 1
      for (int part = reducer; part < S::WARPS; part += REDUCERS) {
        Acc mine = total_of_part(at, params, part, number_of(tile) == 0);
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
      const Shifts shifts = shifts_of(at);
      T tile;
      tile.params = row.params();
#pragma unroll
      for (int u = 0; u < S::CHUNKS; u++)
        copy_of<true>(tile.held[u], at, shifts, (int)T::place(u), number == 0);
      tile.up_chunks();
      shared.empty.signal_behind(at.stage);
      shared.looked.wait(at.slot);
      delay();
      tile.warps.up(at.of(shared.part)[lane_index() % S::WARPS], lane_index());
      Acc carry = at.of(shared.carry), end = at.of(shared.end);
      if constexpr (STRAIGHT)
        store_straight(tile, row, first, carry, end);
      else
        Outputs{row}.template store<0>(tile, first, carry, end, memory + STAGES * Inputs::BYTES);
    }
    if (!STRAIGHT)
      bulk_wait<0>();
  }
  // A scanning warp: its part of the prefixes of the tile that starts at element `first`.
  RS_METHOD static void store_straight(const T &tile, const R &row, Index first, Acc carry, Acc end) {
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
};

// Of f64 that come from narrower elements, registers have no room for what lanes tell one another. Integers spill none:
// 1 x 2^28 i32 to i64 on an H200 0.877 of memcpy so, 0.800 if lanes tell it again.
template <class P, class S>
using StreamShape =
    Shape<S::WARPS, S::CHUNKS, S::LANES, S::VECTOR,
          sizeof(typename P::Acc) <= 16 &&
              (sizeof(typename P::Acc) == 4 || sizeof(typename P::In) == 8 || is_integer<typename P::Op::Number>)>;

template <class P, class S, int REDUCERS, int STAGES, bool WORDS>
RS_DEVICE void scan_row_stream(const Rows<P::rank> &rows) {
  using M = Stream<P, StreamShape<P, S>, REDUCERS, STAGES, WORDS>;
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

// Regime column, few long columns: each row of tuples has COLUMNS of them.
template <class P, int COLUMNS, class S, int REDUCERS, int STAGES>
RS_DEVICE void scan_stream_of_tuples(const Rows<P::rank> &rows) {
  using T = Tuples<P, COLUMNS>;
  scan_row_stream<T, S, REDUCERS, STAGES, false>(T::rows(rows));
}
