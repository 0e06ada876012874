/*
 * context.c - what a context binds
 * SPDX-License-Identifier: MIT
 */
#include "context.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/library.h"
#include "base/status.h"
#include "gpu/builtin.h"
#include "spec/arch.h"

static void release_gpu(rowscan_context *context) {
  const rs_device *device = &context->gpu.device;
  bool pushed;
  if (!device->context)
    return;
  int mode = rs_cuda_relax(device->cuda);
  if (!rs_device_enter(device, &pushed)) {
    rs_slots_close(&context->slots, &device->memory);
    rs_spares_close(&context->spares, &device->memory);
    rs_device_leave(device, pushed);
  }
  rs_cuda_restore(device->cuda, mode);
  rs_device_release(device);
}

/* By whose wish nothing is kept on disk, and nothing compiled: the program's, or $ROWSCAN_CACHE's. NULL: nobody's. */
typedef struct wishes {
  const char *off_by, *only_by;
} wishes;

static wishes read_wishes(const rowscan_context *context, const rowscan_options *options) {
  static const char *const words[] = {"on", "off", "only", NULL};
  enum { OFF = 1 << 1, ONLY = 1 << 2 };
  unsigned said = rs_log_words(&context->log, "ROWSCAN_CACHE", words);
  return (wishes){options->cache_off ? "the program"
                  : said & OFF       ? "ROWSCAN_CACHE=off"
                                     : NULL,
                  options->cache_only ? "the program (cache_only)"
                  : said & ONLY       ? "ROWSCAN_CACHE=only"
                                      : NULL};
}

/* The option, else $ROWSCAN_COMPILE. */
static rowscan_compile compile_of(const rowscan_context *context, const rowscan_options *options) {
  static const char *const words[] = {"now", "background", "never", NULL};
  int word = options->compile ? RS_WORD_UNSET : rs_log_word(&context->log, "ROWSCAN_COMPILE", words);
  return options->compile ? options->compile
         : word >= 0      ? (rowscan_compile)(ROWSCAN_COMPILE_NOW + word)
                          : ROWSCAN_COMPILE_BACKGROUND;
}

/* What was measured on the GPU, if anything was. */
static rowscan_status open_tuning(rowscan_context *context) {
  return context->engine == ROWSCAN_ENGINE_CUDA ? rs_tuning_load(&context->gpu, &context->gpu.tuning) : ROWSCAN_OK;
}

static void open_tiers(rowscan_context *context, const rowscan_options *options) {
  rowscan_compile compile = compile_of(context, options);
  if (compile == ROWSCAN_COMPILE_NOW || context->engine != ROWSCAN_ENGINE_CUDA)
    return;
  rs_tiers_open(&context->tiers, &context->gpu, compile);
  context->gpu.tiers = &context->tiers;
}

/* $ROWSCAN_TUNE; 0: it names none. */
static int tuned_for(const rowscan_context *context) {
  const char *value = secure_getenv("ROWSCAN_TUNE");
  int arch;
  if (!value || !*value)
    return 0;
  if (!rs_arch_read(value, &arch) && arch >= RS_OLDEST_ARCH)
    return arch;
  rs_log_tell(&context->log, "ROWSCAN_TUNE: '%s' is not an architecture of sm_%d or later", value, RS_OLDEST_ARCH);
  return 0;
}

/* Packs that came with the library: of a wheel, of an installation that may have been moved, or where it was made. */
static const char *find_packs(char path[PATH_MAX]) {
  static const char *const beside[] = {"rowscan-packs", "../share/rowscan", "../../share/rowscan"};
  for (int i = 0; i < 3; i++)
    if (rs_library_beside(path, beside[i]))
      return path;
  return ROWSCAN_PACKS;
}

/* Kernels inside of the library, of the GPU's generation. */
static bool built_in(void *user, rs_source *pack) {
  const rowscan_context *context = user;
  return rs_builtin_pack(rs_arch_generation(context->gpu.device.arch), pack);
}

/* The host engine compiles nothing: what it may be asked of the cache later opens it then. */
static rs_store *open_store(rowscan_context *context, const rowscan_options *options, const wishes *wish) {
  char packs[PATH_MAX];
  return rs_store_open(&(rs_store_options){.dir = options->cache_dir,
                                           .off_by = wish->off_by,
                                           .optional = wish->only_by != NULL,
                                           .later = context->engine == ROWSCAN_ENGINE_HOST,
                                           .limit_bytes = options->cache_limit,
                                           .packs = options->cache_packs,
                                           .installed_packs = find_packs(packs),
                                           .built_in = context->engine == ROWSCAN_ENGINE_CUDA ? built_in : NULL,
                                           .built_in_user = context,
                                           .log = context->log});
}

static rowscan_status open_builder(rowscan_context *context, const rowscan_options *options, rs_nvrtc *nvrtc) {
  wishes wish = read_wishes(context, options);
  rs_store *store = open_store(context, options, &wish);
  if (!store) {
    rs_nvrtc_close(nvrtc);
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the cache");
  }
  if (!nvrtc)
    nvrtc = rs_nvrtc_open(options->nvrtc, &context->log);
  if (nvrtc && context->gpu.device.cuda)
    rs_nvrtc_prefer(nvrtc, context->gpu.device.cuda->version);
  if (nvrtc)
    context->gpu.builder = rs_builder_open(store, nvrtc, &context->log);
  else
    rs_store_close(store);
  if (!context->gpu.builder)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the builder");
  rs_builder_forbid(context->gpu.builder, wish.only_by);
  rs_builder_tune_for(context->gpu.builder, tuned_for(context));
  rs_builder_serve(context->gpu.builder, context->gpu.device.arch);
  if (context->engine == ROWSCAN_ENGINE_CUDA)
    rs_nvrtc_path(nvrtc); /* finds it: plans will need its id, and opening a GPU takes long anyway */
  return ROWSCAN_OK;
}

/* CUDA 12.3: the first whose graphs have programmatic edges. $ROWSCAN_PDL: for who can't have them. */
static bool may_overlap(const rowscan_context *context) {
  enum { OVERLAPS_FROM = 12030 };
  const rs_device *device = &context->gpu.device;
  static const char *const words[] = {"on", "off", NULL};
  bool off = rs_log_word(&context->log, "ROWSCAN_PDL", words) == 1;
  return !off && device->arch >= 90 && device->cuda->version >= OVERLAPS_FROM && device->cuda->cuLaunchKernelEx;
}

/* With AUTO, instead of the GPU, for the reason that is the last error. */
static rowscan_status fall_to_host(rowscan_context *context, rowscan_log_level level) {
  context->why = strdup(rowscan_last_error());
  if (!context->why)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the reason why scans run on the CPU");
  context->driver = context->gpu.device.cuda;
  release_gpu(context);
  context->gpu.device = (rs_device){0};
  context->engine = ROWSCAN_ENGINE_HOST;
  rs_log_write(&context->log, level, "engine auto: scans run on the CPU, because: %s", context->why);
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
  rowscan_status status = rs_device_bind(&context->gpu.device, options);
  if (!status) {
    context->engine = ROWSCAN_ENGINE_CUDA;
    context->gpu.device.overlaps = may_overlap(context);
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

/* Kernels for a GPU, or for any length and its generation, of which a key has the line. */
typedef struct sought {
  char line[2][32];
  bool found;
} sought;

static int look_at(void *user, const char *key) {
  sought *kernels = user;
  kernels->found = strstr(key, kernels->line[0]) || strstr(key, kernels->line[1]);
  return kernels->found;
}

static int look_for(void *user, const rs_store_item *item) {
  return item->key && look_at(user, item->key);
}

/* Looks at entries until there is one, which mostly is the first of the directory, or of a pack. */
static bool has_kernels(rs_store *store, int arch) {
  sought kernels = {.found = false};
  snprintf(kernels.line[0], sizeof kernels.line[0], "\narch=sm_%d\n", arch);
  snprintf(kernels.line[1], sizeof kernels.line[1], "\narch=sm_%d\n", rs_arch_generation(arch));
  rs_store_visit(store, look_for, &kernels);
  if (!kernels.found)
    rs_store_visit_packed_keys(store, look_at, &kernels);
  return kernels.found;
}

/* A GPU for which nothing can be compiled, and nothing is there that was. */
static rowscan_status check_kernels(rowscan_context *context) {
  rs_builder *builder = context->gpu.builder;
  rs_store *store = rs_builder_store(builder);
  int arch = context->gpu.device.arch;
  if (*rs_nvrtc_path(rs_builder_nvrtc(builder)) || rs_builtin_has(rs_arch_generation(arch)) || has_kernels(store, arch))
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_NO_COMPILER,
                 "GPU %d is sm_%d: NVRTC was not found, and neither the cache (%s) nor a pack has kernels for it%s",
                 context->gpu.device.ordinal, arch, *rs_store_path(store) ? rs_store_path(store) : rs_store_why(store),
                 rs_store_unused(store));
}

static rowscan_status open_further(rowscan_context *context, const rowscan_options *options) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 1; i < options->device_count && context->engine == ROWSCAN_ENGINE_CUDA && !status; i++) {
    rowscan_options of_one = *options;
    of_one.engine = ROWSCAN_ENGINE_CUDA;
    of_one.device = options->devices[i];
    of_one.device_count = 0;
    of_one.threads = 1;
    status = rs_context_open(&context->further[context->further_count], &of_one, NULL);
    context->further_count += !status;
    if (!status && options->engine == ROWSCAN_ENGINE_AUTO)
      status = check_kernels(context->further[context->further_count - 1]);
  }
  return status;
}

rowscan_status rs_context_open(rowscan_context **out, const rowscan_options *options, rs_nvrtc *nvrtc) {
  rowscan_context *context = calloc(1, sizeof *context);
  if (!context) {
    rs_nvrtc_close(nvrtc);
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a context");
  }
  context->process = getpid();
  context->gpu.log = &context->log;
  context->log = rs_log_open(options->log, options->user);
  context->user = options->user;
  context->progress = options->progress;
  context->staging_bytes = options->staging_bytes;
  rs_slots_init(&context->slots);
  rs_spares_init(&context->spares);
  rs_table_init(&context->programs);
  rs_rejects_init(&context->gpu.rejects);
  rowscan_status status = bind_engine(context, options);
  if (status)
    rs_nvrtc_close(nvrtc);
  else
    status = open_builder(context, options, nvrtc);
  if (!status && options->engine == ROWSCAN_ENGINE_AUTO && !options->cuda_context &&
      context->engine == ROWSCAN_ENGINE_CUDA && check_kernels(context))
    status = fall_to_host(context, ROWSCAN_LOG_WARNING);
  if (!status)
    status = open_further(context, options);
  if (!status)
    status = open_tuning(context);
  if (status) {
    rs_context_close(context);
    return status;
  }
  open_tiers(context, options);
  *out = context;
  return ROWSCAN_OK;
}

/* What an array, or the stream, is refused for. */
static rowscan_status refuse(const rowscan_context *context, const char *field, const void *pointer, const char *what) {
  bool fell = context->why != NULL;
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "field '%s': %p%s%s%s", field, pointer, what,
                 fell ? "; engine auto chose the CPU, because: " : "", fell ? context->why : "");
}

rowscan_status rs_context_check_memory(const rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows,
                                       const void *stream) {
  const rs_cuda *driver = rs_context_driver(context);
  if (stream)
    return refuse(context, "stream", stream, ", but this context runs on the CPU, which has no streams");
  for (int a = 0; a < rs_arrays(rows) && driver; a++) {
    const void *data = rows->array[a].data;
    if (data && rs_device_alone(driver, data))
      return refuse(context, rs_array_name(spec, (rs_which)a), data,
                    " is memory of a GPU, which the CPU cannot access");
  }
  return ROWSCAN_OK;
}

bool rs_context_inherited(const rowscan_context *context) {
  return context->process != getpid();
}

/* In a child there are no threads to wait for, locks may be held by nobody, and the driver refuses everything. */
void rs_context_close(rowscan_context *context) {
  if (!context || rs_context_inherited(context))
    return;
  while (context->further_count > 0)
    rs_context_close(context->further[--context->further_count]);
  rs_device_finish(&context->gpu.device);
  if (context->gpu.tiers)
    rs_tiers_stop(context->gpu.tiers);
  rs_table_free(&context->programs);
  if (context->gpu.tiers)
    rs_tiers_close(context->gpu.tiers);
  rs_rejects_free(&context->gpu.rejects);
  if (context->gpu.builder)
    rs_builder_close(context->gpu.builder);
  if (context->host)
    rs_host_close(context->host);
  release_gpu(context);
  rs_calls_free(&context->calls);
  free(context->gpu.tuning);
  free(context->why);
  free(context);
}
