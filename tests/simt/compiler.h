/*
 * compiler.h - CUDA source to a shared object for the CPU, by g++
 * SPDX-License-Identifier: MIT
 */
#ifndef SIMT_COMPILER_H
#define SIMT_COMPILER_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that grow; a NUL follows them. */
typedef struct simt_bytes {
  char *data;
  size_t count;
} simt_bytes;

void simt_bytes_add(simt_bytes *bytes, const void *data, size_t count);
void simt_bytes_print(simt_bytes *bytes, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool simt_bytes_read(simt_bytes *bytes, const char *path);
void simt_bytes_free(simt_bytes *bytes);

typedef struct simt_source {
  char *name, *text;
  int headers;
  char **header_name, **header_text;
  int arch;
  bool fused; /* a product and a sum may be fused */
  char **define;
  int defines;
} simt_source;

/* A kernel in a source. */
typedef struct simt_entry {
  char name[128];
  char bounds[128];
} simt_entry;

/* The kernels that a text defines with RS_KERNEL, up to `room`; returns how many. */
int simt_find_entries(const char *text, simt_entry *entries, int room);

/*
 * Compiles. *log has what g++ said; false: it said no. Results are kept in SIMT_CACHE_DIR, if set, and *cached says
 * that this one was there.
 */
bool simt_compile(const simt_source *source, simt_bytes *object, simt_bytes *log, bool *cached);

#endif
