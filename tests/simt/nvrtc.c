/*
 * nvrtc.c - a simulated libnvrtc.so: what it makes runs on the simulated driver
 * SPDX-License-Identifier: MIT
 *
 * A CUBIN is an image (image.h), and PTX a text that names the kernels and shows the source; that of a virtual
 * architecture has the image in it, for the driver to "compile". SIMT_NVRTC_VERSION (13000) is the version it says it
 * has, SIMT_NVRTC_NEWEST (121) the newest architecture that it knows.
 */
#include "compile/nvrtc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "compiler.h"
#include "image.h"
#include "report.h"
#include "simt.h"

#define X(symbol, parameters) SIMT_EXPORT nvrtcResult symbol parameters;
RS_NVRTC_CALLS(X)
#undef X
SIMT_EXPORT const char *nvrtcGetErrorString(nvrtcResult result);

enum { INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5, MAX_ENTRIES = 32 };

static const int archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
enum { ARCHS = sizeof archs / sizeof *archs };

static int known_archs(void) {
  int count = 0;
  while (count < ARCHS && archs[count] <= simt_setting("SIMT_NVRTC_NEWEST", archs[ARCHS - 1]))
    count++;
  return count;
}

struct _nvrtcProgram {
  simt_source source;
  bool real, told; /* an architecture that is real; facts were asked for */
  simt_bytes image, ptx, log;
  nvrtcProgram next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static simt_counts counts = {.variable = "SIMT_NVRTC_FAIL"};
static nvrtcProgram programs;
static long compiles;

static nvrtcResult enter(const char *symbol) {
  pthread_mutex_lock(&mutex);
  nvrtcResult error = simt_counts_enter(&counts, symbol);
  pthread_mutex_unlock(&mutex);
  return error;
}

/* ---- facts ---------------------------------------------------------------------------------------------------------
 */

nvrtcResult nvrtcVersion(int *major, int *minor) {
  nvrtcResult error = enter(__func__);
  int version = (int)simt_setting("SIMT_NVRTC_VERSION", 13000);
  if (error)
    return error;
  *major = version / 1000;
  *minor = version % 1000 / 10;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  nvrtcResult error = enter(__func__);
  if (!error)
    *count = known_archs();
  return error;
}

nvrtcResult nvrtcGetSupportedArchs(int *to) {
  nvrtcResult error = enter(__func__);
  if (!error)
    memcpy(to, archs, (size_t)known_archs() * sizeof *archs);
  return error;
}

const char *nvrtcGetErrorString(nvrtcResult result) {
  static const char *const names[] = {"NVRTC_SUCCESS",
                                      "NVRTC_ERROR_OUT_OF_MEMORY",
                                      "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                      "NVRTC_ERROR_INVALID_INPUT",
                                      "NVRTC_ERROR_INVALID_PROGRAM",
                                      "NVRTC_ERROR_INVALID_OPTION",
                                      "NVRTC_ERROR_COMPILATION",
                                      "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"};
  bool known = result >= 0 && (size_t)result < sizeof names / sizeof *names;
  return known ? names[result] : "NVRTC_ERROR unknown";
}

/* ---- programs ------------------------------------------------------------------------------------------------------
 */

static bool program_known(nvrtcProgram program) {
  pthread_mutex_lock(&mutex);
  nvrtcProgram one = programs;
  while (one && one != program)
    one = one->next;
  pthread_mutex_unlock(&mutex);
  return one != NULL;
}

static nvrtcResult check(const char *symbol, nvrtcProgram program) {
  nvrtcResult error = enter(symbol);
  if (!program_known(program))
    return simt_misuse(INVALID_PROGRAM, "%s of %p, which is no program", symbol, (void *)program);
  return error;
}

static char *copy_text(const char *text) {
  char *copy = strdup(text);
  if (!copy)
    simt_die("no memory");
  return copy;
}

static char **copy_texts(int count, const char *const *texts) {
  char **copy = calloc((size_t)count + 1, sizeof *copy);
  if (!copy)
    simt_die("no memory");
  for (int i = 0; i < count; i++)
    copy[i] = copy_text(texts[i]);
  return copy;
}

static void free_texts(char **texts) {
  for (char **text = texts; text && *text; text++)
    free(*text);
  free(texts);
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int headers,
                               const char *const *texts, const char *const *names) {
  nvrtcResult error = enter(__func__);
  if (error)
    return error;
  if (!source || headers < 0 || (headers && (!texts || !names)))
    return INVALID_INPUT;
  nvrtcProgram made = calloc(1, sizeof *made);
  if (!made)
    simt_die("no memory");
  made->source = (simt_source){.name = copy_text(name ? name : "default_program"),
                               .text = copy_text(source),
                               .headers = headers,
                               .header_name = copy_texts(headers, names),
                               .header_text = copy_texts(headers, texts)};
  pthread_mutex_lock(&mutex);
  made->next = programs;
  *program = programs = made;
  pthread_mutex_unlock(&mutex);
  return NVRTC_SUCCESS;
}

static void forget(nvrtcProgram program) {
  pthread_mutex_lock(&mutex);
  nvrtcProgram *at = &programs;
  while (*at != program)
    at = &(*at)->next;
  *at = program->next;
  pthread_mutex_unlock(&mutex);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle) {
  nvrtcProgram program = *handle;
  nvrtcResult error = check(__func__, program);
  if (!program_known(program))
    return error;
  forget(program);
  free(program->source.name);
  free(program->source.text);
  free_texts(program->source.header_name);
  free_texts(program->source.header_text);
  free_texts(program->source.define);
  simt_bytes_free(&program->image);
  simt_bytes_free(&program->ptx);
  simt_bytes_free(&program->log);
  free(program);
  *handle = NULL;
  return error;
}

/* ---- compiling -----------------------------------------------------------------------------------------------------
 */

/* Options of NVRTC that mean nothing here. Those that end in = take a value. */
static const char *const passed_over[] = {
    "--std=",     "-std=",        "--no-cache",           "-no-cache", "--device-debug",   "-G",
    "-lineinfo",  "--minimal",    "--generate-line-info", "-minimal",  "--maxrregcount=",  "-default-device",
    "--restrict", "-w",           "--default-device",     "--dopt=",   "--diag-suppress=", "--disable-warnings",
    "--ftz=",     "--prec-sqrt=", "--prec-div=",          "-ftz="};

static const char *value_of(const char *option, const char *name) {
  size_t count = strlen(name);
  return strncmp(option, name, count) == 0 ? option + count : NULL;
}

static bool is_passed_over(const char *option) {
  for (size_t i = 0; i < sizeof passed_over / sizeof *passed_over; i++) {
    size_t count = strlen(passed_over[i]);
    bool takes = passed_over[i][count - 1] == '=';
    if (takes ? strncmp(option, passed_over[i], count) == 0 : strcmp(option, passed_over[i]) == 0)
      return true;
  }
  return false;
}

static bool set_arch(nvrtcProgram program, const char *value) {
  int arch = 0, used = 0;
  program->real = sscanf(value, "sm_%d%n", &arch, &used) == 1;
  if (!program->real && sscanf(value, "compute_%d%n", &arch, &used) != 1)
    return false;
  program->source.arch = arch;
  for (int i = 0; i < known_archs(); i++)
    if (archs[i] == arch)
      return strcmp(value + used, "") == 0 || strcmp(value + used, "a") == 0;
  return false;
}

static void add_define(nvrtcProgram program, const char *value) {
  simt_source *source = &program->source;
  char **more = realloc(source->define, (size_t)(source->defines + 2) * sizeof *more), *text;
  if (!more || asprintf(&text, "-D%s", value) < 0)
    simt_die("no memory");
  source->define = more;
  more[source->defines++] = text;
  more[source->defines] = NULL;
}

static bool set_option(nvrtcProgram program, const char *option) {
  const char *value;
  if ((value = value_of(option, "--gpu-architecture=")) || (value = value_of(option, "-arch="))) {
    if (set_arch(program, value))
      return true;
    simt_bytes_print(&program->log, "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
    return false;
  }
  if ((value = value_of(option, "--define-macro=")) || (value = value_of(option, "-D")))
    add_define(program, value);
  else if ((value = value_of(option, "--fmad=")) || (value = value_of(option, "-fmad=")))
    program->source.fused = strcmp(value, "false") != 0;
  else if ((value = value_of(option, "--ptxas-options=")))
    program->told = program->told || strstr(value, "-v");
  else if (!is_passed_over(option)) {
    simt_bytes_print(&program->log, "nvrtc: error: unrecognized option %s found\n", option);
    return false;
  }
  return true;
}

static void print_ptx(nvrtcProgram program, const simt_entry *entries, int count) {
  simt_bytes *ptx = &program->ptx;
  simt_bytes_print(ptx, "//\n// Generated by the simulated NVRTC\n//\n.version 9.0\n.target sm_%d\n.address_size 64\n",
                   program->source.arch);
  for (int i = 0; i < count; i++)
    simt_bytes_print(ptx, ".visible .entry %s()\n", entries[i].name);
  for (const char *line = program->source.text; *line;) {
    size_t length = strcspn(line, "\n");
    simt_bytes_print(ptx, "// %.*s\n", (int)length, line);
    line += length + (line[length] == '\n');
  }
}

/* As ptxas tells it; all but the shared memory is made up. */
static void print_facts(nvrtcProgram program, const simt_entry *entries, int count, const simt_bytes *object) {
  int variables = simt_object_shared(object->data, NULL);
  simt_span *spans = calloc((size_t)variables + 2, sizeof *spans);
  size_t shared = 0;
  if (variables < 0 || !spans)
    simt_die("compiled kernels without a table of symbols");
  simt_object_shared(object->data, spans);
  for (int i = 0; i < variables; i++)
    shared += spans[i].bytes;
  free(spans);
  simt_bytes_print(&program->log, "ptxas info    : 0 bytes gmem\n");
  for (int i = 0; i < count; i++) {
    const char *name = entries[i].name;
    simt_bytes_print(&program->log,
                     "ptxas info    : Compiling entry function '%s' for 'sm_%d'\n"
                     "ptxas info    : Function properties for %s\n"
                     "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                     "ptxas info    : Used 32 registers, used 1 barriers, %zu bytes smem\n",
                     name, program->source.arch, name, shared);
  }
}

static void make_image(nvrtcProgram program, const simt_bytes *object) {
  simt_image head = {.magic = SIMT_IMAGE_MAGIC,
                     .bytes = object->count,
                     .sum = simt_sum(SIMT_SUM, object->data, object->count),
                     .arch = (uint64_t)program->source.arch,
                     .twin = simt_twin_sum(simt_flags())};
  head.header_sum = simt_header_sum(&head);
  simt_bytes_add(&program->image, &head, sizeof head);
  simt_bytes_add(&program->image, object->data, object->count);
}

/* The image moves into the PTX, in lines of 32 bytes. */
static void print_image(nvrtcProgram program) {
  const simt_bytes *image = &program->image;
  for (size_t start = 0; start < image->count; start += 32) {
    simt_bytes_print(&program->ptx, SIMT_PTX_IMAGE);
    for (size_t i = start; i < start + 32 && i < image->count; i++)
      simt_bytes_print(&program->ptx, "%02x", (unsigned char)image->data[i]);
    simt_bytes_print(&program->ptx, "\n");
  }
  simt_bytes_free(&program->image);
}

static void make_outputs(nvrtcProgram program, const simt_bytes *object) {
  simt_entry entries[MAX_ENTRIES];
  int count = simt_find_entries(program->source.text, entries, MAX_ENTRIES);
  print_ptx(program, entries, count);
  make_image(program, object);
  if (!program->real) {
    print_image(program);
  } else if (program->told)
    print_facts(program, entries, count, object);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int options, const char *const *option) {
  nvrtcResult error = check(__func__, program);
  if (error)
    return error;
  simt_bytes_free(&program->image);
  simt_bytes_free(&program->ptx);
  simt_bytes_free(&program->log);
  program->source.arch = 75;
  program->source.fused = true;
  program->real = program->told = false;
  for (int i = 0; i < options; i++)
    if (!set_option(program, option[i]))
      return INVALID_OPTION;
  bool cached;
  simt_bytes object = {0};
  bool good = simt_compile(&program->source, &object, &program->log, &cached);
  if (good)
    make_outputs(program, &object);
  simt_bytes_free(&object);
  pthread_mutex_lock(&mutex);
  compiles += !cached;
  pthread_mutex_unlock(&mutex);
  return good ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

/* ---- outputs -------------------------------------------------------------------------------------------------------
 */

static nvrtcResult tell_size(const char *symbol, nvrtcProgram program, const simt_bytes *bytes, size_t more,
                             size_t *to) {
  nvrtcResult error = check(symbol, program);
  if (!error)
    *to = bytes->count + more;
  return error;
}

static nvrtcResult tell(const char *symbol, nvrtcProgram program, const simt_bytes *bytes, size_t more, char *to) {
  nvrtcResult error = check(symbol, program);
  if (!error && bytes->count + more)
    memcpy(to, bytes->data ? bytes->data : "", bytes->count + more);
  return error;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) {
  return tell_size(__func__, program, &program->ptx, 1, bytes);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx) {
  return tell(__func__, program, &program->ptx, 1, ptx);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
  return tell_size(__func__, program, &program->image, 0, bytes);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
  return tell(__func__, program, &program->image, 0, cubin);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
  return tell_size(__func__, program, &program->log, 1, bytes);
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
  return tell(__func__, program, &program->log, 1, log);
}

/* ---- for tests -----------------------------------------------------------------------------------------------------
 */

void simt_nvrtc_fail(const char *symbol, long nth, int error) {
  pthread_mutex_lock(&mutex);
  simt_counts_fail(&counts, symbol, nth, error);
  pthread_mutex_unlock(&mutex);
}

const char *simt_nvrtc_fired(void) {
  pthread_mutex_lock(&mutex);
  const char *fired = counts.fired;
  pthread_mutex_unlock(&mutex);
  return fired;
}

long simt_nvrtc_calls(const char *symbol) {
  pthread_mutex_lock(&mutex);
  long calls = simt_counts_get(&counts, symbol);
  pthread_mutex_unlock(&mutex);
  return calls;
}

long simt_nvrtc_leaks(void) {
  long count = 0;
  pthread_mutex_lock(&mutex);
  for (nvrtcProgram program = programs; program; program = program->next)
    count++;
  pthread_mutex_unlock(&mutex);
  return count;
}

long simt_nvrtc_compiles(void) {
  pthread_mutex_lock(&mutex);
  long count = compiles;
  pthread_mutex_unlock(&mutex);
  return count;
}
