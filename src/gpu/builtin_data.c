/*
 * builtin_data.c - the kernels inside of the library: the file that `make` wrote
 * SPDX-License-Identifier: MIT
 */
#include "builtin.h"

#include <stdint.h>

__asm__(".pushsection .rodata.rs_builtin, \"a\"\n"
        ".balign 16\n"
        ".hidden rs_builtin_begin\n.globl rs_builtin_begin\n"
        "rs_builtin_begin:\n.incbin \"universal.bin\"\n1:\n"
        ".balign 8\n"
        ".hidden rs_builtin_bytes\n.globl rs_builtin_bytes\n"
        "rs_builtin_bytes:\n.8byte 1b - rs_builtin_begin\n"
        ".popsection\n");
extern const unsigned char rs_builtin_begin[] __attribute__((visibility("hidden")));
extern const uint64_t rs_builtin_bytes __attribute__((visibility("hidden")));

const unsigned char *rs_builtin_data(size_t *bytes) {
  *bytes = (size_t)rs_builtin_bytes;
  return rs_builtin_begin;
}
