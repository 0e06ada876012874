/*
 * group_issue.c - the shapes that are benchmarked: made smaller and compared whole, and as they are by rs_measure
 * SPDX-License-Identifier: MIT
 */
#include "check.h"
#include "cli/cells.h"
#include "measure/measure.h"

/* ---- smaller ----------------------------------------------------------------------------------------------------- */

/* Each array of a view has strides of its own, see cell_rows_of. */
static void lay_view(test_case *test, const bench_cell *cell) {
  cell_rows rows;
  cell_rows_of(&rows, cell);
  for (int d = 0; d < 2; d++) {
    test->in.strides[d] = rows.in_strides[d];
    test->out.strides[d] = rows.out_strides[d];
  }
  test->in.unsaid = test->out.unsaid = false;
}

static void check_cell(const bench_cell *cell, unsigned variant, uint64_t number) {
  random_source random = random_for(suite.seed, 14, number);
  bench_cell small = *cell;
  cell_shrink(&small, suite.quick ? 1 << 12 : 1 << 22);
  rowscan_spec spec = cell_spec(&small, ROWSCAN_SUM, variant);
  suite_plans plans;
  if (suite_plan(&plans, &spec)) {
    test_case test;
    case_dense(&test, &plans.spec, small.outer, small.inner, &random);
    if (small.view != CELL_DENSE)
      lay_view(&test, &small);
    check_case(&test, &plans);
    test.data = DATA_WIDE;
    check_case(&test, &plans);
  }
  suite_plan_free(&plans);
}

/* Views: every second column, a transposed array, a padded row. */
static void check_strided(case_view view, int64_t rows, int64_t length, uint64_t number) {
  random_source random = random_for(suite.seed, 15, number);
  rowscan_spec spec = {.size = sizeof spec, .length = length};
  suite_plans plans;
  if (suite_plan(&plans, &spec)) {
    test_case test;
    case_dense(&test, &plans.spec, rows, 1, &random);
    case_lay(&test, &test.in, view);
    check_case(&test, &plans);
  }
  suite_plan_free(&plans);
}

void group_issue(void) {
  int count, number = 0, every = suite.quick ? 16 : 1;
  const bench_cell *cells = cells_of("full", &count);
  for (int i = 0; i < count; i++)
    for (int v = 0; v < CELL_VARIANTS; v++)
      if (cells[i].variants & 1u << v && number++ % every == 0)
        check_cell(&cells[i], 1u << v, (uint64_t)number);
  if (suite.quick)
    return;
  check_strided(VIEW_SECOND, 256, 8192, 0);
  check_strided(VIEW_TRANSPOSED, 512, 8192, 1);
  check_strided(VIEW_PADDED, 128, 32768, 2);
}

/* ---- by all kernels that could serve ----------------------------------------------------------------------------- */

typedef struct contest {
  const char *shape;
  int count, chosen;
} contest;

static rowscan_status enter_one(void *user, const rs_timing *timing, int number) {
  (void)number;
  contest *all = user;
  all->count++;
  all->chosen += timing->chosen;
  if (timing->wrong || !timing->checked || !(timing->scan_ms > 0))
    suite_fail("%s by %s: %lld of %lld elements are wrong", all->shape, timing->geometry, (long long)timing->wrong,
               (long long)timing->checked);
  else
    suite_pass();
  return ROWSCAN_OK;
}

/* More than one kernel takes the rows, each is right, and one is the chosen one. like: what a spec has beside a shape.
 */
static void hold_contest_of(const char *shape, const rowscan_spec *like) {
  bench_cell cell;
  cell_rows rows;
  contest all = {.shape = shape};
  int failed;
  if (!given_cell(shape, &cell)) {
    suite_fail("'%s' is no shape", shape);
    return;
  }
  rowscan_spec spec = cell_spec(&cell, like->op, CELL_INCLUSIVE);
  spec.flags |= like->flags;
  spec.mask_mode = like->mask_mode;
  spec.segment_mode = like->segment_mode;
  spec.second_type = like->second_type;
  cell_rows_of(&rows, &cell);
  if (!suite_ok(rs_measure_contenders(suite.gpu, &spec, &rows.args, 1, enter_one, &all, &failed), shape))
    return;
  if (all.count < 2 || all.chosen != 1)
    suite_fail("%s: %d kernels, of which %d are the chosen one", shape, all.count, all.chosen);
  else
    suite_pass();
}

static void hold_contest(const char *shape) {
  hold_contest_of(shape, &(rowscan_spec){.op = ROWSCAN_SUM});
}

/* Lists of inputs, of which some lag, and two outputs: by rings, streams, words of columns, and what fetches each array
 * by itself. */
static const struct {
  const char *rows, *words, *columns; /* rows that begin anywhere, and on words of 16 bytes */
  rowscan_spec like;
} lists[] = {
    {"5 x 777", "3 x 2048", "200 x 8 dim 0", {.op = ROWSCAN_GAE, .second_type = ROWSCAN_F32}},
    {"5 x 777", "3 x 2048", "200 x 8 dim 0", {.op = ROWSCAN_WEIGHTED_RECURRENCE, .second_type = ROWSCAN_F32}},
    {"5 x 777", "3 x 2048", "200 x 8 dim 0", {.op = ROWSCAN_LOGSUMEXP_GRADIENT, .flags = ROWSCAN_REVERSE}},
    {"5 x 777", "3 x 2048", "200 x 8 dim 0", {.op = ROWSCAN_SUM_GRADIENT, .flags = ROWSCAN_REVERSE}},
    {"5 x 777", "3 x 2048", "200 x 8 dim 0", {.op = ROWSCAN_EXTREMUM_GRADIENT, .second_type = ROWSCAN_F32}},
    {"5 x 777", "3 x 2048", "200 x 8 dim 0", {.op = ROWSCAN_DECAYED_SUM}},
    {"4 x 1000 bf16", "3 x 512 bf16", "130 x 16 dim 0 bf16", {.op = ROWSCAN_ARGMAX, .second_type = ROWSCAN_BF16}},
    {"3 x 1500",
     "2 x 1024",
     "3 x 110 x 8 dim 1",
     {.op = ROWSCAN_SUM,
      .flags = ROWSCAN_REVERSE,
      .mask_mode = ROWSCAN_MASK_SELECT,
      .segment_mode = ROWSCAN_MASK_KEYS}},
    {"3 x 900",
     "3 x 768",
     "300 x 7 dim 0",
     {.op = ROWSCAN_LINEAR_RECURRENCE,
      .flags = ROWSCAN_EXCLUSIVE,
      .mask_mode = ROWSCAN_MASK_COEFFICIENT,
      .segment_mode = ROWSCAN_MASK_TAILS}},
};

void group_contest(void) {
  enum { LISTS = sizeof lists / sizeof *lists };
  hold_contest("9 x 130 x 7 dim 1 bf16");
  for (int i = 0; i < LISTS; i++) {
    const char *shapes[] = {lists[i].rows, lists[i].words, lists[i].columns};
    for (int k = 0; k < 3; k++)
      if (!suite.quick || k == i % 3)
        hold_contest_of(shapes[k], &lists[i].like);
  }
  if (suite.quick)
    return;
  hold_contest("300 x 700");
  hold_contest("40 x 4097 f64");
  hold_contest("5 x 5000 x 3 dim 1 u8");
  hold_contest("3 x 20000 x 70 dim 1");
}

/* ---- as they are ------------------------------------------------------------------------------------------------- */

static void measure_cell(const bench_cell *cell, unsigned variant) {
  rowscan_spec spec = cell_spec(cell, ROWSCAN_SUM, variant);
  cell_rows rows;
  rs_timing timing;
  char shape[CELL_TEXT_MAX];
  cell_shape(shape, cell);
  cell_rows_of(&rows, cell);
  rowscan_status status = rs_measure(suite.gpu, &spec, &rows.args, 1, &timing);
  if (status == ROWSCAN_OUT_OF_MEMORY)
    suite_skip(shape);
  else if (!suite_ok(status, shape))
    return;
  else if (timing.wrong || !timing.checked)
    suite_fail("%s %s: %lld of %lld elements are wrong", shape, cell_variant(variant), (long long)timing.wrong,
               (long long)timing.checked);
  else
    suite_pass();
}

void group_issue_full(void) {
  int count;
  const bench_cell *cells = cells_of("full", &count);
  if (suite.quick || device_simulated()) {
    suite_skip("needs a GPU, and no RS_QUICK");
    return;
  }
  for (int i = 0; i < count; i++)
    for (int v = 0; v < CELL_VARIANTS; v++)
      if (cells[i].variants & 1u << v)
        measure_cell(&cells[i], 1u << v);
}
