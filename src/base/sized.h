/*
 * sized.h - structs of callers, whose first field is their size: that size is the version of the header they had
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SIZED_H
#define RS_SIZED_H

#include <stdbool.h>

#include "rowscan.h"

/* A size above this, or that is no multiple of its own, is no struct's: nothing is read by it. */
enum { RS_SIZED_MOST = 4096 };

/*
 * Copies a caller's struct into one of `known` bytes. One that is shorter lacks the last fields, which are 0; one that
 * is longer has fields that this library does not know, which must be 0. `what` names it in messages, and `macro` is
 * what sets the size. Errors: BAD_ARGUMENT.
 */
rowscan_status rs_sized_read(void *to, size_t known, const void *from, const char *what, const char *macro);

/* Checks the size that a caller has set in a struct to be filled. Errors: BAD_ARGUMENT. */
rowscan_status rs_sized_check(const void *to, const char *what, const char *macro);

/*
 * Fills a caller's struct from one of `known` bytes, as far as it goes; what it has beyond is cleared, and its size
 * stays. The size has been checked.
 */
void rs_sized_write(void *to, const void *from, size_t known);

/* Whether a struct of so many bytes holds all of `from` that is not 0. */
bool rs_sized_holds(size_t size, const void *from, size_t known);

#endif
