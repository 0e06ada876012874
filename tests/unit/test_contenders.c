/*
 * test_contenders.c - the kernels that could serve a spec
 * SPDX-License-Identifier: MIT
 *
 * What is left out here is never compared with what is chosen, and nobody would see it.
 */
#include <check.h>
#include <string.h>

#include "../support/run_tests.h"
#include "family/choose.h"
#include "family/family.h"
#include "spec/arch.h"

static rs_contender list[RS_MOST_CONTENDERS];

static const int archs[] = {75, 80, 86, 90, 100, 120};

static const struct {
  rowscan_type in, out;
  rowscan_mask_mode mask;
} types[] = {{ROWSCAN_F32, ROWSCAN_F32, 0},
             {ROWSCAN_BF16, ROWSCAN_BF16, ROWSCAN_MASK_SELECT},
             {ROWSCAN_U8, ROWSCAN_U8, 0},
             {ROWSCAN_BOOL, ROWSCAN_I64, 0},
             {ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_MASK_MULTIPLY}};

static rowscan_spec spec_of(int which, int64_t length, rowscan_layout layout) {
  rowscan_spec spec = {.size = sizeof spec,
                       .length = length,
                       .layout = layout,
                       .in_type = types[which].in,
                       .out_type = types[which].out,
                       .mask_mode = types[which].mask,
                       .row_rank = layout == ROWSCAN_LAYOUT_COLUMNS ? 2 : 1};
  ck_assert_msg(rowscan_spec_complete(&spec) == ROWSCAN_OK, "%s", rowscan_last_error());
  return spec;
}

static rowscan_regime regime_of(const rs_contender *one) {
  return rs_kernel_regime(&(rs_geometry){.regime = one->regime}, one->kernel);
}

static bool has(int count, rowscan_regime regime, rs_kernel kernel, const rs_shape *shape) {
  for (int i = 0; i < count; i++)
    if (regime_of(&list[i]) == regime && list[i].kernel == kernel && !memcmp(&list[i].shape, shape, sizeof *shape))
      return true;
  return false;
}

/* The kernels that rs_tune gives a plan are among them. */
static void check_chosen(const rowscan_spec *spec, int arch, int count) {
  rs_geometry g = rs_tune(spec, arch);
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    if (g.shape[kernel].made_of)
      ck_assert_msg(has(count, rs_kernel_regime(&g, (rs_kernel)kernel), (rs_kernel)kernel, &g.shape[kernel]),
                    "sm_%d, length %lld: kernel %s is no contender", arch, (long long)spec->length,
                    rs_kernel_name((rs_kernel)kernel));
}

static void check_room(const rs_shape *s, int64_t length, int arch) {
  ck_assert_int_ge(s->threads, 32);
  ck_assert_int_ge(s->min_blocks, 1);
  ck_assert_int_le(s->min_blocks * s->threads, rs_arch_threads(arch));
  ck_assert_msg(s->shared_bytes < rs_arch_shared_bytes(arch), "sm_%d, length %lld: %s steps=%d threads=%d: %d bytes",
                arch, (long long)length, rs_family_of(s)->name, s->steps, s->threads, s->shared_bytes);
}

static void check_all(const rowscan_spec *spec, int arch) {
  int count = rs_contenders(spec, arch, list);
  ck_assert_int_lt(count, RS_MOST_CONTENDERS);
  check_chosen(spec, arch, count);
  for (int i = 0; i < count; i++) {
    check_room(&list[i].shape, spec->length, arch);
    for (int k = 0; k < i; k++)
      ck_assert_msg(list[k].regime != list[i].regime || list[k].kernel != list[i].kernel ||
                        memcmp(&list[k].shape, &list[i].shape, sizeof list[i].shape),
                    "sm_%d, length %lld: contenders %d and %d are one", arch, (long long)spec->length, k, i);
  }
}

START_TEST(the_chosen_ones_contend) {
  static const int64_t lengths[] = {1, 7, 26, 64, 700, 4096, 4097, 32768, 1 << 20, 50000000};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
      for (int columns = 0; columns < 2; columns++) {
        rowscan_spec spec = spec_of((int)t, lengths[n], columns ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS);
        check_all(&spec, archs[_i]);
      }
}
END_TEST

static bool has_template(int count, rs_template made_of, int words) {
  for (int i = 0; i < count; i++)
    if (list[i].shape.made_of == made_of && list[i].shape.words == words)
      return true;
  return false;
}

/* Of lists of arrays, too: what brings all of them contends beside what fetches each by itself. */
START_TEST(lists_contend) {
  static const rowscan_spec like[] = {
      {.op = ROWSCAN_GAE, .in_type = ROWSCAN_F32, .second_type = ROWSCAN_F32},
      {.op = ROWSCAN_ARGMAX, .in_type = ROWSCAN_U8, .second_type = ROWSCAN_U8},
      {.in_type = ROWSCAN_BF16, .mask_mode = ROWSCAN_MASK_SELECT, .segment_mode = ROWSCAN_MASK_KEYS}};
  static const int64_t lengths[] = {1, 65, 700, 4096, 100001};
  bool bulk = archs[_i] >= 90;
  for (size_t t = 0; t < sizeof like / sizeof *like; t++)
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
      for (int columns = 0; columns < 2; columns++) {
        rowscan_spec spec = like[t];
        spec.size = sizeof spec;
        spec.length = lengths[n];
        spec.layout = columns ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS;
        ck_assert_msg(rowscan_spec_complete(&spec) == ROWSCAN_OK, "%s", rowscan_last_error());
        check_all(&spec, archs[_i]);
        int count = rs_contenders(&spec, archs[_i], list);
        bool rows = bulk && !columns && lengths[n] >= 700;
        ck_assert_int_eq(has_template(count, RS_TEMPLATE_ROW_RING, 1), rows);
        ck_assert_int_eq(has_template(count, RS_TEMPLATE_ROW_RING, 0), rows);
        ck_assert(!has_template(count, RS_TEMPLATE_ROW_STREAM, 0));
        ck_assert_int_eq(has_template(count, RS_TEMPLATE_WIDE, 0), columns);
        ck_assert(bulk || !has_template(count, RS_TEMPLATE_RING_COLUMNS, 0));
      }
}
END_TEST

/* 37 x 4097 dense, or 5 x 4097 x 48: neither whole words nor few. */
static rs_rows rows_of(const rowscan_spec *spec) {
  static char memory[64];
  rowscan_args args = {.size = sizeof args, .rows = 37, .row_shape = NULL};
  int64_t shape[] = {5, 48};
  if (spec->layout == ROWSCAN_LAYOUT_COLUMNS) {
    args.rows = 0;
    args.row_shape = shape;
  }
  args.input = args.output = memory;
  if (spec->mask_mode)
    args.mask = memory;
  rs_rows rows;
  ck_assert_msg(rs_rows_from_args(&rows, spec, &args) == ROWSCAN_OK, "%s", rowscan_last_error());
  return rows;
}

/* One that is forced serves, whatever else would be preferred; one that can't take the rows says so. */
START_TEST(a_forced_one_serves) {
  int serve = 0, refuse = 0;
  for (int columns = 0; columns < 2; columns++) {
    rowscan_spec spec = spec_of(0, 4097, columns ? ROWSCAN_LAYOUT_COLUMNS : ROWSCAN_LAYOUT_ROWS);
    rs_rows rows = rows_of(&spec);
    int count = rs_contenders(&spec, 90, list);
    for (int i = 0; i < count; i++) {
      static rs_kernels kernels;
      memset(&kernels, 0, sizeof kernels);
      rs_kernels_open(&kernels, &spec, 90, 132, 0);
      rs_kernels_force(&kernels, &list[i]);
      ck_assert_int_eq(rs_kernels_choose(&kernels, &rows), list[i].kernel);
      if (!rs_kernels_forced_serves(&kernels, &rows)) {
        refuse++;
        continue;
      }
      serve++;
      ck_assert_uint_le(rs_kernels_scratch(&kernels, &rows), kernels.scratch);
    }
  }
  ck_assert_int_gt(serve, 20);  /* of these rows and columns each template that takes any */
  ck_assert_int_gt(refuse, 10); /* those for words, and for few columns */
}
END_TEST

int main(void) {
  Suite *suite = suite_create("contenders");
  TCase *cases = tcase_create("all");
  tcase_add_loop_test(cases, the_chosen_ones_contend, 0, sizeof archs / sizeof *archs);
  tcase_add_loop_test(cases, lists_contend, 0, sizeof archs / sizeof *archs);
  tcase_add_test(cases, a_forced_one_serves);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
