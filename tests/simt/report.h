/*
 * report.h - how the simulated GPU tells of misuse
 * SPDX-License-Identifier: MIT
 */
#ifndef SIMT_REPORT_H
#define SIMT_REPORT_H

#include <stdbool.h>

/*
 * A program that misuses the driver is wrong even if the real one would let it pass: says so on stderr and aborts, so
 * that no test can overlook it. SIMT_STRICT=0: only says so, and returns `error` for the caller to return.
 */
int simt_misuse(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A kernel went wrong, or the simulator itself: says so and aborts. */
void simt_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A number from the environment. Suffixes k, m, g: times 2^10, 2^20, 2^30. */
long long simt_setting(const char *name, long long otherwise);

/* SIMT_CXXFLAGS; "" if it is not set. */
const char *simt_flags(void);

/* Whether SIMT_RACES asks to look for races, which kernels are compiled for. */
bool simt_races_wanted(void);

/* A stream of random numbers: advances *state, which starts anywhere. */
static inline unsigned simt_random(unsigned long long *state) {
  unsigned long long z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (unsigned)(z >> 32);
}

#endif
