/*
 * say.c - what the command tells the user when something goes wrong
 * SPDX-License-Identifier: MIT
 */
#include "say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/plain.h"

static char prefix[64] = "rowscan: ";
static const char *command;

void say_command(const char *name) {
  command = name;
  snprintf(prefix, sizeof prefix, name ? "rowscan: %s: " : "rowscan: ", name);
}

const char *say_prefix(void) {
  return prefix;
}

static void print(FILE *file, const char *text, bool lines) {
  while (*text) {
    char next[RS_PLAIN_BYTES];
    size_t bytes = rs_plain_next(next, &text, lines);
    fwrite(next, 1, bytes, file);
  }
}

void say_plain(FILE *file, const char *text) {
  print(file, text, false);
}

/* lines: of the story alone. */
static void say(const char *what, const char *story, bool lines) {
  flockfile(stderr);
  fputs(prefix, stderr);
  if (what)
    print(stderr, what, false);
  if (what && story)
    fputs(": ", stderr);
  if (story)
    print(stderr, story, lines);
  fputc('\n', stderr);
  funlockfile(stderr);
}

__attribute__((format(printf, 1, 0))) static void say_formatted(const char *format, va_list list) {
  char *text;
  if (vasprintf(&text, format, list) < 0) {
    say(NULL, "out of memory for a message", false);
    return;
  }
  say(text, NULL, false);
  free(text);
}

int say_failed(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say_formatted(format, list);
  va_end(list);
  return EXIT_FAILED;
}

int say_usage(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say_formatted(format, list);
  va_end(list);
  fprintf(stderr, "Try 'rowscan %s%s--help'.\n", command ? command : "", command ? " " : "");
  return EXIT_USAGE;
}

void say_note(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say_formatted(format, list);
  va_end(list);
}

int say_story(const char *what, const char *story) {
  say(what, story, true);
  return EXIT_FAILED;
}

int say_library(const char *what, rowscan_status status) {
  const char *story = rowscan_last_error();
  return say_story(what, *story ? story : rowscan_status_name(status));
}
