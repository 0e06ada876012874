/*
 * rowscan_nccl.h - a rowscan_comm of an NCCL communicator
 * SPDX-License-Identifier: MIT
 *
 * Compiled by the caller, with the caller's NCCL and CUDA runtime: librowscan knows no NCCL.
 *
 *   rowscan_nccl nccl = {.comm = comm, .stream = stream};
 *   rowscan_comm ranks;
 *   rowscan_nccl_comm(&ranks, &nccl);
 *   rowscan_shard_scan(context, &problem, &ranks, stream);
 *   rowscan_nccl_free(&nccl);
 */
#ifndef ROWSCAN_NCCL_H
#define ROWSCAN_NCCL_H

#include <cuda_runtime.h>
#include <nccl.h>
#include <string.h>

#include "rowscan.h"

/* Set comm, and a stream of its device. One thread at a time may use it. */
typedef struct rowscan_nccl {
  ncclComm_t comm;
  cudaStream_t stream;
  void *host, *device; /* NULL at first: memory for the bytes of this rank, and then of all ranks */
  size_t bytes;        /* of each of the two */
} rowscan_nccl;

/* Gives back the memory; the structure may be used again. Returns CUDA's error. */
static inline int rowscan_nccl_free(rowscan_nccl *nccl) {
  cudaError_t host = cudaFreeHost(nccl->host), device = cudaFree(nccl->device);
  nccl->host = nccl->device = NULL;
  nccl->bytes = 0;
  return host != cudaSuccess ? (int)host : (int)device;
}

static inline int rowscan_nccl_reserve(rowscan_nccl *nccl, size_t bytes) {
  int error = bytes > nccl->bytes ? rowscan_nccl_free(nccl) : 0;
  if (error || bytes <= nccl->bytes)
    return error;
  error = (int)cudaMallocHost(&nccl->host, bytes);
  if (!error)
    error = (int)cudaMalloc(&nccl->device, bytes);
  if (!error)
    nccl->bytes = bytes;
  return error;
}

/* Waits for the stream, and for what NCCL does meanwhile. Returns the error of either. */
static inline int rowscan_nccl_wait(rowscan_nccl *nccl) {
  ncclResult_t nccl_error = ncclSuccess;
  cudaError_t error = cudaErrorNotReady;
  while (error == cudaErrorNotReady || nccl_error == ncclInProgress) {
    ncclResult_t asked = ncclCommGetAsyncError(nccl->comm, &nccl_error);
    if (asked != ncclSuccess)
      return (int)asked;
    if (nccl_error != ncclSuccess && nccl_error != ncclInProgress)
      return (int)nccl_error;
    error = cudaStreamQuery(nccl->stream);
    if (error != cudaSuccess && error != cudaErrorNotReady)
      break;
  }
  return (int)error;
}

static inline int rowscan_nccl_exchange(rowscan_nccl *nccl, const void *send, void *receive, size_t bytes, int ranks) {
  size_t all = bytes * (size_t)ranks;
  int error = rowscan_nccl_reserve(nccl, bytes + all);
  if (error)
    return error;
  char *host = (char *)nccl->host, *device = (char *)nccl->device;
  memcpy(host, send, bytes);
  error = (int)cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, nccl->stream);
  if (error)
    return error;
  ncclResult_t result = ncclAllGather(device, device + bytes, bytes / 8, ncclUint64, nccl->comm, nccl->stream);
  if (result != ncclSuccess && result != ncclInProgress)
    return (int)result;
  error = result == ncclInProgress ? rowscan_nccl_wait(nccl) : 0;
  if (!error)
    error = (int)cudaMemcpyAsync(host + bytes, device + bytes, all, cudaMemcpyDeviceToHost, nccl->stream);
  if (!error)
    error = rowscan_nccl_wait(nccl);
  if (!error)
    memcpy(receive, host + bytes, all);
  return error;
}

/* rowscan_comm.all_gather. Returns the error of CUDA or of NCCL. */
static inline int rowscan_nccl_all_gather(void *user, const void *send, void *receive, size_t bytes) {
  rowscan_nccl *nccl = (rowscan_nccl *)user;
  int ranks, device, current, error = (int)ncclCommCount(nccl->comm, &ranks);
  if (!error)
    error = (int)ncclCommCuDevice(nccl->comm, &device);
  if (!error)
    error = (int)cudaGetDevice(&current);
  if (!error && current != device) /* which makes a primary context current */
    error = (int)cudaSetDevice(device);
  if (error)
    return error;
  error = rowscan_nccl_exchange(nccl, send, receive, bytes, ranks);
  if (current != device)
    cudaSetDevice(current);
  return error;
}

/*
 * Fills comm from *nccl, which must stay where it is. Returns NCCL's error. After ROWSCAN_COMM_FAILED, whatever its
 * cause, call ncclCommAbort: other ranks may wait for this one until something ends them.
 */
static inline int rowscan_nccl_comm(rowscan_comm *comm, rowscan_nccl *nccl) {
  memset(comm, 0, sizeof *comm); /* and field by field: C++ before C++20 has no other way */
  comm->size = sizeof *comm;
  comm->user = nccl;
  comm->all_gather = rowscan_nccl_all_gather;
  ncclResult_t error = ncclCommCount(nccl->comm, &comm->ranks);
  return (int)(error != ncclSuccess ? error : ncclCommUserRank(nccl->comm, &comm->rank));
}

#endif
