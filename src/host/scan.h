/*
 * scan.h - the scan itself, for one accumulator type; included once for each by host_loops.h
 * SPDX-License-Identifier: MIT
 *
 * Wants what host_vector.h wants, but RS_BYTES. Everything is inlined into functions where `op` is a constant. Counters
 * of sums of integers count nothing, and hold the prefix alone.
 */
#if RS_VECTOR_BYTES > 16
#define RS_BYTES 16
#include "vector.h"
#undef RS_BYTES
#endif
#if RS_VECTOR_BYTES > 32
#define RS_BYTES 32
#include "vector.h"
#undef RS_BYTES
#endif
#define RS_BYTES RS_VECTOR_BYTES
#include "vector.h"

enum {
  RS_FN(QUAD) = 4 * RS_LANES,     /* elements scanned in registers at a time */
  RS_FN(GROUP) = 4 * RS_FN(QUAD), /* elements between two steps of the counter */
};

/* ---- the counter ------------------------------------------------------------------------------------------------- */

/* One row: the next block has total t. Returns the prefix after it. */
RS_INLINE RS_W RS_FN(push1)(rowscan_op op, rs_counter *counter, RS_W t) {
  RS_W *total = counter->total, *prefix = counter->prefix;
  int64_t before = counter->count++;
  int level = rs_level(before + 1);
  for (int64_t b = 0; before >> b & 1; b++)
    t = RS_FN(combine1)(op, total[b], t);
  total[level] = t;
  return prefix[level] = RS_FN(combine1)(op, prefix[rs_level(before & (before + 1))], t);
}

/* Rows side by side; the part of each total that is a whole number of vectors goes as vectors. */
RS_INLINE void RS_FN(push)(rowscan_op op, rs_counter *counter, const RS_W *t, int64_t width) {
  int64_t before = counter->count++;
  RS_W *total = counter->total, *prefix = counter->prefix, *after = prefix + rs_level(before + 1) * width;
  const RS_W *start = prefix + rs_level(before & (before + 1)) * width;
  int64_t c = 0;
  for (; c + RS_LANES <= width; c += RS_LANES) {
    RS_V value = RS_FN(load)(t + c);
    RS_W *level = total + c;
    for (int64_t rest = before; rest & 1; rest >>= 1, level += width)
      value = RS_FN(combine)(op, RS_FN(load)(level), value);
    RS_FN(store)(level, value);
    RS_FN(store)(after + c, RS_FN(combine)(op, RS_FN(load)(start + c), value));
  }
  for (; c < width; c++) {
    RS_W value = t[c], *level = total + c;
    for (int64_t rest = before; rest & 1; rest >>= 1, level += width)
      value = RS_FN(combine1)(op, *level, value);
    *level = value;
    after[c] = RS_FN(combine1)(op, start[c], value);
  }
}

/* ---- one row ----------------------------------------------------------------------------------------------------- */

/* Four vectors after the prefix c, which is the same in every lane. Returns their total. */
RS_INLINE RS_V RS_FN(quad)(rowscan_op op, RS_V c, const RS_W *x, RS_W *e) {
  RS_V other[4][4], t[4], start[4];
  for (int j = 0; j < 4; j++)
    t[j] = RS_FN(up)(op, RS_FN(load)(x + j * RS_LANES), other[j]);
  RS_V total = RS_FN(fold)(op, c, t, start);
  if (e)
    for (int j = 0; j < 4; j++)
      RS_FN(store)(e + j * RS_LANES, RS_FN(down)(op, start[j], other[j]));
  return total;
}

/* Four quads after the prefix before them. Returns their total. */
RS_INLINE RS_W RS_FN(group)(rowscan_op op, RS_W before, const RS_W *x, RS_W *e) {
#define RS_QUAD(j, c) RS_FN(quad)(op, c, x + j * RS_FN(QUAD), e ? e + j * RS_FN(QUAD) : NULL)
  RS_V c = RS_FN(all)(before), t0 = RS_QUAD(0, c), t1 = RS_QUAD(1, RS_FN(combine)(op, c, t0));
  t0 = RS_FN(combine)(op, t0, t1);
  c = RS_FN(combine)(op, c, t0);
  RS_V t2 = RS_QUAD(2, c), t3 = RS_QUAD(3, RS_FN(combine)(op, c, t2));
  return RS_FN(combine)(op, t0, RS_FN(combine)(op, t2, t3))[0];
#undef RS_QUAD
}

/* m vectors after the prefix c: e[i] = P(i), of integers from e[1] on, which leaves e[0] alone. */
RS_INLINE RS_V RS_FN(vectors)(rowscan_op op, RS_V c, const RS_W *x, RS_W *e, int m) {
  return RS_FN(any_order)(op) ? RS_FN(run)(op, c, x, e + 1, m) : RS_FN(part)(op, c, x, e, m, false);
}

/* The last n < QUAD elements of a row: e[i] = P(i) for i = 0 .. n. May read a whole number of vectors if `beyond`. */
RS_INLINE void RS_FN(last)(rowscan_op op, RS_V c, const RS_W *x, RS_W *e, int64_t n, bool beyond) {
  RS_W pad[RS_FN(QUAD) + RS_LANES];
  if (n % RS_LANES && !beyond)
    x = RS_FN(padded)(pad, x, n);
  if (n > 3 * RS_LANES)
    c = RS_FN(vectors)(op, c, x, e, 4);
  else if (n > 2 * RS_LANES)
    c = RS_FN(vectors)(op, c, x, e, 3);
  else if (n > RS_LANES)
    c = RS_FN(vectors)(op, c, x, e, 2);
  else if (n > 0)
    c = RS_FN(vectors)(op, c, x, e, 1);
  if (n % RS_LANES == 0)
    e[n] = c[0];
}

/* The last n < GROUP elements of a row. */
RS_INLINE void RS_FN(tail)(rowscan_op op, RS_W before, const RS_W *x, RS_W *e, int64_t n, bool beyond) {
  RS_V c = RS_FN(all)(before), after = c, total = c;
  int quads = (int)(n / RS_FN(QUAD));
  for (int q = 0; q < quads; q++, x += RS_FN(QUAD), e += RS_FN(QUAD)) {
    RS_V t = RS_FN(quad)(op, after, x, e);
    total = q == 0 ? t : RS_FN(combine)(op, total, t);
    after = RS_FN(combine)(op, q == 2 ? after : c, q == 2 ? t : total);
  }
  RS_FN(last)(op, after, x, e, n % RS_FN(QUAD), beyond);
}

/* Integers: e[0] is left alone. Returns the prefix after them. */
RS_INLINE RS_W RS_FN(row_run)(rowscan_op op, RS_W c, const RS_W *x, RS_W *e, int64_t n, bool beyond) {
  int64_t m = n / RS_LANES, done = m * RS_LANES;
  RS_V after = RS_FN(run)(op, RS_FN(all)(c), x, e + 1, m);
  if (done < n)
    RS_FN(last)(op, after, x + done, e + done, n - done, beyond);
  return n ? e[n] : c;
}

RS_INLINE void RS_FN(row_counted)(rowscan_op op, rs_counter *counter, const RS_W *x, RS_W *e, int64_t n, bool beyond) {
  RS_W c = ((const RS_W *)counter->prefix)[rs_level(counter->count)];
  for (; n >= RS_FN(GROUP); n -= RS_FN(GROUP), x += RS_FN(GROUP)) {
    c = RS_FN(push1)(op, counter, RS_FN(group)(op, c, x, e));
    e = e ? e + RS_FN(GROUP) : NULL;
  }
  if (e)
    RS_FN(tail)(op, c, x, e, n, beyond);
}

/* The prefix after n integers, after c. */
RS_INLINE RS_W RS_FN(total)(rowscan_op op, RS_W c, const RS_W *x, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    c = RS_FN(combine1)(op, c, x[i]);
  return c;
}

RS_INLINE void RS_FN(row)(rowscan_op op, rs_counter *counter, const RS_W *x, RS_W *e, int64_t n) {
  RS_W *c = (RS_W *)counter->prefix + RS_LEVELS;
  if (!RS_FN(any_order)(op)) {
    RS_FN(row_counted)(op, counter, x, e, n, false);
  } else if (!e) {
    *c = RS_FN(total)(op, *c, x, n);
  } else {
    *e = *c;
    *c = RS_FN(row_run)(op, *c, x, e, n, false);
  }
}

/* ---- whole rows, one after another ------------------------------------------------------------------------------- */

/* Rows of two or three elements, which a vector would be more work for. */
RS_INLINE void RS_FN(tiny_rows)(rowscan_op op, const RS_W *x, RS_W *e, int64_t n, int64_t rows, const RS_W *start,
                                RS_W *total, bool exclusive) {
  for (int64_t r = 0; r < rows; r++, x += n, e += n) {
    RS_W c = start ? start[r] : RS_FN(neutral)(op);
    RS_W p1 = RS_FN(combine1)(op, c, x[0]), p2 = RS_FN(combine1)(op, c, RS_FN(combine1)(op, x[0], x[1])), p3 = p2;
    if (n == 3)
      p3 = RS_FN(combine1)(op, p2, x[2]);
    e[0] = exclusive ? c : p1;
    e[1] = exclusive ? p1 : p2;
    if (n == 3)
      e[2] = exclusive ? p2 : p3;
    if (total)
      total[r] = p3;
  }
}

/* One row: e[i] = P(i) for i = 1 .. n, and for 0 unless any_order. */
RS_INLINE void RS_FN(whole)(rowscan_op op, RS_W start, const RS_W *x, RS_W *e, int64_t n, bool beyond) {
  RS_W total[RS_LEVELS], prefix[RS_LEVELS + 1];
  prefix[RS_LEVELS] = start;
  if (RS_FN(any_order)(op))
    RS_FN(row_run)(op, start, x, e, n, beyond);
  else if (n < RS_FN(GROUP))
    RS_FN(tail)(op, start, x, e, n, beyond);
  else
    RS_FN(row_counted)(op, &(rs_counter){0, total, prefix}, x, e, n, beyond);
}

/* Without `exclusive` a row's P(0) falls on the last element of the row before, which is written again. */
RS_INLINE void RS_FN(long_rows)(rowscan_op op, const RS_W *x, RS_W *e, int64_t n, int64_t rows, const RS_W *start,
                                RS_W *total, bool exclusive) {
  RS_W last = 0;
  int64_t readable = RS_FN(readable)(n, rows);
  e -= !exclusive;
  for (int64_t r = 0; r < rows; r++, x += n, e += n) {
    RS_W c = start ? start[r] : RS_FN(neutral)(op);
    RS_FN(whole)(op, c, x, e, n, r < readable);
    if (exclusive && RS_FN(any_order)(op))
      e[0] = c;
    if (!exclusive && r > 0 && !RS_FN(any_order)(op))
      e[0] = last;
    last = e[n];
    if (total)
      total[r] = last;
  }
}

/* Without initial values, folds from the neutral element cost nothing. */
#define RS_SHORT(bytes, m)                                                                                             \
  (start ? RS_PASTE(short_rows, RS_TAG, bytes)(op, x, e, n, rows, start, total, exclusive, m)                          \
         : RS_PASTE(short_rows, RS_TAG, bytes)(op, x, e, n, rows, NULL, total, exclusive, m))

RS_INLINE void RS_FN(rows)(rowscan_op op, const RS_W *x, RS_W *e, int64_t n, int64_t rows, const RS_W *start,
                           RS_W *total, bool exclusive) {
  if (n < 4)
    start ? RS_FN(tiny_rows)(op, x, e, n, rows, start, total, exclusive)
          : RS_FN(tiny_rows)(op, x, e, n, rows, NULL, total, exclusive);
#if RS_VECTOR_BYTES > 16
  else if (n * RS_SIZE <= 16)
    RS_SHORT(16, 1);
#endif
#if RS_VECTOR_BYTES > 32
  else if (n * RS_SIZE <= 32)
    RS_SHORT(32, 1);
#endif
  else if (n <= RS_LANES)
    RS_SHORT(RS_VECTOR_BYTES, 1);
  else if (n <= 2 * RS_LANES)
    RS_SHORT(RS_VECTOR_BYTES, 2);
  else if (n <= 3 * RS_LANES)
    RS_SHORT(RS_VECTOR_BYTES, 3);
  else if (n <= 4 * RS_LANES)
    RS_SHORT(RS_VECTOR_BYTES, 4);
  else
    RS_FN(long_rows)(op, x, e, n, rows, start, total, exclusive);
}

/* ---- rows side by side ------------------------------------------------------------------------------------------- */

/* Eight steps, of which the first n are there. */
RS_INLINE void RS_FN(steps)(rowscan_op op, rs_counter *counter, const RS_W *x, int64_t x_line, RS_W *e, int n,
                            int64_t width) {
  RS_W total[RS_LINE_BYTES / sizeof(RS_W)];
  const RS_W *before = (const RS_W *)counter->prefix + rs_level(counter->count) * width;
  for (int64_t c = 0; c < width; c += RS_LANES) {
    RS_V v[8], start[8], half = RS_FN(load)(before + c);
    for (int j = 0; j < 8; j++)
      v[j] = j < n ? RS_FN(load)(x + j * x_line + c) : (RS_V){0};
    RS_V low = RS_FN(fold)(op, half, v, start);
    half = RS_FN(combine)(op, half, low);
    RS_V high = RS_FN(fold)(op, half, v + 4, start + 4);
    RS_FN(store)(total + c, RS_FN(combine)(op, low, high));
    if (e)
      for (int j = 0; j < 8; j++)
        RS_FN(store)(e + j * width + c, start[j]);
  }
  if (n == 8)
    RS_FN(push)(op, counter, total, width);
}

/* The same for integers, after the prefixes c, which go on. */
RS_INLINE void RS_FN(steps_run)(rowscan_op op, RS_W *c, const RS_W *x, int64_t x_line, RS_W *e, int n, int64_t width) {
  for (int64_t i = 0; i < width; i += RS_LANES) {
    RS_V v = RS_FN(load)(c + i);
    for (int j = 0; j < n; j++) {
      if (e)
        RS_FN(store)(e + j * width + i, v);
      v = RS_FN(combine)(op, v, RS_FN(load)(x + j * x_line + i));
    }
    RS_FN(store)(c + i, v);
  }
}

RS_INLINE void RS_FN(columns_run)(rowscan_op op, RS_W *c, const RS_W *x, int64_t x_line, RS_W *e, int64_t n,
                                  int64_t width) {
  for (; n >= 8; n -= 8, x += 8 * x_line) {
    RS_FN(steps_run)(op, c, x, x_line, e, 8, width);
    e = e ? e + 8 * width : NULL;
  }
  RS_FN(steps_run)(op, c, x, x_line, e, (int)n, width);
  if (e)
    memcpy(e + n * width, c, (size_t)width * sizeof *e);
}

RS_INLINE void RS_FN(columns)(rowscan_op op, rs_counter *counter, const RS_W *x, int64_t x_line, RS_W *e, int64_t n,
                              int64_t width) {
  if (RS_FN(any_order)(op)) {
    RS_FN(columns_run)(op, (RS_W *)counter->prefix + RS_LEVELS * width, x, x_line, e, n, width);
    return;
  }
  for (; n >= 8; n -= 8, x += 8 * x_line) {
    RS_FN(steps)(op, counter, x, x_line, e, 8, width);
    e = e ? e + 8 * width : NULL;
  }
  if (e && n > 0)
    RS_FN(steps)(op, counter, x, x_line, e, (int)n, width);
  else if (e)
    memcpy(e, (const RS_W *)counter->prefix + rs_level(counter->count) * width, (size_t)width * sizeof *e);
}

#define RS_ENTRY2(name, tag) name##_##tag
#define RS_ENTRY1(name, tag) RS_ENTRY2(name, tag)
#define RS_ENTRY(name) RS_ENTRY1(name, RS_TAG)

#define X(enumerator, name, kernel)                                                                                    \
  static void RS_ENTRY(row_##name)(rs_counter * counter, const void *x, int64_t x_line, void *e, int64_t n,            \
                                   int64_t width) {                                                                    \
    (void)x_line, (void)width;                                                                                         \
    RS_FN(row)(enumerator, counter, x, e, n);                                                                          \
  }                                                                                                                    \
  static void RS_ENTRY(columns_##name)(rs_counter * counter, const void *x, int64_t x_line, void *e, int64_t n,        \
                                       int64_t width) {                                                                \
    RS_FN(columns)(enumerator, counter, x, x_line, e, n, width);                                                       \
  }                                                                                                                    \
  static void RS_ENTRY(lines_##name)(const void *x, void *e, int64_t n, int64_t rows, const void *start, void *total,  \
                                     bool exclusive) {                                                                 \
    RS_FN(rows)(enumerator, x, e, n, rows, start, total, exclusive);                                                   \
  }                                                                                                                    \
  static void RS_ENTRY(push_##name)(rs_counter * counter, const void *total, int64_t width) {                          \
    RS_FN(push)(enumerator, counter, total, width);                                                                    \
  }                                                                                                                    \
  static void RS_ENTRY(combine_##name)(void *to, const void *a, const void *b) {                                       \
    *(RS_W *)to = RS_FN(combine1)(enumerator, *(const RS_W *)a, *(const RS_W *)b);                                     \
  }
RS_SCAN_OPS(X)
#undef X

static void RS_ENTRY(multiply)(void *to, const void *from, const void *mask, rs_grid g) {
  for (int64_t l = 0; l < g.lines; l++) {
    RS_W *t = (RS_W *)to + l * g.to;
    const RS_W *f = (const RS_W *)from + l * g.from, *m = (const RS_W *)mask + l * g.mask;
    for (int64_t i = 0; i < g.n; i++)
      t[i] = f[i] * m[i];
  }
}

#undef RS_ENTRY
#undef RS_ENTRY1
#undef RS_ENTRY2
#undef RS_SHORT
#undef RS_BYTES
