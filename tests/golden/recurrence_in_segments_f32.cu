// rowscan, any, regime row: inclusive linear_recurrence of f32 along columns of any length, coefficients of f32, segments by tails of bool beside, f32 out from f64, or exclusive
#include "row.cuh"
struct P {
  using Op = Resetting<LinearRecurrence<f64, f64>>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f64;
  static constexpr MaskMode mask = COEFFICIENT;
  static constexpr bool reverse = false;
  static constexpr i64 length = RS_ANY_LENGTH, most = 16368;
  static constexpr int rank = 2;
  struct Further {
    using Inputs = Pack<>;
    using Params = Pack<>;
    using Second = Nothing;
    using Segment = boolean;
    static constexpr Told told = MARKED_BEFORE;
  };
};
RS_KERNEL(256, 2) rowscan_any(RS_PARAMETER(FurtherRows<2>, rows)) {
  await_dependencies();
  scan_rows<P, Shape<1, 1, 4, 4>, 256, false>(rows);
}

// rowscan, long_any, regime long: inclusive linear_recurrence of f32 along columns of any length, coefficients of f32, segments by tails of bool beside, f32 out from f64, or exclusive
#include "direct.cuh"
struct P {
  using Op = Resetting<LinearRecurrence<f64, f64>>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f64;
  static constexpr MaskMode mask = COEFFICIENT;
  static constexpr bool reverse = false;
  static constexpr i64 length = RS_ANY_LENGTH, most = 34359738368;
  static constexpr int rank = 2;
  struct Further {
    using Inputs = Pack<>;
    using Params = Pack<>;
    using Second = Nothing;
    using Segment = boolean;
    static constexpr Told told = MARKED_BEFORE;
  };
};
RS_KERNEL(256, 2) rowscan_long_any(RS_PARAMETER(FurtherRows<2>, rows)) {
  await_dependencies();
  scan_direct<P, Shape<8, 1, 32, 4>, false>(rows);
}
