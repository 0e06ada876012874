/*
 * builtin_make.c - compiles the universal kernels and writes the file that is linked into the library
 * SPDX-License-Identifier: MIT
 *
 * usage: builtin-make FILE CACHE ARCH...
 * FILE: as src/gpu/builtin.h has it. CACHE: a directory that keeps the kernels, so that none is compiled again where
 * nothing has changed. ARCH: sm_90 ..., each for its generation (rs_arch_generation); those that NVRTC does not know
 * are left out, and told. `make` runs it, where there is an NVRTC.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/squeeze.h"
#include "run/plan.h"
#include "spec/arch.h"

enum { MOST = 16 };

static int fail(const char *what) {
  fprintf(stderr, "builtin-make: %s: %s\n", what, rowscan_last_error());
  return 1;
}

static void put_number(FILE *file, uint64_t number) {
  for (int i = 0; i < 8; i++, number >>= 8)
    fputc((int)(number & 255), file);
}

/* The generations that are asked for, by their names. */
typedef struct generations {
  int count;
  char name[MOST][16];
  const char *names[MOST];
} generations;

static int knows(const int *archs, int count, int arch) {
  int i = 0;
  while (i < count && archs[i] != arch)
    i++;
  return i < count;
}

static void add_generation(generations *all, int arch) {
  char *name = all->name[all->count];
  snprintf(name, sizeof all->name[0], "sm_%d", arch);
  for (int i = 0; i < all->count; i++)
    if (!strcmp(all->name[i], name))
      return;
  all->names[all->count++] = name;
}

static int choose_generations(rowscan_context *context, generations *all, int count, char **archs) {
  int known[RS_MOST_ARCHS], known_count = RS_MOST_ARCHS, arch;
  if (rs_nvrtc_archs(rs_builder_nvrtc(context->gpu.builder), known, &known_count))
    return fail("NVRTC");
  for (int i = 0; i < count; i++) {
    if (rs_arch_read(archs[i], &arch))
      return fail("ARCH");
    if (knows(known, known_count, rs_arch_generation(arch)))
      add_generation(all, rs_arch_generation(arch));
    else
      printf("%s: left out, for this NVRTC does not know it\n", archs[i]);
  }
  return 0;
}

/* Entries of the last generation have PTX too, for GPUs that are newer than all. */
static unsigned char *squeezed_pack(rowscan_context *context, const char *arch, size_t *bytes, size_t *size) {
  const int newest = atoi(arch + 3) == rs_arch_generation(INT32_MAX);
  void *pack;
  rowscan_cache_exported exported = ROWSCAN_INFO(rowscan_cache_exported);
  if (rowscan_cache_export_memory(
          context, ROWSCAN_CACHE_FILTER(.archs = &arch, .arch_count = 1, .spec = "universal=1", .without_ptx = !newest),
          &pack, bytes, &exported))
    return NULL;
  unsigned char *squeezed = rs_squeeze(pack, *bytes, size);
  printf("%s: %lld universal kernels, %zu bytes, squeezed to %zu\n", arch, (long long)exported.entries, *bytes, *size);
  rowscan_free(pack);
  return squeezed;
}

static int write_all(rowscan_context *context, FILE *file, int count, const char *const *archs) {
  unsigned char *data[MOST];
  size_t bytes[MOST], size[MOST];
  put_number(file, (uint64_t)count);
  for (int i = 0; i < count; i++) {
    data[i] = squeezed_pack(context, archs[i], &bytes[i], &size[i]);
    if (!data[i])
      return fail(archs[i]);
    put_number(file, (uint64_t)atoi(archs[i] + 3));
    put_number(file, bytes[i]);
    put_number(file, size[i]);
  }
  for (int i = 0; i < count; i++) {
    fwrite(data[i], 1, size[i], file);
    free(data[i]);
  }
  return 0;
}

int main(int argc, char **argv) {
  int count = argc - 3;
  rowscan_context *context;
  if (count < 1 || count > MOST) {
    fprintf(stderr, "usage: builtin-make FILE CACHE ARCH...\n");
    return 2;
  }
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .cache_dir = argv[2], .cache_packs = "off",
                                             .cache_limit = INT64_C(4) << 30)))
    return fail("rowscan_open");
  generations all = {0};
  if (choose_generations(context, &all, count, argv + 3))
    return 1;
  if (all.count && rowscan_warm(context, ROWSCAN_WARMING(.universal = 1, .archs = all.names, .arch_count = all.count)))
    return fail("rowscan_warm");
  FILE *file = fopen(argv[1], "wb");
  int status = file ? write_all(context, file, all.count, all.names) : fail(argv[1]);
  if (file && (ferror(file) | fclose(file)) && !status) {
    perror(argv[1]);
    status = 1;
  }
  rowscan_close(context);
  return status;
}
