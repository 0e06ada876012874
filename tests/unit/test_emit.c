/*
 * test_emit.c - the generated sources, letter for letter, and the geometry behind them
 * SPDX-License-Identifier: MIT
 *
 * tests/golden/sources.txt has a digest of the sources of each spec below, and three files beside it show them whole:
 * to a reader what rowscan compiles, to a reviewer what a change does to it. A source that differs from its digest is
 * written to NAME.cu in the current directory. After a change that is meant: RS_GOLDEN_UPDATE=1 tests/unit/test_emit
 * (`make golden`) writes all of them anew. RS_QUICK=1: fewer lengths.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/lot.h"
#include "../support/quick.h"
#include "../support/run_tests.h"
#include "compile/digest.h"
#include "family/candidates.h"
#include "family/column_cuts.h"
#include "family/tune.h"
#include "spec/arch.h"

static const struct {
  const char *name;
  rowscan_spec spec;
  int arch;
} golden[] = {
    {"auto_f32_32768", {.length = 32768}, 90},
    {"auto_f32_32768_sm75", {.length = 32768}, 75},
    {"any_f32", {.length = ROWSCAN_ANY_LENGTH}, 90},
    {"auto_f32_1000000", {.length = 1000000}, 90},
    {"long_f64_65536", {.in_type = ROWSCAN_F64, .length = 65536, .regime = ROWSCAN_REGIME_LONG}, 90},
    {"auto_masked_bf16_50257",
     {.in_type = ROWSCAN_BF16,
      .mask_mode = ROWSCAN_MASK_SELECT,
      .length = 50257,
      .flags = ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE},
     90},
    {"row_bool_i64_4096", {.in_type = ROWSCAN_BOOL, .length = 4096}, 90},
    {"short_i32_7", {.in_type = ROWSCAN_I32, .out_type = ROWSCAN_I32, .length = 7}, 90},
    {"column_prod_f64_1000",
     {.op = ROWSCAN_PROD, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .length = 1000},
     90},
    {"column_f32_1000000", {.layout = ROWSCAN_LAYOUT_COLUMNS, .length = 1000000}, 90},
    {"gae_f32_1000",
     {.op = ROWSCAN_GAE,
      .flags = ROWSCAN_REVERSE,
      .length = 1000,
      .more_types = {ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_BOOL, ROWSCAN_BOOL},
      .second_type = ROWSCAN_F32},
     90},
    {"recurrence_in_segments_f32",
     {.op = ROWSCAN_LINEAR_RECURRENCE,
      .flags = ROWSCAN_EXCLUSIVE,
      .length = ROWSCAN_ANY_LENGTH,
      .layout = ROWSCAN_LAYOUT_COLUMNS,
      .segment_mode = ROWSCAN_MASK_TAILS},
     90},
    {"recurrence_masked_columns_f32",
     {.op = ROWSCAN_LINEAR_RECURRENCE,
      .mask_mode = ROWSCAN_MASK_SELECT,
      .length = 1000,
      .layout = ROWSCAN_LAYOUT_COLUMNS},
     90},
    {"recurrence_masked_f32",
     {.op = ROWSCAN_LINEAR_RECURRENCE,
      .mask_mode = ROWSCAN_MASK_SELECT,
      .length = 1000,
      .segment_mode = ROWSCAN_MASK_HEADS},
     90},
};

enum { GOLDEN = sizeof golden / sizeof *golden };

/* Whole, as tests/golden/NAME.cu: rows, columns, and further arrays. */
static bool is_shown(int i) {
  static const char *const shown[] = {"auto_f32_32768", "column_prod_f64_1000", "gae_f32_1000"};
  for (size_t j = 0; j < sizeof shown / sizeof *shown; j++)
    if (!strcmp(golden[i].name, shown[j]))
      return true;
  return false;
}

static void golden_path(char path[4096], const char *name) {
  const char *top = getenv("srcdir");
  snprintf(path, 4096, "%s/tests/golden/%s", top ? top : ".", name);
}

static char *read_file(const char *path) {
  static char text[16384];
  FILE *file = fopen(path, "r");
  ck_assert_msg(file != NULL, "%s can't be read", path);
  size_t length = fread(text, 1, sizeof text - 1, file);
  text[length] = 0;
  fclose(file);
  return text;
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  ck_assert_msg(file != NULL, "%s can't be written", path);
  fputs(text, file);
  fclose(file);
}

/* Of all kernels, one after another. */
static void emit_all(const rowscan_spec *spec, const rs_geometry *geometry, rs_text *text) {
  for (int i = 0; i < rs_geometry_kernels(geometry); i++) {
    rs_text_add(text, "%s", i ? "\n" : "");
    rs_emit(spec, geometry, rs_geometry_kernel(geometry, i), text);
  }
}

/* The sources of golden[i]; to be freed. */
static rs_text golden_source(int i) {
  rowscan_spec spec = golden[i].spec;
  spec.size = sizeof spec;
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  rs_geometry geometry = rs_tune(&spec, golden[i].arch);
  rs_text source = {0};
  emit_all(&spec, &geometry, &source);
  return source;
}

/* The line of sources.txt that golden[i] has with this source. */
static void golden_line(char line[128], int i, const rs_text *source) {
  char digest[RS_DIGEST_ROOM];
  rs_digest(digest, source->data, strlen(source->data));
  snprintf(line, 128, "\n%s sm_%d %s\n", golden[i].name, golden[i].arch, digest);
}

START_TEST(golden_is_written) {
  char path[4096], line[128], name[64];
  rs_text all = {0};
  rs_text_add(&all,
              "# sources.txt - digests (XXH3-128) of the sources of specs in tests/unit/test_emit.c. `make golden` "
              "writes it.\n# SPDX-License-Identifier: MIT\n");
  for (int i = 0; i < GOLDEN; i++) {
    rs_text source = golden_source(i);
    golden_line(line, i, &source);
    rs_text_add(&all, "%s", line + 1);
    snprintf(name, sizeof name, "%s.cu", golden[i].name);
    golden_path(path, name);
    if (is_shown(i))
      write_file(path, source.data);
    rs_text_free(&source);
  }
  golden_path(path, "sources.txt");
  write_file(path, all.data);
  rs_text_free(&all);
}
END_TEST

START_TEST(golden_sources) {
  char path[4096], line[128], name[64];
  rs_text source = golden_source(_i);
  snprintf(name, sizeof name, "%s.cu", golden[_i].name);
  golden_line(line, _i, &source);
  golden_path(path, "sources.txt");
  bool same = strstr(read_file(path), line) != NULL;
  golden_path(path, name);
  if (is_shown(_i))
    same = same && !strcmp(source.data, read_file(path));
  if (!same)
    write_file(name, source.data); /* too long for a message */
  rs_text_free(&source);
  ck_assert_msg(same, "%s has another source than tests/golden says, which is now in %s", golden[_i].name, name);
}
END_TEST

START_TEST(golden_files) {
  char path[4096];
  golden_path(path, "sources.txt");
  int lines = -2; /* of comments */
  for (const char *at = read_file(path); *at; at++)
    lines += *at == '\n';
  ck_assert_int_eq(lines, GOLDEN);
}
END_TEST

static bool power(int n) {
  return n > 0 && (n & (n - 1)) == 0;
}

/* Threads that a multiprocessor holds, of the architectures below. */
static int threads_of(int arch) {
  static const int most[][2] = {{75, 1024},  {80, 2048},  {86, 1536},  {87, 1536},  {89, 1536}, {90, 2048},
                                {100, 2048}, {103, 2048}, {110, 1536}, {120, 1536}, {121, 1536}};
  for (size_t i = 0; i < sizeof most / sizeof *most; i++)
    if (most[i][0] == arch)
      return most[i][1];
  ck_abort_msg("sm_%d is not listed", arch);
}

/* Launch bounds that the chip can keep. */
static void check_blocks(int arch, const rs_shape *s) {
  ck_assert_int_ge(s->min_blocks, 1);
  ck_assert_int_le(s->min_blocks * s->threads, threads_of(arch));
}

static void check_shape(const rowscan_spec *spec, int arch, const rs_shape *s) {
  ck_assert_int_ge(s->threads, 32);
  ck_assert_int_le(s->threads, 1024);
  ck_assert_int_eq(s->threads % 32, 0);
  check_blocks(arch, s);
  bool small = arch == 86 || arch == 89 || arch >= 120;
  int room = (small ? 99 : arch >= 90 ? 227 : arch >= 80 ? 163 : 64) * 1024;
  /* for its registers alone; regime columns says the most that a launch may ask for */
  bool registers = s->made_of == RS_TEMPLATE_SLAB || s->made_of == RS_TEMPLATE_COLUMNS ||
                   s->made_of == RS_TEMPLATE_SHORT_COLUMNS || s->made_of == RS_TEMPLATE_ASKEW ||
                   s->made_of == RS_TEMPLATE_RING_COLUMNS;
  int together = registers ? 1 : s->min_blocks;
  ck_assert_int_le(together * (s->shared_bytes + 1024), room + 1024);
  if (s->made_of == RS_TEMPLATE_ASKEW) {
    ck_assert_int_eq(s->width, 32);
    ck_assert(power(s->vector) && s->vector <= 16 / (int)rowscan_type_bytes(spec->in_type));
    ck_assert_int_le(s->vector, 16 / (int)rowscan_type_bytes(spec->out_type));
  }
  if (s->made_of == RS_TEMPLATE_COLUMNS || s->made_of == RS_TEMPLATE_WIDE || s->made_of == RS_TEMPLATE_ASKEW ||
      s->made_of == RS_TEMPLATE_SHORT_COLUMNS) {
    ck_assert(power(s->steps));
    return;
  }
  if (s->made_of == RS_TEMPLATE_COLUMNS_AT_ONCE) {
    ck_assert(power(s->steps) && s->steps <= RS_AT_ONCE_STEPS && s->threads % 32 == 0);
    ck_assert_int_ge(s->rows, 2);
    ck_assert_int_le(spec->length, (int64_t)s->rows * RS_AT_ONCE_SEGMENTS * s->steps);
    return;
  }
  if (s->made_of == RS_TEMPLATE_RING_COLUMNS) {
    ck_assert_int_ge(arch, 90);
    ck_assert(power(s->steps) && s->steps <= 32);
    ck_assert_int_ge(s->stages, 2);
    return;
  }
  if (s->made_of == RS_TEMPLATE_STREAM_COLUMNS) {
    ck_assert_int_ge(arch, 90);
    ck_assert_int_eq(s->threads, 32 * s->warps);
    ck_assert(power(s->steps) && s->steps >= 16);
    return;
  }
  if (s->made_of == RS_TEMPLATE_SLAB) {
    ck_assert(power(s->lanes) && power(s->vector) && power(s->word));
    ck_assert_int_ge(s->rows, 1);
    ck_assert_int_eq(spec->length % s->word, 0);
    return;
  }
  ck_assert(power(s->warps) && power(s->chunks) && power(s->lanes) && power(s->vector));
  ck_assert_int_le(s->lanes, 32);
  int64_t tiles = (spec->length + rs_tile(s) - 1) / rs_tile(s);
  switch (rs_template_kind(s->made_of)) {
  case RS_TEMPLATE_ROW_STREAM:
  case RS_TEMPLATE_STREAM_TUPLES:
    ck_assert_int_ge(arch, 90);
    ck_assert_int_eq(s->threads, 32 * (s->warps + s->reducers + 2));
    ck_assert_int_ge(s->stages, 2);
    ck_assert_int_eq(s->lanes, 32);
    ck_assert_int_le(s->chunks, 32);
    break;
  case RS_TEMPLATE_GATHER:
    ck_assert_int_ge(arch, 90);
    ck_assert_int_eq(s->threads, 32 * s->warps);
    ck_assert_int_eq(s->shared_bytes,
                     rs_tile(s) * (int)(2 * rowscan_type_bytes(spec->in_type) + rowscan_type_bytes(spec->out_type)));
    ck_assert(!spec->mask_mode && rowscan_type_bytes(spec->in_type) >= 4);
    break;
  case RS_TEMPLATE_ROW_RING:
    ck_assert_int_ge(arch, 90);
    ck_assert_int_ge(s->warps, 2); /* the barrier between warps is what frees a stage */
    ck_assert_int_le(s->stages, tiles);
    ck_assert(s->buffers == 2 || s->buffers == (tiles == 1 ? 1 : 4));
    ck_assert_int_eq(s->threads, 32 * s->warps);
    break;
  default:
    ck_assert(s->warps == 1 || (s->lanes == 32 && s->threads == 32 * s->warps));
  }
}

/* Integers accumulate in no fewer than 32 bits, however few the spec says. */
static void check_columns(const rowscan_spec *spec, int arch) {
  rs_shape of[RS_TEMPLATES];
  rs_tune_columns(spec, arch, of);
  int acc = rowscan_type_bytes(spec->acc_type) == 8 ? 8 : 4;
  ck_assert_int_eq(of[RS_TEMPLATE_COLUMNS].acc, acc);
  ck_assert(!of[RS_TEMPLATE_WIDE].made_of || of[RS_TEMPLATE_WIDE].acc == acc);
  ck_assert(!of[RS_TEMPLATE_STREAM_COLUMNS].made_of || !of[RS_TEMPLATE_SHORT_COLUMNS].made_of); /* one kernel's place */
}

/* Each of its regimes has what takes any rows, and no kernel is of another regime. (Of rows that either serves, those
 * of less than 32768 elements are cut only where streams serve them, or tiles serve all.) */
static void check_geometry(const rowscan_spec *spec, int arch, const rs_geometry *g) {
  bool cut = g->regime == ROWSCAN_REGIME_LONG || g->regime == ROWSCAN_REGIME_AUTO;
  bool tiles = g->shape[RS_KERNEL_LONG_ALIGNED].made_of == RS_TEMPLATE_TILES && g->shape[RS_KERNEL_DENSE].made_of;
  bool any = g->regime == ROWSCAN_REGIME_LONG || (cut && (spec->length >= 32768 || tiles));
  bool whole = g->regime != ROWSCAN_REGIME_LONG;
  ck_assert_int_eq(whole, g->shape[RS_KERNEL_ANY].made_of != RS_TEMPLATE_NONE);
  ck_assert_int_eq(any, g->shape[RS_KERNEL_LONG_ANY].made_of != RS_TEMPLATE_NONE);
  int kernels = 0;
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    if (g->shape[kernel].made_of) {
      check_shape(spec, arch, &g->shape[kernel]);
      ck_assert(kernel < RS_KERNEL_LONG_ANY ? whole : cut);
      kernels++;
    }
  unsigned numbered = 0;
  ck_assert_int_eq(rs_geometry_kernels(g), kernels);
  for (int i = 0; i < kernels; i++) {
    rs_kernel kernel = rs_geometry_kernel(g, i);
    ck_assert(g->shape[kernel].made_of && !(numbered & 1u << kernel));
    numbered |= 1u << kernel;
  }
}

/* The same spec along columns. */
static void check_columns_blocks(const rowscan_spec *of_rows, int arch) {
  rowscan_spec spec = *of_rows;
  spec.layout = ROWSCAN_LAYOUT_COLUMNS;
  rs_geometry geometry = rs_tune(&spec, arch);
  for (int kernel = 0; kernel < RS_KERNELS; kernel++)
    if (geometry.shape[kernel].made_of)
      check_blocks(arch, &geometry.shape[kernel]);
}

/* Whatever is asked, the geometry keeps to what the kernels and the chip demand. */
START_TEST(every_geometry_is_sound) {
  static const int archs[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};
  int step = is_quick() ? 32 : 4;
  for (size_t arch = 0; arch < sizeof archs / sizeof *archs; arch++)
    for (int in = ROWSCAN_F16; in <= ROWSCAN_BOOL; in++)
      for (int out = ROWSCAN_F16; out < ROWSCAN_BOOL; out++)
        for (int mask = 0; mask < 3; mask++)
          for (int64_t length = 0; length <= RS_MAX_LENGTH; length = length * step + 1) {
            rowscan_spec spec = {.size = sizeof spec,
                                 .in_type = (rowscan_type)in,
                                 .out_type = (rowscan_type)out,
                                 .mask_mode = (rowscan_mask_mode)mask,
                                 .mask_type = (rowscan_type)in,
                                 .length = length};
            if (rowscan_spec_complete(&spec))
              continue;
            if (length)
              check_columns(&spec, archs[arch]);
            rs_geometry geometry = rs_tune(&spec, archs[arch]);
            if (length < 2048 || length >= 32768) /* between these few rows of many bytes may be cut */
              ck_assert_int_eq(length >= 32768, geometry.regime == ROWSCAN_REGIME_AUTO);
            check_geometry(&spec, archs[arch], &geometry);
            check_columns_blocks(&spec, archs[arch]);
          }
}
END_TEST

START_TEST(forced_regimes) {
  for (int regime = ROWSCAN_REGIME_ROW; regime <= ROWSCAN_REGIME_COLUMN; regime++)
    for (int i = 0; i <= 112; i++) { /* 1, 1, 2, 3, 4, 7, 8, 15, 16, ... RS_MAX_LENGTH */
      int64_t length = (INT64_C(1) << (i + 1) / 2) - i % 2;
      rowscan_spec spec = {.size = sizeof spec, .length = length, .regime = (rowscan_regime)regime};
      ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
      rs_geometry geometry = rs_tune(&spec, 90);
      ck_assert_int_eq(geometry.regime, regime);
      check_geometry(&spec, 90, &geometry);
    }
}
END_TEST

/* Of rows whose ring has up to three blocks of 8 warps, two where three don't fit and two do. */
START_TEST(two_blocks_are_tried_after_three) {
  static const int archs[] = {90, 100, 110, 120, 121};
  const int system = 1024 + 512;
  int seen[4] = {0};
  for (size_t arch = 0; arch < sizeof archs / sizeof *archs; arch++)
    for (int in = ROWSCAN_F16; in < ROWSCAN_BOOL; in++)
      for (int mask = 0; mask < 2; mask++)
        for (int64_t length = 1024; length <= 16384; length += 1024) {
          rowscan_spec spec = {.size = sizeof spec,
                               .in_type = (rowscan_type)in,
                               .out_type = (rowscan_type)in,
                               .mask_mode = mask ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE,
                               .mask_type = (rowscan_type)(mask ? in : ROWSCAN_TYPE_DEFAULT),
                               .length = length};
          ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
          const rs_shape s = rs_tune(&spec, archs[arch]).shape[RS_KERNEL_ALIGNED];
          if (s.made_of != RS_TEMPLATE_ROW_RING || s.warps != 8 || s.chunks != 4 ||
              rs_spec_register_bytes(&spec) == 8 || rowscan_type_bytes(spec.in_type) == 1)
            continue;
          int64_t tile = rs_tile(&s) * (int64_t)rowscan_type_bytes(spec.in_type), stages = length > rs_tile(&s) ? 2 : 1;
          int64_t least = system + tile * (stages * (1 + mask) + s.buffers);
          if (2 * least <= (archs[arch] >= 120 ? 99 : 227) * 1024)
            ck_assert_int_ge(s.min_blocks, 2);
          seen[s.min_blocks]++;
        }
  ck_assert(seen[1] && seen[2] && seen[3]);
  rowscan_spec spec = {.size = sizeof spec, .length = 4096};
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  ck_assert_int_eq(rs_tune(&spec, 120).shape[RS_KERNEL_ALIGNED].min_blocks, 2);
}
END_TEST

/* Where the measured candidates have no room, a smaller one has; and a type that is in no table has one that fits. */
START_TEST(smaller_candidates_are_found) {
  static const rowscan_type types[] = {ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_BF16, ROWSCAN_I8, ROWSCAN_BOOL};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    for (int mask = 0; mask < 2; mask++) {
      rowscan_spec spec = {.size = sizeof spec, .in_type = types[i], .length = 1000001};
      spec.mask_mode = mask ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE;
      ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
      const rs_shape large = rs_tune(&spec, 90).shape[RS_KERNEL_LONG_DENSE];
      const rs_shape small = rs_tune(&spec, 120).shape[RS_KERNEL_LONG_DENSE];
      ck_assert(large.made_of == RS_TEMPLATE_ROW_STREAM && !large.words);
      ck_assert(small.made_of == RS_TEMPLATE_ROW_STREAM && !small.words);
      ck_assert_int_le(rs_tile(&small), rs_tile(&large));
      ck_assert_int_le(small.shared_bytes, 99 * 1024);
    }
}
END_TEST

/* An H100, an H200, and a device that does not tell. */
START_TEST(slow_memory) {
  static const struct {
    rowscan_type in, out;
    int arch;
    double peak_gbs;
    bool alone;
  } given[] = {{ROWSCAN_BOOL, ROWSCAN_I64, 90, 3352, true}, {ROWSCAN_BOOL, ROWSCAN_I64, 90, 4917, false},
               {ROWSCAN_BOOL, ROWSCAN_I64, 90, 0, false},   {ROWSCAN_I8, ROWSCAN_I32, 90, 3352, false},
               {ROWSCAN_I64, ROWSCAN_I64, 90, 3352, false}, {ROWSCAN_BOOL, ROWSCAN_I64, 100, 3352, false},
               {ROWSCAN_I16, ROWSCAN_I64, 90, 3352, true},  {ROWSCAN_I8, ROWSCAN_I32, 90, 4917, false},
               {ROWSCAN_I8, ROWSCAN_I32, 90, 0, false},     {ROWSCAN_I8, ROWSCAN_I32, 100, 3352, false}};
  rowscan_spec spec = {.size = sizeof spec, .in_type = given[_i].in, .out_type = given[_i].out, .length = 32768};
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  rs_geometry before = rs_tune(&spec, given[_i].arch), after = before;
  rs_tune_device(&after, &spec, given[_i].arch, given[_i].peak_gbs);
  const int multiprocessor = 228 * 1024, system = 1024;
  bool two = given[_i].in == ROWSCAN_I8 && given[_i].arch == 90, slow = given[_i].peak_gbs == 3352;
  rs_kernel kept = two && slow ? RS_KERNEL_ALIGNED_SLOW : RS_KERNEL_ALIGNED;
  const rs_shape *ring = &after.shape[kept];
  ck_assert(ring->made_of == RS_TEMPLATE_ROW_RING && ring->words);
  ck_assert_int_eq(two, before.shape[RS_KERNEL_ALIGNED_SLOW].made_of == RS_TEMPLATE_ROW_RING);
  static const int64_t too_short[] = {20000, 24576, 32752, 36864}, enough[] = {32768, 40960, 45056};
  for (int i = 0; i < 4 + 3; i++) {
    rowscan_spec other = spec;
    other.length = i < 4 ? too_short[i] : enough[i - 4];
    rs_geometry of = rs_tune(&other, given[_i].arch);
    ck_assert_int_eq(two && i >= 4, of.shape[RS_KERNEL_ALIGNED_SLOW].made_of == RS_TEMPLATE_ROW_RING);
  }
  ck_assert_int_eq(rs_geometry_kernels(&after), rs_geometry_kernels(&before) - two);
  ck_assert_int_eq(rs_geometry_kernel(&before, 0), RS_KERNEL_ALIGNED);
  ck_assert_int_eq(rs_geometry_kernel(&after, 0), kept);
  ck_assert_int_eq(given[_i].alone, 2 * (ring->shared_bytes + system) > multiprocessor && ring->min_blocks == 2);
  ck_assert_int_le(ring->shared_bytes, multiprocessor - system);
  rs_text source = {0}, same = {0}; /* neither the source nor the key */
  for (int i = 0; i < rs_geometry_kernels(&after); i++) {
    rs_kernel kernel = rs_geometry_kernel(&after, i);
    rs_emit(&spec, &before, kernel, &source);
    rs_kernel_text(&before, kernel, &source);
    rs_emit(&spec, &after, kernel, &same);
    rs_kernel_text(&after, kernel, &same);
  }
  ck_assert_str_eq(source.data, same.data);
  rs_text_free(&source);
  rs_text_free(&same);
}
END_TEST

/* _i: input and output. Kernels for any length fit every architecture that they serve, and take rows of 2^30 elements
 * and more, but for those that leave such rows to another. */
START_TEST(any_length) {
  static const int archs[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};
  for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
    for (int layout = 0; layout < 2; layout++)
      for (int mask = 0; mask < 3; mask++) {
        rowscan_spec spec = {.size = sizeof spec,
                             .in_type = (rowscan_type)(1 + _i / ROWSCAN_BOOL),
                             .out_type = (rowscan_type)(1 + _i % ROWSCAN_BOOL),
                             .mask_mode = (rowscan_mask_mode)mask,
                             .layout = (rowscan_layout)layout,
                             .length = ROWSCAN_ANY_LENGTH};
        if (rowscan_spec_complete(&spec))
          continue;
        rs_geometry g = rs_tune(&spec, rs_arch_generation(archs[i])); /* of which fewer blocks may fit */
        int64_t most = 0;
        for (int kernel = 0; kernel < RS_KERNELS; kernel++)
          if (g.shape[kernel].made_of) {
            check_shape(&spec, rs_arch_generation(archs[i]), &g.shape[kernel]);
            ck_assert_int_le(g.shape[kernel].shared_bytes, rs_arch_shared_bytes(archs[i]) - 1024);
            ck_assert_int_gt(g.shape[kernel].tiles, 0);
            ck_assert_int_eq(g.shape[kernel].prefetch, 0);
            most = rs_larger(most, rs_most(&g.shape[kernel]));
          }
        ck_assert_int_ge(most, 1 << 30);
        ck_assert(g.shape[RS_KERNEL_ANY].made_of);
        ck_assert_int_eq(layout == 0, g.shape[RS_KERNEL_LONG_ANY].made_of == RS_TEMPLATE_TILES);
      }
}
END_TEST

/* One kernel for any length serves both, and so has one key and one source; an exact one does not. */
START_TEST(inclusive_and_exclusive) {
  for (int any = 0; any < 2; any++)
    for (int layout = 0; layout < 2; layout++) {
      rs_text text[2] = {{0}, {0}};
      for (int exclusive = 0; exclusive < 2; exclusive++) {
        rowscan_spec spec = {.size = sizeof spec,
                             .flags = exclusive ? ROWSCAN_EXCLUSIVE | ROWSCAN_REVERSE : ROWSCAN_REVERSE,
                             .layout = (rowscan_layout)layout,
                             .length = any ? ROWSCAN_ANY_LENGTH : 1000};
        ck_assert(!rowscan_spec_complete(&spec));
        rs_geometry g = rs_tune(&spec, 90);
        for (int i = 0; i < rs_geometry_kernels(&g); i++) {
          rs_kernel_canonical(&spec, &g, rs_geometry_kernel(&g, i), &text[exclusive]);
          rs_emit(&spec, &g, rs_geometry_kernel(&g, i), &text[exclusive]);
        }
        ck_assert(strstr(text[exclusive].data, "reverse=1"));
      }
      ck_assert_int_eq(!strcmp(text[0].data, text[1].data), any);
      rs_text_free(&text[0]);
      rs_text_free(&text[1]);
    }
}
END_TEST

START_TEST(architectures_in_common) {
  static const int pairs[][2] = {{75, 75},   {80, 80},   {86, 80},   {87, 87},   {88, 88},   {89, 80},   {90, 90},
                                 {100, 100}, {103, 100}, {110, 110}, {120, 120}, {121, 120}, {130, 120}, {200, 120}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    ck_assert_int_eq(rs_arch_generation(pairs[i][0]), pairs[i][1]);
}
END_TEST

int main(void) {
  lot_tell();
  Suite *suite = suite_create("emit");
  TCase *all = tcase_create("all");
  tcase_set_timeout(all, 120); /* machines are shared */
  if (getenv("RS_GOLDEN_UPDATE"))
    tcase_add_test(all, golden_is_written);
  tcase_add_loop_test(all, golden_sources, 0, GOLDEN);
  tcase_add_test(all, golden_files);
  tcase_add_loop_test(all, any_length, 0, ROWSCAN_BOOL * ROWSCAN_BOOL);
  tcase_add_test(all, inclusive_and_exclusive);
  tcase_add_test(all, architectures_in_common);
  lot_add_loop_test(all, every_geometry_is_sound, 0, 1);
  tcase_add_test(all, forced_regimes);
  tcase_add_test(all, two_blocks_are_tried_after_three);
  tcase_add_test(all, smaller_candidates_are_found);
  tcase_add_loop_test(all, slow_memory, 0, 10);
  suite_add_tcase(suite, all);
  return run_tests(suite);
}
