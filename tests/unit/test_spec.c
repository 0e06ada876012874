/*
 * test_spec.c - specs are completed as documented, or refused with the field and the value
 * SPDX-License-Identifier: MIT
 *
 * The rules for default types are those of the Python array API standard's cumulative_sum; the key text is part of
 * every cache entry's name, so that a change of it by accident would make every cache cold. What it says is read back.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/run_tests.h"
#include "spec/spec.h"

static rowscan_spec complete(rowscan_spec spec) {
  spec.size = sizeof spec;
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  return spec;
}

/* The spec is refused with a status, and the message names the field and says `why`. */
static void refuse(rowscan_spec spec, rowscan_status status, const char *field, const char *why) {
  if (!spec.size)
    spec.size = sizeof spec;
  rowscan_spec before = spec;
  ck_assert_int_eq(rowscan_spec_complete(&spec), status);
  ck_assert_msg(!memcmp(&before, &spec, sizeof spec), "a refused spec was changed");
  ck_assert_msg(strstr(rowscan_last_error(), field) && strstr(rowscan_last_error(), why), "message: %s",
                rowscan_last_error());
}

START_TEST(default_types) {
  static const struct {
    rowscan_type in, out, acc;
  } table[] = {
      {ROWSCAN_TYPE_DEFAULT, ROWSCAN_F32, ROWSCAN_F32}, {ROWSCAN_F16, ROWSCAN_F16, ROWSCAN_F32},
      {ROWSCAN_BF16, ROWSCAN_BF16, ROWSCAN_F32},        {ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32},
      {ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_F64},          {ROWSCAN_I8, ROWSCAN_I64, ROWSCAN_I64},
      {ROWSCAN_I16, ROWSCAN_I64, ROWSCAN_I64},          {ROWSCAN_I32, ROWSCAN_I64, ROWSCAN_I64},
      {ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_I64},          {ROWSCAN_U8, ROWSCAN_U64, ROWSCAN_U64},
      {ROWSCAN_U16, ROWSCAN_U64, ROWSCAN_U64},          {ROWSCAN_U32, ROWSCAN_U64, ROWSCAN_U64},
      {ROWSCAN_U64, ROWSCAN_U64, ROWSCAN_U64},          {ROWSCAN_BOOL, ROWSCAN_I64, ROWSCAN_I64},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    rowscan_spec spec = complete((rowscan_spec){.in_type = table[i].in});
    ck_assert_int_eq(spec.out_type, table[i].out);
    ck_assert_int_eq(spec.acc_type, table[i].acc);
  }
}
END_TEST

START_TEST(accumulators) {
  ck_assert_int_eq(complete((rowscan_spec){.in_type = ROWSCAN_I8, .out_type = ROWSCAN_F32}).acc_type, ROWSCAN_F32);
  ck_assert_int_eq(complete((rowscan_spec){.in_type = ROWSCAN_BOOL, .out_type = ROWSCAN_F16}).acc_type, ROWSCAN_F32);
  ck_assert_int_eq(complete((rowscan_spec){.in_type = ROWSCAN_I32, .out_type = ROWSCAN_F32}).acc_type, ROWSCAN_F64);
  ck_assert_int_eq(complete((rowscan_spec){.in_type = ROWSCAN_F32, .out_type = ROWSCAN_F64}).acc_type, ROWSCAN_F64);
  ck_assert_int_eq(complete((rowscan_spec){.in_type = ROWSCAN_F64, .out_type = ROWSCAN_F16}).acc_type, ROWSCAN_F64);
  ck_assert_int_eq(complete((rowscan_spec){.in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_F64}).acc_type, ROWSCAN_F64);
  ck_assert_int_eq(complete((rowscan_spec){.in_type = ROWSCAN_I64, .out_type = ROWSCAN_I8}).acc_type, ROWSCAN_I8);
}
END_TEST

START_TEST(other_defaults) {
  rowscan_spec rows = complete((rowscan_spec){.length = 5});
  ck_assert_int_eq(rows.row_rank, 1);
  ck_assert_int_eq(rows.mask_type, ROWSCAN_TYPE_DEFAULT);
  rowscan_spec columns = complete((rowscan_spec){.layout = ROWSCAN_LAYOUT_COLUMNS, .mask_mode = ROWSCAN_MASK_SELECT});
  ck_assert_int_eq(columns.row_rank, 2);
  ck_assert_int_eq(columns.mask_type, ROWSCAN_BOOL);
}
END_TEST

START_TEST(defaults_of_a_recurrence) {
  rowscan_spec spec = complete((rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE, .in_type = ROWSCAN_BF16, .length = 9});
  ck_assert_int_eq(spec.out_type, ROWSCAN_BF16);
  ck_assert_int_eq(spec.acc_type, ROWSCAN_F64);
  ck_assert_int_eq(spec.mask_mode, ROWSCAN_MASK_COEFFICIENT);
  ck_assert_int_eq(spec.mask_type, ROWSCAN_BF16);
  spec = complete((rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE, .acc_type = ROWSCAN_F32, .mask_type = ROWSCAN_BOOL});
  ck_assert_int_eq(spec.acc_type, ROWSCAN_F32);
  ck_assert_int_eq(spec.mask_type, ROWSCAN_BOOL);
  spec = complete((rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE, .in_type = ROWSCAN_U32});
  ck_assert_int_eq(spec.acc_type, ROWSCAN_U64);
}
END_TEST

START_TEST(floats_alone) {
  rowscan_spec spec = complete((rowscan_spec){.op = ROWSCAN_LOGSUMEXP, .in_type = ROWSCAN_BF16, .length = 9});
  ck_assert_int_eq(spec.out_type, ROWSCAN_BF16);
  ck_assert_int_eq(spec.acc_type, ROWSCAN_F32);
  spec = complete((rowscan_spec){.op = ROWSCAN_EXTENDED_PROD, .mask_mode = ROWSCAN_MASK_MULTIPLY});
  ck_assert_int_eq(spec.acc_type, ROWSCAN_F32);
  refuse((rowscan_spec){.op = ROWSCAN_LOGSUMEXP, .in_type = ROWSCAN_I32}, ROWSCAN_BAD_ARGUMENT, "'in'",
         "logsumexp requires a floating type, not i32");
  refuse((rowscan_spec){.op = ROWSCAN_EXTENDED_PROD, .in_type = ROWSCAN_BOOL}, ROWSCAN_BAD_ARGUMENT, "'in'",
         "extended_prod requires a floating type, not bool");
  refuse((rowscan_spec){.op = ROWSCAN_LOGSUMEXP, .mask_mode = ROWSCAN_MASK_MULTIPLY}, ROWSCAN_BAD_ARGUMENT,
         "'mask_mode'", "logsumexp rejects multiply; use select");
}
END_TEST

START_TEST(indices) {
  rowscan_spec spec = complete((rowscan_spec){.op = ROWSCAN_ARGMAX, .in_type = ROWSCAN_BOOL, .length = 9});
  ck_assert_int_eq(spec.out_type, ROWSCAN_I64);
  ck_assert_int_eq(spec.acc_type, ROWSCAN_I64);
  spec = complete((rowscan_spec){.op = ROWSCAN_ARGMIN, .out_type = ROWSCAN_I32, .length = INT64_C(1) << 31});
  ck_assert_int_eq(spec.acc_type, ROWSCAN_I32);
  refuse((rowscan_spec){.op = ROWSCAN_ARGMAX, .out_type = ROWSCAN_F32}, ROWSCAN_BAD_ARGUMENT, "'out'",
         "f32, but argmax returns indices of type i64 or i32");
  refuse((rowscan_spec){.op = ROWSCAN_ARGMAX, .acc_type = ROWSCAN_I32}, ROWSCAN_UNSUPPORTED, "'acc'",
         "i32, but argmax with indices of type i64 accumulates in i64");
  refuse((rowscan_spec){.op = ROWSCAN_ARGMAX, .out_type = ROWSCAN_I32, .length = (INT64_C(1) << 31) + 1},
         ROWSCAN_UNSUPPORTED, "'length'",
         "2147483649 exceeds 2147483648, the most elements that argmax can index in i32");
  refuse((rowscan_spec){.op = ROWSCAN_ARGMIN, .length = (INT64_C(1) << 32) - 2}, ROWSCAN_UNSUPPORTED, "'length'",
         "4294967294 exceeds 4294967293, the most elements that argmin can index in i64");
  refuse((rowscan_spec){.flags = ROWSCAN_TIES_FIRST}, ROWSCAN_BAD_ARGUMENT, "'ties_first'",
         "1 requires argmax or argmin, not sum");
  refuse((rowscan_spec){.op = ROWSCAN_ARGMAX, .mask_mode = ROWSCAN_MASK_MULTIPLY}, ROWSCAN_BAD_ARGUMENT, "'mask_mode'",
         "argmax rejects multiply; use select");
}
END_TEST

/* Beside a mask coefficients are a further input. */
START_TEST(masked_recurrences) {
  rowscan_spec spec = {.op = ROWSCAN_LINEAR_RECURRENCE, .in_type = ROWSCAN_BF16, .mask_mode = ROWSCAN_MASK_SELECT};
  spec = complete(spec);
  ck_assert_int_eq(spec.mask_type, ROWSCAN_BOOL);
  ck_assert_int_eq(spec.more_types[0], ROWSCAN_BF16);
  ck_assert_int_eq(spec.more_types[1], ROWSCAN_TYPE_DEFAULT);
  spec.more_types[0] = ROWSCAN_U8;
  spec.segment_mode = ROWSCAN_MASK_KEYS;
  spec = complete(spec);
  ck_assert_int_eq(spec.more_types[0], ROWSCAN_U8);
  ck_assert_int_eq(spec.segment_type, ROWSCAN_I32);
  spec.more_types[0] = ROWSCAN_F32;
  refuse(spec, ROWSCAN_UNSUPPORTED, "'more1'", "f32 is not bool, u8 or the input's type, bf16");
  refuse((rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE, .more_types = {ROWSCAN_F32}}, ROWSCAN_BAD_ARGUMENT, "'more1'",
         "linear_recurrence has 0 further inputs; with a mask, more1 holds its coefficients");
  refuse((rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE,
                        .mask_mode = ROWSCAN_MASK_SELECT,
                        .more_types = {ROWSCAN_F32, ROWSCAN_F32}},
         ROWSCAN_BAD_ARGUMENT, "'more2'", "f32, but linear_recurrence has 1 further input");
  refuse((rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE,
                        .mask_mode = ROWSCAN_MASK_SELECT,
                        .regime = ROWSCAN_REGIME_COLUMN},
         ROWSCAN_UNSUPPORTED, "'regime'", "column cannot be forced on linear_recurrence with further arrays");
}
END_TEST

START_TEST(segments) {
  rowscan_spec spec = complete((rowscan_spec){.mask_mode = ROWSCAN_MASK_HEADS, .length = 9});
  ck_assert_int_eq(spec.mask_type, ROWSCAN_BOOL);
  ck_assert_int_eq(complete((rowscan_spec){.mask_mode = ROWSCAN_MASK_KEYS, .length = 9}).mask_type, ROWSCAN_I32);
  for (rowscan_type key = ROWSCAN_I8; key <= ROWSCAN_BOOL; key++) { /* whatever the elements are */
    spec = complete((rowscan_spec){.mask_mode = ROWSCAN_MASK_KEYS, .mask_type = key, .length = 9});
    ck_assert_int_eq(spec.mask_type, key);
  }
  refuse((rowscan_spec){.mask_mode = ROWSCAN_MASK_KEYS, .mask_type = ROWSCAN_F32}, ROWSCAN_BAD_ARGUMENT, "'mask_type'",
         "keys must be integers or bool, not f32");
  refuse((rowscan_spec){.mask_mode = ROWSCAN_MASK_TAILS, .mask_type = ROWSCAN_I32}, ROWSCAN_UNSUPPORTED, "'mask_type'",
         "i32 is not bool, u8 or the input's type, f32");
  refuse((rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE, .mask_mode = ROWSCAN_MASK_TAILS}, ROWSCAN_UNSUPPORTED,
         "'mask_mode'", "tails, but linear_recurrence uses the mask for its coefficients; set segment_mode");
  refuse((rowscan_spec){.op = ROWSCAN_LOGSUMEXP_GRADIENT, .mask_mode = ROWSCAN_MASK_SELECT}, ROWSCAN_UNSUPPORTED,
         "'mask_mode'", "logsumexp_gradient rejects select");
  refuse((rowscan_spec){.op = ROWSCAN_EXTREMUM_GRADIENT, .flags = ROWSCAN_OMIT_NAN}, ROWSCAN_UNSUPPORTED, "'omit_nan'",
         "extremum_gradient rejects 1");
  refuse((rowscan_spec){.op = ROWSCAN_EXTREMUM_GRADIENT, .mask_mode = ROWSCAN_MASK_KEYS}, ROWSCAN_UNSUPPORTED,
         "'mask_mode'", "extremum_gradient rejects segments");
  refuse((rowscan_spec){.op = ROWSCAN_EXTREMUM_GRADIENT, .segment_mode = ROWSCAN_MASK_TAILS}, ROWSCAN_UNSUPPORTED,
         "'segment_mode'", "extremum_gradient rejects segments");
  refuse((rowscan_spec){.op = ROWSCAN_SUM_GRADIENT, .in_type = ROWSCAN_I32}, ROWSCAN_BAD_ARGUMENT, "'in'",
         "sum_gradient requires a floating type");
  refuse((rowscan_spec){.op = ROWSCAN_LOGSUMEXP, .in_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_HEADS},
         ROWSCAN_UNSUPPORTED, "'mask_mode'",
         "heads of bool: a segmented total of logsumexp needs 20 bytes, and the limit is 16");
  refuse((rowscan_spec){.in_type = ROWSCAN_I64, .mask_mode = ROWSCAN_MASK_KEYS, .mask_type = ROWSCAN_I64},
         ROWSCAN_UNSUPPORTED, "'mask_mode'",
         "keys of i64: a segmented total of sum needs 20 bytes, and the limit is 16");
}
END_TEST

START_TEST(fixed_point) {
  rowscan_spec spec = complete((rowscan_spec){.in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_FIXED(20), .length = 9});
  ck_assert_int_eq(spec.out_type, ROWSCAN_BF16);
  ck_assert_int_eq(spec.acc_type, ROWSCAN_FIXED(20));
  for (rowscan_type in = ROWSCAN_F16; in <= ROWSCAN_F64; in++) /* from any to any */
    for (rowscan_type out = ROWSCAN_F16; out <= ROWSCAN_F64; out++) {
      spec = complete((rowscan_spec){.in_type = in, .out_type = out, .acc_type = ROWSCAN_FIXED(62)});
      ck_assert_int_eq(spec.acc_type, ROWSCAN_FIXED(62));
    }
  complete((rowscan_spec){.acc_type = ROWSCAN_FIXED(0), .mask_mode = ROWSCAN_MASK_KEYS});
  refuse((rowscan_spec){.op = ROWSCAN_PROD, .acc_type = ROWSCAN_FIXED(3)}, ROWSCAN_BAD_ARGUMENT, "'acc'",
         "fixed:3 requires a sum of floating elements, not prod of f32");
  refuse((rowscan_spec){.op = ROWSCAN_ARGMAX, .acc_type = ROWSCAN_FIXED(3)}, ROWSCAN_BAD_ARGUMENT, "'acc'",
         "a sum of floating elements, not argmax of f32");
  refuse((rowscan_spec){.in_type = ROWSCAN_I32, .acc_type = ROWSCAN_FIXED(3)}, ROWSCAN_BAD_ARGUMENT, "'acc'",
         "not sum of i32");
  refuse((rowscan_spec){.out_type = ROWSCAN_I64, .acc_type = ROWSCAN_FIXED(3)}, ROWSCAN_UNSUPPORTED, "'out'",
         "i64 cannot hold the results of sum over f32; choose");
  refuse((rowscan_spec){.in_type = ROWSCAN_FIXED(3)}, ROWSCAN_BAD_ARGUMENT, "'in'", "259 is not one of f16");
  const int none[] = {ROWSCAN_BOOL + 1, ROWSCAN_FIXED_0 - 1, ROWSCAN_FIXED_62 + 1};
  for (int i = 0; i < 3; i++)
    refuse((rowscan_spec){.acc_type = (rowscan_type)none[i]}, ROWSCAN_BAD_ARGUMENT, "'acc'",
           "bool, fixed:0 to fixed:62");
}
END_TEST

/* Integers have no NaN, so that one kernel serves both. */
START_TEST(omitted_nan) {
  const unsigned omit = ROWSCAN_OMIT_NAN;
  ck_assert_uint_eq(complete((rowscan_spec){.flags = omit, .length = 9}).flags, omit);
  ck_assert_uint_eq(complete((rowscan_spec){.flags = omit | 1, .in_type = ROWSCAN_I32, .length = 9}).flags, 1);
}
END_TEST

START_TEST(refusals) {
  refuse((rowscan_spec){.size = 4}, ROWSCAN_BAD_ARGUMENT, "'size'", "4");
  refuse((rowscan_spec){.op = 77}, ROWSCAN_BAD_ARGUMENT, "'op'", "77 is not one of sum, prod");
  refuse((rowscan_spec){.in_type = 99}, ROWSCAN_BAD_ARGUMENT, "'in'", "99");
  refuse((rowscan_spec){.out_type = 99}, ROWSCAN_BAD_ARGUMENT, "'out'", "99");
  refuse((rowscan_spec){.out_type = ROWSCAN_BOOL, .in_type = ROWSCAN_I8}, ROWSCAN_UNSUPPORTED, "'out'", "bool");
  refuse((rowscan_spec){.in_type = ROWSCAN_F16, .out_type = ROWSCAN_I32}, ROWSCAN_UNSUPPORTED, "'out'", "i32");
  refuse((rowscan_spec){.acc_type = ROWSCAN_F16}, ROWSCAN_UNSUPPORTED, "'acc'", "f16");
  refuse((rowscan_spec){.in_type = ROWSCAN_F64, .acc_type = ROWSCAN_F32}, ROWSCAN_UNSUPPORTED, "'acc'", "f32");
  refuse((rowscan_spec){.in_type = ROWSCAN_I8, .acc_type = ROWSCAN_F64}, ROWSCAN_UNSUPPORTED, "'acc'", "f64");
  refuse((rowscan_spec){.op = ROWSCAN_AND}, ROWSCAN_BAD_ARGUMENT, "'in'", "and requires integers or bool, not f32");
  refuse((rowscan_spec){.op = ROWSCAN_XOR, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_F32}, ROWSCAN_BAD_ARGUMENT,
         "'out'", "xor returns integers or bool, not f32");
  refuse((rowscan_spec){.op = ROWSCAN_OR, .in_type = ROWSCAN_I32, .out_type = ROWSCAN_I8}, ROWSCAN_BAD_ARGUMENT,
         "'out'", "i8 cannot hold every result of or over i32");
  refuse((rowscan_spec){.op = ROWSCAN_OR, .in_type = ROWSCAN_U8, .mask_mode = ROWSCAN_MASK_MULTIPLY},
         ROWSCAN_BAD_ARGUMENT, "'mask_mode'", "or rejects multiply; use select");
  refuse((rowscan_spec){.mask_mode = 7}, ROWSCAN_BAD_ARGUMENT, "'mask'", "7 is not one of none, select, multiply");
  refuse((rowscan_spec){.mask_mode = ROWSCAN_MASK_COEFFICIENT}, ROWSCAN_BAD_ARGUMENT, "'mask_mode'",
         "coefficient requires an operator with coefficients, such as linear_recurrence, not sum");
  refuse((rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE, .mask_mode = ROWSCAN_MASK_MULTIPLY}, ROWSCAN_BAD_ARGUMENT,
         "'mask_mode'", "linear_recurrence rejects multiply; use select");
  refuse((rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE, .mask_type = ROWSCAN_F64}, ROWSCAN_UNSUPPORTED, "'mask_type'",
         "f64 is not bool, u8 or the input's type, f32");
  refuse((rowscan_spec){.op = ROWSCAN_LINEAR_RECURRENCE, .in_type = ROWSCAN_I32, .out_type = ROWSCAN_BOOL},
         ROWSCAN_UNSUPPORTED, "'out'", "bool cannot hold the results of linear_recurrence");
  refuse((rowscan_spec){.mask_mode = ROWSCAN_MASK_SELECT, .mask_type = ROWSCAN_I16}, ROWSCAN_UNSUPPORTED, "'mask_type'",
         "i16");
  refuse((rowscan_spec){.mask_type = ROWSCAN_U8}, ROWSCAN_BAD_ARGUMENT, "'mask_type'", "u8, but there is no mask");
  refuse((rowscan_spec){.mask_type = 99}, ROWSCAN_BAD_ARGUMENT, "'mask_type'", "99 is not one of f16,");
  refuse((rowscan_spec){.flags = 9}, ROWSCAN_BAD_ARGUMENT, "'flags'", "0x9 has unknown bits");
  rs_developer = false;
  refuse((rowscan_spec){.flags = 5}, ROWSCAN_BAD_ARGUMENT, "'flags'", "0x5 has unknown bits");
  rs_developer = true;
  refuse((rowscan_spec){.length = -2}, ROWSCAN_BAD_ARGUMENT, "'length'", "-2");
  refuse((rowscan_spec){.length = (INT64_C(1) << 56) + 1}, ROWSCAN_BAD_ARGUMENT, "'length'",
         "72057594037927937 is not a whole number, 0 to 2^56");
  refuse((rowscan_spec){.layout = 2}, ROWSCAN_BAD_ARGUMENT, "'layout'", "2");
  refuse((rowscan_spec){.regime = 5}, ROWSCAN_BAD_ARGUMENT, "'regime'", "5");
  refuse((rowscan_spec){.row_rank = 64}, ROWSCAN_BAD_ARGUMENT, "'row_rank'", "64");
  refuse((rowscan_spec){.row_rank = -1}, ROWSCAN_BAD_ARGUMENT, "'row_rank'", "-1 is not a whole number, 1 to 63");
}
END_TEST

/* A struct as it was before one of the last fields came: no more of it is read or written, and it stays that small. */
START_TEST(smaller_structs_stay_small) {
#define START(member, ...) offsetof(rowscan_spec, member),
  static const size_t starts[] = {RS_SPEC_FIELDS(START, START, RS_NO_ROW)};
  rowscan_spec spec, before, whole = complete((rowscan_spec){.length = 12, .in_type = ROWSCAN_I8});
  memset(&before, 0x5a, sizeof before);
  for (size_t i = 0; i < 2 * sizeof starts / sizeof *starts; i++) {
    size_t small = starts[i / 2];
    if (small <= offsetof(rowscan_spec, row_rank)) /* which every complete spec has */
      continue;
    spec = before;
    if (small % _Alignof(rowscan_spec)) { /* which is no struct's, and may end inside of a pointer */
      spec.size = small;
      ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_BAD_ARGUMENT);
      ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "spec: field 'size'"));
      continue;
    }
    memcpy(&spec, &(rowscan_spec){.size = small, .length = 12, .in_type = ROWSCAN_I8}, small);
    ck_assert_int_eq(i % 2 ? rowscan_spec_parse(&spec, "in=i8 length=12") : rowscan_spec_complete(&spec), ROWSCAN_OK);
    ck_assert_uint_eq(spec.size, small);
    ck_assert_mem_eq((char *)&spec + sizeof spec.size, (char *)&whole + sizeof spec.size, small - sizeof spec.size);
    ck_assert_mem_eq((char *)&spec + small, (char *)&before + small, sizeof spec - small);
  }
  spec.size = offsetof(rowscan_spec, regime);
  before = spec;
  ck_assert_int_eq(rowscan_spec_parse(&spec, "length=5 regime=long"), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "bytes cannot hold every field that is not 0"));
  ck_assert_mem_eq(&spec, &before, sizeof spec);
  spec.size = 0;
  ck_assert_int_eq(rowscan_spec_parse(&spec, "length=5"), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'size'"));
}
END_TEST

START_TEST(key_text) {
  rowscan_spec spec = complete((rowscan_spec){.op = ROWSCAN_PROD,
                                              .in_type = ROWSCAN_I16,
                                              .mask_mode = ROWSCAN_MASK_MULTIPLY,
                                              .mask_type = ROWSCAN_U8,
                                              .flags = ROWSCAN_REVERSE,
                                              .length = 3000000000});
  rs_text text = {0};
  rs_spec_text(&spec, &text);
  ck_assert_str_eq(text.data, "op=prod\nin=i16\nout=i64\nacc=i64\nmask=multiply\nmask_type=u8\nreverse=1\nexclusive=0\n"
                              "length=3000000000\nlayout=rows\nrow_rank=1\n");
  rs_text_free(&text);
}
END_TEST

/* ---- text, and back ---------------------------------------------------------------------------------------------- */

/* Lines, and one line, become the very spec again. */
static void round_trip(const rowscan_spec *spec) {
  rs_text lines = {0};
  rowscan_spec read = {0};
  rs_spec_text(spec, &lines);
  if (spec->regime)
    rs_text_add(&lines, "regime=%s", rowscan_regime_name(spec->regime));
  ck_assert_msg(rs_spec_parse(&read, lines.data) == ROWSCAN_OK, "%s: %s", lines.data, rowscan_last_error());
  ck_assert_msg(rs_spec_equal(&read, spec), "%s", lines.data);
  rs_text_free(&lines);
  char *line;
  ck_assert_int_eq(rowscan_spec_text(spec, &line), ROWSCAN_OK);
  ck_assert_ptr_null(strchr(line, '\n'));
  read = (rowscan_spec){.size = sizeof read};
  ck_assert_msg(rowscan_spec_parse(&read, line) == ROWSCAN_OK, "%s: %s", line, rowscan_last_error());
  ck_assert_msg(rs_spec_equal(&read, spec), "%s", line);
  rowscan_free(line);
}

START_TEST(text_is_read_back) {
  static const int64_t lengths[] = {0, 1, 32768, INT64_C(1) << 56};
  int specs = 0;
  for (int in = ROWSCAN_F16; in <= ROWSCAN_BOOL; in++)
    for (int out = ROWSCAN_TYPE_DEFAULT; out <= ROWSCAN_U64; out++)
      for (int acc = 0; acc < 2; acc++)
        for (unsigned i = 0; i < 64; i++) {
          rowscan_spec spec = {.size = sizeof spec,
                               .op = (rowscan_op)(i & 1),
                               .in_type = (rowscan_type)in,
                               .out_type = (rowscan_type)out,
                               .acc_type = acc ? ROWSCAN_F64 : ROWSCAN_TYPE_DEFAULT,
                               .mask_mode = (rowscan_mask_mode)(i % 3),
                               .mask_type = i % 5 == 1   ? ROWSCAN_U8
                                            : i % 5 == 2 ? (rowscan_type)in
                                                         : ROWSCAN_TYPE_DEFAULT,
                               .flags = i >> 1 & 7,
                               .length = lengths[i % 4],
                               .layout = (rowscan_layout)(i >> 4 & 1),
                               .row_rank = (int)i,
                               .regime = (rowscan_regime)(i % 5)};
          if (rowscan_spec_complete(&spec) != ROWSCAN_OK)
            continue;
          round_trip(&spec);
          specs++;
        }
  ck_assert_int_gt(specs, 5000);
}
END_TEST

START_TEST(what_is_left_out_is_default) {
  rowscan_spec read = {.size = sizeof read}, spec = complete((rowscan_spec){.length = 12});
  ck_assert_int_eq(rowscan_spec_parse(&read, "length=12"), ROWSCAN_OK);
  ck_assert(rs_spec_equal(&read, &spec));
  spec = complete((rowscan_spec){.length = 12, .in_type = ROWSCAN_F16, .mask_mode = ROWSCAN_MASK_MULTIPLY, .flags = 1});
  ck_assert_int_eq(rowscan_spec_parse(&read, "\t mask=multiply\r\nlength=12  exclusive=1\nin=f16 regime=auto "),
                   ROWSCAN_OK);
  ck_assert(rs_spec_equal(&read, &spec));
}
END_TEST

static const struct {
  const char *text, *field, *why;
  rowscan_status status;
} bad_texts[] = {
    {"", "'length'", "missing", ROWSCAN_BAD_ARGUMENT},
    {" \n", "'length'", "missing", ROWSCAN_BAD_ARGUMENT},
    {"in=f32", "'length'", "missing", ROWSCAN_BAD_ARGUMENT},
    {"length", "'length'", "is not field=value", ROWSCAN_BAD_ARGUMENT},
    {"length 5", "'length'", "is not field=value", ROWSCAN_BAD_ARGUMENT},
    {"length= 5", "'length'", "'' is not a whole number", ROWSCAN_BAD_ARGUMENT},
    {"=5", "field ''", "unknown; the fields are op, in, out", ROWSCAN_BAD_ARGUMENT},
    {"length=5 size=40", "'size'", "unknown; the fields are op, in, out", ROWSCAN_BAD_ARGUMENT},
    {"length=5 lengt=5", "'lengt'", "unknown", ROWSCAN_BAD_ARGUMENT},
    {"length=5 Length=5", "'Length'", "unknown", ROWSCAN_BAD_ARGUMENT},
    {"length=5 mask_=u8", "'mask_'", "unknown", ROWSCAN_BAD_ARGUMENT},
    {"length=5 length=5", "'length'", "twice", ROWSCAN_BAD_ARGUMENT},
    {"length=5 reverse=0 reverse=0", "'reverse'", "twice", ROWSCAN_BAD_ARGUMENT},
    {"length=", "'length'", "''", ROWSCAN_BAD_ARGUMENT},
    {"length=-1", "'length'", "'-1'", ROWSCAN_BAD_ARGUMENT},
    {"length=+1", "'length'", "'+1'", ROWSCAN_BAD_ARGUMENT},
    {"length=1k", "'length'", "'1k'", ROWSCAN_BAD_ARGUMENT},
    {"length=0x10", "'length'", "'0x10'", ROWSCAN_BAD_ARGUMENT},
    {"length=72057594037927937", "'length'", "'72057594037927937'", ROWSCAN_BAD_ARGUMENT},
    {"length=9223372036854775808", "'length'", "'9223372036854775808'", ROWSCAN_BAD_ARGUMENT},
    {"length=18446744073709551617", "'length'", "'18446744073709551617'", ROWSCAN_BAD_ARGUMENT},
    {"length=5=5", "'length'", "'5=5'", ROWSCAN_BAD_ARGUMENT},
    {"length=5,", "'length'", "'5,'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 op=maximum", "'op'", "'maximum' is not one of sum, prod", ROWSCAN_BAD_ARGUMENT},
    {"length=5 in=f99", "'in'", "'f99' is not one of f16", ROWSCAN_BAD_ARGUMENT},
    {"length=5 in=default", "'in'", "'default'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 out=F32", "'out'", "'F32'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 acc=", "'acc'", "''", ROWSCAN_BAD_ARGUMENT},
    {"length=5 acc=fixed:", "'acc'", "'fixed:' is not one of f16", ROWSCAN_BAD_ARGUMENT},
    {"length=5 acc=fixed:63", "'acc'", "'fixed:63' is not one of f16", ROWSCAN_BAD_ARGUMENT},
    {"length=5 acc=fixed:-1", "'acc'", "'fixed:-1'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 acc=fixed:1x", "'acc'", "'fixed:1x'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 acc=fixed:01", "'acc'", "'fixed:01'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 in=fixed:1", "'in'", "'fixed:1' is not one of f16", ROWSCAN_BAD_ARGUMENT},
    {"length=5 out=fixed:1", "'out'", "'fixed:1' is not one of f16", ROWSCAN_BAD_ARGUMENT},
    {"length=5 op=prod acc=fixed:3", "'acc'", "fixed:3 requires a sum", ROWSCAN_BAD_ARGUMENT},
    {"length=5 in=i32 acc=fixed:3", "'acc'", "not sum of i32", ROWSCAN_BAD_ARGUMENT},
    {"length=5 mask=1", "'mask'", "'1' is not one of none, select", ROWSCAN_BAD_ARGUMENT},
    {"length=5 mask=select mask_type=u4", "'mask_type'", "'u4'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 mask_type=u8", "'mask_type'", "u8, but there is no mask", ROWSCAN_BAD_ARGUMENT},
    {"length=5 mask=none mask_type=u8", "'mask_type'", "u8, but there is no mask", ROWSCAN_BAD_ARGUMENT},
    {"length=5 reverse=2", "'reverse'", "'2' is not 0 or 1", ROWSCAN_BAD_ARGUMENT},
    {"length=5 exclusive=yes", "'exclusive'", "'yes'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 delays=-0", "'delays'", "'-0'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 layout=row", "'layout'", "'row' is not one of rows, columns", ROWSCAN_BAD_ARGUMENT},
    {"length=5 row_rank=0", "'row_rank'", "'0' is not a whole number, 1 to 63", ROWSCAN_BAD_ARGUMENT},
    {"length=5 row_rank=64", "'row_rank'", "'64'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 row_rank=4294967297", "'row_rank'", "'4294967297'", ROWSCAN_BAD_ARGUMENT},
    {"length=5 regime=rows", "'regime'", "'rows' is not one of auto, row", ROWSCAN_BAD_ARGUMENT},
    {"length=5 in=f16 out=i32", "'out'", "i32 cannot hold the results of sum over f16", ROWSCAN_UNSUPPORTED},
    {"length=5 in=i8 acc=f64", "'acc'", "a scan from i8 to i64 accumulates in i64, not in f64", ROWSCAN_UNSUPPORTED},
    {"length=5 op=gae second=f64", "'second'", "f64 is neither the output's type, f32, nor the input's, f32",
     ROWSCAN_BAD_ARGUMENT},
    {"length=5 mask=select mask_type=i16", "'mask_type'", "i16", ROWSCAN_UNSUPPORTED},
    {"length=5 more1=f32", "'more1'", "f32, but sum has 0 further inputs", ROWSCAN_BAD_ARGUMENT},
    {"length=5 second=f32", "'second'", "f32, but sum has one output", ROWSCAN_BAD_ARGUMENT},
    {"length=5 op=argmax second=f64", "'second'", "f64, but the values of argmax have the input's type, f32",
     ROWSCAN_BAD_ARGUMENT},
    {"length=5 segments=select", "'segments'", "'select' is not one of none, heads, tails, keys", ROWSCAN_BAD_ARGUMENT},
    {"length=5 segments=heads mask=tails", "'segments'", "heads, but mask_mode tails defines segments already",
     ROWSCAN_BAD_ARGUMENT},
    {"length=5 segment_type=u8", "'segment_type'", "u8, but there are no segments", ROWSCAN_BAD_ARGUMENT},
    {"length=5 mask=select segments=keys segment_type=f32", "'segment_type'", "keys must be integers or bool, not f32",
     ROWSCAN_BAD_ARGUMENT},
    {"length=5 mask=select segments=heads segment_type=i16", "'segment_type'", "i16 is not bool, u8",
     ROWSCAN_UNSUPPORTED},
    {"length=5 op=logsumexp in=f64 mask=select segments=heads", "'segments'", "total of logsumexp needs 20 bytes",
     ROWSCAN_UNSUPPORTED},
    {"length=5 op=argmin second=f32 regime=column layout=columns", "'regime'", "column cannot be forced on argmin",
     ROWSCAN_UNSUPPORTED},
    {"length=0000000000000000000000000000000000000000000000000000005", "'length'", "00000...' is not",
     ROWSCAN_BAD_ARGUMENT},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=5", "field 'aaaaaaaaaa",
     "aaa': unknown", ROWSCAN_BAD_ARGUMENT},
};

/* _i: which. The spec is left as it was. */
START_TEST(bad_text_is_told) {
  rowscan_spec spec, before;
  memset(&spec, 0x5a, sizeof spec);
  before = spec;
  ck_assert_msg(rowscan_spec_parse(&spec, bad_texts[_i].text) == bad_texts[_i].status, "%s", bad_texts[_i].text);
  const char *message = rowscan_last_error();
  ck_assert_msg(strstr(message, bad_texts[_i].field) && strstr(message, bad_texts[_i].why), "message: %s", message);
  ck_assert_mem_eq(&spec, &before, sizeof spec);
}
END_TEST

/* A text whose bytes are changed is another spec or none, and nothing worse. */
START_TEST(changed_bytes_do_no_harm) {
  static const char good[] = "op=sum in=f32 out=f32 acc=f32 mask=select mask_type=bool reverse=0 exclusive=1 length=10 "
                             "layout=columns row_rank=2 regime=column";
  char text[sizeof good];
  for (size_t at = 0; at + 1 < sizeof good; at++)
    for (int byte = 0; byte < 256; byte++) {
      memcpy(text, good, sizeof good);
      text[at] = (char)byte;
      rowscan_spec spec = {.size = sizeof spec};
      if (rowscan_spec_parse(&spec, text) == ROWSCAN_OK)
        round_trip(&spec);
    }
}
END_TEST

/* ---- the list of fields ------------------------------------------------------------------------------------------ */

/* Each bit of each member, whether it has a meaning yet or not, and none between members. */
START_TEST(equal_in_every_bit) {
#define MEMBER(member, ...) {offsetof(rowscan_spec, member), sizeof((rowscan_spec *)NULL)->member},
  static const struct {
    size_t offset, bytes;
  } members[] = {{0, sizeof(size_t)}, RS_SPEC_FIELDS(MEMBER, MEMBER, RS_NO_ROW)};
  rowscan_spec a = complete((rowscan_spec){.length = 1000}), b = a;
  unsigned char *bytes = (unsigned char *)&b, counts[sizeof b] = {0};
  for (size_t i = 1; i < sizeof members / sizeof *members; i++)
    memset(&counts[members[i].offset], 1, members[i].bytes);
  ck_assert(rs_spec_equal(&a, &b));
  for (size_t i = 0; i < sizeof b; i++)
    for (int bit = 0; bit < 8; bit++) {
      bytes[i] ^= (unsigned char)(1 << bit);
      ck_assert_msg(rs_spec_equal(&a, &b) == !counts[i], "byte %zu, bit %d", i, bit);
      ck_assert_msg((rs_spec_hash(&a) == rs_spec_hash(&b)) == !counts[i], "byte %zu, bit %d", i, bit);
      bytes[i] ^= (unsigned char)(1 << bit);
    }
}
END_TEST

/* Not complete, so that each field may have another value: a mask has a type, and f16 may be added up in two. */
static const rowscan_spec open_to_all = {
    .size = sizeof open_to_all, .in_type = ROWSCAN_F16, .mask_mode = ROWSCAN_MASK_SELECT, .length = 1000};

static char *line_of(const rowscan_spec *spec) {
  rs_text line = {0};
  rs_spec_line(spec, &line);
  ck_assert(!line.failed);
  return line.data;
}

/* What some fields need beside them. */
static rowscan_spec with_use_for(const rs_field *field) {
  rowscan_spec spec = open_to_all;
  if (field->bit == ROWSCAN_TIES_FIRST)
    spec.op = ROWSCAN_ARGMAX; /* of indices alone */
  if (!strncmp(field->name, "more", 4) || !strcmp(field->name, "second"))
    ck_assert(!rowscan_op_create(&spec.op, ROWSCAN_OPERATOR(.source = "// rowscan: op=Five inputs=5 outputs=2\n")));
  if (!strcmp(field->name, "segment_type"))
    spec.segment_mode = ROWSCAN_MASK_HEADS;
  return spec;
}

/*
 * _i: which field. With another value of it a spec is another one, has another hash and another text; and where the
 * other fields allow that value, the text says it, alone too, and is read back.
 */
START_TEST(every_field_counts) {
  const rs_field *field = &rs_fields[_i];
  const rowscan_spec first = complete(open_to_all);
  char *first_line = line_of(&first);
  int allowed = 0;
  int64_t was = rs_field_get(field, &first), last = was;
  int64_t most = field->values->words || field->values->most < 70 ? field->values->most : 70;
  for (int64_t value = field->values->least; value <= most; value++) {
    if (value == was || (field->values->words && !field->values->words[value]))
      continue;
    rowscan_spec other = first, done;
    rs_field_set(field, &other, value);
    ck_assert_int_eq(rs_field_get(field, &other), value);
    ck_assert(!rs_spec_equal(&first, &other));
    ck_assert_uint_ne(rs_spec_hash(&first), rs_spec_hash(&other));
    char *line = line_of(&other), pair[64];
    ck_assert_str_ne(line, first_line);
    other = with_use_for(field);
    rs_field_set(field, &other, value);
    if (rs_spec_read(&done, &other) == ROWSCAN_OK && rs_field_get(field, &done) == value) {
      round_trip(&done);
      if (field->values->words)
        snprintf(pair, sizeof pair, "%s=%s", field->name, field->values->words[value]);
      else if (value == ROWSCAN_ANY_LENGTH)
        snprintf(pair, sizeof pair, "%s=any", field->name);
      else
        snprintf(pair, sizeof pair, "%s=%lld", field->name, (long long)value);
      free(line);
      line = line_of(&done);
      ck_assert_msg(strstr(line, pair) || (!value && field->when & RS_IF_SET), "%s lacks %s", line, pair);
      ck_assert_int_eq(rs_spec_check_pair(pair, strlen(pair)), ROWSCAN_OK);
      allowed++;
    }
    free(line);
    last = value;
  }
  ck_assert_msg(last != was && allowed, "%s", field->name);
  free(first_line);
}
END_TEST

/* _i: which field. What is beyond its values is refused in a struct, and in a text. */
START_TEST(no_field_takes_more_than_its_values) {
  const rs_field *field = &rs_fields[_i];
  static const int64_t beyond[] = {1, 2, 3, 100, INT32_MAX - 1};
  for (size_t i = 0; i < sizeof beyond / sizeof *beyond && !field->bit; i++)
    for (int below = 0; below < 2; below++) {
      int64_t least = field->values->least < 0 ? field->values->least : 0;
      int64_t value = below ? least - beyond[i] : field->values->most + beyond[i];
      if (field->bytes == sizeof(int32_t) && value > INT32_MAX)
        continue;
      rowscan_spec spec = open_to_all, read;
      rs_field_set(field, &spec, value);
      ck_assert_msg(rs_spec_read(&read, &spec) == ROWSCAN_BAD_ARGUMENT, "%s: %lld", field->name, (long long)value);
      char pair[64], said[64];
      snprintf(said, sizeof said, "field '%s': %lld is not ", field->name, (long long)value);
      ck_assert_msg(strstr(rowscan_last_error(), said), "%s", rowscan_last_error());
      snprintf(pair, sizeof pair, "%s=%lld", field->name, (long long)value);
      ck_assert_int_eq(rs_spec_check_pair(pair, strlen(pair)), ROWSCAN_BAD_ARGUMENT);
    }
}
END_TEST

/* What a problem says of the fields is what its spec has. */
START_TEST(problems_say_it_too) {
  static const int64_t shape[] = {7, 1000};
  rowscan_problem problem = {.size = sizeof problem,
                             .op = ROWSCAN_PROD,
                             .flags = ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE,
                             .rank = 2,
                             .dim = 1,
                             .shape = shape,
                             .input = {.type = ROWSCAN_U8},
                             .output = {.type = ROWSCAN_F32},
                             .mask = {.type = ROWSCAN_U8},
                             .mask_mode = ROWSCAN_MASK_MULTIPLY,
                             .acc_type = ROWSCAN_F64};
  rowscan_spec spec, wanted;
  ck_assert_int_eq(rs_spec_of_problem(&spec, &problem, shape[1]), ROWSCAN_OK);
  ck_assert_int_eq(rs_spec_parse(&wanted, "op=prod in=u8 out=f32 acc=f64 mask=multiply mask_type=u8 reverse=1 "
                                          "exclusive=1 length=1000"),
                   ROWSCAN_OK);
  ck_assert(rs_spec_equal(&spec, &wanted));
}
END_TEST

static int by_number(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Of specs that are alike no two have the same hash, and its first 8 bits spread them evenly (gpu/table.h). */
START_TEST(hashes_spread) {
  enum { MOST = 40000, BUCKETS = 256 };
  static uint64_t hashes[MOST];
  int count = 0, buckets[BUCKETS] = {0};
  for (int in = ROWSCAN_F16; in <= ROWSCAN_BOOL; in++)
    for (int mask = ROWSCAN_MASK_NONE; mask <= ROWSCAN_MASK_MULTIPLY; mask++)
      for (unsigned i = 0; i < 1024 && count < MOST; i++) {
        rowscan_spec spec = complete((rowscan_spec){.op = (rowscan_op)(i & 1),
                                                    .in_type = (rowscan_type)in,
                                                    .mask_mode = (rowscan_mask_mode)mask,
                                                    .flags = i >> 1 & 3,
                                                    .length = 1000 + (i >> 3 & 31),
                                                    .layout = (rowscan_layout)(i >> 8 & 1),
                                                    .regime = (rowscan_regime)(i >> 9 & 1)});
        hashes[count++] = rs_spec_hash(&spec);
      }
  qsort(hashes, (size_t)count, sizeof *hashes, by_number);
  for (int i = 0; i < count; i++) {
    buckets[hashes[i] >> 56]++;
    ck_assert(!i || hashes[i] != hashes[i - 1]);
  }
  for (int i = 0; i < BUCKETS; i++)
    ck_assert_msg(2 * buckets[i] > count / BUCKETS && buckets[i] < 2 * count / BUCKETS, "bucket %d: %d", i, buckets[i]);
}
END_TEST

START_TEST(names) {
  for (int type = ROWSCAN_F16; type <= ROWSCAN_BOOL; type++)
    ck_assert_int_eq(rowscan_type_by_name(rowscan_type_name((rowscan_type)type)), type);
  for (int point = 0; point <= 62; point++)
    ck_assert_int_eq(rowscan_type_by_name(rowscan_type_name(ROWSCAN_FIXED(point))), ROWSCAN_FIXED(point));
  ck_assert_str_eq(rowscan_type_name(ROWSCAN_FIXED(20)), "fixed:20");
  ck_assert_str_eq(rowscan_type_name((rowscan_type)(ROWSCAN_FIXED_0 - 1)), "unknown");
  ck_assert_int_eq(rowscan_type_by_name("f128"), ROWSCAN_TYPE_DEFAULT);
  ck_assert_int_eq(rowscan_op_by_name("sum"), ROWSCAN_SUM);
  ck_assert_int_eq(rowscan_op_by_name("prod"), ROWSCAN_PROD);
  ck_assert_int_eq(rowscan_op_by_name("max"), ROWSCAN_MAX);
  ck_assert_int_eq(rowscan_op_by_name("min"), ROWSCAN_MIN);
  ck_assert_int_eq(rowscan_op_by_name("and"), ROWSCAN_AND);
  ck_assert_int_eq(rowscan_op_by_name("xor"), ROWSCAN_XOR);
  ck_assert_int_eq(rowscan_op_by_name("maximum"), -1);
  ck_assert_uint_eq(rowscan_type_bytes(ROWSCAN_BF16), 2);
  ck_assert_uint_eq(rowscan_type_bytes((rowscan_type)99), 0);
  ck_assert_str_eq(rowscan_status_name(ROWSCAN_CUDA_FAILED), "ROWSCAN_CUDA_FAILED");
  ck_assert_ptr_nonnull(rowscan_status_name((rowscan_status)99));
}
END_TEST

int main(void) {
  rs_developer = true;
  Suite *suite = suite_create("spec");
  TCase *all = tcase_create("all");
  tcase_add_test(all, default_types);
  tcase_add_test(all, accumulators);
  tcase_add_test(all, other_defaults);
  tcase_add_test(all, defaults_of_a_recurrence);
  tcase_add_test(all, floats_alone);
  tcase_add_test(all, indices);
  tcase_add_test(all, masked_recurrences);
  tcase_add_test(all, segments);
  tcase_add_test(all, fixed_point);
  tcase_add_test(all, omitted_nan);
  tcase_add_test(all, refusals);
  tcase_add_test(all, smaller_structs_stay_small);
  tcase_add_test(all, key_text);
  tcase_add_test(all, text_is_read_back);
  tcase_add_test(all, what_is_left_out_is_default);
  tcase_add_loop_test(all, bad_text_is_told, 0, sizeof bad_texts / sizeof *bad_texts);
  tcase_add_test(all, changed_bytes_do_no_harm);
  tcase_add_test(all, equal_in_every_bit);
  tcase_add_loop_test(all, every_field_counts, 0, RS_FIELDS);
  tcase_add_loop_test(all, no_field_takes_more_than_its_values, 0, RS_FIELDS);
  tcase_add_test(all, problems_say_it_too);
  tcase_add_test(all, hashes_spread);
  tcase_add_test(all, names);
  suite_add_tcase(suite, all);
  return run_tests(suite);
}
