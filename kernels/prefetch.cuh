// prefetch.cuh - a block asks L2 for some of the first elements, before it may read any
// SPDX-License-Identifier: MIT
//
// A grid that is started while the work before it ends (await_dependencies) has nothing to do meanwhile. What it asks
// for may yet be written by that work: a prefetch is no read, and L2 is where all multiprocessors meet. Nor must there
// be anything at the address: on an H100 a prefetch of what is not mapped is no error.
#pragma once
#include "rows.cuh"

// Whether the elements of all rows are one run in memory. COLUMNS: of which neighbours are in neighbouring rows.
template <class P, bool COLUMNS> RS_DEVICE bool is_one_run(const Rows<P::rank> &rows, int which) {
  i64 step = rows.step[which];
  i64 next = COLUMNS ? 1 : P::length;
  bool one = COLUMNS || step == 1;
  RS_EACH_DIMENSION
  for (int d = P::rank - 1; d >= 0; d--) {
    one = one && (rows.stride[which][d] == next || rows.shape[d] == 1);
    next *= rows.shape[d];
    if (COLUMNS && d == P::rank - 1) {
      one = one && step == next;
      next *= P::length;
    }
  }
  return one;
}

// The whole words of `count` elements.
template <class T> RS_DEVICE void prefetch_run(const T *array, i64 first, i64 count) {
#if RS_BULK
  u64 from = reinterpret_cast<u64>(array + first), to = from + count * sizeof(T);
  from = (from + 15) / 16 * 16;
  to = to / 16 * 16;
  if (from < to)
    bulk_prefetch(reinterpret_cast<const void *>(from), (u32)(to - from));
#endif
}

// Those of all blocks together: more than L2 keeps would only be in the way. Measured on an H100, ratio to memcpy with
// 4, 8 and 16 MB: 16384 x 4096 along 16384 0.943, 0.946, 0.934; 32768 x 129 along 32768 0.538, 0.560, 0.562.
constexpr i64 PREFETCHED_BYTES = 8 << 20;

// Block b asks for the b-th ELEMENTS of memory in the direction of the scan, whoever will scan them.
template <class P, int ELEMENTS, bool COLUMNS> RS_DEVICE void prefetch_first(const Rows<P::rank> &rows) {
  i64 first = (i64)block_index() * ELEMENTS, left = rows.count * P::length - first;
  if (thread_index() || left <= 0 || first >= PREFETCHED_BYTES / (i64)sizeof(typename P::In) || rows.first)
    return;
  i64 count = left < ELEMENTS ? left : ELEMENTS;
  if (P::reverse)
    first = left - count;
  if (is_one_run<P, COLUMNS>(rows, RS_IN))
    prefetch_run(rows.template data<typename P::In>(RS_IN), first, count);
  if (P::mask != NO_MASK && is_one_run<P, COLUMNS>(rows, RS_MASK))
    prefetch_run(rows.template data<typename P::Mask>(RS_MASK), first, count);
}
