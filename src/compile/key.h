/*
 * key.h - what a binary depends on, as text: the key of its cache entry
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_KEY_H
#define RS_KEY_H

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

#endif
