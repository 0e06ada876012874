/*
 * test_load.c - a kernel's way into the driver: the CUBIN, else the PTX, else a compile, else the message
 * SPDX-License-Identifier: MIT
 *
 * A driver of our own making, which takes what the fake compiler makes and rejects what it is told to. An entry that it
 * rejects whatever happens is one with a right key and right digest, but with other bytes: as from another machine.
 */
#include "../support/cache_help.h"

#include "../support/fake_nvrtc.h"
#include "measure/copier.h"
#include "run/context.h"
#include "run/plan.h"

/* ---- the driver -------------------------------------------------------------------------------------------------- */

static struct {
  CUresult cubin, ptx; /* what is said of sound ones */
  CUresult function;   /* of the kernels in a CUBIN */
  CUresult attribute;  /* of the shared memory they want */
  int cubins, ptxs, others, alive;
  bool is_ptx; /* the last that was loaded */
  int functions;
  char *spoils;                        /* a file, when a CUBIN is loaded */
  CUresult clear, wait, event, memory; /* what is said of scratch memory */
  int allocated, clearing, freed;      /* of it: pieces; told to be cleared and not waited for; */
  int mode;                            /* of captures */
} driver;
static char clearing; /* the context's stream */

static CUresult get_current(CUcontext *context) {
  *context = (CUcontext)&driver;
  return CUDA_SUCCESS;
}

static CUresult release_context(CUdevice device) {
  (void)device;
  return CUDA_SUCCESS;
}

static void spoil(void) {
  if (driver.spoils)
    spill(driver.spoils, "nonsense", 8);
  driver.spoils = NULL;
}

static CUresult load_data(CUmodule *module, const void *image) {
  CUresult result = CUDA_ERROR_INVALID_IMAGE;
  ck_assert_int_eq(driver.mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  driver.is_ptx = strncmp(image, "source: ", 8) == 0;
  if (driver.is_ptx)
    driver.ptxs++, result = driver.ptx;
  else if (memcmp(image, "\177ELF", 4) == 0)
    driver.cubins++, result = driver.cubin, spoil();
  else
    driver.others++;
  driver.alive += !result;
  *module = result ? NULL : (CUmodule)&driver;
  return result;
}

static CUresult unload(CUmodule module) {
  ck_assert_ptr_eq(module, (CUmodule)&driver);
  ck_assert_int_eq(driver.mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  driver.alive--;
  return CUDA_SUCCESS;
}

static CUresult get_function(CUfunction *function, CUmodule module, const char *name) {
  ck_assert(module && *name);
  driver.functions++;
  *function = (CUfunction)&driver;
  return driver.is_ptx ? CUDA_SUCCESS : driver.function;
}

static CUresult set_attribute(CUfunction function, int attribute, int value) {
  ck_assert(function && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value > 0);
  return driver.attribute;
}

static CUresult alloc(CUdeviceptr *to, size_t bytes) {
  ck_assert_uint_gt(bytes, 0);
  ck_assert_int_eq(driver.mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  driver.allocated += !driver.memory;
  *to = 4096;
  return driver.memory;
}

static CUresult free_memory(CUdeviceptr from) {
  ck_assert(from == 4096 && !driver.clearing);
  ck_assert_int_eq(driver.mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  driver.freed++;
  return CUDA_SUCCESS;
}

static CUresult clear(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  ck_assert(to == 4096 && value == 0 && bytes > 0 && stream == (CUstream)(void *)&clearing);
  driver.clearing += !driver.clear;
  return driver.clear;
}

static CUresult wait_for(CUstream stream) {
  ck_assert_ptr_eq(stream, (CUstream)(void *)&clearing);
  driver.clearing = 0;
  return driver.wait;
}

static CUresult create_event(CUevent *event, unsigned flags) {
  ck_assert_uint_eq(flags, CU_EVENT_DISABLE_TIMING);
  *event = (CUevent)&driver;
  return driver.event;
}

static CUresult destroy_event(CUevent event) {
  ck_assert_ptr_eq(event, (CUevent)&driver);
  return CUDA_SUCCESS;
}

/* Loading and unloading, and no more than that, is relaxed. */
static CUresult exchange_mode(int *mode) {
  int before = driver.mode;
  driver.mode = *mode;
  *mode = before;
  return CUDA_SUCCESS;
}

static CUresult destroy_stream(CUstream stream) {
  ck_assert_ptr_eq(stream, (CUstream)(void *)&clearing);
  return CUDA_SUCCESS;
}

static CUresult error_name(CUresult error, const char **name) {
  *name = path_of("CUDA_ERROR_%d", error);
  return CUDA_SUCCESS;
}

static CUresult synchronize_context(void) {
  return CUDA_SUCCESS;
}

static const rs_cuda cuda = {.cuCtxGetCurrent = get_current,
                             .cuCtxSynchronize = synchronize_context,
                             .cuDevicePrimaryCtxRelease_v2 = release_context,
                             .cuThreadExchangeStreamCaptureMode = exchange_mode,
                             .cuModuleLoadData = load_data,
                             .cuModuleUnload = unload,
                             .cuModuleGetFunction = get_function,
                             .cuFuncSetAttribute = set_attribute,
                             .cuMemAlloc_v2 = alloc,
                             .cuMemFree_v2 = free_memory,
                             .cuMemsetD8Async = clear,
                             .cuStreamSynchronize = wait_for,
                             .cuStreamDestroy_v2 = destroy_stream,
                             .cuEventCreate = create_event,
                             .cuEventDestroy_v2 = destroy_event,
                             .cuGetErrorName = error_name,
                             .cuGetErrorString = error_name,
                             .version = 13000};

static log_book book;

/* ---- what is loaded ---------------------------------------------------------------------------------------------- */

/* id: of the compiler; NULL: there is none. */
static rowscan_context *open_gpu(const char *dir, const char *packs, bool only, const char *id) {
  rowscan_context *context = NULL;
  const rowscan_options *options =
      ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_dir = dir, .cache_packs = packs,
                      .cache_only = only, .nvrtc = id ? NULL : "/no/such/libnvrtc.so");
  ck_assert_int_eq(rs_context_open(&context, options, id ? make_compiler_of(13000, id) : NULL), ROWSCAN_OK);
  context->engine = ROWSCAN_ENGINE_CUDA;
  context->gpu.device =
      (rs_device){.cuda = &cuda, .context = (CUcontext)&driver, .retained = true, .arch = 90, .multiprocessors = 4};
  context->gpu.device.memory = (rs_device_memory){.cuda = &cuda, .stream = (CUstream)(void *)&clearing};
  return context;
}

static rowscan_status load_once(rowscan_context *context) {
  rowscan_plan *plan = NULL;
  rowscan_status status = rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 100));
  ck_assert_int_eq(driver.alive, plan != NULL);
  ck_assert_int_eq(driver.mode, 0);
  rowscan_plan_destroy(plan);
  ck_assert_int_eq(driver.alive, 0);
  return status;
}

/* The facts must be those of an entry: the parts are of build.c. */
static int change(void *user, const rs_store_item *item) {
  static const char facts[] =
      "registers=1\nshared_bytes=1\nlocal_bytes=1\nspill_bytes=1\nfewer_blocks=0\ncompile_us=1\n";
  ck_assert(rs_store_put(user, item->key,
                         (rs_part[RS_STORE_PARTS]){{"other ptx", 9}, {"other cubin", 11}, {facts, sizeof facts - 1}}));
  return 1;
}

/* Fills a new directory with the kernel, sound or of other bytes. */
static char *fill(bool sound) {
  char *dir = fresh();
  rowscan_context *context = open_gpu(dir, "off", false, compiler_id);
  driver = (__typeof__(driver)){0};
  ck_assert_int_eq(load_once(context), ROWSCAN_OK);
  rs_store *store = rs_builder_store(context->gpu.builder);
  ck_assert(sound || rs_store_visit(store, change, store));
  ck_assert_int_eq(entries_in(store), 1);
  rowscan_close(context);
  return dir;
}

static char *pack_of(const char *dir) {
  char *file = fresh();
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  rowscan_context *context = open_gpu(dir, "off", false, compiler_id);
  ck_assert_int_eq(rowscan_cache_export(context, file, NULL, &exported), ROWSCAN_OK);
  rowscan_close(context);
  return file;
}

static rowscan_cache_counts counts_of(rowscan_context *context) {
  rowscan_cache_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(rowscan_cache_info_get(context, &info), ROWSCAN_OK);
  return info.counts;
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

typedef enum mode { ON, ONLY, NO_NVRTC } mode;

static const struct {
  const char *what;
  bool sound; /* the entry */
  CUresult cubin, ptx, function;
  mode how;
  rowscan_status status;
  int compiles, cubins, ptxs, others, rejected;
  const char *message;
} cases[] = {
    {"the CUBIN", true, 0, CUDA_ERROR_INVALID_PTX, 0, ON, ROWSCAN_OK, 0, 1, 0, 0, 0, NULL},
    {"PTX newer than the driver", true, 0, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 0, NO_NVRTC, ROWSCAN_OK, 0, 1, 0, 0, 0,
     NULL},
    {"a CUBIN for another GPU", true, CUDA_ERROR_NO_BINARY_FOR_GPU, 0, 0, ON, ROWSCAN_OK, 0, 1, 1, 0, 0, NULL},
    {"the same, never to compile", true, CUDA_ERROR_NO_BINARY_FOR_GPU, 0, 0, ONLY, ROWSCAN_OK, 0, 1, 1, 0, 0, NULL},
    {"a CUBIN that loads lazily", true, 0, 0, CUDA_ERROR_NO_BINARY_FOR_GPU, ON, ROWSCAN_OK, 0, 1, 1, 0, 0, NULL},
    {"neither", true, CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 0, ON, ROWSCAN_CUDA_FAILED, 1,
     2, 2, 0, 1, "cuModuleLoadData of a compiled kernel failed: CUDA_ERROR_222"},
    {"nothing in it", true, 0, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_NOT_FOUND, ON, ROWSCAN_CUDA_FAILED, 1, 2, 2, 0, 1,
     "CUDA_ERROR_218"},
    {"no memory", true, CUDA_ERROR_OUT_OF_MEMORY, 0, 0, ON, ROWSCAN_OUT_OF_MEMORY, 0, 1, 0, 0, 0, "CUDA_ERROR_2 "},
    {"an entry of other bytes", false, 0, 0, 0, ON, ROWSCAN_OK, 1, 1, 0, 2, 1, NULL},
    {"the same, its CUBIN rejected", false, CUDA_ERROR_INVALID_IMAGE, 0, 0, ON, ROWSCAN_OK, 1, 1, 1, 2, 1, NULL},
    {"the same, never to compile", false, 0, 0, 0, ONLY, ROWSCAN_NOT_CACHED, 0, 0, 0, 2, 1,
     "row_rank=1 (the driver rejected an entry of the cache with CUDA error 200)"},
    {"the same, without NVRTC", false, 0, 0, 0, NO_NVRTC, ROWSCAN_NO_COMPILER, 0, 0, 0, 2, 1,
     "(the driver rejected an entry of the cache with CUDA error 200)"},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef enum place { DIRECTORY, PACK, PACK_ALONE, PLACES } place;

static void expect_case(int i, rowscan_context *context) {
  driver = (__typeof__(driver)){.cubin = cases[i].cubin, .ptx = cases[i].ptx, .function = cases[i].function};
  told->compiles = 0;
  rowscan_status status = load_once(context);
  ck_assert_msg(status == cases[i].status, "%s: %s: %s", cases[i].what, rowscan_status_name(status),
                rowscan_last_error());
  ck_assert_msg(!cases[i].message || strstr(rowscan_last_error(), cases[i].message), "%s: %s", cases[i].what,
                rowscan_last_error());
  ck_assert_msg(!cases[i].message || !strstr(rowscan_last_error(), "()"), "%s: %s", cases[i].what,
                rowscan_last_error());
  ck_assert_int_eq(told->compiles, cases[i].compiles);
  ck_assert_int_eq(driver.cubins, cases[i].cubins);
  ck_assert_int_eq(driver.ptxs, cases[i].ptxs);
  ck_assert_int_eq(driver.others, cases[i].others);
  rowscan_cache_counts counts = counts_of(context);
  ck_assert_int_eq(counts.rejected, cases[i].rejected);
  ck_assert_int_eq(counts.compiles, cases[i].compiles);
  ck_assert_int_eq(counts.hits, 1);
  ck_assert_int_eq(counts.misses, 0);
}

/* What served once does so again, in the same context and in the next, with no compile and nothing rejected. */
static void expect_healed(int i, rowscan_context *context, const char *dir, const char *packs, place where) {
  driver.others = told->compiles = 0;
  ck_assert_int_eq(load_once(context), ROWSCAN_OK);
  rowscan_close(context);
  if (where != PACK_ALONE || cases[i].sound) {
    context = open_gpu(dir, packs, true, compiler_id);
    ck_assert_int_eq(load_once(context), ROWSCAN_OK);
    rowscan_close(context);
  }
  ck_assert_int_eq(driver.others, 0);
  ck_assert_int_eq(told->compiles, 0);
}

/* _i: the case, and where the entry is. */
/*
 * _i: the GPU, and whether the pack has PTX. Kernels for any length of the newest architecture serve its generation,
 * and by their PTX GPUs that are newer than all.
 */
START_TEST(a_pack_serves_newer_gpus) {
  static const int archs[] = {120, 121, 130};
  int arch = archs[_i / 2];
  bool with_ptx = _i % 2, newer = arch == 130;
  char *dir = fresh(), *file = fresh();
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  rowscan_plan *plan = NULL;
  driver = (__typeof__(driver)){0};
  rowscan_context *context = open_gpu(dir, "off", false, compiler_id);
  ck_assert(!rowscan_plan_compile(&plan, context, ROWSCAN_SPEC(.length = ROWSCAN_ANY_LENGTH), "sm_121"));
  rowscan_plan_destroy(plan);
  ck_assert(!rowscan_cache_export(context, file, ROWSCAN_CACHE_FILTER(.without_ptx = !with_ptx), &exported));
  rowscan_close(context);
  told->compiles = 0;
  context = open_gpu(fresh(), file, false, NULL);
  context->gpu.device.arch = arch;
  driver.cubin = newer ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_SUCCESS;
  rowscan_status status = rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = ROWSCAN_ANY_LENGTH));
  ck_assert_int_eq(status, newer && !with_ptx ? ROWSCAN_NO_COMPILER : ROWSCAN_OK);
  ck_assert_int_eq(driver.cubins, 1);
  ck_assert_int_eq(driver.ptxs, newer && with_ptx);
  ck_assert_int_eq(told->compiles, 0);
  if (!status)
    rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

START_TEST(what_the_driver_says_is_heard) {
  int i = _i / PLACES;
  place where = (place)(_i % PLACES);
  char *dir = fill(cases[i].sound), *packs = path_of("off");
  if (where != DIRECTORY) {
    packs = pack_of(dir);
    dir = fresh();
  }
  if (where == PACK_ALONE)
    spill(dir, "", 0); /* no directory can be there */
  rowscan_context *context = open_gpu(dir, packs, cases[i].how == ONLY, cases[i].how == NO_NVRTC ? NULL : compiler_id);
  expect_case(i, context);
  if (cases[i].status == ROWSCAN_OK)
    expect_healed(i, context, dir, packs, where);
  else
    rowscan_close(context);
}
END_TEST

/* The copy kernel that a measurement compares with is loaded as a plan's kernels are. */
START_TEST(a_copy_kernel_is_compiled_once_more) {
  rowscan_context *context = open_gpu(fresh(), "off", false, compiler_id);
  rs_store *store = rs_builder_store(context->gpu.builder);
  rs_box box = rs_box_of_bytes(4096);
  rs_copier copier;
  driver = (__typeof__(driver)){.mode = CU_STREAM_CAPTURE_MODE_RELAXED}; /* nothing is captured beside it */
  for (int again = 0; again < 4; again++) {
    int others = driver.others;
    ck_assert_msg(rs_copier_open(&copier, context, &box) == ROWSCAN_OK, "%s", rowscan_last_error());
    rs_copier_close(&copier);
    ck_assert_int_eq(driver.alive, 0);
    ck_assert_int_eq(driver.others - others, again == 2 ? 2 : 0); /* its CUBIN and PTX */
    ck_assert_int_eq(told->compiles, again < 2 ? 1 : 2);
    ck_assert(again != 1 || rs_store_visit(store, change, store));
  }
  ck_assert_int_eq(counts_of(context).rejected, 1);
  driver.cubin = driver.ptx = CUDA_ERROR_INVALID_IMAGE;
  ck_assert_int_eq(rs_copier_open(&copier, context, &box), ROWSCAN_CUDA_FAILED);
  ck_assert_int_eq(told->compiles, 3);
  rs_copier_close(&copier);
  rowscan_close(context);
}
END_TEST

/* What was compiled just now is not compiled again. */
START_TEST(a_new_kernel_that_is_rejected_is_reported) {
  rowscan_context *context = open_gpu(fresh(), "off", false, compiler_id);
  driver = (__typeof__(driver)){.cubin = CUDA_ERROR_INVALID_IMAGE, .ptx = CUDA_ERROR_UNSUPPORTED_PTX_VERSION};
  ck_assert_int_eq(load_once(context), ROWSCAN_CUDA_FAILED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "CUDA_ERROR_222"));
  ck_assert(told->compiles == 1 && driver.cubins == 1 && driver.ptxs == 1 && counts_of(context).rejected == 0);
  rowscan_close(context);
}
END_TEST

/* Nor is it asked for again: each plan fails at once and in the same words. _i: it was in the cache before. */
START_TEST(a_driver_is_not_asked_again) {
  char *dir = _i ? fill(true) : fresh();
  rowscan_context *context = open_gpu(dir, "off", false, compiler_id);
  context->log = (rs_log){note, &book};
  driver = (__typeof__(driver)){.cubin = CUDA_ERROR_NO_BINARY_FOR_GPU, .ptx = CUDA_ERROR_UNSUPPORTED_PTX_VERSION};
  told->compiles = 0;
  ck_assert_int_eq(load_once(context), ROWSCAN_CUDA_FAILED);
  ck_assert_ptr_nonnull(
      strstr(book.last, "sm_90: the driver rejected a kernel that was just compiled; it is not tried again"));
  char *message = path_of("%s", rowscan_last_error());
  rowscan_cache_counts before = counts_of(context);
  ck_assert(told->compiles == 1 && before.compiles == 1 && before.rejected == _i);
  driver.cubins = driver.ptxs = 0;
  for (int again = 0; again < 3; again++) {
    (void)!rowscan_plan_create(&(rowscan_plan *){NULL}, context, ROWSCAN_SPEC(.length = -2)); /* another last error */
    ck_assert_int_eq(load_once(context), ROWSCAN_CUDA_FAILED);
    ck_assert_str_eq(rowscan_last_error(), message);
    ck_assert_ptr_nonnull(strstr(book.last, "sm_90: not tried again: the driver rejected it"));
  }
  rowscan_cache_counts after = counts_of(context);
  ck_assert_mem_eq(&before, &after, sizeof after);
  ck_assert(told->compiles == 1 && driver.cubins == 0 && driver.ptxs == 0);

  /* To look at it is another matter, and so are other kernels, and other contexts. */
  rowscan_plan *plan;
  ck_assert_int_eq(rowscan_plan_compile(&plan, context, ROWSCAN_SPEC(.length = 100), "sm_90"), ROWSCAN_OK);
  rowscan_plan_destroy(plan);
  driver.cubin = CUDA_SUCCESS;
  ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 101)), ROWSCAN_OK);
  rowscan_plan_destroy(plan);
  ck_assert_int_eq(load_once(context), ROWSCAN_CUDA_FAILED);
  rowscan_close(context);
  context = open_gpu(dir, "off", false, compiler_id);
  ck_assert_int_eq(load_once(context), ROWSCAN_OK);
  rowscan_close(context);
}
END_TEST

/* What may be the moment's fault is no reject: the next plan tries again. */
START_TEST(a_passing_failure_is_not_remembered) {
  static const CUresult passing[] = {CUDA_ERROR_OUT_OF_MEMORY, 700 /* illegal address */, 900 /* capturing */,
                                     999 /* unknown */};
  rowscan_context *context = open_gpu(fresh(), "off", false, compiler_id);
  driver = (__typeof__(driver)){.cubin = passing[_i], .ptx = passing[_i]};
  ck_assert_int_eq(load_once(context), _i ? ROWSCAN_CUDA_FAILED : ROWSCAN_OUT_OF_MEMORY);
  driver.cubin = CUDA_SUCCESS;
  ck_assert_int_eq(load_once(context), ROWSCAN_OK);
  rowscan_close(context);
}
END_TEST

START_TEST(a_kernel_that_cannot_have_its_shared_memory_is_unloaded) {
  rowscan_context *context = open_gpu(fresh(), "off", false, compiler_id);
  const rowscan_spec *spec = ROWSCAN_SPEC(.length = 65536, .regime = ROWSCAN_REGIME_LONG);
  rowscan_plan *plan = NULL;
  driver = (__typeof__(driver)){.attribute = 1 /* invalid value */};
  ck_assert_int_eq(rowscan_plan_create(&plan, context, spec), ROWSCAN_CUDA_FAILED);
  ck_assert(driver.cubins == 1 && driver.alive == 0);
  driver.attribute = CUDA_SUCCESS;
  ck_assert_int_eq(rowscan_plan_create(&plan, context, spec), ROWSCAN_OK);
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

static const struct {
  rowscan_spec spec;
  int kernels;
} plans[] = {{{.length = 100}, 4},
             {{.length = 4096}, 4},
             {{.length = 32768}, 7},
             {{.length = 65536}, 7},
             {{.length = 98304}, 5},
             {{.length = 65536, .in_type = ROWSCAN_BF16}, 7},
             {{.length = 1 << 30}, 4},
             {{.length = 65536, .regime = ROWSCAN_REGIME_LONG}, 4},
             {{.length = 65536, .layout = ROWSCAN_LAYOUT_COLUMNS}, 10}};
enum { PLANS = sizeof plans / sizeof *plans };

/* Compiled, loaded and kept so far, since the driver was cleared. */
static void expect_made(rowscan_context *context, int kernels) {
  ck_assert_int_eq(told->compiles, kernels);
  ck_assert_int_eq(driver.cubins, kernels);
  ck_assert_int_eq(driver.functions, kernels);
  ck_assert_int_eq(driver.alive, kernels);
  ck_assert_int_eq(driver.ptxs, 0);
  ck_assert_int_eq(entries_in(rs_builder_store(context->gpu.builder)), kernels);
}

/* A plan has one kernel when it is made, and each other one when it is asked for, once. */
START_TEST(kernels_are_made_one_by_one) {
  rowscan_context *context = open_gpu(fresh(), "off", false, compiler_id);
  rowscan_spec spec = plans[_i].spec;
  rowscan_plan *plan;
  spec.size = sizeof spec;
  driver = (__typeof__(driver)){0};
  ck_assert_int_eq(rowscan_plan_create(&plan, context, &spec), ROWSCAN_OK);
  expect_made(context, 1);
  rowscan_plan_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(rowscan_plan_info_get(plan, &info), ROWSCAN_OK);
  ck_assert_int_eq(info.modules, plans[_i].kernels);
  expect_made(context, 1);
  for (int i = 0; i < info.modules; i++)
    for (int again = 0; again < 2; again++) {
      rowscan_module_info module = ROWSCAN_INFO(module);
      ck_assert_int_eq(rowscan_plan_module(plan, i, &module), ROWSCAN_OK);
      ck_assert_ptr_nonnull(strstr(module.source, path_of(" rowscan_%s(", module.kernel)));
      expect_made(context, i + 1);
    }
  rowscan_module_info none = ROWSCAN_INFO(none);
  ck_assert_int_eq(rowscan_plan_module(plan, info.modules, &none), ROWSCAN_BAD_ARGUMENT);
  ck_assert_str_eq(rowscan_last_error(),
                   path_of("field 'module': %d, but the plan has %d modules", info.modules, info.modules));
  rowscan_plan_destroy(plan);
  ck_assert_int_eq(driver.alive, 0);
  rowscan_close(context);
}
END_TEST

START_TEST(all_kernels_at_once) {
  rowscan_context *context = open_gpu(fresh(), "off", false, compiler_id);
  rowscan_spec spec = plans[_i].spec;
  rowscan_plan *plan;
  spec.size = sizeof spec;
  driver = (__typeof__(driver)){0};
  ck_assert_int_eq(rowscan_plan_create(&plan, context, &spec), ROWSCAN_OK);
  for (int again = 0; again < 2; again++) {
    ck_assert_int_eq(rowscan_plan_prepare(plan, NULL), ROWSCAN_OK);
    expect_made(context, plans[_i].kernels);
  }
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

/* Rows that begin anywhere, and few: their kernel only, before it is run. What fails is tried again. */
START_TEST(a_kernel_is_made_for_its_rows) {
  rowscan_context *context = open_gpu(fresh(), "off", false, compiler_id);
  rowscan_plan *plan;
  char *at = (char *)4096;
  const rowscan_args args[] = {{.size = sizeof *args, .input = at + 4, .output = at, .rows = 1 << 20},
                               {.size = sizeof *args, .input = at, .output = at, .rows = 1}};
  driver = (__typeof__(driver)){0};
  ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 4096)), ROWSCAN_OK);
  for (int i = 0; i < 2; i++) {
    int compiles = told->compiles, alive = driver.alive;
    driver.cubin = driver.ptx = CUDA_ERROR_OUT_OF_MEMORY;
    ck_assert_int_eq(rowscan_plan_prepare(plan, &args[i]), ROWSCAN_OUT_OF_MEMORY);
    ck_assert_int_eq(driver.alive, alive);
    ck_assert_int_eq(driver.mode, 0);
    driver.cubin = driver.ptx = CUDA_SUCCESS;
    for (int again = 0; again < 2; again++) {
      ck_assert_int_eq(rowscan_plan_prepare(plan, &args[i]), ROWSCAN_OK);
      ck_assert_int_eq(told->compiles, compiles + 1);
      ck_assert_int_eq(driver.alive, alive + 1);
    }
  }
  ck_assert_int_eq(rowscan_plan_prepare(plan, ROWSCAN_ARGS(.rows = -1)), ROWSCAN_BAD_ARGUMENT);
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

static rowscan_plan *shared;

static void *prepare_shared(void *unused) {
  (void)unused;
  ck_assert_int_eq(rowscan_plan_prepare(shared, NULL), ROWSCAN_OK);
  return NULL;
}

START_TEST(threads_make_a_kernel_once) {
  enum { THREADS = 8 };
  rowscan_context *context = open_gpu(fresh(), "off", false, compiler_id);
  pthread_t threads[THREADS];
  driver = (__typeof__(driver)){0};
  ck_assert_int_eq(rowscan_plan_create(&shared, context, ROWSCAN_SPEC(.length = 32768)), ROWSCAN_OK);
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, prepare_shared, NULL), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  expect_made(context, 7);
  rowscan_plan_destroy(shared);
  rowscan_close(context);
}
END_TEST

/* Scratch memory is there, and clear, when runs that need it are prepared, not before: for one stream, or with no args
 * for all; and is not freed while it is cleared, whatever fails. What failed is tried again. _i: what does. */
START_TEST(scratch_memory_is_awaited) {
  static const __typeof__(driver) failing[] = {{0}, {.clear = 700}, {.wait = 700}, {.event = 2}, {.memory = 2}};
  static const char *const what[] = {"", "clearing a plan's workspace", "clearing a plan's workspace", "cuEventCreate",
                                     "cuMemAlloc of a plan's workspace"};
  rowscan_context *context = open_gpu(fresh(), "off", false, compiler_id);
  rowscan_plan *plan = NULL;
  char *at = (char *)4096;
  const rowscan_args none = {.size = sizeof none, .input = at, .output = at, .rows = 1 << 20},
                     some = {.size = sizeof some, .input = at, .output = at, .rows = 1};
  driver = failing[_i];
  ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 32768)), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_plan_prepare(plan, &none), ROWSCAN_OK);
  ck_assert_int_eq(driver.allocated, 0);
  rowscan_status status = rowscan_plan_prepare(plan, _i % 2 ? NULL : &some);
  ck_assert_int_eq(status, _i == 0 ? ROWSCAN_OK : _i >= 3 ? ROWSCAN_OUT_OF_MEMORY : ROWSCAN_CUDA_FAILED);
  ck_assert(driver.allocated == (_i < 3) && driver.clearing == 0 && driver.freed == (_i > 0 && _i < 3));
  ck_assert_msg(!_i || strstr(rowscan_last_error(), what[_i]), "%s", rowscan_last_error());
  ck_assert_int_eq(driver.mode, 0);
  driver.clear = driver.wait = driver.event = driver.memory = CUDA_SUCCESS;
  for (int again = 0; again < 2; again++) {
    ck_assert_int_eq(rowscan_plan_prepare(plan, &some), ROWSCAN_OK);
    ck_assert_int_eq(driver.allocated - driver.freed, 1);
  }
  for (int again = 0; again < 2; again++) {
    ck_assert_int_eq(rowscan_plan_prepare(plan, NULL), ROWSCAN_OK);
    ck_assert_int_eq(driver.allocated - driver.freed, RS_HOME_WORKSPACES + RS_RUN_WORKSPACES + 1); /* the little */
  }
  rowscan_plan_destroy(plan);
  ck_assert_int_eq(driver.freed, driver.allocated);
  rowscan_close(context);
}
END_TEST

/* One of rows that no kernel cuts over blocks. */
START_TEST(what_needs_no_scratch_memory_has_none) {
  rowscan_context *context = open_gpu(fresh(), "off", false, compiler_id);
  rowscan_plan *plan = NULL;
  driver = (__typeof__(driver)){0};
  ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 4096)), ROWSCAN_OK);
  ck_assert_int_eq(rowscan_plan_prepare(plan, NULL), ROWSCAN_OK);
  ck_assert_int_eq(driver.allocated, 0);
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

/* ---- PTX --------------------------------------------------------------------------------------------------------- */

static char *only_entry(rowscan_context *context) {
  visit_book all = {0};
  rs_store *store = rs_builder_store(context->gpu.builder);
  ck_assert(rs_store_visit(store, keep_visit, &all));
  ck_assert_int_eq(all.entries, 1);
  return path_of("%s/%s", rs_store_path(store), all.name);
}

/* Of the kernel that plan_create makes ready. */
static const rs_binary *main_binary(const rowscan_plan *plan) {
  return &plan->program.modules.of[rs_geometry_kernel(&plan->program.kernels.geometry, 0)].binary;
}

static rowscan_plan *plan_from_disk(rowscan_context *context) {
  rowscan_plan *plan = NULL;
  ck_assert_int_eq(rowscan_plan_create(&plan, context, ROWSCAN_SPEC(.length = 100)), ROWSCAN_OK);
  ck_assert(main_binary(plan)->cached);
  return plan;
}

static void expect_ptx(const rowscan_plan *plan, bool cached) {
  rowscan_module_info info = ROWSCAN_INFO(info), again = ROWSCAN_INFO(again);
  ck_assert_msg(rowscan_plan_module(plan, 0, &info) == ROWSCAN_OK, "%s", rowscan_last_error());
  ck_assert_int_eq(rowscan_plan_module(plan, 0, &again), ROWSCAN_OK);
  ck_assert(info.ptx == again.ptx && info.cubin == again.cubin && info.cached == cached);
  ck_assert(strstr(info.ptx, info.source) && strlen(info.ptx) == info.ptx_bytes);
  ck_assert(!memcmp(info.cubin, "\177ELF", 4) && info.cubin_bytes == main_binary(plan)->cubin_bytes);
}

/* It stays on disk until someone asks for it, and is the same then. _i: who asks gets it from a pack. */
START_TEST(ptx_is_read_when_it_is_asked_for) {
  char *dir = fill(true), *packs = path_of("off");
  if (_i) {
    packs = pack_of(dir);
    dir = fresh();
  }
  rowscan_context *context = open_gpu(dir, packs, false, compiler_id);
  int compiles = told->compiles;
  rowscan_plan *plan = plan_from_disk(context);
  ck_assert_int_eq(!main_binary(plan)->ptx, !_i);
  ck_assert_uint_gt(main_binary(plan)->ptx_bytes, 0);
  expect_ptx(plan, true);
  rowscan_plan_destroy(plan);
  ck_assert_int_eq(told->compiles, compiles);
  ck_assert(counts_of(context).hits == 1 && driver.ptxs == 0);
  rowscan_close(context);
}
END_TEST

/* _i: the entry is gone, or damaged meanwhile: 0, 1; and nothing may be compiled: 2, 3. */
START_TEST(ptx_that_is_lost_is_made_anew) {
  char *dir = fill(true);
  rowscan_context *context = open_gpu(dir, "off", _i >= 2, compiler_id);
  int compiles = told->compiles;
  rowscan_plan *plan = plan_from_disk(context);
  char *file = only_entry(context);
  rowscan_module_info info = ROWSCAN_INFO(info);
  ck_assert_int_eq(_i % 2 ? truncate(file, 100) : unlink(file), 0);
  if (_i < 2) {
    expect_ptx(plan, true);
    ck_assert_int_eq(told->compiles, compiles + 1);
    ck_assert_str_eq(only_entry(context), file);
  } else {
    ck_assert_int_eq(rowscan_plan_module(plan, 0, &info), ROWSCAN_NOT_CACHED);
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "disables compilation: sm_90, kernel aligned: op=sum in=f32"));
    ck_assert_int_eq(told->compiles, compiles);
  }
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}
END_TEST

/* The entry is damaged between its CUBIN, which the driver rejects, and its PTX: that is not loaded. */
START_TEST(damaged_ptx_is_never_loaded) {
  char *dir = fill(true);
  rowscan_context *context = open_gpu(dir, "off", false, compiler_id);
  int compiles = told->compiles;
  driver = (__typeof__(driver)){.cubin = CUDA_ERROR_NO_BINARY_FOR_GPU, .spoils = only_entry(context)};
  ck_assert_int_eq(load_once(context), ROWSCAN_OK);
  ck_assert(told->compiles == compiles + 1 && driver.cubins == 2 && driver.ptxs == 1 && driver.others == 0);
  ck_assert(counts_of(context).rejected == 1 && counts_of(context).damaged == 1);
  rowscan_close(context);
}
END_TEST

static rowscan_plan *asked;

static void *ask(void *ptx) {
  rowscan_module_info info = ROWSCAN_INFO(info);
  if (rowscan_plan_module(asked, 0, &info) == ROWSCAN_OK)
    *(const char **)ptx = info.ptx;
  return NULL;
}

START_TEST(all_threads_have_the_same_ptx) {
  enum { THREADS = 8 };
  char *dir = fill(true);
  rowscan_context *context = open_gpu(dir, "off", false, compiler_id);
  for (int round = 0; round < 50; round++) {
    pthread_t threads[THREADS];
    const char *ptx[THREADS] = {NULL};
    asked = plan_from_disk(context);
    for (int i = 0; i < THREADS; i++)
      ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, &ptx[i]), 0);
    for (int i = 0; i < THREADS; i++)
      pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
      ck_assert(ptx[i] && ptx[i] == ptx[0]);
    rowscan_plan_destroy(asked);
  }
  rowscan_close(context);
}
END_TEST

/* ---- rejects ----------------------------------------------------------------------------------------------------- */

/* So that a program that tries ever more kernels does not fill the memory with rejects. */
START_TEST(the_oldest_rejects_are_forgotten) {
  rs_rejects all;
  rs_rejects_init(&all);
  ck_assert(!rs_rejects_any(&all));
  for (int i = 0; i < RS_MOST_REJECTS + 10; i++)
    for (int twice = 0; twice < 2; twice++)
      rs_rejects_add(&all, path_of("key %d", i), rs_fail(ROWSCAN_CUDA_FAILED, "message %d", i));
  ck_assert_int_eq(all.count, RS_MOST_REJECTS);
  for (int i = 0; i < RS_MOST_REJECTS + 10; i++) {
    rowscan_status status = rs_rejects_ask(&all, path_of("key %d", i));
    ck_assert_int_eq(status, i < 10 ? ROWSCAN_OK : ROWSCAN_CUDA_FAILED);
    ck_assert(!status || strcmp(rowscan_last_error(), path_of("message %d", i)) == 0);
  }
  rs_rejects_free(&all);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("load");
  TCase *all = add_case(suite, "loading");
  tcase_add_checked_fixture(all, fresh_tally, NULL);
  tcase_add_loop_test(all, what_the_driver_says_is_heard, 0, CASES * PLACES);
  tcase_add_loop_test(all, a_pack_serves_newer_gpus, 0, 6);
  tcase_add_test(all, a_copy_kernel_is_compiled_once_more);
  tcase_add_test(all, a_new_kernel_that_is_rejected_is_reported);
  tcase_add_loop_test(all, a_driver_is_not_asked_again, 0, 2);
  tcase_add_loop_test(all, a_passing_failure_is_not_remembered, 0, 4);
  tcase_add_test(all, a_kernel_that_cannot_have_its_shared_memory_is_unloaded);
  tcase_add_loop_test(all, kernels_are_made_one_by_one, 0, PLANS);
  tcase_add_loop_test(all, all_kernels_at_once, 0, PLANS);
  tcase_add_test(all, a_kernel_is_made_for_its_rows);
  tcase_add_test(all, threads_make_a_kernel_once);
  tcase_add_loop_test(all, scratch_memory_is_awaited, 0, 5);
  tcase_add_test(all, what_needs_no_scratch_memory_has_none);
  tcase_add_loop_test(all, ptx_is_read_when_it_is_asked_for, 0, 2);
  tcase_add_loop_test(all, ptx_that_is_lost_is_made_anew, 0, 4);
  tcase_add_test(all, damaged_ptx_is_never_loaded);
  tcase_add_test(all, all_threads_have_the_same_ptx);
  tcase_add_test(all, the_oldest_rejects_are_forgotten);
  return run_suite(suite);
}
