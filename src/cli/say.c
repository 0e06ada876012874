/*
 * say.c - what the command tells the user when something goes wrong
 * SPDX-License-Identifier: MIT
 */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

static char prefix[64] = "rowscan: ";
static const char *command;

void say_command(const char *name) {
  command = name;
  snprintf(prefix, sizeof prefix, name ? "rowscan: %s: " : "rowscan: ", name);
}

const char *say_prefix(void) {
  return prefix;
}

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list list) {
  flockfile(stderr);
  fputs(prefix, stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  funlockfile(stderr);
}

int say_failed(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say(format, list);
  va_end(list);
  return EXIT_FAILED;
}

int say_usage(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say(format, list);
  va_end(list);
  fprintf(stderr, "Try 'rowscan %s%s--help'.\n", command ? command : "", command ? " " : "");
  return EXIT_USAGE;
}

void say_note(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say(format, list);
  va_end(list);
}

int say_library(const char *what, rowscan_status status) {
  const char *story = rowscan_last_error();
  return say_failed("%s%s%s", what ? what : "", what ? ": " : "", *story ? story : rowscan_status_name(status));
}
