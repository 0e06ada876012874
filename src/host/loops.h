/*
 * loops.h - all inner loops of the host engine and their table, for one instruction set
 * SPDX-License-Identifier: MIT
 *
 * Included once by each host_<isa>.c, which has chosen the target and defined RS_ISA (the table's name),
 * RS_VECTOR_BYTES and, where the target has it, RS_HAVE_F16C. The simple loops are left to the compiler to vectorise.
 */
#include "isa.h"
#include "ops.h"
#include "spec/half.h"

/* Only an optimized build inlines all: the copies for each constant `op` take 8 times as long to compile. */
#ifdef __OPTIMIZE__
#define RS_INLINE static inline __attribute__((always_inline))
#else
#define RS_INLINE static inline
#endif

/* ---- shuffles ---------------------------------------------------------------------------------------------------- */

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define RS_SHUFFLE(indices, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef RS_SHUFFLE /* gcc before 12 */
#define RS_SHUFFLE(indices, a, b, ...) __builtin_shuffle(a, b, (indices){__VA_ARGS__})
#endif

#define RS_XOR(i, d) ((i) ^ (d))
#define RS_BLEND(i, d) ((i) & (d) ? (i) + RS_LANES : (i))

#define RS_LIST_2(F, d) F(0, d), F(1, d)
#define RS_LIST_4(F, d) RS_LIST_2(F, d), F(2, d), F(3, d)
#define RS_LIST_8(F, d) RS_LIST_4(F, d), F(4, d), F(5, d), F(6, d), F(7, d)
#define RS_LIST_16(F, d) RS_LIST_8(F, d), F(8, d), F(9, d), F(10, d), F(11, d), F(12, d), F(13, d), F(14, d), F(15, d)

/* ---- one scan for each accumulator ------------------------------------------------------------------------------- */

#define RS_W float
#define RS_SIZE 4
#define RS_INDEX int32_t
#define RS_TAG f32
#define RS_WHOLE 0
#define RS_SCAN_OPS RS_ARITHMETIC_OPS
#include "scan.h"
#undef RS_W
#undef RS_SIZE
#undef RS_INDEX
#undef RS_TAG
#undef RS_WHOLE
#undef RS_SCAN_OPS

#define RS_W uint32_t
#define RS_SIZE 4
#define RS_INDEX int32_t
#define RS_TAG u32
#define RS_WHOLE 1
#define RS_SCAN_OPS RS_LOOP_OPS
#include "scan.h"
#undef RS_W
#undef RS_SIZE
#undef RS_INDEX
#undef RS_TAG
#undef RS_WHOLE
#undef RS_SCAN_OPS

#define RS_W double
#define RS_SIZE 8
#define RS_INDEX int64_t
#define RS_TAG f64
#define RS_WHOLE 0
#define RS_SCAN_OPS RS_ARITHMETIC_OPS
#include "scan.h"
#undef RS_W
#undef RS_SIZE
#undef RS_INDEX
#undef RS_TAG
#undef RS_WHOLE
#undef RS_SCAN_OPS

#define RS_W uint64_t
#define RS_SIZE 8
#define RS_INDEX int64_t
#define RS_TAG u64
#define RS_WHOLE 1
#define RS_SCAN_OPS RS_LOOP_OPS
#include "scan.h"
#undef RS_W
#undef RS_SIZE
#undef RS_INDEX
#undef RS_TAG
#undef RS_WHOLE
#undef RS_SCAN_OPS

/* ---- totals of several numbers ----------------------------------------------------------------------------------- */

#include "totals.h"

/* ---- lines of bytes ---------------------------------------------------------------------------------------------- */

/*
 * Lines of bytes by vectors, aligned where they are written. Not memcpy: past 2 KB it is `rep movsb` on some
 * processors, which on Zen 3 and 4 copies 4 times slower to addresses 16 to 47 bytes past a page.
 */
typedef char bytes_vec __attribute__((vector_size(RS_VECTOR_BYTES), may_alias));
typedef char bytes_any __attribute__((vector_size(RS_VECTOR_BYTES), aligned(1), may_alias));

#define MOVE_ENDS(size)                                                                                                \
  if (n >= (size)) {                                                                                                   \
    char first[size], last[size];                                                                                      \
    __builtin_memcpy(first, f, size);                                                                                  \
    __builtin_memcpy(last, f + n - (size), size);                                                                      \
    __builtin_memcpy(t, first, size);                                                                                  \
    __builtin_memcpy(t + n - (size), last, size);                                                                      \
    return;                                                                                                            \
  }

/* Fewer bytes than two vectors. */
RS_INLINE void move_few(char *t, const char *f, int64_t n) {
#if RS_VECTOR_BYTES >= 64
  MOVE_ENDS(64)
#endif
#if RS_VECTOR_BYTES >= 32
  MOVE_ENDS(32)
#endif
  MOVE_ENDS(16)
  MOVE_ENDS(8)
  MOVE_ENDS(4)
  MOVE_ENDS(2)
  if (n)
    *t = *f;
}

RS_INLINE void move_line(char *t, const char *f, int64_t n, const char *ahead) {
  if (n < 2 * RS_VECTOR_BYTES) {
    move_few(t, f, n);
    return;
  }
  int64_t i = RS_VECTOR_BYTES - ((intptr_t)t & (RS_VECTOR_BYTES - 1));
  *(bytes_any *)t = *(const bytes_any *)f;
  for (; i + 64 <= n; i += 64) {
    __builtin_prefetch(ahead + i);
    for (int j = 0; j < 64; j += RS_VECTOR_BYTES)
      *(bytes_vec *)(t + i + j) = *(const bytes_any *)(f + i + j);
  }
  for (; i + RS_VECTOR_BYTES <= n; i += RS_VECTOR_BYTES)
    *(bytes_vec *)(t + i) = *(const bytes_any *)(f + i);
  *(bytes_any *)(t + n - RS_VECTOR_BYTES) = *(const bytes_any *)(f + n - RS_VECTOR_BYTES);
}

static void copy(void *to, const void *from, rs_grid g, const void *ahead) {
  for (int64_t l = 0; l < g.lines; l++) {
    const char *f = (const char *)from + l * g.from;
    move_line((char *)to + l * g.to, f, g.n, ahead ? (const char *)ahead + l * g.mask : f);
  }
}

static void fetch_at(void *to, const void *from, rs_grid g, const int64_t *at, int64_t bytes) {
  for (int64_t l = 0; l < g.lines; l++) {
    const char *f = (const char *)from + at[l] * bytes;
    move_line((char *)to + l * g.to, f, g.n, f);
  }
}

static void spread_at(void *to, const void *from, rs_grid g, const int64_t *at, int64_t bytes) {
  for (int64_t l = 0; l < g.lines; l++) {
    const char *f = (const char *)from + l * g.from;
    move_line((char *)to + at[l] * bytes, f, g.n, f);
  }
}

#if defined(__x86_64__)
RS_INLINE void stream_64(char *t, const char *f) {
  for (int j = 0; j < 64; j += RS_VECTOR_BYTES) {
#if RS_VECTOR_BYTES == 64
    _mm512_stream_si512((__m512i *)(t + j), _mm512_loadu_si512(f + j));
#elif RS_VECTOR_BYTES == 32
    _mm256_stream_si256((__m256i *)(t + j), _mm256_loadu_si256((const __m256i *)(f + j)));
#else
    _mm_stream_si128((__m128i *)(t + j), _mm_loadu_si128((const __m128i *)(f + j)));
#endif
  }
}

static void stream(void *to, const void *from, rs_grid g, const void *ahead, char *joint, bool first, bool last) {
  for (int64_t l = 0; l < g.lines; l++) {
    char *t = (char *)to + l * g.to, *held = joint ? joint + l * RS_JOINT_BYTES : NULL;
    const char *f = (const char *)from + l * g.from, *next = ahead ? (const char *)ahead + l * g.mask : f;
    int64_t i = -(intptr_t)t & 63, before = 64 - i; /* bytes to the next cache line, and those held of this one */
    if (i > g.n) {
      i = 0;
      if (held && !first)
        move_line(t - before, held, before, held);
    } else if (i && held && !first) {
      move_line(held + before, f, i, f);
      stream_64(t - before, held);
    } else {
      move_line(t, f, i, f);
    }
    for (; i + 64 <= g.n; i += 64) {
      __builtin_prefetch(next + i);
      stream_64(t + i, f + i);
    }
    if (held && !last)
      move_line(held, f + i, g.n - i, f);
    else
      move_line(t + i, f + i, g.n - i, f);
  }
}

static void fence(void) {
  _mm_sfence();
}
#else
static void stream(void *to, const void *from, rs_grid g, const void *ahead, char *joint, bool first, bool last) {
  (void)joint, (void)first, (void)last;
  copy(to, from, g, ahead);
}

static void fence(void) {
}
#endif

/* ---- elements to accumulators and back --------------------------------------------------------------------------- */

#undef bool /* names of types are pasted, and this one is a macro */

typedef uint16_t c_f16, c_bf16;
typedef float c_f32;
typedef double c_f64;
typedef int8_t c_i8;
typedef uint8_t c_u8, c_bool;
typedef int16_t c_i16;
typedef uint16_t c_u16;
typedef int32_t c_i32;
typedef uint32_t c_u32;
typedef int64_t c_i64;
typedef uint64_t c_u64;

#define rs_value_f16(x) rs_from_f16(x)
#define rs_value_bf16(x) rs_from_bf16(x)
#define rs_value_f32(x) (x)
#define rs_value_f64(x) (x)
#define rs_value_i8(x) (x)
#define rs_value_u8(x) (x)
#define rs_value_i16(x) (x)
#define rs_value_u16(x) (x)
#define rs_value_i32(x) (x)
#define rs_value_u32(x) (x)
#define rs_value_i64(x) (x)
#define rs_value_u64(x) (x)
#define rs_value_bool(x) ((x) != 0)

#define rs_round_f32_f16(x) rs_to_f16(x)
#define rs_round_f64_f16(x) rs_to_f16(rs_round_odd(x))
#define rs_round_f32_bf16(x) rs_to_bf16(x)
#define rs_round_f64_bf16(x) rs_to_bf16(rs_round_odd(x))
#define rs_round_f32_f32(x) (x)
#define rs_round_f64_f32(x) ((float)(x))
#define rs_round_f32_f64(x) (x)
#define rs_round_f64_f64(x) (x)

#define LOAD(type, wide)                                                                                               \
  static void load_##type##_##wide(void *to, const void *from, rs_grid g) {                                            \
    for (int64_t l = 0; l < g.lines; l++) {                                                                            \
      c_##wide *restrict t = (c_##wide *)to + l * g.to;                                                                \
      const c_##type *restrict f = (const c_##type *)from + l * g.from;                                                \
      for (int64_t i = 0; i < g.n; i++)                                                                                \
        t[i] = (c_##wide)rs_value_##type(f[i]);                                                                        \
    }                                                                                                                  \
  }
#define SAVE(type, wide, expression)                                                                                   \
  static void save_##wide##_##type(void *to, const void *from, rs_grid g) {                                            \
    for (int64_t l = 0; l < g.lines; l++) {                                                                            \
      c_##type *restrict t = (c_##type *)to + l * g.to;                                                                \
      const c_##wide *restrict f = (const c_##wide *)from + l * g.from;                                                \
      for (int64_t i = 0; i < g.n; i++) {                                                                              \
        c_##wide x = f[i];                                                                                             \
        t[i] = (c_##type)expression;                                                                                   \
      }                                                                                                                \
    }                                                                                                                  \
  }

/* A floating accumulator takes elements of any kind; an integer one takes integers, and is written in its own size. */
#define ANY_KIND(type) LOAD(type, f32) LOAD(type, f64)
#define FLOAT_KIND(type) ANY_KIND(type) SAVE(type, f32, rs_round_f32_##type(x)) SAVE(type, f64, rs_round_f64_##type(x))
#define INTEGER_KIND(type) ANY_KIND(type) LOAD(type, u32) LOAD(type, u64) SAVE(type, u32, x) SAVE(type, u64, x)

#define DEFINE_RS_FLOAT FLOAT_KIND
#define DEFINE_RS_SIGNED INTEGER_KIND
#define DEFINE_RS_UNSIGNED INTEGER_KIND
#define DEFINE_RS_BOOL INTEGER_KIND
#define X(enumerator, name, bytes, kind) DEFINE_##kind(name)
RS_TYPES(X)
#undef X

#ifdef RS_HAVE_F16C
/* The hardware's conversions, which differ from half.h in nothing but NaN payloads. */
static void f16c_load(void *to, const void *from, rs_grid g) {
  for (int64_t l = 0; l < g.lines; l++) {
    float *t = (float *)to + l * g.to;
    const uint16_t *f = (const uint16_t *)from + l * g.from;
    int64_t i = 0;
    for (; i + 8 <= g.n; i += 8)
      _mm256_storeu_ps(t + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(f + i))));
    load_f16_f32(t + i, f + i, (rs_grid){.lines = 1, .n = g.n - i});
  }
}

static void f16c_save(void *to, const void *from, rs_grid g) {
  for (int64_t l = 0; l < g.lines; l++) {
    uint16_t *t = (uint16_t *)to + l * g.to;
    const float *f = (const float *)from + l * g.from;
    int64_t i = 0;
    for (; i + 8 <= g.n; i += 8)
      _mm_storeu_si128((__m128i *)(t + i), _mm256_cvtps_ph(_mm256_loadu_ps(f + i), _MM_FROUND_TO_NEAREST_INT));
    save_f32_f16(t + i, f + i, (rs_grid){.lines = 1, .n = g.n - i});
  }
}

#define load_f16_f32 f16c_load
#define save_f32_f16 f16c_save
#endif

/* ---- numbers to the keys of an order and back -------------------------------------------------------------------- */

/* Of integers with a sign the highest bit is flipped, of negative floats all bits, of others the highest. */
#define KEYS(wide, bits)                                                                                               \
  RS_INLINE uint##bits##_t to_key_##wide(c_##wide x, uint##bits##_t nan) {                                             \
    const uint##bits##_t top = (uint##bits##_t)1 << (bits - 1);                                                        \
    uint##bits##_t b;                                                                                                  \
    memcpy(&b, &x, sizeof b);                                                                                          \
    return x != x ? nan : b ^ ((uint##bits##_t)((int##bits##_t)b >> (bits - 1)) | top);                                \
  }                                                                                                                    \
  RS_INLINE c_##wide from_key_##wide(uint##bits##_t key) {                                                             \
    const uint##bits##_t top = (uint##bits##_t)1 << (bits - 1);                                                        \
    uint##bits##_t b = key ^ (~(uint##bits##_t)((int##bits##_t)key >> (bits - 1)) | top);                              \
    c_##wide x;                                                                                                        \
    memcpy(&x, &b, sizeof x);                                                                                          \
    return x;                                                                                                          \
  }                                                                                                                    \
  MAP(value_##wide, uint##bits##_t, c_##wide, from_key_##wide(f[i]))                                                   \
  MAP(flip_u##bits, uint##bits##_t, uint##bits##_t, f[i] ^ (uint##bits##_t)1 << (bits - 1))

/* `to` may be `from`. */
#define MAP(name, c_from, c_to, expression)                                                                            \
  static void name(void *to, const void *from, double by, rs_grid g) {                                                 \
    (void)by;                                                                                                          \
    for (int64_t l = 0; l < g.lines; l++) {                                                                            \
      c_to *t = (c_to *)to + l * g.to;                                                                                 \
      const c_from *f = (const c_from *)from + l * g.from;                                                             \
      for (int64_t i = 0; i < g.n; i++)                                                                                \
        t[i] = expression;                                                                                             \
    }                                                                                                                  \
  }
KEYS(f32, 32)
KEYS(f64, 64)
#define X(enumerator, name, kernel)                                                                                    \
  MAP(key_##name##_f32, float, uint32_t, to_key_f32(f[i], (uint32_t)rs_nan_##name))                                    \
  MAP(key_##name##_f64, double, uint64_t, to_key_f64(f[i], rs_nan_##name))
RS_ORDER_OPS(X)
#undef X

/* ---- numbers to fixed point and back ----------------------------------------------------------------------------- */

RS_INLINE uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

RS_INLINE double of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/*
 * The nearest whole number, ties to even; 2^63 - 1 or -2^63 where that is beyond; of a NaN -2^63. Without conversions,
 * of which few instruction sets have some for vectors: what is added to 1.5 * 2^52 leaves its whole number in the low
 * bits. First as a multiple of 2^32, then the rest, which is exact.
 */
RS_INLINE uint64_t nearest_whole(double x) {
  const double end = 0x1p63, base = 0x1.8p52;
  double inside = x < end ? x : 0;
  inside = inside > -end ? inside : 0;
  double high = inside * 0x1p-32 + base, low = inside - (high - base) * 0x1p32 + base;
  uint64_t whole = (bits_of(high) << 32) + (bits_of(low) - bits_of(base));
  whole = x < end ? whole : (uint64_t)INT64_MAX;
  return x > -end ? whole : (uint64_t)INT64_MIN;
}

/* The nearest f64 of a whole number with a sign: of its halves, which are exact, one sum. */
RS_INLINE double nearest_real(uint64_t whole) {
  const double ends = 0x1p84 + 0x1p63 + 0x1p52;
  uint64_t high = (whole ^ (uint64_t)1 << 63) >> 32 | bits_of(0x1p84), low = (whole & UINT32_MAX) | bits_of(0x1p52);
  return of_bits(high) - ends + of_bits(low);
}

/* With more than 53 bits the lowest 11 become one, which says whether any was set: f32 has far fewer bits than are
 * left. */
RS_INLINE uint64_t to_odd(uint64_t whole) {
  uint64_t most = (uint64_t)1 << 53, lost = (whole + most) >> 54 ? 0x7ff : 0;
  return (whole & ~lost) | (whole & lost ? 0x800 : 0);
}

MAP(fix, double, uint64_t, nearest_whole(f[i] * by))
MAP(unfix_nearest, uint64_t, double, nearest_real(f[i]) * by)
MAP(unfix_odd, uint64_t, double, nearest_real(to_odd(f[i])) * by)

/* ---- moving elements about --------------------------------------------------------------------------------------- */

#define MOVES(bits)                                                                                                    \
  static void gather_##bits(void *restrict to, const void *restrict from, int64_t n, int64_t step) {                   \
    uint##bits##_t *t = to;                                                                                            \
    const uint##bits##_t *f = from;                                                                                    \
    if (step == -1)                                                                                                    \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        t[i] = f[-i];                                                                                                  \
    else if (step == 2)                                                                                                \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        t[i] = f[2 * i];                                                                                               \
    else                                                                                                               \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        t[i] = f[i * step];                                                                                            \
  }                                                                                                                    \
  static void scatter_##bits(void *restrict to, const void *restrict from, int64_t n, int64_t step) {                  \
    uint##bits##_t *t = to;                                                                                            \
    const uint##bits##_t *f = from;                                                                                    \
    if (step == -1)                                                                                                    \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        t[-i] = f[i];                                                                                                  \
    else                                                                                                               \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        t[i * step] = f[i];                                                                                            \
  }                                                                                                                    \
  static void gather_at_##bits(void *to, const void *from, rs_grid g, const int64_t *at) {                             \
    uint##bits##_t *restrict t = to;                                                                                   \
    const uint##bits##_t *restrict f = from;                                                                           \
    int64_t i = 0;                                                                                                     \
    for (; i + 4 <= g.n; i += 4)                                                                                       \
      for (int64_t l = 0; l < g.lines; l++)                                                                            \
        for (int j = 0; j < 4; j++)                                                                                    \
          t[l * g.to + i + j] = f[l * g.from + at[i + j]];                                                             \
    for (; i < g.n; i++)                                                                                               \
      for (int64_t l = 0; l < g.lines; l++)                                                                            \
        t[l * g.to + i] = f[l * g.from + at[i]];                                                                       \
  }                                                                                                                    \
  static void scatter_at_##bits(void *to, const void *from, rs_grid g, const int64_t *at) {                            \
    uint##bits##_t *restrict t = to;                                                                                   \
    const uint##bits##_t *restrict f = from;                                                                           \
    int64_t i = 0;                                                                                                     \
    for (; i + 4 <= g.n; i += 4)                                                                                       \
      for (int64_t l = 0; l < g.lines; l++)                                                                            \
        for (int j = 0; j < 4; j++)                                                                                    \
          t[l * g.to + at[i + j]] = f[l * g.from + i + j];                                                             \
    for (; i < g.n; i++)                                                                                               \
      for (int64_t l = 0; l < g.lines; l++)                                                                            \
        t[l * g.to + at[i]] = f[l * g.from + i];                                                                       \
  }
#define SQUARE(bits)                                                                                                   \
  RS_INLINE void square_##bits(uint##bits##_t *t, int64_t to, const uint##bits##_t *f, int64_t from) {                 \
    for (int i = 0; i < 4; i++)                                                                                        \
      for (int l = 0; l < 4; l++)                                                                                      \
        t[i * to + l] = f[l * from + i];                                                                               \
  }
SQUARE(8)
SQUARE(16)

typedef int64_t indices_2 __attribute__((vector_size(16)));
typedef uint64_t vec_2 __attribute__((vector_size(16), aligned(8), may_alias));

RS_INLINE void square_64(uint64_t *t, int64_t to, const uint64_t *f, int64_t from) {
  for (int i = 0; i < 4; i += 2)
    for (int l = 0; l < 4; l += 2) {
      vec_2 a = *(const vec_2 *)(f + l * from + i), b = *(const vec_2 *)(f + (l + 1) * from + i);
      *(vec_2 *)(t + i * to + l) = RS_SHUFFLE(indices_2, a, b, 0, 2);
      *(vec_2 *)(t + (i + 1) * to + l) = RS_SHUFFLE(indices_2, a, b, 1, 3);
    }
}

typedef int32_t indices_4 __attribute__((vector_size(16)));
typedef uint32_t vec_4 __attribute__((vector_size(16), aligned(4), may_alias));

RS_INLINE void square_32(uint32_t *t, int64_t to, const uint32_t *f, int64_t from) {
  vec_4 a = *(const vec_4 *)f, b = *(const vec_4 *)(f + from);
  vec_4 c = *(const vec_4 *)(f + 2 * from), d = *(const vec_4 *)(f + 3 * from);
  vec_4 ab = RS_SHUFFLE(indices_4, a, b, 0, 4, 1, 5), cd = RS_SHUFFLE(indices_4, c, d, 0, 4, 1, 5);
  *(vec_4 *)t = RS_SHUFFLE(indices_4, ab, cd, 0, 1, 4, 5);
  *(vec_4 *)(t + to) = RS_SHUFFLE(indices_4, ab, cd, 2, 3, 6, 7);
  ab = RS_SHUFFLE(indices_4, a, b, 2, 6, 3, 7);
  cd = RS_SHUFFLE(indices_4, c, d, 2, 6, 3, 7);
  *(vec_4 *)(t + 2 * to) = RS_SHUFFLE(indices_4, ab, cd, 0, 1, 4, 5);
  *(vec_4 *)(t + 3 * to) = RS_SHUFFLE(indices_4, ab, cd, 2, 3, 6, 7);
}

/* In squares of 4 x 4. */
#define TRANSPOSE(bits)                                                                                                \
  static void transpose_##bits(void *to, const void *from, rs_grid g) {                                                \
    uint##bits##_t *t = to;                                                                                            \
    const uint##bits##_t *f = from;                                                                                    \
    int64_t lines = g.lines & ~3, n = g.n & ~3;                                                                        \
    for (int64_t l = 0; l < lines; l += 4)                                                                             \
      for (int64_t i = 0; i < n; i += 4)                                                                               \
        square_##bits(t + i * g.to + l, g.to, f + l * g.from + i, g.from);                                             \
    for (int64_t l = 0; l < g.lines; l++)                                                                              \
      for (int64_t i = l < lines ? n : 0; i < g.n; i++)                                                                \
        t[i * g.to + l] = f[l * g.from + i];                                                                           \
  }
TRANSPOSE(8) TRANSPOSE(16) TRANSPOSE(32) TRANSPOSE(64) MOVES(8)
MOVES(16)
MOVES(32)
MOVES(64)

/*
 * `to` may be `from`, so there is no `restrict` on them. No branches, of which lines too short for vectors would be
 * full: 32 columns of f64 with random masks took 5 times as long.
 */
#define SELECT(bits, wide)                                                                                             \
  static void select_##bits##_##wide(void *to, const void *from, const void *mask, uint64_t keep, const void *other,   \
                                     rs_grid g) {                                                                      \
    const uint##bits##_t k = (uint##bits##_t)keep;                                                                     \
    const c_##wide none = *(const c_##wide *)other;                                                                    \
    for (int64_t l = 0; l < g.lines; l++) {                                                                            \
      c_##wide *t = (c_##wide *)to + l * g.to;                                                                         \
      const c_##wide *f = (const c_##wide *)from + l * g.from;                                                         \
      const uint##bits##_t *restrict m = (const uint##bits##_t *)mask + l * g.mask;                                    \
      for (int64_t i = 0; i < g.n; i++) {                                                                              \
        c_##wide kept = (c_##wide)0 - ((m[i] & k) != 0);                                                               \
        t[i] = (f[i] & kept) | (none & ~kept);                                                                         \
      }                                                                                                                \
    }                                                                                                                  \
  }
SELECT(8, u32)
SELECT(16, u32)
SELECT(32, u32)
SELECT(64, u32)
SELECT(8, u64)
SELECT(16, u64)
SELECT(32, u64)
SELECT(64, u64)

#define JOINS(bits, wide)                                                                                              \
  static void joins_##bits##_##wide(void *to, const void *flags, const void *before, uint64_t keep, const void *one,   \
                                    rs_grid g) {                                                                       \
    const uint##bits##_t k = (uint##bits##_t)keep;                                                                     \
    const c_##wide joined = *(const c_##wide *)one;                                                                    \
    for (int64_t l = 0; l < g.lines; l++) {                                                                            \
      c_##wide *restrict t = (c_##wide *)to + l * g.to;                                                                \
      const uint##bits##_t *f = (const uint##bits##_t *)flags + l * g.from;                                            \
      const uint##bits##_t *b = before ? (const uint##bits##_t *)before + l * g.from : f;                              \
      if (before)                                                                                                      \
        for (int64_t i = 0; i < g.n; i++)                                                                              \
          t[i] = joined & ((c_##wide)0 - ((f[i] < k ? f[i] : k) == (b[i] < k ? b[i] : k)));                            \
      else                                                                                                             \
        for (int64_t i = 0; i < g.n; i++)                                                                              \
          t[i] = joined & ((c_##wide)0 - ((f[i] & k) == 0));                                                           \
    }                                                                                                                  \
  }
JOINS(8, u32)
JOINS(16, u32)
JOINS(32, u32)
JOINS(64, u32)
JOINS(8, u64)
JOINS(16, u64)
JOINS(32, u64)
JOINS(64, u64)

/* `to` may be `from`. */
#define OMIT(wide)                                                                                                     \
  static void omit_##wide(void *to, const void *from, const void *other, rs_grid g) {                                  \
    const c_##wide none = *(const c_##wide *)other;                                                                    \
    for (int64_t l = 0; l < g.lines; l++) {                                                                            \
      c_##wide *t = (c_##wide *)to + l * g.to;                                                                         \
      const c_##wide *f = (const c_##wide *)from + l * g.from;                                                         \
      for (int64_t i = 0; i < g.n; i++)                                                                                \
        t[i] = f[i] == f[i] ? f[i] : none;                                                                             \
    }                                                                                                                  \
  }
OMIT(f32)
OMIT(f64)

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define WIDE(wide, what) [RS_WIDE_##wide] = what##_##wide
#define ANY_LOADS(type) WIDE(f32, load_##type), WIDE(f64, load_##type)
#define LOADS_RS_FLOAT ANY_LOADS
#define LOADS_RS_SIGNED(type) ANY_LOADS(type), WIDE(u32, load_##type), WIDE(u64, load_##type)
#define LOADS_RS_UNSIGNED LOADS_RS_SIGNED
#define LOADS_RS_BOOL LOADS_RS_SIGNED

#define FLOAT_SAVES(enumerator, type)                                                                                  \
  [RS_WIDE_f32][enumerator] = save_f32_##type, [RS_WIDE_f64][enumerator] = save_f64_##type,
#define INTEGER_SAVES(enumerator, type)                                                                                \
  [RS_WIDE_u32][enumerator] = save_u32_##type, [RS_WIDE_u64][enumerator] = save_u64_##type,
#define SAVES_RS_FLOAT FLOAT_SAVES
#define SAVES_RS_SIGNED INTEGER_SAVES
#define SAVES_RS_UNSIGNED INTEGER_SAVES
#define SAVES_RS_BOOL INTEGER_SAVES

#define STRING2(x) #x
#define STRING(x) STRING2(x)
#define SIZES(what)                                                                                                    \
  { what##_8, what##_16, what##_32, what##_64 }
#define WIDES(what)                                                                                                    \
  { WIDE(f32, what), WIDE(f64, what), WIDE(u32, what), WIDE(u64, what) }

#define LOOPS(name, wide)                                                                                              \
  [RS_WIDE_##wide] = {combine_##name##_##wide, push_##name##_##wide, row_##name##_##wide, columns_##name##_##wide,     \
                      lines_##name##_##wide}

const rs_isa RS_ISA = {
    .name = STRING(RS_ISA),
    .vector_bytes = RS_VECTOR_BYTES,
#define X(enumerator, name, bytes, kind) [enumerator] = {LOADS_##kind(name)},
    .load = {RS_TYPES(X)},
#undef X
#define X(enumerator, name, bytes, kind) SAVES_##kind(enumerator, name)
    .save = {RS_TYPES(X)},
#undef X
    .gather = SIZES(gather),
    .scatter = SIZES(scatter),
    .gather_at = SIZES(gather_at),
    .scatter_at = SIZES(scatter_at),
    .transpose = SIZES(transpose),
    .select = {{select_8_u32, select_8_u64},
               {select_16_u32, select_16_u64},
               {select_32_u32, select_32_u64},
               {select_64_u32, select_64_u64}},
    .joins = {{joins_8_u32, joins_8_u64},
              {joins_16_u32, joins_16_u64},
              {joins_32_u32, joins_32_u64},
              {joins_64_u32, joins_64_u64}},
    .fetch_at = fetch_at,
    .spread_at = spread_at,
    .copy = copy,
    .stream = stream,
    .fence = fence,
    .multiply = WIDES(multiply),
    .same = {WIDE(f32, same), WIDE(f64, same)},
    .part = {WIDE(f32, part), WIDE(f64, part)},
    .omit = {WIDE(f32, omit), WIDE(f64, omit)},
#define X(enumerator, name, kernel)                                                                                    \
  [enumerator] = {LOOPS(name, f32), LOOPS(name, f64), LOOPS(name, u32), LOOPS(name, u64)},
    .loops = {RS_ARITHMETIC_OPS(X)
#undef X
#define X(enumerator, name, kernel) [enumerator] = {LOOPS(name, u32), LOOPS(name, u64)},
                  RS_ORDER_OPS(X)
#undef X
#define X(enumerator, name, kernel) [enumerator] = {LOOPS(name, u32), LOOPS(name, u64)},
                      RS_BIT_OPS(X)},
#undef X
#define X(enumerator, name, kernel) [enumerator] = {WIDE(f32, key_##name), WIDE(f64, key_##name)},
    .key = {RS_ORDER_OPS(X)},
#undef X
    .value = {WIDE(f32, value), WIDE(f64, value)},
    .flip = {WIDE(u32, flip), WIDE(u64, flip)},
    .fix = fix,
    .unfix = {unfix_nearest, unfix_odd},
    .totals = totals_of,
};
