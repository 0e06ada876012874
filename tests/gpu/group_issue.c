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
