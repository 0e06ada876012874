/*
 * shard.c - the part of a row's elements that one call has: their states, and their scan from a state on
 * SPDX-License-Identifier: MIT
 */
#include "shard.h"

#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/status.h"
#include "context.h"
#include "shard_part.h"

/* An address for what is not looked at, aligned to any element. */
static _Alignas(64) char nowhere[64];

static bool on_gpu(const rs_shard *part) {
  return part->context->engine == ROWSCAN_ENGINE_CUDA;
}

/* Everything that a scan of these rows alone would be told. */
static rowscan_status check_scan(const rowscan_context *context, const rowscan_problem *problem,
                                 struct CUstream_st *stream) {
  rowscan_spec spec;
  rs_rows rows;
  rowscan_status status = rs_rows_from_problem(&rows, &spec, problem);
  if (!status && context->engine == ROWSCAN_ENGINE_HOST)
    status = rs_context_check_host(context, &spec, &rows, stream);
  return status ? status : rs_overlap_check(&rows, &spec, NULL, 0);
}

rowscan_status rs_shard_read(rs_shard *part, rowscan_context *context, const rowscan_problem *problem, bool silent,
                             struct CUstream_st *stream) {
  rowscan_problem states = *problem;
  part->context = context;
  part->stream = stream;
  part->problem = problem;
  states.init = (rowscan_input){.data = NULL};
  states.totals = (rowscan_output){.data = nowhere};
  if (silent)
    states.output.data = nowhere;
  if (silent && states.second.data)
    states.second.data = nowhere;
  rowscan_status status = silent ? ROWSCAN_OK : check_scan(context, problem, stream);
  if (!status)
    status = rs_rows_from_problem(&part->rows, &part->spec, &states);
  if (!status && silent)
    part->rows.array[RS_OUT].data = part->rows.array[RS_SECOND].data = NULL;
  part->rows.array[RS_TOTALS].data = NULL;
  if (!status && silent && !on_gpu(part))
    status = rs_context_check_host(context, &part->spec, &part->rows, stream);
  if (!status)
    status = rs_spec_check_host(&part->spec); /* which joins totals */
  if (!status && on_gpu(part))
    status = rs_shard_gpu_check(part);
  part->elements = status ? 0 : part->spec.length;
  return status;
}

rowscan_status rs_shard_total(const rs_shard *part, rs_fold *fold) {
  return on_gpu(part) ? rs_shard_gpu_total(part, fold) : rs_shard_host_total(part, fold);
}

rowscan_status rs_shard_ready(const rs_shard *part, const rs_fold *own) {
  return on_gpu(part) ? rs_shard_gpu_ready(part, own) : ROWSCAN_OK;
}

rowscan_status rs_shard_scan(const rs_shard *part, rs_fold *before, const rs_fold *own) {
  return on_gpu(part) ? rs_shard_gpu_scan(part, before, own) : rs_shard_host_scan(part, before, own);
}

/* ---- numbers of rows, in C order --------------------------------------------------------------------------------- */

static int scanned(const rowscan_problem *problem) {
  return problem->dim < 0 ? problem->dim + problem->rank : problem->dim;
}

/* Offset of a row in an array of one element a row, in elements. */
static int64_t offset_of(const rowscan_problem *problem, const int64_t *strides, int64_t row) {
  int64_t offset = 0;
  for (int d = problem->rank - 1; d >= 0; d--) {
    if (d == scanned(problem))
      continue;
    offset += row % problem->shape[d] * strides[d];
    row /= problem->shape[d];
  }
  return offset;
}

static void read_inits(const rs_shard *part, char *inits, int64_t bytes) {
  const rowscan_problem *problem = part->problem;
  int64_t strides[RS_MAX_ROW_RANK + 1];
  rs_problem_strides(strides, problem->init.strides, problem, 1);
  for (int64_t r = 0; r < part->rows.count; r++)
    memcpy(inits + r * bytes, (const char *)problem->init.data + offset_of(problem, strides, r) * bytes, (size_t)bytes);
}

static void write_totals(const rs_shard *part, const char *numbers, int64_t bytes) {
  const rowscan_problem *problem = part->problem;
  int64_t strides[RS_MAX_ROW_RANK + 1];
  rs_problem_strides(strides, problem->totals.strides, problem, 1);
  for (int64_t r = 0; r < part->rows.count; r++)
    memcpy((char *)problem->totals.data + offset_of(problem, strides, r) * bytes, numbers + r * bytes, (size_t)bytes);
}

/* Memory for a number of each row; NULL: there is none, which is an error. */
static char *take_numbers(const rs_shard *part) {
  int64_t bytes = rs_product(part->rows.count, rs_shard_number_bytes(part));
  char *numbers = malloc((size_t)rs_larger(bytes, 1));
  if (!numbers)
    rs_fold_no_memory(bytes);
  return numbers;
}

rowscan_status rs_shard_inits(const rs_shard *part, void **inits) {
  rowscan_status status = ROWSCAN_OK;
  *inits = NULL;
  if (!part->problem->init.data)
    return ROWSCAN_OK;
  char *numbers = take_numbers(part);
  if (!numbers)
    return ROWSCAN_OUT_OF_MEMORY;
  if (on_gpu(part))
    status = rs_shard_gpu_inits(part, numbers);
  else
    read_inits(part, numbers, rs_shard_number_bytes(part));
  if (status)
    free(numbers);
  else
    *inits = numbers;
  return status;
}

rowscan_status rs_shard_totals(const rs_shard *part, const rs_fold *fold) {
  rowscan_status status = ROWSCAN_OK;
  if (!part->problem->totals.data)
    return ROWSCAN_OK;
  char *numbers = take_numbers(part);
  if (!numbers)
    return ROWSCAN_OUT_OF_MEMORY;
  rs_shard_show(part, fold, numbers);
  if (on_gpu(part))
    status = rs_shard_gpu_totals(part, numbers);
  else
    write_totals(part, numbers, rs_shard_number_bytes(part));
  free(numbers);
  return status;
}
