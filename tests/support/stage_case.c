/*
 * stage_case.c - random problems in host memory, for the suites of rowscan_scan_host
 * SPDX-License-Identifier: MIT
 */
#include "stage_case.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "judge.h"

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

int64_t stage_below(uint64_t *random, int64_t n) {
  return (int64_t)(rs_random(random) % (uint64_t)n);
}

/* Numbers of different sizes and signs, so that sums depend on the order; near one for products, lest they vanish. */
static uint64_t any_float(uint64_t *random, int fraction_bits, int bias, bool sum) {
  uint64_t fraction = rs_random(random) & ((1ull << fraction_bits) - 1), sign = rs_random(random) & 1;
  int64_t exponent = bias + (sum ? stage_below(random, 9) - 4 : -stage_below(random, 2));
  int64_t kind = stage_below(random, 200);
  if (kind < 8)
    exponent = 0, fraction = 0, sign = kind < 6;
  else if (kind == 8 && stage_below(random, 20) == 0)
    exponent = 2 * bias + 1, fraction &= 1ull << (fraction_bits - 1);
  int sign_bit = fraction_bits + (bias == 15 ? 5 : bias == 127 ? 8 : 11);
  return sign << sign_bit | (uint64_t)exponent << fraction_bits | fraction;
}

static uint64_t any_element(uint64_t *random, rowscan_type type, rowscan_op op) {
  bool sum = op != ROWSCAN_PROD;
  switch (type) {
  case ROWSCAN_F16:
    return any_float(random, 10, 15, sum);
  case ROWSCAN_BF16:
    return any_float(random, 7, 127, sum);
  case ROWSCAN_F32:
    return any_float(random, 23, 127, sum);
  case ROWSCAN_F64:
    return any_float(random, 52, 1023, sum);
  default:
    return rs_random(random) | (op == ROWSCAN_PROD); /* odd factors: products of others are soon 0 */
  }
}

static void fill(uint64_t *random, void *memory, rowscan_type type, int64_t count, const rowscan_spec *spec,
                 bool mask) {
  size_t bytes = rowscan_type_bytes(type);
  for (int64_t i = 0; i < count; i++) {
    uint64_t x = any_element(random, type, spec->op);
    if (mask && stage_below(random, 3) == 0)
      x = 0;
    judge_write(type, (char *)memory + (size_t)i * bytes, x);
  }
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* Random strides: dimensions in any order, with gaps, some backwards; inputs repeat some dimensions. */
static void lay_out(uint64_t *random, const stage_form *form, stage_array *a, rowscan_type type, bool input) {
  bool dense = form->dense;
  int order[STAGE_RANK];
  for (int d = 0; d < form->rank; d++) {
    int at = dense ? d : (int)stage_below(random, d + 1);
    order[d] = order[at];
    order[at] = d;
  }
  int64_t step = dense || stage_below(random, 3) ? 1 : 2, first = 0;
  for (int i = form->rank - 1; i >= 0; i--) {
    int d = order[i];
    int64_t extent = form->shape[d] ? form->shape[d] : 1;
    if (!dense && input && stage_below(random, 12) == 0) {
      a->strides[d] = 0;
      continue;
    }
    bool back = !dense && stage_below(random, 5) == 0;
    a->strides[d] = back ? -step : step;
    first += back ? step * (extent - 1) : 0;
    step *= extent;
    if (!dense && stage_below(random, 3) == 0)
      step += stage_below(random, 5);
  }
  int64_t size = (int64_t)rowscan_type_bytes(type), before = dense ? 0 : stage_below(random, 9);
  a->bytes = (size_t)((before + step + 3) * size);
  a->origin = (before + first) * size;
  a->memory = calloc(1, a->bytes); /* the last bytes may be less than an element of the input */
  ck_assert_ptr_nonnull(a->memory);
}

stage_form stage_any_form(uint64_t *random, int64_t length, int64_t most_rows) {
  stage_form form = {.rank = 1 + (int)stage_below(random, STAGE_RANK)};
  form.dim = (int)stage_below(random, form.rank);
  int64_t most = most_rows;
  for (int d = 0; d < form.rank; d++) {
    int64_t extent = 1 + stage_below(random, stage_below(random, 2) || most < 4 ? most : 4);
    form.shape[d] = d == form.dim ? length : extent;
    most /= d == form.dim ? 1 : extent;
  }
  return form;
}

void stage_case_make(stage_case *c, uint64_t *random, const rowscan_spec *spec, const stage_form *form) {
  *c = (stage_case){.spec = *spec, .form = *form, .rows = 1};
  c->spec.size = sizeof c->spec;
  c->spec.length = form->shape[form->dim];
  ck_assert_msg(rowscan_spec_complete(&c->spec) == ROWSCAN_OK, "%s", rowscan_last_error());
  for (int d = 0; d < form->rank; d++)
    c->rows *= d == form->dim ? 1 : form->shape[d];
  const rowscan_spec *s = &c->spec;
  c->in_place = rowscan_type_bytes(s->in_type) == rowscan_type_bytes(s->out_type) && stage_below(random, 3) == 0;
  lay_out(random, form, &c->out, s->out_type, false);
  fill(random, c->out.memory, s->in_type, (int64_t)(c->out.bytes / rowscan_type_bytes(s->in_type)), s, false);
  if (!c->in_place) {
    lay_out(random, form, &c->in, s->in_type, true);
    fill(random, c->in.memory, s->in_type, (int64_t)(c->in.bytes / rowscan_type_bytes(s->in_type)), s, false);
  }
  if (s->mask_mode) {
    lay_out(random, form, &c->mask, s->mask_type, true);
    fill(random, c->mask.memory, s->mask_type, (int64_t)(c->mask.bytes / rowscan_type_bytes(s->mask_type)), s, true);
  }
  stage_form rows = *form;
  rowscan_type kept = rs_kept_type(s->acc_type);
  rows.shape[form->dim] = 1;
  if (stage_below(random, 2)) {
    lay_out(random, &rows, &c->init, kept, true);
    fill(random, c->init.memory, kept, (int64_t)(c->init.bytes / rowscan_type_bytes(kept)), s, false);
  }
  if (stage_below(random, 2)) {
    lay_out(random, &rows, &c->totals, kept, false);
    memset(c->totals.memory, 0x5a, c->totals.bytes);
  }
}

void stage_case_free(stage_case *c) {
  free(c->in.memory);
  free(c->out.memory);
  free(c->mask.memory);
  free(c->init.memory);
  free(c->totals.memory);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static char *copy_of(const stage_array *a) {
  char *copy = a->memory ? malloc(a->bytes) : NULL;
  ck_assert(copy || !a->memory);
  return copy ? memcpy(copy, a->memory, a->bytes) : NULL;
}

static rowscan_problem problem_of(const stage_case *c, stage_result *result) {
  const rowscan_spec *s = &c->spec;
  *result = (stage_result){.out = copy_of(&c->out), .totals = copy_of(&c->totals)};
  rowscan_problem problem = {
      .size = sizeof problem,
      .op = s->op,
      .flags = s->flags,
      .rank = c->form.rank,
      .dim = c->form.dim,
      .shape = c->form.shape,
      .input = {.data = c->in.memory + c->in.origin, .type = s->in_type, .strides = c->in.strides},
      .output = {.data = result->out + c->out.origin, .type = s->out_type, .strides = c->out.strides},
      .mask_mode = s->mask_mode,
      .acc_type = s->acc_type};
  if (c->init.memory)
    problem.init = (rowscan_input){.data = c->init.memory + c->init.origin, .strides = c->init.strides};
  if (result->totals)
    problem.totals = (rowscan_output){.data = result->totals + c->totals.origin, .strides = c->totals.strides};
  if (c->in_place)
    problem.input = (rowscan_input){.data = problem.output.data, .type = s->in_type, .strides = c->out.strides};
  if (s->mask_mode)
    problem.mask =
        (rowscan_input){.data = c->mask.memory + c->mask.origin, .type = s->mask_type, .strides = c->mask.strides};
  return problem;
}

rowscan_status stage_case_run(const stage_case *c, rowscan_context *context, stage_result *result) {
  rowscan_problem problem = problem_of(c, result);
  return rowscan_scan_host(context, &problem);
}

void stage_case_judge(const stage_case *c, stage_result *result) {
  rowscan_problem problem = problem_of(c, result);
  rowscan_spec spec;
  rs_rows rows;
  ck_assert_msg(rs_rows_from_problem(&rows, &spec, &problem) == ROWSCAN_OK, "%s", rowscan_last_error());
  judge_scan(&spec, &rows);
}

void stage_result_free(stage_result *result) {
  free(result->out);
  free(result->totals);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static void add_strides(rs_text *text, const char *name, const stage_case *c, const stage_array *a) {
  rs_text_add(text, "; %s strides", name);
  for (int d = 0; d < c->form.rank; d++)
    rs_text_add(text, " %lld", (long long)a->strides[d]);
}

static void tell(const stage_case *c, const char *what, const char *array, size_t element, const char *is,
                 const char *should, size_t bytes) {
  rs_text text = {0};
  for (size_t i = bytes; i-- > 0;)
    rs_text_add(&text, "%02x", (unsigned char)is[i]);
  rs_text_add(&text, " for ");
  for (size_t i = bytes; i-- > 0;)
    rs_text_add(&text, "%02x", (unsigned char)should[i]);
  rs_text_add(&text, "; ");
  rs_spec_describe(&c->spec, &text);
  rs_text_add(&text, "; dim %d of", c->form.dim);
  for (int d = 0; d < c->form.rank; d++)
    rs_text_add(&text, " %lld", (long long)c->form.shape[d]);
  if (c->in_place)
    rs_text_add(&text, "; in place");
  else
    add_strides(&text, "in", c, &c->in);
  add_strides(&text, "out", c, &c->out);
  if (c->spec.mask_mode)
    add_strides(&text, "mask", c, &c->mask);
  if (c->init.memory)
    add_strides(&text, "init", c, &c->init);
  if (c->totals.memory)
    add_strides(&text, "totals", c, &c->totals);
  ck_abort_msg("%s: element %zu of the memory of `%s` is %s", what, element, array, text.data);
}

static void compare(const stage_case *c, const char *what, const char *array, rowscan_type type, size_t count,
                    const char *is, const char *should) {
  size_t bytes = rowscan_type_bytes(type);
  for (size_t i = 0; i < count; i++)
    if (!judge_equal(type, is + i * bytes, should + i * bytes))
      tell(c, what, array, i, is + i * bytes, should + i * bytes, bytes);
}

void stage_case_compare(const stage_case *c, const stage_result *is, const stage_result *should, const char *what) {
  rowscan_type out = c->spec.out_type, kept = rs_kept_type(c->spec.acc_type);
  compare(c, what, "out", out, c->out.bytes / rowscan_type_bytes(out), is->out, should->out);
  if (is->totals)
    compare(c, what, "totals", kept, c->totals.bytes / rowscan_type_bytes(kept), is->totals, should->totals);
}

void stage_case_untouched(const stage_case *c, const stage_result *is, const char *what) {
  for (size_t i = 0; i < c->out.bytes; i++)
    if (is->out[i] != c->out.memory[i])
      tell(c, what, "out", i, is->out + i, c->out.memory + i, 1);
}
