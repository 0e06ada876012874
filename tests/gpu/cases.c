/*
 * cases.c - what is tested
 * SPDX-License-Identifier: MIT
 */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "any_op.h"

/* ---- specs ------------------------------------------------------------------------------------------------------- */

static bool floating(rowscan_type type) {
  return type >= ROWSCAN_F16 && type <= ROWSCAN_F64;
}

void case_random_types(rowscan_spec *spec, random_source *random) {
  static const rowscan_type floats[] = {ROWSCAN_F16, ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F64};
  spec->out_type = spec->acc_type = ROWSCAN_TYPE_DEFAULT;
  if (random_one_in(random, 2))
    spec->out_type =
        floating(spec->in_type) ? floats[random_below(random, 4)] : (rowscan_type)(1 + random_below(random, 12));
  if (random_one_in(random, 4) && (spec->out_type ? floating(spec->out_type) : floating(spec->in_type)))
    spec->acc_type = ROWSCAN_F64;
  const rowscan_type masks[] = {ROWSCAN_BOOL, ROWSCAN_BOOL, ROWSCAN_U8, spec->in_type};
  if (spec->mask_mode)
    spec->mask_type = masks[random_below(random, 4)];
}

void case_random_spec(rowscan_spec *spec, random_source *random, int64_t longest) {
  static const rowscan_mask_mode masks[] = {ROWSCAN_MASK_NONE, ROWSCAN_MASK_NONE, ROWSCAN_MASK_SELECT,
                                            ROWSCAN_MASK_MULTIPLY};
  *spec = (rowscan_spec){.size = sizeof *spec};
  spec->in_type = (rowscan_type)(1 + random_below(random, 13));
  spec->mask_mode = masks[random_below(random, 4)];
  case_random_types(spec, random);
  op_take(spec, random_bits(random) >> 8);
  spec->flags = (unsigned)random_below(random, 4);
  spec->length = random_one_in(random, 3) ? 1 + random_below(random, longest < 5000 ? longest : 5000)
                                          : case_length((int)random_below(random, case_lengths(longest)));
  spec->layout = random_one_in(random, 3) ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
  if (random_one_in(random, 3))
    spec->row_rank = 1 + (int)random_below(random, CASE_RANK);
  if (random_one_in(random, 2))
    spec->regime = (rowscan_regime)(1 + random_below(random, 4));
}

/* Powers of two, where vectors, warps, tiles and regimes end, and their neighbours; ascending. */
static const int64_t boundary[] = {71,    95,    96,    97,    100,   127,   128,   129,    255,    256,
                                   257,   300,   511,   512,   513,   1000,  1023,  1024,   1025,   2047,
                                   2048,  2049,  4095,  4096,  4097,  8191,  8193,  9999,   16383,  16384,
                                   16385, 32767, 32768, 32769, 40000, 65535, 65537, 131071, 300007, 1000003};
enum { SMALL_LENGTHS = 71, BOUNDARIES = sizeof boundary / sizeof *boundary };

int64_t case_length(int index) {
  return index < SMALL_LENGTHS ? index : boundary[index - SMALL_LENGTHS];
}

int case_lengths(int64_t longest) {
  int count = 0;
  while (count < SMALL_LENGTHS + BOUNDARIES && case_length(count) <= longest)
    count++;
  return count;
}

/* ---- where the rows lie ------------------------------------------------------------------------------------------ */

int64_t case_elements(const test_case *test, const case_array *array) {
  return array->of_rows ? 1 : test->spec.length;
}

static int64_t size_of(const test_case *test, const case_array *array, int dim) {
  return dim == test->spec.row_rank ? case_elements(test, array) : test->shape[dim];
}

/* Dimensions from the innermost out, as they lie in a dense array. */
static void dense_order(const test_case *test, int *order) {
  int rank = test->spec.row_rank;
  for (int i = 0; i <= rank; i++)
    order[i] = rank - i;
  if (test->spec.layout == ROWSCAN_LAYOUT_COLUMNS) {
    order[0] = rank - 1;
    order[1] = rank;
  }
}

/* Steps grow from the first dimension of `order` on. */
static void lay(const test_case *test, case_array *array, const int *order, int64_t first_step, int64_t padding) {
  int64_t step = first_step;
  for (int i = 0; i <= test->spec.row_rank; i++) {
    int64_t size = size_of(test, array, order[i]);
    array->strides[order[i]] = step;
    step *= size ? size : 1;
    step += padding;
  }
}

void case_lay(const test_case *test, case_array *array, case_view view) {
  int order[CASE_RANK + 1], rank = test->spec.row_rank;
  dense_order(test, order);
  if (view == VIEW_TRANSPOSED)
    for (int i = 0; i <= rank; i++)
      order[i] = (i + rank) % (rank + 1);
  lay(test, array, order, view == VIEW_SECOND ? 2 : 1, view == VIEW_PADDED ? 3 : 0);
  array->unsaid = view == VIEW_DENSE;
  for (int d = 0; d <= rank; d++) {
    if (view == (d == rank ? VIEW_REPEATED_ELEMENTS : VIEW_REPEATED_ROWS))
      array->strides[d] = 0;
    if (view == (d == rank ? VIEW_BACKWARD : VIEW_UPSIDE_DOWN))
      array->strides[d] = -array->strides[d];
  }
}

void case_lay_ends(test_case *test, random_source *random) {
  case_lay(test, &test->init, random_one_in(random, 2) ? VIEW_DENSE : (case_view)random_below(random, VIEWS));
  case_lay(test, &test->totals,
           random_one_in(random, 2) ? VIEW_DENSE : (case_view)random_below(random, VIEW_REPEATED_ROWS));
}

void case_dense(test_case *test, const rowscan_spec *spec, int64_t outer, int64_t inner, random_source *random) {
  *test = (test_case){.spec = *spec, .rows = outer * inner, .seed = random_bits(random)};
  int last = spec->row_rank - 1;
  bool columns = spec->layout == ROWSCAN_LAYOUT_COLUMNS && last > 0;
  for (int d = 0; d < last; d++)
    test->shape[d] = 1;
  test->shape[last] = columns ? inner : outer * inner;
  if (columns)
    test->shape[last - 1] = outer;
  case_lay(test, &test->in, VIEW_DENSE);
  test->out = test->mask = test->segments = test->second = test->in;
  for (int i = 0; i < RS_MOST_MORE; i++)
    test->more[i] = test->in;
  test->init.of_rows = true;
  case_lay(test, &test->init, VIEW_DENSE);
  test->totals = test->init;
}

static void shuffle(int *order, int count, random_source *random) {
  for (int i = count - 1; i > 0; i--) {
    int j = (int)random_below(random, i + 1), kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
}

/* Elements keep places of their own; inputs may also repeat some. */
static void random_array(const test_case *test, case_array *array, bool input, random_source *random) {
  int order[CASE_RANK + 1], dims = test->spec.row_rank + 1;
  int64_t step = random_one_in(random, 8) ? 2 + random_below(random, 3) : 1;
  case_lay(test, array, VIEW_DENSE);
  if (!random_one_in(random, 2))
    array->lead = random_below(random, 16);
  if (random_one_in(random, 3))
    return;
  array->unsaid = false;
  dense_order(test, order);
  if (random_one_in(random, 5))
    shuffle(order, dims, random);
  for (int i = 0; i < dims; i++) {
    int d = order[i];
    array->strides[d] = random_one_in(random, 8) ? -step : step;
    step *= size_of(test, array, d) ? size_of(test, array, d) : 1;
    if (random_one_in(random, 4))
      step += 1 + random_below(random, 9);
    if (input && random_one_in(random, 12))
      array->strides[d] = 0;
  }
}

static int64_t random_rows(const test_case *test, random_source *random, int64_t elements) {
  static const int64_t counts[] = {0,  1,  1,  2,  3,   4,   5,   8,   15,  16,   17,   31,   32,
                                   33, 63, 64, 65, 100, 131, 132, 133, 255, 1000, 1024, 3000, 10007};
  int64_t length = test->spec.length ? test->spec.length : 1, most = elements / length;
  int fitting = 2;
  while (fitting < (int)(sizeof counts / sizeof *counts) && counts[fitting] <= most)
    fitting++;
  return random_one_in(random, 30) ? 0 : counts[1 + random_below(random, fitting - 1)];
}

/* About so many rows as a product of sizes. */
static void random_shape(test_case *test, int64_t rows, random_source *random) {
  int rank = test->spec.row_rank, main = (int)random_below(random, rank);
  for (int d = 0; d < rank; d++) {
    int64_t size = 1 + random_below(random, 5);
    test->shape[d] = d != main && size <= rows ? size : 1;
    if (d != main && rows)
      rows /= test->shape[d];
  }
  test->shape[main] = rows;
  test->rows = 1;
  for (int d = 0; d < rank; d++)
    test->rows *= test->shape[d];
}

void case_random(test_case *test, const rowscan_spec *spec, random_source *random, int64_t elements) {
  static const data_kind kinds[] = {DATA_GENTLE,  DATA_GENTLE, DATA_WIDE,   DATA_WIDE, DATA_SPECIAL,
                                    DATA_SPECIAL, DATA_EXACT,  DATA_SPARSE, DATA_RAW};
  *test = (test_case){.spec = *spec, .seed = random_bits(random)};
  random_shape(test, random_rows(test, random, elements), random);
  random_array(test, &test->out, false, random);
  random_array(test, &test->in, true, random);
  random_array(test, &test->mask, true, random);
  test->in_place = rowscan_type_bytes(spec->in_type) == rowscan_type_bytes(spec->out_type) && random_one_in(random, 3);
  if (test->in_place)
    test->in = test->out;
  test->has_init = random_one_in(random, 3);
  test->has_totals = random_one_in(random, 3);
  test->data = kinds[random_below(random, sizeof kinds / sizeof *kinds)];
  test->init.of_rows = test->totals.of_rows = true;
  random_array(test, &test->init, true, random);
  random_array(test, &test->totals, false, random);
  if (!rs_spec_has_further(spec))
    return;
  bool together = random_one_in(random, 2); /* which is what kernels in words of 16 bytes take */
  case_array *const arrays[] = {&test->more[0], &test->more[1], &test->more[2], &test->more[3], &test->segments};
  for (int i = 0; i < RS_MOST_MORE + 1; i++)
    if (together)
      *arrays[i] = test->out;
    else
      random_array(test, arrays[i], true, random);
  if (together)
    test->in = test->mask = test->second = test->out;
  else
    random_array(test, &test->second, false, random);
  for (int i = 0; i < rs_op_of(spec->op)->params; i++)
    test->params[i] = 1 - 1. / (double)(1 + random_below(random, 100));
}

bool case_extent(const test_case *test, const case_array *array, int64_t *low, int64_t *high) {
  *low = *high = 0;
  for (int d = 0; d <= test->spec.row_rank; d++) {
    int64_t size = size_of(test, array, d), last = (size - 1) * array->strides[d];
    if (size == 0)
      return false;
    *(last < 0 ? low : high) += last;
  }
  return true;
}

int64_t case_offset(const test_case *test, const case_array *array, int64_t row, int64_t element) {
  int64_t at = element * array->strides[test->spec.row_rank];
  for (int d = test->spec.row_rank - 1; d >= 0; d--) {
    at += row % test->shape[d] * array->strides[d];
    row /= test->shape[d];
  }
  return at;
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

static void add_numbers(char *text, const char *name, const int64_t *numbers, int count) {
  size_t at = strlen(text);
  at += (size_t)snprintf(text + at, CASE_TEXT - at, " %s", name);
  for (int i = 0; i < count && at < CASE_TEXT; i++)
    at += (size_t)snprintf(text + at, CASE_TEXT - at, "%c%lld", i ? ',' : '=', (long long)numbers[i]);
}

static void add_array(char *text, const char *name, const test_case *test, const case_array *array) {
  if (array->unsaid)
    snprintf(text + strlen(text), CASE_TEXT - strlen(text), " %s=dense", name);
  else
    add_numbers(text, name, array->strides, test->spec.row_rank + 1);
  snprintf(text + strlen(text), CASE_TEXT - strlen(text), "+%lld", (long long)array->lead);
}

void case_text(const test_case *test, char text[CASE_TEXT]) {
  static const char *const modes[] = {"none", "select", "multiply", "coefficient", "heads", "tails", "keys"};
  const rowscan_spec *spec = &test->spec;
  snprintf(text, CASE_TEXT, "%s %s->%s acc=%s length=%lld%s%s%s%s mask=%s:%s layout=%s regime=%s",
           rowscan_op_name(spec->op), rowscan_type_name(spec->in_type), rowscan_type_name(spec->out_type),
           rowscan_type_name(spec->acc_type), (long long)spec->length, spec->flags & ROWSCAN_REVERSE ? " reverse" : "",
           spec->flags & ROWSCAN_EXCLUSIVE ? " exclusive" : "", spec->flags & ROWSCAN_OMIT_NAN ? " omit_nan" : "",
           spec->flags & ROWSCAN_TIES_FIRST ? " ties_first" : "", modes[spec->mask_mode],
           spec->mask_mode ? rowscan_type_name(spec->mask_type) : "-",
           spec->layout == ROWSCAN_LAYOUT_COLUMNS ? "columns" : "rows", rowscan_regime_name(spec->regime));
  add_numbers(text, "| rows", test->shape, spec->row_rank);
  add_array(text, "in", test, &test->in);
  add_array(text, "out", test, &test->out);
  if (spec->mask_mode)
    add_array(text, "mask", test, &test->mask);
  if (test->has_init)
    add_array(text, "init", test, &test->init);
  if (test->has_totals)
    add_array(text, "totals", test, &test->totals);
  for (int i = 0; i < RS_MOST_MORE && spec->more_types[i]; i++)
    add_array(text, rowscan_type_name(spec->more_types[i]), test, &test->more[i]);
  if (spec->segment_mode)
    add_array(text, modes[spec->segment_mode], test, &test->segments);
  if (spec->second_type)
    add_array(text, "second", test, &test->second);
  snprintf(text + strlen(text), CASE_TEXT - strlen(text), "%s data=%s:%llu", test->in_place ? " in_place" : "",
           data_kind_names[test->data], (unsigned long long)test->seed);
}
