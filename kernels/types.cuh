// types.cuh - element types, their conversions, and short vectors of them
// SPDX-License-Identifier: MIT
#pragma once
#include "device.cuh"

struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct boolean {
  u8 byte; // every value but 0 is true
};

template <class A, class B> constexpr bool same_type = false;
template <class A> constexpr bool same_type<A, A> = true;

// The largest word, of up to 16 bytes, that so many bytes are whole ones of.
RS_DEVICE constexpr int word_bytes(int bytes) {
  int lowest = bytes & -bytes;
  return lowest < 16 ? lowest : 16;
}

// K neighbours that are taken as one.
template <class T, int K> struct alignas(word_bytes(K * sizeof(T))) Tuple { T at[K]; };
template <class T> struct Columns {
  using One = T;
  static constexpr int COUNT = 1;
};
template <class T, int K> struct Columns<Tuple<T, K>> {
  using One = T;
  static constexpr int COUNT = K;
};

// In what copies of tuples are counted: as many numbers as are a power of two, of up to 16 bytes.
RS_DEVICE constexpr int unit_numbers(int k, int size) {
  int most = 16 / size, lowest = k & -k;
  return lowest < most ? lowest : most;
}
template <class T, int N> struct UnitOf { using type = Tuple<T, N>; };
template <class T> struct UnitOf<T, 1> { using type = T; };
template <class T> struct Units {
  using Unit = T;
  static constexpr int COUNT = 1;
};
template <class T, int K> struct Units<Tuple<T, K>> {
  static constexpr int NUMBERS = unit_numbers(K, (int)sizeof(T)), COUNT = K / NUMBERS;
  using Unit = typename UnitOf<T, NUMBERS>::type;
};

// To an accumulator. Integers accumulate in u32 or u64, which wrap.
template <class A, class T> RS_DEVICE A widen(T x) {
  return (A)x;
}
template <class A> RS_DEVICE A widen(f16 x) {
  return (A)half_to_float(x.bits);
}
template <class A> RS_DEVICE A widen(bf16 x) {
  return (A)float_from_bits((u32)x.bits << 16);
}
template <class A> RS_DEVICE A widen(boolean x) {
  return (A)(x.byte != 0);
}

// From an accumulator, with one rounding.
template <class T> struct Narrow {
  template <class A> RS_METHOD static T from(A x) {
    return (T)x;
  }
};

// whole * 2^-POINT. A power of two of that size scales floats without rounding.
template <int POINT> struct Fixed {
  i64 whole;
  template <class A> static constexpr A UNIT = 1 / (A)(1ull << POINT);
  RS_METHOD explicit operator f32() const {
    return (f32)whole * UNIT<f32>;
  }
  RS_METHOD explicit operator f64() const {
    return (f64)whole * UNIT<f64>;
  }
  // As float_to_odd() does.
  RS_METHOD f32 to_odd() const {
    f32 y = float_toward_zero(whole);
    return ((i64)y == whole ? y : float_from_bits(float_bits(y) | 1)) * UNIT<f32>;
  }
};
template <> struct Narrow<boolean> {
  template <class A> RS_METHOD static boolean from(A x) {
    return {(u8)(x != 0)};
  }
};
template <> struct Narrow<f16> {
  RS_METHOD static f16 from(f32 x) {
    return {float_to_half(x)};
  }
  RS_METHOD static f16 from(f64 x) {
    return {float_to_half(x)};
  }
  template <int POINT> RS_METHOD static f16 from(Fixed<POINT> x) {
    return {float_to_half(x.to_odd())};
  }
};
template <> struct Narrow<bf16> {
  RS_METHOD static bf16 from(f32 x) {
    return {float_to_bfloat(x)};
  }
  RS_METHOD static bf16 from(f64 x) {
    return {float_to_bfloat(x)};
  }
  template <int POINT> RS_METHOD static bf16 from(Fixed<POINT> x) {
    return {float_to_bfloat(x.to_odd())};
  }
};

// Two values that are neighbours in memory, as the bits of both: half the instructions where the hardware does two at
// once.
template <class T> RS_DEVICE u32 narrow_pair(f32 low, f32 high);
template <> RS_METHOD u32 narrow_pair<f16>(f32 low, f32 high) {
  return floats_to_halves(low, high);
}
template <> RS_METHOD u32 narrow_pair<bf16>(f32 low, f32 high) {
  return floats_to_bfloats(low, high);
}

// What counts as true in a mask: everything but zero, a NaN too.
template <class T> RS_DEVICE bool is_true(T x) {
  return x != 0;
}
RS_DEVICE bool is_true(f16 x) {
  return (x.bits & 0x7fff) != 0;
}
RS_DEVICE bool is_true(bf16 x) {
  return (x.bits & 0x7fff) != 0;
}
RS_DEVICE bool is_true(boolean x) {
  return x.byte != 0;
}

// 1 if a condition holds, else 0: a number that compilers do not take for the condition again. ptxas of CUDA 13.0 lost
// two negations of five conditions that it joined so (src/NOTES.md).
RS_DEVICE u32 number_of(bool condition) {
  u32 number = condition, less = 0 - number;
  forget(less);
  return (number | less) >> 31;
}

// Of a flag likewise. A byte that is not 0 carries when 255 is added, which takes two instructions in place of five.
template <class M> RS_DEVICE u32 truth_of(M flag) {
  return number_of(is_true(flag));
}
RS_DEVICE u32 truth_of(u8 flag) {
  u32 sum = flag + 0xffu;
  forget(sum);
  return sum >> 8;
}
RS_DEVICE u32 truth_of(boolean flag) {
  return truth_of(flag.byte);
}

// Of the bytes of a word 1 for each that is not 0.
RS_DEVICE u32 true_bytes(u32 word) {
  return (((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) >> 7 & 0x01010101;
}

// N elements that travel in words of up to 16 bytes. Those of 1 or 2 bytes are parts of 4 bytes too: else compilers
// take a vector to pieces wherever a function returns it.
template <class T, int N, bool PARTS = (sizeof(typename Columns<T>::One) <= 2 && N * sizeof(T) % 4 == 0)>
struct alignas(word_bytes(N *(int)sizeof(T))) Vector {
  T at[N];
};
template <class T, int N> struct alignas(word_bytes(N *(int)sizeof(T))) Vector<T, N, true> {
  union {
    T at[N];
    u32 part[N * sizeof(T) / 4];
  };
};
// All bits of the bytes whose masks are true, of four from 4 * w on.
template <class T, int N> RS_DEVICE u32 chosen_bytes(const Vector<T, N> &mask, int w) {
  u32 high = 0; // the highest bit of each
  if constexpr (sizeof(T) == 1) {
    u32 m = mask.part[w];
    high = (((m & 0x7f7f7f7f) + 0x7f7f7f7f) | m) & 0x80808080;
  } else {
#pragma unroll
    for (int k = 0; k < 4; k++)
      high |= is_true(mask.at[4 * w + k]) ? 0x80u << 8 * k : 0;
  }
  return (high - (high >> 7)) | high;
}
// The same bytes as other elements.
template <class T, int N, class From> RS_DEVICE Vector<T, N> same_bytes(const From &x) {
  static_assert(sizeof(From) == N * sizeof(T), "as many");
  if constexpr (same_type<From, Vector<T, N>>)
    return x;
  union Both {
    From from;
    Vector<T, N> to;
    RS_METHOD Both() {
    }
  } both;
  both.from = x;
  return both.to;
}
template <class T, int N> union Words {
  static constexpr int BYTES = word_bytes(N * (int)sizeof(T));
  static constexpr int COUNT = N * (int)sizeof(T) / BYTES;
  using type = typename Word<BYTES>::type;
  Vector<T, N> vector;
  type word[COUNT];
};
template <class T, int N> RS_DEVICE Vector<T, N> load_vector(const T *at) {
  Words<T, N> w;
#pragma unroll
  for (int i = 0; i < w.COUNT; i++)
    w.word[i] = load_stream(reinterpret_cast<const typename Words<T, N>::type *>(at) + i);
  return w.vector;
}
template <class T, int N> RS_DEVICE void store_vector(T *at, const Vector<T, N> &vector) {
  Words<T, N> w;
  w.vector = vector;
#pragma unroll
  for (int i = 0; i < w.COUNT; i++)
    store_word(reinterpret_cast<typename Words<T, N>::type *>(at) + i, w.word[i]);
}
template <class T, int N> RS_DEVICE Vector<T, N> shared_vector(const T *at) {
  if constexpr (sizeof(T) == 1 && N % 4 == 0) { // else it comes in bytes, to be put together
    Words<T, N> w;
#pragma unroll
    for (int i = 0; i < w.COUNT; i++)
      w.word[i] = reinterpret_cast<const typename Words<T, N>::type *>(at)[i];
    return w.vector;
  } else {
    return *reinterpret_cast<const Vector<T, N> *>(at);
  }
}
template <class T, int N> RS_DEVICE void share_vector(T *at, const Vector<T, N> &vector) {
  Words<T, N> w;
  w.vector = vector;
#pragma unroll
  for (int i = 0; i < w.COUNT; i++)
    share_word(reinterpret_cast<typename Words<T, N>::type *>(at) + i, w.word[i]);
}

// What a register holds of an element: as read, or one of less than 4 bytes whole, since compilers take out and widen
// what is a part of a register anew each time they need it. Of a vector, PER_WORD of them come from one word; element
// k.
template <class T> struct AsRead {
  using type = T;
  static constexpr int PER_WORD = 1;
  RS_METHOD static T from(T x) {
    return x;
  }
};
template <class T> struct Whole : AsRead<T> {};
template <> struct Whole<i8> {
  using type = i32;
  static constexpr int PER_WORD = 4;
  RS_METHOD static i32 from(i8 x) {
    return x;
  }
  RS_METHOD static i32 from_word(u32 word, int k) {
    return signed_byte(word, (u32)k);
  }
};
template <> struct Whole<u8> {
  using type = u32;
  static constexpr int PER_WORD = 4;
  RS_METHOD static u32 from(u8 x) {
    return x;
  }
  RS_METHOD static u32 from_word(u32 word, int k) {
    return unsigned_byte(word, (u32)k);
  }
};
template <> struct Whole<boolean> {
  using type = u32;
  static constexpr int PER_WORD = 4;
  RS_METHOD static u32 from(boolean x) {
    return x.byte != 0;
  }
  RS_METHOD static u32 from_word(u32 word, int k) {
    return unsigned_byte(true_bytes(word), (u32)k);
  }
};
template <> struct Whole<bf16> {
  using type = f32;
  static constexpr int PER_WORD = 2;
  RS_METHOD static f32 from(bf16 x) {
    return widen<f32>(x);
  }
  RS_METHOD static f32 from_word(u32 word, int k) {
    return float_from_bits(k ? word & 0xffff0000 : word << 16);
  }
};
template <> struct Whole<f16> {
  using type = f32;
  static constexpr int PER_WORD = 2;
  RS_METHOD static f32 from(f16 x) {
    return widen<f32>(x);
  }
  RS_METHOD static f32 from_word(u32 word, int k) {
    return half_to_float((u16)(word >> 16 * k));
  }
};
// E: AsRead or Whole.
template <class E, class T, int N> RS_DEVICE void elements_of(const Vector<T, N> &x, typename E::type *y) {
#pragma unroll
  for (int j = 0; j < N; j++)
    if constexpr (E::PER_WORD > 1 && N % E::PER_WORD == 0)
      y[j] = E::from_word(x.part[j / E::PER_WORD], j % E::PER_WORD);
    else
      y[j] = E::from(x.at[j]);
}

// N accumulators, rounded; from the last to the first if REVERSE.
template <class T, int N, bool REVERSE, class A> RS_DEVICE Vector<T, N> narrow_vector(const A *value) {
  Vector<T, N> y;
#pragma unroll
  for (int j = 0; j < N; j++)
    y.at[REVERSE ? N - 1 - j : j] = Narrow<T>::from(value[j]);
  return y;
}
template <class T, int N, bool REVERSE> RS_DEVICE Vector<T, N> narrow_halves(const f32 *value) {
  static_assert(N % 2 == 0, "pairs");
  Vector<T, N> y;
#pragma unroll
  for (int j = 0; j < N; j += 2)
    y.part[j / 2] =
        REVERSE ? narrow_pair<T>(value[N - 1 - j], value[N - 2 - j]) : narrow_pair<T>(value[j], value[j + 1]);
  return y;
}
// The same of integers of 1 byte.
template <class T, int N, bool REVERSE, class A> RS_DEVICE Vector<T, N> narrow_bytes(const A *value) {
  static_assert(N % 4 == 0, "fours");
  Vector<T, N> y;
#pragma unroll
  for (int j = 0; j < N; j += 4) {
    u32 byte[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
      byte[i] = (u32)value[REVERSE ? N - 1 - (j + i) : j + i];
    y.part[j / 4] = pack_bytes(byte[0], byte[1], byte[2], byte[3]);
  }
  return y;
}
// AGAIN: it will be loaded once more, and soon.
template <bool AGAIN = false, class T> RS_DEVICE T load_element(const T *at) {
  if constexpr (AGAIN)
    return *at;
  else
    return load_vector<T, 1>(at).at[0];
}
template <class T> RS_DEVICE void store_element(T *at, T value) {
  store_vector<T, 1>(at, {{value}});
}
// Fetches an element, or a word of them.
struct Bring {
  template <class T> RS_METHOD void operator()(T *global, T *shared) const {
    using W = typename Word<sizeof(T)>::type;
    fetch(reinterpret_cast<W *>(shared), reinterpret_cast<const W *>(global));
  }
};
