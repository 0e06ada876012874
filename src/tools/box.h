/*
 * box.h - a copy from strides to strides, with as few dimensions and as wide words as it allows
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_BOX_H
#define RS_BOX_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
