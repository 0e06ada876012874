/*
 * universal.c - the spec of the universal kernels that serve a spec, and rows as they are told them
 * SPDX-License-Identifier: MIT
 */
#include "universal.h"

#include <string.h>

#include "candidates.h"
#include "spec/developer.h"
#include "spec/types.h"
#include "tune.h"

/* ---- the spec ---------------------------------------------------------------------------------------------------- */

/* What numbers an operator computes with: f32, f64, or whole ones of 64 bits, of which all integers have the low bits.
 */
static rowscan_type number_of(rowscan_type type) {
  if (rs_type_kind(type) != RS_FLOAT)
    return ROWSCAN_U64;
  return rowscan_type_bytes(type) == 8 ? ROWSCAN_F64 : ROWSCAN_F32;
}

/* Whether it is a recurrence, or one with the coefficient 1, which is a sum. */
static bool is_recurrence(const rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  return op->kind == RS_RECURRENCE || op->kind == RS_ADVANTAGE || op->kind == RS_WEIGHTED ||
         (op->kind == RS_GRADIENT && spec->op != ROWSCAN_LOGSUMEXP_GRADIENT);
}

/* Whether flags, keys or further inputs say that all there is begins anew. */
static bool is_segmented(const rowscan_spec *spec) {
  return rs_spec_segments(spec) != ROWSCAN_MASK_NONE || spec->op == ROWSCAN_GAE ||
         spec->op == ROWSCAN_EXTREMUM_GRADIENT;
}

static bool is_served(const rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  return !op->source && !(spec->flags & ROWSCAN_UNIVERSAL) && spec->regime == ROWSCAN_REGIME_AUTO;
}

/* Keys, bits and indices: the lowest is the highest turned, and `and` is `or` of bits turned. */
static void take_whole(const rowscan_spec *spec, const rs_op *op, rowscan_spec *universal) {
  universal->in_type = universal->out_type = universal->acc_type = ROWSCAN_U64;
  if (op->kind == RS_ORDER)
    universal->op = ROWSCAN_MAX;
  else if (op->kind == RS_BITS)
    universal->op = spec->op == ROWSCAN_XOR ? ROWSCAN_XOR : ROWSCAN_OR;
  if (op->kind != RS_INDEX)
    return;
  universal->op = ROWSCAN_ARGMAX;
  universal->flags |= spec->flags & ROWSCAN_TIES_FIRST;
  universal->out_type = universal->acc_type = ROWSCAN_I64;
  if (is_segmented(spec)) /* elements have 4 bytes at most: check_total of spec/spec.c */
    universal->in_type = ROWSCAN_U32;
}

bool rs_universal_spec(const rowscan_spec *spec, rowscan_spec *universal) {
  const rs_op *op = rs_op_of(spec->op);
  if (!is_served(spec))
    return false;
  rowscan_type number = rs_is_fixed(spec->acc_type) ? ROWSCAN_F64 : number_of(spec->acc_type);
  *universal = (rowscan_spec){.size = sizeof *universal,
                              .op = spec->op,
                              .in_type = number,
                              .out_type = number,
                              .acc_type = rs_is_fixed(spec->acc_type) ? ROWSCAN_FIXED_0 : number,
                              .flags = ROWSCAN_UNIVERSAL | (spec->flags & ROWSCAN_DELAYS),
                              .length = RS_ANY_LENGTH,
                              .layout = ROWSCAN_LAYOUT_ROWS,
                              .row_rank = RS_UNIVERSAL_RANK};
  if (op->kind == RS_ORDER || op->kind == RS_BITS || op->kind == RS_INDEX)
    take_whole(spec, op, universal);
  if (spec->op == ROWSCAN_LOGSUMEXP_GRADIENT)
    universal->op = ROWSCAN_LOGSUMEXP;
  if (is_recurrence(spec)) {
    universal->op = ROWSCAN_LINEAR_RECURRENCE;
    universal->mask_mode = ROWSCAN_MASK_COEFFICIENT;
    universal->mask_type = number;
  }
  if (is_segmented(spec)) {
    universal->segment_mode = ROWSCAN_MASK_HEADS;
    universal->segment_type = ROWSCAN_BOOL;
  }
  return true;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static int add_once(rowscan_spec specs[], int count, const rowscan_spec *spec) {
  for (int i = 0; i < count; i++)
    if (rs_spec_equal(&specs[i], spec))
      return count;
  if (count < RS_MOST_UNIVERSAL)
    specs[count++] = *spec;
  return count;
}

/* Of a spec that may be none. */
static int add_of(rowscan_spec specs[], int count, const rowscan_spec *given) {
  rowscan_spec spec, universal;
  return rs_spec_read(&spec, given) == ROWSCAN_OK && rs_universal_spec(&spec, &universal)
             ? add_once(specs, count, &universal)
             : count;
}

static int add_of_types(rowscan_spec specs[], int count, rowscan_spec spec) {
  static const rowscan_type accumulators[] = {ROWSCAN_TYPE_DEFAULT, ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_FIXED_0};
  for (int in = ROWSCAN_F16; in <= ROWSCAN_BOOL; in++)
    for (size_t i = 0; i < sizeof accumulators / sizeof *accumulators; i++) {
      spec.in_type = (rowscan_type)in;
      spec.acc_type = accumulators[i];
      count = add_of(specs, count, &spec);
    }
  return count;
}

int rs_universal_all(rowscan_spec specs[RS_MOST_UNIVERSAL]) {
  int count = 0;
  for (int op = 0; rs_op_of((rowscan_op)op); op++) {
    rowscan_spec spec = {.size = sizeof spec, .op = (rowscan_op)op, .length = 1}, first = spec, masked = spec;
    first.flags = ROWSCAN_TIES_FIRST;
    count = add_of_types(specs, add_of_types(specs, count, spec), first);
    masked.mask_mode = rs_op_has_coefficient(spec.op) ? ROWSCAN_MASK_COEFFICIENT : ROWSCAN_MASK_SELECT;
    masked.segment_mode = first.segment_mode = ROWSCAN_MASK_HEADS;
    first.mask_mode = masked.mask_mode;
    count = add_of_types(specs, add_of_types(specs, count, masked), first);
  }
  return count;
}

/* ---- terms ------------------------------------------------------------------------------------------------------- */

static rs_element_bits bits_of(rowscan_type type) {
  switch (type) {
  case ROWSCAN_F16:
    return (rs_element_bits){0x7fff, 0x7fff, 0x7c00};
  case ROWSCAN_BF16:
    return (rs_element_bits){0x7fff, 0x7fff, 0x7f80};
  case ROWSCAN_F32:
    return (rs_element_bits){0x7fffffff, 0x7fffffff, 0x7f800000};
  case ROWSCAN_F64:
    return (rs_element_bits){INT64_MAX, INT64_MAX, UINT64_C(0x7ff) << 52};
  default:
    return (rs_element_bits){UINT64_MAX, 0, 0};
  }
}

static bool wants_lowest(const rowscan_spec *spec) {
  return spec->op == ROWSCAN_MIN || spec->op == ROWSCAN_ARGMIN;
}

/* Of extrema and indices: what elements are compared as. */
static int compared_as(rowscan_type type) {
  switch (rs_type_kind(type)) {
  case RS_FLOAT:
    return (int)number_of(type);
  case RS_SIGNED:
    return RS_IS_I64;
  default:
    return RS_IS_U64;
  }
}

/* The key of the lowest value of a type, or, turned, of the highest one. */
static uint64_t least_key(rowscan_type type, bool turned) {
  int bits = 8 * (int)rowscan_type_bytes(type);
  switch (rs_type_kind(type)) {
  case RS_FLOAT: /* keys of infinities: Keys of kernels/ops.cuh */
    if (number_of(type) == ROWSCAN_F64)
      return UINT64_C(0x000fffffffffffff);
    return turned ? ~UINT64_C(0xff800000) : UINT64_C(0x007fffff);
  case RS_SIGNED:
    return (UINT64_C(1) << 63) - (UINT64_C(1) << (bits - 1));
  case RS_BOOL:
    return turned ? ~UINT64_C(1) : 0;
  default:
    return turned ? ~(UINT64_MAX >> (64 - bits)) : 0;
  }
}

static void tell_types(rs_terms *terms, const rs_rows *rows, const rowscan_spec *spec) {
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    terms->type[a] = (int)rs_array_type(spec, (rs_which)a);
    terms->bytes[a] = (int)rows->array[a].bytes;
  }
  if (spec->mask_mode == ROWSCAN_MASK_COEFFICIENT)
    terms->type[RS_MORE_IN] = (int)spec->mask_type;
  if (rs_spec_has_segments(spec))
    terms->type[RS_SEGMENTS] = (int)spec->mask_type;
  terms->in = bits_of(spec->in_type);
  terms->mask = bits_of(spec->mask_type);
  terms->segments = bits_of((rowscan_type)terms->type[RS_SEGMENTS]);
}

/* How segments begin, as kernels/further.cuh numbers it. */
static int how_told(const rowscan_spec *spec) {
  enum { MARKED_ITSELF = 1, MARKED_BEFORE, KEY_CHANGES };
  return rs_spec_segments(spec) == ROWSCAN_MASK_KEYS ? KEY_CHANGES
         : rs_spec_marks_last(spec)                  ? MARKED_BEFORE
                                                     : MARKED_ITSELF;
}

/* How initial values and totals are kept, where rows are parts of longer ones. */
static void tell_states(rs_terms *terms, const rowscan_spec *spec) {
  const rs_kept_states states = rs_tune_states(spec);
  bool numbers = rs_op_is_of_numbers(rs_op_of(spec->op)), index = rs_op_of(spec->op)->kind == RS_INDEX;
  terms->states = 1;
  terms->state_bytes = (int)(numbers ? states.total : index ? states.index_at : states.total / 2);
  terms->key_at = (int)states.key_at;
  terms->word_at = (int)states.word_at;
  if (rs_type_kind(spec->mask_type) == RS_SIGNED)
    terms->spare = 64 - 8 * rs_spec_mask_bytes(spec);
  terms->last = -2; /* as Indexed of kernels/ops.cuh shows one */
}

/* What further inputs are, and what outputs show. */
static void tell_roles(rs_terms *terms, const rowscan_spec *spec) {
  static const struct {
    int role[RS_MOST_MORE], shows[2];
  } of[] = {
      [ROWSCAN_LINEAR_RECURRENCE] = {{RS_IS_FACTOR}, {0}},
      [ROWSCAN_WEIGHTED_RECURRENCE] = {{RS_IS_FACTOR, RS_IS_WEIGHT}, {RS_SHOWS_WEIGHED}},
      [ROWSCAN_SUM_GRADIENT] = {{RS_IS_CHOICE}, {RS_SHOWS_CHOSEN}},
      [ROWSCAN_GAE] = {{RS_IS_VALUE, RS_IS_NEXT_VALUE, RS_IS_TERMINATED, RS_IS_DONE}, {0, RS_SHOWS_RETURNS}},
      [ROWSCAN_LOGSUMEXP_GRADIENT] = {{RS_IS_ELEMENT, RS_IS_RESULT}, {RS_SHOWS_GRADIENT}},
      [ROWSCAN_EXTREMUM_GRADIENT] = {{RS_IS_ELEMENT, RS_IS_RESULT}, {RS_SHOWS_CHOSEN}},
  };
  if ((size_t)spec->op < sizeof of / sizeof *of) {
    memcpy(terms->role, of[spec->op].role, sizeof terms->role);
    memcpy(terms->shows, of[spec->op].shows, sizeof terms->shows);
  }
}

/* The coefficient of all elements, as kernels of that operator have it. */
static void tell_factor(rs_terms *terms, const double params[RS_MOST_PARAMS], const rowscan_spec *spec) {
  bool wide = spec->acc_type == ROWSCAN_F64;
  terms->factor = spec->op == ROWSCAN_DECAYED_SUM ? params[0]
                  : spec->op != ROWSCAN_GAE       ? 1
                  : wide                          ? params[0] * params[1]
                                                  : (double)((float)params[0] * (float)params[1]);
  terms->gamma = params[0];
}

static void tell(rs_terms *terms, const rs_rows *rows, const rowscan_spec *spec) {
  const rs_op *op = rs_op_of(spec->op);
  rowscan_type compared = op->kind == RS_INDEX ? spec->in_type : spec->acc_type;
  *terms = (rs_terms){.selects = spec->mask_mode == ROWSCAN_MASK_SELECT,
                      .multiplies = spec->mask_mode == ROWSCAN_MASK_MULTIPLY,
                      .told = rs_spec_segments(spec) ? how_told(spec) : 0,
                      .omits = (spec->flags & ROWSCAN_OMIT_NAN) != 0,
                      .reverse = (spec->flags & ROWSCAN_REVERSE) != 0,
                      .last = (int)(rows->length - 1),
                      .exclusive = (spec->flags & ROWSCAN_EXCLUSIVE) != 0,
                      .turn = wants_lowest(spec) || spec->op == ROWSCAN_AND ? UINT64_MAX : 0};
  tell_types(terms, rows, spec);
  tell_roles(terms, spec);
  tell_factor(terms, rows->params, spec);
  if (op->kind == RS_ORDER || op->kind == RS_INDEX) {
    terms->numbers = compared_as(compared);
    terms->least = least_key(compared, wants_lowest(spec));
  }
  if (spec->flags & ROWSCAN_PART_STATES)
    tell_states(terms, spec);
  if (rs_is_fixed(spec->acc_type)) {
    terms->scale = (double)(UINT64_C(1) << rs_point_of(spec->acc_type));
    terms->unit = 1 / terms->scale;
  }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void move_array(rs_rows *rows, rs_which from, rs_which to) {
  rows->array[to] = rows->array[from];
  memset(&rows->array[from], 0, sizeof rows->array[from]);
}

/* In the order of the scan: from the last element on. */
static void turn(rs_operand *array, int64_t length) {
  if (length && array->data)
    array->data = (char *)array->data + (length - 1) * array->step * array->bytes;
  array->step = -array->step;
}

/* Dimensions of size 1 before those that there are. */
static void widen(rs_rows *rows) {
  int more = RS_UNIVERSAL_RANK - rows->rank;
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    int64_t *stride = rows->array[a].stride;
    memmove(stride + more, stride, (size_t)rows->rank * sizeof *stride);
    memset(stride, 0, (size_t)more * sizeof *stride);
  }
  memmove(rows->shape + more, rows->shape, (size_t)rows->rank * sizeof *rows->shape);
  for (int d = 0; d < more; d++)
    rows->shape[d] = 1;
  rows->rank = RS_UNIVERSAL_RANK;
}

/* The smallest dimension that may go, for the last one has columns. */
static int smallest_of(const rs_rows *rows) {
  int smallest = 0;
  for (int d = 1; d < rows->rank - 1; d++)
    if (rows->shape[d] < rows->shape[smallest])
      smallest = d;
  return smallest;
}

static void remove_dimension(rs_rows *rows, int d) {
  size_t after = (size_t)(rows->rank - 1 - d) * sizeof *rows->shape;
  for (int a = 0; a < RS_ALL_ARRAYS; a++)
    memmove(rows->array[a].stride + d, rows->array[a].stride + d + 1, after);
  memmove(rows->shape + d, rows->shape + d + 1, after);
  rows->rank--;
}

/* Leaves the dimensions that a launch may have, at part number `part` of the others. Returns how many parts there are.
 */
static int64_t cut_dimensions(rs_rows *rows, int64_t part) {
  int64_t parts = 1;
  while (rows->rank > RS_UNIVERSAL_RANK) {
    int d = smallest_of(rows);
    int64_t size = rows->shape[d];
    rs_rows_move(rows, d, size ? part % size : 0);
    part /= size ? size : 1;
    parts *= size;
    rows->count /= size ? size : 1;
    remove_dimension(rows, d);
  }
  return parts;
}

int64_t rs_universal_rows(rs_rows *to, rs_terms *terms, const rs_rows *rows, const rowscan_spec *spec, int64_t part) {
  *to = *rows;
  to->length = rs_length(spec, rows);
  if (!rows->further) {
    memset(to->array + RS_ARRAYS, 0, RS_FURTHER * sizeof *to->array);
    memset(to->params, 0, sizeof to->params);
  }
  to->further = true;
  int64_t parts = cut_dimensions(to, part);
  if (spec->mask_mode == ROWSCAN_MASK_COEFFICIENT)
    move_array(to, RS_MASK, RS_MORE_IN);
  if (rs_spec_has_segments(spec))
    move_array(to, RS_MASK, RS_SEGMENTS);
  for (int a = 0; a < RS_ALL_ARRAYS && spec->flags & ROWSCAN_REVERSE; a++)
    if (a != RS_INIT && a != RS_TOTALS)
      turn(&to->array[a], to->length);
  widen(to);
  tell(terms, to, spec);
  to->terms = terms;
  return parts;
}

/* ---- shapes and choice ------------------------------------------------------------------------------------------- */

/*
 * A warp has a row, or eight columns, of which each lane of four has steps of its own; rows that are few or long are
 * cut over blocks. A thread has one vector of each array. What may have further inputs and a second output takes more
 * registers.
 */
void rs_tune_universal(const rowscan_spec *spec, rs_shape kernels[]) {
  enum {
    VECTOR = 4,
    COLUMN_LANES = 4,
    THREADS = 128,
    CUT_WARPS = 8,
    ROW_TILES = 2048,
    COLUMN_TILES = 255,
    CUT_TILES = 1 << 30
  };
  bool wide = spec->acc_type == ROWSCAN_F64, large = rs_spec_register_bytes(spec) > 8;
  bool recurs = spec->mask_mode == ROWSCAN_MASK_COEFFICIENT,
       more = (recurs || spec->op == ROWSCAN_LOGSUMEXP) && rs_type_kind(spec->acc_type) == RS_FLOAT;
  rs_shape s = {.made_of = RS_TEMPLATE_ROWS, .vector = VECTOR, .chunks = 1, .warps = 1, .lanes = 32};
  s.threads = THREADS;
  s.min_blocks = more && wide ? 3 : large || more ? 4 : 6;
  s.tiles = ROW_TILES;
  kernels[RS_KERNEL_ANY] = s;
  s.lanes = COLUMN_LANES;
  s.tiles = COLUMN_TILES;
  kernels[RS_KERNEL_WALK] = s;
  s.made_of = RS_TEMPLATE_PIECES;
  s.lanes = 32;
  s.warps = recurs && wide ? CUT_WARPS / 2 : CUT_WARPS; /* so that all arrays have room in shared memory */
  s.threads = 32 * s.warps;
  s.min_blocks = more && wide ? 1 : large || more ? 2 : 3;
  s.tiles = CUT_TILES;
  kernels[RS_KERNEL_LONG_ANY] = s;
}

static const rs_operand *main_of(const rs_rows *rows) {
  return rows->array[RS_OUT].data ? &rows->array[RS_OUT] : &rows->array[RS_IN];
}

/* Rows are neighbours, and their elements are not. */
static bool side_by_side(const rs_rows *rows) {
  const rs_operand *main = main_of(rows);
  return main->step != 1 && main->step != -1 && rs_neighbours(main, rows) && rows->shape[rows->rank - 1] > 1;
}

/* So many rows, or columns, keep a multiprocessor busy; fewer are cut over blocks if they are not short. Rows that have
 * totals alone are not cut: no fold starts there, and theirs would. */
rs_kernel rs_universal_choose(const rs_geometry *geometry, const rs_rows *rows, int multiprocessors) {
  enum { LEAST = 4096, MOST = 1 << 15, ROWS = 4, COLUMNS = 32 };
  bool columns = side_by_side(rows) && rows->length <= rs_most(&geometry->shape[RS_KERNEL_WALK]);
  int64_t enough = (int64_t)(columns ? COLUMNS : ROWS) * multiprocessors;
  bool cut = rows->length >= MOST || (rows->length >= LEAST && rows->count < enough);
  if (cut && rows->array[RS_OUT].data)
    return RS_KERNEL_LONG_ANY;
  return columns ? RS_KERNEL_WALK : RS_KERNEL_ANY;
}
