/*
 * builtin.c - kernels inside of the library
 * SPDX-License-Identifier: MIT
 */
#include "builtin.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/squeeze.h"

enum { NUMBER = 8, ITEM = 3 * NUMBER, MOST_PACKS = 16 };

static uint64_t number_at(const unsigned char *at) {
  uint64_t number = 0;
  for (int i = NUMBER - 1; i >= 0; i--)
    number = number << 8 | at[i];
  return number;
}

/* What is linked in of a generation. */
typedef struct squeezed_pack {
  const unsigned char *data;
  size_t bytes, size; /* expanded, squeezed */
  int index;
} squeezed_pack;

static bool find_pack(int generation, squeezed_pack *found) {
  size_t bytes;
  const unsigned char *data = rs_builtin_data(&bytes);
  uint64_t count = data && bytes >= NUMBER ? number_at(data) : 0;
  if (count > MOST_PACKS || bytes < NUMBER + count * ITEM)
    return false;
  size_t at = NUMBER + (size_t)count * ITEM;
  for (int i = 0; i < (int)count; i++) {
    const unsigned char *item = data + NUMBER + i * ITEM;
    uint64_t size = number_at(item + 2 * NUMBER);
    if (size > bytes - at)
      return false;
    if (number_at(item) == (uint64_t)generation) {
      *found = (squeezed_pack){data + at, (size_t)number_at(item + NUMBER), (size_t)size, i};
      return found->bytes <= INT32_MAX; /* what rs_squeeze takes */
    }
    at += (size_t)size;
  }
  return false;
}

bool rs_builtin_has(int generation) {
  squeezed_pack pack;
  return find_pack(generation, &pack);
}

const void *rs_builtin_pack(int generation, size_t *bytes) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static unsigned char *expanded[MOST_PACKS];
  squeezed_pack pack;
  if (!find_pack(generation, &pack))
    return NULL;
  pthread_mutex_lock(&lock);
  unsigned char **to = &expanded[pack.index];
  if (!*to && (*to = malloc(pack.bytes ? pack.bytes : 1)) && !rs_expand(*to, pack.bytes, pack.data, pack.size)) {
    free(*to);
    *to = NULL;
  }
  pthread_mutex_unlock(&lock);
  *bytes = pack.bytes;
  return *to;
}
