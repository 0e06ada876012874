/*
 * test_spec.c - specs are completed as documented, or refused with the field and the value
 * SPDX-License-Identifier: MIT
 *
 * The rules for default types are those of the Python array API standard's cumulative_sum; the key text is part of
 * every cache entry's name, so that a change of it by accident would make every cache cold.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "spec.h"

static rowscan_spec complete(rowscan_spec spec) {
  spec.size = sizeof spec;
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  return spec;
}

/* The spec is refused with a status, and the story names the field and says `why`. */
static void refuse(rowscan_spec spec, rowscan_status status, const char *field, const char *why) {
  if (!spec.size)
    spec.size = sizeof spec;
  rowscan_spec before = spec;
  ck_assert_int_eq(rowscan_spec_complete(&spec), status);
  ck_assert_msg(!memcmp(&before, &spec, sizeof spec), "a refused spec was changed");
  ck_assert_msg(strstr(rowscan_last_error(), field) && strstr(rowscan_last_error(), why), "story: %s",
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
    rowscan_spec spec = complete((rowscan_spec){.in = table[i].in});
    ck_assert_int_eq(spec.out, table[i].out);
    ck_assert_int_eq(spec.acc, table[i].acc);
  }
}
END_TEST

START_TEST(accumulators) {
  ck_assert_int_eq(complete((rowscan_spec){.in = ROWSCAN_I8, .out = ROWSCAN_F32}).acc, ROWSCAN_F32);
  ck_assert_int_eq(complete((rowscan_spec){.in = ROWSCAN_BOOL, .out = ROWSCAN_F16}).acc, ROWSCAN_F32);
  ck_assert_int_eq(complete((rowscan_spec){.in = ROWSCAN_I32, .out = ROWSCAN_F32}).acc, ROWSCAN_F64);
  ck_assert_int_eq(complete((rowscan_spec){.in = ROWSCAN_F32, .out = ROWSCAN_F64}).acc, ROWSCAN_F64);
  ck_assert_int_eq(complete((rowscan_spec){.in = ROWSCAN_F64, .out = ROWSCAN_F16}).acc, ROWSCAN_F64);
  ck_assert_int_eq(complete((rowscan_spec){.in = ROWSCAN_BF16, .acc = ROWSCAN_F64}).acc, ROWSCAN_F64);
  ck_assert_int_eq(complete((rowscan_spec){.in = ROWSCAN_I64, .out = ROWSCAN_I8}).acc, ROWSCAN_I8);
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

START_TEST(refusals) {
  refuse((rowscan_spec){.size = 8}, ROWSCAN_BAD_ARGUMENT, "'size'", "8");
  refuse((rowscan_spec){.op = 77}, ROWSCAN_BAD_ARGUMENT, "'op'", "77");
  refuse((rowscan_spec){.in = 99}, ROWSCAN_BAD_ARGUMENT, "'in'", "99");
  refuse((rowscan_spec){.out = 99}, ROWSCAN_BAD_ARGUMENT, "'out'", "99");
  refuse((rowscan_spec){.out = ROWSCAN_BOOL, .in = ROWSCAN_I8}, ROWSCAN_UNSUPPORTED, "'out'", "bool");
  refuse((rowscan_spec){.in = ROWSCAN_F16, .out = ROWSCAN_I32}, ROWSCAN_UNSUPPORTED, "'out'", "i32");
  refuse((rowscan_spec){.acc = ROWSCAN_F16}, ROWSCAN_UNSUPPORTED, "'acc'", "f16");
  refuse((rowscan_spec){.in = ROWSCAN_F64, .acc = ROWSCAN_F32}, ROWSCAN_UNSUPPORTED, "'acc'", "f32");
  refuse((rowscan_spec){.in = ROWSCAN_I8, .acc = ROWSCAN_F64}, ROWSCAN_UNSUPPORTED, "'acc'", "f64");
  refuse((rowscan_spec){.mask_mode = 3}, ROWSCAN_BAD_ARGUMENT, "'mask_mode'", "3");
  refuse((rowscan_spec){.mask_mode = ROWSCAN_MASK_SELECT, .mask_type = ROWSCAN_I16}, ROWSCAN_UNSUPPORTED, "'mask_type'",
         "i16");
  refuse((rowscan_spec){.flags = 8}, ROWSCAN_BAD_ARGUMENT, "'flags'", "0x8");
  refuse((rowscan_spec){.length = -1}, ROWSCAN_BAD_ARGUMENT, "'length'", "-1");
  refuse((rowscan_spec){.layout = 2}, ROWSCAN_BAD_ARGUMENT, "'layout'", "2");
  refuse((rowscan_spec){.regime = 5}, ROWSCAN_BAD_ARGUMENT, "'regime'", "5");
  refuse((rowscan_spec){.row_rank = 64}, ROWSCAN_BAD_ARGUMENT, "'row_rank'", "64");
  refuse((rowscan_spec){.row_rank = -1}, ROWSCAN_BAD_ARGUMENT, "'row_rank'", "-1");
}
END_TEST

START_TEST(key_text) {
  rowscan_spec spec = complete((rowscan_spec){.op = ROWSCAN_PROD,
                                              .in = ROWSCAN_I16,
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

START_TEST(names) {
  for (int type = ROWSCAN_F16; type <= ROWSCAN_BOOL; type++)
    ck_assert_int_eq(rowscan_type_by_name(rowscan_type_name((rowscan_type)type)), type);
  ck_assert_int_eq(rowscan_type_by_name("f128"), ROWSCAN_TYPE_DEFAULT);
  ck_assert_int_eq(rowscan_op_by_name("sum"), ROWSCAN_SUM);
  ck_assert_int_eq(rowscan_op_by_name("prod"), ROWSCAN_PROD);
  ck_assert_int_eq(rowscan_op_by_name("max"), -1);
  ck_assert_uint_eq(rowscan_type_bytes(ROWSCAN_BF16), 2);
  ck_assert_uint_eq(rowscan_type_bytes((rowscan_type)99), 0);
  ck_assert_str_eq(rowscan_status_name(ROWSCAN_CUDA_FAILED), "ROWSCAN_CUDA_FAILED");
  ck_assert_ptr_nonnull(rowscan_status_name((rowscan_status)99));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("spec");
  TCase *all = tcase_create("all");
  tcase_add_test(all, default_types);
  tcase_add_test(all, accumulators);
  tcase_add_test(all, other_defaults);
  tcase_add_test(all, refusals);
  tcase_add_test(all, key_text);
  tcase_add_test(all, names);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
