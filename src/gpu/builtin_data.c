/*
 * builtin_data.c - the kernels inside of the library: the file that `make` wrote
 * SPDX-License-Identifier: MIT
 */
#include "builtin.h"

__asm__(".pushsection .rodata.rs_builtin, \"a\"\n"
        ".balign 16\n"
        ".hidden rs_builtin_begin\n.globl rs_builtin_begin\n.hidden rs_builtin_end\n.globl rs_builtin_end\n"
        "rs_builtin_begin:\n.incbin \"universal.bin\"\nrs_builtin_end:\n"
        ".popsection\n");
extern const unsigned char rs_builtin_begin[] __attribute__((visibility("hidden")));
extern const unsigned char rs_builtin_end[] __attribute__((visibility("hidden")));

const unsigned char *rs_builtin_data(size_t *bytes) {
  *bytes = (size_t)(rs_builtin_end - rs_builtin_begin);
  return rs_builtin_begin;
}
