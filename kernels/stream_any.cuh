// stream_any.cuh - regime long, from sm_90 on: the stream of stream.cuh for rows that begin anywhere
// SPDX-License-Identifier: MIT
#pragma once
#include "offset.cuh"
#include "stream.cuh"

template <class P, class S> struct StreamAny {
  RS_TYPES_OF(P);
  using T = Tile<P, S, true>;
  using Index = typename T::Index;
  using Part = PartOut<P, S>;
  template <class E> using Copies = RowCopies<P, S::ELEMENTS, E>;
  static constexpr int SLACK = PLACE;
  static constexpr bool PLACED = true;

  template <class E> using Unit = typename Units<E>::Unit;

  // Brings those of a row's units in no whole word that a tile has; says whether the lane had one.
  template <class C> RS_METHOD static bool bring_rest(const C &copies, typename C::One *copy, Index number) {
    Index at = copies.rest_at();
    int to = copies.place(number, at);
    if (to >= 0)
      copy[copies.shift + to] = load_element(copies.low + at);
    return to >= 0;
  }
  RS_METHOD static void bring(const R &row, Index number, In *in_copy, Mask *mask_copy, Arrival *full) {
    Copies<In> in(row.in);
    Copies<Mask> mask(row.mask);
    auto *in_to = reinterpret_cast<Unit<In> *>(in_copy);
    auto *mask_to = reinterpret_cast<Unit<Mask> *>(mask_copy);
    bool rest = bring_rest(in, in_to, number);
    if (MASKED)
      rest = bring_rest(mask, mask_to, number) || rest;
    if (any_lane(rest))
      bulk_fence(); // a bulk copy will write over it
    if (lane_index() == 0) {
      auto in_span = in.span(number);
      auto mask_span = mask.span(number);
      arrival_expect(full, in_span.count * (u32)in.SIZE + (MASKED ? mask_span.count * (u32)mask.SIZE : 0));
      in.load(in_to, number, in_span, full);
      if (MASKED)
        mask.load(mask_to, number, mask_span, full);
    } else {
      arrival_signal(full);
    }
  }
  RS_METHOD static u32 places(const R &row) {
    u32 in = (u32)Copies<In>(row.in).shift;
    return MASKED ? in | (u32)Copies<Mask>(row.mask).shift << 16 : in;
  }
  template <bool ORDERED>
  RS_METHOD static void read(typename T::V &held, const In *in, const Mask *mask, u32 places, int at) {
    constexpr bool KEEP = ORDERED || MASKED || !P::Op::commutative || Units<In>::COUNT > 1;
    Vector<Unit<Mask>, S::VECTOR * Units<Mask>::COUNT> m{};
    if constexpr (MASKED)
      m = read_placed<Mask, S::VECTOR>(mask, (int)(places >> 16), at);
    held.hold(read_placed<In, S::VECTOR, KEEP>(in, (int)(places & 0xffff), at), m);
  }
  // Each warp has room of its own: another may be at a tile of a row with another offset.
  RS_METHOD static void store(const T &tile, const R &row, Index first, Acc carry, Acc end, unsigned char *memory) {
    constexpr int BYTES = Part::WARP * (int)sizeof(Unit<Out>);
    static_assert(BYTES % PLACE == 0, "all parts have the tile's offset");
    auto *copy = reinterpret_cast<Unit<Out> *>(memory + T::warp() * (BYTES + SLACK)) + Part::shift(row);
    Part(first).template store<0>(tile, row, first, carry, end, copy);
  }
  RS_METHOD static void finish() {
    bulk_wait<0>();
  }
};

template <class P, class S, int REDUCERS, int STAGES> RS_DEVICE void scan_stream_any(const Rows<P::rank> &rows) {
  using Lean = StreamShape<P, S>;
  run_stream<P, Lean, StreamAny<P, Lean>, REDUCERS, STAGES>(rows);
}
