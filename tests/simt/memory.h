/*
 * memory.h - memory of the simulated GPU, and pinned memory of the host
 * SPDX-License-Identifier: MIT
 *
 * Blocks start on 512 bytes, are filled with SIMT_POISON and stand between two guards. AddressSanitizer, where it is
 * there, watches the guards; without it they are compared after each kernel and when the block is freed.
 */
#ifndef SIMT_MEMORY_H
#define SIMT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* As f32 -1.2e+34, as f16 -32624, as an integer negative, as a truth value true: wrong wherever it turns up. */
enum { SIMT_POISON = 0xf7 };

typedef struct simt_memory {
  unsigned char *at;
  size_t bytes;
  bool host;
  int device; /* ordinal of the one that was current */
  struct simt_memory *next;
} simt_memory;

/* NULL: no memory; for memory of the device, too, if SIMT_MEMORY (default 256m) would be exceeded. */
simt_memory *simt_memory_take(size_t bytes, bool host);
void simt_memory_give(simt_memory *memory);

/* The block that has all of [at, at + bytes), the block that starts at `at`, or NULL. */
simt_memory *simt_memory_around(const void *at, size_t bytes);
simt_memory *simt_memory_starting(const void *at, bool host);

size_t simt_memory_total(void);
size_t simt_memory_used(void);
size_t simt_memory_most(bool reset); /* used since the last reset */
int simt_memory_alive(bool host);

/* Aborts if a guard has changed; `after` says after what. */
void simt_memory_check(const char *after);

#endif
