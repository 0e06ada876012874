/*
 * columns_parts.h - a run of regime column as launches: which kernel, how cut, in parts where one would be too large
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_COLUMNS_PARTS_H
#define RS_COLUMNS_PARTS_H

#include "at_once_cut.h"
#include "pairs_cut.h"
#include "shape.h"
#include "short_cut.h"
#include "stream_cut.h"
#include "wide_cut.h"

/* What the kernels of a spec know before the rows are; see tune_columns.h. */
typedef struct rs_columns {
  rs_column_shape any;
  rs_stream_shape stream;   /* steps 0: there is none */
  rs_wide_shape wide;       /* vector 0: there is none */
  rs_wide_shape askew;      /* the same, for columns that begin anywhere */
  rs_short_shape brief;     /* steps 0: there is none */
  rs_at_once_shape at_once; /* steps 0: there is none */
  rs_pairs_shape pairs;     /* vector 0: there is none */
  int kept;       /* bytes of a row's init or total, which are less than those of `acc` where types are small */
  size_t scratch; /* bytes that a launch may have, unless one column takes more */
} rs_columns;

/*
 * Scratch bytes that a launch may have. Tiles of 256 steps take 8 for every 256 steps of f32, a stream's of 64 steps
 * four times as much: 691848 x 97 9 MB. Outers can be cut into several launches, but columns of one had better not be:
 * a launch that has a few columns of many is slow. So there is enough for 128 columns of the smallest tiles, as far as
 * it is no more than 128 MB; a run takes what it needs. Measured on an H200, ratio to memcpy, with 10 MB, and so:
 * 8388608 x 129 bf16 0.088, 0.304; 4194304 x 129 f32 0.275, 0.582; 2097152 x 257 0.380, 0.649; 2097152 x 513 0.395,
 * 0.669; 1383696 x 97 0.593, 0.705; 4194304 x 61 f64 0.321, 0.821.
 */
size_t rs_columns_scratch(int64_t length);

typedef struct rs_columns_launch {
  const rs_rows *rows; /* of this launch */
  rs_template made_of; /* the template of the kernel */
  union {
    ColumnCut any;
    StreamCut stream;
    WideCut wide; /* of both */
    ShortCut brief;
    AtOnceCut at_once;
  } cut; /* its second parameter */
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
