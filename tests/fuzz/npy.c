/*
 * npy.c - any bytes as an .npy file
 * SPDX-License-Identifier: MIT
 *
 * What is accepted lies within the file and contradicts itself nowhere; the header that is written for it is read back
 * with the same facts. Whether NumPy reads the same in it is asked of NumPy itself, by npy_check.py, about all inputs
 * that the fuzzer kept.
 */
#include "cli/npy.h"
#include "fuzz.h"

/* A number of Python begins with no zero, unless it is nothing but zeros. */
static void check_numbers(const uint8_t *text, size_t length) {
  for (size_t i = 0, digits; i < length; i += digits) {
    for (digits = 0; i + digits < length && text[i + digits] >= '0' && text[i + digits] <= '9';)
      digits++;
    size_t zeros = 0;
    while (zeros < digits && text[i + zeros] == '0')
      zeros++;
    MUST(!zeros || zeros == digits);
    digits += !digits;
  }
}

static void check_facts(const npy_header *header, const uint8_t *data, size_t size, bool allow_bf16) {
  int64_t count = 1;
  size_t start = data[6] == 1 ? 10 : 12;
  MUST(size >= start && memcmp(data, "\x93NUMPY", 6) == 0 && data[6] >= 1 && data[6] <= 3 && data[7] == 0);
  MUST(header->data_start == start + fuzz_number(data + 8, (int)start - 8) && header->data_start <= size);
  MUST(header->rank >= 0 && header->rank <= NPY_RANK_MAX);
  for (int d = 0; d < header->rank; d++)
    MUST(header->shape[d] >= 0 && !__builtin_mul_overflow(count, header->shape[d], &count));
  MUST(header->count == count && header->bytes == count * (int64_t)rowscan_type_bytes(header->type));
  MUST(header->bytes <= (int64_t)(size - header->data_start));
  MUST(allow_bf16 || header->type != ROWSCAN_BF16);
  MUST(memmem(data, header->data_start, header->descr, strlen(header->descr)));
  check_numbers(data + start, header->data_start - start);
}

/* As rowscan writes it: in C order, with room for the data. */
static void write_again(const npy_header *header) {
  char text[NPY_HEADER_MAX], why[NPY_WHY_MAX];
  npy_header again;
  size_t length = npy_format(text, header->type, header->rank, header->shape);
  MUST(length % 64 == 0 && length <= sizeof text);
  uint8_t *file = calloc(1, length + (size_t)header->bytes);
  MUST(file);
  memcpy(file, text, length);
  MUST(npy_parse(&again, file, length + (size_t)header->bytes, true, why));
  MUST(again.type == header->type && again.rank == header->rank && !again.fortran && again.data_start == length);
  MUST(memcmp(again.shape, header->shape, sizeof again.shape) == 0);
  MUST(again.count == header->count && again.bytes == header->bytes);
  free(file);
}

static bool try(const uint8_t *data, size_t size, bool allow_bf16) {
  npy_header header;
  char why[NPY_WHY_MAX] = "";
  bool good = npy_parse(&header, data, size, allow_bf16, why);
  MUST(good || *why);
  MUST((npy_wanted(data, size, allow_bf16) > size) == (size == 0 || strncmp(why, "truncated", 9) == 0));
  if (good) {
    check_facts(&header, data, size, allow_bf16);
    write_again(&header);
  }
  return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bool with = try(data, size, true), without = try(data, size, false);
  MUST(with || !without);
  return 0;
}
