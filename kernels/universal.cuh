// universal.cuh - scans of any element types, masks, segments, strides and flags: a launch tells them
// SPDX-License-Identifier: MIT
//
// What a kernel is compiled for is how totals are combined. Elements come to shared memory as bytes, each array by
// itself, and become numbers where a thread takes its own; results go back the same way. A switch on the type is made
// once for all elements that a thread has at a time.
//
// A universal operator U joins an operator of ops.cuh with its ways in and out:
//   Op                   the operator
//   Number               what elements are taken as
//   MULTIPLIES, MORE, SECOND   whether a mask may multiply; how many further inputs there may be; whether there may be
//                              a second output
//   take(terms, type, bits, x)      N elements of a type as numbers
//   gather(f, terms, x, y, notes)   what further inputs make of them: numbers y, and the elements' notes. f(k, z) has
//                                   those of further input k
//   load(terms, x, y)               the total of one
//   neutral(terms), identity(terms)      as an operator has them
//   first(terms, type, bits)        the total that a fold from an initial value starts
//   show(terms, type, t, bits)      N totals as elements of a type
//   output(f, o, terms, type, t, notes, bits)   the same in output o, which may ask for further inputs
//   keep(terms, type, t)            a row's total, as initial values and totals are kept
#pragma once
#include "direct.cuh"
#include "ordered.cuh"
#include "row.cuh"
#include "terms.h"

// A function that is called, and has its code once, whatever the places that call it.
#ifdef __CUDACC__
#define RS_CALLED static __device__ __noinline__
#else
#define RS_CALLED static __attribute__((noinline))
#endif

// ---- numbers and bits ---------------------------------------------------------------------------------------------

template <class A> struct BitsFor { using type = u64; };
template <> struct BitsFor<f32> { using type = u32; };
template <> struct BitsFor<u32> { using type = u32; };

// An element from the low bits of a word, and to them.
template <class T, class B> RS_DEVICE T from_bits(B bits) {
  using W = typename Word<sizeof(T)>::type;
  union Both {
    W word;
    T element;
    RS_METHOD Both() {
    }
  } both;
  both.word = (W)bits;
  return both.element;
}
template <class B, class T> RS_DEVICE B to_bits(T element) {
  using W = typename Word<sizeof(T)>::type;
  union Both {
    W word;
    T element;
    RS_METHOD Both() {
    }
  } both;
  both.element = element;
  return (B)both.word;
}

template <class T, int N, class B, class A> RS_DEVICE void widen_as(const B *bits, A *x) {
#pragma unroll
  for (int j = 0; j < N; j++)
    x[j] = widen<A>(from_bits<T>(bits[j]));
}
template <class T, int N, class B, class A> RS_DEVICE void narrow_as(const A *x, B *bits) {
#pragma unroll
  for (int j = 0; j < N; j++)
    bits[j] = to_bits<B>(Narrow<T>::from(x[j]));
}

// What a called function is given by value, and gives: so it lies in registers.
template <class T, int N> struct Several { T at[N]; };
template <int N, class T> RS_DEVICE Several<T, N> several(const T *from) {
  Several<T, N> all;
#pragma unroll
  for (int j = 0; j < N; j++)
    all.at[j] = from[j];
  return all;
}
template <class T, int N> RS_DEVICE void copy_to(T *to, const Several<T, N> &all) {
#pragma unroll
  for (int j = 0; j < N; j++)
    to[j] = all.at[j];
}

// Of N elements of a type, numbers of type A. Numbers of 32 bits come from types of 32 bits at most.
template <int N, class B, class A> RS_DEVICE void widen_here(int type, const B *bits, A *x) {
  constexpr bool FLOATS = !is_integer<A>, WIDE = sizeof(A) == 8;
  switch (type) {
  case RS_IS_F16:
    if constexpr (FLOATS)
      widen_as<f16, N>(bits, x);
    break;
  case RS_IS_BF16:
    if constexpr (FLOATS)
      widen_as<bf16, N>(bits, x);
    break;
  case RS_IS_F32:
    if constexpr (FLOATS)
      widen_as<f32, N>(bits, x);
    break;
  case RS_IS_F64:
    if constexpr (FLOATS && WIDE)
      widen_as<f64, N>(bits, x);
    break;
  case RS_IS_I8:
    widen_as<i8, N>(bits, x);
    break;
  case RS_IS_U8:
    widen_as<u8, N>(bits, x);
    break;
  case RS_IS_I16:
    widen_as<i16, N>(bits, x);
    break;
  case RS_IS_U16:
    widen_as<u16, N>(bits, x);
    break;
  case RS_IS_I32:
    if constexpr (WIDE)
      widen_as<i32, N>(bits, x);
    break;
  case RS_IS_U32:
    if constexpr (WIDE)
      widen_as<u32, N>(bits, x);
    break;
  case RS_IS_I64:
    if constexpr (WIDE)
      widen_as<i64, N>(bits, x);
    break;
  case RS_IS_U64:
    if constexpr (WIDE)
      widen_as<u64, N>(bits, x);
    break;
  default:
    widen_as<boolean, N>(bits, x);
  }
}

// Of N numbers, elements of a type: of floats floats, of whole numbers whole ones, whose low bits they are.
template <int N, class B, class A> RS_DEVICE void narrow_here(int type, const A *x, B *bits) {
  if constexpr (is_integer<A>) {
    if (type == RS_IS_BOOL)
      narrow_as<boolean, N>(x, bits);
    else
      narrow_as<A, N>(x, bits);
  } else {
    switch (type) {
    case RS_IS_F16:
      narrow_as<f16, N>(x, bits);
      break;
    case RS_IS_BF16:
      narrow_as<bf16, N>(x, bits);
      break;
    case RS_IS_F32:
      narrow_as<f32, N>(x, bits);
      break;
    default:
      if constexpr (sizeof(A) == 8)
        narrow_as<f64, N>(x, bits);
    }
  }
}

// The same, called.
template <int N, class B, class A> RS_CALLED Several<A, N> widened(int type, Several<B, N> bits) {
  Several<A, N> x;
  widen_here<N>(type, bits.at, x.at);
  return x;
}
template <int N, class B, class A> RS_DEVICE void widen_all(int type, const B *bits, A *x) {
  copy_to(x, widened<N, B, A>(type, several<N>(bits)));
}
template <int N, class B, class A> RS_CALLED Several<B, N> narrowed(int type, Several<A, N> x) {
  Several<B, N> bits;
  narrow_here<N>(type, x.at, bits.at);
  return bits;
}
template <int N, class B, class A> RS_DEVICE void narrow_all(int type, const A *x, B *bits) {
  copy_to(bits, narrowed<N, B, A>(type, several<N>(x)));
}

template <class W> RS_DEVICE u64 load_bits(const u8 *from) {
  return load_element(reinterpret_cast<const W *>(from));
}
RS_DEVICE u64 load_bits_of(int bytes, const u8 *from) {
  return bytes == 1   ? load_bits<u8>(from)
         : bytes == 2 ? load_bits<u16>(from)
         : bytes == 4 ? load_bits<u32>(from)
                      : load_bits<u64>(from);
}
template <class W> RS_DEVICE void store_bits(u8 *to, u64 bits) {
  store_element(reinterpret_cast<W *>(to), (W)bits);
}
RS_DEVICE void store_bits_of(int bytes, u8 *to, u64 bits) {
  if (bytes == 1)
    store_bits<u8>(to, bits);
  else if (bytes == 2)
    store_bits<u16>(to, bits);
  else if (bytes == 4)
    store_bits<u32>(to, bits);
  else
    store_bits<u64>(to, bits);
}

// ---- operators ----------------------------------------------------------------------------------------------------

// What is noted of N elements of a thread, from their loading on until they are stored; bit j of each: of element j.
struct Notes {
  u32 begins = 0; // by flags or keys, a segment begins
  u32 resets = 0; // an operator begins anew with it
  u32 chosen = 0; // an output shows it
};

template <class T, class = void> struct IsPair { static constexpr bool value = true; };
template <class T> struct IsPair<T, Void<decltype((u64)T())>> { static constexpr bool value = false; };
template <class T> constexpr bool is_pair = IsPair<T>::value;
template <class T> union Halves {
  using Half = typename Word<sizeof(T) / 2>::type;
  T total;
  Half half[2];
  RS_METHOD Halves() {
  }
};

// Those that take and show numbers of type A.
template <class O, bool MULTIPLY = false> struct UniversalNumbers {
  using Op = O;
  using Number = typename O::Number;
  using Total = typename O::Total;
  using Bits = typename BitsFor<Number>::type;
  static constexpr bool MULTIPLIES = MULTIPLY, SECOND = false;
  static constexpr int MORE = 0;

  template <int N> RS_METHOD static void take(const rs_terms &, int type, const Bits *bits, Number *x) {
    widen_all<N>(type, bits, x);
  }
  template <int N, class F> RS_METHOD static void gather(const F &, const rs_terms &, Number *, Number *, Notes &) {
  }
  RS_METHOD static Total load(const rs_terms &, Number x, Number) {
    return O::load(x);
  }
  RS_METHOD static Total neutral(const rs_terms &) {
    return O::neutral();
  }
  RS_METHOD static Total identity(const rs_terms &) {
    return O::identity();
  }
  RS_METHOD static Total first(const rs_terms &, int type, Bits bits) {
    Number x;
    widen_all<1>(type, &bits, &x);
    return O::begin(x);
  }
  template <int N> RS_METHOD static void show(const rs_terms &, int type, const Total *t, Bits *bits) {
    Number x[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = O::store(t[j]);
    narrow_all<N>(type, x, bits);
  }
  RS_METHOD static Bits keep(const rs_terms &terms, int type, Total t) {
    Bits bits{};
    show<1>(terms, type, &t, &bits);
    return bits;
  }
};

// Recurrences, whose coefficients come from an array, or are one number. With that number 1 they are sums, bit for bit:
// so this has the gradients of sums, too, and in segments all that begins anew where a further input says so.
template <class A, int COUNT> struct UniversalRecurrence : UniversalNumbers<LinearRecurrence<A, A>> {
  using Base = UniversalNumbers<LinearRecurrence<A, A>>;
  using Total = typename Base::Total;
  using Bits = typename Base::Bits;
  static constexpr bool SECOND = COUNT > 1;
  static constexpr int MORE = COUNT;

  // Bit j: z[j] is true.
  template <int N> RS_METHOD static u32 true_ones(const A *z) {
    u32 ones = 0;
#pragma unroll
    for (int j = 0; j < N; j++)
      ones |= truth_of(z[j]) << j;
    return ones;
  }
  RS_METHOD static bool are_one(A x, A y) {
    return x == y || (x != x && y != y);
  }
  // From the last further input to the first: each finds what those after it have left in y and notes.
  template <int N, class F> RS_METHOD static void gather(const F &f, const rs_terms &terms, A *x, A *y, Notes &notes) {
#pragma unroll
    for (int j = 0; j < N; j++)
      y[j] = (A)terms.factor;
#pragma unroll 1
    for (int k = MORE - 1; k >= 0; k--) {
      const int role = terms.role[k];
      A z[N];
      if (role == RS_IS_NONE || role == RS_IS_WEIGHT)
        continue;
      f(k, z);
      if (MORE > 2 && role == RS_IS_DONE)
        notes.resets = true_ones<N>(z);
      else if (MORE > 2 ? role == RS_IS_TERMINATED || role == RS_IS_CHOICE : MORE > 1 && role == RS_IS_CHOICE)
        notes.chosen = true_ones<N>(z);
      else
#pragma unroll
        for (int j = 0; j < N; j++) {
          if (MORE > 2 && role == RS_IS_NEXT_VALUE)
            x[j] = notes.chosen >> j & 1 ? x[j] : fused((A)terms.gamma, z[j], x[j]);
          else if (MORE > 2 && role == RS_IS_VALUE)
            x[j] = x[j] - z[j];
          else if (MORE > 2 && role == RS_IS_ELEMENT) {
            notes.chosen |= number_of(are_one(y[j], z[j])) << j;
            y[j] = (A)terms.factor;
          } else
            y[j] = z[j];
        }
    }
  }
  RS_METHOD static Total load(const rs_terms &, A x, A factor) {
    return {factor, x};
  }
  template <int N, class F>
  RS_METHOD static void output(const F &f, int o, const rs_terms &terms, int type, const Total *t, Notes notes,
                               Bits *bits) {
    const int shows = terms.shows[o];
    A x[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = shows == RS_SHOWS_CHOSEN && !(notes.chosen >> j & 1) ? 0 : t[j].term;
    if (shows == RS_SHOWS_WEIGHED || shows == RS_SHOWS_RETURNS) {
      A z[N];
      f(shows == RS_SHOWS_WEIGHED, z);
#pragma unroll
      for (int j = 0; j < N; j++)
        x[j] = shows == RS_SHOWS_WEIGHED ? x[j] * z[j] : x[j] + z[j];
    }
    narrow_all<N>(type, x, bits);
  }
};

// Logarithms of sums, and their gradients, whose sums have other highest elements, and are shown as they are.
template <class A> struct UniversalLogSumExp : UniversalNumbers<Ordered<LogSumExp<A, A>>> {
  using Op = Ordered<LogSumExp<A, A>>;
  using Gradient = LogSumExpGradient<A, A>;
  using Base = UniversalNumbers<Op>;
  using Total = typename Base::Total;
  using Bits = typename Base::Bits;
  static constexpr bool SECOND = true;
  static constexpr int MORE = 2;

  RS_METHOD static bool is_gradient(const rs_terms &terms) {
    return terms.role[1] == RS_IS_RESULT;
  }
  RS_METHOD static Total neutral(const rs_terms &terms) {
    return {Op::neutral().highest, is_gradient(terms) ? Gradient::neutral().sum : 1};
  }
  RS_METHOD static Total identity(const rs_terms &terms) {
    return {Op::identity().highest, is_gradient(terms) ? Gradient::identity().sum : 1};
  }
  template <int N, class F> RS_METHOD static void gather(const F &f, const rs_terms &terms, A *, A *y, Notes &) {
    if (is_gradient(terms))
      f(1, y);
  }
  RS_METHOD static Total load(const rs_terms &terms, A x, A y) {
    return is_gradient(terms) ? Gradient::load(x, x, y) : Op::load(x);
  }
  RS_METHOD static Total first(const rs_terms &terms, int type, Bits bits) {
    A y;
    widen_all<1>(type, &bits, &y);
    return is_gradient(terms) ? Gradient::begin(y) : Op::begin(y);
  }
  template <int N> RS_METHOD static void numbers(const rs_terms &terms, const Total *t, A *x) {
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = is_gradient(terms) ? t[j].sum : Op::store(t[j]);
  }
  template <int N, class F>
  RS_METHOD static void output(const F &f, int o, const rs_terms &terms, int type, const Total *t, Notes, Bits *bits) {
    A x[N], element[N], y[N];
    numbers<N>(terms, t, x);
    if (terms.shows[o] == RS_SHOWS_GRADIENT) {
      f(0, element);
      f(1, y);
#pragma unroll
      for (int j = 0; j < N; j++)
        x[j] = Gradient::second(t[j], x[j], element[j], y[j]);
    }
    narrow_all<N>(type, x, bits);
  }
  RS_METHOD static Bits keep(const rs_terms &terms, int type, Total t) {
    A x;
    Bits bits{};
    numbers<1>(terms, &t, &x);
    narrow_all<1>(type, &x, &bits);
    return bits;
  }
};

// Totals as kernels of one length keep those of parts of rows (states.cuh): numbers, pairs of numbers, or indices.
template <class U> RS_DEVICE typename U::Op::Total load_state(const rs_terms &terms, const u8 *from) {
  using Total = typename U::Op::Total;
  const int bytes = terms.state_bytes;
  if constexpr (counts_elements<typename U::Op>) {
    return U::load_state(terms, from);
  } else if constexpr (is_pair<Total>) {
    Halves<Total> all;
    all.half[0] = (typename Halves<Total>::Half)load_bits_of(bytes, from);
    all.half[1] = (typename Halves<Total>::Half)load_bits_of(bytes, from + bytes);
    return all.total;
  } else {
    return U::first(terms, terms.type[RS_INIT], (typename U::Bits)load_bits_of(bytes, from));
  }
}
template <class U> RS_DEVICE void store_state(const rs_terms &terms, u8 *to, typename U::Op::Total t) {
  using Total = typename U::Op::Total;
  const int bytes = terms.state_bytes;
  if constexpr (counts_elements<typename U::Op>) {
    U::store_state(terms, to, t);
  } else if constexpr (is_pair<Total>) {
    Halves<Total> all;
    all.total = t;
    store_bits_of(bytes, to, all.half[0]);
    store_bits_of(bytes, to + bytes, all.half[1]);
  } else {
    store_bits_of(bytes, to, U::keep(terms, terms.type[RS_TOTALS], t));
  }
}

// Sums of floats in fixed point.
struct UniversalFixed : UniversalNumbers<Sum<u64>, true> {
  using Number = f64;
  using Base = UniversalNumbers<Sum<u64>, true>;
  template <int N> RS_METHOD static void take(const rs_terms &, int type, const u64 *bits, f64 *x) {
    widen_all<N>(type, bits, x);
  }
  template <int N, class F> RS_METHOD static void gather(const F &, const rs_terms &, f64 *, f64 *, Notes &) {
  }
  RS_METHOD static u64 load(const rs_terms &terms, f64 x, f64) {
    return (u64)nearest_whole(x * terms.scale);
  }
  RS_METHOD static u64 first(const rs_terms &, int, u64 bits) {
    return bits;
  }
  template <int N> RS_METHOD static void show(const rs_terms &terms, int type, const u64 *t, u64 *bits) {
    if (type == RS_IS_F64) {
      f64 x[N];
#pragma unroll
      for (int j = 0; j < N; j++)
        x[j] = (f64)(i64)t[j] * terms.unit;
      narrow_as<f64, N>(x, bits);
      return;
    }
    f32 x[N];
#pragma unroll
    for (int j = 0; j < N; j++) {
      i64 whole = (i64)t[j];
      f32 cut = float_toward_zero(whole);
      f32 odd = (i64)cut == whole ? cut : float_from_bits(float_bits(cut) | 1);
      x[j] = (type == RS_IS_F32 ? (f32)whole : odd) * (f32)terms.unit;
    }
    narrow_all<N>(type, x, bits);
  }
  RS_METHOD static u64 keep(const rs_terms &, int, u64 t) {
    return t;
  }
};

// Keys of 64 bits that are in the order of the values, whatever type these have; turned, where the lowest is wanted.
template <int N> RS_DEVICE void keys_of(const rs_terms &terms, int type, const u64 *bits, u64 *key) {
  const u64 nan = ~terms.turn;
  if (terms.numbers == RS_IS_F32) {
    f32 x[N];
    widen_all<N>(type, bits, x);
#pragma unroll
    for (int j = 0; j < N; j++)
      key[j] = Keys<f32, f32>::of(x[j], (u32)nan);
  } else if (terms.numbers == RS_IS_F64) {
    f64 x[N];
    widen_all<N>(type, bits, x);
#pragma unroll
    for (int j = 0; j < N; j++)
      key[j] = Keys<f64, f64>::of(x[j], nan);
  } else {
    widen_all<N>(type, bits, key);
    const u64 flip = (u64)(terms.numbers == RS_IS_I64) << 63;
#pragma unroll
    for (int j = 0; j < N; j++)
      key[j] ^= flip;
  }
#pragma unroll
  for (int j = 0; j < N; j++)
    key[j] ^= terms.turn;
}
template <int N> RS_DEVICE void show_keys(const rs_terms &terms, int type, const u64 *turned, u64 *bits) {
  u64 key[N];
#pragma unroll
  for (int j = 0; j < N; j++)
    key[j] = (turned[j] < terms.least ? terms.least : turned[j]) ^ terms.turn;
  if (terms.numbers == RS_IS_F32) {
    f32 x[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = Keys<f32, f32>::value((u32)key[j]);
    narrow_all<N>(type, x, bits);
  } else if (terms.numbers == RS_IS_F64) {
    f64 x[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = Keys<f64, f64>::value(key[j]);
    narrow_all<N>(type, x, bits);
  } else {
    const u64 flip = (u64)(terms.numbers == RS_IS_I64) << 63;
#pragma unroll
    for (int j = 0; j < N; j++)
      key[j] ^= flip;
    narrow_all<N>(type, key, bits);
  }
}

// The highest key. What there is of nothing is lower than any: show_keys() has in its place what users see.
struct HighestKey : OfNumbers<u64> {
  RS_METHOD static u64 combine(u64 left, u64 right) {
    return left > right ? left : right;
  }
  RS_METHOD static u64 neutral() {
    return 0;
  }
  RS_METHOD static u64 identity() {
    return 0;
  }
};
template <> constexpr bool is_exact<HighestKey> = true;

struct UniversalExtreme : UniversalNumbers<HighestKey> {
  template <int N> RS_METHOD static void take(const rs_terms &terms, int type, const u64 *bits, u64 *key) {
    keys_of<N>(terms, type, bits, key);
  }
  RS_METHOD static u64 first(const rs_terms &terms, int type, u64 bits) {
    u64 key;
    keys_of<1>(terms, type, &bits, &key);
    return key;
  }
  template <int N> RS_METHOD static void show(const rs_terms &terms, int type, const u64 *t, u64 *bits) {
    show_keys<N>(terms, type, t, bits);
  }
  RS_METHOD static u64 keep(const rs_terms &terms, int type, u64 t) {
    u64 bits{};
    show<1>(terms, type, &t, &bits);
    return bits;
  }
};

// Joined by or, turned where they are to be joined by and; or by xor.
template <class O> struct UniversalBits : UniversalNumbers<O> {
  template <int N> RS_METHOD static void take(const rs_terms &terms, int type, const u64 *bits, u64 *x) {
    widen_all<N>(type, bits, x);
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] ^= terms.turn;
  }
  RS_METHOD static u64 first(const rs_terms &terms, int type, u64 bits) {
    u64 x;
    take<1>(terms, type, &bits, &x);
    return x;
  }
  template <int N> RS_METHOD static void show(const rs_terms &terms, int type, const u64 *t, u64 *bits) {
    u64 x[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = t[j] ^ terms.turn;
    narrow_all<N>(type, x, bits);
  }
  RS_METHOD static u64 keep(const rs_terms &terms, int type, u64 t) {
    u64 bits{};
    show<1>(terms, type, &t, &bits);
    return bits;
  }
};

// Where the highest key is, of type K: of elements of up to 4 bytes u32 does.
template <class K, bool FIRST> struct UniversalIndex : UniversalNumbers<Indexed<K, K, true, FIRST, false>> {
  using Op = Indexed<K, K, true, FIRST, false>;
  using Total = typename Op::Total;
  using Number = u64;
  using Bits = u64;
  static constexpr bool SECOND = true;
  template <int N, class F> RS_METHOD static void gather(const F &, const rs_terms &, u64 *, u64 *, Notes &) {
  }
  template <int N> RS_METHOD static void take(const rs_terms &terms, int type, const u64 *bits, u64 *key) {
    keys_of<N>(terms, type, bits, key);
    if (sizeof(K) == 4 && terms.numbers == RS_IS_I64) // the sign is the highest of 64 bits
#pragma unroll
      for (int j = 0; j < N; j++)
        key[j] = key[j] >> 63 << 31 | (key[j] & 0x7fffffff);
  }
  // A key as keys_of() has it.
  RS_METHOD static u64 wide(const rs_terms &terms, K key) {
    if constexpr (sizeof(K) == 8)
      return key;
    else if (terms.numbers == RS_IS_I64)
      return (u64)(i64)(i32)(key ^ 1u << 31) ^ 1ull << 63;
    else
      return key | terms.turn >> 32 << 32;
  }
  RS_METHOD static Total load(const rs_terms &, u64 key, u64) {
    return {(K)key, 0, 1};
  }
  RS_METHOD static Total first(const rs_terms &, int, u64) {
    return Op::neutral();
  }
  template <int N> RS_METHOD static void show(const rs_terms &terms, int, const Total *t, u64 *bits) {
#pragma unroll
    for (int j = 0; j < N; j++)
      bits[j] = t[j].index == Op::NONE ? ~(u64)0 : terms.reverse ? (u32)terms.last - t[j].index : t[j].index;
  }
  // A total as other kernels of such elements have it, whose key has 8 bytes or the lower half of these.
  RS_METHOD static Total load_state(const rs_terms &terms, const u8 *from) {
    u64 key = load_bits_of(terms.state_bytes, from);
    if (sizeof(K) == 8 && terms.state_bytes == 4) {
      u32 turned = (u32)(key ^ terms.turn);
      key = terms.turn ^ (terms.numbers == RS_IS_I64 ? (u64)(i64)(i32)(turned ^ 1u << 31) ^ 1ull << 63 : turned);
    }
    return {(K)key, (u32)load_bits<u32>(from + terms.state_bytes), (u32)load_bits<u32>(from + terms.state_bytes + 4)};
  }
  RS_METHOD static void store_state(const rs_terms &terms, u8 *to, Total t) {
    u64 key = t.key;
    if (sizeof(K) == 8 && terms.state_bytes == 4 && terms.numbers == RS_IS_I64)
      key ^= t.index == Op::NONE ? 0 : 1u << 31;
    store_bits_of(terms.state_bytes, to, key);
    store_bits<u32>(to + terms.state_bytes, t.index);
    store_bits<u32>(to + terms.state_bytes + 4, t.count);
  }
  // The second output has the elements themselves, or what an extremum of nothing has: its key is the lowest.
  template <int N, class F>
  RS_METHOD static void output(const F &, int o, const rs_terms &terms, int type, const Total *t, Notes, u64 *bits) {
    if (o == 0) {
      show<N>(terms, type, t, bits);
      return;
    }
    u64 key[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      key[j] = wide(terms, t[j].key);
    show_keys<N>(terms, type, key, bits);
  }
  RS_METHOD static u64 keep(const rs_terms &terms, int type, Total t) {
    u64 bits{};
    show<1>(terms, type, &t, &bits);
    return bits;
  }
};
template <class K, bool FIRST> constexpr bool counts_elements<Indexed<K, K, true, FIRST, false>> = true;

// An operator as it is; or in segments, which begin where an element says so: recurrences tell by a factor.
template <class O> struct Unsegmented : O {
  using Own = typename O::Total;
  RS_METHOD static Own told(Own t, u32) {
    return t;
  }
  RS_METHOD static Own started(Own t) {
    return t;
  }
  RS_METHOD static Own own(Own t) {
    return t;
  }
  RS_METHOD static u32 state(Own) {
    return 0;
  }
};
template <class O> struct InSegments : ByFlags<O, false, false> {
  using Base = ByFlags<O, false, false>;
  using Own = typename O::Total;
  using Total = typename Base::Total;
  RS_METHOD static Total started(Own t) {
    return Base::of(t, 0);
  }
  RS_METHOD static Own own(Total t) {
    return Base::whole(t);
  }
  RS_METHOD static u32 state(Total t) {
    return t.state;
  }
};
template <class A, class K> struct InSegments<LinearRecurrence<A, K>> : Resetting<LinearRecurrence<A, K>> {
  using Own = typename LinearRecurrence<A, K>::Total;
  RS_METHOD static Own started(Own t) {
    return t;
  }
  RS_METHOD static Own own(Own t) {
    return t;
  }
  RS_METHOD static u32 state(Own) {
    return 0;
  }
};
template <class O, bool SEGMENTED> struct UniversalOp { using type = Unsegmented<O>; };
template <class O> struct UniversalOp<O, true> { using type = InSegments<O>; };
template <class O> constexpr bool counts_elements<Unsegmented<O>> = counts_elements<O>;
template <class O> constexpr bool counts_elements<InSegments<O>> = counts_elements<O>;
template <class O> constexpr bool is_exact<Unsegmented<O>> = is_exact<O>;

// ---- the problem --------------------------------------------------------------------------------------------------

struct UniversalRows : FurtherRows<RS_UNIVERSAL_RANK> {
  rs_terms terms;
};

// A problem as rows.cuh has it. MOST: the longest rows there may be.
template <class U, bool SEGMENTED, i64 MOST> struct UniversalProblem {
  using Of = U;
  using Op = typename UniversalOp<typename U::Op, SEGMENTED>::type;
  using Acc = typename Op::Total;
  using In = u8;
  using Out = u8;
  using Mask = u8;
  using Kept = u8;
  static constexpr MaskMode mask = SEGMENTS;
  static constexpr bool reverse = false;
  static constexpr i64 length = RS_ANY_LENGTH, most = MOST;
  static constexpr int rank = RS_UNIVERSAL_RANK;
  struct Further {
    using Inputs = Pack<>;
    using Params = Pack<>;
    using Second = Nothing;
    using Segment = Nothing;
    static constexpr Told told = NOT_TOLD;
    static constexpr bool weighs = false;
  };
};

// Stretches fetch what they need themselves, in whole words.
template <class U, bool SEGMENTED, i64 MOST> struct FurtherArrays<UniversalProblem<U, SEGMENTED, MOST>, true> {
  template <class S> RS_METHOD static void settle(S) {
  }
};

// ---- copies in shared memory --------------------------------------------------------------------------------------

// Of an array that a block fetches, N elements of up to BYTES bytes for each of the stretches S; in the order of
// memory, and without gaps where they have fewer bytes. A warp has its own part. WHICH: each array has its own, or
// COUNT of them.
enum { IN_COPY, MASK_COPY, MORE_COPY, SEGMENT_COPY };
template <class S, int BYTES> struct Copies {
  static constexpr int WARP = 32 * BYTES * S::N, BLOCK = S::ALL * BYTES * S::N;
  // That of the warp of a stretch.
  template <int WHICH, int COUNT = 1> RS_METHOD static u8 *of(S s, int k = 0) {
    RS_SHARED u128 copies[COUNT * BLOCK / 16];
    return reinterpret_cast<u8 *>(copies) + (k * BLOCK + (int)s.number() / 32 * WARP);
  }
  RS_METHOD static u64 *before(S s) {
    RS_SHARED u64 word[S::ALL];
    return word + s.number();
  }
};

template <class W, int N, class B> RS_DEVICE void bits_of(const u8 *from, bool reverse, B *bits) {
  Vector<W, N> x = shared_vector<W, N>(reinterpret_cast<const W *>(from));
#pragma unroll
  for (int j = 0; j < N; j++)
    bits[j] = (B)(reverse ? x.at[N - 1 - j] : x.at[j]);
}
template <class W, int N, class B> RS_DEVICE Vector<W, N> vector_of(const B *bits, bool reverse) {
  Vector<W, N> x;
#pragma unroll
  for (int j = 0; j < N; j++)
    x.at[j] = (W)(reverse ? bits[N - 1 - j] : bits[j]);
  return x;
}
template <class W, int N> RS_DEVICE void fetch_vector(u8 *to, const u8 *from) {
  using Of = typename Words<W, N>::type;
#pragma unroll
  for (int w = 0; w < Words<W, N>::COUNT; w++)
    fetch(reinterpret_cast<Of *>(to) + w, reinterpret_cast<const Of *>(from) + w);
}
template <class W> RS_DEVICE void fetch_one(u8 *to, const u8 *from) {
  fetch(reinterpret_cast<W *>(to), reinterpret_cast<const W *>(from));
}
// A row's elements in one array: where the first one of the scan is, and the bytes from each to the next.
struct BytesPlace {
  u8 *at;
  i64 apart;
  int bytes;

  RS_METHOD bool reverse() const {
    return apart < 0;
  }
  template <class S> RS_METHOD u8 *lowest(S s) const {
    return at + (reverse() ? s.i + S::N - 1 : s.i) * apart;
  }
  template <class S> RS_METHOD bool has_vectors(S s) const {
    int all = S::N * bytes, word = all < 16 ? all : 16;
    return (apart == bytes || apart == -bytes) && (reinterpret_cast<u64>(lowest(s)) & (u64)(word - 1)) == 0;
  }
  // In a copy of the warp: the stretch of a lane; and element e of the group that begins with a lane.
  template <int N> RS_METHOD u8 *stretch(u8 *copy, int lane) const {
    return copy + lane * (N * bytes);
  }
  template <int N> RS_METHOD u8 *element(u8 *copy, int first, int e) const {
    int j = e % N;
    return stretch<N>(copy, first + e / N) + (reverse() ? N - 1 - j : j) * bytes;
  }
  // All lanes of the warp come to what follows.
  template <class S> RS_METHOD void fetch_here(u8 *copy, S s) const {
    constexpr int N = S::N;
    if (s.full && has_vectors(s)) {
      if (s.left > 0) {
        u8 *to = stretch<N>(copy, (int)lane_index()), *from = lowest(s);
        if (bytes == 1)
          fetch_vector<u8, N>(to, from);
        else if (bytes == 2)
          fetch_vector<u16, N>(to, from);
        else if (bytes == 4)
          fetch_vector<u32, N>(to, from);
        else
          fetch_vector<u64, N>(to, from);
      }
      return;
    }
    if (bytes == 1)
      fetch_apart<u8>(copy, s);
    else if (bytes == 2)
      fetch_apart<u16>(copy, s);
    else if (bytes == 4)
      fetch_apart<u32>(copy, s);
    else
      fetch_apart<u64>(copy, s);
  }
  // The lanes of a group fetch one another's elements, neighbours at a time; of less than 4 bytes, for which fetch()
  // waits, all at once.
  template <class W, class S> RS_METHOD void fetch_apart(u8 *copy, S s) const {
    constexpr int N = S::N, AT_A_TIME = sizeof(W) < 4 ? N : 1;
    const int lane = (int)(lane_index() % S::LANES), first = (int)lane_index() - lane, before = lane * N;
    const u8 *from = at + (s.i - before + lane) * apart;
    const i64 next = S::LANES * apart;
#pragma unroll AT_A_TIME
    for (int k = 0; k < N; k++, from += next) {
      int e = k * S::LANES + lane;
      if (e < s.left + before)
        fetch_one<W>(element<N>(copy, first, e), from);
    }
  }
  // The same, called.
  template <class S> RS_METHOD void fetch_stretch(u8 *copy, S s) const;
  // What was fetched; past the row anything, which is part of no prefix that is stored.
  template <int N, class B> RS_METHOD void fetched_here(u8 *copy, B *bits) const {
    const u8 *from = stretch<N>(copy, (int)lane_index());
    if (bytes == 1)
      bits_of<u8, N>(from, reverse(), bits);
    else if (bytes == 2)
      bits_of<u16, N>(from, reverse(), bits);
    else if (bytes == 4)
      bits_of<u32, N>(from, reverse(), bits);
    else if constexpr (sizeof(B) == 8)
      bits_of<u64, N>(from, reverse(), bits);
  }
  template <class W, class S, class B> RS_METHOD void store_words(u8 *copy, S s, const B *bits) const {
    constexpr int N = S::N;
    Vector<W, N> y = vector_of<W, N>(bits, reverse());
    if (!any_lane(!has_vectors(s) || (s.left > 0 && s.left < N))) {
      if (s.left > 0)
        store_vector<W, N>(reinterpret_cast<W *>(lowest(s)), y);
      return;
    }
    // The lanes of a group store one another's elements, neighbours at a time.
    const int lane = (int)(lane_index() % S::LANES), first = (int)lane_index() - lane, before = lane * N;
    warp_barrier();
    share_vector<W, N>(reinterpret_cast<W *>(stretch<N>(copy, (int)lane_index())), y);
    warp_barrier();
    u8 *to = at + (s.i - before + lane) * apart;
    const i64 next = S::LANES * apart;
#pragma unroll
    for (int k = 0; k < N; k++, to += next) {
      int e = k * S::LANES + lane;
      if (e < s.left + before)
        store_element(reinterpret_cast<W *>(to), *reinterpret_cast<const W *>(element<N>(copy, first, e)));
    }
  }
  template <int N, class B> RS_METHOD void fetched(u8 *copy, B *bits) const;
  template <class S, class B> RS_METHOD void store_here(u8 *copy, S s, const B *bits) const {
    if (bytes == 1)
      store_words<u8>(copy, s, bits);
    else if (bytes == 2)
      store_words<u16>(copy, s, bits);
    else if (bytes == 4)
      store_words<u32>(copy, s, bits);
    else if constexpr (sizeof(B) == 8)
      store_words<u64>(copy, s, bits);
  }
  template <class S, class B> RS_METHOD void store(u8 *copy, S s, const B *bits) const;
};

template <class S>
RS_CALLED void fetch_called(u8 *at, i64 apart, int bytes, u8 *copy, typename S::Index i, typename S::Index left,
                            bool full) {
  BytesPlace{at, apart, bytes}.fetch_here(copy, S{i, left, full, 0, 0});
}

template <int N, class B> RS_CALLED Several<B, N> fetched_called(i64 apart, int bytes, u8 *copy) {
  Several<B, N> bits{};
  BytesPlace{nullptr, apart, bytes}.fetched_here<N>(copy, bits.at);
  return bits;
}
template <class S, class B>
RS_CALLED void store_called(u8 *at, i64 apart, int bytes, u8 *copy, typename S::Index i, typename S::Index left,
                            Several<B, S::N> bits) {
  BytesPlace{at, apart, bytes}.store_here(copy, S{i, left, true, 0, 0}, bits.at);
}

// A number of an array.
template <class B, class A> RS_CALLED A number_at(const u8 *from, int bytes, int type) {
  B bits = (B)load_bits_of(bytes, from);
  A x;
  widen_all<1>(type, &bits, &x);
  return x;
}

template <class S> RS_METHOD void BytesPlace::fetch_stretch(u8 *copy, S s) const {
  fetch_called<S>(at, apart, bytes, copy, s.i, s.left, s.full);
}

template <int N, class B> RS_METHOD void BytesPlace::fetched(u8 *copy, B *bits) const {
  copy_to(bits, fetched_called<N, B>(apart, bytes, copy));
}
template <class S, class B> RS_METHOD void BytesPlace::store(u8 *copy, S s, const B *bits) const {
  store_called<S, B>(at, apart, bytes, copy, s.i, s.left, several<S::N>(bits));
}

// ---- a row --------------------------------------------------------------------------------------------------------

template <class R> RS_CALLED typename R::Acc started_called(const UniversalRows &rows, const u8 *init);
template <class R> RS_CALLED void keep_called(const UniversalRows &rows, u8 *to, u8 *segments, typename R::Acc value);

template <class U, bool SEGMENTED, i64 MOST> struct Row<UniversalProblem<U, SEGMENTED, MOST>> {
  using P = UniversalProblem<U, SEGMENTED, MOST>;
  using Op = typename P::Op;
  using Acc = typename P::Acc;
  using Own = typename U::Op::Total;
  using Bits = typename U::Bits;
  using Index = typename IndexFor<(MOST < (1 << 30))>::type;

  const UniversalRows &rows;
  bool keeps;
  u8 *begin[RS_ALL_ARRAYS]; // of the row in each array

  // What a stretch needs of its row, without another one at hand.
  struct Params {
    const UniversalRows *rows;
    const u8 *init;
  };

  RS_METHOD Row(const Rows<P::rank> &all, i64 number)
      : rows(static_cast<const UniversalRows &>(all)), keeps(all.has(RS_TOTALS)) {
    i64 at[RS_ALL_ARRAYS] = {};
    u64 left = (u64)number;
#pragma unroll 1
    for (int d = P::rank - 1; left; d--) { // until all dimensions before have index 0
      u64 size = (u64)rows.shape[d], index = left;
      if (left < size) {
        left = 0;
      } else if ((left | size) >> 32) {
        index = left % size;
        left /= size;
      } else {
        index = (u32)left % (u32)size;
        left = (u32)left / (u32)size;
      }
      each([&](int a) { at[a] += (i64)index * stride(a, d); });
    }
    each([&](int a) { begin[a] = first(a) + at[a] * rows.terms.bytes[a]; });
  }
  RS_METHOD Params params() const {
    return {&rows, begin[RS_INIT]};
  }
  RS_METHOD Index length() const {
    return (Index)rows.length;
  }
  RS_METHOD bool masked() const {
    return rows.terms.selects | rows.terms.multiplies;
  }

  // ---- where it is

  template <class F> RS_METHOD static void each(const F &f) {
    f(RS_IN), f(RS_OUT), f(RS_MASK), f(RS_INIT), f(RS_TOTALS);
#pragma unroll
    for (int k = 0; k < U::MORE; k++)
      f(RS_MORE_IN + k);
    if constexpr (U::SECOND)
      f(RS_SECOND);
    if constexpr (SEGMENTED)
      f(RS_SEGMENTS);
  }
  RS_METHOD static BytesPlace place(const UniversalRows &rows, int a, u8 *at) {
    int bytes = rows.terms.bytes[a];
    return {at, (a < RS_ARRAYS ? rows.step[a] : rows.further_step[a - RS_ARRAYS]) * bytes, bytes};
  }
  RS_METHOD BytesPlace place(int a) const {
    return place(rows, a, begin[a]);
  }
  RS_METHOD i64 stride(int a, int d) const {
    return a < RS_ARRAYS ? rows.stride[a][d] : rows.further_stride[a - RS_ARRAYS][d];
  }
  RS_METHOD u8 *first(int a) const {
    return static_cast<u8 *>(a < RS_ARRAYS ? rows.at[a] : rows.further_at[a - RS_ARRAYS]);
  }
  // ---- its ends

  RS_METHOD Acc started(Own without) const {
    return rows.has(RS_INIT) ? started_called<Row>(rows, begin[RS_INIT]) : Op::started(without);
  }
  RS_METHOD Acc start() const {
    return started(U::neutral(rows.terms));
  }
  RS_METHOD Acc empty() const {
    return started(U::identity(rows.terms));
  }
  RS_METHOD void keep(Acc value) const {
    if (keeps)
      keep_called<Row>(rows, begin[RS_TOTALS], begin[RS_SEGMENTS], value);
  }
  RS_METHOD static Acc started_at(const UniversalRows &rows, const u8 *init) {
    const rs_terms &terms = rows.terms;
    if (terms.states)
      return Op::started(load_state<U>(terms, init));
    Bits bits = (Bits)load_bits_of(terms.bytes[RS_INIT], init);
    return Op::started(U::first(terms, terms.type[RS_INIT], bits));
  }
  RS_METHOD static void keep_at(const UniversalRows &rows, u8 *to, u8 *segments, Acc value) {
    const rs_terms &terms = rows.terms;
    if (!terms.states) {
      store_bits_of(terms.bytes[RS_TOTALS], to, U::keep(terms, terms.type[RS_TOTALS], Op::own(value)));
      return;
    }
    store_state<U>(terms, to, Op::own(value));
    if constexpr (SEGMENTED)
      if (terms.told != NOT_TOLD)
        keep_mark(rows, to, place(rows, RS_SEGMENTS, segments), Op::state(value));
  }
  // The last element's key, and what else kernels that hand on states have in segments (ops.cuh).
  RS_METHOD static void keep_mark(const UniversalRows &rows, u8 *to, BytesPlace segments, u32 state) {
    const rs_terms &terms = rows.terms;
    if (rows.length == 0)
      return;
    const u64 last = load_bits_of(segments.bytes, segments.at + (rows.length - 1) * segments.apart);
    bool marked = terms.told != KEY_CHANGES && (last & terms.segments.truth) != 0;
    if (terms.told == KEY_CHANGES) {
      u64 key = terms.type[RS_SEGMENTS] == RS_IS_BOOL ? last != 0 : (u64)((i64)(last << terms.spare) >> terms.spare);
      store_bits_of(terms.word_at - terms.key_at, to + terms.key_at, key);
    }
    store_bits<u32>(to + terms.word_at, (state & INSIDE) | ANY | (marked ? (u32)MARKED : 0));
  }

  // ---- its elements

  // Elements are no wider than what totals take, but for keys of segments.
  template <class S> using CopyOf = Copies<S, (int)sizeof(Bits)>;
  template <class S> using WideCopy = Copies<S, 8>;

  template <class S> RS_METHOD static u8 *more_copy(S s, int k) {
    return CopyOf<S>::template of<MORE_COPY, (U::MORE > 0 ? U::MORE : 1)>(s, k);
  }
  template <class S> RS_METHOD void fetch_stretch(S &s) const {
    place(RS_IN).fetch_stretch(CopyOf<S>::template of<IN_COPY>(s), s);
    if (masked())
      place(RS_MASK).fetch_stretch(CopyOf<S>::template of<MASK_COPY>(s), s);
#pragma unroll
    for (int k = 0; k < U::MORE; k++)
      if (rows.terms.role[k] != RS_IS_NONE)
        place(RS_MORE_IN + k).fetch_stretch(more_copy(s, k), s);
    if constexpr (SEGMENTED)
      fetch_beginnings(s);
  }
  // And what of the element before a stretch tells whether a segment begins with its first one.
  template <class S> RS_METHOD void fetch_beginnings(S s) const {
    const bool asks = s.i > 0 && s.left > 0;
    const BytesPlace segments = place(RS_SEGMENTS);
    if (rows.terms.told != NOT_TOLD)
      segments.fetch_stretch(WideCopy<S>::template of<SEGMENT_COPY>(s), s);
    if (rows.terms.told > MARKED_ITSELF && asks)
      *WideCopy<S>::before(s) = load_bits_of(segments.bytes, segments.at + (s.i - 1) * segments.apart);
    if constexpr (U::MORE > 2)
      if (rows.terms.role[0] == RS_IS_ELEMENT && asks) {
        auto number = [&](int k) {
          const BytesPlace from = place(RS_MORE_IN + k);
          return number_at<Bits, typename U::Number>(from.at + (s.i - 1) * from.apart, from.bytes,
                                                     rows.terms.type[RS_MORE_IN + k]);
        };
        *WideCopy<S>::before(s) = U::are_one(number(0), number(1));
      }
  }
  // The flag or key of the element before a row that is a part of one; whether there is one.
  RS_METHOD static bool mark_before(const rs_terms &terms, const u8 *init, u64 &last) {
    u32 word = (u32)load_bits<u32>(init + terms.word_at);
    last = word & MARKED ? ~0ull : 0;
    if (terms.told == KEY_CHANGES)
      last = load_bits_of(terms.word_at - terms.key_at, init + terms.key_at) &
             ~0ull >> (64 - 8 * terms.bytes[RS_SEGMENTS]);
    return word & ANY;
  }
  // Bit j: a segment begins with element j of a stretch.
  template <class S> RS_METHOD static u32 beginnings(S s, const Params &params) {
    const rs_terms &terms = params.rows->terms;
    u64 bits[S::N], last = 0;
    place(*params.rows, RS_SEGMENTS, nullptr).template fetched<S::N>(WideCopy<S>::template of<SEGMENT_COPY>(s), bits);
    bool before = s.i > 0; // whether anything tells of the element before
    if (terms.told != MARKED_ITSELF && before)
      last = *WideCopy<S>::before(s);
    if (terms.states && s.i == 0 && params.rows->has(RS_INIT))
      before = mark_before(terms, params.init, last);
    u32 begins = 0;
#pragma unroll
    for (int j = 0; j < S::N; j++) {
      u64 own = bits[j] & terms.segments.truth;
      bool so = terms.told == MARKED_ITSELF             ? own != 0
                : terms.told == MARKED_BEFORE           ? before && (last & terms.segments.truth) != 0
                : terms.type[RS_SEGMENTS] == RS_IS_BOOL ? before && (bits[j] != 0) != (last != 0)
                                                        : before && bits[j] != last;
      before = true;
      begins |= number_of(so) << j;
      last = bits[j];
    }
    return begins;
  }
  // Elements of a further input, as numbers.
  template <class S> struct MoreOf {
    const UniversalRows &rows;
    S s;
    template <class N> RS_METHOD void operator()(int k, N *z) const {
      Bits bits[S::N];
      Row::place(rows, RS_MORE_IN + k, nullptr).template fetched<S::N>(more_copy(s, k), bits);
      widen_all<S::N>(rows.terms.type[RS_MORE_IN + k], bits, z);
    }
  };
  // Bit j: element j is left out.
  template <int N>
  RS_METHOD static u32 left_out(const rs_terms &terms, const Bits *bits, const Bits *masks,
                                const typename U::Number *x) {
    u32 out = 0;
    if (terms.omits)
#pragma unroll
      for (int j = 0; j < N; j++) {
        bool is = (bits[j] & terms.in.value) > terms.in.most;
        if constexpr (U::MULTIPLIES)
          is = x[j] != x[j];
        out |= number_of(is) << j;
      }
    if (terms.selects)
#pragma unroll
      for (int j = 0; j < N; j++)
        out |= number_of((masks[j] & terms.mask.truth) == 0) << j;
    return out;
  }
  template <class S> RS_METHOD static void totals(S s, const Params &params, Notes &notes, Acc *total) {
    constexpr int N = S::N;
    const rs_terms &terms = params.rows->terms;
    using Number = typename U::Number;
    Bits bits[N], masks[N];
    Number x[N], y[N];
    place(*params.rows, RS_IN, nullptr).template fetched<S::N>(CopyOf<S>::template of<IN_COPY>(s), bits);
    U::template take<N>(terms, terms.type[RS_IN], bits, x);
    if (terms.selects | terms.multiplies)
      place(*params.rows, RS_MASK, nullptr).template fetched<S::N>(CopyOf<S>::template of<MASK_COPY>(s), masks);
    if constexpr (U::MULTIPLIES)
      if (terms.multiplies) {
        Number by[N];
        widen_all<N>(terms.type[RS_MASK], masks, by);
#pragma unroll
        for (int j = 0; j < N; j++)
          x[j] = x[j] * by[j];
      }
    const u32 out = left_out<N>(terms, bits, masks, x);
    U::template gather<N>(MoreOf<S>{*params.rows, s}, terms, x, y, notes);
    if constexpr (SEGMENTED)
      notes.resets = resets(s, params, out, notes);
#pragma unroll
    for (int j = 0; j < N; j++) {
      Own own = U::load(terms, x[j], U::MORE ? y[j] : x[j]);
      if (out >> j & 1)
        own = U::identity(terms);
      total[j] = Op::told(own, notes.resets >> j & 1);
    }
    if (!params.rows->has(RS_OUT)) // where totals are all that is wanted, what lies past the row is part of one
#pragma unroll
      for (int j = 0; j < N; j++)
        if (j >= s.left)
          total[j] = Op::started(U::neutral(terms));
  }
  // Bit j: all there is begins anew with element j. One that is left out does not say so itself.
  template <class S> RS_METHOD static u32 resets(S s, const Params &params, u32 out, Notes &notes) {
    const rs_terms &terms = params.rows->terms;
    u32 own = notes.resets & ~out;
    if (terms.told != NOT_TOLD)
      notes.begins = beginnings(s, params);
    if constexpr (U::MORE > 2)
      if (terms.role[0] == RS_IS_ELEMENT)
        own = notes.chosen << 1 | (s.i > 0 ? (u32)*WideCopy<S>::before(s) : 0);
    return notes.begins | own;
  }
  template <class S> RS_METHOD void store_first(S s, const Notes *notes, const Acc *value, const Params &) const {
    constexpr int N = S::N;
    Own own[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      own[j] = Op::own(value[j]);
    if constexpr (SEGMENTED)
      if (rows.exclusive)
#pragma unroll
        for (int j = 0; j < N; j++)
          if (notes->begins >> j & 1)
            own[j] = U::identity(rows.terms);
    // What came in is no longer asked for: so its copy is the way out.
    u8 *copy = CopyOf<S>::template of<IN_COPY>(s);
    Bits bits[N];
    if constexpr (U::SECOND) {
#pragma unroll 1
      for (int o = first(RS_SECOND) ? 1 : 0; o >= 0; o--) {
        U::template output<N>(MoreOf<S>{rows, s}, o, rows.terms, rows.terms.type[o ? RS_SECOND : RS_OUT], own, *notes,
                              bits);
        (o ? place(RS_SECOND) : place(RS_OUT)).store(copy, s, bits);
      }
    } else {
      U::template show<N>(rows.terms, rows.terms.type[RS_OUT], own, bits);
      place(RS_OUT).store(copy, s, bits);
    }
  }
};

template <class R> RS_CALLED typename R::Acc started_called(const UniversalRows &rows, const u8 *init) {
  return R::started_at(rows, init);
}
template <class R> RS_CALLED void keep_called(const UniversalRows &rows, u8 *to, u8 *segments, typename R::Acc value) {
  R::keep_at(rows, to, segments, value);
}

template <class U, bool SEGMENTED, i64 MOST, int N, class S>
struct VectorFor<UniversalProblem<U, SEGMENTED, MOST>, N, S, true> {
  struct type : Inside<UniversalProblem<U, SEGMENTED, MOST>, false> {
    using P = UniversalProblem<U, SEGMENTED, MOST>;
    using R = Row<P>;
    using Op = typename P::Op;
    using Acc = typename P::Acc;
    using Part = Acc;
    static constexpr bool FINDS_END = false;
    S stretch;
    Acc x[N]; // after total(), of each element
    Notes notes;

    struct Elements {
      const Notes *at;
    };
    RS_METHOD Elements elements() const {
      return {&notes};
    }
    RS_METHOD type forgotten() const {
      return *this;
    }
    RS_METHOD Part total(const typename R::Params &params) {
      notes = {};
      R::totals(stretch, params, notes, x);
      return ::total<Op, N>(x);
    }
    RS_METHOD Part total(const typename R::Params &params) const {
      return type(*this).total(params);
    }
    RS_METHOD void prefixes(Acc, Part before, Part after, Acc *prefix, const typename R::Params &) const {
      carries<Op, N>(before, x, prefix);
      prefix[N] = after;
    }
  };
};

// scan_rows() of row.cuh; and where there is no output, of rows of 2^k elements totals alone, of which no fold starts.
template <class P, class S, int THREADS> RS_DEVICE void scan_universal(const UniversalRows &rows) {
  using T = Tile<P, S, true, THREADS>;
  using Acc = typename P::Acc;
  using Index = typename T::Index;
  constexpr int GROUPS = THREADS / S::LANES;
  const Index tiles = T::count(rows);

  for (i64 base = (i64)block_index() * GROUPS; base < rows.count; base += (i64)block_count() * GROUPS) {
    i64 number = base + thread_index() / S::LANES;
    bool wanted = number < rows.count;
    Row<P> row(rows, wanted ? number : rows.count - 1);
    if (!wanted)
      row.keeps = false;
    if (tiles == 0) {
      if (T::lane() == 0)
        row.keep(row.empty());
      continue;
    }
    SharedCounter<typename P::Op, T::COUNT, Acc, GROUPS, S::LANES> counter;
    Acc start = row.start(), carry = start;
    T tile;
#pragma unroll 1
    for (Index t = 0; t < tiles; t++) {
      tile.load(row, t * S::ELEMENTS);
      Acc end = counter.push(t, tile.up(nullptr), start);
      if (rows.has(RS_OUT))
        tile.down(row, t * S::ELEMENTS, carry, end,
                  [&](int u, Index i, const Acc *value) { tile.store_all(row, u, i, value, wanted); });
      carry = end;
    }
    if (!rows.has(RS_OUT) && T::lane() == 0)
      row.keep(counter.digits()[log2_floor(tiles)]);
  }
}

// ---- rows that are few, or long -----------------------------------------------------------------------------------

// A block has a piece of a row: tiles, as many as are a power of two, so that the row has few pieces. It goes along its
// piece twice, for the total and with the prefix before it; the second time L2 has it, if it is not too large.
template <class P, class S> RS_DEVICE void scan_pieces(const Rows<P::rank> &rows) {
  using T = Tile<P, S, true>;
  using Op = typename P::Op;
  using Acc = typename P::Acc;
  using Index = typename T::Index;
  constexpr i64 MOST_TILES = 1 << 24; // of a piece
  RS_SHARED Acc between[2][S::WARPS];
  RS_SHARED TileEnds<Acc> ends;
  const Index length = Length<P>::of(rows);
  Index piece = S::ELEMENTS;
  while ((length - 1) / piece >= RS_MOST_PIECES)
    piece *= 2;

  const u32 count = (u32)((length - 1) / piece) + 1;
  const u32 at = take_tile(rows.workspace, count, ends).number, t = at / (u32)rows.count, number = at % (u32)rows.count;
  Row<P> row(rows, rows.first + number);
  const Index first = (Index)t * piece, left = length - first < piece ? length - first : piece;
  const Index tiles = (left + S::ELEMENTS - 1) / S::ELEMENTS;
  TileCounter<Op, MOST_TILES, Acc, S::WARPS, 32, true> counter;
  Acc start = row.start(), carry = start, end = start, mine = Op::neutral();
  u32 turn = 0;
  T tile;
  const bool whole = count > 1 && left == piece; // else nobody asks for its total
  if (whole) {
#pragma unroll 1
    for (Index k = 0; k < tiles; k++) {
      tile.load(row, first + k * S::ELEMENTS);
      counter.push(k, tile.up(between[turn++ & 1]), start);
    }
    mine = counter.digits()[log2_floor(tiles)]; // nothing is before it: neutral() is neutral on the right alone
  }
  if (count > 1)
    find_ends<Op, RS_MOST_PIECES>(rows.workspace, number, t, count, mine, start, ends, carry, end);
  delay();
  const Acc through = end; // the piece, if it is whole: as a block of the order
  start = carry;
#pragma unroll 1
  for (Index k = 0; k < tiles; k++) {
    tile.load(row, first + k * S::ELEMENTS);
    end = counter.push(k, tile.up(between[turn++ & 1]), start);
    if (whole && k + 1 == tiles)
      end = through;
    tile.down(row, first + k * S::ELEMENTS, carry, end,
              [&](int u, Index i, const Acc *value) { tile.store_all(row, u, i, value); });
    carry = end;
  }
}
