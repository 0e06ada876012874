/*
 * vector.h - vectors of one accumulator type and one size: scans within them, and short rows
 * SPDX-License-Identifier: MIT
 *
 * Wants RS_W, the type; RS_SIZE, its bytes; RS_INDEX, a signed integer of its size; RS_TAG, its name; RS_WHOLE, whether
 * it is an integer; RS_SCAN_OPS, the operators that work on it; and RS_BYTES, those of a vector. Everything is inlined
 * into functions where `op` is a constant. What has the same bits in any order is computed in the cheapest.
 */
#undef RS_PASTE3
#undef RS_PASTE
#undef RS_FN
#undef RS_LANES
#undef RS_LIST
#undef RS_V
#define RS_PASTE3(a, b, c) a##_##b##_##c
#define RS_PASTE(a, b, c) RS_PASTE3(a, b, c)
#define RS_FN(name) RS_PASTE(name, RS_TAG, RS_BYTES)

#if RS_BYTES / RS_SIZE == 16
#define RS_LANES 16
#define RS_LIST RS_LIST_16
#elif RS_BYTES / RS_SIZE == 8
#define RS_LANES 8
#define RS_LIST RS_LIST_8
#elif RS_BYTES / RS_SIZE == 4
#define RS_LANES 4
#define RS_LIST RS_LIST_4
#else
#define RS_LANES 2
#define RS_LIST RS_LIST_2
#endif

typedef RS_W RS_FN(vec) __attribute__((vector_size(RS_BYTES)));
typedef RS_W RS_FN(unaligned) __attribute__((vector_size(RS_BYTES), aligned(sizeof(RS_W)), may_alias));
#define RS_V RS_FN(vec)
typedef RS_INDEX RS_FN(lanes) __attribute__((vector_size(RS_BYTES), unused));

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
#define RS_PICK(condition, yes, no) ((condition) ? (yes) : (no))
#define X(enumerator, name, kernel) op == enumerator ? (RS_W)rs_combine_##name(a, b):
  return RS_SCAN_OPS(X) a;
#undef X
#undef RS_PICK
}

RS_INLINE RS_V RS_FN(combine)(rowscan_op op, RS_V a, RS_V b) {
#define RS_PICK(condition, yes, no) (((yes) & (RS_V)(condition)) | ((no) & ~(RS_V)(condition)))
#define X(enumerator, name, kernel) op == enumerator ? rs_combine_##name(a, b):
  return RS_SCAN_OPS(X) a;
#undef X
#undef RS_PICK
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

RS_INLINE RS_W RS_FN(neutral)(rowscan_op op) {
#define X(enumerator, name, kernel) op == enumerator ? (RS_W)rs_neutral_##name:
  return RS_SCAN_OPS(X) 0;
#undef X
}

/* Whether any order gives the same bits, and running prefixes serve. */
RS_INLINE bool RS_FN(any_order)(rowscan_op op) {
#define X(enumerator, name, kernel) || (op == enumerator && rs_any_order_##name)
  return RS_WHOLE && (false RS_SCAN_OPS(X));
#undef X
}

/* Prefixes of integers within a vector, in any order: in its parts of 16 bytes, then over these. */
RS_INLINE RS_V RS_FN(along)(rowscan_op op, RS_V v) {
  RS_V none = RS_FN(all)(RS_FN(neutral)(op));
#define RS_NEAR(i, d) ((i) - (d) + ((i) % (16 / RS_SIZE) < (d) ? RS_LANES + 16 / RS_SIZE : 0))
#define RS_FAR(i, d) ((i) & (d) ? ((i) & ~(2 * (d)-1)) + (d)-1 : RS_LANES)
#define RS_LEVEL(F, d) v = RS_FN(combine)(op, v, RS_SHUFFLE(RS_FN(lanes), v, none, RS_LIST(F, (d) & (RS_LANES - 1))))
  RS_LEVEL(RS_NEAR, 1);
  if (RS_SIZE == 4)
    RS_LEVEL(RS_NEAR, 2);
  if (RS_BYTES > 16)
    RS_LEVEL(RS_FAR, 16 / RS_SIZE);
  if (RS_BYTES > 32)
    RS_LEVEL(RS_FAR, 32 / RS_SIZE);
#undef RS_LEVEL
#undef RS_FAR
#undef RS_NEAR
  return v;
}

/* m vectors of integers after the prefix c, in every lane: e[i] = P(i + 1). Returns the prefix after them. */
RS_INLINE RS_V RS_FN(run)(rowscan_op op, RS_V c, const RS_W *x, RS_W *e, int64_t m) {
#define RS_LAST(i, d) RS_LANES - 1
  for (int64_t j = 0; j < m; j++) {
    RS_V v = RS_FN(along)(op, RS_FN(load)(x + j * RS_LANES));
    RS_FN(store)(e + j * RS_LANES, RS_FN(combine)(op, c, v));
    c = RS_FN(combine)(op, c, RS_SHUFFLE(RS_FN(lanes), v, v, RS_LIST(RS_LAST, 0)));
  }
#undef RS_LAST
  return c;
}

/* m vectors, one to four, after the prefix c: e[i] = P(i), or P(i + 1) if `next`. Returns the prefix after them. */
RS_INLINE RS_V RS_FN(part)(rowscan_op op, RS_V c, const RS_W *x, RS_W *e, int m, bool next) {
#define RS_NEXT(i, d) (i) + 1
  RS_V other[4][4], t[4], p[5] = {c};
  for (int j = 0; j < m; j++)
    t[j] = RS_FN(up)(op, RS_FN(load)(x + j * RS_LANES), other[j]);
  for (int j = 0; j < m; j++) {
    if (j == 1)
      t[0] = RS_FN(combine)(op, t[0], t[1]);
    if (j == 3)
      t[0] = RS_FN(combine)(op, t[0], RS_FN(combine)(op, t[2], t[3]));
    p[j + 1] = j == 2 ? RS_FN(combine)(op, p[2], t[2]) : RS_FN(combine)(op, c, t[0]);
  }
  RS_V after = p[m];
  for (int j = 0; j < m; j++)
    p[j] = RS_FN(down)(op, p[j], other[j]);
  for (int j = 0; j < m; j++)
    RS_FN(store)(e + j * RS_LANES, next ? RS_SHUFFLE(RS_FN(lanes), p[j], p[j + 1], RS_LIST(RS_NEXT, 0)) : p[j]);
#undef RS_NEXT
  return after;
}

/* n elements, followed by what fills the last vector; it reaches no prefix before it. */
RS_INLINE const RS_W *RS_FN(padded)(RS_W *pad, const RS_W *x, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    pad[i] = x[i];
  RS_FN(store)(pad + n, (RS_V){0});
  return pad;
}

/* ---- short rows, one after another ------------------------------------------------------------------------------- */

/* Rows from number r on may be read a whole number of vectors each, up to the number returned. */
RS_INLINE int64_t RS_FN(readable)(int64_t n, int64_t rows) {
  int64_t vectors = (n + RS_LANES - 1) / RS_LANES * RS_LANES;
  return rows - (vectors + n - 1) / n + 1;
}

/*
 * Rows of up to m vectors, one to four. The vectors reach beyond the end of a row, where the next row is written
 * afterwards.
 */
RS_INLINE void RS_FN(short_rows)(rowscan_op op, const RS_W *x, RS_W *e, int64_t n, int64_t rows, const RS_W *start,
                                 RS_W *total, bool exclusive, int m) {
  RS_W pad[5 * RS_LANES];
  int64_t readable = RS_FN(readable)(n, rows);
  for (int64_t r = 0; r < rows; r++, x += n, e += n) {
    RS_W c = start ? start[r] : RS_FN(neutral)(op);
    const RS_W *from = r < readable ? x : RS_FN(padded)(pad, x, n);
    RS_V after;
    if (RS_FN(any_order)(op)) {
      after = RS_FN(run)(op, RS_FN(all)(c), from, e + exclusive, m);
      if (exclusive)
        e[0] = c;
    } else {
      after = exclusive ? RS_FN(part)(op, RS_FN(all)(c), from, e, m, false)
                        : RS_FN(part)(op, RS_FN(all)(c), from, e, m, true);
    }
    if (total)
      total[r] = n == m * RS_LANES ? after[0] : e[exclusive ? n : n - 1];
  }
}
