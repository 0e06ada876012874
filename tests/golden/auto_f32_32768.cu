// rowscan, regime auto: inclusive sum of f32 along rows of 32768, f32 out
#include "gather.cuh"
#include "ring_any.cuh"
#include "ring.cuh"
#include "tiles.cuh"
#include "stream_any.cuh"
#include "stream.cuh"
#include "at_once.cuh"
#include "prefetch.cuh"
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
RS_KERNEL(512, 2) rowscan_any(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_gather<P, Shape<16, 2, 32, 4>>(rows);
}
RS_KERNEL(256, 1) rowscan_dense(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 16384, false>(rows);
  await_dependencies();
  scan_ring_any<P, Shape<8, 8, 32, 4>, 4, 2>(rows);
}
RS_KERNEL(512, 1) rowscan_aligned(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 16384, false>(rows);
  await_dependencies();
  scan_ring<P, Shape<16, 4, 32, 4>, 4, 2>(rows);
}
RS_KERNEL(256, 4) rowscan_long_any(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_tiles<P, TileShape<8, 8, 4>, false>(rows);
}
RS_KERNEL(256, 1) rowscan_long_dense(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 16384, false>(rows);
  await_dependencies();
  scan_stream_any<P, Shape<4, 16, 32, 4>, 2, 5>(rows);
}
RS_KERNEL(256, 1) rowscan_long_aligned(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 16384, false>(rows);
  await_dependencies();
  scan_stream<P, Shape<4, 16, 32, 4>, 2, 6>(rows);
}
RS_KERNEL(512, 2) rowscan_long_few(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 4096, false>(rows);
  await_dependencies();
  scan_at_once<P, Shape<16, 2, 32, 4>>(rows);
}
