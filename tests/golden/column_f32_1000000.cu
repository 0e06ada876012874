// rowscan, aligned, regime column: inclusive sum of f32 along columns of 1000000, f32 out
#include "wide.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000000;
  static constexpr int rank = 2;
};
RS_KERNEL(128, 3) rowscan_aligned(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(WideCut, cut)) {
  prefetch_first<P, 5461, true>(rows);
  await_dependencies();
  scan_wide_tiles<P, 128, 4, 32, 8, 0>(rows, cut);
}

// rowscan, any, regime column: inclusive sum of f32 along columns of 1000000, f32 out
#include "columns.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000000;
  static constexpr int rank = 2;
};
RS_KERNEL(128, 6) rowscan_any(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(ColumnCut, cut)) {
  prefetch_first<P, 2730, true>(rows);
  await_dependencies();
  scan_column_tiles<P, 128, 32>(rows, cut);
}

// rowscan, neighbours, regime column: inclusive sum of f32 along columns of 1000000, f32 out
#include "askew.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000000;
  static constexpr int rank = 2;
};
RS_KERNEL(256, 3) rowscan_neighbours(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(WideCut, cut)) {
  prefetch_first<P, 5461, true>(rows);
  await_dependencies();
  scan_askew_tiles<P, 256, 2, 32, 0>(rows, cut);
}

// rowscan, dense, regime column: inclusive sum of f32 along columns of 1000000, f32 out
#include "stream_columns.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000000;
  static constexpr int rank = 2;
};
RS_KERNEL(512, 1) rowscan_dense(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(StreamCut, cut)) {
  prefetch_first<P, 16384, true>(rows);
  await_dependencies();
  scan_stream_columns<P, 32>(rows, cut);
}

// rowscan, few, regime column: inclusive sum of f32 along columns of 1000000, f32 out
#include "pairs.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000000;
  static constexpr int rank = 2;
};
RS_KERNEL(512, 2) rowscan_few(RS_PARAMETER(Rows<2>, rows)) {
  prefetch_first<P, 8192, true>(rows);
  await_dependencies();
  scan_pairs<P, Shape<16, 1, 32, 8>>(rows);
}

// rowscan, pairs, regime column: inclusive sum of f32 along columns of 1000000, f32 out
#include "stream_tuples.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000000;
  static constexpr int rank = 2;
};
RS_KERNEL(384, 1) rowscan_pairs(RS_PARAMETER(Rows<2>, rows)) {
  prefetch_first<P, 16384, true>(rows);
  await_dependencies();
  scan_stream_of_tuples<P, 2, Shape<8, 8, 32, 2>, 2, 5>(rows);
}

// rowscan, threes, regime column: inclusive sum of f32 along columns of 1000000, f32 out
#include "stream_tuples.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000000;
  static constexpr int rank = 2;
};
RS_KERNEL(384, 1) rowscan_threes(RS_PARAMETER(Rows<2>, rows)) {
  prefetch_first<P, 16384, true>(rows);
  await_dependencies();
  scan_stream_of_tuples<P, 3, Shape<8, 4, 32, 2>, 2, 6>(rows);
}

// rowscan, fours, regime column: inclusive sum of f32 along columns of 1000000, f32 out
#include "stream_tuples.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000000;
  static constexpr int rank = 2;
};
RS_KERNEL(384, 1) rowscan_fours(RS_PARAMETER(Rows<2>, rows)) {
  prefetch_first<P, 16384, true>(rows);
  await_dependencies();
  scan_stream_of_tuples<P, 4, Shape<8, 4, 32, 2>, 2, 5>(rows);
}

// rowscan, many, regime column: inclusive sum of f32 along columns of 1000000, f32 out
#include "ring_columns.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000000;
  static constexpr int rank = 2;
};
RS_KERNEL(448, 2) rowscan_many(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(RingCut, cut)) {
  prefetch_first<P, 8192, true>(rows);
  await_dependencies();
  scan_ring_columns<P, 16, 4>(rows, cut);
}
