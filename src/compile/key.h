/*
 * key.h - what a binary depends on, as text: the key of its cache entry, and in which fields two keys differ
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_KEY_H
#define RS_KEY_H

#include <stdbool.h>

#include "base/text.h"
#include "rowscan.h"

/*
 * One field=value a line: the canonical lines of the spec first, then all else that the compiler's output depends on.
 * No paths, no times, and nothing of the driver: the same key on every machine means the same bytes.
 */
typedef struct rs_key {
  const char *canonical;      /* the spec and kernel */
  const char *source;         /* goes in by its digest, as kernels/ does */
  int arch;                   /* 90 for sm_90 */
  const char *const *options; /* the compiler's, in order, NULL at the end */
  const char *nvrtc;          /* build-id; NULL: the key without its last line */
} rs_key;

void rs_key_print(const rs_key *key, rs_text *text);

/* Whether `name`, of so many characters, is a field of keys that is none of the spec's. */
bool rs_key_has_field(const char *name, size_t length);

/* ---- keys that differ -------------------------------------------------------------------------------------------- */

enum { RS_KEY_FIELDS = 64 }; /* more than a key has; further ones are not looked at */

/* A key cut into names and values, in its order; they point into `text`. */
typedef struct rs_key_fields {
  char *text;
  int count;
  struct {
    const char *name, *value;
  } field[RS_KEY_FIELDS];
} rs_key_fields;

/* False: out of memory. A line without a = has an empty value. */
bool rs_key_cut(rs_key_fields *fields, const char *key);
/* The value of a field; NULL: it has none of that name. */
const char *rs_key_value(const rs_key_fields *fields, const char *name);

void rs_key_fields_free(rs_key_fields *fields);

/*
 * How many fields differ, or are in one of them alone. Fields that occur several times are compared in their order.
 * differences: NULL, or has room for 2 * RS_KEY_FIELDS; its strings are those of a and b. Those that `a` has come
 * first, in its order.
 */
int rs_key_differences(const rs_key_fields *a, const rs_key_fields *b, rowscan_cache_difference *differences);

#endif
