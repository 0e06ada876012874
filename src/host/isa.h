/*
 * isa.h - the inner loops of the host engine, as one table of functions for each instruction set
 * SPDX-License-Identifier: MIT
 *
 * A scan is a pipeline of loops over a panel, a buffer that stays in the L1 cache: gather, convert to the accumulator,
 * mask, scan, round to the output type, scatter. Each loop does one thing, so that any combination of types, flags,
 * masks and strides is made of a few dozen functions, and loops that have nothing to do are left out. Short rows go
 * many at a time (rs_lines), long ones one after another or side by side (rs_scan).
 */
#ifndef RS_HOST_ISA_H
#define RS_HOST_ISA_H

#include "spec/types.h"

/* The types that are computed in. Integers are unsigned, since those wrap; narrow ones are held in 32 bits. */
#define RS_WIDES(X) X(f32, float) X(f64, double) X(u32, uint32_t) X(u64, uint64_t)

typedef enum rs_wide {
#define X(name, c) RS_WIDE_##name,
  RS_WIDES(X)
#undef X
      RS_WIDE_COUNT
} rs_wide;

enum {
  RS_TYPE_COUNT = ROWSCAN_BOOL + 1,
#define X(enumerator, ...) +1
  RS_OP_COUNT = RS_OPS(X),
#undef X
  RS_PANEL_BYTES = 8192, /* of its widest elements: two or three panels are in use at once, in an L1 cache of 32 KB */
  RS_LINE_BYTES = 512,   /* of accumulators: the most rows side by side in a panel */
  RS_SLACK_BYTES = 64,   /* after a panel: a vector */
  RS_JOINT_BYTES = 64,   /* a cache line */
  RS_LEVELS = 56 /* of a counter: it counts blocks of 8 elements or more, so no address space holds 2^56 of them */
};

/*
 * A binary counter of the totals of blocks, for `width` rows side by side: total[b] belongs to the latest block of 2^b,
 * prefix[b] to P(the latest number of blocks whose lowest set bit is b), and prefix[RS_LEVELS] is where the fold
 * starts.
 */
typedef struct rs_counter {
  int64_t count;
  void *total;  /* [RS_LEVELS][width] */
  void *prefix; /* [RS_LEVELS + 1][width] */
} rs_counter;

static inline int rs_level(int64_t count) {
  return count ? __builtin_ctzll((unsigned long long)count) : RS_LEVELS;
}

/* What a loop works on: `lines` of `n` elements; where the next line starts, in elements of each array. */
typedef struct rs_grid {
  int64_t lines, n, to, from, mask;
} rs_grid;

typedef void rs_convert(void *to, const void *from, rs_grid g);
typedef void rs_gather(void *to, const void *from, int64_t n, int64_t step);         /* to[i] = from[i * step] */
typedef void rs_gather_at(void *to, const void *from, rs_grid g, const int64_t *at); /* to[i] = from[at[i]] */
typedef void rs_transpose(void *to, const void *from, rs_grid g); /* element i of line l to element l of line i */
typedef void rs_multiply(void *to, const void *from, const void *mask, rs_grid g);
typedef void rs_omit(void *to, const void *from, const void *other, rs_grid g); /* NaN to other; to may be from */
typedef void rs_map(void *to, const void *from, double by, rs_grid g); /* numbers to what is scanned, or back */
typedef void rs_combine(void *to, const void *a, const void *b);

/*
 * An operator whose totals are several numbers, words of the size of one wide type: for one element after another, and,
 * unless NULL, for blocks of n steps of `width` rows side by side. Totals of many elements, and of rows side by side,
 * lie in planes, one for each word.
 */
typedef struct rs_totals {
  int64_t bytes;                                                          /* of a total */
  void (*load)(void *total, const void *number, const void *coefficient); /* of one element; NULL: it has none */
  void (*begin)(void *total, const void *number);         /* where a fold from an initial value starts; NULL: load */
  void (*neutral)(void *total), (*identity)(void *total); /* as in kernels/ops.cuh */
  void (*combine)(void *to, const void *left, const void *right); /* to may be either of them */
  void (*store)(void *number, const void *total);
  /* What a second output shows of a prefix and of what `load` had of its element, unless there is nothing to show: then
   * y stays. NULL: there is no second output. */
  rowscan_op_second *second;
  void (*without)(void *total, const void *by); /* of an element taken away, in segments; NULL: totals know none */
  void (*start)(void *total,
                const rowscan_spec *spec); /* where a fold starts that no initial value does; NULL: neutral */

  /* The totals of a block's elements, in planes of rs_plane() words; of NaNs the identity, if `omits`. `by`, unless
   * NULL, has their coefficients, or what rs_joins writes. */
  void (*load_block)(void *levels, int64_t plane, const void *x, const void *by, rs_grid g, bool omits);
  /* Goes on with a scan as rs_scan does; `levels` has more room behind the planes. All blocks are of as many steps, a
   * power of two, but for the last of a scan, which may be not `whole`: the counter counts them. */
  void (*scan_block)(rs_counter *counter, void *levels, void *e, int64_t n, int64_t width, bool whole);
  void (*push_line)(rs_counter *counter, const void *total, int64_t width);
} rs_totals;

/* From plane to plane of the totals of n steps, which have room for a prefix more: words of so many bytes. */
static inline int64_t rs_plane(int64_t n, int64_t width, int64_t size) {
  int64_t line = RS_SLACK_BYTES / size;
  return ((n + 1) * width + line - 1) / line * line;
}

/* to[i] = mask[i] & bits ? from[i] : other; `bits` leaves out the sign of a floating-point mask. */
typedef void rs_select(void *to, const void *from, const void *mask, uint64_t bits, const void *other, rs_grid g);

/*
 * to[i] = flags[i] & bits ? 0 : one; where a segment begins is a 0. With `before`, flags are keys, and one begins where
 * they differ: to[i] = flags[i] != before[i] ? 0 : one. `bits` is the highest key then, and larger ones are the same.
 */
typedef void rs_joins(void *to, const void *flags, const void *before, uint64_t bits, const void *one, rs_grid g);

/*
 * Goes on with a scan of `width` rows side by side: e[i] = P(all before + i) for i = 0 .. n, where the counter holds
 * all before. The next step lies x_line elements on in x, and `width` in e. Only the last call of a scan may have an n
 * that is not a multiple of 1024 / width. Without e it only counts. x is not read beyond n steps, but e needs
 * RS_LINE_BYTES more room than n steps, rounded up to 1024 / width, take.
 */
typedef void rs_scan(rs_counter *counter, const void *x, int64_t x_line, void *e, int64_t n, int64_t width);
typedef void rs_push(rs_counter *counter, const void *total, int64_t width);

/*
 * Scans `rows` whole rows of n elements that lie one after another in x, into e likewise: P(1) .. P(n) of each, or P(0)
 * .. P(n - 1) if exclusive. start[r] is where the fold of row r starts; NULL: the neutral element. total[r] becomes
 * P(n), unless NULL. x is not read beyond the rows, but e needs room: an element before it, RS_SLACK_BYTES after.
 */
typedef void rs_lines(const void *x, void *e, int64_t n, int64_t rows, const void *start, void *total, bool exclusive);

/* Copies lines of bytes, and asks the caches for as many from `ahead` on meanwhile, unless NULL: g.mask bytes apart. */
typedef void rs_copy(void *to, const void *from, rs_grid g, const void *ahead);

/*
 * The same past the caches, of lines of at least 128 bytes. A cache line that a neighbour on either side writes the
 * rest of goes at once: `joint`, unless NULL, holds the last bytes of each line's left neighbour, if not `first`, and
 * takes those of these lines for the right one, if not `last`: RS_JOINT_BYTES each.
 */
typedef void rs_stream(void *to, const void *from, rs_grid g, const void *ahead, char *joint, bool first, bool last);

/* Lines of g.n bytes: those that are not dense start `bytes` * at[l] from the beginning. */
typedef void rs_copy_at(void *to, const void *from, rs_grid g, const int64_t *at, int64_t bytes);

/* What scans totals of one type. */
typedef struct rs_loops {
  rs_combine *combine;
  rs_push *push;
  rs_scan *row;     /* one row, width 1 */
  rs_scan *columns; /* `width` rows, a multiple of the vector */
  rs_lines *lines;
} rs_loops;

typedef struct rs_isa {
  const char *name;
  int vector_bytes;
  rs_convert *load[RS_TYPE_COUNT][RS_WIDE_COUNT]; /* element to accumulator */
  rs_convert *save[RS_WIDE_COUNT][RS_TYPE_COUNT]; /* and back, rounded once */
  rs_gather *gather[4], *scatter[4];              /* by log2 of the element's bytes; scatter: to[i * step] = from[i] */
  rs_gather_at *gather_at[4], *scatter_at[4];
  rs_transpose *transpose[4];
  rs_copy_at *fetch_at, *spread_at; /* lines of bytes, from and to places of a type of so many bytes */
  rs_select *select[4][2];          /* by log2 of the mask's bytes; the accumulator's bytes are 4, 8 */
  rs_joins *joins[4][2];            /* likewise */
  rs_copy *copy;                    /* of bytes */
  rs_stream *stream;
  void (*fence)(void); /* after streams, before another thread may look */
  rs_multiply *multiply[RS_WIDE_COUNT];
  rs_multiply *same[RS_WIDE_COUNT], *part[RS_WIDE_COUNT]; /* of floats x, y: 1 where they are one, else 0; exp(x - y) */
  rs_omit *omit[RS_WIDE_COUNT];                           /* of floats */
  rs_map *key[RS_OP_COUNT][RS_WIDE_COUNT];                /* floats to the keys of an operator of an order (ops.h), */
  rs_map *value[RS_WIDE_COUNT];                           /* and back */
  rs_map *flip[RS_WIDE_COUNT];                            /* integers with a sign to keys, and back */
  rs_map *fix;                                            /* f64 times `by` to the nearest whole numbers, of 64 bits, */
  rs_map *unfix[2]; /* and back, times `by`: rounded to nearest, or so that rounding it once more is rounding once. `to`
                       may be `from` in all these */
  rs_loops loops[RS_OP_COUNT][RS_WIDE_COUNT];                         /* by the type of totals */
  const rs_totals *(*totals)(const rowscan_spec *spec, rs_wide wide); /* NULL for those that `loops` scan */
} rs_isa;

extern const rs_isa rs_isa_base;
#if defined(__x86_64__)
extern const rs_isa rs_isa_avx2, rs_isa_avx512;
#endif

/* Level 0, 1, ... of what this processor knows, better with each; NULL beyond. */
const rs_isa *rs_isa_at(int level);

#endif
