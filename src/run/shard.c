/*
 * shard.c - the part of a row's elements that one call has: their states, and their scan from a state on
 * SPDX-License-Identifier: MIT
 *
 * A part is taken in the blocks that its fold has. Each is read for its state, and scanned from the prefix before it.
 * Where a block completes a larger one, the prefix after it is another grouping than the prefix before it combined with
 * its state; so that comes from the fold, too.
 */
#include "shard.h"

#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/status.h"
#include "context.h"
#include "spec/types.h"

/* An address for what is not looked at, aligned to any element. */
static _Alignas(64) char nowhere[64];

static int scanned(const rowscan_problem *problem) {
  return problem->dim < 0 ? problem->dim + problem->rank : problem->dim;
}

/* Everything that a scan of these rows alone would be told. */
static rowscan_status check_scan(const rowscan_context *context, const rowscan_problem *problem) {
  rowscan_spec spec;
  rs_rows rows;
  rowscan_status status = rs_rows_from_problem(&rows, &spec, problem);
  if (!status)
    status = rs_context_check_host(context, &spec, &rows, NULL);
  return status ? status : rs_overlap_check(&rows, &spec, NULL, 0);
}

rowscan_status rs_shard_read(rs_shard *part, const rowscan_context *context, const rowscan_problem *problem,
                             bool silent) {
  rowscan_problem states = *problem;
  part->host = context->host;
  part->problem = problem;
  states.init = (rowscan_input){.data = NULL};
  states.totals = (rowscan_output){.data = nowhere};
  if (silent)
    states.output.data = nowhere;
  if (silent && states.second.data)
    states.second.data = nowhere;
  rowscan_status status = silent ? ROWSCAN_OK : check_scan(context, problem);
  if (!status)
    status = rs_rows_from_problem(&part->rows, &part->spec, &states);
  if (!status && silent)
    part->rows.array[RS_OUT].data = part->rows.array[RS_SECOND].data = NULL;
  part->rows.array[RS_TOTALS].data = NULL;
  if (!status && silent)
    status = rs_context_check_host(context, &part->spec, &part->rows, NULL);
  if (!status)
    status = rs_spec_check_host(&part->spec);
  part->elements = status ? 0 : part->spec.length;
  return status;
}

/* ---- rows of the problem in C order ------------------------------------------------------------------------------ */

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

rowscan_status rs_shard_inits(const rs_shard *part, void **inits) {
  const rowscan_problem *problem = part->problem;
  int64_t strides[RS_MAX_ROW_RANK + 1], bytes = (int64_t)rowscan_type_bytes(rs_kept_type(part->spec.acc_type));
  *inits = NULL;
  if (!problem->init.data)
    return ROWSCAN_OK;
  *inits = malloc((size_t)rs_larger(part->rows.count * bytes, 1));
  if (!*inits)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for initial values: %lld rows", (long long)part->rows.count);
  rs_problem_strides(strides, problem->init.strides, problem, 1);
  for (int64_t r = 0; r < part->rows.count; r++)
    memcpy((char *)*inits + r * bytes, (const char *)problem->init.data + offset_of(problem, strides, r) * bytes,
           (size_t)bytes);
  return ROWSCAN_OK;
}

/* What a fold's prefixes show, of row r. */
static void show_row(const rs_fold *fold, int64_t r, void *number) {
  bool none = !fold->blocks && !fold->starts;
  rs_state_show(fold->op, number, none ? NULL : rs_fold_prefix(fold) + r * fold->bytes);
}

void rs_shard_totals(const rs_shard *part, const rs_fold *fold) {
  const rowscan_problem *problem = part->problem;
  int64_t strides[RS_MAX_ROW_RANK + 1], bytes = (int64_t)rowscan_type_bytes(rs_kept_type(part->spec.acc_type));
  if (!problem->totals.data)
    return;
  rs_problem_strides(strides, problem->totals.strides, problem, 1);
  for (int64_t r = 0; r < part->rows.count; r++)
    show_row(fold, r, (char *)problem->totals.data + offset_of(problem, strides, r) * bytes);
}

/* Makes a sum of an exclusive scan of one element. */
static void sum_of(rowscan_spec *spec, rs_rows *rows) {
  *spec = (rowscan_spec){.size = sizeof *spec,
                         .in_type = spec->in_type,
                         .out_type = spec->out_type,
                         .acc_type = spec->acc_type,
                         .flags = spec->flags,
                         .length = spec->length,
                         .row_rank = spec->row_rank};
  rows->further = false;
  rows->array[RS_MASK].data = NULL;
}

/* The prefixes before the part, which INCLUDE_INITIAL asks for: what an exclusive scan of one element shows. */
static rowscan_status write_initial(const rs_shard *part, const rs_fold *fold) {
  rowscan_spec spec;
  rs_rows rows;
  int64_t bytes = (int64_t)rowscan_type_bytes(rs_kept_type(part->spec.acc_type));
  bool none = !fold->blocks && !fold->starts;
  if (!part->rows.initial)
    return ROWSCAN_OK;
  char *numbers = malloc((size_t)rs_larger(part->rows.count * bytes, 1));
  if (!numbers)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for prefixes: %lld rows", (long long)part->rows.count);
  for (int64_t r = 0; r < part->rows.count; r++)
    show_row(fold, r, numbers + r * bytes);
  rs_initial_rows(&rows, &spec, &part->rows, &part->spec);
  const rs_op *op = rs_op_of(spec.op);
  if (!none && (op->kind == RS_INDEX || op->source)) /* what these start from is not what they show; sums show it */
    sum_of(&spec, &rows);
  rows.array[RS_INIT] = part->rows.array[RS_TOTALS];
  rows.array[RS_INIT].data = none ? NULL : numbers;
  rs_host_run(part->host, &spec, &rows);
  free(numbers);
  return ROWSCAN_OK;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* The rows of some of the part's elements, from `at` on in the order of the scan. */
static void block_of(const rs_shard *part, int64_t at, int64_t elements, rowscan_spec *spec, rs_rows *rows) {
  int64_t index = part->spec.flags & ROWSCAN_REVERSE ? part->elements - at - elements : at;
  *spec = part->spec;
  spec->length = elements;
  *rows = part->rows;
  rows->length = elements;
  for (int a = 0; a < rs_arrays(rows); a++)
    if (rows->array[a].data)
      rows->array[a].data = (char *)rows->array[a].data + index * rows->array[a].step * rows->array[a].bytes;
}

/* Marks of the element at `at` of each row. */
static void read_marks(const rs_shard *part, const rs_fold *fold, int64_t at, uint64_t *marks) {
  rowscan_spec spec;
  rs_rows rows;
  block_of(part, at, 1, &spec, &rows);
  rs_state_marks(fold->op, &rows, marks);
}

/* Whether a segment begins in each row at `at` of the part, of which the element before is one, too. */
static rowscan_status read_beginnings(const rs_shard *part, const rs_fold *fold, int64_t at, bool *begins) {
  int64_t rows = part->rows.count;
  uint64_t *marks = malloc((size_t)rs_larger(rows, 1) * 2 * sizeof *marks);
  if (!marks)
    return rs_fold_no_memory(rs_product(rows, 16));
  read_marks(part, fold, at - 1, marks);
  read_marks(part, fold, at, marks + rows);
  for (int64_t r = 0; r < rows; r++)
    begins[r] = rs_state_parts(fold->op, marks[r], marks[rows + r]);
  free(marks);
  return ROWSCAN_OK;
}

/* The states of the block at `at`. */
static rowscan_status total_block(const rs_shard *part, const rs_fold *fold, int64_t at, int level, bool *begins,
                                  char *states) {
  rowscan_spec spec;
  rs_rows rows;
  block_of(part, at, INT64_C(1) << level, &spec, &rows);
  rows.array[RS_TOTALS].data = states;
  rs_host_run_states(part->host, &spec, &rows, RS_STATES_TOTAL, fold->length);
  if (!fold->first || at == 0)
    return ROWSCAN_OK;
  rowscan_status status = read_beginnings(part, fold, at, begins);
  for (int64_t r = 0; !status && r < fold->rows; r++)
    if (begins[r])
      rs_state_begin(fold->op, states + r * fold->bytes);
  return status;
}

/* The next of a fold that begins with the part. */
static rowscan_status push_block(const rs_shard *part, rs_fold *fold, int64_t at, int level, bool *begins) {
  char *states = malloc((size_t)rs_larger(rs_product(fold->rows, fold->bytes), 1));
  if (!states)
    return rs_fold_no_memory(rs_product(fold->rows, fold->bytes));
  rowscan_status status = total_block(part, fold, at, level, begins, states);
  if (!status)
    return rs_fold_push(fold, level, states);
  free(states);
  return status;
}

rowscan_status rs_shard_total(const rs_shard *part, rs_fold *fold) {
  rowscan_status status = ROWSCAN_OK;
  int64_t begin = fold->begin, end = begin + part->elements;
  bool *begins = malloc((size_t)rs_larger(fold->rows, 1) * sizeof *begins);
  if (!begins)
    return rs_fold_no_memory(fold->rows);
  for (int64_t at = begin; at < end && !status;) {
    int level = rs_fold_level(at, end);
    status = push_block(part, fold, at - begin, level, begins);
    at += INT64_C(1) << level;
  }
  if (!status && fold->rows && part->elements && fold->first) {
    read_marks(part, fold, 0, fold->first);
    read_marks(part, fold, part->elements - 1, fold->last);
  }
  free(begins);
  return status;
}

/* What a scan of blocks needs besides, of all rows. */
typedef struct room {
  char *start; /* prefixes, each with the word behind it that says if a segment begins */
  bool *begins;
} room;

/* Prefixes before the block at `at` of the part. */
static rowscan_status fill_start(const rs_shard *part, const rs_fold *before, const rs_fold *own, int64_t at,
                                 const room *with) {
  int64_t each = rs_state_init_bytes(before->op);
  const char *prefix = rs_fold_prefix(before);
  rowscan_status status = ROWSCAN_OK;
  for (int64_t r = 0; r < before->rows; r++)
    with->begins[r] = at == 0 && own->first && rs_fold_parts(before, r, own->first[r]);
  if (at && own->first)
    status = read_beginnings(part, own, at, with->begins);
  for (int64_t r = 0; prefix && r < before->rows && !status; r++) {
    uint64_t word = with->begins[r];
    char *to = with->start + r * each;
    memcpy(to, prefix + r * before->bytes, (size_t)before->bytes);
    memcpy(to + each - sizeof word, &word, sizeof word);
  }
  return status;
}

static rowscan_status scan_block(const rs_shard *part, rs_fold *before, const rs_fold *own, int i, const room *with) {
  const rs_fold_block *block = &own->block[i];
  int64_t at = block->begin - own->begin;
  rowscan_spec spec;
  rs_rows rows;
  bool none = !before->blocks && !before->starts;
  rowscan_status status = fill_start(part, before, own, at, with);
  rs_fold one = {.op = own->op,
                 .rows = own->rows,
                 .bytes = own->bytes,
                 .first = i ? NULL : own->first,
                 .last = own->last,
                 .blocks = 1,
                 .block = {*block}};
  if (!status)
    status = rs_fold_append(before, &one);
  if (status)
    return status;
  block_of(part, at, INT64_C(1) << block->level, &spec, &rows);
  rows.array[RS_INIT] = rows.array[RS_TOTALS];
  rows.array[RS_INIT].data = none ? NULL : with->start;
  rows.array[RS_TOTALS].data = (char *)rs_fold_prefix(before);
  rs_host_run_states(part->host, &spec, &rows, RS_STATES_RESUME, before->length);
  return ROWSCAN_OK;
}

rowscan_status rs_shard_scan(const rs_shard *part, rs_fold *before, const rs_fold *own) {
  rowscan_status status = write_initial(part, before);
  int64_t rows = before->rows;
  room with = {.start = malloc((size_t)rs_larger(rs_product(rows, rs_state_init_bytes(before->op)), 1)),
               .begins = malloc((size_t)rs_larger(rows, 1) * sizeof *with.begins)};
  if (!with.start || !with.begins)
    status = rs_fold_no_memory(rs_product(rows, rs_state_init_bytes(before->op)));
  for (int i = 0; i < own->blocks && !status; i++)
    status = scan_block(part, before, own, i, &with);
  free(with.start);
  free(with.begins);
  return status;
}
