/*
 * compile.c - one source through NVRTC
 * SPDX-License-Identifier: MIT
 *
 * A compile for a real architecture (sm_90) gives PTX as well as CUBIN, with every NVRTC from 11.8 on.
 */
#include "compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "clock.h"
#include "handlers.h"
#include "kernels.h"

/* fmad: a product and a sum are fused only where a kernel says so, or the bits would depend on the compiler. */
const char *const rs_compile_options[] = {"--std=c++17", "--fmad=false", NULL};

/* More than there are. */
enum { MOST_OPTIONS = 8 };

/* What a story shows of a log; the source comes after it. */
enum { MOST_LOG = 8000 };

/* NVRTC keeps compiles of its own in the driver's cache since then, and says nothing of registers when it finds one. */
enum { FIRST_WITH_CACHE = 12090 };

typedef struct compiler {
  rs_nvrtc *nvrtc;
  const rs_nvrtc_calls *calls;
  nvrtcProgram program;
} compiler;

#define CALL(compiler, call, ...) check(compiler, (compiler)->calls->call(__VA_ARGS__), #call)

static rowscan_status check(const compiler *c, nvrtcResult result, const char *call) {
  return result == NVRTC_SUCCESS ? ROWSCAN_OK : rs_nvrtc_failed(c->nvrtc, c->calls, result, call);
}

static rowscan_status check_arch(const compiler *c, int arch) {
  if (arch < RS_OLDEST_ARCH)
    return rs_fail(ROWSCAN_UNSUPPORTED, "sm_%d is older than sm_%d, the oldest that kernels are made for", arch,
                   RS_OLDEST_ARCH);
  int known[RS_MOST_ARCHS], count = RS_MOST_ARCHS;
  rowscan_status status = rs_nvrtc_archs(c->nvrtc, known, &count);
  if (status != ROWSCAN_OK)
    return status;
  rs_text list = {0};
  for (int i = 0; i < count; i++) {
    if (known[i] == arch) {
      rs_text_free(&list);
      return ROWSCAN_OK;
    }
    rs_text_add(&list, " sm_%d", known[i]);
  }
  char text[512];
  status = rs_fail(ROWSCAN_NO_COMPILER, "%s does not know sm_%d; it knows%s",
                   rs_nvrtc_describe(c->nvrtc, text, sizeof text), arch, list.data ? list.data : " none");
  rs_text_free(&list);
  return status;
}

static rowscan_status create(compiler *c, const char *source) {
  size_t count = (size_t)rs_kernel_count;
  const char **texts = malloc(2 * (count + 1) * sizeof *texts);
  if (!texts)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the names of headers");
  const char **names = texts + count;
  for (size_t i = 0; i < count; i++) {
    texts[i] = rs_kernel_files[i].text;
    names[i] = rs_kernel_files[i].name;
  }
  rowscan_status status = CALL(c, nvrtcCreateProgram, &c->program, source, "rowscan.cu", rs_kernel_count, texts, names);
  free(texts);
  return status;
}

/* Two calls give each output: how many bytes, the last of which is NUL in texts, and the bytes. */
typedef nvrtcResult size_call(nvrtcProgram program, size_t *bytes);
typedef nvrtcResult bytes_call(nvrtcProgram program, char *bytes);

static rowscan_status fetch(const compiler *c, size_call *ask, bytes_call *get, const char *call, char **to,
                            size_t *bytes) {
  size_t count = 0;
  rowscan_status status = check(c, ask(c->program, &count), call);
  if (status != ROWSCAN_OK)
    return status;
  char *data = count < SIZE_MAX ? malloc(count + 1) : NULL;
  if (!data)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the %zu bytes of %s", count, call);
  data[0] = data[count] = 0;
  status = count ? check(c, get(c->program, data), call) : ROWSCAN_OK;
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

static rowscan_status rejected(const compiler *c, nvrtcResult result, const char *source, int arch, const char *log) {
  char text[512];
  rs_text numbered = {0};
  rs_text_numbered(&numbered, source);
  const char *error = c->calls->nvrtcGetErrorString(result);
  rowscan_status status = result == NVRTC_ERROR_OUT_OF_MEMORY               ? ROWSCAN_OUT_OF_MEMORY
                          : result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ? ROWSCAN_NO_COMPILER
                                                                            : ROWSCAN_COMPILE_FAILED;
  rs_fail_lines(status, "%s does not compile for sm_%d: %s (%d)\n%.*s\n%s",
                rs_nvrtc_describe(c->nvrtc, text, sizeof text), arch, error ? error : "unknown error", result, MOST_LOG,
                log, numbered.failed ? source : numbered.data);
  rs_text_free(&numbered);
  return status;
}

/* A log that can't be had is not worth failing for: facts are then not known. */
static nvrtcResult run(const compiler *c, int arch, bool with_facts, rs_compiled *compiled) {
  const char *options[MOST_OPTIONS];
  char arch_option[64];
  int count = 0;
  snprintf(arch_option, sizeof arch_option, "--gpu-architecture=sm_%d", arch);
  options[count++] = arch_option;
  for (const char *const *option = rs_compile_options; *option; option++)
    options[count++] = *option;
  if (with_facts)
    options[count++] = "--ptxas-options=-v";
  if (c->calls->version >= FIRST_WITH_CACHE)
    options[count++] = "--no-cache";
  rs_handlers_keep();
  nvrtcResult result = c->calls->nvrtcCompileProgram(c->program, count, options);
  rs_handlers_restore();
  char *log = fetch_log(c);
  compiled->facts = rs_facts_from_log(log ? log : "", &compiled->warnings);
  free(log);
  return result;
}

static void destroy(compiler *c) {
  if (c->program)
    c->calls->nvrtcDestroyProgram(&c->program);
  c->program = NULL;
}

/* NVRTC (11.8 to 13.5) loses the assembler's errors when it is to tell facts: they are had by a compile without them.
 */
static rowscan_status run_and_explain(compiler *c, const char *source, int arch, rs_compiled *compiled) {
  nvrtcResult result = run(c, arch, true, compiled);
  if (result == NVRTC_SUCCESS)
    return ROWSCAN_OK;
  if (result == NVRTC_ERROR_COMPILATION && !compiled->warnings.length) {
    destroy(c);
    if (create(c, source) == ROWSCAN_OK)
      run(c, arch, false, compiled);
  }
  return rejected(c, result, source, arch, compiled->warnings.data ? compiled->warnings.data : "");
}

static rowscan_status take(const compiler *c, rs_compiled *compiled) {
  const rs_nvrtc_calls *calls = c->calls;
  rowscan_status status =
      fetch(c, calls->nvrtcGetPTXSize, calls->nvrtcGetPTX, "nvrtcGetPTX", &compiled->ptx, &compiled->ptx_bytes);
  if (status != ROWSCAN_OK)
    return status;
  compiled->ptx_bytes = strlen(compiled->ptx);
  status = fetch(c, calls->nvrtcGetCUBINSize, calls->nvrtcGetCUBIN, "nvrtcGetCUBIN", &compiled->cubin,
                 &compiled->cubin_bytes);
  if (status == ROWSCAN_OK && (!compiled->ptx_bytes || !compiled->cubin_bytes))
    status = rs_fail(ROWSCAN_COMPILE_FAILED, "NVRTC gave no %s", compiled->ptx_bytes ? "CUBIN" : "PTX");
  return status;
}

rowscan_status rs_compile(rs_nvrtc *nvrtc, const char *source, int arch, rs_compiled *compiled) {
  *compiled = (rs_compiled){0};
  compiler c = {.nvrtc = nvrtc};
  rowscan_status status = rs_nvrtc_load(nvrtc, &c.calls);
  if (status == ROWSCAN_OK)
    status = check_arch(&c, arch);
  double start = rs_now_ms();
  if (status == ROWSCAN_OK)
    status = create(&c, source);
  if (status == ROWSCAN_OK)
    status = run_and_explain(&c, source, arch, compiled);
  if (status == ROWSCAN_OK)
    status = take(&c, compiled);
  compiled->facts.compile_us = (int)(1e3 * (rs_now_ms() - start));
  destroy(&c);
  return status;
}

void rs_compiled_free(rs_compiled *compiled) {
  free(compiled->ptx);
  free(compiled->cubin);
  rs_text_free(&compiled->warnings);
  *compiled = (rs_compiled){0};
}
