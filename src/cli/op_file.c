/*
 * op_file.c - --op-file: an operator whose text is in a file
 * SPDX-License-Identifier: MIT
 */
#include "op_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "say.h"

enum { MOST_BYTES = 1 << 20 };

/* Up to MOST_BYTES, and a NUL. */
static int read_op_text(char *text, const char *name) {
  FILE *file = fopen(name, "re");
  if (!file)
    return say_failed("%s: cannot be opened: %s", name, strerror(errno));
  size_t bytes = fread(text, 1, MOST_BYTES + 1, file);
  int error = ferror(file) ? errno : 0;
  fclose(file);
  if (error)
    return say_failed("%s: cannot be read: %s", name, strerror(error));
  if (bytes > MOST_BYTES)
    return say_failed("%s: exceeds the %d bytes of an operator", name, MOST_BYTES);
  text[bytes] = 0;
  return strlen(text) == bytes ? OPTIONS_READ : say_failed("%s: has a zero byte, and is not text", name);
}

int op_file_read(rowscan_op *op, const char *name) {
  if (!name)
    return OPTIONS_READ;
  if (*op)
    return say_usage("--op-file: '%s' defines the operator, but --op is %s; choose one of the two", name,
                     rowscan_op_name(*op));
  char *text = malloc(MOST_BYTES + 2);
  if (!text)
    return say_failed("%s: out of memory", name);
  int result = read_op_text(text, name);
  if (result == OPTIONS_READ) {
    rowscan_status status = rowscan_op_create(op, ROWSCAN_OPERATOR(.source = text));
    result = status ? say_library(name, status) : OPTIONS_READ;
  }
  free(text);
  return result;
}
