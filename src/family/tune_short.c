/*
 * tune_short.c - (spec, architecture) to the slabs of kernels/short.cuh
 * SPDX-License-Identifier: MIT
 */
#include "candidates.h"
#include "spec/arch.h"

/* Of a row, the way in or the way out, whichever is more. */
static int64_t row_bytes(const rowscan_spec *spec) {
  return spec->length * rs_larger(rs_bytes_of(spec->in_type) + rs_spec_mask_bytes(spec), rs_bytes_of(spec->out_type));
}

/*
 * Bytes of a slab, each way, about, for a block of 256 threads; a quarter more where one turn of the threads takes it.
 * Half of it where a multiprocessor has 64 KB of shared memory for all of its blocks.
 */
static int slab_bytes(int arch) {
  return arch < 80 ? 8 * 1024 : 16 * 1024;
}
static int most_slab_bytes(int arch) {
  return slab_bytes(arch) / 4 * 5;
}

/* Longer rows than 4 KB leave a block of 16 KB too few warps. */
bool rs_slab_serves(const rowscan_spec *spec) {
  return spec->length > 0 && row_bytes(spec) <= 4096;
}

/* ---- what a warp does -------------------------------------------------------------------------------------------- */

/* Cycles in which lanes from `lane` on reach words of `bytes`, `at` bytes from each one's first element of a tile. */
static int cycles_at_once(const rowscan_spec *spec, const rs_shape *s, int size, int lane, int at, int bytes) {
  enum { BANKS = 32 };
  int last[BANKS], words[BANKS] = {0}, cycles = 0;
  for (int end = lane + 128 / rs_larger(bytes, 4); lane < end; lane++) {
    int element = lane % s->lanes * s->vector;
    if (element * size + at >= spec->length * size)
      continue;
    int from = (lane / s->lanes * (int)spec->length + element) * size + at;
    for (int word = from / 4; word * 4 < from + bytes; word++) {
      int bank = word % BANKS;
      if (words[bank] && last[bank] == word)
        continue;
      last[bank] = word;
      words[bank]++;
      cycles = rs_larger(cycles, words[bank]);
    }
  }
  return cycles;
}

/* Cycles of shared memory in which a warp reads or writes a tile of elements of `size`: a bank has 4 bytes in each. */
static int cycles_of(const rowscan_spec *spec, const rs_shape *s, int size) {
  int bytes = s->word * size < 16 ? s->word * size : 16, cycles = 0;
  if (!size)
    return 0;
  for (int at = 0; at < s->vector * size; at += bytes)
    for (int lane = 0; lane < 32; lane += 128 / rs_larger(bytes, 4))
      cycles += cycles_at_once(spec, s, size, lane, at, bytes);
  return cycles;
}

static int log2_of(int64_t n) {
  int log = 0;
  while (n >>= 1)
    log++;
  return log;
}

/* Quarters of a cycle for 32 rows: a multiprocessor starts one exchange or access in a cycle, and four of the rest. */
static int64_t cost_of_short(const rowscan_spec *spec, const rs_shape *s) {
  int64_t tile = s->lanes * s->vector, tiles = (spec->length + tile - 1) / tile;
  int wide = rs_spec_register_bytes(spec) / 4, levels = log2_of(s->lanes);
  int accesses = cycles_of(spec, s, rs_bytes_of(spec->in_type)) + cycles_of(spec, s, rs_spec_mask_bytes(spec)) +
                 cycles_of(spec, s, rs_bytes_of(spec->out_type));
  int exchanges = (levels + (s->lanes > 1)) * wide;
  int rest = (6 * s->vector + 4 * levels + 4 * log2_of(tiles)) * wide + 10;
  return (4 * (accesses + exchanges) + rest) * tiles * s->lanes;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* The largest power of two that divides the length, up to 16 bytes of the wider of input and output, and 8 elements. */
static int word_of(const rowscan_spec *spec) {
  int most = 16 / rs_larger(rs_bytes_of(spec->in_type), rs_bytes_of(spec->out_type)), word = 1;
  while (word < most && word < 8 && spec->length % (2 * word) == 0)
    word *= 2;
  return word;
}

/* Rows that a slab has, for its threads and lanes. */
static int rows_of(const rowscan_spec *spec, int arch, const rs_shape *s) {
  int64_t groups = s->threads / s->lanes, bytes = groups * row_bytes(spec);
  int64_t turns = (slab_bytes(arch) + bytes / 2) / bytes;
  return (int)(groups * (turns > 1 ? turns : 1));
}

/* The fewest lanes with which one turn of the threads takes no more than a slab. */
static void fit(const rowscan_spec *spec, int arch, rs_shape *s) {
  s->threads = 256;
  s->lanes = 1;
  while (s->lanes < 32 && s->threads / s->lanes * row_bytes(spec) > most_slab_bytes(arch))
    s->lanes *= 2;
  while (s->threads > 32 && s->threads / s->lanes * row_bytes(spec) > most_slab_bytes(arch))
    s->threads /= 2;
}

/* More lanes than that, and longer vectors, where a warp needs fewer cycles with them. */
static void choose_lanes(const rowscan_spec *spec, rs_shape *s) {
  rs_shape tried = *s;
  int64_t least = INT64_MAX;
  for (tried.lanes = s->lanes; tried.lanes <= 32; tried.lanes *= 2)
    for (tried.vector = s->word; tried.vector <= 8; tried.vector *= 2) {
      int64_t cost = cost_of_short(spec, &tried);
      if (cost < least) {
        least = cost;
        s->vector = tried.vector;
        s->lanes = tried.lanes;
      }
    }
}

static int memory_bytes(const rowscan_spec *spec, const rs_shape *s) {
  int in = rs_bytes_of(spec->in_type), out = rs_bytes_of(spec->out_type);
  return rs_piece_bytes(s->rows * spec->length, in, rs_spec_mask_bytes(spec), out, s->word > 1 && in == out);
}

/*
 * Memory is swept in the best order when few blocks are under way at a time: shared memory that nobody uses, 46 KB of
 * 228 a block, keeps them at four. But small elements moved one by one need more threads.
 */
static int spare_bytes(const rowscan_spec *spec, int arch, const rs_shape *s) {
  bool slow = s->word == 1 && rs_bytes_of(spec->in_type) < 4;
  return arch == 90 && s->threads == 256 && !slow ? 46 * 1024 : 0;
}

bool rs_tune_slab(const rowscan_spec *spec, int arch, bool words, rs_shape *s) {
  *s = (rs_shape){.made_of = RS_TEMPLATE_SLAB, .word = words ? word_of(spec) : 1};
  if (words && s->word == 1)
    return false;
  fit(spec, arch, s);
  choose_lanes(spec, s);
  s->rows = rows_of(spec, arch, s);
  s->min_blocks = rs_blocks_with(64, s->threads);
  s->shared_bytes = (int)rs_larger(memory_bytes(spec, s), spare_bytes(spec, arch, s));
  return true;
}

bool rs_slab_fits(const rowscan_spec *spec, int arch, rs_shape *s) {
  int groups = s->threads / s->lanes;
  s->shared_bytes = memory_bytes(spec, s);
  return groups > 0 && s->rows > 0 && s->rows % groups == 0 &&
         s->min_blocks * (s->shared_bytes + 1024) <= rs_arch_shared_bytes(arch);
}
