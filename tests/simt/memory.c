/*
 * memory.c - memory of the simulated GPU, and pinned memory of the host
 * SPDX-License-Identifier: MIT
 */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum { GUARD = 4096, GUARD_BYTE = 0xc3 };

void __asan_poison_memory_region(void const volatile *at, size_t bytes) __attribute__((weak));
void __asan_unpoison_memory_region(void const volatile *at, size_t bytes) __attribute__((weak));

static simt_memory *blocks;
static size_t used, most;

static size_t room_of(const simt_memory *memory) {
  return memory->bytes + 2 * GUARD;
}

static void poison_guards(const simt_memory *memory) {
  unsigned char *end = memory->at + memory->bytes;
  memset(memory->at - GUARD, GUARD_BYTE, GUARD);
  memset(end, GUARD_BYTE, GUARD);
  if (__asan_poison_memory_region) {
    __asan_poison_memory_region(memory->at - GUARD, GUARD);
    __asan_poison_memory_region(end, GUARD);
  }
}

simt_memory *simt_memory_take(size_t bytes, bool host) {
  size_t total = simt_memory_total();
  if (!host && (bytes > total || used > total - bytes))
    return NULL;
  simt_memory *memory = malloc(sizeof *memory);
  void *room = NULL;
  if (!memory || bytes > SIZE_MAX / 2 || posix_memalign(&room, 512, bytes + 2 * GUARD)) {
    free(memory);
    return NULL;
  }
  *memory = (simt_memory){.at = (unsigned char *)room + GUARD, .bytes = bytes, .host = host, .next = blocks};
  blocks = memory;
  memset(memory->at, SIMT_POISON, bytes);
  poison_guards(memory);
  if (!host)
    used += bytes;
  if (used > most)
    most = used;
  return memory;
}

/* Reads what AddressSanitizer forbids to read. */
__attribute__((no_sanitize_address)) static const unsigned char *changed(const unsigned char *guard) {
  for (int i = 0; i < GUARD; i++)
    if (guard[i] != GUARD_BYTE)
      return guard + i;
  return NULL;
}

static void check(const simt_memory *memory, const char *after) {
  const unsigned char *wrong = changed(memory->at - GUARD);
  if (!wrong)
    wrong = changed(memory->at + memory->bytes);
  if (wrong)
    simt_die("%s: byte %lld of a block of %zu was written", after, (long long)(wrong - memory->at), memory->bytes);
}

void simt_memory_check(const char *after) {
  for (const simt_memory *memory = blocks; memory; memory = memory->next)
    check(memory, after);
}

void simt_memory_give(simt_memory *memory) {
  check(memory, memory->host ? "found when host memory was freed" : "found when device memory was freed");
  for (simt_memory **at = &blocks; *at; at = &(*at)->next)
    if (*at == memory) {
      *at = memory->next;
      break;
    }
  if (!memory->host)
    used -= memory->bytes;
  if (__asan_unpoison_memory_region)
    __asan_unpoison_memory_region(memory->at - GUARD, room_of(memory));
  free(memory->at - GUARD);
  free(memory);
}

simt_memory *simt_memory_around(const void *at, size_t bytes) {
  uintptr_t first = (uintptr_t)at;
  for (simt_memory *memory = blocks; memory; memory = memory->next) {
    uintptr_t start = (uintptr_t)memory->at;
    if (first >= start && first - start <= memory->bytes && bytes <= memory->bytes - (first - start))
      return memory;
  }
  return NULL;
}

simt_memory *simt_memory_starting(const void *at, bool host) {
  for (simt_memory *memory = blocks; memory; memory = memory->next)
    if (memory->at == at && memory->host == host)
      return memory;
  return NULL;
}

size_t simt_memory_total(void) {
  return (size_t)simt_setting("SIMT_MEMORY", 256 << 20);
}

size_t simt_memory_used(void) {
  return used;
}

size_t simt_memory_most(bool reset) {
  size_t result = most;
  if (reset)
    most = used;
  return result;
}

int simt_memory_alive(bool host) {
  int count = 0;
  for (const simt_memory *memory = blocks; memory; memory = memory->next)
    count += memory->host == host;
  return count;
}
