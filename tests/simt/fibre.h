/*
 * fibre.h - threads of a simulated GPU: stacks that take turns on one thread of the CPU
 * SPDX-License-Identifier: MIT
 *
 * One thread of the CPU at a time may use fibres; the caller sees to that.
 */
#ifndef SIMT_FIBRE_H
#define SIMT_FIBRE_H

/* For functions that run on fibres. */
#define SIMT_UNSEEN __attribute__((no_sanitize_thread))

typedef struct simt_fibre simt_fibre;

/* A fibre with a stack of its own, from a pool; NULL: no memory. */
simt_fibre *simt_fibre_take(void);
void simt_fibre_give(simt_fibre *fibre); /* back to the pool; it must have finished */

/* What the fibre does when it is entered next. */
void simt_fibre_start(simt_fibre *fibre, void (*work)(void *), void *argument);

/* Runs the fibre until it leaves or has finished its work. Called by what is no fibre. */
void simt_fibre_enter(simt_fibre *fibre);

/* Called by the fibre that runs: goes back to where it was entered. */
void simt_fibre_leave(void);

/* Frees the stacks of the fibres in the pool. */
void simt_fibre_free_pool(void);

#endif
