/*
 * spares.h - memory on the GPU that a context keeps from one call about parts to the next
 * SPDX-License-Identifier: MIT
 *
 * Taking memory from the driver takes longer than a short part does, most of all where other GPUs may read it. The
 * device's CUDA context is current in every call but rs_spares_init.
 */
#ifndef RS_SPARES_H
#define RS_SPARES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/memory.h"

enum { RS_SPARES_KEPT = 8 };

typedef struct rs_spare {
  CUdeviceptr at; /* 0: none */
  size_t bytes;
} rs_spare;

typedef struct rs_spares {
  pthread_mutex_t lock;
  rs_spare idle[RS_SPARES_KEPT];
} rs_spares;

void rs_spares_init(rs_spares *spares);
void rs_spares_close(rs_spares *spares, const rs_device_memory *memory);

/* At least so many bytes, whatever is in them. Errors: those of rs_device_memory_take. */
rowscan_status rs_spares_take(rs_spares *spares, const rs_device_memory *memory, int64_t bytes, const char *what,
                              rs_spare *block);

/* No work may be left that uses it. */
void rs_spares_give(rs_spares *spares, const rs_device_memory *memory, rs_spare block);

#endif
