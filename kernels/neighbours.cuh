// neighbours.cuh - flags or keys in the place of a mask that tell of segments by their neighbours
// SPDX-License-Identifier: MIT
//
// Where the element before is at hand, it tells, too, whether a segment begins with an element. Totals then have a bit
// of it, and neither keys nor the flags of their last elements.
#pragma once
#include "held.cuh"

// How P says that it does: by a member `told`.
template <class P, class = void> constexpr Told TOLD_BY_NEIGHBOURS = NOT_TOLD;
template <class P> constexpr Told TOLD_BY_NEIGHBOURS<P, Void<decltype(P::told)>> = P::told;

// Of a HeldVector's elements: in the place of a flag or key, whether a segment begins with the element. last: of the
// element before; first: there is none.
template <class P, class V> RS_DEVICE void tell_beginnings(V &held, bool first, typename P::Mask last) {
#pragma unroll
  for (int j = 0; j < V::COUNT; j++) {
    typename P::Mask own = held.at[j].other;
    bool begins = Beginnings<typename P::Mask, TOLD_BY_NEIGHBOURS<P>>::between(j == 0 && first, last, own);
    held.at[j].other = Narrow<typename P::Mask>::from((u32)begins);
    last = own;
  }
}
