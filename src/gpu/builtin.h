/*
 * builtin.h - kernels inside of the library: for each generation of GPUs a pack of universal kernels, squeezed
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_BUILTIN_H
#define RS_BUILTIN_H

#include "base/source.h"

/* Whether there are kernels for a generation of GPUs (rs_arch_generation). */
bool rs_builtin_has(int generation);

/*
 * Their pack. What is read of it is expanded once, with all that was squeezed before, and stays. Any thread may read.
 * False: there is none. Errors of a read: ENOMEM; EIO: it does not expand.
 */
bool rs_builtin_pack(int generation, rs_source *pack);

/*
 * What is linked in, as src/tools/builtin_make.c writes it: a number of packs; for each its generation, its bytes, its
 * bytes as they are squeezed, and a number of ranges; for each of these the offset in the pack and the bytes, in the
 * order in which they were squeezed: what is asked for first comes first; and then each pack's ranges as they are
 * squeezed, one after another. Numbers have 8 bytes, little-endian. NULL: nothing is linked in, for the library was
 * built without NVRTC.
 */
const unsigned char *rs_builtin_data(size_t *bytes);

#endif
