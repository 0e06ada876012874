// cub_segments.cu - what CUB takes for sums in segments that keys tell, beside a copy of the bytes
// SPDX-License-Identifier: MIT
//
// nvcc -O3 -std=c++17 -arch=native -o cub_segments cub_segments.cu
//
// One row of 2^26 f32, keys of i32 that grow by one after 64 elements in the mean. Prints CSV lines as
// `rowscan bench --mask-mode keys --csv` has them: who, shape, variant, type, what, ms, ratio. CUB has no order of
// sums: "results are not deterministic", says its documentation of floating-point numbers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cub/device/device_scan.cuh>
#include <vector>

template <class F> static float median_ms(const F &run) {
  enum { WARM = 3, RUNS = 21 };
  std::vector<float> times;
  cudaEvent_t start, end;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  for (int i = 0; i < WARM + RUNS; i++) {
    float ms;
    cudaEventRecord(start);
    run();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, start, end);
    if (i >= WARM)
      times.push_back(ms);
  }
  std::nth_element(times.begin(), times.begin() + RUNS / 2, times.end());
  return times[RUNS / 2];
}

int main() {
  const int64_t count = 1 << 26;
  std::vector<float> x(count);
  std::vector<int32_t> key(count);
  uint64_t state = 1;
  for (int64_t i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x[i] = (float)(state >> 40) * 0x1p-24f - 0.25f;
    key[i] = (i ? key[i - 1] : 0) + (state >> 33) % 64 / 63;
  }
  float *in, *out;
  int32_t *keys;
  char *from, *to;
  void *temp = nullptr;
  size_t bytes = 0, moved = 12 * count;
  cudaMalloc(&in, 4 * count);
  cudaMalloc(&out, 4 * count);
  cudaMalloc(&keys, 4 * count);
  cudaMalloc(&from, moved / 2);
  cudaMalloc(&to, moved / 2);
  cudaMemcpy(in, x.data(), 4 * count, cudaMemcpyHostToDevice);
  cudaMemcpy(keys, key.data(), 4 * count, cudaMemcpyHostToDevice);
  cub::DeviceScan::InclusiveSumByKey(temp, bytes, keys, in, out, count);
  cudaMalloc(&temp, bytes);
  float copy = median_ms([&] { cudaMemcpyAsync(to, from, moved / 2, cudaMemcpyDeviceToDevice); });
  float ms = median_ms([&] { cub::DeviceScan::InclusiveSumByKey(temp, bytes, keys, in, out, count); });
  cudaError_t error = cudaGetLastError();
  if (error) {
    fprintf(stderr, "CUB: %s\n", cudaGetErrorString(error));
    return 1;
  }
  printf("CUB,1 x 67108864,inclusive,f32,sum keys,%.6g,%.6g,memcpy\n", ms, copy / ms);
}
