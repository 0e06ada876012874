/*
 * pack.c - any bytes as a pack
 * SPDX-License-Identifier: MIT
 *
 * A pack opens if and only if its header, index and digest are what cache/README.md says; an entry of it is served if
 * and only if it is one, under the id of its key; and what is served is what lies there. If all of it is as a writer
 * makes it, the writer makes the same bytes of the same entries.
 */
#include "pack.h"
#include "fuzz.h"

enum { HEADER = 16, ITEM = 48, DIGEST = 16 };

/* ---- the second opinion ------------------------------------------------------------------------------------------ */

typedef struct item {
  const uint8_t *id, *stem;
  uint64_t offset, bytes;
} item;

static size_t index_of(const uint8_t *data, size_t size) {
  return size - DIGEST - (size_t)fuzz_number(data + 12, 4) * ITEM;
}

static item item_of(const uint8_t *data, size_t size, uint32_t i) {
  const uint8_t *at = data + index_of(data, size) + (size_t)i * ITEM;
  return (item){at, at + 16, fuzz_number(at + 32, 8), fuzz_number(at + 40, 8)};
}

/* Of header and index. */
static void digest_head(const uint8_t *data, size_t size, uint8_t to[DIGEST]) {
  size_t index = index_of(data, size), bytes = size - DIGEST - index;
  uint8_t *head = fuzz_copy(data, HEADER + bytes);
  memcpy(head + HEADER, data + index, bytes);
  fuzz_digest(head, HEADER + bytes, to);
  free(head);
}

static bool has_room(const uint8_t *data, size_t size) {
  return size >= HEADER + DIGEST && fuzz_number(data + 12, 4) <= (size - HEADER - DIGEST) / ITEM;
}

static bool is_pack(const uint8_t *data, size_t size) {
  static const uint8_t begin[12] = {0x89, 'r', 's', 'p', 13, 10, 26, 10, 1, 0, 0, 0};
  uint8_t digest[DIGEST];
  if (!has_room(data, size) || memcmp(data, begin, sizeof begin) != 0)
    return false;
  digest_head(data, size, digest);
  if (memcmp(digest, data + size - DIGEST, DIGEST) != 0)
    return false;
  uint64_t end = index_of(data, size), sum = HEADER;
  for (uint32_t i = 0; i < fuzz_number(data + 12, 4); i++) {
    item one = item_of(data, size, i);
    if (one.offset < HEADER || one.offset > end || one.bytes > end - one.offset || (sum += one.bytes) > end)
      return false;
    if (i && memcmp(item_of(data, size, i - 1).id, one.id, 16) >= 0)
      return false;
  }
  return sum == end;
}

/* The key without its last line. */
static size_t stem_of(const uint8_t *key, size_t bytes) {
  size_t stem = 0;
  for (size_t i = 0; i + 1 < bytes; i++)
    if (key[i] == '\n')
      stem = i + 1;
  return stem;
}

/* ---- an open pack ------------------------------------------------------------------------------------------------ */

static void check_get(const rs_pack *pack, const char *key, const void *entry, size_t bytes) {
  rs_loaded loaded;
  const char *damage;
  MUST(rs_pack_get(pack, key, &loaded, &damage) && !damage);
  MUST((size_t)loaded.status.st_size == bytes && memcmp(loaded.memory, entry, bytes) == 0);
  free(loaded.memory);
}

static void check_get_stem(const rs_pack *pack, const char *key, size_t stem_bytes) {
  char *stem = strndup(key, stem_bytes);
  rs_loaded loaded;
  const char *damage;
  MUST(stem && rs_pack_get_stem(pack, stem, strlen(stem), &loaded, &damage) && !damage);
  const uint8_t *found = (const uint8_t *)loaded.texts.key;
  MUST(stem_of(found, strlen(loaded.texts.key)) == stem_bytes && memcmp(found, stem, stem_bytes) == 0);
  free(loaded.memory);
  free(stem);
}

/* Returns whether it is as a writer would make it, who has put as many bytes so far; if so the writer has it. */
static bool check_item(const rs_pack *pack, const uint8_t *data, size_t size, uint32_t i, uint64_t used,
                       rs_pack_writer *writer) {
  item one = item_of(data, size, i);
  uint8_t *entry = fuzz_copy(data + one.offset, (size_t)one.bytes), id[16], stem[16];
  fuzz_entry expected;
  rs_loaded loaded;
  const char *damage;
  bool sound = fuzz_is_entry(entry, (size_t)one.bytes, &expected);
  if (sound) {
    fuzz_id(entry + expected.key, expected.key_bytes, id);
    sound = memcmp(id, one.id, sizeof id) == 0;
  }
  MUST(rs_pack_load(pack, i, &loaded, &damage) == sound && !damage == sound);
  bool written = false;
  if (sound) {
    const char *key = loaded.texts.key;
    size_t stem_bytes = stem_of(entry + expected.key, expected.key_bytes);
    MUST(strlen(key) == expected.key_bytes && memcmp(loaded.memory, entry, (size_t)one.bytes) == 0);
    check_get(pack, key, entry, (size_t)one.bytes);
    fuzz_id(entry + expected.key, stem_bytes, stem);
    bool right = memcmp(stem, one.stem, sizeof stem) == 0;
    if (right)
      check_get_stem(pack, key, stem_bytes);
    rs_pack_add(writer, key, loaded.memory, (size_t)one.bytes);
    written = right && one.offset == used;
    free(loaded.memory);
  }
  free(entry);
  return written;
}

static void try(const uint8_t *data, size_t size) {
  rs_pack pack;
  rs_loaded loaded;
  const char *damage = rs_pack_view(&pack, data, size);
  MUST(!damage == is_pack(data, size));
  if (damage)
    return;
  rs_pack_writer writer = {0};
  bool written = true;
  uint64_t used = HEADER;
  MUST(pack.count == fuzz_number(data + 12, 4));
  for (uint32_t i = 0; i < pack.count; i++) {
    written &= check_item(&pack, data, size, i, used, &writer);
    used += item_of(data, size, i).bytes;
  }
  MUST(!rs_pack_get(&pack, "a key that no entry has", &loaded, &damage));
  rs_pack_close(&pack);
  size_t bytes;
  unsigned char *again = rs_pack_finish(&writer, &bytes);
  MUST(again && (!written || (bytes == size && memcmp(again, data, size) == 0)));
  free(again);
}

/* ---- repair ------------------------------------------------------------------------------------------------------ */

static int by_id(const void *left, const void *right) {
  return memcmp(left, right, 16);
}

/* Of all entries that the index leads to: their digests, and their ids in the index. */
static void repair_entries(uint8_t *data, size_t size) {
  uint32_t count = (uint32_t)fuzz_number(data + 12, 4);
  size_t end = index_of(data, size);
  for (uint32_t i = 0; i < count; i++) {
    item one = item_of(data, size, i);
    fuzz_entry entry;
    if (one.offset < HEADER || one.offset > end || one.bytes > end - one.offset)
      continue;
    uint8_t *at = data + one.offset;
    fuzz_repair_entry(at, (size_t)one.bytes);
    if (!fuzz_is_entry(at, (size_t)one.bytes, &entry))
      continue;
    fuzz_id(at + entry.key, entry.key_bytes, (uint8_t *)one.id);
    if (entry.key_bytes % 2) /* half of the stems stay as they are */
      fuzz_id(at + entry.key, stem_of(at + entry.key, entry.key_bytes), (uint8_t *)one.stem);
  }
  qsort(data + end, count, ITEM, by_id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try(data, size);
  if (!has_room(data, size))
    return 0;
  uint8_t *repaired = fuzz_copy(data, size);
  digest_head(repaired, size, repaired + size - DIGEST);
  try(repaired, size);
  repair_entries(repaired, size);
  digest_head(repaired, size, repaired + size - DIGEST);
  try(repaired, size);
  free(repaired);
  return 0;
}
