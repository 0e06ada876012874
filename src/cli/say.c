/*
 * say.c - what the command tells
 * SPDX-License-Identifier: MIT
 */
#include "say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plain.h"

static char prefix[64] = "rowscan: ";
static const char *command;

/* Where failures go while they are kept, which is memory; NULL: they are printed. */
static FILE *keeper;
static char *kept;
static size_t kept_bytes;

/* rank: -1: there are no others. */
static void set_prefix(int rank) {
  int length = snprintf(prefix, sizeof prefix, command ? "rowscan: %s: " : "rowscan: ", command);
  if (rank >= 0)
    snprintf(prefix + length, sizeof prefix - (size_t)length, "rank %d: ", rank);
}

void say_command(const char *name) {
  command = name;
  set_prefix(-1);
}

void say_rank(int rank) {
  set_prefix(rank);
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

/* The text; NULL: no memory for it. */
__attribute__((format(printf, 1, 0))) static char *formatted(const char *format, va_list list) {
  char *text;
  return vasprintf(&text, format, list) < 0 ? NULL : text;
}

__attribute__((format(printf, 2, 0))) static void print_formatted(const char *end, const char *format, va_list list) {
  char *text = formatted(format, list);
  print(stdout, text ? text : "(out of memory)", false);
  fputs(end, stdout);
  free(text);
}

void say_line(const char *format, ...) {
  va_list list;
  va_start(list, format);
  print_formatted("\n", format, list);
  va_end(list);
}

void say_part(const char *format, ...) {
  va_list list;
  va_start(list, format);
  print_formatted("", format, list);
  va_end(list);
}

void say_exactly(const char *text, bool lines) {
  if (isatty(STDOUT_FILENO))
    print(stdout, text, lines);
  else
    fputs(text, stdout);
}

/* Of failures. */
static FILE *place(void) {
  return keeper ? keeper : stderr;
}

/* lines: of the message alone. */
static void say(FILE *file, const char *what, const char *message, bool lines) {
  flockfile(file);
  if (file == stderr)
    fputs(prefix, file);
  if (what)
    print(file, what, false);
  if (what && message)
    fputs(": ", file);
  if (message)
    print(file, message, lines);
  fputc('\n', file);
  funlockfile(file);
}

__attribute__((format(printf, 2, 0))) static void say_formatted(FILE *file, const char *format, va_list list) {
  char *text = formatted(format, list);
  say(file, text ? text : "out of memory for a message", NULL, false);
  free(text);
}

int say_failed(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say_formatted(place(), format, list);
  va_end(list);
  return EXIT_FAILED;
}

int say_usage(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say_formatted(place(), format, list);
  va_end(list);
  fprintf(place(), "Try 'rowscan %s%s--help'.\n", command ? command : "", command ? " " : "");
  return EXIT_USAGE;
}

void say_note(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say_formatted(stderr, format, list);
  va_end(list);
}

int say_message(const char *what, const char *message) {
  say(place(), what, message, true);
  return EXIT_FAILED;
}

int say_library(const char *what, rowscan_status status) {
  const char *message = rowscan_last_error();
  return say_message(what, *message ? message : rowscan_status_name(status));
}

/* ---- failures that are kept ------------------------------------------------------------------------------------- */

bool say_keep(void) {
  keeper = open_memstream(&kept, &kept_bytes);
  return keeper != NULL;
}

const char *say_what_is_kept(void) {
  return keeper && !fflush(keeper) ? kept : "";
}

void say_keep_no_more(void) {
  if (keeper)
    fclose(keeper);
  free(kept);
  keeper = NULL;
  kept = NULL;
}

void say_kept(int rank, const char *message) {
  flockfile(stderr);
  set_prefix(rank);
  fputs(prefix, stderr);
  fputs(message, stderr);
  funlockfile(stderr);
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

/* Guarded by the lock of stderr, so that no warning of another thread comes between. */
static bool running, shown;
static double started, last;

bool progress_possible(void) {
  return isatty(STDERR_FILENO);
}

void progress_start(void) {
  flockfile(stderr);
  running = true;
  shown = false;
  started = last = rs_now_seconds();
  funlockfile(stderr);
}

/* Not in the first second, and then ten times a second. */
static bool due(double now) {
  if (!running || now - started < 1 || (shown && now - last < 0.1))
    return false;
  last = now;
  shown = true;
  return true;
}

static void show_bytes(int64_t done, int64_t total) {
  double now = rs_now_seconds();
  if (!due(now) || total <= 0 || done <= 0)
    return;
  double rate = (double)done / (now - started);
  fprintf(stderr, "\r%3d%% of %.1f GB, %.2f GB/s, %.0f s left \033[K", (int)(100.0 * (double)done / (double)total),
          1e-9 * (double)total, 1e-9 * rate, (double)(total - done) / rate);
  fflush(stderr);
}

void progress_show(void *user, int64_t done, int64_t total) {
  (void)user;
  flockfile(stderr);
  show_bytes(done, total);
  funlockfile(stderr);
}

static void show_bar(int64_t done, int64_t total) {
  enum { WIDTH = 30 };
  char bar[WIDTH + 1];
  double now = rs_now_seconds();
  if (!due(now) || total <= 0 || done <= 0)
    return;
  int full = (int)(WIDTH * (double)done / (double)total);
  for (int i = 0; i < WIDTH; i++)
    bar[i] = i < full ? '=' : i == full ? '>' : ' ';
  bar[WIDTH] = 0;
  fprintf(stderr, "\r[%s] %lld of %lld, %.0f s left \033[K", bar, (long long)done, (long long)total,
          (now - started) * (double)(total - done) / (double)done);
  fflush(stderr);
}

void progress_bar(int64_t done, int64_t total) {
  flockfile(stderr);
  show_bar(done, total);
  funlockfile(stderr);
}

void progress_writing(void) {
  flockfile(stderr);
  if (running && rs_now_seconds() - started > 1) {
    shown = true;
    fputs("\rwriting to the disk \033[K", stderr);
    fflush(stderr);
  }
  funlockfile(stderr);
}

void progress_end(void) {
  flockfile(stderr);
  if (shown)
    fputs("\r\033[K", stderr);
  shown = false;
  funlockfile(stderr);
}
