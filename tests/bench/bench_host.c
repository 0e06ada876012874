/*
 * bench_host.c - how fast the host engine is, beside memcpy of the same bytes in one thread
 * SPDX-License-Identifier: MIT
 *
 * bench_host [threads [level [case [elements]]]]: all threads (0), the best instruction set (-1) and all cases (-1) by
 * default; `elements` makes the cases smaller, to see what the loops could do if memory were faster. Each time is the
 * least of several, scan and copy in turn. What is timed is checked: the total of each row of ones.
 *
 * bench_host --cells | --offsets | --threads [--csv] [--only CELL] [--seconds S]: beside a plain loop, over outputs at
 * 16 places of a page, and two threads beside one (bench_cells.c). Any of the three, in this order.
 *
 * bench_host --calls: what calls of small arrays cost, in ns. Instructions of 50000 calls of each length, for every
 * function: valgrind --tool=callgrind tests/bench/bench_host --calls, and callgrind_annotate --inclusive=yes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_cells.h"
#include "host/host.h"
#include "host/isa.h"

typedef struct shape {
  const char *what;
  int64_t outer, length, inner;
  rowscan_type in, out;
  unsigned flags;
  rowscan_mask_mode mask;
} shape;

#define F16 ROWSCAN_F16
#define BF16 ROWSCAN_BF16
#define F32 ROWSCAN_F32
#define F64 ROWSCAN_F64
#define I32 ROWSCAN_I32
#define I64 ROWSCAN_I64

static const shape shapes[] = {
    {"rows", 4096, 65536, 1, F32, F32, 0, 0},
    {"rows", 4096, 32768, 1, F64, F64, 0, 0},
    {"rows", 4096, 65536, 1, F16, F16, 0, 0},
    {"rows", 4096, 65536, 1, BF16, BF16, 0, 0},
    {"rows", 4096, 65536, 1, BF16, F32, 0, 0},
    {"rows", 4096, 65536, 1, I32, I32, 0, 0},
    {"rows", 4096, 32768, 1, I64, I64, 0, 0},
    {"rows", 4096, 32768, 1, ROWSCAN_U8, I64, 0, 0},
    {"exclusive", 4096, 65536, 1, F32, F32, ROWSCAN_EXCLUSIVE, 0},
    {"reverse", 4096, 65536, 1, F32, F32, ROWSCAN_REVERSE, 0},
    {"masked", 4096, 65536, 1, F32, F32, 0, ROWSCAN_MASK_SELECT},
    {"times mask", 4096, 65536, 1, F32, F32, 0, ROWSCAN_MASK_MULTIPLY},
    {"vocabulary", 1024, 128256, 1, F32, F32, 0, 0},
    {"in cache", 16, 8192, 1, F32, F32, 0, 0},
    {"in cache", 16, 8192, 1, F32, F32, ROWSCAN_EXCLUSIVE, 0},
    {"short", 524288, 512, 1, F32, F32, 0, 0},
    {"short", 2097152, 100, 1, F32, F32, 0, 0},
    {"short", 4194304, 64, 1, F32, F32, 0, 0},
    {"short", 8388608, 32, 1, F32, F32, 0, 0},
    {"short", 33554432, 7, 1, F32, F32, 0, 0},
    {"long", 2, 1 << 27, 1, F32, F32, 0, 0},
    {"long", 1, 1 << 28, 1, F32, F32, 0, 0},
    {"long", 1, 1 << 27, 1, F64, F64, 0, 0},
    {"columns", 1, 65536, 4096, F32, F32, 0, 0},
    {"columns", 1, 16384, 16384, F32, F32, 0, 0},
    {"columns", 64, 4096, 1024, F32, F32, 0, 0},
    {"columns", 1, 32768, 4096, F64, F64, 0, 0},
    {"columns", 1, 65536, 4096, BF16, BF16, 0, 0},
    {"columns", 1, 1 << 22, 64, F32, F32, 0, 0},
    {"columns", 1, 1 << 24, 16, F32, F32, 0, 0},
    {"columns", 1, 1 << 26, 4, F32, F32, 0, 0},
    {"columns", 1 << 20, 32, 8, F32, F32, 0, 0},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ones of any type: the bits of half, bfloat16, float and double 1.0, or of an integer 1. */
static void fill_ones(rowscan_type type, void *memory, int64_t n) {
  static const struct {
    rowscan_type type;
    uint64_t one;
  } ones[] = {{F16, 0x3c00}, {BF16, 0x3f80}, {F32, 0x3f800000}, {F64, 0x3ff0000000000000}};
  uint64_t one = 1;
  size_t bytes = rowscan_type_bytes(type);
  for (int i = 0; i < 4; i++)
    if (ones[i].type == type)
      one = ones[i].one;
  for (int64_t i = 0; i < n; i++)
    memcpy((char *)memory + (size_t)i * bytes, &one, bytes);
}

static bool right_total(rowscan_type acc, const void *totals, int64_t row, int64_t length) {
  switch (acc) {
  case F32:
    return ((const float *)totals)[row] == (float)length;
  case F64:
    return ((const double *)totals)[row] == (double)length;
  case I32:
    return ((const int32_t *)totals)[row] == (int32_t)length;
  default:
    return ((const int64_t *)totals)[row] == length;
  }
}

static rs_rows rows_of(const shape *p) {
  rs_rows rows = {.count = p->outer * p->inner, .rank = 2, .shape = {p->outer, p->inner}};
  rows.array[RS_IN].step = rows.array[RS_OUT].step = rows.array[RS_MASK].step = p->inner;
  rows.array[RS_IN].stride[0] = rows.array[RS_OUT].stride[0] = rows.array[RS_MASK].stride[0] = p->length * p->inner;
  rows.array[RS_IN].stride[1] = rows.array[RS_OUT].stride[1] = rows.array[RS_MASK].stride[1] =
      rows.array[RS_INIT].stride[1] = rows.array[RS_TOTALS].stride[1] = 1;
  rows.array[RS_INIT].stride[0] = rows.array[RS_TOTALS].stride[0] = p->inner;
  return rows;
}

static void measure(rs_host *host, const shape *p) {
  int64_t n = p->outer * p->length * p->inner, count = p->outer * p->inner, wrong = 0;
  rowscan_type acc = p->out == F16 || p->out == BF16 ? F32 : p->out;
  size_t in_bytes = (size_t)n * rowscan_type_bytes(p->in), out_bytes = (size_t)n * rowscan_type_bytes(p->out);
  size_t half = (in_bytes + out_bytes) / 2, room = in_bytes > half ? in_bytes : half;
  char *in = malloc(room), *out = malloc(out_bytes > half ? out_bytes : half), *mask = NULL;
  void *totals = malloc((size_t)count * 8);
  rs_rows rows = rows_of(p);
  rowscan_spec spec = {.in_type = p->in, .out_type = p->out, .acc_type = acc, .length = p->length, .flags = p->flags};
  spec.mask_mode = p->mask;
  spec.mask_type = p->mask ? ROWSCAN_BOOL : ROWSCAN_TYPE_DEFAULT;
  fill_ones(p->in, in, n);
  if (p->mask)
    memset(mask = malloc((size_t)n), 1, (size_t)n);
  rows.array[RS_IN].data = in;
  rows.array[RS_OUT].data = out;
  rows.array[RS_MASK].data = mask;
  rows.array[RS_TOTALS].data = totals;
  rs_host_run(host, &spec, &rows);
  for (int64_t i = 0; i < count; i++)
    wrong += !right_total(acc, totals, i, p->length);
  rows.array[RS_TOTALS].data = NULL;

  double scan = 1e9, copy = 1e9, start = now();
  for (int i = 0; i < 5 || (i < 1000 && now() - start < 0.5); i++) {
    double t = now();
    rs_host_run(host, &spec, &rows);
    double between = now();
    memcpy(out, in, half);
    copy = now() - between < copy ? now() - between : copy;
    scan = between - t < scan ? between - t : scan;
  }
  double bytes = (double)(in_bytes + out_bytes), all = bytes + (double)(p->mask ? n : 0);
  printf("%-10s %9lld x %9lld x %5lld  %4s -> %-4s %8.2f ms %7.2f GB/s  memcpy %7.2f GB/s  ratio %.3f%s\n", p->what,
         (long long)p->outer, (long long)p->length, (long long)p->inner, rowscan_type_name(p->in),
         rowscan_type_name(p->out), scan * 1e3, all / scan * 1e-9, bytes / copy * 1e-9, all / scan / (bytes / copy),
         wrong ? "  WRONG" : "");
  fflush(stdout);
  free(in);
  free(out);
  free(mask);
  free(totals);
}

static shape shrunk(shape p, int64_t elements) {
  while (p.outer > 1 && p.outer * p.length * p.inner > elements)
    p.outer /= 2;
  while (p.length > 1 && p.length * p.inner > elements)
    p.length /= 2;
  return p;
}

/* The least of several times, of so many calls each: of `plan`, or of the problem. */
static double call_ns(rowscan_context *context, const rowscan_problem *problem, rowscan_plan *plan,
                      const rowscan_args *args) {
  enum { TIMES = 50, CALLS = 1000 };
  double least = 1e9;
  for (int time = 0; time < TIMES; time++) {
    double start = now();
    for (int i = 0; i < CALLS; i++)
      if (plan ? rowscan_plan_run(plan, args, NULL) : rowscan_scan_host(context, problem))
        exit(1);
    double ns = 1e9 * (now() - start) / CALLS;
    least = ns < least ? ns : least;
  }
  return least;
}

static int small_calls(void) {
  static const int64_t lengths[] = {1, 16, 64, 256, 1024};
  float in[1024] = {1}, out[1024];
  rowscan_context *context;
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST)))
    return 1;
  for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++) {
    rowscan_problem problem = *ROWSCAN_PROBLEM(.op = ROWSCAN_SUM, .rank = 1, .shape = &lengths[i]);
    rowscan_args args = *ROWSCAN_ARGS(.input = in, .output = out, .rows = 1);
    rowscan_plan *plan;
    problem.input.data = in;
    problem.output.data = out;
    if (rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.op = ROWSCAN_SUM, .length = lengths[i])))
      return 1;
    printf("%5lld f32: rowscan_scan_host %6.0f ns, rowscan_plan_run %6.0f ns\n", (long long)lengths[i],
           call_ns(context, &problem, NULL, NULL), call_ns(context, NULL, plan, &args));
    rowscan_plan_destroy(plan);
  }
  rowscan_close(context);
  return 0;
}

/* The tables of bench_cells.c that arguments ask for. */
static int beside_others(int argc, char **argv) {
  bench_options options = {.only = -1, .seconds = 0.5};
  bool cells = false, offsets = false, threads = false;
  for (int i = 1; i < argc; i++) {
    bool more = i + 1 < argc;
    if (!strcmp(argv[i], "--cells"))
      cells = true;
    else if (!strcmp(argv[i], "--offsets"))
      offsets = true;
    else if (!strcmp(argv[i], "--threads"))
      threads = true;
    else if (!strcmp(argv[i], "--csv"))
      options.csv = true;
    else if (!strcmp(argv[i], "--only") && more)
      options.only = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--seconds") && more)
      options.seconds = atof(argv[++i]);
    else
      return fprintf(stderr, "bench_host: %s is not understood\n", argv[i]), 2;
  }
  return (cells ? bench_cells(&options) : 0) | (offsets ? bench_offsets(&options) : 0) |
         (threads ? bench_threads(&options) : 0);
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--calls"))
    return small_calls();
  if (argc > 1 && !strncmp(argv[1], "--", 2))
    return beside_others(argc, argv);
  enum { SHAPES = sizeof shapes / sizeof *shapes };
  int64_t number[5] = {0, 0, -1, -1, INT64_MAX};
  for (int i = 1; i < argc && i < 5; i++)
    number[i] = strtoll(argv[i], NULL, 0);
  if (argc < 3)
    number[2] = -1;
  rs_host *host;
  if (rs_host_open(&host, (int)number[1]))
    return 1;
  const rs_isa *isa = NULL;
  for (int level = 0; rs_isa_at(level); level++)
    if (number[2] < 0 || number[2] == level)
      isa = rs_isa_at(level);
  if (!isa)
    return 1;
  rs_host_force(host, isa, getenv("CACHE_BYTES") ? atoll(getenv("CACHE_BYTES")) : 32 << 20);
  printf("%d threads, %s\n", rs_host_threads(host), isa->name);
  for (int i = 0; i < SHAPES; i++)
    if (number[3] < 0 || number[3] == i) {
      shape p = shrunk(shapes[i], number[4]);
      measure(host, &p);
    }
  rs_host_close(host);
  return 0;
}
