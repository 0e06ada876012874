/*
 * group_host.c - arrays in host memory through the GPU, in pieces as small as may be
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "spec/spec.h"

/* A case as a problem: the scanned dimension at place `dim` among the others. */
typedef struct host_problem {
  rowscan_problem problem;
  int64_t shape[CASE_RANK + 1];
  int64_t strides[5][CASE_RANK + 1];
} host_problem;

/* Numbers of the rows' dimensions and then of the scanned one, put in the problem's order. */
static void arrange(int64_t *to, const int64_t *rows, int64_t scanned, int rank, int dim) {
  for (int d = 0; d < rank; d++)
    to[d] = d == dim ? scanned : rows[d < dim ? d : d - 1];
}

static void make_problem(host_problem *made, const check_run *run, int dim, unsigned char *out, unsigned char *totals) {
  const test_case *test = run->test;
  const case_array *arrays[] = {&test->in, &test->out, &test->mask, &test->init, &test->totals};
  int rows = test->spec.row_rank, rank = rows + 1;
  arrange(made->shape, test->shape, test->spec.length, rank, dim);
  for (int a = 0; a < 5; a++)
    arrange(made->strides[a], arrays[a]->strides, arrays[a]->strides[rows], rank, dim);
  const check_image *images = run->image;
  unsigned char *in = test->in_place ? out : images[CHECK_IN].before;
  made->problem = (rowscan_problem){
      .size = sizeof made->problem,
      .op = test->spec.op,
      .flags = test->spec.flags,
      .rank = rank,
      .dim = dim,
      .shape = made->shape,
      .input = {.data = in + images[CHECK_IN].origin, .type = test->spec.in_type, .strides = made->strides[0]},
      .output = {.data = out + images[test->in_place ? CHECK_IN : CHECK_OUT].origin,
                 .type = test->spec.out_type,
                 .strides = made->strides[1]},
      .mask_mode = test->spec.mask_mode,
      .acc_type = test->spec.acc_type,
  };
  if (test->spec.mask_mode)
    made->problem.mask = (rowscan_input){.data = images[CHECK_MASK].before + images[CHECK_MASK].origin,
                                         .type = test->spec.mask_type,
                                         .strides = made->strides[2]};
  if (test->has_init)
    made->problem.init =
        (rowscan_input){.data = images[CHECK_INIT].before + images[CHECK_INIT].origin, .strides = made->strides[3]};
  if (totals)
    made->problem.totals = (rowscan_output){.data = totals + images[CHECK_TOTALS].origin, .strides = made->strides[4]};
}

static unsigned char *copy_of(const check_image *image) {
  unsigned char *copy = image->before ? aligned_alloc(256, (image->bytes + 255) / 256 * 256) : NULL;
  return copy ? memcpy(copy, image->before, image->bytes) : NULL;
}

static void check_problem(rowscan_context *context, const test_case *test, rowscan_plan *host, int dim) {
  check_run run;
  host_problem made;
  char text[CASE_TEXT];
  case_text(test, text);
  device_doing(text);
  bool same = check_prepare(&run, test, host);
  unsigned char *out = copy_of(&run.image[test->in_place ? CHECK_IN : CHECK_OUT]);
  unsigned char *totals = copy_of(&run.image[CHECK_TOTALS]);
  unsigned char *input = copy_of(&run.image[CHECK_IN]);
  make_problem(&made, &run, dim, out, totals);
  rowscan_status status = rowscan_scan_host(context, &made.problem);
  bool refused = status == ROWSCAN_UNSUPPORTED && !rs_spec_keeps_totals(&test->spec); /* rows in pieces */
  if (status && !refused) {
    suite_fail("%s\n  rowscan_scan_host: %s: %s", text, rowscan_status_name(status), rowscan_last_error());
    same = false;
  }
  same = same && !refused && check_bytes(&run, CHECK_OUT, out) && (!totals || check_bytes(&run, CHECK_TOTALS, totals));
  if (same && memcmp(input, run.image[CHECK_IN].before, run.image[CHECK_IN].bytes)) {
    suite_fail("%s\n  rowscan_scan_host wrote to its input", text);
    same = false;
  }
  if (same || refused)
    suite_pass();
  free(out);
  free(totals);
  free(input);
  check_free(&run);
}

static void check_staged(size_t staging_bytes, int cases, uint64_t part) {
  rowscan_context *context = NULL;
  if (!suite_ok(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .staging_bytes = staging_bytes)),
                "rowscan_open"))
    return;
  for (int i = 0; i < cases; i++) {
    random_source random = random_for(suite.seed, part, (uint64_t)i);
    rowscan_spec spec;
    rowscan_plan *host = NULL;
    test_case test;
    case_random_spec(&spec, &random, suite.longest);
    spec.regime = ROWSCAN_REGIME_AUTO;
    if (suite_ok(rowscan_spec_complete(&spec), "rowscan_spec_complete") &&
        suite_ok(rowscan_plan_create(&host, suite.host, &spec), "rowscan_plan_create on the host")) {
      case_random(&test, &spec, &random, suite.elements);
      check_problem(context, &test, host, (int)random_below(&random, spec.row_rank + 1));
    }
    rowscan_plan_destroy(host);
  }
  rowscan_close(context);
}

/* Pieces so small that rows are cut, pieces of some rows, and the usual ones. */
void group_host(void) {
  check_staged(suite.quick ? 4096 : 65536, suite.quick ? 3 : 40, 10);
  check_staged(1 << 20, suite.quick ? 1 : 40, 11);
  check_staged(0, suite.quick ? 1 : 10, 12);
}
