/*
 * sets.h - the arrays that are measured on: sets of all that a scan reads and writes, and what copies write to
 * SPDX-License-Identifier: MIT
 *
 * Runs take one set after another, and there are so many that a set is out of the cache when its turn comes again.
 */
#ifndef RS_SETS_H
#define RS_SETS_H

#include "copier.h"
#include "meter.h"
#include "spec/rows.h"

/* Elements from the lowest to the highest, counted from the one that the array's pointer names. */
typedef struct rs_span {
  int64_t low, count;
} rs_span;

typedef struct rs_sets {
  rs_meter *meter;
  const rowscan_spec *spec;
  rs_rows rows;     /* where they lie in set 0; its params are what all runs have */
  int64_t elements; /* of all rows */
  bool dense;       /* no array has gaps, and elements lie in the same order in all */
  rs_span span[RS_ALL_ARRAYS];
  size_t at[RS_ALL_ARRAYS], stride; /* of an array in a set; of a set */
  size_t bytes, half;               /* that a scan moves; that a copy reads, and writes */
  size_t copy_stride;
  int64_t count; /* of sets */
  char *memory, *copies;
} rs_sets;

/* args: how many rows and how they lie; its pointers are not used. Close it also if opening failed. */
rowscan_status rs_sets_open(rs_sets *sets, rs_meter *meter, const rowscan_spec *spec, const rowscan_args *args);
void rs_sets_close(rs_sets *sets); /* wait first */

/* Puts random numbers into all that is read, and what is no number, or -1, into the rest. */
rowscan_status rs_sets_fill(rs_sets *sets);

/* Puts what is no number, or -1, into the outputs of filled sets again. */
rowscan_status rs_sets_poison(rs_sets *sets);

/* The same rows in another set. */
void rs_sets_rows(const rs_sets *sets, int64_t set, rs_rows *rows);

/*
 * The copy that a scan is measured against, and where it reads and writes: the input's elements, from its strides to
 * the output's; where nothing has gaps, as many bytes as memcpy copies. False: there is no such copy, since strides
 * come with a third array or with elements of two sizes, or have too many dimensions.
 */
bool rs_sets_box(const rs_sets *sets, rs_box *box);

typedef struct rs_copy_sides {
  const char *from;
  char *to;
} rs_copy_sides;
rs_copy_sides rs_sets_sides(const rs_sets *sets, int64_t set);

static inline char *rs_sets_source(const rs_sets *sets, int64_t set) {
  return sets->memory + (size_t)set * sets->stride;
}
static inline char *rs_sets_target(const rs_sets *sets, int64_t set) {
  return sets->copies + (size_t)set * sets->copy_stride;
}

/* The span of an array's rows, or of some of them. False: it is too large for any memory. */
bool rs_span_of(rs_span *span, const rs_rows *rows, const rs_operand *array, int64_t length);

/* Whether a scan has the array. */
static inline bool rs_sets_have(const rs_sets *sets, int which) {
  return sets->rows.array[which].data != NULL;
}

#endif
