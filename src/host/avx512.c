/*
 * avx512.c - the host engine's loops for x86-64 with AVX-512 (F, BW, DQ, VL)
 * SPDX-License-Identifier: MIT
 */
#if defined(__x86_64__)
#include <immintrin.h>

#define RS_TARGET_STRING "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"
#include "target.h"

#define RS_ISA rs_isa_avx512
#define RS_VECTOR_BYTES 64
#define RS_HAVE_F16C
#include "loops.h"

#ifdef __clang__
#pragma clang attribute pop
#endif
#else
typedef int rs_no_avx512; /* a file must declare something */
#endif
