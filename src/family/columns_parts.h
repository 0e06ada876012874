/*
 * columns_parts.h - a run of layout COLUMNS as launches: which kernel, how cut, in parts where one would be too large
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_COLUMNS_PARTS_H
#define RS_COLUMNS_PARTS_H

#include "column_cuts.h"
#include "tune.h"

typedef struct rs_columns_launch {
  const rs_rows *rows; /* of this launch */
  rs_template made_of; /* the template of the kernel */
  rs_cut cut;
  rs_column_need need;
} rs_columns_launch;

/* Scratch bytes that any run of the plan may need at most; 0: none. */
size_t rs_columns_bound(const rs_geometry *columns);

/* The fastest kernel that takes these rows. */
rs_template rs_columns_best(const rs_geometry *columns, const rs_rows *rows);

/*
 * The run as one launch, which it nearly always is; false: it takes several. rows->count > 0, length > 0;
 * launch->made_of is rs_columns_best or RS_TEMPLATE_COLUMNS, launch->rows the rows, which are large and stay where they
 * are.
 */
bool rs_columns_whole(rs_columns_launch *launch, const rs_geometry *columns);

/* Whether the forced template takes these rows; and whether it does in one launch or in several. rows->count > 0,
 * length > 0. */
bool rs_columns_forced_takes(const rs_geometry *columns, const rs_rows *rows);
bool rs_columns_forced_serves(const rs_geometry *columns, const rs_rows *rows);

/* Where a walk through the launches of a run is. */
typedef struct rs_columns_parts {
  const rs_geometry *columns;
  const rs_rows *rows;
  rs_template made_of;
  int dim;               /* the dimension that is cut */
  int64_t most;          /* of it, in a part */
  int64_t at;            /* the next part's first there */
  int64_t outer, outers; /* indexes of the dimensions before it */
  rs_rows part;          /* the rows of the last launch */
} rs_columns_parts;

/* rows->count > 0, length > 0. */
void rs_columns_begin(rs_columns_parts *parts, const rs_geometry *columns, const rs_rows *rows);

/* The kernel of all launches of a run. */
rs_template rs_columns_chosen(const rs_geometry *columns, const rs_rows *rows);

/* The next launch, until the one after it; false: there is none. */
bool rs_columns_next(rs_columns_parts *parts, rs_columns_launch *launch);

#endif
