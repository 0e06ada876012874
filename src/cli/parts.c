/*
 * parts.c - the part of an array's elements that one rank has, in memory and in files that all ranks share
 * SPDX-License-Identifier: MIT
 */
#include "parts.h"

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

static int put_runs(cli_shared *file, const runs *to, const char *data, const runs *from) {
  runs source = *from, target = *to;
  if (source.bytes == source.step && target.bytes == target.step) {
    source.bytes *= source.count;
    target.count = 1;
  }
  int status = EXIT_OK;
  for (int64_t i = 0; source.bytes && i < target.count && status == EXIT_OK; i++)
    status = output_put(&file->output, data + source.offset + i * source.step, (size_t)source.bytes,
                        (off_t)file->start + target.offset + i * target.step);
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

static int put_part(cli_shared *file, const cli_ranks *ranks, const cli_part *part, const void *data, bool more,
                    bool reverse) {
  bool first = ranks->comm.rank == (reverse ? ranks->comm.ranks - 1 : 0);
  int64_t has = part->end - part->begin + more, skipped = more && !first; /* at the begin, or in reverse at the end */
  int64_t bytes = (int64_t)rowscan_type_bytes(file->type), from = reverse ? 0 : skipped;
  runs source = runs_of(file->rank, file->shape, false, part->dim, has, from, has - skipped, bytes);
  runs target =
      runs_of(file->rank, file->shape, false, part->dim, part->length + more, part->begin + from, has - skipped, bytes);
  int status = ranks->comm.rank ? EXIT_OK : output_put(&file->output, file->header, file->start, 0);
  if (status == EXIT_OK)
    status = put_runs(file, &target, data, &source);
  return status == EXIT_OK ? output_flush(&file->output) : status;
}

int shared_commit(cli_shared *file, cli_ranks *ranks, const cli_part *part, const void *data, bool more, bool reverse) {
  int status = ranks_agree(ranks, put_part(file, ranks, part, data, more, reverse));
  if (status == EXIT_OK)
    status = ranks_agree(ranks, ranks->comm.rank ? EXIT_OK : output_commit(&file->output));
  if (status == EXIT_OK && ranks->comm.rank)
    output_leave(&file->output);
  return status;
}

void shared_abandon(cli_shared *file) {
  output_abandon(&file->output);
}
