/*
 * json.c - writes JSON to a stream
 * SPDX-License-Identifier: MIT
 */
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/plain.h"

static void quote(FILE *file, const char *text) {
  fputc('"', file);
  for (const char *at = text; *at;) {
    int length = rs_utf8_bytes(at);
    if (!length)
      fputs("\\ufffd", file);
    else if (length == 1 && (*at < ' ' || *at == 0x7f))
      fprintf(file, "\\u%04x", *at);
    else if (length == 2 && (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0) /* controls too */
      fprintf(file, "\\u%04x", (unsigned char)at[1]);
    else
      fprintf(file, "%s%.*s", *at == '"' || *at == '\\' ? "\\" : "", length, at);
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
