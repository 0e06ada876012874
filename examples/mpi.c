/*
 * mpi.c - a running sum of one long row that is cut over MPI processes: the bits of one process
 * SPDX-License-Identifier: MIT
 *
 * Each process has its part of the row alone, of any length. What processes send one another is a record of a few sums.
 * To show the bits, each process then scans the whole row by itself, and compares its part.
 *
 *     mpicc mpi.c $(pkg-config --cflags --libs rowscan) && mpirun -n 3 ./a.out 1000003
 */
#include <rowscan_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(rowscan_status status) {
  if (status == ROWSCAN_OK)
    return;
  fprintf(stderr, "%s\n", rowscan_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Element i of the row: numbers of many sizes, so that the order of adding shows. */
static float element(int64_t i) {
  uint64_t z = (uint64_t)i * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  return (float)(z >> 40) / (float)(1 << 24 >> z % 8);
}

/* Elements [begin, end), in memory of their own. */
static float *part(int64_t begin, int64_t end) {
  float *x = malloc((size_t)(end - begin + 1) * sizeof *x);
  for (int64_t i = begin; x && i < end; i++)
    x[i - begin] = element(i);
  return x;
}

static rowscan_problem sum_of(float *x, const int64_t *length) {
  return (rowscan_problem){.size = sizeof(rowscan_problem),
                           .op = ROWSCAN_SUM,
                           .rank = 1,
                           .shape = length,
                           .input = {.data = x, .type = ROWSCAN_F32},
                           .output = {.data = x, .type = ROWSCAN_F32}};
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  rowscan_comm comm;
  rowscan_context *context;
  if (rowscan_mpi_comm(&comm, &world))
    return 1;
  check(rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST)));

  int64_t length = argc > 1 ? atoll(argv[1]) : 1000003;
  int64_t begin = length * comm.rank / comm.ranks, end = length * (comm.rank + 1) / comm.ranks, count = end - begin;
  float *x = part(begin, end), *row = part(0, length);
  if (!x || !row)
    MPI_Abort(world, 1);

  rowscan_problem mine = sum_of(x, &count);
  check(rowscan_shard_scan(context, &mine, &comm, NULL)); /* all processes call it */

  rowscan_problem all = sum_of(row, &length);
  check(rowscan_scan(context, &all, NULL));
  int differs = memcmp(x, row + begin, (size_t)count * sizeof *x) != 0, any;
  MPI_Allreduce(&differs, &any, 1, MPI_INT, MPI_MAX, world);
  if (comm.rank == comm.ranks - 1)
    printf("%d processes, %lld elements, the last sum %g, %s\n", comm.ranks, (long long)length, row[length - 1],
           any ? "other bits than those of one process" : "the bits of one process");
  free(x);
  free(row);
  rowscan_close(context);
  MPI_Finalize();
  return any;
}
