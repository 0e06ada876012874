// ring_any.cuh - regime row, from sm_90 on: the ring of ring.cuh for rows that begin anywhere
// SPDX-License-Identifier: MIT
//
// Copies in shared memory keep the offset of their originals, so that whole words of 16 bytes travel by bulk copies. On
// the way in, a word at the border of two tiles comes with both; the few elements of a row in no whole word are read
// once, by the lanes of the first warp, and put where they belong as their tile comes. On the way out each warp stores
// the whole words of its part, and the elements around them one by one. Nothing outside the row is touched.
//
// A lane's vector then lies on no word of its own in shared memory. 8192 x 50257 on an H200, ratio to memcpy:
//   reads    writes     f32    bf16 (both 16 warps of 4 chunks)
//   plain    plain      0.807  0.509
//   shifted  plain      0.850
//   plain    turned     0.858
//   turned   turned     0.912  0.684
//   shifted  turned     0.904  0.691, and 0.922 with 8 warps of 4 chunks
// Shifted reads of f64 cost half of the speed (8192 x 8193: 0.931 turned, 0.414 shifted). So elements of 2 bytes are
// read shifted, all others turned.
#pragma once
#include "ring.cuh"

// A lane's vector in shared memory, from any element on. Lanes side by side have neighbouring vectors; element by
// element, those whose vectors lie a multiple of 128 bytes apart would meet in a bank. So each takes its elements in an
// order of its own: word k of a vector in turn k ^ turn().
template <class T, int N> struct Turned {
  static constexpr int SIZE = (int)sizeof(T), PER_WORD = SIZE < 4 ? 4 / SIZE : 1, WORDS = N / PER_WORD;
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
  RS_METHOD static Vector<T, N> read(const T *at) {
    Both x;
#pragma unroll
    for (int i = 0; i < N; i++)
      x.vector.at[i] = at[((i / PER_WORD) ^ turn()) * PER_WORD + i % PER_WORD];
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

// The same for elements of 2 bytes, from the whole words that hold the vector: from `at`, a multiple of a word, and
// `shift` elements on.
template <class T, int N> RS_DEVICE Vector<T, N> read_shifted(const T *at, u32 shift) {
  constexpr int BYTES = N * (int)sizeof(T), WORD = word_bytes(BYTES), COUNT = BYTES / 4, ALL = (BYTES + WORD) / 4;
  static_assert(sizeof(T) == 2, "two to a part");
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
      x.part[i] = shift / 2 & bit ? x.part[i + bit] : x.part[i];
  union {
    Vector<T, N> vector;
    u32 part[COUNT];
  } y;
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    y.part[i] = funnel_right(x.part[i], x.part[i + 1], shift % 2 * 16);
  return y.vector;
}

// Copies lie as their originals do from a multiple of 128 bytes, so that a line comes to a line (the f32 rows above:
// 0.875 if from a multiple of 16).
enum { PLACE = 128 };

// One input of a row. E: type of its elements; positions are counted in memory, from the row's lowest element.
template <class P, int TILE, class E> struct RowSource {
  using Index = typename Row<P>::Index;
  static constexpr int SIZE = (int)sizeof(E), UNIT = 16 / SIZE;
  static constexpr Index LENGTH = (Index)P::length;
  static_assert(TILE * SIZE % PLACE == 0, "all tiles have one offset");

  const E *low;
  int shift;     // of a tile's first element in its copy
  Index rest_at; // the element that this lane brings, if not negative
  E rest;

  // Elements before the first whole word, and in whole words. Once a tile, in one thread: not worth registers.
  RS_METHOD void words(Index &head, Index &body) const {
    u32 address = (u32) reinterpret_cast<u64>(low);
    forget(address);
    int before = (int)((0 - address) % 16 / SIZE);
    head = before < LENGTH ? before : LENGTH;
    body = (LENGTH - head) / UNIT * UNIT;
  }

  RS_METHOD RowSource(const E *first, bool there) : low(P::reverse && first ? first - (LENGTH - 1) : first), rest() {
    Index head, body;
    words(head, body);
    shift = (int)(reinterpret_cast<u64>(P::reverse ? low + LENGTH : low) % PLACE / SIZE);
    int i = (int)lane_index();
    rest_at = !there || i >= LENGTH - body ? -1 : i < head ? i : body + i;
    if (thread_index() < 32 && rest_at >= 0)
      rest = load_element(low + rest_at);
  }
  RS_METHOD static Index base(Index tile) {
    return P::reverse ? LENGTH - (tile + 1) * TILE : tile * TILE;
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
  RS_METHOD void put_rest(E *copy, Index tile) const {
    Index at = rest_at - base(tile);
    if (rest_at >= 0 && at >= 0 && at < TILE)
      copy[shift + (int)at] = rest;
  }
  // A lane's vector of a tile, from the tile's element `at` on.
  template <int N> RS_METHOD Vector<E, N> read(const E *copy, int at) const {
    if constexpr (SIZE == 2) {
      constexpr int WORD = word_bytes(N * SIZE) / SIZE;
      return read_shifted<E, N>(copy + shift / WORD * WORD + at, shift % WORD);
    } else {
      return Turned<E, N>::read(copy + shift + at);
    }
  }
};

template <class P, class S, int STAGES, int BUFFERS> struct AnyRing {
  using In = typename P::In;
  using Out = typename P::Out;
  using Mask = typename P::Mask;
  using Acc = typename P::Acc;
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  using Memory = RingMemory<P, S, STAGES, BUFFERS, PLACE>;
  static constexpr bool MASKED = Memory::MASKED;
  static constexpr int TILE = S::ELEMENTS, WARP = TILE / S::WARPS;

  Memory memory;
  RowSource<P, TILE, In> in;
  RowSource<P, TILE, Mask> mask;
  int out_shift;

  RS_METHOD AnyRing(const Row<P> &row, const Memory &memory)
      : memory(memory), in(row.in, true), mask(row.mask, MASKED) {
    out_shift = (int)(reinterpret_cast<u64>(P::reverse ? row.out + 1 : row.out) % PLACE / sizeof(Out));
  }
  // The part of a tile that the thread's warp has: its first element, and how many there are in the row.
  RS_METHOD static Index part_of(Index t) {
    return t * TILE + (Index)T::warp() * WARP;
  }
  RS_METHOD static int count_of(Index part) {
    Index left = T::LENGTH - part;
    return T::WHOLE || left >= WARP ? WARP : left > 0 ? (int)left : 0;
  }

  // Two signals make a tile complete: that of its bulk copies, which one thread starts ...
  RS_METHOD void fetch_words(Index t) const {
    if (t >= T::COUNT || thread_index() != 0)
      return;
    int stage = (int)(t % STAGES);
    Arrival *arrival = memory.arrival + stage;
    auto in_span = in.span(t);
    auto mask_span = mask.span(t);
    arrival_expect(arrival, in_span.count * (u32)sizeof(In) + mask_span.count * Memory::MASK_SIZE);
    in.load(memory.in(stage), t, in_span, arrival);
    if (MASKED)
      mask.load(memory.mask(stage), t, mask_span, arrival);
  }
  // ... and that of the first warp, which has the elements outside of words.
  RS_METHOD void fetch_rest(Index t) const {
    if (t >= T::COUNT || thread_index() >= 32)
      return;
    int stage = (int)(t % STAGES);
    in.put_rest(memory.in(stage), t);
    if (MASKED)
      mask.put_rest(memory.mask(stage), t);
    if (t == 0)
      bulk_publish(); // a bulk copy will write over it
    else
      warp_barrier();
    if (thread_index() == 0)
      arrival_signal(memory.arrival + stage);
  }
  RS_METHOD void fetch(const Row<P> &, Index t) const {
    fetch_words(t);
    fetch_rest(t);
  }

  RS_METHOD bool load(T &tile, const Row<P> &, Index t) const {
    int stage = (int)(t % STAGES);
    arrival_wait(memory.arrival + stage, (u32)(t / STAGES));
    if (!count_of(part_of(t)))
      return false;
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      int at = (int)T::place(u), low = P::reverse ? TILE - at - S::VECTOR : at;
      Vector<Mask, S::VECTOR> m{};
      if constexpr (MASKED)
        m = mask.template read<S::VECTOR>(memory.mask(stage), low);
      Row<P>::template hold_vector<S::VECTOR>(tile.held[u], in.template read<S::VECTOR>(memory.in(stage), low), m);
    }
    return true;
  }
  // Stores the prefixes of tile t, each warp its part through its part of a buffer.
  RS_METHOD void store(const T &tile, const Row<P> &row, Index t, Acc carry, Acc end) const {
    constexpr int UNIT = 16 / (int)sizeof(Out);
    Index part = part_of(t);
    int count = count_of(part);
    if (!count)
      return;
    Out *copy = memory.out((int)(t % BUFFERS)) + out_shift + (P::reverse ? S::WARPS - 1 - T::warp() : T::warp()) * WARP;
    bulk_wait<BUFFERS - 1>();
    tile.down(row, t * TILE, carry, end, [&](int, Index i, const Acc *value) {
      int at = P::reverse ? WARP - (int)(i - part) - S::VECTOR : (int)(i - part);
      Turned<Out, S::VECTOR>::write(copy + at, Row<P>::template narrow<S::VECTOR>(value));
    });
    bulk_publish();
    if (P::reverse)
      copy += WARP - count;
    Out *to = row.out + (P::reverse ? -(i64)(part + count - 1) : (i64)part);
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

template <class P, class S, int STAGES, int BUFFERS> RS_DEVICE void scan_ring_any(const Rows<P::rank> &rows) {
  using R = AnyRing<P, S, STAGES, BUFFERS>;
  static_assert(S::WARPS > 1, "a barrier between loads and the next fetch");
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Arrival arrival[STAGES];
  Row<P> row(rows, rows.first + block_index());
  R ring(row, {memory, arrival});

  if (thread_index() == 0)
    arrivals_init(arrival, STAGES, 2);
#pragma unroll 1
  for (int t = 0; t < STAGES; t++)
    ring.fetch_words(t);
#pragma unroll 1
  for (int t = 0; t < STAGES; t++)
    ring.fetch_rest(t);
  block_barrier();
  run_ring<STAGES>(ring, row);
}
