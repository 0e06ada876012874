/*
 * host_base.c - the host engine's loops for what every processor has: vectors of 16 bytes, or whatever becomes of them
 * SPDX-License-Identifier: MIT
 */
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "host_target.h"

#define RS_ISA rs_isa_base
#define RS_VECTOR_BYTES 16
#include "host_loops.h"

#if defined(__x86_64__)
/* How many levels there are. Slow in a virtual machine, which traps the instruction that tells. */
static int known(void) {
  unsigned a, b, c = 0, d;
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C))
    return 1;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
             ? 3
             : 2;
}

const rs_isa *rs_isa_at(int level) {
  static const rs_isa *const isas[] = {&rs_isa_base, &rs_isa_avx2, &rs_isa_avx512};
  return level == 0 || level < known() ? isas[level] : NULL;
}
#else
const rs_isa *rs_isa_at(int level) {
  return level < 1 ? &rs_isa_base : NULL;
}
#endif
