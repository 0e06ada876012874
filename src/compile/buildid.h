/*
 * buildid.h - which build a shared library's file is, told without loading it
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_BUILDID_H
#define RS_BUILDID_H

enum { RS_BUILDID_BYTES = 64, RS_BUILDID_ROOM = 2 * RS_BUILDID_BYTES + 1 };

/*
 * Reads the GNU build-id of an ELF file as hexadecimal text, "" if it has none.
 * NULL: it is a shared library that this process could load, as far as its headers tell; else what is wrong with it.
 * Never trusts the file: each offset and length is checked before it is used.
 */
const char *rs_buildid_read(int fd, char id[RS_BUILDID_ROOM]);

#endif
