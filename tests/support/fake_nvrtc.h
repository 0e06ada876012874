/*
 * fake_nvrtc.h - a compiler of our own making, as a table of NVRTC's calls
 * SPDX-License-Identifier: MIT
 *
 * Its calls count what is asked of them, by all threads and processes, and fail when told to. What they compile to is
 * text about the compile. Kernels spill, unless told->roomy says how many blocks have room; then that text has their
 * launch bounds, as PTX has them. A test case that uses it has fresh_tally as a fixture.
 */
#ifndef RS_FAKE_NVRTC_H
#define RS_FAKE_NVRTC_H

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/text.h"
#include "compile/build.h"
#include "compile/kernels.h"
#include "compile/nvrtc.h"

typedef struct tally {
  atomic_int calls, compiles, programs;
  atomic_int busy, busiest; /* compiles at a time, now and the most there were */
  atomic_int wrong;         /* headers that are not those of kernels/ */
  int fail_at;              /* the call that fails, counted from 1; 0: none */
  nvrtcResult fail_with;    /* NVRTC_ERROR_... */
  int compile_ms;
  int roomy;       /* the most blocks of RS_KERNEL() with which a kernel does not spill; -1: none; 0: not told */
  int archs;       /* the first of known_archs, which it knows; 0: all */
  char failed[64]; /* name of the call that failed */
} tally;

static tally *told; /* shared with children */

enum { INTERNAL_ERROR = 11 };

struct _nvrtcProgram {
  rs_text ptx, log;
  int blocks; /* of its launch bounds; 0: they are not told */
  bool failed;
};

static const int known_archs[] = {75, 80, 90, 120};

static nvrtcResult answer(const char *call, nvrtcResult result) {
  if (++told->calls != told->fail_at)
    return result;
  snprintf(told->failed, sizeof told->failed, "%s", call);
  return told->fail_with;
}
#define FAIL_IF_TOLD()                                                                                                 \
  do {                                                                                                                 \
    nvrtcResult told_to = answer(__func__, NVRTC_SUCCESS);                                                             \
    if (told_to != NVRTC_SUCCESS)                                                                                      \
      return told_to;                                                                                                  \
  } while (0)

static nvrtcResult nvrtcVersion(int *major, int *minor) {
  *major = 13, *minor = 0;
  return NVRTC_SUCCESS;
}

static nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  FAIL_IF_TOLD();
  *count = told->archs ? told->archs : (int)(sizeof known_archs / sizeof *known_archs);
  return NVRTC_SUCCESS;
}

static nvrtcResult nvrtcGetSupportedArchs(int *archs) {
  FAIL_IF_TOLD();
  memcpy(archs, known_archs, told->archs ? (size_t)told->archs * sizeof *archs : sizeof known_archs);
  return NVRTC_SUCCESS;
}

static void add_bounds(nvrtcProgram program, const char *source) {
  const char *kernel = told->roomy ? strstr(source, "RS_KERNEL(") : NULL;
  int threads;
  if (kernel && sscanf(kernel, "RS_KERNEL(%d, %d)", &threads, &program->blocks) == 2)
    rs_text_add(&program->ptx, ".maxntid %d\n.minnctapersm %d\n", threads, program->blocks);
}

static nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int headers,
                                      const char *const *texts, const char *const *names) {
  FAIL_IF_TOLD();
  told->wrong += strcmp(name, "rowscan.cu") != 0 || headers != rs_kernel_count;
  for (int i = 0; i < headers; i++)
    told->wrong += strcmp(names[i], rs_kernel_files[i].name) != 0 || strcmp(texts[i], rs_kernel_files[i].text) != 0;
  *program = calloc(1, sizeof **program);
  if (!*program)
    return NVRTC_ERROR_OUT_OF_MEMORY;
  rs_text_add(&(*program)->ptx, "source: %s\n", source);
  add_bounds(*program, source);
  rs_text_add(&(*program)->ptx, "options:");
  if ((*program)->ptx.failed) {
    rs_text_free(&(*program)->ptx);
    free(*program);
    *program = NULL;
    return NVRTC_ERROR_OUT_OF_MEMORY;
  }
  (*program)->failed = strstr(source, "mistake") != NULL;
  told->programs++;
  return NVRTC_SUCCESS;
}

static nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
  rs_text_free(&(*program)->ptx);
  rs_text_free(&(*program)->log);
  free(*program);
  *program = NULL;
  told->programs--;
  return answer(__func__, NVRTC_SUCCESS);
}

static bool has_option(nvrtcProgram program, const char *option) {
  return !program->ptx.failed && strstr(program->ptx.data, option);
}

static bool has_room(nvrtcProgram program) {
  static const char option[] = " -DRS_FEWER_BLOCKS=";
  int fewer = has_option(program, option) ? atoi(strstr(program->ptx.data, option) + strlen(option)) : 0;
  return program->blocks && program->blocks - fewer <= told->roomy;
}

static nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int options, const char *const *option) {
  told->compiles++;
  int busy = ++told->busy, most = told->busiest;
  while (busy > most && !atomic_compare_exchange_weak(&told->busiest, &most, busy))
    ;
  nanosleep(&(struct timespec){.tv_nsec = told->compile_ms * 1000000L}, NULL);
  told->busy--;
  for (int i = 0; i < options; i++)
    rs_text_add(&program->ptx, " %s", option[i]);
  rs_text_add(&program->log,
              "ptxas info    : 0 bytes gmem\n"
              "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
              "ptxas         .     %s\n"
              "ptxas info    : Used 24 registers, used 1 barriers, 512 bytes smem\n",
              has_room(program) ? "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
                                : "64 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads");
  if (has_option(program, "overoptimized") && has_option(program, " --ptxas-options=-O1"))
    program->failed = false;
  bool silent = has_option(program, " --ptxas-options=-v") && has_option(program, "late mistake"); /* as NVRTC itself */
  if (program->failed && !silent)
    rs_text_add(&program->log, "rowscan.cu(2): error: there is a mistake\n");
  FAIL_IF_TOLD();
  if (program->ptx.failed || program->log.failed)
    return NVRTC_ERROR_OUT_OF_MEMORY;
  return program->failed ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

static nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) {
  *bytes = program->ptx.length + 1;
  return answer(__func__, NVRTC_SUCCESS);
}

static nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx) {
  memcpy(ptx, program->ptx.data, program->ptx.length + 1);
  return answer(__func__, NVRTC_SUCCESS);
}

static nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
  *bytes = 7 + program->ptx.length % 5;
  return answer(__func__, NVRTC_SUCCESS);
}

static nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
  memcpy(cubin, "\177ELF\0\1\2\3\4\5\6", 7 + program->ptx.length % 5);
  return answer(__func__, NVRTC_SUCCESS);
}

static nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
  *bytes = program->log.length + 1;
  return answer(__func__, NVRTC_SUCCESS);
}

static nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
  memcpy(log, program->log.data ? program->log.data : "", program->log.length + 1);
  return answer(__func__, NVRTC_SUCCESS);
}

static const char *nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}

static const char compiler_id[] = "0123456789abcdef";

static inline rs_nvrtc *make_compiler_of(int version, const char *id) {
  rs_nvrtc_calls calls = {
#define X(symbol, parameters) .symbol = symbol,
      RS_NVRTC_CALLS(X)
#undef X
          .nvrtcGetErrorString = nvrtcGetErrorString,
      .version = version};
  return rs_nvrtc_from_table(&calls, id);
}

static inline rs_nvrtc *make_compiler(int version) {
  return make_compiler_of(version, compiler_id);
}

/* Whether it is what this compiler (as make_compiler(13000)) makes of a source. For any thread. */
static inline bool is_made_from(const rs_binary *binary, const char *source, int arch) {
  rs_text ptx = {0};
  rs_text_add(&ptx,
              "source: %s\noptions: --gpu-architecture=sm_%d --std=c++17 --fmad=false --ptxas-options=-v --no-cache",
              source, arch);
  bool same = !ptx.failed && strcmp(binary->ptx, ptx.data) == 0 && binary->ptx_bytes == ptx.length &&
              binary->cubin_bytes == 7 + ptx.length % 5 &&
              memcmp(binary->cubin, "\177ELF\0\1\2\3\4\5\6", binary->cubin_bytes) == 0 &&
              binary->facts.registers == 24 && binary->facts.shared_bytes == 512 && binary->facts.local_bytes == 64 &&
              binary->facts.spill_bytes == 36;
  rs_text_free(&ptx);
  return same;
}

static void fresh_tally(void) {
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert(told != MAP_FAILED);
}

#endif
