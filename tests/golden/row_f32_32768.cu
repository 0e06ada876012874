// rowscan, regime row: inclusive sum of f32 along rows of 32768, f32 out
#include "row.cuh"
#include "ring_any.cuh"
#include "ring.cuh"
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
RS_KERNEL(512, 1) rowscan_any(RS_PARAMETER(Rows<1>, rows)) {
  scan_rows<P, Shape<16, 1, 32, 4>, 512, false>(rows);
}
RS_KERNEL(256, 1) rowscan_dense(RS_PARAMETER(Rows<1>, rows)) {
  scan_ring_any<P, Shape<8, 8, 32, 4>, 4, 2>(rows);
}
RS_KERNEL(512, 1) rowscan_aligned(RS_PARAMETER(Rows<1>, rows)) {
  scan_ring<P, Shape<16, 4, 32, 4>, 4, 2>(rows);
}
