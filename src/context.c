/*
 * context.c - what a context binds
 * SPDX-License-Identifier: MIT
 */
#include "context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch.h"
#include "log.h"

/* ---- devices ----------------------------------------------------------------------------------------------------- */

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
    return rs_fail(ROWSCAN_NO_DEVICE, "field 'device': %d; there %s %d GPU%s", ordinal, count == 1 ? "is" : "are",
                   count, count == 1 ? "" : "s");
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

static rowscan_status open_stream(rs_device *device) {
  bool pushed;
  rowscan_status status = rs_device_enter(device, &pushed);
  if (status)
    return status;
  CUresult result = device->cuda->cuStreamCreate(&device->clearing, CU_STREAM_NON_BLOCKING);
  if (result)
    device->clearing = NULL;
  rs_device_leave(device, pushed);
  return result ? rs_cuda_failed(device->cuda, result, "cuStreamCreate of a context") : ROWSCAN_OK;
}

static rowscan_status bind_device(rs_device *device, int ordinal) {
  rowscan_status status = device_handle(&device->cuda, ordinal, &device->handle);
  if (status)
    return status;
  const rs_cuda *cuda = device->cuda;
  device->arch = arch_of(cuda, device->handle);
  device->multiprocessors = attribute(cuda, device->handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  device->l2_bytes = attribute(cuda, device->handle, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  device->peak_gbs = peak_gbs(cuda, device->handle);
  if (device->arch < 10 || device->multiprocessors < 1)
    return rs_fail(ROWSCAN_CUDA_FAILED,
                   "cuDeviceGetAttribute: GPU %d says compute capability %d.%d, %d multiprocessors", ordinal,
                   device->arch / 10, device->arch % 10, device->multiprocessors);
  CUresult result = cuda->cuDevicePrimaryCtxRetain(&device->context, device->handle);
  if (result) {
    device->context = NULL;
    return rs_cuda_failed(cuda, result, "cuDevicePrimaryCtxRetain");
  }
  return open_stream(device);
}

static void release_device(const rs_device *device) {
  bool pushed;
  if (!device->context)
    return;
  if (device->clearing && !rs_device_enter(device, &pushed)) {
    device->cuda->cuStreamDestroy_v2(device->clearing);
    rs_device_leave(device, pushed);
  }
  device->cuda->cuDevicePrimaryCtxRelease_v2(device->handle);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static void store_log(void *user, int level, const char *message) {
  rs_log_write(user, (rowscan_log_level)level, "%s", message);
}

/* $ROWSCAN_CACHE: `off` is the store's. */
static const char *who_forbids(const rowscan_context *context, const rowscan_options *options) {
  static const char *const words[] = {"on", "off", "only", NULL};
  enum { ONLY = 2 };
  int word = rs_log_word(&context->log, "ROWSCAN_CACHE", words);
  return options->cache_only ? "the program (cache_only)" : word == ONLY ? "ROWSCAN_CACHE=only" : NULL;
}

/* $ROWSCAN_TUNE; 0: it names none. */
static int tuned_for(const rowscan_context *context) {
  const char *value = secure_getenv("ROWSCAN_TUNE");
  int arch;
  if (!value || !*value)
    return 0;
  if (!rs_arch_read(value, &arch) && arch >= RS_OLDEST_ARCH)
    return arch;
  rs_log_tell(&context->log, "ROWSCAN_TUNE: '%s' is no architecture from sm_%d on", value, RS_OLDEST_ARCH);
  return 0;
}

/* The host engine compiles nothing: what it may be asked of the cache later opens it then. */
static rowscan_status open_builder(rowscan_context *context, const rowscan_options *options, rs_nvrtc *nvrtc) {
  rs_store_options place = {.dir = options->cache_dir,
                            .off = options->cache_off != 0,
                            .later = context->engine == ROWSCAN_ENGINE_HOST,
                            .limit_bytes = options->cache_limit,
                            .packs = options->cache_packs,
                            .installed_packs = ROWSCAN_PACKS,
                            .user = &context->log,
                            .log = store_log};
  rs_store *store = rs_store_open(&place);
  if (!store) {
    rs_nvrtc_close(nvrtc);
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the cache");
  }
  if (!nvrtc)
    nvrtc = rs_nvrtc_open(options->nvrtc, &context->log);
  if (nvrtc && context->device.cuda)
    rs_nvrtc_prefer(nvrtc, context->device.cuda->version);
  if (nvrtc)
    context->builder = rs_builder_open(store, nvrtc, &context->log);
  else
    rs_store_close(store);
  if (!context->builder)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the builder");
  rs_builder_forbid(context->builder, who_forbids(context, options));
  rs_builder_tune_for(context->builder, tuned_for(context));
  if (context->engine == ROWSCAN_ENGINE_CUDA)
    rs_nvrtc_path(nvrtc); /* finds it: plans will need its id, and opening a GPU takes long anyway */
  return ROWSCAN_OK;
}

/* CUDA 12.3: the first whose graphs have programmatic edges. $ROWSCAN_PDL: for who can't have them. */
static bool may_overlap(const rowscan_context *context) {
  enum { OVERLAPS_FROM = 12030 };
  const rs_device *device = &context->device;
  static const char *const words[] = {"on", "off", NULL};
  bool off = rs_log_word(&context->log, "ROWSCAN_PDL", words) == 1;
  return !off && device->arch >= 90 && device->cuda->version >= OVERLAPS_FROM && device->cuda->cuLaunchKernelEx;
}

/* It was for want of a driver or of any GPU that none was bound. */
static bool is_absent(rowscan_status status) {
  int count;
  return status == ROWSCAN_NO_DRIVER || (status == ROWSCAN_NO_DEVICE && !rs_device_count(&count) && !count);
}

static rowscan_status bind_engine(rowscan_context *context, const rowscan_options *options) {
  context->engine = ROWSCAN_ENGINE_HOST;
  if (options->engine != ROWSCAN_ENGINE_HOST) {
    rowscan_status status = bind_device(&context->device, options->device);
    if (status && !(options->engine == ROWSCAN_ENGINE_AUTO && is_absent(status)))
      return status;
    if (!status) {
      context->engine = ROWSCAN_ENGINE_CUDA;
      context->device.overlaps = may_overlap(context);
    } else {
      rs_log_write(&context->log, ROWSCAN_LOG_INFO, "engine auto: host, because: %s", rowscan_last_error());
    }
  }
  return rs_host_open(&context->host, options->threads);
}

rowscan_status rs_context_open(rowscan_context **out, const rowscan_options *options, rs_nvrtc *nvrtc) {
  rowscan_context *context = calloc(1, sizeof *context);
  if (!context) {
    rs_nvrtc_close(nvrtc);
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a context");
  }
  context->process = getpid();
  context->log = rs_log_open(options->log, options->user);
  context->user = options->user;
  context->progress = options->progress;
  context->staging_bytes = options->staging_bytes;
  rs_table_init(&context->plans);
  rs_verdicts_init(&context->verdicts);
  rowscan_status status = bind_engine(context, options);
  if (status)
    rs_nvrtc_close(nvrtc);
  else
    status = open_builder(context, options, nvrtc);
  if (status) {
    rs_context_close(context);
    return status;
  }
  *out = context;
  return ROWSCAN_OK;
}

bool rs_context_inherited(const rowscan_context *context) {
  return context->process != getpid();
}

/* In a child there are no threads to wait for, locks may be held by nobody, and the driver refuses everything. */
void rs_context_close(rowscan_context *context) {
  if (!context || rs_context_inherited(context))
    return;
  rs_table_free(&context->plans);
  rs_verdicts_free(&context->verdicts);
  if (context->builder)
    rs_builder_close(context->builder);
  if (context->host)
    rs_host_close(context->host);
  release_device(&context->device);
  free(context);
}
