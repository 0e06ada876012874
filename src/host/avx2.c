/*
 * avx2.c - the host engine's loops for x86-64 with AVX2, FMA and F16C
 * SPDX-License-Identifier: MIT
 */
#if defined(__x86_64__)
#include <immintrin.h>

#define RS_TARGET_STRING "avx2,fma,f16c"
#include "target.h"

#define RS_ISA rs_isa_avx2
#define RS_VECTOR_BYTES 32
#define RS_HAVE_F16C
#include "loops.h"

#ifdef __clang__
#pragma clang attribute pop
#endif
#else
typedef int rs_no_avx2; /* a file must declare something */
#endif
