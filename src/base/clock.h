/*
 * clock.h - a clock that only goes forward
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_CLOCK_H
#define RS_CLOCK_H

#include <time.h>

static inline double rs_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static inline double rs_now_seconds(void) {
  return 1e-3 * rs_now_ms();
}

#endif
