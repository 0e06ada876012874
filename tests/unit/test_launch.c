/*
 * test_launch.c - which of a spec's kernels serves which rows
 * SPDX-License-Identifier: MIT
 *
 * A wrong choice that is slow and right shows in no result. Nothing is compiled or run here.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../support/lot.h"
#include "../support/run_tests.h"
#include "family/choose.h"
#include "family/universal.h"

static int multiprocessors = 132;

typedef struct given {
  int64_t length, rows;
  int64_t in_lead, mask_lead, out_lead, step; /* elements */
  unsigned flags;
  int wanted; /* the template, or one of the two below */
} given;

/* Templates in which rows begin anywhere. */
enum { RING_ANY = RS_TEMPLATES, STREAM_ANY };

static int kind_of(const rs_shape *shape) {
  return shape->made_of == RS_TEMPLATE_ROW_RING && !shape->words     ? RING_ANY
         : shape->made_of == RS_TEMPLATE_ROW_STREAM && !shape->words ? STREAM_ANY
                                                                     : (int)shape->made_of;
}

/* Completes the spec. peak_gbs: of the device; 0: not known. */
static void open_kernels(rs_kernels *kernels, rowscan_spec *spec, int arch, double peak_gbs) {
  spec->size = sizeof *spec;
  ck_assert_int_eq(rowscan_spec_complete(spec), ROWSCAN_OK);
  memset(kernels, 0, sizeof *kernels);
  rs_kernels_open(kernels, spec, arch, multiprocessors, peak_gbs);
}

/* gap: elements between rows. */
static rs_kernel chosen(const rs_kernels *kernels, const given *g, int64_t gap) {
  int64_t strides[] = {g->length * g->step + gap, g->step};
  bool masked = kernels->spec->mask_mode != ROWSCAN_MASK_NONE;
  int64_t in = (int64_t)rowscan_type_bytes(kernels->spec->in_type),
          out = (int64_t)rowscan_type_bytes(kernels->spec->out_type);
  int64_t mask = masked ? (int64_t)rowscan_type_bytes(kernels->spec->mask_type) : 0;
  rowscan_args args = {.size = sizeof args, .rows = g->rows};
  args.input = (void *)(intptr_t)(4096 + in * g->in_lead);
  args.mask = masked ? (void *)(intptr_t)(4096 + mask * g->mask_lead) : NULL;
  args.output = (void *)(intptr_t)(4096 + out * g->out_lead);
  args.input_strides = args.output_strides = strides;
  args.mask_strides = masked ? strides : NULL;
  rs_rows rows;
  ck_assert_msg(rs_rows_from_args(&rows, kernels->spec, &args) == ROWSCAN_OK, "%s", rowscan_last_error());
  return rs_kernels_choose(kernels, &rows);
}

static const given all[] = {
    /* long rows: on 16 bytes, off in each array, of odd length, with gaps */
    {1 << 20, 64, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM},
    {1 << 20, 64, 1, 0, 0, 1, 0, STREAM_ANY},
    {1 << 20, 64, 0, 1, 0, 1, 0, STREAM_ANY},
    {1 << 20, 64, 0, 0, 1, 1, 0, STREAM_ANY},
    {(1 << 20) + 1, 64, 0, 0, 0, 1, 0, STREAM_ANY},
    {(1 << 20) + 1, 1, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM},
    {(1 << 20) + 1, 1, 0, 0, 0, 1, ROWSCAN_REVERSE, STREAM_ANY},
    {1 << 20, 64, 0, 0, 0, 2, 0, RS_TEMPLATE_TILES},
    /* 32768: four tenths as many as multiprocessors and more have a block each; in tiles three */
    {32768, 4096, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {32768, 53, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {32768, 52, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM},
    {32768, 1, 0, 0, 0, 1, 0, RS_TEMPLATE_AT_ONCE},
    {32769, 4096, 0, 0, 0, 1, 0, RING_ANY},
    {32769, 53, 0, 0, 0, 1, 0, RING_ANY},
    {32769, 52, 0, 0, 0, 1, 0, STREAM_ANY},
    {32768, 4096, 0, 0, 0, 2, 0, RS_TEMPLATE_ROWS},
    {32768, 40, 0, 0, 0, 2, 0, RS_TEMPLATE_ROWS},
    {32768, 39, 0, 0, 0, 2, 0, RS_TEMPLATE_TILES},
    /* at once from 64 KB in all arrays on; by streams from 16384 on, but not in tiles */
    {7276, 1, 0, 0, 0, 1, 0, RS_TEMPLATE_ROWS},
    {7284, 1, 0, 0, 0, 1, 0, RS_TEMPLATE_AT_ONCE},
    {7296, 13, 0, 0, 0, 1, 0, RS_TEMPLATE_AT_ONCE},
    {7296, 14, 0, 0, 0, 1, 0, RS_TEMPLATE_ROWS},
    {7285, 2, 0, 0, 0, 1, 0, RING_ANY},
    {16384, 1, 0, 0, 0, 1, 0, RS_TEMPLATE_AT_ONCE},
    {20000, 52, 0, 0, 0, 1, 0, RS_TEMPLATE_AT_ONCE},
    {20000, 53, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {20000, 1, 1, 0, 0, 1, 0, STREAM_ANY},
    {16385, 131, 0, 0, 0, 1, 0, STREAM_ANY}, /* a block each has 128 threads */
    {16385, 132, 0, 0, 0, 1, 0, RING_ANY},
    {20000, 1, 0, 0, 0, 2, 0, RS_TEMPLATE_ROWS},
    /* 49152: eight tenths */
    {49152, 4096, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {49152, 140, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {49152, 106, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {49152, 105, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM},
    {49153, 106, 0, 0, 0, 1, 0, RING_ANY},
    {49153, 105, 0, 0, 0, 1, 0, STREAM_ANY},
    /* 65536: waves that are full to eight tenths, up to four */
    {65536, 105, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM},
    {65536, 106, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {65536, 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {65536, 133, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM},
    {65536, 132 + 105, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM},
    {65536, 132 + 106, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {65536, 4 * 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {65536, 5 * 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM},
    {65536, 132, 0, 0, 1, 1, 0, RING_ANY},
    {65536, 5 * 132, 0, 0, 1, 1, 0, STREAM_ANY},
    {65536, 4096, 0, 0, 0, 2, 0, RS_TEMPLATE_ROWS},
    /* 98304: always cut, and in tiles from 2^18 on those fewer than multiprocessors */
    {98288, 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING},
    {98304, 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM},
    {98305, 4096, 0, 0, 0, 1, 0, STREAM_ANY},
    {(1 << 18) - 1, 40, 0, 0, 0, 2, 0, RS_TEMPLATE_ROWS},
    {1 << 18, 131, 0, 0, 0, 2, 0, RS_TEMPLATE_TILES},
    {1 << 18, 132, 0, 0, 0, 2, 0, RS_TEMPLATE_ROWS},
};

static const struct {
  rowscan_type in, out;
  rowscan_regime regime;
  given rows;
} others[] = {
    /* by bytes of the wider; of less than 4 bytes a row is as long as of 2 */
    {ROWSCAN_F64, ROWSCAN_F64, 0, {32768, 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    {ROWSCAN_F64, ROWSCAN_F64, 0, {32768, 133, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM}},
    {ROWSCAN_F64, ROWSCAN_F64, 0, {65536, 106, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    {ROWSCAN_F64, ROWSCAN_F64, 0, {65536, 2 * 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM}},
    {ROWSCAN_F64, ROWSCAN_F64, 0, {65552, 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {65536, 4096, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {131072, 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {131072, 133, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {65536, 66, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {32768, 52, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {16384, 14, 0, 0, 0, 1, 0, RS_TEMPLATE_ROWS}},
    {ROWSCAN_I8, ROWSCAN_I32, 0, {65536, 4096, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    {ROWSCAN_F32, ROWSCAN_F16, 0, {65536, 4096, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    /* off 16 bytes they have a block each up to 384 KB; with few threads a block from eight tenths on */
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {131073, 106, 0, 0, 0, 1, 0, RING_ANY}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {131073, 105, 0, 0, 0, 1, 0, STREAM_ANY}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {196592, 4096, 1, 0, 0, 1, 0, RING_ANY}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {196608, 132, 1, 0, 0, 1, 0, STREAM_ANY}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {196608, 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {196608, 2 * 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM}},
    /* so do bytes on them; what becomes wider or narrower is cut from 65536 on */
    {ROWSCAN_I8, ROWSCAN_I8, 0, {131072, 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    {ROWSCAN_I8, ROWSCAN_I16, 0, {65552, 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM}},
    {ROWSCAN_I16, ROWSCAN_I16, 0, {65552, 132, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    {ROWSCAN_F32, ROWSCAN_F16, 0, {65537, 132, 0, 0, 0, 1, 0, STREAM_ANY}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {32768, 79, 0, 0, 0, 2, 0, RS_TEMPLATE_TILES}},
    {ROWSCAN_BF16, ROWSCAN_BF16, 0, {32768, 80, 0, 0, 0, 2, 0, RS_TEMPLATE_ROWS}},
    /* forced regimes */
    {ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_REGIME_ROW, {1 << 20, 1, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_RING}},
    {ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_REGIME_LONG, {32768, 4096, 0, 0, 0, 1, 0, RS_TEMPLATE_ROW_STREAM}},
};

static void check_choice(const given *g, rowscan_type in, rowscan_type out, rowscan_regime regime) {
  rowscan_spec spec = {.length = g->length, .in_type = in, .out_type = out, .flags = g->flags, .regime = regime};
  spec.mask_mode = ROWSCAN_MASK_SELECT;
  rs_kernels kernels;
  open_kernels(&kernels, &spec, 90, 0);
  rs_kernel kernel = chosen(&kernels, g, 0);
  int kind = kind_of(&kernels.geometry.shape[kernel]);
  bool cut =
      kind == RS_TEMPLATE_ROW_STREAM || kind == STREAM_ANY || kind == RS_TEMPLATE_TILES || kind == RS_TEMPLATE_AT_ONCE;
  ck_assert_int_eq(kind, g->wanted);
  ck_assert_int_eq(rs_kernel_regime(&kernels.geometry, kernel), cut ? ROWSCAN_REGIME_LONG : ROWSCAN_REGIME_ROW);
}

START_TEST(choices) {
  check_choice(&all[_i], ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_REGIME_AUTO);
}
END_TEST

START_TEST(other_choices) {
  check_choice(&others[_i].rows, others[_i].in, others[_i].out, others[_i].regime);
}
END_TEST

/* Where tiles serve rows on 16 bytes and off, those have a block each that have four tenths of the blocks' room, and
 * those that are shorter than any that is cut. */
START_TEST(choices_beside_tiles) {
  enum { ROOM = 5 * 132 };
  static const rowscan_spec specs[] = {{.op = ROWSCAN_LOGSUMEXP},
                                       {.op = ROWSCAN_ARGMAX},
                                       {.op = ROWSCAN_EXTENDED_PROD},
                                       {.mask_mode = ROWSCAN_MASK_TAILS, .flags = ROWSCAN_EXCLUSIVE}};
  static const int64_t lengths[] = {16383, 16384, 20001, 32767, 65536, 131073, 1 << 18};
  for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
      rowscan_spec spec = specs[s];
      spec.length = lengths[l];
      spec.in_type = ROWSCAN_F32;
      rs_kernels kernels;
      open_kernels(&kernels, &spec, 90, 0);
      for (int64_t rows = 17; rows < 2 * ROOM; rows++) {
        const given g = {spec.length, rows, 0, 0, 0, 1, 0, RS_TEMPLATE_NONE};
        rs_kernel kernel = chosen(&kernels, &g, 0);
        bool cut = spec.length >= 16384 && 10 * rows < 4 * ROOM;
        ck_assert_msg((rs_kernel_regime(&kernels.geometry, kernel) == ROWSCAN_REGIME_LONG) == cut,
                      "spec %zu, length %lld, %lld rows: kernel %d", s, (long long)spec.length, (long long)rows,
                      (int)kernel);
      }
    }
}
END_TEST

/*
 * A program for any number of rows has the kernels that its runs ask for, and no others; but rows on 16 bytes for which
 * there is room at once whenever they are cut have both of the kernels for them. peak_gbs: of the device.
 */
static void check_kernels(rowscan_spec spec, int arch, double peak_gbs) {
  static const int64_t rows[] = {1, 100, 307, 409, 410, 818, 820, 1024, 4 * 1024, 5 * 1024, 1 << 20};
  rs_kernels kernels;
  open_kernels(&kernels, &spec, arch, peak_gbs);
  const rs_shape *shape = kernels.geometry.shape;
  bool asked[RS_KERNELS] = {false};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int lead = 0; lead < 2; lead++)
      for (int step = 1; step < 3; step++) {
        given g = {.length = spec.length, .rows = rows[i], .in_lead = lead, .mask_lead = lead, .step = step};
        asked[chosen(&kernels, &g, 16 - spec.length % 16)] = true;
      }
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    ck_assert_msg(asked[kernel] == (shape[kernel].made_of != RS_TEMPLATE_NONE) ||
                      (kernel == RS_KERNEL_LONG_ALIGNED && !asked[kernel] && asked[RS_KERNEL_LONG_FEW]),
                  "kernel %d is %s: sm_%d, length %lld, %s to %s, mask mode %d", kernel,
                  asked[kernel] ? "missing" : "for no run", arch, (long long)spec.length,
                  rowscan_type_name(spec.in_type), rowscan_type_name(spec.out_type), (int)spec.mask_mode);
}

START_TEST(no_kernel_is_missing_or_idle) {
  static const int64_t lengths[] = {16384, 20001, 32767, 32768, 33000,   65532,
                                    65535, 65536, 65537, 65540, 1 << 20, 3000000000};
  static const int archs[] = {75, 80, 86, 90, 100, 120};
  multiprocessors = 1024; /* so that one row of any length that has such a kernel is few rows */
  for (int in = ROWSCAN_F16; in <= ROWSCAN_BOOL; in++)
    for (int out = ROWSCAN_F16; out < ROWSCAN_BOOL; out++)
      for (int mask = 0; mask < 3; mask++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
          rowscan_spec spec = {.size = sizeof spec,
                               .in_type = (rowscan_type)in,
                               .out_type = (rowscan_type)out,
                               .mask_mode = (rowscan_mask_mode)mask,
                               .mask_type = (rowscan_type)in,
                               .length = lengths[i]};
          rowscan_spec complete = spec;
          for (int arch = 0; arch < 6 && rowscan_spec_complete(&complete) == ROWSCAN_OK; arch++)
            for (int slow = 0; slow < 2; slow++)
              check_kernels(spec, archs[arch], slow ? 3352 : 4917);
        }
}
END_TEST

/* What a captured run takes of a program's scratch memory, counted by hand: words of the state, and of a node for each
 * tile and each group of 32. */
START_TEST(a_run_needs_what_its_rows_do) {
  static const struct {
    rowscan_type type;
    int64_t length, rows;
    rs_kernel kernel;
    int64_t words;
  } runs[] = {{ROWSCAN_F32, 1 << 20, 1, RS_KERNEL_LONG_ALIGNED, 1 + 128 + 4},
              {ROWSCAN_F32, 1 << 20, 64, RS_KERNEL_LONG_ALIGNED, 1 + 64 * (128 + 4)},
              {ROWSCAN_F32, 1 << 20, 512, RS_KERNEL_LONG_ALIGNED, 1 + 512 * (128 + 4)},
              {ROWSCAN_F32, 1 << 20, 100000, RS_KERNEL_LONG_ALIGNED, 1 + 512 * (128 + 4)}, /* in several launches */
              {ROWSCAN_F32, 65536, 3, RS_KERNEL_LONG_ALIGNED, 1 + 3 * 8},
              {ROWSCAN_F32, 65536, 3, RS_KERNEL_LONG_FEW, 32 + 3 * 16},
              {ROWSCAN_F64, 65536, 3, RS_KERNEL_LONG_ALIGNED, 1 + 2 * 3 * 16}};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    rowscan_spec spec = {.in_type = runs[i].type, .length = runs[i].length};
    rs_kernels kernels;
    open_kernels(&kernels, &spec, 90, 0);
    size_t needs = rs_kernels_launch(&kernels, runs[i].kernel, kernels.spec->length, runs[i].rows).workspace;
    ck_assert_msg(needs == 8 * (size_t)runs[i].words, "run %zu needs %zu, not %zu", i, needs,
                  8 * (size_t)runs[i].words);
    ck_assert_uint_le(needs, kernels.scratch);
  }
}
END_TEST

/* ---- universal kernels ------------------------------------------------------------------------------------------- */

/* Of sums of bytes, `outer` x 2 x `width` along dimension 1, or rows of `length` if that is not 0. */
static rs_universal_cut share(rs_terms *terms, int64_t outer, int64_t width, int64_t length) {
  rowscan_spec spec = {.size = sizeof spec, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_U8, .length = 2}, own;
  rs_rows rows = {.rank = 2, .shape = {outer, width}, .count = outer * width, .length = 2}, told;
  for (int a = RS_IN; a <= RS_OUT; a++)
    rows.array[a] = (rs_operand){.data = (void *)4096, .bytes = 1, .step = width, .stride = {2 * width, 1}};
  if (length) {
    spec.length = rows.length = length;
    for (int a = RS_IN; a <= RS_OUT; a++)
      rows.array[a] = (rs_operand){.data = (void *)4096, .bytes = 1, .step = 1, .stride = {width * length, length}};
  }
  ck_assert(!rowscan_spec_complete(&spec) && rs_universal_spec(&spec, &own));
  ck_assert_int_eq(rs_universal_rows(&told, terms, &rows, &spec, 0), 1);
  rs_geometry geometry = rs_tune(&own, 90);
  rs_shape shape = geometry.shape[RS_KERNEL_ANY];
  shape.multiprocessors = 132;
  return rs_universal_share(terms, &told, &shape, &own);
}

/* One binary serves all GPUs of a generation, of which some have little shared memory for a block. */
START_TEST(universal_kernels_fit_all_gpus) {
  enum { LEAST = 48 * 1024 };
  rowscan_spec specs[RS_MOST_UNIVERSAL];
  int count = rs_universal_all(specs);
  for (int i = 0; i < count; i++)
    ck_assert_int_le(rs_tune(&specs[i], 80).shape[RS_KERNEL_ANY].shared_bytes, LEAST);
}
END_TEST

START_TEST(universal_kernels_share_rows) {
  static const struct {
    int64_t outer, width, length;
  } given[] = {{1, 2149580800, 0}, {3, 33, 0}, {1, INT64_C(1) << 33, 0}, {100, 7, 0}, {1, 1, 1 << 28},
               {1000000, 1, 7},    {1, 1, 5},  {2, 1, INT64_C(1) << 40}};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    rs_terms terms;
    rs_universal_cut cut = share(&terms, given[i].outer, given[i].width, given[i].length);
    int64_t groups = terms.units / terms.pieces, rows = given[i].outer * given[i].width;
    ck_assert_int_eq(cut.blocks, terms.units);
    ck_assert_int_le(cut.shared, 48 * 1024);
    ck_assert_int_ge(groups * terms.rows_of_group, rows);
    if (terms.groups_of_width) {
      ck_assert_int_eq(terms.width, given[i].width);
      ck_assert_int_eq(groups, given[i].outer * terms.groups_of_width);
    }
    ck_assert_int_ge(terms.pieces * terms.piece, given[i].length ? given[i].length : 2);
    ck_assert((cut.workspace != 0) == (terms.pieces > 1));
  }
}
END_TEST

int main(void) {
  lot_tell();
  Suite *suite = suite_create("launch");
  TCase *cases = tcase_create("all");
  tcase_add_loop_test(cases, choices, 0, sizeof all / sizeof *all);
  tcase_add_loop_test(cases, other_choices, 0, sizeof others / sizeof *others);
  lot_add_test(cases, choices_beside_tiles);
  lot_add_loop_test(cases, no_kernel_is_missing_or_idle, 0, 1);
  lot_add_test(cases, a_run_needs_what_its_rows_do);
  tcase_add_test(cases, universal_kernels_fit_all_gpus);
  tcase_add_test(cases, universal_kernels_share_rows);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
