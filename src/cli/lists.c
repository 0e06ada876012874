/*
 * lists.c - text files with one thing in a line
 * SPDX-License-Identifier: MIT
 */
#include "lists.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "say.h"

enum { LINE_MAX_BYTES = 4096 };

/* The next line, without its end; *more: there is one. */
static int read_line(const char *name, FILE *file, char line[LINE_MAX_BYTES + 1], int64_t number, bool *more) {
  int length = 0, byte;
  while ((byte = getc(file)) != EOF && byte != '\n') {
    if (!byte)
      return say_failed("%s:%lld: has a zero byte, and is not text", name, (long long)number);
    if (length == LINE_MAX_BYTES)
      return say_failed("%s:%lld: the line exceeds %d bytes", name, (long long)number, LINE_MAX_BYTES);
    line[length++] = (char)byte;
  }
  line[length] = 0;
  *more = length || byte != EOF;
  return EXIT_OK;
}

/* Editors of other systems begin UTF-8 with a byte order mark. */
static char *after_mark(char *line, int64_t number) {
  static const char mark[] = "\xef\xbb\xbf";
  return line + (number == 1 && !strncmp(line, mark, strlen(mark)) ? strlen(mark) : 0);
}

static int read_lines(const char *name, FILE *file, int (*each)(void *user, const char *line, int64_t number),
                      void *user) {
  char line[LINE_MAX_BYTES + 1];
  int result = EXIT_OK;
  bool more = true;
  for (int64_t number = 1; result == EXIT_OK && more; number++) {
    result = read_line(name, file, line, number, &more);
    if (result != EXIT_OK || !more)
      break;
    char *text = after_mark(line, number);
    text[strcspn(text, "#")] = 0;
    if (text[strspn(text, " \t\r\n")])
      result = each(user, text, number);
  }
  if (result == EXIT_OK && !feof(file))
    result = say_failed("%s: cannot be read: %s", name, strerror(errno));
  return result;
}

int list_read(const char **name, int (*each)(void *user, const char *line, int64_t number), void *user) {
  if (!strcmp(*name, "-")) {
    *name = "standard input";
    return read_lines(*name, stdin, each, user);
  }
  if (!**name)
    return say_usage("FILE: '' is not the name of a file");
  FILE *file = fopen(*name, "re");
  if (!file)
    return say_failed("%s: cannot be opened: %s", *name, strerror(errno));
  int result = read_lines(*name, file, each, user);
  fclose(file);
  return result;
}
