/*
 * group_same.c - the same rows again: in other batches, places and regimes, and many times over
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

/* ---- batch ------------------------------------------------------------------------------------------------------- */

/* Some of the rows of another run, laid in another way. */
static void check_slice(suite_plans *plans, const check_run *all, int64_t first, int64_t count, case_view view,
                        random_source *random) {
  test_case test;
  check_run run;
  case_dense(&test, &plans->spec, count, 1, random);
  test.has_init = all->test->has_init;
  test.has_totals = all->test->has_totals;
  case_lay(&test, &test.in, view);
  case_lay(&test, &test.mask, view);
  case_lay(&test, &test.out, view == VIEW_TRANSPOSED ? VIEW_DENSE : view);
  case_lay_ends(&test, random);
  test.in.lead = random_below(random, 16);
  test.out.lead = random_below(random, 16);
  check_transplant(&run, &test, all, first);
  device_stream stream = device_stream_new();
  check_reset(&run, stream);
  if (check_queue(&run, plans->gpu, stream))
    check_verify(&run, stream);
  device_stream_free(stream);
  check_free(&run);
}

/* Row counts below and above the number of multiprocessors, where the regime changes. */
static void check_slices(const rowscan_spec *spec, const check_run *all, random_source *random) {
  static const case_view views[] = {VIEW_DENSE, VIEW_PADDED, VIEW_TRANSPOSED, VIEW_BACKWARD};
  int64_t rows = all->test->rows, many = device_multiprocessors();
  const int64_t counts[] = {1, 2, 3, 7, 32, many - 1, many, many + 1, rows};
  suite_plans plans;
  if (suite_plan(&plans, spec))
    for (int i = 0; i < 9; i++) {
      int64_t count = counts[i] >= 1 && counts[i] <= rows ? counts[i] : rows;
      check_slice(&plans, all, random_below(random, rows - count + 1), count, views[i % 4], random);
    }
  suite_plan_free(&plans);
}

static void check_batches(rowscan_spec *spec, int64_t rows, uint64_t number) {
  random_source random = random_for(suite.seed, 6, number);
  suite_plans plans;
  check_run all = {0};
  test_case test;
  spec->size = sizeof *spec;
  if (suite_plan(&plans, spec)) {
    case_dense(&test, &plans.spec, rows, 1, &random);
    test.data = DATA_WIDE;
    test.has_init = number & 1;
    test.has_totals = true;
    if (check_prepare(&all, &test, plans.host))
      for (int regime = 0; regime < 5; regime += suite.quick ? 3 : 1) {
        spec->regime = (rowscan_regime)regime;
        check_slices(spec, &all, &random);
      }
    check_free(&all);
  }
  suite_plan_free(&plans);
}

/* A row has the same bits in a batch of any size, at any place in it, in any regime and wherever it lies. */
void group_batch(void) {
  rowscan_spec specs[] = {
      {.in_type = ROWSCAN_F32, .length = 1000, .flags = ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_SELECT},
      {.in_type = ROWSCAN_F64, .length = 37, .flags = ROWSCAN_EXCLUSIVE},
      {.in_type = ROWSCAN_F16, .length = 5000, .mask_mode = ROWSCAN_MASK_MULTIPLY, .mask_type = ROWSCAN_F16},
      {.in_type = ROWSCAN_F32, .length = 40000, .op = ROWSCAN_PROD},
      {.in_type = ROWSCAN_BF16, .length = 33001, .acc_type = ROWSCAN_F64, .flags = ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE},
  };
  int count = suite.quick ? 1 : (int)(sizeof specs / sizeof *specs);
  for (int i = 0; i < count; i++)
    check_batches(&specs[i], suite.quick ? 12 : 150, (uint64_t)i);
}

/* ---- repeat ------------------------------------------------------------------------------------------------------ */

static void check_repeats(const rowscan_spec *spec, int64_t rows, uint64_t number, int repeats) {
  bool columns = spec->layout == ROWSCAN_LAYOUT_COLUMNS;
  random_source random = random_for(suite.seed, 7, number);
  suite_plans plans;
  check_run run;
  test_case test;
  if (suite_plan(&plans, spec)) {
    device_stream stream = device_stream_new();
    case_dense(&test, &plans.spec, columns ? 1 : rows, columns ? rows : 1, &random);
    test.data = DATA_WIDE;
    test.has_totals = true;
    bool same = check_prepare(&run, &test, plans.host);
    for (int i = 0; i < repeats && same; i++) {
      check_reset(&run, stream);
      same = check_queue(&run, plans.gpu, stream) && check_verify(&run, stream);
    }
    device_stream_free(stream);
    check_free(&run);
  }
  suite_plan_free(&plans);
}

/* A hundred runs, all the same. */
void group_repeat(void) {
  static const struct {
    rowscan_regime regime;
    int64_t length, rows;
    rowscan_type in, out; /* default f32 */
  } runs[] = {{.regime = ROWSCAN_REGIME_LONG, .length = 300007, .rows = 3},
              {.regime = ROWSCAN_REGIME_LONG, .length = 5000000, .rows = 1},
              {.regime = ROWSCAN_REGIME_ROW, .length = 40000, .rows = 40},
              {.regime = ROWSCAN_REGIME_SHORT, .length = 37, .rows = 30000},
              {.regime = ROWSCAN_REGIME_COLUMN, .length = 300, .rows = 3000},
              /* one run in twelve was wrong on an H200, as long as nothing kept a tile's copy from the next one's */
              {.regime = ROWSCAN_REGIME_COLUMN, .length = 5000000, .rows = 8, .in = ROWSCAN_BF16, .out = ROWSCAN_F32}};
  for (int i = 0; i < (suite.quick ? 1 : 6); i++) {
    rowscan_spec spec = {.size = sizeof spec,
                         .regime = runs[i].regime,
                         .length = runs[i].length,
                         .in_type = runs[i].in,
                         .out_type = runs[i].out};
    spec.layout = runs[i].regime == ROWSCAN_REGIME_COLUMN ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
    if (suite.quick)
      spec.length = 3000;
    check_repeats(&spec, runs[i].rows, (uint64_t)i, suite.quick ? 4 : 100);
  }
}
