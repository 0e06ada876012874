// cub_scan.cu - CUB's device-wide scans behind a C function: one row, many rows by key, and rows that lie anyhow
// SPDX-License-Identifier: MIT
//
// nvcc -O3 -std=c++17 -arch=native -DTYPE=float --shared -Xcompiler -fPIC -o cub_float.so cub_scan.cu
//
// With -DSTRIDED it is the last of these: CUB has no scan along another dimension than the last, and its users give it
// iterators that go through memory in the order of the rows.
#include <cstdint>
#include <cub/device/device_scan.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>

// The number of the row that an element is in: a shift where rows are a power of two long.
struct RowOf {
  int64_t length;
  int shift; // or -1
  __host__ __device__ int64_t operator()(int64_t i) const {
    return shift >= 0 ? i >> shift : i / length;
  }
};

static RowOf row_of(int64_t length) {
  int shift = -1;
  for (int s = 0; s < 62; s++)
    if (length == (int64_t)1 << s)
      shift = s;
  return {length, shift};
}

// Rows are numbered [outer, inner]; steps are in elements. Numbers of elements fit 32 bits, whose division is faster.
struct Layout {
  int64_t outer_step, inner_step, step;
};
struct At {
  uint32_t length, inner;
  Layout layout;
  __host__ __device__ int64_t operator()(int64_t i) const {
    uint32_t row = (uint32_t)i / length, element = (uint32_t)i % length;
    return row / inner * layout.outer_step + row % inner * layout.inner_step + element * layout.step;
  }
};

#ifdef STRIDED
template <class T> static auto through(T *data, const At &at) {
  return thrust::make_permutation_iterator(
      data, thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), at));
}
#endif

// With temp == nullptr only says how many bytes it needs. Returns a cudaError_t. Layouts count if it is STRIDED.
extern "C" int cub_scan(void *temp, size_t *bytes, const void *in, void *out, int64_t outer, int64_t length,
                        int64_t inner, const Layout *in_layout, const Layout *out_layout, int exclusive, void *stream) {
  auto s = static_cast<cudaStream_t>(stream);
  int64_t rows = outer * inner, count = rows * length;
#ifdef STRIDED
  auto from = through(static_cast<const TYPE *>(in), At{(uint32_t)length, (uint32_t)inner, *in_layout});
  auto to = through(static_cast<TYPE *>(out), At{(uint32_t)length, (uint32_t)inner, *out_layout});
#else
  auto from = static_cast<const TYPE *>(in);
  auto to = static_cast<TYPE *>(out);
  if (rows == 1)
    return exclusive ? cub::DeviceScan::ExclusiveSum(temp, *bytes, from, to, count, s)
                     : cub::DeviceScan::InclusiveSum(temp, *bytes, from, to, count, s);
#endif
  auto keys = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), row_of(length));
  using Equal = cuda::std::equal_to<>;
  return exclusive ? cub::DeviceScan::ExclusiveSumByKey(temp, *bytes, keys, from, to, count, Equal(), s)
                   : cub::DeviceScan::InclusiveSumByKey(temp, *bytes, keys, from, to, count, Equal(), s);
}
