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

/* So many states, from one to the other; `op` serves rs_state_...(). Memory may not overlap. */
void rs_kernel_states_read(const rs_run *op, const rowscan_spec *spec, void *states, const void *from, int64_t count);
void rs_kernel_states_write(const rs_run *op, const rowscan_spec *spec, void *to, const void *states, int64_t count);

#endif
