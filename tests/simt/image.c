/*
 * image.c - what the simulated NVRTC gives out as a CUBIN
 * SPDX-License-Identifier: MIT
 */
#include "image.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#ifndef SIMT_SOURCE_DIR
#define SIMT_SOURCE_DIR "tests/simt"
#endif

uint64_t simt_sum(uint64_t sum, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < count; i++)
    sum = (sum ^ at[i]) * 0x100000001b3u;
  return sum;
}

uint64_t simt_header_sum(const simt_image *image) {
  return simt_sum(SIMT_SUM, image, offsetof(simt_image, header_sum));
}

const char *simt_dir(void) {
  const char *dir = getenv("SIMT_DIR");
  return dir && *dir ? dir : SIMT_SOURCE_DIR;
}

static uint64_t add_file(uint64_t sum, const char *name) {
  char path[4096], bytes[4096];
  snprintf(path, sizeof path, "%s/%s", simt_dir(), name);
  FILE *file = fopen(path, "rb");
  if (!file)
    simt_die("%s is missing; SIMT_DIR names its directory", path);
  for (size_t count; (count = fread(bytes, 1, sizeof bytes, file)) > 0;)
    sum = simt_sum(sum, bytes, count);
  fclose(file);
  return sum;
}

static uint64_t add_variable(uint64_t sum, const char *name) {
  const char *value = getenv(name);
  return value ? simt_sum(sum, value, strlen(value) + 1) : simt_sum(sum, "", 1);
}

uint64_t simt_twin_sum(const char *flags) {
  uint64_t sum = add_file(add_file(add_file(SIMT_SUM, "device.cuh"), "races.cuh"), "runtime.h");
  sum = simt_sum(add_variable(sum, "SIMT_CXX"), flags, strlen(flags) + 1);
  return simt_races_wanted() ? simt_sum(sum, "races", 5) : sum;
}

static int digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *simt_image_of_ptx(const char *ptx) {
  char *image = malloc(strlen(ptx) / 2 + 1), *end = image;
  for (const char *line = ptx; image && (line = strstr(line, SIMT_PTX_IMAGE)) != NULL;)
    for (line += strlen(SIMT_PTX_IMAGE); digit(line[0]) >= 0 && digit(line[1]) >= 0; line += 2)
      *end++ = (char)(16 * digit(line[0]) + digit(line[1]));
  if (image && end > image)
    return image;
  free(image);
  return NULL;
}

/* ---- shared objects ------------------------------------------------------------------------------------------------
 */

static const Elf64_Shdr *sections_of(const char *object) {
  return (const Elf64_Shdr *)(object + ((const Elf64_Ehdr *)object)->e_shoff);
}

static const Elf64_Shdr *find_symbols(const char *object) {
  const Elf64_Shdr *sections = sections_of(object);
  for (int i = 0; i < ((const Elf64_Ehdr *)object)->e_shnum; i++)
    if (sections[i].sh_type == SHT_SYMTAB)
      return &sections[i];
  return NULL;
}

/* _ZZ...E4name, and no guard of one; constants lie in sections that nobody may write. */
static bool is_shared(const char *object, const Elf64_Sym *symbol, const char *name) {
  return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && strncmp(name, "_ZZ", 3) == 0 && symbol->st_size > 0 &&
         symbol->st_shndx < ((const Elf64_Ehdr *)object)->e_shnum &&
         (sections_of(object)[symbol->st_shndx].sh_flags & SHF_WRITE);
}

int simt_object_shared(const char *object, simt_span *spans) {
  const Elf64_Shdr *table = find_symbols(object);
  if (!table)
    return -1;
  const Elf64_Sym *symbols = (const Elf64_Sym *)(object + table->sh_offset);
  const char *names = object + sections_of(object)[table->sh_link].sh_offset;
  int count = 0;
  for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
    if (!is_shared(object, &symbols[i], names + symbols[i].st_name))
      continue;
    if (spans)
      spans[count] = (simt_span){symbols[i].st_value, symbols[i].st_size};
    count++;
  }
  return count;
}
