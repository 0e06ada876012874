/*
 * test_variants.c - NVRTC compiles every kind of kernel for every architecture it knows, and none spills
 * SPDX-License-Identifier: MIT
 *
 * Needs no GPU, and skips (77) without NVRTC. A list in which every type, operator, flag, mask and regime stands, and
 * the geometries that need most registers; each for all architectures, on as many threads as there are processors.
 * Those for which another stands compile every eighth variant, unless RS_ALL_VARIANTS=1. RS_QUICK=1: so do all but
 * sm_90, which has the most kernels. RS_NO_VARIANTS=1: skips, for runs that have nothing to add to one that does not.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "quick.h"
#include "rowscan.h"

#define LENGTH(n, ...)                                                                                                 \
  { .size = sizeof(rowscan_spec), .length = n, __VA_ARGS__ }
#define BOTH (ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE)

/* Of a spec's rows, the most. */
enum { RANKS = 63 };

static const rowscan_spec specs[] = {
    LENGTH(32768, .in_type = ROWSCAN_F32),
    LENGTH(100001, .in_type = ROWSCAN_F32, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(8192, .in_type = ROWSCAN_F32, .mask_mode = ROWSCAN_MASK_MULTIPLY, .mask_type = ROWSCAN_F32),
    LENGTH(16384, .in_type = ROWSCAN_F32, .acc_type = ROWSCAN_F64, .flags = ROWSCAN_EXCLUSIVE),
    LENGTH(8192, .in_type = ROWSCAN_F32, .out_type = ROWSCAN_F64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(4096, .in_type = ROWSCAN_F32, .out_type = ROWSCAN_BF16),
    LENGTH(65536, .in_type = ROWSCAN_BF16, .flags = ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(8192, .in_type = ROWSCAN_BF16, .flags = BOTH, .mask_mode = ROWSCAN_MASK_MULTIPLY, .mask_type = ROWSCAN_BF16),
    LENGTH(32768, .in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(32768, .in_type = ROWSCAN_F16, .op = ROWSCAN_PROD),
    LENGTH(513, .in_type = ROWSCAN_F16, .out_type = ROWSCAN_F32),
    LENGTH(32768, .in_type = ROWSCAN_F64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(4096, .in_type = ROWSCAN_F64, .out_type = ROWSCAN_F16, .op = ROWSCAN_PROD),
    LENGTH(16384, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(32768, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8),
    LENGTH(32768, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I32),
    LENGTH(16384, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_MULTIPLY,
           .mask_type = ROWSCAN_U8),
    LENGTH(2048, .in_type = ROWSCAN_U16, .out_type = ROWSCAN_U16),
    LENGTH(1024, .in_type = ROWSCAN_I16),
    LENGTH(16384, .in_type = ROWSCAN_I32, .mask_mode = ROWSCAN_MASK_SELECT, .mask_type = ROWSCAN_I32),
    LENGTH(8192, .in_type = ROWSCAN_I64, .out_type = ROWSCAN_F32, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(32768, .in_type = ROWSCAN_U64, .op = ROWSCAN_PROD),
    LENGTH(40000, .in_type = ROWSCAN_BOOL),
    LENGTH(7, .in_type = ROWSCAN_U32, .out_type = ROWSCAN_U32),
    LENGTH(300, .in_type = ROWSCAN_BF16, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1, .in_type = ROWSCAN_F64),
    LENGTH(0, .in_type = ROWSCAN_F32),
    LENGTH(100001, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1 << 20, .in_type = ROWSCAN_F32, .acc_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(100001, .in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1 << 26, .in_type = ROWSCAN_F16, .acc_type = ROWSCAN_F64, .flags = BOTH),
    LENGTH(197632, .in_type = ROWSCAN_BOOL),
    LENGTH(3000000000, .in_type = ROWSCAN_I8, .out_type = ROWSCAN_I8),
    LENGTH(1000001, .in_type = ROWSCAN_F64, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH((1 << 24) + 1, .in_type = ROWSCAN_I32, .flags = BOTH),
    LENGTH(1 << 28, .in_type = ROWSCAN_F32, .flags = BOTH),
    LENGTH((1 << 30) + 1, .in_type = ROWSCAN_BOOL, .flags = ROWSCAN_EXCLUSIVE),
    LENGTH(1 << 28, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH((1 << 26) + 1, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH((1 << 30) + 1, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH),
    LENGTH(1000, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1000, .in_type = ROWSCAN_BF16, .layout = ROWSCAN_LAYOUT_COLUMNS, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(60, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(8, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(5, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(43664, .in_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS),
    LENGTH(4096, .in_type = ROWSCAN_F32, .row_rank = 5),
    LENGTH(428378, .in_type = ROWSCAN_I64),
    LENGTH(617949, .in_type = ROWSCAN_F32, .row_rank = 3),
    LENGTH(297984, .in_type = ROWSCAN_I8, .flags = ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_MULTIPLY,
           .mask_type = ROWSCAN_I8),
    LENGTH(110622, .in_type = ROWSCAN_I16, .op = ROWSCAN_PROD, .flags = ROWSCAN_REVERSE),
    LENGTH(2626, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_U32, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = 2),
    LENGTH(271, .in_type = ROWSCAN_U32, .out_type = ROWSCAN_U32, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE),
    LENGTH(7, .in_type = ROWSCAN_F16, .layout = ROWSCAN_LAYOUT_COLUMNS, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(2, .in_type = ROWSCAN_F16, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_EXCLUSIVE),
    LENGTH(1, .in_type = ROWSCAN_BF16, .acc_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_EXCLUSIVE, .mask_mode = ROWSCAN_MASK_MULTIPLY),
    LENGTH(1200000000, .in_type = ROWSCAN_I16, .out_type = ROWSCAN_I16, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE),
    LENGTH(86, .in_type = ROWSCAN_U8, .out_type = ROWSCAN_U8, .layout = ROWSCAN_LAYOUT_COLUMNS,
           .flags = ROWSCAN_REVERSE, .mask_mode = ROWSCAN_MASK_SELECT),
    LENGTH(1 << 28, .in_type = ROWSCAN_U64, .op = ROWSCAN_PROD, .flags = ROWSCAN_EXCLUSIVE, .row_rank = 3),
    LENGTH(1 << 28, .in_type = ROWSCAN_U64, .op = ROWSCAN_PROD, .flags = ROWSCAN_EXCLUSIVE, .row_rank = 9),
    LENGTH(1 << 24, .in_type = ROWSCAN_I64, .op = ROWSCAN_PROD, .flags = ROWSCAN_EXCLUSIVE, .row_rank = 4),
    LENGTH(1 << 26, .in_type = ROWSCAN_BF16, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = 5),
    LENGTH(5000001, .in_type = ROWSCAN_I32, .out_type = ROWSCAN_I64, .op = ROWSCAN_PROD, .flags = ROWSCAN_REVERSE,
           .row_rank = 4),
    LENGTH(1040000, .in_type = ROWSCAN_U64, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = 3),
    LENGTH(INT64_C(100000000000), .in_type = ROWSCAN_F64, .row_rank = RANKS),
    LENGTH(600, .in_type = ROWSCAN_F32, .flags = BOTH, .mask_mode = ROWSCAN_MASK_SELECT, .row_rank = RANKS),
    LENGTH(520, .in_type = ROWSCAN_F16, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_REVERSE, .row_rank = 3),
    LENGTH(4857, .in_type = ROWSCAN_F64, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = ROWSCAN_REVERSE, .row_rank = 5),
    LENGTH(4, .in_type = ROWSCAN_F16, .out_type = ROWSCAN_F32, .layout = ROWSCAN_LAYOUT_COLUMNS, .flags = BOTH,
           .mask_mode = ROWSCAN_MASK_SELECT, .mask_type = ROWSCAN_F16, .row_rank = RANKS),
};
enum { SPECS = sizeof specs / sizeof *specs };

static rowscan_context *context;
static int archs[64], count = 64;
static atomic_int turn, passed, failed;

/* All their kernels have the registers of those for sm_87, sm_86 and sm_120: 256, 256 and 304, with NVRTC 13.0. */
static bool another_stands_for(int arch) {
  return arch == 88 || arch == 89 || arch == 121;
}

static bool is_compiled(int spec, int i) {
  bool is_part = is_quick() ? archs[i] != 90 : another_stands_for(archs[i]) && !is_asked("RS_ALL_VARIANTS");
  return !is_part || spec % 8 == i % 8;
}

static void check_module(const rowscan_plan *plan, int index, int spec, const char *arch) {
  rowscan_module_info info = ROWSCAN_INFO(rowscan_module_info);
  bool ok = rowscan_plan_module(plan, index, &info) == ROWSCAN_OK && !info.spill_bytes && !info.local_bytes &&
            info.registers > 0 && info.ptx_bytes && info.cubin_bytes;
  if (!ok)
    printf("spec %d, %s, %s: %d registers, %d local bytes, %d spilled; %s\n", spec, arch,
           rowscan_regime_name(info.regime), info.registers, info.local_bytes, info.spill_bytes, info.geometry);
  ok ? passed++ : failed++;
}

static void check_variant(int spec, int number) {
  char arch[16];
  snprintf(arch, sizeof arch, "sm_%d", number);
  rowscan_plan *plan;
  if (rowscan_plan_compile(&plan, context, &specs[spec], arch)) {
    printf("spec %d, %s: %s\n", spec, arch, rowscan_last_error());
    failed++;
    return;
  }
  rowscan_plan_info info = ROWSCAN_INFO(rowscan_plan_info);
  if (rowscan_plan_info_get(plan, &info) || info.modules < 1)
    failed++;
  for (int i = 0; i < info.modules; i++)
    check_module(plan, i, spec, arch);
  rowscan_plan_destroy(plan);
}

static void *work(void *unused) {
  (void)unused;
  for (int i; (i = turn++) < SPECS * count;)
    if (is_compiled(i % SPECS, i / SPECS))
      check_variant(i % SPECS, archs[i / SPECS]);
  return NULL;
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (is_asked("RS_NO_VARIANTS")) {
    printf("skipped: RS_NO_VARIANTS is set\n");
    return 77;
  }
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_off = 1))) {
    printf("%s\n", rowscan_last_error());
    return 1;
  }
  if (rowscan_archs(context, archs, &count)) {
    printf("skipped: %s\n", rowscan_last_error());
    rowscan_close(context);
    return 77;
  }
  pthread_t threads[16];
  long most = sysconf(_SC_NPROCESSORS_ONLN);
  int workers = 0;
  while (workers < most && workers < 16 && !pthread_create(&threads[workers], NULL, work, NULL))
    workers++;
  work(NULL);
  while (workers > 0)
    pthread_join(threads[--workers], NULL);
  rowscan_close(context);
  printf("%d architectures, sm_%d to sm_%d\n%d passed, %d failed\n", count, archs[0], archs[count - 1], passed, failed);
  return failed ? 1 : 0;
}
