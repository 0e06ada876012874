// rows.cuh - where the rows lie in memory, and their elements on the way in and out
// SPDX-License-Identifier: MIT
//
// A kernel is instantiated for a struct that emit.c writes, the Problem P:
//   Op, Acc               the operator (ops.cuh), and its Total
//   In, Out, Mask         types of elements; Mask: of a mask, of coefficients, or of what tells segments; else In
//   mask                  NO_MASK, SELECT, MULTIPLY, COEFFICIENT or SEGMENTS
//   Kept                  type of initial values and totals
//   reverse, exclusive    flags
//   length, rank          of a row, and of the rows' index
// Where the length is RS_ANY_LENGTH, a launch tells `exclusive`, too, and P has `most`: the longest rows there may be.
// Where there are further arrays, P has a struct Further (further.cuh).
#pragma once
#include "arrays.h"
#include "further.cuh"
#include "index.cuh"
#include "ops.cuh"
#include "types.cuh"

template <int RANK> struct Rows : RowsHead {
  i64 shape[RANK], stride[RS_ARRAYS][RANK];

  RS_METHOD bool has(int which) const {
    return at[which] != nullptr;
  }
  template <class T> RS_METHOD T *data(int which) const {
    return static_cast<T *>(at[which]);
  }
};

// What a kernel for rows of any length is told.
template <int RANK> struct AnyRows : Rows<RANK> { i64 length, exclusive; };

// What one with further arrays is told.
template <int RANK> struct FurtherRows : AnyRows<RANK> {
  void *further_at[RS_FURTHER];
  i64 further_step[RS_FURTHER], further_stride[RS_FURTHER][RANK];
  f64 params[RS_MOST_PARAMS];
};
template <class P> RS_DEVICE const FurtherRows<P::rank> &further_of(const Rows<P::rank> &rows) {
  return static_cast<const FurtherRows<P::rank> &>(rows);
}

// The length of a problem's rows: a constant, or a number of a launch.
template <class P> struct Length {
  static constexpr bool ANY = P::length == RS_ANY_LENGTH;
  RS_METHOD static constexpr i64 most() {
    if constexpr (ANY)
      return P::most;
    else
      return P::length;
  }
  // Whether it is known to be a multiple of a unit.
  RS_METHOD static constexpr bool multiple_of(i64 unit) {
    return unit == 1 || (!ANY && P::length % unit == 0);
  }
  RS_METHOD static i64 of(const Rows<P::rank> &rows) {
    if constexpr (ANY)
      return static_cast<const AnyRows<P::rank> &>(rows).length;
    else
      return P::length;
  }
};

// Whether each result leaves out its own element: a constant, or a number of a launch.
template <class P> RS_DEVICE bool is_exclusive(const Rows<P::rank> &rows) {
  if constexpr (Length<P>::ANY)
    return static_cast<const AnyRows<P::rank> &>(rows).exclusive != 0;
  else
    return P::exclusive;
}

// Where a fold starts that no initial value does.
template <class P> RS_DEVICE typename P::Acc start_of(const Rows<P::rank> &rows) {
  if constexpr (counts_elements<typename P::Op>)
    return P::Op::start(Length<P>::of(rows));
  else
    return P::Op::neutral();
}

// The types of a problem P, as members of a template of it.
#define RS_TYPES_OF(P)                                                                                                 \
  using In = typename P::In;                                                                                           \
  using Out = typename P::Out;                                                                                         \
  using Mask = typename P::Mask;                                                                                       \
  using Acc = typename P::Acc;                                                                                         \
  using Kept = typename P::Kept;                                                                                       \
  using Op = typename P::Op;                                                                                           \
  using R = Row<P>;                                                                                                    \
  static constexpr bool MASKED = P::mask != NO_MASK

// Stands before each loop over the dimensions of the rows' index. Unrolled, they take registers each; where a source
// defines RS_LOOP_DIMENSIONS (rs_spec_loops in src/spec/spec.h), there is one at a time.
#ifdef RS_LOOP_DIMENSIONS
#define RS_EACH_DIMENSION _Pragma("unroll 1")
#else
#define RS_EACH_DIMENSION _Pragma("unroll")
#endif

// f(array) for each array. No loop: compilers unroll one so late that they keep what it fills in memory until then, and
// miss what they would have found in registers (NOTES.md).
template <class P, class F> RS_DEVICE void each_array(const F &f) {
  f(RS_IN), f(RS_OUT), f(RS_MASK), f(RS_INIT), f(RS_TOTALS);
  if constexpr (FurtherOf<P>::ANY)
    f(RS_MORE_IN), f(RS_MORE_IN + 1), f(RS_MORE_IN + 2), f(RS_MORE_IN + 3), f(RS_SECOND), f(RS_SEGMENTS);
}

// One place in all arrays: from the first element of each, in elements.
template <class P> struct Offsets {
  static constexpr int LAST = P::rank - 1, OUTER = P::rank > 1 ? P::rank - 2 : 0;
  // Of one dimension initial values and totals are counted in rows: one number for both, and no multiplication before
  // there are any.
  static constexpr bool COUNTS = P::rank == 1;
  i64 of[FurtherOf<P>::ANY ? RS_ALL_ARRAYS : RS_ARRAYS];

  RS_METHOD static i64 stride(const Rows<P::rank> &rows, int a, int d) {
    if constexpr (FurtherOf<P>::ANY)
      if (a >= RS_ARRAYS)
        return further_of<P>(rows).further_stride[a - RS_ARRAYS][d];
    return COUNTS && a >= RS_ELEMENTS ? 1 : rows.stride[a][d];
  }
  RS_METHOD static i64 step(const Rows<P::rank> &rows, int a) {
    if constexpr (FurtherOf<P>::ANY)
      if (a >= RS_ARRAYS)
        return further_of<P>(rows).further_step[a - RS_ARRAYS];
    return a < RS_ELEMENTS ? rows.step[a] : 0;
  }
  // The first row's element at step `step` in memory.
  RS_METHOD static Offsets of_step(const Rows<P::rank> &rows, i64 step) {
    Offsets offsets;
    each_array<P>([&](int a) { offsets.of[a] = a == RS_INIT || a == RS_TOTALS ? 0 : step * Offsets::step(rows, a); });
    return offsets;
  }
  // Moves on by an index of a dimension.
  RS_METHOD void move(const Rows<P::rank> &rows, int d, i64 index) {
    each_array<P>([&](int a) { of[a] += index * stride(rows, a, d); });
  }
  // By a column, where columns are neighbours.
  RS_METHOD void move_beside(const Rows<P::rank> &rows, i64 column) {
    each_array<P>([&](int a) { of[a] += a < RS_ELEMENTS ? column : column * stride(rows, a, LAST); });
  }
  // By a number that counts, in C order, the indices of the dimensions up to `last`.
  template <class I> RS_METHOD void move_to(const Rows<P::rank> &rows, int last, I number) {
    RS_EACH_DIMENSION
    for (int d = last; d >= 0; d--) {
      I size = (I)rows.shape[d], i = d == 0 ? number : number % size;
      number = d == 0 ? 0 : number / size;
      move(rows, d, (i64)i);
    }
  }
  // To the outers of a tile of columns, which takes `most` of the last dimension before that of the columns, and of
  // which there are `groups` along it. Returns how many outers there are.
  RS_METHOD i32 move_to_outers(const Rows<P::rank> &rows, u32 number, int most, int groups) {
    i32 outers = 1;
    if constexpr (P::rank > 1) {
      RS_EACH_DIMENSION
      for (int d = OUTER; d >= 0; d--) {
        i64 i = number;
        if (d > 0) {
          u32 size = d == OUTER ? (u32)groups : (u32)rows.shape[d];
          number /= size;
          i -= (i64)number * size;
        }
        if (d == OUTER) {
          i *= most;
          outers = rows.shape[d] - i < most ? (i32)(rows.shape[d] - i) : most;
        }
        move(rows, d, i);
      }
    }
    return outers;
  }
};

// Where an array's first row begins.
template <class T, class P> RS_DEVICE T *array_of(const Rows<P::rank> &rows, int which) {
  if constexpr (FurtherOf<P>::ANY)
    if (which >= RS_ARRAYS)
      return static_cast<T *>(further_of<P>(rows).further_at[which - RS_ARRAYS]);
  return rows.template data<T>(which);
}

template <class P> struct Row;

// What a row has beside its elements: where its fold starts, and where its total is kept.
template <class P> struct Ends {
  RS_TYPES_OF(P);
  using KeptNumber = typename Keeping<Op>::Number;

  const Rows<P::rank> &rows;
  i64 init, total; // as Offsets has them

  RS_METHOD Ends(const Rows<P::rank> &rows, const Offsets<P> &offsets)
      : rows(rows), init(offsets.of[RS_INIT]), total(offsets.of[RS_TOTALS]) {
  }
  RS_METHOD Kept *place(int which, i64 offset) const {
    return rows.template data<Kept>(which) + (Offsets<P>::COUNTS ? offset * rows.stride[which][0] : offset);
  }
  RS_METHOD static Kept kept(Acc value) {
    return Narrow<Kept>::from(Keeping<Op>::of(value));
  }
  RS_METHOD Acc started(Acc without) const {
    if (!rows.has(RS_INIT))
      return without;
    return Op::begin(widen<KeptNumber>(load_element(place(RS_INIT, init))));
  }
  // What the fold starts from.
  RS_METHOD Acc start() const {
    return started(start_of<P>(rows));
  }
  // The prefix of no elements, as users see it.
  RS_METHOD Acc empty() const {
    return started(Op::identity());
  }
  RS_METHOD void keep(Acc value) const {
    store_element(place(RS_TOTALS, total), kept(value));
  }
};

// The ends of a row of columns: of a tile's first one at `first`, and so many outers and columns further on.
template <class P> RS_DEVICE Ends<P> ends_of(const Rows<P::rank> &rows, Offsets<P> first, int outer, int column) {
  if (P::rank > 1)
    first.move(rows, first.OUTER, outer);
  first.move(rows, first.LAST, column);
  return {rows, first};
}

// The results of N elements of a row, from element i on, in the order of the scan. prefix[j]: of all elements before
// element j of them; prefix[N]: through the last one. The row's total is kept where it is among them, if `keeps`.
template <class P, int N, class I, class E>
RS_DEVICE const typename P::Acc *results(const Rows<P::rank> &rows, typename P::Acc *prefix, I i, bool keeps,
                                         const E &ends) {
  if constexpr (Length<P>::ANY) {
    i64 length = Length<P>::of(rows), tail = (length - 1) / N * N;
    if (keeps && i == tail) {
#pragma unroll
      for (int j = 1; j <= N; j++) // a place that is not known would keep the prefixes in memory
        if (length - tail == j)
          ends.keep(prefix[j]);
    }
  } else {
    constexpr I TAIL = (I)((P::length - 1) / N * N);
    if (keeps && i == TAIL)
      ends.keep(prefix[(I)P::length - TAIL]);
  }
  bool exclusive = is_exclusive<P>(rows);
  if (exclusive && i == 0)
    prefix[0] = ends.empty();
  if constexpr (Length<P>::ANY) {
#pragma unroll
    for (int j = 0; j < N; j++) // in their registers: see above
      prefix[j] = exclusive ? shown_before<typename P::Op>(prefix[j], prefix[j + 1]) : prefix[j + 1];
    return prefix;
  } else if constexpr (P::exclusive && has_segments<typename P::Op>) {
#pragma unroll
    for (int j = 0; j < N; j++)
      prefix[j] = shown_before<typename P::Op>(prefix[j], prefix[j + 1]);
    return prefix;
  } else {
    return exclusive ? prefix : prefix + 1;
  }
}

// Of segments that are told beside a mask, an exclusive result of a first element is the identity. prefix: what
// results() has given, of what is held.
template <class P, int N>
RS_DEVICE void show_beginnings(const Rows<P::rank> &rows, typename P::Acc *prefix, const Gathered<P> *held) {
  if (is_exclusive<P>(rows))
#pragma unroll
    for (int j = 0; j < N; j++)
      prefix[j] = held[j].begins ? P::Op::identity() : prefix[j];
}

// One row, in the order of the scan: element i lies i steps from the pointers, in a reverse scan too.
template <class P> struct Row : Ends<P> {
  RS_TYPES_OF(P);
  using Number = typename Op::Number;
  using Index = typename IndexFor<(Length<P>::most() < (1 << 30))>::type;

  const In *in;
  Out *out;
  const Mask *mask;
  i64 step[RS_ELEMENTS];
  bool keeps; // its total
  FurtherArrays<P> further;

  RS_METHOD Row(const Rows<P::rank> &rows, i64 number) : Row(rows, offsets_of(rows, number)) {
  }
  RS_METHOD Row(const Rows<P::rank> &rows, const Offsets<P> &offsets)
      : Ends<P>(rows, offsets), in(rows.template data<const In>(RS_IN) + offsets.of[RS_IN]),
        out(rows.template data<Out>(RS_OUT) + offsets.of[RS_OUT]),
        mask(rows.template data<const Mask>(RS_MASK) + offsets.of[RS_MASK]), keeps(rows.has(RS_TOTALS)),
        further(Places{rows, offsets}) {
    each_array<P>([&](int a) {
      if (a < RS_ELEMENTS)
        step[a] = P::reverse ? -rows.step[a] : rows.step[a];
    });
  }
  // Where a row begins in a further array.
  struct Places {
    const Rows<P::rank> &rows;
    const Offsets<P> &offsets;
    template <class T> RS_METHOD Place<T> of(int which) const {
      i64 step = Offsets<P>::step(rows, which);
      return {array_of<T, P>(rows, which) + offsets.of[which], P::reverse ? -step : step};
    }
  };
  RS_METHOD void keep(Acc value) const {
    if (keeps)
      Ends<P>::keep(value);
  }
  RS_METHOD static Offsets<P> offsets_of(const Rows<P::rank> &rows, i64 number) {
    Offsets<P> offsets = Offsets<P>::of_step(rows, P::reverse ? Length<P>::of(rows) - 1 : 0);
    offsets.move_to(rows, P::rank - 1, number);
    return offsets;
  }
  RS_METHOD Index length() const {
    return (Index)Length<P>::of(this->rows);
  }
  // Of neighbours in memory, `count` from element i on, the lowest one's distance from the pointers.
  template <class I> RS_METHOD static I lowest(I i, int count) {
    return P::reverse ? -i - (count - 1) : i;
  }

  // What a thread holds of an element until it is combined: as read where that does, since it takes fewer registers.
  // Bytes do so with 64-bit numbers (bool to i64, 2 x 2^25 on an H100: 0.843 of memcpy, 0.825 whole). Masked elements
  // are held as totals where no element stands for them.
  template <int NUMBER, class> struct ElementFor { using type = AsRead<In>; };
  template <class Unused> struct ElementFor<4, Unused> { using type = Whole<In>; };
  using Element = typename ElementFor<(int)sizeof(Number), void>::type;
  static constexpr bool STANDS = Op::PLAIN || leaves_out_zeros<Op>; // an element for one that is masked
  static constexpr bool AS_TOTALS =
      P::mask == MULTIPLY || (P::mask == SELECT && !STANDS) || (P::mask == NO_MASK && loads_once<Op>);
  static constexpr bool PAIRED = P::mask == COEFFICIENT || P::mask == SEGMENTS;
  enum { AS_ELEMENT, AS_TOTAL, WITH_OTHER, WITH_ALL };
  struct Paired {
    typename Element::type x;
    Mask other;
  };
  template <int, class> struct HeldFor { using type = typename Element::type; };
  template <class Unused> struct HeldFor<AS_TOTAL, Unused> { using type = Acc; };
  template <class Unused> struct HeldFor<WITH_OTHER, Unused> { using type = Paired; };
  template <class Unused> struct HeldFor<WITH_ALL, Unused> { using type = Gathered<P>; };
  using Held = typename HeldFor<FurtherOf<P>::ANY ? WITH_ALL
                                : PAIRED          ? WITH_OTHER
                                : AS_TOTALS       ? AS_TOTAL
                                                  : AS_ELEMENT,
                                void>::type;
  using Params = typename ParamsOf<P>::type; // Nothing: there are none

  RS_METHOD static Params params_of(const Rows<P::rank> &rows) {
    if constexpr (FurtherOf<P>::ANY)
      return params_from<Params>(further_of<P>(rows).params);
    else
      return {};
  }
  RS_METHOD Params params() const {
    return params_of(this->rows);
  }

  RS_METHOD static Acc load(typename Element::type x) {
    if constexpr (Op::PLAIN)
      return widen<Acc>(x);
    else
      return Op::load(widen<Number>(x));
  }
  RS_METHOD static Held hold_element(typename Element::type x, Mask m) {
    if constexpr (PAIRED)
      return {x, m};
    else if constexpr (P::mask == MULTIPLY)
      return Op::load(widen<Number>(x) * widen<Number>(m));
    else if constexpr (P::mask == NO_MASK && AS_TOTALS)
      return load(x);
    else if constexpr (AS_TOTALS)
      return is_true(m) ? load(x) : Op::identity();
    else if constexpr (P::mask == SELECT && Op::PLAIN)
      return is_true(m) ? x : Element::from(Narrow<In>::from(Op::identity()));
    else if constexpr (P::mask == SELECT)
      return is_true(m) ? x : Element::from(Narrow<In>::from((Number)0));
    else
      return x;
  }
  // The total of what is held.
  RS_METHOD static Acc value(Held held, Params params = {}) {
    if constexpr (FurtherOf<P>::ANY)
      return held.value(params);
    else if constexpr (P::mask == COEFFICIENT)
      return Op::load(widen<Number>(held.x), widen<Number>(held.other));
    else if constexpr (P::mask == SEGMENTS)
      return Op::load(widen<Number>(held.x), held.other);
    else if constexpr (AS_TOTALS)
      return held;
    else
      return load(held);
  }
  template <int N> RS_METHOD static void values(const Held *held, Acc *x, Params params = {}) {
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = value(held[j], params);
  }
  RS_METHOD static Held hold(In x, Mask m) {
    return hold_element(Element::from(x), m);
  }
  // An element on its way in, with its mask.
  RS_METHOD static Acc enter(In x, Mask m) {
    return value(hold(x, m));
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

  // H::COUNT elements from i on, to a HeldVector of held.cuh. Vectored: neighbours in memory, on an address that is a
  // multiple of their size.
  template <class H> RS_METHOD void load_vectored(H &held, Index i) const {
    constexpr int VECTOR = H::COUNT;
    Vector<Mask, VECTOR> m{};
    if constexpr (MASKED)
      m = load_vector<Mask, VECTOR>(mask + lowest(i, VECTOR));
    if constexpr (!FurtherOf<P>::ANY)
      held.hold(load_vector<In, VECTOR>(in + lowest(i, VECTOR)), m);
  }
  // The same from a copy in shared memory, `at` elements from its start.
  template <class H> RS_METHOD static void load_copied(H &held, const In *in_copy, const Mask *mask_copy, int at) {
    constexpr int VECTOR = H::COUNT;
    Vector<Mask, VECTOR> m{};
    if constexpr (MASKED)
      m = shared_vector<Mask, VECTOR>(mask_copy + at);
    held.hold(shared_vector<In, VECTOR>(in_copy + at), m);
  }
  RS_METHOD Held load_one(Index i) const {
    return load_one(i, i == 0);
  }
  template <bool AGAIN = false> RS_METHOD Held load_one(Index i, bool is_first) const {
    Mask m{};
    if constexpr (MASKED)
      m = load_element<AGAIN>(mask + i * step[RS_MASK]);
    In x = load_element<AGAIN>(in + i * step[RS_IN]);
    if constexpr (FurtherOf<P>::ANY)
      return further.template load_one<AGAIN>(x, m, i, is_first);
    else
      return hold(x, m);
  }
  // By so many steps, from where elements are counted then: no multiplication for each.
  RS_METHOD void move(i64 steps) {
    in += steps * step[RS_IN];
    out += steps * step[RS_OUT];
    mask += steps * step[RS_MASK];
    further.move(steps);
  }
  // Where it begins in an array of elements that it reads.
  template <int WHICH> RS_METHOD auto *first() const {
    if constexpr (WHICH == RS_IN)
      return in;
    else if constexpr (WHICH == RS_MASK)
      return mask;
    else
      return further.template first<WHICH>();
  }
  // Where there are further arrays: a stretch of all inputs (further.cuh).
  template <class S> RS_METHOD void fetch_stretch(S &stretch) const {
    stretch.offsets = further.fetch_stretch(stretch, length(), {in, step[RS_IN]}, {mask, step[RS_MASK]});
  }
  // VECTOR values as they lie in memory: from i on, or of neighbouring rows.
  template <int VECTOR, bool REVERSE = P::reverse> RS_METHOD static Vector<Out, VECTOR> narrow(const Acc *value) {
    if constexpr (Op::PLAIN) {
      return narrow_numbers<VECTOR, REVERSE>(value);
    } else {
      decltype(Op::store(*value)) number[VECTOR];
#pragma unroll
      for (int j = 0; j < VECTOR; j++)
        number[j] = Op::store(value[j]);
      return narrow_numbers<VECTOR, REVERSE>(number);
    }
  }
  template <int VECTOR, bool REVERSE, class N> RS_METHOD static Vector<Out, VECTOR> narrow_numbers(const N *value) {
    if constexpr (VECTOR % 2 == 0 && same_type<N, f32> && (same_type<Out, f16> || same_type<Out, bf16>))
      return narrow_halves<Out, VECTOR, REVERSE>(value);
    else if constexpr (VECTOR % 4 == 0 && same_type<N, u32> && (same_type<Out, i8> || same_type<Out, u8>))
      return narrow_bytes<Out, VECTOR, REVERSE>(value);
    else
      return narrow_vector<Out, VECTOR, REVERSE>(value);
  }
  // An element on its way out.
  RS_METHOD static Out leave(Acc value) {
    if constexpr (Op::PLAIN)
      return Narrow<Out>::from(value);
    else
      return Narrow<Out>::from(Op::store(value));
  }
  template <int VECTOR> RS_METHOD void store_vectored(Index i, const Acc *value) const {
    store_vector<Out, VECTOR>(out + lowest(i, VECTOR), narrow<VECTOR>(value));
  }
  template <class S> RS_METHOD void store_stretch(S stretch, const Acc *value) const {
    Place<Out>{out, step[RS_OUT]}.store(stretch, narrow<S::N>(value));
  }
  // The first output, which may show what is held of its elements.
  template <class S, class H, class N>
  RS_METHOD void store_first(S stretch, const H *held, const Acc *value, const N &params) const {
    if constexpr (WEIGHS<P>)
      Place<Out>{out, step[RS_OUT]}.store(stretch, further.template output<Out, false, S::N>(held, value, params));
    else
      store_stretch(stretch, value);
  }
  RS_METHOD void store_one(Index i, Acc value) const {
    store_element(out + i * step[RS_OUT], leave(value));
  }
};

// The ends of a row for those who find its elements otherwise, and who ask before they need them.
template <class P> struct Extras {
  typename P::Acc start;
  typename P::Kept *total; // may be null
  bool starts;             // from an initial value

  RS_METHOD static Extras of(const Rows<P::rank> &all, i64 number) {
    Extras extras{start_of<P>(all), nullptr, all.has(RS_INIT)};
    if (extras.starts || all.has(RS_TOTALS)) {
      Row<P> row(all, number);
      extras.start = row.start();
      extras.total = row.keeps ? row.place(RS_TOTALS, row.total) : nullptr;
    }
    return extras;
  }
  RS_METHOD typename P::Acc empty() const {
    return starts ? start : P::Op::identity();
  }
  RS_METHOD void keep(typename P::Acc value) const {
    *total = Row<P>::kept(value);
  }
};
