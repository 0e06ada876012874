/*
 * test_rows.c - tensors of any rank and strides become the rows that they are
 * SPDX-License-Identifier: MIT
 *
 * Judged by enumeration: every row of the problem, found by counting through its shape, must be found again among the
 * rows, at the same addresses, with the same number for initial values and totals.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "run_tests.h"

/* A row, by where it starts in each array and its number. */
typedef struct place {
  int64_t in, out, mask, row;
} place;

static int by_row(const void *a, const void *b) {
  const place *x = a, *y = b;
  return x->row < y->row ? -1 : x->row > y->row;
}

/* Counts one up; false after the last. */
static bool next(int64_t *index, const int64_t *shape, int rank, int skip) {
  for (int d = rank - 1; d >= 0; d--) {
    if (d == skip)
      continue;
    if (++index[d] < shape[d])
      return true;
    index[d] = 0;
  }
  return false;
}

static int64_t dot(const int64_t *index, const int64_t *stride, int rank) {
  int64_t sum = 0;
  for (int d = 0; d < rank; d++)
    sum += index[d] * stride[d];
  return sum;
}

static int expected(place *places, const rowscan_problem *problem, int dim) {
  int64_t index[64] = {0};
  int count = 0;
  do {
    places[count] =
        (place){dot(index, problem->input.strides, problem->rank), dot(index, problem->output.strides, problem->rank),
                problem->mask_mode ? dot(index, problem->mask.strides, problem->rank) : 0, count};
    count++;
  } while (next(index, problem->shape, problem->rank, dim));
  return count;
}

static int found(place *places, const rs_rows *rows) {
  int64_t index[64] = {0};
  int count = 0;
  do {
    places[count++] = (place){dot(index, rows->in_stride, rows->rank), dot(index, rows->out_stride, rows->rank),
                              dot(index, rows->mask_stride, rows->rank), dot(index, rows->row_stride, rows->rank)};
  } while (next(index, rows->shape, rows->rank, -1));
  qsort(places, (size_t)count, sizeof *places, by_row);
  return count;
}

static float memory[1];

static void compare(rowscan_problem problem, rs_rows *rows, rowscan_spec *spec) {
  static place want[4096], have[4096];
  problem.size = sizeof problem;
  problem.input.data = problem.output.data = memory;
  problem.input.type = ROWSCAN_F32;
  problem.mask.type = ROWSCAN_F32;
  if (problem.mask_mode)
    problem.mask.data = memory;
  ck_assert_msg(rs_rows_from_problem(rows, spec, &problem) == ROWSCAN_OK, "%s", rowscan_last_error());
  int dim = problem.dim < 0 ? problem.dim + problem.rank : problem.dim;
  int count = expected(want, &problem, dim);
  ck_assert_int_eq(rows->count, count);
  ck_assert_int_eq(found(have, rows), count);
  ck_assert(!memcmp(want, have, (size_t)count * sizeof *want));
  ck_assert_int_eq(spec->length, problem.shape[dim]);
  ck_assert_int_eq(rows->in_step, problem.input.strides[dim]);
  ck_assert_int_eq(rows->out_step, problem.output.strides[dim]);
}

static void dense(int64_t *strides, const int64_t *shape, int rank) {
  int64_t step = 1;
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = step;
    step *= shape[d];
  }
}

START_TEST(dense_tensors_join) {
  int64_t shape[] = {3, 4, 5, 6}, strides[4];
  dense(strides, shape, 4);
  static const struct {
    int dim, rank;
    rowscan_layout layout;
  } table[] = {{-1, 1, ROWSCAN_LAYOUT_ROWS},
               {3, 1, ROWSCAN_LAYOUT_ROWS},
               {2, 2, ROWSCAN_LAYOUT_COLUMNS},
               {1, 2, ROWSCAN_LAYOUT_COLUMNS},
               {0, 1, ROWSCAN_LAYOUT_COLUMNS}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    rs_rows rows;
    rowscan_spec spec;
    compare((rowscan_problem){.rank = 4,
                              .dim = table[i].dim,
                              .shape = shape,
                              .input = {.strides = strides},
                              .output = {.strides = strides}},
            &rows, &spec);
    ck_assert_int_eq(rows.rank, table[i].rank);
    ck_assert_int_eq(spec.row_rank, table[i].rank);
    ck_assert_int_eq(spec.layout, table[i].layout);
  }
}
END_TEST

START_TEST(null_strides_are_dense) {
  int64_t shape[] = {3, 4, 5}, strides[3];
  dense(strides, shape, 3);
  rs_rows given, none;
  rowscan_spec spec;
  compare(
      (rowscan_problem){
          .rank = 3, .dim = 1, .shape = shape, .input = {.strides = strides}, .output = {.strides = strides}},
      &given, &spec);
  rowscan_problem problem = {.size = sizeof problem,
                             .rank = 3,
                             .dim = 1,
                             .shape = shape,
                             .input = {memory, ROWSCAN_F32, NULL},
                             .output = {memory, ROWSCAN_F32, NULL}};
  ck_assert_int_eq(rs_rows_from_problem(&none, &spec, &problem), ROWSCAN_OK);
  ck_assert_int_eq(none.rank, given.rank);
  ck_assert(!memcmp(none.in_stride, given.in_stride, (size_t)given.rank * sizeof(int64_t)));
}
END_TEST

/* Any permutation of dimensions, signs, zeros in the inputs and gaps. */
START_TEST(random_strides) {
  srand(1);
  for (int round = 0; round < 2000; round++) {
    int rank = 1 + rand() % 6;
    int64_t shape[6], in[6], out[6], mask[6], step = 1;
    int order[6];
    for (int d = 0; d < rank; d++) {
      shape[d] = 1 + rand() % 4;
      order[d] = d;
    }
    for (int d = rank - 1; d > 0; d--) {
      int other = rand() % (d + 1), keep = order[d];
      order[d] = order[other];
      order[other] = keep;
    }
    for (int d = 0; d < rank; d++) {
      out[order[d]] = step;
      step *= shape[order[d]] + rand() % 2;
    }
    for (int d = 0; d < rank; d++) {
      in[d] = rand() % 3 ? out[d] * (rand() % 2 ? 1 : -1) : rand() % 2 * 7;
      mask[d] = rand() % 3 ? out[d] : 0;
    }
    rs_rows rows;
    rowscan_spec spec;
    compare((rowscan_problem){.rank = rank,
                              .dim = rand() % rank - (rand() % 2 ? rank : 0),
                              .shape = shape,
                              .input = {.strides = in},
                              .output = {.strides = out},
                              .mask = {.strides = mask},
                              .mask_mode = rand() % 2 ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE},
            &rows, &spec);
  }
}
END_TEST

START_TEST(refusals) {
  int64_t shape[] = {2, 3}, negative[] = {2, -3}, huge[] = {INT64_MAX, 3};
  const struct {
    rowscan_problem problem;
    const char *field, *value;
  } table[] = {
      {{.size = 1}, "'size'", "1"},
      {{.rank = 0, .shape = shape}, "'rank'", "0"},
      {{.rank = 65, .shape = shape}, "'rank'", "65"},
      {{.rank = 2, .dim = 2, .shape = shape}, "'dim'", "2"},
      {{.rank = 2, .dim = -3, .shape = shape}, "'dim'", "-3"},
      {{.rank = 2}, "'shape'", "NULL"},
      {{.rank = 2, .shape = negative}, "'shape'", "-3"},
      {{.rank = 2, .shape = huge}, "'shape'", "2^63"},
      {{.rank = 2, .shape = shape}, "'input'", "NULL"},
      {{.rank = 2, .shape = shape, .input = {.data = memory}}, "'output'", "NULL"},
      {{.rank = 2, .shape = shape, .input = {.data = (char *)memory + 1}, .output = {.data = memory}},
       "'input'",
       "aligned"},
      {{.rank = 2,
        .shape = shape,
        .input = {.data = memory},
        .output = {.data = memory},
        .mask_mode = ROWSCAN_MASK_SELECT},
       "'mask'",
       "NULL"},
      {{.rank = 2, .shape = shape, .input = {.data = memory}, .output = {.data = memory}, .totals = (char *)memory + 2},
       "'totals'",
       "aligned"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    rowscan_problem problem = table[i].problem;
    if (!problem.size)
      problem.size = sizeof problem;
    rs_rows rows;
    rowscan_spec spec;
    ck_assert_int_eq(rs_rows_from_problem(&rows, &spec, &problem), ROWSCAN_BAD_ARGUMENT);
    ck_assert_msg(strstr(rowscan_last_error(), table[i].field) && strstr(rowscan_last_error(), table[i].value),
                  "case %zu: %s", i, rowscan_last_error());
  }
}
END_TEST

START_TEST(args) {
  rowscan_spec spec = {.size = sizeof spec, .length = 7, .row_rank = 2};
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  int64_t shape[] = {4, 5}, strides[] = {-70, 0, 3};
  rowscan_args given = {
      .size = sizeof given, .input = memory, .output = memory, .row_shape = shape, .input_strides = strides};
  rs_rows rows;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &given), ROWSCAN_OK);
  ck_assert_int_eq(rows.count, 20);
  ck_assert_int_eq(rows.in_stride[0], -70);
  ck_assert_int_eq(rows.in_stride[1], 0);
  ck_assert_int_eq(rows.in_step, 3);
  ck_assert_int_eq(rows.out_stride[0], 35);
  ck_assert_int_eq(rows.out_stride[1], 7);
  ck_assert_int_eq(rows.out_step, 1);
  ck_assert_int_eq(rows.row_stride[0], 5);
  ck_assert_int_eq(rows.row_stride[1], 1);

  rowscan_args bad = given;
  bad.rows = 19;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &bad), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "19"));
  bad = given;
  bad.row_shape = NULL;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &bad), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'row_shape'"));

  /* As many elements as have no number, also where a dimension of 0 leaves none. */
  int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40}, none[] = {0, INT64_MAX / 7 + 1}, most[] = {0, INT64_MAX / 7};
  bad.row_shape = huge;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &bad), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'row_shape': the product with the length, 7, is over 2^63"));
  bad.row_shape = none;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &bad), ROWSCAN_BAD_ARGUMENT);
  bad.row_shape = most;
  bad.input_strides = NULL;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &bad), ROWSCAN_OK);
  ck_assert_int_eq(rows.count, 0);
  rowscan_spec one = {.size = sizeof one, .length = INT64_C(1) << 40};
  ck_assert_int_eq(rowscan_spec_complete(&one), ROWSCAN_OK);
  bad = (rowscan_args){.size = sizeof bad, .input = memory, .output = memory, .rows = INT64_C(1) << 40};
  ck_assert_int_eq(rs_rows_from_args(&rows, &one, &bad), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'rows': the product with the length, 1099511627776, is over"));

  /* Strides that lead nowhere are not counted with. */
  int64_t ones[] = {1, 2}, far[] = {INT64_MAX, 7, INT64_MIN};
  rowscan_spec short_one = {.size = sizeof short_one, .length = 1, .row_rank = 2};
  ck_assert_int_eq(rowscan_spec_complete(&short_one), ROWSCAN_OK);
  bad = (rowscan_args){.size = sizeof bad, .input = memory, .output = memory, .row_shape = ones};
  bad.input_strides = bad.output_strides = far;
  ck_assert_int_eq(rs_rows_from_args(&rows, &short_one, &bad), ROWSCAN_OK);
  ck_assert(rows.in_stride[0] == 0 && rows.in_stride[1] == 7 && rows.in_step == 0);
  ck_assert(rows.out_stride[0] == 0 && rows.out_stride[1] == 7 && rows.out_step == 0);

  spec.layout = ROWSCAN_LAYOUT_COLUMNS;
  given.input_strides = NULL;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &given), ROWSCAN_OK);
  ck_assert_int_eq(rows.in_stride[0], 35);
  ck_assert_int_eq(rows.in_stride[1], 1);
  ck_assert_int_eq(rows.in_step, 5);
}
END_TEST

/* ---- strides that can't be --------------------------------------------------------------------------------------- */

static const int64_t wild[] = {INT64_MIN,     INT64_MIN + 1, INT64_MIN / 2,          INT64_MAX,
                               INT64_MAX - 1, INT64_MAX / 2, (INT64_C(1) << 60) + 1, -(INT64_C(1) << 61)};
enum { WILD = sizeof wild / sizeof *wild };

static int64_t any_wild(void) {
  return wild[rand() % WILD];
}

/*
 * Where there are no elements, or one alone, strides may be any numbers: nothing is counted with them, and totals and
 * the one element come out. UndefinedBehaviorSanitizer is the judge.
 */
START_TEST(wild_strides_that_lead_nowhere) {
  enum { ROOM = 600 };
  static float data[1] = {5}, out[1], totals[ROOM];
  static bool mask[1] = {true};
  rowscan_context *context;
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 2, .cache_off = 1)));
  srand(2);
  for (int round = 0; round < 4000; round++) {
    int rank = 1 + rand() % 4, empty = rand() % 3;
    int64_t shape[4], in[4], output[4], of_mask[4], rows = 1;
    for (int d = 0; d < rank; d++) {
      shape[d] = empty && rand() % 2 ? 1 + rand() % 8 : 1;
      in[d] = any_wild();
      output[d] = any_wild();
      of_mask[d] = any_wild();
    }
    int dim = rand() % rank;
    if (empty)
      shape[empty == 1 ? dim : rand() % rank] = 0;
    for (int d = 0; d < rank; d++)
      rows *= d == dim ? 1 : shape[d];
    ck_assert_int_le(rows, ROOM);
    for (int i = 0; i < ROOM; i++)
      totals[i] = -1;
    out[0] = -1;
    rowscan_status status = rowscan_scan(
        context,
        ROWSCAN_PROBLEM(.rank = rank, .dim = dim, .shape = shape, .flags = (unsigned)rand() % 4,
                        .input = {data, ROWSCAN_F32, in}, .output = {out, ROWSCAN_F32, output},
                        .mask = {mask, ROWSCAN_BOOL, of_mask},
                        .mask_mode = rand() % 2 ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE, .totals = totals),
        NULL);
    ck_assert_msg(status == ROWSCAN_OK, "%s", rowscan_last_error());
    for (int64_t i = 0; i < rows; i++)
      ck_assert_float_eq(totals[i], empty ? 0 : 5);
    ck_assert_float_eq(totals[rows], -1);
    ck_assert(empty ? out[0] == -1 : out[0] == 5 || out[0] == 0);
  }
  rowscan_close(context);
}
END_TEST

/* The same through a plan, whose rows keep their dimensions. */
START_TEST(wild_strides_of_a_plan) {
  static float data[1] = {5}, out[1], totals[64];
  rowscan_context *context;
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 2, .cache_off = 1)));
  srand(3);
  for (int round = 0; round < 4000; round++) {
    int64_t shape[3], in[4], output[4];
    int empty = rand() % 3; /* 1: rows of no elements, 2: no rows */
    for (int d = 0; d < 3; d++)
      shape[d] = empty ? 1 + rand() % 4 : 1;
    if (empty == 2)
      shape[rand() % 3] = 0;
    for (int d = 0; d < 4; d++) {
      in[d] = any_wild();
      output[d] = any_wild();
    }
    rowscan_plan *plan;
    rowscan_spec *spec = ROWSCAN_SPEC(.row_rank = 3,
                                      .length = empty == 1 ? 0
                                                : empty    ? 9
                                                           : 1,
                                      .layout = rand() % 2 ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS,
                                      .flags = (unsigned)rand() % 4);
    ck_assert(!rowscan_plan_create(&plan, context, spec));
    totals[0] = -1;
    rowscan_status status =
        rowscan_plan_run(plan,
                         ROWSCAN_ARGS(.input = data, .output = out, .row_shape = shape, .input_strides = in,
                                      .output_strides = output, .totals = totals),
                         NULL);
    ck_assert_msg(status == ROWSCAN_OK, "%s", rowscan_last_error());
    ck_assert_float_eq(totals[0], empty == 2 ? -1 : empty ? 0 : 5);
    rowscan_plan_destroy(plan);
  }
  rowscan_close(context);
}
END_TEST

/* Where they lead somewhere, that is nowhere in memory. */
START_TEST(wild_strides_that_lead_somewhere) {
  static const int64_t too_far[] = {INT64_MIN,     INT64_MIN + 1,          INT64_MAX,
                                    INT64_MAX - 1, (INT64_C(1) << 62) + 1, -(INT64_C(1) << 62) - 1};
  static const char *const fields[] = {"'input.strides'", "'output.strides'", "'mask.strides'"};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  rs_rows rows;
  rowscan_spec made, spec = {.size = sizeof spec, .length = 3, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_U8};
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  for (int i = 0; i < 12; i++) {
    int64_t bad[2] = {i % 2 ? 3 : too_far[i / 2], i % 2 ? too_far[i / 2] : 1};
    char value[32];
    snprintf(value, sizeof value, "%d, %lld:", i % 2, (long long)too_far[i / 2]);
    for (int which = 0; which < 3; which++) {
      rowscan_problem problem = {.size = sizeof problem,
                                 .rank = 2,
                                 .dim = rand() % 2,
                                 .shape = shape,
                                 .input = {memory, ROWSCAN_U8, which == 0 ? bad : strides},
                                 .output = {memory, ROWSCAN_U8, which == 1 ? bad : strides},
                                 .mask = {memory, ROWSCAN_U8, which == 2 ? bad : strides},
                                 .mask_mode = ROWSCAN_MASK_SELECT};
      ck_assert_int_eq(rs_rows_from_problem(&rows, &made, &problem), ROWSCAN_BAD_ARGUMENT);
      ck_assert_ptr_nonnull(strstr(rowscan_last_error(), fields[which]));
      ck_assert_ptr_nonnull(strstr(rowscan_last_error(), value));
    }
    rowscan_args args = {.size = sizeof args, .rows = 2, .input = memory, .output = memory, .input_strides = bad};
    ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &args), ROWSCAN_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'input_strides'"));
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), value));
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("rows");
  TCase *all = tcase_create("all");
  tcase_set_timeout(all, 120); /* machines are shared */
  tcase_add_test(all, dense_tensors_join);
  tcase_add_test(all, null_strides_are_dense);
  tcase_add_test(all, random_strides);
  tcase_add_test(all, refusals);
  tcase_add_test(all, args);
  tcase_add_test(all, wild_strides_that_lead_nowhere);
  tcase_add_test(all, wild_strides_of_a_plan);
  tcase_add_test(all, wild_strides_that_lead_somewhere);
  suite_add_tcase(suite, all);
  return run_tests(suite);
}
