/*
 * piece.h - shared memory that a piece of neighbouring elements takes, as kernels/piece.cuh lays it out
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PIECE_H
#define RS_PIECE_H

#include <stdbool.h>

/* Slab::room in kernels/slab.cuh. */
static inline int rs_slab_room(int count, int size) {
  return (count * size + 15) / 128 * 128 + 128;
}

/* Of `count` elements of so many bytes; mask 0: none. in_place: results take the place of elements. */
static inline int rs_piece_bytes(int count, int in, int mask, int out, bool in_place) {
  return rs_slab_room(count, in) + (mask ? rs_slab_room(count, mask) : 0) + (in_place ? 0 : rs_slab_room(count, out));
}

#endif
