/*
 * key_diff.h - in which fields two keys differ
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_KEY_DIFF_H
#define RS_KEY_DIFF_H

#include <stdbool.h>

#include "rowscan.h"

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
