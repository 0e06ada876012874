/*
 * lists.h - text files with one thing in a line, such as the scans of rowscan warm
 * SPDX-License-Identifier: MIT
 */
#ifndef LISTS_H
#define LISTS_H

#include <stdint.h>

/*
 * Reads a file (-: standard input, whose name is *name afterwards), and passes each line that has more than blanks and
 * a comment (#) to `each`, without these and with its number, which may end it by a status. Returns EXIT_OK, that
 * status, or EXIT_FAILED or EXIT_USAGE having said why: it can't be read, is no text, or has a line of over 4096 bytes.
 */
int list_read(const char **name, int (*each)(void *user, const char *line, int64_t number), void *user);

#endif
