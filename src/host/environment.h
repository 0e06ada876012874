/*
 * environment.h - the floating-point environment that scans run in
 * SPDX-License-Identifier: MIT
 *
 * The caller may round otherwise, or flush subnormals; the bits must not depend on it.
 */
#ifndef RS_HOST_ENVIRONMENT_H
#define RS_HOST_ENVIRONMENT_H

#include <fenv.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#if defined(__x86_64__)
typedef unsigned rs_environment; /* all arithmetic is SSE's, whose state alone is fast to read and to write */

enum { RS_DEFAULT_MXCSR = 0x1f80, RS_MXCSR_FLAGS = 0x3f };

static inline void rs_enter_environment(rs_environment *saved) {
  *saved = _mm_getcsr();
  if ((*saved & ~(unsigned)RS_MXCSR_FLAGS) != RS_DEFAULT_MXCSR)
    _mm_setcsr(RS_DEFAULT_MXCSR);
}

static inline void rs_leave_environment(const rs_environment *saved) {
  if (_mm_getcsr() != *saved)
    _mm_setcsr(*saved);
}
#else
typedef fenv_t rs_environment;

static inline void rs_enter_environment(rs_environment *saved) {
  fegetenv(saved);
  fesetenv(FE_DFL_ENV);
}

static inline void rs_leave_environment(const rs_environment *saved) {
  fesetenv(saved);
}
#endif

#endif
