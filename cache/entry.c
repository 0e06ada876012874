/*
 * entry.c - the bytes of an entry, written and read back
 * SPDX-License-Identifier: MIT
 */
#include "entry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A byte that is not ASCII, a CR LF and a ^Z: what changes line ends or strips bits on its way can't go unseen. */
static const unsigned char entry_magic[8] = {0x89, 'r', 's', 'c', '\r', '\n', 0x1a, '\n'};

/* Offsets in the header. */
enum { AT_VERSION = sizeof entry_magic, AT_KEY = AT_VERSION + 4, AT_PARTS = AT_KEY + 4 };

static uint32_t get_u32(const unsigned char *from) {
  return (uint32_t)rs_get_number(from, 4);
}

/* A text takes its bytes and 1 to 16 zeros: it ends with a NUL, and the next one starts aligned. */
static uint64_t room(uint64_t text_bytes) {
  return (text_bytes / RS_ENTRY_ALIGN + 1) * RS_ENTRY_ALIGN;
}

static void put_digest(XXH128_hash_t hash, unsigned char to[RS_ENTRY_DIGEST]) {
  rs_put_number(to, hash.low64, 8);
  rs_put_number(to + 8, hash.high64, 8);
}

void rs_entry_digest(const void *bytes, size_t count, unsigned char to[RS_ENTRY_DIGEST]) {
  put_digest(XXH3_128bits(bytes, count), to);
}

void rs_entry_id(const char *text, size_t bytes, unsigned char id[RS_ENTRY_ID]) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(text, bytes));
  memcpy(id, canonical.digest, RS_ENTRY_ID);
}

void rs_entry_id_name(const unsigned char id[RS_ENTRY_ID], char name[RS_ENTRY_NAME]) {
  char hex[2 * RS_ENTRY_ID + 1];
  for (int i = 0; i < RS_ENTRY_ID; i++)
    snprintf(hex + 2 * i, 3, "%02x", (unsigned)id[i]);
  snprintf(name, RS_ENTRY_NAME, "%.2s/%s", hex, hex + 2);
}

void rs_entry_name(const char *key, char name[RS_ENTRY_NAME]) {
  unsigned char id[RS_ENTRY_ID];
  rs_entry_id(key, strlen(key), id);
  rs_entry_id_name(id, name);
}

uint64_t rs_entry_hash(const char *key) {
  return XXH3_128bits(key, strlen(key)).low64;
}

size_t rs_entry_stem(const char *key) {
  size_t length = strlen(key);
  if (length > 0)
    length--; /* the end of the last line */
  while (length > 0 && key[length - 1] != '\n')
    length--;
  return length;
}

static unsigned char *append_padded(unsigned char *to, const void *text, size_t bytes) {
  if (bytes)
    memcpy(to, text, bytes);
  return to + room(bytes);
}

uint64_t rs_entry_bytes(const char *key, const rs_part parts[RS_STORE_PARTS]) {
  size_t key_bytes = strlen(key);
  uint64_t total = RS_ENTRY_HEADER + room(key_bytes) + RS_ENTRY_DIGEST;
  bool fits = key_bytes <= UINT32_MAX;
  for (int i = 0; i < RS_STORE_PARTS; i++) {
    fits = fits && parts[i].bytes <= UINT32_MAX;
    total += room(parts[i].bytes);
  }
  return fits ? total : 0;
}

unsigned char *rs_entry_encode(const char *key, const rs_part parts[RS_STORE_PARTS], size_t *bytes) {
  size_t key_bytes = strlen(key);
  uint64_t total = rs_entry_bytes(key, parts);
  unsigned char *file = !total || total > SIZE_MAX ? NULL : calloc(1, (size_t)total);
  if (!file)
    return NULL;
  memcpy(file, entry_magic, sizeof entry_magic);
  rs_put_number(file + AT_VERSION, RS_ENTRY_VERSION, 4);
  rs_put_number(file + AT_KEY, key_bytes, 4);
  unsigned char *end = append_padded(file + RS_ENTRY_HEADER, key, key_bytes);
  for (int i = 0; i < RS_STORE_PARTS; i++) {
    rs_put_number(file + AT_PARTS + 4 * i, parts[i].bytes, 4);
    end = append_padded(end, parts[i].data, parts[i].bytes);
  }
  rs_entry_digest(file, (size_t)(end - file), end);
  *bytes = (size_t)total;
  return file;
}

const char *rs_entry_check_header(const unsigned char header[RS_ENTRY_HEADER], uint64_t file_bytes) {
  if (memcmp(header, entry_magic, sizeof entry_magic) != 0)
    return "not an entry of rowscan";
  if (get_u32(header + AT_VERSION) != RS_ENTRY_VERSION)
    return "its format version is not supported";
  uint64_t total = RS_ENTRY_HEADER + room(get_u32(header + AT_KEY)) + RS_ENTRY_DIGEST;
  for (int i = 0; i < RS_STORE_PARTS; i++)
    total += room(get_u32(header + AT_PARTS + 4 * i));
  if (file_bytes < total)
    return "truncated";
  return file_bytes > total ? "longer than its header says" : NULL;
}

size_t rs_entry_key_bytes(const unsigned char header[RS_ENTRY_HEADER]) {
  return get_u32(header + AT_KEY);
}

static bool is_padded(const unsigned char *text, size_t bytes) {
  for (size_t end = (size_t)room(bytes); bytes < end; bytes++)
    if (text[bytes])
      return false;
  return true;
}

static const char digest_differs[] = "its digest differs", not_padded[] = "the padding of a part is not zero";
const char rs_entry_unread[] = "cannot be read", rs_entry_too_large[] = "too large for the available memory";

/* Of a file with a right digest, but for the part `without`, which is not there. */
static const char *find_texts(const unsigned char *file, int without, rs_decoded *decoded) {
  const unsigned char *at = file + RS_ENTRY_HEADER;
  size_t key_bytes = get_u32(file + AT_KEY);
  if (memchr(at, 0, key_bytes) || !is_padded(at, key_bytes))
    return "its key is not text";
  decoded->key = (const char *)at;
  at += room(key_bytes);
  for (int i = 0; i < RS_STORE_PARTS; i++) {
    decoded->part[i] = (rs_part){i == without ? NULL : at, get_u32(file + AT_PARTS + 4 * i)};
    if (i == without)
      continue;
    if (!is_padded(at, decoded->part[i].bytes))
      return not_padded;
    at += room(decoded->part[i].bytes);
  }
  return NULL;
}

const char *rs_entry_decode(const unsigned char *file, size_t bytes, rs_decoded *decoded) {
  const char *damage = bytes < RS_ENTRY_HEADER ? "truncated" : rs_entry_check_header(file, bytes);
  if (damage)
    return damage;
  unsigned char expected[RS_ENTRY_DIGEST];
  size_t digested = bytes - RS_ENTRY_DIGEST;
  rs_entry_digest(file, digested, expected);
  if (memcmp(file + digested, expected, sizeof expected) != 0)
    return digest_differs;
  return find_texts(file, RS_STORE_PARTS, decoded);
}

/* ---- piece by piece ---------------------------------------------------------------------------------------------- */

/* Bytes of a part that is not kept, at a time: what the processor's cache has room for. */
enum { PASSING = 32 * 1024 };

/* Where the part that is not kept is in a file, and the bytes of the file before it, of it, and after. */
typedef struct cut {
  size_t before, passed, after;
  size_t padding; /* of the bytes passed */
} cut;

static bool cut_file(const unsigned char *header, int without, cut *file) {
  uint64_t sum[3] = {RS_ENTRY_HEADER + room(get_u32(header + AT_KEY)), 0, RS_ENTRY_DIGEST}, padding = 0;
  for (int i = 0; i < RS_STORE_PARTS; i++) {
    uint64_t bytes = get_u32(header + AT_PARTS + 4 * i);
    sum[i < without ? 0 : i > without ? 2 : 1] += room(bytes);
    if (i == without)
      padding = room(bytes) - bytes;
  }
  *file = (cut){(size_t)sum[0], (size_t)sum[1], (size_t)sum[2], (size_t)padding};
  return sum[0] + sum[1] + sum[2] <= SIZE_MAX;
}

/* Goes through memory that is used anyway, for what comes after. */
static const char *pass(const cut *file, rs_entry_reader *read, void *user, unsigned char *through,
                        XXH3_state_t *state) {
  size_t most = file->after < PASSING ? file->after : PASSING, bytes = 0;
  for (size_t left = file->passed; left > 0; left -= bytes) {
    bytes = left < most ? left : most;
    if (!read(user, through, bytes))
      return rs_entry_unread;
    XXH3_128bits_update(state, through, bytes);
  }
  for (size_t i = 1; i <= file->padding; i++) /* the last bytes: these are as many at least */
    if (through[bytes - i])
      return not_padded;
  return NULL;
}

static const char *read_checked(const cut *file, rs_entry_reader *read, void *user, unsigned char *to) {
  XXH3_state_t state;
  unsigned char expected[RS_ENTRY_DIGEST], *after = to + file->before;
  if (!read(user, to + RS_ENTRY_HEADER, file->before - RS_ENTRY_HEADER))
    return rs_entry_unread;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, to, file->before);
  const char *damage = pass(file, read, user, after, &state);
  if (damage && damage != not_padded)
    return damage;
  if (!read(user, after, file->after))
    return rs_entry_unread;
  XXH3_128bits_update(&state, after, file->after - RS_ENTRY_DIGEST);
  put_digest(XXH3_128bits_digest(&state), expected);
  return memcmp(after + file->after - RS_ENTRY_DIGEST, expected, sizeof expected) != 0 ? digest_differs : damage;
}

const char *rs_entry_read(const unsigned char header[RS_ENTRY_HEADER], int without, rs_entry_reader *read, void *user,
                          void **memory, rs_decoded *decoded) {
  cut file;
  unsigned char *to = cut_file(header, without, &file) ? malloc(file.before + file.after) : NULL;
  if (!to) {
    errno = ENOMEM;
    return rs_entry_too_large;
  }
  memcpy(to, header, RS_ENTRY_HEADER);
  const char *damage = read_checked(&file, read, user, to);
  if (!damage)
    damage = find_texts(to, without, decoded);
  int error = errno; /* of `read` */
  if (damage)
    free(to);
  else
    *memory = to;
  errno = damage == rs_entry_unread || damage == rs_entry_too_large ? error : 0;
  return damage;
}

static const char *digest_rest(uint64_t bytes, rs_entry_reader *read, void *user, unsigned char *piece,
                               XXH3_state_t *state) {
  unsigned char expected[RS_ENTRY_DIGEST], digest[RS_ENTRY_DIGEST];
  for (size_t more = 0; bytes > 0; bytes -= more) {
    more = bytes < PASSING ? (size_t)bytes : PASSING;
    if (!read(user, piece, more))
      return rs_entry_unread;
    XXH3_128bits_update(state, piece, more);
  }
  if (!read(user, expected, sizeof expected))
    return rs_entry_unread;
  put_digest(XXH3_128bits_digest(state), digest);
  return memcmp(digest, expected, sizeof digest) != 0 ? digest_differs : NULL;
}

const char *rs_entry_check_digest(const unsigned char header[RS_ENTRY_HEADER], uint64_t file_bytes,
                                  rs_entry_reader *read, void *user) {
  XXH3_state_t state;
  unsigned char *piece = malloc(PASSING);
  if (!piece) {
    errno = ENOMEM;
    return rs_entry_too_large;
  }
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, header, RS_ENTRY_HEADER);
  const char *damage = digest_rest(file_bytes - RS_ENTRY_HEADER - RS_ENTRY_DIGEST, read, user, piece, &state);
  int error = errno; /* of `read` */
  free(piece);
  errno = damage == rs_entry_unread || damage == rs_entry_too_large ? error : 0;
  return damage;
}
