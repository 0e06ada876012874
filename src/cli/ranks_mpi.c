/*
 * ranks_mpi.c - the processes that mpirun has started; compiled into the command by configure --with-mpi
 * SPDX-License-Identifier: MIT
 *
 * Nothing else of rowscan is compiled with MPI. Errors of MPI end all processes: that is what MPI_COMM_WORLD does of
 * itself.
 */
#include "ranks_mpi.h"

#include "rowscan_mpi.h"

static MPI_Comm world;

/* The engine's threads do not call MPI. */
static bool start_mpi(rowscan_comm *comm) {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED)
    return false;
  world = MPI_COMM_WORLD;
  return rowscan_mpi_comm(comm, &world) == MPI_SUCCESS;
}

static bool all_to_all_mpi(const void *send, void *receive, size_t bytes) {
  return bytes <= INT_MAX &&
         MPI_Alltoall((void *)send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, world) == MPI_SUCCESS;
}

static void finish_mpi(void) {
  MPI_Finalize();
}

const cli_transport ranks_mpi = {.start = start_mpi, .all_to_all = all_to_all_mpi, .finish = finish_mpi};
