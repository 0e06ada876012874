// stream_pairs.cuh - regime column, from sm_90 on, two long columns: the stream of stream_any.cuh, of pairs
// SPDX-License-Identifier: MIT
#pragma once
#include "pair.cuh"
#include "stream_any.cuh"

template <class P, class S, int REDUCERS, int STAGES> RS_DEVICE void scan_stream_of_pairs(const Rows<P::rank> &rows) {
  scan_stream_any<Pairs<P>, S, REDUCERS, STAGES>(Pairs<P>::rows(rows));
}
