/*
 * processors.h - how many processors this process may use
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PROCESSORS_H
#define RS_PROCESSORS_H

/* As many as it may run on, and no more than the quotas of its control groups are worth, rounded up; at least 1. */
int rs_processors(void);

/* What those quotas are worth, with the files of Linux below a directory: "" for /. INT_MAX: there is none. */
int rs_processors_quota(const char *root);

#endif
