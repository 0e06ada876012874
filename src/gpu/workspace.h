/*
 * workspace.h - scratch memory of a plan's runs, so that no two runs that may overlap have the same
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_WORKSPACE_H
#define RS_WORKSPACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"
#include "memory.h"

enum {
  RS_HOME_WORKSPACES = 2,     /* one for a stream that stays */
  RS_RUN_WORKSPACES = 4,      /* which all other streams share */
  RS_CAPTURE_WORKSPACES = 8,  /* as much memory at most for captured graphs, of which each has what it needs */
  RS_MOST_CAPTURED = 512,     /* streams of captured graphs, at a time */
  RS_SETTLED_RUNS = 16,       /* in a row, after which a stream is one that stays */
  RS_LEAST_MEMORY = 64 << 10, /* bytes of a piece of memory, unless no run ever needs so much */
  RS_MEMORY_PIECES = 16
};

/* Pieces, each twice as large as the one before: those that runs have needed. 0: there is none yet. */
typedef struct rs_memory {
  _Atomic(CUdeviceptr) piece[RS_MEMORY_PIECES];
} rs_memory;

/* Of a stream that stays, for as long as the plan lives: it needs no event, since nobody else ever waits for it. */
typedef struct rs_home {
  rs_memory memory;                   /* pieces may come, under the mutex; none ever goes */
  _Atomic(unsigned long long) stream; /* its name, see workspace.c; 0: of none yet; set once */
} rs_home;

typedef struct rs_workspace {
  rs_memory memory;
  CUevent done;              /* recorded after the last run */
  unsigned long long stream; /* of that run: its name; 0: of one that has left */
  unsigned long long turn;   /* when it was last taken; 0: never */
  int runs;                  /* of that stream, in a row */
} rs_workspace;

/* Of a graph, which may be launched at any time; see workspace.c for who frees it. */
typedef struct rs_captured {
  struct rs_captured *next;
  CUdeviceptr memory;
  size_t bytes;
  unsigned long long capture;
  unsigned long long stream; /* in that capture: its handle */
  bool counted;              /* the driver tells when the graph is gone */
  atomic_int state;
} rs_captured;

/* What a run has. */
typedef struct rs_scratch {
  CUdeviceptr memory;
  rs_workspace *shared; /* where it came from, if it is to be given back */
} rs_scratch;

typedef struct rs_workspaces {
  const rs_cuda *cuda; /* NULL: none are needed */
  const rs_device_memory *source;
  const rs_log *log;
  size_t bytes; /* of one, at most */
  pthread_mutex_t mutex;
  unsigned long long turn;
  rs_home home[RS_HOME_WORKSPACES];
  rs_workspace slot[RS_RUN_WORKSPACES];
  rs_captured *captured; /* what graphs have, and what those that are gone have left to the next */
  int captured_count;
  size_t captured_left; /* bytes that there may be besides */
} rs_workspaces;

/*
 * Of at most so many bytes each; 0: none are needed. Memory is taken from the source when somebody first needs it. That
 * takes some 0.1 ms, and is told to the log.
 */
void rs_workspaces_open(rs_workspaces *all, const rs_device_memory *source, size_t bytes, const rs_log *log);
void rs_workspaces_close(rs_workspaces *all); /* with the device's context current, as in all that follow */

/* So that the next stream to take so many bytes allocates nothing; or no stream ever does, unless it is captured. */
rowscan_status rs_workspaces_prepare(rs_workspaces *all, size_t bytes);
rowscan_status rs_workspaces_prepare_all(rs_workspaces *all);

/*
 * Takes one of `bytes` for what is queued on `stream` until rs_workspace_give; for a shared one the mutex is held
 * between the two. A stream that had one gets it again; another waits, on the GPU, for the run that had it before.
 * Where the driver can't tell a new stream from a destroyed one (before CUDA 12.0), every run waits, and no stream has
 * one for good. Memory is allocated under capture too, which does not mind it.
 */
rowscan_status rs_workspace_take(rs_workspaces *all, CUstream stream, size_t bytes, rs_scratch *taken);
rowscan_status rs_workspace_give(rs_workspaces *all, const rs_scratch *taken, CUstream stream);

/*
 * The driver's number of a stream, which no other ever has; of a driver that tells none a guess, which another may have
 * later. Never 0. Not to be asked while the stream is captured: that is an error, which would spoil the capture.
 */
unsigned long long rs_stream_name(const rs_cuda *cuda, CUstream stream);
bool rs_stream_guessed(unsigned long long name);

#endif
