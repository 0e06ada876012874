/*
 * bench_cells.c - the host engine beside a plain loop, on shapes that users have
 * SPDX-License-Identifier: MIT
 *
 * Through the public API, one thread, arrays 16 bytes past a page as malloc gives them. Each repetition times the plain
 * loop (compiled with this file), rowscan and memcpy of as many bytes as the output has, in turn, in processor time of
 * this thread; the table has the least of each. Inputs are ones, so that both results must be the same bytes.
 */
#include "bench_cells.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rowscan.h"
#include "spec/half.h"

enum { PAGE = 4096, AS_MALLOC = 16, MOST_CELLS = 128 };

/* ---- plain loops ------------------------------------------------------------------------------------------------- */

/* Strides in elements, in the order outer, length, inner. */
typedef struct layout {
  int64_t shape[3], in[3], out[3];
} layout;

#define SAME(x) (x)
#define TRUTH(x) ((x) != 0)

#define PLAIN(name, in_c, out_c, acc_c, load, save)                                                                    \
  __attribute__((noinline)) static void row_##name(const in_c *x, out_c *y, int64_t n) {                               \
    acc_c sum = 0;                                                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
      sum += (acc_c)load(x[i]);                                                                                        \
      y[i] = (out_c)save(sum);                                                                                         \
    }                                                                                                                  \
  }                                                                                                                    \
  __attribute__((noinline)) static void rows_##name(const in_c *x, out_c *y, int64_t rows, int64_t n) {                \
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {                                                               \
      acc_c sum = 0;                                                                                                   \
      for (int64_t i = 0; i < n; i++) {                                                                                \
        sum += (acc_c)load(x[i]);                                                                                      \
        y[i] = (out_c)save(sum);                                                                                       \
      }                                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  __attribute__((noinline)) static void strided_##name(const in_c *x, int64_t x_step, out_c *y, int64_t y_step,        \
                                                       int64_t n) {                                                    \
    acc_c sum = 0;                                                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
      sum += (acc_c)load(x[i * x_step]);                                                                               \
      y[i * y_step] = (out_c)save(sum);                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  __attribute__((noinline)) static void columns_##name(const in_c *x, out_c *y, int64_t n, int64_t inner) {            \
    for (int64_t c = 0; c < inner; c++)                                                                                \
      y[c] = (out_c)save((acc_c)load(x[c]));                                                                           \
    for (int64_t i = inner; i < n * inner; i++)                                                                        \
      y[i] = (out_c)save((acc_c)load(x[i]) + (acc_c)y[i - inner]);                                                     \
  }                                                                                                                    \
  static void plain_##name(const void *in, void *out, const layout *l) {                                               \
    const int64_t *s = l->shape;                                                                                       \
    bool apart = s[2] == 1 && l->in[1] == 1 && l->out[1] == 1;                                                         \
    if (apart && l->in[0] == s[1] && l->out[0] == s[1]) {                                                              \
      rows_##name(in, out, s[0], s[1]);                                                                                \
      return;                                                                                                          \
    }                                                                                                                  \
    for (int64_t o = 0; o < s[0]; o++) {                                                                               \
      const in_c *x = (const in_c *)in + o * l->in[0];                                                                 \
      out_c *y = (out_c *)out + o * l->out[0];                                                                         \
      if (apart)                                                                                                       \
        row_##name(x, y, s[1]);                                                                                        \
      else if (s[2] > 1)                                                                                               \
        columns_##name(x, y, s[1], s[2]);                                                                              \
      else                                                                                                             \
        strided_##name(x, l->in[1], y, l->out[1], s[1]);                                                               \
    }                                                                                                                  \
  }

PLAIN(f32, float, float, float, SAME, SAME)
PLAIN(f64, double, double, double, SAME, SAME)
PLAIN(i32, int32_t, int32_t, uint32_t, SAME, SAME)
PLAIN(i64, int64_t, int64_t, uint64_t, SAME, SAME)
PLAIN(u8_i64, uint8_t, int64_t, uint64_t, SAME, SAME)
PLAIN(u8_u32, uint8_t, uint32_t, uint32_t, SAME, SAME)
PLAIN(bool_i64, uint8_t, int64_t, uint64_t, TRUTH, SAME)
PLAIN(i32_i64, int32_t, int64_t, uint64_t, SAME, SAME)
PLAIN(f16, uint16_t, uint16_t, float, rs_from_f16, rs_to_f16)
PLAIN(bf16, uint16_t, uint16_t, float, rs_from_bf16, rs_to_bf16)

typedef struct kind {
  rowscan_type in, out;
  void (*plain)(const void *in, void *out, const layout *l);
  uint64_t one; /* of the input */
} kind;

static const kind f32 = {ROWSCAN_F32, ROWSCAN_F32, plain_f32, 0x3f800000};
static const kind f64 = {ROWSCAN_F64, ROWSCAN_F64, plain_f64, 0x3ff0000000000000};
static const kind i32 = {ROWSCAN_I32, ROWSCAN_I32, plain_i32, 1};
static const kind i64 = {ROWSCAN_I64, ROWSCAN_I64, plain_i64, 1};
static const kind u8_i64 = {ROWSCAN_U8, ROWSCAN_I64, plain_u8_i64, 1};
static const kind u8_u32 = {ROWSCAN_U8, ROWSCAN_U32, plain_u8_u32, 1};
static const kind bool_i64 = {ROWSCAN_BOOL, ROWSCAN_I64, plain_bool_i64, 1};
static const kind i32_i64 = {ROWSCAN_I32, ROWSCAN_I64, plain_i32_i64, 1};
static const kind f16 = {ROWSCAN_F16, ROWSCAN_F16, plain_f16, 0x3c00};
static const kind bf16 = {ROWSCAN_BF16, ROWSCAN_BF16, plain_bf16, 0x3f80};

/* ---- cells ------------------------------------------------------------------------------------------------------- */

typedef enum form { DENSE, TRANSPOSED, EVERY_SECOND, PADDED } form;

typedef struct cell {
  int64_t outer, length, inner;
  form form;
  const kind *kinds[6];
} cell;

#define FOUR                                                                                                           \
  { &f32, &f64, &i32, &i64 }

static const cell cells[] = {
    {4096, 4096, 1, DENSE, FOUR},
    {1, 16777216, 1, DENSE, FOUR},
    {128, 128256, 1, DENSE, FOUR},
    {1048576, 16, 1, DENSE, FOUR},
    {4194304, 3, 1, DENSE, FOUR},
    {2097152, 7, 1, DENSE, FOUR},
    {524288, 32, 1, DENSE, FOUR},
    {65536, 64, 1, DENSE, FOUR},
    {65536, 100, 1, DENSE, FOUR},
    {16384, 1000, 1, DENSE, FOUR},
    {1000, 1000, 1, DENSE, FOUR},
    {1, 1000, 1000, DENSE, FOUR},
    {1000, 1000, 1, TRANSPOSED, FOUR},
    {100, 100, 1, DENSE, {&f32}},
    {1, 100, 100, DENSE, {&f32}},
    {1, 65536, 1, DENSE, {&f32}},
    {1, 1000, 1, DENSE, {&f32}},
    {1, 16, 1, DENSE, {&f32}},
    {1, 4096, 4096, DENSE, {&f32, &f64, &i64}},
    {1, 1048576, 16, DENSE, {&f32}},
    {1, 16, 1048576, DENSE, {&f32}},
    {16, 1024, 512, DENSE, {&f32}},
    {4096, 4096, 1, DENSE, {&u8_i64, &u8_u32, &bool_i64, &i32_i64, &f16, &bf16}},
    {4096, 2048, 1, EVERY_SECOND, {&f32, &f64}},
    {4096, 2048, 1, PADDED, {&i32}},
};

static layout layout_of(const cell *c) {
  int64_t pitch = c->length * c->inner;
  layout l = {{c->outer, c->length, c->inner}, {pitch, c->inner, 1}, {pitch, c->inner, 1}};
  switch (c->form) {
  case TRANSPOSED:
    l.in[0] = 1;
    l.in[1] = c->outer;
    break;
  case EVERY_SECOND:
    l.in[0] = 2 * pitch;
    l.in[1] = 2;
    break;
  case PADDED:
    l.in[0] = l.out[0] = pitch + 32;
    break;
  default:
    break;
  }
  return l;
}

static size_t span(const int64_t *shape, const int64_t *stride, rowscan_type type) {
  int64_t last = 0;
  for (int d = 0; d < 3; d++)
    last += (shape[d] - 1) * stride[d];
  return (size_t)(last + 1) * rowscan_type_bytes(type);
}

/* ---- one cell ---------------------------------------------------------------------------------------------------- */

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double wall_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Arrays of one cell, each `offset` bytes past a page. */
typedef struct arrays {
  layout l;
  char *memory[2], *in, *out;
  size_t in_bytes, out_bytes;
} arrays;

static char *allocate(size_t bytes) {
  char *memory = aligned_alloc(PAGE, (bytes + 3 * PAGE) / PAGE * PAGE);
  if (!memory) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(1);
  }
  return memory;
}

static arrays make_arrays(const cell *c, const kind *k) {
  arrays a = {.l = layout_of(c)};
  size_t bytes = rowscan_type_bytes(k->in);
  a.in_bytes = span(a.l.shape, a.l.in, k->in);
  a.out_bytes = span(a.l.shape, a.l.out, k->out);
  /* memcpy reads as much as is written. */
  a.memory[0] = allocate(a.in_bytes > a.out_bytes ? a.in_bytes : a.out_bytes);
  a.memory[1] = allocate(a.out_bytes);
  a.in = a.memory[0] + AS_MALLOC;
  a.out = a.memory[1] + AS_MALLOC;
  for (size_t i = 0; i < a.in_bytes; i += bytes)
    memcpy(a.in + i, &k->one, bytes);
  memset(a.memory[1], 0, a.out_bytes + PAGE + AS_MALLOC);
  return a;
}

static void free_arrays(const arrays *a) {
  free(a->memory[0]);
  free(a->memory[1]);
}

static int scan(rowscan_context *context, const kind *k, const arrays *a, char *out) {
  rowscan_status status =
      rowscan_scan_host(context, ROWSCAN_PROBLEM(.rank = 3, .dim = 1, .shape = a->l.shape,
                                                 .input = {a->in, k->in, a->l.in}, .output = {out, k->out, a->l.out}));
  if (status)
    fprintf(stderr, "%s: %s\n", rowscan_status_name(status), rowscan_last_error());
  return status != ROWSCAN_OK;
}

/* Whether rowscan and the plain loop write the same bytes. */
static int check(rowscan_context *context, const kind *k, const arrays *a) {
  char *should = allocate(a->out_bytes);
  memset(should, 0, a->out_bytes);
  k->plain(a->in, should, &a->l);
  int wrong = scan(context, k, a, a->out) || memcmp(should, a->out, a->out_bytes) != 0;
  free(should);
  return wrong;
}

typedef struct times {
  double plain, scan, copy; /* seconds a call */
} times;

static void keep_least(double *least, double seconds) {
  if (*least == 0 || seconds < *least)
    *least = seconds;
}

typedef enum contender { PLAIN_LOOP, SCAN, COPY, CONTENDERS } contender;

static void run(rowscan_context *context, const kind *k, const arrays *a, contender who) {
  switch (who) {
  case PLAIN_LOOP:
    k->plain(a->in, a->out, &a->l);
    break;
  case SCAN:
    scan(context, k, a, a->out);
    break;
  default:
    memcpy(a->out, a->in, a->out_bytes);
    __asm__ volatile("" : : "r"(a->out) : "memory");
    break;
  }
}

/*
 * Each contender runs once before it is timed, so that it finds the caches as its own kind leaves them: who writes past
 * them would else pay for the lines that the one before has left to be written back.
 */
static times measure(rowscan_context *context, const kind *k, const arrays *a, double seconds) {
  double least[CONTENDERS] = {0};
  int calls = a->out_bytes < 400000 ? (int)(400000 / a->out_bytes) : 1;
  double begin = wall_seconds();
  for (int i = 0; i < 5 || wall_seconds() - begin < seconds; i++)
    for (contender who = PLAIN_LOOP; who < CONTENDERS; who++) {
      run(context, k, a, who);
      double start = cpu_seconds();
      for (int j = 0; j < calls; j++)
        run(context, k, a, who);
      keep_least(&least[who], (cpu_seconds() - start) / calls);
    }
  return (times){least[PLAIN_LOOP], least[SCAN], least[COPY]};
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static const char *form_name(const cell *c) {
  static const char *const names[] = {
      [DENSE] = "", [TRANSPOSED] = "transposed", [EVERY_SECOND] = "every second", [PADDED] = "padded"};
  return c->inner > 1 ? "columns" : names[c->form];
}

static void print_cell(const bench_options *options, const cell *c, const kind *k, times t, int wrong) {
  char shape[64], types[32];
  snprintf(shape, sizeof shape, c->inner > 1 ? "%lld x %lld x %lld" : "%lld x %lld", (long long)c->outer,
           (long long)c->length, (long long)c->inner);
  snprintf(types, sizeof types, k->in == k->out ? "%s" : "%s -> %s", rowscan_type_name(k->in),
           rowscan_type_name(k->out));
  printf(options->csv ? "%s,%s,%s,%.4f,%.4f,%.4f,%.3f,%.3f%s\n"
                      : "%-22s %-12s %-12s %10.4f %10.4f %10.4f %8.2f %8.2f%s\n",
         shape, form_name(c), types, t.scan * 1e3, t.plain * 1e3, t.copy * 1e3, t.plain / t.scan, t.copy / t.scan,
         wrong ? (options->csv ? ",wrong" : "  WRONG") : "");
  fflush(stdout);
}

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static rowscan_context *open_context(int threads) {
  rowscan_context *context;
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = threads))) {
    fprintf(stderr, "%s\n", rowscan_last_error());
    exit(1);
  }
  return context;
}

int bench_cells(const bench_options *options) {
  rowscan_context *context = open_context(1);
  double ratios[MOST_CELLS];
  int count = 0, wrong = 0, number = 0;
  printf(options->csv ? "%s,%s,%s,%s,%s,%s,%s,%s\n" : "%-22s %-12s %-12s %10s %10s %10s %8s %8s\n", "shape", "form",
         "types", "rowscan ms", "plain ms", "memcpy ms", "of plain", "of memcpy");
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
    for (int t = 0; t < 6 && cells[i].kinds[t]; t++, number++) {
      const kind *k = cells[i].kinds[t];
      if (options->only >= 0 && options->only != number)
        continue;
      arrays a = make_arrays(&cells[i], k);
      int bad = check(context, k, &a);
      times least = measure(context, k, &a, options->seconds);
      print_cell(options, &cells[i], k, least, bad);
      ratios[count++] = least.plain / least.scan;
      wrong |= bad;
      free_arrays(&a);
    }
  rowscan_close(context);
  if (!count)
    return 1;
  qsort(ratios, (size_t)count, sizeof *ratios, by_value);
  if (!options->csv)
    printf("%d cells, times as fast as a plain loop: least %.2f, median %.2f, most %.2f\n", count, ratios[0],
           ratios[count / 2], ratios[count - 1]);
  return wrong;
}

/* The same scan with outputs at 16 offsets from a page, in turn. */
int bench_offsets(const bench_options *options) {
  static const int offsets[16] = {0, 8, 16, 24, 32, 48, 64, 80, 96, 256, 1024, 1040, 2048, 2064, 3072, 4080};
  static const cell shapes[] = {{1, 65536, 1, DENSE, {&f32}},   {64, 1024, 1, DENSE, {&f32}},
                                {64, 1000, 1, DENSE, {&f64}},   {4096, 16, 1, DENSE, {&f32}},
                                {1024, 1024, 1, DENSE, {&i64}}, {4096, 4096, 1, DENSE, {&f32}}};
  rowscan_context *context = open_context(1);
  int failed = 0;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const kind *k = shapes[i].kinds[0];
    arrays a = make_arrays(&shapes[i], k);
    double least[16] = {0}, sorted[16], begin = wall_seconds();
    int calls = a.out_bytes < 400000 ? (int)(400000 / a.out_bytes) : 1;
    for (int r = 0; r < 5 || wall_seconds() - begin < 4 * options->seconds; r++)
      for (int o = 0; o < 16; o++) {
        double t = cpu_seconds();
        for (int j = 0; j < calls; j++)
          failed |= scan(context, k, &a, a.memory[1] + offsets[o]);
        keep_least(&least[o], (cpu_seconds() - t) / calls);
      }
    memcpy(sorted, least, sizeof sorted);
    qsort(sorted, 16, sizeof *sorted, by_value);
    printf(options->csv ? "offsets,%lld x %lld,%s,%.3f" : "offsets %7lld x %-7lld %s: slowest / fastest %.3f; ns each:",
           (long long)shapes[i].outer, (long long)shapes[i].length, rowscan_type_name(k->in), sorted[15] / sorted[0]);
    for (int o = 0; o < 16; o++) {
      double ns = least[o] * 1e9 / (double)(shapes[i].outer * shapes[i].length);
      options->csv ? printf(",%.4f", ns) : printf(" %d:%.3f", offsets[o], ns);
    }
    printf("\n");
    fflush(stdout);
    free_arrays(&a);
  }
  rowscan_close(context);
  return failed;
}

/* One thread and two, in turn, by the clock on the wall; medians. */
int bench_threads(const bench_options *options) {
  enum { MOST = 1000 };
  static const cell shapes[] = {{4096, 4096, 1, DENSE, {&f32}},  {1, 16777216, 1, DENSE, {&f32}},
                                {128, 128256, 1, DENSE, {&f32}}, {128, 128256, 1, DENSE, {&f64}},
                                {1, 1 << 18, 1, DENSE, {&f32}},  {1048576, 16, 1, DENSE, {&f32}},
                                {1, 4096, 4096, DENSE, {&f32}}};
  static double seconds[2][MOST];
  rowscan_context *contexts[2] = {open_context(1), open_context(2)};
  int failed = 0;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const kind *k = shapes[i].kinds[0];
    arrays a = make_arrays(&shapes[i], k);
    double begin = wall_seconds();
    int count = 0;
    for (; count < MOST && (count < 7 || wall_seconds() - begin < 2 * options->seconds); count++)
      for (int t = 0; t < 2; t++) {
        double start = wall_seconds();
        failed |= scan(contexts[t], k, &a, a.out);
        seconds[t][count] = wall_seconds() - start;
      }
    for (int t = 0; t < 2; t++)
      qsort(seconds[t], (size_t)count, sizeof **seconds, by_value);
    double one = seconds[0][count / 2], two = seconds[1][count / 2];
    printf(options->csv ? "threads,%lld x %lld x %lld,%s,%.4f,%.4f,%.3f\n"
                        : "threads %7lld x %8lld x %4lld %s: one %8.3f ms, two %8.3f ms, %.2f times\n",
           (long long)shapes[i].outer, (long long)shapes[i].length, (long long)shapes[i].inner,
           rowscan_type_name(k->in), one * 1e3, two * 1e3, one / two);
    fflush(stdout);
    free_arrays(&a);
  }
  rowscan_close(contexts[0]);
  rowscan_close(contexts[1]);
  return failed;
}
