/*
 * test_simt.c - the simulated GPU itself: what it must compute, and what it must not let pass
 * SPDX-License-Identifier: MIT
 *
 * Small kernels, written for this, go through the simulated NVRTC and driver. Each mistake that a kernel or a caller of
 * the driver can make is made once, in a child process, whose last words are read.
 */
#include "simt.h"

#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/run_tests.h"
#include "compile/nvrtc.h"
#include "gpu/cuda.h"

enum { INVALID_VALUE = 1, NOT_FOUND = 500, CAPTURE_UNSUPPORTED = 900, CAPTURE_UNJOINED = 904, CAPTURE_ISOLATION = 905 };

typedef struct arguments {
  CUdeviceptr in, out;
  int64_t count;
} arguments;

/* The kernels, in a file of their own. */
static char *read_kernels(void) {
  const char *dir = getenv("srcdir");
  char path[4096];
  snprintf(path, sizeof path, "%s/tests/simt/test_simt.cuh", dir ? dir : ".");
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s", path);
  char *text = calloc(1, 1 << 16);
  ck_assert_ptr_nonnull(text);
  ck_assert_uint_lt(fread(text, 1, (1 << 16) - 1, file), (1 << 16) - 1);
  fclose(file);
  return text;
}

/* ---- the simulated libraries ---------------------------------------------------------------------------------------
 */

typedef CUgraph graph;
static rs_cuda cuda;
static rs_nvrtc_calls nvrtc;
static struct {
  void (*fail_call)(const char *, long, int);
  const char *(*fired)(void);
  long (*calls)(const char *);
  long (*leaks)(void);
  const char *(*leaks_text)(void);
  unsigned long long (*in_use)(void);
  CUresult (*begin_capture)(CUstream, int);
  CUresult (*end_capture)(CUstream, graph *);
  CUresult (*instantiate)(graph *, graph, unsigned long long);
  CUresult (*launch_graph)(graph, CUstream);
  CUresult (*destroy_exec)(graph);
  CUresult (*destroy_graph)(graph);
  CUresult (*stream_query)(CUstream);
  CUresult (*synchronize)(void);
  CUresult (*create_context)(CUcontext *, unsigned, CUdevice);
  CUresult (*destroy_context)(CUcontext);
  long (*nvrtc_leaks)(void);
  long (*nvrtc_compiles)(void);
  void (*nvrtc_fail)(const char *, long, int);
} simt;

static void get(void *library, const char *name, void *to) {
  void *address = dlsym(library, name);
  ck_assert_msg(address != NULL, "%s", name);
  memcpy(to, &address, sizeof address);
}

/* From the directory RS_SIMT, or where the dynamic linker looks. */
static void *open_library(const char *name) {
  const char *dir = getenv("RS_SIMT");
  char path[4096];
  snprintf(path, sizeof path, "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  return library;
}

static void load(void) {
  void *driver = open_library("libcuda.so.1"), *compiler = open_library("libnvrtc.so.13");
#define X(symbol, parameters) get(driver, #symbol, &cuda.symbol);
  RS_CUDA_CALLS(X)
  RS_CUDA_LATER_CALLS(X)
#undef X
#define X(symbol, parameters) get(compiler, #symbol, &nvrtc.symbol);
  RS_NVRTC_CALLS(X)
#undef X
  get(driver, "simt_fail", &simt.fail_call);
  get(driver, "simt_fired", &simt.fired);
  get(driver, "simt_calls", &simt.calls);
  get(driver, "simt_leaks", &simt.leaks);
  get(driver, "simt_leaks_text", &simt.leaks_text);
  get(driver, "simt_memory_in_use", &simt.in_use);
  get(driver, "cuStreamBeginCapture_v2", &simt.begin_capture);
  get(driver, "cuStreamEndCapture", &simt.end_capture);
  get(driver, "cuGraphInstantiateWithFlags", &simt.instantiate);
  get(driver, "cuGraphLaunch", &simt.launch_graph);
  get(driver, "cuGraphExecDestroy", &simt.destroy_exec);
  get(driver, "cuGraphDestroy", &simt.destroy_graph);
  get(driver, "cuStreamQuery", &simt.stream_query);
  get(driver, "cuCtxSynchronize", &simt.synchronize);
  get(driver, "cuCtxCreate_v2", &simt.create_context);
  get(driver, "cuCtxDestroy_v2", &simt.destroy_context);
  get(compiler, "simt_nvrtc_leaks", &simt.nvrtc_leaks);
  get(compiler, "simt_nvrtc_compiles", &simt.nvrtc_compiles);
  get(compiler, "simt_nvrtc_fail", &simt.nvrtc_fail);
}

#define OK(call) ck_assert_int_eq(call, 0)

static nvrtcResult compile(const char *text, const char *arch_option, char **cubin, char **log) {
  static const char *const names[] = {"device.cuh"}, *const texts[] = {"#error \"not the twin\"\n"};
  const char *const options[] = {arch_option, "--std=c++17", "--fmad=false", "--ptxas-options=-v"};
  nvrtcProgram program;
  size_t bytes;
  OK(nvrtc.nvrtcCreateProgram(&program, text, "kernels.cu", 1, texts, names));
  nvrtcResult result = nvrtc.nvrtcCompileProgram(program, 4, options);
  OK(nvrtc.nvrtcGetProgramLogSize(program, &bytes));
  *log = malloc(bytes);
  OK(nvrtc.nvrtcGetProgramLog(program, *log));
  OK(nvrtc.nvrtcGetCUBINSize(program, &bytes));
  *cubin = malloc(bytes + 1);
  OK(nvrtc.nvrtcGetCUBIN(program, *cubin));
  OK(nvrtc.nvrtcDestroyProgram(&program));
  return result;
}

static CUcontext context;
static CUmodule module;
static CUdeviceptr in, out;
enum { WORDS = 16 * 256 };
static uint32_t host_in[WORDS], host_out[WORDS];

static void open_device(void) {
  load();
  OK(cuda.cuInit(0));
  OK(cuda.cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuda.cuCtxPushCurrent_v2(context));
}

static void open_all(void) {
  char *cubin, *log, *source = read_kernels();
  open_device();
  nvrtcResult result = compile(source, "--gpu-architecture=sm_90", &cubin, &log);
  free(source);
  ck_assert_msg(result == NVRTC_SUCCESS, "%s", log);
  OK(cuda.cuModuleLoadData(&module, cubin));
  free(cubin);
  free(log);
  OK(cuda.cuMemAlloc_v2(&in, sizeof host_in));
  OK(cuda.cuMemAlloc_v2(&out, sizeof host_out));
  for (uint32_t i = 0; i < WORDS; i++)
    host_in[i] = i * 2654435761u >> 4;
  OK(cuda.cuMemcpyHtoDAsync_v2(in, host_in, sizeof host_in, NULL));
}

static void open_all_for_races(void) {
  setenv("SIMT_RACES", "1", 1);
  open_all();
}

static void close_device(void) {
  CUcontext popped;
  OK(cuda.cuCtxPopCurrent_v2(&popped));
  ck_assert_ptr_eq(popped, context);
  OK(cuda.cuDevicePrimaryCtxRelease_v2(0));
  ck_assert_msg(simt.leaks() == 0, "%s", simt.leaks_text());
  ck_assert_int_eq(simt.nvrtc_leaks(), 0);
}

static void close_all(void) {
  OK(cuda.cuMemFree_v2(in));
  OK(cuda.cuMemFree_v2(out));
  OK(cuda.cuModuleUnload(module));
  close_device();
}

enum { DYNAMIC_BYTES = 2048 };

static CUresult launch(const char *kernel, unsigned blocks, unsigned threads, arguments a, CUstream stream) {
  CUfunction function;
  uint32_t add = 40;
  void *parameters[] = {&a, &add};
  OK(cuda.cuModuleGetFunction(&function, module, kernel));
  CUresult result = cuda.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, DYNAMIC_BYTES, stream, parameters, NULL);
  memset(&a, 0x55, sizeof a); /* a launch has copied them */
  return result;
}

static void run(const char *kernel, unsigned blocks, unsigned threads, int64_t count) {
  OK(cuda.cuMemsetD8Async(out, 0, sizeof host_out, NULL));
  OK(launch(kernel, blocks, threads, (arguments){in, out, count}, NULL));
  OK(cuda.cuMemcpyDtoHAsync_v2(host_out, out, sizeof host_out, NULL));
  OK(cuda.cuStreamSynchronize(NULL));
}

/* ---- what it must compute ------------------------------------------------------------------------------------------
 */

START_TEST(shuffles_move_values) {
  run("shuffles", 5, 256, 0);
  for (uint32_t i = 0; i < 5 * 256; i++) {
    uint32_t lane = i % 32, first = i - lane;
    uint32_t down = host_in[lane == 31 ? i : i + 1], from = host_in[first + (lane * 7 + 3) % 32],
             crossed = host_in[first + (lane ^ 5)], far = host_in[first + (lane ^ 16)];
    ck_assert_uint_eq(host_out[i], down * 3 + from * 5 + crossed * 7 + far * 11);
  }
}
END_TEST

static void set_seed(int seed) {
  char text[16];
  snprintf(text, sizeof text, "%d", seed);
  setenv("SIMT_SEED", text, 1);
}

static int turned_wrong(const char *kernel) {
  int wrong = 0;
  run(kernel, 3, 256, 16);
  for (int i = 0; i < WORDS; i++)
    wrong += host_out[i] != host_in[i / 256 * 256 + 255 - i % 256];
  return wrong;
}

START_TEST(barriers_order_shared_memory) {
  for (int seed = 0; seed < 5; seed++) {
    set_seed(seed);
    ck_assert_int_eq(turned_wrong("turn"), 0);
    ck_assert_int_gt(turned_wrong("turn_without_barriers"), 0);
  }
}
END_TEST

START_TEST(shared_memory_starts_as_poison) {
  run("unset_shared", 16, 256, 0);
  for (int i = 0; i < WORDS; i++)
    ck_assert_uint_eq(host_out[i], 0xf7f7f7f7u);
}
END_TEST

START_TEST(blocks_wait_for_each_other) {
  setenv("SIMT_RESIDENT", "8", 1);
  run("chain", 8, 256, 0);
  for (uint32_t i = 0; i < 8; i++)
    ck_assert_uint_eq(host_out[i], (i + 1) * (i + 2) / 2);
}
END_TEST

START_TEST(parameters_are_several) {
  run("two_parameters", 1, 32, 0);
  for (uint32_t i = 0; i < 32; i++)
    ck_assert_uint_eq(host_out[i], 40 + i);
}
END_TEST

START_TEST(whole_warps_may_return) {
  run("warps_return", 1, 256, 0);
  for (uint32_t i = 0; i < 256; i++)
    ck_assert_uint_eq(host_out[i], i >= 64);
}
END_TEST

static int bulk_wrong(const char *kernel) {
  int wrong = 0;
  run(kernel, 1, 256, 0);
  for (int i = 0; i < 8 * 256; i++)
    wrong += host_out[i] != host_in[(7 - i / 256) * 256 + i % 256];
  return wrong;
}

START_TEST(bulk_copies_take_time) {
  for (int seed = 0; seed < 5; seed++) {
    set_seed(seed);
    ck_assert_int_eq(bulk_wrong("bulk_turn"), 0);
    if (seed)
      ck_assert_int_gt(bulk_wrong("bulk_over"), 0);
  }
}
END_TEST

START_TEST(memory_starts_as_poison) {
  CUdeviceptr fresh;
  OK(cuda.cuMemAlloc_v2(&fresh, 100));
  OK(cuda.cuMemcpyDtoHAsync_v2(host_out, fresh, 100, NULL));
  OK(cuda.cuMemFree_v2(fresh));
  ck_assert_uint_eq(host_out[24], 0xf7f7f7f7u);
}
END_TEST

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The nearest of the 2^16 numbers that a conversion may give, by their order; ties to the even one. */
static double value_of(uint32_t bits, int fraction, int exponent) {
  uint32_t e = bits >> fraction, f = bits & ((1u << fraction) - 1);
  int shift = (e ? (int)e : 1) - (1 << (exponent - 1)) + 1 - fraction;
  double value = (double)(e ? f | 1u << fraction : f);
  for (; shift > 0; shift--)
    value *= 2;
  for (; shift < 0; shift++)
    value /= 2;
  return value;
}

static uint32_t nearest(double size, int fraction, int exponent) {
  uint32_t low = 0, high = ((1u << exponent) - 1) << fraction; /* infinity, as if numbers went on */
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    if (value_of(middle, fraction, exponent) <= size)
      low = middle;
    else
      high = middle;
  }
  double below = value_of(low, fraction, exponent), above = value_of(high, fraction, exponent),
         middle = below + (above - below) / 2;
  return size > middle || (size == middle && (low & 1)) ? high : low;
}

static uint32_t rounded(double x, int fraction, int exponent) {
  if (x != x)
    return 0x7fff;
  return (signbit(x) ? 0x8000u : 0) | nearest(x < 0 ? -x : x, fraction, exponent);
}

START_TEST(conversions_round_once) {
  static const uint32_t edges[] = {0,          0x80000000, 1,          0x33000000, 0x33000001, 0x33800000, 0x387fc000,
                                   0x387fe000, 0x38800000, 0x477fe000, 0x477fefff, 0x477ff000, 0x47800000, 0x7f7fffff,
                                   0x7f800000, 0xff800000, 0x7f800001, 0x7fc00000, 0x3f808000, 0x3f818000, 0x33c00000};
  enum { COUNT = WORDS / 4, EDGES = sizeof edges / sizeof *edges };
  for (uint32_t i = 0; i < COUNT; i++)
    host_in[i] = i < EDGES ? edges[i] : (host_in[i] * 2246822519u) ^ (i % 3 ? 0x38000000 : 0);
  OK(cuda.cuMemcpyHtoDAsync_v2(in, host_in, sizeof host_in, NULL));
  run("halves", 1, 32, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) {
    float x = float_of(host_in[i]), cut = float_of(host_out[4 * i + 2]);
    ck_assert_uint_eq(host_out[4 * i] & 0xffff, rounded(x, 10, 5));
    ck_assert_uint_eq(host_out[4 * i] >> 16, rounded(x, 7, 8));
    uint32_t half = host_in[i] & 0xffff;
    double wide = float_of(host_out[4 * i + 1]), size = value_of(half & 0x7fff, 10, 5);
    if ((half & 0x7fff) < 0x7c00)
      ck_assert(wide == (half >> 15 ? -size : size));
    else
      ck_assert((half & 0x3ff) ? wide != wide : wide * 0.5 == wide);
    double exact = (double)x * 1.00000003;
    ck_assert_uint_eq(host_out[4 * i + 3] & 0xffff, rounded(exact, 10, 5));
    ck_assert_uint_eq(host_out[4 * i + 3] >> 16, rounded(exact, 7, 8));
    if (exact == exact && exact * 0.5 != exact) { /* the next one out lies beyond it */
      uint32_t next = host_out[4 * i + 2] + 1;
      double cut_size = cut < 0 ? -(double)cut : cut, exact_size = exact < 0 ? -exact : exact;
      ck_assert(cut_size <= exact_size);
      ck_assert((next & 0x7fffffff) == 0x7f800000 || value_of(next & 0x7fffffff, 23, 8) > exact_size);
    }
  }
}
END_TEST

/* ---- what it must not let pass -------------------------------------------------------------------------------------
 */

typedef struct mistake {
  const char *kernel;
  const char *last_words[3]; /* any of them */
} mistake;

static void expect_death(void (*act)(const char *), const char *argument, const char *const *words, int count) {
  static char said[1 << 16];
  int pipes[2], status;
  size_t length = 0;
  OK(pipe(pipes));
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], 2);
    close(pipes[0]);
    act(argument);
    _exit(0);
  }
  close(pipes[1]);
  for (ssize_t got; length < sizeof said - 1 && (got = read(pipes[0], said + length, sizeof said - 1 - length)) > 0;)
    length += (size_t)got;
  said[length] = 0;
  close(pipes[0]);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(!WIFEXITED(status) || WEXITSTATUS(status) != 0, "%s lives", argument);
  bool found = false;
  for (int i = 0; i < count; i++)
    found = found || (words[i] && strstr(said, words[i]));
  ck_assert_msg(found, "%s: %s", argument, said);
}

static const mistake mistakes[] = {
    {"other_shuffle", {"is at shuffle_"}},
    {"other_mask", {"is at one by"}},
    {"shuffle_alone", {"has returned, but thread", "of its warp has returned"}},
    {"barrier_alone", {"of its warp waits at a barrier", "of its warp has returned"}},
    {"barrier_or_shuffle", {"of its warp waits at a barrier", "is at shuffle_down"}},
    {"two_barriers", {"deadlock"}},
    {"for_ever", {"waits for what no thread"}},
    {"bulk_early", {"once more than it has parties"}},
    {"bulk_unfenced", {"with no fence since"}},
    {"bulk_odd", {"not multiples of 16"}},
    {"bulk_left", {"was not waited for"}},
    {"misaligned", {"misaligned store"}},
    {"far_outside", {"no memory of the GPU"}},
    {"just_outside", {"store of 4 bytes"}},
    {"quietly_outside", {"was written", "AddressSanitizer"}},
};

static void run_mistake(const char *kernel) {
  arguments a = {in, out, WORDS};
  launch(kernel, 1, 256, a, NULL);
}

static void run_race(const char *kernel) {
  run(kernel, 1, 256, WORDS / 256);
}

START_TEST(mistakes_are_fatal) {
  const mistake *m = &mistakes[_i];
  expect_death(run_mistake, m->kernel, m->last_words, 3);
}
END_TEST

static const char *const in_order[] = {
    "turn",         "chain",           "bulk_turn", "lanes_in_turn",      "warps_return",
    "told_in_turn", "fetched_in_turn", "shuffles",  "bytes_side_by_side", "given_back_fenced"};

/* In any order of turns. */
START_TEST(what_is_in_order_races_not) {
  for (int seed = 0; seed < 8; seed++) {
    set_seed(seed);
    run_race(in_order[_i]);
  }
}
END_TEST

static const mistake races[] = {
    {"turn_without_barriers", {"nothing orders the two"}},
    {"lanes_after_shuffle", {"(lanes of a warp"}},
    {"lanes_write_early", {"(lanes of a warp"}},
    {"told_unprepared", {"nothing orders the two", "was never prepared"}},
    {"told_early", {"nothing orders the two"}},
    {"told_by_one_of_all", {"nothing orders the two"}},
    {"told_and_read_again", {"nothing orders the two"}},
    {"fetched_by_others", {"nothing orders the two"}},
    {"bulk_over", {"nothing orders the two"}},
    {"given_back_unfenced", {"with no fence since"}},
};

/* In each order of turns, though few would give a wrong result. */
START_TEST(races_are_fatal) {
  for (int seed = 0; seed < 8; seed++) {
    set_seed(seed);
    expect_death(run_race, races[_i].kernel, races[_i].last_words, 3);
  }
}
END_TEST

static void host_pointer(const char *unused) {
  (void)unused;
  static uint32_t words[32];
  launch("add_one", 1, 32, (arguments){(CUdeviceptr)(uintptr_t)words, out, 32}, NULL);
}
static void free_twice(const char *unused) {
  (void)unused;
  cuda.cuMemFree_v2(in);
  cuda.cuMemFree_v2(in);
}
static void no_context(const char *unused) {
  (void)unused;
  cuda.cuCtxPopCurrent_v2(&context);
  launch("add_one", 1, 32, (arguments){in, out, 32}, NULL);
}
static void too_many_threads(const char *unused) {
  (void)unused;
  launch("add_one", 1, 64, (arguments){in, out, 32}, NULL);
}
static void no_parameters(const char *unused) {
  (void)unused;
  CUfunction function;
  OK(cuda.cuModuleGetFunction(&function, module, "add_one"));
  cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}
static CUresult launch_dependent(const char *kernel) {
  CUfunction function;
  arguments a = {in, out, 32};
  void *parameters[] = {&a};
  CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config = {1, 1, 1, 32, 1, 1, 0, NULL, &attribute, 1};
  OK(cuda.cuModuleGetFunction(&function, module, kernel));
  return cuda.cuLaunchKernelEx(&config, function, parameters, NULL);
}
static void dependent_and_hasty(const char *unused) {
  (void)unused;
  launch_dependent("add_one");
}
static void dependent_and_idle(const char *unused) {
  (void)unused;
  launch_dependent("idle");
}
static void dependent_too_early(const char *unused) {
  (void)unused;
  setenv("SIMT_ARCH", "80", 1);
  launch_dependent("add_one_later");
}
static void gone_stream(const char *unused) {
  (void)unused;
  CUstream stream;
  OK(cuda.cuStreamCreate(&stream, 0));
  OK(cuda.cuStreamDestroy_v2(stream));
  cuda.cuStreamSynchronize(stream);
}
static void gone_event(const char *unused) {
  (void)unused;
  CUevent event;
  OK(cuda.cuEventCreate(&event, 0));
  OK(cuda.cuEventDestroy_v2(event));
  cuda.cuEventRecord(event, NULL);
}
static void one_release_more(const char *unused) {
  (void)unused;
  cuda.cuDevicePrimaryCtxRelease_v2(0);
  cuda.cuDevicePrimaryCtxRelease_v2(0);
}

static void another_context(const char *unused) {
  (void)unused;
  CUcontext other;
  OK(simt.create_context(&other, 0, 0));
  launch("add_one", 1, 32, (arguments){in, out, 32}, NULL);
}
static void call_the_driver(void *unused) {
  (void)unused;
  cuda.cuMemFree_v2(in);
}
static void destructor_that_calls(const char *unused) {
  (void)unused;
  CUuserObject object;
  OK(cuda.cuUserObjectCreate(&object, NULL, call_the_driver, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  OK(cuda.cuUserObjectRelease(object, 1));
}
static void reference_of_another(const char *unused) {
  (void)unused;
  CUuserObject object;
  OK(cuda.cuUserObjectCreate(&object, NULL, call_the_driver, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  cuda.cuUserObjectRelease(object, 2);
}

static const struct {
  const char *name, *words;
  void (*act)(const char *);
} misuses[] = {
    {"a host pointer", "no memory of the GPU", host_pointer},
    {"free twice", "not allocated", free_twice},
    {"no context", "no current context", no_context},
    {"too many threads", "made for 32", too_many_threads},
    {"no parameters", "without parameters", no_parameters},
    {"a stream that is gone", "does not exist", gone_stream},
    {"an event that is gone", "does not exist", gone_event},
    {"one release more", "once more", one_release_more},
    {"another context", "another context loaded", another_context},
    {"a destructor that calls", "in the destructor", destructor_that_calls},
    {"one reference more", "the program has not", reference_of_another},
    {"dependent, hasty", "before it awaits", dependent_and_hasty},
    {"dependent, idle", "never awaited", dependent_and_idle},
    {"dependent, sm_80", "no programmatic dependent", dependent_too_early},
};

START_TEST(misuse_is_fatal) {
  expect_death(misuses[_i].act, misuses[_i].name, &misuses[_i].words, 1);
}
END_TEST

START_TEST(dependent_launches_await) {
  OK(cuda.cuMemsetD8Async(out, 0, sizeof host_out, NULL));
  OK(launch_dependent("add_one_later"));
  OK(cuda.cuMemcpyDtoHAsync_v2(host_out, out, sizeof host_out, NULL));
  OK(cuda.cuStreamSynchronize(NULL));
  for (int i = 0; i < 32; i++)
    ck_assert_uint_eq(host_out[i], host_in[i] + 1);
}
END_TEST

START_TEST(copies_stay_in_bounds) {
  OK(cuda.cuMemcpyDtoHAsync_v2(host_out, out, sizeof host_out, NULL));
  ck_assert_int_eq(cuda.cuMemcpyDtoHAsync_v2(host_out, out + 1, sizeof host_out, NULL), INVALID_VALUE);
  ck_assert_int_eq(cuda.cuMemcpyHtoDAsync_v2(out + 4, host_out, sizeof host_out, NULL), INVALID_VALUE);
  ck_assert_int_eq(cuda.cuMemcpyDtoDAsync_v2(in, out + 8, sizeof host_out, NULL), INVALID_VALUE);
  ck_assert_int_eq(cuda.cuMemsetD8Async(in + 1, 0, sizeof host_in, NULL), INVALID_VALUE);
}
END_TEST

START_TEST(memory_is_bounded) {
  setenv("SIMT_MEMORY", "1m", 1);
  size_t available, total;
  CUdeviceptr most;
  OK(cuda.cuMemGetInfo_v2(&available, &total));
  ck_assert_uint_eq(total, 1 << 20);
  ck_assert_uint_eq(total - available, simt.in_use());
  ck_assert_int_eq(cuda.cuMemAlloc_v2(&most, available + 1), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuda.cuMemAlloc_v2(&most, available));
  OK(cuda.cuMemFree_v2(most));
}
END_TEST

/* ---- contexts, and whose memory it is ------------------------------------------------------------------------------
 */

static int place_of(const void *at, int *device) {
  unsigned type = 0;
  CUresult result = cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)at);
  if (result)
    return -result;
  OK(cuda.cuPointerGetAttribute(device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)(uintptr_t)at));
  return (int)type;
}

START_TEST(memory_has_a_device) {
  setenv("SIMT_DEVICES", "2", 1);
  CUcontext other, popped;
  CUdevice device;
  CUdeviceptr memory;
  void *pinned;
  int whose = -1;
  OK(simt.create_context(&other, 0, 1));
  OK(cuda.cuCtxGetDevice(&device));
  ck_assert_int_eq(device, 1);
  OK(cuda.cuMemAlloc_v2(&memory, 100));
  OK(cuda.cuMemHostAlloc(&pinned, 100, 0));
  ck_assert_int_eq(place_of((void *)(uintptr_t)(memory + 99), &whose), 2);
  ck_assert_int_eq(whose, 1);
  ck_assert_int_eq(place_of(pinned, &whose), CU_MEMORYTYPE_HOST);
  ck_assert_int_eq(place_of((void *)(uintptr_t)in, &whose), 2);
  ck_assert_int_eq(whose, 0);
  ck_assert_int_eq(place_of(&whose, &whose), -INVALID_VALUE);
  ck_assert_int_eq(place_of(NULL, &whose), -INVALID_VALUE);
  OK(cuda.cuMemFree_v2(memory));
  OK(cuda.cuMemFreeHost(pinned));
  OK(cuda.cuCtxPopCurrent_v2(&popped));
  ck_assert_ptr_eq(popped, other);
  OK(cuda.cuCtxGetDevice(&device));
  ck_assert_int_eq(device, 0);
  OK(simt.destroy_context(other));
}
END_TEST

/* ---- failures that are asked for -----------------------------------------------------------------------------------
 */

START_TEST(calls_fail_when_asked) {
  CUdeviceptr memory[3];
  long before = simt.calls("cuMemAlloc_v2");
  simt.fail_call("cuMemAlloc_v2", 2, 999);
  OK(cuda.cuMemAlloc_v2(&memory[0], 4));
  ck_assert_ptr_null(simt.fired());
  ck_assert_int_eq(cuda.cuMemAlloc_v2(&memory[1], 4), 999);
  ck_assert_str_eq(simt.fired(), "cuMemAlloc_v2");
  OK(cuda.cuMemAlloc_v2(&memory[1], 4));
  ck_assert_int_eq(simt.calls("cuMemAlloc_v2"), before + 3);
  simt.fail_call(NULL, 2, 2);
  OK(cuda.cuMemFree_v2(memory[0]));
  ck_assert_int_eq(cuda.cuMemFree_v2(memory[1]), 2); /* and is free */
  ck_assert_uint_eq(simt.in_use(), 2 * sizeof host_in);
  simt.nvrtc_fail("nvrtcVersion", 1, 7);
  int major, minor;
  ck_assert_int_eq(nvrtc.nvrtcVersion(&major, &minor), 7);
  OK(nvrtc.nvrtcVersion(&major, &minor));
}
END_TEST

START_TEST(leaks_are_counted) {
  long before = simt.leaks();
  CUevent event;
  CUstream stream;
  OK(cuda.cuEventCreate(&event, 0));
  OK(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  ck_assert_int_eq(simt.leaks(), before + 2);
  ck_assert_ptr_nonnull(strstr(simt.leaks_text(), "streams 1, events 1"));
  OK(cuda.cuStreamDestroy_v2(stream));
  OK(cuda.cuEventDestroy_v2(event));
  ck_assert_int_eq(simt.leaks(), before);
}
END_TEST

/* ---- streams -------------------------------------------------------------------------------------------------------
 */

/* Two streams, one adding to what the other has added: right only if the second waits. Returns how many words are
 * wrong. */
static int two_streams(bool waits, unsigned flags) {
  CUstream first, second;
  CUevent event;
  uint32_t *pinned;
  int wrong = 0;
  OK(cuda.cuStreamCreate(&first, flags));
  OK(cuda.cuStreamCreate(&second, flags));
  OK(cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  OK(cuda.cuMemHostAlloc((void **)&pinned, sizeof host_in, CU_MEMHOSTALLOC_PORTABLE));
  memcpy(pinned, host_in, sizeof host_in);
  OK(cuda.cuMemcpyHtoDAsync_v2(in, pinned, sizeof host_in, first));
  OK(launch("add_one", 1, 32, (arguments){in, in, WORDS}, first));
  OK(cuda.cuEventRecord(event, first));
  if (waits)
    OK(cuda.cuStreamWaitEvent(second, event, 0));
  OK(launch("add_one", 1, 32, (arguments){in, out, WORDS}, second));
  OK(cuda.cuMemcpyDtoHAsync_v2(pinned, out, sizeof host_in, second));
  OK(cuda.cuStreamSynchronize(second));
  for (int i = 0; i < WORDS; i++)
    wrong += pinned[i] != host_in[i] + 2;
  OK(cuda.cuStreamSynchronize(first));
  OK(cuda.cuMemFreeHost(pinned));
  OK(cuda.cuEventDestroy_v2(event));
  OK(cuda.cuStreamDestroy_v2(first));
  OK(cuda.cuStreamDestroy_v2(second));
  return wrong;
}

START_TEST(a_missing_wait_shows) {
  setenv("SIMT_ASYNC", "1", 1);
  int wrong = 0;
  for (int i = 0; i < 20; i++) {
    ck_assert_int_eq(two_streams(true, CU_STREAM_NON_BLOCKING), 0);
    wrong += two_streams(false, CU_STREAM_NON_BLOCKING);
  }
  ck_assert_int_gt(wrong, 0);
}
END_TEST

START_TEST(the_default_stream_is_in_order) {
  setenv("SIMT_ASYNC", "1", 1);
  for (int i = 0; i < 20; i++) {
    CUstream stream;
    OK(cuda.cuStreamCreate(&stream, 0));
    OK(cuda.cuMemsetD8Async(in, 1, 4, stream));
    OK(launch("add_one", 1, 32, (arguments){in, in, 1}, NULL));
    OK(launch("add_one", 1, 32, (arguments){in, in, 1}, stream));
    OK(cuda.cuStreamDestroy_v2(stream)); /* what is queued is done all the same */
    uint32_t word;
    OK(cuda.cuMemcpyDtoHAsync_v2(&word, in, 4, NULL));
    ck_assert_uint_eq(word, 0x01010103);
  }
}
END_TEST

START_TEST(handles_are_used_again_and_numbers_are_not) {
  setenv("SIMT_ASYNC", "1", 1);
  CUstream first, second;
  unsigned long long id[2], null_id, legacy_id;
  uint32_t word;
  OK(cuda.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  OK(cuda.cuStreamGetId(first, &id[0]));
  OK(cuda.cuMemsetD8Async(in, 1, 4, first));
  OK(launch("add_one", 1, 32, (arguments){in, in, 1}, first));
  OK(cuda.cuStreamDestroy_v2(first));
  OK(cuda.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  ck_assert_ptr_eq(first, second);
  OK(cuda.cuStreamGetId(second, &id[1]));
  ck_assert_uint_ne(id[0], id[1]);
  OK(simt.synchronize()); /* what the first had left to do */
  OK(cuda.cuMemcpyDtoHAsync_v2(&word, in, 4, NULL));
  ck_assert_uint_eq(word, 0x01010102);
  OK(cuda.cuStreamDestroy_v2(second));
  OK(cuda.cuStreamGetId(NULL, &null_id));
  OK(cuda.cuStreamGetId(CU_STREAM_LEGACY, &legacy_id));
  ck_assert_uint_eq(null_id, legacy_id);
  OK(cuda.cuStreamGetId(CU_STREAM_PER_THREAD, &id[0]));
  OK(cuda.cuStreamGetId(CU_STREAM_PER_THREAD, &id[1]));
  ck_assert_uint_eq(id[0], id[1]);
  ck_assert_uint_ne(id[0], null_id);
  setenv("SIMT_DRIVER_VERSION", "11080", 1);
  ck_assert_int_ne(cuda.cuStreamGetId(NULL, &null_id), 0);
}
END_TEST

START_TEST(queries_get_ready) {
  setenv("SIMT_ASYNC", "1", 1);
  CUstream stream;
  OK(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  int not_ready = 0;
  for (int i = 0; i < 8; i++) {
    OK(cuda.cuMemsetD8Async(in, 1, 4, stream));
    OK(cuda.cuMemsetD8Async(in, 2, 4, stream));
    for (CUresult result; (result = simt.stream_query(stream)) != CUDA_SUCCESS; not_ready++)
      ck_assert_int_eq(result, CUDA_ERROR_NOT_READY);
  }
  ck_assert_int_gt(not_ready, 0);
  OK(cuda.cuStreamDestroy_v2(stream));
}
END_TEST

START_TEST(times_go_forward) {
  CUevent event[2];
  float milliseconds = -1;
  for (int i = 0; i < 2; i++)
    OK(cuda.cuEventCreate(&event[i], CU_EVENT_DEFAULT));
  OK(cuda.cuEventRecord(event[0], NULL));
  OK(launch("add_one", 1, 32, (arguments){in, out, WORDS}, NULL));
  OK(cuda.cuEventRecord(event[1], NULL));
  OK(cuda.cuEventSynchronize(event[1]));
  OK(cuda.cuEventElapsedTime(&milliseconds, event[0], event[1]));
  ck_assert(milliseconds > 0);
  for (int i = 0; i < 2; i++)
    OK(cuda.cuEventDestroy_v2(event[i]));
}
END_TEST

/* ---- captures ------------------------------------------------------------------------------------------------------
 */

static uint32_t first_word(CUdeviceptr at) {
  uint32_t word;
  OK(cuda.cuMemcpyDtoHAsync_v2(&word, at, 4, NULL));
  return word;
}

START_TEST(captures_replay) {
  if (_i)
    setenv("SIMT_ASYNC", "1", 1);
  CUstream stream, side;
  CUevent fork_event, join_event;
  graph captured, exec;
  int status;
  unsigned long long id = 0;
  OK(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuda.cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
  OK(cuda.cuEventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
  OK(cuda.cuEventCreate(&join_event, CU_EVENT_DISABLE_TIMING));
  OK(simt.begin_capture(stream, 0));
  OK(cuda.cuStreamGetCaptureInfo(stream, &status, &id));
  ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ck_assert_uint_gt(id, 0);
  OK(launch("add_one", 1, 32, (arguments){in, in, WORDS}, stream));
  OK(cuda.cuEventRecord(fork_event, stream));
  OK(cuda.cuStreamWaitEvent(side, fork_event, 0));
  OK(launch("add_one", 1, 32, (arguments){in, out, WORDS}, side));
  OK(cuda.cuEventRecord(join_event, side));
  OK(cuda.cuStreamWaitEvent(stream, join_event, 0));
  OK(launch("add_one", 1, 32, (arguments){out, out, WORDS}, stream));
  OK(simt.end_capture(stream, &captured));
  ck_assert_uint_eq(first_word(in), host_in[0]); /* nothing was run */
  OK(simt.instantiate(&exec, captured, 0));
  OK(simt.destroy_graph(captured));
  for (uint32_t i = 1; i <= 3; i++) {
    OK(simt.launch_graph(exec, stream));
    OK(cuda.cuStreamSynchronize(stream));
    ck_assert_uint_eq(first_word(out), host_in[0] + i + 2);
  }
  OK(simt.destroy_exec(exec));
  OK(cuda.cuEventDestroy_v2(fork_event));
  OK(cuda.cuEventDestroy_v2(join_event));
  OK(cuda.cuStreamDestroy_v2(stream));
  OK(cuda.cuStreamDestroy_v2(side));
}
END_TEST

START_TEST(captures_have_rules) {
  CUstream stream, side;
  CUevent event;
  CUdeviceptr memory;
  graph captured;
  OK(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuda.cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
  OK(cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  OK(simt.begin_capture(stream, 0));
  ck_assert_int_eq(cuda.cuMemAlloc_v2(&memory, 4), CAPTURE_UNSUPPORTED);
  ck_assert_int_ne(simt.end_capture(stream, &captured), 0);
  OK(simt.begin_capture(stream, 0));
  ck_assert_int_eq(cuda.cuStreamSynchronize(stream), CAPTURE_UNSUPPORTED);
  ck_assert_int_ne(simt.end_capture(stream, &captured), 0);
  for (int waits = 0; waits < 2; waits++) { /* for what has nothing to do with it, as an H200's driver says */
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    OK(simt.begin_capture(stream, 0));
    OK(cuda.cuThreadExchangeStreamCaptureMode(&mode));
    OK(waits ? cuda.cuEventSynchronize(event) : cuda.cuStreamSynchronize(side));
    OK(cuda.cuThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(waits ? cuda.cuEventSynchronize(event) : cuda.cuStreamSynchronize(side), CAPTURE_UNSUPPORTED);
    ck_assert_int_ne(simt.end_capture(stream, &captured), 0);
  }
  for (int streams = 0; streams < 2; streams++) { /* opening a context */
    CUcontext more;
    CUstream new;
    OK(simt.begin_capture(stream, 0));
    ck_assert_int_eq(streams ? cuda.cuStreamCreate(&new, 0) : cuda.cuDevicePrimaryCtxRetain(&more, 0),
                     CAPTURE_UNSUPPORTED);
    ck_assert_int_ne(simt.end_capture(stream, &captured), 0);
  }
  unsigned long long id;
  OK(simt.begin_capture(stream, 1));
  ck_assert_int_eq(cuda.cuStreamGetId(stream, &id), CAPTURE_UNSUPPORTED);
  ck_assert_int_ne(simt.end_capture(stream, &captured), 0);
  OK(cuda.cuEventRecord(event, side)); /* outside the capture */
  OK(simt.begin_capture(stream, 1));
  ck_assert_int_eq(cuda.cuStreamWaitEvent(stream, event, 0), CAPTURE_ISOLATION);
  ck_assert_int_ne(simt.end_capture(stream, &captured), 0);
  OK(simt.begin_capture(stream, 1)); /* the side stream never comes back */
  OK(cuda.cuEventRecord(event, stream));
  OK(cuda.cuStreamWaitEvent(side, event, 0));
  OK(cuda.cuMemsetD8Async(in, 0, 4, side));
  ck_assert_int_eq(simt.end_capture(stream, &captured), CAPTURE_UNJOINED);
  OK(cuda.cuEventDestroy_v2(event));
  OK(cuda.cuStreamDestroy_v2(stream));
  OK(cuda.cuStreamDestroy_v2(side));
}
END_TEST

static void count(void *user) {
  ++*(int *)user;
}

/* Whoever goes last calls the destructor, late if things are late: a graph, an executable copy, or a launch of that. */
START_TEST(graphs_keep_objects) {
  if (_i)
    setenv("SIMT_ASYNC", "1", 1);
  CUstream stream;
  CUuserObject object;
  graph captured, exec;
  int status, gone = 0;
  unsigned long long id = 0;
  OK(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int drops = 0; drops < 2; drops++) {
    OK(simt.begin_capture(stream, 0));
    OK(cuda.cuStreamGetCaptureInfo_v2(stream, &status, &id, &captured, NULL, NULL));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuda.cuMemsetD8Async(in, 0, 4, stream));
    OK(cuda.cuUserObjectCreate(&object, &gone, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuda.cuGraphRetainUserObject(captured, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    if (!drops)
      ck_assert_int_eq(cuda.cuStreamSynchronize(stream), CAPTURE_UNSUPPORTED);
    if (!drops) { /* and with the capture its graph is gone */
      ck_assert_int_ne(simt.end_capture(stream, &captured), 0);
      OK(cuda.cuInit(0));
      ck_assert_int_eq(gone, 1);
    }
  }
  OK(simt.end_capture(stream, &captured));
  OK(simt.instantiate(&exec, captured, 0));
  OK(simt.destroy_graph(captured));
  ck_assert_int_eq(gone, 1);
  OK(simt.launch_graph(exec, stream));
  OK(simt.destroy_exec(exec));
  OK(cuda.cuStreamSynchronize(stream));
  if (!_i)
    ck_assert_int_eq(gone, 2);
  OK(cuda.cuStreamDestroy_v2(stream));
  ck_assert_int_eq(gone, 2);
}
END_TEST

/* ---- compiling and loading -----------------------------------------------------------------------------------------
 */

START_TEST(errors_come_back_in_the_log) {
  char *cubin, *log;
  ck_assert_int_eq(compile("#include \"device.cuh\"\nno such thing;\n", "--gpu-architecture=sm_90", &cubin, &log),
                   NVRTC_ERROR_COMPILATION);
  ck_assert_msg(strstr(log, "kernels.cu:2") && !strstr(log, "simt-nvrtc"), "%s", log);
  free(cubin);
  free(log);
  ck_assert_int_ne(compile("", "--gpu-architecture=sm_10", &cubin, &log), 0);
  ck_assert_ptr_nonnull(strstr(log, "--gpu-architecture"));
  free(cubin);
  free(log);
  ck_assert_int_ne(compile("", "--bogus", &cubin, &log), 0);
  ck_assert_ptr_nonnull(strstr(log, "unrecognized option --bogus"));
  free(cubin);
  free(log);
}
END_TEST

START_TEST(images_are_checked) {
  char *cubin, *log;
  CUmodule other;
  CUfunction function;
  OK(compile("#include \"device.cuh\"\nRS_KERNEL(32, 1) nothing() {}\n", "--gpu-architecture=sm_90", &cubin, &log));
  ck_assert_ptr_nonnull(strstr(log, "entry function 'nothing'"));
  OK(cuda.cuModuleLoadData(&other, cubin));
  ck_assert_int_eq(cuda.cuModuleGetFunction(&function, other, "none"), NOT_FOUND);
  OK(cuda.cuModuleGetFunction(&function, other, "nothing"));
  int value;
  OK(cuda.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
  OK(cuda.cuLaunchKernel(function, 100, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
  OK(cuda.cuModuleUnload(other));
  setenv("SIMT_ARCH", "80", 1);
  ck_assert_int_eq(cuda.cuModuleLoadData(&other, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
  setenv("SIMT_ARCH", "90", 1);
  cubin[1000] ^= 1;
  ck_assert_int_eq(cuda.cuModuleLoadData(&other, cubin), CUDA_ERROR_INVALID_IMAGE);
  cubin[1000] ^= 1;
  cubin[9] ^= 1;
  ck_assert_int_eq(cuda.cuModuleLoadData(&other, cubin), CUDA_ERROR_INVALID_IMAGE);
  free(cubin);
  free(log);
}
END_TEST

START_TEST(compiles_are_kept) {
  char *cubin, *log;
  long before = simt.nvrtc_compiles();
  for (int i = 0; i < 3; i++) {
    OK(compile("#include \"device.cuh\"\nRS_KERNEL(32, 1) kept() {}\n", "--gpu-architecture=sm_90", &cubin, &log));
    free(cubin);
    free(log);
  }
  ck_assert_int_le(simt.nvrtc_compiles(), before + 1);
}
END_TEST

START_TEST(there_may_be_no_device) {
  setenv("SIMT_DEVICES", "0", 1);
  load();
  ck_assert_int_eq(cuda.cuInit(0), CUDA_ERROR_NO_DEVICE);
}
END_TEST

/* ---- all -----------------------------------------------------------------------------------------------------------
 */

static TCase *add_case(Suite *suite, const char *name) {
  TCase *cases = tcase_create(name);
  tcase_add_checked_fixture(cases, open_all, close_all);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return cases;
}

static void add_grid(Suite *suite) {
  TCase *cases = add_case(suite, "grid");
  tcase_add_test(cases, shuffles_move_values);
  tcase_add_test(cases, barriers_order_shared_memory);
  tcase_add_test(cases, shared_memory_starts_as_poison);
  tcase_add_test(cases, blocks_wait_for_each_other);
  tcase_add_test(cases, parameters_are_several);
  tcase_add_test(cases, whole_warps_may_return);
  tcase_add_test(cases, bulk_copies_take_time);
  tcase_add_test(cases, memory_starts_as_poison);
  tcase_add_test(cases, conversions_round_once);
}

static void add_mistakes(Suite *suite) {
  TCase *cases = add_case(suite, "mistakes");
  tcase_add_loop_test(cases, mistakes_are_fatal, 0, sizeof mistakes / sizeof *mistakes);
  tcase_add_loop_test(cases, misuse_is_fatal, 0, sizeof misuses / sizeof *misuses);
  tcase_add_test(cases, dependent_launches_await);
  tcase_add_test(cases, copies_stay_in_bounds);
  tcase_add_test(cases, memory_is_bounded);
  tcase_add_test(cases, memory_has_a_device);
  tcase_add_test(cases, calls_fail_when_asked);
  tcase_add_test(cases, leaks_are_counted);
}

static void add_races(Suite *suite) {
  TCase *cases = tcase_create("races");
  tcase_add_checked_fixture(cases, open_all_for_races, close_all);
  tcase_set_timeout(cases, 120);
  tcase_add_loop_test(cases, what_is_in_order_races_not, 0, sizeof in_order / sizeof *in_order);
  tcase_add_loop_test(cases, races_are_fatal, 0, sizeof races / sizeof *races);
  suite_add_tcase(suite, cases);
}

static void add_streams(Suite *suite) {
  TCase *cases = add_case(suite, "streams");
  tcase_add_test(cases, a_missing_wait_shows);
  tcase_add_test(cases, the_default_stream_is_in_order);
  tcase_add_test(cases, handles_are_used_again_and_numbers_are_not);
  tcase_add_test(cases, queries_get_ready);
  tcase_add_test(cases, times_go_forward);
  tcase_add_loop_test(cases, captures_replay, 0, 2);
  tcase_add_test(cases, captures_have_rules);
  tcase_add_loop_test(cases, graphs_keep_objects, 0, 2);
}

static void add_modules(Suite *suite) {
  TCase *cases = tcase_create("modules"), *none = tcase_create("none");
  tcase_add_checked_fixture(cases, open_device, close_device);
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, errors_come_back_in_the_log);
  tcase_add_test(cases, images_are_checked);
  tcase_add_test(cases, compiles_are_kept);
  tcase_add_test(none, there_may_be_no_device);
  suite_add_tcase(suite, cases);
  suite_add_tcase(suite, none);
}

/* One compile serves all tests, each of which is a process. */
static char kept[] = "/tmp/simt-test-XXXXXX";

static void remove_kept(void) {
  char command[100];
  snprintf(command, sizeof command, "rm -rf '%s'", kept);
  if (system(command) != 0)
    fprintf(stderr, "%s stays\n", kept);
}

int main(void) {
  if (!mkdtemp(kept))
    return EXIT_FAILURE;
  setenv("SIMT_CACHE_DIR", kept, 1);
  Suite *suite = suite_create("simt");
  add_modules(suite);
  add_grid(suite);
  add_mistakes(suite);
  add_races(suite);
  add_streams(suite);
  int status = run_tests(suite);
  remove_kept();
  return status;
}
