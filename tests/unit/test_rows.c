/*
 * test_rows.c - tensors of any rank and strides become the rows that they are
 * SPDX-License-Identifier: MIT
 *
 * Judged by enumeration: every row of the problem, found by counting through its shape, must be found again among the
 * rows, at the same addresses, those of its initial value and its total included. Overlaps are judged likewise: by
 * marking every byte of every array.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/rows_help.h"
#include "../support/run_tests.h"
#include "spec/rows.h"

/* A row, by where it starts in each array. */
typedef struct place {
  int64_t at[RS_ARRAYS];
} place;

/* The array whose strides number the rows; of initial values and totals the other one may have any. */
static rs_which numbers;

static int by_number(const void *a, const void *b) {
  int64_t x = ((const place *)a)->at[numbers], y = ((const place *)b)->at[numbers];
  return x < y ? -1 : x > y;
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
  const int64_t *strides[RS_ARRAYS] = {problem->input.strides, problem->output.strides, problem->mask.strides,
                                       problem->init.strides, problem->totals.strides};
  int64_t index[64] = {0};
  int count = 0;
  do {
    for (int a = 0; a < RS_ARRAYS; a++)
      places[count].at[a] = a == RS_MASK && !problem->mask_mode ? 0
                            : strides[a]                        ? dot(index, strides[a], problem->rank)
                                                                : count;
    count++;
  } while (next(index, problem->shape, problem->rank, dim));
  return count;
}

static int found(place *places, const rs_rows *rows) {
  int64_t index[64] = {0};
  int count = 0;
  do {
    for (int a = 0; a < RS_ARRAYS; a++)
      places[count].at[a] = dot(index, rows->array[a].stride, rows->rank);
    count++;
  } while (next(index, rows->shape, rows->rank, -1));
  qsort(places, (size_t)count, sizeof *places, by_number);
  return count;
}

static float memory[1];

static void compare(rowscan_problem problem, rs_rows *rows, rowscan_spec *spec) {
  static place want[4096], have[4096];
  problem.size = sizeof problem;
  problem.input.data = problem.output.data = memory;
  problem.init.data = problem.totals.data = memory;
  numbers = problem.totals.strides ? RS_INIT : RS_TOTALS;
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
  ck_assert_int_eq(rows->array[RS_IN].step, problem.input.strides[dim]);
  ck_assert_int_eq(rows->array[RS_OUT].step, problem.output.strides[dim]);
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
  ck_assert(!memcmp(none.array[RS_IN].stride, given.array[RS_IN].stride, (size_t)given.rank * sizeof(int64_t)));
}
END_TEST

/* Any permutation of dimensions, signs, zeros in the inputs and gaps; initial values or totals as they like. */
START_TEST(random_strides) {
  srand(1);
  for (int round = 0; round < 2000; round++) {
    int rank = 1 + rand() % 6;
    int64_t shape[6], in[6], out[6], mask[6], end[6], step = 1;
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
      end[d] = rand() % 3 ? out[d] * (rand() % 3 - 1) : rand() % 7;
    }
    int ends = rand() % 3;
    rs_rows rows;
    rowscan_spec spec;
    compare((rowscan_problem){.rank = rank,
                              .dim = rand() % rank - (rand() % 2 ? rank : 0),
                              .shape = shape,
                              .input = {.strides = in},
                              .output = {.strides = out},
                              .mask = {.strides = mask},
                              .init = {.strides = ends == 1 ? end : NULL},
                              .totals = {.strides = ends == 2 ? end : NULL},
                              .mask_mode = rand() % 2 ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE},
            &rows, &spec);
  }
}
END_TEST

START_TEST(refusals) {
  int64_t shape[] = {2, 3}, negative[] = {2, -3}, huge[] = {INT64_MAX, 3},
          many[] = {INT64_C(1) << 30, INT64_C(1) << 30};
  int64_t one[] = {2}, far[] = {(INT64_C(1) << 61) + 1}, broadcast[] = {0, 0};
  const struct {
    rowscan_problem problem;
    const char *field, *value;
  } table[] = {
      {{.size = 1}, "'size'", "1"},
      {{.rank = 1, .shape = shape, .flags = ROWSCAN_INCLUDE_INITIAL | ROWSCAN_EXCLUSIVE},
       "'flags'",
       "exclude each other"},
      {{.rank = 1, .shape = shape, .mask = {.reserved = {memory}}}, "'mask.reserved'", "not NULL"},
      {{.rank = 1, .shape = shape, .init = {.data = memory, .type = ROWSCAN_F64}}, "'init.type'", "f64"},
      {{.rank = 1, .shape = shape, .totals = {.data = memory, .type = ROWSCAN_I8}}, "'totals.type'", "i8"},
      {{.rank = 1, .shape = shape, .init = {.data = memory, .type = 99}}, "'init.type'", "99 is not one of f16, bf16"},
      {{.rank = 0, .shape = shape}, "'rank'", "0 is not between 1 and 64"},
      {{.rank = 65, .shape = shape}, "'rank'", "65 is not between 1 and 64"},
      {{.rank = 2, .dim = 2, .shape = shape}, "'dim'", "2 is not between -2 and 1"},
      {{.rank = 2, .dim = -3, .shape = shape}, "'dim'", "-3 is not between -2 and 1"},
      {{.rank = 2}, "'shape'", "NULL"},
      {{.rank = 2, .shape = negative}, "'shape'", "-3"},
      {{.rank = 2, .shape = huge}, "'shape'", "element 1, 3: the number of elements exceeds 2^63 - 1"},
      {{.rank = 2, .shape = many, .input = {.data = memory, .strides = broadcast}, .output = {.data = memory}},
       "'shape'",
       "1073741824 rows of 1073741824 elements exceed 2^56"},
      {{.rank = 1, .shape = one, .input = {.data = memory}, .output = {.data = memory, .type = ROWSCAN_F64}},
       "'input.type'",
       "not set, which means f32, but 'output.type' is f64"},
      {{.rank = 1, .shape = one, .output = {.data = memory, .type = ROWSCAN_F16}}, "'input.type'", "f16"},
      {{.rank = 1,
        .shape = one,
        .flags = ROWSCAN_INCLUDE_INITIAL,
        .input = {.data = memory},
        .output = {.data = memory, .strides = far}},
       "'output.strides'",
       "element 0, 2305843009213693953"},
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
      {{.rank = 2,
        .shape = shape,
        .input = {.data = memory},
        .output = {.data = memory},
        .totals = {.data = (char *)memory + 2}},
       "'totals'",
       "aligned"},
      {{.rank = 1, .shape = shape, .more = {{.reserved = {memory}}}}, "'more[0].reserved'", "not NULL"},
      {{.rank = 1, .shape = shape, .more = {{.data = memory}}}, "'more[0]'", "but this scan of sum has no such array"},
      {{.rank = 1, .shape = shape, .more = {{.type = ROWSCAN_F32}}}, "'more1'", "sum has 0 further inputs"},
      {{.rank = 1, .shape = shape, .second = {.data = memory}}, "'second'", "sum has one output"},
      {{.rank = 1, .shape = shape, .segments = {.data = memory}}, "'segments'", "has no such array"},
      {{.rank = 1, .shape = shape, .mask = {.data = memory}},
       "'mask'",
       "mask_mode is none; set it to select, multiply"},
      {{.rank = 1, .shape = shape, .mask = {.data = memory}, .segment_mode = ROWSCAN_MASK_HEADS},
       "'mask'",
       "mask_mode is none"},
      {{.rank = 1, .shape = shape, .params = {0, 0.5}}, "'params'", "element 1, 0.5, but sum has 0 parameters"},
      {{.rank = 1,
        .shape = shape,
        .input = {.data = memory},
        .output = {.data = memory},
        .mask = {.data = memory},
        .mask_mode = ROWSCAN_MASK_SELECT,
        .segment_mode = ROWSCAN_MASK_KEYS},
       "'segments'",
       "NULL, but there are elements"},
      {{.rank = 1,
        .shape = shape,
        .input = {.data = memory},
        .output = {.data = memory},
        .segment_mode = ROWSCAN_MASK_HEADS},
       "'segments'",
       "NULL, but there are elements"},
      {{.op = ROWSCAN_GAE, .rank = 1, .shape = shape, .params = {NAN, 1}}, "'params'", "element 0, gamma, is nan"},
      {{.op = ROWSCAN_GAE, .rank = 1, .shape = shape, .params = {1, NAN}}, "'params'", "element 1, lambda, is nan"},
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

/* Without a mask mode strides are not looked at, so that rows join; an address is refused. */
START_TEST(a_mask_that_is_not_there) {
  const int64_t shape[] = {2, 3, 5}, turned[] = {5, 10, 1}, ends[] = {1, 2, 0}, far[] = {INT64_MAX, 7, INT64_MIN};
  for (int given = 0; given < 2; given++) {
    rowscan_problem problem = {.size = sizeof problem, .rank = 3, .dim = 2, .shape = shape};
    problem.input.data = problem.output.data = problem.totals.data = memory;
    problem.input.strides = problem.output.strides = turned;
    problem.totals.strides = ends;
    problem.mask.strides = given ? far : NULL;
    rs_rows rows;
    rowscan_spec spec;
    ck_assert_msg(!rs_rows_from_problem(&rows, &spec, &problem), "%s", rowscan_last_error());
    ck_assert_int_eq(rows.rank, 1);
    ck_assert_int_eq(rows.array[RS_TOTALS].stride[0], 1);
    ck_assert_ptr_null(rows.array[RS_MASK].data);
  }
  rowscan_spec spec = {.size = sizeof spec, .length = 5};
  ck_assert(!rowscan_spec_complete(&spec));
  rowscan_args args = {.size = sizeof args, .rows = 6, .input = memory, .output = memory, .totals = memory};
  args.mask_strides = (const int64_t *)8;
  rs_rows rows;
  ck_assert_msg(!rs_rows_from_args(&rows, &spec, &args), "%s", rowscan_last_error());
  ck_assert_ptr_null(rows.array[RS_MASK].data);
  ck_assert_int_eq(rows.array[RS_MASK].stride[0], 0);
  args.mask = memory;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &args), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "field 'mask': "));
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "but mask_mode is none; set it to select, multiply"));
}
END_TEST

static char room[1024] __attribute__((aligned(64)));

/* Beside nothing else, what tells segments takes the place of a mask. */
START_TEST(segments_alone) {
  const int64_t shape[] = {6};
  rowscan_problem problem = {.size = sizeof problem, .rank = 1, .shape = shape, .segment_mode = ROWSCAN_MASK_KEYS};
  problem.input.data = problem.output.data = room;
  problem.segments = (rowscan_input){.data = room + 64, .type = ROWSCAN_U16};
  rs_rows rows;
  rowscan_spec spec;
  ck_assert_msg(!rs_rows_from_problem(&rows, &spec, &problem), "%s", rowscan_last_error());
  ck_assert_int_eq(spec.mask_mode, ROWSCAN_MASK_KEYS);
  ck_assert_int_eq(spec.mask_type, ROWSCAN_U16);
  ck_assert_int_eq(spec.segment_mode, ROWSCAN_MASK_NONE);
  ck_assert_ptr_eq(rows.array[RS_MASK].data, room + 64);
  ck_assert(!rows.further);
}
END_TEST

/* They lie as they like, are told from others, and may not be written by an output. */
START_TEST(further_arrays) {
  const int64_t shape[] = {2, 3}, turned[] = {1, 2};
  rowscan_problem problem = {.size = sizeof problem, .rank = 2, .dim = 1, .shape = shape, .op = ROWSCAN_ARGMAX};
  problem.input.data = room;
  problem.output = (rowscan_output){.data = room + 64, .strides = turned};
  problem.second = (rowscan_output){.data = room + 256, .strides = turned};
  problem.mask = (rowscan_input){.data = room + 512};
  problem.mask_mode = ROWSCAN_MASK_SELECT;
  problem.segments = (rowscan_input){.data = room + 768, .strides = turned};
  problem.segment_mode = ROWSCAN_MASK_HEADS;
  rs_rows rows;
  rowscan_spec spec;
  ck_assert_msg(!rs_rows_from_problem(&rows, &spec, &problem), "%s", rowscan_last_error());
  ck_assert(rows.further);
  ck_assert_int_eq(spec.second_type, ROWSCAN_F32);
  ck_assert_int_eq(spec.segment_type, ROWSCAN_BOOL);
  ck_assert_int_eq(rows.array[RS_SECOND].step, 2);
  ck_assert_int_eq(rows.array[RS_SEGMENTS].stride[0], 1);
  ck_assert_int_eq(rows.array[RS_MASK].stride[0], 3);
  ck_assert_ptr_null(rows.array[RS_MORE_IN].data);
  ck_assert(!rs_overlap_check(&rows, &spec, NULL, 0));
  rows.array[RS_SEGMENTS].data = room + 256 + 20;
  ck_assert_int_eq(rs_overlap_check(&rows, &spec, NULL, 0), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "fields 'second' and 'segments': the arrays overlap"));
  rows.array[RS_SEGMENTS].data = NULL;
  rows.array[RS_SECOND].data = rows.array[RS_IN].data;
  ck_assert_int_eq(rs_overlap_check(&rows, &spec, NULL, 0), ROWSCAN_BAD_ARGUMENT);
}
END_TEST

/* Coefficients lie in the place of a mask, or beside one among the further inputs. */
START_TEST(coefficients) {
  const int64_t shape[] = {2, 3}, one_a_row[] = {1, 0};
  rowscan_problem problem = {.size = sizeof problem, .rank = 2, .dim = 1, .shape = shape};
  problem.op = ROWSCAN_LINEAR_RECURRENCE;
  problem.input.data = problem.output.data = room;
  rs_rows rows;
  rowscan_spec spec;
  ck_assert_int_eq(rs_rows_from_problem(&rows, &spec, &problem), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "field 'coefficient': NULL, but there are elements"));
  problem.mask.data = room + 512;
  problem.mask_mode = ROWSCAN_MASK_SELECT;
  ck_assert_int_eq(rs_rows_from_problem(&rows, &spec, &problem), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(),
                               "field 'more[0]': NULL, but linear_recurrence with a mask reads its coefficients here"));
  problem.more[0] = (rowscan_input){.data = room + 256, .strides = one_a_row};
  ck_assert_msg(!rs_rows_from_problem(&rows, &spec, &problem), "%s", rowscan_last_error());
  ck_assert_int_eq(spec.mask_type, ROWSCAN_BOOL);
  ck_assert_int_eq(spec.more_types[0], ROWSCAN_F32);
  ck_assert_int_eq(rows.array[RS_MORE_IN].step, 0);
  ck_assert_int_eq(rows.array[RS_MASK].step, 1);
  ck_assert(!rs_overlap_check(&rows, &spec, NULL, 0));
  rows.array[RS_MASK].data = room + 8;
  ck_assert_int_eq(rs_overlap_check(&rows, &spec, NULL, 0), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "fields 'output' and 'mask': the arrays overlap"));
  problem.mask.data = NULL;
  ck_assert_int_eq(rs_rows_from_problem(&rows, &spec, &problem), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "field 'mask': NULL, but there are elements"));
}
END_TEST

/* Of any length a run tells which; no initial value has an index. */
START_TEST(args_of_indices) {
  rowscan_spec spec = {.size = sizeof spec, .op = ROWSCAN_ARGMAX, .length = ROWSCAN_ANY_LENGTH}, own;
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  const rowscan_spec *run = &spec;
  rowscan_args args = {.size = sizeof args, .rows = 1, .input = memory, .output = memory};
  args.length = (INT64_C(1) << 32) - 2;
  ck_assert_int_eq(rs_spec_of_run(&run, &own, &args), ROWSCAN_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'length': 4294967294 exceeds 4294967293"));
  args.length = 7;
  run = &spec;
  ck_assert_int_eq(rs_spec_of_run(&run, &own, &args), ROWSCAN_OK);
  rs_rows rows;
  ck_assert_int_eq(rs_rows_from_args(&rows, run, &args), ROWSCAN_OK);
  args.init = memory;
  ck_assert_int_eq(rs_rows_from_args(&rows, run, &args), ROWSCAN_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'init'"));
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "but argmax accepts no initial values"));
}
END_TEST

START_TEST(args) {
  rowscan_spec spec = {.size = sizeof spec, .length = 7, .row_rank = 2};
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  int64_t shape[] = {4, 5}, strides[] = {-70, 0, 3};
  rowscan_args given = {.size = sizeof given,
                        .input = memory,
                        .output = memory,
                        .init = memory,
                        .row_shape = shape,
                        .input_strides = strides};
  rs_rows rows;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &given), ROWSCAN_OK);
  ck_assert_int_eq(rows.count, 20);
  ck_assert_int_eq(rows.array[RS_IN].stride[0], -70);
  ck_assert_int_eq(rows.array[RS_IN].stride[1], 0);
  ck_assert_int_eq(rows.array[RS_IN].step, 3);
  ck_assert_int_eq(rows.array[RS_OUT].stride[0], 35);
  ck_assert_int_eq(rows.array[RS_OUT].stride[1], 7);
  ck_assert_int_eq(rows.array[RS_OUT].step, 1);
  ck_assert_int_eq(rows.array[RS_INIT].stride[0], 5);
  ck_assert_int_eq(rows.array[RS_INIT].stride[1], 1);

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
  ck_assert_ptr_nonnull(
      strstr(rowscan_last_error(), "'row_shape': with the length 7, the number of elements exceeds 2^63"));
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
  ck_assert_ptr_nonnull(
      strstr(rowscan_last_error(), "'rows': with the length 1099511627776, the number of elements exceeds"));

  /* Strides that lead nowhere are not counted with. */
  int64_t ones[] = {1, 2}, far[] = {INT64_MAX, 7, INT64_MIN};
  rowscan_spec short_one = {.size = sizeof short_one, .length = 1, .row_rank = 2};
  ck_assert_int_eq(rowscan_spec_complete(&short_one), ROWSCAN_OK);
  bad = (rowscan_args){.size = sizeof bad, .input = memory, .output = memory, .row_shape = ones};
  bad.input_strides = bad.output_strides = far;
  ck_assert_int_eq(rs_rows_from_args(&rows, &short_one, &bad), ROWSCAN_OK);
  ck_assert(rows.array[RS_IN].stride[0] == 0 && rows.array[RS_IN].stride[1] == 7 && rows.array[RS_IN].step == 0);
  ck_assert(rows.array[RS_OUT].stride[0] == 0 && rows.array[RS_OUT].stride[1] == 7 && rows.array[RS_OUT].step == 0);

  /* Initial values and totals have strides of their own, each dense ones by default. */
  int64_t apart[] = {50, 10}, other[] = {0, -11};
  given.totals = memory;
  given.totals_strides = apart;
  given.init_strides = other;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &given), ROWSCAN_OK);
  ck_assert(rows.array[RS_INIT].stride[0] == 0 && rows.array[RS_INIT].stride[1] == -11);
  ck_assert(rows.array[RS_TOTALS].stride[0] == 50 && rows.array[RS_TOTALS].stride[1] == 10);
  given.init_strides = NULL;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &given), ROWSCAN_OK);
  ck_assert(rows.array[RS_INIT].stride[0] == 5 && rows.array[RS_INIT].stride[1] == 1);
  ck_assert(rows.array[RS_TOTALS].stride[0] == 50 && rows.array[RS_TOTALS].stride[1] == 10);
  given.init = NULL;
  given.init_strides = far; /* of no array */
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &given), ROWSCAN_OK);
  ck_assert(rows.array[RS_INIT].stride[0] == 0 && rows.array[RS_INIT].stride[1] == 0);
  given.totals_strides = far;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &given), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'totals_strides': element 0, 9223372036854775807: with 4"));
  rowscan_spec none_of_a_row = {.size = sizeof none_of_a_row, .row_rank = 2};
  ck_assert_int_eq(rowscan_spec_complete(&none_of_a_row), ROWSCAN_OK);
  ck_assert_int_eq(rs_rows_from_args(&rows, &none_of_a_row, &given), ROWSCAN_BAD_ARGUMENT);
  given.totals = NULL;

  spec.layout = ROWSCAN_LAYOUT_COLUMNS;
  given.input_strides = NULL;
  ck_assert_int_eq(rs_rows_from_args(&rows, &spec, &given), ROWSCAN_OK);
  ck_assert_int_eq(rows.array[RS_IN].stride[0], 35);
  ck_assert_int_eq(rows.array[RS_IN].stride[1], 1);
  ck_assert_int_eq(rows.array[RS_IN].step, 5);
}
END_TEST

/* ---- overlaps ---------------------------------------------------------------------------------------------------- */

enum { ROOM = 4096, MIDDLE = 1536 };
static _Alignas(16) char place_of_all[ROOM];

/* What is marked, byte by byte; out: with the elements' numbers, from 1. */
typedef struct marks {
  int element[ROOM];
  bool itself;
} marks;

static void mark_element(marks *m, const char *at, int64_t bytes, int number) {
  for (int64_t i = at - place_of_all; i < at - place_of_all + bytes; i++) {
    if (i < 0 || i >= ROOM)
      abort();
    m->itself = m->itself || m->element[i];
    m->element[i] = number;
  }
}

static void mark(marks *m, const void *data, int64_t bytes, const rs_rows *rows, int64_t length, const int64_t *stride,
                 int64_t step) {
  int64_t index[64] = {0};
  int number = 1;
  memset(m, 0, sizeof *m);
  do {
    int64_t row = dot(index, stride, rows->rank);
    for (int64_t e = 0; e < length; e++)
      mark_element(m, (const char *)data + (row + e * step) * bytes, bytes, number++);
  } while (next(index, rows->shape, rows->rank, -1));
}

static bool meet(const marks *a, const marks *b) {
  bool any = false;
  for (int i = 0; i < ROOM; i++)
    any = any || (a->element[i] && b->element[i]);
  return any;
}

/* Each byte belongs to the same element. */
static bool equal(const marks *a, const marks *b) {
  return !memcmp(a->element, b->element, sizeof a->element);
}

static int64_t bytes_of(rowscan_type type) {
  return (int64_t)rowscan_type_bytes(type);
}

/* The names that a message must have; NULL: there is nothing to tell. */
static const char *judged(const rs_rows *rows, const rowscan_spec *spec, const char **other) {
  static marks out, in, mask, init, totals;
  int64_t before =
      rows->initial && !(spec->flags & ROWSCAN_REVERSE) ? rows->array[RS_OUT].step * bytes_of(spec->out_type) : 0;
  mark(&out, (const char *)rows->array[RS_OUT].data - before, bytes_of(spec->out_type), rows,
       spec->length + rows->initial, rows->array[RS_OUT].stride, rows->array[RS_OUT].step);
  mark(&in, rows->array[RS_IN].data, bytes_of(spec->in_type), rows, spec->length, rows->array[RS_IN].stride,
       rows->array[RS_IN].step);
  memset(&mask, 0, sizeof mask);
  memset(&init, 0, sizeof init);
  memset(&totals, 0, sizeof totals);
  if (rows->array[RS_MASK].data)
    mark(&mask, rows->array[RS_MASK].data, bytes_of(spec->mask_type), rows, spec->length, rows->array[RS_MASK].stride,
         rows->array[RS_MASK].step);
  if (rows->array[RS_INIT].data)
    mark(&init, rows->array[RS_INIT].data, bytes_of(rs_kept_type(spec->acc_type)), rows, 1, rows->array[RS_INIT].stride,
         0);
  if (rows->array[RS_TOTALS].data)
    mark(&totals, rows->array[RS_TOTALS].data, bytes_of(rs_kept_type(spec->acc_type)), rows, 1,
         rows->array[RS_TOTALS].stride, 0);
  bool in_place = !rows->initial && rows->array[RS_IN].data == rows->array[RS_OUT].data &&
                  spec->in_type == spec->out_type && equal(&out, &in);
  const struct {
    const marks *a, *b;
    const char *name, *other;
  } pairs[] = {{&out, &totals, "'output'", "'totals'"}, {&out, &in, "'output'", "'input'"},
               {&out, &mask, "'output'", "'mask'"},     {&out, &init, "'output'", "'init'"},
               {&totals, NULL, "'totals'", "itself"},   {&totals, &in, "'totals'", "'input'"},
               {&totals, &mask, "'totals'", "'mask'"},  {&totals, &init, "'totals'", "'init'"}};
  *other = "itself";
  if (out.itself)
    return "'output'";
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (!pairs[i].b ? pairs[i].a->itself
                    : meet(pairs[i].a, pairs[i].b) && !(pairs[i].b == &in && pairs[i].a == &out && in_place)) {
      *other = pairs[i].other;
      return pairs[i].name;
    }
  return NULL;
}

static void *somewhere(int64_t bytes) {
  return place_of_all + MIDDLE + rand() % 64 / bytes * bytes;
}

static void any_strides(int64_t *stride, int64_t *step, int rank) {
  for (int d = 0; d < rank; d++)
    stride[d] = rand() % 5 ? rand() % 13 - 6 : rand() % 31 - 15;
  *step = rand() % 13 - 6;
}

/* Arrays of up to 4 dimensions in little room, so that half of them meet. */
static void any_rows(rs_rows *rows, rowscan_spec *spec) {
  static const rowscan_type types[] = {ROWSCAN_I8, ROWSCAN_I16, ROWSCAN_I32, ROWSCAN_I64};
  *spec = (rowscan_spec){.size = sizeof *spec, .length = 1 + rand() % 4};
  spec->in_type = types[rand() % 4];
  spec->out_type = rand() % 2 ? spec->in_type : types[rand() % 4];
  spec->mask_mode = rand() % 3 ? ROWSCAN_MASK_NONE : ROWSCAN_MASK_SELECT;
  if (spec->mask_mode)
    spec->mask_type = rand() % 2 ? ROWSCAN_BOOL : spec->in_type;
  spec->row_rank = 1 + rand() % 3;
  ck_assert_int_eq(rowscan_spec_complete(spec), ROWSCAN_OK);
  rows->rank = spec->row_rank;
  rows->further = false;
  rows->count = 1;
  for (int d = 0; d < rows->rank; d++)
    rows->count *= rows->shape[d] = 1 + rand() % 4;
  any_strides(rows->array[RS_IN].stride, &rows->array[RS_IN].step, rows->rank);
  any_strides(rows->array[RS_OUT].stride, &rows->array[RS_OUT].step, rows->rank);
  any_strides(rows->array[RS_MASK].stride, &rows->array[RS_MASK].step, rows->rank);
  for (int a = RS_INIT; a < RS_ARRAYS; a++)
    for (int d = 0, step = 1; d < rows->rank; step *= (int)rows->shape[d++])
      rows->array[a].stride[d] = rand() % 4 ? step : rand() % 7 - 3;
  set_bytes(rows, spec);
  rows->initial = rand() % 4 == 0;
  spec->flags = rand() % 2 ? ROWSCAN_REVERSE : 0;
  rows->array[RS_IN].data = somewhere(bytes_of(spec->in_type));
  rows->array[RS_OUT].data = somewhere(bytes_of(spec->out_type));
  rows->array[RS_MASK].data = spec->mask_mode ? somewhere(bytes_of(spec->mask_type)) : NULL;
  rows->array[RS_INIT].data = rand() % 4 ? NULL : somewhere(bytes_of(rs_kept_type(spec->acc_type)));
  rows->array[RS_TOTALS].data = rand() % 4 ? NULL : somewhere(bytes_of(rs_kept_type(spec->acc_type)));
  if (rand() % 4 == 0) { /* in place, or nearly so */
    rows->array[RS_IN].data = rows->array[RS_OUT].data = place_of_all + MIDDLE;
    memcpy(rows->array[RS_IN].stride, rows->array[RS_OUT].stride, sizeof rows->array[RS_IN].stride);
    rows->array[RS_IN].step = rand() % 4 ? rows->array[RS_OUT].step : rows->array[RS_IN].step;
  }
}

START_TEST(overlaps_at_random) {
  int told = 0, itself = 0, rounds = 20000;
  srand(1);
  for (int round = 0; round < rounds; round++) {
    rs_rows rows;
    rowscan_spec spec;
    any_rows(&rows, &spec);
    const char *other, *name = judged(&rows, &spec, &other);
    rowscan_status status = rs_overlap_check(&rows, &spec, NULL, 0);
    ck_assert_msg(status == (name ? ROWSCAN_BAD_ARGUMENT : ROWSCAN_OK), "round %d: %s, but %s and %s", round,
                  status ? rowscan_last_error() : "OK", name ? name : "nothing", other);
    ck_assert_msg(!name || (strstr(rowscan_last_error(), name) && strstr(rowscan_last_error(), other)),
                  "round %d: %s, not %s and %s", round, rowscan_last_error(), name, other);
    told += name != NULL;
    itself += name && !strcmp(other, "itself");
  }
  ck_assert(told > rounds / 4 && told - itself > rounds / 10 && told < rounds * 9 / 10);
}
END_TEST

/* Offsets are in bytes from one allocation; strides in elements. */
static const struct {
  const char *what;
  int64_t shape[2];
  int64_t in, out, in_strides[2], out_strides[2];
  rowscan_type in_type, out_type;
  int64_t mask, mask_strides[2]; /* of bool; 0: none */
  int64_t init, totals;          /* 0: none */
  const char *first, *second;    /* that must be told; NULL: it is served */
} overlaps[] = {
    {"in place", .shape = {8, 16}, .in_strides = {16, 1}, .out_strides = {16, 1}, .in_type = ROWSCAN_F32,
     .out_type = ROWSCAN_F32},
    {"in place, backwards", .shape = {8, 16}, .in = 512, .out = 512, .in_strides = {-16, -1}, .out_strides = {-16, -1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32},
    {"in place, other types of one size", .shape = {8, 16}, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_I32, .out_type = ROWSCAN_F32},
    {"one row, whose stride is no matter", .shape = {1, 16}, .in_strides = {99, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32},
    {"even and odd elements", .shape = {8, 16}, .out = 4, .in_strides = {32, 2}, .out_strides = {32, 2},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32},
    {"even and odd elements, of two sizes", .shape = {1, 16}, .out = 8, .in_strides = {64, 4}, .out_strides = {32, 2},
     .in_type = ROWSCAN_I32, .out_type = ROWSCAN_I64},
    {"halves of each line", .shape = {8, 16}, .out = 64, .in_strides = {32, 1}, .out_strides = {32, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32},
    {"halves of each line, one reversed", .shape = {8, 16}, .out = 124, .in_strides = {32, 1}, .out_strides = {32, -1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32},
    {"every other line, transposed", .shape = {8, 16}, .out = 32, .in_strides = {1, 16}, .out_strides = {1, 16},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32},
    {"an input that repeats beside the output", .shape = {8, 16}, .out = 64, .in_strides = {0, 1},
     .out_strides = {16, 1}, .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32},
    {"input and mask in one place", .shape = {8, 16}, .out = 1024, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_U8, .out_type = ROWSCAN_I32, .mask = 16, .mask_strides = {0, 1}},
    {"initial values among the input", .shape = {8, 16}, .out = 1024, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .init = 64},
    {"larger elements in place", .shape = {8, 16}, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_I32, .out_type = ROWSCAN_I64, .first = "'output'",
     .second = "a scan in place requires elements of the same size"},
    {"smaller elements in place", .shape = {8, 16}, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F16, .first = "'output'", .second = "'input'"},
    {"transposed in place", .shape = {16, 16}, .in_strides = {1, 16}, .out_strides = {16, 1}, .in_type = ROWSCAN_F32,
     .out_type = ROWSCAN_F32, .first = "'output'", .second = "a scan in place requires the same strides"},
    {"reversed in place", .shape = {1, 16}, .out = 60, .in_strides = {16, 1}, .out_strides = {16, -1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .first = "'output'", .second = "'input'"},
    {"shifted by one", .shape = {1, 16}, .out = 4, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .first = "'output'", .second = "'input'"},
    {"shifted by a line", .shape = {8, 16}, .out = 64, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .first = "'output'", .second = "'input'"},
    {"the last element alone", .shape = {8, 16}, .out = 508, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .first = "'output'", .second = "'input'"},
    {"an output that repeats rows", .shape = {8, 16}, .out = 1024, .in_strides = {16, 1}, .out_strides = {0, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .first = "'output'", .second = "itself"},
    {"an output that repeats elements", .shape = {8, 16}, .out = 1024, .in_strides = {16, 1}, .out_strides = {16, 0},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .first = "'output'", .second = "itself"},
    {"a window over the output", .shape = {8, 16}, .out = 1024, .in_strides = {16, 1}, .out_strides = {1, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .first = "'output'", .second = "itself"},
    {"lines of the output that reach into the next", .shape = {8, 16}, .out = 1024, .in_strides = {16, 1},
     .out_strides = {15, 1}, .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .first = "'output'", .second = "itself"},
    {"an output woven of coprime strides", .shape = {3, 2}, .out = 1024, .in_strides = {2, 1}, .out_strides = {2, 3},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32},
    {"the same, one more", .shape = {4, 3}, .out = 1024, .in_strides = {3, 1}, .out_strides = {2, 3},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .first = "'output'", .second = "itself"},
    {"an output over the mask", .shape = {8, 16}, .in = 1024, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .mask = 16, .mask_strides = {16, 1}, .first = "'output'",
     .second = "'mask'"},
    {"an output on its mask", .shape = {1, 16}, .in = 1024, .out = 16, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_U8, .out_type = ROWSCAN_I8, .mask = 16, .mask_strides = {16, 1}, .first = "'output'",
     .second = "'mask'"},
    {"initial values in the output", .shape = {8, 16}, .out = 1024, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .init = 1028, .first = "'output'", .second = "'init'"},
    {"totals in the output", .shape = {8, 16}, .out = 1024, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .totals = 1532, .first = "'output'", .second = "'totals'"},
    {"totals in the input", .shape = {8, 16}, .out = 1024, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .totals = 508, .first = "'totals'", .second = "'input'"},
    {"totals in the mask", .shape = {8, 16}, .in = 1024, .out = 2048, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .mask = 16, .mask_strides = {16, 1}, .totals = 140,
     .first = "'totals'", .second = "'mask'"},
    {"totals on initial values", .shape = {8, 16}, .out = 1024, .in_strides = {16, 1}, .out_strides = {16, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .init = 2048, .totals = 2048, .first = "'totals'",
     .second = "'init'"},
    {"totals of no elements on initial values", .shape = {8, 0}, .in_strides = {1, 1}, .out_strides = {1, 1},
     .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .init = 2048, .totals = 2048, .first = "'totals'",
     .second = "'init'"},
    {"no elements", .shape = {8, 0}, .in_strides = {1, 1}, .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F64},
    {"no rows", .shape = {0, 8}, .in_strides = {1, 1}, .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F64},
};
enum { OVERLAPS = sizeof overlaps / sizeof *overlaps };

/* Both ways in, on the host: what is served has right sums, and what is not is told before anything is written. */
START_TEST(overlaps_are_told) {
  rowscan_context *context;
  rowscan_plan *plan;
  static _Alignas(16) char before[ROOM];
  char *base = place_of_all;
  bool with_mask = overlaps[_i].mask != 0;
  rowscan_input in = {.data = base + overlaps[_i].in, .type = overlaps[_i].in_type, .strides = overlaps[_i].in_strides};
  rowscan_output out = {
      .data = base + overlaps[_i].out, .type = overlaps[_i].out_type, .strides = overlaps[_i].out_strides};
  rowscan_input mask = {.data = with_mask ? base + overlaps[_i].mask : NULL,
                        .strides = with_mask ? overlaps[_i].mask_strides : NULL};
  void *init = overlaps[_i].init ? base + overlaps[_i].init : NULL;
  void *totals = overlaps[_i].totals ? base + overlaps[_i].totals : NULL;
  rowscan_mask_mode mode = with_mask ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE;
  rowscan_problem problem = {.size = sizeof problem, .rank = 2, .dim = 1, .shape = overlaps[_i].shape};
  problem.input = in;
  problem.output = out;
  problem.mask = mask;
  problem.mask_mode = mode;
  problem.init.data = init;
  problem.totals.data = totals;
  rowscan_args args = {.size = sizeof args, .input = in.data, .output = out.data, .rows = overlaps[_i].shape[0]};
  args.input_strides = in.strides;
  args.output_strides = out.strides;
  args.mask = mask.data;
  args.mask_strides = mask.strides;
  args.init = init;
  args.totals = totals;
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_off = 1)));
  ck_assert(!rowscan_plan_create(
      &plan, context,
      ROWSCAN_SPEC(.in_type = in.type, .out_type = out.type, .mask_mode = mode, .length = overlaps[_i].shape[1])));
  for (int way = 0; way < 3; way++) {
    memset(base, 0, ROOM);
    memcpy(before, base, ROOM);
    rowscan_status status = way == 0   ? rowscan_scan_host(context, &problem)
                            : way == 1 ? rowscan_scan(context, &problem, NULL)
                                       : rowscan_plan_run(plan, &args, NULL);
    const char *first = overlaps[_i].first, *second = overlaps[_i].second;
    ck_assert_msg(status == (first ? ROWSCAN_BAD_ARGUMENT : ROWSCAN_OK), "%s, way %d: %s", overlaps[_i].what, way,
                  status ? rowscan_last_error() : "OK");
    ck_assert_msg(!first || (strstr(rowscan_last_error(), first) && strstr(rowscan_last_error(), second)), "%s: %s",
                  overlaps[_i].what, rowscan_last_error());
    ck_assert(!first || !memcmp(before, base, ROOM));
  }
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

/* Ways for 2 x 3 initial values and totals to lie, each an array of its own; what is served has right sums. */
START_TEST(initial_values_and_totals_lie_as_they_like) {
  enum { ROWS = 6, LENGTH = 4 };
  static const struct {
    int64_t init[2], totals[2];
    bool refused;
  } ways[] = {{{3, 1}, {3, 1}, false},  {{0, 0}, {3, 1}, false}, {{0, 1}, {1, 2}, false}, {{1, 0}, {-10, -3}, false},
              {{2, -9}, {5, 1}, false}, {{3, 1}, {0, 1}, true},  {{3, 1}, {3, 0}, true},  {{0, 0}, {0, 0}, true}};
  static const int64_t shape[] = {2, 3, LENGTH};
  rowscan_context *context;
  rowscan_plan *plan;
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_off = 1)));
  ck_assert(!rowscan_plan_create(
      &plan, context, ROWSCAN_SPEC(.in_type = ROWSCAN_I32, .length = LENGTH, .row_rank = 2, .out_type = ROWSCAN_I32)));
  for (int i = 0; i < 2 * (int)(sizeof ways / sizeof *ways); i++) {
    int64_t init_strides[] = {ways[i / 2].init[0], ways[i / 2].init[1], 77};
    int64_t totals_strides[] = {ways[i / 2].totals[0], ways[i / 2].totals[1], 77};
    int32_t in[ROWS * LENGTH], out[ROWS * LENGTH], inits[64], sums[64], *init = inits + 32, *totals = sums + 32;
    for (int e = 0; e < ROWS * LENGTH; e++)
      in[e] = e;
    for (int e = 0; e < 64; e++) {
      inits[e] = 1000 * e;
      sums[e] = -1;
    }
    rowscan_status status =
        i % 2 ? rowscan_plan_run(plan,
                                 ROWSCAN_ARGS(.input = in, .output = out, .init = init, .totals = totals,
                                              .row_shape = shape, .init_strides = init_strides,
                                              .totals_strides = totals_strides),
                                 NULL)
              : rowscan_scan(context,
                             ROWSCAN_PROBLEM(.rank = 3, .dim = 2, .shape = shape,
                                             .input = {.data = in, .type = ROWSCAN_I32},
                                             .output = {.data = out, .type = ROWSCAN_I32},
                                             .init = {.data = init, .strides = init_strides},
                                             .totals = {.data = totals, .strides = totals_strides}),
                             NULL);
    ck_assert_int_eq(status, ways[i / 2].refused ? ROWSCAN_BAD_ARGUMENT : ROWSCAN_OK);
    ck_assert(!status || strstr(rowscan_last_error(), "'totals'"));
    int written = 0;
    for (int e = 0; e < 64; e++)
      written += sums[e] != -1;
    ck_assert_int_eq(written, status ? 0 : ROWS);
    for (int r = 0; r < ROWS && !status; r++) {
      int64_t sum = init[r / 3 * init_strides[0] + r % 3 * init_strides[1]];
      for (int e = 0; e < LENGTH; e++)
        ck_assert_int_eq(out[LENGTH * r + e], sum += in[LENGTH * r + e]);
      ck_assert_int_eq(totals[r / 3 * totals_strides[0] + r % 3 * totals_strides[1]], sum);
    }
  }
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

/* Pointers of a preparation stand for those of any run. */
START_TEST(what_is_prepared_may_overlap) {
  rowscan_context *context;
  rowscan_plan *plan;
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_off = 1)));
  ck_assert(!rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.in_type = ROWSCAN_I32, .length = 100)));
  ck_assert(!rowscan_plan_prepare(plan, ROWSCAN_ARGS(.input = memory, .output = (void *)(uintptr_t)256, .rows = 3,
                                                     .totals = (void *)(uintptr_t)256)));
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

/* An output without rows has no elements, whatever its strides; one with rows has P(0) of each. */
START_TEST(initial_elements_need_rows) {
  static const int64_t strides[] = {0, 1}, none[] = {0, 5}, no_elements[] = {3, 0};
  rowscan_context *context;
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_off = 1)));
  rowscan_problem problem = {.size = sizeof problem,
                             .flags = ROWSCAN_INCLUDE_INITIAL,
                             .rank = 2,
                             .dim = 1,
                             .shape = none,
                             .input = {.data = memory},
                             .output = {.data = memory, .strides = strides}};
  ck_assert_int_eq(rowscan_scan(context, &problem, NULL), ROWSCAN_OK);
  problem.shape = no_elements;
  ck_assert_int_eq(rowscan_scan(context, &problem, NULL), ROWSCAN_BAD_ARGUMENT);
  rowscan_close(context);
}
END_TEST

/*
 * Large arrays of hardly related strides are decided or let pass at once (some 0.2 ms each): a search that grows with
 * the arrays would not end before the suite's limit of time.
 */
START_TEST(hard_overlaps_take_no_time) {
  srand(1);
  for (int round = 0; round < 2000; round++) {
    rs_rows rows = {.rank = 1 + rand() % 5, .count = 1};
    rowscan_spec spec = {.size = sizeof spec, .in_type = ROWSCAN_F32, .length = 1 + rand() % 100};
    spec.row_rank = rows.rank;
    ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
    for (int d = 0; d < rows.rank; d++) {
      rows.count *= rows.shape[d] = 1 + rand() % 100;
      rows.array[RS_IN].stride[d] = 1 + rand();
      rows.array[RS_OUT].stride[d] = 1 + rand();
    }
    rows.array[RS_IN].step = 1 + rand();
    rows.array[RS_OUT].step = 1 + rand();
    rows.array[RS_IN].data = (void *)((uintptr_t)1 << 40);
    rows.array[RS_OUT].data = (void *)(((uintptr_t)1 << 40) + 4 * (uintptr_t)rand());
    rowscan_status status = rs_overlap_check(&rows, &spec, NULL, 0);
    ck_assert(status == ROWSCAN_OK || status == ROWSCAN_BAD_ARGUMENT);
  }
}
END_TEST

/* Beyond what offsets can be counted in, which no memory has: nothing is told, and nothing overflows. */
START_TEST(wild_strides_pass) {
  static const int64_t wild[] = {INT64_MIN, INT64_MIN / 2, INT64_MAX, INT64_MAX / 2, INT64_C(1) << 60, -INT64_MAX, 1};
  enum { WILD = sizeof wild / sizeof *wild };
  for (int i = 0; i < WILD * WILD * WILD; i++) {
    rs_rows rows = {.array = {[RS_IN] = {.data = memory, .bytes = 4}, [RS_OUT] = {.data = memory + 1, .bytes = 4}},
                    .rank = 1,
                    .shape = {1 + i % 3},
                    .count = 1 + i % 3};
    rowscan_spec spec = {.size = sizeof spec, .in_type = ROWSCAN_F32, .length = 1 + i / 3 % 3};
    ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
    rows.array[RS_IN].stride[0] = wild[i % WILD];
    rows.array[RS_OUT].stride[0] = rows.array[RS_IN].step = wild[i / WILD % WILD];
    rows.array[RS_OUT].step = wild[i / WILD / WILD];
    rowscan_status status = rs_overlap_check(&rows, &spec, NULL, 0);
    ck_assert(status == ROWSCAN_OK || status == ROWSCAN_BAD_ARGUMENT);
  }
}
END_TEST

START_TEST(a_workspace_is_nobody_elses) {
  rs_rows rows = {
      .array = {[RS_IN] = {.data = place_of_all, .bytes = 4}, [RS_OUT] = {.data = place_of_all + 1024, .bytes = 4}},
      .rank = 1,
      .shape = {8},
      .count = 8};
  rowscan_spec spec = {.size = sizeof spec, .in_type = ROWSCAN_F32, .length = 16};
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  rows.array[RS_IN].stride[0] = rows.array[RS_OUT].stride[0] = 16;
  rows.array[RS_IN].step = rows.array[RS_OUT].step = 1;
  ck_assert_int_eq(rs_overlap_check(&rows, &spec, place_of_all + 512, 512), ROWSCAN_OK);
  ck_assert_int_eq(rs_overlap_check(&rows, &spec, place_of_all + 512, 0), ROWSCAN_OK);
  ck_assert_int_eq(rs_overlap_check(&rows, &spec, place_of_all + 512, 520), ROWSCAN_BAD_ARGUMENT);
  ck_assert(strstr(rowscan_last_error(), "'workspace'") && strstr(rowscan_last_error(), "'output'"));
  ck_assert_int_eq(rs_overlap_check(&rows, &spec, place_of_all + 504, 64), ROWSCAN_BAD_ARGUMENT);
  ck_assert(strstr(rowscan_last_error(), "'workspace'") && strstr(rowscan_last_error(), "'input'"));
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
    bool masked = rand() % 2;
    unsigned flags = (unsigned)rand() % 4;
    if (empty == 1 && rows == 1 && !(flags & ROWSCAN_EXCLUSIVE)) /* P(0) is all that there is */
      flags |= ROWSCAN_INCLUDE_INITIAL;
    rowscan_status status = rowscan_scan(
        context,
        ROWSCAN_PROBLEM(.rank = rank, .dim = dim, .shape = shape, .flags = flags,
                        .input = {.data = data, .type = ROWSCAN_F32, .strides = in},
                        .output = {.data = out, .type = ROWSCAN_F32, .strides = output},
                        .mask = {.data = masked ? mask : NULL, .type = ROWSCAN_BOOL, .strides = of_mask},
                        .mask_mode = masked ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE, .totals = {.data = totals}),
        NULL);
    ck_assert_msg(status == ROWSCAN_OK, "%s", rowscan_last_error());
    for (int64_t i = 0; i < rows; i++)
      ck_assert_float_eq(totals[i], empty ? 0 : 5);
    ck_assert_float_eq(totals[rows], -1);
    ck_assert(flags & ROWSCAN_INCLUDE_INITIAL ? out[0] == 0 : empty ? out[0] == -1 : out[0] == 5 || out[0] == 0);
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
                                 .input = {.data = memory, .type = ROWSCAN_U8, .strides = which == 0 ? bad : strides},
                                 .output = {.data = memory, .type = ROWSCAN_U8, .strides = which == 1 ? bad : strides},
                                 .mask = {.data = memory, .type = ROWSCAN_U8, .strides = which == 2 ? bad : strides},
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
  tcase_add_test(all, a_mask_that_is_not_there);
  tcase_add_test(all, segments_alone);
  tcase_add_test(all, further_arrays);
  tcase_add_test(all, coefficients);
  tcase_add_test(all, args);
  tcase_add_test(all, args_of_indices);
  tcase_add_test(all, overlaps_at_random);
  tcase_add_loop_test(all, overlaps_are_told, 0, OVERLAPS);
  tcase_add_test(all, initial_values_and_totals_lie_as_they_like);
  tcase_add_test(all, what_is_prepared_may_overlap);
  tcase_add_test(all, initial_elements_need_rows);
  tcase_add_test(all, hard_overlaps_take_no_time);
  tcase_add_test(all, wild_strides_pass);
  tcase_add_test(all, a_workspace_is_nobody_elses);
  tcase_add_test(all, wild_strides_that_lead_nowhere);
  tcase_add_test(all, wild_strides_of_a_plan);
  tcase_add_test(all, wild_strides_that_lead_somewhere);
  suite_add_tcase(suite, all);
  return run_tests(suite);
}
