/*
 * resume.h - rows that are parts of longer ones: what init and totals of a run hold
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_HOST_RESUME_H
#define RS_HOST_RESUME_H

#include <stdint.h>

typedef struct rs_run rs_run; /* what a run scans (run.h) */

/*
 * Rows that are parts of longer ones. In init and totals stand states, totals of blocks as states.h has them, in place
 * of numbers.
 */
typedef enum rs_states {
  RS_STATES_NONE,  /* numbers */
  RS_STATES_TOTAL, /* of rows of 2^k elements. totals: becomes the state of all of them. Nothing else is written;
                      outputs are NULL */
  RS_STATES_RESUME /* init: the prefixes before the rows' first elements, each followed by a word that is not 0 if the
                      marks of the element before it begin a segment; NULL: they begin the longer rows. totals, unless
                      NULL: is read, the prefixes after their last elements */
} rs_states;

/* Bytes of a state; and of a prefix in RS_STATES_RESUME, with the word behind it. */
int64_t rs_state_bytes(const rs_run *run);
int64_t rs_state_init_bytes(const rs_run *run);

#endif
