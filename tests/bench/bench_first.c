/*
 * bench_first.c - one sample of a first call, and what is in it
 * SPDX-License-Identifier: MIT
 *
 * usage: bench_first nvrtc ARCH KERNEL SPEC  what NVRTC alone takes for the source of a kernel; -1: of all of a spec
 *        bench_first make ARCH ROWS SPEC     a plan to look at: no GPU is needed, and nothing is loaded or launched
 *        bench_first run gpu ROWS SPEC       a plan as the one-call form makes it, and the first launch
 *        bench_first hot gpu ROWS SPEC       and what calls take from there on
 *
 * For bench_first.py, which starts it anew for each sample and says where the cache is. ARCH: sm_90, or gpu for
 * that of the GPU. ROWS: how many rows to scan, or how many columns. KERNEL: as `run` and `make` print it. Prints "name
 * value" lines, times in milliseconds unless the name says nanoseconds. What is not part of a first call (context,
 * arrays) is done before the clock starts. Exit status 77 where there is no GPU.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "compile/compile.h"
#include "compile/kernels.h"
#include "gpu/program.h"
#include "run/plan.h"
#include "spec/arch.h"
#include "spec/spec.h"

enum { BURSTS = 200, CALLS = 100, CHECKED = 100 };

/* What the library's log tells of the time, by the words that it is told with. */
static struct {
  const char *name, *begin, *words;
  double ms;
  int times;
} phases[] = {{"find", "found ", " in ", 0, 0},
              {"dlopen", "loaded NVRTC", " in ", 0, 0},
              {"lookup", "sm_", ": not found in the cache in ", 0, 0},
              {"read", "sm_", ": read from the cache in ", 0, 0},
              {"compile", "sm_", ": compiled in ", 0, 0},
              {"keep", "sm_", "kept on disk in ", 0, 0},
              {"load", "sm_", ": loaded into the driver in ", 0, 0},
              {"scratch", "scratch memory", "allocated and cleared in ", 0, 0}};
enum { FIND, LOAD = 6, PHASES = sizeof phases / sizeof *phases };

static void listen(void *user, rowscan_log_level level, const char *message) {
  (void)user, (void)level;
  for (int i = 0; i < PHASES; i++) {
    const char *at = strstr(message, phases[i].words);
    if (at && strncmp(message, phases[i].begin, strlen(phases[i].begin)) == 0) {
      phases[i].ms += strtod(at + strlen(phases[i].words), NULL);
      phases[i].times++;
    }
  }
}

static void must(int error, const char *what) {
  if (!error)
    return;
  fprintf(stderr, "%s: %d: %s\n", what, error, rowscan_last_error());
  exit(1);
}

static rowscan_context *open_context(rowscan_engine engine) {
  rowscan_context *context;
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = engine, .log = listen))) {
    fprintf(stderr, "%s\n", rowscan_last_error());
    exit(engine == ROWSCAN_ENGINE_CUDA ? 77 : 1);
  }
  return context;
}

/* NVRTC must stay out of a process whose kernels are in the cache. */
static bool is_mapped(const char *name) {
  char line[4096];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  must(!maps, "/proc/self/maps");
  while (!found && fgets(line, sizeof line, maps))
    found = strstr(line, name) != NULL;
  fclose(maps);
  return found;
}

static void tell_plan(const rowscan_plan *plan, double ms) {
  int made = 0, compiled = 0;
  for (int kernel = 0; kernel < RS_KERNELS; kernel++) {
    made += plan->program.modules.of[kernel].built;
    compiled += plan->program.modules.of[kernel].built && !plan->program.modules.of[kernel].binary.cached;
  }
  printf("plan %.4f\nkernels %d\nmade %d\ncompiled %d\nloads %d\n", ms,
         rs_geometry_kernels(&plan->program.kernels.geometry), made, compiled, phases[LOAD].times);
  printf("mapped %d\n", is_mapped("libnvrtc"));
  for (int i = 0; i < PHASES; i++)
    printf("%s %.4f\n", phases[i].name, phases[i].ms);
}

/* ---- NVRTC alone ------------------------------------------------------------------------------------------------- */

/* As the library has it compiled, but for the facts, which it asks for besides. */
static double compile_alone(const rs_nvrtc_calls *calls, const char *source, int arch) {
  char option[64];
  const char *options[8] = {option}, *texts[64], *names[64];
  int count = 1;
  nvrtcProgram program;
  snprintf(option, sizeof option, "--gpu-architecture=sm_%d", arch);
  for (const char *const *more = rs_compile_options; *more; more++)
    options[count++] = *more;
  if (calls->version >= 12090)
    options[count++] = "--no-cache";
  for (int i = 0; i < rs_kernel_count; i++) {
    texts[i] = rs_kernel_files[i].text;
    names[i] = rs_kernel_files[i].name;
  }
  must(calls->nvrtcCreateProgram(&program, source, "rowscan.cu", rs_kernel_count, texts, names), "nvrtcCreateProgram");
  double start = rs_now_ms();
  must(calls->nvrtcCompileProgram(program, count, options), "nvrtcCompileProgram");
  double ms = rs_now_ms() - start;
  calls->nvrtcDestroyProgram(&program);
  return ms;
}

static void alone(const rowscan_spec *spec, int arch, int only) {
  rowscan_context *context = open_context(arch ? ROWSCAN_ENGINE_HOST : ROWSCAN_ENGINE_CUDA);
  rs_builder *builder = context->gpu.builder;
  const rs_nvrtc_calls *calls;
  if (!arch)
    arch = context->gpu.device.arch;
  rs_geometry geometry = rs_tune(spec, rs_tuned_arch(builder, spec, arch));
  double start = rs_now_ms(), ms = 0;
  must(rs_nvrtc_load(rs_builder_nvrtc(builder), &calls), "NVRTC");
  printf("dlopen %.4f\n", rs_now_ms() - start);
  for (int i = 0; i < rs_geometry_kernels(&geometry); i++) {
    rs_kernel kernel = rs_geometry_kernel(&geometry, i);
    rs_text source = {0};
    if (only >= 0 && (int)kernel != only)
      continue;
    rs_emit(spec, &geometry, kernel, &source);
    ms += compile_alone(calls, source.data, arch);
    rs_text_free(&source);
  }
  printf("alone %.4f\nversion %d\n", ms, calls->version);
  rowscan_close(context);
}

/* ---- a plan to look at ------------------------------------------------------------------------------------------- */

static void make(const rowscan_spec *spec, const char *arch) {
  rowscan_context *context = open_context(ROWSCAN_ENGINE_HOST);
  rowscan_plan *plan;
  double start = rs_now_ms();
  must(rowscan_plan_compile(&plan, context, spec, arch), "rowscan_plan_compile");
  tell_plan(plan, rs_now_ms() - start);
  printf("kernel -1\n");
  rowscan_plan_destroy(plan);
  rowscan_close(context);
}

/* ---- on a GPU ---------------------------------------------------------------------------------------------------- */

typedef struct job {
  const rs_cuda *cuda;
  rowscan_context *context;
  rowscan_plan *plan;
  const rowscan_spec *spec;
  int64_t elements, shape[2];
  bool columns;
  CUstream stream;
  CUdeviceptr in, out;
  void *host;
  rowscan_args args;
  rowscan_problem problem;
} job;
#define CUDA(job, call, ...) must((job)->cuda->call(__VA_ARGS__), #call)

/* 1 as a number of a type, and back. */
static void set_one(void *to, rowscan_type type) {
  if (type == ROWSCAN_F64)
    memcpy(to, &(double){1}, 8);
  else if (type == ROWSCAN_BF16)
    memcpy(to, &(uint16_t){0x3f80}, 2);
  else
    memcpy(to, &(float){1}, 4);
}

static double get_number(const void *from, rowscan_type type) {
  double wide;
  float narrow;
  uint16_t half[2] = {0, 0}; /* of a float, the low one first */
  if (type == ROWSCAN_F64)
    return memcpy(&wide, from, 8), wide;
  memcpy(type == ROWSCAN_BF16 ? &half[1] : half, from, type == ROWSCAN_BF16 ? 2 : 4);
  memcpy(&narrow, half, 4);
  return narrow;
}

static void make_arrays(job *it, int64_t rows) {
  const rowscan_spec *spec = it->spec;
  size_t size = rowscan_type_bytes(spec->in_type), bytes = (size_t)(spec->length * rows) * size;
  it->elements = spec->length * rows;
  it->columns = spec->layout == ROWSCAN_LAYOUT_COLUMNS;
  it->host = malloc(bytes);
  must(!it->host, "memory");
  for (int64_t i = 0; i < it->elements; i++)
    set_one((char *)it->host + (size_t)i * size, spec->in_type);
  CUDA(it, cuCtxPushCurrent_v2, it->context->gpu.device.context);
  CUDA(it, cuStreamCreate, &it->stream, CU_STREAM_NON_BLOCKING);
  CUDA(it, cuMemAlloc_v2, &it->in, bytes);
  CUDA(it, cuMemAlloc_v2, &it->out, bytes);
  CUDA(it, cuMemcpyHtoDAsync_v2, it->in, it->host, bytes, it->stream);
  CUDA(it, cuStreamSynchronize, it->stream);
  it->args = (rowscan_args){.size = sizeof it->args, .input = (void *)(uintptr_t)it->in};
  it->args.output = (void *)(uintptr_t)it->out;
  it->args.rows = it->columns ? 0 : rows;
  it->shape[0] = it->columns ? 1 : rows;
  it->shape[1] = it->columns ? rows : spec->length;
  if (it->columns)
    it->args.row_shape = it->shape;
}

/* A scan of ones counts them. */
static void check(const job *it) {
  size_t size = rowscan_type_bytes(it->spec->out_type), step = it->columns ? (size_t)it->shape[1] : 1;
  int64_t most = it->spec->length < CHECKED ? it->spec->length : CHECKED;
  CUDA(it, cuMemcpyDtoHAsync_v2, it->host, it->out, (size_t)it->elements * size, it->stream);
  CUDA(it, cuStreamSynchronize, it->stream);
  for (int64_t i = 0; i < most; i++)
    must(get_number((char *)it->host + (size_t)i * step * size, it->spec->out_type) != (double)(i + 1), "a wrong sum");
}

/* Whether the driver has the kernels on the GPU already, not only when they are launched; -1: it does not tell. */
static int is_loaded(const rowscan_plan *plan) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  CUresult (*ask)(int *loaded, CUfunction function) = NULL;
  if (driver)
    *(void **)&ask = dlsym(driver, "cuFuncIsLoaded"); /* since CUDA 12.4 */
  int all = ask ? 1 : -1;
  for (int kernel = 0; ask && kernel < RS_KERNELS; kernel++) {
    CUfunction function = plan->program.modules.of[kernel].function;
    int loaded = 0;
    if (function && (ask(&loaded, function) || !loaded))
      all = 0;
  }
  return all;
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double time_burst(job *it, bool one_call) {
  double start = rs_now_ms();
  for (int i = 0; i < CALLS; i++)
    must(one_call ? rowscan_scan(it->context, &it->problem, it->stream)
                  : rowscan_plan_run(it->plan, &it->args, it->stream),
         "a call");
  double ns = 1e6 * (rs_now_ms() - start) / CALLS;
  CUDA(it, cuStreamSynchronize, it->stream);
  return ns;
}

/* From the second call on: a plan's run, and the one-call form, in turn. */
static void measure_hot(job *it) {
  static double times[2][BURSTS];
  int64_t dense[2] = {it->columns ? it->spec->length : it->shape[0], it->shape[1]};
  it->problem = (rowscan_problem){.size = sizeof it->problem, .rank = 2, .dim = it->columns ? 0 : 1, .shape = dense};
  it->problem.input = (rowscan_input){.data = (void *)(uintptr_t)it->in, .type = it->spec->in_type};
  it->problem.output = (rowscan_output){.data = (void *)(uintptr_t)it->out, .type = it->spec->out_type};
  time_burst(it, false);
  time_burst(it, true);
  for (int i = 0; i < BURSTS; i++) {
    times[0][i] = time_burst(it, false);
    times[1][i] = time_burst(it, true);
  }
  for (int i = 0; i < 2; i++) {
    qsort(times[i], BURSTS, sizeof **times, ascending);
    printf("%s %.1f\n", i ? "scan_ns" : "run_ns", times[i][BURSTS / 2]);
  }
}

static void run(const rowscan_spec *spec, int64_t rows, bool hot) {
  job it = {.context = open_context(ROWSCAN_ENGINE_CUDA), .spec = spec};
  it.cuda = it.context->gpu.device.cuda;
  make_arrays(&it, rows);
  int looked = phases[FIND].times;
  rs_rows as_run;
  must(rs_rows_from_args(&as_run, spec, &it.args), "rs_rows_from_args");
  double start = rs_now_ms();
  must(rs_plan_create(&it.plan, it.context, spec, &as_run), "rs_plan_create");
  double made = rs_now_ms();
  int loaded = is_loaded(it.plan);
  double told = rs_now_ms();
  must(rowscan_plan_run(it.plan, &it.args, it.stream), "rowscan_plan_run");
  double launched = rs_now_ms();
  CUDA(&it, cuStreamSynchronize, it.stream);
  printf("first %.4f\nlaunch %.4f\nloaded %d\n", made - start + launched - told, launched - told, loaded);
  printf("opened %d\nlooked %d\n", looked, phases[FIND].times - looked);
  tell_plan(it.plan, made - start);
  printf("kernel %d\n", (int)rs_kernels_choose(&it.plan->program.kernels, &as_run));
  check(&it);
  if (hot)
    measure_hot(&it);
  rowscan_plan_destroy(it.plan);
  CUDA(&it, cuMemFree_v2, it.in);
  CUDA(&it, cuMemFree_v2, it.out);
  CUDA(&it, cuStreamDestroy_v2, it.stream);
  CUcontext context;
  CUDA(&it, cuCtxPopCurrent_v2, &context);
  rowscan_close(it.context);
  free(it.host);
}

int main(int argc, char **argv) {
  rowscan_spec spec;
  int arch = 0;
  if (argc != 5) {
    fprintf(stderr, "usage: bench_first nvrtc|make|run|hot gpu|ARCH ROWS|KERNEL SPEC\n");
    return 2;
  }
  must(rs_spec_parse(&spec, argv[4]), "spec");
  if (strcmp(argv[2], "gpu") != 0)
    must(rs_arch_read(argv[2], &arch), "arch");
  if (!strcmp(argv[1], "nvrtc"))
    alone(&spec, arch, atoi(argv[3]));
  else if (!strcmp(argv[1], "make"))
    make(&spec, argv[2]);
  else
    run(&spec, atoll(argv[3]), !strcmp(argv[1], "hot"));
  return 0;
}
