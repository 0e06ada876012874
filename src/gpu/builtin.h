/*
 * builtin.h - kernels inside of the library: for each generation of GPUs a pack of universal kernels, squeezed
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_BUILTIN_H
#define RS_BUILTIN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether there are kernels for a generation of GPUs (rs_arch_generation). */
bool rs_builtin_has(int generation);

/* Their pack, which is expanded once and stays; NULL: there is none, or no memory. Any thread may call it. */
const void *rs_builtin_pack(int generation, size_t *bytes);

/*
 * What is linked in, as src/tools/builtin_make.c writes it: a number of packs, 8 bytes; for each its generation, its
 * bytes, and its bytes as they are squeezed, 8 bytes each; and then these, one after another. All numbers
 * little-endian. NULL: nothing is, for the library was built without NVRTC.
 */
const unsigned char *rs_builtin_data(size_t *bytes);

#endif
