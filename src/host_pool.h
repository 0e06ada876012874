/*
 * host_pool.h - a pool of threads that works through numbered chunks
 * SPDX-License-Identifier: MIT
 *
 * There is a seat for each thread that may work at a time, callers included: memory to work with. A caller who finds
 * all seats taken waits for one, so that however many call, no more threads than asked for compete for the processors.
 */
#ifndef RS_HOST_POOL_H
#define RS_HOST_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rs_pool rs_pool;

/* threads: at least 1. Where the system gives fewer, there are fewer. NULL: no memory. */
rs_pool *rs_pool_open(int threads, size_t seat_bytes);
void rs_pool_close(rs_pool *pool);
int rs_pool_threads(const rs_pool *pool);

/* Takes a seat, and gives it back. */
void *rs_pool_enter(rs_pool *pool);
void rs_pool_leave(rs_pool *pool, void *seat);

/*
 * Calls work(what, 0, a seat) to work(what, chunks - 1, a seat), each once, in this thread, which has entered, and in
 * idle ones of the pool; returns when all have returned. Chunks start in the order of their numbers, so that one may
 * wait for another before it. Any number of runs may be under way at once.
 */
void rs_pool_run(rs_pool *pool, void *seat, int64_t chunks, void (*work)(void *what, int64_t chunk, void *seat),
                 void *what);

/* One such run in a pool of its own, of no more threads than chunks. False: no memory for it. */
bool rs_pool_once(int threads, int64_t chunks, void (*work)(void *what, int64_t chunk, void *seat), void *what);

#endif
