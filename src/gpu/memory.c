/*
 * memory.c - scratch memory on the GPU, from the caller's allocator or the driver's
 * SPDX-License-Identifier: MIT
 */
#include "memory.h"

#include <stdio.h>

#include "base/status.h"

static rowscan_status failed(const rs_device_memory *from, CUresult result, const char *call, const char *what) {
  char words[128];
  snprintf(words, sizeof words, "%s %s", call, what);
  return rs_cuda_failed(from->cuda, result, words);
}

static rowscan_status take_from_driver(const rs_device_memory *from, size_t bytes, const char *what,
                                       CUdeviceptr *memory) {
  CUresult result = from->cuda->cuMemAlloc_v2(memory, bytes);
  return result ? failed(from, result, "cuMemAlloc of", what) : ROWSCAN_OK;
}

static rowscan_status take_from_caller(const rs_device_memory *from, size_t bytes, const char *what,
                                       CUdeviceptr *memory) {
  void *given = from->allocate(from->user, bytes, from->stream);
  if (!given)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "options: field 'allocate': it returned NULL for %zu bytes, %s", bytes, what);
  if ((uintptr_t)given % RS_MEMORY_ALIGNMENT) {
    from->release(from->user, given, bytes, from->stream);
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'allocate': it returned %p, which is not a multiple of %d",
                   given, RS_MEMORY_ALIGNMENT);
  }
  *memory = (CUdeviceptr)(uintptr_t)given;
  return ROWSCAN_OK;
}

static void give(const rs_device_memory *to, CUdeviceptr memory, size_t bytes) {
  if (to->release)
    to->release(to->user, (void *)(uintptr_t)memory, bytes, to->stream);
  else
    to->cuda->cuMemFree_v2(memory);
}

/* Waits: from here on any stream may use it, and nobody frees it before it is cleared, whatever fails. */
static rowscan_status clear_memory(const rs_device_memory *from, size_t bytes, const char *what, CUdeviceptr memory) {
  CUresult result = from->cuda->cuMemsetD8Async(memory, 0, bytes, from->stream);
  CUresult waited = from->cuda->cuStreamSynchronize(from->stream);
  result = result ? result : waited;
  return result ? failed(from, result, "clearing", what) : ROWSCAN_OK;
}

static rowscan_status take_cleared(const rs_device_memory *from, size_t bytes, const char *what, CUdeviceptr *memory) {
  rowscan_status status =
      from->allocate ? take_from_caller(from, bytes, what, memory) : take_from_driver(from, bytes, what, memory);
  if (status)
    return status;
  status = clear_memory(from, bytes, what, *memory);
  if (status)
    give(from, *memory, bytes);
  return status;
}

rowscan_status rs_device_memory_take(const rs_device_memory *from, size_t bytes, const char *what,
                                     CUdeviceptr *memory) {
  int mode = rs_cuda_relax(from->cuda);
  rowscan_status status = take_cleared(from, bytes, what, memory);
  rs_cuda_restore(from->cuda, mode);
  if (status)
    *memory = 0;
  return status;
}

void rs_device_memory_give(const rs_device_memory *to, CUdeviceptr memory, size_t bytes) {
  int mode = rs_cuda_relax(to->cuda);
  give(to, memory, bytes);
  rs_cuda_restore(to->cuda, mode);
}
