/*
 * columns_parts.c - a run of regime column as launches
 * SPDX-License-Identifier: MIT
 */
#include "columns_parts.h"

/* Blocks and columns that the kernels' numbers can count; a fraction of it, since they multiply. */
static const int64_t MOST_BLOCKS = INT32_MAX, MOST_COLUMNS = (int64_t)1 << 28;

size_t rs_columns_scratch(int64_t length) {
  enum { LEAST = 10 << 20, MOST = 128 << 20, OF_STEP = 32 };
  return length <= LEAST / OF_STEP ? LEAST : length >= MOST / OF_STEP ? MOST : (size_t)length * OF_STEP;
}

static size_t limit(const rs_columns *columns) {
  size_t one = rs_columns_workspace_of_one(&columns->any);
  return one > columns->scratch ? one : columns->scratch;
}

size_t rs_columns_bound(const rs_columns *columns) {
  bool wide = columns->wide.vector && rs_wide_workspace(&columns->wide, 1);
  bool askew = columns->askew.vector && rs_wide_workspace(&columns->askew, 1);
  return wide || askew || columns->stream.steps || columns->at_once.steps || columns->pairs.vector ||
                 rs_columns_workspace(&columns->any, 1)
             ? limit(columns)
             : 0;
}

/* Measured on an H200, f32, milliseconds with kernels/columns.cuh and element by element with wide.cuh: 5162224 x 13
 * 0.245, 0.290; 2684360 x 25 0.240, 0.274; 1369568 x 49 0.309, 0.274; 43664 x 1537 0.293, 0.201. */
enum { LEAST_ASKEW_COLUMNS = 32 };

/*
 * Columns in words, as kernels/wide.cuh takes them too. Measured on an H200, f32, ratio to memcpy with wide.cuh and in
 * a stream: of 2^26 elements x 16 0.690, 0.866; x 32 0.741, 0.854; x 64 0.776, 0.806; x 128 0.820, 0.746; of 2^22
 * elements x 16 0.579, 0.584; x 32 0.622, 0.579; x 64 0.647, 0.547. 2^20 x 32 0.712, 0.813. The more columns there are,
 * of all outers, the fewer tiles wait for one another: wide.cuh is at 0.849 with 256 of one, at 0.94 with 65536 of 64
 * (that 256 of several are better there, too, is not measured).
 */
static bool better_in_words(const rs_columns *columns, const rs_rows *rows) {
  enum { MOST_ALWAYS = 16, MOST = 64, LEAST_APART = 256, LEAST_BYTES = 512 << 10 }; /* bytes: of a multiprocessor */
  const rs_stream_shape *stream = &columns->stream;
  int64_t inner = rows->shape[rows->rank - 1], bytes = rows->count * stream->length * stream->in;
  bool small = bytes < (int64_t)LEAST_BYTES * stream->multiprocessors;
  return inner > MOST || (inner > MOST_ALWAYS && (small || rows->count >= LEAST_APART));
}

/*
 * So few that a step is less than 64 bytes, in columns.cuh as a run. Measured on an H200 and an H100, f32, 2^26
 * elements, ratio to memcpy with wide.cuh and so, steps x columns: 64 x 4 0.402 0.462, 0.958 0.990; 64 x 8 0.783 0.852,
 * 0.965 0.996; 200 x 4 0.395 0.458, 0.965 1.003; 1024 x 4 0.399 0.490, 0.940 0.986; 1024 x 8 0.787 0.880, 0.966 0.991;
 * 2048 x 4 0.397 0.488, 0.947 0.990; 4000 x 4 0.408 0.483, 0.928 0.975. Of 64 bytes and more, on an H200, wide.cuh and
 * so: 1024 x 16 0.956, 0.929; 512 x 32 0.962, 0.816.
 */
static bool better_as_a_run(const rs_columns *columns, const rs_rows *rows) {
  enum { LEAST_BYTES = 64, MOST_LENGTH = 4096 };
  const rs_wide_shape *wide = &columns->wide;
  return wide->length <= MOST_LENGTH && rows->shape[rows->rank - 1] * wide->in < LEAST_BYTES &&
         rs_rows_one_run(rows, wide->length, wide->mask != 0);
}

/*
 * Whether strips of words would share sectors of 32 bytes of the results, which kernels/askew.cuh avoids. Measured on
 * an H200 and an H100, f32 unless said, ratio to memcpy in words and askew: 65536 x 1028 0.667 0.685, 0.781 0.870; 64 x
 * 4096 x 1020 0.654 0.674, 0.831 0.898; 1024 x 64 x 1020 0.916 0.962, 0.942 0.972; 4096 x 16 x 1020 0.931 0.975, 0.956
 * 0.983; 16384 x 2050 f64 0.647 0.675, 0.740 0.917; on an H100 512 x 512 x 260 0.654, 0.910; 64 x 16384 x 68 0.680,
 * 0.780; 64 x 16384 x 36 0.662, in a stream 0.846; but bf16 16384 x 4104 0.741, 0.643.
 */
static bool shares_sectors(const rs_wide_shape *shape, const rs_rows *rows) {
  return shape->out >= 4 &&
         (rows->array[RS_OUT].step * shape->out % 32 != 0 || (uintptr_t)rows->array[RS_OUT].data % 32 != 0);
}

static bool takes_askew(const rs_columns *columns, const rs_rows *rows) {
  return rows->shape[rows->rank - 1] >= LEAST_ASKEW_COLUMNS && rs_wide_fits(&columns->askew, rows);
}

static bool better_askew(const rs_columns *columns, const rs_rows *rows) {
  return shares_sectors(&columns->wide, rows) && takes_askew(columns, rows);
}

static bool takes_words(const rs_columns *columns, const rs_rows *rows) {
  return rs_wide_fits(&columns->wide, rows) && !better_askew(columns, rows);
}

/*
 * Whether wide.cuh has enough blocks whose tiles wait for nobody. Measured on an H100, f32, us, so and all at once: 64
 * x 512 x 16 along 512 4.98, 5.79; 32 x 256 x 64 4.19, 5.69; 8 x 512 x 16 4.33, 3.57; 200 x 64 3.98, 3.38; 100 x 300
 * 3.07, 3.35.
 */
static bool waits_for_nobody(const rs_columns *columns, const rs_rows *rows) {
  enum { LEAST_BLOCKS = 32 };
  WideCut cut;
  rs_column_need need;
  if (!takes_words(columns, rows) || better_as_a_run(columns, rows))
    return false;
  rs_wide_cut_rows(&cut, &need, &columns->wide, rows);
  return cut.tiles == 1 && need.blocks >= LEAST_BLOCKS;
}

/* ---- the kernels ------------------------------------------------------------------------------------------------- */

static bool takes_all(const rs_columns *columns, const rs_rows *rows) {
  (void)columns, (void)rows;
  return true;
}

static bool in_words(const rs_columns *columns, const rs_rows *rows) {
  return rs_wide_fits(&columns->wide, rows);
}
static bool best_in_words(const rs_columns *columns, const rs_rows *rows) {
  return !better_askew(columns, rows) && !better_as_a_run(columns, rows);
}

static bool askew(const rs_columns *columns, const rs_rows *rows) {
  return rs_wide_fits(&columns->askew, rows);
}
static bool best_askew(const rs_columns *columns, const rs_rows *rows) {
  (void)columns;
  return rows->shape[rows->rank - 1] >= LEAST_ASKEW_COLUMNS;
}

static bool in_a_stream(const rs_columns *columns, const rs_rows *rows) {
  return rs_stream_fits(&columns->stream, rows);
}
static bool best_in_a_stream(const rs_columns *columns, const rs_rows *rows) {
  return !(takes_words(columns, rows) && better_in_words(columns, rows));
}

static bool in_slabs(const rs_columns *columns, const rs_rows *rows) {
  return rs_short_fits(&columns->brief, rows);
}

static bool at_once(const rs_columns *columns, const rs_rows *rows) {
  return rs_at_once_steps(&columns->at_once, rows) != 0;
}
static bool best_at_once(const rs_columns *columns, const rs_rows *rows) {
  return !waits_for_nobody(columns, rows);
}

static bool in_pairs(const rs_columns *columns, const rs_rows *rows) {
  return rs_pairs_fits(&columns->pairs, rows);
}

static void cut_any(rs_columns_launch *launch, const rs_columns *columns) {
  rs_columns_cut(&launch->cut.any, &launch->need, &columns->any, launch->rows);
}
static void cut_wide(rs_columns_launch *launch, const rs_columns *columns) {
  rs_wide_cut_rows(&launch->cut.wide, &launch->need, &columns->wide, launch->rows);
}
static void cut_askew(rs_columns_launch *launch, const rs_columns *columns) {
  rs_wide_cut_rows(&launch->cut.wide, &launch->need, &columns->askew, launch->rows);
}
static void cut_stream(rs_columns_launch *launch, const rs_columns *columns) {
  rs_stream_cut_rows(&launch->cut.stream, &launch->need, &columns->stream, launch->rows);
}
static void cut_slabs(rs_columns_launch *launch, const rs_columns *columns) {
  rs_short_cut_rows(&launch->cut.brief, &launch->need, &columns->brief, launch->rows);
}
static void cut_at_once(rs_columns_launch *launch, const rs_columns *columns) {
  rs_at_once_cut_rows(&launch->cut.at_once, &launch->need, &columns->at_once, launch->rows);
}
static void cut_pairs(rs_columns_launch *launch, const rs_columns *columns) {
  rs_pairs_cut_rows(&launch->need, &columns->pairs, launch->rows);
}

/* Which rows a template takes; for which of these it is faster than those before it, NULL: all; and how it cuts them.
 */
static const struct {
  bool (*takes)(const rs_columns *columns, const rs_rows *rows);
  bool (*best)(const rs_columns *columns, const rs_rows *rows);
  void (*cut)(rs_columns_launch *launch, const rs_columns *columns);
} kernels[RS_TEMPLATES] = {[RS_TEMPLATE_COLUMNS] = {takes_all, NULL, cut_any},
                           [RS_TEMPLATE_ASKEW] = {askew, best_askew, cut_askew},
                           [RS_TEMPLATE_WIDE] = {in_words, best_in_words, cut_wide},
                           [RS_TEMPLATE_STREAM_COLUMNS] = {in_a_stream, best_in_a_stream, cut_stream},
                           [RS_TEMPLATE_SHORT_COLUMNS] = {in_slabs, NULL, cut_slabs},
                           [RS_TEMPLATE_COLUMNS_AT_ONCE] = {at_once, best_at_once, cut_at_once},
                           [RS_TEMPLATE_PAIRS] = {in_pairs, NULL, cut_pairs}};

/* The next one that takes these rows, from `made_of` downwards. */
static rs_template next_best(const rs_columns *columns, int made_of, const rs_rows *rows) {
  while (!kernels[made_of].takes(columns, rows) || (kernels[made_of].best && !kernels[made_of].best(columns, rows)))
    made_of--;
  return (rs_template)made_of;
}

rs_template rs_columns_best(const rs_columns *columns, const rs_rows *rows) {
  return next_best(columns, RS_TEMPLATE_PAIRS, rows);
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

bool rs_columns_whole(rs_columns_launch *launch, const rs_columns *columns) {
  for (int d = 0; d < launch->rows->rank; d++)
    if (launch->rows->shape[d] > MOST_COLUMNS)
      return false;
  kernels[launch->made_of].cut(launch, columns);
  return launch->need.blocks <= MOST_BLOCKS &&
         (launch->need.workspace <= columns->scratch || launch->need.workspace <= limit(columns));
}

static bool part_fits(rs_columns_parts *parts, int dim, int64_t size) {
  rs_columns_launch launch = {.rows = &parts->part, .made_of = parts->made_of};
  parts->part = *parts->rows;
  shrink(&parts->part, dim, size);
  return kernels[parts->made_of].takes(parts->columns, &parts->part) && rs_columns_whole(&launch, parts->columns);
}

/*
 * Whether parts of `dim`, of at least one unit, fit; `most` is then as large as can be but for a power of two. The last
 * part too: small tensors are cut into smaller tiles, so that it may take more of the workspace.
 */
static bool parts_of(rs_columns_parts *parts, int dim) {
  int64_t unit = dim < parts->rows->rank - 1 ? 1 : parts->made_of == RS_TEMPLATE_WIDE ? parts->columns->wide.vector : 1;
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

static bool choose(rs_columns_parts *parts) {
  for (int dim = 0; dim < parts->rows->rank; dim++)
    if (parts_of(parts, dim))
      return true;
  return false;
}

void rs_columns_begin(rs_columns_parts *parts, const rs_columns *columns, const rs_rows *rows) {
  *parts = (rs_columns_parts){.columns = columns, .rows = rows, .made_of = rs_columns_best(columns, rows), .outers = 1};
  while (!choose(parts) && parts->made_of > RS_TEMPLATE_COLUMNS) /* another has fewer tiles, or takes a few columns */
    parts->made_of = next_best(columns, parts->made_of - 1, rows);
  for (int d = 0; d < parts->dim; d++)
    parts->outers *= rows->shape[d];
}

rs_template rs_columns_chosen(const rs_columns *columns, const rs_rows *rows) {
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
  kernels[launch->made_of].cut(launch, parts->columns);
  parts->at += size;
  if (parts->at == rows->shape[parts->dim]) {
    parts->at = 0;
    parts->outer++;
  }
  return true;
}
