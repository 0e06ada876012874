/*
 * stage_case.h - random problems in host memory, for the suites of rowscan_scan_host
 * SPDX-License-Identifier: MIT
 *
 * Tensors of up to four dimensions in any order, with gaps, backward strides, repeated inputs, and in place; initial
 * values and totals likewise, each as it likes.
 */
#ifndef STAGE_CASE_H
#define STAGE_CASE_H

#include <stdbool.h>

#include "rowscan.h"

enum { STAGE_RANK = 4 };

typedef struct stage_array {
  char *memory;
  size_t bytes;
  int64_t origin; /* of element [0, ..., 0], in bytes */
  int64_t strides[STAGE_RANK];
} stage_array;

typedef struct stage_form {
  int rank, dim;
  int64_t shape[STAGE_RANK];
  bool dense; /* all arrays in C order */
} stage_form;

typedef struct stage_case {
  rowscan_spec spec; /* complete */
  stage_form form;
  int64_t rows;
  bool in_place;
  stage_array in, out, mask, init, totals; /* without memory: there is none */
} stage_case;

/* What a run writes. Compares as a whole: gaps must stay as they were. */
typedef struct stage_result {
  char *out, *totals;
} stage_result;

int64_t stage_below(uint64_t *random, int64_t n); /* 0 to n - 1 */

/* Any rank, any scanned dimension. */
stage_form stage_any_form(uint64_t *random, int64_t length, int64_t most_rows);

/* The length in `spec` is not looked at. */
void stage_case_make(stage_case *c, uint64_t *random, const rowscan_spec *spec, const stage_form *form);
void stage_case_free(stage_case *c);

/* Each makes the result's memory, which the caller frees. */
rowscan_status stage_case_run(const stage_case *c, rowscan_context *context, stage_result *result);
void stage_case_judge(const stage_case *c, stage_result *result);
void stage_result_free(stage_result *result);

/* Fails the test with a description of the problem if two results differ, or the result from what was there. */
void stage_case_compare(const stage_case *c, const stage_result *is, const stage_result *should, const char *what);
void stage_case_untouched(const stage_case *c, const stage_result *is, const char *what);

#endif
