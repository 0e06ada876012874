/*
 * expand.c - what was squeezed, as it was
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <string.h>

#include "squeeze.h"

enum { RECENT = 7, UNIT = 16 };

typedef struct reader {
  const unsigned char *at, *end;
  bool failed; /* it ended too early, or a number is too large */
} reader;

static unsigned next_byte(reader *from) {
  if (from->at < from->end)
    return *from->at++;
  from->failed = true;
  return 0;
}

/* in_token: what the token has; all of it if it is less than `most`. */
static size_t read_length(reader *from, unsigned in_token, unsigned most) {
  size_t length = in_token;
  unsigned more = in_token == most ? 255 : 0;
  while (more == 255) {
    more = next_byte(from);
    length += more;
  }
  return length;
}

static size_t read_distance(reader *from) {
  enum { MOST_BITS = 35 };
  uint64_t number = 0;
  unsigned byte = 128;
  for (int bits = 0; byte & 128; bits += 7) {
    byte = bits < MOST_BITS ? next_byte(from) : 0;
    from->failed = from->failed || bits >= MOST_BITS;
    number |= (uint64_t)(byte & 127) << bits;
  }
  return (size_t)(number & 1 ? number / 2 : number / 2 * UNIT);
}

static size_t take_distance(reader *from, unsigned which, size_t recent[RECENT]) {
  size_t distance = which ? recent[which - 1] : read_distance(from);
  for (unsigned q = which ? which - 1 : RECENT - 1; q > 0; q--)
    recent[q] = recent[q - 1];
  recent[0] = distance;
  return distance;
}

/* Few bytes, as most steps have: in one move of more, where there is room for these. */
enum { AT_ONCE = 16 };
static bool move(unsigned char *to, const unsigned char *from, size_t length, size_t room) {
  if (length > AT_ONCE || room < AT_ONCE)
    return false;
  memcpy(to, from, AT_ONCE);
  return true;
}

/* The two may overlap: a copy repeats what it has just written. */
static void copy(unsigned char *to, size_t distance, size_t length) {
  while (length > distance) {
    memcpy(to, to - distance, distance);
    to += distance;
    length -= distance;
  }
  memcpy(to, to - distance, length);
}

bool rs_expand(unsigned char *to, size_t count, const unsigned char *squeezed, size_t size) {
  reader from = {squeezed, squeezed + size, false};
  size_t recent[RECENT] = {0}, done = 0;
  while (done < count && !from.failed) {
    unsigned token = next_byte(&from), which = token >> 3 & 7;
    size_t literals = read_length(&from, token >> 6, 3);
    size_t left = (size_t)(from.end - from.at), room = count - done;
    if (from.failed || literals > room || literals > left)
      return false;
    if (!move(to + done, from.at, literals, left < room ? left : room))
      memcpy(to + done, from.at, literals);
    from.at += literals;
    done += literals;
    if (done == count)
      break;
    size_t length = (which ? 2 : 4) + read_length(&from, token & 7, 7), distance = take_distance(&from, which, recent);
    if (from.failed || !distance || distance > done || length > count - done)
      return false;
    if (distance < AT_ONCE || !move(to + done, to + done - distance, length, count - done))
      copy(to + done, distance, length);
    done += length;
  }
  return !from.failed && done == count && from.at == from.end;
}
