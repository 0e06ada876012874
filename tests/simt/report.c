/*
 * report.c - how the simulated GPU tells of misuse
 * SPDX-License-Identifier: MIT
 */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list list) {
  fflush(stdout);
  fputs("simt: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  fflush(stderr);
}

int simt_misuse(int error, const char *format, ...) {
  va_list list;
  va_start(list, format);
  say(format, list);
  va_end(list);
  if (simt_setting("SIMT_STRICT", 1))
    abort();
  return error;
}

void simt_die(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say(format, list);
  va_end(list);
  abort();
}

long long simt_setting(const char *name, long long otherwise) {
  const char *text = getenv(name);
  if (!text || !*text)
    return otherwise;
  char *end;
  long long value = strtoll(text, &end, 10);
  if (*end == 'k')
    value <<= 10;
  else if (*end == 'm')
    value <<= 20;
  else if (*end == 'g')
    value <<= 30;
  else if (*end)
    simt_die("%s=%s: not a number", name, text);
  return value;
}

const char *simt_flags(void) {
  const char *flags = getenv("SIMT_CXXFLAGS");
  return flags ? flags : "";
}

bool simt_races_wanted(void) {
  return simt_setting("SIMT_RACES", 0) != 0;
}
