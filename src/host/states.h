/*
 * states.h - totals of blocks as bytes: what parts of a row tell one another
 * SPDX-License-Identifier: MIT
 *
 * The state of a block is its total, as the engine has it: a number of the accumulator's type (of fixed point the
 * integer), or the fields of a struct of totals.h. In segments a state also tells
 * whether one begins in the block. States of neighbouring blocks join to that of both, in the order of the row alone.
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

/* Bytes of a state; and of one in RS_STATES_RESUME, with the word behind it. */
int64_t rs_state_bytes(const rs_run *op);
int64_t rs_state_init_bytes(const rs_run *op);

/* Whether marks of the element before a block's first decide if a segment begins with it. */
bool rs_state_asks(const rs_run *op);

/*
 * The state of no elements: where folds start, of an initial value of the accumulator's type, unless NULL. False: there
 * is none, and the first block is all that a prefix is.
 */
bool rs_state_start(const rs_run *op, void *state, const void *init);

/* Of so many states: to = left o right; `to` may be either. */
void rs_state_join(const rs_run *op, void *to, const void *left, const void *right, int64_t states);

/* Makes equal states equal bytes: NaNs are one, and bytes that no field has 0. */
void rs_state_tidy(const rs_run *op, void *states, int64_t count);

/* A segment begins with the first element of the state's block. */
void rs_state_begin(const rs_run *op, void *state);

/* The number that a state shows, of the accumulator's type; NULL: that of no elements without an initial value. */
void rs_state_show(const rs_run *op, void *number, const void *state);

/*
 * The marks of element `index` of each row, counted as the scan goes, at the places that totals have (the first array's
 * bytes apart, in elements): what tells, together with the next element's, whether a segment begins there.
 */
void rs_state_marks(const rs_run *op, const rs_rows *rows, int64_t index, uint64_t *marks);

/* Whether a segment begins with an element, by its own mark and that of the element before it. */
bool rs_state_parts(const rs_run *op, uint64_t before, uint64_t own);

#endif
