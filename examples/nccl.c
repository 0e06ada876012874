/*
 * nccl.c - a running sum of one long row that is cut over all GPUs of a machine: the bits of one GPU
 * SPDX-License-Identifier: MIT
 *
 * Each GPU has a thread, and its part of the row. What GPUs send one another is a record of a few sums. To show the
 * bits, the first GPU then scans the whole row by itself, and results are compared.
 *
 *     cc nccl.c $(pkg-config --cflags --libs rowscan) -lnccl -lcudart -lpthread && ./a.out 100000003
 */
#include <pthread.h>
#include <rowscan_nccl.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

static float *row, *results; /* in memory of the host: what is scanned, and the running sums */
static int64_t length;
static ncclComm_t comms[MOST];

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    int error_ = (int)(call);                                                                                          \
    if (error_) {                                                                                                      \
      fprintf(stderr, "%s: %d %s\n", #call, error_, rowscan_last_error());                                             \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

/* Element i of the row: numbers of many sizes, so that the order of adding shows. */
static float element(int64_t i) {
  uint64_t z = (uint64_t)i * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  return (float)(z >> 40) / (float)(1 << 24 >> z % 8);
}

static rowscan_problem sum_of(float *x, const int64_t *count) {
  return (rowscan_problem){.size = sizeof(rowscan_problem),
                           .op = ROWSCAN_SUM,
                           .rank = 1,
                           .shape = count,
                           .input = {.data = x, .type = ROWSCAN_F32},
                           .output = {.data = x, .type = ROWSCAN_F32}};
}

/* What the thread of one GPU does. */
static void *scan_part(void *user) {
  rowscan_nccl nccl = {.comm = *(ncclComm_t *)user};
  rowscan_comm comm;
  rowscan_context *context;
  float *x;
  CHECK(rowscan_nccl_comm(&comm, &nccl));
  CHECK(cudaSetDevice(comm.rank));
  CHECK(cudaStreamCreate(&nccl.stream));
  CHECK(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .device = comm.rank)));

  int64_t begin = length * comm.rank / comm.ranks, count = length * (comm.rank + 1) / comm.ranks - begin;
  size_t bytes = (size_t)count * sizeof *x;
  CHECK(cudaMalloc((void **)&x, bytes + 1));
  CHECK(cudaMemcpyAsync(x, row + begin, bytes, cudaMemcpyHostToDevice, nccl.stream));
  rowscan_problem part = sum_of(x, &count);
  CHECK(rowscan_shard_scan(context, &part, &comm, nccl.stream)); /* all threads call it */
  CHECK(cudaMemcpyAsync(results + begin, x, bytes, cudaMemcpyDeviceToHost, nccl.stream));
  CHECK(cudaStreamSynchronize(nccl.stream));

  rowscan_close(context);
  CHECK(rowscan_nccl_free(&nccl));
  CHECK(cudaFree(x));
  return NULL;
}

/* Scans the whole row on one GPU. Returns how many results have other bits than those of all GPUs. */
static int64_t compare(void) {
  rowscan_context *context;
  CHECK(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA)));
  rowscan_problem whole = sum_of(row, &length);
  CHECK(rowscan_scan_host(context, &whole));
  rowscan_close(context);
  int64_t differ = 0;
  for (int64_t i = 0; i < length; i++)
    differ += row[i] != results[i];
  return differ;
}

int main(int argc, char **argv) {
  int gpus;
  pthread_t threads[MOST];
  length = argc > 1 ? atoll(argv[1]) : 100000003;
  row = malloc((size_t)length * sizeof *row);
  results = malloc((size_t)length * sizeof *row);
  if (!row || !results)
    return 1;
  for (int64_t i = 0; i < length; i++)
    row[i] = element(i);

  CHECK(cudaGetDeviceCount(&gpus));
  gpus = gpus < MOST ? gpus : MOST;
  CHECK(ncclCommInitAll(comms, gpus, NULL));
  for (int r = 0; r < gpus; r++)
    CHECK(pthread_create(&threads[r], NULL, scan_part, &comms[r]));
  for (int r = 0; r < gpus; r++)
    CHECK(pthread_join(threads[r], NULL));
  for (int r = 0; r < gpus; r++)
    CHECK(ncclCommDestroy(comms[r]));

  int64_t differ = compare();
  printf("%d GPUs, %lld elements, the last sum %g, %lld results with other bits than those of one GPU\n", gpus,
         (long long)length, results[length - 1], (long long)differ);
  return differ != 0;
}
