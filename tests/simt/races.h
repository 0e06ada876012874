/*
 * races.h - accesses to shared memory that nothing keeps apart
 * SPDX-License-Identifier: MIT
 *
 * Two threads of a block race where both use a byte of shared memory, one of them writes it, and no barrier, nor an
 * arrival that one signalled and the other waited for, lies between. Lanes of a warp are threads like others: shuffles
 * and votes order nothing among them, as compute-sanitizer's racecheck has it too; only for other warps what a lane
 * read is over once it has been exchanged. Every thread has a vector clock; each 8 bytes remember some of their last
 * accesses, so that a race is found nearly always, and whatever is found is one. A bulk load races with what it comes
 * in the place of, too, unless the thread that accessed this has passed a fence, or a barrier of the block, since, or
 * has signalled if it wrote. After Serebryany and Iskhodzhanov, "ThreadSanitizer: data race detection in practice"
 * (WBIA 2009), and its second version.
 */
#ifndef SIMT_RACES_H
#define SIMT_RACES_H

#include <stdbool.h>
#include <stddef.h>

/* The accesses of one block, and of the blocks that take its place; NULL where none are looked at: all calls but make
 * take it. Threads are numbers below `threads`, bytes of shared memory below `bytes`. */
typedef struct simt_races simt_races;

simt_races *simt_races_make(unsigned threads, size_t bytes);
void simt_races_free(simt_races *races);

/* A block begins. */
void simt_races_begin(simt_races *races);

/* A thread's access, or that of a bulk copy which it has started. A race ends the process, by simt_grid_wrong. */
typedef enum simt_access { SIMT_READ, SIMT_WRITE, SIMT_BULK_READ, SIMT_BULK_WRITE } simt_access;
void simt_races_access(simt_races *races, unsigned thread, size_t at, size_t bytes, simt_access how);

/* A bulk copy may take the place of what a thread accessed until now. */
void simt_races_fenced(simt_races *races, unsigned thread);

/* Threads have met at a barrier: those of `count`, one after another. */
void simt_races_met(simt_races *races, const unsigned short *thread, unsigned count);

/* The lanes of a warp, whose first thread this is, have exchanged values. */
void simt_races_shuffled(simt_races *races, unsigned first);

/*
 * An arrival, by its address: prepared; signalled by a thread; bytes have come for it, of a copy that a thread began
 * at a time that simt_races_copy returned; its phase has ended; a thread has waited for that.
 */
void simt_races_prepared(simt_races *races, const void *arrival);
void simt_races_signalled(simt_races *races, const void *arrival, unsigned thread);
unsigned simt_races_copy(simt_races *races, unsigned thread);
void simt_races_copied(simt_races *races, const void *arrival, unsigned thread, unsigned time);
void simt_races_phase(simt_races *races, const void *arrival);
void simt_races_awaited(simt_races *races, const void *arrival, unsigned thread);

#endif
