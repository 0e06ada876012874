/*
 * group_parts.c - rows that are cut at any places: records and scans of their parts, as of one call on the host
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/lot.h"
#include "data.h"
#include "device.h"
#include "family/tune.h"
#include "run/plan.h"
#include "run/shard_states.h"
#include "spec/developer.h"
#include "spec/types.h"
#include "suite.h"
#include "universal.h"

enum { RANK = 3, MOST_PARTS = 5, QUICK_CASES = 2, CASES = 12, ARRAYS = 7 };

typedef struct form {
  rowscan_op op;
  rowscan_type in, out, acc;
  rowscan_mask_mode mask;
} form;

static const form forms[] = {
    {ROWSCAN_SUM, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_NONE},
    {ROWSCAN_SUM, ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_SELECT},
    {ROWSCAN_SUM, ROWSCAN_U8, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_NONE},
    {ROWSCAN_SUM, ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_MASK_MULTIPLY},
    {ROWSCAN_SUM, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_FIXED(20), ROWSCAN_MASK_NONE},
    {ROWSCAN_PROD, ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_MASK_SELECT},
    {ROWSCAN_MAX, ROWSCAN_F16, ROWSCAN_F16, ROWSCAN_F32, ROWSCAN_MASK_NONE},
    {ROWSCAN_MIN, ROWSCAN_I16, ROWSCAN_I32, ROWSCAN_I32, ROWSCAN_MASK_SELECT},
    {ROWSCAN_XOR, ROWSCAN_U32, ROWSCAN_U32, ROWSCAN_U32, ROWSCAN_MASK_NONE},
    {ROWSCAN_LINEAR_RECURRENCE, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_COEFFICIENT},
    {ROWSCAN_LINEAR_RECURRENCE, ROWSCAN_I32, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_COEFFICIENT},
    {ROWSCAN_LINEAR_RECURRENCE, ROWSCAN_BF16, ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_MASK_COEFFICIENT},
    {ROWSCAN_WEIGHTED_RECURRENCE, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_MASK_NONE},
    {ROWSCAN_WEIGHTED_RECURRENCE, ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_NONE},
    {ROWSCAN_LOGSUMEXP, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_NONE},
    {ROWSCAN_LOGSUMEXP, ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_MASK_SELECT},
    {ROWSCAN_EXTENDED_PROD, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_NONE},
    {ROWSCAN_ARGMAX, ROWSCAN_F32, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_NONE},
    {ROWSCAN_ARGMIN, ROWSCAN_BF16, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_SELECT},
    {ROWSCAN_ARGMAX, ROWSCAN_I32, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_NONE},
    {ROWSCAN_ARGMIN, ROWSCAN_I32, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_SELECT},
    {ROWSCAN_ARGMAX, ROWSCAN_U32, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_HEADS},
    {ROWSCAN_ARGMIN, ROWSCAN_I16, ROWSCAN_I32, ROWSCAN_I32, ROWSCAN_MASK_NONE},
    {ROWSCAN_ARGMAX, ROWSCAN_U64, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_SELECT},
    {ROWSCAN_ARGMAX, ROWSCAN_F16, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_HEADS},
    {ROWSCAN_SUM, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_HEADS},
    {ROWSCAN_SUM, ROWSCAN_I8, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_HEADS},
    {ROWSCAN_PROD, ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_MASK_HEADS},
    {ROWSCAN_MAX, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_HEADS},
    {ROWSCAN_MIN, ROWSCAN_I16, ROWSCAN_I16, ROWSCAN_I16, ROWSCAN_MASK_HEADS},
    {ROWSCAN_AND, ROWSCAN_U8, ROWSCAN_U8, ROWSCAN_U8, ROWSCAN_MASK_HEADS},
    {ROWSCAN_LOGSUMEXP, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_HEADS},
    {ROWSCAN_EXTENDED_PROD, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_HEADS},
    {ROWSCAN_SUM, ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_TAILS},
    {ROWSCAN_MAX, ROWSCAN_I32, ROWSCAN_I32, ROWSCAN_I32, ROWSCAN_MASK_TAILS},
    {ROWSCAN_ARGMIN, ROWSCAN_F32, ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_MASK_TAILS},
    {ROWSCAN_LOGSUMEXP, ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_TAILS},
    {ROWSCAN_SUM, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_KEYS},
    {ROWSCAN_SUM, ROWSCAN_U8, ROWSCAN_I32, ROWSCAN_I32, ROWSCAN_MASK_KEYS},
    {ROWSCAN_PROD, ROWSCAN_F16, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_KEYS},
    {ROWSCAN_MIN, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_MASK_KEYS},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* MASK: or the coefficients of a weighted recurrence, which has weights and a second output besides. */
enum { IN, MASK, INIT, WEIGHTS, OUT, TOTALS, SECOND };

/* A problem, its arrays on host and device, and where its rows are cut, in the order of the scan. */
typedef struct cutting {
  rowscan_problem problem;
  int64_t shape[RANK], out_shape[RANK], row_shape[RANK];
  int64_t strides[ARRAYS][RANK], count[ARRAYS];
  rowscan_type type[ARRAYS];
  char *host[ARRAYS], *device[ARRAYS];
  int parts;
  int64_t cut[MOST_PARTS + 1];
  char name[200];
} cutting;

static size_t bytes_of(const cutting *c, int a) {
  return (size_t)c->count[a] * rowscan_type_bytes(c->type[a]);
}

static void *take(size_t bytes) {
  void *memory = calloc(1, bytes + 1);
  if (!memory)
    abort();
  return memory;
}

static void dense(cutting *c, int a, const int64_t *shape) {
  c->count[a] = 1;
  for (int d = RANK - 1; d >= 0; d--) {
    c->strides[a][d] = c->count[a];
    c->count[a] *= shape[d];
  }
}

static void draw_shape(cutting *c, random_source *random) {
  rowscan_problem *p = &c->problem;
  int64_t most = suite.quick ? random_one_in(random, 4) ? 20000 : 2000 : 1 << (4 + random_below(random, 18));
  int64_t length = random_below(random, most);
  p->rank = RANK;
  p->dim = (int)random_below(random, RANK);
  for (int d = 0; d < RANK; d++)
    c->shape[d] = d == p->dim ? length : 1 + random_below(random, length > 5000 ? 3 : 9);
  memcpy(c->out_shape, c->shape, sizeof c->shape);
  memcpy(c->row_shape, c->shape, sizeof c->shape);
  c->row_shape[p->dim] = 1;
  c->out_shape[p->dim] += (p->flags & ROWSCAN_INCLUDE_INITIAL) != 0;
  c->parts = 1 + (int)random_below(random, MOST_PARTS);
  for (int i = 0; i <= c->parts; i++)
    c->cut[i] = i == 0 ? 0 : i == c->parts ? length : random_below(random, length + 1);
  if (random_one_in(random, 3)) /* in tiles */
    for (int i = 1; i < c->parts; i++)
      c->cut[i] = c->cut[i] / 256 * 256;
  for (int i = 1; i < c->parts; i++)
    for (int j = i; j > 1 && c->cut[j] < c->cut[j - 1]; j--) {
      int64_t later = c->cut[j - 1];
      c->cut[j - 1] = c->cut[j];
      c->cut[j] = later;
    }
}

static bool is_index(rowscan_op op) {
  return op == ROWSCAN_ARGMAX || op == ROWSCAN_ARGMIN;
}

static bool is_weighted(rowscan_op op) {
  return op == ROWSCAN_WEIGHTED_RECURRENCE;
}

static bool is_segments(rowscan_mask_mode mode) {
  return mode == ROWSCAN_MASK_HEADS || mode == ROWSCAN_MASK_TAILS || mode == ROWSCAN_MASK_KEYS;
}

static rowscan_type mask_type(const form *f, random_source *random) {
  static const rowscan_type keys[] = {ROWSCAN_I32, ROWSCAN_I8, ROWSCAN_U16, ROWSCAN_BOOL, ROWSCAN_I64};
  return f->mask == ROWSCAN_MASK_KEYS                             ? keys[random_below(random, 5)]
         : f->mask == ROWSCAN_MASK_SELECT || is_segments(f->mask) ? ROWSCAN_BOOL
                                                                  : f->in;
}

/* Some segments reach over parts. */
static void draw_segments(cutting *c, random_source *random) {
  size_t bytes = rowscan_type_bytes(c->type[MASK]);
  int64_t key = c->type[MASK] == ROWSCAN_BOOL ? 0 : -2;
  bool keys = c->problem.mask_mode == ROWSCAN_MASK_KEYS;
  for (int64_t i = 0; i < c->count[MASK]; i++) {
    bool other = random_one_in(random, 200);
    key = !keys ? other : other ? c->type[MASK] == ROWSCAN_BOOL ? !key : key + 1 : key;
    memcpy(c->host[MASK] + (size_t)i * bytes, &key, bytes);
  }
}

static void draw_form(cutting *c, const form *f, random_source *random) {
  static const unsigned flags[] = {0,
                                   ROWSCAN_REVERSE,
                                   ROWSCAN_EXCLUSIVE,
                                   ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE,
                                   ROWSCAN_INCLUDE_INITIAL,
                                   ROWSCAN_INCLUDE_INITIAL | ROWSCAN_REVERSE};
  rowscan_type kept = f->acc >= ROWSCAN_FIXED(0) ? ROWSCAN_I64 : f->acc;
  const rowscan_type types[ARRAYS] = {f->in, mask_type(f, random), kept, f->in, f->out, kept, f->out};
  memcpy(c->type, types, sizeof types);
  c->problem = (rowscan_problem){.size = sizeof c->problem,
                                 .op = f->op,
                                 .acc_type = f->acc,
                                 .mask_mode = f->mask,
                                 .flags = flags[random_below(random, is_weighted(f->op) ? 4 : 6)]};
  if (is_index(f->op) && random_one_in(random, 2))
    c->problem.flags |= ROWSCAN_TIES_FIRST;
  if (rs_type_kind(f->in) == RS_FLOAT && random_one_in(random, 12))
    c->problem.flags |= ROWSCAN_OMIT_NAN;
  draw_shape(c, random);
  dense(c, IN, c->shape);
  dense(c, MASK, c->shape);
  dense(c, OUT, c->out_shape);
  dense(c, INIT, c->row_shape);
  dense(c, TOTALS, c->row_shape);
  if (is_weighted(c->problem.op)) {
    dense(c, WEIGHTS, c->shape);
    dense(c, SECOND, c->out_shape);
  }
}

static void open_cutting(cutting *c, const form *f, random_source *random) {
  draw_form(c, f, random);
  data_kind kind = (data_kind)random_below(random, DATA_RAW);
  int64_t length = c->shape[c->problem.dim];
  for (int a = 0; a < ARRAYS; a++) {
    c->host[a] = take(bytes_of(c, a));
    if (a == MASK && f->mask == ROWSCAN_MASK_SELECT)
      data_mask(c->host[a], c->type[a], c->count[a], random);
    else if (a < OUT && !(a == MASK && is_segments(f->mask)))
      data_elements(c->host[a], c->type[a], f->op, kind, c->count[a], length, random);
  }
  if (is_segments(f->mask))
    draw_segments(c, random);
  if (is_index(f->op) || random_one_in(random, 2)) {
    free(c->host[INIT]);
    c->host[INIT] = NULL;
  }
  for (int a = 0; a < ARRAYS; a++) {
    c->device[a] = device_alloc(bytes_of(c, a) + 1);
    if (c->host[a])
      device_upload(c->device[a], c->host[a], bytes_of(c, a), NULL);
  }
  snprintf(c->name, sizeof c->name, "op %d, in %d, out %d, mask %d, flags %u, %lld x %lld x %lld along %d, %d parts",
           f->op, f->in, f->out, f->mask, c->problem.flags, (long long)c->shape[0], (long long)c->shape[1],
           (long long)c->shape[2], c->problem.dim, c->parts);
}

static void close_cutting(cutting *c) {
  for (int a = 0; a < ARRAYS; a++) {
    free(c->host[a]);
    device_free(c->device[a]);
  }
}

/* Elements `begin` to `end` in the order of the scan; 0 to all is the whole problem. */
static rowscan_problem part_of(const cutting *c, bool gpu, int64_t begin, int64_t end, int64_t *shape) {
  rowscan_problem p = c->problem;
  int64_t length = c->shape[p.dim], index = p.flags & ROWSCAN_REVERSE ? length - end : begin;
  char *const *at = gpu ? c->device : c->host;
  memcpy(shape, c->shape, sizeof c->shape);
  shape[p.dim] = end - begin;
  p.shape = shape;
  int64_t step[ARRAYS];
  for (int a = 0; a < ARRAYS; a++)
    step[a] = c->strides[a][p.dim] * (int64_t)rowscan_type_bytes(c->type[a]);
  p.input = (rowscan_input){.data = at[IN] + index * step[IN], .type = c->type[IN], .strides = c->strides[IN]};
  p.output = (rowscan_output){.data = at[OUT] + index * step[OUT], .type = c->type[OUT], .strides = c->strides[OUT]};
  if (p.mask_mode)
    p.mask = (rowscan_input){.data = at[MASK] + index * step[MASK], .type = c->type[MASK], .strides = c->strides[MASK]};
  if (is_weighted(c->problem.op)) {
    p.more[0] =
        (rowscan_input){.data = at[MASK] + index * step[MASK], .type = c->type[MASK], .strides = c->strides[MASK]};
    p.more[1] = (rowscan_input){
        .data = at[WEIGHTS] + index * step[WEIGHTS], .type = c->type[WEIGHTS], .strides = c->strides[WEIGHTS]};
    p.second = (rowscan_output){
        .data = at[SECOND] + index * step[SECOND], .type = c->type[SECOND], .strides = c->strides[SECOND]};
  }
  if (c->host[INIT])
    p.init = (rowscan_input){.data = at[INIT], .type = c->type[INIT], .strides = c->strides[INIT]};
  if (end == length)
    p.totals = (rowscan_output){.data = at[TOTALS], .type = c->type[TOTALS], .strides = c->strides[TOTALS]};
  return p;
}

typedef struct record {
  char *bytes;
  size_t size;
} record;

static record record_of(const cutting *c, rowscan_context *context, bool gpu, int64_t begin, int64_t end) {
  int64_t shape[RANK], length = c->shape[c->problem.dim];
  rowscan_problem p = part_of(c, gpu, begin, end, shape);
  record r = {NULL, 0};
  suite_ok(rowscan_record_bytes(&p, begin, end, &r.size), c->name);
  r.bytes = take(r.size);
  suite_ok(rowscan_part_record(context, &p, ROWSCAN_PART(.begin = begin, .length = length), r.bytes, r.size, NULL),
           c->name);
  return r;
}

/* NaNs are one: which of two survives depends on the processor. */
static void compare(const cutting *c, const char *what, const char *is, const char *should, size_t bytes,
                    rowscan_type type) {
  size_t size = type ? rowscan_type_bytes(type) : 1, at = 0;
  while (at < bytes && (!memcmp(is + at, should + at, size) ||
                        (type && data_is_nan(type, is + at) && data_is_nan(type, should + at))))
    at += size;
  if (at >= bytes)
    suite_pass();
  else
    suite_fail("%s: %s: byte %zu of %zu differs", c->name, what, at, bytes);
}

/* A part's record has the bytes of the host's, and the part is scanned from the host's record of all before it. */
static void check_part(const cutting *c, rowscan_context *gpu, int i) {
  int64_t shape[RANK], begin = c->cut[i], end = c->cut[i + 1], length = c->shape[c->problem.dim];
  record own = record_of(c, gpu, true, begin, end), host = record_of(c, suite.host, false, begin, end),
         before = record_of(c, suite.host, false, 0, begin);
  compare(c, "a record", own.bytes, host.bytes, own.size, ROWSCAN_TYPE_DEFAULT);
  rowscan_problem p = part_of(c, true, begin, end, shape);
  const rowscan_part *part =
      ROWSCAN_PART(.begin = begin, .length = length, .before = begin ? before.bytes : NULL, .before_bytes = before.size,
                   .own = i % 2 ? own.bytes : NULL, .own_bytes = own.size);
  suite_ok(rowscan_part_scan(gpu, &p, part, NULL), c->name);
  free(own.bytes);
  free(host.bytes);
  free(before.bytes);
}

static void check_outputs(const cutting *c, const char *how) {
  for (int a = OUT; a < ARRAYS; a++) {
    char *now = take(bytes_of(c, a)), what[60];
    snprintf(what, sizeof what, "%s %s", a == OUT ? "results" : a == SECOND ? "second results" : "totals", how);
    device_download(now, c->device[a], bytes_of(c, a), NULL);
    device_wait(NULL);
    compare(c, what, now, c->host[a], bytes_of(c, a), c->type[a]);
    memset(now, 0x5a, bytes_of(c, a));
    device_upload(c->device[a], now, bytes_of(c, a), NULL);
    device_wait(NULL);
    free(now);
  }
}

/* The parts as chunks, one after another. */
static void check_carry(const cutting *c, rowscan_context *gpu) {
  rowscan_carry *carry;
  if ((is_index(c->problem.op) && c->problem.flags & ROWSCAN_REVERSE) ||
      !suite_ok(rowscan_carry_create(&carry, gpu), c->name))
    return;
  for (int i = 0; i < c->parts; i++) {
    int64_t shape[RANK];
    rowscan_problem p = part_of(c, true, c->cut[i], c->cut[i + 1], shape);
    suite_ok(rowscan_carry_scan(carry, &p, NULL), c->name);
  }
  rowscan_carry_destroy(carry);
  check_outputs(c, "of a carry");
}

/* ---- universal kernels ------------------------------------------------------------------------------------------- */

/* A run by kernels of the spec, or by universal ones. */
static bool run_by(bool universal, const rowscan_spec *spec, const rs_rows *rows) {
  rs_gpu *gpu = &suite.gpu->gpu;
  rs_program program;
  if (universal)
    return universal_launch(spec, rows, NULL);
  rs_program_open(&program, gpu, spec, gpu->device.arch, true);
  bool same = suite_ok(rs_launch(&program, rows, NULL, 0, NULL), "kernels of a part");
  device_wait(NULL);
  rs_program_close(&program);
  return same;
}

/* Elements `begin` to `end` of a cutting as rows of any length, with states in the place of totals and initial values.
 */
static bool rows_of(const cutting *c, int64_t begin, int64_t end, void *states, rowscan_spec *spec, rs_rows *rows) {
  int64_t shape[RANK];
  rowscan_problem p = part_of(c, true, begin, end, shape);
  p.flags &= ~(unsigned)ROWSCAN_INCLUDE_INITIAL;
  p.init.data = NULL;
  p.totals = (rowscan_output){.data = c->device[TOTALS], .type = c->type[TOTALS], .strides = c->strides[TOTALS]};
  if (!suite_ok(rs_rows_from_problem(rows, spec, &p), c->name))
    return false;
  spec->length = RS_ANY_LENGTH;
  spec->flags |= rs_kernel_states_flag(spec);
  rows->length = end - begin;
  rows->array[RS_TOTALS].data = states;
  rows->array[RS_TOTALS].bytes = rs_kernel_state_bytes(spec);
  return true;
}

static bool total_by(bool universal, const cutting *c, int64_t end, void *states) {
  rowscan_spec spec;
  rs_rows rows;
  if (!rows_of(c, 0, end, states, &spec, &rows))
    return false;
  spec.flags = (spec.flags & ~(unsigned)ROWSCAN_EXCLUSIVE) | ROWSCAN_PART_TOTALS;
  spec.layout = ROWSCAN_LAYOUT_ROWS;
  rows.array[RS_OUT].data = NULL;
  return run_by(universal, &spec, &rows);
}

static bool scan_by(bool universal, const cutting *c, int64_t begin, void *states) {
  rowscan_spec spec;
  rs_rows rows;
  if (!rows_of(c, begin, c->shape[c->problem.dim], states, &spec, &rows))
    return false;
  rows.array[RS_INIT] = rows.array[RS_TOTALS];
  rows.array[RS_TOTALS].data = NULL;
  return run_by(universal, &spec, &rows);
}

/* Without what no state has a meaning for: a struct's last bytes. */
static void compare_states(const cutting *c, const char *is, const char *should, const rowscan_spec *spec) {
  const rs_kept_states states = rs_tune_states(spec);
  int64_t marks = states.word_at + 4 - states.key_at;
  for (int64_t i = 0; i < c->count[TOTALS]; i++, is += states.bytes, should += states.bytes) {
    compare(c, "a state of universal kernels", is, should, (size_t)states.total,
            is_index(spec->op) ? ROWSCAN_TYPE_DEFAULT : c->type[TOTALS]);
    if (rs_spec_segments(spec))
      compare(c, "a mark of universal kernels", is + states.key_at, should + states.key_at, (size_t)marks,
              ROWSCAN_TYPE_DEFAULT);
  }
}

/* The totals of the first 2^k elements, and what comes after them, are as kernels of the spec have them. */
static void check_by_universal(const cutting *c) {
  rowscan_spec spec;
  rs_rows rows;
  int64_t length = c->shape[c->problem.dim], begin = 1;
  while (2 * begin < length)
    begin *= 2;
  if (length < 2 || is_weighted(c->problem.op) || !rows_of(c, 0, begin, NULL, &spec, &rows))
    return;
  size_t bytes = (size_t)(c->count[TOTALS] * rs_kernel_state_bytes(&spec)), out = bytes_of(c, OUT);
  char *found[2], *scanned[2], *states = device_alloc(bytes + 1);
  bool ran = true;
  for (int u = 0; u < 2; u++) {
    found[u] = take(bytes);
    scanned[u] = take(out);
    device_upload(states, found[u], bytes, NULL);
    ran = ran && total_by(u, c, begin, states);
    device_download(found[u], states, bytes, NULL);
    device_upload(c->device[OUT], scanned[u], out, NULL);
    ran = ran && scan_by(u, c, begin, states);
    device_download(scanned[u], c->device[OUT], out, NULL);
    device_wait(NULL);
  }
  if (ran) {
    compare_states(c, found[1], found[0], &spec);
    compare(c, "results of universal kernels", scanned[1], scanned[0], out, c->type[OUT]);
  }
  for (int u = 0; u < 2; u++) {
    free(found[u]);
    free(scanned[u]);
  }
  device_free(states);
}

static void check_cutting(const cutting *c, rowscan_context *gpu) {
  int64_t shape[RANK];
  rowscan_problem whole = part_of(c, false, 0, c->shape[c->problem.dim], shape);
  suite_ok(rowscan_scan(suite.host, &whole, NULL), c->name);
  for (int i = 0; i < c->parts; i++)
    check_part(c, gpu, i);
  check_outputs(c, "of parts");
  check_carry(c, gpu);
  check_by_universal(c);
}

static bool takes(int number) {
  static const char file[] = "group_parts";
  return lot_takes(file, (uint64_t)number) ||
         (lot_takes_touched(file, (uint64_t)number) && lot_touches(file, sizeof file - 1));
}

void group_parts(void) {
  rowscan_context *gpu;
  rowscan_compile compile = suite.quick ? ROWSCAN_COMPILE_NEVER : ROWSCAN_COMPILE_BACKGROUND;
  if (!suite_ok(rowscan_open(&gpu, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA, .compile = compile)), "a context"))
    return;
  for (int i = 0; i < FORMS * (suite.quick ? QUICK_CASES : CASES); i++) {
    random_source random = random_for(suite.seed, 40, (uint64_t)i);
    cutting c = {.parts = 0};
    if (!takes(i % FORMS))
      continue;
    open_cutting(&c, &forms[i % FORMS], &random);
    check_cutting(&c, gpu);
    close_cutting(&c);
  }
  rowscan_close(gpu);
}
