/*
 * parts.c - the part of an array's elements that one rank has, in memory and in files that all ranks share
 * SPDX-License-Identifier: MIT
 */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

/* ---- cuts -------------------------------------------------------------------------------------------------------- */

/*
 * A cut at a multiple of a large power of two has few aligned blocks on either side: records are short, and blocks
 * long. A sixteenth of a part is given for that.
 */
static int64_t cut_unit(int64_t length, int ranks) {
  int64_t unit = 1;
  while (unit <= length / ranks / 32)
    unit *= 2;
  return unit;
}

/* Where a part ends that has so many before it, in the order of the scan, in which blocks are counted. */
static int64_t cut_after(int64_t length, int parts, int ranks) {
  int64_t unit = cut_unit(length, ranks), at = length / ranks * parts + length % ranks * parts / ranks;
  return parts == ranks ? length : (at + unit / 2) / unit * unit;
}

cli_part part_of(const rowscan_comm *comm, int dim, int64_t length, bool reverse) {
  int before = reverse ? comm->ranks - 1 - comm->rank : comm->rank;
  int64_t begin = cut_after(length, before, comm->ranks), end = cut_after(length, before + 1, comm->ranks);
  return (cli_part){
      .dim = dim, .begin = reverse ? length - end : begin, .end = reverse ? length - begin : end, .length = length};
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* `count` times `bytes` bytes, `step` bytes apart, the first of which lie at `offset`. */
typedef struct runs {
  int64_t count, bytes, step, offset;
} runs;

/* Elements [begin, begin + elements) of a dimension that has `length`, in a dense array that is as wide elsewhere. */
static runs runs_of(int rank, const int64_t *shape, bool fortran, int dim, int64_t length, int64_t begin,
                    int64_t elements, int64_t element_bytes) {
  runs found = {.count = 1, .bytes = element_bytes};
  for (int d = 0; d < rank; d++)
    if (d != dim && (d < dim) == fortran)
      found.bytes *= shape[d];
    else if (d != dim)
      found.count *= shape[d];
  found.step = found.bytes * length;
  found.offset = found.bytes * begin;
  found.bytes *= elements;
  return found;
}

void part_copy(void *to, const cli_part *part, const void *data, const npy_header *header) {
  runs from = runs_of(header->rank, header->shape, header->fortran, part->dim, part->length, part->begin,
                      part->end - part->begin, (int64_t)rowscan_type_bytes(header->type));
  for (int64_t i = 0; from.bytes && i < from.count; i++)
    memcpy((char *)to + i * from.bytes, (const char *)data + from.offset + i * from.step, (size_t)from.bytes);
}

/* What a rank writes of its part: where it is in its memory, and in the file's data. */
static void runs_of_rank(const cli_shared *file, const rowscan_comm *comm, int rank, runs *from, runs *to) {
  rowscan_comm other = *comm;
  other.rank = rank;
  cli_part part = part_of(&other, file->dim, file->shape[file->dim] - file->more, file->reverse);
  bool first = rank == (file->reverse ? comm->ranks - 1 : 0);
  int64_t has = part.end - part.begin + file->more, skipped = file->more && !first;
  int64_t at = file->reverse ? 0 : skipped, bytes = (int64_t)rowscan_type_bytes(file->type);
  *from = runs_of(file->rank, file->shape, false, file->dim, has, at, has - skipped, bytes);
  *to =
      runs_of(file->rank, file->shape, false, file->dim, file->shape[file->dim], part.begin + at, has - skipped, bytes);
}

/* ---- long runs, which a rank writes by itself -------------------------------------------------------------------- */

static int put_runs(cli_shared *file, const cli_ranks *ranks, const char *data) {
  runs from, to;
  runs_of_rank(file, &ranks->comm, ranks->comm.rank, &from, &to);
  if (from.bytes == from.step && to.bytes == to.step) {
    from.bytes *= from.count;
    to.count = 1;
  }
  int status = EXIT_OK;
  for (int64_t i = 0; from.bytes && i < to.count && status == EXIT_OK; i++)
    status = output_put(&file->output, data + from.offset + i * from.step, (size_t)from.bytes,
                        (off_t)file->start + to.offset + i * to.step);
  return status;
}

/* ---- short runs, of which ranks make whole rows ------------------------------------------------------------------ */

/*
 * A write costs some microseconds however short it is, and on network file systems ranks on several hosts that write
 * one page in turn wait for one another. Of 2000000 rows of 16 f32, 2 ranks wrote their halves in 10.6 s, whole rows
 * in 0.3 s (2 cores of a VM, ext4).
 */
enum { SHORT_RUN = 16 << 10, MOST_EXCHANGED = 4 << 20 };

/* Each rank sends each other one its runs of the rows that the other one writes: `share` of each batch. */
typedef struct exchange {
  int64_t share, most; /* bytes that a run has room for */
  runs *targets;       /* of the ranks */
  char *send, *receive, *rows;
} exchange;

static bool has_short_runs(const cli_shared *file, const cli_ranks *ranks) {
  runs from, to;
  runs_of_rank(file, &ranks->comm, 0, &from, &to);
  return ranks->comm.ranks > 1 && to.count > 1 && to.step && to.step / ranks->comm.ranks < SHORT_RUN;
}

static void close_exchange(exchange *with) {
  free(with->targets);
  free(with->send);
  free(with->receive);
  free(with->rows);
}

static int open_exchange(exchange *with, const cli_shared *file, const cli_ranks *ranks) {
  int count = ranks->comm.ranks;
  runs from;
  *with = (exchange){.targets = malloc((size_t)count * sizeof *with->targets)};
  for (int r = 0; r < count && with->targets; r++) {
    runs_of_rank(file, &ranks->comm, r, &from, &with->targets[r]);
    with->most = with->targets[r].bytes > with->most ? with->targets[r].bytes : with->most;
  }
  if (with->targets) {
    int64_t fit = MOST_EXCHANGED / (with->most * count), wanted = (with->targets[0].count + count - 1) / count;
    with->share = fit < 1 ? 1 : fit < wanted ? fit : wanted;
    with->send = calloc((size_t)count, (size_t)(with->share * with->most));
    with->receive = malloc((size_t)(count * with->share * with->most));
    with->rows = malloc((size_t)(with->share * with->targets[0].step));
  }
  return with->send && with->receive && with->rows
             ? EXIT_OK
             : say_failed("%s: out of memory for rows of %d ranks", file->output.name, count);
}

static void pack_runs(const exchange *with, const runs *from, const char *data, int64_t first, int64_t rows) {
  for (int64_t i = 0; i < rows; i++)
    memcpy(with->send + i * with->most, data + from->offset + (first + i) * from->step, (size_t)from->bytes);
}

/* Of this rank's share of the batch. */
static void unpack_rows(const exchange *with, int ranks, int64_t rows) {
  for (int r = 0; r < ranks; r++) {
    const runs *to = &with->targets[r];
    for (int64_t i = 0; i < rows; i++)
      memcpy(with->rows + i * to->step + to->offset, with->receive + (r * with->share + i) * with->most,
             (size_t)to->bytes);
  }
}

static int64_t smaller_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* A rank that cannot write goes on exchanging. */
static int put_rows(cli_shared *file, const cli_ranks *ranks, const char *data, const exchange *with) {
  runs from, to;
  int status = EXIT_OK, count = ranks->comm.ranks;
  runs_of_rank(file, &ranks->comm, ranks->comm.rank, &from, &to);
  for (int64_t row = 0; row < to.count; row += count * with->share) {
    int64_t mine = row + ranks->comm.rank * with->share, rows = smaller_of(with->share, to.count - mine);
    pack_runs(with, &from, data, row, smaller_of(count * with->share, to.count - row));
    ranks_exchange(ranks, with->send, with->receive, (size_t)(with->share * with->most));
    if (rows <= 0 || status != EXIT_OK)
      continue;
    unpack_rows(with, count, rows);
    status = output_put(&file->output, with->rows, (size_t)(rows * to.step), (off_t)file->start + mine * to.step);
  }
  return status;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static size_t bytes_of(const cli_shared *file) {
  int64_t bytes = (int64_t)rowscan_type_bytes(file->type);
  for (int d = 0; d < file->rank; d++)
    bytes *= file->shape[d];
  return file->start + (size_t)bytes;
}

int shared_open(cli_shared *file, cli_ranks *ranks, const char *name) {
  char temporary[RS_BESIDE_NAME] = {0};
  file->start = npy_format(file->header, file->type, file->rank, file->shape);
  int status = EXIT_OK;
  if (ranks->comm.rank == 0) {
    status = output_open(&file->output, name);
    if (status == EXIT_OK)
      status = output_reserve(&file->output, bytes_of(file));
    memcpy(temporary, file->output.whole.temporary, sizeof temporary);
  }
  status = ranks_agree(ranks, status);
  if (status != EXIT_OK)
    return status;
  ranks_share(ranks, temporary, sizeof temporary);
  if (ranks->comm.rank)
    status = output_find(&file->output, name);
  if (status == EXIT_OK)
    status = output_join(&file->output, temporary, bytes_of(file));
  return ranks_agree(ranks, status);
}

/* with: NULL: runs are long. */
static int put_part(cli_shared *file, const cli_ranks *ranks, const char *data, const exchange *with) {
  int status = with ? put_rows(file, ranks, data, with) : put_runs(file, ranks, data);
  if (status == EXIT_OK && ranks->comm.rank == 0)
    status = output_put(&file->output, file->header, file->start, 0);
  return status == EXIT_OK ? output_flush(&file->output) : status;
}

static int put_parts(cli_shared *file, cli_ranks *ranks, const char *data) {
  exchange with;
  if (!has_short_runs(file, ranks))
    return ranks_agree(ranks, put_part(file, ranks, data, NULL));
  int status = ranks_agree(ranks, open_exchange(&with, file, ranks));
  if (status == EXIT_OK)
    status = ranks_agree(ranks, put_part(file, ranks, data, &with));
  close_exchange(&with);
  return status;
}

int shared_commit(cli_shared *file, cli_ranks *ranks, const void *data) {
  int status = put_parts(file, ranks, data);
  if (status == EXIT_OK)
    status = ranks_agree(ranks, ranks->comm.rank ? EXIT_OK : output_commit(&file->output));
  if (status == EXIT_OK && ranks->comm.rank)
    output_leave(&file->output);
  return status;
}

void shared_abandon(cli_shared *file) {
  output_abandon(&file->output);
}
