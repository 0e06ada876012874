/*
 * cuda_runtime.h - in the place of the CUDA runtime's: what rowscan_nccl.h calls of it
 * SPDX-License-Identifier: MIT
 *
 * As CUDA's own, for C and C++. calls.h has what they do.
 */
#ifndef ROWSCAN_FAKE_CUDA_RUNTIME_H
#define ROWSCAN_FAKE_CUDA_RUNTIME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st *cudaStream_t;
typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700
} cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

cudaError_t cudaMallocHost(void **memory, size_t bytes);
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);

#ifdef __cplusplus
}
#endif

#endif
