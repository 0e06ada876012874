/*
 * fold.h - the blocks that make up a run of each row's elements, and the prefixes through them
 * SPDX-License-Identifier: MIT
 *
 * Elements [begin, end) of a row are a run of aligned blocks, each as large as can be: ascending, then descending.
 * Their states say all that the rest of the row needs of these elements. A fold holds them for all rows, in memory of
 * the host, and takes the next blocks at its end; two of the same size that make a larger one become that. So any folds
 * of the same elements hold the same, whoever made them of which parts. A record is a fold as bytes.
 */
#ifndef RS_FOLD_H
#define RS_FOLD_H

#include "host/states.h"
#include "spec/spec.h"

/* Blocks of a run, at most: of ascending sizes, then of descending ones. */
enum { RS_FOLD_BLOCKS = 2 * 57 };

typedef struct rs_fold_block {
  int64_t begin;
  int level;           /* of 2^level elements */
  char *total, *state; /* of each row: the block's; and of all from the row's first element on, if prefixes */
} rs_fold_block;

typedef struct rs_fold {
  rowscan_spec spec; /* what rows have in common, wherever they are cut: no length, dense */
  rs_run *op;
  double params[RS_MOST_PARAMS]; /* of a run, if the operator has any */
  int64_t length, rows;          /* elements of each, rows */
  int64_t bytes;                 /* of a state */
  int64_t begin, end;
  bool prefixes;          /* begin is 0, and prefixes are wanted */
  bool starts;            /* with initial values */
  char *start;            /* of each row: the prefix of no elements; NULL: the first block is all of it */
  uint64_t *first, *last; /* the marks of each row's first and last element, if rs_state_asks; NULL: it does not */
  int blocks;
  rs_fold_block block[RS_FOLD_BLOCKS + 1];
} rs_fold;

/* An error: memory for so many bytes is missing. */
rowscan_status rs_fold_no_memory(int64_t bytes);

/* What parts of a row have in common, of the complete spec of one. */
rowscan_spec rs_fold_spec(const rowscan_spec *spec);

/*
 * Without elements, from `begin` on, of the rows of a spec that are parts of rows of `length`. Whatever is returned,
 * rs_fold_close may follow. Errors: OUT_OF_MEMORY; UNSUPPORTED (rows of that length).
 */
rowscan_status rs_fold_open(rs_fold *fold, const rowscan_spec *spec, const rs_rows *rows, int64_t length,
                            int64_t begin);

/* The same, for rs_record_bytes alone: takes no memory for rows. */
rowscan_status rs_fold_describe(rs_fold *fold, const rowscan_spec *spec, const rs_rows *rows, int64_t length,
                                int64_t begin);

/* What ranks must agree on: the spec, and the parameters of a run. */
void rs_fold_text(const rs_fold *fold, rs_text *text);

/* Asks for prefixes, from initial values on: of row r at inits + r * bytes of a number; NULL: none. Of an empty fold.
 */
rowscan_status rs_fold_start(rs_fold *fold, const void *inits);

void rs_fold_close(rs_fold *fold);

/* The largest aligned block that begins at `at` and ends by `end`. */
int rs_fold_level(int64_t at, int64_t end);

/* How many there are in a run. */
int rs_fold_count(int64_t begin, int64_t end);

/* Takes the totals of the next block of 2^level elements, which malloc() made, whatever is returned. */
rowscan_status rs_fold_push(rs_fold *fold, int level, char *totals);

/* The same of all of another fold, whose begin is this one's end. */
rowscan_status rs_fold_append(rs_fold *fold, const rs_fold *next);

/* The prefixes through `end`; NULL: there is nothing. */
static inline const char *rs_fold_prefix(const rs_fold *fold) {
  return fold->blocks ? fold->block[fold->blocks - 1].state : fold->start;
}

/* Whether a segment begins with a row's element at `end`, whose mark is this. */
static inline bool rs_fold_parts(const rs_fold *fold, int64_t row, uint64_t mark) {
  return fold->last && fold->end > fold->begin && rs_state_parts(fold->op, fold->last[row], mark);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/*
 * A record, little-endian:
 *   0  "RSRECORD"     8  u32 version, 1     12  u32 bytes of the text, a multiple of 8
 *  16  i64 begin     24  i64 end            32  i64 length of the row         40  i64 rows
 *  48  u32 bytes of a state                 52  u32 words of marks of a row: 0 or 2
 *  56  u64 0
 *  64  the spec's fields, as rowscan_spec_text has them, and params, on one line; then zeros
 *      marks of the first and the last element of each row, u64 each
 *      states: of the first block all rows, of the next ...; then zeros up to a multiple of 8
 */
int64_t rs_record_bytes(const rs_fold *fold, int64_t begin, int64_t end);

/* Errors: OUT_OF_MEMORY. */
rowscan_status rs_record_write(const rs_fold *fold, void *record);

/* Reads what elements a record of so many bytes is of. Errors: BAD_ARGUMENT: it is no record, or damaged. */
rowscan_status rs_record_look(const void *record, size_t bytes, int64_t *begin, int64_t *end, int64_t *length);

/*
 * Appends a record to a fold, whose end is its begin. `name` is what messages call it. Errors: BAD_ARGUMENT: it is no
 * record, is of another scan, or does not follow; OUT_OF_MEMORY.
 */
rowscan_status rs_record_append(rs_fold *fold, const void *record, size_t bytes, const char *name);

#endif
