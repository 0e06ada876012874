/*
 * test_variants.c - NVRTC compiles every kind of kernel for every architecture it knows, and none spills
 * SPDX-License-Identifier: MIT
 *
 * Needs no GPU, and skips (77) without NVRTC. A list in which every type, operator, flag, mask and regime stands, and
 * the geometries that need most registers; each for all architectures, on as many threads as there are processors.
 * Besides the list, specs that are drawn, each for an architecture that is drawn too: holes between tuned lengths are
 * where no list looks.
 *
 * tests/golden/kernels.txt, the manifest, says which kernels of the list were compiled, from which text, and how many
 * registers each took. A run emits all, and compiles those whose text has changed since, and one pair of a spec and an
 * architecture in RS_PART (default 16; 1: all), whose registers must be what the manifest says. It fails if the
 * manifest is out of date: RS_MANIFEST_UPDATE=1 (`make manifest`) writes it anew. A manifest serves one NVRTC; with
 * another, a run compiles one pair in RS_PART, for RS_ARCHS architectures (default: all) that are drawn.
 *
 * What is drawn comes of RS_SEED, else of the time, which is told: run after run sees all. RS_DRAWN=n: so many drawn
 * specs. RS_LOT=n: one in n of what is drawn.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../gpu/any_op.h"
#include "../support/lot.h"
#include "../support/quick.h"
#include "base/ints.h"
#include "compile/nvrtc.h"
#include "manifest.h"
#include "spec/spec.h"

#define LENGTH(n, ...)                                                                                                 \
  { .size = sizeof(rowscan_spec), .length = n, __VA_ARGS__ }
#define BOTH (ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE)

/* Of a spec's rows, the most. */
enum { RANKS = 63 };

static const rowscan_spec specs[] = {
    LENGTH(32768, .in_type = ROWSCAN_F32),
    LENGTH(100001, .in_type = ROWSCAN_F32, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(8192, .in_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_MULTIPLY, .mask_type = ROWSCAN_F32),
    LENGTH(16384, .in_type = ROWSCAN_F32, .acc_type = ROWSCAN_F64, .flags = ROWSCAN_EXCLUSIVE),
    LENGTH(8192, .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(4096, .in_type = ROWSCAN_F32, .out_type = ROWSCAN_BF16),
    LENGTH(65536, .in_type = ROWSCAN_BF16, .flags = ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(8192, .in_type = ROWSCAN_BF16, .flags = BOTH, .mask_mode = ROWSCAN_MASK_MULTIPLY, .mask_type = ROWSCAN_BF16),
    LENGTH(32768, .in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(32768, .in_type = ROWSCAN_F16, .op = ROWSCAN_PROD),
    LENGTH(513, .in_type = ROWSCAN_F16, .out_type = ROWSCAN_F32),
    LENGTH(32768, .in_type = ROWSCAN_F64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(4096, .in_type = ROWSCAN_F64, .out_type = ROWSCAN_F16, .op = ROWSCAN_PROD),
    LENGTH(16384, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(32768, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8),
    LENGTH(32768, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I32),
    LENGTH(16384, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_MULTIPLY,
           .mask_type = ROWSCAN_U8),
    LENGTH(2048, .in_type = ROWSCAN_U16, .out_type = ROWSCAN_U16),
    LENGTH(1024, .in_type = ROWSCAN_I16),
    LENGTH(16384, .in_type = ROWSCAN_I32, .mask_mode = ROWSCAN_MASK_SELECT, .mask_type = ROWSCAN_I32),
    LENGTH(8192, .in_type = ROWSCAN_I64, .out_type = ROWSCAN_F32, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(32768, .in_type = ROWSCAN_U64, .op = ROWSCAN_PROD),
    LENGTH(40000, .in_type = ROWSCAN_BOOL),
    LENGTH(4096, .in_type = ROWSCAN_U8, .op = ROWSCAN_AND, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1 << 20, .in_type = ROWSCAN_I64, .op = ROWSCAN_XOR),
    LENGTH(1000, .in_type = ROWSCAN_BOOL, .op = ROWSCAN_OR, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(4096, .in_type = ROWSCAN_F32, .op = ROWSCAN_LINEAR_RECURRENCE),
    LENGTH(1 << 20, .in_type = ROWSCAN_BF16, .op = ROWSCAN_LINEAR_RECURRENCE, .flags = ROWSCAN_REVERSE),
    LENGTH(2048, .in_type = ROWSCAN_F32, .op = ROWSCAN_LINEAR_RECURRENCE, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F32, .op = ROWSCAN_LINEAR_RECURRENCE),
    LENGTH(8192, .in_type = ROWSCAN_F32, .op = ROWSCAN_LOGSUMEXP),
    LENGTH(2048, .in_type = ROWSCAN_F64, .op = ROWSCAN_LOGSUMEXP, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(1 << 20, .in_type = ROWSCAN_BF16, .op = ROWSCAN_EXTENDED_PROD, .flags = ROWSCAN_REVERSE),
    LENGTH(4096, .in_type = ROWSCAN_F32, .op = ROWSCAN_ARGMAX, .flags = ROWSCAN_TIES_FIRST | ROWSCAN_EXCLUSIVE),
    LENGTH(1000, .in_type = ROWSCAN_I64, .op = ROWSCAN_ARGMIN, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(4096, .in_type = ROWSCAN_F32, .flags = ROWSCAN_OMIT_NAN),
    LENGTH(8192, .in_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_HEADS),
    LENGTH(1 << 20, .in_type = ROWSCAN_BF16, .mask_mode = ROWSCAN_MASK_TAILS, .flags = BOTH),
    LENGTH(2048, .in_type = ROWSCAN_I64, .mask_mode = ROWSCAN_MASK_KEYS, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(4096, .in_type = ROWSCAN_F32, .op = ROWSCAN_ARGMAX, .mask_mode = ROWSCAN_MASK_TAILS),
    LENGTH(60, .in_type = ROWSCAN_F16, .op = ROWSCAN_LOGSUMEXP, .mask_mode = ROWSCAN_MASK_KEYS,
           .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_HEADS),
    LENGTH(7, .in_type = ROWSCAN_U32, .out_type = ROWSCAN_U32),
    LENGTH(300, .in_type = ROWSCAN_BF16, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1, .in_type = ROWSCAN_F64),
    LENGTH(0, .in_type = ROWSCAN_F32),
    LENGTH(100001, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1 << 20, .in_type = ROWSCAN_F32, .acc_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(100001, .in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1 << 26, .in_type = ROWSCAN_F16, .acc_type = ROWSCAN_F64, .flags = BOTH),
    LENGTH(197632, .in_type = ROWSCAN_BOOL),
    LENGTH(3000000000, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8),
    LENGTH(1000001, .in_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH((1 << 24) + 1, .in_type = ROWSCAN_I32, .flags = BOTH),
    LENGTH(1 << 28, .in_type = ROWSCAN_F32, .flags = BOTH),
    LENGTH((1 << 30) + 1, .in_type = ROWSCAN_BOOL, .flags = ROWSCAN_EXCLUSIVE),
    LENGTH(1 << 28, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH((1 << 26) + 1, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH((1 << 30) + 1, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH),
    LENGTH(1000, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1000, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(60, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(8, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(5, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(43664, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(4096, .in_type = ROWSCAN_F32, .row_rank = 5),
    LENGTH(428378, .in_type = ROWSCAN_I64),
    LENGTH(617949, .in_type = ROWSCAN_F32, .row_rank = 3),
    LENGTH(297984, .in_type = ROWSCAN_I8, .flags = ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_MULTIPLY,
           .mask_type = ROWSCAN_I8),
    LENGTH(110622, .in_type = ROWSCAN_I16, .op = ROWSCAN_PROD, .flags = ROWSCAN_REVERSE),
    LENGTH(2626, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_U32, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = 2),
    LENGTH(271, .in_type = ROWSCAN_U32, .out_type = ROWSCAN_U32, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE),
    LENGTH(7, .in_type = ROWSCAN_F16, .layout = ROWSCAN_LAYOUT_COLUMNS, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(2, .in_type = ROWSCAN_F16, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_EXCLUSIVE),
    LENGTH(1, .in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_EXCLUSIVE, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(1200000000, .in_type = ROWSCAN_I16, .out_type = ROWSCAN_I16, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE),
    LENGTH(86, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_U8, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1 << 28, .in_type = ROWSCAN_U64, .op = ROWSCAN_PROD, .flags = ROWSCAN_EXCLUSIVE, .row_rank = 3),
    LENGTH(1 << 28, .in_type = ROWSCAN_U64, .op = ROWSCAN_PROD, .flags = ROWSCAN_EXCLUSIVE, .row_rank = 9),
    LENGTH(1 << 24, .in_type = ROWSCAN_I64, .op = ROWSCAN_PROD, .flags = ROWSCAN_EXCLUSIVE, .row_rank = 4),
    LENGTH(1 << 26, .in_type = ROWSCAN_BF16, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = 5),
    LENGTH(5000001, .in_type = ROWSCAN_I32, .out_type = ROWSCAN_I64, .op = ROWSCAN_PROD, .flags = ROWSCAN_REVERSE,
           .row_rank = 4),
    LENGTH(1040000, .in_type = ROWSCAN_U64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = 3),
    LENGTH(INT64_C(100000000000), .in_type = ROWSCAN_F64, .row_rank = RANKS),
    LENGTH(600, .in_type = ROWSCAN_F32, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = RANKS),
    LENGTH(520, .in_type = ROWSCAN_F16, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_REVERSE, .row_rank = 3),
    LENGTH(4857, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_REVERSE, .row_rank = 5),
    LENGTH(4, .in_type = ROWSCAN_F16, .out_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT, .mask_type = ROWSCAN_F16, .row_rank = RANKS),
    LENGTH(1 << 30, .in_type = ROWSCAN_F64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(INT64_C(6608859136), .in_type = ROWSCAN_F16, .acc_type = ROWSCAN_F64, .op = ROWSCAN_PROD, .flags = BOTH),
    LENGTH(262144, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(INT64_C(1) << 35, .in_type = ROWSCAN_I64, .op = ROWSCAN_PROD, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(INT64_C(1) << 56, .in_type = ROWSCAN_I64, .op = ROWSCAN_PROD, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F32),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_BF16, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_BOOL),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8, .flags = ROWSCAN_REVERSE),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_U64, .op = ROWSCAN_PROD, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = 5),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F16, .layout = ROWSCAN_LAYOUT_COLUMNS, .row_rank = RANKS),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(65536, .op = ROWSCAN_GAE, .in_type = ROWSCAN_F32, .flags = ROWSCAN_REVERSE, .second_type = ROWSCAN_F32),
    LENGTH(128, .op = ROWSCAN_GAE, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_REVERSE,
           .second_type = ROWSCAN_BF16),
    LENGTH(ROWSCAN_ANY_LENGTH, .op = ROWSCAN_GAE, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE, .second_type = ROWSCAN_F64),
    LENGTH(4095, .op = ROWSCAN_WEIGHTED_RECURRENCE, .in_type = ROWSCAN_F32, .flags = BOTH, .second_type = ROWSCAN_F32),
    LENGTH(2047, .op = ROWSCAN_WEIGHTED_RECURRENCE, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = BOTH, .second_type = ROWSCAN_BF16),
    LENGTH(4096, .op = ROWSCAN_DECAYED_SUM, .in_type = ROWSCAN_F32),
    LENGTH(300, .op = ROWSCAN_DECAYED_SUM, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH),
    LENGTH(8192, .op = ROWSCAN_SUM_GRADIENT, .in_type = ROWSCAN_F32, .flags = ROWSCAN_REVERSE,
           .more_types = {ROWSCAN_BOOL}),
    LENGTH(2047, .op = ROWSCAN_SUM_GRADIENT, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT, .segment_mode = ROWSCAN_MASK_TAILS, .second_type = ROWSCAN_BF16),
    LENGTH(4096, .op = ROWSCAN_EXTREMUM_GRADIENT, .in_type = ROWSCAN_F32, .flags = ROWSCAN_REVERSE),
    LENGTH(ROWSCAN_ANY_LENGTH, .op = ROWSCAN_EXTREMUM_GRADIENT, .in_type = ROWSCAN_F64,
           .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_REVERSE, .second_type = ROWSCAN_F64),
    LENGTH(4095, .op = ROWSCAN_LOGSUMEXP_GRADIENT, .in_type = ROWSCAN_F32, .flags = ROWSCAN_REVERSE,
           .segment_mode = ROWSCAN_MASK_HEADS),
    LENGTH(128, .op = ROWSCAN_LOGSUMEXP_GRADIENT, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE, .second_type = ROWSCAN_BF16),
    LENGTH(65536, .op = ROWSCAN_LOGSUMEXP_GRADIENT, .in_type = ROWSCAN_F64, .flags = ROWSCAN_REVERSE),
    LENGTH(100000, .op = ROWSCAN_ARGMAX, .in_type = ROWSCAN_F32, .second_type = ROWSCAN_F32),
    LENGTH(ROWSCAN_ANY_LENGTH, .op = ROWSCAN_LINEAR_RECURRENCE, .in_type = ROWSCAN_F64, .flags = BOTH,
           .segment_mode = ROWSCAN_MASK_TAILS, .row_rank = RANKS),
    LENGTH(INT64_C(1) << 40, .op = ROWSCAN_PROD, .in_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_MULTIPLY,
           .segment_mode = ROWSCAN_MASK_KEYS, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F32, .flags = ROWSCAN_PART_TOTALS),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_BF16, .out_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_SELECT,
           .flags = ROWSCAN_PART_TOTALS),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_I64, .flags = ROWSCAN_PART_TOTALS),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F64, .op = ROWSCAN_PROD,
           .flags = ROWSCAN_PART_TOTALS | ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F16, .op = ROWSCAN_MAX, .flags = ROWSCAN_PART_TOTALS),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F32, .op = ROWSCAN_LINEAR_RECURRENCE,
           .flags = ROWSCAN_PART_TOTALS | ROWSCAN_PART_STATES),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F64, .op = ROWSCAN_LOGSUMEXP,
           .flags = ROWSCAN_PART_TOTALS | ROWSCAN_PART_STATES),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_F32, .op = ROWSCAN_ARGMAX, .mask_mode = ROWSCAN_MASK_HEADS,
           .flags = ROWSCAN_PART_TOTALS | ROWSCAN_PART_STATES),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_BF16, .out_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_TAILS,
           .flags = ROWSCAN_PART_TOTALS | ROWSCAN_PART_STATES),
    LENGTH(1 << 20, .in_type = ROWSCAN_F32, .op = ROWSCAN_LINEAR_RECURRENCE, .flags = ROWSCAN_PART_STATES),
    LENGTH(65536, .in_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_KEYS, .flags = ROWSCAN_PART_STATES),
    LENGTH(4096, .in_type = ROWSCAN_F32, .op = ROWSCAN_LOGSUMEXP, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_PART_STATES),
    LENGTH(ROWSCAN_ANY_LENGTH, .in_type = ROWSCAN_BF16, .op = ROWSCAN_ARGMIN, .flags = ROWSCAN_PART_STATES),
};
enum { SPECS = sizeof specs / sizeof *specs };

static rowscan_context *context;
static int archs[MANIFEST_ARCHS], count = MANIFEST_ARCHS, drawn, part;
static int version; /* of NVRTC: 12010 is 12.1 */
static unsigned long long seed;
static atomic_int turn, passed, failed, changed;

/* What the manifest says, and what it would say now. */
static manifest before, now;
static char *lines[SPECS]; /* each spec's text in the manifest */
static manifest_spec *made[SPECS];
static bool has_manifest;

/* ---- drawn specs ------------------------------------------------------------------------------------------------- */

/* Of one spec, whoever draws which. */
static int below(uint64_t *state, int n) {
  return (int)(rs_random(state) % (uint64_t)n);
}

/* One in so many times, else 0, which is the default. */
static int seldom(uint64_t *state, int times, int n) {
  return below(state, times) == 0 ? below(state, n) : 0;
}

/* Any; else up to 2^27 in half of all cases, else to 2^57, and no more than there may be; a power of two, a multiple of
 * one, or neither. */
static int64_t draw_length(uint64_t *state) {
  enum { ANY = 12 };
  if (below(state, ANY) == 0)
    return ROWSCAN_ANY_LENGTH;
  int64_t power = INT64_C(1) << below(state, below(state, 2) ? 27 : 57), length = power;
  for (int64_t bit = power / 2; bit > 0; bit /= 2)
    length += bit * below(state, 2);
  static const int64_t units[] = {1, 1, 16, 32, 256, 4096};
  int64_t unit = units[below(state, 6)];
  length = below(state, 4) == 0 ? power : length > unit ? length / unit * unit : length;
  return length < RS_MAX_LENGTH ? length : RS_MAX_LENGTH;
}

static rowscan_spec draw_any(uint64_t *state) {
  rowscan_spec spec = {.size = sizeof spec, .in_type = (rowscan_type)(1 + below(state, ROWSCAN_BOOL))};
  spec.op = op_at((int)below(state, op_count()));
  spec.out_type = (rowscan_type)seldom(state, 3, ROWSCAN_BOOL + 1);
  spec.acc_type = below(state, 4) ? ROWSCAN_TYPE_DEFAULT : ROWSCAN_F64;
  spec.flags = (unsigned)below(state, 4);
  spec.mask_mode = (rowscan_mask_mode)seldom(state, 2, (int)rs_mask_mode_values.most + 1);
  if (spec.mask_mode)
    spec.mask_type = (rowscan_type)seldom(state, 2, ROWSCAN_BOOL + 1);
  spec.layout = (rowscan_layout)below(state, (int)rs_layout_values.most + 1);
  spec.row_rank = seldom(state, 2, 8);
  if (below(state, 4) == 0)
    spec.segment_mode = (rowscan_mask_mode)(ROWSCAN_MASK_HEADS + below(state, 3));
  if (below(state, 4) == 0 && rs_op_of(spec.op)->second)
    spec.second_type = spec.in_type;
  spec.length = draw_length(state);
  if (below(state, 4) == 0)
    spec.acc_type = ROWSCAN_FIXED(below(state, 63));
  return spec;
}

/* NVRTC 11.8 ends the process with SIGSEGV; 12.8 and newer do not, but 13.0 does for one row of 2^53 u32, which no GPU
 * holds, after minutes. */
static bool ends_compiler(const rowscan_spec *spec) {
  int most = version < 12080 ? 35 : spec->layout == ROWSCAN_LAYOUT_ROWS ? 48 : 57;
  return spec->op == ROWSCAN_PROD && spec->length >= INT64_C(1) << most;
}

/* Those that are no specs are drawn again, and those that no test survives. */
static rowscan_spec draw(int number, int *arch) {
  uint64_t state = seed + ((uint64_t)number << 32);
  rowscan_spec spec;
  do
    spec = draw_any(&state);
  while (rowscan_spec_complete(&spec) || ends_compiler(&spec));
  *arch = archs[below(&state, count)];
  return spec;
}

/* ---- one of them ------------------------------------------------------------------------------------------------- */

/* What NVRTC must say where it can't compile a spec: until 12.1 kernels have 4096 bytes of parameters. NULL: it can. */
static const char *refusal_of(const rowscan_spec *spec) {
  bool overflows = version < 12010 && spec->row_rank == RANKS && rs_spec_has_further(spec);
  return overflows ? "Formal parameter space overflowed" : NULL;
}

/* So many seeds that follow one another as there are parts have each pair once. */
static bool is_sampled(int spec, int arch) {
  return (uint64_t)(spec + arch) % (uint64_t)part == seed % (uint64_t)part;
}

static void tell(const rowscan_spec *spec, const char *arch, const char *more) {
  rowscan_spec complete = *spec;
  rs_text line = {0};
  if (rowscan_spec_complete(&complete) == ROWSCAN_OK)
    rs_spec_line(&complete, &line);
  printf("%s, %s: %s\n", line.data ? line.data : "?", arch, more);
  rs_text_free(&line);
}

/*
 * Bytes that a kernel may spill: none, but for rows cut over blocks of 2^30 elements and more with accumulators of 64
 * bits, whose streams keep all of their chunks (src/family/tune_rows.c); a few words of very many where totals take 16
 * bytes, and along columns where they are compared in 64 bits, whose blocks wait for one another with all levels of the
 * order in registers; and for rows that no GPU has memory for, which need but compile.
 */
static int most_spilled(const rowscan_plan *plan, const rowscan_module_info *info) {
  enum { MOST_LOG = 38, SOME = 512 };
  rowscan_spec spec = ROWSCAN_INFO(spec);
  if (rowscan_plan_spec(plan, &spec) != ROWSCAN_OK)
    return 0;
  if (spec.length > (INT64_C(1) << MOST_LOG) / (int64_t)rowscan_type_bytes(spec.in_type))
    return INT_MAX;
  bool wide = rowscan_type_bytes(spec.acc_type) == 8, large = rs_spec_register_bytes(&spec) == 16;
  bool far = spec.length >= 1 << 30 && info->regime == ROWSCAN_REGIME_LONG;
  bool compared = rs_op_of(spec.op)->kind == RS_ORDER && info->regime == ROWSCAN_REGIME_COLUMN;
  return large || (wide && (far || compared)) ? SOME : 0;
}

/* Compiles a module of a plan. False: it can't be, or it spills, which is told. */
static bool check_module(const rowscan_plan *plan, int index, const rowscan_spec *spec, const char *arch,
                         rowscan_module_info *info) {
  *info = (rowscan_module_info)ROWSCAN_INFO(rowscan_module_info);
  bool ok = rowscan_plan_module(plan, index, info) == ROWSCAN_OK && info->registers > 0 && info->ptx_bytes &&
            info->cubin_bytes;
  int most = ok ? most_spilled(plan, info) : 0;
  ok = ok && info->spill_bytes <= most && info->local_bytes <= most;
  char more[256];
  snprintf(more, sizeof more, "%s, %d registers, %d local bytes, %d spilled; %s", rowscan_regime_name(info->regime),
           info->registers, info->local_bytes, info->spill_bytes, info->geometry);
  if (!ok)
    tell(spec, arch, more);
  ok ? passed++ : failed++;
  return ok;
}

/* A plan for an architecture; NULL if it can't be compiled, which is told unless NVRTC must refuse it. */
static rowscan_plan *compile_plan(const rowscan_spec *spec, const char *arch, int *modules) {
  rowscan_plan *plan;
  rowscan_plan_info info = ROWSCAN_INFO(rowscan_plan_info);
  const char *refusal = refusal_of(spec);
  if (rowscan_plan_compile(&plan, context, spec, arch)) {
    bool expected = refusal && strstr(rowscan_last_error(), refusal);
    if (!expected)
      tell(spec, arch, rowscan_last_error());
    expected ? passed++ : failed++;
    return NULL;
  }
  if (refusal) {
    tell(spec, arch, "NVRTC compiles what it must refuse");
    failed++;
  }
  if (rowscan_plan_info_get(plan, &info) || info.modules < 1)
    failed++;
  *modules = info.modules;
  return plan;
}

static void name_arch(char name[16], int arch) {
  snprintf(name, 16, "sm_%d", arch);
}

static void check_variant(const rowscan_spec *spec, int number) {
  char arch[16];
  int modules;
  rowscan_module_info info;
  name_arch(arch, number);
  rowscan_plan *plan = compile_plan(spec, arch, &modules);
  for (int i = 0; plan && i < modules; i++)
    check_module(plan, i, spec, arch, &info);
  rowscan_plan_destroy(plan);
}

/* ---- against the manifest ---------------------------------------------------------------------------------------- */

/* Compiles one of a variant's kernels, compares it with what the manifest has of it, and keeps what came out. */
static void check_kernel(const rowscan_plan *plan, int module, const rowscan_spec *spec, const char *arch,
                         const char *source, const manifest_kernel *old, manifest_kernel *kernel) {
  rowscan_module_info info;
  char more[128];
  if (!check_module(plan, module, spec, arch, &info))
    return;
  kernel->registers = info.registers;
  kernel->spilled = info.spill_bytes;
  manifest_digest(kernel->digest, source);
  if (strcmp(info.source, source) != 0) {
    tell(spec, arch, "the plan has another source than rowscan_source");
    failed++;
  }
  if (old && (old->registers != info.registers || old->spilled != info.spill_bytes)) {
    snprintf(more, sizeof more, "module %d: %d registers and %d bytes spilled; the manifest has %d and %d", module,
             info.registers, info.spill_bytes, old->registers, old->spilled);
    tell(spec, arch, more);
    failed++;
  }
}

/* Of a spec of the list and an architecture: compiles what was never compiled as it is, or all of it where the lot fell
 * on it. */
static void check_listed(int number, int index) {
  const rowscan_spec *spec = &specs[number];
  manifest_kernel *old[MANIFEST_KERNELS];
  char arch[16], *source[MANIFEST_KERNELS];
  int kernels = 0, lacking = 0, modules = 0;
  name_arch(arch, archs[index]);
  while (kernels < MANIFEST_KERNELS && rowscan_source(spec, arch, kernels, &source[kernels]) == ROWSCAN_OK) {
    old[kernels] = manifest_find(&before, lines[number], kernels, archs[index], source[kernels]);
    lacking += !old[kernels++];
  }
  changed += lacking;
  bool sampled = is_sampled(number, index);
  rowscan_plan *plan = sampled || lacking ? compile_plan(spec, arch, &modules) : NULL;
  if (plan && modules != kernels) {
    tell(spec, arch, "the plan has more or fewer kernels than rowscan_source");
    failed++;
  }
  for (int i = 0; i < kernels; i++) {
    manifest_kernel *kernel = &made[number]->kernel[i][index];
    if (plan && i < modules && (sampled || !old[i]))
      check_kernel(plan, i, spec, arch, source[i], old[i], kernel);
    else if (old[i])
      *kernel = *old[i];
    kernel->seen = false;
    rowscan_free(source[i]);
  }
  rowscan_plan_destroy(plan);
}

static void manifest_path(char *path, size_t room) {
  const char *top = getenv("srcdir");
  snprintf(path, room, "%s/tests/golden/kernels.txt", top ? top : ".");
}

/* Tables for the NVRTC at hand, whose version is kept and whose build-id is told. */
static bool open_manifests(rs_nvrtc *nvrtc) {
  const rs_nvrtc_calls *calls;
  const char *id;
  char path[4096];
  if (!nvrtc || rs_nvrtc_load(nvrtc, &calls) || rs_nvrtc_id(nvrtc, &id))
    return false;
  version = calls->version;
  before = manifest_new(id, archs, count);
  now = manifest_new(id, archs, count);
  manifest_path(path, sizeof path);
  FILE *file = fopen(path, "r");
  has_manifest = manifest_read(&before, file);
  if (file)
    fclose(file);
  if (is_asked("RS_MANIFEST_UPDATE") && !has_manifest) {
    manifest_free(&before);
    before = manifest_new(id, archs, count);
    has_manifest = true;
  }
  for (int i = 0; i < SPECS; i++) {
    rowscan_spec complete = specs[i];
    if (rowscan_spec_complete(&complete) || rowscan_spec_text(&complete, &lines[i]))
      return false;
    for (char *at = lines[i]; *at; at++)
      if (*at == '\n')
        *at = at[1] ? ' ' : 0;
    manifest_add(&now, lines[i]);
  }
  for (int i = 0; i < SPECS; i++)
    made[i] = manifest_add(&now, lines[i]);
  printf("NVRTC %s: %s\n", id, has_manifest ? "the manifest has its kernels" : "there is no manifest of it");
  return true;
}

/* Writes the manifest anew, without what failed, or says that it must be. */
static void close_manifests(void) {
  char path[4096];
  manifest_path(path, sizeof path);
  int unseen = manifest_unseen(&before);
  if (has_manifest && is_asked("RS_MANIFEST_UPDATE")) {
    FILE *file = fopen(path, "w");
    if (file)
      manifest_write(&now, file);
    bool good = file && fclose(file) == 0;
    failed += !good;
    printf("%s %s: %d kernels are new or changed, %d are gone\n", path, good ? "is written" : "can't be written",
           changed, unseen);
  } else if (has_manifest && changed + unseen) {
    printf("%s is out of date: %d kernels are new or changed, %d are gone; `make manifest` writes it anew\n", path,
           changed, unseen);
    failed++;
  }
  manifest_free(&before);
  manifest_free(&now);
  for (int i = 0; i < SPECS; i++)
    rowscan_free(lines[i]);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void check_drawn(int number) {
  int arch;
  rowscan_spec spec = draw(number, &arch);
  check_variant(&spec, arch);
}

/* The drawn ones first: each takes long, and so the last ones do not wait for one another. */
static void *work(void *unused) {
  (void)unused;
  for (int i; (i = turn++) < drawn + SPECS * count;) {
    int listed = i - drawn;
    if (i < drawn)
      check_drawn(i);
    else if (has_manifest)
      check_listed(listed % SPECS, listed / SPECS);
    else if (is_sampled(listed % SPECS, listed / SPECS) && !ends_compiler(&specs[listed % SPECS]))
      check_variant(&specs[listed % SPECS], archs[listed / SPECS]);
  }
  return NULL;
}

/* A number that the environment may have, from `least` on. */
static int number_of(const char *variable, int otherwise, int least) {
  const char *text = getenv(variable);
  int number = text ? atoi(text) : otherwise;
  return number < least ? least : number;
}

static void choose(void) {
  int lots = (int)lot_drawn()->parts;
  seed = lot_drawn()->seed;
  part = number_of("RS_PART", 16, 1) * lots;
  drawn = (number_of("RS_DRAWN", 8, 0) + lots - 1) / lots;
  printf("RS_SEED=%llu RS_PART=%d RS_DRAWN=%d\n", seed, part, drawn);
}

/* Leaves so many of the architectures, ascending. */
static void draw_archs(int most) {
  uint64_t state = seed;
  for (; count > most; count--) {
    int without = below(&state, count);
    memmove(&archs[without], &archs[without + 1], (size_t)(count - 1 - without) * sizeof *archs);
  }
}

static void tell_archs(void) {
  printf("%d architectures:", count);
  for (int i = 0; i < count; i++)
    printf(" sm_%d", archs[i]);
  printf("\n");
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  rs_developer = true;
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_off = 1))) {
    printf("%s\n", rowscan_last_error());
    return 1;
  }
  if (rowscan_archs(context, archs, &count)) {
    printf("skipped: %s\n", rowscan_last_error());
    rowscan_close(context);
    return 77;
  }
  choose();
  rs_nvrtc *nvrtc = rs_nvrtc_open(NULL, NULL);
  if (!open_manifests(nvrtc)) {
    printf("%s\n", rowscan_last_error());
    return 1;
  }
  if (!has_manifest)
    draw_archs(number_of("RS_ARCHS", count, 1));
  tell_archs();
  pthread_t threads[16];
  long most = sysconf(_SC_NPROCESSORS_ONLN);
  int workers = 0;
  while (workers < most && workers < 16 && !pthread_create(&threads[workers], NULL, work, NULL))
    workers++;
  work(NULL);
  while (workers > 0)
    pthread_join(threads[--workers], NULL);
  close_manifests();
  rs_nvrtc_close(nvrtc);
  rowscan_close(context);
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
