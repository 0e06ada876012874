/*
 * replay.h - work that is recorded once in a CUDA graph, so that a replay's time has no launches of the host in it
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_REPLAY_H
#define RS_REPLAY_H

#include "meter.h"

typedef struct CUgraphExec_st *CUgraphExec;

typedef struct rs_replay {
  CUgraphExec graph; /* NULL: nothing is recorded */
  CUresult (*launch)(CUgraphExec graph, CUstream stream);
  CUresult (*destroy)(CUgraphExec graph);
} rs_replay;

/*
 * Records `count` calls of queue(user, 0), queue(user, 1), ..., each of which queues something on the meter's stream.
 * Where there are no graphs (on the host, or with a driver older than CUDA 11.4) it records nothing, and succeeds.
 */
rowscan_status rs_replay_record(rs_replay *replay, rs_meter *meter, rowscan_status (*queue)(void *user, int64_t number),
                                void *user, int64_t count);

/* Queues all of it once. */
rowscan_status rs_replay_run(const rs_replay *replay, rs_meter *meter);

void rs_replay_free(rs_replay *replay); /* wait first */

#endif
