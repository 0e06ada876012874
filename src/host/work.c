/*
 * work.c - what a thread of the host engine does: blocks of panels, tiles, pieces
 * SPDX-License-Identifier: MIT
 */
#include "work.h"

#include <sched.h>

/* ---- lines of totals --------------------------------------------------------------------------------------------- */

/* A line has the totals of a strip's rows: those of several numbers in planes, one for each. */
static char *line_of(const rs_run *s, char *lines, int64_t row) {
  return lines + row / s->strip_rows * s->width * s->state;
}

static void put_total(const rs_run *s, char *lines, int64_t row, const char *total) {
  char *line = line_of(s, lines, row);
  if (s->width == 1)
    rs_move_total(s, line, total);
  for (int64_t w = 0; s->width > 1 && w < s->state; w += s->size)
    rs_move(line + w * s->width + row % s->strip_rows * s->size, total + w, s->size);
}

static void get_total(const rs_run *s, char *total, char *lines, int64_t row) {
  char *line = line_of(s, lines, row);
  if (s->width == 1)
    rs_move_total(s, total, line);
  for (int64_t w = 0; s->width > 1 && w < s->state; w += s->size)
    rs_move(total + w, line + w * s->width + row % s->strip_rows * s->size, s->size);
}

/* The lines of so many strips. */
static void fill(const rs_run *s, char *lines, const void *with, int64_t strips) {
  for (int64_t i = 0; i < strips * s->width * s->state; i += s->width * s->state)
    for (int64_t w = 0; w < s->state; w += s->size)
      for (int64_t c = 0; c < s->width; c++)
        rs_move(lines + i + w * s->width + c * s->size, (const char *)with + w, s->size);
}

/* ---- blocks: what is read and written at a time ------------------------------------------------------------------ */

/* Some steps of a strip: a line of a row's elements, or a line a step. */
typedef struct block {
  int64_t row, rows; /* of the tile */
  int64_t begin, steps;
} block;

/*
 * Where the elements of a block lie in one of the arrays: lines of neighbours, or `step` apart, or scattered (at).
 */
typedef struct view {
  char *data;
  int64_t lines, n, line, step; /* strides in elements */
  const int64_t *at;
} view;

/* These are inline to keep structs in registers: it makes short rows half as fast again. */
static inline view view_of(const rs_run *s, const rs_tile *t, const block *b, rs_which p) {
  const rs_view *a = &s->part[p];
  bool scattered = s->columns && !t->unit[p];
  char *data = a->data + (b->begin * a->step + (scattered ? 0 : t->at[p][b->row])) * a->bytes;
  return s->columns ? (view){data, b->steps, b->rows, a->step, 1, scattered ? t->at[p] + b->row : NULL}
                    : (view){data, 1, b->steps, 0, a->step, NULL};
}

/* Lines of neighbours, in memory or in a panel. */
typedef struct lines {
  const void *data;
  int64_t line;
} lines;

/* What will be read next, most likely; a prefetch may miss without harm. Rows of 32: 1.4 times as fast. */
static inline void prefetch(const char *data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64)
    __builtin_prefetch(data + i);
}

static inline lines gather_view(const rs_run *s, rs_seat *k, const rs_view *a, view v, void *raw) {
  if (v.at && v.line == 1) {
    s->isa->fetch_at(k->turned, v.data, (rs_grid){v.n, v.lines * a->bytes, v.lines * a->bytes, 0, 0}, v.at, a->bytes);
    s->isa->transpose[a->log2](raw, k->turned, (rs_grid){v.n, v.lines, v.n, v.lines, 0});
  } else if (v.at)
    s->isa->gather_at[a->log2](raw, v.data, (rs_grid){v.lines, v.n, v.n, v.line, 0}, v.at);
  else if (v.step != 1)
    s->isa->gather[a->log2](raw, v.data, v.n, v.step);
  else
    return (lines){v.data, v.line};
  return (lines){raw, v.n};
}

/* The same as accumulators: where they are, or in w, whose lines are w_line apart. */
static inline lines widen_view(const rs_run *s, const rs_view *a, view v, lines x, void *w, int64_t w_line) {
  if (a->wide)
    return x;
  s->isa->load[a->type][s->in_wide](w, x.data, (rs_grid){v.lines, v.n, w_line, x.line, 0});
  return (lines){w, w_line};
}

/* A block of the input as totals, with the mask applied: where it is, or in k->x. */
static inline lines read_block(const rs_run *s, rs_seat *k, const block *b) {
  const rs_view *a = &s->part[RS_IN], *m = &s->part[RS_MASK];
  view v = view_of(s, &k->tile, b, RS_IN);
  lines x = widen_view(s, a, v, gather_view(s, k, a, v, k->raw), k->x, s->width), own = {k->x, s->width};
  if (s->selects || s->spec->mask_mode == ROWSCAN_MASK_MULTIPLY) {
    lines y = gather_view(s, k, m, view_of(s, &k->tile, b, RS_MASK), k->raw_mask);
    rs_grid g = {v.lines, v.n, s->width, x.line, y.line};
    if (s->selects) {
      s->isa->select[m->log2][s->size == 8](k->x, x.data, y.data, s->mask_bits, &s->identity, g);
    } else {
      y = widen_view(s, m, v, y, k->factor, v.n);
      g.mask = y.line;
      s->isa->multiply[s->wide](k->x, x.data, y.data, g);
    }
    x = own;
  }
  if (s->omits) {
    s->isa->omit[s->wide](k->x, x.data, &s->identity, (rs_grid){v.lines, v.n, s->width, x.line, 0});
    x = own;
  }
  if (s->key) {
    s->key(k->x, x.data, s->key_by, (rs_grid){v.lines, v.n, s->width, x.line, 0});
    x = own;
  }
  return x;
}

/* What is read next: further steps of a row, the next strip of columns, or the first one again, some steps or a tile
 * on. */
static inline const void *read_next(const rs_run *s, const rs_seat *k, const block *b, int64_t *line) {
  enum { NEAR = 8 }; /* elements of a cache line that are wanted, at least one in so many */
  const rs_view *a = &s->part[RS_IN];
  const int64_t *at = k->tile.at[RS_IN];
  int64_t after = b->begin + b->steps, next = b->row + b->rows;
  *line = a->step * a->bytes;
  if (!s->columns)
    return a->step < 1 || a->step > NEAR ? NULL : a->data + (after * a->step + at[b->row]) * a->bytes;
  if (!k->tile.unit[RS_IN])
    return NULL;
  if (next < k->tile.rows)
    return a->data + (b->begin * a->step + at[next]) * a->bytes;
  return a->data + (after < s->spec->length ? after * a->step + at[0] : at[0] + next) * a->bytes;
}

/* To an output of numbers of a type. */
static inline void write_block(const rs_run *s, rs_seat *k, const block *b, rs_which p, rs_wide wide, lines w) {
  const rs_view *a = &s->part[p];
  view v = view_of(s, &k->tile, b, p);
  if (!a->wide) {
    bool last = !v.at && v.step == 1 && !s->stream;
    rs_grid g = {v.lines, v.n, last ? v.line : v.n, w.line, 0};
    s->isa->save[wide][a->type](last ? v.data : k->raw, w.data, g);
    if (last)
      return;
    w = (lines){k->raw, v.n};
  }
  if (v.line == v.n && w.line == v.n && v.step == 1 && !v.at) { /* lines without gaps are one */
    v.n *= v.lines;
    v.lines = 1;
  }
  rs_grid bytes = {v.lines, v.n * a->bytes, v.line * a->bytes, w.line * a->bytes, 0};
  const void *ahead = read_next(s, k, b, &bytes.mask);
  bool joins = p == RS_OUT && s->columns && k->tile.unit[p] && /* of one array, which leaves ends for its next strip */
               v.lines <= RS_PANEL_BYTES / RS_LINE_BYTES;
  if (v.at && v.line == 1) {
    s->isa->transpose[a->log2](k->turned, w.data, (rs_grid){v.lines, v.n, v.lines, w.line, 0});
    s->isa->spread_at(v.data, k->turned, (rs_grid){v.n, v.lines * a->bytes, 0, v.lines * a->bytes, 0}, v.at, a->bytes);
  } else if (v.at)
    s->isa->scatter_at[a->log2](v.data, w.data, (rs_grid){v.lines, v.n, v.line, w.line, 0}, v.at);
  else if (v.step != 1)
    s->isa->scatter[a->log2](v.data, w.data, v.n, v.step);
  else if (s->stream)
    s->isa->stream(v.data, w.data, bytes, ahead, joins ? k->joint : NULL, b->row == 0,
                   b->row + b->rows == k->tile.rows);
  else
    s->isa->copy(v.data, w.data, bytes, ahead);
}

static char *place_of_total(const rs_run *s, const rs_tile *t, int64_t row) {
  return (char *)s->rows.array[RS_TOTALS].data + t->at[RS_TOTALS][row] * s->end_bytes;
}

/* The prefixes through a block, as keys, if there are any: of a piece's last one those that the chain has. */
static inline char *last_keys(const rs_run *s, rs_seat *k, const block *b) {
  char *last = k->e + b->steps * s->width * s->size, total[RS_MOST_TOTAL] __attribute__((aligned(16)));
  for (int64_t r = 0; b->begin + b->steps == k->after_step && r < b->rows; r++) {
    get_total(s, total, k->after, b->row + r);
    rs_number_of(s, last + r * s->size, total);
  }
  return last;
}

static inline void save_totals(const rs_run *s, const rs_seat *k, const block *b, const char *last) {
  if (b->begin + b->steps == s->spec->length && s->rows.array[RS_TOTALS].data && !s->states)
    for (int64_t r = 0; r < b->rows; r++)
      rs_save_number(s, place_of_total(s, &k->tile, b->row + r), last + r * s->size);
}

/* Numbers of what was scanned, with what is special before the first step of a row, and after the last. */
static inline void show_block(const rs_run *s, rs_seat *k, const block *b) {
  const char *last = last_keys(s, k, b);
  if (s->keeps_keys)
    save_totals(s, k, b, last);
  rs_show(s, k->e, (b->steps + 1) * s->width);
  if (b->begin == 0 && !s->rows.array[RS_INIT].data)
    for (int64_t r = 0; r < b->rows; r++)
      rs_move(k->e + r * s->size, &s->identity, s->size);
  if (!s->keeps_keys)
    save_totals(s, k, b, last);
}

/* The lines that a block of columns is written to, which are too short to be foreseen: asked for while it is scanned.
 */
static void expect_output(const rs_run *s, const rs_seat *k, const block *b) {
  const rs_view *a = &s->part[RS_OUT];
  view v = view_of(s, &k->tile, b, RS_OUT);
  int64_t lines = v.at ? v.n : v.lines, n = v.at ? v.lines : v.n;
  if (v.at && v.line != 1)
    return;
  for (int64_t l = 0; l < lines; l++)
    prefetch(v.data + (v.at ? v.at[l] : l * v.line) * a->bytes, n * a->bytes);
}

/* A block with the step before it, where there is one. */
static block with_before(const block *b) {
  int64_t before = b->begin > 0;
  return (block){b->row, b->rows, b->begin - before, b->steps + before};
}

/* What marks elements: flags or keys, and which of their bits count. LATE: those of the step before decide, too. */
typedef struct marks {
  lines y;
  int log2;
  uint64_t bits;
  bool keys, late;
} marks;

/* Of a row that is a part of a longer one: whether marks of the element before it begin a segment with its first. */
static bool begins_before(const rs_run *s, const rs_seat *k, int64_t row) {
  const char *init = s->rows.array[RS_INIT].data;
  return s->states == RS_STATES_RESUME && init && rs_state_begins(s, init + k->tile.at[RS_INIT][row] * s->init_bytes);
}

/*
 * Zeros where a segment begins with an element, in the order of the scan, else ones. The first of a row, which has none
 * before it, begins no segment if late. v: the marks' view.
 */
static lines joins_of(const rs_run *s, rs_seat *k, const block *b, view v, marks m) {
  static const uint64_t none;
  int64_t first = m.late && b->begin == 0, step = s->columns ? m.y.line : 1, to = s->columns ? v.n : 1;
  rs_grid g = {v.lines - (m.late && s->columns), v.n - (m.late && !s->columns), v.n, m.y.line, 0};
  if (m.y.line == v.n) /* lines without gaps are one */
    g = (rs_grid){.lines = 1, .n = g.lines * g.n};
  for (int64_t i = 0; i < first * to; i++)
    rs_move(k->factor + i * s->size, begins_before(s, k, b->row + i) ? &none : &s->one, s->size);
  s->isa->joins[m.log2][s->size == 8](k->factor + first * to * s->size,
                                      (const char *)m.y.data + (m.keys ? step * (1 << m.log2) : 0),
                                      m.keys ? m.y.data : NULL, m.bits, &s->one, g);
  return (lines){k->factor, v.n};
}

static lines read_joins(const rs_run *s, rs_seat *k, const block *b) {
  const rs_view *m = &s->part[s->marks];
  bool late = rs_spec_asks_neighbours(s->spec);
  block from = late ? with_before(b) : *b;
  view v = view_of(s, &k->tile, &from, s->marks);
  marks marks = {gather_view(s, k, m, v, k->raw_mask), m->log2, s->mark_bits, s->segments == ROWSCAN_MASK_KEYS, late};
  return joins_of(s, k, b, v, marks);
}

/* As rs_push does for one row, of an operator without blocks. */
static void push_total(const rs_run *s, rs_counter *counter, const void *total) {
  char t[RS_MOST_TOTAL] __attribute__((aligned(16)));
  char *totals = counter->total, *prefixes = counter->prefix;
  int64_t before = counter->count++, bytes = s->state;
  memcpy(t, total, (size_t)bytes);
  for (int64_t b = 0; before >> b & 1; b++)
    rs_join_totals(s, t, totals + b * bytes, t);
  memcpy(totals + rs_level(before + 1) * bytes, t, (size_t)bytes);
  rs_join_totals(s, prefixes + rs_level(before + 1) * bytes, prefixes + rs_level(before & (before + 1)) * bytes, t);
}

static bool is_masked(const rs_run *s, const void *mask, int64_t i) {
  uint64_t bits = 0;
  int64_t bytes = s->part[RS_MASK].bytes;
  memcpy(&bits, (const char *)mask + i * bytes, (size_t)bytes);
  return !(bits & s->mask_bits);
}

/* Whether an element is a NaN that counts as none, unless read_block() sees to that; of indices numbers are keys. */
static bool is_omitted(const rs_run *s, const void *number) {
  float single;
  double real;
  uint64_t key;
  if (!(s->spec->flags & ROWSCAN_OMIT_NAN) || s->omits)
    return false;
  if (rs_op_of(s->spec->op)->kind == RS_INDEX) {
    memcpy(&key, number, sizeof key);
    return key == (s->spec->op == ROWSCAN_ARGMIN ? 0 : UINT64_MAX);
  }
  memcpy(&single, number, sizeof single);
  if (s->wide == RS_WIDE_f32)
    return single != single;
  memcpy(&real, number, sizeof real);
  return real != real;
}

/* What lies beside the elements of a row, one after another; NULL: there is none. */
typedef struct beside {
  const void *mask;
  const char *joins;             /* of segments: what read_joins() gives */
  int count, params;             /* numbers that a total is made of beside its element: of arrays, of the run */
  const char *number[RS_BESIDE]; /* coefficients, further inputs */
} beside;

/* Of element i, all that is beside it, and the run's parameters. */
static void numbers_beside(const rs_run *s, const beside *all, int64_t i, char *numbers) {
  for (int n = 0; n < all->count; n++, numbers += s->size)
    rs_move(numbers, all->number[n] + i * s->size, s->size);
  for (int n = 0; n < all->params; n++, numbers += s->size) {
    float single = (float)s->rows.params[n];
    rs_move(numbers, s->size == 8 ? (const void *)&s->rows.params[n] : &single, s->size);
  }
}

static bool begins(const rs_run *s, const beside *all, int64_t i) {
  static const char none[sizeof(uint64_t)];
  return all->joins && !memcmp(all->joins + i * s->size, none, (size_t)s->size);
}

/* The total of an element. */
static void load_one(const rs_run *s, const beside *all, int64_t i, const char *x, const char *numbers, char *total) {
  const rs_totals *totals = s->totals;
  bool cut = totals->without; /* `load` is told of segments */
  const char *joins = cut ? all->joins + i * s->size : NULL;
  if (!(all->mask && is_masked(s, all->mask, i)) && !is_omitted(s, x))
    totals->load(total, x, cut ? joins : all->count + all->params ? numbers : NULL);
  else if (cut)
    totals->without(total, joins);
  else
    totals->identity(total);
  if (s->state > totals->bytes)
    total[totals->bytes] = begins(s, all, i);
}

/* What an output shows of element i of a block, and of the prefix, which is the counter's. */
static void show_own(const rs_run *s, rs_seat *k, const block *b, const beside *all, int64_t i,
                     const rs_counter *counter, const char *x, const char *numbers) {
  char t[RS_MOST_TOTAL] __attribute__((aligned(16))), *y = k->further.second + i * s->size;
  bool exclusive = s->spec->flags & ROWSCAN_EXCLUSIVE;
  int64_t through = b->begin + i + (exclusive ? 0 : 1);
  if (exclusive && (begins(s, all, i) || (through == 0 && !s->rows.array[RS_INIT].data)))
    memcpy(t, s->masked, (size_t)s->state);
  else if (through == k->after_step)
    get_total(s, t, k->after, b->row);
  else
    memcpy(t, (const char *)counter->prefix + rs_level(counter->count) * s->state, (size_t)s->state);
  rs_move(y, &s->no_element, s->size);
  s->totals->second(y, t, x, numbers);
}

/* As scan_block does for one row: the counter counts elements. */
static void scan_one_by_one(const rs_run *s, rs_seat *k, const block *b, rs_counter *counter, const char *x,
                            const beside *all, bool show) {
  char t[RS_MOST_TOTAL] __attribute__((aligned(16))), numbers[(RS_BESIDE + RS_MOST_PARAMS) * sizeof(uint64_t)];
  const char *prefixes = counter->prefix;
  bool own = show && (s->spec->second_type || s->weighs), exclusive = s->spec->flags & ROWSCAN_EXCLUSIVE;
  for (int64_t i = 0; i <= b->steps; i++, x += s->size) {
    if (show)
      s->totals->store(k->e + i * s->size, prefixes + rs_level(counter->count) * s->state);
    if (i == b->steps)
      break;
    numbers_beside(s, all, i, numbers);
    if (own && exclusive)
      show_own(s, k, b, all, i, counter, x, numbers);
    load_one(s, all, i, x, numbers, t);
    push_total(s, counter, t);
    if (own && !exclusive)
      show_own(s, k, b, all, i, counter, x, numbers);
  }
  if (own && s->element)
    s->element(k->further.second, k->further.second, 1, (rs_grid){.lines = 1, .n = b->steps});
}

/* An array of numbers beside the elements of a block of one row. */
static void read_beside(const rs_run *s, rs_seat *k, const block *b, rs_which p, beside *all) {
  int n = all->count++;
  view v = view_of(s, &k->tile, b, p);
  lines x = gather_view(s, k, &s->part[p], v, k->further.raw[n]);
  all->number[n] = widen_view(s, &s->part[p], v, x, k->further.number[n], v.n).data;
}

/* A block of an operator that goes one element after another; x: its elements as numbers. */
static void scan_plainly(const rs_run *s, rs_seat *k, const block *b, rs_counter *counter, lines x, bool show) {
  beside all = {.params = rs_op_of(s->spec->op)->params};
  if (s->segments) /* first, since what it reads is room of a mask's */
    all.joins = read_joins(s, k, b).data;
  if (s->spec->mask_mode == ROWSCAN_MASK_SELECT && !s->selects)
    all.mask = gather_view(s, k, &s->part[RS_MASK], view_of(s, &k->tile, b, RS_MASK), k->raw_mask).data;
  if (s->spec->mask_mode == ROWSCAN_MASK_COEFFICIENT)
    read_beside(s, k, b, RS_MASK, &all);
  for (int i = 0; s->further && i < RS_MOST_MORE && s->spec->more_types[i]; i++)
    read_beside(s, k, b, (rs_which)(RS_MORE_IN + i), &all);
  scan_one_by_one(s, k, b, counter, x.data, &all, show);
}

/* A further input of a block as numbers. */
static lines read_panel(const rs_run *s, rs_seat *k, const block *b, rs_which p) {
  int n = p - RS_MORE_IN;
  view v = view_of(s, &k->tile, b, p);
  return widen_view(s, &s->part[p], v, gather_view(s, k, &s->part[p], v, k->further.raw[n]), k->further.number[n], v.n);
}

/* Of two further inputs x and y of a block: f(x, y), as numbers. */
static lines read_both(const rs_run *s, rs_seat *k, const block *b, rs_multiply *const f[]) {
  view v = view_of(s, &k->tile, b, RS_MORE_IN);
  lines x = read_panel(s, k, b, RS_MORE_IN), y = read_panel(s, k, b, RS_MORE_IN + 1);
  f[s->wide](k->further.number[2], x.data, y.data, (rs_grid){v.lines, v.n, v.n, x.line, y.line});
  return (lines){k->further.number[2], v.n};
}

static int log2_of_number(const rs_run *s) {
  return s->size == 8 ? 3 : 2;
}

/* What totals of a block are made of beside its elements: a further input, one number for all, or where sums begin. */
static lines read_coefficients(const rs_run *s, rs_seat *k, const block *b) {
  view v = view_of(s, &k->tile, b, RS_IN);
  float single = (float)s->rows.params[0];
  const void *number = s->size == 8 ? (const void *)&s->rows.params[0] : &single;
  block from = with_before(b);
  switch ((int)s->spec->op) {
  case ROWSCAN_WEIGHTED_RECURRENCE:
    return read_panel(s, k, b, RS_MORE_IN);
  case ROWSCAN_LOGSUMEXP_GRADIENT:
    return read_panel(s, k, b, RS_MORE_IN + 1);
  case ROWSCAN_EXTREMUM_GRADIENT:
    v = view_of(s, &k->tile, &from, RS_MORE_IN);
    return joins_of(s, k, b, v,
                    (marks){read_both(s, k, &from, s->isa->same), log2_of_number(s), UINT64_MAX, false, true});
  default:
    for (int64_t i = 0; i < v.n; i++)
      rs_move(k->further.number[0] + i * s->size, number, s->size);
    return (lines){k->further.number[0], 0};
  }
}

/* Results times weights; or, of a gradient of sums and of maxima, those that a mask selects, else 0. */
static void weigh(const rs_run *s, rs_seat *k, const block *b, lines shown) {
  static const uint64_t zero;
  view v = view_of(s, &k->tile, b, RS_MORE_IN);
  const rs_view *m = &s->part[RS_MORE_IN];
  bool of_sums = s->spec->op == ROWSCAN_SUM_GRADIENT, selects = of_sums || s->spec->op == ROWSCAN_EXTREMUM_GRADIENT;
  lines weights = of_sums                                     ? gather_view(s, k, m, v, k->further.raw[0])
                  : selects                                   ? read_both(s, k, b, s->isa->same)
                  : s->spec->op == ROWSCAN_LOGSUMEXP_GRADIENT ? read_both(s, k, b, s->isa->part)
                                                              : read_panel(s, k, b, RS_MORE_IN + 1);
  rs_grid g = {v.lines, v.n, s->width, shown.line, weights.line};
  if (selects)
    s->isa->select[of_sums ? m->log2 : log2_of_number(s)][s->size == 8](k->further.second, shown.data, weights.data,
                                                                        of_sums ? s->more_bits : UINT64_MAX, &zero, g);
  else
    s->isa->multiply[s->wide](k->further.second, shown.data, weights.data, g);
}

/* A block of totals of several numbers. */
static void scan_totals(const rs_run *s, rs_seat *k, const block *b, rs_counter *counter, bool show) {
  const rs_totals *totals = s->totals;
  const rs_view *m = &s->part[RS_MASK];
  lines x = read_block(s, k, b), mask = {0}, by = {0};
  view v = view_of(s, &k->tile, b, RS_IN);
  if (!totals->scan_block) {
    scan_plainly(s, k, b, counter, x, show);
    return;
  }
  if (s->spec->mask_mode == ROWSCAN_MASK_SELECT) {
    mask = gather_view(s, k, m, view_of(s, &k->tile, b, RS_MASK), k->raw_mask);
  } else if (s->spec->mask_mode == ROWSCAN_MASK_COEFFICIENT) {
    view from = view_of(s, &k->tile, b, RS_MASK);
    by = widen_view(s, m, from, gather_view(s, k, m, from, k->raw_mask), k->factor, v.n);
  } else if (s->segments) {
    by = read_joins(s, k, b);
  } else if (s->weighted) {
    by = read_coefficients(s, k, b);
  }
  int64_t plane = rs_plane(b->steps, s->width, s->size), to = s->columns ? s->width : v.n;
  totals->load_block(k->levels, plane, x.data, by.data, (rs_grid){v.lines, v.n, to, x.line, by.line},
                     s->spec->flags & ROWSCAN_OMIT_NAN);
  rs_grid g = {v.lines, v.n, to, to, mask.line};
  if (mask.line == v.n && to == v.n) /* lines without gaps are one */
    g = (rs_grid){.lines = 1, .n = v.lines * v.n};
  for (int64_t w = 0; mask.data && w < s->state; w += s->size) {
    char *words = k->levels + w * plane;
    s->isa->select[m->log2][s->size == 8](words, words, mask.data, s->mask_bits, s->masked + w, g);
  }
  totals->scan_block(counter, k->levels, show ? k->e : NULL, b->steps, s->width, b->steps == s->panel);
}

/* An exclusive result of a segment's first element is the identity. */
static void show_beginnings(const rs_run *s, rs_seat *k, const block *b) {
  view v = view_of(s, &k->tile, b, RS_IN);
  s->isa->select[s->size == 8 ? 3 : 2][s->size == 8](k->e, k->e, k->factor, UINT64_MAX, &s->identity,
                                                     (rs_grid){v.lines, v.n, s->width, s->width, v.n});
}

/* Scans a block after what its counter holds. Only the counter is wanted if not `show`. */
static void scan_block(const rs_run *s, rs_seat *k, const block *b, rs_counter *counter, bool show) {
  int64_t size = s->size, first = s->spec->flags & ROWSCAN_EXCLUSIVE ? 0 : s->width * size;
  bool silent = s->states == RS_STATES_TOTAL;
  if (show && s->columns && !s->stream && !silent)
    expect_output(s, k, b);
  if (s->totals) {
    scan_totals(s, k, b, counter, show);
  } else {
    lines x = read_block(s, k, b);
    if (x.data != k->x && b->rows < s->width) { /* loops read whole vectors */
      s->isa->copy(k->x, x.data, (rs_grid){b->steps, b->rows * size, s->width * size, x.line * size, 0}, NULL);
      x = (lines){k->x, s->width};
    }
    rs_scan *loop = s->columns ? s->loops->columns : s->loops->row;
    loop(counter, x.data, x.line, show ? k->e : NULL, b->steps, s->width);
  }
  if (show && silent) {
    memcpy(line_of(s, k->total, b->row), k->e + b->steps * s->width * size, (size_t)(s->width * size));
  } else if (show) {
    show_block(s, k, b);
    if (s->segments && s->spec->flags & ROWSCAN_EXCLUSIVE)
      show_beginnings(s, k, b);
    lines results = {k->e + first, s->width}, own = {k->further.second, s->columns ? s->width : b->steps};
    if (s->weighted && s->weighs)
      weigh(s, k, b, results);
    write_block(s, k, b, RS_OUT, s->wide, s->weighs ? own : results);
    if (s->spec->second_type)
      write_block(s, k, b, RS_SECOND, s->second_wide, s->weighs ? results : own);
  }
}

/* ---- banks: the counters of a tile's strips ---------------------------------------------------------------------- */

static int64_t strips(const rs_run *s, const rs_tile *t) {
  return s->columns ? (t->rows + s->strip_rows - 1) / s->strip_rows : t->rows;
}

static void start_bank(const rs_run *s, const rs_tile *t, rs_bank *bank, const char *start) {
  int64_t bytes = s->width * s->state;
  for (int64_t i = 0; i < strips(s, t); i++) {
    char *total = bank->total + i * RS_LEVELS * bytes, *prefix = bank->prefix + i * (RS_LEVELS + 1) * bytes;
    bank->counter[i] = (rs_counter){0, total, prefix};
    if (s->columns)
      memcpy(prefix + RS_LEVELS * bytes, start + i * bytes, (size_t)bytes);
    else
      rs_move_total(s, prefix + RS_LEVELS * bytes, start + i * bytes);
  }
}

/* The prefixes after all that was counted. */
static void read_bank(const rs_run *s, const rs_tile *t, const rs_bank *bank, char *to) {
  int64_t bytes = s->width * s->state;
  for (int64_t i = 0; i < strips(s, t); i++) {
    const rs_counter *c = &bank->counter[i];
    memcpy(to + i * bytes, (const char *)c->prefix + rs_level(c->count) * bytes, (size_t)bytes);
  }
}

/* The totals of all that was counted, a power of two of steps: what follows the neutral element, unless that is said of
 * the first element alone. */
static void read_totals(const rs_run *s, const rs_tile *t, const rs_bank *bank, char *to) {
  if (!s->totals) {
    read_bank(s, t, bank, to);
    return;
  }
  int64_t bytes = s->width * s->state;
  for (int64_t i = 0; i < strips(s, t); i++) {
    const rs_counter *c = &bank->counter[i];
    memcpy(to + i * bytes, (const char *)c->total + rs_level(c->count) * bytes, (size_t)bytes);
  }
}

static void push_bank(const rs_run *s, const rs_tile *t, rs_bank *bank, const char *total) {
  for (int64_t i = 0; i < strips(s, t); i++)
    if (s->totals && s->totals->push_line)
      s->totals->push_line(&bank->counter[i], total + i * s->width * s->state, s->width);
    else if (s->totals)
      push_total(s, &bank->counter[i], total + i * s->state);
    else
      s->loops->push(&bank->counter[i], total + i * s->width * s->state, s->width);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static void place_row(const rs_rows *r, int64_t row, rs_tile *t, int64_t i) {
  for (int a = 0; a < rs_arrays(r); a++)
    t->at[a][i] = 0;
  for (int d = r->rank - 1; d >= 0; d--) {
    int64_t index = d ? row % r->shape[d] : row;
    row = d ? row / r->shape[d] : 0;
    for (int a = 0; a < rs_arrays(r); a++)
      t->at[a][i] += index * r->array[a].stride[d];
  }
}

/* Rows that differ in the last dimension alone are placed without divisions. */
static void place_tile(const rs_run *s, int64_t number, rs_tile *t) {
  int64_t segment = s->segment_tiles == s->tiles ? 0 : number / s->segment_tiles;
  int64_t first = (number - segment * s->segment_tiles) * s->tile_rows, left = s->segment - first;
  int64_t row = segment * s->segment + first, last = s->rows.shape[s->rows.rank - 1];
  int64_t run = s->rows.rank == 1 ? last : last - row % last;
  t->rows = left < s->tile_rows ? left : s->tile_rows;
  for (int a = 0; a < rs_arrays(&s->rows); a++)
    t->unit[a] = s->stride[a] == 1 && t->rows <= run;
  for (int64_t i = 0; i < t->rows; i += run, run = last) {
    int64_t end = t->rows - i < run ? t->rows : i + run;
    place_row(&s->rows, row + i, t, i);
    for (int a = 0; a < rs_arrays(&s->rows); a++)
      for (int64_t j = i + 1; j < end && s->rows.array[a].data; j++)
        t->at[a][j] = t->at[a][i] + (j - i) * s->stride[a];
  }
}

/* Where the rows of a tile start: their initial values, or neutral elements. */
static void start_values(const rs_run *s, const rs_tile *t, char *start) {
  fill(s, start, s->totals ? s->start : s->neutral, strips(s, t));
  for (int64_t i = 0; s->rows.array[RS_INIT].data && i < t->rows; i++) {
    const char *init = (const char *)s->rows.array[RS_INIT].data + t->at[RS_INIT][i] * s->init_bytes;
    char total[RS_MOST_TOTAL] __attribute__((aligned(16)));
    if (s->states)
      rs_state_load(s, total, init);
    else
      rs_load_init(s, total, init);
    put_total(s, start, i, total);
  }
}

/* Of rows that are parts: the prefixes after them, which their own elements do not tell. */
static void take_after(const rs_run *s, rs_seat *k) {
  char total[RS_MOST_TOTAL] __attribute__((aligned(16)));
  bool given = s->states == RS_STATES_RESUME && s->rows.array[RS_TOTALS].data;
  for (int64_t i = 0; given && i < k->tile.rows; i++) {
    rs_state_load(s, total, place_of_total(s, &k->tile, i));
    put_total(s, k->after, i, total);
    k->after_step = s->spec->length;
  }
}

static void save_states(const rs_run *s, rs_seat *k) {
  char total[RS_MOST_TOTAL] __attribute__((aligned(16)));
  for (int64_t i = 0; i < k->tile.rows; i++) {
    get_total(s, total, k->total, i);
    rs_state_save(s, place_of_total(s, &k->tile, i), total);
  }
}

/* Scans the steps from `begin` to `end` of the tile in k, from k->start on. Only the bank is wanted if not `show`. */
static void scan_steps(const rs_run *s, rs_seat *k, int64_t begin, int64_t end, bool show) {
  const rs_tile *t = &k->tile;
  start_bank(s, t, &k->bank, k->start);
  for (int64_t i = begin; i < end; i += s->panel)
    for (int64_t r = 0, strip = 0; r < t->rows; r += s->strip_rows, strip++) {
      int64_t rows = t->rows - r, steps = end - i;
      block b = {r, rows < s->strip_rows ? rows : s->strip_rows, i, steps < s->panel ? steps : s->panel};
      scan_block(s, k, &b, &k->bank.counter[strip], show);
    }
}

/* Columns of a panel that belong to no row are computed with as well: better zeros than whatever was there. */
static void sit_down(const rs_run *s, rs_seat *k) {
  k->after_step = -1;
  if (s->columns)
    memset(k->x, 0, sizeof k->x);
}

/* Leaves the totals of a tile's rows in k->total. */
static void total_rows(const rs_run *s, rs_seat *k) {
  bool counted = s->totals || s->spec->length % s->panel == 0; /* else numbers are what follows the neutral one */
  scan_steps(s, k, 0, s->spec->length, !counted);
  if (counted)
    read_totals(s, &k->tile, &k->bank, k->total);
}

static void empty_rows(const rs_run *s, rs_seat *k) {
  for (int64_t i = 0; s->rows.array[RS_TOTALS].data && i < k->tile.rows; i++) {
    char total[RS_MOST_TOTAL] __attribute__((aligned(16))), *kept = place_of_total(s, &k->tile, i);
    get_total(s, total, k->start, i);
    if (s->rows.array[RS_INIT].data)
      rs_save_total(s, kept, total);
    else
      rs_save_identity(s, kept);
  }
}

void rs_run_tiles(void *run, int64_t chunk, void *seat) {
  const rs_run *s = run;
  rs_seat *k = seat;
  int64_t end = (chunk + 1) * s->chunk_tiles;
  sit_down(s, k);
  for (int64_t i = chunk * s->chunk_tiles; i < end && i < s->tiles; i++) {
    place_tile(s, i, &k->tile);
    start_values(s, &k->tile, k->start);
    take_after(s, k);
    if (s->states == RS_STATES_TOTAL) {
      total_rows(s, k);
      save_states(s, k);
    } else if (s->spec->length) {
      scan_steps(s, k, 0, s->spec->length, true);
    } else {
      empty_rows(s, k);
    }
  }
  if (s->stream)
    s->isa->fence();
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Leaves the core's other threads more of it. */
static void pause_briefly(void) {
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("yield");
#endif
}

/*
 * Waits for a turn. The one before is at most a piece's first reading away, some 20 us, in a thread that waits for
 * nobody behind. Who yields before that to another program gets the processor back a millisecond later. Measured on 2
 * cores beside 2 busy processes of nice 19, ms, yielding after 100 looks and so: 1000 x 97 along 1000 1.00, 0.105; 1 x
 * 1000000 0.76, 0.43; 1 x 200000 0.166, 0.121.
 */
static void await(rs_run *s, int64_t number) {
  enum { PATIENCE = 1000 }; /* of 15 to 45 us */
  for (int looks = 0; atomic_load_explicit(&s->turn, memory_order_acquire) != number; looks++)
    if (looks < PATIENCE)
      pause_briefly();
    else
      sched_yield();
}

/*
 * The prefix after a whole piece is not the one before it, combined with its total: the piece may complete a larger
 * block. So that one, too, comes from the chain.
 */
void rs_run_piece(void *run, int64_t number, void *seat) {
  rs_run *s = run;
  rs_seat *k = seat;
  rs_tile *t = &k->tile;
  int64_t begin = number % s->pieces * s->piece, left = s->spec->length - begin;
  bool whole = left >= s->piece, silent = s->states == RS_STATES_TOTAL;
  int64_t end = begin + (whole ? s->piece : left);
  sit_down(s, k);
  place_tile(s, number / s->pieces, t);
  if (whole) {
    fill(s, k->start, s->neutral, strips(s, t));
    scan_steps(s, k, begin, end, false);
    read_totals(s, t, &k->bank, k->total);
  }
  await(s, number);
  if (begin == 0) {
    start_values(s, t, k->start);
    start_bank(s, t, s->chain, k->start);
  }
  read_bank(s, t, s->chain, k->start);
  if (whole) {
    push_bank(s, t, s->chain, k->total);
    read_bank(s, t, s->chain, k->after);
    k->after_step = end;
  }
  if (silent && end == s->spec->length)
    read_totals(s, t, s->chain, k->total);
  atomic_store_explicit(&s->turn, number + 1, memory_order_release);

  if (silent) {
    if (end == s->spec->length)
      save_states(s, k);
    return;
  }
  if (end == s->spec->length)
    take_after(s, k);
  scan_steps(s, k, begin, end, true);
  if (s->stream)
    s->isa->fence();
}
