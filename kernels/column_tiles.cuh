// column_tiles.cuh - tiles of columns that lie one run in memory: where they are, and how they come and go
// SPDX-License-Identifier: MIT
//
// A tile is a run of memory, so many steps of all columns, wherever it begins. Its copy in shared memory lies in pieces
// along the steps, one bulk copy each, so far from one another that lanes which read the same step of different pieces
// keep out of each other's banks. Whole words of 16 bytes travel by bulk copies, elements in no whole word one by one.
// Results take the place of elements.
#pragma once
#include "cuts.h"
#include "rows.cuh"
#include "run.cuh"
#include "stages.cuh"

template <class P> struct ColumnTiles {
  RS_TYPES_OF(P);
  static_assert(sizeof(In) == sizeof(Out), "results take the place of elements");

  const Rows<P::rank> &rows;
  const StreamCut &cut;
  unsigned char *memory;

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
  RS_METHOD Offsets<P> at_outer(u32 outer) const {
    Offsets<P> at{};
    at.move_to(rows, at.LAST - 1, outer);
    return at;
  }
  // The run of an outer.
  template <class E> RS_METHOD E *run_of(int which, u32 outer) const {
    return rows.template data<E>(which) + at_outer(outer).of[which];
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
  // Copies keep the offset from a word that their originals have, which all tiles of an outer share.
  template <class E> RS_METHOD int shift_of(const E *run) const {
    return offset_of(P::reverse ? run + P::length * cut.columns : run);
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
    const E *run;
    WholeWords<i64> words;
    int rest, shift; // elements in no whole word; none: each tile is whole words
  };
  template <class E> RS_METHOD Source<E> source(int which, u32 outer) const {
    const E *run = run_of<E>(which, outer);
    i64 all = P::length * cut.columns;
    auto words = WholeWords<i64>::of(run, all);
    return {run, words, (int)(all - words.body), shift_of(run)};
  }
  // The lane's piece of a tile in whole words, those at its ends included as far as the run has them.
  template <class E> RS_METHOD Piece words_of(const Source<E> &source, const Tile &tile, int pitch) const {
    Piece piece = piece_of(tile, (int)lane_index(), pitch, source.shift);
    auto words = source.words.template around<E>(piece.from, piece.place % UNIT_OF<E>, piece.count);
    if (piece.count == 0 || words.count == 0)
      return {0, 0, 0};
    return {words.from, piece.place + (int)(words.from - piece.from), words.count};
  }
  template <class E> RS_METHOD static void bring(const Source<E> &source, const Piece &words, E *copy, Filling stage) {
    stage.load(copy + words.place, source.run + words.from, words.count * (u32)sizeof(E));
  }
  // Those of the run's elements in no whole word that the tile has; whether the lane had one.
  template <class E> RS_METHOD bool bring_rest(const Source<E> &source, const Tile &tile, int pitch, E *copy) const {
    int i = (int)lane_index();
    if (i >= source.rest)
      return false;
    i64 at = i < source.words.head ? i : source.words.body + i;
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
  // A warp calls it: starts to bring a tile to a stage and signals; each lane for what it wrote itself. shift: where
  // the copies begin after a word, elements; in halves, input and mask.
  RS_METHOD void load(int stage, u32 turn, Sources &from, Filling full, u32 &shift) const {
    Tile tile = tile_of(turn);
    if (tile.outer != from.outer) {
      from.outer = tile.outer;
      from.in = source<In>(RS_IN, tile.outer);
      if constexpr (MASKED)
        from.mask = source<Mask>(RS_MASK, tile.outer);
    }
    Piece in_words = words_of(from.in, tile, cut.in_pitch), mask_words{0, 0, 0};
    if constexpr (MASKED)
      mask_words = words_of(from.mask, tile, cut.mask_pitch);
    u32 bytes = (u32)(tile.count * cut.columns) * (u32)(sizeof(In) + (MASKED ? sizeof(Mask) : 0));
    if (from.in.rest || from.mask.rest) {
      bool rest = bring_rest(from.in, tile, cut.in_pitch, in(stage));
      if constexpr (MASKED)
        rest = bring_rest(from.mask, tile, cut.mask_pitch, mask(stage)) || rest;
      if (any_lane(rest))
        bulk_fence(); // a bulk copy will write over it
      bytes = sum_of_lanes(in_words.count * (u32)sizeof(In) + mask_words.count * (u32)sizeof(Mask));
    }
    if (lane_index() == 0) {
      shift = (u32)from.in.shift | (u32)from.mask.shift << 16;
      full.expect(bytes);
    }
    warp_barrier(); // no copy before it is expected
    if (lane_index() != 0)
      full.signal();
    bring(from.in, in_words, in(stage), full);
    if constexpr (MASKED)
      bring(from.mask, mask_words, mask(stage), full);
    if (lane_index() == 0)
      prefetch(turn + (u32)cut.ahead, from);
  }
  // Elements of a tile that comes later to L2: a stage has room for no more, and L2 has.
  RS_METHOD void prefetch(u32 turn, const Sources &from) const {
    if (turn >= outers() * (u32)cut.tiles)
      return;
    Tile tile = tile_of(turn);
    if (tile.outer != from.outer)
      return;
    constexpr int UNIT = UNIT_OF<In>;
    const WholeWords<i64> &words = from.in.words;
    i64 first = (P::reverse ? P::length - tile.first - tile.count : tile.first) * cut.columns - words.head;
    i64 to = first + tile.count * cut.columns;
    first = first < 0 ? 0 : first / UNIT * UNIT;
    to = (to < words.body ? to : words.body) / UNIT * UNIT;
    if (first < to)
      bulk_prefetch(from.in.run + words.head + first, (u32)(to - first) * (u32)sizeof(In));
  }
  // Elements of a piece of a tile in no whole word, by all lanes.
  RS_METHOD void store_edges(const Tile &tile, int shift, Out *to, const Out *from) const {
    constexpr int UNIT = UNIT_OF<Out>;
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
    bulk_fence(); // another tile will come to their place
  }
  // A warp calls it: starts to take away the results of a tile, which other warps have published.
  RS_METHOD void store(int stage, u32 turn, int shift) const {
    Tile tile = tile_of(turn);
    Out *to = run_of<Out>(RS_OUT, tile.outer);
    const Out *from = reinterpret_cast<const Out *>(in(stage));
    Piece piece = piece_of(tile, (int)lane_index(), cut.in_pitch, shift);
    auto words = WholeWords<int>::behind<Out>(piece.place % UNIT_OF<Out>, piece.count);
    bulk_fence(); // once more: each of them has for its own words
    if (words.body > 0)
      bulk_store(to + piece.from + words.head, from + piece.place + words.head, words.body * (u32)sizeof(Out));
    if (tile.count < cut.steps || shift)
      store_edges(tile, shift, to, from);
  }
};
