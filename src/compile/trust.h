/*
 * trust.h - whether a file that nobody named can be run: who could have put it there
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TRUST_H
#define RS_TRUST_H

#include <stdbool.h>

#include "base/text.h"

/*
 * Whether nobody else can have made a file, or can change which one its path leads to, but those whose code runs in
 * this process anyway: root, its effective user, and the owners of its program and of this library. The file, all
 * directories above it and all links on the way must be theirs, and writable by no one else; only of directories
 * further up the sticky bit is enough. Groups without other members do not count. The path is absolute. False: `why`
 * says what is wrong, "/scratch belongs to user 1003".
 */
bool rs_trusts(const char *path, rs_text *why);

#endif
