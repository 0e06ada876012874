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
#include "tile.cuh"

// A lane's vector in shared memory, from any element on. Lanes side by side have neighbouring vectors; element by
// element, those whose vectors lie a multiple of 128 bytes apart would meet in a bank. So each takes its elements in an
// order of its own: word k of a vector in turn k ^ turn().
template <class T, int N> struct Turned {
  static constexpr int SIZE = (int)sizeof(T), MOST = SIZE < 4 ? 4 / SIZE : 1;
  static constexpr int PER_WORD = N < MOST ? N : MOST, WORDS = N / PER_WORD;
  union Both {
    Vector<T, N> vector;
    typename Word<SIZE * PER_WORD>::type word[WORDS];
    RS_METHOD Both() {
    }
  };

  RS_METHOD static u32 turn() {
    return lane_index() * (N * SIZE) / 128 % WORDS;
  }
  // Words k and k ^ turn change places.
  RS_METHOD static void swap(Both &x, u32 turn) {
#pragma unroll
    for (int bit = 1; bit < WORDS; bit *= 2)
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
      at[((i / PER_WORD) ^ turn()) * PER_WORD + i % PER_WORD] = x.vector.at[i];
  }
};

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
#pragma unroll
  for (int bit = WORD / 8; bit > 0; bit /= 2)
#pragma unroll
    for (int i = 0; i < COUNT + bit && i + bit < ALL; i++)
      x.part[i] = shift / PER_PART & bit ? x.part[i + bit] : x.part[i];
  Vector<T, N> y;
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    y.part[i] = funnel_right(x.part[i], x.part[i + 1], shift % PER_PART * (8 * (u32)sizeof(T)));
  return y;
}

// Copies lie as their originals do from a multiple of 128 bytes, so that a line comes to a line (the f32 rows above:
// 0.875 if from a multiple of 16).
enum { PLACE = 128 };

// Copies of one input of a row. E: type of its elements; positions are counted in memory, from the row's lowest
// element.
template <class P, int TILE, class E> struct RowCopies {
  using Index = typename Row<P>::Index;
  static constexpr int SIZE = (int)sizeof(E), UNIT = 16 / SIZE;
  static constexpr Index LENGTH = (Index)P::length;
  static_assert(TILE * SIZE % PLACE == 0, "all tiles have one offset");

  const E *low;
  int shift; // of a tile's first element in its copy

  RS_METHOD explicit RowCopies(const E *first) : low(P::reverse && first ? first - (LENGTH - 1) : first) {
    shift = (int)(reinterpret_cast<u64>(P::reverse ? low + LENGTH : low) % PLACE / SIZE);
  }
  // Elements before the first whole word, and in whole words. Once a tile, in one thread: not worth registers.
  RS_METHOD void words(Index &head, Index &body) const {
    u32 address = (u32) reinterpret_cast<u64>(low);
    forget(address);
    int before = (int)((0 - address) % 16 / SIZE);
    head = before < LENGTH ? before : LENGTH;
    body = (LENGTH - head) / UNIT * UNIT;
  }
  // Of the elements in no whole word, less than 32, the one that a lane has; negative: none.
  RS_METHOD Index rest_at() const {
    Index head, body;
    words(head, body);
    int i = (int)lane_index();
    return i >= LENGTH - body ? -1 : i < head ? i : body + i;
  }
  RS_METHOD static Index base(Index tile) {
    return P::reverse ? LENGTH - (tile + 1) * TILE : tile * TILE;
  }
  // Where an element lies in a tile; negative: not there.
  RS_METHOD static int place(Index tile, Index at) {
    Index in_tile = at - base(tile);
    return at >= 0 && in_tile >= 0 && in_tile < TILE ? (int)in_tile : -1;
  }
  // The whole words of a tile: the first one, and how many elements they have.
  struct Span {
    Index from;
    int count;
  };
  RS_METHOD Span span(Index tile) const {
    Index head, body;
    words(head, body);
    int off = shift % UNIT;
    Index from = base(tile) - off, to = from + (off ? TILE + UNIT : TILE);
    from = from > head ? from : head;
    to = to < head + body ? to : head + body;
    return {from, to > from ? (int)(to - from) : 0};
  }
  RS_METHOD void load(E *copy, Index tile, Span s, Arrival *arrival) const {
    if (s.count > 0)
      bulk_load(copy + shift + (int)(s.from - base(tile)), low + s.from, s.count * (u32)SIZE, arrival);
  }
};

// A lane's vector of a tile, from the tile's element `at` on, a multiple of N. shift: of the tile's first element.
// ORDERED: else in any order that an exclusive or with a number makes of its elements'; their total is the same where
// the operator commutes.
template <class E, int N, bool ORDERED = true> RS_DEVICE Vector<E, N> read_placed(const E *copy, int shift, int at) {
  if constexpr (sizeof(E) <= 2 && N * sizeof(E) >= 4) {
    constexpr int WORD = word_bytes(N * (int)sizeof(E)) / (int)sizeof(E);
    return read_shifted<E, N>(copy + shift / WORD * WORD + at, shift % WORD);
  } else {
    return Turned<E, N>::template read<ORDERED>(copy + shift + at);
  }
}

// A warp's part of a tile's results, which shared memory takes at their offset in memory.
template <class P, class S> struct PartOut {
  RS_TYPES_OF(P);
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  static constexpr int WARP = S::ELEMENTS / S::WARPS, UNIT = 16 / (int)sizeof(Out);
  static_assert(S::ELEMENTS * (int)sizeof(Out) % PLACE == 0, "all tiles have one offset");

  Index first; // element of the part
  int count;   // how many there are in the row

  // Of the tile that starts at element `tile`.
  RS_METHOD explicit PartOut(Index tile) : first(tile + (Index)T::warp() * WARP) {
    Index left = T::LENGTH - first;
    count = T::WHOLE || left >= WARP ? WARP : left > 0 ? (int)left : 0;
  }
  RS_METHOD static int shift(const Row<P> &row) {
    return (int)(reinterpret_cast<u64>(P::reverse ? row.out + 1 : row.out) % PLACE / sizeof(Out));
  }
  // Where it is in the tile, in the order of memory.
  RS_METHOD static int place() {
    return (P::reverse ? S::WARPS - 1 - T::warp() : T::warp()) * WARP;
  }
  // copy: the place of its lowest element, in the row or not. PENDING: stores of the warp before this one, all but so
  // many of which have left shared memory.
  template <int PENDING>
  RS_METHOD void store(const T &tile, const Row<P> &row, Index tile_first, Acc carry, Acc end, Out *copy) const {
    if (alike(!count))
      return;
    bulk_wait<PENDING>();
    tile.down(row, tile_first, carry, end, [&](int, Index i, const Acc *value) {
      int at = P::reverse ? WARP - (int)(i - first) - S::VECTOR : (int)(i - first);
      Turned<Out, S::VECTOR>::write(copy + at, Row<P>::template narrow<S::VECTOR>(value));
    });
    bulk_publish();
    if (P::reverse)
      copy += WARP - count;
    Out *to = row.out + (P::reverse ? -(i64)(first + count - 1) : (i64)first);
    int head = (int)((0 - reinterpret_cast<u64>(to)) % 16 / sizeof(Out));
    head = head < count ? head : count;
    int body = (count - head) / UNIT * UNIT, i = (int)T::lane();
    if (i == 0 && body)
      bulk_store(to + head, copy + head, body * (u32)sizeof(Out));
    if (i < count - body) {
      i = i < head ? i : body + i;
      store_element(to + i, copy[i]);
    }
  }
};
