/*
 * calls.h - counts the calls of a library, and makes one of them fail
 * SPDX-License-Identifier: MIT
 *
 * The caller holds the library's lock.
 */
#ifndef SIMT_CALLS_H
#define SIMT_CALLS_H

#include <stdbool.h>

enum { SIMT_MAX_CALLS = 128 };

typedef struct simt_counts {
  const char *variable; /* of the environment, that may ask for a failure */
  bool asked;           /* it has been looked at */
  struct {
    const char *symbol;
    long calls;
  } count[SIMT_MAX_CALLS];
  int symbols;
  char fail_symbol[64]; /* "" for any */
  long fail_in;         /* calls; 0: none */
  int fail_error;
  const char *fired; /* the symbol that failed, or NULL */
} simt_counts;

/* Counts a call; not 0: it shall fail so. The symbol lives as long as the process. */
int simt_counts_enter(simt_counts *counts, const char *symbol);

/* symbol may be NULL in both. */
void simt_counts_fail(simt_counts *counts, const char *symbol, long nth, int error);
long simt_counts_get(const simt_counts *counts, const char *symbol);

#endif
