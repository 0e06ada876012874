/*
 * log.c - where the log of a context goes
 * SPDX-License-Identifier: MIT
 */
#include "log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plain.h"
#include "word.h"

static const char *const names[] = {
    [ROWSCAN_LOG_WARNING] = "warning", [ROWSCAN_LOG_INFO] = "info", [ROWSCAN_LOG_DEBUG] = "debug", NULL};

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
  rs_log none = {call, user};
  int level = call ? RS_WORD_UNSET : rs_log_word(&none, "ROWSCAN_LOG", names);
  if (level == RS_WORD_UNSET)
    return none;
  return (rs_log){print, (void *)&names[level == RS_WORD_UNKNOWN ? ROWSCAN_LOG_WARNING : level]};
}

void rs_log_tell(const rs_log *log, const char *format, ...) {
  rs_log to = log->call ? *log : (rs_log){print, (void *)&names[ROWSCAN_LOG_WARNING]};
  char message[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  rs_plain_in_place(message, sizeof message, false);
  rs_log_write(&to, ROWSCAN_LOG_WARNING, "%s", message);
}

int rs_log_word(const rs_log *log, const char *variable, const char *const *words) {
  const char *value = secure_getenv(variable);
  char list[128] = "";
  if (!value || !*value)
    return RS_WORD_UNSET;
  for (int i = 0; words[i]; i++) {
    if (rs_is_word(value, words[i]))
      return i;
    size_t length = strlen(list);
    snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", words[i]);
  }
  rs_log_tell(log, "%s: '%s' is not one of %s", variable, value, list);
  return RS_WORD_UNKNOWN;
}
