/*
 * expand.c - what was squeezed, as it was
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <string.h>

#include "squeeze.h"

enum { RECENT = sizeof((rs_expansion *)0)->recent / sizeof(size_t), UNIT = 16 };

static unsigned next_byte(rs_expansion *from) {
  if (from->at < from->end)
    return *from->at++;
  from->failed = true;
  return 0;
}

/* in_token: what the token has; all of it if it is less than `most`. */
static size_t read_length(rs_expansion *from, unsigned in_token, unsigned most) {
  size_t length = in_token;
  unsigned more = in_token == most ? 255 : 0;
  while (more == 255) {
    more = next_byte(from);
    length += more;
  }
  return length;
}

static size_t read_distance(rs_expansion *from) {
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

static size_t take_distance(rs_expansion *from, unsigned which) {
  size_t *recent = from->recent, distance = which ? recent[which - 1] : read_distance(from);
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

/* A step: false: there is no such. */
static bool expand_step(rs_expansion *all) {
  unsigned token = next_byte(all), which = token >> 3 & 7;
  size_t literals = read_length(all, token >> 6, 3), room = all->count - all->done;
  size_t left = (size_t)(all->end - all->at);
  unsigned char *to = all->to + all->done;
  if (all->failed || literals > room || literals > left)
    return false;
  if (!move(to, all->at, literals, left < room ? left : room))
    memcpy(to, all->at, literals);
  all->at += literals;
  all->done += literals;
  if (literals == room)
    return true;
  size_t length = (which ? 2 : 4) + read_length(all, token & 7, 7), distance = take_distance(all, which);
  to += literals;
  room -= literals;
  if (all->failed || !distance || distance > all->done || length > room)
    return false;
  if (distance < AT_ONCE || !move(to, to - distance, length, room))
    copy(to, distance, length);
  all->done += length;
  return true;
}

rs_expansion rs_expand_begin(unsigned char *to, size_t count, const unsigned char *squeezed, size_t size) {
  return (rs_expansion){.to = to, .count = count, .at = squeezed, .end = squeezed + size};
}

bool rs_expand_until(rs_expansion *all, size_t bytes) {
  while (all->done < bytes && !all->failed)
    all->failed = all->done == all->count || !expand_step(all);
  return !all->failed;
}

bool rs_expand(unsigned char *to, size_t count, const unsigned char *squeezed, size_t size) {
  rs_expansion all = rs_expand_begin(to, count, squeezed, size);
  return rs_expand_until(&all, count) && all.at == all.end;
}
