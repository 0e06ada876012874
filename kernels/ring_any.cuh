// ring_any.cuh - regime row, from sm_90 on: the ring of ring.cuh for rows that begin anywhere
// SPDX-License-Identifier: MIT
//
// Copies in shared memory keep the offset of their originals, so that whole words of 16 bytes travel by bulk copies. On
// the way in, a word at the border of two tiles comes with both; the few elements of a row in no whole word are read
// once, by the lanes of the first warp, and put where they belong as their tile comes. On the way out each warp stores
// the whole words of its part, and the elements around them one by one. Nothing outside the row is touched.
#pragma once
#include "tile.cuh"

// A vector of a lane in shared memory, from any element on. Lanes side by side have neighbouring vectors; element by
// element, those whose vectors lie a multiple of 128 bytes apart would meet in a bank. So each takes its elements in an
// order of its own: word k of a vector in turn k ^ turn().
template <class T, int N> struct Turned {
  static constexpr int SIZE = (int)sizeof(T), PER_WORD = SIZE < 4 ? 4 / SIZE : 1, WORDS = N / PER_WORD;
  using W = typename Word<SIZE * PER_WORD>::type;
  union Both {
    Vector<T, N> vector;
    W word[WORDS];
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
          W low = x.word[k], high = x.word[k | bit];
          x.word[k] = turn & bit ? high : low;
          x.word[k | bit] = turn & bit ? low : high;
        }
  }
  RS_METHOD static Vector<T, N> read(const T *at, u32 turn) {
    Both x;
#pragma unroll
    for (int k = 0; k < WORDS; k++)
#pragma unroll
      for (int e = 0; e < PER_WORD; e++)
        x.vector.at[k * PER_WORD + e] = (at + (k ^ turn) * PER_WORD)[e];
    swap(x, turn);
    return x.vector;
  }
  RS_METHOD static void write(T *at, const Vector<T, N> &vector, u32 turn) {
    Both x;
    x.vector = vector;
    swap(x, turn);
#pragma unroll
    for (int k = 0; k < WORDS; k++)
#pragma unroll
      for (int e = 0; e < PER_WORD; e++)
        (at + (k ^ turn) * PER_WORD)[e] = x.vector.at[k * PER_WORD + e];
  }
};

// The same where whole words are read, which hold the vector and what lies around: from `at`, a multiple of a word, and
// `shift` elements on.
template <class T, int N> RS_DEVICE Vector<T, N> read_shifted(const T *at, u32 shift) {
  constexpr int SIZE = (int)sizeof(T), BYTES = N * SIZE, WORD = word_bytes(BYTES), COUNT = BYTES / 4;
  using W = typename Word<WORD>::type;
  union Parts {
    W word[BYTES / WORD + 1];
    u32 part[(BYTES + WORD) / 4];
    RS_METHOD Parts() {
    }
  } x;
#pragma unroll
  for (int i = 0; i <= BYTES / WORD; i++)
    x.word[i] = reinterpret_cast<const W *>(at)[i];
  u32 by = shift * SIZE;
#pragma unroll
  for (int bit = WORD / 8; bit > 0; bit /= 2)
#pragma unroll
    for (int i = 0; i < COUNT + bit; i++)
      if (i + bit < (BYTES + WORD) / 4)
        x.part[i] = by / 4 & bit ? x.part[i + bit] : x.part[i];
  union {
    Vector<T, N> vector;
    u32 part[COUNT];
  } y;
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    y.part[i] = SIZE < 4 ? funnel_right(x.part[i], x.part[i + 1], by % 4 * 8) : x.part[i];
  return y.vector;
}

// One input of a row. E: type of its elements; positions are counted in memory, from the row's lowest element.
template <class P, int TILE, int PLACE, class E> struct RowSource {
  using Index = typename Row<P>::Index;
  static constexpr int SIZE = (int)sizeof(E), UNIT = 16 / SIZE;
  static constexpr Index LENGTH = (Index)P::length;
  static_assert(TILE * SIZE % PLACE == 0, "all tiles have one offset");

  const E *low;
  Index head, body; // elements before the first whole word, and in whole words
  int shift;        // of a tile's first element in its copy
  Index rest_at;    // the element that this lane brings, if not negative
  E rest;

  RS_METHOD RowSource(const E *first, bool there) : low(P::reverse ? first - (LENGTH - 1) : first), rest() {
    int before = (int)((0 - reinterpret_cast<u64>(low)) % 16 / SIZE);
    head = before < LENGTH ? before : LENGTH;
    body = (LENGTH - head) / UNIT * UNIT;
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
};

// Shared memory: STAGES times a tile of the input, and of the mask if there is one; then BUFFERS times a tile of the
// output. MODE: 1 reads turned, 2 reads shifted; 4 writes turned; 8 places on 16 bytes
template <class P, class S, int STAGES, int BUFFERS, int MODE> struct AnyRing {
  using In = typename P::In;
  using Out = typename P::Out;
  using Mask = typename P::Mask;
  using Acc = typename P::Acc;
  using Op = typename P::Op;
  using R = Row<P>;
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  static constexpr bool MASKED = P::mask != NO_MASK;
  static constexpr int TILE = S::ELEMENTS, WARP = TILE / S::WARPS;
  static constexpr int PLACE = MODE & 8 ? 16 : 128;
  static constexpr int SLACK = 128; // for any offset
  static constexpr int IN_BYTES = TILE * (int)sizeof(In) + SLACK;
  static constexpr int STAGE_BYTES = IN_BYTES + (MASKED ? TILE * (int)sizeof(Mask) + SLACK : 0);
  static constexpr int BUFFER_BYTES = TILE * (int)sizeof(Out) + SLACK;
  static constexpr int BYTES = STAGES * STAGE_BYTES + BUFFERS * BUFFER_BYTES;

  const R &row;
  unsigned char *memory;
  Arrival *arrival; // one a stage
  RowSource<P, TILE, PLACE, In> in;
  RowSource<P, TILE, PLACE, Mask> mask;
  int out_shift;

  RS_METHOD AnyRing(const R &row, unsigned char *memory, Arrival *arrival)
      : row(row), memory(memory), arrival(arrival), in(row.in, true), mask(row.mask, MASKED) {
    out_shift = (int)(reinterpret_cast<u64>(P::reverse ? row.out + 1 : row.out) % PLACE / sizeof(Out));
  }
  RS_METHOD In *in_copy(int stage) const {
    return reinterpret_cast<In *>(memory + stage * STAGE_BYTES);
  }
  RS_METHOD Mask *mask_copy(int stage) const {
    return reinterpret_cast<Mask *>(memory + stage * STAGE_BYTES + IN_BYTES);
  }
  RS_METHOD Out *buffer(int number) const {
    return reinterpret_cast<Out *>(memory + STAGES * STAGE_BYTES + number * BUFFER_BYTES);
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
    auto in_span = in.span(t);
    auto mask_span = mask.span(t);
    arrival_expect(arrival + stage, in_span.count * (u32)sizeof(In) + (MASKED ? mask_span.count * (u32)sizeof(Mask) : 0));
    in.load(in_copy(stage), t, in_span, arrival + stage);
    if (MASKED)
      mask.load(mask_copy(stage), t, mask_span, arrival + stage);
  }
  // ... and that of the warp that has the elements outside of words.
  RS_METHOD void fetch_rest(Index t) const {
    if (t >= T::COUNT)
      return;
    int stage = (int)(t % STAGES);
    in.put_rest(in_copy(stage), t);
    if (MASKED)
      mask.put_rest(mask_copy(stage), t);
    if (t == 0)
      bulk_publish(); // a bulk copy will write over it
    else
      warp_barrier();
    if (thread_index() == 0)
      arrival_signal(arrival + stage);
  }

  template <class E> RS_METHOD static Vector<E, S::VECTOR> read(const E *copy, int shift, int low) {
    constexpr int WORD = word_bytes(S::VECTOR * (int)sizeof(E)) / (int)sizeof(E);
    if constexpr (MODE & 2)
      return read_shifted<E, S::VECTOR>(copy + shift / WORD * WORD + low, shift % WORD);
    else
      return Turned<E, S::VECTOR>::read(copy + shift + low, MODE & 1 ? Turned<E, S::VECTOR>::turn() : 0);
  }
  RS_METHOD void load(T &tile, Index t) const {
    int stage = (int)(t % STAGES);
    arrival_wait(arrival + stage, (u32)(t / STAGES));
    if (!count_of(part_of(t)))
      return;
#pragma unroll
    for (int u = 0; u < S::CHUNKS; u++) {
      int at = (int)T::place(u), low = P::reverse ? TILE - at - S::VECTOR : at;
      Vector<In, S::VECTOR> x = read(in_copy(stage), in.shift, low);
      Vector<Mask, S::VECTOR> m{};
      if constexpr (MASKED)
        m = read(mask_copy(stage), mask.shift, low);
#pragma unroll
      for (int j = 0; j < S::VECTOR; j++) {
        int from = P::reverse ? S::VECTOR - 1 - j : j;
        tile.held[u][j] = R::hold(x.at[from], m.at[from]);
      }
    }
  }

  template <class F> RS_METHOD static Acc up(T &tile, Index t, Acc *between, const F &loaded) {
    Acc mine = count_of(part_of(t)) ? tile.up_chunks() : Op::neutral();
    if constexpr (S::WARPS > 1) {
      if (T::lane() == 0)
        between[T::warp()] = mine;
      block_barrier();
      loaded();
      mine = shuffle_from(tile.warps.up(between[T::lane() % S::WARPS], T::lane()), 0);
    }
    return mine;
  }

  RS_METHOD void store(const T &tile, Index t, Acc carry, Acc end) const {
    constexpr int UNIT = 16 / (int)sizeof(Out);
    using V = Turned<Out, S::VECTOR>;
    Index part = part_of(t);
    int count = count_of(part);
    if (!count)
      return;
    Out *copy = buffer((int)(t % BUFFERS)) + out_shift + (P::reverse ? S::WARPS - 1 - T::warp() : T::warp()) * WARP;
    u32 turn = MODE & 4 ? V::turn() : 0;
    bulk_wait<BUFFERS - 1>();
    tile.down(row, t * TILE, carry, end, [&](int, Index i, const Acc *value) {
      int at = P::reverse ? WARP - (int)(i - part) - S::VECTOR : (int)(i - part);
      V::write(copy + at, R::template narrow<S::VECTOR>(value), turn);
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

template <class P, class S, int STAGES, int BUFFERS, int MODE = 5>
RS_DEVICE void scan_ring_any(const Rows<P::rank> &rows) {
  using R = AnyRing<P, S, STAGES, BUFFERS, MODE>;
  using T = typename R::T;
  using Acc = typename P::Acc;
  using Index = typename T::Index;
  static_assert(S::WARPS > 1, "a barrier between loads and the next fetch");
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Arrival arrival[STAGES];
  RS_SHARED Acc between[2][S::WARPS];
  Row<P> row(rows, rows.first + block_index());
  R ring(row, memory, arrival);
  bool fetches = thread_index() < 32;

  if (fetches) {
    if (thread_index() == 0)
      arrivals_init(arrival, STAGES, 2);
    for (Index t = 0; t < STAGES; t++)
      ring.fetch_words(t);
    for (Index t = 0; t < STAGES; t++)
      ring.fetch_rest(t);
  }
  Acc start = row.start(), carry = start;
  block_barrier();

  Counter<typename P::Op, T::COUNT, Acc> counter;
#pragma unroll 1
  for (Index t = 0; t < T::COUNT; t++) {
    T tile;
    ring.load(tile, t);
    Acc mine = R::up(tile, t, between[t & 1], [&] {
      if (fetches) {
        ring.fetch_words(t + STAGES);
        ring.fetch_rest(t + STAGES);
      }
    });
    Acc end = counter.push(t, mine, start);
    ring.store(tile, t, carry, end);
    carry = end;
  }
  bulk_wait<0>();
}
