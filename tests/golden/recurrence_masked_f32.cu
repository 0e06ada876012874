// rowscan, any, regime row: inclusive linear_recurrence of f32 along rows of 1000, masked (select) by bool, coefficients of f32, segments by heads of bool beside, f32 out from f64
#include "row.cuh"
struct P {
  using Op = Resetting<LinearRecurrence<f64, f64>>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = boolean;
  using Kept = f64;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 1;
  struct Further {
    using Inputs = Pack<f32>;
    using Params = Pack<>;
    using Second = Nothing;
    using Segment = boolean;
    static constexpr Told told = MARKED_ITSELF;
  };
};
RS_KERNEL(128, 6) rowscan_any(RS_PARAMETER(FurtherRows<1>, rows)) {
  await_dependencies();
  scan_rows<P, Shape<4, 1, 32, 8>, 128, true>(rows);
}

// rowscan, long_any, regime long: inclusive linear_recurrence of f32 along rows of 1000, masked (select) by bool, coefficients of f32, segments by heads of bool beside, f32 out from f64
#include "direct.cuh"
struct P {
  using Op = Resetting<LinearRecurrence<f64, f64>>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = boolean;
  using Kept = f64;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 1;
  struct Further {
    using Inputs = Pack<f32>;
    using Params = Pack<>;
    using Second = Nothing;
    using Segment = boolean;
    static constexpr Told told = MARKED_ITSELF;
  };
};
RS_KERNEL(256, 3) rowscan_long_any(RS_PARAMETER(FurtherRows<1>, rows)) {
  await_dependencies();
  scan_direct<P, Shape<8, 1, 32, 8>, true>(rows);
}
