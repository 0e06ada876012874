/*
 * queue.c - streams and events of the simulated GPU, and what is queued on them
 * SPDX-License-Identifier: MIT
 */
#include "queue.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "graph.h"
#include "report.h"

/* The default stream, which other streams wait for and which waits for them, and the one of CU_STREAM_PER_THREAD. */
static struct CUstream_st per_thread;
static struct CUstream_st legacy = {.id = 1, .next = &per_thread};
static CUstream streams = &legacy;
static CUstream unused; /* handles of destroyed streams, the last one first */
static unsigned long long ids = 1;
static CUevent events;
static unsigned long long steps;

static bool asynchronous(void) {
  return simt_setting("SIMT_ASYNC", 0) != 0;
}

static unsigned chance(unsigned of) {
  static unsigned long long random;
  static bool seeded;
  if (!seeded)
    random = (unsigned long long)simt_setting("SIMT_SEED", 1);
  seeded = true;
  return simt_random(&random) % of;
}

/* ---- objects -------------------------------------------------------------------------------------------------------
 */

CUstream simt_stream_find(CUstream handle) {
  if ((uintptr_t)handle <= 1)
    return &legacy;
  if ((uintptr_t)handle == 2)
    return &per_thread;
  for (CUstream stream = streams; stream; stream = stream->next)
    if (stream == handle && !stream->gone)
      return stream;
  return NULL;
}

bool simt_stream_is_default(CUstream stream) {
  return stream == &legacy;
}

unsigned long long simt_stream_id(CUstream stream) {
  static __thread unsigned long long own;
  if (stream != &per_thread)
    return stream->id;
  if (!own)
    own = ++ids;
  return own;
}

CUstream simt_stream_make(unsigned flags) {
  CUstream stream = unused;
  if (stream)
    unused = stream->next;
  else if (!(stream = malloc(sizeof *stream)))
    return NULL;
  *stream = (struct CUstream_st){.flags = flags, .id = ++ids, .next = streams};
  return streams = stream;
}

static void unlink_stream(CUstream stream) {
  CUstream *at = &streams;
  while (*at != stream)
    at = &(*at)->next;
  *at = stream->next;
}

/* As on a GPU: what is queued is still done, and the next stream may have the handle. */
void simt_stream_free(CUstream stream) {
  unlink_stream(stream);
  free(stream->frontier.node);
  if (stream->first) {
    CUstream rest = malloc(sizeof *rest);
    if (!rest)
      simt_die("no memory");
    *rest = (struct CUstream_st){
        .flags = stream->flags, .gone = true, .first = stream->first, .last = stream->last, .next = streams};
    streams = rest;
  }
  stream->next = unused;
  unused = stream;
}

bool simt_event_known(CUevent event) {
  for (CUevent one = events; one; one = one->next)
    if (one == event)
      return !one->gone;
  return false;
}

CUevent simt_event_make(unsigned flags) {
  CUevent event = calloc(1, sizeof *event);
  if (!event)
    return NULL;
  event->flags = flags;
  event->next = events;
  return events = event;
}

static void release_event(CUevent event) {
  if (event->users || !event->gone)
    return;
  CUevent *at = &events;
  while (*at != event)
    at = &(*at)->next;
  *at = event->next;
  free(event->frontier.node);
  free(event);
}

void simt_event_free(CUevent event) {
  event->gone = true;
  release_event(event);
}

int simt_streams_alive(void) {
  int count = 0;
  for (CUstream stream = streams; stream; stream = stream->next)
    count += stream != &legacy && stream != &per_thread && !stream->gone;
  return count;
}

int simt_events_alive(void) {
  int count = 0;
  for (CUevent event = events; event; event = event->next)
    count += !event->gone;
  return count;
}

CUstream simt_stream_capturing(CUstream after, const simt_capture *capture) {
  for (CUstream stream = after ? after->next : streams; stream; stream = stream->next)
    if (stream->capture && (!capture || stream->capture == capture))
      return stream;
  return NULL;
}

/* ---- doing ---------------------------------------------------------------------------------------------------------
 */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* The legacy default stream and those that were not created non-blocking take turns in the order of the calls. */
static bool its_turn(const struct CUstream_st *stream) {
  const simt_step *step = stream->first;
  for (const struct CUstream_st *other = streams; other; other = other->next) {
    bool tied = (stream == &legacy || other == &legacy) && stream != other &&
                !((stream->flags | other->flags) & CU_STREAM_NON_BLOCKING);
    if (tied && other->first && other->first->number < step->number)
      return false;
  }
  return true;
}

static bool ready(const struct CUstream_st *stream) {
  const simt_step *step = stream->first;
  if (!step || (step->kind == SIMT_STEP_WAIT && step->event->done < step->record))
    return false;
  return its_turn(stream);
}

static void do_step(simt_step *step) {
  switch (step->kind) {
  case SIMT_STEP_WORK:
    simt_work_run(&step->work);
    simt_work_free(&step->work);
    break;
  case SIMT_STEP_GRAPH:
    simt_graph_run(step->graph, asynchronous());
    simt_graph_free(step->graph);
    break;
  case SIMT_STEP_RECORD:
    step->event->milliseconds = now();
    step->event->done = step->record;
    break;
  case SIMT_STEP_WAIT:
    break;
  }
  if (step->event) {
    step->event->users--;
    release_event(step->event);
  }
}

static CUstream choose(void) {
  CUstream chosen = NULL;
  unsigned candidates = 0;
  for (CUstream stream = streams; stream; stream = stream->next) {
    if (!ready(stream))
      continue;
    candidates++;
    bool better = asynchronous() ? chance(candidates) == 0 : !chosen || stream->first->number < chosen->first->number;
    if (better)
      chosen = stream;
  }
  return chosen;
}

/* Does one step of some stream. False: nothing can be done. */
static bool advance(void) {
  CUstream stream = choose();
  if (!stream)
    return false;
  simt_step *step = stream->first;
  do_step(step);
  stream->first = step->next;
  if (!stream->first)
    stream->last = NULL;
  free(step);
  if (stream->gone && !stream->first) {
    unlink_stream(stream);
    free(stream);
  }
  return true;
}

static void must_advance(void) {
  if (!advance())
    simt_die("somebody waits for a stream that waits for ever");
}

static bool all_done(void) {
  for (CUstream stream = streams; stream; stream = stream->next)
    if (stream->first)
      return false;
  return true;
}

void simt_wait_all(void) {
  while (!all_done())
    must_advance();
}

void simt_wait_stream(CUstream stream) {
  while (stream->first)
    must_advance();
}

void simt_wait_event(CUevent event) {
  long record = event->records;
  while (event->done < record)
    must_advance();
}

bool simt_stream_done(CUstream stream) {
  if (stream->first)
    advance();
  return !stream->first;
}

bool simt_event_done(CUevent event) {
  if (event->done < event->records)
    advance();
  return event->done >= event->records;
}

/* ---- queueing ------------------------------------------------------------------------------------------------------
 */

static void queue(CUstream stream, simt_step step) {
  simt_step *made = malloc(sizeof *made);
  if (!made)
    simt_die("no memory");
  step.number = ++steps;
  step.next = NULL;
  *made = step;
  if (step.event)
    step.event->users++;
  if (stream->last)
    stream->last->next = made;
  else
    stream->first = made;
  stream->last = made;
  if (!asynchronous())
    simt_wait_all();
  while (chance(4) == 0 && advance())
    ;
}

void simt_queue_work(CUstream stream, simt_work work) {
  queue(stream, (simt_step){.kind = SIMT_STEP_WORK, .work = work});
}

void simt_queue_record(CUstream stream, CUevent event) {
  queue(stream, (simt_step){.kind = SIMT_STEP_RECORD, .event = event, .record = ++event->records});
}

void simt_queue_wait(CUstream stream, CUevent event) {
  queue(stream, (simt_step){.kind = SIMT_STEP_WAIT, .event = event, .record = event->records});
}

void simt_queue_graph(CUstream stream, simt_graph *graph) {
  queue(stream, (simt_step){.kind = SIMT_STEP_GRAPH, .graph = graph});
}

static bool overlap(const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes) {
  return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

bool simt_queue_touches(const unsigned char *at, size_t bytes) {
  for (CUstream stream = streams; stream; stream = stream->next)
    for (const simt_step *step = stream->first; step; step = step->next) {
      const simt_work *work = &step->work;
      if (step->kind == SIMT_STEP_WORK && work->kind != SIMT_LAUNCH &&
          (overlap(work->to, work->bytes, at, bytes) || (work->from && overlap(work->from, work->bytes, at, bytes))))
        return true;
    }
  return false;
}

bool simt_queue_uses(const simt_module *module) {
  for (CUstream stream = streams; stream; stream = stream->next)
    for (const simt_step *step = stream->first; step; step = step->next) {
      if (step->kind == SIMT_STEP_WORK && step->work.kind == SIMT_LAUNCH && step->work.kernel->module == module)
        return true;
      if (step->kind == SIMT_STEP_GRAPH && simt_graph_uses(step->graph, module))
        return true;
    }
  return false;
}
