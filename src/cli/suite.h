/*
 * suite.h - --suite and its --seed, --cells and --size, for commands that measure its cells
 * SPDX-License-Identifier: MIT
 */
#ifndef SUITE_H
#define SUITE_H

#include "cells.h"

/* As options have it; then what was read. */
typedef struct cli_suite {
  const char *name, *size; /* NULL: not given */
  int64_t seed;            /* -1 */
  int random;              /* --cells; 0 */
  const bench_cell *cells;
  int count;
  bench_cell *drawn; /* to be freed; NULL: it is not the suite random */
} cli_suite;

/* Of values given that only the suite random has: OPTIONS_READ, or EXIT_USAGE having said which. */
int suite_check(const cli_suite *suite);

/* The cells of the suite that is named. OPTIONS_READ, or EXIT_USAGE or EXIT_FAILED having said why not. */
int suite_read(cli_suite *suite);

#endif
