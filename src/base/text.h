/*
 * text.h - a string that grows
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TEXT_H
#define RS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Starts as {0}. `data` is NUL-terminated once anything was added. After a failed allocation `failed` stays set. */
typedef struct rs_text {
  char *data;
  size_t length, room;
  bool failed;
} rs_text;

void rs_text_add(rs_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rs_text_append(rs_text *text, const char *bytes, size_t length);

/* Adds the text with a number before each line, as compilers count them. */
void rs_text_numbered(rs_text *text, const char *source);

/* Makes one line of the lines that begin at this length: blanks for ends of lines, and none at the end. */
void rs_text_join(rs_text *text, size_t start);

void rs_text_free(rs_text *text);

#endif
