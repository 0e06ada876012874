// runs.cuh - the elements of a warp's tile: each lane's own from where they are, or by way of a run of bytes
// SPDX-License-Identifier: MIT
//
// A lane takes N neighbours of a row. Where a tile's elements follow one another in memory they are a run: they come to
// shared memory in words of 16 bytes, whatever byte the run begins at, and lanes take them there; results go back the
// same way. Any others a lane loads and stores itself, one by one: columns, beside which other lanes have theirs, and
// rows with gaps.
#pragma once
#include "fetches.cuh"
#include "terms.h"
#include "types.cuh"

// A function that is called, and has its code once, whatever the places that call it.
#ifdef __CUDACC__
#define RS_CALLED static __device__ __noinline__
#else
#define RS_CALLED static __attribute__((noinline))
#endif

// A branch that is not to become selections of both its ways.
RS_DEVICE void stay_branch() {
#ifdef __CUDACC__
  asm volatile("");
#endif
}

// A byte of a copy in shared memory. 16 are left out after each 128: else lanes whose elements are a power of two apart
// would wait for one another.
RS_DEVICE constexpr int padded(int byte) {
  return byte + (byte >> 7) * 16; // of lanes without elements it may be negative
}

// The block's dynamic shared memory: where it begins, and a byte of it. A pointer that is handed on would not say that
// it is one to shared memory; and the compiler would rather ask anew where that begins, each time, than keep it.
RS_DEVICE int shared_begin() {
#ifdef __CUDACC__
  RS_DYNAMIC_SHARED(memory);
  u32 begin = shared_address(memory);
  forget(begin);
  return (int)begin;
#else
  return 0;
#endif
}
RS_DEVICE u8 *shared_byte(int byte) {
#ifdef __CUDACC__
  return static_cast<u8 *>(__cvta_shared_to_generic((u32)byte));
#else
  RS_DYNAMIC_SHARED(memory);
  return memory + byte;
#endif
}

// ---- runs ---------------------------------------------------------------------------------------------------------

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

// A run in memory, and its copy, in which it begins at byte `skew`, before these are padded. Where it begins at that
// byte of a word in memory, too, words of 16 bytes are words of both: so inputs always lie.
struct Run {
  u8 *memory;
  int size;    // bytes
  int element; // bytes of one
  int copy;    // in shared memory
  int skew;

  RS_METHOD int begins() const {
    return (int)((u64)memory & 15);
  }
  // The words of memory that the run has parts of, from the lane's first one on: f(byte after the first, in memory).
  template <class F> RS_METHOD void each_word(const F &f) const {
    constexpr int STEP = 16 * 32;
    const int end = begins() + size, lane = 16 * (int)lane_index();
    u8 *in_memory = memory - begins() + lane;
#pragma unroll 1
    for (int byte = lane; byte < end; byte += STEP, in_memory += STEP)
      f(byte, in_memory);
  }
  RS_METHOD u8 *in_copy(int byte) const {
    return shared_byte(copy + padded(byte));
  }
  // Of memory the bytes from `least` up to `most` may be read. All lanes come here.
  RS_METHOD void fetch_words(u64 least, u64 most) const {
    const u64 begin = (u64)memory - (u64)skew, end = begin + (u64)((skew + size + 15) & -16);
    if (begin >= least && end <= most)
      each_word([&](int byte, const u8 *from) {
        fetch(reinterpret_cast<u128 *>(in_copy(byte)), reinterpret_cast<const u128 *>(from));
      });
    else
      each_word(
          [&](int byte, const u8 *from) { copy_part(element, in_copy(byte), from, skew - byte, skew + size - byte); });
  }
  // 16 bytes of the copy from any byte on.
  RS_METHOD u128 word_askew(int byte) const {
    const u32 bits = 8 * ((u32)byte & 3);
    u32 part[5];
#pragma unroll
    for (int i = 0; i < 5; i++)
      part[i] = *reinterpret_cast<const u32 *>(in_copy((byte & ~3) + 4 * i));
    u128 word;
#pragma unroll
    for (int i = 0; i < 4; i++)
      word.part[i] = funnel_right(part[i], part[i + 1], bits);
    return word;
  }
  RS_METHOD void store_words() const {
    const int first = begins(), end = first + size, further = skew - first;
    each_word([&](int byte, u8 *to) {
      const bool whole = byte >= first && byte + 16 <= end;
      if (whole && further % 16 == 0) {
        send(reinterpret_cast<u128 *>(to), reinterpret_cast<const u128 *>(in_copy(byte + further)));
      } else if (whole) {
        store_word(reinterpret_cast<u128 *>(to), word_askew(byte + further));
      } else { // elements one by one
#pragma unroll 1
        for (int part = 0; part < 16; part += element)
          if (byte + part >= first && byte + part < end)
            copy_word(element, to + part, in_copy(byte + part + further));
      }
    });
  }
};

// ---- a lane's own elements ----------------------------------------------------------------------------------------

// Where they are: in memory, or in the copy of a run. There a lane has whole words of 16 bytes, or of all its elements
// if these are fewer; or as many bytes from any byte on, as inputs may lie. One by one: results of several rows,
// between which lanes have fewer than N.
enum LaneWay { IN_MEMORY, IN_WORDS, ASKEW, ONE_BY_ONE };

// N neighbours of a row in the order of the scan, of which the lane has the first `own`, 0 to N.
struct LaneElements {
  int bytes; // of an element
  int own;
  int most;     // no lane has more than these
  int way;      // LaneWay
  bool reverse; // in a run, the first is the highest
  int copy;     // in a run: that of shared memory
  int at;       // byte of the copy: of the first element if one by one, else of the lowest
  u8 *memory;   // else: the first
  i64 apart;    // to the next

  RS_METHOD bool packed() const {
    return way == IN_WORDS || way == ASKEW;
  }
  RS_METHOD u8 *byte(int more) const {
    return shared_byte(copy + padded(at + more));
  }
};

// f(j) of the elements that a lane may have: four at a time are passed over where none has them.
template <int N, class F> RS_DEVICE void each_of(int most, const F &f) {
  constexpr int PART = N < 4 ? N : 4;
#pragma unroll
  for (int part = 0; part < N; part += PART)
    if (part < most) {
#pragma unroll
      for (int j = part; j < part + PART; j++)
        f(j);
    }
}

// f.of<W>() of the word that an element has: of 8 bytes only if EIGHT.
template <bool EIGHT, class F> RS_DEVICE void each_size(int bytes, const F &f) {
  if (bytes == 1)
    f.template of<u8>();
  else if (bytes == 2)
    f.template of<u16>();
  else if (!EIGHT || bytes == 4)
    f.template of<u32>();
  else if constexpr (EIGHT)
    f.template of<u64>();
}

// Element j of words; and as one of them, from the first one on.
template <class W> RS_DEVICE W word_element(const u32 *word, int j) {
  if constexpr (sizeof(W) == 8) {
    return (u64)word[2 * j + 1] << 32 | word[2 * j];
  } else {
    constexpr int OF_WORD = 4 / (int)sizeof(W);
    return (W)(word[j / OF_WORD] >> 8 * (int)sizeof(W) * (j % OF_WORD));
  }
}
template <class W> RS_DEVICE void put_element(u32 *word, int j, W element) {
  if constexpr (sizeof(W) == 8) {
    word[2 * j] = (u32)element;
    word[2 * j + 1] = (u32)(element >> 32);
  } else {
    constexpr int OF_WORD = 4 / (int)sizeof(W);
    const u32 bits = (u32)element << 8 * (int)sizeof(W) * (j % OF_WORD);
    word[j / OF_WORD] = j % OF_WORD ? word[j / OF_WORD] | bits : bits;
  }
}

// A place in global memory: else what has been kept in shared memory could be a pointer to anything.
template <class T> RS_DEVICE T *in_memory(T *at) {
#ifdef __CUDACC__
  __builtin_assume(__isGlobal(at));
#endif
  return at;
}
// The bits of each, as a B, in memory; of those that the lane does not have, 0. And back, or one by one to a copy.
template <int N, class B> struct LoadEach {
  const LaneElements &from;
  u32 *word;
  template <class W> RS_METHOD void of() const {
    const u8 *at = in_memory(from.memory);
    each_of<N>(from.most, [&](int j) {
      if (j < from.own)
        put_element<B>(word, j, *reinterpret_cast<const W *>(at));
      at += from.apart;
    });
  }
};
template <int N, class B> RS_DEVICE void load_each(const LaneElements &from, u32 *word) {
#pragma unroll
  for (int i = 0; i < N * (int)sizeof(B) / 4; i++)
    word[i] = 0;
  each_size<sizeof(B) == 8>(from.bytes, LoadEach<N, B>{from, word});
}
template <int N, class B> struct StoreEach {
  const LaneElements &to;
  const u32 *word;
  template <class W> RS_METHOD void of() const {
    if (to.way == IN_MEMORY) {
      u8 *at = in_memory(to.memory);
      each_of<N>(to.most, [&](int j) {
        if (j < to.own)
          *reinterpret_cast<W *>(at) = (W)word_element<B>(word, j);
        at += to.apart;
      });
      return;
    }
    const int apart = to.reverse ? -(int)sizeof(W) : (int)sizeof(W);
    each_of<N>(to.most, [&](int j) {
      if (j < to.own)
        *reinterpret_cast<W *>(to.byte(j * apart)) = (W)word_element<B>(word, j);
    });
  }
};
template <int N, class B> RS_DEVICE void store_each(const LaneElements &to, const u32 *word) {
  each_size<sizeof(B) == 8>(to.bytes, StoreEach<N, B>{to, word});
}

// Elements of W in words of 4 bytes, in the order of memory, between the copy of a run and registers.
template <int N, class W> constexpr int LANE_WORDS = N *(int)sizeof(W) / 4;
template <int N, class B> struct TakeWords {
  const LaneElements &from;
  u32 *word;
  template <class W> RS_METHOD void of() const {
    constexpr int COUNT = LANE_WORDS<N, W>, EACH = COUNT < 4 ? COUNT : 4;
#pragma unroll
    for (int i = COUNT; i < LANE_WORDS<N, B>; i++)
      word[i] = 0; // or the compiler would keep those of the tile before
    if (from.way == IN_WORDS) {
#pragma unroll
      for (int i = 0; i < COUNT; i += EACH) {
        auto words = shared_vector<u32, EACH>(reinterpret_cast<const u32 *>(from.byte(4 * i)));
#pragma unroll
        for (int k = 0; k < EACH; k++)
          word[i + k] = words.at[k];
      }
      return;
    }
    const u32 bits = sizeof(W) < 4 ? 8 * ((u32)from.at & 3) : 0;
    auto whole = [&](int i) { return *reinterpret_cast<const u32 *>(from.byte(4 * i - (int)(bits / 8))); };
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      word[i] = whole(i);
    if constexpr (sizeof(W) < 4) {
      const u32 after = whole(COUNT);
#pragma unroll
      for (int i = 0; i < COUNT; i++)
        word[i] = funnel_right(word[i], i + 1 < COUNT ? word[i + 1] : after, bits);
    }
  }
};
template <int N, class B> RS_DEVICE void take_words(const LaneElements &from, u32 *word) {
  each_size<sizeof(B) == 8>(from.bytes, TakeWords<N, B>{from, word});
}
template <int N> struct GiveWords {
  const LaneElements &to;
  const u32 *word;
  template <class W> RS_METHOD void of() const {
    constexpr int COUNT = LANE_WORDS<N, W>, EACH = COUNT < 4 ? COUNT : 4;
#pragma unroll
    for (int i = 0; i < COUNT; i += EACH) {
      Vector<u32, EACH> words;
#pragma unroll
      for (int k = 0; k < EACH; k++)
        words.at[k] = word[i + k];
      if (to.own > 0)
        share_vector<u32, EACH>(reinterpret_cast<u32 *>(to.byte(4 * i)), words);
    }
  }
};
template <int N, class B> RS_DEVICE void give_words(const LaneElements &to, const u32 *word) {
  each_size<sizeof(B) == 8>(to.bytes, GiveWords<N>{to, word});
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
