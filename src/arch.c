/*
 * arch.c - what tuning knows of an architecture
 * SPDX-License-Identifier: MIT
 */
#include "arch.h"

/* Source: CUDA C++ Programming Guide, table of technical specifications per compute capability. */
int rs_arch_shared_bytes(int arch) {
  if (arch < 80)
    return 64 * 1024;
  if (arch == 86 || arch == 89 || arch >= 120)
    return 100 * 1024;
  return arch < 90 ? 164 * 1024 : 228 * 1024;
}
