/*
 * progress.c - a line on the terminal for a job that takes longer than a second
 * SPDX-License-Identifier: MIT
 */
#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Guarded by the lock of stderr, so that no warning of another thread comes between. */
static bool running, shown;
static double started, last;

double progress_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool progress_possible(void) {
  return isatty(STDERR_FILENO);
}

void progress_start(void) {
  flockfile(stderr);
  running = true;
  shown = false;
  started = last = progress_seconds();
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
  double now = progress_seconds();
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
  double now = progress_seconds();
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
  if (running && progress_seconds() - started > 1) {
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
