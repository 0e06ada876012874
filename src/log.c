/*
 * log.c - where the log of a context goes
 * SPDX-License-Identifier: MIT
 */
#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [ROWSCAN_LOG_WARNING] = "warning", [ROWSCAN_LOG_INFO] = "info", [ROWSCAN_LOG_DEBUG] = "debug"};
enum { LEVELS = sizeof names / sizeof *names };

/* user: points to the name of the last level that is wanted. One call, so that lines of threads don't mix. */
static void print(void *user, rowscan_log_level level, const char *message) {
  const char *const *wanted = user;
  if (level <= wanted - names)
    fprintf(stderr, "rowscan: %s: %s\n", names[level], message);
}

rs_log rs_log_open(void (*call)(void *user, rowscan_log_level level, const char *message), void *user) {
  const char *wanted = call ? NULL : secure_getenv("ROWSCAN_LOG");
  if (!wanted || !*wanted)
    return (rs_log){call, user};
  for (int level = 0; level < LEVELS; level++)
    if (!strcmp(wanted, names[level]))
      return (rs_log){print, (void *)&names[level]};
  fprintf(stderr, "rowscan: ROWSCAN_LOG: '%s' is not one of warning, info, debug\n", wanted);
  return (rs_log){print, (void *)&names[ROWSCAN_LOG_WARNING]};
}
