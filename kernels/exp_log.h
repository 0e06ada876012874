// exp_log.h - exp and log of numbers in a range, of additions, fma and bits alone: so with the same bits wherever they
// run SPDX-License-Identifier: MIT
//
// C and CUDA C++ read this text. Whoever includes it has f32, f64, u32, i32, u64, i64; RS_EXP_LOG, which stands before
// a function; and RS_FUSED(a, b, c), a * b + c with one rounding.
//
// Errors, in units of the last place of 1, tried on every f32 of the range and on random f64: exp_f32 1.3 of the result
// where d < 1 (5 where it is least), log_f32 0.74 where s < 2 and 1.4 of the result above; exp_f64 1.3, log_f64 0.7 and
// 1.3. exp(0) is 1, and log(1) is 0.
#ifndef RS_EXP_LOG_H
#define RS_EXP_LOG_H

typedef union rs_word_f32 {
  f32 value;
  u32 word;
} rs_word_f32;
typedef union rs_word_f64 {
  f64 value;
  u64 word;
} rs_word_f64;

// exp(-d), 0 <= d <= MOST_EXPONENT: 2^n * p(r), where r is what n * log(2) leaves of -d. Adding 1.5 * 2^23 rounds to a
// whole number, whose bits are then the lowest.
#define RS_MOST_f32 87.0f
RS_EXP_LOG f32 exp_f32(f32 d) {
  const f32 rounder = 12582912.0f;
  rs_word_f32 z, y;
  z.value = RS_FUSED(d, -0x1.715476p+0f, rounder);
  f32 n = z.value - rounder, r = RS_FUSED(n, -0x1.62e430p-1f, -d), p = 0x1.6a2416p-10f;
  p = RS_FUSED(p, r, 0x1.1239f2p-7f);
  p = RS_FUSED(p, r, 0x1.5558f2p-5f);
  p = RS_FUSED(p, r, 0x1.555492p-3f);
  p = RS_FUSED(p, r, 0x1.fffffcp-2f);
  p = RS_FUSED(p, r, 1.0f);
  y.value = RS_FUSED(p, r, 1.0f);
  y.word += z.word << 23;
  return y.value;
}

#define RS_MOST_f64 708.0
RS_EXP_LOG f64 exp_f64(f64 d) {
  const f64 rounder = 6755399441055744.0;
  rs_word_f64 z, y;
  z.value = RS_FUSED(d, -0x1.71547652b82fep+0, rounder);
  f64 n = z.value - rounder, r = RS_FUSED(n, -0x1.62e42fefa39efp-1, -d), p = 0x1.af38b4925be09p-26;
  r = RS_FUSED(n, -0x1.abc9e3b39803fp-56, r);
  p = RS_FUSED(p, r, 0x1.28918e390a71ep-22);
  p = RS_FUSED(p, r, 0x1.71de0da9d06acp-19);
  p = RS_FUSED(p, r, 0x1.a019b905bafb1p-16);
  p = RS_FUSED(p, r, 0x1.a01a01a7c54aep-13);
  p = RS_FUSED(p, r, 0x1.6c16c1788dc33p-10);
  p = RS_FUSED(p, r, 0x1.11111111109b2p-7);
  p = RS_FUSED(p, r, 0x1.5555555553d5ep-5);
  p = RS_FUSED(p, r, 0x1.5555555555556p-3);
  p = RS_FUSED(p, r, 0x1.0000000000001p-1);
  p = RS_FUSED(p, r, 1.0);
  y.value = RS_FUSED(p, r, 1.0);
  y.word += z.word << 52;
  return y.value;
}

// m + log(s), 1 <= s < 2^57: s = 2^n * (1 + f) with f from -1/3 to 1/3.
RS_EXP_LOG f32 log_f32(f32 s, f32 m) {
  const u32 two_thirds = 0x3f2aaaab;
  rs_word_f32 x, whole;
  x.value = s;
  u32 above = x.word - two_thirds;
  whole.word = 0x4b400000u + (u32)((i32)above >> 23);
  x.word = (above & 0x7fffff) + two_thirds;
  f32 f = x.value - 1.0f, n = whole.value - 12582912.0f, q = 0x1.2ab0f8p-3f;
  q = RS_FUSED(q, f, -0x1.401548p-3f);
  q = RS_FUSED(q, f, 0x1.1bffc2p-3f);
  q = RS_FUSED(q, f, -0x1.4f2942p-3f);
  q = RS_FUSED(q, f, 0x1.9a04c4p-3f);
  q = RS_FUSED(q, f, -0x1.001ce0p-2f);
  q = RS_FUSED(q, f, 0x1.555472p-2f);
  q = RS_FUSED(q, f, -0x1.ffffb0p-2f);
  return RS_FUSED(n, 0x1.62e400p-1f, m) + RS_FUSED(n, 0x1.7f7d1cp-20f, RS_FUSED(q, f * f, f));
}

RS_EXP_LOG f64 log_f64(f64 s, f64 m) {
  const u64 two_thirds = 0x3fe5555555555555;
  rs_word_f64 x, whole;
  x.value = s;
  u64 above = x.word - two_thirds;
  whole.word = 0x4338000000000000 + (u64)((i64)above >> 52);
  x.word = (above & 0xfffffffffffff) + two_thirds;
  f64 f = x.value - 1.0, n = whole.value - 6755399441055744.0, q = -0x1.4530c364ba9d7p-4;
  q = RS_FUSED(q, f, 0x1.53ee84f37149cp-4);
  q = RS_FUSED(q, f, -0x1.4cc52776f1283p-5);
  q = RS_FUSED(q, f, 0x1.5f1b05a15a198p-5);
  q = RS_FUSED(q, f, -0x1.d266833cd7aa3p-5);
  q = RS_FUSED(q, f, 0x1.eda4b7d8fa704p-5);
  q = RS_FUSED(q, f, -0x1.ff00d91d7037dp-5);
  q = RS_FUSED(q, f, 0x1.108c2bddfe376p-4);
  q = RS_FUSED(q, f, -0x1.2499533783f78p-4);
  q = RS_FUSED(q, f, 0x1.3b1b06564f0b4p-4);
  q = RS_FUSED(q, f, -0x1.555517628b5bap-4);
  q = RS_FUSED(q, f, 0x1.745cd6bf5a870p-4);
  q = RS_FUSED(q, f, -0x1.99999ae001f2fp-4);
  q = RS_FUSED(q, f, 0x1.c71c731b165e1p-4);
  q = RS_FUSED(q, f, -0x1.fffffffc51563p-4);
  q = RS_FUSED(q, f, 0x1.24924922a75eap-3);
  q = RS_FUSED(q, f, -0x1.5555555557c42p-3);
  q = RS_FUSED(q, f, 0x1.999999999c224p-3);
  q = RS_FUSED(q, f, -0x1.ffffffffffff1p-3);
  q = RS_FUSED(q, f, 0x1.555555555554dp-2);
  q = RS_FUSED(q, f, -0x1.0000000000000p-1);
  return RS_FUSED(n, 0x1.62e42fefa3800p-1, m) + RS_FUSED(n, 0x1.ef35793c76730p-45, RS_FUSED(q, f * f, f));
}

#endif
