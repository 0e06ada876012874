/*
 * test_nvrtc.c - the layer over NVRTC, with the NVRTC that this machine has
 * SPDX-License-Identifier: MIT
 *
 * Needs no GPU. Where there is no NVRTC it exits with 77. `test_nvrtc hit DIR` is what one of its tests runs: a process
 * of its own that builds from a filled cache and must not load the compiler for it.
 */
#include "../support/cache_help.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <sys/wait.h>

#include "base/library.h"
#include "compile/build.h"
#include "compile/compile.h"
#include "compile/nvrtc.h"
#include "family/tune.h"
#include "spec/arch.h"

static const char canonical[] = "op=none\n";

/* One kernel with 1 KB of shared memory, and one that must spill: 32 registers a thread, 80 values. */
static const char source[] =
    "// takes what it can get\n"
    "#include \"ops.cuh\"\n"
    "extern \"C\" __global__ void few(float *out) {\n"
    "  __shared__ float kept[256];\n"
    "  kept[threadIdx.x] = out[threadIdx.x];\n"
    "  __syncthreads();\n"
    "  out[threadIdx.x] = kept[255 - threadIdx.x] * 3.0f + 1.0f;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(1024, 2) many(const float *in, float *out) {\n"
    "  float v[80];\n"
    "  for (int i = 0; i < 80; i++) v[i] = in[i * 1024 + threadIdx.x];\n"
    "  __syncthreads();\n"
    "  for (int i = 79; i >= 0; i--) out[(i * 1024 + threadIdx.x) * 2] = v[i] / v[(i + 7) % 80];\n"
    "}\n";
static const char small[] =
    "extern \"C\" __global__ void one(float *out, int n) { out[n] = out[0] * out[1] + out[2]; }\n";

static rs_builder *open_builder(const char *dir) {
  rs_store *store = rs_store_open(&(rs_store_options){.dir = dir, .off_by = dir ? NULL : "the program"});
  rs_builder *builder = rs_builder_open(store, rs_nvrtc_open(NULL, NULL), NULL);
  ck_assert_ptr_nonnull(builder);
  return builder;
}

static bool is_loaded(void) {
  char line[1024];
  bool loaded = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    loaded = loaded || strstr(line, "libnvrtc");
  if (maps)
    fclose(maps);
  return loaded;
}

static void check_binary(const rs_binary *binary, int arch) {
  ck_assert_ptr_nonnull(strstr(binary->ptx, path_of(".target sm_%d", arch)));
  ck_assert_uint_eq(strlen(binary->ptx), binary->ptx_bytes);
  ck_assert_uint_gt(binary->cubin_bytes, 64);
  ck_assert_mem_eq(binary->cubin, "\177ELF", 4);
}

START_TEST(architectures_are_told) {
  rs_builder *builder = open_builder(NULL);
  int archs[128], count = 128;
  ck_assert_int_eq(rs_nvrtc_archs(rs_builder_nvrtc(builder), archs, &count), ROWSCAN_OK);
  ck_assert_int_gt(count, 3);
  for (int i = 1; i < count; i++)
    ck_assert_int_lt(archs[i - 1], archs[i]);
  for (int i = 0; i < count; i++) {
    rs_binary binary;
    ck_assert_msg(rs_build(builder, &binary, canonical, small, archs[i], false) == ROWSCAN_OK, "%s",
                  rowscan_last_error());
    check_binary(&binary, archs[i]);
    ck_assert_int_gt(binary.facts.registers, 0);
    rs_binary_free(&binary);
  }
  rs_binary binary;
  ck_assert_int_eq(rs_build(builder, &binary, canonical, small, 77, false), ROWSCAN_NO_COMPILER);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "does not support sm_77; it supports sm_"));
  rs_builder_close(builder);
}
END_TEST

/* PTX of the newest that is known, for the GPU at hand alone. */
START_TEST(a_newer_gpu_has_ptx_of_the_newest) {
  enum { FUTURE = 990 };
  rs_builder *builder = open_builder(NULL);
  int archs[128], count = 128;
  rs_binary binary;
  ck_assert_int_eq(rs_nvrtc_archs(rs_builder_nvrtc(builder), archs, &count), ROWSCAN_OK);
  ck_assert_int_eq(rs_build(builder, &binary, canonical, small, FUTURE, false), ROWSCAN_NO_COMPILER);
  rs_builder_serve(builder, FUTURE);
  ck_assert_msg(rs_build(builder, &binary, canonical, small, FUTURE, false) == ROWSCAN_OK, "%s", rowscan_last_error());
  ck_assert_ptr_nonnull(strstr(binary.ptx, path_of(".target sm_%d", archs[count - 1])));
  ck_assert(!binary.cubin && !binary.cubin_bytes);
  rs_binary_free(&binary);
  ck_assert_int_eq(rs_build(builder, &binary, canonical, small, FUTURE + 1, false), ROWSCAN_NO_COMPILER);
  rs_builder_close(builder);
}
END_TEST

START_TEST(facts_are_those_of_the_kernels) {
  rs_builder *builder = open_builder(NULL);
  rs_binary binary;
  ck_assert_msg(rs_build(builder, &binary, canonical, source, 90, false) == ROWSCAN_OK, "%s", rowscan_last_error());
  check_binary(&binary, 90);
  ck_assert(!binary.cached);
  ck_assert(binary.facts.registers > 16 && binary.facts.registers <= 32);
  ck_assert_int_eq(binary.facts.shared_bytes, 1024);
  ck_assert_int_ge(binary.facts.local_bytes, 64);
  ck_assert_int_ge(binary.facts.spill_bytes, 2 * 64);
  rs_binary_free(&binary);
  ck_assert_int_eq(rs_build(builder, &binary, canonical, small, 90, false), ROWSCAN_OK);
  ck_assert(binary.facts.registers > 0 && binary.facts.registers < 32);
  ck_assert_int_eq(binary.facts.shared_bytes + binary.facts.local_bytes + binary.facts.spill_bytes, 0);
  ck_assert_ptr_nonnull(strstr(binary.ptx, "mul.rn.f32")); /* and no fma */
  ck_assert_ptr_null(strstr(binary.ptx, "fma"));
  rs_binary_free(&binary);
  rs_builder_close(builder);
}
END_TEST

/* As many registers as it has with one block, and no more. */
START_TEST(a_kernel_that_spills_has_fewer_blocks) {
  static const char text[] = "#include \"device.cuh\"\n"
                             "RS_KERNEL(512, 4) many(const float *in, float *out) {\n"
                             "  float v[80];\n"
                             "  for (int i = 0; i < 80; i++) v[i] = in[i * 1024 + threadIdx.x];\n"
                             "  __syncthreads();\n"
                             "  for (int i = 79; i >= 0; i--) out[(i * 1024 + threadIdx.x) * 2] = v[i];\n"
                             "}\n";
  rs_builder *builder = open_builder(NULL);
  rs_binary binary;
  ck_assert_msg(rs_build(builder, &binary, canonical, text, 90, false) == ROWSCAN_OK, "%s", rowscan_last_error());
  check_binary(&binary, 90);
  ck_assert_int_eq(binary.facts.fewer_blocks, 3);
  ck_assert_int_eq(binary.facts.spill_bytes + binary.facts.local_bytes, 0);
  ck_assert(binary.facts.registers > 64 && binary.facts.registers <= 128);
  rs_binary_free(&binary);
  rs_builder_close(builder);
}
END_TEST

/* One of which the assembler of NVRTC 13.0 says that it finds no registers. NVRTC 11.8 ends the process with SIGSEGV.
 */
START_TEST(long_columns_of_products_compile) {
  int archs[RS_MOST_ARCHS], count = RS_MOST_ARCHS;
  rowscan_spec spec = {.size = sizeof spec,
                       .op = ROWSCAN_PROD,
                       .in_type = ROWSCAN_I64,
                       .layout = ROWSCAN_LAYOUT_COLUMNS,
                       .length = INT64_C(1) << 35};
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  rs_geometry geometry = rs_tune(&spec, 90);
  rs_builder *builder = open_builder(NULL);
  rs_binary binary;
  rs_text text = {0};
  rs_emit(&spec, &geometry, RS_KERNEL_ALIGNED, &text);
  ck_assert_int_eq(rs_nvrtc_archs(rs_builder_nvrtc(builder), archs, &count), ROWSCAN_OK);
  if (archs[count - 1] >= 100) { /* those before 12.8 know none */
    ck_assert_msg(rs_build(builder, &binary, canonical, text.data, 90, false) == ROWSCAN_OK, "%s",
                  rowscan_last_error());
    check_binary(&binary, 90);
    ck_assert_int_eq(binary.facts.spill_bytes + binary.facts.local_bytes, 0);
    rs_binary_free(&binary);
  }
  rs_text_free(&text);
  rs_builder_close(builder);
}
END_TEST

START_TEST(a_rejected_source_is_shown) {
  rs_builder *builder = open_builder(NULL);
  rs_binary binary;
  const char *wrong = "#include \"ops.cuh\"\n// fine\nextern \"C\" __global__ void k() { nonsense(); }\n";
  ck_assert_int_eq(rs_build(builder, &binary, canonical, wrong, 90, false), ROWSCAN_COMPILE_FAILED);
  const char *message = rowscan_last_error();
  ck_assert_ptr_nonnull(strstr(message, rs_nvrtc_path(rs_builder_nvrtc(builder))));
  ck_assert_ptr_nonnull(strstr(message, "rowscan.cu(3): error"));
  ck_assert_ptr_nonnull(strstr(message, "\n   3  extern \"C\" __global__ void k() { nonsense(); }"));

  /* What the assembler rejects, after it said all else. */
  wrong = "extern \"C\" __global__ void k(float *o) { __shared__ float s[99999]; s[o[1] > 0] = 1; __syncthreads(); "
          "o[0] = s[1]; }\n";
  ck_assert_int_eq(rs_build(builder, &binary, canonical, wrong, 90, false), ROWSCAN_COMPILE_FAILED);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "too much shared data"));
  ck_assert_ptr_null(strstr(rowscan_last_error(), "ptxas info"));
  rs_builder_close(builder);
}
END_TEST

START_TEST(files_on_disk_are_no_headers) {
  char *parent = parent_of(fresh());
  const char *trap = "#error \"from disk\"\n";
  spill(path_of("%s/ops.cuh", parent), trap, strlen(trap));
  ck_assert_int_eq(chdir(parent), 0);
  rs_builder *builder = open_builder(NULL);
  rs_binary binary;
  ck_assert_msg(rs_build(builder, &binary, canonical, source, 90, false) == ROWSCAN_OK, "%s", rowscan_last_error());
  rs_binary_free(&binary);
  rs_builder_close(builder);
}
END_TEST

/* One that can be told from its head, and does not load: the next one serves, and what it made is found again. */
START_TEST(a_broken_library_is_passed_over) {
  rs_nvrtc *nvrtc = rs_nvrtc_open(NULL, NULL);
  char *real = path_of("%s", rs_nvrtc_path(nvrtc)), *dir = parent_of(fresh()), head[4096] __attribute__((aligned(8)));
  rs_nvrtc_close(nvrtc);
  int fd = open(real, O_RDONLY);
  ck_assert_int_eq(read(fd, head, sizeof head), (ssize_t)sizeof head);
  close(fd);
  Elf64_Ehdr *header = (Elf64_Ehdr *)head;
  Elf64_Phdr *segments = (Elf64_Phdr *)(head + header->e_phoff);
  ck_assert_uint_le(header->e_phoff + header->e_phnum * sizeof *segments, sizeof head);
  for (int i = 0; i < header->e_phnum; i++)
    if (segments[i].p_type == PT_LOAD)
      segments[i].p_type = PT_NULL;
  static const char note[] = {NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0};
  char *id = memmem(head, sizeof head, note, sizeof note);
  if (id) /* else it is told by a digest of the file */
    id[sizeof note] ^= 1;
  char *broken = path_of("%s/libnvrtc.so.13", dir);
  spill(broken, head, sizeof head);
  spill(path_of("%s/libnvrtc-builtins.so.13.0", dir), "", 0);
  setenv("LD_LIBRARY_PATH", path_of("%s:%s", dir, parent_of(real)), 1);
  unsetenv("ROWSCAN_NVRTC");
  char *cache = fresh();
  for (int again = 0; again < 2; again++) {
    rs_builder *builder = open_builder(cache);
    ck_assert_str_eq(rs_nvrtc_path(rs_builder_nvrtc(builder)), broken);
    rs_binary binary;
    ck_assert_msg(rs_build(builder, &binary, canonical, small, 90, false) == ROWSCAN_OK, "%s", rowscan_last_error());
    ck_assert_str_ne(rs_nvrtc_path(rs_builder_nvrtc(builder)), broken);
    ck_assert_int_eq(binary.cached, again);
    rs_binary_free(&binary);
    rs_builder_close(builder);
  }
}
END_TEST

static const char portable[] = "#include \"device.cuh\"\n"
                               "struct To { float *at; };\n"
                               "RS_KERNEL(32, 1) two(RS_PARAMETER(To, to)) { to.at[0] = 1.0f; }\n";

/* The simulated NVRTC, with a build-id of its own, and with what stands for its builtins. */
static char *copy_simulated(const char *from, int flip) {
  char *dir = parent_of(fresh()), *to = path_of("%s/libnvrtc.so.13", dir);
  struct stat status;
  ck_assert_int_eq(stat(from, &status), 0);
  char *bytes = malloc((size_t)status.st_size);
  FILE *file = fopen(from, "rb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fread(bytes, 1, (size_t)status.st_size, file), (size_t)status.st_size);
  fclose(file);
  static const char note[] = {NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0};
  char *id = memmem(bytes, (size_t)status.st_size, note, sizeof note);
  ck_assert_ptr_nonnull(id);
  id[sizeof note] ^= (char)flip;
  spill(to, bytes, (size_t)status.st_size);
  free(bytes);
  spill(path_of("%s/libnvrtc-builtins.so.13.0", dir), "", 0);
  return to;
}

/* The first is found, loads, and has builtins of another version beside it: who compiles sees it. */
START_TEST(one_that_can_not_compile_gives_way_to_the_next) {
  const char *simt = getenv("RS_SIMT");
  char *made = path_of("%s/libnvrtc.so.13", simt ? simt : "");
  if (!simt || access(made, F_OK))
    return;
  char *useless = copy_simulated(made, 1), *good = copy_simulated(made, 2), *cache = fresh();
  setenv("LD_LIBRARY_PATH", path_of("%s:%s", parent_of(useless), parent_of(good)), 1);
  unsetenv("ROWSCAN_NVRTC");
  void *library = dlopen(useless, RTLD_NOW | RTLD_LOCAL);
  void (*fail_call)(const char *, long, int);
  *(void **)&fail_call = library ? dlsym(library, "simt_nvrtc_fail") : NULL;
  ck_assert(library && fail_call);
  for (int again = 0; again < 2; again++) {
    rs_builder *builder = open_builder(cache);
    rs_binary binary;
    ck_assert_str_eq(rs_nvrtc_path(rs_builder_nvrtc(builder)), useless);
    fail_call("nvrtcCompileProgram", 1, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE);
    ck_assert_msg(rs_build(builder, &binary, canonical, portable, 90, false) == ROWSCAN_OK, "%s", rowscan_last_error());
    ck_assert_str_eq(rs_nvrtc_path(rs_builder_nvrtc(builder)), good);
    ck_assert_int_eq(binary.cached, again);
    rs_store_counts counts;
    rs_store_counted(rs_builder_store(builder), &counts, NULL);
    ck_assert_int_eq(counts.of[RS_COUNT_compiles], !again);
    rs_binary_free(&binary);
    rs_builder_close(builder);
  }
}
END_TEST

static bool is_one(void *user, const char *path) {
  return !strcmp(path, user);
}

/* What the process has loaded serves where nothing else does, under whatever name its owner ships it. */
START_TEST(what_the_process_has_loaded_is_found) {
  const char *simt = getenv("RS_SIMT");
  char *made = path_of("%s/libnvrtc.so.13", simt ? simt : "");
  if (!simt || access(made, F_OK))
    return;
  char *copy = copy_simulated(made, 3), *shipped = path_of("%s/libnvrtc-672ee683.so.13", parent_of(copy));
  ck_assert_int_eq(rename(copy, shipped), 0);
  unsetenv("ROWSCAN_NVRTC");
  rs_nvrtc *nvrtc = rs_nvrtc_open(NULL, NULL);
  const rs_nvrtc_calls *calls;
  rowscan_status status;
  while (!(status = rs_nvrtc_load(nvrtc, &calls)) && rs_nvrtc_next(nvrtc, calls)) /* all others are of no use */
    ;
  ck_assert_str_eq(rs_nvrtc_path(nvrtc), "");
  void *library = dlopen(shipped, RTLD_NOW | RTLD_LOCAL);
  ck_assert_ptr_nonnull(library);
  char *loaded = rs_library_loaded(is_one, shipped);
  ck_assert_ptr_nonnull(loaded);
  free(loaded);
  ck_assert_str_eq(rs_nvrtc_path(nvrtc), shipped);
  ck_assert_int_eq(rs_nvrtc_load(nvrtc, &calls), ROWSCAN_OK);
  ck_assert_int_eq(calls->version, 13000);
  ck_assert(!rs_nvrtc_next(nvrtc, calls));
  rs_nvrtc_close(nvrtc);
}
END_TEST

/* In a process that never loaded it: 0 if all is well. */
static int hit(const char *dir) {
  rs_store *store = rs_store_open(&(rs_store_options){.dir = dir});
  rs_builder *builder = rs_builder_open(store, rs_nvrtc_open(NULL, NULL), NULL);
  rs_binary binary = {0};
  if (is_loaded() || rs_build(builder, &binary, canonical, source, 90, false) != ROWSCAN_OK)
    return 1;
  if (!binary.cached || binary.facts.shared_bytes != 1024 || memcmp(binary.cubin, "\177ELF", 4) != 0)
    return 2;
  if (is_loaded())
    return 3;
  rs_binary_free(&binary);
  if (rs_build(builder, &binary, canonical, source, 90, true) != ROWSCAN_OK || !is_loaded())
    return 4;
  rs_binary_free(&binary);
  rs_builder_close(builder);
  return 0;
}

START_TEST(a_filled_cache_needs_no_compiler) {
  char *dir = fresh(), self[PATH_MAX] = {0};
  ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  rs_builder *builder = open_builder(dir);
  rs_binary binary;
  ck_assert_int_eq(rs_build(builder, &binary, canonical, source, 90, false), ROWSCAN_OK);
  rs_binary_free(&binary);
  rs_builder_close(builder);
  pid_t child = fork();
  if (child == 0) {
    execl(self, self, "hit", dir, (char *)NULL);
    _exit(127);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(processes_share_their_work) {
  enum { PROCESSES = 4 };
  char *dir = fresh();
  pid_t children[PROCESSES];
  int compiled = 0;
  for (int i = 0; i < PROCESSES; i++)
    if ((children[i] = fork()) == 0) {
      rs_builder *builder = open_builder(dir);
      rs_binary binary;
      if (rs_build(builder, &binary, canonical, small, 90, false) != ROWSCAN_OK)
        _exit(100);
      rs_store_counts counts;
      rs_store_counted(rs_builder_store(builder), &counts, NULL);
      _exit((int)counts.of[RS_COUNT_compiles]);
    }
  for (int i = 0; i < PROCESSES; i++) {
    int status;
    ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
    ck_assert(WIFEXITED(status));
    compiled += WEXITSTATUS(status);
  }
  ck_assert_int_eq(compiled, 1);
}
END_TEST

static void *build_four(void *builder) {
  static const int archs[] = {80, 86, 89, 90};
  for (int i = 0; i < 4; i++) {
    rs_binary binary;
    ck_assert_int_eq(rs_build(builder, &binary, canonical, small, archs[i], false), ROWSCAN_OK);
    ck_assert_ptr_nonnull(strstr(binary.ptx, ".target sm_"));
    rs_binary_free(&binary);
  }
  return NULL;
}

START_TEST(threads_share_their_work) {
  enum { THREADS = 8 };
  pthread_t threads[THREADS];
  rs_builder *builder = open_builder(fresh());
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, build_four, builder), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  rs_store_counts counts;
  rs_store_counted(rs_builder_store(builder), &counts, NULL);
  ck_assert_int_eq(counts.of[RS_COUNT_compiles], 4);
  ck_assert_int_eq(counts.of[RS_COUNT_misses], 4);
  ck_assert_int_eq(counts.of[RS_COUNT_hits], 4 * (THREADS - 1));
  rs_builder_close(builder);
}
END_TEST

static void on_signal(int number) {
  (void)number;
}

/* While threads compile, too, each of which finds what the others put there. */
START_TEST(handlers_stay_what_they_are) {
  static const int signals[] = {SIGINT, SIGTERM, SIGXFSZ, SIGHUP};
  enum { SIGNALS = sizeof signals / sizeof *signals, THREADS = 4 };
  struct sigaction mine = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK}, before[SIGNALS];
  sigaddset(&mine.sa_mask, SIGUSR1);
  for (int i = 0; i < SIGNALS; i++) {
    ck_assert(!sigaction(signals[i], &mine, NULL));
    ck_assert(!sigaction(signals[i], NULL, &before[i]));
  }
  pthread_t threads[THREADS];
  rs_builder *builder = open_builder(NULL);
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, build_four, builder), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  rs_builder_close(builder);
  for (int i = 0; i < SIGNALS; i++) {
    struct sigaction now;
    ck_assert(!sigaction(signals[i], NULL, &now));
    ck_assert(now.sa_handler == on_signal);
    ck_assert_int_eq(now.sa_flags, before[i].sa_flags);
    ck_assert_int_eq(sigismember(&now.sa_mask, SIGUSR1), 1);
  }
}
END_TEST

int main(int count, char **arguments) {
  if (count == 3 && strcmp(arguments[1], "hit") == 0)
    return hit(arguments[2]);
  rs_nvrtc *nvrtc = rs_nvrtc_open(NULL, NULL);
  const char *id = NULL;
  bool there = nvrtc && rs_nvrtc_id(nvrtc, &id) == ROWSCAN_OK;
  if (there)
    printf("%s, build %s\n", rs_nvrtc_path(nvrtc), id);
  else
    printf("skipped: %s\n", rowscan_last_error());
  rs_nvrtc_close(nvrtc);
  if (!there)
    return 77;
  Suite *suite = suite_create("nvrtc");
  TCase *threads = add_case(suite, "threads");
  tcase_add_test(threads, processes_share_their_work);
  tcase_add_test(threads, threads_share_their_work);
  tcase_add_test(threads, handlers_stay_what_they_are);

  TCase *cases = add_case(suite, "one thread");
  tcase_set_tags(cases, "alone");
  tcase_add_test(cases, architectures_are_told);
  tcase_add_test(cases, a_newer_gpu_has_ptx_of_the_newest);
  tcase_add_test(cases, facts_are_those_of_the_kernels);
  tcase_add_test(cases, a_kernel_that_spills_has_fewer_blocks);
  tcase_add_test(cases, long_columns_of_products_compile);
  tcase_add_test(cases, a_rejected_source_is_shown);
  tcase_add_test(cases, files_on_disk_are_no_headers);
  tcase_add_test(cases, a_broken_library_is_passed_over);
  tcase_add_test(cases, one_that_can_not_compile_gives_way_to_the_next);
  tcase_add_test(cases, what_the_process_has_loaded_is_found);
  tcase_add_test(cases, a_filled_cache_needs_no_compiler);
  return run_suite(suite);
}
