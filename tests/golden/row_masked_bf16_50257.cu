// rowscan, regime row: reverse exclusive sum of bf16 along rows of 50257, masked (select) by bool, bf16 out from f32
#include "row.cuh"
#include "ring_any.cuh"
#include "ring.cuh"
struct P {
  using Acc = f32;
  using Op = Sum<Acc>;
  using In = bf16;
  using Out = bf16;
  using Mask = boolean;
  using Kept = f32;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = true, exclusive = true;
  static constexpr i64 length = 50257;
  static constexpr int rank = 1;
};
RS_KERNEL(512, 1) rowscan_any(RS_PARAMETER(Rows<1>, rows)) {
  scan_rows<P, Shape<16, 1, 32, 8>, 512, false>(rows);
}
RS_KERNEL(256, 2) rowscan_dense(RS_PARAMETER(Rows<1>, rows)) {
  scan_ring_any<P, Shape<8, 4, 32, 8>, 3, 2>(rows);
}
RS_KERNEL(512, 1) rowscan_aligned(RS_PARAMETER(Rows<1>, rows)) {
  scan_ring<P, Shape<16, 4, 32, 8>, 3, 2>(rows);
}
