/*
 * cases.h - what is tested: a spec, where its arrays lie, and what they hold
 * SPDX-License-Identifier: MIT
 */
#ifndef GPU_CASES_H
#define GPU_CASES_H

#include "data.h"
#include "kernels/arrays.h"

enum { CASE_RANK = 4, CASE_TEXT = 1024 };

/* One array: strides in elements as rowscan_args has them, of the row dimensions and then of the scanned one. */
typedef struct case_array {
  int64_t strides[CASE_RANK + 1];
  bool unsaid;  /* the strides are the dense ones, and are not passed */
  int64_t lead; /* elements between a multiple of 256 bytes and the first element in memory */
  bool of_rows; /* one element a row, whatever the length: initial values and totals */
} case_array;

typedef struct test_case {
  rowscan_spec spec; /* complete */
  int64_t shape[CASE_RANK];
  int64_t rows;
  case_array in, out, mask, init, totals;
  case_array more[RS_MOST_MORE], segments, second; /* further arrays, as far as the spec has them */
  double params[RS_MOST_PARAMS];
  bool in_place, has_init, has_totals;
  data_kind data;
  uint64_t seed; /* of the elements */
} test_case;

/* A random spec that is valid; lengths up to `longest`. */
void case_random_spec(rowscan_spec *spec, random_source *random, int64_t longest);

/* Sets types that go together: a random output and accumulator, and mask type if the spec has a mask mode. */
void case_random_types(rowscan_spec *spec, random_source *random);

/* One of the lengths around which something changes, at most `longest`; the number of them. */
int64_t case_length(int index);
int case_lengths(int64_t longest);

/* Dense rows: `outer` x `inner` of them, which lie [outer, length, inner] for LAYOUT_COLUMNS. */
void case_dense(test_case *test, const rowscan_spec *spec, int64_t outer, int64_t inner, random_source *random);

/* Ways to lay an array; those from VIEW_REPEATED_ROWS on are for inputs only. */
typedef enum case_view {
  VIEW_DENSE,
  VIEW_PADDED,            /* a few elements between rows */
  VIEW_SECOND,            /* every second element */
  VIEW_TRANSPOSED,        /* the scanned dimension outermost */
  VIEW_BACKWARD,          /* the scanned dimension from high addresses to low */
  VIEW_UPSIDE_DOWN,       /* the rows from high addresses to low */
  VIEW_REPEATED_ROWS,     /* all rows the same */
  VIEW_REPEATED_ELEMENTS, /* all elements of a row the same */
  VIEWS
} case_view;
void case_lay(const test_case *test, case_array *array, case_view view);

/* Lays initial values and totals, each in a view of its own half of the time. */
void case_lay_ends(test_case *test, random_source *random);

/* All that varies drawn at random: rows (of about so many elements at most), strides, alignment, init, totals, data. */
void case_random(test_case *test, const rowscan_spec *spec, random_source *random, int64_t elements);

/* The lowest and highest element, from element [0, ..., 0]; false if there are none. */
bool case_extent(const test_case *test, const case_array *array, int64_t *low, int64_t *high);

/* Elements of each row. */
int64_t case_elements(const test_case *test, const case_array *array);

/* Where element e of row r lies, from element [0, ..., 0]. */
int64_t case_offset(const test_case *test, const case_array *array, int64_t row, int64_t element);

/* All of the above in one line. */
void case_text(const test_case *test, char text[CASE_TEXT]);

#endif
