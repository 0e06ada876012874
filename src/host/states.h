/*
 * states.h - totals of blocks as bytes: what parts of a row tell one another
 * SPDX-License-Identifier: MIT
 *
 * The state of a block is its total, as the engine has it: a number of the accumulator's type (of fixed point the
 * integer), or the fields of a struct of totals.h. In segments a state also says whether one begins in the block. The
 * states of neighbouring blocks join to the state of both.
 *
 * A run that only describes an operator serves all of this (rs_state_open).
 */
#ifndef RS_HOST_STATES_H
#define RS_HOST_STATES_H

#include <stdbool.h>

#include "resume.h"
#include "spec/rows.h"

/* Of rows of `length` elements; NULL: no memory. Release it with free(). The spec must remain. */
rs_run *rs_state_open(const rowscan_spec *spec, int64_t length);

/* Whether marks of the element before a block's first decide if a segment begins with it. */
bool rs_state_asks(const rs_run *op);

/*
 * The state of no elements: where folds start, of an initial value of the accumulator's type, unless NULL. False: there
 * is none, and the first block is all that a prefix is.
 */
bool rs_state_start(const rs_run *op, void *state, const void *init);

/* Of so many states: to = left o right; `to` may be either. */
void rs_state_join(const rs_run *op, void *to, const void *left, const void *right, int64_t states);

/* Of 2^k blocks one after another, of so many rows each: the first becomes the total of all, others are used up. */
void rs_state_join_all(const rs_run *op, void *states, int64_t blocks, int64_t rows);

/* Makes equal states equal bytes: NaNs are one, and bytes that no field has 0. */
void rs_state_tidy(const rs_run *op, void *states, int64_t count);

/* A segment begins with the first element of the state's block. */
void rs_state_begin(const rs_run *op, void *state);

/* The number that a state shows, of the accumulator's type; NULL: that of no elements without an initial value. */
void rs_state_show(const rs_run *op, void *number, const void *state);

/*
 * Reads the mark of each row's first element in memory: its flag, as 0 or 1, or its key. The marks of two neighbours
 * decide if a segment begins with the later one (rs_state_parts). The strides of the rows' totals place the results.
 */
void rs_state_marks(const rs_run *op, const rs_rows *rows, uint64_t *marks);

/* Whether a segment begins with an element, by its own mark and that of the element before it. */
bool rs_state_parts(const rs_run *op, uint64_t before, uint64_t own);

#endif
