// divide.cuh - division by what only the host knows
// SPDX-License-Identifier: MIT
#pragma once
#include "device.cuh"

// n / d for n * d < 2^32, given `by` = 2^32 / d rounded up, 0 for d = 1.
RS_DEVICE int divide(int n, u32 by) {
  return by ? (int)((u64)(u32)n * by >> 32) : n;
}
