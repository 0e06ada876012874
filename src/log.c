/*
 * log.c - where the log of a context goes
 * SPDX-License-Identifier: MIT
 */
#include "log.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"

static const char *const names[] = {
    [ROWSCAN_LOG_WARNING] = "warning", [ROWSCAN_LOG_INFO] = "info", [ROWSCAN_LOG_DEBUG] = "debug"};
enum { LEVELS = sizeof names / sizeof *names };

/* Was there a standard error when the library was loaded? A file that got its number later is the program's data. */
static bool had_stderr;

__attribute__((constructor)) static void look_for_stderr(void) {
  had_stderr = fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

/* A file that is closed by exec is none that was handed down, nor one that took its place by dup2. */
static bool has_stderr(void) {
  int flags = fcntl(fileno(stderr), F_GETFD);
  return had_stderr && flags >= 0 && !(flags & FD_CLOEXEC);
}

/* user: points to the name of the last level that is wanted. One call, so that lines of threads don't mix. */
static void print(void *user, rowscan_log_level level, const char *message) {
  const char *const *wanted = user;
  if (level <= wanted - names && has_stderr())
    fprintf(stderr, "rowscan: %s: %s\n", names[level], message);
}

rs_log rs_log_open(void (*call)(void *user, rowscan_log_level level, const char *message), void *user) {
  const char *wanted = call ? NULL : secure_getenv("ROWSCAN_LOG");
  if (!wanted || !*wanted)
    return (rs_log){call, user};
  for (int level = 0; level < LEVELS; level++)
    if (!strcmp(wanted, names[level]))
      return (rs_log){print, (void *)&names[level]};
  char plain[256];
  if (has_stderr())
    fprintf(stderr, "rowscan: ROWSCAN_LOG: '%s' is not one of warning, info, debug\n",
            rs_plain(plain, sizeof plain, wanted, false));
  return (rs_log){print, (void *)&names[ROWSCAN_LOG_WARNING]};
}
