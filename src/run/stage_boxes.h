/*
 * stage_boxes.h - the rows of a run, some at a time
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_STAGE_BOXES_H
#define RS_STAGE_BOXES_H

#include "spec/rows.h"

/*
 * Consecutive rows, as many as one rs_rows can describe, but at most so many (1 or more), from row number `first` on.
 * They are at least half of `most` unless less than that is left or they end at the end of a dimension.
 */
rs_rows rs_next_box(const rs_rows *rows, int64_t first, int64_t most);

#endif
