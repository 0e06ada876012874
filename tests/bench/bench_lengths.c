/*
 * bench_lengths.c - what a program pays for lengths that it has not had: each scanned once, then all again
 * SPDX-License-Identifier: MIT
 *
 * usage: bench_lengths [LENGTHS]; environment: ROWSCAN_COMPILE, ROWSCAN_CACHE_DIR. The first of each kind of scan is
 * told apart, since it may compile or load the kernels that serve all others. Times are of the host: of a call, and of
 * a wait for the GPU after it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../gpu/device.h"
#include "rowscan.h"

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Lengths from `least` to `most`, evenly on a scale of logarithms, none twice where there are so many. */
typedef struct kind {
  const char *name;
  int64_t rows, least, most;
  rowscan_type in, out;
  unsigned flags;
} kind;

static const kind kinds[] = {
    {"exclusive offsets, 1 row of 1 to 512, i32 to i64", 1, 1, 512, ROWSCAN_I32, ROWSCAN_I64, ROWSCAN_EXCLUSIVE},
    {"64 rows of 512 to 8192, f32", 64, 512, 8192, ROWSCAN_F32, ROWSCAN_F32, 0},
    {"1 row of 2^18 to 2^22, f32", 1, 1 << 18, 1 << 22, ROWSCAN_F32, ROWSCAN_F32, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int64_t length_of(const kind *k, int i, int count) {
  double scale = log((double)k->most / (double)k->least) / count;
  int64_t length = (int64_t)((double)k->least * exp(scale * i)) + (k->most < 1024 ? 0 : i % 7);
  return k->most <= 512 ? 1 + (int64_t)(i * 131 % 512) : length;
}

static double scan(rowscan_context *context, const kind *k, int64_t length, void *in, void *out) {
  const int64_t shape[] = {k->rows, length};
  double start = now_ms();
  rowscan_status status = rowscan_scan(context,
                                       ROWSCAN_PROBLEM(.flags = k->flags, .rank = 2, .shape = shape, .dim = 1,
                                                       .input = {in, k->in}, .output = {out, k->out}),
                                       NULL);
  if (status) {
    fprintf(stderr, "%s of %lld: %s\n", k->name, (long long)length, rowscan_last_error());
    exit(EXIT_FAILURE);
  }
  double called = now_ms() - start;
  device_wait(NULL);
  return called;
}

static void measure(rowscan_context *context, const kind *k, int count) {
  void *in = device_alloc((size_t)(k->rows * (k->most + 8)) * 8),
       *out = device_alloc((size_t)(k->rows * (k->most + 8)) * 8);
  double *times = malloc((size_t)count * sizeof *times), first = 0, total[2] = {0}, worst = 0;
  if (!times)
    exit(EXIT_FAILURE);
  for (int again = 0; again < 2; again++) {
    double start = now_ms();
    for (int i = 0; i < count; i++) {
      double time = scan(context, k, length_of(k, i, count), in, out);
      if (!again)
        times[i] = time;
    }
    total[again] = now_ms() - start;
  }
  first = times[0];
  qsort(times + 1, (size_t)count - 1, sizeof *times, ascending);
  worst = times[count - 1];
  printf("%-50s %9.3f %9.3f %9.3f %9.1f %9.1f\n", k->name, first, times[count / 2], worst, total[0], total[1]);
  free(times);
  device_free(in);
  device_free(out);
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 100;
  const char *why = device_open();
  rowscan_context *context;
  if (why || count < 2) {
    fprintf(stderr, "%s\n", why ? why : "usage: bench_lengths [LENGTHS, at least 2]");
    return EXIT_FAILURE;
  }
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA))) {
    fprintf(stderr, "%s\n", rowscan_last_error());
    return EXIT_FAILURE;
  }
  printf("%-50s %9s %9s %9s %9s %9s\n", "milliseconds", "first", "median", "worst", "all", "again");
  for (int i = 0; i < KINDS; i++)
    measure(context, &kinds[i], count);
  rowscan_context_info info = ROWSCAN_INFO(rowscan_context_info);
  if (!rowscan_context_info_get(context, &info))
    printf("runs by kernels for any length %lld, kernels made in the background %lld in %.0f ms\n",
           (long long)info.any_length_runs, (long long)info.background_kernels, info.background_ms);
  rowscan_close(context);
  device_close();
  return EXIT_SUCCESS;
}
