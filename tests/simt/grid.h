/*
 * grid.h - runs a kernel over a grid, one fibre a thread
 * SPDX-License-Identifier: MIT
 */
#ifndef SIMT_GRID_H
#define SIMT_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "bulk.h"
#include "fetch.h"
#include "races.h"
#include "runtime.h"

/* A variable in static shared memory. */
typedef struct simt_shared {
  unsigned char *at;
  size_t bytes;
} simt_shared;

typedef struct simt_launch {
  const char *name;
  void (*entry)(void);
  const simt_facts *facts;
  const simt_shared *shared;
  int shared_count;
  unsigned blocks, threads, dynamic_bytes;
  bool dependent; /* may begin early: every thread must await what the launch depends on before it uses memory */
  void *parameter[SIMT_MAX_PARAMETERS];
} simt_launch;

/* What compiled kernels are given as `simt`. */
extern simt_state simt_grid_state;

/* The block that has its turn: its bulk copies, what its running thread fetches, and whether memory is shared memory
 * of it. */
simt_bulk *simt_grid_bulk(void);
simt_fetches *simt_grid_fetches(void);
bool simt_grid_in_shared(const void *at, size_t bytes);

/* Its accesses, NULL where none are looked at; and one more of them, to shared memory. */
simt_races *simt_grid_races(void);
void simt_grid_used(unsigned thread, const void *at, size_t bytes, simt_access how);

/* A kernel is wrong: says which, and where, and aborts. */
void simt_grid_wrong(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/*
 * Runs all of it and returns. Blocks, warps and lanes take turns in an order made from SIMT_SEED (default 1; 0:
 * ascending); SIMT_RESIDENT blocks (default: SIMT_SMS times the launch bounds' blocks) are under way at a time. Aborts,
 * naming kernel, block and thread, where a GPU would hang, fault or give nonsense.
 */
void simt_grid_run(const simt_launch *launch);

#endif
