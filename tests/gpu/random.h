/*
 * random.h - numbers that a seed determines
 * SPDX-License-Identifier: MIT
 */
#ifndef GPU_RANDOM_H
#define GPU_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ints.h"

typedef struct random_source {
  uint64_t state;
} random_source;

static inline uint64_t random_bits(random_source *random) {
  return rs_random(&random->state);
}

/* A source of its own for a part of a test: the same whatever the parts before it took. */
static inline random_source random_for(uint64_t seed, uint64_t part, uint64_t number) {
  random_source random = {seed};
  random.state = random_bits(&random) + part;
  random.state = random_bits(&random) + number;
  random_bits(&random);
  return random;
}

/* 0 .. count - 1 */
static inline int64_t random_below(random_source *random, int64_t count) {
  return (int64_t)((random_bits(random) >> 1) % (uint64_t)count);
}

static inline bool random_one_in(random_source *random, int64_t count) {
  return random_below(random, count) == 0;
}

#endif
