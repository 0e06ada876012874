/*
 * main.c - the rowscan command as a program of its own; the Python package has it in its extension
 * SPDX-License-Identifier: MIT
 */
#include "commands.h"
#ifdef ROWSCAN_MPI /* configure --with-mpi; librowscan_cli, which the Python package has too, knows no MPI */
#include "ranks_mpi.h"
#endif

int main(int argc, char **argv) {
#ifdef ROWSCAN_MPI
  ranks_serve(&ranks_mpi);
#endif
  return command_main(argc, argv);
}
