// stream_columns.cuh - regime column, from sm_90 on: few columns that fill memory, in a stream
// SPDX-License-Identifier: MIT
//
// As stream.cuh, for rows that lie side by side: blocks that stay, each with a ring of tiles in work and warps with
// roles. A tile is a run of memory, so many steps of all columns, wherever it begins. Its copy lies in pieces along the
// steps, one bulk copy each, so far from one another that lanes which read the same step of different pieces keep out
// of each other's banks. A lane has one column of one piece; all of a tile's make up a warp. Each piece has parts of
// STEPS steps, those that a lane has in registers at a time. Results take the place of elements.
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
    u32 tile[MOST_STAGES], shift[MOST_STAGES]; // shift: of the copies from a word, elements; in halves, input and mask
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

  // Copies keep the offset from a word that their originals have, which all tiles of an outer share.
  template <class E> RS_METHOD int shift_of(const E *run) const {
    return (int)(reinterpret_cast<u64>(P::reverse ? run + P::length * cut.columns : run) % 16 / sizeof(E));
  }
  // A piece of a tile: elements of the outer's run, from one on, and where that one is in the copy.
  struct Piece {
    i64 from;
    int place, count;
  };
  RS_METHOD Piece piece_of(const Tile &tile, int piece, int pitch, int shift) const {
    int most = piece_steps(), before = piece * most;
    int count = tile.count - before < most ? tile.count - before : most;
    if (piece >= 1 << cut.pieces_log || count <= 0)
      return {0, 0, 0};
    i64 lowest = P::reverse ? P::length - tile.first - before - count : tile.first + before;
    int skip = P::reverse ? most - count : 0; // steps that the row does not have come first
    return {lowest * cut.columns, piece * pitch + skip * cut.columns + shift, count * cut.columns};
  }
  // One input of an outer.
  template <class E> struct Source {
    static constexpr int UNIT = 16 / (int)sizeof(E);
    const E *run;
    i64 head, end;   // the first element in a whole word, and the one after the last
    int rest, shift; // elements in no whole word; none: each tile is whole words
  };
  template <class E> RS_METHOD Source<E> source(const void *from, const i64 *stride, u32 outer) const {
    constexpr int UNIT = Source<E>::UNIT;
    const E *run = static_cast<const E *>(from) + at_outer(stride, outer);
    i64 all = P::length * cut.columns, head = (i64)((0 - reinterpret_cast<u64>(run)) % 16 / sizeof(E));
    head = head < all ? head : all;
    i64 body = (all - head) / UNIT * UNIT;
    return {run, head, head + body, (int)(all - body), shift_of(run)};
  }
  // The lane's piece of a tile in whole words, those at its ends included as far as the run has them.
  template <class E> RS_METHOD Piece words_of(const Source<E> &source, const Tile &tile, int pitch) const {
    constexpr int UNIT = Source<E>::UNIT;
    Piece piece = piece_of(tile, (int)lane_index(), pitch, source.shift);
    int low = piece.place % UNIT;
    i64 from = piece.from - low, to = from + (low + piece.count + UNIT - 1) / UNIT * UNIT;
    from = from > source.head ? from : source.head;
    to = to < source.end ? to : source.end;
    if (piece.count == 0 || to <= from)
      return {0, 0, 0};
    return {from, piece.place + (int)(from - piece.from), (int)(to - from)};
  }
  template <class E> RS_METHOD static void bring(const Source<E> &source, const Piece &words, E *copy, Arrival *full) {
    if (words.count)
      bulk_load(copy + words.place, source.run + words.from, words.count * (u32)sizeof(E), full);
  }
  // Those of the run's elements in no whole word that the tile has; whether the lane had one.
  template <class E> RS_METHOD bool bring_rest(const Source<E> &source, const Tile &tile, int pitch, E *copy) const {
    int i = (int)lane_index();
    if (i >= source.rest)
      return false;
    i64 at = i < source.head ? i : source.end - source.head + i;
    i64 past = P::length - tile.first - cut.steps, low = (P::reverse ? past : tile.first) * cut.columns,
        in_tile = at - low;
    if (in_tile < 0 || in_tile >= (i64)cut.steps * cut.columns)
      return false;
    int size = piece_steps() * cut.columns, piece = (int)in_tile / size, in_piece = (int)in_tile - piece * size;
    if (P::reverse)
      piece = (1 << cut.pieces_log) - 1 - piece;
    copy[piece * pitch + in_piece + source.shift] = load_element(source.run + at);
    return true;
  }
  RS_METHOD static u32 sum_of_lanes(u32 mine) {
#pragma unroll
    for (int d = 0; d < 5; d++)
      mine += shuffle_xor(mine, 1 << d);
    return mine;
  }

  RS_METHOD void load() const {
    TurnState *state = static_cast<TurnState *>(rows.workspace);
    u32 tiles = outers() * (u32)cut.tiles, all = tiles + block_count(); // each block takes one turn too many
    bool first_lane = lane_index() == 0;
    Source<In> in_source{};
    Source<Mask> mask_source{};
    u32 outer = NONE;
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
        arrival_signal(full);
        return;
      }
      Tile tile = tile_of(next);
      if (tile.outer != outer) {
        outer = tile.outer;
        in_source = source<In>(rows.in, rows.in_stride, outer);
        if constexpr (MASKED)
          mask_source = source<Mask>(rows.mask, rows.mask_stride, outer);
      }
      Piece in_words = words_of(in_source, tile, cut.in_pitch), mask_words{0, 0, 0};
      if constexpr (MASKED)
        mask_words = words_of(mask_source, tile, cut.mask_pitch);
      u32 bytes = (u32)(tile.count * cut.columns) * (u32)(sizeof(In) + (MASKED ? sizeof(Mask) : 0));
      if (in_source.rest || mask_source.rest) {
        bool rest = bring_rest(in_source, tile, cut.in_pitch, in(at.stage));
        if constexpr (MASKED)
          rest = bring_rest(mask_source, tile, cut.mask_pitch, mask(at.stage)) || rest;
        if (any_lane(rest))
          bulk_publish(); // a bulk copy will write over it
        bytes = sum_of_lanes(in_words.count * (u32)sizeof(In) + mask_words.count * (u32)sizeof(Mask));
      }
      if (first_lane) {
        shared.shift[at.stage] = (u32)in_source.shift | (u32)mask_source.shift << 16;
        arrival_expect(full, bytes);
      }
      warp_barrier(); // no copy before it is expected
      if (!first_lane)
        arrival_signal(full);
      bring(in_source, in_words, in(at.stage), full);
      if constexpr (MASKED)
        bring(mask_source, mask_words, mask(at.stage), full);
    }
  }
  // Waits for the tile of a place; false: there is none.
  RS_METHOD bool arrived(const Place &at, u32 &turn) const {
    arrival_wait(shared.full + at.stage, at.phase);
    turn = shared.tile[at.stage];
    return turn != NONE;
  }
  // What the lanes of the warp wrote to shared memory before is seen by those who wait; each signals for itself.
  RS_METHOD static void signal(Arrival *arrival) {
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
  RS_METHOD In *in_part(int stage, int part) const {
    return in(stage) + (shared.shift[stage] & 0xffff) + place_of(part, cut.in_pitch);
  }
  RS_METHOD void read(int stage, int part, Acc *x) const {
    const In *at = in_part(stage, part);
    const Mask *mask_at = nullptr;
    if (MASKED)
      mask_at = mask(stage) + (shared.shift[stage] >> 16) + place_of(part, cut.mask_pitch);
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
        Out *to = reinterpret_cast<Out *>(in_part(at.stage, part));
        int next = next_step();
        warp_barrier(); // lanes that are not there have read others' elements
        if (there)
#pragma unroll
          for (int j = 0; j < STEPS; j++)
            to[j * next] = Narrow<Out>::from(result[j]);
      }
      bulk_publish();
      signal(shared.scanned + at.stage);
    }
  }

  // Elements of a piece of a tile in no whole word, by all lanes.
  RS_METHOD void store_edges(const Tile &tile, int shift, Out *to, const Out *from) const {
    constexpr int UNIT = 16 / (int)sizeof(Out);
#pragma unroll 1
    for (int k = (int)lane_index(); k < 2 * UNIT << cut.pieces_log; k += 32) {
      int edge = k % (2 * UNIT), i = edge % UNIT;
      Piece piece = piece_of(tile, k / (2 * UNIT), cut.in_pitch, shift);
      int head = (UNIT - piece.place % UNIT) % UNIT;
      head = head < piece.count ? head : piece.count;
      int tail = (piece.count - head) % UNIT;
      if (edge < UNIT ? i < head : i < tail) {
        int at = edge < UNIT ? i : piece.count - 1 - i;
        store_element(to + piece.from + at, from[piece.place + at]);
      }
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
      int shift = (int)(shared.shift[at.stage] & 0xffff);
      Out *to = static_cast<Out *>(rows.out) + at_outer(rows.out_stride, tile.outer);
      const Out *from = reinterpret_cast<const Out *>(in(at.stage));
      Piece piece = piece_of(tile, (int)lane_index(), cut.in_pitch, shift);
      constexpr int UNIT = 16 / (int)sizeof(Out);
      int head = (UNIT - piece.place % UNIT) % UNIT, body = (piece.count - head) / UNIT * UNIT;
      arrival_wait(shared.scanned + at.stage, at.phase);
      bulk_publish(); // once more: each scanner has for its own words
      if (body > 0)
        bulk_store(to + piece.from + head, from + piece.place + head, body * (u32)sizeof(Out));
      if (!whole || shift)
        store_edges(tile, shift, to, from);
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
    arrivals_init(shared.full, M::MOST_STAGES, 32);
    arrivals_init(shared.empty, M::MOST_STAGES, 32);
    arrivals_init(shared.reduced, M::MOST_STAGES, 32 * REDUCERS);
    arrivals_init(shared.told, M::MOST_STAGES, 32);
    arrivals_init(shared.looked, M::MOST_STAGES, (u32)cut.columns);
    arrivals_init(shared.scanned, M::MOST_STAGES, 32 * SCANNERS);
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
