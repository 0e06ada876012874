/*
 * compile.c - one source through NVRTC
 * SPDX-License-Identifier: MIT
 *
 * A compile for a real architecture (sm_90) gives PTX as well as CUBIN, with every NVRTC from 11.8 on; one for a
 * virtual architecture (compute_90) gives PTX, which drivers compile for it and all that came after it.
 *
 * How many registers a kernel needs is known once it is compiled. One that spills is compiled again with launch bounds
 * of fewer blocks a multiprocessor, and one on which the assembler fails with less of its optimization. Neither changes
 * what the kernel computes, or how it is launched. Which of these compiles is taken depends on the source, the
 * architecture and the compiler alone, so that the key, which has all three, need not say it; the facts do.
 */
#include "compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bounds.h"
#include "handlers.h"
#include "kernels.h"
#include "spec/arch.h"

/* fmad: a product and a sum are fused only where a kernel says so, or the bits would depend on the compiler. */
const char *const rs_compile_options[] = {"--std=c++17", "--fmad=false", NULL};

/* More than there are. */
enum { MOST_OPTIONS = 8 };

/* What a message shows of a log; the source comes after it. */
enum { MOST_LOG = 8000 };

/* NVRTC keeps compiles of its own in the driver's cache since then, and says nothing of registers when it finds one. */
enum { FIRST_WITH_CACHE = 12090 };

/* How a compile differs from the first one of its source. */
typedef struct attempt {
  int fewer_blocks;   /* RS_FEWER_BLOCKS of kernels/device.cuh */
  bool cautious;      /* the assembler optimizes less */
  bool without_facts; /* and tells its errors */
} attempt;

typedef struct compiler {
  rs_nvrtc *nvrtc;
  const rs_nvrtc_calls *calls;
  const char *source;
  nvrtcProgram program;
  int arch;     /* that it compiles for */
  bool virtual; /* PTX alone */
} compiler;

#define CALL(compiler, call, ...) check_call(compiler, (compiler)->calls->call(__VA_ARGS__), #call)

static rowscan_status check_call(const compiler *c, nvrtcResult result, const char *call) {
  return result == NVRTC_SUCCESS ? ROWSCAN_OK : rs_nvrtc_failed(c->nvrtc, c->calls, result, call);
}

static rowscan_status tell_known(const compiler *c, int arch, const int *known, int count) {
  char text[512];
  rs_text list = {0};
  for (int i = 0; i < count; i++)
    rs_text_add(&list, " sm_%d", known[i]);
  rowscan_status status =
      rs_fail(ROWSCAN_NO_COMPILER, "%s does not support sm_%d; it supports%s",
              rs_nvrtc_describe(c->nvrtc, text, sizeof text), arch, list.data ? list.data : " no architecture");
  rs_text_free(&list);
  return status;
}

/* What to compile for, which as_ptx may be an older one. *way_out: whether it may be. */
static rowscan_status choose_arch(compiler *c, int arch, bool as_ptx, rs_way_out *way_out) {
  if (arch < RS_OLDEST_ARCH)
    return rs_fail(ROWSCAN_UNSUPPORTED, "sm_%d is older than sm_%d, the oldest supported architecture", arch,
                   RS_OLDEST_ARCH);
  int known[RS_MOST_ARCHS], count = RS_MOST_ARCHS, upto = 0;
  rowscan_status status = rs_nvrtc_archs(c->nvrtc, known, &count);
  if (status != ROWSCAN_OK)
    return status;
  while (upto < count && known[upto] <= arch)
    upto++;
  c->arch = upto ? known[upto - 1] : 0;
  c->virtual = c->arch != arch;
  if (!c->virtual || (as_ptx && c->arch))
    return ROWSCAN_OK;
  *way_out = c->arch ? RS_WAY_PTX : RS_WAY_NONE;
  return tell_known(c, arch, known, count);
}

static void destroy(compiler *c) {
  if (c->program)
    c->calls->nvrtcDestroyProgram(&c->program);
  c->program = NULL;
}

/* In place of the program that there is. */
static rowscan_status create_program(compiler *c) {
  size_t count = (size_t)rs_kernel_count;
  const char **texts = malloc(2 * (count + 1) * sizeof *texts);
  if (!texts)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the headers of a kernel");
  const char **names = texts + count;
  destroy(c);
  for (size_t i = 0; i < count; i++) {
    texts[i] = rs_kernel_files[i].text;
    names[i] = rs_kernel_files[i].name;
  }
  rowscan_status status =
      CALL(c, nvrtcCreateProgram, &c->program, c->source, "rowscan.cu", rs_kernel_count, texts, names);
  free(texts);
  return status;
}

/* Two calls give each output: how many bytes, the last of which is NUL in texts, and the bytes. */
typedef nvrtcResult size_call(nvrtcProgram program, size_t *bytes);
typedef nvrtcResult bytes_call(nvrtcProgram program, char *bytes);

static rowscan_status fetch(const compiler *c, size_call *ask, bytes_call *get, const char *call, char **to,
                            size_t *bytes) {
  size_t count = 0;
  rowscan_status status = check_call(c, ask(c->program, &count), call);
  if (status != ROWSCAN_OK)
    return status;
  char *data = count < SIZE_MAX ? malloc(count + 1) : NULL;
  if (!data)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the %zu bytes of %s", count, call);
  data[0] = data[count] = 0;
  status = count ? check_call(c, get(c->program, data), call) : ROWSCAN_OK;
  if (status != ROWSCAN_OK) {
    free(data);
    return status;
  }
  *to = data;
  *bytes = count;
  return ROWSCAN_OK;
}

static char *fetch_log(const compiler *c) {
  char *log = NULL;
  size_t bytes;
  const rs_nvrtc_calls *calls = c->calls;
  rowscan_status status =
      fetch(c, calls->nvrtcGetProgramLogSize, calls->nvrtcGetProgramLog, "nvrtcGetProgramLog", &log, &bytes);
  return status == ROWSCAN_OK ? log : NULL;
}

static rowscan_status rejected(const compiler *c, nvrtcResult result, const char *log) {
  char text[512];
  rs_text numbered = {0};
  rs_text_numbered(&numbered, c->source);
  const char *error = c->calls->nvrtcGetErrorString(result);
  rowscan_status status = result == NVRTC_ERROR_OUT_OF_MEMORY               ? ROWSCAN_OUT_OF_MEMORY
                          : result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ? ROWSCAN_NO_COMPILER
                                                                            : ROWSCAN_COMPILE_FAILED;
  rs_fail_lines(status, "%s does not compile for %s_%d: %s (%d)\n%.*s\n%s",
                rs_nvrtc_describe(c->nvrtc, text, sizeof text), c->virtual ? "compute" : "sm", c->arch,
                error ? error : "unknown error", result, MOST_LOG, log, numbered.failed ? c->source : numbered.data);
  rs_text_free(&numbered);
  return status;
}

/* A log that can't be had is not worth failing for: facts are then not known. */
static nvrtcResult run(const compiler *c, const attempt *as, rs_compiled *compiled) {
  const char *options[MOST_OPTIONS];
  char arch_option[64], blocks_option[64];
  int count = 0;
  snprintf(arch_option, sizeof arch_option, "--gpu-architecture=%s_%d", c->virtual ? "compute" : "sm", c->arch);
  options[count++] = arch_option;
  for (const char *const *option = rs_compile_options; *option; option++)
    options[count++] = *option;
  snprintf(blocks_option, sizeof blocks_option, "-DRS_FEWER_BLOCKS=%d", as->fewer_blocks);
  if (as->fewer_blocks)
    options[count++] = blocks_option;
  if (as->cautious)
    options[count++] = "--ptxas-options=-O1";
  if (!as->without_facts && !c->virtual)
    options[count++] = "--ptxas-options=-v";
  if (c->calls->version >= FIRST_WITH_CACHE)
    options[count++] = "--no-cache";
  rs_handlers_keep();
  nvrtcResult result = c->calls->nvrtcCompileProgram(c->program, count, options);
  rs_handlers_restore();
  char *log = fetch_log(c);
  rs_text_free(&compiled->warnings);
  compiled->facts = rs_facts_from_log(log ? log : "", &compiled->warnings);
  compiled->facts.fewer_blocks = as->fewer_blocks;
  free(log);
  return result;
}

/* NVRTC (11.8 to 13.5) loses most of the assembler's errors when it is to tell facts. */
static bool says_nothing(const rs_compiled *compiled) {
  return !compiled->warnings.length;
}

static bool assembler_failed(nvrtcResult result, const rs_compiled *compiled) {
  return result == NVRTC_ERROR_COMPILATION &&
         (says_nothing(compiled) || strstr(compiled->warnings.data, "ptxas fatal") != NULL);
}

/* The other one takes its place if it is better, and the worse one is freed. */
static bool replace(rs_compiled *compiled, rs_compiled *other, bool better) {
  rs_compiled worse = better ? *compiled : *other;
  if (better)
    *compiled = *other;
  rs_compiled_free(&worse);
  return better;
}

/*
 * The assembler of NVRTC 13.0 finds no registers for some columns of 64-bit products on sm_90 (error C7600, "register
 * count of '7'"), and finds them when it optimizes less.
 */
static bool run_cautiously(compiler *c, int fewer_blocks, rs_compiled *compiled) {
  rs_compiled other = {0};
  const attempt as = {.fewer_blocks = fewer_blocks, .cautious = true};
  return replace(compiled, &other, create_program(c) == ROWSCAN_OK && run(c, &as, &other) == NVRTC_SUCCESS);
}

/* What is told is what was said of the first compile. */
static rowscan_status run_and_explain(compiler *c, int fewer_blocks, rs_compiled *compiled) {
  attempt as = {.fewer_blocks = fewer_blocks};
  rowscan_status status = create_program(c);
  if (status != ROWSCAN_OK)
    return status;
  nvrtcResult result = run(c, &as, compiled);
  if (result == NVRTC_SUCCESS || (assembler_failed(result, compiled) && run_cautiously(c, fewer_blocks, compiled)))
    return ROWSCAN_OK;
  as.without_facts = true;
  if (result == NVRTC_ERROR_COMPILATION && says_nothing(compiled) && create_program(c) == ROWSCAN_OK)
    run(c, &as, compiled);
  status = rejected(c, result, compiled->warnings.data ? compiled->warnings.data : "");
  if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE && rs_nvrtc_next(c->nvrtc, c->calls))
    compiled->way_out = RS_WAY_NEXT;
  return status;
}

static rowscan_status take_results(const compiler *c, rs_compiled *compiled) {
  const rs_nvrtc_calls *calls = c->calls;
  rowscan_status status =
      fetch(c, calls->nvrtcGetPTXSize, calls->nvrtcGetPTX, "nvrtcGetPTX", &compiled->ptx, &compiled->ptx_bytes);
  if (status != ROWSCAN_OK)
    return status;
  compiled->ptx_bytes = strlen(compiled->ptx);
  if (!c->virtual)
    status = fetch(c, calls->nvrtcGetCUBINSize, calls->nvrtcGetCUBIN, "nvrtcGetCUBIN", &compiled->cubin,
                   &compiled->cubin_bytes);
  if (status == ROWSCAN_OK && (!compiled->ptx_bytes || (!c->virtual && !compiled->cubin_bytes)))
    status = rs_fail(ROWSCAN_COMPILE_FAILED, "NVRTC returned no %s", compiled->ptx_bytes ? "CUBIN" : "PTX");
  return status;
}

static rowscan_status compile_with(compiler *c, int fewer_blocks, rs_compiled *compiled) {
  rowscan_status status = run_and_explain(c, fewer_blocks, compiled);
  return status == ROWSCAN_OK ? take_results(c, compiled) : status;
}

/* Of the compiles with fewer and fewer blocks that with the least local memory, spills included; of equals the first.
 */
static void mend_spills(compiler *c, rs_compiled *compiled) {
  rs_bounds bounds = rs_bounds_read(compiled->ptx);
  int fewer = 0;
  while (compiled->facts.local_bytes && (fewer = rs_bounds_lower(&bounds, fewer))) {
    rs_compiled other = {0};
    bool better = compile_with(c, fewer, &other) == ROWSCAN_OK && other.facts.local_bytes < compiled->facts.local_bytes;
    replace(compiled, &other, better);
  }
}

static rowscan_status compile_source(rs_nvrtc *nvrtc, const char *source, int arch, bool as_ptx,
                                     rs_compiled *compiled) {
  *compiled = (rs_compiled){0};
  compiler c = {.nvrtc = nvrtc, .source = source};
  rs_nvrtc_enter();
  rowscan_status status = rs_nvrtc_load(nvrtc, &c.calls);
  if (status == ROWSCAN_OK)
    status = choose_arch(&c, arch, as_ptx, &compiled->way_out);
  double start = rs_now_ms();
  if (status == ROWSCAN_OK)
    status = compile_with(&c, 0, compiled);
  if (status == ROWSCAN_OK)
    mend_spills(&c, compiled);
  compiled->facts.compile_us = (int)(1e3 * (rs_now_ms() - start));
  destroy(&c);
  rs_nvrtc_leave();
  return status;
}

rowscan_status rs_compile(rs_nvrtc *nvrtc, const char *source, int arch, rs_compiled *compiled) {
  return compile_source(nvrtc, source, arch, false, compiled);
}

rowscan_status rs_compile_ptx(rs_nvrtc *nvrtc, const char *source, int arch, rs_compiled *compiled) {
  return compile_source(nvrtc, source, arch, true, compiled);
}

void rs_compiled_free(rs_compiled *compiled) {
  free(compiled->ptx);
  free(compiled->cubin);
  rs_text_free(&compiled->warnings);
  *compiled = (rs_compiled){0};
}
