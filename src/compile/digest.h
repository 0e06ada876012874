/*
 * digest.h - XXH3-128 of bytes, as text
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_DIGEST_H
#define RS_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

enum { RS_DIGEST_ROOM = 33 }; /* 32 hexadecimal digits and a NUL byte */

void rs_digest(char digest[RS_DIGEST_ROOM], const void *bytes, size_t count);

/* Of a whole file. False: it can't be read, and errno says why. */
bool rs_digest_file(char digest[RS_DIGEST_ROOM], int fd);

/* Bytes as hexadecimal digits; `text` has room for 2 * count + 1. */
void rs_hexadecimal(char *text, const unsigned char *bytes, size_t count);

#endif
