// stream_tuples.cuh - regime column, from sm_90 on, few long columns: the stream of stream_any.cuh, of tuples
// SPDX-License-Identifier: MIT
#pragma once
#include "stream_any.cuh"
#include "tuple.cuh"

template <class P, int COLUMNS, class S, int REDUCERS, int STAGES>
RS_DEVICE void scan_stream_of_tuples(const Rows<P::rank> &rows) {
  scan_stream_any<Tuples<P, COLUMNS>, S, REDUCERS, STAGES>(Tuples<P, COLUMNS>::rows(rows));
}
