/*
 * cuda_runtime.h - in the place of the CUDA runtime's: what programs of the documentation call, by the driver alone
 * SPDX-License-Identifier: MIT
 *
 * With the driver of tests/simt they run on the simulated GPU. Any call that fails ends the program.
 */
#ifndef ROWSCAN_STAND_IN_CUDA_RUNTIME_H
#define ROWSCAN_STAND_IN_CUDA_RUNTIME_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct CUstream_st *cudaStream_t;
typedef int cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

/* The driver's function of that name, in the primary context of the first GPU, as the CUDA runtime has it. */
static void *stand_in(const char *name) {
  static void *driver;
  if (!driver) {
    void *context;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver || ((int (*)(unsigned))stand_in("cuInit"))(0) ||
        ((int (*)(void **, int))stand_in("cuDevicePrimaryCtxRetain"))(&context, 0) ||
        ((int (*)(void *))stand_in("cuCtxPushCurrent_v2"))(context))
      exit(fprintf(stderr, "cuda_runtime.h: no driver, or no GPU\n"));
  }
  return dlsym(driver, name);
}

static inline cudaError_t stood_in(int error, const char *call) {
  if (error)
    exit(fprintf(stderr, "cuda_runtime.h: %s failed: error %d\n", call, error));
  return error;
}

static inline cudaError_t cudaMalloc(void **memory, size_t bytes) {
  return stood_in(((int (*)(void **, size_t))stand_in("cuMemAlloc_v2"))(memory, bytes), "cudaMalloc");
}

static inline cudaError_t cudaFree(void *memory) {
  return stood_in(((int (*)(void *))stand_in("cuMemFree_v2"))(memory), "cudaFree");
}

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                          cudaStream_t stream) {
  const char *name = kind == cudaMemcpyHostToDevice ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyDtoHAsync_v2";
  return stood_in(((int (*)(void *, const void *, size_t, cudaStream_t))stand_in(name))(to, from, bytes, stream),
                  "cudaMemcpyAsync");
}

static inline cudaError_t cudaStreamCreate(cudaStream_t *stream) {
  return stood_in(((int (*)(cudaStream_t *, unsigned))stand_in("cuStreamCreate"))(stream, 0), "cudaStreamCreate");
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return stood_in(((int (*)(cudaStream_t))stand_in("cuStreamSynchronize"))(stream), "cudaStreamSynchronize");
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return stood_in(((int (*)(cudaStream_t))stand_in("cuStreamDestroy_v2"))(stream), "cudaStreamDestroy");
}

#endif
