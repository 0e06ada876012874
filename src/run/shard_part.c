/*
 * shard_part.c - the part of a row's elements that one call has: its rows, and what its prefixes show
 * SPDX-License-Identifier: MIT
 */
#include "shard_part.h"

#include <string.h>

#include "context.h"
#include "spec/types.h"

int64_t rs_shard_number_bytes(const rs_shard *part) {
  return (int64_t)rowscan_type_bytes(rs_kept_type(part->spec.acc_type));
}

void rs_shard_show(const rs_shard *part, const rs_fold *fold, void *numbers) {
  bool none = !fold->blocks && !fold->starts;
  for (int64_t r = 0; r < fold->rows; r++)
    rs_state_show(fold->op, (char *)numbers + r * rs_shard_number_bytes(part),
                  none ? NULL : rs_fold_prefix(fold) + r * fold->bytes);
}

void rs_shard_block(const rs_shard *part, int64_t at, int64_t elements, rowscan_spec *spec, rs_rows *rows) {
  int64_t index = part->spec.flags & ROWSCAN_REVERSE ? part->elements - at - elements : at;
  *spec = part->spec;
  spec->length = elements;
  *rows = part->rows;
  rows->length = elements;
  for (int a = 0; a < rs_arrays(rows); a++)
    if (rows->array[a].data)
      rows->array[a].data = (char *)rows->array[a].data + index * rows->array[a].step * rows->array[a].bytes;
}

rs_shard rs_shard_plain(const rs_shard *part) {
  rs_shard plain = *part;
  if (!part->rows.further)
    return plain;
  plain.spec.op = ROWSCAN_LINEAR_RECURRENCE;
  plain.spec.mask_mode = ROWSCAN_MASK_COEFFICIENT;
  plain.spec.mask_type = part->spec.more_types[0];
  memset(plain.spec.more_types, 0, sizeof plain.spec.more_types);
  plain.spec.second_type = ROWSCAN_TYPE_DEFAULT;
  plain.rows.array[RS_MASK] = part->rows.array[RS_MORE_IN];
  plain.rows.further = false;
  return plain;
}

void rs_shard_last_rows(const rs_shard *part, int64_t at, void *numbers, rowscan_spec *spec, rs_rows *rows) {
  rs_shard_block(part, at - 1, 1, spec, rows);
  spec->flags |= ROWSCAN_EXCLUSIVE;
  rows->array[RS_INIT] = part->rows.array[RS_TOTALS];
  rows->array[RS_INIT].data = numbers;
}

rowscan_status rs_shard_append(rs_fold *before, const rs_fold *own, int i) {
  const rs_fold one = {.op = own->op,
                       .rows = own->rows,
                       .bytes = own->bytes,
                       .first = i ? NULL : own->first,
                       .last = own->last,
                       .blocks = 1,
                       .block = {own->block[i]}};
  return rs_fold_append(before, &one);
}

/* Makes a sum of an exclusive scan of one element. */
static void sum_of(rowscan_spec *spec, rs_rows *rows) {
  *spec = (rowscan_spec){.size = sizeof *spec,
                         .in_type = spec->in_type,
                         .out_type = spec->out_type,
                         .acc_type = spec->acc_type,
                         .flags = spec->flags,
                         .length = spec->length,
                         .row_rank = spec->row_rank};
  rows->further = false;
  rows->array[RS_MASK].data = NULL;
}

void rs_shard_prefix_rows(const rs_shard *part, int64_t at, bool none, void *numbers, rowscan_spec *spec,
                          rs_rows *rows) {
  rowscan_spec next_spec;
  rs_rows next;
  rs_shard_block(part, at, 1, &next_spec, &next);
  rs_initial_rows(rows, spec, &next, &next_spec);
  const rs_op *op = rs_op_of(spec->op);
  if (!none && (op->kind == RS_INDEX || op->source)) /* what these start from is not what they show; sums show it */
    sum_of(spec, rows);
  rows->array[RS_INIT] = part->rows.array[RS_TOTALS];
  rows->array[RS_INIT].data = none ? NULL : numbers;
}
