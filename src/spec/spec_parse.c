/*
 * spec_parse.c - a spec from its text
 * SPDX-License-Identifier: MIT
 */
#include "spec_parse.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "developer.h"
#include "types.h"

static const char blanks[] = " \t\r\n";

/* Most characters of a field or a value that mean anything, and that a message shows. */
enum { MOST = 40 };

/* ---- values: each is read into the spec, or is none of its kind -------------------------------------------------- */

static bool read_index(const char *value, const char *const *names, int count, int *index) {
  for (int i = 0; i < count; i++)
    if (!strcmp(value, names[i])) {
      *index = i;
      return true;
    }
  return false;
}

static bool read_number(const char *value, long long most, long long *number) {
  size_t digits = strspn(value, "0123456789");
  if (!digits || value[digits])
    return false;
  unsigned long long read = strtoull(value, NULL, 10); /* the most there is, if it is more */
  if (read > (unsigned long long)most)
    return false;
  *number = (long long)read;
  return true;
}

static bool read_op(const char *value, rowscan_spec *spec) {
  int op = rowscan_op_by_name(value);
  if (op >= 0)
    spec->op = (rowscan_op)op;
  return op >= 0;
}

static bool read_type(const char *value, rowscan_type *type) {
  *type = rowscan_type_by_name(value);
  return *type != ROWSCAN_TYPE_DEFAULT;
}

static bool read_in(const char *value, rowscan_spec *spec) {
  return read_type(value, &spec->in_type);
}

static bool read_out(const char *value, rowscan_spec *spec) {
  return read_type(value, &spec->out_type);
}

static bool read_acc(const char *value, rowscan_spec *spec) {
  return read_type(value, &spec->acc_type);
}

static bool read_mask_type(const char *value, rowscan_spec *spec) {
  return read_type(value, &spec->mask_type);
}

static bool read_mask(const char *value, rowscan_spec *spec) {
  int mode;
  if (!read_index(value, rs_mask_modes, RS_MASK_MODES, &mode))
    return false;
  spec->mask_mode = (rowscan_mask_mode)mode;
  return true;
}

static bool read_flag(const char *value, rowscan_spec *spec, unsigned flag) {
  long long number;
  if (!read_number(value, 1, &number))
    return false;
  spec->flags |= number ? flag : 0;
  return true;
}

static bool read_reverse(const char *value, rowscan_spec *spec) {
  return read_flag(value, spec, ROWSCAN_REVERSE);
}

static bool read_exclusive(const char *value, rowscan_spec *spec) {
  return read_flag(value, spec, ROWSCAN_EXCLUSIVE);
}

static bool read_delays(const char *value, rowscan_spec *spec) {
  return read_flag(value, spec, ROWSCAN_DELAYS);
}

static bool read_length(const char *value, rowscan_spec *spec) {
  long long number;
  if (!read_number(value, RS_MAX_LENGTH, &number))
    return false;
  spec->length = number;
  return true;
}

static bool read_layout(const char *value, rowscan_spec *spec) {
  int layout;
  if (!read_index(value, rs_layouts, RS_LAYOUTS, &layout))
    return false;
  spec->layout = (rowscan_layout)layout;
  return true;
}

static bool read_row_rank(const char *value, rowscan_spec *spec) {
  long long number;
  if (!read_number(value, RS_MAX_ROW_RANK, &number) || !number)
    return false;
  spec->row_rank = (int)number;
  return true;
}

static bool read_regime(const char *value, rowscan_spec *spec) {
  for (int regime = ROWSCAN_REGIME_AUTO; regime <= ROWSCAN_REGIME_COLUMN; regime++)
    if (!strcmp(value, rowscan_regime_name((rowscan_regime)regime))) {
      spec->regime = (rowscan_regime)regime;
      return true;
    }
  return false;
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

#define TYPES "f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, bool"

static const struct {
  const char *name;
  bool (*read)(const char *value, rowscan_spec *spec);
  const char *expected;
} fields[] = {{"op", read_op, "one of sum, prod"},
              {"in", read_in, "one of " TYPES},
              {"out", read_out, "one of " TYPES},
              {"acc", read_acc, "one of " TYPES},
              {"mask", read_mask, "one of none, select, multiply"},
              {"mask_type", read_mask_type, "one of " TYPES},
              {"reverse", read_reverse, "0 or 1"},
              {"exclusive", read_exclusive, "0 or 1"},
              {"length", read_length, "a whole number, 0 to 2^56"},
              {"layout", read_layout, "one of rows, columns"},
              {"row_rank", read_row_rank, "a whole number, 1 to 63"},
              {"regime", read_regime, "one of auto, row, short, long, column"},
              {"delays", read_delays, "0 or 1"}};
enum { FIELDS = sizeof fields / sizeof *fields, FOR_TESTS = 1 /* of them, the last: nobody is told of it */ };

static rowscan_status unknown(const char *pair, size_t length) {
  rs_text names = {0};
  for (int i = 0; i < FIELDS - FOR_TESTS; i++)
    rs_text_add(&names, "%s%s", i ? ", " : "", fields[i].name);
  rowscan_status status = rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%.*s': there is none of this name; there are %s",
                                  length < MOST ? (int)length : MOST, pair, names.failed ? "others" : names.data);
  rs_text_free(&names);
  return status;
}

/* Reads one pair of so many characters; `given` has a bit for each field that stood before it. */
static rowscan_status read_pair(rowscan_spec *spec, const char *pair, size_t length, unsigned *given) {
  const char *sign = memchr(pair, '=', length);
  if (!sign)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: '%.*s' is no field=value", length < MOST ? (int)length : MOST, pair);
  size_t name = (size_t)(sign - pair), rest = length - name - 1;
  int field = 0;
  while (field < FIELDS && (strlen(fields[field].name) != name || memcmp(fields[field].name, pair, name) != 0))
    field++;
  if (field == FIELDS)
    return unknown(pair, name);
  if (*given & 1u << field)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': given twice", fields[field].name);
  *given |= 1u << field;
  char value[MOST + 1] = "";
  memcpy(value, sign + 1, rest < MOST ? rest : MOST);
  if (rest > MOST || !fields[field].read(value, spec))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': '%s%s' is not %s", fields[field].name, value,
                   rest > MOST ? "..." : "", fields[field].expected);
  return ROWSCAN_OK;
}

rowscan_status rs_spec_check_pair(const char *pair, size_t length) {
  rowscan_spec read = {.size = sizeof read};
  unsigned given = 0;
  return read_pair(&read, pair, length, &given);
}

static bool is_given(unsigned given, const char *name) {
  for (int i = 0; i < FIELDS; i++)
    if (!strcmp(fields[i].name, name))
      return given & 1u << i;
  return false;
}

rowscan_status rs_spec_parse(rowscan_spec *spec, const char *text) {
  rowscan_spec read = {.size = sizeof read};
  unsigned given = 0;
  for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
    size_t length = strcspn(text, blanks);
    rowscan_status status = read_pair(&read, text, length, &given);
    if (status)
      return status;
    text += length;
  }
  if (!is_given(given, "length"))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'length': missing");
  if (read.mask_type && !read.mask_mode)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field 'mask_type': %s, but there is no mask=select or mask=multiply",
                   rowscan_type_name(read.mask_type));
  rowscan_spec complete;
  rowscan_status status = rs_spec_read(&complete, &read);
  if (!status)
    *spec = complete;
  return status;
}
