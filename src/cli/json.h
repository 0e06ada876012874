/*
 * json.h - writes JSON to a stream, commas and quotes in their places
 * SPDX-License-Identifier: MIT
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 8 };

/* Starts as {.file = stdout}. */
typedef struct json_writer {
  FILE *file;
  int depth;
  char close[JSON_DEPTH_MAX]; /* what ends the object or array at each depth */
  bool filled[JSON_DEPTH_MAX];
} json_writer;

/* `key` is the name of a member of an object; NULL in an array and at the top. */
void json_object(json_writer *json, const char *key);
void json_array(json_writer *json, const char *key);
void json_end(json_writer *json); /* of the innermost object or array; at the top also ends the line */

void json_text(json_writer *json, const char *key,
               const char *value); /* NULL is null; bytes that are no UTF-8 become U+FFFD */
void json_integer(json_writer *json, const char *key, int64_t value);
void json_number(json_writer *json, const char *key, double value); /* null if it is no finite number */
void json_bool(json_writer *json, const char *key, bool value);

#endif
