/*
 * stage_copy.h - copies between rows that lie anywhere in host memory and rows packed densely
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_STAGE_COPY_H
#define RS_STAGE_COPY_H

#include <stdbool.h>

#include "base/pool.h"
#include "spec/rows.h"

/* One array of an rs_rows: where element e of row number r lies. Points into the rs_rows. */
typedef struct rs_strided {
  char *data;
  int64_t bytes;  /* of an element: 1, 2, 4 or 8 */
  int64_t length; /* elements of a row */
  int64_t step;
  int rank;
  const int64_t *shape, *stride;
  bool packed; /* all of it is dense already, in the order of the rows */
} rs_strided;

/* length: of a row; initial values and totals are rows of one element. */
rs_strided rs_strided_of(const rs_rows *rows, rs_which which, int64_t length);

/* The same elements of some rows. */
typedef struct rs_section {
  int64_t row, rows;         /* the first, and how many */
  int64_t element, elements; /* likewise, of each row */
} rs_section;

/*
 * To and from `packed`, which has part->rows rows of part->elements. Both work in so many threads of the pool, this one
 * included, and return when done.
 */
void rs_gather_rows(rs_pool *pool, int threads, void *packed, const rs_strided *from, const rs_section *part);
void rs_scatter_rows(rs_pool *pool, int threads, const rs_strided *to, const void *packed, const rs_section *part);

#endif
