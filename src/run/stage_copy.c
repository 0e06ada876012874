/*
 * stage_copy.c - copies between rows that lie anywhere in host memory and rows packed densely
 * SPDX-License-Identifier: MIT
 *
 * The copies are bound by memory, so all that matters is that each cache line is touched once. Rows whose elements are
 * neighbours, or at least closer to one another than to the next row, are copied one by one. Woven rows, whose elements
 * lie between those of other rows (columns), are turned by way of a tile that stays in the L1 cache: read line by line
 * as they lie on one side, written line by line as they lie on the other.
 */
#include "stage_copy.h"

#include <string.h>

#include "base/ints.h"

enum {
  TILE_ROWS = 64,
  TILE_BYTES = 256,         /* of a row, in a tile, */
  TILE_ELEMENTS = 64,       /* but no more elements than this */
  CHUNK_BYTES = 256 * 1024, /* that a thread copies at a time: at home in an L2 cache, some microseconds of work */
};

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static bool is_packed(const rs_strided *array) {
  int64_t dense = array->length;
  if (array->step != 1)
    return false;
  for (int d = array->rank - 1; d >= 0; d--) {
    if (array->shape[d] != 1 && array->stride[d] != dense)
      return false;
    dense *= array->shape[d];
  }
  return true;
}

rs_strided rs_strided_of(const rs_rows *rows, rs_which which, int64_t length) {
  const rs_operand *from = &rows->array[which];
  rs_strided array = {.data = from->data,
                      .bytes = from->bytes,
                      .length = which == RS_INIT || which == RS_TOTALS ? 1 : length,
                      .rank = rows->rank,
                      .shape = rows->shape,
                      .stride = from->stride};
  array.step = array.length == 1 ? 1 : from->step;
  array.packed = is_packed(&array);
  return array;
}

/* ---- the elements of a few rows ---------------------------------------------------------------------------------- */

/* Up to TILE_ROWS rows on both sides. A copy goes from packed to strided if `scatter`, else the other way. */
typedef struct group {
  char *packed;
  int64_t pitch; /* elements between packed rows */
  char *data;    /* strided */
  int64_t step;
  int64_t at[TILE_ROWS]; /* where its rows start */
  int64_t rows, elements;
  bool scatter;
  bool neighbours; /* at[] counts up by one */
} group;

static inline __attribute__((always_inline)) void copy_steps(char *to, int64_t to_step, const char *from,
                                                             int64_t from_step, int64_t n, size_t bytes) {
  for (int64_t i = 0; i < n; i++)
    memcpy(to + i * to_step * (int64_t)bytes, from + i * from_step * (int64_t)bytes, bytes);
}

static inline __attribute__((always_inline)) void copy_row(const group *g, int64_t r, size_t bytes) {
  char *packed = g->packed + r * g->pitch * (int64_t)bytes, *data = g->data + g->at[r] * (int64_t)bytes;
  if (g->step == 1)
    memcpy(g->scatter ? data : packed, g->scatter ? packed : data, (size_t)g->elements * bytes);
  else if (g->scatter)
    copy_steps(data, g->step, packed, 1, g->elements, bytes);
  else
    copy_steps(packed, 1, data, g->step, g->elements, bytes);
}

/* One element of all rows; `line` has them side by side. */
static inline __attribute__((always_inline)) void copy_line(const group *g, int64_t e, char *line, size_t bytes) {
  char *data = g->data + e * g->step * (int64_t)bytes;
  if (g->neighbours) {
    data += g->at[0] * (int64_t)bytes;
    memcpy(g->scatter ? data : line, g->scatter ? line : data, (size_t)g->rows * bytes);
    return;
  }
  for (int64_t r = 0; r < g->rows; r++) {
    char *there = data + g->at[r] * (int64_t)bytes, *here = line + r * (int64_t)bytes;
    memcpy(g->scatter ? there : here, g->scatter ? here : there, bytes);
  }
}

/* tile[e][r] is element first + e of row r. */
static inline __attribute__((always_inline)) void copy_tile(const group *g, int64_t first, int64_t n, size_t bytes) {
  char tile[TILE_ROWS * TILE_BYTES];
  int64_t pitch = TILE_ROWS * (int64_t)bytes;
  char *packed = g->packed + first * (int64_t)bytes;
  if (g->scatter)
    for (int64_t r = 0; r < g->rows; r++)
      copy_steps(tile + r * (int64_t)bytes, TILE_ROWS, packed + r * g->pitch * (int64_t)bytes, 1, n, bytes);
  for (int64_t e = 0; e < n; e++)
    copy_line(g, first + e, tile + e * pitch, bytes);
  if (!g->scatter)
    for (int64_t r = 0; r < g->rows; r++)
      copy_steps(packed + r * g->pitch * (int64_t)bytes, 1, tile + r * (int64_t)bytes, TILE_ROWS, n, bytes);
}

static int64_t tile_elements(int64_t bytes) {
  return rs_smaller(TILE_BYTES / bytes, TILE_ELEMENTS);
}

static inline __attribute__((always_inline)) void copy_group(const group *g, bool woven, size_t bytes) {
  int64_t width = tile_elements((int64_t)bytes);
  if (woven)
    for (int64_t e = 0; e < g->elements; e += width)
      copy_tile(g, e, rs_smaller(width, g->elements - e), bytes);
  else
    for (int64_t r = 0; r < g->rows; r++)
      copy_row(g, r, bytes);
}

static void copy_group_of(const group *g, bool woven, int64_t bytes) {
  switch (bytes) {
  case 1:
    copy_group(g, woven, 1);
    break;
  case 2:
    copy_group(g, woven, 2);
    break;
  case 4:
    copy_group(g, woven, 4);
    break;
  default:
    copy_group(g, woven, 8);
  }
}

/* ---- rows one after another -------------------------------------------------------------------------------------- */

typedef struct walk {
  int64_t index[RS_MAX_ROW_RANK];
  int64_t at;
} walk;

static void walk_to(walk *w, const rs_strided *array, int64_t row) {
  w->at = 0;
  for (int d = array->rank - 1; d >= 0; d--) {
    w->index[d] = d ? row % array->shape[d] : row;
    row /= array->shape[d];
    w->at += w->index[d] * array->stride[d];
  }
}

static void walk_on(walk *w, const rs_strided *array) {
  int d = array->rank - 1;
  w->index[d]++;
  w->at += array->stride[d];
  for (; d > 0 && w->index[d] == array->shape[d]; d--) {
    w->at += array->stride[d - 1] - w->index[d] * array->stride[d];
    w->index[d] = 0;
    w->index[d - 1]++;
  }
}

/* ---- chunks for the pool ----------------------------------------------------------------------------------------- */

typedef struct copy {
  const rs_strided *array;
  char *packed;
  rs_section part;
  bool scatter, woven;
  int64_t chunk_rows, chunk_elements;
  int64_t across; /* chunks that the elements of a row make */
} copy;

static void copy_chunk(void *what, int64_t number, void *seat) {
  (void)seat;
  const copy *c = what;
  const rs_strided *array = c->array;
  int64_t first = number / c->across * c->chunk_rows, end = rs_smaller(first + c->chunk_rows, c->part.rows);
  int64_t element = number % c->across * c->chunk_elements;
  group g = {.pitch = c->part.elements,
             .data = array->data + (c->part.element + element) * array->step * array->bytes,
             .step = array->step,
             .elements = rs_smaller(c->chunk_elements, c->part.elements - element),
             .scatter = c->scatter};
  walk w;
  walk_to(&w, array, c->part.row + first);
  for (; first < end; first += g.rows) {
    g.packed = c->packed + (first * g.pitch + element) * array->bytes;
    g.rows = rs_smaller(TILE_ROWS, end - first);
    g.neighbours = true;
    for (int64_t r = 0; r < g.rows; r++) {
      g.at[r] = w.at;
      g.neighbours &= w.at == g.at[0] + r;
      walk_on(&w, array);
    }
    copy_group_of(&g, c->woven, array->bytes);
  }
}

static void cut(copy *c) {
  const rs_strided *array = c->array;
  int last = array->rank - 1;
  int64_t chunk = CHUNK_BYTES / array->bytes;
  c->woven = c->part.rows > 1 && c->part.elements > 1 && array->shape[last] > 1 && array->stride[last] &&
             rs_distance(array->stride[last]) < rs_distance(array->step);
  c->chunk_rows = c->woven ? TILE_ROWS : rs_larger(1, chunk / c->part.elements);
  c->chunk_elements = rs_smaller(c->part.elements, chunk / (c->woven ? TILE_ROWS : 1));
  c->across = rs_ceiling(c->part.elements, c->chunk_elements);
}

static void run_copy(rs_pool *pool, int threads, copy *c) {
  if (c->part.rows == 0 || c->part.elements == 0)
    return;
  static const int64_t one = 1, zero = 0;
  rs_strided flat = *c->array;
  if (flat.packed && c->part.elements == flat.length) { /* as one long row */
    flat.data += c->part.row * flat.length * flat.bytes;
    flat.rank = 1;
    flat.shape = &one;
    flat.stride = &zero;
    c->array = &flat;
    c->part = (rs_section){0, 1, 0, c->part.rows * c->part.elements};
  }
  cut(c);
  rs_pool_run_in(pool, threads, rs_ceiling(c->part.rows, c->chunk_rows) * c->across, copy_chunk, c);
}

void rs_gather_rows(rs_pool *pool, int threads, void *packed, const rs_strided *from, const rs_section *part) {
  run_copy(pool, threads, &(copy){.array = from, .packed = packed, .part = *part});
}

void rs_scatter_rows(rs_pool *pool, int threads, const rs_strided *to, const void *packed, const rs_section *part) {
  run_copy(pool, threads, &(copy){.array = to, .packed = (char *)packed, .part = *part, .scatter = true});
}
