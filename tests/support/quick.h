/*
 * quick.h - RS_QUICK=1 asks tests that take long to do less
 * SPDX-License-Identifier: MIT
 */
#ifndef QUICK_H
#define QUICK_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool is_asked(const char *variable) {
  const char *value = getenv(variable);
  return value && *value && *value != '0';
}

static inline bool is_quick(void) {
  return is_asked("RS_QUICK");
}

#endif
