/*
 * test_launch.c - which kernel of a plan serves which rows
 * SPDX-License-Identifier: MIT
 *
 * A wrong choice that is slow and right shows in no result. Nothing is compiled or run here.
 */
#include <check.h>
#include <stdlib.h>

#include "launch.h"
#include "run_tests.h"

static rowscan_context context = {.device = {.multiprocessors = 132}};

typedef struct given {
  int64_t length, rows;
  int64_t in_lead, mask_lead, out_lead, step; /* elements */
  unsigned flags;
  rs_template wanted;
} given;

static rs_template chosen(const given *g) {
  rowscan_plan plan = {.context = &context};
  plan.spec = (rowscan_spec){.size = sizeof plan.spec, .length = g->length, .flags = g->flags};
  plan.spec.mask_mode = ROWSCAN_MASK_SELECT;
  ck_assert_int_eq(rowscan_spec_complete(&plan.spec), ROWSCAN_OK);
  rs_geometry geometry[RS_MAX_MODULES];
  plan.count = rs_tune(&plan.spec, 90, geometry);
  for (int i = 0; i < plan.count; i++)
    plan.module[i].geometry = geometry[i];
  int64_t strides[] = {g->length * g->step, g->step};
  rowscan_args args = {.size = sizeof args, .rows = g->rows};
  args.in = (void *)(intptr_t)(4096 + 4 * g->in_lead);
  args.mask = (void *)(intptr_t)(4096 + g->mask_lead);
  args.out = (void *)(intptr_t)(4096 + 4 * g->out_lead);
  args.in_strides = args.mask_strides = args.out_strides = strides;
  rs_rows rows;
  ck_assert_int_eq(rs_rows_from_args(&rows, &plan.spec, &args), ROWSCAN_OK);
  const rs_module *module = rs_launch_module(&plan, &rows);
  return module->geometry.shape[rs_launch_kernel(&plan, module, &rows)].made_of;
}

static const given all[] = {
    /* long rows: on 16 bytes, off in each array, of odd length, with gaps */
    {1 << 20, 64, 0, 0, 0, 1, 0, RS_TEMPLATE_STREAM},
    {1 << 20, 64, 1, 0, 0, 1, 0, RS_TEMPLATE_STREAM_ANY},
    {1 << 20, 64, 0, 1, 0, 1, 0, RS_TEMPLATE_STREAM_ANY},
    {1 << 20, 64, 0, 0, 1, 1, 0, RS_TEMPLATE_STREAM_ANY},
    {(1 << 20) + 1, 64, 0, 0, 0, 1, 0, RS_TEMPLATE_STREAM_ANY},
    {(1 << 20) + 1, 1, 0, 0, 0, 1, 0, RS_TEMPLATE_STREAM},
    {(1 << 20) + 1, 1, 0, 0, 0, 1, ROWSCAN_REVERSE, RS_TEMPLATE_STREAM_ANY},
    {1 << 20, 64, 0, 0, 0, 2, 0, RS_TEMPLATE_TILES},
    /* so many that each has a block */
    {32768, 4096, 0, 0, 0, 1, 0, RS_TEMPLATE_RING},
    {32769, 4096, 0, 0, 0, 1, 0, RS_TEMPLATE_RING_ANY},
    {32768, 4096, 0, 0, 0, 2, 0, RS_TEMPLATE_ROWS},
};

START_TEST(choices) {
  ck_assert_int_eq(chosen(&all[_i]), all[_i].wanted);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("launch");
  TCase *cases = tcase_create("all");
  tcase_add_loop_test(cases, choices, 0, sizeof all / sizeof *all);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
