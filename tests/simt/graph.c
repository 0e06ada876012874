/*
 * graph.c - capture of streams into graphs
 * SPDX-License-Identifier: MIT
 *
 * A capturing stream has a frontier: the nodes that its next node depends on. An event takes a copy of it, and a wait
 * adds the event's to the stream's.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"

enum {
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_MERGE = 902,
  CAPTURE_UNMATCHED = 903,
  CAPTURE_UNJOINED = 904,
  CAPTURE_ISOLATION = 905,
  CAPTURE_IMPLICIT = 906,
  CAPTURED_EVENT = 907,
  CAPTURE_WRONG_THREAD = 908
};

typedef struct node {
  simt_work work;
  simt_frontier after;
} node;

struct CUgraph_st {
  node *node;
  int count;
  CUuserObject *object; /* a reference each */
  int objects;
  char kind; /* what was handed out, or 0 */
  simt_graph *next;
};

struct CUuserObject_st {
  void *user;
  CUhostFn destroy;
  long references, own; /* own: of these, the program's */
  CUuserObject next;
};

static simt_graph *handed_out;
static CUuserObject objects, dead; /* dead: whose destructor is still to be called */
static _Thread_local bool destroying;
static unsigned long long captures;

/* ---- frontiers -----------------------------------------------------------------------------------------------------
 */

static void *grown(void *array, int count, size_t bytes) {
  void *more = realloc(array, (size_t)count * bytes);
  if (!more)
    simt_die("no memory");
  return more;
}

static void frontier_add(simt_frontier *frontier, int number) {
  for (int i = 0; i < frontier->count; i++)
    if (frontier->node[i] == number)
      return;
  frontier->node = grown(frontier->node, frontier->count + 1, sizeof *frontier->node);
  frontier->node[frontier->count++] = number;
}

static void frontier_join(simt_frontier *frontier, const simt_frontier *other) {
  for (int i = 0; i < other->count; i++)
    frontier_add(frontier, other->node[i]);
}

static void frontier_clear(simt_frontier *frontier) {
  free(frontier->node);
  *frontier = (simt_frontier){0};
}

/* ---- objects of the program's --------------------------------------------------------------------------------------
 */

CUuserObject simt_object_make(void *user, CUhostFn destroy, long references) {
  CUuserObject object = malloc(sizeof *object);
  if (!object)
    return NULL;
  *object = (struct CUuserObject_st){user, destroy, references, references, objects};
  return objects = object;
}

bool simt_object_known(CUuserObject object, long own) {
  for (CUuserObject one = objects; one; one = one->next)
    if (one == object)
      return one->own >= own;
  return false;
}

int simt_objects_alive(void) {
  int count = 0;
  for (CUuserObject one = objects; one; one = one->next)
    count++;
  return count;
}

static void let_go(CUuserObject object, long references) {
  object->references -= references;
  if (object->references)
    return;
  CUuserObject *at = &objects;
  while (*at != object)
    at = &(*at)->next;
  *at = object->next;
  object->next = dead;
  dead = object;
  if (!simt_setting("SIMT_ASYNC", 0))
    simt_objects_destroy();
}

void simt_object_release(CUuserObject object, long references) {
  object->own -= references;
  let_go(object, references);
}

void simt_objects_destroy(void) {
  while (dead) {
    CUuserObject object = dead;
    dead = object->next;
    destroying = true;
    object->destroy(object->user);
    destroying = false;
    free(object);
  }
}

bool simt_objects_destroying(void) {
  return destroying;
}

/* ---- graphs --------------------------------------------------------------------------------------------------------
 */

simt_graph *simt_graph_make(void) {
  return calloc(1, sizeof(simt_graph));
}

static node *add_node(simt_graph *graph, simt_work work, const simt_frontier *after) {
  graph->node = grown(graph->node, graph->count + 1, sizeof *graph->node);
  node *made = &graph->node[graph->count++];
  *made = (node){.work = work};
  frontier_join(&made->after, after);
  return made;
}

static void add_reference(simt_graph *graph, CUuserObject object) {
  graph->object = grown(graph->object, graph->objects + 1, sizeof *graph->object);
  graph->object[graph->objects++] = object;
}

void simt_graph_retain(simt_graph *graph, CUuserObject object, long references, bool move) {
  if (move)
    object->own -= references;
  else
    object->references += references;
  for (long i = 0; i < references; i++)
    add_reference(graph, object);
}

simt_graph *simt_graph_copy(const simt_graph *graph) {
  simt_graph *copy = simt_graph_make();
  for (int i = 0; copy && i < graph->count; i++)
    add_node(copy, simt_work_copy(&graph->node[i].work), &graph->node[i].after);
  for (int i = 0; copy && i < graph->objects; i++)
    simt_graph_retain(copy, graph->object[i], 1, false);
  return copy;
}

void simt_graph_free(simt_graph *graph) {
  for (simt_graph **at = &handed_out; *at; at = &(*at)->next)
    if (*at == graph) {
      *at = graph->next;
      break;
    }
  for (int i = 0; i < graph->count; i++) {
    simt_work_free(&graph->node[i].work);
    frontier_clear(&graph->node[i].after);
  }
  for (int i = 0; i < graph->objects; i++)
    let_go(graph->object[i], 1);
  free(graph->object);
  free(graph->node);
  free(graph);
}

int simt_graph_nodes(const simt_graph *graph) {
  return graph->count;
}

bool simt_graph_uses(const simt_graph *graph, const simt_module *module) {
  for (int i = 0; i < graph->count; i++)
    if (graph->node[i].work.kind == SIMT_LAUNCH && graph->node[i].work.kernel->module == module)
      return true;
  return false;
}

void simt_graph_hand_out(simt_graph *graph, char kind) {
  graph->kind = kind;
  graph->next = handed_out;
  handed_out = graph;
}

bool simt_graph_known(const simt_graph *graph, char kind) {
  for (const simt_graph *one = handed_out; one; one = one->next)
    if (one == graph)
      return one->kind == kind;
  return false;
}

bool simt_graph_captured(const simt_graph *graph) {
  for (CUstream stream = NULL; (stream = simt_stream_capturing(stream, NULL));)
    if (stream->capture->graph == graph)
      return true;
  return false;
}

int simt_graphs_alive(void) {
  int count = 0;
  for (const simt_graph *one = handed_out; one; one = one->next)
    count++;
  return count;
}

static bool all_in(const simt_frontier *frontier, const bool *set) {
  for (int i = 0; i < frontier->count; i++)
    if (!set[frontier->node[i]])
      return false;
  return true;
}

static int choose(const simt_graph *graph, const bool *done, bool shuffled) {
  static unsigned long long random;
  int chosen = -1;
  unsigned candidates = 0;
  for (int i = 0; i < graph->count; i++)
    if (!done[i] && all_in(&graph->node[i].after, done)) {
      if (!shuffled)
        return i;
      if (simt_random(&random) % ++candidates == 0)
        chosen = i;
    }
  return chosen;
}

void simt_graph_run(const simt_graph *graph, bool shuffled) {
  bool *done = calloc((size_t)graph->count + 1, sizeof *done);
  if (!done)
    simt_die("no memory");
  for (int left = graph->count; left > 0; left--) {
    int next = choose(graph, done, shuffled);
    simt_work_run(&graph->node[next].work);
    done[next] = true;
  }
  free(done);
}

/* ---- captures ------------------------------------------------------------------------------------------------------
 */

bool simt_capture_begin(CUstream stream, int mode) {
  simt_capture *capture = calloc(1, sizeof *capture);
  simt_graph *graph = simt_graph_make();
  if (!capture || !graph) {
    free(capture);
    free(graph);
    return false;
  }
  *capture = (simt_capture){.id = ++captures, .origin = stream, .graph = graph, .mode = mode, .thread = pthread_self()};
  stream->capture = capture;
  return true;
}

/* Nodes come after those that they depend on. */
static bool all_joined(const simt_graph *graph, const simt_frontier *end) {
  bool *reached = calloc((size_t)graph->count + 1, sizeof *reached);
  bool all = true;
  if (!reached)
    simt_die("no memory");
  for (int i = 0; i < end->count; i++)
    reached[end->node[i]] = true;
  for (int n = graph->count - 1; n >= 0; n--) {
    const simt_frontier *after = &graph->node[n].after;
    all = all && reached[n];
    for (int i = 0; reached[n] && i < after->count; i++)
      reached[after->node[i]] = true;
  }
  free(reached);
  return all;
}

int simt_capture_end(CUstream stream, simt_graph **graph) {
  simt_capture *capture = stream->capture;
  if (!capture || capture->origin != stream)
    return CAPTURE_UNMATCHED;
  if (capture->mode != SIMT_CAPTURE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
    return CAPTURE_WRONG_THREAD;
  int result = capture->invalid                                 ? CAPTURE_INVALIDATED
               : !all_joined(capture->graph, &stream->frontier) ? CAPTURE_UNJOINED
                                                                : CUDA_SUCCESS;
  for (CUstream one = NULL; (one = simt_stream_capturing(one, capture));) {
    one->capture = NULL;
    frontier_clear(&one->frontier);
  }
  *graph = result ? NULL : capture->graph;
  if (result)
    simt_graph_free(capture->graph);
  free(capture);
  return result;
}

static int spoil(simt_capture *capture, int error) {
  capture->invalid = true;
  return error;
}

int simt_capture_work(CUstream stream, const simt_work *work) {
  simt_capture *capture = stream->capture;
  if (capture->invalid)
    return CAPTURE_INVALIDATED;
  add_node(capture->graph, simt_work_copy(work), &stream->frontier);
  frontier_clear(&stream->frontier);
  frontier_add(&stream->frontier, capture->graph->count - 1);
  return CUDA_SUCCESS;
}

int simt_capture_record(CUstream stream, CUevent event) {
  if (stream->capture->invalid)
    return CAPTURE_INVALIDATED;
  event->capture = stream->capture->id;
  frontier_clear(&event->frontier);
  frontier_join(&event->frontier, &stream->frontier);
  return CUDA_SUCCESS;
}

static simt_capture *find_capture(unsigned long long id) {
  for (CUstream stream = NULL; (stream = simt_stream_capturing(stream, NULL));)
    if (stream->capture->id == id)
      return stream->capture;
  return NULL;
}

/* An event that was recorded outside belongs to no node; one that was never recorded is nothing to wait for. */
int simt_capture_wait(CUstream stream, CUevent event) {
  if (!event->capture)
    return event->records ? spoil(stream->capture, CAPTURE_ISOLATION) : CUDA_SUCCESS;
  simt_capture *own = stream->capture, *other = find_capture(event->capture);
  if (!other)
    return CAPTURED_EVENT;
  if (own && own != other) {
    spoil(other, 0);
    return spoil(own, CAPTURE_MERGE);
  }
  if (other->invalid)
    return CAPTURE_INVALIDATED;
  stream->capture = other;
  frontier_join(&stream->frontier, &event->frontier);
  return CUDA_SUCCESS;
}

static _Thread_local int thread_mode = SIMT_CAPTURE_GLOBAL;

int simt_capture_exchange(int mode) {
  int before = thread_mode;
  thread_mode = mode;
  return before;
}

int simt_capture_forbids(void) {
  int result = CUDA_SUCCESS;
  if (thread_mode == SIMT_CAPTURE_RELAXED)
    return result;
  for (CUstream stream = NULL; (stream = simt_stream_capturing(stream, NULL));) {
    simt_capture *capture = stream->capture;
    bool own = pthread_equal(capture->thread, pthread_self());
    bool all = capture->mode == SIMT_CAPTURE_GLOBAL && thread_mode == SIMT_CAPTURE_GLOBAL;
    if (all || (own && capture->mode != SIMT_CAPTURE_RELAXED))
      result = spoil(capture, CAPTURE_UNSUPPORTED);
  }
  return result;
}

int simt_capture_forbids_default(void) {
  int result = CUDA_SUCCESS;
  for (CUstream stream = NULL; (stream = simt_stream_capturing(stream, NULL));)
    if (!(stream->flags & CU_STREAM_NON_BLOCKING))
      result = spoil(stream->capture, CAPTURE_IMPLICIT);
  return result;
}
