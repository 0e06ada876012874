// copy.cuh - plain copies of arrays with strides: what an access costs when nothing is scanned
// SPDX-License-Identifier: MIT
#pragma once
#include "device.cuh"

// Three dimensions, the last of the output's smallest stride; all in words. Filled by src/measure/copier.c.
struct Box {
  const void *in;
  void *out;
  i64 size[3], in_stride[3], out_stride[3];
};

// A block copies THREADS * ITEMS words along the last dimension; all of a thread's loads are on their way before its
// first store.
template <int BYTES, int THREADS, int ITEMS> RS_DEVICE void copy_lines(const Box &box) {
  using W = typename Word<BYTES>::type;
  constexpr int PIECE = THREADS * ITEMS;
  i64 pieces = (box.size[2] + PIECE - 1) / PIECE, blocks = box.size[0] * box.size[1] * pieces;
  for (i64 block = block_index(); block < blocks; block += block_count()) {
    i64 outer = 0, inner = 0, piece = block;
    if (blocks > pieces) { // else a division would be much of the time of a small copy
      outer = block / pieces / box.size[1];
      inner = block / pieces % box.size[1];
      piece = block % pieces;
    }
    i64 first = piece * PIECE + thread_index();
    const W *in = static_cast<const W *>(box.in) + outer * box.in_stride[0] + inner * box.in_stride[1];
    W *out = static_cast<W *>(box.out) + outer * box.out_stride[0] + inner * box.out_stride[1];
    W word[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
      if (first + k * THREADS < box.size[2])
        word[k] = load_stream(in + (first + k * THREADS) * box.in_stride[2]);
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
      if (first + k * THREADS < box.size[2])
        store_word(out + (first + k * THREADS) * box.out_stride[2], word[k]);
  }
}

// Neighbours in the input lie along dimension 1, those of the output along dimension 2: squares of SIDE x SIDE words go
// through shared memory, so that both are read and written in runs.
template <int BYTES, int THREADS, int SIDE> RS_DEVICE void copy_squares(const Box &box) {
  using W = typename Word<BYTES>::type;
  constexpr int LINES = THREADS / SIDE, ITEMS = SIDE / LINES;
  RS_SHARED W square[SIDE][SIDE + 1];
  i64 down = (box.size[1] + SIDE - 1) / SIDE, across = (box.size[2] + SIDE - 1) / SIDE;
  int column = (int)thread_index() % SIDE, line = (int)thread_index() / SIDE;
  for (i64 block = block_index(); block < box.size[0] * down * across; block += block_count()) {
    i64 outer = block / (down * across), first1 = block / across % down * SIDE, first2 = block % across * SIDE;
    const W *in = static_cast<const W *>(box.in) + outer * box.in_stride[0];
    W *out = static_cast<W *>(box.out) + outer * box.out_stride[0];
    W word[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
      i64 i1 = first1 + column, i2 = first2 + line + k * LINES;
      if (i1 < box.size[1] && i2 < box.size[2])
        word[k] = load_stream(in + i1 * box.in_stride[1] + i2 * box.in_stride[2]);
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
      square[line + k * LINES][column] = word[k];
    block_barrier();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
      i64 i1 = first1 + line + k * LINES, i2 = first2 + column;
      if (i1 < box.size[1] && i2 < box.size[2])
        store_word(out + i1 * box.out_stride[1] + i2 * box.out_stride[2], square[column][line + k * LINES]);
    }
    block_barrier();
  }
}
