/*
 * describe.c - what a run scans: types, operators and arrays as the loops know them
 * SPDX-License-Identifier: MIT
 */
#include "describe.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "ops.h"
#include "work.h"

/* What each run asks of a type, without a call. */
static const struct {
  unsigned char bytes, log2;
  bool floating;
} facts[RS_TYPE_COUNT] = {
#define X(enumerator, name, bytes, kind)                                                                               \
  [enumerator] = {bytes, (bytes) == 8 ? 3 : (bytes) == 4 ? 2 : (bytes) == 2 ? 1 : 0, (kind) == RS_FLOAT},
    RS_TYPES(X)
#undef X
};

static rs_wide wide_of(rowscan_type acc) {
  if (facts[acc].floating)
    return acc == ROWSCAN_F64 ? RS_WIDE_f64 : RS_WIDE_f32;
  return facts[acc].bytes == 8 ? RS_WIDE_u64 : RS_WIDE_u32;
}

static int64_t wide_bytes(rs_wide wide) {
  return wide == RS_WIDE_f64 || wide == RS_WIDE_u64 ? 8 : 4;
}

static uint64_t constant(rs_wide wide, double value) {
  uint64_t bits = 0;
  switch (wide) {
#define X(name, c)                                                                                                     \
  case RS_WIDE_##name:                                                                                                 \
    memcpy(&bits, &(c){(c)value}, sizeof(c));                                                                          \
    break;
    RS_WIDES(X)
#undef X
  default:
    break;
  }
  return bits;
}

static void drop_dimension(rs_rows *r, int d) {
  r->rank--;
  for (; d < r->rank; d++) {
    r->shape[d] = r->shape[d + 1];
    for (int a = 0; a < rs_arrays(r); a++)
      r->array[a].stride[d] = r->array[a].stride[d + 1];
  }
}

/* Whether dimension d only continues the next one. */
static bool continues(const rs_rows *r, int d) {
  int64_t n = r->shape[d + 1];
  bool all = true;
  for (int a = 0; a < rs_arrays(r); a++)
    all = all && r->array[a].stride[d] == n * r->array[a].stride[d + 1];
  return all;
}

/* The arrays of a rs_rows are large, and few of their elements are set. */
static void copy_rows(rs_rows *to, const rs_rows *from, bool mask) {
  to->rank = from->rank;
  to->count = from->count;
  to->initial = from->initial;
  to->further = from->further;
  int all = rs_arrays(from);
  for (int a = 0; a < all; a++)
    memcpy(&to->array[a], &from->array[a], offsetof(rs_operand, stride));
  if (from->further)
    memcpy(to->params, from->params, sizeof to->params);
  for (int d = 0; d < from->rank; d++) {
    to->shape[d] = from->shape[d];
    for (int a = 0; a < all; a++)
      to->array[a].stride[d] = a != RS_MASK || mask ? from->array[a].stride[d] : 0;
  }
}

static void join_dimensions(rs_rows *r) {
  for (int d = r->rank - 1; d >= 0 && r->rank > 1; d--) {
    if (r->shape[d] == 1) {
      drop_dimension(r, d);
    } else if (d + 1 < r->rank && continues(r, d)) {
      r->shape[d + 1] *= r->shape[d];
      drop_dimension(r, d);
    }
  }
}

static void set_array(rs_run *s, rs_which p, const rs_operand *from, rowscan_type type) {
  rs_view *a = &s->part[p];
  int64_t bytes = facts[type].bytes, last = s->spec->length - 1;
  rs_wide wide = p == RS_OUT ? s->wide : p == RS_SECOND ? s->second_wide : s->in_wide;
  bool floating = wide == RS_WIDE_f32 || wide == RS_WIDE_f64;
  bool reverse = from->data && s->spec->flags & ROWSCAN_REVERSE && last > 0;
  *a = (rs_view){.type = type,
                 .bytes = bytes,
                 .step = reverse ? -from->step : from->step,
                 .log2 = facts[type].log2, /* accumulators as they are: */
                 .wide = facts[type].floating == floating && bytes == s->size,
                 .first = reverse ? last * from->step * bytes : 0};
  if (bytes > s->widest)
    s->widest = bytes;
}

/* The lowest value of a type as a number, -inf if there is one; else the highest. */
static uint64_t extreme(rs_wide wide, rowscan_type type, bool lowest) {
  int unused = 64 - 8 * facts[type].bytes;
  if (facts[type].floating)
    return constant(wide, lowest ? -(double)INFINITY : (double)INFINITY);
  if (rs_type_kind(type) == RS_SIGNED)
    return (uint64_t)((lowest ? INT64_MIN : INT64_MAX) >> unused);
  return lowest ? 0 : type == ROWSCAN_BOOL ? 1 : UINT64_MAX >> unused;
}

/* What makes keys of numbers of a type, which are held in a wide one; NULL: they are keys. */
static rs_map *key_of(const rs_isa *isa, rowscan_op op, rs_wide wide, rowscan_type type) {
  if (facts[type].floating)
    return isa->key[op][wide];
  return rs_type_kind(type) == RS_SIGNED ? isa->flip[wide] : NULL;
}

/* Of fixed point, keys are whole numbers, which integers' loops scan. */
static void describe_fixed(rs_run *s, const rs_isa *isa, const rowscan_spec *spec) {
  s->loops = &isa->loops[spec->op][RS_WIDE_u64];
  s->totals = isa->totals(spec, RS_WIDE_u64);
  s->key = isa->fix;
  s->key_by = ldexp(1, rs_point_of(spec->acc_type));
  s->value = isa->unfix[spec->out_type != ROWSCAN_F64];
  s->value_by = 1 / s->key_by;
  s->keeps_keys = true;
  memset(s->neutral, 0, sizeof s->neutral);
}

/* Of an operator of the caller's. Totals are aligned to 8 bytes, and so is what follows them in segments. */
static void describe_created(rs_run *s, const rs_op *op) {
  const rowscan_op_functions *given = rs_op_functions(op, s->spec->acc_type);
  s->created = (rs_totals){.bytes = (op->numbers * s->size + 7) / 8 * 8,
                           .load = given->load,
                           .begin = given->begin,
                           .neutral = given->neutral,
                           .identity = given->identity,
                           .combine = given->combine,
                           .store = given->store,
                           .second = rs_op_second(op, s->spec->acc_type)};
  s->totals = &s->created;
}

/* Whether a scan with further inputs goes by blocks: of a gradient of sums if no segments lie beside a mask, else of a
 * recurrence or a gradient that has nothing else beside it. */
static bool goes_by_blocks(const rowscan_spec *spec) {
  rs_op_kind kind = rs_op_of(spec->op)->kind;
  if (spec->op == ROWSCAN_SUM_GRADIENT)
    return !spec->segment_mode;
  return (kind == RS_WEIGHTED || kind == RS_GRADIENT) && !spec->mask_mode && !spec->segment_mode;
}

/* With further arrays: else one element after another, of operators whose totals are by themselves, or those in
 * segments. */
static void describe_further(rs_run *s, const rs_isa *isa, const rowscan_spec *spec) {
  bool index = rs_op_of(spec->op)->kind == RS_INDEX;
  s->element = NULL;
  if (s->weighted)
    return;
  s->created = *s->totals;
  s->created.load_block = NULL;
  s->created.scan_block = NULL;
  s->created.push_line = NULL;
  s->totals = &s->created;
  if (!index)
    return;
  s->element = facts[spec->in_type].floating ? isa->value[s->in_wide] : s->key;
  s->no_element = extreme(s->in_wide, spec->in_type, spec->op == ROWSCAN_ARGMAX);
  if (s->key)
    s->key(&s->no_element, &s->no_element, s->key_by, (rs_grid){.lines = 1, .n = 1});
}

/* What the elements are computed in. */
static void describe_widths(rs_run *s, const rs_op *op, const rowscan_spec *spec, rowscan_type acc) {
  bool floating = facts[acc].floating;
  s->in_wide = s->wide = wide_of(acc);
  if (s->segments && rs_op_is_of_numbers(op) && (op->kind == RS_ORDER || !floating)) /* 8 bytes, too */
    s->in_wide = s->wide = floating ? RS_WIDE_f64 : RS_WIDE_u64;
  if (op->kind == RS_INDEX) { /* of 8 bytes are indices, and their keys */
    s->in_wide = facts[spec->in_type].floating ? RS_WIDE_f64 : RS_WIDE_u64;
    s->wide = RS_WIDE_u64;
  }
  s->size = s->state = wide_bytes(s->wide);
  s->one = constant(s->wide, 1);
  s->acc_bytes = s->init_bytes = s->end_bytes = facts[acc].bytes;
  s->states = RS_STATES_NONE;
}

/* Operators whose totals are several numbers, or an index. */
static void describe_several(rs_run *s, const rs_isa *isa, const rs_op *op, const rowscan_spec *spec) {
  if (op->kind == RS_INDEX)
    s->key = key_of(isa, spec->op == ROWSCAN_ARGMAX ? ROWSCAN_MAX : ROWSCAN_MIN, s->in_wide, spec->in_type);
  s->totals->identity(s->masked);
  s->totals->store(&s->identity, s->masked);
}

static void describe_order(rs_run *s, const rs_isa *isa, const rowscan_spec *spec, rowscan_type acc) {
  static const struct {
    uint64_t neutral;
    bool lowest;
  } order[RS_OP_COUNT] = {
#define X(enumerator, name, kernel) [enumerator] = {rs_neutral_##name, rs_lowest_##name},
      RS_ORDER_OPS(X)
#undef X
  };
  s->loops = &isa->loops[spec->op][s->size == 8 ? RS_WIDE_u64 : RS_WIDE_u32];
  s->key = key_of(isa, spec->op, s->wide, acc);
  s->value = facts[acc].floating ? isa->value[s->wide] : s->key;
  memcpy(s->neutral, &order[spec->op].neutral, sizeof order->neutral);
  s->identity = extreme(s->wide, acc, order[spec->op].lowest);
}

static void describe_bits(rs_run *s, const rs_isa *isa, const rowscan_spec *spec, rowscan_type acc) {
  static const struct {
    uint64_t neutral, identity;
  } bits[RS_OP_COUNT] = {
#define X(enumerator, name, kernel) [enumerator] = {rs_neutral_##name, rs_identity_##name},
      RS_BIT_OPS(X)
#undef X
  };
  s->loops = &isa->loops[spec->op][s->wide];
  memcpy(s->neutral, &bits[spec->op].neutral, sizeof bits->neutral);
  s->identity = bits[spec->op].identity & (acc == ROWSCAN_BOOL ? 1 : UINT64_MAX);
}

static void describe_arithmetic(rs_run *s, const rs_isa *isa, const rowscan_spec *spec) {
  static const struct {
    double neutral, identity;
  } arithmetic[RS_OP_COUNT] = {
#define X(enumerator, name, kernel) [enumerator] = {rs_neutral_##name, rs_identity_##name},
      RS_ARITHMETIC_OPS(X)
#undef X
  };
  rowscan_op op = spec->op == ROWSCAN_PROD ? ROWSCAN_PROD : ROWSCAN_SUM; /* of gradients, too */
  s->loops = &isa->loops[op][s->wide];
  uint64_t neutral = constant(s->wide, arithmetic[op].neutral);
  memcpy(s->neutral, &neutral, sizeof neutral);
  s->identity = constant(s->wide, arithmetic[op].identity);
}

/* Totals that are a struct: functions take the place of loops. */
static void describe_totals(rs_run *s, const rowscan_spec *spec) {
  s->loops = NULL;
  s->state = s->totals->bytes + (s->segments && !s->totals->without ? 8 : 0);
  memset(s->neutral, 0, sizeof s->neutral);
  s->totals->neutral(s->neutral);
  memcpy(s->start, s->neutral, sizeof s->start);
  if (s->totals->start)
    s->totals->start(s->start, spec);
}

void rs_describe_op(rs_run *s, const rs_isa *isa, const rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  bool fixed = rs_is_fixed(spec->acc_type), of_numbers = rs_op_is_of_numbers(op);
  rowscan_type acc = fixed ? ROWSCAN_F64 : spec->acc_type;
  s->isa = isa;
  s->spec = spec;
  s->segments = rs_spec_segments(spec);
  describe_widths(s, op, spec, acc);
  s->key = s->value = NULL;
  s->key_by = s->value_by = 1;
  s->keeps_keys = false;
  s->totals = isa->totals(spec, s->wide);
  if (op->source)
    describe_created(s, op);
  s->omits = spec->flags & ROWSCAN_OMIT_NAN && of_numbers;
  s->selects = spec->mask_mode == ROWSCAN_MASK_SELECT && of_numbers;
  if (!of_numbers)
    describe_several(s, isa, op, spec);
  else if (op->kind == RS_ORDER)
    describe_order(s, isa, spec, acc);
  else if (op->kind == RS_BITS)
    describe_bits(s, isa, spec, acc);
  else
    describe_arithmetic(s, isa, spec);
  if (fixed)
    describe_fixed(s, isa, spec);
  if (s->totals && (spec->op == ROWSCAN_SUM_GRADIENT || spec->op == ROWSCAN_EXTREMUM_GRADIENT)) {
    s->identity = 0; /* of sums in segments it is what adds nothing, -0 */
    s->totals->begin(s->masked, &s->identity);
  }
  s->further = rs_spec_has_further(spec);
  s->second_wide = op->kind == RS_INDEX ? s->in_wide : s->wide;
  s->weighted = goes_by_blocks(spec);
  s->weighs = op->weighs;
  if (s->totals && s->further)
    describe_further(s, isa, spec);
  if (s->totals)
    describe_totals(s, spec);
}

static uint64_t true_bits(rowscan_type type) {
  return facts[type].floating ? (1ull << (8 * facts[type].bytes - 1)) - 1 : ~0ull;
}

/* Flags or keys. */
static void describe_marks(rs_run *s) {
  s->marks = s->spec->segment_mode ? RS_SEGMENTS : RS_MASK;
  rowscan_type type = s->part[s->marks].type;
  s->mark_bits = s->segments == ROWSCAN_MASK_KEYS && type == ROWSCAN_BOOL ? 1 : true_bits(type);
}

/* Which arrays are present. */
static void describe_arrays(rs_run *s, const rs_rows *rows) {
  s->part[RS_INIT].first = s->part[RS_TOTALS].first = s->there = 0;
  for (int a = 0; a < rs_arrays(rows); a++)
    if (rows->array[a].data)
      s->which[s->there++] = (rs_which)a;
}

void rs_describe(rs_run *s, const rs_isa *isa, const rowscan_spec *spec, const rs_rows *rows) {
  rs_describe_op(s, isa, spec);
  copy_rows(&s->rows, rows, spec->mask_mode != ROWSCAN_MASK_NONE);
  join_dimensions(&s->rows);
  int last = s->rows.rank - 1;
  for (int a = 0; a < rs_arrays(rows); a++)
    s->stride[a] = s->rows.array[a].stride[last];
  s->widest = s->size;
  set_array(s, RS_IN, &rows->array[RS_IN], spec->in_type);
  set_array(s, RS_OUT, &rows->array[RS_OUT], spec->out_type);
  s->part[RS_MASK] = (rs_view){0};
  if (spec->mask_mode) {
    set_array(s, RS_MASK, &rows->array[RS_MASK], spec->mask_type);
    s->mask_bits = true_bits(spec->mask_type);
  }
  s->more_bits = spec->more_types[0] ? true_bits(spec->more_types[0]) : 0;
  for (int i = 0; i < RS_MOST_MORE && s->further; i++)
    if (spec->more_types[i])
      set_array(s, (rs_which)(RS_MORE_IN + i), &rows->array[RS_MORE_IN + i], spec->more_types[i]);
  if (spec->second_type)
    set_array(s, RS_SECOND, &rows->array[RS_SECOND], spec->second_type);
  if (spec->segment_mode)
    set_array(s, RS_SEGMENTS, &rows->array[RS_SEGMENTS], spec->segment_type);
  if (s->segments)
    describe_marks(s);
  describe_arrays(s, rows);
  s->small = rs_small_serves(s);
  s->bare = s->small ? rs_bare_bytes(s) : 0;
}

void rs_run_address(rs_run *s, const rs_rows *rows) {
  for (int i = 0; i < s->there; i++) {
    rs_which a = s->which[i];
    s->rows.array[a].data = rows->array[a].data;
    s->part[a].data = (char *)rows->array[a].data + s->part[a].first;
  }
}

void rs_describe_states(rs_run *run, rs_states states, int64_t length) {
  rowscan_spec whole = *run->spec;
  whole.length = length;
  run->states = states;
  run->end_bytes = rs_state_bytes(run);
  run->init_bytes = rs_state_init_bytes(run);
  run->small = false;
  run->bare = 0;
  if (run->totals && run->totals->start)
    run->totals->start(run->start, &whole);
}
