/*
 * columns_parts.h - a run of layout COLUMNS as launches: which kernel, how cut, in parts where one would be too large
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_COLUMNS_PARTS_H
#define RS_COLUMNS_PARTS_H

#include "column_cuts.h"

/* What is known of the kernels of a spec before the rows are. */
typedef struct rs_columns {
  rs_shape of[RS_TEMPLATES]; /* by template; made of nothing: there is none */
  size_t scratch;            /* bytes that a launch may have, unless one column takes more */
} rs_columns;

/*
 * Scratch bytes that a launch may have. Tiles of 256 steps take 8 for every 256 steps of f32, a stream's of 64 steps
 * four times as much: 691848 x 97 9 MB. Outers can be cut into several launches, but columns of one had better not be:
 * a launch that has a few columns of many is slow. So there is enough for 128 columns of the smallest tiles, as far as
 * it is no more than 128 MB; a run takes what it needs.
 */
size_t rs_columns_scratch(int64_t length);

typedef struct rs_columns_launch {
  const rs_rows *rows; /* of this launch */
  rs_template made_of; /* the template of the kernel */
  rs_cut cut;
  rs_column_need need;
} rs_columns_launch;

/* Scratch bytes that any run of the plan may need at most; 0: none. */
size_t rs_columns_bound(const rs_columns *columns);

/* The fastest kernel that takes these rows. */
rs_template rs_columns_best(const rs_columns *columns, const rs_rows *rows);

/*
 * The run as one launch, which it nearly always is; false: it takes several. rows->count > 0, length > 0;
 * launch->made_of is rs_columns_best or RS_TEMPLATE_COLUMNS, launch->rows the rows, which are large and stay where they
 * are.
 */
bool rs_columns_whole(rs_columns_launch *launch, const rs_columns *columns);

/* Where a walk through the launches of a run is. */
typedef struct rs_columns_parts {
  const rs_columns *columns;
  const rs_rows *rows;
  rs_template made_of;
  int dim;               /* the dimension that is cut */
  int64_t most;          /* of it, in a part */
  int64_t at;            /* the next part's first there */
  int64_t outer, outers; /* indexes of the dimensions before it */
  rs_rows part;          /* the rows of the last launch */
} rs_columns_parts;

/* rows->count > 0, length > 0. */
void rs_columns_begin(rs_columns_parts *parts, const rs_columns *columns, const rs_rows *rows);

/* The kernel of all launches of a run. */
rs_template rs_columns_chosen(const rs_columns *columns, const rs_rows *rows);

/* The next launch, until the one after it; false: there is none. */
bool rs_columns_next(rs_columns_parts *parts, rs_columns_launch *launch);

#endif
