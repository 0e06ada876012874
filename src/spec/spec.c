/*
 * spec.c - a normalised problem: every field filled, checked, and its canonical text
 * SPDX-License-Identifier: MIT
 */
#include "spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/sized.h"
#include "base/status.h"
#include "types.h"

/* Results are of the elements' type. */
static bool selects_or_combines_bits(const rs_op *op) {
  return op->kind == RS_ORDER || op->kind == RS_BITS;
}

static bool is_recurrence(const rs_op *op) {
  return op->kind == RS_RECURRENCE || op->kind == RS_ADVANTAGE || op->kind == RS_WEIGHTED;
}

static rowscan_type default_out(const rs_op *op, rowscan_type in) {
  if (op->kind == RS_INDEX)
    return ROWSCAN_I64;
  if (selects_or_combines_bits(op))
    return in;
  switch (rs_type_kind(in)) {
  case RS_FLOAT:
    return in;
  case RS_UNSIGNED:
    return ROWSCAN_U64;
  default:
    return ROWSCAN_I64;
  }
}

static rowscan_type default_acc(rowscan_type in, rowscan_type out) {
  if (rs_type_kind(out) != RS_FLOAT)
    return out;
  bool wide = in == ROWSCAN_F64 || (rs_type_kind(in) != RS_FLOAT && rowscan_type_bytes(in) >= 4);
  return wide || out == ROWSCAN_F64 ? ROWSCAN_F64 : ROWSCAN_F32;
}

/* Bits of the integers that a type has all of, without a sign's. */
static int whole_bits(rowscan_type type) {
  static const int of_floats[] = {[ROWSCAN_F16] = 11, [ROWSCAN_BF16] = 8, [ROWSCAN_F32] = 24, [ROWSCAN_F64] = 53};
  int bits = 8 * (int)rowscan_type_bytes(type);
  switch (rs_type_kind(type)) {
  case RS_FLOAT:
    return of_floats[type];
  case RS_SIGNED:
    return bits - 1;
  default:
    return type == ROWSCAN_BOOL ? 1 : bits;
  }
}

/* Whether a selected element can be written as `out`: it has every integer of `in`; floats may be rounded, which keeps
 * their order. */
static bool holds(rowscan_type out, rowscan_type in) {
  if (rs_type_kind(in) == RS_FLOAT)
    return rs_type_kind(out) == RS_FLOAT;
  bool sign = rs_type_kind(out) == RS_FLOAT || rs_type_kind(out) == RS_SIGNED || rs_type_kind(in) != RS_SIGNED;
  return sign && whole_bits(out) >= whole_bits(in);
}

/* Indices are counted in 32 bits, less the three numbers that mean something else. */
rowscan_status rs_spec_check_length(const rowscan_spec *spec) {
  int64_t most = spec->out_type == ROWSCAN_I32 ? INT64_C(1) << 31 : (INT64_C(1) << 32) - 3;
  if (rs_op_of(spec->op)->kind != RS_INDEX || spec->length <= most)
    return ROWSCAN_OK;
  return rs_fail(
      ROWSCAN_UNSUPPORTED, "spec: field 'length': %lld exceeds %lld, the most elements that %s can index in %s",
      (long long)spec->length, (long long)most, rowscan_op_name(spec->op), rowscan_type_name(spec->out_type));
}

static rowscan_status complete_index(rowscan_spec *spec) {
  const char *op = rowscan_op_name(spec->op), *out = rowscan_type_name(spec->out_type);
  if (spec->out_type != ROWSCAN_I64 && spec->out_type != ROWSCAN_I32)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'out': %s, but %s returns indices of type i64 or i32", out, op);
  if (spec->acc_type && spec->acc_type != spec->out_type)
    return rs_fail(ROWSCAN_UNSUPPORTED, "spec: field 'acc': %s, but %s with indices of type %s accumulates in %s",
                   rowscan_type_name(spec->acc_type), op, out, out);
  spec->acc_type = spec->out_type;
  return rs_spec_check_length(spec);
}

/* Fixed point is of numbers that are added. */
static rowscan_status check_fixed(const rowscan_spec *spec) {
  if (!rs_is_fixed(spec->acc_type) || (spec->op == ROWSCAN_SUM && rs_type_kind(spec->in_type) == RS_FLOAT))
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'acc': %s requires a sum of floating elements, not %s of %s",
                 rowscan_type_name(spec->acc_type), rowscan_op_name(spec->op), rowscan_type_name(spec->in_type));
}

/* An operator of the caller's may be one of floats, or of integers. */
static rowscan_status check_served(const rs_op *op, rowscan_type out) {
  bool floats = rs_type_kind(out) == RS_FLOAT;
  if (op->types == RS_ANY_TYPES || (op->types == RS_FLOATS) == floats)
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'out': %s, but %s computes in %s", rowscan_type_name(out), op->name,
                 floats ? "integers" : "floats");
}

/* Whether the operator takes elements of the one type and makes results of the other one. */
static rowscan_status check_types(const rs_op *op, const rowscan_spec *spec) {
  const char *in = rowscan_type_name(spec->in_type), *out = rowscan_type_name(spec->out_type);
  bool of_floats = op->kind == RS_LOGARITHM || op->kind == RS_EXTENDED || op->kind == RS_ADVANTAGE ||
                   op->kind == RS_WEIGHTED || op->kind == RS_GRADIENT;
  if (of_floats && rs_type_kind(spec->in_type) != RS_FLOAT)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'in': %s requires a floating type, not %s", op->name, in);
  if (op->kind == RS_BITS && rs_type_kind(spec->in_type) == RS_FLOAT)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'in': %s requires integers or bool, not %s", op->name, in);
  if (op->kind == RS_BITS && rs_type_kind(spec->out_type) == RS_FLOAT)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'out': %s returns integers or bool, not %s", op->name, out);
  if (selects_or_combines_bits(op) && !holds(spec->out_type, spec->in_type))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'out': %s cannot hold every result of %s over %s", out, op->name,
                   in);
  if (spec->out_type == ROWSCAN_BOOL && !selects_or_combines_bits(op))
    return rs_fail(ROWSCAN_UNSUPPORTED,
                   "spec: field 'out': bool cannot hold the results of %s; choose an integer or floating type",
                   op->name);
  if (rs_type_kind(spec->in_type) == RS_FLOAT && rs_type_kind(spec->out_type) != RS_FLOAT)
    return rs_fail(ROWSCAN_UNSUPPORTED,
                   "spec: field 'out': %s cannot hold the results of %s over %s; choose a floating type", out, op->name,
                   in);
  return ROWSCAN_OK;
}

static rowscan_status complete_acc(const rs_op *op, rowscan_spec *spec) {
  rowscan_type fitting = default_acc(spec->in_type, spec->out_type);
  if (!spec->acc_type) /* errors of a recurrence grow with its coefficients, and the products of many may overflow */
    spec->acc_type = is_recurrence(op) && rs_type_kind(spec->out_type) == RS_FLOAT ? ROWSCAN_F64 : fitting;
  bool wider =
      (spec->acc_type == ROWSCAN_F64 || rs_is_fixed(spec->acc_type)) && rs_type_kind(spec->out_type) == RS_FLOAT;
  if (spec->acc_type != fitting && !wider)
    return rs_fail(ROWSCAN_UNSUPPORTED, "spec: field 'acc': a scan from %s to %s accumulates in %s%s, not in %s",
                   rowscan_type_name(spec->in_type), rowscan_type_name(spec->out_type), rowscan_type_name(fitting),
                   fitting == ROWSCAN_F32 ? " or f64" : "", rowscan_type_name(spec->acc_type));
  return check_served(op, spec->out_type);
}

static rowscan_status complete_types(rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  if (!spec->in_type)
    spec->in_type = ROWSCAN_F32;
  if (spec->flags & ROWSCAN_TIES_FIRST && op->kind != RS_INDEX)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'ties_first': 1 requires argmax or argmin, not %s", op->name);
  if (check_fixed(spec))
    return ROWSCAN_BAD_ARGUMENT;
  if (!spec->out_type)
    spec->out_type = default_out(op, spec->in_type);
  if (op->kind == RS_INDEX)
    return complete_index(spec);
  rowscan_status status = check_types(op, spec);
  return status ? status : complete_acc(op, spec);
}

static rowscan_status complete_coefficient(rowscan_spec *spec) {
  if (rs_spec_has_segments(spec))
    return rs_fail(ROWSCAN_UNSUPPORTED,
                   "spec: field 'mask_mode': %s, but %s uses the mask for its coefficients; set segment_mode instead",
                   rs_mask_mode_values.words[spec->mask_mode], rowscan_op_name(spec->op));
  if (!spec->mask_mode)
    spec->mask_mode = ROWSCAN_MASK_COEFFICIENT;
  if (!spec->mask_type && spec->mask_mode == ROWSCAN_MASK_COEFFICIENT)
    spec->mask_type = spec->in_type;
  return ROWSCAN_OK;
}

/* Whether elements may be multiplied by a mask. */
static bool multiplies(const rs_op *op) {
  return (op->kind == RS_ARITHMETIC || op->kind == RS_EXTENDED) && !op->coefficient;
}

/* Masks, flags and further inputs have one of three types. */
static rowscan_status check_flag_type(rowscan_type type, rowscan_type in, const char *field) {
  if (type == ROWSCAN_BOOL || type == ROWSCAN_U8 || type == in)
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_UNSUPPORTED, "spec: field '%s': %s is not bool, u8 or the input's type, %s", field,
                 rowscan_type_name(type), rowscan_type_name(in));
}

/* Of a mask of that mode, or of what tells segments; `field` is its name. */
static rowscan_status complete_mask_type(const rowscan_spec *spec, rowscan_mask_mode mode, rowscan_type *type,
                                         const char *field) {
  bool keys = mode == ROWSCAN_MASK_KEYS;
  if (!*type)
    *type = keys ? ROWSCAN_I32 : ROWSCAN_BOOL;
  if (keys && rs_type_kind(*type) == RS_FLOAT)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': keys must be integers or bool, not %s", field,
                   rowscan_type_name(*type));
  return keys ? ROWSCAN_OK : check_flag_type(*type, spec->in_type, field);
}

/* Gradients whose totals are more than sums know no element that counts as none. */
static rowscan_status check_none_left_out(const rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  if (op->kind != RS_GRADIENT || op->numbers == 1)
    return ROWSCAN_OK;
  if (spec->mask_mode == ROWSCAN_MASK_SELECT)
    return rs_fail(ROWSCAN_UNSUPPORTED, "spec: field 'mask_mode': %s rejects select", op->name);
  if (spec->flags & ROWSCAN_OMIT_NAN)
    return rs_fail(ROWSCAN_UNSUPPORTED, "spec: field 'omit_nan': %s rejects 1", op->name);
  bool segments = spec->mask_mode || spec->segment_mode;
  /* It has some of its own. Beside others, kernels of rows at any address had other results on an H200 than the host.
   */
  if (segments && spec->op == ROWSCAN_EXTREMUM_GRADIENT)
    return rs_fail(ROWSCAN_UNSUPPORTED, "spec: field '%s': %s rejects segments",
                   spec->mask_mode ? "mask_mode" : "segment_mode", op->name);
  return ROWSCAN_OK;
}

static rowscan_status complete_mask(rowscan_spec *spec) {
  if (spec->mask_mode == ROWSCAN_MASK_COEFFICIENT && !rs_op_has_coefficient(spec->op))
    return rs_fail(ROWSCAN_BAD_ARGUMENT,
                   "spec: field 'mask_mode': coefficient requires an operator with coefficients, such as "
                   "linear_recurrence, not %s",
                   rowscan_op_name(spec->op));
  if (spec->mask_mode == ROWSCAN_MASK_MULTIPLY && !multiplies(rs_op_of(spec->op)))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'mask_mode': %s rejects multiply; use select",
                   rowscan_op_name(spec->op));
  if (spec->mask_mode == ROWSCAN_MASK_NONE) {
    if (spec->mask_type)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'mask_type': %s, but there is no mask: mask_mode is none",
                     rowscan_type_name(spec->mask_type));
    return ROWSCAN_OK;
  }
  return complete_mask_type(spec, spec->mask_mode, &spec->mask_type, "mask_type");
}

static rowscan_status complete_more(rowscan_spec *spec, const rs_op *op) {
  static const char *const names[RS_MOST_MORE] = {"more1", "more2", "more3", "more4"};
  int more = rs_spec_more(spec);
  for (int i = 0; i < RS_MOST_MORE; i++) {
    rowscan_type *type = &spec->more_types[i];
    if (i >= more && *type)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': %s, but %s has %d further input%s%s", names[i],
                     rowscan_type_name(*type), op->name, more, more == 1 ? "" : "s",
                     op->coefficient && !more ? "; with a mask, more1 holds its coefficients" : "");
    if (i < more && !*type)
      *type = spec->in_type;
    if (i < more && check_flag_type(*type, spec->in_type, names[i]))
      return ROWSCAN_UNSUPPORTED;
  }
  return ROWSCAN_OK;
}

/* That of an index is an element. */
static rowscan_status check_second(const rowscan_spec *spec, const rs_op *op) {
  rowscan_type type = spec->second_type;
  if (type && !op->second)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'second': %s, but %s has one output", rowscan_type_name(type),
                   op->name);
  if (type && op->kind == RS_INDEX && type != spec->in_type)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'second': %s, but the values of %s have the input's type, %s",
                   rowscan_type_name(type), op->name, rowscan_type_name(spec->in_type));
  if (type && op->kind != RS_INDEX && type != spec->out_type &&
      (type != spec->in_type || rs_type_kind(type) != rs_type_kind(spec->out_type)))
    return rs_fail(ROWSCAN_BAD_ARGUMENT,
                   "spec: field 'second': %s is neither the output's type, %s, nor the input's, %s",
                   rowscan_type_name(type), rowscan_type_name(spec->out_type), rowscan_type_name(spec->in_type));
  return ROWSCAN_OK;
}

/* Segments beside a mask or coefficients. */
static rowscan_status complete_segments(rowscan_spec *spec) {
  const char *mode = spec->segment_mode ? rs_mask_mode_values.words[spec->segment_mode] : "none";
  if (!spec->segment_mode)
    return spec->segment_type
               ? rs_fail(ROWSCAN_BAD_ARGUMENT,
                         "spec: field 'segment_type': %s, but there are no segments: segment_mode is none",
                         rowscan_type_name(spec->segment_type))
               : ROWSCAN_OK;
  if (rs_spec_has_segments(spec))
    return rs_fail(ROWSCAN_BAD_ARGUMENT,
                   "spec: field 'segments': %s, but mask_mode %s defines segments already; set only one of the two",
                   mode, rs_mask_mode_values.words[spec->mask_mode]);
  return complete_mask_type(spec, spec->segment_mode, &spec->segment_type, "segment_type");
}

static rowscan_status complete_further(rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  int asked = (int)spec->second_type | (int)spec->segment_mode | (int)spec->segment_type;
  for (int i = 0; i < RS_MOST_MORE; i++)
    asked |= (int)spec->more_types[i];
  if (!asked && !rs_spec_more(spec) && !op->params) /* as in most calls */
    return ROWSCAN_OK;
  rowscan_status status = complete_more(spec, op);
  if (!status)
    status = check_second(spec, op);
  if (!status)
    status = complete_segments(spec);
  if (!status && spec->regime == ROWSCAN_REGIME_COLUMN && rs_spec_has_further(spec))
    status = rs_fail(ROWSCAN_UNSUPPORTED, "spec: field 'regime': column cannot be forced on %s with further arrays",
                     op->name);
  return status;
}

/* Of what a total holds. */
static int total_bytes(const rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  int bytes = op->numbers * (rowscan_type_bytes(spec->acc_type) == 8 ? 8 : 4);
  if (op->kind == RS_INDEX) /* a key and two numbers */
    bytes = rowscan_type_bytes(spec->in_type) == 8 ? 16 : 12;
  if (rs_spec_has_segments(spec)) /* a state, and a key */
    bytes += spec->mask_mode != ROWSCAN_MASK_KEYS ? 4 : rs_spec_mask_bytes(spec) == 8 ? 12 : 8;
  if (spec->segment_mode && !rs_op_resets(op)) /* of which a factor tells */
    bytes += 4;
  return bytes;
}

/*
 * Kernels with larger totals keep them in memory, and take up to half a minute to compile: callers' operators may have
 * up to 32 bytes nevertheless (1.4 KB of spills, for columns on sm_75), but none beside segments.
 */
static rowscan_status check_total(const rowscan_spec *spec) {
  enum { MOST = 16 };
  int bytes = total_bytes(spec);
  if (bytes <= MOST || !(rs_spec_has_segments(spec) || spec->segment_mode))
    return ROWSCAN_OK;
  bool beside = spec->segment_mode;
  return rs_fail(
      ROWSCAN_UNSUPPORTED,
      "spec: field '%s': %s of %s: a segmented total of %s needs %d bytes, and the limit is %d; heads, keys of at most "
      "32 bits and accumulators of 32 bits need fewer",
      beside ? "segments" : "mask_mode", rs_mask_mode_values.words[beside ? spec->segment_mode : spec->mask_mode],
      rowscan_type_name(beside ? spec->segment_type : spec->mask_type), rowscan_op_name(spec->op), bytes, MOST);
}

rowscan_status rs_spec_read(rowscan_spec *spec, const rowscan_spec *from) {
  rowscan_status status = rs_sized_read(spec, sizeof *spec, from, "spec", "ROWSCAN_SPEC");
  if (!status)
    status = rs_fields_check(spec);
  if (!status)
    status = complete_types(spec);
  if (!status && rs_op_has_coefficient(spec->op))
    status = complete_coefficient(spec);
  if (!status)
    status = complete_mask(spec);
  if (!status)
    status = check_none_left_out(spec);
  if (!status)
    status = complete_further(spec);
  if (!status)
    status = check_total(spec);
  if (!status && rs_type_kind(spec->in_type) != RS_FLOAT)
    spec->flags &= ~ROWSCAN_OMIT_NAN;
  if (!status && !spec->row_rank)
    spec->row_rank = spec->layout == ROWSCAN_LAYOUT_COLUMNS ? 2 : 1;
  return status;
}

/* The default is f32: beside an output of another floating type it may as well be a mistake, which would misread. */
static rowscan_status check_in_type(const rowscan_problem *problem) {
  rowscan_type out = problem->output.type;
  if (problem->input.type || rs_type_kind(out) != RS_FLOAT || out == ROWSCAN_F32)
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_BAD_ARGUMENT,
                 "problem: field 'input.type': not set, which means f32, but 'output.type' is %s; set both",
                 rowscan_type_name(out));
}

rowscan_status rs_spec_of_problem(rowscan_spec *spec, const rowscan_problem *problem, int64_t length) {
#define MEMBER(member, name, values, when, given, ...) .member = given,
#define BITS(member, given) .member = given,
  rowscan_spec wanted = {.size = sizeof wanted, RS_SPEC_FIELDS(MEMBER, BITS, RS_NO_ROW)};
  rowscan_status status = check_in_type(problem);
  return status ? status : rs_spec_read(spec, &wanted);
}

rowscan_status rs_spec_write(rowscan_spec *to, const rowscan_spec *spec) {
  rowscan_status status = rs_sized_check(to, "spec", "ROWSCAN_SPEC");
  if (!status && !rs_sized_holds(to->size, spec, sizeof *spec))
    status =
        rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'size': %zu bytes cannot hold every field that is not 0", to->size);
  if (!status)
    rs_sized_write(to, spec, sizeof *spec);
  return status;
}

rowscan_status rowscan_spec_complete(rowscan_spec *spec) {
  RS_UNCANCELLED;
  rowscan_spec complete;
  rowscan_status status = rs_spec_read(&complete, spec);
  return status ? status : rs_spec_write(spec, &complete);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* A complete spec's, and 0 of what has no word for it. Callers have operators beyond the table's. */
static const char *word_of(const rs_field *field, int64_t value) {
  if (field->values == &rs_op_values)
    return rowscan_op_name((rowscan_op)value);
  return value || field->values->words[0] ? field->values->words[value] : "none";
}

static void add_value(const rs_field *field, int64_t value, rs_text *text) {
  if (field->values->words)
    rs_text_add(text, "%s", word_of(field, value));
  else if (value == RS_ANY_LENGTH)
    rs_text_add(text, "any");
  else
    rs_text_add(text, "%lld", (long long)value);
}

static void add_fields(const rowscan_spec *spec, rs_text *text, unsigned without) {
  for (const rs_field *field = rs_fields; field < rs_fields + RS_FIELDS; field++) {
    int64_t value = rs_field_get(field, spec);
    if (field->when & without || (field->when & RS_IF_SET && !value))
      continue;
    rs_text_add(text, "%s=", field->name);
    add_value(field, value, text);
    rs_text_add(text, "\n");
  }
}

void rs_spec_text(const rowscan_spec *spec, rs_text *text) {
  add_fields(spec, text, RS_NOT_IN_KEYS);
}

void rs_spec_line(const rowscan_spec *spec, rs_text *text) {
  size_t start = text->length;
  add_fields(spec, text, 0);
  rs_text_join(text, start);
}

rowscan_status rs_spec_same(const rowscan_spec *spec, const rowscan_spec *as, const char *what, const char *whose) {
  for (const rs_field *field = rs_fields; field < rs_fields + RS_FIELDS; field++) {
    int64_t is = rs_field_get(field, spec), was = rs_field_get(field, as);
    if (is == was)
      continue;
    rs_text message = {0};
    rs_text_add(&message, "%s: field '%s': ", what, field->name);
    add_value(field, is, &message);
    rs_text_add(&message, ", but %s is ", whose);
    add_value(field, was, &message);
    rs_fail(ROWSCAN_BAD_ARGUMENT, "%s", message.failed ? what : message.data);
    rs_text_free(&message);
    return ROWSCAN_BAD_ARGUMENT;
  }
  return ROWSCAN_OK;
}

void rs_spec_describe(const rowscan_spec *spec, rs_text *text) {
  rs_text_add(text, "%s%s %s of %s along %s of ", spec->flags & ROWSCAN_REVERSE ? "reverse " : "",
              spec->flags & ROWSCAN_EXCLUSIVE ? "exclusive" : "inclusive", rowscan_op_name(spec->op),
              rowscan_type_name(spec->in_type), rs_layout_values.words[spec->layout]);
  if (spec->length == RS_ANY_LENGTH)
    rs_text_add(text, "any length");
  else
    rs_text_add(text, "%lld", (long long)spec->length);
  if (spec->mask_mode == ROWSCAN_MASK_COEFFICIENT)
    rs_text_add(text, ", coefficients of %s", rowscan_type_name(spec->mask_type));
  else if (rs_spec_has_segments(spec))
    rs_text_add(text, ", segments by %s of %s", rs_mask_mode_values.words[spec->mask_mode],
                rowscan_type_name(spec->mask_type));
  else if (spec->mask_mode)
    rs_text_add(text, ", masked (%s) by %s", rs_mask_mode_values.words[spec->mask_mode],
                rowscan_type_name(spec->mask_type));
  for (int i = 0; i < RS_MOST_MORE && spec->more_types[i]; i++)
    rs_text_add(text,
                i                                 ? ", %s"
                : rs_op_has_coefficient(spec->op) ? ", coefficients of %s"
                                                  : ", beside %s",
                rowscan_type_name(spec->more_types[i]));
  if (spec->segment_mode)
    rs_text_add(text, ", segments by %s of %s beside", rs_mask_mode_values.words[spec->segment_mode],
                rowscan_type_name(spec->segment_type));
  if (spec->flags & ROWSCAN_OMIT_NAN)
    rs_text_add(text, ", NaN omitted");
  if (spec->flags & ROWSCAN_TIES_FIRST)
    rs_text_add(text, ", the first of equal ones");
  rs_text_add(text, ", %s out", rowscan_type_name(spec->out_type));
  if (spec->second_type)
    rs_text_add(text, " and %s", rowscan_type_name(spec->second_type));
  if (spec->acc_type != spec->out_type)
    rs_text_add(text, " from %s", rowscan_type_name(spec->acc_type));
}

/* ---- what follows from it ---------------------------------------------------------------------------------------- */

int rs_spec_mask_bytes(const rowscan_spec *spec) {
  return spec->mask_mode ? (int)rowscan_type_bytes(spec->mask_type) : 0;
}

int rs_spec_element_bytes(const rowscan_spec *spec) {
  size_t bytes = rowscan_type_bytes(spec->in_type) + rowscan_type_bytes(spec->out_type) +
                 rowscan_type_bytes(spec->mask_type) + rowscan_type_bytes(spec->second_type) +
                 rowscan_type_bytes(spec->segment_type); /* of what is not there the type is the default, of no bytes */
  for (int i = 0; i < RS_MOST_MORE; i++)
    bytes += rowscan_type_bytes(spec->more_types[i]);
  return (int)bytes;
}

bool rs_spec_has_segments(const rowscan_spec *spec) {
  return spec->mask_mode >= ROWSCAN_MASK_HEADS;
}

int rs_spec_more(const rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  return op->coefficient && spec->mask_mode == ROWSCAN_MASK_SELECT ? 1 : op->more;
}

bool rs_spec_has_further(const rowscan_spec *spec) {
  return spec->more_types[0] || spec->second_type || spec->segment_mode || rs_op_of(spec->op)->params;
}

rowscan_mask_mode rs_spec_segments(const rowscan_spec *spec) {
  return spec->segment_mode ? spec->segment_mode : rs_spec_has_segments(spec) ? spec->mask_mode : ROWSCAN_MASK_NONE;
}

bool rs_spec_marks_last(const rowscan_spec *spec) {
  return rs_spec_segments(spec) == (spec->flags & ROWSCAN_REVERSE ? ROWSCAN_MASK_HEADS : ROWSCAN_MASK_TAILS);
}

bool rs_spec_asks_neighbours(const rowscan_spec *spec) {
  return rs_spec_segments(spec) == ROWSCAN_MASK_KEYS || rs_spec_marks_last(spec);
}

bool rs_spec_keeps_totals(const rowscan_spec *spec) {
  return rs_op_is_of_numbers(rs_op_of(spec->op)) && !rs_spec_segments(spec);
}

rowscan_status rs_spec_check_host(const rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  if (!op->source || rs_op_functions(op, spec->acc_type))
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_UNSUPPORTED,
                 "spec: field 'op': %s has no host functions for accumulators of %s; it runs only on GPUs", op->name,
                 rowscan_type_name(spec->acc_type));
}

int rs_spec_register_bytes(const rowscan_spec *spec) {
  int bytes = total_bytes(spec);
  return bytes <= 4 ? 4 : bytes <= 8 ? 8 : bytes <= 16 ? 16 : 32;
}

bool rs_spec_loops(const rowscan_spec *spec) {
  return spec->row_rank > 3;
}

/* ---- from text --------------------------------------------------------------------------------------------------- */

static const char blanks[] = " \t\r\n";

/* Most characters of a field or a value that mean anything, and that a message shows. */
enum { MOST = 40 };

/* Numbers have no signs. */
static bool read_number(const char *value, const rs_values *values, int64_t *number) {
  if (values->least == RS_ANY_LENGTH && !strcmp(value, "any")) {
    *number = RS_ANY_LENGTH;
    return true;
  }
  size_t digits = strspn(value, "0123456789");
  unsigned long long read = strtoull(value, NULL, 10); /* the most there is, if it is more */
  *number = read < INT64_MAX ? (int64_t)read : INT64_MAX;
  return digits && !value[digits];
}

static bool read_word(const char *value, const rs_values *values, int64_t *number) {
  for (*number = values->least; *number <= values->most; ++*number)
    if (values->words[*number] && !strcmp(value, values->words[*number]))
      return true;
  return false;
}

static bool read_value(const char *value, const rs_field *field, rowscan_spec *spec) {
  int64_t number;
  if (field->values == &rs_op_values) {
    number = rowscan_op_by_name(value);
    rs_field_set(field, spec, number);
    return number >= 0;
  }
  if (!(field->values->words ? read_word(value, field->values, &number) : read_number(value, field->values, &number)) ||
      number < field->values->least || number > field->values->most)
    return false;
  rs_field_set(field, spec, number);
  return true;
}

static rowscan_status unknown(const char *pair, size_t length) {
  rowscan_status status = rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%.*s': unknown; the fields are",
                                  length < MOST ? (int)length : MOST, pair);
  for (int i = 0; i < RS_FIELDS; i++)
    if (!(rs_fields[i].when & RS_UNTOLD))
      status = rs_fail_more(status, "%s %s", i ? "," : "", rs_fields[i].name);
  return status;
}

/* Reads one pair of so many characters; given[] tells which fields stood before it. */
static rowscan_status read_spec_pair(rowscan_spec *spec, const char *pair, size_t length, bool given[RS_FIELDS]) {
  const char *sign = memchr(pair, '=', length);
  if (!sign)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: '%.*s' is not field=value", length < MOST ? (int)length : MOST, pair);
  size_t name = (size_t)(sign - pair), rest = length - name - 1;
  int i = 0;
  while (i < RS_FIELDS && (strlen(rs_fields[i].name) != name || memcmp(rs_fields[i].name, pair, name) != 0))
    i++;
  if (i == RS_FIELDS)
    return unknown(pair, name);
  const rs_field *field = &rs_fields[i];
  if (given[i])
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': given twice", field->name);
  given[i] = true;
  char value[MOST + 1] = "";
  memcpy(value, sign + 1, rest < MOST ? rest : MOST);
  if (rest > MOST || !read_value(value, field, spec))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': '%s%s' is not %s%s", field->name, value,
                   rest > MOST ? "..." : "", field->values->words ? "one of " : "", field->values->expected);
  return ROWSCAN_OK;
}

rowscan_status rs_spec_check_pair(const char *pair, size_t length) {
  rowscan_spec read = {.size = sizeof read};
  bool given[RS_FIELDS] = {false};
  return read_spec_pair(&read, pair, length, given);
}

rowscan_status rs_spec_parse(rowscan_spec *spec, const char *text) {
  rowscan_spec read = {.size = sizeof read}, complete = read;
  bool given[RS_FIELDS] = {false};
  rowscan_status status = ROWSCAN_OK;
  for (text += strspn(text, blanks); *text && !status; text += strspn(text, blanks)) {
    size_t length = strcspn(text, blanks);
    status = read_spec_pair(&read, text, length, given);
    text += length;
  }
  for (int i = 0; i < RS_FIELDS && !status; i++)
    if (rs_fields[i].when & RS_NEEDED && !given[i])
      status = rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': missing", rs_fields[i].name);
  if (!status)
    status = rs_spec_read(&complete, &read);
  if (!status)
    *spec = complete;
  return status;
}
