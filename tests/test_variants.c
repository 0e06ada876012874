/*
 * test_variants.c - NVRTC compiles every kind of kernel for every architecture it knows, and none spills
 * SPDX-License-Identifier: MIT
 *
 * Needs no GPU, and skips (77) without NVRTC. A list in which every type, operator, flag, mask and regime stands, and
 * the geometries that need most registers; each for all architectures, on as many threads as there are processors.
 * Besides the list, specs that are drawn, each for an architecture that is drawn too: holes between tuned lengths are
 * where no list looks.
 *
 * The list with all architectures takes a quarter of an hour on two processors, and so a run has one pair of them in
 * RS_PART (default 8; 1: all). Which, and what is drawn, comes of RS_SEED, else of the time, which is told: run after
 * run sees all. RS_DRAWN=n: so many drawn specs. RS_NO_VARIANTS=1: skips, for runs that have nothing to add to one that
 * does not.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "gpu/any_op.h"
#include "quick.h"
#include "spec/spec.h"

#define LENGTH(n, ...)                                                                                                 \
  { .size = sizeof(rowscan_spec), .length = n, __VA_ARGS__ }
#define BOTH (ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE)

/* Of a spec's rows, the most. */
enum { RANKS = 63 };

static const rowscan_spec specs[] = {
    LENGTH(32768, .in_type = ROWSCAN_F32),
    LENGTH(100001, .in_type = ROWSCAN_F32, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(8192, .in_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_MULTIPLY, .mask_type = ROWSCAN_F32),
    LENGTH(16384, .in_type = ROWSCAN_F32, .acc_type = ROWSCAN_F64, .flags = ROWSCAN_EXCLUSIVE),
    LENGTH(8192, .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(4096, .in_type = ROWSCAN_F32, .out_type = ROWSCAN_BF16),
    LENGTH(65536, .in_type = ROWSCAN_BF16, .flags = ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(8192, .in_type = ROWSCAN_BF16, .flags = BOTH, .mask_mode = ROWSCAN_MASK_MULTIPLY, .mask_type = ROWSCAN_BF16),
    LENGTH(32768, .in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(32768, .in_type = ROWSCAN_F16, .op = ROWSCAN_PROD),
    LENGTH(513, .in_type = ROWSCAN_F16, .out_type = ROWSCAN_F32),
    LENGTH(32768, .in_type = ROWSCAN_F64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(4096, .in_type = ROWSCAN_F64, .out_type = ROWSCAN_F16, .op = ROWSCAN_PROD),
    LENGTH(16384, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(32768, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8),
    LENGTH(32768, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I32),
    LENGTH(16384, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_MULTIPLY,
           .mask_type = ROWSCAN_U8),
    LENGTH(2048, .in_type = ROWSCAN_U16, .out_type = ROWSCAN_U16),
    LENGTH(1024, .in_type = ROWSCAN_I16),
    LENGTH(16384, .in_type = ROWSCAN_I32, .mask_mode = ROWSCAN_MASK_SELECT, .mask_type = ROWSCAN_I32),
    LENGTH(8192, .in_type = ROWSCAN_I64, .out_type = ROWSCAN_F32, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(32768, .in_type = ROWSCAN_U64, .op = ROWSCAN_PROD),
    LENGTH(40000, .in_type = ROWSCAN_BOOL),
    LENGTH(7, .in_type = ROWSCAN_U32, .out_type = ROWSCAN_U32),
    LENGTH(300, .in_type = ROWSCAN_BF16, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1, .in_type = ROWSCAN_F64),
    LENGTH(0, .in_type = ROWSCAN_F32),
    LENGTH(100001, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1 << 20, .in_type = ROWSCAN_F32, .acc_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(100001, .in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1 << 26, .in_type = ROWSCAN_F16, .acc_type = ROWSCAN_F64, .flags = BOTH),
    LENGTH(197632, .in_type = ROWSCAN_BOOL),
    LENGTH(3000000000, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8),
    LENGTH(1000001, .in_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH((1 << 24) + 1, .in_type = ROWSCAN_I32, .flags = BOTH),
    LENGTH(1 << 28, .in_type = ROWSCAN_F32, .flags = BOTH),
    LENGTH((1 << 30) + 1, .in_type = ROWSCAN_BOOL, .flags = ROWSCAN_EXCLUSIVE),
    LENGTH(1 << 28, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH((1 << 26) + 1, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH((1 << 30) + 1, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH),
    LENGTH(1000, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1000, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(60, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(8, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(5, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(43664, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(4096, .in_type = ROWSCAN_F32, .row_rank = 5),
    LENGTH(428378, .in_type = ROWSCAN_I64),
    LENGTH(617949, .in_type = ROWSCAN_F32, .row_rank = 3),
    LENGTH(297984, .in_type = ROWSCAN_I8, .flags = ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_MULTIPLY,
           .mask_type = ROWSCAN_I8),
    LENGTH(110622, .in_type = ROWSCAN_I16, .op = ROWSCAN_PROD, .flags = ROWSCAN_REVERSE),
    LENGTH(2626, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_U32, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = 2),
    LENGTH(271, .in_type = ROWSCAN_U32, .out_type = ROWSCAN_U32, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE),
    LENGTH(7, .in_type = ROWSCAN_F16, .layout = ROWSCAN_LAYOUT_COLUMNS, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(2, .in_type = ROWSCAN_F16, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_EXCLUSIVE),
    LENGTH(1, .in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_EXCLUSIVE, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(1200000000, .in_type = ROWSCAN_I16, .out_type = ROWSCAN_I16, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE),
    LENGTH(86, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_U8, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1 << 28, .in_type = ROWSCAN_U64, .op = ROWSCAN_PROD, .flags = ROWSCAN_EXCLUSIVE, .row_rank = 3),
    LENGTH(1 << 28, .in_type = ROWSCAN_U64, .op = ROWSCAN_PROD, .flags = ROWSCAN_EXCLUSIVE, .row_rank = 9),
    LENGTH(1 << 24, .in_type = ROWSCAN_I64, .op = ROWSCAN_PROD, .flags = ROWSCAN_EXCLUSIVE, .row_rank = 4),
    LENGTH(1 << 26, .in_type = ROWSCAN_BF16, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = 5),
    LENGTH(5000001, .in_type = ROWSCAN_I32, .out_type = ROWSCAN_I64, .op = ROWSCAN_PROD, .flags = ROWSCAN_REVERSE,
           .row_rank = 4),
    LENGTH(1040000, .in_type = ROWSCAN_U64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = 3),
    LENGTH(INT64_C(100000000000), .in_type = ROWSCAN_F64, .row_rank = RANKS),
    LENGTH(600, .in_type = ROWSCAN_F32, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = RANKS),
    LENGTH(520, .in_type = ROWSCAN_F16, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_REVERSE, .row_rank = 3),
    LENGTH(4857, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_REVERSE, .row_rank = 5),
    LENGTH(4, .in_type = ROWSCAN_F16, .out_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT, .mask_type = ROWSCAN_F16, .row_rank = RANKS),
    LENGTH(1 << 30, .in_type = ROWSCAN_F64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(INT64_C(6608859136), .in_type = ROWSCAN_F16, .acc_type = ROWSCAN_F64, .op = ROWSCAN_PROD, .flags = BOTH),
    LENGTH(262144, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(INT64_C(1) << 35, .in_type = ROWSCAN_I64, .op = ROWSCAN_PROD, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(INT64_C(1) << 56, .in_type = ROWSCAN_I64, .op = ROWSCAN_PROD, .layout = ROWSCAN_LAYOUT_COLUMNS),
};
enum { SPECS = sizeof specs / sizeof *specs };

static rowscan_context *context;
static int archs[64], count = 64, drawn, part;
static unsigned long long seed;
static atomic_int turn, passed, failed;

/* ---- drawn specs ------------------------------------------------------------------------------------------------- */

/* Of one spec, whoever draws which: splitmix64. */
static int below(uint64_t *state, int n) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (int)((z ^ z >> 31) % (uint64_t)n);
}

/* One in so many times, else 0, which is the default. */
static int seldom(uint64_t *state, int times, int n) {
  return below(state, times) == 0 ? below(state, n) : 0;
}

/* Up to 2^27 in half of all cases, else to 2^57, and no more than there may be; a power of two, a multiple of one, or
 * neither. */
static int64_t draw_length(uint64_t *state) {
  int64_t power = INT64_C(1) << below(state, below(state, 2) ? 27 : 57), length = power;
  for (int64_t bit = power / 2; bit > 0; bit /= 2)
    length += bit * below(state, 2);
  static const int64_t units[] = {1, 1, 16, 32, 256, 4096};
  int64_t unit = units[below(state, 6)];
  length = below(state, 4) == 0 ? power : length > unit ? length / unit * unit : length;
  return length < RS_MAX_LENGTH ? length : RS_MAX_LENGTH;
}

static rowscan_spec draw_any(uint64_t *state) {
  rowscan_spec spec = {.size = sizeof spec, .in_type = (rowscan_type)(1 + below(state, ROWSCAN_BOOL))};
  spec.op = (rowscan_op)below(state, op_count());
  spec.out_type = (rowscan_type)seldom(state, 3, ROWSCAN_BOOL + 1);
  spec.acc_type = below(state, 4) ? ROWSCAN_TYPE_DEFAULT : ROWSCAN_F64;
  spec.flags = (unsigned)below(state, 4);
  spec.mask_mode = (rowscan_mask_mode)seldom(state, 2, (int)rs_mask_mode_values.most + 1);
  if (spec.mask_mode)
    spec.mask_type = (rowscan_type)seldom(state, 2, ROWSCAN_BOOL + 1);
  spec.layout = (rowscan_layout)below(state, (int)rs_layout_values.most + 1);
  spec.row_rank = seldom(state, 2, 8);
  spec.length = draw_length(state);
  return spec;
}

/* Those that are no specs are drawn again. */
static rowscan_spec draw(int number, int *arch) {
  uint64_t state = seed + ((uint64_t)number << 32);
  rowscan_spec spec;
  do
    spec = draw_any(&state);
  while (rowscan_spec_complete(&spec));
  *arch = archs[below(&state, count)];
  return spec;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* NVRTC 11.8 ends the process with SIGSEGV; those before 12.8 know no sm_100. */
static bool is_too_much(const rowscan_spec *spec) {
  return archs[count - 1] < 100 && spec->op == ROWSCAN_PROD && spec->length >= INT64_C(1) << 35;
}

static bool is_compiled(int spec, int arch) {
  uint64_t state = seed + ((uint64_t)spec << 32) + ((uint64_t)arch << 48);
  return !is_too_much(&specs[spec]) && below(&state, part) == 0;
}

static void tell(const rowscan_spec *spec, const char *arch, const char *more) {
  rowscan_spec complete = *spec;
  rs_text line = {0};
  if (rowscan_spec_complete(&complete) == ROWSCAN_OK)
    rs_spec_line(&complete, &line);
  printf("%s, %s: %s\n", line.data ? line.data : "?", arch, more);
  rs_text_free(&line);
}

/*
 * Bytes that a kernel may spill: none, but for rows cut over blocks of 2^30 elements and more with accumulators of 64
 * bits, which are faster so (src/tune.c), and for rows that no GPU has memory for, which need but compile.
 */
static int most_spilled(const rowscan_plan *plan, const rowscan_module_info *info) {
  enum { MOST_LOG = 38, OF_STREAMS = 96 };
  rowscan_spec spec = ROWSCAN_INFO(spec);
  if (rowscan_plan_spec(plan, &spec) != ROWSCAN_OK)
    return 0;
  if (spec.length > (INT64_C(1) << MOST_LOG) / (int64_t)rowscan_type_bytes(spec.in_type))
    return INT_MAX;
  bool far = spec.length >= 1 << 30 && info->regime == ROWSCAN_REGIME_LONG;
  return far && rowscan_type_bytes(spec.acc_type) == 8 ? OF_STREAMS : 0;
}

static void check_module(const rowscan_plan *plan, int index, const rowscan_spec *spec, const char *arch) {
  rowscan_module_info info = ROWSCAN_INFO(rowscan_module_info);
  bool ok =
      rowscan_plan_module(plan, index, &info) == ROWSCAN_OK && info.registers > 0 && info.ptx_bytes && info.cubin_bytes;
  int most = ok ? most_spilled(plan, &info) : 0;
  ok = ok && info.spill_bytes <= most && info.local_bytes <= most;
  char more[256];
  snprintf(more, sizeof more, "%s, %d registers, %d local bytes, %d spilled; %s", rowscan_regime_name(info.regime),
           info.registers, info.local_bytes, info.spill_bytes, info.geometry);
  if (!ok)
    tell(spec, arch, more);
  ok ? passed++ : failed++;
}

static void check_variant(const rowscan_spec *spec, int number) {
  char arch[16];
  snprintf(arch, sizeof arch, "sm_%d", number);
  rowscan_plan *plan;
  if (rowscan_plan_compile(&plan, context, spec, arch)) {
    tell(spec, arch, rowscan_last_error());
    failed++;
    return;
  }
  rowscan_plan_info info = ROWSCAN_INFO(rowscan_plan_info);
  if (rowscan_plan_info_get(plan, &info) || info.modules < 1)
    failed++;
  for (int i = 0; i < info.modules; i++)
    check_module(plan, i, spec, arch);
  rowscan_plan_destroy(plan);
}

static void check_drawn(int number) {
  int arch;
  rowscan_spec spec = draw(number, &arch);
  check_variant(&spec, arch);
}

/* The drawn ones first: each takes long, and so the last ones do not wait for one another. */
static void *work(void *unused) {
  (void)unused;
  for (int i; (i = turn++) < drawn + SPECS * count;) {
    int listed = i - drawn;
    if (i < drawn)
      check_drawn(i);
    else if (is_compiled(listed % SPECS, listed / SPECS))
      check_variant(&specs[listed % SPECS], archs[listed / SPECS]);
  }
  return NULL;
}

/* A number that the environment may have, from `least` on. */
static int number_of(const char *variable, int otherwise, int least) {
  const char *text = getenv(variable);
  int number = text ? atoi(text) : otherwise;
  return number < least ? least : number;
}

static void choose(void) {
  const char *asked = getenv("RS_SEED");
  seed = asked ? strtoull(asked, NULL, 10) : (unsigned long long)time(NULL);
  part = number_of("RS_PART", 8, 1);
  drawn = number_of("RS_DRAWN", 8, 0);
  printf("RS_SEED=%llu RS_PART=%d RS_DRAWN=%d\n", seed, part, drawn);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (is_asked("RS_NO_VARIANTS")) {
    printf("skipped: RS_NO_VARIANTS is set\n");
    return 77;
  }
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_off = 1))) {
    printf("%s\n", rowscan_last_error());
    return 1;
  }
  if (rowscan_archs(context, archs, &count)) {
    printf("skipped: %s\n", rowscan_last_error());
    rowscan_close(context);
    return 77;
  }
  choose();
  pthread_t threads[16];
  long most = sysconf(_SC_NPROCESSORS_ONLN);
  int workers = 0;
  while (workers < most && workers < 16 && !pthread_create(&threads[workers], NULL, work, NULL))
    workers++;
  work(NULL);
  while (workers > 0)
    pthread_join(threads[--workers], NULL);
  rowscan_close(context);
  printf("%d architectures, sm_%d to sm_%d\n%d passed, %d failed\n", count, archs[0], archs[count - 1], passed, failed);
  return failed ? 1 : 0;
}
