// rowscan, aligned, regime row: inclusive sum of f32 along rows of 32768, f32 out
#include "row_ring.cuh"
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
  static constexpr i64 length = 32768;
  static constexpr int rank = 1;
};
RS_KERNEL(512, 1) rowscan_aligned(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 16384, false>(rows);
  await_dependencies();
  scan_row_ring<P, Shape<16, 4, 32, 4>, 4, 2, true>(rows);
}

// rowscan, any, regime row: inclusive sum of f32 along rows of 32768, f32 out
#include "gather.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 32768;
  static constexpr int rank = 1;
};
RS_KERNEL(512, 2) rowscan_any(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_gather<P, Shape<16, 2, 32, 4>>(rows);
}

// rowscan, dense, regime row: inclusive sum of f32 along rows of 32768, f32 out
#include "row_ring.cuh"
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
  static constexpr i64 length = 32768;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 1) rowscan_dense(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 16384, false>(rows);
  await_dependencies();
  scan_row_ring<P, Shape<8, 8, 32, 4>, 4, 2, false>(rows);
}

// rowscan, long_any, regime long: inclusive sum of f32 along rows of 32768, f32 out
#include "tiles.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 32768;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 4) rowscan_long_any(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_tiles<P, TileShape<8, 8, 4>, false>(rows);
}

// rowscan, long_dense, regime long: inclusive sum of f32 along rows of 32768, f32 out
#include "row_stream.cuh"
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
  static constexpr i64 length = 32768;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 1) rowscan_long_dense(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 16384, false>(rows);
  await_dependencies();
  scan_row_stream<P, Shape<4, 16, 32, 4>, 2, 5, false>(rows);
}

// rowscan, long_aligned, regime long: inclusive sum of f32 along rows of 32768, f32 out
#include "row_stream.cuh"
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
  static constexpr i64 length = 32768;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 1) rowscan_long_aligned(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 16384, false>(rows);
  await_dependencies();
  scan_row_stream<P, Shape<4, 16, 32, 4>, 2, 6, true>(rows);
}

// rowscan, long_few, regime long: inclusive sum of f32 along rows of 32768, f32 out
#include "at_once.cuh"
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
  static constexpr i64 length = 32768;
  static constexpr int rank = 1;
};
RS_KERNEL(512, 2) rowscan_long_few(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 4096, false>(rows);
  await_dependencies();
  scan_at_once<P, Shape<16, 2, 32, 4>>(rows);
}
