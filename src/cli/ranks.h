/*
 * ranks.h - one command line that runs as many processes: all of them take each step or none does, and one speaks
 * SPDX-License-Identifier: MIT
 *
 * What the processes have between them is a rowscan_comm, which a transport makes; ranks_mpi.c is the only one. If they
 * cannot reach one another, the command ends.
 *
 * Messages of failures are kept from ranks_start on. When the ranks agree that a step has failed, rank 0 prints the
 * message of the first rank that failed, with its number if others say something else, and all return its status.
 * Warnings are printed at once, by each rank, with its number.
 */
#ifndef RANKS_H
#define RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "rowscan.h"

typedef struct cli_transport {
  bool (*start)(rowscan_comm *comm);
  bool (*all_to_all)(const void *send, void *receive, size_t bytes); /* as ranks_exchange */
  void (*finish)(void);
} cli_transport;

/* For main, before the command runs: what --mpi uses. Without it ranks_served is false, and each process is alone. */
void ranks_serve(const cli_transport *transport);
bool ranks_served(void);

typedef struct cli_ranks {
  rowscan_comm comm; /* without all_gather: this process is alone */
  bool told;         /* a failure, by rank 0 */
} cli_ranks;

#define RANKS_ALONE                                                                                                    \
  {                                                                                                                    \
    .comm = {.ranks = 1 }                                                                                              \
  }

/*
 * Starts the transport if an argument is --mpi. Options are read later, since a mistake in them is already a message
 * for one rank; so an option's value that is --mpi asks for ranks, too. Ranks with other arguments would take other
 * steps, and are refused. Returns EXIT_OK, or EXIT_FAILED having said why.
 */
int ranks_start(cli_ranks *ranks, int argc, char **argv);

/*
 * Each of these is called by all ranks. A status: of the first rank that failed, having told why; without a failure
 * the caller's own, which is EXIT_OK or OPTIONS_READ.
 */
int ranks_agree(cli_ranks *ranks, int status);

/* EXIT_OK if all ranks have the same bytes, else EXIT_FAILED having said "NAME: rank 2 DIFFERS". */
int ranks_agree_on(cli_ranks *ranks, const char *name, const char *differs, const void *facts, size_t bytes);

/* Rank 0's bytes become everybody's. */
void ranks_share(const cli_ranks *ranks, void *data, size_t bytes);

/* Sends each rank its `bytes` bytes of `send`, and receives from each rank as many, in the order of their numbers. */
void ranks_exchange(const cli_ranks *ranks, const void *send, void *receive, size_t bytes);

/* Ends what ranks_start began. Returns the status that all processes exit with. */
int ranks_finish(cli_ranks *ranks, int status);

#endif
