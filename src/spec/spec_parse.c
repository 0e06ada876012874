/*
 * spec_parse.c - a spec from its text
 * SPDX-License-Identifier: MIT
 */
#include "spec_parse.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static const char blanks[] = " \t\r\n";

/* Most characters of a field or a value that mean anything, and that a message shows. */
enum { MOST = 40 };

/* Numbers have no signs. */
static bool read_number(const char *value, int64_t *number) {
  size_t digits = strspn(value, "0123456789");
  unsigned long long read = strtoull(value, NULL, 10); /* the most there is, if it is more */
  *number = read < INT64_MAX ? (int64_t)read : INT64_MAX;
  return digits && !value[digits];
}

static bool read_word(const char *value, const rs_values *values, int64_t *number) {
  for (*number = values->least; *number <= values->most; ++*number)
    if (values->words[*number] && !strcmp(value, values->words[*number]))
      return true;
  return false;
}

static bool read_value(const char *value, const rs_field *field, rowscan_spec *spec) {
  int64_t number;
  if (!(field->values->words ? read_word(value, field->values, &number) : read_number(value, &number)) ||
      number < field->values->least || number > field->values->most)
    return false;
  rs_field_set(field, spec, number);
  return true;
}

static rowscan_status unknown(const char *pair, size_t length) {
  rowscan_status status = rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%.*s': there is none of this name; there are",
                                  length < MOST ? (int)length : MOST, pair);
  for (int i = 0; i < RS_FIELDS; i++)
    if (!(rs_fields[i].when & RS_UNTOLD))
      status = rs_fail_more(status, "%s %s", i ? "," : "", rs_fields[i].name);
  return status;
}

/* Reads one pair of so many characters; given[] tells which fields stood before it. */
static rowscan_status read_pair(rowscan_spec *spec, const char *pair, size_t length, bool given[RS_FIELDS]) {
  const char *sign = memchr(pair, '=', length);
  if (!sign)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: '%.*s' is no field=value", length < MOST ? (int)length : MOST, pair);
  size_t name = (size_t)(sign - pair), rest = length - name - 1;
  int i = 0;
  while (i < RS_FIELDS && (strlen(rs_fields[i].name) != name || memcmp(rs_fields[i].name, pair, name) != 0))
    i++;
  if (i == RS_FIELDS)
    return unknown(pair, name);
  const rs_field *field = &rs_fields[i];
  if (given[i])
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': given twice", field->name);
  given[i] = true;
  char value[MOST + 1] = "";
  memcpy(value, sign + 1, rest < MOST ? rest : MOST);
  if (rest > MOST || !read_value(value, field, spec))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': '%s%s' is not %s%s", field->name, value,
                   rest > MOST ? "..." : "", field->values->words ? "one of " : "", field->values->expected);
  return ROWSCAN_OK;
}

rowscan_status rs_spec_check_pair(const char *pair, size_t length) {
  rowscan_spec read = {.size = sizeof read};
  bool given[RS_FIELDS] = {false};
  return read_pair(&read, pair, length, given);
}

rowscan_status rs_spec_parse(rowscan_spec *spec, const char *text) {
  rowscan_spec read = {.size = sizeof read}, complete = read;
  bool given[RS_FIELDS] = {false};
  rowscan_status status = ROWSCAN_OK;
  for (text += strspn(text, blanks); *text && !status; text += strspn(text, blanks)) {
    size_t length = strcspn(text, blanks);
    status = read_pair(&read, text, length, given);
    text += length;
  }
  for (int i = 0; i < RS_FIELDS && !status; i++)
    if (rs_fields[i].when & RS_NEEDED && !given[i])
      status = rs_fail(ROWSCAN_BAD_ARGUMENT, "spec: field '%s': missing", rs_fields[i].name);
  if (!status)
    status = rs_spec_read(&complete, &read);
  if (!status)
    *spec = complete;
  return status;
}
