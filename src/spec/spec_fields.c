/*
 * spec_fields.c - the fields of a spec as a table
 * SPDX-License-Identifier: MIT
 */
#include "spec_fields.h"

#include <string.h>

#include "base/status.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

#define WORDS(values, table, usage, listed)                                                                            \
  static const char *const values##_words[] = RS_NAMES(table);                                                         \
  const rs_values rs_##values##_values = {values##_words, 0, sizeof values##_words / sizeof(char *) - 1, listed};
#define MODES(values, table, usage)                                                                                    \
  static const char *const values##_words[] = {"none", table(RS_NAMED)};                                               \
  const rs_values rs_##values##_values = {values##_words, 0, sizeof values##_words / sizeof(char *) - 1,               \
                                          "none" table(RS_AFTER_COMMA)};
#define NUMBERS(values, type, least, most, expected)                                                                   \
  const rs_values rs_##values##_values = {NULL, least, most, expected};
RS_SPEC_VALUES(WORDS, MODES, NUMBERS)

static const rs_values flag_values = {NULL, 0, 1, "0 or 1"};

/* ---- fields ------------------------------------------------------------------------------------------------------ */

#define BYTES(member) sizeof((rowscan_spec *)NULL)->member
#define MEMBER(member, name, values, when, ...)                                                                        \
  {#name, &rs_##values##_values, offsetof(rowscan_spec, member), BYTES(member), 0, when},
#define FLAG(bit, name, when, ...) {#name, &flag_values, offsetof(rowscan_spec, flags), BYTES(flags), bit, when},
const rs_field rs_fields[RS_FIELDS] = {RS_SPEC_FIELDS(MEMBER, RS_NO_ROW, FLAG)};

/* Members are numbers of 4 or 8 bytes; and the list has them all, or this struct would lack initialisers. */
#define IS_NUMBER(member, ...)                                                                                         \
  _Static_assert(BYTES(member) == sizeof(int32_t) || BYTES(member) == sizeof(int64_t), #member);
RS_SPEC_FIELDS(IS_NUMBER, IS_NUMBER, RS_NO_ROW)
#define ZERO(...) , 0
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wmissing-braces"
_Static_assert(sizeof((rowscan_spec){0 RS_SPEC_FIELDS(ZERO, ZERO, RS_NO_ROW)}), "");
#pragma GCC diagnostic pop

int64_t rs_field_get(const rs_field *field, const rowscan_spec *spec) {
  int64_t wide;
  int32_t narrow;
  const char *at = (const char *)spec + field->offset;
  if (field->bytes == sizeof wide) {
    memcpy(&wide, at, sizeof wide);
    return wide;
  }
  memcpy(&narrow, at, sizeof narrow);
  return field->bit ? ((unsigned)narrow & field->bit) != 0 : narrow;
}

void rs_field_set(const rs_field *field, rowscan_spec *spec, int64_t value) {
  char *at = (char *)spec + field->offset;
  if (field->bit) {
    unsigned bits;
    memcpy(&bits, at, sizeof bits);
    value = (int64_t)(value ? bits | field->bit : bits & ~field->bit);
  }
  memcpy(at, &value, field->bytes); /* the low bytes, which are the first: see base/machine.h */
}

bool rs_developer;

/* These three for each call, so without a branch: what is negative is large here. */
#define OR_BIT(bit, ...) | (bit)
static unsigned known_flags(void) {
  const unsigned own = ROWSCAN_DELAYS | ROWSCAN_PART_STATES | ROWSCAN_PART_TOTALS | ROWSCAN_UNIVERSAL;
  return (0u RS_SPEC_FIELDS(RS_NO_ROW, RS_NO_ROW, OR_BIT)) & ~(rs_developer ? 0 : own);
}
#undef OR_BIT

static bool are_in_range(const rowscan_spec *spec) {
#define IN_RANGE(member, name, values, ...) &((uint64_t)spec->member <= (uint64_t)rs_##values##_values.most)
  return 1 RS_SPEC_FIELDS(IN_RANGE, RS_NO_ROW, RS_NO_ROW) & ((spec->flags & ~known_flags()) == 0);
#undef IN_RANGE
}

/* Of fields in range: where a table has words. */
static bool are_named(const rowscan_spec *spec) {
#define NAMED(member, name, values, ...)                                                                               \
  &(!rs_##values##_values.words || !spec->member || rs_##values##_values.words[spec->member])
  return 1 RS_SPEC_FIELDS(NAMED, RS_NO_ROW, RS_NO_ROW);
#undef NAMED
}

/* Callers have operators beyond the table's. */
static bool is_value(const rs_field *field, int64_t value) {
  const char *const *words = field->values->words;
  bool in_range = value >= field->values->least && value <= field->values->most;
  return value == 0 || (in_range && (!words || words[value])) ||
         (field->values == &rs_op_values && rs_op_of((rowscan_op)value));
}

rowscan_status rs_fields_check(const rowscan_spec *spec) {
  if (are_in_range(spec) && are_named(spec))
    return ROWSCAN_OK;
  for (int i = 0; i < RS_FIELDS; i++) {
    const rs_field *field = &rs_fields[i];
    int64_t value = rs_field_get(field, spec);
    if (!is_value(field, value))
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': %lld is not %s%s", field->name, (long long)value,
                     field->values->words ? "one of " : "", field->values->expected);
  }
  if (spec->flags & ~known_flags())
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'flags': 0x%x has unknown bits", spec->flags);
  return ROWSCAN_OK;
}
