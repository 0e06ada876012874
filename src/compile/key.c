/*
 * key.c - what a binary depends on, as text, and in which fields two keys differ
 * SPDX-License-Identifier: MIT
 */
#include "key.h"

#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "kernels.h"

/* Changes with the meaning of a line, or of what an entry holds (build.c). */
enum { FORMAT = 4 };

void rs_key_print(const rs_key *key, rs_text *text) {
  char digest[RS_DIGEST_ROOM];
  size_t length = strlen(key->canonical);
  rs_text_append(text, key->canonical, length);
  if (length && key->canonical[length - 1] != '\n')
    rs_text_append(text, "\n", 1);
  rs_digest(digest, key->source, strlen(key->source));
  rs_text_add(text, "format=%d\nversion=%s\nkernels=%s\nsource=%s\n", FORMAT, ROWSCAN_VERSION_STRING, rs_kernels_digest,
              digest);
  rs_text_add(text, "arch=sm_%d\n", key->arch);
  for (const char *const *option = key->options; *option; option++)
    rs_text_add(text, "option=%s\n", *option);
  if (key->nvrtc)
    rs_text_add(text, "nvrtc=%s\n", key->nvrtc);
}

/* Of the key of anything, whose spec has no field: that one has all others. */
bool rs_key_has_field(const char *name, size_t length) {
  static const char *const options[] = {"", NULL};
  static const rs_key any = {.canonical = "\nregime=\nkernel=\nshape=", .source = "", .options = options, .nvrtc = ""};
  rs_text text = {0}, line = {0};
  rs_key_print(&any, &text);
  rs_text_add(&line, "\n%.*s=", (int)length, name);
  bool found = !text.failed && !line.failed && strstr(text.data, line.data);
  rs_text_free(&text);
  rs_text_free(&line);
  return found;
}

/* ---- keys that differ -------------------------------------------------------------------------------------------- */

bool rs_key_cut(rs_key_fields *fields, const char *key) {
  *fields = (rs_key_fields){.text = strdup(key)};
  if (!fields->text)
    return false;
  for (char *line = fields->text; *line && fields->count < RS_KEY_FIELDS;) {
    size_t length = strcspn(line, "\n"), name = strcspn(line, "=\n");
    char *next = line + length + (line[length] == '\n');
    line[length] = 0;
    line[name] = 0;
    fields->field[fields->count].name = line;
    fields->field[fields->count++].value = line + name + (name < length);
    line = next;
  }
  return true;
}

const char *rs_key_value(const rs_key_fields *fields, const char *name) {
  for (int i = 0; i < fields->count; i++)
    if (!strcmp(fields->field[i].name, name))
      return fields->field[i].value;
  return NULL;
}

void rs_key_fields_free(rs_key_fields *fields) {
  free(fields->text);
  *fields = (rs_key_fields){0};
}

/* The field of `b` that goes with one of `a`: the first of its name that goes with none before. -1: there is none. */
static int partner(const rs_key_fields *b, const char *name, const bool *taken) {
  for (int i = 0; i < b->count; i++)
    if (!taken[i] && !strcmp(b->field[i].name, name))
      return i;
  return -1;
}

int rs_key_differences(const rs_key_fields *a, const rs_key_fields *b, rowscan_cache_difference *differences) {
  bool taken[RS_KEY_FIELDS] = {false};
  int count = 0;
  for (int i = 0; i < a->count; i++) {
    int other = partner(b, a->field[i].name, taken);
    if (other >= 0)
      taken[other] = true;
    if (other >= 0 && !strcmp(a->field[i].value, b->field[other].value))
      continue;
    if (differences)
      differences[count] =
          (rowscan_cache_difference){a->field[i].name, a->field[i].value, other < 0 ? NULL : b->field[other].value};
    count++;
  }
  for (int i = 0; i < b->count; i++)
    if (!taken[i]) {
      if (differences)
        differences[count] = (rowscan_cache_difference){b->field[i].name, NULL, b->field[i].value};
      count++;
    }
  return count;
}
