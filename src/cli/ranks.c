/*
 * ranks.c - one command line that runs as many processes: all of them take each step or none does, and one speaks
 * SPDX-License-Identifier: MIT
 */
#include "ranks.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "say.h"

enum { MOST_MESSAGE = 4096 }; /* bytes of a message that travel */

static const char unreachable[] = "--mpi: the ranks cannot reach one another";

static const cli_transport *served;

void ranks_serve(const cli_transport *transport) {
  served = transport;
}

bool ranks_served(void) {
  return served != NULL;
}

/* The signal removes what this rank was writing, and whoever started the ranks ends the others. */
static void give_up(const char *why) {
  say_note("%s", why);
  raise(SIGTERM);
  _Exit(EXIT_FAILED);
}

/* The bytes of all ranks, to be freed. */
static char *gather_all(const cli_ranks *ranks, const void *mine, size_t bytes) {
  size_t padded = (bytes + 7) / 8 * 8;
  char *send = calloc(1, padded), *all = malloc(padded * (size_t)ranks->comm.ranks);
  if (!send || !all) {
    give_up("--mpi: out of memory for what the ranks tell one another");
    return NULL;
  }
  memcpy(send, mine, bytes);
  if (ranks->comm.all_gather(ranks->comm.user, send, all, padded))
    give_up(unreachable);
  free(send);
  for (int r = 0; r < ranks->comm.ranks; r++)
    memmove(all + (size_t)r * bytes, all + (size_t)r * padded, bytes);
  return all;
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

/* Of the first that failed; with its number unless they all say the same. */
static void print_failure(const cli_ranks *ranks, const char *messages, int failed) {
  const char *message = messages + (size_t)failed * MOST_MESSAGE;
  bool same = true;
  for (int r = 0; r < ranks->comm.ranks; r++)
    same = same && !strncmp(messages + (size_t)r * MOST_MESSAGE, message, MOST_MESSAGE);
  say_kept(same ? -1 : failed, message);
}

/* The first rank whose status is that of a failure; -1: there is none. */
static int first_failed(const cli_ranks *ranks, const int64_t *statuses) {
  for (int r = 0; r < ranks->comm.ranks; r++)
    if (statuses[r] > EXIT_OK)
      return r;
  return -1;
}

int ranks_agree(cli_ranks *ranks, int status) {
  if (!ranks->comm.all_gather)
    return status;
  int64_t mine = status, *statuses = (int64_t *)(void *)gather_all(ranks, &mine, sizeof mine);
  int failed = first_failed(ranks, statuses);
  if (failed >= 0) {
    char message[MOST_MESSAGE] = {0};
    snprintf(message, sizeof message, "%s", say_what_is_kept());
    memcpy(message + sizeof message - 2, "\n", 2); /* of one that was too long */
    char *messages = gather_all(ranks, message, sizeof message);
    if (ranks->comm.rank == 0)
      print_failure(ranks, messages, failed);
    free(messages);
    status = (int)statuses[failed];
    ranks->told = true;
  }
  free(statuses);
  return status;
}

int ranks_agree_on(cli_ranks *ranks, const char *name, const char *differs, const void *facts, size_t bytes) {
  int status = EXIT_OK;
  if (!ranks->comm.all_gather)
    return status;
  char *all = gather_all(ranks, facts, bytes);
  for (int r = 1; r < ranks->comm.ranks && status == EXIT_OK; r++)
    if (memcmp(all, all + (size_t)r * bytes, bytes) != 0)
      status = say_failed("%s: rank %d %s", name, r, differs);
  free(all);
  return ranks_agree(ranks, status);
}

void ranks_share(const cli_ranks *ranks, void *data, size_t bytes) {
  if (!ranks->comm.all_gather)
    return;
  char *all = gather_all(ranks, data, bytes);
  memcpy(data, all, bytes);
  free(all);
}

void ranks_exchange(const cli_ranks *ranks, const void *send, void *receive, size_t bytes) {
  if (!ranks->comm.all_gather)
    memcpy(receive, send, bytes);
  else if (!served->all_to_all(send, receive, bytes))
    give_up(unreachable);
}

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static bool asks_for_ranks(int argc, char **argv) {
  for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
    if (!strcmp(argv[i], "--mpi"))
      return true;
  return false;
}

/* FNV-1a, of the arguments with their ends. */
static uint64_t digest_of(int argc, char **argv) {
  uint64_t digest = 0xcbf29ce484222325u;
  for (int i = 0; i < argc; i++)
    for (size_t at = 0; at <= strlen(argv[i]); at++)
      digest = (digest ^ (unsigned char)argv[i][at]) * 0x100000001b3u;
  return digest;
}

int ranks_start(cli_ranks *ranks, int argc, char **argv) {
  if (!served || !asks_for_ranks(argc, argv))
    return EXIT_OK;
  /* Open MPI wants to handle SIGBUS, and prints a paragraph if somebody does. */
  signal(SIGBUS, SIG_DFL);
  bool started = served->start(&ranks->comm);
  guard_install();
  if (!started) {
    *ranks = (cli_ranks)RANKS_ALONE;
    return say_failed("--mpi: MPI does not start");
  }
  say_rank(ranks->comm.rank);
  if (!say_keep())
    give_up("--mpi: out of memory for messages");
  uint64_t digest = digest_of(argc, argv);
  return ranks_agree_on(ranks, "--mpi", "has other arguments than rank 0", &digest, sizeof digest);
}

int ranks_finish(cli_ranks *ranks, int status) {
  if (!ranks->comm.all_gather)
    return status;
  if (!ranks->told)
    status = ranks_agree(ranks, status);
  say_keep_no_more();
  served->finish();
  return status;
}
