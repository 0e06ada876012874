/*
 * modules.c - the kernels of a plan, each a module of its own: its source, built and loaded when it is first needed
 * SPDX-License-Identifier: MIT
 */
#include "modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/pool.h"

static rowscan_status out_of_memory(void) {
  return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a kernel");
}

/* ---- what the driver rejects ------------------------------------------------------------------------------------- */

typedef struct rs_reject {
  struct rs_reject *older;
  char *key, *message;
  rowscan_status status;
} reject;

void rs_rejects_init(rs_rejects *all) {
  *all = (rs_rejects){.newest = NULL};
  pthread_mutex_init(&all->lock, NULL);
}

static void free_reject(reject *one) {
  free(one->key);
  free(one->message);
  free(one);
}

void rs_rejects_free(rs_rejects *all) {
  while (all->newest) {
    reject *one = all->newest;
    all->newest = one->older;
    free_reject(one);
  }
  pthread_mutex_destroy(&all->lock);
}

/* The next three are called with the lock held. */
static reject *find_reject(const rs_rejects *all, const char *key) {
  reject *one = all->newest;
  while (one && strcmp(one->key, key) != 0)
    one = one->older;
  return one;
}

static void drop_oldest(rs_rejects *all) {
  reject **at = &all->newest;
  while ((*at)->older)
    at = &(*at)->older;
  free_reject(*at);
  *at = NULL;
  all->count--;
}

static void keep_reject(rs_rejects *all, reject *one) {
  one->older = all->newest;
  all->newest = one;
  if (++all->count > RS_MOST_REJECTS)
    drop_oldest(all);
}

void rs_rejects_add(rs_rejects *all, const char *key, rowscan_status status) {
  reject *one = calloc(1, sizeof *one);
  if (!one)
    return;
  one->status = status;
  one->key = strdup(key);
  one->message = strdup(rowscan_last_error());
  pthread_mutex_lock(&all->lock);
  bool wanted = one->key && one->message && !find_reject(all, key);
  if (wanted)
    keep_reject(all, one);
  pthread_mutex_unlock(&all->lock);
  if (!wanted)
    free_reject(one);
}

bool rs_rejects_any(rs_rejects *all) {
  pthread_mutex_lock(&all->lock);
  bool any = all->newest != NULL;
  pthread_mutex_unlock(&all->lock);
  return any;
}

rowscan_status rs_rejects_ask(rs_rejects *all, const char *key) {
  pthread_mutex_lock(&all->lock);
  const reject *one = find_reject(all, key);
  rowscan_status status = one ? rs_fail_lines(one->status, "%s", one->message) : ROWSCAN_OK;
  pthread_mutex_unlock(&all->lock);
  return status;
}

/* ---- built ------------------------------------------------------------------------------------------------------- */

static rowscan_status tell_missing(const rs_modules *all, rs_kernel kernel) {
  rs_text line = {0};
  rs_spec_line(all->spec, &line);
  rs_fail_more(ROWSCAN_NOT_CACHED, ", kernel %s: %s", rs_kernel_name(kernel),
               line.failed ? "(out of memory)" : line.data);
  rs_text_free(&line);
  return ROWSCAN_NOT_CACHED;
}

static rowscan_status write_texts(const rs_modules *all, rs_kernel kernel, rs_module *module) {
  if (module->source.data)
    return ROWSCAN_OK;
  rs_kernel_canonical(all->spec, all->geometry, kernel, &module->canonical);
  rs_emit(all->spec, all->geometry, kernel, &module->source);
  rs_shape_text(&all->geometry->shape[kernel], &module->words);
  if (!module->canonical.failed && !module->source.failed && !module->words.failed)
    return ROWSCAN_OK;
  rs_text_free(&module->canonical);
  rs_text_free(&module->source);
  rs_text_free(&module->words);
  return out_of_memory();
}

static void unbuild(rs_module *module) {
  rs_binary_free(&module->binary);
  module->built = false;
}

/* The words of a kernel are those of its shape as it was compiled. */
static rowscan_status tell_blocks(const rs_modules *all, rs_kernel kernel, rs_module *module) {
  rs_shape made = all->geometry->shape[kernel];
  made.min_blocks -= module->binary.facts.fewer_blocks;
  rs_text words = {0};
  rs_shape_text(&made, &words);
  if (words.failed) {
    rs_text_free(&words);
    unbuild(module);
    return out_of_memory();
  }
  rs_text_free(&module->words);
  module->words = words;
  return ROWSCAN_OK;
}

static rowscan_status build(rs_modules *all, rs_kernel kernel, rs_module *module, bool fresh) {
  rs_builder *builder = all->gpu->builder;
  const char *canonical = module->canonical.data, *source = module->source.data;
  rowscan_status status = fresh ? rs_build(builder, &module->binary, canonical, source, all->arch, true)
                                : rs_build_to_load(builder, &module->binary, canonical, source, all->arch);
  if (status == ROWSCAN_OK)
    status = tell_blocks(all, kernel, module);
  module->built = status == ROWSCAN_OK;
  return status == ROWSCAN_NOT_CACHED ? tell_missing(all, kernel) : status;
}

static bool read_whole(const rs_modules *all, const rs_module *module, rs_binary *binary) {
  return rs_builder_whole(all->gpu->builder, binary, module->canonical.data, module->source.data, all->arch);
}

/* ---- loaded ------------------------------------------------------------------------------------------------------ */

/* What is said of the image, and not of the moment: the same bytes will be rejected again. */
static bool is_final(CUresult result) {
  switch (result) {
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_JIT_COMPILATION_DISABLED:
  case CUDA_ERROR_INVALID_SOURCE:
  case CUDA_ERROR_NOT_FOUND:
    return true;
  default:
    return false;
  }
}

/* What the driver said of an image, and where. */
typedef struct refusal {
  CUresult result;
  const char *call;
  bool final; /* it will say so again */
} refusal;

/* With its kernel: a driver that loads lazily sees as late as there what it will not have. */
static refusal load_image(const rs_cuda *cuda, rs_kernel kernel, rs_module *module, const void *image,
                          CUfunction *function) {
  refusal said = {cuda->cuModuleLoadData(&module->module, image), "cuModuleLoadData of a compiled kernel", false};
  if (!said.result) {
    said.call = rs_kernel_symbol(kernel);
    said.result = cuda->cuModuleGetFunction(function, module->module, said.call);
    if (said.result)
      cuda->cuModuleUnload(module->module);
  }
  if (said.result)
    module->module = NULL;
  said.final = is_final(said.result);
  return said;
}

/*
 * The CUBIN first: it needs no compiler in the driver, and loads where the PTX is newer than the driver. The PTX is the
 * way out for a GPU that the CUBIN is not for, or that NVRTC makes none for.
 */
static refusal load_binary(const rs_modules *all, rs_kernel kernel, rs_module *module, CUfunction *function) {
  const rs_cuda *cuda = all->gpu->device.cuda;
  refusal said = {CUDA_ERROR_NO_BINARY_FOR_GPU, "cuModuleLoadData of a compiled kernel", true};
  rs_binary whole;
  if (module->binary.cubin)
    said = load_image(cuda, kernel, module, module->binary.cubin, function);
  if (!rs_cuda_rejects(said.result))
    return said;
  if (!module->binary.ptx) {
    if (!read_whole(all, module, &whole))
      return said;
    whole.milliseconds = module->binary.milliseconds;
    rs_binary_free(&module->binary);
    module->binary = whole;
  }
  refusal then = load_image(cuda, kernel, module, module->binary.ptx, function);
  then.final = then.final && said.final; /* else the CUBIN may do, another time */
  return then;
}

static bool key_of(const rs_modules *all, const rs_module *module, rs_text *key) {
  return rs_builder_key(all->gpu->builder, module->canonical.data, module->source.data, all->arch, key) == ROWSCAN_OK;
}

/* The driver rejected what was compiled a moment before: `status`, and why is the last error. */
static rowscan_status remember(const rs_modules *all, const rs_module *module, rowscan_status status) {
  rs_text key = {0};
  if (key_of(all, module, &key)) {
    rs_rejects_add(&all->gpu->rejects, key.data, status);
    rs_log_write(all->gpu->log, ROWSCAN_LOG_WARNING,
                 "sm_%d: the driver rejected a kernel that was just compiled; it is not tried again: %s: %s", all->arch,
                 module->words.data, rowscan_last_error());
  }
  rs_text_free(&key);
  return status;
}

/* OK: nothing is known against it. */
static rowscan_status recall(const rs_modules *all, const rs_module *module) {
  rs_text key = {0};
  rowscan_status status = ROWSCAN_OK;
  if (rs_rejects_any(&all->gpu->rejects) && key_of(all, module, &key))
    status = rs_rejects_ask(&all->gpu->rejects, key.data);
  rs_text_free(&key);
  if (status)
    rs_log_write(all->gpu->log, ROWSCAN_LOG_DEBUG,
                 "sm_%d: not tried again: the driver rejected it right after it was compiled: %s", all->arch,
                 module->words.data);
  return status;
}

/* An entry that the driver rejects is compiled once more. */
static rowscan_status load_or_rebuild(rs_modules *all, rs_kernel kernel, rs_module *module, CUfunction *function) {
  const rs_cuda *cuda = all->gpu->device.cuda;
  refusal said = load_binary(all, kernel, module, function);
  if (rs_cuda_rejects(said.result) && module->binary.cached) {
    CUresult before = said.result;
    rs_log_write(all->gpu->log, ROWSCAN_LOG_WARNING,
                 "the driver rejected an entry of the cache (CUDA error %d); compiling again", before);
    unbuild(module);
    rowscan_status status = build(all, kernel, module, true);
    if (status)
      return rs_fail_more(status, " (the driver rejected an entry of the cache with CUDA error %d)", before);
    said = load_binary(all, kernel, module, function);
  }
  if (!said.result)
    return ROWSCAN_OK;
  rowscan_status status = rs_cuda_failed(cuda, said.result, said.call);
  return said.final ? remember(all, module, status) : status;
}

static void unload_module(const rs_modules *all, rs_module *module) {
  atomic_store(&module->function, NULL);
  if (module->module)
    all->gpu->device.cuda->cuModuleUnload(module->module);
  module->module = NULL;
}

static rowscan_status load_kernel(rs_modules *all, rs_kernel kernel, rs_module *module) {
  const rs_device *device = &all->gpu->device;
  int shared = all->geometry->shape[kernel].shared_bytes;
  double start = rs_now_ms();
  CUfunction function = NULL;
  int mode = rs_cuda_relax(device->cuda);
  rowscan_status status = load_or_rebuild(all, kernel, module, &function);
  if (!status && shared > 0) {
    CUresult result =
        device->cuda->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
    if (result)
      status = rs_cuda_failed(device->cuda, result, rs_kernel_symbol(kernel));
  }
  if (status)
    unload_module(all, module);
  rs_cuda_restore(device->cuda, mode);
  if (status)
    return status;
  atomic_store_explicit(&module->function, function, memory_order_release);
  rs_log_write(all->gpu->log, ROWSCAN_LOG_DEBUG, "sm_%d: loaded into the driver in %.2f ms: %s, %s", all->arch,
               rs_now_ms() - start, rs_kernel_name(kernel), module->words.data);
  return ROWSCAN_OK;
}

/* ---- made -------------------------------------------------------------------------------------------------------- */

/* These two: the module is locked. What fails leaves nothing behind, and may be tried again. */
static rowscan_status make_built(rs_modules *all, rs_kernel kernel, rs_module *module) {
  if (module->built)
    return ROWSCAN_OK;
  rowscan_status status = write_texts(all, kernel, module);
  if (!status && all->to_load)
    status = recall(all, module);
  return status ? status : build(all, kernel, module, false);
}

static rowscan_status make_loaded(rs_modules *all, rs_kernel kernel, rs_module *module) {
  if (atomic_load(&module->function))
    return ROWSCAN_OK;
  rowscan_status status = load_kernel(all, kernel, module);
  if (status)
    unbuild(module);
  return status;
}

static rowscan_status make_kernel(rs_modules *all, rs_kernel kernel, bool to_load) {
  rs_module *module = &all->of[kernel];
  pthread_mutex_lock(&module->lock);
  rowscan_status status = make_built(all, kernel, module);
  if (!status && to_load)
    status = make_loaded(all, kernel, module);
  pthread_mutex_unlock(&module->lock);
  return status;
}

rowscan_status rs_modules_make(rs_modules *all, rs_kernel kernel) {
  return make_kernel(all, kernel, all->to_load);
}

static bool read_cached(rs_modules *all, rs_kernel kernel, rs_module *module) {
  module->built =
      write_texts(all, kernel, module) == ROWSCAN_OK && recall(all, module) == ROWSCAN_OK &&
      rs_build_if_cached(all->gpu->builder, &module->binary, module->canonical.data, module->source.data, all->arch) &&
      tell_blocks(all, kernel, module) == ROWSCAN_OK;
  return module->built;
}

bool rs_modules_look(rs_modules *all, rs_kernel kernel) {
  rs_module *module = &all->of[kernel];
  if (atomic_load_explicit(&module->function, memory_order_acquire))
    return true;
  if (atomic_load_explicit(&module->looked, memory_order_acquire))
    return atomic_load_explicit(&module->function, memory_order_acquire) != NULL;
  pthread_mutex_lock(&module->lock); /* until another thread that looks has loaded it */
  if (!module->looked && (module->built || read_cached(all, kernel, module)))
    (void)make_loaded(all, kernel, module);
  bool ready = atomic_load(&module->function) != NULL;
  atomic_store_explicit(&module->looked, true, memory_order_release);
  pthread_mutex_unlock(&module->lock);
  return ready;
}

static rowscan_status find_built(rs_modules *all, rs_kernel kernel) {
  rs_module *module = &all->of[kernel];
  rs_text where = {0};
  pthread_mutex_lock(&module->lock);
  bool found = module->built || read_cached(all, kernel, module);
  pthread_mutex_unlock(&module->lock);
  if (found)
    return ROWSCAN_OK;
  rs_builder_where(all->gpu->builder, &where);
  rs_fail(ROWSCAN_NOT_CACHED, "the kernel is not in %s: sm_%d", where.failed ? "the cache" : where.data, all->arch);
  rs_text_free(&where);
  return tell_missing(all, kernel);
}

rowscan_status rs_modules_find_all(rs_modules *all) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < rs_geometry_kernels(all->geometry) && !status; i++)
    status = find_built(all, rs_geometry_kernel(all->geometry, i));
  return status;
}

/* Kernels that threads build. */
typedef struct batch {
  rs_modules *all;
  pthread_mutex_t lock; /* of what follows */
  rowscan_status status;
  int failed; /* the first of those that did, whose status and message these are */
  char *message;
} batch;

static void build_one(void *what, int64_t i, void *seat) {
  (void)seat;
  batch *job = what;
  rowscan_status status = make_kernel(job->all, rs_geometry_kernel(job->all->geometry, (int)i), false);
  if (!status)
    return;
  pthread_mutex_lock(&job->lock);
  if (!job->status || i < job->failed) {
    free(job->message);
    job->status = status;
    job->failed = (int)i;
    job->message = strdup(rowscan_last_error());
  }
  pthread_mutex_unlock(&job->lock);
}

static rowscan_status build_all(rs_modules *all, int count, int threads) {
  batch job = {.all = all};
  pthread_mutex_init(&job.lock, NULL);
  bool worked = rs_pool_once(threads, count, build_one, &job);
  pthread_mutex_destroy(&job.lock);
  if (!worked)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for threads that compile");
  if (job.status)
    rs_fail_lines(job.status, "%s", job.message ? job.message : rowscan_status_name(job.status));
  free(job.message);
  return job.status;
}

rowscan_status rs_modules_make_all(rs_modules *all, int threads) {
  int count = rs_geometry_kernels(all->geometry);
  rowscan_status status = threads > 1 ? build_all(all, count, threads) : ROWSCAN_OK;
  for (int i = 0; i < count && !status; i++)
    status = rs_modules_make(all, rs_geometry_kernel(all->geometry, i));
  return status;
}

rowscan_status rs_modules_binary(rs_modules *all, rs_kernel kernel, const rs_binary **binary) {
  rs_module *module = &all->of[kernel];
  rs_binary *whole = atomic_load(&module->whole), *before = NULL;
  *binary = module->binary.ptx ? &module->binary : whole;
  if (*binary)
    return ROWSCAN_OK;
  whole = calloc(1, sizeof *whole);
  if (!whole)
    return out_of_memory();
  rowscan_status status = ROWSCAN_OK;
  if (!read_whole(all, module, whole))
    status = rs_build(all->gpu->builder, whole, module->canonical.data, module->source.data, all->arch, false);
  if (status) {
    free(whole);
    return status == ROWSCAN_NOT_CACHED ? tell_missing(all, kernel) : status;
  }
  if (!atomic_compare_exchange_strong(&module->whole, &before, whole)) { /* another thread has it as well */
    rs_binary_free(whole);
    free(whole);
    whole = before;
  }
  *binary = whole;
  return ROWSCAN_OK;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

void rs_modules_open(rs_modules *all, rs_gpu *gpu, const rowscan_spec *spec, const rs_geometry *geometry, int arch,
                     bool to_load) {
  *all = (rs_modules){.gpu = gpu, .spec = spec, .geometry = geometry, .arch = arch, .to_load = to_load};
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    pthread_mutex_init(&all->of[kernel].lock, NULL); /* which cannot fail with no attributes */
}

void rs_modules_unload(rs_modules *all) {
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    unload_module(all, &all->of[kernel]);
}

static void close_module(rs_module *module) {
  rs_text_free(&module->canonical);
  rs_text_free(&module->source);
  rs_text_free(&module->words);
  rs_binary_free(&module->binary);
  rs_binary *whole = atomic_load(&module->whole);
  if (whole)
    rs_binary_free(whole);
  free(whole);
  pthread_mutex_destroy(&module->lock);
}

void rs_modules_close(rs_modules *all) {
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    close_module(&all->of[kernel]);
}
