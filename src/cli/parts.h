/*
 * parts.h - the part of an array's elements that one rank has, in memory and in files that all ranks share
 * SPDX-License-Identifier: MIT
 *
 * A part is a range of the scanned dimension, whole in all others. In memory it is an array of its own; in the file it
 * lies in runs, one for each index of the dimensions outside. A run with its neighbours of the other ranks is a row.
 */
#ifndef PARTS_H
#define PARTS_H

#include "npy.h"
#include "output.h"
#include "ranks.h"

/* Elements [begin, end) of the scanned dimension, which has `length`. */
typedef struct cli_part {
  int dim;
  int64_t begin, end, length;
} cli_part;

/* That of a rank. Parts differ by an eighth of their mean length at most, and by one element if they are short. */
cli_part part_of(const rowscan_comm *comm, int dim, int64_t length, bool reverse);

/* Copies the part of an array into memory of its own, dense and in the array's order. */
void part_copy(void *to, const cli_part *part, const void *data, const npy_header *header);

/* An array in a file that all ranks write. */
typedef struct cli_shared {
  cli_output output;
  char header[NPY_HEADER_MAX];
  size_t start; /* of the data */
  rowscan_type type;
  int rank, dim;
  int64_t shape[NPY_RANK_MAX];
  /* The array has one element more than the parts along `dim`, before the others in the order of the scan, and so has
   * each part in memory. That of a later part is the last one of the part before, and not written. */
  bool more;
  bool reverse; /* of the scan */
} cli_shared;

/*
 * Called by all ranks, with type, rank, dim, shape, more and reverse filled in; each returns EXIT_OK, or on all ranks
 * the failure of one. shared_open makes room for the file. shared_commit writes each rank's part, and puts the file in
 * its place.
 */
int shared_open(cli_shared *file, cli_ranks *ranks, const char *name);
int shared_commit(cli_shared *file, cli_ranks *ranks, const void *data);

/* Removes it if it is still open. */
void shared_abandon(cli_shared *file);

#endif
