/*
 * modules.h - the kernels of a plan, each a module of its own: its source, built and loaded when it is first needed
 * SPDX-License-Identifier: MIT
 *
 * A plan has a kernel for all that a run may ask for, of which most programs use one. Measured on 2 slow cores (NVRTC
 * 13.0, sm_90, f32): the one for rows of 4096 takes 90 ms of NVRTC, all four 300; of a row of 10^6, 310 of 1100.
 */
#ifndef RS_MODULES_H
#define RS_MODULES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"
#include "compile/build.h"
#include "device.h"
#include "family/tune.h"

/*
 * Kernels that the driver rejects even when they were compiled a moment before. To compile such a one again, at each
 * plan, would take a second each time and come to the same end. Serves many threads at once; asking costs next to
 * nothing while there are none.
 */
enum { RS_MOST_REJECTS = 256 }; /* the oldest go: what is forgotten is compiled once more */

typedef struct rs_rejects {
  pthread_mutex_t lock;
  struct rs_reject *newest;
  int count;
} rs_rejects;

void rs_rejects_init(rs_rejects *all);
void rs_rejects_free(rs_rejects *all);

/* Keeps a failure of a key (build.h) and its message, which is the last error. Out of memory: it is not kept. */
void rs_rejects_add(rs_rejects *all, const char *key, rowscan_status status);

bool rs_rejects_any(rs_rejects *all);

/* What failed for this key, with its message; OK: nothing that is known. */
rowscan_status rs_rejects_ask(rs_rejects *all, const char *key);

/* What programs of a GPU share: the device, what makes their code, and what its driver rejects. */
typedef struct rs_gpu {
  rs_device device; /* arch 0: there is none, and programs can only be looked at */
  rs_builder *builder;
  rs_rejects rejects;     /* of the device's driver, which no other context's need share */
  struct rs_tiers *tiers; /* tiers.h; NULL: a run waits for its kernel */
  char *tuning;           /* what was measured on the device, as family/tuning.h has it; NULL: nothing */
  const rs_log *log;
} rs_gpu;

typedef struct rs_module {
  pthread_mutex_t lock; /* of all but `function` and `whole`; held while it is made */
  rs_text canonical;    /* lines of its key, see key.h */
  rs_text source;
  rs_text words;              /* its shape, for people */
  bool built;                 /* binary is there */
  rs_binary binary;           /* ptx: NULL if it is on disk, and nobody needed it */
  _Atomic(rs_binary *) whole; /* with it, once it was asked for */
  CUmodule module;
  _Atomic(CUfunction) function; /* NULL: not loaded yet */
  atomic_int runs_of_any;       /* that another served meanwhile: tiers.h */
  atomic_bool looked, wanted;   /* the cache was asked for it; a thread was asked to make it */
} rs_module;

/* Serves many threads at once. */
typedef struct rs_modules {
  rs_gpu *gpu;
  const rowscan_spec *spec;
  const rs_geometry *geometry;
  int arch;
  bool to_load; /* into the context's device; else they are only looked at */
  rs_module of[RS_KERNELS];
} rs_modules;

/* Makes nothing yet. The spec is complete; it and the geometry stay where they are. */
void rs_modules_open(rs_modules *all, rs_gpu *gpu, const rowscan_spec *spec, const rs_geometry *geometry, int arch,
                     bool to_load);

/* Before it is closed, with the device's context current, what was loaded is unloaded. */
void rs_modules_unload(rs_modules *all);
void rs_modules_close(rs_modules *all);

/*
 * Makes a kernel ready: reads or compiles it, and loads it if it is one to load, which needs the device's context to be
 * current, and does not mind a capture. Errors: those of rs_build; CUDA_FAILED.
 */
rowscan_status rs_modules_make(rs_modules *all, rs_kernel kernel);

/* Whether a kernel to load is ready, or the cache had it. The cache is asked once; other threads wait for the answer.
 */
bool rs_modules_look(rs_modules *all, rs_kernel kernel);

/* All of them, built on so many threads at a time. The error is that of the first that failed. */
rowscan_status rs_modules_make_all(rs_modules *all, int threads);

/* The same without compiling any. NOT_CACHED: one is neither in the cache nor in a pack. */
rowscan_status rs_modules_find_all(rs_modules *all);

/* The function of a kernel to load, made ready by the first who asks. */
static inline rowscan_status rs_modules_function(rs_modules *all, rs_kernel kernel, CUfunction *function) {
  _Atomic(CUfunction) *made = &all->of[kernel].function;
  rowscan_status status = ROWSCAN_OK;
  *function = atomic_load_explicit(made, memory_order_acquire);
  if (!*function) {
    status = rs_modules_make(all, kernel);
    *function = atomic_load_explicit(made, memory_order_acquire);
  }
  return status;
}

/* The binary of a kernel that was made ready, as a whole: read again, or compiled again if it is not there any more. */
rowscan_status rs_modules_binary(rs_modules *all, rs_kernel kernel, const rs_binary **binary);

#endif
