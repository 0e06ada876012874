// rowscan, regime column: inclusive prod of f64 along columns of 1000, f64 out
#include "column.cuh"
struct P {
  using Acc = f64;
  using Op = Prod<Acc>;
  using In = f64;
  using Out = f64;
  using Mask = f64;
  using Kept = f64;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 1000;
  static constexpr int rank = 2;
};
RS_KERNEL(128, 1) rowscan_any(RS_PARAMETER(Rows<2>, rows)) {
  scan_columns<P, 128, 8>(rows);
}
