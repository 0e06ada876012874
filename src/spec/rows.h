/*
 * rows.h - where the rows of one run lie in memory; what every engine is given
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_ROWS_H
#define RS_ROWS_H

#include "kernels/terms.h"
#include "spec.h"

/* Element e of the row of index (i0, i1, ...) lies at data + (sum(i * stride) + e * step) * bytes. */
typedef struct rs_operand {
  void *data;    /* NULL: there is none. Only outputs and totals are written */
  int64_t bytes; /* of an element */
  int64_t step;
  int64_t stride[RS_MAX_ROW_RANK];
} rs_operand;

/*
 * Row number r has the C-order index (i0, i1, ...) over shape[0 .. rank). Only the first `rank` numbers of each array
 * are set; those of an array that is not there are 0, so that dimensions join.
 */
typedef struct rs_rows {
  rs_operand array[RS_ALL_ARRAYS]; /* from RS_ARRAYS on only if `further` */
  bool further;                    /* rs_spec_has_further */
  bool initial;                    /* P(0) is wanted too, in the element of the output before the first of the scan */
  int64_t length;                  /* of each, where the spec is for any length; see rs_length */
  int64_t count;                   /* product of shape */
  int rank;                        /* 1 to RS_MAX_ROW_RANK */
  int64_t shape[RS_MAX_ROW_RANK];
  double params[RS_MOST_PARAMS]; /* if `further` */
  const rs_terms *terms;         /* of what universal kernels are told alone (family/universal.h) */
} rs_rows;

/* How many arrays there may be. */
static inline int rs_arrays(const rs_rows *rows) {
  return rows->further ? RS_ALL_ARRAYS : RS_ARRAYS;
}

/* Whether an array is one of results; and whether these rows have elements in it. */
static inline bool rs_is_output(int which) {
  return which == RS_OUT || which == RS_SECOND;
}
static inline bool rs_has_elements(const rs_rows *rows, int which) {
  return which != RS_INIT && which != RS_TOTALS && rows->array[which].data;
}

/* The type of an array's elements, where a complete spec has it, and what messages call the array. */
rowscan_type rs_array_type(const rowscan_spec *spec, rs_which which);
const char *rs_array_name(const rowscan_spec *spec, rs_which which);

/* Elements of each row. */
static inline int64_t rs_length(const rowscan_spec *spec, const rs_rows *rows) {
  return spec->length == RS_ANY_LENGTH ? rows->length : spec->length;
}

/*
 * What no array spans, and no scan that writes something has more of. So distances in two arrays can be added, and the
 * bytes of all arrays together counted: products of sizes that come from checked rows do not overflow.
 */
#define RS_MOST_BYTES (INT64_C(1) << 61)
#define RS_MOST_ELEMENTS RS_MAX_LENGTH

/* Whether there is anything to write: rows of no elements have their totals alone. */
static inline bool rs_rows_any(const rs_rows *rows, int64_t length) {
  return rows->count > 0 && (length > 0 || rows->array[RS_TOTALS].data);
}

/*
 * The spec of a run: `spec`, or if it is for any length a copy of it in `own`, with the length that args has. args is
 * of this library's size. Errors: BAD_ARGUMENT.
 */
rowscan_status rs_spec_of_run(const rowscan_spec **spec, rowscan_spec *own, const rowscan_args *args);

/* The rows that the arguments of a run describe, checked; the spec is for one length. */
rowscan_status rs_rows_from_args(rs_rows *rows, const rowscan_spec *spec, const rowscan_args *args);

/*
 * A problem as rows and the spec that fits them: the scanned dimension taken out, dimensions of size 1 dropped, the
 * others sorted by stride of the output, largest first, and joined where all arrays allow it; layout chosen from the
 * strides.
 */
rowscan_status rs_rows_from_problem(rs_rows *rows, rowscan_spec *spec, const rowscan_problem *problem);

/* A caller's problem, of whatever size, as one of this library's. */
rowscan_status rs_problem_read(rowscan_problem *to, const rowscan_problem *given);

/* The strides of an array that has `length` elements along the scanned dimension: those given, else dense ones. */
void rs_problem_strides(int64_t *strides, const int64_t *given, const rowscan_problem *problem, int64_t length);

/*
 * Of rows with `initial`: those whose scan writes P(0), an exclusive one of one element by the same operator. All that
 * it reads, coefficients and further inputs too, is that element of the output, which takes no part in the result.
 */
void rs_initial_rows(rs_rows *to, rowscan_spec *to_spec, const rs_rows *rows, const rowscan_spec *spec);

/* Moves all arrays on by an index of a dimension, or by several of several. */
static inline void rs_rows_move(rs_rows *rows, int d, int64_t index) {
  for (int a = 0; a < rs_arrays(rows); a++)
    if (rows->array[a].data)
      rows->array[a].data = (char *)rows->array[a].data + index * rows->array[a].stride[d] * rows->array[a].bytes;
}

/* ---- how an array lies ------------------------------------------------------------------------------------------- */

/* Columns are neighbours. */
static inline bool rs_neighbours(const rs_operand *a, const rs_rows *rows) {
  return a->stride[rows->rank - 1] == 1 || rows->shape[rows->rank - 1] == 1;
}

/* All columns of all steps are one run, for each outer. */
static inline bool rs_steps_in_a_run(const rs_operand *a, const rs_rows *rows, int64_t length) {
  return rs_neighbours(a, rows) && (a->step == rows->shape[rows->rank - 1] || length == 1);
}

/* Bits of all distances between rows, in bytes: a multiple of a power of two is one of all of them. */
static inline int64_t rs_stride_bits(const rs_operand *a, const rs_rows *rows, int first, int last) {
  int64_t bits = 0;
  for (int d = first; d < last; d++)
    if (rows->shape[d] > 1)
      bits |= a->stride[d] * a->bytes;
  return bits;
}

/* Whether steps, outers and columns of all arrays (mask: of that too) follow one another without a gap. */
bool rs_rows_one_run(const rs_rows *rows, int64_t length, bool mask);

/*
 * BAD_ARGUMENT, with the names of both, if an array that is written shares a byte with another or with itself; the
 * output may be the input, with equal strides and element sizes. Strides decide, and not ranges: arrays that interleave
 * are two. What takes more than RS_OVERLAP_WORK steps to decide, and what reaches beyond any memory, passes. Most calls
 * end with a comparison of ranges, after some 10 ns. workspace: NULL if there is none.
 */
enum { RS_OVERLAP_WORK = 2000 };
rowscan_status rs_overlap_check(const rs_rows *rows, const rowscan_spec *spec, const void *workspace,
                                size_t workspace_bytes);

/*
 * Two arrays, at least one of them written. They share no byte if the distance from one's address to the other's,
 * modulo 2^64, is between `least` and `least + room`.
 */
typedef struct rs_pair {
  void *const *one, *const *other; /* the addresses in the rows */
  uint64_t least, room;
  bool may_be_one; /* output and input, which may be the same array */
} rs_pair;

typedef struct rs_pairs {
  int count;
  rs_pair of[3 * RS_ALL_ARRAYS];
} rs_pairs;

/*
 * All pairs of rows that rs_overlap_check has accepted. The pairs point into `rows`. False: the rows have no elements,
 * or an array exceeds the address space.
 */
bool rs_pairs_of(rs_pairs *pairs, const rs_rows *rows, const rowscan_spec *spec);

/* Whether no pair overlaps at the rows' present addresses. False: rs_overlap_check must decide. */
static inline bool rs_pairs_apart(const rs_pairs *pairs) {
  for (const rs_pair *pair = pairs->of; pair < pairs->of + pairs->count; pair++) {
    uint64_t distance = (uintptr_t)*pair->other - (uintptr_t)*pair->one;
    if (distance - pair->least > pair->room && (distance || !pair->may_be_one))
      return false;
  }
  return true;
}

#endif
