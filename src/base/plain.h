/*
 * plain.h - text that may be shown: no character of it controls a terminal
 * SPDX-License-Identifier: MIT
 *
 * Names of files may have any byte but 0 and '/' in them. In messages, what would move a cursor, end a line or switch a
 * terminal's state, and what is no UTF-8, is told as \x and two digits for each byte.
 */
#ifndef RS_PLAIN_H
#define RS_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character at `at`; 0: there is none. */
int rs_utf8_bytes(const char *at);

/*
 * The next character of a text, as it may be shown: goes past it, and returns how many bytes are in `to`. lines: ends
 * of lines and tabs are left as they are. A signal handler may call it.
 */
enum { RS_PLAIN_BYTES = 8 };
size_t rs_plain_next(char to[RS_PLAIN_BYTES], const char **at, bool lines);

/* The whole text, cut where `room` ends; the two are apart. Returns `to`. */
char *rs_plain(char *to, size_t room, const char *from, bool lines);

/* The same where it stands. Without memory for a copy what may not be shown is told as '?'. */
void rs_plain_in_place(char *text, size_t room, bool lines);

#endif
