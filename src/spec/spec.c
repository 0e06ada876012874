/*
 * spec.c - a normalised problem: every field filled, checked, and its canonical text
 * SPDX-License-Identifier: MIT
 */
#include "spec.h"

#include "base/sized.h"
#include "base/status.h"
#include "developer.h"
#include "types.h"

static rowscan_type default_out(const rs_op *op, rowscan_type in) {
  if (op->ordered)
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

static rowscan_status check_type(const char *field, rowscan_type type) {
  if (rs_type_kind(type) == RS_NO_KIND)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': %d is no element type", field, (int)type);
  return ROWSCAN_OK;
}

static rowscan_status complete_types(rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  if (!spec->in_type)
    spec->in_type = ROWSCAN_F32;
  rowscan_status status = check_type("in", spec->in_type);
  if (status)
    return status;
  if (!spec->out_type)
    spec->out_type = default_out(op, spec->in_type);
  if ((status = check_type("out", spec->out_type)))
    return status;
  const char *in = rowscan_type_name(spec->in_type), *out = rowscan_type_name(spec->out_type);
  if (op->ordered && !holds(spec->out_type, spec->in_type))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'out': %s of %s can't be written as %s", op->name, in, out);
  if (spec->out_type == ROWSCAN_BOOL && !op->ordered)
    return rs_fail(ROWSCAN_UNSUPPORTED,
                   "spec: field 'out': bool can't hold a scan; choose an integer or floating type");
  if (rs_type_kind(spec->in_type) == RS_FLOAT && rs_type_kind(spec->out_type) != RS_FLOAT)
    return rs_fail(ROWSCAN_UNSUPPORTED, "spec: field 'out': a scan of %s can't be %s; choose a floating type", in, out);

  rowscan_type fitting = default_acc(spec->in_type, spec->out_type);
  if (!spec->acc_type)
    spec->acc_type = fitting;
  if ((status = check_type("acc", spec->acc_type)))
    return status;
  if (spec->acc_type != fitting && !(spec->acc_type == ROWSCAN_F64 && rs_type_kind(spec->out_type) == RS_FLOAT))
    return rs_fail(ROWSCAN_UNSUPPORTED, "spec: field 'acc': a scan from %s to %s accumulates in %s%s, not in %s", in,
                   out, rowscan_type_name(fitting), fitting == ROWSCAN_F32 ? " or f64" : "",
                   rowscan_type_name(spec->acc_type));
  return ROWSCAN_OK;
}

static rowscan_status complete_mask(rowscan_spec *spec) {
  if ((unsigned)spec->mask_mode > ROWSCAN_MASK_MULTIPLY)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'mask_mode': %d is no mask mode", (int)spec->mask_mode);
  if (spec->mask_mode == ROWSCAN_MASK_MULTIPLY && rs_op_of(spec->op)->ordered)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'mask_mode': multiply has no meaning for %s; select has",
                   rowscan_op_name(spec->op));
  if (spec->mask_mode == ROWSCAN_MASK_NONE) {
    if (spec->mask_type)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'mask_type': %s, but mask_mode is none",
                     rs_type_kind(spec->mask_type) == RS_NO_KIND ? "no element type"
                                                                 : rowscan_type_name(spec->mask_type));
    return ROWSCAN_OK;
  }
  if (!spec->mask_type)
    spec->mask_type = ROWSCAN_BOOL;
  rowscan_status status = check_type("mask_type", spec->mask_type);
  if (status)
    return status;
  if (spec->mask_type != ROWSCAN_BOOL && spec->mask_type != ROWSCAN_U8 && spec->mask_type != spec->in_type)
    return rs_fail(ROWSCAN_UNSUPPORTED, "spec: field 'mask_type': %s is none of bool, u8 and the input's type, %s",
                   rowscan_type_name(spec->mask_type), rowscan_type_name(spec->in_type));
  return ROWSCAN_OK;
}

static rowscan_status complete_layout(rowscan_spec *spec) {
  if ((unsigned)spec->layout > ROWSCAN_LAYOUT_COLUMNS)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'layout': %d is no layout", (int)spec->layout);
  if ((unsigned)spec->regime > ROWSCAN_REGIME_COLUMN)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'regime': %d is no regime", (int)spec->regime);
  if (!spec->row_rank)
    spec->row_rank = spec->layout == ROWSCAN_LAYOUT_COLUMNS ? 2 : 1;
  if (spec->row_rank < 1 || spec->row_rank > RS_MAX_ROW_RANK)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'row_rank': %d is not in 1 .. %d", spec->row_rank,
                   RS_MAX_ROW_RANK);
  return ROWSCAN_OK;
}

rowscan_status rs_spec_read(rowscan_spec *spec, const rowscan_spec *from) {
  rowscan_status status = rs_sized_read(spec, sizeof *spec, from, "spec", "ROWSCAN_SPEC");
  if (status)
    return status;
  if (!rs_op_of(spec->op))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'op': %d is no operator", (int)spec->op);
  if (spec->flags & ~(ROWSCAN_EXCLUSIVE | ROWSCAN_REVERSE | ROWSCAN_DELAYS))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'flags': 0x%x has unknown bits", spec->flags);
  if (spec->length < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'length': %lld is negative", (long long)spec->length);
  if (spec->length > RS_MAX_LENGTH)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'length': %lld is over 2^56", (long long)spec->length);
  status = complete_types(spec);
  if (!status)
    status = complete_mask(spec);
  if (!status)
    status = complete_layout(spec);
  return status;
}

rowscan_status rs_spec_write(rowscan_spec *to, const rowscan_spec *spec) {
  rowscan_status status = rs_sized_check(to, "spec", "ROWSCAN_SPEC");
  if (!status && !rs_sized_holds(to->size, spec, sizeof *spec))
    status = rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'size': %zu, which has no room for all that is not a default",
                     to->size);
  if (!status)
    rs_sized_write(to, spec, sizeof *spec);
  return status;
}

rowscan_status rowscan_spec_complete(rowscan_spec *spec) {
  rowscan_spec complete;
  rowscan_status status = rs_spec_read(&complete, spec);
  return status ? status : rs_spec_write(spec, &complete);
}

bool rs_spec_equal(const rowscan_spec *a, const rowscan_spec *b) {
  return a->length == b->length && a->op == b->op && a->in_type == b->in_type && a->out_type == b->out_type &&
         a->acc_type == b->acc_type && a->mask_type == b->mask_type && a->mask_mode == b->mask_mode &&
         a->flags == b->flags && a->layout == b->layout && a->row_rank == b->row_rank && a->regime == b->regime;
}

const char *const rs_mask_modes[RS_MASK_MODES] = {"none", "select", "multiply"};
const char *const rs_layouts[RS_LAYOUTS] = {"rows", "columns"};

void rs_spec_text(const rowscan_spec *spec, rs_text *text) {
  rs_text_add(text, "op=%s\n", rowscan_op_name(spec->op));
  rs_text_add(text, "in=%s\n", rowscan_type_name(spec->in_type));
  rs_text_add(text, "out=%s\n", rowscan_type_name(spec->out_type));
  rs_text_add(text, "acc=%s\n", rowscan_type_name(spec->acc_type));
  rs_text_add(text, "mask=%s\n", rs_mask_modes[spec->mask_mode]);
  if (spec->mask_mode)
    rs_text_add(text, "mask_type=%s\n", rowscan_type_name(spec->mask_type));
  rs_text_add(text, "reverse=%d\n", (spec->flags & ROWSCAN_REVERSE) != 0);
  rs_text_add(text, "exclusive=%d\n", (spec->flags & ROWSCAN_EXCLUSIVE) != 0);
  if (spec->flags & ROWSCAN_DELAYS)
    rs_text_add(text, "delays=1\n");
  rs_text_add(text, "length=%lld\n", (long long)spec->length);
  rs_text_add(text, "layout=%s\n", rs_layouts[spec->layout]);
  rs_text_add(text, "row_rank=%d\n", spec->row_rank);
}

void rs_spec_line(const rowscan_spec *spec, rs_text *text) {
  size_t start = text->length;
  rs_spec_text(spec, text);
  if (spec->regime)
    rs_text_add(text, "regime=%s\n", rowscan_regime_name(spec->regime));
  rs_text_join(text, start);
}

int rs_spec_mask_bytes(const rowscan_spec *spec) {
  return spec->mask_mode ? (int)rowscan_type_bytes(spec->mask_type) : 0;
}

int rs_spec_register_bytes(const rowscan_spec *spec) {
  return rs_op_of(spec->op)->numbers * (rowscan_type_bytes(spec->acc_type) == 8 ? 8 : 4);
}

bool rs_spec_loops(const rowscan_spec *spec) {
  return spec->row_rank > 3;
}

void rs_spec_describe(const rowscan_spec *spec, rs_text *text) {
  rs_text_add(text, "%s%s %s of %s along %s of %lld", spec->flags & ROWSCAN_REVERSE ? "reverse " : "",
              spec->flags & ROWSCAN_EXCLUSIVE ? "exclusive" : "inclusive", rowscan_op_name(spec->op),
              rowscan_type_name(spec->in_type), rs_layouts[spec->layout], (long long)spec->length);
  if (spec->mask_mode)
    rs_text_add(text, ", masked (%s) by %s", rs_mask_modes[spec->mask_mode], rowscan_type_name(spec->mask_type));
  rs_text_add(text, ", %s out", rowscan_type_name(spec->out_type));
  if (spec->acc_type != spec->out_type)
    rs_text_add(text, " from %s", rowscan_type_name(spec->acc_type));
}
