/*
 * bench_parts.c - rows in parts on a GPU, beside one scan of the whole row
 * SPDX-License-Identifier: MIT
 *
 * bench_parts [elements ...]. Not a test: make tests/bench/bench_parts, and run it where there is a GPU (exit status 77
 * where there is none). Prints a CSV: the median time of many calls, each waited for, as the host's clock sees it, and
 * GB/s of reading and writing the elements once.
 *
 *   scan    one rowscan_scan
 *   carry   rowscan_carry_scan of four chunks
 *   record  rowscan_part_record of the whole row as one part
 *   part    rowscan_part_scan of the same, with that record
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gpu/device.h"
#include "bench_time.h"

enum { REPEAT = 21, CHUNKS = 4 };

typedef struct job {
  const char *what;
  rowscan_op op;
  rowscan_type type;
  int64_t elements;
  char *in, *coefficient, *out;
  rowscan_context *context;
  device_stream stream;
  void *record;
  size_t record_bytes;
} job;

/* Elements [at, at + *count). */
static rowscan_problem problem_of(const job *one, int64_t at, const int64_t *count) {
  int64_t bytes = (int64_t)rowscan_type_bytes(one->type) * at;
  rowscan_problem problem = {.size = sizeof problem, .op = one->op, .rank = 1, .shape = count};
  problem.input = (rowscan_input){.data = one->in + bytes, .type = one->type};
  problem.output = (rowscan_output){.data = one->out + bytes, .type = one->type};
  if (one->op == ROWSCAN_LINEAR_RECURRENCE)
    problem.coefficient = (rowscan_input){.data = one->coefficient + bytes, .type = one->type};
  return problem;
}

static void scan(const job *one) {
  rowscan_problem problem = problem_of(one, 0, &one->elements);
  must(rowscan_scan(one->context, &problem, one->stream));
}

static void carry(const job *one) {
  rowscan_carry *carried;
  must(rowscan_carry_create(&carried, one->context));
  for (int c = 0; c < CHUNKS; c++) {
    int64_t at = one->elements * c / CHUNKS, count = one->elements * (c + 1) / CHUNKS - at;
    rowscan_problem chunk = problem_of(one, at, &count);
    must(rowscan_carry_scan(carried, &chunk, one->stream));
  }
  rowscan_carry_destroy(carried);
}

static void record(const job *one) {
  rowscan_problem problem = problem_of(one, 0, &one->elements);
  must(rowscan_part_record(one->context, &problem, ROWSCAN_PART(.length = one->elements), one->record,
                           one->record_bytes, one->stream));
}

static void part(const job *one) {
  rowscan_problem problem = problem_of(one, 0, &one->elements);
  const rowscan_part *given = ROWSCAN_PART(.length = one->elements, .own = one->record, .own_bytes = one->record_bytes);
  must(rowscan_part_scan(one->context, &problem, given, one->stream));
}

static const struct {
  const char *name;
  void (*call)(const job *);
} ways[] = {{"scan", scan}, {"carry", carry}, {"record", record}, {"part", part}};

static double median_of(const job *one, void (*call)(const job *)) {
  double times[REPEAT];
  for (int i = -2; i < REPEAT; i++) { /* twice to warm up */
    double start = now();
    call(one);
    device_wait(one->stream);
    times[i < 0 ? 0 : i] = now() - start;
  }
  return median(times, REPEAT);
}

static void measure(job *one) {
  int arrays = one->op == ROWSCAN_LINEAR_RECURRENCE ? 3 : 2;
  size_t bytes = (size_t)one->elements * rowscan_type_bytes(one->type);
  one->in = device_alloc(bytes);
  one->coefficient = device_alloc(bytes);
  one->out = device_alloc(bytes);
  device_fill(one->in, 0x3e, bytes, one->stream); /* 0.186 of f32 */
  device_fill(one->coefficient, 0x3e, bytes, one->stream);
  rowscan_problem problem = problem_of(one, 0, &one->elements);
  must(rowscan_record_bytes(&problem, 0, one->elements, &one->record_bytes));
  one->record = malloc(one->record_bytes);
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    double ms = median_of(one, ways[w].call);
    printf("%s,%s,%lld,%.4f,%.0f\n", one->what, ways[w].name, (long long)one->elements, ms,
           1e-6 * arrays * (double)bytes / ms);
    fflush(stdout);
  }
  free(one->record);
  device_free(one->in);
  device_free(one->coefficient);
  device_free(one->out);
}

int main(int argc, char **argv) {
  static const int64_t sizes[] = {1 << 20, 1 << 24, 1 << 28, 268000003};
  const char *missing = device_open();
  if (missing) {
    printf("%s\n", missing);
    return 77;
  }
  job one = {.stream = device_stream_new()};
  must(rowscan_open(&one.context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA)));
  printf("scan,way,elements,ms,gbs\n");
  for (int i = 0; i < (argc > 1 ? argc - 1 : (int)(sizeof sizes / sizeof *sizes)); i++) {
    one.elements = argc > 1 ? atoll(argv[i + 1]) : sizes[i];
    one.type = ROWSCAN_F32;
    one.what = "sum", one.op = ROWSCAN_SUM;
    measure(&one);
    one.what = "recurrence", one.op = ROWSCAN_LINEAR_RECURRENCE;
    measure(&one);
    one.what = "logsumexp", one.op = ROWSCAN_LOGSUMEXP;
    measure(&one);
  }
  rowscan_close(one.context);
  device_close();
  return 0;
}
