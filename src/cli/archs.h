/*
 * archs.h - the architectures that --arch names
 * SPDX-License-Identifier: MIT
 */
#ifndef ARCHS_H
#define ARCHS_H

#include <stdbool.h>

#include "rowscan.h"

enum { ARCH_MAX = 16, ARCHS_MAX = 64 };

typedef struct cli_archs {
  char name[ARCHS_MAX][ARCH_MAX];
  int count;
  bool all; /* those that the compiler knows */
} cli_archs;

/* The line of an option table for a list that archs_read is to read. */
#define ARCHS_OPTION(target)                                                                                           \
  { "arch", 0, &kind_list, &(target), "sm_75,sm_90,... or all that the compiler knows" }

/* Reads "sm_80,sm_90" or "all"; NULL: --arch was not given. Returns OPTIONS_READ, or EXIT_USAGE having said why. */
int archs_read(cli_archs *archs, const char *list);

/* Fills in what `all` stands for. Returns EXIT_OK, or EXIT_FAILED having said why. */
int archs_find(cli_archs *archs, rowscan_context *context);

#endif
