/*
 * bench_time.h - what programs that time calls share
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_TIME_H
#define BENCH_TIME_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rowscan.h"

static inline void must(rowscan_status status) {
  if (!status)
    return;
  printf("%s\n", rowscan_last_error());
  exit(1);
}

/* In milliseconds. */
static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static inline int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Of an odd number of times, which it sorts. */
static inline double median(double *times, int count) {
  qsort(times, (size_t)count, sizeof *times, ascending);
  return times[count / 2];
}

#endif
