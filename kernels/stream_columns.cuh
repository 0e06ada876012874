// stream_columns.cuh - regime column, from sm_90 on: columns that lie one run in memory, in a stream
// SPDX-License-Identifier: MIT
//
// As stream.cuh, for rows that lie side by side: blocks that stay, each with a ring of tiles in work and warps with
// roles. A tile is a run of memory, so many steps of all columns, wherever it begins. A lane has a column: one of 32
// that are neighbours or, where there are few, one of a piece of the tile. Pieces follow one another along the steps,
// one bulk copy each; they lie so far from one another that lanes which read the same step of different pieces keep out
// of each other's banks. Each piece has parts of STEPS steps, those that a lane has in registers at a time. Results
// take the place of elements.
#pragma once
#include "column_walk.cuh"
#include "rows.cuh"

// The second parameter of the kernel; rs_stream_cut of src/stream_cut.h.
struct StreamCut {
  i32 columns, bands;                          // bands: of 32 columns
  i32 steps, tiles;                            // of a tile, and tiles along the length
  i32 pieces_log, parts_log;                   // log2 of the pieces of a tile, and of the parts of a piece
  i32 in_pitch, mask_pitch;                    // elements between pieces, in the copies
  i32 mask_at, parts_at, ends_at, stage_bytes; // bytes, of a stage; the copy of the input lies at 0
  i32 stages;
  i32 ahead;              // turns from a tile to the one that it has brought to L2
  i32 scanners, reducers; // warps; besides MOVERS, and two for each band that walk
};

template <class P, int STEPS> struct ColumnStream {
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
  static constexpr int MOVERS = 2; // less than the stages: so each knows which tile its stage had
  static constexpr u32 NONE = ~0u;
  static_assert(sizeof(In) == sizeof(Out), "results take the place of elements");

  using Nodes = ColumnNodes<Acc>;
  using Near = NearTiles<Op, Acc>;

  struct Shared {
    Arrival turned[MOST_STAGES], full[MOST_STAGES], reduced[MOST_STAGES], told[MOST_STAGES], near[MOST_STAGES],
        looked[MOST_STAGES], scanned[MOST_STAGES];
    u32 tile[MOST_STAGES], shift[MOST_STAGES]; // shift: of the copies from a word, elements; in halves, input and mask
    u32 run;
    bool over; // all tiles are taken
  };

  const Rows<P::rank> &rows;
  const StreamCut &cut;
  Shared &shared;
  unsigned char *memory;

  struct Lane {
    int piece, column;
    bool there; // else they are another's
  };
  Lane lane; // where there is one band

  RS_METHOD ColumnStream(const Rows<P::rank> &rows, const StreamCut &cut, Shared &shared, unsigned char *memory)
      : rows(rows), cut(cut), shared(shared), memory(memory) {
    int i = (int)lane_index();
    lane.there = i < cut.columns << cut.pieces_log;
    lane.piece = lane.there ? i / cut.columns : 0;
    lane.column = lane.there ? i - lane.piece * cut.columns : 0;
  }
  // A column of a band, of the first piece.
  RS_METHOD Lane neighbour(int band) const {
    int column = band * 32 + (int)lane_index();
    bool there = column < cut.columns;
    return {0, there ? column : 0, there};
  }
  RS_METHOD Lane lane_of(int band) const {
    return cut.bands == 1 ? lane : neighbour(band);
  }

  // One tile after another, of those that the block takes.
  struct Place {
    int stages, stage;
    u32 phase;
    RS_METHOD explicit Place(const StreamCut &cut, int k = 0)
        : stages(cut.stages), stage(k % stages), phase(k / stages & 1) {
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
  RS_METHOD Nodes nodes() const {
    Node<Acc> *first = reinterpret_cast<Node<Acc> *>(static_cast<TurnState *>(rows.workspace) + 1);
    int slots = cut.pieces_log < Nodes::MOST_SLOTS_LOG ? cut.pieces_log : Nodes::MOST_SLOTS_LOG;
    return {first, shared.run, outers(), (u32)cut.tiles, (u32)cut.columns, slots};
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
  // Of a column: the prefixes before the tile and through it, its total, and what is near.
  enum End { BEFORE, THROUGH, TOTAL, NEAR };
  RS_METHOD Acc &end(int stage, int which, int column) const {
    return reinterpret_cast<Acc *>(memory + stage * cut.stage_bytes + cut.ends_at)[which * cut.columns + column];
  }
  // What is kept of a lane's piece: totals of its parts, of aligned blocks of 2, 4, ... parts; then of its siblings.
  RS_METHOD Acc &kept(int stage, int band, int row) const {
    int rows = (2 << cut.parts_log) + cut.pieces_log;
    return reinterpret_cast<Acc *>(memory + stage * cut.stage_bytes +
                                   cut.parts_at)[(band * rows + row) * 32 + (int)lane_index()];
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

  // What a warp knows of the tensor where its last tile was.
  struct Sources {
    Source<In> in;
    Source<Mask> mask;
    u32 outer;
  };
  RS_METHOD void load(const Place &at, u32 turn, Sources &from) const {
    Arrival *full = shared.full + at.stage;
    Tile tile = tile_of(turn);
    if (tile.outer != from.outer) {
      from.outer = tile.outer;
      from.in = source<In>(rows.in, rows.in_stride, tile.outer);
      if constexpr (MASKED)
        from.mask = source<Mask>(rows.mask, rows.mask_stride, tile.outer);
    }
    Piece in_words = words_of(from.in, tile, cut.in_pitch), mask_words{0, 0, 0};
    if constexpr (MASKED)
      mask_words = words_of(from.mask, tile, cut.mask_pitch);
    u32 bytes = (u32)(tile.count * cut.columns) * (u32)(sizeof(In) + (MASKED ? sizeof(Mask) : 0));
    if (from.in.rest || from.mask.rest) {
      bool rest = bring_rest(from.in, tile, cut.in_pitch, in(at.stage));
      if constexpr (MASKED)
        rest = bring_rest(from.mask, tile, cut.mask_pitch, mask(at.stage)) || rest;
      if (any_lane(rest))
        bulk_publish(); // a bulk copy will write over it
      bytes = sum_of_lanes(in_words.count * (u32)sizeof(In) + mask_words.count * (u32)sizeof(Mask));
    }
    if (lane_index() == 0) {
      shared.shift[at.stage] = (u32)from.in.shift | (u32)from.mask.shift << 16;
      arrival_expect(full, bytes);
    }
    warp_barrier(); // no copy before it is expected
    if (lane_index() != 0)
      arrival_signal(full);
    bring(from.in, in_words, in(at.stage), full);
    if constexpr (MASKED)
      bring(from.mask, mask_words, mask(at.stage), full);
    if (lane_index() == 0)
      prefetch(turn + (u32)cut.ahead, from);
  }
  // Elements of a tile that comes later to L2, where they are near: a stage waits for them a third less.
  RS_METHOD void prefetch(u32 turn, const Sources &from) const {
    if (turn >= outers() * (u32)cut.tiles)
      return;
    Tile tile = tile_of(turn);
    if (tile.outer != from.outer)
      return;
    constexpr int UNIT = Source<In>::UNIT;
    i64 first = (P::reverse ? P::length - tile.first - tile.count : tile.first) * cut.columns - from.in.head;
    i64 to = first + tile.count * cut.columns;
    first = first < 0 ? 0 : first / UNIT * UNIT;
    to = (to < from.in.end - from.in.head ? to : from.in.end - from.in.head) / UNIT * UNIT;
    if (first < to)
      bulk_prefetch(from.in.run + from.in.head + first, (u32)(to - first) * (u32)sizeof(In));
  }
  // Waits for the tile of a place; false: there is none.
  RS_METHOD bool arrived(const Place &at, u32 &turn) const {
    arrival_wait(shared.full + at.stage, at.phase);
    turn = shared.tile[at.stage];
    return turn != NONE;
  }

  // First step of a part, in a copy.
  RS_METHOD int place_of(const Lane &lane, int part, int pitch) const {
    int step = P::reverse ? piece_steps() - 1 - part * STEPS : part * STEPS;
    return lane.piece * pitch + step * cut.columns + lane.column;
  }
  RS_METHOD int next_step() const {
    return P::reverse ? -cut.columns : cut.columns;
  }
  RS_METHOD In *in_part(int stage, const Lane &lane, int part) const {
    return in(stage) + (shared.shift[stage] & 0xffff) + place_of(lane, part, cut.in_pitch);
  }
  RS_METHOD void read(int stage, const Lane &lane, int part, Acc *x) const {
    const In *at = in_part(stage, lane, part);
    const Mask *mask_at = nullptr;
    if (MASKED)
      mask_at = mask(stage) + (shared.shift[stage] >> 16) + place_of(lane, part, cut.mask_pitch);
    int next = next_step();
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      x[j] = widen<Acc>(R::hold(at[j * next], MASKED ? mask_at[j * next] : Mask{}));
  }

  // The lane's value of another piece.
  RS_METHOD Acc of_piece(Acc mine, int other) const {
    return shuffle_from(mine, (int)lane_index() + (lane.there ? (other - lane.piece) * cut.columns : 0));
  }
  // Totals of blocks of 2^D parts.
  template <int D> RS_METHOD void halve(int stage, int band, const Acc *half, Acc *whole) const {
#pragma unroll
    for (int w = 0; w < MOST_PARTS >> D; w++) {
      whole[w] = Op::combine(half[2 * w], half[2 * w + 1]);
      if (D < cut.parts_log && w < (1 << cut.parts_log) >> D)
        kept(stage, band, block_row(D) + w) = whole[w];
    }
  }
  // Totals of larger and larger blocks, up to the tile's; all but that are kept.
  RS_METHOD Acc up(int stage, int band) const {
    Acc one[MOST_PARTS], two[MOST_PARTS / 2], four[MOST_PARTS / 4];
#pragma unroll
    for (int w = 0; w < MOST_PARTS; w++) // parts that there are not change nothing
      one[w] = w < 1 << cut.parts_log ? kept(stage, band, w) : Op::neutral();
    halve<1>(stage, band, one, two);
    halve<2>(stage, band, two, four);
    halve<3>(stage, band, four, two);
    Acc mine = Op::combine(two[0], two[1]);
#pragma unroll
    for (int d = 0; d < 5; d++)
      if (d < cut.pieces_log) {
        Acc other = of_piece(mine, lane.piece ^ 1 << d);
        kept(stage, band, sibling_row(d)) = other;
        mine = lane.piece >> d & 1 ? Op::combine(other, mine) : Op::combine(mine, other);
      }
    return mine;
  }
  // The prefix before a lane's piece, given the one before the tile.
  RS_METHOD Acc before_piece(int stage, int band, Acc carry) const {
#pragma unroll
    for (int d = 4; d >= 0; d--)
      if (d < cut.pieces_log && lane.piece >> d & 1)
        carry = Op::combine(carry, kept(stage, band, sibling_row(d)));
    return carry;
  }
  RS_METHOD Acc before_part(int stage, int band, int part, Acc carry) const {
#pragma unroll
    for (int d = PARTS_LOG - 1; d >= 0; d--)
      if (part >> d & 1)
        carry = Op::combine(carry, kept(stage, band, block_row(d) + (part >> d) - 1));
    return carry;
  }

  // f(band, part) for the parts of all bands, of which each of `warps` takes its share.
  template <class F> RS_METHOD void each_part(int warp, int warps, const F &f) const {
    int parts = 1 << cut.parts_log;
#pragma unroll 1
    for (int i = warp; i < cut.bands * parts; i += warps)
      f(i >> cut.parts_log, i & (parts - 1));
  }
  // Reducers that tell a band's totals.
  RS_METHOD int tellers() const {
    return cut.bands < cut.reducers ? cut.bands : cut.reducers;
  }
  RS_METHOD void reduce(int reducer) const {
    Nodes all = nodes();
    u32 turn;
    for (Place at(cut); arrived(at, turn); at.next()) {
      each_part(reducer, cut.reducers, [&](int band, int part) {
        Acc x[STEPS];
        read(at.stage, lane_of(band), part, x);
        kept(at.stage, band, part) = total<Op, STEPS>(x);
      });
      arrival_signal(shared.reduced + at.stage);
      if (reducer >= tellers())
        continue;
      Tile tile = tile_of(turn);
      arrival_wait(shared.reduced + at.stage, at.phase);
#pragma unroll 1
      for (int band = reducer; band < cut.bands; band += cut.reducers) {
        Lane lane = lane_of(band);
        Acc mine = up(at.stage, band);
        if (lane.there && lane.piece == 0) {
          all.tile(tile.outer, tile.number, (u32)lane.column)->tell(mine, shared.run);
          end(at.stage, TOTAL, lane.column) = mine;
        }
      }
      arrival_signal(shared.told + at.stage);
    }
  }

  RS_METHOD void walk_near(int band) const {
    Nodes all = nodes();
    Lane lane = lane_of(band); // its piece is the slot
    bool tells = lane.there && lane.piece == 0;
    u32 column = (u32)lane.column, turn;
    for (Place at(cut); arrived(at, turn); at.next()) {
      Tile tile = tile_of(turn);
      Near near = near_tiles<Op>(all, tile.outer, tile.number, column, lane.piece,
                                 [&](int slot) { return (int)column + slot * cut.columns; });
      if (tells)
#pragma unroll
        for (int d = 0; d < Near::LEVELS; d++)
          if (d < all.group_log())
            end(at.stage, NEAR + d, lane.column) = near.digit[d];
      if (all.ends_group(tile.number)) {
        arrival_wait(shared.told + at.stage, at.phase);
        if (tells)
          all.group(tile.outer, all.group_of(tile.number), column)
              ->tell(near.with(end(at.stage, TOTAL, lane.column), all.group_log()), shared.run);
      }
      arrival_signal(shared.near + at.stage);
    }
  }
  RS_METHOD void walk_far(int band) const {
    FarWalk<Op, MOST_TILES, Acc> walk;
    Nodes all = nodes();
    Lane lane = neighbour(band);
    u32 turn, outer = NONE;
    for (Place at(cut); arrived(at, turn); at.next()) {
      Tile tile = tile_of(turn);
      if (tile.outer != outer) {
        outer = tile.outer;
        walk.begin(start(outer, lane.column));
      }
      walk.gather(all, outer, tile.number, (u32)lane.column);
      arrival_wait(shared.near + at.stage, at.phase);
      arrival_wait(shared.told + at.stage, at.phase);
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
      arrival_signal(shared.looked + at.stage);
    }
  }

  RS_METHOD void scan(int scanner) const {
    u32 turn;
    for (Place at(cut); arrived(at, turn); at.next()) {
      Tile tile = tile_of(turn);
      arrival_wait(shared.looked + at.stage, at.phase);
      each_part(scanner, cut.scanners, [&](int band, int part) {
        Lane lane = lane_of(band);
        Acc first = before_piece(at.stage, band, end(at.stage, BEFORE, lane.column)), after = first;
        if (cut.pieces_log > 0)
          after = of_piece(first, lane.piece + 1);
        if (lane.piece == (1 << cut.pieces_log) - 1)
          after = end(at.stage, THROUGH, lane.column);
        Acc x[STEPS], prefix[STEPS + 1]; // prefix[j]: of all elements before element j
        read(at.stage, lane, part, x);
        carries<Op, STEPS>(before_part(at.stage, band, part, first), x, prefix);
        prefix[STEPS] = part == (1 << cut.parts_log) - 1 ? after : before_part(at.stage, band, part + 1, first);

        constexpr i64 TAIL = (P::length - 1) / STEPS * STEPS;
        i64 i = tile.first + lane.piece * piece_steps() + part * STEPS;
        if (rows.totals && lane.there && i == TAIL)
          keep_total(tile.outer, lane.column, prefix[P::length - TAIL]);
        if (P::exclusive && i == 0)
          prefix[0] = rows.init ? start(tile.outer, lane.column) : Op::identity();
        const Acc *result = P::exclusive ? prefix : prefix + 1;
        Out *to = reinterpret_cast<Out *>(in_part(at.stage, lane, part));
        int next = next_step();
        warp_barrier(); // lanes that are not there have read others' elements
        if (lane.there)
#pragma unroll
          for (int j = 0; j < STEPS; j++)
            to[j * next] = Narrow<Out>::from(result[j]);
      });
      bulk_publish();
      arrival_signal(shared.scanned + at.stage);
    }
  }
  RS_METHOD void keep_total(u32 outer, int column, Acc total) const {
    i64 at = at_outer(rows.row_stride, outer) + column * rows.row_stride[LAST];
    static_cast<Kept *>(rows.totals)[at] = (Kept)total;
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
  // Starts to take away the results of a tile.
  RS_METHOD void store(const Place &at, u32 turn) const {
    Tile tile = tile_of(turn);
    arrival_wait(shared.scanned + at.stage, at.phase);
    int shift = (int)(shared.shift[at.stage] & 0xffff);
    Out *to = static_cast<Out *>(rows.out) + at_outer(rows.out_stride, tile.outer);
    const Out *from = reinterpret_cast<const Out *>(in(at.stage));
    Piece piece = piece_of(tile, (int)lane_index(), cut.in_pitch, shift);
    constexpr int UNIT = 16 / (int)sizeof(Out);
    int head = (UNIT - piece.place % UNIT) % UNIT, body = (piece.count - head) / UNIT * UNIT;
    bulk_publish(); // once more: each scanner has for its own words
    if (body > 0)
      bulk_store(to + piece.from + head, from + piece.place + head, body * (u32)sizeof(Out));
    if (tile.count < cut.steps || shift)
      store_edges(tile, shift, to, from);
  }

  // One of MOVERS warps that by turns take away a tile's results and bring another tile in their place. They ask for
  // its turn when it is known what comes before the old one, since the answer takes as long as what is left to do for
  // that; not earlier, since others wait for the totals of all tiles before theirs. Measured on an H200, 2097152 x 32
  // f32: a warp that loads and one that stores 0.804 of memcpy, of 16.9 us a tile 3.4 between its stage's end and the
  // next turn; two movers that ask when results begin to leave 0.839, so 0.847.
  RS_METHOD void move(int mover) const {
    TurnState *state = static_cast<TurnState *>(rows.workspace);
    u32 tiles = outers() * (u32)cut.tiles, all = tiles + block_count(); // each block takes one turn too many
    Sources from{{}, {}, NONE};
    for (int k = mover;; k += MOVERS) {
      Place at(cut, k);
      u32 old = NONE;
      if (k >= cut.stages) {
        old = shared.tile[at.stage];
        if (old == NONE)
          return;
        arrival_wait(shared.looked + at.stage, at.phase ^ 1);
      }
      if (k > 0) { // tiles of a block are in order
        Place before(cut, k - 1);
        arrival_wait(shared.turned + before.stage, before.phase);
      }
      bool asks = lane_index() == 0 && !shared.over;
      u64 word = asks ? ask_turn(state) : 0;
      if (old != NONE)
        store(Place(cut, k - cut.stages), old);
      bulk_wait_own();
      delay();
      u32 next = shuffle_from(asks ? answered_turn(state, word, all).number : NONE, 0);
      if (lane_index() == 0) {
        shared.tile[at.stage] = next < tiles ? next : NONE;
        shared.over = next >= tiles;
        arrival_signal(shared.turned + at.stage);
      }
      if (next < tiles)
        load(at, next, from);
      else if (next != NONE) // the block's one turn too many
        arrival_signal(shared.full + at.stage);
    }
  }
};

template <class P, int STEPS> RS_DEVICE void scan_stream_columns(const Rows<P::rank> &rows, const StreamCut &cut) {
  using M = ColumnStream<P, STEPS>;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED typename M::Shared shared;
  M stream(rows, cut, shared, memory);
  if (thread_index() == 0) { // each lane signals for what it wrote itself
    arrivals_init(shared.turned, M::MOST_STAGES);
    arrivals_init(shared.full, M::MOST_STAGES, 32);
    arrivals_init(shared.reduced, M::MOST_STAGES, 32 * cut.reducers);
    arrivals_init(shared.told, M::MOST_STAGES, 32 * stream.tellers());
    arrivals_init(shared.near, M::MOST_STAGES, 32 * cut.bands);
    arrivals_init(shared.looked, M::MOST_STAGES, 32 * cut.bands);
    arrivals_init(shared.scanned, M::MOST_STAGES, 32 * cut.scanners);
    shared.over = false;
    shared.run = current_run(static_cast<const TurnState *>(rows.workspace));
  }
  block_barrier();
  int warp = (int)thread_index() / 32, reduce = cut.scanners, move = reduce + cut.reducers, near = move + M::MOVERS,
      far = near + cut.bands;
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
