// rowscan, regime long: inclusive sum of f32 along rows of 32768, f32 out
#include "long.cuh"
struct P {
  using Acc = f32;
  using Op = Sum<Acc>;
  using In = f32;
  using Out = f32;
  using Mask = f32;
  using Kept = f32;
  static constexpr MaskMode mask = NO_MASK;
  static constexpr bool reverse = false, exclusive = false;
  static constexpr i64 length = 32768;
  static constexpr int rank = 1;
};
using S = Shape<8, 4, 32, 4>;
RS_KERNEL(256, 1) rowscan_any(RS_PARAMETER(Rows<1>, rows)) {
  long_scan<P, S, false>(rows);
}
RS_KERNEL(256, 1) rowscan_vectored(RS_PARAMETER(Rows<1>, rows)) {
  long_scan<P, S, true>(rows);
}
RS_KERNEL(256, 1) rowscan_totals(RS_PARAMETER(Rows<1>, rows)) {
  long_totals<P, S, false>(rows);
}
RS_KERNEL(256, 1) rowscan_totals_vectored(RS_PARAMETER(Rows<1>, rows)) {
  long_totals<P, S, true>(rows);
}
RS_KERNEL(256, 1) rowscan_prefixes(RS_PARAMETER(Rows<1>, rows)) {
  long_prefixes<P, S>(rows);
}
