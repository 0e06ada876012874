/*
 * calls.c - counts the calls of a library, and makes one of them fail
 * SPDX-License-Identifier: MIT
 */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static void ask_environment(simt_counts *counts) {
  const char *wish = getenv(counts->variable);
  char symbol[64];
  long nth;
  int error;
  counts->asked = true;
  if (!wish || !*wish)
    return;
  if (sscanf(wish, "%63[^:]:%ld:%d", symbol, &nth, &error) != 3)
    simt_die("%s=%s: not symbol:nth:error", counts->variable, wish);
  simt_counts_fail(counts, strcmp(symbol, "*") == 0 ? NULL : symbol, nth, error);
}

static void count_call(simt_counts *counts, const char *symbol) {
  int i = 0;
  while (i < counts->symbols && strcmp(counts->count[i].symbol, symbol) != 0)
    i++;
  if (i == SIMT_MAX_CALLS)
    simt_die("more than %d symbols are called", SIMT_MAX_CALLS);
  if (i == counts->symbols)
    counts->count[counts->symbols++].symbol = symbol;
  counts->count[i].calls++;
}

int simt_counts_enter(simt_counts *counts, const char *symbol) {
  if (!counts->asked)
    ask_environment(counts);
  count_call(counts, symbol);
  bool meant = counts->fail_in && (!*counts->fail_symbol || strcmp(counts->fail_symbol, symbol) == 0);
  if (!meant || --counts->fail_in)
    return 0;
  counts->fired = symbol;
  return counts->fail_error;
}

void simt_counts_fail(simt_counts *counts, const char *symbol, long nth, int error) {
  counts->asked = true;
  snprintf(counts->fail_symbol, sizeof counts->fail_symbol, "%s", symbol ? symbol : "");
  counts->fail_in = nth;
  counts->fail_error = error;
  counts->fired = NULL;
}

long simt_counts_get(const simt_counts *counts, const char *symbol) {
  long calls = 0;
  for (int i = 0; i < counts->symbols; i++)
    if (!symbol || strcmp(counts->count[i].symbol, symbol) == 0)
      calls += counts->count[i].calls;
  return calls;
}
