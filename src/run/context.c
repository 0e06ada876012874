/*
 * context.c - what a context binds
 * SPDX-License-Identifier: MIT
 */
#include "context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "spec/arch.h"

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
                   "cuDeviceGetAttribute: GPU %d says compute capability %d.%d, %d multiprocessors", device->ordinal,
                   device->arch / 10, device->arch % 10, device->multiprocessors);
  if (device->arch < RS_OLDEST_ARCH)
    return rs_fail(ROWSCAN_UNSUPPORTED, "GPU %d is sm_%d, older than sm_%d, the oldest that kernels are made for",
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
  return result ? rs_cuda_failed(device->cuda, result, "cuStreamCreate of a context") : ROWSCAN_OK;
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
static rowscan_status bind_device(rs_device *device, const rowscan_options *options) {
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
static void finish_device(const rs_device *device) {
  bool pushed;
  if (!device->context || rs_device_enter(device, &pushed))
    return;
  int mode = rs_cuda_relax(device->cuda);
  device->cuda->cuCtxSynchronize();
  rs_cuda_restore(device->cuda, mode);
  rs_device_leave(device, pushed);
}

static void release_device(const rs_device *device, rs_slots_kept *slots) {
  bool pushed;
  if (!device->context)
    return;
  int mode = rs_cuda_relax(device->cuda);
  if (!rs_device_enter(device, &pushed)) {
    rs_slots_close(slots, &device->memory);
    if (device->memory.stream)
      device->cuda->cuStreamDestroy_v2(device->memory.stream);
    rs_device_leave(device, pushed);
  }
  if (device->retained)
    device->cuda->cuDevicePrimaryCtxRelease_v2(device->handle);
  rs_cuda_restore(device->cuda, mode);
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
  rs_builder_serve(context->builder, context->device.arch);
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

/* With AUTO, instead of the GPU, for the reason that is the last error. */
static rowscan_status fall_to_host(rowscan_context *context, rowscan_log_level level) {
  context->why = strdup(rowscan_last_error());
  if (!context->why)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for why the host serves");
  release_device(&context->device, &context->slots);
  context->device = (rs_device){0};
  context->engine = ROWSCAN_ENGINE_HOST;
  rs_log_write(&context->log, level, "engine auto: the host serves, because: %s", context->why);
  return ROWSCAN_OK;
}

/* There are GPUs, and none of the ordinal that was asked for. */
static bool is_misnamed(rowscan_status status) {
  int count;
  return status == ROWSCAN_NO_DEVICE && !rs_device_count(&count) && count > 0;
}

/* Where there is no driver, or no GPU, nobody expects one. */
static bool is_absent(rowscan_status status) {
  return status == ROWSCAN_NO_DEVICE || (status == ROWSCAN_NO_DRIVER && !rs_cuda_is_there());
}

static rowscan_status bind_gpu(rowscan_context *context, const rowscan_options *options) {
  rowscan_status status = bind_device(&context->device, options);
  if (!status) {
    context->engine = ROWSCAN_ENGINE_CUDA;
    context->device.overlaps = may_overlap(context);
    return ROWSCAN_OK;
  }
  if (options->engine != ROWSCAN_ENGINE_AUTO || options->cuda_context || is_misnamed(status))
    return status;
  return fall_to_host(context, is_absent(status) ? ROWSCAN_LOG_INFO : ROWSCAN_LOG_WARNING);
}

static rowscan_status bind_engine(rowscan_context *context, const rowscan_options *options) {
  context->engine = ROWSCAN_ENGINE_HOST;
  rowscan_status status = options->engine == ROWSCAN_ENGINE_HOST ? ROWSCAN_OK : bind_gpu(context, options);
  if (!status)
    status = rs_host_open(&context->host, options->threads);
  if (!status && options->parallel_for)
    rs_pool_lend(rs_host_pool(context->host), options->parallel_for, options->user);
  return status;
}

/* Empties the line that it looks for in keys when one has it. */
static int look_for(void *user, const rs_store_item *item) {
  char *line = user;
  if (item->key && strstr(item->key, line))
    *line = 0;
  return !*line;
}

/* Reads entries until there is one, which mostly is the first. */
static bool has_kernels(rs_store *store, int arch) {
  char line[32];
  snprintf(line, sizeof line, "\narch=sm_%d\n", arch);
  rs_store_visit(store, look_for, line);
  if (*line)
    rs_store_visit_packs(store, look_for, line);
  return !*line;
}

/* A GPU for which nothing can be compiled, and nothing is there that was. */
static rowscan_status check_kernels(rowscan_context *context) {
  rs_builder *builder = context->builder;
  rs_store *store = rs_builder_store(builder);
  int arch = context->device.arch;
  if (*rs_nvrtc_path(rs_builder_nvrtc(builder)) || has_kernels(store, arch))
    return ROWSCAN_OK;
  return rs_fail(
      ROWSCAN_NO_COMPILER,
      "GPU %d is sm_%d, there is no NVRTC to compile its kernels, and neither the cache (%s) nor a pack has any",
      context->device.ordinal, arch, *rs_store_path(store) ? rs_store_path(store) : rs_store_why(store));
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
  rs_slots_init(&context->slots);
  rs_table_init(&context->plans);
  rs_verdicts_init(&context->verdicts);
  rowscan_status status = bind_engine(context, options);
  if (status)
    rs_nvrtc_close(nvrtc);
  else
    status = open_builder(context, options, nvrtc);
  if (!status && options->engine == ROWSCAN_ENGINE_AUTO && !options->cuda_context &&
      context->engine == ROWSCAN_ENGINE_CUDA && check_kernels(context))
    status = fall_to_host(context, ROWSCAN_LOG_WARNING);
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
  finish_device(&context->device);
  rs_table_free(&context->plans);
  rs_verdicts_free(&context->verdicts);
  if (context->builder)
    rs_builder_close(context->builder);
  if (context->host)
    rs_host_close(context->host);
  release_device(&context->device, &context->slots);
  free(context->why);
  free(context);
}
