// runs.cuh - elements of several rows between global and shared memory, whatever strides they have, as runs of bytes
// SPDX-License-Identifier: MIT
//
// A warp has a tile of each array: `count` elements of each of its rows. In memory they are runs: one of all, where
// rows lie one after another; one of each row; one of each step, where rows lie beside one another; or single elements.
// In shared memory runs follow one another, in the order of memory.
#pragma once
#include "terms.h"
#include "types.cuh"

// A function that is called, and has its code once, whatever the places that call it.
#ifdef __CUDACC__
#define RS_CALLED static __device__ __noinline__
#else
#define RS_CALLED static __attribute__((noinline))
#endif

// A byte of a copy in shared memory. 16 are left out after each 128: else lanes whose elements are a power of two apart
// would wait for one another.
RS_DEVICE constexpr int padded(int byte) {
  return byte + (byte >> 7) * 16; // of lanes without elements it may be negative
}

// The block's dynamic shared memory, whose bytes are counted here: a pointer that is handed on would not say that it is
// one to shared memory.
RS_DEVICE u8 *shared_byte(int byte) {
  RS_DYNAMIC_SHARED(memory);
  return memory + byte;
}

struct Runs {
  int begins; // in shared memory: where each row begins, its first element of the scan
  i64 apart;  // bytes from an element to the next one of the scan
  int bytes;  // of an element
  int rows;   // at least one
  i64 first;  // element of each row
  int count;
  bool whole; // rows have no more elements

  RS_METHOD u8 *begin(int row) const {
    return reinterpret_cast<u8 *const *>(shared_byte(begins))[row];
  }
};

// Where elements are in a copy: element e, in memory, of row r is byte e * element + (skew + e * slide) % 16 + r * row.
struct InCopy {
  int skew, row, element, slide;
};

struct RunsWay {
  InCopy in_copy;
  int runs, bytes, word; // runs, bytes of one, and bytes that go at once
  int in_words;          // lanes have whole words
  int across;            // each step has a run, else each row
  int askew;             // each run begins at another byte of a word
  i64 between;           // across: bytes from run to run
  i64 apart;             // in a run, from a word to the next
};
static_assert(sizeof(RunsWay) <= RS_WAY_BYTES, "has room");

// A branch that is not to become selections of both its ways.
RS_DEVICE void stay_branch() {
#ifdef __CUDACC__
  asm volatile("");
#endif
}

// Whole words of 16 bytes that have a run, wherever it begins.
RS_DEVICE constexpr int pitch_of(int run) {
  return (run + 30) & -16;
}

RS_DEVICE i64 low_of(const Runs &a) { // from where a row begins to its lowest element of the tile
  return (a.apart < 0 ? a.first + a.count - 1 : a.first) * a.apart;
}
RS_DEVICE RunsWay find_way(const Runs &a) {
  const i64 size = a.apart < 0 ? -a.apart : a.apart, low = low_of(a);
  const bool dense = size == a.bytes;
  const u8 *first = a.begin(0);
  const int all = a.count * a.bytes, skew = (int)((u64)(first + low) & 15);
  if (dense && a.rows == 1)
    return {{skew, all, a.bytes, 0}, 1, all, 16, 0, 0, 0, 0, 16};
  bool joined = dense && a.whole, beside = !dense; // as far as the lane sees
  u64 rows_bits = 0;
#pragma unroll 1
  for (int row = (int)lane_index(); row < a.rows; row += 32) {
    const u8 *own = a.begin(row);
    joined = joined && own - first == (i64)row * all;
    beside = beside && own - first == row * a.bytes;
    rows_bits |= (u64)(own + low);
  }
  if (dense && !any_lane(!joined))
    return {{skew, all, a.bytes, 0}, 1, a.rows * all, 16, 0, 0, 0, 0, 16};
  const bool across = !dense && !any_lane(!beside);
  const int run = across ? a.rows * a.bytes : all;
  int word = a.bytes;
  if (dense || across) {
    const u64 bits = (across ? (u64)(first + low) | (u64)size : rows_bits) | (u64)run;
    word = 16;
    while (any_lane((bits & (u64)(word - 1)) != 0))
      word /= 2;
  }
  if (across && word < 16 && run >= 16) // each with bytes before it that are not its own
    return {{skew, a.bytes, pitch_of(run), (int)size & 15}, a.count, run, 16, 0, 1, 1, size, 16};
  return {{0, across ? a.bytes : run, across ? run : a.bytes, 0},
          across ? a.count : a.rows,
          run,
          word,
          0,
          across,
          0,
          size,
          dense || across ? word : size};
}
// For lanes that have N elements each.
template <int N> RS_DEVICE RunsWay way_of(const Runs &a) {
  RunsWay way = find_way(a);
  const InCopy &c = way.in_copy;
  const int all = N * a.bytes, word = all < 16 ? all : 16;
  const int bits = c.skew | (a.rows > 1 ? c.row : 0) | (a.apart < 0 ? a.count * a.bytes : 0);
  way.in_words = c.element == a.bytes && !c.slide && !(bits & (word - 1));
  return way;
}

// The words of a warp's lane, one after another: each word's byte in the copy, not yet padded, and its place in memory.
struct LaneWords {
  const Runs &a;
  const RunsWay &way;
  const i64 low;
  int in_run, all, ahead, rest; // words of a run, and of all; the next one is so many runs and words further on
  int number, run, at;

  RS_METHOD LaneWords(const Runs &runs, const RunsWay &of)
      : a(runs), way(of), low(low_of(runs)), in_run((of.askew ? of.in_copy.element : of.bytes) / of.word),
        all(in_run * of.runs), ahead(32 / in_run), rest(32 - ahead * in_run), number((int)lane_index()),
        run(number / in_run), at(number - run * in_run) {
  }
  RS_METHOD bool any() const {
    return number < all;
  }
  RS_METHOD int byte() const {
    return padded(number * way.word);
  }
  RS_METHOD int skew() const { // of the run
    return (way.in_copy.skew + run * way.in_copy.slide) & 15;
  }
  RS_METHOD u8 *memory() const {
    u8 *begin = way.across ? a.begin(0) + run * way.between : a.begin(run);
    return begin + low + at * way.apart;
  }
  RS_METHOD void next() {
    number += 32;
    run += ahead;
    at += rest;
    if (at >= in_run) {
      at -= in_run;
      run++;
    }
  }
};

// A word of up to 8 bytes, or an element.
RS_DEVICE void copy_word(int bytes, u8 *to, const u8 *from) {
  if (bytes == 1)
    *to = *from;
  else if (bytes == 2)
    *reinterpret_cast<u16 *>(to) = *reinterpret_cast<const u16 *>(from);
  else if (bytes == 4)
    *reinterpret_cast<u32 *>(to) = *reinterpret_cast<const u32 *>(from);
  else
    *reinterpret_cast<u64 *>(to) = *reinterpret_cast<const u64 *>(from);
}
// Of a word of 16 bytes those from byte `begin` up to `end`, which are whole elements.
RS_DEVICE void copy_part(int bytes, u8 *to, const u8 *from, int begin, int end) {
  begin = begin < 0 ? 0 : begin;
  end = end > 16 ? 16 : end;
#pragma unroll 1
  while (begin < end) {
    const int word = (begin & 3) || begin + 4 > end ? bytes : 4;
    copy_word(word, to + begin, from + begin);
    begin += word;
  }
}

// Runs that begin anywhere, in words of 16 bytes: f(in the copy, in memory, byte of the word at which the run begins,
// and ends).
template <class F> RS_DEVICE void each_word_askew(const Runs &a, const RunsWay &way, u8 *copy, const F &f) {
#pragma unroll 1
  for (LaneWords w(a, way); w.any(); w.next()) {
    const int skew = w.skew(), begin = skew - 16 * w.at;
    if (begin + way.bytes > 0)
      f(copy + w.byte(), w.memory() - skew, begin, begin + way.bytes);
  }
}

RS_DEVICE void fetch_words(const Runs &a, const RunsWay &way, u8 *copy) {
#pragma unroll 1
  for (LaneWords w(a, way); w.any(); w.next()) {
    u8 *to = copy + w.byte(), *from = w.memory();
    if (way.word == 16)
      fetch(reinterpret_cast<u128 *>(to), reinterpret_cast<const u128 *>(from));
    else if (way.word == 8)
      fetch(reinterpret_cast<u64 *>(to), reinterpret_cast<const u64 *>(from));
    else
      fetch(reinterpret_cast<u32 *>(to), reinterpret_cast<const u32 *>(from));
  }
}
// Of 1 or 2 bytes, for which fetch() would wait: several at a time.
RS_DEVICE void fetch_small_words(const Runs &a, const RunsWay &way, u8 *copy) {
  constexpr int AT_A_TIME = 4;
  const bool bytes = way.word == 1;
#pragma unroll 1
  for (LaneWords w(a, way); w.any();) {
    u32 word[AT_A_TIME];
    int to[AT_A_TIME];
#pragma unroll
    for (int i = 0; i < AT_A_TIME; i++, w.next()) {
      to[i] = w.any() ? w.byte() : -1;
      if (w.any())
        word[i] = bytes ? load_stream(w.memory()) : load_stream(reinterpret_cast<const u16 *>(w.memory()));
    }
#pragma unroll
    for (int i = 0; i < AT_A_TIME; i++)
      if (to[i] >= 0) {
        if (bytes)
          copy[to[i]] = (u8)word[i];
        else
          *reinterpret_cast<u16 *>(copy + to[i]) = (u16)word[i];
      }
  }
}

// The words of 16 bytes that one run has parts of, from the lane's first one on: f(byte, in the copy, in memory).
template <class F> RS_DEVICE void each_word_of_one(const Runs &a, const RunsWay &way, u8 *copy, const F &f) {
  constexpr int STEP = 16 * 32;
  const int end = way.in_copy.skew + way.bytes, lane = 16 * (int)lane_index();
  u8 *to = copy + padded(lane), *from = a.begin(0) + low_of(a) - way.in_copy.skew + lane;
#pragma unroll 1
  for (int byte = lane; byte < end; byte += STEP, to += padded(STEP), from += STEP)
    f(byte, to, from);
}
// Fetches a tile; what others than the lane itself fetch is there after fetch_wait() and warp_barrier(). Of the array
// the bytes from `least` up to `most` may be read. All lanes come here, as in what follows.
RS_DEVICE void fetch_runs(const Runs &a, const RunsWay &way, u64 least, u64 most, u8 *copy) {
  if (way.runs == 1 && way.word == 16) {
    const u64 begin = (u64)(a.begin(0) + low_of(a) - way.in_copy.skew);
    const bool inside = begin >= least && begin + (u64)((way.in_copy.skew + way.bytes + 15) & -16) <= most;
    if (inside)
      each_word_of_one(a, way, copy, [&](int, u8 *to, const u8 *from) {
        fetch(reinterpret_cast<u128 *>(to), reinterpret_cast<const u128 *>(from));
      });
    else
      each_word_of_one(a, way, copy, [&](int byte, u8 *to, const u8 *from) {
        copy_part(a.bytes, to, from, way.in_copy.skew - byte, way.in_copy.skew + way.bytes - byte);
      });
  } else if (way.askew) {
    each_word_askew(a, way, copy, [&](u8 *to, const u8 *from, int begin, int end) {
      if ((u64)from >= least && (u64)from + 16 <= most)
        fetch(reinterpret_cast<u128 *>(to), reinterpret_cast<const u128 *>(from));
      else
        copy_part(a.bytes, to, from, begin, end);
    });
  } else if (way.word >= 4)
    fetch_words(a, way, copy);
  else
    fetch_small_words(a, way, copy);
}
RS_DEVICE void store_words(const Runs &a, const RunsWay &way, const u8 *copy) {
#pragma unroll 1
  for (LaneWords w(a, way); w.any(); w.next()) {
    u8 *to = w.memory();
    const u8 *from = copy + w.byte();
    if (way.word == 16)
      send(reinterpret_cast<u128 *>(to), reinterpret_cast<const u128 *>(from));
    else
      copy_word(way.word, to, from);
  }
}
// And back.
RS_DEVICE void store_runs(const Runs &a, const RunsWay &way, u8 *copy) {
  if (way.runs == 1 && way.word == 16)
    each_word_of_one(a, way, copy, [&](int byte, u8 *from, u8 *to) {
      if (byte >= way.in_copy.skew && byte + 16 <= way.in_copy.skew + way.bytes)
        send(reinterpret_cast<u128 *>(to), reinterpret_cast<const u128 *>(from));
      else
        copy_part(a.bytes, to, from, way.in_copy.skew - byte, way.in_copy.skew + way.bytes - byte);
    });
  else if (way.askew)
    each_word_askew(a, way, copy, [&](u8 *from, u8 *to, int begin, int end) {
      if (begin <= 0 && end >= 16)
        send(reinterpret_cast<u128 *>(to), reinterpret_cast<const u128 *>(from));
      else
        copy_part(a.bytes, to, from, begin, end);
    });
  else
    store_words(a, way, copy);
}

// ---- a lane's own elements ----------------------------------------------------------------------------------------

// N neighbours of a row in the order of the scan, number `place` of them; a lane has `own` of them, 0 to N.
struct LaneElements {
  InCopy in_copy;
  bool in_words; // all lanes have whole words, if `all`: that each has N of them, or none
  bool all;
  int bytes;
  bool reverse;
  int row, place, own, count;
};

// Where they are in a copy: the byte of the first one, but for its skew; the bytes to the next one, and what its skew
// slides on. In words: the byte of the lowest. Those that a lane does not have may be read, and not written.
struct LaneBytes {
  bool in_words;
  int at, next, skew, slide;
};
template <int N> RS_DEVICE LaneBytes bytes_of(const LaneElements &e, bool writes) {
  const int at = e.row * e.in_copy.row, apart = e.in_copy.element, slide = e.in_copy.slide;
  if (e.in_words && (e.all || !(e.reverse || writes))) {
    stay_branch();
    const int low = (e.reverse ? e.count - (e.place + 1) * N : e.place * N) * e.bytes + at + e.in_copy.skew;
    return {true, e.own > 0 ? low : 0, 0, 0, 0};
  }
  const int first = e.reverse ? e.count - 1 - e.place * N : e.place * N;
  return {false, at + first * apart, e.reverse ? -apart : apart, e.in_copy.skew + first * slide,
          e.reverse ? -slide : slide};
}
// Element after element, f(j, byte).
template <int N, class F> RS_DEVICE void each_byte_of(const LaneBytes &lane, const F &f) {
  int at = lane.at, skew = lane.skew;
#pragma unroll
  for (int j = 0; j < N; j++, at += lane.next, skew += lane.slide)
    f(j, padded(at + (skew & 15)));
}

template <int N, class B> RS_DEVICE void turn(B *bits) {
  stay_branch();
#pragma unroll
  for (int j = 0; j < N / 2; j++) {
    B other = bits[j];
    bits[j] = bits[N - 1 - j];
    bits[N - 1 - j] = other;
  }
}
// The bits of each; of those that the lane does not have, 0. Elements of up to 4 bytes by the words that they are in:
// so one loop serves them all.
template <int N, class B> RS_DEVICE void take_each(const u8 *copy, int bytes, int own, const LaneBytes &from, B *bits) {
  if constexpr (sizeof(B) == 8)
    if (bytes == 8) {
      each_byte_of<N>(from,
                      [&](int j, int byte) { bits[j] = j < own ? *reinterpret_cast<const u64 *>(copy + byte) : 0; });
      return;
    }
  const u32 mask = bytes == 1 ? 0xff : bytes == 2 ? 0xffff : ~0u;
  each_byte_of<N>(from, [&](int j, int byte) {
    u32 word = j < own ? *reinterpret_cast<const u32 *>(copy + (byte & ~3)) : 0;
    bits[j] = word >> 8 * (byte & 3) & mask;
  });
}
// And back.
template <class W, int N, class B> RS_DEVICE void give_as(u8 *copy, int own, const LaneBytes &to, const B *bits) {
  each_byte_of<N>(to, [&](int j, int byte) {
    if (j < own)
      *reinterpret_cast<W *>(copy + byte) = (W)bits[j];
  });
}
template <int N, class B>
RS_DEVICE void give_each(u8 *copy, const LaneElements &e, const LaneBytes &to, const B *bits) {
  if (e.bytes == 1)
    give_as<u8, N>(copy, e.own, to, bits);
  else if (e.bytes == 2)
    give_as<u16, N>(copy, e.own, to, bits);
  else if (e.bytes == 4)
    give_as<u32, N>(copy, e.own, to, bits);
  else if constexpr (sizeof(B) == 8)
    give_as<u64, N>(copy, e.own, to, bits);
}
