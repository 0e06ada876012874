/*
 * table.c - the plans that one-call scans have made on a GPU, by spec
 * SPDX-License-Identifier: MIT
 */
#include "table.h"

#include <stdlib.h>

#include "base/status.h"
#include "tiers.h"

/* Recorded after the last run on a stream, and after those on streams that it waited for. */
typedef struct last_run {
  CUevent done;
  unsigned long long stream; /* its name, see workspace.h */
} last_run;

struct rs_table_node {
  rs_table_node *next; /* in its bucket */
  uint64_t hash;
  rs_program program;
  bool stays;                   /* this and what follows: under the mutex */
  rs_table_node *older, *newer; /* guests, by use */
  int users;                    /* threads that are inside */
  int runs;                     /* so far */
  int streams;                  /* that it told apart */
  int turn;                     /* whose place the next stream gets that has none */
  last_run last[RS_TABLE_STREAMS];
};

/* ---- found ------------------------------------------------------------------------------------------------------- */

static size_t bucket_of(uint64_t hash) {
  return hash >> 56;
}
_Static_assert(RS_TABLE_BUCKETS == 256, "bucket_of() gives 8 bits");

static rs_table_node *find_in_chain(rs_table_node *node, uint64_t hash, const rowscan_spec *spec) {
  while (node && (node->hash != hash || !rs_spec_equal(&node->program.spec, spec)))
    node = node->next;
  return node;
}

static rs_table_node *find_staying(rs_table *table, uint64_t hash, const rowscan_spec *spec) {
  return find_in_chain(atomic_load_explicit(&table->staying[bucket_of(hash)], memory_order_acquire), hash, spec);
}

/* ---- guests ------------------------------------------------------------------------------------------------------
 * All of this with the mutex locked. */

static void leave_order(rs_table *table, rs_table_node *node) {
  *(node->older ? &node->older->newer : &table->oldest) = node->newer;
  *(node->newer ? &node->newer->older : &table->newest) = node->older;
}

static void enter_order(rs_table *table, rs_table_node *node) {
  node->older = table->newest;
  node->newer = NULL;
  *(table->newest ? &table->newest->newer : &table->oldest) = node;
  table->newest = node;
}

static void add_guest(rs_table *table, rs_table_node *node) {
  rs_table_node **bucket = &table->guest[bucket_of(node->hash)];
  node->next = *bucket;
  *bucket = node;
  enter_order(table, node);
  table->guests++;
}

static void remove_guest(rs_table *table, rs_table_node *node) {
  rs_table_node **at = &table->guest[bucket_of(node->hash)];
  while (*at != node)
    at = &(*at)->next;
  *at = node->next;
  leave_order(table, node);
  table->guests--;
}

static void settle(rs_table *table, rs_table_node *node) {
  if (node->stays)
    return;
  remove_guest(table, node);
  _Atomic(rs_table_node *) *bucket = &table->staying[bucket_of(node->hash)];
  node->stays = true;
  node->next = atomic_load_explicit(bucket, memory_order_relaxed);
  atomic_store_explicit(bucket, node, memory_order_release);
  table->stayed++;
}

/* One more thread is inside. NULL: there is no such plan. */
static rs_table_node *find_and_use(rs_table *table, uint64_t hash, const rowscan_spec *spec) {
  rs_table_node *node = find_staying(table, hash, spec); /* it may have settled a moment ago */
  if (node)
    return node;
  node = find_in_chain(table->guest[bucket_of(hash)], hash, spec);
  if (!node)
    return NULL;
  leave_order(table, node);
  enter_order(table, node);
  node->users++;
  return node;
}

/* After a run of it, or many. */
static void leave_node(rs_table *table, rs_table_node *node) {
  if (node->stays)
    return;
  node->users--;
  if (++node->runs >= RS_TABLE_SETTLED_RUNS && table->stayed < table->most_staying)
    settle(table, node);
}

/* ---- evicted ----------------------------------------------------------------------------------------------------- */

static bool is_done(const rs_cuda *cuda, const rs_table_node *node) {
  for (int i = 0; i < node->streams; i++)
    if (cuda->cuEventQuery(node->last[i].done) != CUDA_SUCCESS)
      return false;
  return true;
}

static int most_guests(const rs_table *table) {
  int left = table->most - table->stayed, least = table->most - table->most_staying;
  return left > least ? left : least;
}

/* Takes out guests until no more than the bound are left, or all others are in use: a list. The mutex is locked. */
static rs_table_node *evict(rs_table *table, const rs_cuda *cuda) {
  rs_table_node *gone = NULL, *newer;
  for (rs_table_node *node = table->oldest; node && table->guests > most_guests(table); node = newer) {
    newer = node->newer;
    if (node->users || !is_done(cuda, node))
      continue;
    remove_guest(table, node);
    node->next = gone;
    gone = node;
  }
  return gone;
}

static void destroy_events(const rs_device *device, const rs_table_node *node) {
  bool pushed;
  if (!node->streams || rs_device_enter(device, &pushed))
    return;
  for (int i = 0; i < node->streams; i++)
    device->cuda->cuEventDestroy_v2(node->last[i].done);
  rs_device_leave(device, pushed);
}

static void destroy_list(rs_table_node *node) {
  for (rs_table_node *next; node; node = next) {
    next = node->next;
    destroy_events(&node->program.gpu->device, node);
    rs_tiers_close_program(&node->program);
    free(node);
  }
}

/* ---- made -------------------------------------------------------------------------------------------------------- */

static rowscan_status make_node(rs_table_node **made, rs_gpu *gpu, uint64_t hash, const rowscan_spec *spec,
                                const rs_rows *rows) {
  rs_table_node *node = malloc(sizeof *node);
  if (!node)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the table of programs");
  *node = (rs_table_node){.hash = hash};
  rs_program_open(&node->program, gpu, spec, gpu->device.arch, true);
  rowscan_status status = rs_tiers_ready(&node->program, rows);
  if (status) {
    rs_tiers_close_program(&node->program);
    free(node);
    return status;
  }
  *made = node;
  return ROWSCAN_OK;
}

/* The first who has made it adds it, and enters it as all others do; what there is no more room for goes. */
static rs_table_node *add(rs_table *table, rs_table_node *made) {
  const rs_cuda *cuda = made->program.gpu->device.cuda;
  int mode = rs_cuda_relax(cuda);
  pthread_mutex_lock(&table->mutex);
  rs_table_node *node = find_and_use(table, made->hash, &made->program.spec), *gone = NULL;
  if (node) {
    made->next = NULL;
    gone = made;
  } else {
    add_guest(table, made);
    node = find_and_use(table, made->hash, &made->program.spec);
    gone = evict(table, cuda);
  }
  pthread_mutex_unlock(&table->mutex);
  rs_cuda_restore(cuda, mode);
  destroy_list(gone);
  return node;
}

static rowscan_status take_node(rs_table *table, rs_gpu *gpu, uint64_t hash, const rowscan_spec *spec,
                                const rs_rows *rows, rs_table_node **taken) {
  pthread_mutex_lock(&table->mutex);
  rs_table_node *node = find_and_use(table, hash, spec), *made = NULL;
  pthread_mutex_unlock(&table->mutex);
  if (!node) {
    rowscan_status status = make_node(&made, gpu, hash, spec, rows);
    if (status)
      return status;
    node = add(table, made);
  }
  *taken = node;
  return ROWSCAN_OK;
}

rowscan_status rs_table_take(rs_table *table, rs_gpu *gpu, const rowscan_spec *spec, const rs_rows *rows,
                             rs_table_node **taken) {
  return take_node(table, gpu, rs_spec_hash(spec), spec, rows, taken);
}

rs_program *rs_table_program(rs_table_node *taken) {
  return &taken->program;
}

void rs_table_give(rs_table *table, rs_table_node *taken) {
  pthread_mutex_lock(&table->mutex);
  leave_node(table, taken);
  pthread_mutex_unlock(&table->mutex);
}

rowscan_status rs_table_ready(rs_table *table, rs_gpu *gpu, const rowscan_spec *spec, const rs_rows *rows) {
  rs_table_node *taken;
  rowscan_status status = rs_table_take(table, gpu, spec, rows, &taken);
  if (status)
    return status;
  status = rs_tiers_prepare(&taken->program, rows, 1);
  rs_table_give(table, taken);
  return status;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

/* The last run of a stream, or the place of it; of one whose place another has, or only a guess, it waits for that. */
static CUresult place_of(const rs_cuda *cuda, rs_table_node *node, CUstream stream, last_run **place) {
  unsigned long long name = rs_stream_name(cuda, stream);
  CUresult result = CUDA_SUCCESS;
  for (int i = 0; i < node->streams; i++)
    if (node->last[i].stream == name) {
      *place = &node->last[i];
      return rs_stream_guessed(name) ? cuda->cuStreamWaitEvent(stream, node->last[i].done, 0) : CUDA_SUCCESS;
    }
  if (node->streams < RS_TABLE_STREAMS) {
    last_run *next = &node->last[node->streams];
    int mode = rs_cuda_relax(cuda);
    result = cuda->cuEventCreate(&next->done, CU_EVENT_DISABLE_TIMING);
    rs_cuda_restore(cuda, mode);
    node->streams += !result;
    *place = next;
  } else {
    *place = &node->last[node->turn++ % RS_TABLE_STREAMS];
    result = cuda->cuStreamWaitEvent(stream, (*place)->done, 0);
  }
  if (!result)
    (*place)->stream = name;
  return result;
}

/* What is not known to be done stays. */
static rowscan_status record(rs_table *table, const rs_cuda *cuda, rs_table_node *node, CUstream stream) {
  last_run *place;
  if (node->stays)
    return ROWSCAN_OK;
  CUresult result = place_of(cuda, node, stream, &place);
  if (!result)
    result = cuda->cuEventRecord(place->done, stream);
  if (!result)
    return ROWSCAN_OK;
  settle(table, node);
  return rs_cuda_failed(cuda, result, "recording an event after a run");
}

static rowscan_status run_guest(rs_table *table, rs_table_node *node, const rs_rows *rows, void *workspace,
                                size_t bytes, CUstream stream) {
  const rs_cuda *cuda = node->program.gpu->device.cuda;
  int capturing;
  unsigned long long capture;
  CUresult result = cuda->cuStreamGetCaptureInfo(stream, &capturing, &capture);
  rowscan_status status = result ? rs_cuda_failed(cuda, result, "cuStreamGetCaptureInfo") : ROWSCAN_OK,
                 recorded = status;
  if (!status && capturing != CU_STREAM_CAPTURE_STATUS_NONE) {
    pthread_mutex_lock(&table->mutex);
    settle(table, node);
    pthread_mutex_unlock(&table->mutex);
  }
  if (!status)
    status = rs_launch(&node->program, rows, workspace, bytes, stream);
  pthread_mutex_lock(&table->mutex);
  if (!result)
    recorded = record(table, cuda, node, stream);
  leave_node(table, node);
  pthread_mutex_unlock(&table->mutex);
  return status ? status : recorded;
}

static rowscan_status run_with_guest(rs_table *table, rs_gpu *gpu, uint64_t hash, const rowscan_spec *spec,
                                     const rs_rows *rows, void *workspace, size_t bytes, CUstream stream) {
  bool pushed;
  rs_table_node *node;
  rowscan_status status = rs_device_enter(&gpu->device, &pushed);
  if (status)
    return status;
  status = take_node(table, gpu, hash, spec, rows, &node);
  if (!status)
    status = run_guest(table, node, rows, workspace, bytes, stream);
  rs_device_leave(&gpu->device, pushed);
  return status;
}

rowscan_status rs_table_run(rs_table *table, rs_gpu *gpu, const rowscan_spec *spec, const rs_rows *rows,
                            void *workspace, size_t workspace_bytes, CUstream stream) {
  uint64_t hash = rs_spec_hash(spec);
  rs_table_node *node = find_staying(table, hash, spec);
  return node ? rs_launch(&node->program, rows, workspace, workspace_bytes, stream)
              : run_with_guest(table, gpu, hash, spec, rows, workspace, workspace_bytes, stream);
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

void rs_table_init(rs_table *table) {
  *table = (rs_table){.most = RS_TABLE_PLANS, .most_staying = RS_TABLE_STAYING};
  for (int i = 0; i < RS_TABLE_BUCKETS; i++)
    atomic_init(&table->staying[i], NULL);
  pthread_mutex_init(&table->mutex, NULL); /* which cannot fail with no attributes */
}

void rs_table_free(rs_table *table) {
  for (int i = 0; i < RS_TABLE_BUCKETS; i++) {
    destroy_list(atomic_load(&table->staying[i]));
    destroy_list(table->guest[i]);
  }
  pthread_mutex_destroy(&table->mutex);
}
