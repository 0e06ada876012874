// index.cuh - the smaller of two types that can count so far
// SPDX-License-Identifier: MIT
#pragma once
#include "device.cuh"

template <bool SMALL> struct IndexFor { using type = i64; };
template <> struct IndexFor<true> { using type = i32; };
