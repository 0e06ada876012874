// rows.cuh - where the rows lie in memory, and their elements on the way in and out
// SPDX-License-Identifier: MIT
//
// A kernel is instantiated for a struct that emit.c writes, the Problem P:
//   Op, Acc               operator (ops.cuh), its Total         In, Out, Mask   element types (Mask: In if there is
//   none) mask                  NO_MASK, SELECT or MULTIPLY           Kept            type of initial values and totals
//   reverse, exclusive    flags                                 length, rank    of a row, of the rows' index
#pragma once
#include "index.cuh"
#include "ops.cuh"
#include "types.cuh"

enum MaskMode { NO_MASK, SELECT, MULTIPLY };

// Packed by src/gpu/launch.c as a header and five arrays of `rank` numbers.
template <int RANK> struct Rows {
  const void *in;
  void *out;
  const void *mask;
  const void *init; // may be null
  void *totals;     // may be null
  void *workspace;
  i64 first; // number of the first row of this launch; only those who launch in parts use it
  i64 count; // rows of this launch
  i64 in_step, out_step, mask_step;
  i64 shape[RANK], in_stride[RANK], out_stride[RANK], mask_stride[RANK], row_stride[RANK];
};

// Stands before each loop over the dimensions of the rows' index. Unrolled, they take registers each; where a source
// defines RS_LOOP_DIMENSIONS (rs_spec_loops in src/spec/spec.h), there is one at a time.
#ifdef RS_LOOP_DIMENSIONS
#define RS_EACH_DIMENSION _Pragma("unroll 1")
#else
#define RS_EACH_DIMENSION _Pragma("unroll")
#endif

template <class A, class B> constexpr bool same_type = false;
template <class A> constexpr bool same_type<A, A> = true;

// One row, in the order of the scan: element i lies i steps from the pointers, in a reverse scan too.
template <class P> struct Row {
  using In = typename P::In;
  using Out = typename P::Out;
  using Mask = typename P::Mask;
  using Acc = typename P::Acc;
  using Kept = typename P::Kept;
  using Op = typename P::Op;
  using Number = typename Op::Number;
  using Index = typename IndexFor<(P::length < (1 << 30))>::type;

  const In *in;
  Out *out;
  const Mask *mask;
  i64 in_step, out_step, mask_step;
  const Kept *init;
  Kept *total; // null unless `keeps`
  bool keeps;  // the same, as a predicate: tiles.cuh takes two registers less with it, tile.cuh without

  RS_METHOD Row(const Rows<P::rank> &rows, i64 number) {
    i64 in_at = 0, out_at = 0, mask_at = 0, row_at = 0;
    if (P::reverse) {
      in_at = (P::length - 1) * rows.in_step;
      out_at = (P::length - 1) * rows.out_step;
      mask_at = (P::length - 1) * rows.mask_step;
    }
    RS_EACH_DIMENSION
    for (int d = P::rank - 1; d >= 0; d--) {
      i64 i = d == 0 ? number : number % rows.shape[d];
      number = d == 0 ? 0 : number / rows.shape[d];
      in_at += i * rows.in_stride[d];
      out_at += i * rows.out_stride[d];
      mask_at += i * rows.mask_stride[d];
      row_at += i * rows.row_stride[d];
    }
    in = static_cast<const In *>(rows.in) + in_at;
    out = static_cast<Out *>(rows.out) + out_at;
    mask = static_cast<const Mask *>(rows.mask) + mask_at;
    in_step = P::reverse ? -rows.in_step : rows.in_step;
    out_step = P::reverse ? -rows.out_step : rows.out_step;
    mask_step = P::reverse ? -rows.mask_step : rows.mask_step;
    init = rows.init ? static_cast<const Kept *>(rows.init) + row_at : nullptr;
    keeps = rows.totals != nullptr;
    total = keeps ? static_cast<Kept *>(rows.totals) + row_at : nullptr;
  }

  // The fold from an initial value, and what is kept of a row's total.
  RS_METHOD static Acc begin(Kept value) {
    return Op::begin(widen<Number>(value));
  }
  RS_METHOD static Kept kept(Acc value) {
    return Narrow<Kept>::from(Op::store(value));
  }
  // What the fold starts from.
  RS_METHOD Acc start() const {
    return init ? begin(load_element(init)) : Op::neutral();
  }
  // The prefix of no elements, as users see it.
  RS_METHOD Acc empty() const {
    return init ? begin(load_element(init)) : Op::identity();
  }
  RS_METHOD void keep_total(Acc value) const {
    if (keeps)
      *total = kept(value);
  }

  // What a thread holds of an element until it is combined: as read where that does, since it takes fewer registers.
  // Bytes do so with 64-bit numbers (bool to i64, 2 x 2^25 on an H100: 0.843 of memcpy, 0.825 whole). Masked elements
  // are held as totals where no element stands for them.
  template <int NUMBER, class> struct ElementFor { using type = AsRead<In>; };
  template <class Unused> struct ElementFor<4, Unused> { using type = Whole<In>; };
  using Element = typename ElementFor<(int)sizeof(Number), void>::type;
  static constexpr bool AS_TOTALS = P::mask == MULTIPLY || (P::mask == SELECT && !Op::PLAIN);
  template <bool, class> struct HeldFor { using type = typename Element::type; };
  template <class Unused> struct HeldFor<true, Unused> { using type = Acc; };
  using Held = typename HeldFor<AS_TOTALS, void>::type;

  RS_METHOD static Acc load(typename Element::type x) {
    if constexpr (Op::PLAIN)
      return widen<Acc>(x);
    else
      return Op::load(widen<Number>(x));
  }
  RS_METHOD static Held hold_element(typename Element::type x, Mask m) {
    if constexpr (P::mask == MULTIPLY)
      return Op::load(widen<Number>(x) * widen<Number>(m));
    else if constexpr (AS_TOTALS)
      return is_true(m) ? load(x) : Op::identity();
    else if constexpr (P::mask == SELECT)
      return is_true(m) ? x : Element::from(Narrow<In>::from(Op::identity()));
    else
      return x;
  }
  // The total of what is held.
  RS_METHOD static Acc value(Held held) {
    if constexpr (AS_TOTALS)
      return held;
    else
      return load(held);
  }
  RS_METHOD static Held hold(In x, Mask m) {
    return hold_element(Element::from(x), m);
  }

  // As they lie in memory.
  template <int VECTOR>
  RS_METHOD static void hold_vector(Held *held, const Vector<In, VECTOR> &x, const Vector<Mask, VECTOR> &m) {
    typename Element::type y[VECTOR];
    elements_of<Element>(x, y);
#pragma unroll
    for (int j = 0; j < VECTOR; j++) {
      int at = P::reverse ? VECTOR - 1 - j : j;
      held[j] = hold_element(y[at], m.at[at]);
    }
  }

  // VECTOR elements from i on. Vectored: neighbours in memory, on an address that is a multiple of their size.
  template <int VECTOR> RS_METHOD void load_vectored(Held *held, Index i) const {
    Vector<In, VECTOR> x = load_vector<In, VECTOR>(P::reverse ? in - i - (VECTOR - 1) : in + i);
    Vector<Mask, VECTOR> m{};
    if constexpr (P::mask != NO_MASK)
      m = load_vector<Mask, VECTOR>(P::reverse ? mask - i - (VECTOR - 1) : mask + i);
    hold_vector(held, x, m);
  }
  // The same from a copy in shared memory, `at` elements from its start.
  template <int VECTOR>
  RS_METHOD static void load_copied(Held *held, const In *in_copy, const Mask *mask_copy, int at) {
    Vector<In, VECTOR> x = shared_vector<In, VECTOR>(in_copy + at);
    Vector<Mask, VECTOR> m{};
    if constexpr (P::mask != NO_MASK)
      m = shared_vector<Mask, VECTOR>(mask_copy + at);
    hold_vector(held, x, m);
  }
  RS_METHOD Held load_one(Index i) const {
    Mask m{};
    if constexpr (P::mask != NO_MASK)
      m = load_element(mask + i * mask_step);
    return hold(load_element(in + i * in_step), m);
  }
  // VECTOR values as they lie in memory: from i on, or of neighbouring rows.
  template <int VECTOR, bool REVERSE = P::reverse> RS_METHOD static Vector<Out, VECTOR> narrow(const Acc *value) {
    if constexpr (Op::PLAIN) {
      return narrow_numbers<VECTOR, REVERSE>(value);
    } else {
      Number number[VECTOR];
#pragma unroll
      for (int j = 0; j < VECTOR; j++)
        number[j] = Op::store(value[j]);
      return narrow_numbers<VECTOR, REVERSE>(number);
    }
  }
  template <int VECTOR, bool REVERSE> RS_METHOD static Vector<Out, VECTOR> narrow_numbers(const Number *value) {
    if constexpr (VECTOR % 2 == 0 && same_type<Number, f32> && (same_type<Out, f16> || same_type<Out, bf16>))
      return narrow_halves<Out, VECTOR, REVERSE>(value);
    else if constexpr (VECTOR % 4 == 0 && same_type<Number, u32> && (same_type<Out, i8> || same_type<Out, u8>))
      return narrow_bytes<Out, VECTOR, REVERSE>(value);
    else
      return narrow_vector<Out, VECTOR, REVERSE>(value);
  }
  RS_METHOD static Out narrow_one(Acc value) {
    if constexpr (Op::PLAIN)
      return Narrow<Out>::from(value);
    else
      return Narrow<Out>::from(Op::store(value));
  }
  template <int VECTOR> RS_METHOD void store_vectored(Index i, const Acc *value) const {
    store_vector<Out, VECTOR>(P::reverse ? out - i - (VECTOR - 1) : out + i, narrow<VECTOR>(value));
  }
  RS_METHOD void store_one(Index i, Acc value) const {
    store_element(out + i * out_step, narrow_one(value));
  }
};

// What a row has beside its elements, for those who find its elements otherwise.
template <class P> struct Extras {
  typename P::Acc start;
  typename P::Kept *total; // may be null

  RS_METHOD static Extras of(const Rows<P::rank> &all, i64 number) {
    Extras extras{P::Op::neutral(), nullptr};
    if (all.init || all.totals) {
      Row<P> row(all, number);
      extras = {row.start(), row.keeps ? row.total : nullptr};
    }
    return extras;
  }
};
