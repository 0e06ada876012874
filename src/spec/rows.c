/*
 * rows.c - where the rows of one run lie in memory
 * SPDX-License-Identifier: MIT
 */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/sized.h"
#include "base/status.h"
#include "types.h"

/* ---- every array ------------------------------------------------------------------------------------------------- */

/* What messages call them. */
static const char *const names[RS_ALL_ARRAYS] = {[RS_IN] = "input",
                                                 [RS_OUT] = "output",
                                                 [RS_MASK] = "mask",
                                                 [RS_INIT] = "init",
                                                 [RS_TOTALS] = "totals",
                                                 [RS_MORE_IN] = "more[0]",
                                                 [RS_MORE_IN + 1] = "more[1]",
                                                 [RS_MORE_IN + 2] = "more[2]",
                                                 [RS_MORE_IN + 3] = "more[3]",
                                                 [RS_SECOND] = "second",
                                                 [RS_SEGMENTS] = "segments"};

/* The same, of a run that may have coefficients in the place of a mask. */
const char *rs_array_name(const rowscan_spec *spec, rs_which which) {
  return which == RS_MASK && spec->mask_mode == ROWSCAN_MASK_COEFFICIENT ? "coefficient" : names[which];
}

static rowscan_type further_type_of(const rowscan_spec *spec, int which) {
  return which == RS_SECOND     ? spec->second_type
         : which == RS_SEGMENTS ? spec->segment_type
                                : spec->more_types[which - RS_MORE_IN];
}

static rowscan_type type_of(const rowscan_spec *spec, int which) {
  return which == RS_IN       ? spec->in_type
         : which == RS_OUT    ? spec->out_type
         : which == RS_MASK   ? (spec->mask_mode ? spec->mask_type : spec->in_type)
         : which >= RS_ARRAYS ? further_type_of(spec, which)
                              : rs_kept_type(spec->acc_type);
}

rowscan_type rs_array_type(const rowscan_spec *spec, rs_which which) {
  return type_of(spec, which);
}

/* Initial values and totals, one of each a row. */
static bool is_end(int which) {
  return which == RS_INIT || which == RS_TOTALS;
}

/* The arrays that a run has come first, mostly two: each call waits for what is done with each of them. */
static int arrays_of(const rowscan_spec *spec, const void *const data[RS_ALL_ARRAYS]) {
  return rs_spec_has_further(spec)          ? RS_ALL_ARRAYS
         : data[RS_INIT] || data[RS_TOTALS] ? RS_ARRAYS
         : spec->mask_mode                  ? RS_MASK + 1
                                            : RS_OUT + 1;
}

/* Its address and strides may be anything: nobody looks at them. */
static bool is_absent(const void *const data[RS_ALL_ARRAYS], int which) {
  return !data[which] && which > RS_OUT;
}

/* Of rows whose rank is known. */
static void clear(rs_rows *rows, rs_which which) {
  rs_operand *array = &rows->array[which];
  array->data = NULL;
  array->bytes = array->step = 0;
  for (int d = 0; d < rows->rank; d++)
    array->stride[d] = 0;
}

static void clear_absent(rs_rows *rows, const void *const data[RS_ALL_ARRAYS]) {
  if (is_absent(data, RS_MASK))
    clear(rows, RS_MASK);
  if (is_absent(data, RS_INIT))
    clear(rows, RS_INIT);
  if (is_absent(data, RS_TOTALS))
    clear(rows, RS_TOTALS);
  for (int a = RS_ARRAYS; a < rs_arrays(rows); a++)
    if (is_absent(data, a))
      clear(rows, (rs_which)a);
}

/* Casts away that inputs are not to be written, which nobody does. */
static void set_data(rs_rows *rows, const rowscan_spec *spec, int all, const void *const data[RS_ALL_ARRAYS]) {
  for (int a = 0; a < all; a++) {
    rows->array[a].data = (void *)data[a];
    rows->array[a].bytes = (int64_t)rowscan_type_bytes(type_of(spec, a));
  }
}

static rowscan_status fail_null(const char *field) {
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "field '%s': NULL, but there are elements", field);
}

/* An address must be a multiple of its element's size; kernels and the host engine rely on it. */
static rowscan_status check_pointers(const rs_rows *rows, const rowscan_spec *spec, int all) {
  if (all >= RS_ARRAYS && rows->array[RS_INIT].data && rs_op_of(spec->op)->kind == RS_INDEX)
    return rs_fail(ROWSCAN_UNSUPPORTED, "field 'init': %p, but %s accepts no initial values", rows->array[RS_INIT].data,
                   rowscan_op_name(spec->op));
  bool elements = rows->count > 0 && spec->length > 0, written = elements || (rows->count > 0 && rows->initial);
  for (int a = 0; a < all; a++) {
    const rs_operand *array = &rows->array[a];
    bool there = a == RS_MASK ? spec->mask_mode != ROWSCAN_MASK_NONE : a < RS_ARRAYS || further_type_of(spec, a);
    bool needed = a == RS_OUT ? written : elements && !is_end(a) && there;
    if (!array->data && needed && a == RS_MORE_IN && rs_op_of(spec->op)->coefficient)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'more[0]': NULL, but %s with a mask reads its coefficients here",
                     rowscan_op_name(spec->op));
    if (!array->data && needed)
      return fail_null(rs_array_name(spec, (rs_which)a));
    if ((uintptr_t)array->data & (uintptr_t)(array->bytes - 1)) /* a power of two: no division, for each run asks */
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "field '%s': %p is not aligned to an element of %s",
                     rs_array_name(spec, (rs_which)a), array->data, rowscan_type_name(type_of(spec, a)));
  }
  return ROWSCAN_OK;
}

/* Of a rollout, which has one of each for all rows: a NaN there can only be a mistake. */
static rowscan_status check_rollout(const double params[RS_MOST_PARAMS]) {
  static const char *const what[] = {"gamma", "lambda"};
  for (int i = 0; i < (int)(sizeof what / sizeof *what); i++)
    if (isnan(params[i]))
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'params': element %d, %s, is nan", i, what[i]);
  return ROWSCAN_OK;
}

/* Further arrays that the spec does not have are an error, since they would not be looked at. */
static rowscan_status set_further(rs_rows *rows, const rowscan_spec *spec, const void *const data[RS_ALL_ARRAYS],
                                  const double params[RS_MOST_PARAMS]) {
  int numbers = rs_op_of(spec->op)->params;
  bool given = false;
  rows->further = rs_spec_has_further(spec);
  for (int a = RS_ARRAYS; a < RS_ALL_ARRAYS; a++)
    given |= data[a] != NULL;
  for (int i = 0; i < RS_MOST_PARAMS; i++)
    given |= params[i] != 0;
  if (!given && !rows->further) /* as in most calls */
    return ROWSCAN_OK;
  for (int a = RS_ARRAYS; a < RS_ALL_ARRAYS; a++)
    if (data[a] && !further_type_of(spec, a))
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "field '%s': %p, but this scan of %s has no such array", names[a], data[a],
                     rowscan_op_name(spec->op));
  for (int i = 0; i < RS_MOST_PARAMS; i++) {
    if (i >= numbers && params[i] != 0)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'params': element %d, %g, but %s has %d parameter%s", i, params[i],
                     rowscan_op_name(spec->op), numbers, numbers == 1 ? "" : "s");
    if (rows->further)
      rows->params[i] = params[i];
  }
  return rs_op_of(spec->op)->kind == RS_ADVANTAGE ? check_rollout(params) : ROWSCAN_OK;
}

/* A mask without a mode is an error likewise. */
static rowscan_status check_no_mask(const void *mask) {
  return mask ? rs_fail(ROWSCAN_BAD_ARGUMENT,
                        "field 'mask': %p, but mask_mode is none; set it to select, multiply, heads, tails or keys",
                        mask)
              : ROWSCAN_OK;
}

/* Strides along which nothing is found may be any number: offsets are not counted with them. */
static void tame(int64_t *stride, bool unused) {
  const int64_t far = INT64_C(1) << 56;
  if (unused && (*stride > far || *stride < -far))
    *stride = 0;
}

static void tame_strides(rs_rows *rows, int64_t length, int all) {
  bool empty = rows->count == 0 || length == 0, unused = empty || length == 1;
  for (int d = 0; d < rows->rank; d++)
    unused = unused || rows->shape[d] <= 1;
  for (int a = 0; a < all && unused; a++) {
    rs_operand *array = &rows->array[a];
    bool initial = a == RS_OUT && rows->initial;
    for (int d = 0; d < rows->rank && !is_end(a); d++) {
      if (empty && !initial)
        array->stride[d] = 0;
      tame(&array->stride[d], rows->shape[d] <= 1);
    }
    tame(&array->step, empty || (length == 1 && !initial));
  }
}

/* Adds the bytes that a dimension spans. False: they pass what any array spans. */
static bool add_reach(int64_t *bytes, int64_t stride, int64_t size, int64_t element) {
  const int64_t most = RS_MOST_BYTES;
  int64_t far;
  if (size <= 1)
    return true;
  if (__builtin_mul_overflow(stride, size - 1, &far) || __builtin_mul_overflow(far, element, &far) || far < -most ||
      far > most)
    return false;
  *bytes += far < 0 ? -far : far;
  return *bytes <= most;
}

/* Strides that the caller gave; NULL: none. `separator` stands before the name of that field. */
static inline rowscan_status check_strides(int which, char separator, const int64_t *strides, const int64_t *shape,
                                           int rank, const rowscan_spec *spec) {
  int64_t bytes = 0;
  for (int d = 0; strides && d < rank; d++)
    if (!add_reach(&bytes, strides[d], shape[d], (int64_t)rowscan_type_bytes(type_of(spec, which))))
      return rs_fail(
          ROWSCAN_BAD_ARGUMENT,
          "field '%s%cstrides': element %d, %lld: with %lld elements at this stride, the array exceeds 2^61 bytes",
          rs_array_name(spec, (rs_which)which), separator, d, (long long)strides[d], (long long)shape[d]);
  return ROWSCAN_OK;
}

/* What is counted of rows that are worked on. `field` has their number. */
static rowscan_status check_number(const rs_rows *rows, const rowscan_spec *spec, const char *field) {
  int64_t each = spec->length > 1 ? spec->length : 1;
  if (rs_product(rows->count, each) <= RS_MOST_ELEMENTS || !rs_rows_any(rows, rows->initial ? 1 : spec->length))
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "%s: %lld rows of %lld elements exceed 2^56 elements", field,
                 (long long)rows->count, (long long)spec->length);
}

/* ---- plans' arguments -------------------------------------------------------------------------------------------- */

/* Elements of a row and steps between them, where the caller gave none: dense, C order. */
static void dense_strides(int64_t *strides, const rowscan_spec *spec, const int64_t *shape) {
  int rank = spec->row_rank;
  int64_t step = 1;
  if (spec->layout == ROWSCAN_LAYOUT_COLUMNS) {
    strides[rank - 1] = 1;
    step = shape[rank - 1];
    strides[rank] = step;
    step *= spec->length;
    rank--;
  } else {
    strides[rank] = 1;
    step = spec->length;
  }
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = step;
    step *= shape[d];
  }
}

static rowscan_status set_shape(rs_rows *rows, const rowscan_spec *spec, const rowscan_args *args) {
  rows->rank = spec->row_rank;
  if (!args->row_shape && rows->rank > 1)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'row_shape': NULL, but the spec's row_rank is %d", rows->rank);
  if (args->rows < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'rows': %lld is negative", (long long)args->rows);
  int64_t elements = spec->length ? spec->length : 1;
  rows->count = 1;
  for (int d = 0; d < rows->rank; d++) {
    int64_t size = rows->shape[d] = args->row_shape ? args->row_shape[d] : args->rows;
    if (size < 0)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'row_shape': element %d, %lld, is negative", d,
                     (long long)size);
    if (size && __builtin_mul_overflow(elements, size, &elements))
      return rs_fail(ROWSCAN_BAD_ARGUMENT,
                     "args: field '%s': with the length %lld, the number of elements exceeds 2^63 - 1",
                     args->row_shape ? "row_shape" : "rows", (long long)spec->length);
    rows->count *= size;
  }
  if (args->row_shape && args->rows && args->rows != rows->count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'rows': %lld, but row_shape has %lld rows", (long long)args->rows,
                   (long long)rows->count);
  return ROWSCAN_OK;
}

static void dense_ends(int64_t *strides, const rs_rows *rows) {
  int64_t number = 1;
  for (int d = rows->rank - 1; d >= 0; number *= rows->shape[d--])
    strides[d] = number;
}

static void set_strides(rs_rows *rows, const rowscan_spec *spec, int all, const void *const data[RS_ALL_ARRAYS],
                        const int64_t *const given[RS_ALL_ARRAYS]) {
  int64_t elements[RS_MAX_ROW_RANK + 1], ends[RS_MAX_ROW_RANK];
  int rank = rows->rank;
  if (!given[RS_IN] || !given[RS_OUT] || (spec->mask_mode && !given[RS_MASK]) || all > RS_ARRAYS)
    dense_strides(elements, spec, rows->shape);
  if (all >= RS_ARRAYS)
    dense_ends(ends, rows);
  for (int a = 0; a < all; a++) {
    if (is_absent(data, a))
      continue;
    rs_operand *array = &rows->array[a];
    const int64_t *from = given[a] ? given[a] : is_end(a) ? ends : elements;
    array->step = is_end(a) ? 0 : from[rank];
    for (int d = 0; d < rank; d++)
      array->stride[d] = from[d];
  }
}

/* Rows of no elements have initial values and totals, too. */
static rowscan_status check_args_strides(const rs_rows *rows, const rowscan_spec *spec,
                                         const void *const data[RS_ALL_ARRAYS],
                                         const int64_t *const given[RS_ALL_ARRAYS]) {
  int64_t shape[RS_MAX_ROW_RANK + 1];
  int rank = rows->rank;
  rowscan_status status = ROWSCAN_OK;
  for (int d = 0; d < rank; d++)
    shape[d] = rows->shape[d];
  shape[rank] = spec->length;
  for (int a = 0; a < RS_ALL_ARRAYS && !status; a++)
    if (given[a] && !is_absent(data, a) && (a < RS_ARRAYS || further_type_of(spec, a)) && (spec->length || is_end(a)))
      status = check_strides(a, '_', given[a], shape, is_end(a) ? rank : rank + 1, spec);
  return status;
}

rowscan_status rs_spec_of_run(const rowscan_spec **spec, rowscan_spec *own, const rowscan_args *args) {
  int64_t length = args->length;
  if ((*spec)->length != RS_ANY_LENGTH)
    return length == 0 || length == (*spec)->length
               ? ROWSCAN_OK
               : rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'length': %lld, but the spec's is %lld", (long long)length,
                         (long long)(*spec)->length);
  if (length < 0 || length > RS_MAX_LENGTH)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'length': %lld is not a whole number, 0 to 2^56",
                   (long long)length);
  *own = **spec;
  own->length = length;
  *spec = own;
  return rs_spec_check_length(own);
}

rowscan_status rs_rows_from_args(rs_rows *rows, const rowscan_spec *spec, const rowscan_args *args) {
  const int64_t *const given[RS_ALL_ARRAYS] = {args->input_strides,   args->output_strides,  args->mask_strides,
                                               args->init_strides,    args->totals_strides,  args->more_strides[0],
                                               args->more_strides[1], args->more_strides[2], args->more_strides[3],
                                               args->second_strides,  args->segment_strides};
  const void *const data[RS_ALL_ARRAYS] = {args->input,   args->output,  spec->mask_mode ? args->mask : NULL,
                                           args->init,    args->totals,  args->more[0],
                                           args->more[1], args->more[2], args->more[3],
                                           args->second,  args->segments};
  rowscan_status status = set_shape(rows, spec, args);
  if (!status && rows->count)
    status = check_args_strides(rows, spec, data, given);
  if (status)
    return status;
  int all = arrays_of(spec, data);
  rows->initial = false;
  rows->length = spec->length;
  status = set_further(rows, spec, data, args->params);
  if (!status && !spec->mask_mode)
    status = check_no_mask(args->mask);
  if (status)
    return status;
  set_data(rows, spec, all, data);
  set_strides(rows, spec, all, data, given);
  clear_absent(rows, data);
  status = check_number(rows, spec, args->row_shape ? "args: field 'row_shape'" : "args: field 'rows'");
  if (status)
    return status;
  tame_strides(rows, spec->length, all);
  return check_pointers(rows, spec, all);
}

/* ---- problems ---------------------------------------------------------------------------------------------------- */

static bool includes_initial(const rowscan_problem *problem) {
  return problem->flags & ROWSCAN_INCLUDE_INITIAL;
}

static int scanned(const rowscan_problem *problem) {
  return problem->dim < 0 ? problem->dim + problem->rank : problem->dim;
}

static rowscan_status check_problem(const rowscan_problem *problem) {
  if (problem->rank < 1 || problem->rank > RS_MAX_ROW_RANK + 1)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field 'rank': %d is not between 1 and %d", problem->rank,
                   RS_MAX_ROW_RANK + 1);
  if (problem->dim < -problem->rank || problem->dim >= problem->rank)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field 'dim': %d is not between %d and %d", problem->dim,
                   -problem->rank, problem->rank - 1);
  if (!problem->shape)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field 'shape': NULL");
  int64_t elements = 1;
  for (int d = 0; d < problem->rank; d++) {
    int64_t size = problem->shape[d];
    if (size < 0)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field 'shape': element %d, %lld, is negative", d, (long long)size);
    size += includes_initial(problem) && d == scanned(problem) && size < INT64_MAX;
    if (size && __builtin_mul_overflow(elements, size, &elements))
      return rs_fail(ROWSCAN_BAD_ARGUMENT,
                     "problem: field 'shape': element %d, %lld: the number of elements exceeds 2^63 - 1", d,
                     (long long)problem->shape[d]);
  }
  if (includes_initial(problem) && problem->flags & ROWSCAN_EXCLUSIVE)
    return rs_fail(
        ROWSCAN_BAD_ARGUMENT,
        "problem: field 'flags': 0x%x has ROWSCAN_INCLUDE_INITIAL and ROWSCAN_EXCLUSIVE, which exclude each other",
        problem->flags);
  return ROWSCAN_OK;
}

void rs_problem_strides(int64_t *strides, const int64_t *given, const rowscan_problem *problem, int64_t length) {
  int64_t step = 1;
  for (int d = problem->rank - 1; d >= 0; d--) {
    strides[d] = given ? given[d] : step;
    step *= d == scanned(problem) ? length : problem->shape[d];
  }
}

/* Later versions of these arrays may have more to say. */
static rowscan_status check_arrays(const rowscan_problem *problem) {
  const void *const *const reserved[RS_ALL_ARRAYS] = {
      problem->input.reserved,   problem->output.reserved,  problem->mask.reserved,    problem->init.reserved,
      problem->totals.reserved,  problem->more[0].reserved, problem->more[1].reserved, problem->more[2].reserved,
      problem->more[3].reserved, problem->second.reserved,  problem->segments.reserved};
  uintptr_t any = 0;
  for (int a = 0; a < RS_ALL_ARRAYS; a++)
    any |= (uintptr_t)reserved[a][0] | (uintptr_t)reserved[a][1];
  if (!any) /* the compiler takes the loop apart: each call waits for this */
    return ROWSCAN_OK;
  int which = 0;
  while (!reserved[which][0] && !reserved[which][1])
    which++;
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field '%s.reserved': not NULL; rowscan %s requires NULL", names[which],
                 ROWSCAN_VERSION_STRING);
}

/* Of P(0) there is an element a row, also where the rows have none. */
static bool is_empty(const rowscan_problem *problem) {
  for (int d = 0; d < problem->rank; d++)
    if (problem->shape[d] == 0 && !(includes_initial(problem) && d == scanned(problem)))
      return true;
  return false;
}

/* Likewise. */
static rowscan_status check_given_strides(const int64_t *const given[RS_ALL_ARRAYS],
                                          const void *const data[RS_ALL_ARRAYS], int all,
                                          const rowscan_problem *problem, const rowscan_spec *spec, bool empty) {
  int64_t shape[RS_MAX_ROW_RANK + 1];
  bool ends = given[RS_INIT] || given[RS_TOTALS];
  rowscan_status status = ROWSCAN_OK;
  for (int a = 0; a < all && !status && !empty; a++)
    if (given[a] && !is_absent(data, a) && !is_end(a))
      status = check_strides(a, '.', given[a], problem->shape, problem->rank, spec);
  if (!status && !empty && includes_initial(problem) && given[RS_OUT]) { /* which has one element more */
    for (int d = 0; d < problem->rank; d++)
      shape[d] = problem->shape[d] + (d == scanned(problem));
    status = check_strides(RS_OUT, '.', given[RS_OUT], shape, problem->rank, spec);
  }
  for (int d = 0; d < problem->rank && ends; d++) {
    shape[d] = d == scanned(problem) ? 1 : problem->shape[d];
    ends = shape[d] > 0;
  }
  for (int a = RS_INIT; a <= RS_TOTALS && !status && ends; a++)
    if (!is_absent(data, a))
      status = check_strides(a, '.', given[a], shape, problem->rank, spec);
  return status;
}

static rowscan_status check_end_type(rs_which which, const void *data, rowscan_type type, rowscan_type acc) {
  rowscan_type kept = rs_kept_type(acc);
  if (!data || !type || type == kept)
    return ROWSCAN_OK;
  if (rs_type_kind(type) == RS_NO_KIND)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field '%s.type': %d is not one of %s", names[which], (int)type,
                   rs_type_values.expected);
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field '%s.type': %s is not the accumulator's type, %s", names[which],
                 rowscan_type_name(type), rowscan_type_name(kept));
}

/* Strides of all arrays over the problem's dimensions. */
typedef struct all_strides {
  int64_t of[RS_ALL_ARRAYS][RS_MAX_ROW_RANK + 1];
} all_strides;

static void fill_strides(all_strides *strides, int all, const int64_t *const given[RS_ALL_ARRAYS],
                         const void *const data[RS_ALL_ARRAYS], const rowscan_problem *problem,
                         const rowscan_spec *spec) {
  int64_t length = spec->length;
  for (int a = 0; a < all; a++)
    if (is_absent(data, a))
      memset(strides->of[a], 0, (size_t)problem->rank * sizeof *strides->of[a]);
    else
      rs_problem_strides(strides->of[a], given[a], problem,
                         is_end(a) ? 1 : length + (a == RS_OUT && includes_initial(problem) ? 1 : 0));
  if (!length) /* of the output there is P(0) at most */
    strides->of[RS_OUT][scanned(problem)] = 0;
}

/* ---- dimensions of the rows -------------------------------------------------------------------------------------- */

/* One of them, with its stride in every array. */
typedef struct dimension {
  int64_t size, stride[RS_ALL_ARRAYS];
} dimension;

/*
 * Rows that are neighbours in the output come together; among equals those that are neighbours in the input, or where
 * there are no elements in the totals.
 */
static int by_stride(const void *left, const void *right) {
  const dimension *a = left, *b = right;
  int64_t x = rs_distance(a->stride[RS_OUT]), y = rs_distance(b->stride[RS_OUT]);
  if (x == y) {
    x = rs_distance(a->stride[RS_IN]);
    y = rs_distance(b->stride[RS_IN]);
  }
  if (x == y) {
    x = rs_distance(a->stride[RS_TOTALS]);
    y = rs_distance(b->stride[RS_TOTALS]);
  }
  return x < y ? 1 : x > y ? -1 : 0;
}

static bool joins(const dimension *outer, const dimension *inner, int all) {
  bool same = true;
  for (int a = 0; a < all && same; a++) {
    int64_t next; /* of no elements strides are any numbers */
    same = !__builtin_mul_overflow(inner->stride[a], inner->size, &next) && outer->stride[a] == next;
  }
  return same;
}

static int join(dimension *dims, int count, int all) {
  int kept = 0;
  for (int d = 0; d < count; d++) {
    if (kept && joins(&dims[kept - 1], &dims[d], all)) {
      int64_t size = dims[kept - 1].size * dims[d].size;
      dims[kept - 1] = dims[d];
      dims[kept - 1].size = size;
    } else {
      dims[kept++] = dims[d];
    }
  }
  return kept;
}

/* empty: there are initial values and totals alone. */
static int collect_dimensions(dimension dims[RS_MAX_ROW_RANK + 1], const all_strides *strides, int all,
                              const rowscan_problem *problem, bool empty) {
  int count = 0;
  for (int d = problem->rank - 1; d >= 0; d--) {
    if (d == scanned(problem) || problem->shape[d] == 1)
      continue;
    dimension *one = &dims[count++];
    one->size = problem->shape[d];
    one->stride[RS_TOTALS] = 0;
    for (int a = 0; a < all; a++)
      one->stride[a] = empty && !is_end(a) ? 0 : strides->of[a][d];
  }
  if (count > 1) {
    qsort(dims, (size_t)count, sizeof *dims, by_stride);
    count = join(dims, count, all);
  }
  if (count == 0)
    dims[count++] = (dimension){.size = 1};
  return count;
}

static void set_dimensions(rs_rows *rows, int all, const dimension *dims, int count) {
  rows->rank = count;
  rows->count = 1;
  for (int d = 0; d < count; d++) {
    rows->shape[d] = dims[d].size;
    rows->count *= dims[d].size;
    for (int a = 0; a < all; a++)
      rows->array[a].stride[d] = dims[d].stride[a];
  }
}

/* Whether the rows lie side by side, closer to one another than the elements of one row. */
static rowscan_layout layout_of(const rs_rows *rows, int64_t length) {
  const rs_operand *in = &rows->array[RS_IN], *out = &rows->array[RS_OUT];
  int last = rows->rank - 1;
  if (rows->count <= 1 || length <= 1)
    return ROWSCAN_LAYOUT_ROWS;
  int64_t steps = rs_distance(in->step) + rs_distance(out->step);
  int64_t strides = rs_distance(in->stride[last]) + rs_distance(out->stride[last]);
  return strides < steps ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
}

/* The output's element P(1): in a reverse scan P(0) stands behind the others. */
static void *after_initial(const rowscan_problem *problem, const rowscan_spec *spec, int64_t step) {
  bool shifts = includes_initial(problem) && !(spec->flags & ROWSCAN_REVERSE) && problem->output.data;
  return (char *)problem->output.data + (shifts ? step * (int64_t)rowscan_type_bytes(spec->out_type) : 0);
}

rowscan_status rs_problem_read(rowscan_problem *to, const rowscan_problem *given) {
  return rs_sized_read(to, sizeof *to, given, "problem", "ROWSCAN_PROBLEM");
}

/* Whether what tells segments may go in the place of a mask: more kernels serve that. */
static bool segments_alone(const rowscan_problem *problem) {
  return problem->segment_mode >= ROWSCAN_MASK_HEADS && !problem->mask_mode && !rs_op_has_coefficient(problem->op);
}

static void segments_as_mask(rowscan_problem *problem) {
  problem->mask_mode = problem->segment_mode;
  problem->mask = problem->segments;
  problem->segment_mode = ROWSCAN_MASK_NONE;
  problem->segments = (rowscan_input){NULL};
}

/* A problem as it is read: the caller's own, or a copy of it where something differs. */
typedef struct reading {
  const rowscan_problem *problem;
  bool masked, alone; /* alone: its segments stand in the place of a mask */
  const void *stray;  /* a mask that no mode asks for */
} reading;

static rowscan_status read_given(reading *read, rowscan_problem *copy, const rowscan_problem *given) {
  read->problem = given;
  if (given->size != sizeof *given) { /* else it need not be copied */
    rowscan_status status = rs_problem_read(copy, given);
    if (status)
      return status;
    read->problem = copy;
  }
  read->masked = read->problem->mask_mode || rs_op_has_coefficient(read->problem->op);
  read->stray = read->masked ? NULL : read->problem->mask.data;
  read->alone = segments_alone(read->problem);
  if (read->alone) {
    if (read->problem != copy)
      *copy = *given;
    segments_as_mask(copy);
    read->problem = copy;
  }
  return ROWSCAN_OK;
}

static rowscan_status check_reading(const reading *read, rowscan_spec *spec) {
  const rowscan_problem *problem = read->problem;
  rowscan_status status = check_problem(problem);
  if (!status)
    status = check_arrays(problem);
  if (!status)
    status = rs_spec_of_problem(spec, problem, problem->shape[scanned(problem)]);
  if (!status)
    status = check_no_mask(read->stray);
  if (!status && read->alone && !is_empty(problem) && spec->length && !problem->mask.data) /* as the caller has it */
    status = fail_null("segments");
  return status;
}

static rowscan_status check_end_types(const rowscan_problem *problem, const rowscan_spec *spec) {
  rowscan_status status = check_end_type(RS_INIT, problem->init.data, problem->init.type, spec->acc_type);
  return status ? status : check_end_type(RS_TOTALS, problem->totals.data, problem->totals.type, spec->acc_type);
}

/* What follows from where all arrays lie. */
static rowscan_status complete_rows(rs_rows *rows, rowscan_spec *spec, int all) {
  rowscan_status status = check_number(rows, spec, "problem: field 'shape'");
  if (status)
    return status;
  tame_strides(rows, spec->length, all);
  spec->layout = layout_of(rows, spec->length);
  spec->row_rank = rows->rank;
  return check_pointers(rows, spec, all);
}

rowscan_status rs_rows_from_problem(rs_rows *rows, rowscan_spec *spec, const rowscan_problem *given_problem) {
  rowscan_problem copy;
  reading read;
  rowscan_status status = read_given(&read, &copy, given_problem);
  if (status)
    return status;
  const rowscan_problem *problem = read.problem;
  const int64_t *const given[RS_ALL_ARRAYS] = {
      problem->input.strides,   problem->output.strides,  problem->mask.strides,    problem->init.strides,
      problem->totals.strides,  problem->more[0].strides, problem->more[1].strides, problem->more[2].strides,
      problem->more[3].strides, problem->second.strides,  problem->segments.strides};
  const void *data[RS_ALL_ARRAYS] = {problem->input.data,
                                     NULL,
                                     read.masked || read.alone ? problem->mask.data : NULL,
                                     problem->init.data,
                                     problem->totals.data,
                                     problem->more[0].data,
                                     problem->more[1].data,
                                     problem->more[2].data,
                                     problem->more[3].data,
                                     problem->second.data,
                                     problem->segments.data};
  all_strides strides; /* these are large, and each call would wait for them to be cleared */
  dimension dims[RS_MAX_ROW_RANK + 1];
  status = check_reading(&read, spec);
  if (status)
    return status;
  bool empty = is_empty(problem);
  int all = arrays_of(spec, data), dim = scanned(problem);
  status = check_given_strides(given, data, all, problem, spec, empty);
  if (!status)
    status = set_further(rows, spec, data, problem->params);
  if (!status && all >= RS_ARRAYS)
    status = check_end_types(problem, spec);
  if (status)
    return status;

  fill_strides(&strides, all, given, data, problem, spec);
  data[RS_OUT] = after_initial(problem, spec, strides.of[RS_OUT][dim]);
  rows->initial = includes_initial(problem);
  rows->length = spec->length;
  set_data(rows, spec, all, data);
  for (int a = 0; a < all; a++)
    rows->array[a].step = is_end(a) ? 0 : strides.of[a][dim];
  set_dimensions(rows, all, dims, collect_dimensions(dims, &strides, all, problem, empty));
  clear_absent(rows, data);
  return complete_rows(rows, spec, all);
}

/* That of a recurrence is a sum's, whose kernels come with the library, and so is one that a weight would change;
 * operators of the caller's have their own. */
static rowscan_op initial_op(rowscan_op op) {
  return rs_op_of(op)->kind == RS_RECURRENCE || rs_op_of(op)->weighs ? ROWSCAN_SUM : op;
}

void rs_initial_rows(rs_rows *to, rowscan_spec *to_spec, const rs_rows *rows, const rowscan_spec *spec) {
  bool reverse = spec->flags & ROWSCAN_REVERSE;
  rowscan_op op = initial_op(spec->op);
  bool coefficient = rs_op_has_coefficient(op);
  *to_spec = (rowscan_spec){.size = sizeof *to_spec,
                            .op = op,
                            .in_type = spec->out_type,
                            .out_type = spec->out_type,
                            .acc_type = spec->acc_type,
                            .mask_type = coefficient ? spec->out_type : ROWSCAN_TYPE_DEFAULT,
                            .mask_mode = coefficient ? ROWSCAN_MASK_COEFFICIENT : ROWSCAN_MASK_NONE,
                            .flags = ROWSCAN_EXCLUSIVE,
                            .length = 1,
                            .layout = ROWSCAN_LAYOUT_ROWS,
                            .row_rank = spec->row_rank};
  for (int i = 0; i < rs_op_of(op)->more; i++)
    to_spec->more_types[i] = spec->out_type;
  *to = *rows;
  to->initial = false;
  to->length = 1;
  rs_operand *out = &to->array[RS_OUT];
  out->data = (char *)out->data + (reverse ? spec->length * out->step : -out->step) * out->bytes;
  out->step = 0;
  to->array[RS_IN] = to->array[RS_MASK] = *out;
  if (!coefficient)
    clear(to, RS_MASK);
  clear(to, RS_TOTALS);
  to->further = rs_spec_has_further(to_spec);
  for (int a = RS_ARRAYS; a < rs_arrays(to); a++) {
    to->array[a] = *out;
    if (!further_type_of(to_spec, a))
      clear(to, (rs_which)a);
  }
}

static bool is_one_run(const rs_operand *a, const rs_rows *rows, int64_t length) {
  int last = rows->rank - 1;
  int64_t next = rows->shape[last] * length;
  bool run = rs_steps_in_a_run(a, rows, length);
  for (int d = last - 1; d >= 0; next *= rows->shape[d--])
    run = run && (a->stride[d] == next || rows->shape[d] == 1);
  return run;
}

bool rs_rows_one_run(const rs_rows *rows, int64_t length, bool mask) {
  return is_one_run(&rows->array[RS_IN], rows, length) && is_one_run(&rows->array[RS_OUT], rows, length) &&
         (!mask || is_one_run(&rows->array[RS_MASK], rows, length));
}
