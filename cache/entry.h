/*
 * entry.h - the bytes of an entry, written and read back; the grammar is in README.md
 * SPDX-License-Identifier: MIT
 *
 * Pure functions: no file is touched here. They trust nothing in the bytes they read, a right digest included.
 */
#ifndef RS_ENTRY_H
#define RS_ENTRY_H

#include <stdint.h>

#include "store.h"

enum {
  RS_ENTRY_VERSION = 1, /* one more for every change of the format or of the names */
  RS_ENTRY_HEADER = 32,
  RS_ENTRY_ALIGN = 16,
  RS_ENTRY_DIGEST = 16,
  RS_ENTRY_ID = 16,
  RS_ENTRY_NAME = 2 + 1 + 30 + 1, /* "ab/cdef..." and its NUL */
  RS_ENTRY_AT_ONCE = 1 << 20      /* bytes: what is larger is checked in pieces before there is room for it */
};

/* Where an entry's texts lie in the bytes that were decoded. */
typedef struct rs_decoded {
  const char *key;
  rs_part part[RS_STORE_PARTS];
} rs_decoded;

/* The file name of a key below the store's directory, and 64 of its 128 bits as a number. */
void rs_entry_name(const char *key, char name[RS_ENTRY_NAME]);
uint64_t rs_entry_hash(const char *key);

/* Bytes of a key's stem: the key without its last line. */
size_t rs_entry_stem(const char *key);

/* The name that has an id's digits. */
void rs_entry_id_name(const unsigned char id[RS_ENTRY_ID], char name[RS_ENTRY_NAME]);

/* XXH3-128: of a text, as its name has it in hexadecimal digits; of bytes, as it ends a file. */
void rs_entry_id(const char *text, size_t bytes, unsigned char id[RS_ENTRY_ID]);
void rs_entry_digest(const void *bytes, size_t count, unsigned char to[RS_ENTRY_DIGEST]);

/* The size of the file; 0: a text has 4 GB or more. */
uint64_t rs_entry_bytes(const char *key, const rs_part parts[RS_STORE_PARTS]);

/* The whole file, to be freed; NULL: out of memory, or a text of 4 GB or more. */
unsigned char *rs_entry_encode(const char *key, const rs_part parts[RS_STORE_PARTS], size_t *bytes);

/* Two of the reasons that these functions, and those of packs, return as text. */
extern const char rs_entry_unread[], rs_entry_too_large[];

/* What is wrong with a header, given the size of its file; NULL: nothing. */
const char *rs_entry_check_header(const unsigned char header[RS_ENTRY_HEADER], uint64_t file_bytes);

/* Bytes of the key that such a header announces, which follows it. */
size_t rs_entry_key_bytes(const unsigned char header[RS_ENTRY_HEADER]);

/* What is wrong with a whole file; NULL: nothing, and *decoded is filled. */
const char *rs_entry_decode(const unsigned char *file, size_t bytes, rs_decoded *decoded);

/*
 * The same for a file that `read` brings piece by piece after its header, which was checked. The part `without` is
 * verified and not kept: {NULL, its bytes}; RS_STORE_PARTS: all are kept. *memory, to be freed, is what the texts point
 * into. False of `read`: the file can't be read, and errno says why; of all other damage it is 0, but for ENOMEM.
 */
typedef bool rs_entry_reader(void *user, void *to, size_t bytes);
const char *rs_entry_read(const unsigned char header[RS_ENTRY_HEADER], int without, rs_entry_reader *read, void *user,
                          void **memory, rs_decoded *decoded);

/*
 * What is wrong with the digest of such a file; NULL: nothing. Keeps none of it: a file whose size is nothing but holes
 * takes no memory.
 */
const char *rs_entry_check_digest(const unsigned char header[RS_ENTRY_HEADER], uint64_t file_bytes,
                                  rs_entry_reader *read, void *user);

/* ---- numbers in files: unsigned, little-endian ------------------------------------------------------------------- */

static inline void rs_put_number(unsigned char *to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++)
    to[i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t rs_get_number(const unsigned char *from, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;)
    value = value << 8 | from[i];
  return value;
}

#endif
