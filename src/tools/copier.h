/*
 * copier.h - a copy kernel on the GPU: the yardstick of scans that memcpy is none for
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_COPIER_H
#define RS_COPIER_H

#include "box.h"
#include "run/context.h"

typedef struct rs_copier {
  const rs_device *device; /* NULL: there is none */
  rs_box box;
  unsigned blocks;
  rs_binary binary;
  CUmodule module;
  CUfunction function;
} rs_copier;

/* With the device's context current. Errors: those of rs_build, CUDA_FAILED. Close it also if opening failed. */
rowscan_status rs_copier_open(rs_copier *copier, const rowscan_context *context, const rs_box *box);
void rs_copier_close(rs_copier *copier);

/* Queues one copy between arrays that lie as the box was made for. */
rowscan_status rs_copier_run(const rs_copier *copier, void *to, const void *from, CUstream stream);

#endif
