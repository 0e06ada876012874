/*
 * group_chain.c - scans of one another's results, queued one after another: none begins before the last is done
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "check.h"

/* One array of words, as each of these has it; or columns, whose length is what their number leaves. */
typedef struct link {
  int64_t length, columns;
  unsigned flags;
  rowscan_regime regime;
} link;

static const link links[] = {
    {0, 128, 0, ROWSCAN_REGIME_AUTO},
    {64, 0, ROWSCAN_REVERSE, ROWSCAN_REGIME_AUTO},
    {0, 0, 0, ROWSCAN_REGIME_LONG},
    {4096, 0, ROWSCAN_EXCLUSIVE, ROWSCAN_REGIME_ROW},
    {0, 2, 0, ROWSCAN_REGIME_AUTO},
    {1024, 0, 0, ROWSCAN_REGIME_AUTO},
    {4096, 0, 0, ROWSCAN_REGIME_LONG},
    {0, 64, ROWSCAN_REVERSE, ROWSCAN_REGIME_AUTO},
    {1024, 0, ROWSCAN_REVERSE, ROWSCAN_REGIME_AUTO},
    {0, 1024, 0, ROWSCAN_REGIME_AUTO},
};
enum { LINKS = sizeof links / sizeof *links, QUICK_LINKS = 6, STEPS = 60, ROUNDS = 5, ARRAYS = 2 };

typedef struct chain {
  int64_t count; /* words of an array */
  int links;     /* that it has */
  suite_plans plans[LINKS];
  uint32_t *first, *now, *host[ARRAYS]; /* host: what each array must hold in the end */
  uint32_t *device[ARRAYS];
  void *other; /* memory that has nothing to do with it, and is filled in between */
  bool ready;
} chain;

static size_t bytes_of(const chain *c) {
  return (size_t)c->count * sizeof *c->first;
}

static rowscan_spec spec_of(const chain *c, const link *l) {
  rowscan_spec spec = {
      .size = sizeof spec, .in_type = ROWSCAN_U32, .out_type = ROWSCAN_U32, .flags = l->flags, .regime = l->regime};
  spec.layout = l->columns ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
  spec.length = l->columns ? c->count / l->columns : l->length ? l->length : c->count;
  return spec;
}

enum { OTHER_BYTES = 4096 };

/* From one array to the other, and now and then in place. */
static bool run_step(const chain *c, int step, bool gpu, device_stream stream) {
  int which = step * 7 % c->links, from = step % 2, to = step % 5 == 0 ? from : 1 - from;
  const suite_plans *plans = &c->plans[which];
  int64_t shape[2] = {1, links[which].columns};
  rowscan_args args = {.size = sizeof args, .rows = c->count / plans->spec.length};
  if (links[which].columns)
    args.row_shape = shape;
  args.input = gpu ? c->device[from] : c->host[from];
  args.output = gpu ? c->device[to] : c->host[to];
  if (gpu && step % 8 == 5)
    device_fill(c->other, 0, OTHER_BYTES, stream);
  return suite_ok(rowscan_plan_run(gpu ? plans->gpu : plans->host, &args, stream), "a step of a chain");
}

static bool run_steps(const chain *c, bool gpu, device_stream stream) {
  bool good = true;
  for (int step = 0; step < STEPS && good; step++)
    good = run_step(c, step, gpu, stream);
  return good;
}

static void open_chain(chain *c, int64_t count) {
  random_source random = random_for(suite.seed, 20, 0);
  *c = (chain){.count = count, .links = suite.quick ? QUICK_LINKS : LINKS, .ready = true};
  c->first = malloc(bytes_of(c));
  c->now = malloc(bytes_of(c));
  for (int64_t i = 0; i < count; i++)
    c->first[i] = (uint32_t)random_bits(&random);
  for (int a = 0; a < ARRAYS; a++) {
    c->host[a] = malloc(bytes_of(c));
    memcpy(c->host[a], c->first, bytes_of(c));
    c->device[a] = device_alloc(bytes_of(c));
  }
  c->other = device_alloc(OTHER_BYTES);
  for (int i = 0; i < c->links; i++) {
    rowscan_spec spec = spec_of(c, &links[i]);
    c->ready = suite_plan(&c->plans[i], &spec) && c->ready;
  }
  c->ready = c->ready && run_steps(c, false, NULL);
}

static void close_chain(chain *c) {
  for (int i = 0; i < c->links; i++)
    suite_plan_free(&c->plans[i]);
  for (int a = 0; a < ARRAYS; a++) {
    device_free(c->device[a]);
    free(c->host[a]);
  }
  device_free(c->other);
  free(c->first);
  free(c->now);
}

static void reset(const chain *c, device_stream stream) {
  for (int a = 0; a < ARRAYS; a++)
    device_upload(c->device[a], c->first, bytes_of(c), stream);
}

static void verify(const chain *c, device_stream stream, const char *what) {
  for (int a = 0; a < ARRAYS; a++) {
    device_download(c->now, c->device[a], bytes_of(c), stream);
    device_wait(stream);
    int64_t at = 0;
    while (at < c->count && c->now[at] == c->host[a][at])
      at++;
    if (at == c->count)
      suite_pass();
    else
      suite_fail("%s, array %d: word %lld is 0x%x, not 0x%x", what, a, (long long)at, c->now[at], c->host[a][at]);
  }
}

static void check_stream(const chain *c, device_stream stream, const char *what) {
  for (int i = 0; i < (suite.quick ? 1 : ROUNDS); i++) {
    reset(c, stream);
    if (run_steps(c, true, stream))
      verify(c, stream, what);
  }
}

static void hand_on(device_stream from, device_stream to) {
  device_event done = device_mark(from);
  device_after(to, done);
  device_event_free(done);
}

/* Two streams that hand the arrays on to each other; ends with the first. */
static bool run_handing(const chain *c, device_stream first, device_stream second) {
  device_stream now = first;
  bool good = true;
  for (int step = 0; step < STEPS && good; step++) {
    device_stream next = step / 3 % 2 ? second : first;
    if (next != now)
      hand_on(now, next);
    now = next;
    good = run_step(c, step, true, now);
  }
  if (now != first)
    hand_on(now, first);
  return good;
}

static void check_handing(const chain *c, device_stream first, device_stream second) {
  reset(c, first);
  if (run_handing(c, first, second))
    verify(c, first, "handed on");
}

static void check_graph(const chain *c, device_stream first, device_stream second, bool handed) {
  device_capture(first);
  bool good = handed ? run_handing(c, first, second) : run_steps(c, true, first);
  device_graph *graph = device_captured(first);
  for (int i = 0; i < (suite.quick ? 1 : ROUNDS) && good; i++) {
    reset(c, first);
    device_launch(graph, first);
    verify(c, first, handed ? "a graph, handed on" : "a graph");
  }
  device_graph_free(graph);
}

/* Where launches can overlap and may, all do; else none. Told by the simulated driver alone. */
static void check_launches(const chain *c, device_stream stream) {
  const char *arch = getenv("SIMT_ARCH"), *version = getenv("SIMT_DRIVER_VERSION"), *pdl = getenv("ROWSCAN_PDL");
  bool can = (!arch || atoi(arch) >= 90) && (!version || atoi(version) >= 12030) && (!pdl || strcasecmp(pdl, "off"));
  long plain = device_calls("cuLaunchKernel"), overlapped = device_calls("cuLaunchKernelEx");
  if (!device_simulated() || !run_steps(c, true, stream))
    return;
  device_wait(stream);
  plain = device_calls("cuLaunchKernel") - plain;
  overlapped = device_calls("cuLaunchKernelEx") - overlapped;
  if ((can ? overlapped : plain) >= STEPS && !(can ? plain : overlapped))
    suite_pass();
  else
    suite_fail("%ld launches that may overlap, %ld that may not", overlapped, plain);
}

void group_chain(void) {
  chain c;
  open_chain(&c, suite.quick ? 1 << 13 : 1 << 21);
  if (c.ready) {
    device_stream first = device_stream_new(), second = device_stream_new();
    check_launches(&c, first);
    check_stream(&c, first, "a stream");
    check_stream(&c, NULL, "the default stream");
    check_handing(&c, first, second);
    check_graph(&c, first, second, false);
    check_graph(&c, first, second, true);
    device_stream_free(first);
    device_stream_free(second);
  }
  close_chain(&c);
}
