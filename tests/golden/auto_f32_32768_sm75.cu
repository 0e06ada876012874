// rowscan, aligned, regime row: inclusive sum of f32 along rows of 32768, f32 out
#include "row.cuh"
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
  await_dependencies();
  scan_rows<P, Shape<16, 4, 32, 4>, 512, true>(rows);
}

// rowscan, any, regime row: inclusive sum of f32 along rows of 32768, f32 out
#include "row.cuh"
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
RS_KERNEL(512, 1) rowscan_any(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_rows<P, Shape<16, 4, 32, 4>, 512, false>(rows);
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
  scan_tiles<P, TileShape<8, 2, 4>, false>(rows);
}

// rowscan, long_aligned, regime long: inclusive sum of f32 along rows of 32768, f32 out
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
RS_KERNEL(256, 4) rowscan_long_aligned(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_tiles<P, TileShape<8, 2, 4>, true>(rows);
}

// rowscan, long_few, regime long: inclusive sum of f32 along rows of 32768, f32 out
#include "at_once.cuh"
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
RS_KERNEL(512, 1) rowscan_long_few(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_at_once<P, Shape<16, 2, 32, 4>>(rows);
}
