/*
 * test_columns.c - regime column on the simulated GPU: cuts and kernels together, on random shapes, against the judge
 * SPDX-License-Identifier: MIT
 *
 * The kernel text is compiled for one spec and launched for many shapes, strides and cuts, since the number of columns
 * is known at run time only. Arrays lie between guards; results begin poisoned.
 *
 * usage: test_columns [KERNELS [RUNS [SEED [KIND]]]]; RS_LOT=n with RS_SEED makes one in n of the kernels.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/judge.h"
#include "../support/lot.h"
#include "../support/quick.h"
#include "../support/rows_help.h"
#include "any_op.h"
#include "compile/compile.h"
#include "family/candidates.h"
#include "family/column_cuts.h"
#include "family/columns_parts.h"
#include "family/family.h"
#include "family/tune.h"
#include "gpu/cuda.h"
#include "gpu/packed.h"
#include "spec/types.h"

enum { GUARD = 64, POISON = 0xa5, MOST_RANK = 5, WORKSPACE = 1 << 22 };

static uint64_t state;
static uint32_t any(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((state >> 33) % below);
}
static bool once_in(uint32_t n) {
  return any(n) == 0;
}

static const rs_cuda *cuda;
static rs_nvrtc *nvrtc;
static CUstream stream;
static int failures, skipped;

static void must(int result, const char *what) {
  if (!result)
    return;
  printf("FAIL %s: %d\n%s\n", what, result, rowscan_last_error());
  exit(1);
}
#define MUST(call, ...) must((int)cuda->call(__VA_ARGS__), #call)

/* ---- a kernel ---------------------------------------------------------------------------------------------------- */

typedef struct kernel {
  rowscan_spec spec;
  rs_shape shape; /* of columns.cuh; the others are made of nothing where it is not */
  rs_shape wide, stream, brief, pairs, at_once, ring;
  int threads;
  CUmodule module;
  CUfunction function;
  CUdeviceptr workspace;
  char name[256];
} kernel;

/* Its template and what the template is given. */
static rs_shape shape_of(const kernel *k) {
  const rs_shape *all[] = {&k->ring, &k->at_once, &k->pairs, &k->brief, &k->stream, &k->wide, &k->shape};
  int i = 0;
  while (!all[i]->made_of)
    i++;
  rs_shape shape = *all[i];
  shape.threads = k->threads;
  shape.min_blocks = 1;
  return shape;
}

static void kernel_make(kernel *k, int arch) {
  rs_geometry geometry = {.regime = ROWSCAN_REGIME_COLUMN};
  geometry.shape[RS_KERNEL_ANY] = shape_of(k);
  rs_text source = {0}, name = {0};
  rs_emit(&k->spec, &geometry, RS_KERNEL_ANY, &source);
  rs_compiled compiled;
  must(rs_compile(nvrtc, source.data, arch, &compiled), source.data);
  MUST(cuModuleLoadData, &k->module, compiled.cubin);
  rs_compiled_free(&compiled);
  rs_text_free(&source);
  MUST(cuModuleGetFunction, &k->function, k->module, rs_kernel_symbol(RS_KERNEL_ANY));
  MUST(cuMemAlloc_v2, &k->workspace, WORKSPACE);
  MUST(cuMemsetD8Async, k->workspace, 0, WORKSPACE, stream);
  rs_spec_line(&k->spec, &name);
  rs_text_add(&name, ", ");
  rs_family_call(&geometry.shape[RS_KERNEL_ANY], false, &name);
  snprintf(k->name, sizeof k->name, "%s", name.data);
  rs_text_free(&name);
}

static void kernel_free(kernel *k) {
  MUST(cuModuleUnload, k->module);
  MUST(cuMemFree_v2, k->workspace);
}

/* ---- an array, here and there -------------------------------------------------------------------------------------
 */

typedef struct area {
  unsigned char *host;
  CUdeviceptr device, block;
  size_t bytes;  /* guards included */
  int64_t first; /* bytes from the start of the area to the element that strides count from */
} area;

static int64_t extent(const rs_rows *rows, const int64_t *stride, int64_t step, int64_t length, int64_t *lowest) {
  int64_t low = 0, high = 0;
  for (int d = 0; d <= rows->rank; d++) {
    int64_t reach = d < rows->rank ? (rows->shape[d] - 1) * stride[d] : (length - 1) * step;
    if (reach < 0)
      low += reach;
    else
      high += reach;
  }
  *lowest = low;
  return high - low + 1;
}

enum { ANYWHERE = -1 };

/* place: bytes from a word of 16 bytes to the element that strides count from. past: there is memory past the last. */
static void area_make(area *a, const rs_rows *rows, const int64_t *stride, int64_t step, int64_t length, int bytes,
                      int place, bool past) {
  int64_t low, elements = extent(rows, stride, step, length, &low);
  int64_t offset = any(16 / (uint32_t)bytes + (bytes == 16)) * bytes;
  if (place != ANYWHERE)
    offset = ((low * bytes + place) % 16 + 16) % 16;
  a->bytes = (size_t)(elements * bytes + offset + (past ? 2 : 1) * GUARD);
  a->first = GUARD + offset - low * bytes;
  a->host = malloc(a->bytes);
  memset(a->host, POISON, a->bytes);
  MUST(cuMemAlloc_v2, &a->block, a->bytes);
  a->device = a->block;
}
/* As it is, and elsewhere on the device. */
static void area_copy(area *to, const area *from) {
  *to = *from;
  to->host = malloc(to->bytes);
  memcpy(to->host, from->host, to->bytes);
  MUST(cuMemAlloc_v2, &to->block, to->bytes);
  to->device = to->block;
}
static void area_free(area *a) {
  free(a->host);
  MUST(cuMemFree_v2, a->block);
}
static void area_up(const area *a) {
  MUST(cuMemcpyHtoDAsync_v2, a->device, a->host, a->bytes, stream);
}

typedef enum numbers { ELEMENTS, MASKS, COEFFICIENTS } numbers;

static void random_element(rowscan_type type, void *to, numbers what) {
  uint32_t r = any(1000);
  float value = what == MASKS          ? (float)(r % 3)
                : what == COEFFICIENTS ? (float)((int)(r % 5) - 2) / 2 /* whose products stay finite */
                                       : (float)((int)r - 500) / (once_in(8) ? 3.0f : 16.0f);
  double wide = value;
  uint16_t half = judge_round(type == ROWSCAN_F16 ? ROWSCAN_F16 : ROWSCAN_BF16, value);
  uint64_t whole = what == MASKS ? r % 2 : (uint64_t)r * 0x123456789abcdefu;
  switch (type) {
  case ROWSCAN_F32:
    memcpy(to, &value, 4);
    break;
  case ROWSCAN_F64:
    memcpy(to, &wide, 8);
    break;
  case ROWSCAN_F16:
  case ROWSCAN_BF16:
    memcpy(to, &half, 2);
    break;
  case ROWSCAN_BOOL:
    *(unsigned char *)to = (unsigned char)(whole & 1);
    break;
  default:
    memcpy(to, &whole, rowscan_type_bytes(type));
  }
}
static void area_random(area *a, rowscan_type type, numbers what) {
  size_t bytes = rowscan_type_bytes(type);
  for (size_t i = GUARD % bytes + (size_t)a->first % bytes; i + bytes <= a->bytes; i += bytes)
    random_element(type, a->host + i, what);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Strides of an array over [outer.., length, inner]. */
static void random_strides(const rs_rows *rows, int64_t length, int64_t *stride, int64_t *step, bool repeats,
                           bool plain, int unit) {
  int last = rows->rank - 1;
  int64_t next = 1;
  bool dense = plain || !once_in(3);
  stride[last] = dense || unit > 1 ? 1 : 1 + any(3);
  next = rows->shape[last] * stride[last] + (dense && !once_in(4) ? 0 : any(9)) * unit;
  *step = next = (next + unit - 1) / unit * unit;
  if (unit == 1 && !plain && once_in(5)) { /* steps are neighbours, columns are not: a transposed array */
    *step = 1;
    stride[last] = length + any(5);
    next = stride[last] * rows->shape[last];
  } else {
    next = next * length;
  }
  next += (dense && !once_in(4) ? 0 : any(9)) * unit;
  for (int d = last - 1; d >= 0; d--) {
    stride[d] = next;
    next = next * rows->shape[d] + (dense ? 0 : any(5)) * unit;
  }
  if (!dense && once_in(3)) {
    *step = -*step;
  }
  if (!dense && once_in(3) && unit == 1)
    stride[last] = -stride[last];
  if (!dense && repeats && once_in(4) && (unit == 1 || last > 0))
    stride[any((uint32_t)(unit == 1 ? rows->rank : last))] = 0;
}

/* All steps of all columns one after another; outers may be apart. */
static void one_run(const rs_rows *rows, int64_t length, int64_t *stride, int64_t *step) {
  int last = rows->rank - 1;
  stride[last] = 1;
  *step = rows->shape[last];
  int64_t next = *step * length;
  for (int d = last - 1; d >= 0; d--) {
    stride[d] = next += once_in(3) ? 16 : once_in(2) ? any(9) : 0;
    next *= rows->shape[d];
  }
}

/* Few columns, one run; outers may be apart, by whole tuples, or by whole words too. */
static void tuples(const rs_rows *rows, int64_t length, int64_t *stride, int64_t *step) {
  int last = rows->rank - 1;
  int64_t columns = *step = rows->shape[last], next = columns * length, unit = once_in(2) ? 16 * columns : columns;
  stride[last] = 1;
  for (int d = last - 1; d >= 0; d--) {
    stride[d] = next = (next + unit - 1) / unit * unit + unit * any(2);
    next *= rows->shape[d];
  }
}

/* One element a row: dense, or in a run of strides as tuples have them, or anywhere. */
static void strides_of_rows(const rs_rows *rows, int64_t *stride, bool repeats) {
  bool dense = once_in(2), even = once_in(2);
  int64_t next = 1;
  for (int d = rows->rank - 1; d >= 0; d--) {
    stride[d] = next;
    next *= rows->shape[d];
    if (dense)
      continue;
    next += even ? next % 2 + 2 * any(3) : any(5);
    if (!even && once_in(4))
      stride[d] = repeats ? 0 : -stride[d];
  }
}

/* Half of the runs have a workspace of their own, with no byte more than they need; the others one after another. */
static void launch(const kernel *k, const rs_rows *rows, const void *cut, const rs_column_need *need) {
  CUdeviceptr workspace = k->workspace, own = 0;
  if (need->workspace && once_in(2)) {
    MUST(cuMemAlloc_v2, &own, need->workspace);
    MUST(cuMemsetD8Async, own, 0, need->workspace, stream);
    workspace = own;
  }
  rs_packed p;
  rs_pack(&p, rows, k->spec.flags);
  p.head.workspace = (void *)(uintptr_t)workspace;
  void *parameters[] = {&p, (void *)(uintptr_t)cut};
  MUST(cuFuncSetAttribute, k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, need->shared);
  MUST(cuLaunchKernel, k->function, (unsigned)need->blocks, 1, 1,
       (unsigned)(need->threads ? need->threads : k->threads), 1, 1, (unsigned)need->shared, stream, parameters, NULL);
  if (own) {
    MUST(cuStreamSynchronize, stream);
    MUST(cuMemFree_v2, own);
  }
}

static void differ(const kernel *k, const rs_rows *rows, const rs_columns_launch *part, const char *what, int64_t at) {
  const ColumnCut *cut = &part->cut.any;
  const WideCut *wide = &part->cut.wide;
  if (failures++ > 20)
    exit(1);
  printf("FAIL %s\n  %s at byte %lld; shape", k->name, what, (long long)at);
  for (int d = 0; d < rows->rank; d++)
    printf(" %lld(in %lld out %lld mask %lld init %lld totals %lld)", (long long)rows->shape[d],
           (long long)rows->array[RS_IN].stride[d], (long long)rows->array[RS_OUT].stride[d],
           (long long)rows->array[RS_MASK].stride[d], (long long)rows->array[RS_INIT].stride[d],
           (long long)rows->array[RS_TOTALS].stride[d]);
  printf(" steps in %lld out %lld mask %lld; init %d totals %d\n", (long long)rows->array[RS_IN].step,
         (long long)rows->array[RS_OUT].step, (long long)rows->array[RS_MASK].step, rows->array[RS_INIT].data != NULL,
         rows->array[RS_TOTALS].data != NULL);
  if (k->stream.made_of) {
    const StreamCut *stream = &part->cut.stream;
    printf("  place %d columns %d steps %d tiles %d pieces %d parts %d pitches %d %d stages %d of %d blocks %d\n",
           (int)((uintptr_t)part->rows->array[RS_IN].data % 16), stream->columns, stream->steps, stream->tiles,
           1 << stream->pieces_log, 1 << stream->parts_log, stream->in_pitch, stream->mask_pitch, stream->stages,
           stream->stage_bytes, (int)part->need.blocks);
    return;
  }
  if (k->at_once.made_of) {
    const AtOnceCut *once = &part->cut.at_once;
    printf("  columns %d strips %d segments %d tiles %d pads %d %d %d blocks %d\n", once->columns, once->strips,
           once->segments, once->tiles, once->in.pad, once->mask.pad, once->out.pad, (int)part->need.blocks);
    return;
  }
  if (k->pairs.made_of) {
    printf("  tiles %d blocks %d\n", (int)rs_tuples_tiles(&k->pairs), (int)part->need.blocks);
    return;
  }
  if (k->brief.made_of) {
    const ShortCut *brief = &part->cut.brief;
    printf("  place %d columns %d outers %d shared %d blocks %d\n",
           (int)((uintptr_t)part->rows->array[RS_IN].data % 16), brief->columns, brief->outers, part->need.shared,
           (int)part->need.blocks);
    return;
  }
  if (k->wide.made_of) {
    printf("  width %d segments %d columns %d strips %d apart %d most %d tiles %d outers %d groups %d pitches %d %d %d "
           "room %d mask %d out %d\n",
           wide->width, wide->segments, wide->columns, wide->strips, wide->apart, wide->most, wide->tiles, wide->outers,
           wide->groups, wide->in_pitch, wide->mask_pitch, wide->out_pitch, wide->room, wide->mask_at, wide->out_at);
    return;
  }
  printf(
      "  columns %d strips %d steps %d tiles %d outers %d groups %d segments %d modes %d %d %d pitches %d %d %d pads "
      "%d %d %d shared %d\n",
      cut->columns, cut->strips, cut->steps, cut->tiles, cut->outers, cut->groups, cut->segments, cut->in_mode,
      cut->mask_mode, cut->out_mode, cut->in_pitch, cut->mask_pitch, cut->out_pitch, cut->in_pad, cut->mask_pad,
      cut->out_pad, part->need.shared);
}

static bool same(rowscan_type type, const unsigned char *got, const unsigned char *want, size_t bytes, int64_t first,
                 int64_t *at) {
  size_t unit = rowscan_type_bytes(type), i = (size_t)first % unit;
  for (size_t j = 0; j < i; j++)
    if (got[j] != want[j]) {
      *at = (int64_t)j;
      return false;
    }
  for (; i + unit <= bytes; i += unit)
    if (!judge_equal(type, got + i, want + i)) {
      *at = (int64_t)i - first;
      return false;
    }
  return true;
}

/* Whether each result may take its element's place. */
static bool same_places(const rs_rows *rows) {
  return rows->array[RS_IN].step == rows->array[RS_OUT].step &&
         !memcmp(rows->array[RS_IN].stride, rows->array[RS_OUT].stride,
                 (size_t)rows->rank * sizeof *rows->array[RS_IN].stride);
}

/* More than the simulated GPU has room for, as large strides of many dimensions may need. */
static bool too_large(const rs_rows *rows, int64_t length) {
  enum { MOST_BYTES = 64 << 20 };
  bool large = false;
  for (int a = RS_IN; a <= RS_MASK; a++) {
    const rs_operand *array = &rows->array[a];
    int64_t low;
    if (array->bytes)
      large = large || extent(rows, array->stride, array->step, length, &low) > MOST_BYTES / array->bytes;
  }
  return large;
}

static void run(kernel *k, int64_t inner, bool plain) {
  const rowscan_spec *s = &k->spec;
  bool at_once = k->at_once.made_of != 0;
  int unit = k->wide.made_of == RS_TEMPLATE_WIDE ? k->wide.vector : at_once && once_in(2) ? 16 : 1;
  plain = plain || (at_once && unit == 1 && !once_in(8)); /* words, or a run */
  inner = (inner + unit - 1) / unit * unit;
  bool streams = k->stream.made_of != 0, brief = k->brief.made_of != 0, pairs = k->pairs.made_of != 0;
  if (pairs)
    inner = rs_side_by_side(&k->pairs);
  if (brief)
    inner = 1 + inner % (k->brief.most_bytes / (s->length * 16));
  if (streams)
    inner = 1 + inner % rs_stream_columns(&k->stream);
  rs_rows host = {.rank = s->row_rank, .count = 1}, device;
  set_bytes(&host, s);
  int64_t left = 60000 / (s->length * inner) + 1;
  for (int d = 0; d < host.rank; d++) {
    host.shape[d] = d == host.rank - 1 ? inner : 1 + any((uint32_t)(left < 40 ? left : 40));
    if (d < host.rank - 1)
      left = left / host.shape[d] + 1;
    host.count *= host.shape[d];
  }
  random_strides(&host, s->length, host.array[RS_IN].stride, &host.array[RS_IN].step, true, plain, unit);
  random_strides(&host, s->length, host.array[RS_OUT].stride, &host.array[RS_OUT].step, false, plain, unit);
  if (plain || once_in(2)) {
    memcpy(host.array[RS_OUT].stride, host.array[RS_IN].stride, sizeof host.array[RS_IN].stride);
    host.array[RS_OUT].step = host.array[RS_IN].step;
    for (int d = 0; d < host.rank; d++)
      if (host.array[RS_OUT].stride[d] == 0)
        random_strides(&host, s->length, host.array[RS_OUT].stride, &host.array[RS_OUT].step, false, true, unit);
  }
  bool masked = s->mask_mode != ROWSCAN_MASK_NONE;
  if (masked)
    random_strides(&host, s->length, host.array[RS_MASK].stride, &host.array[RS_MASK].step, true, plain, unit);
  if (streams) {
    one_run(&host, s->length, host.array[RS_IN].stride, &host.array[RS_IN].step);
    one_run(&host, s->length, host.array[RS_MASK].stride, &host.array[RS_MASK].step);
    host.array[RS_OUT].step = host.array[RS_IN].step;
    for (int d = 0, apart = 16 * (int)any(2); d < host.rank; d++) /* outers as far from a word */
      host.array[RS_OUT].stride[d] = host.array[RS_IN].stride[d] + (d < host.rank - 1 ? apart : 0);
    for (int d = host.rank - 3; d >= 0; d--)
      host.array[RS_OUT].stride[d] +=
          (host.array[RS_OUT].stride[d + 1] - host.array[RS_IN].stride[d + 1]) * host.shape[d + 1];
  }
  if (pairs) {
    tuples(&host, s->length, host.array[RS_IN].stride, &host.array[RS_IN].step);
    tuples(&host, s->length, host.array[RS_OUT].stride, &host.array[RS_OUT].step);
    if (masked)
      tuples(&host, s->length, host.array[RS_MASK].stride, &host.array[RS_MASK].step);
  }
  if (brief || (k->wide.ahead && once_in(2))) { /* tiles ask for others' elements where all is one run */
    int64_t next = inner * s->length;
    host.array[RS_IN].stride[host.rank - 1] = 1;
    for (int d = host.rank - 2; d >= 0; next *= host.shape[d--])
      host.array[RS_IN].stride[d] = next;
    host.array[RS_IN].step = host.array[RS_OUT].step = host.array[RS_MASK].step = inner;
    memcpy(host.array[RS_OUT].stride, host.array[RS_IN].stride, sizeof host.array[RS_IN].stride);
    memcpy(host.array[RS_MASK].stride, host.array[RS_IN].stride, sizeof host.array[RS_IN].stride);
  }
  if (too_large(&host, s->length)) {
    skipped++;
    return;
  }
  strides_of_rows(&host, host.array[RS_INIT].stride, true);
  strides_of_rows(&host, host.array[RS_TOTALS].stride, false);
  area in, out, mask, init, totals;
  bool words = k->pairs.made_of == RS_TEMPLATE_PAIRS || at_once;
  int place = unit > 1 || once_in(2) || (words && !once_in(8)) ? 0 : ANYWHERE, row_place = pairs ? 0 : ANYWHERE;
  area_make(&in, &host, host.array[RS_IN].stride, host.array[RS_IN].step, s->length,
            (int)rowscan_type_bytes(s->in_type), place, once_in(2));
  if (streams) /* which takes no others */
    place = once_in(6) ? ANYWHERE : (int)(in.first % 16);
  area_random(&in, s->in_type, ELEMENTS);
  bool over = once_in(3) && same_places(&host) && rowscan_type_bytes(s->in_type) == rowscan_type_bytes(s->out_type);
  if (over)
    area_copy(&out, &in);
  else
    area_make(&out, &host, host.array[RS_OUT].stride, host.array[RS_OUT].step, s->length,
              (int)rowscan_type_bytes(s->out_type), place, true);
  if (masked) {
    area_make(&mask, &host, host.array[RS_MASK].stride, host.array[RS_MASK].step, s->length,
              (int)rowscan_type_bytes(s->mask_type), unit > 1 || at_once ? 0 : ANYWHERE, once_in(2));
    area_random(&mask, s->mask_type, s->mask_mode == ROWSCAN_MASK_COEFFICIENT ? COEFFICIENTS : MASKS);
    area_up(&mask);
  }
  bool inits = once_in(2) && op_begins(s), keeps = once_in(2);
  int acc = (int)rowscan_type_bytes(rs_kept_type(s->acc_type));
  area_make(&init, &host, host.array[RS_INIT].stride, 0, 1, acc, once_in(8) ? ANYWHERE : row_place, false);
  area_make(&totals, &host, host.array[RS_TOTALS].stride, 0, 1, acc, once_in(8) ? ANYWHERE : row_place, true);
  area_random(&init, rs_kept_type(s->acc_type), ELEMENTS);
  area_up(&in);
  area_up(&init);

  device = host;
  host.array[RS_IN].data = in.host + in.first;
  host.array[RS_OUT].data = out.host + out.first;
  host.array[RS_MASK].data = masked ? mask.host + mask.first : NULL;
  host.array[RS_INIT].data = inits ? init.host + init.first : NULL;
  host.array[RS_TOTALS].data = keeps ? totals.host + totals.first : NULL;
  device.array[RS_IN].data = (void *)(uintptr_t)((over ? out.device : in.device) + (size_t)in.first);
  device.array[RS_OUT].data = (void *)(uintptr_t)(out.device + (size_t)out.first);
  device.array[RS_MASK].data = masked ? (void *)(uintptr_t)(mask.device + (size_t)mask.first) : NULL;
  device.array[RS_INIT].data = inits ? (void *)(uintptr_t)(init.device + (size_t)init.first) : NULL;
  device.array[RS_TOTALS].data = keeps ? (void *)(uintptr_t)(totals.device + (size_t)totals.first) : NULL;

  static const int tiles[] = {2048, 4096, 8192, 32768};
  static const int strips[] = {32, 64, 128, 256};
  k->shape.tile_bytes = tiles[any(4)];
  k->shape.strip_bytes = strips[any(4)];
  k->shape.shared = (32 << 10) + (4 + 2 * (int)any(4)) * k->shape.tile_bytes;
  k->shape.multiprocessors = once_in(3) ? 4 : 0;
  k->stream.tile_bytes = 4 * tiles[any(4)];
  k->stream.band_bytes = 4 * tiles[any(4)];
  k->stream.pieced_bytes = 4 * tiles[any(4)];
  k->stream.shared_bytes = 6 * tiles[3];
  k->stream.least_tiles = (int)any(5);
  k->stream.multiprocessors = 1 + (int)any(6);
  rs_geometry columns = {.regime = ROWSCAN_REGIME_COLUMN, .scratch = WORKSPACE};
  const rs_shape *all[] = {&k->shape, &k->wide, &k->stream, &k->brief, &k->pairs, &k->at_once, &k->ring};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]->made_of)
      columns.shape[rs_column_kernel(all[i]->made_of)] = *all[i];
  if (once_in(2))
    columns.scratch = (size_t)1 << (8 + any(10));
  rs_columns_parts parts;
  static rs_columns_launch part;
  rs_columns_begin(&parts, &columns, &device);

  unsigned char *got = malloc(out.bytes), *got_totals = malloc(totals.bytes);
  area_up(&out);
  area_up(&totals);
  while (rs_columns_next(&parts, &part)) {
    assert(part.need.workspace <= rs_columns_bound(&columns) && rs_columns_bound(&columns) <= WORKSPACE);
    assert(part.need.shared <= (part.made_of == RS_TEMPLATE_COLUMNS           ? rs_columns_shared(&k->shape)
                                : part.made_of == RS_TEMPLATE_STREAM_COLUMNS  ? 200 << 10
                                : part.made_of == RS_TEMPLATE_SHORT_COLUMNS   ? rs_short_shared(&k->brief)
                                : part.made_of == RS_TEMPLATE_PAIRS           ? rs_pairs_shared(&k->pairs)
                                : part.made_of == RS_TEMPLATE_COLUMNS_AT_ONCE ? k->at_once.shared_bytes
                                : part.made_of == RS_TEMPLATE_RING_COLUMNS    ? k->ring.shared_bytes
                                : k->pairs.made_of                            ? k->pairs.shared_bytes
                                                                              : 128 << 10));
    rs_template here = shape_of(k).made_of;
    skipped += part.made_of != here;
    if (part.made_of != here) { /* another kernel's, which is not here */
      free(got);
      free(got_totals);
      goto out;
    }
    launch(k, part.rows, &part.cut, &part.need);
  }
  MUST(cuMemcpyDtoHAsync_v2, got, out.device, out.bytes, stream);
  MUST(cuMemcpyDtoHAsync_v2, got_totals, totals.device, totals.bytes, stream);
  MUST(cuStreamSynchronize, stream);
  judge_scan(s, &host);
  int64_t at = 0;
  if (!same(s->out_type, got, out.host, out.bytes, out.first, &at))
    differ(k, &device, &part, "out", at);
  if (!same(rs_kept_type(s->acc_type), got_totals, totals.host, totals.bytes, totals.first, &at))
    differ(k, &device, &part, "totals", at);
  free(got);
  free(got_totals);
out:
  area_free(&in);
  area_free(&out);
  area_free(&init);
  area_free(&totals);
  if (masked)
    area_free(&mask);
}

/* ---- all of it ----------------------------------------------------------------------------------------------------
 */

static void random_spec(rowscan_spec *s) {
  static const rowscan_type types[][3] = {
      {ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32}, {ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32},
      {ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F64}, {ROWSCAN_BF16, ROWSCAN_BF16, ROWSCAN_F32},
      {ROWSCAN_F16, ROWSCAN_F16, ROWSCAN_F32}, {ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F32},
      {ROWSCAN_F32, ROWSCAN_F16, ROWSCAN_F32}, {ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_F64},
      {ROWSCAN_I8, ROWSCAN_I32, ROWSCAN_I32},  {ROWSCAN_BOOL, ROWSCAN_I64, ROWSCAN_I64},
      {ROWSCAN_I32, ROWSCAN_I32, ROWSCAN_I32}, {ROWSCAN_U8, ROWSCAN_U8, ROWSCAN_U8},
      {ROWSCAN_I64, ROWSCAN_I64, ROWSCAN_I64}, {ROWSCAN_I16, ROWSCAN_I16, ROWSCAN_I16},
  };
  static const rowscan_type masks[] = {ROWSCAN_BOOL, ROWSCAN_F32, ROWSCAN_U8, ROWSCAN_BF16};
  static const int64_t lengths[] = {1,  2,   3,   7,   8,   9,   15,  16,  17,  31,   32,   33,   40,   63,  64,
                                    65, 100, 127, 128, 129, 255, 256, 300, 511, 1000, 1024, 2048, 5000, 9000};
  const rowscan_type *type = types[any(sizeof types / sizeof *types)];
  *s = (rowscan_spec){.size = sizeof *s,
                      .in_type = type[0],
                      .out_type = type[1],
                      .acc_type = type[2],
                      .length = lengths[any(sizeof lengths / sizeof *lengths)],
                      .row_rank = 1 + (int)any(MOST_RANK),
                      .layout = ROWSCAN_LAYOUT_COLUMNS,
                      .flags = (once_in(3) ? ROWSCAN_REVERSE : 0) | (once_in(3) ? ROWSCAN_EXCLUSIVE : 0)};
  if (once_in(3)) {
    s->mask_type = masks[any(4)];
    s->mask_mode = rs_type_kind(s->mask_type) == RS_FLOAT && rs_type_kind(s->acc_type) != RS_FLOAT ? ROWSCAN_MASK_SELECT
                   : once_in(2)                                                                    ? ROWSCAN_MASK_SELECT
                                : ROWSCAN_MASK_MULTIPLY;
  }
  op_take(s, (uint64_t)any(1 << 20));
}

/* Such as kernels/beside.cuh packs. */
static void sum_bytes(rowscan_spec *s) {
  s->op = ROWSCAN_SUM;
  s->in_type = s->out_type = s->acc_type = once_in(2) ? ROWSCAN_U8 : ROWSCAN_I8;
  s->flags &= ~(ROWSCAN_OMIT_NAN | ROWSCAN_TIES_FIRST);
  if (s->mask_mode) {
    s->mask_mode = ROWSCAN_MASK_SELECT;
    s->mask_type = ROWSCAN_BOOL;
  }
}

static bool askew_fits(const rs_shape *s) {
  int most = 16 / (s->in > s->out ? s->in : s->out); /* words of a step, one a lane */
  return s->vector <= most && (!s->mask || s->vector <= 16 / s->mask);
}

static void make_askew(kernel *k) {
  k->wide.made_of = RS_TEMPLATE_ASKEW;
  k->wide.width = 32;
  k->wide.reverse = (k->spec.flags & ROWSCAN_REVERSE) != 0;
  k->wide.vector = 4;
  while (!askew_fits(&k->wide) || (k->wide.vector > 1 && once_in(3)))
    k->wide.vector /= 2;
}

/* As it is tuned, for any length; made of nothing where it does not serve. */
static rs_shape stream_of_tuples(const rowscan_spec *spec, int columns) {
  rowscan_spec as_long = *spec;
  as_long.length = 1 << 20;
  rs_shape of[RS_TEMPLATES];
  rs_tune_columns(&as_long, 90, of);
  rs_shape shape = of[rs_stream_of_tuples(columns)];
  shape.length = spec->length;
  shape.multiprocessors = 4;
  return shape;
}

/* So many tiles that groups of them make groups, in an order that only this operator tells. */
static void few_columns_of_many_tiles(int arch, int runs) {
  kernel k = {.spec = {.size = sizeof k.spec,
                       .op = (rowscan_op)rowscan_op_by_name("Affine"),
                       .in_type = ROWSCAN_F32,
                       .length = 20000,
                       .row_rank = 1,
                       .layout = ROWSCAN_LAYOUT_COLUMNS}};
  must(rowscan_spec_complete(&k.spec), "the spec of few columns");
  int acc = rs_spec_register_bytes(&k.spec);
  k.shape = (rs_shape){
      .made_of = RS_TEMPLATE_COLUMNS, .length = k.spec.length, .in = 4, .out = 4, .acc = acc, .part = acc, .steps = 8};
  k.stream = (rs_shape){
      .made_of = RS_TEMPLATE_STREAM_COLUMNS, .length = k.spec.length, .in = 4, .acc = acc, .steps = 16, .warps = 12};
  k.threads = 32 * k.stream.warps;
  kernel_make(&k, arch);
  for (int i = 0; i < runs; i++)
    run(&k, i % 4, true);
  kernel_free(&k);
}

int main(int argc, char **argv) {
  bool quick = is_quick();
  int kernels = argc > 1 ? atoi(argv[1]) : quick ? 9 : 27, runs = argc > 2 ? atoi(argv[2]) : quick ? 6 : 12;
  uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
  int only = argc > 4 ? atoi(argv[4]) : -1; /* kernels: 0 columns.cuh, 1 wide.cuh, 2 stream_columns.cuh,
                                                  3 short_columns.cuh, 4 pairs.cuh, 5 columns_at_once.cuh,
                                                  6 and 7 row_stream.cuh, 8 ring_columns.cuh */
  int devices, major, minor, made = 0;
  if (rs_cuda_open(&cuda) || cuda->cuInit(0) || cuda->cuDeviceGetCount(&devices) || !devices) {
    printf("skipped: needs a GPU, or the simulated one\n");
    return 77;
  }
  MUST(cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  MUST(cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
  int arch = 10 * major + minor;
  CUcontext context;
  MUST(cuDevicePrimaryCtxRetain, &context, 0);
  MUST(cuCtxPushCurrent_v2, context);
  MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  rs_log log = {0};
  nvrtc = rs_nvrtc_open(NULL, &log);
  lot_tell();
  for (int i = 0; i < kernels; i++) {
    kernel k = {.threads = 0};
    enum {
      PLAIN,
      WIDE,
      STREAM,
      SHORT,
      PAIRS,
      AT_ONCE,
      FEW_STREAM, /* of tuples of two to four columns, and of more */
      MORE_STREAM,
      RING,
      KINDS
    } kind = only >= 0 ? only : i % KINDS;
    if (!lot_takes("kernels", (uint64_t)i))
      continue;
    made++;
    state = seed + (uint64_t)i * 0x9e3779b97f4a7c15u; /* the same whatever was made before */
    bool tuples = kind == FEW_STREAM || kind == MORE_STREAM;
    int columns = 0;
    do {
      random_spec(&k.spec);
      columns = kind == FEW_STREAM ? 2 + (int)any(3) : 5 + (int)any(RS_MOST_TUPLE - 4);
    } while ((tuples && !stream_of_tuples(&k.spec, columns).made_of) ||
             (kind == STREAM && rowscan_type_bytes(k.spec.in_type) != rowscan_type_bytes(k.spec.out_type)) ||
             (kind == PAIRS && (k.spec.mask_mode || k.spec.in_type == ROWSCAN_BOOL || rs_spec_loops(&k.spec))));
    if (kind == STREAM) { /* which takes no columns of a single tile */
      static const int64_t lengths[] = {600, 1000, 1024, 2048, 2500, 4099, 5000, 9000, 20000, 40000};
      k.spec.length = lengths[any(sizeof lengths / sizeof *lengths)];
    }
    if (kind == SHORT)
      k.spec.length = once_in(2) ? 1 + any(40) : 1 + any(400);
    if (kind == PAIRS)
      k.spec.length = once_in(2) ? 1 + any(9000) : 16 * (1 + any(1000));
    if (kind == AT_ONCE)
      k.spec.length = once_in(2) ? 64 + any(400) : 64 + any(5000);
    if (kind == WIDE && once_in(3))
      sum_bytes(&k.spec);
    bool several = kind == WIDE && once_in(4); /* outers to a tile, off a word */
    if (several)
      k.spec.length = 1 + any(32);
    k.threads = 64 << any(2);
    int steps = 8 << any(3);
    while (steps / 2 >= k.spec.length) /* no more than there are */
      steps /= 2;
    k.shape = (rs_shape){.made_of = RS_TEMPLATE_COLUMNS,
                         .length = k.spec.length,
                         .in = (int)rowscan_type_bytes(k.spec.in_type),
                         .out = (int)rowscan_type_bytes(k.spec.out_type),
                         .mask = k.spec.mask_mode ? (int)rowscan_type_bytes(k.spec.mask_type) : 0,
                         .acc = rs_spec_register_bytes(&k.spec),
                         .part = rs_part_bytes(&k.spec),
                         .steps = steps,
                         .min_blocks = 1 + (int)any(6)};
    k.wide = (rs_shape){.length = k.spec.length,
                        .in = k.shape.in,
                        .out = k.shape.out,
                        .mask = k.shape.mask,
                        .acc = k.shape.acc,
                        .threads = k.threads,
                        .steps = k.shape.steps,
                        .width = k.threads >> any(4)};
    if (kind == RING) {
      k.threads += 32 * RS_RING_MOVERS;
      k.ring = (rs_shape){.made_of = RS_TEMPLATE_RING_COLUMNS,
                          .length = k.spec.length,
                          .in = k.shape.in,
                          .out = k.shape.out,
                          .mask = k.shape.mask,
                          .acc = k.shape.acc,
                          .threads = k.threads,
                          .steps = 2 << any(5),
                          .multiprocessors = once_in(2) ? 4 : 0,
                          .stages = 2 + (int)any(4),
                          .shared_bytes = 200 << 10};
    } else if (tuples) {
      k.spec.length = once_in(2) ? 1 + any(9000) : 1 + any(30000);
      k.pairs = stream_of_tuples(&k.spec, columns);
      if (once_in(3)) { /* more tiles than the walk reads at a time */
        k.pairs.warps = 2;
        k.pairs.chunks = 1;
        k.spec.length = k.pairs.length = (int64_t)(130 + any(280)) * rs_tile(&k.pairs) - any(100);
      }
      k.threads = k.pairs.threads = 32 * (k.pairs.warps + k.pairs.reducers + 2);
    } else if (kind == PAIRS) {
      k.pairs = (rs_shape){.made_of = RS_TEMPLATE_PAIRS,
                           .columns = 2,
                           .length = k.spec.length,
                           .in = k.shape.in,
                           .out = k.shape.out,
                           .acc = k.shape.acc,
                           .reverse = (k.spec.flags & ROWSCAN_REVERSE) != 0,
                           .warps = 2 << any(4),
                           .chunks = 1,
                           .lanes = 32,
                           .vector = k.shape.acc > 4 && k.shape.in > 1 && k.shape.out > 1 ? 4 : 8,
                           .min_blocks = 2,
                           .multiprocessors = 200};
      while (rs_tuples_tiles(&k.pairs) > 32 * (k.pairs.warps - 1))
        k.pairs.warps *= 2;
      k.threads = 32 * k.pairs.warps;
    } else if (kind == AT_ONCE) {
      k.at_once = (rs_shape){.made_of = RS_TEMPLATE_COLUMNS_AT_ONCE,
                             .length = k.spec.length,
                             .in = k.shape.in,
                             .out = k.shape.out,
                             .mask = k.shape.mask,
                             .acc = k.shape.acc,
                             .reverse = (k.spec.flags & ROWSCAN_REVERSE) != 0,
                             .threads = k.threads,
                             .steps = 4 << any(2),
                             .rows = 16 << any(4),
                             .tile_bytes = 32 << 10,
                             .min_blocks = 1,
                             .shared_bytes = 100 << 10,
                             .multiprocessors = 10 << any(5)};
    } else if (kind == SHORT) {
      k.brief = (rs_shape){.made_of = RS_TEMPLATE_SHORT_COLUMNS,
                           .length = k.spec.length,
                           .in = k.shape.in,
                           .out = k.shape.out,
                           .mask = k.shape.mask,
                           .acc = k.shape.acc,
                           .threads = k.threads,
                           .steps = k.shape.steps,
                           .tile_bytes = 2048 << any(4),
                           .most_bytes = 32 << 10,
                           .multiprocessors = once_in(2) ? 4 : 0};
    } else if (kind == STREAM) {
      k.stream = (rs_shape){.made_of = RS_TEMPLATE_STREAM_COLUMNS,
                            .length = k.spec.length,
                            .in = k.shape.in,
                            .mask = k.shape.mask,
                            .acc = k.shape.acc,
                            .steps = 16 << any(2)};
      k.stream.warps = 10 + (int)any(15);
      k.threads = 32 * k.stream.warps;
    } else if (kind == WIDE) {
      int most = 16 / k.shape.in < 32 / k.shape.acc ? 16 / k.shape.in : 32 / k.shape.acc;
      k.wide.made_of = RS_TEMPLATE_WIDE;
      k.wide.vector = most > 2 && once_in(3) ? most / 2 : most;
      if (k.wide.steps == 16 && once_in(2))
        k.wide.steps = once_in(2) ? 4 : 64;
      while (k.wide.width > k.threads / 2 || k.threads / k.wide.width > 32 * k.wide.vector)
        k.wide.width = k.threads / 8;
      if (several || once_in(3))
        make_askew(&k);
      k.wide.packed = rs_wide_packs(&k.spec) && k.wide.vector % 4 == 0;
      k.wide.ahead = (int)any(4); /* few, so that there are enough tiles */
      k.wide.ahead_strips = (int)any(4);
      while (rs_wide_most_shared(&k.wide) > 128 << 10)
        k.wide.steps /= 2;
    }
    kernel_make(&k, arch);
    for (int j = 0; j < runs; j++)
      run(&k,
          several                                                                 ? 33 + any(32)
          : (k.wide.made_of == RS_TEMPLATE_ASKEW || k.ring.made_of) && once_in(2) ? 100 + any(400) /* several strips */
          : once_in(2)                                                            ? 1 + any(40)
          : once_in(2)                                                            ? 1 + any(600)
                                                                                  : (int64_t)16 << any(6),
          once_in(3));
    kernel_free(&k);
  }
  state = seed;
  if ((only < 0 || only == 2) && lot_takes("kernels", (uint64_t)kernels))
    few_columns_of_many_tiles(arch, runs);
  printf("%d kernels, %d runs each, %d of them for other kernels, %d failures\n", made, runs, skipped, failures);
  rs_nvrtc_close(nvrtc);
  return failures != 0;
}
