// stream_columns.cuh - regime column, from sm_90 on: few columns that fill memory, in a stream
// SPDX-License-Identifier: MIT
//
// As stream.cuh, for rows that lie side by side: blocks that stay, each with a ring of tiles in work and warps with
// roles. A tile is a run of memory, so many steps of all columns. Its copy lies in pieces along the steps, one bulk
// copy each, so far from one another that lanes which read the same step of different pieces keep out of each other's
// banks. A lane has one column of one piece; all of a tile's make up a warp. Each piece has parts of STEPS steps, those
// that a lane has in registers at a time. Results take the place of elements.
#pragma once
#include "ahead.cuh"
#include "rows.cuh"

// The second parameter of the kernel; rs_stream_cut of src/stream_cut.h.
struct StreamCut {
  i32 columns;
  i32 steps, tiles;                            // of a tile, and tiles along the length
  i32 pieces_log, parts_log;                   // log2 of the pieces of a tile, and of the parts of a piece
  i32 in_pitch, mask_pitch;                    // elements between pieces, in the copies
  i32 mask_at, parts_at, ends_at, stage_bytes; // bytes, of a stage; the copy of the input lies at 0
  i32 stages;
};

template <class P, int STEPS, int SCANNERS, int REDUCERS> struct ColumnStream {
  using In = typename P::In;
  using Out = typename P::Out;
  using Mask = typename P::Mask;
  using Acc = typename P::Acc;
  using Kept = typename P::Kept;
  using Op = typename P::Op;
  using R = Row<P>;
  static constexpr bool MASKED = P::mask != NO_MASK;
  static constexpr int LAST = P::rank - 1;
  static constexpr int MOST_STAGES = 16, PARTS_LOG = 4, MOST_PARTS = 1 << PARTS_LOG; // src/stream_cut.c keeps to them
  static constexpr i64 MOST_TILES = (P::length + STEPS - 1) / STEPS;
  static constexpr u32 NONE = ~0u;
  static_assert(sizeof(In) == sizeof(Out), "results take the place of elements");

  struct Shared {
    Arrival full[MOST_STAGES], empty[MOST_STAGES], reduced[MOST_STAGES], told[MOST_STAGES], looked[MOST_STAGES],
        scanned[MOST_STAGES];
    u32 tile[MOST_STAGES];
    u32 run;
  };

  const Rows<P::rank> &rows;
  const StreamCut &cut;
  Shared &shared;
  unsigned char *memory;
  int piece, column; // of the lane
  bool there;        // else they are another's

  RS_METHOD ColumnStream(const Rows<P::rank> &rows, const StreamCut &cut, Shared &shared, unsigned char *memory)
      : rows(rows), cut(cut), shared(shared), memory(memory) {
    int lane = (int)lane_index();
    there = lane < cut.columns << cut.pieces_log;
    piece = there ? lane / cut.columns : 0;
    column = there ? lane - piece * cut.columns : 0;
  }

  // One tile after another, of those that the block takes.
  struct Place {
    int stages, stage = 0;
    u32 phase = 0;
    RS_METHOD explicit Place(const StreamCut &cut) : stages(cut.stages) {
    }
    RS_METHOD void next() {
      if (++stage == stages) {
        stage = 0;
        phase ^= 1;
      }
    }
  };

  // A tile's place among the others. In reverse memory is swept from its end.
  struct Tile {
    u32 outer, number; // number along the length
    i64 first;         // step of the scan
    int count;         // steps
  };
  RS_METHOD u32 outers() const {
    return (u32)(rows.count / cut.columns);
  }
  RS_METHOD Tile tile_of(u32 turn) const {
    Tile tile;
    u32 outer = turn / (u32)cut.tiles;
    tile.number = turn - outer * (u32)cut.tiles;
    tile.outer = P::reverse ? outers() - 1 - outer : outer;
    tile.first = (i64)tile.number * cut.steps;
    tile.count = P::length - tile.first < cut.steps ? (int)(P::length - tile.first) : cut.steps;
    return tile;
  }
  RS_METHOD i64 at_outer(const i64 *stride, u32 outer) const {
    i64 at = 0;
#pragma unroll
    for (int d = LAST - 1; d >= 0; d--) {
      u32 size = (u32)rows.shape[d], i = d == 0 ? outer : outer % size;
      outer /= size;
      at += i * stride[d];
    }
    return at;
  }
  RS_METHOD Acc start(u32 outer, int column) const {
    if (!rows.init)
      return Op::neutral();
    i64 at = at_outer(rows.row_stride, outer) + column * rows.row_stride[LAST];
    return widen<Acc>(static_cast<const Kept *>(rows.init)[at]);
  }
  // Of a column's tiles, by their number.
  RS_METHOD Node<Acc> *nodes(u32 outer, int column) const {
    return reinterpret_cast<Node<Acc> *>(static_cast<TurnState *>(rows.workspace) + 1) +
           (outer * (u32)cut.columns + (u32)column) * (u32)cut.tiles;
  }

  RS_METHOD int piece_steps() const {
    return cut.steps >> cut.pieces_log;
  }
  RS_METHOD In *in(int stage) const {
    return reinterpret_cast<In *>(memory + stage * cut.stage_bytes);
  }
  RS_METHOD Mask *mask(int stage) const {
    return reinterpret_cast<Mask *>(memory + stage * cut.stage_bytes + cut.mask_at);
  }
  // By column: the prefixes before the tile and through it, and its total.
  RS_METHOD Acc *ends(int stage) const {
    return reinterpret_cast<Acc *>(memory + stage * cut.stage_bytes + cut.ends_at);
  }
  // What is kept of the lane's piece: totals of its parts, of aligned blocks of 2, 4, ... parts; then of its siblings.
  RS_METHOD Acc &kept(int stage, int row) const {
    return reinterpret_cast<Acc *>(memory + stage * cut.stage_bytes + cut.parts_at)[row * 32 + (int)lane_index()];
  }
  RS_METHOD int block_row(int d) const {
    int all = 2 << cut.parts_log;
    return all - (all >> d);
  }
  RS_METHOD int sibling_row(int d) const {
    return (2 << cut.parts_log) + d;
  }

  // The lanes' pieces of a tile, each a run in memory and in the copy: f(elements from the tile's outer, elements from
  // the copy's start, elements).
  template <class F> RS_METHOD void each_piece(const Tile &tile, int pitch, const F &f) const {
    int piece = (int)lane_index(), most = piece_steps(), before = piece * most;
    int count = tile.count - before < most ? tile.count - before : most;
    if (piece >= 1 << cut.pieces_log || count <= 0)
      return;
    i64 lowest = P::reverse ? P::length - tile.first - before - count : tile.first + before;
    int skip = P::reverse ? most - count : 0; // steps that the row does not have come first
    f(lowest * cut.columns, piece * pitch + skip * cut.columns, count * cut.columns);
  }

  RS_METHOD void load() const {
    TurnState *state = static_cast<TurnState *>(rows.workspace);
    u32 tiles = outers() * (u32)cut.tiles, all = tiles + block_count(); // each block takes one turn too many
    bool first_lane = lane_index() == 0;
    Place at(cut);
    for (int k = 0;; k++, at.next()) {
      Arrival *full = shared.full + at.stage;
      if (k >= cut.stages)
        arrival_wait(shared.empty + at.stage, at.phase ^ 1);
      // not before there is room: others wait for the totals of all tiles before theirs
      u32 next = shuffle_from(first_lane ? take_turn(state, all).number : 0, 0);
      if (first_lane)
        shared.tile[at.stage] = next < tiles ? next : NONE;
      if (next >= tiles) {
        if (first_lane)
          arrival_signal(full);
        return;
      }
      Tile tile = tile_of(next);
      constexpr u32 BYTES = (u32)sizeof(In) + (MASKED ? (u32)sizeof(Mask) : 0);
      if (first_lane)
        arrival_expect(full, (u32)(tile.count * cut.columns) * BYTES);
      warp_barrier();
      const In *from = static_cast<const In *>(rows.in) + at_outer(rows.in_stride, tile.outer);
      In *to = in(at.stage);
      each_piece(tile, cut.in_pitch, [&](i64 global, int copy, int count) {
        bulk_load(to + copy, from + global, count * (u32)sizeof(In), full);
      });
      if constexpr (MASKED) {
        const Mask *mask_from = static_cast<const Mask *>(rows.mask) + at_outer(rows.mask_stride, tile.outer);
        Mask *mask_to = mask(at.stage);
        each_piece(tile, cut.mask_pitch, [&](i64 global, int copy, int count) {
          bulk_load(mask_to + copy, mask_from + global, count * (u32)sizeof(Mask), full);
        });
      }
    }
  }
  // Waits for the tile of a place; false: there is none.
  RS_METHOD bool arrived(const Place &at, u32 &turn) const {
    arrival_wait(shared.full + at.stage, at.phase);
    turn = shared.tile[at.stage];
    return turn != NONE;
  }
  // What all lanes of the warp wrote to shared memory before is seen by those who wait.
  RS_METHOD static void signal(Arrival *arrival) {
    warp_barrier();
    if (lane_index() == 0)
      arrival_signal(arrival);
  }

  // First step of a part, in a copy.
  RS_METHOD int place_of(int part, int pitch) const {
    int step = P::reverse ? piece_steps() - 1 - part * STEPS : part * STEPS;
    return piece * pitch + step * cut.columns + column;
  }
  RS_METHOD int next_step() const {
    return P::reverse ? -cut.columns : cut.columns;
  }
  RS_METHOD void read(int stage, int part, Acc *x) const {
    const In *at = in(stage) + place_of(part, cut.in_pitch);
    const Mask *mask_at = MASKED ? mask(stage) + place_of(part, cut.mask_pitch) : nullptr;
    int next = next_step();
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      x[j] = widen<Acc>(R::hold(at[j * next], MASKED ? mask_at[j * next] : Mask{}));
  }

  // The lane's value of another piece.
  RS_METHOD Acc of_piece(Acc mine, int other) const {
    return shuffle_from(mine, (int)lane_index() + (there ? (other - piece) * cut.columns : 0));
  }
  // Totals of blocks of 2^D parts.
  template <int D> RS_METHOD void halve(int stage, const Acc *half, Acc *whole) const {
#pragma unroll
    for (int w = 0; w < MOST_PARTS >> D; w++) {
      whole[w] = Op::combine(half[2 * w], half[2 * w + 1]);
      if (D < cut.parts_log && w < (1 << cut.parts_log) >> D)
        kept(stage, block_row(D) + w) = whole[w];
    }
  }
  // Totals of larger and larger blocks, up to the tile's; all but that are kept.
  RS_METHOD Acc up(int stage) const {
    Acc one[MOST_PARTS], two[MOST_PARTS / 2], four[MOST_PARTS / 4];
#pragma unroll
    for (int w = 0; w < MOST_PARTS; w++) // parts that there are not change nothing
      one[w] = w < 1 << cut.parts_log ? kept(stage, w) : Op::neutral();
    halve<1>(stage, one, two);
    halve<2>(stage, two, four);
    halve<3>(stage, four, two);
    Acc mine = Op::combine(two[0], two[1]);
#pragma unroll
    for (int d = 0; d < 5; d++)
      if (d < cut.pieces_log) {
        Acc other = of_piece(mine, piece ^ 1 << d);
        kept(stage, sibling_row(d)) = other;
        mine = piece >> d & 1 ? Op::combine(other, mine) : Op::combine(mine, other);
      }
    return mine;
  }
  // The prefix before the lane's piece, given the one before the tile.
  RS_METHOD Acc before_piece(int stage, Acc carry) const {
#pragma unroll
    for (int d = 4; d >= 0; d--)
      if (d < cut.pieces_log && piece >> d & 1)
        carry = Op::combine(carry, kept(stage, sibling_row(d)));
    return carry;
  }
  RS_METHOD Acc before_part(int stage, int part, Acc carry) const {
#pragma unroll
    for (int d = PARTS_LOG - 1; d >= 0; d--)
      if (part >> d & 1)
        carry = Op::combine(carry, kept(stage, block_row(d) + (part >> d) - 1));
    return carry;
  }

  RS_METHOD void reduce(int reducer) const {
    u32 turn;
    for (Place at(cut); arrived(at, turn); at.next()) {
#pragma unroll 1
      for (int part = reducer; part < 1 << cut.parts_log; part += REDUCERS) {
        Acc x[STEPS];
        read(at.stage, part, x);
        kept(at.stage, part) = total<Op, STEPS>(x);
      }
      signal(shared.reduced + at.stage);
      if (reducer > 0)
        continue;
      Tile tile = tile_of(turn);
      arrival_wait(shared.reduced + at.stage, at.phase);
      Acc mine = up(at.stage);
      if (there && piece == 0) {
        nodes(tile.outer, column)[tile.number].tell(mine, shared.run);
        ends(at.stage)[2 * cut.columns + column] = mine;
      }
      signal(shared.told + at.stage);
    }
  }

  RS_METHOD void walk(int column) const {
    Walk<Op, MOST_TILES, Acc> walk(shared.run);
    u32 turn, outer = NONE;
    for (Place at(cut); arrived(at, turn); at.next()) {
      Tile tile = tile_of(turn);
      if (tile.outer != outer) {
        outer = tile.outer;
        walk.begin(nodes(outer, column), start(outer, column));
      }
      walk.gather(tile.number);
      arrival_wait(shared.told + at.stage, at.phase);
      Acc *known = ends(at.stage), carry, end;
      walk.pass(tile.number, known[2 * cut.columns + column], carry, end);
      if (lane_index() == 0) {
        known[column] = carry;
        known[cut.columns + column] = end;
        arrival_signal(shared.looked + at.stage);
      }
    }
  }

  RS_METHOD void scan(int scanner) const {
    u32 turn;
    for (Place at(cut); arrived(at, turn); at.next()) {
      Tile tile = tile_of(turn);
      arrival_wait(shared.looked + at.stage, at.phase);
      Acc first = before_piece(at.stage, ends(at.stage)[column]), after = of_piece(first, piece + 1);
      if (piece == (1 << cut.pieces_log) - 1)
        after = ends(at.stage)[cut.columns + column];
#pragma unroll 1
      for (int part = scanner; part < 1 << cut.parts_log; part += SCANNERS) {
        Acc x[STEPS], prefix[STEPS + 1]; // prefix[j]: of all elements before element j
        read(at.stage, part, x);
        carries<Op, STEPS>(before_part(at.stage, part, first), x, prefix);
        prefix[STEPS] = part == (1 << cut.parts_log) - 1 ? after : before_part(at.stage, part + 1, first);

        constexpr i64 TAIL = (P::length - 1) / STEPS * STEPS;
        i64 i = tile.first + piece * piece_steps() + part * STEPS;
        if (rows.totals && there && i == TAIL)
          static_cast<Kept *>(rows.totals)[at_outer(rows.row_stride, tile.outer) + column * rows.row_stride[LAST]] =
              (Kept)prefix[P::length - TAIL];
        if (P::exclusive && i == 0)
          prefix[0] = rows.init ? start(tile.outer, column) : Op::identity();
        const Acc *result = P::exclusive ? prefix : prefix + 1;
        Out *to = reinterpret_cast<Out *>(in(at.stage)) + place_of(part, cut.in_pitch);
        int next = next_step();
        if (there)
#pragma unroll
          for (int j = 0; j < STEPS; j++)
            to[j * next] = Narrow<Out>::from(result[j]);
      }
      bulk_publish();
      signal(shared.scanned + at.stage);
    }
  }

  // A tile is on its way while the one before is still read: a multiprocessor's share of the memory takes 2 us for
  // each.
  RS_METHOD void store() const {
    u32 turn;
    int behind = 0; // tiles whose stage is not free
    Place oldest(cut);
    for (Place at(cut); arrived(at, turn); at.next()) {
      Tile tile = tile_of(turn);
      bool whole = tile.count == cut.steps; // every piece is there
      Out *to = static_cast<Out *>(rows.out) + at_outer(rows.out_stride, tile.outer);
      const Out *from = reinterpret_cast<const Out *>(in(at.stage));
      arrival_wait(shared.scanned + at.stage, at.phase);
      bulk_publish(); // once more: each scanner has for its own words
      each_piece(tile, cut.in_pitch, [&](i64 global, int copy, int count) {
        bulk_store(to + global, from + copy, count * (u32)sizeof(Out));
      });
      if (whole)
        bulk_wait_own<1>();
      else
        bulk_wait_own();
      for (behind++; behind > whole; behind--, oldest.next())
        signal(shared.empty + oldest.stage);
    }
    bulk_wait_own();
  }
};

template <class P, int STEPS, int SCANNERS, int REDUCERS>
RS_DEVICE void scan_stream_columns(const Rows<P::rank> &rows, const StreamCut &cut) {
  using M = ColumnStream<P, STEPS, SCANNERS, REDUCERS>;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED typename M::Shared shared;
  M stream(rows, cut, shared, memory);
  if (thread_index() == 0) {
    arrivals_init(shared.full, M::MOST_STAGES);
    arrivals_init(shared.empty, M::MOST_STAGES);
    arrivals_init(shared.reduced, M::MOST_STAGES, REDUCERS);
    arrivals_init(shared.told, M::MOST_STAGES);
    arrivals_init(shared.looked, M::MOST_STAGES, (u32)cut.columns);
    arrivals_init(shared.scanned, M::MOST_STAGES, SCANNERS);
    shared.run = current_run(static_cast<const TurnState *>(rows.workspace));
  }
  block_barrier();
  int warp = (int)thread_index() / 32;
  if (warp < SCANNERS)
    stream.scan(warp);
  else if (warp < SCANNERS + REDUCERS)
    stream.reduce(warp - SCANNERS);
  else if (warp == SCANNERS + REDUCERS)
    stream.load();
  else if (warp == SCANNERS + REDUCERS + 1)
    stream.store();
  else if (warp - (SCANNERS + REDUCERS + 2) < cut.columns) // a walker each; there are enough
    stream.walk(warp - (SCANNERS + REDUCERS + 2));
}
