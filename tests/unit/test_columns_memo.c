/*
 * test_columns_memo.c - what a plan remembers of its runs of regime column is what it would work out again
 * SPDX-License-Identifier: MIT
 *
 * Rows that differ in one field only must not be taken for one another, whichever field that is.
 */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../support/rows_help.h"
#include "../support/run_tests.h"
#include "family/choose.h"
#include "family/columns_memo.h"
#include "spec/arch.h"

enum { RANK = RS_MEMO_RANK + 2 };

static uint32_t any(uint64_t *state, uint32_t below) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((*state >> 33) % below);
}

/* All kernels but that for pairs, which takes no rows then. */
static void have_multiprocessors(rs_geometry *columns, int count) {
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    if (kernel != (int)rs_column_kernel(RS_TEMPLATE_PAIRS))
      columns->shape[kernel].multiprocessors = count;
}

/* Of f32, and masks of a byte. */
static void set_four_bytes(rs_rows *rows) {
  for (int a = 0; a < RS_ARRAYS; a++)
    rows->array[a].bytes = a == RS_MASK ? 1 : 4;
}

/* Of what it leaves open the usual. */
static rs_geometry columns_for(rowscan_spec *spec) {
  spec->size = sizeof *spec;
  spec->layout = ROWSCAN_LAYOUT_COLUMNS;
  ck_assert_int_eq(rowscan_spec_complete(spec), ROWSCAN_OK);
  rs_geometry columns = rs_tune(spec, 90);
  have_multiprocessors(&columns, 132);
  return columns;
}

static rs_geometry columns_to(rowscan_type out_type, int64_t length, bool masked) {
  rowscan_spec spec = {
      .length = length, .out_type = out_type, .mask_mode = masked ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE};
  return columns_for(&spec);
}

static rs_geometry columns_of(int64_t length, bool masked) {
  return columns_to(ROWSCAN_F32, length, masked);
}

static int64_t gap(uint64_t *state) {
  static const int64_t gaps[] = {0, 0, 0, 0, 0, 1, 2, 4};
  return gaps[any(state, 8)];
}

/* Arrays of one layout each: dense, with gaps between steps or outers, or turned; and beginning anywhere. */
static void random_array(uint64_t *state, const rs_rows *rows, int64_t length, int bytes, void **at, int64_t *step,
                         int64_t *stride) {
  int64_t inner = rows->shape[rows->rank - 1], next = inner * length;
  bool turned = any(state, 4) == 0;
  *step = turned ? 1 : inner + gap(state);
  stride[rows->rank - 1] = turned ? length : 1;
  for (int d = rows->rank - 2; d >= 0; next *= rows->shape[d--])
    stride[d] = next + gap(state);
  *at = (char *)NULL + 4096 + any(state, 2) * any(state, 4) * (uint32_t)bytes;
}

static rs_rows random_rows(uint64_t *state, int64_t length, bool masked, bool huge) {
  static const int64_t inner[] = {1, 2, 5, 7, 8, 32, 33, 100, 129, 512}, large[] = {512, 100000, 1 << 29, 3000000000};
  rs_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.rank = 1 + (int)any(state, RANK);
  rows.count = 1;
  for (int d = 0; d < rows.rank; d++) {
    rows.shape[d] = d == rows.rank - 1 ? inner[any(state, 10)] : 1 + any(state, 4);
    if (huge && any(state, 3) == 0 && rows.count == 1)
      rows.shape[d] = large[any(state, 4)];
    rows.count *= rows.shape[d];
  }
  set_four_bytes(&rows);
  random_array(state, &rows, length, 4, &rows.array[RS_IN].data, &rows.array[RS_IN].step, rows.array[RS_IN].stride);
  random_array(state, &rows, length, 4, &rows.array[RS_OUT].data, &rows.array[RS_OUT].step, rows.array[RS_OUT].stride);
  if (masked)
    random_array(state, &rows, length, 1, &rows.array[RS_MASK].data, &rows.array[RS_MASK].step,
                 rows.array[RS_MASK].stride);
  int64_t number = 1;
  for (int d = rows.rank - 1; d >= 0; number *= rows.shape[d--])
    rows.array[RS_INIT].stride[d] = rows.array[RS_TOTALS].stride[d] = number;
  return rows;
}

static bool same_launch(const rs_columns_launch *a, const rs_columns_launch *b) {
  static const size_t bytes[] = {[RS_TEMPLATE_COLUMNS] = sizeof a->cut.any,
                                 [RS_TEMPLATE_STREAM_COLUMNS] = sizeof a->cut.stream,
                                 [RS_TEMPLATE_WIDE] = sizeof a->cut.wide,
                                 [RS_TEMPLATE_ASKEW] = sizeof a->cut.wide,
                                 [RS_TEMPLATE_SHORT_COLUMNS] = sizeof a->cut.brief,
                                 [RS_TEMPLATE_COLUMNS_AT_ONCE] = sizeof a->cut.at_once,
                                 [RS_TEMPLATE_PAIRS] = 0};
  return a->made_of == b->made_of && a->need.blocks == b->need.blocks && a->need.workspace == b->need.workspace &&
         a->need.shared == b->need.shared && !memcmp(&a->cut, &b->cut, bytes[a->made_of]);
}

static bool agrees_on(rs_columns_memo *memo, const rs_geometry *columns, const rs_rows *rows) {
  rs_columns_launch fresh = {.rows = rows, .made_of = rs_columns_best(columns, rows)}, told;
  bool whole = rs_columns_whole(&fresh, columns);
  if (rs_columns_recall(memo, &told, columns, rows) != whole)
    return false;
  return !whole || (told.rows == rows && same_launch(&fresh, &told));
}

/*
 * Whether the memo tells what is worked out afresh: of these rows, and then of other rows of the same shape, whose
 * results take the elements' place, and do not.
 */
static bool agrees(rs_columns_memo *memo, const rs_geometry *columns, const rs_rows *rows) {
  rs_rows others = *rows, in_place = *rows, apart = *rows;
  others.array[RS_TOTALS].data = &others;
  in_place.array[RS_OUT].data = rows->array[RS_IN].data;
  apart.array[RS_OUT].data = (char *)in_place.array[RS_OUT].data + 4096;
  return agrees_on(memo, columns, rows) && agrees_on(memo, columns, &others) && agrees_on(memo, columns, &in_place) &&
         agrees_on(memo, columns, &apart) && agrees_on(memo, columns, &in_place);
}

/* ---- one thread -------------------------------------------------------------------------------------------------- */

static rs_columns_memo memo;

static void vary(const rs_geometry *columns, rs_rows *rows, int64_t *field, int64_t to) {
  int64_t was = *field;
  *field = to;
  ck_assert(agrees(&memo, columns, rows));
  *field = was;
  ck_assert(agrees(&memo, columns, rows));
}

static void vary_all(const rs_geometry *columns, rs_rows *rows) {
  int64_t *const arrays[] = {rows->shape, rows->array[RS_IN].stride, rows->array[RS_OUT].stride,
                             rows->array[RS_MASK].stride};
  void **const addresses[] = {&rows->array[RS_IN].data, &rows->array[RS_OUT].data, &rows->array[RS_MASK].data};
  for (int i = 0; i < (rows->array[RS_MASK].data ? 3 : 2); i++) {
    void *was = *addresses[i];
    *addresses[i] = (char *)was + 4;
    ck_assert(agrees(&memo, columns, rows));
    *addresses[i] = was;
    ck_assert(agrees(&memo, columns, rows));
  }
  vary(columns, rows, &rows->array[RS_IN].step, rows->array[RS_IN].step + 1);
  vary(columns, rows, &rows->array[RS_OUT].step, rows->array[RS_OUT].step + 1);
  vary(columns, rows, &rows->array[RS_MASK].step, rows->array[RS_MASK].step + 1);
  for (int i = 0; i < 4; i++)
    for (int d = 0; d < rows->rank; d++)
      vary(columns, rows, &arrays[i][d], arrays[i][d] + 1);
}

START_TEST(no_rows_are_taken_for_others) {
  static const int64_t lengths[] = {1, 3, 64, 300, 16384, 1000000};
  uint64_t state = 1;
  for (int i = 0; i < 1200; i++) {
    int64_t length = lengths[i % 6];
    bool masked = i % 4 == 3;
    rs_geometry columns = columns_of(length, masked);
    if (i % 3 == 0)
      columns.shape[rs_column_kernel(RS_TEMPLATE_WIDE)].made_of =
          RS_TEMPLATE_NONE; /* or most would be wide.cuh's, which are not remembered */
    memset(&memo, 0, sizeof memo);
    rs_rows rows = random_rows(&state, length, masked, i % 5 == 0);
    ck_assert(agrees(&memo, &columns, &rows));
    vary_all(&columns, &rows);
  }
}
END_TEST

START_TEST(what_was_asked_before_is_remembered) {
  rs_geometry columns = columns_of(300, false);
  rs_columns_launch told;
  uint64_t state = 2;
  rs_rows rows = random_rows(&state, 300, false, false);
  rows.rank = 1;
  rows.shape[0] = rows.count = 7;
  rows.array[RS_INIT].data = (char *)NULL + 4096;
  memset(&memo, 0, sizeof memo);
  ck_assert(rs_columns_recall(&memo, &told, &columns, &rows));
  int known = 0;
  for (int i = 0; i < RS_MEMO_CUTS; i++) {
    known += memo.cut[i].known;
    memo.cut[i].launch.need.blocks = 12345;
  }
  ck_assert_int_eq(known, 1);
  rows.array[RS_INIT].data = (char *)NULL + 8192; /* which tells nothing new */
  ck_assert(rs_columns_recall(&memo, &told, &columns, &rows));
  ck_assert_int_eq(told.need.blocks, 12345);
  for (int i = 0; i < RS_MEMO_CUTS; i++)
    memo.cut[i].busy = true; /* another thread is at it */
  ck_assert(agrees(&memo, &columns, &rows));
}
END_TEST

/* A run of few columns whose tiles need more scratch than there is goes to the next best kernel. */
START_TEST(what_is_too_long_for_a_stream_is_wide) {
  static const struct {
    size_t scratch;
    rs_template kernel;
  } cases[] = {{1 << 20, RS_TEMPLATE_STREAM_COLUMNS}, {200000, RS_TEMPLATE_WIDE}};
  rs_geometry columns = columns_of(1000000, false);
  rs_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.rank = 1;
  rows.shape[0] = rows.count = rows.array[RS_IN].step = rows.array[RS_OUT].step = 16;
  rows.array[RS_IN].stride[0] = rows.array[RS_OUT].stride[0] = rows.array[RS_INIT].stride[0] =
      rows.array[RS_TOTALS].stride[0] = 1;
  rows.array[RS_IN].data = rows.array[RS_OUT].data = (char *)NULL + 4096;
  set_four_bytes(&rows);
  columns.scratch = cases[_i].scratch;
  rs_columns_parts parts;
  rs_columns_launch part;
  rs_columns_begin(&parts, &columns, &rows);
  ck_assert(rs_columns_next(&parts, &part));
  ck_assert_int_eq(part.made_of, cases[_i].kernel);
  ck_assert_int_eq(part.rows->count, 16);
  ck_assert(!rs_columns_next(&parts, &part));
}
END_TEST

/* Columns of one outer stay together, however long they are. */
START_TEST(large_tensors_are_one_launch) {
  static const struct {
    int64_t length, columns;
  } runs[] = {{1 << 16, 1025}, {1 << 20, 513}, {1 << 21, 257}, {1 << 22, 129}, {1 << 22, 256},
              {1 << 23, 128},  {1 << 24, 97},  {1 << 24, 33},  {1 << 25, 64},  {1 << 26, 17}};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    rs_geometry columns = columns_of(runs[i].length, false);
    rs_rows rows = {.rank = 1,
                    .count = runs[i].columns,
                    .array[RS_IN].step = runs[i].columns,
                    .array[RS_OUT].step = runs[i].columns};
    set_four_bytes(&rows);
    rows.shape[0] = rows.count;
    rows.array[RS_IN].stride[0] = rows.array[RS_OUT].stride[0] = rows.array[RS_INIT].stride[0] =
        rows.array[RS_TOTALS].stride[0] = 1;
    rows.array[RS_IN].data = (char *)NULL + 4096;
    rows.array[RS_OUT].data = (char *)NULL + 8192;
    rs_columns_parts parts;
    rs_columns_launch launch;
    rs_columns_begin(&parts, &columns, &rows);
    ck_assert(rs_columns_next(&parts, &launch));
    ck_assert_msg(launch.rows->count == rows.count, "%lld x %lld: %lld columns in a launch", (long long)runs[i].length,
                  (long long)runs[i].columns, (long long)launch.rows->count);
    ck_assert_uint_le(launch.need.workspace, (size_t)(runs[i].length * runs[i].columns * 4 / 16)); /* a small part */
  }
}
END_TEST

/* On the smallest, too. */
START_TEST(a_tile_has_room) {
  static const int64_t lengths[] = {1, 2, 3, 5, 8, 9, 16, 17, 31, 32, 33, 64, 65, 100, 1000, 100000};
  static const rowscan_type types[][2] = {{ROWSCAN_F32, ROWSCAN_F32}, {ROWSCAN_BF16, ROWSCAN_BF16},
                                          {ROWSCAN_F64, ROWSCAN_F64}, {ROWSCAN_I8, ROWSCAN_I8},
                                          {ROWSCAN_I8, ROWSCAN_I64},  {ROWSCAN_F32, ROWSCAN_BF16}};
  static const int archs[] = {75, 80, 86, 90, 120};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (int masked = 0; masked < 2; masked++)
      for (int64_t inner = 1; inner < 6000; inner += inner < 40 ? 1 : 53) {
        rowscan_spec spec = {.size = sizeof spec, .in_type = types[_i / 5][0], .out_type = types[_i / 5][1]};
        spec.length = lengths[i];
        spec.layout = ROWSCAN_LAYOUT_COLUMNS;
        spec.mask_mode = masked ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE;
        ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
        rs_geometry columns = rs_tune(&spec, archs[_i % 5]);
        int64_t all = inner * lengths[i];
        rs_rows rows = {.rank = 2, .shape = {100000, inner}, .count = 100000 * inner, .array[RS_IN].step = inner};
        rows.array[RS_OUT].step = rows.array[RS_MASK].step = inner;
        rows.array[RS_IN].stride[0] = rows.array[RS_OUT].stride[0] = rows.array[RS_MASK].stride[0] = all;
        rows.array[RS_IN].stride[1] = rows.array[RS_OUT].stride[1] = rows.array[RS_MASK].stride[1] = 1;
        rows.array[RS_IN].data = rows.array[RS_OUT].data = (char *)NULL + 4096;
        rows.array[RS_MASK].data = masked ? rows.array[RS_IN].data : NULL;
        set_bytes(&rows, &spec);
        const rs_shape *shape = rs_column_shape(&columns, RS_TEMPLATE_COLUMNS);
        rs_cut cut;
        rs_column_need need;
        rs_columns_cut(&cut, &need, shape, &rows);
        ck_assert_int_le(need.shared, rs_columns_shared(shape));
      }
}
END_TEST

/* What cuts count with is what the kernels are compiled as: no more blocks than a multiprocessor has threads for. */
START_TEST(cuts_count_with_the_blocks_of_kernels) {
  static const int archs[] = {75, 80, 86, 89, 90, 100, 120};
  static const rowscan_type types[] = {ROWSCAN_F16, ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_I8};
  static const int64_t lengths[] = {3, 100, 4000, 1 << 20};
  int shapes = 0;
  for (int i = 0; i < 7 * 4 * 4 * 2; i++) {
    rowscan_spec spec = {.size = sizeof spec, .in_type = types[i / 7 % 4], .length = lengths[i / 28 % 4]};
    spec.mask_mode = i / 112 ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE;
    spec.layout = ROWSCAN_LAYOUT_COLUMNS;
    ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
    rs_kernels kernels = {.scratch = 0};
    rs_kernels_open(&kernels, &spec, archs[i % 7], 10, 0);
    for (int made_of = RS_TEMPLATE_FURTHER_COLUMNS; made_of < RS_TEMPLATES; made_of++) {
      const rs_shape *shape = rs_column_shape(&kernels.geometry, (rs_template)made_of);
      shapes += shape->made_of != RS_TEMPLATE_NONE;
      ck_assert_int_le(shape->min_blocks * shape->threads, rs_arch_threads(archs[i % 7]));
      ck_assert(!shape->made_of || (shape->multiprocessors == 10 && !shape->prefetch == (archs[i % 7] < 90)));
    }
  }
  ck_assert_int_gt(shapes, 7 * 4 * 4 * 2);
}
END_TEST

/* No GPU has memory for these: launches fail, and until then nothing does. */
START_TEST(more_tiles_than_an_int_counts) {
  for (int log = 30; log <= 56; log++) {
    int64_t length = (INT64_C(1) << log) - 3, columns[] = {64, 65};
    rs_geometry cuts = columns_of(length, false);
    for (int i = 0; i < 2; i++) {
      rs_rows rows = {.rank = 1, .shape = {columns[i]}, .count = columns[i]};
      set_four_bytes(&rows);
      for (int a = RS_IN; a <= RS_OUT; a++)
        rows.array[a] = (rs_operand){.data = (char *)NULL + 4096, .bytes = 4, .step = columns[i], .stride = {1}};
      for (int made_of = RS_TEMPLATE_ASKEW; made_of <= RS_TEMPLATE_WIDE; made_of++) {
        rs_shape *shape = &cuts.shape[rs_column_kernel((rs_template)made_of)];
        rs_cut cut;
        rs_column_need need;
        ck_assert(shape->made_of);
        shape->ahead = 8;
        if (rs_wide_fits(shape, &rows))
          rs_wide_cut(&cut, &need, shape, &rows);
        else
          ck_assert(made_of == RS_TEMPLATE_WIDE && i == 1);
      }
    }
  }
}
END_TEST

START_TEST(a_whole_run_is_the_only_part) {
  static const int64_t lengths[] = {64, 300, 16384};
  uint64_t state = 3;
  int wholes = 0, others = 0;
  for (int i = 0; i < 2000; i++) {
    int64_t length = lengths[i % 3];
    bool masked = i % 4 == 3;
    rs_geometry columns = columns_of(length, masked);
    if (i % 2)
      columns.scratch = 4096;
    rs_rows rows = random_rows(&state, length, masked, true);
    rs_columns_launch whole = {.rows = &rows, .made_of = rs_columns_best(&columns, &rows)}, part;
    rs_columns_parts parts;
    rs_columns_begin(&parts, &columns, &rows);
    if (!rs_columns_whole(&whole, &columns)) {
      others++;
      ck_assert(parts.outers > 1 || parts.most < rows.shape[parts.dim]);
      continue;
    }
    wholes++;
    ck_assert_int_le(whole.need.blocks, INT32_MAX);
    ck_assert_uint_le(whole.need.workspace, rs_columns_bound(&columns));
    ck_assert(rs_columns_next(&parts, &part));
    ck_assert(same_launch(&whole, &part));
    ck_assert(part.rows->array[RS_IN].data == rows.array[RS_IN].data && part.rows->count == rows.count);
    ck_assert(!memcmp(part.rows->shape, rows.shape, (size_t)rows.rank * sizeof *rows.shape));
    ck_assert(!rs_columns_next(&parts, &part));
  }
  ck_assert_int_gt(wholes, 300);
  ck_assert_int_gt(others, 100);
}
END_TEST

/* The last part has fewer columns or outers than the others, and may be cut into smaller tiles. */
START_TEST(no_part_takes_more_than_there_is) {
  static const int64_t lengths[] = {600, 5000, 16384, 40000};
  uint64_t state = 5;
  int several = 0;
  for (int i = 0; i < 4000; i++) {
    int64_t length = lengths[i % 4];
    bool masked = i % 5 == 4;
    rs_geometry columns = columns_of(length, masked);
    columns.scratch = (size_t)256 << any(&state, 12);
    have_multiprocessors(&columns, 1 + (int)any(&state, 132));
    rs_rows rows = random_rows(&state, length, masked, false);
    rows.count /= rows.shape[0];
    rows.shape[0] = 1 + any(&state, 60);
    rows.count *= rows.shape[0];
    rs_columns_parts parts;
    rs_columns_launch part;
    int64_t count = 0, launches = 0;
    rs_columns_begin(&parts, &columns, &rows);
    if (parts.outers * (rows.shape[parts.dim] / parts.most) > 200)
      continue;
    for (; rs_columns_next(&parts, &part); launches++) {
      ck_assert_uint_le(part.need.workspace, rs_columns_bound(&columns));
      count += part.rows->count;
    }
    ck_assert_int_eq(count, rows.count);
    several += launches > 1 && rows.shape[parts.dim] % parts.most;
  }
  ck_assert_int_gt(several, 100);
}
END_TEST

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Whether the first vectors of columns in the first two steps and outers begin whole words: by looking at each. */
static bool looks_wide(const rs_shape *shape, const rs_rows *rows, const void *at, int bytes, int64_t step,
                       const int64_t *stride) {
  int last = rows->rank - 1, word = shape->vector * bytes < 16 ? shape->vector * bytes : 16;
  bool wide = stride[last] == 1 && rows->shape[last] % shape->vector == 0;
  for (int index = 0; index < 1 << rows->rank; index++) { /* a bit for each outer dimension, and one for the step */
    int64_t elements = (index >> last & 1) && shape->length > 1 ? step : 0;
    for (int d = 0; d < last; d++)
      elements += (index >> d & 1) && rows->shape[d] > 1 ? stride[d] : 0;
    wide = wide && ((const char *)at - (const char *)NULL + elements * bytes) % word == 0;
  }
  return wide;
}

START_TEST(wide_takes_what_lies_in_words) {
  uint64_t state = 5;
  int taken = 0;
  for (int i = 0; i < 20000; i++) {
    bool masked = i % 4 == 3;
    int64_t length = i % 7 ? 300 : 1;
    rs_geometry columns = columns_of(length, masked);
    const rs_shape *wide = rs_column_shape(&columns, RS_TEMPLATE_WIDE);
    rs_rows rows = random_rows(&state, length, masked, false);
    bool expected =
        looks_wide(wide, &rows, rows.array[RS_IN].data, wide->in, rows.array[RS_IN].step, rows.array[RS_IN].stride) &&
        looks_wide(wide, &rows, rows.array[RS_OUT].data, wide->out, rows.array[RS_OUT].step,
                   rows.array[RS_OUT].stride) &&
        (!masked || looks_wide(wide, &rows, rows.array[RS_MASK].data, wide->mask, rows.array[RS_MASK].step,
                               rows.array[RS_MASK].stride));
    ck_assert_int_eq(rs_wide_fits(wide, &rows), expected);
    taken += expected;
  }
  ck_assert_int_gt(taken, 100);
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, SHAPES = 12, CALLS = 20000 };

static struct {
  rs_geometry columns;
  rs_rows rows[SHAPES];
} shared;

static void *ask(void *number) {
  uint64_t state = (uint64_t)((char *)number - (char *)NULL) + 10;
  long wrong = 0;
  for (int i = 0; i < CALLS; i++)
    wrong += !agrees(&memo, &shared.columns, &shared.rows[any(&state, SHAPES)]);
  return (char *)NULL + wrong;
}

/* Short columns that lie one run: who takes them, and how. */
START_TEST(short_columns_have_tiles_of_whole_outers) {
  static const struct {
    int64_t outers, length, inner;
    rs_template kernel;
    int mode;      /* of columns.cuh */
    bool one_tile; /* along the length */
  } given[] = {
      {100000, 64, 4, RS_TEMPLATE_COLUMNS, BY_SEGMENTS, true},   /* whole segments */
      {100000, 200, 4, RS_TEMPLATE_COLUMNS, BY_SEGMENTS, true},  /* a last segment that lacks steps */
      {100000, 2048, 4, RS_TEMPLATE_COLUMNS, BY_SEGMENTS, true}, /* outers of 32 KB */
      {100000, 4000, 4, RS_TEMPLATE_COLUMNS, BY_SEGMENTS, true}, /* of 64 KB */
      {100, 4000, 4, RS_TEMPLATE_COLUMNS, BY_SEGMENTS, false},   /* fewer than multiprocessors */
      {100, 2048, 4, RS_TEMPLATE_COLUMNS_AT_ONCE, 0, true},      /* and small */
      {1, 2048, 4, RS_TEMPLATE_COLUMNS_AT_ONCE, 0, false},       /* smaller */
      {1000, 3000, 8, RS_TEMPLATE_COLUMNS, BY_SEGMENTS, false},  /* of 96 KB */
      {100000, 100, 10, RS_TEMPLATE_SHORT_COLUMNS, 0, true},     /* lanes do not meet */
      {100000, 55, 7, RS_TEMPLATE_COLUMNS, BY_SEGMENTS, true},   /* five do */
  };
  rs_geometry columns = columns_of(given[_i].length, false);
  int64_t outer = given[_i].length * given[_i].inner;
  rs_rows rows = {.rank = 2,
                  .count = given[_i].outers * given[_i].inner,
                  .shape = {given[_i].outers, given[_i].inner},
                  .array[RS_IN].stride = {outer, 1},
                  .array[RS_OUT].stride = {outer, 1},
                  .array[RS_INIT].stride = {given[_i].inner, 1},
                  .array[RS_TOTALS].stride = {given[_i].inner, 1},
                  .array[RS_IN].step = given[_i].inner,
                  .array[RS_OUT].step = given[_i].inner,
                  .array[RS_IN].data = (char *)NULL + 4096,
                  .array[RS_OUT].data = (char *)NULL + 8192};
  set_four_bytes(&rows);
  rs_columns_launch launch = {.rows = &rows, .made_of = rs_columns_best(&columns, &rows)};
  ck_assert_int_eq(launch.made_of, given[_i].kernel);
  ck_assert(rs_columns_whole(&launch, &columns));
  ck_assert_int_eq(launch.need.workspace == 0, given[_i].one_tile);
  if (launch.made_of != RS_TEMPLATE_COLUMNS)
    return;
  const ColumnCut *cut = &launch.cut.any;
  ck_assert_int_eq(cut->in_mode, given[_i].mode);
  ck_assert_int_eq(cut->out_mode, given[_i].mode);
  int segment = rs_column_shape(&columns, RS_TEMPLATE_COLUMNS)->steps * cut->columns + cut->in_pad, met = 0;
  ck_assert_int_eq(segment % 4, 0);
  for (int lane = 0; lane < 32 && given[_i].inner % 4 == 0; lane += 4) { /* words of 16 bytes, each in its own banks */
    int word = (lane / cut->columns * segment + lane % cut->columns) / 4;
    ck_assert_msg(!(met >> word % 8 & 1), "lane %d", lane);
    met |= 1 << word % 8;
  }
  ck_assert_int_eq(cut->tiles == 1, given[_i].one_tile);
  ck_assert_int_le(3 * (launch.need.shared + 1024), 228 * 1024 * (given[_i].one_tile ? 1 : 3));
}
END_TEST

START_TEST(threads_share_a_memo) {
  uint64_t state = 4;
  shared.columns = columns_of(300, false);
  shared.columns.shape[rs_column_kernel(RS_TEMPLATE_WIDE)].made_of = RS_TEMPLATE_NONE;
  memset(&memo, 0, sizeof memo);
  for (int i = 0; i < SHAPES; i++)
    shared.rows[i] = random_rows(&state, 300, false, false);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, (char *)NULL + i), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
    ck_assert_ptr_null(wrong);
  }
}
END_TEST

static rs_rows dense(int64_t outers, int64_t length, int64_t inner) {
  rs_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.rank = 2;
  rows.count = outers * inner;
  set_four_bytes(&rows);
  rows.shape[0] = outers;
  rows.shape[1] = inner;
  rows.array[RS_IN].data = rows.array[RS_OUT].data = (char *)NULL + 4096;
  rows.array[RS_IN].step = rows.array[RS_OUT].step = inner;
  rows.array[RS_IN].stride[0] = rows.array[RS_OUT].stride[0] = length * inner;
  rows.array[RS_IN].stride[1] = rows.array[RS_OUT].stride[1] = rows.array[RS_INIT].stride[1] =
      rows.array[RS_TOTALS].stride[1] = 1;
  rows.array[RS_INIT].stride[0] = rows.array[RS_TOTALS].stride[0] = inner;
  return rows;
}

/* As columns_parts.c and short_cut.c say; tests/results/ has those that were measured. */
START_TEST(a_run_has_the_kernel_chosen_for_it) {
  static const struct {
    int64_t outers, length, inner;
    rs_template kernel;
  } runs[] = {{8, 1048576, 7, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 1048576, 2, RS_TEMPLATE_STREAM_TUPLES},
              {33, 70001, 4, RS_TEMPLATE_STREAM_TUPLES + 2},
              {33, 70001, 3, RS_TEMPLATE_STREAM_TUPLES + 1},
              {33, 70001, 9, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 5162224, 13, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 322640, 13, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 262144, 16, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 1048576, 32, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 131072, 32, RS_TEMPLATE_WIDE},
              {1, 1369568, 49, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 1048576, 64, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 65536, 64, RS_TEMPLATE_WIDE},
              {1, 43240, 97, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 691848, 97, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 1383696, 97, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 50331648, 97, RS_TEMPLATE_ASKEW}, /* too many tiles */
              {1, 524288, 128, RS_TEMPLATE_WIDE},
              {1, 32768, 129, RS_TEMPLATE_ASKEW},
              {16384, 4096, 16, RS_TEMPLATE_STREAM_COLUMNS},
              {1, 16384, 4096, RS_TEMPLATE_WIDE},
              {64, 4096, 32, RS_TEMPLATE_WIDE},
              {262144, 64, 16, RS_TEMPLATE_SHORT_COLUMNS},
              {16131, 64, 65, RS_TEMPLATE_SHORT_COLUMNS},
              {9586, 1000, 7, RS_TEMPLATE_SHORT_COLUMNS},
              {8192, 512, 16, RS_TEMPLATE_SHORT_COLUMNS},
              {4793490, 2, 7, RS_TEMPLATE_SHORT_COLUMNS},
              {22369, 3, 1000, RS_TEMPLATE_SHORT_COLUMNS},
              {2048, 2048, 16, RS_TEMPLATE_WIDE}, /* an outer is too large */
              {22369, 3, 4000, RS_TEMPLATE_WIDE},
              {131072, 64, 8, RS_TEMPLATE_COLUMNS}, /* too many lanes in a bank */
              {149796, 64, 7, RS_TEMPLATE_COLUMNS},
              {16384, 1024, 4, RS_TEMPLATE_COLUMNS},
              {1, 16384, 4097, RS_TEMPLATE_ASKEW},
              {1, 65536, 1028, RS_TEMPLATE_ASKEW}, /* strips of words would share sectors */
              {1, 65536, 1032, RS_TEMPLATE_WIDE},
              {4096, 16, 1020, RS_TEMPLATE_ASKEW},
              {64, 4096, 36, RS_TEMPLATE_STREAM_COLUMNS},
              {600, 1000, 193, RS_TEMPLATE_RING_COLUMNS},
              {600, 1000, 192, RS_TEMPLATE_WIDE}, /* in words */
              {60, 1000, 193, RS_TEMPLATE_ASKEW}, /* columns for few multiprocessors */
              {60, 1000, 1930, RS_TEMPLATE_RING_COLUMNS},
              {1, (int64_t)1 << 34, 1, RS_TEMPLATE_COLUMNS}, /* too many tiles */
              {1, ((int64_t)1 << 45) + 16384, 1, RS_TEMPLATE_COLUMNS}};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    rs_geometry columns = columns_of(runs[i].length, false);
    rs_rows rows = dense(runs[i].outers, runs[i].length, runs[i].inner);
    ck_assert_msg(rs_columns_chosen(&columns, &rows) == runs[i].kernel, "%lld x %lld x %lld: kernel %d",
                  (long long)runs[i].outers, (long long)runs[i].length, (long long)runs[i].inner,
                  (int)rs_columns_chosen(&columns, &rows));
  }
}
END_TEST

/* Columns off words, where strips are few and long. */
START_TEST(tiles_ask_for_others_elements_where_it_is_faster) {
  static const struct {
    int64_t outers, length, inner;
    bool asks;
  } runs[] = {{1, 347720, 193, true}, {1, 261120, 257, true}, {1, 174312, 385, false}, /* seven strips */
              {1, 21736, 193, false}, /* all tiles are in work at once */
              {64, 8192, 193, false}, {1, 524288, 131, true}};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    rs_geometry columns = columns_of(runs[i].length, false);
    rs_rows rows = dense(runs[i].outers, runs[i].length, runs[i].inner);
    rs_columns_launch launch = {.rows = &rows, .made_of = rs_columns_best(&columns, &rows)};
    ck_assert_int_eq(launch.made_of, RS_TEMPLATE_ASKEW);
    ck_assert(rs_columns_whole(&launch, &columns));
    ck_assert_msg((launch.cut.wide.ahead > 0) == runs[i].asks, "%lld x %lld x %lld: %d tiles ahead",
                  (long long)runs[i].outers, (long long)runs[i].length, (long long)runs[i].inner,
                  launch.cut.wide.ahead);
  }
}
END_TEST

/* Results 16 bytes on: rows of 4 bytes an element then share sectors, those of 2 bytes are better in words all the
 * same; and none is taken for the other. */
START_TEST(where_results_begin_matters) {
  rs_geometry columns = columns_of(4096, false);
  rs_columns_memo memo = {0};
  rs_rows rows = dense(64, 4096, 32);
  static const rs_template kernels[] = {RS_TEMPLATE_WIDE, RS_TEMPLATE_STREAM_COLUMNS, RS_TEMPLATE_WIDE};
  for (int i = 0; i < 3; i++) {
    rs_columns_launch launch;
    rows.array[RS_IN].data = rows.array[RS_OUT].data = (char *)NULL + 4096 + i % 2 * 16;
    rs_columns_recall(&memo, &launch, &columns, &rows);
    ck_assert_int_eq(launch.made_of, kernels[i]);
    ck_assert_int_eq(rs_columns_best(&columns, &rows), kernels[i]);
  }
  columns.shape[rs_column_kernel(RS_TEMPLATE_WIDE)].out = 2;
  ck_assert_int_eq(rs_columns_best(&columns, &rows), RS_TEMPLATE_WIDE);
  rows.array[RS_IN].data = rows.array[RS_OUT].data = (char *)NULL + 4096 + 16;
  ck_assert_int_eq(rs_columns_best(&columns, &rows), RS_TEMPLATE_WIDE);
}
END_TEST

/* All tiles at once if these are few; what is read or written travels in words where it can. */
START_TEST(few_columns_are_in_work_at_once) {
  enum { LENGTH = 4000 };
  static const struct {
    int in, out; /* bytes from a word */
    int64_t outers, inner, apart;
    bool reverse, odd;
    int64_t steps;            /* of a tile; 0: another kernel's */
    bool in_alone, out_alone; /* elements one by one */
  } given[] = {{0, 0, 1, 8, 0, false, false, 256, false, false},   {8, 0, 1, 8, 0, false, false, 256, true, false},
               {0, 8, 1, 8, 0, false, false, 256, false, true},    {0, 0, 1, 3, 0, false, false, 512, false, false},
               {0, 0, 1, 3, 0, true, false, 512, false, false},    {0, 0, 1, 3, 0, true, true, 512, true, true},
               {0, 0, 1, 3, 0, false, true, 512, false, false},    {0, 0, 1, 8, 0, true, true, 256, false, false},
               {0, 0, 1, 16, 0, false, false, 128, false, false},  {0, 0, 1, 17, 0, false, false, 128, true, true},
               {0, 0, 1, 64, 0, false, false, 128, false, false},  {0, 0, 1, 512, 0, false, false, 0, false, false},
               {0, 0, 1, 256, 0, false, false, 512, false, false}, {0, 0, 3, 8, 0, false, false, 256, false, false},
               {0, 0, 30, 8, 0, false, false, 1024, false, false}, {0, 0, 140, 4, 0, false, false, 0, false, false},
               {0, 0, 3, 8, 4, false, false, 256, false, false},   {0, 0, 3, 8, 2, false, false, 256, true, false}};
  char *memory = (char *)NULL + 4096;
  rs_columns_memo memo = {0};
  for (int i = 0; i < (int)(sizeof given / sizeof *given); i++) {
    rowscan_spec spec = {
        .size = sizeof spec, .length = LENGTH + given[i].odd, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS};
    spec.flags = given[i].reverse ? ROWSCAN_REVERSE : 0;
    ck_assert(!rowscan_spec_complete(&spec));
    rs_geometry columns = rs_tune(&spec, 90);
    have_multiprocessors(&columns, 132);
    rs_rows rows = dense(given[i].outers, spec.length, given[i].inner);
    rows.array[RS_IN].stride[0] += given[i].apart;
    rows.array[RS_IN].data = memory + given[i].in;
    rows.array[RS_OUT].data = memory + given[i].out;
    if (given[i].reverse || given[i].odd)
      memo = (rs_columns_memo){0}; /* of another plan */
    for (int again = 0; again < 2; again++) {
      rs_columns_launch launch;
      ck_assert(rs_columns_recall(&memo, &launch, &columns, &rows));
      ck_assert_msg((launch.made_of == RS_TEMPLATE_COLUMNS_AT_ONCE) == (given[i].steps != 0), "%d", i);
      ck_assert_int_eq(launch.made_of, rs_columns_chosen(&columns, &rows));
      if (!given[i].steps)
        continue;
      int64_t tiles = (spec.length + given[i].steps - 1) / given[i].steps, strips = (given[i].inner + 15) / 16;
      ck_assert_msg(launch.cut.at_once.tiles == tiles && launch.need.blocks == given[i].outers * strips * tiles, "%d",
                    i);
      ck_assert_uint_eq(launch.need.workspace, (size_t)(32 + rows.count * tiles) * 8);
      ck_assert_msg(launch.cut.at_once.in.one_by_one == given[i].in_alone &&
                        launch.cut.at_once.out.one_by_one == given[i].out_alone,
                    "%d", i);
    }
  }
}
END_TEST

/* As tuples if all arrays have columns side by side, outers whole tuples apart, and begin on units of a tuple: up to
 * eight to f16, and of f32, which has streams of columns, up to four. */
START_TEST(few_columns_go_as_tuples) {
  enum { LENGTH = 100003, OUTERS = 7 };
  static const struct {
    int at, init_at;       /* elements from a word: of the input, and of initial values */
    int64_t apart, column; /* elements more between outers of the input; between columns of the output */
    int64_t init_apart;    /* between initial values of two outers, beyond those of one */
    bool even;             /* whether tuples of even numbers begin on units; of odd ones they do anywhere */
  } given[] = {{0, 0, 0, 1, 0, true},   {1, 0, 0, 1, 0, false},  {4, 0, 0, 1, 0, true}, {0, 1, 0, 1, 0, false},
               {0, 0, 1, 1, 0, true},   {0, 0, 840, 1, 0, true}, {0, 0, 0, 2, 0, true}, {0, 0, 0, 1, 1, true},
               {0, 0, 0, 1, 840, true}, {0, 0, 0, 1, 2, true},   {0, 0, 0, 1, 0, true}};
  char *memory = (char *)NULL + 4096;
  const bool narrows = _i;
  const int most = narrows ? RS_MOST_TUPLE : 4;
  rs_geometry columns = columns_to(narrows ? ROWSCAN_F16 : ROWSCAN_F32, LENGTH, false);
  rs_columns_memo memo = {0};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    for (int k = 2; k <= RS_MOST_TUPLE; k++) {
      rs_rows rows = dense(OUTERS, LENGTH, k);
      rows.array[RS_OUT].bytes = narrows ? 2 : 4;
      rows.array[RS_IN].data = memory + 4 * given[i].at;
      rows.array[RS_IN].stride[0] += given[i].apart;
      rows.array[RS_OUT].stride[1] = given[i].column;
      rows.array[RS_OUT].step *= given[i].column;
      rows.array[RS_OUT].stride[0] *= given[i].column;
      rows.array[RS_INIT].data = memory + 4 * given[i].init_at;
      rows.array[RS_INIT].stride[0] += given[i].init_apart;
      for (int again = 0; again < 2; again++) {
        rs_columns_launch launch;
        rs_columns_recall(&memo, &launch, &columns, &rows);
        ck_assert_int_eq(launch.made_of, rs_columns_chosen(&columns, &rows));
        bool whole = k <= most && given[i].column == 1 && given[i].apart % k == 0 && given[i].init_apart % k == 0;
        ck_assert_msg((launch.made_of == rs_stream_of_tuples(k)) == (whole && (k % 2 || given[i].even)),
                      "%d: %d columns", (int)i, k);
      }
    }
}
END_TEST

/* Steps of less than 64 bytes are one run where results are wider and totals have several words, and never a stream of
   columns; others are in words, or a stream. */
START_TEST(few_long_columns_with_large_totals_are_a_run) {
  enum { LENGTH = 1000000 };
  static const struct {
    rowscan_op op;
    rowscan_type type;
    int64_t columns;
    rs_template made_of;
  } given[] = {{ROWSCAN_ARGMAX, ROWSCAN_F32, 5, RS_TEMPLATE_COLUMNS},
               {ROWSCAN_ARGMAX, ROWSCAN_F32, 12, RS_TEMPLATE_COLUMNS},
               {ROWSCAN_ARGMAX, ROWSCAN_F32, 16, RS_TEMPLATE_WIDE},
               {ROWSCAN_ARGMAX, ROWSCAN_I8, 48, RS_TEMPLATE_COLUMNS},
               {ROWSCAN_ARGMAX, ROWSCAN_I8, 64, RS_TEMPLATE_WIDE},
               {ROWSCAN_LOGSUMEXP, ROWSCAN_F32, 12, RS_TEMPLATE_COLUMNS},
               {ROWSCAN_EXTENDED_PROD, ROWSCAN_F32, 5, RS_TEMPLATE_COLUMNS},
               {ROWSCAN_LINEAR_RECURRENCE, ROWSCAN_F32, 5, RS_TEMPLATE_COLUMNS},
               {ROWSCAN_SUM, ROWSCAN_F32, 5, RS_TEMPLATE_STREAM_COLUMNS}};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    rowscan_spec spec = {.length = LENGTH, .op = given[i].op, .in_type = given[i].type};
    rs_geometry columns = columns_for(&spec);
    rs_rows rows = dense(1, LENGTH, given[i].columns);
    set_bytes(&rows, &spec);
    rows.array[RS_MASK] = rows.array[RS_IN];
    ck_assert_msg(rs_columns_chosen(&columns, &rows) == given[i].made_of, "%d: %d", (int)i,
                  rs_columns_chosen(&columns, &rows));
  }
}
END_TEST

/* ---- further arrays ---------------------------------------------------------------------------------------------- */

static rs_geometry columns_of_further(int64_t length) {
  rowscan_spec spec = {.length = length, .op = ROWSCAN_LINEAR_RECURRENCE, .mask_mode = ROWSCAN_MASK_SELECT};
  return columns_for(&spec);
}

/* As columns_parts.c says. */
START_TEST(columns_with_further_arrays_are_cut_or_walked_along) {
  enum { LENGTH = 1000, ENOUGH = 96 * 132 };
  rs_geometry columns = columns_of_further(LENGTH);
  for (int made_of = RS_TEMPLATE_COLUMNS; made_of < RS_TEMPLATES; made_of++) {
    bool lists = made_of == RS_TEMPLATE_WIDE || made_of == RS_TEMPLATE_RING_COLUMNS; /* which these take */
    ck_assert_int_eq(rs_column_shape(&columns, made_of)->made_of, lists ? made_of : RS_TEMPLATE_NONE);
  }
  for (int outers = 1; outers <= 2; outers++)
    for (int more = -1; more <= 1; more++) {
      rs_rows rows = dense(outers, LENGTH, ENOUGH / outers + more);
      rs_template made_of = more < 0 ? RS_TEMPLATE_FURTHER_COLUMNS : RS_TEMPLATE_FURTHER_WALK;
      ck_assert_int_eq(rs_columns_chosen(&columns, &rows), made_of);
      rs_columns_launch launch;
      rs_columns_memo memo = {0};
      ck_assert(rs_columns_recall(&memo, &launch, &columns, &rows));
      ck_assert_int_eq(launch.made_of, made_of);
      const rs_shape *walk = rs_column_shape(&columns, RS_TEMPLATE_FURTHER_WALK);
      if (more >= 0)
        ck_assert(launch.need.blocks * (walk->threads / walk->lanes) >= rows.count && !launch.need.workspace);
    }
}
END_TEST

/* In words where totals are small, or columns too few for rings, but not where much is loaded for one output. */
START_TEST(columns_with_further_arrays_go_in_words_or_rings) {
  enum { LENGTH = 1000, WALK = 96 * 132, RING = 1200 / 6 * 132 };
  static const struct {
    rowscan_op op;
    rowscan_type second;
    int64_t columns;
    rs_template made_of;
  } given[] = {{ROWSCAN_GAE, ROWSCAN_F32, WALK - 8, RS_TEMPLATE_WIDE},
               {ROWSCAN_GAE, ROWSCAN_F32, WALK - 7, RS_TEMPLATE_FURTHER_COLUMNS},
               {ROWSCAN_GAE, ROWSCAN_F32, WALK + 1, RS_TEMPLATE_FURTHER_WALK},
               {ROWSCAN_GAE, ROWSCAN_F32, RING - 8, RS_TEMPLATE_WIDE},
               {ROWSCAN_WEIGHTED_RECURRENCE, ROWSCAN_TYPE_DEFAULT, WALK - 8, RS_TEMPLATE_FURTHER_COLUMNS},
               {ROWSCAN_WEIGHTED_RECURRENCE, ROWSCAN_TYPE_DEFAULT, WALK, RS_TEMPLATE_FURTHER_WALK},
               {ROWSCAN_WEIGHTED_RECURRENCE, ROWSCAN_F32, WALK, RS_TEMPLATE_WIDE},
               {ROWSCAN_DECAYED_SUM, ROWSCAN_TYPE_DEFAULT, WALK, RS_TEMPLATE_WIDE},
               {ROWSCAN_GAE, ROWSCAN_F32, RING, RS_TEMPLATE_RING_COLUMNS},
               {ROWSCAN_GAE, ROWSCAN_F32, RING + 1, RS_TEMPLATE_RING_COLUMNS},
               {ROWSCAN_SUM, ROWSCAN_TYPE_DEFAULT, WALK, RS_TEMPLATE_WIDE},
               {ROWSCAN_SUM, ROWSCAN_TYPE_DEFAULT, RING, RS_TEMPLATE_WIDE},
               {ROWSCAN_SUM, ROWSCAN_TYPE_DEFAULT, WALK + 1, RS_TEMPLATE_FURTHER_WALK},
               {ROWSCAN_SUM, ROWSCAN_TYPE_DEFAULT, RING + 1, RS_TEMPLATE_RING_COLUMNS}};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    rowscan_spec spec = {.length = LENGTH, .op = given[i].op, .second_type = given[i].second};
    if (spec.op == ROWSCAN_SUM) { /* a total of 8 bytes */
      spec.mask_mode = ROWSCAN_MASK_SELECT;
      spec.segment_mode = ROWSCAN_MASK_HEADS;
    }
    rs_geometry columns = columns_for(&spec);
    rs_rows rows = dense(1, LENGTH, given[i].columns);
    set_bytes(&rows, &spec);
    ck_assert_msg(rs_columns_chosen(&columns, &rows) == given[i].made_of, "%d: %d", (int)i,
                  rs_columns_chosen(&columns, &rows));
  }
}
END_TEST

/* Of several inputs or outputs, whose steps say how a ring brings each of them. */
START_TEST(further_arrays_are_looked_at_each_time) {
  enum { OUTERS = 200, LENGTH = 128, COLUMNS = 256, APART = 16 };
  rowscan_spec spec = {.length = LENGTH, .op = ROWSCAN_GAE, .second_type = ROWSCAN_F32};
  rs_geometry columns = columns_for(&spec);
  rs_rows rows = dense(OUTERS, LENGTH, COLUMNS);
  rows.further = true;
  set_bytes(&rows, &spec);
  for (int a = RS_ARRAYS; a < RS_ALL_ARRAYS; a++)
    if (a != RS_SEGMENTS)
      rows.array[a] = rows.array[RS_IN];
  memset(&memo, 0, sizeof memo);
  ck_assert(agrees(&memo, &columns, &rows));
  ck_assert_int_eq(rs_columns_chosen(&columns, &rows), RS_TEMPLATE_RING_COLUMNS);
  for (int a = RS_ARRAYS; a < RS_ALL_ARRAYS; a++)
    if (a != RS_SEGMENTS) {
      rs_operand was = rows.array[a];
      rows.array[a].step += APART;
      rows.array[a].stride[0] += APART * LENGTH;
      ck_assert(agrees(&memo, &columns, &rows));
      rows.array[a] = was;
    }
}
END_TEST

/* Few lanes have no column. */
START_TEST(tiles_with_further_arrays_are_as_wide_as_columns_need) {
  enum { LENGTH = 10000 };
  static const struct {
    int64_t columns;
    int width, strips; /* log2 of the columns of a strip */
  } given[] = {{1, 0, 1}, {3, 2, 1}, {8, 3, 1}, {17, 3, 3}, {32, 5, 1}, {42, 4, 3}, {280, 5, 9}, {40, 3, 5}};
  rs_geometry columns = columns_of_further(LENGTH);
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    rs_rows rows = dense(3, LENGTH, given[i].columns);
    rs_columns_launch launch = {.rows = &rows, .made_of = RS_TEMPLATE_FURTHER_COLUMNS};
    ck_assert(rs_columns_whole(&launch, &columns));
    const WideCut *cut = &launch.cut.wide;
    ck_assert_msg(cut->width == given[i].width && cut->strips == given[i].strips, "%d: 2^%d in %d", (int)i, cut->width,
                  cut->strips);
    ck_assert_int_eq((1 << cut->width) << cut->segments,
                     rs_column_shape(&columns, RS_TEMPLATE_FURTHER_COLUMNS)->threads);
    int64_t steps = (int64_t)rs_column_shape(&columns, RS_TEMPLATE_FURTHER_COLUMNS)->steps << cut->segments;
    ck_assert(cut->tiles * steps >= LENGTH && (cut->tiles - 1) * steps < LENGTH);
  }
}
END_TEST

/* Whose totals would take more memory than there is for them in one launch. */
START_TEST(many_tiles_with_further_arrays_take_several_launches) {
  enum { LENGTH = 1 << 24, COLUMNS = 4099 };
  rs_geometry columns = columns_of_further(LENGTH);
  rs_rows rows = dense(2, LENGTH, COLUMNS);
  rs_columns_parts parts;
  rs_columns_launch part;
  int64_t count = 0, launches = 0;
  rs_columns_begin(&parts, &columns, &rows);
  for (; rs_columns_next(&parts, &part); launches++) {
    ck_assert_int_eq(part.made_of, RS_TEMPLATE_FURTHER_COLUMNS);
    ck_assert_uint_le(part.need.workspace, rs_columns_bound(&columns));
    count += part.rows->count;
  }
  ck_assert_int_eq(count, rows.count);
  ck_assert_int_gt(launches, 2);
}
END_TEST

/* In pairs if all that is read or written of two columns begins in whole words, or pairs; and none is taken for others.
 */
START_TEST(two_columns_go_in_pairs) {
  enum { LENGTH = 100000, NO = -1 };
  static const struct {
    int in, out, init, totals; /* bytes from a word; NO: there are none */
    int64_t outers, inner, apart;
    bool reverse, odd, pairs;
    int64_t init_row, totals_row; /* strides of the columns in these, where they are not next to each other */
  } given[] = {{0, 0, NO, NO, 1, 2, 0, false, false, true, 0, 0},  {8, 0, NO, NO, 1, 2, 0, false, false, false, 0, 0},
               {0, 8, NO, NO, 1, 2, 0, false, false, false, 0, 0}, {0, 0, 8, NO, 1, 2, 0, false, false, true, 0, 0},
               {0, 0, 4, NO, 1, 2, 0, false, false, false, 0, 0},  {0, 0, NO, 4, 1, 2, 0, false, false, false, 0, 0},
               {0, 0, NO, 0, 1, 2, 0, false, false, true, 0, 0},   {0, 0, NO, NO, 1, 3, 0, false, false, false, 0, 0},
               {0, 0, NO, NO, 10, 2, 0, false, false, true, 0, 0}, {0, 0, NO, NO, 11, 2, 0, false, false, false, 0, 0},
               {0, 0, NO, NO, 2, 2, 4, false, false, true, 0, 0},  {0, 0, NO, NO, 2, 2, 2, false, false, false, 0, 0},
               {0, 0, NO, NO, 1, 2, 0, true, false, true, 0, 0},   {0, 0, NO, NO, 1, 2, 0, true, true, false, 0, 0},
               {0, 0, NO, NO, 1, 2, 0, false, true, true, 0, 0},   {0, 0, 0, NO, 3, 2, 0, false, false, true, 0, 0},
               {0, 0, 0, NO, 3, 2, 0, false, false, false, 3, 0},  {0, 0, NO, 8, 3, 2, 0, false, false, true, 0, 0},
               {0, 0, NO, 8, 3, 2, 0, false, false, false, 0, 3},  {0, 0, 0, 8, 3, 2, 0, false, false, true, 0, 0},
               {0, 0, 0, 8, 3, 2, 0, false, false, false, 3, 0},   {0, 0, 0, 8, 3, 2, 0, false, false, false, 0, 3},
               {0, 0, NO, 8, 3, 2, 0, false, false, true, 3, 0},   {0, 0, 8, NO, 3, 2, 0, false, false, true, 0, 3}};
  char *memory = (char *)NULL + 4096;
  rs_columns_memo memo = {0};
  for (int i = 0; i < (int)(sizeof given / sizeof *given); i++) {
    rs_geometry columns = columns_of(LENGTH + given[i].odd, false);
    columns.shape[rs_column_kernel(RS_TEMPLATE_PAIRS)] = (rs_shape){.made_of = RS_TEMPLATE_PAIRS,
                                                                    .columns = 2,
                                                                    .length = LENGTH + given[i].odd,
                                                                    .in = 4,
                                                                    .out = 4,
                                                                    .acc = 4,
                                                                    .reverse = given[i].reverse,
                                                                    .warps = 16,
                                                                    .chunks = 1,
                                                                    .lanes = 32,
                                                                    .vector = 8,
                                                                    .min_blocks = 2,
                                                                    .multiprocessors = 132};
    rs_rows rows = dense(given[i].outers, LENGTH + given[i].odd, given[i].inner);
    rows.array[RS_IN].stride[0] += given[i].apart;
    for (int a = RS_INIT; a < RS_ARRAYS; a++) {
      int64_t row = a == RS_INIT ? given[i].init_row : given[i].totals_row;
      rows.array[a].stride[0] = row ? 1 : rows.array[a].stride[0];
      rows.array[a].stride[1] = row ? row : 1;
    }
    rows.array[RS_IN].data = memory + given[i].in;
    rows.array[RS_OUT].data = memory + given[i].out;
    rows.array[RS_INIT].data = given[i].init == NO ? NULL : memory + given[i].init;
    rows.array[RS_TOTALS].data = given[i].totals == NO ? NULL : memory + given[i].totals;
    if (given[i].reverse || given[i].odd)
      memo = (rs_columns_memo){0}; /* of another plan */
    for (int again = 0; again < 2; again++) {
      rs_columns_launch launch;
      ck_assert(rs_columns_recall(&memo, &launch, &columns, &rows));
      ck_assert_msg((launch.made_of == RS_TEMPLATE_PAIRS) == given[i].pairs, "%d", i);
      ck_assert_int_eq(launch.made_of, rs_columns_chosen(&columns, &rows));
      if (given[i].pairs)
        ck_assert(launch.need.blocks == given[i].outers * 25 && launch.need.shared == 32 << 10 &&
                  launch.need.workspace == (size_t)(32 + given[i].outers * 25 * 2) * 8);
    }
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("columns_memo");
  TCase *threads = tcase_create("threads");
  tcase_add_test(threads, threads_share_a_memo);
  suite_add_tcase(suite, threads);

  TCase *cases = tcase_create("one thread");
  tcase_set_tags(cases, "alone");
  tcase_add_test(cases, no_rows_are_taken_for_others);
  tcase_add_test(cases, further_arrays_are_looked_at_each_time);
  tcase_add_test(cases, what_was_asked_before_is_remembered);
  tcase_add_loop_test(cases, what_is_too_long_for_a_stream_is_wide, 0, 2);
  tcase_add_test(cases, where_results_begin_matters);
  tcase_add_test(cases, few_columns_are_in_work_at_once);
  tcase_add_loop_test(cases, few_columns_go_as_tuples, 0, 2);
  tcase_add_test(cases, few_long_columns_with_large_totals_are_a_run);
  tcase_add_test(cases, columns_with_further_arrays_are_cut_or_walked_along);
  tcase_add_test(cases, columns_with_further_arrays_go_in_words_or_rings);
  tcase_add_test(cases, tiles_with_further_arrays_are_as_wide_as_columns_need);
  tcase_add_test(cases, many_tiles_with_further_arrays_take_several_launches);
  tcase_add_test(cases, two_columns_go_in_pairs);
  tcase_add_test(cases, large_tensors_are_one_launch);
  tcase_add_loop_test(cases, a_tile_has_room, 0, 6 * 5);
  tcase_add_test(cases, cuts_count_with_the_blocks_of_kernels);
  tcase_add_test(cases, more_tiles_than_an_int_counts);
  tcase_add_test(cases, a_whole_run_is_the_only_part);
  tcase_add_test(cases, no_part_takes_more_than_there_is);
  tcase_add_test(cases, wide_takes_what_lies_in_words);
  tcase_add_loop_test(cases, short_columns_have_tiles_of_whole_outers, 0, 10);
  tcase_add_test(cases, a_run_has_the_kernel_chosen_for_it);
  tcase_add_test(cases, tiles_ask_for_others_elements_where_it_is_faster);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
