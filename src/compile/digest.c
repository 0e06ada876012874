/*
 * digest.c - XXH3-128 of bytes, as text
 * SPDX-License-Identifier: MIT
 */
#include "digest.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void rs_hexadecimal(char *text, const unsigned char *bytes, size_t count) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < count; i++) {
    *text++ = digits[bytes[i] >> 4];
    *text++ = digits[bytes[i] & 15];
  }
  *text = 0;
}

static void print(char digest[RS_DIGEST_ROOM], XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  rs_hexadecimal(digest, canonical.digest, sizeof canonical.digest);
}

void rs_digest(char digest[RS_DIGEST_ROOM], const void *bytes, size_t count) {
  print(digest, XXH3_128bits(bytes, count));
}

static bool read_all(int fd, XXH3_state_t *state, void *piece, size_t room) {
  for (off_t at = 0;;) {
    ssize_t got = pread(fd, piece, room, at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return got == 0;
    XXH3_128bits_update(state, piece, (size_t)got);
    at += got;
  }
}

bool rs_digest_file(char digest[RS_DIGEST_ROOM], int fd) {
  enum { PIECE = 1 << 20 };
  XXH3_state_t *state = XXH3_createState();
  void *piece = malloc(PIECE);
  bool good = state && piece;
  if (good) {
    XXH3_128bits_reset(state);
    good = read_all(fd, state, piece, PIECE);
  }
  if (good)
    print(digest, XXH3_128bits_digest(state));
  free(piece);
  XXH3_freeState(state);
  return good;
}
