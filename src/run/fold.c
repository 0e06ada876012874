/*
 * fold.c - the blocks that make up a run of each row's elements, and the prefixes through them
 * SPDX-License-Identifier: MIT
 */
#include "fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/status.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian"
#endif

rowscan_status rs_fold_no_memory(int64_t bytes) {
  return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the states of rows: %lld bytes", (long long)bytes);
}

rowscan_spec rs_fold_spec(const rowscan_spec *spec) {
  rowscan_spec form = *spec;
  form.length = 0;
  form.layout = ROWSCAN_LAYOUT_ROWS;
  form.row_rank = 0;
  form.regime = ROWSCAN_REGIME_AUTO;
  form.second_type = ROWSCAN_TYPE_DEFAULT;
  return form;
}

rowscan_status rs_fold_describe(rs_fold *fold, const rowscan_spec *spec, const rs_rows *rows, int64_t length,
                                int64_t begin) {
  rowscan_spec whole = *spec;
  *fold = (rs_fold){.spec = rs_fold_spec(spec), .length = length, .rows = rows->count, .begin = begin, .end = begin};
  for (int i = 0; i < rs_op_of(spec->op)->params; i++)
    fold->params[i] = rows->params[i];
  whole.length = length;
  rowscan_status status = rs_spec_check_length(&whole);
  if (status)
    return status;
  fold->op = rs_state_open(&fold->spec, length);
  if (!fold->op)
    return rs_fold_no_memory((int64_t)sizeof *fold);
  fold->bytes = rs_state_bytes(fold->op);
  return ROWSCAN_OK;
}

rowscan_status rs_fold_open(rs_fold *fold, const rowscan_spec *spec, const rs_rows *rows, int64_t length,
                            int64_t begin) {
  rowscan_status status = rs_fold_describe(fold, spec, rows, length, begin);
  if (status || !rs_state_asks(fold->op))
    return status;
  fold->first = calloc((size_t)rs_larger(fold->rows, 1), 2 * sizeof *fold->first);
  if (!fold->first)
    return rs_fold_no_memory(rs_product(fold->rows, 16));
  fold->last = fold->first + fold->rows;
  return ROWSCAN_OK;
}

void rs_fold_close(rs_fold *fold) {
  for (int i = 0; i < fold->blocks; i++) {
    free(fold->block[i].total);
    free(fold->block[i].state);
  }
  free(fold->first);
  free(fold->start);
  free(fold->op);
  *fold = (rs_fold){.blocks = 0};
}

static char *take_states(const rs_fold *fold) {
  return malloc((size_t)rs_larger(rs_product(fold->rows, fold->bytes), 1));
}

rowscan_status rs_fold_start(rs_fold *fold, const void *inits) {
  int64_t number = (int64_t)rowscan_type_bytes(rs_kept_type(fold->spec.acc_type));
  bool starts = true;
  fold->start = take_states(fold);
  if (!fold->start)
    return rs_fold_no_memory(rs_product(fold->rows, fold->bytes));
  fold->prefixes = true;
  fold->starts = inits;
  for (int64_t r = 0; r < fold->rows && starts; r++)
    starts = rs_state_start(fold->op, fold->start + r * fold->bytes, inits ? (const char *)inits + r * number : NULL);
  if (!starts) {
    free(fold->start);
    fold->start = NULL;
  }
  return ROWSCAN_OK;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

int rs_fold_level(int64_t at, int64_t end) {
  int most = 63 - __builtin_clzll((unsigned long long)(end - at));
  int aligned = at ? __builtin_ctzll((unsigned long long)at) : most;
  return aligned < most ? aligned : most;
}

int rs_fold_count(int64_t begin, int64_t end) {
  int count = 0;
  for (; begin < end; begin += INT64_C(1) << rs_fold_level(begin, end))
    count++;
  return count;
}

/* Whether a block follows its left sibling. */
static bool completes(const rs_fold *fold, int level) {
  if (!fold->blocks)
    return false;
  const rs_fold_block *top = &fold->block[fold->blocks - 1];
  return top->level == level && top->begin % (INT64_C(2) << level) == 0;
}

rowscan_status rs_fold_push(rs_fold *fold, int level, char *totals) {
  rs_fold_block *next;
  int64_t end = fold->end + (INT64_C(1) << level);
  while (completes(fold, level)) {
    rs_fold_block *left = &fold->block[--fold->blocks];
    rs_state_join(fold->op, totals, left->total, totals, fold->rows);
    free(left->total);
    free(left->state);
    level++;
  }
  const char *before = fold->prefixes ? rs_fold_prefix(fold) : NULL;
  next = &fold->block[fold->blocks++];
  *next = (rs_fold_block){.begin = end - (INT64_C(1) << level), .level = level, .total = totals};
  fold->end = end;
  if (!fold->prefixes)
    return ROWSCAN_OK;
  next->state = take_states(fold);
  if (!next->state)
    return rs_fold_no_memory(rs_product(fold->rows, fold->bytes));
  if (before)
    rs_state_join(fold->op, next->state, before, totals, fold->rows);
  else
    memcpy(next->state, totals, (size_t)(fold->rows * fold->bytes));
  return ROWSCAN_OK;
}

/* Marks of the elements that were appended to a fold, which was empty before or not. */
static void take_marks(rs_fold *fold, bool empty, const uint64_t *first, const uint64_t *last) {
  if (empty)
    memcpy(fold->first, first, (size_t)fold->rows * sizeof *first);
  memcpy(fold->last, last, (size_t)fold->rows * sizeof *last);
}

/* Takes the next block, the first of those that another fold or a record has. */
static rowscan_status append_block(rs_fold *fold, int level, const char *totals, const uint64_t *first) {
  char *copy = take_states(fold);
  if (!copy)
    return rs_fold_no_memory(rs_product(fold->rows, fold->bytes));
  memcpy(copy, totals, (size_t)(fold->rows * fold->bytes));
  for (int64_t r = 0; first && r < fold->rows; r++)
    if (rs_fold_parts(fold, r, first[r]))
      rs_state_begin(fold->op, copy + r * fold->bytes);
  return rs_fold_push(fold, level, copy);
}

rowscan_status rs_fold_append(rs_fold *fold, const rs_fold *next) {
  rowscan_status status = ROWSCAN_OK;
  bool empty = fold->end == fold->begin;
  for (int i = 0; i < next->blocks && !status; i++)
    status = append_block(fold, next->block[i].level, next->block[i].total, i ? NULL : next->first);
  if (next->blocks && next->first)
    take_marks(fold, empty, next->first, next->last);
  return status;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

typedef struct header {
  char magic[8];
  uint32_t version, text_bytes;
  int64_t begin, end, length, rows;
  uint32_t state_bytes, mark_words;
  uint64_t reserved;
} header;

static const char magic[] = "RSRECORD";

enum { VERSION = 1, WORD = 8, MOST_TEXT = 4096 };

static int64_t round_up(int64_t bytes) {
  return rs_ceiling(bytes, WORD) * WORD;
}

void rs_fold_text(const rs_fold *fold, rs_text *text) {
  rs_spec_line(&fold->spec, text);
  for (int i = 0; i < rs_op_of(fold->spec.op)->params; i++)
    rs_text_add(text, " param%d=%.17g", i, fold->params[i]);
}

static int64_t bytes_beyond(int64_t text, int64_t rows, int64_t marks, int64_t blocks, int64_t state) {
  int64_t states = rs_product(rs_product(blocks, rows), state), words = rs_product(rows, marks * WORD), sum;
  return __builtin_add_overflow(states, words, &sum) || sum > INT64_MAX / 2
             ? INT64_MAX
             : (int64_t)sizeof(header) + text + words + round_up(states);
}

int64_t rs_record_bytes(const rs_fold *fold, int64_t begin, int64_t end) {
  rs_text text = {0};
  rs_fold_text(fold, &text);
  int64_t bytes = bytes_beyond(round_up((int64_t)text.length), fold->rows, rs_state_asks(fold->op) ? 2 : 0,
                               rs_fold_count(begin, end), fold->bytes);
  bytes = text.failed ? INT64_MAX : bytes;
  rs_text_free(&text);
  return bytes;
}

rowscan_status rs_record_write(const rs_fold *fold, void *record) {
  rs_text text = {0};
  rs_fold_text(fold, &text);
  if (text.failed) {
    rs_text_free(&text);
    return rs_fold_no_memory(MOST_TEXT);
  }
  header h = {.version = VERSION,
              .text_bytes = (uint32_t)round_up((int64_t)text.length),
              .begin = fold->begin,
              .end = fold->end,
              .length = fold->length,
              .rows = fold->rows,
              .state_bytes = (uint32_t)fold->bytes,
              .mark_words = fold->first ? 2 : 0};
  char *at = record;
  int64_t states = fold->rows * fold->bytes;
  memcpy(h.magic, magic, sizeof h.magic);
  memcpy(at, &h, sizeof h);
  at += sizeof h;
  memset(at, 0, h.text_bytes);
  memcpy(at, text.data, text.length);
  at += h.text_bytes;
  for (int64_t r = 0; fold->first && r < fold->rows; r++, at += 2 * WORD)
    memcpy(at, (uint64_t[]){fold->first[r], fold->last[r]}, 2 * WORD);
  for (int i = 0; i < fold->blocks; i++, at += states) {
    memcpy(at, fold->block[i].total, (size_t)states);
    rs_state_tidy(fold->op, at, fold->rows);
  }
  memset(at, 0, (size_t)(round_up(fold->blocks * states) - fold->blocks * states));
  rs_text_free(&text);
  return ROWSCAN_OK;
}

static rowscan_status bad(const char *name, const char *why) {
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "%s: %s", name, why);
}

static rowscan_status read_header(header *h, const void *record, size_t bytes, const char *name) {
  if (!record)
    return bad(name, "NULL");
  if (bytes < sizeof *h)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "%s: %zu bytes, but a record has at least %zu", name, bytes, sizeof *h);
  memcpy(h, record, sizeof *h);
  if (memcmp(h->magic, magic, sizeof h->magic) != 0)
    return bad(name, "the bytes are not a record of rowscan");
  if (h->version != VERSION)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "%s: field 'version': %u, but rowscan %s reads %d", name, h->version,
                   ROWSCAN_VERSION_STRING, VERSION);
  bool fits = h->begin >= 0 && h->begin <= h->end && h->end <= h->length && h->length <= RS_MAX_LENGTH &&
              h->rows >= 0 && h->text_bytes <= MOST_TEXT && h->text_bytes % WORD == 0 && h->mark_words % 2 == 0 &&
              h->mark_words <= 2 && h->state_bytes && h->state_bytes <= MOST_TEXT && !h->reserved;
  if (!fits)
    return bad(name, "the record's header is damaged");
  int64_t needs = bytes_beyond(h->text_bytes, h->rows, h->mark_words, rs_fold_count(h->begin, h->end), h->state_bytes);
  if (needs > INT64_MAX / 4 || (size_t)needs > bytes)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "%s: %zu bytes, but the record has %lld", name, bytes, (long long)needs);
  return ROWSCAN_OK;
}

rowscan_status rs_record_look(const void *record, size_t bytes, int64_t *begin, int64_t *end, int64_t *length) {
  header h;
  rowscan_status status = read_header(&h, record, bytes, "record");
  if (status)
    return status;
  *begin = h.begin;
  *end = h.end;
  *length = h.length;
  return ROWSCAN_OK;
}

/* Whether a record is one of the fold's scan. */
static rowscan_status check_spec(const rs_fold *fold, const header *h, const char *line, const char *name) {
  rs_text text = {0};
  rowscan_status status = ROWSCAN_OK;
  rs_fold_text(fold, &text);
  int length = (int)strnlen(line, h->text_bytes);
  if (text.failed)
    status = rs_fold_no_memory((int64_t)text.length);
  else if (text.length != (size_t)length || memcmp(text.data, line, text.length) != 0)
    status =
        rs_fail(ROWSCAN_BAD_ARGUMENT, "%s: is of the scan '%.*s', but this one is '%s'", name, length, line, text.data);
  rs_text_free(&text);
  return status;
}

static rowscan_status unlike(const char *name, const char *field, int64_t is, int64_t wanted) {
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "%s: field '%s': %lld, but %lld is expected", name, field, (long long)is,
                 (long long)wanted);
}

static rowscan_status check_header(const rs_fold *fold, const header *h, const char *line, const char *name) {
  rowscan_status status = check_spec(fold, h, line, name);
  if (status)
    return status;
  if (h->rows != fold->rows)
    return unlike(name, "rows", h->rows, fold->rows);
  if (h->length != fold->length)
    return unlike(name, "length", h->length, fold->length);
  if (h->begin != fold->end)
    return unlike(name, "begin", h->begin, fold->end);
  if (h->state_bytes != fold->bytes || (h->mark_words != 0) != (fold->first != NULL))
    return bad(name, "the record's header is damaged");
  return ROWSCAN_OK;
}

/* Marks of each row, side by side in a record. */
static rowscan_status split_marks(const rs_fold *fold, const char *at, uint64_t **marks) {
  *marks = malloc((size_t)rs_larger(fold->rows, 1) * 2 * WORD);
  for (int64_t r = 0; *marks && r < fold->rows; r++)
    for (int64_t end = 0; end < 2; end++)
      memcpy(*marks + end * fold->rows + r, at + (2 * r + end) * WORD, WORD);
  return *marks ? ROWSCAN_OK : rs_fold_no_memory(rs_product(fold->rows, 2 * WORD));
}

rowscan_status rs_record_append(rs_fold *fold, const void *record, size_t bytes, const char *name) {
  header h;
  const char *at = (const char *)record + sizeof h;
  uint64_t *marks = NULL;
  rowscan_status status = read_header(&h, record, bytes, name);
  if (!status)
    status = check_header(fold, &h, at, name);
  if (status)
    return status;
  at += h.text_bytes;
  if (fold->first)
    status = split_marks(fold, at, &marks);
  at += h.rows * h.mark_words * WORD;
  bool empty = fold->end == fold->begin, any = h.end > h.begin;
  for (int64_t to = h.begin; to < h.end && !status; at += fold->rows * fold->bytes) {
    int level = rs_fold_level(to, h.end);
    status = append_block(fold, level, at, to == h.begin ? marks : NULL);
    to += INT64_C(1) << level;
  }
  if (!status && any && marks)
    take_marks(fold, empty, marks, marks + fold->rows);
  free(marks);
  return status;
}
