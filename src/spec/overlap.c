/*
 * overlap.c - whether arrays of a run overlap that must not
 * SPDX-License-Identifier: MIT
 *
 * An array is a set of addresses: low + sum(stride * index) + byte, each index from 0 to size - 1. Two arrays share a
 * byte if sum(step * x) = target has a solution with 0 <= x <= most for each x: the indices of one, and those of the
 * other counted from their ends. Such an equation is searched term by term, largest step first: a term takes the values
 * that leave the rest within the reach of the terms after it, and divisible by their greatest common divisor. Where
 * each step exceeds the reach of all smaller ones, as in any view of a dense array, that is one or two values a term.
 */
#include <stdlib.h>

#include "base/ints.h"
#include "base/status.h"
#include "rows.h"
#include "types.h"

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

/* Bytes of an array: the first, and the first after the last. */
typedef struct range {
  uint64_t low, high;
} range;

/* How far a dimension reaches, in elements. False: beyond any memory. Sizes are at least 1. */
static inline bool reach_of(int64_t size, int64_t stride, int64_t *far) {
  const int64_t most = RS_MOST_BYTES / 16 / (RS_MAX_ROW_RANK + 1);
  return !__builtin_mul_overflow(size - 1, stride, far) && (uint64_t)*far + (uint64_t)most <= 2 * (uint64_t)most;
}

/* False: beyond any memory. */
static inline bool range_of(range *range, const void *data, int64_t bytes, int rank, const int64_t *shape,
                            const int64_t *stride, int64_t length, int64_t step) {
  int64_t far, before, after;
  if (!reach_of(length, step, &far))
    return false;
  before = far < 0 ? far : 0;
  after = far < 0 ? 0 : far;
  for (int d = 0; d < rank; d++) {
    if (!reach_of(shape[d], stride[d], &far))
      return false;
    before += far < 0 ? far : 0;
    after += far < 0 ? 0 : far;
  }
  uint64_t first = (uintptr_t)data, down = (uint64_t)(-before * bytes);
  range->low = first - down;
  range->high = first + (uint64_t)((after + 1) * bytes);
  return down <= first && range->high > first;
}

static inline bool ranges_meet(const range *a, const range *b) {
  return a->low < b->high && b->low < a->high;
}

/* Address of its element [0, ...]; `rank` row dimensions, and the scanned one: `length` elements, `step` apart. */
typedef struct array {
  const char *field;
  rs_which which; /* RS_ALL_ARRAYS: the workspace */
  const void *data;
  int64_t bytes; /* of an element */
  int rank;
  const int64_t *shape, *stride;
  int64_t length, step;
  range range;
} array;

/* ---- equations --------------------------------------------------------------------------------------------------- */

enum { MOST_TERMS = 2 * (RS_MAX_ROW_RANK + 2) };

/* step * x, 0 <= x <= most; step > 0. */
typedef struct term {
  int64_t step, most;
  int64_t rest;    /* this and all terms after it, at most */
  int64_t divisor; /* of their steps, the greatest */
  int64_t modulus; /* x * step = target, modulo the divisor of the terms after it, is x = target / divisor * inverse, */
  int64_t inverse; /* modulo this */
} term;

typedef struct equation {
  int count;
  int work; /* steps left */
  term term[MOST_TERMS];
} equation;

typedef enum answer { NO, YES, UNKNOWN } answer;

/* size: values of x, from 0. */
static void add_term(equation *e, int64_t step, int64_t units, int64_t size) {
  if (size > 1 && step)
    e->term[e->count++] = (term){.step = (step < 0 ? -step : step) * units, .most = size - 1};
}

static void add_dimensions(equation *e, const array *a, int64_t unit) {
  int64_t units = a->bytes / unit;
  for (int d = 0; d < a->rank; d++)
    add_term(e, a->stride[d], units, a->shape[d]);
  add_term(e, a->step, units, a->length);
  add_term(e, 1, 1, units);
}

static int by_step(const void *left, const void *right) {
  const term *a = left, *b = right;
  return (a->step < b->step) - (a->step > b->step);
}

static void join_equal_steps(equation *e) {
  int kept = 0;
  for (int i = 0; i < e->count; i++) {
    if (kept && e->term[kept - 1].step == e->term[i].step)
      e->term[kept - 1].most += e->term[i].most;
    else
      e->term[kept++] = e->term[i];
  }
  e->count = kept;
}

/* The greatest common divisor of two numbers, and what times a, modulo b, is that. */
static int64_t divide_both(int64_t a, int64_t b, int64_t *inverse) {
  int64_t u = 1, v = 0;
  while (b) {
    int64_t quotient = a / b, rest = a % b, next = u - quotient * v;
    a = b;
    b = rest;
    u = v;
    v = next;
  }
  *inverse = u;
  return a;
}

static int64_t modulo(int64_t x, int64_t m) {
  int64_t rest = x % m;
  return rest < 0 ? rest + m : rest;
}

/* a * b modulo m, of numbers below m. */
static int64_t multiply(int64_t a, int64_t b, int64_t m) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product))
    return product % m;
  for (product = 0; b; b >>= 1) {
    if (b & 1)
      product = (product + a) % m;
    a = 2 * a % m;
  }
  return product;
}

static void prepare(equation *e) {
  qsort(e->term, (size_t)e->count, sizeof *e->term, by_step);
  join_equal_steps(e);
  int64_t rest = 0, divisor = 0;
  for (int i = e->count - 1; i >= 0; i--) {
    term *t = &e->term[i];
    int64_t inverse, after = divisor;
    t->rest = rest += t->step * t->most;
    t->divisor = divisor = divide_both(t->step, after, &inverse);
    t->modulus = after ? after / divisor : 1;
    t->inverse = modulo(inverse, t->modulus);
  }
}

/* Whether the terms from i on can make the target. */
static answer solve(equation *e, int i, int64_t target) {
  if (i == e->count)
    return target ? NO : YES;
  const term *t = &e->term[i];
  if (target < 0 || target > t->rest || target % t->divisor)
    return NO;
  if (i == e->count - 1)
    return YES;
  int64_t after = t[1].rest, m = t->modulus;
  int64_t least = target > after ? rs_ceiling(target - after, t->step) : 0;
  int64_t most = target / t->step < t->most ? target / t->step : t->most;
  int64_t fits = multiply(modulo(target / t->divisor, m), t->inverse, m);
  for (int64_t x = least + modulo(fits - least, m); x <= most; x += m) {
    if (e->work-- <= 0)
      return UNKNOWN;
    answer found = solve(e, i + 1, target - t->step * x);
    if (found != NO)
      return found;
  }
  return NO;
}

/* ---- two arrays -------------------------------------------------------------------------------------------------- */

/* Element by element in the same place, if they begin in the same. */
static bool lie_alike(const array *a, const array *b) {
  bool same =
      a->bytes == b->bytes && a->rank == b->rank && a->length == b->length && (a->length <= 1 || a->step == b->step);
  for (int d = 0; d < a->rank && same; d++)
    same = a->shape[d] <= 1 || a->stride[d] == b->stride[d];
  return same;
}

/* Addresses in units of the smaller element, which all are multiples of. */
static bool share_bytes(const array *a, const array *b) {
  int64_t unit = a->bytes < b->bytes ? a->bytes : b->bytes;
  equation e = {.count = 0, .work = RS_OVERLAP_WORK};
  add_dimensions(&e, a, unit);
  add_dimensions(&e, b, unit);
  prepare(&e);
  return solve(&e, 0, (int64_t)(b->range.high - a->range.low) / unit - 1) == YES;
}

static rowscan_status tell(const array *a, const array *b, const char *unless) {
  return rs_fail(ROWSCAN_BAD_ARGUMENT,
                 "fields '%s' and '%s': the arrays overlap, the first within 0x%llx .. 0x%llx, the second within "
                 "0x%llx .. 0x%llx%s",
                 a->field, b->field, (unsigned long long)a->range.low, (unsigned long long)a->range.high,
                 (unsigned long long)b->range.low, (unsigned long long)b->range.high, unless);
}

static rowscan_status tell_input(const array *output, const array *input) {
  return tell(output, input,
              output->data != input->data     ? ""
              : output->bytes != input->bytes ? "; a scan in place requires elements of the same size"
                                              : "; a scan in place requires the same strides");
}

/* ---- one array --------------------------------------------------------------------------------------------------- */

/* A dimension of more than one element. */
typedef struct extent {
  int64_t step, most; /* the largest index */
} extent;

/* Those of an array, largest step first. */
typedef struct extents {
  int count;
  extent of[RS_MAX_ROW_RANK + 1];
} extents;

static inline void add_extent(extents *own, int64_t size, int64_t stride) {
  int at = own->count;
  if (size <= 1)
    return;
  int64_t step = stride < 0 ? -stride : stride;
  for (; at > 0 && own->of[at - 1].step < step; at--)
    own->of[at] = own->of[at - 1];
  own->of[at].step = step;
  own->of[at].most = size - 1;
  own->count++;
}

/* Whether each step leads beyond all that the smaller ones reach: so it is in views of dense arrays. */
static bool nested(const extents *own) {
  int64_t rest = 0;
  for (int i = own->count - 1; i >= 0; i--) {
    if (own->of[i].step <= rest)
      return false;
    rest += own->of[i].step * own->of[i].most;
  }
  return true;
}

/* Two elements whose first different index is that of extent i. Indices differ by -most to most. */
static answer differ_from(const extents *own, int i) {
  equation e = {.count = 0, .work = RS_OVERLAP_WORK};
  int64_t target = -own->of[i].step;
  add_term(&e, own->of[i].step, 1, own->of[i].most);
  for (int j = i + 1; j < own->count; j++) {
    add_term(&e, own->of[j].step, 1, 2 * own->of[j].most + 1);
    target += own->of[j].step * own->of[j].most;
  }
  prepare(&e);
  return solve(&e, 0, target);
}

static bool meets_itself(const extents *own) {
  if (own->of[own->count - 1].step == 0)
    return true;
  for (int i = 0; i < own->count; i++)
    if (differ_from(own, i) == YES)
      return true;
  return false;
}

static rowscan_status check_itself(const array *a) {
  extents own;
  own.count = 0;
  for (int d = 0; d < a->rank; d++)
    add_extent(&own, a->shape[d], a->stride[d]);
  add_extent(&own, a->length, a->step);
  if (nested(&own) || !meets_itself(&own))
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_BAD_ARGUMENT,
                 "field '%s': its strides give two elements the same address; an output must not overlap itself",
                 a->field);
}

/* ---- all of a run ------------------------------------------------------------------------------------------------ */

enum { MOST_ARRAYS = RS_ALL_ARRAYS + 1 }; /* workspace, output, totals, second output; then what is read */

typedef struct arrays {
  int count, written; /* those that are written come first */
  array of[MOST_ARRAYS];
} arrays;

/* What is not there, or is beyond any memory, is left out. */
static void keep(arrays *all, bool written) {
  array *a = &all->of[all->count];
  if (!a->data || !range_of(&a->range, a->data, a->bytes, a->rank, a->shape, a->stride, a->length, a->step))
    return;
  all->count++;
  all->written += written;
}

static const char INPUT[] = "input", OUTPUT[] = "output";

/* Filled field by field, in place: a copy of the struct would wait for each. */
static void add_array(arrays *all, const char *field, const rs_rows *rows, rs_which which, int64_t length) {
  const rs_operand *from = &rows->array[which];
  array *a = &all->of[all->count];
  a->field = field;
  a->which = which;
  a->data = from->data;
  a->bytes = from->bytes;
  a->rank = rows->rank;
  a->shape = rows->shape;
  a->stride = from->stride;
  a->length = length;
  a->step = from->step;
  keep(all, which == RS_OUT || which == RS_TOTALS || which == RS_SECOND);
}

static void add_workspace(arrays *all, const void *data, size_t bytes) {
  array *a = &all->of[all->count];
  if (!data || !bytes || bytes >= (size_t)RS_MOST_BYTES)
    return;
  a->field = "workspace";
  a->which = RS_ALL_ARRAYS;
  a->data = data;
  a->bytes = 1;
  a->rank = 0;
  a->length = (int64_t)bytes;
  a->step = 1;
  keep(all, true);
}

/* Its element P(0) is before the first of a forward scan, and after the last of a reverse one. */
static void add_output(arrays *all, const rs_rows *rows, const rowscan_spec *spec) {
  const rs_operand *out = &rows->array[RS_OUT];
  int64_t length = spec->length + (rows->initial ? 1 : 0);
  array *a = &all->of[all->count];
  if (length <= 0)
    return;
  *a = (array){OUTPUT, RS_OUT, out->data, out->bytes, rows->rank, rows->shape, out->stride, length, out->step, {0, 0}};
  if (rows->initial && !(spec->flags & ROWSCAN_REVERSE))
    a->data = (const char *)out->data - out->step * out->bytes;
  keep(all, true);
}

static void collect_further(arrays *all, const rs_rows *rows, int64_t length) {
  static const char *const names[RS_MOST_MORE] = {"more[0]", "more[1]", "more[2]", "more[3]"};
  for (int i = 0; i < RS_MOST_MORE; i++)
    add_array(all, names[i], rows, (rs_which)(RS_MORE_IN + i), length);
  add_array(all, "segments", rows, RS_SEGMENTS, length);
}

static void collect_arrays(arrays *all, const rs_rows *rows, const rowscan_spec *spec, const void *workspace,
                           size_t bytes) {
  int64_t length = spec->length;
  all->count = all->written = 0;
  add_workspace(all, workspace, bytes);
  add_output(all, rows, spec);
  add_array(all, "totals", rows, RS_TOTALS, 1);
  if (length > 0 && rows->further)
    add_array(all, "second", rows, RS_SECOND, length);
  if (length > 0)
    add_array(all, INPUT, rows, RS_IN, length);
  if (length > 0 && spec->mask_mode)
    add_array(all, spec->mask_mode == ROWSCAN_MASK_COEFFICIENT ? "coefficient" : "mask", rows, RS_MASK, length);
  add_array(all, "init", rows, RS_INIT, 1);
  if (length > 0 && rows->further)
    collect_further(all, rows, length);
}

static rowscan_status check_pair(const array *a, const array *b) {
  bool in_place = a->field == OUTPUT && b->field == INPUT;
  if (!ranges_meet(&a->range, &b->range) || (in_place && a->data == b->data && lie_alike(a, b)) || !share_bytes(a, b))
    return ROWSCAN_OK;
  return in_place ? tell_input(a, b) : tell(a, b, "");
}

/* Whether a dimension leads beyond all that another reaches, so that no two elements share a place. */
static inline bool nest(int64_t outer_size, uint64_t outer, int64_t inner_size, uint64_t inner) {
  return (inner_size == 1 || inner > 0) && (outer_size == 1 || outer > (uint64_t)(inner_size - 1) * inner);
}

/*
 * Whether it is plain that nothing overlaps, as in most calls: input and output are apart, or one. Of rows in one
 * dimension, with as little as can be loaded and stored: 20 ns where what follows takes 50.
 */
static bool plain(const rs_rows *rows, int64_t length) {
  const rs_operand *i = &rows->array[RS_IN], *o = &rows->array[RS_OUT];
  int64_t size = rows->shape[0], step = o->step, stride = o->stride[0];
  range in, out;
  if (!range_of(&out, o->data, o->bytes, 1, &size, &stride, length, step))
    return false;
  uint64_t steps = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
  uint64_t strides = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
  if (!nest(size, strides, length, steps) && !nest(length, steps, size, strides))
    return false;
  if (i->data == o->data && i->bytes == o->bytes && i->step == step && i->stride[0] == stride)
    return true;
  return range_of(&in, i->data, i->bytes, 1, &size, i->stride, length, i->step) && !ranges_meet(&in, &out);
}

rowscan_status rs_overlap_check(const rs_rows *rows, const rowscan_spec *spec, const void *workspace,
                                size_t workspace_bytes) {
  arrays all;
  rowscan_status status = ROWSCAN_OK;
  if (!rs_rows_any(rows, rows->initial ? 1 : spec->length)) /* P(0) is written of rows without elements too */
    return status;
  bool two = !rows->further && rows->rank == 1 && spec->length > 0 && !rows->initial && !rows->array[RS_MASK].data &&
             !rows->array[RS_INIT].data && !rows->array[RS_TOTALS].data && !workspace;
  if (two && plain(rows, spec->length))
    return status;
  collect_arrays(&all, rows, spec, workspace, workspace_bytes);
  for (int i = 0; i < all.written && !status; i++) {
    if (all.of[i].rank) /* not the workspace */
      status = check_itself(&all.of[i]);
    for (int j = i + 1; j < all.count && !status; j++)
      status = check_pair(&all.of[i], &all.of[j]);
  }
  return status;
}

/* ---- the same arrays elsewhere ----------------------------------------------------------------------------------- */

/* Bytes after an array's element 0, to the first after its last; and those before it. */
static uint64_t bytes_after(const rs_rows *rows, const array *a) {
  return a->range.high - (uintptr_t)rows->array[a->which].data;
}
static uint64_t bytes_before(const rs_rows *rows, const array *a) {
  return (uintptr_t)rows->array[a->which].data - a->range.low;
}

static rs_pair pair_of(const rs_rows *rows, const array *a, const array *b) {
  uint64_t least = bytes_after(rows, a) + bytes_before(rows, b);
  return (rs_pair){.one = &rows->array[a->which].data,
                   .other = &rows->array[b->which].data,
                   .least = least,
                   .room = 0 - (bytes_before(rows, a) + bytes_after(rows, b)) - least,
                   .may_be_one = a->field == OUTPUT && b->field == INPUT && lie_alike(a, b)};
}

bool rs_pairs_of(rs_pairs *pairs, const rs_rows *rows, const rowscan_spec *spec) {
  arrays all;
  int there = 0;
  collect_arrays(&all, rows, spec, NULL, 0);
  for (int a = 0; a < rs_arrays(rows); a++)
    there += rows->array[a].data != NULL;
  pairs->count = 0;
  for (int i = 0; i < all.written; i++)
    for (int j = i + 1; j < all.count; j++)
      pairs->of[pairs->count++] = pair_of(rows, &all.of[i], &all.of[j]);
  return there == all.count && rows->count > 0 && spec->length > 0;
}
