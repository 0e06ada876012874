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

static void try(const uint8_t *data, size_t size) {
  fuzz_entry expected;
  rs_decoded decoded;
  const char *damage = rs_entry_decode(data, size, &decoded);
  MUST(!damage == fuzz_is_entry(data, size, &expected));
  if (size >= RS_ENTRY_HEADER) /* of which a file is read */
    MUST(!rs_entry_check_header(data, size) == (fuzz_entry_size(data) == size));
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
