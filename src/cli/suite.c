/*
 * suite.c - --suite and its --seed, --cells and --size
 * SPDX-License-Identifier: MIT
 */
#include "suite.h"

#include <string.h>

#include "options.h"
#include "random_cells.h"
#include "say.h"

static bool is_random(const cli_suite *suite) {
  return suite->name && !strcmp(suite->name, "random");
}

int suite_check(const cli_suite *suite) {
  const char *given = suite->seed >= 0 ? "--seed" : suite->random ? "--cells" : suite->size ? "--size" : NULL;
  return !given || is_random(suite) ? OPTIONS_READ : say_usage("%s: requires --suite random", given);
}

static int draw_suite(cli_suite *suite) {
  enum { USUAL = 64, MOST = 100000 };
  random_suite drawn = {.seed = suite->seed < 0 ? 1 : (uint64_t)suite->seed,
                        .cells = suite->random ? suite->random : USUAL,
                        .small = suite->size && !strcmp(suite->size, "small")};
  if (suite->size && !drawn.small && strcmp(suite->size, "large") != 0)
    return say_usage("--size: '%s' is not one of large, small", suite->size);
  if (drawn.cells > MOST)
    return say_usage("--cells: %d exceeds %d", drawn.cells, (int)MOST);
  suite->cells = suite->drawn = random_cells(&drawn);
  suite->count = drawn.cells;
  return suite->drawn ? OPTIONS_READ : say_failed("out of memory for %d cells", drawn.cells);
}

int suite_read(cli_suite *suite) {
  if (is_random(suite))
    return draw_suite(suite);
  suite->cells = cells_of(suite->name, &suite->count);
  return suite->cells ? OPTIONS_READ
                      : say_usage("--suite: '%s' is not one of quick, full, growth, random", suite->name);
}
