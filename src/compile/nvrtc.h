/*
 * nvrtc.h - the compiler: where it is, and one table of its function pointers, filled at run time
 * SPDX-License-Identifier: MIT
 *
 * Finding and loading are apart: a process whose kernels are all in the cache needs to know which NVRTC there is (its
 * build-id is part of the key) but never loads it.
 */
#ifndef RS_NVRTC_H
#define RS_NVRTC_H

#include <stdbool.h>

#include "base/status.h"
#include "rowscan.h"

typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

enum {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7 /* libnvrtc-builtins, its companion, is missing */
};

/* X(symbol, parameters); each returns nvrtcResult. */
#define RS_NVRTC_CALLS(X)                                                                                              \
  X(nvrtcVersion, (int *major, int *minor))                                                                            \
  X(nvrtcGetNumSupportedArchs, (int *count))                                                                           \
  X(nvrtcGetSupportedArchs, (int *archs))                                                                              \
  X(nvrtcCreateProgram, (nvrtcProgram * program, const char *source, const char *name, int headers,                    \
                         const char *const *texts, const char *const *names))                                          \
  X(nvrtcDestroyProgram, (nvrtcProgram * program))                                                                     \
  X(nvrtcCompileProgram, (nvrtcProgram program, int options, const char *const *option))                               \
  X(nvrtcGetPTXSize, (nvrtcProgram program, size_t * bytes))                                                           \
  X(nvrtcGetPTX, (nvrtcProgram program, char *ptx))                                                                    \
  X(nvrtcGetCUBINSize, (nvrtcProgram program, size_t * bytes))                                                         \
  X(nvrtcGetCUBIN, (nvrtcProgram program, char *cubin))                                                                \
  X(nvrtcGetProgramLogSize, (nvrtcProgram program, size_t * bytes))                                                    \
  X(nvrtcGetProgramLog, (nvrtcProgram program, char *log))

typedef struct rs_nvrtc rs_nvrtc;

typedef struct rs_nvrtc_calls {
#define X(symbol, parameters) nvrtcResult(*symbol) parameters;
  RS_NVRTC_CALLS(X)
#undef X
  const char *(*nvrtcGetErrorString)(nvrtcResult result);
  int version; /* 1000 * major + 10 * minor, as the driver tells its own */
} rs_nvrtc_calls;

/* `name`: the options' nvrtc, may be NULL. Looks at nothing yet. `log` is copied. NULL: out of memory. */
rs_nvrtc *rs_nvrtc_open(const char *name, const rs_log *log);

/*
 * Which driver is to load what is compiled (rs_cuda's version), said before anything else is asked: an NVRTC of a newer
 * major version, whose output that driver may reject, is then taken only where there is no other.
 */
void rs_nvrtc_prefer(rs_nvrtc *nvrtc, int driver);

/* One with a table and a build-id of the caller's, which is copied: for tests. */
rs_nvrtc *rs_nvrtc_from_table(const rs_nvrtc_calls *calls, const char *id);

void rs_nvrtc_close(rs_nvrtc *nvrtc); /* the library itself stays loaded */

/*
 * Hexadecimal build-id of the library's file (else a digest of the file), found without loading it; lives as long as
 * nvrtc. It changes if that library turns out not to load or to be of no use, and another one does. NO_COMPILER,
 * OUT_OF_MEMORY.
 */
rowscan_status rs_nvrtc_id(rs_nvrtc *nvrtc, const char **id);

/* A thread compiles between the two. A process that is forked meanwhile has no compiler: locks of NVRTC are held. */
void rs_nvrtc_enter(void);
void rs_nvrtc_leave(void);

/* Loads the library, once, and gives its table. Errors: NO_COMPILER (says what was tried), OUT_OF_MEMORY. */
rowscan_status rs_nvrtc_load(rs_nvrtc *nvrtc, const rs_nvrtc_calls **calls);

/*
 * The library of a table turned out to be of no use, for a companion that it needs is missing: takes the next one, and
 * loads it. False: there is none, or no other was to be tried. The table stays as it is.
 */
bool rs_nvrtc_next(rs_nvrtc *nvrtc, const rs_nvrtc_calls *calls);

/*
 * Architectures it knows (90 for sm_90) and rowscan serves, ascending. *count: room in, number out. Errors: those of
 * rs_nvrtc_load; BAD_ARGUMENT: there is no room for all.
 */
rowscan_status rs_nvrtc_archs(rs_nvrtc *nvrtc, int *archs, int *count);

/*
 * Its major version, found without loading it; 0: there is none, or the file's name does not tell, which must have
 * "nvrtc" in it.
 */
int rs_nvrtc_major(rs_nvrtc *nvrtc);

/* The file that is found, "" if there is none. Looks if nobody has yet; leaves the last error alone. */
const char *rs_nvrtc_path(rs_nvrtc *nvrtc);

/* Of a loaded library: "NVRTC 13.0 (/usr/local/cuda/lib64/libnvrtc.so.13)". Else without the version. */
const char *rs_nvrtc_describe(rs_nvrtc *nvrtc, char *text, size_t room);

/* Turns a failed call into a status and a message; NO_COMPILER, but for OUT_OF_MEMORY. */
rowscan_status rs_nvrtc_failed(rs_nvrtc *nvrtc, const rs_nvrtc_calls *calls, nvrtcResult result, const char *call);

#endif
