/*
 * image.h - what the simulated NVRTC gives out as a CUBIN, and the simulated driver loads: a header and a shared object
 * SPDX-License-Identifier: MIT
 */
#ifndef SIMT_IMAGE_H
#define SIMT_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#define SIMT_IMAGE_MAGIC "\177simt01"

typedef struct simt_image {
  char magic[8];
  uint64_t bytes;      /* of the shared object that follows */
  uint64_t sum;        /* of the same */
  uint64_t arch;       /* 90 for sm_90 */
  uint64_t twin;       /* simt_twin_sum of the compile: an image from a cache may be older than this simulator */
  uint64_t header_sum; /* of all above */
} simt_image;

/* FNV-1a, from `sum` on; start with SIMT_SUM. */
#define SIMT_SUM 0xcbf29ce484222325u
uint64_t simt_sum(uint64_t sum, const void *bytes, size_t count);
uint64_t simt_header_sum(const simt_image *image);

/* Over device.cuh, runtime.h, SIMT_CXX and its flags: what a compile depends on besides the source. */
uint64_t simt_twin_sum(const char *flags);

/* What begins the lines of PTX that have an image, and that image, to be freed; NULL: the text has none. */
#define SIMT_PTX_IMAGE "// image "
char *simt_image_of_ptx(const char *ptx);

/* Where device.cuh and runtime.h are: SIMT_DIR, else as it was built. */
const char *simt_dir(void);

/*
 * RS_SHARED variables of a shared object: the static ones inside functions. Returns how many, -1 if it has no symbols;
 * fills spans, unless NULL, with where they are from where the object is loaded.
 */
typedef struct simt_span {
  uint64_t at;
  size_t bytes;
} simt_span;
int simt_object_shared(const char *object, simt_span *spans);

#endif
