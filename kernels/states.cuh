// states.cuh - rows that are parts of longer ones, of operators whose totals are no numbers
// SPDX-License-Identifier: MIT
#pragma once
#include "ops.cuh"

// An operator whose initial values and totals are its own totals, as they are.
template <class O> struct Stated : O {
  using Total = typename O::Total;
  using KeptNumber = Total;
  RS_METHOD static Total begin(KeptNumber t) {
    return t;
  }
  RS_METHOD static KeptNumber keep(Total t) {
    return t;
  }
};
template <class O> constexpr bool loads_once<Stated<O>> = loads_once<O>;
template <class O> constexpr bool leaves_out_zeros<Stated<O>> = leaves_out_zeros<O>;
