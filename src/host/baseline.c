/*
 * baseline.c - the host engine's loops for what every processor has: vectors of 16 bytes, or whatever becomes of them
 * SPDX-License-Identifier: MIT
 */
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "target.h"

#define RS_ISA rs_isa_base
#define RS_VECTOR_BYTES 16
#include "loops.h"

#if defined(__x86_64__)
/*
 * How many levels there are: what the processor has, if the system saves the registers. Not __builtin_cpu_supports,
 * which asks the compiler's run-time library, and Zig's says no to everything. Slow in a virtual machine, which traps
 * the instruction that tells.
 */
static int known(void) {
  const unsigned early = bit_OSXSAVE | bit_AVX | bit_F16C | bit_FMA,
                 avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL, ymm = 0x6, zmm = 0xe6;
  unsigned a, b, c, d, saved, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & early) != early)
    return 1;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if ((saved & ymm) != ymm || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2))
    return 1;
  return (saved & zmm) == zmm && (b & avx512) == avx512 ? 3 : 2;
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
