/*
 * text.c - a string that grows
 * SPDX-License-Identifier: MIT
 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 256 };

static bool reserve(rs_text *text, size_t more) {
  if (text->failed)
    return false;
  if (text->length + more + 1 > text->room) {
    size_t room = 2 * (text->length + more + 1) + FIRST_ROOM;
    char *data = realloc(text->data, room);
    if (!data) {
      text->failed = true;
      return false;
    }
    text->data = data;
    text->room = room;
  }
  return true;
}

void rs_text_append(rs_text *text, const char *bytes, size_t length) {
  if (!reserve(text, length))
    return;
  memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = 0;
}

/* Into the room that there is, and once more where that was too little. */
void rs_text_add(rs_text *text, const char *format, ...) {
  va_list list, again;
  if (text->failed)
    return;
  va_start(list, format);
  va_copy(again, list);
  size_t room = text->room - text->length;
  int length = vsnprintf(room ? text->data + text->length : NULL, room, format, list);
  if (length < 0)
    text->failed = true;
  else if ((size_t)length < room)
    text->length += (size_t)length;
  else if (reserve(text, (size_t)length)) {
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  }
  if (text->failed && text->data)
    text->data[text->length] = 0;
  va_end(again);
  va_end(list);
}

void rs_text_numbered(rs_text *text, const char *source) {
  static const char directive[] = "#line ";
  for (int line = 1; *source; line++) {
    size_t length = strcspn(source, "\n");
    rs_text_add(text, "%4d  %.*s\n", line, (int)length, source);
    if (!strncmp(source, directive, sizeof directive - 1))
      line = atoi(source + sizeof directive - 1) - 1;
    source += length + (source[length] == '\n');
  }
}

void rs_text_join(rs_text *text, size_t start) {
  if (text->failed || !text->data)
    return;
  for (size_t i = start; i < text->length; i++)
    if (text->data[i] == '\n')
      text->data[i] = ' ';
  if (text->length > start && text->data[text->length - 1] == ' ')
    text->data[--text->length] = 0;
}

void rs_text_free(rs_text *text) {
  free(text->data);
  *text = (rs_text){0};
}
