/*
 * records.c - rows that are cut over processes, hosts or files: records of their parts, and scans that go on
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/ints.h"
#include "base/sized.h"
#include "base/status.h"
#include "context.h"
#include "shard.h"

/* A call about a part. */
typedef struct task {
  rowscan_problem problem;
  rowscan_part given;
  rs_shard part;
  rs_fold before, own;
} task;

static rowscan_status read_given(task *one, const rowscan_problem *problem, const rowscan_part *given) {
  rowscan_status status = rs_sized_read(&one->given, sizeof one->given, given, "part", "ROWSCAN_PART");
  return status ? status : rs_problem_read(&one->problem, problem);
}

static rowscan_status check_given(const task *one) {
  const rowscan_part *given = &one->given;
  int64_t elements = one->part.elements;
  if (given->begin < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "part: field 'begin': %lld is negative", (long long)given->begin);
  if (given->length < 0 || given->length > RS_MAX_LENGTH)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "part: field 'length': %lld is not between 0 and 2^56",
                   (long long)given->length);
  if (given->begin > given->length - elements)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "part: field 'length': %lld, but the part has %lld elements from %lld on",
                   (long long)given->length, (long long)elements, (long long)given->begin);
  return ROWSCAN_OK;
}

/* The fold of the part: from its record, or of its elements. */
static rowscan_status fold_own(task *one) {
  const rowscan_part *given = &one->given;
  rowscan_status status = rs_fold_open(&one->own, &one->part.spec, &one->part.rows, given->length, given->begin);
  if (status || !given->own)
    return status ? status : rs_shard_total(&one->part, &one->own);
  status = rs_record_append(&one->own, given->own, given->own_bytes, "part: field 'own'");
  if (!status && one->own.end != given->begin + one->part.elements)
    status = rs_fail(ROWSCAN_BAD_ARGUMENT, "part: field 'own': it ends at %lld, but the part at %lld",
                     (long long)one->own.end, (long long)(given->begin + one->part.elements));
  return status;
}

static rowscan_status fold_before(task *one) {
  const rowscan_part *given = &one->given;
  void *inits;
  rowscan_status status = rs_shard_inits(&one->part, &inits);
  if (!status)
    status = rs_fold_open(&one->before, &one->part.spec, &one->part.rows, given->length, 0);
  if (!status)
    status = rs_fold_start(&one->before, inits);
  free(inits);
  if (!status && given->before)
    status = rs_record_append(&one->before, given->before, given->before_bytes, "part: field 'before'");
  if (!status && one->before.end != given->begin)
    status = rs_fail(ROWSCAN_BAD_ARGUMENT, "part: field 'before': %s ends at %lld, but the part begins at %lld",
                     given->before ? "it" : "NULL", (long long)one->before.end, (long long)given->begin);
  return status;
}

rowscan_status rowscan_part_scan(rowscan_context *context, const rowscan_problem *problem, const rowscan_part *part,
                                 struct CUstream_st *stream) {
  RS_UNCANCELLED;
  task one = {.problem.size = 0};
  rowscan_status status = read_given(&one, problem, part);
  if (!status)
    status = rs_shard_read(&one.part, context, &one.problem, false, stream);
  if (!status)
    status = check_given(&one);
  if (!status)
    status = fold_before(&one);
  if (!status)
    status = fold_own(&one);
  if (!status)
    status = rs_shard_ready(&one.part, &one.own);
  if (!status)
    status = rs_shard_scan(&one.part, &one.before, &one.own);
  if (!status)
    status = rs_shard_totals(&one.part, &one.before);
  rs_fold_close(&one.before);
  rs_fold_close(&one.own);
  return status;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static rowscan_status check_room(const char *name, size_t bytes, int64_t needed) {
  return needed < INT64_MAX && bytes >= (size_t)needed
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_BAD_ARGUMENT, "%s: %zu bytes, but the record has %lld", name, bytes, (long long)needed);
}

rowscan_status rowscan_part_record(rowscan_context *context, const rowscan_problem *problem, const rowscan_part *part,
                                   void *record, size_t bytes, struct CUstream_st *stream) {
  RS_UNCANCELLED;
  task one = {.problem.size = 0};
  rowscan_status status = read_given(&one, problem, part);
  one.given.own = NULL;
  if (!status)
    status = rs_shard_read(&one.part, context, &one.problem, true, stream);
  if (!status)
    status = check_given(&one);
  if (!status)
    status = fold_own(&one);
  if (!status)
    status = check_room("record", bytes, rs_record_bytes(&one.own, one.own.begin, one.own.end));
  if (!status)
    status = rs_record_write(&one.own, record);
  rs_fold_close(&one.own);
  return status;
}

typedef rowscan_status opener(rs_fold *fold, const rowscan_spec *spec, const rs_rows *rows, int64_t length,
                              int64_t begin);

/* A fold of a problem's scan, whose elements are elsewhere. */
static rowscan_status open_form(rs_fold *fold, const rowscan_problem *given, int64_t length, int64_t begin,
                                opener *open) {
  rowscan_problem problem;
  rowscan_spec spec;
  rs_rows rows;
  int64_t shape[RS_MAX_ROW_RANK + 1];
  rowscan_status status = rs_problem_read(&problem, given);
  if (status)
    return status;
  for (int d = 0; problem.shape && d < problem.rank && d <= RS_MAX_ROW_RANK; d++)
    shape[d] = d == problem.dim || d - problem.rank == problem.dim ? 0 : problem.shape[d];
  problem.shape = problem.shape ? shape : NULL;
  problem.flags &= ~ROWSCAN_INCLUDE_INITIAL;
  status = rs_rows_from_problem(&rows, &spec, &problem);
  return status ? status : open(fold, &spec, &rows, length, begin);
}

rowscan_status rowscan_record_bytes(const rowscan_problem *problem, int64_t begin, int64_t end, size_t *bytes) {
  RS_UNCANCELLED;
  rs_fold fold = {.blocks = 0};
  if (begin < 0 || begin > end || end > RS_MAX_LENGTH)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "begin, end: %lld and %lld are not 0 <= begin <= end <= 2^56",
                   (long long)begin, (long long)end);
  rowscan_status status = open_form(&fold, problem, end, begin, rs_fold_describe);
  int64_t needed = status ? 0 : rs_record_bytes(&fold, begin, end);
  if (!status && needed == INT64_MAX)
    status = rs_fail(ROWSCAN_OUT_OF_MEMORY, "a record of %lld rows exceeds any memory", (long long)fold.rows);
  if (!status)
    *bytes = (size_t)needed;
  rs_fold_close(&fold);
  return status;
}

/* Of neighbours, the first one's length of rows. */
static rowscan_status open_merged(rs_fold *fold, const rowscan_problem *problem, const void *record, size_t bytes) {
  int64_t begin, end, length;
  rowscan_status status = rs_record_look(record, bytes, &begin, &end, &length);
  return status ? status : open_form(fold, problem, length, begin, rs_fold_open);
}

rowscan_status rowscan_record_merge(const rowscan_problem *problem, int count, const void *const *records,
                                    const size_t *bytes, void *merged, size_t merged_bytes) {
  RS_UNCANCELLED;
  rs_fold fold = {.blocks = 0};
  if (count < 1)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "count: %d is not at least 1", count);
  rowscan_status status = open_merged(&fold, problem, records[0], bytes[0]);
  for (int i = 0; i < count && !status; i++) {
    char name[32];
    snprintf(name, sizeof name, "records[%d]", i);
    status = rs_record_append(&fold, records[i], bytes[i], name);
  }
  if (!status)
    status = check_room("merged", merged_bytes, rs_record_bytes(&fold, fold.begin, fold.end));
  if (!status)
    status = rs_record_write(&fold, merged);
  rs_fold_close(&fold);
  return status;
}

rowscan_status rowscan_record_info_get(const void *record, size_t bytes, rowscan_record_info *info) {
  RS_UNCANCELLED;
  rowscan_record_info read = {.size = sizeof read};
  rowscan_status status = rs_sized_check(info, "info", "ROWSCAN_INFO");
  if (!status)
    status = rs_record_look(record, bytes, &read.begin, &read.end, &read.length);
  if (!status)
    rs_sized_write(info, &read, sizeof read);
  return status;
}
