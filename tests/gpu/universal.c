/*
 * universal.c - runs by universal kernels, which no context chooses while it waits for others
 * SPDX-License-Identifier: MIT
 */
#include "universal.h"

#include <pthread.h>
#include <stdlib.h>

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

bool universal_queue(const check_run *run, device_stream stream) {
  const rowscan_spec *spec = &run->test->spec;
  rowscan_args args;
  rowscan_spec own;
  rs_rows rows, told;
  rs_terms terms;
  check_args(run, &args, false);
  if (!spec_of(spec, &own) || !suite_ok(rs_rows_from_args(&rows, spec, &args), "rows"))
    return false;
  rs_universal_rows(&told, &terms, &rows, spec);
  return suite_ok(rs_launch(program_of(&own), &told, NULL, 0, stream), "a universal kernel");
}

void universal_close(void) {
  while (all) {
    universal *one = all;
    all = one->next;
    rs_program_close(&one->program);
    free(one);
  }
}
