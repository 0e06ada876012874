/*
 * builtin.c - kernels inside of the library
 * SPDX-License-Identifier: MIT
 */
#include "builtin.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/squeeze.h"

enum { NUMBER = 8, ITEM = 4 * NUMBER, RANGE = 2 * NUMBER, MOST_PACKS = 16 };

static uint64_t number_at(const unsigned char *at) {
  uint64_t number = 0;
  for (int i = NUMBER - 1; i >= 0; i--)
    number = number << 8 | at[i];
  return number;
}

/* What is linked in of a generation. */
typedef struct squeezed_pack {
  const unsigned char *ranges, *data;
  size_t count, bytes, size; /* ranges; expanded, squeezed */
  int index;
} squeezed_pack;

/* Of the items, of which there are `count`, number i, whose ranges and bytes begin at *ranges and *at. */
static bool read_item(const unsigned char *data, size_t bytes, int i, size_t *ranges, size_t *at, squeezed_pack *pack) {
  const unsigned char *item = data + NUMBER + i * ITEM;
  uint64_t size = number_at(item + 2 * NUMBER), count = number_at(item + 3 * NUMBER);
  if (size > bytes - *at || count > (bytes - *ranges) / RANGE)
    return false;
  *pack = (squeezed_pack){data + *ranges, data + *at, (size_t)count, (size_t)number_at(item + NUMBER), (size_t)size, i};
  *ranges += (size_t)count * RANGE;
  *at += (size_t)size;
  return true;
}

/* All ranges lie before all squeezed bytes. */
static bool find_data(const unsigned char *data, size_t bytes, uint64_t count, size_t *at) {
  *at = NUMBER + (size_t)count * ITEM;
  for (int i = 0; i < (int)count; i++) {
    uint64_t ranges = number_at(data + NUMBER + i * ITEM + 3 * NUMBER);
    if (ranges > (bytes - *at) / RANGE)
      return false;
    *at += (size_t)ranges * RANGE;
  }
  return true;
}

static bool find_pack(int generation, squeezed_pack *found) {
  size_t bytes, at, ranges;
  const unsigned char *data = rs_builtin_data(&bytes);
  uint64_t count = data && bytes >= NUMBER ? number_at(data) : 0;
  if (count > MOST_PACKS || bytes < NUMBER + count * ITEM || !find_data(data, bytes, count, &at))
    return false;
  ranges = NUMBER + (size_t)count * ITEM;
  for (int i = 0; i < (int)count; i++) {
    if (!read_item(data, bytes, i, &ranges, &at, found))
      return false;
    if (number_at(data + NUMBER + i * ITEM) == (uint64_t)generation)
      return found->bytes <= INT32_MAX; /* what rs_squeeze takes */
  }
  return false;
}

bool rs_builtin_has(int generation) {
  squeezed_pack pack;
  return find_pack(generation, &pack);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

/* Of which so much is expanded as has been read; to be called with the lock. NULL: no memory. */
static rs_expansion *expansion_of(const squeezed_pack *pack) {
  static rs_expansion expanded[MOST_PACKS];
  rs_expansion *all = &expanded[pack->index];
  unsigned char *to = all->to ? NULL : malloc(pack->bytes ? pack->bytes : 1);
  if (to)
    *all = rs_expand_begin(to, pack->bytes, pack->data, pack->size);
  return all->to ? all : NULL;
}

/* Where byte `offset` of a pack is among those that were squeezed, and how many follow it there. */
static bool find_range(const squeezed_pack *pack, uint64_t offset, size_t *at, size_t *more) {
  *at = 0;
  for (size_t i = 0; i < pack->count; i++) {
    uint64_t begin = number_at(pack->ranges + i * RANGE), bytes = number_at(pack->ranges + i * RANGE + NUMBER);
    if (bytes > pack->bytes - *at)
      return false;
    if (offset >= begin && offset - begin < bytes) {
      *at += (size_t)(offset - begin);
      *more = (size_t)(bytes - (offset - begin));
      return true;
    }
    *at += (size_t)bytes;
  }
  return false;
}

static int read_ranges(const squeezed_pack *pack, unsigned char *to, uint64_t offset, size_t bytes) {
  rs_expansion *all = expansion_of(pack);
  for (size_t at, more; bytes; to += more, offset += more, bytes -= more) {
    if (!all)
      return ENOMEM;
    if (!find_range(pack, offset, &at, &more))
      return EIO;
    more = more < bytes ? more : bytes;
    if (!rs_expand_until(all, at + more))
      return EIO;
    memcpy(to, all->to + at, more);
  }
  return 0;
}

static bool read_pack(void *user, void *to, uint64_t offset, size_t bytes) {
  squeezed_pack pack;
  if (!find_pack((int)(intptr_t)user, &pack))
    return false;
  pthread_mutex_lock(&reading);
  errno = read_ranges(&pack, to, offset, bytes);
  pthread_mutex_unlock(&reading);
  return !errno;
}

bool rs_builtin_pack(int generation, rs_source *pack) {
  squeezed_pack found;
  bool there = find_pack(generation, &found);
  if (there)
    *pack = (rs_source){read_pack, (void *)(intptr_t)generation, found.bytes};
  return there;
}
