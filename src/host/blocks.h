/*
 * blocks.h - scans of blocks of elements, for one operator of totals.h on numbers of one type
 * SPDX-License-Identifier: MIT
 *
 * Wants RS_N, the operator's name; RS_W, the type of numbers; RS_FIELDS, the fields of a total.
 *
 * Totals lie in planes, one for each field. Level d of a block of n steps begins as the totals of its aligned parts of
 * 2^d steps, of which two make one of level d + 1. On the way back each total makes room for the prefix before its
 * part: of a left half that before the whole, of a right half that one combined with the left half's total. This is the
 * order of rowscan.h, since the block's place is a multiple of its size. Parts that are not whole have no total, and
 * only a prefix before them.
 */
#define RS_PASTE_N2(a, b) a##_##b
#define RS_PASTE_N(a, b) RS_PASTE_N2(a, b)
#define OF(name) RS_PASTE_N(name, RS_N)

#define POINTER(p, f) __typeof__(((OF(total) *)0)->f) *f;
#define PLANE(p, f) .f = (void *)((RS_W *)(p) + offsetof(OF(total), f) / sizeof(RS_W) * (size_t)plane),
#define GET(p, f) .f = p.f[i],
#define PUT(p, f) p.f[i] = t.f;
#define SKIP(p, f) p.f += i;

typedef struct OF(planes) {
  RS_FIELDS(POINTER, )
} OF(planes);

RS_INLINE OF(planes) OF(planes_at)(const void *first, int64_t plane) {
  return (OF(planes)){RS_FIELDS(PLANE, first)};
}

RS_INLINE OF(planes) OF(skip)(OF(planes) p, int64_t i) {
  RS_FIELDS(SKIP, p)
  return p;
}

RS_INLINE OF(total) OF(get)(OF(planes) p, int64_t i) {
  return (OF(total)){RS_FIELDS(GET, p)};
}

RS_INLINE void OF(put)(OF(planes) p, int64_t i, OF(total) t) {
  RS_FIELDS(PUT, p)
}

/* ---- one element ------------------------------------------------------------------------------------------------- */

static void OF(load1)(void *total, const void *number, const void *coefficient) {
  RS_W x = *(const RS_W *)number, by = coefficient ? *(const RS_W *)coefficient : 0;
  *(OF(total) *)total = OF(of)(x, by);
}

static void OF(begin1)(void *total, const void *number) {
  *(OF(total) *)total = OF(begin)(*(const RS_W *)number);
}

static void OF(neutral1)(void *total) {
  *(OF(total) *)total = OF(neutral)();
}

static void OF(identity1)(void *total) {
  *(OF(total) *)total = OF(identity)();
}

static void OF(combine1)(void *to, const void *left, const void *right) {
  *(OF(total) *)to = OF(join)(*(const OF(total) *)left, *(const OF(total) *)right);
}

static void OF(store1)(void *number, const void *total) {
  *(RS_W *)number = OF(show)(*(const OF(total) *)total);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Columns of a line that belong to no row are computed with as well, and begin as the identity. */
static void OF(load)(void *level, int64_t plane, const void *x, const void *by, rs_grid g, bool omits) {
  OF(planes) to = OF(planes_at)(level, plane);
  for (int64_t l = 0; l < g.lines; l++, to = OF(skip)(to, g.to)) {
    const RS_W *from = (const RS_W *)x + l * g.from, *factor = by ? (const RS_W *)by + l * g.mask : from;
    RS_INDEPENDENT
    for (int64_t i = 0; i < g.n; i++) {
      OF(total) none = OF(identity)(), t = OF(of)(from[i], factor[i]);
      int omitted = OF(omitted)(from[i]) & omits;
      OF(put)(to, i, omitted ? none : t);
    }
    for (int64_t i = g.n; i < g.to; i++)
      OF(put)(to, i, OF(identity)());
  }
}

/* to[i] = left[i] o right[i]; `to` may be `right`. */
RS_INLINE void OF(join_line)(OF(planes) to, OF(planes) left, OF(planes) right, int64_t width) {
  RS_INDEPENDENT
  for (int64_t i = 0; i < width; i++)
    OF(put)(to, i, OF(join)(OF(get)(left, i), OF(get)(right, i)));
}

/* A level of n parts, of the totals of twice as many. */
RS_INLINE void OF(up)(OF(planes) to, OF(planes) from, int64_t n, int64_t width) {
  if (width == 1) {
    RS_INDEPENDENT
    for (int64_t i = 0; i < n; i++)
      OF(put)(to, i, OF(join)(OF(get)(from, 2 * i), OF(get)(from, 2 * i + 1)));
  } else {
    for (int64_t i = 0; i < n; i++)
      OF(join_line)(OF(skip)(to, i * width), OF(skip)(from, 2 * i * width), OF(skip)(from, (2 * i + 1) * width), width);
  }
}

/* The prefixes before n parts and after the last, of those before and after parts of twice the size. */
RS_INLINE void OF(down)(OF(planes) at, OF(planes) before, int64_t n, int64_t width) {
  int64_t pairs = (n + 1) / 2;
  if (width == 1) {
    RS_INDEPENDENT
    for (int64_t i = 0; i < pairs; i++) {
      OF(total) left = OF(get)(at, 2 * i), prefix = OF(get)(before, i);
      OF(put)(at, 2 * i, prefix);
      OF(put)(at, 2 * i + 1, OF(join)(prefix, left));
    }
  } else {
    for (int64_t l = 0; l < pairs; l++) {
      OF(planes) to = OF(skip)(at, 2 * l * width), right = OF(skip)(to, width), from = OF(skip)(before, l * width);
      RS_INDEPENDENT
      for (int64_t i = 0; i < width; i++) {
        OF(total) left = OF(get)(to, i), prefix = OF(get)(from, i);
        OF(put)(to, i, prefix);
        OF(put)(right, i, OF(join)(prefix, left));
      }
    }
  }
  for (int64_t i = 0; n % 2 == 0 && i < width; i++)
    OF(put)(at, n * width + i, OF(get)(before, n / 2 * width + i));
}

RS_INLINE void OF(show_line)(RS_W *e, OF(planes) p, int64_t n) {
  RS_INDEPENDENT
  for (int64_t i = 0; i < n; i++)
    e[i] = OF(show)(OF(get)(p, i));
}

/* In a counter: of so many levels of lines. */
RS_INLINE OF(planes) OF(level)(const void *first, int64_t level, int64_t width) {
  return OF(planes_at)((const OF(total) *)first + level * width, width);
}

/* The prefixes after all that was counted. */
RS_INLINE OF(planes) OF(prefix)(const rs_counter *counter, int64_t width) {
  return OF(level)(counter->prefix, rs_level(counter->count), width);
}

/* As rs_push does. */
RS_INLINE void OF(push_line)(rs_counter *counter, OF(planes) t, int64_t width) {
  int64_t before = counter->count++, level = rs_level(before + 1);
  OF(planes) total = OF(level)(counter->total, level, width), after = OF(level)(counter->prefix, level, width);
  OF(planes) start = OF(level)(counter->prefix, rs_level(before & (before + 1)), width);
  for (int64_t i = 0; i < width; i++)
    OF(put)(total, i, OF(get)(t, i));
  for (int64_t b = 0; b < level; b++)
    OF(join_line)(total, OF(level)(counter->total, b, width), total, width);
  OF(join_line)(after, start, total, width);
}

static void OF(push)(rs_counter *counter, const void *total, int64_t width) {
  OF(push_line)(counter, OF(planes_at)(total, width), width);
}

static void OF(scan)(rs_counter *counter, void *levels, void *e, int64_t n, int64_t width, bool whole) {
  OF(planes) level[RS_LEVELS];
  RS_W *from = levels, *to = e;
  int top = 0;
  for (int64_t parts = n; parts > 0; parts >>= 1, top++) {
    int64_t plane = rs_plane(parts, width, sizeof *from);
    level[top] = OF(planes_at)(from, plane);
    from += plane * (int64_t)(sizeof(OF(total)) / sizeof *from);
  }
  for (int d = 1; d < top; d++)
    OF(up)(level[d], level[d - 1], n >> d, width);
  level[top] = OF(prefix)(counter, width);
  if (whole)
    OF(push_line)(counter, level[top - 1], width); /* which leaves the prefix where it is */
  if (!e)
    return;
  for (int d = top - 1; d >= 0; d--)
    OF(down)(level[d], level[d + 1], n >> d, width);
  OF(show_line)(to, level[0], n * width);
  OF(show_line)(to + n * width, whole ? OF(prefix)(counter, width) : OF(skip)(level[0], n * width), width);
}

#undef POINTER
#undef PLANE
#undef GET
#undef PUT
#undef SKIP
#undef OF
#undef RS_PASTE_N
#undef RS_PASTE_N2
#undef RS_N
#undef RS_W
