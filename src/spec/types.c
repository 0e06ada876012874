/*
 * types.c - the tables of element types and of operators, and what their rows are called
 * SPDX-License-Identifier: MIT
 */
#include "types.h"

#include <stdatomic.h>
#include <string.h>

static const struct {
  const char *name;
  size_t bytes;
  rs_kind kind;
} types[] = {
#define X(enumerator, name, bytes, kind) [enumerator] = {#name, bytes, kind},
    RS_ACCUMULATORS(X)
#undef X
};

static const rs_op ops[] = {
#define ROW(enumerator, row_name, row_kernel, row_kind, row_numbers)                                                   \
  [enumerator] = {.name = #row_name,                                                                                   \
                  .kernel = #row_kernel,                                                                               \
                  .kind = row_kind,                                                                                    \
                  .numbers = row_numbers,                                                                              \
                  .coefficient = row_kind == RS_RECURRENCE,                                                            \
                  .second = row_kind == RS_INDEX},
#define X(enumerator, name, kernel) ROW(enumerator, name, kernel, RS_ARITHMETIC, 1)
    RS_ARITHMETIC_OPS(X)
#undef X
#define X(enumerator, name, kernel) ROW(enumerator, name, kernel, RS_ORDER, 1)
        RS_ORDER_OPS(X)
#undef X
#define X(enumerator, name, kernel) ROW(enumerator, name, kernel, RS_BITS, 1)
            RS_BIT_OPS(X)
#undef X
#define X(enumerator, name, kernel) ROW(enumerator, name, kernel, RS_RECURRENCE, 2)
                RS_RECURRENCE_OPS(X)
#undef X
#define X(enumerator, name, kernel) ROW(enumerator, name, kernel, RS_LOGARITHM, 2)
                    RS_LOGARITHM_OPS(X)
#undef X
#define X(enumerator, name, kernel) ROW(enumerator, name, kernel, RS_EXTENDED, 2)
                        RS_EXTENDED_OPS(X)
#undef X
#define X(enumerator, name, kernel) ROW(enumerator, name, kernel, RS_INDEX, 2)
                            RS_INDEX_OPS(X)
#undef X
#define X(enumerator, row_name, row_kernel)                                                                            \
  [enumerator] = {.name = #row_name,                                                                                   \
                  .kernel = #row_kernel,                                                                               \
                  .kind = RS_ADVANTAGE,                                                                                \
                  .numbers = 2,                                                                                        \
                  .more = 4,                                                                                           \
                  .params = 2,                                                                                         \
                  .flags = 1u << 2 | 1u << 3,                                                                          \
                  .second = true},
                                RS_ADVANTAGE_OPS(X)
#undef X
#define X(enumerator, row_name, row_kernel, ...) [enumerator] = {.name = #row_name, .kernel = #row_kernel, __VA_ARGS__},
                                    RS_GRADIENT_OPS(X)
#undef X
};

enum { TYPES = sizeof types / sizeof *types, OPS = sizeof ops / sizeof *ops };

rs_kind rs_type_kind(rowscan_type type) {
  return (unsigned)type < TYPES ? types[type].kind : RS_NO_KIND;
}

const char *rowscan_type_name(rowscan_type type) {
  return rs_type_kind(type) ? types[type].name : type == ROWSCAN_TYPE_DEFAULT ? "default" : "unknown";
}

size_t rowscan_type_bytes(rowscan_type type) {
  return rs_type_kind(type) ? types[type].bytes : 0;
}

rowscan_type rowscan_type_by_name(const char *name) {
  for (int type = 0; type < TYPES; type++)
    if (types[type].name && !strcmp(types[type].name, name))
      return (rowscan_type)type;
  return ROWSCAN_TYPE_DEFAULT;
}

static rs_op created[RS_MOST_CREATED];
static atomic_uint created_count; /* rows that are complete */

int rs_op_add(const rs_op *op) {
  unsigned count = atomic_load_explicit(&created_count, memory_order_relaxed);
  if (count == RS_MOST_CREATED)
    return -1;
  created[count] = *op;
  atomic_store_explicit(&created_count, count + 1, memory_order_release);
  return ROWSCAN_FIRST_CREATED + (int)count;
}

const rs_op *rs_op_of(rowscan_op op) {
  if ((unsigned)op < OPS)
    return &ops[op];
  unsigned number = (unsigned)op - ROWSCAN_FIRST_CREATED; /* of all below the first it is larger than any count */
  return number < atomic_load_explicit(&created_count, memory_order_acquire) ? &created[number] : NULL;
}

const char *rowscan_op_name(rowscan_op op) {
  const rs_op *row = rs_op_of(op);
  return row ? row->name : "unknown";
}

static int find_op(int first, const char *name) {
  for (int op = first; rs_op_of((rowscan_op)op); op++)
    if (!strcmp(rs_op_of((rowscan_op)op)->name, name))
      return op;
  return -1;
}

int rowscan_op_by_name(const char *name) {
  int op = find_op(0, name);
  return op < 0 ? find_op(ROWSCAN_FIRST_CREATED, name) : op;
}

const char *rowscan_regime_name(rowscan_regime regime) {
  static const char *const names[] = RS_NAMES(RS_REGIMES);
  return (unsigned)regime < sizeof names / sizeof *names ? names[regime] : "unknown";
}
