/*
 * seeds.c - the first entries and packs of the corpus, as the library writes them
 * SPDX-License-Identifier: MIT
 *
 * usage: seeds CORPUS, the directory that has entry/ and pack/
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"

typedef struct seed {
  const char *name, *key;
  rs_part parts[RS_STORE_PARTS];
} seed;

#define TEXT(text)                                                                                                     \
  { text, sizeof text - 1 }
#define KEY(op, nvrtc) "op=" op "\nin=f32\nlength=1000\narch=sm_90\nnvrtc=" nvrtc "\n"

/* The first is that of cache/README.md; the second is the smallest; in the third each padding has another length. */
static const seed seeds[] = {
    {"readme", "a=1\n\n", {TEXT("ptx"), TEXT(""), TEXT(""), TEXT("r")}},
    {"empty", "", {TEXT(""), TEXT(""), TEXT(""), TEXT("")}},
    {"paddings",
     "key=15 letters\n",
     {TEXT("of fourteen by"), TEXT("of sixteen bytes"), TEXT("seventeen letters"), {0}}},
    {"kernel", KEY("sum", "13"), {TEXT("//ptx"), TEXT("\177ELF\0\1\2"), TEXT("registers=24\nshared=0\n"), {0}}},
    {"twin", KEY("sum", "12"), {TEXT("//ptx"), TEXT("\177ELF\0\2\1"), TEXT("registers=24\nshared=0\n"), {0}}},
};
enum { SEEDS = sizeof seeds / sizeof *seeds };

static void save(const char *corpus, const char *kind, const char *name, const void *bytes, size_t count) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s/%s", corpus, kind, name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
}

static unsigned char *encode(int i, size_t *bytes) {
  unsigned char *entry = rs_entry_encode(seeds[i].key, seeds[i].parts, bytes);
  if (!entry)
    abort();
  return entry;
}

static int by_name(const void *left, const void *right) {
  char a[RS_ENTRY_NAME], b[RS_ENTRY_NAME];
  rs_entry_name(seeds[*(const int *)left].key, a);
  rs_entry_name(seeds[*(const int *)right].key, b);
  return strcmp(a, b);
}

/* Of the last `count` seeds. */
static void save_pack(const char *corpus, const char *name, int count) {
  int order[SEEDS];
  rs_pack_writer writer = {0};
  for (int i = 0; i < count; i++)
    order[i] = SEEDS - count + i;
  qsort(order, (size_t)count, sizeof *order, by_name);
  for (int i = 0; i < count; i++) {
    size_t bytes;
    unsigned char *entry = encode(order[i], &bytes);
    rs_pack_add(&writer, seeds[order[i]].key, entry, bytes);
    free(entry);
  }
  size_t bytes;
  unsigned char *pack = rs_pack_finish(&writer, &bytes);
  if (!pack)
    abort();
  save(corpus, "pack", name, pack, bytes);
  free(pack);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: seeds CORPUS\n");
    return 2;
  }
  for (int i = 0; i < SEEDS; i++) {
    size_t bytes;
    unsigned char *entry = encode(i, &bytes);
    save(argv[1], "entry", seeds[i].name, entry, bytes);
    free(entry);
  }
  save_pack(argv[1], "none", 0);
  save_pack(argv[1], "one", 1);
  save_pack(argv[1], "twins", 2);
  save_pack(argv[1], "all", SEEDS);
  return 0;
}
