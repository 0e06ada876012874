/*
 * half.h - half and bfloat16 as bits, to and from float and double; straight-line code that compilers vectorise
 * SPDX-License-Identifier: MIT
 *
 * Rounding is to nearest, ties to even, once. No step depends on subnormal arithmetic of the narrow type, and a NaN
 * stays a NaN.
 */
#ifndef RS_HALF_H
#define RS_HALF_H

#include <stdint.h>
#include <string.h>

#include "rowscan.h"

static inline uint32_t rs_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float rs_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline float rs_from_bf16(uint16_t x) {
  return rs_float((uint32_t)x << 16);
}

static inline uint16_t rs_to_bf16(float x) {
  uint32_t bits = rs_bits(x), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

static inline float rs_from_f16(uint16_t x) {
  uint32_t sign = (uint32_t)(x & 0x8000) << 16, magnitude = x & 0x7fff;
  uint32_t normal = (magnitude << 13) + (magnitude < 0x7c00 ? 112u << 23 : 224u << 23);
  uint32_t small = rs_bits((float)(int)magnitude * 0x1p-24f); /* a subnormal counts units of 2^-24 */
  return rs_float(sign | (magnitude < 0x400 ? small : normal));
}

static inline uint16_t rs_to_f16(float x) {
  uint32_t bits = rs_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  uint32_t small = rs_bits(rs_float(magnitude) + 0.5f) - rs_bits(0.5f); /* adding 1/2 rounds to units of 2^-24 */
  uint32_t large = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
  uint32_t half = magnitude < 113u << 23 ? small : magnitude < 143u << 23 ? normal : large;
  return (uint16_t)(sign | half);
}

/*
 * Rounds to odd: the neighbour towards zero, its last bit set if anything was cut off. A second rounding to a type at
 * least two bits narrower is then as good as one rounding from the double.
 */
static inline float rs_round_odd(double x) {
  float nearest = (float)x;
  double back = (double)nearest;
  uint32_t bits = rs_bits(nearest), away = (back < 0 ? -back : back) > (x < 0 ? -x : x), inexact = back != x;
  return rs_float((bits - away) | inexact);
}

/* A number as an element of a floating type, rounded once. */
static inline void rs_put_float(void *to, rowscan_type type, double x) {
  float single = (float)x;
  uint16_t half = type == ROWSCAN_F16 ? rs_to_f16(rs_round_odd(x)) : rs_to_bf16(rs_round_odd(x));
  if (type == ROWSCAN_F64)
    memcpy(to, &x, sizeof x);
  else if (type == ROWSCAN_F32)
    memcpy(to, &single, sizeof single);
  else
    memcpy(to, &half, sizeof half);
}

#endif
