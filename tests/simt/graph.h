/*
 * graph.h - capture of streams into graphs
 * SPDX-License-Identifier: MIT
 */
#ifndef SIMT_GRAPH_H
#define SIMT_GRAPH_H

#include <pthread.h>

#include "queue.h"

enum { SIMT_CAPTURE_GLOBAL = 0, SIMT_CAPTURE_THREAD = 1, SIMT_CAPTURE_RELAXED = 2 };

struct simt_capture {
  unsigned long long id;
  CUstream origin;
  simt_graph *graph;
  bool invalid; /* something was called that must not be */
  int mode;
  pthread_t thread;
};

/* Graphs and their executable copies, which are the same here. NULL: no memory. */
simt_graph *simt_graph_make(void);
simt_graph *simt_graph_copy(const simt_graph *graph);
void simt_graph_free(simt_graph *graph);
int simt_graph_nodes(const simt_graph *graph);
bool simt_graph_uses(const simt_graph *graph, const simt_module *module);

/* Those that the caller of the driver holds. kind: 'g' for a graph, 'x' for an executable one. */
void simt_graph_hand_out(simt_graph *graph, char kind);
bool simt_graph_known(const simt_graph *graph, char kind);
bool simt_graph_captured(const simt_graph *graph); /* or what is being captured */
int simt_graphs_alive(void);

/*
 * Objects of the program's, which live as long as it, or a graph, or a copy of that, has a reference. Then their
 * destructor is called, which may call nothing of the driver: at once, or with SIMT_ASYNC=1 in the next call of the
 * driver, whose thread is the driver's own for that time. NULL: no memory. known: and the program has so many.
 */
CUuserObject simt_object_make(void *user, CUhostFn destroy, long references);
bool simt_object_known(CUuserObject object, long own);
void simt_object_release(CUuserObject object, long references);
int simt_objects_alive(void);
void simt_objects_destroy(void);
bool simt_objects_destroying(void); /* in this thread */
void simt_graph_retain(simt_graph *graph, CUuserObject object, long references, bool move);

/* Does the nodes in some order that their dependencies allow: in that of the capture unless shuffled. */
void simt_graph_run(const simt_graph *graph, bool shuffled);

/* Puts a stream into capture mode. False: no memory. */
bool simt_capture_begin(CUstream stream, int mode);

/* Takes all streams out of it; *graph is what was captured. A CUresult. */
int simt_capture_end(CUstream stream, simt_graph **graph);

/* What a capturing stream does instead of queueing; a CUresult. wait also takes a stream into the event's capture. */
int simt_capture_work(CUstream stream, const simt_work *work);
int simt_capture_record(CUstream stream, CUevent event);
int simt_capture_wait(CUstream stream, CUevent event);

/* The calling thread's mode, from now on; returns the one before. */
int simt_capture_exchange(int mode);

/* A call that must not be made while this thread, or any if its capture is global, captures, but for what the thread's
 * mode allows: CUresult. */
int simt_capture_forbids(void);

/* Using the default stream while one that it waits for captures: CUresult. */
int simt_capture_forbids_default(void);

#endif
