/*
 * shard_host.c - the part of a row's elements that one call has, in memory of the host
 * SPDX-License-Identifier: MIT
 *
 * A part is taken in the blocks that its fold has. Each is read for its state, and scanned from the prefix before it.
 * Where a block completes a larger one, the prefix after it is another grouping than the prefix before it combined with
 * its state; so that comes from the fold, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "context.h"
#include "shard_part.h"

/* What prefixes show, by row. NULL: no memory, which is an error. */
static void *shown(const rs_shard *part, const rs_fold *fold) {
  void *numbers = malloc((size_t)rs_larger(rs_product(fold->rows, rs_shard_number_bytes(part)), 1));
  if (numbers)
    rs_shard_show(part, fold, numbers);
  else
    rs_fold_no_memory(rs_product(fold->rows, rs_shard_number_bytes(part)));
  return numbers;
}

/* The prefixes before the part, which INCLUDE_INITIAL asks for. */
static rowscan_status write_first(const rs_shard *part, const rs_fold *fold) {
  rowscan_spec spec;
  rs_rows rows;
  if (!part->rows.initial)
    return ROWSCAN_OK;
  void *numbers = shown(part, fold);
  if (!numbers)
    return ROWSCAN_OUT_OF_MEMORY;
  rs_shard_prefix_rows(part, 0, !fold->blocks && !fold->starts, numbers, &spec, &rows);
  rs_host_run(part->context->host, &spec, &rows);
  free(numbers);
  return ROWSCAN_OK;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Marks of the element at `at` of each row. */
static void read_marks(const rs_shard *part, const rs_fold *fold, int64_t at, uint64_t *marks) {
  rowscan_spec spec;
  rs_rows rows;
  rs_shard_block(part, at, 1, &spec, &rows);
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
  rs_shard_block(part, at, INT64_C(1) << level, &spec, &rows);
  rows.array[RS_TOTALS].data = states;
  rs_host_run_states(part->context->host, &spec, &rows, RS_STATES_TOTAL, fold->length);
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

rowscan_status rs_shard_host_total(const rs_shard *part, rs_fold *fold) {
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
  if (!status)
    status = rs_shard_append(before, own, i);
  if (status)
    return status;
  rs_shard_block(part, at, INT64_C(1) << block->level, &spec, &rows);
  rows.array[RS_INIT] = rows.array[RS_TOTALS];
  rows.array[RS_INIT].data = none ? NULL : with->start;
  rows.array[RS_TOTALS].data = (char *)rs_fold_prefix(before);
  rs_host_run_states(part->context->host, &spec, &rows, RS_STATES_RESUME, before->length);
  return ROWSCAN_OK;
}

rowscan_status rs_shard_host_scan(const rs_shard *part, rs_fold *before, const rs_fold *own) {
  rowscan_status status = write_first(part, before);
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
