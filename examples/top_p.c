/*
 * top_p.c - how many tokens top-p keeps: sums of sorted probabilities on a stream, captured in a CUDA graph
 * SPDX-License-Identifier: MIT
 *
 * A decoding step has probabilities [batch, vocabulary] in device memory, each row sorted from the likeliest token to
 * the least likely one. Top-p keeps the shortest beginning of a row whose sum reaches p. The sums are in fixed point:
 * they never step down, so that a binary search finds the place.
 *
 *     cc top_p.c $(pkg-config --cflags --libs rowscan) -I/usr/local/cuda/include -lcuda && ./a.out
 *
 * If the linker finds no -lcuda, add -L/usr/local/cuda/lib64/stubs. A program that uses the CUDA runtime passes its
 * cudaStream_t as it is: cudaStream_t and CUstream are one type. Arguments: the batch and the vocabulary.
 */
#include <cuda.h>
#include <rowscan.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call, message)                                                                                           \
  do {                                                                                                                 \
    if (call) {                                                                                                        \
      fprintf(stderr, "%s: %s\n", #call, message);                                                                     \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)
#define ROWSCAN(call) CHECK(call, rowscan_last_error())
#define CUDA(call) CHECK(call, "the CUDA driver failed")

static const float p = 0.9f;

/* The search that an engine has in a kernel: the first token at which the sum reaches p is the last one kept. */
static long count_kept(const float *sums, long vocabulary) {
  long first = 0, last = vocabulary - 1;
  while (first < last) {
    long middle = first + (last - first) / 2;
    if (sums[middle] < p)
      first = middle + 1;
    else
      last = middle;
  }
  return first + 1;
}

/* Stands for the model and the sort: the k-th token has a probability in proportion to 1 / (k + shift). */
static void make_row(float *row, long vocabulary, long shift) {
  double total = 0;
  for (long k = 0; k < vocabulary; k++)
    total += 1.0 / (double)(k + shift);
  for (long k = 0; k < vocabulary; k++)
    row[k] = (float)(1 / total / (double)(k + shift));
}

/* Sums are within an ulp of 1 of those in double, and none is less than the one before it. */
static void check_row(const float *row, const float *sums, long vocabulary) {
  double exact = 0;
  for (long k = 0; k < vocabulary; k++) {
    exact += row[k];
    CHECK(sums[k] - exact > 1.2e-7 || exact - sums[k] > 1.2e-7, "a sum is wrong");
    CHECK(k && sums[k] < sums[k - 1], "sums step down");
  }
}

int main(int argc, char **argv) {
  long batch = argc > 1 ? atol(argv[1]) : 8, vocabulary = argc > 2 ? atol(argv[2]) : 128256;
  size_t bytes = (size_t)batch * (size_t)vocabulary * sizeof(float);
  float *probabilities = malloc(bytes), *sums = malloc(bytes);
  CHECK(!probabilities || !sums, "out of memory");

  CUdevice device;
  CUcontext cuda;
  CUstream stream;
  CUdeviceptr d_probabilities, d_sums;
  CUDA(cuInit(0));
  CUDA(cuDeviceGet(&device, 0));
  CUDA(cuDevicePrimaryCtxRetain(&cuda, device));
  CUDA(cuCtxSetCurrent(cuda));
  CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUDA(cuMemAlloc(&d_probabilities, bytes));
  CUDA(cuMemAlloc(&d_sums, bytes));

  /* The arrays are in device memory: ask for CUDA, so that a machine without it is an error here, and nothing else. */
  rowscan_context *context;
  ROWSCAN(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA)));
  const rowscan_problem *problem =
      ROWSCAN_PROBLEM(.op = ROWSCAN_SUM, .acc_type = ROWSCAN_FIXED(60), .rank = 2, .dim = 1,
                      .shape = (const int64_t[]){batch, vocabulary},
                      .input = {.data = (const void *)(uintptr_t)d_probabilities, .type = ROWSCAN_F32},
                      .output = {.data = (void *)(uintptr_t)d_sums, .type = ROWSCAN_F32});

  /* All that takes long happens now: the kernel is read from the cache or compiled, and loaded. */
  ROWSCAN(rowscan_prepare(context, problem));

  /* The graph of a decoding step. An engine captures its model and its sampling kernel around the scan. */
  CUgraph graph;
  CUgraphExec step;
  CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ROWSCAN(rowscan_scan(context, problem, stream));
  CUDA(cuStreamEndCapture(stream, &graph));
  CUDA(cuGraphInstantiateWithFlags(&step, graph, 0));

  for (int i = 0; i < 3; i++) {
    for (long row = 0; row < batch; row++)
      make_row(probabilities + row * vocabulary, vocabulary, 1 + row + i);
    CUDA(cuMemcpyHtoDAsync(d_probabilities, probabilities, bytes, stream));
    CUDA(cuGraphLaunch(step, stream));
    CUDA(cuMemcpyDtoHAsync(sums, d_sums, bytes, stream));
    CUDA(cuStreamSynchronize(stream));
    printf("step %d keeps", i);
    for (long row = 0; row < batch; row++) {
      check_row(probabilities + row * vocabulary, sums + row * vocabulary, vocabulary);
      printf(" %ld", count_kept(sums + row * vocabulary, vocabulary));
    }
    printf(" tokens\n");
  }

  CUDA(cuGraphExecDestroy(step)); /* before the context is closed, which unloads the kernel */
  CUDA(cuGraphDestroy(graph));
  rowscan_close(context);
  CUDA(cuMemFree(d_sums));
  CUDA(cuMemFree(d_probabilities));
  CUDA(cuStreamDestroy(stream));
  CUDA(cuDevicePrimaryCtxRelease(device));
  free(sums);
  free(probabilities);
  return 0;
}
