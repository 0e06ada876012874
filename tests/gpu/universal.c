/*
 * universal.c - runs by universal kernels, which no context chooses while it waits for others
 * SPDX-License-Identifier: MIT
 */
#include "universal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "family/universal.h"
#include "run/plan.h"

typedef struct universal {
  struct universal *next;
  rs_program program;
} universal;

static universal *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of a forced regime, too: it says nothing of them. */
static bool spec_of(const rowscan_spec *spec, rowscan_spec *own) {
  rowscan_spec free = *spec;
  free.regime = ROWSCAN_REGIME_AUTO;
  return rs_universal_spec(&free, own);
}

bool universal_serves(const rowscan_spec *spec) {
  rowscan_spec own;
  return spec_of(spec, &own);
}

static rs_program *program_of(const rowscan_spec *own) {
  pthread_mutex_lock(&lock);
  universal *one = all;
  while (one && !rs_spec_equal(&one->program.spec, own))
    one = one->next;
  if (!one && (one = malloc(sizeof *one))) {
    rs_gpu *gpu = &suite.gpu->gpu;
    rs_program_open(&one->program, gpu, own, gpu->device.arch, true);
    one->next = all;
    all = one;
  }
  pthread_mutex_unlock(&lock);
  return one ? &one->program : NULL;
}

/* The same rows in more dimensions: of a size 2 * n, n and 2. */
static void split_dimensions(rs_rows *rows) {
  for (int d = 0; d < rows->rank && rows->rank < RS_MAX_ROW_RANK; d++) {
    if (rows->shape[d] <= 2 || rows->shape[d] % 2)
      continue;
    size_t after = (size_t)(rows->rank - d) * sizeof *rows->shape;
    for (int a = 0; a < rs_arrays(rows); a++) {
      int64_t *stride = rows->array[a].stride + d;
      memmove(stride + 1, stride, after);
      *stride *= 2;
    }
    memmove(rows->shape + d + 1, rows->shape + d, after);
    rows->shape[d] /= 2;
    rows->shape[d + 1] = 2;
    rows->rank++;
    d--;
  }
}

bool universal_launch(const rowscan_spec *spec, const rs_rows *rows, device_stream stream) {
  rowscan_spec own;
  rs_rows told;
  rs_terms terms;
  bool same = spec_of(spec, &own);
  int64_t parts = 1;
  for (int64_t part = 0; part < parts && same; part++) {
    parts = rs_universal_rows(&told, &terms, rows, spec, part);
    same = suite_ok(rs_launch(program_of(&own), &told, NULL, 0, stream), "a universal kernel");
  }
  return same;
}

bool universal_queue(const check_run *run, device_stream stream) {
  const rowscan_spec *spec = &run->test->spec;
  enum { HALVED = 3 }; /* one in so many, and those of check_halved in group_cases.c */
  rowscan_args args;
  rs_rows rows;
  check_args(run, &args, false);
  if (!suite_ok(rs_rows_from_args(&rows, spec, &args), "rows"))
    return false;
  if (run->test->seed % HALVED == 0)
    split_dimensions(&rows);
  return universal_launch(spec, &rows, stream);
}

void universal_close(void) {
  while (all) {
    universal *one = all;
    all = one->next;
    rs_program_close(&one->program);
    free(one);
  }
}
