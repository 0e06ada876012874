/*
 * sets.c - the arrays that are measured on
 * SPDX-License-Identifier: MIT
 */
#include "sets.h"

#include <stdlib.h>

#include "base/status.h"
#include "sample.h"
#include "spec/types.h"

enum {
  SEED = 1,
  ALIGNMENT = 256,         /* of arrays */
  PATTERN_BYTES = 8 << 20, /* of random numbers at most, repeated */
  MOST_SETS = 16384        /* launches that a graph may have to have, so that small arrays rotate in it */
};

static const int64_t MOST_ELEMENTS = INT64_C(1) << 50; /* sums of bytes of a few such don't overflow */

static size_t align(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- where things lie -------------------------------------------------------------------------------------------- */

static bool reach(rs_span *span, int64_t size, int64_t stride) {
  int64_t far;
  if (size < 1 || __builtin_mul_overflow(size - 1, stride, &far) || far < -MOST_ELEMENTS || far > MOST_ELEMENTS)
    return false;
  if (far < 0)
    span->low += far;
  span->count += far < 0 ? -far : far;
  return span->count <= MOST_ELEMENTS;
}

bool rs_span_of(rs_span *span, const rs_rows *rows, const rs_operand *array, int64_t length) {
  *span = (rs_span){0, 0};
  if (rows->count == 0 || length == 0)
    return true;
  span->count = 1;
  bool fits = reach(span, length, array->step);
  for (int d = 0; d < rows->rank && fits; d++)
    fits = reach(span, rows->shape[d], array->stride[d]);
  return fits;
}

/* As the output lies. */
static bool same_strides(const rs_sets *sets, const rs_operand *array) {
  const rs_rows *rows = &sets->rows;
  bool same = sets->spec->length == 1 || array->step == rows->array[RS_OUT].step;
  for (int d = 0; d < rows->rank; d++)
    same = same && (rows->shape[d] == 1 || array->stride[d] == rows->array[RS_OUT].stride[d]);
  return same;
}

static bool is_dense(const rs_sets *sets) {
  bool dense = sets->span[RS_OUT].count == sets->elements;
  for (int a = 0; a < RS_ALL_ARRAYS && dense; a++)
    dense = !rs_sets_have(sets, a) || same_strides(sets, &sets->rows.array[a]);
  return dense;
}

/* Whether there may be memory for so many elements; what else may be wrong with args, rs_rows_from_args says. */
static bool may_fit(const rowscan_spec *spec, const rowscan_args *args) {
  int64_t elements = spec->length > 0 ? spec->length : 1;
  bool fits = true;
  for (int d = 0; d < spec->row_rank && fits; d++) {
    int64_t size = args->row_shape ? args->row_shape[d] : d == 0 ? args->rows : 1;
    fits = !__builtin_mul_overflow(elements, size > 0 ? size : 1, &elements) && elements <= MOST_ELEMENTS;
  }
  return fits;
}

static rowscan_status too_large(const rs_sets *sets) {
  return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the rows of %lld elements of a measurement",
                 (long long)sets->spec->length);
}

/* The arrays that the spec has, at an address that is aligned, and replaced; and the run's numbers. */
static rowscan_args args_of(const rowscan_spec *spec, const rowscan_args *args) {
  void *some = (void *)(uintptr_t)ALIGNMENT;
  rowscan_args with = *args;
  with.input = with.output = some;
  with.mask = spec->mask_mode ? some : NULL;
  with.init = with.totals = with.workspace = NULL;
  for (int i = 0; i < RS_MOST_MORE; i++)
    with.more[i] = spec->more_types[i] ? some : NULL;
  with.second = spec->second_type ? some : NULL;
  with.segments = spec->segment_mode ? some : NULL;
  rs_sample_params(with.params, spec->op, SEED);
  return with;
}

static rowscan_status make_rows(rs_sets *sets, const rowscan_args *args) {
  rowscan_args with = args_of(sets->spec, args);
  rs_rows *rows = &sets->rows;
  if (!may_fit(sets->spec, args))
    return too_large(sets);
  rowscan_status status = rs_rows_from_args(rows, sets->spec, &with);
  if (status)
    return status;
  if (!rows->count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'rows': 0, but a measurement requires a row");
  for (int a = 0; a < RS_ALL_ARRAYS; a++)
    if (rs_sets_have(sets, a) && !rs_span_of(&sets->span[a], rows, &rows->array[a], sets->spec->length))
      return too_large(sets);
  sets->elements = rows->count * sets->spec->length;
  sets->dense = is_dense(sets);
  return ROWSCAN_OK;
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static size_t span_bytes(const rs_sets *sets, int which) {
  return (size_t)sets->span[which].count * (size_t)sets->rows.array[which].bytes; /* 0 of what is not there */
}

/* One array behind the other. */
static void lay_out(rs_sets *sets) {
  sets->bytes = (size_t)sets->elements * (size_t)rs_spec_element_bytes(sets->spec);
  sets->half = sets->bytes / 2;
  size_t end = 0;
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    sets->at[a] = end;
    end += align(span_bytes(sets, a));
  }
  /* never empty; a copy moves up to 15 bytes more than half */
  sets->stride = align(larger(end, sets->half) + 16);
  sets->copy_stride = align(larger(span_bytes(sets, RS_OUT), sets->half) + 16);
  int64_t beyond = 3 * rs_meter_cache_bytes(sets->meter), set = (int64_t)sets->stride;
  sets->count = set >= beyond ? 1 : (beyond + set - 1) / set;
  if (sets->count > MOST_SETS)
    sets->count = MOST_SETS;
}

void rs_sets_rows(const rs_sets *sets, int64_t set, rs_rows *rows) {
  for (int a = 0; a < RS_ALL_ARRAYS; a++)
    if (rs_sets_have(sets, a))
      rows->array[a].data = rs_sets_source(sets, set) + sets->at[a] - sets->span[a].low * rows->array[a].bytes;
}

rowscan_status rs_sets_open(rs_sets *sets, rs_meter *meter, const rowscan_spec *spec, const rowscan_args *args) {
  *sets = (rs_sets){.meter = meter, .spec = spec};
  rowscan_status status = make_rows(sets, args);
  if (status)
    return status;
  lay_out(sets);
  status = rs_meter_alloc(meter, (void **)&sets->memory, (size_t)sets->count * sets->stride);
  if (!status)
    status = rs_meter_alloc(meter, (void **)&sets->copies, (size_t)sets->count * sets->copy_stride);
  if (!status)
    rs_sets_rows(sets, 0, &sets->rows);
  return status;
}

void rs_sets_close(rs_sets *sets) {
  if (!sets->meter)
    return;
  rs_meter_free(sets->meter, sets->memory);
  rs_meter_free(sets->meter, sets->copies);
  *sets = (rs_sets){0};
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* From the lowest byte of an array to where its pointer is. */
static int64_t offset_of(const rs_sets *sets, rs_which which) {
  return -sets->span[which].low * sets->rows.array[which].bytes;
}

bool rs_sets_box(const rs_sets *sets, rs_box *box) {
  const rowscan_spec *spec = sets->spec;
  const rs_rows *rows = &sets->rows;
  int64_t element = rows->array[RS_IN].bytes;
  rs_axis axes[RS_MAX_ROW_RANK + 1];
  if (!sets->elements)
    return false;
  if (sets->dense) {
    *box = rs_box_of_bytes((int64_t)sets->half);
    return true;
  }
  if (rs_spec_element_bytes(spec) != 2 * element || rows->array[RS_OUT].bytes != element)
    return false;
  for (int d = 0; d < rows->rank; d++)
    axes[d] = (rs_axis){rows->shape[d], rows->array[RS_IN].stride[d], rows->array[RS_OUT].stride[d]};
  axes[rows->rank] = (rs_axis){spec->length, rows->array[RS_IN].step, rows->array[RS_OUT].step};
  return rs_box_make(box, axes, rows->rank + 1, (int)element, offset_of(sets, RS_IN), offset_of(sets, RS_OUT));
}

rs_copy_sides rs_sets_sides(const rs_sets *sets, int64_t set) {
  rs_copy_sides sides = {rs_sets_source(sets, set), rs_sets_target(sets, set)};
  if (!sets->dense) {
    sides.from += offset_of(sets, RS_IN);
    sides.to += offset_of(sets, RS_OUT);
  }
  return sides;
}

/* ---- what they hold ---------------------------------------------------------------------------------------------- */

/* A prime number, so that rows of no usual length begin at the same place of the pattern. */
static int64_t pattern_elements(int64_t elements, size_t bytes) {
  const int64_t most = 1048573;
  int64_t room = PATTERN_BYTES / (int64_t)bytes < most ? PATTERN_BYTES / (int64_t)bytes : most;
  return elements < room ? elements : room;
}

/* Repeats the first `have` bytes up to `bytes`. */
static rowscan_status repeat_pattern(rs_sets *sets, char *to, size_t have, size_t bytes) {
  rowscan_status status = ROWSCAN_OK;
  while (have < bytes && !status) {
    size_t more = have < bytes - have ? have : bytes - have;
    status = rs_meter_copy(sets->meter, to + have, to, more);
    have += more;
  }
  return status;
}

/* Of flags and of segments a few, of other inputs anything. */
static void draw_array(const rowscan_spec *spec, int which, void *to, int64_t count) {
  rowscan_type type = rs_array_type(spec, (rs_which)which);
  rowscan_mask_mode mode = which == RS_MASK       ? spec->mask_mode
                           : which == RS_SEGMENTS ? spec->segment_mode
                                                  : ROWSCAN_MASK_NONE;
  bool flags = which >= RS_MORE_IN && which < RS_SECOND && rs_op_of(spec->op)->flags >> (which - RS_MORE_IN) & 1;
  uint64_t seed = SEED + (uint64_t)which;
  if (flags || mode >= ROWSCAN_MASK_HEADS)
    rs_sample_segments(to, type, mode == ROWSCAN_MASK_KEYS, count, seed);
  else if (mode == ROWSCAN_MASK_COEFFICIENT || (which == RS_MORE_IN && rs_op_has_coefficient(spec->op)))
    rs_sample_coefficients(to, type, count, seed);
  else if (mode)
    rs_sample_mask(to, type, count, seed);
  else
    rs_sample_elements(to, type, spec->op, count, seed);
}

static rowscan_status fill_array(rs_sets *sets, int which) {
  size_t element = (size_t)sets->rows.array[which].bytes;
  int64_t count = pattern_elements(sets->span[which].count, element);
  if (!count)
    return ROWSCAN_OK;
  void *pattern = malloc((size_t)count * element);
  if (!pattern)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for random numbers");
  draw_array(sets->spec, which, pattern, count);
  char *to = sets->memory + sets->at[which];
  rowscan_status status = rs_meter_write(sets->meter, to, pattern, (size_t)count * element);
  free(pattern);
  return status ? status : repeat_pattern(sets, to, (size_t)count * element, span_bytes(sets, which));
}

rowscan_status rs_sets_fill(rs_sets *sets) {
  rs_meter *meter = sets->meter;
  rowscan_status status = rs_meter_fill(meter, sets->memory, 0xff, (size_t)sets->count * sets->stride);
  if (!status)
    status = rs_meter_fill(meter, sets->copies, 0xff, (size_t)sets->count * sets->copy_stride);
  for (int a = 0; a < RS_ALL_ARRAYS && !status; a++)
    if (rs_sets_have(sets, a) && !rs_is_output(a))
      status = fill_array(sets, a);
  if (!status)
    status = repeat_pattern(sets, sets->memory, sets->stride, (size_t)sets->count * sets->stride);
  return status ? status : rs_meter_wait(meter);
}

rowscan_status rs_sets_poison(rs_sets *sets) {
  enum { FEW = 16 };
  if (sets->count > FEW) /* small ones: to fill them all takes one pass */
    return rs_sets_fill(sets);
  rowscan_status status = ROWSCAN_OK;
  for (int64_t set = 0; set < sets->count; set++)
    for (int a = 0; a < RS_ALL_ARRAYS && !status; a++)
      if (rs_sets_have(sets, a) && rs_is_output(a))
        status = rs_meter_fill(sets->meter, sets->memory + (size_t)set * sets->stride + sets->at[a], 0xff,
                               span_bytes(sets, a));
  return status;
}
