/*
 * test_calls.c - a call that is remembered comes to what it would if it were read anew
 * SPDX-License-Identifier: MIT
 *
 * Each call is made twice, from the same memory: in a context, or with a plan, that remembers calls like it, and in one
 * that remembers none. Status, message and all bytes must be the same.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/quick.h"
#include "../support/run_tests.h"
#include "run/plan.h"

enum { ROWS = 3, LENGTH = 5, MOST_RANK = 3, ROOM = 4096, ARRAYS = 5, MESSAGE = 1024 };

static rowscan_context *warm, *cold;
static char memory[ROOM] __attribute__((aligned(64)));

static void open_contexts(void) {
  ck_assert(!rowscan_open(&warm, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 2)));
  ck_assert(!rowscan_open(&cold, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 2)));
}

static void close_contexts(void) {
  rowscan_close(warm);
  rowscan_close(cold);
}

static int64_t below(uint64_t *state, int64_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((*state >> 33) % (uint64_t)n);
}

/* Small numbers as f32, whose bytes are flags and keys, too. */
static void fill_memory(void) {
  for (int i = 0; i < ROOM / 4; i++)
    ((float *)(void *)memory)[i] = (float)(i * 7 % 11 - 3);
}

static void forget(rs_calls *calls) {
  rs_calls_free(calls);
  memset(calls, 0, sizeof *calls);
}

static rs_call *known_call(rs_calls *calls) {
  for (int i = 0; i < RS_CALLS; i++)
    if (calls->place[i].call && calls->place[i].call->known)
      return calls->place[i].call;
  return NULL;
}

/* ---- a problem and what its pointers lead to --------------------------------------------------------------------- */

/* The problem's pointers lead to the numbers beside it. */
typedef struct given {
  rowscan_problem problem;
  rowscan_args args; /* the same for a plan */
  int64_t shape[MOST_RANK], strides[ARRAYS][MOST_RANK + 1];
} given;

static const int places[ARRAYS] = {0, 512, 1024, 1536, 2048};

static void place_arrays(rowscan_problem *p) {
  p->input.data = memory + places[0];
  p->output.data = memory + places[1];
  p->mask.data = p->mask_mode ? memory + places[2] : NULL;
}

/* A sum of f32 over rows that lie apart, with the strides of all arrays told. */
static void make_given(given *g) {
  *g = (given){.shape = {ROWS, LENGTH}};
  g->problem = *ROWSCAN_PROBLEM(.op = ROWSCAN_SUM, .rank = 2, .dim = -1, .shape = g->shape);
  g->problem.input.type = g->problem.output.type = ROWSCAN_F32;
  for (int a = 0; a < ARRAYS; a++) {
    g->strides[a][0] = a < RS_INIT ? LENGTH + 1 : 2;
    g->strides[a][1] = a < RS_INIT;
  }
  g->problem.input.strides = g->strides[RS_IN];
  g->problem.output.strides = g->strides[RS_OUT];
  place_arrays(&g->problem);
}

static void add_mask(given *g, rowscan_mask_mode mode) {
  g->problem.mask_mode = mode;
  g->problem.mask.strides = g->strides[RS_MASK];
  place_arrays(&g->problem);
}

static void add_ends(given *g) {
  g->problem.init = (rowscan_input){memory + places[3], ROWSCAN_F32, g->strides[RS_INIT], {NULL}};
  g->problem.totals = (rowscan_output){memory + places[4], ROWSCAN_F32, g->strides[RS_TOTALS], {NULL}};
}

/* What a plan of the problem's spec is given: of two dimensions one is that of the rows. */
static void make_args(given *g) {
  const rowscan_problem *p = &g->problem;
  g->args = *ROWSCAN_ARGS(.input = p->input.data, .output = p->output.data, .mask = p->mask.data, .init = p->init.data,
                          .totals = p->totals.data, .row_shape = g->shape);
  g->args.input_strides = p->input.strides;
  g->args.output_strides = p->output.strides;
  g->args.mask_strides = p->mask.strides;
  g->args.init_strides = p->init.strides;
  g->args.totals_strides = p->totals.strides;
}

/* ---- one call in both contexts ----------------------------------------------------------------------------------- */

typedef struct outcome {
  rowscan_status status;
  char message[MESSAGE], memory[ROOM];
} outcome;

typedef rowscan_status calling(rowscan_context *context, rowscan_plan *plan, const given *g);

static rowscan_status call_host(rowscan_context *context, rowscan_plan *plan, const given *g) {
  (void)plan;
  return rowscan_scan_host(context, &g->problem);
}

static rowscan_status call_scan(rowscan_context *context, rowscan_plan *plan, const given *g) {
  (void)plan;
  return rowscan_scan(context, &g->problem, NULL);
}

static rowscan_status call_plan(rowscan_context *context, rowscan_plan *plan, const given *g) {
  (void)context;
  return rowscan_plan_run(plan, &g->args, NULL);
}

static calling *const callings[] = {call_host, call_scan, call_plan};
enum { CALLINGS = sizeof callings / sizeof *callings };

static void try_call(outcome *found, calling *call, rowscan_context *context, rowscan_plan *plan, const given *g) {
  memset(found, 0, sizeof *found);
  fill_memory();
  found->status = call(context, plan, g);
  if (found->status)
    strncpy(found->message, rowscan_last_error(), MESSAGE - 1);
  memcpy(found->memory, memory, ROOM);
}

static void must_be_same(calling *call, rowscan_plan *plans[2], const given *g, const char *what) {
  static outcome first, second;
  forget(&cold->calls);
  if (plans[1])
    forget(&plans[1]->calls);
  try_call(&first, call, warm, plans[0], g);
  try_call(&second, call, cold, plans[1], g);
  ck_assert_msg(first.status == second.status, "%s: %d (%s), not %d (%s)", what, first.status, first.message,
                second.status, second.message);
  ck_assert_msg(!strcmp(first.message, second.message), "%s: '%s', not '%s'", what, first.message, second.message);
  ck_assert_msg(!memcmp(first.memory, second.memory, ROOM), "%s: other bytes", what);
}

/* So often that it is known; then whether the same call is taken for it. */
static void warm_up(calling *call, rowscan_plan *plan, const given *g) {
  rs_calls *calls = plan ? &plan->calls : &warm->calls;
  forget(calls);
  for (int i = 0; i < 3; i++) {
    fill_memory();
    ck_assert_msg(!call(warm, plan, g), "%s", rowscan_last_error());
  }
  ck_assert(known_call(calls) && known_call(calls)->described);
}

/* For the warm and the cold context. */
static void make_plans(rowscan_plan *plans[2], const given *g) {
  rowscan_spec spec = {.size = sizeof spec};
  ck_assert(!rowscan_problem_spec(&g->problem, &spec));
  ck_assert(!rowscan_plan_create(&plans[0], warm, &spec));
  ck_assert(!rowscan_plan_create(&plans[1], cold, &spec));
}

/* ---- what may differ --------------------------------------------------------------------------------------------- */

typedef void change(given *g);

static void other_addresses(given *g) {
  g->problem.input.data = g->args.input = memory + places[0] + 64;
  g->problem.output.data = g->args.output = memory + places[1] + 4;
}
static void in_place(given *g) {
  g->problem.output.data = g->args.output = memory + places[0];
}
static void one_element_on(given *g) {
  g->problem.output.data = g->args.output = memory + places[0] + 4;
}
static void between_rows(given *g) { /* strides of 6, lengths of 5: one element a row is free */
  g->problem.output.data = g->args.output = memory + places[0] + 4 * LENGTH;
}
static void output_in_totals(given *g) {
  if (g->problem.totals.data)
    g->problem.totals.data = g->args.totals = (char *)g->problem.output.data + 4;
}
static void input_not_aligned(given *g) {
  g->problem.input.data = g->args.input = memory + places[0] + 2;
}
static void output_not_aligned(given *g) {
  g->problem.output.data = g->args.output = memory + places[1] + 1;
}
static void ends_not_aligned(given *g) {
  if (g->problem.init.data)
    g->problem.init.data = g->args.init = memory + places[3] + 2;
}
static void mask_elsewhere(given *g) {
  if (g->problem.mask.data)
    g->problem.mask.data = g->args.mask = memory + places[2] + 4;
}
static void no_input(given *g) {
  g->problem.input.data = g->args.input = NULL;
}
static void no_output(given *g) {
  g->problem.output.data = g->args.output = NULL;
}
static void no_mask(given *g) {
  g->problem.mask.data = g->args.mask = NULL;
}
static void stray_mask(given *g) {
  g->problem.mask.data = g->args.mask = memory + places[2];
}
static void no_totals(given *g) {
  g->problem.totals.data = g->args.totals = NULL;
}
static void totals_besides(given *g) {
  g->problem.totals.data = g->args.totals = memory + places[4] + 512;
}
static void no_init(given *g) {
  g->problem.init.data = g->args.init = NULL;
}
static void no_init_with_stray_strides(given *g) {
  no_init(g);
  g->problem.init.strides = g->args.init_strides = (const int64_t *)(uintptr_t)8; /* nobody looks at them */
}
static void fewer_rows(given *g) {
  g->shape[0]--;
}
static void no_rows(given *g) {
  g->shape[0] = 0;
}
static void negative_rows(given *g) {
  g->shape[0] = -1;
}
static void shorter(given *g) {
  g->shape[1]--;
}
static void no_shape(given *g) {
  g->problem.shape = NULL;
  g->args.row_shape = NULL;
}
static void wider_input(given *g) {
  g->strides[RS_IN][0] = 2 * LENGTH;
}
static void wider_output(given *g) {
  g->strides[RS_OUT][0] = 2 * LENGTH;
}
static void spread_output(given *g) {
  g->strides[RS_OUT][0] = 2 * LENGTH;
  g->strides[RS_OUT][1] = 2;
}
static void output_in_itself(given *g) {
  g->strides[RS_OUT][0] = 1;
}
static void other_mask_strides(given *g) {
  g->strides[RS_MASK][0] = 0;
}
static void other_init_strides(given *g) {
  g->strides[RS_INIT][0] = 3;
}
static void other_totals_strides(given *g) {
  g->strides[RS_TOTALS][0] = 1;
}
static void dense_input(given *g) {
  g->problem.input.strides = g->args.input_strides = NULL;
}
static void dense_output(given *g) {
  g->problem.output.strides = g->args.output_strides = NULL;
}
static void told_input(given *g) {
  g->problem.input.strides = g->args.input_strides = g->strides[RS_IN];
}
static void told_output(given *g) {
  g->problem.output.strides = g->args.output_strides = g->strides[RS_OUT];
}
static void reverse(given *g) {
  g->problem.flags ^= ROWSCAN_REVERSE;
}
static void exclusive(given *g) {
  g->problem.flags ^= ROWSCAN_EXCLUSIVE;
}
static void initial(given *g) {
  g->problem.flags ^= ROWSCAN_INCLUDE_INITIAL;
}
static void unknown_flag(given *g) {
  g->problem.flags |= 1u << 30;
}
static void maximum(given *g) {
  g->problem.op = ROWSCAN_MAX;
}
static void unknown_op(given *g) {
  g->problem.op = (rowscan_op)77;
}
static void first_dimension(given *g) {
  g->problem.dim = 0;
}
static void one_dimension(given *g) {
  g->problem.rank = 1;
  g->problem.dim = 0;
}
static void no_such_dimension(given *g) {
  g->problem.dim = 2;
}
static void other_input_type(given *g) {
  g->problem.input.type = ROWSCAN_I32;
}
static void other_output_type(given *g) {
  g->problem.output.type = ROWSCAN_F64;
}
static void other_accumulator(given *g) {
  g->problem.acc_type = g->problem.acc_type ? ROWSCAN_TYPE_DEFAULT : ROWSCAN_F64;
}
static void other_init_type(given *g) {
  g->problem.init.type = ROWSCAN_F64;
}
static void other_mask_type(given *g) {
  g->problem.mask.type = ROWSCAN_F32;
}
static void reserved_word(given *g) {
  g->problem.input.reserved[1] = memory;
}
static void stray_number(given *g) {
  g->problem.params[2] = g->args.params[2] = 1;
}
static void stray_array(given *g) {
  g->problem.more[1].data = g->args.more[1] = memory;
}
static void other_size(given *g) {
  g->problem.size = offsetof(rowscan_problem, more);
  g->args.size = offsetof(rowscan_args, more);
}
static void no_size(given *g) {
  g->problem.size = g->args.size = 3;
}
static void number_of_rows(given *g) {
  g->args.rows = ROWS + 1;
}
static void length_of_args(given *g) {
  g->args.length = LENGTH + 1;
}
static void a_workspace(given *g) {
  g->problem.workspace = g->args.workspace = memory;
  g->problem.workspace_bytes = g->args.workspace_bytes = ROOM;
}
static void nothing(given *g) {
  (void)g;
}

#define CHANGE(name)                                                                                                   \
  { name, #name }
static const struct {
  change *make;
  const char *name;
} changes[] = {CHANGE(nothing),
               CHANGE(other_addresses),
               CHANGE(in_place),
               CHANGE(one_element_on),
               CHANGE(between_rows),
               CHANGE(output_in_totals),
               CHANGE(input_not_aligned),
               CHANGE(output_not_aligned),
               CHANGE(ends_not_aligned),
               CHANGE(mask_elsewhere),
               CHANGE(no_input),
               CHANGE(no_output),
               CHANGE(no_mask),
               CHANGE(stray_mask),
               CHANGE(no_totals),
               CHANGE(totals_besides),
               CHANGE(no_init),
               CHANGE(no_init_with_stray_strides),
               CHANGE(fewer_rows),
               CHANGE(no_rows),
               CHANGE(negative_rows),
               CHANGE(shorter),
               CHANGE(no_shape),
               CHANGE(wider_input),
               CHANGE(wider_output),
               CHANGE(spread_output),
               CHANGE(output_in_itself),
               CHANGE(other_mask_strides),
               CHANGE(other_init_strides),
               CHANGE(other_totals_strides),
               CHANGE(dense_input),
               CHANGE(dense_output),
               CHANGE(reverse),
               CHANGE(exclusive),
               CHANGE(initial),
               CHANGE(unknown_flag),
               CHANGE(maximum),
               CHANGE(unknown_op),
               CHANGE(first_dimension),
               CHANGE(one_dimension),
               CHANGE(no_such_dimension),
               CHANGE(other_input_type),
               CHANGE(other_output_type),
               CHANGE(other_accumulator),
               CHANGE(other_init_type),
               CHANGE(other_mask_type),
               CHANGE(reserved_word),
               CHANGE(stray_number),
               CHANGE(stray_array),
               CHANGE(other_size),
               CHANGE(no_size),
               CHANGE(number_of_rows),
               CHANGE(length_of_args),
               CHANGE(a_workspace),
               CHANGE(told_input),
               CHANGE(told_output)};
enum { CHANGES = sizeof changes / sizeof *changes };

/* ---- what is remembered ------------------------------------------------------------------------------------------ */

static void bare(given *g) {
  g->problem.input.strides = g->problem.output.strides = NULL;
}
static void apart(given *g) {
  (void)g;
}
static void rows_wider_in_the_output(given *g) {
  g->strides[RS_OUT][0] = LENGTH + 2;
}
static void masked(given *g) {
  add_mask(g, ROWSCAN_MASK_SELECT);
}
static void with_ends(given *g) {
  add_ends(g);
}
static void masked_with_ends(given *g) {
  add_mask(g, ROWSCAN_MASK_MULTIPLY);
  add_ends(g);
}
static void with_initial(given *g) {
  g->strides[RS_OUT][0] = LENGTH + 3;
  g->problem.flags = ROWSCAN_INCLUDE_INITIAL;
}
static void reverse_with_ends(given *g) {
  g->problem.flags = ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE;
  add_ends(g);
}
static void bare_exclusive(given *g) {
  bare(g);
  g->problem.flags = ROWSCAN_EXCLUSIVE;
}
static void recurrence(given *g) {
  g->problem.op = ROWSCAN_LINEAR_RECURRENCE;
  g->problem.coefficient = (rowscan_input){memory + places[2], ROWSCAN_F32, g->strides[RS_MASK], {NULL}};
}
static void segments_for_a_mask(given *g) {
  g->problem.segment_mode = ROWSCAN_MASK_HEADS;
  g->problem.segments = (rowscan_input){memory + places[2], ROWSCAN_BOOL, g->strides[RS_MASK], {NULL}};
}
static void of_max(given *g) {
  g->problem.op = ROWSCAN_MAX;
}

static change *const kinds[] = {bare,
                                apart,
                                masked,
                                with_ends,
                                masked_with_ends,
                                with_initial,
                                reverse_with_ends,
                                bare_exclusive,
                                rows_wider_in_the_output,
                                recurrence,
                                segments_for_a_mask,
                                of_max};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool has_plan(const given *g) {
  return !(g->problem.flags & ROWSCAN_INCLUDE_INITIAL) && !g->problem.segment_mode;
}

/* Always in the same place, so that other numbers may stand behind the same pointers. */
static given *made(change *kind) {
  static given g;
  make_given(&g);
  kind(&g);
  make_args(&g);
  return &g;
}

static void try_change(calling *call, rowscan_plan *plans[2], change *kind, int one, int other) {
  char what[100];
  given *g = made(kind);
  snprintf(what, sizeof what, "%s, %s", changes[one].name, changes[other].name);
  warm_up(call, plans[0], g);
  changes[one].make(g);
  changes[other].make(g);
  must_be_same(call, plans, g, what);
  must_be_same(call, plans, g, what);
  must_be_same(call, plans, made(kind), "as before");
}

static uint64_t seed = 1;

START_TEST(no_call_is_taken_for_another) {
  calling *call = callings[_i % CALLINGS];
  change *kind = kinds[_i / CALLINGS];
  rowscan_plan *plans[2] = {NULL, NULL};
  given *g = made(kind);
  uint64_t random = seed + (uint64_t)_i;
  if (call == call_plan && !has_plan(g))
    return;
  if (call == call_plan)
    make_plans(plans, g);
  for (int i = 0; i < CHANGES; i++)
    try_change(call, plans, kind, i, 0);
  for (int i = 0; i < (is_quick() ? 50 : 400); i++)
    try_change(call, plans, kind, (int)below(&random, CHANGES), (int)below(&random, CHANGES));
  rowscan_plan_destroy(plans[0]);
  rowscan_plan_destroy(plans[1]);
}
END_TEST

/* A call that is read anew notes where its problem is. */
START_TEST(other_addresses_are_no_other_call) {
  given *g = made(kinds[_i]);
  warm_up(call_host, NULL, g);
  const void *source = known_call(&warm->calls)->source;
  rowscan_problem copy = g->problem;
  int64_t shape[MOST_RANK], strides[MOST_RANK + 1];
  memcpy(shape, g->shape, sizeof shape);
  memcpy(strides, g->strides[RS_IN], sizeof strides);
  copy.shape = shape;
  copy.input.strides = g->problem.input.strides ? strides : NULL;
  copy.input.data = memory + places[0] + 64;
  memset((char *)&copy.input.type + sizeof copy.input.type, 0xa5, 4); /* between two members */
  ck_assert(!rowscan_scan_host(warm, &copy));
  ck_assert(!rowscan_scan(warm, &copy, NULL));
  rs_call *call = known_call(&warm->calls);
  ck_assert(call->source == source && !call->missed);
  g->strides[RS_IN][0]++;
  g->shape[1]--;
  ck_assert(!rowscan_scan_host(warm, &g->problem));
}
END_TEST

/* They have one place, in which the first stays for a while. */
START_TEST(calls_that_take_turns_are_right) {
  given *g = made(kinds[_i]);
  rowscan_plan *none[2] = {NULL, NULL};
  for (int i = 0; i < 40; i++) {
    other_accumulator(g);
    if (i % 7 == 0)
      other_addresses(g);
    must_be_same(call_host, none, g, "in turn");
  }
}
END_TEST

/* Rows whose steps go down in memory, and whose scan goes up: it begins at the lowest address, not at the array's. */
START_TEST(steps_that_go_down_are_scanned_from_below) {
  enum { STEPS = 8, AT = 16, AROUND = 40 };
  const int64_t shape = STEPS, down = -1, rows[] = {STEPS, -1};
  rowscan_plan *plan;
  ck_assert(
      !rowscan_plan_create(&plan, warm, ROWSCAN_SPEC(.op = ROWSCAN_SUM, .flags = ROWSCAN_REVERSE, .length = STEPS)));
  for (int i = 0; i < 6; i++) {
    float x[AROUND], y[AROUND];
    for (int k = 0; k < AROUND; k++) {
      x[k] = (float)k;
      y[k] = -1;
    }
    rowscan_problem problem = *ROWSCAN_PROBLEM(.op = ROWSCAN_SUM, .flags = ROWSCAN_REVERSE, .rank = 1, .shape = &shape);
    problem.input = (rowscan_input){.data = x + AT + STEPS - 1, .strides = &down};
    problem.output = (rowscan_output){.data = y + AT + STEPS - 1, .strides = &down};
    ck_assert(i % 2 ? !rowscan_scan_host(warm, &problem)
                    : !rowscan_plan_run(plan,
                                        ROWSCAN_ARGS(.input = x + AT + STEPS - 1, .output = y + AT + STEPS - 1,
                                                     .rows = 1, .input_strides = rows, .output_strides = rows),
                                        NULL));
    float sum = 0;
    for (int k = 0; k < AROUND; k++) {
      bool inside = k >= AT && k < AT + STEPS;
      sum += inside ? x[k] : 0;
      ck_assert(y[k] == (inside ? sum : -1));
    }
  }
  rowscan_plan_destroy(plan);
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, LONGEST = 40 };
static rowscan_plan *shared;

/* Sums of ones, by the context and by one plan for any length. */
static void *scan_ones(void *unused) {
  float ones[LONGEST + 1], sums[LONGEST + 1];
  int wrong = 0;
  for (int i = 0; i <= LONGEST; i++)
    ones[i] = 1;
  for (int i = 0; i < (is_quick() ? 2000 : 20000); i++) {
    int64_t length = i / 5 % LONGEST + 1;
    int at = i % 2;
    length -= length == LONGEST && at;
    rowscan_args args = *ROWSCAN_ARGS(.input = ones + at, .output = sums + at, .rows = 1, .length = length);
    rowscan_problem problem = *ROWSCAN_PROBLEM(.op = ROWSCAN_SUM, .rank = 1, .shape = &length);
    problem.input.data = ones;
    problem.output.data = sums;
    wrong += rowscan_plan_run(shared, &args, NULL) != ROWSCAN_OK || sums[at + length - 1] != (float)length;
    sums[length - 1] = 0;
    wrong += rowscan_scan_host(warm, &problem) != ROWSCAN_OK || sums[length - 1] != (float)length;
  }
  return wrong ? unused : NULL;
}

START_TEST(threads_share_a_context_and_a_plan) {
  pthread_t thread[THREADS];
  void *wrong = NULL;
  ck_assert(!rowscan_plan_create(&shared, warm, ROWSCAN_SPEC(.op = ROWSCAN_SUM, .length = ROWSCAN_ANY_LENGTH)));
  for (int i = 0; i < THREADS; i++)
    ck_assert(!pthread_create(&thread[i], NULL, scan_ones, memory));
  for (int i = 0; i < THREADS; i++) {
    ck_assert(!pthread_join(thread[i], &wrong));
    ck_assert(!wrong);
  }
  rowscan_plan_destroy(shared);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("calls");
  TCase *cases = tcase_create("calls");
  if (getenv("ROWSCAN_TEST_SEED"))
    seed = strtoull(getenv("ROWSCAN_TEST_SEED"), NULL, 0);
  tcase_add_checked_fixture(cases, open_contexts, close_contexts);
  tcase_set_timeout(cases, 300);
  tcase_add_loop_test(cases, no_call_is_taken_for_another, 0, KINDS * CALLINGS);
  tcase_add_loop_test(cases, other_addresses_are_no_other_call, 0, KINDS);
  tcase_add_loop_test(cases, calls_that_take_turns_are_right, 0, KINDS);
  tcase_add_test(cases, steps_that_go_down_are_scanned_from_below);
  tcase_add_test(cases, threads_share_a_context_and_a_plan);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
