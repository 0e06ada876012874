/*
 * compile.h - one source through NVRTC
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_COMPILE_H
#define RS_COMPILE_H

#include "facts.h"
#include "nvrtc.h"

/* Options that shape what comes out, in order, besides that of the architecture; NULL at the end. */
extern const char *const rs_compile_options[];

typedef struct rs_compiled {
  char *ptx, *cubin;
  size_t ptx_bytes, cubin_bytes; /* without the NUL byte that follows each */
  rs_facts facts;
  rs_text warnings; /* what else the compiler had to say */
  bool try_again;   /* NO_COMPILER: that library of NVRTC is of no use, and now there is another */
} rs_compiled;

/*
 * Compiles a source that includes headers of kernels/. Free what comes out with rs_compiled_free, after a failure too.
 * Errors: NO_COMPILER, which a missing architecture is too; COMPILE_FAILED, with log and numbered source;
 * OUT_OF_MEMORY.
 */
rowscan_status rs_compile(rs_nvrtc *nvrtc, const char *source, int arch, rs_compiled *compiled);
void rs_compiled_free(rs_compiled *compiled);

#endif
