/*
 * entry.c - any bytes as an entry of the cache
 * SPDX-License-Identifier: MIT
 *
 * What is accepted is an entry by the grammar too, with the right digest, and says what the bytes say; its texts
 * encoded anew are the same bytes. What is refused is none.
 */
#include "entry.h"
#include "fuzz.h"

static void check_texts(const uint8_t *data, const fuzz_entry *expected, const rs_decoded *decoded) {
  MUST((const uint8_t *)decoded->key == data + expected->key && strlen(decoded->key) == expected->key_bytes);
  for (int i = 0; i < FUZZ_PARTS; i++)
    MUST((const uint8_t *)decoded->part[i].data == data + expected->part[i] &&
         decoded->part[i].bytes == expected->part_bytes[i]);
}

static void encode_again(const uint8_t *data, size_t size, const rs_decoded *decoded) {
  size_t bytes;
  unsigned char *again = rs_entry_encode(decoded->key, decoded->part, &bytes);
  MUST(again && bytes == size && memcmp(again, data, size) == 0);
  free(again);
}

/* What is left of an entry to be read piece by piece. */
typedef struct rest {
  const uint8_t *data;
  size_t size;
} rest;

static bool read_on(void *user, void *to, size_t bytes) {
  rest *from = user;
  MUST(bytes <= from->size);
  memcpy(to, from->data, bytes);
  from->data += bytes;
  from->size -= bytes;
  return true;
}

/* With all parts, and without each: the same answer, and the same texts. */
static void try_pieces(const uint8_t *data, size_t size, const rs_decoded *whole) {
  for (int without = 0; without <= RS_STORE_PARTS; without++) {
    rest from = {data + RS_ENTRY_HEADER, size - RS_ENTRY_HEADER};
    rs_decoded decoded;
    void *memory = NULL;
    const char *damage = rs_entry_read(data, without, read_on, &from, &memory, &decoded);
    MUST(!damage == !!whole && !damage == !!memory);
    MUST(from.size == 0);
    for (int i = 0; whole && i < RS_STORE_PARTS; i++) {
      MUST(decoded.part[i].bytes == whole->part[i].bytes && !decoded.part[i].data == (i == without));
      MUST(i == without || !memcmp(decoded.part[i].data, whole->part[i].data, whole->part[i].bytes + 1));
    }
    MUST(!whole || !strcmp(decoded.key, whole->key));
    free(memory);
  }
}

static void try(const uint8_t *data, size_t size) {
  fuzz_entry expected;
  rs_decoded decoded;
  const char *damage = rs_entry_decode(data, size, &decoded);
  MUST(!damage == fuzz_is_entry(data, size, &expected));
  if (size >= RS_ENTRY_HEADER) /* of which a file is read */
    MUST(!rs_entry_check_header(data, size) == (fuzz_entry_size(data) == size));
  if (size >= RS_ENTRY_HEADER && !rs_entry_check_header(data, size))
    try_pieces(data, size, damage ? NULL : &decoded);
  if (!damage) {
    check_texts(data, &expected, &decoded);
    encode_again(data, size, &decoded);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *repaired = fuzz_copy(data, size);
  try(data, size);
  fuzz_repair_entry(repaired, size);
  try(repaired, size);
  free(repaired);
  return 0;
}
