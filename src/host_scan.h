/*
 * host_scan.h - the scan itself, for one accumulator type; included once for each by host_loops.h
 * SPDX-License-Identifier: MIT
 *
 * Wants RS_W, the type; RS_INDEX, a signed integer of its size; RS_TAG, its name; RS_LANES, how many of them make a
 * vector; and RS_LIST(F, d), which lists F(0, d) to F(RS_LANES - 1, d). Everything is inlined into functions where `op`
 * is a constant.
 */
#define RS_PASTE2(a, b) a##_##b
#define RS_PASTE(a, b) RS_PASTE2(a, b)
#define RS_FN(name) RS_PASTE(name, RS_TAG)

typedef RS_W RS_FN(vec) __attribute__((vector_size(RS_VECTOR_BYTES)));
typedef RS_W RS_FN(unaligned) __attribute__((vector_size(RS_VECTOR_BYTES), aligned(sizeof(RS_W)), may_alias));
#define RS_V RS_FN(vec)
typedef RS_INDEX RS_FN(lanes) __attribute__((vector_size(RS_VECTOR_BYTES), unused));

enum {
  RS_FN(QUAD) = 4 * RS_LANES,     /* elements scanned in registers at a time */
  RS_FN(GROUP) = 4 * RS_FN(QUAD), /* elements between two steps of the counter */
};

RS_INLINE RS_V RS_FN(load)(const RS_W *x) {
  return *(const RS_FN(unaligned) *)x;
}

RS_INLINE void RS_FN(store)(RS_W *x, RS_V v) {
  *(RS_FN(unaligned) *)x = v;
}

RS_INLINE RS_V RS_FN(all)(RS_W x) {
  return x - (RS_V){0}; /* not +, which would make +0.0 of -0.0 */
}

RS_INLINE RS_W RS_FN(combine1)(rowscan_op op, RS_W a, RS_W b) {
#define X(enumerator, name, kernel) op == enumerator ? (RS_W)rs_combine_##name(a, b):
  return RS_OPS(X) a;
#undef X
}

RS_INLINE RS_V RS_FN(combine)(rowscan_op op, RS_V a, RS_V b) {
#define X(enumerator, name, kernel) op == enumerator ? rs_combine_##name(a, b):
  return RS_OPS(X) a;
#undef X
}

/* ---- in registers ------------------------------------------------------------------------------------------------ */

/*
 * A butterfly: after the level of d = 2^i every lane holds the total of its aligned block of 2d lanes, and other[i] the
 * total of the neighbouring block of d lanes. (Lanes whose bit d is set combine in the wrong order, which does not
 * matter while operators commute.) Returns the total of the vector, in every lane.
 */
RS_INLINE RS_V RS_FN(up)(rowscan_op op, RS_V v, RS_V other[4]) {
#define RS_LEVEL(i)                                                                                                    \
  if (1 << i < RS_LANES) {                                                                                             \
    other[i] = RS_SHUFFLE(RS_FN(lanes), v, v, RS_LIST(RS_XOR, (1 << i & (RS_LANES - 1))));                             \
    v = RS_FN(combine)(op, v, other[i]);                                                                               \
  }
  RS_LEVEL(0)
  RS_LEVEL(1)
  RS_LEVEL(2)
  RS_LEVEL(3)
#undef RS_LEVEL
  return v;
}

/* From the prefix before the vector, in every lane, to the prefix before each lane: largest blocks first. */
RS_INLINE RS_V RS_FN(down)(rowscan_op op, RS_V c, const RS_V other[4]) {
#define RS_LEVEL(i)                                                                                                    \
  if (1 << i < RS_LANES) {                                                                                             \
    RS_V more = RS_FN(combine)(op, c, other[i]);                                                                       \
    c = RS_SHUFFLE(RS_FN(lanes), c, more, RS_LIST(RS_BLEND, (1 << i & (RS_LANES - 1))));                               \
  }
  RS_LEVEL(3)
  RS_LEVEL(2)
  RS_LEVEL(1)
  RS_LEVEL(0)
#undef RS_LEVEL
  return c;
}

/* Four neighbouring blocks with totals t, after the prefix c: e[j] is the prefix before block j. Returns the total. */
RS_INLINE RS_V RS_FN(fold)(rowscan_op op, RS_V c, const RS_V t[4], RS_V e[4]) {
  RS_V t01 = RS_FN(combine)(op, t[0], t[1]);
  e[0] = c;
  e[1] = RS_FN(combine)(op, c, t[0]);
  e[2] = RS_FN(combine)(op, c, t01);
  e[3] = RS_FN(combine)(op, e[2], t[2]);
  return RS_FN(combine)(op, t01, RS_FN(combine)(op, t[2], t[3]));
}

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

/*
 * Four quads after the prefix before them; returns their total. Or fewer, followed by the prefix after them. The quads
 * from `whole` on are read from the pad.
 */
RS_INLINE RS_W RS_FN(group)(rowscan_op op, RS_W before, const RS_W *x, RS_W *e, int quads, int whole, const RS_W *pad) {
#define RS_QUAD(j, c) RS_FN(quad)(op, c, j < whole ? x + j * RS_FN(QUAD) : pad, e ? e + j * RS_FN(QUAD) : NULL)
  RS_V c = RS_FN(all)(before), t0 = RS_QUAD(0, c), t1 = c, t2 = c, t3 = c, after = RS_FN(combine)(op, c, t0);
  if (quads > 1) {
    t1 = RS_QUAD(1, after);
    t0 = RS_FN(combine)(op, t0, t1);
    after = c = RS_FN(combine)(op, c, t0);
  }
  if (quads > 2) {
    t2 = RS_QUAD(2, c);
    after = RS_FN(combine)(op, c, t2);
  }
  if (quads > 3)
    t3 = RS_QUAD(3, after);
  else
    e[quads * RS_FN(QUAD)] = after[0];
  return RS_FN(combine)(op, t0, RS_FN(combine)(op, t2, t3))[0];
#undef RS_QUAD
}

/* The last n < GROUP elements, and the prefix after them; what they are padded with reaches no prefix before it. */
RS_INLINE void RS_FN(tail)(rowscan_op op, RS_W c, const RS_W *x, RS_W *e, int64_t n) {
  RS_W pad[RS_FN(QUAD)];
  int whole = (int)(n / RS_FN(QUAD)), rest = (int)(n % RS_FN(QUAD));
  if (rest) {
    for (int j = 0; j < 4; j++)
      RS_FN(store)(pad + j * RS_LANES, (RS_V){0});
    for (int i = 0; i < rest; i++)
      pad[i] = x[whole * RS_FN(QUAD) + i];
  }
  RS_FN(group)(op, c, x, e, whole + (rest > 0), whole, pad);
}

RS_INLINE void RS_FN(row)(rowscan_op op, rs_counter *counter, const RS_W *x, RS_W *e, int64_t n) {
  RS_W c = ((const RS_W *)counter->prefix)[rs_level(counter->count)];
  for (; n >= RS_FN(GROUP); n -= RS_FN(GROUP), x += RS_FN(GROUP)) {
    c = RS_FN(push1)(op, counter, RS_FN(group)(op, c, x, e, 4, 4, NULL));
    e = e ? e + RS_FN(GROUP) : NULL;
  }
  if (e && n > 0)
    RS_FN(tail)(op, c, x, e, n);
  else if (e)
    *e = c;
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

RS_INLINE void RS_FN(columns)(rowscan_op op, rs_counter *counter, const RS_W *x, int64_t x_line, RS_W *e, int64_t n,
                              int64_t width) {
  for (; n >= 8; n -= 8, x += 8 * x_line) {
    RS_FN(steps)(op, counter, x, x_line, e, 8, width);
    e = e ? e + 8 * width : NULL;
  }
  if (e && n > 0)
    RS_FN(steps)(op, counter, x, x_line, e, (int)n, width);
  else if (e)
    memcpy(e, (const RS_W *)counter->prefix + rs_level(counter->count) * width, (size_t)width * sizeof *e);
}

#define X(enumerator, name, kernel)                                                                                    \
  static void RS_FN(row_##name)(rs_counter * counter, const void *x, int64_t x_line, void *e, int64_t n,               \
                                int64_t width) {                                                                       \
    (void)x_line, (void)width;                                                                                         \
    RS_FN(row)(enumerator, counter, x, e, n);                                                                          \
  }                                                                                                                    \
  static void RS_FN(columns_##name)(rs_counter * counter, const void *x, int64_t x_line, void *e, int64_t n,           \
                                    int64_t width) {                                                                   \
    RS_FN(columns)(enumerator, counter, x, x_line, e, n, width);                                                       \
  }                                                                                                                    \
  static void RS_FN(push_##name)(rs_counter * counter, const void *total, int64_t width) {                             \
    RS_FN(push)(enumerator, counter, total, width);                                                                    \
  }                                                                                                                    \
  static void RS_FN(combine_##name)(void *to, const void *a, const void *b) {                                          \
    *(RS_W *)to = RS_FN(combine1)(enumerator, *(const RS_W *)a, *(const RS_W *)b);                                     \
  }
RS_OPS(X)
#undef X

static void RS_FN(multiply)(void *to, const void *from, const void *mask, rs_grid g) {
  for (int64_t l = 0; l < g.lines; l++) {
    RS_W *t = (RS_W *)to + l * g.to;
    const RS_W *f = (const RS_W *)from + l * g.from, *m = (const RS_W *)mask + l * g.mask;
    for (int64_t i = 0; i < g.n; i++)
      t[i] = f[i] * m[i];
  }
}

#undef RS_V
#undef RS_FN
#undef RS_PASTE
#undef RS_PASTE2
