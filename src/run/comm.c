/*
 * comm.c - one scan of rows that are cut over the ranks of a communicator
 * SPDX-License-Identifier: MIT
 *
 * Ranks exchange three things, by the caller's all-gather: what each of them is to scan, whether each could read its
 * part and has memory, and records. Small records travel with the second. All ranks judge the same bytes, so that all
 * return the same status; nothing is written before. After the records are there a rank needs nobody.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/ints.h"
#include "base/sized.h"
#include "base/status.h"
#include "context.h"
#include "shard.h"

enum { VERSION = 2, MOST_TEXT = 1000, MOST_RECORD = 3072 };

/* What a rank tells all others, twice. */
typedef struct word {
  uint32_t version;
  int32_t status; /* of the rank, and its message */
  int64_t elements, rows;
  char text[MOST_TEXT];     /* what it scans, or else the message */
  char record[MOST_RECORD]; /* the second time, if the records of all ranks are no larger */
} word;

typedef struct gathering {
  rowscan_comm comm;
  rowscan_problem problem;
  rs_shard shard;
  rs_fold own, before;
  word mine, *all;
  int64_t *begin; /* of each part in the order of the scan, and where the last one ends */
  char *records;
  int64_t room, stride; /* of each, and from one to the next */
} gathering;

static rowscan_status check_comm(rowscan_comm *comm, const rowscan_comm *given) {
  rowscan_status status = rs_sized_read(comm, sizeof *comm, given, "comm", "ROWSCAN_COMM");
  if (status)
    return status;
  if (comm->ranks < 1)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "comm: field 'ranks': %d is not at least 1", comm->ranks);
  if (comm->rank < 0 || comm->rank >= comm->ranks)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "comm: field 'rank': %d is not between 0 and %d", comm->rank, comm->ranks - 1);
  return comm->all_gather ? ROWSCAN_OK : rs_fail(ROWSCAN_BAD_ARGUMENT, "comm: field 'all_gather': NULL");
}

/* `bytes`: a multiple of 8. */
static rowscan_status gather(const rowscan_comm *comm, const void *send, void *receive, size_t bytes) {
  int result = comm->ranks > 1 ? comm->all_gather(comm->user, send, receive, bytes) : 0;
  if (comm->ranks == 1)
    memcpy(receive, send, bytes);
  return result ? rs_fail(ROWSCAN_COMM_FAILED, "comm: all_gather of %zu bytes returned %d", bytes, result) : ROWSCAN_OK;
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

/* The place of a rank, which come in the order of memory, in that of the scan; and the rank of a place. */
static int place_of(const gathering *g, int rank) {
  return g->problem.flags & ROWSCAN_REVERSE ? g->comm.ranks - 1 - rank : rank;
}

/* The first rank that failed fails all. */
static rowscan_status judge_statuses(const gathering *g) {
  for (int r = 0; r < g->comm.ranks; r++)
    if (g->all[r].version != VERSION)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "rank %d: speaks version %u, but rowscan %s version %d", r,
                     g->all[r].version, ROWSCAN_VERSION_STRING, VERSION);
  for (int r = 0; r < g->comm.ranks; r++)
    if (g->all[r].status)
      return rs_fail_lines((rowscan_status)g->all[r].status, "rank %d: %.*s", r, MOST_TEXT - 1, g->all[r].text);
  return ROWSCAN_OK;
}

/* All ranks return what the first one that failed does. */
static rowscan_status agree(gathering *g, rowscan_status status) {
  g->mine.status = (int32_t)status;
  if (status)
    snprintf(g->mine.text, sizeof g->mine.text, "%s", rowscan_last_error());
  status = gather(&g->comm, &g->mine, g->all, sizeof g->mine);
  return status ? status : judge_statuses(g);
}

/* What ranks must have in common, and where their parts begin. */
static rowscan_status judge_scans(gathering *g) {
  for (int r = 0; r < g->comm.ranks; r++) {
    const word *one = &g->all[r], *first = &g->all[0];
    if (memcmp(one->text, first->text, sizeof one->text) != 0)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "rank %d: scans '%.*s', but rank 0 '%.*s'", r, MOST_TEXT - 1, one->text,
                     MOST_TEXT - 1, first->text);
    if (one->rows != first->rows)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "rank %d: has %lld rows, but rank 0 has %lld", r, (long long)one->rows,
                     (long long)first->rows);
  }
  int64_t end = 0;
  for (int p = 0; p < g->comm.ranks; p++) {
    g->begin[p] = end;
    end += rs_larger(g->all[place_of(g, p)].elements, 0);
    if (end > RS_MAX_LENGTH)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "rank %d: the row exceeds 2^56 elements", place_of(g, p));
  }
  g->begin[g->comm.ranks] = end;
  return ROWSCAN_OK;
}

static void tell_scan(gathering *g) {
  rs_text text = {0};
  rs_fold form = {.spec = rs_fold_spec(&g->shard.spec)};
  memcpy(form.params, g->problem.params, sizeof form.params);
  rs_fold_text(&form, &text);
  g->mine.elements = g->shard.elements;
  g->mine.rows = g->shard.rows.count;
  snprintf(g->mine.text, sizeof g->mine.text, "%s", text.failed ? "" : text.data);
  rs_text_free(&text);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static bool fits_word(const gathering *g) {
  return g->room <= MOST_RECORD;
}

/* Where the records of all ranks will be, and that of this one is until then. */
static rowscan_status take_records(gathering *g) {
  for (int r = 0; r < g->comm.ranks; r++)
    g->room = rs_larger(g->room, rs_record_bytes(&g->own, g->begin[r], g->begin[r + 1]));
  if (fits_word(g)) {
    g->stride = sizeof(word);
    return ROWSCAN_OK;
  }
  int64_t bytes = rs_product(g->room, (int64_t)g->comm.ranks + 1);
  g->stride = g->room;
  g->records = calloc(1, (size_t)bytes);
  return g->records ? ROWSCAN_OK : rs_fold_no_memory(bytes);
}

static rowscan_status gather_records(const gathering *g) {
  if (fits_word(g))
    return ROWSCAN_OK;
  return gather(&g->comm, g->records, g->records + g->room, (size_t)g->room);
}

static const char *record_of(const gathering *g, int rank) {
  return (fits_word(g) ? g->all[0].record : g->records + g->room) + rank * g->stride;
}

/* Reads the part, and takes all memory that the exchange needs. */
static rowscan_status total_own(gathering *g) {
  int place = place_of(g, g->comm.rank);
  rowscan_status status =
      rs_fold_open(&g->own, &g->shard.spec, &g->shard.rows, g->begin[g->comm.ranks], g->begin[place]);
  if (!status)
    status = rs_shard_total(&g->shard, &g->own);
  if (!status)
    status = take_records(g);
  return status ? status : rs_record_write(&g->own, fits_word(g) ? g->mine.record : g->records);
}

static rowscan_status start_before(gathering *g) {
  void *inits;
  rowscan_status status = rs_shard_inits(&g->shard, &inits);
  if (!status)
    status = rs_fold_open(&g->before, &g->shard.spec, &g->shard.rows, g->begin[g->comm.ranks], 0);
  if (!status)
    status = rs_fold_start(&g->before, inits);
  free(inits);
  return status;
}

/* Of places in the order of the scan. */
static rowscan_status append(gathering *g, int first, int last) {
  rowscan_status status = ROWSCAN_OK;
  for (int p = first; p < last && !status; p++) {
    char name[32];
    int r = place_of(g, p);
    snprintf(name, sizeof name, "rank %d", r);
    status = rs_record_append(&g->before, record_of(g, r), (size_t)g->room, name);
  }
  return status;
}

static rowscan_status scan_own(gathering *g) {
  int place = place_of(g, g->comm.rank);
  rowscan_status status = append(g, 0, place);
  if (!status)
    status = rs_shard_scan(&g->shard, &g->before, &g->own);
  if (!status && g->problem.totals.data)
    status = append(g, place + 1, g->comm.ranks);
  if (!status)
    status = rs_shard_totals(&g->shard, &g->before);
  return status;
}

static rowscan_status run_all(gathering *g, rowscan_status status) {
  if (!status)
    tell_scan(g);
  status = agree(g, status);
  if (!status)
    status = judge_scans(g);
  if (status)
    return status;
  status = total_own(g);
  if (!status)
    status = start_before(g);
  if (!status)
    status = rs_shard_ready(&g->shard, &g->own);
  status = agree(g, status);
  if (!status)
    status = gather_records(g);
  return status ? status : scan_own(g);
}

static rowscan_status read_problem_of(gathering *g, rowscan_context *context, const rowscan_problem *problem,
                                      struct CUstream_st *stream) {
  rowscan_status status = rs_problem_read(&g->problem, problem);
  if (status)
    return status;
  return rs_shard_read(&g->shard, context, &g->problem, false, stream);
}

static rowscan_status open_gathering(gathering **opened, const rowscan_comm *comm) {
  gathering *g = calloc(1, sizeof *g);
  if (!g)
    return rs_fold_no_memory((int64_t)sizeof *g);
  *opened = g;
  rowscan_status status = check_comm(&g->comm, comm);
  if (status)
    return status;
  g->mine.version = VERSION;
  g->all = calloc((size_t)g->comm.ranks, sizeof *g->all);
  g->begin = calloc((size_t)g->comm.ranks + 1, sizeof *g->begin);
  return g->all && g->begin ? ROWSCAN_OK : rs_fold_no_memory(rs_product(g->comm.ranks, (int64_t)sizeof *g->all));
}

static void close_gathering(gathering *g) {
  if (!g)
    return;
  rs_fold_close(&g->own);
  rs_fold_close(&g->before);
  free(g->all);
  free(g->begin);
  free(g->records);
  free(g);
}

rowscan_status rowscan_shard_scan(rowscan_context *context, const rowscan_problem *problem, const rowscan_comm *comm,
                                  struct CUstream_st *stream) {
  RS_UNCANCELLED;
  gathering *g = NULL;
  rowscan_status status = open_gathering(&g, comm);
  if (!status)
    status = run_all(g, read_problem_of(g, context, problem, stream));
  close_gathering(g);
  return status;
}

rowscan_status rowscan_shard_fail(const rowscan_comm *comm, rowscan_status status, const char *message) {
  RS_UNCANCELLED;
  gathering *g = NULL;
  rowscan_status failed = open_gathering(&g, comm);
  if (!failed && (status <= ROWSCAN_OK || status > ROWSCAN_COMM_FAILED))
    failed = rs_fail(ROWSCAN_BAD_ARGUMENT, "status: %d is not that of a failure", (int)status);
  if (!failed)
    failed = agree(g, rs_fail_lines(status, "%s", message));
  close_gathering(g);
  return failed;
}
