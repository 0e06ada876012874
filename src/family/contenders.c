/*
 * contenders.c - every kernel that could serve a spec
 * SPDX-License-Identifier: MIT
 */
#include "contenders.h"

#include <string.h>

#include "candidates.h"
#include "family.h"
#include "spec/arch.h"

typedef struct contenders {
  const rowscan_spec *spec;
  int arch, count;
  rs_contender *list;
} contenders;

static bool same(const rs_contender *a, const rs_contender *b) {
  return a->regime == b->regime && a->kernel == b->kernel && !memcmp(&a->shape, &b->shape, sizeof a->shape);
}

static void add(contenders *all, rs_contender one) {
  bool new = all->count < RS_MOST_CONTENDERS;
  rs_tune_finish(all->spec, all->arch, one.kernel, &one.shape);
  for (int i = 0; i < all->count && new; i++)
    new = !same(&all->list[i], &one);
  if (new)
    all->list[all->count++] = one;
}

/* ---- variations of a shape --------------------------------------------------------------------------------------- */

static bool fits(const contenders *all, rs_shape *s) {
  if (s->made_of == RS_TEMPLATE_SLAB)
    return rs_slab_fits(all->spec, all->arch, s);
  bool columns = all->spec->layout == ROWSCAN_LAYOUT_COLUMNS;
  return columns ? rs_columns_fit(all->spec, all->arch, s) : rs_rows_fit(all->spec, all->arch, s);
}

/* By a power of two. A number that a shape lacks is 0 and stays so; false: no multiple of it is left. */
static bool scale(int *number, int log) {
  int before = *number;
  *number = log < 0 ? before >> -log : before << log;
  return *number > 0 || !before;
}

/* Threads, elements of a thread, and blocks beside those that leave a thread the registers that it had. */
static bool scaled(const contenders *all, const rs_shape *base, int threads, int elements, int blocks, rs_shape *s) {
  enum { LEAST_THREADS = 32, MOST_THREADS = 512, MOST_STEPS = 64 };
  *s = *base;
  bool there = scale(&s->threads, threads) && (base->warps < 2 || scale(&s->warps, threads)) &&
               scale(&s->chunks, elements) && scale(&s->steps, elements);
  if (base->made_of == RS_TEMPLATE_SLAB)
    there = there && scale(&s->rows, elements);
  if (!there || s->threads < LEAST_THREADS || s->threads > rs_larger(MOST_THREADS, base->threads) ||
      s->steps > MOST_STEPS)
    return false;
  s->min_blocks = (int)rs_larger(base->min_blocks * base->threads / s->threads, 1);
  return scale(&s->min_blocks, blocks) && s->min_blocks * s->threads <= rs_arch_threads(all->arch) && fits(all, s);
}

/* What a template with one block a multiprocessor has no use for. */
static bool is_idle(const rs_shape *base, int blocks) {
  return blocks && rs_family_of(base)->sharing == RS_PERSISTENT;
}

static void vary(contenders *all, const rs_contender *base) {
  static const struct {
    int threads, elements, blocks; /* logarithms of what each is multiplied by */
  } by[] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {-1, 1, 0}, {1, -1, 0}};
  if (!base->shape.made_of)
    return;
  add(all, *base);
  for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
    rs_contender one = *base;
    if (!is_idle(&base->shape, by[i].blocks) &&
        scaled(all, &base->shape, by[i].threads, by[i].elements, by[i].blocks, &one.shape))
      add(all, one);
  }
}

/* ---- all of a spec ----------------------------------------------------------------------------------------------- */

typedef void tuner(const rowscan_spec *spec, int arch, rs_shape kernels[]);

static void vary_rows(contenders *all, rowscan_regime regime, tuner *tune) {
  rs_shape kernels[RS_KERNELS] = {{0}};
  tune(all->spec, all->arch, kernels);
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    vary(all, &(rs_contender){regime, (rs_kernel)kernel, kernels[kernel]});
}

static void vary_columns(contenders *all) {
  rs_shape of[RS_TEMPLATES];
  rs_tune_columns(all->spec, all->arch, of);
  for (int made_of = 0; made_of < RS_TEMPLATES; made_of++)
    if (of[made_of].made_of)
      vary(all, &(rs_contender){ROWSCAN_REGIME_COLUMN, rs_column_kernel((rs_template)made_of), of[made_of]});
}

int rs_contenders(const rowscan_spec *spec, int arch, rs_contender list[RS_MOST_CONTENDERS]) {
  contenders all = {.spec = spec, .arch = arch, .list = list};
  if (spec->layout == ROWSCAN_LAYOUT_COLUMNS) {
    vary_columns(&all);
  } else if (rs_spec_has_further(spec)) {
    rowscan_regime regime = rs_tune(spec, arch).regime;
    vary_rows(&all, regime, rs_tune_further);
  } else {
    vary_rows(&all, ROWSCAN_REGIME_SHORT, rs_tune_short);
    vary_rows(&all, ROWSCAN_REGIME_ROW, rs_tune_row);
    vary_rows(&all, ROWSCAN_REGIME_LONG, rs_tune_long_rows);
  }
  return all.count;
}
