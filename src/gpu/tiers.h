/*
 * tiers.h - which kernel serves until that for a program's length is made, and the thread that makes it
 * SPDX-License-Identifier: MIT
 *
 * Bits do not depend on the kernel, so that which one serves may change from one run to the next. A kernel that the
 * cache has is loaded at once, which takes less than a millisecond. Else the run goes by the program of the same spec
 * for any length, if the cache has that; else by universal kernels, which are inside of the library; and only where
 * there are none it waits until that for any length is compiled. What comes back often enough is compiled by a thread
 * of low priority and used from then on. What was captured in a graph stays what it was.
 */
#ifndef RS_TIERS_H
#define RS_TIERS_H

#include <stdatomic.h>

#include "program.h"
#include "rowscan.h"

enum {
  RS_TIERS_RUNS = 8,   /* of a kernel for any length, after which that for its length is wanted */
  RS_TIERS_WANTED = 64 /* kernels that wait for the thread; more ask again */
};

typedef struct rs_wanted {
  rs_program *program;
  rs_kernel kernel;
} rs_wanted;

/* Of a context. Serves many threads at once. */
typedef struct rs_tiers {
  rs_gpu *gpu;
  rowscan_compile compile;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t wake;  /* the thread has work, or must end */
  pthread_cond_t idle;  /* a kernel is made, or was given up */
  struct rs_shared_program *programs;
  rs_wanted wanted[RS_TIERS_WANTED];
  int count;
  rs_program *at_work; /* whose kernel the thread makes now */
  bool started, stop;
  pthread_t thread;
  bool joined; /* this and the next, under a lock of tiers.c: it is among those of the process that have a thread */
  struct rs_tiers *next;
  atomic_bool told;                                            /* that universal kernels serve for good */
  _Atomic int64_t runs, universal_runs, made, failed, made_us; /* as in rowscan_context_info */
} rs_tiers;

void rs_tiers_open(rs_tiers *tiers, rs_gpu *gpu, rowscan_compile compile);

/* Ends the thread, after the kernel that it is compiling; then no program may ask for another. */
void rs_tiers_stop(rs_tiers *tiers);
void rs_tiers_close(rs_tiers *tiers); /* after it was stopped */

/*
 * Makes ready what serves these rows: a program's own kernel, or that of the program for any length. NULL: the rows of
 * most runs. Errors: those of rs_modules_make.
 */
rowscan_status rs_tiers_ready(rs_program *program, const rs_rows *rows);

/* rs_program_prepare(); or what serves instead, where a program's own kernels cannot be had for want of a compiler. */
rowscan_status rs_tiers_prepare(rs_program *program, const rs_rows *rows, int threads);

/*
 * The program that serves a run of a program whose kernel is not loaded: this one, if the cache had the kernel or the
 * run must wait for it, else one whose kernel is ready, for any length or universal. With the device's context current.
 */
rs_program *rs_tiers_serving(rs_tiers *tiers, rs_program *program, rs_kernel kernel, const rs_rows *rows);

/* A run of these rows was served by another program; what would have served often enough is wanted. */
void rs_tiers_count(rs_tiers *tiers, rs_program *program, rs_kernel kernel, const rs_rows *rows,
                    const rs_program *serving);

/* Closes a program, whose kernels nobody makes any more. */
void rs_tiers_close_program(rs_program *program);

#endif
