/*
 * columns_parts.c - a run of layout COLUMNS as launches
 * SPDX-License-Identifier: MIT
 */
#include "columns_parts.h"

/* Blocks and columns that the kernels' numbers can count; a fraction of it, since they multiply. */
static const int64_t MOST_BLOCKS = INT32_MAX, MOST_COLUMNS = (int64_t)1 << 28;

/* The template that takes any rows. */
static rs_template for_all(const rs_geometry *columns) {
  return rs_column_shape(columns, RS_TEMPLATE_COLUMNS)->made_of ? RS_TEMPLATE_COLUMNS : RS_TEMPLATE_FURTHER_COLUMNS;
}

static size_t limit(const rs_geometry *columns) {
  const rs_shape *last = rs_column_shape(columns, for_all(columns));
  size_t one = last->made_of == RS_TEMPLATE_COLUMNS ? rs_columns_workspace_of_one(last) : rs_wide_workspace(last, 1);
  return one > columns->scratch ? one : columns->scratch;
}

/* Columns of askew.cuh at least: fewer are better in columns.cuh. */
enum { LEAST_ASKEW_COLUMNS = 32 };

static bool one_strip(const rs_geometry *columns, const rs_rows *rows) {
  return rs_columns_one_strip(rs_column_shape(columns, RS_TEMPLATE_COLUMNS), rows);
}

/*
 * So few that a step is less than 64 bytes, of long ones than a word; wider ones are better in wide.cuh. But where
 * results are wider than elements, and totals than 8 bytes, as indices have them, long columns are like short ones: 12
 * of f32 on an H200 in wide.cuh 0.57 of memcpy, so 0.65, 20 of i8 0.33 and 0.68.
 */
static bool better_as_a_run(const rs_geometry *columns, const rs_rows *rows) {
  enum { LEAST_BYTES = 64, LEAST_BYTES_LONG = 16 };
  const rs_shape *any = rs_column_shape(columns, RS_TEMPLATE_COLUMNS);
  bool few_tiles = any->length <= RS_FEW_TILES_LENGTH, heavy = any->out > any->in && any->part > 8;
  return rs_columns_of(rows) * any->in < (few_tiles || heavy ? LEAST_BYTES : LEAST_BYTES_LONG) &&
         one_strip(columns, rows);
}

/*
 * Whether strips of words would share sectors of 32 bytes of the results, which kernels/askew.cuh avoids, as a single
 * strip does; for halves that costs more than it gains.
 */
static bool shares_sectors(const rs_shape *shape, const rs_rows *rows) {
  return shape->out >= 4 &&
         (rows->array[RS_OUT].step * shape->out % 32 != 0 || (uintptr_t)rows->array[RS_OUT].data % 32 != 0);
}

static bool best_askew(const rs_geometry *columns, const rs_rows *rows) {
  return rs_columns_of(rows) >= LEAST_ASKEW_COLUMNS && !one_strip(columns, rows);
}

static bool better_off_words(const rs_geometry *columns, const rs_rows *rows) {
  bool askew = best_askew(columns, rows) && rs_wide_fits(rs_column_shape(columns, RS_TEMPLATE_ASKEW), rows);
  return shares_sectors(rs_column_shape(columns, RS_TEMPLATE_WIDE), rows) && (askew || one_strip(columns, rows));
}

/* So many columns, of all outers, that a few lanes each keep multiprocessors busy: nothing is loaded twice then, and no
   block waits for another. */
static bool best_to_walk(const rs_geometry *columns, const rs_rows *rows) {
  enum { BUSY = 96 }; /* columns of a multiprocessor */
  return rows->count >= (int64_t)BUSY * rs_column_shape(columns, RS_TEMPLATE_FURTHER_WALK)->multiprocessors;
}

/* Of several inputs or outputs, see tune_further.c. */
static bool are_several(const rs_geometry *columns) {
  return rs_column_shape(columns, RS_TEMPLATE_FURTHER_COLUMNS)->made_of != RS_TEMPLATE_NONE;
}

/* So many columns that their threads keep multiprocessors busy: the fewer bytes they have to move, the more. */
static bool enough_for_rings(const rs_geometry *columns, const rs_rows *rows) {
  enum { LEAST_COLUMNS = 16, BUSY_BYTES = 1200 }; /* of a step; of the columns of a multiprocessor */
  enum { OF_SEVERAL = 6 };                        /* bytes, however many arrays there are */
  const rs_shape *ring = rs_column_shape(columns, RS_TEMPLATE_RING_COLUMNS);
  int64_t bytes = rows->count * (are_several(columns) ? OF_SEVERAL : ring->in + ring->mask + ring->out);
  return rs_columns_of(rows) >= LEAST_COLUMNS && bytes >= (int64_t)BUSY_BYTES * ring->multiprocessors;
}

/*
 * What begins on words. Of several arrays with large totals not where columns are enough for rings, nor where loading
 * more than 8 bytes twice, for a single output, leaves room for more threads. Of memcpy on an H200, in words, by what
 * loads twice, and by rings: weighted_recurrence of 4096 x 8192 0.63, 0.73, 0.47; with both outputs 0.69, 0.65; argmax
 * with its elements of 64 x 2048 x 256 0.79, 0.73; gae of 128 x 512 x 512 0.68 by walks, 0.72 by rings.
 */
static bool best_in_words(const rs_geometry *columns, const rs_rows *rows) {
  enum { LARGE_TOTAL = 8, LARGE = 8 };
  const rs_shape *wide = rs_column_shape(columns, RS_TEMPLATE_WIDE);
  if (!are_several(columns))
    return !better_off_words(columns, rows) && !better_as_a_run(columns, rows);
  bool large = !wide->second && wide->in + wide->mask + wide->beside > LARGE;
  return wide->acc <= LARGE_TOTAL || !(large || enough_for_rings(columns, rows));
}

/*
 * Columns that wide.cuh takes too: the more there are, of all outers, the fewer of its tiles wait for one another; the
 * fewer elements, the less a stream gains. That 256 columns of several outers are better in words was not measured.
 */
static bool best_in_a_stream(const rs_geometry *columns, const rs_rows *rows) {
  enum { MOST_ALWAYS = 16, MOST = 64, LEAST_APART = 256, LEAST_BYTES = 512 << 10 }; /* bytes: of a multiprocessor */
  const rs_shape *stream = rs_column_shape(columns, RS_TEMPLATE_STREAM_COLUMNS);
  int64_t inner = rs_columns_of(rows), bytes = rows->count * stream->length * stream->in;
  bool small = bytes < (int64_t)LEAST_BYTES * stream->multiprocessors;
  bool words = inner > MOST || (inner > MOST_ALWAYS && (small || rows->count >= LEAST_APART));
  return !words || !rs_wide_fits(rs_column_shape(columns, RS_TEMPLATE_WIDE), rows) || better_off_words(columns, rows);
}

/* Where there are no slabs of outers for most multiprocessors, and wide.cuh has not enough blocks whose tiles wait for
   nobody. */
static bool best_at_once(const rs_geometry *columns, const rs_rows *rows) {
  enum { LEAST_BLOCKS = 32 };
  const rs_shape *slab = rs_column_shape(columns, RS_TEMPLATE_SHORT_COLUMNS);
  if (8 * rs_outers_of(rows) >= 5 * slab->multiprocessors && rs_short_fits(slab, rows))
    return false;
  const rs_shape *wide = rs_column_shape(columns, RS_TEMPLATE_WIDE);
  rs_cut cut;
  rs_column_need need;
  if (!rs_wide_fits(wide, rows) || !best_in_words(columns, rows))
    return true;
  rs_wide_cut(&cut, &need, wide, rows);
  return cut.wide.tiles > 1 || need.blocks < LEAST_BLOCKS;
}

/* In words wide.cuh is better. */
static bool best_in_rings(const rs_geometry *columns, const rs_rows *rows) {
  const rs_shape *wide = rs_column_shape(columns, RS_TEMPLATE_WIDE);
  return enough_for_rings(columns, rows) && !(rs_wide_fits(wide, rows) && best_in_words(columns, rows));
}

/*
 * Short columns that lie one run. Not sums of bytes in words of which a thread has all steps; nor outers so large that
 * a slab has one, of which fewer than half of the multiprocessors would have any: askew.cuh makes more tiles of them.
 * Nor many columns of bytes.
 */
static bool best_in_slabs(const rs_geometry *columns, const rs_rows *rows) {
  enum { LARGE = 15000, MANY = 64 }; /* bytes; columns */
  const rs_shape *slab = rs_column_shape(columns, RS_TEMPLATE_SHORT_COLUMNS),
                 *wide = rs_column_shape(columns, RS_TEMPLATE_WIDE);
  int64_t outer = rs_columns_of(rows) * slab->length * rs_larger(slab->in + slab->mask, slab->out);
  bool few = 2 * rs_outers_of(rows) < slab->multiprocessors && outer >= LARGE;
  bool brief = wide->packed && wide->length <= RS_WIDE_BRIEF;
  bool bytes = slab->in == 1 && slab->out == 1 && rs_columns_of(rows) >= MANY;
  return !(few && best_askew(columns, rows) && rs_wide_fits(rs_column_shape(columns, RS_TEMPLATE_ASKEW), rows)) &&
         !(brief && best_in_words(columns, rows) && rs_wide_fits(wide, rows)) &&
         !(bytes && rs_ring_fits(rs_column_shape(columns, RS_TEMPLATE_RING_COLUMNS), rows) &&
           best_in_rings(columns, rows));
}

static bool takes_all(const rs_shape *shape, const rs_rows *rows) {
  (void)rows;
  return shape->made_of != RS_TEMPLATE_NONE;
}

void rs_walk_cut(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows) {
  (void)cut;
  need->blocks = rs_ceiling(rows->count, shape->threads / shape->lanes);
}

/*
 * Which rows a template takes; for which of these it is faster than those after it in `preferred`, NULL: all; how it
 * cuts them; and whether its tiles hand on totals in scratch memory whatever the rows are.
 */
static const struct {
  bool (*takes)(const rs_shape *shape, const rs_rows *rows);
  bool (*best)(const rs_geometry *columns, const rs_rows *rows);
  void (*cut)(rs_cut *cut, rs_column_need *need, const rs_shape *shape, const rs_rows *rows);
  bool hands_on;
} kernels[RS_TEMPLATES] = {
    [RS_TEMPLATE_FURTHER_COLUMNS] = {takes_all, NULL, rs_wide_cut, false},
    [RS_TEMPLATE_FURTHER_WALK] = {takes_all, best_to_walk, rs_walk_cut, false},
    [RS_TEMPLATE_COLUMNS] = {takes_all, NULL, rs_columns_cut, false},
    [RS_TEMPLATE_ASKEW] = {rs_wide_fits, best_askew, rs_wide_cut, false},
    [RS_TEMPLATE_WIDE] = {rs_wide_fits, best_in_words, rs_wide_cut, false},
    [RS_TEMPLATE_RING_COLUMNS] = {rs_ring_fits, best_in_rings, rs_ring_cut, false},
    [RS_TEMPLATE_STREAM_COLUMNS] = {rs_stream_fits, best_in_a_stream, rs_stream_cut, true},
    [RS_TEMPLATE_SHORT_COLUMNS] = {rs_short_fits, best_in_slabs, rs_short_cut, false},
    [RS_TEMPLATE_STREAM_TUPLES] = {rs_stream_tuples_fits, NULL, rs_stream_tuples_cut, true},
    [RS_TEMPLATE_COLUMNS_AT_ONCE] = {rs_at_once_fits, best_at_once, rs_at_once_cut, true},
    [RS_TEMPLATE_PAIRS] = {rs_pairs_fits, NULL, rs_pairs_cut, true},
};

/* From the one that is the fastest where it is the best to those that take all rows. */
#define TUPLES(columns) (rs_template)(RS_TEMPLATE_STREAM_TUPLES + (columns)-2)
static const rs_template preferred[] = {RS_TEMPLATE_PAIRS,
                                        RS_TEMPLATE_COLUMNS_AT_ONCE,
                                        TUPLES(2),
                                        TUPLES(3),
                                        TUPLES(4),
                                        TUPLES(5),
                                        TUPLES(6),
                                        TUPLES(7),
                                        TUPLES(RS_MOST_TUPLE),
                                        RS_TEMPLATE_SHORT_COLUMNS,
                                        RS_TEMPLATE_STREAM_COLUMNS,
                                        RS_TEMPLATE_RING_COLUMNS,
                                        RS_TEMPLATE_WIDE,
                                        RS_TEMPLATE_ASKEW,
                                        RS_TEMPLATE_COLUMNS,
                                        RS_TEMPLATE_FURTHER_WALK,
                                        RS_TEMPLATE_FURTHER_COLUMNS};
enum { PREFERRED = sizeof preferred / sizeof *preferred };
_Static_assert(RS_MOST_TUPLE == 8, "preferred has each number of columns");

static int rank_of(rs_template made_of) {
  int rank = 0;
  while (preferred[rank] != made_of)
    rank++;
  return rank;
}

static bool template_takes(const rs_geometry *columns, rs_template made_of, const rs_rows *rows) {
  return kernels[rs_template_kind(made_of)].takes(rs_column_shape(columns, made_of), rows);
}

/* A kernel for any length is cut for that of the rows; of no elements as of one. */
static void cut(rs_columns_launch *launch, const rs_geometry *columns) {
  const rs_shape *shape = rs_column_shape(columns, launch->made_of);
  rs_shape own;
  if (shape->tiles) {
    own = *shape;
    own.length = rs_larger(launch->rows->length, 1);
    shape = &own;
  }
  launch->need = (rs_column_need){.threads = shape->threads};
  kernels[rs_template_kind(launch->made_of)].cut(&launch->cut, &launch->need, shape, launch->rows);
}

/* The next one that takes these rows, from this rank on. */
static rs_template next_best(const rs_geometry *columns, int rank, const rs_rows *rows) {
  if (columns->forced)
    return columns->forced;
  for (;; rank++) {
    rs_template made_of = preferred[rank];
    bool (*best)(const rs_geometry *columns, const rs_rows *rows) = kernels[rs_template_kind(made_of)].best;
    if (template_takes(columns, made_of, rows) && (!best || best(columns, rows)))
      return made_of;
  }
}

rs_template rs_columns_best(const rs_geometry *columns, const rs_rows *rows) {
  return next_best(columns, 0, rows);
}

size_t rs_columns_bound(const rs_geometry *columns) {
  static const rs_template alike[] = {RS_TEMPLATE_FURTHER_COLUMNS, RS_TEMPLATE_WIDE, RS_TEMPLATE_ASKEW};
  bool any = rs_columns_workspace(rs_column_shape(columns, RS_TEMPLATE_COLUMNS), 1);
  for (int rank = 0; rank < PREFERRED; rank++)
    any = any ||
          (kernels[rs_template_kind(preferred[rank])].hands_on && rs_column_shape(columns, preferred[rank])->made_of);
  for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
    const rs_shape *shape = rs_column_shape(columns, alike[i]);
    any = any || (shape->made_of && rs_wide_workspace(shape, 1));
  }
  return any ? limit(columns) : 0;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static void shrink(rs_rows *rows, int dim, int64_t size) {
  for (int d = 0; d < dim; d++)
    rows->shape[d] = 1;
  rows->shape[dim] = size;
  rows->count = 1;
  for (int d = 0; d < rows->rank; d++)
    rows->count *= rows->shape[d];
}

bool rs_columns_whole(rs_columns_launch *launch, const rs_geometry *columns) {
  for (int d = 0; d < launch->rows->rank; d++)
    if (launch->rows->shape[d] > MOST_COLUMNS)
      return false;
  cut(launch, columns);
  return launch->need.blocks <= MOST_BLOCKS &&
         (launch->need.workspace <= columns->scratch || launch->need.workspace <= limit(columns));
}

static bool part_fits(rs_columns_parts *parts, int dim, int64_t size) {
  rs_columns_launch launch = {.rows = &parts->part, .made_of = parts->made_of};
  parts->part = *parts->rows;
  shrink(&parts->part, dim, size);
  return template_takes(parts->columns, parts->made_of, &parts->part) && rs_columns_whole(&launch, parts->columns);
}

/*
 * Whether parts of `dim`, of at least one unit, fit; `most` is then as large as can be but for a power of two. The last
 * part too: small tensors are cut into smaller tiles, so that it may take more of the workspace.
 */
static bool parts_of(rs_columns_parts *parts, int dim) {
  bool words = dim == parts->rows->rank - 1 && parts->made_of == RS_TEMPLATE_WIDE;
  int64_t unit = words ? rs_column_shape(parts->columns, RS_TEMPLATE_WIDE)->vector : 1;
  for (parts->most = parts->rows->shape[dim];; parts->most = (parts->most / 2 + unit - 1) / unit * unit) {
    int64_t last = parts->rows->shape[dim] % parts->most;
    if (part_fits(parts, dim, parts->most) && (last == 0 || part_fits(parts, dim, last))) {
      parts->dim = dim;
      return true;
    }
    if (parts->most <= unit)
      return false;
  }
}

static bool choose_parts(rs_columns_parts *parts) {
  for (int dim = 0; dim < parts->rows->rank; dim++)
    if (parts_of(parts, dim))
      return true;
  return false;
}

bool rs_columns_forced_takes(const rs_geometry *columns, const rs_rows *rows) {
  return template_takes(columns, columns->forced, rows);
}

bool rs_columns_forced_serves(const rs_geometry *columns, const rs_rows *rows) {
  rs_columns_launch launch = {.rows = rows, .made_of = columns->forced};
  rs_columns_parts parts = {.columns = columns, .rows = rows, .made_of = columns->forced};
  return template_takes(columns, columns->forced, rows) && (rs_columns_whole(&launch, columns) || choose_parts(&parts));
}

void rs_columns_begin(rs_columns_parts *parts, const rs_geometry *columns, const rs_rows *rows) {
  *parts = (rs_columns_parts){.columns = columns, .rows = rows, .made_of = rs_columns_best(columns, rows), .outers = 1};
  /* another has fewer tiles, or takes a few columns */
  while (!choose_parts(parts) && !columns->forced && parts->made_of != for_all(columns))
    parts->made_of = next_best(columns, rank_of(parts->made_of) + 1, rows);
  for (int d = 0; d < parts->dim; d++)
    parts->outers *= rows->shape[d];
}

rs_template rs_columns_chosen(const rs_geometry *columns, const rs_rows *rows) {
  rs_columns_launch launch = {.rows = rows, .made_of = rs_columns_best(columns, rows)};
  if (rs_columns_whole(&launch, columns))
    return launch.made_of;
  rs_columns_parts parts;
  rs_columns_begin(&parts, columns, rows);
  return parts.made_of;
}

bool rs_columns_next(rs_columns_parts *parts, rs_columns_launch *launch) {
  const rs_rows *rows = parts->rows;
  if (parts->outer == parts->outers)
    return false;
  int64_t size = rows->shape[parts->dim] - parts->at, left = parts->outer;
  if (size > parts->most)
    size = parts->most;
  rs_rows *part = &parts->part;
  *part = *rows;
  shrink(part, parts->dim, size);
  rs_rows_move(part, parts->dim, parts->at);
  for (int d = parts->dim - 1; d >= 0; left /= rows->shape[d--])
    rs_rows_move(part, d, left % rows->shape[d]);
  launch->rows = part;
  launch->made_of = parts->made_of;
  cut(launch, parts->columns);
  parts->at += size;
  if (parts->at == rows->shape[parts->dim]) {
    parts->at = 0;
    parts->outer++;
  }
  return true;
}
