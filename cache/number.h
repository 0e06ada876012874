/*
 * number.h - unsigned numbers in files, little-endian
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_NUMBER_H
#define RS_NUMBER_H

#include <stdint.h>

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
