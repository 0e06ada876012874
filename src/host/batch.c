/*
 * batch.c - whole rows of up to a panel's elements, many at a time
 * SPDX-License-Identifier: MIT
 */
#include "work.h"

#include <string.h>

/* Memory to work with. */
typedef struct panels {
  char *x, *e, *factor, *raw, *raw_mask, *start, *total;
} panels;

/* Rows of a tile: where they start, in elements of each array, and how many there are. */
typedef struct batch {
  int64_t at[RS_ARRAYS], rows;
} batch;

bool rs_small_serves(const rs_run *s) {
  int64_t most = RS_SMALL_BYTES / s->widest;
  return s->loops && !s->weighted && s->rows.rank == 1 && s->spec->length > 1 && s->spec->length <= most &&
         s->rows.count <= most && s->rows.count * s->spec->length <= most;
}

bool rs_batch_serves(const rs_run *s) {
  int64_t n = s->spec->length, neighbours = s->rows.shape[s->rows.rank - 1];
  enum { FEW = 8 }; /* neighbours in a tile where rows have more dimensions than one */
  return s->loops && !s->weighted && n > 1 && n * s->widest <= RS_PANEL_BYTES &&
         (s->rows.rank == 1 || neighbours >= FEW);
}

/* Whether the rows of an array follow one another without a gap. */
static inline bool dense(const rs_run *s, const batch *b, rs_which p) {
  return s->part[p].step == 1 && (b->rows == 1 || s->stride[p] == s->spec->length);
}

static inline char *data_of(const rs_run *s, const batch *b, rs_which p) {
  return s->part[p].data + b->at[p] * s->part[p].bytes;
}

/* The elements of a batch one after another: where they are, or in raw. */
static const void *gather_rows(const rs_run *s, const batch *b, rs_which p, void *raw) {
  const rs_view *a = &s->part[p];
  const char *data = data_of(s, b, p);
  int64_t n = s->spec->length, line = n * a->bytes, stride = s->stride[p] * a->bytes;
  if (dense(s, b, p))
    return data;
  if (a->step == 1)
    s->isa->copy(raw, data, (rs_grid){b->rows, line, line, stride, 0}, NULL);
  else
    for (int64_t r = 0; r < b->rows; r++)
      s->isa->gather[a->log2]((char *)raw + r * line, data + r * stride, n, a->step);
  return raw;
}

static const void *widen_rows(const rs_run *s, const rs_view *a, const void *data, int64_t n, void *wide) {
  if (a->wide)
    return data;
  s->isa->load[a->type][s->wide](wide, data, (rs_grid){.lines = 1, .n = n});
  return wide;
}

/* The same as numbers, with the mask applied. */
static const void *read_numbers(const rs_run *s, const panels *k, const batch *b, rs_grid all) {
  const rs_view *m = &s->part[RS_MASK];
  const void *x = widen_rows(s, &s->part[RS_IN], gather_rows(s, b, RS_IN, k->raw), all.n, k->x);
  if (s->spec->mask_mode == ROWSCAN_MASK_NONE)
    return x;
  const void *mask = gather_rows(s, b, RS_MASK, k->raw_mask);
  if (s->spec->mask_mode == ROWSCAN_MASK_SELECT)
    s->isa->select[m->log2][s->size == 8](k->x, x, mask, s->mask_bits, &s->identity, all);
  else
    s->isa->multiply[s->wide](k->x, x, widen_rows(s, m, mask, all.n, k->factor), all);
  return k->x;
}

/* And as totals. */
static const void *read_batch(const rs_run *s, const panels *k, const batch *b, rs_grid all) {
  const void *x = read_numbers(s, k, b, all);
  if (s->omits) {
    s->isa->omit[s->wide](k->x, x, &s->identity, all);
    x = k->x;
  }
  if (!s->key)
    return x;
  s->key(k->x, x, s->key_by, all);
  return k->x;
}

/* The address that is read next, most likely. */
static const void *ahead(const rs_run *s, const batch *b) {
  const rs_view *a = &s->part[RS_IN];
  return dense(s, b, RS_IN) ? data_of(s, b, RS_IN) + b->rows * s->spec->length * a->bytes : NULL;
}

static void write_batch(const rs_run *s, const panels *k, const batch *b) {
  const rs_view *a = &s->part[RS_OUT];
  const char *e = k->e;
  char *data = data_of(s, b, RS_OUT);
  bool one_line = dense(s, b, RS_OUT);
  int64_t n = s->spec->length, all = b->rows * n, stride = s->stride[RS_OUT] * a->bytes;
  if (!a->wide) {
    bool last = one_line && !s->stream;
    s->isa->save[s->wide][a->type](last ? data : k->raw, e, (rs_grid){.lines = 1, .n = all});
    if (last)
      return;
    e = k->raw;
  }
  rs_grid bytes = {b->rows, n * a->bytes, stride, n * a->bytes, 0};
  if (one_line)
    bytes = (rs_grid){.lines = 1, .n = all * a->bytes};
  if (a->step == 1 && s->stream)
    s->isa->stream(data, e, bytes, one_line ? ahead(s, b) : NULL, NULL, true, true);
  else if (a->step == 1)
    s->isa->copy(data, e, bytes, one_line ? ahead(s, b) : NULL);
  else
    for (int64_t r = 0; r < b->rows; r++)
      s->isa->scatter[a->log2](data + r * stride, e + r * n * a->bytes, n, a->step);
}

/* The initial value of a row of the batch, or its total. */
static inline char *end_of(const rs_run *s, const batch *b, rs_which which, int64_t row) {
  int64_t bytes = which == RS_INIT ? s->init_bytes : s->end_bytes;
  return (char *)s->rows.array[which].data + (b->at[which] + row * s->stride[which]) * bytes;
}

/* Totals of rows, as numbers. */
static void save_batch(const rs_run *s, const panels *k, const batch *b) {
  for (int64_t r = 0; s->rows.array[RS_TOTALS].data && r < b->rows; r++)
    rs_save_total(s, end_of(s, b, RS_TOTALS, r), k->total + r * s->size);
}

/* Of rows that are parts of longer ones: the last prefixes, which their own elements do not tell. */
static void take_last(const rs_run *s, const panels *k, const batch *b) {
  int64_t n = s->spec->length;
  for (int64_t r = 0; s->rows.array[RS_TOTALS].data && r < b->rows; r++)
    rs_load_init(s, k->e + ((r + 1) * n - 1) * s->size, end_of(s, b, RS_TOTALS, r));
}

static void scan_batch(const rs_run *s, const panels *k, const batch *b) {
  bool exclusive = s->spec->flags & ROWSCAN_EXCLUSIVE;
  int64_t n = s->spec->length;
  rs_grid all = {.lines = 1, .n = b->rows * n};
  for (int64_t r = 0; s->rows.array[RS_INIT].data && r < b->rows; r++)
    rs_load_init(s, k->start + r * s->size, end_of(s, b, RS_INIT, r));
  s->loops->lines(read_batch(s, k, b, all), k->e, n, b->rows, s->rows.array[RS_INIT].data ? k->start : NULL,
                  s->rows.array[RS_TOTALS].data ? k->total : NULL, exclusive);
  if (s->states == RS_STATES_TOTAL) {
    save_batch(s, k, b);
    return;
  }
  if (s->states == RS_STATES_RESUME && !exclusive)
    take_last(s, k, b);
  rs_show(s, k->e, all.n);
  for (int64_t r = 0; exclusive && !s->rows.array[RS_INIT].data && r < b->rows; r++)
    rs_move(k->e + r * n * s->size, &s->identity, s->size);
  if (!s->states)
    save_batch(s, k, b);
  write_batch(s, k, b);
}

static void place(const rs_run *s, int64_t number, batch *b) {
  int64_t segment = s->segment_tiles == s->tiles ? 0 : number / s->segment_tiles;
  int64_t first = (number - segment * s->segment_tiles) * s->tile_rows, left = s->segment - first;
  b->rows = left < s->tile_rows ? left : s->tile_rows;
  for (int a = 0; a < RS_ARRAYS; a++)
    b->at[a] = first * s->stride[a];
  for (int d = s->rows.rank - 2; d >= 0; d--) {
    int64_t index = segment % s->rows.shape[d];
    segment /= s->rows.shape[d];
    for (int a = 0; a < RS_ARRAYS; a++)
      b->at[a] += index * s->rows.array[a].stride[d];
  }
}

void rs_run_batch(void *run, int64_t chunk, void *seat) {
  const rs_run *s = run;
  rs_seat *k = seat;
  panels p = {k->x, k->e + RS_SLACK_BYTES, k->factor, k->raw, k->raw_mask, k->start, k->total};
  int64_t end = (chunk + 1) * s->chunk_tiles;
  for (int64_t i = chunk * s->chunk_tiles; i < end && i < s->tiles; i++) {
    batch b;
    place(s, i, &b);
    scan_batch(s, &p, &b);
  }
  if (s->stream)
    s->isa->fence();
}

int64_t rs_bare_bytes(const rs_run *s) {
  batch all = {.rows = s->rows.count};
  bool bare = s->part[RS_IN].wide && dense(s, &all, RS_IN) && s->part[RS_OUT].wide && dense(s, &all, RS_OUT) &&
              !s->spec->mask_mode && !s->omits && !s->key && !s->value && !s->rows.array[RS_INIT].data &&
              !s->rows.array[RS_TOTALS].data;
  return bare ? s->rows.count * s->spec->length * s->size : 0;
}

void rs_run_bare(const rs_run *s, const rs_rows *rows) {
  char memory[RS_SLACK_BYTES + RS_SMALL_BYTES + RS_SLACK_BYTES] __attribute__((aligned(16)));
  char *e = memory + RS_SLACK_BYTES;
  const rowscan_spec *spec = s->spec;
  const char *x = (const char *)rows->array[RS_IN].data + s->part[RS_IN].first;
  char *y = (char *)rows->array[RS_OUT].data + s->part[RS_OUT].first;
  s->loops->lines(x, e, spec->length, s->rows.count, NULL, NULL, spec->flags & ROWSCAN_EXCLUSIVE);
  for (int64_t at = 0; spec->flags & ROWSCAN_EXCLUSIVE && at < s->bare; at += spec->length * s->size)
    rs_move(e + at, &s->identity, s->size);
  memcpy(y, e, (size_t)s->bare);
}

void rs_run_small(const rs_run *s) {
  enum { EACH = RS_SMALL_BYTES };
  char memory[6 * EACH + RS_SLACK_BYTES + EACH + RS_SLACK_BYTES] __attribute__((aligned(64)));
  char *e = memory + 6 * EACH + RS_SLACK_BYTES;
  panels p = {memory, e, memory + EACH, memory + 2 * EACH, memory + 3 * EACH, memory + 4 * EACH, memory + 5 * EACH};
  scan_batch(s, &p, &(batch){.rows = s->rows.count});
}
