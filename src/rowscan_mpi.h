/*
 * rowscan_mpi.h - a rowscan_comm of an MPI communicator
 * SPDX-License-Identifier: MIT
 *
 * Compiled by the caller, with the caller's MPI: librowscan knows no MPI.
 *
 *   MPI_Comm world = MPI_COMM_WORLD;
 *   rowscan_comm comm;
 *   rowscan_mpi_comm(&comm, &world);
 *   rowscan_shard_scan(context, &problem, &comm, NULL);
 */
#ifndef ROWSCAN_MPI_H
#define ROWSCAN_MPI_H

#include <limits.h>
#include <mpi.h>
#include <string.h>

#include "rowscan.h"

/* rowscan_comm.all_gather. Of more than INT_MAX bytes words of 8 are counted, up to 16 GB. Returns MPI's error. */
static inline int rowscan_mpi_all_gather(void *user, const void *send, void *receive, size_t bytes) {
  const MPI_Comm *mpi = (const MPI_Comm *)user;
  MPI_Datatype type = bytes > INT_MAX ? MPI_UINT64_T : MPI_BYTE;
  size_t count = bytes > INT_MAX ? bytes / 8 : bytes;
  if (count > INT_MAX)
    return MPI_ERR_COUNT;
  return MPI_Allgather((void *)send, (int)count, type, receive, (int)count, type, *mpi);
}

/*
 * Fills comm from *mpi, which must stay where it is. Returns MPI's error. Errors of MPI end the program unless the
 * communicator's error handler is MPI_ERRORS_RETURN; then a scan returns ROWSCAN_COMM_FAILED.
 */
static inline int rowscan_mpi_comm(rowscan_comm *comm, MPI_Comm *mpi) {
  memset(comm, 0, sizeof *comm); /* and field by field: C++ before C++20 has no other way */
  comm->size = sizeof *comm;
  comm->user = mpi;
  comm->all_gather = rowscan_mpi_all_gather;
  int error = MPI_Comm_size(*mpi, &comm->ranks);
  return error != MPI_SUCCESS ? error : MPI_Comm_rank(*mpi, &comm->rank);
}

#endif
