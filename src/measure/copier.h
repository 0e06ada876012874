/*
 * copier.h - a copy kernel on the GPU, from strides to strides: the yardstick of scans that memcpy is none for
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_COPIER_H
#define RS_COPIER_H

#include <stdbool.h>
#include <stdint.h>

#include "run/plan.h"

/* ---- what is copied ---------------------------------------------------------------------------------------------- */

/* A dimension, with its stride in the input and in the output. */
typedef struct rs_axis {
  int64_t size, in, out;
} rs_axis;

enum { RS_BOX_RANK = 3, RS_BOX_MOST_AXES = 64 };

/* Sizes and strides in words; the last axis has the output's smallest stride. Missing axes, in front, have size 1. */
typedef struct rs_box {
  int bytes;    /* of a word, 1 to 16 */
  bool crossed; /* neighbours in the input lie along axis 1, those in the output along axis 2 */
  rs_axis axis[RS_BOX_RANK];
} rs_box;

/*
 * The box of axes, in any order, with strides in elements. in_at, out_at: where the arrays start, in bytes from an
 * address that is a multiple of 16. False: it has more dimensions than a box, or nothing in it.
 */
bool rs_box_make(rs_box *box, const rs_axis *axes, int count, int element_bytes, int64_t in_at, int64_t out_at);

/* The box of bytes that lie together, rounded up to words of 16. */
rs_box rs_box_of_bytes(int64_t bytes);

int64_t rs_box_words(const rs_box *box);

/* ---- the copy ---------------------------------------------------------------------------------------------------- */

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
