// stream_columns.cuh - regime column, from sm_90 on: columns that lie one run in memory, in a stream
// SPDX-License-Identifier: MIT
//
// As row_stream.cuh, for rows that lie side by side: blocks that stay, each with a ring of tiles in work and warps with
// roles. A tile has pieces along the length where there are few columns, and each piece has parts of STEPS steps: of
// one column, an item, which a lane has in registers at a time. A warp takes the items of a part of 32 columns; or, so
// that no lane is idle, any 32 that follow one another. Then lanes of two parts meet in the same banks, which pays
// where an element takes many instructions (PACKS).
#pragma once
#include "column_tiles.cuh"
#include "column_walk.cuh"
#include "divide.cuh"

template <class P, int STEPS> struct ColumnStream {
  RS_TYPES_OF(P);
  static constexpr int MOST_STAGES = RS_STREAM_STAGES, PARTS_LOG = RS_STREAM_PARTS_LOG, MOST_PARTS = 1 << PARTS_LOG;
  // Measured on an H200, ratio to memcpy, without and so: bf16 4067203 x 33 0.452, 0.660; 7895160 x 17 0.494, 0.525;
  // 2064888 x 65 0.536, 0.560; 1613184 x 83 0.688, 0.624; 262144 x 53 0.486, 0.519, x 113 0.448, 0.431; masked 262144 x
  // 33 0.255, 0.420, x 83 0.334, 0.447; f32 masked 262144 x 41 0.497, 0.603, x 83 0.541, 0.625, x 97 0.523, 0.612; but
  // f32 806592 x 83 0.788, 0.749, 262144 x 97 0.671, 0.558; f64 262144 x 33 0.482, 0.474.
  static constexpr bool PACKS = sizeof(Acc) == 4 && (MASKED || sizeof(In) < 4);
  static constexpr i64 TILES = (P::length + STEPS - 1) / STEPS,
                       MOST_TILES = TILES < RS_STREAM_TILES ? TILES : RS_STREAM_TILES;
  static constexpr int MOVERS = RS_STREAM_MOVERS; // less than the stages: so each knows which tile its stage had
  static constexpr u32 NONE = ~0u;
  using Tiles = ColumnTiles<P>;
  using Tile = typename Tiles::Tile;
  using Nodes = ColumnNodes<Acc>;
  using Near = NearTiles<Op, Acc>;

  struct Shared {
    Gate<MOST_STAGES> turned, full, reduced, told, near, looked, scanned;
    u32 tile[MOST_STAGES], shift[MOST_STAGES]; // shift: see ColumnTiles::load()
    u32 run;
    bool over; // all tiles are taken
  };

  const Rows<P::rank> &rows;
  const StreamCut &cut;
  Shared &shared;
  unsigned char *memory;
  Tiles tiles;

  struct Lane {
    int number; // of all columns of all pieces
    int piece, column;
    bool there; // else they are another's, whose results the same warp writes
  };
  Lane own; // of a band, where there is one

  RS_METHOD ColumnStream(const Rows<P::rank> &rows, const StreamCut &cut, Shared &shared, unsigned char *memory)
      : rows(rows), cut(cut), shared(shared), memory(memory), tiles{rows, cut, memory} {
    int i = (int)lane_index();
    own = lane_at(i < cut.lanes ? i : cut.lanes - 1, i < cut.lanes);
    own.number = PACKS ? own.number : i;
  }
  RS_METHOD Lane lane_at(int number, bool there) const {
    int piece = divide(number, cut.by_columns);
    return {number, piece, number - piece * cut.columns, there};
  }
  // A column of a band, of the first piece.
  RS_METHOD Lane column_of(int band) const {
    int number = band * 32 + (int)lane_index();
    bool there = number < cut.columns;
    int column = there ? number : cut.columns - 1;
    return {PACKS ? column : number, 0, column, there};
  }
  RS_METHOD Lane lane_of(int band) const {
    return cut.bands == 1 ? own : column_of(band);
  }

  RS_METHOD Ends<P> ends(u32 outer, int column) const {
    return ends_of(rows, tiles.at_outer(outer), 0, column);
  }
  RS_METHOD Nodes nodes() const {
    Node<Acc> *first = reinterpret_cast<Node<Acc> *>(static_cast<TurnState *>(rows.workspace) + 1);
    int slots = cut.pieces_log < Nodes::MOST_SLOTS_LOG ? cut.pieces_log : Nodes::MOST_SLOTS_LOG;
    return {first, shared.run, tiles.outers(), (u32)cut.tiles, (u32)cut.columns, slots};
  }

  // Of a column: the prefixes before the tile and through it, its total, and what is near.
  enum End { BEFORE, THROUGH, TOTAL, NEAR };
  RS_METHOD Acc &end(int stage, int which, int column) const {
    return reinterpret_cast<Acc *>(memory + stage * cut.stage_bytes + cut.ends_at)[which * cut.columns + column];
  }
  // What is kept of a column of a piece, every pitch()th: totals of its parts, of aligned blocks of 2, 4, ... parts;
  // then of its siblings.
  RS_METHOD Acc *kept(int stage, int number) const {
    int rows = (2 << cut.parts_log) + cut.pieces_log, first = PACKS ? number : number / 32 * rows * 32 + number % 32;
    return reinterpret_cast<Acc *>(memory + stage * cut.stage_bytes + cut.parts_at) + first;
  }
  RS_METHOD int pitch() const {
    return PACKS ? cut.bands * 32 : 32;
  }
  RS_METHOD int block_row(int d) const {
    int all = 2 << cut.parts_log;
    return all - (all >> d);
  }
  RS_METHOD int sibling_row(int d) const {
    return (2 << cut.parts_log) + d;
  }

  // Waits for the tile of a place; false: there is none.
  RS_METHOD bool arrived(const RingPlace &at, u32 &turn) const {
    shared.full.wait(at);
    turn = shared.tile[at.stage];
    return turn != NONE;
  }

  // First step of a part, in a copy.
  RS_METHOD int place_of(const Lane &lane, int part, int pitch) const {
    int step = P::reverse ? tiles.piece_steps() - 1 - part * STEPS : part * STEPS;
    return lane.piece * pitch + step * cut.columns + lane.column;
  }
  RS_METHOD int next_step() const {
    return P::reverse ? -cut.columns : cut.columns;
  }
  RS_METHOD In *in_part(int stage, const Lane &lane, int part) const {
    return tiles.in(stage) + (shared.shift[stage] & 0xffff) + place_of(lane, part, cut.in_pitch);
  }
  RS_METHOD void read(int stage, const Lane &lane, int part, Acc *x) const {
    const In *at = in_part(stage, lane, part);
    const Mask *mask_at = nullptr;
    if (MASKED)
      mask_at = tiles.mask(stage) + (shared.shift[stage] >> 16) + place_of(lane, part, cut.mask_pitch);
    int next = next_step();
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      x[j] = R::enter(at[j * next], MASKED ? mask_at[j * next] : Mask{});
  }

  // The value of another piece of a lane's column.
  RS_METHOD Acc of_piece(const Lane &lane, Acc mine, int other) const {
    return shuffle_from(mine, (int)lane_index() + (lane.there ? (other - lane.piece) * cut.columns : 0));
  }
  // Whether what is kept of it is its own.
  RS_METHOD static bool has(const Lane &lane) {
    return !PACKS || lane.there;
  }
  // Totals of blocks of 2^D parts.
  template <int D> RS_METHOD void halve(Acc *kept, const Lane &lane, const Acc *half, Acc *whole) const {
#pragma unroll
    for (int w = 0; w < MOST_PARTS >> D; w++) {
      whole[w] = Op::combine(half[2 * w], half[2 * w + 1]);
      if (D < cut.parts_log && w < (1 << cut.parts_log) >> D && has(lane))
        kept[(block_row(D) + w) * pitch()] = whole[w];
    }
  }
  // Totals of larger and larger blocks, up to the tile's; all but that are kept.
  RS_METHOD Acc up(int stage, const Lane &lane) const {
    Acc *own = kept(stage, lane.number), one[MOST_PARTS], two[MOST_PARTS / 2], four[MOST_PARTS / 4];
#pragma unroll
    for (int w = 0; w < MOST_PARTS; w++) // parts that there are not change nothing
      one[w] = w < 1 << cut.parts_log ? own[w * pitch()] : Op::neutral();
    halve<1>(own, lane, one, two);
    halve<2>(own, lane, two, four);
    halve<3>(own, lane, four, two);
    Acc mine = Op::combine(two[0], two[1]);
#pragma unroll
    for (int d = 0; d < 5; d++)
      if (d < cut.pieces_log) {
        Acc other = of_piece(lane, mine, lane.piece ^ 1 << d);
        if (has(lane))
          own[sibling_row(d) * pitch()] = other;
        mine = lane.piece >> d & 1 ? Op::combine(other, mine) : Op::combine(mine, other);
      }
    return mine;
  }
  // The prefix before a piece, given the one before the tile.
  RS_METHOD Acc before_piece(const Acc *kept, int piece, Acc carry) const {
#pragma unroll
    for (int d = 4; d >= 0; d--)
      if (d < cut.pieces_log && piece >> d & 1)
        carry = Op::combine(carry, kept[sibling_row(d) * pitch()]);
    return carry;
  }
  RS_METHOD Acc before_part(const Acc *kept, int part, Acc carry) const {
#pragma unroll
    for (int d = PARTS_LOG - 1; d >= 0; d--)
      if (part >> d & 1)
        carry = Op::combine(carry, kept[(block_row(d) + (part >> d) - 1) * pitch()]);
    return carry;
  }
  // The prefix through a piece, given the one before it.
  RS_METHOD Acc through_piece(int stage, const Lane &lane, Acc first) const {
    bool last = lane.piece == (1 << cut.pieces_log) - 1;
    Acc through = first;
    if (cut.pieces_log > 0) {
      if constexpr (!PACKS)
        through = of_piece(lane, first, lane.piece + 1);
      else if (!last)
        through = before_piece(kept(stage, lane.number + cut.columns), lane.piece + 1, end(stage, BEFORE, lane.column));
    }
    return last ? end(stage, THROUGH, lane.column) : through;
  }

  // f(lane, part) for all items of a tile, of which each of `warps` takes every so many 32. next: those it begins with,
  // so that none has more to do than the others.
  template <class F> RS_METHOD void each_item(int &next, int warps, const F &f) const {
    int parts = 1 << cut.parts_log, all = cut.lanes * parts;
    int groups = PACKS ? (all + 31) / 32 : cut.bands * parts;
#pragma unroll 1
    for (; next < groups; next += warps) {
      if constexpr (PACKS) {
        int i = next * 32 + (int)lane_index(), item = i < all ? i : all - 1, part = divide(item, cut.by_lanes);
        f(lane_at(item - part * cut.lanes, i < all), part);
      } else {
        f(lane_of(next >> cut.parts_log), next & (parts - 1));
      }
    }
    next -= groups;
  }
  // Reducers that tell a band's totals.
  RS_METHOD int tellers() const {
    return cut.bands < cut.reducers ? cut.bands : cut.reducers;
  }
  RS_METHOD void reduce(int reducer) const {
    Nodes all = nodes();
    u32 turn;
    int next = reducer;
    for (RingPlace at(cut.stages); arrived(at, turn); at.next()) {
      each_item(next, cut.reducers, [&](const Lane &lane, int part) {
        Acc x[STEPS];
        read(at.stage, lane, part, x);
        if (has(lane))
          kept(at.stage, lane.number)[part * pitch()] = total<Op, STEPS>(x);
      });
      shared.reduced.signal(at);
      if (reducer >= tellers())
        continue;
      Tile tile = tiles.tile_of(turn);
      shared.reduced.wait(at);
#pragma unroll 1
      for (int band = reducer; band < cut.bands; band += cut.reducers) {
        Lane lane = lane_of(band);
        Acc mine = up(at.stage, lane);
        if (lane.there && lane.piece == 0) {
          all.tile(tile.outer, tile.number, (u32)lane.column)->tell(mine, shared.run);
          end(at.stage, TOTAL, lane.column) = mine;
        }
      }
      shared.told.signal(at);
    }
  }

  RS_METHOD void walk_near(int band) const {
    Nodes all = nodes();
    Lane lane = lane_of(band); // its piece is the slot
    bool tells = lane.there && lane.piece == 0;
    u32 column = (u32)lane.column, turn;
    for (RingPlace at(cut.stages); arrived(at, turn); at.next()) {
      Tile tile = tiles.tile_of(turn);
      Near near = near_tiles<Op>(all, tile.outer, tile.number, column, lane.piece,
                                 [&](int slot) { return (int)column + slot * cut.columns; });
      if (tells)
#pragma unroll
        for (int d = 0; d < Near::LEVELS; d++)
          if (d < all.group_log())
            end(at.stage, NEAR + d, lane.column) = near.digit[d];
      if (all.ends_group(tile.number)) {
        shared.told.wait(at);
        if (tells)
          all.group(tile.outer, all.group_of(tile.number), column)
              ->tell(near.with(end(at.stage, TOTAL, lane.column), all.group_log()), shared.run);
      }
      shared.near.signal(at);
    }
  }
  RS_METHOD void walk_far(int band) const {
    FarWalk<Op, MOST_TILES, Acc> walk;
    Nodes all = nodes();
    Lane lane = column_of(band);
    u32 turn, outer = NONE;
    for (RingPlace at(cut.stages); arrived(at, turn); at.next()) {
      Tile tile = tiles.tile_of(turn);
      if (tile.outer != outer) {
        outer = tile.outer;
        walk.begin(ends(outer, lane.column).start());
      }
      walk.gather(all, outer, tile.number, (u32)lane.column);
      shared.near.wait(at);
      shared.told.wait(at);
      Near near;
#pragma unroll
      for (int d = 0; d < Near::LEVELS; d++)
        if (d < all.group_log())
          near.digit[d] = end(at.stage, NEAR + d, lane.column);
      Acc before, through;
      walk.pass(all, tile.number, near, end(at.stage, TOTAL, lane.column), before, through);
      if (lane.there) {
        end(at.stage, BEFORE, lane.column) = before;
        end(at.stage, THROUGH, lane.column) = through;
      }
      shared.looked.signal(at);
    }
  }

  RS_METHOD void scan(int scanner) const {
    u32 turn;
    int next = scanner;
    for (RingPlace at(cut.stages); arrived(at, turn); at.next()) {
      Tile tile = tiles.tile_of(turn);
      shared.looked.wait(at);
      each_item(next, cut.scanners, [&](const Lane &lane, int part) {
        const Acc *own = kept(at.stage, lane.number);
        Acc first = before_piece(own, lane.piece, end(at.stage, BEFORE, lane.column));
        Acc after = through_piece(at.stage, lane, first);
        Acc x[STEPS], prefix[STEPS + 1]; // prefix[j]: of all elements before element j
        read(at.stage, lane, part, x);
        carries<Op, STEPS>(before_part(own, part, first), x, prefix);
        prefix[STEPS] = part == (1 << cut.parts_log) - 1 ? after : before_part(own, part + 1, first);

        i64 i = tile.first + lane.piece * tiles.piece_steps() + part * STEPS;
        bool keeps = rows.has(RS_TOTALS) && lane.there;
        const Acc *result = results<P, STEPS>(rows, prefix, i, keeps, ends(tile.outer, lane.column));
        Out *to = reinterpret_cast<Out *>(in_part(at.stage, lane, part));
        int step = next_step();
        warp_barrier(); // lanes that are not there have read another's elements
        if (lane.there)
#pragma unroll
          for (int j = 0; j < STEPS; j++)
            to[j * step] = R::leave(result[j]);
      });
      bulk_fence();
      shared.scanned.signal(at);
    }
  }
  // One of MOVERS warps that by turns take away a tile's results and bring another tile in their place. They ask for
  // its turn when it is known what comes before the old one, since the answer takes as long as what is left to do for
  // that; not earlier, since others wait for the totals of all tiles before theirs. Measured on an H200, 2097152 x 32
  // f32: a warp that loads and one that stores 0.804 of memcpy, of 16.9 us a tile 3.4 between its stage's end and the
  // next turn; two movers that ask when results begin to leave 0.839, so 0.847.
  RS_METHOD void move(int mover) const {
    TurnState *state = static_cast<TurnState *>(rows.workspace);
    u32 count = tiles.outers() * (u32)cut.tiles, all = count + block_count(); // each block takes one turn too many
    typename Tiles::Sources from{{}, {}, NONE};
    for (int k = mover;; k += MOVERS) {
      RingPlace at(cut.stages, k);
      u32 old = NONE;
      if (k >= cut.stages) {
        old = shared.tile[at.stage];
        if (old == NONE)
          return;
        shared.looked.wait_for_last(at);
      }
      if (k > 0) { // tiles of a block are in order
        RingPlace before(cut.stages, k - 1);
        shared.turned.wait(before);
      }
      bool asks = lane_index() == 0 && !shared.over;
      u64 word = asks ? ask_turn(state) : 0;
      if (old != NONE) {
        shared.scanned.wait_for_last(at);
        tiles.store(at.stage, old, (int)(shared.shift[at.stage] & 0xffff));
      }
      bulk_wait_own();
      delay();
      u32 next = shuffle_from(asks ? answered_turn(state, word, all).number : NONE, 0);
      warp_barrier(); // all lanes may have read what the first one writes
      if (lane_index() == 0) {
        shared.tile[at.stage] = next < count ? next : NONE;
        shared.over = next >= count;
        shared.turned.signal(at);
      }
      if (next < count)
        tiles.load(at.stage, next, from, shared.full.fill(at), shared.shift[at.stage]);
      else if (next != NONE) // the block's one turn too many
        shared.full.signal(at);
    }
  }
};

template <class P, int STEPS> RS_DEVICE void scan_stream_columns(const Rows<P::rank> &rows, const StreamCut &cut) {
  using M = ColumnStream<P, STEPS>;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED typename M::Shared shared;
  M stream(rows, cut, shared, memory);
  if (thread_index() == 0) { // each lane signals for what it wrote itself
    shared.turned.init();
    shared.full.init(32);
    shared.reduced.init(32 * cut.reducers);
    shared.told.init(32 * stream.tellers());
    shared.near.init(32 * cut.bands);
    shared.looked.init(32 * cut.bands);
    shared.scanned.init(32 * cut.scanners);
    shared.over = false;
    shared.run = current_run(static_cast<const TurnState *>(rows.workspace));
  }
  block_barrier();
  int warp = shuffle_from((u32)thread_index() / 32, 0), reduce = cut.scanners, move = reduce + cut.reducers,
      near = move + M::MOVERS, far = near + cut.bands;
  if (warp < reduce)
    stream.scan(warp);
  else if (warp < move)
    stream.reduce(warp - reduce);
  else if (warp < near)
    stream.move(warp - move);
  else if (warp < far)
    stream.walk_near(warp - near);
  else if (warp < far + cut.bands)
    stream.walk_far(warp - far);
}
