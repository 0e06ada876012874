/*
 * stage_blocks.h - the prefixes of a row that comes in blocks of one power of two
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_STAGE_BLOCKS_H
#define RS_STAGE_BLOCKS_H

#include <stdbool.h>

#include "rowscan.h"

enum { RS_BLOCK_LEVELS = 63 };

/* One element of the accumulator type, in the first bytes. */
typedef union rs_value {
  char bytes[8];
  uint64_t aligned;
} rs_value;

/* A binary counter: after k blocks, total[b] belongs to the block of 2^b blocks that bit b of k stands for. */
typedef struct rs_blocks {
  const rowscan_spec *spec;
  int64_t count;
  bool has_init;
  rs_value init;
  rs_value total[RS_BLOCK_LEVELS];
} rs_blocks;

/* Begins a row. init: NULL for none. */
void rs_blocks_start(rs_blocks *blocks, const rowscan_spec *spec, const void *init);

/* The prefix of the blocks so far. False: it is the one of no elements and of no initial value. */
bool rs_blocks_prefix(const rs_blocks *blocks, rs_value *prefix);

/* Adds the total of the next block. */
void rs_blocks_push(rs_blocks *blocks, const void *total);

#endif
