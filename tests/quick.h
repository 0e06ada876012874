/*
 * quick.h - RS_QUICK=1 asks tests that take long to do less
 * SPDX-License-Identifier: MIT
 */
#ifndef QUICK_H
#define QUICK_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool is_quick(void) {
  const char *value = getenv("RS_QUICK");
  return value && *value && *value != '0';
}

#endif
