// ordered.cuh - an operator that is commutative but for NaNs, infinities and their like
// SPDX-License-Identifier: MIT
#pragma once
#include "ops.cuh"

template <class O> struct Ordered : O { static constexpr bool commutative = false; };
