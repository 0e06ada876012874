/*
 * bench_nccl.c - one long row that is cut over all GPUs of a machine, beside the whole row on one GPU
 * SPDX-License-Identifier: MIT
 *
 * bench_nccl [elements ...]. Not a test: compile it by hand where there are GPUs and NCCL,
 *
 *     cc -O2 tests/bench/bench_nccl.c $(pkg-config --cflags --libs rowscan) -lnccl -lcudart -lpthread
 *
 * Sums of f32 in place. Each GPU has a thread. Prints a CSV of median times, from a barrier to the last thread's end,
 * and GB/s of reading and writing the row once:
 *
 *   one       the whole row on the first GPU
 *   parts     rowscan_shard_scan, a part on each GPU
 *   exchange  the same of parts without elements
 */
#include <pthread.h>
#include <rowscan_nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 16, REPEAT = 21 };

static int gpus;
static int64_t length;
static ncclComm_t comms[MOST];
static pthread_barrier_t barrier;
static double ended[MOST];

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    int error_ = (int)(call);                                                                                          \
    if (error_) {                                                                                                      \
      fprintf(stderr, "%s: %d %s\n", #call, error_, rowscan_last_error());                                             \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* What a thread has. */
typedef struct member {
  rowscan_nccl nccl;
  rowscan_comm comm;
  rowscan_context *context;
  float *x;
  int64_t whole, part, nothing;
} member;

static void scan(member *m, const char *way) {
  int64_t *count = *way == 'o' ? &m->whole : *way == 'p' ? &m->part : &m->nothing;
  rowscan_problem problem = {.size = sizeof problem, .rank = 1, .shape = count};
  problem.input = (rowscan_input){.data = m->x, .type = ROWSCAN_F32};
  problem.output = (rowscan_output){.data = m->x, .type = ROWSCAN_F32};
  if (*way != 'o')
    CHECK(rowscan_shard_scan(m->context, &problem, &m->comm, m->nccl.stream));
  else if (!m->comm.rank)
    CHECK(rowscan_scan(m->context, &problem, m->nccl.stream));
}

/* The same numbers each time: in place they would grow. */
static void measure(member *m, const char *way) {
  double times[REPEAT];
  for (int i = -3; i < REPEAT; i++) {
    CHECK(cudaMemsetAsync(m->x, 0x3e, (size_t)(m->comm.rank ? m->part : m->whole) * sizeof *m->x, m->nccl.stream));
    CHECK(cudaStreamSynchronize(m->nccl.stream));
    pthread_barrier_wait(&barrier);
    double start = now(), last = 0;
    scan(m, way);
    CHECK(cudaStreamSynchronize(m->nccl.stream));
    ended[m->comm.rank] = now();
    pthread_barrier_wait(&barrier);
    for (int r = 0; r < gpus; r++)
      last = ended[r] > last ? ended[r] : last;
    times[i < 0 ? 0 : i] = last - start;
    pthread_barrier_wait(&barrier);
  }
  qsort(times, REPEAT, sizeof *times, ascending);
  if (!m->comm.rank)
    printf("%s,%d,%lld,%.4f,%.0f\n", way, gpus, (long long)length, times[REPEAT / 2],
           *way == 'e' ? 0 : 8e-6 * (double)length / times[REPEAT / 2]);
}

static void *work(void *user) {
  member m = {.nccl = {.comm = *(ncclComm_t *)user}};
  CHECK(rowscan_nccl_comm(&m.comm, &m.nccl));
  CHECK(cudaSetDevice(m.comm.rank));
  CHECK(cudaStreamCreate(&m.nccl.stream));
  CHECK(rowscan_open(&m.context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .device = m.comm.rank,
                                                 .compile = ROWSCAN_COMPILE_NOW)));
  m.whole = length;
  m.part = length * (m.comm.rank + 1) / gpus - length * m.comm.rank / gpus;
  CHECK(cudaMalloc((void **)&m.x, (size_t)(m.comm.rank ? m.part : m.whole) * sizeof *m.x));
  measure(&m, "one");
  measure(&m, "parts");
  measure(&m, "exchange");
  rowscan_close(m.context);
  CHECK(rowscan_nccl_free(&m.nccl));
  CHECK(cudaFree(m.x));
  return NULL;
}

int main(int argc, char **argv) {
  static const int64_t sizes[] = {1 << 20, 1 << 24, 1 << 28, 1 << 30, INT64_C(1) << 32, 1000000007};
  pthread_t threads[MOST];
  CHECK(cudaGetDeviceCount(&gpus));
  gpus = gpus < MOST ? gpus : MOST;
  CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)gpus));
  printf("way,gpus,elements,ms,gbs\n");
  for (int i = 0; i < (argc > 1 ? argc - 1 : (int)(sizeof sizes / sizeof *sizes)); i++) {
    length = argc > 1 ? atoll(argv[i + 1]) : sizes[i];
    CHECK(ncclCommInitAll(comms, gpus, NULL));
    for (int r = 0; r < gpus; r++)
      CHECK(pthread_create(&threads[r], NULL, work, &comms[r]));
    for (int r = 0; r < gpus; r++)
      CHECK(pthread_join(threads[r], NULL));
    for (int r = 0; r < gpus; r++)
      CHECK(ncclCommDestroy(comms[r]));
    fflush(stdout);
  }
  return 0;
}
