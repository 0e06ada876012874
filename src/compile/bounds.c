/*
 * bounds.c - the launch bounds of a kernel, as its PTX has them, and what registers they leave a thread
 * SPDX-License-Identifier: MIT
 */
#include "bounds.h"

#include <stdlib.h>
#include <string.h>

/* The number after a directive of PTX; 0: there is none. */
static int number_after(const char *ptx, const char *directive) {
  const char *at = strstr(ptx, directive);
  long number = at ? strtol(at + strlen(directive), NULL, 10) : 0;
  return number > 0 && number <= 1 << 16 ? (int)number : 0;
}

rs_bounds rs_bounds_read(const char *ptx) {
  return (rs_bounds){number_after(ptx, ".maxntid "), number_after(ptx, ".minnctapersm ")};
}

/* CUDA C++ Programming Guide, technical specifications: 64 K registers, given to a thread in eights, 255 at most. */
static int registers_of(const rs_bounds *bounds, int blocks) {
  enum { ALL = 65536, UNIT = 8, MOST = 255 };
  int each = ALL / (bounds->threads * blocks) / UNIT * UNIT;
  return each < MOST ? each : MOST;
}

int rs_bounds_lower(const rs_bounds *bounds, int fewer) {
  enum { WARP = 32 };
  if (bounds->threads <= WARP || bounds->blocks - fewer < 1)
    return 0;
  int before = registers_of(bounds, bounds->blocks - fewer);
  for (int lower = fewer + 1; lower < bounds->blocks; lower++)
    if (registers_of(bounds, bounds->blocks - lower) > before)
      return lower;
  return 0;
}
