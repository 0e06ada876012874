/*
 * program.h - the kernels of a spec on one GPU, each built and loaded when it is first needed, and what their runs need
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PROGRAM_H
#define RS_PROGRAM_H

#include "family/tuning.h"
#include "modules.h"
#include "workspace.h"

/* The kernels that the GPU's tuning table prefers for some rows of a spec: each a program, opened with its first run.
 */
typedef struct rs_preferred {
  int count;
  rs_tuned tuned[RS_MOST_TUNED];
  _Atomic(struct rs_program *) program[RS_MOST_TUNED];
  pthread_mutex_t lock; /* of opening them */
} rs_preferred;

/* Serves many threads at once. */
typedef struct rs_program {
  rs_gpu *gpu;
  rowscan_spec spec;
  int arch;      /* 90 for sm_90 */
  bool runnable; /* made for the GPU's device, not to look at */
  rs_kernels kernels;
  rs_modules modules;
  rs_workspaces workspaces;
  pthread_mutex_t pairs;            /* of launches that come one after another, whatever threads share their stream */
  _Atomic(struct rs_program *) any; /* the same for any length, which serves until kernels are made: tiers.h */
  _Atomic(struct rs_program *) universal; /* that serves where the other is not made either */
  struct rs_program *otherwise;           /* of one that is preferred: the one that serves until its kernel is made */
  atomic_bool given_up;                   /* that can't be had, so that the other serves for good */
  rs_preferred *preferred;                /* NULL: none */
} rs_program;

/* Chooses the kernels; makes nothing yet. The spec is complete; the program stays where it is. */
void rs_program_open(rs_program *program, rs_gpu *gpu, const rowscan_spec *spec, int arch, bool runnable);
void rs_program_close(rs_program *program);

/* The one that is to serve these rows: the program itself, or one that is preferred, which the first who asks opens. */
rs_program *rs_program_preferred(rs_program *program, const rs_rows *rows);
static inline rs_program *rs_program_for(rs_program *program, const rs_rows *rows) {
  return program->preferred ? rs_program_preferred(program, rows) : program;
}

/* Makes the kernel of a program that is preferred. False: it can't be had, and is preferred no more. */
bool rs_program_usable(rs_program *preferred);

/* Bytes of scratch memory that a run of a program, or of one that is preferred to it, takes at most. */
size_t rs_program_bound(rs_program *program);

/* Lets one contender serve all runs of a program that was just opened. */
void rs_program_force(rs_program *program, const rs_contender *contender);

/*
 * Makes ready what a run of these rows needs, kernel and scratch memory; NULL: what any do, in so many threads. The
 * program is runnable.
 */
rowscan_status rs_program_prepare(rs_program *program, const rs_rows *rows, int threads);

/* Bytes of scratch memory that a run of these rows needs; 0: it takes none. Makes nothing ready. */
size_t rs_program_scratch(rs_gpu *gpu, const rowscan_spec *spec, const rs_rows *rows);

/* A kernel, made ready, with its binary as a whole. */
rowscan_status rs_program_binary(rs_program *program, rs_kernel kernel, const rs_binary **binary);

/* Queues the rows on a stream. workspace NULL: one of the program's. */
rowscan_status rs_launch(rs_program *program, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                         CUstream stream);

/* ---- the tuning table: a file of the cache's directory, one for each kind of GPU -------------------------------- */

/*
 * The GPU's table, to be freed, if the file is there and this version of the library has made it; else NULL. A file
 * that cannot be used is no error, but a line of the log. Errors: CUDA_FAILED, OUT_OF_MEMORY.
 */
rowscan_status rs_tuning_load(const rs_gpu *gpu, char **table);

/* Begins a table: its first lines. Errors: CUDA_FAILED, OUT_OF_MEMORY. */
rowscan_status rs_tuning_begin(const rs_gpu *gpu, rs_text *table);

/*
 * Writes the file anew, one process at a time: `change` is given what it has, "" for nothing, and adds all lines to a
 * table that has its head. Adds the name of the file to *path. Errors: CACHE_FAILED, if it can't be written or what is
 * there can't be read; those of `change`.
 */
typedef rowscan_status rs_tuning_change(void *user, const char *before, rs_text *table);
rowscan_status rs_tuning_save(const rs_gpu *gpu, rs_tuning_change *change, void *user, rs_text *path);

/* ---- architectures ----------------------------------------------------------------------------------------------- */

/*
 * The one whose geometries the kernels of a spec have: `arch`, but where the NVRTC at hand can make only what is made
 * for an older one. Where nothing can be compiled it is the one whose kernels the cache or a pack has. $ROWSCAN_TUNE
 * (rs_builder_tune_for) stands in for `arch` if kernels of that one's fit there. The spec is complete.
 */
int rs_tuned_arch(rs_builder *builder, const rowscan_spec *spec, int arch);

/* The one that the kernels of a spec are compiled for, where they are to run on `arch`. */
int rs_compiled_arch(const rowscan_spec *spec, int arch);

#endif
