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

/* Bytes of a pack that are squeezed one after another, in the order of `rank`. */
typedef struct range {
  uint64_t offset, bytes;
  int rank;
} range;

/* A generation's. */
typedef struct generation {
  void *pack;
  unsigned char *squeezed;
  size_t bytes, size;
  range *ranges;
  size_t count;
} generation;

/* The first call of a process expands what comes before its kernel: so those that are asked for most come first. */
static int rank_of(const char *key) {
  int op = 0, segmented = strstr(key, "\nsegments=") != NULL, of_f32 = strstr(key, "acc=f32\n") != NULL;
  char name[64];
  for (; op < 64; op++) {
    snprintf(name, sizeof name, "op=%s\n", rowscan_op_name((rowscan_op)op));
    if (strstr(key, name))
      break;
  }
  return segmented << 16 | op << 8 | !of_f32;
}

static int by_rank(const void *one, const void *other) {
  const range *a = one, *b = other;
  return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank)
                            : (a->offset > b->offset) - (a->offset < b->offset);
}

static uint64_t number_at(const void *at, int bytes) {
  uint64_t number = 0;
  for (int i = bytes - 1; i >= 0; i--)
    number = number << 8 | ((const unsigned char *)at)[i];
  return number;
}

/* A pack, as cache/README.md has it: its header, entries, its index and a digest. */
enum { HEADER = 16, AT_COUNT = 12, ITEM = 48, AT_OFFSET = 32, AT_BYTES = 40, DIGEST = 16, ENTRY_HEADER = 32 };

/* Header and index, then entries. */
static bool find_ranges(generation *g) {
  const char *pack = g->pack;
  size_t entries = (size_t)number_at(pack + AT_COUNT, 4), tail = entries * ITEM + DIGEST, all = HEADER + tail;
  g->count = entries + 2;
  g->ranges = calloc(g->count, sizeof *g->ranges);
  if (!g->ranges || all > g->bytes)
    return false;
  g->ranges[0] = (range){0, HEADER, -2};
  g->ranges[1] = (range){g->bytes - tail, tail, -1};
  for (size_t i = 0; i < entries; i++) {
    const char *item = pack + g->bytes - tail + i * ITEM;
    uint64_t offset = number_at(item + AT_OFFSET, 8), bytes = number_at(item + AT_BYTES, 8);
    g->ranges[i + 2] = (range){offset, bytes, rank_of(pack + offset + ENTRY_HEADER)};
    all += (size_t)bytes;
  }
  qsort(g->ranges, g->count, sizeof *g->ranges, by_rank);
  return all == g->bytes;
}

static bool squeeze_ranges(generation *g) {
  unsigned char *in_order = malloc(g->bytes);
  size_t at = 0;
  for (size_t i = 0; i < g->count && in_order; at += g->ranges[i++].bytes)
    memcpy(in_order + at, (char *)g->pack + g->ranges[i].offset, g->ranges[i].bytes);
  g->squeezed = in_order ? rs_squeeze(in_order, g->bytes, &g->size) : NULL;
  free(in_order);
  return g->squeezed != NULL;
}

/* Entries of the last generation have PTX too, for GPUs that are newer than all. */
static bool make_generation(rowscan_context *context, const char *arch, generation *g) {
  const int newest = atoi(arch + 3) == rs_arch_generation(INT32_MAX);
  rowscan_cache_exported exported = ROWSCAN_INFO(rowscan_cache_exported);
  if (rowscan_cache_export_memory(
          context, ROWSCAN_CACHE_FILTER(.archs = &arch, .arch_count = 1, .spec = "universal=1", .without_ptx = !newest),
          &g->pack, &g->bytes, &exported) ||
      !find_ranges(g) || !squeeze_ranges(g))
    return false;
  printf("%s: %lld universal kernels, %zu bytes, squeezed to %zu\n", arch, (long long)exported.entries, g->bytes,
         g->size);
  return true;
}

static void write_generations(FILE *file, int count, const char *const *archs, const generation *all) {
  put_number(file, (uint64_t)count);
  for (int i = 0; i < count; i++) {
    put_number(file, (uint64_t)atoi(archs[i] + 3));
    put_number(file, all[i].bytes);
    put_number(file, all[i].size);
    put_number(file, all[i].count);
  }
  for (int i = 0; i < count; i++)
    for (size_t k = 0; k < all[i].count; k++) {
      put_number(file, all[i].ranges[k].offset);
      put_number(file, all[i].ranges[k].bytes);
    }
  for (int i = 0; i < count; i++)
    fwrite(all[i].squeezed, 1, all[i].size, file);
}

static int write_all(rowscan_context *context, FILE *file, int count, const char *const *archs) {
  generation all[MOST] = {{0}};
  int status = 0;
  for (int i = 0; i < count && !status; i++)
    if (!make_generation(context, archs[i], &all[i]))
      status = fail(archs[i]);
  if (!status)
    write_generations(file, count, archs, all);
  for (int i = 0; i < count; i++) {
    rowscan_free(all[i].pack);
    free(all[i].squeezed);
    free(all[i].ranges);
  }
  return status;
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
