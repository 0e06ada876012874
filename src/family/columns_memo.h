/*
 * columns_memo.h - the cuts of a plan's last runs of regime column, so that the same shape again needs no divisions
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_COLUMNS_MEMO_H
#define RS_COLUMNS_MEMO_H

#include <stdatomic.h>

#include "columns_parts.h"

enum {
  RS_MEMO_CUTS = 4, /* shapes that may take turns, if they are not in each other's place */
  RS_MEMO_RANK = 3, /* of rows that are remembered, at most: more are rare */
  RS_MEMO_WORDS = 5 + 4 * RS_MEMO_RANK
};

typedef struct rs_remembered {
  atomic_bool busy; /* a thread reads or writes the rest */
  bool known, whole;
  int64_t key[RS_MEMO_WORDS];
  rs_columns_launch launch;
} rs_remembered;

/* Empty if it is all zeros. */
typedef struct rs_columns_memo {
  rs_remembered cut[RS_MEMO_CUTS];
} rs_columns_memo;

/*
 * rs_columns_whole of rows in columns that are the same in all calls. From any threads, none of which ever waits for
 * another.
 */
bool rs_columns_recall(rs_columns_memo *memo, rs_columns_launch *launch, const rs_geometry *columns,
                       const rs_rows *rows);

#endif
