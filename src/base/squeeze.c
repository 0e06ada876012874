/*
 * squeeze.c - bytes in fewer bytes
 * SPDX-License-Identifier: MIT
 */
#include "squeeze.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RECENT = 7, UNIT = 16, HASH_BITS = 20, LEAST = 4, WORTH = 5, LOOKED_AT = 64 };

typedef struct squeezing {
  const unsigned char *in;
  size_t size;
  unsigned char *out;
  size_t used;
  int32_t *newest, *before; /* of places whose four bytes have one hash: the last; and before each the one before it */
  size_t recent[RECENT];
} squeezing;

/* A copy of what lies `distance` before; which: 0 or one of the recent ones. */
typedef struct match {
  size_t length, distance;
  unsigned which;
} match;

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static uint32_t hash_of(const unsigned char *at) {
  uint32_t word;
  memcpy(&word, at, sizeof word);
  return (word * UINT32_C(2654435761)) >> (32 - HASH_BITS);
}

static size_t alike(const squeezing *s, size_t one, size_t other) {
  size_t length = 0;
  while (other + length < s->size && s->in[one + length] == s->in[other + length])
    length++;
  return length;
}

static void note(squeezing *s, size_t at) {
  if (at + LEAST > s->size)
    return;
  int32_t *newest = &s->newest[hash_of(s->in + at)];
  s->before[at] = *newest;
  *newest = (int32_t)at;
}

/* A recent distance is preferred to one that has up to three bytes more, which is told in as many. */
static match find(const squeezing *s, size_t at) {
  match best = {0};
  int looked = 0;
  for (int32_t place = s->newest[hash_of(s->in + at)]; place >= 0 && looked < LOOKED_AT; looked++) {
    size_t length = alike(s, (size_t)place, at);
    if (length > best.length)
      best = (match){length, at - (size_t)place, 0};
    place = s->before[place];
  }
  match again = {0};
  for (unsigned q = 0; q < RECENT; q++) {
    size_t distance = s->recent[q], length = distance && distance <= at ? alike(s, at - distance, at) : 0;
    if (length > again.length)
      again = (match){length, distance, q + 1};
  }
  if (again.length >= 2 && again.length + 3 >= best.length)
    return again;
  return best.length >= WORTH ? best : (match){0};
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put(squeezing *s, size_t byte) {
  s->out[s->used++] = (unsigned char)byte;
}

static void put_more(squeezing *s, size_t length, size_t most) {
  if (length < most)
    return;
  for (length -= most; length >= 255; length -= 255)
    put(s, 255);
  put(s, length);
}

static void put_distance(squeezing *s, size_t distance) {
  size_t number = distance % UNIT ? 2 * distance + 1 : distance / UNIT * 2;
  for (; number >= 128; number >>= 7)
    put(s, 128 | (number & 127));
  put(s, number);
}

static size_t at_most(size_t n, size_t most) {
  return n < most ? n : most;
}

static void put_step(squeezing *s, size_t first, size_t at, const match *found) {
  size_t literals = at - first, beyond = found->length ? found->length - (found->which ? 2 : LEAST) : 0;
  put(s, at_most(literals, 3) << 6 | found->which << 3 | at_most(beyond, 7));
  put_more(s, literals, 3);
  memcpy(s->out + s->used, s->in + first, literals);
  s->used += literals;
  if (!found->length)
    return;
  put_more(s, beyond, 7);
  if (!found->which)
    put_distance(s, found->distance);
  for (unsigned q = found->which ? found->which - 1 : RECENT - 1; q > 0; q--)
    s->recent[q] = s->recent[q - 1];
  s->recent[0] = found->distance;
}

static void squeeze(squeezing *s) {
  size_t first = 0, at = 0;
  while (at + LEAST <= s->size) {
    match found = find(s, at);
    if (found.length)
      put_step(s, first, at, &found);
    size_t end = at + (found.length ? found.length : 1);
    for (; at < end; at++)
      note(s, at);
    first = found.length ? at : first;
  }
  if (first < s->size)
    put_step(s, first, s->size, &(match){0});
}

unsigned char *rs_squeeze(const unsigned char *bytes, size_t count, size_t *squeezed) {
  squeezing s = {.in = bytes, .size = count};
  if (count > INT32_MAX)
    return NULL;
  s.out = malloc(count + count / 4 + 64); /* a step stands for 8 bytes at least where it has 2 more than these */
  s.newest = malloc(sizeof *s.newest << HASH_BITS);
  s.before = malloc(sizeof *s.before * (count + 1));
  if (s.out && s.newest && s.before) {
    memset(s.newest, 0xff, sizeof *s.newest << HASH_BITS);
    squeeze(&s);
    *squeezed = s.used;
  } else {
    free(s.out);
    s.out = NULL;
  }
  free(s.newest);
  free(s.before);
  return s.out;
}
