/*
 * spec_fields.h - the fields of a spec, in one list: their texts, values, comparison, hash and options come from it
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SPEC_FIELDS_H
#define RS_SPEC_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "developer.h"
#include "kernels/arrays.h"
#include "rowscan.h"
#include "types.h"

/* Of a row, 2^56: more than memory has, and few enough that its bytes can be counted with room to spare. */
#define RS_MAX_LENGTH (INT64_C(1) << 56)

enum { RS_MAX_ROW_RANK = 63 };

/* When a field stands in texts, or-ed. */
enum {
  RS_ALWAYS = 0,
  RS_IF_SET = 1,      /* only if it is not 0: so a field that is new leaves the keys of older specs as they are */
  RS_NOT_IN_KEYS = 2, /* which have it of each kernel */
  RS_NEEDED = 4,      /* a text must have it */
  RS_UNTOLD = 8       /* for tests, or the library itself: messages do not offer it */
};

/*
 * The values of fields, beside 0, which is a field's default. `usage` stands for a value in the command's help.
 *   WORDS(values, table, usage, expected): the names of a table of types.h.
 *   MODES(values, table, usage): likewise, and "none" in texts, which is 0.
 *   NUMBERS(values, type, least, most, expected): whole numbers. Texts have "any" for RS_ANY_LENGTH, where that is one.
 */
#define RS_SPEC_VALUES(WORDS, MODES, NUMBERS)                                                                          \
  WORDS(op, RS_OPS, RS_BARRED(RS_OPS), RS_LISTED(RS_OPS))                                                              \
  WORDS(type, RS_TYPES, "T", RS_LISTED(RS_TYPES))                                                                      \
  WORDS(acc, RS_ACCUMULATORS, "T|fixed:K", RS_LISTED_AND(RS_TYPES, ", fixed:0 to fixed:62"))                           \
  MODES(mask_mode, RS_MASK_MODES, RS_BARRED(RS_MASK_MODES))                                                            \
  MODES(segments, RS_SEGMENT_MODES, RS_BARRED(RS_SEGMENT_MODES))                                                       \
  WORDS(layout, RS_LAYOUTS, RS_BARRED(RS_LAYOUTS), RS_LISTED(RS_LAYOUTS))                                              \
  WORDS(regime, RS_REGIMES, "R", RS_LISTED(RS_REGIMES))                                                                \
  NUMBERS(length, int64_t, RS_ANY_LENGTH, RS_MAX_LENGTH, "a whole number, 0 to 2^56, or any")                          \
  NUMBERS(row_rank, int, 1, RS_MAX_ROW_RANK, "a whole number, 1 to 63")

/*
 * The fields, in the order of texts: all members of rowscan_spec but its size.
 *   MEMBER(member, name, values, when, given, option, help): `name` is the field's in texts, `given` what a problem
 * says of it, an expression of `problem` and `length`; `option` and `help` are the command's. BITS(member, given):
 * flags, which stand in texts one by one: FLAG(bit, name, when, option, help): 0 or 1; NULL: the command has no option
 * for it.
 */
#define RS_SPEC_FIELDS(MEMBER, BITS, FLAG)                                                                             \
  MEMBER(op, op, op, RS_ALWAYS, problem->op, "op", "the operator (sum)")                                               \
  MEMBER(in_type, in, type, RS_ALWAYS, problem->input.type, "type", "type of the input (f32)")                         \
  MEMBER(out_type, out, type, RS_ALWAYS, problem->output.type, "out-type",                                             \
         "type of the output (the input's; integers: i64 or u64)")                                                     \
  MEMBER(acc_type, acc, acc, RS_ALWAYS, problem->acc_type, "acc",                                                      \
         "accumulator type (f32; f64 for f64; integers: the output's), or fixed point")                                \
  MEMBER(mask_mode, mask, mask_mode, RS_ALWAYS, problem->mask_mode, "mask-mode",                                       \
         "add a mask, with this mode (select)")                                                                        \
  MEMBER(mask_type, mask_type, type, RS_IF_SET,                                                                        \
         problem->mask_mode || rs_op_has_coefficient(problem->op) ? problem->mask.type : ROWSCAN_TYPE_DEFAULT,         \
         "mask-type", "add a mask, of this type (bool; keys: i32)")                                                    \
  BITS(flags, problem->flags & ~ROWSCAN_INCLUDE_INITIAL)                                                               \
  FLAG(ROWSCAN_REVERSE, reverse, RS_ALWAYS, "reverse", "scan from the last element to the first")                      \
  FLAG(ROWSCAN_EXCLUSIVE, exclusive, RS_ALWAYS, "exclusive", "leave each element out of its own result")               \
  FLAG(ROWSCAN_OMIT_NAN, omit_nan, RS_IF_SET, "omit-nan", "skip NaN: it counts as the operator's identity")            \
  FLAG(ROWSCAN_TIES_FIRST, ties_first, RS_IF_SET, "ties-first",                                                        \
       "argmax, argmin: the index of the first of equal elements")                                                     \
  FLAG(ROWSCAN_DELAYS, delays, RS_IF_SET | RS_UNTOLD, NULL, NULL)                                                      \
  FLAG(ROWSCAN_PART_STATES, part_states, RS_IF_SET | RS_UNTOLD, NULL, NULL)                                            \
  FLAG(ROWSCAN_PART_TOTALS, part_totals, RS_IF_SET | RS_UNTOLD, NULL, NULL)                                            \
  FLAG(ROWSCAN_UNIVERSAL, universal, RS_IF_SET | RS_UNTOLD, NULL, NULL)                                                \
  MEMBER(length, length, length, RS_NEEDED, length, "length", "elements along the scanned dimension")                  \
  MEMBER(layout, layout, layout, RS_ALWAYS, ROWSCAN_LAYOUT_ROWS, "layout",                                             \
         "rows: elements of a row are adjacent; columns: rows are adjacent (rows)")                                    \
  MEMBER(row_rank, row_rank, row_rank, RS_ALWAYS, 0, "row-rank", "number of row dimensions (1; columns: 2)")           \
  MEMBER(more_types[0], more1, type, RS_IF_SET, problem->more[0].type, "more1-type",                                   \
         "type of the second input, or of coefficients beside a mask (the first's)")                                   \
  MEMBER(more_types[1], more2, type, RS_IF_SET, problem->more[1].type, "more2-type",                                   \
         "type of the third input (the first's)")                                                                      \
  MEMBER(more_types[2], more3, type, RS_IF_SET, problem->more[2].type, "more3-type",                                   \
         "type of the fourth input (the first's)")                                                                     \
  MEMBER(more_types[3], more4, type, RS_IF_SET, problem->more[3].type, "more4-type",                                   \
         "type of the fifth input (the first's)")                                                                      \
  MEMBER(second_type, second, type, RS_IF_SET, rs_second_type_of(problem), "second-type",                              \
         "add a second output, of this type")                                                                          \
  MEMBER(segment_mode, segments, segments, RS_IF_SET, problem->segment_mode, "segments",                               \
         "add segments beside a mask or coefficients")                                                                 \
  MEMBER(segment_type, segment_type, type, RS_IF_SET,                                                                  \
         problem->segment_mode ? problem->segments.type : ROWSCAN_TYPE_DEFAULT, "segment-type",                        \
         "type of the segments' flags or keys (bool; keys: i32)")                                                      \
  MEMBER(regime, regime, regime, RS_IF_SET | RS_NOT_IN_KEYS, ROWSCAN_REGIME_AUTO, "regime",                            \
         "only kernels of row, short, long or column (auto: all)")

_Static_assert(RS_MOST_MORE == sizeof((rowscan_spec *)NULL)->more_types / sizeof(rowscan_type), "a field for each");

/* Of a second output, where a problem has one. */
static inline rowscan_type rs_second_type_of(const rowscan_problem *problem) {
  rowscan_type in = problem->input.type ? problem->input.type : ROWSCAN_F32;
  return !problem->second.data ? ROWSCAN_TYPE_DEFAULT : problem->second.type ? problem->second.type : in;
}

_Static_assert(RS_ANY_LENGTH == ROWSCAN_ANY_LENGTH, "kernels and users say the same");

/* For the rows of the list that are not asked for. */
#define RS_NO_ROW(...)

/* ---- the list as a table ----------------------------------------------------------------------------------------- */

typedef struct rs_values {
  const char *const *words; /* by number, NULL where there is none; words NULL: whole numbers */
  int64_t least, most;
  const char *expected; /* "sum, prod", or what numbers there are */
} rs_values;

/* rs_op_values, rs_type_values, ... */
#define RS_DECLARED(values, ...) extern const rs_values rs_##values##_values;
RS_SPEC_VALUES(RS_DECLARED, RS_DECLARED, RS_DECLARED)
#undef RS_DECLARED

/* A field that stands in texts. */
typedef struct rs_field {
  const char *name;
  const rs_values *values;
  size_t offset, bytes; /* of the member that has it */
  unsigned bit;         /* of that member; 0: all of it */
  unsigned when;
} rs_field;

#define RS_COUNTED(...) +1
enum { RS_FIELDS = RS_SPEC_FIELDS(RS_COUNTED, RS_NO_ROW, RS_COUNTED) };
#undef RS_COUNTED

extern const rs_field rs_fields[RS_FIELDS];

int64_t rs_field_get(const rs_field *field, const rowscan_spec *spec);
void rs_field_set(const rs_field *field, rowscan_spec *spec, int64_t value);

/* Whether each field is 0 or one of its values. Errors: BAD_ARGUMENT. */
rowscan_status rs_fields_check(const rowscan_spec *spec);

/* ---- the list as arithmetic: for each call, so without a branch -------------------------------------------------- */

/* Whether two complete specs are the same in every field, so that one plan serves both. */
static inline bool rs_spec_equal(const rowscan_spec *a, const rowscan_spec *b) {
#define RS_DIFFERING(member, ...) | ((uint64_t)a->member ^ (uint64_t)b->member)
  return (0 RS_SPEC_FIELDS(RS_DIFFERING, RS_DIFFERING, RS_NO_ROW)) == 0;
#undef RS_DIFFERING
}

/* Bits without a pattern for each member: an odd factor of 64 bits, from where it lies. */
#define RS_MIXED(x) (((x) ^ (x) >> 31) * UINT64_C(0xbf58476d1ce4e5b9))
#define RS_FACTOR(member)                                                                                              \
  (RS_MIXED(RS_MIXED((uint64_t)(offsetof(rowscan_spec, member) + 1) * UINT64_C(0x9e3779b97f4a7c15))) | 1)

/*
 * A number for a complete spec, whose high bits are the best. Each member counts with all its bits, times its own
 * factor; specs that have the same number are told apart by rs_spec_equal.
 */
static inline uint64_t rs_spec_hash(const rowscan_spec *spec) {
#define RS_TIMES_FACTOR(member, ...) +(uint64_t)spec->member *RS_FACTOR(member)
  return 0 RS_SPEC_FIELDS(RS_TIMES_FACTOR, RS_TIMES_FACTOR, RS_NO_ROW);
#undef RS_TIMES_FACTOR
}

#endif
