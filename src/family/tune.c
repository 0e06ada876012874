/*
 * tune.c - (spec, architecture) to kernels and their shapes
 * SPDX-License-Identifier: MIT
 */
#include "tune.h"

#include "candidates.h"
#include "family.h"
#include "spec/arch.h"

/* ---- which rows are cut over blocks ------------------------------------------------------------------------------ */

/*
 * A block a row leaves multiprocessors idle when rows are few, or when the last of several waves is; one row's blocks
 * that hand each other totals wait for one another, until a row is so long that they run ahead. All was measured with
 * either forced (kernels/NOTES.md, "Cut over blocks, or a block each").
 */
typedef struct whole_rows { /* numbers of rows of which each has a block of its own; others are cut */
  int tenths;               /* at least so many tenths of the multiprocessors; 0: no number */
  int waves; /* at most so many rows a multiprocessor, the last of which also falls to so many tenths; 0: any number */
} whole_rows;

/* Whether tiles serve all rows: no stream serves neighbours, of each of which a block may have one. */
static bool is_for_all(const rs_shape *cut, const rs_shape *block, const rs_shape *stream) {
  return cut->made_of == RS_TEMPLATE_TILES && block->made_of && !stream->made_of;
}

/*
 * Whether rows of this length may be cut at all by a kernel for them. All tiles at once take 2 us, however few they
 * are; a block takes as long for 64 KB in and out, and 5 for 200 (an H200, tests/results/h200_7dc5235_tune.csv).
 */
static bool may_be_cut(const rowscan_spec *spec, const rs_shape *cut, bool for_all) {
  enum { LEAST = 16384, LEAST_STRIDED = 32768, LEAST_BYTES = 64 * 1024 };
  int64_t bytes = spec->length * (rs_read_bytes(spec) + rs_written_bytes(spec));
  bool large = cut->made_of == RS_TEMPLATE_AT_ONCE && bytes >= LEAST_BYTES;
  return cut->made_of &&
         (large || spec->length >= (cut->made_of == RS_TEMPLATE_TILES && !for_all ? LEAST_STRIDED : LEAST));
}

/*
 * Of neighbours off 16 bytes that are short, or narrow. From 384 KB on, which was not measured, they are cut. off: the
 * kernel of which each has a block, slow by itself if that has 128 threads.
 */
static int tenths_off(int64_t bytes, int64_t width, const rs_shape *off) {
  if (off->threads <= 128 && bytes >= 64 * 1024)
    return width == 4 ? 10 : 8;
  return width < 4 ? 6 : 4;
}

/*
 * Of rows that `cut` serves if they are cut, by their bytes, of the wider of input and output. Of less than 4 bytes
 * bf16 and i8 were measured, i8 as of 2 bytes; those that become wider or narrower are cut past LONG_NARROW, where some
 * kernels that have a block each spill. Strided rows from 2^18 on were not measured.
 */
static whole_rows whole_rows_of(const rowscan_spec *spec, const rs_shape *cut, const rs_shape *off) {
  enum { KB = 1024, LONG_NARROW = 65536, LONG_STRIDED = 1 << 18 };
  int in = rs_bytes_of(spec->in_type), out = rs_bytes_of(spec->out_type);
  bool narrow = in < 4 || out < 4, is_off = cut->made_of == RS_TEMPLATE_ROW_STREAM && !cut->words;
  int64_t width = narrow ? 2 : rs_larger(in, out), bytes = spec->length * width;
  if (cut->made_of == RS_TEMPLATE_TILES)
    return (whole_rows){spec->length >= LONG_STRIDED ? 10 : narrow ? 6 : 3, 0};
  if (narrow && in != out && spec->length > LONG_NARROW)
    return (whole_rows){0};
  if (is_off && bytes < (narrow ? 384 : 192) * KB)
    return (whole_rows){tenths_off(bytes, width, off), 0};
  bool longest = width != 4 && !(is_off && narrow); /* that may have a block each */
  return bytes < 64 * KB                ? (whole_rows){1, 0}
         : bytes < 192 * KB             ? (whole_rows){4, 0}
         : bytes < 256 * KB             ? (whole_rows){8, 0}
         : bytes < 384 * KB             ? (whole_rows){8, 4}
         : bytes <= 512 * KB && longest ? (whole_rows){8, 1}
                                        : (whole_rows){0};
}

/*
 * Where tiles serve all rows, as of operators that compute, what counts is how many blocks a multiprocessor has: with
 * four tenths of those that it has room for it is as fast as with tiles. An H100, of memcpy, 132, 264 and 396
 * rows of 65536 f32: logsumexp 0.32, 0.53, 0.65 with a block each, 0.50, 0.56, 0.59 cut; argmax 0.49, 0.81, 0.85 and
 * 0.72, 0.79, 0.80 (tests/results/h100_424474c_operators_tried.csv).
 */
static whole_rows whole_beside_tiles(const rs_shape *block) {
  return (whole_rows){4 * block->min_blocks, 0};
}

static bool are_whole(whole_rows whole, int64_t rows, int multiprocessors) {
  int64_t least = (int64_t)whole.tenths * multiprocessors;
  if (!whole.tenths || 10 * rows < least)
    return false;
  return !whole.waves ||
         (rows <= (int64_t)whole.waves * multiprocessors && 10 * ((rows - 1) % multiprocessors + 1) >= least);
}

/*
 * Of a plan for any length. A warp each is faster by words, and needs many rows; measured on an H100
 * (h100_72096b7_any_length_regimes of HISTORY.md).
 */
static bool cut_any_length(const rowscan_spec *spec, bool words, int64_t length, int64_t rows, int multiprocessors) {
  enum { BRIEF = 1024, ONE_BY_ONE = 2048, BYTES = 8192, FEW = 4 }; /* FEW: rows of a multiprocessor */
  int64_t bytes = rs_larger(rs_bytes_of(spec->in_type), rs_bytes_of(spec->out_type));
  return length > (rows < (int64_t)FEW * multiprocessors ? BRIEF : words ? BYTES / bytes : ONE_BY_ONE);
}

/* Measured on an H100 (h100_17bded3_slabs). */
bool rs_tune_warp_each(const rowscan_spec *spec, bool words, int64_t length, int64_t rows, int multiprocessors) {
  enum { AT_A_TIME = 16, LARGE = 4096, BRIEF = 256 }; /* warps of a multiprocessor; bytes; elements */
  int64_t bytes = rs_larger(rs_bytes_of(spec->in_type), rs_bytes_of(spec->out_type));
  bool few = rows <= (int64_t)AT_A_TIME * multiprocessors;
  return words ? few || length * bytes >= LARGE : few && length <= BRIEF;
}

bool rs_tune_long(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, int64_t length, int64_t rows,
                  int multiprocessors) {
  const rs_shape *cut = &geometry->shape[kernel];
  if (rs_spec_has_further(spec))
    return rs_tune_further_long(spec, geometry->shape, length, rows, multiprocessors);
  if (spec->length == RS_ANY_LENGTH)
    return cut_any_length(spec, kernel == RS_KERNEL_LONG_ALIGNED, length, rows, multiprocessors);
  const rs_shape *block = &geometry->shape[RS_KERNEL_DENSE], *stream = &geometry->shape[RS_KERNEL_LONG_DENSE];
  whole_rows whole = is_for_all(cut, block, stream) ? whole_beside_tiles(block) : whole_rows_of(spec, cut, block);
  return cut->made_of && !are_whole(whole, rows, multiprocessors);
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static bool always_cut(const rowscan_spec *spec, const rs_shape *cut, const rs_shape *off) {
  return cut->made_of && !whole_rows_of(spec, cut, off).tenths;
}

/* Both regimes, or row if rows of this length are never cut; no kernel for rows that have a block each, if none has. */
static void tune_row_and_long(const rowscan_spec *spec, int arch, rs_geometry *g) {
  rs_shape cut[RS_KERNELS] = {{0}};
  rs_tune_row(spec, arch, g->shape);
  rs_tune_long_rows(spec, arch, cut);
  const rs_shape off = g->shape[RS_KERNEL_DENSE];
  const rs_kernel words = cut[RS_KERNEL_LONG_ALIGNED].made_of ? RS_KERNEL_LONG_ALIGNED : RS_KERNEL_LONG_DENSE;
  if (always_cut(spec, &cut[words], &off))
    g->shape[RS_KERNEL_ALIGNED] = g->shape[RS_KERNEL_ALIGNED_SLOW] = g->shape[RS_KERNEL_FEW] = (rs_shape){0};
  if (always_cut(spec, &cut[RS_KERNEL_LONG_DENSE], &off))
    g->shape[RS_KERNEL_DENSE] = (rs_shape){0};
  g->regime = ROWSCAN_REGIME_ROW;
  for (int kernel = RS_KERNEL_LONG_ANY; kernel < RS_KERNELS; kernel++)
    if (may_be_cut(spec, &cut[kernel], is_for_all(&cut[kernel], &off, &cut[RS_KERNEL_LONG_DENSE]))) {
      g->regime = ROWSCAN_REGIME_AUTO;
      g->shape[kernel] = cut[kernel];
    }
}

/* A plan has no stream of columns beside short columns. */
rs_kernel rs_column_kernel(rs_template made_of) {
  static const rs_kernel kernels[RS_TEMPLATES] = {
      [RS_TEMPLATE_COLUMNS] = RS_KERNEL_ANY,         [RS_TEMPLATE_ASKEW] = RS_KERNEL_NEIGHBOURS,
      [RS_TEMPLATE_WIDE] = RS_KERNEL_ALIGNED,        [RS_TEMPLATE_STREAM_COLUMNS] = RS_KERNEL_DENSE,
      [RS_TEMPLATE_SHORT_COLUMNS] = RS_KERNEL_DENSE, [RS_TEMPLATE_COLUMNS_AT_ONCE] = RS_KERNEL_AT_ONCE,
      [RS_TEMPLATE_FURTHER_COLUMNS] = RS_KERNEL_ANY, [RS_TEMPLATE_FURTHER_WALK] = RS_KERNEL_WALK,
      [RS_TEMPLATE_PAIRS] = RS_KERNEL_FEW,           [RS_TEMPLATE_RING_COLUMNS] = RS_KERNEL_MANY,
      [RS_TEMPLATE_STREAM_TUPLES] = RS_KERNEL_TUPLES};
  rs_template kind = rs_template_kind(made_of);
  return (rs_kernel)(kernels[kind] + (made_of - kind));
}

const rs_shape *rs_column_shape(const rs_geometry *geometry, rs_template made_of) {
  static const rs_shape none;
  const rs_shape *shape = &geometry->shape[rs_column_kernel(made_of)];
  return shape->made_of == made_of ? shape : &none;
}

/*
 * Scratch bytes that a launch of columns may have. Tiles of 256 steps take 8 for every 256 steps of f32, a stream's of
 * 64 steps four times as much: 691848 x 97 9 MB. Outers can be cut into several launches, but columns of one had better
 * not be: a launch that has a few columns of many is slow. So there is enough for 128 columns of the smallest tiles, as
 * far as it is no more than 128 MB; a run takes what it needs.
 */
static size_t columns_scratch(int64_t length) {
  enum { LEAST = 10 << 20, MOST = 128 << 20, OF_STEP = 32 };
  return length <= LEAST / OF_STEP ? LEAST : length >= MOST / OF_STEP ? MOST : (size_t)length * OF_STEP;
}

static void tune_columns(const rowscan_spec *spec, int arch, rs_geometry *g) {
  rs_shape of[RS_TEMPLATES] = {{0}};
  rs_tune_columns(spec, arch, of);
  for (int made_of = RS_TEMPLATE_FURTHER_COLUMNS; made_of < RS_TEMPLATES; made_of++)
    if (of[made_of].made_of)
      g->shape[rs_column_kernel((rs_template)made_of)] = of[made_of];
  const rs_shape *any = &of[RS_TEMPLATE_COLUMNS];
  g->scratch = columns_scratch(any->tiles ? rs_most(any) : spec->length);
}

/* AUTO: rows that one block of threads would hold are short. */
static rowscan_regime regime_of(const rowscan_spec *spec, int arch) {
  if (!spec->length)
    return spec->regime == ROWSCAN_REGIME_ROW ? ROWSCAN_REGIME_ROW : ROWSCAN_REGIME_SHORT;
  bool further = rs_spec_has_further(spec), any = spec->length == RS_ANY_LENGTH;
  if (spec->regime != ROWSCAN_REGIME_AUTO)
    return spec->regime;
  if (spec->layout == ROWSCAN_LAYOUT_COLUMNS && !(further && any))
    return ROWSCAN_REGIME_COLUMN;
  if (further || any)
    return ROWSCAN_REGIME_AUTO;
  rs_shape brief[RS_KERNELS] = {{0}};
  rs_tune_short(spec, arch, brief);
  return rs_slab_serves(spec) || rs_tile(&brief[RS_KERNEL_ANY]) >= spec->length ? ROWSCAN_REGIME_SHORT
                                                                                : ROWSCAN_REGIME_AUTO;
}

/* A warp each is for rows of no elements too, whatever regime is forced. */
static void tune_any_length(const rowscan_spec *spec, int arch, rs_geometry *g) {
  if (g->regime == ROWSCAN_REGIME_COLUMN)
    tune_columns(spec, arch, g);
  else
    rs_tune_any_length(spec, arch, g->shape);
  if (g->regime == ROWSCAN_REGIME_ROW || g->regime == ROWSCAN_REGIME_SHORT)
    g->shape[RS_KERNEL_LONG_ANY] = g->shape[RS_KERNEL_LONG_ALIGNED] = (rs_shape){0};
}

static rs_geometry choose_geometry(const rowscan_spec *spec, int arch) {
  rs_geometry g = {.regime = ROWSCAN_REGIME_ROW};
  if (spec->flags & ROWSCAN_PART_TOTALS) {
    rs_tune_totals(spec, g.shape);
    return g;
  }
  if (spec->flags & ROWSCAN_UNIVERSAL) {
    g.regime = ROWSCAN_REGIME_AUTO;
    rs_tune_universal(spec, g.shape);
    return g;
  }
  g.regime = regime_of(spec, arch);
  if (rs_spec_has_further(spec) && g.regime != ROWSCAN_REGIME_COLUMN) {
    rs_tune_further(spec, arch, g.shape);
    return g;
  }
  if (spec->length == RS_ANY_LENGTH) {
    tune_any_length(spec, arch, &g);
    return g;
  }
  switch (g.regime) {
  case ROWSCAN_REGIME_ROW:
    rs_tune_row(spec, arch, g.shape);
    break;
  case ROWSCAN_REGIME_SHORT:
    rs_tune_short(spec, arch, g.shape);
    break;
  case ROWSCAN_REGIME_LONG:
    rs_tune_long_rows(spec, arch, g.shape);
    break;
  case ROWSCAN_REGIME_COLUMN:
    tune_columns(spec, arch, &g);
    break;
  case ROWSCAN_REGIME_AUTO:
    tune_row_and_long(spec, arch, &g);
    break;
  }
  return g;
}

/*
 * Elements that a block asks L2 for before it may read them: its own, where the whole scan is in work at once, else a
 * share of what a multiprocessor asks for.
 */
static int prefetch_of(const rowscan_spec *spec, const rs_shape *s, rs_kernel kernel) {
  enum { SHARE = 64 * 1024 };
  switch (s->made_of) {
  case RS_TEMPLATE_AT_ONCE:
    return (int)rs_tile(s);
  case RS_TEMPLATE_PAIRS:
    return 2 * (int)rs_tile(s);
  case RS_TEMPLATE_ROWS:
    return kernel == RS_KERNEL_ANY ? 0 : s->threads * s->chunks * s->vector;
  case RS_TEMPLATE_SLAB:
    return s->rows * (int)spec->length;
  case RS_TEMPLATE_TILES:
  case RS_TEMPLATE_GATHER:
  case RS_TEMPLATE_NONE:
    return 0;
  default:
    return SHARE / s->min_blocks / rs_bytes_of(spec->in_type);
  }
}

/* No multiprocessor holds more blocks than it has threads for, whatever registers would allow. */
static void keep_to_threads(rs_shape *s, int arch) {
  if (s->made_of && s->min_blocks * s->threads > rs_arch_threads(arch))
    s->min_blocks = rs_arch_threads(arch) / s->threads;
}

void rs_tune_finish(const rowscan_spec *spec, int arch, rs_kernel kernel, rs_shape *shape) {
  keep_to_threads(shape, arch);
  if (arch >= 90 && spec->length > 0 && !rs_spec_has_further(spec))
    shape->prefetch = prefetch_of(spec, shape, kernel);
}

rs_geometry rs_tune(const rowscan_spec *spec, int arch) {
  rs_geometry g = choose_geometry(spec, arch);
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    rs_tune_finish(spec, arch, (rs_kernel)kernel, &g.shape[kernel]);
  return g;
}

rowscan_regime rs_kernel_regime(const rs_geometry *geometry, rs_kernel kernel) {
  if (geometry->regime != ROWSCAN_REGIME_AUTO)
    return geometry->regime;
  return kernel < RS_KERNEL_LONG_ANY ? ROWSCAN_REGIME_ROW : ROWSCAN_REGIME_LONG;
}

int rs_geometry_kernels(const rs_geometry *geometry) {
  int count = 0;
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    count += geometry->shape[kernel].made_of != RS_TEMPLATE_NONE;
  return count;
}

static rs_kernel main_kernel(const rs_geometry *geometry) {
  static const rs_kernel order[] = {RS_KERNEL_ALIGNED, RS_KERNEL_ALIGNED_SLOW, RS_KERNEL_LONG_ALIGNED,
                                    RS_KERNEL_DENSE,   RS_KERNEL_NEIGHBOURS,   RS_KERNEL_ANY};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (geometry->shape[order[i]].made_of)
      return order[i];
  return RS_KERNEL_LONG_ANY;
}

rs_kernel rs_geometry_kernel(const rs_geometry *geometry, int i) {
  rs_kernel first = main_kernel(geometry);
  if (i == 0)
    return first;
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    if (geometry->shape[kernel].made_of && kernel != (int)first && --i == 0)
      return (rs_kernel)kernel;
  return first; /* i is rs_geometry_kernels or more */
}

const char *rs_kernel_symbol(rs_kernel kernel) {
  static const char *const symbols[RS_KERNELS] = {
      [RS_KERNEL_ANY] = "rowscan_any",
      [RS_KERNEL_NEIGHBOURS] = "rowscan_neighbours",
      [RS_KERNEL_DENSE] = "rowscan_dense",
      [RS_KERNEL_ALIGNED] = "rowscan_aligned",
      [RS_KERNEL_ALIGNED_SLOW] = "rowscan_aligned_slow",
      [RS_KERNEL_FEW] = "rowscan_few",
      [RS_KERNEL_AT_ONCE] = "rowscan_at_once",
      [RS_KERNEL_TUPLES] = "rowscan_pairs",
      [RS_KERNEL_TUPLES + 1] = "rowscan_threes",
      [RS_KERNEL_TUPLES + 2] = "rowscan_fours",
      [RS_KERNEL_TUPLES + 3] = "rowscan_fives",
      [RS_KERNEL_TUPLES + 4] = "rowscan_sixes",
      [RS_KERNEL_TUPLES + 5] = "rowscan_sevens",
      [RS_KERNEL_TUPLES + 6] = "rowscan_eights",
      [RS_KERNEL_MANY] = "rowscan_many",
      [RS_KERNEL_WALK] = "rowscan_walk",
      [RS_KERNEL_LONG_ANY] = "rowscan_long_any",
      [RS_KERNEL_LONG_DENSE] = "rowscan_long_dense",
      [RS_KERNEL_LONG_ALIGNED] = "rowscan_long_aligned",
      [RS_KERNEL_LONG_FEW] = "rowscan_long_few",
  };
  return symbols[kernel];
}

const char *rs_kernel_name(rs_kernel kernel) {
  return rs_kernel_symbol(kernel) + sizeof "rowscan_" - 1;
}

void rs_kernel_text(const rs_geometry *geometry, rs_kernel kernel, rs_text *text) {
  rs_text_add(text, "regime=%s\nkernel=%s\nshape=", rowscan_regime_name(rs_kernel_regime(geometry, kernel)),
              rs_kernel_name(kernel));
  rs_shape_text(&geometry->shape[kernel], text);
  rs_text_add(text, "\n");
}
