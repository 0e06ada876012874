// universal_ops.cuh - operators of which a launch tells the element types and what further arrays mean
// SPDX-License-Identifier: MIT
//
// A switch on the type is made once for all elements that a thread has at a time. A universal operator U joins an
// operator of ops.cuh with its ways in and out:
//   Op                   the operator
//   Number               what elements are taken as
//   MULTIPLIES, MORE, SECOND   whether a mask may multiply; how many further inputs there may be; whether there may be
//                              a second output
//   take(terms, type, bits, x)      N elements of a type as numbers
//   further(k, z, terms, x, y, notes)   what further input k, of which these are the numbers z, makes of numbers x and
//                                   y, and of the elements' notes. The last one comes first
//   load(terms, x, y)               the total of one
//   neutral(terms), identity(terms)      as an operator has them
//   first(terms, type, bits)        the total that a fold from an initial value starts
//   show(terms, type, t, bits)      N totals as elements of a type
//   output(f, o, terms, type, t, notes, bits)   the same in output o; f(k, z) has the numbers of further input k
//   keep(terms, type, t)            a row's total, as initial values and totals are kept
#pragma once
#include "order.cuh"
#include "ordered.cuh"
#include "rows.cuh"
#include "runs.cuh"
#include "terms.h"

// ---- numbers and bits ---------------------------------------------------------------------------------------------

template <class A> struct BitsFor { using type = u64; };
template <> struct BitsFor<f32> { using type = u32; };
template <> struct BitsFor<u32> { using type = u32; };

template <bool YES, class A, class B> struct Either { using type = A; };
template <class A, class B> struct Either<false, A, B> { using type = B; };

// An element from the low bits of a word, and to them.
template <class T> union WordOf {
  using W = typename Word<sizeof(T)>::type;
  W word;
  T element;
  RS_METHOD WordOf() {
  }
};
template <class T, class B> RS_DEVICE T from_bits(B bits) {
  WordOf<T> both;
  both.word = (typename WordOf<T>::W)bits;
  return both.element;
}
template <class B, class T> RS_DEVICE B to_bits(T element) {
  WordOf<T> both;
  both.element = element;
  return (B)both.word;
}

// f.of<T>() of the type T that numbers of type A come from: those of 32 bits from types of 32 bits at most. Whatever
// the type, there is one: what one way left as it was before, the compiler would keep for all the others.
template <class A, class F> RS_DEVICE void each_type(int type, const F &f) {
  constexpr bool FLOATS = !is_integer<A>, WIDE = sizeof(A) == 8;
#define RS_TYPE_IF(yes, number, name)                                                                                  \
  case number:                                                                                                         \
    if constexpr (yes) {                                                                                               \
      f.template of<name>();                                                                                           \
      break;                                                                                                           \
    }
  switch (type) {
    RS_TYPE_IF(FLOATS, RS_IS_F16, f16)
    RS_TYPE_IF(FLOATS, RS_IS_BF16, bf16)
    RS_TYPE_IF(FLOATS, RS_IS_F32, f32)
    RS_TYPE_IF(FLOATS && WIDE, RS_IS_F64, f64)
    RS_TYPE_IF(true, RS_IS_I8, i8)
    RS_TYPE_IF(true, RS_IS_U8, u8)
    RS_TYPE_IF(true, RS_IS_I16, i16)
    RS_TYPE_IF(true, RS_IS_U16, u16)
    RS_TYPE_IF(WIDE || !FLOATS, RS_IS_I32, i32)
    RS_TYPE_IF(WIDE || !FLOATS, RS_IS_U32, u32)
    RS_TYPE_IF(WIDE, RS_IS_I64, i64)
    RS_TYPE_IF(WIDE, RS_IS_U64, u64)
  default:
    f.template of<boolean>();
  }
#undef RS_TYPE_IF
}
// And of the type that they become: of floats floats, of whole numbers whole ones, whose low bits they are.
template <class A, class F> RS_DEVICE void each_narrow_type(int type, int bytes, const F &f) {
  if constexpr (is_integer<A>) {
    if (type == RS_IS_BOOL)
      f.template of<boolean>();
    else
      each_size<sizeof(A) == 8>(bytes, f);
  } else if (type == RS_IS_F16) {
    f.template of<f16>();
  } else if (type == RS_IS_BF16) {
    f.template of<bf16>();
  } else if (sizeof(A) == 4 || type == RS_IS_F32) {
    f.template of<f32>();
  } else if constexpr (sizeof(A) == 8) {
    f.template of<f64>();
  }
}

// Of the bits of an element of a type, a number of type A; and back, of as many bytes as a number has.
template <class B, class A> struct WidenBits {
  B bits;
  A *x;
  template <class T> RS_METHOD void of() const {
    *x = widen<A>(from_bits<T>(bits));
  }
};
template <class B, class A> struct NarrowBits {
  A x;
  B *bits;
  template <class T> RS_METHOD void of() const {
    *bits = to_bits<B>(Narrow<T>::from(x));
  }
};
template <class B, class A> RS_CALLED A widened(int type, B bits) {
  A x;
  each_type<A>(type, WidenBits<B, A>{bits, &x});
  return x;
}
template <class B, class A> RS_CALLED B narrowed(int type, A x) {
  B bits{};
  each_narrow_type<A>(type, sizeof(A), NarrowBits<B, A>{x, &bits});
  return bits;
}
template <int N, class B, class A> RS_DEVICE void widen_all(int type, const B *bits, A *x) {
  static_assert(N == 1, "more elements are a lane's");
  *x = widened<B, A>(type, *bits);
}
template <int N, class B, class A> RS_DEVICE void narrow_all(int type, const A *x, B *bits) {
  static_assert(N == 1, "more elements are a lane's");
  *bits = narrowed<B, A>(type, *x);
}

// A lane's elements on their way in and out: where they are, and their words, if they are packed, or else the bits of
// each, as a B. A switch on the type goes from words to numbers at once: with bits in between each way would move all
// of them to the same registers first.
template <int N, class B> struct Elements {
  LaneElements of;
  u32 word[N * sizeof(B) / 4];

  RS_METHOD Elements(const LaneElements &at) : of(at) {
  }
  RS_METHOD B bits(int j) const {
    return word_element<B>(word, j);
  }
  RS_METHOD void take() {
    if (of.packed())
      take_words<N, B>(of, word);
    else
      load_each<N, B>(of, word);
  }
  RS_METHOD void give() {
    if (of.packed())
      give_words<N, B>(of, word);
    else
      store_each<N, B>(of, word);
  }
};
// W: the word that an element is in, as it is packed, or a B.
template <int N, class A, class B> struct WidenWords {
  const u32 *word;
  A *x;
  template <class T> RS_METHOD void of() const {
    using W = typename Either<sizeof(B) == 1, typename Word<sizeof(T)>::type, B>::type;
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = widen<A>(from_bits<T>(word_element<W>(word, j)));
  }
};
template <int N, class A, class B> struct NarrowWords {
  const A *x;
  u32 *word;
  template <class T> RS_METHOD void of() const {
    using W = typename Either<sizeof(B) == 1, typename Word<sizeof(T)>::type, B>::type;
#pragma unroll
    for (int j = 0; j < N; j++)
      put_element<W>(word, j, to_bits<W>(Narrow<T>::from(x[j])));
#pragma unroll
    for (int i = LANE_WORDS<N, W>; i < LANE_WORDS<N, A>; i++)
      word[i] = 0;
  }
};
using Packed = u8; // no B is so small
template <int N, class B, class A> RS_DEVICE void widen_all(int type, const Elements<N, B> &from, A *x) {
  if (from.of.packed()) {
    each_type<A>(type, WidenWords<N, A, Packed>{from.word, x});
    if (from.of.reverse)
      turn<N>(x);
  } else {
    each_type<A>(type, WidenWords<N, A, B>{from.word, x});
  }
}
template <int N, class B, class A> RS_DEVICE void narrow_all(int type, A *x, Elements<N, B> &to) {
  if (to.of.packed()) {
    if (to.of.reverse)
      turn<N>(x);
    each_narrow_type<A>(type, to.of.bytes, NarrowWords<N, A, Packed>{x, to.word});
  } else {
    each_narrow_type<A>(type, sizeof(A), NarrowWords<N, A, B>{x, to.word});
  }
}
// Leaves the bits of each, whatever they mean.
template <int N, class B> RS_DEVICE void unpack(Elements<N, B> &from) {
  if (!from.of.packed())
    return;
  B bits[N];
  each_narrow_type<B>(RS_IS_U64, from.of.bytes, WidenWords<N, B, Packed>{from.word, bits});
  if (from.of.reverse)
    turn<N>(bits);
#pragma unroll
  for (int j = 0; j < N; j++)
    put_element<B>(from.word, j, bits[j]);
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

  template <int N, class B> RS_METHOD static void take(const rs_terms &, int type, B &bits, Number *x) {
    widen_all<N>(type, bits, x);
  }
  template <int N> RS_METHOD static void further(int, const Number *, const rs_terms &, Number *, Number *, Notes &) {
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
    x = widened<Bits, Number>(type, bits);
    return O::begin(x);
  }
  template <int N, class B> RS_METHOD static void show(const rs_terms &, int type, const Total *t, B &bits) {
    Number x[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = O::store(t[j]);
    narrow_all<N>(type, x, bits);
  }
  RS_METHOD static Bits keep(const rs_terms &terms, int type, Total t) {
    Bits bits{};
    auto *at = &bits;
    show<1>(terms, type, &t, at);
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
  // Each finds what those after it have left in y, which is the factor at first, and in the notes.
  template <int N> RS_METHOD static void further(int k, const A *z, const rs_terms &terms, A *x, A *y, Notes &notes) {
    const int role = terms.role[k];
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
  RS_METHOD static Total load(const rs_terms &, A x, A factor) {
    return {factor, x};
  }
  template <int N, class F, class B>
  RS_METHOD static void output(const F &f, int o, const rs_terms &terms, int type, const Total *t, Notes notes,
                               B &bits) {
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
  template <int N> RS_METHOD static void further(int, const A *z, const rs_terms &, A *, A *y, Notes &) {
#pragma unroll
    for (int j = 0; j < N; j++)
      y[j] = z[j];
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
  template <int N, class F, class B>
  RS_METHOD static void output(const F &f, int o, const rs_terms &terms, int type, const Total *t, Notes, B &bits) {
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
  template <int N, class B> RS_METHOD static void take(const rs_terms &, int type, B &bits, f64 *x) {
    widen_all<N>(type, bits, x);
  }
  template <int N> RS_METHOD static void further(int, const f64 *, const rs_terms &, f64 *, f64 *, Notes &) {
  }
  RS_METHOD static u64 load(const rs_terms &terms, f64 x, f64) {
    return (u64)nearest_whole(x * terms.scale);
  }
  RS_METHOD static u64 first(const rs_terms &, int, u64 bits) {
    return bits;
  }
  template <int N, class B> RS_METHOD static void show(const rs_terms &terms, int type, const u64 *t, B &bits) {
    if (type == RS_IS_F64) {
      f64 x[N];
#pragma unroll
      for (int j = 0; j < N; j++)
        x[j] = (f64)(i64)t[j] * terms.unit;
      narrow_all<N>(RS_IS_F64, x, bits);
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

// Keys of 32 or 64 bits that are in the order of the values, whatever type these have; turned, where the lowest is
// wanted. Those of 32 bits are for types of up to 4 bytes.
template <class K> RS_DEVICE K sign_of_keys(const rs_terms &terms) {
  return (K)(terms.numbers == RS_IS_I64) << (8 * sizeof(K) - 1);
}
template <int N, class B, class K> RS_DEVICE void keys_of(const rs_terms &terms, int type, B &bits, K *key) {
  const u64 nan = ~terms.turn;
  if (terms.numbers == RS_IS_F32) {
    f32 x[N];
    widen_all<N>(type, bits, x);
#pragma unroll
    for (int j = 0; j < N; j++)
      key[j] = Keys<f32, f32>::of(x[j], (u32)nan);
  } else if (sizeof(K) == 8 && terms.numbers == RS_IS_F64) {
    f64 x[N];
    widen_all<N>(type, bits, x);
#pragma unroll
    for (int j = 0; j < N; j++)
      key[j] = (K)Keys<f64, f64>::of(x[j], nan);
  } else {
    widen_all<N>(type, bits, key);
#pragma unroll
    for (int j = 0; j < N; j++)
      key[j] ^= sign_of_keys<K>(terms);
  }
#pragma unroll
  for (int j = 0; j < N; j++)
    key[j] ^= (K)terms.turn;
}
template <int N, class B, class K> RS_DEVICE void show_keys(const rs_terms &terms, int type, const K *turned, B &bits) {
  const K least = (K)terms.least;
  K key[N];
#pragma unroll
  for (int j = 0; j < N; j++)
    key[j] = (turned[j] < least ? least : turned[j]) ^ (K)terms.turn;
  if (terms.numbers == RS_IS_F32) {
    f32 x[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = Keys<f32, f32>::value((u32)key[j]);
    narrow_all<N>(type, x, bits);
  } else if (sizeof(K) == 8 && terms.numbers == RS_IS_F64) {
    f64 x[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = Keys<f64, f64>::value(key[j]);
    narrow_all<N>(type, x, bits);
  } else {
#pragma unroll
    for (int j = 0; j < N; j++)
      key[j] ^= sign_of_keys<K>(terms);
    narrow_all<N>(type, key, bits);
  }
}

// The highest key. What there is of nothing is lower than any: show_keys() has in its place what users see.
template <class K> struct HighestKey : OfNumbers<K> {
  RS_METHOD static K combine(K left, K right) {
    return left > right ? left : right;
  }
  RS_METHOD static K neutral() {
    return 0;
  }
  RS_METHOD static K identity() {
    return 0;
  }
};
template <class K> constexpr bool is_exact<HighestKey<K>> = true;

template <class K> struct UniversalExtreme : UniversalNumbers<HighestKey<K>> {
  template <int N, class B> RS_METHOD static void take(const rs_terms &terms, int type, B &bits, K *key) {
    keys_of<N>(terms, type, bits, key);
  }
  RS_METHOD static K first(const rs_terms &terms, int type, K bits) {
    K key;
    const K *at = &bits;
    keys_of<1>(terms, type, at, &key);
    return key;
  }
  template <int N, class B> RS_METHOD static void show(const rs_terms &terms, int type, const K *t, B &bits) {
    show_keys<N>(terms, type, t, bits);
  }
  RS_METHOD static K keep(const rs_terms &terms, int type, K t) {
    K bits{};
    auto *at = &bits;
    show<1>(terms, type, &t, at);
    return bits;
  }
};

// Joined by or, turned where they are to be joined by and; or by xor.
template <class O> struct UniversalBits : UniversalNumbers<O> {
  using W = typename O::Number;
  template <int N, class B> RS_METHOD static void take(const rs_terms &terms, int type, B &bits, W *x) {
    widen_all<N>(type, bits, x);
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] ^= (W)terms.turn;
  }
  RS_METHOD static W first(const rs_terms &terms, int type, W bits) {
    W x;
    const W *at = &bits;
    take<1>(terms, type, at, &x);
    return x;
  }
  template <int N, class B> RS_METHOD static void show(const rs_terms &terms, int type, const W *t, B &bits) {
    W x[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = t[j] ^ (W)terms.turn;
    narrow_all<N>(type, x, bits);
  }
  RS_METHOD static W keep(const rs_terms &terms, int type, W t) {
    W bits{};
    auto *at = &bits;
    show<1>(terms, type, &t, at);
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
  template <int N> RS_METHOD static void further(int, const u64 *, const rs_terms &, u64 *, u64 *, Notes &) {
  }
  template <int N, class B> RS_METHOD static void take(const rs_terms &terms, int type, B &bits, u64 *key) {
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
  template <int N, class B> RS_METHOD static void show(const rs_terms &terms, int, const Total *t, B &bits) {
    u64 index[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      index[j] = t[j].index == Op::NONE ? ~(u64)0 : terms.reverse ? (u32)terms.last - t[j].index : t[j].index;
    narrow_all<N>(RS_IS_I64, index, bits);
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
  template <int N, class F, class B>
  RS_METHOD static void output(const F &, int o, const rs_terms &terms, int type, const Total *t, Notes, B &bits) {
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
    auto *at = &bits;
    show<1>(terms, type, &t, at);
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
