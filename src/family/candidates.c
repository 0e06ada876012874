/*
 * candidates.c - the search for a geometry that an architecture has room for
 * SPDX-License-Identifier: MIT
 */
#include "candidates.h"

#include "spec/arch.h"

static int next_blocks(rs_next next, int blocks, bool last) {
  if (next == RS_HALF_THE_BLOCKS)
    return blocks > 1 ? (blocks + 1) / 2 : 0;
  return next == RS_ONE_BLOCK_LESS || last ? blocks - 1 : 0;
}

bool rs_search(const rowscan_spec *spec, int arch, const rs_candidate *candidates, int count, rs_next next,
               rs_legal *legal, rs_shape *shape) {
  const rs_shape common = *shape;
  double cheapest = 0;
  bool found = false;
  for (int i = 0; i < count; i++) {
    const rs_candidate *candidate = &candidates[i];
    rs_shape tried = common;
    tried.warps = candidate->warps;
    tried.chunks = candidate->chunks;
    tried.threads = 32 * tried.warps;
    tried.min_blocks = candidate->blocks;
    while (tried.min_blocks > 0 && !legal(spec, arch, &tried))
      tried.min_blocks = next_blocks(next, tried.min_blocks, i == count - 1);
    if (tried.min_blocks == 0)
      continue;
    double cost = candidate->weight ? (double)rs_up(spec->length, rs_tile(&tried)) * candidate->weight : 0;
    if (found && cost >= cheapest)
      continue;
    *shape = tried;
    cheapest = cost;
    found = true;
    if (candidate->weight == 0)
      break;
  }
  return found;
}

bool rs_fit_stages(rs_shape *shape, int arch, int64_t stage_bytes, int64_t other, int most) {
  enum { SYSTEM = 1024 }; /* of shared memory, for each block */
  int64_t room = (rs_arch_shared_bytes(arch) - SYSTEM) / shape->min_blocks - other;
  shape->stages = (int)rs_smaller(rs_larger(room, 0) / stage_bytes, most);
  shape->shared_bytes = (int)(shape->stages * stage_bytes);
  return shape->stages >= rs_smaller(most, 2);
}

int rs_inputs(const rowscan_spec *spec) {
  return 1 + (spec->mask_mode != ROWSCAN_MASK_NONE) + rs_spec_more(spec) + (spec->segment_mode != ROWSCAN_MASK_NONE);
}

int rs_read_bytes(const rowscan_spec *spec) {
  int bytes = rs_bytes_of(spec->in_type) + rs_spec_mask_bytes(spec) + rs_bytes_of(spec->segment_type);
  for (int i = 0; i < RS_MOST_MORE; i++)
    bytes += rs_bytes_of(spec->more_types[i]);
  return bytes;
}

int rs_outputs(const rowscan_spec *spec) {
  return 1 + (spec->second_type != 0);
}

int rs_written_bytes(const rowscan_spec *spec) {
  return rs_bytes_of(spec->out_type) + rs_bytes_of(spec->second_type);
}

int rs_blocks_with(int registers, int threads) {
  enum { REGISTERS = 64 * 1024 };
  return (int)rs_larger(REGISTERS / registers / threads, 1);
}
