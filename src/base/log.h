/*
 * log.h - where the log of a context goes
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_LOG_H
#define RS_LOG_H

#include "status.h"

/*
 * The program's callback; without one, what $ROWSCAN_LOG (warning, info or debug) asks for goes to standard error. Any
 * other text in it is told there, and asks for warnings. Where number 2 was closed when the library was loaded, or is
 * closed, or is a file that exec would close, there is no standard error, and nothing is written.
 */
rs_log rs_log_open(void (*call)(void *user, rowscan_log_level level, const char *message), void *user);

/* A warning of what a user has written wrong: without a log it goes to standard error. */
void rs_log_tell(const rs_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The place of a variable's word, in whichever case, in a list that ends with NULL. UNSET: it is not set, or empty;
 * UNKNOWN: it is none of these, which is told.
 */
enum { RS_WORD_UNSET = -1, RS_WORD_UNKNOWN = -2 };
int rs_log_word(const rs_log *log, const char *variable, const char *const *words);

#endif
