// offset.cuh - rows at any offset from 16 bytes: where tiles of them lie in shared memory, and how they come and go
// SPDX-License-Identifier: MIT
//
// Copies in shared memory keep the offset of their originals, so that whole words of 16 bytes travel by bulk copies. On
// the way in, a word at the border of two tiles comes with both; the few elements of a row in no whole word are read
// one by one. On the way out each warp stores the whole words of its part, and the elements around them one by one.
// Nothing outside the row is touched.
//
// A lane's vector then lies on no word of its own in shared memory. 8192 x 50257 on an H200, ratio to memcpy:
//   reads    writes     f32    bf16 (both 16 warps of 4 chunks)
//   plain    plain      0.807  0.509
//   shifted  plain      0.850
//   plain    turned     0.858
//   turned   turned     0.912  0.684
//   shifted  turned     0.904  0.691, and 0.922 with 8 warps of 4 chunks
// Shifted reads of f64 cost half of the speed (8192 x 8193: 0.931 turned, 0.414 shifted). So elements of 2 bytes, and
// of 1, are read shifted, all others turned.
#pragma once
#include "run.cuh"
#include "stages.cuh"
#include "tile.cuh"

// A lane's vector in shared memory, from any element on. Lanes side by side have neighbouring vectors; element by
// element, those whose vectors lie a multiple of 128 bytes apart would meet in a bank. So each takes its elements in an
// order of its own: word k of a vector in turn k ^ turn(), of as many words at a time as are a power of two.
template <class T, int N> struct Turned {
  static constexpr int SIZE = (int)sizeof(T), BYTES = N * SIZE & -(N * SIZE);
  static constexpr int WORD = SIZE > 4 ? SIZE : BYTES < 4 ? BYTES : 4, PER_WORD = WORD / SIZE, WORDS = N / PER_WORD;
  static constexpr int TURNS = BYTES / WORD;
  static constexpr bool SMALL = SIZE > 4 && sizeof(typename Columns<T>::One) < 4; // else numbers come one by one
  using W = typename Word<WORD>::type;
  union Both {
    Vector<T, N> vector;
    W word[WORDS];
    RS_METHOD Both() {
    }
  };

  RS_METHOD static u32 turn() {
    return lane_index() * BYTES / 128 % TURNS;
  }
  // Words k and k ^ turn change places.
  RS_METHOD static void swap(Both &x, u32 turn) {
#pragma unroll
    for (int bit = 1; bit < TURNS; bit *= 2)
#pragma unroll
      for (int k = 0; k < WORDS; k++)
        if (!(k & bit)) {
          auto low = x.word[k], high = x.word[k | bit];
          x.word[k] = turn & bit ? high : low;
          x.word[k | bit] = turn & bit ? low : high;
        }
  }
  // ORDERED: else words stay in the lane's own order.
  template <bool ORDERED> RS_METHOD static Vector<T, N> read(const T *at) {
    Both x;
#pragma unroll
    for (int i = 0; i < N; i++)
      if constexpr (SMALL)
        x.word[i] = reinterpret_cast<const W *>(at)[i ^ turn()];
      else
        x.vector.at[i] = at[((i / PER_WORD) ^ turn()) * PER_WORD + i % PER_WORD];
    if (ORDERED)
      swap(x, turn());
    return x.vector;
  }
  RS_METHOD static void write(T *at, const Vector<T, N> &vector) {
    Both x;
    x.vector = vector;
    swap(x, turn());
#pragma unroll
    for (int i = 0; i < N; i++)
      if constexpr (SMALL)
        share_word(reinterpret_cast<W *>(at) + (i ^ turn()), x.word[i]);
      else
        at[((i / PER_WORD) ^ turn()) * PER_WORD + i % PER_WORD] = x.vector.at[i];
  }
};

// Moves parts down by `by` < 2 * BIT, so that the first COUNT are right.
template <int COUNT, int ALL, int BIT> RS_DEVICE void shift_parts(u32 *part, u32 by) {
  constexpr int MOVED = COUNT + BIT < ALL - BIT ? COUNT + BIT : ALL - BIT;
#pragma unroll
  for (int i = 0; i < MOVED; i++)
    part[i] = by & BIT ? part[i + BIT] : part[i];
  if constexpr (BIT > 1)
    shift_parts<COUNT, ALL, BIT / 2>(part, by);
}

// The same for elements of 1 or 2 bytes, 4 bytes of them and more, from the whole words that hold the vector: from
// `at`, a multiple of a word, and `shift` elements on.
template <class T, int N> RS_DEVICE Vector<T, N> read_shifted(const T *at, u32 shift) {
  constexpr int BYTES = N * (int)sizeof(T), WORD = word_bytes(BYTES), COUNT = BYTES / 4, ALL = (BYTES + WORD) / 4;
  constexpr u32 PER_PART = 4 / sizeof(T);
  static_assert(PER_PART > 1 && COUNT > 0, "several to a part");
  using W = typename Word<WORD>::type;
  union Parts {
    W word[BYTES / WORD + 1];
    u32 part[ALL];
    RS_METHOD Parts() {
    }
  } x;
#pragma unroll
  for (int i = 0; i <= BYTES / WORD; i++)
    x.word[i] = reinterpret_cast<const W *>(at)[i];
  if constexpr (WORD > 4)
    shift_parts<COUNT, ALL, WORD / 8>(x.part, shift / PER_PART);
  Vector<T, N> y;
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    y.part[i] = funnel_right(x.part[i], x.part[i + 1], shift % PER_PART * (8 * (u32)sizeof(T)));
  return y;
}

// Copies lie as their originals do from a multiple of 128 bytes, so that a line comes to a line (the f32 rows above:
// 0.875 if from a multiple of 16).
enum { PLACE = 128 };

// Copies of one input of a row of P, in tiles of ELEMENTS. Of elements E that are tuples, what is counted are their
// units; positions are counted in memory, from the row's lowest one.
template <class P, int ELEMENTS, class E> struct RowCopies {
  using Index = typename Row<P>::Index;
  using One = typename Units<E>::Unit;
  static constexpr int SIZE = (int)sizeof(One), TILE = ELEMENTS * Units<E>::COUNT;
  static constexpr Index LENGTH = (Index)P::length * Units<E>::COUNT;
  static_assert(TILE * SIZE % PLACE == 0, "all tiles have one offset");

  const One *low;
  int shift; // of a tile's first unit in its copy

  RS_METHOD explicit RowCopies(const E *first)
      : low(reinterpret_cast<const One *>(P::reverse && first ? first - ((Index)P::length - 1) : first)) {
    shift = (int)(reinterpret_cast<u64>(P::reverse ? low + LENGTH : low) % PLACE / SIZE);
  }
  // Once a tile, in one thread: not worth registers.
  RS_METHOD WholeWords<Index> words() const {
    u32 address = (u32) reinterpret_cast<u64>(low);
    forget(address);
    return WholeWords<Index>::template behind<One>((int)(address % 16) / SIZE, LENGTH);
  }
  // Of the units in no whole word, less than 32, the one that a lane has; negative: none.
  RS_METHOD Index rest_at() const {
    WholeWords<Index> all = words();
    int i = (int)lane_index();
    return i >= LENGTH - all.body ? -1 : i < all.head ? i : all.body + i;
  }
  RS_METHOD static Index base(Index tile) {
    return P::reverse ? LENGTH - (tile + 1) * TILE : tile * TILE;
  }
  // Where a unit lies in a tile; negative: not there.
  RS_METHOD static int place(Index tile, Index at) {
    Index in_tile = at - base(tile);
    return at >= 0 && in_tile >= 0 && in_tile < TILE ? (int)in_tile : -1;
  }
  // The whole words that have units of a tile; and their copies.
  RS_METHOD Span<Index> span(Index tile) const {
    return words().template around<One>(base(tile), shift % UNIT_OF<One>, TILE);
  }
  RS_METHOD void load(One *copy, Index tile, Span<Index> s, Filling to) const {
    to.load(copy + shift + (int)(s.from - base(tile)), low + s.from, s.count * (u32)SIZE);
  }
};

// A lane's N elements of a tile, in units, from the tile's element `at` on, a multiple of N. shift: of the tile's first
// unit. ORDERED: else in any order that an exclusive or with a number makes of its elements'; their total is the same
// where the operator commutes.
template <class E, int N, bool ORDERED = true> RS_DEVICE auto read_placed(const E *copy, int shift, int at) {
  using One = typename Units<E>::Unit;
  constexpr int COUNT = N * Units<E>::COUNT;
  const One *from = reinterpret_cast<const One *>(copy);
  at *= Units<E>::COUNT;
  if constexpr (sizeof(One) <= 2 && COUNT * sizeof(One) % 4 == 0) {
    constexpr int WORD = word_bytes(COUNT * (int)sizeof(One)) / (int)sizeof(One);
    return read_shifted<One, COUNT>(from + shift / WORD * WORD + at, shift % WORD);
  } else {
    return Turned<One, COUNT>::template read<ORDERED>(from + shift + at);
  }
}

// A warp's part of a tile's results, which shared memory takes at their offset in memory; counted in units, too.
template <class P, class S> struct PartOut {
  RS_TYPES_OF(P);
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  using One = typename Units<Out>::Unit;
  static constexpr int K = Units<Out>::COUNT, WARP = S::ELEMENTS / S::WARPS * K;
  static_assert(S::ELEMENTS * (int)sizeof(Out) % PLACE == 0, "all tiles have one offset");

  Index first; // unit of the part
  int count;   // how many there are in the row

  // Of the tile that starts at element `tile`.
  RS_METHOD explicit PartOut(Index tile) : first(tile * K + (Index)T::warp() * WARP) {
    Index left = T::LENGTH * K - first;
    count = T::WHOLE || left >= WARP ? WARP : left > 0 ? (int)left : 0;
  }
  RS_METHOD static int shift(const Row<P> &row) {
    return (int)(reinterpret_cast<u64>(P::reverse ? row.out + 1 : row.out) % PLACE / sizeof(One));
  }
  // Where it is in the tile, in the order of memory.
  RS_METHOD static int place() {
    return (P::reverse ? S::WARPS - 1 - T::warp() : T::warp()) * WARP;
  }
  // copy: the place of its lowest unit, in the row or not. PENDING: stores of the warp before this one, all but so
  // many of which have left shared memory.
  template <int PENDING>
  RS_METHOD void store(const T &tile, const Row<P> &row, Index tile_first, Acc carry, Acc end, One *copy) const {
    if (alike(!count))
      return;
    bulk_wait<PENDING>();
    tile.down(row, tile_first, carry, end, [&](int, Index i, const Acc *value) {
      int in_part = (int)(i * K - first), at = P::reverse ? WARP - in_part - S::VECTOR * K : in_part;
      Turned<One, S::VECTOR * K>::write(copy + at, narrow_units<P, S::VECTOR>(value));
    });
    bulk_fence();
    if (P::reverse)
      copy += WARP - count;
    One *to = reinterpret_cast<One *>(row.out) + (P::reverse ? -(i64)(first + count - K) : (i64)first);
    auto words = WholeWords<int>::of(to, count);
    int i = (int)T::lane();
    if (i == 0 && words.body)
      bulk_store(to + words.head, copy + words.head, words.body * (u32)sizeof(One));
    if (i < count - words.body) {
      i = i < words.head ? i : words.body + i;
      store_element(to + i, copy[i]);
    }
  }
};
