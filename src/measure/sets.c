/*
 * sets.c - the arrays that are measured on
 * SPDX-License-Identifier: MIT
 */
#include "sets.h"

#include <stdlib.h>

#include "base/status.h"
#include "sample.h"

enum {
  ALIGNMENT = 256,         /* of arrays */
  PATTERN_BYTES = 8 << 20, /* of random numbers at most, repeated */
  MOST_SETS = 16384        /* launches that a graph may have to have, so that small arrays rotate in it */
};

static const int64_t MOST_ELEMENTS = INT64_C(1) << 50; /* sums of bytes of a few such don't overflow */

static size_t align(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t mask_element(const rowscan_spec *spec) {
  return spec->mask_mode ? rowscan_type_bytes(spec->mask_type) : 0;
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

bool rs_span_of(rs_span *span, const rs_rows *rows, const int64_t *stride, int64_t step, int64_t length) {
  *span = (rs_span){0, 0};
  if (rows->count == 0 || length == 0)
    return true;
  span->count = 1;
  bool fits = reach(span, length, step);
  for (int d = 0; d < rows->rank && fits; d++)
    fits = reach(span, rows->shape[d], stride[d]);
  return fits;
}

static bool same_strides(const rs_sets *sets, const int64_t *stride, int64_t step) {
  const rs_rows *rows = &sets->rows;
  bool same = sets->spec->length == 1 || step == rows->array[RS_OUT].step;
  for (int d = 0; d < rows->rank; d++)
    same = same && (rows->shape[d] == 1 || stride[d] == rows->array[RS_OUT].stride[d]);
  return same;
}

static bool is_dense(const rs_sets *sets) {
  const rs_rows *rows = &sets->rows;
  return sets->out.count == sets->elements && same_strides(sets, rows->array[RS_IN].stride, rows->array[RS_IN].step) &&
         (!sets->spec->mask_mode || same_strides(sets, rows->array[RS_MASK].stride, rows->array[RS_MASK].step));
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
  return rs_fail(ROWSCAN_OUT_OF_MEMORY, "so many rows of %lld elements to measure on fit no memory",
                 (long long)sets->spec->length);
}

static rowscan_status make_rows(rs_sets *sets, const rowscan_args *args) {
  void *some = (void *)(uintptr_t)ALIGNMENT; /* a pointer that is aligned, and replaced */
  rowscan_args without = *args;
  without.input = without.mask = without.output = some;
  without.init = without.totals = without.workspace = NULL;
  rs_rows *rows = &sets->rows;
  if (!may_fit(sets->spec, args))
    return too_large(sets);
  rowscan_status status = rs_rows_from_args(rows, sets->spec, &without);
  if (status)
    return status;
  if (!rows->count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'rows': 0; there is nothing to measure");
  int64_t length = sets->spec->length;
  if (!rs_span_of(&sets->in, rows, rows->array[RS_IN].stride, rows->array[RS_IN].step, length) ||
      !rs_span_of(&sets->out, rows, rows->array[RS_OUT].stride, rows->array[RS_OUT].step, length) ||
      !rs_span_of(&sets->mask, rows, rows->array[RS_MASK].stride, rows->array[RS_MASK].step, length))
    return too_large(sets);
  sets->elements = rows->count * length;
  sets->dense = is_dense(sets);
  return ROWSCAN_OK;
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static void lay_out(rs_sets *sets) {
  const rowscan_spec *spec = sets->spec;
  size_t in = rowscan_type_bytes(spec->in_type), out = rowscan_type_bytes(spec->out_type), mask = mask_element(spec);
  size_t out_bytes = (size_t)sets->out.count * out;
  sets->bytes = (size_t)sets->elements * (in + mask + out);
  sets->half = sets->bytes / 2;
  sets->mask_at = align((size_t)sets->in.count * in);
  sets->out_at = sets->mask_at + align((size_t)sets->mask.count * mask);
  /* never empty; a copy moves up to 15 bytes more than half */
  sets->stride = larger(sets->out_at + align(out_bytes + 1), align(sets->half + 16));
  sets->copy_stride = align(larger(out_bytes, sets->half) + 16);
  int64_t beyond = 3 * rs_meter_cache_bytes(sets->meter), set = (int64_t)sets->stride;
  sets->count = set >= beyond ? 1 : (beyond + set - 1) / set;
  if (sets->count > MOST_SETS)
    sets->count = MOST_SETS;
}

void rs_sets_rows(const rs_sets *sets, int64_t set, rs_rows *rows) {
  const rowscan_spec *spec = sets->spec;
  char *at = rs_sets_source(sets, set);
  rows->array[RS_IN].data = at - sets->in.low * (int64_t)rowscan_type_bytes(spec->in_type);
  rows->array[RS_OUT].data = at + sets->out_at - sets->out.low * (int64_t)rowscan_type_bytes(spec->out_type);
  if (spec->mask_mode)
    rows->array[RS_MASK].data = at + sets->mask_at - sets->mask.low * (int64_t)mask_element(spec);
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

static int64_t out_offset(const rs_sets *sets) {
  return -sets->out.low * (int64_t)rowscan_type_bytes(sets->spec->out_type);
}

bool rs_sets_box(const rs_sets *sets, rs_box *box) {
  const rowscan_spec *spec = sets->spec;
  const rs_rows *rows = &sets->rows;
  int64_t element = (int64_t)rowscan_type_bytes(spec->in_type);
  rs_axis axes[RS_MAX_ROW_RANK + 1];
  if (!sets->elements)
    return false;
  if (sets->dense) {
    *box = rs_box_of_bytes((int64_t)sets->half);
    return true;
  }
  if (spec->mask_mode || rowscan_type_bytes(spec->out_type) != (size_t)element)
    return false;
  for (int d = 0; d < rows->rank; d++)
    axes[d] = (rs_axis){rows->shape[d], rows->array[RS_IN].stride[d], rows->array[RS_OUT].stride[d]};
  axes[rows->rank] = (rs_axis){spec->length, rows->array[RS_IN].step, rows->array[RS_OUT].step};
  return rs_box_make(box, axes, rows->rank + 1, (int)element, -sets->in.low * element, out_offset(sets));
}

rs_copy_sides rs_sets_sides(const rs_sets *sets, int64_t set) {
  rs_copy_sides sides = {rs_sets_source(sets, set), rs_sets_target(sets, set)};
  if (!sets->dense) {
    sides.from -= sets->in.low * (int64_t)rowscan_type_bytes(sets->spec->in_type);
    sides.to += out_offset(sets);
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

static rowscan_status fill_array(rs_sets *sets, size_t at, const rs_span *span, rowscan_type type, bool mask) {
  size_t element = rowscan_type_bytes(type);
  int64_t count = pattern_elements(span->count, element);
  if (!count)
    return ROWSCAN_OK;
  void *pattern = malloc((size_t)count * element);
  if (!pattern)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for random numbers");
  if (mask && sets->spec->mask_mode == ROWSCAN_MASK_COEFFICIENT)
    rs_sample_coefficients(pattern, type, count, 2);
  else if (mask && rs_spec_has_segments(sets->spec))
    rs_sample_segments(pattern, type, sets->spec->mask_mode == ROWSCAN_MASK_KEYS, count, 2);
  else if (mask)
    rs_sample_mask(pattern, type, count, 2);
  else
    rs_sample_elements(pattern, type, sets->spec->op, count, 1);
  char *to = sets->memory + at;
  rowscan_status status = rs_meter_write(sets->meter, to, pattern, (size_t)count * element);
  free(pattern);
  return status ? status : repeat_pattern(sets, to, (size_t)count * element, (size_t)span->count * element);
}

rowscan_status rs_sets_fill(rs_sets *sets) {
  const rowscan_spec *spec = sets->spec;
  rs_meter *meter = sets->meter;
  rowscan_status status = rs_meter_fill(meter, sets->memory, 0xff, (size_t)sets->count * sets->stride);
  if (!status)
    status = rs_meter_fill(meter, sets->copies, 0xff, (size_t)sets->count * sets->copy_stride);
  if (!status)
    status = fill_array(sets, 0, &sets->in, spec->in_type, false);
  if (!status && spec->mask_mode)
    status = fill_array(sets, sets->mask_at, &sets->mask, spec->mask_type, true);
  if (!status)
    status = repeat_pattern(sets, sets->memory, sets->stride, (size_t)sets->count * sets->stride);
  return status ? status : rs_meter_wait(meter);
}
