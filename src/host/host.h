/*
 * host.h - the host engine: the same scans on the CPU, on all cores, with the same bits
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_HOST_H
#define RS_HOST_H

#include "base/pool.h"
#include "resume.h"
#include "spec/rows.h"

typedef struct rs_host rs_host; /* a pool of threads */

/*
 * threads: at least 1, the caller of a run included; 0 for one for each processor this process may use. The others are
 * started by the first run that has work for them.
 */
rowscan_status rs_host_open(rs_host **host, int threads);
void rs_host_close(rs_host *host);
int rs_host_threads(const rs_host *host);
void rs_host_set_threads(rs_host *host, int threads); /* as for rs_host_open */

/* For other work; threads that scan take their turns with it. */
rs_pool *rs_host_pool(const rs_host *host);

/*
 * Scans the rows; returns when done. Many threads may call it at once: each works itself, and they share the pool's
 * other threads. Cannot fail. The spec is complete; pointers are host memory, aligned to their elements.
 */
void rs_host_run(rs_host *host, const rowscan_spec *spec, const rs_rows *rows);

/*
 * The part of rs_host_run that does not depend on addresses, for rs_host_repeat. *run NULL: allocates it; release it
 * with free(). False: no memory, or nothing to write. The spec must remain.
 */
bool rs_host_describe(const rs_host *host, rs_run **run, const rowscan_spec *spec, const rs_rows *rows);

/* rs_host_run of rows that differ from those in addresses alone. One thread at a time may use a run. */
void rs_host_repeat(rs_host *host, rs_run *run, const rs_rows *rows);

/* out = a o b for one element of the spec's accumulator type: for joining pieces of a row. May be in place. */
void rs_host_combine(const rowscan_spec *spec, void *out, const void *a, const void *b);

/* rs_host_run of rows that are parts of longer ones, of `length` elements. */
void rs_host_run_states(rs_host *host, const rowscan_spec *spec, const rs_rows *rows, rs_states states, int64_t length);

struct rs_isa;

/*
 * For tests and measurements: makes the host engine use one instruction set's loops, and believe in a last-level cache
 * of so many bytes: problems larger than that are written past it. Runs that are described already keep their loops.
 */
void rs_host_force(rs_host *host, const struct rs_isa *isa, int64_t cache_bytes);

#endif
