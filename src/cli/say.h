/*
 * say.h - what the command tells the user when something goes wrong, and its exit statuses
 * SPDX-License-Identifier: MIT
 */
#ifndef SAY_H
#define SAY_H

#include <stdio.h>

#include "rowscan.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* The subcommand that messages name: "rowscan: scan: ...". NULL for none. */
void say_command(const char *name);

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
int say_story(const char *what, const char *story);

/* Prints why the library's last call failed; `what` is what it was about: a file, an architecture. */
int say_library(const char *what, rowscan_status status);

/* Prints a text to a stream as it stands in messages. */
void say_plain(FILE *file, const char *text);

/* "rowscan: scan: ", for a signal handler, which must not format. */
const char *say_prefix(void);

#endif
