// fetches.cuh - waits for some of a thread's fetches (device.cuh), while others are on their way
// SPDX-License-Identifier: MIT
//
// tests/simt/fetches.cuh has the same names for a CPU.
#pragma once
#include "device.cuh"

// What the thread has fetched since the group before is a group.
RS_DEVICE void fetch_group() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// As fetch_wait(), of all groups but the last.
RS_DEVICE void fetch_wait_but_last() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}
