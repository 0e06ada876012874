/*
 * test_short.c - regime short on a GPU, real or simulated: shapes and kernels together, against the judge
 * SPDX-License-Identifier: MIT
 *
 * Below the library: kernels are compiled several in a module and launched with the shapes that the tuner gives them,
 * so that every length up to 300 meets any alignment of its arrays, a last slab cut short, and every variant. Arrays
 * lie between guards; results begin poisoned. A length's case is the same in every run. RS_QUICK=1: a part of the
 * lengths.
 */
#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/judge.h"
#include "../support/lot.h"
#include "../support/quick.h"
#include "../support/run_tests.h"
#include "any_op.h"
#include "base/text.h"
#include "compile/compile.h"
#include "data.h"
#include "family/candidates.h"
#include "family/tune.h"
#include "gpu/cuda.h"
#include "gpu/packed.h"
#include "spec/types.h"

/* ---- the device -------------------------------------------------------------------------------------------------- */

static const rs_cuda *cuda;
static rs_nvrtc *nvrtc;
static CUcontext context;

#define OK(call) ck_assert_msg(!(call), "%s: %s", #call, rowscan_last_error())

static int open_device(void) {
  static const rs_log no_log;
  int major, minor;
  OK(rs_cuda_open(&cuda));
  OK(cuda->cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuda->cuCtxPushCurrent_v2(context));
  OK(cuda->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  OK(cuda->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
  nvrtc = rs_nvrtc_open(NULL, &no_log);
  ck_assert_ptr_nonnull(nvrtc);
  return 10 * major + minor;
}

static void close_device(void) {
  rs_nvrtc_close(nvrtc);
  OK(cuda->cuCtxPopCurrent_v2(&context));
  OK(cuda->cuDevicePrimaryCtxRelease_v2(0));
}

/* ---- kernels, several in a module -------------------------------------------------------------------------------- */

typedef struct shape_kernel {
  rowscan_spec spec;
  rs_shape shape;
  CUfunction function;
} shape_kernel;

enum { MOST_KERNELS = 32 };
static shape_kernel kernels[MOST_KERNELS];
static int kernel_count;
static CUmodule module;

/* The kernels that a spec has. */
static void add_kernels(const rowscan_spec *spec, int arch) {
  rs_shape shape;
  for (int words = 0; words < 2; words++)
    if (rs_tune_slab(spec, arch, words, &shape)) {
      ck_assert_int_lt(kernel_count, MOST_KERNELS);
      kernels[kernel_count++] = (shape_kernel){*spec, shape, NULL};
    }
}

static bool in_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* Adds a text in which a word has another name. */
static void add_renamed(rs_text *to, const char *text, const char *word, const char *name) {
  size_t length = strlen(word);
  for (const char *at = text; *at;) {
    bool begins = at == text || !in_word(at[-1]);
    if (begins && strncmp(at, word, length) == 0 && !in_word(at[length])) {
      rs_text_add(to, "%s", name);
      at += length;
    } else {
      rs_text_append(to, at++, 1);
    }
  }
}

/* The kernel as the library emits it, with names of its own in a source that has several. */
static void emit_kernel(const shape_kernel *kernel, int number, rs_text *source) {
  const rs_shape *h = &kernel->shape;
  rs_geometry geometry = {.regime = ROWSCAN_REGIME_SHORT};
  geometry.shape[RS_KERNEL_DENSE] = *h;
  rs_text emitted = {0}, named = {0};
  char problem[32], symbol[32];
  snprintf(problem, sizeof problem, "P%d", number);
  snprintf(symbol, sizeof symbol, "kernel%d", number);
  rs_emit(&kernel->spec, &geometry, RS_KERNEL_DENSE, &emitted);
  add_renamed(&named, emitted.data, "P", problem);
  add_renamed(source, named.data, rs_kernel_symbol(RS_KERNEL_DENSE), symbol);
  rs_text_add(source,
              "static_assert(SharedRows<P%d, SlabShape<%d, %d, %d, %d, %d>>::Memory::bytes(%lld) <= %d, \"\");\n",
              number, h->rows, h->threads, h->lanes, h->vector, h->word, (long long)(h->rows * kernel->spec.length),
              h->shared_bytes);
  rs_text_free(&emitted);
  rs_text_free(&named);
}

static void emit(rs_text *source) {
  for (int k = 0; k < kernel_count; k++)
    emit_kernel(&kernels[k], k, source);
}

static void build(int arch) {
  rs_text source = {0};
  rs_compiled compiled;
  emit(&source);
  OK(rs_compile(nvrtc, source.data, arch, &compiled));
  ck_assert_int_eq(compiled.facts.spill_bytes, 0);
  OK(cuda->cuModuleLoadData(&module, compiled.cubin));
  rs_compiled_free(&compiled);
  rs_text_free(&source);
  for (int k = 0; k < kernel_count; k++) {
    char name[32];
    snprintf(name, sizeof name, "kernel%d", k);
    OK(cuda->cuModuleGetFunction(&kernels[k].function, module, name));
  }
}

static void unload(void) {
  OK(cuda->cuModuleUnload(module));
  kernel_count = 0;
}

/* ---- a run, compared --------------------------------------------------------------------------------------------- */

enum { GUARD = 64 };
static const unsigned char POISON = 0xC3;

typedef struct array {
  size_t bytes, lead; /* room, and bytes before the first element */
  unsigned char *host;
  CUdeviceptr device;
} array;

static array array_of(size_t elements, rowscan_type type, int offset) {
  size_t size = rowscan_type_bytes(type);
  array a = {.lead = GUARD + (size_t)offset * size};
  a.bytes = a.lead + elements * size + GUARD;
  a.host = malloc(a.bytes);
  memset(a.host, POISON, a.bytes);
  OK(cuda->cuMemAlloc_v2(&a.device, a.bytes));
  return a;
}
static void send(const array *a) {
  OK(cuda->cuMemcpyHtoDAsync_v2(a->device, a->host, a->bytes, NULL));
}
static void drop(array *a) {
  if (a->host)
    OK(cuda->cuMemFree_v2(a->device));
  free(a->host);
}
/* The array as it is on the device must be what the judge made of the host's. */
static void compare(const array *a, rowscan_type type, const char *what, const shape_kernel *k) {
  unsigned char *got = malloc(a->bytes);
  size_t size = rowscan_type_bytes(type);
  OK(cuda->cuMemcpyDtoHAsync_v2(got, a->device, a->bytes, NULL));
  OK(cuda->cuStreamSynchronize(NULL));
  for (size_t at = 0; at < a->bytes; at += size)
    if (at >= a->lead && at + size <= a->bytes - GUARD ? !judge_equal(type, got + at, a->host + at)
                                                       : memcmp(got + at, a->host + at, size) != 0) {
      rs_text text = {0};
      rs_spec_text(&k->spec, &text);
      ck_abort_msg("%s: element %ld differs (lead %zu); rows %d threads %d lanes %d vector %d word %d\n%s", what,
                   ((long)at - (long)a->lead) / (long)size, a->lead, k->shape.rows, k->shape.threads, k->shape.lanes,
                   k->shape.vector, k->shape.word, text.data);
    }
  free(got);
}

typedef struct variant {
  int64_t count;
  int in, out, mask; /* offsets in elements */
  bool init, totals, in_place, parts;
} variant;

static random_source source_of_data;

/* Rows from `first` to `end`. */
static void launch(const shape_kernel *k, rs_packed *args, int64_t first, int64_t end) {
  void *parameters[] = {args};
  int shared = k->shape.shared_bytes;
  args->head.first = first;
  args->head.count = end - first;
  unsigned blocks = (unsigned)((args->head.count + k->shape.rows - 1) / k->shape.rows);
  OK(cuda->cuFuncSetAttribute(k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared));
  if (blocks)
    OK(cuda->cuLaunchKernel(k->function, blocks, 1, 1, (unsigned)k->shape.threads, 1, 1, (unsigned)shared, NULL,
                            parameters, NULL));
}

/* NULL: there is none. */
static void *on_device(const array *a) {
  return a->host ? (void *)(uintptr_t)(a->device + a->lead) : NULL;
}

static void run(const shape_kernel *k, variant v) {
  const rowscan_spec *spec = &k->spec;
  int64_t length = spec->length;
  size_t elements = (size_t)(v.count * length);
  data_kind kind = (data_kind)random_below(&source_of_data, DATA_KINDS);
  array in = array_of(elements, spec->in_type, v.in), out = {0}, mask = {0}, init = {0}, totals = {0};
  data_elements(in.host + in.lead, spec->in_type, spec->op, kind, (int64_t)elements, length, &source_of_data);
  send(&in);
  rs_rows rows = {.count = v.count, .rank = spec->row_rank};
  rows.array[RS_IN].data = in.host + in.lead;
  for (int a = 0; a < RS_INIT; a++)
    rows.array[a].step = 1;
  unsigned char *copy = NULL;
  if (v.in_place) {
    copy = malloc(in.bytes);
    memcpy(copy, in.host, in.bytes);
    rows.array[RS_IN].data = copy + in.lead;
    rows.array[RS_OUT].data = in.host + in.lead;
  } else {
    out = array_of(elements, spec->out_type, v.out);
    send(&out);
    rows.array[RS_OUT].data = out.host + out.lead;
  }
  if (spec->mask_mode) {
    mask = array_of(elements, spec->mask_type, v.mask);
    if (spec->mask_mode == ROWSCAN_MASK_COEFFICIENT)
      data_elements(mask.host + mask.lead, spec->mask_type, ROWSCAN_PROD, DATA_GENTLE, (int64_t)elements, spec->length,
                    &source_of_data);
    else
      data_mask(mask.host + mask.lead, spec->mask_type, (int64_t)elements, &source_of_data);
    send(&mask);
    rows.array[RS_MASK].data = mask.host + mask.lead;
  }
  /* initial values lie two apart, last dimension first, or are those of several rows; totals lie three apart */
  int64_t inner = spec->row_rank == 2 ? 3 : 1, outer = v.count / inner, row_strides[RS_ARRAYS][2] = {{0}};
  size_t kept = (size_t)(3 * v.count);
  row_strides[RS_INIT][0] = 2;
  row_strides[RS_INIT][1] = random_one_in(&source_of_data, 4) ? 0 : 2 * outer;
  row_strides[RS_TOTALS][0] = 3 * inner;
  row_strides[RS_TOTALS][1] = 3;
  if (v.init && op_begins(spec)) {
    init = array_of(kept, rs_kept_type(spec->acc_type), 0);
    data_elements(init.host + init.lead, rs_kept_type(spec->acc_type), spec->op, kind, (int64_t)kept, length,
                  &source_of_data);
    send(&init);
    rows.array[RS_INIT].data = init.host + init.lead;
  }
  if (v.totals) {
    totals = array_of(kept, rs_kept_type(spec->acc_type), 0);
    send(&totals);
    rows.array[RS_TOTALS].data = totals.host + totals.lead;
  }
  for (int d = 0; d < rows.rank; d++) {
    bool last = d == rows.rank - 1;
    rows.shape[d] = last && rows.rank == 2 ? inner : outer;
    rows.array[RS_IN].stride[d] = rows.array[RS_OUT].stride[d] = rows.array[RS_MASK].stride[d] =
        last ? length : inner * length;
    rows.array[RS_INIT].stride[d] = row_strides[RS_INIT][d];
    rows.array[RS_TOTALS].stride[d] = row_strides[RS_TOTALS][d];
  }
  rs_packed args;
  rs_pack(&args, &rows, spec->flags);
  args.head.workspace = NULL;
  const array *arrays[RS_ARRAYS] = {&in, v.in_place ? &in : &out, &mask, &init, &totals};
  for (int a = 0; a < RS_ARRAYS; a++)
    args.head.at[a] = on_device(arrays[a]);
  judge_scan(spec, &rows);

  launch(k, &args, 0, v.parts ? v.count / 2 : 0);
  launch(k, &args, v.parts ? v.count / 2 : 0, v.count);
  compare(v.in_place ? &in : &out, spec->out_type, "out", k);
  if (v.totals)
    compare(&totals, rs_kept_type(spec->acc_type), "totals", k);
  drop(&in), drop(&out), drop(&mask), drop(&init), drop(&totals);
  free(copy);
}

/* An offset that the kernel allows, in elements: any, or of whole times 16 bytes. */
static int offset(const shape_kernel *k, rowscan_type type) {
  int unit = k->shape.word == 1 ? 1 : 16 / (int)rowscan_type_bytes(type);
  return unit * (int)random_below(&source_of_data, unit == 1 ? 16 : 4);
}

static void run_all(int runs) {
  for (int i = 0; i < kernel_count; i++) {
    const shape_kernel *k = &kernels[i];
    for (int j = 0; j < runs; j++) {
      int64_t most = j % 2 ? 2 * k->shape.rows + 1 : k->shape.rows;
      variant v = {.count = 1 + random_below(&source_of_data, most),
                   .in = offset(k, k->spec.in_type),
                   .out = offset(k, k->spec.out_type),
                   .mask = k->spec.mask_mode ? offset(k, k->spec.mask_type) : 0,
                   .init = random_one_in(&source_of_data, 3),
                   .totals = random_one_in(&source_of_data, 3),
                   .parts = random_one_in(&source_of_data, 4),
                   .in_place = k->spec.in_type == k->spec.out_type && random_one_in(&source_of_data, 4)};
      if (j == 0)
        v = (variant){.count = k->shape.rows};
      if (k->spec.row_rank == 2)
        v.count = (v.count + 2) / 3 * 3;
      run(k, v);
    }
  }
}

/* ---- suites ------------------------------------------------------------------------------------------------------ */

static bool quick;

/* A length with types and a variant that its number determines: all of them come up. */
static void add_length(int64_t length, int arch) {
  static const rowscan_type types[][3] = {
      {ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32},  {ROWSCAN_BF16, ROWSCAN_BF16, ROWSCAN_F32},
      {ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_F64},  {ROWSCAN_U8, ROWSCAN_U8, ROWSCAN_U32},
      {ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32},  {ROWSCAN_I8, ROWSCAN_I64, ROWSCAN_I64},
      {ROWSCAN_F16, ROWSCAN_F32, ROWSCAN_F32},  {ROWSCAN_F32, ROWSCAN_BF16, ROWSCAN_F32},
      {ROWSCAN_BOOL, ROWSCAN_I32, ROWSCAN_I32}, {ROWSCAN_I32, ROWSCAN_I32, ROWSCAN_I32},
      {ROWSCAN_I16, ROWSCAN_I64, ROWSCAN_I64},  {ROWSCAN_F64, ROWSCAN_F16, ROWSCAN_F64},
      {ROWSCAN_I64, ROWSCAN_U8, ROWSCAN_I64},   {ROWSCAN_F16, ROWSCAN_BF16, ROWSCAN_F32},
  };
  static const rowscan_type masks[] = {ROWSCAN_BOOL, ROWSCAN_F32, ROWSCAN_U8, ROWSCAN_F16, ROWSCAN_F64};
  enum { TYPES = sizeof types / sizeof *types, MASKS = sizeof masks / sizeof *masks };
  random_source any = random_for(1, (uint64_t)arch, (uint64_t)length);
  const rowscan_type *type = types[random_below(&any, TYPES)];
  rowscan_spec spec = {
      .size = sizeof spec, .length = length, .in_type = type[0], .out_type = type[1], .acc_type = type[2]};
  spec.flags = (unsigned)random_below(&any, 4);
  spec.mask_mode = (rowscan_mask_mode)random_below(&any, 3);
  if (spec.mask_mode)
    spec.mask_type = rs_type_kind(spec.acc_type) == RS_FLOAT ? masks[random_below(&any, MASKS)] : ROWSCAN_BOOL;
  spec.row_rank = random_one_in(&any, 3) ? 2 : 1;
  if (!rs_slab_serves(&spec)) { /* there are longer rows of small elements */
    spec.in_type = spec.out_type = ROWSCAN_U8;
    spec.acc_type = ROWSCAN_U32;
    spec.mask_mode = ROWSCAN_MASK_NONE;
    spec.mask_type = ROWSCAN_TYPE_DEFAULT;
  }
  op_take(&spec, random_bits(&any) >> 8);
  if (rs_slab_serves(&spec))
    add_kernels(&spec, arch);
}

static void try_lengths(const int64_t *lengths, int count, int arch) {
  source_of_data = random_for(2, (uint64_t)arch, (uint64_t)lengths[0]);
  for (int i = 0; i < count; i++)
    add_length(lengths[i], arch);
  build(arch);
  run_all(quick ? 4 : 6);
  unload();
}

/* Whatever the types: blocks that every launch may have, of warps that all have work. */
START_TEST(shapes) {
  static const rowscan_type types[] = {ROWSCAN_U8, ROWSCAN_F16, ROWSCAN_F32, ROWSCAN_F64};
  static const int archs[] = {75, 80, 86, 90, 100, 120};
  int length = 1 + _i * 37 % 4096;
  for (int i = 0; i < 4 * 4 * 5 * 6 * 2; i++) {
    int mask = i / 16 % 5, arch = archs[i / 80 % 6];
    rowscan_spec spec = {.size = sizeof spec, .length = length, .in_type = types[i % 4], .out_type = types[i / 4 % 4]};
    spec.acc_type = rowscan_type_bytes(spec.in_type) == 8 ? ROWSCAN_F64 : ROWSCAN_F32;
    spec.mask_mode = mask ? ROWSCAN_MASK_SELECT : ROWSCAN_MASK_NONE;
    spec.mask_type = mask ? types[mask - 1] : ROWSCAN_TYPE_DEFAULT;
    rs_shape s;
    if (!rs_slab_serves(&spec) || !rs_tune_slab(&spec, arch, i / 480, &s))
      continue;
    ck_assert_int_eq(s.rows % (s.threads / s.lanes), 0);
    ck_assert_int_le(s.rows * length, 32 * 1024);
    ck_assert_int_eq(length % s.word, 0);
    ck_assert(s.threads >= 64 && s.threads * s.min_blocks == 1024);
    /* what needs no consent of the driver */
    ck_assert_int_le(s.shared_bytes, 48 * 1024);
  }
}
END_TEST

enum { LENGTHS = 12 }; /* in a module: the simulated NVRTC knows 32 kernels of one */

START_TEST(all_lengths) {
  int64_t lengths[LENGTHS];
  for (int i = 0; i < LENGTHS; i++)
    lengths[i] = 1 + LENGTHS * _i + i;
  try_lengths(lengths, LENGTHS, open_device());
  close_device();
}
END_TEST

START_TEST(powers) {
  int64_t lengths[5];
  for (int i = 0; i < 5; i++)
    lengths[i] = ((int64_t)256 << _i) - 2 + i;
  try_lengths(lengths, 5, open_device());
  close_device();
}
END_TEST

START_TEST(without_bulk_copies) {
  static const int64_t lengths[] = {1, 2, 3, 7, 16, 33, 64, 65, 100, 128, 300, 1000};
  setenv("SIMT_ARCH", "75", 1);
  int arch = open_device();
  if (arch < 90)
    try_lengths(lengths, sizeof lengths / sizeof *lengths, arch);
  close_device();
}
END_TEST

/* In a process of its own: what has seen the driver must not fork. */
static bool has_device(void) {
  int status = 1;
  pid_t child = fork();
  if (child == 0)
    _exit(rs_cuda_open(&cuda) != ROWSCAN_OK);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void) {
  if (!has_device())
    return 77;
  setenv("SIMT_CXXFLAGS", "-O0 -g0", 0); /* compiling takes longer than running */
  quick = is_quick();
  lot_tell();
  Suite *suite = suite_create("short");
  TCase *cases = tcase_create("lengths");
  tcase_set_timeout(cases, 0);
  lot_add_loop_test(cases, shapes, 0, quick ? 20 : 111);
  lot_add_loop_test(cases, all_lengths, 0, quick ? 5 : 300 / LENGTHS);
  lot_add_loop_test(cases, powers, 1, quick ? 2 : 4);
  lot_add_loop_test(cases, without_bulk_copies, 0, 1);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
