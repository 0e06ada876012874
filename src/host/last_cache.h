/*
 * last_cache.h - how large the last cache of a processor is
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_LAST_CACHE_H
#define RS_LAST_CACHE_H

#include <stdint.h>

/* In bytes; 0: nobody tells. */
int64_t rs_last_cache_bytes(void);

/* What Linux tells of it in its files below a directory: "" for /. */
int64_t rs_last_cache_told(const char *root);

#endif
