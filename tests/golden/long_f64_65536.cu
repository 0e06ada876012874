// rowscan, long_aligned, regime long: inclusive sum of f64 along rows of 65536, f64 out
#include "stream.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f64, f64>;
  using Acc = Op::Total;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 65536;
  static constexpr int rank = 1;
};
RS_KERNEL(384, 1) rowscan_long_aligned(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 8192, false>(rows);
  await_dependencies();
  scan_stream<P, Shape<8, 8, 32, 2>, 2, 6>(rows);
}

// rowscan, long_any, regime long: inclusive sum of f64 along rows of 65536, f64 out
#include "tiles.cuh"
struct P {
  using Op = Sum<f64, f64>;
  using Acc = Op::Total;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 65536;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 4) rowscan_long_any(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_tiles<P, TileShape<8, 4, 4>, false>(rows);
}

// rowscan, long_dense, regime long: inclusive sum of f64 along rows of 65536, f64 out
#include "stream_any.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f64, f64>;
  using Acc = Op::Total;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 65536;
  static constexpr int rank = 1;
};
RS_KERNEL(384, 1) rowscan_long_dense(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 8192, false>(rows);
  await_dependencies();
  scan_stream_any<P, Shape<8, 8, 32, 2>, 2, 5>(rows);
}

// rowscan, long_few, regime long: inclusive sum of f64 along rows of 65536, f64 out
#include "at_once.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f64, f64>;
  using Acc = Op::Total;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 65536;
  static constexpr int rank = 1;
};
RS_KERNEL(512, 1) rowscan_long_few(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 2048, false>(rows);
  await_dependencies();
  scan_at_once<P, Shape<16, 1, 32, 4>>(rows);
}
