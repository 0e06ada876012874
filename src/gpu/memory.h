/*
 * memory.h - scratch memory on the GPU, from the caller's allocator or the driver's
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_DEVICE_MEMORY_H
#define RS_DEVICE_MEMORY_H

#include "cuda.h"

enum { RS_MEMORY_ALIGNMENT = 256 };

typedef struct rs_device_memory {
  const rs_cuda *cuda;
  CUstream stream; /* the context's own, which waits for nobody's work: memory is taken, cleared and given back on it */
  void *user;      /* handed to the next two, which are NULL for the driver's own */
  void *(*allocate)(void *user, size_t bytes, CUstream stream);
  void (*release)(void *user, void *memory, size_t bytes, CUstream stream);
} rs_device_memory;

/*
 * Takes memory that is 0 and that any stream may use. `what` it is for is told in errors. With the device's context
 * current, also under capture. Errors: OUT_OF_MEMORY, CUDA_FAILED; BAD_ARGUMENT (an allocator that does not align).
 */
rowscan_status rs_device_memory_take(const rs_device_memory *from, size_t bytes, const char *what, CUdeviceptr *memory);

/* Gives back as many bytes as were taken. No work may be left that uses them. */
void rs_device_memory_give(const rs_device_memory *to, CUdeviceptr memory, size_t bytes);

#endif
