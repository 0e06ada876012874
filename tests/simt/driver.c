/*
 * driver.c - a simulated libcuda.so.1: devices, contexts, memory, modules and launches
 * SPDX-License-Identifier: MIT
 *
 * A device is made of settings in the environment: SIMT_DEVICES (1), SIMT_ARCH (90), SIMT_SMS (4), SIMT_MEMORY (256m),
 * SIMT_L2 (1m), SIMT_DRIVER_VERSION (13000). All devices share one memory.
 */
#include "driver.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memory.h"

/* What cuda.h declares is what must be here, with those types. */
#define X(symbol, parameters) SIMT_EXPORT CUresult symbol parameters;
RS_CUDA_CALLS(X)
RS_CUDA_LATER_CALLS(X)
#undef X

/* Calls of tests and other users. */
SIMT_EXPORT CUresult cuCtxSetCurrent(CUcontext context);
SIMT_EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
SIMT_EXPORT CUresult cuCtxDestroy_v2(CUcontext context);
SIMT_EXPORT CUresult cuCtxSynchronize(void);
SIMT_EXPORT CUresult cuCtxGetDevice(CUdevice *device);
SIMT_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
SIMT_EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
SIMT_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
SIMT_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes);

enum { MAX_DEVICES = 8, MAX_CONTEXTS = 4 * MAX_DEVICES, MAX_PUSHED = 64 };

struct CUctx_st {
  long retained;
  CUdevice device;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static simt_counts counts = {.variable = "SIMT_FAIL"};
static bool initialised;
static struct CUctx_st contexts[MAX_CONTEXTS]; /* the devices' primary ones, then those that the program creates */
static __thread CUcontext pushed[MAX_PUSHED];
static __thread int depth;
static int modules_alive;

/* ---- every call ----------------------------------------------------------------------------------------------------
 */

static bool context_known(CUcontext context) {
  return context >= contexts && context < contexts + MAX_CONTEXTS && context->retained > 0;
}

static int check_need(const char *symbol, simt_need need) {
  if (need != SIMT_NOTHING && !initialised)
    return simt_misuse(SIMT_ERROR_NOT_INITIALIZED, "%s before cuInit", symbol);
  if (need != SIMT_CONTEXT)
    return CUDA_SUCCESS;
  if (!depth || !pushed[depth - 1])
    return simt_misuse(SIMT_ERROR_INVALID_CONTEXT, "%s with no current context", symbol);
  if (!context_known(pushed[depth - 1]))
    return simt_misuse(SIMT_ERROR_INVALID_CONTEXT, "%s with a current context that was released", symbol);
  return CUDA_SUCCESS;
}

int simt_driver_enter(const char *symbol, simt_need need) {
  if (simt_objects_destroying())
    simt_die("%s in the destructor of a user object", symbol);
  pthread_mutex_lock(&mutex);
  simt_objects_destroy();
  int error = simt_counts_enter(&counts, symbol);
  int wrong = check_need(symbol, need);
  return wrong ? wrong : error;
}

void simt_driver_leave(const int *entered) {
  (void)entered;
  pthread_mutex_unlock(&mutex);
}

int simt_driver_stream(CUstream handle, CUstream *stream, const char *symbol) {
  *stream = simt_stream_find(handle);
  if (!*stream)
    return simt_misuse(SIMT_ERROR_INVALID_HANDLE, "%s of stream %p, which does not exist", symbol, (void *)handle);
  return simt_stream_is_default(*stream) ? simt_capture_forbids_default() : CUDA_SUCCESS;
}

int simt_driver_submit(CUstream stream, simt_work work) {
  if (!stream->capture) {
    simt_queue_work(stream, work);
    return CUDA_SUCCESS;
  }
  int result = simt_capture_work(stream, &work);
  simt_work_free(&work);
  return result;
}

/* ---- the driver and devices ----------------------------------------------------------------------------------------
 */

static int device_count(void) {
  long long count = simt_setting("SIMT_DEVICES", 1);
  return count < 0 ? 0 : count > MAX_DEVICES ? MAX_DEVICES : (int)count;
}

static bool device_known(CUdevice device) {
  return device >= 0 && device < device_count();
}

CUresult cuInit(unsigned flags) {
  BEGIN(SIMT_NOTHING);
  if (entered || flags)
    return entered ? entered : SIMT_ERROR_INVALID_VALUE;
  initialised = device_count() > 0;
  return initialised ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version) {
  BEGIN(SIMT_NOTHING);
  if (entered)
    return entered;
  *version = (int)simt_setting("SIMT_DRIVER_VERSION", 13000);
  return CUDA_SUCCESS;
}

static const struct {
  int error;
  const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {SIMT_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {SIMT_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {SIMT_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_SOURCE, "CUDA_ERROR_INVALID_SOURCE", "device kernel source is invalid"},
    {SIMT_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {SIMT_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {SIMT_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {SIMT_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {SIMT_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
};

/* error -1: not asked for */
static int describe(int error, const char **name, const char **text) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].error == error) {
      *(name ? name : text) = name ? errors[i].name : errors[i].text;
      return CUDA_SUCCESS;
    }
  *(name ? name : text) = NULL;
  return SIMT_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  BEGIN(SIMT_NOTHING);
  return entered ? entered : describe(error, name, NULL);
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  BEGIN(SIMT_NOTHING);
  return entered ? entered : describe(error, NULL, text);
}

CUresult cuDeviceGetCount(int *count) {
  BEGIN(SIMT_INIT);
  if (entered)
    return entered;
  *count = device_count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  BEGIN(SIMT_INIT);
  if (entered || !device_known(ordinal))
    return entered ? entered : CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device) {
  BEGIN(SIMT_INIT);
  if (entered || !device_known(device) || room <= 0)
    return entered ? entered : CUDA_ERROR_INVALID_DEVICE;
  snprintf(name, (size_t)room, "simulated GPU");
  return CUDA_SUCCESS;
}

static int attribute(int which) {
  switch (which) {
  case 1: /* threads of a block */
    return SIMT_MAX_THREADS;
  case 8: /* shared memory of a block */
    return 48 * 1024;
  case 10:
    return SIMT_WARP;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return (int)simt_setting("SIMT_SMS", 4);
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    return 1000000;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    return 64;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    return (int)simt_setting("SIMT_L2", 1 << 20);
  case 39: /* threads of a multiprocessor */
    return 2048;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return (int)simt_setting("SIMT_ARCH", 90) / 10;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return (int)simt_setting("SIMT_ARCH", 90) % 10;
  case 81: /* shared memory of a multiprocessor */
    return 228 * 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return 227 * 1024;
  default:
    return -1;
  }
}

CUresult cuDeviceGetAttribute(int *value, int which, CUdevice device) {
  BEGIN(SIMT_INIT);
  if (entered || !device_known(device))
    return entered ? entered : CUDA_ERROR_INVALID_DEVICE;
  if (attribute(which) < 0)
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "cuDeviceGetAttribute: the simulated GPU has no attribute %d", which);
  *value = attribute(which);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  BEGIN(SIMT_INIT);
  if (entered || !device_known(device))
    return entered ? entered : CUDA_ERROR_INVALID_DEVICE;
  *bytes = simt_memory_total();
  return CUDA_SUCCESS;
}

/* ---- contexts ------------------------------------------------------------------------------------------------------
 */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  BEGIN(SIMT_INIT);
  if (entered || !device_known(device))
    return entered ? entered : CUDA_ERROR_INVALID_DEVICE;
  int forbidden = simt_capture_forbids();
  if (forbidden)
    return forbidden;
  contexts[device].retained++;
  contexts[device].device = device;
  *context = &contexts[device];
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  BEGIN(SIMT_INIT);
  if (!device_known(device))
    return CUDA_ERROR_INVALID_DEVICE;
  if (!contexts[device].retained)
    return simt_misuse(SIMT_ERROR_INVALID_CONTEXT, "cuDevicePrimaryCtxRelease_v2 once more than it was retained");
  contexts[device].retained--;
  return entered;
}

/* As the driver does, makes it current as well. */
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
  BEGIN(SIMT_INIT);
  if (entered || flags || !device_known(device))
    return entered ? entered : SIMT_ERROR_INVALID_VALUE;
  int number = MAX_DEVICES;
  while (number < MAX_CONTEXTS && contexts[number].retained)
    number++;
  if (number == MAX_CONTEXTS || depth == MAX_PUSHED)
    simt_die("more than %d contexts created, or %d pushed", MAX_CONTEXTS - MAX_DEVICES, MAX_PUSHED);
  contexts[number] = (struct CUctx_st){.retained = 1, .device = device};
  *context = pushed[depth++] = &contexts[number];
  return CUDA_SUCCESS;
}

/* As the driver does, pops it if it is current. */
CUresult cuCtxDestroy_v2(CUcontext context) {
  BEGIN(SIMT_INIT);
  if (!context_known(context) || context < contexts + MAX_DEVICES)
    return simt_misuse(SIMT_ERROR_INVALID_CONTEXT, "cuCtxDestroy_v2 of %p, which was not created", (void *)context);
  context->retained = 0;
  if (depth && pushed[depth - 1] == context)
    depth--;
  return entered;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  BEGIN(SIMT_INIT);
  if (entered)
    return entered;
  *context = depth ? pushed[depth - 1] : NULL;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  BEGIN(SIMT_INIT);
  if (entered)
    return entered;
  if (context && !context_known(context))
    return simt_misuse(SIMT_ERROR_INVALID_CONTEXT, "cuCtxSetCurrent of a context that is not retained");
  if (depth)
    depth--;
  if (context)
    pushed[depth++] = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  BEGIN(SIMT_INIT);
  if (entered)
    return entered;
  if (!context_known(context))
    return simt_misuse(SIMT_ERROR_INVALID_CONTEXT, "cuCtxPushCurrent_v2 of a context that is not retained");
  if (depth == MAX_PUSHED)
    simt_die("more than %d contexts pushed", MAX_PUSHED);
  pushed[depth++] = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  BEGIN(SIMT_INIT);
  if (!depth)
    return simt_misuse(SIMT_ERROR_INVALID_CONTEXT, "cuCtxPopCurrent_v2 where none was pushed");
  depth--;
  if (context)
    *context = pushed[depth];
  return entered;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  BEGIN(SIMT_CONTEXT);
  if (entered)
    return entered;
  *device = pushed[depth - 1]->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevResource(CUcontext context, CUdevResource *resource, int type) {
  BEGIN(SIMT_INIT);
  if (entered || type != CU_DEV_RESOURCE_TYPE_SM || !context_known(context))
    return entered ? entered : SIMT_ERROR_INVALID_VALUE;
  long long all = simt_setting("SIMT_SMS", 4);
  bool own = context >= contexts + MAX_DEVICES;
  *resource = (CUdevResource){.type = type};
  resource->smCount = (unsigned)(own ? simt_setting("SIMT_CONTEXT_SMS", all) : all);
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
  BEGIN(SIMT_CONTEXT);
  if (entered)
    return entered;
  int forbidden = simt_capture_forbids();
  if (!forbidden)
    simt_wait_all();
  return forbidden;
}

/* ---- memory --------------------------------------------------------------------------------------------------------
 */

static void *pointer(CUdeviceptr at) {
  return (void *)(uintptr_t)at;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
  BEGIN(SIMT_CONTEXT);
  if (entered)
    return entered;
  *total_bytes = simt_memory_total();
  *free_bytes = simt_memory_used() < *total_bytes ? *total_bytes - simt_memory_used() : 0;
  return CUDA_SUCCESS;
}

static int take_memory(size_t bytes, bool host, unsigned char **at) {
  int forbidden = simt_capture_forbids();
  if (forbidden || !bytes)
    return forbidden ? forbidden : SIMT_ERROR_INVALID_VALUE;
  simt_memory *memory = simt_memory_take(bytes, host);
  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  memory->device = pushed[depth - 1]->device;
  *at = memory->at;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *to, size_t bytes) {
  BEGIN(SIMT_CONTEXT);
  unsigned char *at = NULL;
  int result = entered ? entered : take_memory(bytes, false, &at);
  if (!result)
    *to = (CUdeviceptr)(uintptr_t)at;
  return result;
}

CUresult cuMemHostAlloc(void **to, size_t bytes, unsigned flags) {
  BEGIN(SIMT_CONTEXT);
  unsigned char *at = NULL;
  (void)flags;
  int result = entered ? entered : take_memory(bytes, true, &at);
  if (!result)
    *to = at;
  return result;
}

/* As the driver does, waits for all that is queued. */
CUresult cuMemFree_v2(CUdeviceptr at) {
  BEGIN(SIMT_CONTEXT);
  if (!at)
    return entered;
  int forbidden = simt_capture_forbids();
  if (forbidden)
    return forbidden;
  simt_memory *memory = simt_memory_starting(pointer(at), false);
  if (!memory)
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "cuMemFree_v2 of %p, which is not allocated", pointer(at));
  simt_wait_all();
  simt_memory_give(memory);
  return entered;
}

CUresult cuMemFreeHost(void *at) {
  BEGIN(SIMT_CONTEXT);
  if (!at)
    return entered;
  int forbidden = simt_capture_forbids();
  if (forbidden)
    return forbidden;
  simt_memory *memory = simt_memory_starting(at, true);
  if (!memory)
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "cuMemFreeHost of %p, which is not allocated", at);
  if (simt_queue_touches(memory->at, memory->bytes))
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "cuMemFreeHost of %p while a copy of it is queued", at);
  simt_memory_give(memory);
  return entered;
}

/* What kind of memory it is, and whose; of any other that is the host's the driver knows nothing. */
CUresult cuPointerGetAttribute(void *value, int which, CUdeviceptr at) {
  BEGIN(SIMT_INIT);
  const simt_memory *memory = simt_memory_around(pointer(at), 1);
  if (entered || !memory)
    return entered ? entered : SIMT_ERROR_INVALID_VALUE;
  switch (which) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *(unsigned *)value = memory->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    *(unsigned *)value = 0;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    *(int *)value = memory->device;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    *(CUdeviceptr *)value = (CUdeviceptr)(uintptr_t)memory->at;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    *(size_t *)value = memory->bytes;
    return CUDA_SUCCESS;
  default:
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "cuPointerGetAttribute: attribute %d is not simulated", which);
  }
}

/* ---- copies --------------------------------------------------------------------------------------------------------
 */

/* Where memory is: of the GPU, pinned, or anywhere else, which is the caller's affair. */
typedef enum place { ON_GPU, PINNED, PAGEABLE } place;

static place place_of(const void *at, size_t bytes) {
  const simt_memory *memory = simt_memory_around(at, bytes);
  return !memory ? PAGEABLE : memory->host ? PINNED : ON_GPU;
}

/* Says so, and leaves it at the error: a program may try. */
static int outside(const char *symbol, const void *at, size_t bytes) {
  fprintf(stderr, "simt: %s: %zu bytes at %p are not in memory of the GPU\n", symbol, bytes, at);
  return SIMT_ERROR_INVALID_VALUE;
}

static void stage(simt_work *work) {
  work->staged = malloc(work->bytes);
  if (!work->staged)
    simt_die("no memory");
  memcpy(work->staged, work->from, work->bytes);
  work->from = work->staged;
}

/* As the driver does: pageable memory is read before the call returns, and is written before it returns. */
static int copy(const char *symbol, void *to, bool to_gpu, const void *from, bool from_gpu, size_t bytes,
                CUstream handle) {
  CUstream stream;
  int result = simt_driver_stream(handle, &stream, symbol);
  if (result || !bytes)
    return result;
  place to_place = place_of(to, bytes), from_place = place_of(from, bytes);
  if (to_gpu && to_place != ON_GPU)
    return outside(symbol, to, bytes);
  if (from_gpu && from_place != ON_GPU)
    return outside(symbol, from, bytes);
  if ((!to_gpu && to_place == ON_GPU) || (!from_gpu && from_place == ON_GPU))
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "%s: memory of the GPU where the host's belongs", symbol);
  simt_work work = {.kind = SIMT_COPY, .to = to, .from = from, .bytes = bytes};
  if (from_place == PAGEABLE && !stream->capture)
    stage(&work);
  result = simt_driver_submit(stream, work);
  if (!result && to_place == PAGEABLE && !stream->capture)
    simt_wait_stream(stream);
  return result;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  BEGIN(SIMT_CONTEXT);
  return entered ? entered : copy(__func__, pointer(to), true, from, false, bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  BEGIN(SIMT_CONTEXT);
  return entered ? entered : copy(__func__, to, false, pointer(from), true, bytes, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  BEGIN(SIMT_CONTEXT);
  return entered ? entered : copy(__func__, pointer(to), true, pointer(from), true, bytes, stream);
}

static int copy_now(const char *symbol, void *to, bool to_gpu, const void *from, bool from_gpu, size_t bytes) {
  int result = simt_capture_forbids();
  if (!result)
    result = copy(symbol, to, to_gpu, from, from_gpu, bytes, NULL);
  if (!result)
    simt_wait_stream(simt_stream_find(NULL));
  return result;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  BEGIN(SIMT_CONTEXT);
  return entered ? entered : copy_now(__func__, pointer(to), true, from, false, bytes);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  BEGIN(SIMT_CONTEXT);
  return entered ? entered : copy_now(__func__, to, false, pointer(from), true, bytes);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  BEGIN(SIMT_CONTEXT);
  return entered ? entered : copy_now(__func__, pointer(to), true, pointer(from), true, bytes);
}

static int fill(const char *symbol, CUdeviceptr to, unsigned char value, size_t bytes, CUstream handle) {
  CUstream stream;
  int result = simt_driver_stream(handle, &stream, symbol);
  if (result || !bytes)
    return result;
  if (place_of(pointer(to), bytes) == PAGEABLE)
    return outside(symbol, pointer(to), bytes);
  return simt_driver_submit(stream, (simt_work){.kind = SIMT_FILL, .to = pointer(to), .value = value, .bytes = bytes});
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  BEGIN(SIMT_CONTEXT);
  return entered ? entered : fill(__func__, to, value, bytes, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes) {
  BEGIN(SIMT_CONTEXT);
  return entered ? entered : fill(__func__, to, value, bytes, NULL);
}

/* ---- modules and launches ------------------------------------------------------------------------------------------
 */

struct CUmod_st {
  simt_module *module;
  CUcontext context; /* it was loaded in */
  CUmodule next;
};
static CUmodule modules;

static bool module_known(CUmodule module) {
  for (CUmodule one = modules; one; one = one->next)
    if (one == module)
      return true;
  return false;
}

/* context: where the module was loaded; NULL: not wanted. */
static simt_kernel *kernel_of(CUfunction function, CUcontext *context) {
  CUcontext unused;
  for (CUmodule module = modules; module; module = module->next)
    for (simt_kernel *kernel = module->module->kernels; kernel; kernel = kernel->next)
      if (kernel == (simt_kernel *)function) {
        *(context ? context : &unused) = module->context;
        return kernel;
      }
  return NULL;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  BEGIN(SIMT_CONTEXT);
  int result = entered ? entered : simt_capture_forbids();
  if (result)
    return result;
  CUmodule made = calloc(1, sizeof *made);
  if (!made)
    return CUDA_ERROR_OUT_OF_MEMORY;
  result = simt_module_load(&made->module, image, (int)simt_setting("SIMT_ARCH", 90));
  if (result) {
    free(made);
    return result;
  }
  made->context = pushed[depth - 1];
  made->next = modules;
  *module = modules = made;
  modules_alive++;
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  BEGIN(SIMT_CONTEXT);
  if (!module_known(module))
    return simt_misuse(SIMT_ERROR_INVALID_HANDLE, "cuModuleUnload of %p, which is not loaded", (void *)module);
  if (simt_queue_uses(module->module))
    return simt_misuse(SIMT_ERROR_INVALID_HANDLE, "cuModuleUnload while launches of it are queued");
  CUmodule *at = &modules;
  while (*at != module)
    at = &(*at)->next;
  *at = module->next;
  simt_module_unload(module->module);
  free(module);
  modules_alive--;
  return entered;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  BEGIN(SIMT_CONTEXT);
  if (entered)
    return entered;
  if (!module_known(module))
    return simt_misuse(SIMT_ERROR_INVALID_HANDLE, "cuModuleGetFunction of %p, which is not loaded", (void *)module);
  simt_kernel *kernel = simt_module_kernel(module->module, name);
  if (!kernel)
    return SIMT_ERROR_NOT_FOUND;
  *function = (CUfunction)kernel;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, int which, CUfunction function) {
  BEGIN(SIMT_CONTEXT);
  if (entered)
    return entered;
  const simt_kernel *kernel = kernel_of(function, NULL);
  if (!kernel)
    return simt_misuse(SIMT_ERROR_INVALID_HANDLE, "cuFuncGetAttribute of %p, which is not loaded", (void *)function);
  switch (which) {
  case 0: /* threads of a block */
    *value = (int)kernel->facts->threads;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = (int)kernel->module->shared_bytes;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = 32;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = (int)kernel->dynamic_limit;
    return CUDA_SUCCESS;
  default:
    return SIMT_ERROR_INVALID_VALUE;
  }
}

CUresult cuFuncSetAttribute(CUfunction function, int which, int value) {
  BEGIN(SIMT_CONTEXT);
  if (entered)
    return entered;
  simt_kernel *kernel = kernel_of(function, NULL);
  if (!kernel)
    return simt_misuse(SIMT_ERROR_INVALID_HANDLE, "cuFuncSetAttribute of %p, which is not loaded", (void *)function);
  /* a GPU takes the kernel's own static variables off it; here it is not known which of the module's they are */
  int most = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > most)
    return SIMT_ERROR_INVALID_VALUE;
  kernel->dynamic_limit = (unsigned)value;
  return CUDA_SUCCESS;
}

/* Errors that a GPU would return, too, but that no program means to make. */
static int check_launch(const simt_kernel *kernel, const unsigned grid[3], const unsigned block[3],
                        unsigned dynamic_bytes, void *const *parameters, void *const *extra) {
  if (!grid[0] || grid[0] > INT32_MAX || grid[1] != 1 || grid[2] != 1)
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "launch of %s: a grid of %u x %u x %u blocks", kernel->name, grid[0],
                       grid[1], grid[2]);
  if (!block[0] || block[0] % SIMT_WARP || block[0] > SIMT_MAX_THREADS || block[1] != 1 || block[2] != 1)
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "launch of %s: blocks of %u x %u x %u threads", kernel->name, block[0],
                       block[1], block[2]);
  if (block[0] > kernel->facts->threads)
    return simt_misuse(SIMT_ERROR_LAUNCH_OUT_OF_RESOURCES, "launch of %s: blocks of %u threads, and it was made for %u",
                       kernel->name, block[0], kernel->facts->threads);
  if (dynamic_bytes > kernel->dynamic_limit)
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "launch of %s: %u bytes of dynamic shared memory, and it may have %u",
                       kernel->name, dynamic_bytes, kernel->dynamic_limit);
  if (extra || (kernel->facts->parameters && !parameters))
    return simt_misuse(SIMT_ERROR_INVALID_VALUE, "launch of %s: without parameters, or with extra ones", kernel->name);
  for (unsigned i = 0; i < kernel->facts->parameters; i++)
    if (!parameters[i])
      return simt_misuse(SIMT_ERROR_INVALID_VALUE, "launch of %s: parameter %u is missing", kernel->name, i);
  return CUDA_SUCCESS;
}

static int launch(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra, bool dependent,
                  const char *symbol) {
  CUstream stream;
  int result = simt_driver_stream(config->hStream, &stream, symbol);
  if (result)
    return result;
  CUcontext loaded;
  simt_kernel *kernel = kernel_of(function, &loaded);
  if (!kernel)
    return simt_misuse(SIMT_ERROR_INVALID_HANDLE, "%s of %p, which is not loaded", symbol, (void *)function);
  if (loaded != pushed[depth - 1])
    return simt_misuse(SIMT_ERROR_INVALID_HANDLE, "%s of %s, which another context loaded", symbol, kernel->name);
  const unsigned grid[] = {config->gridDimX, config->gridDimY, config->gridDimZ};
  const unsigned block[] = {config->blockDimX, config->blockDimY, config->blockDimZ};
  result = check_launch(kernel, grid, block, config->sharedMemBytes, parameters, extra);
  if (result)
    return result;
  simt_work work = simt_work_launch(kernel, grid[0], block[0], config->sharedMemBytes, parameters);
  work.launch.dependent = dependent;
  return simt_driver_submit(stream, work);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream handle, void **parameters,
                        void **extra) {
  BEGIN(SIMT_CONTEXT);
  CUlaunchConfig config = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, handle, NULL, 0};
  return entered ? entered : launch(&config, function, parameters, extra, false, __func__);
}

/* Of the attributes programmatic stream serialization alone, which hardware and graphs must be new enough for. */
static int check_attributes(const CUlaunchConfig *config, bool *dependent) {
  *dependent = false;
  for (unsigned i = 0; i < config->numAttrs; i++) {
    int id = config->attrs[i].id;
    if (id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      return simt_misuse(SIMT_ERROR_INVALID_VALUE, "cuLaunchKernelEx: attribute %d is not simulated", id);
    *dependent = config->attrs[i].value.programmaticStreamSerializationAllowed != 0;
  }
  if (*dependent && (simt_setting("SIMT_ARCH", 90) < 90 || simt_setting("SIMT_DRIVER_VERSION", 13000) < 12030))
    return simt_misuse(SIMT_ERROR_NOT_SUPPORTED, "cuLaunchKernelEx: no programmatic dependent launches");
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
  BEGIN(SIMT_CONTEXT);
  bool dependent;
  int result = entered ? entered : check_attributes(config, &dependent);
  return result ? result : launch(config, function, parameters, extra, dependent, __func__);
}

/* ---- for tests -----------------------------------------------------------------------------------------------------
 */

void simt_fail(const char *symbol, long nth, int error) {
  pthread_mutex_lock(&mutex);
  simt_counts_fail(&counts, symbol, nth, error);
  pthread_mutex_unlock(&mutex);
}

const char *simt_fired(void) {
  pthread_mutex_lock(&mutex);
  const char *fired = counts.fired;
  pthread_mutex_unlock(&mutex);
  return fired;
}

long simt_calls(const char *symbol) {
  pthread_mutex_lock(&mutex);
  long calls = simt_counts_get(&counts, symbol);
  pthread_mutex_unlock(&mutex);
  return calls;
}

static long retained(void) {
  long count = 0;
  for (int i = 0; i < MAX_CONTEXTS; i++)
    count += contexts[i].retained;
  return count;
}

static char leaks[256];

long simt_leaks(void) {
  pthread_mutex_lock(&mutex);
  simt_objects_destroy();
  simt_memory_check("found when leaks were counted");
  long memory = simt_memory_alive(false), host = simt_memory_alive(true), streams = simt_streams_alive(),
       events = simt_events_alive(), graphs = simt_graphs_alive(), objects = simt_objects_alive(),
       contexts_alive = retained();
  snprintf(leaks, sizeof leaks,
           "memory %ld, pinned memory %ld, streams %ld, events %ld, modules %d, graphs %ld, objects %ld, contexts %ld, "
           "pushed %d",
           memory, host, streams, events, modules_alive, graphs, objects, contexts_alive, depth);
  long sum = memory + host + streams + events + modules_alive + graphs + objects + contexts_alive + depth;
  pthread_mutex_unlock(&mutex);
  return sum;
}

const char *simt_leaks_text(void) {
  simt_leaks();
  return leaks;
}

unsigned long long simt_memory_in_use(void) {
  pthread_mutex_lock(&mutex);
  unsigned long long bytes = simt_memory_used();
  pthread_mutex_unlock(&mutex);
  return bytes;
}

unsigned long long simt_memory_peak(void) {
  pthread_mutex_lock(&mutex);
  unsigned long long bytes = simt_memory_most(false);
  pthread_mutex_unlock(&mutex);
  return bytes;
}

void simt_memory_reset_peak(void) {
  pthread_mutex_lock(&mutex);
  simt_memory_most(true);
  pthread_mutex_unlock(&mutex);
}
