/*
 * shard_states.h - totals of blocks as kernels keep them, and as the host has them
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SHARD_STATES_H
#define RS_SHARD_STATES_H

#include "host/states.h"

/* Whether kernels have states of such a spec's rows. Errors: UNSUPPORTED. */
rowscan_status rs_kernel_states_check(const rowscan_spec *spec);

/* The flag of a spec whose kernels have states in the place of numbers; 0: numbers are all that totals are. */
unsigned rs_kernel_states_flag(const rowscan_spec *spec);

/* Bytes of a state as kernels keep it: kernels/states.cuh. */
int64_t rs_kernel_state_bytes(const rowscan_spec *spec);

/*
 * The states of `rows` rows in so many blocks, one after another, as the host has them; `op` serves rs_state_...(). So
 * they say, too, whether a segment begins with the first element of a block, but of the first one.
 */
void rs_kernel_states_read(const rs_run *op, const rowscan_spec *spec, void *states, const void *from, int64_t blocks,
                           int64_t rows);

/* Prefixes of rows for kernels. marks: of the elements before, as rs_state_marks has them; NULL: there are none. */
void rs_kernel_states_write(const rs_run *op, const rowscan_spec *spec, void *to, const void *states,
                            const uint64_t *marks, int64_t rows);

#endif
