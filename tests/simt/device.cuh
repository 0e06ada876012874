// device.cuh - the twin of kernels/device.cuh: the same names on a CPU, one fibre a thread
// SPDX-License-Identifier: MIT
//
// Compiled by g++ in place of kernels/device.cuh, so that the very templates that NVRTC compiles run under ASan and
// UBSan. Threads switch only inside the calls of simt_state marked so; everything between two such calls is one step.
#pragma once
#include "runtime.h"

#define RS_DEVICE static inline
#define RS_METHOD inline
#define RS_KERNEL(threads, blocks) extern "C" __attribute__((visibility("default"))) void
#define RS_PARAMETER(type, name) const type &name
#define RS_SHARED static // module.c finds these by their symbols, and gives each block its own contents

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

// Set when the code is loaded.
extern "C" {
__attribute__((visibility("default"))) simt_state *simt;
}

#ifdef SIMT_RACES
#include "races.cuh"
#endif

// nvrtc.c adds one line a kernel: SIMT_FACTS(name, launch bounds).
template <class... P>
constexpr simt_facts simt_facts_of(void (*)(const P &...), unsigned threads, unsigned blocks = 0) {
  static_assert(sizeof...(P) <= SIMT_MAX_PARAMETERS && (sizeof(P) + ... + 0) <= SIMT_MAX_PARAMETER_BYTES,
                "parameters of a kernel take up to 4096 bytes");
  static_assert((__is_trivially_copyable(P) && ...), "parameters of a kernel are copied as bytes");
  return {threads, blocks, sizeof...(P), {sizeof(P)...}, {alignof(P)...}};
}
#define SIMT_FACTS(name, ...)                                                                                          \
  extern "C" __attribute__((visibility("default"))) const simt_facts simt_facts_##name;                                \
  constexpr simt_facts simt_facts_##name = simt_facts_of(name, __VA_ARGS__);

// Where a thread stands.
RS_DEVICE u32 thread_index() {
  return simt->thread;
}
RS_DEVICE u32 lane_index() {
  return simt->thread % SIMT_WARP;
}
RS_DEVICE u32 block_index() {
  return simt->block;
}
RS_DEVICE u32 block_count() {
  return simt->blocks;
}

RS_DEVICE void await_dependencies() {
  simt->await_dependencies();
}

// Exchanges inside a warp, of words that mean something.
template <class...> using Void = void;
template <class T, class = void> constexpr int WORDS_OF = sizeof(T) / 4;
template <class T> constexpr int WORDS_OF<T, Void<decltype(T::WORDS)>> = T::WORDS;
template <class T> RS_DEVICE T simt_meet(int kind, T value, int argument) {
  static_assert(sizeof(T) % 4 == 0, "shuffles move whole words");
  constexpr int BYTES = 4 * WORDS_OF<T>, AT_ONCE = BYTES % 8 ? 4 : 8;
  for (int i = 0; i < BYTES; i += AT_ONCE) {
    u64 bits = 0;
    __builtin_memcpy(&bits, reinterpret_cast<char *>(&value) + i, AT_ONCE);
    bits = simt->meet(kind, bits, AT_ONCE, argument);
    __builtin_memcpy(reinterpret_cast<char *>(&value) + i, &bits, AT_ONCE);
  }
  return value;
}
template <class T> RS_DEVICE T shuffle_xor(T value, int mask) {
  return simt_meet(SIMT_SHUFFLE_XOR, value, mask);
}
template <class T> RS_DEVICE T shuffle_down(T value) {
  return simt_meet(SIMT_SHUFFLE_DOWN, value, 1);
}
template <class T> RS_DEVICE T shuffle_from(T value, int lane) {
  return simt_meet(SIMT_SHUFFLE_FROM, value, lane);
}

RS_DEVICE bool any_lane(bool mine) {
  return simt_meet<u32>(SIMT_BALLOT, mine, 0) != 0;
}
RS_DEVICE bool alike(bool all) {
  return !any_lane(!all);
}

RS_DEVICE void warp_barrier() {
  simt->meet(SIMT_WARP_BARRIER, 0, 0, 0);
}
RS_DEVICE void block_barrier() {
  simt->barrier(0, 0);
}

// Words.
struct alignas(16) u128 {
  u32 part[4];
};
template <int BYTES> struct Word;
template <> struct Word<1> { using type = u8; };
template <> struct Word<2> { using type = u16; };
template <> struct Word<4> { using type = u32; };
template <> struct Word<8> { using type = u64; };
template <> struct Word<16> { using type = u128; };

// A GPU faults on an access that is not a multiple of its own width, and on one outside its memory.
template <class T> RS_DEVICE void simt_access(const T *at, bool write) {
  u64 address = reinterpret_cast<u64>(at);
  if (address % sizeof(T))
    simt->fail(write ? "misaligned store" : "misaligned load", at);
  if (address < simt->low || address - simt->low + sizeof(T) > simt->room)
    simt->access(at, sizeof(T), write);
}
template <class T> RS_DEVICE T load_stream(const T *at) {
  static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0, "a word");
  simt_access(at, false);
  return *at;
}
template <class T> struct simt_same { using type = T; };
template <class T> RS_DEVICE void store_word(T *at, typename simt_same<T>::type value) {
  static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0, "a word");
  simt_access(at, true);
  *at = value;
}

// Words through which blocks tell one another.
RS_DEVICE u64 word_add(u64 *at, u64 value) {
  simt_access(at, true);
  u64 old = *at;
  *at = old + value;
  simt->progress++;
  return old;
}
RS_DEVICE u64 word_peek(const u64 *at) {
  simt_access(at, false);
  simt->spin();
  return *at;
}
RS_DEVICE u64 word_answer(u64 word) {
  return word;
}
RS_DEVICE void word_peek_if(u64 &value, const u64 *at, bool now) {
  if (now)
    value = word_peek(at);
}
RS_DEVICE void word_tell(u64 *at, u64 value) {
  simt_access(at, true);
  *at = value;
  simt->progress++;
}

RS_DEVICE void word_fence() { // every store is seen at once
}

RS_DEVICE void delay() { // the order of turns is random anyway
}

template <class T> RS_DEVICE void share_word(T *at, typename simt_same<T>::type value) {
  if (reinterpret_cast<u64>(at) % sizeof(T))
    simt->fail("misaligned store", at);
  *at = value;
}

template <class T> RS_DEVICE void fetch(T *to, const T *from) {
  load_stream(from); // checks it
  if (reinterpret_cast<u64>(to) % sizeof(T))
    simt->fail("misaligned fetch", to);
  simt->fetch(to, from, sizeof(T));
}
RS_DEVICE void send(u128 *to, const u128 *from) {
  if (reinterpret_cast<u64>(from) % sizeof(u128))
    simt->fail("misaligned load", from);
  store_word(to, *from);
}
RS_DEVICE void fetch_wait() {
  simt->fetch_wait();
}
RS_DEVICE void forget(u32 &) {
}

RS_DEVICE u32 funnel_right(u32 low, u32 high, u32 bits) {
  return (u32)(((u64)high << 32 | low) >> bits % 32);
}
RS_DEVICE u32 funnel_left(u32 low, u32 high, u32 bits) {
  return (u32)(((u64)high << 32 | low) << bits % 32 >> 32);
}

RS_DEVICE i32 signed_byte(u32 word, u32 k) {
  return (i8)(word >> 8 * k);
}
RS_DEVICE u32 unsigned_byte(u32 word, u32 k) {
  return (u8)(word >> 8 * k);
}
RS_DEVICE u32 pack_bytes(u32 a, u32 b, u32 c, u32 d) {
  return (u8)a | (u32)(u8)b << 8 | (u32)(u8)c << 16 | (u32)(u8)d << 24;
}

RS_DEVICE u32 add_bytes(u32 bytes, u32 which, u32 to) {
  for (u32 k = 0; k < 4; k++)
    to += unsigned_byte(bytes, k) * unsigned_byte(which, k);
  return to;
}
RS_DEVICE u32 add_signed_bytes(u32 bytes, u32 which, u32 to) {
  for (u32 k = 0; k < 4; k++)
    to += (u32)signed_byte(bytes, k) * unsigned_byte(which, k);
  return to;
}

// Conversions; each rounds once, to nearest even.
RS_DEVICE u32 float_bits(f32 value) {
  u32 bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
RS_DEVICE f32 float_from_bits(u32 bits) {
  f32 value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
RS_DEVICE f32 float_toward_zero(f64 value) {
  f32 near = (f32)value;
  f64 size = value < 0 ? -value : value, near_size = near < 0 ? -(f64)near : (f64)near;
  bool away = near_size > size; // rounded away from zero, to infinity perhaps: one step back
  return away ? float_from_bits(float_bits(near) - 1) : near;
}
RS_DEVICE f32 float_toward_zero(i64 value) {
  u64 size = value < 0 ? 0 - (u64)value : (u64)value;
  u32 shift = size >> 24 ? 40 - (u32)__builtin_clzll(size) : 0; // what 24 bits have no room for
  f32 kept = (f32)(size >> shift << shift);
  return value < 0 ? -kept : kept;
}
RS_DEVICE f32 float_to_odd(f64 value) { // toward zero, with the last bit set if anything was lost
  f32 kept = float_toward_zero(value);
  return (f64)kept == value || value != value ? kept : float_from_bits(float_bits(kept) | 1);
}
RS_DEVICE i64 nearest_whole(f64 value) {
  const f64 end = 9223372036854775808.0; // 2^63
  if (value >= end)
    return (i64)(~0ull >> 1);
  return value > -end ? (i64)__builtin_rint(value) : (i64)(1ull << 63);
}
RS_DEVICE i64 nearest_whole(f32 value) {
  return nearest_whole((f64)value);
}
RS_DEVICE f32 half_to_float(u16 bits) {
  u32 sign = (u32)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 31)
    return float_from_bits(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) { // fraction * 2^-24, exactly
    f32 size = (f32)fraction * float_from_bits(103u << 23);
    return sign ? -size : size;
  }
  return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}
// a * b + c: of floats with one rounding, of integers modulo 2^32 and 2^64.
RS_DEVICE f32 fused(f32 a, f32 b, f32 c) {
  return __builtin_fmaf(a, b, c);
}
RS_DEVICE f64 fused(f64 a, f64 b, f64 c) {
  return __builtin_fma(a, b, c);
}
RS_DEVICE u32 fused(u32 a, u32 b, u32 c) {
  return a * b + c;
}
RS_DEVICE u64 fused(u64 a, u64 b, u64 c) {
  return a * b + c;
}
RS_DEVICE f32 absolute(f32 x) {
  return __builtin_fabsf(x);
}
RS_DEVICE f64 absolute(f64 x) {
  return __builtin_fabs(x);
}
// The smaller one; of a NaN and a number the number.
RS_DEVICE f32 smaller(f32 a, f32 b) {
  return __builtin_fminf(a, b);
}
RS_DEVICE f64 smaller(f64 a, f64 b) {
  return __builtin_fmin(a, b);
}
// The larger one, or a NaN if either is one; of zeros either.
RS_DEVICE f32 larger(f32 a, f32 b) {
  return a > b || a != a ? a : b;
}
RS_DEVICE f64 larger(f64 a, f64 b) {
  return a > b || a != a ? a : b;
}
// Drops the low `bits` of a number, rounding to nearest even.
RS_DEVICE u32 simt_round(u32 value, int bits) {
  u32 half = 1u << (bits - 1), rest = value & (2 * half - 1), kept = value >> bits;
  return kept + (rest > half || (rest == half && (kept & 1)));
}
RS_DEVICE u16 float_to_half(f32 value) {
  u32 all = float_bits(value), sign = all >> 16 & 0x8000, size = all & 0x7fffffff;
  if (size > 0x7f800000)
    return 0x7fff; // what the GPU makes of any NaN
  if (size >= 143u << 23)
    return (u16)(sign | 0x7c00); // 2^16 and more
  if (size >= 113u << 23)        // normal: a carry out of the fraction goes into the exponent, up to infinity
    return (u16)(sign | (simt_round(size, 13) - (112u << 10)));
  u32 exponent = size >> 23; // subnormal: a multiple of 2^-24
  if (exponent < 101)
    return (u16)sign;
  return (u16)(sign | simt_round((size & 0x7fffff) | 0x800000, (int)(126 - exponent)));
}
RS_DEVICE u16 float_to_bfloat(f32 value) {
  return value != value ? (u16)0x7fff : (u16)simt_round(float_bits(value), 16);
}
RS_DEVICE u16 float_to_half(f64 value) {
  return float_to_half(float_to_odd(value));
}
RS_DEVICE u16 float_to_bfloat(f64 value) {
  return float_to_bfloat(float_to_odd(value));
}
RS_DEVICE u32 floats_to_halves(f32 low, f32 high) {
  return float_to_half(low) | (u32)float_to_half(high) << 16;
}
RS_DEVICE u32 floats_to_bfloats(f32 low, f32 high) {
  return float_to_bfloat(low) | (u32)float_to_bfloat(high) << 16;
}

// Bulk copies: bulk.c does them late.
#define RS_BULK (__CUDA_ARCH__ >= 900)
#define RS_DYNAMIC_SHARED(name) unsigned char *const name = static_cast<unsigned char *>(simt->dynamic)

struct Arrival {
  u64 state;
};
RS_DEVICE void simt_needs_bulk(const void *at) {
  if (__CUDA_ARCH__ < 900)
    simt->fail("bulk copies below sm_90", at);
}
RS_DEVICE void arrivals_init(Arrival *arrivals, int count, u32 parties = 1) {
  simt_needs_bulk(arrivals);
  simt->bulk_init(arrivals, count, parties);
}
RS_DEVICE void arrival_signal(Arrival *arrival) {
  simt->bulk_expect(arrival, 0);
}
RS_DEVICE void arrival_expect(Arrival *arrival, u32 bytes) {
  simt->bulk_expect(arrival, bytes);
}
RS_DEVICE void arrival_wait(Arrival *arrival, u32 phase) {
  simt->bulk_await(arrival, phase);
}
RS_DEVICE void bulk_load(void *to, const void *from, u32 bytes, Arrival *arrival) {
  simt->bulk_load(to, from, bytes, arrival);
}
RS_DEVICE void bulk_prefetch(const void *from, u32 bytes) {
  simt->bulk_prefetch(from, bytes);
}
RS_DEVICE void bulk_fence() {
  simt->bulk_fence();
}
RS_DEVICE void bulk_store(void *to, const void *from, u32 bytes) {
  simt_needs_bulk(to);
  simt->bulk_store(to, from, bytes);
}
template <int PENDING> RS_DEVICE void bulk_wait() {
  simt->bulk_drain(PENDING);
}
template <int PENDING = 0> RS_DEVICE void bulk_wait_own() {
  simt->bulk_drain(-1 - PENDING);
}
