/*
 * test_engine.c - which engine a context ends up with, why, and how it ends
 * SPDX-License-Identifier: MIT
 *
 * On the simulated GPU (RS_SIMT says where it is; else 77), which is set up anew for each test, in a process of its
 * own: one whose driver does not start, an old one, one that is newer than NVRTC, one that another process has.
 */
#include "../support/cache_help.h"
#include "../support/lot.h"

#include <dlfcn.h>
#include <elf.h>

#include "../simt/simt.h"
#include "rowscan.h"

static struct {
  void *driver;
  long (*leaks)(void);
  const char *(*leaks_text)(void);
  int (*init)(unsigned);
  int (*retain)(void **, int);
  int (*push)(void *);
  int (*alloc)(unsigned long long *, size_t);
} simt;

/* The driver's own name then means this one, for it is loaded. */
static void load_driver(void) {
  simt.driver = dlopen(path_of("%s/libcuda.so.1", getenv("RS_SIMT")), RTLD_NOW);
  ck_assert_msg(simt.driver != NULL, "%s", dlerror());
  *(void **)&simt.leaks = dlsym(simt.driver, "simt_leaks");
  *(void **)&simt.leaks_text = dlsym(simt.driver, "simt_leaks_text");
  *(void **)&simt.init = dlsym(simt.driver, "cuInit");
  *(void **)&simt.retain = dlsym(simt.driver, "cuDevicePrimaryCtxRetain");
  *(void **)&simt.push = dlsym(simt.driver, "cuCtxPushCurrent_v2");
  *(void **)&simt.alloc = dlsym(simt.driver, "cuMemAlloc_v2");
}

static char *nvrtc_file(void) {
  return path_of("%s/libnvrtc.so.13", getenv("RS_SIMT"));
}

/* ---- what the log says ------------------------------------------------------------------------------------------- */

static int warnings, notes;
static char warned[4096];

static void keep(void *user, rowscan_log_level level, const char *message) {
  (void)user;
  if (level == ROWSCAN_LOG_WARNING) {
    warnings++;
    snprintf(warned, sizeof warned, "%s", message);
  } else if (level == ROWSCAN_LOG_INFO && strstr(message, "engine auto")) {
    notes++;
  }
}

static rowscan_status open_as(rowscan_context **context, rowscan_engine engine, const char *cache) {
  warnings = notes = 0;
  *context = NULL;
  return rowscan_open(
      context, ROWSCAN_OPTIONS(.engine = engine, .threads = 2, .cache_dir = cache, .cache_off = !cache, .log = keep));
}

static rowscan_context_info info_of(const rowscan_context *context) {
  rowscan_context_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(rowscan_context_info_get(context, &info), ROWSCAN_OK);
  ck_assert_int_eq(info.engine, rowscan_context_engine(context));
  ck_assert_int_eq(info.threads, 2);
  return info;
}

/* The host serves, for a reason that has these words, and as many warnings and notes told it. */
static void must_fall(const char *cache, int told, int noted, const char *words) {
  rowscan_context *context;
  float x[5] = {1, 2, 3, 4, 5};
  ck_assert_msg(open_as(&context, ROWSCAN_ENGINE_AUTO, cache) == ROWSCAN_OK, "%s", rowscan_last_error());
  rowscan_context_info info = info_of(context);
  ck_assert_int_eq(info.engine, ROWSCAN_ENGINE_HOST);
  ck_assert_int_eq(info.device, -1);
  ck_assert_str_eq(info.arch, "");
  ck_assert_msg(strstr(info.why, words) != NULL, "\"%s\" and not \"%s\"", info.why, words);
  ck_assert_msg(warnings == told && notes == noted, "%d warnings, %d notes: %s", warnings, notes, warned);
  ck_assert(!told || strstr(warned, info.why));
  ck_assert_int_eq(rowscan_scan(context,
                                ROWSCAN_PROBLEM(.rank = 1, .shape = ((int64_t[]){5}), .input = {x, ROWSCAN_F32, NULL},
                                                .output = {x, ROWSCAN_F32, NULL}),
                                NULL),
                   ROWSCAN_OK);
  ck_assert_float_eq(x[4], 15);
  rowscan_close(context);
  ck_assert_msg(simt.leaks() == 0, "%s", simt.leaks_text());
}

static void must_fail(rowscan_status status, const char *words) {
  rowscan_context *context;
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_CUDA, NULL), status);
  ck_assert_msg(strstr(rowscan_last_error(), words) != NULL, "%s", rowscan_last_error());
  ck_assert_ptr_null(context);
  ck_assert_msg(simt.leaks() == 0, "%s", simt.leaks_text());
}

/* ---- engines ----------------------------------------------------------------------------------------------------- */

START_TEST(a_gpu_that_can_serve_does) {
  rowscan_context *context;
  setenv("SIMT_DEVICES", "2", 1);
  load_driver();
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_AUTO, NULL), ROWSCAN_OK);
  rowscan_context_info info = info_of(context);
  ck_assert_int_eq(info.engine, ROWSCAN_ENGINE_CUDA);
  ck_assert_int_eq(info.device, 0);
  ck_assert_str_eq(info.arch, "sm_90");
  ck_assert_str_eq(info.why, "");
  ck_assert_int_eq(warnings + notes, 0);
  rowscan_close(context);
  ck_assert_int_eq(rowscan_open(&context, ROWSCAN_OPTIONS(.device = 1, .threads = 2, .cache_off = 1)), ROWSCAN_OK);
  ck_assert_int_eq(info_of(context).device, 1);
  info.size = 1;
  ck_assert_int_eq(rowscan_context_info_get(context, &info), ROWSCAN_BAD_ARGUMENT);
  rowscan_close(context);
  ck_assert_int_eq(rowscan_open(&context, ROWSCAN_OPTIONS(.device = 2)), ROWSCAN_NO_DEVICE);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "field 'device': 2 is not the number of a GPU; there are 2 GPUs"));
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_HOST, NULL), ROWSCAN_OK);
  ck_assert_str_eq(info_of(context).why, "");
  rowscan_close(context);
}
END_TEST

START_TEST(no_gpu_is_no_reason_to_warn) {
  setenv("SIMT_DEVICES", "0", 1);
  load_driver();
  must_fall(NULL, 0, 1, "CUDA_ERROR_NO_DEVICE");
  must_fail(ROWSCAN_NO_DEVICE, "CUDA_ERROR_NO_DEVICE");
}
END_TEST

static const int start_errors[] = {3, 34, 803, 804, 999};

START_TEST(a_driver_that_does_not_start_is_told) {
  load_driver();
  setenv("SIMT_FAIL", path_of("cuInit:1:%d", start_errors[_i]), 1);
  must_fall(NULL, 1, 0, "the CUDA driver (libcuda.so.1) does not start");
}
END_TEST

START_TEST(a_driver_that_does_not_start_fails_who_wants_it) {
  load_driver();
  setenv("SIMT_FAIL", path_of("cuInit:1:%d", start_errors[_i]), 1);
  must_fail(ROWSCAN_NO_DRIVER, "does not start");
}
END_TEST

/* In exclusive use it gives no context, or one that fails its first call. */
static const char *const context_calls[] = {"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuStreamCreate"};

START_TEST(a_gpu_of_another_process_is_told) {
  load_driver();
  setenv("SIMT_FAIL", path_of("%s:1:46", context_calls[_i]), 1);
  must_fall(NULL, 1, 0, "failed: CUDA error 46");
}
END_TEST

START_TEST(a_gpu_of_another_process_fails_who_wants_it) {
  load_driver();
  setenv("SIMT_FAIL", path_of("%s:1:46", context_calls[_i]), 1);
  must_fail(ROWSCAN_CUDA_FAILED, "failed: CUDA error 46");
}
END_TEST

START_TEST(an_old_gpu_is_told) {
  setenv("SIMT_ARCH", "70", 1);
  load_driver();
  must_fall(NULL, 1, 0, "GPU 0 is sm_70, older than sm_75");
  must_fail(ROWSCAN_UNSUPPORTED, "GPU 0 is sm_70, older than sm_75");
  setenv("SIMT_ARCH", "75", 1);
  rowscan_context *context;
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_AUTO, NULL), ROWSCAN_OK);
  ck_assert_str_eq(info_of(context).arch, "sm_75");
  rowscan_close(context);
}
END_TEST

/* A kernel that is there already is enough. */
START_TEST(a_gpu_without_a_compiler_is_told) {
  char *cache = fresh();
  rowscan_context *context;
  rowscan_plan *plan;
  load_driver();
  setenv("ROWSCAN_NVRTC", "/no/such/libnvrtc.so.13", 1);
  must_fall(NULL, 1, 0, "GPU 0 is sm_90: NVRTC was not found, and neither the cache");
  must_fall(cache, 1, 0, path_of("neither the cache (%s) nor a pack has kernels for it", cache));
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_CUDA, cache), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 5)), ROWSCAN_NO_COMPILER);
  rowscan_close(context);

  setenv("ROWSCAN_NVRTC", nvrtc_file(), 1);
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_HOST, cache), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_plan_compile(&plan, context, ROWSCAN_SPEC(.length = 5), "sm_80"), ROWSCAN_OK);
  rowscan_plan_destroy(plan);
  rowscan_close(context);
  setenv("ROWSCAN_NVRTC", "/no/such/libnvrtc.so.13", 1);
  must_fall(cache, 1, 0, "GPU 0 is sm_90");

  setenv("SIMT_ARCH", "80", 1);
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_AUTO, cache), ROWSCAN_OK);
  ck_assert_str_eq(info_of(context).arch, "sm_80");
  ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 5)), ROWSCAN_OK);
  rowscan_plan_destroy(plan);
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  char *pack = path_of("%s/own.pack", parent_of(cache));
  ck_assert_int_eq(rowscan_cache_export(context, pack, NULL, &exported), ROWSCAN_OK);
  rowscan_close(context);
  setenv("ROWSCAN_CACHE_PACKS", pack, 1);
  for (int off = 0; off < 2; off++) {
    ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_AUTO, off ? NULL : fresh()), ROWSCAN_OK);
    ck_assert_str_eq(info_of(context).arch, "sm_80");
    ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 5)), ROWSCAN_OK);
    rowscan_plan_destroy(plan);
    rowscan_close(context);
  }
  ck_assert_int_eq(chmod(pack, 0666), 0);
  must_fall(NULL, 2, 0, path_of("nor a pack has kernels for it (pack %s is not used: writable by others)", pack));
}
END_TEST

/* ---- a GPU that is newer than NVRTC ------------------------------------------------------------------------------ */

enum { LENGTH = 3000 };

/* In memory of the GPU, which the simulated one shares with the host. */
static float *device_floats(int count) {
  static bool current;
  unsigned long long at;
  void *own;
  ck_assert(current || (!simt.init(0) && !simt.retain(&own, 0) && !simt.push(own)));
  current = true;
  ck_assert_int_eq(simt.alloc(&at, (size_t)count * sizeof(float)), 0);
  return (float *)(size_t)at;
}

static void scan_ones(rowscan_context *context) {
  float *x = device_floats(LENGTH);
  for (int i = 0; i < LENGTH; i++)
    x[i] = 1;
  ck_assert_msg(rowscan_scan(context,
                             ROWSCAN_PROBLEM(.rank = 1, .shape = ((int64_t[]){LENGTH}), .input = {x, ROWSCAN_F32, NULL},
                                             .output = {x, ROWSCAN_F32, NULL}),
                             NULL) == ROWSCAN_OK,
                "%s", rowscan_last_error());
  for (int i = 0; i < LENGTH; i++)
    ck_assert_float_eq(x[i], (float)(i + 1));
}

static void must_refuse(rowscan_status status, const char *words) {
  ck_assert_int_eq(status, ROWSCAN_BAD_ARGUMENT);
  ck_assert_msg(strstr(rowscan_last_error(), words) != NULL, "%s", rowscan_last_error());
}

/* By all calls that take arrays, in a context that works on the host. */
static void try_arrays(rowscan_context *context, float *x, float *y, struct CUstream_st *stream, const char *words) {
  rowscan_plan *plan;
  rowscan_carry *carry;
  const rowscan_problem *problem =
      ROWSCAN_PROBLEM(.rank = 1, .shape = ((int64_t[]){LENGTH}), .input = {.data = x}, .output = {.data = y});
  must_refuse(rowscan_scan(context, problem, stream), words);
  ck_assert_int_eq(rowscan_carry_create(&carry, context), ROWSCAN_OK);
  must_refuse(rowscan_carry_scan(carry, problem, stream), words);
  rowscan_carry_destroy(carry);
  ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = LENGTH)), ROWSCAN_OK);
  must_refuse(rowscan_plan_run(plan, ROWSCAN_ARGS(.input = x, .output = y, .rows = 1), stream), words);
  rowscan_plan_destroy(plan);
  if (!stream)
    must_refuse(rowscan_scan_host(context, problem), words);
}

/* A program that expects a GPU has device memory, and a stream, which the host has no use for. */
START_TEST(the_host_refuses_what_is_for_a_gpu) {
  static float y[LENGTH];
  rowscan_context *context;
  struct CUstream_st *stream = (void *)(uintptr_t)0x5000;
  setenv("SIMT_ARCH", "70", 1);
  load_driver();
  float *x = device_floats(LENGTH);
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_AUTO, NULL), ROWSCAN_OK);
  try_arrays(context, x, y, NULL, "field 'input': ");
  try_arrays(context, y, x, NULL, "field 'output': ");
  try_arrays(context, y, x, NULL,
             "is memory of a GPU, which the CPU cannot access; engine auto chose the CPU, "
             "because: GPU 0 is sm_70, older than sm_75");
  try_arrays(context, y, y, stream, "field 'stream': 0x5000, but this context runs on the CPU, which has no streams");
  rowscan_close(context);
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_HOST, NULL), ROWSCAN_OK);
  try_arrays(context, y, y, stream, "field 'stream': 0x5000, but this context runs on the CPU, which has no streams");
  rowscan_close(context);
}
END_TEST

START_TEST(a_scan_of_host_memory_refuses_that_of_a_gpu) {
  static float y[LENGTH];
  rowscan_context *context;
  load_driver();
  setenv("ROWSCAN_NVRTC", nvrtc_file(), 1);
  float *x = device_floats(LENGTH);
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_CUDA, NULL), ROWSCAN_OK);
  must_refuse(rowscan_scan_host(context, ROWSCAN_PROBLEM(.rank = 1, .shape = ((int64_t[]){LENGTH}),
                                                         .input = {.data = x}, .output = {.data = y})),
              "field 'input': ");
  rowscan_close(context);
}
END_TEST

static rowscan_cache_counts counts_of(rowscan_context *context) {
  rowscan_cache_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(rowscan_cache_info_get(context, &info), ROWSCAN_OK);
  return info.counts;
}

static char *source;

/* The target of the PTX of a plan's first module, whose source is kept, and whether it has a CUBIN. */
static char *target_of(rowscan_context *context, bool *cubin) {
  rowscan_plan *plan;
  rowscan_module_info module = ROWSCAN_INFO(module);
  ck_assert_msg(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = LENGTH)) == ROWSCAN_OK, "%s",
                rowscan_last_error());
  ck_assert_int_eq(rowscan_plan_module(plan, 0, &module), ROWSCAN_OK);
  const char *target = strstr(module.ptx, ".target ");
  ck_assert_ptr_nonnull(target);
  char *copy = path_of("%.*s", (int)strcspn(target + 8, "\n"), target + 8);
  *cubin = module.cubin != NULL;
  source = path_of("%s", module.source);
  ck_assert_int_eq(module.cubin != NULL, module.cubin_bytes != 0);
  rowscan_plan_destroy(plan);
  return copy;
}

static const rowscan_engine both[] = {ROWSCAN_ENGINE_AUTO, ROWSCAN_ENGINE_CUDA};

START_TEST(a_gpu_newer_than_nvrtc_has_ptx) {
  char *cache = fresh();
  rowscan_context *context;
  bool cubin;
  setenv("SIMT_ARCH", "120", 1);
  setenv("SIMT_NVRTC_NEWEST", "90", 1);
  setenv("ROWSCAN_NVRTC", nvrtc_file(), 1);
  load_driver();
  for (int again = 0; again < 2; again++) {
    ck_assert_int_eq(open_as(&context, both[_i], cache), ROWSCAN_OK);
    ck_assert_str_eq(info_of(context).arch, "sm_120");
    scan_ones(context);
    ck_assert_str_eq(target_of(context, &cubin), "sm_90");
    ck_assert(!cubin);
    ck_assert_int_eq(counts_of(context).compiles > 0, !again);
    ck_assert_int_eq(counts_of(context).rejected, 0);
    ck_assert_int_eq(warnings, 0);
    rowscan_close(context);
  }
  /* For another architecture than the GPU's nothing is made up. */
  rowscan_plan *plan;
  ck_assert_int_eq(open_as(&context, both[_i], cache), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_plan_compile(&plan, context, ROWSCAN_SPEC(.length = 5), "sm_121"), ROWSCAN_NO_COMPILER);
  rowscan_close(context);
}
END_TEST

/* Another build, whose newest architecture another variable says. */
static void copy_nvrtc(const char *to) {
  static const char note[] = {NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0}, name[] = "SIMT_NVRTC_NEWEST";
  static char bytes[4 << 20];
  FILE *file = fopen(nvrtc_file(), "rb");
  ck_assert_ptr_nonnull(file);
  size_t count = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  ck_assert_uint_lt(count, sizeof bytes);
  char *id = memmem(bytes, count, note, sizeof note), *variable = memmem(bytes, count, name, sizeof name);
  ck_assert(id && variable);
  id[sizeof note] ^= 1;
  memcpy(variable, "SIMT_NVRTC_OLDEST", sizeof name);
  spill(to, bytes, count);
}

/* What an NVRTC made that knows the GPU is better than PTX. */
START_TEST(what_a_newer_nvrtc_made_comes_first) {
  char *cache = fresh(), *old = path_of("%s/libnvrtc.so.%s", parent_of(cache), _i ? "11.2" : "13");
  rowscan_context *context;
  rowscan_plan *plan;
  bool cubin;
  setenv("SIMT_ARCH", "120", 1);
  setenv("ROWSCAN_NVRTC", nvrtc_file(), 1);
  load_driver();
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_HOST, cache), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_plan_compile(&plan, context, ROWSCAN_SPEC(.length = LENGTH), "sm_120"), ROWSCAN_OK);
  rowscan_plan_destroy(plan);
  rowscan_close(context);

  copy_nvrtc(old);
  setenv("ROWSCAN_NVRTC", old, 1);
  setenv("SIMT_NVRTC_VERSION", _i ? "11080" : "13000", 1);
  setenv("SIMT_NVRTC_OLDEST", "90", 1);
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_AUTO, cache), ROWSCAN_OK);
  ck_assert_str_eq(target_of(context, &cubin), "sm_120");
  ck_assert(cubin);
  ck_assert_int_eq(counts_of(context).compiles, 0);
  rowscan_close(context);
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_AUTO, NULL), ROWSCAN_OK);
  scan_ones(context);
  ck_assert_str_eq(target_of(context, &cubin), "sm_90");
  ck_assert(!cubin);
  rowscan_close(context);

  /* Before CUDA 12 there are no bulk copies, and an sm_80 has more shared memory. */
  char *expected;
  ck_assert_int_eq(rowscan_source(ROWSCAN_SPEC(.length = LENGTH), _i ? "sm_86" : "sm_120", 0, &expected), ROWSCAN_OK);
  ck_assert_str_eq(source, expected);
  rowscan_free(expected);
}
END_TEST

/* ---- how it ends ------------------------------------------------------------------------------------------------- */

/* The simulated driver ends the process where a module is unloaded under a launch. */
START_TEST(closing_waits_for_what_is_queued) {
  enum { COUNT = 5 };
  rowscan_context *context;
  float *x[COUNT];
  setenv("SIMT_ASYNC", "1", 1);
  setenv("ROWSCAN_NVRTC", nvrtc_file(), 1);
  load_driver();
  ck_assert_int_eq(open_as(&context, ROWSCAN_ENGINE_CUDA, NULL), ROWSCAN_OK);
  for (int i = 0; i < COUNT; i++) {
    int64_t shape[] = {100 + i % 2};
    x[i] = device_floats(200);
    for (int k = 0; k < 200; k++)
      x[i][k] = 1;
    ck_assert_int_eq(rowscan_scan(context,
                                  ROWSCAN_PROBLEM(.rank = 1, .shape = shape, .input = {x[i], ROWSCAN_F32, NULL},
                                                  .output = {x[i], ROWSCAN_F32, NULL}),
                                  NULL),
                     ROWSCAN_OK);
  }
  rowscan_close(context);
  for (int i = 0; i < COUNT; i++) {
    ck_assert_float_eq(x[i][99], 100);
    ck_assert_float_eq(x[i][199], 1);
  }
}
END_TEST

/* Its threads are in it. */
START_TEST(the_library_stays_when_it_is_closed) {
  const char *command = getenv("ROWSCAN");
  char *library = path_of("%s/.libs/librowscan.so", command ? parent_of(command) : ".");
  enum { SIZE = 1 << 20 };
  if (access(library, F_OK) != 0) /* built without */
    return;
  rowscan_context *context[2];
  float *x = calloc(SIZE, sizeof *x);
  for (int i = 0; i < 2; i++) {
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    __typeof__(&rowscan_open) open_it;
    __typeof__(&rowscan_close) close_it;
    __typeof__(&rowscan_scan_host) scan;
    ck_assert_msg(loaded != NULL, "%s", dlerror());
    *(void **)&open_it = dlsym(loaded, "rowscan_open");
    *(void **)&close_it = dlsym(loaded, "rowscan_close");
    *(void **)&scan = dlsym(loaded, "rowscan_scan_host");
    ck_assert_int_eq(open_it(&context[i], ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 4, .cache_off = 1)),
                     ROWSCAN_OK);
    for (int k = 0; k <= i; k++)
      ck_assert_int_eq(
          scan(context[k], ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = ((int64_t[]){1024, SIZE / 1024}),
                                           .input = {x, ROWSCAN_F32, NULL}, .output = {x, ROWSCAN_F32, NULL})),
          ROWSCAN_OK);
    if (i == 1) {
      close_it(context[0]);
      close_it(context[1]);
    }
    ck_assert_int_eq(dlclose(loaded), 0);
    ck_assert(dlopen(library, RTLD_NOW | RTLD_NOLOAD) != NULL);
  }
  free(x);
}
END_TEST

static void no_choice(void) {
  static const char *const variables[] = {"ROWSCAN_CACHE", "ROWSCAN_CACHE_DIR", "ROWSCAN_LOG", "SIMT_FAIL",
                                          "SIMT_ARCH"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    unsetenv(variables[i]);
  setenv("ROWSCAN_CACHE_PACKS", "off", 1);
  setenv("ROWSCAN_NVRTC", nvrtc_file(), 1);
}

int main(void) {
  const char *dir = getenv("RS_SIMT");
  char driver[PATH_MAX];
  snprintf(driver, sizeof driver, "%s/libcuda.so.1", dir ? dir : "");
  if (!dir || access(driver, F_OK) != 0) {
    printf("skipped: there is no simulated GPU (RS_SIMT)\n");
    return 77;
  }
  lot_tell();
  Suite *suite = suite_create("engine");
  TCase *cases = add_case(suite, "auto");
  enum { START_ERRORS = sizeof start_errors / sizeof *start_errors };
  tcase_add_checked_fixture(cases, no_choice, NULL);
  tcase_add_test(cases, a_gpu_that_can_serve_does);
  tcase_add_test(cases, no_gpu_is_no_reason_to_warn);
  lot_add_loop_test(cases, a_driver_that_does_not_start_is_told, 0, START_ERRORS);
  lot_add_loop_test(cases, a_driver_that_does_not_start_fails_who_wants_it, 0, START_ERRORS);
  lot_add_loop_test(cases, a_gpu_of_another_process_is_told, 0, 3);
  lot_add_loop_test(cases, a_gpu_of_another_process_fails_who_wants_it, 0, 3);
  tcase_add_test(cases, an_old_gpu_is_told);
  tcase_add_test(cases, the_host_refuses_what_is_for_a_gpu);
  tcase_add_test(cases, a_scan_of_host_memory_refuses_that_of_a_gpu);
  tcase_add_test(cases, a_gpu_without_a_compiler_is_told);
  lot_add_loop_test(cases, a_gpu_newer_than_nvrtc_has_ptx, 0, 2);
  lot_add_loop_test(cases, what_a_newer_nvrtc_made_comes_first, 0, 2);
  tcase_add_test(cases, closing_waits_for_what_is_queued);
  tcase_add_test(cases, the_library_stays_when_it_is_closed);
  return run_suite(suite);
}
