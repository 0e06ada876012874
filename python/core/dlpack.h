/*
 * dlpack.h - the structs of DLPack 1.3, and its exchange between C extensions, as far as they are used here
 * SPDX-License-Identifier: MIT
 *
 * Source: the DLPack specification, https://dmlc.github.io/dlpack/latest/c_api.html
 */
#ifndef RP_DLPACK_H
#define RP_DLPACK_H

#include <stdint.h>

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };
enum { DL_FLAG_READ_ONLY = 1 };

typedef struct dl_version {
  uint32_t major, minor;
} dl_version;

typedef struct dl_device {
  int32_t type, id;
} dl_device;

typedef struct dl_type {
  uint8_t code, bits;
  uint16_t lanes;
} dl_type;

typedef struct dl_tensor {
  void *data;
  dl_device device;
  int32_t rank;
  dl_type type;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: dense, C order */
  uint64_t byte_offset;
} dl_tensor;

/* What a capsule "dltensor" holds, from before versions were told. */
typedef struct dl_managed_unversioned {
  dl_tensor tensor;
  void *manager;
  void (*deleter)(struct dl_managed_unversioned *self);
} dl_managed_unversioned;

/* What a capsule "dltensor_versioned" holds. */
typedef struct dl_managed {
  dl_version version;
  void *manager;
  void (*deleter)(struct dl_managed *self);
  uint64_t flags;
  dl_tensor tensor;
} dl_managed;

/* What the attribute __dlpack_c_exchange_api__ of an array's type holds: each call returns 0, or -1 with an exception.
 */
typedef struct dl_exchange {
  struct {
    dl_version version;
    void *previous;
  } header;
  int (*allocate)(dl_tensor *prototype, dl_managed **out, void *context,
                  void (*error)(void *, const char *, const char *));
  int (*from_object)(void *object, dl_managed **out);
  int (*to_object)(dl_managed *tensor, void **object);
  int (*view)(void *object, dl_tensor *out);
  int (*stream)(int32_t device_type, int32_t device, void **stream);
} dl_exchange;

#endif
