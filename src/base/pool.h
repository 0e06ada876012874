/*
 * pool.h - a pool of threads that works through numbered chunks
 * SPDX-License-Identifier: MIT
 *
 * A caller works itself, at once, however many others do. Helpers are threads that all callers share: the first run
 * that has work for them starts them, and they stay until the pool is closed. Whoever works has a seat, memory to work
 * with; a caller's is handed on to the next.
 */
#ifndef RS_HOST_POOL_H
#define RS_HOST_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rs_pool rs_pool;

/* threads: at least 1, a caller included. Where the system gives fewer, there are fewer. NULL: no memory. */
rs_pool *rs_pool_open(int threads, size_t seat_bytes);
void rs_pool_close(rs_pool *pool);
int rs_pool_threads(const rs_pool *pool);

/* So many from now on; runs that are under way keep those that they have. */
void rs_pool_set_threads(rs_pool *pool, int threads);

/*
 * Has all runs do their work in threads of the program's, by its parallel_for (see rowscan_options), in as many parts
 * as there would be threads. To be called before the first run.
 */
typedef void rs_parallel_for(void *user, int64_t count, void (*body)(void *data, int64_t index), void *data);
void rs_pool_lend(rs_pool *pool, rs_parallel_for *parallel_for, void *user);

/*
 * Takes a seat, and gives it back. As many seats are made as there are callers at a time; where there is no memory for
 * one more, a caller waits for one of them.
 */
void *rs_pool_enter(rs_pool *pool);
void rs_pool_leave(rs_pool *pool, void *seat);

/*
 * Calls work(what, 0, a seat) to work(what, chunks - 1, a seat), each once, in this thread, which has entered, and in
 * idle helpers; returns when all have returned. Chunks start in the order of their numbers, so that one may wait for
 * another before it. Any number of runs may be under way at once.
 */
void rs_pool_run(rs_pool *pool, void *seat, int64_t chunks, void (*work)(void *what, int64_t chunk, void *seat),
                 void *what);

/* The same in at most so many threads, and for work that needs no seat: this thread, which need not enter, has none. */
void rs_pool_run_in(rs_pool *pool, int threads, int64_t chunks, void (*work)(void *what, int64_t chunk, void *seat),
                    void *what);

/* One such run in a pool of its own, of no more threads than chunks. False: no memory for it. */
bool rs_pool_once(int threads, int64_t chunks, void (*work)(void *what, int64_t chunk, void *seat), void *what);

#endif
