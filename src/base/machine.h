/*
 * machine.h - what the library is built for; a build for anything else ends here
 * SPDX-License-Identifier: MIT
 *
 * Elsewhere it would compile, and its results would be wrong without a word: the x87 rounds twice, sizes of 32 bits are
 * cut, and files and accumulators are read as the processor stores them. configure includes this file to say so first.
 */
#ifndef RS_MACHINE_H
#define RS_MACHINE_H

#include <float.h>

#if __SIZEOF_POINTER__ < 8 || __SIZEOF_SIZE_T__ < 8
#error "rowscan needs pointers and sizes of 64 bits"
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "rowscan needs a little-endian processor"
#endif

/* 16: of f32 and f64 the same as 0. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "rowscan needs floating-point arithmetic without excess precision: SSE2, not the x87 (no -mfpmath=387)"
#endif

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__NO_SIGNED_ZEROS__) || __FINITE_MATH_ONLY__ + 0
#error "rowscan needs exact floating-point arithmetic: no -ffast-math, nor a part of it"
#endif

#endif
