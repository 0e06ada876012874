// rowscan, aligned, regime row: reverse exclusive sum of bf16 along rows of 50257, masked (select) by bool, bf16 out from f32
#include "ring.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = bf16;
  using Out = bf16;
  using Mask = boolean;
  using Kept = f32;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = true, exclusive = true;
  static constexpr i64 length = 50257;
  static constexpr int rank = 1;
};
RS_KERNEL(512, 1) rowscan_aligned(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 32768, false>(rows);
  await_dependencies();
  scan_ring<P, Shape<16, 4, 32, 8>, 3, 2>(rows);
}

// rowscan, any, regime row: reverse exclusive sum of bf16 along rows of 50257, masked (select) by bool, bf16 out from f32
#include "row.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = bf16;
  using Out = bf16;
  using Mask = boolean;
  using Kept = f32;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = true, exclusive = true;
  static constexpr i64 length = 50257;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 2) rowscan_any(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_rows<P, Shape<8, 8, 32, 1>, 256, false>(rows);
}

// rowscan, dense, regime row: reverse exclusive sum of bf16 along rows of 50257, masked (select) by bool, bf16 out from f32
#include "ring_any.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = bf16;
  using Out = bf16;
  using Mask = boolean;
  using Kept = f32;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = true, exclusive = true;
  static constexpr i64 length = 50257;
  static constexpr int rank = 1;
};
RS_KERNEL(128, 4) rowscan_dense(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 8192, false>(rows);
  await_dependencies();
  scan_ring_any<P, Shape<4, 4, 32, 8>, 3, 2>(rows);
}

// rowscan, long_any, regime long: reverse exclusive sum of bf16 along rows of 50257, masked (select) by bool, bf16 out from f32
#include "tiles.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = bf16;
  using Out = bf16;
  using Mask = boolean;
  using Kept = f32;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = true, exclusive = true;
  static constexpr i64 length = 50257;
  static constexpr int rank = 1;
};
RS_KERNEL(256, 4) rowscan_long_any(RS_PARAMETER(Rows<1>, rows)) {
  await_dependencies();
  scan_tiles<P, TileShape<8, 8, 8>, false>(rows);
}

// rowscan, long_dense, regime long: reverse exclusive sum of bf16 along rows of 50257, masked (select) by bool, bf16 out from f32
#include "stream_any.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = bf16;
  using Out = bf16;
  using Mask = boolean;
  using Kept = f32;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = true, exclusive = true;
  static constexpr i64 length = 50257;
  static constexpr int rank = 1;
};
RS_KERNEL(384, 1) rowscan_long_dense(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 32768, false>(rows);
  await_dependencies();
  scan_stream_any<P, Shape<8, 8, 32, 8>, 2, 3>(rows);
}

// rowscan, long_aligned, regime long: reverse exclusive sum of bf16 along rows of 50257, masked (select) by bool, bf16 out from f32
#include "stream.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = bf16;
  using Out = bf16;
  using Mask = boolean;
  using Kept = f32;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = true, exclusive = true;
  static constexpr i64 length = 50257;
  static constexpr int rank = 1;
};
RS_KERNEL(384, 1) rowscan_long_aligned(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 32768, false>(rows);
  await_dependencies();
  scan_stream<P, Shape<8, 8, 32, 8>, 2, 4>(rows);
}

// rowscan, long_few, regime long: reverse exclusive sum of bf16 along rows of 50257, masked (select) by bool, bf16 out from f32
#include "at_once.cuh"
#include "prefetch.cuh"
struct P {
  using Op = Sum<f32, f32>;
  using Acc = Op::Total;
  using In = bf16;
  using Out = bf16;
  using Mask = boolean;
  using Kept = f32;
  static constexpr MaskMode mask = SELECT;
  static constexpr bool reverse = true, exclusive = true;
  static constexpr i64 length = 50257;
  static constexpr int rank = 1;
};
RS_KERNEL(512, 2) rowscan_long_few(RS_PARAMETER(Rows<1>, rows)) {
  prefetch_first<P, 4096, false>(rows);
  await_dependencies();
  scan_at_once<P, Shape<16, 1, 32, 8>>(rows);
}
