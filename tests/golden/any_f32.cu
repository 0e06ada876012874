// rowscan, aligned, regime row: inclusive sum of f32 along rows of any length, f32 out, or exclusive
#include "row.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false;
  static constexpr i64 length = RS_ANY_LENGTH, most = 130560;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 1) rowscan_aligned(RS_PARAMETER(AnyRows<1>, rows)) {
  await_dependencies();
  scan_rows<P, Shape<1, 4, 32, 4>, 256, true>(rows);
}

// rowscan, any, regime row: inclusive sum of f32 along rows of any length, f32 out, or exclusive
#include "row.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false;
  static constexpr i64 length = RS_ANY_LENGTH, most = 65280;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 1) rowscan_any(RS_PARAMETER(AnyRows<1>, rows)) {
  await_dependencies();
  scan_rows<P, Shape<1, 8, 32, 1>, 256, false>(rows);
}

// rowscan, dense, regime row: inclusive sum of f32 along rows of any length, f32 out, or exclusive
#include "short.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false;
  static constexpr i64 length = RS_ANY_LENGTH, most = 1024;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 4) rowscan_dense(RS_PARAMETER(AnyRows<1>, rows)) {
  await_dependencies();
  scan_slab<P, SlabShape<4096, 256, 32, 4, 1>>(rows);
}

// rowscan, long_any, regime long: inclusive sum of f32 along rows of any length, f32 out, or exclusive
#include "tiles.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false;
  static constexpr i64 length = RS_ANY_LENGTH, most = 274877906944;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 4) rowscan_long_any(RS_PARAMETER(AnyRows<1>, rows)) {
  await_dependencies();
  scan_tiles<P, TileShape<8, 8, 4>, false>(rows);
}

// rowscan, long_aligned, regime long: inclusive sum of f32 along rows of any length, f32 out, or exclusive
#include "tiles.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false;
  static constexpr i64 length = RS_ANY_LENGTH, most = 274877906944;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 4) rowscan_long_aligned(RS_PARAMETER(AnyRows<1>, rows)) {
  await_dependencies();
  scan_tiles<P, TileShape<8, 8, 4>, true>(rows);
}
