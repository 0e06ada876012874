// fetches.cuh - what kernels/fetches.cuh has, for a CPU
// SPDX-License-Identifier: MIT
#pragma once
#include "device.cuh"

RS_DEVICE void fetch_group() {
  simt->fetch_group();
}
RS_DEVICE void fetch_wait_but_last() {
  simt->fetch_wait_but_last();
}
