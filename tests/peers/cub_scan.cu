// cub_scan.cu - CUB's device-wide scans behind C functions: one row, or many rows by key
// SPDX-License-Identifier: MIT
//
// nvcc -O3 -std=c++17 -arch=native -DTYPE=float --shared -Xcompiler -fPIC -o cub_float.so cub_scan.cu
#include <cstdint>
#include <cub/device/device_scan.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/counting_iterator.h>
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

// With temp == nullptr only says how many bytes it needs. Returns a cudaError_t.
extern "C" int cub_scan(void *temp, size_t *bytes, const void *in, void *out, int64_t rows, int64_t length,
                        int exclusive, void *stream) {
  auto from = static_cast<const TYPE *>(in);
  auto to = static_cast<TYPE *>(out);
  auto s = static_cast<cudaStream_t>(stream);
  int64_t count = rows * length;
  if (rows == 1)
    return exclusive ? cub::DeviceScan::ExclusiveSum(temp, *bytes, from, to, count, s)
                     : cub::DeviceScan::InclusiveSum(temp, *bytes, from, to, count, s);
  auto keys = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), row_of(length));
  using Equal = cuda::std::equal_to<>;
  return exclusive ? cub::DeviceScan::ExclusiveSumByKey(temp, *bytes, keys, from, to, count, Equal(), s)
                   : cub::DeviceScan::InclusiveSumByKey(temp, *bytes, keys, from, to, count, Equal(), s);
}
