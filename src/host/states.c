/*
 * states.c - totals of blocks as bytes
 * SPDX-License-Identifier: MIT
 */
#include "states.h"

#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "environment.h"

/* An element of a gradient of maxima that is its result ends what follows it, as a mark does. */
static bool is_extremum(const rs_run *op) {
  return op->spec->op == ROWSCAN_EXTREMUM_GRADIENT;
}

rs_run *rs_state_open(const rowscan_spec *spec, int64_t length) {
  rs_run *op = calloc(1, sizeof *op);
  if (!op)
    return NULL;
  rs_describe_op(op, rs_isa_at(0), spec);
  rs_describe_states(op, RS_STATES_RESUME, length);
  return op;
}

bool rs_state_asks(const rs_run *op) {
  return rs_spec_asks_neighbours(op->spec) || is_extremum(op);
}

/* ---- folds ------------------------------------------------------------------------------------------------------- */

bool rs_state_start(const rs_run *op, void *state, const void *init) {
  char total[RS_MOST_TOTAL] __attribute__((aligned(16)));
  rs_environment saved;
  if (!init && !op->totals)
    return false;
  rs_enter_environment(&saved);
  if (init)
    rs_load_init(op, total, init);
  else
    memcpy(total, op->start, sizeof total);
  rs_state_save(op, state, total);
  rs_leave_environment(&saved);
  return true;
}

static void join_some(const rs_run *op, char *to, const char *left, const char *right, int64_t states) {
  char a[RS_MOST_TOTAL] __attribute__((aligned(16))), b[RS_MOST_TOTAL] __attribute__((aligned(16)));
  int64_t bytes = rs_state_bytes(op);
  for (int64_t i = 0; i < states * bytes; i += bytes) {
    rs_state_load(op, a, left + i);
    rs_state_load(op, b, right + i);
    rs_join_totals(op, a, a, b);
    rs_state_save(op, to + i, a);
  }
}

void rs_state_join(const rs_run *op, void *to, const void *left, const void *right, int64_t states) {
  rs_environment saved;
  rs_enter_environment(&saved);
  join_some(op, to, left, right, states);
  rs_leave_environment(&saved);
}

void rs_state_join_all(const rs_run *op, void *states, int64_t blocks, int64_t rows) {
  int64_t each = rows * rs_state_bytes(op);
  char *first = states;
  rs_environment saved;
  rs_enter_environment(&saved);
  for (int64_t step = 1; step < blocks && rows; step *= 2)
    for (int64_t b = 0; b < blocks; b += 2 * step)
      join_some(op, first + b * each, first + b * each, first + (b + step) * each, rows);
  rs_leave_environment(&saved);
}

void rs_state_begin(const rs_run *op, void *state) {
  int64_t bytes = op->totals->bytes;
  if (op->state > bytes)
    ((char *)state)[bytes] = 1;
  else /* the last field: whether the block joins what comes before */
    memset((char *)state + bytes - op->size, 0, (size_t)op->size);
}

void rs_state_show(const rs_run *op, void *number, const void *state) {
  char total[RS_MOST_TOTAL] __attribute__((aligned(16)));
  rs_environment saved;
  rs_enter_environment(&saved);
  if (state) {
    rs_state_load(op, total, state);
    rs_save_total(op, number, total);
  } else {
    rs_save_identity(op, number);
  }
  rs_leave_environment(&saved);
}

/* ---- as bytes ---------------------------------------------------------------------------------------------------- */

/* Bytes that fields have, without what says that a segment begins. */
static int64_t used_bytes(const rs_run *op) {
  const rs_op *of = rs_op_of(op->spec->op);
  if (of->source)
    return of->numbers * op->size;
  return op->spec->op == ROWSCAN_GAE ? 3 * op->size : op->totals->bytes;
}

/* How many numbers a state begins with that may be a NaN. */
static int64_t real_numbers(const rs_run *op) {
  const rs_op *of = rs_op_of(op->spec->op);
  bool real = rs_type_kind(op->spec->acc_type) == RS_FLOAT;
  if (!op->totals)
    return real;
  if (!real || of->kind == RS_ORDER || of->kind == RS_INDEX)
    return 0;
  return op->spec->op == ROWSCAN_EXTENDED_PROD ? 1 : used_bytes(op) / op->size;
}

/* All NaNs are one: which of two survives depends on the processor and the compiler. Returns the number. */
static double unify_nan(char *number, int64_t size) {
  float single;
  double real;
  if (size == 8) {
    memcpy(&real, number, sizeof real);
    if (real != real)
      memcpy(number, &(uint64_t){UINT64_C(0x7ff8000000000000)}, sizeof real);
    return real;
  }
  memcpy(&single, number, sizeof single);
  if (single != single)
    memcpy(number, &(uint32_t){0x7fc00000}, sizeof single);
  return single;
}

/* What counts how often an infinite product, or a logarithm that is a NaN, was combined, and means nothing. */
static bool is_meaningless(const rs_run *op, double first) {
  return (op->spec->op == ROWSCAN_EXTENDED_PROD && first - first != 0) ||
         (op->spec->op == ROWSCAN_LOGSUMEXP && first != first);
}

/* Of -0 and +0 as the highest of several numbers, which one remains depends on the engine, and no result shows it. */
static void unify_highest(const rs_run *op, char *state, double highest) {
  if (highest == 0 && unify_nan(state + op->size, op->size) != 1)
    memset(state, 0, (size_t)op->size);
}

static void unify_numbers(const rs_run *op, char *state) {
  int64_t size = op->totals ? op->size : op->acc_bytes;
  for (int64_t n = 0; n < real_numbers(op); n++) {
    double number = unify_nan(state + n * size, size);
    if (n == 0 && is_meaningless(op, number))
      memset(state + size, 0, (size_t)size);
    else if (n == 0 && op->spec->op == ROWSCAN_LOGSUMEXP)
      unify_highest(op, state, number);
  }
}

/* Bytes that no field has. */
static void clear_gaps(const rs_run *op, char *state) {
  int64_t bytes = op->totals->bytes, used = used_bytes(op), flag = op->state > bytes ? 1 : 0;
  memset(state + used, 0, (size_t)(bytes - used));
  memset(state + bytes + flag, 0, (size_t)(op->state - bytes - flag));
}

/* In segments the last field says whether a block joins what comes before, by any number but 0. */
static void unify_joins(const rs_run *op, char *state) {
  static const char never[8];
  char *joins = state + op->totals->bytes - op->size;
  if (op->totals->without && memcmp(joins, never, (size_t)op->size) != 0)
    memcpy(joins, op->neutral + op->totals->bytes - op->size, (size_t)op->size);
}

void rs_state_tidy(const rs_run *op, void *states, int64_t count) {
  int64_t bytes = rs_state_bytes(op);
  for (int64_t i = 0; i < count * bytes; i += bytes) {
    if (op->totals) {
      clear_gaps(op, (char *)states + i);
      unify_joins(op, (char *)states + i);
    }
    unify_numbers(op, (char *)states + i);
  }
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

static void load_number(const rs_run *op, rowscan_type type, void *number, const void *from) {
  op->isa->load[type][op->wide](number, from, (rs_grid){.lines = 1, .n = 1});
}

/* Where a row starts in each array. */
typedef struct place {
  int64_t at[RS_ALL_ARRAYS];
} place;

static place place_of(const rs_rows *rows, int64_t row) {
  place p = {{0}};
  for (int d = rows->rank - 1; d >= 0; d--) {
    int64_t index = row % rows->shape[d];
    row /= rows->shape[d];
    for (int a = 0; a < rs_arrays(rows); a++)
      p.at[a] += index * rows->array[a].stride[d];
  }
  return p;
}

static const void *first_of(const rs_rows *rows, const place *p, rs_which which) {
  const rs_operand *a = &rows->array[which];
  return (const char *)a->data + p->at[which] * a->bytes;
}

static uint64_t highest(rowscan_type type) {
  return type == ROWSCAN_BOOL ? 1 : ~UINT64_C(0);
}

/* Of a float's bits all but the sign tell a flag. */
static bool is_true(rowscan_type type, uint64_t bits) {
  return rs_type_kind(type) == RS_FLOAT ? bits << (64 - 8 * rowscan_type_bytes(type) + 1) != 0 : bits != 0;
}

static uint64_t mark_of(const rs_run *op, const rs_rows *rows, const place *p) {
  const rowscan_spec *spec = op->spec;
  if (is_extremum(op)) {
    double x = 0, y = 0, same = 0;
    load_number(op, spec->more_types[0], &x, first_of(rows, p, RS_MORE_IN));
    load_number(op, spec->more_types[1], &y, first_of(rows, p, RS_MORE_IN + 1));
    op->isa->same[op->wide](&same, &x, &y, (rs_grid){.lines = 1, .n = 1});
    return same != 0;
  }
  rs_which which = spec->segment_mode ? RS_SEGMENTS : RS_MASK;
  rowscan_type type = spec->segment_mode ? spec->segment_type : spec->mask_type;
  uint64_t bits = 0;
  memcpy(&bits, first_of(rows, p, which), rowscan_type_bytes(type));
  if (op->segments == ROWSCAN_MASK_KEYS)
    return bits < highest(type) ? bits : highest(type);
  return is_true(type, bits);
}

void rs_state_marks(const rs_run *op, const rs_rows *rows, uint64_t *marks) {
  rs_environment saved;
  rs_enter_environment(&saved);
  for (int64_t r = 0; r < rows->count; r++) {
    place p = place_of(rows, r);
    marks[p.at[RS_TOTALS]] = mark_of(op, rows, &p);
  }
  rs_leave_environment(&saved);
}

bool rs_state_parts(const rs_run *op, uint64_t before, uint64_t own) {
  return op->segments == ROWSCAN_MASK_KEYS && !is_extremum(op) ? before != own : before != 0;
}
