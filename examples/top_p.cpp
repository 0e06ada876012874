// top_p.cpp - how an engine written in C++17 embeds rowscan: sums for top-p, made ready at start, run on its streams
// SPDX-License-Identifier: MIT
//
// C++17 has no designated initialisers: zero a struct with {}, set its size, then the fields that you need. A field
// that stays zero has its default. (From C++20 on the macros ROWSCAN_OPTIONS and so on work as in C.)
//
//     c++ -std=c++17 top_p.cpp $(pkg-config --cflags --libs rowscan) -I/usr/local/cuda/include -lcuda && ./a.out
//
// `./a.out --specs` prints what the engine scans, for `rowscan warm` on a build machine; container/ has the rest of
// that way to production. A further argument is the size of the vocabulary.
#include <cuda.h>
#include <rowscan.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(rowscan_status status) {
  if (status != ROWSCAN_OK)
    throw std::runtime_error(std::string(rowscan_status_name(status)) + ": " + rowscan_last_error());
}

void check(CUresult result) {
  const char *name = nullptr;
  if (result != CUDA_SUCCESS)
    throw std::runtime_error(cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : "the CUDA driver failed");
}

// Sums of probabilities that are sorted, [batch, vocabulary], in device memory.
class TopP {
public:
  static rowscan_spec spec(int64_t vocabulary) {
    rowscan_spec spec = {};
    spec.size = sizeof spec;
    spec.op = ROWSCAN_SUM;
    spec.in_type = spec.out_type = ROWSCAN_F32;
    spec.acc_type = ROWSCAN_FIXED(60);
    spec.length = vocabulary;
    check(rowscan_spec_complete(&spec));
    return spec;
  }

  // In the engine's CUDA context. Throws, with a message that names the kernel, where one is neither in the cache nor
  // in a pack and may not be compiled; when the constructor is done, no run compiles, loads or allocates.
  TopP(CUcontext cuda, int64_t vocabulary) {
    rowscan_options options = {};
    options.size = sizeof options;
    options.engine = ROWSCAN_ENGINE_CUDA; // not AUTO: on the host it would read device memory
    options.cuda_context = cuda;
    options.log = [](void *, rowscan_log_level level, const char *message) {
      if (level == ROWSCAN_LOG_WARNING)
        std::fprintf(stderr, "engine: rowscan: %s\n", message);
    };
    rowscan_context *context = nullptr;
    check(rowscan_open(&context, &options));
    context_.reset(context);

    rowscan_spec wanted = spec(vocabulary);
    rowscan_plan *plan = nullptr;
    check(rowscan_plan_create(&plan, context, &wanted));
    plan_.reset(plan);
    check(rowscan_plan_prepare(plan, nullptr));
  }

  // Queues the sums of `batch` rows. Any thread may call it, for any stream, also while the stream is captured.
  void run(CUdeviceptr probabilities, CUdeviceptr sums, int64_t batch, CUstream stream) const {
    rowscan_args args = {};
    args.size = sizeof args;
    args.input = reinterpret_cast<const void *>(probabilities);
    args.output = reinterpret_cast<void *>(sums);
    args.rows = batch;
    check(rowscan_plan_run(plan_.get(), &args, stream));
  }

private:
  struct Close {
    void operator()(rowscan_context *context) const {
      rowscan_close(context);
    }
    void operator()(rowscan_plan *plan) const {
      rowscan_plan_destroy(plan);
    }
  };
  std::unique_ptr<rowscan_context, Close> context_;
  std::unique_ptr<rowscan_plan, Close> plan_; // after its context, so that it is destroyed before it
};

void print_spec(int64_t vocabulary) {
  rowscan_spec spec = TopP::spec(vocabulary);
  char *text = nullptr;
  check(rowscan_spec_text(&spec, &text));
  std::printf("%s\n", text);
  rowscan_free(text);
}

// One step of an engine: probabilities that halve from token to token, so that their sums are known exactly.
void serve(int64_t vocabulary) {
  constexpr int64_t batch = 4;
  CUdevice device;
  CUcontext cuda;
  check(cuInit(0));
  check(cuDeviceGet(&device, 0));
  check(cuDevicePrimaryCtxRetain(&cuda, device));
  check(cuCtxSetCurrent(cuda));
  {
    TopP top_p(cuda, vocabulary);

    std::vector<float> p(static_cast<size_t>(batch * vocabulary)), sums(p.size());
    for (int64_t row = 0; row < batch; row++) {
      float next = 0.5f;
      for (int64_t k = 0; k < vocabulary; k++, next /= 2)
        p[static_cast<size_t>(row * vocabulary + k)] = next;
    }
    CUstream stream;
    CUdeviceptr d_p, d_sums;
    size_t bytes = p.size() * sizeof(float);
    check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    check(cuMemAlloc(&d_p, bytes));
    check(cuMemAlloc(&d_sums, bytes));
    check(cuMemcpyHtoDAsync(d_p, p.data(), bytes, stream));
    top_p.run(d_p, d_sums, batch, stream);
    check(cuMemcpyDtoHAsync(sums.data(), d_sums, bytes, stream));
    check(cuStreamSynchronize(stream));
    for (int64_t row = 0; row < batch; row++)
      if (const float *y = &sums[static_cast<size_t>(row * vocabulary)]; y[0] != 0.5f || y[3] != 0.9375f)
        throw std::runtime_error("a sum is wrong");
    std::printf("the sums of the first four tokens: %g %g %g %g\n", sums[0], sums[1], sums[2], sums[3]);
    check(cuMemFree(d_sums));
    check(cuMemFree(d_p));
    check(cuStreamDestroy(stream));
  }
  check(cuDevicePrimaryCtxRelease(device));
}

} // namespace

int main(int argc, char **argv) {
  bool specs = argc > 1 && !std::strcmp(argv[1], "--specs");
  int64_t vocabulary = argc > 1 + specs ? std::atoll(argv[1 + specs]) : 128256;
  try {
    if (specs)
      print_spec(vocabulary);
    else
      serve(vocabulary);
  } catch (const std::exception &problem) {
    std::fprintf(stderr, "engine: %s\n", problem.what());
    return 1;
  }
}
