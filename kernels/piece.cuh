// piece.cuh - neighbouring elements, their masks and their results, in shared memory
// SPDX-License-Identifier: MIT
#pragma once
#include "held.cuh"
#include "slab.cuh"

// IN_PLACE: results take the place of elements, which are as large. ALIGNED: input and output have the same offset from
// a multiple of 16 bytes, and neighbours are neighbours in memory.
template <class P, bool ALIGNED, bool IN_PLACE> struct Piece {
  RS_TYPES_OF(P);
  static_assert(!IN_PLACE || sizeof(In) == sizeof(Out), "as large");

  Slab<In> in;
  Slab<Mask> mask;
  Slab<Out> out;

  // Of a piece of at most so many elements: where masks and results lie, and all of it, as rs_piece_bytes of
  // src/family/shape.h has it.
  RS_METHOD static constexpr int mask_at(int most) {
    return Slab<In>::room(most);
  }
  RS_METHOD static constexpr int behind(int most) {
    return mask_at(most) + (MASKED ? Slab<Mask>::room(most) : 0);
  }
  RS_METHOD static constexpr int out_at(int most) {
    return IN_PLACE ? 0 : behind(most);
  }
  RS_METHOD static constexpr int bytes(int most) {
    return behind(most) + (IN_PLACE ? 0 : Slab<Out>::room(most));
  }

  // From the element on that comes first in memory. steps: of the arrays, between neighbours; null: 1.
  RS_METHOD Piece(const In *in_first, const Mask *mask_first, Out *out_first, const i64 *steps, int count, int most,
                  unsigned char *memory)
      : in(in_first, steps ? steps[RS_IN] : 1, count, memory),
        mask(mask_first, steps ? steps[RS_MASK] : 1, count, memory + mask_at(most)),
        out(out_first, steps ? steps[RS_OUT] : 1, count, memory + out_at(most)) {
    if constexpr (IN_PLACE)
      out.shared = reinterpret_cast<Out *>(in.shared);
  }
  // Of rows that follow one another without a gap, from an element of them on.
  RS_METHOD Piece(const Rows<P::rank> &all, i64 first, int count, int most, unsigned char *memory)
      : Piece(all.template data<const In>(RS_IN) + first, all.template data<const Mask>(RS_MASK) + (MASKED ? first : 0),
              all.template data<Out>(RS_OUT) + first, nullptr, count, most, memory) {
  }

  // Begins; wait() of what it returns ends.
  template <int THREADS> RS_METHOD SlabLoads<THREADS> load(Gate<1> &there) const {
    SlabLoads<THREADS> loads(there, in.body_bytes() + (MASKED ? mask.body_bytes() : 0));
    loads.load(in);
    if constexpr (MASKED)
      loads.load(mask);
    return loads;
  }
  template <int THREADS> RS_METHOD void store() const {
    if (IN_PLACE && !ALIGNED &&
        (in.words.head != out.words.head || in.step != out.step)) { // words do not fit, one by one they do
      block_barrier();
      out.template scatter<THREADS>();
    } else {
      store_slab<THREADS>(out);
    }
  }

  // N neighbours, the lowest in memory at `low`, in the order of the scan. N > 1: on a multiple of their size.
  template <int N> RS_METHOD void read(int low, Acc *x) const {
    HeldVector<P, N, AS_ELEMENTS> held;
    R::load_copied(held, in.shared, mask.shared, low);
    R::template values<N>(held.at, x);
  }
  template <int N> RS_METHOD void write(int low, const Acc *value) const {
    share_vector<Out, N>(out.shared + low, R::template narrow<N>(value));
  }
};
