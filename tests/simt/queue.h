/*
 * queue.h - streams and events of the simulated GPU, and what is queued on them
 * SPDX-License-Identifier: MIT
 *
 * Without SIMT_ASYNC everything is done as soon as it is queued. With SIMT_ASYNC=1 it is done when somebody waits for
 * it, or now and then before, in an order made from SIMT_SEED that keeps only what streams and events promise. So a
 * missing wait shows as a wrong result, the same one in every run.
 */
#ifndef SIMT_QUEUE_H
#define SIMT_QUEUE_H

#include <stdbool.h>

#include "work.h"

typedef struct simt_capture simt_capture;
typedef struct CUgraph_st simt_graph;

/* Nodes of a graph that come last: whatever is next depends on them. */
typedef struct simt_frontier {
  int *node;
  int count;
} simt_frontier;

typedef enum simt_step_kind { SIMT_STEP_WORK, SIMT_STEP_RECORD, SIMT_STEP_WAIT, SIMT_STEP_GRAPH } simt_step_kind;

/* Something queued on a stream. */
typedef struct simt_step {
  simt_step_kind kind;
  unsigned long long number; /* in the order of the calls */
  simt_work work;
  CUevent event;
  long record; /* number of the event's record that is made or waited for */
  simt_graph *graph;
  struct simt_step *next;
} simt_step;

struct CUstream_st {
  unsigned flags;
  unsigned long long id; /* no other stream's, ever */
  bool gone;             /* what a destroyed one has left to do: nobody's handle */
  simt_step *first, *last;
  simt_capture *capture; /* NULL: not capturing */
  simt_frontier frontier;
  CUstream next;
};

struct CUevent_st {
  unsigned flags;
  bool gone;
  int users; /* steps that point here */
  long records, done;
  double milliseconds;        /* when the last record was done */
  unsigned long long capture; /* id of the one that the last record was part of, or 0 */
  simt_frontier frontier;
  CUevent next;
};

/* The stream that a handle means, or NULL: there is none such. NULL, 1 and 2 mean the default streams. */
CUstream simt_stream_find(CUstream handle);
bool simt_stream_is_default(CUstream stream);
CUstream simt_stream_make(unsigned flags); /* has the handle that was freed last */
void simt_stream_free(CUstream stream);
unsigned long long simt_stream_id(CUstream stream); /* each thread has its own of CU_STREAM_PER_THREAD */

bool simt_event_known(CUevent event);
CUevent simt_event_make(unsigned flags);
void simt_event_free(CUevent event);

/* Queue; none captures. The work and the graph become the queue's. */
void simt_queue_work(CUstream stream, simt_work work);
void simt_queue_record(CUstream stream, CUevent event);
void simt_queue_wait(CUstream stream, CUevent event);
void simt_queue_graph(CUstream stream, simt_graph *graph);

/* Do what must be done. */
void simt_wait_stream(CUstream stream);
void simt_wait_event(CUevent event);
void simt_wait_all(void);

/* Looks whether all is done; each look lets the GPU go on a bit. */
bool simt_stream_done(CUstream stream);
bool simt_event_done(CUevent event);

/* Whether work on this pinned memory is queued. */
bool simt_queue_touches(const unsigned char *at, size_t bytes);

/* Whether launches of kernels of this module are. */
bool simt_queue_uses(const simt_module *module);

int simt_streams_alive(void);
int simt_events_alive(void);

/* All streams that are capturing into `capture` (NULL: into any), one after another; start with NULL. */
CUstream simt_stream_capturing(CUstream after, const simt_capture *capture);

#endif
