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

/* What numbers an operator computes with: f32, f64, or whole ones, of which all integers have the low bits. */
static rowscan_type number_of(rowscan_type type) {
  bool wide = rowscan_type_bytes(type) == 8;
  if (rs_type_kind(type) != RS_FLOAT)
    return wide ? ROWSCAN_U64 : ROWSCAN_U32;
  return wide ? ROWSCAN_F64 : ROWSCAN_F32;
}

/* Of elements and results as wide as the widest. */
static rowscan_type whole_of(const rowscan_spec *spec) {
  bool wide = rowscan_type_bytes(spec->in_type) == 8 || rowscan_type_bytes(spec->out_type) == 8 ||
              rowscan_type_bytes(spec->acc_type) == 8;
  return wide ? ROWSCAN_U64 : ROWSCAN_U32;
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
  universal->in_type = universal->out_type = universal->acc_type = op->kind == RS_INDEX ? ROWSCAN_U64 : whole_of(spec);
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
  rowscan_type number = rs_is_fixed(spec->acc_type)                ? ROWSCAN_F64
                        : rs_type_kind(spec->acc_type) == RS_FLOAT ? number_of(spec->acc_type)
                                                                   : whole_of(spec);
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
  for (int in = ROWSCAN_F16; in <= ROWSCAN_BOOL; in++) {
    spec.in_type = (rowscan_type)in;
    spec.out_type = ROWSCAN_TYPE_DEFAULT;
    for (size_t i = 0; i < sizeof accumulators / sizeof *accumulators; i++) {
      spec.acc_type = accumulators[i];
      count = add_of(specs, count, &spec);
    }
    spec.out_type = spec.acc_type = spec.in_type;
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

/* The key of the lowest value of a type, or, turned, of the highest one, as a kernel has it whose keys have so many
 * bits. */
static uint64_t least_key(rowscan_type type, bool turned, int key) {
  int bits = 8 * (int)rowscan_type_bytes(type);
  switch (rs_type_kind(type)) {
  case RS_FLOAT: /* keys of infinities: Keys of kernels/ops.cuh */
    if (number_of(type) == ROWSCAN_F64)
      return UINT64_C(0x000fffffffffffff);
    return turned ? ~UINT64_C(0xff800000) : UINT64_C(0x007fffff);
  case RS_SIGNED:
    return (UINT64_C(1) << (key - 1)) - (UINT64_C(1) << (bits - 1));
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

static void add_take(rs_terms *terms, int array, int as) {
  terms->take[terms->takes].array = array;
  terms->take[terms->takes++].as = as;
}

/* Whether kernels take a further input before there are totals; else its results are made with it. */
static bool is_taken(const rs_terms *terms, int k) {
  int role = terms->role[k];
  bool result = terms->shows[0] == RS_SHOWS_GRADIENT && role == RS_IS_ELEMENT;
  return role != RS_IS_NONE && role != RS_IS_WEIGHT && !result;
}

/* Flags come first, and what changes elements after these; of further inputs the last is the first. */
static void tell_takes(rs_terms *terms, const rowscan_spec *spec) {
  rs_op_kind kind = rs_op_of(spec->op)->kind;
  bool multiplies = !is_recurrence(spec) && (kind == RS_ARITHMETIC || kind == RS_EXTENDED);
  if (terms->told)
    add_take(terms, RS_SEGMENTS, RS_TAKES_SEGMENTS);
  if (terms->selects)
    add_take(terms, RS_MASK, RS_TAKES_MASK);
  if (terms->omits && !multiplies) /* those that may be multiplied are looked at after that */
    add_take(terms, RS_IN, RS_TAKES_NAN);
  add_take(terms, RS_IN, RS_TAKES_NUMBERS);
  if (terms->multiplies)
    add_take(terms, RS_MASK, RS_TAKES_MULTIPLIER);
  for (int k = RS_MOST_MORE - 1; k >= 0; k--)
    if (is_taken(terms, k))
      add_take(terms, RS_MORE_IN + k, RS_TAKES_FURTHER + k);
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
  tell_takes(terms, spec);
  if (op->kind == RS_ORDER || op->kind == RS_INDEX) {
    terms->numbers = compared_as(compared);
    terms->least =
        least_key(compared, wants_lowest(spec), op->kind == RS_ORDER && whole_of(spec) == ROWSCAN_U32 ? 32 : 64);
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

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* So many elements of a lane that their totals fit into 80 registers, beside all else. Blocks of a warp: the compiler
 * knows then that all its lanes have the same numbers of rows and tiles, and keeps these in uniform registers. */
void rs_tune_universal(const rowscan_spec *spec, rs_shape kernels[]) {
  enum { THREADS = 32, BLOCKS = 24, SHARED = 48 * 1024 }; /* which a block of any GPU may have */
  int total = rs_spec_register_bytes(spec);
  kernels[RS_KERNEL_ANY] = (rs_shape){.made_of = RS_TEMPLATE_UNIVERSAL,
                                      .threads = THREADS,
                                      .min_blocks = BLOCKS,
                                      .shared_bytes = SHARED,
                                      .warps = 1,
                                      .chunks = 1,
                                      .lanes = 32,
                                      .vector = total <= 4   ? 16
                                                : total <= 8 ? 8
                                                             : 4,
                                      .tiles = INT32_MAX};
}

/* ---- how warps share rows ---------------------------------------------------------------------------------------- */

/* The least k, up to `most`, for which 2^k is no less than n. */
static int log_of(int64_t n, int most) {
  int k = 0;
  while (k < most && (int64_t)1 << k < n)
    k++;
  return k;
}

static const rs_operand *main_of(const rs_rows *rows) {
  return rows->array[RS_OUT].data ? &rows->array[RS_OUT] : &rows->array[RS_IN];
}

/* Rows that are neighbours, and whose elements are not. */
static int64_t side_by_side(const rs_rows *rows) {
  const rs_operand *main = main_of(rows);
  bool beside = main->step != 1 && main->step != -1 && rs_neighbours(main, rows);
  return beside ? rows->shape[rows->rank - 1] : 1;
}

/* So many of them that a tile should have: as many as a unit of memory has, if elements of another array are
 * neighbours.
 */
static int64_t beside_in_tile(const rs_rows *rows, int64_t width) {
  enum { UNIT = 32 };
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    const rs_operand *array = &rows->array[a];
    if (array->data && a != RS_INIT && a != RS_TOTALS && (array->step == 1 || array->step == -1))
      return rs_smaller(width, UNIT / (int64_t)main_of(rows)->bytes);
  }
  return width;
}

/* The bytes that an array has, from its lowest element to its highest one. */
static void tell_bounds(rs_terms *terms, const rs_rows *rows, int a) {
  const rs_operand *array = &rows->array[a];
  int64_t low = 0, high = (int64_t)array->bytes;
  for (int d = -1; d < rows->rank; d++) {
    int64_t last = (d < 0 ? rows->length : rows->shape[d]) - 1,
            way = last * (d < 0 ? array->step : array->stride[d]) * (int64_t)array->bytes;
    *(way < 0 ? &low : &high) += way;
  }
  terms->begin[a] = (uint64_t)(uintptr_t)array->data + (uint64_t)low;
  terms->end[a] = (uint64_t)(uintptr_t)array->data + (uint64_t)high;
}

static bool is_output(int a) {
  return a == RS_OUT || a == RS_SECOND;
}

/* Whether the elements of a tile follow one another in memory: those of one row, or of rows that do. */
static bool is_run(const rs_operand *array, const rs_rows *rows, bool one_row) {
  int64_t next = rows->length;
  if (array->step != 1 && array->step != -1)
    return false;
  for (int d = rows->rank - 1; d >= 0 && !one_row; next *= rows->shape[d--])
    if (rows->shape[d] > 1 && array->stride[d] != next)
      return false;
  return true;
}

static void tell_runs(rs_terms *terms, const rs_rows *rows, const rs_shape *shape) {
  bool one_row = terms->log_lanes == 5, in_tile = rows->length <= (int64_t)shape->vector << terms->log_lanes;
  terms->uses = terms->fetches = terms->stores = 0;
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    const rs_operand *array = &rows->array[a];
    bool elements = array->data && a != RS_INIT && a != RS_TOTALS;
    terms->is_run[a] = elements && (one_row || in_tile) && is_run(array, rows, one_row);
    terms->apart[a] = array->step * (int64_t)array->bytes;
    if (elements)
      terms->use[terms->uses++] = a;
    if (!terms->is_run[a])
      continue;
    if (is_output(a)) {
      terms->store[terms->stores++] = a;
    } else {
      terms->fetch[terms->fetches++] = a;
      tell_bounds(terms, rows, a);
    }
  }
}

/* Warps of a multiprocessor, of which fewer leave it idle, and that pieces are cut for; tiles of a row that is cut, at
 * least, and of totals that a warp joins, at most; multiprocessors, where they are not known. */
enum { ENOUGH = 12, WANTED = 24, LEAST_TILES = 8, JOINS = 16, USUAL = 128 };

static int64_t multiprocessors_of(const rs_shape *shape) {
  return shape->multiprocessors ? shape->multiprocessors : USUAL;
}

/* Pieces of rows of which there are too few. */
static void tell_pieces(rs_terms *terms, const rs_rows *rows, const rs_shape *shape) {
  int64_t tile = (int64_t)shape->vector << terms->log_lanes, tiles = rs_ceiling(rows->length, tile);
  int64_t groups = rs_ceiling(rows->count, 32 >> terms->log_lanes), piece = tiles;
  int64_t multiprocessors = multiprocessors_of(shape);
  if (rows->array[RS_OUT].data && groups < ENOUGH * multiprocessors && tiles >= LEAST_TILES) {
    int64_t pieces = rs_smaller(rs_ceiling(WANTED * multiprocessors, groups), JOINS * tile);
    for (piece = 2; piece * pieces < tiles;)
      piece *= 2;
  }
  terms->piece = piece * tile;
  terms->pieces = (int)rs_larger(rs_ceiling(tiles, rs_larger(piece, 1)), 1);
  terms->levels = log_of(rs_larger(piece, rs_ceiling(terms->pieces, tile)), 62) + 1;
}

/* Whether there could be more pieces, if a row had more lanes: then those before one are joined faster. */
static bool too_few(const rs_terms *terms, const rs_rows *rows, const rs_shape *shape) {
  int64_t multiprocessors = multiprocessors_of(shape);
  return terms->pieces > 1 && terms->units < ENOUGH * multiprocessors &&
         rows->length >= 2 * LEAST_TILES * ((int64_t)shape->vector << terms->log_lanes) &&
         terms->pieces > JOINS / 2 * (shape->vector << terms->log_lanes);
}

/* The rows of a group: those of a tile, or, of rows of one tile, of several, if there are many. No group has rows of
 * two widths. */
static void tell_groups(rs_terms *terms, const rs_rows *rows, const rs_shape *shape, int64_t width) {
  enum { MOST = 128, TILES = 8 };
  int64_t tile = (int64_t)shape->vector << terms->log_lanes, most = 32 >> terms->log_lanes;
  int64_t enough = rows->count / (WANTED * multiprocessors_of(shape));
  for (int tiles = 1; rows->length <= tile && tiles < TILES && 2 * most <= rs_smaller(enough, MOST); tiles *= 2)
    most *= 2;
  bool whole = width > 1 && width <= most;
  terms->rows_of_group = (int)(whole ? most / width * width : most);
  terms->width = 0;
  terms->groups_of_width = 0;
  terms->units = rs_ceiling(rows->count, terms->rows_of_group);
  if (width > most) {
    terms->width = width;
    terms->units = rows->count / width * rs_ceiling(width, most);
    terms->groups_of_width = (int)rs_smaller(rs_ceiling(width, most), INT32_MAX); /* more than a launch has blocks */
  }
  terms->units *= terms->pieces;
}

/* Shared memory of a warp, in words of 16 bytes: as kernels/universal.cuh has it. Around a copy is room for what lanes
 * with fewer elements than they could have read and write beyond them. */
static int tell_room(rs_terms *terms, const rs_rows *rows, const rs_shape *shape, int total) {
  enum { WORD = 16, LINE = 128, PLACES = 32 * 16, BEFORE = LINE + WORD };
  int at = 0;
  terms->digits_at = at;
  at += (int)rs_up(2 * (terms->levels + 1) * (32 >> terms->log_lanes) * total, WORD);
  for (int a = 0; a < RS_ALL_ARRAYS; a++)
    if (rows->array[a].data) {
      terms->begins_at[a] = at;
      at += (int)rs_up(8 * terms->rows_of_group, WORD);
    }
  for (int i = 0; i < terms->uses; i++) {
    int a = terms->use[i], all = 32 * shape->vector * terms->bytes[a] + 2 * WORD;
    terms->places_at[a] = at;
    at += PLACES;
    if (!terms->is_run[a])
      continue;
    int copy = BEFORE + (int)rs_up(all + all / LINE * WORD + WORD, WORD);
    terms->copy_at[a] = at + BEFORE;
    terms->room[a] = is_output(a) ? 0 : copy;
    at += is_output(a) ? copy : 2 * copy;
  }
  return terms->warp_bytes = at;
}

/* Totals that all pieces of a launch have, at most: see tell_pieces(). */
size_t rs_universal_bound(const rs_shape *shape, const rowscan_spec *spec) {
  return (size_t)(ENOUGH + WANTED) * (size_t)multiprocessors_of(shape) * 32 * (size_t)rs_spec_register_bytes(spec);
}

/* So many lanes a row that all of them have elements, but as few as leave rows side by side together. */
rs_universal_cut rs_universal_share(rs_terms *terms, const rs_rows *rows, const rs_shape *shape,
                                    const rowscan_spec *spec) {
  const int total = rs_spec_register_bytes(spec), warps = shape->threads / 32, most = shape->shared_bytes / warps;
  const int64_t width = side_by_side(rows);
  const int by_length = log_of(rs_ceiling(rows->length, shape->vector), 5),
            by_width = 5 - log_of(beside_in_tile(rows, width), 5);
  terms->log_lanes = (int)rs_smaller(by_length, by_width);
  for (;; terms->log_lanes++) {
    tell_pieces(terms, rows, shape);
    tell_groups(terms, rows, shape, width);
    tell_runs(terms, rows, shape);
    if (terms->log_lanes == 5 || (tell_room(terms, rows, shape, total) <= most && !too_few(terms, rows, shape)))
      break;
  }
  tell_room(terms, rows, shape, total);
  return (rs_universal_cut){.blocks = rs_ceiling(terms->units, warps),
                            .shared = (int64_t)warps * terms->warp_bytes,
                            .workspace = terms->pieces > 1 ? (size_t)(rows->count * terms->pieces * total) : 0};
}
