/*
 * device.c - a GPU and its CUDA context, the caller's or the primary one
 * SPDX-License-Identifier: MIT
 */
#include "device.h"

#include <stdio.h>

#include "spec/arch.h"

rowscan_status rs_device_enter(const rs_device *device, bool *pushed) {
  const rs_cuda *cuda = device->cuda;
  CUcontext current = NULL;
  *pushed = false;
  if (cuda->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == device->context)
    return ROWSCAN_OK;
  CUresult result = cuda->cuCtxPushCurrent_v2(device->context);
  if (result)
    return rs_cuda_failed(cuda, result, "cuCtxPushCurrent");
  *pushed = true;
  return ROWSCAN_OK;
}

void rs_device_leave(const rs_device *device, bool pushed) {
  CUcontext popped;
  if (pushed)
    device->cuda->cuCtxPopCurrent_v2(&popped);
}

rowscan_status rs_device_count(int *count) {
  const rs_cuda *cuda;
  rowscan_status status = rs_cuda_open(&cuda);
  if (status == ROWSCAN_NO_DEVICE) {
    *count = 0;
    return ROWSCAN_OK;
  }
  if (status)
    return status;
  CUresult result = cuda->cuDeviceGetCount(count);
  return result ? rs_cuda_failed(cuda, result, "cuDeviceGetCount") : ROWSCAN_OK;
}

static int attribute(const rs_cuda *cuda, CUdevice handle, int which) {
  int value = 0;
  return cuda->cuDeviceGetAttribute(&value, which, handle) == CUDA_SUCCESS ? value : 0;
}

static int arch_of(const rs_cuda *cuda, CUdevice handle) {
  return 10 * attribute(cuda, handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         attribute(cuda, handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

static rowscan_status device_handle(const rs_cuda **cuda, int ordinal, CUdevice *handle) {
  int count = 0;
  rowscan_status status = rs_cuda_open(cuda);
  if (!status)
    status = rs_device_count(&count);
  if (status)
    return status;
  if (ordinal < 0 || ordinal >= count)
    return rs_fail(ROWSCAN_NO_DEVICE, "field 'device': %d is not the number of a GPU; there %s %d GPU%s", ordinal,
                   count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
  CUresult result = (*cuda)->cuDeviceGet(handle, ordinal);
  return result ? rs_cuda_failed(*cuda, result, "cuDeviceGet") : ROWSCAN_OK;
}

/* Clocks are in kHz, widths in bits; two transfers a clock. */
static double peak_gbs(const rs_cuda *cuda, CUdevice handle) {
  return 2e-6 * attribute(cuda, handle, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
         attribute(cuda, handle, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
}

rowscan_status rs_device_info(int ordinal, rowscan_device_info *info) {
  const rs_cuda *cuda;
  CUdevice handle;
  rowscan_status status = device_handle(&cuda, ordinal, &handle);
  if (status)
    return status;
  rowscan_device_info found = {.size = sizeof found};
  size_t memory = 0;
  CUresult result = cuda->cuDeviceGetName(found.name, sizeof found.name, handle);
  if (!result)
    result = cuda->cuDeviceTotalMem_v2(&memory, handle);
  if (result)
    return rs_cuda_failed(cuda, result, "cuDeviceGetName, cuDeviceTotalMem");
  snprintf(found.arch, sizeof found.arch, "sm_%d", arch_of(cuda, handle));
  found.multiprocessors = attribute(cuda, handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  found.memory_bytes = (int64_t)memory;
  found.l2_bytes = attribute(cuda, handle, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  found.shared_bytes = attribute(cuda, handle, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  found.peak_gbs = peak_gbs(cuda, handle);
  *info = found;
  return ROWSCAN_OK;
}

/* A pointer that the driver knows nothing of is the host's; so are all where there is no driver that starts, or no GPU.
 */
rowscan_status rs_device_of(const void *pointer, int *ordinal) {
  const rs_cuda *cuda;
  CUdeviceptr at = (CUdeviceptr)(uintptr_t)pointer;
  unsigned type = CU_MEMORYTYPE_HOST;
  int found = -1;
  CUresult result = rs_cuda_open(&cuda) ? CUDA_ERROR_INVALID_VALUE
                                        : cuda->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at);
  if (!result && type != CU_MEMORYTYPE_HOST)
    result = cuda->cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at);
  if (result && result != CUDA_ERROR_INVALID_VALUE)
    return rs_cuda_failed(cuda, result, "cuPointerGetAttribute");
  *ordinal = result ? -1 : found;
  return ROWSCAN_OK;
}

bool rs_device_alone(const rs_cuda *cuda, const void *pointer) {
  CUdeviceptr at = (CUdeviceptr)(uintptr_t)pointer;
  unsigned type = CU_MEMORYTYPE_HOST, managed = 0;
  return !cuda->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) && type == CU_MEMORYTYPE_DEVICE &&
         !cuda->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at) && !managed;
}

bool rs_device_pinned(const rs_cuda *cuda, const void *pointer, int64_t bytes) {
  CUdeviceptr at = (CUdeviceptr)(uintptr_t)pointer, start = 0;
  unsigned type = CU_MEMORYTYPE_DEVICE;
  size_t size = 0;
  return !cuda->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) && type == CU_MEMORYTYPE_HOST &&
         !cuda->cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at) &&
         !cuda->cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at) && start <= at &&
         at + (CUdeviceptr)bytes <= start + size;
}

/* The device of a context of the caller's. */
static rowscan_status adopt_context(rs_device *device, CUcontext context) {
  bool pushed;
  device->context = context;
  rowscan_status status = rs_device_enter(device, &pushed);
  if (status) {
    device->context = NULL; /* nobody is to try again */
    return rs_fail_more(status, ": options: field 'cuda_context': %p", (void *)context);
  }
  CUresult result = device->cuda->cuCtxGetDevice(&device->handle);
  rs_device_leave(device, pushed);
  return result ? rs_cuda_failed(device->cuda, result, "options: field 'cuda_context': cuCtxGetDevice") : ROWSCAN_OK;
}

static rowscan_status retain_context(rs_device *device) {
  CUresult result = device->cuda->cuDevicePrimaryCtxRetain(&device->context, device->handle);
  if (result) {
    device->context = NULL;
    return rs_cuda_failed(device->cuda, result, "cuDevicePrimaryCtxRetain");
  }
  device->retained = true;
  return ROWSCAN_OK;
}

static rowscan_status describe_device(rs_device *device) {
  const rs_cuda *cuda = device->cuda;
  device->ordinal = device->handle; /* the driver numbers them so */
  device->arch = arch_of(cuda, device->handle);
  device->multiprocessors = attribute(cuda, device->handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  device->l2_bytes = attribute(cuda, device->handle, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  device->peak_gbs = peak_gbs(cuda, device->handle);
  if (device->arch < 10 || device->multiprocessors < 1)
    return rs_fail(ROWSCAN_CUDA_FAILED,
                   "cuDeviceGetAttribute: GPU %d reports compute capability %d.%d, %d multiprocessors", device->ordinal,
                   device->arch / 10, device->arch % 10, device->multiprocessors);
  if (device->arch < RS_OLDEST_ARCH)
    return rs_fail(ROWSCAN_UNSUPPORTED, "GPU %d is sm_%d, older than sm_%d, the oldest supported architecture",
                   device->ordinal, device->arch, RS_OLDEST_ARCH);
  return ROWSCAN_OK;
}

/* A green context has some of the device's. */
static void count_multiprocessors(rs_device *device) {
  CUdevResource resource = {0};
  if (!device->cuda->cuCtxGetDevResource ||
      device->cuda->cuCtxGetDevResource(device->context, &resource, CU_DEV_RESOURCE_TYPE_SM))
    return;
  if (resource.smCount > 0 && resource.smCount < (unsigned)device->multiprocessors)
    device->multiprocessors = (int)resource.smCount;
}

static rowscan_status open_stream(rs_device *device) {
  bool pushed;
  rowscan_status status = rs_device_enter(device, &pushed);
  if (status)
    return status;
  CUresult result = device->cuda->cuStreamCreate(&device->memory.stream, CU_STREAM_NON_BLOCKING);
  if (result)
    device->memory.stream = NULL;
  rs_device_leave(device, pushed);
  return result ? rs_cuda_failed(device->cuda, result, "cuStreamCreate for a context") : ROWSCAN_OK;
}

static rowscan_status bind_context(rs_device *device, const rowscan_options *options) {
  CUcontext given = options->cuda_context;
  rowscan_status status =
      given ? adopt_context(device, given) : device_handle(&device->cuda, options->device, &device->handle);
  if (!status)
    status = describe_device(device);
  if (!status && given)
    count_multiprocessors(device);
  if (!status && !given)
    status = retain_context(device);
  return status ? status : open_stream(device);
}

/* Also while streams are captured: the driver counts making a context among what that forbids. */
rowscan_status rs_device_bind(rs_device *device, const rowscan_options *options) {
  rowscan_status status = rs_cuda_open(&device->cuda);
  if (status)
    return status;
  device->memory = (rs_device_memory){
      .cuda = device->cuda, .user = options->user, .allocate = options->allocate, .release = options->release};
  int mode = rs_cuda_relax(device->cuda);
  status = bind_context(device, options);
  rs_cuda_restore(device->cuda, mode);
  return status;
}

/* Launches may be queued whose kernels are to be unloaded. An error is of those, and was or will be told elsewhere. */
void rs_device_finish(const rs_device *device) {
  bool pushed;
  if (!device->context || rs_device_enter(device, &pushed))
    return;
  int mode = rs_cuda_relax(device->cuda);
  device->cuda->cuCtxSynchronize();
  rs_cuda_restore(device->cuda, mode);
  rs_device_leave(device, pushed);
}

void rs_device_release(const rs_device *device) {
  bool pushed;
  if (!device->context)
    return;
  int mode = rs_cuda_relax(device->cuda);
  if (!rs_device_enter(device, &pushed)) {
    if (device->memory.stream)
      device->cuda->cuStreamDestroy_v2(device->memory.stream);
    rs_device_leave(device, pushed);
  }
  if (device->retained)
    device->cuda->cuDevicePrimaryCtxRelease_v2(device->handle);
  rs_cuda_restore(device->cuda, mode);
}
