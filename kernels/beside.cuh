// beside.cuh - VECTOR columns that a thread has, combined as one value
// SPDX-License-Identifier: MIT
//
// PACKED: sums of bytes, four to a word. They wrap, and so do not depend on the order: an addition of four takes five
// instructions, and elements need not be taken out of words, nor results be put together.
#pragma once
#include "inputs.cuh"

template <class P, int VECTOR, bool PACKED> struct Beside {
  RS_TYPES_OF(P);
  using Values = Vector<Acc, VECTOR>;
  using Stored = Acc; // one column's, in shared memory

  // Each column's from f(v).
  template <class F> RS_METHOD static Values each(const F &f) {
    Values value;
#pragma unroll
    for (int v = 0; v < VECTOR; v++)
      value.at[v] = f(v);
    return value;
  }
  RS_METHOD static Acc one(const Values &value, int v) {
    return value.at[v];
  }
  RS_METHOD static Values neutral() {
    return each([](int) { return Op::neutral(); });
  }
  RS_METHOD static Values combine(const Values &left, const Values &right) {
    return each([&](int v) { return Op::combine(left.at[v], right.at[v]); });
  }
  RS_METHOD static Values exchange(const Values &value, int mask) {
    return each([&](int v) { return shuffle_xor(value.at[v], mask); });
  }
  template <int N> RS_METHOD static void prefixes(const Values &before, const Values *x, Values *prefix) {
    carries<Beside, N>(before, x, prefix);
  }
  // One step of all inputs, a vector of each. first: of its row.
  using Params = typename R::Params;
  template <class X> RS_METHOD static Values enter(const X &x, bool first, const Params &params) {
    if constexpr (FurtherOf<P>::ANY) {
      return each([&](int v) { return R::value(held(x, v, first), params); });
    } else {
      Vector<Mask, VECTOR> mask{};
      if constexpr (MASKED)
        mask = x.template of<RS_MASK>().own;
      typename R::Element::type from[VECTOR];
      elements_of<typename R::Element, In, VECTOR>(x.own, from);
      return each([&](int v) { return R::value(R::hold_element(from[v], mask.at[v])); });
    }
  }
  template <class X> RS_METHOD static Gathered<P> held(const X &x, int v, bool first) {
    Gathered<P> held = gathered<P>(x, v);
    if constexpr (InputsOf<P>::SEGMENTS_LAG)
      held.begins =
          begins_segment<P>(first, x.template of<RS_SEGMENTS>().last.at[v], x.template of<RS_SEGMENTS>().own.at[v]);
    else if constexpr (TOLD<P>)
      held.begins = is_true(x.template of<RS_SEGMENTS>().own.at[v]);
    return held;
  }
  // Of a step and its prefixes an output of type T, the SECOND or the first.
  template <class T, bool SECOND, class X>
  RS_METHOD static Vector<T, VECTOR> output(const X &x, const Values &shown, const Params &params) {
    Vector<T, VECTOR> y;
#pragma unroll
    for (int v = 0; v < VECTOR; v++)
      y.at[v] = Narrow<T>::from(held(x, v, false).template shown<SECOND>(shown.at[v], params));
    return y;
  }
  RS_METHOD static Vector<Out, VECTOR> leave(const Values &value) {
    return R::template narrow<VECTOR, false>(value.at);
  }
};

template <class P, int VECTOR> struct Beside<P, VECTOR, true> {
  RS_TYPES_OF(P);
  static_assert(sizeof(In) == 1 && sizeof(Out) == 1 && sizeof(Kept) == 1 && VECTOR % 4 == 0, "bytes, four to a word");
  static_assert(same_type<Op, Sum<u32, Kept>> && P::mask != MULTIPLY, "sums");
  using Stored = u8;
  static constexpr int WORDS = VECTOR / 4;
  struct alignas(VECTOR) Values {
    u32 word[WORDS];
  };

  template <class F> RS_METHOD static Values each_word(const F &f) {
    Values value;
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      value.word[w] = f(w);
    return value;
  }
  template <class F> RS_METHOD static Values each(const F &f) {
    return each_word([&](int w) { return pack_bytes(f(4 * w), f(4 * w + 1), f(4 * w + 2), f(4 * w + 3)); });
  }
  RS_METHOD static Acc one(const Values &value, int v) {
    return unsigned_byte(value.word[v / 4], (u32)v % 4);
  }
  RS_METHOD static Values neutral() {
    return each_word([](int) { return 0u; });
  }
  RS_METHOD static Values combine(const Values &left, const Values &right) {
    constexpr u32 LOW = 0x7f7f7f7f; // a carry out of these reaches the highest bit of its own byte
    return each_word([&](int w) {
      u32 a = left.word[w], b = right.word[w];
      return ((a & LOW) + (b & LOW)) ^ ((a ^ b) & ~LOW);
    });
  }
  RS_METHOD static Values exchange(const Values &value, int mask) {
    return each_word([&](int w) { return shuffle_xor(value.word[w], mask); });
  }
  // One after another: half the additions.
  template <int N> RS_METHOD static void prefixes(const Values &before, const Values *x, Values *prefix) {
    prefix[0] = before;
#pragma unroll
    for (int j = 1; j < N; j++)
      prefix[j] = combine(prefix[j - 1], x[j - 1]);
  }
  using Params = typename R::Params;
  template <class X> RS_METHOD static Values enter(const X &x, bool, const Params &) {
    return each_word([&](int w) {
      u32 bytes = x.own.part[w];
      if constexpr (MASKED)
        bytes &= chosen_bytes(x.template of<RS_MASK>().own, w);
      return bytes;
    });
  }
  RS_METHOD static Vector<Out, VECTOR> leave(const Values &value) {
    Vector<Out, VECTOR> out;
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      out.part[w] = value.word[w];
    return out;
  }
};
