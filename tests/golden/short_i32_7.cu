// rowscan, dense, regime short: inclusive sum of i32 along rows of 7, i32 out
#include "short.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<u32, i32>;
  using Acc = Op::Total;
  using In = i32;
  using Out = i32;
  using Mask = i32;
  using Kept = i32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 7;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 4) rowscan_dense(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 3584, false>(rows);
  await_dependencies();
  scan_slab<P, SlabShape<512, 256, 1, 8, 1>>(rows);
}

// rowscan, any, regime short: inclusive sum of i32 along rows of 7, i32 out
#include "row.cuh"
struct P {
  using Op = Sum<u32, i32>;
  using Acc = Op::Total;
  using In = i32;
  using Out = i32;
  using Mask = i32;
  using Kept = i32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 7;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 1) rowscan_any(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_rows<P, Shape<1, 1, 2, 4>, 256, false>(rows);
}
