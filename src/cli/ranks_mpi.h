/*
 * ranks_mpi.h - the processes that mpirun has started, for ranks_serve
 * SPDX-License-Identifier: MIT
 */
#ifndef RANKS_MPI_H
#define RANKS_MPI_H

#include "ranks.h"

extern const cli_transport ranks_mpi;

#endif
