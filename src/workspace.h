/*
 * workspace.h - scratch memory of a plan's runs, so that no two runs that may overlap have the same
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_WORKSPACE_H
#define RS_WORKSPACE_H

#include <pthread.h>
#include <stdbool.h>

#include "cuda.h"

/* Those for runs that are not captured come first. */
enum { RS_RUN_WORKSPACES = 4, RS_CAPTURE_WORKSPACES = 8, RS_WORKSPACES = RS_RUN_WORKSPACES + RS_CAPTURE_WORKSPACES };

typedef struct rs_workspace {
  CUdeviceptr memory;
  CUevent done;               /* recorded after the last run, unless captured */
  CUstream stream;            /* of that run */
  unsigned long long turn;    /* when it was last taken; 0: never */
  unsigned long long capture; /* not 0: belongs to the graph of this capture, on `stream`, for good */
} rs_workspace;

typedef struct rs_workspaces {
  const rs_cuda *cuda; /* NULL: none are needed */
  pthread_mutex_t mutex;
  unsigned long long turn;
  CUdeviceptr memory; /* of all */
  rs_workspace slot[RS_WORKSPACES];
} rs_workspaces;

/* With the device's context current; bytes 0: none are needed. All memory is 0. */
rowscan_status rs_workspaces_open(rs_workspaces *all, const rs_cuda *cuda, size_t bytes);
void rs_workspaces_close(rs_workspaces *all); /* with the context current */

/*
 * Takes one for what is queued on `stream` until rs_workspace_give; the mutex is held between the two. A stream that
 * had one gets it again; another waits, on the GPU, for the run that had it before.
 */
rowscan_status rs_workspace_take(rs_workspaces *all, CUstream stream, rs_workspace **taken);
rowscan_status rs_workspace_give(rs_workspaces *all, rs_workspace *taken, CUstream stream);

#endif
