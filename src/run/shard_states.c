/*
 * shard_states.c - totals of blocks as kernels keep them, and as the host has them
 * SPDX-License-Identifier: MIT
 *
 * Numbers, and pairs of numbers, are the same on both. Of indices kernels have the key of an element of its own width
 * and 32 bits of an index, the host 64 of each. In segments a word follows that says whether one begins.
 */
#include "shard_states.h"

#include <string.h>

#include "base/status.h"
#include "family/tune.h"
#include "spec/types.h"

static bool is_index(const rowscan_spec *spec) {
  return rs_op_of(spec->op)->kind == RS_INDEX;
}

static bool of_numbers(const rowscan_spec *spec) {
  return rs_op_is_of_numbers(rs_op_of(spec->op));
}

/* Whether further arrays are no part of totals, but for coefficients. */
static bool weights_alone(const rowscan_spec *spec) {
  return spec->op == ROWSCAN_WEIGHTED_RECURRENCE && !spec->mask_mode && !spec->segment_mode;
}

rowscan_status rs_kernel_states_check(const rowscan_spec *spec) {
  if (rs_op_of(spec->op)->source)
    return rs_fail(ROWSCAN_UNSUPPORTED, "field 'op': parts of rows of %s are not supported on GPUs",
                   rowscan_op_name(spec->op));
  if (rs_spec_has_further(spec) && !weights_alone(spec))
    return rs_fail(ROWSCAN_UNSUPPORTED, "parts of rows with further arrays are not supported on GPUs, but for "
                                        "weighted_recurrence without a mask and segments");
  return ROWSCAN_OK;
}

unsigned rs_kernel_states_flag(const rowscan_spec *spec) {
  return rs_spec_keeps_totals(spec) ? 0 : ROWSCAN_PART_STATES;
}

int64_t rs_kernel_state_bytes(const rowscan_spec *spec) {
  return rs_tune_states(spec).bytes;
}

/* Bits of a state in segments: kernels/ops.cuh. */
enum { INSIDE = 1, MARKED = 2, ANY = 4 };

static uint32_t word_of(const rs_kept_states *layout, const char *kept) {
  uint32_t word;
  memcpy(&word, kept + layout->word_at, sizeof word);
  return word;
}

/* ---- indices ----------------------------------------------------------------------------------------------------- */

/* As host/totals.h has it. */
typedef struct index_total {
  uint64_t key;
  int64_t index, count;
} index_total;

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Keys in the order of floats: of negative ones all bits are turned, of others the sign. */
static uint64_t turned(uint64_t bits, int width) {
  uint64_t sign = UINT64_C(1) << (width - 1);
  return (bits & sign ? ~bits : bits | sign) & (width == 64 ? UINT64_MAX : UINT32_MAX);
}
static uint64_t turned_back(uint64_t key, int width) {
  uint64_t sign = UINT64_C(1) << (width - 1);
  return (key & sign ? key & ~sign : ~key) & (width == 64 ? UINT64_MAX : UINT32_MAX);
}

/* A NaN's key is the highest of all; of the lowest elements, whose keys are turned, too. */
static bool is_nan(const rowscan_spec *spec, bool highest) {
  return highest && rs_type_kind(spec->in_type) == RS_FLOAT;
}

/* A key of 32 bits as one of 64, and back. */
static uint64_t wider(const rowscan_spec *spec, uint32_t key) {
  float value;
  switch (rs_type_kind(spec->in_type)) {
  case RS_FLOAT:
    memcpy(&value, &(uint32_t){(uint32_t)turned_back(key, 32)}, sizeof value);
    return turned(bits_of((double)value), 64);
  case RS_SIGNED:
    return (uint64_t)(int64_t)(int32_t)(key ^ UINT32_C(1) << 31) ^ UINT64_C(1) << 63;
  default:
    return key;
  }
}
static uint32_t narrower(const rowscan_spec *spec, uint64_t key) {
  uint64_t bits;
  double value;
  float single;
  uint32_t word;
  switch (rs_type_kind(spec->in_type)) {
  case RS_FLOAT:
    bits = turned_back(key, 64);
    memcpy(&value, &bits, sizeof value);
    single = (float)value;
    memcpy(&word, &single, sizeof word);
    return (uint32_t)turned(word, 32);
  case RS_SIGNED:
    return (uint32_t)(key ^ UINT64_C(1) << 63) ^ UINT32_C(1) << 31;
  default:
    return (uint32_t)key;
  }
}

/* none: it is that of no element. */
static uint64_t key_from(const rowscan_spec *spec, const char *from, bool none) {
  bool lowest = spec->op == ROWSCAN_ARGMIN;
  uint32_t narrow;
  uint64_t key;
  if (rowscan_type_bytes(spec->in_type) == 8) {
    memcpy(&key, from, sizeof key);
    return key;
  }
  memcpy(&narrow, from, sizeof narrow);
  if (none)
    return 0;
  if (is_nan(spec, narrow == UINT32_MAX))
    return UINT64_MAX;
  key = wider(spec, lowest ? ~narrow : narrow);
  return lowest ? ~key : key;
}

static void key_to(const rowscan_spec *spec, char *to, uint64_t key, bool none) {
  bool lowest = spec->op == ROWSCAN_ARGMIN;
  uint32_t narrow = 0;
  if (rowscan_type_bytes(spec->in_type) == 8) {
    memcpy(to, &key, sizeof key);
    return;
  }
  if (is_nan(spec, key == UINT64_MAX)) {
    narrow = UINT32_MAX;
  } else if (!none) {
    narrow = narrower(spec, lowest ? ~key : key);
    narrow = lowest ? ~narrow : narrow;
  }
  memcpy(to, &narrow, sizeof narrow);
}

static void read_index(const rowscan_spec *spec, const rs_kept_states *layout, void *state, const char *from) {
  uint32_t words[2];
  memcpy(words, from + layout->index_at, sizeof words);
  bool none = words[0] == UINT32_MAX;
  index_total total = {key_from(spec, from, none), none ? -1 : (int64_t)words[0], words[1]};
  memcpy(state, &total, sizeof total);
}

static void write_index(const rowscan_spec *spec, const rs_kept_states *layout, char *to, const void *state) {
  index_total total;
  memcpy(&total, state, sizeof total);
  uint32_t words[2] = {(uint32_t)total.index, (uint32_t)total.count};
  key_to(spec, to, total.key, total.index == -1);
  memcpy(to + layout->index_at, words, sizeof words);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void read_one(const rs_run *op, const rowscan_spec *spec, const rs_kept_states *layout, void *state,
                     const char *from) {
  rs_state_start(op, state, of_numbers(spec) ? from : NULL);
  if (is_index(spec))
    read_index(spec, layout, state, from);
  else if (!of_numbers(spec))
    memcpy(state, from, (size_t)layout->total);
}

/* Whether a segment begins in the block, or with its first element, given what is kept of the block before; NULL: it is
 * the first one. */
static bool begins(const rowscan_spec *spec, const rs_kept_states *layout, const char *before, const char *own) {
  if (word_of(layout, own) & INSIDE)
    return true;
  if (!before)
    return false;
  if (spec->mask_mode == ROWSCAN_MASK_KEYS)
    return memcmp(before + layout->key_at, own + layout->key_at, (size_t)(layout->word_at - layout->key_at)) != 0;
  return rs_spec_marks_last(spec) && word_of(layout, before) & MARKED;
}

void rs_kernel_states_read(const rs_run *op, const rowscan_spec *spec, void *states, const void *from, int64_t blocks,
                           int64_t rows) {
  const rs_kept_states of_spec = rs_tune_states(spec), *layout = &of_spec;
  int64_t host = rs_state_bytes(op), kernel = layout->bytes;
  for (int64_t i = 0; i < blocks * rows; i++) {
    const char *kept = (const char *)from + i * kernel;
    char *state = (char *)states + i * host;
    read_one(op, spec, layout, state, kept);
    if (rs_spec_segments(spec) && begins(spec, layout, i < rows ? NULL : kept - rows * kernel, kept))
      rs_state_begin(op, state);
  }
}

static void write_one(const rs_run *op, const rowscan_spec *spec, const rs_kept_states *layout, char *to,
                      const void *state) {
  if (of_numbers(spec))
    rs_state_show(op, to, state);
  else if (is_index(spec))
    write_index(spec, layout, to, state);
  else
    memcpy(to, state, (size_t)layout->total);
}

/* A key as kernels have it, of its type's width in a wider word. */
static uint64_t key_of_mark(const rowscan_spec *spec, uint64_t mark) {
  int unused = 64 - 8 * rs_spec_mask_bytes(spec);
  return rs_type_kind(spec->mask_type) == RS_SIGNED ? (uint64_t)((int64_t)(mark << unused) >> unused) : mark;
}

/* What comes before a part's first element, in segments. */
static void write_mark(const rowscan_spec *spec, const rs_kept_states *layout, char *to, uint64_t mark) {
  uint64_t key = key_of_mark(spec, mark);
  uint32_t word = rs_spec_marks_last(spec) && mark ? MARKED | ANY : ANY;
  memcpy(to + layout->key_at, &key, (size_t)(layout->word_at - layout->key_at));
  memcpy(to + layout->word_at, &word, sizeof word);
}

void rs_kernel_states_write(const rs_run *op, const rowscan_spec *spec, void *to, const void *states,
                            const uint64_t *marks, int64_t rows) {
  const rs_kept_states of_spec = rs_tune_states(spec), *layout = &of_spec;
  int64_t host = rs_state_bytes(op), kernel = layout->bytes;
  memset(to, 0, (size_t)(rows * kernel));
  for (int64_t r = 0; r < rows; r++) {
    char *kept = (char *)to + r * kernel;
    write_one(op, spec, layout, kept, (const char *)states + r * host);
    if (marks)
      write_mark(spec, layout, kept, marks[r]);
  }
}
