/*
 * test_emit.c - the generated sources, letter for letter, and the geometry behind them
 * SPDX-License-Identifier: MIT
 *
 * Golden files in tests/golden show a reader what rowscan compiles, and a reviewer what a change does to it. After a
 * change that is meant: RS_GOLDEN_UPDATE=1 tests/test_emit writes them anew.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

static const struct {
  const char *file;
  rowscan_spec spec;
  int arch, module;
} golden[] = {
    {"row_f32_32768.cu", {.length = 32768}, 90, 0},
    {"long_f32_32768.cu", {.length = 32768}, 90, 1},
    {"row_f32_32768_sm75.cu", {.length = 32768}, 75, 0},
    {"row_masked_bf16_50257.cu",
     {.in = ROWSCAN_BF16,
      .mask_mode = ROWSCAN_MASK_SELECT,
      .length = 50257,
      .flags = ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE},
     90,
     0},
    {"row_bool_i64_4096.cu", {.in = ROWSCAN_BOOL, .length = 4096}, 90, 0},
    {"short_i32_7.cu", {.in = ROWSCAN_I32, .out = ROWSCAN_I32, .length = 7}, 90, 0},
    {"column_prod_f64_1000.cu",
     {.op = ROWSCAN_PROD, .in = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .length = 1000},
     90,
     0},
};

static char *read_file(const char *path) {
  static char text[8192];
  FILE *file = fopen(path, "r");
  ck_assert_msg(file != NULL, "%s can't be read", path);
  size_t length = fread(text, 1, sizeof text - 1, file);
  text[length] = 0;
  fclose(file);
  return text;
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  ck_assert_msg(file != NULL, "%s can't be written", path);
  fputs(text, file);
  fclose(file);
}

START_TEST(golden_sources) {
  const char *top = getenv("srcdir");
  char path[4096];
  snprintf(path, sizeof path, "%s/tests/golden/%s", top ? top : ".", golden[_i].file);
  rowscan_spec spec = golden[_i].spec;
  spec.size = sizeof spec;
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  rs_geometry geometry[RS_MAX_MODULES];
  ck_assert_int_gt(rs_tune(&spec, golden[_i].arch, geometry), golden[_i].module);
  rs_text source = {0};
  rs_emit(&spec, &geometry[golden[_i].module], &source);
  if (getenv("RS_GOLDEN_UPDATE"))
    write_file(path, source.data);
  ck_assert_str_eq(source.data, read_file(path));
  rs_text_free(&source);
}
END_TEST

static bool power(int n) {
  return n > 0 && (n & (n - 1)) == 0;
}

static void check_geometry(const rowscan_spec *spec, int arch, const rs_geometry *g) {
  ck_assert_int_ge(g->threads, 32);
  ck_assert_int_le(g->threads, 1024);
  ck_assert_int_eq(g->threads % 32, 0);
  if (g->regime == ROWSCAN_REGIME_COLUMN) {
    ck_assert(power(g->steps));
    return;
  }
  ck_assert(power(g->warps) && power(g->chunks) && power(g->lanes) && power(g->vector));
  ck_assert_int_le(g->lanes, 32);
  ck_assert(g->warps == 1 || (g->lanes == 32 && g->threads == 32 * g->warps));
  if (g->stages) {
    ck_assert_int_ge(arch, 90);
    ck_assert_int_ge(g->warps, 2); /* the barrier between warps is what frees a stage */
    int64_t tiles = (spec->length + rs_tile(g) - 1) / rs_tile(g);
    ck_assert_int_le(g->stages, tiles);
    ck_assert_int_eq(g->buffers, tiles > 1 ? 2 : 1);
    int room = arch >= 120 ? 99 * 1024 : 227 * 1024;
    ck_assert_int_le((int64_t)g->min_blocks * (rs_shared_bytes(spec, g) + 1024), room + 1024);
  }
}

/* Whatever is asked, the geometry keeps to what the kernels and the chip demand. */
START_TEST(every_geometry_is_sound) {
  static const int archs[] = {75, 80, 86, 89, 90, 100, 103, 120, 121};
  for (int arch = 0; arch < 9; arch++)
    for (int in = ROWSCAN_F16; in <= ROWSCAN_BOOL; in++)
      for (int out = ROWSCAN_F16; out < ROWSCAN_BOOL; out++)
        for (int mask = 0; mask < 3; mask++)
          for (int64_t length = 0; length < ((int64_t)1 << 40); length = length * 4 + 1) {
            rowscan_spec spec = {.size = sizeof spec,
                                 .in = (rowscan_type)in,
                                 .out = (rowscan_type)out,
                                 .mask_mode = (rowscan_mask_mode)mask,
                                 .mask_type = (rowscan_type)in,
                                 .length = length};
            if (rowscan_spec_complete(&spec))
              continue;
            rs_geometry geometry[RS_MAX_MODULES];
            int count = rs_tune(&spec, archs[arch], geometry);
            ck_assert_int_ge(count, 1);
            for (int i = 0; i < count; i++)
              check_geometry(&spec, archs[arch], &geometry[i]);
          }
}
END_TEST

START_TEST(forced_regimes) {
  for (int regime = ROWSCAN_REGIME_ROW; regime <= ROWSCAN_REGIME_COLUMN; regime++)
    for (int64_t length = 1; length < 100000; length = length * 2 + 1) {
      rowscan_spec spec = {.size = sizeof spec, .length = length, .regime = (rowscan_regime)regime};
      ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
      rs_geometry geometry[RS_MAX_MODULES];
      ck_assert_int_eq(rs_tune(&spec, 90, geometry), 1);
      ck_assert_int_eq(geometry[0].regime, regime);
      check_geometry(&spec, 90, &geometry[0]);
    }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("emit");
  TCase *all = tcase_create("all");
  tcase_set_timeout(all, 120); /* machines are shared */
  tcase_add_loop_test(all, golden_sources, 0, sizeof golden / sizeof *golden);
  tcase_add_test(all, every_geometry_is_sound);
  tcase_add_test(all, forced_regimes);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
