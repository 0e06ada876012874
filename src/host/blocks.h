/*
 * blocks.h - scans of blocks of elements, for one operator of totals.h on numbers of one type
 * SPDX-License-Identifier: MIT
 *
 * Wants RS_N, the operator's name; RS_W, the type of numbers; RS_FIELDS, the fields of a total. Makes of RS_N, if
 * RS_CUT is defined, the same operator in segments, cut_RS_N, and if RS_ALSO_CUT is, both. With RS_LOADS_ONE it makes
 * no total of one element.
 *
 * Totals lie in planes, one for each field. Level d of a block of n steps begins as the totals of its aligned parts of
 * 2^d steps, of which two make one of level d + 1. On the way back each total makes room for the prefix before its
 * part: of a left half that before the whole, of a right half that one combined with the left half's total. This is the
 * order of rowscan.h, since the block's place is a multiple of its size. Parts that are not whole have no total, and
 * only a prefix before them.
 */
#define RS_PASTE_N2(a, b) a##_##b
#define RS_PASTE_N(a, b) RS_PASTE_N2(a, b)
#define WHOLE(name) RS_PASTE_N(name, RS_N)

#ifdef RS_CUT

/* ---- an operator in segments ------------------------------------------------------------------------------------- */

#define OF(name) RS_PASTE_N(name##_cut, RS_N)
#define FIELDS(X, p) RS_FIELDS(X, p, in.) X(p, joins, joins)

/* What follows the last beginning in a block, and not 0 if none is there, so that the block joins what comes before. */
typedef struct OF(total) {
  WHOLE(total) in;
  RS_W joins;
} OF(total);

RS_INLINE OF(total) OF(of)(RS_W x, RS_W by) {
  return (OF(total)){WHOLE(of)(x, by), by};
}

RS_INLINE OF(total) OF(begin)(RS_W y) {
  return (OF(total)){WHOLE(begin)(y), 1};
}

RS_INLINE OF(total) OF(neutral)(void) {
  return (OF(total)){WHOLE(neutral)(), 1};
}

RS_INLINE OF(total) OF(identity)(void) {
  return (OF(total)){WHOLE(identity)(), 1};
}

RS_INLINE OF(total) OF(without)(RS_W by) {
  return (OF(total)){WHOLE(identity)(), by};
}

RS_INLINE int OF(omitted)(RS_W x) {
  return WHOLE(omitted)(x);
}

#define CHOOSE(p, name, field) .field = p ? both.field : later.field,
RS_INLINE OF(total) OF(join)(OF(total) a, OF(total) b) { /* field by field, or GCC makes no vectors of it */
  OF(total) both = {WHOLE(join)(a.in, b.in), a.joins}, later = {WHOLE(after)(a.in, b.in), 0};
  return (OF(total)){FIELDS(CHOOSE, b.joins != 0)};
}
#undef CHOOSE

RS_INLINE RS_W OF(show)(OF(total) t) {
  return WHOLE(show)(t.in);
}

#else
#define OF WHOLE
#define FIELDS(X, p) RS_FIELDS(X, p, )

/* The total of an element that is left out. */
RS_INLINE OF(total) OF(without)(RS_W by) {
  (void)by;
  return OF(identity)();
}
#endif

/* ---- planes ------------------------------------------------------------------------------------------------------ */

#define POINTER(p, name, field) __typeof__(((OF(total) *)0)->field) *name;
#define PLANE(p, name, field) .name = (void *)((RS_W *)(p) + offsetof(OF(total), field) / sizeof(RS_W) * (size_t)plane),
#define GET(p, name, field) .field = p.name[i],
#define PUT(p, name, field) p.name[i] = t.field;
#define SKIP(p, name, field) p.name += i;

typedef struct OF(planes) {
  FIELDS(POINTER, )
} OF(planes);

RS_INLINE OF(planes) OF(planes_at)(const void *first, int64_t plane) {
  return (OF(planes)){FIELDS(PLANE, first)};
}

RS_INLINE OF(planes) OF(skip)(OF(planes) p, int64_t i) {
  FIELDS(SKIP, p)
  return p;
}

RS_INLINE OF(total) OF(get)(OF(planes) p, int64_t i) {
  return (OF(total)){FIELDS(GET, p)};
}

RS_INLINE void OF(put)(OF(planes) p, int64_t i, OF(total) t) {
  FIELDS(PUT, p)
}

/* ---- one element ------------------------------------------------------------------------------------------------- */

#ifndef RS_LOADS_ONE
static void OF(load1)(void *total, const void *number, const void *coefficient) {
  RS_W x = *(const RS_W *)number, by = coefficient ? *(const RS_W *)coefficient : 0;
  *(OF(total) *)total = OF(of)(x, by);
}
#endif

static void OF(begin1)(void *total, const void *number) {
  *(OF(total) *)total = OF(begin)(*(const RS_W *)number);
}

#ifdef RS_CUT
static void OF(without1)(void *total, const void *by) {
  *(OF(total) *)total = OF(without)(*(const RS_W *)by);
}
#endif

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
      OF(total) none = OF(without)(factor[i]), t = OF(of)(from[i], factor[i]);
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
#undef FIELDS
#undef OF
#undef WHOLE
#undef RS_PASTE_N
#undef RS_PASTE_N2
#if defined RS_ALSO_CUT && !defined RS_CUT
#define RS_CUT
#include "blocks.h"
#undef RS_CUT
#else
#undef RS_N
#undef RS_W
#endif
