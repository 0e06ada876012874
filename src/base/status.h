/*
 * status.h - what is told: of a failure a status and a message, this thread's rowscan_last_error(); and the log
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_STATUS_H
#define RS_STATUS_H

#include <stdbool.h>

#include "rowscan.h"

/*
 * Records the message and returns `status`, so that a failure is one line: return rs_fail(ROWSCAN_..., "...", ...). The
 * message is one line that may be shown on a terminal, see base/plain.h.
 */
rowscan_status rs_fail(rowscan_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a message of several lines, such as a compiler's log, or one that is told again. */
rowscan_status rs_fail_lines(rowscan_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds to the message of the call that has just failed with this status, and returns it. */
rowscan_status rs_fail_more(rowscan_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* Where a context's log goes. A NULL log, or one without a callback, is silent. */
typedef struct rs_log {
  void (*call)(void *user, rowscan_log_level level, const char *message);
  void *user;
} rs_log;

/* A message of one line, in which an end of a line is told as \x0a; and one that may have several. */
void rs_log_line(const rs_log *log, rowscan_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rs_log_write(const rs_log *log, rowscan_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

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

/* The same for several words with commas or blanks between: a bit for each place. What is none of them is told. */
unsigned rs_log_words(const rs_log *log, const char *variable, const char *const *words);

/* Whether a text is a word, which is in small letters, in whichever case; the same in every locale. */
static inline bool rs_is_word(const char *text, const char *word) {
  for (; *text && *word; text++, word++) {
    char small = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
    if (small != *word)
      return false;
  }
  return *text == *word;
}

#endif
