/*
 * group_streams.c - a plan in captured graphs, on streams that stay and that go, and from many threads at once
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "measure/measure.h"

static rowscan_spec spec_of(rowscan_regime regime, int64_t length) {
  rowscan_spec spec = {.size = sizeof spec, .regime = regime, .length = length};
  spec.layout = regime == ROWSCAN_REGIME_COLUMN ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
  return spec;
}

/* A case that every caller gets other elements for. */
static void make_case(test_case *test, const suite_plans *plans, int64_t rows, random_source *random) {
  case_dense(test, &plans->spec, rows, 1, random);
  test->data = DATA_WIDE;
  test->has_totals = true;
}

/* ---- capture ----------------------------------------------------------------------------------------------------- */

enum { CAPTURED = 3, REPLAYS = 3, GRAPHS = 12 };

/* Several runs of one plan, one after the other. */
typedef struct recording {
  test_case test[CAPTURED];
  check_run run[CAPTURED];
  device_stream stream;
  device_graph *graph;
  bool ready;
} recording;

static void record(recording *to, suite_plans *plans, random_source *random) {
  to->ready = true;
  to->stream = device_stream_new();
  for (int i = 0; i < CAPTURED; i++) {
    make_case(&to->test[i], plans, 1 + i, random);
    to->ready = check_prepare(&to->run[i], &to->test[i], plans->host) && to->ready;
  }
  device_capture(to->stream);
  for (int i = 0; i < CAPTURED; i++)
    to->ready = check_queue(&to->run[i], plans->gpu, to->stream) && to->ready;
  to->graph = device_captured(to->stream);
}

static void replay(recording *of) {
  for (int i = 0; i < CAPTURED && of->ready; i++)
    check_reset(&of->run[i], of->stream);
  if (of->ready)
    device_launch(of->graph, of->stream);
}

static void verify(recording *of) {
  for (int i = 0; i < CAPTURED && of->ready; i++)
    check_verify(&of->run[i], of->stream);
}

static void drop(recording *what) {
  device_graph_free(what->graph);
  device_stream_free(what->stream);
  for (int i = 0; i < CAPTURED; i++)
    check_free(&what->run[i]);
}

/*
 * Graphs of one plan, more than it would have whole workspaces for, launched together again and again, and a run that
 * is not captured between them.
 */
static void check_graphs(suite_plans *plans, random_source *random) {
  recording graphs[GRAPHS];
  test_case plain;
  for (int g = 0; g < GRAPHS; g++)
    record(&graphs[g], plans, random);
  make_case(&plain, plans, 2, random);
  for (int i = 0; i < REPLAYS; i++) {
    for (int g = 0; g < GRAPHS; g++)
      replay(&graphs[g]);
    check_case(&plain, plans);
    for (int g = 0; g < GRAPHS; g++)
      verify(&graphs[g]);
  }
  for (int g = 0; g < GRAPHS; g++)
    drop(&graphs[g]);
}

/* The first call of its kind, which makes its plan, under capture: a matrix along one of its dimensions. */
static void check_first_call(int64_t rows, int64_t columns, int dim) {
  random_source random = random_for(suite.seed, 21, (uint64_t)dim);
  rowscan_spec spec = spec_of(dim ? ROWSCAN_REGIME_AUTO : ROWSCAN_REGIME_COLUMN, dim ? columns : rows);
  suite_plans plans;
  test_case test;
  check_run run;
  rowscan_args args;
  int64_t shape[] = {rows, columns};
  if (suite_plan(&plans, &spec)) {
    case_dense(&test, &plans.spec, dim ? rows : 1, dim ? 1 : columns, &random);
    test.has_totals = true;
    device_stream stream = device_stream_new();
    bool ready = check_prepare(&run, &test, plans.host);
    check_args(&run, &args, false);
    device_capture(stream);
    ready = ready && suite_ok(rowscan_scan(suite.gpu,
                                           ROWSCAN_PROBLEM(.rank = 2, .dim = dim, .shape = shape,
                                                           .input = {(void *)args.input, plans.spec.in_type, NULL},
                                                           .output = {args.output, plans.spec.out_type, NULL},
                                                           .totals = {.data = args.totals}),
                                           stream),
                              "rowscan_scan under capture");
    device_graph *graph = device_captured(stream);
    for (int i = 0; i < REPLAYS && ready; i++) {
      check_reset(&run, stream);
      device_launch(graph, stream);
      ready = check_verify(&run, stream);
    }
    device_graph_free(graph);
    device_stream_free(stream);
    check_free(&run);
  }
  suite_plan_free(&plans);
}

enum { BESIDE = 5000 }; /* elements */

/* All that takes memory, modules, streams and events, or gives them back. */
static void *come_and_go(void *argument) {
  suite_plans *plans = argument;
  rowscan_spec rows = {.size = sizeof rows, .length = BESIDE};
  rs_timing timing;
  rowscan_args args = {.size = sizeof args, .rows = 1};
  int64_t shape[] = {BESIDE};
  float *in = calloc(BESIDE, sizeof *in), *out = calloc(BESIDE, sizeof *out);
  device_use();
  suite_ok(rowscan_plan_prepare(plans->gpu, NULL), "rowscan_plan_prepare while others capture");
  rowscan_plan_destroy(plans->gpu);
  plans->gpu = NULL;
  suite_ok(in && out ? rowscan_scan_host(suite.gpu,
                                         ROWSCAN_PROBLEM(.rank = 1, .shape = shape, .input = {in}, .output = {out}))
                     : ROWSCAN_OUT_OF_MEMORY,
           "rowscan_scan_host while others capture");
  suite_ok(rs_measure(suite.gpu, &rows, &args, 1, &timing), "rs_measure while others capture");
  free(in);
  free(out);
  return NULL;
}

/*
 * A capture forbids other threads too what would wait or take memory, unless they said that it has nothing to do with
 * it: their calls fail, and spoil it.
 */
static void check_beside(void) {
  if (device_sanitized()) {
    suite_skip("compute-sanitizer itself spoils a capture beside which modules are unloaded");
    return;
  }
  rowscan_spec spec = spec_of(ROWSCAN_REGIME_LONG, suite.quick ? 1500 : 70001);
  suite_plans plans;
  if (suite_plan(&plans, &spec)) {
    device_stream stream = device_stream_new();
    void *memory = device_alloc(4);
    pthread_t other;
    device_doing("ending a capture beside which plans came and went");
    device_capture(stream);
    device_fill(memory, 0, 4, stream);
    if (pthread_create(&other, NULL, come_and_go, &plans))
      suite_fail("no thread");
    else
      pthread_join(other, NULL);
    device_graph_free(device_captured(stream));
    device_doing("nothing");
    device_free(memory);
    device_stream_free(stream);
  }
  suite_plan_free(&plans);
}

void group_capture(void) {
  check_first_call(2, 50021, 1);
  check_first_call(9973, 5, 0);
  check_beside();
  static const rowscan_regime regimes[] = {ROWSCAN_REGIME_LONG, ROWSCAN_REGIME_ROW, ROWSCAN_REGIME_SHORT,
                                           ROWSCAN_REGIME_COLUMN, ROWSCAN_REGIME_AUTO};
  for (int i = 0; i < (suite.quick ? 2 : 5); i++) {
    random_source random = random_for(suite.seed, 8, (uint64_t)i);
    rowscan_spec spec = spec_of(regimes[i], suite.quick ? 1500 : regimes[i] == ROWSCAN_REGIME_SHORT ? 300 : 70001);
    suite_plans plans;
    if (suite_plan(&plans, &spec))
      check_graphs(&plans, &random);
    suite_plan_free(&plans);
  }
}

/* ---- staying ----------------------------------------------------------------------------------------------------- */

enum { STAYING = 3, STAYS = 40 }; /* streams, of which the plan has homes for some; their runs, which settle them */

/* One more run. Each call of the driver costs it tens of nanoseconds, or hundreds. */
static void check_calls(check_run *run, suite_plans *plans, device_stream stream, long most) {
  check_reset(run, stream);
  long before = device_calls(NULL);
  if (!check_queue(run, plans->gpu, stream))
    return;
  long calls = device_calls(NULL) - before;
  if (calls > most)
    suite_fail("a run took %ld calls of the driver, not %ld", calls, most);
}

/* Streams that run the plan again and again, never waited for, beside others that come, are waited for, and go. */
static void check_staying(suite_plans *plans, random_source *random) {
  test_case tests[STAYING + 1];
  check_run runs[STAYING + 1], *guest = &runs[STAYING];
  device_stream streams[STAYING];
  bool ready = true;
  for (int s = 0; s <= STAYING; s++) {
    make_case(&tests[s], plans, 1 + s, random);
    ready = check_prepare(&runs[s], &tests[s], plans->host) && ready;
  }
  for (int s = 0; s < STAYING; s++)
    streams[s] = device_stream_new();
  for (int i = 0; i < STAYS && ready; i++) {
    for (int s = 0; s < STAYING; s++) {
      check_reset(&runs[s], streams[s]);
      ready = check_queue(&runs[s], plans->gpu, streams[s]) && ready;
    }
    device_stream visit = device_stream_new();
    check_reset(guest, visit);
    if (check_queue(guest, plans->gpu, visit))
      check_verify(guest, visit);
    device_stream_free(visit);
  }
  if (ready) { /* context, capture's state, stream's number, launch; and the event of a workspace that streams share */
    check_calls(&runs[0], plans, streams[0], 4);
    check_calls(&runs[STAYING - 1], plans, streams[STAYING - 1], 5);
  }
  for (int s = 0; s < STAYING && ready; s++)
    check_verify(&runs[s], streams[s]);
  for (int s = 0; s < STAYING; s++)
    device_stream_free(streams[s]);
  for (int s = 0; s <= STAYING; s++)
    check_free(&runs[s]);
}

/* Columns in tiles of all steps, which hand nothing on, ask for no workspace. */
static void check_whole_columns(void) {
  random_source random = random_for(suite.seed, 18, 0);
  rowscan_spec spec = spec_of(ROWSCAN_REGIME_COLUMN, 100);
  suite_plans plans;
  test_case test;
  check_run run;
  if (suite_plan(&plans, &spec)) {
    device_stream stream = device_stream_new();
    case_dense(&test, &plans.spec, 1, 64, &random);
    suite_ok(rowscan_plan_prepare(plans.gpu, NULL), "rowscan_plan_prepare");
    if (check_prepare(&run, &test, plans.host)) {
      check_calls(&run, &plans, stream, 2);
      check_verify(&run, stream);
    }
    device_stream_free(stream);
    check_free(&run);
  }
  suite_plan_free(&plans);
}

void group_stay(void) {
  check_whole_columns();
  static const rowscan_regime regimes[] = {ROWSCAN_REGIME_LONG, ROWSCAN_REGIME_COLUMN};
  for (int i = 0; i < (suite.quick ? 1 : 2); i++) {
    random_source random = random_for(suite.seed, 17, (uint64_t)i);
    rowscan_spec spec = spec_of(regimes[i], suite.quick ? 1500 : 300007);
    suite_plans plans;
    if (suite_plan(&plans, &spec))
      check_staying(&plans, &random);
    suite_plan_free(&plans);
  }
}

/* ---- going ------------------------------------------------------------------------------------------------------- */

enum { GOING = 8, GENERATIONS = 20, SHARED = 4 }; /* streams at a time; workspaces of a plan that they share */
enum { HELD_BACK = 1 << 28, HOLDS = 16 };         /* bytes that are filled, and how often, before any of them goes on */

/*
 * Streams that run the plan once and are destroyed before they got to it: a later one may have the handle, and must
 * wait all the same. All get there at once.
 */
static void queue_generation(check_run *runs, suite_plans *plans, device_stream first, void *scratch, size_t bytes) {
  for (int s = 0; s < GOING; s++)
    check_reset(&runs[s], first);
  for (int i = 0; i < HOLDS; i++)
    device_fill(scratch, 0, bytes, first);
  device_event start = device_mark(first);
  for (int s = 0; s < GOING; s++) {
    device_stream stream = device_stream_new();
    device_after(stream, start);
    (void)check_queue(&runs[s], plans->gpu, stream);
    device_stream_free(stream);
  }
  device_event_free(start);
}

static void check_going(suite_plans *plans, random_source *random) {
  test_case tests[GOING];
  check_run runs[GOING];
  int generations = suite.quick ? 5 : GENERATIONS;
  size_t bytes = suite.quick ? 4096 : HELD_BACK;
  void *scratch = device_alloc(bytes);
  device_stream first = device_stream_new();
  bool ready = true;
  for (int s = 0; s < GOING; s++) {
    make_case(&tests[s], plans, 1 + s % 3, random);
    ready = check_prepare(&runs[s], &tests[s], plans->host) && ready;
  }
  long before = device_calls("cuStreamWaitEvent");
  for (int i = 0; i < generations && ready; i++) {
    queue_generation(runs, plans, first, scratch, bytes);
    device_wait_all();
    for (int s = 0; s < GOING; s++)
      check_verify(&runs[s], first);
  }
  /* Simulated kernels are done one after the other, whatever they share. */
  long waits = device_calls("cuStreamWaitEvent") - before, all = (long)generations * GOING;
  if (ready && device_simulated() && waits < all + all - SHARED)
    suite_fail("%ld runs, each on a new stream: %ld waits for the run before", all, waits - all);
  for (int s = 0; s < GOING; s++)
    check_free(&runs[s]);
  device_stream_free(first);
  device_free(scratch);
}

void group_outlive(void) {
  static const rowscan_regime regimes[] = {ROWSCAN_REGIME_LONG, ROWSCAN_REGIME_COLUMN};
  for (int i = 0; i < (suite.quick ? 1 : 2); i++) {
    random_source random = random_for(suite.seed, 19, (uint64_t)i);
    rowscan_spec spec = spec_of(regimes[i], suite.quick ? 1500 : 300007);
    suite_plans plans;
    if (suite_plan(&plans, &spec))
      check_going(&plans, &random);
    suite_plan_free(&plans);
  }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { MOST_STREAMS = 4, MOST_THREADS = 8 };

typedef struct worker {
  suite_plans *plans;
  int number, streams, rounds;
  pthread_t thread;
} worker;

static void run_round(check_run *runs, device_stream *streams, int count, rowscan_plan *plan) {
  bool queued[MOST_STREAMS];
  for (int s = 0; s < count; s++) {
    check_reset(&runs[s], streams[s]);
    queued[s] = check_queue(&runs[s], plan, streams[s]);
  }
  for (int s = 0; s < count; s++)
    if (queued[s])
      check_verify(&runs[s], streams[s]);
}

static void *work(void *argument) {
  worker *me = argument;
  random_source random = random_for(suite.seed, 9, (uint64_t)me->number);
  test_case tests[MOST_STREAMS];
  check_run runs[MOST_STREAMS];
  device_stream streams[MOST_STREAMS];
  bool ready = true;
  device_use();
  for (int s = 0; s < me->streams; s++) {
    streams[s] = device_stream_new();
    make_case(&tests[s], me->plans, 1 + (me->number + s) % 5, &random);
    ready = check_prepare(&runs[s], &tests[s], me->plans->host) && ready;
  }
  for (int i = 0; i < me->rounds && ready; i++)
    run_round(runs, streams, me->streams, me->plans->gpu);
  for (int s = 0; s < me->streams; s++) {
    check_free(&runs[s]);
    device_stream_free(streams[s]);
  }
  return NULL;
}

static void check_threads(suite_plans *plans) {
  int count = suite.quick ? 3 : MOST_THREADS;
  worker workers[MOST_THREADS];
  for (int i = 0; i < count; i++) {
    workers[i] = (worker){plans, i, suite.quick ? 2 : MOST_STREAMS, suite.quick ? 2 : 10, 0};
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
      abort();
  }
  for (int i = 0; i < count; i++)
    pthread_join(workers[i].thread, NULL);
}

/* More streams than the plan has workspaces. */
void group_threads(void) {
  static const rowscan_regime regimes[] = {ROWSCAN_REGIME_LONG, ROWSCAN_REGIME_COLUMN, ROWSCAN_REGIME_AUTO,
                                           ROWSCAN_REGIME_ROW};
  for (int i = 0; i < (suite.quick ? 2 : 4); i++) {
    rowscan_spec spec = spec_of(regimes[i], suite.quick ? 1500 : 100003);
    suite_plans plans;
    if (suite_plan(&plans, &spec))
      check_threads(&plans);
    suite_plan_free(&plans);
  }
}
