/*
 * processors.h - how many processors this process may use, and how large their last cache is
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PROCESSORS_H
#define RS_PROCESSORS_H

#include <stdint.h>

/* As many as it may run on, and no more than the quotas of its control groups are worth, rounded up; at least 1. */
int rs_processors(void);

/* What those quotas are worth, with the files of Linux below a directory: "" for /. INT_MAX: there is none. */
int rs_processors_quota(const char *root);

/* ---- their last cache -------------------------------------------------------------------------------------------- */

/* In bytes; 0: nobody tells. */
int64_t rs_last_cache_bytes(void);

/* What Linux tells of it in its files below a directory: "" for /. */
int64_t rs_last_cache_told(const char *root);

#endif
