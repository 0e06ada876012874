/*
 * choose.c - which of a spec's kernels serves which rows, and what its launches need
 * SPDX-License-Identifier: MIT
 */
#include "choose.h"

#include "family.h"
#include "spec/developer.h"
#include "spec/types.h"
#include "universal.h"

/* Any a, up to INT64_MAX. */
static rs_sharing sharing_of(const rs_shape *shape) {
  return rs_family_of(shape)->sharing;
}

static bool cut_over_blocks(const rs_shape *shape) {
  return sharing_of(shape) == RS_BY_TILES || sharing_of(shape) == RS_PERSISTENT;
}

static int64_t tiles_of_row(const rs_shape *shape, int64_t length) {
  return rs_ceiling(length, rs_tile(shape));
}

/* Groups of several warps have a block each. */
static int64_t groups_blocks(const rs_shape *shape, int64_t rows) {
  return rs_ceiling(rows, shape->warps > 1 ? 1 : shape->threads / shape->lanes);
}

/* ---- which kernel ------------------------------------------------------------------------------------------------ */

/* Whether a kernel that is not for any strides takes these rows. */
static bool kernel_takes(const rs_shape *shape, const rs_rows *rows, const rowscan_spec *spec) {
  const rs_family *family = rs_family_of(shape);
  bool all = !shape->tiles || rows->length <= rs_most(shape);
  for (int a = 0; a < rs_arrays(rows) && all; a++)
    all = !rs_has_elements(rows, a) || family->takes(shape, &rows->array[a], rows, spec);
  return all;
}

static bool few(const rs_kernels *all, const rs_shape *shape, const rs_rows *rows) {
  int64_t most = rs_tune_few_blocks(shape, all->multiprocessors);
  return sharing_of(shape) == RS_BY_GROUPS ? groups_blocks(shape, rows->count) <= most
                                           : rows->count <= most / tiles_of_row(shape, rs_length(all->spec, rows));
}

/*
 * Slabs for less than a twelfth of the multiprocessors: a few lanes a row are faster, if rows are not long. Measured on
 * an H100 (tests/results/HISTORY.md: h100_92d1966_without_a_template).
 */
static bool few_slabs(const rs_kernels *all, const rs_shape *shape, const rs_rows *rows) {
  enum { BRIEF = 256, PART = 12 };
  return shape->made_of == RS_TEMPLATE_SLAB && rs_length(all->spec, rows) <= BRIEF &&
         PART * rs_ceiling(rows->count, shape->rows) < all->multiprocessors;
}

/* Of one regime: the last that takes these rows, from `few_rows` down to `any`, which takes all. */
static rs_kernel best(const rs_kernels *all, const rs_rows *rows, rs_kernel any, rs_kernel few_rows) {
  for (rs_kernel kernel = few_rows; kernel > any; kernel--) {
    const rs_shape *shape = &all->geometry.shape[kernel];
    if (shape->made_of && (kernel != few_rows || few(all, shape, rows)) && kernel_takes(shape, rows, all->spec) &&
        !few_slabs(all, shape, rows))
      return kernel;
  }
  return any;
}

/* Of a plan for any length, where rows are not cut over blocks; those of no elements are for a warp each. */
static rs_kernel best_of_any_length(const rs_kernels *all, const rs_rows *rows) {
  const rs_shape *slab = &all->geometry.shape[RS_KERNEL_DENSE], *words = &all->geometry.shape[RS_KERNEL_ALIGNED];
  bool in_words = words->made_of && kernel_takes(words, rows, all->spec);
  bool in_slabs = rows->length && slab->made_of && kernel_takes(slab, rows, all->spec);
  if (in_slabs && !rs_tune_warp_each(all->spec, in_words, rows->length, rows->count, all->multiprocessors))
    return RS_KERNEL_DENSE;
  return in_words ? RS_KERNEL_ALIGNED : RS_KERNEL_ANY;
}

rs_kernel rs_kernels_choose(const rs_kernels *all, const rs_rows *rows) {
  if (all->geometry.forced)
    return all->only;
  if (all->spec->flags & ROWSCAN_UNIVERSAL)
    return RS_KERNEL_ANY;
  rowscan_regime regime = all->geometry.regime;
  if (regime == ROWSCAN_REGIME_COLUMN)
    return rs_column_kernel(rs_columns_chosen(&all->geometry, rows));
  int64_t length = rs_length(all->spec, rows);
  if (length > 0 && (regime == ROWSCAN_REGIME_LONG || regime == ROWSCAN_REGIME_AUTO)) {
    rs_kernel kernel = best(all, rows, RS_KERNEL_LONG_ANY, RS_KERNEL_LONG_FEW);
    if (regime == ROWSCAN_REGIME_LONG ||
        rs_tune_long(all->spec, &all->geometry, kernel, length, rows->count, all->multiprocessors))
      return kernel;
  }
  return all->spec->length == RS_ANY_LENGTH ? best_of_any_length(all, rows)
                                            : best(all, rows, RS_KERNEL_ANY, RS_KERNEL_FEW);
}

/* ---- launches of rows -------------------------------------------------------------------------------------------- */

/* Blocks that one launch may have. A kernel that goes round for the rows that are left needs no more. */
enum { MOST_BLOCKS = INT32_MAX };

/*
 * Tiles that a launch takes, unless one row has more: 64 K of them are 2 GB of f32, and their nodes half a megabyte in
 * each of a program's workspaces.
 */
static const int64_t MOST_TILES = 65536;

/* As kernels/ahead.cuh lays it out: the state of the turns; nodes, each a word for 4 bytes of an accumulator. */
static size_t nodes_bytes(const rs_kernels *all, const rs_shape *shape, int64_t length, int64_t rows) {
  int64_t state = shape->made_of == RS_TEMPLATE_AT_ONCE ? RS_AT_ONCE_STATE : 1;
  int64_t words = rs_spec_register_bytes(all->spec) / 4, nodes = 0;
  for (int64_t count = tiles_of_row(shape, length);; count = rs_ceiling(count, 32)) {
    nodes += count;
    if (count <= 32)
      break;
  }
  return (size_t)(state + rows * nodes * words) * 8;
}

static rs_rows_launch launch_tiles(const rs_kernels *all, const rs_shape *shape, int64_t length, int64_t left) {
  int64_t tiles = tiles_of_row(shape, length), most = MOST_TILES / tiles, rows = rs_smaller(left, rs_larger(most, 1));
  int64_t blocks = rows * tiles;
  if (sharing_of(shape) == RS_PERSISTENT)
    blocks = rs_smaller(blocks, all->multiprocessors);
  return (rs_rows_launch){rows, blocks, nodes_bytes(all, shape, length, rows)};
}

/* Of one that ends when it has scanned them. */
static int64_t rows_of_block(const rs_shape *shape, int64_t length) {
  if (!shape->rows)
    return 1;
  return shape->tiles ? shape->rows / length : shape->rows;
}

rs_rows_launch rs_kernels_launch(const rs_kernels *all, rs_kernel kernel, int64_t length, int64_t left) {
  const rs_shape *shape = &all->geometry.shape[kernel];
  if (cut_over_blocks(shape))
    return launch_tiles(all, shape, length, left);
  if (sharing_of(shape) == RS_BY_GROUPS)
    return (rs_rows_launch){left, rs_smaller(groups_blocks(shape, left), MOST_BLOCKS), 0};
  int64_t of_block = rows_of_block(shape, length), rows = rs_smaller(left, MOST_BLOCKS * of_block);
  return (rs_rows_launch){rows, rs_ceiling(rows, of_block), 0};
}

/* ---- scratch memory ---------------------------------------------------------------------------------------------- */

/* That a kernel may be asked for at once. */
static int64_t most_rows(const rs_kernels *all, rs_kernel kernel, int64_t length) {
  const rs_shape *shape = &all->geometry.shape[kernel];
  if (kernel != RS_KERNEL_LONG_FEW || all->geometry.forced || !all->multiprocessors)
    return INT64_MAX;
  return rs_larger(rs_tune_few_blocks(shape, all->multiprocessors) / tiles_of_row(shape, length), 1);
}

/* The first launch of a run is the largest; of rows of any length that of the longest ones, or, since they have few
 * pieces, that of as few as take a second level of nodes. */
static size_t scratch_of_kernel(const rs_kernels *all, rs_kernel kernel) {
  enum { TWO_LEVELS = 33 };
  const rs_shape *shape = &all->geometry.shape[kernel];
  int64_t length = shape->tiles ? rs_most(shape) : all->spec->length, few = TWO_LEVELS * rs_tile(shape);
  size_t bytes = rs_kernels_launch(all, kernel, length, most_rows(all, kernel, length)).workspace;
  if (!shape->tiles)
    return bytes;
  size_t bytes_of_few = rs_kernels_launch(all, kernel, few, most_rows(all, kernel, few)).workspace;
  return bytes > bytes_of_few ? bytes : bytes_of_few;
}

static size_t most_scratch(const rs_kernels *all) {
  size_t most = 0;
  if (all->spec->flags & ROWSCAN_UNIVERSAL)
    return rs_universal_bound(&all->geometry.shape[RS_KERNEL_ANY], all->spec);
  if (all->geometry.regime == ROWSCAN_REGIME_COLUMN)
    return rs_columns_bound(&all->geometry);
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    if (cut_over_blocks(&all->geometry.shape[kernel])) {
      size_t bytes = scratch_of_kernel(all, (rs_kernel)kernel);
      most = bytes > most ? bytes : most;
    }
  return most;
}

static size_t universal_scratch(const rs_kernels *all, const rs_rows *rows) {
  if (!rows->terms)
    return all->scratch;
  rs_terms terms = *rows->terms;
  return rs_universal_share(&terms, rows, &all->geometry.shape[RS_KERNEL_ANY], all->spec).workspace;
}

size_t rs_kernels_scratch(const rs_kernels *all, const rs_rows *rows) {
  if (all->spec->flags & ROWSCAN_UNIVERSAL)
    return universal_scratch(all, rows);
  if (all->geometry.regime != ROWSCAN_REGIME_COLUMN)
    return rs_kernels_launch(all, rs_kernels_choose(all, rows), rs_length(all->spec, rows), rows->count).workspace;
  rs_columns_launch launch = {.rows = rows, .made_of = rs_columns_best(&all->geometry, rows)};
  return rs_columns_whole(&launch, &all->geometry) ? launch.need.workspace : all->scratch;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

void rs_kernels_open(rs_kernels *all, const rowscan_spec *spec, int tuned, int multiprocessors, double peak_gbs) {
  all->spec = spec;
  all->multiprocessors = multiprocessors;
  all->geometry = rs_tune(spec, tuned);
  rs_tune_device(&all->geometry, spec, tuned, peak_gbs);
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    all->geometry.shape[kernel].multiprocessors = multiprocessors;
  all->scratch = most_scratch(all);
}

/* ---- one kernel alone -------------------------------------------------------------------------------------------- */

void rs_kernels_force(rs_kernels *all, const rs_contender *contender) {
  rs_geometry *g = &all->geometry;
  g->regime = contender->regime;
  g->shape[contender->kernel] = contender->shape;
  g->shape[contender->kernel].multiprocessors = all->multiprocessors;
  g->forced = contender->shape.made_of;
  all->only = contender->kernel;
  all->scratch = most_scratch(all);
}

bool rs_kernels_forced_takes(const rs_kernels *all, const rs_rows *rows) {
  if (all->geometry.regime == ROWSCAN_REGIME_COLUMN)
    return rs_columns_forced_takes(&all->geometry, rows);
  return all->only == RS_KERNEL_ANY || all->only == RS_KERNEL_LONG_ANY ||
         kernel_takes(&all->geometry.shape[all->only], rows, all->spec);
}

bool rs_kernels_forced_serves(const rs_kernels *all, const rs_rows *rows) {
  return rs_kernels_forced_takes(all, rows) &&
         (all->geometry.regime != ROWSCAN_REGIME_COLUMN || rs_columns_forced_serves(&all->geometry, rows));
}
