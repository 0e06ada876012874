/*
 * test_measure.c - measuring: what is copied beside a scan, what is checked, which cells there are
 * SPDX-License-Identifier: MIT
 *
 * Times are not tested, what stands beside them is: a ratio to a copy that moves other bytes, or a result that nobody
 * looked at, would make every figure worthless. (The copy kernels themselves run in tests/system/cli.py, on the
 * simulated GPU.)
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../support/run_tests.h"
#include "cli/cells.h"
#include "measure/copier.h"
#include "measure/measure.h"
#include "measure/sets.h"
#include "spec/rows.h"

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

static bool make(rs_box *box, const rs_axis *axes, int count, int element) {
  return rs_box_make(box, axes, count, element, 0, 0);
}

static void expect(const rs_box *box, int bytes, bool crossed, const rs_axis *axes) {
  ck_assert_int_eq(box->bytes, bytes);
  ck_assert_int_eq(box->crossed, crossed);
  for (int i = 0; i < RS_BOX_RANK; i++) {
    ck_assert_int_eq(box->axis[i].size, axes[i].size);
    ck_assert_int_eq(box->axis[i].in, axes[i].in);
    ck_assert_int_eq(box->axis[i].out, axes[i].out);
  }
}
#define EXPECT(box, bytes, crossed, ...) expect(box, bytes, crossed, (const rs_axis[]){__VA_ARGS__})

START_TEST(what_runs_on_is_joined) {
  rs_box box;
  const rs_axis dense[] = {{8, 64, 64}, {16, 4, 4}, {4, 1, 1}};
  ck_assert(make(&box, dense, 3, 4));
  EXPECT(&box, 16, false, {1, 0, 0}, {1, 0, 0}, {128, 1, 1});
  const rs_axis second[] = {{8, 32, 16}, {16, 2, 1}};
  ck_assert(make(&box, second, 2, 4));
  EXPECT(&box, 4, false, {1, 0, 0}, {1, 0, 0}, {128, 2, 1});
}
END_TEST

START_TEST(words_are_as_wide_as_all_lines_allow) {
  rs_box box;
  const rs_axis padded[] = {{1, 7, 7}, {5, 36, 32}, {32, 1, 1}};
  ck_assert(make(&box, padded, 3, 4));
  EXPECT(&box, 16, false, {1, 0, 0}, {5, 9, 8}, {8, 1, 1});
  const rs_axis odd[] = {{5, 34, 32}, {32, 1, 1}};
  ck_assert(make(&box, odd, 2, 4));
  EXPECT(&box, 8, false, {1, 0, 0}, {5, 17, 16}, {16, 1, 1});
  ck_assert(rs_box_make(&box, padded, 3, 4, 4, 0));
  ck_assert_int_eq(box.bytes, 4);
  ck_assert(rs_box_make(&box, padded, 3, 4, 0, 8));
  ck_assert_int_eq(box.bytes, 8);
}
END_TEST

START_TEST(a_transposed_side_is_crossed) {
  rs_box box;
  const rs_axis axes[] = {{100, 1, 30}, {30, 100, 1}};
  ck_assert(make(&box, axes, 2, 4));
  EXPECT(&box, 4, true, {1, 0, 0}, {100, 1, 30}, {30, 100, 1});
  const rs_axis three[] = {{100, 1, 60}, {2, 4000, 30}, {30, 100, 1}};
  ck_assert(make(&box, three, 3, 4));
  EXPECT(&box, 4, true, {2, 4000, 30}, {100, 1, 60}, {30, 100, 1});
}
END_TEST

START_TEST(some_are_no_box) {
  rs_box box;
  const rs_axis four[] = {{2, 1000, 500}, {3, 100, 90}, {4, 10, 20}, {5, 2, 3}}, empty[] = {{0, 1, 1}};
  ck_assert(!make(&box, four, 4, 4));
  ck_assert(!make(&box, empty, 1, 4));
  const rs_axis one[] = {{1, 5, 5}};
  ck_assert(make(&box, one, 1, 2));
  EXPECT(&box, 2, false, {1, 0, 0}, {1, 0, 0}, {1, 1, 1});
  box = rs_box_of_bytes(33);
  EXPECT(&box, 16, false, {1, 0, 0}, {1, 0, 0}, {3, 1, 1});
}
END_TEST

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static rowscan_spec complete(rowscan_spec spec) {
  spec.size = sizeof spec;
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  return spec;
}

/* Arrays of one set lie apart, and copies have room, whatever the strides. */
static void check_room(const rs_sets *sets) {
  size_t end = 0;
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    ck_assert_uint_ge(sets->at[a], end);
    if (rs_sets_have(sets, a))
      end = sets->at[a] + (size_t)(sets->span[a].count * sets->rows.array[a].bytes);
  }
  ck_assert_uint_gt(sets->stride, end);
  ck_assert_uint_ge(sets->stride, sets->half + 15);
  ck_assert_uint_ge(sets->copy_stride, sets->half + 15);
  ck_assert_uint_ge(sets->copy_stride, (size_t)(sets->span[RS_OUT].count * sets->rows.array[RS_OUT].bytes));
}

START_TEST(spans_and_bytes) {
  rs_meter host = {0};
  rs_sets sets;
  rowscan_spec spec = complete((rowscan_spec){.in_type = ROWSCAN_F32, .length = 10});
  int64_t back[] = {-40, -3}, dense[] = {10, 1};
  rowscan_args args = {.size = sizeof args, .rows = 4, .input_strides = back, .output_strides = dense};
  ck_assert_int_eq(rs_sets_open(&sets, &host, &spec, &args), ROWSCAN_OK);
  ck_assert_int_eq(sets.span[RS_IN].low, -3 * 40 - 9 * 3);
  ck_assert_int_eq(sets.span[RS_IN].count, 3 * 40 + 9 * 3 + 1);
  ck_assert_int_eq(sets.span[RS_OUT].low, 0);
  ck_assert_int_eq(sets.span[RS_OUT].count, 40);
  ck_assert_uint_eq(sets.bytes, 2 * 40 * sizeof(float));
  ck_assert(!sets.dense);
  check_room(&sets);
  rs_rows rows = sets.rows;
  rs_sets_rows(&sets, 0, &rows);
  ck_assert_ptr_eq((const float *)rows.array[RS_IN].data + sets.span[RS_IN].low, sets.memory);
  rs_sets_close(&sets);
}
END_TEST

/* The elements of a set's array of `type`, one of the dense rows that host memory has. */
static const void *filled(const rs_sets *sets, rs_which which) {
  return sets->memory + sets->at[which];
}

/* Rewards and values of floats, few flags, other ones in each array, and the numbers that are usual. */
START_TEST(further_arrays_hold_what_they_are) {
  rs_meter host = {0};
  rs_sets sets;
  rowscan_spec spec = complete((rowscan_spec){.op = ROWSCAN_GAE,
                                              .more_types = {0, 0, ROWSCAN_BOOL, ROWSCAN_BOOL},
                                              .second_type = ROWSCAN_F32,
                                              .mask_mode = ROWSCAN_MASK_SELECT,
                                              .length = 1000});
  ck_assert_int_eq(rs_sets_open(&sets, &host, &spec, ROWSCAN_ARGS(.rows = 10)), ROWSCAN_OK);
  check_room(&sets);
  ck_assert(sets.dense);
  ck_assert_uint_eq(sets.bytes, 10000 * (3 * 4 + 2 + 1 + 2 * 4));
  ck_assert_double_eq(sets.rows.params[0], 0.99);
  ck_assert_double_eq(sets.rows.params[1], 0.95);
  ck_assert_int_eq(rs_sets_fill(&sets), ROWSCAN_OK);
  for (int i = 0; i < 2; i++) {
    const float *values = filled(&sets, RS_MORE_IN + i);
    for (int k = 0; k < 10000; k++)
      ck_assert(values[k] >= -0.25f && values[k] < 0.75f);
    ck_assert(memcmp(values, filled(&sets, RS_IN), 40000) != 0);
    const unsigned char *flags = filled(&sets, RS_MORE_IN + 2 + i);
    int set = 0;
    for (int k = 0; k < 10000; k++)
      set += flags[k];
    ck_assert_int_gt(set, 80);
    ck_assert_int_lt(set, 320);
  }
  ck_assert(memcmp(filled(&sets, RS_MORE_IN), filled(&sets, RS_MORE_IN + 1), 40000) != 0);
  ck_assert(memcmp(filled(&sets, RS_MORE_IN + 2), filled(&sets, RS_MORE_IN + 3), 10000) != 0);
  rs_sets_close(&sets);
  spec = complete((rowscan_spec){
      .op = ROWSCAN_LINEAR_RECURRENCE, .mask_mode = ROWSCAN_MASK_SELECT, .mask_type = ROWSCAN_U8, .length = 1000});
  ck_assert_int_eq(rs_sets_open(&sets, &host, &spec, ROWSCAN_ARGS(.rows = 10)), ROWSCAN_OK);
  ck_assert_int_eq(rs_sets_fill(&sets), ROWSCAN_OK);
  const float *coefficients = filled(&sets, RS_MORE_IN);
  for (int k = 0; k < 10000; k++)
    ck_assert(coefficients[k] >= 0.5f && coefficients[k] < 1.5f && ((const char *)filled(&sets, RS_MASK))[k] / 2 == 0);
  rs_sets_close(&sets);
}
END_TEST

START_TEST(the_copy_is_of_the_same_access) {
  rs_meter host = {0};
  rs_sets sets;
  rs_box box;
  rowscan_spec spec = complete((rowscan_spec){.in_type = ROWSCAN_I8, .out_type = ROWSCAN_I64, .length = 33});
  ck_assert_int_eq(rs_sets_open(&sets, &host, &spec, ROWSCAN_ARGS(.rows = 3)), ROWSCAN_OK);
  ck_assert(sets.dense && rs_sets_box(&sets, &box));
  ck_assert_int_eq(rs_box_words(&box), (99 * 9 / 2 + 15) / 16); /* half of all bytes each way, as memcpy */
  rs_sets_close(&sets);

  int64_t second[] = {66, 2};
  rowscan_args args = {.size = sizeof args, .rows = 3, .input_strides = second};
  ck_assert_int_eq(rs_sets_open(&sets, &host, &spec, &args), ROWSCAN_OK);
  ck_assert(!rs_sets_box(&sets, &box)); /* of elements of two sizes */
  rs_sets_close(&sets);

  spec = complete((rowscan_spec){.in_type = ROWSCAN_F32, .length = 33});
  ck_assert_int_eq(rs_sets_open(&sets, &host, &spec, &args), ROWSCAN_OK);
  ck_assert(rs_sets_box(&sets, &box));
  EXPECT(&box, 4, false, {1, 0, 0}, {1, 0, 0}, {99, 2, 1});
  rs_sets_close(&sets);
}
END_TEST

START_TEST(gaps_are_not_copied) {
  rs_meter host = {0};
  rs_sets sets;
  rs_box box;
  rowscan_spec spec = complete((rowscan_spec){.in_type = ROWSCAN_F32, .length = 32});
  int64_t padded[] = {36, 1};
  rowscan_args args = {.size = sizeof args, .rows = 3, .input_strides = padded, .output_strides = padded};
  ck_assert_int_eq(rs_sets_open(&sets, &host, &spec, &args), ROWSCAN_OK);
  ck_assert(!sets.dense && rs_sets_box(&sets, &box));
  EXPECT(&box, 16, false, {1, 0, 0}, {3, 9, 9}, {8, 1, 1});
  rs_sets_close(&sets);
}
END_TEST

START_TEST(small_arrays_rotate_through_more_than_the_cache) {
  rs_meter host = {0};
  rs_sets sets;
  rowscan_spec spec = complete((rowscan_spec){.in_type = ROWSCAN_F32, .length = 100000});
  ck_assert_int_eq(rs_sets_open(&sets, &host, &spec, ROWSCAN_ARGS(.rows = 1)), ROWSCAN_OK);
  check_room(&sets);
  ck_assert_int_ge(sets.count * (int64_t)sets.stride, 2 * rs_meter_cache_bytes(&host));
  rs_sets_close(&sets);
}
END_TEST

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static rowscan_context *context;

static void open_host(void) {
  ck_assert_int_eq(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .cache_off = 1)), ROWSCAN_OK);
}

static void close_host(void) {
  rowscan_close(context);
}

static rs_timing measured(rowscan_spec spec, rowscan_args args) {
  rs_timing timing;
  spec.size = sizeof spec;
  args.size = sizeof args;
  ck_assert_msg(!rs_measure(context, &spec, &args, 1, &timing), "%s", rowscan_last_error());
  ck_assert_int_eq(timing.wrong, 0);
  ck_assert_double_gt(timing.scan_ms, 0);
  ck_assert_double_gt(timing.copy_ms, 0);
  ck_assert_double_eq(timing.kernel_ms, 0);
  ck_assert_int_eq(timing.replayed, 0);
  return timing;
}

START_TEST(dense_rows_are_checked) {
  rs_timing timing = measured((rowscan_spec){.length = 1000}, (rowscan_args){.rows = 7});
  ck_assert_int_eq(timing.checked, 7000);
  ck_assert_int_eq(timing.bytes, 7000 * 8);
  timing = measured((rowscan_spec){.in_type = ROWSCAN_BF16, .length = 333, .mask_mode = ROWSCAN_MASK_SELECT},
                    (rowscan_args){.rows = 100});
  ck_assert_int_eq(timing.checked, 33300);
  ck_assert_int_eq(timing.bytes, 33300 * 5);
}
END_TEST

START_TEST(views_are_checked) {
  static const struct {
    rowscan_layout layout;
    int64_t in[2];
  } views[] = {{ROWSCAN_LAYOUT_ROWS, {200, 2}}, {ROWSCAN_LAYOUT_COLUMNS, {1, 50}},
               {ROWSCAN_LAYOUT_ROWS, {104, 1}}, {ROWSCAN_LAYOUT_ROWS, {-100, -1}},
               {ROWSCAN_LAYOUT_ROWS, {0, 1}},   {ROWSCAN_LAYOUT_COLUMNS, {-1, -50}}};
  const int64_t dense[] = {100, 1};
  for (unsigned flags = 0; flags < 4; flags++) {
    rowscan_spec spec = {.length = 100, .layout = views[_i].layout, .row_rank = 1, .flags = flags};
    rs_timing timing =
        measured(spec, (rowscan_args){.rows = 50, .input_strides = views[_i].in, .output_strides = dense});
    ck_assert_int_eq(timing.checked, 5000);
    ck_assert_int_eq(timing.bytes, 40000);
  }
}
END_TEST

START_TEST(columns_are_checked) {
  int64_t shape[] = {5, 11};
  rs_timing timing =
      measured((rowscan_spec){.length = 40, .layout = ROWSCAN_LAYOUT_COLUMNS}, (rowscan_args){.row_shape = shape});
  ck_assert_int_eq(timing.checked, 5 * 40 * 11);
}
END_TEST

/* All variants, with what a run may have beside them; two outputs are both looked at. */
START_TEST(further_arrays_are_checked) {
  rowscan_spec spec = {.op = ROWSCAN_GAE, .more_types = {0, 0, ROWSCAN_BOOL, ROWSCAN_BOOL}, .length = 333};
  spec.flags = (unsigned)_i;
  rs_timing timing = measured(spec, (rowscan_args){.rows = 20});
  ck_assert_int_eq(timing.checked, 6660);
  ck_assert_int_eq(timing.bytes, 6660 * (3 * 4 + 2 + 4));
  spec.second_type = ROWSCAN_F32;
  int64_t second[] = {-333, -1};
  timing = measured(spec, (rowscan_args){.rows = 20, .second_strides = second});
  ck_assert_int_eq(timing.checked, 2 * 6660);
  ck_assert_int_eq(timing.bytes, 6660 * (3 * 4 + 2 + 2 * 4));
  spec = (rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE, .segment_mode = ROWSCAN_MASK_KEYS, .length = 40};
  spec.layout = ROWSCAN_LAYOUT_COLUMNS;
  spec.flags = (unsigned)_i;
  timing = measured(spec, (rowscan_args){.row_shape = (int64_t[]){5, 11}});
  ck_assert_int_eq(timing.checked, 2200);
  ck_assert_int_eq(timing.bytes, 2200 * (3 * 4 + 4));
  spec.mask_mode = ROWSCAN_MASK_SELECT;
  timing = measured(spec, (rowscan_args){.row_shape = (int64_t[]){5, 11}});
  ck_assert_int_eq(timing.bytes, 2200 * (3 * 4 + 1 + 4));
}
END_TEST

static void refused(rowscan_args args, rowscan_status status, const char *field) {
  rs_timing timing;
  args.size = sizeof args;
  ck_assert_int_eq(rs_measure(context, ROWSCAN_SPEC(.length = 100), &args, 0, &timing), status);
  ck_assert_msg(strstr(rowscan_last_error(), field), "%s", rowscan_last_error());
}

START_TEST(what_cannot_be_measured) {
  int64_t beyond[] = {INT64_MAX / 4, 1}, far[] = {INT64_C(1) << 57, 1}, huge[] = {INT64_C(1) << 40, 1};
  refused((rowscan_args){.rows = 0}, ROWSCAN_BAD_ARGUMENT, "'rows'");
  refused((rowscan_args){.rows = -1}, ROWSCAN_BAD_ARGUMENT, "'rows'");
  refused((rowscan_args){.rows = INT64_MAX / 2}, ROWSCAN_OUT_OF_MEMORY, "rows");
  refused((rowscan_args){.rows = 3, .input_strides = beyond}, ROWSCAN_BAD_ARGUMENT, "'input_strides'");
  refused((rowscan_args){.rows = 3, .input_strides = far}, ROWSCAN_OUT_OF_MEMORY, "rows");
  refused((rowscan_args){.row_shape = (int64_t[]){INT64_MAX}}, ROWSCAN_OUT_OF_MEMORY, "rows");
  refused((rowscan_args){.rows = 99, .input_strides = huge}, ROWSCAN_OUT_OF_MEMORY, "memory");
}
END_TEST

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static const bench_cell *find(const char *suite, const char *shape, const char *type) {
  int count;
  const bench_cell *cells = cells_of(suite, &count);
  for (int i = 0; i < count; i++) {
    char text[CELL_TEXT_MAX], types[CELL_TEXT_MAX];
    cell_shape(text, &cells[i]);
    cell_type(types, &cells[i]);
    if (!strcmp(text, shape) && !strcmp(types, type))
      return &cells[i];
  }
  ck_abort_msg("no cell %s %s", shape, type);
  return NULL;
}

static double target(const char *shape, const char *type, unsigned variant) {
  return cell_target_of(find("full", shape, type), variant).ratio;
}

START_TEST(targets) {
  ck_assert_double_eq(target("32768 x 32768", "f32", CELL_INCLUSIVE), 0.97);
  ck_assert_double_eq(target("1024 x 128256", "f32", CELL_INCLUSIVE), 0.97);
  ck_assert_double_eq(target("256 x 151936", "f32", CELL_INCLUSIVE), 0.95);
  ck_assert_double_eq(target("40 x 152000", "f32", CELL_INCLUSIVE), 0.90);
  ck_assert_double_eq(target("8192 x 50257", "f32", CELL_MASKED), 0.93);
  ck_assert_double_eq(target("32768 x 32768", "bool -> i64", CELL_INCLUSIVE), 0.95);
  ck_assert_double_eq(target("134217728 x 1", "f32", CELL_INCLUSIVE), 0.93);
  ck_assert_double_eq(target("1 x 100000007", "f32", CELL_INCLUSIVE), 0.93);
  ck_assert_double_eq(target("32768 x 129 dim 0", "f32", CELL_INCLUSIVE), 0.90);
  cell_target strided = cell_target_of(find("full", "8192 x 8192 of every 2nd", "f32"), CELL_INCLUSIVE);
  ck_assert(strided.kernel && strided.ratio == 0.90);
  cell_target small = cell_target_of(find("full", "1 x 1024", "f32"), CELL_INCLUSIVE);
  ck_assert(small.kernel && small.ratio == 0.80);
}
END_TEST

/* Ten of them in all four variants. */
START_TEST(all_cells_are_there) {
  int count, variants = 0;
  const bench_cell *cells = cells_of("full", &count);
  for (int i = 0; i < count; i++)
    for (int v = 0; v < CELL_VARIANTS; v++)
      variants += (cells[i].variants >> v) & 1;
  ck_assert_int_eq(count, 53);
  ck_assert_int_eq(variants, 53 + 3 * 10);
  ck_assert_ptr_null(cells_of("slow", &count));
}
END_TEST

START_TEST(any_cell_can_be_made_smaller) {
  int count;
  const bench_cell *cells = cells_of("full", &count);
  for (int64_t limit = 0; limit < 3000; limit = 2 * limit + 1) {
    bench_cell cell = cells[_i];
    cell_shrink(&cell, limit);
    ck_assert_int_le(cell.outer * cell.length * cell.inner, limit > 1 ? limit : 1);
    ck_assert_int_gt(cell.outer * cell.length * cell.inner, limit / 16);
  }
}
END_TEST

/* The rows that rowscan_scan makes of the tensors that the cell's are. */
static void check_view(const char *shape, const int64_t sizes[2], const int64_t strides[2]) {
  const bench_cell *cell = find("full", shape, "f32");
  rowscan_spec spec = cell_spec(cell, ROWSCAN_SUM, CELL_INCLUSIVE), chosen;
  cell_rows rows;
  rs_rows wanted;
  cell_rows_of(&rows, cell);
  int number;
  rowscan_problem problem = {.size = sizeof problem, .rank = 2, .dim = 1, .shape = sizes};
  problem.input = (rowscan_input){.data = &number, .type = ROWSCAN_F32, .strides = strides};
  problem.output = (rowscan_output){.data = &number, .type = ROWSCAN_F32};
  ck_assert_int_eq(rs_rows_from_problem(&wanted, &chosen, &problem), ROWSCAN_OK);
  ck_assert_int_eq(spec.layout, chosen.layout);
  ck_assert_int_eq(spec.row_rank, chosen.row_rank);
  ck_assert_int_eq(spec.length, chosen.length);
  ck_assert_int_eq(rows.shape[0], wanted.shape[0]);
  ck_assert_int_eq(rows.in_strides[0], wanted.array[RS_IN].stride[0]);
  ck_assert_int_eq(rows.in_strides[1], wanted.array[RS_IN].step);
  ck_assert_int_eq(rows.out_strides[0], wanted.array[RS_OUT].stride[0]);
  ck_assert_int_eq(rows.out_strides[1], wanted.array[RS_OUT].step);
}
#define CHECK_VIEW(shape, rows, length, ...)                                                                           \
  check_view(shape, (const int64_t[]){rows, length}, (const int64_t[]){__VA_ARGS__})

START_TEST(views_are_what_a_user_has) {
  CHECK_VIEW("8192 x 8192 of every 2nd", 8192, 8192, 16384, 2);
  CHECK_VIEW("16384 x 8192 transposed", 16384, 8192, 1, 16384);
  CHECK_VIEW("32768 x 32768 padded", 32768, 32768, 32772, 1);
}
END_TEST

START_TEST(growth_has_every_length) {
  int count, lengths = 0;
  const bench_cell *cells = cells_of("growth", &count);
  int64_t before = 0, odd = 0;
  for (int i = 0; i < count; i++) {
    if (cells[i].group != CELL_BY_LENGTH)
      continue;
    int64_t elements = cells[i].outer * cells[i].length;
    ck_assert_int_gt(cells[i].length, before);
    ck_assert_int_le(cells[i].length, 2 * (before ? before : 1));
    ck_assert_int_ge(elements, 1 << 26);
    ck_assert_int_lt(elements, (1 << 26) + cells[i].length);
    before = cells[i].length;
    odd += cells[i].length & 1;
    lengths++;
  }
  ck_assert_int_eq(before, 1 << 26);
  ck_assert_int_eq(lengths, 27 + 25);
  ck_assert_int_eq(odd, 1 + 25);
}
END_TEST

START_TEST(growth_has_every_size) {
  int count, sizes = 0;
  const bench_cell *cells = cells_of("growth", &count), *before = NULL;
  for (int i = 0; i < count; before = &cells[i++]) {
    if (cells[i].group != CELL_BY_BYTES)
      continue;
    if (before->group == CELL_BY_BYTES && before->length == cells[i].length)
      ck_assert_int_eq(cells[i].outer, 2 * before->outer);
    else
      ck_assert_int_eq(cells[i].outer, 1);
    ck_assert_int_le(cells[i].outer * cells[i].length, 1 << 28);
    sizes++;
  }
  ck_assert_int_eq(sizes, 19 + 17 + 14 + 9);
}
END_TEST

START_TEST(growth_has_every_width) {
  static const int64_t elements[] = {1 << 26, 1 << 22};
  int count, size = -1, widths[2] = {0}, odd[2] = {0};
  const bench_cell *cells = cells_of("growth", &count);
  int64_t before = 4096;
  for (int i = 0; i < count; i++) {
    if (cells[i].group != CELL_BY_COLUMNS)
      continue;
    int64_t width = cells[i].inner, steps = cells[i].length;
    if (before == 4096) {
      ck_assert_int_lt(++size, 2);
      ck_assert_int_eq(width, 1);
    } else {
      ck_assert_int_gt(width, before);
      ck_assert_int_le(width, 2 * before);
    }
    ck_assert_int_eq(cells[i].outer, 1);
    ck_assert(cells[i].columns);
    ck_assert_int_eq(steps % 8, 0);
    ck_assert_int_gt((steps + 1) * width, elements[size]);
    ck_assert_int_lt((steps - 8) * width, elements[size]);
    before = width;
    odd[size] += width & 1;
    widths[size]++;
  }
  ck_assert_int_eq(before, 4096);
  ck_assert_int_eq(size, 1);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(widths[i], 13 + 11);
    ck_assert_int_eq(odd[i], 1 + 11);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("measure");
  TCase *cases = tcase_create("boxes and sets");
  tcase_add_test(cases, what_runs_on_is_joined);
  tcase_add_test(cases, words_are_as_wide_as_all_lines_allow);
  tcase_add_test(cases, a_transposed_side_is_crossed);
  tcase_add_test(cases, some_are_no_box);
  tcase_add_test(cases, spans_and_bytes);
  tcase_add_test(cases, further_arrays_hold_what_they_are);
  tcase_add_test(cases, the_copy_is_of_the_same_access);
  tcase_add_test(cases, gaps_are_not_copied);
  tcase_add_test(cases, small_arrays_rotate_through_more_than_the_cache);
  suite_add_tcase(suite, cases);
  cases = tcase_create("the call");
  tcase_set_timeout(cases, 120);
  tcase_add_checked_fixture(cases, open_host, close_host);
  tcase_add_test(cases, dense_rows_are_checked);
  tcase_add_loop_test(cases, views_are_checked, 0, 6);
  tcase_add_test(cases, columns_are_checked);
  tcase_add_loop_test(cases, further_arrays_are_checked, 0, 4);
  tcase_add_test(cases, what_cannot_be_measured);
  suite_add_tcase(suite, cases);
  cases = tcase_create("cells");
  tcase_add_test(cases, targets);
  tcase_add_test(cases, all_cells_are_there);
  tcase_add_loop_test(cases, any_cell_can_be_made_smaller, 0, 53);
  tcase_add_test(cases, views_are_what_a_user_has);
  tcase_add_test(cases, growth_has_every_length);
  tcase_add_test(cases, growth_has_every_size);
  tcase_add_test(cases, growth_has_every_width);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
