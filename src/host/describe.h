/*
 * describe.h - what a run scans: types, operators and arrays as the loops know them
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_HOST_DESCRIBE_H
#define RS_HOST_DESCRIBE_H

#include "run.h"

/* What the operator is to the loops. */
void rs_describe_op(rs_run *run, const rs_isa *isa, const rowscan_spec *spec);

/* All but how rows are cut, and the addresses of arrays. */
void rs_describe(rs_run *run, const rs_isa *isa, const rowscan_spec *spec, const rs_rows *rows);

/* Makes a described run one of states: its rows are parts of rows of `length` elements. */
void rs_describe_states(rs_run *run, rs_states states, int64_t length);

/* The addresses: those of rows that differ from the ones described in these alone. */
void rs_run_address(rs_run *run, const rs_rows *rows);

#endif
