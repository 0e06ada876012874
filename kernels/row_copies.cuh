// row_copies.cuh - tiles of a row in shared memory: copies of its inputs, and results on their way out
// SPDX-License-Identifier: MIT
//
// WORDS: rows begin on words of 16 bytes, and a tile's copy does, too. Else it keeps the offset from a word that the
// row has (offset.cuh). Whole words travel by bulk copies: on the way in a word at the border of two tiles comes with
// both, on the way out each warp stores those of its part. The few elements around them, if there may be any, go one by
// one. Nothing outside the row is touched.
#pragma once
#include "inputs.cuh"
#include "offset.cuh"
#include "run.cuh"
#include "stages.cuh"
#include "tile.cuh"

// Copies lie as their originals do from a multiple of 128 bytes, so that a line comes to a line (the f32 rows of
// offset.cuh: 0.875 if from a multiple of 16).
enum { PLACE = 128 };

// Copies of one input of a row of P, in tiles of ELEMENTS. Of elements E that are tuples, what is counted are their
// units; positions are counted in memory, from the row's lowest one. LAGS: with the element before a tile's.
template <class P, int ELEMENTS, class E, bool WORDS, bool LAGS = false> struct RowCopies {
  using Index = typename Row<P>::Index;
  using One = typename Units<E>::Unit;
  static constexpr int SIZE = (int)sizeof(One), UNIT = UNIT_OF<One>, TILE = ELEMENTS * Units<E>::COUNT;
  static constexpr Index LENGTH = (Index)P::length * Units<E>::COUNT;
  static constexpr bool ALL_IN_WORDS = WORDS && LENGTH % UNIT == 0;
  // A word of what comes before a tile, in the order of the scan.
  static constexpr int BEFORE = LAGS && !P::reverse ? UNIT : 0, BYTES_BEFORE = BEFORE ? WORDS ? 16 : PLACE : 0;
  static constexpr int BYTES = TILE * SIZE + (WORDS ? LAGS * 16 : (1 + LAGS) * PLACE);
  static_assert(WORDS || TILE * SIZE % PLACE == 0, "all tiles have one offset");

  const One *low;
  int shift; // of a tile's first unit in its copy

  RS_METHOD explicit RowCopies(const E *first)
      : low(reinterpret_cast<const One *>(P::reverse && first ? first - ((Index)P::length - 1) : first)) {
    shift = WORDS ? 0 : (int)(reinterpret_cast<u64>(P::reverse ? low + LENGTH : low) % PLACE / SIZE);
  }
  // Where the copy's tile has unit 0 if it is not shifted.
  RS_METHOD static One *copy(unsigned char *memory) {
    return reinterpret_cast<One *>(memory + BYTES_BEFORE);
  }
  // Once a tile, in one thread: not worth registers.
  RS_METHOD WholeWords<Index> words() const {
    if constexpr (WORDS)
      return {P::reverse ? LENGTH % UNIT : 0, LENGTH / UNIT * UNIT};
    u32 address = (u32) reinterpret_cast<u64>(low);
    forget(address);
    return WholeWords<Index>::template behind<One>((int)(address % 16) / SIZE, LENGTH);
  }
  // Of the units in no whole word, less than 32, the one that a lane has; negative: none.
  RS_METHOD Index rest_at() const {
    WholeWords<Index> all = words();
    int i = (int)lane_index();
    return ALL_IN_WORDS || i >= LENGTH - all.body ? -1 : i < all.head ? i : all.body + i;
  }
  RS_METHOD static Index base(Index tile) {
    return P::reverse ? LENGTH - (tile + 1) * TILE : tile * TILE;
  }
  // f(where it is in a tile), if a unit is there, or is the one before it.
  template <class F> RS_METHOD static void place(Index tile, Index at, const F &f) {
    Index in_tile = at - base(tile);
    if (at >= 0 && in_tile >= (BEFORE ? -1 : 0) && in_tile < TILE + (LAGS && P::reverse))
      f((int)in_tile);
  }
  // The whole words that have units of a tile; and their copies.
  RS_METHOD Span<Index> span(Index tile) const {
    if constexpr (WORDS && LENGTH % TILE == 0 && !LAGS)
      return {base(tile), TILE};
    return words().template around<One>(base(tile) - BEFORE, shift % UNIT, TILE + (LAGS ? UNIT : 0));
  }
  RS_METHOD void load(unsigned char *memory, Index tile, Span<Index> s, Filling to) const {
    to.load(copy(memory) + shift + (int)(s.from - base(tile)), low + s.from, s.count * (u32)SIZE);
  }
  // A lane's N elements, the lowest in memory `at` from the tile's; ORDERED: see read_placed().
  template <int N, bool ORDERED = true> RS_METHOD static auto read(const One *copy, int shift, int at) {
    if constexpr (WORDS)
      return shared_vector<One, N * Units<E>::COUNT>(copy + at * Units<E>::COUNT);
    else
      return read_placed<E, N, ORDERED>(reinterpret_cast<const E *>(copy), shift, at);
  }
};

// The same, and of a row's units in no whole word the one that this lane brings as its tile comes. EARLY: the first
// warp of a block reads it once, before that.
template <class P, int ELEMENTS, class E, bool WORDS, bool LAGS, bool EARLY>
struct RowSource : RowCopies<P, ELEMENTS, E, WORDS, LAGS> {
  using Base = RowCopies<P, ELEMENTS, E, WORDS, LAGS>;
  using Index = typename Base::Index;
  using One = typename Base::One;
  static constexpr bool READS = EARLY && !Base::ALL_IN_WORDS;

  Index rest_at;
  One rest;

  RS_METHOD explicit RowSource(const E *first) : Base(first), rest_at(-1), rest() {
    if constexpr (READS) {
      rest_at = Base::rest_at();
      if (thread_index() < 32 && rest_at >= 0)
        rest = load_element(this->low + rest_at);
    }
  }
  // Returns whether the tile has it.
  RS_METHOD bool put_rest(unsigned char *memory, Index tile) const {
    bool there = false;
    const Index from = READS ? rest_at : Base::rest_at();
    Base::place(tile, from, [&](int at) {
      Base::copy(memory)[this->shift + at] = READS ? rest : load_element(this->low + from);
      there = true;
    });
    return there;
  }
};

// ---- a list of inputs
// ------------------------------------------------------------------------------------------------

template <class P, int ELEMENTS, bool WORDS, bool EARLY, class L = typename InputsOf<P>::type> struct RowInputs;
template <class P, int ELEMENTS, bool WORDS, bool EARLY> struct RowInputs<P, ELEMENTS, WORDS, EARLY, List<>> {
  using Index = typename Row<P>::Index;
  static constexpr int COUNT = 0, BYTES = 0;
  static constexpr bool ALL_IN_WORDS = true;
  struct Spans {
    RS_METHOD u32 bytes() const {
      return 0;
    }
  };
  struct Shifts {
    RS_METHOD u64 packed() const {
      return 0;
    }
    RS_METHOD static Shifts unpacked(u64) {
      return {};
    }
  };
  RS_METHOD explicit RowInputs(const Row<P> &) {
  }
  RS_METHOD Spans spans(Index) const {
    return {};
  }
  RS_METHOD Shifts shifts() const {
    return {};
  }
  RS_METHOD void load(unsigned char *, Index, const Spans &, Filling) const {
  }
  RS_METHOD bool put_rest(unsigned char *, Index) const {
    return false;
  }
  template <int N, bool ORDERED> RS_METHOD static NoVectors read(unsigned char *, const Shifts &, int) {
    return {};
  }
};
template <class P, int ELEMENTS, bool WORDS, bool EARLY, class I, class... Rest>
struct RowInputs<P, ELEMENTS, WORDS, EARLY, List<I, Rest...>> {
  using Own = RowSource<P, ELEMENTS, typename I::Type, WORDS, I::LAGS, EARLY>;
  using Others = RowInputs<P, ELEMENTS, WORDS, EARLY, List<Rest...>>;
  using Index = typename Own::Index;
  static constexpr int COUNT = 1 + Others::COUNT, BYTES = Own::BYTES + Others::BYTES; // of a tile, all copies
  static constexpr bool ALL_IN_WORDS = Own::ALL_IN_WORDS && Others::ALL_IN_WORDS;
  struct Spans {
    Span<Index> own;
    typename Others::Spans others;
    RS_METHOD u32 bytes() const {
      return own.count * (u32)Own::SIZE + others.bytes();
    }
  };
  // Of each input, the place of a tile's first unit in its copy; 8 bits of a word.
  struct Shifts {
    int own;
    typename Others::Shifts others;
    RS_METHOD u64 packed() const {
      return (u64)own | others.packed() << 8;
    }
    RS_METHOD static Shifts unpacked(u64 word) {
      return {(int)(word & 0xff), Others::Shifts::unpacked(word >> 8)};
    }
  };
  static_assert(COUNT <= 8 && PLACE <= 256, "shifts fit a word");

  Own own;
  Others others;

  RS_METHOD explicit RowInputs(const Row<P> &row) : own(row.template first<I::WHICH>()), others(row) {
  }
  // The whole words of all inputs that have elements of a tile. One thread expects them, and loads.
  RS_METHOD Spans spans(Index tile) const {
    return {own.span(tile), others.spans(tile)};
  }
  RS_METHOD Shifts shifts() const {
    return {own.shift, others.shifts()};
  }
  RS_METHOD void load(unsigned char *memory, Index tile, const Spans &spans, Filling to) const {
    own.load(memory, tile, spans.own, to);
    others.load(memory + Own::BYTES, tile, spans.others, to);
  }
  // By a warp: the elements of a tile in no whole word. Returns whether the lane had any.
  RS_METHOD bool put_rest(unsigned char *memory, Index tile) const {
    bool there = own.put_rest(memory, tile);
    return others.put_rest(memory + Own::BYTES, tile) || there;
  }
  // A lane's N elements of each input, the lowest in memory `low` from the tile's. ORDERED: else in any order that
  // leaves their total.
  template <int N, bool ORDERED = true>
  RS_METHOD static auto read(unsigned char *memory, const Shifts &shifts, int low) {
    auto *copy = Own::copy(memory);
    auto x = Own::template read < N, ORDERED || (COUNT > 1) > (copy, shifts.own, low);
    auto more = Others::template read<N, true>(memory + Own::BYTES, shifts.others, low);
    if constexpr (I::LAGS)
      return vectors<I::WHICH>(x, copy[shifts.own + (P::reverse ? low + N : low - 1)], more);
    else
      return vectors<I::WHICH>(x, Nothing{}, more);
  }
};

// ---- results
// ---------------------------------------------------------------------------------------------------------

// A warp's part of a tile's results of one output, which shared memory takes at their offset in memory; in units, too.
template <class P, class S, class E, bool WORDS, bool BY_WARPS> struct PartOut {
  using T = TileInRegisters<P, S>;
  using Index = typename T::Index;
  using One = typename Units<E>::Unit;
  static constexpr int K = Units<E>::COUNT, WARP = S::ELEMENTS / S::WARPS * K, SLACK = WORDS ? 0 : PLACE;
  static constexpr int SIZE = (int)sizeof(One), WARP_BYTES = WARP * SIZE + SLACK;
  static constexpr int BYTES = BY_WARPS ? S::WARPS * WARP_BYTES : S::WARPS * WARP * SIZE + SLACK;
  static_assert(WORDS || (BY_WARPS ? WARP : S::WARPS * WARP) * SIZE % PLACE == 0, "all tiles have one offset");

  Index first; // unit of the part
  int count;   // how many there are in the row
  E *row;
  One *copy; // the place of its lowest unit, in the row or not

  // Of the tile that starts at element `tile`.
  RS_METHOD PartOut(Index tile, E *row, unsigned char *memory) : first(tile * K + (Index)T::warp() * WARP), row(row) {
    Index left = T::LENGTH * K - first;
    count = T::WHOLE || left >= WARP ? WARP : left > 0 ? (int)left : 0;
    int shift = WORDS ? 0 : (int)(reinterpret_cast<u64>(P::reverse ? row + 1 : row) % PLACE / sizeof(One));
    if (BY_WARPS)
      copy = reinterpret_cast<One *>(memory + T::warp() * WARP_BYTES) + shift;
    else
      copy = reinterpret_cast<One *>(memory) + shift + (P::reverse ? S::WARPS - 1 - T::warp() : T::warp()) * WARP;
  }
  // A lane's results from element i on.
  RS_METHOD void write(Index i, const Vector<One, S::VECTOR * K> &y) const {
    int in_part = (int)(i * K - first), at = P::reverse ? WARP - in_part - S::VECTOR * K : in_part;
    if constexpr (WORDS)
      share_vector<One, S::VECTOR * K>(copy + at, y);
    else
      Turned<One, S::VECTOR * K>::write(copy + at, y);
  }
  // When the warp has written all, and passed a bulk_fence().
  RS_METHOD void send() const {
    const One *from = P::reverse ? copy + (WARP - count) : copy;
    One *to = reinterpret_cast<One *>(row) + (P::reverse ? -(i64)(first + count - K) : (i64)first);
    auto words = WORDS && T::WHOLE ? WholeWords<int>{0, WARP} : WholeWords<int>::of(to, count);
    int i = (int)T::lane();
    if (i == 0 && words.body)
      bulk_store(to + words.head, from + words.head, words.body * (u32)SIZE);
    if (i < count - words.body) {
      i = i < words.head ? i : words.body + i;
      store_element(to + i, from[i]);
    }
  }
};

// All outputs, one or two, with room for BYTES of a tile's results; or, BY_WARPS, for what each warp has of any tile.
template <class P, class S, bool WORDS, bool BY_WARPS> struct RowOutputs {
  RS_TYPES_OF(P);
  using T = TileInRegisters<P, S>;
  using Index = typename T::Index;
  template <class E> using Part = PartOut<P, S, E, WORDS, BY_WARPS>;
  using Second = typename FurtherOf<P>::Second;
  static constexpr int COUNT = HAS_SECOND<P> ? 2 : 1; // bulk stores that a warp has under way of a tile
  static constexpr int BYTES = Part<Out>::BYTES + (HAS_SECOND<P> ? Part<Second>::BYTES : 0);

  const R &row;

  // Stores a warp's part of the prefixes of the tile that starts at element `first`. PENDING: tiles of the warp before
  // this one, all but so many of which have left shared memory.
  template <int PENDING>
  RS_METHOD void store(const T &tile, Index first, Acc carry, Acc end, unsigned char *memory) const {
    Part<Out> part(first, row.out, memory);
    if (alike(!part.count))
      return;
    bulk_wait<PENDING * COUNT>();
    auto write = [&](int u, Index i, const Acc *value) {
      if constexpr (WEIGHS<P>)
        part.write(i, row.further.template output<Out, false, S::VECTOR>(tile.held[u].at, value, tile.params));
      else
        part.write(i, narrow_units<P, S::VECTOR>(value));
    };
    if constexpr (HAS_SECOND<P>) {
      Part<Second> other(first, row.further.second.at, memory + Part<Out>::BYTES);
      tile.down(row, first, carry, end, [&](int u, Index i, const Acc *value) {
        write(u, i, value);
        other.write(i, row.further.template output<Second, true, S::VECTOR>(tile.held[u].at, value, tile.params));
      });
      bulk_fence();
      part.send();
      other.send();
    } else {
      tile.down(row, first, carry, end, write);
      bulk_fence();
      part.send();
    }
  }
};
