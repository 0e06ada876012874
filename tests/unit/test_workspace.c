/*
 * test_workspace.c - no two runs that may overlap have the same scratch memory
 * SPDX-License-Identifier: MIT
 *
 * The driver is a table of the test's own that writes down what it is asked, and knows which work of which stream
 * comes before which: for each stream, how much of every other's it has waited for. Streams are destroyed with work
 * left, and new ones get their handles. Memory is not given twice, and not used before it was cleared. Graphs hold
 * objects, whose destructors are called when the test destroys them, before the plan's memory is closed or after.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/lot.h"
#include "../support/run_tests.h"
#include "gpu/workspace.h"

enum { MEMORY = 4096, UNIT = 256, UNITS = 8192 }; /* address of all memory, and what it comes in */
enum { WANTED = 1000, GIVEN = 1024 };             /* bytes asked for, and rounded up */
enum { LEAST = 64 << 10, MOST = 5 * LEAST / 2 };  /* of a stream's first piece, and of any */
enum { KEPT = RS_HOME_WORKSPACES + RS_RUN_WORKSPACES };
enum { HANDLES = 24, EVENTS = RS_RUN_WORKSPACES };
enum { STREAMS = 256 }; /* that ever are; the first of each handle has its number */

typedef struct past {
  unsigned long long of[STREAMS]; /* work of each stream that is done */
} past;

static struct {
  pthread_mutex_t mutex;
  past stream[STREAMS], event[EVENTS];
  int last[UNITS];                /* stream that had the memory last, */
  unsigned long long when[UNITS]; /* and when by its own clock; 0: none */
  bool clear[UNITS];
  size_t room[UNITS]; /* of the memory that begins there */
  int overlaps;
  int streams; /* so far */
} gpu = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static long handles[HANDLES]; /* their addresses are the streams */
static int behind[HANDLES];   /* which stream has that handle */
static char events[EVENTS];
static _Thread_local int own; /* which stream is CU_STREAM_PER_THREAD */

static CUstream handle(int number) {
  return (CUstream)(void *)&handles[number];
}
static int number_of(CUstream stream) {
  return stream == CU_STREAM_PER_THREAD                 ? own
         : stream == NULL || stream == CU_STREAM_LEGACY ? 0
                                                        : behind[(long *)(void *)stream - handles];
}
/* Destroys a stream, whose work stays, and creates one, which gets the handle. False: there have been too many. */
static bool renew(int number) {
  pthread_mutex_lock(&gpu.mutex);
  bool left = gpu.streams < STREAMS;
  if (left)
    behind[number] = gpu.streams++;
  pthread_mutex_unlock(&gpu.mutex);
  return left;
}

static int waits, records, allocated, freed;
static size_t used, unclear;     /* bytes of memory so far, and at the end of it, that are not clear yet */
static CUresult refuses, spoils; /* the next allocation, or clearing */
static int mode;                 /* of capture, of this thread */
static char clearing;            /* the stream that clears */
static CUevent waited;
static unsigned long long capturing;

static CUresult exchange_mode(int *with) {
  int old = mode;
  mode = *with;
  *with = old;
  return CUDA_SUCCESS;
}
static CUresult alloc(CUdeviceptr *to, size_t bytes) {
  ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  ck_assert(bytes % UNIT == 0 && used + bytes <= (size_t)UNITS * UNIT && !unclear);
  CUresult result = refuses;
  refuses = CUDA_SUCCESS;
  if (result)
    return result;
  *to = MEMORY + used;
  used += bytes;
  unclear = bytes;
  gpu.room[(used - bytes) / UNIT] = bytes;
  allocated++;
  return CUDA_SUCCESS;
}
static CUresult free_memory(CUdeviceptr from) {
  ck_assert(from >= MEMORY && from < MEMORY + used && !unclear);
  freed++;
  return CUDA_SUCCESS;
}
static CUresult create(CUevent *event, unsigned flags) {
  static int next;
  (void)flags;
  *event = (CUevent)(void *)&events[next++ % EVENTS];
  return CUDA_SUCCESS;
}
static CUresult destroy(CUevent event) {
  (void)event;
  return CUDA_SUCCESS;
}
static CUresult record(CUevent event, CUstream stream) {
  pthread_mutex_lock(&gpu.mutex);
  gpu.event[(char *)(void *)event - events] = gpu.stream[number_of(stream)];
  records++;
  pthread_mutex_unlock(&gpu.mutex);
  return CUDA_SUCCESS;
}
static CUresult wait_for(CUstream stream, CUevent event, unsigned flags) {
  (void)flags;
  pthread_mutex_lock(&gpu.mutex);
  const past *done = &gpu.event[(char *)(void *)event - events];
  past *mine = &gpu.stream[number_of(stream)];
  for (int i = 0; i < STREAMS; i++)
    if (mine->of[i] < done->of[i])
      mine->of[i] = done->of[i];
  waits++;
  waited = event;
  pthread_mutex_unlock(&gpu.mutex);
  return CUDA_SUCCESS;
}
/* The work itself, in so much of that memory. */
static void use(CUdeviceptr memory, size_t bytes, int stream) {
  pthread_mutex_lock(&gpu.mutex);
  int at = (int)((memory - MEMORY) / UNIT);
  ck_assert(gpu.clear[at] && gpu.room[at] >= bytes);
  past *mine = &gpu.stream[stream];
  gpu.overlaps += mine->of[gpu.last[at]] < gpu.when[at];
  gpu.last[at] = stream;
  gpu.when[at] = ++mine->of[stream];
  pthread_mutex_unlock(&gpu.mutex);
}
static CUresult no_wait(CUstream stream, CUevent event, unsigned flags) {
  (void)stream;
  (void)event;
  (void)flags;
  return 999;
}
static CUresult get_id(CUstream stream, unsigned long long *id) {
  ck_assert_uint_eq(capturing, 0);
  *id = (unsigned long long)number_of(stream);
  return CUDA_SUCCESS;
}
static CUresult no_id(CUstream stream, unsigned long long *id) {
  (void)stream;
  *id = 1;
  return 999;
}
static CUresult id_now_and_then(CUstream stream, unsigned long long *id) {
  static atomic_uint calls;
  return atomic_fetch_add(&calls, 1) * 2654435761u >> 31 ? get_id(stream, id) : no_id(stream, id);
}
static CUresult capture_info(CUstream stream, int *status, unsigned long long *id) {
  (void)stream;
  *status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  *id = capturing;
  return CUDA_SUCCESS;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

enum { OBJECTS = 4096 };

/* Of what a graph, which is named by its capture, holds; 0: the program. */
static struct object {
  CUhostFn destroy;
  void *user;
  unsigned long long graph;
} objects[OBJECTS];
static int object_count;
static int ties, tie_fails; /* calls so far that tie memory to a graph; which of them fails */

static CUresult tie_call(void) {
  ck_assert_uint_ne(capturing, 0);
  return ++ties == tie_fails ? 999 : CUDA_SUCCESS;
}
static CUresult capture_graph(CUstream stream, int *status, unsigned long long *id, CUgraph *graph,
                              const void **dependencies, size_t *dependency_count) {
  ck_assert(!id && !dependencies && !dependency_count);
  capture_info(stream, status, &(unsigned long long){0});
  *graph = (CUgraph)(void *)((char *)NULL + capturing);
  return tie_call();
}
static CUresult create_object(CUuserObject *object, void *user, CUhostFn destroy, unsigned references, unsigned flags) {
  ck_assert(references == 1 && flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC && object_count < OBJECTS);
  CUresult result = tie_call();
  if (result)
    return result;
  objects[object_count] = (struct object){destroy, user, 0};
  *object = (CUuserObject)(void *)&objects[object_count++];
  return CUDA_SUCCESS;
}
/* Work of a graph that is gone is done. */
static void destroy_object(struct object *object) {
  const rs_captured *piece = object->user;
  pthread_mutex_lock(&gpu.mutex);
  gpu.when[(piece->memory - MEMORY) / UNIT] = 0;
  pthread_mutex_unlock(&gpu.mutex);
  object->destroy(object->user);
  object->destroy = NULL;
}
static CUresult release_object(CUuserObject handle, unsigned count) {
  struct object *object = (struct object *)(void *)handle;
  ck_assert(count == 1 && object->destroy && !object->graph);
  destroy_object(object);
  return CUDA_SUCCESS;
}
static CUresult retain_object(CUgraph graph, CUuserObject handle, unsigned count, unsigned flags) {
  struct object *object = (struct object *)(void *)handle;
  ck_assert(count == 1 && flags == CU_GRAPH_USER_OBJECT_MOVE && object->destroy && !object->graph);
  CUresult result = tie_call();
  if (!result)
    object->graph = (unsigned long long)((char *)(void *)graph - (char *)NULL);
  return result;
}
/* Destroys a graph, or all if it is 0. */
static void destroy_graph(unsigned long long graph) {
  for (int i = 0; i < object_count; i++)
    if (objects[i].destroy && (!graph || objects[i].graph == graph))
      destroy_object(&objects[i]);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static CUresult clear(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  ck_assert(to == MEMORY + used - bytes && bytes == unclear && value == 0);
  ck_assert_ptr_eq(stream, (CUstream)(void *)&clearing);
  return spoils;
}
static CUresult synchronize(CUstream stream) {
  ck_assert_ptr_eq(stream, (CUstream)(void *)&clearing);
  for (size_t at = (used - unclear) / UNIT; at < used / UNIT && !spoils; at++)
    gpu.clear[at] = true;
  unclear = 0;
  spoils = CUDA_SUCCESS;
  return CUDA_SUCCESS;
}

static CUresult error_name(CUresult error, const char **name) {
  (void)error;
  *name = "a planted error";
  return CUDA_SUCCESS;
}

static const rs_cuda cuda = {.cuThreadExchangeStreamCaptureMode = exchange_mode,
                             .cuMemsetD8Async = clear,
                             .cuStreamSynchronize = synchronize,
                             .cuMemAlloc_v2 = alloc,
                             .cuMemFree_v2 = free_memory,
                             .cuEventCreate = create,
                             .cuEventDestroy_v2 = destroy,
                             .cuEventRecord = record,
                             .cuStreamWaitEvent = wait_for,
                             .cuGetErrorName = error_name,
                             .cuGetErrorString = error_name,
                             .cuStreamGetCaptureInfo = capture_info,
                             .cuStreamGetId = get_id,
                             .cuStreamGetCaptureInfo_v2 = capture_graph,
                             .cuUserObjectCreate = create_object,
                             .cuUserObjectRelease = release_object,
                             .cuGraphRetainUserObject = retain_object};
/* What the driver says of who a stream is: one of CUDA 12.0; an older one; others that nobody has seen. */
static CUresult (*const tellers[])(CUstream stream, unsigned long long *id) = {get_id, NULL, no_id, id_now_and_then};
enum { TELLS, LACKS, FAILS, TELLERS = sizeof tellers / sizeof *tellers };
static rs_workspaces all;

static rs_cuda table;
static rs_device_memory source = {.cuda = &table, .stream = (CUstream)(void *)&clearing};

static void open_bytes(int teller, size_t bytes) {
  table = cuda;
  table.cuStreamGetId = tellers[teller];
  for (int i = 0; i < HANDLES; i++)
    behind[i] = i;
  gpu.streams = HANDLES;
  memset(&all, 0, sizeof all);
  memset(gpu.stream, 0, sizeof gpu.stream);
  memset(gpu.event, 0, sizeof gpu.event);
  memset(gpu.when, 0, sizeof gpu.when);
  memset(gpu.clear, 0, sizeof gpu.clear);
  waits = records = allocated = freed = gpu.overlaps = 0;
  used = unclear = 0;
  capturing = 0;
  object_count = ties = tie_fails = 0;
  if (teller == LACKS) /* one before CUDA 11.3, then */
    table.cuUserObjectCreate = NULL;
  rs_workspaces_open(&all, &source, bytes, NULL);
  ck_assert_int_eq(allocated, 0);
}
static void open_with(int teller) {
  open_bytes(teller, WANTED);
}
static void open_all(void) {
  open_with(TELLS);
}

static void close_all(void) {
  ck_assert_int_eq(gpu.overlaps, 0);
  rs_workspaces_close(&all);
  ck_assert_int_eq(freed, allocated);
  destroy_graph(0); /* what is left of them */
}

/* A run; where its scratch memory lies, or 0. */
static CUdeviceptr run_of(size_t bytes, CUstream stream) {
  rs_scratch taken;
  if (rs_workspace_take(&all, stream, bytes, &taken))
    return 0;
  use(taken.memory, bytes, number_of(stream));
  return rs_workspace_give(&all, &taken, stream) ? 0 : taken.memory;
}
static CUdeviceptr run_on(CUstream stream) {
  return run_of(WANTED, stream);
}
static CUdeviceptr run(int number) {
  CUdeviceptr memory = run_on(handle(number));
  ck_assert_uint_ge(memory, MEMORY);
  ck_assert_uint_le(memory + WANTED, MEMORY + used);
  return memory;
}

/* Runs until the stream has a home. */
static CUdeviceptr settle(int number) {
  CUdeviceptr shared = run(number);
  for (int i = 1; i < RS_SETTLED_RUNS; i++)
    ck_assert_uint_eq(run(number), shared);
  CUdeviceptr home = run(number);
  ck_assert_uint_eq(home, shared);
  return home;
}

START_TEST(a_stream_keeps_its_own) {
  open_all();
  CUdeviceptr first[RS_RUN_WORKSPACES];
  for (int i = 0; i < RS_RUN_WORKSPACES; i++) {
    first[i] = run(i + 1);
    for (int j = 0; j < i; j++)
      ck_assert_msg(first[i] != first[j], "streams %d and %d have the same", i, j);
  }
  for (int i = RS_RUN_WORKSPACES - 1; i >= 0; i--)
    ck_assert_uint_eq(run(i + 1), first[i]);
  ck_assert_int_eq(waits, 0);
  ck_assert_int_eq(records, 2 * RS_RUN_WORKSPACES);
  ck_assert_int_eq(allocated, RS_RUN_WORKSPACES);
  close_all();
}
END_TEST

/* Memory is there when somebody needs it, and no sooner. */
START_TEST(one_stream_has_one) {
  open_all();
  for (int i = 0; i < 3 * RS_SETTLED_RUNS; i++) {
    run(1);
    ck_assert_int_eq(allocated, 1);
  }
  ck_assert_uint_eq(used, GIVEN);
  run(2);
  ck_assert_int_eq(allocated, 2);
  close_all();
}
END_TEST

START_TEST(one_that_is_prepared_has_it_already) {
  open_all();
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(rs_workspaces_prepare(&all, WANTED), ROWSCAN_OK);
  ck_assert_int_eq(allocated, 1);
  run(1);
  ck_assert_int_eq(allocated, 1);
  ck_assert_int_eq(rs_workspaces_prepare(&all, WANTED), ROWSCAN_OK); /* for another stream */
  ck_assert_int_eq(allocated, 2);
  run(2);
  run(1);
  ck_assert_int_eq(allocated, 2);
  for (int i = 3; i < 20; i++)
    run(i);
  ck_assert_int_eq(allocated, RS_RUN_WORKSPACES);
  ck_assert_int_eq(rs_workspaces_prepare(&all, WANTED), ROWSCAN_OK); /* the next one shares */
  ck_assert_int_eq(allocated, RS_RUN_WORKSPACES);
  close_all();
}
END_TEST

/* While another settled, which left an empty one. */
START_TEST(what_was_prepared_is_taken_first) {
  open_all();
  run(1);
  ck_assert_int_eq(rs_workspaces_prepare(&all, WANTED), ROWSCAN_OK);
  settle(1);
  run(2);
  ck_assert_int_eq(allocated, 2);
  close_all();
}
END_TEST

START_TEST(none_is_allocated_after_all_are_prepared) {
  open_all();
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(rs_workspaces_prepare_all(&all), ROWSCAN_OK);
  ck_assert_int_eq(allocated, KEPT);
  for (int number = 1; number < 9; number++)
    for (int i = 0; i < 2 * RS_SETTLED_RUNS; i++)
      run(number);
  ck_assert_int_eq(records, 2 * RS_SETTLED_RUNS * 8 - RS_HOME_WORKSPACES * RS_SETTLED_RUNS);
  ck_assert_int_eq(allocated, KEPT);
  close_all();
}
END_TEST

START_TEST(one_stream_more_waits_for_the_oldest) {
  open_all();
  CUdeviceptr first = run(1);
  CUevent done = all.slot[0].done;
  for (int i = 2; i <= RS_RUN_WORKSPACES; i++)
    run(i);
  ck_assert_int_eq(waits, 0);
  ck_assert_uint_eq(run(9), first);
  ck_assert_int_eq(waits, 1);
  ck_assert_ptr_eq(waited, done);
  ck_assert_uint_ne(run(1), first); /* its own is another's now */
  ck_assert_int_eq(waits, 2);
  close_all();
}
END_TEST

START_TEST(a_stream_that_stays_needs_no_event) {
  open_all();
  CUdeviceptr home = settle(1);
  ck_assert_int_eq(records, RS_SETTLED_RUNS);
  for (int i = 0; i < RS_RUN_WORKSPACES; i++)
    ck_assert_uint_eq(all.slot[i].stream, 0);
  for (int i = 0; i < 100; i++)
    ck_assert_uint_eq(run(1), home);
  ck_assert_int_eq(records, RS_SETTLED_RUNS);
  for (int i = 0; i < 100; i++) /* nobody else ever has it */
    ck_assert_uint_ne(run(2 + i % 7), home);
  ck_assert_int_gt(waits, 0);
  ck_assert_uint_eq(run(1), home);
  close_all();
}
END_TEST

START_TEST(what_a_settled_stream_shared_is_its_own) {
  open_all();
  settle(1);
  for (int i = 0; i < RS_RUN_WORKSPACES; i++)
    run(2 + i);
  ck_assert_int_eq(waits, 0);
  ck_assert_int_eq(allocated, 1 + RS_RUN_WORKSPACES);
  close_all();
}
END_TEST

START_TEST(as_many_settle_as_there_are_homes) {
  open_all();
  CUdeviceptr home[RS_HOME_WORKSPACES];
  for (int i = 0; i < RS_HOME_WORKSPACES; i++) {
    home[i] = settle(1 + i);
    for (int j = 0; j < i; j++)
      ck_assert_uint_ne(home[i], home[j]);
  }
  CUdeviceptr shared = run(9);
  records = 0;
  for (int i = 0; i < 3 * RS_SETTLED_RUNS; i++)
    ck_assert_uint_eq(run(9), shared);
  ck_assert_int_eq(records, 3 * RS_SETTLED_RUNS);
  for (int i = 0; i < RS_HOME_WORKSPACES; i++)
    ck_assert_uint_eq(run(1 + i), home[i]);
  close_all();
}
END_TEST

/* More than share come in turn: none has its own for two runs in a row. */
START_TEST(streams_that_take_turns_do_not_settle) {
  open_all();
  for (int i = 0; i < 100 * RS_SETTLED_RUNS; i++)
    run(1 + i % (RS_RUN_WORKSPACES + 1));
  ck_assert_int_eq(records, 100 * RS_SETTLED_RUNS);
  close_all();
}
END_TEST

START_TEST(a_graph_keeps_its_own_for_good) {
  open_with(_i);
  CUdeviceptr plain = run(1);
  capturing = 5;
  CUdeviceptr captured = run(1);
  ck_assert_uint_ne(captured, plain);
  ck_assert_uint_eq(run(1), captured); /* the same stream in the same capture: one after another */
  ck_assert_uint_ne(run(2), captured); /* another branch of the graph */
  capturing = 6;
  ck_assert_uint_ne(run(1), captured); /* another graph */
  ck_assert_int_eq(records, 1);
  ck_assert_int_eq(waits, 0);
  for (int i = 3; i < RS_CAPTURE_WORKSPACES; i++)
    run(i);
  rs_scratch none;
  ck_assert_int_eq(rs_workspace_take(&all, handle(10), WANTED, &none), ROWSCAN_OUT_OF_MEMORY);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'workspace'"));
  capturing = 0;
  ck_assert_uint_eq(run(1), plain); /* what is not captured goes on, and nothing stayed locked */
  close_all();
}
END_TEST

/* Where a captured run of so many bytes has them, or 0. */
static CUdeviceptr captured_run(unsigned long long capture, int stream, size_t bytes) {
  capturing = capture;
  CUdeviceptr memory = run_of(bytes, handle(stream));
  capturing = 0;
  return memory;
}

/* Small runs leave room for many graphs; none has what another has, nor what runs that are not captured have. */
START_TEST(graphs_have_what_they_need) {
  enum { ROOM = 256, GRAPHS = RS_CAPTURE_WORKSPACES * GIVEN / ROOM };
  open_all();
  CUdeviceptr plain = run(1), first = captured_run(1000, 1, 100), last = first;
  ck_assert_uint_ne(first, plain);
  for (int i = 1; i < GRAPHS; i++) { /* two streams of each */
    CUdeviceptr next = captured_run(1000 + (unsigned long long)i / 2, 1 + i % 2, 100 + (size_t)i);
    ck_assert_uint_eq(next, last + ROOM);
    last = next;
    ck_assert_int_eq(allocated, 2 + i);
  }
  ck_assert_uint_eq(captured_run(7, 1, 1), 0);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'workspace'"));
  ck_assert_uint_eq(captured_run(1000, 1, 100), first); /* who has some goes on */
  for (int i = 0; i < 100; i++) {
    CUdeviceptr other = run(1 + i % 7);
    ck_assert(other + GIVEN <= first || other >= last + ROOM);
  }
  close_all();
}
END_TEST

START_TEST(as_many_graphs_as_are_counted) {
  open_bytes(TELLS, RS_MOST_CAPTURED * 256);
  for (int i = 0; i < RS_MOST_CAPTURED; i++)
    ck_assert_uint_ne(captured_run(1 + (unsigned long long)i, 1, 8), 0);
  ck_assert_uint_eq(captured_run(RS_MOST_CAPTURED + 1, 1, 8), 0);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'workspace'"));
  ck_assert_uint_ne(captured_run(RS_MOST_CAPTURED, 1, 8), 0);
  close_all();
}
END_TEST

/* ---- graphs that go ---------------------------------------------------------------------------------------------- */

/* More captures than a plan can have graphs, and of more memory. */
START_TEST(a_graph_that_is_gone_leaves_what_it_had) {
  open_all();
  CUdeviceptr first = 0;
  for (unsigned long long graph = 1; graph <= 3 * RS_MOST_CAPTURED; graph++) {
    CUdeviceptr memory = captured_run(graph, 1 + (int)graph % 7, WANTED - (size_t)graph % 500);
    ck_assert_uint_ne(memory, 0);
    ck_assert_uint_eq(memory, first ? first : memory);
    first = memory;
    ck_assert_uint_eq(captured_run(graph, 1 + (int)graph % 7, 8), memory);
    destroy_graph(graph);
  }
  ck_assert_int_eq(allocated, 1);
  ck_assert_int_eq(object_count, 3 * RS_MOST_CAPTURED);
  close_all();
}
END_TEST

/* What a driver that can't tell keeps for good. */
START_TEST(an_older_driver_leaves_nothing) {
  open_with(LACKS);
  for (unsigned long long graph = 1; graph <= RS_CAPTURE_WORKSPACES; graph++) {
    ck_assert_uint_ne(captured_run(graph, 1, WANTED), 0);
    destroy_graph(graph);
  }
  ck_assert_uint_eq(captured_run(100, 1, WANTED), 0);
  ck_assert_int_eq(ties, 0);
  close_all();
}
END_TEST

START_TEST(what_a_graph_has_is_nobody_elses) {
  open_all();
  CUdeviceptr kept = captured_run(1, 1, 300), gone = captured_run(2, 1, 600), other = captured_run(3, 1, 100);
  destroy_graph(2);
  destroy_graph(3);
  ck_assert_uint_eq(captured_run(4, 1, 600), gone);
  ck_assert_uint_eq(captured_run(5, 1, 257), MEMORY + used - 512); /* nothing of that size was left */
  ck_assert_uint_eq(captured_run(6, 1, 1), other);                 /* the smallest that is enough */
  ck_assert_uint_eq(captured_run(1, 1, 300), kept);
  destroy_graph(4);
  ck_assert_uint_eq(captured_run(7, 1, 2), gone);
  close_all();
}
END_TEST

/* Small pieces that are left, of which none is enough, make room for a large one. */
START_TEST(what_is_left_makes_room) {
  enum { ROOM = 256, GRAPHS = RS_CAPTURE_WORKSPACES * GIVEN / ROOM };
  open_all();
  for (unsigned long long graph = 1; graph <= GRAPHS; graph++)
    ck_assert_uint_ne(captured_run(graph, 1, 1), 0);
  ck_assert_uint_eq(captured_run(100, 1, WANTED), 0);
  for (unsigned long long graph = 1; graph < GIVEN / ROOM; graph++)
    destroy_graph(graph);
  ck_assert_uint_eq(captured_run(101, 1, WANTED), 0); /* one too few */
  destroy_graph(GRAPHS);
  ck_assert_uint_ne(captured_run(102, 1, WANTED), 0);
  ck_assert_int_eq(freed, GIVEN / ROOM);
  ck_assert_uint_eq(captured_run(103, 1, 1), 0);
  for (unsigned long long graph = GIVEN / ROOM; graph < GRAPHS; graph++)
    ck_assert_uint_ne(captured_run(graph, 1, 1), 0); /* who has some goes on */
  ck_assert_int_eq(allocated, GRAPHS + 1);
  close_all();
}
END_TEST

static void *destroy_late(void *object) {
  usleep(20000);
  destroy_object(object);
  return NULL;
}

/* The driver's thread may be late: who would fail for want of room waits for it a little. */
START_TEST(a_graph_that_is_gone_is_waited_for) {
  open_all();
  CUdeviceptr first = captured_run(1, 1, WANTED);
  for (unsigned long long graph = 2; graph <= RS_CAPTURE_WORKSPACES; graph++)
    captured_run(graph, 1, WANTED);
  pthread_t driver;
  ck_assert_int_eq(pthread_create(&driver, NULL, destroy_late, &objects[0]), 0);
  ck_assert_uint_eq(captured_run(100, 1, WANTED), first);
  ck_assert_int_eq(pthread_join(driver, NULL), 0);
  close_all();
}
END_TEST

START_TEST(a_graph_may_outlive_the_plan) {
  open_all();
  for (unsigned long long graph = 1; graph <= 5; graph++)
    captured_run(graph, 1, 100);
  destroy_graph(2);
  destroy_graph(5);
  close_all();
  open_all();
  close_all();
}
END_TEST

/* Of the three calls each in turn: told, and the memory is the next capture's. */
START_TEST(a_failed_tie_changes_nothing) {
  open_all();
  for (int fails = 1; fails <= 3; fails++) {
    ties = 0;
    tie_fails = fails;
    ck_assert_uint_eq(captured_run((unsigned long long)fails, 1, WANTED), 0);
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "to a captured graph failed"));
    ck_assert_int_eq(allocated, 1);
    ck_assert_uint_eq(captured_run((unsigned long long)fails, 1, WANTED), MEMORY);
    destroy_graph((unsigned long long)fails);
  }
  ck_assert_uint_eq(all.captured_left, (RS_CAPTURE_WORKSPACES - 1) * GIVEN);
  close_all();
}
END_TEST

static void *destroy_many(void *count) {
  for (unsigned long long graph = 1; graph <= (unsigned long long)((char *)count - (char *)NULL); graph++)
    destroy_graph(graph);
  return NULL;
}

/* The driver's thread, while captures go on and then the plan goes. */
START_TEST(graphs_go_in_a_thread_of_the_drivers) {
  enum { GRAPHS = 30 };
  for (int i = 0; i < 100; i++) {
    pthread_t driver;
    open_bytes(TELLS, 100 * GIVEN);
    for (unsigned long long graph = 1; graph <= GRAPHS; graph++)
      captured_run(graph, 1, 100);
    ck_assert_int_eq(pthread_create(&driver, NULL, destroy_many, (char *)NULL + GRAPHS), 0);
    ck_assert_int_eq(rs_workspaces_prepare(&all, WANTED), ROWSCAN_OK);
    rs_workspaces_close(&all);
    ck_assert_int_eq(pthread_join(driver, NULL), 0);
    ck_assert_int_eq(freed, allocated);
  }
}
END_TEST

START_TEST(a_captured_stream_that_needs_more_gets_more) {
  open_all();
  CUdeviceptr small = captured_run(5, 1, 100), large = captured_run(5, 1, 300);
  ck_assert_uint_ge(large, small + 256);
  ck_assert_uint_eq(captured_run(5, 1, 512), large);
  ck_assert_uint_eq(captured_run(5, 1, 1), large);
  ck_assert_uint_ge(captured_run(5, 1, 513), large + 512);
  ck_assert_uint_ne(captured_run(6, 1, 1), large);
  close_all();
}
END_TEST

START_TEST(a_settled_stream_is_captured_like_others) {
  open_all();
  CUdeviceptr home = settle(1);
  capturing = 5;
  CUdeviceptr captured = run(1);
  ck_assert_uint_ne(captured, home);
  capturing = 0;
  ck_assert_uint_eq(run(1), home);
  for (int i = 2; i < HANDLES; i++)
    ck_assert_uint_ne(run(i), captured);
  close_all();
}
END_TEST

START_TEST(the_default_stream_is_one_by_both_names) {
  open_all();
  ck_assert_uint_eq(run_on(NULL), run_on(CU_STREAM_LEGACY));
  for (int i = 0; i < RS_SETTLED_RUNS; i++)
    run_on(NULL);
  ck_assert_int_eq(records, RS_SETTLED_RUNS);
  ck_assert_int_eq(waits, 0);
  close_all();
}
END_TEST

static void *run_as_thread(void *number) {
  own = (int)((char *)number - (char *)NULL);
  CUdeviceptr memory = run_on(CU_STREAM_PER_THREAD);
  return (char *)NULL + memory;
}

/* One after the other, so that they would be taken for one another by where their variables lie. */
START_TEST(the_stream_of_each_thread_is_another) {
  open_with(_i);
  char *had[3];
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, run_as_thread, (char *)NULL + 1 + i), 0);
    ck_assert_int_eq(pthread_join(thread, (void **)&had[i]), 0);
    for (int j = 0; j < i; j++)
      ck_assert_ptr_ne(had[i], had[j]);
  }
  ck_assert_int_eq(waits, 0);
  close_all();
}
END_TEST

/* Captured together, as when one has waited for an event of the other. */
START_TEST(the_stream_of_each_thread_is_captured_as_another) {
  open_with(_i);
  capturing = 5;
  CUdeviceptr had = run_on(CU_STREAM_PER_THREAD);
  ck_assert_uint_eq(run_on(CU_STREAM_PER_THREAD), had);
  pthread_t thread;
  char *other;
  ck_assert_int_eq(pthread_create(&thread, NULL, run_as_thread, (char *)NULL + 1), 0);
  ck_assert_int_eq(pthread_join(thread, (void **)&other), 0);
  ck_assert_uint_ne((CUdeviceptr)(other - (char *)NULL), had);
  close_all();
}
END_TEST

/* ---- handles that are used again --------------------------------------------------------------------------------- */

START_TEST(a_new_stream_is_not_the_one_that_had_its_handle) {
  open_with(_i);
  CUdeviceptr first = run(1);
  for (int i = 1; i < 2 * RS_RUN_WORKSPACES; i++) {
    ck_assert(renew(1));
    CUdeviceptr now = run(1);
    if (_i == TELLS && i < RS_RUN_WORKSPACES)
      ck_assert_uint_ne(now, first);
    ck_assert_int_eq(waits, _i != TELLS ? i : i < RS_RUN_WORKSPACES ? 0 : i - RS_RUN_WORKSPACES + 1);
  }
  close_all();
}
END_TEST

START_TEST(a_home_is_left_to_nobody) {
  open_all();
  CUdeviceptr home[RS_HOME_WORKSPACES];
  for (int i = 0; i < RS_HOME_WORKSPACES; i++) {
    home[i] = settle(1);
    ck_assert(renew(1));
  }
  for (int i = 0; i < 3 * RS_SETTLED_RUNS; i++) {
    CUdeviceptr now = run(1);
    for (int j = 0; j < RS_HOME_WORKSPACES; j++)
      ck_assert_uint_ne(now, home[j]);
  }
  close_all();
}
END_TEST

START_TEST(who_is_only_guessed_waits_and_never_settles) {
  open_with(_i);
  CUdeviceptr shared = run(1);
  for (int i = 1; i < 3 * RS_SETTLED_RUNS; i++)
    ck_assert_uint_eq(run(1), shared);
  ck_assert_int_eq(records, 3 * RS_SETTLED_RUNS);
  ck_assert_int_eq(waits, 3 * RS_SETTLED_RUNS - 1);
  close_all();
}
END_TEST

START_TEST(streams_come_and_go) {
  open_bytes(_i, MOST);
  unsigned state = 1;
  for (int i = 0; i < 5000; i++) {
    state = state * 1664525u + 1013904223u;
    int number = 1 + (int)(state >> 20) % 7;
    if (state >> 28 == 0)
      (void)renew(number);
    for (int runs = 1 + (int)(state >> 24) % 8; runs > 0; runs--)
      ck_assert_uint_ne(run_of(state >> 12 & 1 ? MOST : WANTED, handle(number)), 0);
  }
  ck_assert_int_eq(gpu.streams, STREAMS);
  ck_assert_int_gt(waits, 0);
  close_all();
}
END_TEST

/* ---- how much ---------------------------------------------------------------------------------------------------- */

START_TEST(a_stream_has_what_its_runs_need) {
  open_bytes(TELLS, MOST);
  CUdeviceptr little = run_of(100, handle(1));
  ck_assert_uint_eq(used, LEAST);
  ck_assert_uint_eq(run_of(LEAST, handle(1)), little);
  CUdeviceptr more = run_of(LEAST + 1, handle(1));
  ck_assert_uint_eq(used, LEAST + 2 * LEAST);
  ck_assert_uint_eq(run_of(2 * LEAST, handle(1)), more);
  CUdeviceptr most = run_of(2 * LEAST + 1, handle(1));
  ck_assert_uint_eq(used, LEAST + 2 * LEAST + MOST);
  ck_assert_uint_eq(run_of(MOST, handle(1)), most);
  ck_assert_uint_eq(run_of(100, handle(1)), little); /* which is not given back: nobody waits for runs that have it */
  ck_assert_uint_eq(run_of(LEAST + 1, handle(1)), more);
  CUdeviceptr other = run_of(MOST, handle(2));
  ck_assert_uint_eq(used, LEAST + 2 * LEAST + 2 * MOST);
  ck_assert_uint_eq(run_of(100, handle(2)), other); /* enough for all that is smaller */
  ck_assert_uint_eq(run_of(LEAST + 1, handle(2)), other);
  ck_assert_int_eq(allocated, 4);
  ck_assert_int_eq(freed, 0);
  close_all();
}
END_TEST

START_TEST(a_settled_stream_that_needs_more_gets_more) {
  open_bytes(TELLS, MOST);
  CUdeviceptr home = settle(1), more = run_of(MOST, handle(1));
  ck_assert_uint_eq(more, MEMORY + LEAST);
  ck_assert_uint_eq(run_of(MOST, handle(1)), more);
  ck_assert_uint_eq(run(1), home);
  ck_assert_int_eq(allocated, 2);
  ck_assert_int_eq(records, RS_SETTLED_RUNS); /* and needs no event for it */
  home = settle(2);
  refuses = CUDA_ERROR_OUT_OF_MEMORY;
  ck_assert_uint_eq(run_of(MOST, handle(2)), 0);
  ck_assert_uint_eq(run(2), home);
  ck_assert_uint_ne(run_of(MOST, handle(2)), 0);
  close_all();
}
END_TEST

START_TEST(what_settles_takes_all_pieces_along) {
  open_bytes(TELLS, MOST);
  CUdeviceptr little = run(1), more = run_of(MOST, handle(1));
  for (int i = 0; i < RS_SETTLED_RUNS; i++)
    run(1);
  ck_assert_int_eq(records, RS_SETTLED_RUNS);
  ck_assert_uint_eq(run(1), little);
  ck_assert_uint_eq(run_of(MOST, handle(1)), more);
  CUdeviceptr other = run_of(MOST, handle(2));
  ck_assert(other != little && other != more);
  close_all();
}
END_TEST

START_TEST(what_is_prepared_is_as_much_as_is_needed) {
  open_bytes(TELLS, MOST);
  ck_assert_int_eq(rs_workspaces_prepare(&all, 100), ROWSCAN_OK);
  ck_assert_uint_eq(used, LEAST);
  ck_assert_int_eq(rs_workspaces_prepare(&all, MOST), ROWSCAN_OK);
  ck_assert_uint_eq(used, LEAST + MOST);
  run_of(MOST, handle(1));
  ck_assert_int_eq(allocated, 2);
  settle(2);
  ck_assert_int_eq(allocated, 3);
  ck_assert_int_eq(rs_workspaces_prepare_all(&all), ROWSCAN_OK);
  int all_of_them = allocated;
  for (int number = 1; number < 9; number++)
    for (int i = 0; i < 2 * RS_SETTLED_RUNS; i++)
      run_of(i % 3 ? 1 : MOST, handle(number));
  ck_assert_int_eq(allocated, all_of_them);
  close_all();
}
END_TEST

/* ---- errors ------------------------------------------------------------------------------------------------------ */

START_TEST(a_failed_wait_changes_nothing) {
  open_all();
  rs_cuda broken = cuda;
  CUdeviceptr first[RS_RUN_WORKSPACES];
  for (int i = 0; i < RS_RUN_WORKSPACES; i++)
    first[i] = run(1 + i);
  broken.cuStreamWaitEvent = no_wait;
  all.cuda = &broken;
  ck_assert_uint_eq(run_on(handle(9)), 0);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "workspace"));
  all.cuda = &cuda;
  ck_assert_int_eq(waits, 0);
  ck_assert_uint_eq(run(9), first[0]); /* and must still wait */
  ck_assert_int_eq(waits, 1);
  for (int i = 1; i < RS_RUN_WORKSPACES; i++)
    ck_assert_uint_eq(run(1 + i), first[i]);
  close_all();
}
END_TEST

/* Memory that there is not, or that can't be cleared, is another run's to ask for. */
START_TEST(failed_memory_changes_nothing) {
  open_all();
  for (int captured = 0; captured < 2; captured++) {
    capturing = captured ? 5 : 0;
    int before = allocated;
    refuses = CUDA_ERROR_OUT_OF_MEMORY;
    ck_assert_uint_eq(run_on(handle(1)), 0);
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "cuMemAlloc of a plan's workspace failed"));
    ck_assert_int_eq(allocated - before, 0);
    spoils = 700;
    ck_assert_uint_eq(run_on(handle(1)), 0);
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "clearing a plan's workspace failed"));
    ck_assert_int_eq(freed, captured + 1);
    CUdeviceptr memory = run(1);
    ck_assert_uint_eq(run(1), memory);
    ck_assert_int_eq(allocated - before, 2);
  }
  ck_assert_uint_eq(all.captured_left, (RS_CAPTURE_WORKSPACES - 1) * GIVEN);
  capturing = 0;
  close_all();
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 6, RUNS = 4000 };

/* Streams come in bursts, so that some settle; threads share them, but for the one that each destroys now and then. */
static void *run_many(void *number) {
  enum { SHARED = 10 };
  int me = (int)((char *)number - (char *)NULL);
  unsigned state = (unsigned)me * 77777u;
  long lost = 0;
  own = HANDLES - 1 - me;
  for (int i = 0; i < RUNS;) {
    state = state * 1664525u + 1013904223u;
    int stream = (int)(state >> 20) % (SHARED + 1), runs = (int)(state >> 28) + 1;
    if (stream == SHARED) {
      stream += me;
      (void)renew(stream);
    }
    for (; runs > 0; runs--, i++)
      lost += !run_of(i % 5 ? WANTED : MOST, stream == 1 ? CU_STREAM_PER_THREAD : handle(stream));
  }
  return (char *)NULL + lost;
}

START_TEST(threads_never_overlap) {
  open_bytes(_i, MOST);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_many, (char *)NULL + i), 0);
  for (int i = 0; i < THREADS; i++) {
    void *lost;
    ck_assert_int_eq(pthread_join(threads[i], &lost), 0);
    ck_assert_ptr_null(lost);
  }
  ck_assert_int_gt(waits, 0);
  if (_i == TELLS)
    ck_assert_int_lt(records, THREADS * RUNS); /* some did settle */
  close_all();
}
END_TEST

int main(void) {
  lot_tell();
  Suite *suite = suite_create("workspace");
  TCase *cases = tcase_create("all");
  lot_add_test(cases, a_stream_keeps_its_own);
  lot_add_test(cases, one_stream_has_one);
  lot_add_test(cases, one_that_is_prepared_has_it_already);
  lot_add_test(cases, what_was_prepared_is_taken_first);
  lot_add_test(cases, none_is_allocated_after_all_are_prepared);
  lot_add_test(cases, one_stream_more_waits_for_the_oldest);
  lot_add_test(cases, a_stream_that_stays_needs_no_event);
  lot_add_test(cases, what_a_settled_stream_shared_is_its_own);
  lot_add_test(cases, as_many_settle_as_there_are_homes);
  lot_add_test(cases, streams_that_take_turns_do_not_settle);
  tcase_add_loop_test(cases, a_graph_keeps_its_own_for_good, TELLS, FAILS + 1);
  lot_add_test(cases, graphs_have_what_they_need);
  lot_add_test(cases, as_many_graphs_as_are_counted);
  lot_add_test(cases, a_graph_that_is_gone_leaves_what_it_had);
  lot_add_test(cases, an_older_driver_leaves_nothing);
  lot_add_test(cases, what_a_graph_has_is_nobody_elses);
  lot_add_test(cases, what_is_left_makes_room);
  lot_add_test(cases, a_graph_that_is_gone_is_waited_for);
  lot_add_test(cases, a_graph_may_outlive_the_plan);
  lot_add_test(cases, a_failed_tie_changes_nothing);
  lot_add_test(cases, graphs_go_in_a_thread_of_the_drivers);
  lot_add_test(cases, a_captured_stream_that_needs_more_gets_more);
  lot_add_test(cases, a_settled_stream_is_captured_like_others);
  lot_add_test(cases, the_default_stream_is_one_by_both_names);
  tcase_add_loop_test(cases, the_stream_of_each_thread_is_another, 0, TELLERS);
  tcase_add_loop_test(cases, the_stream_of_each_thread_is_captured_as_another, 0, TELLERS);
  tcase_add_loop_test(cases, a_new_stream_is_not_the_one_that_had_its_handle, TELLS, FAILS + 1);
  lot_add_test(cases, a_home_is_left_to_nobody);
  tcase_add_loop_test(cases, who_is_only_guessed_waits_and_never_settles, LACKS, FAILS + 1);
  tcase_add_loop_test(cases, streams_come_and_go, 0, TELLERS);
  lot_add_test(cases, a_stream_has_what_its_runs_need);
  lot_add_test(cases, a_settled_stream_that_needs_more_gets_more);
  lot_add_test(cases, what_settles_takes_all_pieces_along);
  lot_add_test(cases, what_is_prepared_is_as_much_as_is_needed);
  lot_add_test(cases, a_failed_wait_changes_nothing);
  lot_add_test(cases, failed_memory_changes_nothing);
  tcase_add_loop_test(cases, threads_never_overlap, 0, TELLERS);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
