/*
 * chunks.c - a running sum of samples that come in chunks: the bits of one scan over all of them
 * SPDX-License-Identifier: MIT
 *
 * Two channels of an instrument arrive in chunks of any size. A carry keeps what the next chunk needs, so that memory
 * is for one chunk, and results do not depend on where the chunks end.
 *
 *     cc chunks.c $(pkg-config --cflags --libs rowscan) && ./a.out
 */
#include <rowscan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 2, SAMPLES = 100000, LARGEST_CHUNK = 4096 };

static float samples[CHANNELS][SAMPLES], sums[CHANNELS][SAMPLES], at_once[CHANNELS][SAMPLES];

static void check(rowscan_status status) {
  if (status == ROWSCAN_OK)
    return;
  fprintf(stderr, "%s\n", rowscan_last_error());
  exit(1);
}

/* `count` samples of each channel from `first` on. A chunk that lies alone in memory has no strides. */
static const int64_t strides[] = {SAMPLES, 1};
static rowscan_problem chunk(float (*output)[SAMPLES], int64_t first, const int64_t shape[2]) {
  return (rowscan_problem){.size = sizeof(rowscan_problem),
                           .op = ROWSCAN_SUM,
                           .rank = 2,
                           .dim = 1,
                           .shape = shape,
                           .input = {.data = &samples[0][first], .type = ROWSCAN_F32, .strides = strides},
                           .output = {.data = &output[0][first], .type = ROWSCAN_F32, .strides = strides}};
}

int main(void) {
  for (int c = 0; c < CHANNELS; c++)
    for (int i = 0; i < SAMPLES; i++)
      samples[c][i] = (float)rand() / (float)RAND_MAX - 0.5f;

  rowscan_context *context;
  rowscan_carry *carry;
  check(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST)));
  check(rowscan_carry_create(&carry, context));
  int chunks = 0;
  for (int64_t first = 0, count; first < SAMPLES; first += count, chunks++) {
    count = 1 + rand() % LARGEST_CHUNK;
    count = count < SAMPLES - first ? count : SAMPLES - first;
    rowscan_problem next = chunk(sums, first, (const int64_t[]){CHANNELS, count});
    check(rowscan_carry_scan(carry, &next, NULL));
  }
  rowscan_carry_destroy(carry); /* or rowscan_carry_reset, before the samples of another run */

  rowscan_problem all = chunk(at_once, 0, (const int64_t[]){CHANNELS, SAMPLES});
  check(rowscan_scan(context, &all, NULL));
  rowscan_close(context);
  printf("%d chunks, sums %g and %g, %s\n", chunks, sums[0][SAMPLES - 1], sums[1][SAMPLES - 1],
         memcmp(sums, at_once, sizeof sums) ? "which differ from those of one scan" : "the bits of one scan");
  return memcmp(sums, at_once, sizeof sums) != 0;
}
