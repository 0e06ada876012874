// rowscan, any, regime column: inclusive linear_recurrence of f32 along columns of 1000, masked (select) by bool, coefficients of f32, f32 out from f64
#include "further_columns.cuh"
struct P {
  using Op = LinearRecurrence<f64, f64>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = boolean;
  using Kept = f64;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 2;
  struct Further {
    using Inputs = Pack<f32>;
    using Params = Pack<>;
    using Second = Nothing;
    using Segment = Nothing;
    static constexpr Told told = NOT_TOLD;
  };
};
RS_KERNEL(256, 4) rowscan_any(RS_PARAMETER(FurtherRows<2>, rows), RS_PARAMETER(WideCut, cut)) {
  await_dependencies();
  scan_further_columns<P, 256, 32, 32>(rows, cut);
}

// rowscan, many, regime column: inclusive linear_recurrence of f32 along columns of 1000, masked (select) by bool, coefficients of f32, f32 out from f64
#include "row.cuh"
struct P {
  using Op = LinearRecurrence<f64, f64>;
  using Acc = Op::Total;
  using In = f32;
  using Out = f32;
  using Mask = boolean;
  using Kept = f64;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 2;
  struct Further {
    using Inputs = Pack<f32>;
    using Params = Pack<>;
    using Second = Nothing;
    using Segment = Nothing;
    static constexpr Told told = NOT_TOLD;
  };
};
RS_KERNEL(256, 2) rowscan_many(RS_PARAMETER(FurtherRows<2>, rows)) {
  await_dependencies();
  scan_rows<P, Shape<1, 1, 4, 4>, 256, false>(rows);
}
