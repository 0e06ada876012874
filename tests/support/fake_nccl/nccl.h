/*
 * nccl.h - in the place of NCCL's: what rowscan_nccl.h calls of it
 * SPDX-License-Identifier: MIT
 *
 * As NCCL's own, for C and C++. calls.h has what they do.
 */
#ifndef ROWSCAN_FAKE_NCCL_H
#define ROWSCAN_FAKE_NCCL_H

#include "cuda_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ncclComm *ncclComm_t;
typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
} ncclResult_t;
typedef enum { ncclUint64 = 5 } ncclDataType_t;

ncclResult_t ncclCommCount(const ncclComm_t comm, int *ranks);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
ncclResult_t ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
