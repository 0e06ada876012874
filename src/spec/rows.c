/*
 * rows.c - where the rows of one run lie in memory
 * SPDX-License-Identifier: MIT
 */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "types.h"

static rowscan_status need(const char *field, const void *pointer) {
  return pointer ? ROWSCAN_OK : rs_fail(ROWSCAN_BAD_ARGUMENT, "field '%s': NULL, but there are elements", field);
}

/* An address must be a multiple of its element's size; kernels and the host engine rely on it. */
static rowscan_status aligned(const char *field, const void *pointer, rowscan_type type) {
  if (((uintptr_t)pointer & (rowscan_type_bytes(type) - 1)) == 0) /* a power of two: no division, for each run asks */
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "field '%s': %p is not aligned to an element of %s", field, pointer,
                 rowscan_type_name(type));
}

static rowscan_status check_pointers(const rs_rows *rows, const rowscan_spec *spec) {
  rowscan_status status = ROWSCAN_OK;
  if (rows->count > 0 && spec->length > 0) {
    status = need("input", rows->in);
    if (!status && spec->mask_mode)
      status = need("mask", rows->mask);
  }
  if (!status && rows->count > 0 && (spec->length > 0 || rows->initial))
    status = need("output", rows->out);
  if (!status)
    status = aligned("input", rows->in, spec->in_type);
  if (!status)
    status = aligned("output", rows->out, spec->out_type);
  if (!status && spec->mask_mode)
    status = aligned("mask", rows->mask, spec->mask_type);
  if (!status)
    status = aligned("init", rows->init, spec->acc_type);
  if (!status)
    status = aligned("totals", rows->totals, spec->acc_type);
  return status;
}

/* Strides along which nothing is found may be any number: offsets are not counted with them. */
static void tame(int64_t *stride, bool unused) {
  const int64_t far = INT64_C(1) << 56;
  if (unused && (*stride > far || *stride < -far))
    *stride = 0;
}

static void tame_strides(rs_rows *rows, int64_t length) {
  bool empty = rows->count == 0 || length == 0;
  for (int d = 0; d < rows->rank; d++) {
    if (empty)
      rows->in_stride[d] = rows->mask_stride[d] = 0;
    if (empty && !rows->initial)
      rows->out_stride[d] = 0;
    tame(&rows->in_stride[d], rows->shape[d] <= 1);
    tame(&rows->out_stride[d], rows->shape[d] <= 1);
    tame(&rows->mask_stride[d], rows->shape[d] <= 1);
  }
  tame(&rows->in_step, empty || length == 1);
  tame(&rows->out_step, empty || (length == 1 && !rows->initial));
  tame(&rows->mask_step, empty || length == 1);
}

/* Adds the bytes that a dimension spans. False: they pass 2^62, beyond which no array can be, and sums of two wrap. */
static bool reach(int64_t *bytes, int64_t stride, int64_t size, int64_t element) {
  const int64_t most = INT64_C(1) << 62;
  int64_t far;
  if (size <= 1)
    return true;
  if (__builtin_mul_overflow(stride, size - 1, &far) || __builtin_mul_overflow(far, element, &far) || far < -most ||
      far > most)
    return false;
  *bytes += far < 0 ? -far : far;
  return *bytes <= most;
}

/* Strides of an array that has elements, as the caller gave them; NULL: he gave none. */
static rowscan_status check_strides(const char *field, const int64_t *strides, const int64_t *shape, int rank,
                                    rowscan_type type) {
  int64_t bytes = 0;
  for (int d = 0; strides && d < rank; d++)
    if (!reach(&bytes, strides[d], shape[d], (int64_t)rowscan_type_bytes(type)))
      return rs_fail(ROWSCAN_BAD_ARGUMENT,
                     "field '%s': element %d, %lld: with %lld elements along it the array passes "
                     "2^62 bytes",
                     field, d, (long long)strides[d], (long long)shape[d]);
  return ROWSCAN_OK;
}

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

static void set_strides(int64_t *stride, int64_t *step, const int64_t *given, const int64_t *dense, int rank) {
  const int64_t *from = given ? given : dense;
  memcpy(stride, from, (size_t)rank * sizeof *stride);
  *step = from[rank];
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
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field '%s': the product with the length, %lld, is over 2^63",
                     args->row_shape ? "row_shape" : "rows", (long long)spec->length);
    rows->count *= size;
  }
  if (args->row_shape && args->rows && args->rows != rows->count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'rows': %lld, but row_shape has %lld", (long long)args->rows,
                   (long long)rows->count);
  return ROWSCAN_OK;
}

/* Kernels have one array of strides for the initial values and the totals of rows. */
static rowscan_status set_row_strides(rs_rows *rows, const rowscan_args *args) {
  const int64_t *init = rows->init ? args->init_strides : NULL, *totals = rows->totals ? args->totals_strides : NULL;
  const int64_t *given = totals ? totals : init;
  int64_t number = 1;
  for (int d = rows->rank - 1; d >= 0; d--) {
    int64_t dense = number;
    rows->row_stride[d] = given ? given[d] : dense;
    number *= rows->shape[d];
    if (!rows->init || !rows->totals || rows->shape[d] <= 1)
      continue;
    int64_t of_init = init ? init[d] : dense, of_totals = totals ? totals[d] : dense;
    if (of_init != of_totals)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'totals_strides': element %d, %lld, is not that of init, %lld",
                     d, (long long)of_totals, (long long)of_init);
  }
  return ROWSCAN_OK;
}

static rowscan_status check_args_strides(const rs_rows *rows, const rowscan_spec *spec, const rowscan_args *args) {
  int64_t shape[RS_MAX_ROW_RANK + 1];
  int rank = rows->rank;
  memcpy(shape, rows->shape, (size_t)rank * sizeof *shape);
  shape[rank++] = spec->length;
  rowscan_status status = check_strides("input_strides", args->input_strides, shape, rank, spec->in_type);
  if (!status)
    status = check_strides("output_strides", args->output_strides, shape, rank, spec->out_type);
  if (!status && spec->mask_mode)
    status = check_strides("mask_strides", args->mask_strides, shape, rank, spec->mask_type);
  if (!status)
    status = check_strides("init_strides", args->init_strides, shape, rank - 1, spec->acc_type);
  if (!status)
    status = check_strides("totals_strides", args->totals_strides, shape, rank - 1, spec->acc_type);
  return status;
}

rowscan_status rs_rows_from_args(rs_rows *rows, const rowscan_spec *spec, const rowscan_args *args) {
  rowscan_status status = set_shape(rows, spec, args);
  if (!status && rows->count && spec->length)
    status = check_args_strides(rows, spec, args);
  if (status)
    return status;
  rows->initial = false;
  rows->in = args->input;
  rows->out = args->output;
  rows->mask = spec->mask_mode ? args->mask : NULL;
  rows->init = args->init;
  rows->totals = args->totals;
  int64_t dense[RS_MAX_ROW_RANK + 1];
  if (!args->input_strides || !args->output_strides || (rows->mask && !args->mask_strides))
    dense_strides(dense, spec, rows->shape);
  set_strides(rows->in_stride, &rows->in_step, args->input_strides, dense, rows->rank);
  set_strides(rows->out_stride, &rows->out_step, args->output_strides, dense, rows->rank);
  if (rows->mask) {
    set_strides(rows->mask_stride, &rows->mask_step, args->mask_strides, dense, rows->rank);
  } else {
    memset(rows->mask_stride, 0, (size_t)rows->rank * sizeof *rows->mask_stride);
    rows->mask_step = 0;
  }
  if ((status = set_row_strides(rows, args)))
    return status;
  tame_strides(rows, spec->length);
  return check_pointers(rows, spec);
}

/* ---- problems ---------------------------------------------------------------------------------------------------- */

/* One dimension of the rows, with its stride in every array. */
typedef struct dimension {
  int64_t size, in, out, mask, row;
} dimension;

static bool includes_initial(const rowscan_problem *problem) {
  return problem->flags & ROWSCAN_INCLUDE_INITIAL;
}

static int scanned(const rowscan_problem *problem) {
  return problem->dim < 0 ? problem->dim + problem->rank : problem->dim;
}

static rowscan_status check_problem(const rowscan_problem *problem) {
  if (problem->rank < 1 || problem->rank > RS_MAX_ROW_RANK + 1)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field 'rank': %d is not in 1 .. %d", problem->rank,
                   RS_MAX_ROW_RANK + 1);
  if (problem->dim < -problem->rank || problem->dim >= problem->rank)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field 'dim': %d is not in %d .. %d", problem->dim, -problem->rank,
                   problem->rank - 1);
  if (!problem->shape)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field 'shape': NULL");
  int64_t elements = 1;
  for (int d = 0; d < problem->rank; d++) {
    int64_t size = problem->shape[d];
    if (size < 0)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field 'shape': element %d, %lld, is negative", d, (long long)size);
    size += includes_initial(problem) && d == scanned(problem) && size < INT64_MAX;
    if (size && __builtin_mul_overflow(elements, size, &elements))
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field 'shape': the product is over 2^63");
  }
  if (includes_initial(problem) && problem->flags & ROWSCAN_EXCLUSIVE)
    return rs_fail(
        ROWSCAN_BAD_ARGUMENT,
        "problem: field 'flags': 0x%x has ROWSCAN_INCLUDE_INITIAL and ROWSCAN_EXCLUSIVE, which contradict one "
        "another",
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
static rowscan_status check_array(const char *field, const void *const reserved[2]) {
  if (!reserved[0] && !reserved[1])
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field '%s.reserved': not NULL, which rowscan %s knows nothing of",
                 field, ROWSCAN_VERSION_STRING);
}

static rowscan_status check_arrays(const rowscan_problem *problem) {
  rowscan_status status = check_array("input", problem->input.reserved);
  if (!status)
    status = check_array("output", problem->output.reserved);
  if (!status)
    status = check_array("mask", problem->mask.reserved);
  if (!status)
    status = check_array("init", problem->init.reserved);
  return status ? status : check_array("totals", problem->totals.reserved);
}

static rowscan_status check_end_type(const char *field, const void *data, rowscan_type type, rowscan_type acc) {
  if (!data || !type || type == acc)
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "problem: field '%s.type': %s is not the accumulator's type, %s", field,
                 rs_type_kind(type) == RS_NO_KIND ? "no element type" : rowscan_type_name(type),
                 rowscan_type_name(acc));
}

/* Where the initial values and the totals of rows lie: kernels have one array of strides for both. */
static rowscan_status fill_row_strides(int64_t *strides, const rowscan_problem *problem, const rowscan_spec *spec) {
  const rowscan_input *init = &problem->init;
  const rowscan_output *totals = &problem->totals;
  rowscan_status status = check_end_type("init", init->data, init->type, spec->acc_type);
  if (!status)
    status = check_end_type("totals", totals->data, totals->type, spec->acc_type);
  rs_problem_strides(strides, totals->data ? totals->strides : init->strides, problem, 1);
  if (status || !init->data || !totals->data)
    return status;
  int64_t other[RS_MAX_ROW_RANK + 1];
  rs_problem_strides(other, init->strides, problem, 1);
  for (int d = 0; d < problem->rank; d++)
    if (d != scanned(problem) && problem->shape[d] > 1 && strides[d] != other[d])
      return rs_fail(ROWSCAN_BAD_ARGUMENT,
                     "problem: field 'totals.strides': element %d, %lld, is not that of init, %lld", d,
                     (long long)strides[d], (long long)other[d]);
  return ROWSCAN_OK;
}

static rowscan_status check_problem_strides(const rowscan_problem *problem, const rowscan_spec *spec) {
  rowscan_status status =
      check_strides("input.strides", problem->input.strides, problem->shape, problem->rank, spec->in_type);
  if (!status)
    status = check_strides("output.strides", problem->output.strides, problem->shape, problem->rank, spec->out_type);
  if (!status && spec->mask_mode)
    status = check_strides("mask.strides", problem->mask.strides, problem->shape, problem->rank, spec->mask_type);
  return status;
}

/* Rows of no elements have these, too. */
static rowscan_status check_end_strides(const rowscan_problem *problem, const rowscan_spec *spec) {
  int64_t shape[RS_MAX_ROW_RANK + 1];
  if (!problem->init.strides && !problem->totals.strides)
    return ROWSCAN_OK;
  for (int d = 0; d < problem->rank; d++) {
    shape[d] = d == scanned(problem) ? 1 : problem->shape[d];
    if (!shape[d])
      return ROWSCAN_OK;
  }
  rowscan_status status = check_strides("init.strides", problem->init.strides, shape, problem->rank, spec->acc_type);
  return status ? status
                : check_strides("totals.strides", problem->totals.strides, shape, problem->rank, spec->acc_type);
}

/* Of P(0) there is an element a row, also where the rows have none. */
static bool is_empty(const rowscan_problem *problem) {
  for (int d = 0; d < problem->rank; d++)
    if (problem->shape[d] == 0 && !(includes_initial(problem) && d == scanned(problem)))
      return true;
  return false;
}

static int64_t distance(int64_t stride) {
  return stride < 0 ? -stride : stride;
}

/* Rows that are neighbours in the output come together; among equals those that are neighbours in the input. */
static int by_stride(const void *left, const void *right) {
  const dimension *a = left, *b = right;
  int64_t x = distance(a->out), y = distance(b->out);
  if (x == y) {
    x = distance(a->in);
    y = distance(b->in);
  }
  if (x == y) {
    x = a->row;
    y = b->row;
  }
  return x < y ? 1 : x > y ? -1 : 0;
}

static bool joins(const dimension *outer, const dimension *inner) {
  return outer->in == inner->in * inner->size && outer->out == inner->out * inner->size &&
         outer->mask == inner->mask * inner->size && outer->row == inner->row * inner->size;
}

static int join(dimension *dims, int count) {
  int kept = 0;
  for (int d = 0; d < count; d++) {
    if (kept && joins(&dims[kept - 1], &dims[d])) {
      int64_t size = dims[kept - 1].size * dims[d].size;
      dims[kept - 1] = dims[d];
      dims[kept - 1].size = size;
    } else {
      dims[kept++] = dims[d];
    }
  }
  return kept;
}

/* Whether the rows lie side by side, closer to one another than the elements of one row. */
static rowscan_layout layout_of(const rs_rows *rows, int64_t length) {
  int last = rows->rank - 1;
  if (rows->count <= 1 || length <= 1)
    return ROWSCAN_LAYOUT_ROWS;
  int64_t steps = distance(rows->in_step) + distance(rows->out_step);
  int64_t strides = distance(rows->in_stride[last]) + distance(rows->out_stride[last]);
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

rowscan_status rs_rows_from_problem(rs_rows *rows, rowscan_spec *spec, const rowscan_problem *given) {
  rowscan_problem read;
  const rowscan_problem *problem = given;
  rowscan_status status = ROWSCAN_OK;
  if (given->size != sizeof *given) { /* else it need not be copied */
    status = rs_problem_read(&read, given);
    problem = &read;
  }
  if (!status)
    status = check_problem(problem);
  if (!status)
    status = check_arrays(problem);
  if (!status)
    status = rs_spec_of_problem(spec, problem, problem->shape[scanned(problem)]);
  bool empty = !status && is_empty(problem);
  if (!status && !empty)
    status = check_problem_strides(problem, spec);
  if (!status)
    status = check_end_strides(problem, spec);
  if (status)
    return status;

  /* These arrays are large, and each call would wait for them to be cleared. */
  int64_t in[RS_MAX_ROW_RANK + 1], out[RS_MAX_ROW_RANK + 1], mask[RS_MAX_ROW_RANK + 1];
  int64_t row[RS_MAX_ROW_RANK + 1];
  int dim = scanned(problem);
  int64_t length = spec->length;
  rs_problem_strides(in, problem->input.strides, problem, length);
  rs_problem_strides(out, problem->output.strides, problem, length + (includes_initial(problem) ? 1 : 0));
  if (!length) /* of the output there is P(0) at most */
    out[dim] = 0;
  if (spec->mask_mode)
    rs_problem_strides(mask, problem->mask.strides, problem, length);
  else
    memset(mask, 0, (size_t)problem->rank * sizeof *mask);
  if ((status = fill_row_strides(row, problem, spec)))
    return status;

  rows->initial = includes_initial(problem);
  rows->in = problem->input.data;
  rows->out = after_initial(problem, spec, out[dim]);
  rows->mask = spec->mask_mode ? problem->mask.data : NULL;
  rows->init = problem->init.data;
  rows->totals = problem->totals.data;
  rows->count = 1;
  rows->in_step = in[dim];
  rows->out_step = out[dim];
  rows->mask_step = mask[dim];
  dimension dims[RS_MAX_ROW_RANK + 1];
  int count = 0;
  for (int d = problem->rank - 1; d >= 0; d--) {
    if (d == dim)
      continue;
    if (problem->shape[d] != 1)
      dims[count++] = empty ? (dimension){.size = problem->shape[d], .row = row[d]}
                            : (dimension){problem->shape[d], in[d], out[d], mask[d], row[d]};
    rows->count *= problem->shape[d];
  }
  if (count > 1)
    qsort(dims, (size_t)count, sizeof *dims, by_stride);
  count = join(dims, count);
  if (count == 0)
    dims[count++] = (dimension){.size = 1};
  rows->rank = count;
  for (int d = 0; d < count; d++) {
    rows->shape[d] = dims[d].size;
    rows->in_stride[d] = dims[d].in;
    rows->out_stride[d] = dims[d].out;
    rows->mask_stride[d] = dims[d].mask;
    rows->row_stride[d] = dims[d].row;
  }
  tame_strides(rows, spec->length);
  spec->layout = layout_of(rows, spec->length);
  spec->row_rank = rows->rank;
  return check_pointers(rows, spec);
}

void rs_initial_rows(rs_rows *to, rowscan_spec *to_spec, const rs_rows *rows, const rowscan_spec *spec) {
  bool reverse = spec->flags & ROWSCAN_REVERSE;
  int64_t at = reverse ? spec->length * rows->out_step : -rows->out_step;
  *to_spec = (rowscan_spec){.size = sizeof *to_spec,
                            .op = spec->op,
                            .in_type = spec->out_type,
                            .out_type = spec->out_type,
                            .acc_type = spec->acc_type,
                            .flags = ROWSCAN_EXCLUSIVE,
                            .length = 1,
                            .layout = ROWSCAN_LAYOUT_ROWS,
                            .row_rank = spec->row_rank};
  *to = *rows;
  to->initial = false;
  to->out = (char *)rows->out + at * (int64_t)rowscan_type_bytes(spec->out_type);
  to->in = to->out;
  to->mask = NULL;
  to->totals = NULL;
  to->in_step = to->out_step = to->mask_step = 0;
  memcpy(to->in_stride, rows->out_stride, sizeof to->in_stride);
  memset(to->mask_stride, 0, sizeof to->mask_stride);
}

static bool is_one_run(const rs_rows *rows, int64_t length, int64_t step, const int64_t *stride) {
  int last = rows->rank - 1;
  int64_t inner = rows->shape[last], next = inner * length;
  bool run = (stride[last] == 1 || inner == 1) && (step == inner || length == 1);
  for (int d = last - 1; d >= 0; next *= rows->shape[d--])
    run = run && (stride[d] == next || rows->shape[d] == 1);
  return run;
}

bool rs_rows_one_run(const rs_rows *rows, int64_t length, bool mask) {
  return is_one_run(rows, length, rows->in_step, rows->in_stride) &&
         is_one_run(rows, length, rows->out_step, rows->out_stride) &&
         (!mask || is_one_run(rows, length, rows->mask_step, rows->mask_stride));
}
