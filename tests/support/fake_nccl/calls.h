/*
 * calls.h - what the calls of the fake cuda_runtime.h and nccl.h do: threads are ranks, memory of devices is the host's
 * SPDX-License-Identifier: MIT
 *
 * A stream is a list of work, which is done when it is queried, and not the first time: so what does not wait finds old
 * bytes. Copies and gathers look at where their memory lies, and blocks are counted. Each thread has a current device,
 * and a call that fails when told to. A stream belongs to one thread.
 */
#ifndef ROWSCAN_FAKE_NCCL_CALLS_H
#define ROWSCAN_FAKE_NCCL_CALLS_H

#include <nccl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- faults ------------------------------------------------------------------------------------------------------ */

typedef enum fake_call {
  FAKE_NOTHING,
  FAKE_MALLOC_HOST,
  FAKE_MALLOC,
  FAKE_FREE,
  FAKE_COPY,
  FAKE_QUERY,
  FAKE_GET_DEVICE,
  FAKE_SET_DEVICE,
  FAKE_COUNT,
  FAKE_CU_DEVICE,
  FAKE_GATHER,
  FAKE_ASYNC,      /* ncclCommGetAsyncError itself */
  FAKE_ASYNC_ERROR /* what it says */
} fake_call;

/* The call of that number, from 1 on, returns the error. */
typedef struct fake_fault {
  fake_call call;
  int number, error;
} fake_fault;

static _Thread_local fake_fault fake_fails;
static _Thread_local int fake_current; /* device */

static int fake_failure(fake_call call) {
  return call == fake_fails.call && --fake_fails.number == 0 ? fake_fails.error : 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

enum { FAKE_HOST = -1, FAKE_ANY_DEVICE = -2, FAKE_MOST_BLOCKS = 64 };

typedef struct fake_block {
  char *at; /* NULL: this place is free */
  size_t bytes;
  int device;
} fake_block;

static struct {
  pthread_mutex_t lock;
  fake_block block[FAKE_MOST_BLOCKS];
  int count, taken; /* that are there now, and since the start */
} fake_memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static cudaError_t fake_take(void **memory, size_t bytes, int device) {
  cudaError_t error = cudaErrorMemoryAllocation;
  pthread_mutex_lock(&fake_memory.lock);
  for (int i = 0; i < FAKE_MOST_BLOCKS && error; i++) {
    fake_block *block = &fake_memory.block[i];
    if (block->at)
      continue;
    *block = (fake_block){malloc(bytes), bytes, device};
    if (!block->at)
      break;
    *memory = memset(block->at, 0x5a, bytes);
    fake_memory.count++;
    fake_memory.taken++;
    error = cudaSuccess;
  }
  pthread_mutex_unlock(&fake_memory.lock);
  return error;
}

/* NULL is no memory, which may be freed. */
static cudaError_t fake_give(void *memory, bool of_host) {
  cudaError_t error = memory ? cudaErrorInvalidValue : cudaSuccess;
  pthread_mutex_lock(&fake_memory.lock);
  for (int i = 0; i < FAKE_MOST_BLOCKS && memory; i++) {
    fake_block *block = &fake_memory.block[i];
    if (block->at != memory || (block->device == FAKE_HOST) != of_host)
      continue;
    free(block->at);
    *block = (fake_block){.at = NULL};
    fake_memory.count--;
    error = cudaSuccess;
  }
  pthread_mutex_unlock(&fake_memory.lock);
  return error;
}

/* Whether these bytes are of one block: of the host's, of a device's, or of any device's. */
static bool fake_has(const void *memory, size_t bytes, int device) {
  bool found = false;
  pthread_mutex_lock(&fake_memory.lock);
  for (int i = 0; i < FAKE_MOST_BLOCKS; i++) {
    const fake_block *block = &fake_memory.block[i];
    uintptr_t at = (uintptr_t)memory, start = (uintptr_t)block->at;
    bool of_it = block->device == device || (device == FAKE_ANY_DEVICE && block->device != FAKE_HOST);
    found = found ||
            (block->at && of_it && at >= start && at - start <= block->bytes && bytes <= block->bytes - (at - start));
  }
  pthread_mutex_unlock(&fake_memory.lock);
  return found;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes) {
  int failed = fake_failure(FAKE_MALLOC_HOST);
  return failed ? (cudaError_t)failed : fake_take(memory, bytes, FAKE_HOST);
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  int failed = fake_failure(FAKE_MALLOC);
  return failed ? (cudaError_t)failed : fake_take(memory, bytes, fake_current);
}

cudaError_t cudaFreeHost(void *memory) {
  return fake_give(memory, true);
}

cudaError_t cudaFree(void *memory) {
  int failed = fake_failure(FAKE_FREE);
  cudaError_t error = fake_give(memory, false);
  return failed ? (cudaError_t)failed : error;
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

cudaError_t cudaGetDevice(int *device) {
  *device = fake_current;
  return (cudaError_t)fake_failure(FAKE_GET_DEVICE);
}

cudaError_t cudaSetDevice(int device) {
  int failed = fake_failure(FAKE_SET_DEVICE);
  fake_current = failed ? fake_current : device;
  return (cudaError_t)failed;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

enum { FAKE_MOST_RANKS = 8, FAKE_MOST_WORK = 8 };

/* What the communicators of all ranks have in common. */
typedef struct fake_group {
  pthread_mutex_t lock;
  int ranks;
  bool broken;                       /* a rank has left */
  const char *sent[FAKE_MOST_RANKS]; /* of each rank, in its last gather; how many it has begun, and ended */
  int begun[FAKE_MOST_RANKS], ended[FAKE_MOST_RANKS];
} fake_group;

/* A copy, or a gather of as many bytes of each rank. */
typedef struct fake_work {
  char *to;
  const char *from;
  size_t bytes;
  struct ncclComm *comm;
  int step, number; /* of a gather: none of its steps is done yet; it is the rank's gather of that number */
} fake_work;

struct CUstream_st {
  fake_work work[FAKE_MOST_WORK];
  int device, count, queries;
};

struct ncclComm {
  fake_group *group;
  int rank, device, gathers;
  bool late; /* calls return ncclInProgress, and what they ask for reaches the stream later */
  int polls; /* that are left until it does */
  fake_work pending;
  cudaStream_t stream; /* NULL: nothing is pending */
};

/* This rank no longer takes part, and the others' next ncclCommGetAsyncError says so: ncclCommAbort, or a lost host. */
static void fake_leave(fake_group *group) {
  pthread_mutex_lock(&group->lock);
  group->broken = true;
  pthread_mutex_unlock(&group->lock);
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *ranks) {
  *ranks = comm->group->ranks;
  return (ncclResult_t)fake_failure(FAKE_COUNT);
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) {
  *rank = comm->rank;
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device) {
  *device = comm->device;
  return (ncclResult_t)fake_failure(FAKE_CU_DEVICE);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static int fake_add_work(cudaStream_t stream, fake_work work) {
  if (stream->count == FAKE_MOST_WORK)
    return 1;
  stream->work[stream->count++] = work;
  return 0;
}

static bool fake_all_have(const fake_group *group, const int *number, int wanted) {
  bool all = true;
  for (int r = 0; r < group->ranks; r++)
    all = all && number[r] >= wanted;
  return all;
}

/* Whether it is done. What a rank sends stays until all have it. */
static bool fake_gather(fake_work *work) {
  fake_group *group = work->comm->group;
  int own = work->comm->rank;
  pthread_mutex_lock(&group->lock);
  if (work->step == 0) {
    group->sent[own] = work->from;
    work->number = ++group->begun[own];
    work->step = 1;
  }
  if (work->step == 1 && fake_all_have(group, group->begun, work->number)) {
    for (int r = 0; r < group->ranks; r++)
      memcpy(work->to + (size_t)r * work->bytes, group->sent[r], work->bytes);
    group->ended[own]++;
    work->step = 2;
  }
  bool done = work->step == 2 && fake_all_have(group, group->ended, work->number);
  pthread_mutex_unlock(&group->lock);
  return done;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  bool up = kind == cudaMemcpyHostToDevice;
  int failed = fake_failure(FAKE_COPY);
  if (failed)
    return (cudaError_t)failed;
  if (!fake_has(to, bytes, up ? FAKE_ANY_DEVICE : FAKE_HOST) ||
      !fake_has(from, bytes, up ? FAKE_HOST : FAKE_ANY_DEVICE))
    return cudaErrorInvalidValue;
  return fake_add_work(stream, (fake_work){.to = to, .from = from, .bytes = bytes}) ? cudaErrorInvalidValue
                                                                                    : cudaSuccess;
}

/* Does what has come so far: one piece of work at most, and none in every other call. */
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  int failed = fake_failure(FAKE_QUERY);
  if (failed)
    return (cudaError_t)failed;
  if (!stream->count)
    return cudaSuccess;
  sched_yield();
  if (stream->queries++ % 2 == 0)
    return cudaErrorNotReady;
  fake_work *work = &stream->work[0];
  if (work->comm ? !fake_gather(work) : (memcpy(work->to, work->from, work->bytes), false))
    return cudaErrorNotReady;
  memmove(work, work + 1, (size_t)--stream->count * sizeof *work);
  return stream->count ? cudaErrorNotReady : cudaSuccess;
}

/* ---- gathers ----------------------------------------------------------------------------------------------------- */

ncclResult_t ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  size_t bytes = count * sizeof(uint64_t), all = bytes * (size_t)comm->group->ranks;
  const char *from = send;
  fake_work work = {.to = receive, .from = from, .bytes = bytes, .comm = comm};
  int failed = fake_failure(FAKE_GATHER);
  if (failed)
    return (ncclResult_t)failed;
  if (type != ncclUint64 || (from < work.to + all && work.to < from + bytes) || !fake_has(from, bytes, comm->device) ||
      !fake_has(work.to, all, comm->device))
    return ncclInvalidArgument;
  if (fake_current != comm->device || stream->device != comm->device || comm->stream)
    return ncclInvalidUsage;
  comm->gathers++;
  if (!comm->late)
    return fake_add_work(stream, work) ? ncclInternalError : ncclSuccess;
  comm->polls = 3;
  comm->pending = work;
  comm->stream = stream;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  int failed = fake_failure(FAKE_ASYNC), told = fake_failure(FAKE_ASYNC_ERROR);
  *error = (ncclResult_t)told;
  if (failed || told)
    return (ncclResult_t)failed;
  pthread_mutex_lock(&comm->group->lock);
  *error = comm->group->broken ? ncclRemoteError : comm->stream ? ncclInProgress : ncclSuccess;
  pthread_mutex_unlock(&comm->group->lock);
  if (*error == ncclInProgress && --comm->polls == 0) {
    *error = fake_add_work(comm->stream, comm->pending) ? ncclInternalError : ncclSuccess;
    comm->stream = NULL;
  }
  return ncclSuccess;
}

#endif
