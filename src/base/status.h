/*
 * status.h - how a failure is told: a status, and its story in this thread's rowscan_last_error()
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_STATUS_H
#define RS_STATUS_H

#include "rowscan.h"

/*
 * Records the story and returns `status`, so that a failure is one line: return rs_fail(ROWSCAN_..., "...", ...). The
 * story is one line that may be shown on a terminal, see base/plain.h.
 */
rowscan_status rs_fail(rowscan_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a story of several lines, such as a compiler's log, or one that is told again. */
rowscan_status rs_fail_lines(rowscan_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds to the story of the call that has just failed with this status, and returns it. */
rowscan_status rs_fail_more(rowscan_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Where a context's log goes. A NULL log, or one without a callback, is silent. */
typedef struct rs_log {
  void (*call)(void *user, rowscan_log_level level, const char *message);
  void *user;
} rs_log;

void rs_log_write(const rs_log *log, rowscan_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
