/*
 * columns_memo.c - the cuts of a plan's last runs of regime column
 * SPDX-License-Identifier: MIT
 *
 * For wide.cuh, in words or askew, and short_columns.cuh a cut of large tensors takes no longer than finding it here
 * would.
 */
#include "columns_memo.h"

#include <string.h>

/*
 * Of initial values, or totals: where in a word of 16 bytes they begin, and which strides are no whole tuples of all
 * columns, the last being 1, else all bits. A number of END_BITS bits; 16: there are none.
 */
static int64_t end_of(const rs_operand *a, const rs_rows *rows) {
  int64_t odd = 0, columns = rs_columns_of(rows);
  if (!a->data)
    return 16;
  for (int d = 0; d < rows->rank - 1 && columns <= RS_MOST_TUPLE; d++)
    odd |= (int64_t)(a->stride[d] % columns != 0) << d;
  if (a->stride[rows->rank - 1] != 1)
    odd = (1 << RS_MEMO_RANK) - 1;
  return (int64_t)((uintptr_t)a->data % 16) | odd << 5;
}
enum { END_BITS = 5 + RS_MEMO_RANK };

/*
 * All that the choice of a kernel and its cut look at; of addresses, where in a word of 16 bytes they are, of results
 * where in a sector of 32, and whether they take the elements' place; of what rows have besides, whether it goes in
 * tuples. Ranks differ in the zeros.
 */
static void key_of(int64_t key[RS_MEMO_WORDS], const rs_geometry *columns, const rs_rows *rows) {
  const int64_t *const arrays[] = {rows->shape, rows->array[RS_IN].stride, rows->array[RS_OUT].stride,
                                   rows->array[RS_MASK].stride};
  memset(key, 0, RS_MEMO_WORDS * sizeof *key);
  key[0] = (int64_t)((uintptr_t)rows->array[RS_IN].data % 16 | (uintptr_t)rows->array[RS_OUT].data % 32 << 4 |
                     (uintptr_t)rows->array[RS_MASK].data % 16 << 9) |
           (int64_t)(rows->array[RS_IN].data == rows->array[RS_OUT].data) << 13 |
           end_of(&rows->array[RS_INIT], rows) << 14 | end_of(&rows->array[RS_TOTALS], rows) << (14 + END_BITS);
  key[1] = rows->array[RS_IN].step;
  key[2] = rows->array[RS_OUT].step;
  key[3] = rows->array[RS_MASK].step;
  key[4] = rs_column_shape(columns, RS_TEMPLATE_COLUMNS)->tiles ? rows->length : 0;
  for (int i = 0; i < 4; i++)
    memcpy(key + 5 + i * RS_MEMO_RANK, arrays[i], (size_t)rows->rank * sizeof *key);
}

static rs_remembered *place_of(rs_columns_memo *memo, const int64_t key[RS_MEMO_WORDS]) {
  uint64_t mixed = 0;
  for (int i = 0; i < 5 + RS_MEMO_RANK; i++) /* what usually differs */
    mixed = (mixed ^ (uint64_t)key[i]) * 0x9e3779b97f4a7c15u;
  return &memo->cut[mixed >> 62];
}
_Static_assert(RS_MEMO_CUTS == 4, "place_of() gives 2 bits");

static bool enter(rs_remembered *place) {
  return !atomic_exchange_explicit(&place->busy, true, memory_order_acquire);
}

static void leave(rs_remembered *place) {
  atomic_store_explicit(&place->busy, false, memory_order_release);
}

static bool look(rs_remembered *place, const int64_t key[RS_MEMO_WORDS], rs_columns_launch *launch, bool *whole) {
  if (!enter(place))
    return false;
  bool found = place->known && !memcmp(place->key, key, sizeof place->key);
  if (found) {
    const rs_rows *rows = launch->rows;
    *launch = place->launch;
    launch->rows = rows;
    *whole = place->whole;
  }
  leave(place);
  return found;
}

static void keep(rs_remembered *place, const int64_t key[RS_MEMO_WORDS], const rs_columns_launch *launch, bool whole) {
  if (!enter(place))
    return;
  place->known = true;
  place->whole = whole;
  memcpy(place->key, key, sizeof place->key);
  place->launch = *launch;
  leave(place);
}

bool rs_columns_recall(rs_columns_memo *memo, rs_columns_launch *launch, const rs_geometry *columns,
                       const rs_rows *rows) {
  launch->rows = rows;
  bool few = rs_columns_of(rows) <= rs_stream_columns(rs_column_shape(columns, RS_TEMPLATE_STREAM_COLUMNS)) ||
             rs_at_once_small(rs_column_shape(columns, RS_TEMPLATE_COLUMNS_AT_ONCE), rows);
  bool kept = rows->rank <= RS_MEMO_RANK && !rows->further; /* of whose arrays the key has none */
  if (!few || !kept) {
    launch->made_of = rs_columns_best(columns, rows);
    if (!kept || (launch->made_of != RS_TEMPLATE_COLUMNS && launch->made_of != RS_TEMPLATE_RING_COLUMNS &&
                  launch->made_of != RS_TEMPLATE_STREAM_COLUMNS))
      return rs_columns_whole(launch, columns);
  }
  int64_t key[RS_MEMO_WORDS];
  bool whole;
  key_of(key, columns, rows);
  rs_remembered *place = place_of(memo, key);
  if (!look(place, key, launch, &whole)) {
    launch->made_of = rs_columns_best(columns, rows);
    whole = rs_columns_whole(launch, columns);
    keep(place, key, launch, whole);
  }
  return whole;
}
