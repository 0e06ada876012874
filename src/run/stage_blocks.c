/*
 * stage_blocks.c - the prefixes of a row that comes in blocks of one power of two
 * SPDX-License-Identifier: MIT
 */
#include "stage_blocks.h"

#include <string.h>

#include "host/host.h"

static rs_value read_value(const rowscan_spec *spec, const void *from) {
  rs_value value = {.aligned = 0};
  memcpy(value.bytes, from, rowscan_type_bytes(spec->acc_type));
  return value;
}

void rs_blocks_start(rs_blocks *blocks, const rowscan_spec *spec, const void *init) {
  blocks->spec = spec;
  blocks->count = 0;
  blocks->has_init = init;
  if (init)
    blocks->init = read_value(spec, init);
}

bool rs_blocks_prefix(const rs_blocks *blocks, rs_value *prefix) {
  bool some = blocks->has_init;
  if (some)
    *prefix = blocks->init;
  for (int b = RS_BLOCK_LEVELS - 1; b >= 0; b--) {
    if (!(blocks->count >> b & 1))
      continue;
    if (some)
      rs_host_combine(blocks->spec, prefix, prefix, &blocks->total[b]);
    else
      *prefix = blocks->total[b];
    some = true;
  }
  return some;
}

void rs_blocks_push(rs_blocks *blocks, const void *total) {
  rs_value sum = read_value(blocks->spec, total);
  int b = 0;
  for (; blocks->count >> b & 1; b++)
    rs_host_combine(blocks->spec, &sum, &blocks->total[b], &sum);
  blocks->total[b] = sum;
  blocks->count++;
}
