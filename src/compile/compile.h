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

/* After NO_COMPILER: what may do nevertheless. */
typedef enum rs_way_out {
  RS_WAY_NONE,
  RS_WAY_NEXT, /* that library of NVRTC turned out to be of no use, and now there is another */
  RS_WAY_PTX   /* the architecture is newer than those it knows: rs_compile_ptx */
} rs_way_out;

typedef struct rs_compiled {
  char *ptx, *cubin;
  size_t ptx_bytes, cubin_bytes; /* without the NUL byte that follows each */
  rs_facts facts;
  rs_text warnings; /* what else the compiler had to say */
  rs_way_out way_out;
} rs_compiled;

/*
 * Compiles a source that includes headers of kernels/. If it spills, then with fewer blocks a multiprocessor in its
 * launch bounds (facts.fewer_blocks), by which no launch is wrong: no kernel needs its blocks to run at a time. Free
 * what comes out with rs_compiled_free, after a failure too. Errors: NO_COMPILER, which a missing architecture is too;
 * COMPILE_FAILED, with log and numbered source; OUT_OF_MEMORY.
 */
rowscan_status rs_compile(rs_nvrtc *nvrtc, const char *source, int arch, rs_compiled *compiled);

/*
 * The same for an architecture that NVRTC does not know: PTX of the newest one before it that it does know, which the
 * driver compiles. There is no CUBIN, and facts are not known.
 */
rowscan_status rs_compile_ptx(rs_nvrtc *nvrtc, const char *source, int arch, rs_compiled *compiled);
void rs_compiled_free(rs_compiled *compiled);

#endif
