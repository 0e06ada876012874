/*
 * group_wait.c - blocks that wait for what others tell: paused at random, and with next to no GPU to run on
 * SPDX-License-Identifier: MIT
 */
#include "check.h"
#include "spec/developer.h"

typedef enum place { AT_16_BYTES, OFF_16_BYTES, APART } place;

/* Together they need every kernel whose blocks wait for one another, on a quick run too. */
static const struct {
  rowscan_regime regime;
  int64_t length, quick_length, rows; /* rows: or columns */
  place place;
} kinds[] = {
    {ROWSCAN_REGIME_LONG, 5000000, 57000, 1, AT_16_BYTES},   {ROWSCAN_REGIME_LONG, 5000000, 57000, 1, OFF_16_BYTES},
    {ROWSCAN_REGIME_LONG, 300007, 10000, 7, AT_16_BYTES},    {ROWSCAN_REGIME_LONG, 40000, 7400, 100, OFF_16_BYTES},
    {ROWSCAN_REGIME_LONG, 65536, 9000, 1, AT_16_BYTES},      {ROWSCAN_REGIME_LONG, 1 << 20, 17000, 1, AT_16_BYTES},
    {ROWSCAN_REGIME_LONG, 300007, 10000, 3, APART},          {ROWSCAN_REGIME_COLUMN, 300000, 10000, 5, AT_16_BYTES},
    {ROWSCAN_REGIME_COLUMN, 20000, 7200, 640, AT_16_BYTES},  {ROWSCAN_REGIME_COLUMN, 20000, 7200, 129, OFF_16_BYTES},
    {ROWSCAN_REGIME_COLUMN, 1 << 20, 17000, 2, AT_16_BYTES}, {ROWSCAN_REGIME_COLUMN, 5000, 600, 16, AT_16_BYTES},
    {ROWSCAN_REGIME_COLUMN, 20000, 7200, 40, APART},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct waiting {
  suite_plans plans;
  test_case test;
  check_run run;
  device_stream stream;
  bool ready;
} waiting;

static void lay(test_case *test, place place) {
  test->in.lead = place == OFF_16_BYTES;
  test->out.lead = 2 * test->in.lead;
  if (place == APART) {
    case_lay(test, &test->in, VIEW_SECOND);
    case_lay(test, &test->out, VIEW_SECOND);
  }
}

static void prepare(waiting *one, int kind, unsigned flags) {
  bool columns = kinds[kind].regime == ROWSCAN_REGIME_COLUMN;
  random_source random = random_for(suite.seed, 19, (uint64_t)kind);
  rowscan_spec spec = {.size = sizeof spec, .regime = kinds[kind].regime, .flags = flags};
  spec.length = suite.quick ? kinds[kind].quick_length : kinds[kind].length;
  spec.layout = columns ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
  *one = (waiting){.stream = NULL};
  one->ready = suite_plan(&one->plans, &spec);
  if (!one->ready)
    return;
  one->stream = device_stream_new();
  case_dense(&one->test, &one->plans.spec, columns ? 1 : kinds[kind].rows, columns ? kinds[kind].rows : 1, &random);
  lay(&one->test, kinds[kind].place);
  one->test.data = DATA_WIDE;
  one->test.has_totals = true;
  one->ready = check_prepare(&one->run, &one->test, one->plans.host);
}

static void run_again(waiting *one) {
  if (!one->ready)
    return;
  check_reset(&one->run, one->stream);
  one->ready = check_queue(&one->run, one->plans.gpu, one->stream) && check_verify(&one->run, one->stream);
}

static void drop(waiting *one) {
  if (one->stream) {
    device_stream_free(one->stream);
    check_free(&one->run);
  }
  suite_plan_free(&one->plans);
}

/* Each paused at random: nothing changes, nothing hangs. */
void group_delays(void) {
  rs_developer = true;
  for (int kind = 0; kind < KINDS; kind++) {
    waiting one;
    prepare(&one, kind, ROWSCAN_DELAYS | (kind % 2 ? ROWSCAN_REVERSE : 0));
    for (int i = 0; i < (suite.quick ? 2 : 30); i++)
      run_again(&one);
    drop(&one);
  }
}

/* All blocks pass through what is left, whatever that is, while the other kernel stays. */
static void run_beside(waiting *one, int left) {
  device_hold *hold = device_hold_all_but(left);
  run_again(one);
  bool held = device_holds(hold);
  device_let_go(hold);
  if (one->ready && !held) {
    char text[CASE_TEXT];
    case_text(&one->test, text);
    suite_fail("%s\n  did not end on %d multiprocessors before the others were let go", text, left);
    one->ready = false;
  }
}

/* Another kernel has most of the GPU, for as long as it takes: those blocks run that there is room for. */
void group_held(void) {
  if (device_simulated() || device_sanitized()) {
    suite_skip("no kernel is held on a simulated GPU, or beside a sanitizer");
    return;
  }
  for (int kind = 0; kind < KINDS; kind++) {
    waiting one;
    prepare(&one, kind, kind % 2 ? ROWSCAN_REVERSE : 0);
    run_again(&one); /* what a first run makes would wait for the whole device */
    for (int left = 1; left <= 4 && one.ready; left += 1 + (left > 1))
      run_beside(&one, left);
    drop(&one);
  }
}
