/*
 * group_pieces.c - rows that are few and long, so that warps have pieces of them, by universal kernels
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "universal.h"

/* Pieces of two tiles and more, of which the last one is whole, or cut short, or has one element. */
static const char *const specs[] = {
    "in=f32 length=1200003 exclusive=1",
    "in=bf16 out=f32 mask=select length=2097152 reverse=1",
    "in=f32 mask=heads mask_type=bool length=1050625",
    "op=argmax in=i8 length=1048577",
    "op=linear_recurrence in=f32 acc=f32 length=1572864",
    "op=logsumexp in=f64 length=1100000 reverse=1 exclusive=1",
    "op=logsumexp_gradient in=f32 length=33000 reverse=1",
    "op=linear_recurrence in=f32 acc=f32 length=40000",
    "op=extended_prod in=f32 length=36000",
};

enum { FEW = 50000, MOST_COLUMNS = 40 };

static void check_spec(const char *text, data_kind data, random_source *random) {
  rowscan_spec spec = {.size = sizeof spec};
  rowscan_plan *host = NULL;
  test_case test;
  check_run run;
  device_stream stream = device_stream_new();
  if (suite_ok(rowscan_spec_parse(&spec, text), text) &&
      suite_ok(rowscan_plan_create(&host, suite.host, &spec), "a plan on the host")) {
    int64_t most = spec.length < FEW ? MOST_COLUMNS : 1; /* rows side by side */
    case_dense(&test, &spec, 1 + (int64_t)random_below(random, suite.quick ? 1 : 3), 1 + random_below(random, most),
               random);
    test.data = data;
    if (check_prepare(&run, &test, host)) {
      check_reset(&run, stream);
      if (universal_queue(&run, stream))
        check_verify(&run, stream);
    }
    check_free(&run);
  }
  device_stream_free(stream);
  rowscan_plan_destroy(host);
}

/* ---- threads that share a stream --------------------------------------------------------------------------------- */

enum { THREADS = 2, TIMES = 40 }; /* more than after which a stream keeps its workspace */

typedef struct queueing {
  test_case test;
  rowscan_plan *host;
  check_run run;
  device_stream stream;
  pthread_barrier_t *together;
} queueing;

static bool prepare(queueing *it, int64_t length, random_source *random) {
  rowscan_spec spec = {.size = sizeof spec, .length = length};
  if (!suite_ok(rowscan_spec_complete(&spec), "a spec") ||
      !suite_ok(rowscan_plan_create(&it->host, suite.host, &spec), "a plan on the host"))
    return false;
  case_dense(&it->test, &spec, 1, 1, random);
  return check_prepare(&it->run, &it->test, it->host);
}

static void *queue_one(void *of) {
  queueing *it = of;
  pthread_barrier_wait(it->together);
  universal_queue(&it->run, it->stream);
  return NULL;
}

static void queue_at_once(queueing all[THREADS]) {
  pthread_t thread[THREADS];
  for (int i = 0; i < THREADS; i++)
    check_reset(&all[i].run, all[i].stream);
  for (int i = 0; i < THREADS; i++)
    pthread_create(&thread[i], NULL, queue_one, &all[i]);
  for (int i = 0; i < THREADS; i++)
    pthread_join(thread[i], NULL);
  for (int i = 0; i < THREADS; i++)
    check_verify(&all[i].run, all[i].stream);
}

/* Two launches a run, of two threads: the second launch must find what its own first one left. */
static void check_threads(random_source *random) {
  device_stream stream = device_stream_new();
  pthread_barrier_t together;
  queueing all[THREADS] = {{.host = NULL}};
  bool ready = true;
  pthread_barrier_init(&together, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    all[i].stream = stream;
    all[i].together = &together;
    ready = ready && prepare(&all[i], 20000 + 3000 * i, random);
  }
  for (int time = 0; ready && time < TIMES; time++)
    queue_at_once(all);
  for (int i = 0; i < THREADS; i++) {
    check_free(&all[i].run);
    rowscan_plan_destroy(all[i].host);
  }
  pthread_barrier_destroy(&together);
  device_stream_free(stream);
}

void group_pieces(void) {
  enum { SPECS = sizeof specs / sizeof *specs };
  for (int i = 0; i < SPECS; i++) {
    random_source random = random_for(suite.seed, 47, (uint64_t)i);
    if (!suite.quick || i % 3 == (int)(suite.seed % 3))
      for (data_kind data = DATA_GENTLE; data < DATA_KINDS; data++)
        check_spec(specs[i], data, &random);
  }
  random_source random = random_for(suite.seed, 54, 0);
  check_threads(&random);
}
