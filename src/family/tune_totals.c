/*
 * tune_totals.c - kernels that work out totals of rows of 2^k elements, and no results; how they keep these
 * SPDX-License-Identifier: MIT
 */
#include "candidates.h"
#include "tune.h"

enum { WARPS = 8, LANES = 32, WORD = 16 };

/* A thread has words of 16 bytes, and as many of them as take 32 registers or so with their totals. */
static rs_shape block_shape(const rowscan_spec *spec) {
  int vector = rs_power(WORD / rs_bytes_of(spec->in_type), 1, 64 / rs_spec_register_bytes(spec));
  rs_shape s = {.made_of = RS_TEMPLATE_TOTALS, .warps = WARPS, .lanes = LANES, .vector = vector};
  s.threads = WARPS * LANES;
  s.chunks = rs_power(32 / rs_larger(vector * (int)rs_larger(rs_spec_register_bytes(spec) / 4, 1), 1), 1, 8);
  s.min_blocks = rs_spec_register_bytes(spec) <= 4 ? 4 : 2;
  s.tiles = (1 << RS_TOTALS_OF_BLOCKS) / (int)rs_tile(&s);
  return s;
}

static rs_shape thread_shape(void) {
  enum { BATCH = 8 };
  return (rs_shape){.made_of = RS_TEMPLATE_TOTALS_EACH,
                    .warps = 1,
                    .chunks = 1,
                    .lanes = 1,
                    .vector = BATCH,
                    .threads = 256,
                    .min_blocks = 1,
                    .tiles = (1 << RS_TOTALS_OF_THREADS) / BATCH};
}

int rs_tune_totals_least(const rowscan_spec *spec) {
  const rs_shape shape = block_shape(spec);
  return 63 - __builtin_clzll((unsigned long long)rs_tile(&shape));
}

void rs_tune_totals(const rowscan_spec *spec, rs_shape kernels[]) {
  kernels[RS_KERNEL_ANY] = thread_shape();
  kernels[RS_KERNEL_ALIGNED] = block_shape(spec);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* Of a number, or of its key, in registers. */
static int64_t wide_bytes(rowscan_type type) {
  return rowscan_type_bytes(type) == 8 ? 8 : 4;
}

static int64_t total_bytes(const rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  if (rs_op_is_of_numbers(op))
    return (int64_t)rowscan_type_bytes(rs_kept_type(spec->acc_type));
  return op->kind == RS_INDEX ? wide_bytes(spec->in_type) + 8 : 2 * wide_bytes(spec->acc_type);
}

rs_kept_states rs_tune_states(const rowscan_spec *spec) {
  int64_t total = total_bytes(spec);
  int64_t key = spec->mask_mode != ROWSCAN_MASK_KEYS ? 0 : rs_spec_mask_bytes(spec) == 8 ? 8 : 4;
  rs_kept_states s = {.bytes = total, .total = total, .index_at = wide_bytes(spec->in_type)};
  s.key_at = rs_up(total, rs_larger(key, 4));
  s.word_at = s.key_at + key;
  if (rs_spec_has_segments(spec))
    s.bytes = rs_up(s.word_at + 4, total + key <= 4 ? 8 : 16);
  else if (rs_op_of(spec->op)->kind == RS_INDEX)
    s.bytes = 16;
  return s;
}
