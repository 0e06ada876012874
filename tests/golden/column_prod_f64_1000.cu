// rowscan, aligned, regime column: inclusive prod of f64 along columns of 1000, f64 out
#include "wide.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Prod<f64, f64>;
  using Acc = Op::Total;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 2;
};
RS_KERNEL(256, 2) rowscan_aligned(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(WideCut, cut)) {
  prefetch_first<P, 4096, true>(rows);
  await_dependencies();
  scan_wide_tiles<P, 256, 2, 16, 8, 0>(rows, cut);
}

// rowscan, any, regime column: inclusive prod of f64 along columns of 1000, f64 out
#include "columns.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Prod<f64, f64>;
  using Acc = Op::Total;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 2;
};
RS_KERNEL(128, 4) rowscan_any(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(ColumnCut, cut)) {
  prefetch_first<P, 2048, true>(rows);
  await_dependencies();
  scan_column_tiles<P, 128, 16>(rows, cut);
}

// rowscan, neighbours, regime column: inclusive prod of f64 along columns of 1000, f64 out
#include "askew.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Prod<f64, f64>;
  using Acc = Op::Total;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 2;
};
RS_KERNEL(128, 4) rowscan_neighbours(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(WideCut, cut)) {
  prefetch_first<P, 2048, true>(rows);
  await_dependencies();
  scan_askew_tiles<P, 128, 1, 64, 0>(rows, cut);
}

// rowscan, dense, regime column: inclusive prod of f64 along columns of 1000, f64 out
#include "short_columns.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Prod<f64, f64>;
  using Acc = Op::Total;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 2;
};
RS_KERNEL(256, 4) rowscan_dense(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(ShortCut, cut)) {
  prefetch_first<P, 2048, true>(rows);
  await_dependencies();
  scan_short_columns<P, 256, 8>(rows, cut);
}

// rowscan, at_once, regime column: inclusive prod of f64 along columns of 1000, f64 out
#include "columns_at_once.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Prod<f64, f64>;
  using Acc = Op::Total;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 2;
};
RS_KERNEL(512, 1) rowscan_at_once(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(AtOnceCut, cut)) {
  prefetch_first<P, 8192, true>(rows);
  await_dependencies();
  scan_columns_at_once<P, 512, 8, 128>(rows, cut);
}

// rowscan, many, regime column: inclusive prod of f64 along columns of 1000, f64 out
#include "ring_columns.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Prod<f64, f64>;
  using Acc = Op::Total;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 2;
};
RS_KERNEL(448, 2) rowscan_many(RS_PARAMETER(Rows<2>, rows), RS_PARAMETER(RingCut, cut)) {
  prefetch_first<P, 4096, true>(rows);
  await_dependencies();
  scan_ring_columns<P, 8, 4>(rows, cut);
}
