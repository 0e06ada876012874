// ops.cuh - the operators; a further one is a struct here, its twin in src/host/ops.h and a row in src/spec/types.h
// SPDX-License-Identifier: MIT
//
// An operator Op<A, K> scans numbers of type A (f32, f64, u32 or u64: integers wrap), to which elements are widened and
// from which results are narrowed; K is the element type that initial values and totals are kept in.
//   Number, Total    A; and what a block of elements comes to: plain data, whole words of 4 bytes, a power of two, of
//                    which the first WORDS mean something, if it has such a member
//   load(x)          the total of one element; where there are coefficients load(x, coefficient)
//   begin(y)         the total that a fold from an initial value starts
//   with store(t)         what users see of a prefix          combine    the total of two blocks, the left one first
//   neutral()        where other folds start. combine(x, neutral()) is x, bit for bit
//   identity()       what users see as P(0), and what masked elements are
//   commutative      whether combine(a, b) is combine(b, a)
//   PLAIN            whether totals are numbers as they come and go, and identity() is one that every element type has
// What store() gives may be of another type. An operator whose totals are not kept as users see them has keep(t), which
// begin() takes as a KeptNumber. Where is_exact<Op>, no order of combination changes a bit. One for which
// counts_elements<Op> is true has start(length), too: where folds start that no initial value does, and passed(total):
// as many elements, of which none is seen. Where loads_once<Op>, load() takes so long that elements are held as totals.
// Where leaves_out_zeros<Op>, load(0) is identity(). Where has_segments<Op>, begins(before, element) says whether a
// segment begins with an element, or with the last of several, given the total of all before it. An operator with a
// second output has second(t, x, ...), of a prefix and of what load() has of its own element: x, a coefficient, further
// inputs, parameters, as many as there are, in this order. Where FurtherOf<P>::weighs, the first output has that, and
// the second one store(t).
#pragma once
#include "device.cuh"
#define RS_EXP_LOG RS_DEVICE
#define RS_FUSED fused
#include "exp_log.h"
#include "types.cuh"

template <class Op> constexpr bool counts_elements = false;
template <class Op> constexpr bool loads_once = false;
template <class Op> constexpr bool has_segments = false;
template <class Op> constexpr bool leaves_out_zeros = false;
template <class Op> constexpr bool is_exact = false;
template <class Op> constexpr bool sums_integers = false;
template <class A> constexpr bool is_integer = (A)0.5 == 0;

// How an operator's totals are kept.
template <class O, class = void> struct Keeping {
  using Number = typename O::Number;
  RS_METHOD static auto of(typename O::Total t) {
    return O::store(t);
  }
};
template <class O> struct Keeping<O, Void<typename O::KeptNumber>> {
  using Number = typename O::KeptNumber;
  RS_METHOD static auto of(typename O::Total t) {
    return O::keep(t);
  }
};

// Whether an operator has joined(mine, other, upper): combine() of two totals of which `mine` is the right one if
// `upper`. Of a long combine() the compiler would make two branches, and a warp goes both.
template <class O, class = void> struct HasJoined { static constexpr bool value = false; };
template <class O> struct HasJoined<O, Void<decltype(&O::joined)>> { static constexpr bool value = true; };

// Operators whose totals are numbers.
template <class A> struct OfNumbers {
  using Number = A;
  using Total = A;
  static constexpr bool commutative = true, PLAIN = true;
  RS_METHOD static A load(A x) {
    return x;
  }
  RS_METHOD static A begin(A y) {
    return y;
  }
  RS_METHOD static A store(A t) {
    return t;
  }
};
template <class A, class K = A> struct Sum : OfNumbers<A> {
  RS_METHOD static A combine(A left, A right) {
    return left + right;
  }
  RS_METHOD static A neutral() {
    return -(A)0; // -0.0: +0.0 would turn a -0.0 into +0.0
  }
  RS_METHOD static A identity() {
    return 0;
  }
};
template <class A, class K = A> struct Prod : OfNumbers<A> {
  RS_METHOD static A combine(A left, A right) {
    return left * right;
  }
  RS_METHOD static A neutral() {
    return 1;
  }
  RS_METHOD static A identity() {
    return 1;
  }
};

template <class A, class K> constexpr bool is_exact<Sum<A, K>> = is_integer<A>;
template <class A, class K> constexpr bool sums_integers<Sum<A, K>> = is_integer<A>;
template <class A, class K> constexpr bool is_exact<Prod<A, K>> = is_integer<A>;

// Sums of f32 or f64 in fixed point, POINT bits after the point: of whole numbers, which wrap, and are kept as they
// are.
template <class A, class K, int POINT> struct FixedSum {
  using Number = A;
  using Total = u64;
  using KeptNumber = u64;
  static constexpr bool commutative = true, PLAIN = false;
  RS_METHOD static Total load(A x) {
    return (Total)nearest_whole(x * (A)(1ull << POINT));
  }
  RS_METHOD static Total begin(KeptNumber y) {
    return y;
  }
  RS_METHOD static KeptNumber keep(Total t) {
    return t;
  }
  RS_METHOD static Fixed<POINT> store(Total t) {
    return {(i64)t};
  }
  RS_METHOD static Total combine(Total left, Total right) {
    return left + right;
  }
  RS_METHOD static Total neutral() {
    return 0;
  }
  RS_METHOD static Total identity() {
    return 0;
  }
};

template <class A, class K, int POINT> constexpr bool leaves_out_zeros<FixedSum<A, K, POINT>> = true;
template <class A, class K, int POINT> constexpr bool is_exact<FixedSum<A, K, POINT>> = true;

// Operators of an order, on keys that are in the order of the values: so that -0.0 comes before +0.0, and a NaN, which
// wins, is the first or the last of all. The identity is what comes first of the type that values are kept in.
template <class K> struct Values { // integers
  static constexpr bool SIGNED = (K)-1 < (K)0;
  static constexpr u64 HIGHEST = ~0ull >> (64 - 8 * sizeof(K) + SIGNED), LOWEST = SIGNED ? ~HIGHEST : 0;
};
template <> struct Values<boolean> {
  static constexpr bool SIGNED = false;
  static constexpr u64 HIGHEST = 1, LOWEST = 0;
};
template <class A, class K> struct Keys { // A: u32 or u64
  using Key = A;
  static constexpr A FLIP = (A)Values<K>::SIGNED << (8 * sizeof(A) - 1);
  static constexpr A LOWEST = (A)Values<K>::LOWEST ^ FLIP, HIGHEST = (A)Values<K>::HIGHEST ^ FLIP;
  RS_METHOD static A of(A x, A) {
    return x ^ FLIP;
  }
  RS_METHOD static A value(A key) {
    return key ^ FLIP;
  }
};
template <class A, class W, class I> struct FloatKeys {
  using Key = W;
  static constexpr W TOP = (W)1 << (8 * sizeof(W) - 1), INFINITE = (W)(sizeof(W) == 4 ? 0xffull << 23 : 0x7ffull << 52);
  static constexpr W LOWEST = ~(INFINITE | TOP), HIGHEST = INFINITE | TOP;
  union Bits {
    A value;
    W word;
  };
  // Of negative values all bits are turned, of others the sign.
  RS_METHOD static W of(A x, W nan) {
    Bits bits;
    bits.value = x;
    return x != x ? nan : bits.word ^ ((W)((I)bits.word >> (8 * sizeof(W) - 1)) | TOP);
  }
  RS_METHOD static A value(W key) {
    Bits bits;
    bits.word = key ^ (~(W)((I)key >> (8 * sizeof(W) - 1)) | TOP);
    return bits.value;
  }
};
template <class K> struct Keys<f32, K> : FloatKeys<f32, u32, i32> {};
template <class K> struct Keys<f64, K> : FloatKeys<f64, u64, i64> {};

template <class A, class K, bool HIGHEST> struct Extreme {
  using Number = A;
  using Of = Keys<A, K>;
  using Total = typename Of::Key;
  static constexpr bool commutative = true, PLAIN = false;
  RS_METHOD static Total load(A x) {
    return Of::of(x, HIGHEST ? ~(Total)0 : (Total)0);
  }
  RS_METHOD static Total begin(A y) {
    return load(y);
  }
  RS_METHOD static A store(Total t) {
    return Of::value(t);
  }
  RS_METHOD static Total combine(Total left, Total right) {
    return (left > right) == HIGHEST ? left : right;
  }
  RS_METHOD static Total neutral() {
    return HIGHEST ? (Total)0 : ~(Total)0;
  }
  RS_METHOD static Total identity() {
    return HIGHEST ? Of::LOWEST : Of::HIGHEST;
  }
};
template <class A, class K> struct Max : Extreme<A, K, true> {};
template <class A, class K> struct Min : Extreme<A, K, false> {};

template <class A, class K> constexpr bool is_exact<Max<A, K>> = true;
template <class A, class K> constexpr bool is_exact<Min<A, K>> = true;

// Operators of bits, of u32 or u64. ALL: folds start from all bits, and else from none. What a mask takes away has then
// all bits of a total, which an element may have no room for.
template <class A, bool ALL> struct OfBits : OfNumbers<A> {
  static constexpr bool PLAIN = !ALL;
  RS_METHOD static A neutral() {
    return ALL ? ~(A)0 : 0;
  }
  RS_METHOD static A identity() {
    return neutral();
  }
};
template <class A, class K> struct And : OfBits<A, true> {
  RS_METHOD static A combine(A left, A right) {
    return left & right;
  }
};
template <class A, class K> struct Or : OfBits<A, false> {
  RS_METHOD static A combine(A left, A right) {
    return left | right;
  }
};
template <class A, class K> struct Xor : OfBits<A, false> {
  RS_METHOD static A combine(A left, A right) {
    return left ^ right;
  }
};

template <class A, class K> constexpr bool is_exact<And<A, K>> = true;
template <class A, class K> constexpr bool is_exact<Or<A, K>> = true;
template <class A, class K> constexpr bool is_exact<Xor<A, K>> = true;

// y = coefficient * y + x. A block's total is the map of all its elements, one after another, factor * y + term; a
// prefix is what such a map makes of the value before the row, and its factor means nothing.
template <class A, class K> struct LinearRecurrence {
  struct alignas(2 * sizeof(A)) Total {
    A factor, term;
  };
  using Number = A;
  static constexpr bool commutative = false, PLAIN = false;
  RS_METHOD static Total load(A x, A coefficient) {
    return {coefficient, x};
  }
  RS_METHOD static Total begin(A y) {
    return {1, y};
  }
  RS_METHOD static A store(Total t) {
    return t.term;
  }
  RS_METHOD static Total combine(Total left, Total right) {
    return {left.factor * right.factor, fused(right.factor, left.term, right.term)};
  }
  RS_METHOD static Total neutral() {
    return {1, -(A)0}; // -0.0: with a coefficient of 1, x itself comes out
  }
  RS_METHOD static Total identity() {
    return {1, 0};
  }
};

// And its results times weights: rowscan.h.
template <class A, class K> struct WeightedRecurrence : LinearRecurrence<A, K> {
  using Total = typename LinearRecurrence<A, K>::Total;
  RS_METHOD static Total load(A x, A coefficient, A) {
    return {coefficient, x};
  }
  RS_METHOD static A second(Total t, A, A, A weight) {
    return t.term * weight;
  }
};

// With one coefficient for all.
template <class A, class K> struct DecayedSum : LinearRecurrence<A, K> {
  using Total = typename LinearRecurrence<A, K>::Total;
  RS_METHOD static Total load(A x, A decay) {
    return {decay, x};
  }
};

// The gradients of a sum under a mask.
template <class A, class K> struct SumGradient : Sum<A, K> {
  RS_METHOD static A load(A gradient, A) {
    return gradient;
  }
  RS_METHOD static A second(A t, A, A mask) {
    return is_true(mask) ? t : 0;
  }
};

// Logarithms of sums of exp(x). A block's total is its highest element and the sum of exp(x - highest), which is 1 or
// more. What is added is cut off where it could only be infinite or NaN (less a subnormal number at most), and of a
// NaN, which the highest one keeps, nothing is asked.
RS_DEVICE f32 exp_of_less(f32 d) { // exp(-|d|)
  return exp_f32(smaller(absolute(d), RS_MOST_f32));
}
RS_DEVICE f64 exp_of_less(f64 d) {
  return exp_f64(smaller(absolute(d), RS_MOST_f64));
}
RS_DEVICE f32 log_added(f32 sum, f32 to) {
  return log_f32(sum, to);
}
RS_DEVICE f64 log_added(f64 sum, f64 to) {
  return log_f64(sum, to);
}
template <class A, class K> struct LogSumExp {
  struct alignas(2 * sizeof(A)) Total {
    A highest, sum;
  };
  using Number = A;
  static constexpr bool commutative = true, PLAIN = false;
  RS_METHOD static Total load(A x) {
    return {x, 1};
  }
  RS_METHOD static Total begin(A y) {
    return {y, 1};
  }
  RS_METHOD static A store(Total t) {
    return t.sum == 1 ? t.highest : log_added(t.sum, t.highest); // -0.0 is itself
  }
  RS_METHOD static Total combine(Total left, Total right) {
    A d = left.highest - right.highest;
    bool higher = d > 0;
    return {larger(left.highest, right.highest),
            fused(higher ? right.sum : left.sum, exp_of_less(d), higher ? left.sum : right.sum)};
  }
  RS_METHOD static Total neutral() {
    return {Keys<A, K>::value(Keys<A, K>::LOWEST), 1}; // -inf
  }
  RS_METHOD static Total identity() {
    return neutral();
  }
};

// The gradients of logsumexp, from the end of a row on: those of results y, times exp(-y), in such a sum, whose highest
// -y is the last. An infinite y counts as a very high one, so that what an infinite element is of all results adds up.
template <class A> constexpr A HIGHEST_FINITE = (A)0x1.fffffep127;
template <> constexpr f64 HIGHEST_FINITE<f64> = 0x1.fffffffffffffp1023;
template <class A> constexpr A MOST_LESS = RS_MOST_f32;
template <> constexpr f64 MOST_LESS<f64> = RS_MOST_f64;
template <class A, class K> struct LogSumExpGradient : LogSumExp<A, K> {
  using Base = LogSumExp<A, K>;
  using Total = typename Base::Total;
  static constexpr bool commutative = true;
  RS_METHOD static Total load(A gradient, A, A y) {
    A highest = -y < -HIGHEST_FINITE<A> ? -HIGHEST_FINITE<A> : -y;
    return {highest, y == y ? gradient : y};
  }
  RS_METHOD static Total begin(A y) {
    return {-HIGHEST_FINITE<A>, y};
  }
  RS_METHOD static A store(Total t) {
    return t.sum;
  }
  RS_METHOD static A second(Total t, A, A x, A y) {
    A d = y - x;
    return t.sum * (d > 0 ? d <= MOST_LESS<A> ? exp_of_less(d) : 0 : x < -HIGHEST_FINITE<A> ? 0 : 1);
  }
  RS_METHOD static Total neutral() {
    return {Base::neutral().highest, -(A)0};
  }
  RS_METHOD static Total identity() {
    return {Base::neutral().highest, 0};
  }
};

// Products that neither overflow nor vanish in between: of fractions, 1 or more and less than 2, and of exponents,
// which wrap. Zeros, infinities and NaNs are fractions as they are.
template <class A> struct Parts;
template <> struct Parts<f32> {
  using Word = u32;
  using Exponent = i32;
  static constexpr int DIGITS = 23, BIAS = 127;
};
template <> struct Parts<f64> {
  using Word = u64;
  using Exponent = i64;
  static constexpr int DIGITS = 52, BIAS = 1023;
};
template <class A, class K> struct ExtendedProd {
  using Of = Parts<A>;
  using Word = typename Of::Word;
  using Exponent = typename Of::Exponent;
  struct alignas(2 * sizeof(A)) Total {
    A fraction;
    Exponent exponent;
  };
  union Bits {
    A value;
    Word word;
  };
  using Number = A;
  static constexpr bool commutative = true, PLAIN = false;
  static constexpr Word ONE = (Word)Of::BIAS << Of::DIGITS, FIELD = ((Word)2 * Of::BIAS + 1) << Of::DIGITS;
  // 2^e, of what has no subnormal number.
  RS_METHOD static A power(int e) {
    Bits bits;
    bits.word = (Word)(e + Of::BIAS) << Of::DIGITS;
    return bits.value;
  }
  RS_METHOD static Total load(A x) {
    Bits bits;
    bits.value = x;
    bool small = (bits.word & FIELD) == 0; // subnormal, or zero
    if (small)
      bits.value = x * power(Of::DIGITS + 1);
    Word field = bits.word & FIELD;
    if (field == 0 || field == FIELD)
      return {x, 0};
    bits.word = (bits.word & ~FIELD) | ONE;
    return {bits.value, (Exponent)(field >> Of::DIGITS) - Of::BIAS - (small ? Of::DIGITS + 1 : 0)};
  }
  RS_METHOD static Total begin(A y) {
    return load(y);
  }
  // By two factors, of which the first is exact. Beyond twice the range of exponents all is 0 or infinite.
  RS_METHOD static A store(Total t) {
    constexpr int LEAST = 2 - 2 * Of::BIAS, MOST = 2 * Of::BIAS;
    int e = t.exponent < LEAST ? LEAST : t.exponent > MOST ? MOST : (int)t.exponent;
    return t.fraction * power(e >> 1) * power(e - (e >> 1));
  }
  RS_METHOD static Total combine(Total left, Total right) {
    A fraction = left.fraction * right.fraction;
    bool carries = absolute(fraction) >= 2;
    return {carries ? fraction * (A)0.5 : fraction,
            (Exponent)((Word)left.exponent + (Word)right.exponent + (Word)carries)};
  }
  RS_METHOD static Total neutral() {
    return {1, 0};
  }
  RS_METHOD static Total identity() {
    return neutral();
  }
};

template <class A, class K> constexpr bool loads_once<ExtendedProd<A, K>> = true;

// Where the highest element was, or the lowest one: of equal ones the last, or the FIRST. A block's total is the
// element's key (of the lowest one turned, so that the highest is always wanted), its index in the block and how many
// elements the block has. An element that a mask takes away counts as one, but has no index.
//
// Users see the index in memory, and -1 where there is none: of reverse scans folds start from so many elements less
// than none that an index, turned, is one more than that.
template <class A, class K, bool HIGHEST, bool FIRST, bool REVERSE> struct Indexed {
  using Number = A;
  using Of = Keys<A, K>;
  using Key = typename Of::Key;
  struct alignas(16) Total {
    static constexpr int WORDS = sizeof(Key) / 4 + 2;
    Key key;
    u32 index, count;
  };
  struct Bare { // without the room that makes its size a power of two
    Key key;
    u32 index, count;
  };
  static constexpr bool commutative = false, PLAIN = false;
  static constexpr u32 NONE = ~0u;
  RS_METHOD static Total load(A x) {
    Key key = Of::of(x, HIGHEST ? ~(Key)0 : (Key)0);
    return {HIGHEST ? key : ~key, 0, 1};
  }
  RS_METHOD static Total begin(A) {
    return neutral();
  }
  RS_METHOD static i64 store(Total t) {
    return t.index == NONE ? -1 : (i64)(REVERSE ? ~t.index - 1 : t.index);
  }
  RS_METHOD static Total combine(Total left, Total right) {
    bool later = FIRST ? right.key > left.key || left.index == NONE : right.key >= left.key && right.index != NONE;
    bool none = FIRST && right.index == NONE;
    return {later ? right.key : left.key,
            !later ? left.index
            : none ? NONE
                   : right.index + left.count,
            left.count + right.count};
  }
  RS_METHOD static Total neutral() {
    return {0, NONE, 0};
  }
  RS_METHOD static Total identity() {
    return {0, NONE, 1};
  }
  RS_METHOD static Total start(i64 length) {
    return {0, NONE, REVERSE ? ~(u32)length : 0};
  }
  RS_METHOD static Total passed(Total t) {
    return {0, NONE, t.count};
  }
  // The element itself; where there is none, what MAX or MIN has there.
  template <class... N> RS_METHOD static A second(Total t, A, N...) {
    Key none = HIGHEST ? Of::LOWEST : Of::HIGHEST, key = HIGHEST ? t.key : ~t.key;
    return Of::value(t.index == NONE ? none : key);
  }
  RS_METHOD static Bare bare(Total t) {
    return {t.key, t.index, t.count};
  }
  RS_METHOD static Total whole(Bare t) {
    return {t.key, t.index, t.count};
  }
};
template <class A, class K, bool FIRST, bool REVERSE> struct ArgMax : Indexed<A, K, true, FIRST, REVERSE> {};
template <class A, class K, bool FIRST, bool REVERSE> struct ArgMin : Indexed<A, K, false, FIRST, REVERSE> {};
template <class A, class K, bool FIRST, bool REVERSE>
constexpr bool counts_elements<ArgMax<A, K, FIRST, REVERSE>> = true;
template <class A, class K, bool FIRST, bool REVERSE>
constexpr bool counts_elements<ArgMin<A, K, FIRST, REVERSE>> = true;

// An operator for which a NaN is as an element that a mask takes away.
template <class O> struct Omitting : O {
  using Number = typename O::Number;
  static constexpr bool PLAIN = false;
  template <class... N> RS_METHOD static typename O::Total load(Number x, N... more) {
    return x == x ? O::load(x, more...) : O::identity();
  }
};
template <class O> constexpr bool counts_elements<Omitting<O>> = counts_elements<O>;
template <class O> constexpr bool loads_once<Omitting<O>> = loads_once<O>;
template <class O> constexpr bool leaves_out_zeros<Omitting<O>> = leaves_out_zeros<O>;

// ---- operators of the caller's own ----------------------------------------------------------------------------------

// rowscan.h tells callers what O is to have. A total gets room that makes its size a power of two, and what O lacks is
// what serves most.
template <class O, class = void> struct CommutativeOf { static constexpr bool value = false; };
template <class O> struct CommutativeOf<O, Void<decltype(O::commutative)>> {
  static constexpr bool value = O::commutative;
};
template <class O, class = void> struct IdentityOf {
  RS_METHOD static typename O::Total get() {
    return O::neutral();
  }
};
template <class O> struct IdentityOf<O, Void<decltype(O::identity())>> {
  RS_METHOD static typename O::Total get() {
    return O::identity();
  }
};
template <class O, class A, class = void> struct BeginOf {
  RS_METHOD static typename O::Total get(A y) {
    return O::load(y);
  }
};
template <class O, class A> struct BeginOf<O, A, Void<decltype(O::begin(A()))>> {
  RS_METHOD static typename O::Total get(A y) {
    return O::begin(y);
  }
};
template <class O, class A, int NUMBERS> struct Created {
  using Number = A;
  using Bare = typename O::Total;
  struct alignas(sizeof(Bare) <= 4 ? 4 : sizeof(Bare) <= 8 ? 8 : 16) Total {
    static constexpr int WORDS = sizeof(Bare) / 4;
    Bare total;
  };
  static_assert(sizeof(Bare) <= NUMBERS * sizeof(A), "Total is larger than the first line says, by numbers=");
  static_assert(sizeof(Bare) % 4 == 0, "Total is not of whole words of 4 bytes");
  static constexpr bool commutative = CommutativeOf<O>::value, PLAIN = false;
  template <class... N> RS_METHOD static Total load(A x, N... more) {
    return {O::load(x, more...)};
  }
  RS_METHOD static Total begin(A y) {
    return {BeginOf<O, A>::get(y)};
  }
  RS_METHOD static A store(Total t) {
    return O::store(t.total);
  }
  template <class... N> RS_METHOD static A second(Total t, A x, N... more) {
    return O::second(t.total, x, more...);
  }
  RS_METHOD static Total combine(Total left, Total right) {
    return {O::combine(left.total, right.total)};
  }
  RS_METHOD static Total neutral() {
    return {O::neutral()};
  }
  RS_METHOD static Total identity() {
    return {IdentityOf<O>::get()};
  }
  RS_METHOD static Bare bare(Total t) {
    return t.total;
  }
  RS_METHOD static Total whole(Bare t) {
    return {t};
  }
};

// ---- segments -------------------------------------------------------------------------------------------------------

// What is kept of a total beside a state. No base of it: compilers would keep the total in memory.
template <class O, class = void> struct BareOf {
  using Total = typename O::Total;
  using type = Total;
  RS_METHOD static type of(Total t) {
    return t;
  }
  RS_METHOD static Total whole(type t) {
    return t;
  }
};
template <class O> struct BareOf<O, Void<typename O::Bare>> {
  using Total = typename O::Total;
  using type = typename O::Bare;
  RS_METHOD static type of(Total t) {
    return O::bare(t);
  }
  RS_METHOD static Total whole(type t) {
    return O::whole(t);
  }
};

// An operator that begins anew where a segment does: what comes before is dropped, whatever it is, a NaN too. A block's
// total is that of its elements in the segment that it ends in, and a state, 0 of no elements.
enum : u32 {
  INSIDE = 1, // a segment begins with an element of the block, at the first perhaps
  MARKED = 2, // the last element is marked
  ANY = 4     // the block has elements
};
template <class O, class T> struct Segments {
  using Number = typename O::Number;
  using KeptNumber = typename Keeping<O>::Number;
  static constexpr bool commutative = false, PLAIN = false;
  RS_METHOD static T begin(KeptNumber y) {
    return of(O::begin(y), 0);
  }
  RS_METHOD static auto keep(T t) {
    return Keeping<O>::of(whole(t));
  }
  RS_METHOD static T neutral() {
    return of(O::neutral(), 0);
  }
  RS_METHOD static T identity() {
    return of(O::identity(), 0);
  }
  RS_METHOD static T start(i64 length) {
    return of(O::start(length), 0);
  }
  RS_METHOD static auto store(T t) {
    return O::store(whole(t));
  }
  template <class... N> RS_METHOD static auto second(T t, Number x, N... more) {
    return O::second(whole(t), x, more...);
  }
  RS_METHOD static T passed(T t) {
    return of(O::passed(whole(t)), t.state);
  }

protected:
  RS_METHOD static T of(typename O::Total total, u32 state) {
    T t{};
    t.total = BareOf<O>::of(total);
    t.state = state;
    return t;
  }
  RS_METHOD static typename O::Total whole(T t) {
    return BareOf<O>::whole(t.total);
  }
  // The total of two blocks; begins: a segment does in the right one.
  RS_METHOD static T joined(T left, T right, bool begins, u32 state) {
    if constexpr (counts_elements<O>)
      return of(O::combine(begins ? O::passed(whole(left)) : whole(left), whole(right)), state);
    else
      return of(begins ? whole(right) : O::combine(whole(left), whole(right)), state);
  }
};

// Segments that flags tell: a marked element is the first of one or, if LAST, the last, in the order of the scan. Marks
// are kept if LAST, or if results SHOW where segments begin.
template <class O> struct alignas(sizeof(typename O::Total) <= 4 ? 8 : 16) Flagged {
  static constexpr int WORDS = sizeof(typename BareOf<O>::type) / 4 + 1;
  typename BareOf<O>::type total;
  u32 state;
};
template <class O, bool LAST, bool SHOW> struct ByFlags : Segments<O, Flagged<O>> {
  using Base = Segments<O, Flagged<O>>;
  using Total = Flagged<O>;
  template <class M> RS_METHOD static Total told(typename O::Total total, M flag) {
    constexpr u32 MARK = LAST ? MARKED | ANY : SHOW ? INSIDE | MARKED | ANY : INSIDE, NO_MARK = LAST || SHOW ? ANY : 0;
    return Base::of(total, NO_MARK + truth_of(flag) * (MARK - NO_MARK));
  }
  template <class M, class... N> RS_METHOD static Total load(typename O::Number x, M flag, N... more) {
    return told(O::load(x, more...), flag);
  }
  // Of an element that a mask takes away.
  template <class M> RS_METHOD static Total masked(M flag) {
    return told(O::identity(), flag);
  }
  RS_METHOD static bool begins(Total before, Total element) {
    return (LAST ? before : element).state & MARKED;
  }
  RS_METHOD static Total combine(Total left, Total right) {
    u32 begins = right.state & INSIDE, before = left.state;
    if constexpr (LAST)
      begins |= left.state >> 1 & right.state >> 2 & INSIDE;
    if constexpr (LAST || SHOW)
      before &= ~(right.state >> 1 & MARKED); // the last element is no longer
    return Base::joined(left, right, begins, before | right.state | (LAST ? begins : 0));
  }
};

// The gradients of a maximum or minimum, from the end of a row on: an element has the sum of those of the results that
// it is, which begins anew with the next element that is one.
template <class A, class K> struct ExtremumGradient : ByFlags<Sum<A, K>, true, false> {
  using Base = ByFlags<Sum<A, K>, true, false>;
  using Total = typename Base::Total;
  RS_METHOD static bool is_one(A x, A y) {
    return x == y || (x != x && y != y);
  }
  RS_METHOD static Total load(A gradient, A x, A y) {
    return Base::told(gradient, (u32)is_one(x, y));
  }
  RS_METHOD static A second(Total t, A, A x, A y) {
    return is_one(x, y) ? Base::store(t) : 0;
  }
};

// Segments of equal keys that are neighbours.
template <class O, class Key> struct alignas(16) Keyed { // the widest first, so that there is no room between them
  static constexpr int WORDS = (sizeof(typename BareOf<O>::type) + sizeof(Key)) / 4 + 1;
  typename BareOf<O>::type total;
  Key key; // of the block's last element
  u32 state;
};
template <class O> struct alignas(16) Keyed<O, u64> {
  static constexpr int WORDS = sizeof(typename BareOf<O>::type) / 4 + 3;
  u64 key;
  typename BareOf<O>::type total;
  u32 state;
};
template <class O, class Key> struct ByKeys : Segments<O, Keyed<O, Key>> {
  using Base = Segments<O, Keyed<O, Key>>;
  using Total = Keyed<O, Key>;
  template <class M, class... N> RS_METHOD static Total load(typename O::Number x, M key, N... more) {
    Total t = Base::of(O::load(x, more...), ANY);
    t.key = widen<Key>(key);
    return t;
  }
  RS_METHOD static bool begins(Total before, Total element) {
    return before.state & ANY && before.key != element.key;
  }
  RS_METHOD static Total combine(Total left, Total right) {
    u32 between = left.key != right.key ? left.state & right.state & ANY : 0, begins = between | (right.state & INSIDE);
    Total t = Base::joined(left, right, begins, left.state | right.state | (begins ? INSIDE : 0));
    t.key = right.state ? right.key : left.key;
    return t;
  }
};

// A linear recurrence that begins anew where told so: a factor that is no other says so, and takes no room. Of integers
// 0 does, which drops all there is; of floats a NaN that no coefficient is.
template <class A> struct Reset {
  RS_METHOD static A factor() {
    return 0;
  }
  RS_METHOD static A other(A factor) {
    return factor;
  }
  RS_METHOD static bool is(A) {
    return false;
  }
};
template <class A, class W, W FACTOR, W NOT_A_NUMBER> struct FloatReset {
  union Bits {
    W word;
    A value;
  };
  RS_METHOD static A of(W word) {
    Bits bits;
    bits.word = word;
    return bits.value;
  }
  RS_METHOD static A factor() {
    return of(FACTOR);
  }
  RS_METHOD static A other(A factor) {
    return factor == factor ? factor : of(NOT_A_NUMBER);
  }
  RS_METHOD static bool is(A factor) {
    Bits bits;
    bits.value = factor;
    constexpr int HIGH = 8 * sizeof(W) - 32; // no other factor is a NaN that begins so
    return bits.word >> HIGH == FACTOR >> HIGH;
  }
};
template <> struct Reset<f32> : FloatReset<f32, u32, 0x7fe5e5e5, 0x7fc00000> {};
template <> struct Reset<f64> : FloatReset<f64, u64, 0x7ffce5e5e5e5e5e5, 0x7ff8000000000000> {};
template <class O> struct Resetting : O {
  using Number = typename O::Number;
  using Total = typename O::Total;
  using Is = Reset<Number>;
  template <class M> RS_METHOD static Total told(Total t, M begins) {
    t.factor = is_true(begins) ? Is::factor() : Is::other(t.factor);
    return t;
  }
  template <class M, class... N> RS_METHOD static Total load(Number x, M begins, N... more) {
    return told(O::load(x, more...), begins);
  }
  template <class M> RS_METHOD static Total masked(M begins) {
    return told(O::identity(), begins);
  }
  // Without branches: one costs more than what it leaves out.
  RS_METHOD static Total joined(Total mine, Total other, bool upper) {
    Total left{upper ? other.factor : mine.factor, upper ? other.term : mine.term};
    Total right{upper ? mine.factor : other.factor, upper ? mine.term : other.term};
    bool mine_begins = Is::is(mine.factor), other_begins = Is::is(other.factor);
    Number factor = O::combine(mine, other).factor, term = O::combine(left, right).term;
    return {mine_begins | other_begins ? Is::factor() : factor,
            (upper ? mine_begins : other_begins) ? right.term : term};
  }
  RS_METHOD static Total combine(Total left, Total right) {
    return joined(left, right, false);
  }
};

// Generalized advantages: rowscan.h.
template <class A, class K> struct Gae : Resetting<LinearRecurrence<A, K>> {
  using Base = Resetting<LinearRecurrence<A, K>>;
  using Number = A;
  using Total = typename Base::Total;
  RS_METHOD static Total load(A reward, A value, A next_value, A terminated, A done, A gamma, A lambda) {
    A ahead = is_true(terminated) ? reward : fused(gamma, next_value, reward);
    return Base::told({gamma * lambda, ahead - value}, done);
  }
  template <class... N> RS_METHOD static A second(Total t, A, A value, N...) {
    return t.term + value;
  }
};

template <class O, bool LAST, bool SHOW> constexpr bool has_segments<ByFlags<O, LAST, SHOW>> = true;
template <class O, class Key> constexpr bool has_segments<ByKeys<O, Key>> = true;
template <class O, bool LAST, bool SHOW> constexpr bool counts_elements<ByFlags<O, LAST, SHOW>> = counts_elements<O>;
template <class O, class Key> constexpr bool counts_elements<ByKeys<O, Key>> = counts_elements<O>;

// What a result shows that leaves out its own element: the identity where a segment begins with it.
template <class Op> RS_DEVICE typename Op::Total shown_before(typename Op::Total before, typename Op::Total element) {
  if constexpr (has_segments<Op>)
    return Op::begins(before, element) ? Op::identity() : before;
  else
    return before;
}
