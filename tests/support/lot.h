/*
 * lot.h - RS_LOT=n asks a suite for one in n of its parts, those that RS_SEED draws
 * SPDX-License-Identifier: MIT
 *
 * n seeds that follow one another take each part once; RS_LOT=1, the default, is all of them. Without RS_SEED the time
 * draws, and the suite says what it was. RS_TOUCHED names what a change touches, with spaces between: suites, which
 * then take four times as much, and more that a suite may know.
 */
#ifndef LOT_H
#define LOT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "quick.h"

typedef struct lot {
  uint64_t parts, seed; /* parts is 0 until the environment was read */
} lot;

static inline uint64_t lot_setting(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static inline bool lot_touches(const char *name, size_t length) {
  const char *text = getenv("RS_TOUCHED");
  for (size_t word; text && *text; text += word + (text[word] == ' ')) {
    word = strcspn(text, " ");
    if (word == length && !strncmp(text, name, word))
      return true;
  }
  return false;
}

static inline const lot *lot_drawn(void) {
  static lot drawn;
  if (!drawn.parts) {
    drawn.seed = lot_setting("RS_SEED", (uint64_t)time(NULL));
    drawn.parts = lot_setting("RS_LOT", 1);
    if (!drawn.parts)
      drawn.parts = 1;
    if (lot_touches(program_invocation_short_name, strlen(program_invocation_short_name)))
      drawn.parts = (drawn.parts + 3) / 4;
  }
  return &drawn;
}

/* Reads the environment, before there are threads. */
static inline void lot_tell(void) {
  const lot *drawn = lot_drawn();
  if (drawn->parts > 1)
    printf("RS_LOT=%llu RS_SEED=%llu\n", (unsigned long long)drawn->parts, (unsigned long long)drawn->seed);
  fflush(stdout);
}

static inline bool lot_takes_of(uint64_t parts, const char *list, uint64_t part) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (; *list; list++)
    sum = (sum ^ (unsigned char)*list) * 0x100000001b3u;
  return ((sum >> 32) + part % parts) % parts == lot_drawn()->seed % parts;
}

/* Whether the lot falls on this part of a list. */
static inline bool lot_takes(const char *list, uint64_t part) {
  return lot_takes_of(lot_drawn()->parts, list, part);
}

/* The same, of what a change touches. */
static inline bool lot_takes_touched(const char *list, uint64_t part) {
  return lot_takes_of((lot_drawn()->parts + 3) / 4, list, part);
}

/* A test of Check's: with RS_QUICK, as under sanitizers and on the simulated GPU, only where the lot falls on it. */
#define lot_add_test(cases, test)                                                                                      \
  do {                                                                                                                 \
    if (!is_quick() || lot_takes(#test, 0))                                                                            \
      tcase_add_test(cases, test);                                                                                     \
  } while (0)

/* A loop of Check's, those of its turns that the lot falls on. */
#define lot_add_loop_test(cases, test, first, end)                                                                     \
  do {                                                                                                                 \
    for (int lot_turn = (first); lot_turn < (int)(end); lot_turn++)                                                    \
      if (lot_takes(#test, (uint64_t)lot_turn))                                                                        \
        tcase_add_loop_test(cases, test, lot_turn, lot_turn + 1);                                                      \
  } while (0)

#endif
