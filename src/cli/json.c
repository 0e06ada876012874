/*
 * json.c - writes JSON to a stream
 * SPDX-License-Identifier: MIT
 */
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

/* Bytes of the UTF-8 character at `at`; 0 if there is none. */
static int character(const unsigned char *at) {
  if (*at < 0x80)
    return 1;
  int length = *at >= 0xc2 && *at < 0xe0 ? 2 : *at >= 0xe0 && *at < 0xf0 ? 3 : *at >= 0xf0 && *at < 0xf5 ? 4 : 0;
  for (int i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80)
      return 0;
  bool overlong = (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xf0 && at[1] < 0x90);
  bool outside = (*at == 0xed && at[1] > 0x9f) || (*at == 0xf4 && at[1] > 0x8f);
  return overlong || outside ? 0 : length;
}

static void quote(FILE *file, const char *text) {
  fputc('"', file);
  for (const unsigned char *at = (const unsigned char *)text; *at;) {
    int length = character(at);
    if (!length)
      fputs("\\ufffd", file);
    else if (*at < ' ')
      fprintf(file, "\\u%04x", *at);
    else
      fprintf(file, "%s%.*s", *at == '"' || *at == '\\' ? "\\" : "", length, (const char *)at);
    at += length ? length : 1;
  }
  fputc('"', file);
}

/* What goes before a value: a comma after another one, and the key. */
static void lead(json_writer *json, const char *key) {
  if (json->depth) {
    if (json->filled[json->depth - 1])
      fputs(", ", json->file);
    json->filled[json->depth - 1] = true;
  }
  if (key) {
    quote(json->file, key);
    fputs(": ", json->file);
  }
}

static void open_with(json_writer *json, const char *key, char open, char close) {
  assert(json->depth < JSON_DEPTH_MAX);
  lead(json, key);
  fputc(open, json->file);
  json->filled[json->depth] = false;
  json->close[json->depth++] = close;
}

void json_object(json_writer *json, const char *key) {
  open_with(json, key, '{', '}');
}

void json_array(json_writer *json, const char *key) {
  open_with(json, key, '[', ']');
}

void json_end(json_writer *json) {
  fputc(json->close[--json->depth], json->file);
  if (!json->depth)
    fputc('\n', json->file);
}

void json_text(json_writer *json, const char *key, const char *value) {
  lead(json, key);
  if (value)
    quote(json->file, value);
  else
    fputs("null", json->file);
}

void json_integer(json_writer *json, const char *key, int64_t value) {
  lead(json, key);
  fprintf(json->file, "%" PRId64, value);
}

void json_number(json_writer *json, const char *key, double value) {
  lead(json, key);
  fprintf(json->file, isfinite(value) ? "%.6g" : "null", value);
}

void json_bool(json_writer *json, const char *key, bool value) {
  lead(json, key);
  fputs(value ? "true" : "false", json->file);
}
