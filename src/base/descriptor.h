/*
 * descriptor.h - files that never get the numbers of the standard streams
 * SPDX-License-Identifier: MIT
 *
 * A process may start with descriptors 0, 1 or 2 closed. The next file opened then gets that number, and what anybody
 * prints to standard output or standard error is written into it.
 */
#ifndef RS_DESCRIPTOR_H
#define RS_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * openat with O_CLOEXEC, asked again if a signal interrupts it; the result is 3 or more. A file that can be written
 * has no lower number meanwhile either, unless another thread closes one at that moment.
 */
int rs_openat(int at, const char *name, int flags, mode_t mode);

/*
 * For main, before anything else: opens something on each of 0, 1 and 2 that is closed, so that using it fails as it
 * did before. False: nothing can be opened.
 */
bool rs_fill_standard(void);

#endif
