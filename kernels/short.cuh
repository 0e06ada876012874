// short.cuh - regime short: a block of threads scans a slab of neighbouring rows, in shared memory, and ends
// SPDX-License-Identifier: MIT
//
// Rows are dense: one begins where the last one ends, in input, output and mask. LANES neighbours scan a row together,
// VECTOR elements each at a time, and reach shared memory in words of WORD elements, which divides the length. More
// than one wants arrays that begin on multiples of 16 bytes; 1 serves any row, wherever it begins.
#pragma once
#include "order.cuh"
#include "piece.cuh"

// Of ROWS rows; where rows may have any length, of as many as ROWS elements are.
template <int ROWS_, int THREADS_, int LANES_, int VECTOR_, int WORD_> struct SlabShape {
  static constexpr int ROWS = ROWS_, THREADS = THREADS_, LANES = LANES_, VECTOR = VECTOR_, WORD = WORD_;
  static constexpr int TILE = LANES * VECTOR, GROUPS = THREADS / LANES, TURNS = ROWS / GROUPS;
  static_assert(LANES <= 32 && THREADS % 32 == 0, "whole warps");
  static_assert(VECTOR % WORD == 0 && ROWS % GROUPS == 0, "whole words, and no idle group");

  template <class P> RS_METHOD static int rows(const Rows<P::rank> &all) {
    return Length<P>::ANY ? (int)((u32)ROWS / (u32)Length<P>::of(all)) : ROWS;
  }
  template <class P> RS_METHOD static constexpr int elements() {
    return Length<P>::ANY ? ROWS : ROWS * (int)Length<P>::most();
  }
  // Of a row, at most.
  template <class P> RS_METHOD static constexpr int tiles() {
    return Length<P>::ANY && LANES < 32 ? 2 : ((int)Length<P>::most() + TILE - 1) / TILE;
  }
  // The same with other lanes.
  template <int OTHER> using With = SlabShape<ROWS, THREADS, OTHER, VECTOR, WORD>;
};

template <class P, class S> struct SharedRows {
  RS_TYPES_OF(P);
  static constexpr int COUNT = S::template tiles<P>();
  static constexpr bool WHOLE = Length<P>::multiple_of(S::TILE);
  static constexpr bool WORDS = S::WORD > 1;
  static_assert(Length<P>::multiple_of(S::WORD), "rows are whole words");
  // Single elements may begin on different offsets in input and output, and then words would not fit in place.
  using Memory = Piece<P, WORDS, WORDS && sizeof(In) == sizeof(Out)>;

  const Rows<P::rank> &all;
  i64 first; // row
  int rows;  // that there are; the threads scan S::rows(), whatever lies there
  Memory memory;

  RS_METHOD SharedRows(const Rows<P::rank> &all, i64 before, unsigned char *shared)
      : all(all), first(all.first + before), rows(there(all, before)),
        memory(all, first * length(), rows * length(), S::template elements<P>(), shared) {
  }
  RS_METHOD static int there(const Rows<P::rank> &all, i64 before) {
    int most = S::template rows<P>(all);
    return all.count - before < most ? (int)(all.count - before) : most;
  }
  RS_METHOD int length() const {
    return (int)Length<P>::of(all);
  }
  RS_METHOD int tiles() const {
    return (length() + S::TILE - 1) / S::TILE;
  }
  RS_METHOD int turns() const {
    return Length<P>::ANY ? (rows + S::GROUPS - 1) / S::GROUPS : S::TURNS;
  }

  RS_METHOD static u32 lane() {
    return thread_index() % S::LANES;
  }
  RS_METHOD static int row_of(int turn) {
    return turn * S::GROUPS + (int)thread_index() / S::LANES;
  }
  // The words of a thread's vector, from element i of a row on, as far as there are any: f(place of a word in the slab,
  // its place in the vector).
  template <class F> RS_METHOD void each_word(int row, int i, const F &f) const {
    int low = row * length() + (P::reverse ? length() - S::WORD - i : i);
    bool there = !Length<P>::ANY || row < rows; // else all of a slab has room
#pragma unroll
    for (int j = 0; j < S::VECTOR; j += S::WORD)
      if (there && (WHOLE || i + j < length()))
        f(P::reverse ? low - j : low + j, j);
  }

  RS_METHOD Extras<P> extras_of(int row) const {
    Extras<P> extras = Extras<P>::of(all, first + (row < rows ? row : 0));
    if (row >= rows)
      extras.total = nullptr;
    return extras;
  }

  RS_METHOD void scan_row(int row, const Extras<P> &extras) const {
    Acc start = extras.start;
    Counter<Op, COUNT, Acc> counter;
    Acc carry = start;
#pragma unroll(COUNT *S::VECTOR <= 16 ? COUNT : 1)
    for (int t = 0; t < tiles(); t++) {
      int i = t * S::TILE + (int)lane() * S::VECTOR;
      Acc x[S::VECTOR], prefix[S::VECTOR + 1]; // prefix[j]: of all elements before element j
#pragma unroll
      for (int j = 0; j < S::VECTOR; j++)
        x[j] = Op::neutral(); // what lies past the row is never part of a prefix that counts
      each_word(row, i, [&](int low, int j) { memory.template read<S::WORD>(low, x + j); });
      Lanes<Op, S::LANES, Acc> lanes;
      Acc end = counter.push(t, lanes.up(total<Op, S::VECTOR>(x), lane()), start);
      Acc before = lanes.down(carry, lane());
      carries<Op, S::VECTOR>(before, x, prefix);
      prefix[S::VECTOR] = end;
      if constexpr (S::LANES > 1) {
        Acc next = shuffle_down(before);
        if (lane() != S::LANES - 1)
          prefix[S::VECTOR] = next;
      }
      carry = end;

      const Acc *result = results<P, S::VECTOR>(all, prefix, i, extras.total, extras);
      each_word(row, i, [&](int low, int j) { memory.template write<S::WORD>(low, result + j); });
    }
  }
  // An initial value is asked for before the row's elements have come, or a turn ahead.
  RS_METHOD void scan(const SlabLoads<S::THREADS> &loads) const {
    constexpr int BODY = COUNT * S::VECTOR;
    Extras<P> next = extras_of(row_of(0));
    loads.wait();
#pragma unroll(BODY > 4 ? 1 : S::TURNS < 4 / BODY ? S::TURNS : 4 / BODY)
    for (int turn = 0; turn < turns(); turn++) {
      Extras<P> extras = next;
      if (turn + 1 < turns())
        next = extras_of(row_of(turn + 1));
      scan_row(row_of(turn), extras);
    }
  }
};

template <class P, class S>
RS_DEVICE void scan_slab_of(const Rows<P::rank> &rows, unsigned char *shared, Gate<1> &there) {
  SharedRows<P, S> slab(rows, (i64)block_index() * S::template rows<P>(rows), shared);
  SlabLoads<S::THREADS> loads = slab.memory.template load<S::THREADS>(there);
  slab.scan(loads);
  slab.memory.template store<S::THREADS>();
}

// Rows of any length have as many lanes as they have elements for.
template <class P, class S> RS_DEVICE void scan_slab(const Rows<P::rank> &rows) {
  RS_DYNAMIC_SHARED(shared);
  RS_SHARED Gate<1> there;
  if constexpr (Length<P>::ANY) {
    i64 length = Length<P>::of(rows);
    using One = typename S::template With<1>;
    using Eight = typename S::template With<8>;
    if (length <= One::template tiles<P>() * One::TILE)
      return scan_slab_of<P, One>(rows, shared, there);
    if (length <= Eight::template tiles<P>() * Eight::TILE)
      return scan_slab_of<P, Eight>(rows, shared, there);
  }
  scan_slab_of<P, S>(rows, shared, there);
}
