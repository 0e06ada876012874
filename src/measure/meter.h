/*
 * meter.h - what measuring asks of an engine, GPU or host: memory, copies, a clock and replays
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_METER_H
#define RS_METER_H

#include "run/plan.h"

typedef struct rs_meter {
  const rs_device *device; /* NULL: the host */
  bool pushed;
  int mode;        /* of captures, before */
  CUstream stream; /* NULL on the host, where all calls return when done */
  CUevent begin, end;
  double started_ms;
} rs_meter;

/* Close it also if opening failed. Between the two, in one thread, the device's CUDA context is current. */
rowscan_status rs_meter_open(rs_meter *meter, const rowscan_context *context);
void rs_meter_close(rs_meter *meter); /* waits for what is queued */

/* Bytes of the cache that repeated runs over the same memory would find it in. */
int64_t rs_meter_cache_bytes(const rs_meter *meter);

rowscan_status rs_meter_alloc(rs_meter *meter, void **memory, size_t bytes);
void rs_meter_free(rs_meter *meter, void *memory); /* NULL is nothing; wait first */

/* Between the engine's memory and the caller's; done on return. */
rowscan_status rs_meter_write(rs_meter *meter, void *to, const void *from, size_t bytes);
rowscan_status rs_meter_read(rs_meter *meter, void *to, const void *from, size_t bytes);

/* Queued, inside the engine's memory. */
rowscan_status rs_meter_copy(rs_meter *meter, void *to, const void *from, size_t bytes);
rowscan_status rs_meter_fill(rs_meter *meter, void *to, unsigned char value, size_t bytes);

rowscan_status rs_meter_wait(rs_meter *meter);

/* The time of all that is queued between the two. */
rowscan_status rs_meter_start(rs_meter *meter);
rowscan_status rs_meter_stop(rs_meter *meter, double *milliseconds);

/* ---- replays ----------------------------------------------------------------------------------------------------- */

/* Work is recorded once in a CUDA graph, so that a replay's time has no launches of the host in it. */

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
