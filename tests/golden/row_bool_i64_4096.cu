// rowscan, aligned, regime row: inclusive sum of bool along rows of 4096, i64 out
#include "ring.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<u64, i64>;
  using Acc = Op::Total;
  using In = boolean;
  using Out = i64;
  using Mask = boolean;
  using Kept = i64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 4096;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 2) rowscan_aligned(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 32768, false>(rows);
  await_dependencies();
  scan_ring<P, Shape<8, 2, 32, 4>, 2, 2>(rows);
}

// rowscan, any, regime row: inclusive sum of bool along rows of 4096, i64 out
#include "row.cuh"
struct P {
  using Op = Sum<u64, i64>;
  using Acc = Op::Total;
  using In = boolean;
  using Out = i64;
  using Mask = boolean;
  using Kept = i64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 4096;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 2) rowscan_any(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_rows<P, Shape<8, 4, 32, 1>, 256, false>(rows);
}

// rowscan, dense, regime row: inclusive sum of bool along rows of 4096, i64 out
#include "ring_any.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<u64, i64>;
  using Acc = Op::Total;
  using In = boolean;
  using Out = i64;
  using Mask = boolean;
  using Kept = i64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 4096;
  static constexpr int rank = 1;
};
RS_KERNEL(128, 2) rowscan_dense(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 32768, false>(rows);
  await_dependencies();
  scan_ring_any<P, Shape<4, 4, 32, 4>, 2, 2>(rows);
}

// rowscan, few, regime row: inclusive sum of bool along rows of 4096, i64 out
#include "row.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<u64, i64>;
  using Acc = Op::Total;
  using In = boolean;
  using Out = i64;
  using Mask = boolean;
  using Kept = i64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 4096;
  static constexpr int rank = 1;
};
RS_KERNEL(512, 2) rowscan_few(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 4096, false>(rows);
  await_dependencies();
  scan_rows<P, Shape<16, 2, 32, 4>, 512, true>(rows);
}
