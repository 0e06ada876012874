/*
 * runtime.h - what a kernel compiled for the CPU and the runtime that runs it know of each other
 * SPDX-License-Identifier: MIT
 *
 * Read by C (grid.c, module.c) and by C++ (device.cuh).
 */
#ifndef SIMT_RUNTIME_H
#define SIMT_RUNTIME_H

#ifdef __cplusplus
extern "C" {
#endif

enum { SIMT_WARP = 32, SIMT_MAX_THREADS = 1024, SIMT_MAX_PARAMETERS = 4, SIMT_MAX_PARAMETER_BYTES = 4096 };

/* How lanes of a warp meet. Each takes one argument: a mask, a distance or a lane. */
enum { SIMT_SHUFFLE_XOR, SIMT_SHUFFLE_DOWN, SIMT_SHUFFLE_UP, SIMT_SHUFFLE_FROM, SIMT_BALLOT, SIMT_WARP_BARRIER };

/*
 * The thread that runs now, and the calls it may make. Calls marked (*) let other threads run before they return, so
 * that whatever a kernel read here before may be another thread's after: read it anew.
 */
typedef struct simt_state {
  unsigned thread, block; /* where the thread stands */
  unsigned threads, blocks;
  void *dynamic; /* dynamic shared memory of the block */
  unsigned dynamic_bytes;
  void *fixed; /* static shared memory, and what lies between its variables */
  unsigned fixed_bytes;
  unsigned long long low, room; /* memory of the device used last: [low, low + room) */
  unsigned long long progress;  /* bump it when other threads may see something new: tells waiting from a livelock */
  unsigned long long (*meet)(int kind, unsigned long long value, int bytes, int argument); /* (*) lanes of a warp */
  void (*barrier)(unsigned number, unsigned threads); /* (*) `threads` of the block, 0 for all that live */
  void (*spin)(void);                                 /* (*) waits for something that another thread will write */
  void (*await_dependencies)(void);
  void (*fetch)(void *to, const void *from, unsigned bytes);
  void (*fetch_wait)(void);
  void (*fetch_group)(void);
  void (*fetch_wait_but_last)(void);
  void (*bulk_init)(void *arrivals, int count, unsigned parties);
  void (*bulk_expect)(void *arrival, unsigned bytes);
  void (*bulk_await)(void *arrival, unsigned phase); /* (*) */
  void (*bulk_load)(void *to, const void *from, unsigned bytes, void *arrival);
  void (*bulk_prefetch)(const void *from, unsigned bytes);
  void (*bulk_fence)(void); /* (*) */
  void (*bulk_store)(void *to, const void *from, unsigned bytes);
  void (*bulk_drain)(int pending);                                /* (*) */
  void (*access)(const void *at, unsigned long bytes, int write); /* checks an access outside [low, low + room) */
  void (*used)(const void *at, unsigned long bytes, int write);   /* an access to shared memory, where races count */
  void (*fail)(const char *what, const void *at);                 /* misuse: says who did it, and aborts */
} simt_state;

/* A kernel, beside it in the compiled code as simt_facts_NAME. */
typedef struct simt_facts {
  unsigned threads, blocks; /* launch bounds */
  unsigned parameters;
  unsigned bytes[SIMT_MAX_PARAMETERS]; /* of each parameter, which the kernel takes by address */
  unsigned align[SIMT_MAX_PARAMETERS];
} simt_facts;

#ifdef __cplusplus
}
#endif
#endif
