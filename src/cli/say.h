/*
 * say.h - what the command tells: messages and progress on standard error, lines of text on standard output; and its
 * exit statuses
 * SPDX-License-Identifier: MIT
 */
#ifndef SAY_H
#define SAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "rowscan.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* The subcommand that messages name: "rowscan: scan: ...". NULL for none. */
void say_command(const char *name);

/* The rank that prefixes name besides: "rowscan: scan: rank 2: ...". -1, as at first: none. */
void say_rank(int rank);

/*
 * Prints a message; returns EXIT_FAILED, so that a failure is one line: return say_failed("...", ...). Messages are one
 * line that does not control the terminal, whatever names are in it: see base/plain.h.
 */
int say_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a command line that makes no sense; tells where help is and returns EXIT_USAGE. */
int say_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a message that is no failure. */
void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for what the library has to tell, which may be several lines; `what` is what it is about, NULL: nothing. */
int say_message(const char *what, const char *message);

/* Prints why the library's last call failed; `what` is what it was about: a file, an architecture. */
int say_library(const char *what, rowscan_status status);

/*
 * On standard output: a line, whose end is added, or a part of one, as they stand in messages. Names, keys and what
 * drivers and files tell may have any bytes: all but numbers and words of the command's own goes through these, or
 * through json.h.
 */
void say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_part(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What programs read: the very bytes, but where standard output is a terminal; lines: it may have several. */
void say_exactly(const char *text, bool lines);

/*
 * Failures are kept from now on instead of printed, without the prefix; notes are printed as ever. false: no memory.
 * say_kept prints what was kept, here or by another process, with the prefix of that rank.
 */
bool say_keep(void);
const char *say_what_is_kept(void);
void say_keep_no_more(void);
void say_kept(int rank, const char *message);

/* "rowscan: scan: ", for a signal handler, which must not format. */
const char *say_prefix(void);

/* ---- a line on the terminal for a job that takes longer than a second -------------------------------------------- */

bool progress_possible(void);                                /* is stderr a terminal? */
void progress_start(void);                                   /* without it the others do nothing */
void progress_show(void *user, int64_t done, int64_t total); /* in bytes; any thread */
void progress_bar(int64_t done, int64_t total);              /* of things that take about as long as one another */
void progress_writing(void);
void progress_end(void); /* takes the line away, until it is due again; any thread */

#endif
