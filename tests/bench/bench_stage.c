/*
 * bench_stage.c - arrays in memory of the host, over one GPU and over all
 * SPDX-License-Identifier: MIT
 *
 * bench_stage [rows length]. Not a test: make tests/bench/bench_stage, and run it where there is a GPU (exit status 77
 * where there is none). Sums of f32, from one array to another. Prints a CSV: where both arrays are, how many GPUs
 * share the work, the median time of some calls, GB/s of each direction, and how many results have other bits than
 * those of the CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gpu/device.h"
#include "bench_time.h"

enum { REPEAT = 5, MOST_GPUS = 16 };

static int64_t shape[2] = {1 << 16, 1 << 14};
static float *should;

static double scan(rowscan_context *context, float *in, float *out) {
  rowscan_problem problem = {.size = sizeof problem, .rank = 2, .dim = -1, .shape = shape};
  problem.input = (rowscan_input){.data = in, .type = ROWSCAN_F32};
  problem.output = (rowscan_output){.data = out, .type = ROWSCAN_F32};
  double start = now();
  must(rowscan_scan_host(context, &problem));
  return now() - start;
}

static void measure(const char *where, float *in, float *out, int gpus) {
  int devices[MOST_GPUS];
  double times[REPEAT];
  rowscan_context *context;
  int64_t count = shape[0] * shape[1], differ = 0;
  for (int i = 0; i < gpus; i++)
    devices[i] = i;
  must(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .compile = ROWSCAN_COMPILE_NOW,
                                              .devices = devices, .device_count = gpus)));
  memset(out, 0xff, (size_t)count * sizeof *out);
  scan(context, in, out); /* compiles, and pins memory */
  for (int i = 0; i < REPEAT; i++)
    times[i] = scan(context, in, out);
  rowscan_close(context);
  for (int64_t i = 0; i < count; i++)
    differ += out[i] != should[i];
  double ms = median(times, REPEAT);
  printf("%s,%d,%lld,%lld,%.1f,%.1f,%lld\n", where, gpus, (long long)shape[0], (long long)shape[1], ms,
         1e-6 * (double)count * sizeof(float) / ms, (long long)differ);
  fflush(stdout);
}

static void fill(float *in) {
  for (int64_t i = 0; i < shape[0] * shape[1]; i++)
    in[i] = 0.1f * (float)((uint64_t)i * 2654435761u >> 7 & 1023);
}

int main(int argc, char **argv) {
  rowscan_context *host;
  int gpus;
  const char *missing = device_open();
  if (missing) {
    printf("%s\n", missing);
    return 77;
  }
  for (int i = 1; i < argc && i < 3; i++)
    shape[i - 1] = atoll(argv[i]);
  size_t bytes = (size_t)(shape[0] * shape[1]) * sizeof(float);
  float *in = malloc(bytes), *out = malloc(bytes), *pinned_in = device_pinned(bytes),
        *pinned_out = device_pinned(bytes);
  should = malloc(bytes);
  if (!in || !out || !should)
    return 1;
  fill(in);
  fill(pinned_in);
  must(rowscan_open(&host, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST)));
  scan(host, in, should);
  rowscan_close(host);
  must(rowscan_device_count(&gpus));
  printf("memory,gpus,rows,length,ms,gbs,other_bits\n");
  for (int g = 1; g <= gpus && g <= MOST_GPUS; g *= 2) {
    measure("pageable", in, out, g);
    measure("pinned", pinned_in, pinned_out, g);
  }
  free(in);
  free(out);
  free(should);
  device_pinned_free(pinned_in);
  device_pinned_free(pinned_out);
  device_close();
  return 0;
}
