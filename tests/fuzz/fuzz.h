/*
 * fuzz.h - what the fuzzers share: a claim that must hold, and a second opinion on the formats of cache/README.md
 * SPDX-License-Identifier: MIT
 *
 * The second opinion is written from the grammar alone, shares no code with cache/, and says of any bytes whether they
 * are an entry: what it says and what cache/ says must agree. No fuzzer passes a digest of 128 bits by chance; so each
 * input is tried as it is, and once more with its digests made right.
 */
#ifndef RS_FUZZ_H
#define RS_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* What libFuzzer calls: the input lies in memory of its own and of exactly its size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(claim)                                                                                                    \
  do {                                                                                                                 \
    if (!(claim)) {                                                                                                    \
      fprintf(stderr, "%s:%d: this does not hold: %s\n", __FILE__, __LINE__, #claim);                                  \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

/* Of exactly this size, as the input: a byte read beyond it is seen. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  MUST(copy);
  if (size)
    memcpy(copy, data, size);
  return copy;
}

static inline uint64_t fuzz_number(const uint8_t *at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++)
    value += (uint64_t)at[i] << 8 * i;
  return value;
}

/* Low half first, each little-endian, as a digest ends a file. */
static inline void fuzz_digest(const uint8_t *bytes, size_t size, uint8_t to[16]) {
  XXH128_hash_t hash = XXH3_128bits(bytes, size);
  for (int i = 0; i < 8; i++) {
    to[i] = (uint8_t)(hash.low64 >> 8 * i);
    to[8 + i] = (uint8_t)(hash.high64 >> 8 * i);
  }
}

/* High half first, each big-endian, as the hexadecimal digits of a name. */
static inline void fuzz_id(const uint8_t *bytes, size_t size, uint8_t to[16]) {
  uint8_t digest[16];
  fuzz_digest(bytes, size, digest);
  for (int i = 0; i < 16; i++)
    to[i] = digest[15 - i];
}

enum { FUZZ_PARTS = 4 };

/* Where the texts of an entry lie in it. */
typedef struct fuzz_entry {
  size_t key, key_bytes, part[FUZZ_PARTS], part_bytes[FUZZ_PARTS];
} fuzz_entry;

/* A text of so many bytes and its padding: 1 to 16 zeros, up to a multiple of 16. *at moves behind them. */
static inline bool fuzz_text(const uint8_t *data, size_t size, uint64_t bytes, size_t *at, size_t *text) {
  *text = *at;
  if (bytes > size - *at)
    return false;
  *at += (size_t)bytes;
  do {
    if (*at == size || data[(*at)++])
      return false;
  } while (*at % 16);
  return true;
}

/* The size that the header of an entry demands of its file; 0: it is no header. */
static inline uint64_t fuzz_entry_size(const uint8_t header[32]) {
  static const uint8_t begin[12] = {0x89, 'r', 's', 'c', 13, 10, 26, 10, 1, 0, 0, 0};
  uint64_t size = 32 + 16;
  for (int i = 0; i < 1 + FUZZ_PARTS; i++)
    size += (fuzz_number(header + 12 + 4 * i, 4) + 16) & ~(uint64_t)15;
  return memcmp(header, begin, sizeof begin) == 0 ? size : 0;
}

static inline bool fuzz_is_entry(const uint8_t *data, size_t size, fuzz_entry *entry) {
  uint8_t digest[16];
  size_t at = 32;
  if (size < at || !fuzz_entry_size(data))
    return false;
  entry->key_bytes = (size_t)fuzz_number(data + 12, 4);
  if (!fuzz_text(data, size, entry->key_bytes, &at, &entry->key) || memchr(data + entry->key, 0, entry->key_bytes))
    return false;
  for (int i = 0; i < FUZZ_PARTS; i++) {
    entry->part_bytes[i] = (size_t)fuzz_number(data + 16 + 4 * i, 4);
    if (!fuzz_text(data, size, entry->part_bytes[i], &at, &entry->part[i]))
      return false;
  }
  if (size - at != sizeof digest)
    return false;
  fuzz_digest(data, at, digest);
  return memcmp(data + at, digest, sizeof digest) == 0;
}

/* Makes the digest of an entry right, whatever the entry is. */
static inline void fuzz_repair_entry(uint8_t *data, size_t size) {
  if (size >= 16)
    fuzz_digest(data, size - 16, data + size - 16);
}

#endif
