/*
 * group_cases.c - specs one by one: types, regimes and flags, lengths, views, and all of it at random
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "any_op.h"
#include "check.h"
#include "universal.h"

enum { RUNS = 4, MOST_THREADS = 8 }; /* of a plan: each with other rows, strides, alignments, elements */

static int64_t few(int64_t quick, int64_t otherwise) {
  return suite.quick ? quick : otherwise;
}

/* ---- specs in parallel: most of the time goes into compiling -------------------------------------------------------
 */

typedef struct job {
  rowscan_spec spec;
  random_source random; /* what the runs draw from: the same in whatever order jobs are done */
} job;
typedef void job_runs(suite_plans *plans, random_source *random);

static struct {
  job *job;
  int count, room;
  atomic_int next;
  job_runs *runs; /* what each plan is tried with */
} jobs;

static void add_spec(const rowscan_spec *spec, random_source random) {
  if (jobs.count == jobs.room) {
    jobs.room = 2 * jobs.room + 64;
    jobs.job = realloc(jobs.job, (size_t)jobs.room * sizeof *jobs.job);
    if (!jobs.job)
      abort();
  }
  jobs.job[jobs.count++] = (job){*spec, random};
}

static void random_runs(suite_plans *plans, random_source *random) {
  for (int i = 0; i < RUNS; i++) {
    test_case test;
    case_random(&test, &plans->spec, random, suite.elements);
    check_case(&test, plans);
  }
}

/* False, and no failure, where the lot did not fall on the spec. */
static bool plan_drawn(suite_plans *plans, const rowscan_spec *spec) {
  *plans = (suite_plans){0};
  return suite_draws(spec) && suite_plan(plans, spec);
}

static void check_spec(job *what) {
  suite_plans plans;
  if (plan_drawn(&plans, &what->spec))
    jobs.runs(&plans, &what->random);
  suite_plan_free(&plans);
}

static void *work(void *unused) {
  device_use();
  for (int i = jobs.next++; i < jobs.count; i = jobs.next++)
    check_spec(&jobs.job[i]);
  return unused;
}

static int thread_count(void) {
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : (int)count;
}

static void check_specs_with(job_runs *runs) {
  pthread_t threads[MOST_THREADS];
  int count = thread_count();
  jobs.runs = runs;
  for (int i = 0; i < count; i++)
    if (pthread_create(&threads[i], NULL, work, NULL))
      abort();
  for (int i = 0; i < count; i++)
    pthread_join(threads[i], NULL);
  free(jobs.job);
  jobs.job = NULL;
  jobs.count = jobs.room = jobs.next = 0;
}

static void check_specs(void) {
  check_specs_with(random_runs);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static bool floating(rowscan_type type) {
  return type >= ROWSCAN_F16 && type <= ROWSCAN_F64;
}

static bool is_default(rowscan_type in, rowscan_type out, rowscan_type acc) {
  rowscan_spec spec = {.size = sizeof spec, .in_type = in, .out_type = out};
  return rowscan_spec_complete(&spec) == ROWSCAN_OK && spec.acc_type == acc;
}

static void add_types(rowscan_type in, rowscan_type out, rowscan_type acc, uint64_t number) {
  random_source random = random_for(suite.seed, 1, number);
  rowscan_spec spec = {.size = sizeof spec, .in_type = in, .out_type = out, .acc_type = acc};
  spec.regime = (rowscan_regime)random_below(&random, 5);
  spec.flags = (unsigned)random_below(&random, 4);
  spec.length = few(20, 1000) + random_below(&random, few(100, 4000));
  spec.mask_mode = (rowscan_mask_mode)random_below(&random, 3);
  if (spec.mask_mode)
    spec.mask_type = random_one_in(&random, 2) ? in : ROWSCAN_BOOL;
  op_take(&spec, number);
  spec.layout = (rowscan_layout)random_below(&random, 2);
  add_spec(&spec, random);
}

/* Four bytes are a word in kernels: each type of them, each way round, in each regime; on a quick run in one. */
static void add_bytes(void) {
  static const rowscan_type ins[] = {ROWSCAN_I8, ROWSCAN_U8, ROWSCAN_BOOL};
  for (unsigned number = 0; number < 12; number++)
    for (unsigned turn = 0; turn < (unsigned)few(1, 4); turn++) {
      random_source random = random_for(suite.seed, 22, number << 2 | turn);
      rowscan_spec spec = {
          .size = sizeof spec, .in_type = ins[number % 3], .out_type = number % 3 ? ROWSCAN_U8 : ROWSCAN_I8};
      spec.flags = number / 3;
      spec.regime = (rowscan_regime)(ROWSCAN_REGIME_ROW + (number % 3 + number / 3 + turn) % 4);
      spec.mask_mode = (rowscan_mask_mode)random_below(&random, 3);
      spec.layout = spec.regime == ROWSCAN_REGIME_COLUMN ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
      spec.length = few(1000, 10000) + random_below(&random, few(3000, 40000));
      if (random_one_in(&random, 2))
        spec.length &= ~(int64_t)15;
      add_spec(&spec, random);
    }
}

/* Sums in fixed point, which op_take draws seldom: from each type to each, with each mask, in some of the regimes. */
static void add_fixed(void) {
  static const rowscan_mask_mode masks[] = {ROWSCAN_MASK_NONE,  ROWSCAN_MASK_SELECT, ROWSCAN_MASK_MULTIPLY,
                                            ROWSCAN_MASK_HEADS, ROWSCAN_MASK_TAILS,  ROWSCAN_MASK_KEYS};
  for (unsigned number = 0; number < 16; number++)
    for (unsigned turn = 0; turn < (unsigned)few(1, 6); turn++) {
      random_source random = random_for(suite.seed, 23, number << 3 | turn);
      rowscan_spec spec = {.size = sizeof spec,
                           .in_type = (rowscan_type)(ROWSCAN_F16 + number % 4),
                           .out_type = (rowscan_type)(ROWSCAN_F16 + number / 4)};
      spec.acc_type = ROWSCAN_FIXED(random_below(&random, 63));
      spec.mask_mode = masks[(number + number / 4 + turn) % 6];
      spec.mask_type = spec.mask_mode == ROWSCAN_MASK_MULTIPLY ? spec.in_type : ROWSCAN_TYPE_DEFAULT;
      spec.flags = (unsigned)random_below(&random, 4) | (random_one_in(&random, 4) ? ROWSCAN_OMIT_NAN : 0);
      spec.regime = (rowscan_regime)random_below(&random, 5);
      spec.layout = (rowscan_layout)random_below(&random, 2);
      spec.length = few(20, 1000) + random_below(&random, few(1000, 40000));
      add_spec(&spec, random);
    }
}

/* Every input, output and accumulator that go together; one in some on a quick run. */
void group_types(void) {
  uint64_t number = 0, every = suite.quick ? 12 : 1;
  for (int i = ROWSCAN_F16; i <= ROWSCAN_BOOL; i++)
    for (int o = ROWSCAN_F16; o < ROWSCAN_BOOL; o++)
      for (int wide = 0; wide < 2; wide++) {
        rowscan_type in = (rowscan_type)i, out = (rowscan_type)o, acc = wide ? ROWSCAN_F64 : ROWSCAN_TYPE_DEFAULT;
        if ((floating(in) && !floating(out)) || (wide && (!floating(out) || is_default(in, out, acc))))
          continue;
        if (number % every == suite.seed % every)
          add_types(in, out, acc, number);
        number++;
      }
  add_bytes();
  add_fixed();
  check_specs();
}

/* ---- regimes ----------------------------------------------------------------------------------------------------- */

static void add_regime(rowscan_regime regime, unsigned flags, rowscan_mask_mode mask, rowscan_op op) {
  uint64_t number = (uint64_t)regime << 8 | (uint64_t)op << 6 | (uint64_t)mask << 4 | flags;
  random_source random = random_for(suite.seed, 2, number);
  rowscan_spec spec = {.size = sizeof spec, .op = op, .regime = regime, .flags = flags, .mask_mode = mask};
  spec.in_type = (rowscan_type)(1 + random_below(&random, 13));
  case_random_types(&spec, &random);
  spec.length = case_length((int)random_below(&random, case_lengths(few(1025, 100000))));
  spec.layout =
      regime == ROWSCAN_REGIME_COLUMN || random_one_in(&random, 4) ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
  add_spec(&spec, random);
}

/*
 * Long rows in segments: tiles learn from the element before them whether one begins. Of the tiles of most operators
 * there are as many as one level of kernels/ahead.cuh has, or some more.
 */
static void add_segments(unsigned number) {
  enum { TILE = 8192, LEVEL = 32, MORE = 60000 };
  static const rowscan_op ops[] = {ROWSCAN_SUM, ROWSCAN_MAX, ROWSCAN_SUM, ROWSCAN_LOGSUMEXP};
  random_source random = random_for(suite.seed, 25, number);
  rowscan_spec spec = {.size = sizeof spec, .in_type = ROWSCAN_F32, .regime = ROWSCAN_REGIME_LONG, .flags = number % 4};
  spec.mask_mode = (rowscan_mask_mode)(ROWSCAN_MASK_HEADS + number % 3);
  spec.op = ops[(number / 12 + number % 4) % 4];
  int64_t more = random_one_in(&random, 2) ? random_below(&random, MORE) : -random_below(&random, TILE);
  spec.length = LEVEL * TILE + (random_one_in(&random, 3) ? 0 : more);
  add_spec(&spec, random);
}

/* Every regime with all flags, mask modes and operators; on a quick run the last two in turn. */
void group_regimes(void) {
  for (unsigned regime = 0; regime < 5; regime++)
    for (unsigned flags = 0; flags < 4; flags++)
      for (unsigned mask = 0; mask < 3; mask++)
        for (unsigned op = 0; op < 2; op++)
          if (!suite.quick || ((regime + flags) % 3 == mask && (regime + flags / 2) % 2 == op))
            add_regime((rowscan_regime)regime, flags, (rowscan_mask_mode)mask, (rowscan_op)op);
  for (unsigned number = 0; number < (unsigned)few(12, 48); number++)
    add_segments(number);
  check_specs();
}

/* ---- operators that tests create --------------------------------------------------------------------------------- */

static void add_created(rowscan_op op, rowscan_regime regime, unsigned variant) {
  static const rowscan_mask_mode masks[] = {ROWSCAN_MASK_NONE, ROWSCAN_MASK_SELECT, ROWSCAN_MASK_HEADS,
                                            ROWSCAN_MASK_TAILS};
  uint64_t number = (uint64_t)op << 16 | (uint64_t)regime << 8 | variant;
  random_source random = random_for(suite.seed, 23, number);
  rowscan_spec spec = {.size = sizeof spec, .op = op, .regime = regime, .flags = variant % 4};
  do
    spec.in_type = (rowscan_type)(1 + random_below(&random, 13));
  while (!op_fits(&spec, false));
  spec.length = case_length((int)random_below(&random, case_lengths(few(1025, 100000))));
  spec.layout =
      regime == ROWSCAN_REGIME_COLUMN || random_one_in(&random, 4) ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
  if (!rs_op_has_coefficient(op))
    spec.mask_mode = masks[variant / 4 % 4];
  rowscan_spec complete = spec;
  if (rowscan_spec_complete(&complete) == ROWSCAN_UNSUPPORTED)
    spec.mask_mode = ROWSCAN_MASK_SELECT; /* totals have no room for segments */
  add_spec(&spec, random);
}

/* Each of them in every regime, with all flags and masks; on a quick run these in turn. */
void group_created(void) {
  for (int i = 0; i < op_count(); i++)
    for (unsigned regime = 0; regime < 5 && op_at(i) >= ROWSCAN_FIRST_CREATED && !rs_op_of(op_at(i))->more; regime++)
      for (unsigned turn = 0; turn < (unsigned)few(1, 16); turn++)
        add_created(op_at(i), (rowscan_regime)regime,
                    (unsigned)few((int)(5 * regime + (unsigned)i + suite.seed), (int)turn) % 16);
  check_specs();
}

/* ---- further arrays ---------------------------------------------------------------------------------------------- */

/* Rows of so many tiles that those of operators that compute are larger: of indices that go straight from registers to
 * global memory, and with further arrays, which have room for several vectors of a thread. */
static void add_large_tiles(int number) {
  enum { STRAIGHT, SECOND, MASKED, KINDS, DRAWN = 5000 };
  static const rowscan_type types[] = {ROWSCAN_F32, ROWSCAN_BF16, ROWSCAN_F16, ROWSCAN_I8};
  int kind = number % KINDS;
  random_source random = random_for(suite.seed, 26, (uint64_t)number);
  rowscan_spec spec = {.size = sizeof spec, .regime = ROWSCAN_REGIME_LONG};
  spec.op = kind == MASKED ? ROWSCAN_LINEAR_RECURRENCE : ROWSCAN_ARGMAX;
  spec.in_type = types[random_below(&random, 4)];
  spec.length = (kind == STRAIGHT ? 1 << 21 : 1 << 20) + random_below(&random, DRAWN);
  spec.flags = (unsigned)random_below(&random, 4);
  if (kind == SECOND)
    spec.second_type = spec.in_type;
  if (kind == MASKED) {
    spec.mask_mode = ROWSCAN_MASK_SELECT;
    spec.more_types[0] = spec.in_type;
  }
  add_spec(&spec, random);
}

/* Results of which several in a row are infinite, so that two totals joined the other way round are not the same. */
static void check_infinite(int number) {
  enum { ROWS = 500 };
  random_source random = random_for(suite.seed, 53, (uint64_t)number);
  rowscan_spec spec = {.size = sizeof spec, .op = ROWSCAN_LOGSUMEXP_GRADIENT, .in_type = ROWSCAN_F16, .length = 32};
  suite_plans plans = {0};
  test_case test;
  if (number % 2)
    spec.in_type = ROWSCAN_F32;
  if (suite_plan(&plans, &spec)) {
    case_dense(&test, &plans.spec, ROWS, 1, &random);
    test.data = DATA_SPECIAL;
    check_case(&test, &plans);
  }
  suite_plan_free(&plans);
}

/* Operators of several inputs and with two outputs, indices with their values, segments beside masks and coefficients.
 */
void group_further(void) {
  for (int number = 0; number < 4; number++)
    check_infinite(number);
  for (int number = 0; number < few(3, 12); number++)
    add_large_tiles(number);
  for (int number = 0; number < few(40, 600); number++) {
    random_source random = random_for(suite.seed, 24, (uint64_t)number);
    rowscan_spec spec;
    do
      case_random_spec(&spec, &random, suite.longest);
    while (number % 3 && !floating(spec.in_type)); /* which more operators have */
    if (number % 8 == 0)                           /* rows that are cut, and few */
      spec.length = few(5000, 50000) + random_below(&random, few(5000, 200000));
    if (number % 4 == 2) { /* columns that are cut, or many */
      spec.layout = ROWSCAN_LAYOUT_COLUMNS;
      spec.regime = ROWSCAN_REGIME_AUTO;
      spec.length = 1 + random_below(&random, INT64_C(1) << (3 + number / 4 % few(10, 15)));
    }
    if (further_take(&spec, random_bits(&random) >> 8))
      add_spec(&spec, random);
  }
  check_specs();
}

/* ---- geometries --------------------------------------------------------------------------------------------------
 * What tune chooses for GPUs that are not at hand, in this one. */

/* Rows whose tiles those GPUs have in other sizes, and tell one another in other ways. */
static void add_tuned(int number) {
  static const struct {
    rowscan_regime regime;
    int64_t length;
  } kinds[] = {{ROWSCAN_REGIME_ROW, 20000},     {ROWSCAN_REGIME_LONG, 150000}, {ROWSCAN_REGIME_SHORT, 100},
               {ROWSCAN_REGIME_COLUMN, 3000},   {ROWSCAN_REGIME_AUTO, 40000},  {ROWSCAN_REGIME_AUTO, 1500},
               {ROWSCAN_REGIME_COLUMN, 100000}, {ROWSCAN_REGIME_AUTO, 7}};
  enum { KINDS = sizeof kinds / sizeof *kinds };
  random_source random = random_for(suite.seed, 18, (uint64_t)number);
  int64_t length = few(kinds[number % KINDS].length / 10 + 6, kinds[number % KINDS].length);
  rowscan_spec spec = {.size = sizeof spec, .regime = kinds[number % KINDS].regime};
  spec.in_type = number < KINDS ? ROWSCAN_F32 : (rowscan_type)(1 + random_below(&random, 13));
  spec.flags = (unsigned)random_below(&random, 4);
  spec.mask_mode = (rowscan_mask_mode)(random_one_in(&random, 2) ? 0 : random_below(&random, 3));
  spec.length = length / 2 + random_below(&random, length);
  spec.layout = spec.regime == ROWSCAN_REGIME_COLUMN ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
  if (number >= KINDS)
    case_random_types(&spec, &random);
  add_spec(&spec, random);
}

/* Of long rows, which are cut in one way without bulk copies, and with them by the shared memory that there is. */
static bool geometry_of(rowscan_context *context, char text[256]) {
  rowscan_spec spec = {.size = sizeof spec, .in_type = ROWSCAN_F32, .length = 200000, .regime = ROWSCAN_REGIME_LONG};
  rowscan_module_info module = ROWSCAN_INFO(rowscan_module_info);
  rowscan_plan *plan = NULL;
  bool known = suite_ok(rowscan_plan_create(&plan, context, &spec), "rowscan_plan_create") &&
               suite_ok(rowscan_plan_module(plan, 0, &module), "rowscan_plan_module");
  if (known)
    snprintf(text, 256, "%s", module.geometry);
  rowscan_plan_destroy(plan);
  return known;
}

/* Which of them a GPU holds is the library's to know; the text tells. */
static bool has_other_geometries(rowscan_context *tuned) {
  char own[256], other[256];
  return geometry_of(suite.gpu, own) && geometry_of(tuned, other) && strcmp(own, other) != 0;
}

static bool check_tuned(const char *arch) {
  rowscan_context *own = suite.gpu, *tuned;
  setenv("ROWSCAN_TUNE", arch, 1);
  bool opened = suite_ok(rowscan_open(&tuned, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA)), "rowscan_open");
  unsetenv("ROWSCAN_TUNE");
  if (!opened)
    return false;
  bool others = has_other_geometries(tuned);
  universal_close(); /* those of a context that is changed for another */
  suite.gpu = tuned;
  for (int i = 0; i < (others ? few(8, 160) : 0); i++)
    add_tuned(i);
  check_specs();
  universal_close();
  suite.gpu = own;
  rowscan_close(tuned);
  return others;
}

/* All geometries of a spec have the same bits: the host's. */
void group_geometries(void) {
  static const char *const archs[] = {"sm_80", "sm_75", "sm_86", "sm_120"};
  int tuned = 0, asked = (int)few(2, 4);
  for (int i = 0; i < asked; i++)
    tuned += check_tuned(archs[i]);
  if (tuned < asked && device_arch() / 10 == 9) /* it holds all of them, and has none */
    suite_fail("ROWSCAN_TUNE changes the geometries for %d of %d architectures", tuned, asked);
  else if (!tuned)
    suite_skip("this GPU holds no other's geometries");
}

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

static void add_length(int index, rowscan_regime regime) {
  random_source random = random_for(suite.seed, 3, (uint64_t)index << 3 | (uint64_t)regime);
  rowscan_spec spec;
  case_random_spec(&spec, &random, 1);
  spec.length = case_length(index);
  spec.regime = regime;
  add_spec(&spec, random);
}

/* Every length around which something changes, in the regime that is chosen for it and in another. */
void group_lengths(void) {
  int step = suite.quick ? 11 : 1;
  for (int i = 0; i < case_lengths(suite.longest); i += step) {
    add_length(i, ROWSCAN_REGIME_AUTO);
    if (!suite.quick)
      add_length(i, (rowscan_regime)(1 + i % 4));
  }
  check_specs();
}

/* ---- widths ------------------------------------------------------------------------------------------------------ */

/* Columns of one length side by side, from one to thousands, in words or not. */
static void runs_of_widths(suite_plans *plans, random_source *random) {
  static const int64_t widths[] = {1,  2,  3,  5,  7,  8,  9,   13,  16,  17,  31,   32,   33,   36,   48,  49,
                                   63, 64, 65, 68, 97, 99, 128, 129, 256, 257, 1000, 1004, 1021, 1024, 4097};
  const int count = sizeof widths / sizeof *widths;
  for (int i = suite.quick ? (int)random_below(random, 9) : 0; i < count; i += suite.quick ? 9 : 1) {
    int64_t elements = plans->spec.length * widths[i], outers = suite.elements / elements + 1;
    test_case test;
    case_dense(&test, &plans->spec, 1 + random_below(random, outers), widths[i], random);
    test.has_init = random_one_in(random, 3);
    test.has_totals = random_one_in(random, 3);
    case_lay_ends(&test, random);
    check_case(&test, plans);
  }
}

static rowscan_spec spec_of_columns(rowscan_type type, int64_t length, bool masked, random_source *random) {
  return (rowscan_spec){.size = sizeof(rowscan_spec),
                        .in_type = type,
                        .out_type = type,
                        .length = length,
                        .layout = ROWSCAN_LAYOUT_COLUMNS,
                        .row_rank = 2,
                        .flags = (unsigned)random_below(random, 4),
                        .mask_mode = masked ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE,
                        .mask_type = masked ? ROWSCAN_BOOL : ROWSCAN_TYPE_DEFAULT};
}

/* Long enough for a stream. */
static void add_long_widths(void) {
  static const rowscan_type types[] = {ROWSCAN_F32, ROWSCAN_BF16, ROWSCAN_I8, ROWSCAN_F64};
  for (int t = 0; t < 4; t++)
    for (int masked = 0; masked < 2; masked++) {
      random_source random = random_for(suite.seed, 17, (uint64_t)(t << 1 | masked));
      rowscan_spec spec = spec_of_columns(types[t], 5000 + masked, masked, &random);
      add_spec(&spec, random);
    }
}

void group_widths(void) {
  static const int64_t lengths[] = {1,  2,  3,  4,  5,  7,  8,  9,   12,  16,  17,
                                    24, 31, 32, 33, 48, 64, 65, 100, 129, 300, 1000};
  static const rowscan_type types[] = {ROWSCAN_F32, ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_I8};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i += suite.quick ? 4 : 1)
    for (int t = 0; t < few(1, 3); t++) {
      random_source random = random_for(suite.seed, 16, i << 2 | (size_t)t);
      bool masked = random_one_in(&random, 3);
      rowscan_spec spec = spec_of_columns(types[((int)i + t) % 5], lengths[i], masked, &random);
      add_spec(&spec, random);
    }
  add_long_widths();
  check_specs_with(runs_of_widths);
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

static void check_view(suite_plans *plans, case_view in, case_view out, int64_t lead, random_source *random) {
  test_case test;
  case_dense(&test, &plans->spec, 5, 3, random);
  case_lay(&test, &test.in, in);
  case_lay(&test, &test.mask, in);
  case_lay(&test, &test.out, out);
  case_lay(&test, &test.init, in);
  case_lay(&test, &test.totals, out);
  test.in.lead = lead;
  test.mask.lead = lead / 2;
  test.out.lead = (lead + random_below(random, 3)) % 16;
  test.has_init = lead & 1;
  test.has_totals = lead & 2;
  check_case(&test, plans);
}

static void check_views(suite_plans *plans, random_source *random) {
  for (int in = 0; in < VIEWS; in++)
    for (int out = 0; out < VIEW_REPEATED_ROWS; out++)
      check_view(plans, (case_view)in, (case_view)out, random_below(random, 16), random);
  for (int64_t lead = 0; lead < 16; lead++)
    check_view(plans, VIEW_DENSE, VIEW_DENSE, lead, random);
}

static void views_of(const rowscan_spec *spec, random_source random) {
  suite_plans plans;
  if (plan_drawn(&plans, spec))
    check_views(&plans, &random);
  suite_plan_free(&plans);
}

/* So many rows that universal kernels, which are told them in more dimensions (universal.c), are launched for parts of
 * them. */
static void check_halved(rowscan_layout layout, int64_t outer, int64_t inner, unsigned flags) {
  enum { HALVED = 3 };
  random_source random = random_for(suite.seed, 27, (uint64_t)layout);
  rowscan_spec spec = {.size = sizeof spec, .length = 10, .flags = flags, .layout = layout};
  suite_plans plans;
  if (plan_drawn(&plans, &spec)) {
    test_case test;
    case_dense(&test, &plans.spec, outer, inner, &random);
    test.seed -= test.seed % HALVED;
    test.has_init = test.has_totals = true;
    check_case(&test, &plans);
  }
  suite_plan_free(&plans);
}

/* Rows of so many tiles that their totals are counted in shared memory, or lie on several levels. */
static void check_far(rowscan_type in, int64_t length, rowscan_regime regime, unsigned flags, rowscan_mask_mode mask) {
  random_source random = random_for(suite.seed, 9, (uint64_t)length << 8 | (uint64_t)regime << 4 | flags);
  rowscan_spec spec = {
      .size = sizeof spec, .in_type = in, .length = length, .regime = regime, .flags = flags, .mask_mode = mask};
  suite_plans plans;
  if (plan_drawn(&plans, &spec)) {
    test_case test;
    case_dense(&test, &plans.spec, 1, 1, &random);
    case_lay(&test, &test.in, VIEW_SECOND);
    case_lay(&test, &test.out, VIEW_SECOND);
    test.has_init = test.has_totals = true;
    check_case(&test, &plans);
  }
  suite_plan_free(&plans);
}

/*
 * Every way to lay inputs and outputs, and every alignment, in every regime; of rows that can be gathered; and of long
 * ones.
 */
void group_views(void) {
  static const rowscan_type types[] = {ROWSCAN_F32, ROWSCAN_BF16, ROWSCAN_U8, ROWSCAN_F64, ROWSCAN_I32};
  static const struct {
    rowscan_type in, out;
    int64_t length;
  } gathered[] = {{ROWSCAN_F32, ROWSCAN_F32, 4100}, {ROWSCAN_F64, ROWSCAN_F64, 2048}, {ROWSCAN_I32, ROWSCAN_I64, 1027}};
  for (unsigned regime = 0; regime < 5; regime++) {
    rowscan_spec spec = {.size = sizeof spec, .in_type = types[regime], .length = few(100, 1100) + 4 * (int64_t)regime};
    spec.regime = (rowscan_regime)regime;
    spec.flags = regime & 3;
    spec.row_rank = 2;
    spec.mask_mode = regime & 1 ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE;
    spec.layout = regime == ROWSCAN_REGIME_COLUMN ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
    views_of(&spec, random_for(suite.seed, 4, regime));
  }
  for (unsigned i = 0; i < sizeof gathered / sizeof *gathered; i++) {
    rowscan_spec spec = {.size = sizeof spec,
                         .in_type = gathered[i].in,
                         .out_type = gathered[i].out,
                         .length = gathered[i].length,
                         .regime = ROWSCAN_REGIME_ROW,
                         .row_rank = 2,
                         .flags = 3 - i};
    views_of(&spec, random_for(suite.seed, 4, 5 + i));
  }
  check_halved(ROWSCAN_LAYOUT_ROWS, 1024, 1, ROWSCAN_REVERSE);
  check_halved(ROWSCAN_LAYOUT_COLUMNS, 16, 24, 0);
  check_far(ROWSCAN_I32, 1600001, ROWSCAN_REGIME_ROW, 0, ROWSCAN_MASK_NONE);
  check_far(ROWSCAN_F32, 1600001, ROWSCAN_REGIME_ROW, ROWSCAN_REVERSE, ROWSCAN_MASK_SELECT);
  check_far(ROWSCAN_F64, 2300001, ROWSCAN_REGIME_LONG, ROWSCAN_EXCLUSIVE, ROWSCAN_MASK_NONE);
  if (suite.quick)
    return;
  check_far(ROWSCAN_F32, 2300001, ROWSCAN_REGIME_ROW, 0, ROWSCAN_MASK_NONE);
  check_far(ROWSCAN_BF16, 5000000, ROWSCAN_REGIME_ROW, ROWSCAN_EXCLUSIVE, ROWSCAN_MASK_NONE);
  check_far(ROWSCAN_F64, 5000000, ROWSCAN_REGIME_ROW, ROWSCAN_REVERSE, ROWSCAN_MASK_NONE);
  check_far(ROWSCAN_F32, 20000001, ROWSCAN_REGIME_LONG, ROWSCAN_REVERSE, ROWSCAN_MASK_NONE);
}

/* ---- rows that start on 16 bytes and end off them ------------------------------------------------------------------
 * A single row starts where its array does, whatever its length: what copies multiples of 16 bytes must stop in time,
 * and a reverse scan must see that the end is what counts. */

static void check_end(rowscan_type in, int64_t length, unsigned flags, rowscan_mask_mode mask) {
  random_source random = random_for(suite.seed, 6, (uint64_t)length << 8 | (uint64_t)mask << 4 | flags);
  rowscan_spec spec = {.size = sizeof spec, .in_type = in, .length = length, .flags = flags, .mask_mode = mask};
  suite_plans plans;
  spec.regime = ROWSCAN_REGIME_ROW;
  if (plan_drawn(&plans, &spec)) {
    test_case test;
    case_dense(&test, &plans.spec, 1, 1, &random);
    test.has_init = length & 1;
    test.has_totals = true;
    check_case(&test, &plans);
  }
  suite_plan_free(&plans);
}

/* Nothing to write is nothing to do: no kernel is asked for. */
static void check_nothing(void) {
  static const int64_t shapes[][2] = {{3, 0}, {0, 5}, {0, 0}};
  for (int i = 0; i < 3; i++) {
    rowscan_context *context;
    rowscan_cache_info info = ROWSCAN_INFO(rowscan_cache_info);
    if (!suite_ok(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .cache_off = 1)),
                  "rowscan_open"))
      return;
    bool done = suite_ok(rowscan_scan(context, ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = shapes[i]), NULL),
                         "rowscan_scan") &&
                suite_ok(rowscan_cache_info_get(context, &info), "rowscan_cache_info_get");
    if (done && info.counts.compiles)
      suite_fail("%lld x %lld: a kernel was compiled", (long long)shapes[i][0], (long long)shapes[i][1]);
    else if (done)
      suite_pass();
    rowscan_close(context);
  }
}

void group_ends(void) {
  check_nothing();
  static const rowscan_type types[] = {ROWSCAN_F32, ROWSCAN_I8, ROWSCAN_BF16};
  for (int t = 0; t < few(1, 3); t++)
    for (int64_t length = few(5133, 5121); length <= few(5134, 5136); length += few(1, 3))
      for (unsigned flags = 0; flags < 4; flags++)
        for (unsigned mask = 0; mask < few(1, 3); mask++)
          check_end(types[t], length, flags, (rowscan_mask_mode)mask);
}

/* ---- few rows ------------------------------------------------------------------------------------------------------
 * So few that all of the run is in registers at once, which other kernels serve: a tile a row, or tiles that hand one
 * another their totals, in place too. On 16 bytes, where those kernels are chosen. */

static void check_few_rows(suite_plans *plans, int64_t rows, int64_t columns, bool in_place, random_source *random) {
  test_case test;
  case_dense(&test, &plans->spec, rows, columns, random);
  test.data = DATA_WIDE;
  test.in_place = in_place && rowscan_type_bytes(plans->spec.in_type) == rowscan_type_bytes(plans->spec.out_type);
  test.has_init = rows & 1;
  test.has_totals = true;
  case_lay(&test, random_one_in(random, 2) ? &test.init : &test.totals, VIEW_PADDED); /* by pairs of columns */
  for (int i = 0; i < 2; i++) /* the second finds what the first left in the workspace */
    check_case(&test, plans);
}

static void check_few(rowscan_type in, int64_t length, rowscan_regime regime, uint64_t number) {
  random_source random = random_for(suite.seed, 16, number);
  rowscan_spec spec = {.size = sizeof spec, .in_type = in, .length = length, .regime = regime};
  spec.flags = number & 3;
  spec.mask_mode = (rowscan_mask_mode)(number / 4 % 3);
  op_take(&spec, number);
  suite_plans plans;
  if (plan_drawn(&plans, &spec))
    for (int64_t rows = 1; rows <= 3; rows++)
      check_few_rows(&plans, rows, 1, rows > 1, &random);
  suite_plan_free(&plans);
}

/* Two columns, in pairs, and a few more. */
static void check_tuples(rowscan_type in, rowscan_type out, int64_t length, uint64_t number) {
  random_source random = random_for(suite.seed, 20, number);
  rowscan_spec spec = {.size = sizeof spec, .in_type = in, .out_type = out, .length = length};
  spec.layout = ROWSCAN_LAYOUT_COLUMNS;
  spec.flags = number & 3;
  op_take(&spec, number);
  suite_plans plans;
  if (plan_drawn(&plans, &spec))
    for (int64_t rows = 1; rows <= 3; rows++)
      for (int64_t columns = 2; columns <= 8; columns += 1 + random_below(&random, few(6, 3)))
        check_few_rows(&plans, rows, columns, rows > 1, &random);
  suite_plan_free(&plans);
}

static void check_all_tuples(void) {
  static const rowscan_type types[][2] = {{ROWSCAN_F32, ROWSCAN_F32}, {ROWSCAN_BF16, ROWSCAN_BF16},
                                          {ROWSCAN_F64, ROWSCAN_F64}, {ROWSCAN_I8, ROWSCAN_I32},
                                          {ROWSCAN_I32, ROWSCAN_I32}, {ROWSCAN_F32, ROWSCAN_F16}};
  static const int64_t lengths[] = {4100, 4112, 8192, 12304, 65536, 150016, 524288, 1000001, 1048576};
  uint64_t number = 0;
  for (int t = 0; t < 6; t++)
    for (int i = 0; i < few(4, 9); i++, number++)
      if (!suite.quick || number % 4 == (suite.seed + (uint64_t)t) % 4)
        check_tuples(types[t][0], types[t][1], lengths[i], number);
}

/* More columns, of which all tiles are in work at once: as a run, in words, in strips, and outers. */
static void check_columns_at_once(rowscan_type in, rowscan_type out, int64_t length, uint64_t number) {
  static const int64_t columns[] = {2, 3, 4, 7, 8, 12, 16, 17, 24, 40, 96};
  random_source random = random_for(suite.seed, 21, number);
  rowscan_spec spec = {.size = sizeof spec, .in_type = in, .out_type = out, .length = length};
  spec.layout = ROWSCAN_LAYOUT_COLUMNS;
  spec.flags = number & 3;
  spec.mask_mode = (rowscan_mask_mode)(number % 3);
  op_take(&spec, number);
  suite_plans plans;
  if (plan_drawn(&plans, &spec))
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
      check_few_rows(&plans, 1 + (int64_t)i % 3, columns[i], i % 2, &random);
  suite_plan_free(&plans);
}

static void check_all_columns_at_once(void) {
  static const rowscan_type types[][2] = {{ROWSCAN_F32, ROWSCAN_F32}, {ROWSCAN_BF16, ROWSCAN_BF16},
                                          {ROWSCAN_F64, ROWSCAN_F64}, {ROWSCAN_BOOL, ROWSCAN_I64},
                                          {ROWSCAN_I32, ROWSCAN_I32}, {ROWSCAN_F32, ROWSCAN_F16}};
  static const int64_t lengths[] = {64, 333, 1024, 2000, 4096, 16384, 65536, 100001, 262144};
  uint64_t number = 0;
  for (int t = 0; t < 6; t++)
    for (int i = 0; i < few(5, 9); i++, number++)
      if (!suite.quick || number % 4 == (suite.seed + (uint64_t)t) % 4)
        check_columns_at_once(types[t][0], types[t][1], lengths[i], number);
}

void group_few(void) {
  static const rowscan_type types[] = {ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_BF16, ROWSCAN_I8, ROWSCAN_I32};
  static const int64_t whole[] = {16, 64, 512, 1024, 4000, 4096, 8192, 16384};
  static const int64_t cut[] = {4112, 8192, 12304, 65536, 69632, 150016, 524288, 1000000}; /* into tiles */
  uint64_t number = 0;
  for (int t = 0; t < 5; t++)
    for (int i = 0; i < few(5, 8); i++, number++) {
      if (!suite.quick || number % 3 == suite.seed % 3)
        check_few(types[t], whole[i], ROWSCAN_REGIME_AUTO, number);
      if (!suite.quick || number % 2 == suite.seed % 2)
        check_few(types[t], cut[i], ROWSCAN_REGIME_LONG, number);
    }
  check_all_tuples();
  check_all_columns_at_once();
}

/* ---- long rows off 16 bytes ----------------------------------------------------------------------------------------
 * Rows that are cut over blocks and follow one another at every offset: of each array another, with elements of other
 * rows or of nobody around them. */

static void check_offset(suite_plans *plans, int64_t rows, random_source *random) {
  test_case test;
  case_dense(&test, &plans->spec, rows, 1, random);
  if (random_one_in(random, 2))
    case_lay(&test, &test.out, VIEW_PADDED);
  if (random_one_in(random, 4))
    case_lay(&test, &test.in, VIEW_UPSIDE_DOWN);
  test.in.lead = random_below(random, 16);
  test.mask.lead = random_below(random, 16);
  test.out.lead = random_below(random, 16);
  test.data = DATA_WIDE;
  test.in_place =
      rowscan_type_bytes(plans->spec.in_type) == rowscan_type_bytes(plans->spec.out_type) && random_one_in(random, 3);
  if (test.in_place)
    test.in = test.out;
  test.has_init = random_one_in(random, 2);
  test.has_totals = random_one_in(random, 2);
  for (int i = 0; i < 2; i++) /* the second finds what the first left in the workspace */
    check_case(&test, plans);
}

static void check_offsets(rowscan_type in, rowscan_type out, int64_t length, uint64_t number) {
  random_source random = random_for(suite.seed, 17, number);
  rowscan_spec spec = {
      .size = sizeof spec, .in_type = in, .out_type = out, .length = length, .regime = ROWSCAN_REGIME_LONG};
  const rowscan_type masks[] = {ROWSCAN_BOOL, ROWSCAN_U8, in};
  spec.flags = number & 3;
  spec.mask_mode = (rowscan_mask_mode)(number / 4 % 3);
  if (spec.mask_mode)
    spec.mask_type = masks[random_below(&random, 3)];
  op_take(&spec, number);
  suite_plans plans;
  if (plan_drawn(&plans, &spec))
    for (int64_t rows = 1; rows <= few(3, 13); rows += rows < 3 ? 1 : 5)
      check_offset(&plans, rows, &random);
  suite_plan_free(&plans);
}

void group_offsets(void) {
  static const rowscan_type types[][2] = {
      {ROWSCAN_F32, ROWSCAN_F32}, {ROWSCAN_BF16, ROWSCAN_BF16}, {ROWSCAN_F64, ROWSCAN_F64}, {ROWSCAN_I8, ROWSCAN_I32},
      {ROWSCAN_I8, ROWSCAN_I8},   {ROWSCAN_F32, ROWSCAN_BF16},  {ROWSCAN_F16, ROWSCAN_F64}, {ROWSCAN_BOOL, ROWSCAN_I64},
      {ROWSCAN_F64, ROWSCAN_F16}, {ROWSCAN_U16, ROWSCAN_U32},   {ROWSCAN_U64, ROWSCAN_U8}};
  /* shorter than a word; a tile of 4096, 8192 or 16384 elements, and ends of a word on both sides of its border */
  static const int64_t lengths[] = {20485, 3, 16385, 8195, 12287, 16383, 32771, 37, 4097, 49153, 300007};
  enum { TYPES = sizeof types / sizeof *types, LENGTHS = sizeof lengths / sizeof *lengths };
  for (uint64_t number = 0; number < (uint64_t)few(TYPES, 5 * TYPES); number++)
    check_offsets(types[number % TYPES][0], types[number % TYPES][1], lengths[(number + number / TYPES) % LENGTHS],
                  number + suite.seed - 1);
}

/* ---- everything -------------------------------------------------------------------------------------------------- */

void group_random(void) {
  for (int64_t i = 0; i < suite.cases; i++) {
    random_source random = random_for(suite.seed, 5, (uint64_t)i);
    rowscan_spec spec;
    case_random_spec(&spec, &random, suite.longest);
    add_spec(&spec, random);
  }
  check_specs();
}
