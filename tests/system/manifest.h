/*
 * manifest.h - which kernels were compiled without spills, from which text, and how many registers each took
 * SPDX-License-Identifier: MIT
 *
 * A manifest serves one NVRTC. It has a line for each file of kernels/ with a digest of its text, and below each spec
 * a line for each source emitted for it, with the registers that each architecture needs:
 *
 *     nvrtc BUILD-ID
 *     options OPTION...
 *     file NAME DIGEST
 *     spec FIELD=VALUE...
 *       MODULE DIGEST ARCH:REGISTERS[/SPILLED BYTES]...
 *
 * Digests leave comments and blank lines out, which no compiler sees.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include <stdbool.h>
#include <stdio.h>

enum { MANIFEST_DIGEST = 17, MANIFEST_ARCHS = 64, MANIFEST_KERNELS = 16 };

/* One kernel for one architecture. */
typedef struct manifest_kernel {
  char digest[MANIFEST_DIGEST]; /* of its source; "": there is none */
  int registers, spilled;
  bool seen; /* by manifest_find */
} manifest_kernel;

typedef struct manifest_spec {
  char *text;
  manifest_kernel kernel[MANIFEST_KERNELS][MANIFEST_ARCHS]; /* [module][architecture] */
} manifest_spec;

typedef struct manifest {
  const char *nvrtc; /* its build-id */
  const int *archs;
  int arch_count, specs;
  manifest_spec *spec;
  bool *same; /* each file of kernels/: it is as it was */
} manifest;

/* An empty manifest for these architectures, which must live as long. */
manifest manifest_new(const char *nvrtc, const int *archs, int count);
void manifest_free(manifest *manifest);

/* False: there is no such file, it is of another NVRTC, or it was made with other options. */
bool manifest_read(manifest *manifest, FILE *file);
void manifest_write(const manifest *manifest, FILE *file);

/* The spec of that text, which is added where it is new. */
manifest_spec *manifest_add(manifest *manifest, const char *text);

/* The kernel as it was when it was compiled from this very source; NULL: it never was, or what it includes changed. */
manifest_kernel *manifest_find(manifest *manifest, const char *spec, int module, int arch, const char *source);

/* Kernels that nobody found. */
int manifest_unseen(const manifest *manifest);

void manifest_digest(char digest[MANIFEST_DIGEST], const char *text);

#endif
