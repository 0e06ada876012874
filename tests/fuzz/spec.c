/*
 * spec.c - any text as a spec
 * SPDX-License-Identifier: MIT
 *
 * A spec that is read is complete; printed and read again it is the same, and it says what the text said, field by
 * field. A refusal has a message, and leaves the spec alone.
 */
#include "spec/spec.h"
#include "fuzz.h"

static const char blanks[] = " \t\r\n";

static void check_same(const rowscan_spec *spec, const char *text) {
  rowscan_spec again;
  MUST(rs_spec_parse(&again, text) == ROWSCAN_OK);
  MUST(rs_spec_equal(&again, spec));
}

/* What a line leaves out, because it is meant without being said; integers have no NaN to omit. */
static bool goes_without_saying(const rowscan_spec *spec, const char *pair) {
  static const char *const unsaid[] = {" regime=auto ", " delays=0 ", " omit_nan=0 ", " ties_first=0 "};
  for (size_t i = 0; i < sizeof unsaid / sizeof *unsaid; i++)
    if (!strcmp(pair, unsaid[i]))
      return true;
  return !strcmp(pair, " omit_nan=1 ") && rs_type_kind(spec->in_type) != RS_FLOAT;
}

/* One field=value of the text, in a line that has blanks around each: numbers may have begun with zeros. */
static void check_said(const rowscan_spec *spec, const char *line, const char *pair, size_t length) {
  size_t name = (size_t)((const char *)memchr(pair, '=', length) - pair) + 1, zeros = 0;
  if (strspn(pair + name, "0123456789") >= length - name)
    while (zeros + 1 < length - name && pair[name + zeros] == '0')
      zeros++;
  char wanted[128]; /* longer ones are refused */
  snprintf(wanted, sizeof wanted, " %.*s%.*s ", (int)name, pair, (int)(length - name - zeros), pair + name + zeros);
  MUST(strstr(line, wanted) || goes_without_saying(spec, wanted));
}

static void check_read(const rowscan_spec *spec, const char *text) {
  rs_text line = {0}, lines = {0}, framed = {0};
  rs_spec_line(spec, &line);
  rs_spec_text(spec, &lines);
  rs_text_add(&framed, " %s ", line.data);
  MUST(!line.failed && !lines.failed && !framed.failed);
  check_same(spec, line.data);
  rowscan_spec automatic = *spec;
  automatic.regime = ROWSCAN_REGIME_AUTO;
  check_same(&automatic, lines.data);
  MUST(rowscan_spec_complete(&automatic) == ROWSCAN_OK);
  for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
    size_t length = strcspn(text, blanks);
    check_said(spec, framed.data, text, length);
    text += length;
  }
  rs_text_free(&line);
  rs_text_free(&lines);
  rs_text_free(&framed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = strndup((const char *)data, size);
  rowscan_spec spec, before;
  memset(&spec, 0x5a, sizeof spec);
  memcpy(&before, &spec, sizeof spec);
  MUST(text);
  if (rs_spec_parse(&spec, text) == ROWSCAN_OK)
    check_read(&spec, text);
  else
    MUST(strncmp(rowscan_last_error(), "spec: ", 6) == 0 && memcmp(&spec, &before, sizeof spec) == 0);
  free(text);
  return 0;
}
