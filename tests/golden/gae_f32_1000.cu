// rowscan, aligned, regime row: reverse inclusive gae of f32 along rows of 1000, beside f32, f32, bool, bool, f32 out and f32 from f64
#include "row_ring.cuh"
struct P {
  using Op = Gae<f64, f64>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = true, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 1;
  struct Further {
    using Inputs = Pack<f32, f32, boolean, boolean>;
    using Params = Pack<f64, f64>;
    using Second = f32;
    using Segment = Nothing;
    static constexpr Told told = NOT_TOLD;
    static constexpr bool weighs = false;
  };
};
RS_KERNEL(64, 8) rowscan_aligned(RS_PARAMETER(FurtherRows<1>, rows)) {
  await_dependencies();
  scan_row_ring<P, Shape<2, 1, 32, 8>, 2, 2, true>(rows);
}

// rowscan, any, regime row: reverse inclusive gae of f32 along rows of 1000, beside f32, f32, bool, bool, f32 out and f32 from f64
#include "row.cuh"
struct P {
  using Op = Gae<f64, f64>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = true, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 1;
  struct Further {
    using Inputs = Pack<f32, f32, boolean, boolean>;
    using Params = Pack<f64, f64>;
    using Second = f32;
    using Segment = Nothing;
    static constexpr Told told = NOT_TOLD;
    static constexpr bool weighs = false;
  };
};
RS_KERNEL(128, 6) rowscan_any(RS_PARAMETER(FurtherRows<1>, rows)) {
  await_dependencies();
  scan_rows<P, Shape<4, 1, 32, 8>, 128, true>(rows);
}

// rowscan, dense, regime row: reverse inclusive gae of f32 along rows of 1000, beside f32, f32, bool, bool, f32 out and f32 from f64
#include "row_ring.cuh"
struct P {
  using Op = Gae<f64, f64>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = true, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 1;
  struct Further {
    using Inputs = Pack<f32, f32, boolean, boolean>;
    using Params = Pack<f64, f64>;
    using Second = f32;
    using Segment = Nothing;
    static constexpr Told told = NOT_TOLD;
    static constexpr bool weighs = false;
  };
};
RS_KERNEL(64, 8) rowscan_dense(RS_PARAMETER(FurtherRows<1>, rows)) {
  await_dependencies();
  scan_row_ring<P, Shape<2, 1, 32, 8>, 2, 2, false>(rows);
}

// rowscan, long_any, regime long: reverse inclusive gae of f32 along rows of 1000, beside f32, f32, bool, bool, f32 out and f32 from f64
#include "direct.cuh"
struct P {
  using Op = Gae<f64, f64>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = true, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 1;
  struct Further {
    using Inputs = Pack<f32, f32, boolean, boolean>;
    using Params = Pack<f64, f64>;
    using Second = f32;
    using Segment = Nothing;
    static constexpr Told told = NOT_TOLD;
    static constexpr bool weighs = false;
  };
};
RS_KERNEL(256, 3) rowscan_long_any(RS_PARAMETER(FurtherRows<1>, rows)) {
  await_dependencies();
  scan_direct<P, Shape<8, 1, 32, 8>, true>(rows);
}
