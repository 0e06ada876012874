/*
 * tuned.h - which architecture's geometries the kernels of a spec have: their own, or an older one's
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TUNED_H
#define RS_TUNED_H

#include "compile/build.h"

/*
 * `arch`, but where the NVRTC at hand can make only what is made for an older one. Where nothing can be compiled it is
 * the one whose kernels the cache or a pack has. $ROWSCAN_TUNE (rs_builder_tune_for) stands in for `arch` if kernels of
 * that one's fit there. The spec is complete.
 */
int rs_tuned_arch(rs_builder *builder, const rowscan_spec *spec, int arch);

/* The architecture that the kernels of a spec are compiled for, where they are to run on `arch`. */
int rs_compiled_arch(const rowscan_spec *spec, int arch);

#endif
