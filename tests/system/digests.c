/*
 * digests.c - digests of what the host engine makes of random problems, to be compared between machines
 * SPDX-License-Identifier: MIT
 *
 * One line a problem: its number, its spec and a digest of the output and the totals. The bits depend on the problem
 * alone, so that the lines are the same whatever the processor, the compiler and the C library; but NaNs differ in sign
 * and payload, and count as one. tests/system/portable.sh compares them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/judge.h"
#include "../support/stage_case.h"

static rowscan_spec any_spec(uint64_t *random) {
  static const rowscan_type floats[] = {ROWSCAN_F16, ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F64};
  rowscan_spec spec = {.op = stage_below(random, 2) ? ROWSCAN_SUM : ROWSCAN_PROD};
  spec.in_type = (rowscan_type)(ROWSCAN_F16 + stage_below(random, ROWSCAN_BOOL));
  bool floating = spec.in_type <= ROWSCAN_F64 || stage_below(random, 3) == 0;
  spec.out_type = floating ? floats[stage_below(random, 4)]
                           : (rowscan_type)(ROWSCAN_I8 + stage_below(random, ROWSCAN_BOOL - ROWSCAN_I8));
  if (floating && stage_below(random, 4) == 0)
    spec.acc_type = ROWSCAN_F64;
  spec.flags = (unsigned)stage_below(random, 4);
  spec.mask_mode = (rowscan_mask_mode)stage_below(random, 3);
  if (spec.mask_mode)
    spec.mask_type = (const rowscan_type[]){ROWSCAN_BOOL, ROWSCAN_U8, spec.in_type}[stage_below(random, 3)];
  return spec;
}

static int64_t any_length(uint64_t *random) {
  static const int64_t most[] = {8, 100, 1000, 5000, 100000};
  return stage_below(random, most[stage_below(random, 5)]);
}

static bool is_nan(rowscan_type type, const char *element) {
  uint16_t half;
  float single;
  double value;
  switch (type) {
  case ROWSCAN_F16:
  case ROWSCAN_BF16:
    memcpy(&half, element, sizeof half);
    return isnan(judge_value(type, half));
  case ROWSCAN_F32:
    memcpy(&single, element, sizeof single);
    return isnan(single);
  case ROWSCAN_F64:
    memcpy(&value, element, sizeof value);
    return isnan(value);
  default:
    return false;
  }
}

/* FNV-1a. */
static uint64_t digest(uint64_t so_far, rowscan_type type, const char *memory, size_t bytes) {
  size_t size = rowscan_type_bytes(type);
  for (size_t i = 0; i + size <= bytes; i += size) {
    bool nan = is_nan(type, memory + i);
    for (size_t b = 0; b < size; b++)
      so_far = (so_far ^ (nan ? 0xff : (unsigned char)memory[i + b])) * 0x100000001b3;
  }
  return so_far;
}

static int run_case(uint64_t *random, rowscan_context *context, long number) {
  stage_case c;
  stage_result is;
  char *text;
  int64_t length = any_length(random);
  stage_form form = stage_any_form(random, length, 1 + 20000 / (length + 1));
  rowscan_spec spec = any_spec(random);
  stage_case_make(&c, random, &spec, &form);
  if (stage_case_run(&c, context, &is) || rowscan_spec_text(&c.spec, &text)) {
    fprintf(stderr, "problem %ld: %s\n", number, rowscan_last_error());
    return EXIT_FAILURE;
  }
  uint64_t sum = digest(0xcbf29ce484222325, c.spec.out_type, is.out, c.out.bytes);
  if (is.totals)
    sum = digest(sum, rs_kept_type(c.spec.acc_type), is.totals, c.totals.bytes);
  printf("%ld: rows=%lld dim=%d/%d %s: %016llx\n", number, (long long)c.rows, form.dim, form.rank, text,
         (unsigned long long)sum);
  rowscan_free(text);
  stage_result_free(&is);
  stage_case_free(&c);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  long count = argc > 1 ? atol(argv[1]) : 1000;
  uint64_t random = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  rowscan_context *contexts[2];
  int status = EXIT_SUCCESS;
  for (int i = 0; i < 2; i++)
    if (rowscan_open(&contexts[i],
                     ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = i ? 3 : 1, .cache_off = 1)))
      return EXIT_FAILURE;
  for (long i = 0; i < count && !status; i++)
    status = run_case(&random, contexts[i % 2], i);
  for (int i = 0; i < 2; i++)
    rowscan_close(contexts[i]);
  return status;
}
